/* SPDX-License-Identifier: Apache-2.0 */
/* Making, resetting, stepping and reading batches. The worlds keep their state, inputs and sensors in arrays of the batch, a row a
   world, so that the caller sees them without a copy. */
#include "batch/batch.h"

#include <math.h>
#include <string.h>

#define OPTIONS_COOKIE 0x5354492d62617463ull

sti_batch_options sti_batch_options_default(void) { return (sti_batch_options){.cookie = OPTIONS_COOKIE}; }

/* ---- creation ------------------------------------------------------------------------------------- */

static bool is_shown(sti_field field) {
    char role = sti__field_role(field);
    return role == 'S' || role == 'I' || field == STI_FIELD_sensordata;
}

static void *take(char *base, size_t *used, size_t bytes) {
    void *at = base ? base + *used : NULL;
    *used = sti__add(*used, sti__add(bytes, STI__ALIGN - 1));
    if (*used != SIZE_MAX) *used &= ~(size_t)(STI__ALIGN - 1);
    return at;
}

static bool is_remote(const char *device) { return device && strcmp(device, "cpu") != 0; }

/* Bytes of the block; with one also sets the pointers into it. */
static size_t lay_out(sti_batch *b) {
    size_t used = 0, count = (size_t)b->count;
    b->world = take(b->block, &used, sti__size(count, sizeof(sti_world *)));
    b->status = take(b->block, &used, sti__size(count, sizeof(sti_status)));
    for (int f = 0; f < STI_FIELD_COUNT; f++)
        if (is_shown((sti_field)f) && !b->remote)
            b->array[f] = take(b->block, &used,
                               sti__size(count, sizeof(double), sti__field_size(b->model, (sti_field)f)));
    return used;
}

static sti_world *make_world(sti_batch *b, int i, const sti_world_options *options, sti_error *error) {
    double *place[STI_FIELD_COUNT] = {NULL};
    for (int f = 0; f < STI_FIELD_COUNT; f++)
        if (b->array[f]) place[f] = b->array[f] + (size_t)i * sti__field_size(b->model, (sti_field)f);
    return sti__world_create_at(b->model, options, place, error);
}

static sti_status fill(sti_batch *b, const sti_batch_options *options, sti_error *error) {
    sti_world_options each = sti_world_options_default();
    each.allocator = &b->own;
    each.option = options->option;
    if (is_remote(options->device)) {
        b->remote = sti__device_create(b->model, b->count, options->device, options->option, &b->own, error);
        if (!b->remote) return STI_UNSUPPORTED; /* or what error says */
    }
    b->nblock = lay_out(b);
    b->block = sti__alloc_aligned(&b->own, b->nblock);
    if (!b->block)
        return sti__fail(error, STI_NO_MEMORY, "no memory for the arrays of %d worlds (%zu bytes)", b->count,
                         b->nblock);
    lay_out(b);
    sti_error why = {0};
    for (int i = 0; i < b->count && !b->remote; i++) {
        if ((b->world[i] = make_world(b, i, &each, &why))) continue;
        if (why.code == STI_NO_MEMORY)
            return sti__fail(error, STI_NO_MEMORY, "memory is enough for %d of %d worlds", i, b->count);
        if (error) *error = why;
        return why.code;
    }
    return STI_OK;
}

static bool is_width(int lanes) { return lanes == 0 || lanes == 1 || lanes == 4 || lanes == 8; }

static bool make_lanes(sti_batch *b, int width) {
    b->width = width ? width : sti__kernels_width();
    if (b->remote || !sti__lanes_serve(b->model)) b->width = 1;
    if (b->width == 1 || b->count == 1) return true;
    b->nlanes = b->tasks.run && b->tasks.nthread > 1 ? b->tasks.nthread : 1;
    b->lanes = sti__alloc(&b->own, sti__size(b->nlanes, sizeof(sti__lanes *)));
    b->taken = sti__alloc(&b->own, sti__size(b->nlanes, sizeof *b->taken));
    for (int k = 0; b->lanes && b->taken && k < b->nlanes; k++) {
        atomic_init(&b->taken[k], false);
        if (!(b->lanes[k] = sti__lanes_create(b->model, b->width, &b->own))) return false;
    }
    return b->lanes && b->taken;
}

static void free_lanes(sti_batch *b) {
    for (int k = 0; b->lanes && k < b->nlanes; k++) sti__lanes_free(b->lanes[k]);
    sti__free(&b->own, b->lanes, sti__size(b->nlanes, sizeof(sti__lanes *)));
    sti__free(&b->own, b->taken, sti__size(b->nlanes, sizeof *b->taken));
}

static sti_status check_options(const sti_model *model, int count, const sti_batch_options *options,
                                sti_error *error) {
    const char *wrong = !model      ? "the model is NULL"
                        : count < 1 ? "a batch has at least one world"
                        : options->cookie != OPTIONS_COOKIE
                            ? "options must come from sti_batch_options_default"
                        : !is_width(options->lanes) ? "lanes must be 0, 1, 4 or 8"
                                                    : NULL;
    return wrong ? sti__fail(error, STI_ARGUMENT, "%s", wrong) : STI_OK;
}

sti_batch *sti_batch_create(const sti_model *model, int count, const sti_batch_options *options,
                            sti_error *error) {
    sti_batch_options defaults = sti_batch_options_default();
    if (error) *error = (sti_error){0};
    if (!options) options = &defaults;
    if (check_options(model, count, options, error) != STI_OK) return NULL;
    const sti_allocator *allocator = sti__allocator(options->allocator);
    sti_batch *batch = sti__alloc(allocator, sizeof *batch);
    if (!batch) {
        sti__fail(error, STI_NO_MEMORY, "no memory for a batch");
        return NULL;
    }
    batch->model = model;
    batch->own = *allocator;
    batch->tasks = options->tasks;
    batch->stop = options->stop;
    batch->stop_context = options->stop_context;
    batch->count = count;
    atomic_init(&batch->alone, 0);
    if (fill(batch, options, error) == STI_OK) {
        if (make_lanes(batch, options->lanes)) return batch;
        sti__fail(error, STI_NO_MEMORY, "no memory for lanes of %d worlds", batch->width);
    }
    sti_batch_destroy(batch);
    return NULL;
}

void sti_batch_destroy(sti_batch *batch) {
    if (!batch) return;
    for (int i = 0; batch->block && i < batch->count; i++) sti_world_destroy(batch->world[i]);
    sti__own_free(batch);
    free_lanes(batch);
    sti__device_destroy(batch->remote);
    sti_allocator allocator = batch->own;
    sti__free_aligned(&allocator, batch->block, batch->nblock);
    sti__free(&allocator, batch, sizeof *batch);
}

int sti_batch_count(const sti_batch *batch) { return batch->count; }
const sti_model *sti_batch_model(const sti_batch *batch) { return batch->model; }
sti_world *sti_batch_world(sti_batch *batch, int i) {
    return i >= 0 && i < batch->count ? batch->world[i] : NULL;
}

/* ---- arrays ---------------------------------------------------------------------------------------- */

sti_view sti_batch_view(sti_batch *batch, sti_field field) {
    sti_view none = {.type = 'd'};
    if ((unsigned)field >= STI_FIELD_COUNT || !is_shown(field)) return none;
    return (sti_view){.data = batch->remote ? sti__device_array(batch->remote, field) : batch->array[field],
                      .rows = batch->count,
                      .cols = (int)sti__field_size(batch->model, field),
                      .type = 'd',
                      .writable = field != STI_FIELD_sensordata};
}

size_t sti_batch_field_size(const sti_batch *batch, sti_field field) {
    return (unsigned)field < STI_FIELD_COUNT ? sti__field_size(batch->model, field) : 0;
}

sti_status sti_batch_gather(sti_batch *batch, sti_field field, double *out) {
    size_t size = (unsigned)field < STI_FIELD_COUNT ? sti__field_size(batch->model, field) : 0;
    if ((unsigned)field >= STI_FIELD_COUNT || sti__field_role(field) == 'T') return STI_ARGUMENT;
    if (batch->remote) return size ? sti__device_gather(batch->remote, field, out) : STI_OK;
    for (int i = 0; i < batch->count && size; i++)
        memcpy(out + (size_t)i * size, sti_world_view(batch->world[i], field).data, sizeof *out * size);
    return STI_OK;
}

sti_status sti_batch_scatter(sti_batch *batch, sti_field field, const double *in) {
    if ((unsigned)field >= STI_FIELD_COUNT || sti__field_role(field) == 'T') return STI_ARGUMENT;
    if (batch->remote)
        return sti_batch_view(batch, field).writable ? sti__device_scatter(batch->remote, field, in)
                                                     : STI_ARGUMENT;
    size_t size = sti__field_size(batch->model, field);
    for (int i = 0; i < batch->count && size; i++)
        memcpy(sti_world_view(batch->world[i], field).data, in + (size_t)i * size, sizeof *in * size);
    return STI_OK;
}

sti_status sti_batch_scatter_there(sti_batch *batch, sti_field field, const double *in) {
    if (!batch->remote) return sti_batch_scatter(batch, field, in);
    return sti_batch_view(batch, field).writable ? sti__device_scatter_there(batch->remote, field, in)
                                                 : STI_ARGUMENT;
}

/* A world becomes as another, of the processor both. */
static sti_status move_world(const sti_allocator *allocator, const sti_world *from, sti_world *to) {
    size_t size = sti_snapshot_size(from);
    void *bytes = sti__alloc(allocator, size);
    sti_status status = bytes ? sti_snapshot_save(from, bytes, size) : STI_NO_MEMORY;
    if (status == STI_OK) status = sti_snapshot_load(to, bytes, size);
    sti__free(allocator, bytes, size);
    return status;
}

sti_status sti_batch_save(sti_batch *batch, int i, sti_world *world) {
    if (i < 0 || i >= batch->count || !world) return STI_ARGUMENT;
    if (batch->remote) return sti__device_save(batch->remote, i, world);
    return move_world(&batch->own, batch->world[i], world);
}

sti_status sti_batch_restore(sti_batch *batch, int i, const sti_world *world) {
    if (i < 0 || i >= batch->count || !world) return STI_ARGUMENT;
    if (batch->remote) return sti__device_restore(batch->remote, i, world);
    return move_world(&batch->own, world, batch->world[i]);
}

sti_status sti_batch_hash(sti_batch *batch, uint64_t *out) {
    if (batch->remote) return sti__device_hash(batch->remote, out);
    for (int i = 0; i < batch->count; i++) out[i] = sti_world_hash(batch->world[i]);
    return STI_OK;
}

sti_status sti_batch_error(sti_batch *batch, int i, sti_error *out) {
    if (i < 0 || i >= batch->count) return STI_ARGUMENT;
    if (batch->remote) return sti__device_error(batch->remote, i, out);
    *out = batch->world[i]->error;
    return STI_OK;
}

int sti_state_size(const sti_model *model) { return (int)sti__world_nstate(model); }

/* ---- resets ------------------------------------------------------------------------------------------ */

static sti_status check_which(const sti_batch *b, const int *which, int n, sti_error *error) {
    if (which && n < 0) return sti__fail(error, STI_ARGUMENT, "the number of worlds is negative");
    if (which && n > b->count)
        return sti__fail(error, STI_ARGUMENT, "%d worlds are listed, each at most once, and the batch has %d",
                         n, b->count);
    for (int k = 0; which && k < n; k++)
        if (which[k] < 0 || which[k] >= b->count)
            return sti__fail(error, STI_ARGUMENT, "there is no world %d: the batch has %d", which[k],
                             b->count);
    return STI_OK;
}

/* Parameters that were written before a reset count in it. */
static sti_status check_update(sti_batch *b, sti_error *error) {
    sti_status status = sti_batch_update(b);
    sti_error why = {0};
    for (int i = 0; status != STI_OK && i < b->count; i++)
        if (b->status[i] != STI_OK)
            return sti_batch_error(b, i, &why), sti__fail(error, status, "world %d: %s", i, why.message);
    return STI_OK;
}

sti_status sti__batch_check(const sti_model *model, const double *states, int n, const char *what,
                            sti_error *error) {
    size_t size = sti__world_nstate(model);
    for (int i = 0; i < n; i++)
        for (size_t k = 0; k < size; k++) {
            double x = states[(size_t)i * size + k];
            if (!(fabs(x) <= (k ? STI__ABSURD : sti__field_most(STI_FIELD_time))))
                return sti__fail(error, STI_NONFINITE, "number %zu of %s %d is %g", k, what, i, x);
        }
    return STI_OK;
}

void sti__batch_begin(sti_world *world, const double *state) {
    sti_world_reset(world, -1);
    sti__world_copy_in(world, state);
    sti__world_copy_out(world, world->good);
}

sti_status sti_batch_reset(sti_batch *batch, const int *which, int n, int key, sti_error *error) {
    if (!which) n = batch->count;
    sti_status status = check_update(batch, error);
    if (status == STI_OK) status = check_which(batch, which, n, error);
    if (status == STI_OK && (key < -1 || key >= batch->model->nkey))
        status = sti__fail(error, STI_ARGUMENT, "there is no keyframe %d: the model has %d", key,
                           batch->model->nkey);
    if (status == STI_OK && batch->remote) return sti__device_reset(batch->remote, which, n, key, error);
    for (int k = 0; k < n && status == STI_OK; k++)
        status = sti_world_reset(batch->world[which ? which[k] : k], key);
    return status;
}

sti_status sti_batch_reset_to(sti_batch *batch, const int *which, int n, const double *states,
                              sti_error *error) {
    if (!which) n = batch->count;
    sti_status status = check_update(batch, error);
    if (status == STI_OK) status = check_which(batch, which, n, error);
    if (status == STI_OK) status = sti__batch_check(batch->model, states, n, "state", error);
    if (status == STI_OK && batch->remote)
        return sti__device_reset_to(batch->remote, which, n, states, error);
    for (int k = 0; k < n && status == STI_OK; k++)
        sti__batch_begin(batch->world[which ? which[k] : k],
                         states + (size_t)k * sti__world_nstate(batch->model));
    return status;
}

sti_status sti_batch_set_option(sti_batch *batch, const sti_option *option) {
    if (batch->remote) return sti__device_set_option(batch->remote, option);
    for (int i = 0; i < batch->count; i++) batch->world[i]->state->opt = *option;
    return STI_OK;
}

/* ---- steps -------------------------------------------------------------------------------------------- */

void sti__batch_run(const sti_batch *batch, int count, sti_task_body body, void *context) {
    if (batch->tasks.run) batch->tasks.run(batch->tasks.system, count, 1, body, context);
    else body(context, 0, count);
}

sti_status sti__batch_first(const sti_status *status, int count) {
    for (int i = 0; i < count; i++)
        if (status[i] != STI_OK) return status[i];
    return STI_OK;
}

int sti__batch_set_size(const sti_batch *b) {
    int each = b->nlanes ? (b->count + b->nlanes - 1) / b->nlanes : 1;
    return each < b->width ? each : b->width;
}

int sti__batch_sets(const sti_batch *b) {
    int size = sti__batch_set_size(b);
    return (b->count + size - 1) / size;
}

sti__lanes *sti__batch_take_lanes(sti_batch *b) {
    for (int k = 0; k < b->nlanes; k++)
        if (!atomic_exchange(&b->taken[k], true)) return b->lanes[k];
    return NULL;
}

void sti__batch_give_lanes(sti_batch *b, const sti__lanes *lanes) {
    for (int k = 0; k < b->nlanes; k++)
        if (b->lanes[k] == lanes) atomic_store(&b->taken[k], false);
}

void sti__batch_step_set(sti_batch *b, sti__lanes *lanes, sti_world *const *world, int count, bool seen,
                         bool shown, sti_status *status) {
    if (!lanes) atomic_fetch_add_explicit(&b->alone, count, memory_order_relaxed);
    sti__lanes_step(lanes, world, count, seen, shown, status);
}

int sti_batch_lanes(const sti_batch *batch) { return batch->width; }
int sti_lanes(void) { return sti__kernels_width(); }

double sti_batch_lane_share(const sti_batch *b) {
    int64_t steps = atomic_load(&b->alone), runs = steps;
    for (int k = 0; k < b->nlanes; k++) steps += b->lanes[k]->steps, runs += b->lanes[k]->runs;
    return runs ? (double)steps / ((double)runs * b->width) : 0;
}

typedef struct stepping {
    sti_batch *batch;
    int nstep;
} stepping;

/* All steps of neighbours, which end together; those whose parameters were refused have a status already. */
static void step_set(const stepping *s, sti__lanes *lanes, int first, int count) {
    sti_world *const *world = s->batch->world + first;
    sti_status *status = s->batch->status + first;
    for (int i = 0; i < count; i++)
        if (status[i] == STI_OK)
            status[i] = s->nstep < 0 ? sti_step(world[i], s->nstep) : sti__step_check(world[i]);
    for (int k = 0; k < s->nstep; k++) {
        bool last = k == s->nstep - 1, stops = k > 0 && sti__batch_stops(s->batch);
        for (int i = 0; stops && i < count; i++)
            if (status[i] == STI_OK) status[i] = STI_STOPPED;
        if (stops) break;
        sti__batch_step_set(s->batch, lanes, world, count, last, last, status);
    }
    for (int i = 0; i < count; i++)
        if (status[i] == STI_OK || status[i] == STI_STOPPED) sti__world_copy_out(world[i], world[i]->good);
}

static void step_some(void *context, int begin, int end) {
    const stepping *s = context;
    int size = sti__batch_set_size(s->batch), most = s->batch->count;
    sti__lanes *lanes = size > 1 ? sti__batch_take_lanes(s->batch) : NULL;
    for (int k = begin; k < end; k++)
        step_set(s, lanes, k * size, most - k * size < size ? most - k * size : size);
    if (lanes) sti__batch_give_lanes(s->batch, lanes);
}

sti_status sti_batch_step(sti_batch *batch, int nstep) {
    stepping s = {batch, nstep};
    if (batch->remote) return sti__device_step(batch->remote, nstep, batch->status);
    sti_batch_update(batch);
    sti__batch_run(batch, sti__batch_sets(batch), step_some, &s);
    return sti__batch_first(batch->status, batch->count);
}

typedef struct forwarding {
    sti_batch *batch;
    const int *which; /* NULL: all */
} forwarding;

static void forward_range(void *context, int begin, int end) {
    const forwarding *f = context;
    for (int k = begin; k < end; k++) {
        int i = f->which ? f->which[k] : k;
        if (f->batch->status[i] == STI_OK) f->batch->status[i] = sti_forward(f->batch->world[i]);
    }
}

sti_status sti_batch_forward(sti_batch *batch) {
    forwarding f = {batch, NULL};
    if (batch->remote) return sti__device_forward(batch->remote, NULL, 0, batch->status);
    sti_batch_update(batch);
    sti__batch_run(batch, batch->count, forward_range, &f);
    return sti__batch_first(batch->status, batch->count);
}

sti_status sti_batch_forward_some(sti_batch *batch, const int *which, int n, sti_error *error) {
    sti_status status = check_which(batch, which, n, error);
    if (status != STI_OK) return status;
    if (batch->remote) return sti__device_forward(batch->remote, which, n, batch->status);
    sti_batch_update(batch);
    forwarding f = {batch, which};
    sti__batch_run(batch, n, forward_range, &f);
    return sti__batch_first(batch->status, batch->count);
}

sti_status sti_batch_step_begin(sti_batch *batch, int nstep) {
    if (batch->remote) return sti__device_begin(batch->remote, nstep, batch->status);
    return sti_batch_step(batch, nstep), STI_OK;
}

sti_status sti_batch_step_end(sti_batch *batch) {
    if (batch->remote) sti__device_settle(batch->remote);
    return sti__batch_first(batch->status, batch->count);
}

const sti_status *sti_batch_status(const sti_batch *batch) {
    if (batch->remote) sti__device_settle(batch->remote);
    return batch->status;
}

/* Three numbers a world, through a block of the processor's. */
static void solved_there(const sti_batch *b, double *certificate, int *iterations, bool *converged) {
    size_t bytes = sti__size(b->count, 3, sizeof(double));
    double *all = sti__alloc(&b->own, bytes);
    bool known = all && sti__device_solved(b->remote, all) == STI_OK;
    for (int i = 0; i < b->count; i++) {
        if (certificate) certificate[i] = known ? all[3 * i] : NAN;
        if (iterations) iterations[i] = known ? (int)all[3 * i + 1] : 0;
        if (converged) converged[i] = known && all[3 * i + 2] != 0;
    }
    sti__free(&b->own, all, bytes);
}

void sti_batch_solved(const sti_batch *batch, double *certificate, int *iterations, bool *converged) {
    if (batch->remote) solved_there(batch, certificate, iterations, converged);
    for (int i = 0; i < batch->count && !batch->remote; i++) {
        const sti_solve_info *info = sti_world_solve_info(batch->world[i]);
        if (certificate) certificate[i] = info->certificate.headline;
        if (iterations) iterations[i] = info->iterations;
        if (converged) converged[i] = info->converged;
    }
}

/* ---- devices -------------------------------------------------------------------------------------------- */

const char *sti_batch_device(const sti_batch *batch) {
    return batch->remote ? sti__device_name(batch->remote) : "cpu";
}

sti_device_info sti_batch_device_info(const sti_batch *batch) {
    if (!batch->remote) return (sti_device_info){0};
    sti__device_counts c = sti__device_count(batch->remote);
    return (sti_device_info){c.model, c.world, c.all, c.grown, c.reordered, c.orderings};
}
