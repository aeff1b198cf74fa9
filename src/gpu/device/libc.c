/* SPDX-License-Identifier: Apache-2.0 */
#include "gpu/device/libc.h"
#include <stdbool.h>
#include <stdint.h>

/* ---- bytes and strings --------------------------------------------------------------------------------------- */

int STI__LIBC(memcmp)(const void *a, const void *b, size_t n) {
    const unsigned char *x = a, *y = b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
    return 0;
}

size_t STI__LIBC(strlen)(const char *s) {
    size_t n = 0;
    for (const volatile char *at = s; at[n]; n++) continue;
    return n;
}

int STI__LIBC(strncmp)(const char *a, const char *b, size_t n) {
    for (size_t i = 0; i < n; i++) {
        unsigned char x = (unsigned char)a[i], y = (unsigned char)b[i];
        if (x != y) return x < y ? -1 : 1;
        if (!x) return 0;
    }
    return 0;
}

int STI__LIBC(strcmp)(const char *a, const char *b) { return STI__LIBC(strncmp)(a, b, SIZE_MAX); }

char *STI__LIBC(strncpy)(char *to, const char *from, size_t n) {
    bool ended = false;
    for (size_t i = 0; i < n; i++) {
        ended = ended || !from[i];
        to[i] = ended ? 0 : from[i];
    }
    return to;
}

static void swap(char *a, char *b, size_t size) {
    for (size_t i = 0; i < size; i++) {
        char c = a[i];
        a[i] = b[i];
        b[i] = c;
    }
}

/* Insertion: what stages sort is short, and mostly in order. */
void STI__LIBC(qsort)(void *base, size_t n, size_t size, int (*compare)(const void *, const void *)) {
    char *at = base;
    for (size_t i = 1; i < n; i++)
        for (size_t k = i; k > 0 && compare(at + (k - 1) * size, at + k * size) > 0; k--)
            swap(at + (k - 1) * size, at + k * size, size);
}

/* ---- numbers --------------------------------------------------------------------------------------------------- */

double STI__LIBC(nextafter)(double x, double y) {
    uint64_t bits;
    if (x != x || y != y) return x + y;
    if (x == y) return y;
    if (x == 0) bits = 1 | (y < 0 ? UINT64_C(1) << 63 : 0);
    else {
        __builtin_memcpy(&bits, &x, sizeof bits);
        bits = (y > x) == (x > 0) ? bits + 1 : bits - 1;
    }
    __builtin_memcpy(&x, &bits, sizeof x);
    return x;
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

/* Where a conversion that begins after its % ends. */
static const char *conversion_end(const char *f) {
    while (*f && !(*f == '%' || (*f >= 'a' && *f <= 'z' && *f != 'l' && *f != 'z'))) f++;
    return f;
}

int STI__LIBC(vsnprintf)(char *out, size_t size, const char *format, va_list args) {
    size_t used = 0;
    (void)args;
    for (const char *f = format; *f; f++) {
        char c = *f;
        if (c == '%') {
            f = conversion_end(f + 1);
            if (*f != '%') c = '?';
        }
        if (used + 1 < size) out[used] = c;
        used++;
        if (!*f) break;
    }
    if (size) out[used < size ? used : size - 1] = 0;
    return (int)used;
}

int STI__LIBC(snprintf)(char *out, size_t size, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = STI__LIBC(vsnprintf)(out, size, format, args);
    va_end(args);
    return n;
}
