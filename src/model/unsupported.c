/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of a soft body and a geom that contact does not support: they would pass through each other, so loading names them. */
#include "math/rot.h"
#include "model/change.h"
#include "model/compile.h"
#include <math.h>

/* A mesh counts as convex if it fills this much of its hull: rounding of its vertices, bevels and small holes are left alone. */
#define FILLED 0.95

/* Volume of a surface, about its first vertex. */
static double volume_of(const float *vert, const int *face, int nface) {
    double sum = 0, a[3], b[3], c[3], n[3];
    for (int f = 0; f < nface; f++) {
        const float *x = vert + 3 * (size_t)face[3 * f], *y = vert + 3 * (size_t)face[3 * f + 1],
                    *z = vert + 3 * (size_t)face[3 * f + 2];
        for (int k = 0; k < 3; k++) {
            a[k] = (double)x[k] - (double)vert[k];
            b[k] = (double)y[k] - (double)vert[k];
            c[k] = (double)z[k] - (double)vert[k];
        }
        v3_cross(n, b, c);
        sum += v3_dot(a, n) / 6;
    }
    return sum;
}

/* How much of its hull a mesh fills; 1 if it has no surface of its own. */
static double filled(const sti_model *m, int mesh) {
    const float *vert = m->mesh_vert + 3 * (size_t)m->mesh_vertadr[mesh];
    if (m->mesh_facenum[mesh] == 0) return 1;
    double own = volume_of(vert, m->mesh_face + 3 * (size_t)m->mesh_faceadr[mesh], m->mesh_facenum[mesh]);
    double hull =
        volume_of(vert, m->mesh_hullface + 3 * (size_t)m->mesh_hullfaceadr[mesh], m->mesh_hullfacenum[mesh]);
    return fabs(hull) > 0 ? fabs(own / hull) : 0;
}

bool sti__soft_may_meet(const sti_model *m, int flex, int geom) {
    int held = m->body_weldid[m->flex_bodyid[flex]];
    if (held != 0 && held == m->body_weldid[m->geom_bodyid[geom]]) return false;
    return m->flex_hydroelastic[flex] > 0 && ((m->flex_contype[flex] & m->geom_conaffinity[geom]) ||
                                              (m->geom_contype[geom] & m->flex_conaffinity[flex]));
}

#define APART "keep them apart by contype and conaffinity"

static void check_mesh(sti__compiler *c, const sti_element *e, const char *soft, int mesh) {
    const sti_element *asset = sti__object(c, STI_OBJ_MESH, mesh);
    enum { CONVEX }; /* mesh@inertia */
    if (c->m->mesh_hullfacenum[mesh] == 0) {
        sti__complain(c, e, STI_A_mesh, STI_UNSUPPORTED,
                      "soft body '%s' may touch this mesh, which is flat: contact needs a volume; " APART,
                      soft);
        return;
    }
    double share = filled(c->m, mesh);
    if (share >= FILLED || sti__keyword(asset, STI_A_inertia, CONVEX + 2) == CONVEX) return;
    sti__complain(c, e, STI_A_mesh, STI_UNSUPPORTED,
                  "soft body '%s' may touch this mesh, which is not convex (it fills %.0f %% of its hull): "
                  "contact would take "
                  "the hull. Make it of convex parts, " APART
                  ", or set inertia=\"convex\" of the mesh if its hull will do",
                  soft, 100 * share);
}

static void check_pair(sti__compiler *c, int flex, int geom) {
    const sti_model *m = c->m;
    const sti_element *e = sti__object(c, STI_OBJ_GEOM, geom);
    const char *soft = sti_model_name(m, STI_OBJ_FLEX, flex);
    if (m->geom_type[geom] == STI_GEOM_HFIELD)
        sti__complain(c, e, STI_A_hfield, STI_UNSUPPORTED,
                      "soft body '%s' may touch this height field, which is not supported; " APART, soft);
    if (m->geom_type[geom] == STI_GEOM_PLANE && m->geom_hydroelastic[geom] > 0)
        sti__complain(
            c, e, STI_A_hydroelastic_stiffness, STI_UNSUPPORTED,
            "a plane has no pressure field, which soft body '%s' may touch; leave the stiffness out", soft);
    if (m->geom_type[geom] == STI_GEOM_MESH) check_mesh(c, e, soft, m->geom_dataid[geom]);
}

/* The first soft body that a geom may touch names it. */
void sti__check_soft_pairs(sti__compiler *c) {
    const sti_model *m = c->m;
    for (int g = 0; g < m->ngeom; g++)
        for (int f = 0; f < m->nflex; f++)
            if (sti__soft_may_meet(m, f, g)) {
                check_pair(c, f, g);
                break;
            }
}
