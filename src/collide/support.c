/* SPDX-License-Identifier: Apache-2.0 */
/* Support points and boxes around shapes. */
#include "collide/core.h"

void sti__support(const sti__shape *s, const double dir[3], double out[3], uint32_t *feature) {
    static const double zero[3] = {0, 0, 0};
    sti__core c = sti__core_of(s, zero);
    sti__core_support(&c, dir, out);
    double n = v3_norm(dir);
    if (c.radius > 0 && n > 0) v3_add_scaled(out, dir, c.radius / n);
    if (!feature) return;
    double d[3];
    m3_mul_vec_t(d, s->mat, dir);
    *feature = s->type == STI_GEOM_MESH ? (uint32_t)c.hint
                                        : (uint32_t)((d[0] >= 0) | (d[1] >= 0) << 1 | (d[2] >= 0) << 2);
}

/* half the extent along the world's axis i of shapes that are symmetric about their centre */
static inline double half_extent(const sti__shape *s, int i) {
    const double *m = s->mat + 3 * i, *r = s->size;
    switch (s->type) {
    case STI_GEOM_SPHERE: return r[0];
    case STI_GEOM_CAPSULE: return r[0] + r[1] * fabs(m[2]);
    case STI_GEOM_CYLINDER: return r[0] * sqrt(m[0] * m[0] + m[1] * m[1]) + r[1] * fabs(m[2]);
    case STI_GEOM_ELLIPSOID:
        return sqrt(r[0] * r[0] * m[0] * m[0] + r[1] * r[1] * m[1] * m[1] + r[2] * r[2] * m[2] * m[2]);
    case STI_GEOM_SDF:
    case STI_GEOM_BOX: return r[0] * fabs(m[0]) + r[1] * fabs(m[1]) + r[2] * fabs(m[2]);
    case STI_GEOM_PLANE: return INFINITY;
    default: return 0;
    }
}

/* box of a box given in the shape's frame */
static void turned_box(const sti__shape *s, const double from[3], const double to[3], double lo[3],
                       double hi[3]) {
    for (int i = 0; i < 3; i++) {
        const double *m = s->mat + 3 * i;
        lo[i] = hi[i] = s->pos[i];
        for (int k = 0; k < 3; k++) {
            double x = m[k] * from[k], y = m[k] * to[k];
            lo[i] += x < y ? x : y;
            hi[i] += x < y ? y : x;
        }
    }
}

static void hull_box(const sti__shape *s, double lo[3], double hi[3]) {
    const sti__hull *h = s->hull;
    for (int i = 0; i < 3; i++) {
        const double *m = s->mat + 3 * i;
        double least = INFINITY, most = -INFINITY;
        for (int k = 0; k < h->nvert; k++) {
            double x = v3_dot(h->vert + 3 * k, m);
            least = x < least ? x : least;
            most = x > most ? x : most;
        }
        lo[i] = s->pos[i] + least;
        hi[i] = s->pos[i] + most;
    }
}

void sti__shape_bounds(const sti__shape *s, double margin, double lo[3], double hi[3]) {
    if (s->type == STI_GEOM_HFIELD && s->hfield) {
        const double *r = s->hfield->size, from[3] = {-r[0], -r[1], -r[3]}, to[3] = {r[0], r[1], r[2]};
        turned_box(s, from, to, lo, hi);
    } else if (s->type == STI_GEOM_MESH && s->hull && s->hull->nvert > 0) {
        if (s->hull->nvert <= 16) hull_box(s, lo, hi);
        else turned_box(s, s->hull->lo, s->hull->hi, lo, hi);
    } else {
        for (int i = 0; i < 3; i++) { /* written once: what was just written would have to be waited for */
            double at = s->pos[i], half = half_extent(s, i);
            lo[i] = at - half - margin;
            hi[i] = at + half + margin;
        }
        return;
    }
    for (int i = 0; i < 3; i++) {
        lo[i] -= margin;
        hi[i] += margin;
    }
}
