/* SPDX-License-Identifier: Apache-2.0 */
/* A whole program: load a scene, step it for a second, read a sensor.
   cc hello.c $(pkg-config --cflags --libs stiction) && ./a.out scenes/arm.xml */
#include <stdio.h>
#include <stiction/stiction.h>

static int fail(const sti_error *error) {
    char text[1024];
    fprintf(stderr, "%s\n", sti_error_format(error, text, sizeof text));
    return 1;
}

int main(int argc, char **argv) {
    if (argc != 2) return fprintf(stderr, "usage: %s FILE.xml\n", argv[0]), 2;

    sti_error error = {0};
    sti_model *model = sti_model_load(argv[1], NULL, NULL, &error);
    if (!model) return fail(&error);
    sti_world *world = sti_world_create(model, NULL, &error);
    if (!world) {
        sti_model_free(model);
        return fail(&error);
    }

    /* views are windows on the world's own arrays */
    double *ctrl = sti_world_view(world, STI_FIELD_ctrl).data;
    const double *qpos = sti_world_view(world, STI_FIELD_qpos).data;
    for (int i = 0; i < model->nu; i++) ctrl[i] = 0.1;

    int status = 0;
    if (sti_step(world, (int)(1 / model->opt.timestep)) != STI_OK) status = fail(sti_world_error(world));
    for (int i = 0; i < model->nq && i < 8; i++) printf("qpos[%d] = %.6f\n", i, qpos[i]);
    if (model->nsensor > 0) {
        float value[16];
        const char *name = sti_model_name(model, STI_OBJ_SENSOR, 0);
        int n = sti_sensor_value(world, name, value, 16);
        printf("sensor %s:", name);
        for (int i = 0; i < n && i < 16; i++) printf(" %.4f", value[i]);
        printf("\n");
    }
    printf("state hash %016llx\n", (unsigned long long)sti_world_hash(world));

    sti_world_destroy(world);
    sti_model_free(model);
    return status;
}
