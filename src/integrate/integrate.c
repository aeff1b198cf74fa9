/* SPDX-License-Identifier: Apache-2.0 */
#include "integrate/integrate.h"

void sti__integrate_acceleration(sti_state *s, const sti__kernels *k) {
    switch (s->opt.integrator) {
    case STI_INTEGRATOR_IMPLICIT:
    case STI_INTEGRATOR_IMPLICITFAST:
        k->derivative(s);
        k->implicit(s);
        break;
    default: k->euler(s); break;
    }
}

void sti__integrate_advance(sti_state *s, const sti__kernels *k) {
    k->advance(s, s->qacc_step, s->act_dot, NULL);
}

void sti__integrate(sti_state *s, const sti__kernels *k, sti__forward forward, void *context) {
    if (s->opt.integrator == STI_INTEGRATOR_RK4) {
        sti__integrate_rk4(s, k, forward, NULL, context);
        return;
    }
    sti__integrate_acceleration(s, k);
    sti__integrate_advance(s, k);
}
