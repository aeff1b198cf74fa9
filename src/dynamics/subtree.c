/* SPDX-License-Identifier: Apache-2.0 */
/* Linear velocity of the centre of mass of each subtree, and angular momentum about it. */
#include "dynamics/spatial.h"

void STI_K(subtree)(sti_state *s);

/* Velocity of the centre of mass of body i, and its spin angular momentum. */
static inline void body_motion(const sti_state *s, int i, vreal linear[3], vreal spin[3]) {
    const vreal *cvel = CLANES(s->cvel) + 6 * i, *R = CLANES(s->ximat) + 9 * i;
    vreal arm[3], turn[3], local[3];
    v3_sub(arm, CLANES(s->xipos) + 3 * i, CLANES(s->subtree_com) + 3 * s->model->body_rootid[i]);
    v3_cross(turn, cvel, arm);
    v3_add(linear, cvel + 3, turn);
    m3_mul_vec_t(local, R, cvel);
    for (int k = 0; k < 3; k++) local[k] = local[k] * PAR(s, body_inertia, 3 * i + k);
    m3_mul_vec(spin, R, local);
}

/* momentum += (p - p0) x mass (v - v0) */
static inline void add_moment(vreal *restrict momentum, const vreal *p, const vreal *p0, const vreal *v,
                              const vreal *v0, vreal mass) {
    vreal arm[3], dv[3], moment[3];
    v3_sub(arm, p, p0);
    v3_sub(dv, v, v0);
    v3_cross(moment, arm, dv);
    v3_add_scaled(momentum, moment, mass);
}

void STI_K(subtree)(sti_state *s) {
    const sti_model *m = s->model;
    const vreal *com = CLANES(s->subtree_com), *xipos = CLANES(s->xipos);
    vreal *body = LANES(s->scratch), *linvel = LANES(s->subtree_linvel), *angmom = LANES(s->subtree_angmom);
    for (int i = 0; i < m->nbody; i++) {
        body_motion(s, i, body + 3 * i, angmom + 3 * i);
        v3_scale(linvel + 3 * i, body + 3 * i, PAR(s, body_mass, i));
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        int parent = m->body_parentid[i];
        if (i > 0) v3_add(linvel + 3 * parent, linvel + 3 * parent, linvel + 3 * i);
        vreal mass = v_max(PAR(s, body_subtreemass, i), v_set(1e-15));
        v3_scale(linvel + 3 * i, linvel + 3 * i, v_set(1) / mass);
    }
    for (int i = m->nbody - 1; i >= 0; i--) {
        vreal *own = angmom + 3 * i, *up = angmom + 3 * m->body_parentid[i];
        int p = m->body_parentid[i];
        add_moment(own, xipos + 3 * i, com + 3 * i, body + 3 * i, linvel + 3 * i, PAR(s, body_mass, i));
        if (i == 0) break;
        v3_add(up, up, own);
        add_moment(up, com + 3 * i, com + 3 * p, linvel + 3 * i, linvel + 3 * p, PAR(s, body_subtreemass, i));
    }
}
