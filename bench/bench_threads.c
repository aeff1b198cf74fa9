/* SPDX-License-Identifier: Apache-2.0 */
/* What threads gain in one world: the median and the shortest step of a scene with 1, 2, ... threads, the share of a step that no task
   runs, and how much shorter that share alone would let a step become. The share is of CPU time on one thread, so that it can be
   measured on a busy machine. Hashes after all steps must be the same.

   usage: bench_threads scene.xml [-n steps] [-w warm-up steps] [-t most threads] [-e tolerance] */
#include <stdio.h>
#include <stdlib.h>
#include <stiction/stiction.h>
#include <time.h>

static double now(clockid_t clock) {
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void fail(const char *what, const sti_error *error) {
    char text[600] = "";
    if (error) sti_error_format(error, text, sizeof text);
    fprintf(stderr, "bench_threads: %s %s\n", what, text);
    exit(1);
}

/* Tasks that run here, one piece after the other: their time, and the time that so many threads would need for them if each took the next
   piece as it came free. */
#define MOST 16
typedef struct counted {
    double inside, shared[MOST + 1], clock; /* clock: what it takes to read it */
    int depth, runs, pieces;
} counted;

static void run_counted(void *system, int count, int grain, sti_task_body body, void *context) {
    counted *c = system;
    double busy[MOST + 1][MOST] = {{0}};
    for (int begin = 0; begin < count; begin += grain) {
        double start = now(CLOCK_THREAD_CPUTIME_ID);
        c->depth++;
        body(context, begin, begin + grain < count ? begin + grain : count);
        if (--c->depth) continue; /* tasks within a task are part of it */
        double spent = now(CLOCK_THREAD_CPUTIME_ID) - start - c->clock;
        if (spent < 0) spent = 0;
        c->inside += spent;
        c->pieces++;
        for (int n = 1; n <= MOST; n++) {
            int least = 0;
            for (int k = 1; k < n; k++)
                if (busy[n][k] < busy[n][least]) least = k;
            busy[n][least] += spent;
        }
    }
    c->runs += c->depth == 0;
    for (int n = 1; n <= MOST && !c->depth; n++) {
        double longest = 0;
        for (int k = 0; k < n; k++) longest = busy[n][k] > longest ? busy[n][k] : longest;
        c->shared[n] += longest;
    }
}

/* Reading the clock twice; of a thousand times the shortest is what it takes between the two. */
static double clock_cost(double *pair) {
    double least = 1, begun = now(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; i < 1000; i++) {
        double start = now(CLOCK_THREAD_CPUTIME_ID), spent = now(CLOCK_THREAD_CPUTIME_ID) - start;
        if (spent < least) least = spent;
    }
    *pair = (now(CLOCK_THREAD_CPUTIME_ID) - begun) / 1000;
    return least;
}

static sti_world *make_world(const sti_model *model, sti_tasks tasks, double tol, int warm) {
    sti_error error = {0};
    sti_world_options options = sti_world_options_default();
    options.tasks = tasks;
    sti_world *world = sti_world_create(model, &options, &error);
    if (!world) fail("world", &error);
    sti_world_option(world)->contact_tol = tol;
    if (sti_step(world, warm) != STI_OK) fail("step", sti_world_error(world));
    return world;
}

static int rising(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void count_shares(const sti_model *model, double tol, int warm, int steps) {
    counted c = {0};
    sti_world *world = make_world(model, (sti_tasks){run_counted, &c, 2}, tol, warm);
    double pair;
    c = (counted){.clock = clock_cost(&pair)};
    double start = now(CLOCK_THREAD_CPUTIME_ID);
    if (sti_step(world, steps) != STI_OK) fail("step", sti_world_error(world));
    double all = now(CLOCK_THREAD_CPUTIME_ID) - start - c.pieces * pair, outside = all - c.inside;
    printf("a step takes %.2f ms, %.1f %% of it outside tasks, and has %d runs of %d pieces in all; by these "
           "it would be",
           1e3 * all / steps, 100 * outside / all, c.runs / steps, c.pieces / steps);
    for (int n = 2; n <= MOST; n *= 2) printf(" %.2f", all / (outside + c.shared[n]));
    printf(" times as fast with 2, 4, 8, 16 threads\n");
    sti_world_destroy(world);
}

int main(int argc, char **argv) {
    int steps = 50, warm = 100, most = 2;
    double tol = 1e-6, alone = 0;
    for (int i = 2; i + 1 < argc; i += 2) switch (argv[i][1]) {
        case 'n': steps = atoi(argv[i + 1]); break;
        case 'w': warm = atoi(argv[i + 1]); break;
        case 't': most = atoi(argv[i + 1]); break;
        case 'e': tol = atof(argv[i + 1]); break;
        default: fail("unknown option", NULL);
        }
    if (argc < 2 || steps < 1) fail("no scene, or no steps", NULL);
    sti_error error = {0};
    sti_spec *spec = sti_spec_load(argv[1], NULL, NULL, &error);
    sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    double *times = malloc((size_t)steps * sizeof *times);
    if (!model || !times) fail(argv[1], &error);
    count_shares(model, tol, warm, steps);
    uint64_t hash = 0;
    for (int threads = 1; threads <= most; threads *= 2) {
        sti_pool *pool = sti_pool_create(threads, NULL);
        if (!pool) fail("no threads", NULL);
        sti_world *world = make_world(model, sti_pool_tasks(pool), tol, warm);
        for (int i = 0; i < steps; i++) {
            double start = now(CLOCK_MONOTONIC);
            if (sti_step(world, 1) != STI_OK) fail("step", sti_world_error(world));
            times[i] = now(CLOCK_MONOTONIC) - start;
        }
        qsort(times, (size_t)steps, sizeof *times, rising);
        if (threads == 1) alone = times[0], hash = sti_world_hash(world);
        printf("%2d threads: median %.2f ms, shortest %.2f ms (%.2f times one thread), bits %s\n", threads,
               1e3 * times[steps / 2], 1e3 * times[0], alone / times[0],
               sti_world_hash(world) == hash ? "equal" : "DIFFER");
        sti_world_destroy(world);
        sti_pool_destroy(pool);
    }
    free(times);
    sti_model_free(model);
    sti_spec_free(spec);
    return 0;
}
