/* SPDX-License-Identifier: Apache-2.0 */
/* The step as a differential variational inequality, docs/dvi.md: coordinates, generators, gaps, and Coulomb's conditions
   contact by contact. */
#include "scene.h"
#include "world/world.h"

static const double g = 9.81;

static sti_world *open(const char *xml, sti_model **model) {
    *model = model_of(xml);
    return world_of(*model);
}

static void close(sti_world *w, sti_model *m) {
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Uniform in [-1, 1], the same every time. */
static double chance(void) {
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (double)(state >> 11) / (double)(1ull << 52) - 1;
}

static double dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* ---- coordinates ------------------------------------------------------------ */

/* The rate of a free body's coordinates, L(q) v: the velocity of the origin in the world, and half of the quaternion
   times the angular velocity in the body's frame. */
static void rate_of(const double q[7], const double v[6], double out[7]) {
    const double *e = q + 3, *w = v + 3;
    for (int k = 0; k < 3; k++) out[k] = v[k];
    out[3] = 0.5 * (-e[1] * w[0] - e[2] * w[1] - e[3] * w[2]);
    out[4] = 0.5 * (e[0] * w[0] - e[3] * w[1] + e[2] * w[2]);
    out[5] = 0.5 * (e[3] * w[0] + e[0] * w[1] - e[1] * w[2]);
    out[6] = 0.5 * (-e[2] * w[0] + e[1] * w[1] + e[0] * w[2]);
}

TEST(coordinates) {
    sti_model *m;
    sti_world *w =
        open("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>", &m);
    for (int trial = 0; trial < 20; trial++) {
        double q[7], v[6], rate[7], norm = 0, there[7], back[7], step = 1e-5;
        for (int k = 0; k < 7; k++) q[k] = chance();
        for (int k = 3; k < 7; k++) norm += q[k] * q[k];
        for (int k = 3; k < 7; k++) q[k] /= sqrt(norm);
        for (int k = 0; k < 6; k++) v[k] = 3 * chance();
        rate_of(q, v, rate);
        memcpy(there, q, sizeof q);
        memcpy(back, q, sizeof q);
        w->kernels->integrate_pos(w->state, there, v, step);
        w->kernels->integrate_pos(w->state, back, v, -step);
        for (int k = 0; k < 7; k++) CHECK_NEAR((there[k] - back[k]) / (2 * step), rate[k], 1e-9);
        CHECK_NEAR(dot(there + 3, there + 3, 4), 1,
                   1e-15); /* the step stays on the sphere, L alone would not */
    }
    close(w, m);
}

/* ---- generators ------------------------------------------------------------ */

static void cross(const double a[3], const double b[3], double out[3]) {
    for (int k = 0; k < 3; k++) out[k] = a[(k + 1) % 3] * b[(k + 2) % 3] - a[(k + 2) % 3] * b[(k + 1) % 3];
}

/* D of a direction d at a point of a body: [d; s x d], the torque in the body's frame. */
static void generator(const sti_state *s, int body, const double p[3], const double d[3], double out[6]) {
    double arm[3], torque[3];
    for (int k = 0; k < 3; k++) arm[k] = p[k] - s->xpos[3 * body + k];
    cross(arm, d, torque);
    for (int k = 0; k < 3; k++) {
        out[k] = d[k];
        out[3 + k] = s->xmat[9 * body + k] * torque[0] + s->xmat[9 * body + 3 + k] * torque[1] +
                     s->xmat[9 * body + 6 + k] * torque[2];
    }
}

static const char *const two_boxes =
    "<mujoco><option gravity='0 0 0'/><worldbody>"
    "<body pos='0 0 0' quat='.9 .1 .2 .3'><freejoint/><geom type='box' size='.3 .2 .1' mass='2'/></body>"
    "<body pos='.1 .1 .2537' quat='.8 .3 -.2 .4'><freejoint/><geom type='ellipsoid' size='.2 .15 .1' "
    "mass='1'/></body>"
    "</worldbody></mujoco>";

/* J = D': minus on the first body, plus on the second, since the normal points from the first to the second. */
TEST(generators) {
    sti_model *m;
    sti_world *w = open(two_boxes, &m);
    CHECK(sti_forward(w) == STI_OK);
    const sti__assembly *as = &w->constraints.rows;
    REQUIRE(as->nblock >= 1 && as->problem.arrays.n == 12);
    for (int b = 0; b < as->nblock; b++) {
        const sti__contact *c = &w->constraints.collide.contact[as->info[b].id];
        for (int i = 0; i < 3; i++) {
            double D[12], J[12] = {0};
            int first = 6 * (c->body1 - 1), second = 6 * (c->body2 - 1);
            generator(w->state, c->body1, c->pos, c->frame + 3 * i, D + first);
            generator(w->state, c->body2, c->pos, c->frame + 3 * i, D + second);
            for (int k = as->jstart[as->first[b] + i]; k < as->jstart[as->first[b] + i + 1]; k++)
                J[as->dof[as->jcol[k]]] += as->jvalue[k];
            for (int k = 0; k < 12; k++) CHECK_NEAR(J[k], (k / 6 == first / 6 ? -1 : 1) * D[k], 1e-14);
        }
    }
    close(w, m);
}

/* A positive normal impulse pushes apart, with both orders of the geoms; momentum is kept. */
TEST(apart) {
    for (int swap = 0; swap < 2; swap++) {
        sti_model *m;
        sti_world *w = open(two_boxes, &m);
        double *v = values(w, "qvel");
        v[swap ? 2 : 8] = swap ? 1 : -1; /* they approach */
        double before = 2 * v[2] + v[8];
        CHECK(sti_step(w, 1) == STI_OK);
        int n;
        const sti_contact *c = sti_world_contacts(w, &n);
        REQUIRE(n >= 1);
        double away = 0;
        for (int k = 0; k < 3; k++)
            away += c->frame[k] * (values(w, "xpos")[3 * c->body2 + k] - values(w, "xpos")[3 * c->body1 + k]);
        CHECK(away > 0); /* the normal leads from the first to the second */
        CHECK(c->impulse[0] > 0);
        CHECK(v[8] > (swap ? 0 : -1) && v[2] < (swap ? 1 : 0)); /* the second up, the first down */
        CHECK_NEAR(2 * v[2] + v[8], before, 1e-12);
        close(w, m);
    }
}

/* ---- gaps ------------------------------------------------------------ */

/* A ball at a gap above the ground that would pass it within the step lands: its velocity is -gap / h, up to the softness
   that beta leaves; one that stays clear is not touched at all. */
TEST(gap_over_h) {
    static const char *const ball =
        "<mujoco xmlns:sti='urn:stiction'><option timestep='.01' gravity='0 0 0'/><sti:option beta='1e-3'/>"
        "<worldbody><geom type='plane' size='9 9 1'/><body pos='0 0 .11'><freejoint/><geom size='.1' "
        "mass='2'/></body>"
        "</worldbody></mujoco>";
    sti_model *m;
    sti_world *w = open(ball, &m);
    values(w, "qvel")[2] = -3;
    CHECK(sti_step(w, 1) == STI_OK);
    CHECK_NEAR(values(w, "qvel")[2], -0.01 / 0.01, 1e-3);
    CHECK_NEAR(values(w, "qpos")[2], 0.1, 1e-5);
    sti_world_reset(w, -1);
    values(w, "qvel")[2] = -0.9;
    CHECK(sti_step(w, 1) == STI_OK);
    CHECK_NEAR(values(w, "qvel")[2], -0.9, 0);
    close(w, m);
}

/* ---- Coulomb ------------------------------------------------------------ */

typedef struct tally {
    int stick, slide, open, wandered;
    double angle, complementarity, dissipation; /* the worst */
} tally;

/* The three conditions, complementarity and maximum dissipation of one contact. Softness makes them statements about
   slip = v_t - vhat_t + R_t g_t and approach = v_n - vhat_n + R_n g_n, which are v at R = 0 and without memory. */
static void check_contact(const sti__assembly *as, int b, double scale, tally *t) {
    const sti_row *row = &as->rows[b];
    int at = as->first[b];
    const double *imp = as->g + at, *R = as->R + at, *vhat = as->vhat + at;
    double y[6], slip[2], mu = row->mu[0], tiny = 1e-6 * scale;
    sti__block_velocity(as, b, as->v, y);
    double approach = y[0] - vhat[0] + R[0] * imp[0], creep = mu * mu * R[1] * imp[0];
    for (int i = 0; i < 2; i++) slip[i] = y[1 + i] - vhat[1 + i] + R[1 + i] * imp[1 + i];
    double friction = hypot(imp[1], imp[2]), speed = hypot(slip[0], slip[1]);
    /* 0 <= impulse, perpendicular to, approach >= 0 */
    CHECK(imp[0] >= 0);
    CHECK_NEAR(fmin(0, approach + creep), 0, tiny);
    if (imp[0] > 0) CHECK(approach <= tiny);
    if (imp[0] > 0) t->complementarity = fmax(t->complementarity, fabs(approach) / scale);
    /* in the cone, on it while it slips, against the slip */
    CHECK(friction <= mu * imp[0] * (1 + 1e-9));
    if (imp[0] == 0) {
        t->open++;
        return;
    }
    bool inside = friction < mu * imp[0] * (1 - 1e-6);
    if (inside) CHECK(speed <= tiny);
    if (speed > 1e3 * tiny) {
        double along = -dot(imp + 1, slip, 2) / (friction * speed);
        CHECK(friction >= mu * imp[0] * (1 - 1e-6));
        CHECK(along > 1 - 1e-6);
        t->angle = fmax(t->angle, 1 - along);
    }
    /* of all friction that the cone allows none takes more power */
    double power = dot(imp + 1, slip, 2);
    for (int k = 0; k < 20; k++) {
        double other[2] = {chance(), chance()}, length = hypot(other[0], other[1]);
        double keep = length > 1 ? mu * imp[0] / length : mu * imp[0];
        other[0] *= keep;
        other[1] *= keep;
        double excess = power - dot(other, slip, 2);
        CHECK(excess <= tiny * mu * imp[0]);
        t->dissipation = fmax(t->dissipation, excess);
    }
    if (inside) t->stick++;
    else t->slide++;
}

static void check_world(const sti_world *w, double scale, tally *t) {
    const sti__assembly *as = &w->constraints.rows;
    if (sti_world_certificate(w).desaxce > 1e-6) { /* the slip was taken as given: another problem */
        t->wandered++;
        return;
    }
    for (int b = 0; b < as->nblock; b++)
        if (as->info[b].source == STI__FROM_CONTACT) check_contact(as, b, scale, t);
}

/* Boxes and balls thrown onto each other, with spin. */
static const char *const heap =
    "<mujoco><option timestep='%g'/><default><geom friction='%g .005 .0001'/></default><worldbody>"
    "<geom type='plane' size='9 9 1'/>"
    "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1' mass='1'/></body>"
    "<body pos='.03 .02 .32'><freejoint/><geom type='box' size='.12 .08 .1' mass='2'/></body>"
    "<body pos='-.02 .04 .55'><freejoint/><geom type='sphere' size='.1' mass='1.5'/></body>"
    "<body pos='.4 0 .2' quat='.9 .2 .3 .1'><freejoint/><geom type='box' size='.1 .05 .15' mass='1'/></body>"
    "<body pos='-.4 0 .15'><freejoint/><geom type='capsule' size='.08 .15' mass='1'/></body>"
    "</worldbody></mujoco>";

TEST(coulomb) {
    static const double friction[] = {0.2, 0.5, 0.9}, steps[] = {0.01, 0.002};
    tally t = {0};
    for (int f = 0; f < 3; f++)
        for (int k = 0; k < 2; k++) {
            char xml[4096];
            snprintf(xml, sizeof xml, heap, steps[k], friction[f]);
            sti_model *m;
            sti_world *w = open(xml, &m);
            double *v = values(w, "qvel");
            sti_world_option(w)->contact_tol = 1e-10;
            for (int i = 0; i < 30; i++) v[i] = 2 * chance();
            for (int i = 0; i < (int)(1 / steps[k]); i++) {
                REQUIRE(sti_step(w, 1) == STI_OK);
                check_world(w, g * steps[k], &t);
            }
            close(w, m);
        }
    printf("sticking %d, sliding %d, open %d; not settled: %d steps; angle %.1e, complementarity %.1e, power "
           "%.1e\n",
           t.stick, t.slide, t.open, t.wandered, t.angle, t.complementarity, t.dissipation);
    CHECK(t.stick > 1000 && t.slide > 1000 && t.open > 100);
    CHECK(t.wandered < 60); /* of 3600 */
}

/* The relaxed cone lifts what slides: the conditions above are not met by it. */
TEST(relaxed_is_not_coulomb) {
    sti_model *m;
    sti_world *w =
        open("<mujoco xmlns:sti='urn:stiction'><option timestep='.01'/><sti:option coulomb='relaxed'/>"
             "<worldbody><geom type='plane' size='9 9 1' friction='.5'/><body pos='0 0 .01'><freejoint/>"
             "<geom type='box' size='.05 .05 .01' friction='.5' mass='1'/></body></worldbody></mujoco>",
             &m);
    CHECK(sti_step(w, 20) == STI_OK);
    values(w, "qvel")[0] = 2;
    double high = 0;
    for (int i = 0; i < 20; i++) {
        CHECK(sti_step(w, 1) == STI_OK);
        high = fmax(high, values(w, "qpos")[2] - 0.01);
    }
    CHECK(high > 1e-3); /* about (h + tau) mu |v| */
    close(w, m);
}

MAIN(CASE(coordinates), CASE(generators), CASE(apart), CASE(gap_over_h), CASE(coulomb),
     CASE(relaxed_is_not_coulomb))
