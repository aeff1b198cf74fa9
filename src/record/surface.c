/* SPDX-License-Identifier: Apache-2.0 */
/* What a sample shows: the normal of a surface at a place, exact for round shapes, between the corners of a face for
   meshes; and the colour there, where vertices have their own. */
#include "record/scene.h"

static bool is_plane(const sti__item *item) { return item->shape < 0; }
static bool is_round(const sti__item *item) { return item->shape >= 0 && item->shape < STI__CYLINDERS; }

int sti__surface_part(const sti__scene *scene, int id, const sti__drawn_mesh *shape, int face) {
    const sti__item *item = sti__scene_item(scene, id);
    if (is_plane(item) || is_round(item)) return 0;
    if (item->shape < STI__CUBE) {
        int side = shape->nface / 2;
        return face < side ? 0 : 1 + (face - side) % 2;
    }
    return item->shape == STI__CUBE ? face / 2 : face;
}

void sti__surface_local(const sti__item *item, const double p[3], float out[3]) {
    float d[3] = {(float)(p[0] - item->pos[0]), (float)(p[1] - item->pos[1]), (float)(p[2] - item->pos[2])};
    for (int k = 0; k < 3; k++)
        out[k] = item->rot[k] * d[0] + item->rot[3 + k] * d[1] + item->rot[6 + k] * d[2];
}

static void to_world(const sti__item *item, const float n[3], float out[3]) {
    for (int k = 0; k < 3; k++)
        out[k] = item->rot[3 * k] * n[0] + item->rot[3 * k + 1] * n[1] + item->rot[3 * k + 2] * n[2];
    f3_normalize(out);
}

static void round_normal(const sti__item *item, const float q[3], float out[3]) {
    float z = q[2] - f_clamp(q[2], -item->stretch, item->stretch), s[3];
    for (int k = 0; k < 3; k++) s[k] = 1 / (item->scale[k] * item->scale[k]);
    out[0] = q[0] * s[0], out[1] = q[1] * s[1], out[2] = z * s[2];
}

/* Weights of a face's corners at a place; those of a place beside the face are brought back to it. */
static void face_weights(const sti__drawn_mesh *shape, int face, const float q[3], float w[3],
                         float plane[3]) {
    const float *v[3];
    float e[2][3], d[3], side[3];
    for (int k = 0; k < 3; k++) v[k] = shape->vert + 3 * (size_t)shape->face[3 * (size_t)face + (size_t)k];
    for (int k = 0; k < 3; k++) {
        e[0][k] = v[1][k] - v[0][k];
        e[1][k] = v[2][k] - v[0][k];
        d[k] = q[k] - v[0][k];
    }
    f3_cross(plane, e[0], e[1]);
    float area = f3_dot(plane, plane), scale = area > 0 ? 1 / area : 0;
    f3_cross(side, d, e[1]);
    w[1] = f_clamp(f3_dot(side, plane) * scale, 0, 1);
    f3_cross(side, e[0], d);
    w[2] = f_clamp(f3_dot(side, plane) * scale, 0, 1 - w[1]);
    w[0] = 1 - w[1] - w[2];
}

static void mix_corners(const float w[3], const float *a, const float *b, const float *c, float out[3]) {
    for (int k = 0; k < 3; k++) out[k] = w[0] * a[k] + w[1] * b[k] + w[2] * c[k];
}

void sti__surface_normal(const sti__scene *scene, int id, const sti__drawn_mesh *shape, int face,
                         const double p[3], const float ray[3], float out[3]) {
    const sti__item *item = sti__scene_item(scene, id);
    if (is_plane(item)) {
        for (int k = 0; k < 3; k++) out[k] = item->rot[3 * k + 2];
        return;
    }
    float q[3], n[3], w[3], plane[3];
    sti__surface_local(item, p, q);
    if (item->shape == STI__CONE)
        for (int k = 0; k < 3; k++) q[k] /= item->scale[k];
    const float *corner = shape->normal + 9 * (size_t)face;
    if (is_round(item)) round_normal(item, q, n);
    else if (item->shape == STI__CUBE) f3_copy(n, corner);
    else if (item->shape < STI__CUBE) {
        bool cap = face >= shape->nface / 2;
        n[0] = cap ? 0 : q[0], n[1] = cap ? 0 : q[1], n[2] = cap ? corner[2] : 0;
    } else {
        face_weights(shape, face, q, w, plane);
        mix_corners(w, corner, corner + 3, corner + 6, n);
        for (int k = 0; k < 3; k++) n[k] /= item->scale[k];
    }
    to_world(item, n, out);
    f3_copy(w, out);
    if (item->shape >= STI__MESHES) to_world(item, plane, w);
    /* a face seen from behind shows the other side; round edges may look away from the eye by the angle of a facet */
    if (f3_dot(w, ray) > (item->shape < STI__CUBE ? 0.3f : 0)) f3_scale(out, -1);
}

bool sti__surface_tint(const sti__scene *scene, int id, const sti__drawn_mesh *shape, int face,
                       const double p[3], float out[3]) {
    if (!shape || !shape->tint) return false;
    float q[3], w[3], plane[3];
    const int *f = shape->face + 3 * (size_t)face;
    sti__surface_local(sti__scene_item(scene, id), p, q);
    face_weights(shape, face, q, w, plane);
    mix_corners(w, shape->tint + 3 * (size_t)f[0], shape->tint + 3 * (size_t)f[1],
                shape->tint + 3 * (size_t)f[2], out);
    return true;
}
