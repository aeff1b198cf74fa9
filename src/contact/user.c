/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/user.h"

#include "contact/jacobian.h"
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
#define BLOCK_COOKIE 0x5354492d626c6f63ull
#define TOUCH_COOKIE 0x5354492d746f7563ull
/* Below this inverse mass nothing can move. */
#define IMMOVABLE 1e-15

sti_block sti_block_default(void) {
    return (sti_block){.row = {.kind = STI_ROW_QUADRATIC, .dim = 1, .lo = -INFINITY, .hi = INFINITY},
                       .stiffness = INFINITY,
                       .cookie = BLOCK_COOKIE};
}

sti_touch sti_touch_default(void) {
    return (sti_touch){.geom1 = -1,
                       .geom2 = -1,
                       .dim = 3,
                       .mu = {1, 1, 0.005, 0.0001, 0.0001},
                       .stiffness = INFINITY,
                       .cookie = TOUCH_COOKIE};
}

/* ---- checks ----------------------------------------------------------------------------------------------- */

/* The first error of a step's handlers stays. */
static sti_status refuse(sti_rows *rows, const char *what, int at) {
    if (rows->status == STI_OK)
        rows->status =
            sti__fail(rows->error, STI_ARGUMENT, "handler %d: %s (index %d)", rows->handler, what, at);
    return STI_ARGUMENT;
}

static int first_bad(const double *x, int count) {
    for (int i = 0; x && i < count; i++)
        if (!isfinite(x[i])) return i;
    return -1;
}

static sti_status check_friction(sti_rows *rows, int dim, const double *mu) {
    if (dim != 1 && dim != 3 && dim != 4 && dim != 6)
        return refuse(rows, "a cone has 1, 3, 4 or 6 rows", dim);
    for (int i = 0; i < dim - 1; i++)
        if (!(mu[i] > 0 && mu[i] < INFINITY)) return refuse(rows, "friction mu must be positive", i);
    return STI_OK;
}

static sti_status check_softness(sti_rows *rows, double stiffness, double dissipation) {
    if (!(stiffness > 0)) return refuse(rows, "the stiffness must be positive", 0);
    if (!(dissipation >= 0 && dissipation < INFINITY))
        return refuse(rows, "the dissipation must not be negative", 0);
    return STI_OK;
}

static sti_status check_law(sti_rows *rows, const sti_row *row) {
    switch (row->kind) {
    case STI_ROW_CONE: return check_friction(rows, row->dim, row->mu);
    case STI_ROW_INTERVAL:
        return row->lo <= row->hi && row->lo < INFINITY && row->hi > -INFINITY
                   ? STI_OK
                   : refuse(rows, "an interval's lo must be below its hi", 0);
    case STI_ROW_HUBER:
        return row->hi >= 0 && row->hi < INFINITY ? STI_OK : refuse(rows, "hi must not be negative", 0);
    case STI_ROW_QUADRATIC: return STI_OK;
    case STI_ROW_USER:
        return row->user.value && row->user.conjugate && row->user.project
                   ? STI_OK
                   : refuse(rows, "a user's row needs its three functions", 0);
    default: return refuse(rows, "there is no such kind of row", row->kind);
    }
}

static sti_status check_R(sti_rows *rows, const sti_block *b) {
    for (int i = 0; i < b->row.dim; i++) {
        const double *R = b->R, *mu = b->row.mu;
        if (!(R[i] >= 0 && R[i] < INFINITY)) return refuse(rows, "R must not be negative", i);
        if (b->row.kind == STI_ROW_USER && R[i] != 0) return refuse(rows, "a user's row has R = 0", i);
        if (b->row.kind != STI_ROW_CONE || i < 2) continue;
        double first = R[1] * mu[0] * mu[0], own = R[i] * mu[i - 1] * mu[i - 1];
        if (!(fabs(own - first) <= 1e-9 * first))
            return refuse(rows, "R mu^2 must be the same for all tangents of a cone", i);
    }
    return STI_OK;
}

/* The first column of a vertex whose three dofs are not all there, -1 if there is none. */
static int first_part(const sti_block *b, int nv) {
    int k = 0;
    while (k < b->ndof && b->dofs[k] < nv) k++;
    for (; k < b->ndof; k += 3)
        if ((b->dofs[k] - nv) % 3 != 0 || k + 2 >= b->ndof || b->dofs[k + 2] != b->dofs[k] + 2) return k;
    return -1;
}

static sti_status check_block(sti_rows *rows, const sti_block *b) {
    sti_status status;
    int bad, nv = rows->state->model->nv, ndof = rows->as->ndof;
    if (!b || b->cookie != BLOCK_COOKIE) return refuse(rows, "a block must come from sti_block_default", 0);
    if (b->row.dim < 1 || b->row.dim > STI_ROW_DIM)
        return refuse(rows, "a block has 1 to 6 rows", b->row.dim);
    if (b->ndof < 0 || b->ndof > ndof || (b->ndof > 0 && (!b->dofs || !b->J)))
        return refuse(rows, "dofs and J must have ndof columns, at most one for each dof", b->ndof);
    for (int k = 0; k < b->ndof; k++)
        if (b->dofs[k] < 0 || b->dofs[k] >= ndof || (k > 0 && b->dofs[k] <= b->dofs[k - 1]))
            return refuse(rows, "dofs must ascend between 0 and nv + 3 nflexvert", k);
    if ((bad = first_part(b, nv)) >= 0)
        return refuse(rows, "a vertex of a soft body needs all of its three dofs", bad);
    if ((bad = first_bad(b->J, b->row.dim * b->ndof)) >= 0) return refuse(rows, "J is not finite", bad);
    if ((bad = first_bad(b->phi, b->row.dim)) >= 0) return refuse(rows, "phi is not finite", bad);
    if (b->R && (bad = first_bad(b->vhat, b->row.dim)) >= 0) return refuse(rows, "vhat is not finite", bad);
    if ((status = check_law(rows, &b->row)) != STI_OK) return status;
    return b->R ? check_R(rows, b) : check_softness(rows, b->stiffness, b->dissipation);
}

/* ---- rows ------------------------------------------------------------------------------------------------- */

/* Distinct from those of other handlers; those of geoms are hashes too. */
static uint64_t feature_of(const sti_rows *rows, uint64_t feature) {
    const uint64_t key[2] = {(uint64_t)rows->handler, feature};
    return sti__hash(STI__HASH_SEED, key, sizeof key) | 1ull << 63;
}

static double weight_of(const sti_row *row, const double *W) {
    double block[9], mean = 0;
    int dim = row->dim, n = dim < 3 ? 1 : 3;
    if (row->kind ==
        STI_ROW_CONE) { /* of the normal and the tangents: rotations are measured in other units */
        for (int i = 0; i < n * n; i++) block[i] = W[i / n * dim + i % n];
        return sti__block_weight(n, block);
    }
    for (int i = 0; i < dim; i++) mean += W[i * dim + i] / dim;
    return mean;
}

/* R and vhat from softness; what is near-rigid undoes an overlap no faster than opt.push. */
static void soften(const sti_state *s, const sti_row *row, const double *phi, sti__softness soft, double w,
                   double *R, double *vhat, sti__block_info *info) {
    bool cone = row->kind == STI_ROW_CONE, capped = cone || row->kind == STI_ROW_INTERVAL;
    int count = cone ? 1 : row->dim;
    info->stiffness = soft.stiffness;
    info->tau = soft.tau_d;
    for (int i = 0; i < count; i++) {
        bool clamped = sti__regularise(&soft, cone ? row->dim : 1, row->mu, w, phi[i], R + i, vhat + i);
        if (clamped) info->stiffness = INFINITY;
        if (clamped || cone) info->tau = soft.beta * soft.h / PI;
        if (clamped && capped && vhat[i] > s->opt.push) vhat[i] = s->opt.push;
    }
}

/* Gives the open block its law. */
static void close_block(sti_rows *rows, const sti_block *b, int source, int id) {
    const sti_state *s = rows->state;
    double W[36], R[6] = {0}, vhat[6] = {0};
    sti__block_delassus(rows->as, s, W);
    double w = weight_of(&b->row, W);
    if (!(w > IMMOVABLE)) return;
    sti__block_info info = {source, id, b->phi[0], s->opt.beta * s->opt.timestep / PI, INFINITY, w};
    sti__softness soft = {s->opt.timestep, b->stiffness, b->dissipation,
                          s->opt.beta,     s->opt.sigma, s->opt.memory};
    if (b->R) {
        memcpy(R, b->R, sizeof(double) * (size_t)b->row.dim);
        if (b->vhat) memcpy(vhat, b->vhat, sizeof(double) * (size_t)b->row.dim);
    } else if (b->row.kind == STI_ROW_HUBER) {
        for (int i = 0; i < b->row.dim; i++) R[i] = sti__friction_softness(soft.sigma, soft.beta, false) * w;
    } else if (b->row.kind != STI_ROW_USER) {
        soften(s, &b->row, b->phi, soft, w, R, vhat, &info);
    }
    sti__block_close(rows->as, &b->row, R, vhat, &info, feature_of(rows, b->feature));
}

sti_status sti_rows_add(sti_rows *rows, const sti_block *b) {
    sti_status status = check_block(rows, b);
    if (status != STI_OK || b->ndof == 0) return status;
    double *J = sti__block_open(rows->as, b->row.dim, b->dofs, b->ndof);
    if (!J) return STI_NO_MEMORY; /* the assembly remembers */
    memcpy(J, b->J, sizeof(double) * (size_t)b->row.dim * (size_t)b->ndof);
    close_block(rows, b, STI__FROM_USER, rows->handler);
    rows->as->problem.foreign = true;
    return STI_OK;
}

/* ---- contacts ----------------------------------------------------------------------------------------------- */

static sti_status check_touch(sti_rows *rows, const sti_touch *t) {
    const sti_model *m = rows->state->model;
    sti_status status;
    int bad;
    if (!t || t->cookie != TOUCH_COOKIE) return refuse(rows, "a contact must come from sti_touch_default", 0);
    if (t->body1 < 0 || t->body1 >= m->nbody) return refuse(rows, "there is no such body1", t->body1);
    if (t->body2 < 0 || t->body2 >= m->nbody) return refuse(rows, "there is no such body2", t->body2);
    if (t->geom1 < -1 || t->geom1 >= m->ngeom) return refuse(rows, "there is no such geom1", t->geom1);
    if (t->geom2 < -1 || t->geom2 >= m->ngeom) return refuse(rows, "there is no such geom2", t->geom2);
    if ((bad = first_bad(t->pos, 3)) >= 0) return refuse(rows, "pos is not finite", bad);
    if ((bad = first_bad(t->normal, 3)) >= 0) return refuse(rows, "the normal is not finite", bad);
    if (!(v3_norm(t->normal) > 1e-150)) return refuse(rows, "the normal is 0", 0);
    if (!isfinite(t->dist)) return refuse(rows, "dist is not finite", 0);
    if ((status = check_friction(rows, t->dim, t->mu)) != STI_OK) return status;
    return check_softness(rows, t->stiffness, t->dissipation);
}

/* Room for one more; what is there is kept. */
static sti__contact *next_touch(sti_rows *rows) {
    sti__touches *list = rows->touches;
    if (list->count < list->room) return &list->item[list->count];
    int room = list->room + list->room / 2 + 16;
    sti__contact *item = sti__alloc(rows->allocator, sti__size(sizeof *item, room));
    if (!item) return NULL;
    if (list->count) memcpy(item, list->item, sizeof *item * (size_t)list->count);
    sti__free(rows->allocator, list->item, sizeof *item * (size_t)list->room);
    list->item = item;
    list->room = room;
    return &item[list->count];
}

static void fill_contact(const sti_rows *rows, const sti_touch *t, sti__contact *c) {
    double length = v3_norm(t->normal);
    memset(c, 0, sizeof *c);
    c->dist = t->dist;
    c->feature = feature_of(rows, t->feature);
    c->geom1 = t->geom1;
    c->geom2 = t->geom2;
    c->body1 = t->body1;
    c->body2 = t->body2;
    c->pair = -1;
    c->exclude = t->dist > 0; /* what only lies ahead is shown if it pushes */
    c->mixed.dim = t->dim;
    memcpy(c->mixed.friction, t->mu, sizeof t->mu);
    v3_copy(c->pos, t->pos);
    v3_scale(c->frame, t->normal, 1 / length);
    sti__contact_frame(c->frame);
}

sti_status sti_rows_touch(sti_rows *rows, const sti_touch *t) {
    const sti_state *s = rows->state;
    sti__assembly *as = rows->as;
    sti_status status = check_touch(rows, t);
    int points = status == STI_OK && t->dim < 3 ? 1 : 3, before = as->nblock;
    int n = status == STI_OK ? sti__dofs_of_bodies(s->model, t->body1, t->body2, as->list) : 0;
    if (n == 0) return status;
    sti__contact *c = next_touch(rows);
    double *J = c ? sti__block_open(as, t->dim, as->list, n) : NULL;
    if (!J) return as->failed = true, STI_NO_MEMORY;
    fill_contact(rows, t, c);
    sti__add_point(s, t->body1, c->pos, c->frame, points, -1, as->list, n, J);
    sti__add_point(s, t->body2, c->pos, c->frame, points, 1, as->list, n, J);
    if (t->dim > 3) {
        sti__add_turn(s, t->body1, c->frame, t->dim - 3, -1, as->list, n, J + (size_t)3 * (size_t)n);
        sti__add_turn(s, t->body2, c->frame, t->dim - 3, 1, as->list, n, J + (size_t)3 * (size_t)n);
    }
    sti_block b = sti_block_default();
    b.row = (sti_row){.kind = STI_ROW_CONE, .dim = t->dim};
    memcpy(b.row.mu, t->mu, sizeof(double) * (size_t)(t->dim - 1));
    b.phi[0] = t->dist;
    b.stiffness = t->stiffness;
    b.dissipation = t->dissipation;
    b.feature = t->feature;
    close_block(rows, &b, STI__FROM_CONTACT, rows->first + rows->touches->count++);
    if (as->nblock > before) memcpy(as->memory[before].frame, c->frame, sizeof c->frame);
    return STI_OK;
}
