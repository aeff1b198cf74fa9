/* SPDX-License-Identifier: Apache-2.0 */
/* Decimal to double: an exact short cut for everyday numbers, strtod for the others. strtod is given
   digits and an exponent without a point, so that the locale has no say. */
#include "base/internal.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* 767 digits decide any rounding; a nonzero rest is told by one more digit */
#define DIGITS 800

typedef struct decimal {
    char digit[DIGITS + 1]; /* without leading zeros */
    int count;
    uint64_t head;    /* value of the first 19 digits */
    int64_t exponent; /* of ten, for the digits read as an integer */
    bool negative, any, more;
} decimal;

static bool is_digit(char c) { return c >= '0' && c <= '9'; }
static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

static void add_digit(decimal *d, char c) {
    d->any = true;
    if (d->count == 0 && c == '0') return;
    if (d->count < DIGITS) {
        if (d->count < 19) d->head = 10 * d->head + (uint64_t)(c - '0');
        d->digit[d->count++] = c;
    } else {
        d->more |= c != '0';
        d->exponent++;
    }
}

/* An exponent counts only if it has a digit; it saturates. */
static const char *read_exponent(const char *p, const char *end, decimal *d) {
    const char *start = p;
    if (p == end || lower(*p) != 'e') return start;
    p++;
    bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) p++;
    if (p == end || !is_digit(*p)) return start;
    int64_t e = 0;
    for (; p < end && is_digit(*p); p++)
        if (e < 1000000000000) e = 10 * e + (*p - '0');
    d->exponent += negative ? -e : e;
    return p;
}

static const char *read_decimal(const char *p, const char *end, decimal *d) {
    for (; p < end && is_digit(*p); p++) add_digit(d, *p);
    if (p < end && *p == '.') {
        const char *point = p++;
        for (; p < end && is_digit(*p); p++) {
            add_digit(d, *p);
            d->exponent--;
        }
        if (!d->any) return point;
    }
    return d->any ? read_exponent(p, end, d) : p;
}

/* Both factors are exact, so one operation rounds once. */
static bool exact(const decimal *d, double *value) {
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (d->count == 0) return *value = 0, true;
    if (d->count > 19 || d->head > (uint64_t)1 << 53 || d->exponent < -22 || d->exponent > 22) return false;
    double head = (double)d->head;
    *value = d->exponent < 0 ? head / power[-d->exponent] : head * power[d->exponent];
    return true;
}

static double by_strtod(decimal *d) {
    char text[DIGITS + 32];
    if (d->more) d->digit[DIGITS - 1] = d->digit[DIGITS - 1] == '9' ? '9' : (char)(d->digit[DIGITS - 1] + 1);
    d->digit[d->count] = 0;
    int64_t e = d->exponent < -99999 ? -99999 : d->exponent > 99999 ? 99999 : d->exponent;
    snprintf(text, sizeof text, "%se%d", d->digit, (int)e);
    return strtod(text, NULL);
}

/* Words and hexadecimal that other readers take for numbers: all their letters, or NULL. */
static const char *skip_word(const char *p, const char *end) {
    bool hex = end - p >= 2 && p[0] == '0' && lower(p[1]) == 'x';
    char c0 = p < end ? lower(p[0]) : 0, c1 = end - p >= 3 ? lower(p[1]) : 0, c2 = c1 ? lower(p[2]) : 0;
    bool nan = c0 == 'n' && c1 == 'a' && c2 == 'n', inf = c0 == 'i' && c1 == 'n' && c2 == 'f';
    if (!hex && !nan && !inf) return NULL;
    while (p < end && (is_digit(*p) || (lower(*p) >= 'a' && lower(*p) <= 'z') || *p == '.')) p++;
    return p;
}

const char *sti__parse_real(const char *text, const char *end, double *value, bool *ok) {
    decimal d;
    d.count = 0, d.head = 0, d.exponent = 0;
    d.negative = d.any = d.more = false;
    const char *p = text;
    *value = 0;
    *ok = false;
    if (p < end && (*p == '+' || *p == '-')) d.negative = *p++ == '-';
    const char *word = skip_word(p, end);
    if (word) return word;
    p = read_decimal(p, end, &d);
    if (!d.any) return NULL;
    double x;
    if (!exact(&d, &x)) x = by_strtod(&d);
    *ok = isfinite(x);
    *value = *ok ? (d.negative ? -x : x) : 0;
    return p;
}
