/* SPDX-License-Identifier: Apache-2.0 */
/* The Hessian's pattern: bodies that a joint, a contact or a sum of dofs holds together. It is kept while they stay the
   same. */
#include "base/room.h"
#include "integrate/alm/inside.h"
#include <limits.h>
#include <string.h>

/* Three lists of the same room: sorted, as found last time, as found now. */
static bool grow_pairs(sti__alm *alm) {
    if (alm->pair_room > INT_MAX / 4) return false;
    int room = 2 * alm->pair_room + 64;
    const sti__array list[] = {{&alm->pair, sizeof *alm->pair},
                               {&alm->raw, sizeof *alm->raw},
                               {&alm->raw_new, sizeof *alm->raw_new}};
    if (!sti__grow_arrays(&alm->allocator, list, STI__COUNT(list), (size_t)alm->pair_room, (size_t)room))
        return false;
    alm->pair_room = room;
    return true;
}

static bool add_pair(sti__alm *alm, int i, int j) {
    if (i < 0 || j < 0 || i == j) return true;
    if (alm->nraw_new == alm->pair_room && !grow_pairs(alm)) return false;
    if (i < j) {
        int swap = i;
        i = j;
        j = swap;
    }
    alm->raw_new[alm->nraw_new++] = (uint64_t)i << 32 | (uint32_t)j;
    return true;
}

/* All bodies of a sum move each other. */
static bool add_sum(sti__alm *alm, const sti__alm_sum *sum) {
    bool ok = true;
    for (int p = sum->first; p < sum->first + sum->n; p++)
        for (int q = sum->first; q <= p; q++) {
            const sti__coord *c = alm->coord + alm->term_dof[p], *d = alm->coord + alm->term_dof[q];
            ok = ok && add_pair(alm, c->a, d->a) && add_pair(alm, c->a, d->b) && add_pair(alm, c->b, d->a) &&
                 add_pair(alm, c->b, d->b);
        }
    return ok;
}

/* Heap sort: no memory, no bad case. */
static void sift(uint64_t *x, int i, int n) {
    uint64_t item = x[i];
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && x[child + 1] > x[child]) child++;
        if (x[child] <= item) break;
        x[i] = x[child];
    }
    x[i] = item;
}

static void sort(uint64_t *x, int n) {
    for (int i = n / 2 - 1; i >= 0; i--) sift(x, i, n);
    for (int i = n - 1; i > 0; i--) {
        uint64_t swap = x[0];
        x[0] = x[i];
        x[i] = swap;
        sift(x, 0, i);
    }
}

static bool find_pairs(sti__alm *alm) {
    const sti_model *m = alm->model;
    bool ok = true;
    alm->nraw_new = 0;
    for (int j = 0; j < m->njnt && ok; j++) ok = add_pair(alm, alm->before[j], alm->after[j]);
    for (int i = 0; i < alm->npin_fixed && ok; i++) ok = add_pair(alm, alm->pin[i].a, alm->pin[i].b);
    for (int i = 0; i < alm->nsum && ok; i++)
        if (!sti__sum_is_kinked(&alm->sum[i])) ok = add_sum(alm, alm->sum + i);
    return ok;
}

/* Room for the blocks of a pattern. */
static bool reserve(sti__alm *alm, int blocks) {
    if (blocks <= alm->block_room) return true;
    if (blocks > INT_MAX / 64) return false;
    int room = blocks + blocks / 2;
    const sti__array list[] = {{&alm->bcol, sizeof *alm->bcol},
                               {&alm->col, 36 * sizeof *alm->col},
                               {&alm->value, 36 * sizeof *alm->value}};
    if (!sti__grow_arrays(&alm->allocator, list, STI__COUNT(list), (size_t)alm->block_room, (size_t)room))
        return false;
    alm->block_room = room;
    return true;
}

static void fill_pattern(sti__alm *alm) {
    int at = 0, p = 0, *col = alm->col;
    for (int i = 0; i < alm->nbody; i++) {
        alm->bstart[i] = at;
        while (p < alm->npair && (int)(alm->pair[p] >> 32) == i)
            alm->bcol[at++] = (int)(uint32_t)alm->pair[p++];
        alm->bcol[at++] = i;
        int first = alm->bstart[i], n = at - first;
        for (int r = 0; r < 6; r++) {
            alm->start[6 * i + r] = 36 * first + 6 * n * r;
            for (int k = 0; k < n; k++)
                for (int c = 0; c < 6; c++) *col++ = 6 * alm->bcol[first + k] + c;
        }
    }
    alm->bstart[alm->nbody] = at;
    alm->start[6 * alm->nbody] = 36 * at;
}

bool sti__alm_pattern(sti__alm *alm) {
    if (!find_pairs(alm)) return false;
    int found = alm->nraw_new, n = 0;
    size_t bytes = sti__size(sizeof(uint64_t), found);
    if (alm->bstart[alm->nbody] > 0 && found == alm->nraw &&
        (found == 0 || memcmp(alm->raw, alm->raw_new, bytes) == 0))
        return true;
    if (!reserve(alm, found + alm->nbody)) return false;
    if (found) {
        memcpy(alm->raw, alm->raw_new, bytes);
        memcpy(alm->pair, alm->raw_new, bytes);
    }
    alm->nraw = found;
    sort(alm->pair, found);
    for (int i = 0; i < found; i++)
        if (n == 0 || alm->pair[i] != alm->pair[n - 1]) alm->pair[n++] = alm->pair[i];
    alm->npair = n;
    fill_pattern(alm);
    return true;
}

sti_status sti__alm_analyse(sti__alm *alm, sti_error *error) {
    int n = 6 * alm->nbody;
    sti_csr a = {n, n, alm->start, alm->col, alm->value};
    return sti__chol_analyse(alm->chol, &a, error);
}

void sti__alm_add_block(sti__alm *alm, int i, int j, const double B[36]) {
    if (i < 0 || j < 0) return;
    bool flip = i < j;
    int row = flip ? j : i, column = flip ? i : j, first = alm->bstart[row], n = alm->bstart[row + 1] - first;
    int k = n - 1;
    while (alm->bcol[first + k] != column) k--;
    double *to = alm->value + 36 * (size_t)first + 6 * k;
    for (int r = 0; r < 6; r++, to += 6 * n)
        for (int c = 0; c < 6; c++) to[c] += flip ? B[6 * c + r] : B[6 * r + c];
}
