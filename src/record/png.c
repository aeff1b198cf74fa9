/* SPDX-License-Identifier: Apache-2.0 */
/* PNG: each row through the filter that leaves the smallest numbers, then deflate with matches from a
   hash of three bytes and fixed codes. */
#include "base/internal.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <stiction/picture.h>
#include <string.h>

#define WINDOW 32768
#define HASHES 32768
#define LONGEST 258
#define TRIES 24
#define CHUNK 65536

typedef struct png {
    FILE *file;
    uint32_t crc_table[256];
    uint8_t chunk[CHUNK]; /* of IDAT, being filled */
    size_t nchunk;
    uint64_t bits;
    int nbit;
    bool failed;
    int head[HASHES], prev[WINDOW]; /* last place of a hash, and the one before it; -1 = none */
} png;

/* ---- chunks ------------------------------------------------------------------------------------------- */

static void big32(uint8_t *p, uint32_t x) {
    p[0] = (uint8_t)(x >> 24), p[1] = (uint8_t)(x >> 16), p[2] = (uint8_t)(x >> 8), p[3] = (uint8_t)x;
}

static void crc_init(uint32_t table[256]) {
    for (uint32_t n = 0; n < 256; n++) {
        uint32_t c = n;
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
        table[n] = c;
    }
}

static uint32_t crc(const png *p, uint32_t c, const uint8_t *data, size_t n) {
    for (size_t i = 0; i < n; i++) c = p->crc_table[(c ^ data[i]) & 255] ^ (c >> 8);
    return c;
}

static void write_chunk(png *p, const char *type, const uint8_t *data, size_t n) {
    uint8_t head[8], tail[4];
    big32(head, (uint32_t)n);
    memcpy(head + 4, type, 4);
    big32(tail, ~crc(p, crc(p, 0xffffffffu, head + 4, 4), data, n));
    p->failed |= fwrite(head, 1, 8, p->file) != 8 || fwrite(data, 1, n, p->file) != n ||
                 fwrite(tail, 1, 4, p->file) != 4;
}

static void put_byte(png *p, uint8_t byte) {
    p->chunk[p->nchunk++] = byte;
    if (p->nchunk < CHUNK) return;
    write_chunk(p, "IDAT", p->chunk, p->nchunk);
    p->nchunk = 0;
}

/* Lowest bit first. */
static void put_bits(png *p, uint32_t value, int count) {
    p->bits |= (uint64_t)value << p->nbit;
    p->nbit += count;
    for (; p->nbit >= 8; p->nbit -= 8, p->bits >>= 8) put_byte(p, (uint8_t)p->bits);
}

/* ---- deflate ------------------------------------------------------------------------------------------ */

/* Huffman codes go highest bit first. */
static void put_code(png *p, uint32_t code, int count) {
    uint32_t turned = 0;
    for (int i = 0; i < count; i++) turned |= (code >> i & 1) << (count - 1 - i);
    put_bits(p, turned, count);
}

static void put_symbol(png *p, int s) {
    if (s < 144) put_code(p, (uint32_t)(0x30 + s), 8);
    else if (s < 256) put_code(p, (uint32_t)(0x190 + s - 144), 9);
    else if (s < 280) put_code(p, (uint32_t)(s - 256), 7);
    else put_code(p, (uint32_t)(0xc0 + s - 280), 8);
}

/* Lengths and distances come in groups that double every few codes: the group's number, then the
   place in it. */
static void split(int value, int per, int *code, int *extra, int *rest) {
    int e = 0;
    while ((value >> e) >= 2 * per) e++;
    *extra = e;
    *code = e * per + (value >> e);
    *rest = value & ((1 << e) - 1);
}

static void put_match(png *p, int length, int distance) {
    int code, extra, rest;
    if (length == LONGEST) put_symbol(p, 285);
    else {
        split(length - 3, 4, &code, &extra, &rest);
        put_symbol(p, 257 + code);
        put_bits(p, (uint32_t)rest, extra);
    }
    split(distance - 1, 2, &code, &extra, &rest);
    put_code(p, (uint32_t)code, 5);
    put_bits(p, (uint32_t)rest, extra);
}

static uint32_t hash3(const uint8_t *d) {
    return ((uint32_t)d[0] << 10 ^ (uint32_t)d[1] << 5 ^ d[2]) * 2654435761u >> 17;
}

static void remember(png *p, const uint8_t *d, size_t n, size_t i) {
    if (i + 3 > n) return;
    uint32_t h = hash3(d + i);
    p->prev[i % WINDOW] = p->head[h];
    p->head[h] = (int)i;
}

static int longest_match(const png *p, const uint8_t *d, size_t n, size_t i, int *distance) {
    int best = 2, limit = n - i < LONGEST ? (int)(n - i) : LONGEST, tries = TRIES;
    if (limit < 3) return 0;
    for (int j = p->head[hash3(d + i)]; j >= 0 && (int)i - j < WINDOW && tries-- > 0;
         j = p->prev[j % WINDOW]) {
        if (d[j + best] != d[i + (size_t)best]) continue;
        int k = 0;
        while (k < limit && d[j + k] == d[i + (size_t)k]) k++;
        if (k <= best) continue;
        best = k;
        *distance = (int)i - j;
        if (k == limit) break;
    }
    return best > 2 ? best : 0;
}

static uint32_t adler(const uint8_t *d, size_t n) {
    uint32_t a = 1, b = 0;
    for (size_t i = 0; i < n; i++) {
        a = (a + d[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

static void deflate(png *p, const uint8_t *d, size_t n) {
    uint8_t sum[4];
    memset(p->head, 0xff, sizeof p->head);
    put_bits(p, 0x9c78, 16); /* zlib header */
    put_bits(p, 1, 1);       /* last block */
    put_bits(p, 1, 2);       /* fixed codes */
    for (size_t i = 0; i < n;) {
        int distance = 0, length = longest_match(p, d, n, i, &distance);
        if (length) put_match(p, length, distance);
        else put_symbol(p, d[i]), length = 1;
        for (; length > 0; length--, i++) remember(p, d, n, i);
    }
    put_symbol(p, 256);
    if (p->nbit) put_bits(p, 0, 8 - p->nbit);
    big32(sum, adler(d, n));
    for (int k = 0; k < 4; k++) put_byte(p, sum[k]);
    if (p->nchunk) write_chunk(p, "IDAT", p->chunk, p->nchunk);
}

/* ---- filters
   ----------------------------------------------------------------------------------------------- */

static int paeth(int a, int b, int c) {
    int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);
    return pa <= pb && pa <= pc ? a : pb <= pc ? b : c;
}

static int predict(int filter, int left, int above, int corner) {
    switch (filter) {
    case 1: return left;
    case 2: return above;
    case 3: return (left + above) / 2;
    case 4: return paeth(left, above, corner);
    default: return 0;
    }
}

/* Filtered row into out; returns the sum of its bytes taken as signed. */
static size_t filter_row(int filter, const uint8_t *row, const uint8_t *before, int n, uint8_t *out) {
    size_t sum = 0;
    *out++ = (uint8_t)filter;
    for (int i = 0; i < n; i++) {
        int left = i < 3 ? 0 : row[i - 3], above = before ? before[i] : 0,
            corner = before && i >= 3 ? before[i - 3] : 0;
        out[i] = (uint8_t)(row[i] - predict(filter, left, above, corner));
        sum += (size_t)abs((int8_t)out[i]);
    }
    return sum;
}

static void filter_picture(const uint8_t *rgb, int width, int height, uint8_t *out) {
    int n = 3 * width;
    for (int y = 0; y < height; y++, out += n + 1) {
        const uint8_t *row = rgb + (size_t)y * (size_t)n, *before = y ? row - n : NULL;
        size_t best = SIZE_MAX;
        int choice = 0;
        for (int f = 0; f < 5; f++) {
            size_t sum = filter_row(f, row, before, n, out);
            if (sum < best) best = sum, choice = f;
        }
        filter_row(choice, row, before, n, out);
    }
}

/* -------------------------------------------------------------------------------------------------------------- */

static void write_picture(png *p, const uint8_t *data, size_t n, int width, int height) {
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    uint8_t header[13] = {[8] = 8, [9] = 2}; /* 8 bits, RGB */
    crc_init(p->crc_table);
    big32(header, (uint32_t)width);
    big32(header + 4, (uint32_t)height);
    p->failed |= fwrite(signature, 1, 8, p->file) != 8;
    write_chunk(p, "IHDR", header, sizeof header);
    deflate(p, data, n);
    write_chunk(p, "IEND", header, 0);
}

static sti_status save(png *p, const char *path, const uint8_t *data, size_t n, int width, int height,
                       sti_error *error) {
    p->file = fopen(path, "wb");
    if (!p->file)
        return sti__fail_at(error, (sti__place){.file = path}, STI_FILE, "cannot be written: %s",
                            strerror(errno));
    write_picture(p, data, n, width, height);
    p->failed |= fclose(p->file) != 0;
    return p->failed ? sti__fail_at(error, (sti__place){.file = path}, STI_FILE, "could not be written whole")
                     : STI_OK;
}

sti_status sti_picture_write_png(const char *path, const uint8_t *rgb, int width, int height,
                                 sti_error *error) {
    if (!path || !rgb || width < 1 || height < 1 || width > 8192 || height > 8192)
        return sti__fail(error, STI_ARGUMENT, "a picture has 1 to 8192 pixels on a side, not %d x %d", width,
                         height);
    size_t n = (3 * (size_t)width + 1) * (size_t)height;
    uint8_t *data = sti__alloc(NULL, n);
    png *p = sti__alloc(NULL, sizeof *p);
    sti_status status;
    if (!data || !p) status = sti__fail(error, STI_NO_MEMORY, "out of memory for the picture");
    else {
        filter_picture(rgb, width, height, data);
        status = save(p, path, data, n, width, height, error);
    }
    sti__free(NULL, p, sizeof *p);
    sti__free(NULL, data, n);
    return status;
}
