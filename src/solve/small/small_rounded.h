/* SPDX-License-Identifier: Apache-2.0 */
/* The law of a contact with its corners rounded off. */
#ifndef STI_SOLVE_SMALL_ROUNDED_H
#define STI_SOLVE_SMALL_ROUNDED_H

#include "contact/rows.h"
#include "solve/small/small_pack.h"
#include <math.h>

typedef struct rounded {
    double eps;            /* impulse */
    double *G, *slope, *c; /* the law */
    double sharp;          /* square of the true law's natural map */
} rounded;

/* The cone's law rounded off: max(0, x_n) and the larger of disc and friction are hyperbolas that pass at `eps` (an
   impulse). Newton's method then has a smooth map, whose length falls along its steps. Returns the
   square of its natural map. */
INLINE double round_cone_of(int dim, const double *mu, const double *w, const double *R, const double *y,
                            const double *g, rounded *law) {
    double eps = law->eps;
    double *G = law->G, *slope = law->slope, *c = law->c;
    double wn = w[0] + R[0], wt = 0, t[5] = {0}, x[5] = {0}, l2 = 0, off = 0, plain = 0;
    double xn = g[0] - (y[0] + R[0] * g[0]) / wn, an = w[0] / wn, rn = sqrt(xn * xn + 4 * eps * eps);
    double n = xn > 0 ? (xn + rn) / 2 : 2 * eps * eps / (rn - xn), p = xn > 0 ? (1 + xn / rn) / 2 : n / rn;
    double normal = xn > 0 ? xn : 0, Gn = p / (wn * (1 - p * an)), cn = (n - p * xn) / (1 - p * an);
    for (int i = 1; i < dim; i++) {
        double one = mu[i - 1] * mu[i - 1] * (w[i] + R[i]);
        wt = wt > one ? wt : one; /* fmax is a call */
    }
    for (int i = 1; i < dim; i++) {
        t[i - 1] = g[i] / mu[i - 1];
        x[i - 1] = t[i - 1] - mu[i - 1] * (y[i] + R[i] * g[i]) / wt;
        l2 += x[i - 1] * x[i - 1];
    }
    double length = sqrt(l2), l = sqrt(l2 + eps * eps), d = n - l, r = sqrt(d * d + 4 * eps * eps),
           most = (n + l + r) / 2, keep = n / most, cut = length > normal ? normal / length : 1;
    for (int i = 0; i + 1 < dim; i++) {
        off += (t[i] - keep * x[i]) * (t[i] - keep * x[i]) * wt;
        plain += (t[i] - cut * x[i]) * (t[i] - cut * x[i]) * wt;
    }
    law->sharp = plain + (g[0] - normal) * (g[0] - normal) * wn;
    off += (g[0] - n) * (g[0] - n) * wn;
    for (int i = 0; i < dim * dim; i++) G[i] = 0;
    for (int i = 0; i < dim; i++) slope[i] = 0;
    G[0] = Gn;
    c[0] = cn;
    if (dim == 1) return off;
    double at = 1 - R[1] * mu[0] * mu[0] / wt, along = keep * (1 - (1 - d / r) / 2 * l2 / (most * l)),
           follow = length / most * (1 - keep * (1 + d / r) / 2);
    double across = keep / (wt * (1 - keep * at)), stiff = along / (wt * (1 - along * at));
    double rest = ((keep - along) * length - follow * n) / (1 - along * at), lead = follow / (1 - along * at);
    for (int i = 1; i < dim; i++) {
        double e = length > 0 ? x[i - 1] / length : 0;
        slope[i] = mu[i - 1] * e * lead * Gn;
        c[i] = mu[i - 1] * e * (rest + lead * cn);
        for (int j = 1; j < dim; j++)
            G[i * dim + j] =
                mu[i - 1] * mu[j - 1] *
                ((i == j ? across : 0) + (length > 0 ? (stiff - across) * e * (x[j - 1] / length) : 0));
    }
    return off;
}

INLINE double round_cone(const sti_row *row, const double *w, const double *R, const double *y,
                         const double *g, rounded *law) {
    if (row->dim == 3) return round_cone_of(3, row->mu, w, R, y, g, law);
    return round_cone_of(row->dim, row->mu, w, R, y, g, law);
}

#endif
