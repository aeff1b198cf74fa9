/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of a soft body and a geom that contact does not support: they would pass through each other, so loading names them. */
#include "model/change.h"
#include "model/compile.h"

bool sti__soft_may_meet(const sti_model *m, int flex, int geom) {
    int held = m->body_weldid[m->flex_bodyid[flex]];
    if (held != 0 && held == m->body_weldid[m->geom_bodyid[geom]]) return false;
    return m->flex_hydroelastic[flex] > 0 && ((m->flex_contype[flex] & m->geom_conaffinity[geom]) ||
                                              (m->geom_contype[geom] & m->flex_conaffinity[flex]));
}

/* About 100 MB of triangles and their tree. */
#define MOST_CELLS (1 << 18)

const char *sti__soft_refuses(const sti_model *m, int geom) {
    int data = m->geom_dataid[geom];
    if (m->geom_adhesion[geom] > 0) return "contact over patches has no adhesion";
    switch (m->geom_type[geom]) {
    case STI_GEOM_PLANE:
        return m->geom_hydroelastic[geom] > 0 ? "a plane has no pressure field: leave its stiffness out"
                                              : NULL;
    case STI_GEOM_HFIELD:
        if (m->geom_hydroelastic[geom] > 0)
            return "a height field has no pressure field: leave its stiffness out";
        return (double)m->hfield_nrow[data] * m->hfield_ncol[data] > MOST_CELLS
                   ? "a height field may have at most 262,144 heights for that"
                   : NULL;
    case STI_GEOM_SDF: return "soft bodies do not touch geoms of type sdf";
    case STI_GEOM_MESH:
        return m->mesh_hullfacenum[data] == 0 ? "this mesh is flat, and contact needs a volume" : NULL;
    default: return NULL;
    }
}

static int attribute_of(const sti_model *m, int geom) {
    int type = m->geom_type[geom];
    return m->geom_adhesion[geom] > 0 ? STI_A_adhesion
           : type == STI_GEOM_SDF     ? STI_A_type
           : type == STI_GEOM_MESH    ? STI_A_mesh
           : type == STI_GEOM_HFIELD  ? STI_A_hfield
                                      : STI_A_hydroelastic_stiffness;
}

static void check_pair(sti__compiler *c, int flex, int geom) {
    const char *why = sti__soft_refuses(c->m, geom), *soft = sti_model_name(c->m, STI_OBJ_FLEX, flex);
    if (why)
        sti__complain(
            c, sti__object(c, STI_OBJ_GEOM, geom), (sti__aid)attribute_of(c->m, geom), STI_UNSUPPORTED,
            "soft body '%s' may touch this geom, and %s; or keep them apart by contype and conaffinity", soft,
            why);
}

/* Contact over patches has no adhesion. */
void sti__check_adhesion(sti__compiler *c) {
    const sti_model *m = c->m;
    static const char why[] = "contact over patches, by hydroelastic_stiffness, has no adhesion";
    int is = 0, meets = 0; /* bits of the geoms with a pressure field */
    for (int g = 0; g < m->ngeom; g++)
        if (m->geom_hydroelastic[g] > 0) is |= m->geom_contype[g], meets |= m->geom_conaffinity[g];
    for (int g = 0; g < m->ngeom; g++)
        if (m->geom_adhesion[g] > 0 &&
            (m->geom_hydroelastic[g] > 0 || (m->geom_contype[g] & meets) || (m->geom_conaffinity[g] & is)))
            sti__complain(c, sti__object(c, STI_OBJ_GEOM, g), STI_A_adhesion, STI_UNSUPPORTED, "%s", why);
    for (int p = 0; p < m->npair; p++)
        if (m->pair_adhesion[p] > 0 &&
            (m->geom_hydroelastic[m->pair_geom1[p]] > 0 || m->geom_hydroelastic[m->pair_geom2[p]] > 0))
            sti__complain(c, sti__object(c, STI_OBJ_PAIR, p), STI_A_adhesion, STI_UNSUPPORTED, "%s", why);
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
