/* SPDX-License-Identifier: Apache-2.0 */
/* Which scheme a body's step is taken by. Bodies that joints, equalities, tendons, actuators or contacts couple form a part,
   and all of a part take the same one: that of the options as long as its motion is smooth. A scheme of second order assumes
   velocities without jumps. Across an impact BDF2 would extrapolate the velocity from before it, and the midpoint rule would
   send a body back as fast as it came: where a contact, limit or dry friction pushes, the part takes a step of implicit Euler,
   whose law holds for the velocity at the end of the step, and begins anew after it. */
#include "integrate/alm/inside.h"
#include <string.h>

/* ---- parts ------------------------------------------------------------------------------------------------------ */

static int root(sti__alm *alm, int i) {
    while (alm->part[i] != i) i = alm->part[i] = alm->part[alm->part[i]];
    return i;
}

static void join(sti__alm *alm, int a, int b) {
    if (a < 0 || b < 0) return;
    int x = root(alm, a), y = root(alm, b);
    if (x < y) alm->part[y] = x;
    else alm->part[x] = y;
}

static void join_dofs(sti__alm *alm, const int *dofs, int n) {
    for (int k = 1; k < n; k++) join(alm, alm->coord[dofs[0]].b, alm->coord[dofs[k]].b);
}

static void join_equality(sti__alm *alm, const sti_state *s, int e) {
    const sti_model *m = alm->model;
    int type = m->eq_type[e], id[2] = {m->eq_obj1id[e], m->eq_obj2id[e]}, body[2];
    if (!s->eq_active[e] || type == STI_EQ_DISTANCE || type == STI_EQ_COUPLED || id[1] < 0) return;
    for (int k = 0; k < 2; k++) {
        bool site = m->eq_objtype[e] == STI_OBJ_SITE;
        if (type == STI_EQ_JOINT) body[k] = alm->after[id[k]];
        else if (type == STI_EQ_TENDON)
            body[k] = m->ten_J_rownnz[id[k]] ? alm->coord[m->ten_J_colind[m->ten_J_rowadr[id[k]]]].b : -1;
        else body[k] = alm->link[site ? m->site_bodyid[id[k]] : id[k]];
    }
    join(alm, body[0], body[1]);
}

static void find_parts(sti__alm *alm, const sti_state *s, const sti__alm_touch *touch) {
    const sti_model *m = alm->model;
    const sti__alm_extra *extra = &touch->extra;
    for (int i = 0; i < alm->nbody; i++) alm->part[i] = i;
    for (int j = 0; j < m->njnt; j++) join(alm, alm->before[j], alm->after[j]);
    for (int e = 0; e < m->neq; e++) join_equality(alm, s, e);
    for (int t = 0; t < m->ntendon; t++)
        join_dofs(alm, m->ten_J_colind + m->ten_J_rowadr[t], m->ten_J_rownnz[t]);
    for (int i = 0; i < m->nout; i++)
        join_dofs(alm, m->moment_colind + m->moment_rowadr[i], m->moment_rownnz[i]);
    for (int b = 0; b < extra->nblock; b++) {
        int begin = extra->jstart[extra->first[b]], end = extra->jstart[extra->first[b + 1]];
        join_dofs(alm, extra->jcol + begin, end - begin);
    }
    for (int i = 0; i < touch->count; i++)
        join(alm, alm->link[touch->contact[i].body1], alm->link[touch->contact[i].body2]);
    for (int i = 0; i < alm->nbody; i++) alm->part[i] = root(alm, i);
}

/* ---- schemes ---------------------------------------------------------------------------------------------------- */

/* The scheme of a part: implicit Euler if one of its bodies asks for it, BDF2 if all of them have a step behind them. */
static int lower(int a, int b) {
    static const int rank[] = {[STI__ALM_EULER] = 0, [STI__ALM_MIDPOINT] = 1, [STI__ALM_BDF2] = 2};
    return rank[a] < rank[b] ? a : b;
}

static int own_kind(const sti__alm *alm, int i, int asked) {
    if (alm->plain[i] || alm->past[i].touched > 0) return STI__ALM_EULER;
    return asked == STI__ALM_BDF2 && !(alm->past[i].steps > 0) ? STI__ALM_MIDPOINT : asked;
}

void sti__alm_choose(sti__alm *alm, const sti_state *s, const sti__alm_touch *touch) {
    int asked = s->opt.alm_scheme;
    for (int k = 0; k < STI__ALM_SCHEMES; k++) alm->scheme[k] = sti__scheme_of(k, s->opt.timestep);
    for (int i = 0; i < alm->nbody; i++) alm->kind[i] = STI__ALM_EULER;
    alm->info.plain = alm->second = 0;
    if (asked != STI__ALM_EULER) {
        find_parts(alm, s, touch);
        for (int i = 0; i < alm->nbody; i++) alm->kind[alm->part[i]] = asked;
        for (int i = 0; i < alm->nbody; i++) {
            int *part = &alm->kind[alm->part[i]];
            *part = lower(*part, own_kind(alm, i, asked));
        }
        for (int i = 0; i < alm->nbody; i++) alm->kind[i] = alm->kind[alm->part[i]];
    }
    for (int i = 0; i < alm->nbody; i++) {
        alm->body[i].scheme = &alm->scheme[alm->kind[i]];
        alm->second += alm->kind[i] != STI__ALM_EULER;
        alm->info.plain += asked != STI__ALM_EULER && alm->kind[i] == STI__ALM_EULER;
    }
}

/* ---- what pushes ------------------------------------------------------------------------------------------------- */

static void mark(sti__alm *alm, int body) {
    if (body >= 0) alm->pushed[alm->part[body]] = 1;
}

/* A limit, dry friction, or a block over dofs, which is a law of velocities; a servo at its bound is no blow. */
static bool sum_pushes(const sti__alm_sum *sum) {
    if (sum->extra > 0) {
        bool any = false;
        for (int r = 0; r < sum->extra; r++) any |= sum[r].f != 0;
        return any;
    }
    return sum->law.dim > 0 && sum->law.kind != STI_ROW_QUADRATIC && sum->f != 0;
}

static void find_pushed(sti__alm *alm) {
    memset(alm->pushed, 0, sizeof(int) * (size_t)alm->nbody);
    for (int i = alm->npin_fixed; i < alm->npin; i++) {
        const sti__pin *pin = &alm->pin[i];
        if (pin->f[0] == 0) continue;
        mark(alm, pin->a);
        mark(alm, pin->b);
    }
    for (int i = 0; i < alm->nsum; i++)
        if (alm->sum[i].n > 0 && sum_pushes(&alm->sum[i]))
            mark(alm, alm->coord[alm->term_dof[alm->sum[i].first]].b);
}

bool sti__alm_retreat(sti__alm *alm, bool all) {
    bool any = false;
    if (alm->second == 0) return false;
    find_pushed(alm);
    for (int i = 0; i < alm->nbody; i++) {
        bool now = alm->kind[i] != STI__ALM_EULER && (all || alm->pushed[alm->part[i]]);
        alm->plain[i] |= now;
        any |= now;
    }
    return any;
}

void sti__alm_remember_parts(sti__alm *alm, const sti_state *s) {
    if (s->opt.alm_scheme == STI__ALM_EULER) return;
    find_pushed(alm);
    for (int i = 0; i < alm->nbody; i++) {
        alm->past[i].touched = alm->pushed[alm->part[i]];
        alm->past[i].steps = alm->kind[i] == STI__ALM_EULER ? 0 : alm->past[i].steps + 1;
    }
}
