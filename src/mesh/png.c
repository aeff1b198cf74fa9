/* SPDX-License-Identifier: Apache-2.0 */
/* PNG (ISO/IEC 15948): chunks, filters, interlacing. */
#include "mesh/png.h"
#include <stdlib.h>
#include <string.h>

typedef struct image {
    int width, height, depth,
        kind; /* kind: 0 grey, 2 colours, 3 palette, 4 grey and alpha, 6 colours and alpha */
    bool interlaced;
    const uint8_t *palette;
    int npalette;
    size_t packed; /* bytes in all IDAT */
} image;

static uint32_t big32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

bool sti__is_png(const void *data, size_t size) {
    static const uint8_t sign[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    return size >= 8 && memcmp(data, sign, 8) == 0;
}

static uint32_t crc(const uint8_t *p, size_t n) {
    uint32_t c = 0xffffffffu;
    for (size_t i = 0; i < n; i++) {
        c ^= p[i];
        for (int k = 0; k < 8; k++) c = c & 1 ? 0xedb88320u ^ (c >> 1) : c >> 1;
    }
    return ~c;
}

static int channels(int kind) { return kind == 2 ? 3 : kind == 4 ? 2 : kind == 6 ? 4 : 1; }

static const char *read_header(image *m, const uint8_t *p, size_t n) {
    if (n != 13) return "its header has the wrong size";
    uint32_t w = big32(p), h = big32(p + 4);
    if (w < 1 || h < 1 || w > 1 << 15 || h > 1 << 15)
        return "it has no pixels or more than 32768 in a row or column";
    m->width = (int)w;
    m->height = (int)h;
    m->depth = p[8];
    m->kind = p[9];
    m->interlaced = p[12] == 1;
    bool small = m->depth == 1 || m->depth == 2 || m->depth == 4;
    bool good = (m->depth == 8 && (m->kind <= 4 || m->kind == 6) && m->kind != 1) ||
                (m->depth == 16 && (m->kind == 0 || m->kind == 2 || m->kind == 4 || m->kind == 6)) ||
                (small && (m->kind == 0 || m->kind == 3));
    return good && p[10] == 0 && p[11] == 0 && p[12] <= 1 ? NULL : "it is of an unknown kind";
}

/* walks over all chunks; IDAT is put together in `packed` if that is not NULL */
static const char *read_chunks(const uint8_t *data, size_t size, image *m, uint8_t *packed) {
    *m = (image){0};
    if (!sti__is_png(data, size)) return "not a PNG file";
    for (size_t at = 8; size - at >= 12;) {
        size_t n = big32(data + at);
        const uint8_t *type = data + at + 4, *body = type + 4;
        if (n > size - at - 12) return "a chunk is cut off";
        if (crc(type, n + 4) != big32(body + n)) return "the check sum of a chunk is wrong";
        bool header = memcmp(type, "IHDR", 4) == 0;
        if (header != (at == 8)) return "its header is not where it belongs";
        const char *why = header ? read_header(m, body, n) : NULL;
        if (why) return why;
        if (memcmp(type, "PLTE", 4) == 0) m->palette = body, m->npalette = (int)(n / 3);
        if (memcmp(type, "IDAT", 4) == 0) {
            if (packed) memcpy(packed + m->packed, body, n);
            m->packed += n;
        }
        if (memcmp(type, "IEND", 4) == 0) return m->kind == 3 && !m->palette ? "it has no palette" : NULL;
        at += n + 12;
    }
    return "it ends too soon";
}

/* ---- passes: one, or the seven of Adam7 ------------------------------------------------------------- */

typedef struct pass {
    int x, y, dx, dy, width, height;
    size_t row; /* bytes without the filter's */
} pass;

static pass pass_of(const image *m, int k) {
    static const int x[7] = {0, 4, 0, 2, 0, 1, 0}, y[7] = {0, 0, 4, 0, 2, 0, 1},
                     dx[7] = {8, 8, 4, 4, 2, 2, 1}, dy[7] = {8, 8, 8, 4, 4, 2, 2};
    pass p = {0, 0, 1, 1, m->width, m->height, 0};
    if (m->interlaced) p = (pass){x[k], y[k], dx[k], dy[k], 0, 0, 0};
    p.width = (m->width - p.x + p.dx - 1) / p.dx;
    p.height = (m->height - p.y + p.dy - 1) / p.dy;
    p.row = ((size_t)p.width * (size_t)(channels(m->kind) * m->depth) + 7) / 8;
    return p;
}

static size_t raw_bytes(const image *m) {
    size_t sum = 0;
    for (int k = 0; k < (m->interlaced ? 7 : 1); k++) {
        pass p = pass_of(m, k);
        if (p.width > 0) sum += (p.row + 1) * (size_t)p.height;
    }
    return sum;
}

static uint8_t paeth(int a, int b, int c) {
    int pa = abs(b - c), pb = abs(a - c), pc = abs(a + b - 2 * c);
    return (uint8_t)(pa <= pb && pa <= pc ? a : pb <= pc ? b : c);
}

/* row and the one above it (NULL: none), step bytes per pixel */
static bool unfilter(int filter, uint8_t *row, const uint8_t *above, size_t n, size_t step) {
    for (size_t i = 0; i < n; i++) {
        int a = i >= step ? row[i - step] : 0, b = above ? above[i] : 0,
            c = above && i >= step ? above[i - step] : 0;
        switch (filter) {
        case 0: break;
        case 1: row[i] = (uint8_t)(row[i] + a); break;
        case 2: row[i] = (uint8_t)(row[i] + b); break;
        case 3: row[i] = (uint8_t)(row[i] + (a + b) / 2); break;
        case 4: row[i] = (uint8_t)(row[i] + paeth(a, b, c)); break;
        default: return false;
        }
    }
    return true;
}

/* the upper eight bits of a pixel's channels; false: not in the palette */
static bool pixel(const image *m, const uint8_t *row, int x, int count, uint8_t *out) {
    const uint8_t *from = row;
    size_t step = (size_t)m->depth / 8, channel = (size_t)channels(m->kind);
    if (m->depth >= 8) from += (size_t)x * channel * step;
    int bit = x * m->depth,
        v = m->depth >= 8 ? *from : row[bit / 8] >> (8 - m->depth - bit % 8) & ((1 << m->depth) - 1);
    if (m->kind == 3) {
        if (v >= m->npalette) return false;
        from = m->palette + 3 * v;
        step = 1;
    }
    uint8_t gray = (uint8_t)(m->depth >= 8 ? v : v * 255 / ((1 << m->depth) - 1));
    for (int k = 0; k < count; k++) out[k] = m->kind == 3 || m->kind & 2 ? from[(size_t)k * step] : gray;
    return true;
}

static const char *unpack(const image *m, const pass *p, uint8_t *raw, int count, uint8_t *out) {
    size_t step = (size_t)(channels(m->kind) * m->depth + 7) / 8;
    const uint8_t *above = NULL;
    for (int r = 0; r < p->height; r++, raw += p->row + 1) {
        if (!unfilter(raw[0], raw + 1, above, p->row, step)) return "a row has an unknown filter";
        above = raw + 1;
        for (int k = 0; k < p->width; k++) {
            size_t to = (size_t)(p->y + r * p->dy) * (size_t)m->width + (size_t)(p->x + k * p->dx);
            if (!pixel(m, above, k, count, out + (size_t)count * to)) return "a colour is not in the palette";
        }
    }
    return NULL;
}

size_t sti__png_work(const void *data, size_t size, int *width, int *height, const char **why) {
    image m;
    *why = read_chunks(data, size, &m, NULL);
    if (*why) return 0;
    *width = m.width;
    *height = m.height;
    size_t raw = raw_bytes(&m);
    if (raw / 1100 <= m.packed) return m.packed + raw; /* deflate saves no more than a factor of 1032 */
    *why = "it is too short for its size";
    return 0;
}

static bool decode(const void *data, size_t size, void *work, int count, uint8_t *out, const char **why) {
    image m;
    uint8_t *packed = work;
    *why = read_chunks(data, size, &m, packed);
    if (*why) return false;
    uint8_t *raw = packed + m.packed;
    if (!sti__inflate(packed, m.packed, raw, raw_bytes(&m), why)) return false;
    *why = NULL;
    for (int k = 0; k < (m.interlaced ? 7 : 1) && !*why; k++) {
        pass p = pass_of(&m, k);
        if (p.width <= 0 || p.height <= 0) continue;
        *why = unpack(&m, &p, raw, count, out);
        raw += (p.row + 1) * (size_t)p.height;
    }
    return !*why;
}

bool sti__png_gray(const void *data, size_t size, void *work, uint8_t *gray, const char **why) {
    return decode(data, size, work, 1, gray, why);
}

bool sti__png_colors(const void *data, size_t size, void *work, uint8_t *rgb, const char **why) {
    return decode(data, size, work, 3, rgb, why);
}
