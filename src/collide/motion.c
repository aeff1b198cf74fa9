/* SPDX-License-Identifier: Apache-2.0 */
#include "collide/motion.h"

#include "math/rot.h"
#include <math.h>

/* A geom looks at most this many times its size ahead: what is faster may pass through things. */
#define LARGEST_REACH 10

double sti__motion_fall(const sti_state *s) {
    double h = s->opt.timestep;
    return (s->opt.disableflags & STI_DISABLE_GRAVITY) ? 0 : h * h * v3_norm(s->opt.gravity);
}

/* The way of a box, and how much of it was left out. */
static double make_way(const double move[3], double spin, double size, sti__way *way) {
    double far = v3_norm(move) + spin, most = LARGEST_REACH * size, share = far > most ? most / far : 1;
    v3_scale(way->sweep, move, share);
    way->grow = share * spin;
    return far > most ? far - most : 0;
}

static void find_one(const sti_state *s, int geom, sti__motion *out) {
    int body = s->model->geom_bodyid[geom], root = s->model->body_rootid[body];
    const double *vel = s->cvel + 6 * (size_t)body, *common = s->cvel + 6 * (size_t)root;
    double arm[3], own[6], move[3], h = s->opt.timestep;
    v3_sub(arm, s->geom_xpos + 3 * (size_t)geom, s->subtree_com + 3 * (size_t)root);
    sti__carry(vel, arm, h, out->move);
    v3_scale(out->turn, vel, h);
    out->beyond = make_way(out->move, v3_norm(out->turn) * out->size, out->size, &out->way);
    if (body == root) return; /* as the root sees itself it stays */
    for (int k = 0; k < 6; k++) own[k] = vel[k] - common[k];
    sti__carry(own, arm, h, move);
    make_way(move, h * v3_norm(own) * out->size, out->size, &out->own);
}

void sti__motion_find(const sti_state *s, const sti__collision_model *cm, const int *geom, int count,
                      sti__motion *motion) {
    for (int k = 0; k < count; k++) {
        int g = geom[k];
        motion[g] = (sti__motion){.size = s->par.geom_rbound[g], .still = cm->geom[g].still};
        if (!motion[g].still) find_one(s, g, motion + g);
    }
}

/* How far points of b get as a sees them, b being d away and turning by `angle`. */
static double way_seen(const sti__motion *a, const sti__motion *b, const double d[3], double sign,
                       double angle) {
    double way[3];
    v3_cross(way, a->turn, d);
    for (int k = 0; k < 3; k++) way[k] = b->move[k] - a->move[k] - sign * way[k];
    return v3_norm(way) + angle * b->size;
}

double sti__motion_approach(const sti__motion *a, const sti__motion *b, const double d[3]) {
    double turn[3];
    v3_sub(turn, b->turn, a->turn);
    double angle = v3_norm(turn), far = way_seen(a, b, d, 1, angle);
    if (!(a->size > 0)) return far;
    double back = way_seen(b, a, d, -1, angle);
    double most = LARGEST_REACH * ((a->still ? 0 : a->size) + (b->still ? 0 : b->size));
    if (back < far) far = back;
    return far < most ? far : most;
}
