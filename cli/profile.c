/* SPDX-License-Identifier: Apache-2.0 */
/* stiction profile: the tree of stages with times, and a trace for chrome://tracing or Perfetto. */
#include "cli.h"

#include <errno.h>
#include <string.h>

void print_profile(const sti_world *world, int steps) {
    int count;
    const sti_profile_node *node = sti_world_profile(world, &count);
    int64_t total = 0;
    for (int i = 0; i < count; i++)
        if (node[i].depth == 0) total += node[i].ticks;
    printf("%-28s %12s %12s %8s %11s %10s\n", "stage", "ms", "us/call", "%", "iterations", "calls");
    for (int i = 0; i < count; i++) {
        char name[64], mean[32] = "";
        double calls = (double)(node[i].count ? node[i].count : 1), ticks = (double)node[i].ticks;
        snprintf(name, sizeof name, "%*s%s", 2 * node[i].depth, "", node[i].name);
        if (node[i].iterations) snprintf(mean, sizeof mean, "%.2f", (double)node[i].iterations / calls);
        printf("%-28s %12.3f %12.3f %8.1f %11s %10lld\n", name, 1e-6 * ticks, 1e-3 * ticks / calls,
               100 * ticks / (double)(total ? total : 1), mean, (long long)node[i].count);
    }
    printf("%d steps, %.3f us a step\n", steps, 1e-3 * (double)total / (steps ? steps : 1));
}

/* ---- trace -------------------------------------------------------------------------------------------- */

/* One step as nested events; children follow each other from the start of their parent. */
static double write_events(FILE *out, const sti_profile_node *node, int count, double start, bool first) {
    double at[256], end = start;
    for (int i = 0; i < count && i < 256; i++) {
        double begin = node[i].parent < 0 ? end : at[node[i].parent], length = 1e-3 * (double)node[i].ticks;
        if (node[i].parent < 0) end = begin + length;
        else at[node[i].parent] = begin + length;
        at[i] = begin;
        fprintf(out, "%s{\"name\":\"%s\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":%.3f,\"dur\":%.3f}",
                first && i == 0 ? "" : ",\n", node[i].name, begin, length);
    }
    return end;
}

static int write_trace(sti_world *world, const char *path, int steps) {
    FILE *out = fopen(path, "w");
    if (!out) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return EXIT_FAILED;
    }
    double at = 0;
    fprintf(out, "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n");
    for (int i = 0; i < steps; i++) {
        int count;
        sti_world_profile_reset(world);
        if (sti_step(world, 1) != STI_OK) break;
        const sti_profile_node *node = sti_world_profile(world, &count);
        at = write_events(out, node, count, at, i == 0);
    }
    fprintf(out, "\n]}\n");
    return close_written(out, path);
}

/* ---- the command ------------------------------------------------------------------------------------ */

static int profile(sti_world *world, int steps, const char *trace) {
    int warm = steps < 100 ? steps : 100;
    if (sti_step(world, warm) != STI_OK) return report_error(sti_world_error(world));
    sti_world_profile_reset(world);
    for (int i = 0; i < steps; i++) /* one by one, so that sensors are read in each */
        if (sti_step(world, 1) != STI_OK) return report_error(sti_world_error(world));
    print_profile(world, steps);
    return trace ? write_trace(world, trace, steps < 1000 ? steps : 1000) : EXIT_OK;
}

int command_profile(int argc, char **argv) {
    const char *trace = NULL, *key = NULL, *integrator = NULL;
    int steps = 1000;
    bool outside = false;
    const arg args[] = {
        {"--steps", "N", "steps to measure (1000)", ARG_INT, &steps},
        {"--trace", "FILE.json", "write up to 1000 steps as a Chrome trace", ARG_TEXT, &trace},
        {"--key", "NAME", "start from this keyframe (name or number)", ARG_TEXT, &key},
        {"--integrator", "NAME", "Euler, RK4, implicit, implicitfast or alm", ARG_TEXT, &integrator},
        ARG_OUTSIDE(&outside),
    };
    const usage u = {"profile",
                     "FILE",
                     "Shows where the time of a step goes: a tree of stages.",
                     "  stiction profile robot.xml --steps 10000\n"
                     "  stiction profile robot.xml --trace trace.json   (open it in ui.perfetto.dev)\n",
                     args,
                     sizeof args / sizeof args[0]};
    operands files;
    int status;
    if (!args_parse(&u, argc, argv, &files, &status)) return status;
    if (files.count != 1) return usage_error(&u, files.count ? "one file, please" : "which file?");
    if (steps < 1) return usage_error(&u, "--steps must be positive");
    sti_model *model = load_model(files.item[0], outside, false);
    sti_world *world = model ? make_world(model, key, true) : NULL;
    status = EXIT_FAILED;
    if (world && (!integrator || set_integrator(world, integrator))) status = profile(world, steps, trace);
    else if (world) status = EXIT_USAGE;
    sti_world_destroy(world);
    sti_model_free(model);
    return status;
}
