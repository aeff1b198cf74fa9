/* SPDX-License-Identifier: Apache-2.0 */
/* Marks on a picture: contact points and arrows of their forces, as the viewer draws them (docs/viewer.md), and colours of
   stress on soft bodies. */
#include "record/scene.h"
#include <string.h>

static const float RED[3] = {0.69f, 0.024f, 0.024f}, GREEN[3] = {0.014f, 0.337f, 0.042f},
                   BLUE[3] = {0.018f, 0.095f, 0.672f}, WHITE[3] = {1, 1, 1};

/* ---- contacts ------------------------------------------------------------------------------------------- */

/* Lengths of marks. */
typedef struct measures {
    double per_newton, size; /* m/N, m */
} measures;

static measures measure(const sti_model *m, double factor) {
    double mass = 0, g = 0;
    for (int i = 1; i < m->nbody; i++)
        if (m->body_weldid[i] != 0) mass += m->body_mass[i];
    for (int i = 0; i < m->nflexvert; i++) mass += m->flexvert_mass[i];
    for (int k = 0; k < 3; k++) g += m->opt.gravity[k] * m->opt.gravity[k];
    double weight = mass * (g > 0 ? sqrt(g) : 9.81), extent = m->stat.extent;
    return (measures){factor * 0.6 * extent / fmax(weight, 1e-9),
                      fmin(0.06 * m->stat.meansize + 0.004 * extent, 0.02 * extent)};
}

static bool push_mark(sti__scene *s, sti__item *item, const float color[3]) {
    item->kind = -1;
    item->look = (sti__look){.alpha = 1, .emission = 0.6f};
    f3_copy(item->look.color, color);
    item->radius = sqrtf(f3_dot(item->scale, item->scale));
    float sum = item->radius + (float)(item->pos[0] + item->pos[1] + item->pos[2]);
    return !isfinite(sum) || sti__vec_push(&s->items, item);
}

static bool add_point(sti__scene *s, const double pos[3], double radius, const float color[3]) {
    sti__item item = {.shape = STI__SPHERES, .rot = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    for (int k = 0; k < 3; k++) item.pos[k] = pos[k], item.scale[k] = (float)radius;
    return push_mark(s, &item, color);
}

/* A shape along `dir` whose middle is `from` + at * dir, half as long as `length`. */
static bool add_along(sti__scene *s, int shape, const double from[3], const double dir[3],
                      const double at_length[2], double width, const float color[3]) {
    sti__item item = {.shape = shape, .scale = {(float)width, (float)width, (float)(0.5 * at_length[1])}};
    sti__lens lens;
    sti__lens_aim(&lens, from, dir);
    for (int k = 0; k < 3; k++) {
        item.pos[k] = from[k] + (at_length[0] + 0.5 * at_length[1]) * dir[k];
        item.rot[3 * k] = lens.axis[k];
        item.rot[3 * k + 1] = -lens.axis[3 + k];
        item.rot[3 * k + 2] = lens.axis[6 + k];
    }
    return push_mark(s, &item, color);
}

/* An arrow of a force along a unit direction, or against it. */
static bool add_arrow(sti__scene *s, const measures *w, const double from[3], const double unit[3],
                      double force, const float color[3]) {
    double length = fabs(force) * w->per_newton, width = 0.35 * w->size, dir[3];
    if (!(length >= 0.2 * w->size) || !isfinite(length)) return true;
    for (int k = 0; k < 3; k++) dir[k] = force < 0 ? -unit[k] : unit[k];
    double head = fmin(3.5 * width, 0.5 * length);
    return add_along(s, STI__CYLINDERS, from, dir, (double[2]){0, length - head}, width, color) &&
           add_along(s, STI__CONE, from, dir, (double[2]){length - head, head}, 2.2 * width, color);
}

/* Of the second body if it says so itself, else of the first, else of the scene. */
static int look_of(const sti_model *m, const sti_contact *c) {
    const int body[2] = {c->body2, c->body1};
    for (int k = 0; k < 2; k++)
        if (body[k] >= 0 && m->body_contactlook[body[k]] != STI_LOOK_SCENE)
            return m->body_contactlook[body[k]];
    return m->vis.contactlook;
}

static bool add_forces(sti__scene *s, const measures *w, const sti_contact *c) {
    double tangent = sqrt(c->force[1] * c->force[1] + c->force[2] * c->force[2]), dir[3] = {0};
    double all = sqrt(c->force[0] * c->force[0] + tangent * tangent) * w->per_newton,
           share = fmin(1, all / (0.6 * s->model->stat.extent));
    for (int k = 0; tangent > 0 && k < 3; k++)
        dir[k] = (c->force[1] * c->frame[3 + k] + c->force[2] * c->frame[6 + k]) / tangent;
    return add_point(s, c->pos, w->size * (0.4 + 1.2 * sqrt(share)), RED) &&
           add_arrow(s, w, c->pos, c->frame, c->force[0], BLUE) &&
           (tangent == 0 || add_arrow(s, w, c->pos, dir, tangent, GREEN));
}

static bool add_frame(sti__scene *s, const measures *w, const sti_contact *c) {
    return add_arrow(s, w, c->pos, c->frame, c->force[0], GREEN) &&
           add_arrow(s, w, c->pos, c->frame + 3, c->force[1], RED) &&
           add_arrow(s, w, c->pos, c->frame + 6, c->force[2], BLUE) &&
           add_point(s, c->pos, 0.7 * w->size, WHITE);
}

#define MOST 1000 /* contacts of a picture; of more every second, third, ... is drawn */

bool sti__scene_contacts(sti__scene *s, double factor) {
    measures w = measure(s->model, factor);
    const sti__pose *pose = s->pose;
    int stride = 1 + (pose->ncontact - 1) / MOST;
    bool ok = true;
    for (int i = 0; ok && i < pose->ncontact; i += stride) {
        int look = look_of(s->model, &pose->contact[i]);
        if (look == STI_LOOK_FORCE) ok = add_forces(s, &w, &pose->contact[i]);
        else if (look == STI_LOOK_FRAME) ok = add_frame(s, &w, &pose->contact[i]);
    }
    return ok;
}

/* ---- markers ------------------------------------------------------------------------------------------ */

static bool marker_sound(const sti_marker *q) {
    double sum = 0;
    for (int k = 0; k < 9; k++) sum += fabs(q->mat[k]);
    for (int k = 0; k < 3; k++) sum += fabs(q->pos[k]) + fabs(q->size[k]);
    for (int k = 0; k < 4; k++) sum += fabs((double)q->rgba[k]);
    return sum < 1e30;
}

static bool push_marker(sti__scene *s, const sti_marker *q, sti__item *item) {
    item->kind = -2;
    item->look = (sti__look){.specular = 0.3f, .shininess = 0.3f, .alpha = f_clamp(q->rgba[3], 0, 1)};
    sti__linear_color(item->look.color, q->rgba);
    for (int k = 0; k < 9; k++) item->rot[k] = (float)q->mat[k];
    return sti__vec_push(&s->items, item);
}

/* A shaft and a head, at most half as long as the whole. */
static bool add_marker_arrow(sti__scene *s, const sti_marker *q) {
    double length = q->size[2], radius = q->size[0], head = fmin(6 * radius, 0.5 * length);
    if (!(length > 0) || !(radius > 0)) return true;
    const double half[2] = {0.5 * (length - head), 0.5 * head}, middle[2] = {half[0], length - 0.5 * head};
    for (int part = 0; part < 2; part++) {
        float width = (float)(part ? 2.5 * radius : radius);
        sti__item item = {.shape = part ? STI__CONE : STI__CYLINDERS,
                          .scale = {width, width, (float)half[part]}};
        for (int k = 0; k < 3; k++) item.pos[k] = q->pos[k] + middle[part] * q->mat[3 * k + 2];
        item.radius = sqrtf(f3_dot(item.scale, item.scale));
        if (!push_marker(s, q, &item)) return false;
    }
    return true;
}

bool sti__scene_markers(sti__scene *s, const sti_picture_options *o) {
    for (int i = 0; i < o->nmarker; i++) {
        const sti_marker *q = &o->marker[i];
        sti__item item = {.pos = {q->pos[0], q->pos[1], q->pos[2]}};
        if (!marker_sound(q) || q->rgba[3] < 0.01f) continue;
        bool arrow = q->type == STI_MARKER_ARROW;
        if (arrow ? !add_marker_arrow(s, q)
                  : sti__scene_form(&item, q->type, q->size) && !push_marker(s, q, &item))
            return false;
    }
    return true;
}

/* ---- stress ------------------------------------------------------------------------------------------- */

/* From blue over green and yellow to red, linear. */
static void ramp(double x, float out[3]) {
    static const float color[6][3] = {{0.011f, 0.023f, 0.147f}, {0.014f, 0.188f, 0.456f},
                                      {0.028f, 0.434f, 0.254f}, {0.687f, 0.645f, 0.042f},
                                      {0.783f, 0.184f, 0.027f}, {0.451f, 0.006f, 0.012f}};
    double t = 5 * (x > 0 ? fmin(x, 1) : 0);
    int i = t < 4 ? (int)t : 4;
    f3_mix(out, color[i], color[i + 1], (float)(t - i));
}

/* Von Mises' number at the vertices of a soft body: the mean of the tetrahedra that meet there, into the first floats of
   the tint of each vertex. Returns the largest. */
static double vertex_stress(const sti_model *m, int flex, const double *mises, float *tint) {
    double most = 0;
    for (int i = 4 * m->flex_elemadr[flex]; i < 4 * (m->flex_elemadr[flex] + m->flex_elemnum[flex]); i++) {
        float *at = tint + 3 * (size_t)m->flex_elem[i];
        at[0] += (float)mises[i / 4];
        at[1]++;
    }
    for (int i = 0; i < m->flex_vertnum[flex]; i++) {
        float *at = tint + 3 * (size_t)i;
        at[0] /= fmaxf(at[1], 1);
        most = fmax(most, (double)at[0]);
    }
    return most;
}

bool sti__scene_stress(sti__scene *s, double end) {
    const sti_model *m = s->model;
    double most = 0;
    sti__drawn_mesh *soft = s->shapes.shape + STI__MESHES + m->nmesh + m->nhfield;
    for (int f = 0; f < m->nflex; f++) {
        if (!soft[f].vert) continue; /* not drawn */
        size_t bytes = sti__size(soft[f].nvert, 3, sizeof(float));
        if (!soft[f].tint) soft[f].tint = sti__alloc(s->shapes.allocator, bytes);
        if (!soft[f].tint) return false;
        memset(soft[f].tint, 0, bytes);
        most = fmax(most, vertex_stress(m, f, s->pose->mises, soft[f].tint));
    }
    if (end > 0) most = end;
    for (int f = 0; f < m->nflex; f++)
        for (int i = 0; soft[f].tint && i < soft[f].nvert; i++) {
            float *at = soft[f].tint + 3 * (size_t)i;
            ramp(most > 0 ? (double)at[0] / most : 0, at);
        }
    return true;
}
