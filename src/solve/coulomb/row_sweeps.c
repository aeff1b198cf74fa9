/* SPDX-License-Identifier: Apache-2.0 */
/* Gauss-Seidel over the rows of an island, with exact Coulomb in each contact. Each block takes the velocities that the
   others leave, solves its own small law and moves the bodies that it touches. It never gets lost and it never gets far:
   it finds out what sticks, slides and lets go, which is where Newton's method begins. */
#include "base/room.h"
#include "solve/coulomb/coulomb_laws.h"
#include "solve/parts/mass_parts.h"
#include "solve/policy.h"
#include "solve/primal/sap.h"
#include <string.h>

/* ---- parts of the mass ---------------------------------------------------------------------------------- */

static void solve_part(const double *L, int n, double *x) {
    sti__block_forward(L, n, x);
    sti__block_backward(L, n, x);
}

/* ---- what a block needs ---------------------------------------------------------------------------------- */

static int touches_of(const sti__sweep *w, const sti__island *s, int b, int *list) {
    int count = 0;
    for (int k = s->start[b]; k < s->start[b + 1]; k++)
        if (count == 0 || list[count - 1] != w->of[s->col[k]]) list[count++] = w->of[s->col[k]];
    return count;
}

static size_t lay_out(sti__sweep *w, const sti__island *s, int parts, size_t ntouch, size_t numbers,
                      size_t factors, char *base) {
    sti__cutter c = {base, 0};
    w->touch = sti__cut(&c, (size_t)s->nrow + 1, sizeof(int));
    w->where = sti__cut(&c, ntouch, sizeof(int));
    w->at = sti__cut(&c, ntouch, sizeof(int64_t));
    w->lstart = sti__cut(&c, (size_t)parts, sizeof(int64_t));
    w->T = sti__cut(&c, numbers, sizeof(double));
    w->D = sti__cut(&c, (size_t)s->gstart[s->nrow], sizeof(double));
    w->L = sti__cut(&c, factors, sizeof(double));
    return c.used;
}

static void fill_block(sti__sweep *w, const sti__island *s, int b) {
    int dim = s->first[b + 1] - s->first[b], k = s->start[b];
    double *D = w->D + s->gstart[b];
    memset(D, 0, sizeof(double) * (size_t)dim * (size_t)dim);
    for (int t = w->touch[b]; t < w->touch[b + 1]; t++) {
        int p = w->where[t], begin = w->part[p], n = w->part[p + 1] - begin, first = k;
        double *T = w->T + w->at[t];
        memset(T, 0, sizeof(double) * (size_t)dim * (size_t)n);
        for (; k < s->start[b + 1] && w->of[s->col[k]] == p; k++)
            for (int i = 0; i < dim; i++)
                T[i * n + s->col[k] - begin] = s->value[s->number[b] + (int64_t)(k - s->start[b]) * dim + i];
        for (int i = 0; i < dim; i++) solve_part(w->L + w->lstart[p], n, T + i * n);
        for (int q = first; q < k; q++) {
            const double *J = s->value + s->number[b] + (int64_t)(q - s->start[b]) * dim;
            for (int i = 0; i < dim; i++)
                for (int j = 0; j < dim; j++) D[i * dim + j] += J[i] * T[j * n + s->col[q] - begin];
        }
    }
}

/* Sizes, then contents. */
static bool prepare(sti__sweep *w, sti__island *s) {
    size_t ntouch = 0, numbers = 0, factors = 0;
    int list[STI__SWEEP_PART];
    w->part = s->scratch;
    w->of = s->scratch + s->n + 1;
    int parts = sti__find_parts(s, STI__SWEEP_PART, w->part, w->of);
    if (parts == 0) return false;
    for (int p = 0; p < parts; p++) {
        size_t n = (size_t)(w->part[p + 1] - w->part[p]);
        factors += n * n;
    }
    for (int b = 0; b < s->nrow; b++) {
        if (s->start[b + 1] - s->start[b] > STI__SWEEP_PART || sti__island_row(s, b)->kind == STI_ROW_USER)
            return false;
        int count = touches_of(w, s, b, list);
        ntouch += (size_t)count;
        for (int i = 0; i < count; i++)
            numbers += (size_t)((w->part[list[i] + 1] - w->part[list[i]]) * (s->first[b + 1] - s->first[b]));
    }
    size_t need = lay_out(w, s, parts, ntouch, numbers, factors, NULL);
    if (!sti__make_room(s->allocator, &w->block, &w->size, need, need / 2)) return false;
    lay_out(w, s, parts, ntouch, numbers, factors, w->block);
    int64_t used = 0;
    for (int p = 0; p < parts; p++) {
        int n = w->part[p + 1] - w->part[p];
        w->lstart[p] = used;
        if (!sti__factor_part(s, w->part[p], n, w->L + used)) return false;
        used += (int64_t)n * n;
    }
    used = 0;
    w->touch[0] = 0;
    for (int b = 0; b < s->nrow; b++) {
        int count = touches_of(w, s, b, w->where + w->touch[b]);
        w->touch[b + 1] = w->touch[b] + count;
        for (int t = w->touch[b]; t < w->touch[b + 1]; t++) {
            w->at[t] = used;
            used +=
                (int64_t)(w->part[w->where[t] + 1] - w->part[w->where[t]]) * (s->first[b + 1] - s->first[b]);
        }
        fill_block(w, s, b);
    }
    return true;
}

/* ---- one block -------------------------------------------------------------------------------------------- */

/* The same for a contact with friction and a body. */
static inline void move_body(const double *T, const double *dg, double *v) {
    for (int k = 0; k < 6; k++) v[k] = ((v[k] + T[k] * dg[0]) + T[6 + k] * dg[1]) + T[12 + k] * dg[2];
}

/* v += T dg */
static void move(const sti__sweep *w, const sti__island *s, int b, const double *dg, double *v) {
    int dim = s->first[b + 1] - s->first[b];
    for (int t = w->touch[b]; t < w->touch[b + 1]; t++) {
        int begin = w->part[w->where[t]], n = w->part[w->where[t] + 1] - begin;
        const double *T = w->T + w->at[t];
        if (dim == 3 && n == 6) move_body(T, dg, v + begin);
        else
            for (int i = 0; i < dim; i++)
                for (int k = 0; k < n; k++) v[begin + k] += T[i * n + k] * dg[i];
    }
}

static void settle(const sti__sweep *w, const sti__island *s, int b, double *v, double *g) {
    const sti_row *row = sti__island_row(s, b);
    int at = s->first[b], dim = row->dim;
    double u[STI_ROW_DIM] = {0}, dg[STI_ROW_DIM];
    const double *value = s->value + s->number[b];
    double D[STI_ROW_DIM * STI_ROW_DIM];
    memcpy(D, w->D + s->gstart[b], sizeof(double) * (size_t)dim * (size_t)dim);
    for (int i = 0; i < dim; i++) D[i * dim + i] += s->R[at + i];
    if (dim == 3)
        for (int k = s->start[b]; k < s->start[b + 1]; k++, value += 3)
            for (int i = 0; i < 3; i++) u[i] += value[i] * v[s->col[k]];
    else
        for (int k = s->start[b]; k < s->start[b + 1]; k++, value += dim)
            for (int i = 0; i < dim; i++) u[i] += value[i] * v[s->col[k]];
    for (int i = 0; i < dim; i++) {
        u[i] += s->R[at + i] * g[at + i] - s->target[at + i];
        dg[i] = g[at + i];
    }
    if (row->kind == STI_ROW_CONE) sti__settle_cone(row, D, u, g + at);
    else sti__settle_interval(row, D, u, g + at);
    for (int i = 0; i < dim; i++) dg[i] = g[at + i] - dg[i];
    move(w, s, b, dg, v);
}

bool sti__sap_sweeps(const sti__island *s) {
    return s->sweep.state == STI__SWEEP_NEW
               ? sti__find_parts(s, STI__SWEEP_PART, s->scratch, s->scratch + s->n + 1) > 0
               : s->sweep.state == STI__SWEEP_READY;
}

bool sti__sap_prepare_sweep(sti__sap *sap) {
    sti__sweep *w = &sap->s->sweep;
    if (w->state == STI__SWEEP_NEW) w->state = prepare(w, sap->s) ? STI__SWEEP_READY : STI__SWEEP_NONE;
    return w->state == STI__SWEEP_READY;
}

bool sti__sap_sweep(sti__sap *sap, int sweeps) {
    sti__island *s = sap->s;
    sti__sweep *w = &s->sweep;
    int64_t start = sti__tick(s->tally);
    if (!sti__sap_prepare_sweep(sap)) return false;
    memcpy(s->v, s->vstar, sizeof(double) * (size_t)s->n);
    for (int b = 0; b < s->nrow; b++) {
        sti__row_project(sti__island_row(s, b), s->R + s->first[b], s->last_g + s->first[b]);
        move(w, s, b, s->last_g + s->first[b], s->v);
    }
    for (int k = 0; k < sweeps; k++)
        for (int i = 0; i < s->nrow; i++) settle(w, s, k % 2 ? s->nrow - 1 - i : i, s->v, s->last_g);
    sti__budget_spend(&sap->count->budget, 3 * sweeps * sti__sap_pass(sap));
    sti__tock(s->tally, STI__WORK_SWEEPS, start, sweeps);
    return true;
}
