/* SPDX-License-Identifier: Apache-2.0 */
/* The colour of a point: a diffuse surface with a thin gloss, lit by lamps, sky and what the floor
   throws back. Patterns are averaged over the pixel, so that they do not crawl in the distance. */
#include "record/scene.h"

/* ---- patterns ----------------------------------------------------------------------------------------- */

/* Integral of a square wave of period 2, -1 and 1 in turn. */
static float wave_sum(float x) { return fabsf(x - 2 * f_floor(0.5f * x) - 1) - 1; }

/* Mean of the wave over a width. */
static float wave(float x, float width) {
    return (wave_sum(x + 0.5f * width) - wave_sum(x - 0.5f * width)) / width;
}

/* Integral of lines of that thickness behind the whole numbers. */
static float line_sum(float x, float thick) {
    float whole = f_floor(x);
    return whole + f_min((x - whole) / thick, 1);
}

/* Share of a line around the whole numbers in [x - width/2, x + width/2]. */
static float line(float x, float thick, float width) {
    float sum = line_sum(x + 0.5f * width, thick) - line_sum(x - 0.5f * width, thick);
    return f_clamp(sum * thick / width, 0, 1);
}

/* Place on the plane in cells, and how many of them a pixel covers. */
static void pattern_place(const sti__item *item, const sti__point *p, float uv[2], float width[2]) {
    float cosine = fabsf(f3_dot(p->normal, p->view));
    for (int k = 0; k < 2; k++) {
        double x = 0;
        float along = 0;
        for (int j = 0; j < 3; j++) {
            x += item->rot[3 * j + k] * (p->pos[j] - item->pos[j]);
            along += item->rot[3 * j + k] * p->view[j];
        }
        uv[k] = (float)(x / item->look.cell[k]);
        /* a pixel is stretched along the direction of view */
        float stretch = sqrtf(1 + along * along * (1 / f_max(cosine * cosine, 1e-6f) - 1));
        width[k] = f_max(1.2f * p->pixel * stretch / item->look.cell[k], 1e-4f);
    }
}

static inline void pattern_color(const sti__item *item, const sti__point *p, float out[3]) {
    const sti__look *look = &item->look;
    f3_copy(out, look->color);
    if (look->pattern == STI__PLAIN) return;
    float uv[2], width[2], mix;
    pattern_place(item, p, uv, width);
    if (look->pattern == STI__CHECKER) mix = 0.5f + 0.5f * wave(uv[0], width[0]) * wave(uv[1], width[1]);
    else {
        float fine = f_max(line(uv[0] + 0.006f, 0.012f, width[0]), line(uv[1] + 0.006f, 0.012f, width[1]));
        float bold = f_max(line(uv[0] / 5 + 0.002f, 0.004f, width[0] / 5),
                           line(uv[1] / 5 + 0.002f, 0.004f, width[1] / 5));
        mix = f_max(0.4f * fine, 0.9f * bold);
    }
    f3_mix(out, look->color, look->other, mix);
}

/* ---- light -------------------------------------------------------------------------------------------- */

static float power(float x, int squarings) {
    for (int i = 0; i < squarings; i++) x *= x;
    return x;
}

typedef struct sum {
    float diffuse[3], gloss[3];
} sum;

/* Light from a direction at that cosine to the normal; gleam: square of the cosine between the normal and the middle of
   light and view. */
static inline void add_light(sum *s, const sti__look *look, float cosine, float gleam, float share,
                             const float color[3], const float specular[3]) {
    /* a softer end of the light than the cosine's, where depth maps know least */
    float diffuse = share * (cosine + 0.3f) * (cosine + 0.3f) / 1.69f * f_smooth(6 * cosine);
    int sharp = 3 + (int)(4.5f * look->shininess);
    float spot = share * cosine * look->specular * power(gleam, sharp - 1) * (0.5f + 0.1f * (float)sharp);
    for (int k = 0; k < 3; k++) {
        s->diffuse[k] += diffuse * color[k];
        s->gloss[k] += spot * specular[k];
    }
}

static inline void add_lamps(sum *s, const sti__lights *l, const sti__look *look, const sti__point *p,
                             float nv) {
    for (int i = 0; i < l->nlamp; i++) {
        const sti__lamp *lamp = &l->lamp[i];
        float dir[3], share = i == l->shadow ? p->lamp : 1;
        f3_copy(dir, lamp->dir);
        if (lamp->positional) {
            for (int k = 0; k < 3; k++) dir[k] = (float)(lamp->pos[k] - p->pos[k]);
            f3_normalize(dir);
        }
        float cosine = f3_dot(dir, p->normal), along = f_max(cosine + nv, 0);
        if (cosine <= 0 || share <= 0) continue;
        float gleam = along * along / f_max(2 + 2 * f3_dot(dir, p->view), 1e-6f);
        add_light(s, look, cosine, gleam, share, lamp->color, lamp->specular);
    }
}

/* The sky in a polished surface, more of it at a grazing angle. */
static void add_mirror(sum *s, const sti__lights *l, const sti__look *look, const sti__point *p, float nv,
                       float seen) {
    float r[3], sky[3];
    for (int k = 0; k < 3; k++) r[k] = 2 * nv * p->normal[k] - p->view[k];
    sti__lights_background(l, r, sky);
    float grazing = 1 - nv, fresnel = 0.03f + 0.45f * power(grazing, 2) * grazing;
    for (int k = 0; k < 3; k++) s->gloss[k] += look->specular * fresnel * seen * sky[k];
}

/* Far ground fades into the horizon. */
static void haze(const sti__scene *scene, const sti__lights *l, const sti__item *item, const sti__point *p,
                 float out[3]) {
    if (item->shape >= 0) return;
    float far = p->distance / (float)(16 * scene->radius);
    float t = 1 - 1 / (1 + far * far * far);
    f3_mix(out, out, l->horizon, f_clamp(t, 0, 1));
}

void sti__shade(const sti__scene *scene, const sti__lights *l, int id, const sti__point *p, float out[3]) {
    const sti__item *item = sti__scene_item(scene, id);
    float albedo[3];
    sum s = {{0}, {0}};
    if (p->tinted) f3_copy(albedo, p->tint);
    else pattern_color(item, p, albedo);
    float below = 0.5f - 0.5f * p->normal[2], seen = f_clamp(1.1f * p->sky[1], 0, 1),
          nv = f_max(f3_dot(p->normal, p->view), 0);
    for (int k = 0; k < 3; k++)
        s.diffuse[k] = 0.62f * p->sky[k] + l->ambient[k] + 1.5f * below * scene->floor[k];
    add_lamps(&s, l, &item->look, p, nv);
    add_light(&s, &item->look, nv, nv * nv, 1, l->head, l->head_specular);
    if (item->shape >= 0) add_mirror(&s, l, &item->look, p, nv, seen);
    for (int k = 0; k < 3; k++) out[k] = albedo[k] * (s.diffuse[k] + item->look.emission) + s.gloss[k];
    haze(scene, l, item, p, out);
}
