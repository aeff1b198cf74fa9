/* SPDX-License-Identifier: Apache-2.0 */
/* A dual solve in progress: the best iterate and its measure. Shared by APGD and the finisher. */
#ifndef STI_SOLVE_DUAL_H
#define STI_SOLVE_DUAL_H

#include "solve/dual/passes.h"

/* What is compared with the tolerance; the certificate judges the same. */
typedef enum sti__measure { STI__MEASURE_FULL, STI__MEASURE_NATURAL, STI__MEASURE_GAP } sti__measure;

typedef struct sti__dual {
    sti__operator op;
    const sti__task *task;
    bool exact;
    sti__measure measure;
    double goal;
    double qnorm; /* |q| as given, for the full error */
    double floor; /* what impulses are at least measured against */
    double free2; /* as in sti__sum */
    double *work; /* raw y and g of one gap */
    sti__pair best;
    double best_error;  /* infinite before the first */
    double prox;        /* of the finisher, kept between its runs; 0 before the first */
    double newton_cost; /* 0 = not known yet */
    int64_t products;
} sti__dual;

/* Builds the operator and takes memory; best is the guess, not yet measured. */
sti_status sti__dual_open(sti__dual *d, const sti__task *task, sti_error *error);
/* Multiply-adds of one gradient step. */
double sti__dual_cost(const sti__dual *d);
/* The goal is reached, or the work is spent. */
static inline bool sti__dual_over(const sti__dual *d) {
    return d->best_error <= d->goal || !sti__budget_left(d->task->budget);
}
/* W' x into p.Wx. */
void sti__dual_mul(sti__dual *d, sti__pair p);
/* Measures t; keeps it if it is the best so far. Returns the measure. */
double sti__dual_measure(sti__dual *d, sti__pair t);
static inline bool sti__dual_done(const sti__dual *d) { return d->best_error <= d->goal; }
/* The best iterate into the caller's arrays. */
void sti__dual_answer(sti__dual *d);
/* The same, and the figures of info. */
void sti__dual_close(sti__dual *d);

/* Semismooth Newton steps from the best iterate, about `steps` at most; *used counts them. */
sti_status sti__newton_finish(sti__dual *d, int steps, int *used, sti_error *error);
/* Multiply-adds of one Newton step, for the choice; infinite where the finisher cannot be used. */
double sti__newton_cost(sti__dual *d);

#endif
