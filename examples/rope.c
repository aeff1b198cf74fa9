/* SPDX-License-Identifier: Apache-2.0 */
/* A handler of one's own: a ball on a rope, which pulls when it is taut and does nothing else.
   cc rope.c -lm $(pkg-config --cflags --libs stiction) && ./a.out */
#include <math.h>
#include <stdio.h>
#include <stiction/stiction.h>
#include <string.h>

static const char scene[] = "<mujoco><option timestep='0.001'/><worldbody>"
                            "<body pos='0.6 0 0'><freejoint/><geom size='0.05' mass='1'/></body>"
                            "</worldbody></mujoco>";

typedef struct rope {
    int body;
    double end[3], length;
} rope;

/* One row: the rate at which the free length shrinks, whose impulse is never negative. */
static sti_status pull(void *context, sti_world *world, sti_rows *rows) {
    const rope *r = context;
    const double *x = (const double *)sti_world_view(world, STI_FIELD_xpos).data + 3 * r->body;
    double away[3] = {x[0] - r->end[0], x[1] - r->end[1], x[2] - r->end[2]}, J6[36], J[6];
    double length = sqrt(away[0] * away[0] + away[1] * away[1] + away[2] * away[2]);
    int dofs[6], n = sti_world_jacobian(world, r->body, x, dofs, J6);
    for (int k = 0; k < n; k++)
        J[k] = -(away[0] * J6[k] + away[1] * J6[n + k] + away[2] * J6[2 * n + k]) / length;

    sti_block block = sti_block_default();
    block.row = (sti_row){.kind = STI_ROW_INTERVAL, .dim = 1, .lo = 0, .hi = INFINITY};
    block.ndof = n;
    block.dofs = dofs;
    block.J = J;
    block.phi[0] = r->length - length;
    return sti_rows_add(rows, &block);
}

static int fail(const sti_error *error) {
    char text[1024];
    fprintf(stderr, "%s\n", sti_error_format(error, text, sizeof text));
    return 1;
}

static int swing(sti_world *world) {
    rope r = {.body = 1, .length = 1};
    if (sti_world_add_handler(world, pull, &r, NULL) < 0) return 1;
    const double *q = sti_world_view(world, STI_FIELD_qpos).data;
    const double *force = sti_world_view(world, STI_FIELD_qfrc_constraint).data;
    double most = 0, longest = 0, highest = -1;
    for (int i = 0; i < 2000; i++) {
        if (sti_step(world, 1) != STI_OK) return fail(sti_world_error(world));
        double pulls = sqrt(force[0] * force[0] + force[2] * force[2]),
               length = sqrt(q[0] * q[0] + q[2] * q[2]);
        longest = fmax(longest, length);
        if (i > 700) most = fmax(most, pulls), highest = fmax(highest, q[2]);
        if (i % 250 == 249)
            printf("t %.2f s  x %+.3f  z %+.3f  rope %.6f m  pulls %.3f N\n", 0.001 * (i + 1), q[0], q[2],
                   length, pulls);
    }
    /* It falls by 0.8 m; the rope takes the speed along it and leaves 0.6 of it, that is 0.36 of the energy. */
    double top = -0.8 + 0.36 * 0.8, tension = 9.81 * (1 + 2 * (top + 1));
    int good = longest < 1 + 1e-5 && fabs(highest - top) < 5e-3 && fabs(most - tension) < 0.1;
    printf("%s: up to z %.4f (%.4f by energy), pulled by %.3f N (%.3f at the bottom)\n",
           good ? "as it should be" : "WRONG", highest, top, most, tension);
    return !good;
}

int main(void) {
    sti_error error = {0};
    sti_spec *spec = sti_spec_parse(scene, strlen(scene), NULL, NULL, &error);
    sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    sti_world *world = model ? sti_world_create(model, NULL, &error) : NULL;
    int status = world ? swing(world) : fail(&error);
    sti_world_destroy(world);
    sti_model_free(model);
    sti_spec_free(spec);
    return status;
}
