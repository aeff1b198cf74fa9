/* SPDX-License-Identifier: Apache-2.0 */
/* Contact by pressure fields: refitting, the trees' walk, and polygons a second.

   usage: bench_patch [threads]; times are microseconds, the median of several. */
#include "../tests/pressure_mesh.h"
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static int by_size(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

enum { TURNS = 51 };
static double median(double *x) {
    qsort(x, TURNS, sizeof *x, by_size);
    return x[TURNS / 2];
}

static const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, origin[3] = {0, 0, 0};

static void measure(const char *name, sti__pressure_body *body, int a, int b, sti__soft_bvh *soft,
                    const double *x, const sti_tasks *tasks) {
    sti__patches p;
    sti__patch_sizes need;
    sti__pressure_pair pair = {a, b};
    double refit[TURNS], near[TURNS], all[TURNS];
    if (!sti__patches_create(&p, (sti__patch_sizes){0}, NULL)) exit(1);
    while (!sti__patches_find(&p, body, &pair, 1, tasks, &need))
        if (!sti__patches_grow(&p, need)) exit(1);
    for (int i = 0; i < TURNS; i++) {
        double t0 = now();
        if (soft) sti__soft_bvh_refit(soft, x, tasks);
        double t1 = now();
        sti__patch_near(&p, body, &pair, 1);
        double t2 = now();
        sti__patches_find(&p, body, &pair, 1, tasks, &need);
        all[i] = now() - t2;
        near[i] = t2 - t1;
        refit[i] = t1 - t0;
    }
    double t = median(all), n = median(near);
    printf("%-34s %8d %8d %8.1f %8.1f %8.1f %9.2f %9.2f\n", name, p.ncandidate, p.npatch, median(refit), n,
           t - n, p.ncandidate / (t - n), p.npatch / t);
    sti__patches_free(&p);
}

/* usage above */
int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    sti_pool *pool = sti_pool_create(threads, NULL);
    sti_tasks tasks = sti_pool_tasks(pool), *with = threads > 1 ? &tasks : NULL;
    pressure_mesh ball = ball_mesh(0.02, 1e5, 8, 4), other = ball_mesh(0.02, 1e5, 8, 4),
                  fine = ball_mesh(0.02, 1e7, 12, 1);
    pressure_mesh finger = cube_mesh(0.01, 1e8), cone = ball_mesh(0.02, 1e7, 17, 1);
    double low[3] = {0, 0, -0.018}, side[3] = {0.027, 0.003, 0.001}, above[3] = {0.001, 0, 0.037},
           on[3] = {0, 0, 0.018};
    sti__pressure_body body[] = {mesh_body(&ball, STI__PRESSURE_SOFT, NULL, NULL),
                                 {.kind = STI__PRESSURE_PLANE, .pos = low, .mat = unit},
                                 mesh_body(&finger, STI__PRESSURE_RIGID, side, unit),
                                 mesh_body(&finger, STI__PRESSURE_COMPLIANT, side, unit),
                                 mesh_body(&fine, STI__PRESSURE_RIGID, above, unit),
                                 mesh_body(&other, STI__PRESSURE_COMPLIANT, above, unit),
                                 mesh_body(&cone, STI__PRESSURE_COMPLIANT, on, unit),
                                 {.kind = STI__PRESSURE_PLANE, .pos = origin, .mat = unit}};
    printf("%d tets, %d nodes in the soft ball; %d threads\n", ball.ntet, ball.nnode, threads);
    printf("%-34s %8s %8s %8s %8s %8s %9s %9s\n", "", "near", "polygons", "refit", "walk", "cut", "cuts/us",
           "poly/us");
    measure("soft ball, plane", body, 1, 0, &ball.tets, ball.node, with);
    measure("soft ball, rigid finger", body, 2, 0, &ball.tets, ball.node, with);
    measure("soft ball, compliant finger", body, 3, 0, &ball.tets, ball.node, with);
    measure("soft ball, rigid ball (2880 tri)", body, 4, 0, &ball.tets, ball.node, with);
    measure("soft ball, compliant ball", body, 5, 0, &ball.tets, ball.node, with);
    measure("soft ball, itself", body, 0, 0, &ball.tets, ball.node, with);
    measure("compliant ball (R/16), plane", body, 7, 6, NULL, NULL, with);
    sti_pool_destroy(pool);
    mesh_free(&ball);
    mesh_free(&other);
    mesh_free(&fine);
    mesh_free(&finger);
    mesh_free(&cone);
    return 0;
}
