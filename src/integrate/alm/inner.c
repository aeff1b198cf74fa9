/* SPDX-License-Identifier: Apache-2.0 */
#include "integrate/alm/inner.h"
#include "base/room.h"
#include "integrate/alm/inside.h"
#include "solve/solve.h"
#include <math.h>
#include <string.h>

/* ---- memory -------------------------------------------------------------------------------------------------- */

/* At least so many bytes; what was there is lost. */
static void *pool(sti__alm *alm, int which, size_t bytes) {
    sti__inner_pool *p = &alm->inner.pools[which];
    return sti__make_room(&alm->allocator, &p->data, &p->bytes, bytes, bytes / 2) ? p->data : NULL;
}

typedef struct cut {
    char *at;
    size_t used;
} cut;
static void *piece(cut *c, size_t bytes) {
    void *p = c->at ? c->at + c->used : NULL;
    c->used = sti__add(c->used, sti__padded(bytes));
    return p;
}

static void cut_rows(sti__inner *in, cut *c, size_t blocks, size_t rows) {
    in->R = piece(c, sti__size(rows, sizeof(double)));
    in->vhat = piece(c, sti__size(rows, sizeof(double)));
    in->g = piece(c, sti__size(rows, sizeof(double)));
    in->guess = piece(c, sti__size(rows, sizeof(double)));
    in->rows = piece(c, sti__size(blocks, sizeof(sti_row)));
    in->item = piece(c, sti__size(blocks, sizeof(int)));
    in->first = piece(c, sti__size(sti__add(blocks, 1), sizeof(int)));
    in->row_island = piece(c, sti__size(blocks, sizeof(int)));
    in->jstart = piece(c, sti__size(sti__add(rows, 1), sizeof(int)));
}

static void cut_entries(sti__inner *in, cut *c, size_t entries) {
    in->jvalue = piece(c, sti__size(entries, sizeof(double)));
    in->jcol = piece(c, sti__size(entries, sizeof(int)));
}

static void cut_matrix(sti__inner *in, cut *c, size_t n, size_t entries) {
    in->avalue = piece(c, sti__size(entries, sizeof(double)));
    in->vstar = piece(c, sti__size(n, sizeof(double)));
    in->v = piece(c, sti__size(n, sizeof(double)));
    in->acol = piece(c, sti__size(entries, sizeof(int)));
    in->amap = piece(c, sti__size(entries, sizeof(int)));
    in->astart = piece(c, sti__size(sti__add(n, 1), sizeof(int)));
    in->dof_island = piece(c, sti__size(n, sizeof(int)));
}

void sti__inner_free(sti__alm *alm) {
    for (int k = 0; k < 4; k++)
        sti__free_aligned(&alm->allocator, alm->inner.pools[k].data, alm->inner.pools[k].bytes);
    sti_workspace_free(alm->inner.workspace);
}

/* ---- the pattern ----------------------------------------------------------------------------------------------- */

static void count_rows(const sti__alm *alm, int *blocks, int *rows, int *entries) {
    *blocks = *rows = *entries = 0;
    for (int i = alm->npin_fixed; i < alm->npin; i++) {
        *blocks += 1;
        *rows += alm->pin[i].dim;
        *entries += 12 * alm->pin[i].dim;
    }
    for (int i = 0; i < alm->nsum; i++)
        if (sti__sum_is_kinked(&alm->sum[i])) {
            *blocks += alm->sum[i].extra >= 0;
            *rows += 1;
            *entries += 12 * alm->sum[i].n;
        }
}

static void add_block(sti__inner *in, int item, const sti_row *law) {
    in->item[in->nblock] = item;
    in->rows[in->nblock] = *law;
    in->first[in->nblock++] = in->nrow;
}

/* The bodies of alm->used in ascending order, with their gradients. */
static void sort_used(sti__alm *alm, int n) {
    for (int i = 1; i < n; i++)
        for (int k = i; k > 0 && alm->used[k] < alm->used[k - 1]; k--) {
            int swap = alm->used[k];
            alm->used[k] = alm->used[k - 1];
            alm->used[k - 1] = swap;
            for (int j = 0; j < 6; j++) {
                double *a = alm->sum_gradient + 6 * (size_t)k + j, x = *a;
                *a = a[-6];
                a[-6] = x;
            }
        }
}

static int columns_of(sti__inner *in, int at, int body) {
    for (int k = 0; k < 6 && body >= 0; k++) in->jcol[at++] = 6 * body + k;
    return at;
}

static void add_pin_rows(sti__alm *alm, int i, int *at) {
    sti__inner *in = &alm->inner;
    const sti__pin *pin = &alm->pin[i];
    add_block(in, i, &pin->law);
    for (int r = 0; r < pin->dim; r++) {
        in->jstart[in->nrow++] = *at;
        *at = columns_of(in, *at, pin->a < pin->b ? pin->a : pin->b);
        *at = columns_of(in, *at, pin->a < pin->b ? pin->b : pin->a);
    }
}

/* Rows of the block that begins with a sum. */
static int rows_of(const sti__alm_sum *sum) { return sum->extra > 0 ? sum->extra : 1; }

static sti_row law_of(const sti__alm *alm, const sti__alm_sum *sum) {
    double kappa = sti__sum_scheme(alm, sum)->kappa;
    if (sum->extra) return sum->block;
    if (!sti__sum_is_servo(sum)) return sum->law;
    return (sti_row){.kind = STI_ROW_INTERVAL, .dim = 1, .lo = kappa * sum->fmin, .hi = kappa * sum->fmax};
}

static void add_sum_rows(sti__alm *alm, int i, int *at) {
    sti__inner *in = &alm->inner;
    sti_row law = law_of(alm, &alm->sum[i]);
    add_block(in, -1 - i, &law);
    for (int r = 0; r < rows_of(&alm->sum[i]); r++) {
        int n = sti__sum_bodies(alm, &alm->sum[i + r]);
        sort_used(alm, n);
        in->jstart[in->nrow++] = *at;
        for (int k = 0; k < n; k++) *at = columns_of(in, *at, alm->used[k]);
    }
}

/* Both triangles of H from its lower one; a block row is written by columns, first those on its left. */
static void fill_matrix(sti__alm *alm) {
    sti__inner *in = &alm->inner;
    int at = 0, nb = alm->nbody;
    for (int i = 0; i < nb; i++)
        for (int r = 0; r < 6; r++) {
            in->astart[6 * i + r] = at;
            int first = alm->bstart[i], n = alm->bstart[i + 1] - first;
            for (int k = 0; k < n; k++)
                for (int c = 0; c < 6; c++) {
                    bool upper = k == n - 1 && c > r; /* of the diagonal block */
                    int row = upper ? c : r, col = upper ? r : c;
                    in->acol[at] = 6 * alm->bcol[first + k] + c;
                    in->amap[at++] = 36 * first + 6 * n * row + 6 * k + col;
                }
            for (int q = alm->ustart[i]; q < alm->ustart[i + 1]; q++) {
                int other = alm->urow[q], from = alm->bstart[other], m = alm->bstart[other + 1] - from;
                for (int c = 0; c < 6; c++) {
                    in->acol[at] = 6 * other + c;
                    in->amap[at++] = 36 * from + 6 * m * c + 6 * alm->uplace[q] + r;
                }
            }
        }
    in->astart[6 * nb] = at;
}

/* Blocks below the diagonal by column: rows ascend. */
static bool transpose_pattern(sti__alm *alm) {
    int nb = alm->nbody, off = alm->bstart[nb] - nb;
    int *room = pool(alm, 3, sti__size(sizeof(int), sti__sum(nb, 1, sti__size(2, off))));
    if (!room) return false;
    alm->ustart = room;
    alm->urow = room + nb + 1;
    alm->uplace = alm->urow + off;
    memset(room, 0, sizeof(int) * ((size_t)nb + 1));
    for (int i = 0; i < nb; i++)
        for (int k = alm->bstart[i]; k < alm->bstart[i + 1] - 1; k++) alm->ustart[alm->bcol[k] + 1]++;
    for (int i = 0; i < nb; i++) alm->ustart[i + 1] += alm->ustart[i];
    for (int i = 0; i < nb; i++)
        for (int k = alm->bstart[i]; k < alm->bstart[i + 1] - 1; k++) {
            int q = alm->ustart[alm->bcol[k]]++;
            alm->urow[q] = i;
            alm->uplace[q] = k - alm->bstart[i];
        }
    for (int i = nb; i > 0; i--) alm->ustart[i] = alm->ustart[i - 1];
    alm->ustart[0] = 0;
    return true;
}

static void show_problem(sti__alm *alm, double h) {
    sti__inner *in = &alm->inner;
    int n = 6 * alm->nbody;
    in->problem = (sti_problem){.m = in->nrow,
                                .first = in->first,
                                .dof_island = in->dof_island,
                                .row_island = in->row_island,
                                .allocator = &alm->allocator};
    sti_problem_arrays *a = &in->problem.arrays;
    *a = sti_problem_arrays_default();
    a->n = n;
    a->nrow = in->nblock;
    a->rows = in->rows;
    a->R = in->R;
    a->vhat = in->vhat;
    a->A = (sti_csr){n, n, in->astart, in->acol, in->avalue};
    a->vstar = in->vstar;
    a->J = (sti_csr){in->nrow, n, in->jstart, in->jcol, in->jvalue};
    a->h = h;
}

/* A row over dofs that is given as hard. */
static bool hard_block(const sti__alm *alm, int block) {
    const sti__alm_sum *sum = alm->inner.item[block] < 0 ? &alm->sum[-1 - alm->inner.item[block]] : NULL;
    bool hard = false;
    for (int r = 0; sum && sum->block.kind != STI_ROW_USER && r < sum->extra; r++) hard |= !(sum[r].R > 0);
    return hard;
}

bool sti__inner_begin(sti__alm *alm, double h) {
    sti__inner *in = &alm->inner;
    int blocks, rows, entries, n = 6 * alm->nbody, at = 0;
    size_t full = 36 * 2 * (size_t)alm->bstart[alm->nbody] - (size_t)alm->nbody;
    cut size = {0}, c;
    in->nblock = in->nrow = 0;
    count_rows(alm, &blocks, &rows, &entries);
    if (blocks == 0) return true;
    cut_rows(in, &size, (size_t)blocks, (size_t)rows);
    if (!(c = (cut){pool(alm, 0, size.used), 0}).at) return false;
    cut_rows(in, &c, (size_t)blocks, (size_t)rows);
    size = (cut){0};
    size_t islands = sti__sum(sti__size(sizeof(int), sti__sum(sti__size(2, n), rows, 2)), n, 1);
    cut_entries(in, &size, (size_t)entries);
    if (!(c = (cut){pool(alm, 1, size.used + islands), 0}).at) return false;
    cut_entries(in, &c, (size_t)entries);
    in->scratch = (int *)(void *)(c.at + c.used);
    size = (cut){0};
    cut_matrix(in, &size, (size_t)n, full);
    if (!(c = (cut){pool(alm, 2, size.used), 0}).at || !transpose_pattern(alm)) return false;
    cut_matrix(in, &c, (size_t)n, full);
    if (!in->workspace && !(in->workspace = sti_workspace_create(&alm->allocator, NULL))) return false;
    for (int i = alm->npin_fixed; i < alm->npin; i++) add_pin_rows(alm, i, &at);
    for (int i = 0; i < alm->nsum; i++)
        if (sti__sum_is_kinked(&alm->sum[i]) && alm->sum[i].extra >= 0) add_sum_rows(alm, i, &at);
    in->jstart[in->nrow] = at;
    in->first[in->nblock] = in->nrow;
    fill_matrix(alm);
    show_problem(alm, h);
    for (int r = 0; r < in->nblock; r++) in->problem.hard |= hard_block(alm, r);
    for (size_t k = 0; k < full; k++) in->avalue[k] = 1; /* islands are of what is not zero */
    sti__problem_find_islands(&in->problem, in->scratch);
    return true;
}

/* ---- numbers ------------------------------------------------------------------------------------------------- */

/* Softness of kinked rows over what they feel; their multipliers make them hard. */
#define SOFT 1e-4
/* What a row feels is at least so much of what its bodies alone would let it. */
#define HELD 1e-5

static void pin_rows(sti__alm *alm, int block) {
    sti__inner *in = &alm->inner;
    sti__pin *pin = &alm->pin[in->item[block]];
    double J[2][36];
    int row = in->first[block], low = pin->b >= 0 && (pin->a < 0 || pin->b < pin->a);
    sti__pin_value(pin, alm->pose, pin->C);
    sti__pin_jacobian(pin, alm->pose, J[0], J[1]);
    for (int r = 0; r < pin->dim; r++) {
        double *to = in->jvalue + in->jstart[row + r];
        for (int side = 0; side < 2; side++) {
            int which = side ? !low : low;
            if ((which ? pin->b : pin->a) < 0) continue;
            memcpy(to, J[which] + 6 * r, sizeof(double) * 6);
            to += 6;
        }
    }
}

static void sum_rows(sti__alm *alm, int block) {
    sti__inner *in = &alm->inner;
    for (int row = in->first[block]; row < in->first[block + 1]; row++) {
        const sti__alm_sum *sum = &alm->sum[-1 - in->item[block] + row - in->first[block]];
        double *to = in->jvalue + in->jstart[row];
        int n = sti__sum_bodies(alm, sum);
        sort_used(alm, n);
        for (int k = 0; k < 6 * n; k++) to[k] = sum->sign * alm->sum_gradient[k];
    }
}

void sti__inner_linearise(sti__alm *alm) {
    sti__inner *in = &alm->inner;
    for (int b = 0; b < in->nblock; b++) {
        if (in->item[b] >= 0) pin_rows(alm, b);
        else sum_rows(alm, b);
    }
}

/* J H^-1 J' of a row. */
static double row_weight(sti__alm *alm, int row, const sti_tasks *tasks) {
    const sti__inner *in = &alm->inner;
    double *x = alm->work, sum = 0;
    memset(x, 0, sizeof(double) * 6 * (size_t)alm->nbody);
    for (int k = in->jstart[row]; k < in->jstart[row + 1]; k++) x[in->jcol[k]] = in->jvalue[k];
    sti__chol_solve(alm->chol, x, tasks);
    sti__budget_spend(alm->budget, 4 * (double)sti__chol_get_info(alm->chol).fill);
    for (int k = in->jstart[row]; k < in->jstart[row + 1]; k++) sum += in->jvalue[k] * x[in->jcol[k]];
    return sum;
}

static void set_mu(sti__pin *p, double mu) {
    for (int k = 0; k < p->dim; k++) { /* keeps the cone round in its norm */
        double share = k > 0 ? p->law.mu[k - 1] / p->law.mu[0] : 1;
        p->mu[k] = mu * share * share;
    }
}

void sti__inner_soften(sti__alm *alm, double soft) {
    const sti__inner *in = &alm->inner;
    for (int b = 0; b < in->nblock; b++) {
        sti__alm_sum *sum = in->item[b] < 0 ? &alm->sum[-1 - in->item[b]] : NULL;
        if (sum && !sum->extra) sum->mu = sum->scale / soft;
        else if (!sum) set_mu(&alm->pin[in->item[b]], alm->pin[in->item[b]].scale / soft);
    }
}

void sti__inner_weigh(sti__alm *alm, const sti_tasks *tasks) {
    sti__inner *in = &alm->inner;
    for (int b = 0; b < in->nblock; b++) {
        sti__alm_sum *sum = in->item[b] < 0 ? &alm->sum[-1 - in->item[b]] : NULL;
        if (sum && (sum->extra || sti__sum_is_servo(sum))) continue; /* soft by themselves */
        double w = row_weight(alm, in->first[b], tasks);
        if (sum) {
            sum->mu = 1 / (SOFT * fmax(w, HELD / sum->scale));
            continue;
        }
        sti__pin *p = &alm->pin[in->item[b]];
        set_mu(p, 1 / (SOFT * fmax(w, HELD / p->scale)));
    }
}

/* Laws at the poses as they are, about the multipliers as they are. */
static void set_targets(sti__alm *alm, int b) {
    sti__inner *in = &alm->inner;
    int row = in->first[b];
    if (in->item[b] >= 0) {
        const sti__pin *pin = &alm->pin[in->item[b]];
        for (int r = 0; r < pin->dim; r++) {
            in->R[row + r] = pin->R[r] + 1 / pin->mu[r];
            in->vhat[row + r] = -(pin->C[r] + pin->lambda[r] / pin->mu[r]);
            in->guess[row + r] = -pin->f[r];
        }
        return;
    }
    const sti__alm_sum *sum = &alm->sum[-1 - in->item[b]];
    for (int r = 0; r < sum->extra; r++) {
        in->R[row + r] = sum[r].R;
        in->vhat[row + r] = -sum[r].C;
        in->guess[row + r] = -sum[r].f;
    }
    if (sum->extra) return;
    if (sti__sum_is_servo(sum)) { /* its force, without bounds, is a spring's */
        const sti__scheme *scheme = sti__sum_scheme(alm, sum);
        double K, f = sti__servo_force(scheme, sum, &K), kappa = scheme->kappa;
        in->R[row] = 1 / (kappa * K);
        in->vhat[row] = f / K;
        in->guess[row] = kappa * (f < sum->fmin ? sum->fmin : f > sum->fmax ? sum->fmax : f);
        return;
    }
    in->R[row] = sum->R + 1 / sum->mu;
    in->vhat[row] = -(sum->C + *sum->lambda / sum->mu);
    in->guess[row] = -sum->f;
}

sti_status sti__inner_solve(sti__alm *alm, const sti_option *o, const sti_tasks *tasks, sti_error *error) {
    sti__inner *in = &alm->inner;
    int n = 6 * alm->nbody;
    for (int b = 0; b < in->nblock; b++) set_targets(alm, b);
    for (int k = 0; k < in->astart[n]; k++) in->avalue[k] = alm->value[in->amap[k]];
    memcpy(in->vstar, alm->step, sizeof(double) * (size_t)n);
    sti_solve_options options = sti_solve_options_default();
    options.coulomb = (sti_coulomb)o->coulomb;
    options.solver = STI_SOLVER_SAP;
    options.tol = 1e-12;
    options.guess_g = in->guess;
    options.max_work = fmax(1, alm->budget->most - alm->budget->spent);
    if (tasks) options.tasks = *tasks;
    in->workspace->lean = true;
    sti_status status = sti_solve(&in->problem, &options, in->workspace, in->v, in->g, &in->info, error);
    if (status != STI_OK) return status;
    sti__budget_spend(alm->budget, in->info.work);
    memcpy(alm->step, in->v, sizeof(double) * (size_t)n);
    return STI_OK;
}

/* A multiplier goes its share of the way to the answer; by how much, as a length. */
static double take(double *f, double g, double mu, double alpha) {
    double change = alpha * (-g - *f);
    *f += change;
    return fabs(change) / mu;
}

double sti__inner_take(sti__alm *alm, double alpha) {
    sti__inner *in = &alm->inner;
    double most = 0;
    for (int b = 0; b < in->nblock; b++) {
        const double *g = in->g + in->first[b];
        if (in->item[b] < 0) {
            sti__alm_sum *sum = &alm->sum[-1 - in->item[b]];
            for (int r = 0; r < rows_of(sum); r++) {
                double change = take(&sum[r].f, g[r], sum[r].mu, alpha);
                if (!sti__sum_is_servo(sum) && !sum->extra) most = fmax(most, change);
            }
            continue;
        }
        sti__pin *pin = &alm->pin[in->item[b]];
        for (int r = 0; r < pin->dim; r++) {
            most = fmax(most, take(&pin->f[r], g[r], pin->mu[r], alpha));
            pin->g[r] = -pin->f[r];
        }
    }
    return most;
}

void sti__inner_tell(const sti__alm *alm) {
    for (int i = 0; i < alm->nsum; i++)
        if (alm->sum[i].extra) *alm->sum[i].impulse = -alm->sum[i].f / alm->sum[i].unit;
}

double sti__inner_centre(sti__alm *alm) {
    sti__inner *in = &alm->inner;
    double most = 0;
    for (int b = 0; b < in->nblock; b++) {
        if (in->item[b] < 0) {
            sti__alm_sum *sum = &alm->sum[-1 - in->item[b]];
            if (!sti__sum_is_servo(sum) && !sum->extra)
                most = fmax(most, take(sum->lambda, -sum->f, sum->mu, 1));
            continue;
        }
        sti__pin *pin = &alm->pin[in->item[b]];
        for (int r = 0; r < pin->dim; r++)
            most = fmax(most, take(&pin->lambda[r], -pin->f[r], pin->mu[r], 1));
    }
    return most;
}
