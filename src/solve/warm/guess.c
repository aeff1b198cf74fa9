/* SPDX-License-Identifier: Apache-2.0 */
/* Both pairs are judged side by side. */
#define STI_LANES 2
#include "solve/warm/guess.h"
#include "base/room.h"
#include "contact/rows.h"
#include "linear/factor/block_cholesky.h"
#include "solve/policy.h"
#include "solve/small/small_lanes_laws.h"
#include <string.h>

/* A number of each of the two pairs. */
typedef double both __attribute__((vector_size(16), may_alias));

enum { FORCES = 8, MANY = 2048 }; /* dofs from which on an island has so many */

/* By the island's numbers. */
typedef struct scales {
    both *v, *moved; /* v, v - v* */
    both *momentum,
        *force; /* A (v - v*), J'g: of a large island FORCES sums one after the other, which are added up */
    double *vstar, *impetus;
    double *weight; /* diagonal of A */
    int *reach;     /* the last dof that A couples with this one */
} scales;

static size_t lay_out(scales *s, int n, void *base) {
    sti__cutter c = {base, 0};
    both **pairs[] = {&s->v, &s->moved, &s->momentum};
    double **numbers[] = {&s->vstar, &s->impetus, &s->weight};
    for (int i = 0; i < STI__COUNT(pairs); i++) *pairs[i] = sti__cut(&c, (size_t)n, sizeof(both));
    for (int i = 0; i < STI__COUNT(numbers); i++) *numbers[i] = sti__cut(&c, (size_t)n, sizeof(double));
    s->force = sti__cut(&c, sti__mul(n >= MANY ? FORCES : 1, (size_t)n), sizeof(both));
    s->reach = sti__cut(&c, (size_t)n, sizeof(int));
    return c.used;
}

size_t sti__guess_room(int n) {
    scales s;
    return lay_out(&s, n, NULL);
}

/* A large island is judged in pieces, by several threads; sums are taken in the order of pieces, which do not depend on threads. */
#define PIECE 512 /* dofs or blocks of a piece, at least */
enum { PIECES = 64 };

typedef struct judging {
    const sti__guess *s;
    scales x;
    int pieces[2]; /* of dofs, of blocks */
    int forces;
    int part[PIECES + 1]; /* where the first part of the mass begins that is a piece's own */
    double gap[PIECES][2], free2[PIECES];
    both moved2[PIECES], rest[PIECES], force[PIECES];
    bool failed[PIECES];
} judging;

static int pieces_of(int count) { return count / PIECE < PIECES ? count / PIECE + 1 : PIECES; }
static int begin_of(int count, int pieces, int k) { return (int)((int64_t)count * k / pieces); }

static void gather(void *context, int first, int last) {
    judging *t = context;
    const sti__guess *s = t->s;
    const scales *x = &t->x;
    for (int i = begin_of(s->n, *t->pieces, first); i < begin_of(s->n, *t->pieces, last); i++) {
        double vstar = s->problem->arrays.vstar[s->dof[i]];
        x->vstar[i] = vstar;
        x->v[i] = (both){s->v[0][s->dof[i]], s->v[1][s->dof[i]]};
        x->moved[i] = x->v[i] - vstar;
        for (int k = 0; k < t->forces; k++) x->force[(size_t)k * (size_t)s->n + (size_t)i] = (both){0, 0};
    }
}

/* What is in the island of A times what moved, and A v*; a stored zero couples nothing. */
static void mass_mul(void *context, int first, int last) {
    judging *t = context;
    const sti__guess *s = t->s;
    const scales *x = &t->x;
    const sti_csr *A = &s->problem->arrays.A;
    for (int i = begin_of(s->n, *t->pieces, first); i < begin_of(s->n, *t->pieces, last); i++) {
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

/* As sti__coulomb_gap of a contact without friction, with R > 0. */
INLINE both plain_gap(double R, both y, both g) {
    both zero = {0, 0};
    vmask pushes = v_lt(y, zero);
    both off = g - v_select(pushes, -y / R, zero), gap = R * off * off / 2;
    return v_select(pushes, gap, gap + g * y);
}

/* The gaps of a block at y = J v - vhat. */
static both gap_of(const sti__guess *s, int b, const vreal *y) {
    int at = s->problem->first[b], dim = s->problem->arrays.rows[b].dim;
    const sti_row *row = &s->problem->arrays.rows[b];
    const double *R = s->problem->arrays.R + at, *mu = row->mu;
    both gap;
    if (row->kind == STI_ROW_CONE && dim == 1 && *R > 0)
        return plain_gap(*R, y[0], (both){s->g[0][at], s->g[1][at]});
    if (row->kind == STI_ROW_CONE && dim == 3) {
        vreal g[3];
        for (int i = 0; i < 3; i++) g[i] = (vreal){s->g[0][at + i], s->g[1][at + i]};
        return coulomb_gap((vreal[]){v_set(mu[0]), v_set(mu[1])},
                           (vreal[]){v_set(R[0]), v_set(R[1]), v_set(R[2])}, y, g);
    }
    for (int pair = 0; pair < 2; pair++) {
        double own[STI_ROW_DIM] = {0};
        for (int i = 0; i < dim; i++) own[i] = y[i][pair];
        gap[pair] = sti__row_gap_at(row, R, own, s->g[pair] + at, true);
    }
    return gap;
}

/* y = J v of dim rows over the same columns. */
INLINE void take_velocities(const double *J, const int *col, int n, int dim, const int *rank, const both *v,
                            both *y) {
    both sum[STI_ROW_DIM];
    for (int i = 0; i < dim; i++) sum[i] = (both){0, 0};
    for (int k = 0; k < n; k++) {
        both now = v[rank[col[k]]];
        for (int i = 0; i < dim; i++) sum[i] += J[i * n + k] * now;
    }
    for (int i = 0; i < dim; i++) y[i] = sum[i];
}

/* A block's part of the gap of each pair. */
static void add_gap(const sti__guess *s, const scales *x, int b, double gap[2]) {
    const sti_problem *p = s->problem;
    const sti_csr *J = &p->arrays.J;
    int at = p->first[b], dim = p->arrays.rows[b].dim, begin = J->start[at], n = J->start[at + 1] - begin;
    vreal y[STI_ROW_DIM];
    if (p->uniform && dim == 3) take_velocities(J->value + begin, J->col + begin, n, 3, s->rank, x->v, y);
    else
        for (int i = 0; i < dim; i++)
            take_velocities(J->value + J->start[at + i], J->col + J->start[at + i],
                            J->start[at + i + 1] - J->start[at + i], 1, s->rank, x->v, y + i);
    for (int i = 0; i < dim; i++) y[i] -= p->arrays.vhat[at + i];
    both part = gap_of(s, b, y);
    for (int pair = 0; pair < 2; pair++) {
        if (s->share[pair]) s->share[pair][b] = part[pair];
        gap[pair] += part[pair];
    }
}

static void add_gaps(void *context, int first, int last) {
    judging *t = context;
    int nrow = t->s->nrow, pieces = t->pieces[1];
    for (int k = first; k < last; k++)
        for (int b = begin_of(nrow, pieces, k); b < begin_of(nrow, pieces, k + 1); b++)
            add_gap(t->s, &t->x, t->s->row[b], t->gap[k]);
}

/* force += J'g of dim rows over the same columns. */
INLINE void push(const double *J, const int *col, int n, int dim, const int *rank, const both *g,
                 both *force) {
    for (int k = 0; k < n; k++) {
        both *to = force + rank[col[k]], sum = *to;
        for (int i = 0; i < dim; i++) sum += J[i * n + k] * g[i];
        *to = sum;
    }
}

static void push_block(const sti__guess *s, int b, both *force) {
    const sti_csr *J = &s->problem->arrays.J;
    int at = s->problem->first[b], end = s->problem->first[b + 1], begin = J->start[at];
    int n = J->start[at + 1] - begin;
    both g[STI_ROW_DIM];
    for (int i = at; i < end; i++) g[i - at] = (both){s->g[0][i], s->g[1][i]};
    if (s->problem->uniform && end - at == 3) push(J->value + begin, J->col + begin, n, 3, s->rank, g, force);
    else
        for (int i = at; i < end; i++)
            push(J->value + J->start[i], J->col + J->start[i], J->start[i + 1] - J->start[i], 1, s->rank,
                 g + (i - at), force);
}

/* J'g, a sum for each of so many runs of blocks. */
static void add_forces(void *context, int first, int last) {
    judging *t = context;
    const sti__guess *s = t->s;
    for (int f = first; f < last; f++) {
        both *force = t->x.force + (size_t)f * (size_t)s->n;
        for (int b = begin_of(s->nrow, t->forces, f); b < begin_of(s->nrow, t->forces, f + 1); b++)
            push_block(s, s->row[b], force);
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

/* Of the dofs begin..end, where a part of the mass begins and one ends. */
static bool norms(const sti__guess *s, const scales *x, int begin, int end, both *rest, both *force) {
    for (int next = begin; begin < end; begin = next) {
        next = part_end(x, begin);
        if (next == begin + 1 && x->weight[begin] > 0) {
            both r = x->momentum[begin] - x->force[begin], f = x->force[begin];
            *rest += r * r / x->weight[begin];
            *force += f * f / x->weight[begin];
        } else if (!add_norms(s, x, begin, next - begin, rest, force)) return false;
    }
    return true;
}

static void add_squares(void *context, int first, int last) {
    judging *t = context;
    const scales *x = &t->x;
    for (int k = first; k < last; k++) {
        for (int i = t->part[k]; i < t->part[k + 1]; i++) {
            for (int f = 1; f < t->forces; f++)
                x->force[i] += x->force[(size_t)f * (size_t)t->s->n + (size_t)i];
            t->free2[k] += x->vstar[i] * x->impetus[i];
            t->moved2[k] += x->moved[i] * x->momentum[i];
        }
        t->failed[k] = !norms(t->s, x, t->part[k], t->part[k + 1], &t->rest[k], &t->force[k]);
    }
}

/* Where parts of the mass begin; false if one has many dofs. */
static bool find_parts(judging *t) {
    int n = t->s->n, k = 0;
    for (int begin = 0; begin < n;) {
        while (k < *t->pieces && begin >= begin_of(n, *t->pieces, k)) t->part[k++] = begin;
        if ((begin = part_end(&t->x, begin)) < 0) return false;
    }
    while (k <= *t->pieces) t->part[k++] = n;
    return true;
}

/* The sums of all pieces in those of the first; false if a part has no factor. */
static bool add_up(judging *t) {
    bool made = !t->failed[0];
    for (int k = 1; k < *t->pieces; k++) {
        t->free2[0] += t->free2[k];
        t->moved2[0] += t->moved2[k];
        t->rest[0] += t->rest[k];
        t->force[0] += t->force[k];
        made &= !t->failed[k];
    }
    for (int k = 1; k < t->pieces[1]; k++)
        for (int pair = 0; pair < 2; pair++) t->gap[0][pair] += t->gap[k][pair];
    return made;
}

void sti__guess_bars(const sti__guess *s, sti__sum sum[2], double bar[2]) {
    judging t = {
        .s = s, .pieces = {pieces_of(s->n), pieces_of(s->nrow)}, .forces = s->n >= MANY ? FORCES : 1};
    bar[0] = bar[1] = INFINITY;
    lay_out(&t.x, s->n, s->work);
    sti__run(s->tasks, t.pieces[0], 1, gather, &t);
    sti__run(s->tasks, t.pieces[0], 1, mass_mul, &t);
    if (!find_parts(&t)) return;
    sti__run(s->tasks, t.pieces[1], 1, add_gaps, &t);
    sti__run(s->tasks, t.forces, 1, add_forces, &t);
    sti__run(s->tasks, t.pieces[0], 1, add_squares, &t);
    if (!add_up(&t)) return;
    for (int pair = 0; pair < 2; pair++) {
        sum[pair] = (sti__sum){.gap = t.gap[0][pair] + t.rest[0][pair] / 2,
                               .impulse2 = t.force[0][pair],
                               .moved2 = t.moved2[0][pair],
                               .free2 = sti__free2(s->problem, t.free2[0], 1)};
        bar[pair] = sti__sum_bar(&sum[pair]);
    }
}
