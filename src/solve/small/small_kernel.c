/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once per instruction set. Rows are padded with zeros to whole packs of eight, and sums follow base/simd.h, so
   that all variants give the same bits. Which dofs a row is over is a set of bits; only packs that these touch are
   worked on. */
#include "base/room.h"
#include "solve/coulomb/coulomb_laws.h"
#include "solve/judge/certificate.h"
#include "solve/policy.h"
#include "solve/rules.h"
#include "solve/small/small_mass.h"
#include "solve/small/small_rounded.h"
#include <string.h>

#if WORDS == 1
#define NAME(function) CAT(function, STI_ISA)
#else
#define NAME(function) CAT(function##_large, STI_ISA)
#endif

size_t NAME(sti__small_bytes)(int n, int m, int nrow);
size_t NAME(sti__small_bytes)(int n, int m, int nrow) {
    small s;
    return lay_out(&s, n, m, nrow, NULL);
}

/* ---- rows ---------------------------------------------------------------------------------------------------- */

/* Rows of a block are mostly over the same dofs. */
static bool same_columns(const sti_csr *J, int row, int dim) {
    int begin = J->start[row], n = J->start[row + 1] - begin;
    for (int i = 1; i < dim; i++)
        if (J->start[row + i + 1] - J->start[row + i] != n ||
            memcmp(J->col + begin, J->col + J->start[row + i], sizeof(int) * (size_t)n) != 0)
            return false;
    return true;
}

/* Clears what rows over these dofs and their ancestors may touch. */
static void clear_rows(const small *s, const sti__small_job *job, int at, int dim, int global, int last) {
    const sti_csr *J = &s->p->arrays.J;
    int from = WORDS > 1 ? s->ld : 0, to = WORDS > 1 ? 0 : s->ld;
    for (int k = J->start[global]; WORDS > 1 && k < J->start[last + 1]; k++) {
        int j = job->rank[J->col[k]];
        if (s->base[j] < from) from = s->base[j];
        if (pack_after(j) > to) to = pack_after(j);
    }
    for (int i = at; i < at + dim && from < to; i++) clear(s->X + i * s->ld + from, to - from);
}

/* `count` rows over the same dofs, from row `global` of J on. */
INLINE bits scatter(const small *s, const sti__small_job *job, int at, int count, int global) {
    const sti_csr *J = &s->p->arrays.J;
    int begin = J->start[global], n = J->start[global + 1] - begin, ld = s->ld;
    const double *value = J->value + begin;
    double *X = s->X + at * ld;
    bits over = nobody();
    for (int k = 0; k < n; k++) {
        int j = job->rank[J->col[begin + k]];
        over |= only(j);
        UNROLL for (int i = 0; i < count; i++) X[i * ld + j] = value[i * n + k];
    }
    return over;
}

static bits take_block(small *s, const sti__small_job *job, int at, int dim, int global) {
    const sti_problem_arrays *a = &s->p->arrays;
    bits over = nobody();
    for (int i = 0; i < dim; i++) {
        s->q[at + i] = -a->vhat[global + i];
        s->R[at + i] = a->R[global + i];
    }
    bool alike = s->p->uniform || (dim > 1 && same_columns(&a->J, global, dim));
    clear_rows(s, job, at, dim, global, alike ? global : global + dim - 1);
    if (dim == 3 && alike) return scatter(s, job, at, 3, global);
    if (dim == 6 && alike) return scatter(s, job, at, 6, global);
    for (int i = 0; i < dim; i++) over |= scatter(s, job, at + i, 1, global + i);
    return over;
}

/* Its two runs lie on both sides of the longest run of zeros. */
static void set_runs(small *s, int b, bits over) {
    s->over[b] = over;
    int from = any(over) ? pack_of(first_of(over)) : 0, to = any(over) ? pack_after(last_of(over)) : 0;
    runs run = {from, to, to, to};
    for (int p = from + 8, end = p; WORDS > 1 && p < to; p += 8) {
        if (!has_pack(over, p)) continue;
        if (p - end > run.next - run.end) run.end = end, run.next = p;
        end = p + 8;
    }
    s->run[b] = run;
}

/* y += X x */
static void add_velocities(const small *s, const double *x, double *y) {
    for (int b = 0; b < s->nrow; b++) {
        const double *X = s->X + s->first[b] * s->ld;
        double *out = y + s->first[b], product[STI_ROW_DIM];
        int dim = s->first[b + 1] - s->first[b];
        if (dim == 3) dots(X, s->ld, 3, x, &s->run[b], product);
        else if (dim == 6) dots(X, s->ld, 6, x, &s->run[b], product);
        else
            for (int i = 0; i < dim; i++) product[i] = dot_in(X + i * s->ld, x, &s->run[b]);
        for (int i = 0; i < dim; i++) out[i] += product[i];
    }
}

static bool gather(small *s, const sti__small_job *job) {
    const sti_problem_arrays *a = &s->p->arrays;
    int m = 0;
    if (!take_factor(s, job)) {
        take_mass(s, job);
        if (!factor(s)) return false;
    }
    clear(s->free, s->ld);
    for (int i = 0; i < s->n; i++) s->free[i] = a->vstar[job->dof[i]];
    s->gstart[0] = 0;
    for (int b = 0; b < s->nrow; b++) {
        int from = s->p->first[job->row[b]], dim = a->rows[job->row[b]].dim;
        s->row[b] = &a->rows[job->row[b]];
        s->first[b] = m;
        s->gstart[b + 1] = s->gstart[b] + dim * dim;
        set_runs(s, b, take_block(s, job, m, dim, from));
        m += dim;
    }
    s->first[s->nrow] = m;
    add_velocities(s, s->free, s->q);
    shrink(s, s->free, s->z);
    s->free2 = sti__free2(s->p, norm2(s, s->z), 1);
    return true;
}

/* The part of a guessed velocity that rows have to give, and its z. */
static void take_velocity(small *s, const sti__small_job *job, const double *v, double *now, double *z) {
    clear(now, s->ld);
    for (int i = 0; i < s->n; i++) now[i] = v[job->dof[i]] - s->free[i];
    shrink(s, now, z);
}

/* The impulses that come with it. */
static void take_impulses(small *s, const sti__small_job *job, const double *g) {
    for (int b = 0; b < s->nrow; b++)
        for (int i = 0; i < s->row[b]->dim; i++) s->g[s->first[b] + i] = g[s->p->first[job->row[b]] + i];
}

/* J to J L^-1 in place: what a pack becomes depends on it and on those after it. */
INLINE void turn_rows(const small *s, double *X, int dim, bits cols, bits over, const runs *run) {
    int ld = s->ld;
    for (int p = run->from; p < run->to; p += 8) {
        vec sum[STI_ROW_DIM][PARTS] = {{{0}}};
        if (!has_pack(over, p)) continue; /* zeros */
        FOR_BITS (k, cols & ~before(p)) {
            if (WORDS > 1 && s->base[k] > p) continue; /* of another tree */
            const double *V = s->V + k * ld + p;
            UNROLL for (int v = 0; v < PARTS; v++) UNROLL for (int i = 0; i < dim; i++) sum[i][v] +=
                X[i * ld + k] * IN(V, VW * v);
        }
        UNROLL for (int v = 0; v < PARTS; v++) UNROLL for (int i = 0; i < dim; i++)
            AT(X, i * ld + p + VW * v) = sum[i][v];
    }
}

/* The same of a row over one dof, as limits are. */
static void turn_row(const small *s, double *X, int k) {
    double a = X[k];
    for (int i = s->base[k]; i <= k; i += VW) AT(X, i) = a * IN(s->V + k * s->ld, i);
}

/* What laws take for the inverse mass that row i of a block feels. */
INLINE double share_felt(int dim, int i) {
    return dim > 3 && i > 0 ? STI__SMALL_FELT_ROLLING : STI__SMALL_FELT;
}

static void turn(small *s) {
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b], dim = s->row[b]->dim;
        double *X = s->X + at * s->ld;
        bits cols = s->over[b], over = cols;
        FOR_BITS (k, cols) over |= s->reach[k];
        set_runs(s, b, over);
        const runs *run = &s->run[b];
        if (dim == 3) turn_rows(s, X, 3, cols, over, run);
        else if (dim == 6) turn_rows(s, X, 6, cols, over, run);
        else if (dim == 1 && is_one(cols)) turn_row(s, X, first_of(cols));
        else
            for (int i = 0; i < dim; i++) turn_rows(s, X + i * s->ld, 1, cols, over, run);
        for (int i = 0; i < dim; i++)
            s->w[at + i] = share_felt(dim, i) * dot_in(X + i * s->ld, X + i * s->ld, run);
    }
    s->turned = true;
}

/* ---- pairs --------------------------------------------------------------------------------------------------- */

/* y of z */
static void set_velocities(small *s) {
    memcpy(s->y, s->q, sizeof(double) * (size_t)s->m);
    add_velocities(s, s->z, s->y);
}

/* f += X'g of three rows */
INLINE void push_three(double *f, const double *g, const double *X, int ld, const runs *run) {
    double a = g[0], b = g[1], c = g[2];
    FOR_RUNS (from, to, run)
        for (int i = from; i < to; i += VW)
            AT(f, i) += a * IN(X, i) + b * IN(X, ld + i) + c * IN(X, 2 * ld + i);
}

/* The same of six, one after the other. */
INLINE void push_six(double *f, const double *g, const double *X, int ld, const runs *run) {
    FOR_RUNS (from, to, run)
        for (int i = from; i < to; i += VW) {
            vec sum = IN(f, i);
            UNROLL for (int k = 0; k < 6; k++) sum += g[k] * IN(X, k * ld + i);
            AT(f, i) = sum;
        }
}

/* X'g, also before X is turned */
static void push(const small *s, const double *g, double *f) {
    double before_turn[MOST], *sum = s->turned ? f : before_turn;
    int ld = s->ld;
    clear(sum, ld);
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b], end = s->first[b + 1];
        if (end - at == 3) {
            if (g[at] != 0 || g[at + 1] != 0 || g[at + 2] != 0)
                push_three(sum, g + at, s->X + at * ld, ld, &s->run[b]);
        } else if (end - at == 6) push_six(sum, g + at, s->X + at * ld, ld, &s->run[b]);
        else
            for (int i = at; i < end; i++)
                if (g[i] != 0) add_in(sum, g[i], s->X + i * ld, &s->run[b]);
    }
    if (!s->turned) spread(s, sum, f);
}

/* The impulses that the velocities ask for. */
static void take_law(small *s) {
    for (int b = 0; b < s->nrow; b++) {
        const sti_row *row = s->row[b];
        int at = s->first[b];
        if (row->kind == STI_ROW_CONE)
            sti__cone_coulomb(row->dim, row->mu, s->R + at, s->y + at, s->g + at, NULL);
        else sti__row_impulse(row, s->R + at, s->y + at, s->g + at);
    }
}

/* Contacts that roll are rare, but dear: their loops are unrolled, too. */
INLINE double read_law(const small *s, int b) {
    const sti_row *row = s->row[b];
    int at = s->first[b], k = s->gstart[b];
    const double *w = s->w + at, *R = s->R + at, *y = s->y + at, *g = s->g + at;
    double *G = s->G + k, *slope = s->slope + at, *c = s->c + at;
    if (row->kind == STI_ROW_CONE && row->dim == 6)
        return sti__pair_cone_of(6, row->mu, w, R, y, g, G, slope, c);
    return sti__pair_read(row, w, R, y, g, G, slope, c);
}

/* The same of contacts with their corners rounded off by an impulse. */
static double read_rounded(const small *s, int b, double impulse, double *sharp) {
    const sti_row *row = s->row[b];
    int at = s->first[b], k = s->gstart[b];
    if (row->kind != STI_ROW_CONE) return *sharp = read_law(s, b);
    rounded law = {impulse / sqrt(s->w[at] + s->R[at]), s->G + k, s->slope + at, s->c + at, 0};
    double off = round_cone(row, s->w + at, s->R + at, s->y + at, s->g + at, &law);
    *sharp = law.sharp;
    return off;
}

/* Laws at (z, y, g), how far the pair is from obeying them. */
static double read_laws(small *s) {
    double off = 0, sharp = 0, one, size = STI__FLOOR * STI__FLOOR * s->free2;
    for (int i = 0; i < s->m; i++) size += s->g[i] * s->g[i] * (s->w[i] + s->R[i]);
    if (s->round > 0) {
        double impulse = s->round * sqrt(size / s->nrow);
        for (int b = 0; b < s->nrow; b++, sharp += one) off += read_rounded(s, b, impulse, &one);
        s->sharp = sqrt(sharp / size);
    } else
        for (int b = 0; b < s->nrow; b++) off += read_law(s, b);
    return off > 0 ? sqrt(off / size) : 0;
}

/* And from balance. */
static double read_pair(small *s) {
    double off = read_laws(s);
    push(s, s->g, s->f);
    double rest = distance2(s, s->z, s->f), impulse2 = norm2(s, s->f), moved2 = norm2(s, s->z);
    double scale2 = larger(larger(impulse2, moved2), STI__FLOOR * STI__FLOOR * s->free2);
    return larger(off, rest > 0 ? sqrt(rest / scale2) : 0);
}

/* The gap of a block at the impulses g0, moved into their bounds and left in g. */
INLINE double block_gap(const sti_row *row, int dim, const double *R, const double *y, const double *g0,
                        double *g) {
    for (int i = 0; i < dim; i++) g[i] = g0[i];
    if (row->kind == STI_ROW_CONE) {
        sti__cone_project(dim, row->mu, R, g);
        return sti__coulomb_gap(dim, row->mu, R, y, g);
    }
    sti__row_project(row, R, g);
    return sti__row_gap(row, R, y, g);
}

/* Whether the gap of the pair, with the impulses within their bounds, is small enough; these are left in g1. Rows whose
   gap is above that of a good answer end it: its impulses are at most twice as long as z, or the momentum's part would be
   too large. */
static bool certified(small *s, sti__small_job *job) {
    double gap = 0, moved2 = norm2(s, s->z), least2 = STI__FLOOR * STI__FLOOR * s->free2;
    double most = job->tol < 0.5 ? job->tol * job->tol / 2 * larger(4 * moved2, least2) : INFINITY;
    for (int b = 0; b < s->nrow; b++) {
        if (gap > most) return false;
        const sti_row *row = s->row[b];
        int at = s->first[b];
        const double *R = s->R + at, *y = s->y + at, *g = s->g + at;
        double part = row->dim == 3 ? block_gap(row, 3, R, y, g, s->g1 + at)
                                    : block_gap(row, row->dim, R, y, g, s->g1 + at);
        if (job->share) job->share[job->row[b]] = part;
        gap += part;
    }
    push(s, s->g1, s->f);
    gap += distance2(s, s->z, s->f) / 2;
    job->sum = (sti__sum){.gap = gap, .impulse2 = norm2(s, s->f), .moved2 = moved2, .free2 = s->free2};
    return sti__sum_holds(&job->sum, job->tol);
}

/* ---- Newton -------------------------------------------------------------------------------------------------- */

/* H += X'KX of a block, K = G + slope e'; of a symmetric one the lower triangle. */
INLINE void add_block(const small *s, const double *X, const double *K, int dim, const places *over,
                      bool symmetric) {
    int ld = s->ld;
    FOR_PACKS (p, over, ld) {
        vec T[STI_ROW_DIM][PARTS] = {{{0}}};
        if (!touches(over, p)) continue;
        UNROLL for (int v = 0; v < PARTS; v++) UNROLL for (int i = 0; i < dim; i++)
            UNROLL for (int j = 0; j < dim; j++) T[i][v] += K[i * dim + j] * IN(X, j * ld + p + VW * v);
        FOR_PLACES (k, over, symmetric ? p : 0) {
            double *H = s->H + (int)k * ld + p;
            UNROLL for (int v = 0; v < PARTS; v++) {
                vec sum = X[k] * T[0][v];
                UNROLL for (int i = 1; i < dim; i++) sum += X[i * ld + k] * T[i][v];
                AT(H, VW * v) += sum;
            }
        }
    }
}

/* The same of two blocks of three rows over the same dofs, as the points of one body have: each number of H is read and
   written once. */
INLINE void add_two_blocks(const small *s, const double *X, double (*K)[STI_ROW_DIM * STI_ROW_DIM],
                           const places *over, bool symmetric) {
    int ld = s->ld;
    FOR_PACKS (p, over, ld) {
        vec T[6][PARTS] = {{{0}}};
        if (!touches(over, p)) continue;
        UNROLL for (int v = 0; v < PARTS; v++) UNROLL for (int i = 0; i < 6; i++)
            UNROLL for (int j = 0; j < 3; j++) T[i][v] +=
            K[i / 3][i % 3 * 3 + j] * IN(X, (i / 3 * 3 + j) * ld + p + VW * v);
        FOR_PLACES (k, over, symmetric ? p : 0) {
            double *H = s->H + (int)k * ld + p;
            UNROLL for (int v = 0; v < PARTS; v++) {
                vec sum = X[k] * T[0][v], more = X[3 * ld + k] * T[3][v];
                UNROLL for (int i = 1; i < 3; i++) {
                    sum += X[i * ld + k] * T[i][v];
                    more += X[(3 + i) * ld + k] * T[3 + i][v];
                }
                AT(H, VW * v) += sum + more;
            }
        }
    }
}

/* What a block adds to I; whether it adds anything. */
INLINE bool matrix_of(int dim, const double *G, const double *slope, double *K) {
    int64_t any = 0; /* as wide as a number, so that a register does several */
    for (int i = 0; i < dim * dim; i++) any |= (K[i] = G[i]) != 0;
    for (int i = 0; i < dim; i++) K[i * dim] += slope[i];
    return any;
}

static bool law_matrix(const small *s, int b, double *K) {
    int dim = s->row[b]->dim;
    const double *G = s->G + s->gstart[b], *slope = s->slope + s->first[b];
    if (dim == 3) return matrix_of(3, G, slope, K);
    if (dim == 1) return matrix_of(1, G, slope, K);
    if (dim == 6) return matrix_of(6, G, slope, K);
    return matrix_of(dim, G, slope, K);
}

static bool is_symmetric(const small *s) {
    for (int i = 0; i < s->m; i++)
        if (s->slope[i] != 0) return false;
    return true;
}

INLINE void add_law(const small *s, const double *X, const double *K, int dim, const places *over,
                    bool symmetric) {
    if (dim == 3) add_block(s, X, K, 3, over, symmetric);
    else if (dim == 1) add_block(s, X, K, 1, over, symmetric);
    else if (dim == 6) add_block(s, X, K, 6, over, symmetric);
    else add_block(s, X, K, dim, over, symmetric);
}

/* Which numbers of H may not be zero, before and after it is eliminated: once a solve. */
static void plan_matrix(small *s) {
    int n = s->n;
    for (int k = 0; k < n; k++) s->link[k] = nobody();
    for (int b = 0; b < s->nrow; b++)
        if (any(s->over[b])) s->link[last_of(s->over[b])] |= s->over[b]; /* and so on down */
    for (int k = 0; k < n; k++) s->link[k] &= before(k);
    fill_in(s->link, n);
    for (int k = 0; k < n; k++) {
        s->low[k] = WORDS > 1 ? pack_of(first_of(s->link[k] | only(k))) : 0;
        s->high[k] = WORDS > 1 ? pack_after(k) : s->ld;
        if (WORDS == 1) continue;
        FOR_BITS (i, s->link[k]) s->high[i] = pack_after(k); /* the last is the largest */
    }
}

/* I into H. */
static void clear_matrix(small *s, bool symmetric, bool whole) {
    for (int k = 0; k < s->n; k++) {
        double *H = s->H + k * s->ld;
        int low = whole ? 0 : s->low[k], high = whole ? s->ld : symmetric ? pack_of(k) : s->high[k];
        clear(H + low, high - low);
        for (int v = 0; v < 8; v += VW) AT(H, pack_of(k) + v) = IN(unit_pack(k), v);
    }
}

/* What is added and eliminated together depends on the shape of the problem alone, not on which contacts push: islands of the same shape
   can then be solved side by side (small_lanes.h). */
static void make_matrix(small *s, bool symmetric, bool whole) {
    int ld = s->ld;
    double two[2][STI_ROW_DIM * STI_ROW_DIM];
    clear_matrix(s, symmetric, whole);
    for (int b = 0; b < s->nrow; b++) {
        bits over = s->over[b];
        bool three = s->row[b]->dim == 3;
        bool pair = three && b + 1 < s->nrow && s->row[b + 1]->dim == 3 && same(s->over[b + 1], over);
        bool here = law_matrix(s, b, two[0]), next = pair && law_matrix(s, b + 1, two[1]);
        const double *X = s->X + s->first[b] * ld;
        places list;
        if (here || next) list_places(over, &list);
        if (here && next) add_two_blocks(s, X, two, &list, symmetric);
        else if (here) add_law(s, X, two[0], s->row[b]->dim, &list, symmetric);
        else if (next) add_block(s, X + 3 * ld, two[1], 3, &list, symmetric);
        b += pair;
    }
}

/* Unknowns of one pack, after those of the packs before it. */
INLINE void substitute(const small *s, int p, int count, double *b) {
    const double *H = s->H + p * s->ld;
    double x[8] = {0};
    UNROLL for (int r = 0; r < count; r++) x[r] = b[p + r] - dot(H + r * s->ld, b, s->low[p + r], p);
    UNROLL for (int r = 0; r < count; r++) {
        UNROLL for (int c = 0; c < r; c++) x[r] -= H[r * s->ld + p + c] * x[c];
        x[r] *= s->at[p + r];
    }
    UNROLL for (int r = 0; r < count; r++) b[p + r] = x[r];
}

/* H x = b, without exchanging rows; x replaces b. False if that is not safe. */
INLINE bool eliminate(small *s, bool symmetric, double *b) {
    int n = s->n, ld = s->ld;
    reduction r = {s->H, n, ld, s->link, symmetric, STI__SMALL_PIVOT, s->at, b};
    if (!reduce(&r)) return false;
    for (int p = 0; p < n; p += 8) {
        if (n - p < 8) substitute(s, p, n - p, b);
        else substitute(s, p, 8, b);
    }
    return true;
}

/* The same with row pivots. */
static bool eliminate_any(small *s, double *b) {
    int n = s->n, ld = s->ld;
    for (int k = 0; k < n; k++) {
        int best = k;
        for (int i = k + 1; i < n; i++)
            if (fabs(s->H[i * ld + k]) > fabs(s->H[best * ld + k])) best = i;
        double *row = s->H + k * ld, *other = s->H + best * ld;
        if (best != k) {
            for (int j = k / 8 * 8; j < ld; j += VW) {
                vec t = IN(row, j);
                AT(row, j) = IN(other, j);
                AT(other, j) = t;
            }
            double t = b[k];
            b[k] = b[best];
            b[best] = t;
        }
        if (!(fabs(row[k]) > 1e-290)) return false;
        double inverse = 1 / row[k];
        for (int i = k + 1; i < n; i++) {
            double *Hi = s->H + i * ld, factor = Hi[k] * inverse;
            if (factor == 0) continue;
            for (int j = k / 8 * 8; j < ld; j += VW) AT(Hi, j) -= factor * IN(row, j);
            b[i] -= factor * b[k];
        }
    }
    for (int k = n - 1; k >= 0; k--) {
        double sum = b[k];
        for (int j = k + 1; j < n; j++) sum -= s->H[k * ld + j] * b[j];
        b[k] = sum / s->H[k * ld + k];
    }
    return true;
}

/* The impulses of the linear laws. */
static void linear(const small *s, const double *y, double *g) {
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b], dim = s->first[b + 1] - at;
        const double *G = s->G + s->gstart[b];
        if (dim == 3) sti__pair_impulse(3, G, s->slope + at, s->c + at, y + at, g + at);
        else if (dim == 1) sti__pair_impulse(1, G, s->slope + at, s->c + at, y + at, g + at);
        else if (dim == 6) sti__pair_impulse(6, G, s->slope + at, s->c + at, y + at, g + at);
        else sti__pair_impulse(dim, G, s->slope + at, s->c + at, y + at, g + at);
    }
}

static bool solve_step(small *s) {
    bool symmetric = is_symmetric(s);
    double b[MOST];
    memcpy(b, s->dz, sizeof(double) * (size_t)s->ld);
    make_matrix(s, symmetric, false);
    if (symmetric ? eliminate(s, true, s->dz) : eliminate(s, false, s->dz)) return true;
    memcpy(s->dz, b, sizeof(double) * (size_t)s->ld);
    make_matrix(s, false, true);
    return eliminate_any(s, s->dz);
}

/* dz, dy and the next impulses g1. */
static bool step(small *s) {
    double size = 0;
    linear(s, s->y, s->g1);
    push(s, s->g1, s->dz);
    for (int i = 0; i < s->ld; i += VW) AT(s->dz, i) -= IN(s->z, i);
    if (!solve_step(s)) return false;
    memset(s->dy, 0, sizeof(double) * (size_t)s->m);
    add_velocities(s, s->dz, s->dy);
    for (int i = 0; i < s->m; i++) s->y0[i] = s->y[i] + s->dy[i];
    linear(s, s->y0, s->g1);
    for (int i = 0; i < s->n; i++) size += fabs(s->dz[i]);
    return size < INFINITY;
}

/* Where a step begins. */
static void mark(small *s) {
    memcpy(s->at, s->z, sizeof(double) * (size_t)s->ld);
    memcpy(s->y0, s->y, sizeof(double) * (size_t)s->m);
    memcpy(s->g0, s->g, sizeof(double) * (size_t)s->m);
}

/* A part of the step from the mark. */
static void move(small *s, double a) {
    for (int i = 0; i < s->ld; i += VW) AT(s->z, i) = IN(s->at, i) + a * IN(s->dz, i);
    for (int i = 0; i < s->m; i++) {
        s->y[i] = s->y0[i] + a * s->dy[i];
        s->g[i] = a < 1 ? s->g0[i] + a * (s->g1[i] - s->g0[i]) : s->g1[i];
    }
}

/* Whole steps, which may raise the natural map before they lower it. */
static bool leap(small *s, sti__small_job *job, double before, double *merit) {
    for (int k = 0; k < STI__SMALL_WHOLE && STI__RULE(SMALL_WHOLE_STEPS) && job->iterations < job->steps;
         k++) {
        if (!step(s)) return false;
        job->iterations++;
        mark(s);
        move(s, 1);
        if ((*merit = read_pair(s)) <= (1 - STI__SMALL_GAIN) * before) return true;
    }
    return false;
}

/* The longest of a few steps that lowers the natural map; returns its length, or 0 if none does. */
static double walk(small *s, double before) {
    mark(s);
    for (double a = 1; a > STI__SMALL_SHORTEST; a /= 2) {
        move(s, a);
        if (read_pair(s) <= (1 - a * STI__SMALL_GAIN) * before) return a;
    }
    return 0;
}

/* Newton steps on laws that are rounded off, which make the natural map smooth: its length falls along each step. True once the map
   of the true laws has fallen enough. */
static bool smooth(small *s, sti__small_job *job, double before, double *merit) {
    s->round = before < 1 ? before : 1;
    s->sharp = before;
    while (s->sharp > STI__SMALL_ROUNDED * before && job->iterations < job->steps) {
        double length = read_pair(s), a;
        if (!step(s)) break;
        job->iterations++;
        if ((a = walk(s, length)) == 0) break;
        if (a == 1) s->round *= STI__SMALL_SHARPEN;
        if (s->round > s->sharp) s->round = s->sharp;
    }
    s->round = 0;
    *merit = read_pair(s);
    return *merit <= STI__SMALL_ROUNDED * before;
}

/* From a pair of this merit to a better one; else back, with its impulses alone. */
static bool advance(small *s, sti__small_job *job, double before, double *merit) {
    double z[MOST];
    if (!step(s)) return false;
    job->iterations++;
    mark(s);
    move(s, 1);
    if (before < STI__SMALL_SURE && (s->done = certified(s, job))) return true;
    if ((*merit = read_pair(s)) <= (1 - STI__SMALL_GAIN) * before) return true;
    memcpy(z, s->at, sizeof(double) * (size_t)s->ld);
    memcpy(s->kept, s->g0, sizeof(double) * (size_t)s->m);
    if (leap(s, job, before, merit)) return true;
    memcpy(s->g, s->kept, sizeof(double) * (size_t)s->m);
    memcpy(s->z, z, sizeof(double) * (size_t)s->ld);
    set_velocities(s);
    return STI__RULE(SMALL_ROUNDED) && smooth(s, job, before, merit);
}

/* ---- sweeps -------------------------------------------------------------------------------------------------- */

static void make_blocks(small *s) {
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b], dim = s->row[b]->dim;
        double *D = s->D + s->gstart[b];
        for (int i = 0; i < dim; i++) {
            for (int j = 0; j <= i; j++)
                D[i * dim + j] = D[j * dim + i] =
                    dot_in(s->X + (at + i) * s->ld, s->X + (at + j) * s->ld, &s->run[b]);
            D[i * dim + i] += s->R[at + i];
        }
    }
}

static void settle(small *s, int b) {
    int at = s->first[b], dim = s->row[b]->dim;
    double u[STI_ROW_DIM] = {0}, old[STI_ROW_DIM];
    const sti_row *row = s->row[b];
    for (int i = 0; i < dim; i++) {
        old[i] = s->g[at + i];
        u[i] = s->q[at + i] + dot_in(s->X + (at + i) * s->ld, s->z, &s->run[b]) + s->R[at + i] * old[i];
    }
    if (row->kind == STI_ROW_CONE && dim == 6) {
        if (s->g[at] != 0 || u[0] < 0) sti__settle_dim(row, 6, s->D + s->gstart[b], u, s->g + at);
    } else if (row->kind == STI_ROW_CONE) sti__settle_cone(row, s->D + s->gstart[b], u, s->g + at);
    else sti__settle_interval(row, s->D + s->gstart[b], u, s->g + at);
    for (int i = 0; i < dim; i++)
        if (s->g[at + i] != old[i]) add_in(s->z, s->g[at + i] - old[i], s->X + (at + i) * s->ld, &s->run[b]);
}

static double sweep(small *s, int sweeps) {
    if (s->sweeps == 0) make_blocks(s);
    for (int b = 0; b < s->nrow; b++) sti__row_project(s->row[b], s->R + s->first[b], s->g + s->first[b]);
    push(s, s->g, s->z);
    for (int k = 0; k < sweeps; k++)
        for (int i = 0; i < s->nrow; i++) settle(s, k % 2 ? s->nrow - 1 - i : i);
    s->sweeps += sweeps;
    set_velocities(s);
    return read_pair(s);
}

/* ---- the end ------------------------------------------------------------------------------------------------- */

/* Where nothing pushes, v* is the answer, to the last bit. */
static bool nothing_pushes(const small *s, sti__small_job *job) {
    static const double none[STI_ROW_DIM];
    double g[STI_ROW_DIM];
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b];
        const double *q = s->q + at;
        if (s->row[b]->kind == STI_ROW_CONE) {
            if (q[0] < 0) return false;
            continue;
        }
        sti__row_impulse(s->row[b], s->R + at, q, g);
        for (int i = 0; i < s->row[b]->dim; i++)
            if (g[i] != 0) return false;
    }
    for (int b = 0; b < s->nrow; b++) {
        memcpy(job->g + s->p->first[job->row[b]], none, sizeof(double) * (size_t)s->row[b]->dim);
        if (job->share) job->share[job->row[b]] = 0;
    }
    for (int i = 0; i < s->n; i++) job->v[job->dof[i]] = s->p->arrays.vstar[job->dof[i]];
    job->sum.free2 = s->free2;
    return true;
}

static void leave_impulses(const small *s, sti__small_job *job) {
    for (int b = 0; b < s->nrow; b++)
        for (int i = 0; i < s->row[b]->dim; i++)
            job->g[s->p->first[job->row[b]] + i] = s->g1[s->first[b] + i];
}

/* v = v* + V z */
static void leave_velocity(const small *s, sti__small_job *job) {
    for (int k = 0; k < s->n; k++)
        job->v[job->dof[k]] = s->free[k] + dot(s->V + k * s->ld, s->z, s->base[k], pack_after(k));
}

/* Square of how far the next velocity is from the last, over the tolerance; it is left in dz and `at`. */
static double change2(small *s, const sti__small_job *job) {
    double least2 = STI__FLOOR * STI__FLOOR * s->free2, tol2 = job->tol * job->tol;
    take_velocity(s, job, job->next_v, s->at, s->dz);
    return distance2(s, s->z, s->dz) / (tol2 * larger(norm2(s, s->z), least2));
}

static void leave_guess(const small *s, sti__small_job *job, const double *v) {
    for (int i = 0; i < s->n; i++) job->v[job->dof[i]] = v[job->dof[i]];
}

/* Whether impulses change by more than what a guess of them is good for. */
static bool hurries(const small *s, const sti__small_job *job) {
    double change2 = 0, size2 = 0;
    for (int b = 0; b < s->nrow; b++)
        for (int i = s->p->first[job->row[b]]; i < s->p->first[job->row[b] + 1]; i++) {
            double change = job->next_g[i] - job->g[i];
            change2 += change * change;
            size2 += job->g[i] * job->g[i];
        }
    return change2 > STI__SMALL_FAST * STI__SMALL_FAST * job->tol * job->tol * size2;
}

/* Warm start: the velocity and impulses of the last step or, if they change fast, their extrapolation. True if that is
   converged already. */
static bool guess_holds(small *s, sti__small_job *job) {
    if (job->next_g && hurries(s, job)) {
        take_impulses(s, job, job->next_g);
        return false;
    }
    take_velocity(s, job, job->v, s->now, s->z);
    bool next = job->next_v && change2(s, job) > 1;
    take_impulses(s, job, next ? job->next_g : job->g);
    if (next) {
        memcpy(s->z, s->dz, sizeof(double) * (size_t)s->ld);
        memcpy(s->now, s->at, sizeof(double) * (size_t)s->ld);
    }
    memcpy(s->y, s->q, sizeof(double) * (size_t)s->m);
    add_velocities(s, s->now, s->y);
    if (job->lawful) take_law(s);
    if (!certified(s, job)) return false;
    if (next) leave_guess(s, job, job->next_v);
    return true;
}

/* From the impulses alone, which balance the velocity that they give. */
static bool iterate(small *s, sti__small_job *job) {
    int sweeps = STI__SMALL_SWEEPS;
    turn(s);
    plan_matrix(s);
    push(s, s->g, s->z);
    set_velocities(s);
    double merit = read_laws(s);
    for (int k = 0; k <= job->steps; k++) {
        if (merit <= STI__SMALL_NEAR * job->tol && certified(s, job)) return true;
        if (job->iterations >= job->steps) return false;
        if (k == 0 && merit > STI__SMALL_FAR && STI__RULE(SMALL_SWEEP_FIRST)) {
            merit = sweep(s, STI__SMALL_SWEEPS);
            continue;
        }
        if (advance(s, job, merit, &merit)) {
            if (s->done) return true;
            continue;
        }
        merit = sweep(s, sweeps);
        if (sweeps < STI__SMALL_SWEEPS_MOST) sweeps *= 2;
    }
    return false;
}

bool NAME(sti__small_solve)(sti__small_job *job);
bool NAME(sti__small_solve)(sti__small_job *job) {
    small s = {.p = job->problem, .n = job->n, .nrow = job->nrow};
    for (int b = 0; b < job->nrow; b++) s.m += job->problem->arrays.rows[job->row[b]].dim;
    lay_out(&s, s.n, s.m, s.nrow, job->scratch);
    job->sum = (sti__sum){0};
    job->iterations = job->sweeps = 0;
    if (!gather(&s, job)) return false;
    if (nothing_pushes(&s, job)) return true;
    invert(&s);
    bool found = guess_holds(&s, job);
    if (!found && (found = iterate(&s, job))) leave_velocity(&s, job);
    if (found) leave_impulses(&s, job);
    job->sweeps = s.sweeps;
    return found;
}
