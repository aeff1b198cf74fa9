/* SPDX-License-Identifier: Apache-2.0 */
/* Actuators. All shortcuts (motor, position, ...) are ways to write one general actuator; each default
   class holds one such actuator, written with `general` or a shortcut. */
#include "model/chain.h"
#include "model/plugins.h"

/* The part of an actuator that shortcuts write, and what they interact with. */
typedef struct servo {
    sti__eid written; /* general, or the shortcut it was written with last */
    int dyntype, gaintype, biastype, actdim, actearly;
    double dynprm[10], gainprm[10], biasprm[10];
    double inheritrange;
    int ctrllimited, actlimited; /* 0, 1, 2 = auto */
    double ctrlrange[2], actrange[2];
    int pid; /* bits STI_PID, STI_MOTOR */
    double pidprm[5];
    int ctrlspec;                   /* STI_INPUT bits of pid and dcmotor */
    double velrange[2], ffrange[2]; /* of pid */
    double forcerange[2];           /* of dcmotor, 0 0: none */
} servo;

#define AUTO 2

/* Types that are read but refused: places of `user` in dyntype, gaintype and biastype. */
enum { DYN_USER = 7, GAIN_USER = 6, BIAS_USER = 5 };

/* Words of `input` of general actuators whose bits are those of charts. */
enum { INPUT_EXPMAP = 64, INPUT_QUAT = 128 };

/* ---- reading ----------------------------------------------------------------------------------------- */

/* Only what the element sets itself; the rest stays as inherited. */
static double own_real(const sti_element *e, sti__aid a, double now) {
    return sti__has_own(e, a) ? sti__real(e, a, now) : now;
}
static int own_word(const sti_element *e, sti__aid a, int now) {
    return sti__has_own(e, a) ? sti__keyword(e, a, now) : now;
}
static void own_reals(const sti_element *e, sti__aid a, double *out, int max) {
    double all[10] = {0};
    if (!sti__has_own(e, a)) return;
    int given = sti__reals(e, a, all, max);
    memcpy(out, all, (size_t)(given < max ? given : max) * sizeof(double));
}

/* Gain, bias and dynamics as MJCF has them without any setting. */
static void reset(servo *s) {
    memset(s->dynprm, 0, sizeof s->dynprm);
    memset(s->gainprm, 0, sizeof s->gainprm);
    memset(s->biasprm, 0, sizeof s->biasprm);
    s->dynprm[0] = s->gainprm[0] = 1;
    s->dyntype = STI_DYN_NONE;
    s->gaintype = STI_GAIN_FIXED;
    s->biastype = STI_BIAS_NONE;
    s->actdim = -1;
    s->actearly = 0;
    s->inheritrange = 0;
    s->ctrlspec = s->pid = 0;
    memset(s->velrange, 0, sizeof s->velrange);
    memset(s->ffrange, 0, sizeof s->ffrange);
    memset(s->forcerange, 0, sizeof s->forcerange);
}

/* The words of `input` as bits, in the order of the controls. */
static int read_inputs(sti__compiler *c, const sti_element *e, int otherwise) {
    int count, bits = 0;
    if (sti__eid_of(e) == STI_E_orientation)
        return sti__has_own(e, STI_A_input) ? 1 << sti__keyword(e, STI_A_input, 0) : otherwise;
    const double *words = sti__list(e, STI_A_input, &count);
    if (!sti__has_own(e, STI_A_input) || count == 0) return otherwise;
    for (int k = 0; k < count; k++) {
        int bit = 1 << (int)words[k];
        if (bits >= bit)
            sti__complain(c, e, STI_A_input, STI_VALUE,
                          "must be in the order pos, vel, ff, voltage, each once");
        bits |= bit;
    }
    if ((bits & STI_INPUT_NONE) && bits != STI_INPUT_NONE)
        sti__complain(c, e, STI_A_input, STI_VALUE, "none stands alone");
    return bits;
}

static void read_general(sti__compiler *c, const sti_element *e, servo *s) {
    s->dyntype = own_word(e, STI_A_dyntype, s->dyntype);
    s->gaintype = own_word(e, STI_A_gaintype, s->gaintype);
    s->biastype = own_word(e, STI_A_biastype, s->biastype);
    s->actearly = own_word(e, STI_A_actearly, s->actearly);
    if (sti__has_own(e, STI_A_actdim)) s->actdim = sti__int(e, STI_A_actdim, -1);
    own_reals(e, STI_A_dynprm, s->dynprm, 10);
    own_reals(e, STI_A_gainprm, s->gainprm, 10);
    own_reals(e, STI_A_biasprm, s->biasprm, 10);
    s->inheritrange = own_real(e, STI_A_inheritrange, s->inheritrange);
    own_reals(e, STI_A_velrange, s->velrange, 2);
    own_reals(e, STI_A_ffrange, s->ffrange, 2);
    s->ctrlspec = read_inputs(c, e, s->ctrlspec);
}

static void refuse_negative(sti__compiler *c, const sti_element *e, sti__aid a) {
    if (own_real(e, a, 0) < 0) sti__complain(c, e, a, STI_VALUE, "must not be negative");
}

/* kv goes into biasprm[2] as -kv; a damping ratio is kept there as it is, positive, until the
   reference values are known. */
static void read_damping(sti__compiler *c, const sti_element *e, servo *s) {
    refuse_negative(c, e, STI_A_kv);
    refuse_negative(c, e, STI_A_dampratio);
    if (sti__has_own(e, STI_A_kv) && sti__has_own(e, STI_A_dampratio))
        sti__complain(c, e, STI_A_dampratio, STI_VALUE, "cannot be given together with kv");
    if (sti__has_own(e, STI_A_kv)) s->biasprm[2] = -sti__real(e, STI_A_kv, 0);
    if (sti__has_own(e, STI_A_dampratio)) s->biasprm[2] = sti__real(e, STI_A_dampratio, 0);
    if (s->biasprm[2] > 0 && s->gainprm[0] < 0)
        sti__complain(c, e, STI_A_kp, STI_VALUE, "must not be negative when a damping ratio is given");
}

/* The range of the setpoint is either given or inherited from the target; the element itself decides
   between what it and its defaults say. */
static void read_inheritrange(sti__compiler *c, const sti_element *e, servo *s, sti__aid attribute,
                              double *range) {
    bool own_range = sti__has_own(e, attribute), own_inherit = sti__has_own(e, STI_A_inheritrange);
    s->inheritrange = own_real(e, STI_A_inheritrange, s->inheritrange);
    if (own_range && !own_inherit) s->inheritrange = 0;
    if (own_inherit && !own_range && s->inheritrange > 0) range[0] = range[1] = 0;
    if (s->inheritrange > 0 && (range[0] != 0 || range[1] != 0))
        sti__complain(c, e, attribute, STI_VALUE, "cannot be given together with inheritrange");
}

static void read_position(sti__compiler *c, const sti_element *e, const servo *old, servo *s) {
    s->biastype = STI_BIAS_AFFINE;
    s->gainprm[0] = own_real(e, STI_A_kp, old->gainprm[0]);
    s->biasprm[1] = -s->gainprm[0];
    s->biasprm[2] = old->biasprm[2];
    s->inheritrange = old->inheritrange;
    if (old->dyntype == STI_DYN_FILTEREXACT) {
        s->dyntype = STI_DYN_FILTEREXACT;
        s->dynprm[0] = old->dynprm[0];
    }
    refuse_negative(c, e, STI_A_timeconst);
    if (sti__has_own(e, STI_A_timeconst)) {
        s->dynprm[0] = sti__real(e, STI_A_timeconst, 0);
        s->dyntype = s->dynprm[0] == 0 ? STI_DYN_NONE : STI_DYN_FILTEREXACT;
    }
    read_damping(c, e, s);
    read_inheritrange(c, e, s, STI_A_ctrlrange, s->ctrlrange);
}

static void read_intvelocity(sti__compiler *c, const sti_element *e, const servo *old, servo *s) {
    s->dyntype = STI_DYN_INTEGRATOR;
    s->biastype = STI_BIAS_AFFINE;
    s->gainprm[0] = own_real(e, STI_A_kp, old->gainprm[0]);
    s->biasprm[1] = -s->gainprm[0];
    s->biasprm[2] = old->biasprm[2];
    s->inheritrange = old->inheritrange;
    read_damping(c, e, s);
    read_inheritrange(c, e, s, STI_A_actrange, s->actrange);
}

static void read_velocity(const sti_element *e, const servo *old, servo *s) {
    s->biastype = STI_BIAS_AFFINE;
    s->gainprm[0] = own_real(e, STI_A_kv, old->gainprm[0]);
    s->biasprm[2] = -s->gainprm[0];
}

static void read_damper(sti__compiler *c, const sti_element *e, const servo *old, servo *s) {
    double kv = own_real(e, STI_A_kv, -old->gainprm[2]);
    if (kv < 0) sti__complain(c, e, STI_A_kv, STI_VALUE, "must not be negative");
    if (s->ctrlrange[0] < 0 || s->ctrlrange[1] < 0)
        sti__complain(c, e, STI_A_ctrlrange, STI_VALUE, "a damper's control must not be negative");
    s->gaintype = STI_GAIN_AFFINE;
    s->gainprm[0] = 0;
    s->gainprm[2] = -kv;
    s->ctrllimited = 1;
}

static void read_cylinder(const sti_element *e, const servo *old, servo *s) {
    s->dyntype = STI_DYN_FILTER;
    s->biastype = STI_BIAS_AFFINE;
    s->dynprm[0] = own_real(e, STI_A_timeconst, old->dynprm[0]);
    memcpy(s->biasprm, old->biasprm, 3 * sizeof(double));
    own_reals(e, STI_A_bias, s->biasprm, 3);
    s->gainprm[0] = own_real(e, STI_A_area, old->gainprm[0]);
    double diameter = own_real(e, STI_A_diameter, -1);
    if (diameter >= 0) s->gainprm[0] = 3.14159265358979323846 / 4 * diameter * diameter;
}

static void read_adhesion(sti__compiler *c, const sti_element *e, const servo *old, servo *s) {
    s->gainprm[0] = own_real(e, STI_A_gain, old->gainprm[0]);
    if (s->gainprm[0] < 0) sti__complain(c, e, STI_A_gain, STI_VALUE, "must not be negative");
    if (s->ctrlrange[0] < 0 || s->ctrlrange[1] < 0)
        sti__complain(c, e, STI_A_ctrlrange, STI_VALUE, "the control of adhesion must not be negative");
    s->ctrllimited = 1;
}

/* MJCF's own muscle, in place of what general actuators have without any setting. */
static void muscle_defaults(servo *s) {
    static const double gain[9] = {0.75, 1.05, -1, 200, 0.5, 1.6, 1.5, 1.3, 1.2};
    if (s->dynprm[0] == 1) s->dynprm[0] = 0.01;
    if (s->dynprm[1] == 0) s->dynprm[1] = 0.04;
    if (s->gainprm[0] == 1) s->gainprm[0] = gain[0];
    for (int k = 1; k < 9; k++)
        if (s->gainprm[k] == 0) s->gainprm[k] = gain[k];
}

static void read_muscle(sti__compiler *c, const sti_element *e, const servo *old, servo *s) {
    static const sti__aid single[] = {STI_A_force, STI_A_scale, STI_A_lmin, STI_A_lmax,
                                      STI_A_vmax,  STI_A_fpmax, STI_A_fvmax};
    memcpy(s->dynprm, old->dynprm, sizeof s->dynprm);
    memcpy(s->gainprm, old->gainprm, sizeof s->gainprm);
    muscle_defaults(s);
    refuse_negative(c, e, STI_A_tausmooth);
    own_reals(e, STI_A_timeconst, s->dynprm, 2);
    s->dynprm[2] = own_real(e, STI_A_tausmooth, s->dynprm[2]);
    own_reals(e, STI_A_range, s->gainprm, 2);
    for (int k = 0; k < STI__COUNT(single); k++)
        s->gainprm[2 + k] = own_real(e, single[k], s->gainprm[2 + k]);
    memcpy(s->biasprm, s->gainprm, 9 * sizeof(double));
    s->dyntype = STI_DYN_MUSCLE;
    s->gaintype = STI_GAIN_MUSCLE;
    s->biastype = STI_BIAS_MUSCLE;
}

/* The plugin makes the force, and what gain and bias would make of it does not count. MJCF limits the force of the integral. */
static void read_pid(sti__compiler *c, const sti_element *e, servo *s) {
    sti__plugin plugin = sti__plugin_of(c, e, STI__PLUGIN_PID, STI__PLUGIN_PID);
    double limit[2] = {-1, -1};
    if (plugin.id == STI__PLUGIN_UNKNOWN) return;
    s->pidprm[0] = sti__plugin_number(c, &plugin, "kp", 0);
    s->pidprm[1] = sti__plugin_number(c, &plugin, "ki", 0);
    s->pidprm[2] = sti__plugin_number(c, &plugin, "kd", 0);
    bool limited = sti__plugin_numbers(c, &plugin, "imax", &limit[0], 1) > 0 && s->pidprm[1] != 0;
    bool slow = sti__plugin_numbers(c, &plugin, "slewmax", &limit[1], 1) > 0;
    if (limited && limit[0] / s->pidprm[1] < 0)
        sti__plugin_complain(c, &plugin, "imax", "must have the sign of ki");
    if (slow && limit[1] < 0) sti__plugin_complain(c, &plugin, "slewmax", "must not be negative");
    s->pidprm[3] = limited ? limit[0] / s->pidprm[1] : 0;
    s->pidprm[4] = slow ? limit[1] : 0;
    s->pid = STI_PID | (s->pidprm[1] != 0 ? STI_PID_INTEGRAL : 0) | (limited ? STI_PID_INTEGRAL_LIMIT : 0) |
             (slow ? STI_PID_RATE_LIMIT : 0);
    s->gaintype = STI_GAIN_FIXED;
    s->biastype = STI_BIAS_NONE;
    if (s->dyntype > STI_DYN_FILTEREXACT)
        sti__complain(c, e, STI_A_dyntype, STI_UNSUPPORTED, "this dyntype does not go with a plugin");
}

static void read_controller(sti__compiler *c, const sti_element *e, const servo *old, servo *s) {
    bool again = old->gaintype == STI_GAIN_PID;
    s->biastype = STI_BIAS_AFFINE;
    s->gaintype = STI_GAIN_PID;
    s->gainprm[0] = own_real(e, STI_A_ki, again ? old->gainprm[0] : 0);
    s->dynprm[0] = own_real(e, STI_A_imax, again ? old->dynprm[0] : 0);
    s->dynprm[1] = own_real(e, STI_A_slewmax, again ? old->dynprm[1] : 0);
    s->biasprm[1] = -own_real(e, STI_A_kp, again ? -old->biasprm[1] : 1);
    s->biasprm[2] = again ? old->biasprm[2] : 0;
    s->inheritrange = old->inheritrange;
    if (again) {
        memcpy(s->velrange, old->velrange, sizeof s->velrange);
        memcpy(s->ffrange, old->ffrange, sizeof s->ffrange);
    }
    own_reals(e, STI_A_posrange, s->ctrlrange, 2);
    own_reals(e, STI_A_velrange, s->velrange, 2);
    own_reals(e, STI_A_ffrange, s->ffrange, 2);
    read_damping(c, e, s);
    read_inheritrange(c, e, s, STI_A_posrange, s->ctrlrange);
    s->ctrlspec = read_inputs(c, e, again ? old->ctrlspec : 0);
    s->dyntype = s->dynprm[1] > 0 || s->gainprm[0] != 0 ? STI_DYN_PID : STI_DYN_NONE;
}

static void read_orientation(sti__compiler *c, const sti_element *e, const servo *old, servo *s) {
    s->gaintype = STI_GAIN_SO3;
    s->biastype = STI_BIAS_SO3;
    s->gainprm[0] = own_real(e, STI_A_kp, old->gainprm[0]);
    s->biasprm[1] = -s->gainprm[0];
    s->biasprm[2] = old->gaintype == STI_GAIN_SO3 ? old->biasprm[2] : 0;
    read_damping(c, e, s);
    s->ctrlspec = read_inputs(c, e, old->gaintype == STI_GAIN_SO3 ? old->ctrlspec : 0);
}

/* Constant and resistance. */
static void read_windings(sti__compiler *c, const sti_element *e, servo *s) {
    double K[2] = {0, 0}, nominal[3] = {0, 0, 0};
    own_reals(e, STI_A_motorconst, K, 2);
    own_reals(e, STI_A_nominal, nominal, 3);
    if (K[0] < 0 || K[1] < 0) sti__complain(c, e, STI_A_motorconst, STI_VALUE, "must not be negative");
    if (sti__has_own(e, STI_A_motorconst))
        s->gainprm[1] = K[0] > 0 && K[1] > 0 ? __builtin_sqrt(K[0] * K[1]) : K[0] + K[1];
    s->gainprm[0] = own_real(e, STI_A_resistance, s->gainprm[0]);
    if (!sti__has_own(e, STI_A_nominal)) return;
    if (!(nominal[0] > 0 && nominal[1] > 0 && nominal[2] > 0)) {
        sti__complain(c, e, STI_A_nominal, STI_VALUE, "all three must be positive");
        return;
    }
    double constant = nominal[0] / nominal[2];
    if (!sti__has_own(e, STI_A_motorconst)) s->gainprm[1] = constant;
    if (!sti__has_own(e, STI_A_resistance)) s->gainprm[0] = s->gainprm[1] * nominal[0] / nominal[1];
}

static void read_thermal(sti__compiler *c, const sti_element *e, servo *s) {
    double t[6] = {s->dynprm[2], s->dynprm[3], 0, s->gainprm[2], s->gainprm[3], s->dynprm[4]};
    own_reals(e, STI_A_thermal, t, 6);
    if (t[2] > 0 && t[0] > 0) t[1] = t[2] / t[0];
    else if (t[2] > 0 && t[1] > 0) t[0] = t[2] / t[1];
    if ((t[0] > 0) != (t[1] > 0) || t[0] < 0 || t[1] < 0 || t[2] < 0)
        sti__complain(c, e, STI_A_thermal, STI_VALUE,
                      "needs two of resistance, capacity and time constant, all positive");
    s->dynprm[2] = t[0], s->dynprm[3] = t[1], s->dynprm[4] = t[5];
    s->gainprm[2] = t[3], s->gainprm[3] = t[4];
}

static void read_motor_controller(const sti_element *e, servo *s) {
    double p[6] = {s->gainprm[4], s->gainprm[5], s->gainprm[6], s->dynprm[7], s->dynprm[8], s->gainprm[7]};
    own_reals(e, STI_A_controller, p, 6);
    for (int k = 0; k < 3; k++) s->gainprm[4 + k] = p[k];
    s->gainprm[7] = p[5], s->dynprm[7] = p[3], s->dynprm[8] = p[4];
}

static void read_dcmotor(sti__compiler *c, const sti_element *e, const servo *old, servo *s) {
    double L[2] = {0, 0}, most[3] = {0, 0, 0}, lugre[5];
    if (old->gaintype == STI_GAIN_DCMOTOR) {
        memcpy(s->dynprm, old->dynprm, sizeof s->dynprm);
        memcpy(s->gainprm, old->gainprm, sizeof s->gainprm);
        memcpy(s->biasprm, old->biasprm, sizeof s->biasprm);
        memcpy(s->forcerange, old->forcerange, sizeof s->forcerange);
        s->ctrlspec = old->ctrlspec;
    } else s->dynprm[0] = s->gainprm[0] = 0;
    s->dyntype = STI_DYN_DCMOTOR;
    s->gaintype = STI_GAIN_DCMOTOR;
    s->biastype = STI_BIAS_DCMOTOR;
    s->ctrlspec = read_inputs(c, e, s->ctrlspec);
    read_windings(c, e, s);
    own_reals(e, STI_A_inductance, L, 2);
    if (L[0] < 0 || L[1] < 0) sti__complain(c, e, STI_A_inductance, STI_VALUE, "must not be negative");
    if (sti__has_own(e, STI_A_inductance)) s->dynprm[0] = L[0] > 0 ? L[0] / s->gainprm[0] : L[1];
    own_reals(e, STI_A_saturation, most, 3);
    if (sti__has_own(e, STI_A_saturation)) {
        double torque = most[0] > 0 ? most[0] : s->gainprm[1] * most[1];
        s->dynprm[1] = most[2];
        s->forcerange[0] = -torque;
        s->forcerange[1] = torque;
        if (most[0] < 0 || most[1] < 0 || most[2] < 0)
            sti__complain(c, e, STI_A_saturation, STI_VALUE, "must not be negative");
    }
    own_reals(e, STI_A_cogging, s->biasprm, 3);
    lugre[0] = s->dynprm[5], lugre[1] = s->dynprm[6];
    memcpy(lugre + 2, s->biasprm + 3, 3 * sizeof(double));
    own_reals(e, STI_A_lugre, lugre, 5);
    s->dynprm[5] = lugre[0], s->dynprm[6] = lugre[1];
    memcpy(s->biasprm + 3, lugre + 2, 3 * sizeof(double));
    read_thermal(c, e, s);
    read_motor_controller(e, s);
}

/* ---- pid and dcmotor, written as such or as general actuators ----------------------------------------- */

/* The attribute that is wrong: general actuators have another one for it. */
static void blame(sti__compiler *c, const sti_element *e, sti__aid own, sti__aid general, const char *what) {
    sti__eid id = sti__eid_of(e);
    bool is_own = id == STI_E_pid || id == STI_E_dcmotor;
    sti__complain(c, e, is_own ? own : general, STI_VALUE, "%s", what);
}

static void settle_controller(sti__compiler *c, const sti_element *e, servo *s) {
    const int inputs = STI_INPUT_POSITION | STI_INPUT_VELOCITY | STI_INPUT_FORWARD;
    if (!s->ctrlspec) s->ctrlspec = STI_INPUT_POSITION | STI_INPUT_VELOCITY;
    s->pid = (s->dynprm[1] > 0 && s->dyntype == STI_DYN_PID ? STI_MOTOR_SETPOINT : 0) |
             (s->gainprm[0] != 0 ? STI_MOTOR_INTEGRAL : 0);
    if (s->biastype != STI_BIAS_AFFINE)
        sti__complain(c, e, STI_A_biastype, STI_VALUE, "gain type pid goes with the bias type affine");
    if (s->pid ? s->dyntype != STI_DYN_PID : s->dyntype != STI_DYN_NONE)
        sti__complain(
            c, e, STI_A_dyntype, STI_VALUE,
            "must be pid if gain type pid has an integral (gainprm[0]) or a largest rate (dynprm[1]), "
            "otherwise none");
    if (s->ctrlspec & ~inputs)
        sti__complain(c, e, STI_A_input, STI_VALUE, "a pid has inputs pos, vel and ff");
    if (s->pid && !(s->ctrlspec & STI_INPUT_POSITION))
        sti__complain(c, e, STI_A_input, STI_VALUE, "integral and largest rate of a pid need the input pos");
    if (s->dynprm[0] < 0) blame(c, e, STI_A_imax, STI_A_dynprm, "the largest integral must not be negative");
    if (s->dynprm[1] < 0) blame(c, e, STI_A_slewmax, STI_A_dynprm, "the largest rate must not be negative");
}

/* Whether a number among these is negative. */
static bool any_negative(const double *x, int n) {
    for (int k = 0; k < n; k++)
        if (x[k] < 0) return true;
    return false;
}

static void settle_drive(sti__compiler *c, const sti_element *e, const servo *s) {
    const double *gain = s->gainprm + 4, *most = s->dynprm + 7; /* kp, ki, kd, voltage; rate, integral */
    bool controlled = s->ctrlspec & (STI_INPUT_POSITION | STI_INPUT_VELOCITY | STI_INPUT_FORWARD);
    const char *problem = NULL;
    if (any_negative(most, 2) || gain[3] < 0) problem = "a limit of the controller must not be negative";
    else if (!controlled && (gain[0] != 0 || gain[1] != 0 || gain[2] != 0 || most[0] > 0))
        problem = "the controller needs an input of its own: pos, vel or ff";
    else if (gain[1] != 0 && !(s->ctrlspec & STI_INPUT_POSITION))
        problem = "the integral of the controller needs the input pos";
    else if (controlled && !(s->gainprm[1] > 0))
        problem = "the controller needs a positive motorconst (gainprm[1])";
    if (problem) blame(c, e, STI_A_controller, STI_A_gainprm, problem);
}

static void settle_motor(sti__compiler *c, const sti_element *e, servo *s) {
    if (!s->ctrlspec) s->ctrlspec = STI_INPUT_VOLTAGE;
    s->actearly = s->dyntype == STI_DYN_DCMOTOR;
    s->pid = (s->dynprm[7] > 0 ? STI_MOTOR_SETPOINT : 0) | (s->gainprm[5] != 0 ? STI_MOTOR_INTEGRAL : 0) |
             (s->dynprm[2] > 0 ? STI_MOTOR_HEAT : 0) | (s->dynprm[5] > 0 ? STI_MOTOR_BRISTLE : 0) |
             (s->dynprm[0] > 0 ? STI_MOTOR_CURRENT : 0);
    if (s->gaintype != STI_GAIN_DCMOTOR || s->biastype != STI_BIAS_DCMOTOR ||
        (s->pid ? s->dyntype != STI_DYN_DCMOTOR
                : s->dyntype != STI_DYN_DCMOTOR && s->dyntype != STI_DYN_NONE))
        sti__complain(c, e, STI_A_gaintype, STI_VALUE,
                      "dcmotor goes together: gaintype, biastype and dyntype (none if nothing has a state)");
    if (s->ctrlspec & ~(2 * STI_INPUT_NONE - 1))
        sti__complain(c, e, STI_A_input, STI_VALUE, "a motor has inputs pos, vel, ff and voltage, or none");
    if (!(s->gainprm[1] > 0) && s->ctrlspec != STI_INPUT_NONE)
        blame(c, e, STI_A_motorconst, STI_A_gainprm,
              "a motor needs a positive motorconst (gainprm[1]), or nominal");
    if (!(s->gainprm[0] > 0))
        blame(c, e, STI_A_resistance, STI_A_gainprm,
              "a motor needs a positive resistance (gainprm[0]), or nominal");
    if ((s->dynprm[2] > 0) != (s->dynprm[3] > 0) || any_negative(s->dynprm + 2, 2))
        blame(c, e, STI_A_thermal, STI_A_dynprm,
              "thermal resistance and capacity (dynprm[2], dynprm[3]) must both be positive, or both 0");
    if (any_negative(s->dynprm, 2)) blame(c, e, STI_A_inductance, STI_A_dynprm, "must not be negative");
    if (any_negative(s->dynprm + 5, 2) || any_negative(s->biasprm + 3, 3))
        blame(c, e, STI_A_lugre, s->dynprm[5] < 0 || s->dynprm[6] < 0 ? STI_A_dynprm : STI_A_biasprm,
              "the numbers of friction must not be negative");
    settle_drive(c, e, s);
}

static void settle_orientation(sti__compiler *c, const sti_element *e, servo *s) {
    if (s->ctrlspec == INPUT_QUAT) s->ctrlspec = STI_CHART_QUAT;
    if (!s->ctrlspec || s->ctrlspec == INPUT_EXPMAP) s->ctrlspec = STI_CHART_EXPMAP;
    if (s->gaintype != STI_GAIN_SO3 || s->biastype != STI_BIAS_SO3)
        sti__complain(c, e, STI_A_gaintype, STI_VALUE, "gaintype and biastype so3 go together");
    else if (s->gainprm[0] != -s->biasprm[1])
        sti__complain(c, e, STI_A_biasprm, STI_VALUE, "biasprm[1] of so3 must be -gainprm[0]");
    if (s->ctrlspec != STI_CHART_EXPMAP && s->ctrlspec != STI_CHART_QUAT)
        sti__complain(c, e, STI_A_input, STI_VALUE, "so3 has the inputs expmap and quat");
    if (s->dyntype != STI_DYN_NONE && (s->dyntype != STI_DYN_INTEGRATOR || s->ctrlspec == STI_CHART_QUAT))
        sti__complain(c, e, STI_A_dyntype, STI_VALUE,
                      "must be none for so3, or with the input expmap integrator");
}

static void refuse_user(sti__compiler *c, const sti_element *e, const servo *s) {
    const sti__aid which = s->gaintype == GAIN_USER   ? STI_A_gaintype
                           : s->biastype == BIAS_USER ? STI_A_biastype
                                                      : STI_A_dyntype;
    if (s->gaintype == GAIN_USER || s->biastype == BIAS_USER || s->dyntype == DYN_USER)
        sti__complain(c, e, which, STI_UNSUPPORTED,
                      "'user' needs a callback of C: use a motor, and write its control, or forces in "
                      "qfrc_applied, before each step or in a control callback (docs/motors.md)");
}

/* What the types ask for, once the element and its classes are read. */
static void settle(sti__compiler *c, const sti_element *e, servo *s) {
    refuse_user(c, e, s);
    if (s->pid & STI_PID) return;
    s->pid = 0;
    if (s->gaintype == STI_GAIN_DCMOTOR || s->biastype == STI_BIAS_DCMOTOR || s->dyntype == STI_DYN_DCMOTOR) {
        settle_motor(c, e, s);
    } else if (s->gaintype == STI_GAIN_PID) {
        settle_controller(c, e, s);
    } else if (s->gaintype == STI_GAIN_SO3 || s->biastype == STI_BIAS_SO3) {
        settle_orientation(c, e, s);
    } else {
        s->ctrlspec = 0;
        if (s->dyntype == STI_DYN_PID)
            sti__complain(c, e, STI_A_dyntype, STI_VALUE, "dyntype pid goes with gain type pid");
    }
}

/* ---- defaults ---------------------------------------------------------------------------------------- */

static int shortcut_gaintype(sti__eid shortcut) {
    if (shortcut == STI_E_muscle) return STI_GAIN_MUSCLE;
    if (shortcut == STI_E_dcmotor) return STI_GAIN_DCMOTOR;
    if (shortcut == STI_E_pid) return STI_GAIN_PID;
    if (shortcut == STI_E_orientation) return STI_GAIN_SO3;
    return shortcut == STI_E_damper ? STI_GAIN_AFFINE : STI_GAIN_FIXED;
}

/* Whether a shortcut takes its parameters from a default written in this way. */
static bool can_inherit(const servo *from, sti__eid shortcut) {
    if (from->written == shortcut) return true;
    return from->written == STI_E_general && from->gaintype == shortcut_gaintype(shortcut);
}

/* Writes element e over s, whose classes are chain[0..count), innermost first. A shortcut inherits its
   parameters from the nearest of them that is written in its way. */
static void apply(sti__compiler *c, const sti_element *e, const servo *chain, int count, servo *s) {
    servo blank = {0};
    sti__eid id = sti__eid_of(e);
    own_reals(e, STI_A_ctrlrange, s->ctrlrange, 2);
    own_reals(e, STI_A_actrange, s->actrange, 2);
    s->ctrllimited = own_word(e, STI_A_ctrllimited, s->ctrllimited);
    s->actlimited = own_word(e, STI_A_actlimited, s->actlimited);
    if (id == STI_E_general || id == STI_E_actuator_plugin) {
        read_general(c, e, s);
        s->written = STI_E_general;
        if (id == STI_E_actuator_plugin) read_pid(c, e, s);
        return;
    }
    reset(&blank);
    for (int i = 0; i < count; i++)
        if (can_inherit(&chain[i], id)) {
            blank = chain[i];
            break;
        }
    reset(s);
    s->written = id;
    if (id == STI_E_position) read_position(c, e, &blank, s);
    if (id == STI_E_intvelocity) read_intvelocity(c, e, &blank, s);
    if (id == STI_E_velocity) read_velocity(e, &blank, s);
    if (id == STI_E_damper) read_damper(c, e, &blank, s);
    if (id == STI_E_cylinder) read_cylinder(e, &blank, s);
    if (id == STI_E_muscle) read_muscle(c, e, &blank, s);
    if (id == STI_E_adhesion) read_adhesion(c, e, &blank, s);
    if (id == STI_E_pid) read_controller(c, e, &blank, s);
    if (id == STI_E_dcmotor) read_dcmotor(c, e, &blank, s);
    if (id == STI_E_orientation) read_orientation(c, e, &blank, s);
}

static bool is_actuator(const sti_element *e) {
    switch (sti__eid_of(e)) {
    case STI_E_general:
    case STI_E_motor:
    case STI_E_position:
    case STI_E_velocity:
    case STI_E_intvelocity:
    case STI_E_damper:
    case STI_E_cylinder:
    case STI_E_muscle:
    case STI_E_adhesion:
    case STI_E_pid:
    case STI_E_dcmotor:
    case STI_E_orientation:
    case STI_E_actuator_plugin: return true;
    default: return false;
    }
}

/* The next class outwards that says something about actuators, NULL at the end. */
static const sti_element *next_class(const sti_element *e, const sti_element **cursor) {
    const sti_element *before = *cursor ? sti_element_parent(*cursor) : NULL;
    do *cursor = sti__default_next(e, *cursor);
    while (*cursor && sti_element_parent(*cursor) == before);
    return *cursor ? sti_element_parent(*cursor) : NULL;
}

/* The classes of the actuator looked at last; most actuators share theirs with the one before. */
typedef struct classes {
    const sti_element *innermost; /* the default that it starts with */
    const sti_element **list;     /* innermost first */
    servo *chain;                 /* the actuator of each class; MJCF's own defaults at the end */
    int count, capacity;
} classes;

static bool reserve(sti__compiler *c, classes *k, int count) {
    if (k->chain && count <= k->capacity) return true;
    k->capacity = 2 * count + 8;
    k->chain = sti__scratch(c, (size_t)k->capacity + 1, sizeof *k->chain);
    k->list = sti__scratch(c, (size_t)k->capacity, sizeof *k->list);
    return k->chain && k->list;
}

/* The actuator of each class, from the outside in. */
static void resolve_classes(sti__compiler *c, classes *k) {
    servo *s = k->chain + k->count;
    *s = (servo){.written = STI_E_general, .ctrllimited = AUTO, .actlimited = AUTO};
    reset(s);
    for (int i = k->count - 1; i >= 0; i--) {
        const sti_element *d = sti_element_child(k->list[i]);
        s--;
        *s = s[1];
        for (; d; d = sti_element_next(d))
            if (is_actuator(d)) apply(c, d, s, k->count - i + 1, s);
    }
}

static bool find_classes(sti__compiler *c, const sti_element *e, classes *k) {
    const sti_element *first = sti__default_next(e, NULL), *cursor = NULL;
    int count = 0;
    if (k->chain && first == k->innermost) return true;
    while (next_class(e, &cursor)) count++;
    if (!reserve(c, k, count)) return false;
    k->innermost = first;
    k->count = 0;
    for (cursor = NULL; k->count < count; k->count++) k->list[k->count] = next_class(e, &cursor);
    resolve_classes(c, k);
    return true;
}

/* The actuator that e describes. */
static bool resolve(sti__compiler *c, const sti_element *e, classes *k, servo *out) {
    if (!find_classes(c, e, k)) return false;
    *out = k->chain[0];
    apply(c, e, k->chain, k->count + 1, out);
    settle(c, e, out);
    return true;
}

/* ---- transmission ------------------------------------------------------------------------------------ */

typedef struct target {
    int type; /* sti_trn, -1 if there is none */
    int id[2];
} target;

/* Exactly one of these attributes says what is driven. */
static const struct {
    sti__aid attribute;
    int type;
    sti_object kind;
} transmissions[] = {{STI_A_joint, STI_TRN_JOINT, STI_OBJ_JOINT},
                     {STI_A_jointinparent, STI_TRN_JOINTINPARENT, STI_OBJ_JOINT},
                     {STI_A_tendon, STI_TRN_TENDON, STI_OBJ_TENDON},
                     {STI_A_cranksite, STI_TRN_SLIDERCRANK, STI_OBJ_SITE},
                     {STI_A_site, STI_TRN_SITE, STI_OBJ_SITE},
                     {STI_A_body, STI_TRN_BODY, STI_OBJ_BODY}};

static void check_crank(sti__compiler *c, const sti_element *e, int type) {
    bool crank = type == STI_TRN_SLIDERCRANK;
    if (sti__has_own(e, STI_A_refsite) && type != STI_TRN_SITE)
        sti__complain(c, e, STI_A_refsite, STI_VALUE, "goes with the attribute site only");
    if (!crank && sti__has_own(e, STI_A_slidersite))
        sti__complain(c, e, STI_A_slidersite, STI_VALUE, "goes with the attribute cranksite only");
    if (!crank && sti__has_own(e, STI_A_cranklength))
        sti__complain(c, e, STI_A_cranklength, STI_VALUE, "goes with the attribute cranksite only");
    if (crank && !sti__has_own(e, STI_A_slidersite))
        sti__complain(c, e, STI_A_slidersite, STI_VALUE, "is required with cranksite");
    if (crank && !(sti__real(e, STI_A_cranklength, 0) > 0))
        sti__complain(c, e, STI_A_cranklength, STI_VALUE, "must be positive");
}

static target read_target(sti__compiler *c, const sti_element *e) {
    target t = {-1, {-1, -1}};
    for (int k = 0; k < STI__COUNT(transmissions); k++) {
        const char *name = sti__text(e, transmissions[k].attribute);
        if (!name || !*name) continue;
        if (t.type >= 0) sti__complain(c, e, transmissions[k].attribute, STI_VALUE, "a second target");
        t.type = transmissions[k].type;
        t.id[0] = sti__reference(c, e, transmissions[k].attribute, transmissions[k].kind);
    }
    if (t.type < 0)
        sti__complain(c, e, STI_A_COUNT, STI_VALUE,
                      "needs a target: joint, jointinparent, tendon, site, cranksite or body");
    check_crank(c, e, t.type);
    if (t.type == STI_TRN_SITE) t.id[1] = sti__reference(c, e, STI_A_refsite, STI_OBJ_SITE);
    if (t.type == STI_TRN_SLIDERCRANK) t.id[1] = sti__reference(c, e, STI_A_slidersite, STI_OBJ_SITE);
    return t;
}

/* A servo for orientations drives a whole ball joint, or a site against another. */
static void take_orientation(sti__compiler *c, const sti_element *e, const servo *s, target *t) {
    if (s->gaintype != STI_GAIN_SO3 || t->id[0] < 0) return;
    bool ball = t->type == STI_TRN_JOINT && c->tree.jnt_type[t->id[0]] == STI_JOINT_BALL;
    if (!ball && !(t->type == STI_TRN_SITE && t->id[1] >= 0))
        sti__complain(c, e, t->type == STI_TRN_SITE ? STI_A_refsite : STI_A_joint, STI_VALUE,
                      "a servo for orientations needs a ball joint, or a site and a refsite");
    t->type = STI_TRN_SO3;
}

static void add_site(sti__compiler *c, sti__dofs *dofs, int site) {
    if (site >= 0) sti__dofs_add_body(dofs, &c->tree, c->tree.site_bodyid[site]);
}

/* The dofs that the actuator can move. Tendons bring their own pattern, kept in the model. */
static void target_dofs(sti__compiler *c, target t, sti__dofs *dofs) {
    static const int ndof[] = {
        [STI_JOINT_FREE] = 6, [STI_JOINT_BALL] = 3, [STI_JOINT_SLIDE] = 1, [STI_JOINT_HINGE] = 1};
    dofs->count = 0;
    if (t.type == STI_TRN_JOINT || t.type == STI_TRN_JOINTINPARENT) {
        sti__dofs_add_range(dofs, c->tree.jnt_dofadr[t.id[0]], ndof[c->tree.jnt_type[t.id[0]]]);
    } else if (t.type == STI_TRN_TENDON) {
        sti__tendon_dofs(c, sti__object(c, STI_OBJ_TENDON, t.id[0]), dofs);
    } else if (t.type == STI_TRN_SO3 && t.id[1] < 0) {
        sti__dofs_add_range(dofs, c->tree.jnt_dofadr[t.id[0]], 3);
    } else if (t.type != STI_TRN_BODY) { /* what a body touches is not known here */
        add_site(c, dofs, t.id[0]);
        add_site(c, dofs, t.id[1]);
    }
}

/* ---- size -------------------------------------------------------------------------------------------- */

/* The integral and the last control of a pid, then one for every dyntype but none. */
static int activations(const servo *s) {
    int states = 0;
    for (int bit = STI_MOTOR_SETPOINT; bit <= STI_MOTOR_CURRENT; bit <<= 1) states += (s->pid & bit) != 0;
    if (s->gaintype == STI_GAIN_SO3) return s->dyntype == STI_DYN_INTEGRATOR ? 3 : 0;
    if (s->gaintype >= STI_GAIN_DCMOTOR) return states;
    return ((s->pid & STI_PID_INTEGRAL) != 0) + ((s->pid & STI_PID_RATE_LIMIT) != 0) +
           (s->dyntype != STI_DYN_NONE);
}

static int controls(const servo *s) {
    int count = 0;
    if (s->gaintype == STI_GAIN_SO3) return s->ctrlspec == STI_CHART_QUAT ? 4 : 3;
    for (int bit = 1; bit < STI_INPUT_NONE; bit <<= 1) count += (s->ctrlspec & bit) != 0;
    return s->ctrlspec ? count : 1;
}

static int outputs(const servo *s) { return s->gaintype == STI_GAIN_SO3 ? 3 : 1; }

static int activation_count(sti__compiler *c, const sti_element *e, const servo *s) {
    int needed = activations(s);
    if (s->actdim >= 0 && s->actdim != needed)
        sti__complain(c, e, STI_A_actdim, STI_VALUE, "must be %d for this %s", needed,
                      s->pid ? "plugin, settings and dyntype" : "dyntype");
    return needed;
}

void sti__size_actuators(sti__compiler *c) {
    sti_model *m = c->m;
    sti__dofs dofs;
    classes k = {0};
    c->outputs = sti__scratch(c, (size_t)m->nactuator + 1, sizeof *c->outputs);
    if (!c->outputs || !sti__dofs_init(c, &dofs, m->nv)) return;
    for (int i = 0; i < m->nactuator; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_ACTUATOR, i);
        servo s;
        target t = read_target(c, e);
        if (!resolve(c, e, &k, &s)) return;
        m->na += activation_count(c, e, &s);
        m->nu += controls(&s);
        m->nout += c->outputs[i] = outputs(&s);
        take_orientation(c, e, &s, &t);
        sti__size_history(c, e, controls(&s));
        if (sti__failed(c)) continue;
        target_dofs(c, t, &dofs);
        for (int o = 0; o < outputs(&s); o++)
            if (!sti__count_add(&m->nJmom, dofs.count))
                sti__complain(c, e, STI_A_COUNT, STI_LIMIT, "the actuator moments have too many nonzeros");
    }
}

/* ---- fill -------------------------------------------------------------------------------------------- */

/* Limits that are not spelled out follow from the range, if the compiler may infer them. */
static bool limited(sti__compiler *c, const sti_element *e, int word, const double range[2],
                    sti__aid attribute) {
    bool on = word == 1 || (word == AUTO && c->autolimits && range[0] < range[1]);
    if (word == AUTO && !c->autolimits && (range[0] != 0 || range[1] != 0))
        sti__complain(c, e, attribute, STI_VALUE,
                      "is given without saying whether it is a limit (autolimits is off)");
    if (on && range[0] >= range[1])
        sti__complain(c, e, attribute, STI_VALUE, "the first value must be below the second");
    return on;
}

/* ctrlrange, or actrange of an integrator, as the target's range scaled about its middle. */
static void inherit_range(sti__compiler *c, const sti_element *e, target t, servo *s) {
    const sti_model *m = c->m;
    const double *range =
        t.type == STI_TRN_TENDON ? m->tendon_range + 2 * t.id[0] : m->jnt_range + 2 * t.id[0];
    bool servoed =
        s->gaintype == STI_GAIN_PID ||
        (s->gaintype == STI_GAIN_FIXED && s->biastype == STI_BIAS_AFFINE && s->gainprm[0] == -s->biasprm[1]);
    if (!(s->inheritrange > 0) || !servoed) return;
    if (t.type != STI_TRN_JOINT && t.type != STI_TRN_JOINTINPARENT && t.type != STI_TRN_TENDON) {
        sti__complain(c, e, STI_A_inheritrange, STI_VALUE, "needs a joint or tendon as target");
        return;
    }
    if (t.type != STI_TRN_TENDON && m->jnt_type[t.id[0]] < STI_JOINT_SLIDE) {
        sti__complain(c, e, STI_A_inheritrange, STI_VALUE, "needs a hinge or slide joint");
        return;
    }
    if (range[0] == range[1]) {
        sti__complain(c, e, STI_A_inheritrange, STI_VALUE, "the target has no range");
        return;
    }
    double middle = 0.5 * (range[1] + range[0]), half = 0.5 * (range[1] - range[0]) * s->inheritrange;
    double *out = s->dyntype == STI_DYN_INTEGRATOR ? s->actrange : s->ctrlrange;
    out[0] = middle - half;
    out[1] = middle + half;
}

/* Control by control: of pid each has its own range. */
static void fill_controls(sti__compiler *c, const sti_element *e, int i, const servo *s) {
    static const sti__aid own[] = {STI_A_ctrlrange, STI_A_velrange, STI_A_ffrange};
    sti_model *m = c->m;
    const double *range[] = {s->ctrlrange, s->velrange, s->ffrange};
    bool pid = s->gaintype == STI_GAIN_PID;
    for (int k = 0, bit = 0; k < m->actuator_ctrlnum[i]; k++, bit++) {
        int at = m->actuator_ctrladr[i] + k;
        while (pid && !(s->ctrlspec >> bit & 1)) bit++;
        const double *r = pid ? range[bit] : s->ctrlrange;
        m->actuator_ctrllimited[at] =
            limited(c, e, pid && bit ? AUTO : s->ctrllimited, r, pid ? own[bit] : STI_A_ctrlrange);
        memcpy(m->actuator_ctrlrange + 2 * at, r, 2 * sizeof(double));
    }
}

static void fill_ranges(sti__compiler *c, const sti_element *e, int i, servo *s) {
    sti_model *m = c->m;
    double *force = m->actuator_forcerange + 2 * i;
    sti__reals(e, STI_A_forcerange, force, 2);
    if (s->forcerange[1] > 0) memcpy(force, s->forcerange, sizeof s->forcerange);
    fill_controls(c, e, i, s);
    m->actuator_actlimited[i] = limited(c, e, s->actlimited, s->actrange, STI_A_actrange);
    m->actuator_forcelimited[i] =
        s->forcerange[1] > 0 ||
        limited(c, e, sti__keyword(e, STI_A_forcelimited, AUTO), force, STI_A_forcerange);
    if (m->actuator_forcelimited[i] && s->gaintype == STI_GAIN_SO3 && force[0] != 0)
        sti__complain(c, e, STI_A_forcerange, STI_VALUE,
                      "of a servo for orientations is the range of the torque's norm: it begins at 0");
    if (m->actuator_actlimited[i] && s->dyntype == STI_DYN_NONE)
        sti__complain(c, e, STI_A_actrange, STI_VALUE, "is given, but the actuator has no activation");
    memcpy(m->actuator_actrange + 2 * i, s->actrange, sizeof s->actrange);
}

static void fill_servo(sti_model *m, int i, const servo *s, int *actadr) {
    m->actuator_dyntype[i] = s->dyntype;
    m->actuator_gaintype[i] = s->gaintype;
    m->actuator_biastype[i] = s->biastype;
    m->actuator_actearly[i] = s->actearly;
    m->actuator_actnum[i] = activations(s);
    m->actuator_actadr[i] = m->actuator_actnum[i] ? *actadr : -1;
    *actadr += m->actuator_actnum[i];
    m->actuator_pid[i] = s->pid;
    m->actuator_ctrlspec[i] = s->ctrlspec;
    memcpy(m->actuator_pidprm + 5 * i, s->pidprm, sizeof s->pidprm);
    memcpy(m->actuator_dynprm + 10 * i, s->dynprm, sizeof s->dynprm);
    memcpy(m->actuator_gainprm + 10 * i, s->gainprm, sizeof s->gainprm);
    memcpy(m->actuator_biasprm + 10 * i, s->biasprm, sizeof s->biasprm);
}

static void fill_transmission(sti__compiler *c, const sti_element *e, int i, target t, sti__dofs *dofs,
                              int *adr) {
    sti_model *m = c->m;
    m->actuator_trntype[i] = t.type;
    memcpy(m->actuator_trnid + 2 * i, t.id, sizeof t.id);
    m->actuator_outadr[i] = i ? m->actuator_outadr[i - 1] + m->actuator_outnum[i - 1] : 0;
    m->actuator_outnum[i] = t.type == STI_TRN_SO3 ? 3 : 1;
    m->actuator_cranklength[i] = sti__real(e, STI_A_cranklength, 0);
    m->actuator_group[i] = sti__int(e, STI_A_group, 0);
    target_dofs(c, t, dofs);
    for (int k = 0, o = m->actuator_outadr[i]; k < m->actuator_outnum[i]; k++, o++) {
        m->actuator_gear[6 * o] = 1;
        sti__reals(e, STI_A_gear, m->actuator_gear + 6 * o, 6);
        if (t.type != STI_TRN_SO3) sti__reals(e, STI_A_lengthrange, m->actuator_lengthrange + 2 * o, 2);
        m->moment_rowadr[o] = *adr;
        m->moment_rownnz[o] = dofs->count;
        memcpy(m->moment_colind + *adr, dofs->list, (size_t)dofs->count * sizeof(int));
        *adr += dofs->count;
    }
}

void sti__size_history(sti__compiler *c, const sti_element *e, int dim) {
    int n = sti__int(e, STI_A_nsample, 0);
    if (n < 0) sti__complain(c, e, STI_A_nsample, STI_VALUE, "must not be negative");
    if (n > 0)
        sti__add_to(c, e, STI_A_nsample, &c->m->nhistory, sti__add(2, sti__size(n, 1 + dim)), sizeof(double),
                    "samples");
}

void sti__read_history(sti__compiler *c, const sti_element *e, int *shape, double *delay) {
    shape[0] = sti__int(e, STI_A_nsample, 0);
    shape[1] = sti__keyword(e, STI_A_interp, 0);
    *delay = sti__real(e, STI_A_delay, 0);
    if (*delay < 0) sti__complain(c, e, STI_A_delay, STI_VALUE, "must not be negative");
    if (*delay > 0 && shape[0] <= 0)
        sti__complain(c, e, STI_A_delay, STI_VALUE, "needs samples: give nsample");
}

/* Samples, and their place in the history. */
static void fill_history(sti__compiler *c, const sti_element *e, int i, int *adr) {
    sti_model *m = c->m;
    int *shape = m->actuator_history + 2 * i;
    sti__read_history(c, e, shape, m->actuator_delay + i);
    m->actuator_historyadr[i] = shape[0] > 0 ? *adr : -1;
    *adr += shape[0] > 0 ? 2 + shape[0] * (1 + m->actuator_ctrlnum[i]) : 0;
}

/* Armature and damping that the target has from this actuator. */
static void fill_reflected(sti__compiler *c, const sti_element *e, int i, target t) {
    sti_model *m = c->m;
    double damping[3] = {0}, armature = sti__real(e, STI_A_armature, 0);
    bool tendon = t.type == STI_TRN_TENDON,
         joint = t.type == STI_TRN_JOINT || t.type == STI_TRN_JOINTINPARENT;
    sti__reals(e, STI_A_damping, damping, 3);
    m->actuator_armature[i] = armature;
    m->actuator_damping[i] = damping[0];
    memcpy(m->actuator_dampingpoly + 2 * i, damping + 1, 2 * sizeof(double));
    refuse_negative(c, e, STI_A_armature);
    if (damping[0] < 0) sti__complain(c, e, STI_A_damping, STI_VALUE, "must not be negative");
    if ((armature == 0 && damping[0] == 0 && damping[1] == 0 && damping[2] == 0) || t.id[0] < 0) return;
    if (!joint && !tendon) {
        sti__complain(c, e, armature != 0 ? STI_A_armature : STI_A_damping, STI_VALUE,
                      "needs a joint or tendon as target");
        return;
    }
    for (int w = 0; tendon && armature != 0 && w < m->tendon_num[t.id[0]]; w++)
        if (m->wrap_type[m->tendon_adr[t.id[0]] + w] >= STI_WRAP_SPHERE)
            sti__complain(c, e, STI_A_armature, STI_VALUE, "a tendon that wraps geoms cannot have armature");
    int *of = (tendon ? m->tendon_actuatorid : m->jnt_actuatorid) + t.id[0];
    *of = *of == STI_ACTUATORS_NONE ? i : STI_ACTUATORS_SEVERAL;
}

/* A force that is limited behind the actuator cannot be a row of its own. */
static void fill_implicit(sti__compiler *c, const sti_element *e, int i, target t) {
    const sti_model *m = c->m;
    bool joint = t.type == STI_TRN_JOINT || t.type == STI_TRN_JOINTINPARENT;
    c->m->actuator_implicit[i] = sti__keyword(e, STI_A_implicit, 0);
    if (!m->actuator_implicit[i] || t.id[0] < 0) return;
    if (m->actuator_gaintype[i] == STI_GAIN_MUSCLE || m->actuator_biastype[i] == STI_BIAS_MUSCLE)
        sti__complain(c, e, STI_A_implicit, STI_UNSUPPORTED, "a muscle has no constant gains");
    if (t.type == STI_TRN_SO3)
        sti__complain(c, e, STI_A_implicit, STI_UNSUPPORTED,
                      "not for orientations: use an implicit integrator");
    if (m->actuator_pid[i] & STI_PID)
        sti__complain(c, e, STI_A_implicit, STI_UNSUPPORTED, "not with a plugin");
    if (m->actuator_gaintype[i] >= STI_GAIN_DCMOTOR)
        sti__complain(c, e, STI_A_implicit, STI_UNSUPPORTED, "not with pid and dcmotor");
    if (t.type == STI_TRN_BODY)
        sti__complain(c, e, STI_A_implicit, STI_UNSUPPORTED,
                      "adhesion has no gains of a position or velocity");
    if ((joint && m->jnt_actfrclimited[t.id[0]]) ||
        (t.type == STI_TRN_TENDON && m->tendon_actfrclimited[t.id[0]]))
        sti__complain(c, e, STI_A_implicit, STI_UNSUPPORTED,
                      "the target has an actuatorfrcrange; give the actuator a forcerange instead");
}

void sti__fill_actuators(sti__compiler *c) {
    sti__dofs dofs;
    classes k = {0};
    int actadr = 0, coladr = 0, ctrladr = 0, history = 0;
    for (int j = 0; j < c->m->njnt; j++) c->m->jnt_actuatorid[j] = STI_ACTUATORS_NONE;
    for (int t = 0; t < c->m->ntendon; t++) c->m->tendon_actuatorid[t] = STI_ACTUATORS_NONE;
    if (!sti__dofs_init(c, &dofs, c->m->nv)) return;
    for (int i = 0; i < c->m->nactuator; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_ACTUATOR, i);
        servo s;
        target t = read_target(c, e);
        if (!resolve(c, e, &k, &s)) return;
        take_orientation(c, e, &s, &t);
        inherit_range(c, e, t, &s);
        c->m->actuator_ctrladr[i] = ctrladr;
        ctrladr += c->m->actuator_ctrlnum[i] = controls(&s);
        fill_ranges(c, e, i, &s);
        fill_servo(c->m, i, &s, &actadr);
        fill_transmission(c, e, i, t, &dofs, &coladr);
        fill_reflected(c, e, i, t);
        fill_history(c, e, i, &history);
        fill_implicit(c, e, i, t);
    }
}
