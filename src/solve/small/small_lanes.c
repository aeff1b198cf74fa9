/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/small/small_lanes.h"
#include "base/isa.h"
#include <string.h>

#define LEAST_STEPS 4 /* Newton steps that a set may take */

#ifndef STI_ONE_LANE
size_t sti__small_set_bytes_w8(const sti__small_job *job);
void sti__small_set_w8(sti__small_set *set);
#ifdef STI_HAVE_ISA
void sti__small_set_w8_avx512(sti__small_set *set);
#endif

size_t sti__small_set_room(const sti__small_job *job) { return sti__small_set_bytes_w8(job); }

void sti__small_set_solve(sti__small_set *set) {
#ifdef STI_HAVE_ISA
    if (sti__has_avx512()) {
        sti__small_set_w8_avx512(set);
        return;
    }
#endif
    sti__small_set_w8(set);
}
#else
size_t sti__small_set_room(const sti__small_job *job) { return (void)job, 0; }

void sti__small_set_solve(sti__small_set *set) {
    for (int l = 0; l < set->count; l++) set->found[l] = false;
}
#endif

bool sti__small_set_fits(const sti__small_job *job) {
    const sti_problem *p = job->problem;
    if (!p->uniform || p->nisland != 1 || job->n != p->arrays.n || job->nrow != p->arrays.nrow ||
        job->n > STI__SMALL || p->m == 0 || !job->next_v || !job->next_g || job->lawful ||
        job->steps < LEAST_STEPS)
        return false;
    for (int b = 0; b < job->nrow; b++) {
        const sti_row *row = &p->arrays.rows[b];
        if (row->dim != (row->kind == STI_ROW_CONE ? 3 : 1)) return false;
    }
    for (int i = 0; i < job->n; i++)
        if (p->dof_island[i] != 0) return false;
    for (int b = 0; b < job->nrow; b++)
        if (p->row_island[b] != 0) return false;
    return true;
}

static bool same_ints(const int *a, const int *b, int count) {
    return memcmp(a, b, sizeof *a * (size_t)count) == 0;
}

static bool same_pattern(const sti_csr *a, const sti_csr *b) {
    return a->nrow == b->nrow && same_ints(a->start, b->start, a->nrow + 1) &&
           same_ints(a->col, b->col, a->start[a->nrow]);
}

bool sti__small_alike(const sti__small_job *a, const sti__small_job *b) {
    const sti_problem *p = a->problem, *q = b->problem;
    if (a->n != b->n || a->nrow != b->nrow || p->m != q->m || !p->tree.L != !q->tree.L) return false;
    for (int k = 0; k < a->nrow; k++)
        if ((p->arrays.rows[k].kind == STI_ROW_CONE) != (q->arrays.rows[k].kind == STI_ROW_CONE))
            return false;
    return same_pattern(&p->arrays.J, &q->arrays.J) && same_pattern(&p->arrays.A, &q->arrays.A);
}
