/* SPDX-License-Identifier: Apache-2.0 */
/* Poses in, distances out: the narrow phase for comparisons from outside. Reads from stdin, in native
   numbers: int32 number of meshes; per mesh int32 number of vertices and floats; int64 number of pairs; per
   pair two shapes of int32 type, int32 mesh (-1: none), 3 sizes, 3 positions, 9 of the matrix. Writes 8
   doubles per pair: distance, normal, dist of the deepest point, normal's share of it, points, nanoseconds.
   With the argument "reference" 7 more: the distance by branch and bound, its normal, how far it can be off at
   most, within which angle our normal is a bottom of h, and the number of directions looked at. */
#include "collide_reference.h"

#include "collide/shape.h"
#include "math/rot.h"
#include "mesh/mesh.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct pose {
    int32_t type, mesh;
    double size[3], pos[3], mat[9];
} pose;

static bool get(void *to, size_t size) { return fread(to, 1, size, stdin) == size; }

static bool read_hull(sti__hull *hull) {
    int32_t n;
    if (!get(&n, sizeof n) || n < 4 || n > 100000) return false;
    float *vert = malloc((size_t)n * 3 * sizeof *vert);
    double *wide = malloc((size_t)n * 3 * sizeof *wide);
    if (!vert || !wide || !get(vert, (size_t)n * 3 * sizeof *vert)) return false;
    for (int i = 0; i < 3 * n; i++) wide[i] = (double)vert[i];
    sti__mesh mesh;
    sti_error error;
    sti__place place = {0};
    if (sti__mesh_from_lists(wide, 3 * n, NULL, 0, NULL, place, &mesh, &error) != STI_OK) return false;
    if (mesh.nhullvert == 0 && sti__mesh_hull(&mesh, 0, place, &error) != STI_OK) return false;
    void *memory = malloc(sti__hull_bytes(mesh.nhullvert, mesh.nhullface));
    return memory && sti__hull_build(vert, mesh.hull_vert, mesh.nhullvert, mesh.hull_face, mesh.nhullface,
                                     memory, hull);
}

static bool read_field(sti__hfield *field) {
    static double size[4];
    int32_t n[2];
    if (!get(n, sizeof n) || n[0] < 0 || n[1] < 0 || n[0] > 10000 || n[1] > 10000) return false;
    if (n[0] == 0) return true;
    size_t bytes = (size_t)n[0] * (size_t)n[1] * sizeof(float);
    float *height = malloc(bytes);
    *field = (sti__hfield){height, n[0], n[1], size};
    return height && get(size, sizeof size) && get(height, bytes);
}

static sti__shape shape_of(const pose *p, const sti__hull *hulls, const sti__hfield *field) {
    sti__shape s = {.type = p->type, .hull = p->mesh >= 0 ? hulls + p->mesh : NULL};
    if (s.type == STI_GEOM_HFIELD) s.hfield = field;
    for (int i = 0; i < 3; i++) s.size[i] = p->size[i], s.pos[i] = p->pos[i];
    for (int i = 0; i < 9; i++) s.mat[i] = p->mat[i];
    return s;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}

static void answer(const sti__shape *a, const sti__shape *b, double out[8]) {
    double from[3], to[3], d[3];
    sti__manifold m;
    out[0] = sti__pair_distance(a, b, a->type == STI_GEOM_HFIELD ? 0.05 : 1e3, from, to);
    v3_sub(d, to, from);
    for (int i = 0; i < 3; i++) out[1 + i] = out[0] != 0 ? d[i] / out[0] : 0;
    double start = now();
    sti__collide_pair(a, b, 0, &m);
    out[7] = now() - start;
    out[6] = m.count;
    out[4] = INFINITY;
    out[5] = 0;
    for (int i = 0; i < m.count; i++)
        if (m.point[i].dist < out[4]) out[4] = m.point[i].dist, out[5] = v3_dot(m.point[i].normal, out + 1);
}

/* what tests/collide_reference.h says */
static void refer(const sti__shape *a, const sti__shape *b, const double normal[3], double out[7]) {
    static ref_search search;
    reference r = {0};
    if (a->type <= STI_GEOM_HFIELD) {
        double n[3] = {a->mat[2], a->mat[5], a->mat[8]}, p[3];
        ref_support(b, n, -1, a->pos, p);
        r.dist = ref_dot(p, n);
        for (int i = 0; i < 3; i++) r.normal[i] = n[i];
    } else r = ref_distance(a, b, v3_norm(normal) > 0.5 ? normal : NULL, 1e-12, &search);
    out[0] = (double)r.dist;
    for (int i = 0; i < 3; i++) out[1 + i] = (double)r.normal[i];
    out[4] = (double)r.gap;
    out[5] = a->type <= STI_GEOM_HFIELD ? 0 : INFINITY;
    for (double x = 1e-2; x > 0.5e-7 && out[5] > 0 && ref_rises(a, b, normal, x); x /= 10) out[5] = x;
    out[6] = r.evaluations;
}

int main(int argc, char **argv) {
    bool reference_too = argc > 1 && strcmp(argv[1], "reference") == 0;
    int32_t nmesh;
    int64_t npair;
    if (!get(&nmesh, sizeof nmesh) || nmesh < 0 || nmesh > 10000) return 1;
    sti__hull *hulls = calloc((size_t)nmesh + 1, sizeof *hulls);
    for (int i = 0; i < nmesh; i++)
        if (!hulls || !read_hull(&hulls[i])) return 1;
    sti__hfield field = {0};
    if (!read_field(&field) || !get(&npair, sizeof npair)) return 1;
    for (int64_t k = 0; k < npair; k++) {
        pose p[2];
        double out[15];
        size_t wide = reference_too ? 15 : 8;
        if (!get(p, sizeof p)) return 1;
        sti__shape a = shape_of(&p[0], hulls, &field), b = shape_of(&p[1], hulls, &field);
        answer(&a, &b, out);
        if (reference_too) refer(&a, &b, out + 1, out + 8);
        if (fwrite(out, sizeof *out, wide, stdout) != wide) return 1;
    }
    return 0;
}
