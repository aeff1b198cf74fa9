/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/patch.h"
#include "collide/collide.h"
#include "contact/jacobian.h"
#include "contact/surface.h"
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
/* A contact that feels less inverse mass (1/kg) moves nothing. */
#define LEAST_WEIGHT 1e-15

void sti__patch_frame(const sti__touch *p, double frame[9]) {
    v3_copy(frame, p->normal);
    sti__contact_frame(frame);
}

static int body_of(const sti__fields *f, const sti_model *m, int body) {
    return f->geom[body] < 0 ? 0 : m->geom_bodyid[f->geom[body]];
}

/* The vertices that a patch touches, ascending, with their share in its velocity; two tets of a body may have some in
   common. */
typedef struct corner {
    int vert;
    double share;
} corner;

static int add_corner(corner *list, int count, int vert, double share) {
    int at = count;
    for (int k = 0; k < count; k++)
        if (list[k].vert == vert) return list[k].share += share, count;
    for (; at > 0 && list[at - 1].vert > vert; at--) list[at] = list[at - 1];
    list[at] = (corner){vert, share};
    return count + 1;
}

static int find_corners(const sti__fields *f, const sti_model *m, const sti__touch *p, corner list[8]) {
    int count = 0;
    for (int side = 0; side < 2; side++) {
        int flex = side ? p->b : p->a;
        if (f->geom[flex] >= 0) continue;
        const int *tet = m->flex_elem + 4 * ((size_t)m->flex_elemadr[flex] + (size_t)p->element[side]);
        for (int k = 0; k < 4; k++)
            count =
                add_corner(list, count, m->flex_vertadr[flex] + tet[k], (side ? 1 : -1) * p->weight[side][k]);
    }
    return count;
}

/* ---- what rolls ------------------------------------------------------------------------------------------ */

/* The pressure of a pair is predicted for the end of the step, where its polygons are: as a ball rolls its centre of pressure moves on. So
   does the ball, and with the arms of now it would be held back by a moment N v (h + tau). A body therefore sees the points of a pair moved
   back by its own way against the other, as far as the centre of pressure goes that way. */
typedef struct outlook {
    double back[2][3]; /* of a and b, m */
    double time;       /* s: that of the prediction */
} outlook;

/* Velocity of a body's point p. */
static void velocity_at(const sti_state *s, int body, const double *p, double v[3]) {
    const double *cvel = s->cvel + 6 * (size_t)body;
    double arm[3];
    v3_zero(v);
    if (s->model->body_lastdof[body] < 0) return;
    v3_sub(arm, p, s->subtree_com + 3 * (size_t)s->model->body_rootid[body]);
    v3_cross(v, cvel, arm);
    v3_add(v, v, cvel + 3);
}

/* What a body turns about. */
static const double *pivot(const sti_state *s, int body) {
    const sti_model *m = s->model;
    while (m->body_jntnum[body] == 0) body = m->body_parentid[body];
    return s->xanchor + 3 * ((size_t)m->body_jntadr[body] + (size_t)m->body_jntnum[body] - 1);
}

/* Centre of pressure of a pair's points now, and its way in `time`; false if nothing is pressed then. */
static bool follow(const sti_state *s, const sti__touch *p, int count, int a, int b, double time,
                   double now[3], double way[3]) {
    double sum[2] = {0}, next[3] = {0}, va[3], vb[3];
    v3_zero(now);
    for (int i = 0; i < count; i++) {
        velocity_at(s, a, p[i].pos, va);
        velocity_at(s, b, p[i].pos, vb);
        double apart = v3_dot(p[i].normal, vb) - v3_dot(p[i].normal, va);
        double force = -p[i].stiffness * p[i].dist, then = fmax(0, force - p[i].stiffness * time * apart);
        sum[0] += force, sum[1] += then;
        v3_add_scaled(now, p[i].pos, force);
        v3_add_scaled(next, p[i].pos, then);
    }
    if (!(sum[0] > 0 && sum[1] > 0)) return false;
    for (int k = 0; k < 3; k++) {
        now[k] /= sum[0];
        way[k] = next[k] / sum[1] - now[k];
    }
    return true;
}

static outlook look_ahead(const sti_state *s, const sti__fields *f, const sti__touch *p, int count) {
    const sti_model *m = s->model;
    double now[3], way[3], v[3], other[3], h = s->opt.timestep;
    outlook x = {.time = h};
    if (f->geom[p->a] < 0 || f->geom[p->b] < 0) return x;
    /* dissipation that someone has asked for may brake what rolls */
    if (sti__fields_law(f, s, p).dissipation < 0) x.time += s->opt.beta * h / PI;
    int body[2] = {body_of(f, m, p->a), body_of(f, m, p->b)};
    if (!follow(s, p, count, body[0], body[1], x.time, now, way)) return x;
    for (int side = 0; side < 2; side++) {
        if (m->body_lastdof[body[side]] < 0) continue;
        velocity_at(s, body[side], pivot(s, body[side]), v);
        velocity_at(s, body[!side], now, other);
        v3_sub(v, v, other);
        double speed2 = v3_dot(v, v), share = speed2 > 0 ? v3_dot(way, v) / (speed2 * x.time) : 0;
        v3_add_scaled(x.back[side], v, -x.time * fmin(fmax(share, 0), 1));
    }
    return x;
}

/* Adds the normal row of a body as it sees the point; what that changes in its velocity of now. */
static double add_normal(const sti_state *s, int body, const sti__touch *p, const double *back, double sign,
                         const int *dofs, int n, double *J) {
    double pos[3], change[3];
    v3_copy(pos, p->pos);
    v3_add(pos, pos, back);
    sti__add_point(s, body, pos, p->normal, 1, sign, dofs, n, J);
    if (s->model->body_lastdof[body] < 0) return 0;
    v3_cross(change, s->cvel + 6 * (size_t)body, back);
    return sign * v3_dot(p->normal, change);
}

/* The velocity of b against a at the point. Friction, which has memory, and vertices keep to it; `shift` of the normal's is what the sights
   have changed. */
static bool fill_jacobian(sti__assembly *as, const sti_state *s, const sti__fields *f, const sti__touch *p,
                          const double *frame, int dim, const outlook *sight, double *shift) {
    const sti_model *m = s->model;
    corner corners[8];
    int a = body_of(f, m, p->a), b = body_of(f, m, p->b), count = find_corners(f, m, p, corners);
    int trees = sti__dofs_of_bodies(m, a, b, as->list), n = trees + 3 * count;
    for (int k = 0; k < 3 * count; k++) as->list[trees + k] = m->nv + 3 * corners[k / 3].vert + k % 3;
    double *J = n ? sti__block_open(as, dim, as->list, n) : NULL;
    if (!J) return false;
    *shift = add_normal(s, a, p, sight->back[0], -1, as->list, n, J);
    *shift += add_normal(s, b, p, sight->back[1], 1, as->list, n, J);
    sti__add_point(s, a, p->pos, frame + 3, dim - 1, -1, as->list, n, J + n);
    sti__add_point(s, b, p->pos, frame + 3, dim - 1, 1, as->list, n, J + n);
    for (int i = 0; i < dim; i++)
        for (int k = 0; k < 3 * count; k++)
            J[i * n + trees + k] = corners[k / 3].share * frame[3 * i + k % 3];
    return true;
}

static void add_touch(sti__assembly *as, const sti_state *s, const sti__fields *f, const sti__touch *p,
                      const outlook *sight, int id) {
    double frame[9], W[9], R[3], vhat[3] = {0}, shift, h = s->opt.timestep, near = s->opt.beta * h / PI;
    sti__patch_law law = sti__fields_law(f, s, p);
    sti_row row = {.kind = STI_ROW_CONE, .dim = law.dim, .mu = {law.mu, law.mu}};
    sti__patch_frame(p, frame);
    if (!(p->stiffness > 0) || !fill_jacobian(as, s, f, p, frame, law.dim, sight, &shift)) return;
    sti__block_delassus(as, s, W);
    double w = sti__block_weight(law.dim, W);
    if (!(w > LEAST_WEIGHT)) return;
    sti__softness soft = {h,           p->stiffness, law.dissipation >= 0 ? law.dissipation : near,
                          s->opt.beta, s->opt.sigma, s->opt.memory};
    bool clamped = sti__regularise(&soft, law.dim, row.mu, w, p->dist, R, vhat);
    as->clamped += clamped && p->stiffness < INFINITY;
    if (clamped && vhat[0] > s->opt.push) vhat[0] = s->opt.push;
    vhat[0] += shift;
    for (int i = 1; s->opt.memory && i < law.dim; i++) R[i] = fmax(R[i], R[0]); /* where the normal is soft */
    sti__block_info info = {STI__FROM_CONTACT, id, p->dist, near, clamped ? INFINITY : p->stiffness, w};
    sti__surface_velocity(s, f->geom[p->a], f->geom[p->b], p->pos, frame, info.surface);
    for (int i = 1; i < law.dim; i++) vhat[i] = -info.surface[i - 1];
    sti__block_close(as, &row, R, vhat, &info, p->feature);
    memcpy(as->memory[as->nblock - 1].frame, frame, sizeof frame);
}

/* Touches of one pair lie side by side. */
void sti__patch_rows(sti__assembly *as, const sti_state *s, const sti__fields *f, int first) {
    for (int i = 0, end; i < f->ntouch && !as->failed; i = end) {
        const sti__touch *p = f->touch + i;
        for (end = i + 1; end < f->ntouch && f->touch[end].a == p->a && f->touch[end].b == p->b; end++)
            continue;
        outlook sight = look_ahead(s, f, p, end - i);
        for (int k = i; k < end && !as->failed; k++) add_touch(as, s, f, &f->touch[k], &sight, first + k);
    }
}
