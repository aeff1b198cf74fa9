/* SPDX-License-Identifier: Apache-2.0 */
/* Jacobians, inverse dynamics and linear models of a double pendulum against their formulas; the Python tests compare with
   MuJoCo. */
#include "scene.h"

/* Two rods of point masses 1 kg at their ends, 1 m long, in the x-z plane; hinges about -y, angles from below. */
static const char *const PENDULUM =
    "<mujoco><compiler angle='radian'/><option timestep='1e-3'><flag "
    "eulerdamp='disable'/></option><worldbody>"
    "<body name='a'><joint name='j' axis='0 -1 0'/><inertial pos='0 0 -1' mass='1' diaginertia='1e-9 1e-9 "
    "1e-9'/>"
    "<body name='b' pos='0 0 -1'><joint axis='0 -1 0'/><inertial pos='0 0 -1' mass='1' diaginertia='1e-9 "
    "1e-9 1e-9'/>"
    "<site name='end' pos='0 0 -1'/></body></body></worldbody>"
    "<actuator><motor joint='j'/></actuator><keyframe><key/></keyframe></mujoco>";

static sti_model *pendulum(void) { return model_of(PENDULUM); }

static const double Q[2] = {0.3, 0.9}, V[2] = {1.2, -0.7};

static sti_world *swinging(sti_model *m) {
    sti_world *w = world_of(m);
    memcpy(values(w, "qpos"), Q, sizeof Q);
    memcpy(values(w, "qvel"), V, sizeof V);
    CHECK(sti_forward(w) == STI_OK);
    return w;
}

TEST(jacobian_of_the_end) {
    sti_model *m = pendulum();
    sti_world *w = swinging(m);
    double p[6], r[6], com[6], v[6], force[3] = {1, 0, 2}, qfrc[2] = {0, 0};
    double c1 = cos(Q[0]), s1 = sin(Q[0]), c2 = cos(Q[0] + Q[1]), s2 = sin(Q[0] + Q[1]);
    /* x = sin a + sin(a + b), z = -cos a - cos(a + b) */
    REQUIRE(sti_jac_object(w, STI_OBJ_SITE, 0, p, r) == STI_OK);
    CHECK_NEAR(p[0], c1 + c2, 1e-14);
    CHECK_NEAR(p[1], c2, 1e-14);
    CHECK_NEAR(p[4], s1 + s2, 1e-14);
    CHECK_NEAR(p[5], s2, 1e-14);
    CHECK_NEAR(r[2], -1, 1e-14);
    REQUIRE(sti_jac_subtree_com(w, 1, com) == STI_OK);
    CHECK_NEAR(com[0], c1 + c2 / 2, 1e-14);
    CHECK_NEAR(com[1], c2 / 2, 1e-14);
    REQUIRE(sti_object_velocity(w, STI_OBJ_SITE, 0, false, v) == STI_OK);
    CHECK_NEAR(v[1], -(V[0] + V[1]), 1e-14);
    CHECK_NEAR(v[3], (c1 + c2) * V[0] + c2 * V[1], 1e-14);
    REQUIRE(sti_apply_ft(w, force, NULL, (double[3]){s1 + s2, 0, -c1 - c2}, 2, qfrc) == STI_OK);
    CHECK_NEAR(qfrc[1], c2 + 2 * s2, 1e-13);
    CHECK(sti_jac_point(w, 7, force, p, r) == STI_ARGUMENT);
    CHECK(sti_jac_object(w, STI_OBJ_LIGHT, 0, p, r) == STI_ARGUMENT);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* The textbook's equations of a double pendulum in relative angles. */
static void equations(const double q[2], const double v[2], const double a[2], double f[2]) {
    double g = 9.81, c = cos(q[1]), s = sin(q[1]);
    f[0] = (3 + 2 * c) * a[0] + (1 + c) * a[1] - s * (2 * v[0] * v[1] + v[1] * v[1]) +
           g * (2 * sin(q[0]) + sin(q[0] + q[1]));
    f[1] = (1 + c) * a[0] + a[1] + s * v[0] * v[0] + g * sin(q[0] + q[1]);
}

TEST(inverse_is_the_equations) {
    sti_model *m = pendulum();
    sti_world *w = swinging(m);
    double a[2] = {0.4, -1.5}, got[2], want[2];
    REQUIRE(sti_inverse(w, a, got) == STI_OK);
    equations(Q, V, a, want);
    for (int i = 0; i < 2; i++) CHECK_NEAR(got[i], want[i], 1e-7);
    for (int i = 0; i < 2; i++) CHECK(values(w, "qacc")[i] == a[i]);
    sti_world_option(w)->integrator = STI_INTEGRATOR_RK4;
    CHECK(sti_inverse(w, a, got) == STI_UNSUPPORTED);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* About the bottom: semi-implicit Euler of M a = -K q + (u, 0), so v' = v + h a and q' = q + h v'. */
TEST(linear_model_at_rest) {
    sti_model *m = pendulum();
    sti_world *w = world_of(m);
    double A[16], B[4], h = 1e-3, g = 9.81;
    double inverse[4] = {1, -2, -2, 5}; /* of M = [5 2; 2 1] */
    double K[4] = {3 * g, g, g, g};
    REQUIRE(sti_linearize(w, 1e-6, true, A, B, NULL, NULL) == STI_OK);
    for (int i = 0; i < 2; i++) {
        CHECK_NEAR(B[2 + i], h * inverse[2 * i], 1e-7);
        for (int j = 0; j < 2; j++) {
            double k = inverse[2 * i] * K[j] + inverse[2 * i + 1] * K[2 + j];
            CHECK_NEAR(A[4 * (2 + i) + j], -h * k, 1e-6);
            CHECK_NEAR(A[4 * i + j], (i == j) - h * h * k, 1e-6);
            CHECK_NEAR(A[4 * i + 2 + j], h * (i == j), 1e-6);
        }
    }
    CHECK(values(w, "time")[0] == 0 && values(w, "qpos")[0] == 0);
    CHECK(sti_linearize(w, 0, true, A, B, NULL, NULL) == STI_ARGUMENT);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(state_vectors_and_keyframes) {
    sti_model *m = pendulum();
    sti_world *w = swinging(m);
    double state[6], back[2];
    CHECK(sti_state_bits_size(m, STI_STATE_FULLPHYSICS) == 5);
    CHECK(sti_state_bits_size(m, 1u << 30) == -1);
    REQUIRE(sti_state_get(w, STI_STATE_FULLPHYSICS | STI_STATE_CTRL, state) == STI_OK);
    CHECK(state[1] == Q[0] && state[4] == V[1] && state[5] == 0);
    state[2] = 2;
    REQUIRE(sti_state_set(w, STI_STATE_FULLPHYSICS | STI_STATE_CTRL, state) == STI_OK);
    CHECK(values(w, "qpos")[1] == 2);
    state[3] = NAN;
    CHECK(sti_state_set(w, STI_STATE_FULLPHYSICS, state) == STI_NONFINITE);
    CHECK(values(w, "qvel")[0] == V[0]);
    REQUIRE(sti_model_set_keyframe(m, w, 0, NULL) == STI_OK);
    CHECK(m->key_qpos[1] == 2 && m->key_qvel[0] == V[0]);
    CHECK(sti_model_set_keyframe(m, w, 1, NULL) == STI_ARGUMENT);
    CHECK(sti_world_eq_active(w).rows == 0);
    double there[2] = {Q[0], Q[1]};
    sti_integrate_pos(m, there, V, 0.5);
    sti_differentiate_pos(m, back, 0.5, Q, there);
    CHECK_NEAR(back[0], V[0], 1e-14);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(halves_of_a_step) {
    sti_model *m = pendulum();
    sti_world *a = swinging(m), *b = swinging(m), *c = world_of(m);
    for (int i = 0; i < 10; i++) {
        CHECK(sti_step(a, 1) == STI_OK);
        CHECK(sti_step1(b) == STI_OK);
        CHECK(sti_step2(b) == STI_OK);
    }
    CHECK(sti_world_hash(a) == sti_world_hash(b));
    CHECK(sti_step2(c) == STI_ARGUMENT);
    sti_world_destroy(a);
    sti_world_destroy(b);
    sti_world_destroy(c);
    sti_model_free(m);
}

MAIN(CASE(jacobian_of_the_end), CASE(inverse_is_the_equations), CASE(linear_model_at_rest),
     CASE(state_vectors_and_keyframes), CASE(halves_of_a_step))
