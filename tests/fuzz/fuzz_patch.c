/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as tets, triangles and planes, degenerate on purpose: polygons keep their bounds, contacts are finite and push. */
#include "collide/patch_measure.h"
#include <math.h>
#include <string.h>

typedef struct source {
    const uint8_t *at, *end;
} source;

static unsigned byte(source *s) { return s->at < s->end ? *s->at++ : 0; }

/* one of the numbers that hurt, or any in -2..2 */
static double number(source *s) {
    static const double special[] = {0,    1,     -1,        0.5,   -0.5,  0.25,     1e-3, 1e-6,
                                     1e-9, 1e-12, 1 + 1e-15, 1e-15, 1e-30, 1e-160,   1e3,  1e6,
                                     1e9,  2,     0.1,       -0.1,  1e160, 1 - 1e-15};
    unsigned b = byte(s);
    if (b < 180) return special[b % STI__COUNT(special)];
    unsigned x = byte(s) << 8;
    return ((double)(x | byte(s)) / 65535 - 0.5) * 4;
}

/* points, some of them the same as earlier ones or between them */
static void points(source *s, double (*x)[3], int n, const double (*old)[3], int nold) {
    for (int i = 0; i < n; i++) {
        unsigned kind = byte(s);
        for (int k = 0; k < 3; k++) x[i][k] = number(s);
        if (nold > 0 && kind % 4 == 1) v3_copy(x[i], old[kind / 4 % (unsigned)nold]);
        if (nold > 1 && kind % 4 == 2)
            for (int k = 0; k < 3; k++)
                x[i][k] = 0.5 * (old[kind / 4 % (unsigned)nold][k] + old[kind / 16 % (unsigned)nold][k]);
    }
}

static bool finite3(const double x[3]) { return fabs(x[0]) + fabs(x[1]) + fabs(x[2]) < INFINITY; }

static void check(const sti__polygon *p, const sti__patch *c, int most) {
    if (p->count < 3 || p->count > most) __builtin_trap();
    if (!(c->area > 0) || !(c->pressure > 0) || !(c->stiffness > 0) || !(c->dist < 0)) __builtin_trap();
    if (!(c->area < INFINITY) || !(c->stiffness < INFINITY) || !(c->dist > -INFINITY)) __builtin_trap();
    if (!finite3(c->pos) || !finite3(c->centroid) || !(fabs(v3_norm(c->normal) - 1) < 1e-9)) __builtin_trap();
}

/* Never more than the triangle has, and no more by both tets beside a face than by one. */
static void check_triangle(double t[3][3], const sti__clip_tet *tet) {
    const double *at[3] = {t[0], t[1], t[2]};
    double e[3], u[3], n[3], c[3];
    sti__polygon p;
    sti__clip_triangle(at, tet, &p);
    if (p.count > 7) __builtin_trap();
    v3_sub(e, t[1], t[0]);
    v3_sub(u, t[2], t[0]);
    v3_cross(n, e, u);
    double area = sti__polygon_centroid(&p, c, NULL), whole = v3_norm(n) / 2,
           scale = v3_dot(e, e) + v3_dot(u, u);
    if (whole < 1e100 && scale < 1e100 && !(area <= whole * (1 + 1e-9) + 1e-12 * scale)) __builtin_trap();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    source s = {data, data + size};
    double x[4][3], y[4][3], t[3][3], pa[4], pb[4], at[3], n[3];
    points(&s, x, 4, NULL, 0);
    points(&s, y, 4, (const double(*)[3])x, 4);
    points(&s, t, 3, (const double(*)[3])x, 4);
    for (int i = 0; i < 4; i++) pa[i] = fabs(number(&s)), pb[i] = fabs(number(&s));
    points(&s, &at, 1, (const double(*)[3])x, 4);
    points(&s, &n, 1, NULL, 0);
    const double *xa[4] = {x[0], x[1], x[2], x[3]}, *xb[4] = {y[0], y[1], y[2], y[3]},
                 *xt[3] = {t[0], t[1], t[2]};
    int na[4] = {3, 1, 0, 2}, nb[4] = {1, 3, 2, 9};
    sti__field_tet a, b;
    sti__polygon p;
    sti__patch c;
    sti__patch_options o = sti__patch_defaults();
    bool good_a = sti__field_tet_make(xa, na, pa, &a), good_b = sti__field_tet_make(xb, nb, pb, &b);
    if (good_a) check_triangle(t, &a.tet);
    if (good_a && sti__patch_triangle(xt, &a, byte(&s) & 1, &o, &p, &c)) check(&p, &c, 7);
    if (good_a && good_b && sti__patch_tets(&a, &b, &o, &p, &c)) check(&p, &c, 8);
    double length = v3_norm(n);
    if (!good_b || !(length > 1e-100) || !(length < 1e100)) return 0;
    v3_scale(n, n, 1 / length);
    if (sti__patch_plane(at, n, &b, byte(&s) & 1, &o, &p, &c)) check(&p, &c, 4);
    return 0;
}
