/* SPDX-License-Identifier: Apache-2.0 */
/* Pairs of bodies that overlap in a direction that their joints cannot open, for the report of a run and of a check. */
#include "world/world.h"
#include <stdio.h>

/* A pair of whose contact less is left is told, */
#define TOLD_SHARE 0.5
/* from this depth on, in radii of the smaller geom. */
#define TOLD_DEPTH 1e-3
/* Keyframes that a check looks at. */
#define MOST_KEYS 100

static void say(const sti_world *world, const sti_overlap *pair) {
    char text[300];
    if (!world->log.write) return;
    sti_overlap_text(world->model, pair, text, sizeof text);
    world->log.write(world->log.context, STI_LOG_WARNING, text);
}

static void note(sti_world *world, const sti__overlap *o) {
    int i = 0;
    while (i < world->noverlap &&
           (world->overlap[i].body1 != o->body1 || world->overlap[i].body2 != o->body2))
        i++;
    if (i == STI__OVERLAPS) return;
    sti_overlap *pair = &world->overlap[i];
    if (i < world->noverlap) {
        if (o->depth > pair->depth) pair->depth = o->depth;
        return;
    }
    *pair = (sti_overlap){o->body1, o->body2, o->depth};
    world->noverlap++;
    say(world, pair);
}

void sti__world_note_overlaps(sti_world *world) {
    const sti__overlaps *o = &world->constraints.rows.overlaps;
    for (int k = 0; k < o->npair; k++)
        if (o->pair[k].share < TOLD_SHARE && o->pair[k].depth > TOLD_DEPTH * o->pair[k].size)
            note(world, &o->pair[k]);
}

const sti_overlap *sti_world_overlaps(const sti_world *world, int *count) {
    if (count) *count = world->noverlap;
    return world->noverlap ? world->overlap : NULL;
}

static void name_body(const sti_model *model, int body, char *text, size_t size) {
    const char *name = body ? sti_model_name(model, STI_OBJ_BODY, body) : "world";
    if (*name) snprintf(text, size, "%.80s", name);
    else snprintf(text, size, "number %d", body);
}

const char *sti_overlap_text(const sti_model *model, const sti_overlap *pair, char *text, size_t size) {
    char name1[96], name2[96];
    name_body(model, pair->body1, name1, sizeof name1);
    name_body(model, pair->body2, name2, sizeof name2);
    snprintf(text, size,
             "links %s and %s overlap by %.3g mm in a direction that their joints cannot open: consider "
             "<exclude>",
             name1, name2, 1e3 * pair->depth);
    return text;
}

/* ---- before a run -------------------------------------------------------------------------------------- */

static bool is_told(const sti_overlap *list, int count, const sti_overlap *pair) {
    for (int i = 0; i < count; i++)
        if (list[i].body1 == pair->body1 && list[i].body2 == pair->body2) return true;
    return false;
}

/* A pose that cannot be computed, as one that is not finite, is left to the run. */
static int look_at(sti_world *world, int key, sti_overlap *told, int ntold, sti_report *report) {
    int count;
    if (sti_world_reset(world, key) != STI_OK) return ntold;
    sti_stage_dynamics(world);
    if (sti_stage_collide(world) != STI_OK || sti_stage_contact(world) != STI_OK) return ntold;
    const sti_overlap *list = sti_world_overlaps(world, &count);
    for (int i = 0; i < count && ntold < STI__OVERLAPS; i++) {
        sti_error doubt = {.code = STI_PHYSICS};
        if (is_told(told, ntold, &list[i])) continue;
        sti_overlap_text(world->model, &list[i], doubt.message, sizeof doubt.message);
        sti__report_add(report, STI_SEVERITY_WARNING, &doubt);
        told[ntold++] = list[i];
    }
    return ntold;
}

sti_status sti_model_check_overlaps(const sti_model *model, sti_report *report, sti_error *error) {
    sti_overlap told[STI__OVERLAPS];
    int ntold = 0;
    sti_world *world = sti_world_create(model, NULL, error);
    if (!world) return error && error->code != STI_OK ? error->code : STI_NO_MEMORY;
    for (int key = -1; key < model->nkey && key < MOST_KEYS; key++)
        ntold = look_at(world, key, told, ntold, report);
    sti_world_destroy(world);
    return STI_OK;
}
