/* SPDX-License-Identifier: Apache-2.0 */
/* The exact line search: the root of a rising derivative by Newton's method inside a shrinking bracket. */
#include "contact/rows.h"
#include "solve/primal/sap.h"
#include <float.h>
#include <string.h>

double sti__line_slope(const sti__line *line, double a, double *second, double *size) {
    const sti__island *s = line->s;
    double first = line->slope + a * line->curve, bend = line->curve,
           total = fabs(line->slope) + a * line->curve;
    for (int b = 0; b < s->nrow; b++) {
        const sti_row *row = sti__island_row(s, b);
        int at = s->first[b];
        double y[STI_ROW_DIM] = {0}, g[STI_ROW_DIM], G[STI_ROW_DIM * STI_ROW_DIM];
        const double *d = s->ystep + at;
        for (int i = 0; i < row->dim; i++) y[i] = s->y[at + i] + a * d[i];
        sti__row_evaluate(row, s->R + at, y, g, G);
        for (int i = 0; i < row->dim; i++) {
            first -= g[i] * d[i];
            total += fabs(g[i] * d[i]);
            for (int j = 0; j < row->dim; j++) bend += d[i] * G[i * row->dim + j] * d[j];
        }
    }
    *second = bend;
    *size = total;
    return first;
}

/* Newton's step if it stays inside and at least halves the step before last, else the middle. */
static double next_trial(double lo, double hi, double a, double f, double df, double before) {
    double step = df > 0 ? -f / df : INFINITY, trial = a + step;
    if (trial > lo && trial < hi && fabs(step) < before / 2) return trial;
    return lo + (hi - lo) / 2;
}

sti__line_result sti__line_search(const sti__line *line, double largest, double tol, int cap) {
    double df, size, start = sti__line_slope(line, 0, &df, &size), lo = 0, hi = largest;
    sti__line_result r = {.a = largest < 1 ? largest : 1, .evaluations = 1};
    double f = sti__line_slope(line, r.a, &df, &size), before = largest, last = largest;
    r.evaluations++;
    if (f < 0 && r.a < largest && -f > tol * fabs(start) + 4 * DBL_EPSILON * size) {
        /* still falling at the full step: the root is beyond, or the largest step is taken */
        double at = r.a, bend, total, end = sti__line_slope(line, largest, &bend, &total);
        r.evaluations++;
        if (end <= 0) return r.a = largest, r;
        lo = at;
    }
    while (r.evaluations < cap + 2) {
        if (fabs(f) <= tol * fabs(start) + 4 * DBL_EPSILON * size) return r;
        if (f > 0) hi = r.a;
        else lo = r.a;
        double trial = next_trial(lo, hi, r.a, f, df, before);
        if (trial <= lo || trial >= hi) return r; /* the bracket is as small as numbers allow */
        before = last;
        last = fabs(trial - r.a);
        r.a = trial;
        f = sti__line_slope(line, r.a, &df, &size);
        r.evaluations++;
    }
    r.failed = true;
    r.a = largest / 10;
    return r;
}
