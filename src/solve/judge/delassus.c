/* SPDX-License-Identifier: Apache-2.0 */
/* The diagonal of the Delassus operator J A^-1 J'. */
#include "base/room.h"
#include "contact/rows.h"
#include "linear/parts.h"
#include "linear/product.h"
#include "solve/judge/certificate.h"
#include "solve/policy.h"
#include <math.h>
#include <string.h>

#define GRAIN 1024 /* dofs or rows a piece */

typedef struct colours {
    double *x;       /* n: one solve */
    int *part;       /* n: independent part of A that a dof belongs to */
    int *taken;      /* n: pass in which the part was last used */
    int *waiting;    /* m: rows still to do */
    double *inverse; /* n x STI__DELASSUS_PART: of small parts of A */
} colours;

static size_t lay_out(const sti_problem *p, colours *c, void *base) {
    size_t n = (size_t)p->arrays.n, m = (size_t)p->m;
    sti__cutter k = {base, 0};
    c->x = sti__cut(&k, n, sizeof(double));
    c->part = sti__cut(&k, n, sizeof(int));
    c->taken = sti__cut(&k, n, sizeof(int));
    c->waiting = sti__cut(&k, m, sizeof(int));
    c->inverse = sti__cut(&k, n, STI__DELASSUS_PART * sizeof(double));
    return k.used + STI__ALIGN;
}

size_t sti__delassus_room(const sti_problem *p) {
    colours c;
    return lay_out(p, &c, NULL);
}

/* Takes row i into this pass if all parts that it touches are still free. */
static bool take(const sti_csr *J, int i, int pass, colours *c) {
    for (int k = J->start[i]; k < J->start[i + 1]; k++)
        if (c->taken[c->part[J->col[k]]] == pass) return false;
    for (int k = J->start[i]; k < J->start[i + 1]; k++) {
        c->taken[c->part[J->col[k]]] = pass;
        c->x[J->col[k]] = J->value[k];
    }
    return true;
}

static void diagonal_of_w(const sti_csr *W, double *diagonal) {
    for (int i = 0; i < W->nrow; i++) {
        diagonal[i] = 0;
        for (int k = W->start[i]; k < W->start[i + 1]; k++)
            if (W->col[k] == i) diagonal[i] = W->value[k];
    }
}

/* The inverse of the n x n part of A that begins at a dof, by Gauss and Jordan; false if a pivot is not positive. */
static bool invert_part(const sti_csr *A, int begin, int n, double (*inverse)[STI__DELASSUS_PART]) {
    double a[STI__DELASSUS_PART][STI__DELASSUS_PART] = {{0}};
    for (int i = 0; i < n; i++) {
        for (int k = A->start[begin + i]; k < A->start[begin + i + 1]; k++)
            a[i][A->col[k] - begin] = A->value[k];
        for (int j = 0; j < n; j++) inverse[i][j] = i == j;
    }
    for (int p = 0; p < n; p++) {
        if (!(a[p][p] > 0)) return false;
        double scale = 1 / a[p][p];
        for (int j = 0; j < n; j++) a[p][j] *= scale, inverse[p][j] *= scale;
        for (int i = 0; i < n; i++) {
            double f = a[i][p];
            if (i == p || f == 0) continue;
            for (int j = 0; j < n; j++) a[i][j] -= f * a[p][j], inverse[i][j] -= f * inverse[p][j];
        }
    }
    return true;
}

typedef struct parts_job {
    const sti_problem *p;
    colours *c;
    double *diagonal;
    atomic_bool failed;
} parts_job;

/* The last dof that dof i is coupled with. */
static int reach_of(const sti_csr *A, int i) {
    int reach = i;
    for (int k = A->start[i]; k < A->start[i + 1]; k++)
        if (A->col[k] > reach) reach = A->col[k];
    return reach;
}

/* The part that begins at a dof, into part and inverse; returns where it ends, -1 if it is not a run of few dofs. */
static int make_part(const sti_csr *A, int begin, const colours *c) {
    int end = begin, reach = begin;
    for (; end <= reach; end++) {
        if (end - begin >= STI__DELASSUS_PART) return -1;
        c->part[end] = begin;
        for (int k = A->start[end]; k < A->start[end + 1]; k++)
            if (A->col[k] < begin) return -1;
        int far = reach_of(A, end);
        if (far > reach) reach = far;
    }
    bool good = invert_part(A, begin, end - begin, (double(*)[STI__DELASSUS_PART])c->inverse + begin);
    return good ? end : -1;
}

/* The parts that begin in [from, to): the first after the one that reaches into it, if that is one of few dofs. */
static void make_parts(void *context, int from, int to) {
    parts_job *job = context;
    const sti_csr *A = &job->p->arrays.A;
    int begin = from;
    for (int i = from > STI__DELASSUS_PART ? from - STI__DELASSUS_PART : 0; i < begin; i++) {
        int far = reach_of(A, i);
        if (far >= begin) begin = far + 1;
    }
    while (begin >= 0 && begin < to) begin = make_part(A, begin, job->c);
    if (begin < 0) atomic_store_explicit(&job->failed, true, memory_order_relaxed);
}

/* Where the mass falls into runs of few dofs; part gets the first dof of each. */
static bool invert_parts(parts_job *job, const sti_tasks *tasks) {
    sti__run(tasks, job->p->arrays.n, GRAIN, make_parts, job);
    return !atomic_load_explicit(&job->failed, memory_order_relaxed);
}

static void diagonal_of_parts(void *context, int begin, int end_row) {
    const parts_job *job = context;
    const colours *c = job->c;
    const sti_csr *J = &job->p->arrays.J;
    for (int i = begin; i < end_row; i++) {
        double sum = 0;
        for (int k = J->start[i], end; k < J->start[i + 1]; k = end) {
            int part = c->part[J->col[k]];
            for (end = k; end < J->start[i + 1] && c->part[J->col[end]] == part; end++) {
                const double *row = c->inverse + (size_t)J->col[end] * STI__DELASSUS_PART;
                double x = J->value[end] * row[J->col[end] - part] / 2;
                for (int e = k; e < end; e++) x += J->value[e] * row[J->col[e] - part];
                sum += 2 * J->value[end] * x;
            }
        }
        job->diagonal[i] = sum;
    }
}

/* A sign that looks random and depends on k only. */
static double sign(uint64_t k) {
    k = (k + 1) * 0x9e3779b97f4a7c15ull;
    k = (k ^ (k >> 30)) * 0xbf58476d1ce4e5b9ull;
    k = (k ^ (k >> 27)) * 0x94d049bb133111ebull;
    return (k >> 63) ? 1 : -1;
}

/* With J A^-1 J' = B B' and random signs z, (B z)_i^2 has the mean (B B')_ii: an estimate, to about a
   quarter. */
static void estimate(const sti_problem *p, sti__chol *mass, double *diagonal, colours *c,
                     const sti_tasks *tasks) {
    const sti_csr *J = &p->arrays.J;
    for (int i = 0; i < p->m; i++) diagonal[i] = 0;
    for (int probe = 0; probe < STI__DELASSUS_PROBES; probe++) {
        for (int i = 0; i < p->arrays.n; i++) c->x[i] = sign((uint64_t)probe << 32 | (uint64_t)i);
        sti__chol_half_back(mass, c->x, c->x, tasks);
        for (int i = 0; i < p->m; i++) {
            double y = 0;
            for (int e = J->start[i]; e < J->start[i + 1]; e++) y += J->value[e] * c->x[J->col[e]];
            diagonal[i] += y * y / STI__DELASSUS_PROBES;
        }
    }
}

/* Each row as if all other dofs stood still, and all of them as much larger as a few are found to be. */
static void neighbours_held(const sti_problem *p, sti__chol *mass, double *diagonal, double *x,
                            const sti_tasks *tasks) {
    const sti_csr *J = &p->arrays.J, *A = &p->arrays.A;
    double held = 0, exact = 0;
    for (int i = 0; i < p->m; i++) {
        diagonal[i] = 0;
        for (int k = J->start[i]; k < J->start[i + 1]; k++)
            for (int e = A->start[J->col[k]]; e < A->start[J->col[k] + 1]; e++)
                if (A->col[e] == J->col[k]) diagonal[i] += J->value[k] * J->value[k] / A->value[e];
    }
    for (int t = 0; t < STI__DELASSUS_SAMPLES; t++) {
        int i = (int)((int64_t)t * (p->m - 1) / (STI__DELASSUS_SAMPLES - 1));
        memset(x, 0, sizeof(double) * (size_t)p->arrays.n);
        for (int k = J->start[i]; k < J->start[i + 1]; k++) x[J->col[k]] = J->value[k];
        sti__chol_half(mass, x, x, tasks);
        exact += x[0] * x[0];
        held += diagonal[i];
    }
    for (int i = 0; i < p->m && held > 0; i++) diagonal[i] *= fmax(1, exact / held);
}

/* Rows that have to take turns anyway: |L^-1 J_i'|^2 is half of the work. */
static void one_by_one(const sti_problem *p, sti__chol *mass, double *diagonal, double *x,
                       const sti_tasks *tasks) {
    const sti_csr *J = &p->arrays.J;
    for (int i = 0; i < p->m; i++) {
        memset(x, 0, sizeof(double) * (size_t)p->arrays.n);
        for (int k = J->start[i]; k < J->start[i + 1]; k++) x[J->col[k]] = J->value[k];
        sti__chol_half(mass, x, x, tasks);
        diagonal[i] = sti__norm2_n(x, NULL, p->arrays.n);
    }
}

/* Least number of passes: rows of one part must take turns. */
static int count_passes(const sti_problem *p, colours *c) {
    const sti_csr *J = &p->arrays.J;
    int most = 0;
    for (int i = 0; i < p->arrays.n; i++) c->taken[i] = 0;
    for (int i = 0; i < p->m; i++)
        for (int k = J->start[i], last = -1; k < J->start[i + 1]; k++) {
            int part = c->part[J->col[k]];
            if (part != last && ++c->taken[part] > most) most = c->taken[part];
            last = part;
        }
    return most;
}

void sti__delassus_diagonal(const sti_problem *p, sti__chol *mass, double *diagonal, void *room,
                            const sti_tasks *tasks) {
    const sti_csr *J = &p->arrays.J;
    colours c;
    if (p->delassus) {
        diagonal_of_w(&p->arrays.W, diagonal);
        return;
    }
    uintptr_t start = ((uintptr_t)room + STI__ALIGN - 1) / STI__ALIGN * STI__ALIGN;
    lay_out(p, &c, (char *)room + (start - (uintptr_t)room));
    parts_job job = {.p = p, .c = &c, .diagonal = diagonal};
    atomic_init(&job.failed, false);
    if (invert_parts(&job, tasks)) {
        sti__run(tasks, p->m, GRAIN, diagonal_of_parts, &job);
        return;
    }
    sti__find_coupled(&p->arrays.A, c.part);
    if (sti__chol_iterates(mass)) {
        neighbours_held(p, mass, diagonal, c.x, tasks);
        return;
    }
    int passes = count_passes(p, &c);
    if (passes * (double)sti__chol_get_info(mass).fill > STI__DELASSUS_EXACT) {
        estimate(p, mass, diagonal, &c, tasks);
        return;
    }
    if (2 * passes > p->m) {
        one_by_one(p, mass, diagonal, c.x, tasks);
        return;
    }
    for (int i = 0; i < p->arrays.n; i++) c.taken[i] = -1;
    for (int i = 0; i < p->m; i++) c.waiting[i] = i;
    for (int pass = 0, left = p->m; left > 0; pass++) {
        /* rows that must wait move to the front, those of this pass to the end */
        int keep = 0;
        for (int i = 0; i < p->arrays.n; i++) c.x[i] = 0;
        for (int k = 0; k < left; k++) {
            int i = c.waiting[k];
            if (take(J, i, pass, &c)) continue;
            c.waiting[k] = c.waiting[keep];
            c.waiting[keep++] = i;
        }
        sti__chol_solve(mass, c.x, tasks);
        for (int k = keep; k < left; k++) {
            int i = c.waiting[k];
            diagonal[i] = 0;
            for (int e = J->start[i]; e < J->start[i + 1]; e++) diagonal[i] += J->value[e] * c.x[J->col[e]];
        }
        left = keep;
    }
}

void sti__row_norm(const sti_row *row, const double *delassus, const double *R, double *w) {
    double sum = 0;
    for (int i = 0; i < row->dim; i++) {
        w[i] = delassus[i] + R[i];
        if (!(w[i] > 0)) w[i] = 1;
    }
    if (row->kind != STI_ROW_CONE) return;
    for (int i = 1; i < row->dim; i++) sum += w[i] * row->mu[i - 1] * row->mu[i - 1];
    for (int i = 1; i < row->dim; i++) w[i] = sum / (row->dim - 1) / (row->mu[i - 1] * row->mu[i - 1]);
}
