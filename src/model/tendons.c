/* SPDX-License-Identifier: Apache-2.0 */
/* Tendons: paths over sites, wrapping geoms and pulleys, or weighted sums of joints. */
#include "model/chain.h"

/* One path element, as the model stores it. */
typedef struct wrap {
    int type; /* sti_wrap; SPHERE stands for any geom until its shape is known */
    int id;
    double prm;
} wrap;

static bool tag_is(const sti_element *e, const char *tag) {
    return e && strcmp(sti_element_name(e), tag) == 0;
}

static bool is_fixed(const sti_element *tendon) { return tag_is(tendon, "fixed"); }

static wrap read_joint(sti__compiler *c, const sti_element *e) {
    wrap w = {STI_WRAP_JOINT, sti__reference(c, e, STI_A_joint, STI_OBJ_JOINT), sti__real(e, STI_A_coef, 0)};
    int type = w.id < 0 ? STI_JOINT_HINGE : c->tree.jnt_type[w.id];
    if (type != STI_JOINT_HINGE && type != STI_JOINT_SLIDE)
        sti__complain(c, e, STI_A_joint, STI_VALUE, "a fixed tendon takes hinge and slide joints only");
    return w;
}

static wrap read_wrap(sti__compiler *c, const sti_element *e) {
    if (tag_is(e, "joint")) return read_joint(c, e);
    if (tag_is(e, "site")) return (wrap){STI_WRAP_SITE, sti__reference(c, e, STI_A_site, STI_OBJ_SITE), 0};
    if (tag_is(e, "pulley")) {
        double divisor = sti__real(e, STI_A_divisor, 0);
        if (!(divisor > 0)) sti__complain(c, e, STI_A_divisor, STI_VALUE, "must be positive");
        return (wrap){STI_WRAP_PULLEY, -1, divisor};
    }
    int side = sti__reference(c, e, STI_A_sidesite, STI_OBJ_SITE);
    return (wrap){STI_WRAP_SPHERE, sti__reference(c, e, STI_A_geom, STI_OBJ_GEOM), side};
}

/* Every geom stands between two sites, and every site has something to be joined to. */
static void check_neighbours(sti__compiler *c, const sti_element *e, const sti_element *before) {
    const sti_element *after = sti_element_next(e);
    if (tag_is(e, "pulley")) {
        if (!after) sti__complain(c, e, STI_A_COUNT, STI_VALUE, "a path cannot end with a pulley");
        if (tag_is(after, "pulley"))
            sti__complain(c, after, STI_A_COUNT, STI_VALUE, "follows another pulley");
    } else if (tag_is(e, "geom")) {
        if (!tag_is(before, "site") || !tag_is(after, "site"))
            sti__complain(c, e, STI_A_COUNT, STI_VALUE, "a wrapping geom must stand between two sites");
    } else if ((!before || tag_is(before, "pulley")) && (!after || tag_is(after, "pulley"))) {
        sti__complain(c, e, STI_A_COUNT, STI_VALUE, "this site is joined to nothing");
    }
}

static int count_path(const sti_element *tendon) {
    int count = 0;
    for (const sti_element *e = sti_element_child(tendon); e; e = sti_element_next(e)) count++;
    return count;
}

static void check_path(sti__compiler *c, const sti_element *tendon) {
    wrap last = {STI_WRAP_NONE, -1, 0};
    const sti_element *before = NULL;
    int count = count_path(tendon);
    for (const sti_element *e = sti_element_child(tendon); e; e = sti_element_next(e)) {
        wrap w = read_wrap(c, e);
        if (!is_fixed(tendon)) check_neighbours(c, e, before);
        if (w.type == last.type && w.id >= 0 && w.id == last.id)
            sti__complain(c, e, STI_A_COUNT, STI_VALUE, "repeats the element before it");
        if (w.type == STI_WRAP_SPHERE && sti__real(tendon, STI_A_armature, 0) != 0)
            sti__complain(c, tendon, STI_A_armature, STI_VALUE,
                          "a tendon that wraps geoms cannot have armature");
        last = w;
        before = e;
    }
    if (count == 0) sti__complain(c, tendon, STI_A_COUNT, STI_VALUE, "has an empty path");
    if (count == 1 && !is_fixed(tendon))
        sti__complain(c, tendon, STI_A_COUNT, STI_VALUE, "a spatial path needs at least two elements");
    if (!sti__count_add(&c->m->nwrap, count))
        sti__complain(c, tendon, STI_A_COUNT, STI_LIMIT, "too many path elements");
}

void sti__tendon_dofs(sti__compiler *c, const sti_element *tendon, sti__dofs *dofs) {
    dofs->count = 0;
    for (const sti_element *e = sti_element_child(tendon); e; e = sti_element_next(e)) {
        wrap w = read_wrap(c, e);
        if (w.id < 0) continue;
        if (w.type == STI_WRAP_JOINT) sti__dofs_add_range(dofs, c->tree.jnt_dofadr[w.id], 1);
        if (w.type == STI_WRAP_SITE) sti__dofs_add_body(dofs, &c->tree, c->tree.site_bodyid[w.id]);
        if (w.type == STI_WRAP_SPHERE) sti__dofs_add_body(dofs, &c->tree, c->tree.geom_bodyid[w.id]);
    }
}

void sti__size_tendons(sti__compiler *c) {
    sti_model *m = c->m;
    sti__dofs dofs;
    if (!sti__dofs_init(c, &dofs, m->nv)) return;
    for (int i = 0; i < m->ntendon; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_TENDON, i);
        check_path(c, e);
        if (sti__failed(c)) continue;
        if (sti__real(e, STI_A_springyield, 0) > 0) m->nplastic += 2;
        sti__tendon_dofs(c, e, &dofs);
        if (is_fixed(e) && dofs.count < count_path(e))
            sti__complain(c, e, STI_A_COUNT, STI_VALUE, "names a joint twice");
        if (!sti__count_add(&m->nJten, dofs.count))
            sti__complain(c, e, STI_A_COUNT, STI_LIMIT, "the tendon Jacobian has too many nonzeros");
    }
}

static void fill_limits(sti__compiler *c, const sti_element *e, int i) {
    sti_model *m = c->m;
    double *range = m->tendon_range + 2 * i, *force = m->tendon_actfrcrange + 2 * i;
    sti__reals(e, STI_A_range, range, 2);
    sti__reals(e, STI_A_actuatorfrcrange, force, 2);
    m->tendon_limited[i] = sti__limited(c, e, STI_A_limited, STI_A_range);
    m->tendon_actfrclimited[i] = sti__limited(c, e, STI_A_actuatorfrclimited, STI_A_actuatorfrcrange);
    if (m->tendon_limited[i] && range[0] >= range[1])
        sti__complain(c, e, STI_A_range, STI_VALUE, "the first value must be below the second");
    if (m->tendon_actfrclimited[i] && (force[0] >= force[1] || force[0] > 0 || force[1] < 0))
        sti__complain(c, e, STI_A_actuatorfrcrange, STI_VALUE, "must be an interval that holds zero");
    m->tendon_margin[i] = sti__real(e, STI_A_margin, 0);
}

/* One value is both ends of the dead band; -1 -1 asks for the length at qpos_spring. */
static void fill_springlength(sti__compiler *c, const sti_element *e, double *spring) {
    spring[0] = spring[1] = -1;
    int given = sti__reals(e, STI_A_springlength, spring, 2);
    if (given == 1) spring[1] = spring[0];
    if (spring[0] > spring[1])
        sti__complain(c, e, STI_A_springlength, STI_VALUE, "the first value must not be above the second");
}

static void fill_solver(const sti_element *e, sti__aid ref, sti__aid imp, double *solref, double *solimp) {
    static const double ref0[2] = {0.02, 1}, imp0[5] = {0.9, 0.95, 0.001, 0.5, 2};
    memcpy(solref, ref0, sizeof ref0);
    memcpy(solimp, imp0, sizeof imp0);
    sti__reals(e, ref, solref, 2);
    sti__reals(e, imp, solimp, 5);
}

static void fill_looks(sti__compiler *c, const sti_element *e, int i) {
    sti_model *m = c->m;
    double rgba[4] = {0.5, 0.5, 0.5, 1};
    sti__reals(e, STI_A_rgba, rgba, 4);
    for (int k = 0; k < 4; k++) m->tendon_rgba[4 * i + k] = (float)rgba[k];
    m->tendon_matid[i] = sti__reference(c, e, STI_A_material, STI_OBJ_MATERIAL);
    m->tendon_group[i] = sti__int(e, STI_A_group, 0);
    m->tendon_width[i] = sti__real(e, STI_A_width, 0.003);
    if (!(m->tendon_width[i] > 0)) sti__complain(c, e, STI_A_width, STI_VALUE, "must be positive");
}

static void fill_path(sti__compiler *c, const sti_element *tendon, int i, int *adr) {
    sti_model *m = c->m;
    m->tendon_adr[i] = *adr;
    for (const sti_element *e = sti_element_child(tendon); e; e = sti_element_next(e)) {
        wrap w = read_wrap(c, e);
        if (w.type == STI_WRAP_SPHERE) {
            int shape = m->geom_type[w.id];
            if (shape == STI_GEOM_CYLINDER) w.type = STI_WRAP_CYLINDER;
            if (shape != STI_GEOM_CYLINDER && shape != STI_GEOM_SPHERE)
                sti__complain(c, e, STI_A_geom, STI_VALUE, "tendons wrap spheres and cylinders only");
        }
        m->wrap_type[*adr] = w.type;
        m->wrap_objid[*adr] = w.id;
        m->wrap_prm[*adr] = w.prm;
        (*adr)++;
    }
    m->tendon_num[i] = *adr - m->tendon_adr[i];
}

static void fill_pattern(sti__compiler *c, const sti_element *e, int i, int *adr, sti__dofs *dofs) {
    sti__tendon_dofs(c, e, dofs);
    c->m->ten_J_rowadr[i] = *adr;
    c->m->ten_J_rownnz[i] = dofs->count;
    memcpy(c->m->ten_J_colind + *adr, dofs->list, (size_t)dofs->count * sizeof(int));
    *adr += dofs->count;
}

static void fill_tendon(sti__compiler *c, const sti_element *e, int i) {
    sti_model *m = c->m;
    fill_limits(c, e, i);
    fill_springlength(c, e, m->tendon_lengthspring + 2 * i);
    fill_solver(e, STI_A_solreflimit, STI_A_solimplimit, m->tendon_solref_lim + 2 * i,
                m->tendon_solimp_lim + 5 * i);
    fill_solver(e, STI_A_solreffriction, STI_A_solimpfriction, m->tendon_solref_fri + 2 * i,
                m->tendon_solimp_fri + 5 * i);
    double stiffness[3] = {0}, damping[3] = {0};
    sti__reals(e, STI_A_stiffness, stiffness, 3);
    sti__reals(e, STI_A_damping, damping, 3);
    m->tendon_stiffness[i] = stiffness[0];
    m->tendon_damping[i] = damping[0];
    for (int k = 0; k < 2; k++) {
        m->tendon_stiffnesspoly[2 * i + k] = stiffness[1 + k];
        m->tendon_dampingpoly[2 * i + k] = damping[1 + k];
    }
    m->tendon_frictionloss[i] = sti__real(e, STI_A_frictionloss, 0);
    m->tendon_armature[i] = sti__real(e, STI_A_armature, 0);
    if (m->tendon_armature[i] < 0) sti__complain(c, e, STI_A_armature, STI_VALUE, "must not be negative");
    fill_looks(c, e, i);
}

void sti__fill_tendons(sti__compiler *c) {
    sti__dofs dofs;
    int wrapadr = 0, coladr = 0, plastic = 0;
    for (int j = 0; j < c->m->njnt; j++)
        if (c->m->jnt_plasticadr[j] >= 0) plastic += c->m->jnt_type[j] == STI_JOINT_BALL ? 4 : 1;
    if (!sti__dofs_init(c, &dofs, c->m->nv)) return;
    for (int i = 0; i < c->m->ntendon; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_TENDON, i);
        fill_tendon(c, e, i);
        double yield = sti__real(e, STI_A_springyield, 0);
        if (yield < 0) sti__complain(c, e, STI_A_springyield, STI_VALUE, "must not be negative");
        c->m->tendon_springyield[i] = yield;
        c->m->tendon_plasticadr[i] = yield > 0 ? plastic : -1;
        plastic += yield > 0 ? 2 : 0;
        fill_path(c, e, i, &wrapadr);
        fill_pattern(c, e, i, &coladr, &dofs);
    }
}
