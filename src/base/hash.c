/* SPDX-License-Identifier: Apache-2.0 */
/* Four multiply-rotate streams over 32-byte stripes, then the rest word by word, then a bit mixer.
   Words are read as little endian, so that all machines agree. Not for hostile keys. */
#include "base/internal.h"
#include <string.h>

#define K1 0x9fb21c651e98df25ull
#define K2 0xd6e8feb86659fd93ull
#define K3 0xa0761d6478bd642full

static uint64_t rotate(uint64_t x, int n) { return x << n | x >> (64 - n); }

static uint64_t read8(const unsigned char *p) {
    uint64_t w;
    memcpy(&w, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    w = __builtin_bswap64(w);
#endif
    return w;
}

/* a bijection of h for every word, and of the word for every h: nothing is absorbed */
static uint64_t stir(uint64_t h, uint64_t word) { return rotate(h + word * K2, 31) * K1; }

static uint64_t finish(uint64_t h) {
    h = (h ^ h >> 32) * K3;
    h = (h ^ h >> 29) * K2;
    return h ^ h >> 32;
}

uint64_t sti__hash(uint64_t seed, const void *data, size_t size) {
    const unsigned char *p = data;
    uint64_t h = seed ^ size * K3;
    size_t left = size;
    if (left >= 32) {
        uint64_t a = h, b = h + K1, c = h + K2, d = h + K3;
        for (; left >= 32; left -= 32, p += 32) {
            a = stir(a, read8(p));
            b = stir(b, read8(p + 8));
            c = stir(c, read8(p + 16));
            d = stir(d, read8(p + 24));
        }
        h = stir(stir(stir(a, b), c), d);
    }
    for (; left >= 8; left -= 8, p += 8) h = stir(h, read8(p));
    unsigned char tail[8] = {0};
    if (left) memcpy(tail, p, left);
    return finish(stir(h, read8(tail)));
}
