/* SPDX-License-Identifier: Apache-2.0 */
/* The certificate: what an answer (v, g) is worth, whoever made it.

   With y = J v - vhat, for any g in C the gap
       1/2 |A (v - v*) - J'g|^2 in A^-1   +   sum_i  l_i(y_i) + g_i'y_i + 1/2 g_i'R g_i
   is a sum of terms >= 0 and bounds 1/2 |v - v_opt|_A^2. The first vanishes by construction in a dual solver,
   the others in a primal one; together they fool nobody. */
#include "solve/judge/certificate.h"
#include "base/det.h"
#include "base/room.h"
#include "contact/rows.h"
#include "linear/product.h"
#include "solve/policy.h"
#include <float.h>
#include <string.h>

/* All vectors of one certificate. */
typedef struct bench {
    const sti_problem *p;
    const double *R, *g;
    double *y;                                     /* m: J v - vhat */
    double *dual;                                  /* m: the same at the velocity that g gives, plus R g */
    double *q;                                     /* m: J v* - vhat */
    double *in;                                    /* m: g, projected onto C */
    double *w;                                     /* m: the norm of unit Delassus diagonal */
    double *momentum, *force, *free, *rest, *turn; /* n: A (v - v*), J'g, A v*, residual, scratch */
} bench;

static size_t lay_out(const sti_problem *p, bench *b, double *base) {
    size_t n = (size_t)p->arrays.n, m = (size_t)p->m;
    double **row[] = {&b->y, &b->dual, &b->q, &b->in, &b->w};
    double **dof[] = {&b->momentum, &b->force, &b->free, &b->rest, &b->turn};
    size_t used = 0;
    for (int i = 0; i < STI__COUNT(row); i++, used += m) *row[i] = base ? base + used : NULL;
    for (int i = 0; i < STI__COUNT(dof); i++, used += n) *dof[i] = base ? base + used : NULL;
    return used;
}

size_t sti__judge_room(const sti_problem *p) {
    bench b;
    return lay_out(p, &b, NULL);
}

sti_certificate sti__certificate_unknown(void) {
    return (sti_certificate){NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN, -1, -1};
}

sti_certificate sti__certificate_empty(sti_coulomb coulomb) {
    return (sti_certificate){.desaxce = coulomb == STI_COULOMB_EXACT ? 0 : NAN, .joints = NAN};
}

/* ---- velocities and the momentum part ------------------------------------------------------------- */

/* 1 over the diagonal of A. */
static void invert_diagonal(const sti_csr *A, double *out) {
    for (int i = 0; i < A->nrow; i++) {
        int k = A->start[i], end = A->start[i + 1];
        while (k < end && A->col[k] != i) k++;
        out[i] = k < end ? 1 / A->value[k] : 1;
    }
}

/* |x| in momentum scaling, weight = 1 / diag(A). */
static double scaled_norm(const double *weight, const double *x, int n) {
    return sqrt(sti__norm2_n(x, weight, n));
}

/* out = J x - vhat */
static void row_velocity(const bench *b, const double *x, double *out, const sti_tasks *tasks) {
    sti__csr_mul(&b->p->arrays.J, x, out, tasks);
    for (int i = 0; i < b->p->m; i++) out[i] -= b->p->arrays.vhat[i];
}

static double max3(double a, double b, double c) { return fmax(a, fmax(b, c)); }

/* sum of |x_i| |A_ij| |x_j| */
static double without_signs(const sti_csr *A, const double *x) {
    double sum = 0;
    for (int i = 0; i < A->nrow; i++) {
        double row = 0;
        for (int k = A->start[i]; k < A->start[i + 1]; k++) row += fabs(A->value[k] * x[A->col[k]]);
        sum += fabs(x[i]) * row;
    }
    return sum;
}

/* 1 over the least that A resists by at each dof: its diagonal, and of a soft body the mass of the vertex, which is what moving
   all of it alike meets. False where a mass is lost in the stiffness. */
static bool invert_least(const sti_problem *p, double *out) {
    const sti_csr *A = &p->arrays.A;
    invert_diagonal(A, out);
    for (int i = p->first_soft; i < A->nrow; i++) {
        double mass = 0, size = 0;
        for (int k = A->start[i]; k < A->start[i + 1]; k++) mass += A->value[k], size += fabs(A->value[k]);
        if (!(mass > STI__JUDGE_LOST * DBL_EPSILON * size)) return false;
        out[i] = fmax(out[i], 1 / mass);
    }
    return true;
}

bool sti__momentum_holds(const sti_problem *p, const double *v, const double *g, double limit, double *room) {
    const sti_problem_arrays *a = &p->arrays;
    int n = a->n;
    double *momentum = room, *force = room + n, *weight = force + n, *work = weight + n, moved2 = 0;
    if (!invert_least(p, weight)) return false;
    for (int i = 0; i < n; i++) work[i] = v[i] - a->vstar[i];
    sti__csr_mul(&a->A, work, momentum, NULL);
    for (int i = 0; i < n; i++) moved2 += work[i] * momentum[i];
    if (DBL_EPSILON * without_signs(&a->A, work) > limit * moved2) return false;
    sti__csr_mul_t(&a->J, g, force);
    for (int i = 0; i < n; i++) work[i] = momentum[i] - force[i];
    sti__sum sum = {.gap = sti__norm2_n(work, weight, n) / 2, .moved2 = moved2};
    if (sti__sum_holds(&sum, limit)) return true;
    sti__csr_mul(&a->A, a->vstar, work, NULL);
    sum.free2 = sti__free2(p, sti__dot_n(a->vstar, work, n), p->nisland);
    return sti__sum_holds(&sum, limit);
}

/* |J||v| and |vhat| of scalar row i, squared. */
static double row_size2(const sti_problem_arrays *a, const double *v, int i) {
    int end = a->J.start[i + 1], k = a->J.start[i];
    double size2 = a->vhat[i] * a->vhat[i], other2 = 0; /* two sums need not wait for each other */
    for (; k + 1 < end; k += 2) {
        double part = a->J.value[k] * v[a->J.col[k]], other = a->J.value[k + 1] * v[a->J.col[k + 1]];
        size2 += part * part;
        other2 += other * other;
    }
    if (k < end) size2 += a->J.value[k] * v[a->J.col[k]] * (a->J.value[k] * v[a->J.col[k]]);
    return size2 + other2;
}

enum { PIECES = 64, PIECE = 512 }; /* sums of at least so many blocks each, whatever the number of threads */

typedef struct rounding {
    const sti_problem *p;
    const double *v;
    double fastest; /* of the dofs */
    double enough;  /* bounds of a piece up to this need no sum */
    int pieces;
    double part[PIECES];
} rounding;

static double rounding_of(const rounding *r, int begin, int end) {
    const sti_problem *p = r->p;
    const sti_problem_arrays *a = &p->arrays;
    double sum = 0;
    for (int b = begin; b < end; b++) {
        const double *mu = a->rows[b].mu, *R = a->R + p->first[b];
        double normal = a->rows[b].kind == STI_ROW_CONE ? 1 / R[0] : 0;
        for (int k = 0; k < a->rows[b].dim; k++) {
            double friction = k > 0 ? mu[k - 1] * mu[k - 1] * normal : 0;
            sum += row_size2(a, r->v, p->first[b] + k) * (1 / R[k] + friction);
        }
    }
    return sum;
}

static double largest(const double *x, int count) {
    double most = 0;
    for (int k = 0; k < count; k++) most = fabs(x[k]) > most ? fabs(x[k]) : most;
    return most;
}

/* The same if all dofs were as fast as the fastest, and each row had the numbers of its whole block. */
static double bound_of(const rounding *r, int begin, int end) {
    const sti_problem *p = r->p;
    const sti_problem_arrays *a = &p->arrays;
    const int *start = a->J.start;
    double sum = 0;
    for (int b = begin; b < end; b++) {
        const double *mu = a->rows[b].mu, *R = a->R + p->first[b], *vhat = a->vhat + p->first[b];
        double normal = a->rows[b].kind == STI_ROW_CONE ? 1 / R[0] : 0;
        int at = start[p->first[b]], count = start[p->first[b + 1]] - at;
        double terms = r->fastest * r->fastest * sti__dot_n(a->J.value + at, a->J.value + at, count);
        for (int k = 0; k < a->rows[b].dim; k++) {
            double friction = k > 0 ? mu[k - 1] * mu[k - 1] * normal : 0;
            sum += (vhat[k] * vhat[k] + terms) * (1 / R[k] + friction);
        }
    }
    return sum;
}

static void add_rounding(void *context, int begin, int end) {
    rounding *r = context;
    for (int k = begin; k < end; k++) {
        int64_t nrow = r->p->arrays.nrow;
        int from = (int)(nrow * k / r->pieces), to = (int)(nrow * (k + 1) / r->pieces);
        r->part[k] = bound_of(r, from, to);
        if (!(r->part[k] <= r->enough)) r->part[k] = rounding_of(r, from, to);
    }
}

double sti__rounding2(const sti_problem *p, const double *v, double enough2, const sti_tasks *tasks) {
    int pieces = p->arrays.nrow / PIECE + 1;
    rounding r = {.p = p, .v = v, .pieces = pieces < PIECES ? pieces : PIECES};
    double sum = 0;
    r.enough = enough2 / (DBL_EPSILON * DBL_EPSILON) / r.pieces;
    r.fastest = largest(v, p->arrays.n);
    sti__run(tasks, r.pieces, 1, add_rounding, &r);
    for (int k = 0; k < r.pieces; k++) sum += r.part[k];
    return DBL_EPSILON * DBL_EPSILON * sum;
}

/* The momentum part of the gap, and what the gap is relative to; returns the relative residual. v == NULL: what g gives. */
static double judge_momentum(const sti__judge *j, bench *b, const double *v, sti__sum *sum) {
    const sti_problem_arrays *a = &b->p->arrays;
    int n = a->n;
    sti__csr_mul_t(&a->J, b->g, b->force);
    sti__csr_mul(&a->A, a->vstar, b->free, j->tasks);
    memcpy(b->turn, b->force, sizeof(double) * (size_t)n);
    for (int i = 0; i < n && v; i++) b->rest[i] = v[i] - a->vstar[i];
    if (v) sti__chol_solve_near(j->mass, b->turn, b->rest, 0, j->tasks); /* v - v* of the dual */
    else sti__chol_solve(j->mass, b->turn, j->tasks);
    sum->impulse2 = sum->moved2 = sti__dot_n(b->force, b->turn, n);
    for (int i = 0; i < n; i++) b->rest[i] = a->vstar[i] + b->turn[i];
    row_velocity(b, b->rest, b->dual, j->tasks);
    row_velocity(b, a->vstar, b->q, j->tasks);
    if (v) {
        for (int i = 0; i < n; i++) b->turn[i] = v[i] - a->vstar[i];
        sti__csr_mul(&a->A, b->turn, b->momentum, j->tasks);
        sum->moved2 = sti__dot_n(b->turn, b->momentum, n);
        row_velocity(b, v, b->y, j->tasks);
    } else {
        memcpy(b->momentum, b->force, sizeof(double) * (size_t)n);
        memcpy(b->y, b->dual, sizeof(double) * (size_t)b->p->m);
    }
    for (int i = 0; i < n; i++) b->rest[i] = b->momentum[i] - b->force[i];
    invert_diagonal(&a->A, b->turn);
    double size = max3(scaled_norm(b->turn, b->momentum, n), scaled_norm(b->turn, b->force, n),
                       STI__FLOOR * (scaled_norm(b->turn, b->free, n) + a->still));
    double left = scaled_norm(b->turn, b->rest, n);
    /* the gap takes the impulses in C, the momentum above those given */
    sti__csr_mul_t(&a->J, b->in, b->force);
    for (int i = 0; i < n; i++) b->rest[i] = b->momentum[i] - b->force[i];
    sti__chol_half(j->mass, b->rest, b->rest, j->tasks);
    sum->gap = sti__norm2_n(b->rest, NULL, n) / 2;
    sum->free2 = sti__free2(b->p, sti__dot_n(a->vstar, b->free, n), b->p->nisland);
    return left > 0 ? left / size : 0;
}

/* In the Delassus form v is what g gives, and balances. */
static void judge_delassus(const sti__judge *j, bench *b, sti__sum *sum) {
    const sti_problem_arrays *a = &b->p->arrays;
    sti__csr_mul(&a->W, b->g, b->dual, j->tasks);
    for (int i = 0; i < b->p->m; i++) {
        sum->impulse2 += b->g[i] * b->dual[i];
        sum->free2 += a->q[i] * a->q[i] / b->w[i];
        b->q[i] = a->q[i];
        b->y[i] = b->dual[i] += a->q[i];
    }
}

/* ---- the rows' parts -------------------------------------------------------------------------------- */

static double norm_w(const double *x, const double *w, int dim) {
    double sum = 0;
    for (int i = 0; i < dim; i++) sum += x[i] * x[i] * w[i];
    return sum;
}

/* Projects all impulses onto C; the largest violation in the unit-Delassus norm, relative to the largest
   impulse. */
static double judge_cone(bench *b) {
    double worst = 0, largest = 0;
    for (int r = 0; r < b->p->arrays.nrow; r++) {
        const sti_row *row = &b->p->arrays.rows[r];
        int at = b->p->first[r];
        double off[STI_ROW_DIM];
        memcpy(b->in + at, b->g + at, sizeof(double) * (size_t)row->dim);
        sti__row_project(row, b->w + at, b->in + at);
        for (int i = 0; i < row->dim; i++) off[i] = b->g[at + i] - b->in[at + i];
        worst = fmax(worst, norm_w(off, b->w + at, row->dim));
        largest =
            max3(largest, norm_w(b->g + at, b->w + at, row->dim), norm_w(b->in + at, b->w + at, row->dim));
    }
    return worst > 0 ? sqrt(worst / largest) : 0;
}

/* g - P(g - z / w) in the norm w, squared: how far the row is from its law, z its velocity with R g. */
static double natural_row(const sti_row *row, const double *w, const double *g, const double *z) {
    double x[STI_ROW_DIM];
    if (row->kind == STI_ROW_USER) {
        /* a proximal step of unit length at the mean diagonal; R is 0 */
        double mean = 0, none[STI_ROW_DIM] = {0};
        for (int i = 0; i < row->dim; i++) mean += w[i] / row->dim;
        for (int i = 0; i < row->dim; i++) x[i] = g[i] - z[i] / mean;
        sti__row_prox(row, none, 1 / mean, x);
    } else {
        for (int i = 0; i < row->dim; i++) x[i] = g[i] - z[i] / w[i];
        sti__row_project(row, w, x);
    }
    for (int i = 0; i < row->dim; i++) x[i] = g[i] - x[i];
    return norm_w(x, w, row->dim);
}

/* z = y + R g, with the De Saxce shift of y in exact Coulomb. */
static void lawful_velocity(const bench *b, int r, const double *y, const double *g, bool exact, double *z) {
    const sti_row *row = &b->p->arrays.rows[r];
    const double *R = b->R + b->p->first[r];
    for (int i = 0; i < row->dim; i++) z[i] = y[i] + R[i] * g[i];
    if (exact) z[0] += sti__row_desaxce(row, R, y, g);
}

/* What impulses are measured against: their own size, what the approach velocities ask for, or a small part
   of these. */
static double natural_scale(const bench *b) {
    double own = 0, asked = 0, free = 0;
    static const double zero[STI_ROW_DIM];
    for (int r = 0; r < b->p->arrays.nrow; r++) {
        const sti_row *row = &b->p->arrays.rows[r];
        int at = b->p->first[r];
        own += norm_w(b->g + at, b->w + at, row->dim);
        asked += natural_row(row, b->w + at, zero, b->q + at);
        for (int i = 0; i < row->dim; i++) free += b->q[at + i] * b->q[at + i] / b->w[at + i];
    }
    return max3(sqrt(own), sqrt(asked), STI__FLOOR * sqrt(free));
}

static double judge_natural(const bench *b, bool exact, double scale, double *share) {
    double sum = 0;
    for (int r = 0; r < b->p->arrays.nrow; r++) {
        int at = b->p->first[r];
        double z[STI_ROW_DIM];
        lawful_velocity(b, r, b->y + at, b->g + at, exact, z);
        double part = natural_row(&b->p->arrays.rows[r], b->w + at, b->g + at, z);
        if (share) share[r] = part;
        sum += part;
    }
    return sum > 0 ? sqrt(sum) / scale : 0;
}

static double judge_gap(const bench *b, bool exact, double *share) {
    double sum = 0;
    for (int r = 0; r < b->p->arrays.nrow; r++) {
        const sti_row *row = &b->p->arrays.rows[r];
        int at = b->p->first[r];
        double part = sti__row_gap_at(row, b->R + at, b->y + at, b->in + at, exact);
        if (share) share[r] = part;
        sum += part;
    }
    return sum;
}

/* ---- contacts ---------------------------------------------------------------------------------------- */

/* Angle between two directions of `count` components, accurate for small ones. */
static double angle(int count, const double *a, const double *b) {
    double la = 0, lb = 0, minus = 0, plus = 0;
    for (int i = 0; i < count; i++) la += a[i] * a[i], lb += b[i] * b[i];
    la = sqrt(la);
    lb = sqrt(lb);
    for (int i = 0; i < count; i++) {
        double x = a[i] / la, y = b[i] / lb;
        minus += (x - y) * (x - y);
        plus += (x + y) * (x + y);
    }
    return 2 * sti__atan2(sqrt(minus), sqrt(plus));
}

/* Between friction and the direction that dissipates most, if the contact slides; scale: of impulses. */
static double dissipation_angle(const bench *b, int r, double scale, bool exact) {
    const sti_row *row = &b->p->arrays.rows[r];
    int at = b->p->first[r], dim = row->dim;
    double slip[5], friction[5], own[STI_ROW_DIM], z[STI_ROW_DIM];
    const double *y = b->y + at, *g = b->g + at, *w = b->w + at, *R = b->R + at;
    if (row->kind != STI_ROW_CONE || dim == 1) return 0;
    double s = sti__cone_slip(dim, row->mu, y, slip), t = 0;
    for (int i = 1; i < dim; i++) {
        friction[i - 1] = -g[i] / row->mu[i - 1];
        t += friction[i - 1] * friction[i - 1];
    }
    /* slip and normal impulse in the unit-Delassus norm */
    double moving = s / sqrt(w[1] * row->mu[0] * row->mu[0]), pressed = g[0] * sqrt(w[0]);
    if (!(moving > STI__JUDGE_FAINT * scale) || !(pressed > STI__JUDGE_FAINT * scale)) return 0;
    if (R[0] > 0 && R[1] > 0) {
        memcpy(z, y, sizeof(double) * (size_t)dim);
        if (exact) z[0] += sti__row_desaxce(row, R, y, g);
        if (sti__row_impulse(row, R, z, own) != STI__REGION_SLIDE) return 0;
    }
    return t > 0 ? angle(dim - 1, slip, friction) : 0;
}

/* How far a velocity constraint is violated, in m/s. */
static double violation(const sti_row *row, const double *z) {
    double worst = 0;
    if (row->kind == STI_ROW_CONE) return fmax(0, -z[0]);
    bool up = row->kind == STI_ROW_INTERVAL && row->hi == INFINITY,
         down = row->kind == STI_ROW_INTERVAL && row->lo == -INFINITY;
    for (int i = 0; i < row->dim; i++) {
        if (up || row->kind == STI_ROW_QUADRATIC) worst = fmax(worst, -z[i]);
        if (down || row->kind == STI_ROW_QUADRATIC) worst = fmax(worst, z[i]);
    }
    return worst;
}

static void judge_contacts(const bench *b, double scale, bool exact, sti_certificate *c) {
    double slip = 0, speed = 0, mismatch = 0;
    c->penetration = c->dissipation = 0;
    for (int r = 0; r < b->p->arrays.nrow; r++) {
        const sti_row *row = &b->p->arrays.rows[r];
        int at = b->p->first[r];
        double z[STI_ROW_DIM], here = sti__row_desaxce(row, b->R + at, b->y + at, b->g + at),
                               there = sti__row_desaxce(row, b->R + at, b->dual + at, b->g + at);
        lawful_velocity(b, r, b->y + at, b->g + at, false, z);
        c->penetration = fmax(c->penetration, violation(row, z));
        c->dissipation = fmax(c->dissipation, dissipation_angle(b, r, scale, exact));
        slip = max3(slip, here, there);
        mismatch = fmax(mismatch, fabs(here - there));
        for (int i = 0; i < row->dim; i++) speed = fmax(speed, fabs(b->q[at + i]));
    }
    if (exact) c->desaxce = mismatch > 0 ? mismatch / fmax(slip, STI__FLOOR * speed) : 0;
}

/* ---- FCLIB's full error ------------------------------------------------------------------------------- */

static bool plain_cones(const sti_problem *p) {
    for (int r = 0; r < p->arrays.nrow; r++) {
        const sti_row *row = &p->arrays.rows[r];
        bool round = row->dim == 1 || (row->dim == 3 && row->mu[0] == row->mu[1]);
        if (row->kind != STI_ROW_CONE || !round) return false;
    }
    return true;
}

/* |r - P(r - u^)| / max(|q|, |r|, |u|) of exact Coulomb, u from g alone; in the norm w, or Euclidean. */
static double full_error(const bench *b, bool scaled) {
    double error = 0, q = 0, r2 = 0, u = 0;
    for (int r = 0; r < b->p->arrays.nrow; r++) {
        const sti_row *row = &b->p->arrays.rows[r];
        int at = b->p->first[r];
        double z[STI_ROW_DIM], w[STI_ROW_DIM];
        for (int i = 0; i < row->dim; i++) w[i] = scaled ? b->w[at + i] : 1;
        for (int i = 0; i < row->dim; i++) {
            double ui = b->dual[at + i] + b->R[at + i] * b->g[at + i];
            q += b->q[at + i] * b->q[at + i] / w[i];
            u += ui * ui / w[i];
        }
        lawful_velocity(b, r, b->dual + at, b->g + at, true, z);
        r2 += norm_w(b->g + at, w, row->dim);
        error += natural_row(row, w, b->g + at, z);
    }
    double size = max3(q, r2, u);
    return error > 0 ? sqrt(error / size) : 0;
}

/* ---- all together ------------------------------------------------------------------------------------- */

/* Fills b and c; returns the impulses' scale in the unit-Delassus norm. */
static double judge(const sti__judge *j, bench *b, const double *v, sti_coulomb coulomb, sti_certificate *c,
                    double *share) {
    const sti_problem *p = j->problem;
    bool exact = coulomb == STI_COULOMB_EXACT, plain = plain_cones(p);
    *c = sti__certificate_unknown();
    sti__sum sum = {0};
    for (int r = 0; r < p->arrays.nrow; r++)
        sti__row_norm(&p->arrays.rows[r], j->delassus + p->first[r], b->R + p->first[r], b->w + p->first[r]);
    c->cone = judge_cone(b);
    c->momentum = 0;
    if (p->delassus) judge_delassus(j, b, &sum);
    else c->momentum = judge_momentum(j, b, v, &sum);
    double scale = natural_scale(b);
    c->natural = judge_natural(b, exact, scale, p->hard ? share : NULL);
    sum.gap += judge_gap(b, exact, p->hard ? NULL : share);
    c->gap = sum.gap;
    c->error_bar = sqrt(2 * sum.gap);
    c->relative = sti__sum_bar(&sum);
    judge_contacts(b, scale, exact, c);
    if (plain) c->full_raw = full_error(b, false), c->full_scaled = full_error(b, true);
    c->headline = p->hard ? fmax(c->momentum, c->natural) : c->relative;
    return scale;
}

void sti__judge_answer(const sti__judge *j, const double *v, const double *g, sti_coulomb coulomb,
                       sti_certificate *c, double *share) {
    bench b = {.p = j->problem, .R = j->problem->arrays.R, .g = g};
    lay_out(j->problem, &b, j->room);
    judge(j, &b, v, coulomb, c, share);
}

static sti_status check_finite(const char *name, const double *x, int n, sti_error *error) {
    for (int i = 0; x && i < n; i++)
        if (!isfinite(x[i])) return sti__fail(error, STI_NONFINITE, "%s[%d] is not finite", name, i);
    return STI_OK;
}

static sti_status factor_mass(const sti_problem *p, sti__chol *mass, sti_error *error) {
    int bad = -1;
    sti_status status = sti__chol_analyse(mass, &p->arrays.A, error);
    if (status != STI_OK) return status;
    sti__chol_set_coords(mass, p->arrays.coords);
    if (sti__chol_factor(mass, p->arrays.A.value, NULL, &bad) == STI_OK) return STI_OK;
    return sti__fail(error, STI_VALUE, "A is not positive definite (at dof %d)", bad);
}

sti_status sti_certify(const sti_problem *p, const double *v, const double *g, sti_coulomb coulomb, bool rank,
                       sti_certificate *certificate, double *share, sti_error *error) {
    if (!g && p->m) return sti__fail(error, STI_ARGUMENT, "the impulses g are missing");
    if (p->delassus) v = NULL;
    sti_status status = check_finite("g", g, p->m, error);
    if (status == STI_OK) status = check_finite("v", v, p->arrays.n, error);
    if (status != STI_OK) return status;
    sti__chol *mass = p->delassus ? NULL : sti__chol_create(p->allocator, error);
    if (mass) sti__chol_may_iterate(mass);
    if (!mass && !p->delassus) return STI_NO_MEMORY;
    if (mass && (status = factor_mass(p, mass, error)) != STI_OK) {
        sti__chol_free(mass);
        return status;
    }
    size_t count = sti__add((size_t)p->m, sti__judge_room(p));
    size_t bytes = sti__add(sti__mul(count, sizeof(double)), sti__delassus_room(p));
    void *room = sti__alloc(p->allocator, bytes);
    if (!room) status = sti__fail(error, STI_NO_MEMORY, "not enough memory for the certificate of an answer");
    else {
        double *delassus = room, *vectors = delassus + p->m;
        sti__judge j = {p, mass, delassus, vectors, NULL};
        bench b = {.p = p, .R = p->arrays.R, .g = g};
        sti__delassus_diagonal(p, mass, delassus, vectors + sti__judge_room(p), NULL);
        lay_out(p, &b, vectors);
        double scale = judge(&j, &b, v, coulomb, certificate, share);
        if (rank)
            status = sti__count_rank(p, b.y, g, b.w, scale, &certificate->ndetermined,
                                     &certificate->nregularised, error);
    }
    sti__free(p->allocator, room, bytes);
    sti__chol_free(mass);
    return status;
}
