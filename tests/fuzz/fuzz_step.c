/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a scene that is stepped as it says: any solver, integrator and soft body. What must hold: a failed step says
   why and leaves the state as it was; no state is infinite; snapshots and copies have the same bits, and go on with the
   same bits; what a step claims of itself, the certificate bears out. */
#include "../robust.h"
#include "mutate_scene.h"
#include "target.h"
#include <math.h>

enum { STEPS = 5, MOST_DOFS = 300, MOST_GEOMS = 300, MOST_ELEMENTS = 400 };
#define MEMORY_MOST ((size_t)1 << 30)

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
    return mutate_scene(data, size, max_size, seed);
}

/* malloc with a bound: what asks for more is out of memory, as on a small machine. */
static void *bounded_resize(void *context, void *ptr, size_t old_size, size_t new_size) {
    size_t *live = context;
    if (new_size == 0) {
        if (ptr) *live -= old_size;
        free(ptr);
        return NULL;
    }
    size_t before = ptr ? old_size : 0;
    if (new_size > MEMORY_MOST || *live - before + new_size > MEMORY_MOST) return NULL;
    void *moved = realloc(ptr, new_size);
    if (moved) *live += new_size - before;
    return moved;
}

static void check_finite(sti_world *world) {
    static const sti_field fields[] = {STI_FIELD_qpos, STI_FIELD_qvel, STI_FIELD_act, STI_FIELD_time};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        sti_view view = sti_world_view(world, fields[f]);
        for (int i = 0; i < view.rows * view.cols; i++) MUST(isfinite(((double *)view.data)[i]));
    }
}

/* What a step claims for itself is what the judge finds. */
static void check_claim(sti_world *world) {
    const sti_solve_info *info = sti_world_solve_info(world);
    sti_certificate judged = sti_world_certificate(world);
    MUST(!(judged.headline < 0) && !(info->certificate.headline < 0));
    MUST(info->iterations >= 0 && info->outer >= 0 && info->pcg >= 0);
    if (info->converged) MUST(!(judged.headline > 100 * info->certificate.headline + 1e-6));
}

static void push(sti_world *world) {
    sti_view ctrl = sti_world_view(world, STI_FIELD_ctrl),
             force = sti_world_view(world, STI_FIELD_qfrc_applied);
    for (int i = 0; i < ctrl.rows * ctrl.cols; i++) ((double *)ctrl.data)[i] = i % 3 - 1;
    for (int i = 0; i < force.rows * force.cols; i++) ((double *)force.data)[i] = 0.1 * (i % 5 - 2);
}

/* Whether the step was taken. */
static bool step(sti_world *world) {
    bool whole = sti_world_option(world)->substeps == 1;
    uint64_t before = sti_world_hash(world);
    sti_status status = sti_step(world, 1);
    check_finite(world);
    if (status == STI_OK) return true;
    MUST(sti_world_error(world)->code == status && sti_world_error(world)->message[0]);
    MUST(!whole || sti_world_hash(world) == before);
    return false;
}

/* Steps of this world, from a snapshot, and of a copy are the same. */
static void check_again(sti_world *world) {
    sti_error error = {0};
    size_t size = sti_snapshot_size(world);
    void *snapshot = malloc(size);
    MUST(snapshot && sti_snapshot_save(world, snapshot, size) == STI_OK);
    uint64_t hash = sti_world_hash(world);
    sti_world *copy = sti_world_copy(world, &error);
    MUST(copy ? sti_world_hash(copy) == hash : error.code == STI_NO_MEMORY);
    bool moved = step(world);
    uint64_t after = sti_world_hash(world);
    if (copy) MUST(step(copy) == moved && sti_world_hash(copy) == after);
    MUST(sti_snapshot_load(world, snapshot, size) == STI_OK && sti_world_hash(world) == hash);
    MUST(step(world) == moved && sti_world_hash(world) == after);
    sti_world_destroy(copy);
    free(snapshot);
}

/* Any number of iterations ends with the work of a step; that of all its parts is not what is looked for. */
static void bound_work(sti_option *option) {
    if (option->substeps > 3) option->substeps = 3;
    if (!(option->max_work > 0 && option->max_work < WORK_MOST)) option->max_work = WORK_MOST;
}

static void simulate(const sti_model *model, const sti_allocator *allocator) {
    sti_error error = {0};
    sti_world_options options = sti_world_options_default();
    options.allocator = allocator;
    sti_world *world = sti_world_create(model, &options, &error);
    MUST(world || error.code != STI_OK);
    if (!world) return;
    bool small = model->nv <= MOST_DOFS && model->ngeom <= MOST_GEOMS && model->nflexelem <= MOST_ELEMENTS;
    if (small) { /* large is slow, not wrong */
        bound_work(sti_world_option(world));
        if (model->nkey > 0) sti_world_reset(world, 0);
        push(world);
        for (int i = 0; i < STEPS && step(world); i++) check_claim(world);
        check_again(world);
        sti_world_reset(world, -1);
        step(world);
    }
    sti_world_destroy(world);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unsigned char cube[CUBE_SIZE];
    size_t live = 0;
    make_cube(cube);
    sti_asset assets[] = {{"cube.stl", cube, sizeof cube}, {"part.xml", part_xml, sizeof part_xml - 1}};
    sti_allocator allocator = {bounded_resize, &live};
    sti_load_options options = sti_load_options_default();
    options.assets = assets;
    options.nasset = 2;
    options.no_disk = true;
    options.allocator = &allocator;
    options.memory_limit = (size_t)64 << 20;
    sti_error error = {0};
    sti_spec *spec = sti_spec_parse((const char *)data, size, &options, NULL, &error);
    MUST(spec || error.code != STI_OK);
    sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    MUST(model || error.code != STI_OK);
    if (model) simulate(model, &allocator);
    sti_model_free(model);
    sti_spec_free(spec);
    MUST(live == 0);
    return 0;
}
