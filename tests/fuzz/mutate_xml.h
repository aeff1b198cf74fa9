/* SPDX-License-Identifier: Apache-2.0 */
/* Mutations that mostly keep XML well formed: without them nearly every try ends in the parser. */
#ifndef STI_MUTATE_XML_H
#define STI_MUTATE_XML_H

#include "target.h"
#include <string.h>

static uint32_t dice(unsigned int *seed, size_t sides) {
    *seed = *seed * 1664525u + 1013904223u;
    return sides ? (*seed >> 8) % (uint32_t)sides : 0;
}

/* Puts `text` in place of data[from, to); returns the new size, or the old one if it does not fit. */
static size_t splice(uint8_t *data, size_t size, size_t max_size, size_t from, size_t to, const void *text,
                     size_t n) {
    if (size - (to - from) + n > max_size) return size;
    memmove(data + from + n, data + to, size - to);
    memcpy(data + from, text, n);
    return size - (to - from) + n;
}

/* The `which`-th stretch between two bytes `open` and `close`, exclusive; false if there is none. */
static int stretch(const uint8_t *data, size_t size, char open, char close, uint32_t which, size_t *from,
                   size_t *to) {
    for (size_t i = 0; i < size; i++) {
        if (data[i] != (uint8_t)open) continue;
        const uint8_t *end = memchr(data + i + 1, close, size - i - 1);
        if (!end) return 0;
        *from = i + 1, *to = (size_t)(end - data);
        if (which-- == 0) return 1;
        if (open == close) i = *to;
    }
    return 0;
}

static uint32_t count_byte(const uint8_t *data, size_t size, char c) {
    uint32_t n = 0;
    for (size_t i = 0; i < size; i++) n += data[i] == (uint8_t)c;
    return n;
}

/* Another value for an attribute. */
static size_t mutate_value(uint8_t *data, size_t size, size_t max_size, unsigned int *seed) {
    static const char *const values[] = {
        "0",      "1",      "-1",         "1e-9",     "1e9",     "1e300",  "0 0 0",     "1 0 0 0",
        "0.5",    "90",     "true",       "false",    "auto",    "2",      "3",         "1000",
        "-0",     "a",      "b",          "cube",     "elbow",   "string", "tet",       "upper",
        "world",  "arm",    "m",          "1 2 3",    "0 1e-15", "1e-300", "1 1 1 1 1", "mesh",
        "sphere", "filter", "2147483647", "netforce", "force",   "mindist"};
    size_t from, to;
    uint32_t quotes = count_byte(data, size, '"') / 2, ticks = count_byte(data, size, '\'') / 2;
    char q = dice(seed, quotes + ticks) < quotes ? '"' : '\'';
    if (!stretch(data, size, q, q, dice(seed, q == '"' ? quotes : ticks), &from, &to)) return size;
    const char *v = values[dice(seed, sizeof values / sizeof *values)];
    if (dice(seed, 3)) return splice(data, size, max_size, from, to, v, strlen(v));
    uint8_t text[64]; /* bytes of the value itself, kept free of markup */
    size_t n = to - from < 32 ? to - from : 32;
    memcpy(text, data + from, n);
    n = LLVMFuzzerMutate(text, n, sizeof text);
    for (size_t i = 0; i < n; i++)
        if (text[i] < 32 || text[i] > 126 || strchr("<>&'\"", text[i])) text[i] = '0';
    return splice(data, size, max_size, from, to, text, n);
}

/* An element's tag taken away, or put in a second time somewhere else. */
static size_t mutate_tag(uint8_t *data, size_t size, size_t max_size, unsigned int *seed) {
    size_t from, to, at, unused;
    uint32_t tags = count_byte(data, size, '<');
    uint8_t text[256];
    if (!stretch(data, size, '<', '>', dice(seed, tags), &from, &to) || to - from > sizeof text - 2)
        return size;
    if (data[to - 1] != '/') return size; /* only those that stand alone */
    from--, to++;
    if (dice(seed, 2)) return splice(data, size, max_size, from, to, "", 0);
    memcpy(text, data + from, to - from);
    if (!stretch(data, size, '<', '>', dice(seed, tags), &at, &unused)) return size;
    return splice(data, size, max_size, at - 1, at - 1, text, to - from);
}

static size_t mutate_xml(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
    size_t before = size;
    switch (dice(&seed, 8)) {
    case 0: return LLVMFuzzerMutate(data, size, max_size);
    case 1:
    case 2: size = mutate_tag(data, size, max_size, &seed); break;
    default: size = mutate_value(data, size, max_size, &seed); break;
    }
    return size == before ? mutate_value(data, size, max_size, &seed) : size;
}

#endif
