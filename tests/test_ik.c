/* SPDX-License-Identifier: Apache-2.0 */
/* Inverse kinematics against forward kinematics, and where it must end when a pose cannot be reached. */
#include "scene.h"

static uint64_t seed = 1;
static double uniform(double low, double high) {
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * (double)(seed >> 11) * 0x1p-53;
}

static sti_model *panda(void) {
    char path[1024];
    sti_error error = {0};
    snprintf(path, sizeof path, "%s/panda_grasp.xml", getenv("STI_SCENES") ? getenv("STI_SCENES") : "scenes");
    sti_model *m = sti_model_load(path, NULL, NULL, &error);
    REQUIRE(m);
    return m;
}

static void pose_of(sti_world *w, int site, double pos[3], double mat[9]) {
    CHECK(sti_forward(w) == STI_OK);
    memcpy(pos, values(w, "site_xpos") + 3 * site, 3 * sizeof *pos);
    memcpy(mat, values(w, "site_xmat") + 9 * site, 9 * sizeof *mat);
}

/* Any unit quaternion of a rotation matrix, by its largest component. */
static void quat_of(const double R[9], double q[4]) {
    double w[4] = {1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8], 1 - R[0] + R[4] - R[8],
                   1 - R[0] - R[4] + R[8]};
    const double table[4][4] = {{w[0], R[7] - R[5], R[2] - R[6], R[3] - R[1]},
                                {R[7] - R[5], w[1], R[1] + R[3], R[2] + R[6]},
                                {R[2] - R[6], R[1] + R[3], w[2], R[5] + R[7]},
                                {R[3] - R[1], R[2] + R[6], R[5] + R[7], w[3]}};
    int best = 0;
    for (int k = 1; k < 4; k++)
        if (w[k] > w[best]) best = k;
    memcpy(q, table[best], sizeof table[best]);
}

/* How many of 200 poses of random configurations are reached in so many steps, from one start with restarts or from nearby without. */
static int reach(int restarts, int steps) {
    sti_model *m = panda();
    sti_world *w = world_of(m);
    int site = sti_model_id(m, STI_OBJ_SITE, "hand"), reached = 0, iterations = 0;
    double *qpos = values(w, "qpos"), q[9], pos[3], mat[9], quat[4], again[3], turned[9];
    sti_ik_options o = sti_ik_options_default();
    o.restarts = restarts;
    o.max_iterations = steps;
    for (int trial = 0; trial < 200; trial++) {
        for (int j = 0; j < 9; j++) {
            const double *range = m->jnt_range + 2 * j;
            qpos[j] = uniform(range[0], range[1]);
            q[j] = restarts ? m->key_qpos[j] : qpos[j] + 0.1 * (range[1] - range[0]) * uniform(-1, 1);
        }
        pose_of(w, site, pos, mat);
        quat_of(mat, quat);
        double finger = q[8];
        sti_ik_info info;
        uint64_t hash = sti_world_hash(w);
        CHECK(sti_ik_solve(w, STI_OBJ_SITE, site, pos, quat, &o, q, &info) == STI_OK);
        CHECK(sti_world_hash(w) == hash && q[8] == finger);
        iterations += info.iterations;
        CHECK(info.end == STI_IK_REACHED ||
              info.restarts > 0); /* a start that creeps leaves steps to others */
        if (info.end != STI_IK_REACHED) continue;
        reached++;
        CHECK(info.position <= 1e-10 && info.angle <= 1e-10);
        for (int j = 0; j < 7; j++) CHECK(q[j] >= m->jnt_range[2 * j] && q[j] <= m->jnt_range[2 * j + 1]);
        memcpy(qpos, q, sizeof q);
        pose_of(w, site, again, turned);
        for (int k = 0; k < 3; k++) CHECK_NEAR(again[k], pos[k], 1e-8);
        for (int k = 0; k < 9; k++) CHECK_NEAR(turned[k], mat[k], 1e-8);
    }
    printf("reached %d of 200, %.1f iterations each\n", reached, iterations / 200.0);
    sti_world_destroy(w);
    sti_model_free(m);
    return reached;
}
TEST(random_poses) { CHECK(reach(100, 20000) == 200); }
TEST(poses_nearby) { CHECK(reach(0, 200) == 200); }
TEST(starts_share_steps) { CHECK(reach(10, 200) > 180); }

#define ARM(shoulder, elbow)                                                                    \
    "<mujoco><compiler angle='radian'/><worldbody><body><joint name='a' axis='0 0 1' " shoulder \
    "/><geom size='.1'/><body pos='1 0 0'><joint name='b' axis='0 0 1' " elbow                  \
    "/><geom size='.1'/><site name='tip' pos='.8 0 0'/></body></body></worldbody></mujoco>"

/* How near a planar arm of lengths 1 and 0.8 comes to a point. */
static sti_ik_info nearest(const char *xml, const double start[2], double x, double y, double q[2]) {
    sti_model *m = model_of(xml);
    sti_world *w = world_of(m);
    sti_ik_info info;
    double pos[3] = {x, y, 0};
    memcpy(q, start, 2 * sizeof *q);
    CHECK(sti_ik_solve(w, STI_OBJ_SITE, 0, pos, NULL, NULL, q, &info) == STI_OK);
    sti_world_destroy(w);
    sti_model_free(m);
    return info;
}

/* Beyond its reach it is straight towards the point, within its inner circle folded; both as near as can be. */
TEST(unreachable_points) {
    double q[2];
    sti_ik_info far = nearest(ARM("", ""), (double[]){0.3, 0.5}, 0, 3, q);
    CHECK(far.end == STI_IK_CLOSEST);
    CHECK_NEAR(far.position, 1.2, 1e-12);
    CHECK_NEAR(q[0], 1.5707963267948966, 1e-6);
    CHECK_NEAR(q[1], 0, 1e-6);
    sti_ik_info near = nearest(ARM("", ""), (double[]){0.3, 2}, 0.1, 0, q);
    CHECK(near.end == STI_IK_CLOSEST);
    CHECK_NEAR(near.position, 0.1, 1e-12);
    CHECK_NEAR(fabs(q[1]), 3.141592653589793, 1e-6);
    CHECK(far.angle == 0 && near.angle == 0);
    sti_ik_info inside = nearest(ARM("", ""), (double[]){0.3, 2}, 0.5, 0.5, q);
    CHECK(inside.end == STI_IK_REACHED);
}

/* At a limit it stays there, and the other joint does what it can: by the law of cosines or along a circle. */
TEST(limits_hold) {
    double q[2];
    sti_ik_info info =
        nearest(ARM("range='-.5 .5'", "range='-1e-9 1e-9'"), (double[]){0, 0}, 1.8 * cos(1), 1.8 * sin(1), q);
    CHECK(info.end == STI_IK_CLOSEST);
    CHECK_NEAR(q[0], 0.5, 0);
    CHECK_NEAR(info.position, 2 * 1.8 * sin(0.25), 1e-8);
    info = nearest(ARM("range='-.5 .5'", ""), (double[]){4, 0.3}, 0, 2, q);
    CHECK(info.end == STI_IK_CLOSEST && q[0] == 0.5);
    double elbow[2] = {cos(0.5), sin(0.5)};
    CHECK_NEAR(info.position, hypot(0 - elbow[0], 2 - elbow[1]) - 0.8, 1e-12);
}

/* A free body goes anywhere; a ball joint stops at its cone; a slide and a joint that may not move. */
TEST(other_joints) {
    sti_model *m = model_of(
        "<mujoco><compiler angle='radian'/><worldbody><body name='free'><freejoint/><geom size='.1'/></body>"
        "<body name='ball' pos='3 0 0'><joint type='ball' range='0 .4'/><geom size='.1'/>"
        "<body name='slider' pos='1 0 0'><joint type='slide' axis='1 0 0' range='0 .5'/><geom size='.1'/>"
        "</body></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    sti_ik_info info;
    double q[12], pos[3] = {-4, 5, 6}, quat[4] = {0, 0, 3, 4}, size = 5;
    memcpy(q, m->qpos0, sizeof q);
    CHECK(sti_ik_solve(w, STI_OBJ_BODY, 1, pos, quat, NULL, q, &info) == STI_OK);
    CHECK(info.end == STI_IK_REACHED);
    for (int k = 0; k < 3; k++) CHECK_NEAR(q[k], pos[k], 1e-9);
    for (int k = 0; k < 4; k++) CHECK_NEAR(q[3 + k] * (q[5] < 0 ? -1 : 1), quat[k] / size, 1e-9);
    double up[3] = {3, 0, 1.2};
    CHECK(sti_ik_solve(w, STI_OBJ_XBODY, 3, up, NULL, NULL, q, &info) == STI_OK);
    CHECK(info.end == STI_IK_CLOSEST);
    CHECK_NEAR(2 * acos(fmin(fabs(q[7]), 1)), 0.4, 1e-9); /* then the slide: the point's foot on the ray */
    CHECK_NEAR(q[11], fmax(0, 1.2 * sin(0.4) - 1), 1e-6);
    sti_ik_options o = sti_ik_options_default();
    o.joint = (const unsigned char[]){1, 0, 1};
    double along[3] = {4.3, 0, 0}, kept[4];
    memcpy(q, m->qpos0, sizeof q);
    memcpy(kept, q + 7, sizeof kept);
    CHECK(sti_ik_solve(w, STI_OBJ_BODY, 3, along, NULL, &o, q, &info) == STI_OK);
    CHECK(info.end == STI_IK_REACHED && memcmp(kept, q + 7, sizeof kept) == 0);
    CHECK_NEAR(q[11], 0.3, 1e-10);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(bad_arguments) {
    sti_model *m = model_of(ARM("", ""));
    sti_world *w = world_of(m);
    double q[2] = {0.1, 0.2}, pos[3] = {1, 0, 0}, zero[4] = {0}, bad[3] = {NAN, 0, 0},
           infinite[2] = {0, INFINITY};
    sti_ik_options o = sti_ik_options_default(), none = {0}, negative = o, still = o, small = o;
    negative.radius = -1;
    still.joint = (const unsigned char[]){0, 0};
    small.max_iterations = 1;
    sti_ik_info info;
    CHECK(sti_ik_solve(w, STI_OBJ_SITE, 1, pos, NULL, NULL, q, &info) == STI_ARGUMENT);
    CHECK(strstr(sti_world_error(w)->message, "no such"));
    CHECK(sti_ik_solve(w, STI_OBJ_SITE, -1, pos, NULL, NULL, q, &info) == STI_ARGUMENT);
    CHECK(sti_ik_solve(w, STI_OBJ_GEOM, 0, pos, NULL, NULL, q, &info) == STI_ARGUMENT);
    CHECK(sti_ik_solve(w, STI_OBJ_BODY, 0, pos, NULL, NULL, q, &info) == STI_ARGUMENT);
    CHECK(sti_ik_solve(w, STI_OBJ_SITE, 0, NULL, NULL, NULL, q, &info) == STI_ARGUMENT);
    CHECK(sti_ik_solve(w, STI_OBJ_SITE, 0, bad, NULL, NULL, q, &info) == STI_ARGUMENT);
    CHECK(sti_ik_solve(w, STI_OBJ_SITE, 0, NULL, zero, NULL, q, &info) == STI_ARGUMENT);
    CHECK(sti_ik_solve(w, STI_OBJ_SITE, 0, pos, NULL, NULL, infinite, &info) == STI_ARGUMENT);
    CHECK(sti_ik_solve(w, STI_OBJ_SITE, 0, pos, NULL, NULL, q, NULL) == STI_ARGUMENT);
    CHECK(sti_ik_solve(w, STI_OBJ_SITE, 0, pos, NULL, &none, q, &info) == STI_ARGUMENT);
    CHECK(sti_ik_solve(w, STI_OBJ_SITE, 0, pos, NULL, &negative, q, &info) == STI_ARGUMENT);
    CHECK(sti_ik_solve(w, STI_OBJ_SITE, 0, pos, NULL, &still, q, &info) == STI_ARGUMENT);
    CHECK(q[0] == 0.1 && q[1] == 0.2);
    CHECK(sti_ik_solve(w, STI_OBJ_SITE, 0, pos, NULL, &small, q, &info) == STI_OK);
    CHECK(info.end == STI_IK_ITERATIONS && info.iterations == 1 && info.position > 1e-3);
    CHECK(strcmp(sti_ik_end_name(info.end), "iterations") == 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* Only the first call allocates; any of its allocations may fail, and nothing is lost then. */
/* Beyond 1e154 m squares overflow: said, and never taken for reached. Below, the arm is stretched towards the point. */
TEST(points_very_far_away) {
    sti_model *m = model_of(ARM("", ""));
    sti_world *w = world_of(m);
    for (int k = 1; k <= 308; k++) {
        double q[2] = {0.3, 0.5}, start[2] = {0.3, 0.5}, far = pow(10, k), pos[3] = {0, far, 0};
        sti_ik_info info;
        sti_status status = sti_ik_solve(w, STI_OBJ_BODY, m->nbody - 1, pos, NULL, NULL, q, &info);
        CHECK(status == (k <= 154 ? STI_OK : STI_ARGUMENT));
        if (status == STI_OK) {
            CHECK(info.end != STI_IK_REACHED && isfinite(q[0]) && isfinite(q[1]));
            CHECK_NEAR(info.position / far, 1, 0.3); /* the arm is 2 m long */
        } else CHECK(q[0] == start[0] && q[1] == start[1] && strstr(sti_world_error(w)->message, "far away"));
    }
    sti_ik_options options = sti_ik_options_default();
    options.radius = 1e300;
    double q[2] = {0.3, 0.5}, turned[4] = {0, 0, 0, 1};
    sti_ik_info info;
    CHECK(sti_ik_solve(w, STI_OBJ_BODY, m->nbody - 1, NULL, turned, &options, q, &info) == STI_ARGUMENT);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(memory) {
    sti_model *m = model_of(ARM("", ""));
    counter c = {0};
    sti_allocator allocator = {counting, &c};
    sti_world_options options = sti_world_options_default();
    options.allocator = &allocator;
    sti_world *w = sti_world_create(m, &options, NULL);
    REQUIRE(w);
    double q[2] = {0.1, 0.2}, pos[3] = {1, 0.5, 0};
    sti_ik_info info;
    long before = c.live;
    int failures = 0;
    for (c.fail_at = c.calls + 1; sti_ik_solve(w, STI_OBJ_SITE, 0, pos, NULL, NULL, q, &info) != STI_OK;
         c.fail_at = c.calls + 1 + ++failures) {
        CHECK(sti_world_error(w)->code == STI_NO_MEMORY && c.live == before && q[0] == 0.1);
        REQUIRE(failures < 100);
    }
    CHECK(failures >= 3 && info.end == STI_IK_REACHED);
    long calls = c.calls;
    pos[1] = 0.3;
    CHECK(sti_ik_solve(w, STI_OBJ_SITE, 0, pos, NULL, NULL, q, &info) == STI_OK && c.calls == calls);
    sti_world_destroy(w);
    CHECK(c.live == 0);
    sti_model_free(m);
}

MAIN(CASE(random_poses), CASE(poses_nearby), CASE(starts_share_steps), CASE(unreachable_points),
     CASE(limits_hold), CASE(other_joints), CASE(bad_arguments), CASE(points_very_far_away), CASE(memory))
