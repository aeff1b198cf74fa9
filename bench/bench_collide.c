/* SPDX-License-Identifier: Apache-2.0 */
/* The collide stage on piles of balls and boxes in a container, milliseconds per run.

   usage: bench_collide [threads] */
#include "collide/collide.h"
#include "world/world.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static uint64_t dice = 1;
static double uniform(double low, double high) {
    dice = dice * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (double)(dice >> 11) * 0x1p-53;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* Slightly overlapping neighbours, slightly turned. */
static char *pile_xml(int count, const char *geom) {
    size_t size = 1000 + (size_t)count * 200;
    char *text = malloc(size), *at = text, *end = text + size;
    int side = (int)ceil(cbrt(count));
    double wall = 0.05 * side;
    at += snprintf(
        at, (size_t)(end - at),
        "<mujoco><worldbody><geom type='plane' size='1 1 1'/>"
        "<geom type='box' size='1 9 9' pos='-1.05 0 0'/><geom type='box' size='1 9 9' pos='%g 0 0'/>",
        2 * wall + 0.95);
    for (int i = 0; i < count; i++)
        at += snprintf(at, (size_t)(end - at),
                       "<body pos='%.4f %.4f %.4f' euler='%.1f %.1f %.1f'><freejoint/><geom %s/></body>",
                       0.098 * (i % side), 0.098 * (i / side % side), 0.049 + 0.098 * (i / side / side),
                       uniform(-3, 3), uniform(-3, 3), uniform(-3, 3), geom);
    snprintf(at, (size_t)(end - at), "</worldbody></mujoco>");
    return text;
}

static void measure(const char *name, int count, const char *geom, const sti_tasks *tasks) {
    char *xml = pile_xml(count, geom);
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, NULL);
    sti_model *model = spec ? sti_model_compile(spec, NULL, NULL) : NULL;
    sti_world *world = model ? sti_world_create(model, NULL, NULL) : NULL;
    sti__collide c;
    sti__collide_sizes need;
    double best = 1e9;
    int growths = 0;
    if (!world || !sti__collide_create(&c, world->collision, (sti__collide_sizes){0}, NULL, NULL)) exit(1);
    sti__world_want(world, STI__WANT_GEOM);
    sti_stage_position(world);
    for (int i = 0; i < 12; i++) {
        double t = now();
        bool good = sti__collide_run(&c, world->state, tasks, &need);
        t = now() - t;
        if (!good && (growths++, sti__collide_grow(&c, &need, NULL) != STI_OK)) exit(1);
        if (good && t < best) best = t;
    }
    printf("%-7s %6d  %8.3f ms  %7d contacts  %7d candidates  %7lld overlaps  %d growths  %5.0f ns per "
           "contact\n",
           name, count, best, c.ncontact, c.ncandidate, (long long)c.stats.overlaps, growths,
           1e6 * best / (c.ncontact ? c.ncontact : 1));
    sti__collide_free(&c);
    sti_world_destroy(world);
    sti_model_free(model);
    sti_spec_free(spec);
    free(xml);
}

int main(int argc, char **argv) {
    sti_pool *pool = argc > 1 ? sti_pool_create(atoi(argv[1]), NULL) : NULL;
    sti_tasks tasks = pool ? sti_pool_tasks(pool) : (sti_tasks){0};
    static const int counts[] = {100, 1000, 5000, 20000};
    for (int i = 0; i < STI__COUNT(counts); i++) {
        measure("balls", counts[i], "size='.05'", pool ? &tasks : NULL);
        measure("boxes", counts[i], "type='box' size='.05 .05 .05'", pool ? &tasks : NULL);
    }
    sti_pool_destroy(pool);
    return 0;
}
