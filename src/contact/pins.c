/* SPDX-License-Identifier: Apache-2.0 */
/* Vertices of soft bodies that are fixed to a body which moves: three rows each. */
#include "contact/constraints.h"
#include "contact/jacobian.h"

static const double axes[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

static void pin_rows(sti__assembly *as, const sti_state *s, int body, int vert) {
    static const double solref[2] = {0, 0}, solimp[5] = {0.9, 0.95, 0.001, 0.5, 2};
    const sti_model *m = s->model;
    double p[3], phi[3];
    int trees = sti__dofs_of_bodies(m, body, -1, as->list), n = trees + 3;
    for (int k = 0; k < 3; k++) as->list[trees + k] = m->nv + 3 * vert + k;
    double *J = sti__block_open(as, 3, as->list, n);
    if (!J) return;
    m3_mul_vec(p, s->xmat + 9 * body, m->flexvert_local + 3 * vert);
    v3_add(p, p, s->xpos + 3 * body);
    sti__add_point(s, body, p, axes, 3, -1, as->list, n, J);
    for (int k = 0; k < 3; k++) J[k * n + trees + k] = 1;
    v3_sub(phi, s->flexvert_xpos + 3 * vert, p);
    sti__origin o = {
        {solref, solimp, NULL, 1 / m->flexvert_mass[vert]}, STI__FROM_PIN, vert, 1, s->opt.closing, false};
    sti__close_soft(as, s, STI_ROW_QUADRATIC, 3, phi, &o);
}

void sti__pin_rows(sti__assembly *as, const sti_state *s) {
    const sti_model *m = s->model;
    for (int f = 0; f < m->nflex; f++) {
        int body = m->flex_bodyid[f];
        if (m->body_weldid[body] == 0) continue; /* such vertices stand still */
        for (int v = m->flex_vertadr[f]; v < m->flex_vertadr[f] + m->flex_vertnum[f]; v++)
            if (m->flexvert_pinned[v]) pin_rows(as, s, body, v);
    }
}
