/* SPDX-License-Identifier: Apache-2.0 */
/* stiction bench: steps per second. */
#include "cli.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

static int is_scene(const struct dirent *entry) {
    size_t length = strlen(entry->d_name);
    return length > 4 && strcmp(entry->d_name + length - 4, ".xml") == 0;
}

/* The names of the built-in scenes, and where they are: beside the sources, or installed. */
static int find_scenes(const char **folder, struct dirent ***entries) {
    const char *given = getenv("STICTION_SCENES");
    const char *const folders[] = {given ? given : STI_SCENES, STI_SCENES, STI_SCENES_INSTALLED, "scenes"};
    int count = 0;
    for (size_t i = 0; i < sizeof folders / sizeof folders[0] && count <= 0; i++) {
        *folder = folders[i];
        count = scandir(folders[i], entries, is_scene, alphasort);
    }
    return count;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Runs `steps`, or with 0 as many as fit into a second. */
static bool measure(sti_world *world, int steps, int *done, double *wall) {
    int chunk = steps ? steps : 16;
    *done = 0;
    if (sti_step(world, 10) != STI_OK) return false; /* warm */
    double start = seconds();
    do {
        if (sti_step(world, chunk) != STI_OK) return false;
        *done += chunk;
        *wall = seconds() - start;
        if (!steps && *wall < 0.1 && chunk < 1 << 20) chunk *= 2;
    } while (!steps && *wall < 1 && *done < 1 << 28);
    return true;
}

static int bench_file(const char *path, bool outside, int steps) {
    sti_model *model = load_model(path, outside, true);
    sti_world *world = model ? make_world(model, NULL, false) : NULL;
    int status = EXIT_FAILED, done;
    double wall;
    if (world && measure(world, steps, &done, &wall)) {
        double rate = done / (wall > 0 ? wall : 1e-9);
        printf("%-28s %6d %6d %10d %12.0f %10.3f %11.1fx  %016llx\n", base_name(path), model->nbody - 1,
               model->nv, done, rate, 1e6 / rate, rate * model->opt.timestep,
               (unsigned long long)sti_world_hash(world));
        status = EXIT_OK;
    } else if (world) {
        status = report_error(sti_world_error(world));
    }
    sti_world_destroy(world);
    sti_model_free(model);
    fflush(stdout);
    return status;
}

static int bench_scenes(int steps) {
    const char *folder;
    struct dirent **entries = NULL;
    int status = EXIT_OK, count = find_scenes(&folder, &entries);
    for (int i = 0; i < count; i++) {
        char path[1024];
        snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
        if (bench_file(path, false, steps) != EXIT_OK) status = EXIT_FAILED;
        free(entries[i]);
    }
    free(entries);
    if (count > 0) return status;
    fprintf(stderr,
            "stiction bench: the built-in scenes are not installed; give files: stiction bench FILE...\n");
    return EXIT_FAILED;
}

int command_bench(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "coupled") == 0) return bench_coupled(argc - 1, argv + 1);
    int steps = 0;
    bool outside = false;
    const arg args[] = {ARG_OUTSIDE(&outside),
                        {"--steps", "N", "steps to run (as many as fit into a second)", ARG_INT, &steps}};
    const usage u = {
        "bench",
        "[FILE...]",
        "Steps per second, for the given scenes or the built-in ones. The hash is that of the\n"
        "state at the end: with --steps it must be the same everywhere.",
        "  stiction bench\n  stiction bench robot.xml --steps 10000\n  stiction bench coupled --help\n",
        args,
        sizeof args / sizeof args[0]};
    operands files;
    int status;
    if (!args_parse(&u, argc, argv, &files, &status)) return status;
    if (steps < 0) return usage_error(&u, "--steps must be positive");
    printf("%-28s %6s %6s %10s %12s %10s %12s  %s\n", "scene", "bodies", "dofs", "steps", "steps/s",
           "us/step", "real time", "hash");
    if (files.count == 0) return bench_scenes(steps);
    status = EXIT_OK;
    for (int i = 0; i < files.count; i++)
        if (bench_file(files.item[i], outside, steps) != EXIT_OK) status = EXIT_FAILED;
    return status;
}
