/* SPDX-License-Identifier: Apache-2.0 */
/* Controls and activation states to forces, within their limits. */
#include "dynamics/actuation.h"
#include "base/det.h"
#include "dynamics/history.h"
#include "dynamics/motor.h"
#include "dynamics/muscle.h"
#include "dynamics/orientation.h"
#include "dynamics/servo.h"

void STI_K(actuation)(sti_state *s);

static inline vreal par_clamp(vreal x, const double *range, int own, int i) {
    vreal r[2];
    par_row(r, range, own, i, 2);
    return v_clamp(x, r[0], r[1]);
}
#define PAR_CLAMP(x, s, name, i) par_clamp(x, (s)->par.name, (s)->par.name##_own, i)

static vreal within(vreal x, vreal middle, vreal away) { return v_clamp(x, middle - away, middle + away); }

/* Within limits of which 0 is none. */
static vreal bounded_by(vreal x, vreal most) {
    return v_select(v_lt(v_set(0), most), within(x, v_set(0), most), x);
}

static vreal time_constant(const sti_state *s, int i) {
    return v_max(v_set(1e-15), PAR(s, actuator_dynprm, 10 * i));
}

/* The same of a dcmotor. */
static vreal next_of_motor(const sti_state *s, int i, int k, vreal act, vreal act_dot) {
    const sti_model *m = s->model;
    if (k == motor_state(m, i, STI_MOTOR_BRISTLE)) return bristle_next(s, i, act);
    if (k == motor_state(m, i, STI_MOTOR_CURRENT)) return act + act_dot * DYN(s, i, 0) * current_share(s, i);
    vreal next = act + act_dot * v_set(s->opt.timestep);
    return k == motor_state(m, i, STI_MOTOR_INTEGRAL) ? bounded_by(next, DYN(s, i, 8)) : next;
}

vreal STI_K(next_activation)(const sti_state *s, int i, int k, vreal act, vreal act_dot) {
    const sti_model *m = s->model;
    if (m->actuator_dyntype[i] == STI_DYN_DCMOTOR) return next_of_motor(s, i, k, act, act_dot);
    if (m->actuator_dyntype[i] == STI_DYN_FILTEREXACT) {
        vreal tau = time_constant(s, i), x = v_set(-s->opt.timestep) / tau, decay;
        V_MAP1(decay, sti__exp, x);
        act = act + act_dot * tau * (v_set(1) - decay);
    } else act = act + act_dot * v_set(s->opt.timestep);
    return m->actuator_actlimited[i] ? PAR_CLAMP(act, s, actuator_actrange, i) : act;
}

/* Control k of actuator i, delayed. */
static inline vreal raw_control(const sti_state *s, int i, int k) {
    vreal x;
    if (!sti__is_delayed(s->model, i)) return CLANES(s->ctrl)[s->model->actuator_ctrladr[i] + k];
    for (int l = 0; l < STI_LANES; l++) V_LANE(x, l) = sti__delayed_control(s, i, k, l);
    return x;
}

/* The same within its range. */
static inline vreal control(const sti_state *s, int i, int k) {
    int at = s->model->actuator_ctrladr[i] + k;
    vreal ctrl = raw_control(s, i, k);
    if (!s->model->actuator_ctrllimited[at] || (s->opt.disableflags & STI_DISABLE_CLAMPCTRL)) return ctrl;
    return PAR_CLAMP(ctrl, s, actuator_ctrlrange, at);
}

vreal STI_K(actuator_input)(const sti_state *s, int i) {
    const sti_model *m = s->model;
    if (m->actuator_dyntype[i] != STI_DYN_NONE) {
        int k = m->actuator_actadr[i] + m->actuator_actnum[i] - 1;
        vreal act = CLANES(s->act)[k];
        return m->actuator_actearly[i] ? STI_K(next_activation)(s, i, k, act, CLANES(s->act_dot)[k]) : act;
    }
    return control(s, i, 0);
}

/* Where the activations of a pid are, -1 if there are none. */
typedef struct pid_states {
    int integral, last;
} pid_states;

static pid_states pid_states_of(const sti_model *m, int i) {
    int at = m->actuator_actadr[i], integral = (m->actuator_pid[i] & STI_PID_INTEGRAL) != 0;
    return (pid_states){integral ? at : -1, m->actuator_pid[i] & STI_PID_RATE_LIMIT ? at + integral : -1};
}

/* What a pid follows: the control, or the activation that it drives, no faster than its largest rate. At time 0 there was no
   control before. */
static vreal pid_input(const sti_state *s, int i, bool early) {
    const sti_model *m = s->model;
    vreal input = raw_control(s, i, 0), h = v_set(s->opt.timestep);
    int at = m->actuator_ctrladr[i];
    pid_states k = pid_states_of(m, i);
    if (m->actuator_dyntype[i] != STI_DYN_NONE) {
        int last = m->actuator_actadr[i] + m->actuator_actnum[i] - 1;
        input = CLANES(s->act)[last];
        if (early) input = STI_K(next_activation)(s, i, last, input, CLANES(s->act_dot)[last]);
    } else if (m->actuator_ctrllimited[at]) input = PAR_CLAMP(input, s, actuator_ctrlrange, at);
    if (k.last < 0) return input;
    vreal slow = within(input, CLANES(s->act)[k.last], PAR(s, actuator_pidprm, 5 * i + 4) * h);
    return v_select(v_lt(v_set(0), CLANES(s->time)[0]), slow, input);
}

/* The integral of the error at the end of the step. */
static vreal pid_integral(const sti_state *s, int i, vreal error) {
    vreal sum = CLANES(s->act)[pid_states_of(s->model, i).integral] + error * v_set(s->opt.timestep);
    if (!(s->model->actuator_pid[i] & STI_PID_INTEGRAL_LIMIT)) return sum;
    return within(sum, v_set(0), PAR(s, actuator_pidprm, 5 * i + 3));
}

/* Activations are held values: their rates lead to those of the end of the step. */
static void pid_rates(const sti_state *s, int i) {
    vreal *dot = LANES(s->act_dot), input = pid_input(s, i, false), h = v_set(s->opt.timestep);
    const vreal *act = CLANES(s->act);
    pid_states k = pid_states_of(s->model, i);
    if (k.integral >= 0)
        dot[k.integral] =
            (pid_integral(s, i, input - CLANES(s->actuator_length)[OUT(s, i)]) - act[k.integral]) / h;
    if (k.last >= 0) dot[k.last] = (input - act[k.last]) / h;
}

static vreal pid_force(const sti_state *s, int i) {
    const sti_model *m = s->model;
    vreal error = pid_input(s, i, m->actuator_actearly[i]) - CLANES(s->actuator_length)[OUT(s, i)],
          rate = v_set(0);
    if (m->actuator_dyntype[i] != STI_DYN_NONE)
        rate = CLANES(s->act_dot)[m->actuator_actadr[i] + m->actuator_actnum[i] - 1];
    rate = rate - CLANES(s->actuator_velocity)[OUT(s, i)];
    vreal force = PAR(s, actuator_pidprm, 5 * i) * error + PAR(s, actuator_pidprm, 5 * i + 2) * rate;
    if (!(m->actuator_pid[i] & STI_PID_INTEGRAL)) return force;
    return force + PAR(s, actuator_pidprm, 5 * i + 1) * pid_integral(s, i, error);
}

/* ---- pid and dcmotor ------------------------------------------------------------------------------------------- */

static motor_inputs motor_inputs_of(const sti_state *s, int i) {
    const sti_model *m = s->model;
    vreal input[4], zero = v_set(0);
    int slow = motor_state(m, i, STI_MOTOR_SETPOINT);
    for (int b = 0, k = 0; b < 4; b++)
        input[b] = m->actuator_ctrlspec[i] >> b & 1 ? control(s, i, k++) : zero;
    int first = m->actuator_ctrlspec[i] & STI_INPUT_POSITION   ? 0
                : m->actuator_ctrlspec[i] & STI_INPUT_VELOCITY ? 1
                                                               : 2;
    vreal most = m->actuator_gaintype[i] == STI_GAIN_PID ? DYN(s, i, 1) : DYN(s, i, 7);
    if (slow >= 0) input[first] = slowed(s, input[first], CLANES(s->act)[slow], most);
    return (motor_inputs){input[0], input[1], input[2], input[3], input[first]};
}

/* The integral of the error; of a pid that acts early that of the end of the step. */
static vreal error_integral(const sti_state *s, int i) {
    const sti_model *m = s->model;
    int k = motor_state(m, i, STI_MOTOR_INTEGRAL);
    if (k < 0 || m->actuator_dyntype[i] != STI_DYN_PID || !m->actuator_actearly[i]) return motor_act(s, k);
    return STI_K(next_activation)(s, i, k, CLANES(s->act)[k], CLANES(s->act_dot)[k]);
}

/* What the controller asks for. */
static vreal controlled(const sti_state *s, int i, const motor_inputs *u, vreal kp, vreal ki, vreal kd) {
    vreal force = kp * (u->position - CLANES(s->actuator_length)[OUT(s, i)]) +
                  kd * (u->velocity - CLANES(s->actuator_velocity)[OUT(s, i)]) + u->forward;
    return force + ki * error_integral(s, i);
}

static bool has_controller(const sti_model *m, int i) {
    return m->actuator_ctrlspec[i] & (STI_INPUT_POSITION | STI_INPUT_VELOCITY | STI_INPUT_FORWARD);
}

/* The controller's voltage before its limit; that which the motion induces is made up for. */
static vreal motor_drive(const sti_state *s, int i, const motor_inputs *u) {
    vreal K = GAIN(s, i, 1), force = controlled(s, i, u, GAIN(s, i, 4), GAIN(s, i, 5), GAIN(s, i, 6));
    return GAIN(s, i, 0) / K * force + K * CLANES(s->actuator_velocity)[OUT(s, i)];
}

static vreal motor_voltage(const sti_state *s, int i, const motor_inputs *u) {
    return has_controller(s->model, i) ? u->voltage + bounded_by(motor_drive(s, i, u), GAIN(s, i, 7))
                                       : u->voltage;
}

/* The current that the voltage drives at rest. */
static vreal motor_current(const sti_state *s, int i, const motor_inputs *u) {
    return (motor_voltage(s, i, u) - GAIN(s, i, 1) * CLANES(s->actuator_velocity)[OUT(s, i)]) /
           motor_resistance(s, i);
}

static void motor_rates(const sti_state *s, int i) {
    const sti_model *m = s->model;
    vreal *dot = LANES(s->act_dot), v = CLANES(s->actuator_velocity)[OUT(s, i)];
    const vreal *act = CLANES(s->act);
    motor_inputs u = motor_inputs_of(s, i);
    int setpoint = motor_state(m, i, STI_MOTOR_SETPOINT), integral = motor_state(m, i, STI_MOTOR_INTEGRAL);
    int heat = motor_state(m, i, STI_MOTOR_HEAT), bristle = motor_state(m, i, STI_MOTOR_BRISTLE);
    int current = motor_state(m, i, STI_MOTOR_CURRENT);
    if (setpoint >= 0) dot[setpoint] = (u.first - act[setpoint]) / v_set(s->opt.timestep);
    if (integral >= 0) {
        vreal most = m->actuator_gaintype[i] == STI_GAIN_PID ? DYN(s, i, 0) : DYN(s, i, 8);
        dot[integral] =
            integral_rate(u.position - CLANES(s->actuator_length)[OUT(s, i)], act[integral], most);
    }
    if (heat >= 0) {
        vreal I = current >= 0 ? act[current] : motor_current(s, i, &u);
        dot[heat] = (I * I * motor_resistance(s, i) - act[heat] / DYN(s, i, 2)) / DYN(s, i, 3);
    }
    if (bristle >= 0) dot[bristle] = v - bristle_decay(s, i, v) * act[bristle];
    if (current >= 0) {
        dot[current] = bounded_by((motor_current(s, i, &u) - act[current]) / DYN(s, i, 0), DYN(s, i, 1));
    }
}

static vreal controller_force(const sti_state *s, int i) {
    motor_inputs u = motor_inputs_of(s, i);
    return BIAS(s, i, 0) + controlled(s, i, &u, -BIAS(s, i, 1), GAIN(s, i, 0), -BIAS(s, i, 2));
}

static vreal motor_force(const sti_state *s, int i) {
    motor_inputs u = motor_inputs_of(s, i);
    int current = motor_state(s->model, i, STI_MOTOR_CURRENT);
    if (current < 0) return GAIN(s, i, 1) * motor_current(s, i, &u);
    return GAIN(s, i, 1) * next_of_motor(s, i, current, CLANES(s->act)[current], CLANES(s->act_dot)[current]);
}

/* The circuit brakes, the controller too while its voltage is not at its limit. */
vreal STI_K(motor_slope)(const sti_state *s, int i) {
    const sti_model *m = s->model;
    motor_inputs u = motor_inputs_of(s, i);
    vreal K = GAIN(s, i, 1), zero = v_set(0), most = GAIN(s, i, 7), slope = -K;
    int current = motor_state(m, i, STI_MOTOR_CURRENT);
    if (has_controller(m, i)) {
        vmask free = ~v_lt(zero, most) | v_lt(v_abs(motor_drive(s, i, &u)), most);
        slope = v_select(free, -GAIN(s, i, 0) / K * GAIN(s, i, 6), slope);
    }
    slope = K * slope / motor_resistance(s, i);
    if (current >= 0) {
        vmask slow = v_lt(zero, DYN(s, i, 1)) & v_le(DYN(s, i, 1), v_abs(CLANES(s->act_dot)[current]));
        slope = v_select(slow, zero, slope * current_share(s, i));
    }
    if (!m->actuator_forcelimited[i]) return slope;
    vreal force = motor_force(s, i);
    return v_select(v_eq(force, PAR_CLAMP(force, s, actuator_forcerange, i)), slope, zero);
}

/* Cogging, and the friction of bristles: not of the motor's current. */
static vreal motor_friction(const sti_state *s, int i) {
    int bristle = motor_state(s->model, i, STI_MOTOR_BRISTLE);
    vreal force, angle = BIAS(s, i, 1) * CLANES(s->actuator_length)[OUT(s, i)] + BIAS(s, i, 2);
    V_MAP1(force, sti__sin, angle);
    force = force * BIAS(s, i, 0);
    if (bristle < 0) return force;
    return force - DYN(s, i, 5) * CLANES(s->act)[bristle] - DYN(s, i, 6) * CLANES(s->act_dot)[bristle];
}

/* Rate of the activation that the control drives; the others of an actuator rest. */
static void activation_rate(const sti_state *s, int i) {
    const sti_model *m = s->model;
    int first = m->actuator_actadr[i], n = m->actuator_actnum[i];
    vreal *dot = LANES(s->act_dot);
    if (n <= 0) return;
    for (int k = first; k < first + n; k++) dot[k] = v_set(0);
    if (m->actuator_pid[i] >= STI_MOTOR_SETPOINT) {
        motor_rates(s, i);
        return;
    }
    if (m->actuator_trntype[i] == STI_TRN_SO3) {
        for (int k = 0; k < n; k++) dot[first + k] = control(s, i, k);
        return;
    }
    vreal ctrl = control(s, i, 0);
    int last = first + n - 1;
    switch (m->actuator_dyntype[i]) {
    case STI_DYN_INTEGRATOR: dot[last] = ctrl; break;
    case STI_DYN_FILTER:
    case STI_DYN_FILTEREXACT: dot[last] = (ctrl - CLANES(s->act)[last]) / time_constant(s, i); break;
    case STI_DYN_MUSCLE: {
        vreal prm[3];
        for (int k = 0; k < 3; k++) prm[k] = PAR(s, actuator_dynprm, 10 * i + k);
        dot[last] = muscle_rate(prm, ctrl, CLANES(s->act)[last]);
        break;
    }
    default: break;
    }
    if (m->actuator_pid[i] & STI_PID) pid_rates(s, i);
}

/* prm[0] + prm[1] * length + prm[2] * velocity; prm is a field with ten columns */
static inline vreal affine(const sti_state *s, int i, const double *field, int own) {
    vreal prm[3];
    for (int k = 0; k < 3; k++) par_row(prm + k, field, own, 10 * i + k, 1);
    return prm[0] + prm[1] * CLANES(s->actuator_length)[OUT(s, i)] +
           prm[2] * CLANES(s->actuator_velocity)[OUT(s, i)];
}
#define AFFINE(s, i, name) affine(s, i, (s)->par.name, (s)->par.name##_own)

static vreal actuator_gain(const sti_state *s, int i) {
    int type = s->model->actuator_gaintype[i];
    if (type == STI_GAIN_AFFINE) return AFFINE(s, i, actuator_gainprm);
    if (type != STI_GAIN_MUSCLE) return PAR(s, actuator_gainprm, 10 * i);
    muscle u = MUSCLE(s, i, actuator_gainprm);
    return muscle_gain(&u);
}

static vreal actuator_force(const sti_state *s, int i) {
    if (s->model->actuator_pid[i] & STI_PID) return pid_force(s, i);
    if (s->model->actuator_gaintype[i] == STI_GAIN_PID) return controller_force(s, i);
    if (s->model->actuator_gaintype[i] == STI_GAIN_DCMOTOR) return motor_force(s, i);
    int bias = s->model->actuator_biastype[i];
    vreal input = STI_K(actuator_input)(s, i);
    vreal force = actuator_gain(s, i) * (input - servo_turns(s, i, input));
    if (bias == STI_BIAS_AFFINE) return force + AFFINE(s, i, actuator_biasprm);
    if (bias != STI_BIAS_MUSCLE) return force;
    muscle u = MUSCLE(s, i, actuator_biasprm);
    return force + muscle_bias(&u);
}

/* ---- orientations ----------------------------------------------------------------------------------------------- */

/* Where a servo for orientations goes: by its controls, or by activations that they drive, which are a rotation vector. */
static void wanted_orientation(const sti_state *s, int i, vreal quat[4]) {
    const sti_model *m = s->model;
    vreal x[4];
    int first = m->actuator_actadr[i];
    for (int k = 0; k < m->actuator_ctrlnum[i]; k++) {
        if (m->actuator_actnum[i] == 0) x[k] = control(s, i, k);
        else if (m->actuator_actearly[i])
            x[k] = STI_K(next_activation)(s, i, first + k, CLANES(s->act)[first + k],
                                          CLANES(s->act_dot)[first + k]);
        else x[k] = CLANES(s->act)[first + k];
    }
    if (m->actuator_ctrlspec[i] == STI_CHART_QUAT) {
        quat_copy(quat, x);
        quat_normalize(quat);
    } else rotation_quat(x, quat);
}

/* The torque towards it, the shortest way, in the frame that turns; its norm is what is limited. */
static void orientation_force(const sti_state *s, int i, vreal force[3]) {
    vreal quat[4], to[4], error[3], range[2];
    wanted_orientation(s, i, to);
    relative_orientation(s, i, quat);
    quat_conj(quat, quat);
    quat_mul(to, quat, to);
    rotation_vector(to, error);
    for (int k = 0; k < 3; k++)
        force[k] = GAIN(s, i, 0) * error[k] + BIAS(s, i, 2) * CLANES(s->actuator_velocity)[OUT(s, i) + k];
    if (!s->model->actuator_forcelimited[i]) return;
    PAR_ROW(range, s, actuator_forcerange, i, 2);
    vreal size = v_sqrt(v3_dot(force, force));
    vmask beyond = v_lt(range[1], size);
    v3_scale(force, force, v_select(beyond, range[1] / v_select(beyond, size, v_set(1)), v_set(1)));
}

/* Scales the forces on a tendon so that their sum is within its range. */
static void limit_tendon(const sti_state *s, int t) {
    const sti_model *m = s->model;
    vreal *force = LANES(s->actuator_force), total = v_set(0);
    for (int i = 0; i < m->nactuator; i++)
        if (m->actuator_trntype[i] == STI_TRN_TENDON && m->actuator_trnid[2 * i] == t)
            total = total + force[OUT(s, i)];
    vreal within = PAR_CLAMP(total, s, tendon_actfrcrange, t);
    vmask same = v_eq(within, total);
    if (v_all(same)) return;
    vreal scale = v_select(same, v_set(1), within / v_select(same, v_set(1), total));
    for (int i = 0; i < m->nactuator; i++)
        if (m->actuator_trntype[i] == STI_TRN_TENDON && m->actuator_trnid[2 * i] == t)
            force[OUT(s, i)] = force[OUT(s, i)] * scale;
}

/* Gravity compensation that goes through actuators, then the limits of joints. */
static void joint_level(const sti_state *s) {
    const sti_model *m = s->model;
    vreal *qfrc = LANES(s->qfrc_actuator);
    bool gravity = !(s->opt.disableflags & STI_DISABLE_GRAVITY);
    static const int dofs[4] = {6, 3, 1, 1};
    for (int j = 0; j < m->njnt; j++) {
        int d = m->jnt_dofadr[j], n = dofs[m->jnt_type[j]];
        if (m->jnt_actgravcomp[j] && gravity)
            for (int k = d; k < d + n; k++) qfrc[k] = qfrc[k] + CLANES(s->qfrc_gravcomp)[k];
        if (m->jnt_actfrclimited[j] && n == 1) qfrc[d] = PAR_CLAMP(qfrc[d], s, jnt_actfrcrange, j);
    }
}

static void to_joints(const sti_state *s) {
    const sti_model *m = s->model;
    vreal *restrict qfrc = LANES(s->qfrc_actuator);
    for (int i = 0; i < m->nout; i++) {
        vreal force = CLANES(s->actuator_force)[i];
        for (int k = m->moment_rowadr[i]; k < m->moment_rowadr[i] + m->moment_rownnz[i]; k++)
            qfrc[m->moment_colind[k]] = qfrc[m->moment_colind[k]] + CLANES(s->actuator_moment)[k] * force;
    }
}

void STI_K(actuation)(sti_state *s) {
    const sti_model *m = s->model;
    vreal *force = LANES(s->actuator_force);
    for (int d = 0; d < m->nv; d++) LANES(s->qfrc_actuator)[d] = v_set(0);
    if (m->nactuator == 0 || (s->opt.disableflags & STI_DISABLE_ACTUATION)) {
        for (int k = 0; k < m->na; k++) LANES(s->act_dot)[k] = v_set(0);
        for (int o = 0; o < m->nout; o++) force[o] = v_set(0);
        return;
    }
    for (int i = 0; i < m->nactuator; i++) {
        vreal *out = force + OUT(s, i);
        activation_rate(s, i);
        for (int k = 0; k < m->actuator_outnum[i]; k++) out[k] = v_set(0);
        if (sti__actuator_off(s, i)) continue;
        if (m->actuator_trntype[i] == STI_TRN_SO3) orientation_force(s, i, out);
        else *out = actuator_force(s, i);
    }
    for (int t = 0; t < m->ntendon; t++)
        if (m->tendon_actfrclimited[t]) limit_tendon(s, t);
    for (int i = 0; i < m->nactuator; i++)
        if (m->actuator_forcelimited[i] && m->actuator_trntype[i] != STI_TRN_SO3)
            force[OUT(s, i)] = PAR_CLAMP(force[OUT(s, i)], s, actuator_forcerange, i);
    for (int i = 0; i < m->nactuator; i++)
        if (m->actuator_biastype[i] == STI_BIAS_DCMOTOR && !sti__actuator_off(s, i))
            force[OUT(s, i)] = force[OUT(s, i)] + motor_friction(s, i);
    to_joints(s);
    joint_level(s);
}
