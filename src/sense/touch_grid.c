/* SPDX-License-Identifier: Apache-2.0 */
/* Touch grids, MuJoCo's plugin mujoco.sensor.touch_grid: what a site's body feels, by the direction in which it feels it from the
   site. Columns are angles about the site's y axis, rows about its x axis, and the middle looks along -z. */
#include "base/det.h"
#include "math/rot.h"
#include "sense/sense.h"
#include <stiction/contact.h>
#include <string.h>

/* Edge i of n cells over -1 to 1; gamma draws edges to the middle. Summed as MuJoCo does, so that edges have its bits. */
typedef struct edges {
    int n;
    double gamma, scale;
} edges;

static double edge_at(const edges *e, double x) {
    double y = x * x * x * x * x;
    return (e->gamma != 0 ? e->gamma * y + (1 - e->gamma) * x : x) * e->scale;
}

/* The cell whose lower edge is below x and whose upper one is not; -1 if there is none. */
static int cell_of(const edges *e, double x) {
    double at = -1, step = 2.0 / e->n;
    if (!(x > edge_at(e, at))) return -1;
    for (int i = 0; i < e->n; i++) {
        at += step;
        if (x <= edge_at(e, at)) return i;
    }
    return -1;
}

/* A grid and its sensor. */
typedef struct grid {
    const sti_state *s;
    int site, weld, channels;
    edges column, row;
    double *out;
} grid;

static grid grid_of(const sti_state *s, int i) {
    const sti_model *m = s->model;
    const int *prm = m->sensor_intprm + 3 * i;
    const double *view = m->sensor_grid + 3 * i;
    int site = m->sensor_objid[i];
    return (grid){.s = s,
                  .site = site,
                  .weld = m->body_weldid[m->site_bodyid[site]],
                  .channels = prm[2],
                  .column = {prm[0], view[2], view[0]},
                  .row = {prm[1], view[2], view[1]},
                  .out = s->sensordata + m->sensor_adr[i]};
}

/* Where a point is seen from the site; -1 if it is not. */
static int cell_at(const grid *g, const double pos[3]) {
    double away[3], p[3];
    v3_sub(away, pos, g->s->site_xpos + 3 * g->site);
    m3_mul_vec_t(p, g->s->site_xmat + 9 * g->site, away);
    int column = cell_of(&g->column, sti__atan2(p[0], -p[2]));
    int row = cell_of(&g->row, sti__atan2(p[1], sqrt(p[0] * p[0] + p[2] * p[2])));
    return column < 0 || row < 0 ? -1 : row * g->column.n + column;
}

/* Force and torque on the body in the site's axes, in the order z x y. */
static void wrench_of(const grid *g, const sti_contact *c, double sign, double out[6]) {
    double world[3], local[3];
    for (int k = 0; k < 2; k++) {
        m3_mul_vec_t(world, c->frame, c->force + 3 * k);
        m3_mul_vec_t(local, g->s->site_xmat + 9 * g->site, world);
        out[3 * k] = sign * local[2];
        out[3 * k + 1] = sign * local[0];
        out[3 * k + 2] = sign * local[1];
    }
}

static bool is_welded(const sti_model *m, int body, int weld) {
    return body >= 0 && m->body_weldid[body] == weld;
}

/* c->force acts on the second body. */
static void add_contact(const grid *g, const sti_contact *c) {
    const sti_model *m = g->s->model;
    bool second = is_welded(m, c->body2, g->weld);
    double wrench[6];
    if (!second && !is_welded(m, c->body1, g->weld)) return;
    int cell = cell_at(g, c->pos), cells = g->column.n * g->row.n;
    if (cell < 0) return;
    wrench_of(g, c, second ? 1 : -1, wrench);
    for (int k = 0; k < g->channels; k++) g->out[(size_t)k * (size_t)cells + (size_t)cell] += wrench[k];
}

void sti__sense_touch_grid(const struct sti_contact *contacts, int count, sti_state *s) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nsensor; i++) {
        if (m->sensor_type[i] != STI_SENSOR_TOUCH_GRID) continue;
        grid g = grid_of(s, i);
        memset(g.out, 0, (size_t)m->sensor_dim[i] * sizeof *g.out);
        for (int k = 0; k < count; k++) add_contact(&g, contacts + k);
    }
}
