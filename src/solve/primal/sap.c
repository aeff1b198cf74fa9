/* SPDX-License-Identifier: Apache-2.0 */
/* Primal Newton on the velocities: the impulses follow from v by the rows' laws, so that the cost is smooth,
   strongly convex and unconstrained, and its curvature is known. Islands are solved side by side. */
#include "solve/primal/sap.h"
#include "contact/rows.h"
#include "linear/product.h"
#include "solve/policy.h"
#include "solve/rules.h"
#include "solve/small/small_lanes.h"
#include "solve/warm/guess.h"
#include <string.h>

#define GRAIN_BLOCKS 64

/* ---- work -------------------------------------------------------------------------------------------- */

double sti__sap_pass(const sti__sap *sap) {
    const sti__island *s = sap->s;
    return 2.0 * s->astart[s->n] + 4.0 * (double)s->number[s->nrow] + 40.0 * s->m + 20.0 * s->n;
}

void sti__sap_spend_mass(sti__sap *sap) {
    sti__chol_info mass = sti__chol_get_info(sap->s->mass);
    bool iterates = sti__chol_iterates(sap->s->mass);
    double cost =
        iterates ? STI__SAP_PCG_PASSES * sti__sap_pass(sap) * mass.iterations : 4.0 * (double)mass.fill;
    sti__budget_spend(&sap->count->budget, cost);
}

bool sti__sap_hessian(sti__sap *sap) {
    sti__island *s = sap->s;
    int *tries = &sap->count->factorisations, before = *tries;
    bool made = sti__island_make_hessian(s, sap->tasks, tries);
    double flops = !s->planned ? 0
                   : s->direct ? sti__chol_get_info(s->newton).flops * (*tries - before)
                               : sti__core_factor_work(&s->core);
    double passes = s->direct ? STI__SAP_PCG_PASSES : STI__SAP_PRECOND_PASSES;
    sti__budget_spend(&sap->count->budget, flops + passes * sti__sap_pass(sap));
    return made;
}

int sti__sap_solve(sti__sap *sap, const double *b, double *x, double tol) {
    sti__budget *budget = &sap->count->budget;
    double each = STI__SAP_PCG_PASSES * sti__sap_pass(sap) + sti__core_apply_work(&sap->s->core);
    int cap = sti__budget_iterations(budget, each, sap->options->max_pcg);
    int products = sti__island_solve(sap->s, b, x, tol, cap, sap->tasks);
    sap->count->pcg += products;
    sap->count->warnings[STI_WARN_MANY_PCG] += products > STI_MANY_PCG;
    double direct = sap->s->direct ? 4.0 * (double)sti__chol_get_info(sap->s->newton).fill : 0;
    sti__budget_spend(budget, direct + each * products);
    return products;
}

/* ---- one iterate ------------------------------------------------------------------------------------ */

typedef struct rows_job {
    sti__island *s;
    bool curved;
} rows_job;

static void evaluate_rows(void *context, int begin, int end) {
    rows_job *job = context;
    sti__island *s = job->s;
    for (int b = begin; b < end; b++) {
        int at = s->first[b];
        for (int i = at; i < s->first[b + 1]; i++) s->y[i] -= s->target[i];
        const sti_row *row = sti__island_row(s, b);
        s->part[b] =
            sti__row_evaluate(row, s->R + at, s->y + at, s->g + at, job->curved ? s->G + s->gstart[b] : NULL);
    }
}

static double scaled_norm(const sti__island *s, const double *x) {
    double sum = 0;
    for (int i = 0; i < s->n; i++) sum += x[i] * x[i] * s->inverse[i];
    return sqrt(sum);
}

void sti__sap_evaluate(sti__sap *sap, bool curved) {
    sti__island *s = sap->s;
    rows_job job = {s, curved};
    int64_t start = sti__tick(s->tally);
    for (int i = 0; i < s->n; i++) s->work[i] = s->v[i] - s->vstar[i];
    sti__csr_mul(&s->A, s->work, s->momentum, sap->tasks);
    double cost = sti__dot_n(s->work, s->momentum, s->n) / 2;
    sti__island_mul(s, s->v, s->y, sap->tasks);
    sti__run(sap->tasks, s->nrow, GRAIN_BLOCKS, evaluate_rows, &job);
    for (int b = 0; b < s->nrow; b++) cost += s->part[b];
    sti__island_mul_t(s, s->g, s->force, sap->tasks);
    for (int i = 0; i < s->n; i++) {
        s->gradient[i] = s->momentum[i] - s->force[i];
        s->work[i] = s->momentum[i] + s->impetus[i];
    }
    sap->cost = cost;
    sap->residual = scaled_norm(s, s->gradient);
    double impulse = scaled_norm(s, s->force);
    sap->size = fmax(scaled_norm(s, s->work), impulse);
    sap->change = fmax(scaled_norm(s, s->momentum), impulse);
    sap->bar = NAN;
    sti__budget_spend(&sap->count->budget, sti__sap_pass(sap));
    sti__tock(s->tally, STI__WORK_GRADIENT, start, 0);
}

static void measure(sti__sap *sap) {
    sti__island *s = sap->s;
    if (!sti__island_factor_mass(s, sap->tasks)) {
        sap->count->indefinite = true;
        sap->bar = sap->scale = sap->sum.gap = INFINITY;
        return;
    }
    sti__chol_half(s->mass, s->gradient, s->work, sap->tasks);
    sti__sap_spend_mass(sap);
    sap->bar = sqrt(sti__norm2_n(s->work, NULL, s->n));
    double free2 = sti__free2(s->problem, sti__dot_n(s->vstar, s->impetus, s->n), 1), moved2 = 0,
           impulse2 = 0, across = 0;
    for (int i = 0; i < s->n; i++) {
        moved2 += (s->v[i] - s->vstar[i]) * s->momentum[i];
        across += (s->v[i] - s->vstar[i]) * s->gradient[i];
    }
    if (sti__chol_iterates(s->mass)) { /* force = momentum - gradient, and A^-1 momentum is known */
        impulse2 = moved2 - 2 * across + sap->bar * sap->bar;
    } else {
        sti__chol_half(s->mass, s->force, s->work, sap->tasks);
        impulse2 = sti__norm2_n(s->work, NULL, s->n);
    }
    sap->sum = (sti__sum){sap->bar * sap->bar / 2, impulse2, moved2, free2, false};
    sap->scale = sqrt(sti__sum_size2(&sap->sum));
}

void sti__sap_measure(sti__sap *sap) {
    int64_t start = sti__tick(sap->s->tally);
    measure(sap);
    sti__tock(sap->s->tally, STI__WORK_CERTIFICATE, start, 0);
}

/* ---- one step ----------------------------------------------------------------------------------------- */

/* Loose while the iterate is far: Newton's method loses nothing by it. */
static double forcing(const sti__sap *sap) {
    double relative = sap->change > 0 ? sap->residual / sap->change : 1;
    return fmax(sap->options->pcg_tol, fmin(0.1, 0.1 * sqrt(relative)));
}

/* The Newton direction into step, with its products; false if there is none that descends. */
static bool find_direction(sti__sap *sap, double *slope) {
    sti__island *s = sap->s;
    if (!sti__sap_hessian(sap)) {
        sap->count->indefinite |= !sti__island_factor_mass(s, sap->tasks);
        return false;
    }
    sap->count->products += sti__sap_solve(sap, s->gradient, s->step, forcing(sap)) + 1;
    for (int i = 0; i < s->n; i++) s->step[i] = -s->step[i];
    *slope = sti__dot_n(s->step, s->gradient, s->n);
    if (!(*slope < 0) || !(*slope > -INFINITY)) return false;
    sti__csr_mul(&s->A, s->step, s->astep, sap->tasks);
    sti__island_mul(s, s->step, s->ystep, sap->tasks);
    return true;
}

/* One Newton step; false if nothing can be gained any more. *gain: the decrease that the model promises. */
static bool take_step(sti__sap *sap, double *gain) {
    sti__island *s = sap->s;
    const sti_solve_options *o = sap->options;
    double slope, before = sap->cost;
    if (!find_direction(sap, &slope)) return false;
    *gain = -slope / 2;
    sti__line line = {s, sti__dot_n(s->step, s->momentum, s->n), sti__dot_n(s->step, s->astep, s->n)};
    int64_t start = sti__tick(s->tally);
    sti__line_result r = sti__line_search(&line, o->max_step, o->ls_tol, o->max_line_search);
    sti__tock(s->tally, STI__WORK_LINE_SEARCH, start, r.evaluations);
    sap->count->line_search += r.evaluations;
    sti__budget_spend(&sap->count->budget, r.evaluations * sti__sap_pass(sap) / 2);
    sap->count->warnings[STI_WARN_LINE_SEARCH] += r.failed;
    for (int i = 0; i < s->n; i++) s->v[i] += r.a * s->step[i];
    sti__sap_evaluate(sap, true);
    sap->count->iterations++;
    if (!isfinite(sap->cost) || !isfinite(sap->residual)) {
        sap->count->warnings[STI_WARN_GRADIENT_EXPLOSION]++;
        return false;
    }
    double slack = 1e-9 * (fabs(before) + fabs(sap->cost));
    sap->count->warnings[STI_WARN_ENERGY_INCREASE] += sap->cost > before + slack;
    return true;
}

/* ---- the iteration ------------------------------------------------------------------------------------ */

static bool reached(sti__sap *sap, const sti__sap_goal *goal) {
    if (sap->residual <= goal->atol + goal->rtol * sap->size) return true;
    if (sap->residual <= goal->momentum * fmax(sap->change, STI__FLOOR * sap->size)) return true;
    if (goal->bar <= 0 && !sap->history) return false;
    if (sap->residual > STI__SAP_NEAR * goal->bar * fmax(sap->change, STI__FLOOR * sap->size) &&
        !sap->history)
        return false;
    sti__sap_measure(sap);
    return sti__sum_holds(&sap->sum, goal->bar);
}

void sti__sap_remember(sti__sap *sap) {
    if (!sap->history || sap->nhistory >= sap->room) return;
    sap->history[2 * sap->nhistory] = sap->bar * sap->bar;
    sap->history[2 * sap->nhistory++ + 1] = sap->scale * sap->scale;
}

static void keep_best(sti__island *s) { memcpy(s->best, s->v, sizeof(double) * (size_t)s->n); }

static void return_best(sti__sap *sap) {
    memcpy(sap->s->v, sap->s->best, sizeof(double) * (size_t)sap->s->n);
    sti__sap_evaluate(sap, true);
}

sti__sap_end sti__sap_minimise(sti__sap *sap, const sti__sap_goal *goal) {
    double best = INFINITY, gain = INFINITY;
    int since = 0, *warnings = sap->count->warnings;
    sti__sap_end end;
    sti__sap_evaluate(sap, true);
    for (int k = 0;; k++) {
        bool done = reached(sap, goal);
        sti__sap_remember(sap);
        if (done) return STI__SAP_CONVERGED;
        double merit = sap->residual / fmax(sap->change, STI__FLOOR * sap->size);
        warnings[STI_WARN_GRADIENT_EXPLOSION] += sap->residual > sap->options->gradient_limit;
        since = merit < best ? 0 : since + 1;
        if (merit < best || k == 0) best = merit, keep_best(sap->s);
        bool capped =
            k >= goal->cap || sti__sap_steps_left(sap) == 0 || !sti__budget_left(&sap->count->budget);
        end = capped ? STI__SAP_CAP : STI__SAP_STALLED;
        if (capped || (gain <= STI__SAP_FLAT * fabs(sap->cost) && since >= STI__SAP_PATIENCE)) break;
        if (sap->count->indefinite || !take_step(sap, &gain)) break;
    }
    return_best(sap);
    return end;
}

/* ---- one island
   --------------------------------------------------------------------------------------------- */

/* Where nothing pushes, v* is the answer, to the last bit. */
static bool nothing_pushes(sti__sap *sap) {
    sti__island *s = sap->s;
    static const double none[STI_ROW_DIM];
    sti__island_mul(s, s->vstar, s->y, sap->tasks);
    for (int b = 0; b < s->nrow; b++) {
        const sti_row *row = sti__island_row(s, b);
        int at = s->first[b];
        for (int i = at; i < s->first[b + 1]; i++) s->y[i] -= s->vhat[i];
        if (sap->options->coulomb == STI_COULOMB_EXACT)
            s->y[at] += sti__row_desaxce(row, s->R + at, s->y + at, none);
        sti__row_impulse(row, s->R + at, s->y + at, s->g + at);
        for (int i = at; i < s->first[b + 1]; i++)
            if (s->g[i] != 0) return false;
        /* hard rows that v* violates have no impulse of their own, but a gap */
        if (!(sti__row_gap(row, s->R + at, s->y + at, none) == 0)) return false;
    }
    memcpy(s->v, s->vstar, sizeof(double) * (size_t)s->n);
    memset(s->part, 0, sizeof(double) * (size_t)s->nrow);
    sap->count->certified = true;
    sap->count->sum.free2 = sti__free2(s->problem, sti__dot_n(s->vstar, s->impetus, s->n), 1);
    return true;
}

/* What needs neither a factor nor the Delassus diagonal; false if that is not enough. */
static bool try_island(sti__sap *sap) { return nothing_pushes(sap) || sti__sap_sweep_pairs(sap); }

static bool solve_island(sti__sap *sap) {
    sti__sap_end end = sti__sap_outer(sap);
    bool spent = end != STI__SAP_CONVERGED && !sti__budget_left(&sap->count->budget);
    sap->count->warnings[STI_WARN_WORK_CAP] += spent;
    sap->count->warnings[STI_WARN_ITERATION_CAP] += !spent && end == STI__SAP_CAP;
    sap->count->warnings[STI_WARN_STALLED] += !spent && end == STI__SAP_STALLED;
    return true;
}

/* ---- all islands
   ----------------------------------------------------------------------------------------------- */

typedef struct sap_job {
    const sti__task *task;
    sti__islands *islands;
    sti__sap_count *count; /* one per island */
    sti__tally *tally;     /* likewise, or NULL */
    double *history;       /* 2 room per island, or NULL */
    int *nhistory, room;
    bool *open;                   /* per island: not done before */
    bool (*solve)(sti__sap *sap); /* of one island; false: it is not done */
    const double *delassus;       /* diagonal, for the outer loops; NULL: not known yet */
    double size;                  /* dofs and rows of the islands that share the work */
    bool judged;                  /* certificates of guesses are known already */
} sap_job;

/* `from` of the problem's rows into `to` of the island's. */
static void gather_rows(const sti_problem *p, const double *from, const sti__island *s, double *to) {
    for (int b = 0; b < s->nrow; b++)
        memcpy(to + s->first[b], from + p->first[s->row[b]],
               sti__size(sizeof(double), s->first[b + 1] - s->first[b]));
}

static void gather(const sti__task *t, sti__island *s) {
    for (int i = 0; i < s->n; i++) s->v[i] = t->v[s->dof[i]];
    gather_rows(t->problem, t->g, s, s->last_g);
}

static void scatter(const sti__task *t, const sti__island *s, bool certified) {
    for (int i = 0; i < s->n; i++) t->v[s->dof[i]] = s->v[i];
    for (int b = 0; b < s->nrow && certified && t->workspace->share; b++)
        t->workspace->share[s->row[b]] = s->part[b];
    for (int b = 0; b < s->nrow; b++)
        memcpy(t->g + t->problem->first[s->row[b]], s->g + s->first[b],
               sti__size(sizeof(double), s->first[b + 1] - s->first[b]));
}

static void set_tally(sti__island *s, sti__tally *tally) {
    s->tally = tally;
    if (s->pcg) sti__pcg_set_tally(s->pcg, tally);
}

static void run_island(sap_job *job, int k, const sti_tasks *tasks) {
    sti__sap sap = {.s = &job->islands->island[k],
                    .options = job->task->options,
                    .tasks = tasks,
                    .count = &job->count[k],
                    .history = job->history ? job->history + 2 * (size_t)k * (size_t)job->room : NULL,
                    .room = job->room,
                    .cap = job->task->cap,
                    .judged = job->judged};
    const sti__budget *all = job->task->budget;
    sap.count->budget.most = (all->most - all->spent) * ((sap.s->n + sap.s->m) / job->size);
    set_tally(sap.s, job->tally ? &job->tally[k] : NULL);
    int64_t start = sti__tick(sap.s->tally);
    if (job->delassus) gather_rows(job->task->problem, job->delassus, sap.s, sap.s->weight);
    else gather(job->task, sap.s);
    job->islands->done[k] = job->solve(&sap);
    if (job->islands->done[k]) scatter(job->task, sap.s, sap.count->certified);
    sti__tock(sap.s->tally, STI__WORK_ITERATION, start, 0);
    set_tally(sap.s, NULL);
    if (job->history) job->nhistory[k] = sap.nhistory;
}

static void run_one_by_one(void *context, int begin, int end) {
    sap_job *job = context;
    for (int k = begin; k < end; k++)
        if (!job->islands->done[k] && job->islands->island[k].n <= STI__SAP_LARGE) run_island(job, k, NULL);
}

/* All islands that are not done. */
static void run_islands(sap_job *job, const sti_tasks *tasks) {
    for (int k = 0; k < job->islands->count; k++)
        if (!job->islands->done[k] && job->islands->island[k].n > STI__SAP_LARGE) run_island(job, k, tasks);
    sti__run(tasks, job->islands->count, 1, run_one_by_one, job);
}

/* Dofs without rows move freely; rows without dofs say what they say. */
static void solve_loose(const sti__task *t) {
    const sti_problem *p = t->problem;
    for (int i = 0; i < p->arrays.n; i++)
        if (p->dof_island[i] < 0) t->v[i] = p->arrays.vstar[i];
    for (int b = 0; b < p->arrays.nrow; b++) {
        double y[STI_ROW_DIM] = {0};
        if (p->row_island[b] >= 0) continue;
        int at = p->first[b], dim = p->arrays.rows[b].dim;
        for (int i = 0; i < dim; i++) y[i] = -p->arrays.vhat[at + i];
        sti__row_impulse(&p->arrays.rows[b], p->arrays.R + at, y, t->g + at);
        for (int i = 0; i < dim; i++)
            if (!isfinite(t->g[at + i])) t->g[at + i] = 0;
    }
}

/* Headline per iteration over all islands; those that are done stay where they are. */
static void merge_history(const sap_job *job, sti_workspace *w) {
    int longest = 0;
    for (int k = 0; k < job->islands->count; k++)
        if (job->nhistory[k] > longest) longest = job->nhistory[k];
    for (int i = 0; i < longest; i++) {
        double bar2 = 0, scale2 = 0;
        for (int k = 0; k < job->islands->count; k++) {
            int last = i < job->nhistory[k] ? i : job->nhistory[k] - 1;
            if (last < 0) continue;
            bar2 += job->history[2 * ((size_t)k * (size_t)job->room + (size_t)last)];
            scale2 += job->history[2 * ((size_t)k * (size_t)job->room + (size_t)last) + 1];
        }
        sti__history_add(w, bar2 > 0 ? sqrt(bar2 / scale2) : 0);
    }
}

static int larger(int a, int b) { return a > b ? a : b; }

/* Islands step side by side: iterations are those of the slowest, work is added up. */
static bool add_up(const sap_job *job, sti_solve_info *info) {
    bool indefinite = false;
    for (int k = 0; k < job->islands->count; k++) {
        const sti__sap_count *c = &job->count[k];
        info->iterations = larger(info->iterations, c->iterations);
        info->outer = larger(info->outer, c->outer);
        info->products += c->products;
        info->pcg += c->pcg;
        info->line_search += c->line_search;
        info->factorisations += c->factorisations;
        for (int i = 0; i < STI_WARN_COUNT; i++) info->warnings[i] += c->warnings[i];
        if (job->tally) sti__tally_add(job->task->workspace->tally, &job->tally[k]);
        indefinite |= c->indefinite;
        sti__budget_spend(job->task->budget, c->budget.spent);
    }
    return !indefinite;
}

static size_t lay_out_job(sap_job *job, char *base) {
    sti__cutter c = {base, 0};
    size_t count = (size_t)job->islands->count;
    job->count = sti__cut(&c, count, sizeof *job->count);
    job->nhistory = sti__cut(&c, count, sizeof(int));
    job->open = sti__cut(&c, count, sizeof(bool));
    if (job->task->workspace->tally) job->tally = sti__cut(&c, count, sizeof *job->tally);
    if (job->room) job->history = sti__cut(&c, sti__size(2, count, job->room), sizeof(double));
    return c.used;
}

/* ---- small islands ------------------------------------------------------------------------------------ */

#define CHUNKS 16 /* small islands that share a place to work in follow each other */

typedef struct small_run {
    const sti__task *task;
    sti__islands *islands;
    sti__small_job *job; /* per island */
    char *scratch;
    size_t at[CHUNKS + 1]; /* where that of each chunk begins */
    int chunks;
} small_run;

/* The first island of a chunk. */
static int first_of(const small_run *run, int chunk) {
    return (int)((int64_t)chunk * run->islands->count / run->chunks);
}

static void run_chunks(void *context, int begin, int end) {
    small_run *run = context;
    for (int c = begin; c < end; c++)
        for (int k = first_of(run, c); k < first_of(run, c + 1); k++) {
            if (run->job[k].n == 0 || run->islands->done[k]) continue;
            run->job[k].scratch = run->scratch + run->at[c];
            run->islands->done[k] = sti__small_get(run->job[k].n)(&run->job[k]);
        }
}

static sti__small_job small_job(const small_run *run, int k) {
    const sti__islands *s = run->islands;
    const sti__task *t = run->task;
    return (sti__small_job){.problem = t->problem,
                            .dof = s->dofs + s->dof_at[k],
                            .row = s->blocks + s->row_at[k],
                            .rank = s->rank,
                            .n = s->dof_at[k + 1] - s->dof_at[k],
                            .nrow = s->row_at[k + 1] - s->row_at[k],
                            .tol = t->options->tol,
                            .steps = t->options->max_newton,
                            .v = t->v,
                            .g = t->g,
                            .lawful = t->options->guess_v && !t->options->guess_g,
                            .next_v = STI__RULE(EXTRAPOLATED_GUESS) ? t->workspace->next_v : NULL,
                            .next_g = STI__RULE(EXTRAPOLATED_GUESS) ? t->workspace->next_g : NULL,
                            .share = t->workspace->share};
}

/* Operations of one step of an island with dense matrices. */
static double small_cost(int n, int m) { return (double)n * n * (n + 2.0 * m) + 100.0 * m; }

static void cap_small(const small_run *run, sti__small_job *job, int m, int steps) {
    double share = (double)(job->n + m) / (run->task->problem->arrays.n + run->task->problem->m);
    sti__budget own = {0, (run->task->budget->most - run->task->budget->spent) * share};
    job->cost = small_cost(job->n, m);
    int most = sti__budget_iterations(&own, job->cost, steps);
    if (job->steps > most) job->steps = most;
}

bool sti__small_ahead(const sti_problem *p, const sti_solve_options *o, const sti_workspace *w, double *v,
                      double *g, sti__small_job *job) {
    sti__budget budget = {0, o->max_work};
    const sti__task task = {.problem = p, .options = o, .v = v, .g = g, .budget = &budget};
    const small_run run = {.task = &task};
    bool exact = o->coulomb == STI_COULOMB_EXACT && o->linear != STI_LINEAR_PCG && !o->history &&
                 (o->solver == STI_SOLVER_SAP || o->solver == STI_SOLVER_AUTO);
    if (!exact || !STI__RULE(SMALL_ISLANDS) || !STI__RULE(EXTRAPOLATED_GUESS) || p->delassus || p->hard)
        return false;
    *job = (sti__small_job){.problem = p,
                            .n = p->arrays.n,
                            .nrow = p->arrays.nrow,
                            .tol = o->tol,
                            .steps = o->max_newton,
                            .v = v,
                            .g = g,
                            .lawful = o->guess_v && !o->guess_g,
                            .next_v = w->next_v,
                            .next_g = w->next_g,
                            .share = w->share};
    cap_small(&run, job, p->m, STI__SMALL_STEPS);
    return true;
}

/* The job of island k if it is small, else n = 0; the room that it takes. */
static size_t plan_one(small_run *run, int k) {
    sti__small_job *job = &run->job[k];
    const sti_problem *p = run->task->problem;
    int m = 0;
    *job = small_job(run, k);
    if (!sti__small_fits(p, job->dof, job->row, job->n, job->nrow)) {
        job->n = 0;
        return 0;
    }
    for (int b = 0; b < job->nrow; b++) m += p->arrays.rows[job->row[b]].dim;
    cap_small(run, job, m, sti__small_steps(p, job->dof, job->n));
    return sti__small_room(job->n, m, job->nrow);
}

/* All jobs; a chunk has the room of its largest. */
static void plan_small(small_run *run) {
    for (int c = 0; c < run->chunks; c++) {
        size_t most = 0;
        for (int k = first_of(run, c); k < first_of(run, c + 1); k++) {
            size_t need = plan_one(run, k);
            if (need > most) most = need;
        }
        run->at[c + 1] = sti__add(run->at[c], most);
    }
}

/* The one island was solved before: its v and g are the answer. */
static void take_ahead(const small_run *run) {
    const sti__small_job *ahead = run->task->workspace->ahead;
    run->job[0].iterations = ahead->iterations;
    run->job[0].sweeps = ahead->sweeps;
    run->job[0].sum = ahead->sum;
    run->islands->done[0] = true;
}

/* Solves small islands; false if memory is short. */
static bool solve_small(const sti__task *t, sti__islands *islands, sti__sum *sum) {
    int count = islands->count;
    small_run run = {.task = t, .islands = islands, .chunks = count < CHUNKS ? count : CHUNKS};
    if (count == 0) return true;
    size_t jobs = sti__mul((size_t)count, sizeof *run.job) / STI__ALIGN * STI__ALIGN + STI__ALIGN;
    if (!(run.job = sti__workspace_block(t->workspace, STI__BLOCK_SAP, jobs))) return false;
    plan_small(&run);
    if (run.at[run.chunks] == 0) return true;
    run.scratch = sti__workspace_block(t->workspace, STI__BLOCK_SMALL, run.at[run.chunks]);
    if (!run.scratch) return false;
    if (t->workspace->ahead) take_ahead(&run);
    sti__run(&t->options->tasks, run.chunks, 1, run_chunks, &run);
    for (int k = 0; k < count; k++) {
        const sti__small_job *job = &run.job[k];
        if (job->n > 0) sti__budget_spend(t->budget, (1 + job->iterations) * job->cost);
        islands->steps[k] = job->n > 0 ? job->iterations : 0;
        if (!islands->done[k]) continue;
        sti__sum_add(sum, &job->sum);
        t->info->iterations = larger(t->info->iterations, job->iterations);
        t->info->factorisations += job->iterations;
    }
    return true;
}

/* ---- guesses ------------------------------------------------------------------------------------------- */

/* Warm starts: velocity and impulses of the last step, and their extrapolation. */
static sti__guess guess_of(const sti__task *t, const sti__islands *s, int k, double *share, void *work) {
    const sti_workspace *w = t->workspace;
    bool next = w->next_v && STI__RULE(EXTRAPOLATED_GUESS);
    return (sti__guess){.problem = t->problem,
                        .dof = s->dofs + s->dof_at[k],
                        .row = s->blocks + s->row_at[k],
                        .rank = s->rank,
                        .n = s->dof_at[k + 1] - s->dof_at[k],
                        .nrow = s->row_at[k + 1] - s->row_at[k],
                        .v = {t->v, next ? w->next_v : t->v},
                        .g = {t->g, next ? w->next_g : t->g},
                        .share = {w->share, share},
                        .work = work};
}

/* Takes over the island's part of the second pair. */
static void take_second(const sti__task *t, const sti__guess *s) {
    const sti_problem *p = s->problem;
    for (int i = 0; i < s->n; i++) t->v[s->dof[i]] = s->v[1][s->dof[i]];
    for (int b = 0; b < s->nrow; b++) {
        for (int i = p->first[s->row[b]]; i < p->first[s->row[b] + 1]; i++) t->g[i] = s->g[1][i];
        if (s->share[0]) s->share[0][s->row[b]] = s->share[1][s->row[b]];
    }
}

/* Is the better one good enough? It is taken over in any case. */
static bool guess_holds(const sti__task *t, const sti__guess *s, sti__sum *part) {
    sti__sum sum[2];
    double bar[2];
    sti__guess_bars(s, sum, bar);
    int better = bar[1] < bar[0];
    if (better == 1) take_second(t, s);
    *part = sum[better];
    return bar[better] <= t->options->tol;
}

/* Guesses of islands that are judged side by side. */
typedef struct guess_run {
    const sti__task *task;
    sti__islands *islands;
    sti__sum *part; /* per island */
    size_t *at;     /* per island: its room in `work` */
    double *share;  /* of the problem's blocks */
    char *work;
} guess_run;

/* work: bytes that the islands need. */
static size_t lay_out_guesses(guess_run *run, size_t work, char *base) {
    sti__cutter c = {base, 0};
    run->part = sti__cut(&c, (size_t)run->islands->count, sizeof *run->part);
    run->at = sti__cut(&c, (size_t)run->islands->count, sizeof *run->at);
    run->share = sti__cut(&c, (size_t)run->task->problem->arrays.nrow, sizeof *run->share);
    run->work = sti__cut(&c, work, 1);
    return c.used;
}

static void judge_guess(const guess_run *run, int k, const sti_tasks *tasks) {
    sti__islands *s = run->islands;
    if (s->done[k]) return;
    sti__guess guess = guess_of(run->task, s, k, run->share, run->work + run->at[k]);
    guess.tasks = tasks;
    s->done[k] = sti__softened(run->task->problem, guess.row, guess.nrow) &&
                 guess_holds(run->task, &guess, &run->part[k]);
}

static bool is_large(const sti__islands *s, int k) {
    return s->dof_at[k + 1] - s->dof_at[k] > STI__SAP_LARGE;
}

static void judge_guesses(void *context, int begin, int end) {
    const guess_run *run = context;
    for (int k = begin; k < end; k++)
        if (!is_large(run->islands, k)) judge_guess(run, k, NULL);
}

/* Large islands whose guess is good enough are done. */
static bool check_guesses(const sti__task *t, sti__islands *s, sti__sum *sum) {
    guess_run run = {.task = t, .islands = s};
    size_t work = 0;
    for (int k = 0; k < s->count; k++)
        if (!s->done[k]) work = sti__add(work, sti__guess_room(s->dof_at[k + 1] - s->dof_at[k]));
    if (work == 0) return true;
    char *base = sti__workspace_block(t->workspace, STI__BLOCK_SMALL, lay_out_guesses(&run, work, NULL));
    if (!base) return false;
    lay_out_guesses(&run, work, base);
    work = 0;
    for (int k = 0; k < s->count; k++) {
        run.part[k] = (sti__sum){0};
        run.at[k] = work;
        if (!s->done[k]) work += sti__guess_room(s->dof_at[k + 1] - s->dof_at[k]);
    }
    sti__run(&t->options->tasks, s->count, 1, judge_guesses, &run);
    for (int k = 0; k < s->count; k++)
        if (is_large(s, k)) judge_guess(&run, k, &t->options->tasks);
    for (int k = 0; k < s->count; k++)
        if (s->done[k]) sti__sum_add(sum, &run.part[k]);
    return true;
}

static bool all_done(const sti__islands *s) {
    for (int k = 0; k < s->count; k++)
        if (!s->done[k]) return false;
    return true;
}

/* ---- the solve ------------------------------------------------------------------------------------------ */

/* An island that is the whole problem has its factor already; called again to give it back. */
static void share_factor(sti__island *s, sti_workspace *w) {
    sti__chol *own = s->mass;
    s->mass = w->mass;
    w->mass = own;
    s->mass_ready = true;
}

/* With the Delassus diagonal, factors and Newton's method. */
static sti_status solve_left(sap_job *job, sti_error *error) {
    const sti__task *t = job->task;
    sti_workspace *w = t->workspace;
    sti__islands *islands = job->islands;
    const sti_tasks *tasks = t->options->tasks.run ? &t->options->tasks : NULL;
    int64_t start = sti__tick(w->tally);
    sti_status status = sti__islands_plan(islands, t->options->linear, t->options->preconditioner, error);
    if (status != STI_OK) return status;
    sti__tock(w->tally, STI__WORK_ISLANDS, start, 0);
    sti__judge judge;
    start = sti__tick(w->tally);
    status = sti__workspace_judge(w, t->problem, tasks, &judge, error);
    sti__tock(w->tally, STI__WORK_CERTIFICATE, start, 0);
    if (status != STI_OK) return status;
    job->delassus = judge.delassus;
    job->solve = solve_island;
    bool alone = islands->count == 1 && islands->island[0].n == t->problem->arrays.n;
    if (alone) share_factor(&islands->island[0], w);
    run_islands(job, tasks);
    if (alone && !islands->island[0].mass_ready) w->mass_hash = 0; /* it failed at other masses */
    if (alone) share_factor(&islands->island[0], w);
    return STI_OK;
}

static bool make_job(sap_job *job) {
    const sti__task *t = job->task;
    sti_workspace *w = t->workspace;
    if (w->history_room)
        job->room = t->options->max_newton < w->history_room ? t->options->max_newton + 1 : w->history_room;
    size_t bytes = lay_out_job(job, NULL);
    char *base = sti__workspace_block(w, STI__BLOCK_SAP, bytes);
    if (!base) return false;
    memset(base, 0, bytes);
    lay_out_job(job, base);
    for (int k = 0; k < job->islands->count; k++) {
        job->count[k].iterations = job->islands->steps[k];
        job->open[k] = !job->islands->done[k];
        if (job->open[k]) job->size += job->islands->island[k].n + job->islands->island[k].m;
    }
    return true;
}

static sti_status solve_others(const sti__task *t, sti__islands *islands, bool judged, sti_error *error) {
    sti_workspace *w = t->workspace;
    sap_job job = {.task = t, .islands = islands, .judged = judged, .solve = try_island};
    const sti_tasks *tasks = t->options->tasks.run ? &t->options->tasks : NULL;
    int64_t start = sti__tick(w->tally);
    sti_status status = sti__islands_fill(islands, t->problem, tasks, error);
    if (status != STI_OK) return status;
    if (!make_job(&job)) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the islands");
    sti__tock(w->tally, STI__WORK_ISLANDS, start, 0);
    run_islands(&job, tasks);
    if (!all_done(islands) && (status = solve_left(&job, error)) != STI_OK) return status;
    if (job.history) merge_history(&job, w);
    if (!add_up(&job, t->info)) return sti__fail(error, STI_VALUE, "A is not positive definite");
    w->sum.whole = true;
    for (int k = 0; k < islands->count; k++) {
        if (!job.open[k]) continue;
        w->sum.whole &= job.count[k].certified;
        sti__sum_add(&w->sum, &job.count[k].sum);
    }
    return STI_OK;
}

sti_status sti__solve_sap(const sti__task *t, sti_error *error) {
    sti__islands *islands = sti__workspace_islands(t->workspace, error);
    if (!islands) return STI_NO_MEMORY;
    int64_t start = sti__tick(t->workspace->tally);
    sti_status status = sti__islands_sort(islands, t->problem, error);
    if (status != STI_OK) return status;
    solve_loose(t);
    sti__tock(t->workspace->tally, STI__WORK_ISLANDS, start, 0);
    bool exact = t->options->coulomb == STI_COULOMB_EXACT && !t->workspace->history_room &&
                 t->options->linear != STI_LINEAR_PCG,
         small = exact && STI__RULE(SMALL_ISLANDS);
    start = sti__tick(t->workspace->tally);
    if (small && !solve_small(t, islands, &t->workspace->sum))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for the islands");
    if (small) sti__tock(t->workspace->tally, STI__WORK_SMALL, start, t->info->iterations);
    bool judged = exact && t->options->guess_g && STI__RULE(JUDGED_GUESS);
    start = sti__tick(t->workspace->tally);
    if (judged && !check_guesses(t, islands, &t->workspace->sum))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for the islands");
    if (judged) sti__tock(t->workspace->tally, STI__WORK_CERTIFICATE, start, 0);
    t->workspace->sum.whole = all_done(islands);
    return t->workspace->sum.whole ? STI_OK : solve_others(t, islands, judged, error);
}
