/* SPDX-License-Identifier: Apache-2.0 */
/* What a step is worth, in the fields and units of sti_certificate. The step is the limit of a sequence of problems. Two
   things may be wrong with it: the answer of the last problem, which has a certificate of its own, and what further problems
   would change. The latter is estimated by the share of the last step that is left after it and by the violations that multipliers have
   not answered, as velocities in the norm of the masses. */
#include "integrate/alm/inside.h"
#include "solve/judge/certificate.h"
#include <math.h>

/* Squares of velocities in the norm of the masses, J: of the motion, of what forces alone would give, and of what is left. */
typedef struct claim {
    double moved, pushed, left;
} claim;

static double norm2(const sti__alm_body *b, const double u[3], const double turn[3]) {
    double It[3];
    m3_mul_vec(It, b->I, turn);
    return b->mass * v3_dot(u, u) + v3_dot(turn, It);
}

static void add_body(const sti__alm *alm, int i, double h, claim *c) {
    const sti__alm_body *b = &alm->body[i];
    const double *d = alm->step + 6 * (size_t)i, off = alm->info.violation;
    double turn[3], share = alm->info.rest, trace = (b->I[0] + b->I[4] + b->I[8]) / 3;
    turn_log(alm->pose[i].q, turn);
    c->moved += norm2(b, alm->pose[i].u, turn) / (h * h);
    c->pushed += b->mass > 0 ? h * h * v3_dot(b->force, b->force) / b->mass : 0;
    c->pushed += h * h * (b->mass + trace); /* at least 1 m/s2 or rad/s2 */
    c->left += (share * share * norm2(b, d, d + 3) + off * off * (b->mass + trace)) / (h * h);
}

void sti__alm_claim(sti__alm *alm, const sti_state *s) {
    double h = s->opt.timestep;
    claim c = {0};
    for (int i = 0; i < alm->nbody; i++) add_body(alm, i, h, &c);
    double left = sqrt(c.left / fmax(c.moved, c.pushed));
    sti_certificate to = sti__certificate_unknown(),
                    none = sti__certificate_empty((sti_coulomb)s->opt.coulomb);
    const sti_certificate *of = alm->info.inner ? &alm->inner.info.certificate : &none;
    to.gap = of->gap / (h * h) + c.left / 2; /* its unknowns are lengths, its impulses h times those in N s */
    to.error_bar = sqrt(2 * to.gap);
    to.relative = of->relative + left;
    to.headline = of->headline + left;
    to.momentum = of->momentum;
    to.natural = of->natural;
    to.cone = of->cone;
    to.dissipation = of->dissipation;
    to.penetration = of->penetration / h;
    to.desaxce = of->desaxce;
    to.joints = alm->info.joints;
    alm->info.certificate = to;
}
