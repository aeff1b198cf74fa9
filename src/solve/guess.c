/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/guess.h"
#include "contact/rows.h"
#include <string.h>

#define LARGEST_PART 32 /* dofs that the mass couples */

/* Rows' parts of the gap; force gets J'g. */
static double rows_gap(const sti__guess *s, double *force) {
    const sti_problem *p = s->problem;
    const sti_csr *J = &p->arrays.J;
    double gap = 0;
    memset(force, 0, sizeof(double) * (size_t)s->n);
    for (int b = 0; b < s->nrow; b++) {
        int at = p->first[s->row[b]];
        const sti_row *row = &p->arrays.rows[s->row[b]];
        const double *R = p->arrays.R + at, *g = s->g + at;
        double y[STI_ROW_DIM] = {0};
        for (int i = 0; i < row->dim; i++) {
            double sum = 0;
            for (int k = J->start[at + i]; k < J->start[at + i + 1]; k++) {
                sum += J->value[k] * s->v[J->col[k]];
                force[s->rank[J->col[k]]] += J->value[k] * g[i];
            }
            y[i] = sum - p->arrays.vhat[at + i];
        }
        y[0] += sti__row_desaxce(row, R, y, g);
        double part = sti__row_gap(row, R, y, g);
        if (s->share) s->share[s->row[b]] = part;
        gap += part;
    }
    return gap;
}

/* out = A x over the island, x by the island's numbers. */
static void mass_mul(const sti__guess *s, const double *x, double *out) {
    const sti_csr *A = &s->problem->arrays.A;
    for (int i = 0; i < s->n; i++) {
        double sum = 0;
        int global = s->dof[i];
        for (int k = A->start[global]; k < A->start[global + 1]; k++)
            if (s->problem->dof_island[A->col[k]] == s->problem->dof_island[global])
                sum += A->value[k] * x[s->rank[A->col[k]]];
        out[i] = sum;
    }
}

/* |x|^2 and |y|^2 in A^-1 of the dofs begin..begin + n, which nothing couples to others. */
static bool part_norms(const sti__guess *s, int begin, int n, const double *x, const double *y,
                       double out[2]) {
    const sti_csr *A = &s->problem->arrays.A;
    double L[LARGEST_PART * LARGEST_PART], a[LARGEST_PART], c[LARGEST_PART];
    for (int i = 0; i < n; i++) {
        int global = s->dof[begin + i];
        for (int j = 0; j <= i; j++) L[i * n + j] = 0;
        for (int k = A->start[global]; k < A->start[global + 1]; k++)
            if (A->col[k] <= global) L[i * n + s->rank[A->col[k]] - begin] = A->value[k];
        a[i] = x[begin + i];
        c[i] = y[begin + i];
        for (int j = 0; j <= i; j++) {
            double sum = L[i * n + j];
            for (int k = 0; k < j; k++) sum -= L[i * n + k] * L[j * n + k];
            if (j < i) {
                L[i * n + j] = sum / L[j * n + j];
                a[i] -= L[i * n + j] * a[j];
                c[i] -= L[i * n + j] * c[j];
            } else {
                if (!(sum > 0)) return false;
                L[i * n + i] = sqrt(sum);
                a[i] /= L[i * n + i];
                c[i] /= L[i * n + i];
            }
        }
        out[0] += a[i] * a[i];
        out[1] += c[i] * c[i];
    }
    return true;
}

/* Parts are runs of dofs: where the one from begin on ends; -1 if it has many. */
static int part_end(const sti__guess *s, int begin) {
    const sti_csr *A = &s->problem->arrays.A;
    int reach = begin, end = begin;
    for (; end <= reach; end++) {
        if (end - begin >= LARGEST_PART) return -1;
        for (int k = A->start[s->dof[end]]; k < A->start[s->dof[end] + 1]; k++)
            if (s->problem->dof_island[A->col[k]] == s->problem->dof_island[s->dof[end]] &&
                s->rank[A->col[k]] > reach)
                reach = s->rank[A->col[k]];
    }
    return end;
}

static bool has_large_part(const sti__guess *s) {
    for (int begin = 0; begin < s->n;)
        if ((begin = part_end(s, begin)) < 0) return true;
    return false;
}

static bool norms(const sti__guess *s, const double *x, const double *y, double out[2]) {
    out[0] = out[1] = 0;
    for (int begin = 0, end = 0; begin < s->n; begin = end) {
        end = part_end(s, begin);
        if (end < 0 || !part_norms(s, begin, end - begin, x, y, out)) return false;
    }
    return true;
}

double sti__guess_bar(const sti__guess *s, sti__sum *sum) {
    const double *vstar = s->problem->arrays.vstar;
    double *force = s->work, *momentum = force + s->n, *x = momentum + s->n, free2 = 0, moved2 = 0, length[2];
    if (s->n > LARGEST_PART && has_large_part(s)) return INFINITY;
    for (int i = 0; i < s->n; i++) x[i] = vstar[s->dof[i]];
    mass_mul(s, x, momentum);
    for (int i = 0; i < s->n; i++) free2 += x[i] * momentum[i];
    free2 = sti__free2(s->problem, free2, 1);
    for (int i = 0; i < s->n; i++) x[i] = s->v[s->dof[i]] - vstar[s->dof[i]];
    mass_mul(s, x, momentum);
    for (int i = 0; i < s->n; i++) moved2 += x[i] * momentum[i];
    double gap = rows_gap(s, force);
    for (int i = 0; i < s->n; i++) momentum[i] -= force[i];
    if (!norms(s, momentum, force, length)) return INFINITY;
    *sum = (sti__sum){.gap = gap + length[0] / 2, .impulse2 = length[1], .moved2 = moved2, .free2 = free2};
    return sti__sum_bar(sum);
}
