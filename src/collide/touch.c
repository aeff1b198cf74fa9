/* SPDX-License-Identifier: Apache-2.0 */
#include "collide/touch.h"

#include "collide/collide.h"
#include "mesh/tetmesh.h"
#include <math.h>
#include <string.h>

/* ---- one polygon ------------------------------------------------------------------------------------------------ */

/* The soft tet of each side of a patch: gradients of its barycentric coordinates, and six times its volume; 0: none. */
typedef struct sides {
    double gradient[2][4][3], volume[2];
} sides;

static void measure_sides(const sti__fields *f, const sti__patch *x, sides *s) {
    for (int side = 0; side < 2; side++) {
        const sti__pressure_body *b = &f->body[side ? x->b : x->a];
        s->volume[side] = 0;
        if (b->kind != STI__PRESSURE_SOFT) continue;
        const int *t = b->tet + 4 * (size_t)x->element[side];
        s->volume[side] =
            6 * sti__tet_gradients(b->node + 3 * (size_t)t[0], b->node + 3 * (size_t)t[1],
                                   b->node + 3 * (size_t)t[2], b->node + 3 * (size_t)t[3], s->gradient[side]);
    }
}

/* Barycentric coordinates of the point, from those of the patch. */
static void place_weights(const sides *s, const sti__patch *x, sti__touch *p) {
    double arm[3];
    v3_sub(arm, p->pos, x->pos);
    for (int side = 0; side < 2; side++)
        for (int k = 0; s->volume[side] != 0 && k < 4; k++)
            p->weight[side][k] += v3_dot(s->gradient[side][k], arm);
}

sti__touch sti__touch_whole(const sti__patch *x) {
    sti__touch p = {.area = x->area,
                    .pressure = x->pressure,
                    .stiffness = x->stiffness,
                    .dist = x->dist,
                    .a = x->a,
                    .b = x->b,
                    .element = {x->element[0], x->element[1]},
                    .feature = x->feature};
    v3_copy(p.pos, x->pos);
    v3_copy(p.normal, x->normal);
    memcpy(p.weight, x->weight, sizeof p.weight);
    return p;
}

/* Whether a polygon is large enough, against the tets that it lies in, for tilting to matter: more than SPLIT of an edge squared,
   that is of (6 volume)^(2/3). */
#define SPLIT 0.1
static bool is_large(const sides *s, const sti__patch *x) {
    double cube = x->area * x->area * x->area, least = SPLIT * SPLIT * SPLIT;
    for (int side = 0; side < 2; side++)
        if (s->volume[side] != 0 && cube > least * s->volume[side] * s->volume[side]) return true;
    return false;
}

/* With S the root of the second moments, the points are at c + sqrt 2 S u for three unit vectors u, and the pressure there is
   p (1 + sqrt 2 u' S^-1 (centre of pressure - c)). */
int sti__touch_split(const sti__fields *f, int patch, sti__touch *out) {
    const double sqrt2 = STI__SQRT2;
    const sti__patch *x = &f->patches.patch[patch];
    double frame[9], C[3] = {0}, S[3], inverse[3], d[3];
    sides s;
    out[0] = sti__touch_whole(x);
    measure_sides(f, x, &s);
    if (!is_large(&s, x)) return 1;
    v3_copy(frame, x->normal);
    sti__contact_frame(frame);
    const double *t0 = frame + 3, *t1 = frame + 6;
    double area = sti__polygon_spread(&f->patches.polygon[patch], x->centroid, t0, t1, 1, C);
    for (int k = 0; k < 3; k++) C[k] /= area;
    if (!sti__root2(C, S, inverse)) return 1;
    v3_sub(d, x->pos, x->centroid);
    double du = v3_dot(d, t0), dv = v3_dot(d, t1);
    double slope[2] = {inverse[0] * du + inverse[1] * dv, inverse[1] * du + inverse[2] * dv};
    for (int k = 0; k < 3; k++) {
        const double *u = sti__three_ways[k];
        sti__touch *p = &out[k];
        *p = sti__touch_whole(x);
        v3_copy(p->pos, x->centroid);
        v3_add_scaled(p->pos, t0, sqrt2 * (S[0] * u[0] + S[1] * u[1]));
        v3_add_scaled(p->pos, t1, sqrt2 * (S[1] * u[0] + S[2] * u[1]));
        p->area = x->area / 3;
        p->stiffness = x->stiffness / 3;
        p->pressure = x->pressure * fmax(0, 1 + sqrt2 * (slope[0] * u[0] + slope[1] * u[1]));
        p->dist = -p->pressure / x->g;
        p->feature = x->feature + (uint64_t)k * 0x9e3779b97f4a7c15ull;
        place_weights(&s, x, p);
    }
    return 3;
}

/* ---- too many polygons -------------------------------------------------------------------------------------------- */

/* Bodies that lie deep in each other meet in polygons without number. Those of a pair are then put together by the part of the soft body b
   that they lie in and by the way that their normals point: a part is a run of vertices, a way one of the six along the axes. Both are the
   same in the next step, so that contacts keep their names. In a cell, which is kept in the room of a patch: normal = sum of forces, pos = sum of
   pressing forces times places, pressure = sum of pressing forces; later normal and pos of the contact, dist = the least distance of a polygon
   from it, squared, merged = that polygon. */
#define WAYS 6

typedef struct grid {
    const sti__fields *f;
    sti__patch *cell; /* WAYS for every part */
    int parts, run;   /* parts, and vertices of each */
} grid;

static grid grid_of(const sti__fields *f, int flex, int limit) {
    int parts = limit / WAYS > 1 ? limit / WAYS : 1, verts = f->cm->model->flex_vertnum[flex];
    grid g = {f, f->patches.found, parts, (verts + parts - 1) / parts};
    for (int i = 0; i < WAYS * parts; i++) g.cell[i] = (sti__patch){.merged = -1};
    return g;
}

/* Of the tets of the field, middles have the highest numbers. */
static int part_of(const grid *g, const sti__patch *x) {
    const int *tet = g->f->body[x->b].tet + 4 * (size_t)x->element[1];
    int least = tet[0];
    for (int k = 1; k < 4; k++) least = tet[k] < least ? tet[k] : least;
    return least / g->run;
}

static int way_of(const double n[3]) {
    int axis = fabs(n[1]) > fabs(n[0]);
    if (fabs(n[2]) > fabs(n[axis])) axis = 2;
    return 2 * axis + (n[axis] < 0);
}

static sti__patch *cell_of(const grid *g, const sti__patch *x) {
    return g->cell + (WAYS * part_of(g, x) + way_of(x->normal));
}

static void add_force(sti__patch *c, const sti__patch *x) {
    double force = x->area * x->pressure;
    v3_add_scaled(c->normal, x->normal, force);
    v3_add_scaled(c->pos, x->pos, force);
    c->pressure += force;
    c->area += x->area;
}

/* The contact's force is |normal| along it, at pos. */
static void find_middle(sti__patch *c) {
    double force = v3_norm(c->normal);
    if (!(force > 0)) return;
    v3_scale(c->pos, c->pos, 1 / c->pressure);
    v3_scale(c->normal, c->normal, 1 / force);
    c->pressure = force / c->area;
    c->dist = INFINITY;
}

/* Stiffness along the contact's normal, but not that of a mere spring across it. */
#define LEAST_ALONG 0.1

static void add_stiffness(sti__patch *c, const sti__patch *x, int patch) {
    double d[3], along = v3_dot(x->normal, c->normal);
    c->stiffness += x->stiffness * fmax(along * along, LEAST_ALONG);
    v3_sub(d, x->pos, c->pos);
    if (!(v3_dot(d, d) < c->dist)) return;
    c->dist = v3_dot(d, d);
    c->merged = patch;
}

/* Weights are those of the nearest polygon's tets, continued to the contact's place; if that is far outside of them, the contact is at
   that polygon. */
#define FAR_OUTSIDE 2

static sti__touch cell_touch(const grid *g, int at) {
    const sti__patch *c = &g->cell[at], *x = &g->f->patches.patch[c->merged];
    double force = c->area * c->pressure;
    const sti__pressure_body *a = g->f->body + x->a, *b = g->f->body + x->b;
    uint64_t name[2] = {(uint64_t)(uint32_t)a->id << 32 | (uint32_t)b->id, (uint64_t)at};
    sides s;
    sti__touch p = sti__touch_whole(x);
    v3_copy(p.pos, c->pos);
    v3_copy(p.normal, c->normal);
    p.area = c->area;
    p.pressure = c->pressure;
    p.stiffness = c->stiffness;
    p.dist = -force / c->stiffness;
    p.feature = sti__hash(STI__HASH_SEED, name, sizeof name);
    measure_sides(g->f, x, &s);
    place_weights(&s, x, &p);
    bool far = false;
    for (int k = 0; k < 8; k++) far |= !(fabs(p.weight[k / 4][k % 4]) < FAR_OUTSIDE);
    if (far) v3_copy(p.pos, x->pos), memcpy(p.weight, x->weight, sizeof p.weight);
    return p;
}

int sti__touch_coarse(const sti__fields *f, int begin, int end, int limit, sti__touch *out) {
    const sti__patch *x = f->patches.patch;
    grid g = grid_of(f, x[begin].b, limit);
    int count = 0;
    for (int i = begin; i < end; i++) add_force(cell_of(&g, &x[i]), &x[i]);
    for (int i = 0; i < WAYS * g.parts; i++) find_middle(&g.cell[i]);
    for (int i = begin; i < end; i++) add_stiffness(cell_of(&g, &x[i]), &x[i], i);
    for (int i = 0; i < WAYS * g.parts; i++)
        if (g.cell[i].merged >= 0 && g.cell[i].stiffness > 0) out[count++] = cell_touch(&g, i);
    return count;
}
