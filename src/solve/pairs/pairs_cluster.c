/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/pairs/pairs_cluster.h"
#include "base/room.h"
#include "contact/rows.h"
#include "linear/factor/block_cholesky.h"
#include "solve/parts/island.h"
#include "solve/rules.h"
#include "solve/small/small.h"
#include <string.h>

#define NUMBERS (STI__CLUSTER_ROWS * STI__CLUSTER_DOFS)
#define LEAST_STEP 1e-6 /* of a line search */

/* The problem of a cluster, and room to solve it. */
typedef struct local {
    sti_problem problem;
    int n, m, count; /* dofs, scalar rows, blocks */
    int dof[STI__CLUSTER_DOFS + 1], island[STI__CLUSTER_DOFS];
    int row[STI__CLUSTER_ROWS], first[STI__CLUSTER_ROWS + 1], start[STI__CLUSTER_ROWS + 1], col[NUMBERS];
    sti_row rows[STI__CLUSTER_ROWS];
    double X[NUMBERS], R[STI__CLUSTER_ROWS], target[STI__CLUSTER_ROWS]; /* target: -q */
    double one[STI__CLUSTER_DOFS], held[STI__CLUSTER_DOFS], z[STI__CLUSTER_DOFS];
    double y[STI__CLUSTER_ROWS], g[STI__CLUSTER_ROWS];
    double shift[STI__CLUSTER_ROWS]; /* De Saxce term of each block */
    double L[STI__CLUSTER_DOFS * STI__CLUSTER_DOFS], gradient[STI__CLUSTER_DOFS], step[STI__CLUSTER_DOFS],
        from[STI__CLUSTER_DOFS];
    double work, most; /* operations of a visit, and after how many it ends */
} local;

/* ---- memory ------------------------------------------------------------------------------------------------ */

typedef struct room {
    sti__clusters *all;
    local *own;
    char *scratch;
    double *share; /* per block of the island: its part of the change */
} room;

static size_t lay_out(room *r, int nrow, char *base) {
    sti__cutter c = {base, 0};
    r->all = sti__cut(&c, 1, sizeof *r->all);
    r->own = sti__cut(&c, 1, sizeof *r->own);
    r->scratch = sti__cut(&c, sti__small_room(STI__CLUSTER_DOFS, STI__CLUSTER_ROWS, STI__CLUSTER_ROWS), 1);
    r->share = sti__cut(&c, (size_t)nrow, sizeof(double));
    return c.used;
}

static room room_of(const sti__pairs *p) {
    room r;
    lay_out(&r, p->s->nrow, p->clusters);
    return r;
}

size_t sti__clusters_room(int nrow) {
    room r;
    return lay_out(&r, nrow, NULL);
}

void sti__clusters_begin(const sti__pairs *p, double sweep) {
    sti__clusters *all = room_of(p).all;
    int n = STI__CLUSTER_ALWAYS;
    while (n < STI__CLUSTER_DOFS && (n + 1.0) * (n + 1.0) * (n + 1.0) <= sweep) n++;
    all->count = 0;
    all->most = n;
}

/* ---- what is not swept ------------------------------------------------------------------------------------- */

static void hold_block(const sti__pairs *p, int b, bool held) {
    if (p->where[b] < p->packs * STI__LANE) {
        sti__pair_group *group = sti__pairs_group_of(p, b);
        group->hold[p->where[b] % STI__LANE] = held;
        group->held = false;
        for (int l = 0; l < STI__LANE; l++) group->held |= group->hold[l] != 0;
        return;
    }
    for (int k = 0; k < p->nsingle; k++)
        if (p->single[k].block == b) p->single[k].held = held;
}

/* Rows of a cluster are swept only as long as it is not solved: what others push it to is then its answer alone. */
static void hold(const sti__pairs *p, sti__cluster *c, bool held) {
    if (c->held == held || !c->whole) return;
    c->held = held;
    for (int k = 0; k < c->blocks; k++) hold_block(p, c->block[k], held);
}

/* ---- who belongs to it ------------------------------------------------------------------------------------- */

static int size_of(const sti__pairs *p, int part) { return p->part[part + 1] - p->part[part]; }
static int dim_of(const sti__pairs *p, int b) { return p->s->first[b + 1] - p->s->first[b]; }

static bool has_part(const sti__cluster *c, int part) {
    for (int i = 0; i < c->parts; i++)
        if (c->part[i] == part) return true;
    return false;
}

static int cluster_of(const sti__clusters *all, int part) {
    for (int k = 0; k < all->count; k++)
        if (has_part(&all->cluster[k], part)) return k;
    return -1;
}

static void add_part(const sti__pairs *p, sti__cluster *c, int part) {
    int k = c->parts++;
    for (; k > 0 && c->part[k - 1] > part; k--) c->part[k] = c->part[k - 1];
    c->part[k] = part;
    c->n += size_of(p, part);
}

/* The cluster that is to have all these parts: the first that has one of them, or a new one; -1 if it would be too large. */
static int find_home(const sti__pairs *p, const sti__clusters *all, const int *list, int count) {
    int home = -1, n = 0;
    for (int t = 0; t < count; t++) {
        int own = cluster_of(all, list[t]);
        bool known = false;
        for (int u = 0; u < t; u++) known |= own >= 0 && cluster_of(all, list[u]) == own;
        if (!known) n += own < 0 ? size_of(p, list[t]) : all->cluster[own].n;
        if (own >= 0 && (home < 0 || own < home)) home = own;
    }
    if (n > all->most || count == 0) return -1;
    return home >= 0 ? home : all->count < STI__CLUSTERS ? all->count : -1;
}

/* All parts that block b moves belong to one cluster; false if they do already, or it would be too large. */
static bool join(const sti__pairs *p, sti__clusters *all, int b) {
    int list[STI__PAIRS_TOUCHES], count = sti__pairs_touches(p, b, list);
    int home = find_home(p, all, list, count);
    if (home < 0) return false;
    if (home == all->count) all->cluster[all->count++] = (sti__cluster){0};
    sti__cluster *c = &all->cluster[home];
    bool grown = false;
    hold(p, c, false);
    for (int t = 0; t < count; t++) {
        int own = cluster_of(all, list[t]);
        if (own == home) continue;
        grown = true;
        if (own < 0) {
            add_part(p, c, list[t]);
            continue;
        }
        sti__cluster *other = &all->cluster[own];
        hold(p, other, false);
        for (int i = 0; i < other->parts; i++) add_part(p, c, other->part[i]);
        *other = all->cluster[--all->count]; /* home comes before it */
    }
    if (grown) c->blocks = 0;
    return grown;
}

/* Rows among the parts of the cluster, as many as there is room for. */
static void list_blocks(const sti__pairs *p, sti__cluster *c) {
    int list[STI__PAIRS_TOUCHES];
    c->blocks = c->m = 0;
    c->solved = c->frozen = false;
    c->whole = true;
    for (int b = 0; b < p->s->nrow; b++) {
        int count = sti__pairs_touches(p, b, list), inside = 0;
        while (inside < count && has_part(c, list[inside])) inside++;
        if (inside < count || count == 0) continue;
        if (c->m + dim_of(p, b) > STI__CLUSTER_ROWS) {
            c->whole = false;
            continue;
        }
        c->block[c->blocks++] = b;
        c->m += dim_of(p, b);
    }
}

static bool is_hub(const sti__pairs *p, int part) {
    for (int h = 0; h < p->nhub; h++)
        if (p->hub[h] == p->z_at[part]) return true;
    return false;
}

/* Whether block b pushes a body of the cluster, hubs apart, and another. */
static bool is_near(const sti__pairs *p, const sti__cluster *c, int b) {
    int list[STI__PAIRS_TOUCHES], inside = 0, near = 0, count = sti__pairs_touches(p, b, list);
    for (int t = 0; t < count; t++) {
        bool own = has_part(c, list[t]);
        inside += own;
        near += own && !is_hub(p, list[t]);
    }
    return near > 0 && inside < count && p->g[p->where[b]] > 0;
}

/* The block whose bodies join next: of those that push the cluster that which has changed most; -1 if none does. */
static int find_neighbour(const sti__pairs *p, const sti__cluster *c, const double *share) {
    int most = -1;
    for (int b = 0; b < p->s->nrow; b++)
        if ((most < 0 || share[b] > share[most]) && share[b] >= 0 && is_near(p, c, b)) most = b;
    return most;
}

/* Bodies that push those of a cluster join it until it has twice as many, as long as they fit. */
static bool add_neighbours(const sti__pairs *p, sti__clusters *all, int part, double *share) {
    int own = cluster_of(all, part), most = own < 0 ? 0 : 2 * all->cluster[own].parts, b;
    bool grown = false;
    while (own >= 0 && all->cluster[own].parts < most &&
           (b = find_neighbour(p, &all->cluster[own], share)) >= 0) {
        grown |= join(p, all, b);
        share[b] = -1;
        own = cluster_of(all, part);
    }
    return grown;
}

/* Squared change of each block; returns the sum. */
static double share_out(const sti__pairs *p, const double *change, double *share) {
    double sum = 0;
    for (int b = 0; b < p->s->nrow; b++) {
        share[b] = 0;
        for (int i = 0; i < dim_of(p, b); i++) {
            double d = change[p->where[b] + i * p->stride[b]];
            share[b] += d * d;
        }
        sum += share[b];
    }
    return sum;
}

/* The blocks that have nearly all of the change, at most STI__CLUSTER_SEEDS, those with most first; 0 if more have it. */
static int find_seeds(const sti__pairs *p, const double *change, double *share, bool any, int *seed) {
    double sum = share_out(p, change, share), left = sum;
    int count = 0;
    for (; count < STI__CLUSTER_SEEDS && left > STI__CLUSTER_REST * sum; count++) {
        int most = 0;
        for (int b = 1; b < p->s->nrow; b++)
            if (share[b] > share[most]) most = b;
        left -= share[most];
        share[most] = 0;
        seed[count] = most;
    }
    return left > STI__CLUSTER_REST * sum && !any ? 0 : count;
}

/* A part that block b moves, if possible no hub; -1 if it moves none. */
static int body_of(const sti__pairs *p, int b) {
    int list[STI__PAIRS_TOUCHES], count = sti__pairs_touches(p, b, list);
    return count <= 0 ? -1 : list[count > 1 && is_hub(p, list[0])];
}

bool sti__clusters_grow(const sti__pairs *p, const double *change, bool any) {
    room r = room_of(p);
    int seed[STI__CLUSTER_SEEDS], count = find_seeds(p, change, r.share, any, seed), part = -1;
    bool grown = false;
    for (int k = 0; k < count; k++) grown |= join(p, r.all, seed[k]);
    if (count > 0 && !grown) part = body_of(p, seed[0]);
    if (part >= 0) grown = add_neighbours(p, r.all, part, r.share);
    for (int k = 0; k < r.all->count; k++)
        if (r.all->cluster[k].blocks == 0) list_blocks(p, &r.all->cluster[k]);
    int own = part >= 0 && !grown ? cluster_of(r.all, part) : -1;
    if (own >= 0) r.all->cluster[own].frozen ^= true;
    return grown || own >= 0;
}

/* ---- its problem ------------------------------------------------------------------------------------------- */

static int place_of(const sti__pairs *p, const sti__cluster *c, int part) {
    int at = 0;
    for (int i = 0; c->part[i] != part; i++) at += size_of(p, c->part[i]);
    return at;
}

/* Rows of block b of the island, whitened, from row `at` on. */
static void take_rows(const sti__pairs *p, const sti__cluster *c, local *q, int b, int at) {
    double X[STI_ROW_DIM * STI__PAIRS_PART];
    int list[STI__PAIRS_TOUCHES], count = sti__pairs_touches(p, b, list), dim = dim_of(p, b), width = 0;
    int begin = q->start[at], done = begin;
    for (int t = 0; t < count; t++) width += size_of(p, list[t]);
    for (int i = 0; i < dim; i++) q->start[at + i + 1] = begin + (i + 1) * width;
    for (int t = 0; t < count; t++) {
        int n = size_of(p, list[t]), place = place_of(p, c, list[t]);
        sti__pairs_whiten(p, b, list[t], n, X);
        for (int i = 0; i < dim; i++)
            for (int k = 0; k < n; k++) {
                q->col[done + i * width + k] = place + k;
                q->X[done + i * width + k] = X[i * n + k];
            }
        done += n;
    }
}

static void push(const local *q, double sign, const double *g, double *z) {
    for (int i = 0; i < q->m; i++)
        for (int k = q->start[i]; k < q->start[i + 1]; k++) z[q->col[k]] += sign * g[i] * q->X[k];
}

static void take_blocks(const sti__pairs *p, const sti__cluster *c, local *q) {
    const sti__island *s = p->s;
    q->n = c->n, q->m = 0, q->count = c->blocks;
    q->start[0] = q->first[0] = 0;
    for (int k = 0; k < c->blocks; k++) {
        int b = c->block[k], from = s->first[b];
        q->rows[k] = *sti__island_row(s, b);
        q->row[k] = k;
        take_rows(p, c, q, b, q->m);
        for (int i = 0; i < dim_of(p, b); i++, q->m++) {
            q->R[q->m] = s->R[from + i];
            q->target[q->m] = -p->q[from + i];
            q->g[q->m] = p->g[p->where[b] + i * p->stride[b]];
        }
        q->first[k + 1] = q->m;
    }
}

/* What the bodies do without these rows. */
static void take_motion(const sti__pairs *p, const sti__cluster *c, local *q) {
    double *at = q->z;
    for (int i = 0; i < c->parts; i++, at += size_of(p, c->part[i - 1]))
        memcpy(at, p->z + p->z_at[c->part[i]], sizeof(double) * (size_t)size_of(p, c->part[i]));
    memcpy(q->held, q->z, sizeof(double) * (size_t)q->n);
    push(q, -1, q->g, q->held);
}

static void take_problem(const sti__pairs *p, const sti__cluster *c, local *q) {
    take_blocks(p, c, q);
    take_motion(p, c, q);
    for (int i = 0; i <= q->n; i++) q->dof[i] = i;
    for (int i = 0; i < q->n; i++) q->one[i] = 1, q->island[i] = 0;
    q->problem = (sti_problem){.arrays = {.n = q->n,
                                          .nrow = q->count,
                                          .rows = q->rows,
                                          .R = q->R,
                                          .vhat = q->target,
                                          .A = {q->n, q->n, q->dof, q->dof, q->one},
                                          .vstar = q->held,
                                          .J = {q->m, q->n, q->start, q->col, q->X},
                                          .still = p->s->problem->arrays.still},
                               .m = q->m,
                               .first = q->first,
                               .uniform = true,
                               .nisland = 1,
                               .dof_island = q->island};
}

/* Back to the island; copies of hubs follow. */
static void give_back(const sti__pairs *p, const sti__cluster *c, local *q) {
    const double *from = q->z;
    memcpy(q->z, q->held, sizeof(double) * (size_t)q->n);
    push(q, 1, q->g, q->z);
    for (int i = 0; i < c->parts; i++) {
        int n = size_of(p, c->part[i]), at = p->z_at[c->part[i]];
        memcpy(p->z + at, from, sizeof(double) * (size_t)n);
        for (int h = 0; h < p->nhub; h++)
            for (int l = 0; l < STI__LANE && p->hub[h] == at; l++)
                memcpy(p->z + p->nz + (h * STI__LANE + l) * STI__LANE, from, sizeof(double) * (size_t)n);
        from += n;
    }
    for (int k = 0; k < q->count; k++)
        for (int i = q->first[k]; i < q->first[k + 1]; i++)
            p->g[p->where[c->block[k]] + (i - q->first[k]) * p->stride[c->block[k]]] = q->g[i];
}

/* ---- frozen shifts ----------------------------------------------------------------------------------------- */

/* y of block k at z, without its shift. */
static void set_velocities(local *q, int k) {
    for (int i = q->first[k]; i < q->first[k + 1]; i++) {
        q->y[i] = -q->target[i];
        for (int e = q->start[i]; e < q->start[i + 1]; e++) q->y[i] += q->X[e] * q->z[q->col[e]];
    }
}

/* Gradient and Newton matrix of a block with the Hessian G. */
static void add_block(local *q, int k, const double *G) {
    int at = q->first[k], dim = q->first[k + 1] - at, begin = q->start[at], width = q->start[at + 1] - begin;
    const int *col = q->col + begin;
    const double *X = q->X + begin;
    double GX[STI_ROW_DIM];
    for (int d = 0; d < width; d++) {
        for (int i = 0; i < dim; i++) {
            q->gradient[col[d]] -= X[i * width + d] * q->g[at + i];
            GX[i] = 0;
            for (int j = 0; j < dim; j++) GX[i] += G[i * dim + j] * X[j * width + d];
        }
        for (int e = d; e < width; e++)
            for (int i = 0; i < dim; i++) q->L[col[e] * q->n + col[d]] += X[i * width + e] * GX[i];
    }
}

/* Operations of a pass over the rows: of their laws, and of the product with J. */
static double row_work(const local *q) { return STI__CLUSTER_ROW * q->count + 2.0 * q->start[q->m]; }

/* Cost of z with the shifts as they are, and the impulses that follow; with `whole` also gradient and Newton matrix. */
static double evaluate(local *q, bool whole) {
    double cost = 0, G[STI_ROW_DIM * STI_ROW_DIM];
    q->work += row_work(q);
    if (whole) memset(q->L, 0, sizeof(double) * (size_t)q->n * (size_t)q->n);
    for (int i = 0; i < q->n; i++) {
        q->gradient[i] = q->z[i] - q->held[i];
        cost += q->gradient[i] * q->gradient[i] / 2;
        q->L[i * q->n + i] = 1;
    }
    for (int k = 0; k < q->count; k++) {
        int at = q->first[k];
        set_velocities(q, k);
        double y = q->y[at];
        q->y[at] += q->shift[k];
        cost += sti__row_evaluate(&q->rows[k], q->R + at, q->y + at, q->g + at, whole ? G : NULL);
        q->y[at] = y;
        if (whole) add_block(q, k, G);
    }
    return cost;
}

/* Along the step: half as far until the cost falls enough. */
static void search(local *q, double cost, double slope) {
    double a = 1;
    memcpy(q->from, q->z, sizeof(double) * (size_t)q->n);
    do {
        for (int i = 0; i < q->n; i++) q->z[i] = q->from[i] + a * q->step[i];
        a /= 2;
    } while (evaluate(q, false) > cost - 2e-4 * a * slope + 1e-14 * cost && a > LEAST_STEP);
}

/* The minimum of that cost by Newton's method. */
static void minimise(local *q) {
    double n = q->n;
    for (int k = 0; k < STI__CLUSTER_MINIMISE && q->work < q->most; k++) {
        double cost = evaluate(q, true), slope = 0, size = 0;
        q->work += n * n * (n / 3 + q->m);
        if (!sti__block_factor(q->L, q->n, 0)) return;
        for (int i = 0; i < q->n; i++) q->step[i] = -q->gradient[i];
        sti__block_forward(q->L, q->n, q->step);
        for (int i = 0; i < q->n; i++) {
            slope += q->step[i] * q->step[i];
            size += (q->z[i] - q->held[i]) * (q->z[i] - q->held[i]);
        }
        if (!(slope > 1e-20 * size)) return;
        sti__block_backward(q->L, q->n, q->step);
        search(q, cost, slope);
    }
}

/* Shifts of the pair (y, g). */
static void renew_shifts(local *q) {
    for (int k = 0; k < q->count; k++)
        q->shift[k] =
            sti__row_desaxce(&q->rows[k], q->R + q->first[k], q->y + q->first[k], q->g + q->first[k]);
}

/* One step of it from the pair as it is: continuous, and with one answer. */
static void solve_frozen(local *q) {
    for (int k = 0; k < q->count; k++) set_velocities(q, k);
    renew_shifts(q);
    minimise(q);
}

/* ---- a visit ----------------------------------------------------------------------------------------------- */

/* Exact Coulomb by Newton's method from (z, g). */
static bool try_newton(local *q, const room *r, double tol) {
    double v[STI__CLUSTER_DOFS];
    memcpy(v, q->z, sizeof(double) * (size_t)q->n);
    sti__small_job job = {.problem = &q->problem,
                          .dof = q->dof,
                          .row = q->row,
                          .rank = q->dof,
                          .n = q->n,
                          .nrow = q->count,
                          .tol = tol,
                          .steps = STI__CLUSTER_NEWTON,
                          .v = v,
                          .g = q->g,
                          .scratch = r->scratch};
    bool found = sti__small_get(q->n)(&job);
    q->work += (1.0 + job.iterations) * (q->n * q->n * (q->n + 2.0 * q->m) + 2 * row_work(q));
    return found;
}

/* Newton's method finds the answer where it is near. The natural map may nearly vanish far from it, and then what finds it is to solve
   with frozen shifts and renew them, many times if need be, until Newton's method takes over. */
static bool solve(local *q, const room *r, double tol) {
    if (try_newton(q, r, tol)) return true;
    if (!STI__RULE(CLUSTER_SHIFTS)) return false;
    memcpy(q->z, q->held, sizeof(double) * (size_t)q->n);
    memset(q->shift, 0, sizeof q->shift);
    for (int k = 1; k <= STI__CLUSTER_SHIFTS && q->work < q->most; k++) {
        minimise(q);
        renew_shifts(q);
        bool turn = k >= 4 && (k & (k - 1)) == 0; /* after 4, 8, 16 ... */
        if (turn && try_newton(q, r, tol)) return true;
    }
    return false;
}

/* There may be several answers: the search begins at that of the last visit. */
static void take_last(local *q, const sti__cluster *c) {
    memcpy(q->g, c->answer, sizeof(double) * (size_t)q->m);
    memcpy(q->z, q->held, sizeof(double) * (size_t)q->n);
    push(q, 1, q->g, q->z);
}

/* Solves the cluster; false if that took too long. */
static bool visit(const sti__pairs *p, sti__cluster *c, const room *r, double tol) {
    local *q = r->own;
    take_problem(p, c, q);
    if (c->solved && !c->frozen) take_last(q, c);
    return !c->frozen && solve(q, r, tol);
}

double sti__clusters_visit(const sti__pairs *p, double tol, double sweep, double most) {
    room r = room_of(p);
    local *q = r.own;
    q->work = 0;
    for (int k = 0; k < r.all->count && q->work < most; k++) {
        sti__cluster *c = &r.all->cluster[k];
        q->most = fmin(most, q->work + STI__CLUSTER_WORTH * sweep);
        c->solved = visit(p, c, &r, tol);
        if (!c->solved && STI__RULE(CLUSTER_SHIFTS)) {
            take_problem(p, c, q);
            q->most = most;
            solve_frozen(q);
            c->frozen = c->solved = true;
        }
        hold(p, c, c->solved);
        if (!c->solved) continue;
        memcpy(c->answer, q->g, sizeof(double) * (size_t)q->m);
        give_back(p, c, q);
    }
    return q->work;
}
