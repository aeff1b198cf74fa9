/* SPDX-License-Identifier: Apache-2.0 */
#include "linear/krylov/gmres.h"
#include "base/room.h"
#include "base/simd.h"
#include <math.h>
#include <string.h>

enum { K = STI__GMRES_BASIS };

/* The least squares problem: R by columns, the rotations that made it, what is left of the right-hand side. */
typedef struct column_space {
    double R[K][K + 1], c[K], s[K], right[K + 1];
} column_space;

static size_t lay_out(sti__gmres *g, size_t n, void *base) {
    sti__cutter c = {base, 0};
    g->basis = sti__cut(&c, sti__mul(n, (size_t)g->most + 1), sizeof(double));
    g->z = sti__cut(&c, n, sizeof(double));
    g->sum = sti__cut(&c, n, sizeof(double));
    return c.used;
}

sti_status sti__gmres_reserve(sti__gmres *g, int n, int most, const sti_allocator *allocator,
                              sti_error *error) {
    g->most = most < K ? most : K;
    size_t need = lay_out(g, (size_t)n, NULL);
    if (!sti__make_room(allocator, &g->block, &g->room, need, 0))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for a basis of %d dofs", n);
    lay_out(g, (size_t)n, g->block);
    return STI_OK;
}

void sti__gmres_free(sti__gmres *g, const sti_allocator *allocator) {
    if (g->block) sti__free_aligned(allocator, g->block, g->room);
    *g = (sti__gmres){0};
}

static double dot(const sti__gmres_task *t, const double *a, const double *b) {
    double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    int i = 0;
    for (; i + 4 <= t->n; i += 4) {
        s0 += a[i] * b[i] * t->weight[i];
        s1 += a[i + 1] * b[i + 1] * t->weight[i + 1];
        s2 += a[i + 2] * b[i + 2] * t->weight[i + 2];
        s3 += a[i + 3] * b[i + 3] * t->weight[i + 3];
    }
    for (; i < t->n; i++) s0 += a[i] * b[i] * t->weight[i];
    return (s0 + s1) + (s2 + s3);
}

/* Column k of the Hessenberg matrix (k + 2 numbers) becomes one of R. */
static void rotate(column_space *m, int k) {
    double *h = m->R[k];
    for (int i = 0; i < k; i++) {
        double a = h[i], b = h[i + 1];
        h[i] = m->c[i] * a + m->s[i] * b;
        h[i + 1] = m->c[i] * b - m->s[i] * a;
    }
    double length = sqrt(h[k] * h[k] + h[k + 1] * h[k + 1]);
    m->c[k] = length > 0 ? h[k] / length : 1;
    m->s[k] = length > 0 ? h[k + 1] / length : 0;
    h[k] = length;
    m->right[k + 1] = -m->s[k] * m->right[k];
    m->right[k] *= m->c[k];
}

/* x += M^-1 sum of the basis. */
static void add_up(const sti__gmres *g, const sti__gmres_task *t, column_space *m, int count, double *x) {
    double y[K];
    for (int i = count - 1; i >= 0; i--) {
        double s = m->right[i];
        for (int j = i + 1; j < count; j++) s -= m->R[j][i] * y[j];
        y[i] = m->R[i][i] > 0 ? s / m->R[i][i] : 0;
    }
    memset(g->sum, 0, sizeof(double) * (size_t)t->n);
    for (int i = 0; i < count; i++) sti__axpy(g->sum, y[i], g->basis + (size_t)i * (size_t)t->n, t->n);
    t->precondition(t->context, g->sum, g->z);
    for (int i = 0; i < t->n; i++) x[i] += g->z[i];
}

/* Vector k + 1 of the basis, of length one and orthogonal to those before it; h: its parts. False: it is not finite. */
static bool make_orthogonal(const sti__gmres *g, const sti__gmres_task *t, int k, double *h) {
    double *next = g->basis + (size_t)(k + 1) * (size_t)t->n;
    for (int i = 0; i <= k; i++) {
        const double *q = g->basis + (size_t)i * (size_t)t->n;
        int64_t start = sti__tick(t->tally);
        h[i] = dot(t, q, next);
        sti__tock(t->tally, STI__WORK_DOT, start, 0);
        start = sti__tick(t->tally);
        sti__axpy(next, -h[i], q, t->n);
        sti__tock(t->tally, STI__WORK_UPDATE, start, 0);
    }
    h[k + 1] = sqrt(dot(t, next, next));
    if (!isfinite(h[k + 1])) return false;
    for (int i = 0; i < t->n && h[k + 1] > 0; i++) next[i] /= h[k + 1];
    return true;
}

/* Steps until the goal or the basis is full, from the residual r of length `size`; -1: a number is not finite. */
static int cycle(const sti__gmres *g, const sti__gmres_task *t, double goal, int cap, double size, double *x,
                 const double *r) {
    column_space m;
    int k = 0;
    for (int i = 0; i < t->n; i++) g->basis[i] = r[i] / size;
    m.right[0] = size;
    for (; k < g->most && k < cap && fabs(m.right[k]) > goal; k++) {
        double *next = g->basis + (size_t)(k + 1) * (size_t)t->n;
        t->precondition(t->context, next - t->n, g->z);
        t->product(t->context, g->z, next);
        if (!make_orthogonal(g, t, k, m.R[k])) return -1;
        rotate(&m, k);
    }
    add_up(g, t, &m, k, x);
    return k;
}

int sti__gmres_solve(const sti__gmres *g, const sti__gmres_task *t, const double *b, double goal, int cap,
                     double *x, double *r) {
    int steps = 0;
    memset(x, 0, sizeof(double) * (size_t)t->n);
    memcpy(r, b, sizeof(double) * (size_t)t->n);
    for (double size = sqrt(dot(t, r, r)), last = INFINITY; size > goal && steps < cap;) {
        int count = isfinite(size) ? cycle(g, t, goal, cap - steps, size, x, r) : -1;
        if (count < 0) return -1;
        steps += count;
        if (steps >= cap || count < g->most) return steps;
        t->product(t->context, x, r);
        for (int i = 0; i < t->n; i++) r[i] = b[i] - r[i];
        last = size;
        size = sqrt(dot(t, r, r));
        if (size > STI__GMRES_STALL * last) return steps; /* it does not get there */
    }
    return steps;
}
