/* SPDX-License-Identifier: Apache-2.0 */
/* Accelerations and forces of all bodies once qacc is known: for sensors and users. */
#include "dynamics/bias.h"
#include "dynamics/spatial.h"
#include "dynamics/tendon.h"

void STI_K(rnepost)(sti_state *s);

static void external_forces(sti_state *s) {
    const sti_model *m = s->model;
    vreal *out = LANES(s->cfrc_ext);
    v6_zero(out);
    for (int i = 1; i < m->nbody; i++) {
        const vreal *f = CLANES(s->xfrc_applied) + 6 * i;
        force_at(out + 6 * i, f, f + 3, CLANES(s->xipos) + 3 * i,
                 CLANES(s->subtree_com) + 3 * m->body_rootid[i]);
    }
    STI_K(tendon_wrench)(s, out);
    for (int k = 6; k < 6 * m->nbody; k++) out[k] = out[k] + CLANES(s->cfrc_contact)[k];
    v6_zero(out); /* the world cannot be pushed */
}

void STI_K(rnepost)(sti_state *s) {
    const sti_model *m = s->model;
    vreal *inner = LANES(s->cfrc_int), *outer = LANES(s->cfrc_ext);
    external_forces(s);
    STI_K(inertial_forces)(s, CLANES(s->qacc), LANES(s->cacc), inner);
    for (int i = m->nbody - 1; i > 0; i--) {
        for (int k = 6 * i; k < 6 * i + 6; k++) inner[k] = inner[k] - outer[k];
    }
    for (int i = m->nbody - 1; i > 0; i--) v6_add(inner + 6 * m->body_parentid[i], inner + 6 * i);
}
