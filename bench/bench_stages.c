/* SPDX-License-Identifier: Apache-2.0 */
/* Where the time and the memory of a scene go: steps a model, from the qpos in a file if one is given, and prints figures that
   bench_contact.py reads, one "name value" per line; stages in microseconds a step.

   usage: bench_stages scene.xml [-q qpos] [-n steps] [-w warm-up steps] [-t threads] [-e tolerance] [-r repeats of the stages
          before solve instead of steps] */
#include "world/world.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static size_t held, peak;

static void *counted(void *context, void *ptr, size_t old_size, size_t new_size) {
    (void)context;
    held += new_size - old_size;
    if (held > peak) peak = held;
    if (new_size) return realloc(ptr, new_size);
    free(ptr);
    return NULL;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what, const sti_error *error) {
    char text[600] = "";
    if (error) sti_error_format(error, text, sizeof text);
    fprintf(stderr, "bench_stages: %s %s\n", what, text);
    exit(1);
}

/* qpos as doubles. */
static void restore(sti_world *world, const char *path) {
    FILE *file = fopen(path, "rb");
    sti_view qpos = sti_world_view(world, STI_FIELD_qpos);
    size_t count = (size_t)qpos.rows * (size_t)qpos.cols;
    if (!file || fread(qpos.data, sizeof(double), count, file) != count) fail(path, NULL);
    fclose(file);
}

static void print_profile(const sti_world *world, int count) {
    int n;
    const sti_profile_node *node = sti_world_profile(world, &n);
    for (int i = 0; i < n; i++)
        printf("%*s%s %.3f\n", 2 * node[i].depth, "", node[i].name, (double)node[i].ticks * 1e-3 / count);
}

/* What comes before solve, again and again from the same state. */
static void repeat_stages(sti_world *world, int count) {
    for (int i = 0; i < count; i++) {
        sti_stage_position(world);
        sti_stage_velocity(world);
        sti_stage_actuation(world);
        sti_stage_acceleration(world);
        sti_stage_collide(world);
        sti_stage_contact(world);
    }
}

int main(int argc, char **argv) {
    int steps = 100, warm = 2, threads = 1, repeats = 0;
    double tol = 1e-6, iterations = 0;
    const char *qpos = NULL;
    for (int i = 2; i + 1 < argc; i += 2) switch (argv[i][1]) {
        case 'q': qpos = argv[i + 1]; break;
        case 'n': steps = atoi(argv[i + 1]); break;
        case 'w': warm = atoi(argv[i + 1]); break;
        case 't': threads = atoi(argv[i + 1]); break;
        case 'e': tol = atof(argv[i + 1]); break;
        case 'r': repeats = atoi(argv[i + 1]); break;
        default: fail("unknown option", NULL);
        }
    if (argc < 2) fail("no scene", NULL);
    sti_allocator allocator = {counted, NULL};
    sti_error error = {0};
    double start = seconds();
    sti_spec *spec = sti_spec_load(argv[1], NULL, NULL, &error);
    if (!spec) fail("load", &error);
    double parsed = seconds();
    sti_model *model = sti_model_compile(spec, NULL, &error);
    if (!model) fail("compile", &error);
    double compiled = seconds();
    sti_world_options options = sti_world_options_default();
    options.allocator = &allocator;
    options.profile = true;
    sti_pool *pool = threads > 1 ? sti_pool_create(threads, NULL) : NULL;
    if (pool) options.tasks = sti_pool_tasks(pool);
    sti_world *world = sti_world_create(model, &options, &error);
    if (!world) fail("world", &error);
    printf("parse_ms %.3f\ncompile_ms %.3f\nworld_ms %.3f\n", 1e3 * (parsed - start),
           1e3 * (compiled - parsed), 1e3 * (seconds() - compiled));
    printf("world_bytes %zu\n", held);
    sti_world_option(world)->contact_tol = tol;
    if (qpos) restore(world, qpos);
    if (sti_step(world, warm) != STI_OK) fail("step", sti_world_error(world));
    sti_world_profile_reset(world);
    double began = seconds();
    if (repeats) repeat_stages(world, repeats);
    for (int i = 0; !repeats && i < steps; i++) {
        if (sti_step(world, 1) != STI_OK) fail("step", sti_world_error(world));
        iterations += sti_world_solve_info(world)->iterations;
    }
    printf("iterations %.2f\ncpu %.3f\n", iterations / steps,
           1e6 * (seconds() - began) / (repeats ? repeats : steps));
    int contacts;
    sti_world_contacts(world, &contacts);
    print_profile(world, repeats ? repeats : steps);
    const sti__collide *found = &world->constraints.collide;
    int touching = 0;
    for (int i = 0; i < found->ncandidate; i++) touching += found->count[i] > 0;
    printf("candidates %d\ntouching %d\npoints %d\n", found->ncandidate, touching, found->ncontact);
    printf("contacts %d\nbodies %d\ndofs %d\nwarm_bytes %zu\npeak_bytes %zu\n", contacts, model->nbody - 1,
           model->nv, held, peak);
    sti_world_destroy(world);
    sti_pool_destroy(pool);
    sti_model_free(model);
    sti_spec_free(spec);
    return 0;
}
