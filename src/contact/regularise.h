/* SPDX-License-Identifier: Apache-2.0 */
/* From stiffness and dissipation to R and vhat of a contact or limit.

   A spring k with relaxation time tau_d, taken implicitly over a step h, is a row with
       R_n = 1 / (h k (h + tau_d)),   vhat_n = -phi0 / (h + tau_d).
   Stiffer than the step resolves, it only ruins the conditioning: R_n is then clamped to beta^2 / (4 pi^2) w, where a
   contact oscillates with the period beta h (w: the inverse mass that the row feels). There the rest depth is
   R_n (h + tau_d) g whatever k is, so tau_d = beta h / pi is taken: a larger one lets things sink. */
#ifndef STI_CONTACT_REGULARISE_H
#define STI_CONTACT_REGULARISE_H

#include <math.h>
#include <stdbool.h>

typedef struct sti__softness {
    double h;         /* s */
    double stiffness; /* N/m; INFINITY: as rigid as can be */
    double tau_d;     /* s, >= 0: relaxation time of the dissipation */
    double beta;      /* near-rigid parameter, 0.7 */
    double sigma;     /* friction: R_t = sigma w; 0: by the rule below */
    bool anchored;    /* contacts remember where they stick */
} sti__softness;

/* The inverse mass of a row block, from its dim x dim Delassus block: its mean size. */
static inline double sti__block_weight(int dim, const double *W) {
    double sum = 0;
    for (int i = 0; i < dim * dim; i++) sum += W[i] * W[i];
    return sqrt(sum) / dim;
}

/* Friction that is anchored does not creep, so that it need not be stiffer than the normal: solids yield by (2 - nu) / (2 - 2 nu)
   times as much along their contact as across it (Mindlin 1949), 1.5 where nu = 0.5. Spin and rolling, whose R is larger by
   (mu / mu_i)^2, and what has no anchor take a small share of the inverse mass. */
static inline double sti__friction_softness(double sigma, double beta, bool anchored) {
    const double pi = 3.14159265358979323846;
    return sigma > 0 ? sigma : anchored ? 1.5 * beta * beta / (4 * pi * pi) : 1e-3;
}

/* R (dim) and the normal's vhat; mu has dim - 1 coefficients, phi0 < 0 is a penetration in m. R_t mu_t^2 is the same for
   all tangents and R = sigma w for the first. True if the stiffness was clamped. */
static inline bool sti__regularise(const sti__softness *s, int dim, const double *mu, double w, double phi0,
                                   double *R, double *vhat_n) {
    const double pi = 3.14159265358979323846;
    double tau = s->tau_d, rigid = s->beta * s->beta / (4 * pi * pi) * w,
           soft = 1 / (s->h * s->stiffness * (s->h + tau));
    bool clamped = !(soft >= rigid);
    if (clamped) tau = s->beta * s->h / pi;
    R[0] = clamped ? rigid : soft;
    double slip = sti__friction_softness(s->sigma, s->beta, s->anchored && dim == 3) * w;
    for (int i = 1; i < dim; i++) R[i] = slip * (mu[0] / mu[i - 1]) * (mu[0] / mu[i - 1]);
    *vhat_n = -phi0 / (s->h + tau);
    return clamped;
}

#endif
