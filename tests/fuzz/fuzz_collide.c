/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as two shapes, sizes and poses degenerate on purpose: the narrow phase ends, and says only finite
 * things. */
#include "collide/shape.h"
#include "math/rot.h"
#include <math.h>
#include <string.h>

typedef struct source {
    const uint8_t *at, *end;
} source;

static unsigned byte(source *s) { return s->at < s->end ? *s->at++ : 0; }

/* one of the numbers that hurt, or any in -2..2 */
static double number(source *s) {
    static const double special[] = {0,     1,     -1,     0.5, -0.5, 0.25, 1e-3, 1e-6, 1e-9, 1e-12,
                                     1e-15, 1e-30, 1e-160, 1e3, 1e6,  1e9,  2,    0.1,  -0.1, 1e-4};
    unsigned b = byte(s);
    if (b < 160) return special[b % STI__COUNT(special)];
    unsigned x = byte(s) << 8;
    return ((double)(x | byte(s)) / 65535 - 0.5) * 4;
}

static void pose(source *s, sti__shape *p) {
    double q[4];
    for (int i = 0; i < 3; i++) p->pos[i] = number(s);
    for (int i = 0; i < 4; i++) q[i] = number(s);
    for (int i = 0; i < 4; i++) q[i] = fmin(fmax(q[i], -1e3), 1e3);
    quat_normalize(q);
    quat_to_mat(p->mat, q);
}

typedef struct extra {
    float vert[60], height[12];
    double size[4], memory[1024];
    sti__hull hull;
    sti__hfield field;
} extra;

static const int tetrahedron[12] = {0, 2, 1, 0, 1, 3, 1, 2, 3, 2, 0, 3};
static const int cube[36] = {0, 2, 1, 1, 2, 3, 4, 5, 6, 5, 7, 6, 0, 1, 4, 1, 5, 4,
                             2, 6, 3, 3, 6, 7, 0, 4, 2, 2, 4, 6, 1, 3, 5, 3, 7, 5};
static const int all[20] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};

/* a drum with ten sides, large enough for hulls to be climbed */
static void drum(sti__shape *p, extra *e, const double size[3]) {
    int face[108], *f = face;
    for (int i = 0; i < 20; i++) {
        double angle = i % 10 * 0.62831853071795865;
        e->vert[3 * i] = (float)(size[0] * cos(angle));
        e->vert[3 * i + 1] = (float)(size[1] * sin(angle));
        e->vert[3 * i + 2] = (float)(i < 10 ? -size[2] : size[2]);
    }
    for (int i = 0; i < 10; i++, f += 6) {
        int j = (i + 1) % 10, side[6] = {i, j, 10 + j, i, 10 + j, 10 + i};
        memcpy(f, side, sizeof side);
    }
    for (int i = 1; i < 9; i++, f += 6) {
        int caps[6] = {0, i + 1, i, 10, 10 + i, 11 + i};
        memcpy(f, caps, sizeof caps);
    }
    if (sti__hull_bytes(20, 36) > sizeof e->memory) __builtin_trap();
    if (sti__hull_build(e->vert, all, 20, face, 36, e->memory, &e->hull)) p->hull = &e->hull;
}

static void hull(source *s, sti__shape *p, extra *e) {
    unsigned kind = byte(s);
    bool box = kind & 1;
    double size[3] = {fabs(number(s)), fabs(number(s)), fabs(number(s))};
    if (kind % 3 == 0) {
        drum(p, e, size);
        return;
    }
    int n = box ? 8 : 4;
    for (int i = 0; i < 3 * n; i++)
        e->vert[i] = box ? (float)(i / 3 >> i % 3 & 1 ? size[i % 3] : -size[i % 3]) : (float)number(s);
    if (sti__hull_bytes(n, box ? 12 : 4) > sizeof e->memory) __builtin_trap();
    if (sti__hull_build(e->vert, all, n, box ? cube : tetrahedron, box ? 12 : 4, e->memory, &e->hull))
        p->hull = &e->hull;
}

static void field(source *s, sti__shape *p, extra *e) {
    for (int i = 0; i < 12; i++) e->height[i] = (float)byte(s) / 255;
    for (int i = 0; i < 4; i++) e->size[i] = fabs(number(s));
    e->field = (sti__hfield){e->height, 3, 4, e->size};
    p->hfield = &e->field;
}

static sti__shape shape(source *s, extra *e) {
    sti__shape p = {.type = (int)(byte(s) % 8)};
    pose(s, &p);
    for (int i = 0; i < 3; i++) p.size[i] = fabs(number(s));
    if (p.type == STI_GEOM_MESH) hull(s, &p, e);
    if (p.type == STI_GEOM_HFIELD) field(s, &p, e);
    return p;
}

static void check(const sti__manifold *m, double margin) {
    if (m->count < 0 || m->count > STI__HFIELD_MAX) __builtin_trap();
    for (int i = 0; i < m->count; i++) {
        const sti__point *p = &m->point[i];
        double sum = p->pos[0] + p->pos[1] + p->pos[2];
        if (!(fabs(v3_norm(p->normal) - 1) < 1e-6) || !(p->dist < margin) || !(fabs(sum) < INFINITY))
            __builtin_trap();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    source s = {data, data + size};
    static extra ea, eb;
    sti__shape a = shape(&s, &ea), b = shape(&s, &eb);
    if (byte(&s) & 1) memcpy(b.mat, a.mat, sizeof b.mat);
    if (byte(&s) & 1) memcpy(b.pos, a.pos, sizeof b.pos);
    double margin = number(&s), from[3], to[3], n[3], v[3] = {number(&s), number(&s), number(&s)};
    sti__manifold m;
    sti__collide_pair(&a, &b, margin, &m);
    check(&m, margin);
    double d = sti__pair_distance(&a, &b, 10, from, to);
    if (!(fabs(d) < INFINITY)) __builtin_trap();
    if (d < 10 && !(fabs(from[0] + from[1] + from[2] + to[0] + to[1] + to[2]) < INFINITY)) __builtin_trap();
    double x = sti__ray_shape(&a, b.pos, v, n);
    if (!(x == -1 || x >= 0) || !(x < INFINITY)) __builtin_trap();
    double lo[3], hi[3];
    sti__shape_bounds(&a, 0.1, lo, hi);
    for (int i = 0; i < 3; i++)
        if (!(lo[i] <= hi[i])) __builtin_trap();
    return 0;
}
