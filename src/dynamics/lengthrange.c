/* SPDX-License-Identifier: Apache-2.0 */
/* Length ranges of muscles, found as MuJoCo finds them: from qpos0 an actuator is pulled to either end in a simulation without
   gravity, contacts, friction and passive forces, whose velocity decays. Limits and equalities are MuJoCo's soft constraints:
   with inverse inertia W = J M^-1 J', regularisation R and reference acceleration aref their forces are f with
       (W + R) f + J a0 - aref = w,   of limits f >= 0, w >= 0, f w = 0;   of equalities w = 0. */
#include "base/det.h"
#include "dynamics/kernels.h"
#include "dynamics/reference.h"
#include "math/impedance.h"
#include "math/rot.h"
#include "model/compile.h"
#include <string.h>

typedef struct settings {
    int mode;
    bool useexisting, uselimit;
    double accel, maxforce, timeconst, timestep, inttotal, interval, tolrange;
} settings;

enum { MODE_NONE, MODE_MUSCLE, MODE_MUSCLEUSER, MODE_ALL };

typedef struct pull {
    sti_state *s;
    const sti__kernels *k;
    settings set;
    int nrow, capacity;
    double *J, *MJ;        /* capacity * nv: rows, and M^-1 of them */
    double *R, *b, *f, *w; /* capacity; b = aref - J a0 */
    double *A, *L;         /* capacity^2 */
    bool *free, *active;   /* capacity */
    int *index;            /* capacity */
    void *block;
    size_t bytes;
} pull;

static settings read_settings(const sti_spec *spec) {
#define REAL(name, otherwise) \
    sti__real(sti__setting(spec, STI_E_lengthrange, STI_A_##name), STI_A_##name, otherwise)
#define WORD(name, otherwise) \
    sti__keyword(sti__setting(spec, STI_E_lengthrange, STI_A_##name), STI_A_##name, otherwise)
    return (settings){WORD(mode, MODE_MUSCLE), WORD(useexisting, 1), WORD(uselimit, 0),    REAL(accel, 20),
                      REAL(maxforce, 0),       REAL(timeconst, 1),   REAL(timestep, 0.01), REAL(inttotal, 10),
                      REAL(interval, 2),       REAL(tolrange, 0.05)};
#undef REAL
#undef WORD
}

/* ---- rows -------------------------------------------------------------------------------------------- */

typedef struct bounds {
    const double *solref, *solimp;
    double weight; /* inverse inertia in the reference pose */
    double phi;    /* distance from where it acts */
    bool free;     /* an equality */
} bounds;

/* Stiffness and damping of a reference acceleration. */
static void reference_gains(const sti_state *s, const bounds *o, double *K, double *B) {
    double most = impedance_at(o->solimp, INFINITY), a = o->solref[0], ratio = o->solref[1];
    if (a > 0) {
        if (a < 2 * s->opt.timestep) a = 2 * s->opt.timestep;
        double square = most * most * a * a * ratio * ratio;
        *K = 1 / (square > 1e-15 ? square : 1e-15);
        *B = 2 / (most * a > 1e-15 ? most * a : 1e-15);
    } else {
        *K = -a / (most * most);
        *B = -ratio / most;
    }
}

static double dot(const double *a, const double *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

/* Closes the row that the caller has written to row_of(p), zeros elsewhere. */
static double *row_of(const pull *p) { return p->J + (size_t)p->nrow * (size_t)p->s->model->nv; }

static void close_row(pull *p, const bounds *o) {
    const sti_state *s = p->s;
    int nv = s->model->nv, r = p->nrow++;
    const double *J = p->J + (size_t)r * (size_t)nv;
    double K, B, imp = impedance_at(o->solimp, o->phi), R = (1 - imp) / imp * o->weight;
    double *MJ = p->MJ + (size_t)r * (size_t)nv;
    reference_gains(s, o, &K, &B);
    p->R[r] = R > 1e-15 ? R : 1e-15;
    p->b[r] = -B * dot(J, s->qvel, nv) - K * imp * o->phi - dot(J, s->qacc_smooth, nv);
    p->free[r] = o->free;
    memcpy(MJ, J, (size_t)nv * sizeof(double));
    p->k->solve_m(s, MJ);
    for (int i = 0; i <= r; i++)
        p->A[(size_t)r * (size_t)p->capacity + (size_t)i] =
            p->A[(size_t)i * (size_t)p->capacity + (size_t)r] = dot(p->J + (size_t)i * (size_t)nv, MJ, nv);
}

static double *open_row(pull *p) {
    double *J = row_of(p);
    memset(J, 0, (size_t)p->s->model->nv * sizeof(double));
    return J;
}

static void ball_limit(pull *p, int j, bounds o) {
    const sti_model *m = p->s->model;
    const double *q = p->s->qpos + m->jnt_qposadr[j], *range = m->jnt_range + 2 * j;
    double axis[3] = {q[1], q[2], q[3]}, sine = v3_norm(axis),
           most = range[0] > range[1] ? range[0] : range[1];
    if (!(sine > 0)) return;
    double angle = 2 * sti__atan2(sine, q[0]);
    if (angle > 3.14159265358979323846) angle -= 2 * 3.14159265358979323846;
    double sign = angle < 0 ? -1 : 1, phi = most - sign * angle - m->jnt_margin[j];
    if (!(phi < 0)) return;
    double *J = open_row(p);
    for (int k = 0; k < 3; k++) J[m->jnt_dofadr[j] + k] = -sign * axis[k] / sine;
    o.phi = phi;
    close_row(p, &o);
}

static void joint_limit(pull *p, int j) {
    const sti_model *m = p->s->model;
    int dof = m->jnt_dofadr[j];
    bounds o = {m->jnt_solref + 2 * j, m->jnt_solimp + 5 * j, m->dof_invweight0[dof], 0, false};
    if (m->jnt_type[j] == STI_JOINT_BALL) ball_limit(p, j, o);
    if (m->jnt_type[j] < STI_JOINT_SLIDE) return;
    double x = p->s->qpos[m->jnt_qposadr[j]];
    for (int side = -1; side <= 1; side += 2) {
        o.phi = side * (m->jnt_range[2 * j + (side > 0)] - x) - m->jnt_margin[j];
        if (!(o.phi < 0)) continue;
        open_row(p)[dof] = -side;
        close_row(p, &o);
    }
}

static void add_tendon(const pull *p, int t, double scale, double *J) {
    const sti_model *m = p->s->model;
    for (int k = m->ten_J_rowadr[t]; k < m->ten_J_rowadr[t] + m->ten_J_rownnz[t]; k++)
        J[m->ten_J_colind[k]] += scale * p->s->ten_J[k];
}

static void tendon_limit(pull *p, int t) {
    const sti_model *m = p->s->model;
    bounds o = {m->tendon_solref_lim + 2 * t, m->tendon_solimp_lim + 5 * t, m->tendon_invweight0[t], 0,
                false};
    for (int side = -1; side <= 1; side += 2) {
        o.phi = side * (m->tendon_range[2 * t + (side > 0)] - p->s->ten_length[t]) - m->tendon_margin[t];
        if (!(o.phi < 0)) continue;
        add_tendon(p, t, -side, open_row(p));
        close_row(p, &o);
    }
}

/* x1 - x1(0) = polynomial of x2 - x2(0), of joints or tendons */
static void scalar_equality(pull *p, int e) {
    const sti_model *m = p->s->model;
    const double *poly = m->eq_data + 11 * e;
    bool tendon = m->eq_type[e] == STI_EQ_TENDON;
    int id[2] = {m->eq_obj1id[e], m->eq_obj2id[e]};
    double x[2] = {0, 0}, weight = 0, slope = 0;
    for (int k = 0; k < 2 && id[k] >= 0; k++) {
        int q = tendon ? 0 : m->jnt_qposadr[id[k]];
        x[k] = tendon ? p->s->ten_length[id[k]] - m->tendon_length0[id[k]] : p->s->qpos[q] - m->qpos0[q];
        weight += tendon ? m->tendon_invweight0[id[k]] : m->dof_invweight0[m->jnt_dofadr[id[k]]];
    }
    double phi = x[0] - poly[0], power = 1, *J = open_row(p);
    for (int k = 1; k < 5 && id[1] >= 0; k++) {
        slope += k * poly[k] * power;
        power *= x[1];
        phi -= poly[k] * power;
    }
    for (int k = 0; k < 2 && id[k] >= 0; k++) {
        double scale = k == 0 ? 1 : -slope;
        if (tendon) add_tendon(p, id[k], scale, J);
        else J[m->jnt_dofadr[id[k]]] += scale;
    }
    close_row(p, &(bounds){m->eq_solref + 2 * e, m->eq_solimp + 5 * e, weight, phi, true});
}

static void make_rows(pull *p) {
    const sti_model *m = p->s->model;
    p->nrow = 0;
    for (int e = 0; e < m->neq; e++)
        if (m->eq_active0[e] && (m->eq_type[e] == STI_EQ_JOINT || m->eq_type[e] == STI_EQ_TENDON))
            scalar_equality(p, e);
    for (int j = 0; j < m->njnt; j++)
        if (m->jnt_limited[j]) joint_limit(p, j);
    for (int t = 0; t < m->ntendon; t++)
        if (m->tendon_limited[t]) tendon_limit(p, t);
}

/* ---- forces ------------------------------------------------------------------------------------------ */

/* L L' = the active part of W + R, and f of it. */
static void solve_active(pull *p) {
    int n = 0;
    size_t c = (size_t)p->capacity;
    for (int i = 0; i < p->nrow; i++) {
        p->f[i] = 0;
        if (p->active[i]) p->index[n++] = i;
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            const double *a = p->L + (size_t)i * c, *b = p->L + (size_t)j * c;
            double x = p->A[(size_t)p->index[i] * c + (size_t)p->index[j]] - dot(a, b, j);
            if (i == j) p->L[(size_t)i * c + (size_t)i] = sqrt(x + p->R[p->index[i]]);
            else p->L[(size_t)i * c + (size_t)j] = x / b[j];
        }
        double x = p->b[p->index[i]] - dot(p->L + (size_t)i * c, p->w, i);
        p->w[i] = x / p->L[(size_t)i * c + (size_t)i];
    }
    for (int i = n - 1; i >= 0; i--) {
        double x = p->w[i];
        for (int j = i + 1; j < n; j++) x -= p->L[(size_t)j * c + (size_t)i] * p->f[p->index[j]];
        p->f[p->index[i]] = x / p->L[(size_t)i * c + (size_t)i];
    }
}

/* Whether a limit is on the wrong side: it pulls, or gives way to nothing. */
static bool is_wrong(const pull *p, int i) {
    if (p->free[i]) return false;
    if (p->active[i]) return p->f[i] < 0;
    return dot(p->A + (size_t)i * (size_t)p->capacity, p->f, p->nrow) < p->b[i];
}

/* All that are wrong change sides at once; after a while only the last of them, which always ends. */
#define MOST_AT_ONCE 20
#define MOST_ROUNDS 10000
static void solve_rows(pull *p) {
    for (int i = 0; i < p->nrow; i++) p->active[i] = p->free[i] || p->b[i] > 0;
    for (int round = 0; round < MOST_ROUNDS; round++) {
        int last = -1, n = 0;
        solve_active(p);
        for (int i = 0; i < p->nrow; i++)
            if (is_wrong(p, i)) p->index[n++] = last = i;
        if (last < 0) return;
        for (int k = round < MOST_AT_ONCE ? 0 : n - 1; k < n; k++) p->active[p->index[k]] ^= true;
    }
}

static void add_forces(pull *p) {
    sti_state *s = p->s;
    int nv = s->model->nv;
    for (int r = 0; r < p->nrow; r++)
        for (int d = 0; d < nv; d++) {
            s->qfrc_smooth[d] += p->f[r] * p->J[(size_t)r * (size_t)nv + (size_t)d];
            s->qacc[d] += p->f[r] * p->MJ[(size_t)r * (size_t)nv + (size_t)d];
        }
}

/* ---- simulation -------------------------------------------------------------------------------------- */

static double norm(const double *x, int n) { return sqrt(dot(x, x, n)); }

static void apply_pull(pull *p, int actuator, int side) {
    sti_state *s = p->s;
    const sti_model *m = s->model;
    double *force = s->qfrc_applied, *x = p->MJ;
    memset(force, 0, (size_t)m->nv * sizeof(double));
    int row = m->actuator_outadr[actuator], adr = m->moment_rowadr[row];
    for (int k = adr; k < adr + m->moment_rownnz[row]; k++)
        force[m->moment_colind[k]] += s->actuator_moment[k];
    memcpy(x, force, (size_t)m->nv * sizeof(double));
    p->k->solve_m(s, x);
    double size = norm(x, m->nv), scale = (2 * side - 1) * p->set.accel / (size > 1e-15 ? size : 1e-15);
    for (int d = 0; d < m->nv; d++) force[d] *= scale;
    size = norm(force, m->nv);
    if (!(p->set.maxforce > 0 && size > p->set.maxforce)) return;
    for (int d = 0; d < m->nv; d++) force[d] *= p->set.maxforce / size;
}

/* One step; returns the length at its start. */
static double pull_step(pull *p, int actuator, int side) {
    sti_state *s = p->s;
    const sti_model *m = s->model;
    double tau = p->set.timeconst > 0.01 ? p->set.timeconst : 0.01, decay = sti__exp(-s->opt.timestep / tau);
    for (int d = 0; d < m->nv; d++) s->qvel[d] *= decay;
    p->k->kinematics(s);
    p->k->inertia(s);
    if (m->ntendon) p->k->tendon(s);
    p->k->factor(s);
    p->k->transmission(s);
    p->k->velocity(s);
    p->k->passive(s);
    p->k->bias(s);
    p->k->actuation(s);
    apply_pull(p, actuator, side);
    p->k->acceleration(s);
    make_rows(p);
    solve_rows(p);
    add_forces(p);
    if (s->opt.integrator == STI_INTEGRATOR_IMPLICIT || s->opt.integrator == STI_INTEGRATOR_IMPLICITFAST) {
        p->k->derivative(s);
        p->k->implicit(s);
    } else memcpy(s->qacc_step, s->qacc, (size_t)m->nv * sizeof(double));
    double length = s->actuator_length[m->actuator_outadr[actuator]];
    p->k->advance(s, s->qacc_step, s->act_dot, NULL);
    return length;
}

static void start_over(sti_state *s) {
    const sti_model *m = s->model;
    memcpy(s->qpos, m->qpos0, (size_t)m->nq * sizeof(double));
    memset(s->qvel, 0, (size_t)m->nv * sizeof(double));
    *s->time = 0;
}

/* Least and largest length at the end of a pull to one side. */
static bool measure(pull *p, int actuator, int side, double out[2]) {
    bool any = false;
    start_over(p->s);
    while (*p->s->time < p->set.inttotal) {
        double length = pull_step(p, actuator, side);
        if (!isfinite(length)) return false;
        if (!(*p->s->time > p->set.inttotal - p->set.interval)) continue;
        if (!any || length < out[0]) out[0] = length;
        if (!any || length > out[1]) out[1] = length;
        any = true;
    }
    return any;
}

/* ---- all --------------------------------------------------------------------------------------------- */

static bool pull_init(pull *p, const sti_model *m) {
    size_t rows = sti__sum(sti__size(2, m->njnt), sti__size(2, m->ntendon), m->neq, 1), n = 0;
    p->capacity = (int)rows;
    n = sti__add(sti__size(rows, 2, m->nv, sizeof(double)), sti__size(rows, 2, rows, sizeof(double)));
    n = sti__add(n, sti__size(rows, 4, sizeof(double)));
    p->bytes = sti__add(n, sti__size(rows, sizeof(int) + 2 * sizeof(bool)));
    p->block = sti__alloc(&m->allocator, p->bytes);
    if (!p->block) return false;
    p->J = p->block;
    p->MJ = p->J + rows * (size_t)m->nv;
    p->A = p->MJ + rows * (size_t)m->nv;
    p->L = p->A + rows * rows;
    p->R = p->L + rows * rows;
    p->b = p->R + rows;
    p->f = p->b + rows;
    p->w = p->f + rows;
    p->index = (int *)(p->w + rows);
    p->free = (bool *)(p->index + rows);
    p->active = p->free + rows;
    return true;
}

static bool is_wanted(const sti_model *m, const settings *set, int i) {
    const double *range = m->actuator_lengthrange + 2 * m->actuator_outadr[i];
    bool muscle = m->actuator_gaintype[i] == STI_GAIN_MUSCLE || m->actuator_biastype[i] == STI_BIAS_MUSCLE;
    if (m->actuator_trntype[i] == STI_TRN_SO3 || set->mode == MODE_NONE || (set->mode != MODE_ALL && !muscle))
        return false;
    return !(set->useexisting && range[0] < range[1]);
}

static bool take_limit(sti_model *m, int i) {
    int type = m->actuator_trntype[i], id = m->actuator_trnid[2 * i];
    bool joint = type == STI_TRN_JOINT || type == STI_TRN_JOINTINPARENT;
    if (!(joint && m->jnt_limited[id]) && !(type == STI_TRN_TENDON && m->tendon_limited[id])) return false;
    memcpy(m->actuator_lengthrange + 2 * m->actuator_outadr[i],
           (joint ? m->jnt_range : m->tendon_range) + 2 * id, 2 * sizeof(double));
    return true;
}

/* MuJoCo's own limits and equalities are needed; those of frames are not here. */
static bool has_frames(const sti_model *m) {
    for (int e = 0; e < m->neq; e++)
        if (m->eq_active0[e] && m->eq_type[e] != STI_EQ_JOINT && m->eq_type[e] != STI_EQ_TENDON) return true;
    return false;
}

#define GIVE "; give it in the attribute lengthrange"

static sti_status find_range(pull *p, sti_model *m, int i, sti__place place, sti_error *error) {
    double end[2][2] = {{0}}, *range = m->actuator_lengthrange + 2 * m->actuator_outadr[i];
    if (has_frames(m))
        return sti__fail_at(
            error, place, STI_UNSUPPORTED,
            "the range of lengths of actuator %d is not found in models with equalities of bodies" GIVE, i);
    for (int side = 0; side < 2; side++)
        if (!measure(p, i, side, end[side]))
            return sti__fail_at(error, place, STI_PHYSICS,
                                "the search for the range of lengths of actuator %d is unstable" GIVE, i);
    range[0] = end[0][0];
    range[1] = end[1][1];
    double span = range[1] - range[0];
    if (!(span > 0))
        return sti__fail_at(error, place, STI_PHYSICS,
                            "the search for the range of lengths of actuator %d gave %g to %g" GIVE, i,
                            range[0], range[1]);
    for (int side = 0; side < 2; side++)
        if (end[side][1] - end[side][0] > p->set.tolrange * span)
            return sti__fail_at(
                error, place, STI_PHYSICS,
                "the search for the range of lengths of actuator %d does not settle: %g to %g at one end "
                "of %g to %g (joints without limits?)" GIVE,
                i, end[side][0], end[side][1], range[0], range[1]);
    return STI_OK;
}

static void set_options(sti_state *s, const settings *set) {
    s->opt.disableflags = STI_DISABLE_FRICTIONLOSS | STI_DISABLE_CONTACT | STI_DISABLE_SPRING |
                          STI_DISABLE_DAMPER | STI_DISABLE_GRAVITY | STI_DISABLE_ACTUATION;
    s->wanted = STI__WANT_ALL;
    if (set->timestep > 0) s->opt.timestep = set->timestep;
}

static sti_status find_ranges(pull *p, sti_model *m, const sti_spec *spec, sti_error *error) {
    sti_status status = STI_OK;
    for (int i = 0; i < m->nactuator && status == STI_OK; i++) {
        if (!is_wanted(m, &p->set, i) || (p->set.uselimit && take_limit(m, i))) continue;
        if (!p->s && !((p->s = sti__state_create(m, 1, &m->allocator, error)) && pull_init(p, m)))
            return sti__fail_at(error, sti__place_of(sti__root(spec)), STI_NO_MEMORY,
                                "no memory for the length ranges");
        set_options(p->s, &p->set);
        status = find_range(p, m, i, sti__object_place(spec, STI_OBJ_ACTUATOR, i), error);
    }
    return status;
}

sti_status sti__find_lengthranges(sti_model *m, const sti_spec *spec, sti_report *report, sti_error *error) {
    sti_error own = {0};
    pull p = {.set = read_settings(spec), .k = sti__kernels_get(1)};
    find_ranges(&p, m, spec, &own);
    sti__free(&m->allocator, p.block, p.bytes);
    sti__state_free(p.s);
    if (own.code != STI_OK) {
        sti__report_add(report, STI_SEVERITY_ERROR, &own);
        if (error) *error = own;
    }
    return own.code;
}
