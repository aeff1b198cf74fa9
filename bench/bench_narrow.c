/* SPDX-License-Identifier: Apache-2.0 */
/* Narrow phase: nanoseconds per pair, for shapes that touch by a tenth of a millimetre, that rest face to
   face, and that just miss each other. Meshes have 50 vertices.

   usage: bench_narrow [text [rounds]]; only pairs whose name contains text; the best of so many rounds */
#include "collide/shape.h"
#include "math/rot.h"
#include "mesh/mesh.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PAIRS = 1024 };

static uint64_t dice = 1;
static double uniform(double low, double high) {
    dice = dice * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (double)(dice >> 11) * 0x1p-53;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static bool make_hull(sti__hull *hull) {
    double v[150];
    static float f[150];
    sti__mesh mesh;
    sti_error error;
    sti__place place = {0};
    for (int i = 0; i < 50; i++) {
        for (int k = 0; k < 3; k++) v[3 * i + k] = uniform(-1, 1);
        v3_normalize(v + 3 * i);
        v3_scale(v + 3 * i, v + 3 * i, 0.1);
    }
    for (int i = 0; i < 150; i++) v[i] = (double)(f[i] = (float)v[i]);
    if (sti__mesh_from_lists(v, 150, NULL, 0, NULL, place, &mesh, &error) != STI_OK) return false;
    if (mesh.nhullvert == 0 && sti__mesh_hull(&mesh, 0, place, &error) != STI_OK) return false;
    void *memory = malloc(sti__hull_bytes(mesh.nhullvert, mesh.nhullface));
    return memory &&
           sti__hull_build(f, mesh.hull_vert, mesh.nhullvert, mesh.hull_face, mesh.nhullface, memory, hull);
}

static sti__shape make(int type, const sti__hull *hull) {
    sti__shape s = {
        .type = type, .size = {uniform(0.05, 0.1), uniform(0.05, 0.1), uniform(0.05, 0.1)}, .hull = hull};
    double q[4];
    for (int i = 0; i < 4; i++) q[i] = uniform(-1, 1);
    quat_normalize(q);
    quat_to_mat(s.mat, q);
    return s;
}

/* moves b until it is at dist from a */
static void approach(const sti__shape *a, sti__shape *b, double dist) {
    double d[3] = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)}, from[3], to[3];
    v3_normalize(d);
    v3_scale(b->pos, d, 1);
    double x = sti__pair_distance(a, b, 10, from, to);
    v3_sub(d, to, from);
    v3_add_scaled(b->pos, d, (dist - x) / x);
}

static const char *wanted = "";
static int rounds = 50;

static void measure(const char *name, int one, int two, const sti__hull *hull, double dist, bool flat) {
    static sti__shape a[PAIRS], b[PAIRS];
    static sti__manifold m;
    double best = INFINITY;
    int points = 0;
    if (!strstr(name, wanted)) return;
    for (int i = 0; i < PAIRS; i++) {
        a[i] = make(one, hull);
        b[i] = make(two, hull);
        approach(&a[i], &b[i], dist);
        if (!flat) continue;
        double z[3] = {a[i].mat[2], a[i].mat[5], a[i].mat[8]};
        for (int k = 0; k < 9; k++) b[i].mat[k] = a[i].mat[k];
        v3_scale(b[i].pos, z, a[i].size[2] + b[i].size[2] + dist);
        b[i].pos[0] += uniform(-1e-6, 1e-6);
    }
    for (int r = 0; r < rounds; r++) {
        double start = now();
        points = 0;
        for (int i = 0; i < PAIRS; i++) {
            sti__collide_pair(&a[i], &b[i], 0, &m);
            points += m.count;
        }
        best = fmin(best, (now() - start) / PAIRS);
    }
    printf("%-28s %7.0f ns, %.1f points\n", name, best, (double)points / PAIRS);
}

int main(int argc, char **argv) {
    static const char *const name[] = {"plane",     "hfield",   "sphere", "capsule",
                                       "ellipsoid", "cylinder", "box",    "mesh"};
    sti__hull hull;
    char text[64];
    if (argc > 1) wanted = argv[1];
    if (argc > 2) rounds = atoi(argv[2]);
    if (!make_hull(&hull)) return 1;
    for (int x = STI_GEOM_SPHERE; x <= STI_GEOM_MESH; x++)
        for (int y = x; y <= STI_GEOM_MESH; y++) {
            snprintf(text, sizeof text, "%s-%s", name[x], name[y]);
            measure(text, x, y, &hull, -1e-4, false);
        }
    measure("box-box, face to face", STI_GEOM_BOX, STI_GEOM_BOX, &hull, -1e-4, true);
    measure("box-box, apart", STI_GEOM_BOX, STI_GEOM_BOX, &hull, 1e-3, false);
    measure("mesh-mesh, apart", STI_GEOM_MESH, STI_GEOM_MESH, &hull, 1e-3, false);
    measure("capsule-box, apart", STI_GEOM_CAPSULE, STI_GEOM_BOX, &hull, 1e-3, false);
    return 0;
}
