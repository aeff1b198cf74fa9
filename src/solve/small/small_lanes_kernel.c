/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once per lane width and instruction set. What small_kernel.c does to one island is done here to one number of all worlds at
   once, in the same order but for terms that are exact zeros there: rows and matrices are dense, and sets of bits say which of their
   numbers may not be zero. Sums that packs of eight have there are eight sums here. */
#include "base/lane.h"

#if STI_LANES == 8 /* in sets of four worlds are as quick alone */
#include "base/room.h"
#include "base/unroll.h"
#include "contact/rows.h"
#include "solve/rules.h"
#include "solve/small/small_lanes.h"
#include "solve/small/small_lanes_laws.h"
#include <string.h>

#define LEAST_MASS 1e-290
#define MOST_STEPS 4 /* Newton steps before what is left goes its own way */

typedef uint64_t bits; /* of dofs */
#define FOR_BITS(k, set)                                                                            \
    for (uint64_t k##_left = (set), k; k##_left && (k = (uint64_t)__builtin_ctzll(k##_left), true); \
         k##_left &= k##_left - 1)
#define FOR_BITS_DOWN(k, set)                                                                              \
    for (uint64_t k##_left = (set), k; k##_left && (k = (uint64_t)(63 - __builtin_clzll(k##_left)), true); \
         k##_left &= ~((uint64_t)1 << k))
INLINE bits only(int k) { return (bits)1 << k; }
INLINE bits before(int k) { return only(k) - 1; }
INLINE int last_of(bits set) { return 63 - __builtin_clzll(set); }

void STI_K(gather)(const double *const *from, int count, double *to);
size_t STI_K(small_set_bytes)(const sti__small_job *job);
void STI_K(small_set)(sti__small_set *set);

typedef struct lanes {
    sti__small_set *set;
    const sti_problem *p; /* of the first world: the shape */
    int n, m, nrow,
        ld; /* ld: n in whole packs of eight, in rows of X and in vectors that these are multiplied with */
    int *first;                        /* nrow + 1 */
    bits *over, *below, *reach, *link; /* as in small_mass.h; below and link with the dof itself left out */
    bits *heirs;                       /* n: dofs whose rows of V are over this one, itself too */
    law *law;                          /* nrow */
    vreal *X, *L, *V, *H;              /* m x n, n x n */
    vreal *value;                      /* numbers of J, or of A, in their order */
    vreal *mu;                         /* 2 nrow: friction, or the bounds of a scalar row */
    vreal *at, *root, *z, *f, *dz, *free, *now, *v, *next_v, *vstar, *b; /* n */
    vreal *R, *q, *w, *y, *dy, *g, *g1, *next_g, *guess;                 /* m */
    vreal *found_v, *found_g, *share, *found_share;
    vreal free2, tol, gap, impulse2, moved2; /* of the pair that was judged last */
    vreal found_gap, found_impulse2, found_moved2;
    vreal iterations, found_iterations;
    vmask out; /* goes its own way */
    vmask found;
    bool turned;
} lanes;

/* ---- memory --------------------------------------------------------------------------------------------------- */

static size_t lay_out(lanes *s, char *base) {
    sti__cutter c = {base, 0};
    const sti_csr *J = &s->p->arrays.J, *A = &s->p->arrays.A;
    size_t n = (size_t)s->n, m = (size_t)s->m, nrow = (size_t)s->nrow, ld = (size_t)s->ld;
    int numbers = J->start[J->nrow] > A->start[A->nrow] ? J->start[J->nrow] : A->start[A->nrow];
    vreal **squares[] = {&s->L, &s->V, &s->H};
    vreal **dofs[] = {&s->at,  &s->root, &s->z,      &s->f,     &s->dz, &s->free,
                      &s->now, &s->v,    &s->next_v, &s->vstar, &s->b,  &s->found_v};
    vreal **rows[] = {&s->R, &s->q, &s->w, &s->y, &s->dy, &s->g, &s->g1, &s->next_g, &s->guess, &s->found_g};
    bits **sets[] = {&s->below, &s->reach, &s->heirs, &s->link};
    for (int i = 0; i < STI__COUNT(squares); i++) *squares[i] = sti__cut(&c, sti__mul(n, n), sizeof(vreal));
    for (int i = 0; i < STI__COUNT(dofs); i++) *dofs[i] = sti__cut(&c, ld, sizeof(vreal));
    for (int i = 0; i < STI__COUNT(rows); i++) *rows[i] = sti__cut(&c, m, sizeof(vreal));
    for (int i = 0; i < STI__COUNT(sets); i++) *sets[i] = sti__cut(&c, n, sizeof(bits));
    s->X = sti__cut(&c, sti__mul(m, ld), sizeof(vreal));
    s->value = sti__cut(&c, (size_t)numbers, sizeof(vreal));
    s->mu = sti__cut(&c, sti__mul(2, nrow), sizeof(vreal));
    s->law = sti__cut(&c, nrow, sizeof(law));
    s->share = sti__cut(&c, nrow, sizeof(vreal));
    s->found_share = sti__cut(&c, nrow, sizeof(vreal));
    s->over = sti__cut(&c, nrow, sizeof(bits));
    s->first = sti__cut(&c, nrow + 1, sizeof(int));
    return c.used;
}

static lanes sizes_of(const sti__small_job *job) {
    return (lanes){
        .p = job->problem, .n = job->n, .m = job->problem->m, .nrow = job->nrow, .ld = (job->n + 7) / 8 * 8};
}

size_t STI_K(small_set_bytes)(const sti__small_job *job) {
    lanes s = sizes_of(job);
    return lay_out(&s, NULL);
}

/* ---- sums ----------------------------------------------------------------------------------------------------- */

#define EVERY_EIGHTH 0x0101010101010101u

INLINE vreal finish(const vreal *s) {
    return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
}

/* Products of `count` rows with x, over the dofs of a set. */
INLINE void dots(const vreal *rows, int ld, int count, bits set, const vreal *x, vreal *out) {
    vreal part[3][8];
    for (int r = 0; r < 8; r++) {
        vreal sum[3] = {v_set(0), v_set(0), v_set(0)};
        FOR_BITS (k, set & (bits)EVERY_EIGHTH << r)
            for (int i = 0; i < count; i++) sum[i] += rows[i * ld + (int)k] * x[k];
        for (int i = 0; i < count; i++) part[i][r] = sum[i];
    }
    for (int i = 0; i < count; i++) out[i] = finish(part[i]);
}

/* The same of rows of X, by packs. */
INLINE void row_dots(const vreal *X, int ld, int count, bits set, const vreal *x, vreal *out) {
    vreal part[3][8];
    for (int i = 0; i < count; i++) STI__UNROLL(8) for (int r = 0; r < 8; r++) part[i][r] = v_set(0);
    for (int p = 0; p < ld; p += 8) {
        if (!(set >> p & 255)) continue;
        for (int i = 0; i < count; i++)
            STI__UNROLL(8) for (int r = 0; r < 8; r++) part[i][r] += X[i * ld + p + r] * x[p + r];
    }
    for (int i = 0; i < count; i++) out[i] = finish(part[i]);
}

static vreal dot(const vreal *a, const vreal *b, bits set) {
    vreal out;
    dots(a, 0, 1, set, b, &out);
    return out;
}

INLINE bits all_of(const lanes *s) { return s->n == 64 ? ~(bits)0 : before(s->n); }
static vreal norm2(const lanes *s, const vreal *x) { return dot(x, x, all_of(s)); }

static vreal distance2(const lanes *s, const vreal *a, const vreal *b) {
    vreal part[8];
    for (int r = 0; r < 8; r++) {
        part[r] = v_set(0);
        for (int i = r; i < s->n; i += 8) part[r] += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return finish(part);
}

/* L x */
static void shrink(const lanes *s, const vreal *x, vreal *out) {
    for (int k = 0; k < s->n; k++) out[k] = s->root[k] * dot(s->L + k * s->n, x, s->below[k] | only(k));
}

/* ---- elimination from the last dof on, as in small_mass.h -------------------------------------------------------- */

typedef struct reduction {
    vreal *H;
    int n;
    const bits *below;
    bool symmetric;
    double least;
    vreal *inverse, *b; /* b may be NULL */
} reduction;

INLINE vmask take_pivot(const reduction *r, int k) {
    vreal pivot = r->H[k * r->n + k];
    r->inverse[k] = v_set(1) / pivot;
    return v_le(v_set(r->least), r->symmetric ? pivot : v_abs(pivot));
}

INLINE void take_one(const reduction *r, int k) {
    const vreal *Hk = r->H + k * r->n;
    vreal one = r->inverse[k];
    FOR_BITS_DOWN (i, r->below[k]) {
        vreal *Hi = r->H + (int)i * r->n, a = (r->symmetric ? Hk[i] : Hi[k]) * one;
        FOR_BITS (c, r->symmetric ? r->below[k] & before((int)i + 1) : r->below[k]) Hi[c] -= a * Hk[c];
        if (r->b) r->b[i] -= a * r->b[k];
    }
}

INLINE void take_two(const reduction *r, int k) {
    const vreal *Hk = r->H + k * r->n, *Hj = Hk - r->n;
    vreal one = r->inverse[k], two = r->inverse[k - 1];
    bits below = r->below[k - 1];
    FOR_BITS_DOWN (i, below) {
        vreal *Hi = r->H + (int)i * r->n, a = (r->symmetric ? Hk[i] : Hi[k]) * one;
        vreal c = (r->symmetric ? Hj[i] : Hi[k - 1] - a * Hk[k - 1]) * two;
        FOR_BITS (p, r->symmetric ? below & before((int)i + 1) : below) Hi[p] -= a * Hk[p] + c * Hj[p];
        if (r->b) r->b[i] -= a * r->b[k] + c * r->b[k - 1];
    }
}

/* In which lanes all pivots are large enough. */
INLINE vmask reduce(const reduction *r) {
    vmask fine = v_eq(v_set(0), v_set(0));
    for (int k = r->n - 1; k >= 0; k--) {
        fine &= take_pivot(r, k);
        if (k == 0 || r->below[k] != (r->below[k - 1] | only(k - 1))) {
            take_one(r, k);
            continue;
        }
        vreal *Hk = r->H + k * r->n, *Hj = Hk - r->n;
        vreal a = (r->symmetric ? Hk[k - 1] : Hj[k]) * r->inverse[k];
        FOR_BITS (c, r->below[k]) Hj[c] -= a * Hk[c];
        if (r->b) r->b[k - 1] -= a * r->b[k];
        fine &= take_pivot(r, k - 1);
        take_two(r, k--);
    }
    return fine;
}

static void fill_in(bits *below, int n) {
    for (int k = n - 1; k > 0; k--) {
        if (!below[k]) continue;
        int nearest = last_of(below[k]);
        below[nearest] |= below[k] & before(nearest);
    }
}

/* ---- the mass ------------------------------------------------------------------------------------------------- */

/* Numbers of an array that all worlds have. */
typedef const double *(*array_of)(const sti__small_job *job);

static void take(const lanes *s, array_of array, int count, vreal *out) {
    const double *from[STI_LANES];
    for (int l = 0; l < STI_LANES; l++) from[l] = array(s->set->job[l < s->set->count ? l : 0]);
    if (count > 0) STI_K(gather)(from, count, (double *)out);
}

static const double *values_of_A(const sti__small_job *job) { return job->problem->arrays.A.value; }
static const double *values_of_J(const sti__small_job *job) { return job->problem->arrays.J.value; }
static const double *vstar_of(const sti__small_job *job) { return job->problem->arrays.vstar; }
static const double *vhat_of(const sti__small_job *job) { return job->problem->arrays.vhat; }
static const double *R_of(const sti__small_job *job) { return job->problem->arrays.R; }
static const double *v_of(const sti__small_job *job) { return job->v; }
static const double *g_of(const sti__small_job *job) { return job->g; }
static const double *next_v_of(const sti__small_job *job) { return job->next_v; }
static const double *next_g_of(const sti__small_job *job) { return job->next_g; }

static void take_roots(const lanes *s) {
    for (int k = 0; k < s->n; k++) {
        s->at[k] = v_sqrt(s->at[k]);
        s->root[k] = v_set(1) / s->at[k];
    }
}

static void take_mass(lanes *s) {
    const sti_csr *A = &s->p->arrays.A;
    take(s, values_of_A, A->start[s->n], s->value);
    for (int i = 0; i < s->n; i++) {
        s->below[i] = 0;
        for (int j = 0; j <= i; j++) s->L[i * s->n + j] = v_set(0);
        for (int k = A->start[i]; k < A->start[i + 1] && A->col[k] <= i; k++) {
            s->L[i * s->n + A->col[k]] = s->value[k];
            s->below[i] |= only(A->col[k]);
        }
        s->below[i] &= before(i);
    }
}

static void factor(lanes *s) {
    reduction r = {s->L, s->n, s->below, true, LEAST_MASS, s->at, NULL};
    take_mass(s);
    fill_in(s->below, s->n);
    s->out |= ~reduce(&r);
    for (int k = 0; k < s->n; k++) {
        FOR_BITS (j, s->below[k] | only(k)) s->L[k * s->n + (int)j] *= s->at[k];
    }
    take_roots(s);
}

/* The factor that worlds have; false if there is none. */
static bool take_factor(lanes *s) {
    const sti_csr *A = &s->p->arrays.A;
    const sti__tree_factor *tree = &s->p->tree;
    if (!tree->L || tree->dof[s->n - 1] >= tree->count) return false;
    for (int i = 0; i < s->n; i++) {
        const int *col = A->col + A->start[i];
        vreal *row = s->L + i * s->n;
        int d = tree->dof[i];
        s->below[i] = 0;
        for (int j = 0; j < i; j++) row[j] = v_set(0);
        for (int k = 0; col[k] < i; k++) {
            for (int l = 0; l < STI_LANES; l++) {
                const sti__tree_factor *own = &s->set->job[l < s->set->count ? l : 0]->problem->tree;
                V_LANE(row[col[k]], l) = own->L[own->row[d] + k];
            }
            s->below[i] = s->below[col[k]] | only(col[k]);
        }
        row[i] = v_set(1);
        for (int l = 0; l < STI_LANES; l++)
            V_LANE(s->at[i], l) = s->set->job[l < s->set->count ? l : 0]->problem->tree.inverse[d];
    }
    take_roots(s);
    return true;
}

/* V = L^-1 */
static void invert(lanes *s) {
    int n = s->n;
    for (int k = 0; k < n; k++) {
        bits below = s->below[k];
        s->reach[k] = below ? below | s->reach[last_of(below)] : 0;
        s->heirs[k] = only(k);
        FOR_BITS (c, s->reach[k]) s->heirs[c] |= only(k);
        FOR_BITS (c, s->reach[k] | only(k)) {
            vreal sum = (int)c == k ? s->at[k] : v_set(0);
            FOR_BITS (j, below & s->heirs[c]) sum -= s->L[k * n + (int)j] * s->V[(int)j * n + (int)c];
            s->V[k * n + (int)c] = sum;
        }
    }
}

/* ---- rows ----------------------------------------------------------------------------------------------------- */

static bool is_cone(const lanes *s, int b) { return s->p->arrays.rows[b].kind == STI_ROW_CONE; }

/* Friction of a contact, bounds of a scalar row; cones that are not round in the norm R go their own way. */
static void take_bounds(lanes *s, int b) {
    vreal *mu = s->mu + 2 * b;
    const vreal *R = s->R + s->first[b];
    for (int l = 0; l < STI_LANES; l++) {
        const sti_row *row = &s->set->job[l < s->set->count ? l : 0]->problem->arrays.rows[b];
        bool cone = row->kind == STI_ROW_CONE;
        V_LANE(mu[0], l) = cone ? row->mu[0] : sti__row_lo(row);
        V_LANE(mu[1], l) = cone ? row->mu[1] : sti__row_hi(row);
    }
    if (!is_cone(s, b)) return;
    vreal a = R[1] * mu[0] * mu[0], c = R[2] * mu[1] * mu[1];
    s->out |= ~v_le(v_abs(a - c), v_set(1e-9) * v_select(v_lt(c, a), a, c));
}

static void take_rows(lanes *s) {
    const sti_csr *J = &s->p->arrays.J;
    take(s, values_of_J, J->start[s->m], s->value);
    take(s, vhat_of, s->m, s->q);
    take(s, R_of, s->m, s->R);
    for (int b = 0; b < s->nrow; b++) {
        bits over = 0;
        s->first[b] = s->p->first[b];
        for (int k = J->start[s->first[b]]; k < J->start[s->first[b] + 1]; k++) over |= only(J->col[k]);
        for (int i = s->first[b]; i < s->p->first[b + 1]; i++) {
            vreal *X = s->X + i * s->ld;
            s->q[i] = -s->q[i];
            for (int k = 0; k < s->ld; k++) X[k] = v_set(0);
            for (int k = J->start[i]; k < J->start[i + 1]; k++) X[J->col[k]] = s->value[k];
        }
        s->over[b] = over;
        take_bounds(s, b);
    }
    s->first[s->nrow] = s->m;
}

/* y += X x */
static void add_velocities(const lanes *s, const vreal *x, vreal *y) {
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b], dim = s->first[b + 1] - at;
        vreal product[3];
        if (dim == 3) row_dots(s->X + at * s->ld, s->ld, 3, s->over[b], x, product);
        else row_dots(s->X + at * s->ld, s->ld, 1, s->over[b], x, product);
        for (int i = 0; i < dim; i++) y[at + i] += product[i];
    }
}

INLINE void turn_block(const lanes *s, vreal *X, int dim, bits cols, bits over) {
    int n = s->n, ld = s->ld;
    FOR_BITS (c, over) {
        vreal sum[3] = {v_set(0), v_set(0), v_set(0)};
        FOR_BITS (k, cols & s->heirs[c]) {
            vreal V = s->V[(int)k * n + (int)c];
            for (int i = 0; i < dim; i++) sum[i] += X[i * ld + (int)k] * V;
        }
        for (int i = 0; i < dim; i++) X[i * ld + (int)c] = sum[i];
    }
}

/* J to J L^-1, in place: a number depends on those after it. */
static void turn(lanes *s) {
    int ld = s->ld;
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b], dim = s->first[b + 1] - at;
        vreal *X = s->X + at * ld;
        bits cols = s->over[b], over = cols;
        FOR_BITS (k, cols) over |= s->reach[k];
        if (dim == 3) turn_block(s, X, 3, cols, over);
        else turn_block(s, X, 1, cols, over);
        s->over[b] = over;
        for (int i = 0; i < dim; i++) {
            row_dots(X + i * ld, ld, 1, over, X + i * ld, s->w + at + i);
            s->w[at + i] = v_set(STI__SMALL_FELT) * s->w[at + i];
        }
    }
    s->turned = true;
}

INLINE void push_rows(const vreal *X, int ld, int dim, bits over, const vreal *g, vreal *sum) {
    for (int p = 0; p < ld; p += 8) {
        if (!(over >> p & 255)) continue;
        STI__UNROLL(8)
        for (int k = p; k < p + 8; k++)
            sum[k] += dim == 3 ? g[0] * X[k] + g[1] * X[ld + k] + g[2] * X[2 * ld + k] : g[0] * X[k];
    }
}

/* X'g, also before X is turned */
static void push(const lanes *s, const vreal *g, vreal *f) {
    int n = s->n;
    vreal *sum = s->turned ? f : s->b;
    for (int k = 0; k < s->ld; k++) sum[k] = v_set(0);
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b];
        const vreal *X = s->X + at * s->ld;
        if (s->first[b + 1] - at == 3) push_rows(X, s->ld, 3, s->over[b], g + at, sum);
        else push_rows(X, s->ld, 1, s->over[b], g + at, sum);
    }
    if (s->turned) return;
    for (int k = 0; k < n; k++) f[k] = v_set(0);
    for (int k = 0; k < n; k++)
        FOR_BITS (c, s->reach[k] | only(k)) f[c] += sum[k] * s->V[k * n + (int)c];
}

/* ---- pairs ---------------------------------------------------------------------------------------------------- */

static void set_velocities(const lanes *s) {
    memcpy(s->y, s->q, sizeof(vreal) * (size_t)s->m);
    add_velocities(s, s->z, s->y);
}

static vreal root_of_ratio(vreal off, vreal size) {
    return v_select(v_lt(v_set(0), off), v_sqrt(off / size), v_set(0));
}

INLINE vreal least2(const lanes *s) { return v_set(STI__FLOOR * STI__FLOOR) * s->free2; }

static vreal read_laws(const lanes *s) {
    vreal off = v_set(0), size = least2(s);
    for (int i = 0; i < s->m; i++) size += s->g[i] * s->g[i] * (s->w[i] + s->R[i]);
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b];
        const vreal *mu = s->mu + 2 * b, *w = s->w + at, *R = s->R + at, *y = s->y + at, *g = s->g + at;
        if (is_cone(s, b)) off += cone_read(mu, w, R, y, g, &s->law[b]);
        else off += interval_read(mu[0], mu[1], *w, *R, *y, *g, &s->law[b]);
    }
    return root_of_ratio(off, size);
}

static vreal larger(vreal a, vreal b) { return v_select(v_lt(b, a), a, b); }

static vreal read_pair(const lanes *s) {
    vreal off = read_laws(s);
    push(s, s->g, s->f);
    vreal rest = distance2(s, s->z, s->f), impulse2 = norm2(s, s->f), moved2 = norm2(s, s->z);
    return larger(off, root_of_ratio(rest, larger(larger(impulse2, moved2), least2(s))));
}

INLINE vreal block_gap(const lanes *s, int b, vreal *g) {
    int at = s->first[b];
    const vreal *mu = s->mu + 2 * b, *R = s->R + at, *y = s->y + at;
    for (int i = at; i < s->first[b + 1]; i++) g[i - at] = s->g[i];
    if (is_cone(s, b)) {
        cone_project(mu, R, g);
        return coulomb_gap(mu, R, y, g);
    }
    g[0] = v_select(v_lt(g[0], mu[0]), mu[0], v_select(v_lt(mu[1], g[0]), mu[1], g[0]));
    return interval_gap(mu[0], mu[1], *R, *y, g[0]);
}

/* In which lanes the gap is small enough. */
static vmask certified(lanes *s) {
    vreal gap = v_set(0), moved2 = norm2(s, s->z), two = v_set(2);
    vreal most = s->tol * s->tol / two * larger(v_set(4) * moved2, least2(s));
    most = v_select(v_lt(s->tol, v_set(0.5)), most, v_set(INFINITY));
    vmask fails = v_lt(v_set(0), v_set(0));
    for (int b = 0; b < s->nrow; b++) {
        fails |= v_lt(most, gap);
        s->share[b] = block_gap(s, b, s->g1 + s->first[b]);
        gap += s->share[b];
    }
    push(s, s->g1, s->f);
    gap += distance2(s, s->z, s->f) / two;
    s->gap = gap;
    s->impulse2 = norm2(s, s->f);
    s->moved2 = moved2;
    vreal pushed = v_select(v_lt(moved2, s->impulse2), s->impulse2, moved2),
          size2 = larger(pushed, least2(s));
    return v_le(two * gap, s->tol * s->tol * size2) & ~fails;
}

/* ---- Newton --------------------------------------------------------------------------------------------------- */

/* T = K X of a contact at one dof. */
INLINE void law_times(const law *l, const vreal *X, int n, vreal *T) {
    T[0] = l->normal * X[0];
    for (int i = 0; i < 2; i++) T[i + 1] = l->slope[i] * X[0] + l->G[i][0] * X[n] + l->G[i][1] * X[2 * n];
}

INLINE vreal times(const vreal *X, int n, const vreal *T) {
    return X[0] * T[0] + X[n] * T[1] + X[2 * n] * T[2];
}

/* H += X'KX of the contact b, or of b and the next one. */
INLINE void add_contacts(const lanes *s, int b, int count, bool symmetric) {
    int n = s->n, ld = s->ld;
    const vreal *X = s->X + s->first[b] * ld;
    FOR_BITS (c, s->over[b]) {
        vreal T[6];
        for (int i = 0; i < count; i++) law_times(&s->law[b + i], X + 3 * i * ld + (int)c, ld, T + 3 * i);
        FOR_BITS (k, symmetric ? s->over[b] & ~before((int)c) : s->over[b]) {
            vreal sum = times(X + k, ld, T);
            if (count == 2) sum = sum + times(X + 3 * ld + (int)k, ld, T + 3);
            s->H[(int)k * n + (int)c] += sum;
        }
    }
}

INLINE void add_scalar(const lanes *s, int b, bool symmetric) {
    const vreal *X = s->X + s->first[b] * s->ld;
    FOR_BITS (c, s->over[b]) {
        vreal T = s->law[b].normal * X[c];
        FOR_BITS (k, symmetric ? s->over[b] & ~before((int)c) : s->over[b])
            s->H[(int)k * s->n + (int)c] += X[k] * T;
    }
}

static void find_links(const lanes *s) {
    for (int k = 0; k < s->n; k++) s->link[k] = 0;
    for (int b = 0; b < s->nrow; b++)
        if (s->over[b]) s->link[last_of(s->over[b])] |= s->over[b];
    for (int k = 0; k < s->n; k++) s->link[k] &= before(k);
    fill_in(s->link, s->n);
}

INLINE void make_matrix(const lanes *s, bool symmetric) {
    int n = s->n;
    for (int k = 0; k < n; k++)
        for (int c = 0; c < (symmetric ? k + 1 : n); c++) s->H[k * n + c] = v_set(c == k);
    for (int b = 0; b < s->nrow; b++) {
        bool pair = is_cone(s, b) && b + 1 < s->nrow && is_cone(s, b + 1) && s->over[b] == s->over[b + 1];
        if (pair) add_contacts(s, b++, 2, symmetric);
        else if (is_cone(s, b)) add_contacts(s, b, 1, symmetric);
        else add_scalar(s, b, symmetric);
    }
}

/* x replaces b; in which lanes that is safe. */
INLINE vmask eliminate(const lanes *s, bool symmetric, vreal *b) {
    int n = s->n;
    reduction r = {s->H, n, s->link, symmetric, STI__SMALL_PIVOT, s->at, b};
    vmask fine = reduce(&r);
    for (int k = 0; k < n; k++) {
        const vreal *H = s->H + k * n;
        bits below = s->link[k], packs = before(k / 8 * 8);
        vreal x = b[k] - dot(H, b, below & packs);
        FOR_BITS (c, below & ~packs) x -= H[c] * b[c];
        b[k] = x * s->at[k];
    }
    return fine;
}

static vmask symmetric_lanes(const lanes *s) {
    vmask symmetric = v_eq(v_set(0), v_set(0));
    for (int b = 0; b < s->nrow; b++)
        for (int i = 0; is_cone(s, b) && i < 2; i++) symmetric &= v_eq(s->law[b].slope[i], v_set(0));
    return symmetric;
}

/* dz becomes the step; where that is not safe the lane goes its own way. */
static void solve_step(lanes *s, vmask active) {
    vmask symmetric = symmetric_lanes(s);
    bool both = v_any(symmetric & active), other = v_any(~symmetric & active);
    if (other) {
        memcpy(s->b, s->dz, sizeof(vreal) * (size_t)s->n);
        make_matrix(s, false);
        s->out |= ~eliminate(s, false, s->b) & ~symmetric;
    }
    if (both) {
        make_matrix(s, true);
        s->out |= ~eliminate(s, true, s->dz) & symmetric;
    }
    for (int k = 0; k < s->n && other; k++) s->dz[k] = v_select(symmetric, s->dz[k], s->b[k]);
}

static void linear(const lanes *s, const vreal *y, vreal *g) {
    for (int b = 0; b < s->nrow; b++) {
        const law *l = &s->law[b];
        const vreal *u = y + s->first[b];
        vreal *out = g + s->first[b];
        out[0] = l->c - l->normal * u[0];
        for (int i = 0; is_cone(s, b) && i < 2; i++)
            out[i + 1] = v_set(0) - l->slope[i] * u[0] - l->G[i][0] * u[1] - l->G[i][1] * u[2];
    }
}

/* A whole Newton step: z, y and g. */
static void step(lanes *s, vmask active) {
    vreal size = v_set(0);
    linear(s, s->y, s->g1);
    push(s, s->g1, s->dz);
    for (int i = 0; i < s->n; i++) s->dz[i] -= s->z[i];
    solve_step(s, active);
    for (int i = 0; i < s->m; i++) s->dy[i] = v_set(0);
    add_velocities(s, s->dz, s->dy);
    for (int i = 0; i < s->m; i++) s->y[i] = s->y[i] + s->dy[i];
    linear(s, s->y, s->g1);
    for (int i = 0; i < s->n; i++) size += v_abs(s->dz[i]);
    s->out |= ~v_lt(size, v_set(INFINITY));
    for (int i = 0; i < s->n; i++) s->z[i] = s->z[i] + s->dz[i];
    memcpy(s->g, s->g1, sizeof(vreal) * (size_t)s->m);
    s->iterations += v_set(1);
}

/* ---- answers -------------------------------------------------------------------------------------------------- */

/* Keeps the pair as it stands in these lanes; v: NULL is that of z. */
static void keep(lanes *s, vmask now, const vreal *v) {
    now &= ~s->found & ~s->out;
    if (!v_any(now)) return;
    for (int k = 0; k < s->n; k++) {
        vreal x = v ? v[k] : s->free[k] + dot(s->V + k * s->n, s->z, s->reach[k] | only(k));
        s->found_v[k] = v_select(now, x, s->found_v[k]);
    }
    for (int i = 0; i < s->m; i++) s->found_g[i] = v_select(now, s->g1[i], s->found_g[i]);
    for (int b = 0; b < s->nrow; b++) s->found_share[b] = v_select(now, s->share[b], s->found_share[b]);
    s->found_gap = v_select(now, s->gap, s->found_gap);
    s->found_impulse2 = v_select(now, s->impulse2, s->found_impulse2);
    s->found_moved2 = v_select(now, s->moved2, s->found_moved2);
    s->found_iterations = v_select(now, s->iterations, s->found_iterations);
    s->found |= now;
}

static void leave(const lanes *s, int l) {
    sti__small_job *job = s->set->job[l];
    for (int k = 0; k < s->n; k++) job->v[k] = V_LANE(s->found_v[k], l);
    for (int i = 0; i < s->m; i++) job->g[i] = V_LANE(s->found_g[i], l);
    for (int b = 0; b < s->nrow && job->share; b++) job->share[b] = V_LANE(s->found_share[b], l);
    job->iterations = (int)V_LANE(s->found_iterations, l);
    job->sweeps = 0;
    job->sum = (sti__sum){.gap = V_LANE(s->found_gap, l),
                          .impulse2 = V_LANE(s->found_impulse2, l),
                          .moved2 = V_LANE(s->found_moved2, l),
                          .free2 = V_LANE(s->free2, l)};
}

/* Where nothing pushes, which is rare and soon done, a world goes its own way. */
static void find_idle(lanes *s) {
    vmask pushes = v_lt(v_set(0), v_set(0));
    for (int b = 0; b < s->nrow; b++) {
        const vreal *q = s->q + s->first[b], *mu = s->mu + 2 * b;
        if (is_cone(s, b)) pushes |= v_lt(q[0], v_set(0));
        else pushes |= ~v_eq(interval_impulse(mu[0], mu[1], s->R[s->first[b]], q[0]), v_set(0));
    }
    s->out |= ~pushes;
}

/* ---- guesses -------------------------------------------------------------------------------------------------- */

static vmask hurries(const lanes *s) {
    vreal change2 = v_set(0), size2 = v_set(0), fast = v_set(STI__SMALL_FAST * STI__SMALL_FAST);
    for (int i = 0; i < s->m; i++) {
        vreal change = s->next_g[i] - s->guess[i];
        change2 += change * change;
        size2 += s->guess[i] * s->guess[i];
    }
    return v_lt(fast * s->tol * s->tol * size2, change2);
}

static void take_velocity(const lanes *s, const vreal *v, vreal *now, vreal *z) {
    for (int i = 0; i < s->n; i++) now[i] = v[i] - s->free[i];
    shrink(s, now, z);
}

/* The pair to begin with, and those that are good enough. */
static void judge_guesses(lanes *s, vmask hurry) {
    vreal tol2 = s->tol * s->tol;
    take_velocity(s, s->v, s->now, s->z);
    take_velocity(s, s->next_v, s->at, s->dz);
    vmask next = v_lt(v_set(1), distance2(s, s->z, s->dz) / (tol2 * larger(norm2(s, s->z), least2(s))));
    for (int i = 0; i < s->m; i++) s->g[i] = v_select(next | hurry, s->next_g[i], s->guess[i]);
    if (!v_any(~hurry & ~s->out)) return;
    for (int i = 0; i < s->n; i++) {
        s->z[i] = v_select(next, s->dz[i], s->z[i]);
        s->now[i] = v_select(next, s->at[i], s->now[i]);
        s->v[i] = v_select(next, s->next_v[i], s->v[i]);
    }
    memcpy(s->y, s->q, sizeof(vreal) * (size_t)s->m);
    add_velocities(s, s->now, s->y);
    keep(s, certified(s) & ~hurry, s->v);
}

static void begin(lanes *s) {
    for (int l = 0; l < STI_LANES; l++) V_LANE(s->tol, l) = s->set->job[l < s->set->count ? l : 0]->tol;
    s->out = s->found = v_lt(v_set(0), v_set(0));
    s->iterations = v_set(0);
    if (!take_factor(s)) factor(s);
    take_rows(s);
    take(s, vstar_of, s->n, s->free);
    take(s, v_of, s->n, s->v);
    take(s, g_of, s->m, s->guess);
    take(s, next_v_of, s->n, s->next_v);
    take(s, next_g_of, s->m, s->next_g);
    for (int k = s->n; k < s->ld; k++)
        s->z[k] = s->dz[k] = s->free[k] = s->now[k] = v_set(0); /* rows are in whole packs */
    add_velocities(s, s->free, s->q);
    shrink(s, s->free, s->z);
    s->free2 = norm2(s, s->z);
    for (int l = 0; l < STI_LANES; l++) {
        const sti__small_job *job = s->set->job[l < s->set->count ? l : 0];
        V_LANE(s->free2, l) = sti__free2(job->problem, V_LANE(s->free2, l), 1);
    }
    find_idle(s);
    invert(s);
}

/* Newton's method, as long as steps gain. */
static void iterate(lanes *s) {
    turn(s);
    find_links(s);
    push(s, s->g, s->z);
    set_velocities(s);
    vreal merit = read_laws(s);
    for (int k = 0; k <= MOST_STEPS; k++) {
        vmask near = v_le(merit, v_set(STI__SMALL_NEAR) * s->tol);
        if (v_any(near & ~s->found & ~s->out)) keep(s, certified(s) & near, NULL);
        if (k == 0) s->out |= v_lt(v_set(STI__SMALL_FAR), merit); /* sweeps come first there */
        vmask active = ~s->found & ~s->out;
        if (k == MOST_STEPS || !v_any(active)) break;
        vreal last = merit;
        step(s, active);
        vmask sure = v_lt(last, v_set(STI__SMALL_SURE));
        if (v_any(sure & ~s->found & ~s->out)) keep(s, certified(s) & sure, NULL);
        if (!v_any(~s->found & ~s->out)) break;
        merit = read_pair(s);
        s->out |= ~v_le(merit, v_set(1 - STI__SMALL_GAIN) * last);
    }
}

void STI_K(small_set)(sti__small_set *set) {
    lanes s = sizes_of(set->job[0]);
    s.set = set;
    lay_out(&s, set->scratch);
    for (int l = set->count; l < STI_LANES; l++) set->job[l] = set->job[0];
    begin(&s);
    if (v_any(~s.out)) {
        vmask hurry = hurries(&s);
        judge_guesses(&s, hurry);
        if (v_any(~s.found & ~s.out)) iterate(&s);
    }
    for (int l = 0; l < set->count; l++) {
        set->found[l] = V_LANE(s.found, l) != 0;
        if (set->found[l]) leave(&s, l);
    }
}
#endif
