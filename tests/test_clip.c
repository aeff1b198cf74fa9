/* SPDX-License-Identifier: Apache-2.0 */
/* Triangles and tets cut by tets, against hulls of intersection points; what happens on faces; integrals over polygons. */
#include "clip_reference.h"
#include "collide/polygon.h"

static const int four[4] = {0, 1, 2, 3};

static bool make(double x[4][3], const double p[4], sti__field_tet *t) {
    static const double zero[4];
    const double *at[4] = {x[0], x[1], x[2], x[3]};
    return sti__field_tet_make(at, four, p ? p : zero, t);
}

static void cut(double t[3][3], double x[4][3], sti__polygon *p) {
    const double *at[3] = {t[0], t[1], t[2]};
    sti__field_tet tet;
    p->count = 0;
    if (make(x, NULL, &tet)) sti__clip_triangle(at, &tet.tet, p);
}

static void random_points(double (*x)[3], int n, double size) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 3; k++) x[i][k] = uniform(-size, size);
}

static double volume(double x[4][3]) { return fabs(ref_det(x[0], x[1], x[2], x[3])) / 6; }

static double area_of(double t[3][3]) {
    double e[3], u[3], m[3];
    v3_sub(e, t[1], t[0]);
    v3_sub(u, t[2], t[0]);
    v3_cross(m, e, u);
    return v3_norm(m) / 2;
}

TEST(triangles_match_hulls) {
    int met = 0, most = 0;
    for (int i = 0; i < 100000; i++) {
        double x[4][3], t[3][3], c[3], r[3];
        random_points(x, 4, 1);
        random_points(t, 3, i & 1 ? 1.5 : 0.6);
        if (volume(x) < 1e-3) continue; /* the reference has tolerances */
        sti__polygon p;
        cut(t, x, &p);
        double area = sti__polygon_centroid(&p, c, NULL), want = ref_triangle(t, x, r);
        CHECK_NEAR(area, want, 1e-9);
        CHECK(p.count <= 7);
        most = p.count > most ? p.count : most;
        if (want < 1e-4) continue;
        met++;
        for (int k = 0; k < 3; k++) CHECK_NEAR(c[k], r[k], 1e-8);
    }
    CHECK(met > 10000);
    CHECK(most == 7);
}

TEST(equal_pressure_matches_hulls) {
    int met = 0, most = 0;
    for (int i = 0; i < 100000; i++) {
        double a[4][3], b[4][3], pa[4], pb[4], e[4], n[3], o[3], c[3], r[3];
        random_points(a, 4, 1);
        random_points(b, 4, 1);
        for (int k = 0; k < 4; k++) pa[k] = uniform(0, 1), pb[k] = uniform(0, 1);
        if (volume(a) < 1e-2 || volume(b) < 1e-2) continue;
        sti__field_tet ta, tb;
        REQUIRE(make(a, pa, &ta) && make(b, pb, &tb));
        sti__polygon p;
        sti__field_difference(&ta, &tb, e);
        sti__clip_pair(&ta.tet, e, &tb.tet, &p);
        REQUIRE(sti__field_normal(&ta, &tb, n));
        /* a point of the plane: where pB - pA, which grows by |grad| along n, is 0 */
        double d[3], w[4];
        v3_sub(d, tb.gradient, ta.gradient);
        ref_bary(b, a[0], w);
        double at = w[0] * pb[0] + w[1] * pb[1] + w[2] * pb[2] + w[3] * pb[3] - pa[0];
        v3_copy(o, a[0]);
        v3_add_scaled(o, n, -at / v3_norm(d));
        double area = sti__polygon_centroid(&p, c, NULL), want = ref_plane(n, o, a, b, r);
        CHECK_NEAR(area, want, 1e-8);
        CHECK(p.count <= 8);
        most = p.count > most ? p.count : most;
        if (want < 1e-3) continue;
        met++;
        for (int k = 0; k < 3; k++) CHECK_NEAR(c[k], r[k], 1e-7);
        /* pressures are equal, and the normal's direction is that in which pB - pA grows */
        double wa[4], wb[4], fa = 0, fb = 0;
        ref_bary(a, c, wa);
        ref_bary(b, c, wb);
        for (int k = 0; k < 4; k++) fa += wa[k] * pa[k], fb += wb[k] * pb[k];
        CHECK_NEAR(fa, fb, 1e-9);
        CHECK_NEAR(sti__field_at(&ta, c), fa, 1e-9);
        CHECK(v3_dot(n, tb.gradient) > v3_dot(n, ta.gradient));
    }
    CHECK(met > 3000);
    CHECK(most == 8);
}

/* Points thrown on the triangle: how many are in the tet? */
TEST(areas_match_thrown_points) {
    for (int i = 0; i < 20; i++) {
        double x[4][3], t[3][3], c[3], e[3], u[3], m[3];
        random_points(x, 4, 1);
        random_points(t, 3, 0.8);
        sti__polygon p;
        cut(t, x, &p);
        double area = sti__polygon_centroid(&p, c, NULL);
        v3_sub(e, t[1], t[0]);
        v3_sub(u, t[2], t[0]);
        v3_cross(m, e, u);
        int in = 0, n = 20000;
        for (int k = 0; k < n; k++) {
            double s = uniform(0, 1), r = uniform(0, 1), q[3];
            if (s + r > 1) s = 1 - s, r = 1 - r;
            for (int j = 0; j < 3; j++) q[j] = t[0][j] + s * e[j] + r * u[j];
            in += ref_inside(x, q, 0);
        }
        CHECK_NEAR(area, v3_norm(m) / 2 * in / n, 5 * v3_norm(m) / 2 * 0.5 / sqrt(n));
    }
}

/* ---- on the faces --------------------------------------------------------------------------------------- */

#define CELLS 3
enum { NODES = (CELLS + 1) * (CELLS + 1) * (CELLS + 1), TETS = 6 * CELLS * CELLS * CELLS };

/* a cube of 3 x 3 x 3 cells, six tets each around its diagonal */
static void grid(double (*x)[3], int (*tet)[4]) {
    static const int turn[6][3] = {{0, 1, 2}, {1, 2, 0}, {2, 0, 1}, {0, 2, 1}, {1, 0, 2}, {2, 1, 0}};
    int n = CELLS + 1, step[3] = {1, n, n * n}, m = 0;
    for (int i = 0; i < NODES; i++)
        for (int k = 0; k < 3; k++) x[i][k] = (double)(i / step[k] % n);
    for (int c = 0; c < CELLS * CELLS * CELLS; c++) {
        int at = c % CELLS + c / CELLS % CELLS * n + c / CELLS / CELLS * n * n;
        for (int k = 0; k < 6; k++) {
            int node = at;
            tet[m][0] = node;
            for (int j = 0; j < 3; j++) tet[m][j + 1] = node += step[turn[k][j]];
            m++;
        }
    }
}

static double area_in_mesh(double t[3][3], double (*x)[3], int (*tet)[4], int *pieces) {
    const double *at[3] = {t[0], t[1], t[2]};
    double sum = 0, c[3];
    *pieces = 0;
    for (int i = 0; i < TETS; i++) {
        const int *v = tet[i];
        const double *corner[4] = {x[v[0]], x[v[1]], x[v[2]], x[v[3]]};
        sti__clip_tet ct;
        sti__polygon p;
        REQUIRE(sti__clip_tet_make(corner, v, &ct));
        sti__clip_triangle(at, &ct, &p);
        double area = sti__polygon_centroid(&p, c, NULL);
        sum += area;
        *pieces += area > 0;
    }
    return sum;
}

/* Whole-numbered corners put triangles into faces, edges and corners of the mesh: every bit of area is found once. */
TEST(a_mesh_shares_a_triangle_out) {
    static double x[NODES][3];
    static int tet[TETS][4];
    int along = 0, pieces;
    grid(x, tet);
    for (int i = 0; i < 3000; i++) {
        double t[3][3];
        for (int k = 0; k < 9; k++) t[k / 3][k % 3] = floor(uniform(0, 2 * CELLS - 1)) / 2 + 0.5;
        if (i % 3 == 0) t[0][2] = t[1][2] = t[2][2] = floor(uniform(1, CELLS));
        if (i % 3 == 1)
            for (int k = 0; k < 3; k++) t[k][1] = t[k][0]; /* diagonal faces */
        double want = area_of(t);
        CHECK_NEAR(area_in_mesh(t, x, tet, &pieces), want, 1e-12);
        along += i % 3 != 2 && want > 0;
    }
    CHECK(along > 1000);
}

/* The same with a mesh that is turned: distances to faces are then noise, and shared out all the same. */
TEST(a_turned_mesh_shares_a_triangle_out) {
    static double x[NODES][3];
    static int tet[TETS][4];
    grid(x, tet);
    double q[4] = {0.8, 0.3, -0.4, 0.2}, y[3];
    quat_normalize(q);
    for (int i = 0; i < NODES; i++) {
        quat_rotate(y, q, x[i]);
        v3_copy(x[i], y);
    }
    for (int i = 0; i < 1000; i++) {
        double t[3][3];
        int pieces;
        for (int k = 0; k < 9; k++) t[k / 3][k % 3] = floor(uniform(0, CELLS + 1));
        if (i & 1) t[0][2] = t[1][2] = t[2][2] = floor(uniform(1, CELLS));
        else
            for (int k = 0; k < 3; k++) t[k][1] = 0.25 + t[k][0] * 0.5;
        for (int k = 0; k < 3; k++) {
            quat_rotate(y, q, t[k]);
            v3_copy(t[k], y);
        }
        /* on the cube's own surface rounding decides */
        double area = area_in_mesh(t, x, tet, &pieces), whole = area_of(t);
        CHECK(area <= whole + 1e-12);
        if (i & 1) CHECK_NEAR(area, whole, 1e-12 + 1e-12 * pieces);
    }
}

/* A plane through nodes is one layer, never none or two. */
TEST(a_plane_through_faces_is_found_once) {
    static double x[NODES][3];
    static int tet[TETS][4];
    grid(x, tet);
    for (int axis = 0; axis < 3; axis++)
        for (int half = 1; half < 2 * CELLS; half++) {
            double sum = 0, c[3];
            for (int i = 0; i < TETS; i++) {
                const int *v = tet[i];
                const double *corner[4] = {x[v[0]], x[v[1]], x[v[2]], x[v[3]]};
                sti__clip_tet ct;
                sti__polygon p;
                double e[4];
                REQUIRE(sti__clip_tet_make(corner, v, &ct));
                for (int k = 0; k < 4; k++) e[k] = ct.x[k][axis] - 0.5 * half;
                sti__clip_section(&ct, e, &p);
                sum += sti__polygon_centroid(&p, c, NULL);
            }
            CHECK_NEAR(sum, CELLS * CELLS, 1e-12);
        }
}

static double unit[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

/* Closed forms: section of the unit tet at height z is half of (1 - z)^2. */
TEST(inside_outside_touching) {
    sti__polygon p;
    double c[3];
    for (int i = 0; i < 20; i++) {
        double z = 0.05 * i, t[3][3] = {{-9, -9, z}, {30, -9, z}, {-9, 30, z}};
        cut(t, unit, &p);
        CHECK_NEAR(sti__polygon_centroid(&p, c, NULL), (1 - z) * (1 - z) / 2, 1e-14);
        CHECK_NEAR(c[0], (1 - z) / 3, 1e-14);
    }
    double inside[3][3] = {{0.1, 0.1, 0.1}, {0.2, 0.1, 0.15}, {0.1, 0.3, 0.1}};
    cut(inside, unit, &p);
    CHECK(p.count == 3 && memcmp(p.x, inside, sizeof inside) == 0);
    static double nothing[6][3][3] = {
        {{-9, -9, 1}, {30, -9, 1}, {-9, 30, 1}},              /* touches the top */
        {{-1, 0, -1}, {2, 0, -1}, {0.3, 0, 0}},               /* touches an edge from below */
        {{2, 0, 0}, {3, 1, 0}, {2, 2, 2}},                    /* away */
        {{-9, -9, -1e-9}, {30, -9, -1e-9}, {-9, 30, -1e-9}},  /* just below */
        {{0.5, 0.5, 0}, {1, 1, 0}, {1, 1, 1}},                /* a corner on an edge */
        {{0.2, 0.2, 0.2}, {0.2, 0.2, 0.2}, {0.2, 0.2, 0.2}}}; /* a point inside */
    for (int i = 0; i < 6; i++) {
        cut(nothing[i], unit, &p);
        CHECK_NEAR(sti__polygon_centroid(&p, c, NULL), 0, 1e-15);
    }
    /* in the plane of a face: once with the neighbour that shares it */
    double t[3][3] = {{-9, -9, 0}, {30, -9, 0}, {-9, 30, 0}}, sum = 0;
    for (int side = 0; side < 2; side++) {
        double x[4][3];
        memcpy(x, unit, sizeof x);
        x[3][2] = side ? -2 : 1;
        cut(t, x, &p);
        sum += sti__polygon_centroid(&p, c, NULL);
    }
    CHECK_NEAR(sum, 0.5, 1e-15);
}

TEST(bad_shapes_give_nothing_or_numbers) {
    static double bad[7][4][3] = {{{0}},
                                  {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {1, 1, 0}},
                                  {{0, 0, 0}, {1, 0, 0}, {2, 0, 0}, {3, 0, 0}},
                                  {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0.3, 0.3, 1e-14}},
                                  {{0, 0, 0}, {1e170, 0, 0}, {0, 1e170, 0}, {0, 0, 1e170}},
                                  {{0, 0, 0}, {NAN, 0, 0}, {0, 1, 0}, {0, 0, 1}},
                                  {{0, 0, 0}, {INFINITY, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    sti__field_tet t;
    for (int i = 0; i < 7; i++) CHECK(!make(bad[i], NULL, &t));
    /* thin, but a tet: half of its section is in each part */
    double thin[4][3] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0.3, 0.3, 1e-9}}, c[3];
    double tri[3][3] = {{-1, -1, 5e-10}, {5, -1, 5e-10}, {-1, 5, 5e-10}};
    sti__polygon p;
    cut(tri, thin, &p);
    CHECK_NEAR(sti__polygon_centroid(&p, c, NULL), 0.125, 1e-9);
    /* the same point several times, a line, and numbers that are none */
    double same[3][3] = {{0.1, 0.1, 0.1}, {0.1, 0.1, 0.1}, {0.5, 0.5, 0.5}};
    cut(same, unit, &p);
    CHECK(sti__polygon_centroid(&p, c, NULL) == 0);
    double none[3][3] = {{NAN, 0.1, 0.1}, {0.2, 0.1, 0.1}, {0.1, 0.2, INFINITY}};
    cut(none, unit, &p);
    CHECK(!(sti__polygon_centroid(&p, c, NULL) > 0));
    CHECK(p.count <= 7);
}

/* Almost flat polygons around faces: never more than seven corners, never more area than the triangle has. */
TEST(noise_keeps_the_bound) {
    for (int i = 0; i < 100000; i++) {
        double t[3][3], noise = i & 1 ? 1e-16 : 1e-12, c[3];
        for (int k = 0; k < 3; k++) {
            t[k][0] = uniform(-1, 2);
            t[k][1] = uniform(-1, 2);
            t[k][2] = uniform(-noise, noise);
            if (i & 2) t[k][2] += 1 - t[k][0] - t[k][1];
            if (i & 4) t[k][i % 3] = floor(t[k][i % 3]);
        }
        sti__polygon p;
        cut(t, unit, &p);
        double area = sti__polygon_centroid(&p, c, NULL);
        CHECK(p.count <= 7 && area <= area_of(t) * (1 + 1e-9) + 1e-15);
    }
}

/* ---- integrals ------------------------------------------------------------------------------------------- */

/* Two convex polygons, quadrature at the middles of the edges of every triangle: exact for squares. */
TEST(centre_of_pressure_is_exact) {
    for (int i = 0; i < 10000; i++) {
        double x[4][3], t[3][3], g[3], at[STI__POLYGON_MAX], c[3], cop[3], m[3] = {0}, force = 0, s[3];
        random_points(x, 4, 1);
        random_points(t, 3, 1.2);
        random_points(&g, 1, 3);
        sti__polygon p;
        cut(t, x, &p);
        double area = sti__polygon_centroid(&p, c, s);
        if (area < 1e-3) continue;
        double least = 0;
        for (int k = 0; k < p.count; k++) least = fmin(least, v3_dot(g, p.x[k]));
        for (int k = 0; k < p.count; k++) at[k] = v3_dot(g, p.x[k]) - least;
        for (int k = 0; k < p.count; k++) {
            const double *a = p.x[k], *b = p.x[(k + 1) % p.count];
            double tri[3][3] = {{c[0], c[1], c[2]}, {a[0], a[1], a[2]}, {b[0], b[1], b[2]}};
            for (int j = 0; j < 3; j++) {
                double mid[3];
                v3_add(mid, tri[j], tri[(j + 1) % 3]);
                v3_scale(mid, mid, 0.5);
                double f = (v3_dot(g, mid) - least) * area_of(tri) / 3;
                force += f;
                v3_add_scaled(m, mid, f);
            }
        }
        double sum = sti__polygon_centre(&p, at, cop);
        CHECK_NEAR(sum, force, 1e-12 * force);
        CHECK_NEAR(sum, area * (v3_dot(g, c) - least), 1e-12 * force);
        for (int k = 0; k < 3; k++) CHECK_NEAR(cop[k], m[k] / force, 1e-9);
        CHECK_NEAR(v3_norm(s), area, 1e-15);
    }
    /* no pressure: the middle */
    sti__polygon p = {.count = 3, .x = {{0, 0, 0}, {3, 0, 0}, {0, 3, 0}}};
    double zero[3] = {0}, cop[3];
    CHECK(sti__polygon_centre(&p, zero, cop) == 0);
    CHECK_NEAR(cop[0], 1, 1e-15);
}

TEST(fields) {
    for (int i = 0; i < 1000; i++) {
        double x[4][3], g[3], p[4], at[3], w[4], r[4], sum = 0;
        random_points(x, 4, 1);
        if (volume(x) < 1e-3) continue;
        random_points(&g, 1, 5);
        random_points(&at, 1, 1);
        for (int k = 0; k < 4; k++) p[k] = 2 + v3_dot(g, x[k]);
        sti__field_tet t;
        const double *corner[4] = {x[0], x[1], x[2], x[3]};
        int number[4] = {i % 7, 20 - i % 5, 9, 7 + i % 2};
        REQUIRE(sti__field_tet_make(corner, number, p, &t));
        for (int k = 0; k < 3; k++) CHECK_NEAR(t.gradient[k], g[k], 1e-9);
        CHECK_NEAR(sti__field_at(&t, at), 2 + v3_dot(g, at), 1e-9);
        sti__clip_weights(&t.tet, at, w);
        ref_bary(x, at, r);
        for (int k = 0; k < 4; k++) {
            CHECK_NEAR(w[k], r[k], 1e-9);
            sum += w[k];
        }
        CHECK_NEAR(sum, 1, 1e-9);
    }
    CHECK_NEAR(sti__series(2, 6), 1.5, 1e-15);
    CHECK(sti__series(INFINITY, 6) == 6 && sti__series(6, INFINITY) == 6);
    CHECK(sti__series(0, 0) == 0);
}

MAIN(CASE(triangles_match_hulls), CASE(equal_pressure_matches_hulls), CASE(areas_match_thrown_points),
     CASE(a_mesh_shares_a_triangle_out), CASE(a_turned_mesh_shares_a_triangle_out),
     CASE(a_plane_through_faces_is_found_once), CASE(inside_outside_touching),
     CASE(bad_shapes_give_nothing_or_numbers), CASE(noise_keeps_the_bound), CASE(centre_of_pressure_is_exact),
     CASE(fields))
