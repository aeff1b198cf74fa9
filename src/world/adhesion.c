/* SPDX-License-Identifier: Apache-2.0 */
/* Actuators on bodies: each pulls its body towards what it touches, with a force shared equally by all contacts of the body,
   those that are only in the gap included. Contacts are known after collision, so these forces come later than the others. */
#include "contact/jacobian.h"
#include "math/rot.h"
#include "world/world.h"

/* Those that are only foreseen do not count; NEAR, m, is what a contact at rest may be off by rounding. */
#define NEAR 1e-7
static bool touches(const sti__contact *c, int body) {
    return (c->body1 == body || c->body2 == body) && c->dist <= c->mixed.includemargin + c->mixed.gap + NEAR;
}

/* A force on the point of a body, as forces on the dofs that move it. */
static void push(sti_state *s, int body, const double point[3], const double force[3]) {
    const sti_model *m = s->model;
    double arm[3], v[3];
    v3_sub(arm, point, s->subtree_com + 3 * m->body_rootid[body]);
    for (int d = m->body_lastdof[body]; d >= 0; d = m->dof_parentid[d]) {
        sti__dof_velocity(s->cdof + 6 * d, arm, v);
        s->qfrc_actuator[d] += v3_dot(v, force);
    }
}

/* Draws both bodies of a contact together along its normal. */
static void draw_together(sti_state *s, const sti__contact *c, double strength) {
    double force[3];
    v3_scale(force, c->frame, strength);
    push(s, c->body1, c->pos, force);
    v3_scale(force, force, -1);
    push(s, c->body2, c->pos, force);
}

static void pull_body(sti_state *s, const sti__contact *list, int n, int body, double force) {
    int count = 0;
    for (int i = 0; i < n; i++) count += touches(&list[i], body);
    for (int i = 0; i < n; i++)
        if (touches(&list[i], body)) draw_together(s, &list[i], force / count);
}

bool sti__has_adhesion(const sti_model *m) {
    for (int u = 0; u < m->nactuator; u++)
        if (m->actuator_trntype[u] == STI_TRN_BODY) return true;
    return false;
}

void sti__adhere(sti_world *world) {
    sti_state *s = world->state;
    const sti_model *m = world->model;
    const sti__collide *c = &world->constraints.collide;
    if (c->ncontact == 0 || !sti__has_adhesion(m)) return;
    world->kernels->actuation(s); /* the forces of the others, should this not be the first time */
    for (int u = 0; u < m->nactuator; u++)
        if (m->actuator_trntype[u] == STI_TRN_BODY && s->actuator_force[u] != 0)
            pull_body(s, c->contact, c->ncontact, m->actuator_trnid[2 * u], s->actuator_force[u]);
    world->kernels->acceleration(s);
}
