/* SPDX-License-Identifier: Apache-2.0 */
/* The contacts of a step as users see them: where, between what, with which forces. */
#include "contact/patch.h"
#include "world/world.h"
#include <math.h>
#include <string.h>

/* Those within margin and gap, and those that push from a little distance. */
static bool shown(const sti__contact *c, const double *g) {
    return c->dist < c->mixed.includemargin + c->mixed.gap || (g && g[0] != 0);
}

/* What sticks is a force beside the impulse of the contact; users see both together. */
static void subtract_adhesion(double h, sti_contact *c) {
    c->impulse[0] -= h * c->adhesion;
    c->force[0] -= c->adhesion;
}

/* With its law and impulse, of an alm step. */
static void add_alm_solution(const sti_world *world, int i, sti_contact *c) {
    double t2 = 0;
    sti__alm_impulse(world->alm, i, c->impulse);
    for (int k = 0; k < 6; k++) c->force[k] = c->impulse[k] / world->state->opt.timestep;
    for (int k = 1; k < c->dim; k++) t2 += c->impulse[k] / c->mu[k - 1] * (c->impulse[k] / c->mu[k - 1]);
    if (c->impulse[0] > 0)
        c->region =
            c->dim > 1 && sqrt(t2) >= (1 - 1e-9) * c->impulse[0] ? STI_REGION_SLIDE : STI_REGION_STICK;
}

/* Written in place: lists of contacts are long. */
static void describe(const sti__contact *c, sti_contact *r) {
    memset(r, 0, sizeof *r);
    r->geom1 = c->geom1;
    r->geom2 = c->geom2;
    r->body1 = c->body1;
    r->body2 = c->body2;
    r->flex1 = r->flex2 = r->elem1 = r->elem2 = -1;
    r->dim = c->mixed.dim;
    r->dist = c->dist;
    r->phi0 = c->dist - c->mixed.includemargin;
    r->stiffness = INFINITY;
    r->feature = c->feature;
    r->adhesion = sti__is_near(c) ? c->mixed.adhesion : 0;
    memcpy(r->pos, c->pos, sizeof r->pos);
    memcpy(r->frame, c->frame, sizeof r->frame);
    memcpy(r->mu, c->mixed.friction, sizeof r->mu);
}

static void add_solution(const sti__assembly *as, int b, double h, sti_contact *c) {
    int at = as->first[b];
    double t2 = 0;
    const sti_row *row = &as->rows[b];
    for (int i = 0; i < row->dim; i++) {
        double ratio = i > 0 ? as->g[at + i] / row->mu[i - 1] : 0;
        c->impulse[i] = as->g[at + i];
        c->force[i] = as->g[at + i] / h;
        t2 += ratio * ratio;
    }
    c->stiffness = as->info[b].stiffness;
    c->share = as->share[b];
    if (c->impulse[0] > 0)
        c->region =
            row->dim > 1 && sqrt(t2) >= (1 - 1e-9) * c->impulse[0] ? STI_REGION_SLIDE : STI_REGION_STICK;
}

static void set_side(sti_contact *r, const sti__fields *f, const sti__touch *p, int side) {
    int body = side ? p->b : p->a, geom = f->geom[body], soft = geom < 0;
    *(side ? &r->geom2 : &r->geom1) = geom;
    *(side ? &r->body2 : &r->body1) = soft ? -1 : f->cm->model->geom_bodyid[geom];
    *(side ? &r->flex2 : &r->flex1) = soft ? body : -1;
    *(side ? &r->elem2 : &r->elem1) = p->element[side];
    memcpy(side ? r->bary2 : r->bary1, p->weight[side], sizeof r->bary1);
}

static sti_contact contact_of_touch(const sti_world *world, const sti__touch *p) {
    const sti__fields *f = &world->constraints.fields;
    sti__patch_law law = sti__fields_law(f, world->state, p);
    sti_contact r = {.dim = law.dim,
                     .dist = p->dist,
                     .phi0 = p->dist,
                     .stiffness = p->stiffness,
                     .area = p->area,
                     .pressure = p->pressure,
                     .mu = {law.mu, law.mu},
                     .feature = p->feature};
    memcpy(r.pos, p->pos, sizeof r.pos);
    sti__patch_frame(p, r.frame);
    set_side(&r, f, p, 0);
    set_side(&r, f, p, 1);
    return r;
}

static int most_contacts(const sti_world *world) {
    const sti__constraints *c = &world->constraints;
    return c->collide.ncontact + c->npatch + world->handlers.touches.count;
}

/* Contacts at points, over patches and then of users, into `out`; how many. They and their blocks come in the same order. */
static int list_contacts(const sti_world *world, sti_contact *out) {
    const sti__constraints *c = &world->constraints;
    const sti__assembly *as = &c->rows;
    const sti__touches *touches = &world->handlers.touches;
    int b = 0, n = 0, points = c->collide.ncontact, count = most_contacts(world);
    for (int i = 0; i < count; i++) {
        int patch = i - points, user = patch - c->npatch;
        while (b < as->nblock && (as->info[b].source != STI__FROM_CONTACT || as->info[b].id < i)) b++;
        bool has = b < as->nblock && as->info[b].id == i;
        if (patch >= 0 && user < 0) {
            const sti__touch *touch = &c->fields.touch[patch];
            if (touch->dist > 0 && !(has && as->g[as->first[b]] != 0)) continue;
            out[n] = contact_of_touch(world, touch);
        } else {
            const sti__contact *contact = user < 0 ? &c->collide.contact[i] : &touches->item[user];
            bool alm = user < 0 && world->state->opt.integrator == STI_INTEGRATOR_ALM;
            if (!alm && !shown(contact, has ? as->g + as->first[b] : NULL)) continue;
            describe(contact, &out[n]);
            if (alm) add_alm_solution(world, i, &out[n]);
            if (alm && !shown(contact, out[n].impulse)) continue;
        }
        if (has) add_solution(as, b, c->list_step, &out[n]);
        subtract_adhesion(c->list_step, &out[n]);
        n++;
    }
    return n;
}

static void list_now(sti_world *world) {
    world->constraints.ncontact = list_contacts(world, world->constraints.contact);
    world->constraints.listed = true;
}

/* Whether what the list is made of stays until the next step. */
static bool may_wait(const sti_world *world) {
    const sti_state *s = world->state;
    return (world->model->nsensor == 0 || world->hidden) && world->constraints.npatch == 0 &&
           world->handlers.touches.count == 0 && !(s->wanted & STI__WANT_RNEPOST) &&
           s->opt.integrator != STI_INTEGRATOR_RK4;
}

void sti__contacts_plan(sti_world *world) {
    sti__constraints *c = &world->constraints;
    sti_contact *out = sti__reserve(world, &c->contact_pool, most_contacts(world), sizeof *out);
    c->ncontact = 0;
    c->listed = true;
    if (!out) return;
    c->contact = out;
    c->list_step = world->state->opt.timestep;
    c->listed = false;
    if (!may_wait(world)) list_now(world);
}

const sti_contact *sti_world_contacts(const sti_world *world, int *count) {
    if (!world->constraints.listed) list_now((sti_world *)world);
    if (count) *count = world->constraints.ncontact;
    return world->constraints.contact;
}

/* Reads `from` alone, whose list may not be made yet. */
bool sti__contacts_copy(sti_world *to, const sti_world *from) {
    sti__constraints *c = &to->constraints;
    const sti__constraints *f = &from->constraints;
    int count = f->listed ? f->ncontact : most_contacts(from);
    sti_contact *out = sti__reserve(to, &c->contact_pool, count, sizeof *out);
    if (!out) return false;
    c->contact = out;
    c->ncontact = f->listed ? f->ncontact : list_contacts(from, out);
    if (f->listed && count) memcpy(out, f->contact, sizeof *out * (size_t)count);
    return true;
}

void sti__contacts_list_alm(sti_world *world) {
    sti__constraints *c = &world->constraints;
    c->ncontact = 0;
    c->listed = true;
    c->list_step = world->state->opt.timestep;
    sti_contact *out = sti__reserve(world, &c->contact_pool, most_contacts(world), sizeof *out);
    if (!out) return;
    c->contact = out;
    if (c->npatch + world->handlers.touches.count > 0) {
        list_now(world);
        return;
    }
    for (int i = 0; i < c->collide.ncontact; i++) {
        sti_contact *x = &out[c->ncontact];
        describe(&c->collide.contact[i], x);
        add_alm_solution(world, i, x);
        c->ncontact += shown(&c->collide.contact[i], x->impulse);
        subtract_adhesion(c->list_step, x);
    }
}
