/* SPDX-License-Identifier: Apache-2.0 */
/* What a small island works on, and the factor of its mass, A = L'L, which eliminating from the last dof on leaves a kinematic tree
   its shape. */
#ifndef STI_SOLVE_SMALL_MASS_H
#define STI_SOLVE_SMALL_MASS_H

#include "contact/rows.h"
#include "solve/small/small_pack.h"
#include <math.h>
#include <string.h>

#define LEAST_MASS 1e-290

typedef struct small {
    const sti_problem *p;
    int n, m, nrow, ld;  /* ld: n in whole packs */
    const sti_row **row; /* nrow */
    int *first, *gstart; /* nrow + 1: first scalar row, first number of G */
    bits *over;          /* nrow: dofs that the rows of X are over */
    runs *run;           /* nrow: numbers of these rows that may not be zero */
    bits *below, *reach; /* n: dofs before k that row k of L, of V is over */
    bits *link;          /* n: the same of H */
    int *base;           /* n: first pack of row k of L and V */
    int *low,
        *high;     /* n: first pack of row k of H, and after the last; what is outside is not even cleared */
    double *L, *V; /* n x ld, lower triangles: the rows of L over their diagonal, and L^-1 */
    double *root;  /* ld: that diagonal */
    double *X;     /* m x ld: J, then J L^-1 */
    double *H;     /* n x ld */
    double *z, *f, *dz, *at; /* ld: velocity, X'g, step, where the walk began */
    double *free, *now;      /* ld: v*, guess of v - v* */
    double *R, *q, *w;       /* m: q = J v* - vhat; w = a share of the diagonal of XX' */
    double *y, *dy, *y0;     /* m */
    double *g, *g0, *g1, *kept;
    double *slope, *c; /* m: laws */
    double *G, *D;     /* of the blocks; D: XX' + R */
    double *off;       /* nrow: squared natural map of each block */
    double free2;
    double round; /* how far laws are rounded off: a share of the impulses' length; 0: not */
    double sharp; /* natural map of the true laws */
    int sweeps;
    bool turned; /* X is no longer J */
    bool blocks; /* D is made */
    bool done;   /* the pair is certified */
} small;

static double norm2(const small *s, const double *x) { return dot(x, x, 0, s->ld); }

static double distance2(const small *s, const double *a, const double *b) {
    vec part[PARTS] = {{0}};
    for (int i = 0; i < s->ld; i += 8) UNROLL for (int v = 0; v < PARTS; v++) {
            vec d = IN(a, i + VW * v) - IN(b, i + VW * v);
            part[v] += d * d;
        }
    return finish(part);
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* Pieces of the scratch, each on a line of its own. */
INLINE void *piece(char *base, size_t *used, size_t bytes) {
    void *place = base ? base + *used : NULL;
    *used += (bytes + STI__ALIGN - 1) / STI__ALIGN * STI__ALIGN;
    return place;
}

INLINE size_t lay_out(small *s, int n, int m, int nrow, char *base) {
    size_t ld = (size_t)pack_after(n - 1), used = 0, wide = 8 * ld, tall = 8 * (size_t)m,
           blocks = 8 * (size_t)nrow, sets = sizeof(bits) * (size_t)n;
    s->ld = (int)ld;
    s->L = piece(base, &used, (size_t)n * wide);
    s->V = piece(base, &used, (size_t)n * wide);
    s->H = piece(base, &used, (size_t)n * wide);
    s->X = piece(base, &used, (size_t)m * wide);
    double **vectors[] = {&s->z, &s->f, &s->dz, &s->at, &s->free, &s->now, &s->root};
    double **rows[] = {&s->R, &s->q,  &s->w,  &s->y,    &s->dy,    &s->y0,
                       &s->g, &s->g0, &s->g1, &s->kept, &s->slope, &s->c};
    UNROLL for (int i = 0; i < STI__COUNT(vectors); i++) * vectors[i] = piece(base, &used, wide);
    UNROLL for (int i = 0; i < STI__COUNT(rows); i++) * rows[i] = piece(base, &used, tall);
    s->G = piece(base, &used, 6 * tall);
    s->D = piece(base, &used, 6 * tall);
    s->below = piece(base, &used, sets);
    s->reach = piece(base, &used, sets);
    s->link = piece(base, &used, sets);
    s->off = piece(base, &used, blocks);
    s->row = piece(base, &used, blocks);
    s->over = piece(base, &used, WORDS * blocks);
    s->run = piece(base, &used, sizeof(runs) * (size_t)nrow);
    s->base = piece(base, &used, sizeof(int) * (size_t)n);
    s->low = piece(base, &used, sizeof(int) * (size_t)n);
    s->high = piece(base, &used, sizeof(int) * (size_t)n);
    s->first = piece(base, &used, blocks + 8);
    s->gstart = piece(base, &used, blocks + 8);
    return used;
}

/* ---- the mass ------------------------------------------------------------------------------------------------ */

/* The rows that eliminating from the last dof on leaves: each adds its own to that of its nearest dof, which mostly is the next
   one to be looked at. */
INLINE void fill_in(bits *below, int n) {
    bits more = nobody();
    for (int k = n - 1; k > 0; k--) {
        bits own = below[k] |= more;
        more = nobody();
        if (!any(own)) continue;
        int nearest = last_of(own);
        own &= before(nearest);
        if (nearest == k - 1) more = own;
        else below[nearest] |= own;
    }
}

/* Row k of L^-1 is over all that those of L lead to. */
static void set_reach(small *s) {
    for (int k = 0; k < s->n; k++) {
        bits below = s->below[k];
        s->reach[k] = any(below) ? below | s->reach[last_of(below)] : nobody();
        s->base[k] = WORDS > 1 ? pack_of(first_of(s->reach[k] | only(k))) : 0;
    }
}

/* The lower triangle of A into L. A zero may reach into another island; others count, so that the shape does not depend on numbers. */
static void take_mass(small *s, const sti__small_job *job) {
    const sti_csr *A = &s->p->arrays.A;
    for (int i = 0; i < s->n; i++) {
        int global = job->dof[i];
        double *row = s->L + i * s->ld;
        bits below = nobody();
        clear(row, pack_after(i));
        for (int k = A->start[global]; k < A->start[global + 1] && A->col[k] <= global; k++) {
            if (A->value[k] == 0 && s->p->dof_island[A->col[k]] != s->p->dof_island[global]) continue;
            int j = job->rank[A->col[k]];
            row[j] = A->value[k];
            below |= only(j);
        }
        s->below[i] = below & before(i);
    }
    fill_in(s->below, s->n);
    set_reach(s);
}

/* A matrix that is eliminated from the last dof on, which leaves a tree its shape: row k is over below[k] and k, and keeps
   after k what nobody reads. */
typedef struct reduction {
    double *H;
    int n, ld;
    const bits *below;
    bool symmetric;  /* the lower triangle is all there is */
    double least;    /* pivot */
    double *inverse; /* of the pivots */
    double *b;       /* right side, or NULL */
} reduction;

/* Takes dof k from those before it. */
INLINE void take_one(const reduction *r, int k) {
    const double *Hk = r->H + k * r->ld, one = r->inverse[k];
    places below;
    list_places(r->below[k], &below);
    FOR_PLACES_DOWN (i, &below) {
        double *Hi = r->H + (int)i * r->ld, a = (r->symmetric ? Hk[i] : Hi[k]) * one;
        FOR_PACKS (p, &below, r->symmetric ? (int)i : r->n)
            UNROLL for (int v = p; v < p + 8; v += VW) AT(Hi, v) -= a * IN(Hk, v);
        if (r->b) r->b[i] -= a * r->b[k];
    }
}

/* Takes k and k - 1, from which k was taken, from those before them: half as many rows are read and written. */
INLINE void take_two(const reduction *r, int k) {
    const double *Hk = r->H + k * r->ld, *Hj = Hk - r->ld, one = r->inverse[k], two = r->inverse[k - 1];
    places below;
    list_places(r->below[k - 1], &below);
    FOR_PLACES_DOWN (i, &below) {
        double *Hi = r->H + (int)i * r->ld, a = (r->symmetric ? Hk[i] : Hi[k]) * one;
        double c = (r->symmetric ? Hj[i] : Hi[k - 1] - a * Hk[k - 1]) * two;
        FOR_PACKS (p, &below, r->symmetric ? (int)i : r->n)
            UNROLL for (int v = p; v < p + 8; v += VW) AT(Hi, v) -= a * IN(Hk, v) + c * IN(Hj, v);
        if (r->b) r->b[i] -= a * r->b[k] + c * r->b[k - 1];
    }
}

INLINE bool take_pivot(const reduction *r, int k) {
    double pivot = r->H[k * r->ld + k];
    r->inverse[k] = 1 / pivot;
    return (r->symmetric ? pivot : fabs(pivot)) >= r->least;
}

/* False at a pivot that is too small. */
INLINE bool reduce(const reduction *r) {
    for (int k = r->n - 1; k >= 0; k--) {
        bits below = r->below[k];
        if (!take_pivot(r, k)) return false;
        if (k == 0 || !same(below, r->below[k - 1] | only(k - 1))) {
            take_one(r, k);
            continue;
        }
        double *Hk = r->H + k * r->ld, *Hj = Hk - r->ld;
        double a = (r->symmetric ? Hk[k - 1] : Hj[k]) * r->inverse[k];
        add(Hj, -a, Hk, pack_of(first_of(below)), pack_after(k - 1));
        if (r->b) r->b[k - 1] -= a * r->b[k];
        if (!take_pivot(r, k - 1)) return false;
        take_two(r, k--);
    }
    return true;
}

/* From the inverses of the squares in `at`, whose roots are left there. */
static void take_roots(small *s) {
    clear(s->root, s->ld);
    for (int k = 0; k < s->n; k++) {
        s->at[k] = sqrt(s->at[k]);
        s->root[k] = 1 / s->at[k];
    }
}

/* A = L'L; at gets the inverse diagonal of L. */
static bool factor(small *s) {
    int n = s->n, ld = s->ld;
    double *inverse = s->at;
    reduction r = {s->L, n, ld, s->below, true, LEAST_MASS, inverse, NULL};
    if (!reduce(&r)) return false;
    for (int k = 0; k < n; k++) {
        double *Lk = s->L + k * ld;
        for (int j = s->base[k]; j <= k; j += VW) AT(Lk, j) *= inverse[k];
        cut_after(Lk, k); /* what rows after this one have left there */
    }
    take_roots(s);
    return true;
}

/* The factor that the world has; false if there is none. A row is over all ancestors of its dof, and so is that of the nearest. */
static bool take_factor(small *s, const sti__small_job *job) {
    const sti_csr *A = &s->p->arrays.A;
    const sti__tree_factor *tree = &s->p->tree;
    for (int i = 0; i < s->n; i++)
        if (!tree->L || tree->dof[job->dof[i]] >= tree->count) return false;
    for (int i = 0; i < s->n; i++) {
        int global = job->dof[i], d = tree->dof[global], nearest = -1;
        const int *col = A->col + A->start[global];
        const double *from = tree->L + tree->row[d];
        double *row = s->L + i * s->ld;
        int begin = WORDS == 1 ? 0 : pack_of(col[0] < global ? job->rank[col[0]] : i);
        clear(row + begin, pack_after(i) - begin);
        for (int k = 0; col[k] < global; k++) row[nearest = job->rank[col[k]]] = from[k];
        row[i] = 1;
        s->below[i] = nearest < 0 ? nobody() : s->below[nearest] | only(nearest);
        s->at[i] = tree->inverse[d];
    }
    set_reach(s);
    take_roots(s);
    return true;
}

/* V = L^-1, from the first dof on; at has the inverse diagonal of L. */
static void invert(small *s) {
    int ld = s->ld;
    for (int k = 0; k < s->n; k++) {
        const double *Lk = s->L + k * ld;
        double *Vk = s->V + k * ld;
        bits below = s->below[k], own = s->reach[k] | only(k);
        for (int p = s->base[k]; p <= k; p += 8) {
            vec sum[PARTS] = {{0}};
            if (!has_pack(own, p)) {
                clear(Vk + p, 8);
                continue;
            }
            if (k - p < 8)
                UNROLL for (int v = 0; v < PARTS; v++) sum[v] = s->at[k] * IN(unit_pack(k), VW * v);
            FOR_BITS (j, below & ~before(p)) {
                const double *V = s->V + j * ld + p;
                UNROLL for (int v = 0; v < PARTS; v++) sum[v] -= Lk[j] * IN(V, VW * v);
            }
            UNROLL for (int v = 0; v < PARTS; v++) AT(Vk, p + VW * v) = sum[v];
        }
    }
}

/* L x */
static void shrink(const small *s, const double *x, double *out) {
    clear(out, s->ld);
    for (int k = 0; k < s->n; k++) out[k] = s->root[k] * dot(s->L + k * s->ld, x, s->base[k], pack_after(k));
}

/* V'x */
static void spread(const small *s, const double *x, double *out) {
    clear(out, s->ld);
    for (int k = 0; k < s->n; k++)
        if (x[k] != 0) add(out, x[k], s->V + k * s->ld, s->base[k], pack_after(k));
}

#endif
