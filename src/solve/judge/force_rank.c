/* SPDX-License-Identifier: Apache-2.0 */
/* How many force components the motion determines: the rank of the active force directions, by a pivoted
   Cholesky factorisation of their Gram matrix, island by island. */
#include "base/room.h"
#include "contact/rows.h"
#include "solve/judge/certificate.h"
#include "solve/policy.h"
#include <string.h>

/* One direction of force inside a row block. */
typedef struct direction {
    int row;
    double b[STI_ROW_DIM];
} direction;

typedef struct counter {
    const sti_problem *p;
    direction *list;
    int count, room;
    double *x;        /* max(n, m): a direction's push on dofs, or W's column */
    double *back;     /* m: Delassus form, W' b */
    double *diagonal; /* left of each unit diagonal */
    double *size;     /* its length before */
    double *L;        /* columns of the factor */
    int *order;       /* row blocks by island */
    int *start;       /* nisland + 3: an island's first in `order`, from island -1 */
    int *dofs;        /* nisland + 1: dofs of each */
} counter;

static void add(counter *c, int row, const double *b, int dim) {
    direction *d = &c->list[c->count++];
    d->row = row;
    memcpy(d->b, b, sizeof(double) * (size_t)dim);
}

/* The directions in which a row block's impulse is free to change. */
static void find_directions(counter *c, int r, const double *y, const double *g, const double *w,
                            double scale) {
    const sti_row *row = &c->p->arrays.rows[r];
    int dim = row->dim;
    double lo = sti__row_lo(row), hi = sti__row_hi(row), one[STI_ROW_DIM] = {0};
    if (row->kind == STI_ROW_CONE) {
        double slip[5], t2 = 0, s = sti__cone_slip(dim, row->mu, y, slip);
        if (!(g[0] * sqrt(w[0]) > STI__RANK_FAINT * scale)) return;
        for (int i = 1; i < dim; i++) t2 += g[i] / row->mu[i - 1] * (g[i] / row->mu[i - 1]);
        bool moving = dim > 1 && s > STI__RANK_SLIPPING * scale * row->mu[0] * sqrt(w[1]);
        if (moving && sqrt(t2) >= (1 - 1e-6) * g[0]) {
            one[0] = 1;
            for (int i = 1; i < dim; i++) one[i] = -row->mu[i - 1] * slip[i - 1] / s;
            add(c, r, one, dim);
            return;
        }
        lo = -INFINITY;
        hi = INFINITY;
    }
    for (int i = 0; i < dim; i++) {
        double faint = STI__RANK_FAINT * scale / sqrt(w[i]);
        if (row->kind != STI_ROW_USER && !(g[i] > lo + faint && g[i] < hi - faint)) continue;
        memset(one, 0, sizeof one);
        one[i] = 1;
        add(c, r, one, dim);
    }
}

/* First entry of row i whose column is at least j. */
static int column_from(const sti_csr *a, int i, int j) {
    int lo = a->start[i], hi = a->start[i + 1];
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (a->col[mid] < j) lo = mid + 1;
        else hi = mid;
    }
    return lo;
}

/* Writes direction d into x: J'b in the norm diag(A)^-1, or W b and W'b. */
static void spread(counter *c, const direction *d, bool clear) {
    const sti_problem *p = c->p;
    int at = p->first[d->row], dim = p->arrays.rows[d->row].dim;
    const sti_csr *J = &p->arrays.J, *W = &p->arrays.W;
    if (!p->delassus) {
        for (int i = 0; i < dim; i++)
            for (int k = J->start[at + i]; k < J->start[at + i + 1]; k++) {
                if (clear) c->x[J->col[k]] = 0;
                else c->x[J->col[k]] += J->value[k] * d->b[i];
            }
        return;
    }
    if (clear) return;
    memset(c->back, 0, sizeof(double) * (size_t)p->m);
    for (int i = 0; i < dim; i++)
        for (int k = W->start[at + i]; k < W->start[at + i + 1]; k++)
            c->back[W->col[k]] += W->value[k] * d->b[i];
    for (int i = 0; i < p->m; i++) {
        c->x[i] = 0;
        for (int k = column_from(W, i, at); k < W->start[i + 1] && W->col[k] < at + dim; k++)
            c->x[i] += W->value[k] * d->b[W->col[k] - at];
    }
}

/* Inner product of direction d with what `spread` wrote. */
static double against(const counter *c, const direction *d, const double *inverse) {
    const sti_problem *p = c->p;
    int at = p->first[d->row], dim = p->arrays.rows[d->row].dim;
    const sti_csr *J = &p->arrays.J;
    double sum = 0;
    for (int i = 0; i < dim; i++) {
        if (p->delassus) sum += d->b[i] * (c->x[at + i] + c->back[at + i]) / 2;
        else
            for (int k = J->start[at + i]; k < J->start[at + i + 1]; k++)
                sum += d->b[i] * J->value[k] * c->x[J->col[k]] * inverse[J->col[k]];
    }
    return sum;
}

/* Rank of all directions, at most `most`; the factor's columns lie in c->L, one after the other. */
static int rank_of(counter *c, int most, const double *inverse) {
    int k = c->count, rank = 0;
    for (int i = 0; i < k; i++) {
        spread(c, &c->list[i], false);
        double own = against(c, &c->list[i], inverse);
        spread(c, &c->list[i], true);
        c->size[i] = own > 0 ? sqrt(own) : 0;
        c->diagonal[i] = own > 0 ? 1 : 0;
    }
    for (; rank < most; rank++) {
        int best = 0;
        for (int i = 1; i < k; i++)
            if (c->diagonal[i] > c->diagonal[best]) best = i;
        if (!(c->diagonal[best] > STI__RANK_DEPENDENT)) break;
        double pivot = sqrt(c->diagonal[best]), *column = c->L + (size_t)rank * (size_t)k;
        spread(c, &c->list[best], false);
        for (int i = 0; i < k; i++) {
            bool live = c->diagonal[i] > 0;
            column[i] = live ? against(c, &c->list[i], inverse) / (c->size[i] * c->size[best]) : 0;
        }
        spread(c, &c->list[best], true);
        for (int j = 0; j < rank; j++) {
            const double *old = c->L + (size_t)j * (size_t)k;
            double factor = old[best];
            for (int i = 0; i < k; i++) column[i] -= factor * old[i];
        }
        for (int i = 0; i < k; i++) {
            column[i] /= pivot;
            c->diagonal[i] -= column[i] * column[i];
        }
        c->diagonal[best] = 0;
    }
    return rank;
}

/* Directions of one island, -1 if they are too many. */
static int count_island(counter *c, int island, const double *y, const double *g, const double *w,
                        double scale) {
    c->count = 0;
    for (int k = c->start[island + 1]; k < c->start[island + 2]; k++) {
        int r = c->order[k], at = c->p->first[r];
        if (c->count + STI_ROW_DIM > c->room) return -1;
        find_directions(c, r, y + at, g + at, w + at, scale);
    }
    return c->count;
}

static sti_status count_all(counter *c, const double *y, const double *g, const double *w, double scale,
                            const double *inverse, int *ndetermined, int *nregularised, sti_error *error) {
    *ndetermined = *nregularised = 0;
    for (int island = -1; island < c->p->nisland; island++) {
        int k = count_island(c, island, y, g, w, scale);
        if (k < 0) {
            *ndetermined = *nregularised = -1;
            return STI_OK;
        }
        int most = c->p->delassus || k < c->dofs[island + 1] ? k : c->dofs[island + 1];
        size_t bytes = sti__size(sizeof(double), k, sti__add(most, 1));
        c->L = k ? sti__alloc(c->p->allocator, bytes) : NULL;
        if (k && !c->L) return sti__fail(error, STI_NO_MEMORY, "not enough memory to count forces");
        int rank = rank_of(c, most, inverse);
        sti__free(c->p->allocator, c->L, bytes);
        *ndetermined += rank;
        *nregularised += k - rank;
    }
    return STI_OK;
}

/* Sorts row blocks by island (-1 first) and counts the islands' dofs. */
static void sort_islands(counter *c) {
    const sti_problem *p = c->p;
    for (int r = 0; r < p->arrays.nrow; r++) c->start[p->row_island[r] + 2]++;
    for (int i = 0; i <= p->nisland; i++) c->start[i + 1] += c->start[i];
    for (int r = 0; r < p->arrays.nrow; r++) c->order[c->start[p->row_island[r] + 1]++] = r;
    for (int i = p->nisland + 1; i > 0; i--) c->start[i] = c->start[i - 1];
    c->start[0] = 0;
    for (int i = 0; i < p->arrays.n; i++) c->dofs[p->dof_island[i] + 1]++;
}

static size_t lay_out(counter *c, double **inverse, void *base) {
    size_t n = (size_t)c->p->arrays.n, m = (size_t)c->p->m, room = (size_t)c->room,
           nisland = (size_t)c->p->nisland;
    sti__cutter k = {base, 0};
    *inverse = sti__cut(&k, n, sizeof(double));
    c->x = sti__cut(&k, n > m ? n : m, sizeof(double));
    c->back = sti__cut(&k, m, sizeof(double));
    c->diagonal = sti__cut(&k, room, sizeof(double));
    c->size = sti__cut(&k, room, sizeof(double));
    c->list = sti__cut(&k, room, sizeof(direction));
    c->order = sti__cut(&k, (size_t)c->p->arrays.nrow, sizeof(int));
    c->start = sti__cut(&k, nisland + 3, sizeof(int));
    c->dofs = sti__cut(&k, nisland + 1, sizeof(int));
    return k.used;
}

sti_status sti__count_rank(const sti_problem *p, const double *y, const double *g, const double *w,
                           double scale, int *ndetermined, int *nregularised, sti_error *error) {
    counter c = {.p = p,
                 .room = p->m + STI_ROW_DIM < STI__RANK_LARGEST ? p->m + STI_ROW_DIM : STI__RANK_LARGEST};
    double *inverse;
    size_t bytes = lay_out(&c, &inverse, NULL);
    void *block = sti__alloc(p->allocator, bytes);
    if (!block) return sti__fail(error, STI_NO_MEMORY, "not enough memory to count forces");
    lay_out(&c, &inverse, block);
    sort_islands(&c);
    for (int i = 0; i < p->arrays.n; i++)
        for (int k = p->arrays.A.start[i]; k < p->arrays.A.start[i + 1]; k++)
            if (p->arrays.A.col[k] == i) inverse[i] = 1 / p->arrays.A.value[k];
    sti_status status = count_all(&c, y, g, w, scale, inverse, ndetermined, nregularised, error);
    sti__free(p->allocator, block, bytes);
    return status;
}
