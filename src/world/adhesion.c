/* SPDX-License-Identifier: Apache-2.0 */
/* Forces that draw touching bodies together: of geoms and pairs that stick, in each of their contacts, and of actuators on bodies,
   shared equally by all contacts of the body. Contacts that are only in the gap count too. Contacts are known after collision, so
   these forces come later than the others. The impulse of a contact carries them and all else, and friction is bounded by it. */
#include "contact/jacobian.h"
#include "math/rot.h"
#include "world/world.h"

/* Those that are only foreseen do not count; NEAR, m, is what a contact at rest may be off by rounding. */
#define NEAR 1e-7
bool sti__is_near(const sti__contact *c) { return c->dist <= c->mixed.includemargin + c->mixed.gap + NEAR; }
static bool touches(const sti__contact *c, int body) {
    return (c->body1 == body || c->body2 == body) && sti__is_near(c);
}

/* A force on the point of a body, as forces on the dofs that move it. */
static void push(const sti_state *s, int body, const double point[3], const double force[3], double *qfrc) {
    const sti_model *m = s->model;
    double arm[3], v[3];
    v3_sub(arm, point, s->subtree_com + 3 * m->body_rootid[body]);
    for (int d = m->body_lastdof[body]; d >= 0; d = m->dof_parentid[d]) {
        sti__dof_velocity(s->cdof + 6 * d, arm, v);
        qfrc[d] += v3_dot(v, force);
    }
}

/* Draws both bodies of a contact together along its normal. */
static void draw_together(const sti_state *s, const sti__contact *c, double strength, double *qfrc) {
    double force[3];
    v3_scale(force, c->frame, strength);
    push(s, c->body1, c->pos, force, qfrc);
    v3_scale(force, force, -1);
    push(s, c->body2, c->pos, force, qfrc);
}

static void pull_body(sti_state *s, const sti__contact *list, int n, int body, double force) {
    int count = 0;
    for (int i = 0; i < n; i++) count += touches(&list[i], body);
    for (int i = 0; i < n; i++)
        if (touches(&list[i], body)) draw_together(s, &list[i], force / count, s->qfrc_actuator);
}

static bool has_pulled_bodies(const sti_model *m) {
    for (int u = 0; u < m->nactuator; u++)
        if (m->actuator_trntype[u] == STI_TRN_BODY) return true;
    return false;
}

static bool any_positive(const double *x, int n) {
    for (int i = 0; i < n; i++)
        if (x[i] > 0) return true;
    return false;
}

static bool is_sticky(const sti_model *m) {
    return any_positive(m->geom_adhesion, m->ngeom) || any_positive(m->pair_adhesion, m->npair);
}

bool sti__has_adhesion(const sti_model *m) { return has_pulled_bodies(m) || is_sticky(m); }

static void pull_bodies(sti_world *world) {
    sti_state *s = world->state;
    const sti_model *m = world->model;
    const sti__collide *c = &world->constraints.collide;
    world->kernels->actuation(s); /* the forces of the others, should this not be the first time */
    for (int u = 0; u < m->nactuator; u++) {
        double force = s->actuator_force[m->actuator_outadr[u]];
        if (m->actuator_trntype[u] == STI_TRN_BODY && force != 0)
            pull_body(s, c->contact, c->ncontact, m->actuator_trnid[2 * u], force);
    }
}

/* As passive forces, of which these are without springs and dampers. */
static void stick(sti_world *world) {
    sti_state *s = world->state;
    const sti__collide *c = &world->constraints.collide;
    int nv = world->model->nv, off = STI_DISABLE_SPRING | STI_DISABLE_DAMPER;
    memset(s->qfrc_adhesion, 0, (size_t)nv * sizeof(double));
    for (int i = 0; i < c->ncontact && (s->opt.disableflags & off) != off; i++)
        if (c->contact[i].mixed.adhesion > 0 && sti__is_near(&c->contact[i]))
            draw_together(s, &c->contact[i], c->contact[i].mixed.adhesion, s->qfrc_adhesion);
    world->kernels->passive(s);
    for (int d = 0; d < nv; d++) s->qfrc_passive[d] += s->qfrc_adhesion[d];
}

void sti__adhere(sti_world *world) {
    const sti_model *m = world->model;
    bool pulled = has_pulled_bodies(m) && world->constraints.collide.ncontact > 0, sticky = is_sticky(m);
    if (pulled) pull_bodies(world);
    if (sticky) stick(world);
    if (pulled || sticky) world->kernels->acceleration(world->state);
}
