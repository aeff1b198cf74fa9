/* SPDX-License-Identifier: Apache-2.0 */
/* Textures. Each is kept at halved sizes; a pixel of the picture is a long thin ellipse on the surface, whose mean is
   that of a few looks along it, each at the size at which the ellipse's short side is about a texel. */
#include "base/det.h"
#include "record/scene.h"
#include <string.h>

enum { LOOKS = 8 }; /* along a pixel's long side, at most */
enum { FACES = 6 };

/* ---- halved sizes ------------------------------------------------------------------------------------------- */

static int face_rows(const sti__texture *t, int level) { return t->height[level] / t->faces; }

static int lower(int n) { return n > 1 ? n / 2 : 1; }

static void measure(sti__texture *t, int width, int height) {
    t->ntexel = 0;
    for (t->levels = 0; t->levels < STI__LEVELS_MOST; t->levels++) {
        t->width[t->levels] = width;
        t->height[t->levels] = t->faces * height;
        t->ntexel = sti__add(t->ntexel, sti__size(width, t->faces * height));
        if (width == 1 && height == 1) {
            t->levels++;
            return;
        }
        width = lower(width), height = lower(height);
    }
}

/* Means of two by two texels, of a face for itself. */
static void halve(const sti__texture *t, int level) {
    int w = t->width[level], h = face_rows(t, level), from_w = t->width[level - 1],
        from_h = face_rows(t, level - 1);
    for (int f = 0; f < t->faces; f++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                float *out = t->texel[level] + 3 * ((size_t)(f * h + y) * (size_t)w + (size_t)x);
                out[0] = out[1] = out[2] = 0;
                for (int c = 0; c < 4; c++) {
                    int fx = 2 * x + c % 2 < from_w ? 2 * x + c % 2 : from_w - 1,
                        fy = 2 * y + c / 2 < from_h ? 2 * y + c / 2 : from_h - 1;
                    const float *in =
                        t->texel[level - 1] + 3 * ((size_t)(f * from_h + fy) * (size_t)from_w + (size_t)fx);
                    for (int k = 0; k < 3; k++) out[k] += 0.25f * in[k];
                }
            }
}

static bool make(sti__texture *t, const sti_model *m, int texture, const sti_allocator *a) {
    int width = m->tex_width[texture], height = m->tex_height[texture];
    float linear[256];
    t->cube = m->tex_type[texture] == 1;
    t->faces = t->cube && height == FACES * width ? FACES : 1;
    measure(t, width, height / t->faces);
    float *texel = sti__alloc(a, sti__size(t->ntexel, 3, sizeof *texel));
    if (!texel) {
        t->ntexel = 0; /* the next picture tries again */
        return false;
    }
    for (int i = 0; i < 256; i++) linear[i] = (float)sti__pow(i / 255.0, 2.2);
    const uint8_t *rgb = (const uint8_t *)m->tex_data + m->tex_adr[texture];
    for (size_t i = 0, n = 3 * (size_t)width * (size_t)height; i < n; i++) texel[i] = linear[rgb[i]];
    for (int level = 0; level < t->levels; level++) {
        t->texel[level] = texel;
        texel += 3 * (size_t)t->width[level] * (size_t)t->height[level];
        if (level) halve(t, level);
    }
    return true;
}

bool sti__texture_need(sti__scene *s, int texture, bool *ok) {
    const sti_model *m = s->model;
    *ok = true;
    if (m->tex_width[texture] == 0 || m->tex_type[texture] > 1) return false;
    if (!s->texture) s->texture = sti__alloc(s->shapes.allocator, sti__size(m->ntex, sizeof *s->texture));
    if (!s->texture) return *ok = false;
    sti__texture *t = s->texture + texture;
    return t->ntexel || (*ok = make(t, m, texture, s->shapes.allocator));
}

void sti__textures_free(sti__scene *s) {
    const sti_allocator *a = s->shapes.allocator;
    for (int i = 0; s->texture && i < s->model->ntex; i++)
        sti__free(a, s->texture[i].texel[0], s->texture[i].ntexel * 3 * sizeof(float));
    if (s->texture) sti__free(a, s->texture, sti__size(s->model->ntex, sizeof *s->texture));
    s->texture = NULL;
}

/* ---- looking up ------------------------------------------------------------------------------------------- */

/* What the picture shows around a point: a face, the place in it, and how that changes along the item's axes. */
typedef struct spot {
    int face;
    float uv[2], slope[2][3];
} spot;

/* Half of the picture for each of the item's half sizes: sign 1 or -1. */
static void halfway(const sti__item *item, const float q[3], int k, int axis, float sign, float half,
                    spot *out) {
    float map = item->look.map[k], slope = 0.5f * map * sign / half;
    out->uv[k] = 0.5f * map + slope * q[axis];
    out->slope[k][axis] = slope;
}

#define PI 3.14159265358979323846

/* Once around z from +x. */
static void around(const sti__item *item, const float q[3], spot *out) {
    const float *s = item->scale;
    float x = q[0] / s[0], y = q[1] / s[1], r2 = f_max(x * x + y * y, 1e-12f), map = item->look.map[0];
    double turn = sti__atan2((double)y, (double)x) / (2 * PI);
    out->uv[0] = map * (float)(turn < 0 ? turn + 1 : turn);
    out->slope[0][0] = -map * y / (r2 * s[0]) / (float)(2 * PI);
    out->slope[0][1] = map * x / (r2 * s[1]) / (float)(2 * PI);
}

/* From the upper pole to the lower one; z from the ball's middle. */
static void down(const sti__item *item, const float q[3], float z, spot *out) {
    const float *s = item->scale;
    float x = q[0] / s[0], y = q[1] / s[1], r = sqrtf(f_max(x * x + y * y, 1e-12f)), w = z / s[2],
          n2 = r * r + w * w, map = item->look.map[1] / (float)PI;
    out->uv[1] = map * (float)sti__atan2((double)r, (double)w);
    out->slope[1][0] = map * w * x / (r * n2 * s[0]);
    out->slope[1][1] = map * w * y / (r * n2 * s[1]);
    out->slope[1][2] = -map * r / (n2 * s[2]);
}

/* The ends of a capsule are halves of a ball with the whole picture each. */
static void down_half(const sti__item *item, const float q[3], float z, spot *out) {
    down(item, q, z, out);
    out->uv[1] = 2 * out->uv[1] - (z < 0 ? item->look.map[1] : 0);
    f3_scale(out->slope[1], 2);
}

static int largest_axis(const float d[3]) {
    float x = fabsf(d[0]), y = fabsf(d[1]), z = fabsf(d[2]);
    return x >= y && x >= z ? 0 : y >= z ? 1 : 2;
}

static void by_sides(const sti__item *item, const float q[3], spot *out) {
    const float *s = item->scale, d[3] = {q[0] / s[0], q[1] / s[1], q[2] / s[2]};
    int side = largest_axis(d), right = side == 0 ? 1 : 0, up = side == 2 ? 1 : 2;
    halfway(item, q, 0, right, 1, s[right], out);
    halfway(item, q, 1, up, -1, s[up], out);
}

static void by_shape(const sti__item *item, bool cap, const float q[3], spot *out) {
    const float *s = item->scale;
    float ball = q[2] - f_clamp(q[2], -item->stretch, item->stretch);
    *out = (spot){0};
    switch (item->look.wrap) {
    case STI__ALONG:
        for (int k = 0; k < 2; k++) {
            out->uv[k] = item->look.map[k] * q[k] + item->look.shift[k];
            out->slope[k][k] = item->look.map[k];
        }
        break;
    case STI__SIDES: by_sides(item, q, out); break;
    case STI__AROUND: around(item, q, out), down(item, q, q[2], out); break;
    case STI__TUBE:
        if (cap) halfway(item, q, 0, 0, 1, s[0], out), halfway(item, q, 1, 1, 1, s[1], out);
        else around(item, q, out), halfway(item, q, 1, 2, -1, s[2], out);
        break;
    case STI__PILL:
        around(item, q, out);
        if (ball != 0) down_half(item, q, ball, out);
        else halfway(item, q, 1, 2, -1, f_max(item->stretch, 1e-9f), out);
    }
}

/* The faces of a cube: the axis that they are on, those along which their pictures go right and down, and the signs, as in OpenGL. */
static const struct {
    int axis, right, down, right_sign, down_sign;
} cube_face[FACES] = {{0, 2, 1, -1, -1}, {0, 2, 1, 1, -1}, {1, 0, 2, 1, 1},
                      {1, 0, 2, 1, -1},  {2, 0, 1, 1, -1}, {2, 0, 1, -1, -1}};

static void by_direction(const sti__look *look, const float q[3], spot *out) {
    float d[3];
    for (int k = 0; k < 3; k++) d[k] = look->map[k] * q[k];
    int axis = largest_axis(d);
    *out = (spot){.face = 2 * axis + (d[axis] < 0)};
    float depth = f_max(fabsf(d[axis]), 1e-20f), sign = d[axis] < 0 ? -1 : 1;
    for (int k = 0; k < 2; k++) {
        int along = k ? cube_face[out->face].down : cube_face[out->face].right;
        float turn = (float)(k ? cube_face[out->face].down_sign : cube_face[out->face].right_sign),
              x = turn * d[along] / depth;
        out->uv[k] = 0.5f * (x + 1);
        out->slope[k][along] = 0.5f * turn * look->map[along] / depth;
        out->slope[k][axis] = -0.5f * x * sign * look->map[axis] / depth;
    }
}

/* Between the corners of a face, whose coordinates change evenly along it. */
static void by_corners(const sti__drawn_mesh *shape, int face, const float q[3], spot *out) {
    const float *v[3], *c[3];
    float e[2][3], n[3], across[2][3];
    for (int k = 0; k < 3; k++) {
        v[k] = shape->vert + 3 * (size_t)shape->face[3 * (size_t)face + (size_t)k];
        c[k] = shape->coord + 2 * (size_t)shape->face_coord[3 * (size_t)face + (size_t)k];
    }
    for (int k = 0; k < 3; k++) e[0][k] = v[1][k] - v[0][k], e[1][k] = v[2][k] - v[0][k];
    f3_cross(n, e[0], e[1]);
    float area = f3_dot(n, n), scale = area > 0 ? 1 / area : 0;
    /* gradients of the second and third corner's weights */
    f3_cross(across[0], e[1], n), f3_cross(across[1], n, e[0]);
    *out = (spot){0};
    for (int k = 0; k < 2; k++) {
        float a = c[1][k] - c[0][k], b = c[2][k] - c[0][k];
        out->uv[k] = c[0][k];
        for (int j = 0; j < 3; j++) {
            out->slope[k][j] = scale * (a * across[0][j] + b * across[1][j]);
            out->uv[k] += out->slope[k][j] * (q[j] - v[0][j]);
        }
    }
}

/* ---- filtering --------------------------------------------------------------------------------------------- */

static int wrap(int i, int n) {
    i %= n;
    return i < 0 ? i + n : i;
}

/* Between four texels; pictures repeat, faces of cubes end. */
static void look_at(const sti__texture *t, int level, int face, float u, float v, float sum[3]) {
    int w = t->width[level], h = face_rows(t, level);
    float x = (t->cube ? f_clamp(u, 0, 1) : u - f_floor(u)) * (float)w - 0.5f,
          y = (t->cube ? f_clamp(v, 0, 1) : v - f_floor(v)) * (float)h - 0.5f;
    int x0 = (int)f_floor(x), y0 = (int)f_floor(y);
    const float *start = t->texel[level] + 3 * (size_t)(t->faces > 1 ? face : 0) * (size_t)w * (size_t)h;
    float fx = x - (float)x0, fy = y - (float)y0;
    for (int c = 0; c < 4; c++) {
        int cx = x0 + c % 2, cy = y0 + c / 2;
        cx = t->cube ? (int)f_clamp((float)cx, 0, (float)(w - 1)) : wrap(cx, w);
        cy = t->cube ? (int)f_clamp((float)cy, 0, (float)(h - 1)) : wrap(cy, h);
        const float *texel = start + 3 * ((size_t)cy * (size_t)w + (size_t)cx);
        float share = (c % 2 ? fx : 1 - fx) * (c / 2 ? fy : 1 - fy);
        for (int k = 0; k < 3; k++) sum[k] += share * texel[k];
    }
}

/* The two sides of a pixel on the surface, in the item's axes: across, and away from the eye, where it is stretched. */
static void pixel_sides(const sti__item *item, const sti__point *p, float out[2][3]) {
    float away[3], across[3], cosine = f3_dot(p->normal, p->view);
    for (int k = 0; k < 3; k++) away[k] = p->view[k] - cosine * p->normal[k];
    if (f3_dot(away, away) < 1e-12f) away[0] = p->normal[1], away[1] = p->normal[2], away[2] = p->normal[0];
    f3_normalize(away);
    f3_cross(across, p->normal, away);
    f3_normalize(across);
    float stretch = p->pixel / f_max(fabsf(cosine), 0.02f);
    for (int k = 0; k < 3; k++) {
        out[0][k] = out[1][k] = 0;
        for (int j = 0; j < 3; j++) {
            out[0][k] += item->rot[3 * j + k] * across[j] * p->pixel;
            out[1][k] += item->rot[3 * j + k] * away[j] * stretch;
        }
    }
}

static void filter(const sti__texture *t, const spot *s, float side[2][3], float out[3]) {
    float step[2][2], length[2];
    int rows = face_rows(t, 0);
    for (int i = 0; i < 2; i++) {
        for (int k = 0; k < 2; k++) step[i][k] = f3_dot(s->slope[k], side[i]);
        float x = step[i][0] * (float)t->width[0], y = step[i][1] * (float)rows;
        length[i] = sqrtf(x * x + y * y);
    }
    int far = length[1] > length[0], looks = 1, level = 0;
    float wide = length[far], narrow = f_max(length[!far], 1e-6f);
    if (!(wide < 1e9f)) wide = 1e9f;
    while (looks < LOOKS && wide > (float)looks * f_max(narrow, 1)) looks++;
    for (float size = f_max(wide / (float)looks, narrow); size > 1.5f && level + 1 < t->levels; size *= 0.5f)
        level++;
    float sum[3] = {0};
    for (int i = 0; i < looks; i++) {
        float at = ((float)i + 0.5f) / (float)looks - 0.5f;
        look_at(t, level, s->face, s->uv[0] + at * step[far][0], s->uv[1] + at * step[far][1], sum);
    }
    for (int k = 0; k < 3; k++) out[k] = sum[k] / (float)looks;
}

bool sti__texture_color(const sti__scene *scene, int id, const sti__drawn_mesh *shape, int face,
                        const sti__point *p, float out[3]) {
    const sti__item *item = sti__scene_item(scene, id);
    if (!item->look.texture) return false;
    const sti__texture *t = scene->texture + item->look.texture - 1;
    float q[3], side[2][3];
    spot s;
    sti__surface_local(item, p->pos, q);
    if (t->cube) by_direction(&item->look, q, &s);
    else if (item->look.printed && shape && shape->coord) by_corners(shape, face, q, &s);
    else by_shape(item, sti__surface_part(scene, id, shape, face) > 0, q, &s);
    pixel_sides(item, p, side);
    filter(t, &s, side, out);
    for (int k = 0; k < 3; k++) out[k] *= item->look.color[k];
    return true;
}
