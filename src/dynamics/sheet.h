/* SPDX-License-Identifier: Apache-2.0 */
/* Elastic sheets: how far triangles and folds are from rest, for forces and energy. model/sheets.c has what they are at rest. */
#ifndef STI_DYNAMICS_SHEET_H
#define STI_DYNAMICS_SHEET_H

#include "dynamics/spatial.h"

/* Places of sites, and their velocities where v is not NULL. */
static inline void sheet_places(const sti_state *s, const int *site, int n, vreal x[][3], vreal v[][3]) {
    const sti_model *m = s->model;
    for (int k = 0; k < n; k++) {
        int body = m->site_bodyid[site[k]];
        const vreal *R = CLANES(s->xmat) + 9 * body, *pos = CLANES(s->xpos) + 3 * body,
                    *cvel = CLANES(s->cvel) + 6 * body,
                    *com = CLANES(s->subtree_com) + 3 * m->body_rootid[body];
        vreal at[3], arm[3];
        PAR_ROW(at, s, site_pos, site[k], 3);
        m3_mul_vec(x[k], R, at);
        v3_add(x[k], x[k], pos);
        if (!v) continue;
        v3_sub(arm, x[k], com);
        v3_cross(v[k], cvel, arm);
        v3_add(v[k], v[k], cvel + 3);
    }
}

/* d of a triangle (changes of squared edge lengths since rest) and its edges; with velocities also what d was one step before, as edges
   lengthen now, over the step: MuJoCo's measure of its rate. */
static inline void sheet_changes(const sti_state *s, int i, vreal x[3][3], vreal v[3][3], vreal edge[3][3],
                                 vreal d[3], vreal rate[3]) {
    const double *length2 = s->model->sheet_length2 + 3 * i;
    vreal h = v_set(s->opt.timestep);
    for (int k = 0; k < 3; k++) {
        int a = (k + 1) % 3, b = (k + 2) % 3;
        v3_sub(edge[k], x[b], x[a]);
        vreal l2 = v3_dot(edge[k], edge[k]), way[3];
        d[k] = l2 - v_set(length2[k]);
        if (!v) continue;
        v3_sub(way, v[b], v[a]);
        vreal along = v3_dot(edge[k], way); /* length times its rate */
        rate[k] = v_set(2) * along - h * along * along / v_max(l2, v_set(1e-30));
    }
}

/* out = metric d */
static inline void sheet_metric(const sti_state *s, int i, const vreal d[3], vreal out[3]) {
    const double *m = s->model->sheet_metric + 6 * i;
    out[0] = v_set(m[0]) * d[0] + v_set(m[3]) * d[1] + v_set(m[4]) * d[2];
    out[1] = v_set(m[3]) * d[0] + v_set(m[1]) * d[1] + v_set(m[5]) * d[2];
    out[2] = v_set(m[4]) * d[0] + v_set(m[5]) * d[1] + v_set(m[2]) * d[2];
}

/* Sum of the corners of a fold with their weights: zero where it is flat. */
static inline void fold_sum(const sti_state *s, int i, vreal x[4][3], vreal sum[3]) {
    const double *w = s->model->fold_weight + 4 * i;
    for (int c = 0; c < 3; c++)
        sum[c] =
            (v_set(w[0]) * x[0][c] + v_set(w[1]) * x[1][c]) + (v_set(w[2]) * x[2][c] + v_set(w[3]) * x[3][c]);
}

#endif
