/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of bodies that lie on the ground and lean on each other: as large as one likes, sparse, in groups that do not
   touch each other. */
#ifndef STI_PILE_PROBLEM_H
#define STI_PILE_PROBLEM_H

#include "dense_problem.h"

typedef struct pile {
    int bodies, group; /* bodies in all; neighbours within a group touch */
    double softness;   /* R as a share of the Delassus diagonal's size; 0: hard */
    double mass_ratio; /* of every other body */
    double mu;
    uint64_t seed;
    double stiffness_ratio; /* of every third contact, and its root of the one before; 0: none */
} pile;

static inline void pile_frame(dense_random *r, double tilt, double e[3][3]) {
    double n[3] = {tilt * random_in(r, -1, 1), tilt * random_in(r, -1, 1), 1},
           l = sqrt(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    for (int i = 0; i < 3; i++) e[0][i] = n[i] / l;
    double t[3] = {e[0][2], 0, -e[0][0]}, k = sqrt(t[0] * t[0] + t[2] * t[2]);
    for (int i = 0; i < 3; i++) e[1][i] = t[i] / k;
    for (int i = 0; i < 3; i++)
        e[2][i] = e[0][(i + 1) % 3] * e[1][(i + 2) % 3] - e[0][(i + 2) % 3] * e[1][(i + 1) % 3];
}

/* One row of a contact for a body at lever r, sign +1 or -1. */
static inline int pile_row(int *col, double *value, int at, int body, const double *e, const double *r,
                           double sign) {
    for (int i = 0; i < 3; i++) col[at] = 6 * body + i, value[at++] = sign * e[i];
    for (int i = 0; i < 3; i++) {
        double c = r[(i + 1) % 3] * e[(i + 2) % 3] - r[(i + 2) % 3] * e[(i + 1) % 3];
        col[at] = 6 * body + 3 + i;
        value[at++] = sign * c;
    }
    return at;
}

static inline sti_problem *pile_create(const pile *p, const sti_allocator *allocator) {
    dense_random r = {p->seed};
    int n = 6 * p->bodies, most = 5 * p->bodies, m = 0, nrow = 0, at = 0;
    int *as = calloc((size_t)n + 1, sizeof(int)), *ac = calloc((size_t)n, sizeof(int));
    int *js = calloc(3 * (size_t)most + 1, sizeof(int)), *jc = calloc(36 * (size_t)most, sizeof(int));
    double *av = calloc((size_t)n, sizeof(double)), *jv = calloc(36 * (size_t)most, sizeof(double)),
           *vs = calloc((size_t)n, sizeof(double));
    double *R = calloc(3 * (size_t)most, sizeof(double)), *vhat = calloc(3 * (size_t)most, sizeof(double));
    sti_row *rows = calloc((size_t)most, sizeof(sti_row));
    for (int i = 0; i < n; i++) {
        double mass = i / 6 % 2 ? p->mass_ratio : 1;
        as[i + 1] = i + 1;
        ac[i] = i;
        av[i] = mass * (i % 6 < 3 ? 1 : random_in(&r, 0.01, 0.03));
        vs[i] = i % 6 == 2 ? -0.1 : random_in(&r, -0.3, 0.3);
    }
    for (int b = 0; b < p->bodies; b++)
        for (int c = 0; c < 5; c++) {
            bool ground = c < 3, next = !ground && b + 1 < p->bodies && (b + 1) % p->group != 0;
            double e[3][3], ra[3] = {random_in(&r, -0.2, 0.2), random_in(&r, -0.2, 0.2), ground ? -0.1 : 0.1};
            double rb[3] = {ra[0] - 0.1, ra[1], -ra[2]};
            pile_frame(&r, 0.3, e);
            if (!ground && !next) continue;
            double mass = next || b % 2 == 0 ? 1 : p->mass_ratio;
            rows[nrow] = (sti_row){.kind = STI_ROW_CONE, .dim = 3, .mu = {p->mu, p->mu}};
            for (int k = 0; k < 3; k++) {
                js[m] = at;
                at = pile_row(jc, jv, at, b, e[k], ra, ground ? 1 : -1);
                if (next) at = pile_row(jc, jv, at, b + 1, e[k], rb, 1);
                R[m] = p->softness * 3 / mass * (k ? 1e-1 : 1);
                if (p->stiffness_ratio > 0 && nrow % 3)
                    R[m] /= nrow % 3 == 1 ? sqrt(p->stiffness_ratio) : p->stiffness_ratio;
                vhat[m++] = k ? 0 : random_in(&r, -0.02, 0.02);
            }
            nrow++;
        }
    js[m] = at;
    sti_problem_arrays a = sti_problem_arrays_default();
    a.n = n, a.nrow = nrow, a.rows = rows, a.R = R, a.vhat = vhat, a.vstar = vs;
    a.A = (sti_csr){n, n, as, ac, av};
    a.J = (sti_csr){m, n, js, jc, jv};
    sti_error error = {0};
    sti_problem *problem = sti_problem_create(&a, allocator, &error);
    if (!problem) fprintf(stderr, "%s\n", error.message);
    free(as), free(ac), free(js), free(jc), free(av), free(jv), free(vs), free(R), free(vhat), free(rows);
    return problem;
}

#endif
