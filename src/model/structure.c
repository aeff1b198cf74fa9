/* SPDX-License-Identifier: Apache-2.0 */
/* The kinematic tree: parents, addresses, welds, trees, and the sparse patterns of M and D. */
#include "model/compile.h"
#include <limits.h>
#include <string.h>

static const int joint_nq[] = {7, 4, 1, 1}, joint_nv[] = {6, 3, 1, 1};

/* The body element (or worldbody) that holds an element, frames aside. */
static const sti_element *owner(const sti__compiler *c, const sti_element *e) {
    do e = sti_element_parent(e);
    while (e && sti__is_frame(c, e));
    return e;
}

/* ---- bodies and what they own ------------------------------------------------------------------------ */

/* Parts are listed body by body, so one pass over bodies and parts meets every owner in order. */
static bool assign_owners(sti__compiler *c, sti_object kind, int **bodyid) {
    int count = sti__count_of(c, kind), body = 0;
    *bodyid = sti__scratch(c, (size_t)count, sizeof(int));
    if (!*bodyid) return false;
    for (int i = 0; i < count; i++) {
        const sti_element *at = owner(c, sti__object(c, kind, i));
        if (sti__eid_of(at) != STI_E_body) continue; /* the world */
        while (sti__object(c, STI_OBJ_BODY, body) != at) body++;
        (*bodyid)[i] = body;
    }
    return true;
}

/* adr[b] = index of the first part of body b, adr[nbody] = count. */
static int *addresses(sti__compiler *c, const int *bodyid, int count) {
    int nbody = sti__count_of(c, STI_OBJ_BODY);
    int *adr = sti__scratch(c, (size_t)nbody + 1, sizeof(int));
    if (!adr) return NULL;
    for (int i = 0; i < count; i++) adr[bodyid[i] + 1]++;
    for (int b = 0; b < nbody; b++) adr[b + 1] += adr[b];
    return adr;
}

/* In document order a parent is on the path that a stack of open bodies would hold; climbing from
   the body before finds it. */
static void assign_parents(sti__compiler *c) {
    sti__tree *t = &c->tree;
    for (int b = 1; b < sti__count_of(c, STI_OBJ_BODY); b++) {
        const sti_element *parent = owner(c, sti__object(c, STI_OBJ_BODY, b));
        int p = b - 1;
        while (p > 0 && sti__object(c, STI_OBJ_BODY, p) != parent) p = t->body_parentid[p];
        t->body_parentid[b] = p;
    }
}

/* ---- joints and dofs ---------------------------------------------------------------------------------- */

static bool check_joints(sti__compiler *c, int b) {
    const sti__tree *t = &c->tree;
    int first = t->body_jntadr[b], end = t->body_jntadr[b + 1], ndof = 0;
    bool ball = false;
    for (int j = first; j < end; j++) {
        const sti_element *e = sti__object(c, STI_OBJ_JOINT, j);
        int type = t->jnt_type[j];
        if (b == 0) return sti__complain(c, e, STI_A_COUNT, STI_SCHEMA, "the world cannot have joints");
        if (type == STI_JOINT_FREE && t->body_parentid[b] != 0)
            return sti__complain(c, e, STI_A_COUNT, STI_PHYSICS,
                                 "a free joint is only possible in a child of the world");
        if (type == STI_JOINT_FREE && end - first > 1)
            return sti__complain(c, e, STI_A_COUNT, STI_PHYSICS,
                                 "a free joint must be the only joint of its body");
        if (ball && (type == STI_JOINT_BALL || type == STI_JOINT_HINGE))
            return sti__complain(c, e, STI_A_COUNT, STI_PHYSICS,
                                 "no rotation can follow a ball joint in the same body");
        ball |= type == STI_JOINT_BALL;
        ndof += joint_nv[type];
    }
    if (ndof <= 6) return true;
    return sti__complain(c, sti__object(c, STI_OBJ_BODY, b), STI_A_COUNT, STI_PHYSICS,
                         "a body has at most 6 degrees of freedom");
}

static bool number_joints(sti__compiler *c) {
    sti__tree *t = &c->tree;
    size_t njnt = c->object[STI_OBJ_JOINT].count;
    int nq = 0, nv = 0;
    t->jnt_type = sti__scratch(c, njnt, sizeof(int));
    t->jnt_qposadr = sti__scratch(c, njnt, sizeof(int));
    t->jnt_dofadr = sti__scratch(c, njnt, sizeof(int));
    if (!t->jnt_type || !t->jnt_qposadr || !t->jnt_dofadr) return false;
    for (size_t j = 0; j < njnt; j++) {
        const sti_element *e = sti__object(c, STI_OBJ_JOINT, (int)j);
        int type =
            sti__eid_of(e) == STI_E_freejoint ? STI_JOINT_FREE : sti__keyword(e, STI_A_type, STI_JOINT_HINGE);
        t->jnt_type[j] = type;
        t->jnt_qposadr[j] = nq;
        t->jnt_dofadr[j] = nv;
        if (!sti__add_to(c, e, STI_A_COUNT, &nq, (size_t)joint_nq[type], sizeof(double), "coordinates"))
            return false;
        nv += joint_nv[type];
    }
    c->m->nq = nq;
    c->m->nv = nv;
    return true;
}

/* Chains the dofs of each body onto the last dof of its parent. */
static bool chain_dofs(sti__compiler *c) {
    sti__tree *t = &c->tree;
    size_t nv = (size_t)c->m->nv;
    t->dof_parentid = sti__scratch(c, nv, sizeof(int));
    t->dof_bodyid = sti__scratch(c, nv, sizeof(int));
    t->dof_jntid = sti__scratch(c, nv, sizeof(int));
    if (!t->dof_parentid || !t->dof_bodyid || !t->dof_jntid) return false;
    t->body_lastdof[0] = -1;
    for (int b = 1; b < c->m->nbody; b++) {
        int last = t->body_lastdof[t->body_parentid[b]];
        for (int j = t->body_jntadr[b]; j < t->body_jntadr[b + 1]; j++)
            for (int k = 0; k < joint_nv[t->jnt_type[j]]; k++) {
                int d = t->jnt_dofadr[j] + k;
                t->dof_parentid[d] = last;
                t->dof_bodyid[d] = b;
                t->dof_jntid[d] = j;
                last = d;
            }
        t->body_lastdof[b] = last;
    }
    return true;
}

static void assign_welds(sti__compiler *c) {
    sti__tree *t = &c->tree;
    for (int b = 1; b < c->m->nbody; b++) {
        int parent = t->body_parentid[b];
        bool moves = t->body_jntadr[b + 1] > t->body_jntadr[b] ||
                     sti__keyword(sti__object(c, STI_OBJ_BODY, b), STI_A_mocap, 0) == 1;
        t->body_weldid[b] = moves ? b : t->body_weldid[parent];
        t->body_rootid[b] = parent == 0 ? b : t->body_rootid[parent];
    }
}

bool sti__structure(sti__compiler *c) {
    sti__tree *t = &c->tree;
    size_t nbody = (size_t)c->m->nbody;
    int **per_body[] = {&t->body_parentid, &t->body_weldid, &t->body_rootid, &t->body_lastdof};
    for (int i = 0; i < STI__COUNT(per_body); i++)
        if (!(*per_body[i] = sti__scratch(c, nbody, sizeof(int)))) return false;
    assign_parents(c);
    if (!assign_owners(c, STI_OBJ_JOINT, &t->jnt_bodyid) ||
        !assign_owners(c, STI_OBJ_GEOM, &t->geom_bodyid) ||
        !assign_owners(c, STI_OBJ_SITE, &t->site_bodyid) ||
        !assign_owners(c, STI_OBJ_CAMERA, &t->cam_bodyid) ||
        !assign_owners(c, STI_OBJ_LIGHT, &t->light_bodyid))
        return false;
    t->body_jntadr = addresses(c, t->jnt_bodyid, c->m->njnt);
    t->body_geomadr = addresses(c, t->geom_bodyid, c->m->ngeom);
    if (!t->body_jntadr || !t->body_geomadr || !number_joints(c)) return false;
    for (int b = 0; b < c->m->nbody; b++) check_joints(c, b);
    assign_welds(c);
    return chain_dofs(c) && !sti__failed(c);
}

/* ---- patterns
   ---------------------------------------------------------------------------------------------- */

/* Rows of M are a multiple of four long, so that they can be read in packs. */
static size_t padded(size_t n) { return (n + 3) & ~(size_t)3; }

/* M's factor takes the square of a dof's depth for each dof. What takes longer than a few seconds is refused: one chain of
   about 3900 dofs. */
#define MOST_WORK 2e10

void sti__size_structure(sti__compiler *c) {
    const sti__tree *t = &c->tree;
    sti_model *m = c->m;
    double work = 0;
    int *depth = sti__scratch(c, (size_t)m->nv, sizeof(int));
    if (!depth) return;
    for (int i = 0; i < m->nv; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_JOINT, t->dof_jntid[i]);
        depth[i] = 1 + (t->dof_parentid[i] < 0 ? 0 : depth[t->dof_parentid[i]]);
        m->ntree += t->dof_parentid[i] < 0;
        work += (double)depth[i] * depth[i];
        if (work > MOST_WORK) {
            sti__complain(c, e, STI_A_COUNT, STI_LIMIT,
                          "%d degrees of freedom in chains as long as this one (%d) are too many: shorter "
                          "chains, or fewer",
                          i + 1, depth[i]);
            return;
        }
        if (!sti__add_to(c, e, STI_A_COUNT, &m->nM, padded((size_t)depth[i]), sizeof(int), "elements of M") ||
            !sti__add_to(c, e, STI_A_COUNT, &m->nD, 2 * (size_t)depth[i] - 1, sizeof(int), "elements of D"))
            return;
    }
}

/* Row i of M: the path from the root to i. */
static void fill_M(sti_model *m) {
    int adr = 0;
    for (int i = 0; i < m->nv; i++) {
        int parent = m->dof_parentid[i], n = parent < 0 ? 0 : m->M_rownnz[parent];
        m->M_rowadr[i] = adr;
        m->M_rownnz[i] = n + 1;
        if (parent >= 0)
            memcpy(m->M_colind + adr, m->M_colind + m->M_rowadr[parent], (size_t)n * sizeof(int));
        int end = adr + (int)padded((size_t)n + 1);
        for (adr += n; adr < end; adr++) m->M_colind[adr] = i;
    }
}

/* Row i of D: the path from the root to i, then everything that moves with i. */
static void fill_D(sti_model *m) {
    for (int i = 0; i < m->nv; i++) m->D_rownnz[i] = 0;
    for (int i = 0; i < m->nv; i++)
        for (int k = 0; k < m->M_rownnz[i]; k++) m->D_rownnz[m->M_colind[m->M_rowadr[i] + k]]++;
    int adr = 0;
    for (int i = 0; i < m->nv; i++) {
        int above = m->M_rownnz[i] - 1;
        m->D_rowadr[i] = adr;
        m->D_diag[i] = above;
        memcpy(m->D_colind + adr, m->M_colind + m->M_rowadr[i], (size_t)above * sizeof(int));
        adr += above + m->D_rownnz[i];
        m->D_rownnz[i] = above;
    }
    for (int j = 0; j < m->nv; j++)
        for (int k = 0; k < m->M_rownnz[j]; k++) {
            int i = m->M_colind[m->M_rowadr[j] + k];
            m->D_colind[m->D_rowadr[i] + m->D_rownnz[i]++] = j;
        }
}

/* A tree starts at a dof without a parent; bodies that cannot move have none. */
static void fill_trees(sti_model *m) {
    int ntree = 0;
    for (int i = 0; i < m->nv; i++)
        m->dof_treeid[i] = m->dof_parentid[i] < 0 ? ntree++ : m->dof_treeid[m->dof_parentid[i]];
    for (int b = 0; b < m->nbody; b++)
        m->body_treeid[b] = m->body_lastdof[b] < 0 ? -1 : m->dof_treeid[m->body_lastdof[b]];
}

static void copy_ints(int *out, const int *from, int count) {
    memcpy(out, from, (size_t)count * sizeof(int));
}

static void fill_addresses(sti__compiler *c) {
    const sti__tree *t = &c->tree;
    sti_model *m = c->m;
    for (int b = 0; b < m->nbody; b++) {
        int jnt = t->body_jntadr[b], njnt = t->body_jntadr[b + 1] - jnt;
        int geom = t->body_geomadr[b], ngeom = t->body_geomadr[b + 1] - geom, ndof = 0;
        for (int j = jnt; j < jnt + njnt; j++) ndof += joint_nv[t->jnt_type[j]];
        m->body_jntnum[b] = njnt;
        m->body_jntadr[b] = njnt ? jnt : -1;
        m->body_dofnum[b] = ndof;
        m->body_dofadr[b] = ndof ? t->jnt_dofadr[jnt] : -1;
        m->body_geomnum[b] = ngeom;
        m->body_geomadr[b] = ngeom ? geom : -1;
    }
}

void sti__fill_structure(sti__compiler *c) {
    const sti__tree *t = &c->tree;
    sti_model *m = c->m;
    copy_ints(m->body_parentid, t->body_parentid, m->nbody);
    copy_ints(m->body_weldid, t->body_weldid, m->nbody);
    copy_ints(m->body_rootid, t->body_rootid, m->nbody);
    copy_ints(m->body_lastdof, t->body_lastdof, m->nbody);
    copy_ints(m->jnt_type, t->jnt_type, m->njnt);
    copy_ints(m->jnt_bodyid, t->jnt_bodyid, m->njnt);
    copy_ints(m->jnt_qposadr, t->jnt_qposadr, m->njnt);
    copy_ints(m->jnt_dofadr, t->jnt_dofadr, m->njnt);
    copy_ints(m->dof_parentid, t->dof_parentid, m->nv);
    copy_ints(m->dof_bodyid, t->dof_bodyid, m->nv);
    copy_ints(m->dof_jntid, t->dof_jntid, m->nv);
    copy_ints(m->geom_bodyid, t->geom_bodyid, m->ngeom);
    copy_ints(m->site_bodyid, t->site_bodyid, m->nsite);
    copy_ints(m->cam_bodyid, t->cam_bodyid, m->ncam);
    copy_ints(m->light_bodyid, t->light_bodyid, m->nlight);
    fill_addresses(c);
    fill_trees(m);
    fill_M(m);
    fill_D(m);
}
