/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as a scene: load, compile, ten steps, snapshot. Nothing is read from disk. */
#include "../robust.h"
#include "mutate_xml.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void simulate(const sti_model *model) {
    sti_error error;
    if (model->nv > 2000) return; /* large is slow, not wrong */
    sti_world *world = sti_world_create(model, NULL, &error);
    if (!world) return;
    for (int i = 0; i < STI_FIELD_COUNT; i++) (void)sti_world_view(world, (sti_field)i);
    sti_step(world, 10);
    if (model->nkey > 0 && sti_world_reset(world, 0) == STI_OK) sti_step(world, 1);
    (void)sti_world_hash(world);
    sti_world_destroy(world);
}

static void write_and_read(const sti_spec *spec, const sti_load_options *options) {
    sti_error error;
    size_t size;
    char *text = sti_spec_write(spec, true, &size, &error);
    if (!text) return;
    sti_spec_free(sti_spec_parse(text, size, options, NULL, &error));
    sti_string_free(spec, text, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    unsigned char cube[CUBE_SIZE];
    make_cube(cube);
    sti_asset assets[] = {{"cube.stl", cube, sizeof cube}, {"part.xml", part_xml, sizeof part_xml - 1}};
    sti_load_options options = sti_load_options_default();
    options.assets = assets;
    options.nasset = 2;
    options.no_disk = true;
    options.memory_limit = (size_t)64 << 20;
    sti_report report;
    sti_error error = {0};
    sti_report_init(&report, NULL);
    sti_spec *spec = sti_spec_parse((const char *)data, size, &options, &report, &error);
    if (!spec && error.code == STI_OK) __builtin_trap(); /* a failure must say why */
    if (spec) {
        write_and_read(spec, &options);
        sti_model *model = sti_model_compile(spec, &report, &error);
        if (!model && error.code == STI_OK) __builtin_trap();
        if (model) simulate(model);
        sti_model_free(model);
    }
    sti_spec_free(spec);
    sti_report_free(&report);
    return 0;
}
