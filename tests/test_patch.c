/* SPDX-License-Identifier: Apache-2.0 */
/* Contact of pressure fields against closed forms, all pairs of elements, and itself with other threads. */
#include "collide/patch_measure.h"
#include "failing.h"
#include "mesh/tetshape.h"
#include "pressure_mesh.h"
#include "test.h"

static const double PI = 3.14159265358979323846;
static const double unit[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
static const double origin[3] = {0, 0, 0};

static uint64_t dice = 5;
static double uniform(double low, double high) {
    dice = dice * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (double)(dice >> 11) * 0x1p-53;
}

static void random_mat(double mat[9]) {
    double q[4];
    for (int k = 0; k < 4; k++) q[k] = uniform(-1, 1);
    quat_normalize(q);
    quat_to_mat(mat, q);
}

static sti__pressure_body plane_body(const double *pos, const double *mat) {
    return (sti__pressure_body){.kind = STI__PRESSURE_PLANE, .pos = pos, .mat = mat, .id = 99};
}

/* Finds with pools that grow. */
static void find(sti__patches *p, const sti__pressure_body *body, int a, int b, const sti_tasks *tasks) {
    sti__patch_sizes need;
    sti__pressure_pair pair = {a, b};
    while (!sti__patches_find(p, body, &pair, 1, tasks, &need)) REQUIRE(sti__patches_grow(p, need));
}

static sti__patches none(void) {
    sti__patches p;
    REQUIRE(sti__patches_create(&p, (sti__patch_sizes){0}, NULL));
    return p;
}

typedef struct sum {
    double force[3], moment[3], stiffness, area;
} sum;

/* Force on body b and its moment about `about`. */
static sum add_up(const sti__patches *p, const double about[3]) {
    sum s = {0};
    for (int i = 0; i < p->npatch; i++) {
        const sti__patch *c = p->patch + i;
        double f = -c->stiffness * c->dist, arm[3], m[3];
        v3_sub(arm, c->pos, about);
        v3_cross(m, arm, c->normal);
        v3_add_scaled(s.force, c->normal, f);
        v3_add_scaled(s.moment, m, f);
        s.stiffness += c->stiffness;
        s.area += c->area;
    }
    return s;
}

/* ---- closed forms ------------------------------------------------------------------------------------------------ */

/* plane: 0 a half-space, 1 triangles, 2 triangles and the ball first */
static sum press(const pressure_mesh *ball, double R, double d, int plane, const double mat[9]) {
    pressure_mesh floor = square_mesh(2 * R, 3);
    double pos[3] = {0.01, -0.02, R - d};
    sti__pressure_body body[2] = {plane ? mesh_body(&floor, STI__PRESSURE_RIGID, origin, unit)
                                        : plane_body(origin, unit),
                                  mesh_body(ball, STI__PRESSURE_COMPLIANT, pos, mat)};
    sti__patches p = none();
    find(&p, body, plane == 2, plane != 2, NULL);
    sum s = add_up(&p, pos);
    sti__patches_free(&p);
    mesh_free(&floor);
    return s;
}

/* Nodes on the sphere: order 2. A mesh with the sphere's volume: far below 1 % at R/16. */
TEST(ball_on_a_plane) {
    static const int n[4] = {2, 4, 8, 17}; /* edges of about R/2, R/4, R/8, R/16 */
    double R = 0.05, E = 1e6, d = R / 10, want = PI * E * d * d * (1 - 2 * d / (3 * R)), before = 0, mat[9];
    double slope = 2 * PI * E * d * (1 - d / R);
    random_mat(mat);
    for (int k = 0; k < 4; k++) {
        pressure_mesh in = ball_mesh_in(R, E, n[k], 1, true), equal = ball_mesh(R, E, n[k], 1);
        sum s = press(&in, R, d, 0, mat), t = press(&equal, R, d, 0, mat);
        double error = s.force[2] / want - 1,
               order = k ? log(before / error) / log((double)n[k] / n[k - 1]) : 0;
        printf("edge %.4f R: F %+.3f %%, order %.2f, k %+.3f %%; equal volume F %+.3f %%, k %+.3f %%\n",
               1.1 / n[k], 100 * error, order, 100 * (s.stiffness / slope - 1), 100 * (t.force[2] / want - 1),
               100 * (t.stiffness / slope - 1));
        before = error;
        if (k > 1) CHECK_NEAR(order, 2, 0.15);
        if (k == 3) CHECK_NEAR(error, 0, 0.02);
        if (k == 3) CHECK_NEAR(t.force[2], want, 0.001 * want);
        if (k == 3) CHECK_NEAR(s.stiffness, slope, 0.01 * slope);
        if (k == 3) CHECK_NEAR(t.stiffness, slope, 0.001 * slope);
        CHECK_NEAR(s.force[0], 0, 1e-9 * want);
        mesh_free(&in);
        mesh_free(&equal);
    }
}

/* The meshes that geoms get, pressed on a plane by d: the volume over the area of contact of the field's height. */
static double press_shape(sti__tet_shape shape, const double size[3], double edge, double z,
                          const double mat[9], bool inscribed) {
    sti__tetmesh_options options = {.inscribed = inscribed};
    sti__tetmesh m;
    sti_error error;
    double *depth, pos[3] = {0, 0, z}, E = 1e6;
    REQUIRE(sti__tetmesh_medial(shape, size, edge, &options, &m, &depth, &error) == STI_OK);
    for (int i = 0; i < m.nnode; i++) depth[i] *= E;
    sti__soft_bvh tree;
    REQUIRE(sti__soft_bvh_create(&tree, m.node, depth, m.tet, 4, m.ntet, NULL));
    sti__pressure_body body[2] = {plane_body(origin, unit),
                                  {.kind = STI__PRESSURE_COMPLIANT,
                                   .pos = pos,
                                   .mat = mat,
                                   .node = m.node,
                                   .pressure = depth,
                                   .tet = m.tet,
                                   .tree = &tree}};
    sti__patches p = none();
    find(&p, body, 0, 1, NULL);
    double force = add_up(&p, pos).force[2];
    sti__patches_free(&p);
    sti__soft_bvh_free(&tree);
    sti__free(NULL, depth, (size_t)m.nnode * sizeof(double));
    sti__tetmesh_free(&m);
    return force;
}

TEST(shapes_of_geoms) {
    double R = 0.05, E = 1e6, d = R / 10, mat[9], half = 0.08, size[3] = {R, half, 0}, a[3] = {R, R, R};
    double ball = PI * E * d * d * (1 - 2 * d / (3 * R)), before[2][2] = {{0}};
    double q[4] = {0.3, 0.5, -0.2, 0.7};
    quat_normalize(q);
    quat_to_mat(mat, q);
    for (int n = 2; n <= 16; n *= 2) {
        double error[2][2];
        for (int k = 0; k < 4; k++)
            error[k / 2][k % 2] =
                press_shape(STI__TET_SPHERE, size, R / n, R - d, k & 1 ? mat : unit, k < 2) / ball - 1;
        printf(
            "edge R/%d: inscribed %+.2f %% on its pole, %+.2f %% turned; equal volume %+.2f %%, %+.2f %%\n",
            n, 100 * error[0][0], 100 * error[0][1], 100 * error[1][0], 100 * error[1][1]);
        for (int k = 0; k < 3 && n == 16; k++) /* turned, the error changes its sign */
            CHECK_NEAR(log(before[k / 2][k % 2] / error[k / 2][k % 2]) / log(2), 2, 0.3);
        if (n == 16) CHECK(fabs(error[1][0]) < 0.01 && fabs(error[1][1]) < 0.01);
        memcpy(before, error, sizeof before);
    }
    /* lying capsule: two half balls and a trough of width 2 w, in which the depth at y is R - sqrt(y^2 + (R - d)^2) */
    double trough = 0, w = sqrt(d * (2 * R - d)), lying[9] = {0, 0, 1, 0, 1, 0, -1, 0, 0};
    for (int i = 0; i < 4000; i++) {
        double y = w * (i + 0.5) / 4000;
        trough += 2 * w / 4000 * E * (1 - sqrt(y * y + (R - d) * (R - d)) / R) * 2 * half;
    }
    CHECK_NEAR(press_shape(STI__TET_CAPSULE, size, R / 16, R - d, lying, false), ball + trough,
               0.01 * (ball + trough));
    /* standing cylinder, taller than wide: the field falls to 0 at the rim, over d: a frustum of a cone */
    double cap = PI * d / 3 * (R * R + R * (R - d) + (R - d) * (R - d)) * E / R;
    CHECK_NEAR(press_shape(STI__TET_CYLINDER, size, R / 16, half - d, unit, false), cap, 0.002 * cap);
    /* cube: exact */
    double cube = E * (d / R) * 4 * R * R * (1 - d / R + d * d / (3 * R * R));
    CHECK_NEAR(press_shape(STI__TET_BOX, a, R / 4, R - d, unit, false), cube, 1e-11 * cube);
}

TEST(planes_and_triangles_agree) {
    double mat[9];
    random_mat(mat);
    for (int layers = 1; layers < 4; layers += 2) {
        pressure_mesh ball = ball_mesh(0.1, 1e5, 6, layers);
        sum s[3];
        for (int k = 0; k < 3; k++) s[k] = press(&ball, 0.1, 0.013, k, mat);
        for (int k = 0; k < 3; k++) {
            CHECK_NEAR(s[1].force[k], s[0].force[k], 1e-10);
            CHECK_NEAR(s[2].force[k], -s[0].force[k], 1e-10); /* the other way round acts on the floor */
            CHECK_NEAR(s[1].moment[k], s[0].moment[k], 1e-11);
        }
        CHECK_NEAR(s[1].stiffness, s[0].stiffness, 1e-8);
        CHECK_NEAR(s[1].area, s[0].area, 1e-14);
        CHECK(s[0].force[2] > 1);
        mesh_free(&ball);
    }
}

TEST(resting_depth) {
    double low = 0, high = 0.01, mat[9];
    pressure_mesh ball = ball_mesh(0.05, 1e6, 17, 1);
    random_mat(mat);
    for (int i = 0; i < 30; i++) {
        double d = 0.5 * (low + high);
        if (press(&ball, 0.05, d, 0, mat).force[2] > 2 * 9.81) high = d;
        else low = d;
    }
    CHECK_NEAR(low, 2.543e-3, 0.002 * 2.543e-3);
    mesh_free(&ball);
}

TEST(cube_on_a_plane) {
    double a = 0.05, E = 2e5;
    pressure_mesh cube = cube_mesh(a, E), floor = square_mesh(3 * a, 1);
    for (int turn = 0; turn < 3; turn++)
        for (int plane = 0; plane < 2; plane++)
            for (int i = 1; i <= 10; i++) {
                double d = a * i / 10.0, pos[3] = {0.02, 0.01, a - d}, q[4] = {1, 0, 0, 0.3 * turn}, mat[9];
                quat_normalize(q);
                quat_to_mat(mat, q);
                sti__pressure_body body[2] = {plane ? mesh_body(&floor, STI__PRESSURE_RIGID, origin, unit)
                                                    : plane_body(origin, unit),
                                              mesh_body(&cube, STI__PRESSURE_COMPLIANT, pos, mat)};
                sti__patches p = none();
                find(&p, body, 0, 1, NULL);
                sum s = add_up(&p, pos);
                double want = E * (d / a) * 4 * a * a * (1 - d / a + d * d / (3 * a * a));
                CHECK_NEAR(s.force[2], want, 1e-12 * want);
                CHECK_NEAR(s.area, 4 * a * a, 1e-14);
                for (int k = 0; k < 3; k++) CHECK_NEAR(s.moment[k], 0, 1e-12 * want);
                sti__patches_free(&p);
            }
    mesh_free(&cube);
    mesh_free(&floor);
}

/* Two balls, one above the other. */
static sum press_balls(int n, double R, const double E[2], double d, bool swap) {
    pressure_mesh ball[2] = {ball_mesh(R, E[0], n, 1), ball_mesh(R, E[1], n, 1)};
    double pos[2][3] = {{0, 0, 0}, {0, 0, 2 * R - d}}, mat[2][9];
    sti__pressure_body body[2];
    for (int k = 0; k < 2; k++) {
        random_mat(mat[k]);
        body[k] = mesh_body(&ball[k], STI__PRESSURE_COMPLIANT, pos[k], mat[k]);
    }
    sti__patches p = none();
    find(&p, body, swap, !swap, NULL);
    sum s = add_up(&p, origin);
    sti__patches_free(&p);
    for (int k = 0; k < 2; k++) mesh_free(&ball[k]);
    return s;
}

/* int p over the surface of equal pressure, seen from above: at distance q from the axis it is where E0 (R - r0) = E1 (R - r1) */
static double balls_force(double R, const double E[2], double d) {
    double force = 0, far = sqrt(R * R - (R - d / 2) * (R - d / 2));
    int n = 2000;
    for (int i = 0; i < n; i++) {
        double q = far * (i + 0.5) / n, h = 2 * R - d, low = 0, high = h;
        for (int k = 0; k < 60; k++) {
            double z = 0.5 * (low + high), p0 = E[0] * (1 - sqrt(q * q + z * z) / R),
                   p1 = E[1] * (1 - sqrt(q * q + (h - z) * (h - z)) / R);
            if (p0 > p1) low = z;
            else high = z;
        }
        force += 2 * PI * q * E[0] * (1 - sqrt(q * q + low * low) / R) * far / n;
    }
    return force;
}

TEST(two_balls) {
    double R = 0.1, d = 0.02;
    for (int k = 0; k < 3; k++) {
        double E[2] = {1e5, k == 0   ? 1e5
                            : k == 1 ? 4e5
                                     : 1e9},
               half = d / 2, want = balls_force(R, E, d), error[2];
        if (k == 0) CHECK_NEAR(want, PI * 1e5 * half * half * (1 - 2 * half / (3 * R)), 1e-4 * want);
        sum s[3];
        for (int i = 0; i < 2; i++) {
            s[i] = press_balls(i ? 17 : 8, R, E, d, false);
            error[i] = s[i].force[2] / want - 1;
        }
        s[2] = press_balls(8, R, E, d, true);
        printf("E %g %g: F %+.3f %% at R/8, %+.3f %% at R/16\n", E[0], E[1], 100 * error[0], 100 * error[1]);
        CHECK_NEAR(error[0], 0, 0.01);
        CHECK_NEAR(error[1], 0, 0.001);
        CHECK_NEAR(s[2].force[2], -s[0].force[2], 0.01 * want);
        /* springs in a row: dF/dd, where the surface is flat */
        double slope = (balls_force(R, E, d * 1.01) - balls_force(R, E, d * 0.99)) / (0.02 * d);
        if (k == 0) CHECK_NEAR(s[1].stiffness, slope, 0.002 * slope);
    }
}

/* ---- exactness ----------------------------------------------------------------------------------------------------- */

static void triangle_integral(double x[3][3], const double g[3], double p0, double *force, double m[3]) {
    double e[3], u[3], n[3];
    v3_sub(e, x[1], x[0]);
    v3_sub(u, x[2], x[0]);
    v3_cross(n, e, u);
    double area = v3_norm(n) / 2;
    *force = 0;
    v3_zero(m);
    for (int i = 0; i < 3; i++) {
        double mid[3];
        v3_add(mid, x[i], x[(i + 1) % 3]);
        v3_scale(mid, mid, 0.5);
        double f = area / 3 * (p0 + v3_dot(g, mid));
        *force += f;
        v3_add_scaled(m, mid, f);
    }
}

/* A field that is linear all over a mesh: force and moment on any triangle are exact, however the tets cut it. */
TEST(linear_fields_are_exact) {
    int n[3] = {4, 3, 5};
    double size[3] = {1, 1, 1}, g[3] = {300, -200, 900}, p0 = 250;
    pressure_mesh m = grid_mesh(n, size), tri;
    for (int i = 0; i < m.nnode; i++) {
        for (int k = 0; k < 3; k++) /* the inner nodes are not in rows */
            if (m.node[3 * i + k] > 0 && m.node[3 * i + k] < 1) m.node[3 * i + k] += uniform(-0.05, 0.05);
        m.pressure[i] = p0 + v3_dot(g, m.node + 3 * i);
    }
    mesh_trees(&m);
    int tests = 0;
    for (int i = 0; i < 300; i++) {
        mesh_alloc(&tri, 3, 0, 1);
        for (int k = 0; k < 9; k++) tri.node[k] = uniform(0.01, 0.99);
        tri.tri[1] = 1, tri.tri[2] = 2;
        mesh_trees(&tri);
        sti__pressure_body body[2] = {mesh_body(&tri, STI__PRESSURE_RIGID, origin, unit),
                                      mesh_body(&m, STI__PRESSURE_SOFT, NULL, NULL)};
        sti__patches p = none();
        p.options.back = -2;
        p.options.area = 0;
        find(&p, body, 0, 1, NULL);
        double x[3][3], force, first[3], node_force[3] = {0}, node_moment[3] = {0}, want[3], e[3], u[3],
                                         nn[3];
        memcpy(x, tri.node, sizeof x);
        triangle_integral(x, g, p0, &force, first);
        v3_sub(e, x[1], x[0]);
        v3_sub(u, x[2], x[0]);
        v3_cross(nn, e, u);
        v3_normalize(nn);
        sum s = add_up(&p, origin);
        v3_cross(want, first, nn);
        for (int k = 0; k < 3; k++) CHECK_NEAR(s.force[k], force * nn[k], 1e-10);
        for (int k = 0; k < 3; k++) CHECK_NEAR(s.moment[k], want[k], 1e-10);
        /* what the nodes feel is the same force and moment */
        for (int c = 0; c < p.npatch; c++) {
            const sti__patch *q = p.patch + c;
            for (int k = 0; k < 4; k++) {
                const double *y = m.node + 3 * m.tet[4 * q->element[1] + k];
                double f = q->area * q->pressure * q->weight[1][k], mo[3];
                v3_cross(mo, y, q->normal);
                v3_add_scaled(node_force, q->normal, f);
                v3_add_scaled(node_moment, mo, f);
                CHECK(q->weight[0][k] == 0);
            }
            CHECK_NEAR(-q->dist * q->stiffness, q->area * q->pressure, 1e-12 * q->area * q->pressure);
            CHECK_NEAR(q->pressure, p0 + v3_dot(g, q->centroid), 1e-9);
            tests++;
        }
        for (int k = 0; k < 3; k++) {
            CHECK_NEAR(node_force[k], s.force[k], 1e-9);
            CHECK_NEAR(node_moment[k], s.moment[k], 1e-9);
        }
        sti__patches_free(&p);
        mesh_free(&tri);
    }
    CHECK(tests > 1000);
    mesh_free(&m);
}

/* ---- finding --------------------------------------------------------------------------------------------------------- */

/* All pairs of elements, without trees. */
static int count_all(const sti__pressure_body *a, const sti__pressure_body *b, const pressure_mesh *ma,
                     const pressure_mesh *mb, double *area) {
    sti__patch_options o = sti__patch_defaults();
    int count = 0, na = a->kind == STI__PRESSURE_RIGID ? ma->ntri : ma->ntet;
    if (a->kind != STI__PRESSURE_SOFT && b->kind != STI__PRESSURE_SOFT) o.alike = INFINITY;
    *area = 0;
    for (int i = 0; i < na; i++)
        for (int j = 0; j < mb->ntet; j++) {
            double x[4][3], y[4][3], pa[4], pb[4];
            const double *at[4] = {x[0], x[1], x[2], x[3]}, *bt[4] = {y[0], y[1], y[2], y[3]};
            const int *vb = mb->tet + 4 * j, *va = na == ma->ntet ? ma->tet + 4 * i : ma->tri + 3 * i;
            for (int k = 0; k < 4; k++) {
                m3_mul_vec(y[k], b->mat ? b->mat : unit, mb->node + 3 * vb[k]);
                if (b->pos) v3_add(y[k], y[k], b->pos);
                pb[k] = mb->pressure[vb[k]];
                if (a->kind == STI__PRESSURE_RIGID && k == 3) break;
                m3_mul_vec(x[k], a->mat ? a->mat : unit, ma->node + 3 * va[k]);
                if (a->pos) v3_add(x[k], x[k], a->pos);
                pa[k] = ma->pressure[va[k]];
            }
            sti__field_tet ta, tb;
            sti__polygon poly;
            sti__patch patch;
            if (!sti__field_tet_make(bt, vb, pb, &tb)) continue;
            bool met;
            if (a->kind == STI__PRESSURE_RIGID) met = sti__patch_triangle(at, &tb, true, &o, &poly, &patch);
            else met = sti__field_tet_make(at, va, pa, &ta) && sti__patch_tets(&ta, &tb, &o, &poly, &patch);
            count += met;
            if (met) *area += patch.area;
        }
    return count;
}

TEST(trees_lose_nothing) {
    pressure_mesh ball = ball_mesh(1, 1e5, 3, 2), other = ball_mesh(0.7, 2e5, 2, 2),
                  cube = cube_mesh(0.6, 1e5);
    int met = 0;
    for (int i = 0; i < 30; i++) {
        double pos[2][3], mat[2][9];
        for (int k = 0; k < 2; k++) {
            random_mat(mat[k]);
            for (int c = 0; c < 3; c++) pos[k][c] = uniform(-0.6, 0.6);
        }
        const pressure_mesh *mesh = i % 3 == 0 ? &other : &cube;
        sti__pressure_kind kind = i % 3 == 2 ? STI__PRESSURE_RIGID : STI__PRESSURE_COMPLIANT;
        sti__pressure_body body[2] = {mesh_body(mesh, kind, pos[0], mat[0]),
                                      mesh_body(&ball, STI__PRESSURE_COMPLIANT, pos[1], mat[1])};
        sti__patches p = none();
        find(&p, body, 0, 1, NULL);
        double area;
        int count = count_all(&body[0], &body[1], mesh, &ball, &area);
        CHECK(p.npatch == count);
        CHECK_NEAR(add_up(&p, origin).area, area, 1e-12);
        met += count;
        sti__patches_free(&p);
    }
    CHECK(met > 1000);
    mesh_free(&ball);
    mesh_free(&other);
    mesh_free(&cube);
}

/* A soft ball that is squashed and turned: refitted trees find what all pairs find. */
TEST(refitted_trees_lose_nothing) {
    pressure_mesh ball = ball_mesh(1, 1e5, 3, 2), cube = cube_mesh(0.6, 1e5);
    double *rest = malloc((size_t)ball.nnode * 24);
    memcpy(rest, ball.node, (size_t)ball.nnode * 24);
    for (int i = 0; i < 20; i++) {
        double mat[9], pos[3] = {uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)}, turn[9],
                       flat = uniform(0.3, 1.5);
        random_mat(mat);
        random_mat(turn);
        for (int k = 0; k < ball.nnode; k++) {
            double x[3] = {rest[3 * k], rest[3 * k + 1] * flat, rest[3 * k + 2] + 0.3 * rest[3 * k]};
            m3_mul_vec(ball.node + 3 * k, turn, x);
        }
        sti__soft_bvh_refit(&ball.tets, ball.node, NULL);
        sti__pressure_body body[2] = {
            mesh_body(&cube, i & 1 ? STI__PRESSURE_RIGID : STI__PRESSURE_COMPLIANT, pos, mat),
            mesh_body(&ball, STI__PRESSURE_SOFT, NULL, NULL)};
        sti__patches p = none();
        find(&p, body, 0, 1, NULL);
        double area;
        CHECK(p.npatch == count_all(&body[0], &body[1], &cube, &ball, &area));
        CHECK(p.npatch > 0);
        sti__patches_free(&p);
    }
    free(rest);
    mesh_free(&ball);
    mesh_free(&cube);
}

TEST(names_are_stable_and_different) {
    pressure_mesh ball = ball_mesh(1, 1e5, 6, 1), other = ball_mesh(1, 1e5, 6, 1);
    double pos[3] = {1.8, 0.1, 0.2};
    sti__pressure_body body[2] = {mesh_body(&ball, STI__PRESSURE_COMPLIANT, origin, unit),
                                  mesh_body(&other, STI__PRESSURE_COMPLIANT, pos, unit)};
    body[1].id = 7;
    sti__patches p = none(), q = none();
    find(&p, body, 0, 1, NULL);
    pos[0] -= 1e-9;
    find(&q, body, 0, 1, NULL);
    CHECK(p.npatch > 20);
    CHECK(p.npatch == q.npatch);
    for (int i = 0; i < p.npatch && i < q.npatch; i++) {
        CHECK(p.patch[i].feature == q.patch[i].feature);
        CHECK(p.patch[i].a == 0 && p.patch[i].b == 1);
        for (int j = 0; j < i; j++) CHECK(p.patch[i].feature != p.patch[j].feature);
    }
    sti__patches_free(&p);
    sti__patches_free(&q);
    mesh_free(&ball);
    mesh_free(&other);
}

TEST(pools_say_what_they_need) {
    pressure_mesh ball = ball_mesh(1, 1e5, 8, 1);
    double pos[3] = {0, 0, 0.9};
    sti__pressure_body body[2] = {plane_body(origin, unit),
                                  mesh_body(&ball, STI__PRESSURE_COMPLIANT, pos, unit)};
    sti__pressure_pair pair = {0, 1};
    sti__patch_sizes need;
    sti__patches p = none(), q = none();
    find(&q, body, 0, 1, NULL);
    CHECK(!sti__patches_find(&p, body, &pair, 1, NULL, &need));
    CHECK(need.candidates == q.ncandidate && p.npatch == 0);
    REQUIRE(sti__patches_grow(&p, (sti__patch_sizes){need.candidates, q.npatch - 1}));
    CHECK(!sti__patches_find(&p, body, &pair, 1, NULL, &need));
    CHECK(need.patches == q.npatch && p.npatch == 0 && need.candidates == 0);
    REQUIRE(sti__patches_grow(&p, need));
    CHECK(sti__patches_find(&p, body, &pair, 1, NULL, &need));
    CHECK(p.npatch == q.npatch && memcmp(p.patch, q.patch, (size_t)p.npatch * sizeof *p.patch) == 0);
    sti__patches_free(&p);
    sti__patches_free(&q);
    mesh_free(&ball);
}

TEST(failed_allocations_leave_nothing) {
    pressure_mesh ball = ball_mesh(1, 1e5, 2, 1);
    for (int fail = 0; fail < 3; fail++) {
        failing f = {.left = fail};
        sti_allocator allocator = {.resize = failing_resize, .context = &f};
        sti__soft_bvh tree;
        sti__patches p;
        bool made = sti__soft_bvh_create(&tree, ball.node, ball.pressure, ball.tet, 4, ball.ntet, &allocator);
        CHECK(made == (fail == 2));
        if (made) CHECK(!sti__soft_bvh_meet_self(&tree));
        f.left = 1;
        if (made) CHECK(sti__soft_bvh_meet_self(&tree));
        if (made) sti__soft_bvh_free(&tree);
        CHECK(f.live == 0);
        f.left = fail;
        made = sti__patches_create(&p, (sti__patch_sizes){10, 10}, &allocator);
        CHECK(made == (fail == 2));
        if (made) { /* a pool that cannot grow is still there */
            CHECK(!sti__patches_grow(&p, (sti__patch_sizes){20, 20}));
            CHECK(p.size.candidates == 10 && p.candidate && p.patch);
            sti__patches_free(&p);
        }
        CHECK(f.live == 0);
    }
    mesh_free(&ball);
}

TEST(threads_change_nothing) {
    pressure_mesh ball = ball_mesh(1, 1e5, 12, 3), other = ball_mesh(0.8, 3e5, 10, 3);
    double pos[2][3] = {{0, 0, 0.8}, {0.3, 0.1, 2.3}}, mat[9];
    random_mat(mat);
    sti__pressure_body body[3] = {plane_body(origin, unit),
                                  mesh_body(&ball, STI__PRESSURE_COMPLIANT, pos[0], mat),
                                  mesh_body(&other, STI__PRESSURE_COMPLIANT, pos[1], unit)};
    sti__pressure_pair pair[3] = {{0, 1}, {1, 2}, {0, 2}};
    sti__patches p, q;
    sti__patch_sizes room = {200000, 20000}, need;
    REQUIRE(sti__patches_create(&p, room, NULL) && sti__patches_create(&q, room, NULL));
    REQUIRE(sti__patches_find(&p, body, pair, 3, NULL, &need));
    CHECK(p.npatch > 500);
    sti_pool *pool = sti_pool_create(4, NULL);
    sti_tasks tasks = sti_pool_tasks(pool);
    for (int i = 0; i < 20; i++) {
        REQUIRE(sti__patches_find(&q, body, pair, 3, &tasks, &need));
        CHECK(p.npatch == q.npatch && memcmp(p.patch, q.patch, (size_t)p.npatch * sizeof *p.patch) == 0);
        for (int k = 0; k < p.npatch && k < q.npatch; k++)
            CHECK(memcmp(p.polygon[k].x, q.polygon[k].x, (size_t)p.polygon[k].count * 24) == 0);
    }
    sti_pool_destroy(pool);
    sti__patches_free(&p);
    sti__patches_free(&q);
    mesh_free(&ball);
    mesh_free(&other);
}

/* ---- fewer contacts ------------------------------------------------------------------------------------------------------- */

static sum add_contacts(const sti__patches *p, const double about[3]) {
    sti__patches q = *p;
    q.patch = p->contact;
    q.npatch = p->ncontact;
    return add_up(&q, about);
}

/* Stiffness against tilting about x and y through `about`. */
static double tilt(const sti__patch *c, int count, const double about[3]) {
    double k = 0;
    for (int i = 0; i < count; i++) {
        double x = c[i].pos[0] - about[0], y = c[i].pos[1] - about[1];
        k += c[i].stiffness * (x * x + y * y);
    }
    return k;
}

static void check_names(const sti__patches *p) {
    int merged = 0;
    for (int i = 0; i < p->ncontact; i++) {
        merged += p->contact[i].merged;
        for (int j = 0; j < i; j++) CHECK(p->contact[i].feature != p->contact[j].feature);
    }
    CHECK(merged == p->npatch);
}

/* The same of the field: the middles of the edges of every triangle of a fan. */
static double field_tilt(const sti__patches *p, const double about[3]) {
    double total = 0;
    for (int i = 0; i < p->npatch; i++)
        for (int k = 2; k < p->polygon[i].count; k++) {
            double(*x)[3] = p->polygon[i].x, *corner[3] = {x[0], x[k - 1], x[k]}, e[3], u[3], n[3];
            v3_sub(e, corner[1], corner[0]);
            v3_sub(u, corner[2], corner[0]);
            v3_cross(n, e, u);
            for (int j = 0; j < 3; j++) {
                double dx = 0.5 * (corner[j][0] + corner[(j + 1) % 3][0]) - about[0];
                double dy = 0.5 * (corner[j][1] + corner[(j + 1) % 3][1]) - about[1];
                total += p->patch[i].g * v3_norm(n) / 6 * (dx * dx + dy * dy);
            }
        }
    return total;
}

/* Three points per cell have force, moment, stiffness and tilting stiffness of the field, however large the cells. */
TEST(merged_rigid_contacts) {
    static const double cells[5] = {0.0125, 0.025, 0.05, INFINITY, 0};
    double R = 0.05, mat[9], pos[3] = {0, 0, R - R / 10}, q[4] = {0.3, 0.5, -0.2, 0.7};
    pressure_mesh ball = ball_mesh(R, 1e6, 16, 1);
    quat_normalize(q);
    quat_to_mat(mat, q);
    sti__pressure_body body[2] = {plane_body(origin, unit),
                                  mesh_body(&ball, STI__PRESSURE_COMPLIANT, pos, mat)};
    sti__patches p = none();
    for (int k = 0; k < 5; k++) {
        find(&p, body, 0, 1, NULL);
        sti__patches_merge(&p, body, cells[k]);
        sum s = add_up(&p, pos), t = add_contacts(&p, pos);
        for (int i = 0; i < 3; i++) {
            CHECK_NEAR(t.force[i], s.force[i], 1e-12 * s.force[2]);
            CHECK_NEAR(t.moment[i], s.moment[i], 1e-12 * s.force[2]);
        }
        CHECK_NEAR(t.stiffness, s.stiffness, 1e-12 * s.stiffness);
        CHECK_NEAR(t.area, s.area, 1e-12 * s.area);
        check_names(&p);
        double lost = 1 - tilt(p.contact, p.ncontact, pos) / field_tilt(&p, pos);
        printf("cell %.2f R: %d contacts of %d polygons, %.2f %% of the tilting stiffness lost\n",
               cells[k] / R, p.ncontact, p.npatch, 100 * lost);
        if (k == 3) CHECK_NEAR(lost, 0, 1e-12);
        CHECK(k == 3 ? p.ncontact == 3 : lost < 0.05);
        if (k == 4) CHECK(p.ncontact == p.npatch && p.contact[7].feature == p.patch[7].feature);
        for (int i = 0; i < p.ncontact; i++) CHECK(p.contact[i].pressure > 0 && p.contact[i].stiffness > 0);
    }
    sti__patches_free(&p);
    mesh_free(&ball);
}

/* A cube pressed in by one edge: pressure on one side, stiffness everywhere. */
TEST(merged_lopsided_contacts) {
    double a = 0.05;
    pressure_mesh cube = cube_mesh(a, 1e5);
    for (int k = 0; k < 12; k++) {
        double mat[9], q[4] = {1, 0.02 * k, 0.03 * k, 0}, pos[3] = {0.01, 0.02, a * (0.8 + 0.05 * k)};
        quat_normalize(q);
        quat_to_mat(mat, q);
        sti__pressure_body body[2] = {mesh_body(&cube, STI__PRESSURE_COMPLIANT, pos, mat),
                                      plane_body(origin, unit)};
        sti__patches p = none();
        find(&p, body, 0, 1, NULL);
        sti__patches_merge(&p, body, INFINITY);
        sum s = add_up(&p, pos), t = add_contacts(&p, pos);
        CHECK(p.npatch > 0 && p.ncontact <= 3 && s.force[2] < 0);
        for (int i = 0; i < 3; i++) {
            CHECK_NEAR(t.force[i], s.force[i], 1e-11 * fabs(s.force[2]));
            CHECK_NEAR(t.moment[i], s.moment[i], 1e-11 * fabs(s.force[2]));
        }
        for (int i = 0; i < p.ncontact; i++) CHECK(p.contact[i].pressure > 0 && p.contact[i].dist < 0);
        sti__patches_free(&p);
    }
    mesh_free(&cube);
}

/* Triangles finer than the tets of a soft body. */
TEST(merged_soft_contacts) {
    pressure_mesh ball = ball_mesh(1, 1e5, 3, 2), floor = square_mesh(2, 40);
    double pos[3] = {0.03, 0.02, -0.8};
    sti__pressure_body body[2] = {mesh_body(&floor, STI__PRESSURE_RIGID, pos, unit),
                                  mesh_body(&ball, STI__PRESSURE_SOFT, NULL, NULL)};
    sti__patches p = none();
    find(&p, body, 0, 1, NULL);
    sum s = add_up(&p, origin);
    sti__patches_merge(&p, body, 0);
    sum t = add_contacts(&p, origin);
    CHECK(p.ncontact < p.npatch / 3);
    check_names(&p);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(t.force[i], s.force[i], 1e-12 * s.force[2]);
        CHECK_NEAR(t.moment[i], s.moment[i], 1e-12 * s.force[2]);
    }
    for (int i = 0; i < p.ncontact; i++) {
        double x[3] = {0}, all = 0;
        for (int k = 0; k < 4; k++) {
            double w = p.contact[i].weight[1][k];
            CHECK(w > -1e-12);
            all += w;
            v3_add_scaled(x, ball.node + 3 * ball.tet[4 * p.contact[i].element[1] + k], w);
        }
        CHECK_NEAR(all, 1, 1e-12);
        for (int k = 0; k < 3; k++) CHECK_NEAR(x[k], p.contact[i].pos[k], 1e-12);
    }
    sti__patches_free(&p);
    mesh_free(&ball);
    mesh_free(&floor);
}

/* ---- itself ---------------------------------------------------------------------------------------------------------- */

/* A bar from x = 0 to 4, folded at its middle so that its ends overlap by d. */
static void fold(pressure_mesh *bar, const double *rest, double d) {
    for (int i = 0; i < bar->nnode; i++) {
        const double *x = rest + 3 * i;
        double *y = bar->node + 3 * i, s = x[0] - 1.5;
        v3_copy(y, x);
        if (x[0] <= 1.5) continue;
        if (x[0] < 2.5) { /* half a turn about the line z = 1.5 */
            double c = cos(PI * s), w = sin(PI * s), r = 1.5 - x[2];
            y[0] = 1.5 + r * w * 1.2;
            y[2] = 1.5 - r * c;
        } else {
            y[0] = 4 - x[0];
            y[2] = 3 - x[2];
        }
        /* the upper arm comes down */
        if (x[0] >= 2.5) y[2] -= 1 + d;
    }
}

/* All pairs of tets whose boxes at rest are apart. */
static int count_self(const pressure_mesh *m, const double *rest) {
    sti__patch_options o = sti__patch_defaults();
    int count = 0;
    for (int i = 0; i < m->ntet; i++)
        for (int j = 0; j < i; j++) {
            double pa[4], pb[4], gap = -1;
            const double *x[4], *y[4];
            const int *va = m->tet + 4 * i, *vb = m->tet + 4 * j;
            for (int k = 0; k < 4; k++) {
                x[k] = m->node + 3 * va[k], y[k] = m->node + 3 * vb[k];
                pa[k] = m->pressure[va[k]], pb[k] = m->pressure[vb[k]];
            }
            for (int c = 0; c < 3; c++) {
                double low[2] = {1e9, 1e9}, high[2] = {-1e9, -1e9};
                for (int k = 0; k < 8; k++) {
                    double at = rest[3 * (k < 4 ? va[k] : vb[k - 4]) + c];
                    low[k / 4] = fmin(low[k / 4], at), high[k / 4] = fmax(high[k / 4], at);
                }
                gap = fmax(gap, fmax(low[0] - high[1], low[1] - high[0]));
            }
            sti__field_tet a, b;
            sti__polygon poly;
            sti__patch patch;
            if (gap < 1e-9 || !sti__field_tet_make(x, va, pa, &a) || !sti__field_tet_make(y, vb, pb, &b))
                continue;
            count += sti__patch_tets(&a, &b, &o, &poly, &patch);
        }
    return count;
}

TEST(a_soft_body_touches_itself) {
    int n[3] = {16, 4, 4};
    double size[3] = {4, 1, 1};
    pressure_mesh bar = grid_mesh(n, size);
    for (int i = 0; i < bar.nnode; i++) {
        double *x = bar.node + 3 * i,
               depth = fmin(fmin(x[0], 4 - x[0]), fmin(fmin(x[1], 1 - x[1]), fmin(x[2], 1 - x[2])));
        bar.pressure[i] = depth > 0 ? 1e4 * depth * uniform(0.95, 1.05) : 0;
        for (int k = 0; k < 3; k++)
            x[k] += uniform(-0.01, 0.01); /* no plane along faces: there the order of two tets counts */
    }
    mesh_trees(&bar);
    REQUIRE(sti__soft_bvh_meet_self(&bar.tets));
    double *rest = malloc((size_t)bar.nnode * 24);
    memcpy(rest, bar.node, (size_t)bar.nnode * 24);
    sti__pressure_body body[1] = {mesh_body(&bar, STI__PRESSURE_SOFT, NULL, NULL)};
    sti__patches p = none();
    find(&p, body, 0, 0, NULL);
    CHECK(p.npatch == 0); /* at rest */
    double last = 0;
    for (int k = 1; k < 4; k++) {
        fold(&bar, rest, 0.1 * k);
        sti__soft_bvh_refit(&bar.tets, bar.node, NULL);
        find(&p, body, 0, 0, NULL);
        CHECK(p.npatch == count_self(&bar, rest));
        /* the upper arm is pushed up */
        double up = 0;
        for (int i = 0; i < p.npatch; i++) {
            const sti__patch *c = p.patch + i;
            bool above = rest[3 * bar.tet[4 * c->element[1]]] > 2;
            bool under = rest[3 * bar.tet[4 * c->element[0]]] > 2;
            if (above != under) up += c->area * c->pressure * c->normal[2] * (above ? 1 : -1);
        }
        CHECK(up > last);
        last = up;
    }
    sti__patches_free(&p);
    free(rest);
    mesh_free(&bar);
}

/* ---- signs and bad shapes ------------------------------------------------------------------------------------------------ */

/* A rigid cube pressed into a ball, at every depth: pushed out, and a deep one pushed by its front only. */
TEST(things_are_pushed_out) {
    pressure_mesh ball = ball_mesh(1, 1e5, 8, 1), cube = cube_mesh(0.2, 1);
    double mat[9];
    random_mat(mat);
    for (int k = 0; k < 12; k++) {
        double pos[3] = {0, 0, 1.1 - 0.08 * k};
        sti__pressure_body body[2] = {mesh_body(&ball, STI__PRESSURE_SOFT, NULL, NULL),
                                      mesh_body(&cube, STI__PRESSURE_RIGID, pos, unit)};
        sti__patches p = none();
        find(&p, body, 0, 1, NULL);
        sum s = add_up(&p, origin);
        CHECK(s.force[2] > 100); /* on the cube, upwards */
        sti__patches_free(&p);
    }
    mesh_free(&ball);
    mesh_free(&cube);
}

static void check_numbers(const sti__patches *p) {
    for (int i = 0; i < p->npatch; i++) {
        const sti__patch *c = p->patch + i;
        CHECK(c->area > 0 && c->pressure > 0 && c->stiffness > 0 && c->dist < 0);
        CHECK(c->area < INFINITY && c->pressure < INFINITY && c->stiffness < INFINITY && c->dist > -INFINITY);
        CHECK_NEAR(v3_norm(c->normal), 1, 1e-12);
        for (int k = 0; k < 3; k++) CHECK(fabs(c->pos[k]) < INFINITY && fabs(c->centroid[k]) < INFINITY);
    }
}

TEST(bad_bodies) {
    pressure_mesh ball = ball_mesh(1, 1e5, 4, 2), floor = square_mesh(5, 1), empty;
    mesh_alloc(&empty, 1, 0, 0);
    mesh_trees(&empty);
    double pos[3] = {0, 0, 0.2};
    sti__pressure_body body[3] = {mesh_body(&ball, STI__PRESSURE_SOFT, NULL, NULL),
                                  mesh_body(&floor, STI__PRESSURE_RIGID, pos, unit),
                                  mesh_body(&empty, STI__PRESSURE_SOFT, NULL, NULL)};
    sti__patches p = none();
    REQUIRE(sti__soft_bvh_meet_self(&ball.tets));
    for (int i = 0; i < 200; i++) { /* nodes fall into one another, run away and are no numbers */
        int k = (int)uniform(0, 3 * ball.nnode);
        ball.node[k] = i % 4 == 0   ? NAN
                       : i % 4 == 1 ? INFINITY
                       : i % 4 == 2 ? ball.node[(k + 3) % (3 * ball.nnode)]
                                    : 1e30;
        sti__soft_bvh_refit(&ball.tets, ball.node, NULL);
        find(&p, body, 0, 1, NULL);
        check_numbers(&p);
        find(&p, body, 0, 0, NULL);
        check_numbers(&p);
    }
    find(&p, body, 0, 2, NULL);
    CHECK(p.npatch == 0);
    find(&p, body, 2, 2, NULL);
    CHECK(p.npatch == 0);
    find(&p, body, 1, 1, NULL);
    CHECK(p.npatch == 0);
    sti__patches_free(&p);
    mesh_free(&ball);
    mesh_free(&floor);
    mesh_free(&empty);
}

/* The same pressure everywhere: no gradient, but a force, carried by a spring that is soft and not zero. */
TEST(constant_pressure_carries_force) {
    int n[3] = {2, 2, 2};
    double size[3] = {1, 1, 1}, at[3] = {0, 0, 0.3};
    pressure_mesh m = grid_mesh(n, size);
    for (int i = 0; i < m.nnode; i++) m.pressure[i] = 1000;
    mesh_trees(&m);
    sti__pressure_body body[2] = {plane_body(at, unit), mesh_body(&m, STI__PRESSURE_SOFT, NULL, NULL)};
    sti__patches p = none();
    find(&p, body, 0, 1, NULL);
    check_numbers(&p);
    CHECK_NEAR(add_up(&p, origin).force[2], 1000, 1e-9);
    sti__patches_free(&p);
    mesh_free(&m);
}

MAIN(CASE(ball_on_a_plane), CASE(shapes_of_geoms), CASE(planes_and_triangles_agree), CASE(resting_depth),
     CASE(cube_on_a_plane), CASE(two_balls), CASE(linear_fields_are_exact), CASE(trees_lose_nothing),
     CASE(refitted_trees_lose_nothing), CASE(names_are_stable_and_different), CASE(pools_say_what_they_need),
     CASE(failed_allocations_leave_nothing), CASE(threads_change_nothing), CASE(merged_rigid_contacts),
     CASE(merged_lopsided_contacts), CASE(merged_soft_contacts), CASE(a_soft_body_touches_itself),
     CASE(things_are_pushed_out), CASE(bad_bodies), CASE(constant_pressure_carries_force))
