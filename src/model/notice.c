/* SPDX-License-Identifier: Apache-2.0 */
/* Says once per kind what the model holds but this version does not enforce. */
#include "model/compile.h"

static void notice(sti__compiler *c, sti_object kind, int id, int flag, const char *what) {
    int off = c->m->opt.disableflags;
    if (id < 0 || (off & flag) || (off & STI_DISABLE_CONSTRAINT)) return;
    sti__warn(c, sti__object(c, kind, id), STI_A_COUNT,
              "%s are kept in the model, but not enforced by this version", what);
}

static int first_set(const int *flag, int count) {
    for (int i = 0; i < count; i++)
        if (flag[i]) return i;
    return -1;
}

static int first_positive(const double *value, int count) {
    for (int i = 0; i < count; i++)
        if (value[i] > 0) return i;
    return -1;
}

/* A geom that moves and could touch something. */
static int first_touching(const sti_model *m) {
    int type = 0, affinity = 0, moving = -1;
    for (int g = 0; g < m->ngeom; g++) {
        type |= m->geom_contype[g];
        affinity |= m->geom_conaffinity[g];
    }
    for (int g = 0; g < m->ngeom && moving < 0; g++)
        if (m->body_weldid[m->geom_bodyid[g]] != 0 &&
            ((m->geom_contype[g] & affinity) || (m->geom_conaffinity[g] & type)))
            moving = g;
    return m->ngeom > 1 ? moving : -1;
}

void sti__notices(sti__compiler *c) {
    const sti_model *m = c->m;
    int dof = first_positive(m->dof_frictionloss, m->nv), touching = first_touching(m);
    notice(c, STI_OBJ_JOINT, first_set(m->jnt_limited, m->njnt), STI_DISABLE_LIMIT, "joint limits");
    notice(c, STI_OBJ_TENDON, first_set(m->tendon_limited, m->ntendon), STI_DISABLE_LIMIT, "tendon limits");
    notice(c, STI_OBJ_JOINT, dof < 0 ? -1 : m->dof_jntid[dof], STI_DISABLE_FRICTIONLOSS,
           "dry friction of joints");
    notice(c, STI_OBJ_TENDON, first_positive(m->tendon_frictionloss, m->ntendon), STI_DISABLE_FRICTIONLOSS,
           "dry friction of tendons");
    notice(c, STI_OBJ_EQUALITY, first_set(m->eq_active0, m->neq), STI_DISABLE_EQUALITY,
           "equality constraints");
    if (m->npair > 0) notice(c, STI_OBJ_PAIR, 0, STI_DISABLE_CONTACT, "contacts");
    else notice(c, STI_OBJ_GEOM, touching, STI_DISABLE_CONTACT, "contacts");
}
