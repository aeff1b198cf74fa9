/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths and moment arms of tendons, and the inertia along them. */
#include "dynamics/tendon.h"
#include "dynamics/chain.h"
#include "dynamics/spring.h"
#include "dynamics/wrap.h"

void STI_K(tendon)(sti_state *s);

static sparse_row tendon_row(const sti_state *s, int t) {
    const sti_model *m = s->model;
    int adr = m->ten_J_rowadr[t];
    return (sparse_row){m->ten_J_colind + adr, m->ten_J_rownnz[t], LANES(s->ten_J) + adr};
}

/* ---- fixed: a sum of joint coordinates ------------------------------------------------------------ */

static void fixed_tendon(const sti_state *s, int t) {
    const sti_model *m = s->model;
    sparse_row row = tendon_row(s, t);
    vreal length = v_set(0);
    row_zero(row);
    for (int w = m->tendon_adr[t]; w < m->tendon_adr[t] + m->tendon_num[t]; w++) {
        int j = m->wrap_objid[w], k = 0;
        vreal coef = v_set(m->wrap_prm[w]);
        length = length + coef * CLANES(s->qpos)[m->jnt_qposadr[j]];
        while (k < row.n && row.col[k] != m->jnt_dofadr[j]) k++;
        if (k < row.n) row.value[k] = row.value[k] + coef;
    }
    LANES(s->ten_length)[t] = length;
}

/* ---- spatial: a path through sites, around geoms, over pulleys ------------------------------------- */

typedef struct end_point {
    int body;
    vreal pos[3];
} end_point;

static end_point site_point(const sti_state *s, int wrap) {
    const sti_model *m = s->model;
    int site = m->wrap_objid[wrap];
    end_point e = {.body = m->site_bodyid[site]};
    v3_copy(e.pos, CLANES(s->site_xpos) + 3 * site);
    return e;
}

/* What a walk along a tendon leaves behind: its gradient in `row`, or with `wrench` (6 per body) what the
   string does to the bodies when its force is `force`. */
typedef struct path_sink {
    sparse_row row;
    vreal *wrench, force;
} path_sink;

/* Adds a straight piece: its length (returned) and, in the sink, weight * its share. */
static vreal straight(const sti_state *s, const path_sink *sink, const end_point *from, const end_point *to,
                      vreal weight) {
    vreal dir[3], wa[6], wb[6];
    v3_sub(dir, to->pos, from->pos);
    vreal length = v3_normalize(dir);
    if (from->body == to->body) return length;
    point_force(s, to->body, to->pos, dir, wa);
    point_force(s, from->body, from->pos, dir, wb);
    if (sink->wrench) {
        v6_add_scaled(sink->wrench + 6 * to->body, wa, sink->force * weight);
        v6_add_scaled(sink->wrench + 6 * from->body, wb, -(sink->force * weight));
    } else row_add_pair(s, sink->row, to->body, wa, from->body, wb, weight);
    return length;
}

static void get3(double out[3], const double *p, int i, int lane) {
    for (int k = 0; k < 3; k++) out[k] = p[(3 * i + k) * STI_LANES + lane];
}

/* One lane of the question whether the string from a to b wraps around the geom of a path element. */
static double wrap_lane(const sti_state *s, int wrap, int lane, const double a[3], const double b[3],
                        double touch[6]) {
    const sti_model *m = s->model;
    int geom = m->wrap_objid[wrap], side = (int)m->wrap_prm[wrap];
    vreal radius = PAR(s, geom_size, 3 * geom);
    sti__wrap_object o = {.radius = V_LANE(radius, lane),
                          .cylinder = m->wrap_type[wrap] == STI_WRAP_CYLINDER};
    get3(o.pos, s->geom_xpos, geom, lane);
    for (int k = 0; k < 3; k++) get3(o.mat + 3 * k, s->geom_xmat, 3 * geom + k, lane);
    o.has_side = side >= 0;
    if (o.has_side) get3(o.side, s->site_xpos, side, lane);
    return sti__wrap(&o, a, b, touch);
}

/* Site, geom, site: straight, or straight - arc - straight. */
static vreal around_geom(const sti_state *s, const path_sink *sink, int wrap, const end_point *a,
                         const end_point *b, vreal weight) {
    const sti_model *m = s->model;
    int body = m->geom_bodyid[m->wrap_objid[wrap]];
    end_point p = {.body = body}, q = {.body = body};
    vreal arc;
    for (int l = 0; l < STI_LANES; l++) {
        double from[3], to[3], touch[6] = {0, 0, 0, 0, 0, 0};
        for (int k = 0; k < 3; k++) {
            from[k] = V_LANE(a->pos[k], l);
            to[k] = V_LANE(b->pos[k], l);
        }
        V_LANE(arc, l) = wrap_lane(s, wrap, l, from, to, touch);
        for (int k = 0; k < 3; k++) {
            V_LANE(p.pos[k], l) = touch[k];
            V_LANE(q.pos[k], l) = touch[3 + k];
        }
    }
    vmask free = v_lt(arc, v_set(0));
    vreal plain = v_set(0), wrapped = v_set(0);
    if (v_any(free)) plain = straight(s, sink, a, b, v_select(free, weight, v_set(0)));
    if (!v_all(free)) {
        vreal share = v_select(free, v_set(0), weight);
        wrapped = straight(s, sink, a, &p, share);
        wrapped = wrapped + arc + straight(s, sink, &q, b, share);
    }
    return v_select(free, plain, wrapped);
}

static int is_geom(int type) { return type == STI_WRAP_SPHERE || type == STI_WRAP_CYLINDER; }

/* Returns the length. */
static vreal walk_path(const sti_state *s, int t, const path_sink *sink) {
    const sti_model *m = s->model;
    int last = m->tendon_adr[t] + m->tendon_num[t] - 1;
    vreal length = v_set(0), weight = v_set(1);
    for (int w = m->tendon_adr[t]; w < last;) {
        int next = m->wrap_type[w + 1], step = is_geom(next) ? 2 : 1;
        if (m->wrap_type[w] == STI_WRAP_PULLEY || next == STI_WRAP_PULLEY || w + step > last) {
            if (m->wrap_type[w] == STI_WRAP_PULLEY) weight = v_set(1 / m->wrap_prm[w]);
            w++;
            continue;
        }
        end_point a = site_point(s, w), b = site_point(s, w + step);
        vreal piece =
            step == 2 ? around_geom(s, sink, w + 1, &a, &b, weight) : straight(s, sink, &a, &b, weight);
        length = length + piece * weight;
        w += step;
    }
    return length;
}

static void spatial_tendon(const sti_state *s, int t) {
    path_sink sink = {.row = tendon_row(s, t)};
    row_zero(sink.row);
    LANES(s->ten_length)[t] = walk_path(s, t, &sink);
}

/* ---- armature ----------------------------------------------------------------------------------------- */

/* M += armature * J'J where M has entries; dofs on different branches are not coupled. */
static void add_armature(const sti_state *s, int t, vreal armature) {
    const sti_model *m = s->model;
    sparse_row row = tendon_row(s, t);
    for (int a = 0; a < row.n; a++) {
        int i = row.col[a], adr = m->M_rowadr[i], end = adr + m->M_rownnz[i];
        vreal x = armature * row.value[a];
        for (int b = 0, k = adr; b <= a && k < end;) {
            if (m->M_colind[k] < row.col[b]) k++;
            else if (m->M_colind[k] > row.col[b]) b++;
            else {
                LANES(s->M)[k] = LANES(s->M)[k] + x * row.value[b];
                k++;
                b++;
            }
        }
    }
}

void STI_K(tendon)(sti_state *s) {
    const sti_model *m = s->model;
    for (int t = 0; t < m->ntendon; t++) {
        if (m->wrap_type[m->tendon_adr[t]] == STI_WRAP_JOINT) fixed_tendon(s, t);
        else spatial_tendon(s, t);
        vreal armature = tendon_whole_armature(s, t);
        if (!v_all(v_eq(armature, v_set(0)))) add_armature(s, t, armature);
    }
}

/* Velocity, and acceleration at qacc = 0 without gravity, of a point. */
static void point_motion(const sti_state *s, const end_point *p, vreal vel[3], vreal acc[3]) {
    const sti_model *m = s->model;
    const vreal *cvel = CLANES(s->cvel) + 6 * p->body;
    vreal a[6], arm[3], turn[3];
    v6_zero(a);
    for (int d = m->body_lastdof[p->body]; d >= 0; d = m->dof_parentid[d])
        v6_add_scaled(a, CLANES(s->cdof_dot) + 6 * d, CLANES(s->qvel)[d]);
    v3_sub(arm, p->pos, CLANES(s->subtree_com) + 3 * m->body_rootid[p->body]);
    v3_cross(turn, cvel, arm);
    v3_add(vel, cvel + 3, turn);
    v3_cross(turn, a, arm);
    v3_add(acc, a + 3, turn);
    v3_cross(turn, cvel, vel);
    v3_add(acc, acc, turn);
}

/* Second time derivative of the distance of two points at qacc = 0. */
static vreal stretch_rate(const sti_state *s, const end_point *from, const end_point *to) {
    vreal dir[3], va[3], vb[3], aa[3], ab[3];
    if (from->body == to->body) return v_set(0);
    point_motion(s, from, va, aa);
    point_motion(s, to, vb, ab);
    v3_sub(dir, to->pos, from->pos);
    v3_sub(va, vb, va);
    v3_sub(aa, ab, aa);
    vreal length = v3_normalize(dir), along = v3_dot(dir, va);
    vmask tiny = v_lt(length, v_set(1e-15));
    vreal across = (v3_dot(va, va) - along * along) / v_select(tiny, v_set(1), length);
    return v3_dot(dir, aa) + v_select(tiny, v_set(0), across);
}

/* dJ/dt * qvel of a path of sites and pulleys (models do not combine armature and wrapping). */
static vreal path_rate(const sti_state *s, int t) {
    const sti_model *m = s->model;
    vreal sum = v_set(0), weight = v_set(1);
    for (int w = m->tendon_adr[t]; w < m->tendon_adr[t] + m->tendon_num[t] - 1; w++) {
        if (m->wrap_type[w] == STI_WRAP_PULLEY) weight = v_set(1 / m->wrap_prm[w]);
        if (m->wrap_type[w] != STI_WRAP_SITE || m->wrap_type[w + 1] != STI_WRAP_SITE) continue;
        end_point a = site_point(s, w), b = site_point(s, w + 1);
        sum = sum + stretch_rate(s, &a, &b) * weight;
    }
    return sum;
}

void STI_K(tendon_bias)(sti_state *s) {
    const sti_model *m = s->model;
    for (int t = 0; t < m->ntendon; t++) {
        vreal armature = tendon_whole_armature(s, t);
        if (v_all(v_eq(armature, v_set(0))) || m->wrap_type[m->tendon_adr[t]] == STI_WRAP_JOINT) continue;
        sparse_row row = tendon_row(s, t);
        vreal force = armature * path_rate(s, t);
        for (int k = 0; k < row.n; k++) {
            vreal *f = LANES(s->qfrc_bias) + row.col[k];
            *f = *f + row.value[k] * force;
        }
    }
}

/* ---- forces on bodies --------------------------------------------------------------------------------- */

/* Second time derivative of the length. */
static vreal tendon_acceleration(const sti_state *s, int t) {
    sparse_row row = tendon_row(s, t);
    vreal a = path_rate(s, t);
    for (int k = 0; k < row.n; k++) a = a + row.value[k] * CLANES(s->qacc)[row.col[k]];
    return a;
}

/* Force along a tendon: spring, damper, actuators and its own inertia. */
static vreal tendon_force(const sti_state *s, int t) {
    const sti_model *m = s->model;
    vreal f = v_set(0), armature = tendon_whole_armature(s, t);
    if (!v_all(v_eq(armature, v_set(0)))) f = f - armature * tendon_acceleration(s, t);
    vreal offset = tendon_offset(s, t);
    if (!(s->opt.disableflags & STI_DISABLE_SPRING)) f = f - tendon_spring_rate(s, t, offset) * offset;
    if (!(s->opt.disableflags & STI_DISABLE_DAMPER))
        f = f - tendon_damper_rate(s, t) * CLANES(s->ten_velocity)[t];
    for (int u = 0; u < m->nactuator; u++)
        if (m->actuator_trntype[u] == STI_TRN_TENDON && m->actuator_trnid[2 * u] == t)
            f = f + PAR(s, actuator_gear, 6 * OUT(s, u)) * CLANES(s->actuator_force)[OUT(s, u)];
    return f;
}

void STI_K(tendon_wrench)(const sti_state *s, vreal *wrench) {
    const sti_model *m = s->model;
    for (int t = 0; t < m->ntendon; t++) {
        if (m->wrap_type[m->tendon_adr[t]] == STI_WRAP_JOINT) continue;
        path_sink sink = {.wrench = wrench, .force = tendon_force(s, t)};
        walk_path(s, t, &sink);
    }
}
