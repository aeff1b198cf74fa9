/* SPDX-License-Identifier: Apache-2.0 */
/* The matrix of a coupled constraint: inverse, rank, condition numbers, and which equations are kept. */
#include "base/internal.h"
#include "contact/coupled.h"
#include <math.h>
#include <string.h>

#define MOST STI_COUPLED_MAX
#define SWEEPS 30 /* of Jacobi's method; 4 x 4 matrices take 5 or 6 */

/* ---- elimination ---------------------------------------------------------------------------------- */

/* K beside the identity, of `n` rows, and the largest entry of each row of K. */
typedef struct tableau {
    int n;
    double a[MOST][2 * MOST], scale[MOST];
} tableau;

static tableau tableau_of(int n, const double *K) {
    tableau t = {.n = n};
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            t.a[i][j] = K[i * n + j];
            t.scale[i] = fmax(t.scale[i], fabs(K[i * n + j]));
        }
        t.a[i][n + i] = 1;
    }
    return t;
}

/* The row from `from` on whose entry in the column is largest over its scale; -1 if none is above epsilon. */
static int best_row(const tableau *t, int from, int column, double epsilon) {
    int best = -1;
    double most = epsilon;
    for (int i = from; i < t->n; i++) {
        double x = t->scale[i] > 0 ? fabs(t->a[i][column]) / t->scale[i] : 0;
        if (x > most) most = x, best = i;
    }
    return best;
}

static void swap_rows(tableau *t, int i, int j) {
    if (i == j) return;
    double row[2 * MOST], scale = t->scale[i];
    memcpy(row, t->a[i], sizeof row);
    memcpy(t->a[i], t->a[j], sizeof row);
    memcpy(t->a[j], row, sizeof row);
    t->scale[i] = t->scale[j];
    t->scale[j] = scale;
}

/* Divides the row by its pivot and takes it out of all others. */
static void eliminate(tableau *t, int row, int column) {
    double pivot = t->a[row][column];
    for (int j = 0; j < 2 * t->n; j++) t->a[row][j] /= pivot;
    for (int i = 0; i < t->n; i++) {
        double factor = t->a[i][column];
        if (i == row || factor == 0) continue;
        for (int j = 0; j < 2 * t->n; j++) t->a[i][j] -= factor * t->a[row][j];
        t->a[i][column] = 0;
    }
}

static void reduce(tableau *t, double epsilon, sti_coupled_condition *c) {
    for (int column = 0; column < t->n; column++) {
        int row = best_row(t, c->rank, column, epsilon);
        if (row < 0) continue;
        double pivot = fabs(t->a[row][column]);
        c->pivot_min = c->rank ? fmin(c->pivot_min, pivot) : pivot;
        c->pivot_max = fmax(c->pivot_max, pivot);
        swap_rows(t, c->rank, row);
        eliminate(t, c->rank++, column);
    }
}

/* ---- condition numbers ---------------------------------------------------------------------------- */

static double row_sum_norm(int n, const double *a) {
    double most = 0;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++) sum += fabs(a[i * n + j]);
        most = fmax(most, sum);
    }
    return most;
}

/* One Jacobi rotation that makes a[p][q] zero. */
static void rotate(int n, double *a, int p, int q) {
    double apq = a[p * n + q], theta = (a[q * n + q] - a[p * n + p]) / (2 * apq);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + sqrt(theta * theta + 1)), c = 1 / sqrt(t * t + 1),
           s = t * c;
    if (fabs(theta) > 1e150) t = 1 / (2 * theta), c = 1, s = t; /* its square would overflow */
    for (int k = 0; k < n; k++) {
        double x = a[k * n + p], y = a[k * n + q];
        a[k * n + p] = c * x - s * y;
        a[k * n + q] = s * x + c * y;
    }
    for (int k = 0; k < n; k++) {
        double x = a[p * n + k], y = a[q * n + k];
        a[p * n + k] = c * x - s * y;
        a[q * n + k] = s * x + c * y;
    }
    a[p * n + q] = a[q * n + p] = 0;
}

/* Rotates until no entry beside the diagonal counts against those on it. */
static void diagonalise(int n, double *a) {
    bool again = true;
    for (int sweep = 0; again && sweep < SWEEPS; sweep++) {
        again = false;
        for (int p = 0; p < n; p++)
            for (int q = p + 1; q < n; q++) {
                double size = sqrt(fabs(a[p * n + p])) * sqrt(fabs(a[q * n + q]));
                if (!(fabs(a[p * n + q]) > 1e-16 * size)) continue;
                rotate(n, a, p, q);
                again = true;
            }
    }
}

static double spectral_condition(int n, const double *K) {
    double a[MOST * MOST], least = INFINITY, most = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) a[i * n + j] = 0.5 * (K[i * n + j] + K[j * n + i]);
    diagonalise(n, a);
    for (int i = 0; i < n; i++) {
        least = fmin(least, fabs(a[i * n + i]));
        most = fmax(most, fabs(a[i * n + i]));
    }
    return least > 0 ? most / least : INFINITY;
}

bool sti_coupled_invert(int size, const double *K, double pivot_epsilon, double *inverse,
                        sti_coupled_condition *condition) {
    sti_coupled_condition c = {.size = size, .row_sum = INFINITY, .spectral = INFINITY};
    bool usable = size >= 1 && size <= MOST && K;
    for (int i = 0; usable && i < size * size; i++) usable = isfinite(K[i]);
    if (usable) {
        double inv[MOST * MOST];
        tableau t = tableau_of(size, K);
        reduce(&t, pivot_epsilon > 0 ? pivot_epsilon : 0, &c);
        for (int i = 0; i < size; i++) memcpy(inv + i * size, t.a[i] + size, sizeof(double) * (size_t)size);
        usable = c.rank == size;
        if (usable) {
            c.row_sum = row_sum_norm(size, K) * row_sum_norm(size, inv);
            c.spectral = spectral_condition(size, K);
            c.gap = isfinite(c.row_sum) && isfinite(c.spectral) ? c.row_sum - c.spectral : 0;
            if (inverse) memcpy(inverse, inv, sizeof(double) * (size_t)size * (size_t)size);
        }
    }
    if (condition) *condition = c;
    return usable;
}

/* ---- choice --------------------------------------------------------------------------------------- */

/* The inverse of the active equations, in their places. */
static sti_coupled_condition invert_active(int count, const double *K, int active, double epsilon,
                                           double *inverse) {
    double small[MOST * MOST], inv[MOST * MOST];
    int at[MOST], n = 0;
    sti_coupled_condition c;
    for (int i = 0; i < count; i++)
        if (active >> i & 1) at[n++] = i;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) small[i * n + j] = K[at[i] * count + at[j]];
    if (inverse) memset(inverse, 0, sizeof(double) * (size_t)count * (size_t)count);
    if (sti_coupled_invert(n, small, epsilon, inv, &c) && inverse)
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++) inverse[at[i] * count + at[j]] = inv[i * n + j];
    return c;
}

/* The active equation with the smallest diagonal, the last of equals. */
static int weakest(int count, const double *K, int active) {
    int found = -1;
    for (int i = 0; i < count; i++)
        if (active >> i & 1 && (found < 0 || K[i * count + i] <= K[found * count + found])) found = i;
    return found;
}

static int bits(int x) {
    int n = 0;
    for (; x; x &= x - 1) n++;
    return n;
}

static bool over(const sti__coupled_rule *rule, const sti_coupled_condition *c) {
    return !(fmax(c->row_sum, c->spectral) <= rule->condition_limit);
}

/* The first set under the limit, else the largest with an inverse; 0 if there is none. */
static int choose(const sti__coupled_rule *rule, int count, const double *K, sti_coupled_diagnostics *d) {
    int active = (1 << count) - 1, fallback = 0;
    for (int drops = 0;; drops++) {
        sti_coupled_condition c = invert_active(count, K, active, rule->pivot_epsilon, NULL);
        if (drops == 0) d->whole = c;
        if (!over(rule, &c)) return active;
        if (c.rank == c.size && !fallback) fallback = active;
        if (drops >= rule->max_drops || c.size <= 1) return fallback;
        active &= ~(1 << weakest(count, K, active));
    }
}

void sti__coupled_choose(const sti__coupled_rule *rule, int count, const double *K, double *inverse,
                         sti_coupled_diagnostics *d) {
    d->active = choose(rule, count, K, d);
    d->dropped = count - bits(d->active);
    d->kept = (sti_coupled_condition){.row_sum = INFINITY, .spectral = INFINITY};
    if (inverse) memset(inverse, 0, sizeof(double) * (size_t)count * (size_t)count);
    if (d->active) d->kept = invert_active(count, K, d->active, rule->pivot_epsilon, inverse);
    if (d->whole.rank < count) d->flags |= STI_COUPLED_RANK;
    if (over(rule, &d->kept)) d->flags |= STI_COUPLED_CONDITION;
    if (!d->active) d->flags |= STI_COUPLED_SINGULAR;
    else if (d->dropped) d->flags |= STI_COUPLED_DROPPED;
    if (d->active && d->kept.rank < d->whole.rank) d->flags |= STI_COUPLED_LOST;
}

void sti__coupled_count(const sti__coupled_rule *rule, sti_coupled_diagnostics *d) {
    d->steps++;
    d->warnings += over(rule, &d->whole);
    d->drops += d->dropped > 0;
}
