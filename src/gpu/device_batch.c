/* SPDX-License-Identifier: Apache-2.0 */
/* Memory, launches and repeated steps of worlds on a device. A world there is made by the code that makes it here, with an allocator
   over a piece of the device's memory, so that nothing has to be translated: its model goes over packed. */
#include "gpu/device_inside.h"
#include <string.h>

const char *sti__device_name(const sti__device_batch *b) { return b->device; }
double *sti__device_array(const sti__device_batch *b, sti_field field) { return b->copy.array[field]; }
sti__device_counts sti__device_count(sti__device_batch *b) {
    sti__device_settle(b);
    sti__device_counts counts = b->counts;
    counts.orderings = b->nordering;
    counts.reordered = b->driver.reordered(b->driver.context);
    return counts;
}

/* ---- the driver -------------------------------------------------------------------------------------------------- */

void *sti__device_take(sti__device_batch *b, size_t bytes) {
    void *memory = bytes == SIZE_MAX ? NULL : b->driver.take(b->driver.context, bytes ? bytes : 1);
    if (memory) b->counts.all += bytes;
    return memory;
}

void sti__device_give(sti__device_batch *b, void *memory) {
    if (memory) b->driver.give(b->driver.context, memory);
}

sti_status sti__device_write(sti__device_batch *b, void *to, const void *from, size_t bytes) {
    sti__device_settle(b);
    if (b->lost.code != STI_OK) return b->lost.code;
    return b->driver.write(b->driver.context, to, from, bytes, &b->lost);
}
sti_status sti__device_read(sti__device_batch *b, void *to, const void *from, size_t bytes) {
    sti__device_settle(b);
    if (b->lost.code != STI_OK) return b->lost.code;
    return b->driver.read(b->driver.context, to, from, bytes, &b->lost);
}

/* The call as the device reads it, after all that was begun before. */
static sti_status prepare(sti__device_batch *b, sti__gpu_call *call) {
    sti__device_settle(b);
    if (call->which) {
        sti__device_write(b, b->which, call->which, sti__size(call->n, sizeof *call->which));
        call->which = b->which;
    }
    call->batch = b->remote;
    return b->lost.code;
}

sti_status sti__device_launch(sti__device_batch *b, sti__gpu_entry entry, sti__gpu_call call) {
    sti_status status = prepare(b, &call);
    if (call.n <= 0 || status != STI_OK) return status;
    status = b->driver.wait(b->driver.context, &b->lost);
    if (status == STI_OK) status = b->driver.start(b->driver.context, entry, &call, &b->lost);
    return status == STI_OK ? b->driver.wait(b->driver.context, &b->lost) : status;
}

void *sti__device_stage(sti__device_batch *b, size_t bytes) {
    if (bytes <= b->nstage) return b->stage;
    sti__device_give(b, b->stage);
    b->stage = sti__device_take(b, bytes);
    b->nstage = b->stage ? bytes : 0;
    return b->stage;
}

/* ---- creation ------------------------------------------------------------------------------------------------------ */

static sti_status missing(const char *device, const char *what, sti_error *error) {
    return sti__fail(error, STI_UNSUPPORTED, "device %s: %s not there yet", device, what);
}

/* Hulls that no collision needs are made by qhull, which is of the processor. */
static bool has_late_hull(const sti_world *w) {
    for (int k = 0; w->query && k < w->model->nmesh; k++)
        if (w->query->late[k].tried) return true;
    return false;
}

/* Bytes of a heap that the model, and a world of it, need: both are made here once. */
static sti_status measure(sti__device_batch *b, const void *packed, const sti_option *option, size_t *model,
                          size_t *world, sti_error *error) {
    sti_status status = STI_NO_MEMORY;
    for (size_t bytes = (size_t)1 << 20; status == STI_NO_MEMORY && bytes < PTRDIFF_MAX / 2; bytes *= 2) {
        sti__gpu_heap heap[2] = {{0}};
        char *block = sti__alloc_aligned(&b->allocator, sti__size(2, bytes));
        if (!block) return sti__fail(error, STI_NO_MEMORY, "no memory for a world");
        sti_allocator from[2];
        for (int k = 0; k < 2; k++) {
            sti__gpu_heap_add(&heap[k], block + (size_t)k * bytes, bytes);
            from[k] = sti__gpu_heap_allocator(&heap[k]);
        }
        sti_world_options options = sti_world_options_default();
        options.allocator = &from[1];
        options.option = option;
        sti_model *m = sti_model_unpack(packed, b->copy.npacked, &from[0], error);
        sti_world *w = m ? sti_world_create(m, &options, error) : NULL;
        status = w ? STI_OK : error->code;
        if (w && has_late_hull(w))
            status = missing(b->device, "distance sensors of meshes that touch nothing are", error);
        sti_world_destroy(w);
        *model = heap[0].used;
        *world = heap[1].used;
        sti__free_aligned(&b->allocator, block, sti__size(2, bytes));
    }
    return status;
}

static bool is_shown(sti_field field) {
    char role = sti__field_role(field);
    return role == 'S' || role == 'I' || field == STI_FIELD_sensordata;
}

/* Numbers of all arrays that are seen as one; with a base also where they are. */
static size_t place_arrays(sti__device_batch *b) {
    size_t used = 0;
    for (int f = 0; f < STI_FIELD_COUNT; f++) {
        if (!is_shown((sti_field)f)) continue;
        b->copy.array[f] = b->arrays ? b->arrays + used : NULL;
        used = sti__add(used, sti__size(b->count, sti__field_size(b->model, (sti_field)f)));
        used = sti__add(used, 31) / 32 * 32; /* of 256 bytes */
    }
    return used;
}

/* What was taken so far goes back. */
static sti_status fail_room(sti__device_batch *b, size_t each, sti_error *error) {
    size_t room = sti__add(b->driver.room(b->driver.context), b->counts.all),
           fixed = sti__sum(b->copy.npacked, b->counts.model, sizeof *b->copy.orders, sizeof *b->remote);
    size_t fits = room > fixed && each ? (room - fixed) / each : 0;
    if (fits >= (size_t)b->count) fits = (size_t)b->count - 1; /* it is in pieces */
    return sti__fail(error, STI_NO_MEMORY,
                     "device %s: no memory for %d worlds of %zu bytes; about %zu would fit", b->device,
                     b->count, each, fits);
}

static sti_status take_all(sti__device_batch *b, size_t model, size_t world, sti_error *error) {
    size_t n = (size_t)b->count, arrays = sti__size(place_arrays(b), sizeof(double));
    b->counts.model = model;
    b->counts.world = world;
    b->packed = sti__device_take(b, b->copy.npacked);
    b->model_block = sti__device_take(b, model);
    b->remote = sti__device_take(b, sizeof *b->remote);
    b->copy.heap = sti__device_take(b, sti__size(n, sizeof *b->copy.heap));
    b->copy.world = sti__device_take(b, sti__size(n, sizeof *b->copy.world));
    b->copy.status = sti__device_take(b, sti__size(n, sizeof *b->copy.status));
    b->copy.done = sti__device_take(b, sti__size(n, sizeof *b->copy.done));
    b->which = sti__device_take(b, sti__size(n, sizeof *b->which));
    b->copy.orders = sti__device_take(b, sizeof *b->copy.orders);
    b->arrays = sti__device_take(b, arrays);
    b->worlds = b->packed && b->model_block && b->remote && b->copy.heap && b->copy.world && b->copy.status &&
                        b->copy.done && b->which && b->copy.orders && b->arrays
                    ? sti__device_take(b, sti__size(n, world))
                    : NULL;
    place_arrays(b);
    size_t each = sti__sum(world, arrays / n + 1, sizeof *b->copy.heap, sizeof *b->copy.world,
                           sizeof *b->copy.status, sizeof *b->copy.done, sizeof *b->which);
    return b->worlds ? STI_OK : fail_room(b, each, error);
}

static sti_status first_bad(sti__device_batch *b, sti_error *error) {
    size_t bytes = sti__size(b->count, sizeof *b->spare);
    sti_status status = sti__device_read(b, b->spare, b->copy.status, bytes);
    if (status != STI_OK) return *error = b->lost, status;
    for (int i = 0; i < b->count && status == STI_OK; i++) status = b->spare[i];
    return status == STI_OK ? STI_OK
                            : sti__fail(error, status, "device %s: a world could not be made: %s", b->device,
                                        sti_status_text(status));
}

/* The first world alone: it makes what all share. */
static sti_status make_worlds(sti__device_batch *b, sti_error *error) {
    int first = 0, n = b->count - 1;
    int *others = sti__alloc(&b->allocator, sti__size(b->count, sizeof *others));
    if (!others) return sti__fail(error, STI_NO_MEMORY, "no memory for a list of worlds");
    for (int i = 0; i < n; i++) others[i] = i + 1;
    sti__device_run(b, STI__GPU_create, (sti__gpu_call){.which = &first, .n = 1}, b->spare);
    if (b->lost.code == STI_OK)
        sti__device_run(b, STI__GPU_create, (sti__gpu_call){.which = others, .n = n}, b->spare);
    sti__free(&b->allocator, others, sti__size(b->count, sizeof *others));
    if (b->lost.code == STI_OK) return first_bad(b, error);
    *error = b->lost;
    return error->code;
}

static sti_status upload(sti__device_batch *b, const void *packed, sti_error *error) {
    sti__gpu_heap_add(&b->copy.model_heap, b->model_block, b->counts.model);
    sti_status status = sti__device_write(b, b->packed, packed, b->copy.npacked);
    if (status == STI_OK) status = sti__device_write(b, b->remote, &b->copy, sizeof b->copy);
    if (status == STI_OK)
        status = sti__device_launch(b, STI__GPU_unpack, (sti__gpu_call){.in = b->packed, .n = 1});
    sti__gpu_batch made;
    if (status == STI_OK) status = sti__device_read(b, &made, b->remote, sizeof made);
    if (status == STI_OK && made.layout != STI__GPU_LAYOUT)
        return sti__fail(error, STI_UNSUPPORTED, "device %s: its library is of another version than this one",
                         b->device);
    if (status == STI_OK)
        status = sti__device_launch(
            b, STI__GPU_grow, (sti__gpu_call){.out = b->worlds, .size = b->counts.world, .n = b->count});
    if (status != STI_OK) return *error = b->lost, status;
    if (!made.model) return *error = made.error, made.error.code;
    b->copy.model = made.model;
    b->copy.model_heap = made.model_heap;
    return make_worlds(b, error);
}

static sti_status fill(sti__device_batch *b, const sti_option *option, sti_error *error) {
    size_t model = 0, world = 0, bytes = sti_model_pack_size(b->model);
    b->short_list = sti__alloc(&b->allocator, sti__size(b->count, sizeof(int)));
    b->spare = sti__alloc(&b->allocator, sti__size(b->count, sizeof *b->spare));
    b->order = sti__alloc(&b->allocator, sti__size(b->count, sizeof(int)));
    b->growths = sti__alloc(&b->allocator, (size_t)b->count);
    void *packed = sti__alloc_aligned(&b->allocator, bytes);
    sti_status status = STI_OK;
    b->copy.count = b->count;
    b->copy.layout = STI__GPU_LAYOUT;
    b->copy.npacked = bytes;
    b->copy.option = *option;
    if (!packed || !b->short_list || !b->spare || !b->order || !b->growths)
        status = sti__fail(error, STI_NO_MEMORY, "no memory for a packed model");
    if (status == STI_OK) status = sti_model_pack(b->model, packed, bytes, error);
    if (status == STI_OK) status = measure(b, packed, option, &model, &world, error);
    /* some more for pools that grow in the first steps */
    if (status == STI_OK) status = take_all(b, sti__padded(model), sti__padded(world + world / 8), error);
    if (status == STI_OK) status = upload(b, packed, error);
    sti__free_aligned(&b->allocator, packed, bytes);
    return status;
}

static sti_status open_device(sti__device_batch *b, const char *device, sti_error *error) {
    bool cuda = strcmp(device, "cuda") == 0;
    if (!cuda && strcmp(device, "cuda-emulated") != 0)
        return sti__fail(error, STI_ARGUMENT, "there is no device %s: cpu, cuda and cuda-emulated are",
                         device);
    b->device = cuda ? "cuda" : "cuda-emulated";
    return cuda ? sti__gpu_cuda(&b->driver, error) : sti__gpu_emulate(&b->driver, error);
}

sti__device_batch *sti__device_create(const sti_model *model, int count, const char *device,
                                      const sti_option *option, const sti_allocator *allocator,
                                      sti_error *error) {
    sti_error none = {0};
    if (!error) error = &none;
    if (!option) option = &model->opt;
    sti__device_batch *b = sti__alloc(allocator, sizeof *b);
    if (!b) return sti__fail(error, STI_NO_MEMORY, "no memory for a batch"), NULL;
    b->allocator = *sti__allocator(allocator);
    b->model = model;
    b->count = count;
    memcpy(b->seen, model->changes, sizeof b->seen);
    if (open_device(b, device, error) == STI_OK && fill(b, option, error) == STI_OK) return b;
    sti__device_destroy(b);
    return NULL;
}

void sti__device_destroy(sti__device_batch *b) {
    if (!b) return;
    if (b->driver.give) {
        if (b->late) b->driver.wait(b->driver.context, &b->lost);
        sti__device_own_free(b);
        void *all[] = {b->worlds,      b->model_block, b->packed, b->remote, b->copy.heap, b->copy.world,
                       b->copy.status, b->copy.done,   b->arrays, b->which,  b->stage,     b->copy.orders};
        for (int i = 0; i < STI__COUNT(all); i++) sti__device_give(b, all[i]);
        for (int i = 0; i < b->npiece; i++) sti__device_give(b, b->piece[i]);
        for (int i = 0; i < b->nordering; i++) sti__device_give(b, b->ordering[i]);
        b->driver.close(b->driver.context);
    }
    sti_allocator allocator = b->allocator;
    sti__free(&allocator, b->short_list, sti__size(b->count, sizeof(int)));
    sti__free(&allocator, b->order, sti__size(b->count, sizeof(int)));
    sti__free(&allocator, b->spare, sti__size(b->count, sizeof *b->spare));
    sti__free(&allocator, b->growths, (size_t)b->count);
    sti__free(&allocator, b->piece, sti__size(b->nroom, sizeof *b->piece));
    sti__free(&allocator, b, sizeof *b);
}

/* ---- steps ---------------------------------------------------------------------------------------------------------- */

static sti_status read_status(sti__device_batch *b, sti_status *status) {
    return sti__device_read(b, status, b->copy.status, sti__size(b->count, sizeof *status));
}

/* Worlds that are short of memory, or wait for an ordering; how many. */
static int list_short(sti__device_batch *b, const sti_status *status) {
    int n = 0;
    for (int i = 0; i < b->count; i++)
        if (status[i] == STI_NO_MEMORY) b->short_list[n++] = i;
    return n;
}

static bool room_for_piece(sti__device_batch *b) {
    if (b->npiece < b->nroom) return true;
    int room = 2 * b->nroom + 16;
    void **more = sti__resize(&b->allocator, b->piece, sti__size(b->nroom, sizeof *more),
                              sti__size(room, sizeof *more));
    if (!more) return false;
    b->piece = more;
    b->nroom = room;
    return true;
}

/* They have what they need to go on: orderings, or more memory. */
static int grow(sti__device_batch *b, const sti_status *status) {
    int n = list_short(b, status);
    if (n > 0 && sti__device_answer(b)) return list_short(b, status);
    int most = 0, kept = 0;
    for (int k = 0; k < n; k++) {
        int times = b->growths[b->short_list[k]];
        if (times < GROWTHS) b->short_list[kept++] = b->short_list[k];
        if (times < GROWTHS && times > most) most = times;
    }
    n = kept;
    size_t each = b->counts.world << (most < 8 ? most : 8);
    if (n == 0 || !room_for_piece(b)) return 0;
    void *piece = sti__device_take(b, sti__size(n, each));
    if (!piece) return 0;
    b->piece[b->npiece++] = piece;
    b->counts.grown += n;
    for (int k = 0; k < n; k++) b->growths[b->short_list[k]]++;
    sti__gpu_call call = {.which = b->short_list, .out = piece, .size = each, .n = n};
    return sti__device_launch(b, STI__GPU_grow, call) == STI_OK ? n : 0;
}

static sti_status first_of(sti__device_batch *b, const sti_status *status) {
    for (int i = 0; i < b->count; i++)
        if (status[i] != STI_OK) return status[i];
    return STI_OK;
}

sti_status sti__device_all_lost(sti__device_batch *b, sti_status *status) {
    for (int i = 0; i < b->count; i++) status[i] = b->lost.code;
    return b->lost.code;
}

/* After a launch: again for those that were short of memory. */
static sti_status run_again(sti__device_batch *b, sti__gpu_entry entry, sti__gpu_call call,
                            sti_status *status) {
    sti_status done = read_status(b, status);
    for (int n; done == STI_OK && (n = grow(b, status)) > 0;) {
        call.which = b->short_list;
        call.n = n;
        call.again = 1;
        done = sti__device_launch(b, entry, call);
        if (done == STI_OK) done = read_status(b, status);
    }
    return b->lost.code == STI_OK ? first_of(b, status) : sti__device_all_lost(b, status);
}

sti_status sti__device_run(sti__device_batch *b, sti__gpu_entry entry, sti__gpu_call call,
                           sti_status *status) {
    sti_status done = sti__device_launch(b, entry, call);
    return done == STI_OK ? run_again(b, entry, call, status) : sti__device_all_lost(b, status);
}

void sti__device_settle(sti__device_batch *b) {
    sti_status *status = b->late;
    if (!status) return;
    b->late = NULL;
    if (b->lost.code == STI_OK) b->driver.wait(b->driver.context, &b->lost);
    if (b->lost.code == STI_OK) run_again(b, b->late_entry, b->late_call, status);
    if (b->lost.code == STI_OK) sti__device_sort(b);
    else sti__device_all_lost(b, status);
}

void sti__device_check_model(sti__device_batch *b) {
    if (b->lost.code == STI_OK && memcmp(b->seen, b->model->changes, sizeof b->seen) != 0)
        sti__fail(&b->lost, STI_UNSUPPORTED,
                  "device %s: the model was changed after its worlds were made; make them anew", b->device);
}

sti_status sti__device_begin(sti__device_batch *b, int nstep, sti_status *status) {
    sti__gpu_call call = {.n = b->count, .number = nstep};
    sti__device_settle(b);
    sti__device_check_model(b);
    call.which = b->sorted ? b->order : NULL;
    if (b->lost.code == STI_OK)
        b->driver.clear(b->driver.context, b->copy.done, sti__size(b->count, sizeof(int)), &b->lost);
    if (prepare(b, &call) == STI_OK) b->driver.start(b->driver.context, STI__GPU_step, &call, &b->lost);
    if (b->lost.code != STI_OK) return sti__device_all_lost(b, status);
    b->late = status;
    b->late_entry = STI__GPU_step;
    b->late_call = call;
    return STI_OK;
}

sti_status sti__device_step(sti__device_batch *b, int nstep, sti_status *status) {
    sti__device_settle(b);
    if (b->lost.code == STI_OK)
        b->driver.wait(b->driver.context, &b->lost); /* for others, on whatever stream */
    if (sti__device_begin(b, nstep, status) != STI_OK) return b->lost.code;
    sti__device_settle(b);
    return b->lost.code == STI_OK ? first_of(b, status) : sti__device_all_lost(b, status);
}

/* Parameters of all worlds count from now on; those that are refused say so, whether they are listed or not. */
sti_status sti__device_forward(sti__device_batch *b, const int *which, int n, sti_status *status) {
    sti__device_settle(b);
    sti__device_check_model(b);
    if (b->lost.code != STI_OK) return sti__device_all_lost(b, status);
    if (which) sti__device_update(b, b->spare);
    if (which)
        for (int i = 0; i < b->count; i++) status[i] = STI_OK;
    sti_status done = b->driver.clear(b->driver.context, b->copy.status,
                                      sti__size(b->count, sizeof *b->copy.status), &b->lost);
    if (done != STI_OK) return sti__device_all_lost(b, status);
    sti__gpu_call call = {.which = which, .n = which ? n : b->count};
    done = sti__device_run(b, STI__GPU_forward, call, status);
    for (int i = 0; which && i < b->count; i++)
        if (b->spare[i] != STI_OK) done = status[i] = b->spare[i];
    return done;
}

/* ---- the rest -------------------------------------------------------------------------------------------------------- */

static sti_status told(sti__device_batch *b, sti_status status, sti_error *error) {
    if (status != STI_OK && error) *error = b->lost;
    return status;
}

static sti_status no_stage(sti__device_batch *b, sti_error *error) {
    return sti__fail(error, STI_NO_MEMORY, "device %s: no memory to copy an array", b->device);
}

sti_status sti__device_reset(sti__device_batch *b, const int *which, int n, int key, sti_error *error) {
    sti__gpu_call call = {.which = which, .n = which ? n : b->count, .number = key};
    return told(b, sti__device_launch(b, STI__GPU_reset, call), error);
}

sti_status sti__device_reset_to(sti__device_batch *b, const int *which, int n, const double *states,
                                sti_error *error) {
    if (!which) n = b->count;
    size_t bytes = sti__size(n, sti__world_nstate(b->model), sizeof(double));
    void *stage = sti__device_stage(b, bytes);
    if (!stage) return no_stage(b, error);
    sti_status status = sti__device_write(b, stage, states, bytes);
    sti__gpu_call call = {.which = which, .in = stage, .n = n};
    return told(b, status == STI_OK ? sti__device_launch(b, STI__GPU_reset_to, call) : status, error);
}

sti_status sti__device_set_option(sti__device_batch *b, const sti_option *option) {
    if (memcmp(&b->copy.option, option, sizeof *option) == 0) return STI_OK;
    b->copy.option = *option;
    sti_status status = sti__device_write(b, &b->remote->option, option, sizeof *option);
    return status == STI_OK ? sti__device_launch(b, STI__GPU_option, (sti__gpu_call){.n = b->count}) : status;
}

/* What an entry writes for each world, `each` bytes. */
static sti_status fetch(sti__device_batch *b, sti__gpu_entry entry, int number, size_t each, void *out) {
    size_t bytes = sti__size(b->count, each);
    void *stage = sti__device_stage(b, bytes);
    if (!stage) return STI_NO_MEMORY;
    sti_status status =
        sti__device_launch(b, entry, (sti__gpu_call){.out = stage, .n = b->count, .number = number});
    return status == STI_OK ? sti__device_read(b, out, stage, bytes) : status;
}

sti_status sti__device_gather(sti__device_batch *b, sti_field field, double *out) {
    size_t each = sti__size(sti__field_size(b->model, field), sizeof(double));
    if (b->copy.array[field])
        return sti__device_read(b, out, b->copy.array[field], sti__size(b->count, each));
    return fetch(b, STI__GPU_gather, field, each, out);
}

sti_status sti__device_scatter(sti__device_batch *b, sti_field field, const double *in) {
    size_t bytes = sti__size(b->count, sti__field_size(b->model, field), sizeof(double));
    return b->copy.array[field] ? sti__device_write(b, b->copy.array[field], in, bytes) : STI_ARGUMENT;
}

sti_status sti__device_scatter_there(sti__device_batch *b, sti_field field, const double *in) {
    size_t bytes = sti__size(b->count, sti__field_size(b->model, field), sizeof(double));
    sti__device_settle(b);
    if (b->lost.code != STI_OK) return b->lost.code;
    return b->copy.array[field] ? b->driver.copy(b->driver.context, b->copy.array[field], in, bytes, &b->lost)
                                : STI_ARGUMENT;
}

sti_status sti__device_hash(sti__device_batch *b, uint64_t *out) {
    return fetch(b, STI__GPU_hash, 0, sizeof *out, out);
}

sti_status sti__device_solved(sti__device_batch *b, double *out) {
    return fetch(b, STI__GPU_solved, 0, 3 * sizeof *out, out);
}

/* ---- worlds that move ------------------------------------------------------------------------------------------------ */

/* A call that is for one world. */
static sti_status run_one(sti__device_batch *b, sti__gpu_entry entry, sti__gpu_call call) {
    sti__device_settle(b);
    call.n = 1;
    if (b->lost.code == STI_OK)
        b->driver.clear(b->driver.context, b->copy.status, sti__size(b->count, sizeof *b->copy.status),
                        &b->lost);
    return b->lost.code == STI_OK ? sti__device_run(b, entry, call, b->spare) : b->lost.code;
}

sti_status sti__device_save(sti__device_batch *b, int i, sti_world *into) {
    uint64_t size = 0;
    sti_status status = STI_NO_MEMORY;
    void *there = sti__device_stage(b, sizeof size);
    if (there) status = run_one(b, STI__GPU_weigh, (sti__gpu_call){.which = &i, .out = there});
    if (status == STI_OK) status = sti__device_read(b, &size, there, sizeof size);
    if (status != STI_OK) return status;
    void *here = sti__alloc(&b->allocator, size);
    there = sti__device_stage(b, size);
    status = here && there ? STI_OK : STI_NO_MEMORY;
    if (status == STI_OK)
        status = run_one(b, STI__GPU_save, (sti__gpu_call){.which = &i, .out = there, .size = size});
    if (status == STI_OK) status = sti__device_read(b, here, there, size);
    if (status == STI_OK) status = sti_snapshot_load(into, here, size);
    sti__free(&b->allocator, here, size);
    return status;
}

static sti_status restore(sti__device_batch *b, int i, const void *here, size_t size) {
    void *there = sti__device_stage(b, size);
    if (!here || !there) return STI_NO_MEMORY;
    sti_status status = sti__device_write(b, there, here, size);
    sti__gpu_call call = {.which = &i, .in = there, .size = size};
    return status == STI_OK ? run_one(b, STI__GPU_restore, call) : status;
}

sti_status sti__device_restore(sti__device_batch *b, int i, const sti_world *from) {
    size_t size = sti_snapshot_size(from);
    void *here = sti__alloc(&b->allocator, size);
    sti_status status = here ? sti_snapshot_save(from, here, size) : STI_NO_MEMORY;
    if (status == STI_OK) status = restore(b, i, here, size);
    sti__free(&b->allocator, here, size);
    return status;
}

/* The parameters of world i were not possible, and are gone. */
static void tell_field(int i, sti_error *out) {
    char field[sizeof out->attribute];
    memcpy(field, out->attribute, sizeof field);
    sti__fail(out, STI_VALUE, "%s of world %d: a number is not possible; those of before are back", field, i);
}

/* A device's texts have no numbers and names in them: the world's state and inputs meet the same end on the processor, which tells more. */
static void tell_again(sti__device_batch *b, int i, sti_error *out) {
    sti_world_options options = sti_world_options_default();
    options.allocator = &b->allocator;
    options.option = &b->copy.option;
    sti_model *own = sti__device_model_of(b, i);
    sti_world *world = sti_world_create(own ? own : b->model, &options, NULL);
    bool known = world && (own || !b->copy.own.model);
    for (int f = 0; f < STI_FIELD_COUNT && known; f++) {
        sti_view view = sti_world_view(world, (sti_field)f);
        size_t size = sti__field_size(b->model, (sti_field)f);
        if (!b->copy.array[f] || !view.writable) continue;
        known = sti__device_read(b, view.data, b->copy.array[f] + (size_t)i * size, size * sizeof(double)) ==
                STI_OK;
    }
    if (known && sti_step(world, 1) == out->code) *out = *sti_world_error(world);
    sti_world_destroy(world);
    sti_model_free(own);
}

sti_status sti__device_error(sti__device_batch *b, int i, sti_error *out) {
    if (b->lost.code != STI_OK) return *out = b->lost, STI_OK;
    void *stage = sti__device_stage(b, sizeof *out);
    if (!stage) return STI_NO_MEMORY;
    sti_status status =
        sti__device_launch(b, STI__GPU_error, (sti__gpu_call){.which = &i, .out = stage, .n = 1});
    if (status == STI_OK) status = sti__device_read(b, out, stage, sizeof *out);
    if (status != STI_OK || out->code == STI_OK) return status;
    if (out->code == STI_VALUE && out->attribute[0]) tell_field(i, out);
    else tell_again(b, i, out);
    return STI_OK;
}
