/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/point.h"
#include "contact/chain.h"
#include "contact/constraints.h"
#include "contact/jacobian.h"
#include "contact/surface.h"
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
/* A contact that feels less inverse mass (1/kg) moves nothing. */
#define LEAST_WEIGHT 1e-15

/* ---- contacts within a tree: the general way ------------------------------------------------------------- */

/* Relative velocity of geom2 against geom1 at the point: normal, tangents, then spin and rolling. */
static bool fill_jacobian(sti__assembly *as, const sti_state *s, const sti__contact *c) {
    int dim = c->mixed.dim, points = dim < 3 ? 1 : 3,
        n = sti__dofs_of_bodies(s->model, c->body1, c->body2, as->list);
    double *J = n ? sti__block_open(as, dim, as->list, n) : NULL;
    if (!J) return false;
    sti__add_point(s, c->body1, c->pos, c->frame, points, -1, as->list, n, J);
    sti__add_point(s, c->body2, c->pos, c->frame, points, 1, as->list, n, J);
    if (dim > 3) {
        sti__add_turn(s, c->body1, c->frame, dim - 3, -1, as->list, n, J + (size_t)3 * (size_t)n);
        sti__add_turn(s, c->body2, c->frame, dim - 3, 1, as->list, n, J + (size_t)3 * (size_t)n);
    }
    return true;
}

/* Of the normal and the tangents: rotations are measured in other units. */
static double weight_of(const double *W, int dim) {
    double block[9];
    int n = dim < 3 ? 1 : 3;
    for (int i = 0; i < n * n; i++) block[i] = W[i / n * dim + i % n];
    return sti__block_weight(n, block);
}

/* ---- the law ------------------------------------------------------------------------------------------------ */

/* Where everything of a block but its Jacobian goes. */
typedef struct law {
    sti_row *row;
    double *R, *vhat;
    sti__block_info *info;
} law;

/* w: the inverse mass that the contact feels; overlap: its number there, -1 for none. Field by field: to clear it all first takes
   longer than the rest. False if the contact can do nothing. */
static bool find_law(const sti__assembly *as, const sti_state *s, const sti__contact *c, double w, law l) {
    int dim = c->mixed.dim, overlap = l.info->overlap, id = l.info->id;
    double share = sti__overlap_share(&as->overlaps, overlap);
    double phi = c->dist - c->mixed.includemargin;
    l.row->kind = STI_ROW_CONE;
    l.row->dim = dim;
    l.row->lo = l.row->hi = 0;
    l.row->user = (sti_row_user){0};
    for (int i = 0; i < 5; i++) l.row->mu[i] = i + 1 < dim ? share * c->mixed.friction[i] : 0;
    const double *inverse = s->model->body_invweight0;
    sti__asked asked = {c->mixed.solref, c->mixed.solimp, c->mixed.softness,
                        inverse[2 * c->body1] + inverse[2 * c->body2]};
    if (!(asked.weight > LEAST_WEIGHT)) asked.weight = w;
    sti__softness soft = sti__softness_of(&s->opt, &asked, phi);
    for (int i = 1; i < dim; i++) l.vhat[i] = 0;
    bool clamped = sti__regularise(&soft, dim, l.row->mu, w, phi, l.R, l.vhat);
    if (share < 1) l.R[0] /= share * share;
    double push = sti__overlap_push(s->opt.push, sti__overlap_opening(&as->overlaps, overlap));
    if (clamped && l.vhat[0] > push) l.vhat[0] = push;
    *l.info = (sti__block_info){
        STI__FROM_CONTACT, id, phi, soft.beta * s->opt.timestep / PI, clamped ? INFINITY : soft.stiffness, w,
        overlap,           {0}};
    sti__surface_velocity(s, c->geom1, c->geom2, c->pos, c->frame, l.info->surface);
    for (int i = 1; i < dim && i < 4; i++) l.vhat[i] = -l.info->surface[i - 1];
    return w > LEAST_WEIGHT;
}

static void rows_within(sti__assembly *as, const sti_state *s, const sti__contact *c, int id, int overlap) {
    double W[36];
    if (!fill_jacobian(as, s, c)) return;
    sti__block_delassus(as, s, W);
    double w = weight_of(W, c->mixed.dim);
    sti_row row;
    sti__block_info info = {.id = id, .overlap = overlap};
    double R[STI_ROW_DIM], vhat[STI_ROW_DIM];
    if (!find_law(as, s, c, w, (law){&row, R, vhat, &info})) return;
    sti__block_close(as, &row, R, vhat, &info, c->feature);
    memcpy(as->memory[as->nblock - 1].frame, c->frame, sizeof c->frame);
}

/* ---- contacts of two trees, or of one with what does not move ---------------------------------------------- */

/* Neither chain touches the other: J is two blocks of columns side by side. */
static bool is_apart(const sti_model *m, const sti__contact *c) {
    int tree1 = m->body_treeid[c->body1], tree2 = m->body_treeid[c->body2];
    return tree1 != tree2 && sti__chain_length(m, c->body1) <= STI__MOBILITY_CHAIN &&
           sti__chain_length(m, c->body2) <= STI__MOBILITY_CHAIN;
}

static int tree_of(const sti_model *m, int body) {
    int last = m->body_lastdof[body];
    return last < 0 ? -1 : m->dof_treeid[last];
}

static void reserve_apart(sti__assembly *as, const sti_state *s, const sti__contact *c, int id, int overlap) {
    int n = sti__chain_length(s->model, c->body1) + sti__chain_length(s->model, c->body2);
    int b = n ? sti__block_reserve(as, c->mixed.dim, n) : -1, bodies[2] = {c->body1, c->body2};
    if (b < 0) return;
    as->info[b].source = STI__FROM_CONTACT;
    as->info[b].id = id;
    as->info[b].overlap = overlap;
    for (int k = 0; k < 2; k++)
        if (s->model->body_lastdof[bodies[k]] >= 0) sti__assembly_ask(as, s, bodies[k]);
    sti__block_touches(as, tree_of(s->model, c->body1), tree_of(s->model, c->body2));
}

static bool is_free(const sti_model *m, int body) {
    int last = m->body_lastdof[body];
    return m->jnt_type[m->dof_jntid[last]] == STI_JOINT_FREE && m->M_rownnz[last] == 6;
}

typedef struct filling {
    sti__assembly *as;
    const sti_state *s;
    const sti__contact *contacts;
    const sti__chain_kernels *kernels;
    int first;
    bool matrices,
        laws; /* what to fill: both at once, but one after the other if their times are asked for */
} filling;

/* Wrenches (moment, force) about the com of the tree: of forces along the first three axes of the frame, then of moments. */
static inline __attribute__((always_inline)) void find_wrenches(const sti__contact *c, const double arm[3],
                                                                double sign, int dim, double *w) {
    for (int i = 0; i < dim; i++) {
        double *moment = w + 6 * i, *force = moment + 3;
        bool turn = dim >= 3 && i >= 3;
        v3_scale(force, c->frame + (size_t)3 * (size_t)(turn ? i - 3 : i), sign);
        if (turn) v3_copy(moment, force), v3_zero(force);
        else v3_cross(moment, arm, force);
    }
}

/* The columns of one body: its velocity along the frame is the power of a force along it. The first three dofs of a free body are the
   world's axes. */
static void fill_side(const filling *f, int body, const sti__contact *c, double sign, int n, int *col,
                      double *J) {
    const sti_state *s = f->s;
    int count = sti__chain_length(s->model, body), dim = c->mixed.dim;
    if (count == 0) return;
    const int *dof = sti__chain_dofs(s->model, body);
    int axes = is_free(s->model, body) ? 3 : 0;
    double arm[3], w[6 * STI_ROW_DIM];
    v3_sub(arm, c->pos, s->subtree_com + 3 * (size_t)s->model->body_rootid[body]);
    memcpy(col, dof, sizeof(int) * (size_t)count);
    if (dim == 3) find_wrenches(c, arm, sign, 3, w);
    else find_wrenches(c, arm, sign, dim, w);
    for (int i = 0; i < dim && axes; i++) v3_copy(J + (size_t)i * (size_t)n, w + 6 * i + 3);
    f->kernels->rows(s->cdof, dof + axes, count - axes, w, dim, J + axes, n);
}

static void add_mobility(const filling *f, int body, const double pos[3], double K[12]) {
    const sti_state *s = f->s;
    double arm[3];
    if (s->model->body_lastdof[body] < 0) return;
    v3_sub(arm, pos, s->subtree_com + 3 * (size_t)s->model->body_rootid[body]);
    f->kernels->point(&f->as->mobility[body], arm, K);
}

/* The size of a matrix does not depend on the frame it is seen in. */
static double weight_apart(const filling *f, const sti__contact *c) {
    double K[12] = {0}, block[9], Kn[3];
    add_mobility(f, c->body1, c->pos, K);
    add_mobility(f, c->body2, c->pos, K);
    for (int i = 0; i < 3; i++) v3_copy(block + 3 * i, K + 4 * i);
    if (c->mixed.dim >= 3) return sti__block_weight(3, block);
    m3_mul_vec(Kn, block, c->frame);
    return v3_dot(Kn, c->frame);
}

static void fill_apart(const filling *f, const sti__contact *c, int b) {
    const sti__assembly *as = f->as;
    const sti_state *s = f->s;
    int at = as->first[b], begin = as->jstart[at], n = as->jstart[at + 1] - begin, dim = c->mixed.dim;
    int *col = as->jcol + begin;
    double *J = as->jvalue + begin;
    bool swap = s->model->body_lastdof[c->body1] > s->model->body_lastdof[c->body2];
    int split = sti__chain_length(s->model, swap ? c->body2 : c->body1);
    fill_side(f, c->body1, c, -1, n, col + (swap ? split : 0), J + (swap ? split : 0));
    fill_side(f, c->body2, c, 1, n, col + (swap ? 0 : split), J + (swap ? 0 : split));
    for (int i = 1; i < dim; i++)
        for (int k = 0; k < n; k++) col[i * n + k] = col[k];
}

static void fill_law(const filling *f, const sti__contact *c, int b) {
    sti__assembly *as = f->as;
    int at = as->first[b];
    double w = weight_apart(f, c);
    law l = {&as->rows[b], as->R + at, as->vhat + at, &as->info[b]};
    if (!find_law(as, f->s, c, w, l)) as->info[b].source = STI__FROM_NOTHING;
    as->memory[b].feature = c->feature; /* what it remembers is found later */
    memcpy(as->memory[b].frame, c->frame, sizeof c->frame);
}

static void answer(void *context, int begin, int end) {
    const filling *f = context;
    sti__assembly_answer(f->as, f->s, begin, end);
}

static void fill_blocks(void *context, int begin, int end) {
    const filling *f = context;
    for (int b = f->first + begin; b < f->first + end; b++) {
        const sti__contact *c = f->contacts + f->as->info[b].id;
        if (!is_apart(f->s->model, c)) continue;
        if (f->matrices) fill_apart(f, c, b);
        if (f->laws) fill_law(f, c, b);
    }
}

static void fill_laws(filling *f, const sti_tasks *tasks) {
    int64_t start = sti__tick(f->as->tally);
    f->matrices = false;
    f->laws = true;
    sti__run(tasks, f->as->nblock - f->first, 64, fill_blocks, f);
    sti__tock(f->as->tally, STI__WORK_REGULARISATION, start, 0);
}

void sti__point_rows(sti__assembly *as, const sti_state *s, const sti__contact *contacts, int count,
                     const sti_tasks *tasks) {
    filling f = {as, s, contacts, sti__chain_kernels_get(), as->nblock, true, !as->tally};
    as->failed |= !sti__overlaps_find(&as->overlaps, s, contacts, count);
    for (int i = 0, next = 0; i < count && !as->failed; i++) {
        if (contacts[i].exclude >= 2 || contacts[i].far) continue;
        int overlap = sti__overlap_next(&as->overlaps, i, &next);
        if (!(sti__overlap_share(&as->overlaps, overlap) > STI__LEAST_SHARE)) continue;
        if (is_apart(s->model, contacts + i)) reserve_apart(as, s, contacts + i, i, overlap);
        else rows_within(as, s, contacts + i, i, overlap);
    }
    if (as->failed) return;
    int64_t start = sti__tick(as->tally);
    sti__run(tasks, as->nbodies, 64, answer, &f);
    sti__tock(as->tally, STI__WORK_REGULARISATION, start, 0);
    sti__run(tasks, as->nblock - f.first, 64, fill_blocks, &f);
    if (as->tally) fill_laws(&f, tasks);
    sti__blocks_drop(as, f.first);
}
