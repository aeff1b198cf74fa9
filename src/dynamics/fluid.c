/* SPDX-License-Identifier: Apache-2.0 */
/* Places the fluid models of fluid_models.h on bodies and geoms. */
#include "dynamics/fluid.h"
#include "dynamics/fluid_models.h"

static medium medium_of(const sti_state *s) {
    return (medium){v_set(s->opt.density), v_set(s->opt.viscosity)};
}

/* A frame on a body: where a shape is. */
typedef struct shape_frame {
    const vreal *pos, *mat;
    vreal arm[3]; /* from the com of the tree */
    vreal vel[6]; /* relative to the medium, in the frame's axes */
} shape_frame;

static void place(const sti_state *s, int body, const double *pos, const double *mat, shape_frame *f) {
    const vreal *cvel = CLANES(s->cvel) + 6 * body;
    vreal point[3];
    f->pos = CLANES(pos);
    f->mat = CLANES(mat);
    v3_sub(f->arm, f->pos, CLANES(s->subtree_com) + 3 * s->model->body_rootid[body]);
    v3_cross(point, cvel, f->arm);
    v3_add(point, cvel + 3, point);
    for (int k = 0; k < 3; k++) point[k] = point[k] - v_set(s->opt.wind[k]);
    m3_mul_vec_t(f->vel, f->mat, cvel);
    m3_mul_vec_t(f->vel + 3, f->mat, point);
}

/* A force in the frame's axes, added to the spatial force of the body. */
static void add_force(const shape_frame *f, const vreal local[6], vreal out[6]) {
    vreal force[3], torque[3], turn[3];
    m3_mul_vec(torque, f->mat, local);
    m3_mul_vec(force, f->mat, local + 3);
    v3_cross(turn, f->arm, force);
    v3_add(out, out, torque);
    v3_add(out, out, turn);
    v3_add(out + 3, out + 3, force);
}

/* R b R' of 3x3 block (i, j) */
static void rotate_block(const vreal R[9], const vreal B[36], int i, int j, vreal out[36]) {
    vreal b[9], left[9];
    for (int k = 0; k < 9; k++) b[k] = B[6 * (3 * i + k / 3) + 3 * j + k % 3];
    m3_mul(left, R, b);
    for (int k = 0; k < 9; k++)
        out[6 * (3 * i + k / 3) + 3 * j + k % 3] = v3_dot(left + 3 * (k / 3), R + 3 * (k % 3));
}

/* A block in the frame's axes, moved to the com of the tree. */
static void add_block(const shape_frame *f, vreal B[36], bool symmetric, vreal K[36]) {
    const vreal *a = f->arm;
    vreal W[36];
    for (int i = 0; symmetric && i < 6; i++)
        for (int j = 0; j < i; j++) B[6 * i + j] = B[6 * j + i] = v_set(0.5) * (B[6 * i + j] + B[6 * j + i]);
    for (int k = 0; k < 4; k++) rotate_block(f->mat, B, k / 2, k % 2, W);
    for (int i = 0; i < 6; i++) {
        /* columns of rotation: minus the translation's times [a]x */
        vreal t[3], *row = W + 6 * i;
        v3_cross(t, row + 3, a);
        v3_sub(row, row, t);
    }
    for (int j = 0; j < 6; j++) {
        vreal column[3] = {W[18 + j], W[24 + j], W[30 + j]}, t[3];
        v3_cross(t, a, column);
        for (int k = 0; k < 3; k++) {
            K[6 * k + j] = K[6 * k + j] + W[6 * k + j] + t[k];
            K[6 * (3 + k) + j] = K[6 * (3 + k) + j] + W[6 * (3 + k) + j];
        }
    }
}

/* ---- shapes of a body --------------------------------------------------------------------------------- */

static void ellipsoid_of(const sti_state *s, int geom, ellipsoid *e) {
    const double *c = s->model->geom_fluid + 12 * geom;
    vreal size[3];
    PAR_ROW(size, s, geom_size, geom, 3);
    *e = (ellipsoid){
        .scale = c[0], .blunt = c[1], .slender = c[2], .angular = c[3], .kutta = c[4], .magnus = c[5]};
    for (int k = 0; k < 3; k++) {
        e->mass[k] = v_set(c[6 + k]);
        e->inertia[k] = v_set(c[9 + k]);
        e->size[k] = size[k];
    }
    int type = s->model->geom_type[geom];
    if (type == STI_GEOM_SPHERE || type == STI_GEOM_CAPSULE || type == STI_GEOM_CYLINDER) {
        e->size[1] = size[0];
        e->size[2] = type == STI_GEOM_SPHERE    ? size[0]
                     : type == STI_GEOM_CAPSULE ? size[1] + size[0]
                                                : size[1];
    }
}

static bool has_ellipsoids(const sti_model *m, int body) {
    for (int g = m->body_geomadr[body]; g < m->body_geomadr[body] + m->body_geomnum[body]; g++)
        if (m->geom_fluid[12 * g] > 0) return true;
    return false;
}

/* Box of a body; false where no lane has mass. Lanes without mass get a box of no size. */
static bool box_of(const sti_state *s, int body, vreal box[3]) {
    vreal inertia[3], mass = PAR(s, body_mass, body);
    vmask none = v_lt(mass, v_set(FLUID_TINY));
    if (v_all(none)) return false;
    PAR_ROW(inertia, s, body_inertia, body, 3);
    inertia_box(inertia, v_select(none, v_set(1), mass), box);
    for (int k = 0; k < 3; k++) box[k] = v_select(none, v_set(0), box[k]);
    return true;
}

static void body_fluid(const sti_state *s, int body, vreal out[6]) {
    const sti_model *m = s->model;
    shape_frame f;
    vreal local[6], box[3];
    if (!has_ellipsoids(m, body)) {
        if (!box_of(s, body, box)) return;
        place(s, body, s->xipos + 3 * body * STI_LANES, s->ximat + 9 * body * STI_LANES, &f);
        box_force(box, medium_of(s), f.vel, local);
        add_force(&f, local, out);
        return;
    }
    for (int g = m->body_geomadr[body]; g < m->body_geomadr[body] + m->body_geomnum[body]; g++) {
        ellipsoid e;
        if (m->geom_fluid[12 * g] <= 0) continue;
        ellipsoid_of(s, g, &e);
        place(s, body, s->geom_xpos + 3 * g * STI_LANES, s->geom_xmat + 9 * g * STI_LANES, &f);
        ellipsoid_force(&e, medium_of(s), f.vel, local);
        add_force(&f, local, out);
    }
}

void STI_K(fluid)(sti_state *s) {
    vreal *qfrc = LANES(s->qfrc_fluid), *force = LANES(s->scratch);
    for (int d = s->range.dof, end = s->range.dof_end; d < end; d++) qfrc[d] = v_set(0);
    if (!fluid_is_on(s)) return;
    for (int k = 6 * s->range.body, end = 6 * s->range.body_end; k < end; k++) force[k] = v_set(0);
    for (int b = s->range.body, end = s->range.body_end; b < end; b++) body_fluid(s, b, force + 6 * b);
    project_forces(s, force, qfrc);
}

void STI_K(fluid_block)(const sti_state *s, int body, bool symmetric, vreal K[36]) {
    const sti_model *m = s->model;
    shape_frame f;
    vreal B[36], box[3];
    if (!has_ellipsoids(m, body)) {
        if (!box_of(s, body, box)) return;
        place(s, body, s->xipos + 3 * body * STI_LANES, s->ximat + 9 * body * STI_LANES, &f);
        box_derivative(box, medium_of(s), f.vel, B);
        add_block(&f, B, symmetric, K);
        return;
    }
    for (int g = m->body_geomadr[body]; g < m->body_geomadr[body] + m->body_geomnum[body]; g++) {
        ellipsoid e;
        if (m->geom_fluid[12 * g] <= 0) continue;
        ellipsoid_of(s, g, &e);
        place(s, body, s->geom_xpos + 3 * g * STI_LANES, s->geom_xmat + 9 * g * STI_LANES, &f);
        ellipsoid_derivative(&e, medium_of(s), f.vel, B);
        add_block(&f, B, symmetric, K);
    }
}
