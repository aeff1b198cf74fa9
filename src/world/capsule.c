/* SPDX-License-Identifier: Apache-2.0 */
/* Capsules of steps that end badly. */
#include "record/capsule.h"

#include "record/problem_file.h"
#include "world/world.h"
#include <math.h>
#include <stdio.h>
#include <string.h>

int sti_world_capsules(const sti_world *world) { return world->capsules.count; }

/* ---- writing ---------------------------------------------------------------------------------------------- */

/* State and contact memory as they are now, and the last problem that was made. */
static sti_status write_capsule(sti_world *world, const char *path, int troubles, sti_error *error) {
    const sti__constraints *c = &world->constraints;
    const sti__assembly *as = &c->rows;
    size_t size = sti_snapshot_size(world);
    void *snapshot = sti__alloc(&world->allocator, size);
    const sti_model *m = world->model;
    size_t bytes = sti__size(sizeof(double), sti__sum(m->nv, sti__size(3, m->nflexvert), 1));
    double *guess = sti__alloc(&world->allocator, bytes);
    sti_status status = STI_NO_MEMORY;
    if (snapshot && guess && sti_snapshot_save(world, snapshot, size) == STI_OK) {
        sti_capsule about = {.troubles = troubles,
                             .time = *world->state->time,
                             .model = sti__world_model_hash(world),
                             .options = sti__constraints_options(world),
                             .v = as->v,
                             .g = as->g,
                             .headline = c->info.certificate.headline};
        for (int i = 0; c->made && i < as->problem.arrays.n; i++)
            guess[i] = as->dof[i] < m->nv ? world->state->qvel[as->dof[i]]
                                          : world->state->flexvert_xvel[as->dof[i] - m->nv];
        about.options.guess_v = guess;
        sti__capsule_content content = {c->made ? &as->problem : NULL, &about, snapshot, size};
        status = sti__capsule_write(path, &content, &world->allocator, error);
    } else sti__fail(error, STI_NO_MEMORY, "no memory for a capsule");
    sti__free(&world->allocator, guess, bytes);
    sti__free(&world->allocator, snapshot, size);
    return status;
}

sti_status sti_capsule_save(sti_world *world, const char *path, sti_error *error) {
    sti_status status = sti_forward(world);
    if (status != STI_OK) {
        if (error) *error = world->error;
        return status;
    }
    if (world->constraints.made) status = sti__native_writable(&world->constraints.rows.problem, error);
    return status == STI_OK ? write_capsule(world, path, 0, error) : status;
}

static void warn(const sti_world *world, const sti_error *error) {
    char text[512];
    if (!world->log.write) return;
    snprintf(text, sizeof text, "a capsule could not be written: %s", error->message);
    world->log.write(world->log.context, STI_LOG_WARNING, text);
}

/* The state of the step's beginning is put back while it is written. */
void sti__capsule_numbered(sti_world *world, int troubles) {
    sti__capsules *k = &world->capsules;
    char path[sizeof k->folder + 64];
    sti_error error = {0};
    size_t mark = sti__arena_mark(&world->arena);
    double *now = sti__arena_take(&world->arena, sti__size(sti__world_nstate(world->model), sizeof(double)));
    bool made = world->constraints.made;
    if (!now) return;
    snprintf(path, sizeof path, "%s/capsule-%04d-%s.h5", k->folder, k->count + 1, sti_trouble_word(troubles));
    sti__world_copy_out(world, now);
    sti__world_copy_in(world, world->good);
    if (made && sti__native_writable(&world->constraints.rows.problem, NULL) != STI_OK)
        world->constraints.made = false; /* the state alone */
    if (write_capsule(world, path, troubles, &error) == STI_OK) k->count++;
    else warn(world, &error);
    world->constraints.made = made;
    sti__world_copy_in(world, now);
    sti__arena_release(&world->arena, mark);
}

sti_status sti_world_set_capsules(sti_world *world, const char *folder, int most, int troubles,
                                  sti_error *error) {
    sti__capsules *k = &world->capsules;
    if (!folder) return *k = (sti__capsules){0}, STI_OK;
    if (strlen(folder) >= sizeof k->folder)
        return sti__fail(error, STI_ARGUMENT, "the name of the folder is longer than %zu",
                         sizeof k->folder - 1);
    if (most < 0 || (troubles & ~STI_TROUBLE_ALL))
        return sti__fail(error, STI_ARGUMENT, "there is no such trouble, or fewer than no capsules");
    *k = (sti__capsules){.most = most, .troubles = troubles};
    sti__copy_text(k->folder, sizeof k->folder, folder);
    return STI_OK;
}

sti_status sti_capsule_load(sti_world *world, const char *path, sti_error *error) {
    size_t size = 0;
    void *snapshot = sti__capsule_snapshot(path, &world->allocator, &size, error);
    if (!snapshot) return error ? error->code : STI_FORMAT;
    sti_status status = sti_snapshot_load(world, snapshot, size);
    if (status != STI_OK && error) {
        *error = world->error;
        sti__copy_text(error->file, sizeof error->file, path);
    }
    sti__free(&world->allocator, snapshot, size + 1);
    return status;
}
