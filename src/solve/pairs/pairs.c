/* SPDX-License-Identifier: Apache-2.0 */
/* Sweeps, accelerated by Anderson's method: the next impulses are the combination of the last sweeps' results whose changes
   cancel best. Stalls are fixed points of a law outside its region, to which the extrapolation returns again and again: where it
   opposes the sweep's own change it is taken backwards. */
#include "solve/pairs/pairs.h"
#include "base/isa.h"
#include "solve/judge/gap.h"
#include "solve/pairs/pairs_cluster.h"
#include "solve/parts/mass_parts.h"
#include "solve/policy.h"
#include "solve/primal/sap.h"
#include "solve/rules.h"
#include <string.h>

#define ALL STI__PAIRS_KEPT

extern const sti__pairs_kernel sti__pairs_table;
#ifdef STI_HAVE_ISA
extern const sti__pairs_kernel sti__pairs_table_avx2, sti__pairs_table_avx512;
#endif

const sti__pairs_kernel *sti__pairs_get_kernel(void) {
#ifdef STI_HAVE_ISA
    if (sti__has_avx512()) return &sti__pairs_table_avx512;
    if (sti__has_avx2()) return &sti__pairs_table_avx2;
#endif
    return &sti__pairs_table;
}

/* ---- the state of a solve ------------------------------------------------------------------------------- */

typedef struct run {
    sti__pairs *p;
    const sti__pairs_kernel *kernel;
    double tol;
    double *g[ALL], *z[ALL], *change[ALL]; /* results of the last sweeps, round about; what they changed */
    double gram[ALL][ALL];                 /* products of the changes */
    int newest, have;                      /* the next sweep is made in place, after the newest */
    double change2;                        /* of the last sweep, squared */
    double goal2;                          /* change at which the gap is worth computing */
    double best;                           /* since the last stall, of squared changes ... */
    int since;                             /* ... and sweeps without half of it */
    bool stall, stalled;                   /* the last sweep, any so far */
    double share;   /* of the Delassus diagonal that proximal rounds add to R; 0: none yet */
    int in_round;   /* sweeps of this round, ... */
    int idle;       /* rounds in a row that have not lowered the bar, ... */
    double least;   /* ... which was this */
    double first;   /* ... and what the first of them has changed, squared */
    int look, wait; /* next sweep at which watched contacts are looked at; sweeps to the one after it */
    double local;
    double patience; /* Newton steps that stalled sweeps may cost */
    sti__sum sum;    /* of the pair that was measured last */
} run;

static void set_vectors(run *r) {
    sti__pairs *p = r->p;
    for (int k = 0; k < ALL; k++) {
        r->g[k] = p->out_g + (size_t)k * (size_t)p->m;
        r->change[k] = p->change + (size_t)k * (size_t)p->m;
        r->z[k] = p->out_z + (size_t)k * (size_t)p->nz_all;
    }
}

/* The k-th last sweep. */
static int place_of(const run *r, int k) { return (r->newest + ALL - k) % ALL; }

/* ---- one sweep ----------------------------------------------------------------------------------------------- */

/* Compares with the pair before the sweep, and adds it to the window. */
static void add_to_window(run *r) {
    sti__pairs *p = r->p;
    double *list[ALL], out[ALL];
    r->newest = (r->newest + 1) % ALL;
    if (r->have > STI__PAIRS_WINDOW) r->have = STI__PAIRS_WINDOW;
    for (int k = 0; k < r->have; k++) list[k] = r->change[place_of(r, k + 1)];
    r->kernel->compare(p->m, p->g, p->before, p->weight, list, r->have, r->change[r->newest], out);
    for (int k = 0; k <= r->have; k++)
        r->gram[r->newest][place_of(r, k)] = r->gram[place_of(r, k)][r->newest] = out[k];
    r->have++;
    r->change2 = out[0];
}

/* Returns the operations of clusters. */
static double take_sweep(run *r, double cost, double most) {
    sti__pairs *p = r->p;
    r->kernel->sweep(p, p->z, p->g, r->local);
    double work = sti__clusters_visit(p, STI__CLUSTER_TOL * r->tol, cost, most);
    add_to_window(r);
    r->local = STI__PAIRS_ENOUGH * r->change2 / (p->npair + 1);
    return work;
}

/* The relative gap bar. */
static double measure(run *r) {
    sti__pairs *p = r->p;
    if (r->share > 0) sti__pairs_soften(p, NULL, 0);
    sti__pairs_gap part = r->kernel->gap(p, p->z, p->g, p->inside, p->push);
    if (r->share > 0) sti__pairs_soften(p, p->center, r->share);
    r->sum = (sti__sum){.gap = part.rows + part.rest2 / 2,
                        .impulse2 = part.impulse2,
                        .moved2 = part.moved2,
                        .free2 = sti__free2(p->s->problem, p->free2, 1)};
    return sti__sum_bar(&r->sum);
}

/* A proximal round about the impulses as they are. */
static void begin_round(run *r, double share) {
    sti__pairs *p = r->p;
    r->share = share;
    r->in_round = r->have = r->since = 0;
    r->best = INFINITY;
    memcpy(p->center, p->g, sizeof(double) * (size_t)p->m);
    sti__pairs_soften(p, p->center, share);
}

/* Whether the bar holds where a round has done its work, or stalls; else the next one begins. */
static bool end_round(run *r) {
    if (r->in_round++ == 0) r->first = r->change2;
    if (r->change2 > STI__PAIRS_ROUND * r->first && !r->stall) return false;
    double bar = measure(r);
    if (bar <= r->tol) return true;
    bool gains = bar < STI__PAIRS_GAIN * r->least;
    r->idle = gains ? 0 : r->idle + 1;
    if (gains) r->least = bar;
    r->stall |= r->idle >= STI__PAIRS_IDLE;
    if (!r->stall) begin_round(r, r->share);
    else r->idle = 0;
    return false;
}

/* Whether it holds, where the change of the last sweep says that it may. */
static bool is_done(run *r) {
    if (r->share > 0) return end_round(r);
    if (r->goal2 > 0 && r->change2 > r->goal2) return false;
    double bar = measure(r), fall = r->tol / bar;
    if (bar <= r->tol) return true;
    double next = 2 * fall * fall;
    r->goal2 = r->change2 * (next < STI__PAIRS_CHECK ? next : STI__PAIRS_CHECK);
    return false;
}

/* Open contacts are watched from time to time. History in which they still pushed is of no use. */
static void look_at_open(run *r, int sweeps) {
    sti__pairs *p = r->p;
    if (sweeps != r->look) return;
    r->look += r->wait;
    r->wait *= 2;
    if (r->kernel->watch(p, p->z, p->g, STI__RULE(PAIR_WATCHING)) > 0) r->have = 1;
}

/* ---- acceleration ------------------------------------------------------------------------------------------ */

/* Whether sweeps lead nowhere. */
static void watch_stalls(run *r) {
    r->since++;
    if (r->change2 < 0.5 * r->best) r->best = r->change2, r->since = 0;
    r->stall = r->since > STI__PAIRS_PATIENCE || r->change2 > STI__PAIRS_WILD * r->best;
    r->stalled |= r->stall;
}

/* The window begins anew, and what cycles becomes a cluster; where that is not a few bodies, R grows in proximal rounds. */
static void leave_stall(run *r) {
    double share = r->share > 0 ? STI__PAIRS_SOFTER * r->share : STI__PAIRS_SHARE;
    bool grown = STI__RULE(PAIR_CLUSTERS) && sti__clusters_grow(r->p, r->change[r->newest], r->share > 0);
    r->best = r->change2;
    r->have = 1;
    r->since = 0;
    r->goal2 = 0; /* what changes then foretold of the gap no longer holds */
    if (!grown && STI__RULE(PAIR_ROUNDS)) begin_round(r, fmin(STI__PAIRS_SHARE_MOST, share));
}

/* Factors, which add up to 1, of the combination of least change; false if the changes are not independent. */
static bool find_factors(const run *r, double *factor) {
    int n = r->have - 1, at = r->newest;
    double M[ALL][ALL + 1], sum = 0;
    for (int i = 0; i < n; i++) {
        int row = place_of(r, i + 1);
        M[i][n] = r->gram[at][at] - r->gram[at][row];
        for (int j = 0; j < n; j++) {
            int col = place_of(r, j + 1);
            M[i][j] = r->gram[at][at] - r->gram[at][row] - r->gram[at][col] + r->gram[row][col];
        }
        M[i][i] *= 1 + STI__PAIRS_RIDGE;
    }
    for (int i = 0; i < n; i++) {
        if (!(M[i][i] > 0)) return false;
        for (int j = i + 1; j < n; j++) {
            double by = M[j][i] / M[i][i];
            for (int k = i; k <= n; k++) M[j][k] -= by * M[i][k];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        factor[i + 1] = M[i][n];
        for (int j = i + 1; j < n; j++) factor[i + 1] -= M[i][j] * factor[j + 1];
        factor[i + 1] /= M[i][i];
        sum += factor[i + 1];
    }
    factor[0] = 1 - sum;
    return true;
}

/* Where the changes of the window cancel best, or as far from the last result on the other side if the way there opposes what
   the last sweep has changed. False if the changes are not independent. */
static bool extrapolate(run *r, int next) {
    sti__pairs *p = r->p;
    double factor[ALL], *g[ALL], *z[ALL], *change = r->change[r->newest];
    if (r->have < 2 || !find_factors(r, factor)) return false;
    for (int k = 0; k < r->have; k++) g[k] = r->g[place_of(r, k)], z[k] = r->z[place_of(r, k)];
    double along = r->kernel->extrapolate(p->m, g, factor, r->have, p->weight, change, r->g[next], p->before);
    bool back = STI__RULE(PAIR_BACKWARDS) && along < 0;
    if (back) {
        for (int k = 0; k < r->have; k++) factor[k] = -factor[k];
        factor[0] += 2;
        r->kernel->extrapolate(p->m, g, factor, r->have, p->weight, change, r->g[next], p->before);
    }
    r->kernel->combine(p->nz_all, z, factor, r->have, r->z[next]);
    if (back) r->have = 0;
    return true;
}

/* The pair that the next sweep begins with is p->g and p->z, in their places of the window. */
static void begin_at(run *r, int place) {
    r->p->g = r->g[place];
    r->p->z = r->z[place];
}

static void begin_next(run *r) {
    sti__pairs *p = r->p;
    int next = (r->newest + 1) % ALL;
    if (!STI__RULE(PAIR_EXTRAPOLATION) || !extrapolate(r, next)) {
        r->have = 1;
        memcpy(r->g[next], p->g, sizeof(double) * (size_t)p->m);
        memcpy(p->before, p->g, sizeof(double) * (size_t)p->m);
        memcpy(r->z[next], p->z, sizeof(double) * (size_t)p->nz_all);
    }
    begin_at(r, next);
}

/* ---- the solve --------------------------------------------------------------------------------------------------- */

/* Operations of a sweep with its extrapolation. */
static double cost_of(const sti__pairs *p) {
    double lanes = 0;
    for (int k = 0; k < p->ngroup; k++)
        if (p->group[k].awake) lanes += p->group[k].count == 1 ? 200 : 400 + 150 * p->group[k].count;
    return 8 * lanes + 3.0 * (STI__PAIRS_WINDOW + 3) * (p->m + p->nz) + STI__PAIRS_SINGLE * p->nsingle;
}

/* Operations of a few Newton steps of the whole island, or of so many sweeps. */
static double worth(const sti__pairs *p, double cost, double count) {
    double n = p->s->n, root = sqrt(n), steps = count * STI__PAIRS_FACTOR * n * root * sqrt(root);
    return steps > STI__PAIRS_LEAST * cost ? steps : STI__PAIRS_LEAST * cost;
}

static bool iterate(run *r, sti__budget *budget, int *sweeps) {
    double cost = cost_of(r->p);
    double spent = 0, enough = worth(r->p, cost, r->patience);
    for (*sweeps = 0; *sweeps < STI__PAIRS_SWEEPS && sti__budget_left(budget);) {
        double others = r->share > 0 && r->in_round == 0 ? 2 * cost : 0; /* passes between two rounds */
        double work = others + cost + take_sweep(r, cost, budget->most - budget->spent);
        ++*sweeps;
        spent += work;
        sti__budget_spend(budget, work);
        if (!(r->change2 < INFINITY)) return false;
        watch_stalls(r);
        if (is_done(r)) return true;
        look_at_open(r, *sweeps);
        if (r->stalled && spent >= enough) return false;
        if (r->stall) leave_stall(r);
        begin_next(r);
    }
    return false;
}

static void take_guess(sti__pairs *p) {
    const sti__island *s = p->s;
    memset(p->g, 0, sizeof(double) * (size_t)p->m);
    for (int b = 0; b < s->nrow; b++)
        for (int i = 0; i < s->first[b + 1] - s->first[b]; i++)
            p->g[p->where[b] + i * p->stride[b]] = s->last_g[s->first[b] + i];
}

/* Velocities of z and the impulses g into the island, whose impulses these become. */
static void give_back(const sti__pairs *p, sti__island *s, const double *g, double *to) {
    for (int b = 0; b < s->nrow; b++)
        for (int i = 0; i < s->first[b + 1] - s->first[b]; i++)
            to[s->first[b] + i] = g[p->where[b] + i * p->stride[b]];
    for (int k = 0; k < p->parts; k++) {
        int begin = p->part[k], n = p->part[k + 1] - begin;
        double *x = p->push;
        memcpy(x, p->z + p->z_at[k], sizeof(double) * (size_t)n);
        sti__block_backward(p->L + p->lstart[k], n, x);
        for (int i = 0; i < n; i++) s->v[begin + i] = s->vstar[begin + i] + x[i];
    }
}

/* The pair that was measured last is the answer: nobody needs to compute its gap again. */
static void claim(const run *r, sti__sap *sap) {
    const sti__pairs *p = r->p;
    sti__island *s = sap->s;
    int m = p->packs * STI__LANE;
    for (int k = 0; k < p->nsingle; k++) s->part[p->single[k].block] = p->share[m / 3 + k];
    for (int b = 0; b < s->nrow; b++)
        if (p->where[b] < m)
            s->part[b] = p->share[p->where[b] / (3 * STI__LANE) * STI__LANE + p->where[b] % STI__LANE];
    sap->count->certified = true;
    sap->count->sum = r->sum;
    give_back(p, s, p->inside, s->g);
}

bool sti__pairs_solve(sti__sap *sap, double tol, double patience) {
    sti__island *s = sap->s;
    sti__pairs *p = &s->pairs;
    int64_t start = sti__tick(s->tally);
    if (!sti__pairs_prepare(p, s, sap->tasks)) return false;
    run r = {.p = p,
             .kernel = sti__pairs_get_kernel(),
             .patience = patience,
             .newest = -1,
             .best = INFINITY,
             .least = INFINITY,
             .look = STI__PAIRS_LOOK,
             .wait = 2 * STI__PAIRS_LOOK};
    int sweeps = 0;
    set_vectors(&r);
    begin_at(&r, 0);
    take_guess(p);
    memcpy(p->before, p->g, sizeof(double) * (size_t)p->m);
    sti__clusters_begin(p, cost_of(p));
    r.kernel->force(p, p->g, p->z);
    bool settled = measure(&r) <= STI__PAIRS_SETTLED;
    r.tol = (settled ? STI__PAIRS_DEEPER : STI__PAIRS_AIM) * tol;
    bool done = iterate(&r, &sap->count->budget, &sweeps) || (settled && measure(&r) <= STI__PAIRS_AIM * tol);
    done =
        done && p->spanned; /* else Newton's method goes on from here: what was measured is not of all rows */
    if (done) claim(&r, sap);
    else give_back(p, s, p->g, s->last_g);
    sti__tock(s->tally, STI__WORK_SWEEPS, start, sweeps);
    return done;
}
