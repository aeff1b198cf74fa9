/* SPDX-License-Identifier: Apache-2.0 */
/* The narrow phase against closed forms and against what every answer must satisfy: a signed distance is the
   largest -h(n) over unit vectors n, where h is the support function of A - B. */
#include "test.h"

#include "collide_reference.h"

#include "base/det.h"
#include "collide/shape.h"
#include "math/rot.h"
#include "mesh/mesh.h"

/* ---- helpers
 * ---------------------------------------------------------------------------------------------------- */

static uint64_t state = 88172645463325252ull;
static double uniform(double lo, double hi) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return lo + (hi - lo) * (double)(state >> 11) / 9007199254740992.0;
}

static void random_unit(double d[3]) {
    do
        for (int i = 0; i < 3; i++) d[i] = uniform(-1, 1);
    while (!(v3_norm(d) > 0.1 && v3_norm(d) < 1));
    v3_normalize(d);
}

static void random_turn(double mat[9]) {
    double q[4];
    for (int i = 0; i < 4; i++) q[i] = uniform(-1, 1);
    quat_normalize(q);
    quat_to_mat(mat, q);
}

static sti__shape shape(int type, double a, double b, double c, double x, double y, double z) {
    sti__shape s = {.type = type, .size = {a, b, c}, .pos = {x, y, z}, .mat = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    return s;
}

/* turn by angle about axis (unit) */
static void turn(sti__shape *s, double angle, double x, double y, double z) {
    double q[4] = {cos(angle / 2), x * sin(angle / 2), y * sin(angle / 2), z * sin(angle / 2)}, r[9], m[9];
    quat_to_mat(r, q);
    m3_mul(m, r, s->mat);
    memcpy(s->mat, m, sizeof m);
}

typedef struct solid {
    float *vert;
    sti__mesh mesh;
    sti__hull hull;
    void *memory;
} solid;

static solid *solid_of(const double *vert, int n) {
    solid *s = calloc(1, sizeof *s);
    sti_error error = {0};
    sti__place place = {0};
    REQUIRE(sti__mesh_from_lists(vert, 3 * n, NULL, 0, NULL, place, &s->mesh, &error) == STI_OK);
    if (s->mesh.nhullvert == 0) REQUIRE(sti__mesh_hull(&s->mesh, 0, place, &error) == STI_OK);
    s->vert = malloc((size_t)s->mesh.nvert * 3 * sizeof(float));
    for (int i = 0; i < 3 * s->mesh.nvert; i++) s->vert[i] = (float)s->mesh.vert[i];
    s->memory = malloc(sti__hull_bytes(s->mesh.nhullvert, s->mesh.nhullface));
    REQUIRE(sti__hull_build(s->vert, s->mesh.hull_vert, s->mesh.nhullvert, s->mesh.hull_face,
                            s->mesh.nhullface, s->memory, &s->hull));
    return s;
}

static solid *solid_box(double a, double b, double c) {
    double v[24];
    for (int i = 0; i < 8; i++) {
        v[3 * i] = i & 1 ? a : -a;
        v[3 * i + 1] = i & 2 ? b : -b;
        v[3 * i + 2] = i & 4 ? c : -c;
    }
    return solid_of(v, 8);
}

static solid *solid_random(int n, double size) {
    double v[600];
    for (int i = 0; i < n; i++) {
        random_unit(v + 3 * i);
        v3_scale(v + 3 * i, v + 3 * i, size * uniform(0.9, 1.1));
    }
    return solid_of(v, n);
}

static void solid_free(solid *s) {
    sti__mesh_free(&s->mesh);
    free(s->vert);
    free(s->memory);
    free(s);
}

static sti__shape mesh_shape(const solid *s, double x, double y, double z) {
    sti__shape r = shape(STI_GEOM_MESH, 0, 0, 0, x, y, z);
    r.hull = &s->hull;
    return r;
}

/* h of A - B along n */
static double width(const sti__shape *a, const sti__shape *b, const double n[3]) {
    double p[3], q[3], back[3] = {-n[0], -n[1], -n[2]};
    sti__support(a, n, p, NULL);
    sti__support(b, back, q, NULL);
    return v3_dot(n, p) - v3_dot(n, q);
}

static bool sane(const sti__manifold *m, double margin) {
    for (int i = 0; i < m->count; i++) {
        const sti__point *p = &m->point[i];
        if (!(fabs(v3_norm(p->normal) - 1) < 1e-9) || !(p->dist < margin)) return false;
        if (!isfinite(p->pos[0] + p->pos[1] + p->pos[2])) return false;
    }
    return m->count <= STI__HFIELD_MAX;
}

static const sti__point *deepest(const sti__manifold *m) {
    const sti__point *best = &m->point[0];
    for (int i = 1; i < m->count; i++)
        if (m->point[i].dist < best->dist) best = &m->point[i];
    return best;
}

/* one point at dist and pos with normal */
static void expect(const sti__shape *a, const sti__shape *b, double dist, const double pos[3],
                   const double n[3], double tolerance) {
    sti__manifold m;
    sti__collide_pair(a, b, 1, &m);
    CHECK(m.count >= 1 && sane(&m, 1));
    const sti__point *p = deepest(&m);
    CHECK_NEAR(p->dist, dist, tolerance);
    for (int i = 0; i < 3; i++) {
        if (pos) CHECK_NEAR(p->pos[i], pos[i], tolerance);
        CHECK_NEAR(p->normal[i], n[i], tolerance);
    }
    sti__collide_pair(b, a, 1, &m);
    CHECK(m.count >= 1);
    CHECK_NEAR(deepest(&m)->dist, dist, tolerance);
    for (int i = 0; i < 3; i++) CHECK_NEAR(deepest(&m)->normal[i], -n[i], tolerance);
}

/* ---- closed forms
 * -------------------------------------------------------------------------------------------------- */

TEST(planes) {
    const double up[3] = {0, 0, 1};
    sti__shape plane = shape(STI_GEOM_PLANE, 0, 0, 0, 0, 0, 0);
    sti__shape ball = shape(STI_GEOM_SPHERE, 0.1, 0, 0, 0.5, 0.2, 0.09);
    expect(&plane, &ball, -0.01, (double[]){0.5, 0.2, -0.005}, up, 1e-15);
    sti__shape egg = shape(STI_GEOM_ELLIPSOID, 0.1, 0.2, 0.3, 0, 0, 0.4);
    expect(&plane, &egg, 0.1, (double[]){0, 0, 0.05}, up, 1e-15);
    turn(&egg, 0.7, 1, 0, 0);
    expect(&plane, &egg, 0.4 - sqrt(0.04 * sin(0.7) * sin(0.7) + 0.09 * cos(0.7) * cos(0.7)), NULL, up,
           1e-15);
    sti__shape box = shape(STI_GEOM_BOX, 0.1, 0.2, 0.3, 0, 0, 0.25);
    expect(&plane, &box, -0.05, NULL, up, 1e-15);
    turn(&box, 0.3, 0, 1, 0);
    expect(&plane, &box, 0.25 - 0.1 * sin(0.3) - 0.3 * cos(0.3), NULL, up, 1e-15);
    sti__shape rod = shape(STI_GEOM_CAPSULE, 0.05, 0.2, 0, 0, 0, 0.2);
    turn(&rod, 0.4, 1, 0, 0);
    expect(&plane, &rod, 0.15 - 0.2 * cos(0.4), NULL, up, 1e-15);
    sti__shape can = shape(STI_GEOM_CYLINDER, 0.05, 0.2, 0, 0, 0, 0.2);
    turn(&can, 0.4, 1, 0, 0);
    expect(&plane, &can, 0.2 - 0.2 * cos(0.4) - 0.05 * sin(0.4), NULL, up, 1e-15);
    turn(&plane, 0.5, 1, 0, 0);
    double n[3] = {0, -sin(0.5), cos(0.5)};
    expect(&plane, &ball, v3_dot(n, ball.pos) - 0.1, NULL, n, 1e-15);
}

TEST(spheres) {
    sti__shape a = shape(STI_GEOM_SPHERE, 0.2, 0, 0, 1, 2, 3),
               b = shape(STI_GEOM_SPHERE, 0.3, 0, 0, 1.4, 2, 3);
    expect(&a, &b, -0.1, (double[]){1.15, 2, 3}, (double[]){1, 0, 0}, 1e-15);
    sti__shape rod = shape(STI_GEOM_CAPSULE, 0.1, 0.5, 0, 1.25, 2, 3.2);
    expect(&a, &rod, -0.05, (double[]){1.175, 2, 3}, (double[]){1, 0, 0}, 1e-15);
    rod.pos[2] = 3.7; /* the end's ball: distance sqrt(.25^2 + .2^2) */
    double d = sqrt(0.25 * 0.25 + 0.04);
    expect(&a, &rod, d - 0.3, NULL, (double[]){0.25 / d, 0, 0.2 / d}, 1e-15);
    sti__shape box = shape(STI_GEOM_BOX, 0.1, 0.2, 0.3, 1.25, 2, 3);
    expect(&a, &box, -0.05, (double[]){1.175, 2, 3}, (double[]){1, 0, 0}, 1e-15);
    box.pos[1] = 2.3; /* edge: 0.15 and 0.1 away */
    d = sqrt(0.15 * 0.15 + 0.01);
    expect(&a, &box, d - 0.2, NULL, (double[]){0.15 / d, 0.1 / d, 0}, 1e-14);
    box = shape(STI_GEOM_BOX, 0.1, 0.2, 0.3, 1.06, 2, 3); /* centre inside, 0.04 from the face */
    expect(&a, &box, -0.24, (double[]){1.08, 2, 3}, (double[]){1, 0, 0}, 1e-14);
    sti__shape can = shape(STI_GEOM_CYLINDER, 0.1, 0.4, 0, 1.25, 2, 3.1);
    expect(&a, &can, -0.05, (double[]){1.175, 2, 3}, (double[]){1, 0, 0}, 1e-15);
    can.pos[2] = 3.5; /* rim: 0.15 and 0.1 */
    expect(&a, &can, d - 0.2, NULL, (double[]){0.15 / d, 0, 0.1 / d}, 1e-14);
    can = shape(STI_GEOM_CYLINDER, 0.1, 0.4, 0, 1.02, 2, 3.35); /* inside, 0.05 below the lower cap */
    expect(&a, &can, -0.25, NULL, (double[]){0, 0, 1}, 1e-14);
    sti__shape egg = shape(STI_GEOM_ELLIPSOID, 0.3, 0.1, 0.1, 1.45, 2, 3);
    expect(&a, &egg, -0.05, (double[]){1.175, 2, 3}, (double[]){1, 0, 0}, 1e-9);
}

TEST(capsules) {
    sti__shape a = shape(STI_GEOM_CAPSULE, 0.1, 0.5, 0, 0, 0, 0),
               b = shape(STI_GEOM_CAPSULE, 0.2, 0.3, 0, 0.25, 0, 0.1);
    turn(&b, acos(0.0), 0, 1, 0); /* along x, its end at -0.05 */
    b.pos[0] = 0.55;
    expect(&a, &b, 0.25 - 0.3, (double[]){0.075, 0, 0.1}, (double[]){1, 0, 0}, 1e-14);
    b = shape(STI_GEOM_CAPSULE, 0.2, 0.3, 0, 0, 0.25, 0.1);
    turn(&b, 1, 0, 1, 0); /* crossing */
    expect(&a, &b, -0.05, (double[]){0, 0.075, 0.1}, (double[]){0, 1, 0}, 1e-14);
    b = shape(STI_GEOM_CAPSULE, 0.2, 0.3, 0, 0, 0.25, 0.4); /* side by side from 0.1 to 0.5 */
    sti__manifold m;
    sti__collide_pair(&a, &b, 0, &m);
    CHECK(m.count == 2 && sane(&m, 0));
    CHECK_NEAR(fabs(m.point[0].pos[2] - m.point[1].pos[2]), 0.4, 1e-14);
    CHECK_NEAR(m.point[0].dist, -0.05, 1e-15);
    CHECK_NEAR(m.point[1].dist, -0.05, 1e-15);
    b = shape(STI_GEOM_CAPSULE, 0.2, 0.3, 0, 0, 0, 0.9); /* in line: only the ends */
    expect(&a, &b, 0.4 - 0.3 - 0.3, NULL, (double[]){0, 0, 1}, 1e-14);
}

TEST(boxes) {
    sti__shape a = shape(STI_GEOM_BOX, 1, 1, 0.5, 0, 0, 0),
               b = shape(STI_GEOM_BOX, 0.2, 0.2, 0.2, 0.3, 0.1, 0.69);
    sti__manifold m;
    expect(&a, &b, -0.01, NULL, (double[]){0, 0, 1}, 1e-15);
    sti__collide_pair(&a, &b, 0, &m);
    CHECK(m.count == 4 && sane(&m, 0));
    for (int i = 0; i < m.count; i++) {
        CHECK_NEAR(m.point[i].dist, -0.01, 1e-14);
        CHECK_NEAR(m.point[i].pos[2], 0.495, 1e-14);
        CHECK_NEAR(fabs(m.point[i].pos[0] - 0.3), 0.2, 1e-14);
        CHECK_NEAR(fabs(m.point[i].pos[1] - 0.1), 0.2, 1e-14);
    }
    b = shape(STI_GEOM_BOX, 1, 1, 0.5, 0, 0, 0.99); /* eight corners of the octagon */
    turn(&b, acos(0.0) / 2, 0, 0, 1);
    sti__collide_pair(&a, &b, 0, &m);
    CHECK(m.count == 8 && sane(&m, 0));
    for (int i = 0; i < m.count; i++) {
        double x = fabs(m.point[i].pos[0]), y = fabs(m.point[i].pos[1]);
        CHECK_NEAR(fmax(x, y), 1, 1e-12);
        CHECK_NEAR(fmin(x, y), sqrt(2.0) - 1, 1e-12);
    }
    /* two edges that cross: both boxes stand on an edge */
    a = shape(STI_GEOM_BOX, 0.5, 0.5, 0.5, 0, 0, 0);
    b = shape(STI_GEOM_BOX, 0.5, 0.5, 0.5, 0, 0, sqrt(2.0) - 0.02);
    turn(&a, acos(0.0) / 2, 1, 0, 0);
    turn(&b, acos(0.0) / 2, 0, 1, 0);
    expect(&a, &b, -0.02, (double[]){0, 0, sqrt(0.5) - 0.01}, (double[]){0, 0, 1}, 1e-14);
    /* corner to corner, apart */
    a = shape(STI_GEOM_BOX, 0.5, 0.5, 0.5, 0, 0, 0);
    b = shape(STI_GEOM_BOX, 0.5, 0.5, 0.5, 1.1, 1.2, 1.3);
    double d = sqrt(0.01 + 0.04 + 0.09);
    expect(&a, &b, d, NULL, (double[]){0.1 / d, 0.2 / d, 0.3 / d}, 1e-13);
    /* on an edge along the top of the other: a line */
    a = shape(STI_GEOM_BOX, 1, 1, 0.5, 0, 0, 0);
    b = shape(STI_GEOM_BOX, 0.2, 0.2, 0.4, 0, 0, 0.5 + 0.2 * sqrt(2.0) - 0.001);
    turn(&b, acos(0.0), 0, 1, 0);
    turn(&b, acos(0.0) / 2, 1, 0, 0);
    sti__collide_pair(&a, &b, 0, &m);
    CHECK(m.count == 2 && sane(&m, 0));
    CHECK_NEAR(fabs(m.point[0].pos[0] - m.point[1].pos[0]), 0.8, 1e-12);
}

/* ---- manifolds
 * ------------------------------------------------------------------------------------------------------ */

static int touching(const sti__shape *a, const sti__shape *b, double margin) {
    sti__manifold m;
    sti__collide_pair(a, b, margin, &m);
    CHECK(sane(&m, margin));
    return m.count;
}

/* A box that leans by so little that its own face counts as the one below, while the normal is that of the slab: the points are under
   its corners, as deep as these are. */
TEST(leaning) {
    const double angle[] = {5e-4, -5e-4, 0};
    for (int k = 0; k < 3; k++) {
        double c = cos(angle[k]), s = sin(angle[k]), z = 0.299;
        sti__shape box = shape(STI_GEOM_BOX, 0.1, 0.2, 0.3, 0.05, -0.03, z),
                   slab = shape(STI_GEOM_BOX, 1, 1.5, 0.5, 0, 0, -0.5);
        turn(&box, angle[k], 0, 1, 0);
        sti__manifold m;
        sti__collide_pair(&box, &slab, 0.01, &m);
        CHECK(m.count == 4 && sane(&m, 0.01));
        for (int i = 0; i < m.count; i++) {
            double x = m.point[i].pos[0] > 0.05 ? 0.1 : -0.1, y = m.point[i].pos[1] > -0.03 ? 0.2 : -0.2;
            double depth = z - s * x - c * 0.3;
            CHECK_NEAR(m.point[i].normal[2], -1, 1e-15);
            CHECK_NEAR(m.point[i].dist, depth, 1e-12);
            CHECK_NEAR(m.point[i].pos[0], 0.05 + c * x - s * 0.3, 1e-12);
            CHECK_NEAR(m.point[i].pos[1], -0.03 + y, 1e-12);
            CHECK_NEAR(m.point[i].pos[2], depth / 2, 1e-12);
        }
    }
}

TEST(manifolds) {
    sti__shape plane = shape(STI_GEOM_PLANE, 0, 0, 0, 0, 0, 0),
               slab = shape(STI_GEOM_BOX, 1, 1, 0.5, 0, 0, -0.5);
    solid *brick = solid_box(0.1, 0.2, 0.3), *floor = solid_box(1, 1, 0.5);
    CHECK(brick->hull.nface == 6 && brick->hull.nvert == 8);
    sti__shape stone = mesh_shape(brick, 0, 0, 0.299), ground = mesh_shape(floor, 0, 0, -0.5);
    const sti__shape *under[] = {&plane, &slab, &ground};
    for (int k = 0; k < 3; k++) {
        sti__shape box = shape(STI_GEOM_BOX, 0.1, 0.2, 0.3, 0, 0, 0.299);
        CHECK(touching(under[k], &box, 0) == 4);
        CHECK(touching(under[k], &stone, 0) == 4);
        sti__shape can = shape(STI_GEOM_CYLINDER, 0.1, 0.2, 0, 0, 0, 0.199);
        CHECK(touching(under[k], &can, 0) == 8);
        turn(&can, acos(0.0), 0, 1, 0);
        can.pos[2] = 0.0999;
        CHECK(touching(under[k], &can, 0) == 2);
        sti__shape rod = shape(STI_GEOM_CAPSULE, 0.1, 0.2, 0, 0, 0, 0.099);
        turn(&rod, acos(0.0), 0, 1, 0);
        CHECK(touching(under[k], &rod, 0) == 2);
        sti__shape ball = shape(STI_GEOM_SPHERE, 0.1, 0, 0, 0, 0, 0.099);
        CHECK(touching(under[k], &ball, 0) == 1);
        sti__shape egg = shape(STI_GEOM_ELLIPSOID, 0.1, 0.2, 0.1, 0, 0, 0.099);
        CHECK(touching(under[k], &egg, 0) == 1);
    }
    sti__shape one = shape(STI_GEOM_CYLINDER, 0.1, 0.2, 0, 0, 0, 0),
               two = shape(STI_GEOM_CYLINDER, 0.1, 0.2, 0, 0.05, 0, 0.399);
    CHECK(touching(&one, &two, 0) >= 4); /* standing on each other */
    two = shape(STI_GEOM_CYLINDER, 0.1, 0.2, 0, 0.199, 0, 0.1);
    CHECK(touching(&one, &two, 0) == 2); /* side by side */
    sti__shape rod = shape(STI_GEOM_CAPSULE, 0.1, 0.2, 0, 0.199, 0, 0.1);
    CHECK(touching(&one, &rod, 0) == 2);
    solid_free(brick);
    solid_free(floor);
}

/* A body that moves by micrometres keeps its points' names. */
TEST(features) {
    double rim[64 * 3];
    for (int i = 0; i < 64; i++) {
        rim[3 * i] = 0.1 * cos(i / 2 * M_PI / 16);
        rim[3 * i + 1] = 0.1 * sin(i / 2 * M_PI / 16);
        rim[3 * i + 2] = i % 2 ? 0.3 : -0.3;
    }
    solid *brick = solid_box(0.1, 0.2, 0.3), *drum = solid_of(rim, 64);
    CHECK(drum->hull.nface == 34);
    sti__shape slab = shape(STI_GEOM_BOX, 1, 1, 0.5, 0, 0, -0.5), below[2] = {slab, slab};
    below[1].type = STI_GEOM_PLANE;
    below[1].pos[2] = 0;
    sti__shape on[5] = {shape(STI_GEOM_BOX, 0.1, 0.2, 0.3, 0.02, 0.03, 0.2999),
                        mesh_shape(brick, 0.02, 0.03, 0.2999),
                        shape(STI_GEOM_CYLINDER, 0.1, 0.3, 0, 0.02, 0.03, 0.2999),
                        shape(STI_GEOM_CAPSULE, 0.3, 0.3, 0, 0.02, 0.03, 0.2999)};
    turn(&on[3], acos(0.0), 0, 1, 0);
    on[4] = mesh_shape(drum, 0.02, 0.03, 0.2999);
    for (int k = 0; k < 10; k++) {
        sti__shape s = on[k / 2];
        sti__manifold first, m;
        turn(&s, 0.3, 0, 0, 1);
        sti__collide_pair(&below[k % 2], &s, 0.001, &first);
        for (int i = 0; i < first.count; i++)
            for (int j = 0; j < i; j++) CHECK(first.point[i].feature != first.point[j].feature);
        for (int step = 0; step < 50; step++) {
            sti__shape t = s;
            double axis[3];
            random_unit(axis);
            turn(&t, 1e-6, axis[0], axis[1], axis[2]);
            for (int i = 0; i < 3; i++) t.pos[i] += uniform(-1e-6, 1e-6);
            sti__collide_pair(&below[k % 2], &t, 0.001, &m);
            CHECK(m.count == first.count);
            for (int i = 0; i < m.count; i++) {
                int same = -1;
                for (int j = 0; j < first.count; j++)
                    if (first.point[j].feature == m.point[i].feature) same = j;
                CHECK(same >= 0);
                double d[3] = {0, 0, 0};
                if (same >= 0) v3_sub(d, first.point[same].pos, m.point[i].pos);
                CHECK(v3_norm(d) < 1e-5);
            }
        }
    }
    solid_free(brick);
    solid_free(drum);
}

/* Signed distance to the surface by formula, negative inside; near a hull's edges a little less. */
static double surface(const sti__shape *s, const double world[3]) {
    double d[3], p[3], q[3], out = 0;
    v3_sub(d, world, s->pos);
    m3_mul_vec_t(p, s->mat, d);
    double rho = sqrt(p[0] * p[0] + p[1] * p[1]), z = fabs(p[2]);
    switch (s->type) {
    case STI_GEOM_PLANE: return p[2];
    case STI_GEOM_SPHERE: return v3_norm(p) - s->size[0];
    case STI_GEOM_ELLIPSOID: /* to first order */
        for (int i = 0; i < 3; i++) q[i] = p[i] / s->size[i], d[i] = q[i] / s->size[i];
        return v3_norm(d) > 0 ? (v3_norm(q) - 1) * v3_norm(q) / v3_norm(d) : -s->size[0];
    case STI_GEOM_CAPSULE: return sqrt(rho * rho + pow(fmax(0, z - s->size[1]), 2)) - s->size[0];
    case STI_GEOM_CYLINDER: q[0] = rho - s->size[0], q[1] = z - s->size[1], q[2] = -1; break;
    case STI_GEOM_BOX:
        for (int i = 0; i < 3; i++) q[i] = fabs(p[i]) - s->size[i];
        break;
    default:
        for (int f = 0; f < s->hull->nface; f++)
            out = f == 0 ? -1 : out,
            out = fmax(out, v3_dot(s->hull->face_plane + 4 * f, p) - s->hull->face_plane[4 * f + 3]);
        return out;
    }
    for (int i = 0; i < 3; i++) out += q[i] > 0 ? q[i] * q[i] : 0;
    return out > 0 ? sqrt(out) : fmax(q[0], fmax(q[1], q[2]));
}

/* A capsule touches with the balls at its ends: the surface of the upper one is inside it, by so much. */
static double ball(const sti__shape *s, const double n[3]) {
    double d[3];
    m3_mul_vec_t(d, s->mat, n);
    return s->type == STI_GEOM_CAPSULE && fabs(d[2]) < 0.3 ? s->size[0] * (1 - sqrt(1 - d[2] * d[2])) : 0;
}

/* Every point lies on both surfaces, and the deepest is as deep as the shapes are. */
static void consistent(const sti__shape *a, const sti__shape *b, const sti__manifold *m, double tolerance) {
    for (int i = 0; i < m->count; i++) {
        const sti__point *p = &m->point[i];
        double x[3], y[3];
        v3_copy(x, p->pos);
        v3_copy(y, p->pos);
        v3_add_scaled(x, p->normal, -0.5 * p->dist);
        v3_add_scaled(y, p->normal, 0.5 * p->dist);
        CHECK_NEAR(surface(a, x), 0, tolerance + ball(a, p->normal));
        CHECK_NEAR(surface(b, y), 0, tolerance + ball(b, p->normal));
    }
}

static void trembles(const char *name, const sti__shape *a, const sti__shape *b, int points) {
    sti__manifold first, m;
    int wrong = test_failures_;
    sti__collide_pair(a, b, 0.001, &first);
    CHECK(first.count == points);
    consistent(a, b, &first, 3e-4);
    for (int i = 0; i < first.count; i++)
        for (int j = 0; j < i; j++) CHECK(first.point[i].feature != first.point[j].feature);
    for (int step = 0; step < 200; step++) {
        sti__shape t = *b;
        double axis[3];
        random_unit(axis);
        turn(&t, 1e-6, axis[0], axis[1], axis[2]);
        for (int i = 0; i < 3; i++) t.pos[i] += uniform(-1e-6, 1e-6);
        sti__collide_pair(a, &t, 0.001, &m);
        CHECK(m.count == first.count);
        consistent(a, &t, &m, 3e-4);
        for (int i = 0; i < m.count; i++) {
            int same = -1;
            for (int j = 0; j < first.count; j++)
                if (first.point[j].feature == m.point[i].feature) same = j;
            CHECK(same >= 0);
            double d[3] = {0, 0, 0};
            if (same >= 0) v3_sub(d, first.point[same].pos, m.point[i].pos);
            CHECK(v3_norm(d) < 2e-5);
        }
    }
    if (test_failures_ > wrong) fprintf(stderr, "%s: %d points\n", name, first.count);
}

/* Faces, edges and sides at rest, many of them exactly aligned: as many points as the parts have, on both
   surfaces, and the same ones with the same names while the upper body trembles. */
TEST(resting) {
    const double quarter = acos(0.0), e = 1e-5;
    double rim[64 * 3];
    for (int i = 0; i < 64; i++) {
        rim[3 * i] = 0.1 * cos(i / 2 * M_PI / 16);
        rim[3 * i + 1] = 0.1 * sin(i / 2 * M_PI / 16);
        rim[3 * i + 2] = i % 2 ? 0.1 : -0.1;
    }
    solid *brick = solid_box(0.1, 0.1, 0.1), *drum = solid_of(rim, 64);
    sti__shape plane = shape(STI_GEOM_PLANE, 0, 0, 0, 0, 0, 0.1),
               box = shape(STI_GEOM_BOX, 0.1, 0.1, 0.1, 0, 0, 0),
               slab = shape(STI_GEOM_BOX, 0.5, 0.5, 0.1, 0, 0, 0), mesh = mesh_shape(brick, 0, 0, 0),
               barrel = mesh_shape(drum, 0, 0, 0), can = shape(STI_GEOM_CYLINDER, 0.1, 0.1, 0, 0, 0, 0);
    sti__shape up = shape(STI_GEOM_BOX, 0.1, 0.1, 0.1, 0, 0, 0.2 - e);
    trembles("box on plane", &plane, &up, 4);
    trembles("box on box", &box, &up, 4);
    trembles("box on mesh", &mesh, &up, 4);
    trembles("box on slab", &slab, &up, 4);
    trembles("box on cylinder", &can, &up, 8);
    trembles("box on drum", &barrel, &up, 8);
    sti__shape half = up, turned = up, corner = up;
    half.pos[0] = 0.1;
    trembles("box on half a box", &box, &half, 4);
    trembles("box on half a mesh", &mesh, &half, 4);
    turn(&turned, quarter / 2, 0, 0, 1);
    trembles("box turned by 45 degrees", &box, &turned, 8);
    trembles("box turned on a mesh", &mesh, &turned, 8);
    corner.pos[0] = corner.pos[1] = 0.15;
    trembles("corner on corner", &box, &corner, 4);
    sti__shape stone = mesh_shape(brick, 0, 0, 0.2 - e), cask = mesh_shape(drum, 0, 0, 0.2 - e);
    trembles("mesh on plane", &plane, &stone, 4);
    trembles("mesh on box", &box, &stone, 4);
    trembles("mesh on mesh", &mesh, &stone, 4);
    trembles("drum on plane", &plane, &cask, 8);
    trembles("drum on slab", &slab, &cask, 8);
    trembles("drum on box", &box, &cask, 8);
    trembles("drum on drum", &barrel, &cask, 8);
    sti__shape tin = shape(STI_GEOM_CYLINDER, 0.1, 0.1, 0, 0, 0, 0.2 - e), other = tin;
    trembles("cylinder on plane", &plane, &tin, 8);
    trembles("cylinder on slab", &slab, &tin, 8);
    trembles("cylinder on box", &box, &tin, 8);
    trembles("cylinder on cylinder", &can, &tin, 8);
    trembles("cylinder on drum", &barrel, &tin, 8);
    turn(&other, quarter / 4, 0, 0, 1);
    trembles("cylinder turned on cylinder", &can, &other, 8);
    other = tin;
    other.pos[0] = 0.05;
    sti__manifold m;
    sti__collide_pair(&can, &other, 0.001, &m);
    trembles("cylinder beside the middle", &can, &other, m.count);
    CHECK(m.count >= 6);
    turn(&tin, quarter, 0, 1, 0);
    trembles("cylinder lying on plane", &plane, &tin, 2);
    trembles("cylinder lying on slab", &slab, &tin, 2);
    trembles("cylinder lying on box", &box, &tin, 2);
    trembles("cylinder lying on mesh", &mesh, &tin, 2);
    sti__shape rod = shape(STI_GEOM_CAPSULE, 0.1, 0.1, 0, 0, 0, 0.2 - e);
    turn(&rod, quarter, 0, 1, 0);
    trembles("capsule on plane", &plane, &rod, 2);
    trembles("capsule on slab", &slab, &rod, 2);
    trembles("capsule on box", &box, &rod, 2);
    trembles("capsule on mesh", &mesh, &rod, 2);
    rod.pos[1] = 0.1 + 0.1 * sqrt(0.5) - e; /* along an edge of the box, at 45 degrees */
    rod.pos[2] = 0.1 + 0.1 * sqrt(0.5) - e;
    trembles("capsule along an edge", &box, &rod, 2);
    trembles("capsule along a mesh's edge", &mesh, &rod, 2);
    sti__shape lying = can, bar = shape(STI_GEOM_CAPSULE, 0.1, 0.1, 0, 0, 0, 0);
    turn(&lying, quarter, 0, 1, 0);
    turn(&bar, quarter, 0, 1, 0);
    rod.pos[1] = 0;
    rod.pos[2] = 0.2 - e;
    trembles("capsule along a capsule", &bar, &rod, 2);
    trembles("capsule along a cylinder", &lying, &rod, 2);
    trembles("cylinder along a cylinder", &lying, &tin, 2);
    solid_free(brick);
    solid_free(drum);
}

/* ---- all pairs at random
 * -------------------------------------------------------------------------------------------- */

static sti__shape random_shape(int type, const solid *mesh) {
    sti__shape s = shape(type, uniform(0.05, 0.3), uniform(0.05, 0.3), uniform(0.05, 0.3), 0, 0, 0);
    if (type == STI_GEOM_MESH) s.hull = &mesh->hull;
    random_turn(s.mat);
    return s;
}

static void place_near(sti__shape *b, const sti__shape *a, double far) {
    double d[3];
    random_unit(d);
    v3_copy(b->pos, a->pos);
    v3_add_scaled(b->pos, d, uniform(0, far));
}

/* No point is there twice: it would come and go by rounding, and push twice as hard. */
static bool no_twins(const sti__manifold *m) {
    double d[3];
    for (int i = 0; i < m->count; i++)
        for (int j = 0; j < i; j++) {
            v3_sub(d, m->point[i].pos, m->point[j].pos);
            if (!(v3_norm(d) > 1e-9)) return false;
        }
    return true;
}

static int unproven;

static void certify(const sti__shape *a, const sti__shape *b) {
    double from[3], to[3], n[3], d[3];
    double dist = sti__pair_distance(a, b, 10, from, to);
    CHECK(isfinite(dist));
    v3_sub(d, to, from);
    CHECK_NEAR(v3_norm(d), fabs(dist), 1e-9);
    if (fabs(dist) < 1e-5) return;
    v3_scale(n, d, 1 / dist);
    CHECK_NEAR(-width(a, b, n), dist, 1e-9);
    static ref_search search;
    reference r = ref_distance(a, b, n, 1e-12, &search);
    unproven += !(r.gap < 1e-9); /* nearly the same in all directions */
    CHECK_NEAR(dist, r.dist, 1e-9);
    CHECK(ref_rises(a, b, n, 1e-5));
    sti__manifold m, w;
    sti__collide_pair(a, b, 0.05, &m);
    CHECK(sane(&m, 0.05));
    CHECK(no_twins(&m));
    CHECK((m.count > 0) == (dist < 0.05));
    if (m.count == 0) return;
    consistent(a, b, &m, 1e-3);
    CHECK_NEAR(deepest(&m)->dist, dist, 1e-6);
    CHECK(v3_dot(deepest(&m)->normal, n) > 1 - 1e-6);
    sti__collide_pair(b, a, 0.05, &w);
    CHECK(w.count > 0);
    if (w.count) CHECK_NEAR(deepest(&w)->dist, dist, 1e-6);
}

TEST(pairs_certified) {
    for (int round = 0; round < 40; round++) {
        solid *p = solid_random(4 + round * 3, 0.2), *q = solid_random(50, 0.25);
        for (int x = STI_GEOM_SPHERE; x <= STI_GEOM_MESH; x++)
            for (int y = x; y <= STI_GEOM_MESH; y++)
                for (int k = 0; k < 8; k++) {
                    sti__shape a = random_shape(x, p), b = random_shape(y, q);
                    place_near(&b, &a, k < 3 ? 0.2 : 0.6);
                    certify(&a, &b);
                }
        solid_free(p);
        solid_free(q);
    }
    CHECK(unproven < 7);
}

/* The same for plates, needles and what is a hundred times larger, just touching or deep inside. */
TEST(slender_certified) {
    solid *p = solid_random(12, 0.2), *q = solid_random(90, 0.25);
    for (int round = 0; round < 40; round++)
        for (int x = STI_GEOM_SPHERE; x <= STI_GEOM_MESH; x++)
            for (int y = x; y <= STI_GEOM_MESH; y++)
                for (int k = 0; k < 4; k++) {
                    sti__shape a = random_shape(x, p), b = random_shape(y, q);
                    for (int i = 0; i < 3; i++) {
                        a.size[i] = 0.3 * exp(uniform(-5, 0));
                        b.size[i] = 0.3 * exp(uniform(-5, 0));
                    }
                    double far = k < 2 ? 0.6 : 0.05, from[3], to[3], d[3];
                    place_near(&b, &a, far);
                    double dist = sti__pair_distance(&a, &b, 10, from, to);
                    v3_sub(d, to, from);
                    if (k == 0 && fabs(dist) > 1e-6) v3_add_scaled(b.pos, d, (-1e-4 - dist) / dist);
                    certify(&a, &b);
                }
    CHECK(unproven < 7);
    solid_free(p);
    solid_free(q);
}

/* The same pose elsewhere gives the same contact. */
TEST(rigid_motion) {
    solid *p = solid_random(30, 0.2);
    for (int k = 0; k < 600; k++) {
        int x = STI_GEOM_PLANE + k % 8, y = STI_GEOM_SPHERE + k / 8 % 6;
        if (x == STI_GEOM_HFIELD) continue;
        sti__shape a = random_shape(x, p), b = random_shape(y, p), c, d;
        place_near(&b, &a, 0.4);
        double r[9], t[3] = {uniform(-5, 5), uniform(-5, 5), uniform(-5, 5)}, f[12];
        random_turn(r);
        c = a;
        d = b;
        m3_mul(c.mat, r, a.mat);
        m3_mul(d.mat, r, b.mat);
        m3_mul_vec(c.pos, r, a.pos);
        m3_mul_vec(d.pos, r, b.pos);
        v3_add(c.pos, c.pos, t);
        v3_add(d.pos, d.pos, t);
        double before = sti__pair_distance(&a, &b, 10, f, f + 3),
               after = sti__pair_distance(&c, &d, 10, f + 6, f + 9);
        CHECK_NEAR(before, after, 1e-9);
        CHECK_NEAR(before, sti__pair_distance(&b, &a, 10, f, f + 3), 1e-9);
    }
    solid_free(p);
}

/* Moving b along the normal changes the distance by as much. */
TEST(slope) {
    solid *p = solid_random(30, 0.2);
    int checked = 0;
    for (int k = 0; k < 1200; k++) {
        int x = STI_GEOM_PLANE + k % 8, y = STI_GEOM_SPHERE + k / 8 % 6;
        if (x == STI_GEOM_HFIELD) continue;
        sti__shape a = random_shape(x, p), b = random_shape(y, p);
        place_near(&b, &a, 0.5);
        double from[3], to[3], n[3], e = 1e-5, plus, minus, dist = sti__pair_distance(&a, &b, 10, from, to);
        if (fabs(dist) < 1e-3) continue;
        v3_sub(n, to, from);
        v3_scale(n, n, 1 / dist);
        v3_add_scaled(b.pos, n, e);
        plus = sti__pair_distance(&a, &b, 10, from, to);
        v3_add_scaled(b.pos, n, -2 * e);
        minus = sti__pair_distance(&a, &b, 10, from, to);
        CHECK_NEAR(plus - dist, e, 1e-9);
        if (dist > 0) CHECK_NEAR(dist - minus, e, 1e-9);
        checked++;
    }
    CHECK(checked > 500);
    solid_free(p);
}

/* Same centres, sizes of zero and of kilometres, shapes that touch exactly: an answer, and no NaN. */
TEST(degenerate) {
    static const double sizes[] = {0, 1e-12, 1e-3, 1, 1e6};
    solid *p = solid_random(20, 0.2);
    for (int x = STI_GEOM_PLANE; x <= STI_GEOM_MESH; x++)
        for (int y = x; y <= STI_GEOM_MESH; y++)
            for (int k = 0; k < 400; k++) {
                sti__shape a = random_shape(x, p), b = random_shape(y, p);
                for (int i = 0; i < 3; i++) {
                    a.size[i] = sizes[(int)uniform(0, 5)];
                    b.size[i] = sizes[(int)uniform(0, 5)];
                    b.pos[i] = k % 3 == 0 ? 0 : (double)(int)uniform(-2, 2);
                }
                if (k % 2) memset(a.mat, 0, sizeof a.mat), a.mat[0] = a.mat[4] = a.mat[8] = 1;
                if (k % 4 > 1) memcpy(b.mat, a.mat, sizeof b.mat);
                sti__manifold m;
                double from[3], to[3];
                sti__collide_pair(&a, &b, 0.01, &m);
                CHECK(sane(&m, 0.01));
                CHECK(!isnan(sti__pair_distance(&a, &b, 100, from, to)));
            }
    solid_free(p);
    /* squares of this offset are subnormal */
    sti__shape ball = shape(STI_GEOM_SPHERE, 0.5, 0, 0, 0, 0, 0),
               point = shape(STI_GEOM_CYLINDER, 0, 0, 0, 1e-160, 1e-160, 1e-160);
    sti__manifold touch;
    sti__collide_pair(&ball, &point, 0, &touch);
    for (int i = 0; i < touch.count; i++) CHECK_NEAR(v3_norm(touch.point[i].normal), 1, 1e-12);
}

/* ---- height fields
 * ---------------------------------------------------------------------------------------------------- */

TEST(hfields) {
    enum { N = 11 };
    float flat[N * N] = {0}, slope[N * N];
    double size[4] = {1, 1, 1, 0.5};
    for (int i = 0; i < N * N; i++) {
        flat[i] = 0.5f;
        slope[i] = (float)(i % N) / (N - 1) * 0.5f;
    }
    sti__hfield f = {flat, N, N, size};
    sti__shape a = shape(STI_GEOM_HFIELD, 0, 0, 0, 0, 0, 0);
    a.hfield = &f;
    sti__shape ball = shape(STI_GEOM_SPHERE, 0.1, 0, 0, 0, 0, 0.599);
    sti__manifold m;
    for (int k = 0; k < 200; k++) { /* one contact wherever the ball is, straight up */
        ball.pos[0] = uniform(-0.8, 0.8);
        ball.pos[1] = uniform(-0.8, 0.8);
        sti__collide_pair(&a, &ball, 0, &m);
        CHECK(m.count >= 1 && m.count <= 2 && sane(&m, 0));
        for (int i = 0; i < m.count; i++) {
            CHECK_NEAR(m.point[i].dist, -0.001, 1e-6);
            CHECK(m.point[i].normal[2] > 1 - 1e-6);
        }
    }
    f.height = slope; /* z = 0.25 (x + 1) */
    double n[3] = {-0.25, 0, 1};
    v3_normalize(n);
    for (int k = 0; k < 100; k++) {
        ball.pos[0] = uniform(-0.8, 0.8);
        ball.pos[1] = uniform(-0.8, 0.8);
        ball.pos[2] = 0.25 * (ball.pos[0] + 1) + 0.099 / n[2];
        sti__collide_pair(&a, &ball, 0, &m);
        CHECK(m.count >= 1);
        if (m.count) CHECK_NEAR(deepest(&m)->dist, -0.001, 1e-6);
        if (m.count) CHECK(v3_dot(deepest(&m)->normal, n) > 1 - 1e-6);
    }
    f.height = flat;
    for (int k = 0; k < 60; k++) {
        sti__shape box = shape(STI_GEOM_BOX, 0.3, 0.2, 0.1, uniform(-0.4, 0.4), uniform(-0.4, 0.4), 0.599);
        turn(&box, uniform(0, 3), 0, 0, 1);
        sti__collide_pair(&a, &box, 0, &m);
        CHECK(m.count >= 4 && sane(&m, 0));
        for (int i = 0; i < m.count; i++) {
            CHECK_NEAR(m.point[i].dist, -0.001, 1e-6);
            CHECK(m.point[i].normal[2] > 1 - 1e-9);
        }
        box.pos[2] = 0.7;
        sti__collide_pair(&a, &box, 0, &m);
        CHECK(m.count == 0);
        box.pos[2] = 0.2; /* deep inside: still pushed up */
        sti__collide_pair(&a, &box, 0, &m);
        CHECK(m.count >= 1);
        for (int i = 0; i < m.count; i++) CHECK(m.point[i].normal[2] > 0.99);
    }
}

/* ---- rays
 * -----------------------------------------------------------------------------------------------------------------
 */

TEST(rays) {
    double n[3], v[3] = {0, 0, -2}, p[3] = {0.1, 0, 5};
    sti__shape s = shape(STI_GEOM_PLANE, 0, 0, 0, 0, 0, 1);
    CHECK_NEAR(sti__ray_shape(&s, p, v, n), 2, 1e-15);
    CHECK(n[2] == 1);
    p[2] = 0;
    CHECK(sti__ray_shape(&s, p, v, n) == -1);
    p[2] = 5;
    s = shape(STI_GEOM_SPHERE, 0.5, 0, 0, 0, 0, 1);
    CHECK_NEAR(sti__ray_shape(&s, p, v, n), (4 - sqrt(0.24)) / 2, 1e-14);
    CHECK_NEAR(n[0], 0.2, 1e-14);
    s = shape(STI_GEOM_CAPSULE, 0.5, 1, 0, 0, 0, 1);
    CHECK_NEAR(sti__ray_shape(&s, p, v, n), (3 - sqrt(0.24)) / 2, 1e-14);
    s = shape(STI_GEOM_CYLINDER, 0.5, 1, 0, 0, 0, 1);
    CHECK_NEAR(sti__ray_shape(&s, p, v, n), 1.5, 1e-14);
    s = shape(STI_GEOM_BOX, 0.5, 1, 0.3, 0, 0, 1);
    CHECK_NEAR(sti__ray_shape(&s, p, v, n), 3.7 / 2, 1e-14);
    s = shape(STI_GEOM_ELLIPSOID, 0.5, 1, 0.3, 0, 0, 1);
    CHECK_NEAR(sti__ray_shape(&s, p, v, n), (4 - 0.3 * sqrt(1 - 0.04)) / 2, 1e-14);
    solid *b = solid_box(0.5, 1, 0.25);
    s = mesh_shape(b, 0, 0, 1);
    CHECK_NEAR(sti__ray_shape(&s, p, v, n), 3.75 / 2, 1e-7);
    CHECK_NEAR(sti__ray_mesh(&s, b->vert, b->mesh.hull_face, b->mesh.nhullface, p, v, n), 3.75 / 2, 1e-7);
    p[2] = 1; /* from inside: where it leaves */
    CHECK_NEAR(sti__ray_shape(&s, p, v, n), 0.125, 1e-7);
    solid_free(b);
    float height[9] = {0, 0.5f, 1, 0, 0.5f, 1, 0, 0.5f, 1};
    double size[4] = {1, 1, 1, 0.5};
    sti__hfield f = {height, 3, 3, size};
    s = shape(STI_GEOM_HFIELD, 0, 0, 0, 0, 0, 0);
    s.hfield = &f;
    p[2] = 5;
    CHECK_NEAR(sti__ray_shape(&s, p, v, n), (5 - 0.55) / 2, 1e-12);
    CHECK_NEAR(n[0], -0.5 / sqrt(1.25), 1e-12);
}

/* A hit lies on the surface: the distance of a small ball there is none. */
TEST(rays_random) {
    solid *mesh = solid_random(40, 0.2);
    int hits = 0;
    for (int k = 0; k < 3000; k++) {
        int type = STI_GEOM_SPHERE + k % 6;
        sti__shape s = random_shape(type, mesh), point = shape(STI_GEOM_SPHERE, 1e-9, 0, 0, 0, 0, 0);
        double p[3], v[3], n[3], from[3], to[3];
        random_unit(p);
        v3_scale(v, p, -uniform(0.5, 2));
        for (int i = 0; i < 3; i++) v[i] += uniform(-0.3, 0.3);
        double x = sti__ray_shape(&s, p, v, n);
        if (x < 0) continue;
        hits++;
        for (int i = 0; i < 3; i++) point.pos[i] = p[i] + x * v[i];
        CHECK_NEAR(sti__pair_distance(&s, &point, 1, from, to), 0, 2e-7);
        CHECK(v3_dot(n, v) < 1e-12);
        double y = x * 0.999;
        for (int i = 0; i < 3; i++) point.pos[i] = p[i] + y * v[i];
        CHECK(sti__pair_distance(&s, &point, 1, from, to) > -1e-7);
    }
    CHECK(hits > 1000);
    solid_free(mesh);
}

TEST(bounds) {
    solid *mesh = solid_random(100, 0.2);
    for (int k = 0; k < 600; k++) {
        sti__shape s = random_shape(STI_GEOM_SPHERE + k % 6, mesh);
        double lo[3], hi[3], p[3];
        for (int i = 0; i < 3; i++) s.pos[i] = uniform(-1, 1);
        sti__shape_bounds(&s, 0, lo, hi);
        for (int i = 0; i < 3; i++) {
            double d[3] = {0, 0, 0}, slack = s.type == STI_GEOM_MESH ? 0.5 : 1e-12;
            d[i] = 1;
            sti__support(&s, d, p, NULL);
            CHECK(hi[i] > p[i] - 1e-12 && hi[i] < p[i] + slack);
            d[i] = -1;
            sti__support(&s, d, p, NULL);
            CHECK(lo[i] < p[i] + 1e-12 && lo[i] > p[i] - slack);
        }
    }
    solid_free(mesh);
}

/* Climbing gives the same as looking at every vertex; a fine sphere, whose faces are all triangles. */
/* A hull of many vertices in a plane touches with the vertices that are below it, all of them while they are few, and the deepest is
   always among them. */
TEST(below_planes) {
    double cloud[3 * 400];
    for (int i = 0; i < 400; i++) {
        random_unit(cloud + 3 * i);
        v3_scale(cloud + 3 * i, cloud + 3 * i, 0.1);
    }
    solid *s = solid_of(cloud, 400);
    sti__shape plane = shape(STI_GEOM_PLANE, 0, 0, 0, 0, 0, 0), ball = mesh_shape(s, 0, 0, 0);
    CHECK(s->hull.nvert > 300);
    for (int k = 0; k < 500; k++) {
        sti__manifold m;
        double least = INFINITY, found = INFINITY;
        int below = 0;
        random_turn(ball.mat);
        ball.pos[2] = 0.1 - 0.015 * k / 500;
        for (int i = 0; i < s->hull.nvert; i++) {
            double z = ball.pos[2] + v3_dot(ball.mat + 6, s->hull.vert + 3 * i);
            below += z < 0.001;
            least = fmin(least, z);
        }
        sti__collide_pair(&plane, &ball, 0.001, &m);
        CHECK(m.count == (below < STI__MANIFOLD_MAX ? below : STI__MANIFOLD_MAX));
        for (int i = 0; i < m.count; i++) {
            const double *v = s->hull.vert + 3 * m.point[i].feature;
            found = fmin(found, m.point[i].dist);
            CHECK_NEAR(m.point[i].dist, ball.pos[2] + v3_dot(ball.mat + 6, v), 1e-12);
        }
        if (below) CHECK_NEAR(found, least, 1e-5 * 0.2 + 1e-12);
    }
    solid_free(s);
}

TEST(climbing) {
    solid *s = solid_random(200, 1);
    sti__shape m = mesh_shape(s, 0, 0, 0);
    CHECK(s->hull.nvert > 40);
    CHECK(s->hull.nface == 2 * s->hull.nvert - 4);
    for (int k = 0; k < 1000; k++) {
        double d[3], p[3], best = -INFINITY;
        random_unit(d);
        sti__support(&m, d, p, NULL);
        for (int i = 0; i < s->hull.nvert; i++) best = fmax(best, v3_dot(s->hull.vert + 3 * i, d));
        CHECK_NEAR(v3_dot(p, d), best, 1e-15);
    }
    solid_free(s);
}

MAIN(CASE(planes), CASE(spheres), CASE(capsules), CASE(boxes), CASE(leaning), CASE(manifolds), CASE(features),
     CASE(resting), CASE(pairs_certified), CASE(slender_certified), CASE(rigid_motion), CASE(slope),
     CASE(degenerate), CASE(hfields), CASE(rays), CASE(rays_random), CASE(bounds), CASE(below_planes),
     CASE(climbing))
