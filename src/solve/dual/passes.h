/* SPDX-License-Identifier: Apache-2.0 */
/* The loops of a first-order method over work vectors (operator.h): four cones side by side, other rows one
   by one. Same bits for every instruction set. */
#ifndef STI_SOLVE_PASSES_H
#define STI_SOLVE_PASSES_H

#include "solve/dual/operator.h"

/* One vector and its product, W' x. */
typedef struct sti__pair {
    double *x, *Wx;
} sti__pair;

typedef struct sti__pass {
    const sti__operator *op;
    bool shifted; /* normals have the De Saxce shift that their slip asks for */
} sti__pass;

/* next = P(y - step grad(y)); *length2 = |next - y|^2, *turn = grad'(next - t). */
void sti__pass_step(const sti__pass *pass, sti__pair y, const double *t, double step, double *next,
                    double *length2, double *turn);
/* out = next + beta (next - t), with products; returns (next - y)'(W' + R')(next - y). */
double sti__pass_advance(const sti__pass *pass, sti__pair next, sti__pair y, sti__pair t, double beta,
                         sti__pair out);
/* |t - P(t - (u + shift))|^2 with u = W't + q' + R't, in scaled variables, or in the caller's (raw). *t2 and *u2
   are the squared lengths. */
double sti__pass_natural(const sti__pass *pass, sti__pair t, bool raw, double *t2, double *u2);
/* frozen = m |u'_T| of the cones at t, the shift of each at the place of its normal. */
void sti__pass_freeze(const sti__operator *op, sti__pair t, double *frozen);

#endif
