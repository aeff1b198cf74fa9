/* SPDX-License-Identifier: Apache-2.0 */
/* Critically damped springs between a body and the mouse: of a point to a place, or of the whole body to an orientation. */
#include "server.h"

#include <math.h>
#include <string.h>

static const double frequency = 8; /* rad/s, of the body alone on the spring */

static const double *row(sti_world *world, sti_field field, int i, int n) {
    return (const double *)sti_world_view(world, field).data + (size_t)i * (size_t)n;
}

static void cross(double r[3], const double a[3], const double b[3]) {
    r[0] = a[1] * b[2] - a[2] * b[1];
    r[1] = a[2] * b[0] - a[0] * b[2];
    r[2] = a[0] * b[1] - a[1] * b[0];
}

/* The turn from where the body is to where it is to be, the short way: axis times angle, in the world's axes. */
static void turn_left(const double is[4], const double want[4], double out[3]) {
    double w = want[0] * is[0] + want[1] * is[1] + want[2] * is[2] + want[3] * is[3], v[3], length = 0;
    cross(v, is + 1, want + 1);
    for (int k = 0; k < 3; k++) {
        v[k] += is[0] * want[1 + k] - want[0] * is[1 + k];
        length += v[k] * v[k];
    }
    length = sqrt(length);
    double angle = 2 * atan2(length, fabs(w)), scale = length > 1e-12 ? angle / length : 2;
    for (int k = 0; k < 3; k++) out[k] = (w < 0 ? -scale : scale) * v[k];
}

static void apply_twist(const drag *d, sti_world *world, const sti_model *m) {
    double *force = (double *)sti_world_view(world, STI_FIELD_xfrc_applied).data + 6 * (size_t)d->body;
    const double *vel = row(world, STI_FIELD_cvel, d->body, 6);
    double left[3], inertia = 1 / m->body_invweight0[2 * d->body + 1];
    turn_left(row(world, STI_FIELD_xquat, d->body, 4), d->quat, left);
    for (int k = 0; k < 3; k++) {
        force[k] = 0;
        force[3 + k] = inertia * frequency * (frequency * left[k] - 2 * vel[k]);
    }
}

static void apply_pull(const drag *d, sti_world *world, const sti_model *m) {
    const double *pos = row(world, STI_FIELD_xpos, d->body, 3), *mat = row(world, STI_FIELD_xmat, d->body, 9);
    const double *com = row(world, STI_FIELD_xipos, d->body, 3),
                 *vel = row(world, STI_FIELD_cvel, d->body, 6);
    const double *centre = row(world, STI_FIELD_subtree_com, m->body_rootid[d->body], 3);
    double *force = (double *)sti_world_view(world, STI_FIELD_xfrc_applied).data + 6 * (size_t)d->body;
    double point[3], arm[3], turn[3], offset[3], pull[3], stretch = 0;
    for (int k = 0; k < 3; k++) {
        point[k] =
            pos[k] + mat[3 * k] * d->point[0] + mat[3 * k + 1] * d->point[1] + mat[3 * k + 2] * d->point[2];
        arm[k] = point[k] - com[k];
        offset[k] = point[k] - centre[k];
        pull[k] = d->target[k] - point[k];
        stretch += pull[k] * pull[k];
    }
    double most = 2 * m->stat.extent; /* a mouse far away pulls no harder than one at this distance */
    if (stretch > most * most)
        for (int k = 0; k < 3; k++) pull[k] *= most / sqrt(stretch);
    cross(turn, vel, offset);
    double mass = 1 / m->body_invweight0[2 * d->body];
    for (int k = 0; k < 3; k++)
        force[k] = mass * frequency * (frequency * pull[k] - 2 * (vel[3 + k] + turn[k]));
    cross(force + 3, arm, force);
}

void drag_apply(const drag *d, sti_world *world) {
    const sti_model *m = sti_world_model(world);
    if (d->body <= 0 || m->body_invweight0[2 * d->body + d->twist] <= 0) return;
    if (d->twist) apply_twist(d, world, m);
    else apply_pull(d, world, m);
}

void drag_clear(drag *d, sti_world *world) {
    if (d->body > 0) {
        double *force = (double *)sti_world_view(world, STI_FIELD_xfrc_applied).data + 6 * (size_t)d->body;
        memset(force, 0, 6 * sizeof *force);
    }
    d->body = -1;
}
