/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/warm/guess.h"
#include "base/room.h"
#include "contact/rows.h"
#include "linear/factor/block_cholesky.h"
#include "solve/policy.h"
#include <string.h>

/* A number of each of the two pairs. */
typedef double both __attribute__((vector_size(16), may_alias));

/* By the island's numbers. */
typedef struct scales {
    both *v, *moved;        /* v, v - v* */
    both *momentum, *force; /* A (v - v*), J'g */
    double *vstar, *impetus;
    double *weight; /* diagonal of A */
    int *reach;     /* the last dof that A couples with this one */
} scales;

static size_t lay_out(scales *s, int n, void *base) {
    sti__cutter c = {base, 0};
    both **pairs[] = {&s->v, &s->moved, &s->momentum, &s->force};
    double **numbers[] = {&s->vstar, &s->impetus, &s->weight};
    for (int i = 0; i < STI__COUNT(pairs); i++) *pairs[i] = sti__cut(&c, (size_t)n, sizeof(both));
    for (int i = 0; i < STI__COUNT(numbers); i++) *numbers[i] = sti__cut(&c, (size_t)n, sizeof(double));
    s->reach = sti__cut(&c, (size_t)n, sizeof(int));
    return c.used;
}

size_t sti__guess_room(int n) {
    scales s;
    return lay_out(&s, n, NULL);
}

static void gather(const sti__guess *s, const scales *x) {
    for (int i = 0; i < s->n; i++) {
        double vstar = s->problem->arrays.vstar[s->dof[i]];
        x->vstar[i] = vstar;
        x->v[i] = (both){s->v[0][s->dof[i]], s->v[1][s->dof[i]]};
        x->moved[i] = x->v[i] - vstar;
        x->force[i] = (both){0, 0};
    }
}

/* What is in the island of A times what moved, and A v*; a stored zero couples nothing. */
static void mass_mul(const sti__guess *s, const scales *x) {
    const sti_csr *A = &s->problem->arrays.A;
    for (int i = 0; i < s->n; i++) {
        both sum = {0, 0};
        double impetus = 0;
        int global = s->dof[i], reach = i;
        for (int k = A->start[global]; k < A->start[global + 1]; k++) {
            if (A->value[k] == 0) continue;
            int j = s->rank[A->col[k]];
            sum += A->value[k] * x->moved[j];
            impetus += A->value[k] * x->vstar[j];
            if (j == i) x->weight[i] = A->value[k];
            if (j > reach) reach = j;
        }
        x->momentum[i] = sum;
        x->impetus[i] = impetus;
        x->reach[i] = reach;
    }
}

/* Adds the rows' parts of the gap; force gets J'g. */
static void add_rows(const sti__guess *s, const scales *x, double gap[2]) {
    const sti_problem *p = s->problem;
    const sti_csr *J = &p->arrays.J;
    for (int b = 0; b < s->nrow; b++) {
        int at = p->first[s->row[b]];
        const sti_row *row = &p->arrays.rows[s->row[b]];
        const double *R = p->arrays.R + at;
        double y[2][STI_ROW_DIM] = {{0}};
        for (int i = 0; i < row->dim; i++) {
            both sum = {0, 0}, g = {s->g[0][at + i], s->g[1][at + i]};
            for (int k = J->start[at + i]; k < J->start[at + i + 1]; k++) {
                int j = s->rank[J->col[k]];
                sum += J->value[k] * x->v[j];
                x->force[j] += J->value[k] * g;
            }
            for (int pair = 0; pair < 2; pair++) y[pair][i] = sum[pair] - p->arrays.vhat[at + i];
        }
        for (int pair = 0; pair < 2; pair++) {
            const double *g = s->g[pair] + at;
            double part = sti__row_gap_at(row, R, y[pair], g, true);
            if (s->share[pair]) s->share[pair][s->row[b]] = part;
            gap[pair] += part;
        }
    }
}

/* Where the run of dofs that A couples from begin on ends; -1 if it has many. */
static int part_end(const scales *x, int begin) {
    int reach = begin, end = begin;
    for (; end <= reach; end++) {
        if (end - begin >= STI__GUESS_PART) return -1;
        if (x->reach[end] > reach) reach = x->reach[end];
    }
    return end;
}

/* Adds |rest|^2 and |force|^2 in A^-1 of the dofs begin..begin + n, which nothing couples to others. */
static bool add_norms(const sti__guess *s, const scales *x, int begin, int n, both *rest, both *force) {
    const sti_csr *A = &s->problem->arrays.A;
    double L[STI__GUESS_PART * STI__GUESS_PART];
    both a[STI__GUESS_PART], c[STI__GUESS_PART];
    for (int i = 0; i < n; i++) {
        int global = s->dof[begin + i];
        for (int j = 0; j <= i; j++) L[i * n + j] = 0;
        for (int k = A->start[global]; k < A->start[global + 1]; k++)
            if (A->col[k] <= global && A->value[k] != 0) L[i * n + s->rank[A->col[k]] - begin] = A->value[k];
    }
    if (!sti__block_factor(L, n, 0)) return false;
    for (int i = 0; i < n; i++) {
        a[i] = x->momentum[begin + i] - x->force[begin + i];
        c[i] = x->force[begin + i];
        for (int j = 0; j < i; j++) {
            a[i] -= L[i * n + j] * a[j];
            c[i] -= L[i * n + j] * c[j];
        }
        a[i] /= L[i * n + i];
        c[i] /= L[i * n + i];
        *rest += a[i] * a[i];
        *force += c[i] * c[i];
    }
    return true;
}

static bool norms(const sti__guess *s, const scales *x, both *rest, both *force) {
    *rest = *force = (both){0, 0};
    for (int begin = 0, end = 0; begin < s->n; begin = end) {
        end = part_end(x, begin);
        if (end == begin + 1 && x->weight[begin] > 0) {
            both r = x->momentum[begin] - x->force[begin], f = x->force[begin];
            *rest += r * r / x->weight[begin];
            *force += f * f / x->weight[begin];
        } else if (end < 0 || !add_norms(s, x, begin, end - begin, rest, force)) return false;
    }
    return true;
}

void sti__guess_bars(const sti__guess *s, sti__sum sum[2], double bar[2]) {
    scales x;
    both moved2 = {0, 0}, rest, force;
    double free2 = 0, gap[2] = {0, 0};
    lay_out(&x, s->n, s->work);
    bar[0] = bar[1] = INFINITY;
    gather(s, &x);
    mass_mul(s, &x);
    for (int begin = 0; begin < s->n;)
        if ((begin = part_end(&x, begin)) < 0) return;
    add_rows(s, &x, gap);
    if (!norms(s, &x, &rest, &force)) return;
    for (int i = 0; i < s->n; i++) {
        free2 += x.vstar[i] * x.impetus[i];
        moved2 += x.moved[i] * x.momentum[i];
    }
    for (int pair = 0; pair < 2; pair++) {
        sum[pair] = (sti__sum){.gap = gap[pair] + rest[pair] / 2,
                               .impulse2 = force[pair],
                               .moved2 = moved2[pair],
                               .free2 = sti__free2(s->problem, free2, 1)};
        bar[pair] = sti__sum_bar(&sum[pair]);
    }
}
