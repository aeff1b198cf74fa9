/* SPDX-License-Identifier: Apache-2.0 */
/* Mass, centre of mass and principal inertia of bodies. */
#include "math/eig3.h"
#include "math/rot.h"
#include "model/bodies.h"

void sti__principal_axes(const double f[6], double quat[4], double moment[3]) {
    const double mat[9] = {f[0], f[3], f[4], f[3], f[1], f[5], f[4], f[5], f[2]};
    sti__eig3(moment, quat, mat);
}

void sti__add_inertia(double full[6], const double moment[3], const double quat[4], double mass,
                      const double d[3]) {
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    double r[9], d2 = v3_dot(d, d);
    quat_to_mat(r, quat);
    for (int k = 0; k < 6; k++) {
        const double *a = r + 3 * row[k], *b = r + 3 * col[k];
        double turned = a[0] * b[0] * moment[0] + a[1] * b[1] * moment[1] + a[2] * b[2] * moment[2];
        full[k] += turned + mass * ((row[k] == col[k] ? d2 : 0) - d[row[k]] * d[col[k]]);
    }
}

/* ---- from geoms --------------------------------------------------------------------------------------- */

/* The body element, fused or not, that a geom is in. */
static const sti_element *geom_home(const sti__compiler *c, int g) {
    const sti_element *e = sti_element_parent(sti__object(c, STI_OBJ_GEOM, g));
    while (e && sti__eid_of(e) == STI_E_frame) e = sti_element_parent(e);
    return e;
}

/* Whether a geom counts in the inertia of the body element `home`; NULL: of all that are fused. */
static bool counts(const sti__compiler *c, const sti_element *home, const sti__geom_mass *mass, int g) {
    int group = c->m->geom_group[g];
    if (home && c->fused.count && geom_home(c, g) != home) return false;
    return group >= c->inertiagrouprange[0] && group <= c->inertiagrouprange[1] &&
           mass[g].mass >= STI__MINVAL;
}

/* Where the mass of a geom is in its body. */
static void mass_frame(const sti_model *m, int g, const sti__geom_mass *mass, double pos[3], double quat[4]) {
    const double *at = m->geom_pos + 3 * g, *turn = m->geom_quat + 4 * g;
    v3_copy(pos, mass->apart ? mass->com : at);
    quat_copy(quat, mass->apart ? mass->axes : turn);
    if (mass->apart) sti__pose_compose(at, turn, pos, quat);
}

/* One geom gives its own frame. */
static void from_one(sti_model *m, int b, int g, const sti__geom_mass *mass) {
    mass_frame(m, g, mass, m->body_ipos + 3 * b, m->body_iquat + 4 * b);
    v3_copy(m->body_inertia + 3 * b, mass->moment);
    m->body_mass[b] = mass->mass;
}

static void from_many(sti__compiler *c, const sti_element *home, int b, const sti__geom_mass *mass) {
    sti_model *m = c->m;
    double total = 0, com[3] = {0}, full[6] = {0};
    int first = m->body_geomadr[b], end = first + m->body_geomnum[b];
    for (int g = first; g < end; g++) {
        double pos[3], quat[4];
        if (!counts(c, home, mass, g)) continue;
        mass_frame(m, g, mass + g, pos, quat);
        total += mass[g].mass;
        v3_add_scaled(com, pos, mass[g].mass);
    }
    for (int i = 0; i < 3; i++) com[i] /= total;
    for (int g = first; g < end; g++) {
        double d[3], pos[3], quat[4];
        if (!counts(c, home, mass, g)) continue;
        mass_frame(m, g, mass + g, pos, quat);
        v3_sub(d, pos, com);
        sti__add_inertia(full, mass[g].moment, quat, mass[g].mass, d);
    }
    m->body_mass[b] = total;
    v3_copy(m->body_ipos + 3 * b, com);
    sti__principal_axes(full, m->body_iquat + 4 * b, m->body_inertia + 3 * b);
}

static bool from_geoms(sti__compiler *c, const sti_element *home, int b, const sti__geom_mass *mass) {
    sti_model *m = c->m;
    int count = 0, last = -1, first = m->body_geomadr[b];
    for (int g = first; g < first + m->body_geomnum[b]; g++)
        if (counts(c, home, mass, g)) {
            count++;
            last = g;
        }
    if (count == 1) from_one(m, b, last, mass + last);
    else if (count > 1) from_many(c, home, b, mass);
    return count > 0;
}

/* ---- from the inertial element
   ----------------------------------------------------------------------------- */

static void from_full(sti__compiler *c, const sti_element *e, int b) {
    sti_model *m = c->m;
    double full[6] = {0};
    sti__reals(e, STI_A_fullinertia, full, 6);
    sti__principal_axes(full, m->body_iquat + 4 * b, m->body_inertia + 3 * b);
    if (sti__has(e, STI_A_diaginertia))
        sti__complain(c, e, STI_A_fullinertia, STI_VALUE, "diaginertia and fullinertia are both given");
    else if (sti__has(e, STI_A_quat) || sti__has(e, STI_A_axisangle) || sti__has(e, STI_A_euler) ||
             sti__has(e, STI_A_xyaxes) || sti__has(e, STI_A_zaxis))
        sti__complain(c, e, STI_A_fullinertia, STI_VALUE, "it has an orientation already");
    else if (!(m->body_inertia[3 * b + 2] >= STI__TINY))
        sti__complain(c, e, STI_A_fullinertia, STI_PHYSICS, "must have positive eigenvalues");
}

static void from_element(sti__compiler *c, const sti_element *e, int b) {
    sti_model *m = c->m;
    double frame_pos[3], frame_quat[4];
    sti__reals(e, STI_A_pos, m->body_ipos + 3 * b, 3);
    m->body_mass[b] = sti__real(e, STI_A_mass, 0);
    if (m->body_mass[b] < 0) sti__complain(c, e, STI_A_mass, STI_PHYSICS, "cannot be negative");
    sti__orientation(c, e, m->body_iquat + 4 * b);
    if (sti__has(e, STI_A_fullinertia)) from_full(c, e, b);
    else sti__reals(e, STI_A_diaginertia, m->body_inertia + 3 * b, 3);
    if (sti__frame_pose(c, e, frame_pos, frame_quat)) /* of a fused body */
        sti__pose_compose(frame_pos, frame_quat, m->body_ipos + 3 * b, m->body_iquat + 4 * b);
    for (int i = 0; i < 3; i++)
        if (m->body_inertia[3 * b + i] < 0) {
            sti__complain(c, e, STI_A_diaginertia, STI_PHYSICS, "cannot be negative");
            return;
        }
}

/* ---- bounds and checks
   ------------------------------------------------------------------------------------------ */

static void check_triangle(sti__compiler *c, const sti_element *e, double moment[3]) {
    double a = moment[0], b = moment[1], d = moment[2];
    if (a + b >= d && a + d >= b && b + d >= a) return;
    if (c->balanceinertia) moment[0] = moment[1] = moment[2] = (a + b + d) / 3;
    else
        sti__complain(c, e, STI_A_COUNT, STI_PHYSICS,
                      "inertia must satisfy A + B >= C; compiler@balanceinertia can repair it");
}

/* What the body element e, fused or not, gives body b. */
static void fill_own_inertia(sti__compiler *c, const sti_element *e, int b, const sti__geom_mass *mass) {
    sti_model *m = c->m;
    const sti_element *inertial = sti__first(e, STI_E_inertial);
    /* without any mass the inertial frame is where MuJoCo leaves it: at the body's pose as written */
    sti__own_pose(c, e, m->body_ipos + 3 * b, m->body_iquat + 4 * b);
    if (sti__is_frame(c, e)) {
        double pos[3], quat[4];
        sti__read_pose(c, e, pos, quat);
        sti__pose_compose(pos, quat, m->body_ipos + 3 * b, m->body_iquat + 4 * b);
    }
    bool geoms = c->inertiafromgeom || (c->inertiafromgeom_auto && !inertial);
    if (!(geoms && from_geoms(c, c->inertiafromgeom ? NULL : e, b, mass)) && inertial)
        from_element(c, inertial, b);
    m->body_mass[b] = fmax(m->body_mass[b], c->boundmass);
    for (int i = 0; i < 3; i++)
        m->body_inertia[3 * b + i] = fmax(m->body_inertia[3 * b + i], c->boundinertia);
    check_triangle(c, inertial ? inertial : e, m->body_inertia + 3 * b);
    double all =
        m->body_mass[b] + m->body_inertia[3 * b] + m->body_inertia[3 * b + 1] + m->body_inertia[3 * b + 2];
    if (!isfinite(all))
        sti__complain(c, e, STI_A_COUNT, STI_PHYSICS, "mass or inertia is too large to compute");
}

/* A body's mass with its place and principal moments. */
typedef struct lump {
    double mass, pos[3], quat[4], moment[3];
} lump;

static lump take_lump(sti_model *m, int b) {
    lump l = {.mass = m->body_mass[b]};
    v3_copy(l.pos, m->body_ipos + 3 * b);
    quat_copy(l.quat, m->body_iquat + 4 * b);
    v3_copy(l.moment, m->body_inertia + 3 * b);
    m->body_mass[b] = 0;
    v3_zero(m->body_inertia + 3 * b);
    return l;
}

static void give_lump(sti_model *m, int b, const lump *l) {
    m->body_mass[b] = l->mass;
    v3_copy(m->body_ipos + 3 * b, l->pos);
    quat_copy(m->body_iquat + 4 * b, l->quat);
    v3_copy(m->body_inertia + 3 * b, l->moment);
}

static lump join(const lump *a, const lump *b) {
    const lump *both[2] = {a, b};
    lump r = {.mass = a->mass + b->mass};
    double full[6] = {0}, d[3];
    for (int i = 0; i < 2; i++) v3_add_scaled(r.pos, both[i]->pos, both[i]->mass / r.mass);
    for (int i = 0; i < 2; i++) {
        v3_sub(d, both[i]->pos, r.pos);
        sti__add_inertia(full, both[i]->moment, both[i]->quat, both[i]->mass, d);
    }
    sti__principal_axes(full, r.quat, r.moment);
    return r;
}

static void fill_body_inertia(sti__compiler *c, int b, const sti__geom_mass *mass) {
    const sti_element *body = sti__object(c, STI_OBJ_BODY, b);
    fill_own_inertia(c, body, b, mass);
    if (c->inertiafromgeom) return; /* the geoms of fused bodies are among its own, as in MuJoCo */
    for (const sti_element *e = sti__next_fused(c, body, NULL); e; e = sti__next_fused(c, body, e)) {
        lump all = take_lump(c->m, b);
        fill_own_inertia(c, e, b, mass);
        lump more = take_lump(c->m, b);
        if (more.mass >= STI__MINVAL) all = join(&all, &more);
        give_lump(c->m, b, &all);
    }
}

/* A body with joints must have mass: its own, or that of bodies fixed to it. */
static void check_moving(sti__compiler *c) {
    sti_model *m = c->m;
    bool *heavy = sti__scratch(c, (size_t)m->nbody, sizeof *heavy);
    if (!heavy) return;
    for (int b = 1; b < m->nbody; b++) {
        const double *i = m->body_inertia + 3 * b;
        if (m->body_mass[b] >= STI__MINVAL && i[0] >= STI__MINVAL && i[1] >= STI__MINVAL &&
            i[2] >= STI__MINVAL)
            heavy[m->body_weldid[b]] = true;
    }
    for (int b = 1; b < m->nbody; b++)
        if (m->body_jntnum[b] > 0 && !heavy[b])
            sti__complain(c, sti__object(c, STI_OBJ_BODY, b), STI_A_COUNT, STI_PHYSICS,
                          "a body that moves needs mass and inertia of at least %g", STI__MINVAL);
}

static void scale_total(sti__compiler *c) {
    sti_model *m = c->m;
    double total = 0;
    for (int b = 1; b < m->nbody; b++) total += m->body_mass[b];
    if (!(c->settotalmass > 0) || total < STI__MINVAL) return;
    double scale = c->settotalmass / total;
    for (int b = 1; b < m->nbody; b++) {
        m->body_mass[b] *= scale;
        v3_scale(m->body_inertia + 3 * b, m->body_inertia + 3 * b, scale);
    }
}

void sti__sum_masses(sti_model *m) {
    for (int b = 0; b < m->nbody; b++) m->body_subtreemass[b] = 0;
    for (int b = m->nbody - 1; b >= 0; b--) {
        m->body_subtreemass[b] += m->body_mass[b];
        if (b > 0) m->body_subtreemass[m->body_parentid[b]] += m->body_subtreemass[b];
    }
}

void sti__fill_inertia(sti__compiler *c, const sti__geom_mass *mass) {
    sti_model *m = c->m;
    quat_identity(m->body_iquat);
    for (int b = 1; b < m->nbody; b++) fill_body_inertia(c, b, mass);
    check_moving(c);
    scale_total(c);
    sti__sum_masses(m);
}
