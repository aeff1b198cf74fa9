/* SPDX-License-Identifier: Apache-2.0 */
/* Equality constraints, contact pairs and exclusions. */
#include "model/compile.h"
#include <math.h>
#include <string.h>

void sti__size_constraints(sti__compiler *c) {
    sti__size_coupled(c); /* of the rest there is one row per element */
}

static void read_solver(const sti_element *e, double *solref, double *solimp) {
    static const double ref0[2] = {0.02, 1}, imp0[5] = {0.9, 0.95, 0.001, 0.5, 2};
    memcpy(solref, ref0, sizeof ref0);
    memcpy(solimp, imp0, sizeof imp0);
    sti__reals(e, STI_A_solref, solref, 2);
    sti__reals(e, STI_A_solimp, solimp, 5);
}

void sti__fill_softness(sti__compiler *c, const sti_element *e, bool patches, double out[4]) {
    static const sti__aid names[4] = {STI_A_stiffness, STI_A_dissipation, STI_A_beta, STI_A_sigma};
    for (int k = 0; k < 4; k++) {
        double x = sti__real(e, names[k], NAN);
        out[k] = isnan(x) ? -1 : x;
        if (k == 1 && x < 0) sti__complain(c, e, names[k], STI_VALUE, "must not be negative");
        if (k != 1 && x <= 0) sti__complain(c, e, names[k], STI_VALUE, "must be positive");
    }
    if (out[0] < 0 && out[1] >= 0 && !patches)
        sti__complain(c, e, STI_A_dissipation, STI_VALUE,
                      "needs a sti:stiffness%s, of which it is the dissipation time",
                      sti__eid_of(e) == STI_E_geom ? " or sti:hydroelastic_stiffness" : "");
}

/* ---- equality ---------------------------------------------------------------------------------------- */

/* The two objects; the second may be missing, and is then `otherwise`. */
static void read_objects(sti__compiler *c, const sti_element *e, int i, sti__aid a1, sti__aid a2,
                         sti_object kind, int otherwise) {
    sti_model *m = c->m;
    m->eq_obj1id[i] = sti__reference(c, e, a1, kind);
    m->eq_obj2id[i] = sti__has_own(e, a2) ? sti__reference(c, e, a2, kind) : otherwise;
    if (m->eq_obj1id[i] >= 0 && m->eq_obj1id[i] == m->eq_obj2id[i])
        sti__complain(c, e, a2, STI_VALUE, "is the same as the first");
}

/* Between two sites, or between two bodies with what else describes the constraint; true for sites. */
static bool read_frames(sti__compiler *c, const sti_element *e, int i) {
    bool sites = sti__has_own(e, STI_A_site1) || sti__has_own(e, STI_A_site2);
    static const sti__aid alone[] = {STI_A_body1, STI_A_body2, STI_A_anchor, STI_A_relpose};
    c->m->eq_objtype[i] = sites ? STI_OBJ_SITE : STI_OBJ_BODY;
    if (sites) {
        for (int k = 0; k < STI__COUNT(alone); k++)
            if (sti__has_own(e, alone[k]))
                sti__complain(c, e, alone[k], STI_VALUE, "cannot be given together with sites");
        if (!sti__has_own(e, STI_A_site1))
            sti__complain(c, e, STI_A_site1, STI_VALUE, "is required with site2");
        if (!sti__has_own(e, STI_A_site2))
            sti__complain(c, e, STI_A_site2, STI_VALUE, "is required with site1");
        read_objects(c, e, i, STI_A_site1, STI_A_site2, STI_OBJ_SITE, -1);
    } else {
        if (!sti__has_own(e, STI_A_body1))
            sti__complain(c, e, STI_A_body1, STI_VALUE, "is required, or two sites");
        read_objects(c, e, i, STI_A_body1, STI_A_body2, STI_OBJ_BODY, 0);
    }
    return sites;
}

/* data: anchor in body 1, and in body 2 (filled in with the reference values). */
static void fill_connect(sti__compiler *c, const sti_element *e, int i, double *data) {
    memset(data, 0, 11 * sizeof *data);
    if (read_frames(c, e, i)) return;
    if (!sti__has_own(e, STI_A_anchor))
        sti__complain(c, e, STI_A_anchor, STI_VALUE, "is required with bodies");
    sti__reals(e, STI_A_anchor, data, 3);
    data[10] = 1;
}

/* data: anchor in body 2; pose of the anchor in body 1 (a zero quaternion asks for the reference
   pose); weight of rotations. */
static void fill_weld(sti__compiler *c, const sti_element *e, int i, double *data) {
    data[10] = sti__real(e, STI_A_torquescale, 1);
    if (read_frames(c, e, i)) return;
    memset(data, 0, 10 * sizeof *data);
    sti__reals(e, STI_A_anchor, data, 3);
    sti__reals(e, STI_A_relpose, data + 3, 7);
    double norm = 0;
    for (int k = 6; k < 10; k++) norm += data[k] * data[k];
    if (norm > 0)
        for (int k = 6; k < 10; k++) data[k] /= __builtin_sqrt(norm);
}

static void check_scalar(sti__compiler *c, const sti_element *e, sti__aid attribute, int joint) {
    int type = joint < 0 ? STI_JOINT_HINGE : c->m->jnt_type[joint];
    if (type != STI_JOINT_HINGE && type != STI_JOINT_SLIDE)
        sti__complain(c, e, attribute, STI_VALUE, "must be a hinge or slide joint");
}

static void fill_joints(sti__compiler *c, const sti_element *e, int i) {
    read_objects(c, e, i, STI_A_joint1, STI_A_joint2, STI_OBJ_JOINT, -1);
    check_scalar(c, e, STI_A_joint1, c->m->eq_obj1id[i]);
    check_scalar(c, e, STI_A_joint2, c->m->eq_obj2id[i]);
}

/* data: the distance, NaN to ask for that of the reference pose */
static void fill_distance(sti__compiler *c, const sti_element *e, int i, double *data) {
    bool sites = sti__has_own(e, STI_A_site1) || sti__has_own(e, STI_A_site2),
         geoms = sti__has_own(e, STI_A_geom1) || sti__has_own(e, STI_A_geom2);
    sti__aid first = sites ? STI_A_site1 : STI_A_geom1, second = sites ? STI_A_site2 : STI_A_geom2;
    sti_object kind = sites ? STI_OBJ_SITE : STI_OBJ_GEOM;
    memset(data, 0, 11 * sizeof *data);
    c->m->eq_objtype[i] = kind;
    data[0] = sti__real(e, STI_A_distance, sites ? NAN : 0);
    if (sites == geoms) {
        sti__complain(c, e, STI_A_COUNT, STI_VALUE, "needs site1 and site2, or geom1 and geom2");
        return;
    }
    if (!sti__has_own(e, first)) sti__complain(c, e, first, STI_VALUE, "is required");
    if (!sti__has_own(e, second)) sti__complain(c, e, second, STI_VALUE, "is required");
    read_objects(c, e, i, first, second, kind, -1);
    if (sites && data[0] <= 0)
        sti__complain(c, e, STI_A_distance, STI_VALUE, "must be positive; connect holds sites together");
}

/* -1: not given */
static double closing_of(sti__compiler *c, const sti_element *e) {
    double x = sti__real(e, STI_A_closing, -1);
    if (sti__has(e, STI_A_closing) && !(x > 0))
        sti__complain(c, e, STI_A_closing, STI_VALUE, "must be positive");
    return x;
}

static void fill_equality(sti__compiler *c, const sti_element *e, int i, int *coupled) {
    sti_model *m = c->m;
    double *data = m->eq_data + 11 * i;
    m->eq_active0[i] = sti__keyword(e, STI_A_active, 1);
    read_solver(e, m->eq_solref + 2 * i, m->eq_solimp + 5 * i);
    sti__fill_softness(c, e, false, m->eq_softness + 4 * i);
    m->eq_closing[i] = closing_of(c, e);
    data[1] = data[10] = 1;
    switch (sti__eid_of(e)) {
    case STI_E_connect:
        m->eq_type[i] = STI_EQ_CONNECT;
        fill_connect(c, e, i, data);
        break;
    case STI_E_weld:
        m->eq_type[i] = STI_EQ_WELD;
        fill_weld(c, e, i, data);
        break;
    case STI_E_equality_joint:
        m->eq_type[i] = STI_EQ_JOINT;
        fill_joints(c, e, i);
        sti__reals(e, STI_A_polycoef, data, 5);
        break;
    case STI_E_equality_tendon:
        m->eq_type[i] = STI_EQ_TENDON;
        read_objects(c, e, i, STI_A_tendon1, STI_A_tendon2, STI_OBJ_TENDON, -1);
        sti__reals(e, STI_A_polycoef, data, 5);
        break;
    case STI_E_sti_distance:
        m->eq_type[i] = STI_EQ_DISTANCE;
        fill_distance(c, e, i, data);
        break;
    case STI_E_sti_coupled:
        m->eq_type[i] = STI_EQ_COUPLED;
        m->eq_objtype[i] = STI_OBJ_SITE;
        memset(data, 0, 11 * sizeof *data);
        data[0] = (*coupled)++;
        read_objects(c, e, i, STI_A_site1, STI_A_site2, STI_OBJ_SITE, -1);
        sti__fill_coupled(c, e, i, (int)data[0]);
        break;
    default: sti__complain(c, e, STI_A_COUNT, STI_UNSUPPORTED, "this constraint is not supported yet");
    }
}

/* ---- contact ----------------------------------------------------------------------------------------- */

static void sort_two(int *a, int *b, bool swap) {
    int first = *a;
    if (!swap) return;
    *a = *b;
    *b = first;
}

/* Geoms in the order of their bodies, as contacts have them. */
static void fill_pair(sti__compiler *c, const sti_element *e, int i) {
    sti_model *m = c->m;
    static const double friction[5] = {1, 1, 0.005, 0.0001, 0.0001};
    int *g1 = m->pair_geom1 + i, *g2 = m->pair_geom2 + i, dim = sti__int(e, STI_A_condim, 3);
    *g1 = sti__reference(c, e, STI_A_geom1, STI_OBJ_GEOM);
    *g2 = sti__reference(c, e, STI_A_geom2, STI_OBJ_GEOM);
    if (*g1 >= 0 && *g2 >= 0) sort_two(g1, g2, m->geom_bodyid[*g1] > m->geom_bodyid[*g2]);
    m->pair_dim[i] = dim;
    if (dim != 1 && dim != 3 && dim != 4 && dim != 6)
        sti__complain(c, e, STI_A_condim, STI_VALUE, "must be 1, 3, 4 or 6");
    read_solver(e, m->pair_solref + 2 * i, m->pair_solimp + 5 * i);
    sti__reals(e, STI_A_solreffriction, m->pair_solreffriction + 2 * i, 2);
    sti__fill_softness(c, e, false, m->pair_softness + 4 * i);
    m->pair_margin[i] = sti__real(e, STI_A_margin, 0);
    m->pair_gap[i] = sti__real(e, STI_A_gap, 0);
    m->pair_adhesion[i] = sti__real(e, STI_A_adhesion, 0);
    if (!(m->pair_adhesion[i] >= 0)) sti__complain(c, e, STI_A_adhesion, STI_VALUE, "must not be negative");
    memcpy(m->pair_friction + 5 * i, friction, sizeof friction);
    sti__reals(e, STI_A_friction, m->pair_friction + 5 * i, 5);
}

static void fill_exclude(sti__compiler *c, const sti_element *e, int i) {
    int *b1 = c->m->exclude_body1 + i, *b2 = c->m->exclude_body2 + i;
    *b1 = sti__reference(c, e, STI_A_body1, STI_OBJ_BODY);
    *b2 = sti__reference(c, e, STI_A_body2, STI_OBJ_BODY);
    sort_two(b1, b2, *b1 > *b2);
}

void sti__fill_constraints(sti__compiler *c) {
    const sti_model *m = c->m;
    int coupled = 0;
    for (int i = 0; i < m->neq; i++) fill_equality(c, sti__object(c, STI_OBJ_EQUALITY, i), i, &coupled);
    for (int i = 0; i < m->npair; i++) fill_pair(c, sti__object(c, STI_OBJ_PAIR, i), i);
    for (int i = 0; i < m->nexclude; i++) fill_exclude(c, sti__object(c, STI_OBJ_EXCLUDE, i), i);
}
