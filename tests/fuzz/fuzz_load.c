/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a scene: load, compile, ten steps. Nothing is read from disk. What must hold besides: a
   failure says why, a written scene is the same scene, a snapshot brings the same state back. */
#include "../robust.h"
#include "mutate_xml.h"
#include <math.h>

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned int seed) {
    return mutate_xml(data, size, max_size, seed);
}

static void check_finite(sti_world *world) {
    static const sti_field fields[] = {STI_FIELD_qpos, STI_FIELD_qvel, STI_FIELD_act};
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        sti_view view = sti_world_view(world, fields[f]);
        for (int i = 0; i < view.rows * view.cols; i++) MUST(isfinite(((double *)view.data)[i]));
    }
}

static void check_snapshot(sti_world *world) {
    size_t size = sti_snapshot_size(world);
    void *snapshot = malloc(size);
    if (!snapshot) return;
    uint64_t hash = sti_world_hash(world);
    MUST(sti_snapshot_save(world, snapshot, size) == STI_OK);
    sti_step(world, 1);
    MUST(sti_snapshot_load(world, snapshot, size) == STI_OK);
    MUST(sti_world_hash(world) == hash);
    free(snapshot);
}

static void check_sensors(const sti_world *world) {
    const sti_model *model = sti_world_model(world);
    float out[64];
    for (int i = 0; i < model->nsensor; i++) {
        const char *name = sti_model_name(model, STI_OBJ_SENSOR, i);
        int size = *name ? sti_sensor_value(world, name, out, 64) : 0;
        MUST(size >= 0 && size <= model->sensor_dim[i] + 1);
    }
}

static void simulate(const sti_model *model) {
    sti_error error = {0};
    if (model->nv > 2000) return; /* large is slow, not wrong */
    sti_world_options options = sti_world_options_default();
    options.profile = true;
    sti_world *world = sti_world_create(model, &options, &error);
    MUST(world || error.code != STI_OK);
    if (!world) return;
    for (int i = 0; i < STI_FIELD_COUNT; i++) (void)sti_world_view(world, (sti_field)i);
    /* the loader is tried here, not the solver's patience: wild scenes reach all its caps */
    sti_option *option = sti_world_option(world);
    option->coulomb = STI_COULOMB_RELAXED;
    option->contact_tol = 1e-4;
    if (!(option->max_work > 0 && option->max_work < WORK_MOST)) option->max_work = WORK_MOST;
    sti_step(world, 2);
    check_sensors(world);
    option->disableflags |= STI_DISABLE_CONSTRAINT;
    sti_step(world, 8);
    check_finite(world);
    check_snapshot(world);
    if (model->nkey > 0 && sti_world_reset(world, 0) == STI_OK) sti_step(world, 1);
    sti_world_destroy(world);
}

static void check_written(const sti_spec *spec, const sti_model *model, const sti_load_options *options) {
    sti_error error = {0};
    size_t size;
    char *text = sti_spec_write(spec, false, &size, &error);
    MUST(text);
    sti_spec *again = sti_spec_parse(text, size, options, NULL, &error);
    MUST(again);
    sti_model *same = sti_model_compile(again, NULL, &error);
    MUST((same != NULL) == (model != NULL));
    if (same) MUST(sti_model_hash(same) == sti_model_hash(model));
    sti_model_free(same);
    sti_spec_free(again);
    sti_string_free(spec, text, size);
}

static sti_load_options make_options(const sti_asset *assets, int nasset) {
    sti_load_options options = sti_load_options_default();
    options.assets = assets;
    options.nasset = nasset;
    options.no_disk = true;
    options.memory_limit = (size_t)64 << 20;
    return options;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unsigned char cube[CUBE_SIZE];
    make_cube(cube);
    sti_asset assets[] = {{"cube.stl", cube, sizeof cube}, {"part.xml", part_xml, sizeof part_xml - 1}};
    sti_load_options options = make_options(assets, 2);
    sti_report report;
    sti_error error = {0};
    sti_report_init(&report, NULL);
    sti_spec *spec = sti_spec_parse((const char *)data, size, &options, &report, &error);
    MUST(spec || error.code != STI_OK);
    if (spec) {
        sti_model *model = sti_model_compile(spec, &report, &error);
        MUST(model || error.code != STI_OK);
        check_written(spec, model, &options);
        if (model) simulate(model);
        sti_model_free(model);
    }
    sti_spec_free(spec);
    sti_report_free(&report);
    return 0;
}
