/* SPDX-License-Identifier: Apache-2.0 */
/* zlib (RFC 1950) and deflate (RFC 1951), into memory of known size. Codes are canonical: how many there are of
   each length and the symbols in order are all it takes to decode. */
#include "mesh/png.h"
#include <string.h>

#define LONGEST 15
#define LITERALS 288
#define DISTANCES 32

typedef struct code {
    uint16_t count[LONGEST + 1], symbol[LITERALS];
} code;

typedef struct stream {
    const uint8_t *at, *end;
    uint32_t bits;
    int nbit;
    uint8_t *out;
    size_t count, room;
    const char *why; /* NULL while all is well */
} stream;

static int fail(stream *s, const char *why) {
    if (!s->why) s->why = why;
    return -1;
}

static int bits(stream *s, int n) {
    while (s->nbit < n) {
        if (s->at == s->end) return fail(s, "the compressed data ends too soon");
        s->bits |= (uint32_t)*s->at++ << s->nbit;
        s->nbit += 8;
    }
    int x = (int)(s->bits & ((1u << n) - 1));
    s->bits >>= n;
    s->nbit -= n;
    return x;
}

/* lengths to code; more codes of a length than there is room for are an error, fewer are not */
static bool make_code(code *c, const uint8_t *length, int n) {
    int left = 1, start[LONGEST + 1];
    memset(c->count, 0, sizeof c->count);
    for (int i = 0; i < n; i++) c->count[length[i]]++;
    c->count[0] = 0;
    start[1] = 0;
    for (int l = 1; l <= LONGEST; l++) {
        left = 2 * left - c->count[l];
        if (left < 0) return false;
        if (l < LONGEST) start[l + 1] = start[l] + c->count[l];
    }
    for (int i = 0; i < n; i++)
        if (length[i]) c->symbol[start[length[i]]++] = (uint16_t)i;
    return true;
}

static int symbol(stream *s, const code *c) {
    int value = 0, first = 0, index = 0;
    for (int l = 1; l <= LONGEST; l++) {
        int bit = bits(s, 1);
        if (bit < 0) return -1;
        value |= bit;
        if (value - first < c->count[l]) return c->symbol[index + value - first];
        index += c->count[l];
        first = (first + c->count[l]) * 2;
        value *= 2;
    }
    return fail(s, "the compressed data holds an unknown code");
}

static void put(stream *s, uint8_t byte) {
    if (s->count == s->room) fail(s, "the compressed data is longer than the picture");
    else s->out[s->count++] = byte;
}

static void copy(stream *s, size_t length, size_t back) {
    if (back > s->count) fail(s, "the compressed data refers to what was before its start");
    for (; length > 0 && !s->why; length--) put(s, s->out[s->count - back]);
}

static void stored(stream *s) {
    s->bits = 0;
    s->nbit = 0;
    if (s->end - s->at < 4) {
        fail(s, "the compressed data ends too soon");
        return;
    }
    size_t n = s->at[0] | (size_t)s->at[1] << 8, check = s->at[2] | (size_t)s->at[3] << 8;
    s->at += 4;
    if ((n ^ check) != 0xffff || (size_t)(s->end - s->at) < n) {
        fail(s, "a stored block is damaged");
        return;
    }
    for (; n > 0 && !s->why; n--) put(s, *s->at++);
}

/* a length or distance: steps of 1, then two, four ... codes per size (four or two per doubling) */
static int extended(stream *s, int k, int per, int first) {
    if (k < 2 * per) return first + k;
    int extra = k / per - 1, base = first + ((k % per + per) << extra), more = bits(s, extra);
    return more < 0 ? -1 : base + more;
}

static void block(stream *s, const code *literal, const code *distance) {
    while (!s->why) {
        int x = symbol(s, literal);
        if (x < 0 || x == 256) return;
        if (x < 256) {
            put(s, (uint8_t)x);
            continue;
        }
        int length = x == 285 ? 258 : x > 285 ? fail(s, "an unknown length") : extended(s, x - 257, 4, 3);
        int k = s->why ? -1 : symbol(s, distance);
        if (k > 29) fail(s, "an unknown distance");
        int back = s->why ? -1 : extended(s, k, 2, 1);
        if (!s->why) copy(s, (size_t)length, (size_t)back);
    }
}

static void fixed(stream *s) {
    uint8_t length[LITERALS];
    code literal, distance;
    for (int i = 0; i < LITERALS; i++) length[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    make_code(&literal, length, LITERALS);
    memset(length, 5, DISTANCES);
    make_code(&distance, length, DISTANCES);
    block(s, &literal, &distance);
}

/* the lengths of both codes, written with a code of their own; false if they make no sense */
static bool read_lengths(stream *s, uint8_t *length, int n) {
    static const uint8_t order[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t own[19] = {0};
    code c;
    int given = bits(s, 4) + 4;
    for (int i = 0; i < given && !s->why; i++) own[order[i]] = (uint8_t)bits(s, 3);
    if (s->why || !make_code(&c, own, 19)) return false;
    for (int i = 0; i < n;) {
        int x = symbol(s, &c), before = i > 0 ? length[i - 1] : -1;
        if (x < 0 || (x == 16 && before < 0)) return false;
        int times = x < 16 ? 1 : x == 16 ? 3 + bits(s, 2) : x == 17 ? 3 + bits(s, 3) : 11 + bits(s, 7);
        if (s->why || i + times > n) return false;
        for (; times > 0; times--) length[i++] = (uint8_t)(x < 16 ? x : x == 16 ? before : 0);
    }
    return true;
}

static void dynamic(stream *s) {
    uint8_t length[LITERALS + DISTANCES];
    code literal, distance;
    int nl = bits(s, 5) + 257, nd = bits(s, 5) + 1;
    if (s->why) return;
    if (nl > LITERALS || !read_lengths(s, length, nl + nd) || !make_code(&literal, length, nl) ||
        !make_code(&distance, length + nl, nd)) {
        fail(s, "a table of codes is damaged");
        return;
    }
    block(s, &literal, &distance);
}

static uint32_t adler(const uint8_t *p, size_t n) {
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < n; i++) {
        a = (a + p[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

bool sti__inflate(const uint8_t *data, size_t size, uint8_t *out, size_t count, const char **why) {
    stream s = {.at = data + 2, .end = data + size, .out = out, .room = count};
    *why = "not a zlib stream";
    if (size < 6 || (data[0] & 15) != 8 || (data[0] << 8 | data[1]) % 31 != 0 || (data[1] & 32)) return false;
    for (int last = 0; !last && !s.why;) {
        last = bits(&s, 1);
        switch (s.why ? 3 : bits(&s, 2)) {
        case 0: stored(&s); break;
        case 1: fixed(&s); break;
        case 2: dynamic(&s); break;
        default: fail(&s, "a block of an unknown kind");
        }
    }
    *why = s.why ? s.why : "the compressed data is shorter than the picture";
    if (s.why || s.count != count) return false;
    *why = "the check sum of the picture is wrong";
    if (s.end - s.at < 4) return false;
    return adler(out, count) ==
           ((uint32_t)s.at[0] << 24 | (uint32_t)s.at[1] << 16 | (uint32_t)s.at[2] << 8 | s.at[3]);
}
