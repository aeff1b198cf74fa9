/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of row: its Jacobian against differences of its residual, and a closed form. */
#include "closed.h"
#include "contact/rows.h"
#include "contact/softness.h"
#include "world/world.h"

static const double g = 9.81;

/* How far a near-rigid row with inverse mass w gives way under a force f. */
static double depth(double h, double w, double f) {
    return h * h * w * f * (1 + BETA / PI) * BETA * BETA / (4 * PI * PI);
}

/* ---- derivatives ------------------------------------------------------------ */

enum { MOST_DOFS = 64, MOST_BLOCKS = 128, EPSILON_INVERSE = 1000000 };
static const double epsilon = 1.0 / EPSILON_INVERSE;

/* What a row block measures, up to 6 numbers: its residual where it has one, else the coordinate that it brakes or drives. */
static void measure(const sti_world *w, const sti__assembly *as, int b, double out[6]) {
    const sti_state *s = w->state;
    const sti__block_info *info = &as->info[b];
    double time = s->opt.timestep + info->tau;
    switch (info->source) {
    case STI__FROM_FRICTION: out[0] = s->qpos[s->model->jnt_qposadr[s->model->dof_jntid[info->id]]]; break;
    case STI__FROM_TENDON_FRICTION: out[0] = s->ten_length[info->id]; break;
    case STI__FROM_GAIN: out[0] = s->actuator_length[info->id]; break;
    default:
        for (int i = 0; i < as->rows[b].dim; i++) out[i] = -as->vhat[as->first[b] + i] * time;
        out[0] = info->phi0; /* the same, but not held back by the largest push */
    }
}

static int find_block(const sti__assembly *as, int source, int id, uint64_t feature) {
    for (int b = 0; b < as->nblock; b++)
        if (as->info[b].source == source && as->memory[b].feature == feature &&
            (source == STI__FROM_CONTACT || as->info[b].id == id))
            return b;
    return -1;
}

static void evaluate(sti_world *w) {
    sti_stage_position(w);
    sti_stage_velocity(w);
    sti_stage_actuation(w);
    sti_stage_acceleration(w);
    sti_stage_collide(w);
    sti_stage_contact(w);
}

/* Pose of a body: its position and its axes. */
typedef struct pose {
    double p[3], m[9];
} pose;

static pose pose_of(const sti_state *s, int body) {
    pose r;
    memcpy(r.p, s->xpos + 3 * body, sizeof r.p);
    memcpy(r.m, s->xmat + 9 * body, sizeof r.m);
    return r;
}

/* Where a point that is fixed in the body, and was at x when the body was at `then`, is now. */
static void carried(const pose *then, const pose *now, const double x[3], double out[3]) {
    for (int i = 0; i < 3; i++) {
        out[i] = now->p[i];
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++)
                out[i] += now->m[3 * i + j] * then->m[3 * k + j] * (x[k] - then->p[k]);
    }
}

/* The small rotation from one pose to another. */
static void turned(const pose *from, const pose *to, double out[3]) {
    double R[9] = {0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 3; k++) R[3 * i + j] += to->m[3 * i + k] * from->m[3 * j + k];
    out[0] = (R[7] - R[5]) / 2;
    out[1] = (R[2] - R[6]) / 2;
    out[2] = (R[3] - R[1]) / 2;
}

/* A contact at its first state, with the poses of its bodies there. */
typedef struct touch {
    sti__contact c;
    pose at[2];
} touch;

/* Motion of body 2 against body 1 in the contact's frame: of the point, then of rotation. */
static void relative(const touch *t, const pose lo[2], const pose hi[2], double out[6]) {
    double d[3] = {0}, r[3] = {0};
    for (int side = 0; side < 2; side++) {
        double a[3], b[3], w[3], sign = side ? 1 : -1;
        carried(&t->at[side], &lo[side], t->c.pos, a);
        carried(&t->at[side], &hi[side], t->c.pos, b);
        turned(&lo[side], &hi[side], w);
        for (int k = 0; k < 3; k++) d[k] += sign * (b[k] - a[k]), r[k] += sign * w[k];
    }
    for (int i = 0; i < 3; i++)
        for (int k = out[i] = out[3 + i] = 0; k < 3; k++) {
            out[i] += t->c.frame[3 * i + k] * d[k];
            out[3 + i] += t->c.frame[3 * i + k] * r[k];
        }
}

/* All blocks of a world at its first state. */
typedef struct snapshot {
    int count, source[MOST_BLOCKS], id[MOST_BLOCKS], dim[MOST_BLOCKS];
    uint64_t feature[MOST_BLOCKS];
    double J[MOST_BLOCKS][6][MOST_DOFS];
    touch contact[MOST_BLOCKS];
} snapshot;

static void take(const sti_world *w, snapshot *s) {
    const sti__assembly *as = &w->constraints.rows;
    memset(s, 0, sizeof *s);
    REQUIRE(as->nblock <= MOST_BLOCKS && w->model->nv <= MOST_DOFS);
    s->count = as->nblock;
    for (int b = 0; b < as->nblock; b++) {
        s->source[b] = as->info[b].source;
        s->id[b] = as->info[b].id;
        s->dim[b] = as->rows[b].dim;
        s->feature[b] = as->memory[b].feature;
        for (int i = 0; i < s->dim[b]; i++)
            for (int k = as->jstart[as->first[b] + i]; k < as->jstart[as->first[b] + i + 1]; k++)
                s->J[b][i][as->dof[as->jcol[k]]] += as->jvalue[k];
        if (s->source[b] != STI__FROM_CONTACT) continue;
        touch *t = &s->contact[b];
        t->c = w->constraints.collide.contact[s->id[b]];
        t->at[0] = pose_of(w->state, t->c.body1);
        t->at[1] = pose_of(w->state, t->c.body2);
    }
}

/* Both sides of a central difference. */
static void move(sti_world *w, const double *qpos, int dof, double by) {
    double v[MOST_DOFS] = {0};
    v[dof] = 1;
    memcpy(w->state->qpos, qpos, sizeof(double) * (size_t)w->model->nq);
    w->kernels->integrate_pos(w->state, w->state->qpos, v, by);
    evaluate(w);
}

/* What the rows measure at two states, and the poses of bodies. */
typedef struct side {
    double value[MOST_BLOCKS][6];
    bool found[MOST_BLOCKS];
    pose body[MOST_BLOCKS][2];
} side;

static void look(const sti_world *w, const snapshot *s, side *out) {
    const sti__assembly *as = &w->constraints.rows;
    for (int b = 0; b < s->count; b++) {
        int at = find_block(as, s->source[b], s->id[b], s->feature[b]);
        out->found[b] = at >= 0;
        if (at >= 0) measure(w, as, at, out->value[b]);
        if (s->source[b] != STI__FROM_CONTACT) continue;
        out->body[b][0] = pose_of(w->state, s->contact[b].c.body1);
        out->body[b][1] = pose_of(w->state, s->contact[b].c.body2);
    }
}

/* Compares every row's Jacobian with differences, along every dof. */
static void check_derivatives(sti_world *w, int seen[STI__FROM_CONTACT + 1]) {
    static snapshot s;
    static side lo, hi;
    double qpos[2 * MOST_DOFS];
    sti_world_option(w)->closing = 1e300; /* vhat then tells the residual, however far */
    evaluate(w);
    take(w, &s);
    memcpy(qpos, w->state->qpos, sizeof(double) * (size_t)w->model->nq);
    for (int d = 0; d < w->model->nv; d++) {
        move(w, qpos, d, -epsilon);
        look(w, &s, &lo);
        move(w, qpos, d, epsilon);
        look(w, &s, &hi);
        for (int b = 0; b < s.count; b++) {
            bool contact = s.source[b] == STI__FROM_CONTACT;
            double motion[6];
            CHECK(lo.found[b] && hi.found[b]);
            if (contact) relative(&s.contact[b], lo.body[b], hi.body[b], motion);
            for (int i = 0; i < s.dim[b]; i++) {
                double change = contact ? motion[i] : hi.value[b][i] - lo.value[b][i];
                CHECK_NEAR(change / (2 * epsilon), s.J[b][i][d], 2e-7);
            }
            /* the residual of a contact is its distance */
            if (contact) CHECK_NEAR((hi.value[b][0] - lo.value[b][0]) / (2 * epsilon), s.J[b][0][d], 2e-7);
        }
    }
    for (int b = 0; b < s.count; b++) seen[s.source[b]]++;
}

#define ARM                                                                                              \
    "<body name='a' pos='0 0 1'><joint name='j1' axis='0 1 .2' range='-.3 1' frictionloss='.3'/>"        \
    "<geom name='ga' type='capsule' fromto='0 0 0 .5 0 0' size='.05'/><site name='sa' pos='.2 .05 .1'/>" \
    "<body name='b' pos='.5 0 0'><joint name='j2' axis='1 1 0' range='-1 .2'/>"                          \
    "<geom name='gb' type='capsule' fromto='0 0 0 .3 .1 0' size='.04'/><site name='sb' pos='.1 0 .1'/>"  \
    "<body name='c' pos='.3 .1 0'><joint name='j3' type='ball' range='0 .5'/>"                           \
    "<geom name='gc' type='box' size='.1 .05 .05' pos='.1 0 0'/><site name='sc' pos='.1 .1 "             \
    "0'/></body></body></body>"
#define LOOSE                                                                                              \
    "<body name='d' pos='0 1 1'><freejoint name='j4'/><geom name='gd' type='ellipsoid' size='.1 .15 .2'/>" \
    "<site name='sd' pos='.1 0 0'/></body>"                                                                \
    "<body name='e' pos='1 1 1'><freejoint/><geom name='ge' type='box' size='.1 .15 .2'/>"                 \
    "<site name='se' pos='0 .1 0'/></body>"                                                                \
    "<body name='f' pos='0 -1 1'><joint name='j5' type='slide' axis='1 2 3'/><geom size='.1' "             \
    "mass='1'/></body>"

static const char *const everything =
    "<mujoco xmlns:sti='urn:stiction'><compiler angle='radian'/><option timestep='%g'/>"
    "<default><geom contype='0' conaffinity='0'/></default><worldbody>"
    "<site name='s0' pos='.3 .9 1.2'/>" ARM LOOSE "</worldbody><tendon>"
    "<spatial name='t1' range='.1 .9' frictionloss='.2'><site site='s0'/><site site='sb'/><site "
    "site='sd'/></spatial>"
    "<fixed name='t2' range='.5 2'><joint joint='j1' coef='2'/><joint joint='j5' coef='-3'/></fixed>"
    "<spatial name='t3'><site site='sa'/><site site='sd'/></spatial></tendon><equality>"
    "<connect body1='d' body2='c' anchor='.1 .2 .3'/><connect site1='sa' site2='se'/>"
    "<joint joint1='j1' joint2='j2' polycoef='.1 2 -.3 .2 .1'/><joint joint1='j5' polycoef='.1 0 0 0 0'/>"
    "<tendon tendon1='t1' tendon2='t3' polycoef='0 1 .5 0 0'/>"
    "<sti:distance site1='sb' site2='sd' distance='.5'/><sti:distance geom1='gc' geom2='ge' distance='.3'/>"
    "<sti:distance geom1='gd' geom2='ga' distance='.2'/></equality><actuator>"
    "<position name='p1' joint='j1' kp='100' kv='3' gear='2' sti:implicit='true'/>"
    "<velocity tendon='t1' kv='20' sti:implicit='true'/>"
    "<position site='sc' refsite='s0' gear='1 2 3 0 0 0' kp='50' sti:implicit='true'/></actuator></mujoco>";

TEST(derivatives) {
    sti_model *m;
    sti_world *w = open(everything, 0.01, &m);
    int seen[STI__FROM_CONTACT + 1] = {0};
    double *q = values(w, "qpos"), ball[4] = {0.9, 0.3, -0.2, 0.25}, norm = 0;
    for (int k = 0; k < 4; k++) norm += ball[k] * ball[k];
    q[0] = -0.301; /* beyond its limit, like the next */
    q[1] = 0.2005;
    for (int k = 0; k < 4; k++) q[2 + k] = ball[k] / sqrt(norm);
    for (int k = 0; k < 4; k++) q[9 + k] = ball[3 - k] / sqrt(norm);
    q[6 + 14] = 0.2;
    check_derivatives(w, seen);
    CHECK(seen[STI__FROM_LIMIT] == 3);        /* two hinges and the ball */
    CHECK(seen[STI__FROM_TENDON_LIMIT] == 2); /* spatial and fixed */
    CHECK(seen[STI__FROM_FRICTION] == 1);
    CHECK(seen[STI__FROM_TENDON_FRICTION] == 1);
    CHECK(seen[STI__FROM_EQUALITY] == 8);
    CHECK(seen[STI__FROM_GAIN] == 3);
    close(w, m);
}

/* The rotation of a weld: exact where the frames meet, for rotations do not commute. */
TEST(weld_derivative) {
    sti_model *m;
    sti_world *w =
        open("<mujoco><option timestep='%g'/><worldbody><body name='a' pos='0 0 1'><joint axis='0 1 .2'/>"
             "<geom type='box' size='.1 .2 .3' contype='0'/><body name='b' pos='.5 0 0'><joint axis='1 1 0'/>"
             "<geom type='box' size='.1 .1 .3' conaffinity='0' contype='0'/></body></body><body name='c' "
             "pos='0 1 1'>"
             "<freejoint/><geom type='box' size='.1 .1 .3' conaffinity='0'/></body></worldbody>"
             "<equality><weld body1='b' body2='c'/></equality></mujoco>",
             0.01, &m);
    int seen[STI__FROM_CONTACT + 1] = {0};
    check_derivatives(w, seen);
    CHECK(seen[STI__FROM_EQUALITY] == 2);
    close(w, m);
}

/* Ellipsoids on a plate that two hinges move, one for each condim. */
TEST(contact_derivatives) {
    sti_model *m;
    sti_world *w =
        open("<mujoco><compiler angle='radian'/><option timestep='%g'/><worldbody><body pos='0 0 1'><joint "
             "axis='0 1 .2'/>"
             "<geom size='.1' mass='1' contype='0' conaffinity='0'/><body pos='.2 0 0'><joint axis='1 0 .3'/>"
             "<geom type='box' size='1 1 .1' contype='2' conaffinity='1' condim='1'/></body></body>"
             "<body pos='-.5 -.5 1.195'><freejoint/><geom type='ellipsoid' size='.2 .15 .1' conaffinity='2' "
             "condim='1'/></body>"
             "<body pos='-.5 .5 1.195' quat='1 0 0 .3'><freejoint/><geom type='ellipsoid' size='.2 .15 .1' "
             "conaffinity='2' condim='3'/></body>"
             "<body pos='.7 -.5 1.195'><freejoint/><geom type='ellipsoid' size='.2 .15 .1' conaffinity='2' "
             "condim='4'/></body>"
             "<body pos='.7 .5 1.195' quat='1 0 0 -.3'><freejoint/><geom type='ellipsoid' size='.2 .15 .1' "
             "conaffinity='2' condim='6'/></body>"
             "</worldbody></mujoco>",
             0.01, &m);
    int seen[STI__FROM_CONTACT + 1] = {0}, dims = 0;
    evaluate(w);
    for (int b = 0; b < w->constraints.rows.nblock; b++) dims += w->constraints.rows.rows[b].dim;
    CHECK(dims == 1 + 3 + 4 + 6);
    check_derivatives(w, seen);
    CHECK(seen[STI__FROM_CONTACT] == 4);
    close(w, m);
}

/* The law of an implicit actuator is the actuator's own force at the end of the step, within its range. */
TEST(gain_law) {
    sti_model *m;
    sti_world *w = open(
        "<mujoco xmlns:sti='urn:stiction'><option timestep='%g'/><worldbody><body><joint name='j' "
        "type='slide'/>"
        "<geom size='.1' mass='2'/></body></worldbody><actuator><position joint='j' kp='300' kv='7' gear='3' "
        "forcerange='-50 80' sti:implicit='true'/></actuator></mujoco>",
        0.01, &m);
    double h = 0.01;
    values(w, "qpos")[0] = 0.1;
    values(w, "qvel")[0] = -0.4;
    values(w, "ctrl")[0] = 0.35;
    evaluate(w);
    const sti__assembly *as = &w->constraints.rows;
    REQUIRE(as->nblock == 1);
    double now = fmin(80, fmax(-50, 300 * (0.35 - 0.3) - 7 * -1.2));
    for (double y = -3; y < 3; y += 0.25) {
        double impulse[6], shifted[6] = {y - as->vhat[0]};
        sti__row_impulse(as->rows, as->R, shifted, impulse);
        double then = fmin(80, fmax(-50, 300 * (0.35 - 0.3 - h * y) - 7 * y));
        CHECK_NEAR(impulse[0], h * (then - now), 1e-12);
    }
    close(w, m);
}

/* ---- closed forms: rows of the model ------------------------------------------------------------ */

/* Two slides of 1 kg on one string, with coefficients 1 and 2: tension 5 N, inverse mass 5 / kg. */
#define STRING                                                                                       \
    "<option timestep='%g' gravity='0 0 0'/><worldbody>"                                             \
    "<body><joint name='a' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body>"             \
    "<body pos='0 5 0'><joint name='b' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body>" \
    "</worldbody><tendon><fixed name='t' %s><joint joint='a' coef='1'/><joint joint='b' "            \
    "coef='2'/></fixed></tendon>"

static sti_world *strung(const char *attributes, const char *rest, double h, sti_model **m) {
    char xml[4096];
    int at = snprintf(xml, sizeof xml, "<mujoco xmlns:sti='urn:stiction'>");
    at += snprintf(xml + at, sizeof xml - (size_t)at, STRING, h, attributes);
    snprintf(xml + at, sizeof xml - (size_t)at, "%s</mujoco>", rest);
    *m = model_of(xml);
    return world_of(*m);
}

TEST(tendon_limit) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = strung("range='-1 1'", "", h, &m);
        values(w, "qfrc_applied")[0] = 5;
        values(w, "qfrc_applied")[1] = 10;
        run(w, 3);
        CHECK_NEAR(values(w, "ten_length")[0] - 1, depth(h, 5, 5), 1e-6 * depth(h, 5, 5));
        CHECK_NEAR(values(w, "qfrc_constraint")[1], -10, 1e-6);
        CHECK_NEAR(values(w, "qvel")[0], 0, 1e-10);
        close(w, m);
    }
}

/* 3 N of friction in the string: holds 2.9 N; 4 N along it leave 1 N, or an acceleration of 5 m/s2 of its length. */
TEST(tendon_friction) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = strung("frictionloss='3'", "", h, &m);
        values(w, "qfrc_applied")[0] = 2.9;
        values(w, "qfrc_applied")[1] = 5.8;
        run(w, 1);
        CHECK_NEAR(values(w, "ten_velocity")[0], 0, 1e-9);
        CHECK_NEAR(values(w, "qfrc_constraint")[0], -2.9, 1e-8);
        values(w, "qfrc_applied")[0] = 4;
        values(w, "qfrc_applied")[1] = 8;
        run(w, 1);
        double v = values(w, "qvel")[0] + 2 * values(w, "qvel")[1];
        run(w, 1);
        CHECK_NEAR(values(w, "qvel")[0] + 2 * values(w, "qvel")[1] - v, 5, 1e-8);
        close(w, m);
    }
}

/* A string that keeps its length takes all of 5 and 10 N, and gives by its softness. */
TEST(tendon_equality) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = strung("", "<equality><tendon tendon1='t' polycoef='0 0 0 0 0'/></equality>", h, &m);
        values(w, "qfrc_applied")[0] = 5;
        values(w, "qfrc_applied")[1] = 10;
        run(w, 2);
        CHECK_NEAR(values(w, "ten_length")[0], depth(h, 5, 5), 1e-6 * depth(h, 5, 5));
        CHECK_NEAR(values(w, "qfrc_constraint")[0], -5, 1e-8);
        close(w, m);
    }
}

/* x1 = 2 x2, 1 and 3 kg, 7 N on the first: 4 m/s2. */
TEST(joint_equality) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = open(
            "<mujoco><option timestep='%g' gravity='0 0 0'/><worldbody>"
            "<body><joint name='a' type='slide' axis='1 0 0'/><geom size='.1' mass='1'/></body>"
            "<body pos='0 5 0'><joint name='b' type='slide' axis='1 0 0'/><geom size='.1' mass='3'/></body>"
            "</worldbody><equality><joint joint1='a' joint2='b' polycoef='0 2 0 0 0'/></equality></mujoco>",
            h, &m);
        values(w, "qfrc_applied")[0] = 7;
        run(w, 1);
        double v = values(w, "qvel")[0];
        run(w, 1);
        CHECK_NEAR(values(w, "qvel")[0] - v, 4, 1e-8);
        /* the row carries 7 - 4 N against an inverse mass of 1 + 4 / 3 */
        CHECK_NEAR(values(w, "qpos")[0] - 2 * values(w, "qpos")[1], depth(h, 7.0 / 3, 3),
                   1e-4 * depth(h, 7.0 / 3, 3));
        close(w, m);
    }
}

/* A body of 2 kg that hangs by its centre. */
TEST(connect) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = open("<mujoco><option timestep='%g'/><worldbody><body name='a'><freejoint/>"
                            "<geom size='.1' mass='2'/></body></worldbody>"
                            "<equality><connect body1='a' anchor='0 0 0'/></equality></mujoco>",
                            h, &m);
        run(w, 2);
        CHECK_NEAR(-values(w, "qpos")[2], depth(h, 0.5, 2 * g), 1e-6 * depth(h, 0.5, 2 * g));
        CHECK_NEAR(values(w, "qfrc_constraint")[2], 2 * g, 1e-6);
        close(w, m);
    }
}

/* A cube of 2 kg and side 0.6 (I = 0.12 kg m2) that is welded to the world, under 3 N m; torquescale 0.1 gives a hundred
   times as much. */
TEST(weld) {
    EACH_STEP(h) for (int scaled = 0; scaled < 2; scaled++) {
        sti_model *m;
        sti_world *w = open(scaled ? "<mujoco><option timestep='%g'/><worldbody><body name='a'><freejoint/>"
                                     "<geom type='box' size='.3 .3 .3' mass='2'/></body></worldbody>"
                                     "<equality><weld body1='a' torquescale='.1'/></equality></mujoco>"
                                   : "<mujoco><option timestep='%g'/><worldbody><body name='a'><freejoint/>"
                                     "<geom type='box' size='.3 .3 .3' mass='2'/></body></worldbody>"
                                     "<equality><weld body1='a'/></equality></mujoco>",
                            h, &m);
        values(w, "qfrc_applied")[4] = 3;
        run(w, 2);
        double angle = depth(h, 1 / 0.12, 3) * (scaled ? 100 : 1);
        CHECK_NEAR(-values(w, "qpos")[2], depth(h, 0.5, 2 * g), 1e-5 * depth(h, 0.5, 2 * g));
        CHECK_NEAR(2 * asin(values(w, "qpos")[5]), angle, 1e-3 * angle);
        CHECK_NEAR(values(w, "qfrc_constraint")[4], -3, 1e-6);
        close(w, m);
    }
}

/* A point of 2 kg on a rod of 0.5 m: hangs at rest, and on a circle at 3 m/s without gravity pulls with m v^2 / r. */
TEST(distance_of_sites) {
    EACH_STEP(h) {
        static const char *const rod =
            "<mujoco xmlns:sti='urn:stiction'><option timestep='%g'/><worldbody><site name='o'/>"
            "<body name='a' pos='0 0 -.5'><freejoint/><geom size='.1' mass='2'/><site "
            "name='p'/></body></worldbody>"
            "<equality><sti:distance site1='o' site2='p'/></equality></mujoco>";
        sti_model *m;
        sti_world *w = open(rod, h, &m);
        run(w, 2);
        CHECK_NEAR(-0.5 - values(w, "qpos")[2], depth(h, 0.5, 2 * g), 1e-6 * depth(h, 0.5, 2 * g));
        CHECK_NEAR(values(w, "qfrc_constraint")[2], 2 * g, 1e-6);
        sti_world_option(w)->disableflags |= STI_DISABLE_GRAVITY;
        values(w, "qvel")[0] = 3;
        run(w, 1);
        const double *f = values(w, "qfrc_constraint"), *q = values(w, "qpos");
        double v = hypot(values(w, "qvel")[0], values(w, "qvel")[2]), r = hypot(q[0], q[2]);
        CHECK_NEAR(r, 0.5, 30 * h * h);
        CHECK_NEAR(hypot(f[0], f[2]), 2 * v * v / r, 30 * h);
        close(w, m);
    }
}

/* A ball of radius 0.1 that is held 0.2 above a box by the distance of their surfaces. */
TEST(distance_of_geoms) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w = open("<mujoco xmlns:sti='urn:stiction'><option timestep='%g'/><worldbody>"
                            "<geom name='box' type='box' size='1 1 .1'/><body pos='0 0 .4'><freejoint/>"
                            "<geom name='ball' size='.1' mass='2'/></body></worldbody><equality>"
                            "<sti:distance geom1='ball' geom2='box' distance='.2'/></equality></mujoco>",
                            h, &m);
        run(w, 2);
        CHECK_NEAR(0.4 - values(w, "qpos")[2], depth(h, 0.5, 2 * g), 1e-6 * depth(h, 0.5, 2 * g));
        CHECK_NEAR(values(w, "qfrc_constraint")[2], 2 * g, 1e-6);
        close(w, m);
    }
}

/* ---- closed forms: implicit gains ------------------------------------------------------------ */

static const char *const servo =
    "<mujoco xmlns:sti='urn:stiction'><option timestep='%g' gravity='0 0 0'/><worldbody><body>"
    "<joint name='j' type='slide' axis='1 0 0'/><geom size='.1' mass='2'/></body></worldbody><actuator>"
    "<position joint='j' kp='1e7' kv='50' sti:implicit='true' forcerange='-40 60'/></actuator></mujoco>";

/* kp = 1e7 N/m on 2 kg, far beyond what explicit forces survive: each step is v+ = v + h f / m with the force at the end
   of the step, clamped; it goes to its target and stays there, with every integrator but RK4. */
TEST(stiff_servo) {
    static const int kinds[] = {STI_INTEGRATOR_EULER, STI_INTEGRATOR_IMPLICIT, STI_INTEGRATOR_IMPLICITFAST};
    EACH_STEP(h) for (int k = 0; k < 3; k++) {
        sti_model *m;
        sti_world *w = open(servo, h, &m);
        sti_world_option(w)->integrator = kinds[k];
        double x = 0, v = 0, kp = 1e7, kv = 50, mass = 2, u = values(w, "ctrl")[0] = 0.3;
        for (int i = 0; i < (int)(1 / h); i++) {
            double next = (mass * v + h * kp * (u - x)) / (mass + h * h * kp + h * kv);
            double force = mass * (next - v) / h;
            force = force < -40 ? -40 : force > 60 ? 60 : force;
            REQUIRE(sti_step(w, 1) == STI_OK);
            v += h * force / mass;
            x += h * v;
            CHECK_NEAR(values(w, "qvel")[0], v, 1e-9);
            CHECK_NEAR(values(w, "actuator_force")[0], force, 1e-6);
            CHECK_NEAR(values(w, "qfrc_actuator")[0], force, 1e-6);
            CHECK_NEAR(values(w, "qfrc_constraint")[0], 0, 0);
        }
        values(w, "ctrl")[0] = values(w, "qpos")[0];
        run(w, 3);
        CHECK_NEAR(values(w, "qvel")[0], 0, 1e-6);
        close(w, m);
    }
}

/* Explicit, as MuJoCo has it, the same servo leaves the world within a step or two; the switch is per actuator. */
TEST(explicit_servo) {
    sti_model *m;
    sti_world *w =
        open("<mujoco xmlns:sti='urn:stiction'><option timestep='%g' gravity='0 0 0'/><default><position "
             "sti:implicit='true'/></default><worldbody><body><joint name='j' type='slide' axis='1 0 0'/>"
             "<geom size='.1' mass='2'/></body></worldbody><actuator><position joint='j' kp='1e7' "
             "sti:implicit='false'/><position joint='j' kp='3'/></actuator></mujoco>",
             0.01, &m);
    int *implicit = sti_model_view(m, "actuator_implicit").data;
    CHECK(implicit[0] == 0 && implicit[1] == 1);
    values(w, "ctrl")[0] = 0.01;
    sti_step(w, 3);
    CHECK(!(fabs(values(w, "qpos")[0]) < 1));
    close(w, m);
}

/* A servo and a wall: the gripper presses with its force limit, the wall answers. */
TEST(servo_against_wall) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w =
            open("<mujoco xmlns:sti='urn:stiction'><option timestep='%g' gravity='0 0 0'/><worldbody><body>"
                 "<joint name='j' type='slide' axis='1 0 0'/><geom size='.1' mass='2'/></body>"
                 "<geom type='box' size='.1 1 1' pos='.3 0 0'/></worldbody><actuator>"
                 "<position joint='j' kp='1e5' kv='1e3' sti:implicit='true' forcerange='-40 "
                 "60'/></actuator></mujoco>",
                 h, &m);
        values(w, "ctrl")[0] = 1;
        run(w, 2);
        CHECK_NEAR(values(w, "actuator_force")[0], 60, 1e-9);
        CHECK_NEAR(values(w, "qfrc_constraint")[0], -60, 1e-6);
        CHECK_NEAR(values(w, "qvel")[0], 0, 1e-8);
        close(w, m);
    }
}

/* ---- closed forms: softness ------------------------------------------------------------ */

/* A ball of 2 kg on springs of our own: k in N/m is k, series where both give, the pair's own where there is a pair. */
static void check_spring(const char *floor, const char *ball, const char *extra, double k) {
    EACH_STEP(h) {
        char xml[4096];
        sti_model *m;
        snprintf(
            xml, sizeof xml,
            "<mujoco xmlns:sti='urn:stiction'><option timestep='%g'/><worldbody><geom name='f' type='plane' "
            "size='9 9 1' %s/><body pos='0 0 .1'><freejoint/><geom name='b' size='.1' mass='2' %s/></body>"
            "</worldbody>%s</mujoco>",
            h, floor, ball, extra);
        m = model_of(xml);
        sti_world *w = world_of(m);
        run(w, 3);
        int n;
        const sti_contact *c = sti_world_contacts(w, &n);
        REQUIRE(n == 1);
        CHECK_NEAR(c->stiffness, k, 1e-9 * k);
        CHECK_NEAR(0.1 - values(w, "qpos")[2], 2 * g / k, 1e-6 * 2 * g / k);
        close(w, m);
    }
}

TEST(own_stiffness) {
    check_spring("", "sti:stiffness='2000' sti:dissipation='.1'", "", 2000);
    check_spring("sti:stiffness='3000' sti:dissipation='.1'", "sti:stiffness='1500' sti:dissipation='.2'", "",
                 1000);
    check_spring("sti:stiffness='3000' priority='1' sti:dissipation='.1'", "sti:stiffness='1500'", "", 3000);
    check_spring("", "sti:stiffness='1500'",
                 "<contact><pair geom1='f' geom2='b' sti:stiffness='1200' sti:dissipation='.2'/></contact>",
                 1200);
}

/* beta sets how deep near-rigid contact rests, sigma how fast friction without memory creeps: 1 kg on its corners. */
TEST(own_beta_and_sigma) {
    EACH_STEP(h) {
        double rest[2], creep[2];
        for (int k = 0; k < 2; k++) {
            sti_model *m;
            sti_world *w = open(
                k ? "<mujoco xmlns:sti='urn:stiction'><option timestep='%g'/><sti:option memory='disable'/>"
                    "<worldbody><geom type='plane' size='9 9 1'/><body pos='0 0 .01'><freejoint/><geom "
                    "type='box' "
                    "size='.05 .05 .01' mass='1' sti:beta='2' sti:sigma='5e-3'/></body></worldbody></mujoco>"
                  : "<mujoco xmlns:sti='urn:stiction'><option timestep='%g'/><sti:option memory='disable'/>"
                    "<worldbody><geom type='plane' size='9 9 1'/><body pos='0 0 .01'><freejoint/><geom "
                    "type='box' "
                    "size='.05 .05 .01' mass='1' sti:beta='1'/></body></worldbody></mujoco>",
                h, &m);
            run(w, 2);
            rest[k] = 0.01 - values(w, "qpos")[2];
            sti_world_option(w)->gravity[0] = 1;
            run(w, 2);
            creep[k] = values(w, "qvel")[0];
            close(w, m);
        }
        CHECK_NEAR(rest[1] / rest[0], 4 * (1 + 2 / PI) / (1 + 1 / PI), 2e-3);
        CHECK_NEAR(creep[1] / creep[0], 5, 1e-2);
    }
}

/* MJCF's curve at its ends and its middle. */
TEST(impedance) {
    static const double solimp[5] = {0.2, 0.8, 0.01, 0.3, 2};
    CHECK_NEAR(sti__impedance(solimp, 0), 0.2, 0);
    CHECK_NEAR(sti__impedance(solimp, -0.003), 0.2 + 0.6 * 0.3, 1e-15);
    CHECK_NEAR(sti__impedance(solimp, 0.0015), 0.2 + 0.6 * 0.15 * 0.15 / 0.3, 1e-15);
    CHECK_NEAR(sti__impedance(solimp, 0.0065), 0.2 + 0.6 * (1 - 0.35 * 0.35 / 0.7), 1e-15);
    CHECK_NEAR(sti__impedance(solimp, 0.01), 0.8, 0);
    CHECK_NEAR(sti__impedance(solimp, INFINITY), 0.8, 0);
}

/* Friction of spin and rolling holds as well: 0.8 of what it can bear turns nothing, and nothing creeps. */
TEST(torque_on_a_ball) {
    EACH_STEP(h) {
        sti_model *m;
        sti_world *w =
            open("<mujoco><option timestep='%g'/><default><geom condim='6' friction='.5 .01 .002'/></default>"
                 "<worldbody><geom type='plane' size='9 9 1'/><body pos='0 0 .1'><freejoint/>"
                 "<geom size='.1' mass='2'/></body></worldbody></mujoco>",
                 h, &m);
        values(w, "qfrc_applied")[5] = 0.5 * 0.01 * 2 * g; /* about the normal */
        values(w, "qfrc_applied")[4] = 0.5 * 0.002 * 2 * g;
        run(w, 3);
        int n;
        const sti_contact *c = sti_world_contacts(w, &n);
        REQUIRE(n == 1);
        CHECK(c->region == STI_REGION_STICK);
        for (int k = 0; k < 6; k++) CHECK_NEAR(values(w, "qvel")[k], 0, 1e-9);
        CHECK_NEAR(c->force[3], -0.5 * 0.01 * 2 * g, 1e-6);
        close(w, m);
    }
}

/* ---- bad input ------------------------------------------------------------ */

static void refused(const char *body, const char *rest, sti_status code, const char *attribute) {
    char xml[2048];
    sti_error error = {0};
    snprintf(
        xml, sizeof xml,
        "<mujoco xmlns:sti='urn:stiction'><worldbody><site name='s'/><geom name='f' type='plane' size='1 1 "
        "1'/>\n"
        "<body><joint name='j' type='slide' actuatorfrcrange='-1 1'/><geom name='b' size='.1' mass='2' %s/>"
        "<site name='p'/></body></worldbody>%s</mujoco>",
        body, rest);
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, &error);
    sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    CHECK(!model);
    CHECK(error.code == code);
    if (error.code != code || (attribute && strcmp(error.attribute, attribute) != 0))
        fprintf(stderr, "%s: %s (%s)\n", rest, error.message, error.attribute);
    if (attribute) CHECK(strcmp(error.attribute, attribute) == 0);
    CHECK(error.line > 0);
    sti_model_free(model);
    sti_spec_free(spec);
}

TEST(bad_input) {
#define EQ(text) "<equality>" text "</equality>"
    refused("sti:stiffness='0'", "", STI_VALUE, "stiffness");
    refused("sti:stiffness='-1'", "", STI_VALUE, "stiffness");
    refused("sti:dissipation='.1'", "", STI_VALUE, "dissipation");
    refused("sti:stiffness='1' sti:dissipation='-.1'", "", STI_VALUE, "dissipation");
    refused("sti:beta='0'", "", STI_VALUE, "beta");
    refused("sti:sigma='-2'", "", STI_VALUE, "sigma");
    refused("stiffness='1'", "", STI_SCHEMA, "stiffness"); /* only in our namespace */
    refused("", EQ("<sti:distance/>"), STI_VALUE, NULL);
    refused("", EQ("<distance geom1='f' geom2='b'/>"), STI_SCHEMA, NULL);
    refused("", EQ("<sti:distance site1='s'/>"), STI_VALUE, "site2");
    refused("", EQ("<sti:distance site1='s' site2='p' geom1='f'/>"), STI_VALUE, NULL);
    refused("", EQ("<sti:distance site1='s' site2='p' distance='0'/>"), STI_VALUE, "distance");
    refused("", EQ("<sti:distance geom1='b' geom2='b'/>"), STI_VALUE, "geom2");
    refused("", EQ("<sti:distance geom1='b' geom2='q'/>"), STI_REFERENCE, "geom2");
    refused("", "<actuator><position joint='j' sti:implicit='true'/></actuator>", STI_UNSUPPORTED,
            "implicit");
    refused("", "<actuator><position joint='j' sti:implicit='yes'/></actuator>", STI_VALUE, "implicit");
}

MAIN(CASE(derivatives), CASE(weld_derivative), CASE(contact_derivatives), CASE(gain_law), CASE(tendon_limit),
     CASE(tendon_friction), CASE(tendon_equality), CASE(joint_equality), CASE(connect), CASE(weld),
     CASE(distance_of_sites), CASE(distance_of_geoms), CASE(stiff_servo), CASE(explicit_servo),
     CASE(servo_against_wall), CASE(own_stiffness), CASE(own_beta_and_sigma), CASE(impedance),
     CASE(torque_on_a_ball), CASE(bad_input))
