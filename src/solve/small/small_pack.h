/* SPDX-License-Identifier: Apache-2.0 */
/* Words of bits and packs of eight numbers, for the small islands' kernel: compiled once per instruction set, with the same bits
   in all. Sums follow base/simd.h. */
#ifndef STI_SOLVE_SMALL_PACK_H
#define STI_SOLVE_SMALL_PACK_H

#include "base/lane.h"
#include "base/simd.h"
#include "base/unroll.h"
#include "solve/small/small.h"

#if defined __AVX512F__
#define VW 8 /* doubles in a register */
#elif defined __AVX__
#define VW 4
#else
#define VW 2
#endif

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define INLINE static inline __attribute__((always_inline))

/* Words of 64 bits, one bit per dof: the kernel is compiled for islands of one word, and for those of more. */
#ifndef WORDS
#define WORDS 1
#endif
#define MOST (64 * WORDS) /* dofs */

#if WORDS == 1
typedef uint64_t bits; /* of dofs */
#else
typedef uint64_t bits __attribute__((vector_size(8 * WORDS), aligned(8)));
#endif

/* Eight numbers in as many registers as the machine needs. */
#define UNROLL STI__UNROLL(16)
typedef double vec __attribute__((vector_size(8 * VW), aligned(8), may_alias));
typedef int64_t words __attribute__((vector_size(8 * VW), aligned(8), may_alias));
typedef double vec4 __attribute__((vector_size(32)));
typedef double vec2 __attribute__((vector_size(16)));
#define PARTS (8 / VW)
#define AT(x, i) (*(vec *)((x) + (i)))
#define IN(x, i) (*(const vec *)((x) + (i)))

/* ---- bits ---------------------------------------------------------------------------------------------------- */

#if WORDS == 1
INLINE uint64_t word_of(bits set, int w) { return (void)w, set; }
INLINE bits only(int k) { return (bits)1 << k; }
/* Those of the first k dofs. */
INLINE bits before(int k) { return only(k) - 1; }
INLINE bool any(bits set) { return set != 0; }
INLINE bits nobody(void) { return 0; }
#else
INLINE uint64_t word_of(bits set, int w) { return set[w]; }
INLINE bits nobody(void) { return (bits){0}; }
INLINE bits only(int k) {
    bits set = nobody();
    set[k / 64] = (uint64_t)1 << k % 64;
    return set;
}
INLINE bits before(int k) {
    bits set = nobody();
    for (int w = 0; w < WORDS; w++)
        set[w] = k >= 64 * w + 64 ? ~(uint64_t)0 : k > 64 * w ? ((uint64_t)1 << (k - 64 * w)) - 1 : 0;
    return set;
}
INLINE bool any(bits set) {
    uint64_t all = 0;
    for (int w = 0; w < WORDS; w++) all |= set[w];
    return all != 0;
}
#endif
INLINE bool same(bits a, bits b) { return !any(a ^ b); }

/* k: each of the bits of a set, ascending */
#define FOR_BITS(k, set)                                                                                \
    for (bits k##_set = (set), *k##_of = &k##_set; k##_of; k##_of = NULL)                               \
        for (int k##_word = 0; k##_word < WORDS; k##_word++)                                            \
            for (uint64_t k##_left = word_of(*k##_of, k##_word), k;                                     \
                 k##_left && (k = 64 * (uint64_t)k##_word + (uint64_t)__builtin_ctzll(k##_left), true); \
                 k##_left &= k##_left - 1)

/* The first number of the pack of k, and of the next. */
INLINE int pack_of(int k) { return k / 8 * 8; }
INLINE int pack_after(int k) { return k / 8 * 8 + 8; }
/* Whether it has dofs of the pack that begins at p. */
INLINE bool has_pack(bits set, int p) { return (word_of(set, p / 64) >> p % 64 & 255) != 0; }
/* Of a set that is not empty. */
INLINE int first_of(bits set) {
    int w = 0;
    while (w < WORDS - 1 && word_of(set, w) == 0) w++;
    return 64 * w + __builtin_ctzll(word_of(set, w));
}
INLINE int last_of(bits set) {
    int w = WORDS - 1;
    while (w > 0 && word_of(set, w) == 0) w--;
    return 64 * w + 63 - __builtin_clzll(word_of(set, w));
}
INLINE bool is_one(bits set) { return any(set) && first_of(set) == last_of(set); }

/* A set that is gone through again and again, and the packs that it is in: with many words it is listed once. FOR_PLACES: i, each of its dofs
   from `least` on; FOR_PLACES_DOWN: all, descending; FOR_PACKS: p, the first number of each of its packs (one word: and of those between)
   up to `most`. */
#if WORDS == 1
typedef struct places {
    bits set;
    int from, to;
} places;
#define FOR_PLACES(i, list, least) FOR_BITS (i, (list)->set & ~before(least))
#define FOR_PLACES_DOWN(i, list)             \
    for (uint64_t i##_left = (list)->set, i; \
         i##_left && (i = 63 - (uint64_t)__builtin_clzll(i##_left), true); i##_left ^= only((int)i))
#define FOR_PACKS(p, list, most)                                                                       \
    for (int p = (list)->from, p##_to = pack_after(most) < (list)->to ? pack_after(most) : (list)->to; \
         p < p##_to; p += 8)
INLINE void list_places(bits set, places *list) {
    *list = (places){set, any(set) ? pack_of(first_of(set)) : 0, any(set) ? pack_after(last_of(set)) : 0};
}
INLINE bool touches(const places *list, int p) { return has_pack(list->set, p); }
#else
typedef struct places {
    int count, packs;
    int dof[MOST], pack[MOST / 8];
} places;
#define FOR_PLACES(i, list, least)                                                               \
    for (int i##_at = 0, i; i##_at < (list)->count && (i = (list)->dof[i##_at], true); i##_at++) \
        if (i >= (least))
#define FOR_PLACES_DOWN(i, list) \
    for (int i##_at = (list)->count, i; i##_at > 0 && (i = (list)->dof[i##_at - 1], true); i##_at--)
#define FOR_PACKS(p, list, most) \
    for (int p##_at = 0, p; p##_at < (list)->packs && (p = (list)->pack[p##_at]) <= (most); p##_at++)
INLINE bool touches(const places *list, int p) { return (void)list, (void)p, true; }
INLINE void list_places(bits set, places *list) {
    list->count = list->packs = 0;
    for (int w = 0; w < WORDS; w++)
        for (uint64_t left = word_of(set, w), p; left; left &= ~((uint64_t)255 << p)) {
            p = (uint64_t)__builtin_ctzll(left) / 8 * 8;
            list->pack[list->packs++] = 64 * w + (int)p;
            for (uint64_t own = left & (uint64_t)255 << p; own; own &= own - 1)
                list->dof[list->count++] = 64 * w + __builtin_ctzll(own);
        }
}
#endif

INLINE double larger(double a, double b) { return a > b ? a : b; } /* fmax is a call */

/* ---- packs --------------------------------------------------------------------------------------------------- */

/* y += s x, from <= i < to */
INLINE void add(double *y, double s, const double *x, int from, int to) {
    for (int i = from; i < to; i += VW) AT(y, i) += s * IN(x, i);
}

INLINE double finish(const vec *part) {
#if VW == 8
    vec4 four = __builtin_shufflevector(part[0], part[0], 0, 1, 2, 3) +
                __builtin_shufflevector(part[0], part[0], 4, 5, 6, 7);
    vec2 two = __builtin_shufflevector(four, four, 0, 1) + __builtin_shufflevector(four, four, 2, 3);
#elif VW == 4
    vec4 four = part[0] + part[1];
    vec2 two = __builtin_shufflevector(four, four, 0, 1) + __builtin_shufflevector(four, four, 2, 3);
#else
    vec2 two = (part[0] + part[2]) + (part[1] + part[3]);
#endif
    return two[0] + two[1];
}

/* Which numbers of a row may not be zero, in whole packs: from..end and, where it is over two trees, next..to. */
typedef struct runs {
    int from, end, next, to;
} runs;

/* from, to: each of the two */
#define FOR_RUNS(from, to, run)                                                                 \
    for (int from = (run)->from, to = (run)->end, from##_k = 0; from##_k < (WORDS > 1 ? 2 : 1); \
         from##_k++, from = (run)->next, to = (run)->to)

/* Products of `count` rows with x. As sti__dot of whole packs. */
INLINE void dots(const double *rows, int ld, int count, const double *x, const runs *run, double *out) {
    vec part[STI_ROW_DIM][PARTS] = {{{0}}};
    FOR_RUNS (from, to, run)
        for (int i = from; i < to; i += 8)
            UNROLL for (int v = 0; v < PARTS; v++) UNROLL for (int r = 0; r < count; r++) part[r][v] +=
                IN(rows, r * ld + i + VW * v) * IN(x, i + VW * v);
    UNROLL for (int r = 0; r < count; r++) out[r] = finish(part[r]);
}

INLINE double dot_in(const double *a, const double *b, const runs *run) {
    double out;
    dots(a, 0, 1, b, run, &out);
    return out;
}

INLINE double dot(const double *a, const double *b, int from, int to) {
    const runs run = {from, to, to, to};
    return dot_in(a, b, &run);
}

INLINE void add_in(double *y, double s, const double *x, const runs *run) {
    FOR_RUNS (from, to, run) add(y, s, x, from, to);
}

/* Zeros after x[k], to the end of its pack. */
INLINE void cut_after(double *x, int k) {
    static const int64_t keep[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
    const int64_t *mask = keep + 7 - k % 8;
    for (int v = 0; v < 8; v += VW) {
        vec *part = &AT(x, pack_of(k) + v);
        *part = (vec)((words)*part & *(const words *)(mask + v));
    }
}

/* The pack of the k-th unit vector: packs that hold a number just stored alone would have to be waited for. */
INLINE const double *unit_pack(int k) {
    static const double unit[16] = {0, 0, 0, 0, 0, 0, 0, 1};
    return unit + 7 - k % 8;
}

INLINE void clear(double *x, int count) {
    for (int i = 0; i < count; i += VW) AT(x, i) = (vec){0};
}

#endif
