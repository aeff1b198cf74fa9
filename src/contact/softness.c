/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/softness.h"

#define PI 3.14159265358979323846

double sti__impedance(const double solimp[5], double phi) { return impedance_at(solimp, phi); }

/* Our own attributes; true if they say it all. */
static bool take_own(const double *own, sti__softness *s) {
    if (!own) return false;
    if (own[STI__BETA] > 0) s->beta = own[STI__BETA];
    if (own[STI__SIGMA] > 0) s->sigma = own[STI__SIGMA];
    s->tau_d = s->beta * s->h / PI;
    if (!(own[STI__STIFFNESS] > 0)) return false;
    s->stiffness = own[STI__STIFFNESS];
    if (own[STI__DISSIPATION] >= 0) s->tau_d = own[STI__DISSIPATION];
    return true;
}

/* Less impedance than MJCF's default, 0.9 to 0.95: someone asks for softness. */
static bool is_softer(const double solimp[5]) { return solimp[0] < 0.9 || solimp[1] < 0.95; }

sti__softening sti__softening_of(const sti_option *opt, const sti__asked *asked) {
    double a = asked->solref[0], b = asked->solref[1];
    sti__softening t = {.rigid = {opt->timestep, INFINITY, opt->beta * opt->timestep / PI, opt->beta,
                                  opt->sigma, opt->memory},
                        .solimp = asked->solimp};
    bool usual = a == 0.02 && b == 1 && !is_softer(asked->solimp);
    t.spring = !(take_own(asked->own, &t.rigid) || usual || a == 0 || (a > 0) != (b > 0));
    if (!t.spring) return t;
    if (a > 0 && !(opt->disableflags & STI_DISABLE_REFSAFE) && a < 2 * opt->timestep) a = 2 * opt->timestep;
    t.solref[0] = a;
    t.solref[1] = b;
    t.most = sti__impedance(asked->solimp, INFINITY);
    return t;
}

sti__softness sti__softness_of(const sti_option *opt, const sti__asked *asked, double phi) {
    sti__softening t = sti__softening_of(opt, asked);
    return sti__softness_at(&t, asked->weight, phi);
}
