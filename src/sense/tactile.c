/* SPDX-License-Identifier: Apache-2.0 */
/* Tactile sensors: at each vertex of a mesh the depth in the geoms that its body touches, and the speeds at which it slides on them
   along the vertex's two tangents. As MuJoCo: the largest of several depths, the sum of the speeds. */
#include "collide/query.h"
#include "collide/sdf.h"
#include "math/rot.h"
#include "math/sdf.h"
#include "sense/sense.h"
#include <stiction/contact.h>
#include <string.h>

/* The mesh of a sensor, in the frame of its geom. */
typedef struct skin {
    const sti__query *q;
    const sti_state *s;
    int geom, weld, count;
    const float *vert, *tangent; /* tangent: NULL if it has none */
    double *out;
} skin;

static skin skin_of(const sti__query *q, const sti_state *s, int i) {
    const sti_model *m = s->model;
    int mesh = m->sensor_objid[i], geom = m->sensor_refid[i], slip = m->mesh_tangentadr[mesh];
    return (skin){.q = q,
                  .s = s,
                  .geom = geom,
                  .weld = m->body_weldid[m->geom_bodyid[geom]],
                  .count = m->mesh_vertnum[mesh],
                  .vert = m->mesh_vert + 3 * (size_t)m->mesh_vertadr[mesh],
                  .tangent = slip < 0 ? NULL : m->mesh_tangent + 6 * (size_t)slip,
                  .out = s->sensordata + m->sensor_adr[i]};
}

/* How deep a point is in a geom; not above 0 outside of it. */
static double depth_in(const sti__query *q, int geom, const double p[3]) {
    const sti__shape *s = q->shape + geom;
    double away[3], at[3], n[3], other[3];
    if (s->type == STI_GEOM_SDF) {
        v3_sub(away, p, s->pos);
        m3_mul_vec_t(at, s->mat, away);
        return s->sdf->kind == STI_SDF_MESH ? -sti__lookup_exact(s->sdf->mesh, at, n)
                                            : -sti__sdf_value(s->sdf->kind, s->sdf->prm, at);
    }
    sti__shape point = {.type = STI_GEOM_SPHERE, .mat = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    v3_copy(point.pos, p);
    return -sti__pair_distance(&point, s, 0, n, other);
}

static void add_velocity(const sti_state *s, int body, const double p[3], double scale, double v[3]) {
    const double *spatial = s->cvel + 6 * body;
    double arm[3], swing[3];
    v3_sub(arm, p, s->subtree_com + 3 * s->model->body_rootid[body]);
    v3_cross(swing, spatial, arm);
    v3_add_scaled(v, swing, scale);
    v3_add_scaled(v, spatial + 3, scale);
}

/* What vertex i feels of a geom. */
static void feel(const skin *k, int i, int geom) {
    const double *mat = k->s->geom_xmat + 9 * k->geom;
    double local[3] = {k->vert[3 * i], k->vert[3 * i + 1], k->vert[3 * i + 2]}, p[3], v[3] = {0};
    m3_mul_vec(p, mat, local);
    v3_add(p, p, k->s->geom_xpos + 3 * k->geom);
    double depth = depth_in(k->q, geom, p);
    if (!(depth > 0)) return;
    k->out[i] = fmax(k->out[i], depth);
    if (!k->tangent) return;
    add_velocity(k->s, k->s->model->geom_bodyid[k->geom], p, 1, v);
    add_velocity(k->s, k->s->model->geom_bodyid[geom], p, -1, v);
    for (int side = 0; side < 2; side++) {
        const float *t = k->tangent + 6 * i + 3 * side;
        double along[3] = {t[0], t[1], t[2]}, world[3];
        m3_mul_vec(world, mat, along);
        k->out[(size_t)(1 + side) * (size_t)k->count + (size_t)i] += fabs(v3_dot(world, v));
    }
}

/* The geom that contact c brings to the sensor's body, -1 if it brings none. */
static int other_geom(const skin *k, const sti_contact *c) {
    const sti_model *m = k->s->model;
    for (int side = 0; side < 2; side++) {
        int own = side ? c->geom2 : c->geom1, other = side ? c->geom1 : c->geom2;
        if (own >= 0 && other >= 0 && m->body_weldid[m->geom_bodyid[own]] == k->weld) return other;
    }
    return -1;
}

/* Contacts of a pair stand beside each other, but other pairs of the same geom may come later: each geom counts once. */
static bool is_first(const skin *k, const sti_contact *contacts, int at, int geom) {
    for (int c = 0; c < at; c++)
        if (other_geom(k, contacts + c) == geom) return false;
    return true;
}

void sti__sense_tactile(const sti__query *q, const struct sti_contact *contacts, int count, sti_state *s) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nsensor; i++) {
        if (m->sensor_type[i] != STI_SENSOR_TACTILE) continue;
        skin k = skin_of(q, s, i);
        memset(k.out, 0, (size_t)m->sensor_dim[i] * sizeof *k.out);
        for (int c = 0; c < count; c++) {
            int geom = other_geom(&k, contacts + c);
            if (geom < 0 || !is_first(&k, contacts, c, geom)) continue;
            for (int v = 0; v < k.count; v++) feel(&k, v, geom);
        }
    }
}
