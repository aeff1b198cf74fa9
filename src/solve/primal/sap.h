/* SPDX-License-Identifier: Apache-2.0 */
/* The primal Newton's method on one island, for the loops around it. */
#ifndef STI_SOLVE_SAP_H
#define STI_SOLVE_SAP_H

#include "solve/parts/island.h"
#include "solve/policy.h"
#include "solve/solve.h"

/* Cost of the island's problem along v + a step, a >= 0: what the line search walks on. */
typedef struct sti__line {
    const sti__island *s;
    double slope, curve; /* of the quadratic part: step'A (v - v*), step'A step */
} sti__line;
/* First derivative at a; the true second one, with the curvature of the rows, in *second; the size of the terms
   that were added up in *size. */
double sti__line_slope(const sti__line *line, double a, double *second, double *size);

typedef struct sti__line_result {
    double a;
    int evaluations;
    bool failed; /* the bracket did not close; a is a tenth of the largest step */
} sti__line_result;
/* The minimum of the convex cost on (0, largest], to a derivative of `tol` of that at its start. */
sti__line_result sti__line_search(const sti__line *line, double largest, double tol, int cap);

/* When a Newton's iteration ends. */
typedef struct sti__sap_goal {
    double bar;        /* relative gap bar; 0: not asked for */
    double atol, rtol; /* in momentum scaling */
    double momentum;   /* residual relative to the larger of momentum change and impulse, momentum scaling */
    int cap;
} sti__sap_goal;

/* What an island's solve counts. */
typedef struct sti__sap_count {
    int iterations, outer, pcg, products, line_search, factorisations;
    int warnings[STI_WARN_COUNT];
    bool certified; /* the answer: */
    sti__sum sum;
    bool indefinite;    /* A is not positive definite */
    sti__budget budget; /* its share of the work */
} sti__sap_count;

typedef struct sti__sap {
    sti__island *s;
    const sti_solve_options *options;
    const sti_tasks *tasks;
    sti__sap_count *count;
    double *history; /* bar2 and scale2 per iteration, or NULL */
    int nhistory, room;
    int cap;                     /* as in the task */
    bool judged;                 /* the guess: its certificate exceeds the tolerance */
    int steps;                   /* most Newton steps of one coupled solve; 0: as many as are good */
    double cost, residual, size; /* at v: cost, |gradient| and max(|A v|, |J'g|) in momentum scaling */
    double change;               /* max(|A (v - v*)|, |J'g|) in momentum scaling */
    double bar, scale;           /* |gradient| in A^-1 (NAN: not computed), and what it is relative to */
    sti__sum sum;                /* the same, squared, in parts */
} sti__sap;

/* Newton steps that the options leave to the island. */
static inline int sti__sap_steps_left(const sti__sap *sap) {
    int left = sap->options->max_newton - sap->count->iterations;
    return left > 0 ? left : 0;
}

typedef enum sti__sap_end { STI__SAP_CONVERGED, STI__SAP_CAP, STI__SAP_STALLED } sti__sap_end;

/* Operations of one pass over the island: products with A, J and J', and the rows' laws. */
double sti__sap_pass(const sti__sap *sap);
/* Counts a solve with the factor of A, or the iterations that took its place. */
void sti__sap_spend_mass(sti__sap *sap);
/* H at the rows' curvature, ready to solve with; false if it cannot be made. */
bool sti__sap_hessian(sti__sap *sap);
/* g, momentum, force, gradient and cost at v, y = J v - target; G too if `curved`. */
void sti__sap_evaluate(sti__sap *sap, bool curved);
/* x = H^-1 b to a relative residual of tol; returns the products that it took, which are counted. */
int sti__sap_solve(sti__sap *sap, const double *b, double *x, double tol);
/* Fills bar and scale. */
void sti__sap_measure(sti__sap *sap);
/* Adds them to the history, if it is kept. */
void sti__sap_remember(sti__sap *sap);
/* Minimises for the island's R and target from v; leaves the best iterate in v, with everything evaluated there. */
sti__sap_end sti__sap_minimise(sti__sap *sap, const sti__sap_goal *goal);
/* Solves exact Coulomb with the offset `base` from the impulses last_g, to residuals of `goal`, or to a relative gap bar of
   `bar` if that is not 0; all R > 0. False if it does not get there; v is then as it was, and needs to be evaluated. */
bool sti__sap_couple(sti__sap *sap, double goal, double bar);
/* Sweeps over pairs of bodies, if the island is made for them. True if they end at the answer, certified; else v and last_g are where
   they end. No Delassus diagonal is needed. */
bool sti__sap_sweep_pairs(sti__sap *sap);
/* The loops around it: hard contact and exact Coulomb. */
sti__sap_end sti__sap_outer(sti__sap *sap);

#endif
