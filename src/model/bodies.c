/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies, and the order in which what belongs to them is filled in. */
#include "model/bodies.h"
#include "math/rot.h"

static bool is_mocap(const sti__compiler *c, int b) {
    return sti__keyword(sti__object(c, STI_OBJ_BODY, b), STI_A_mocap, 0) == 1;
}

void sti__size_bodies(sti__compiler *c) {
    const sti__tree *t = &c->tree;
    sti__size_joints(c);
    for (int b = 1; b < c->m->nbody; b++) {
        if (!is_mocap(c, b)) continue;
        c->m->nmocap++;
        if (t->body_parentid[b] != 0 || t->body_jntadr[b + 1] > t->body_jntadr[b])
            sti__complain(c, sti__object(c, STI_OBJ_BODY, b), STI_A_mocap, STI_PHYSICS,
                          "a mocap body is a child of the world without joints");
    }
}

static void fill_poses(sti__compiler *c) {
    sti_model *m = c->m;
    int mocap = 0;
    quat_identity(m->body_quat);
    m->body_mocapid[0] = -1;
    m->body_contactlook[0] = STI_LOOK_SCENE;
    for (int b = 1; b < m->nbody; b++) {
        const sti_element *e = sti__object(c, STI_OBJ_BODY, b);
        sti__read_pose(c, e, m->body_pos + 3 * b, m->body_quat + 4 * b);
        m->body_gravcomp[b] = sti__real(e, STI_A_gravcomp, 0);
        m->body_contactlook[b] = sti__keyword(e, STI_A_contact, STI_LOOK_SCENE);
        m->body_mocapid[b] = is_mocap(c, b) ? mocap++ : -1;
    }
}

void sti__fill_bodies(sti__compiler *c) {
    sti__geom_mass *mass = sti__scratch(c, (size_t)c->m->ngeom, sizeof *mass);
    if (!mass) return;
    fill_poses(c);
    sti__fill_joints(c);
    sti__fill_geoms(c, mass);
    if (!sti__failed(c)) sti__fill_inertia(c, mass);
    sti__fill_sites(c);
    sti__fill_views(c);
    if (!sti__failed(c)) sti__align_free(c);
}
