/* SPDX-License-Identifier: Apache-2.0 */
/* The one call behind which all solvers stand: options, workspace, choice, certificate. */
#include "solve/solve.h"
#include "contact/rows.h"
#include "solve/policy.h"
#include "solve/rules.h"
#include <float.h>
#include <math.h>
#include <string.h>
#include <time.h>

#define GRAIN_BLOCKS 512 /* a piece for a thread */

#define COOKIE 0x5354494f50543031ull

/* ---- options ------------------------------------------------------------------------------------ */

sti_solve_options sti_solve_options_default(void) {
    return (sti_solve_options){
        .solver = STI_SOLVER_AUTO,
        .coulomb = STI_COULOMB_RELAXED,
        .linear = STI_LINEAR_AUTO,
        .tol = 1e-8,
        .atol = 1e-14,
        .rtol = 1e-14,
        .max_iterations = 100000,
        .max_newton = 1500,
        .max_pcg = 1000,
        .max_line_search = 60,
        .pcg_tol = 1e-8,
        .ls_tol = 1e-8,
        .max_step = 1.5,
        .gradient_limit = 1e6,
        .relaxation = 1,
        .finish = true,
        .cookie = COOKIE,
    };
}

static sti_status check_numbers(const sti_solve_options *o, sti_error *error) {
    const struct {
        const char *name;
        double value, least;
    } list[] = {{"tol", o->tol, 0},
                {"full_error", o->full_error, 0},
                {"atol", o->atol, 0},
                {"rtol", o->rtol, 0},
                {"pcg_tol", o->pcg_tol, 0},
                {"ls_tol", o->ls_tol, 0},
                {"max_step", o->max_step, 1e-3},
                {"gradient_limit", o->gradient_limit, 0},
                {"max_work", o->max_work, 0}};
    for (int i = 0; i < STI__COUNT(list); i++)
        if (!isfinite(list[i].value) || list[i].value < list[i].least)
            return sti__fail(error, STI_ARGUMENT, "options.%s is %g, must be at least %g", list[i].name,
                             list[i].value, list[i].least);
    if (!(o->relaxation > 0 && o->relaxation < 2))
        return sti__fail(error, STI_ARGUMENT, "options.relaxation is %g, must be between 0 and 2",
                         o->relaxation);
    if (o->max_iterations < 0 || o->max_newton < 0 || o->max_pcg < 0 || o->max_line_search < 0)
        return sti__fail(error, STI_ARGUMENT, "the iteration limits of options must not be negative");
    return STI_OK;
}

/* One pass without branches. */
static bool all_finite(const double *x, int n) {
    int64_t bad = 0; /* as wide as a number, so that a register does several */
    for (int i = 0; x && i < n; i++) bad |= !(fabs(x[i]) <= DBL_MAX);
    return bad == 0;
}

static sti_status check_guess(const char *name, const double *x, int n, sti_error *error) {
    if (all_finite(x, n)) return STI_OK;
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return sti__fail(error, STI_ARGUMENT, "options.%s[%d] is not finite", name, i);
    return STI_OK;
}

static sti_status check_options(const sti_problem *p, const sti_solve_options *o, sti_error *error) {
    sti_status status;
    if (o->cookie != COOKIE)
        return sti__fail(error, STI_ARGUMENT, "options must come from sti_solve_options_default");
    if ((unsigned)o->solver >= STI_SOLVER_COUNT)
        return sti__fail(error, STI_ARGUMENT, "options.solver is unknown");
    if (o->coulomb != STI_COULOMB_RELAXED && o->coulomb != STI_COULOMB_EXACT)
        return sti__fail(error, STI_ARGUMENT, "options.coulomb is unknown");
    if ((unsigned)o->linear > STI_LINEAR_PCG)
        return sti__fail(error, STI_ARGUMENT, "options.linear is unknown");
    if ((unsigned)o->preconditioner >= STI_PRECONDITIONER_COUNT)
        return sti__fail(error, STI_ARGUMENT, "options.preconditioner is unknown");
    if ((status = check_numbers(o, error)) != STI_OK) return status;
    if ((status = check_guess("guess_v", o->guess_v, p->arrays.n, error)) != STI_OK) return status;
    return check_guess("guess_g", o->guess_g, p->m, error);
}

const char *sti_solve_warning_text(sti_solve_warning warning) {
    static const char *const text[] = {
#define X(id, section, words) words " (docs/troubleshooting.md#" section ")",
        STI_SOLVE_WARNINGS(X)
#undef X
    };
    return (unsigned)warning < STI_WARN_COUNT ? text[warning] : "unknown warning";
}

const char *sti_solve_warning_name(sti_solve_warning warning) {
    static const char *const name[] = {
#define X(id, section, words) #id,
        STI_SOLVE_WARNINGS(X)
#undef X
    };
    return (unsigned)warning < STI_WARN_COUNT ? name[warning] : "UNKNOWN";
}

/* ---- workspace ---------------------------------------------------------------------------------- */

sti_workspace *sti_workspace_create(const sti_allocator *allocator, sti_error *error) {
    const sti_allocator *a = sti__allocator(allocator);
    sti_workspace *w = sti__alloc(a, sizeof *w);
    if (!w) return sti__fail(error, STI_NO_MEMORY, "not enough memory for a workspace"), NULL;
    w->own = *a;
    w->allocator = &w->own;
    return w;
}

void sti_workspace_free(sti_workspace *w) {
    if (!w) return;
    for (int i = 0; i < STI__BLOCKS; i++) sti__free_aligned(w->allocator, w->block[i].data, w->block[i].size);
    sti__chol_free(w->mass);
    sti__chol_free(w->newton);
    sti__blocks_free(&w->jacobian);
    sti__islands_free(w->islands);
    sti__reduction_free(w->reduction);
    sti_allocator a = w->own;
    sti__free(&a, w, sizeof *w);
}

void *sti__workspace_block(sti_workspace *w, sti__block_of which, size_t bytes) {
    sti__block *b = &w->block[which];
    /* some more, so that problems may grow a little */
    return sti__make_room(w->allocator, &b->data, &b->size, bytes, bytes / 4) ? b->data : NULL;
}

sti__chol *sti__workspace_mass(sti_workspace *w, sti_error *error) {
    if (!w->mass) w->mass = sti__chol_create(w->allocator, error);
    if (w->mass) sti__chol_may_iterate(w->mass);
    return w->mass;
}

sti__chol *sti__workspace_newton(sti_workspace *w, sti_error *error) {
    if (!w->newton) w->newton = sti__chol_create(w->allocator, error);
    return w->newton;
}

sti__islands *sti__workspace_islands(sti_workspace *w, sti_error *error) {
    if (!w->islands) w->islands = sti__islands_create(w->allocator, error);
    return w->islands;
}

/* Keeps what the factor is made of; soft bodies have the same for many steps. */
static void keep_mass(sti_workspace *w, const sti_csr *A) {
    size_t bytes = sti__size(sizeof(double), A->start[A->nrow]);
    w->mass_hash = 0;
    if (A->start[A->nrow] < STI__MASS_WORTH_KEEPING || sti__chol_iterates(w->mass)) return;
    void *kept = sti__workspace_block(w, STI__BLOCK_MASS, bytes);
    if (!kept) return; /* made anew then */
    memcpy(kept, A->value, bytes);
    w->mass_hash = sti__chol_get_info(w->mass).hash;
}

static bool is_kept(const sti_workspace *w, const sti_csr *A) {
    const sti__block *b = &w->block[STI__BLOCK_MASS];
    return w->mass_hash && w->mass_hash == sti__chol_get_info(w->mass).hash &&
           memcmp(b->data, A->value, sizeof(double) * (size_t)A->start[A->nrow]) == 0;
}

sti_status sti__workspace_factor(sti_workspace *w, const sti_problem *p, const sti_tasks *tasks,
                                 sti_error *error) {
    int bad = -1;
    if (p->delassus || w->factored == p) return STI_OK;
    sti__chol *mass = sti__workspace_mass(w, error);
    if (!mass) return STI_NO_MEMORY;
    sti_status status = sti__chol_analyse(mass, &p->arrays.A, error);
    if (status != STI_OK) return status;
    if (is_kept(w, &p->arrays.A)) {
        w->factored = p;
        return STI_OK;
    }
    w->mass_hash = 0;
    sti__chol_set_coords(mass, p->arrays.coords);
    if (sti__chol_factor(mass, p->arrays.A.value, tasks, &bad) != STI_OK)
        return sti__fail(error, STI_VALUE, "A is not positive definite (at dof %d)", bad);
    keep_mass(w, &p->arrays.A);
    w->factored = p;
    return STI_OK;
}

sti_status sti__workspace_judge(sti_workspace *w, const sti_problem *p, const sti_tasks *tasks,
                                sti__judge *judge, sti_error *error) {
    size_t count = sti__add((size_t)p->m, sti__judge_room(p));
    size_t bytes = sti__add(sti__mul(count, sizeof(double)), sti__delassus_room(p));
    double *room = sti__workspace_block(w, STI__BLOCK_CERTIFICATE, bytes);
    if (!room) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the certificate of an answer");
    sti_status status = sti__workspace_factor(w, p, tasks, error);
    if (status != STI_OK) return status;
    *judge = (sti__judge){p, p->delassus ? NULL : w->mass, room, room + p->m, tasks};
    if (w->judged == p) return STI_OK;
    if (p->estimate) memcpy(room, p->estimate, sizeof *room * (size_t)p->m);
    else sti__delassus_diagonal(p, judge->mass, room, room + count, tasks);
    w->judged = p;
    return STI_OK;
}

const double *sti_workspace_history(const sti_workspace *w, int *count) {
    if (count) *count = w->nhistory;
    return w->nhistory ? w->history : NULL;
}

static sti_status open_history(sti_workspace *w, const sti_solve_options *o, sti_error *error) {
    w->nhistory = w->history_room = 0;
    if (!o->history) return STI_OK;
    int room = o->max_iterations < 1000000 ? o->max_iterations + 1 : 1000000;
    w->history = sti__workspace_block(w, STI__BLOCK_HISTORY, sti__size(sizeof(double), room));
    if (!w->history) return sti__fail(error, STI_NO_MEMORY, "not enough memory for the history");
    w->history_room = room;
    return STI_OK;
}

#ifdef STI_ABLATION
uint32_t sti__rules_off;
#endif

/* ---- solving ------------------------------------------------------------------------------------ */

sti_solve_info sti__info_unknown(void) {
    return (sti_solve_info){.r4 = NAN, .certificate = sti__certificate_unknown()};
}

void sti__info_add_work(sti_solve_info *info, const sti_solve_info *earlier) {
    info->iterations += earlier->iterations;
    info->outer += earlier->outer;
    info->products += earlier->products;
    info->pcg += earlier->pcg;
    info->line_search += earlier->line_search;
    info->factorisations += earlier->factorisations;
    info->first_order += earlier->first_order;
    info->work += earlier->work;
    info->seconds += earlier->seconds;
    for (int i = 0; i < STI_WARN_COUNT; i++) info->warnings[i] += earlier->warnings[i];
}

static double seconds_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static bool has_user_rows(const sti_problem *p) {
    for (int b = 0; b < p->arrays.nrow; b++)
        if (p->arrays.rows[b].kind == STI_ROW_USER) return true;
    return false;
}

/* SAP wants regularised rows in the (A, J) form and a Newton matrix that is not much larger than the rows;
   what is hard or comes as W goes to APGD, which hands over to the finisher. */
static sti_solver choose(const sti_problem *p) {
    if (p->delassus || (p->hard && !has_user_rows(p))) return STI_SOLVER_APGD;
    return STI_SOLVER_SAP;
}

static sti_status dispatch(sti_solver solver, const sti__task *task, sti_error *error) {
    const sti_problem *p = task->problem;
    if (solver == STI_SOLVER_SAP) {
        if (p->delassus)
            return sti__fail(error, STI_ARGUMENT, "sap needs the (A, J) form; use apgd or newton");
        return sti__solve_sap(task, error);
    }
    if (has_user_rows(p)) return sti__fail(error, STI_UNSUPPORTED, "user rows are solved by sap only");
    return solver == STI_SOLVER_NEWTON ? sti__solve_newton(task, error) : sti__solve_apgd(task, error);
}

static void set_guess(double *x, const double *guess, int n) {
    if (!x || x == guess) return;
    if (guess) memcpy(x, guess, sizeof(double) * (size_t)n);
    else memset(x, 0, sizeof(double) * (size_t)n);
}

/* Whether a cone's impulse is within the cone, up to rounding. */
static bool is_lawful(const sti_row *row, const double *g) {
    double t2 = 0;
    for (int i = 1; i < row->dim; i++) t2 += g[i] / row->mu[i - 1] * (g[i] / row->mu[i - 1]);
    return g[0] >= 0 && t2 <= g[0] * g[0] * (1 + 1e-12);
}

typedef struct guessed {
    const sti_problem *p;
    double *g;
} guessed;

/* Gaps are those of impulses within their bounds: others may look like an answer. Contacts that turned leave such
   guesses. A user's row has its own conjugate, which is infinite there. */
static void set_lawful(void *context, int begin, int end) {
    const sti_problem *p = ((const guessed *)context)->p;
    for (int b = begin; b < end; b++) {
        const sti_row *row = &p->arrays.rows[b];
        const double *R = p->arrays.R + p->first[b];
        double *here = ((const guessed *)context)->g + p->first[b];
        if (row->kind == STI_ROW_USER || (row->kind == STI_ROW_CONE && is_lawful(row, here))) continue;
        bool soft = true;
        for (int i = 0; i < row->dim; i++) soft = soft && R[i] > 0;
        sti__row_project(row, soft ? R : NULL, here);
    }
}

static const sti_tasks *tasks_of(const sti_solve_options *o) { return o->tasks.run ? &o->tasks : NULL; }

/* From what the solver has added up. */
static void take_sum(const sti__sum *s, sti_certificate *c) {
    *c = sti__certificate_unknown();
    c->gap = s->gap;
    c->error_bar = sqrt(2 * s->gap);
    c->headline = c->relative = sti__sum_bar(s);
}

sti_status sti__workspace_certify(sti_workspace *w, const sti_problem *p, const double *v, const double *g,
                                  sti_coulomb coulomb, sti_certificate *certificate, double *share,
                                  sti_error *error) {
    sti__judge j;
    w->judged = w->factored = NULL;
    sti_status status = sti__workspace_judge(w, p, NULL, &j, error);
    if (status == STI_OK) sti__judge_answer(&j, v, g, coulomb, certificate, share);
    return status;
}

/* The certificate of (v, g), computed outside the solver. */
static sti_status judge(const sti__task *t, const sti_problem *p, const double *v, sti_error *error) {
    sti__judge j;
    sti_status status = sti__workspace_judge(t->workspace, p, tasks_of(t->options), &j, error);
    if (status == STI_OK)
        sti__judge_answer(&j, v, t->g, t->options->coulomb, &t->info->certificate, t->workspace->share);
    return status;
}

/* Solvers work in variables of their own, and may know their answer better than doubles can hold it: stiff rows magnify the
   rounding of v, and so does an ill-conditioned A. Whether what is claimed of the answer holds for the numbers as they are
   handed out, up to a quarter of the tolerance. */
static bool claim_holds(const sti__task *t, const sti_problem *p, const double *v, bool summed) {
    double tol = t->options->tol / 4, claimed = t->info->certificate.headline;
    double most = tol * tol * sti__sum_size2(&t->workspace->sum);
    if (summed && sti__rounding2(p, v, most, tasks_of(t->options)) > most) return false;
    if (!p->ill && p == t->problem) return true;
    double *room =
        sti__workspace_block(t->workspace, STI__BLOCK_SMALL, sti__size(4, sizeof *room, p->arrays.n));
    return room && sti__momentum_holds(p, v, t->g, fmax(tol, 4 * claimed), room);
}

/* The certificate of the answer: as the solver has added it up, or computed here where it has not, or where its sum does not hold
   for the problem p as it was given. */
static sti_status certify(const sti__task *t, const sti_problem *p, const double *v, sti_error *error) {
    sti_solve_info *info = t->info;
    const sti_solve_options *o = t->options;
    sti_status status = STI_OK;
    if (!all_finite(v, p->arrays.n) || !all_finite(t->g, p->m))
        return sti__fail(error, STI_NONFINITE, "the problem's numbers are too large to solve");
    bool summed = t->workspace->lean && t->workspace->sum.whole;
    if (summed) take_sum(&t->workspace->sum, &info->certificate);
    else status = judge(t, t->problem, t->v, error);
    bool claimed = info->certificate.headline <= o->tol;
    if (status == STI_OK && (summed || p != t->problem) && !claim_holds(t, p, v, summed)) {
        status = judge(t, p, v, error);
        info->warnings[STI_WARN_STALLED] += claimed && !(info->certificate.headline <= o->tol);
    }
    if (status != STI_OK) return status;
    double full = o->full_error;
    info->converged = full > 0 ? info->certificate.full_raw <= full : info->certificate.headline <= o->tol;
    return STI_OK;
}

/* The task on the dofs that rows touch, where that is less work. */
static sti_status reduce(sti__task *t, sti_error *error) {
    sti_workspace *w = t->workspace;
    const sti_problem *reduced;
    if (t->options->linear == STI_LINEAR_PCG || !STI__RULE(REDUCTION)) return STI_OK;
    int64_t start = sti__tick(w->tally);
    if (!w->reduction && !(w->reduction = sti__reduction_create(w->allocator, error))) return STI_NO_MEMORY;
    int before = sti__reduction_factorisations(w->reduction);
    sti_status status = sti__reduce(w->reduction, t->problem, tasks_of(t->options), &reduced, error);
    t->info->factorisations += sti__reduction_factorisations(w->reduction) - before;
    sti__tock(w->tally, STI__WORK_REDUCTION, start, 0);
    if (status != STI_OK || reduced == t->problem) return status;
    double *v = sti__reduced_velocity(w->reduction);
    sti__reduced_gather(w->reduction, t->v, v);
    t->problem = reduced;
    t->v = v;
    w->next_v = w->next_g = NULL; /* of the whole problem */
    return STI_OK;
}

void sti__set_guesses(const sti_problem *p, const sti_solve_options *o, double *v, double *g) {
    set_guess(g, o->guess_g, p->m);
    guessed guess = {p, g};
    if (o->guess_g) sti__run(tasks_of(o), p->arrays.nrow, GRAIN_BLOCKS, set_lawful, &guess);
    if (p->arrays.n) set_guess(v, o->guess_v ? o->guess_v : p->arrays.vstar, p->arrays.n);
}

sti_status sti_solve(const sti_problem *problem, const sti_solve_options *options, sti_workspace *workspace,
                     double *v, double *g, sti_solve_info *info, sti_error *error) {
    sti_solve_info unused;
    if (!problem || !options || !workspace || (!g && problem->m) || (!v && problem->arrays.n))
        return sti__fail(error, STI_ARGUMENT,
                         "sti_solve needs a problem, options, a workspace and room for the answer");
    sti_status status = check_options(problem, options, error);
    if (status != STI_OK) return status;
    if ((status = open_history(workspace, options, error)) != STI_OK) return status;
    if (!info) info = &unused;
    workspace->judged = workspace->factored = NULL;
    workspace->sum = (sti__sum){0};
    *info = sti__info_unknown();
    int64_t begun = sti__tick(workspace->tally);
    if (!workspace->ahead) sti__set_guesses(problem, options, v, g);
    sti__tock(workspace->tally, STI__WORK_GUESS, begun, 0);
    double most = sti__budget_default((double)problem->arrays.n + problem->m);
    sti__budget budget = {0, options->max_work > 0 ? options->max_work : most};
    sti__task task = {problem, options, workspace, problem->arrays.n ? v : NULL, g, info, &budget, 0};
    info->solver = options->solver == STI_SOLVER_AUTO ? choose(problem) : options->solver;
    double start = seconds_now();
    status = reduce(&task, error);
    if (status == STI_OK) status = dispatch(info->solver, &task, error);
    begun = sti__tick(workspace->tally);
    if (status == STI_OK && task.problem != problem)
        sti__reduced_expand(workspace->reduction, task.v, v, tasks_of(options));
    sti__tock(workspace->tally, STI__WORK_REDUCTION, begun, 0);
    info->seconds = seconds_now() - start;
    info->work = budget.spent;
    bool newton = info->solver != STI_SOLVER_APGD;
    info->warnings[STI_WARN_MANY_NEWTON] += newton && info->iterations > STI_MANY_NEWTON;
    begun = sti__tick(workspace->tally);
    if (status == STI_OK) status = certify(&task, problem, problem->arrays.n ? v : NULL, error);
    sti__tock(workspace->tally, STI__WORK_CERTIFICATE, begun, 0);
    return status;
}
