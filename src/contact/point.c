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

/* What contacts of two geoms have in common; those of a pair follow each other. */
typedef struct terms {
    bool known;
    int geom1, geom2, pair;
    bool moves;    /* a surface */
    double weight; /* inverse mass at the reference pose, 1/kg */
    sti__softening softening;
} terms;

static void find_terms(const sti_state *s, const sti__contact *c, terms *t) {
    const sti_model *m = s->model;
    if (t->known && c->geom1 == t->geom1 && c->geom2 == t->geom2 && c->pair == t->pair) return;
    sti__asked asked = {c->mixed.solref, c->mixed.solimp, c->mixed.softness, 0};
    t->known = true;
    t->geom1 = c->geom1, t->geom2 = c->geom2, t->pair = c->pair;
    t->moves = (c->geom1 >= 0 && sti__surface_moves(m, c->geom1)) ||
               (c->geom2 >= 0 && sti__surface_moves(m, c->geom2));
    t->weight = m->body_invweight0[2 * c->body1] + m->body_invweight0[2 * c->body2];
    t->softening = sti__softening_of(&s->opt, &asked);
}

/* Where everything of a block but its Jacobian goes. */
typedef struct law {
    sti_row *row;
    double *R, *vhat;
    sti__block_info *info;
} law;

/* w: the inverse mass that the contact feels; overlap: its number there, -1 for none. Field by field: to clear it all first takes
   longer than the rest. False if the contact can do nothing. */
static bool find_law(const sti__assembly *as, const sti_state *s, const sti__contact *c, double w, terms *t,
                     law l) {
    int dim = c->mixed.dim, overlap = l.info->overlap, id = l.info->id;
    double share = sti__overlap_share(&as->overlaps, overlap);
    double phi = c->dist - c->mixed.includemargin;
    find_terms(s, c, t);
    l.row->kind = STI_ROW_CONE;
    l.row->dim = dim;
    l.row->lo = l.row->hi = 0;
    l.row->user = (sti_row_user){0};
    for (int i = 0; i < 5; i++) l.row->mu[i] = i + 1 < dim ? share * c->mixed.friction[i] : 0;
    sti__softness soft = sti__softness_at(&t->softening, t->weight > LEAST_WEIGHT ? t->weight : w, phi);
    for (int i = 1; i < dim; i++) l.vhat[i] = 0;
    bool clamped = sti__regularise(&soft, dim, l.row->mu, w, phi, l.R, l.vhat);
    if (share < 1) l.R[0] /= share * share;
    if (clamped) {
        double push = sti__overlap_push(s->opt.push, sti__overlap_opening(&as->overlaps, overlap));
        if (l.vhat[0] > push) l.vhat[0] = push;
    }
    *l.info = (sti__block_info){
        STI__FROM_CONTACT, id, phi, soft.beta * s->opt.timestep / PI, clamped ? INFINITY : soft.stiffness, w,
        overlap,           {0}};
    if (t->moves) sti__surface_velocity(s, c->geom1, c->geom2, c->pos, c->frame, l.info->surface);
    for (int i = 1; i < dim && i < 4; i++) l.vhat[i] = -l.info->surface[i - 1];
    return w > LEAST_WEIGHT;
}

static void rows_within(sti__assembly *as, const sti_state *s, const sti__contact *c, int id, int overlap) {
    terms t = {.known = false};
    double W[36];
    if (!fill_jacobian(as, s, c)) return;
    sti__block_delassus(as, s, W);
    double w = weight_of(W, c->mixed.dim);
    sti_row row;
    sti__block_info info = {.id = id, .overlap = overlap};
    double R[STI_ROW_DIM], vhat[STI_ROW_DIM];
    if (!find_law(as, s, c, w, &t, (law){&row, R, vhat, &info})) return;
    sti__block_close(as, &row, R, vhat, &info, c->feature);
    memcpy(as->memory[as->nblock - 1].frame, c->frame, sizeof c->frame);
}

/* ---- contacts of two trees, or of one with what does not move ---------------------------------------------- */

/* Its dofs that a contact moves, in the order of its columns. */
typedef struct side {
    int count, axes; /* dofs; the first `axes` of them are motions along the world's axes */
    const int *dof;
    const double *com; /* of its tree, world */
    const sti__mobility *mobility;
} side;

/* Two bodies. Their contacts follow each other, so that the one before mostly tells. */
typedef struct couple {
    int body1, body2; /* -1: none yet */
    bool apart;       /* neither chain touches the other: J is two blocks of columns side by side */
    bool met;         /* the problem knows of them */
    int n;            /* dofs of both */
    /* of those that are apart, while rows are filled */
    int split[2]; /* the first column of either */
    side side[2];
} couple;

static bool is_free(const sti_model *m, int body) {
    int last = m->body_lastdof[body];
    return m->jnt_type[m->dof_jntid[last]] == STI_JOINT_FREE && m->M_rownnz[last] == 6;
}

static void find_side(const sti__assembly *as, const sti_state *s, int body, side *d) {
    const sti_model *m = s->model;
    *d = (side){.count = sti__chain_length(m, body)};
    if (d->count == 0) return;
    d->axes = is_free(m, body) ? 3 : 0;
    d->dof = sti__chain_dofs(m, body);
    d->com = s->subtree_com + 3 * (size_t)m->body_rootid[body];
    d->mobility = as->mobility + body;
}

static void find_couple(const sti_model *m, const sti__contact *c, couple *p) {
    if (p->body1 == c->body1 && p->body2 == c->body2) return;
    int one = sti__chain_length(m, c->body1), two = sti__chain_length(m, c->body2);
    p->body1 = c->body1;
    p->body2 = c->body2;
    p->apart = m->body_treeid[c->body1] != m->body_treeid[c->body2] && one <= STI__MOBILITY_CHAIN &&
               two <= STI__MOBILITY_CHAIN;
    p->met = false;
    p->n = one + two;
}

static void find_sides(const sti__assembly *as, const sti_state *s, couple *p) {
    const sti_model *m = s->model;
    bool swap = m->body_lastdof[p->body1] > m->body_lastdof[p->body2];
    find_side(as, s, p->body1, &p->side[0]);
    find_side(as, s, p->body2, &p->side[1]);
    p->split[0] = swap ? p->side[1].count : 0;
    p->split[1] = swap ? 0 : p->side[0].count;
}

static int tree_of(const sti_model *m, int body) {
    int last = m->body_lastdof[body];
    return last < 0 ? -1 : m->dof_treeid[last];
}

static void place_apart(sti__assembly *as, const sti_model *m, couple *p, int dim, int id, int overlap,
                        sti__extent *at) {
    int b = sti__block_place(as, at, dim, p->n);
    as->info[b].source = STI__FROM_CONTACT;
    as->info[b].id = id;
    as->info[b].overlap = overlap;
    if (p->met) return;
    p->met = true;
    if (m->body_lastdof[p->body1] >= 0) __atomic_store_n(as->asked + p->body1, true, __ATOMIC_RELAXED);
    if (m->body_lastdof[p->body2] >= 0) __atomic_store_n(as->asked + p->body2, true, __ATOMIC_RELAXED);
    sti__block_touches(as, tree_of(m, p->body1), tree_of(m, p->body2));
}

static sti__extent end_of(const sti__assembly *as) { return (sti__extent){as->nblock, as->nrow, as->nentry}; }

static void set_end(sti__assembly *as, sti__extent end) {
    as->nblock = (int)end.blocks;
    as->nrow = (int)end.rows;
    as->nentry = (int)end.entries;
}

static void reserve_apart(sti__assembly *as, const sti_model *m, couple *p, int dim, int id, int overlap) {
    sti__extent at = end_of(as);
    if (p->n == 0 || !sti__blocks_room(as, (sti__extent){1, dim, dim * p->n})) return;
    place_apart(as, m, p, dim, id, overlap, &at);
    set_end(as, at);
}

/* Whether contact i has rows; overlap: its number there. Asked in ascending order; next as sti__overlap_next has it. */
static bool has_rows(const sti__overlaps *o, const sti__contact *c, int i, int *next, int *overlap) {
    if (c->exclude >= 2 || c->far) return false;
    *overlap = sti__overlap_next(o, i, next);
    return sti__overlap_share(o, *overlap) > STI__LEAST_SHARE;
}

/* Blocks in the order of contacts, one after the other. */
static void reserve_all(sti__assembly *as, const sti_state *s, const sti__contact *contacts, int count) {
    couple p = {.body1 = -1};
    for (int i = 0, next = 0, overlap; i < count && !as->failed; i++) {
        const sti__contact *c = contacts + i;
        if (!has_rows(&as->overlaps, c, i, &next, &overlap)) continue;
        find_couple(s->model, c, &p);
        if (p.apart) reserve_apart(as, s->model, &p, c->mixed.dim, i, overlap);
        else rows_within(as, s, c, i, overlap);
    }
}

/* The same blocks by several threads: contacts are cut into pieces that do not depend on threads, of which the extents are found first. */
enum { PIECE = 256, PIECES = 64 }; /* contacts of a piece, at least; pieces, at most */

typedef struct reserving {
    sti__assembly *as;
    const sti_model *model;
    const sti__contact *contacts;
    int count, pieces;
    sti__extent piece[PIECES]; /* first its own, then where it begins */
    atomic_bool within;        /* some contacts are within a tree */
} reserving;

static int piece_begin(const reserving *r, int piece) { return (int)((int64_t)r->count * piece / r->pieces); }

/* Adds up the extents of a piece, or places its blocks after `at`. */
static void go_through(reserving *r, int piece, bool place, sti__extent *at) {
    couple p = {.body1 = -1};
    const sti__overlaps *o = &r->as->overlaps;
    int begin = piece_begin(r, piece), end = piece_begin(r, piece + 1), next = sti__overlap_from(o, begin);
    for (int i = begin, overlap; i < end; i++) {
        const sti__contact *c = r->contacts + i;
        int dim = c->mixed.dim;
        if (!has_rows(o, c, i, &next, &overlap)) continue;
        find_couple(r->model, c, &p);
        if (!p.apart) {
            atomic_store_explicit(&r->within, true, memory_order_relaxed);
            return;
        }
        if (p.n == 0) continue;
        if (place) place_apart(r->as, r->model, &p, dim, i, overlap, at);
        else *at = (sti__extent){at->blocks + 1, at->rows + dim, at->entries + dim * p.n};
    }
}

static void measure_pieces(void *context, int begin, int end) {
    reserving *r = context;
    for (int p = begin; p < end; p++) go_through(r, p, false, &r->piece[p]);
}

static void place_pieces(void *context, int begin, int end) {
    reserving *r = context;
    for (int p = begin; p < end; p++) {
        sti__extent at = r->piece[p];
        go_through(r, p, true, &at);
    }
}

/* False if some contacts are within a tree: their rows are made at once. */
static bool reserve_pieces(sti__assembly *as, const sti_model *m, const sti__contact *contacts, int count,
                           const sti_tasks *tasks) {
    int pieces = count / PIECE < PIECES ? count / PIECE : PIECES;
    reserving r = {as, m, contacts, count, pieces, {{0}}, false};
    sti__extent all = {0}, at = end_of(as);
    if (!tasks || tasks->nthread <= 1 || pieces < 2) return false;
    sti__run(tasks, pieces, 1, measure_pieces, &r);
    if (atomic_load_explicit(&r.within, memory_order_relaxed)) return false;
    for (int p = 0; p < pieces; p++) {
        sti__extent own = r.piece[p];
        r.piece[p] = (sti__extent){at.blocks + all.blocks, at.rows + all.rows, at.entries + all.entries};
        all = (sti__extent){all.blocks + own.blocks, all.rows + own.rows, all.entries + own.entries};
    }
    if (!sti__blocks_room(as, all)) return true;
    sti__run(tasks, pieces, 1, place_pieces, &r);
    set_end(as, (sti__extent){at.blocks + all.blocks, at.rows + all.rows, at.entries + all.entries});
    return true;
}

typedef struct filling {
    sti__assembly *as;
    const sti_state *s;
    const sti__contact *contacts;
    const sti__chain_kernels *kernels;
    int first;
    bool matrices,
        laws; /* what to fill: both at once, but one after the other if their times are asked for */
    atomic_bool dropped; /* some contacts can do nothing */
} filling;

static const sti__contact *contact_of(const filling *f, int b) { return f->contacts + f->as->info[b].id; }

/* Wrenches (moment, force) about the com of the tree: of forces along the first three axes of the frame, then of moments. They go into
   columns of w from `first` on. */
static inline __attribute__((always_inline)) void find_wrenches(const sti__contact *c, const double arm[3],
                                                                double sign, int dim, int first,
                                                                double w[6][STI__CHAIN_ROWS]) {
    for (int i = 0; i < dim; i++) {
        double moment[3], force[3];
        bool turn = dim >= 3 && i >= 3;
        v3_scale(force, c->frame + (size_t)3 * (size_t)(turn ? i - 3 : i), sign);
        if (turn) v3_copy(moment, force), v3_zero(force);
        else v3_cross(moment, arm, force);
        for (int k = 0; k < 3; k++) w[k][first + i] = moment[k], w[3 + k][first + i] = force[k];
    }
}

/* The columns of one body in the rows of blocks begin..end: its velocity along the frame is the power of a force along it. The first
   three dofs of a free body are the world's axes. */
static void fill_side(const filling *f, const side *d, double sign, int begin, int end, int n, double *J) {
    double arm[3], w[6][STI__CHAIN_ROWS];
    int count = 0;
    if (d->count == 0) return;
    for (int b = begin; b < end; b++) {
        const sti__contact *c = contact_of(f, b);
        int dim = c->mixed.dim;
        v3_sub(arm, c->pos, d->com);
        if (dim == 3) find_wrenches(c, arm, sign, 3, count, w);
        else if (dim == 1) find_wrenches(c, arm, sign, 1, count, w);
        else find_wrenches(c, arm, sign, dim, count, w);
        count += dim;
    }
    for (int i = 0; i < count && d->axes; i++)
        for (int k = 0; k < 3; k++) J[i * n + k] = w[3 + k][i];
    for (int i = count; i & 3; i++)
        for (int k = 0; k < 6; k++) w[k][i] = 0;
    f->kernels->rows(f->s->cdof, d->dof + d->axes, d->count - d->axes, w, count, J + d->axes, n);
}

static void add_mobility(const filling *f, const side *d, const double pos[3], double K[12]) {
    double arm[3];
    if (d->count == 0) return;
    v3_sub(arm, pos, d->com);
    f->kernels->point(d->mobility, arm, K);
}

/* The size of a matrix does not depend on the frame it is seen in. */
static double weight_apart(const filling *f, const couple *p, const sti__contact *c) {
    double K[12] = {0}, block[9], Kn[3];
    add_mobility(f, &p->side[0], c->pos, K);
    add_mobility(f, &p->side[1], c->pos, K);
    for (int i = 0; i < 3; i++) v3_copy(block + 3 * i, K + 4 * i);
    if (c->mixed.dim >= 3) return sti__block_weight(3, block);
    m3_mul_vec(Kn, block, c->frame);
    return v3_dot(Kn, c->frame);
}

/* Blocks begin..end of one couple, whose rows follow each other. */
static void fill_apart(const filling *f, const couple *p, int begin, int end) {
    const sti__assembly *as = f->as;
    int first = as->first[begin], rows = as->first[end] - first, at = as->jstart[first], n = p->n;
    int *col = as->jcol + at;
    double *J = as->jvalue + at;
    for (int k = 0; k < 2; k++) {
        const side *d = &p->side[k];
        if (d->count) memcpy(col + p->split[k], d->dof, sizeof(int) * (size_t)d->count);
        fill_side(f, d, k ? 1 : -1, begin, end, n, J + p->split[k]);
    }
    for (int i = 1; i < rows; i++) memcpy(col + i * n, col, sizeof(int) * (size_t)n);
}

static void fill_law(filling *f, const couple *p, terms *t, int b) {
    sti__assembly *as = f->as;
    const sti__contact *c = contact_of(f, b);
    int at = as->first[b];
    double w = weight_apart(f, p, c);
    law l = {&as->rows[b], as->R + at, as->vhat + at, &as->info[b]};
    if (!find_law(as, f->s, c, w, t, l)) {
        as->info[b].source = STI__FROM_NOTHING;
        atomic_store_explicit(&f->dropped, true, memory_order_relaxed);
    }
    as->memory[b].feature = c->feature; /* what it remembers is found later */
    memcpy(as->memory[b].frame, c->frame, sizeof c->frame);
}

/* The blocks from b on that are of this couple and together have no more rows than a kernel takes. */
static int run_end(const filling *f, const couple *p, int b, int end) {
    const int *first = f->as->first, begin = first[b];
    for (b++; b < end && first[b + 1] - begin <= STI__CHAIN_ROWS; b++) {
        const sti__contact *c = contact_of(f, b);
        if (c->body1 != p->body1 || c->body2 != p->body2) break;
    }
    return b;
}

static void fill_blocks(void *context, int begin, int end) {
    filling *f = context;
    couple p = {.body1 = -1};
    terms t = {.known = false};
    end += f->first;
    for (int b = f->first + begin, next; b < end; b = next) {
        find_couple(f->s->model, contact_of(f, b), &p);
        next = run_end(f, &p, b, end);
        if (!p.apart) continue;
        find_sides(f->as, f->s, &p);
        if (f->matrices) fill_apart(f, &p, b, next);
        for (int k = b; f->laws && k < next; k++) fill_law(f, &p, &t, k);
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
    filling f = {as, s, contacts, sti__chain_kernels_get(), as->nblock, true, !as->tally, false};
    as->failed |= !sti__overlaps_find(&as->overlaps, s, contacts, count);
    if (!as->failed && !reserve_pieces(as, s->model, contacts, count, tasks))
        reserve_all(as, s, contacts, count);
    if (as->failed) return;
    int64_t start = sti__tick(as->tally);
    sti__assembly_answer(as, s, tasks);
    sti__tock(as->tally, STI__WORK_REGULARISATION, start, 0);
    sti__run(tasks, as->nblock - f.first, 64, fill_blocks, &f);
    if (as->tally) fill_laws(&f, tasks);
    if (atomic_load_explicit(&f.dropped, memory_order_relaxed)) sti__blocks_drop(as, f.first);
}
