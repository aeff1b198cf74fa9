/* SPDX-License-Identifier: Apache-2.0 */
/* Coupled constraints: equations over the distance and the angle of two sites. */
#include "model/compile.h"
#include <math.h>
#include <stiction/coupled.h>
#include <string.h>

void sti__size_coupled(sti__compiler *c) {
    for (int i = 0; i < c->m->neq; i++)
        c->m->ncoupled += sti__eid_of(sti__object(c, STI_OBJ_EQUALITY, i)) == STI_E_sti_coupled;
}

/* r_d and r_theta of each equation, then the targets. */
static void fill_equations(sti__compiler *c, const sti_element *e, int k) {
    double ratio[2 * STI_COUPLED_MAX] = {0}, target[STI_COUPLED_MAX] = {0},
                     *to = c->m->coupled_equation + 12 * k;
    int given = sti__reals(e, STI_A_ratio, ratio, 2 * STI_COUPLED_MAX), count = given / 2;
    int targets = sti__reals(e, STI_A_target, target, STI_COUPLED_MAX);
    if (given % 2) sti__complain(c, e, STI_A_ratio, STI_VALUE, "must have two numbers for each equation");
    if (sti__has_own(e, STI_A_target) && targets > count)
        sti__complain(c, e, STI_A_target, STI_VALUE, "has %d numbers for %d equations", targets, count);
    c->m->coupled_count[k] = count;
    for (int i = 0; i < count; i++) {
        to[3 * i] = ratio[2 * i];
        to[3 * i + 1] = ratio[2 * i + 1];
        to[3 * i + 2] = target[i];
        if (ratio[2 * i] == 0 && ratio[2 * i + 1] == 0)
            sti__complain(c, e, STI_A_ratio, STI_VALUE, "of equation %d is zero", i + 1);
    }
}

static void fill_axis(sti__compiler *c, const sti_element *e, double *axis) {
    double norm2 = 0;
    axis[2] = 1;
    sti__reals(e, STI_A_axis, axis, 3);
    for (int i = 0; i < 3; i++) norm2 += axis[i] * axis[i];
    if (!(norm2 > 1e-24)) sti__complain(c, e, STI_A_axis, STI_VALUE, "must have a direction");
    else
        for (int i = 0; i < 3; i++) axis[i] /= sqrt(norm2);
}

/* A distance or angle that is not given is left as a NaN: that of the reference pose. */
static void fill_rest(sti__compiler *c, const sti_element *e, double *rest) {
    rest[0] = sti__real(e, STI_A_distance, NAN);
    rest[1] = sti__angle(c, sti__real(e, STI_A_angle, NAN));
    if (rest[0] < 0) sti__complain(c, e, STI_A_distance, STI_VALUE, "must not be negative");
}

/* Both softnesses, or -1 -1; one number stands for both. */
static void fill_coupled_softness(sti__compiler *c, const sti_element *e, double *softness) {
    int given = sti__reals(e, STI_A_softness, softness, 2);
    if (given == 1) softness[1] = softness[0];
    if (given == 0) softness[0] = softness[1] = -1;
    else if (softness[0] < 0 || softness[1] < 0)
        sti__complain(c, e, STI_A_softness, STI_VALUE, "must not be negative");
    if (given == 0 && sti__has_own(e, STI_A_baumgarte))
        sti__complain(c, e, STI_A_baumgarte, STI_VALUE, "needs a softness");
}

static void fill_rule(sti__compiler *c, const sti_element *e, double *rule) {
    static const sti__aid names[3] = {STI_A_baumgarte, STI_A_pivot_epsilon, STI_A_condition_limit};
    for (int i = 0; i < 3; i++) rule[i] = sti__real(e, names[i], 0);
    rule[3] = sti__int(e, STI_A_max_drops, 3);
    if (rule[0] < 0 || rule[0] > 1) sti__complain(c, e, names[0], STI_VALUE, "must be 0 to 1");
    if (rule[1] < 0 || rule[1] >= 1) sti__complain(c, e, names[1], STI_VALUE, "must be 0 to 1");
    if (rule[2] < 1) sti__complain(c, e, names[2], STI_VALUE, "must be 1 or more");
    if (rule[3] < 0 || rule[3] > 3) sti__complain(c, e, STI_A_max_drops, STI_VALUE, "must be 0 to 3");
}

static void fill_most(sti__compiler *c, const sti_element *e, double *most) {
    static const sti__aid names[2] = {STI_A_max_force, STI_A_max_torque};
    for (int i = 0; i < 2; i++) {
        most[i] = sti__real(e, names[i], 0);
        if (sti__has_own(e, names[i]) && most[i] <= 0)
            sti__complain(c, e, names[i], STI_VALUE, "must be positive");
    }
}

void sti__fill_coupled(sti__compiler *c, const sti_element *e, int equality, int k) {
    sti_model *m = c->m;
    m->coupled_eq[k] = equality;
    fill_equations(c, e, k);
    fill_axis(c, e, m->coupled_axis + 3 * k);
    fill_rest(c, e, m->coupled_rest + 2 * k);
    fill_coupled_softness(c, e, m->coupled_softness + 2 * k);
    fill_rule(c, e, m->coupled_rule + 4 * k);
    fill_most(c, e, m->coupled_most + 2 * k);
}
