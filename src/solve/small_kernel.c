/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once per instruction set. Rows are padded with zeros to whole packs of eight, and sums follow base/simd.h, so
   that all variants give the same bits. */
#include "base/lane.h"
#include "base/simd.h"
#include "solve/certificate.h"
#include "solve/cut.h"
#include "solve/pair.h"
#include "solve/small.h"
#include <string.h>

#define FAR 1e-2  /* a pair that is worse is swept first */
#define SWEEPS 10 /* between steps, when these lead nowhere; twice as many each time */
#define MOST_SWEEPS 80
#define NEAR 1e2 /* the gap is computed once the natural map is this near to it */

#if defined __AVX512F__
#define VW 8 /* doubles in a register */
#elif defined __AVX__
#define VW 4
#else
#define VW 2
#endif

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define INLINE static inline __attribute__((always_inline))

typedef struct small {
    const sti_problem *p;
    int n, m, nrow, ld;      /* ld: n in whole packs */
    const sti_row **row;     /* nrow */
    int *first, *gstart;     /* nrow + 1: first scalar row, first number of G */
    double *L, *inverse;     /* n x ld, lower triangle; 1 / diagonal */
    double *X;               /* m x ld */
    double *T;               /* 6 x ld: (G + slope e')X of a block */
    double *H;               /* n x ld */
    double *z, *f, *dz, *at; /* ld: velocity, X'g, step, where the walk began */
    double *R, *q, *w;       /* m: q = J v* - vhat; w = diagonal of XX' */
    double *y, *dy, *y0;     /* m */
    double *g, *g0, *g1;
    double *slope, *c; /* m: laws */
    double *G, *D;     /* of the blocks; D: XX' + R */
    double natural, momentum, impulse2, moved2, free2;
    int sweeps;
} small;

/* Eight numbers in as many registers as the machine needs. */
#define UNROLL _Pragma("GCC unroll 4")
typedef double vec __attribute__((vector_size(8 * VW), aligned(8), may_alias));
#define AT(x, i) (*(vec *)((x) + (i)))
#define IN(x, i) (*(const vec *)((x) + (i)))

INLINE void add(double *y, double s, const double *x, int ld) {
    for (int i = 0; i < ld; i += VW) AT(y, i) += s * IN(x, i);
}
/* As sti__dot of whole packs. */
INLINE double dot(const double *a, const double *b, int ld) {
    union {
        vec part[8 / VW];
        double s[8];
    } sum;
    vec part[8 / VW] = {{0}};
    for (int i = 0; i < ld; i += 8)
        UNROLL for (int v = 0; v < 8 / VW; v++) part[v] += IN(a, i + VW * v) * IN(b, i + VW * v);
    UNROLL for (int v = 0; v < 8 / VW; v++) sum.part[v] = part[v];
    return sti__dot_finish(sum.s);
}

static size_t lay_out(small *s, int n, int m, int nrow, char *base) {
    sti__cutter c = {base, 0};
    size_t ld = (size_t)(n + 7) / 8 * 8, rows = (size_t)m;
    s->ld = (int)ld;
    double **wide[] = {&s->z, &s->f, &s->dz, &s->at, &s->inverse};
    double **tall[] = {&s->R, &s->q, &s->w, &s->y, &s->dy, &s->y0, &s->g, &s->g0, &s->g1, &s->slope, &s->c};
    s->L = sti__cut(&c, (size_t)n * ld, sizeof(double));
    s->H = sti__cut(&c, (size_t)n * ld, sizeof(double));
    s->X = sti__cut(&c, (rows + 8) * ld, sizeof(double));
    s->T = sti__cut(&c, 8 * (size_t)STI__SMALL, sizeof(double));
    for (int i = 0; i < STI__COUNT(wide); i++) *wide[i] = sti__cut(&c, ld, sizeof(double));
    for (int i = 0; i < STI__COUNT(tall); i++) *tall[i] = sti__cut(&c, rows + 8, sizeof(double));
    s->G = sti__cut(&c, 6 * rows, sizeof(double));
    s->D = sti__cut(&c, 6 * rows, sizeof(double));
    s->row = sti__cut(&c, (size_t)nrow, sizeof *s->row);
    s->first = sti__cut(&c, (size_t)nrow + 1, sizeof(int));
    s->gstart = sti__cut(&c, (size_t)nrow + 1, sizeof(int));
    return c.used;
}

size_t CAT(sti__small_bytes, STI_ISA)(int n, int m, int nrow);
size_t CAT(sti__small_bytes, STI_ISA)(int n, int m, int nrow) {
    small s;
    return lay_out(&s, n, m, nrow, NULL);
}

/* ---- from the problem ------------------------------------------------------------------------------------ */

static bool factor(small *s, const sti__small_job *job) {
    const sti_csr *A = &s->p->arrays.A;
    int n = s->n, ld = s->ld;
    memset(s->L, 0, sizeof(double) * (size_t)(n * ld));
    for (int i = 0; i < n; i++) {
        int global = job->dof[i];
        for (int k = A->start[global]; k < A->start[global + 1]; k++) {
            int j = job->rank[A->col[k]];
            if (A->col[k] <= global && s->p->dof_island[A->col[k]] == s->p->dof_island[global])
                s->L[i * ld + j] = A->value[k];
        }
    }
    for (int j = 0; j < n; j++) {
        double *Lj = s->L + j * ld, d = Lj[j];
        int end = (j + 7) / 8 * 8; /* beyond the diagonal a row is zero, and so is its diagonal for now */
        Lj[j] = 0;
        d -= dot(Lj, Lj, end);
        if (!(d > 0)) return false;
        double root = sqrt(d), inverse = 1 / root;
        for (int i = j + 1; i < n; i++) {
            double *Li = s->L + i * ld;
            Li[j] = (Li[j] - dot(Li, Lj, end)) * inverse;
        }
        Lj[j] = root;
        s->inverse[j] = inverse;
    }
    return true;
}

/* Eight rows of X at a time: their numbers of one dof lie side by side. */
static void make_rows(small *s, const sti__small_job *job, int begin, const int *global) {
    const sti_csr *J = &s->p->arrays.J;
    double tile[STI__SMALL * 8] __attribute__((aligned(64)));
    vec sum[8 / VW] = {{0}};
    int n = s->n, ld = s->ld, count = s->m - begin < 8 ? s->m - begin : 8, least = n;
    memset(tile, 0, sizeof(double) * 8 * (size_t)n);
    for (int r = 0; r < count; r++)
        for (int k = J->start[global[r]]; k < J->start[global[r] + 1]; k++) {
            int i = job->rank[J->col[k]];
            tile[8 * i + r] = J->value[k];
            if (i < least) least = i;
        }
    for (int i = least; i < n; i++) {
        const double *L = s->L + i * ld;
        vec x[8 / VW];
        UNROLL for (int v = 0; v < 8 / VW; v++) x[v] = IN(tile, 8 * i + VW * v);
        for (int k = least; k < i; k++)
            UNROLL for (int v = 0; v < 8 / VW; v++) x[v] -= L[k] * IN(tile, 8 * k + VW * v);
        UNROLL for (int v = 0; v < 8 / VW; v++) {
            x[v] *= s->inverse[i];
            AT(tile, 8 * i + VW * v) = x[v];
            sum[v] += x[v] * x[v];
        }
    }
    for (int r = 0; r < count; r++) {
        double *X = s->X + (begin + r) * ld;
        for (int i = 0; i < n; i++) X[i] = tile[8 * i + r];
        for (int i = n; i < ld; i++) X[i] = 0;
    }
    UNROLL for (int v = 0; v < 8 / VW; v++) AT(s->w, begin + VW * v) = sum[v];
}

/* L'x */
static void turn(const small *s, const double *x, double *out) {
    memset(out, 0, sizeof(double) * (size_t)s->ld);
    for (int k = 0; k < s->n; k++) add(out, x[k], s->L + k * s->ld, s->ld);
}

static bool gather(small *s, const sti__small_job *job) {
    const sti_problem_arrays *a = &s->p->arrays;
    int global[8], waiting = 0, m = 0;
    double d[STI__SMALL], free[STI__SMALL];
    if (!factor(s, job)) return false;
    for (int b = 0; b < s->nrow; b++) {
        int from = s->p->first[job->row[b]], dim = a->rows[job->row[b]].dim;
        s->row[b] = &a->rows[job->row[b]];
        s->first[b] = m;
        s->gstart[b + 1] = s->gstart[b] + dim * dim;
        for (int i = from; i < from + dim; i++, m++) {
            double sum = 0;
            for (int k = a->J.start[i]; k < a->J.start[i + 1]; k++)
                sum += a->J.value[k] * a->vstar[a->J.col[k]];
            s->q[m] = sum - a->vhat[i];
            s->R[m] = a->R[i];
            s->g[m] = job->g[i];
            global[waiting++] = i;
            if (waiting < 8 && m + 1 < s->m) continue;
            make_rows(s, job, m + 1 - waiting, global);
            waiting = 0;
        }
    }
    s->first[s->nrow] = m;
    for (int i = 0; i < s->n; i++) {
        free[i] = a->vstar[job->dof[i]];
        d[i] = job->v[job->dof[i]] - free[i];
    }
    turn(s, free, s->z);
    s->free2 = dot(s->z, s->z, s->ld);
    turn(s, d, s->z);
    return true;
}

/* ---- pairs ------------------------------------------------------------------------------------------------ */

static void velocities(small *s) {
    for (int i = 0; i < s->m; i++) s->y[i] = s->q[i] + dot(s->X + i * s->ld, s->z, s->ld);
}

static void push(const small *s, const double *g, double *f) {
    memset(f, 0, sizeof(double) * (size_t)s->ld);
    for (int i = 0; i < s->m; i++)
        if (g[i] != 0) add(f, g[i], s->X + i * s->ld, s->ld);
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

/* Laws at (z, y, g), how far the pair is from obeying them and from balance. */
static double read_pair(small *s) {
    double off = 0, size = STI__FLOOR * STI__FLOOR * s->free2, rest = 0;
    for (int i = 0; i < s->m; i++) size += s->g[i] * s->g[i] * (s->w[i] + s->R[i]);
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b];
        off += sti__pair_read(s->row[b], s->w + at, s->R + at, s->y + at, s->g + at, s->G + s->gstart[b],
                              s->slope + at, s->c + at);
    }
    push(s, s->g, s->f);
    for (int i = 0; i < s->n; i++) rest += (s->z[i] - s->f[i]) * (s->z[i] - s->f[i]);
    s->impulse2 = dot(s->f, s->f, s->ld);
    s->moved2 = dot(s->z, s->z, s->ld);
    s->natural = off > 0 ? sqrt(off / size) : 0;
    s->momentum =
        rest > 0 ? sqrt(rest / fmax(fmax(s->impulse2, s->moved2), STI__FLOOR * STI__FLOOR * s->free2)) : 0;
    return fmax(s->natural, s->momentum);
}

/* ---- Newton ------------------------------------------------------------------------------------------------ */

/* H += X'T of three rows. */
static void add_three(const small *s, const double *X) {
    int n = s->n, ld = s->ld;
    const double *T = s->T;
    for (int k = 0; k < n; k++) {
        double a = X[k], b = X[ld + k], c = X[2 * ld + k], *H = s->H + k * ld;
        if (a == 0 && b == 0 && c == 0) continue;
        for (int i = 0; i < ld; i += VW) AT(H, i) += a * IN(T, i) + b * IN(T, ld + i) + c * IN(T, 2 * ld + i);
    }
}

static void make_matrix(small *s) {
    int n = s->n, ld = s->ld;
    memset(s->H, 0, sizeof(double) * (size_t)(n * ld));
    for (int i = 0; i < n; i++) s->H[i * ld + i] = 1;
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b], dim = s->row[b]->dim;
        const double *G = s->G + s->gstart[b], *X = s->X + at * ld;
        bool any = false;
        for (int i = 0; i < dim * dim; i++) any |= G[i] != 0;
        if (!any) continue;
        memset(s->T, 0, sizeof(double) * (size_t)(dim * ld));
        for (int i = 0; i < dim; i++)
            for (int j = 0; j < dim; j++) {
                double factor = G[i * dim + j] + (j ? 0 : s->slope[at + i]);
                if (factor != 0) add(s->T + i * ld, factor, X + j * ld, ld);
            }
        if (dim == 3) add_three(s, X);
        else
            for (int k = 0; k < n; k++)
                for (int i = 0; i < dim; i++)
                    if (X[i * ld + k] != 0) add(s->H + k * ld, X[i * ld + k], s->T + i * ld, ld);
    }
}

/* H x = b by elimination with row pivots; x replaces b. */
static bool eliminate(small *s, double *b) {
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

static void linear(const small *s, const double *y, double *g) {
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b];
        sti__pair_impulse(s->row[b]->dim, s->G + s->gstart[b], s->slope + at, s->c + at, y + at, g + at);
    }
}

/* dz, dy and the next impulses g1. */
static bool step(small *s) {
    make_matrix(s);
    linear(s, s->y, s->g1);
    push(s, s->g1, s->dz);
    double size = 0;
    for (int i = 0; i < s->n; i++) s->dz[i] -= s->z[i];
    if (!eliminate(s, s->dz)) return false;
    for (int i = 0; i < s->m; i++) {
        s->dy[i] = dot(s->X + i * s->ld, s->dz, s->ld);
        s->y0[i] = s->y[i] + s->dy[i];
    }
    linear(s, s->y0, s->g1);
    for (int i = 0; i < s->n; i++) size += fabs(s->dz[i]);
    return size < INFINITY;
}

/* The longest of a few steps that lowers the natural map; else back to where it was. */
static bool walk(small *s, double before, double *merit) {
    memcpy(s->at, s->z, sizeof(double) * (size_t)s->ld);
    memcpy(s->y0, s->y, sizeof(double) * (size_t)s->m);
    memcpy(s->g0, s->g, sizeof(double) * (size_t)s->m);
    for (double a = 1; a > 0.05; a /= 2) {
        for (int i = 0; i < s->ld; i++) s->z[i] = s->at[i] + a * s->dz[i];
        for (int i = 0; i < s->m; i++) {
            s->y[i] = s->y0[i] + a * s->dy[i];
            s->g[i] = s->g0[i] + a * (s->g1[i] - s->g0[i]);
        }
        if ((*merit = read_pair(s)) <= (1 - a / 10) * before) return true;
    }
    memcpy(s->g, s->g0, sizeof(double) * (size_t)s->m);
    return false;
}

/* ---- sweeps ------------------------------------------------------------------------------------------------ */

static void make_blocks(small *s) {
    for (int b = 0; b < s->nrow; b++) {
        int at = s->first[b], dim = s->row[b]->dim;
        double *D = s->D + s->gstart[b];
        for (int i = 0; i < dim; i++) {
            for (int j = 0; j <= i; j++)
                D[i * dim + j] = D[j * dim + i] =
                    dot(s->X + (at + i) * s->ld, s->X + (at + j) * s->ld, s->ld);
            D[i * dim + i] += s->R[at + i];
        }
    }
}

static void settle(small *s, int b) {
    int at = s->first[b], dim = s->row[b]->dim;
    double u[STI_ROW_DIM], old[STI_ROW_DIM];
    for (int i = 0; i < dim; i++) {
        old[i] = s->g[at + i];
        u[i] = s->q[at + i] + dot(s->X + (at + i) * s->ld, s->z, s->ld) + s->R[at + i] * old[i];
    }
    if (s->row[b]->kind == STI_ROW_CONE) sti__settle_cone(s->row[b], s->D + s->gstart[b], u, s->g + at);
    else sti__settle_interval(s->row[b], s->D + s->gstart[b], u, s->g + at);
    for (int i = 0; i < dim; i++)
        if (s->g[at + i] != old[i]) add(s->z, s->g[at + i] - old[i], s->X + (at + i) * s->ld, s->ld);
}

static double sweep(small *s, int sweeps) {
    if (s->sweeps == 0) make_blocks(s);
    for (int b = 0; b < s->nrow; b++) sti__row_project(s->row[b], s->R + s->first[b], s->g + s->first[b]);
    push(s, s->g, s->z);
    for (int k = 0; k < sweeps; k++)
        for (int i = 0; i < s->nrow; i++) settle(s, k % 2 ? s->nrow - 1 - i : i);
    s->sweeps += sweeps;
    velocities(s);
    return read_pair(s);
}

/* ---- the end ------------------------------------------------------------------------------------------------ */

/* The gap of the pair, with the impulses within their bounds, which are left in g1. */
static bool certified(small *s, sti__small_job *job, double merit) {
    double gap = 0;
    if (merit > NEAR * job->tol) return false;
    for (int b = 0; b < s->nrow; b++) {
        const sti_row *row = s->row[b];
        int at = s->first[b];
        double y[STI_ROW_DIM];
        for (int i = 0; i < row->dim; i++) y[i] = s->y[at + i], s->g1[at + i] = s->g[at + i];
        sti__row_project(row, s->R + at, s->g1 + at);
        y[0] += sti__row_desaxce(row, s->R + at, y, s->g1 + at);
        double part = sti__row_gap(row, s->R + at, y, s->g1 + at);
        if (job->share) job->share[job->row[b]] = part;
        gap += part;
    }
    push(s, s->g1, s->f);
    for (int i = 0; i < s->n; i++) gap += (s->z[i] - s->f[i]) * (s->z[i] - s->f[i]) / 2;
    job->gap = gap;
    job->impulse2 = dot(s->f, s->f, s->ld);
    job->moved2 = s->moved2;
    job->free2 = s->free2;
    double scale2 = fmax(fmax(job->impulse2, s->moved2), STI__FLOOR * STI__FLOOR * s->free2);
    return 2 * gap <= job->tol * job->tol * scale2;
}

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
    job->free2 = s->free2;
    return true;
}

/* moved: z is not the guess's any more. */
static void leave(const small *s, sti__small_job *job, bool moved) {
    for (int b = 0; b < s->nrow; b++)
        memcpy(job->g + s->p->first[job->row[b]], s->g1 + s->first[b],
               sizeof(double) * (size_t)s->row[b]->dim);
    if (!moved) return;
    for (int i = s->n - 1; i >= 0; i--) {
        double d = s->z[i] * s->inverse[i];
        add(s->z, -d, s->L + i * s->ld, s->ld);
        job->v[job->dof[i]] = s->p->arrays.vstar[job->dof[i]] + d;
    }
}

static bool iterate(small *s, sti__small_job *job) {
    int sweeps = SWEEPS;
    push(s, s->g, s->z);
    velocities(s);
    double merit = read_pair(s);
    for (int k = 0; k <= job->steps; k++) {
        if (certified(s, job, merit)) return true;
        if (k == 0 && merit > FAR) {
            merit = sweep(s, SWEEPS);
            continue;
        }
        double before = merit;
        if (!step(s)) return false;
        job->iterations++;
        if (walk(s, before, &merit)) continue;
        merit = sweep(s, sweeps);
        if (sweeps < MOST_SWEEPS) sweeps *= 2;
    }
    return false;
}

bool CAT(sti__small_solve, STI_ISA)(sti__small_job *job);
bool CAT(sti__small_solve, STI_ISA)(sti__small_job *job) {
    small s = {.p = job->problem, .n = job->n, .nrow = job->nrow};
    for (int b = 0; b < job->nrow; b++) s.m += job->problem->arrays.rows[job->row[b]].dim;
    lay_out(&s, s.n, s.m, s.nrow, job->scratch);
    s.gstart[0] = 0;
    job->gap = job->impulse2 = job->moved2 = job->free2 = 0;
    job->iterations = job->sweeps = 0;
    if (!gather(&s, job)) return false;
    if (nothing_pushes(&s, job)) return true;
    velocities(&s);
    if (job->lawful) take_law(&s);
    bool found = certified(&s, job, read_pair(&s));
    if (found) {
        leave(&s, job, false);
        return true;
    }
    found = iterate(&s, job);
    job->sweeps = s.sweeps;
    if (found) leave(&s, job, true);
    return found;
}
