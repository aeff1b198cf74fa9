/* SPDX-License-Identifier: Apache-2.0 */
/* What a row block does, read off a pair of velocity y = J v - target and impulse g: with u = y + R g and x = g - u / w
   (w: its Delassus diagonal plus R) a contact is open where x_n <= 0, sticks where friction's x lies in the disc that x_n
   opens, and slides else (Alart and Curnier). Each case is a linear law g = c - (G + slope e')y with e the block's first row;
   G is symmetric, slope is how friction follows the normal velocity where the contact slides. */
#ifndef STI_SOLVE_COULOMB_LAWS_H
#define STI_SOLVE_COULOMB_LAWS_H

#include "contact/rows.h"
#include "solve/policy.h"

/* Each returns the square of the block's natural map in the norm w: how far the pair is from its law. */
static inline double sti__pair_cone_of(int dim, const double *mu, const double *w, const double *R,
                                       const double *y, const double *g, double *G, double *slope,
                                       double *c) {
    double wn = w[0] + R[0], wt = 0, t[5] = {0}, x[5] = {0}, l2 = 0, off = 0;
    for (int i = 0; i < dim * dim; i++) G[i] = 0;
    for (int i = 0; i < dim; i++) slope[i] = c[i] = 0;
    double xn = g[0] - (y[0] + R[0] * g[0]) / wn, normal = xn > 0 ? xn : 0;
    for (int i = 1; i < dim; i++) {
        double one = mu[i - 1] * mu[i - 1] * (w[i] + R[i]);
        wt = wt > one ? wt : one; /* fmax is a call */
    }
    for (int i = 1; i < dim; i++) {
        t[i - 1] = g[i] / mu[i - 1];
        x[i - 1] = t[i - 1] - mu[i - 1] * (y[i] + R[i] * g[i]) / wt;
        l2 += x[i - 1] * x[i - 1];
    }
    double length = sqrt(l2), keep = length > normal ? normal / length : 1;
    for (int i = 0; i + 1 < dim; i++) off += (t[i] - keep * x[i]) * (t[i] - keep * x[i]) * wt;
    off += (g[0] - normal) * (g[0] - normal) * wn;
    if (!(xn > 0)) return off;
    G[0] = 1 / R[0];
    if (keep == 1) {
        for (int i = 1; i < dim; i++) G[i * dim + i] = 1 / R[i];
        return off;
    }
    double rho = R[1] * mu[0] * mu[0], across = keep / (wt * (1 - keep) + keep * rho);
    for (int i = 1; i < dim; i++) {
        double e = x[i - 1] / length;
        slope[i] = mu[i - 1] * e / R[0];
        for (int j = 1; j < dim; j++)
            G[i * dim + j] = across * mu[i - 1] * mu[j - 1] * ((i == j) - e * (x[j - 1] / length));
    }
    return off;
}

/* Contacts with friction are nearly all there are: their loops are unrolled. */
static inline double sti__pair_cone(const sti_row *row, const double *w, const double *R, const double *y,
                                    const double *g, double *G, double *slope, double *c) {
    if (row->dim == 3) return sti__pair_cone_of(3, row->mu, w, R, y, g, G, slope, c);
    return sti__pair_cone_of(row->dim, row->mu, w, R, y, g, G, slope, c);
}

static inline double sti__pair_interval(const sti_row *row, const double *w, const double *R, const double *y,
                                        const double *g, double *G, double *slope, double *c) {
    int dim = row->dim;
    double lo = sti__row_lo(row), hi = sti__row_hi(row), off = 0;
    for (int i = 0; i < dim * dim; i++) G[i] = 0;
    for (int i = 0; i < dim; i++) {
        double weight = w[i] + R[i], x = g[i] - (y[i] + R[i] * g[i]) / weight;
        double next = x < lo ? lo : x > hi ? hi : x;
        bool free = x > lo && x < hi;
        slope[i] = 0;
        c[i] = free ? 0 : next;
        G[i * dim + i] = free ? 1 / R[i] : 0;
        off += (next - g[i]) * (next - g[i]) * weight;
    }
    return off;
}

/* A user's row: its own law, linear at y. */
static inline double sti__pair_user(const sti_row *row, const double *w, const double *R, const double *y,
                                    const double *g, double *G, double *slope, double *c) {
    int dim = row->dim;
    double off = 0;
    sti__row_evaluate(row, R, y, c, G);
    for (int i = 0; i < dim; i++) {
        off += (c[i] - g[i]) * (c[i] - g[i]) * (w[i] + R[i]);
        slope[i] = 0;
        for (int j = 0; j < dim; j++) c[i] += G[i * dim + j] * y[j];
    }
    return off;
}

static inline double sti__pair_read(const sti_row *row, const double *w, const double *R, const double *y,
                                    const double *g, double *G, double *slope, double *c) {
    if (row->kind == STI_ROW_CONE) return sti__pair_cone(row, w, R, y, g, G, slope, c);
    if (row->kind == STI_ROW_USER) return sti__pair_user(row, w, R, y, g, G, slope, c);
    return sti__pair_interval(row, w, R, y, g, G, slope, c);
}

/* c - (G + slope e')y */
static inline void sti__pair_impulse_of(int dim, const double *G, const double *slope, const double *c,
                                        const double *y, double *g) {
    for (int i = 0; i < dim; i++) {
        double sum = c[i] - slope[i] * y[0];
        for (int j = 0; j < dim; j++) sum -= G[i * dim + j] * y[j];
        g[i] = sum;
    }
}

static inline void sti__pair_impulse(int dim, const double *G, const double *slope, const double *c,
                                     const double *y, double *g) {
    if (dim == 3) sti__pair_impulse_of(3, G, slope, c, y, g);
    else sti__pair_impulse_of(dim, G, slope, c, y, g);
}

/* The law of one contact against its own inverse mass D (with R): normal, then friction in the metric where its disc is
   round. u: y + R g at the g that comes in. */
static inline __attribute__((always_inline)) void
sti__settle_dim(const sti_row *row, int dim, const double *D, const double *u, double *g) {
    double z[STI_ROW_DIM], old[STI_ROW_DIM] = {0}, stiff = 0;
    for (int i = 0; i < dim; i++) old[i] = g[i];
    for (int i = 1; i < dim; i++) {
        double sum = 0;
        for (int j = 1; j < dim; j++) sum += fabs(D[i * dim + j]) * row->mu[j - 1];
        sum *= row->mu[i - 1];
        stiff = stiff > sum ? stiff : sum;
    }
    for (int round = 0; round < STI__SETTLE_ROUNDS; round++) {
        double length2 = 0, t[5] = {0};
        for (int i = 0; i < dim; i++) {
            z[i] = u[i];
            for (int j = 0; j < dim; j++) z[i] += D[i * dim + j] * (g[j] - old[j]);
        }
        double x = g[0] - z[0] / D[0], normal = x > 0 ? x : 0, change = normal - g[0];
        g[0] = normal;
        for (int i = 1; i < dim; i++) {
            t[i - 1] = g[i] / row->mu[i - 1] - row->mu[i - 1] * (z[i] + D[i * dim] * change) / stiff;
            length2 += t[i - 1] * t[i - 1];
        }
        double length = sqrt(length2), shrink = length > normal ? normal / length : 1;
        for (int i = 1; i < dim; i++) g[i] = row->mu[i - 1] * t[i - 1] * shrink;
    }
}

static inline void sti__settle_cone(const sti_row *row, const double *D, const double *u, double *g) {
    bool open = g[0] == 0 && u[0] >= 0; /* and stays so */
    if (open) return;
    if (row->dim == 3) sti__settle_dim(row, 3, D, u, g);
    else sti__settle_dim(row, row->dim, D, u, g);
}

/* Other rows, one after the other; u changes. */
static inline void sti__settle_interval(const sti_row *row, const double *D, double *u, double *g) {
    int dim = row->dim;
    double lo = sti__row_lo(row), hi = sti__row_hi(row);
    for (int i = 0; i < dim; i++) {
        double next = g[i] - u[i] / D[i * dim + i];
        next = next < lo ? lo : next > hi ? hi : next;
        for (int j = i + 1; j < dim; j++) u[j] += D[j * dim + i] * (next - g[i]);
        g[i] = next;
    }
}

#endif
