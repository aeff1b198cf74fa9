/* SPDX-License-Identifier: Apache-2.0 */
/* Contact by pressure fields: refitting, the trees' walk, and polygons a second.

   usage: bench_patch [threads]; times are microseconds, the median of several. */
#include "../tests/pressure_mesh.h"
#include "mesh/pressure.h"
#include "mesh/tetshape.h"
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

/* A soft ball as it comes from a file, about `edge` fine. */
static pressure_mesh soft_ball(double R, double E, double edge) {
    pressure_mesh m;
    sti__tetmesh t;
    sti__pressure p;
    sti_error error;
    double size[3] = {R, R, R};
    if (sti__tetmesh_shape(STI__TET_SPHERE, size, edge, NULL, &t, &error) != STI_OK) exit(1);
    if (sti__pressure_field(&t, E, NULL, NULL, (sti__place){0}, &p, &error) != STI_OK) exit(1);
    mesh_alloc(&m, t.nnode, t.ntet, t.ntri);
    memcpy(m.node, t.node, (size_t)t.nnode * 24);
    memcpy(m.pressure, p.value, (size_t)t.nnode * 8);
    memcpy(m.tet, t.tet, (size_t)t.ntet * 16);
    memcpy(m.tri, t.tri, (size_t)t.ntri * 12);
    mesh_trees(&m);
    if (!sti__soft_bvh_meet_self(&m.tets)) exit(1);
    sti__pressure_free(&p);
    sti__tetmesh_free(&t);
    return m;
}

/* The ball on a plane, held by fingers, under other balls, with itself. */
static void measure_ball(double edge, const sti_tasks *tasks) {
    pressure_mesh ball = soft_ball(0.02, 1e5, edge), other = soft_ball(0.02, 1e5, edge),
                  fine = ball_mesh(0.02, 1e7, 12, 1);
    pressure_mesh finger = cube_mesh(0.01, 1e8);
    double low[3] = {0, 0, -0.0185}, side[3] = {0.0285, 0.003, 0.001}, above[3] = {0.001, 0, 0.0385};
    double q[4] = {0.9, 0.4, 0, 0}, turned[9]; /* about the finger's normal */
    quat_normalize(q);
    quat_to_mat(turned, q);
    sti__pressure_body body[] = {mesh_body(&ball, STI__PRESSURE_SOFT, NULL, NULL),
                                 {.kind = STI__PRESSURE_PLANE, .pos = low, .mat = unit},
                                 mesh_body(&finger, STI__PRESSURE_RIGID, side, turned),
                                 mesh_body(&finger, STI__PRESSURE_COMPLIANT, side, turned),
                                 mesh_body(&fine, STI__PRESSURE_RIGID, above, turned),
                                 mesh_body(&other, STI__PRESSURE_COMPLIANT, above, turned)};
    static const char *name[6] = {
        "itself", "plane", "rigid finger", "compliant finger", "rigid ball, 2880 tri", "compliant ball"};
    printf("soft ball, R = 20 mm, pressed in by 1.5 mm: %d nodes, %d tets, and\n", ball.nnode, ball.ntet);
    for (int k = 5; k >= 0; k--) measure(name[k], body, k, 0, &ball.tets, ball.node, tasks);
    mesh_free(&ball);
    mesh_free(&other);
    mesh_free(&fine);
    mesh_free(&finger);
}

static void measure_compliant(int n, const sti_tasks *tasks) {
    pressure_mesh ball = ball_mesh(0.02, 1e7, n, 1);
    double at[3] = {0, 0, 0.0185};
    sti__pressure_body body[] = {{.kind = STI__PRESSURE_PLANE, .pos = origin, .mat = unit},
                                 mesh_body(&ball, STI__PRESSURE_COMPLIANT, at, unit)};
    char name[64];
    snprintf(name, sizeof name, "plane, compliant ball of edge R/%d", n);
    measure(name, body, 0, 1, NULL, NULL, tasks);
    mesh_free(&ball);
}

int main(int argc, char **argv) {
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    sti_pool *pool = sti_pool_create(threads, NULL);
    sti_tasks tasks = sti_pool_tasks(pool), *with = threads > 1 ? &tasks : NULL;
    printf("%-34s %8s %8s %8s %8s %8s %9s %9s\n", "", "near", "polygons", "refit", "walk", "cut", "cuts/us",
           "poly/us");
    measure_ball(0.0049, with);
    measure_ball(0.0021, with);
    measure_compliant(4, with);
    measure_compliant(16, with);
    sti_pool_destroy(pool);
    return 0;
}
