/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/rows.h"
#include "solve/sap.h"
#include <string.h>

sti__sap_end sti__sap_outer(sti__sap *sap) {
    sti__island *s = sap->s;
    const sti_solve_options *o = sap->options;
    int contacts = 0;
    for (int b = 0; b < s->nrow; b++) contacts += sti__island_row(s, b)->kind == STI_ROW_CONE;
    double atol = o->adaptive_atol ? o->atol * (1 + 0.1 * sqrt(contacts)) : o->atol;
    memcpy(s->target, s->vhat, sizeof(double) * (size_t)s->m);
    sti__sap_goal goal = {.bar = o->tol, .atol = atol, .rtol = o->rtol, .cap = o->max_newton};
    return sti__sap_minimise(sap, &goal);
}
