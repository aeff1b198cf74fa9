/* SPDX-License-Identifier: Apache-2.0 */
/* Where a spatial tendon runs, for those who draw it. */
#include "base/det.h"
#include "dynamics/wrap.h"
#include "world/world.h"

#include <math.h>
#include <stiction/query.h>
#include <string.h>

enum { ARC = 8 }; /* pieces of an arc */

typedef struct pieces {
    double *out;
    int count, max;
} pieces;

static void put(pieces *p, const double from[3], const double to[3]) {
    if (p->count < p->max) {
        memcpy(p->out + 6 * (size_t)p->count, from, 3 * sizeof(double));
        memcpy(p->out + 6 * (size_t)p->count + 3, to, 3 * sizeof(double));
    }
    p->count++;
}

static double dot3(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* v without its part along the axis of a cylinder; returns that part. */
static double off_axis(const sti__wrap_object *o, const double v[3], double out[3]) {
    double axis[3] = {o->mat[2], o->mat[5], o->mat[8]}, along = o->cylinder ? dot3(v, axis) : 0;
    for (int k = 0; k < 3; k++) out[k] = v[k] - along * axis[k];
    return along;
}

/* On the surface from one touching point to the other: a great circle, or a screw line on a cylinder. */
static void arc(pieces *p, const sti__wrap_object *o, const double touch[6], double length) {
    double a[3], b[3], u[3], w[3], from[3], to[3];
    for (int k = 0; k < 3; k++) a[k] = touch[k] - o->pos[k], b[k] = touch[3 + k] - o->pos[k];
    double rise = off_axis(o, b, w) - off_axis(o, a, u), r = sqrt(dot3(u, u)),
           cosine = r > 0 ? dot3(u, w) / (r * r) : 1;
    double angle = sti__acos(fmax(-1, fmin(1, cosine))), flat = sqrt(fmax(0, length * length - rise * rise));
    double other = 6.283185307179586 - angle; /* the long way round, if the length says so */
    double axis[3] = {o->mat[2], o->mat[5], o->mat[8]};
    for (int k = 0; k < 3; k++) w[k] -= cosine * u[k];
    double n = sqrt(dot3(w, w));
    if (r > 0 && fabs(flat - other * r) < fabs(flat - angle * r)) angle = -other;
    memcpy(from, touch, sizeof from);
    for (int i = 1; i <= ARC; i++) {
        double t = (double)i / ARC, c = sti__cos(t * angle), s = n > 0 ? r * sti__sin(t * angle) / n : 0;
        for (int k = 0; k < 3; k++)
            to[k] = touch[k] + (c - 1) * u[k] + s * w[k] + (o->cylinder ? t * rise * axis[k] : 0);
        put(p, from, to);
        memcpy(from, to, sizeof from);
    }
}

static void around(pieces *p, sti_world *world, int wrap, const double *a, const double *b) {
    const sti_model *m = world->model;
    int geom = m->wrap_objid[wrap], side = (int)m->wrap_prm[wrap];
    const double *site = sti_world_view(world, STI_FIELD_site_xpos).data;
    sti__wrap_object o = {.radius = m->geom_size[3 * geom],
                          .cylinder = m->wrap_type[wrap] == STI_WRAP_CYLINDER};
    memcpy(o.pos, (double *)sti_world_view(world, STI_FIELD_geom_xpos).data + 3 * geom, sizeof o.pos);
    memcpy(o.mat, (double *)sti_world_view(world, STI_FIELD_geom_xmat).data + 9 * geom, sizeof o.mat);
    o.has_side = side >= 0;
    if (o.has_side) memcpy(o.side, site + 3 * side, sizeof o.side);
    double touch[6], length = sti__wrap(&o, a, b, touch);
    if (length < 0) {
        put(p, a, b);
        return;
    }
    put(p, a, touch);
    if (length > 0) arc(p, &o, touch, length);
    put(p, touch + 3, b);
}

int sti_tendon_path(sti_world *world, int tendon, double *out, int max) {
    const sti_model *m = world->model;
    pieces p = {out, 0, max};
    if (tendon < 0 || tendon >= m->ntendon) return 0;
    const double *site = sti_world_view(world, STI_FIELD_site_xpos).data;
    int last = m->tendon_adr[tendon] + m->tendon_num[tendon] - 1;
    for (int w = m->tendon_adr[tendon]; w < last;) {
        int type = m->wrap_type[w], next = m->wrap_type[w + 1];
        int step = next == STI_WRAP_SPHERE || next == STI_WRAP_CYLINDER ? 2 : 1;
        if (type != STI_WRAP_SITE || next == STI_WRAP_PULLEY || w + step > last) {
            w++;
            continue;
        }
        const double *a = site + 3 * m->wrap_objid[w], *b = site + 3 * m->wrap_objid[w + step];
        if (step == 2) around(&p, world, w + 1, a, b);
        else put(&p, a, b);
        w += step;
    }
    return p.count;
}
