/* SPDX-License-Identifier: Apache-2.0 */
/* The side of the thread that steps: what commands do, when a frame is due, and the pace of a run. */
#include "server.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OPTIONS_COOKIE 0x5354492d76696577ull
enum { NONE = -1, TENDON_PIECES = 256, STRESS_SECONDS = 3, MOST_WORLDS = 256 };
static const uint32_t nothing = 0xffffffffu;

sti_viewer_options sti_viewer_options_default(void) {
    return (sti_viewer_options){
        .key = -1, .rate = 60, .worlds = 36, .history = (size_t)128 << 20, .cookie = OPTIONS_COOKIE};
}

sti_status fail(sti_error *error, sti_status code, const char *format, ...) {
    if (!error) return code;
    va_list list;
    *error = (sti_error){.code = code};
    va_start(list, format);
    vsnprintf(error->message, sizeof error->message, format, list);
    va_end(list);
    return code;
}

/* ---- creation ----------------------------------------------------------------------------------------- */

static void *plain_resize(void *context, void *ptr, size_t old_size, size_t new_size) {
    (void)context, (void)old_size;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

static size_t stress_size(const sti_model *m) {
    return ((size_t)m->nflexelem + 2 * (size_t)m->nflexvert) * sizeof(double);
}

static bool fill(sti_viewer *v) {
    const sti_model *m = v->model;
    v->scene.allocator = v->meshes.allocator = v->polygons.allocator = v->markers.allocator =
        v->past.allocator = &v->allocator;
    v->past.limit = v->options.history;
    v->drag.body = NONE;
    v->shown = v->options.replay ? 0 : NONE;
    v->replaying = v->options.replay && !v->options.paused;
    v->recording = v->options.recorder != NULL;
    v->npath = m->ntendon ? TENDON_PIECES : 0;
    atomic_init(&v->paused, v->options.paused);
    atomic_init(&v->speed, 1);
    if (v->npath && !(v->path = take(&v->allocator, 6 * sizeof(double) * (size_t)v->npath))) return false;
    if (!(v->look = take(&v->allocator, 1 + (size_t)m->nbody))) return false;
    atomic_init(&v->look[0], (unsigned char)m->vis.contactlook);
    for (int i = 0; i < m->nbody; i++) atomic_init(&v->look[1 + i], (unsigned char)m->body_contactlook[i]);
    if (m->nflex) {
        v->skin = take(&v->allocator, (size_t)m->nflexvert * sizeof *v->skin);
        v->stress = take(&v->allocator, stress_size(m));
        if (!v->skin || !v->stress) return false;
        v->nskin = scene_skin(m, v->skin);
    }
    scene_write(m, v->skin, v->nskin, &v->scene, &v->meshes);
    return !v->scene.failed && !v->meshes.failed;
}

sti_viewer *sti_viewer_create(const sti_model *model, const sti_viewer_options *options, sti_error *error) {
    static const sti_allocator plain = {plain_resize, NULL};
    sti_viewer_options defaults = sti_viewer_options_default();
    if (error) *error = (sti_error){0};
    if (!options) options = &defaults;
    if (!model || options->cookie != OPTIONS_COOKIE)
        return fail(error, STI_ARGUMENT,
                    "a viewer needs a model, and options from sti_viewer_options_default"),
               NULL;
    if (options->port < 0 || options->port > 65535 || !(options->rate > 0))
        return fail(error, STI_ARGUMENT, "a port is 0 to 65535, and the rate positive"), NULL;
    if (options->key < -1 || options->key >= model->nkey)
        return fail(error, STI_ARGUMENT, "there is no keyframe %d; the model has %d", options->key,
                    model->nkey),
               NULL;
    if (options->worlds < 0 || options->worlds > MOST_WORLDS)
        return fail(error, STI_ARGUMENT, "0 to %d worlds are shown side by side", MOST_WORLDS), NULL;
    const sti_allocator *a = options->allocator ? options->allocator : &plain;
    sti_viewer *v = take(a, sizeof *v);
    if (!v) return fail(error, STI_NO_MEMORY, "no memory for a viewer"), NULL;
    v->model = model;
    v->options = *options;
    v->allocator = *a;
    if (!mailbox_init(&v->mail, &v->allocator)) {
        give(a, v, sizeof *v);
        return fail(error, STI_NO_MEMORY, "no memory for a viewer"), NULL;
    }
    if (!fill(v)) fail(error, STI_NO_MEMORY, "no memory for a viewer");
    else v->server = server_start(v, options->port, error);
    if (v->server) return v;
    sti_viewer_destroy(v);
    return NULL;
}

void sti_viewer_destroy(sti_viewer *v) {
    if (!v) return;
    sti_allocator a = v->allocator;
    server_stop(v->server);
    sti_world_destroy(v->ghost);
    history_free(&v->past);
    mailbox_free(&v->mail);
    bytes_free(&v->scene);
    bytes_free(&v->meshes);
    bytes_free(&v->polygons);
    bytes_free(&v->markers);
    give(&a, v->skin, (size_t)v->model->nflexvert * sizeof *v->skin);
    give(&a, v->stress, stress_size(v->model));
    give(&a, v->path, 6 * sizeof(double) * (size_t)v->npath);
    give(&a, (void *)v->look, 1 + (size_t)v->model->nbody);
    give(&a, v, sizeof *v);
}

const char *sti_viewer_url(const sti_viewer *v) { return v->url; }
int sti_viewer_clients(const sti_viewer *v) { return atomic_load(&v->nclient); }
void sti_viewer_stop(sti_viewer *v) { atomic_store(&v->stop, true); }
bool sti_viewer_stopped(const sti_viewer *v) { return atomic_load(&v->stop); }
bool sti_viewer_paused(const sti_viewer *v) { return atomic_load(&v->paused); }
int sti_viewer_world(const sti_viewer *v) { return atomic_load(&v->chosen); }
double sti_viewer_speed(const sti_viewer *v) { return atomic_load(&v->speed); }

void sti_viewer_pause(sti_viewer *v, bool paused) {
    mailbox_send(&v->mail, &(command){.op = OP_PAUSE, .index = paused});
}

void sti_viewer_set_speed(sti_viewer *v, double speed) {
    if (speed >= 0 && speed <= 1e9) mailbox_send(&v->mail, &(command){.op = OP_SPEED, .x = {speed}});
}

void sti_viewer_choose(sti_viewer *v, int world) {
    if (world >= 0) mailbox_send(&v->mail, &(command){.op = OP_WORLD, .index = (uint32_t)world});
}

sti_status sti_viewer_look(sti_viewer *v, int body, sti_contact_look look) {
    if (body < -1 || body >= v->model->nbody || (int)look < 0 || look > STI_LOOK_SCENE ||
        (body < 0 && look == STI_LOOK_SCENE))
        return STI_ARGUMENT;
    atomic_store(&v->look[1 + body], (unsigned char)look);
    atomic_store(&v->welcome, true);
    return STI_OK;
}

sti_status sti_viewer_markers(sti_viewer *v, const sti_marker *marker, int count) {
    if (count < 0 || count > STI_VIEWER_MARKERS || (count > 0 && !marker)) return STI_ARGUMENT;
    v->markers.size = 0;
    if (count) bytes_add(&v->markers, marker, (size_t)count * sizeof *marker);
    v->changed = true;
    bool failed = v->markers.failed;
    v->markers.failed = false;
    return failed ? STI_NO_MEMORY : STI_OK;
}

sti_status sti_viewer_text(sti_viewer *v, const char *text) {
    if (text && strlen(text) >= sizeof v->note) return STI_ARGUMENT;
    snprintf(v->note, sizeof v->note, "%s", text ? text : "");
    v->changed = true;
    return STI_OK;
}

sti_status sti_viewer_camera(sti_viewer *v, int camera, const double lookat[3], double distance,
                             double azimuth, double elevation) {
    if (camera < -1 || camera >= v->model->ncam || (camera < 0 && !lookat)) return STI_ARGUMENT;
    double eye[8] = {v->eye[0] + 1, camera, 0, 0, 0, distance, azimuth, elevation};
    for (int k = 0; lookat && k < 3; k++) eye[2 + k] = lookat[k];
    for (int k = 2; k < 8; k++)
        if (!(fabs(eye[k]) < 1e9)) return STI_ARGUMENT;
    if (distance < 0) return STI_ARGUMENT;
    memcpy(v->eye, eye, sizeof eye);
    v->changed = true;
    return STI_OK;
}

/* ---- going back ----------------------------------------------------------------------------------------- */

static double time_of(sti_world *world) {
    return *(const double *)sti_world_view(world, STI_FIELD_time).data;
}

static void explain(sti_viewer *v, const sti_error *error) {
    sti_error_format(error, v->message, sizeof v->message);
}

static int64_t last_frame(const sti_viewer *v) {
    if (v->options.replay) return sti_recording_frames(v->options.replay) - 1;
    return v->past.number + v->past.count - 1;
}

/* Sets the ghost to a frame of the past, without what follows from it. */
static bool recall(sti_viewer *v, sti_world *world, int64_t number) {
    sti_error error = {0};
    if (!v->ghost && !(v->ghost = sti_world_copy(world, &error))) return explain(v, &error), false;
    const moment *m = history_at(&v->past, number);
    sti_status status = STI_ARGUMENT;
    if (v->options.replay) status = sti_recording_apply(v->options.replay, (int)number, v->ghost, &error);
    else if (m) status = sti_snapshot_load(v->ghost, m->data, m->size);
    if (status == STI_OK) v->shown = number;
    else if (error.code) explain(v, &error);
    return status == STI_OK;
}

static void show(sti_viewer *v, sti_world *world, int64_t number) {
    int64_t first = v->options.replay ? 0 : v->past.number;
    if (last_frame(v) < first) return;
    number = number < first ? first : number > last_frame(v) ? last_frame(v) : number;
    if (recall(v, world, number) && sti_forward(v->ghost) != STI_OK) explain(v, sti_world_error(v->ghost));
    v->changed = true;
}

static void replay_from(sti_viewer *v, sti_world *world, bool on) {
    v->replaying = on;
    v->changed = true;
    if (!on) return;
    if (v->shown < 0 || v->shown >= last_frame(v)) show(v, world, v->options.replay ? 0 : v->past.number);
    if (v->shown < 0) v->replaying = false;
    v->replay_wall = now();
    v->replay_time = v->ghost ? time_of(v->ghost) : 0;
}

/* On to the frame that belongs to the present time; a few at once if pages are slow. */
static void replay_on(sti_viewer *v, sti_world *world) {
    double speed = atomic_load(&v->speed), wall = now();
    if (!v->ghost || v->shown < 0) show(v, world, v->shown < 0 ? 0 : v->shown);
    if (!v->ghost) return;
    if (v->replay_wall <= 0) v->replay_wall = wall, v->replay_time = time_of(v->ghost);
    double due = v->replay_time + (wall - v->replay_wall) * (speed > 0 ? speed : 1e9);
    int64_t before = v->shown;
    for (int i = 0; i < 1000 && time_of(v->ghost) < due && v->shown < last_frame(v); i++)
        if (!recall(v, world, v->shown + 1)) break;
    if (v->shown != before) show(v, world, v->shown);
    if (v->shown >= last_frame(v)) v->replaying = false, v->changed = true;
}

static void live(sti_viewer *v) {
    if (v->options.replay) return;
    v->shown = NONE;
    v->replaying = false;
}

/* The world goes on from what is shown; what came after it is forgotten. */
static void resume(sti_viewer *v, sti_world *world) {
    const moment *m = v->options.replay ? NULL : history_at(&v->past, v->shown);
    if (!m) return;
    if (sti_snapshot_load(world, m->data, m->size) != STI_OK || sti_forward(world) != STI_OK)
        explain(v, sti_world_error(world));
    history_cut(&v->past, v->shown);
    live(v);
    atomic_store(&v->paused, false);
}

/* ---- commands ------------------------------------------------------------------------------------------- */

static void reset(sti_viewer *v, sti_world *world, uint32_t index) {
    if (index != nothing && index >= (uint32_t)v->model->nkey) return;
    int id = index == nothing ? v->options.key : (int)index;
    drag_clear(&v->drag, world);
    live(v);
    if (v->options.replay) {
        show(v, world, 0);
        return;
    }
    if (sti_world_reset(world, id) == STI_OK && sti_forward(world) == STI_OK) v->message[0] = 0;
    else explain(v, sti_world_error(world));
    history_clear(&v->past);
    v->next_record = time_of(world);
}

static void control(const sti_viewer *v, sti_world *world, const command *c) {
    const sti_model *m = v->model;
    if (c->index >= (uint32_t)m->nu) return;
    double x = c->x[0];
    if (m->actuator_ctrllimited[c->index])
        x = fmax(m->actuator_ctrlrange[2 * c->index], fmin(m->actuator_ctrlrange[2 * c->index + 1], x));
    ((double *)sti_world_view(world, STI_FIELD_ctrl).data)[c->index] = x;
}

/* A pose by hand, for slides and hinges: what was remembered of earlier steps belongs to another place. */
static void place_joint(sti_viewer *v, sti_world *world, const command *c) {
    const sti_model *m = v->model;
    if (v->options.replay || c->index >= (uint32_t)m->njnt) return;
    int joint = (int)c->index;
    if (m->jnt_type[joint] != STI_JOINT_SLIDE && m->jnt_type[joint] != STI_JOINT_HINGE) return;
    double x = c->x[0];
    if (m->jnt_limited[joint]) x = fmax(m->jnt_range[2 * joint], fmin(m->jnt_range[2 * joint + 1], x));
    live(v);
    ((double *)sti_world_view(world, STI_FIELD_qpos).data)[m->jnt_qposadr[joint]] = x;
    ((double *)sti_world_view(world, STI_FIELD_qvel).data)[m->jnt_dofadr[joint]] = 0;
    sti_world_drop_warm_start(world);
    if (sti_forward(world) != STI_OK) explain(v, sti_world_error(world));
}

static void switch_equality(const sti_viewer *v, sti_world *world, const command *c) {
    if (c->index < (uint32_t)v->model->neq) ((int *)sti_world_eq_active(world).data)[c->index] = c->x[0] != 0;
}

/* Only numbers with which any scene can be stepped. */
static void set_option(sti_viewer *v, sti_world *world, const command *c) {
    const int flags = STI_DISABLE_CONSTRAINT | STI_DISABLE_EQUALITY | STI_DISABLE_FRICTIONLOSS |
                      STI_DISABLE_LIMIT | STI_DISABLE_CONTACT | STI_DISABLE_SPRING | STI_DISABLE_DAMPER |
                      STI_DISABLE_GRAVITY | STI_DISABLE_ACTUATION;
    sti_option *o = sti_world_option(world);
    double x = c->x[0];
    if (v->options.replay) return;
    live(v);
    if (c->index == OPTION_TIMESTEP) o->timestep = fmax(1e-5, fmin(0.1, x));
    else if (c->index < OPTION_DISABLED) o->gravity[c->index - OPTION_GRAVITY] = fmax(-1e3, fmin(1e3, x));
    else if (c->index < OPTION_DISABLED + 20 && (flags >> (c->index - OPTION_DISABLED) & 1)) {
        int bit = 1 << (c->index - OPTION_DISABLED);
        o->disableflags = x != 0 ? o->disableflags | bit : o->disableflags & ~bit;
    }
}

static void pull(sti_viewer *v, sti_world *world, const command *c) {
    if (c->index == 0 || c->index >= (uint32_t)v->model->nbody) return;
    for (int k = 0; k < 3; k++)
        if (fabs(c->x[k]) > 10 * v->model->stat.extent) return; /* no point of a body */
    if (v->drag.body != (int)c->index) drag_clear(&v->drag, world);
    v->drag.body = (int)c->index;
    v->drag.twist = false;
    memcpy(v->drag.point, c->x, sizeof v->drag.point);
    memcpy(v->drag.target, c->x + 3, sizeof v->drag.target);
}

static void twist(sti_viewer *v, sti_world *world, const command *c) {
    double norm = sqrt(c->x[0] * c->x[0] + c->x[1] * c->x[1] + c->x[2] * c->x[2] + c->x[3] * c->x[3]);
    if (c->index == 0 || c->index >= (uint32_t)v->model->nbody || norm < 1e-6) return;
    if (v->drag.body != (int)c->index) drag_clear(&v->drag, world);
    v->drag.body = (int)c->index;
    v->drag.twist = true;
    for (int k = 0; k < 4; k++) v->drag.quat[k] = c->x[k] / norm;
}

static void pause(sti_viewer *v, sti_world *world, bool on) {
    if (v->options.replay) replay_from(v, world, !on);
    atomic_store(&v->paused, on);
    if (!on) v->message[0] = 0;
    if (!on) live(v);
}

static void choose_look(sti_viewer *v, const command *c) {
    if (c->x[0] < 0 || c->x[0] > STI_LOOK_SCENE ||
        (c->index != nothing && c->index >= (uint32_t)v->model->nbody))
        return;
    sti_viewer_look(v, c->index == nothing ? -1 : (int)c->index, (sti_contact_look)c->x[0]);
}

/* Another world of the batch: what was kept of the one before belongs to that. */
static void choose_world(sti_viewer *v, sti_world *before, const command *c) {
    if (!v->batch || c->index >= (uint32_t)sti_batch_count(v->batch) ||
        (int)c->index == atomic_load(&v->chosen))
        return;
    drag_clear(&v->drag, before);
    live(v);
    history_clear(&v->past);
    sti_world_destroy(v->ghost);
    v->ghost = NULL;
    v->pace_wall = v->rate = 0;
    atomic_store(&v->chosen, (int)c->index);
}

static void obey(sti_viewer *v, sti_world *world, const command *c) {
    v->changed = true;
    switch ((operation)c->op) {
    case OP_PAUSE: pause(v, world, c->index != 0); break;
    case OP_STEP:
        live(v), atomic_store(&v->paused, true), v->steps = c->index < 1000 ? (int)c->index : 1000;
        break;
    case OP_SPEED:
        atomic_store(&v->speed, c->x[0] < 0 ? 0 : c->x[0]), v->pace_wall = v->replay_wall = 0;
        break;
    case OP_RESET: reset(v, world, c->index); break;
    case OP_CONTROL: control(v, world, c); break;
    case OP_DRAG: pull(v, world, c); break;
    case OP_TWIST: twist(v, world, c); break;
    case OP_RELEASE: drag_clear(&v->drag, world); break;
    case OP_SEEK: v->replaying = false, atomic_store(&v->paused, true), show(v, world, c->index); break;
    case OP_REPLAY: atomic_store(&v->paused, true), replay_from(v, world, c->index != 0); break;
    case OP_LIVE: live(v); break;
    case OP_RESUME: resume(v, world); break;
    case OP_LOOK: choose_look(v, c); break;
    case OP_RECORD: v->recording = v->options.recorder && c->index; break;
    case OP_STRESS: v->stress_until = now() + STRESS_SECONDS; break;
    case OP_JOINT: place_joint(v, world, c); break;
    case OP_EQUALITY: switch_equality(v, world, c); break;
    case OP_OPTION: set_option(v, world, c); break;
    case OP_WORLD: choose_world(v, world, c); break;
    case OP_GRID: v->options.worlds = c->index < MOST_WORLDS ? (int)c->index : MOST_WORLDS; break;
    case OP_COUNT: break;
    }
}

/* ---- frames --------------------------------------------------------------------------------------------- */

static void measure_rate(sti_viewer *v, double wall, double time) {
    if (wall - v->rate_wall < 0.5) return;
    v->rate = time >= v->rate_time ? (time - v->rate_time) / (wall - v->rate_wall) : 0;
    v->rate_wall = wall;
    v->rate_time = time;
}

/* As often as frames, unless that would take more than half a percent of the time. */
static void remember(sti_viewer *v, const sti_world *world, double wall, double time) {
    const moment *last = history_at(&v->past, v->past.number + v->past.count - 1);
    if (v->past.limit == 0 || v->options.replay || (last && last->time == time) || wall < v->next_moment)
        return;
    history_add(&v->past, world, time);
    v->next_moment = wall + 200 * (now() - wall);
}

static bool wanted(sti_viewer *v, double wall) {
    if (atomic_load_explicit(&v->nclient, memory_order_relaxed) == 0) return false;
    if (wall - v->last_frame < 0.999 / v->options.rate) return false;
    bool moving = !v->running || (!atomic_load(&v->paused) && v->shown < 0) || v->steps > 0;
    return moving || v->changed || atomic_load(&v->welcome);
}

/* The world that is shown: the one that was given, or the chosen one of the batch. */
static sti_world *shown_world(const sti_viewer *v, sti_world *world) {
    return v->batch ? sti_batch_world(v->batch, atomic_load(&v->chosen)) : world;
}

sti_status sti_viewer_sync(sti_viewer *v, sti_world *world) {
    command c;
    while (mailbox_receive(&v->mail, &c)) {
        obey(v, world, &c);
        world = shown_world(v, world);
    }
    if (v->drag.body > 0) drag_apply(&v->drag, world);
    if (v->replaying) replay_on(v, world);
    double wall = now();
    if (!wanted(v, wall)) return STI_OK;
    /* frames keep to their beat, unless one was missed */
    v->last_frame = wall - v->last_frame < 2 / v->options.rate ? v->last_frame + 1 / v->options.rate : wall;
    v->changed = false;
    atomic_store(&v->welcome, false);
    double time = time_of(world);
    measure_rate(v, wall, time);
    remember(v, world, wall, time);
    v->sequence++;
    frame_write(v, v->shown >= 0 && v->ghost ? v->ghost : world, v->mail.back);
    if (v->mail.back->failed) return STI_NO_MEMORY;
    mailbox_publish(&v->mail);
    server_wake(v->server);
    return STI_OK;
}

/* ---- running -------------------------------------------------------------------------------------------- */

static void nap(double s) {
    struct timespec t = {0, (long)(1e9 * fmax(0, fmin(s, 0.005)))};
    nanosleep(&t, NULL);
}

/* Seconds by which the simulation is ahead of its pace. */
static double ahead(sti_viewer *v, double time, double timestep) {
    double wall = now(), speed = atomic_load(&v->speed);
    if (speed <= 0) return 0;
    double lead = (time - v->pace_time) / speed - (wall - v->pace_wall);
    if (v->pace_wall > 0 && lead > -0.1 && lead < 0.1 + 2 * timestep / speed) return lead;
    v->pace_wall = wall; /* it cannot keep up, was paused, or jumped: start anew */
    v->pace_time = time;
    return 0;
}

/* All worlds of the batch, or the one; false: what failed is in the message. */
static bool advance(sti_viewer *v, sti_world *world) {
    if (!v->batch) {
        if (sti_step(world, 1) == STI_OK) return true;
        explain(v, sti_world_error(world));
        return false;
    }
    if (sti_batch_step(v->batch, 1) == STI_OK) return true;
    int i = 0;
    while (i + 1 < sti_batch_count(v->batch) && sti_batch_status(v->batch)[i] == STI_OK) i++;
    char text[sizeof v->message];
    sti_error_format(sti_world_error(sti_batch_world(v->batch, i)), text, sizeof text);
    snprintf(v->message, sizeof v->message, "world %d: %.200s", i, text);
    return false;
}

static sti_status step(sti_viewer *v, sti_world *world, sti_error *error) {
    if (!advance(v, world)) {
        atomic_store(&v->paused, true);
        v->changed = true;
        return STI_OK;
    }
    if (v->steps > 0) v->steps--, v->changed = true;
    double time = time_of(world);
    if (!v->recording || time < v->next_record - 1e-9) return STI_OK;
    v->next_record = time + v->options.interval;
    return sti_recorder_frame(v->options.recorder, world, error);
}

sti_status sti_viewer_run(sti_viewer *v, sti_world *world, double seconds, sti_error *error) {
    double end = now() + seconds;
    sti_status status = v->begun ? STI_OK : sti_forward(world);
    if (status != STI_OK && error) *error = *sti_world_error(world);
    if (v->options.replay && !v->begun) show(v, world, 0);
    v->running = v->begun = true;
    while (status == STI_OK && !atomic_load(&v->stop) && now() < end) {
        status = sti_viewer_sync(v, world);
        world = shown_world(v, world);
        if (!v->seen) v->seen = !v->options.wait || atomic_load(&v->nclient) > 0;
        bool idle = !v->seen || v->shown >= 0 || (atomic_load(&v->paused) && v->steps == 0);
        double lead = idle           ? 0.004
                      : v->steps > 0 ? 0
                                     : ahead(v, time_of(world), sti_world_option(world)->timestep);
        if (idle) v->pace_wall = 0;
        if (lead > 0) nap(lead);
        else if (status == STI_OK) status = step(v, world, error);
    }
    v->running = false;
    if (atomic_load(&v->stop)) drag_clear(&v->drag, world);
    return status;
}

/* ---- batches -------------------------------------------------------------------------------------------- */

/* The chosen world, which there is; NULL and a status if the batch cannot be shown. */
static sti_world *enter_batch(sti_viewer *v, sti_batch *batch, sti_status *status, sti_error *error) {
    *status = STI_OK;
    if (!batch || sti_batch_model(batch) != v->model || v->options.recorder || v->options.replay)
        *status = fail(error, STI_ARGUMENT,
                       "a viewer of a batch has the batch's model, and neither recorder nor replay");
    else if (!sti_batch_world(batch, 0))
        *status =
            fail(error, STI_UNSUPPORTED,
                 "the worlds of this batch live on a device: sti_batch_save brings one to the processor");
    if (*status != STI_OK) return NULL;
    if (atomic_load(&v->chosen) >= sti_batch_count(batch)) atomic_store(&v->chosen, 0);
    v->batch = batch;
    return sti_batch_world(batch, atomic_load(&v->chosen));
}

sti_status sti_viewer_sync_batch(sti_viewer *v, sti_batch *batch) {
    sti_status status;
    sti_world *world = enter_batch(v, batch, &status, NULL);
    if (world) status = sti_viewer_sync(v, world);
    v->batch = NULL;
    return status;
}

sti_status sti_viewer_run_batch(sti_viewer *v, sti_batch *batch, double seconds, sti_error *error) {
    sti_status status;
    sti_world *world = enter_batch(v, batch, &status, error);
    if (world) {
        if (!v->begun) sti_batch_forward(batch);
        status = sti_viewer_run(v, world, seconds, error);
    }
    v->batch = NULL;
    return status;
}
