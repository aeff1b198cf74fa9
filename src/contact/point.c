/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/point.h"
#include "contact/constraints.h"
#include "contact/jacobian.h"
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
/* A geom's reach is at most this many times its size: what is faster may pass through things. */
#define LARGEST_REACH 10

/* Relative velocity of geom2 against geom1 at the point: normal, tangents, then spin and rolling. */
static bool fill_jacobian(sti__assembly *as, const sti_state *s, const sti__contact *c) {
    int dim = c->mixed.dim, points = dim < 3 ? 1 : 3,
        n = sti__dofs_of_bodies(s->model, c->body1, c->body2, as->list);
    double *J = n ? sti__block_open(as, dim, as->list, n) : NULL;
    if (!J) return false;
    sti__add_point(s, c->body1, c->pos, c->frame, points, -1, as->list, n, J);
    sti__add_point(s, c->body2, c->pos, c->frame, points, 1, as->list, n, J);
    if (dim > 3) {
        sti__add_turn(s, c->body1, c->frame, dim - 3, -1, as->list, n, J + (size_t)3 * (size_t)n);
        sti__add_turn(s, c->body2, c->frame, dim - 3, 1, as->list, n, J + (size_t)3 * (size_t)n);
    }
    return true;
}

/* Of the normal and the tangents: rotations are measured in other units. */
static double weight_of(const double *W, int dim) {
    double block[9];
    int n = dim < 3 ? 1 : 3;
    for (int i = 0; i < n * n; i++) block[i] = W[i / n * dim + i % n];
    return sti__block_weight(n, block);
}

static void contact_rows(sti__assembly *as, const sti_state *s, const sti__contact *c, int id) {
    if (!fill_jacobian(as, s, c)) return;
    int dim = c->mixed.dim;
    double W[36], R[6], vhat[6] = {0}, phi = c->dist - c->mixed.includemargin;
    sti__block_delassus(as, s, W);
    double w = weight_of(W, dim);
    if (!(w > 1e-15)) return;
    sti_row row = {.kind = STI_ROW_CONE, .dim = dim};
    memcpy(row.mu, c->mixed.friction, sizeof(double) * (size_t)(dim - 1));
    sti__softness soft = sti__softness_of(&s->opt, c->mixed.solref, c->mixed.solimp, w);
    bool clamped = sti__regularise(&soft, dim, row.mu, w, phi, R, vhat);
    if (clamped && vhat[0] > s->opt.push) vhat[0] = s->opt.push;
    sti__block_info info = {STI__FROM_CONTACT,
                            id,
                            phi,
                            s->opt.beta * s->opt.timestep / PI,
                            clamped ? INFINITY : soft.stiffness,
                            w};
    sti__block_close(as, &row, R, vhat, &info, c->feature);
    memcpy(as->memory[as->nblock - 1].frame, c->frame, sizeof c->frame);
}

void sti__point_rows(sti__assembly *as, const sti_state *s, const sti__contact *contacts, int count) {
    for (int i = 0; i < count; i++)
        if (contacts[i].exclude < 2) contact_rows(as, s, contacts + i, i);
}

void sti__point_reach(const sti_state *s, double *reach) {
    const sti_model *m = s->model;
    const double *g = s->opt.gravity;
    double h = s->opt.timestep, fall = (s->opt.disableflags & STI_DISABLE_GRAVITY) ? 0 : h * v3_norm(g);
    for (int i = 0; i < m->ngeom; i++) {
        int body = m->geom_bodyid[i];
        reach[i] = 0;
        if (m->body_lastdof[body] < 0) continue;
        const double *v = s->cvel + 6 * body;
        double arm[3], point[3], size = s->par.geom_rbound[i];
        v3_sub(arm, s->geom_xpos + 3 * i, s->subtree_com + 3 * m->body_rootid[body]);
        v3_cross(point, v, arm);
        v3_add(point, point, v + 3);
        double far = h * (v3_norm(point) + v3_norm(v) * size + fall);
        reach[i] = far < LARGEST_REACH * size ? far : LARGEST_REACH * size;
    }
}
