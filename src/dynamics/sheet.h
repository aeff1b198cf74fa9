/* SPDX-License-Identifier: Apache-2.0 */
/* Elastic sheets and strings: how far triangles, folds and corners are from rest, for forces and energy. model/sheets.c has what they are at rest. */
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

/* Corner of a string: directions of both edges, their lengths, and how straight it is, from 0 for one that is folded to 2. */
typedef struct sti__bent {
    vreal t[2][3], length[2], straight;
} sti__bent;

/* Its curvature binormal: across the plane in which it bends, as long as twice the tangent of half of the angle. */
static inline void bend_curvature(vreal x[3][3], sti__bent *b, vreal kb[3]) {
    for (int k = 0; k < 2; k++) {
        v3_sub(b->t[k], x[k + 1], x[k]);
        b->length[k] = v_max(v3_normalize(b->t[k]), v_set(1e-30));
    }
    b->straight = v_max(v_set(1) + v3_dot(b->t[0], b->t[1]), v_set(1e-6));
    v3_cross(kb, b->t[0], b->t[1]);
    v3_scale(kb, kb, v_set(2) / b->straight);
}

/* The part of v across a unit vector, over a length. */
static inline void across(vreal out[3], const vreal v[3], const vreal t[3], vreal length) {
    vreal along = -v3_dot(v, t);
    v3_copy(out, v);
    v3_add_scaled(out, t, along);
    v3_scale(out, out, v_set(1) / length);
}

/* What the curvature binormal kb changes by per time as the string bends more or less; not as the plane turns in which it bends, which a
   string without torsion does not resist. */
static inline void bend_rate(const sti__bent *b, const vreal kb[3], vreal v[3][3], vreal out[3]) {
    vreal way[3], turn[2][3], part[3];
    for (int k = 0; k < 2; k++) {
        v3_sub(way, v[k + 1], v[k]);
        across(turn[k], way, b->t[k], b->length[k]);
    }
    v3_cross(out, turn[0], b->t[1]);
    v3_cross(part, b->t[0], turn[1]);
    v3_add(out, out, part);
    v3_scale(out, out, v_set(2));
    v3_add_scaled(out, kb, -(v3_dot(turn[0], b->t[1]) + v3_dot(b->t[0], turn[1])));
    v3_scale(out, out, v_set(1) / b->straight);
    v3_copy(part, kb);
    vmask plane = v_lt(v_set(1e-15), v3_normalize(part));
    vreal along = v3_dot(part, out);
    for (int c = 0; c < 3; c++) out[c] = v_select(plane, along * part[c], out[c]);
}

/* Forces on the three vertices that do the work of u as the curvature binormal changes. */
static inline void bend_forces(const sti__bent *b, const vreal kb[3], const vreal u[3], vreal f[3][3]) {
    vreal p[3], a[2][3], along = -v3_dot(kb, u);
    for (int k = 0; k < 2; k++) {
        if (k == 0) v3_cross(p, b->t[1], u);
        else v3_cross(p, u, b->t[0]);
        v3_scale(p, p, v_set(2));
        v3_add_scaled(p, b->t[1 - k], along);
        v3_scale(p, p, v_set(1) / b->straight);
        across(a[k], p, b->t[k], b->length[k]);
    }
    v3_scale(f[0], a[0], v_set(-1));
    v3_sub(f[1], a[0], a[1]);
    v3_copy(f[2], a[1]);
}

#endif
