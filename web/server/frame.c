/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a world as a message: sections of a tag, a count of 4-byte words and the words, little endian.
   Readers skip tags that they do not know. */
#include "server.h"

#include <math.h>
#include <string.h>

static void begin(bytes *b, const char tag[4], size_t nword) {
    uint32_t n = (uint32_t)nword;
    bytes_add(b, tag, 4);
    bytes_add(b, &n, 4);
}

static void add_floats(bytes *b, const double *x, size_t n) {
    float *to = bytes_room(b, n * sizeof *to);
    for (size_t i = 0; to && i < n; i++) to[i] = (float)x[i];
}

static void add_section(bytes *b, const char tag[4], const double *x, size_t n) {
    begin(b, tag, n);
    add_floats(b, x, n);
}

static void add_view(bytes *b, const char tag[4], sti_world *world, sti_field field) {
    sti_view view = sti_world_view(world, field);
    add_section(b, tag, view.data, (size_t)view.rows * (size_t)view.cols);
}

/* Text, padded with zeros. */
static void add_text(bytes *b, const char tag[4], const char *text) {
    size_t n = strlen(text), words = (n + 3) / 4;
    begin(b, tag, words);
    bytes_add(b, text, n);
    bytes_add(b, "\0\0\0", 4 * words - n);
}

static void add_head(const sti_viewer *v, sti_world *world, bytes *b) {
    const double *time = sti_world_view(world, STI_FIELD_time).data;
    bool live = v->shown < 0;
    uint32_t flags = (atomic_load(&v->paused) ? 1u : 0) | (live ? 0 : 2u) | (v->replaying ? 4u : 0) |
                     (v->recording ? 8u : 0) | (v->options.recorder ? 16u : 0) |
                     (v->options.replay ? 32u : 0) | (v->drag.body > 0 ? 64u : 0);
    int64_t frames = v->options.replay ? sti_recording_frames(v->options.replay) : v->past.count;
    int64_t first = v->options.replay ? 0 : v->past.number;
    const moment *from = history_at(&v->past, first), *to = history_at(&v->past, first + frames - 1);
    uint32_t words[5] = {v->sequence, flags, (uint32_t)first, (uint32_t)(first + frames - 1),
                         (uint32_t)(live ? first + frames - 1 : v->shown)};
    double reals[5] = {atomic_load(&v->speed), v->rate, from ? from->time : 0, to ? to->time : 0,
                       sti_world_option(world)->timestep};
    begin(b, "HEAD", 5 + 2 + 5);
    bytes_add(b, words, sizeof words);
    bytes_add(b, time, sizeof *time);
    add_floats(b, reals, 5);
}

static void add_poses(sti_world *world, bytes *b) {
    const double *pos = sti_world_view(world, STI_FIELD_xpos).data;
    sti_view quat = sti_world_view(world, STI_FIELD_xquat);
    float *to = bytes_room(b, 7 * (size_t)quat.rows * sizeof *to);
    for (int i = 0; to && i < quat.rows; i++, to += 7) {
        const double *q = (const double *)quat.data + 4 * i;
        for (int k = 0; k < 3; k++) to[k] = (float)pos[3 * i + k];
        for (int k = 0; k < 4; k++) to[3 + k] = (float)q[k];
    }
}

/* Worlds of a batch beside the chosen one: how many there are, which is chosen, the first and the number of those in the grid; then the
   bodies of each in the grid but the chosen. */
static void add_grid(const sti_viewer *v, bytes *b) {
    enum { MOST_BYTES = 4 << 20 };
    int chosen = atomic_load(&v->chosen), count = sti_batch_count(v->batch), most = v->options.worlds;
    int fit = MOST_BYTES / (28 * v->model->nbody);
    most = most < 1 || fit < 1 ? 1 : most < fit ? most : fit;
    int first = chosen / most * most, n = count - first < most ? count - first : most;
    size_t each = 7 * (size_t)v->model->nbody;
    begin(b, "GRID", 4 + (size_t)(n - 1) * each);
    add_floats(b, (const double[4]){count, chosen, first, n}, 4);
    for (int i = first; i < first + n; i++)
        if (i != chosen) add_poses(sti_batch_world(v->batch, i), b);
}

/* Pieces of all tendons: tendon, from, to. */
static void add_tendons(sti_viewer *v, sti_world *world, bytes *b) {
    size_t at = b->size;
    uint32_t words = 0;
    begin(b, "TEND", 0);
    for (int t = 0; t < v->model->ntendon; t++) {
        int n = sti_tendon_path(world, t, v->path, v->npath);
        for (int i = 0; i < n && i < v->npath; i++) {
            float id = (float)t;
            bytes_add(b, &id, sizeof id);
            add_floats(b, v->path + 6 * i, 6);
            words += 7;
        }
    }
    if (!b->failed) memcpy(b->data + at + 4, &words, sizeof words);
}

static float reach(double x) { return (float)fmax(-1e30, fmin(1e30, x)); }

static void add_contacts(sti_world *world, bytes *b) {
    int n;
    const sti_contact *list = sti_world_contacts(world, &n);
    begin(b, "CONT", 19 * (size_t)n);
    float *to = bytes_room(b, 19 * (size_t)n * sizeof *to);
    for (int i = 0; to && i < n; i++, to += 19) {
        const sti_contact *c = &list[i];
        const float head[7] = {(float)c->geom1, (float)c->geom2, (float)c->region, (float)c->dim,
                               reach(c->dist),  reach(c->mu[0]), reach(c->share)};
        memcpy(to, head, sizeof head);
        for (int k = 0; k < 3; k++) {
            to[7 + k] = reach(c->pos[k]);
            to[10 + k] = reach(c->frame[k]);
            to[13 + k] = reach(c->frame[3 + k]);
            to[16 + k] = reach(c->force[k]);
        }
    }
}

static void add_skins(const sti_viewer *v, sti_world *world, bytes *b) {
    const double *x = sti_world_view(world, STI_FIELD_flexvert_xpos).data;
    begin(b, "SKIN", 3 * (size_t)v->nskin);
    float *to = bytes_room(b, 3 * (size_t)v->nskin * sizeof *to);
    for (int i = 0; to && i < 3 * v->nskin; i++) to[i] = reach(x[3 * v->skin[i / 3] + i % 3]);
}

/* Von Mises' number at the vertices of skins: the mean of the tets that meet there. */
static void add_stress(const sti_viewer *v, sti_world *world, bytes *b) {
    const sti_model *m = v->model;
    double *mises = v->stress, *sum = mises + m->nflexelem, *count = sum + m->nflexvert;
    memset(sum, 0, 2 * (size_t)m->nflexvert * sizeof *sum);
    sti_world_soft_stress(world, mises, NULL);
    for (int f = 0; f < m->nflex; f++)
        for (int i = 4 * m->flex_elemadr[f]; i < 4 * (m->flex_elemadr[f] + m->flex_elemnum[f]); i++) {
            int vertex = m->flex_vertadr[f] + m->flex_elem[i];
            sum[vertex] += mises[i / 4];
            count[vertex]++;
        }
    begin(b, "STRS", (size_t)v->nskin);
    float *to = bytes_room(b, (size_t)v->nskin * sizeof *to);
    for (int i = 0; to && i < v->nskin; i++) to[i] = reach(sum[v->skin[i]] / fmax(1, count[v->skin[i]]));
}

/* Polygons of contact: pressure, how many corners, the corners. */
static void add_patches(sti_viewer *v, sti_world *world, bytes *b) {
    int n = sti_world_patches(world, NULL, 0);
    size_t at = b->size;
    uint32_t words = 0;
    v->polygons.size = 0;
    sti_patch *list = n ? bytes_room(&v->polygons, (size_t)n * sizeof *list) : NULL;
    if (list) sti_world_patches(world, list, n);
    begin(b, "PTCH", 0);
    for (int i = 0; list && i < n; i++) {
        const float head[2] = {reach(list[i].pressure), (float)list[i].count};
        bytes_add(b, head, sizeof head);
        add_floats(b, list[i].corner[0], 3 * (size_t)list[i].count);
        words += 2 + 3 * (uint32_t)list[i].count;
    }
    if (!b->failed) memcpy(b->data + at + 4, &words, sizeof words);
}

static void add_statistics(sti_world *world, bytes *b) {
    const double *energy = sti_world_view(world, STI_FIELD_energy).data;
    const sti_solve_info *info = sti_world_solve_info(world);
    int ncontact;
    sti_world_contacts(world, &ncontact);
    double x[7] = {energy[0], energy[1],           info->iterations,           info->certificate.headline,
                   ncontact,  1e3 * info->seconds, info->certificate.error_bar};
    add_section(b, "STAT", x, 7);
}

/* Microseconds per step since the last frame, and the names of the stages with their depths. */
static void add_profile(sti_viewer *v, sti_world *world, bytes *b) {
    char names[1024] = "";
    double us[64];
    int n = 0;
    size_t used = 0;
    const sti_profile_node *node = sti_world_profile(world, &n);
    if (n == 0 || v->shown >= 0) return;
    int64_t done = 0;
    for (int i = 0; i < n; i++)
        if (node[i].depth == 0 && node[i].count > done)
            done = node[i].count; /* steps, or forwards in a loop of one's own */
    int64_t steps = done - v->profile_steps;
    n = n < 64 ? n : 64;
    for (int i = 0; i < n; i++) {
        int64_t ticks = node[i].ticks - v->profile_ticks[i];
        us[i] = steps > 0 && ticks > 0 ? 1e-3 * (double)ticks / (double)steps : 0;
        v->profile_ticks[i] = node[i].ticks;
        size_t length = strlen(node[i].name);
        if (used + length + 4 >= sizeof names) break;
        names[used++] = (char)('0' + (node[i].depth < 9 ? node[i].depth : 9));
        memcpy(names + used, node[i].name, length);
        used += length;
        names[used++] = '\n';
    }
    names[used] = 0;
    v->profile_steps = done;
    add_section(b, "PROF", us, (size_t)n);
    add_text(b, "PNAM", names);
}

static void add_equalities(sti_world *world, bytes *b) {
    sti_view on = sti_world_eq_active(world);
    begin(b, "EQUA", (size_t)on.rows);
    for (int i = 0; i < on.rows; i++) bytes_add(b, &(float){((const int *)on.data)[i] != 0}, sizeof(float));
}

static void add_options(sti_world *world, bytes *b) {
    const sti_option *o = sti_world_option(world);
    const double x[OPTION_DISABLED + 1] = {o->timestep, o->gravity[0], o->gravity[1], o->gravity[2],
                                           o->disableflags};
    add_section(b, "OPTI", x, OPTION_DISABLED + 1);
}

/* Markers: type, colour, size, place and rotation; then their labels, one a line. */
static void add_markers(const sti_viewer *v, bytes *b) {
    size_t n = v->markers.size / sizeof(sti_marker), at;
    const sti_marker *list = (const sti_marker *)(const void *)v->markers.data;
    begin(b, "MARK", 20 * n);
    for (size_t i = 0; i < n; i++) {
        float head[5] = {(float)list[i].type};
        memcpy(head + 1, list[i].rgba, sizeof list[i].rgba);
        bytes_add(b, head, sizeof head);
        add_floats(b, list[i].size, 3);
        add_floats(b, list[i].pos, 3);
        add_floats(b, list[i].mat, 9);
    }
    at = b->size;
    begin(b, "MLAB", 0);
    for (size_t i = 0; i < n; i++) {
        bytes_add(b, list[i].label, strnlen(list[i].label, sizeof list[i].label));
        bytes_add(b, "\n", 1);
    }
    while (!b->failed && (b->size - at) % 4) bytes_add(b, "", 1);
    uint32_t words = (uint32_t)((b->size - at - 8) / 4);
    if (!b->failed) memcpy(b->data + at + 4, &words, sizeof words);
}

/* Force and torque of the mouse. */
static void add_pull(const sti_viewer *v, sti_world *world, bytes *b) {
    const double *force = sti_world_view(world, STI_FIELD_xfrc_applied).data;
    add_section(b, "PULL", force + 6 * (size_t)v->drag.body, 6);
}

static void add_look(const sti_viewer *v, bytes *b) {
    size_t n = 1 + (size_t)v->model->nbody, words = (n + 3) / 4;
    begin(b, "LOOK", words);
    uint8_t *to = bytes_room(b, 4 * words);
    for (size_t i = 0; to && i < 4 * words; i++)
        to[i] = i < n ? atomic_load_explicit(&v->look[i], memory_order_relaxed) : 0;
}

void frame_write(sti_viewer *v, sti_world *world, bytes *b) {
    static const uint8_t headroom[HEADROOM] = {0};
    b->size = 0;
    b->failed = false;
    bytes_add(b, headroom, HEADROOM);
    add_head(v, world, b);
    begin(b, "BODY", 7 * (size_t)v->model->nbody);
    add_poses(world, b);
    if (v->batch) add_grid(v, b);
    if (v->model->ncam)
        add_view(b, "CAMP", world, STI_FIELD_cam_xpos), add_view(b, "CAMM", world, STI_FIELD_cam_xmat);
    if (v->model->nlight)
        add_view(b, "LITP", world, STI_FIELD_light_xpos), add_view(b, "LITD", world, STI_FIELD_light_xdir);
    if (v->npath) add_tendons(v, world, b);
    add_contacts(world, b);
    add_patches(v, world, b);
    if (v->nskin) add_skins(v, world, b);
    if (v->nskin && now() < v->stress_until) add_stress(v, world, b);
    add_view(b, "CTRL", world, STI_FIELD_ctrl);
    add_view(b, "SENS", world, STI_FIELD_sensordata);
    add_view(b, "QPOS", world, STI_FIELD_qpos);
    add_view(b, "QVEL", world, STI_FIELD_qvel);
    if (v->model->neq) add_equalities(world, b);
    add_options(world, b);
    add_statistics(world, b);
    add_profile(v, world, b);
    add_look(v, b);
    if (v->message[0]) add_text(b, "TEXT", v->message);
    if (v->markers.size) add_markers(v, b);
    if (v->note[0]) add_text(b, "NOTE", v->note);
    if (v->eye[0] > 0) add_section(b, "EYES", v->eye, 8);
    if (v->drag.body > 0) add_pull(v, world, b);
}
