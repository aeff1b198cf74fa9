/* SPDX-License-Identifier: Apache-2.0 */
#include "integrate/integrate.h"

void sti__integrate(sti_state *s, const sti__kernels *k, sti__forward forward, void *context) {
    switch (s->opt.integrator) {
    case STI_INTEGRATOR_RK4: sti__integrate_rk4(s, k, forward, context); break;
    case STI_INTEGRATOR_IMPLICIT:
    case STI_INTEGRATOR_IMPLICITFAST:
        k->derivative(s);
        k->implicit(s);
        break;
    default: k->euler(s); break;
    }
}
