/* SPDX-License-Identifier: Apache-2.0 */
/* The smooth kernels against mechanics: energies, differences of positions, closed forms; and all
   compiled variants of them against each other, bit for bit. */
#include "scene.h"

#include "base/isa.h"
#include "dynamics/kernels.h"
#include "model/state.h"

/* All joint kinds, bodies with several joints, off-centre joints and masses, a static body, a
   mocap body, two trees, springs, dampers, compensation, a tendon, cameras that look at things. */
static const char mixed_xml[] =
    "<mujoco><compiler angle='radian'/><option timestep='0.001' gravity='0.3 -0.2 -9.81'/><worldbody>"
    "<camera name='watch' pos='3 0 2' mode='targetbodycom' target='trunk'/>"
    "<light pos='0 0 4' mode='trackcom'/>"
    "<body name='wall' pos='1 2 3' quat='0.8 0.6 0 0'><geom size='0.3'/></body>"
    "<body name='hand' mocap='true' pos='0 1 1'><geom size='0.05'/>"
    "<site name='s0' pos='0.1 0 0'/></body>"
    "<body name='trunk' pos='0 0 1'><freejoint/>"
    "<geom type='box' size='0.2 0.1 0.3' pos='0.02 0.01 0' euler='0.3 0.2 0.1'/>"
    "<body name='arm' pos='0.2 0 0.3' quat='0.9 0.1 -0.3 0.2'>"
    "<joint type='ball' pos='0.01 0 0.02' stiffness='2' damping='0.1'/>"
    "<geom type='capsule' size='0.04' fromto='0 0 0 0.3 0 0'/>"
    "<body name='elbow' pos='0.3 0 0' gravcomp='0.7'>"
    "<joint name='e1' axis='0 1 0' pos='0.02 0 0' stiffness='1.5' springref='0.3' damping='0.2' "
    "armature='0.05'/>"
    "<joint name='e2' axis='1 0.2 0' damping='0.1'/>"
    "<geom type='capsule' size='0.03' fromto='0 0 0 0.25 0.05 0'/><site name='s1' pos='0.2 0 0'/>"
    "<camera mode='track'/></body></body>"
    "<body name='leg' pos='-0.1 0 -0.3'><joint name='l1' axis='1 0 0' range='-1 1'/>"
    "<joint name='l2' type='slide' axis='0.1 0 1' stiffness='50' damping='1'/>"
    "<geom type='cylinder' size='0.05 0.2' pos='0 0 -0.2'/>"
    "<body pos='0 0 -0.4'><geom type='ellipsoid' size='0.1 0.05 0.03' quat='0.7 0 0.7 "
    "0'/></body></body></body>"
    "<body name='cart' pos='2 0 0'><joint name='c1' type='slide' axis='1 0 0' ref='0.1'/><geom size='0.1'/>"
    "<body pos='0 0 0.1' euler='0.4 0 0'><joint name='c2' axis='0 1 0' ref='0.2' armature='0.01'/>"
    "<geom type='capsule' size='0.02' fromto='0 0 0 0.1 0 0.5'/></body></body>"
    "</worldbody><tendon>"
    "<fixed name='t1' stiffness='3' damping='0.5'><joint joint='e1' coef='0.4'/><joint joint='l1' "
    "coef='-1'/></fixed>"
    "<spatial name='t2' stiffness='20' damping='0.3' springlength='0.1 0.4'><site site='s0'/><site "
    "site='s1'/></spatial>"
    "</tendon><actuator><motor joint='c1' gear='2'/><position joint='e2' kp='4'/></actuator></mujoco>";

static double sample(void) { return rand() / (RAND_MAX + 1.0) * 2 - 1; }

static sti_state *state_of(const sti_model *model, int lanes) {
    sti_error error = {0};
    sti_state *s = sti__state_create(model, lanes, NULL, &error);
    REQUIRE(s);
    s->wanted = STI__WANT_ALL;
    return s;
}

/* Everything that one world takes in, drawn at random; the same lane always gets the same. */
static void randomise(sti_state *s, int lane, unsigned seed) {
    const sti_model *m = s->model;
    int n = s->lanes;
    srand(seed);
    for (int i = 0; i < m->nq; i++) s->qpos[i * n + lane] = m->qpos0[i] + 0.7 * sample();
    for (int i = 0; i < m->nv; i++) s->qvel[i * n + lane] = sample();
    for (int i = 0; i < m->nv; i++) s->qfrc_applied[i * n + lane] = sample();
    for (int i = 0; i < m->nu; i++) s->ctrl[i * n + lane] = sample();
    for (int i = 0; i < 3 * m->nmocap; i++) s->mocap_pos[i * n + lane] = sample();
    for (int i = 0; i < 4 * m->nmocap; i++) s->mocap_quat[i * n + lane] = sample();
    if (seed % 2)
        for (int i = 0; i < 6 * m->nbody; i++) s->xfrc_applied[i * n + lane] = sample();
}

static void forward(const sti__kernels *k, sti_state *s) {
    k->kinematics(s);
    k->inertia(s);
    k->tendon(s);
    k->factor(s);
    k->transmission(s);
    k->velocity(s);
    k->passive(s);
    k->bias(s);
    k->actuation(s);
    k->acceleration(s);
    k->energy(s);
    k->subtree(s);
    k->rnepost(s);
}

/* Element (i, j) of the symmetric matrix. */
static double mass_entry(const sti_state *s, int i, int j) {
    const sti_model *m = s->model;
    int row = i > j ? i : j, column = i > j ? j : i;
    for (int k = m->M_rowadr[row]; k < m->M_rowadr[row] + m->M_rownnz[row]; k++)
        if (m->M_colind[k] == column) return s->M[k];
    return 0;
}

/* ---- mechanics --------------------------------------------------------------------------------------- */

/* Kinetic energy of the bodies, from the motion of their centres of mass and their spin. */
static double body_energy(const sti__kernels *k, sti_state *s, const double *qvel) {
    const sti_model *m = s->model;
    double energy = 0;
    memcpy(s->qvel, qvel, (size_t)m->nv * sizeof *qvel);
    k->velocity(s);
    for (int i = 1; i < m->nbody; i++) {
        const double *w = s->cvel + 6 * i, *com = s->subtree_com + 3 * m->body_rootid[i],
                     *R = s->ximat + 9 * i;
        double p[3];
        for (int c = 0; c < 3; c++) p[c] = s->xipos[3 * i + c] - com[c];
        double v[3] = {w[3] + w[1] * p[2] - w[2] * p[1], w[4] + w[2] * p[0] - w[0] * p[2],
                       w[5] + w[0] * p[1] - w[1] * p[0]};
        for (int c = 0; c < 3; c++) {
            double spin = R[c] * w[0] + R[3 + c] * w[1] + R[6 + c] * w[2];
            energy += 0.5 * (m->body_mass[i] * v[c] * v[c] + m->body_inertia[3 * i + c] * spin * spin);
        }
    }
    return energy;
}

TEST(mass_matrix_is_the_hessian_of_kinetic_energy) {
    sti_model *model = model_of(mixed_xml);
    const sti__kernels *k = sti__kernels_get(1);
    sti_state *s = state_of(model, 1);
    randomise(s, 0, 3);
    k->kinematics(s);
    k->inertia(s);
    double v[64] = {0}, own[64];
    REQUIRE(model->nv <= 64);
    for (int i = 0; i < model->nv; i++) {
        v[i] = 1;
        own[i] = body_energy(k, s, v);
        v[i] = 0;
    }
    for (int i = 0; i < model->nv; i++)
        for (int j = 0; j <= i; j++) {
            v[i] += 1;
            v[j] += 1;
            double both = body_energy(k, s, v), expected = both - own[i] - own[j];
            v[i] = v[j] = 0;
            if (i == j) expected += model->dof_armature[i];
            CHECK_NEAR(mass_entry(s, i, j), expected, 1e-12);
        }
    sti__state_free(s);
    sti_model_free(model);
}

/* Bodies move as cvel says when the configuration moves along qvel. */
TEST(velocities_are_rates_of_positions) {
    sti_model *model = model_of(mixed_xml);
    const sti__kernels *k = sti__kernels_get(1);
    sti_state *s = state_of(model, 1), *before = state_of(model, 1), *after = state_of(model, 1);
    double h = 1e-6;
    randomise(s, 0, 5);
    memcpy(before->qpos, s->qpos, (size_t)model->nq * sizeof(double));
    memcpy(after->qpos, s->qpos, (size_t)model->nq * sizeof(double));
    for (int v = 0; v < 2; v++) {
        sti_state *other = v ? after : before;
        memcpy(other->mocap_pos, s->mocap_pos, 3 * (size_t)model->nmocap * sizeof(double));
        memcpy(other->mocap_quat, s->mocap_quat, 4 * (size_t)model->nmocap * sizeof(double));
    }
    k->integrate_pos(s, before->qpos, s->qvel, -h);
    k->integrate_pos(s, after->qpos, s->qvel, h);
    forward(k, s);
    forward(k, before);
    forward(k, after);
    for (int i = 1; i < model->nbody; i++) {
        const double *w = s->cvel + 6 * i, *com = s->subtree_com + 3 * model->body_rootid[i];
        for (int c = 0; c < 3; c++) {
            int a = (c + 1) % 3, b = (c + 2) % 3;
            double pa = s->xipos[3 * i + a] - com[a], pb = s->xipos[3 * i + b] - com[b];
            double rate = (after->xipos[3 * i + c] - before->xipos[3 * i + c]) / (2 * h);
            CHECK_NEAR(w[3 + c] + w[a] * pb - w[b] * pa, rate, 1e-8);
            for (int x = 0; x < 3; x++) {
                double turn = (after->xmat[9 * i + 3 * c + x] - before->xmat[9 * i + 3 * c + x]) / (2 * h);
                double R_a = s->xmat[9 * i + 3 * a + x], R_b = s->xmat[9 * i + 3 * b + x];
                CHECK_NEAR(w[a] * R_b - w[b] * R_a, turn, 1e-8);
            }
        }
    }
    for (int i = 0; i < model->ntendon; i++)
        CHECK_NEAR(s->ten_velocity[i], (after->ten_length[i] - before->ten_length[i]) / (2 * h), 1e-8);
    sti__state_free(s);
    sti__state_free(before);
    sti__state_free(after);
    sti_model_free(model);
}

TEST(factors_multiply_back_and_solve) {
    sti_model *model = model_of(mixed_xml);
    const sti__kernels *k = sti__kernels_get(1);
    sti_state *s = state_of(model, 1);
    randomise(s, 0, 7);
    forward(k, s);
    int n = model->nv;
    double L[64][64] = {{0}}, D[64], x[64];
    for (int i = 0; i < n; i++) {
        for (int e = model->M_rowadr[i]; e < model->M_rowadr[i] + model->M_rownnz[i]; e++)
            L[i][model->M_colind[e]] = s->qLD[e];
        D[i] = L[i][i];
        L[i][i] = 1;
        CHECK(D[i] > 0); /* positive definite */
        CHECK_NEAR(D[i] * s->qLDiagInv[i], 1, 1e-15);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double sum = 0;
            for (int r = 0; r < n; r++) sum += L[r][i] * D[r] * L[r][j];
            CHECK_NEAR(sum, mass_entry(s, i, j), 1e-13);
        }
    for (int i = 0; i < n; i++) x[i] = sin(i + 1);
    k->solve_m(s, x);
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++) sum += mass_entry(s, i, j) * x[j];
        CHECK_NEAR(sum, sin(i + 1), 1e-11);
    }
    sti__state_free(s);
    sti_model_free(model);
}

/* M qacc_smooth is the sum of all forces; without inputs that is passive - bias. */
TEST(accelerations_balance_forces) {
    sti_model *model = model_of(mixed_xml);
    const sti__kernels *k = sti__kernels_get(1);
    sti_state *s = state_of(model, 1);
    randomise(s, 0, 4);
    forward(k, s);
    for (int i = 0; i < model->nv; i++) {
        double sum = s->qfrc_bias[i] - s->qfrc_passive[i] - s->qfrc_applied[i] - s->qfrc_actuator[i];
        for (int j = 0; j < model->nv; j++) sum += mass_entry(s, i, j) * s->qacc_smooth[j];
        CHECK_NEAR(sum, 0, 1e-11);
    }
    sti__state_free(s);
    sti_model_free(model);
}

/* A push on a body does the work force * velocity of the point it acts on. */
TEST(pushes_do_work) {
    sti_model *model = model_of(mixed_xml);
    const sti__kernels *k = sti__kernels_get(1);
    sti_state *s = state_of(model, 1);
    randomise(s, 0, 9);
    forward(k, s);
    double with = 0, without = 0, power = 0;
    for (int d = 0; d < model->nv; d++) with += s->qfrc_smooth[d] * s->qvel[d];
    for (int i = 1; i < model->nbody; i++) {
        const double *w = s->cvel + 6 * i, *com = s->subtree_com + 3 * model->body_rootid[i];
        const double *f = s->xfrc_applied + 6 * i;
        for (int c = 0; c < 3; c++) {
            int a = (c + 1) % 3, b = (c + 2) % 3;
            double pa = s->xipos[3 * i + a] - com[a], pb = s->xipos[3 * i + b] - com[b];
            power += f[c] * (w[3 + c] + w[a] * pb - w[b] * pa) + f[3 + c] * w[c];
        }
    }
    memset(s->xfrc_applied, 0, 6 * (size_t)model->nbody * sizeof(double));
    forward(k, s);
    for (int d = 0; d < model->nv; d++) without += s->qfrc_smooth[d] * s->qvel[d];
    CHECK_NEAR(with - without, power, 1e-12);
    sti__state_free(s);
    sti_model_free(model);
}

/* ---- closed forms ------------------------------------------------------------------------------------- */

TEST(pendulum) {
    sti_model *model =
        model_of("<mujoco><compiler angle='radian'/><worldbody><body>"
                 "<joint axis='0 1 0'/><inertial pos='0 0 -0.7' mass='2' diaginertia='0.1 0.2 0.3'/>"
                 "</body></worldbody></mujoco>");
    const sti__kernels *k = sti__kernels_get(1);
    sti_state *s = state_of(model, 1);
    for (int i = -8; i <= 8; i++) {
        s->qpos[0] = 0.4 * i;
        s->qvel[0] = 1.5;
        forward(k, s);
        CHECK_NEAR(s->M[0], 0.2 + 2 * 0.7 * 0.7, 1e-15);
        CHECK_NEAR(s->qfrc_bias[0], 2 * 9.81 * 0.7 * sin(0.4 * i), 1e-14);
        CHECK_NEAR(s->energy[0], -2 * 9.81 * 0.7 * cos(0.4 * i), 1e-14);
        CHECK_NEAR(s->energy[1], 0.5 * s->M[0] * 1.5 * 1.5, 1e-15);
    }
    sti__state_free(s);
    sti_model_free(model);
}

TEST(spinning_body) {
    sti_model *model =
        model_of("<mujoco><option gravity='0 0 0'/><worldbody><body><freejoint/>"
                 "<inertial pos='0 0 0' mass='2' diaginertia='0.3 0.2 0.15'/></body></worldbody></mujoco>");
    const sti__kernels *k = sti__kernels_get(1);
    sti_state *s = state_of(model, 1);
    const double I[3] = {0.3, 0.2, 0.15};
    for (int t = 0; t < 10; t++) {
        randomise(s, 0, (unsigned)t * 2);
        forward(k, s);
        const double *w = s->qvel + 3;
        for (int c = 0; c < 3; c++) {
            int a = (c + 1) % 3, b = (c + 2) % 3;
            CHECK_NEAR(s->qfrc_bias[c], 0, 1e-14);
            CHECK_NEAR(s->qfrc_bias[3 + c], (I[b] - I[a]) * w[a] * w[b], 1e-14); /* w x I w */
        }
    }
    sti__state_free(s);
    sti_model_free(model);
}

/* A ball spring turned by a rotation vector pulls back along it; gravity compensation holds a body still. */
TEST(passive_forces) {
    sti_model *model = model_of(
        "<mujoco><worldbody><body gravcomp='1'><joint type='ball' stiffness='3' damping='0.5'/>"
        "<inertial pos='0.1 0.2 0.3' mass='2' diaginertia='0.1 0.1 0.1'/></body></worldbody></mujoco>");
    const sti__kernels *k = sti__kernels_get(1);
    sti_state *s = state_of(model, 1);
    const double r[3] = {0.3, -0.5, 0.2};
    k->integrate_pos(s, s->qpos, r, 1);
    for (int c = 0; c < 3; c++) s->qvel[c] = c + 1;
    forward(k, s);
    for (int c = 0; c < 3; c++) {
        CHECK_NEAR(s->qfrc_spring[c], -3 * r[c], 1e-14);
        CHECK_NEAR(s->qfrc_damper[c], -0.5 * (c + 1), 1e-15);
        CHECK_NEAR(s->qfrc_passive[c], s->qfrc_spring[c] + s->qfrc_damper[c] + s->qfrc_gravcomp[c], 1e-14);
    }
    CHECK_NEAR(s->energy[0], 0.5 * 3 * 0.38 + 2 * 9.81 * s->xipos[5], 1e-13);
    memset(s->qvel, 0, 3 * sizeof(double));
    forward(k, s);
    for (int c = 0; c < 3; c++) CHECK_NEAR(s->qfrc_gravcomp[c], s->qfrc_bias[c], 1e-13);
    sti__state_free(s);
    sti_model_free(model);
}

/* ---- conservation
   -------------------------------------------------------------------------------------------- */

TEST(energy_is_conserved) {
    sti_model *model = model_of(mixed_xml);
    for (int d = 0; d < model->nv; d++) model->dof_damping[d] = 0;
    for (int i = 0; i < model->ntendon; i++) model->tendon_damping[i] = 0;
    for (int i = 0; i < model->nbody; i++) model->body_gravcomp[i] = 0;
    for (int i = 0; i < 10 * model->nu; i++) model->actuator_gainprm[i] = model->actuator_biasprm[i] = 0;
    sti_world *world = world_of(model);
    sti_option *option = sti_world_option(world);
    option->integrator = STI_INTEGRATOR_RK4;
    option->timestep = 1e-3;
    double *qvel = values(world, "qvel");
    const double *energy = values(world, "energy");
    for (int d = 0; d < model->nv; d++) qvel[d] = sin(3 * d);
    REQUIRE(sti_forward(world) == STI_OK);
    double start = energy[0] + energy[1];
    REQUIRE(sti_step(world, 300) == STI_OK && sti_forward(world) == STI_OK);
    CHECK(fabs(energy[1]) > 1);
    CHECK_NEAR(energy[0] + energy[1], start, 1e-8 * (fabs(energy[0]) + energy[1]));
    sti_world_destroy(world);
    sti_model_free(model);
}

/* ---- the same bits from all variants
   ------------------------------------------------------------------------------ */

static size_t field_size(const sti_model *m, const char *name) {
#define X(text, meaning)                 \
    const size_t text = (size_t)m->text; \
    (void)text;
    STI_MODEL_SIZES(X)
#undef X
#define X(field, rows, cols, role) \
    if (strcmp(name, #field) == 0) return (size_t)(rows) * (size_t)(cols);
    STI_STATE_FIELDS(X)
#undef X
    return 0;
}

/* Whether element i of a field of nM elements lies between rows. */
static bool is_padding(const sti_model *m, const double *field, const sti_state *s, size_t i) {
    if (field != s->M && field != s->qLD) return false;
    for (int r = 0; r < m->nv; r++)
        if ((int)i >= m->M_rowadr[r] && (int)i < m->M_rowadr[r] + m->M_rownnz[r]) return false;
    return true;
}

/* Lane `lane` of a, against lane `other` of b, without the fields that are scratch. */
#define SHOWN_S true
#define SHOWN_I true
#define SHOWN_D true
#define SHOWN_T false
static void check_same_bits(const sti_state *a, int lane, const sti_state *b, int other, const char *what) {
#define X(name, rows, cols, role)                                                                           \
    for (size_t i = 0, n = field_size(a->model, #name); SHOWN_##role && i < n; i++) {                       \
        const double *x = a->name + i * (size_t)a->lanes + lane,                                            \
                     *y = b->name + i * (size_t)b->lanes + other;                                           \
        bool same = memcmp(x, y, sizeof *x) == 0 || is_padding(a->model, a->name, a, i);                    \
        if (!same) fprintf(stderr, "%s: lane %d of %s[%zu]: %.17g, %.17g\n", what, lane, #name, i, *x, *y); \
        CHECK(same);                                                                                        \
        if (!same) break;                                                                                   \
    }
    STI_STATE_FIELDS(X)
#undef X
}

static void step_twice(const sti__kernels *k, sti_state *s) {
    for (int i = 0; i < 2; i++) {
        forward(k, s);
        k->euler(s);
        k->advance(s, s->qacc_step, s->act_dot, NULL);
    }
    forward(k, s);
}

/* Values for eight worlds: some keep the model's, some lose them, others get new ones. */
static double *varied(const double *values, size_t rows, int cols, bool quat) {
    double *out = sti__alloc_aligned(sti__allocator(NULL), (rows * (size_t)cols * 8 + 8) * sizeof *out);
    for (size_t i = 0; i < rows; i++)
        for (int l = 0; l < 8; l++) {
            double v[4], norm = 0;
            for (int c = 0; c < cols; c++) {
                v[c] = values[i * (size_t)cols + (size_t)c];
                if (l % 4 == 1) v[c] = quat ? c == 0 : 0;
                if (l % 4 >= 2) v[c] = v[c] * (1 + 0.2 * sample()) + (quat ? 0.1 * sample() : 0);
                norm += v[c] * v[c];
            }
            for (int c = 0; c < cols; c++)
                out[(i * (size_t)cols + (size_t)c) * 8 + (size_t)l] = quat ? v[c] / sqrt(norm) : v[c];
        }
    return out;
}

/* Fields that worlds may have on their own; mass and inertia are not among those that may vanish. */
/* clang-format off */
#define VARIED(X)                                                                                  \
    X(body_pos, nbody, 3, false)                                                                   \
    X(body_quat, nbody, 4, true)                                                                   \
    X(body_ipos, nbody, 3, false)                                                                  \
    X(body_iquat, nbody, 4, true) X(body_gravcomp, nbody, 1, false) X(jnt_pos, njnt, 3, false)     \
        X(jnt_stiffness, njnt, 1, false) X(dof_damping, nv, 1, false) X(geom_quat, ngeom, 4, true) \
            X(geom_pos, ngeom, 3, false) X(tendon_stiffness, ntendon, 1, false) X(qpos_spring, nq, 1, false)
/* clang-format on */

static void free_varied(double *p, size_t values) {
    sti__free_aligned(sti__allocator(NULL), p, (values * 8 + 8) * sizeof *p);
}

static void compare_variants(const sti_model *m, bool own) {
    const sti__kernels *table[5] = {sti__kernels_get(8), sti__kernels_baseline(8), sti__kernels_get(1),
                                    sti__kernels_middle(1), sti__kernels_baseline(1)};
    sti_state *state[5];
#define X(name, rows, cols, quat) double *name = own ? varied(m->name, (size_t)m->rows, cols, quat) : NULL;
    VARIED(X)
#undef X
    for (int v = 0; v < 5; v++) state[v] = state_of(m, v < 2 ? 8 : 1);
    for (int v = 0; v < 2; v++) {
        for (int l = 0; l < 8; l++) randomise(state[v], l, (unsigned)l + 11);
#define X(name, rows, cols, quat) \
    if (own) state[v]->par.name = name, state[v]->par.name##_own = 1;
        VARIED(X)
#undef X
        step_twice(table[v], state[v]);
    }
    for (int l = 0; l < 8; l++) {
        check_same_bits(state[0], l, state[1], l, "instruction sets at width 8");
        for (int v = 2; v < 5; v++) {
            sti__state_free(state[v]);
            state[v] = state_of(m, 1);
            randomise(state[v], 0, (unsigned)l + 11);
#define X(name, rows, cols, quat)                                                         \
    double single_##name[64 * 4];                                                         \
    for (int i = 0; own && i < m->rows * (cols); i++) single_##name[i] = name[8 * i + l]; \
    if (own) state[v]->par.name = single_##name, state[v]->par.name##_own = 1;
            VARIED(X)
#undef X
            step_twice(table[v], state[v]);
            check_same_bits(state[v], 0, state[0], l, v < 4 ? "width 1" : "plain width 1");
        }
    }
    for (int v = 0; v < 5; v++) sti__state_free(state[v]);
#define X(name, rows, cols, quat) \
    if (own) free_varied(name, (size_t)m->rows *(cols));
    VARIED(X)
#undef X
}

TEST(variants_agree) {
    sti_model *model = model_of(mixed_xml);
    compare_variants(model, false);
    sti_model_free(model);
}

TEST(variants_agree_with_parameters_of_their_own) {
    sti_model *model = model_of(mixed_xml);
    REQUIRE(model->nbody <= 64 && model->nq <= 64 && model->ngeom <= 64);
    compare_variants(model, true);
    sti_model_free(model);
}

/* Kernels of older machines run, under sanitizers too, on those that have newer ones. */
TEST(instruction_sets_can_be_held_back) {
    const char *before = getenv("STI_ISA");
    char kept[16];
    snprintf(kept, sizeof kept, "%s", before ? before : "");
    static const int widths[] = {1, 4, 8};
    for (int k = 0; k < 3; k++) {
        int lanes = widths[k];
        setenv("STI_ISA", "0", 1);
        CHECK(sti__kernels_get(lanes) == sti__kernels_baseline(lanes));
        setenv("STI_ISA", "1", 1);
        CHECK(sti__kernels_get(lanes) == sti__kernels_middle(lanes));
    }
#ifdef STI_HAVE_ISA
    unsetenv("STI_ISA");
    CHECK((sti__kernels_get(1) != sti__kernels_baseline(1)) == sti__has_avx2());
    CHECK((sti__kernels_get(4) != sti__kernels_baseline(4)) == sti__has_avx2());
    CHECK((sti__kernels_get(8) != sti__kernels_baseline(8)) == sti__has_avx512());
#endif
    if (before) setenv("STI_ISA", kept, 1);
}

MAIN(CASE(instruction_sets_can_be_held_back), CASE(mass_matrix_is_the_hessian_of_kinetic_energy),
     CASE(velocities_are_rates_of_positions), CASE(factors_multiply_back_and_solve),
     CASE(accelerations_balance_forces), CASE(pushes_do_work), CASE(pendulum), CASE(spinning_body),
     CASE(passive_forces), CASE(energy_is_conserved), CASE(variants_agree),
     CASE(variants_agree_with_parameters_of_their_own))
