/* SPDX-License-Identifier: Apache-2.0 */
/* Block incomplete Cholesky without fill: L has the blocks of A's lower triangle. A pivot that is not positive definite
   starts it again with more on the diagonal; with enough of it L is diagonal and cannot fail. */
#include "base/room.h"
#include "linear/precond/precond.h"
#include <math.h>
#include <string.h>

#define FIRST_SHIFT 1e-3 /* of the diagonal */
#define MORE 4           /* times as much at each failure */
#define TRIES 10         /* then the diagonal alone */

typedef struct ic {
    sti_allocator own;
    sti__bsr l, u;                /* without diagonal; u is l transposed */
    double *inverse, *transposed; /* 9 n: of L's diagonal blocks */
    int *from, *flip;             /* per entry of l: of A; of u */
    void *block;
    size_t room;
} ic;

static void free_ic(void *state) {
    ic *s = state;
    sti_allocator own = s->own;
    if (s->block) sti__free_aligned(&own, s->block, s->room);
    sti__free(&own, s, sizeof *s);
}

static size_t lay_out(ic *s, size_t n, size_t nentry, char *base) {
    sti__cutter c = {base, 0};
    s->inverse = sti__cut(&c, sti__add(sti__size(9, n), STI__BSR_SPARE), sizeof(double));
    s->transposed = sti__cut(&c, sti__add(sti__size(9, n), STI__BSR_SPARE), sizeof(double));
    sti__bsr *both[] = {&s->l, &s->u};
    for (int k = 0; k < 2; k++) {
        both[k]->rounded = sti__cut(&c, sti__add(sti__size(9, nentry), STI__BSR_SPARE), sizeof(float));
        both[k]->start = sti__cut(&c, n + 1, sizeof(int));
        both[k]->col = sti__cut(&c, nentry, sizeof(int));
        both[k]->n = (int)n;
        both[k]->b = 3;
    }
    s->l.value = sti__cut(&c, sti__size(9, nentry), sizeof(double));
    s->from = sti__cut(&c, nentry, sizeof(int));
    s->flip = sti__cut(&c, nentry, sizeof(int));
    return c.used;
}

static void fill_pattern(ic *s, const sti__bsr *a) {
    int n = a->n, e = 0, f = 0;
    for (int i = 0; i < n; i++) {
        s->l.start[i] = e;
        s->u.start[i] = f;
        for (int k = a->start[i]; k < a->start[i + 1]; k++) {
            if (a->col[k] < i) s->from[e] = k, s->l.col[e++] = a->col[k];
            else if (a->col[k] > i) s->u.col[f++] = a->col[k];
        }
    }
    s->l.start[n] = e;
    s->u.start[n] = f;
    for (int i = 0; i < n; i++) /* rows of u fill up in the order of their columns */
        for (int k = s->l.start[i]; k < s->l.start[i + 1]; k++) s->flip[k] = s->u.start[s->l.col[k]]++;
    for (int i = n; i > 0; i--) s->u.start[i] = s->u.start[i - 1];
    s->u.start[0] = 0;
}

static void *plan(void *old, const sti__bsr *a, bool with_modes, const sti_allocator *allocator,
                  sti_error *error) {
    ic *s = old ? old : sti__alloc(allocator, sizeof *s);
    (void)with_modes;
    if (!s) return sti__fail(error, STI_NO_MEMORY, "not enough memory for an incomplete factor"), NULL;
    s->own = *allocator;
    size_t n = (size_t)a->n, nentry = ((size_t)a->start[a->n] - n) / 2, need = lay_out(s, n, nentry, NULL);
    if (!sti__make_room(allocator, &s->block, &s->room, need, 0)) {
        free_ic(s);
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for an incomplete factor"), NULL;
    }
    lay_out(s, n, nentry, s->block);
    fill_pattern(s, a);
    return s;
}

/* ---- the factor --------------------------------------------------------------------------------------------- */

/* m -= x y', all column-major */
static void subtract(double *m, const double *x, const double *y) {
    for (int c = 0; c < 3; c++)
        for (int r = 0; r < 3; r++) m[3 * c + r] -= x[r] * y[c] + x[3 + r] * y[3 + c] + x[6 + r] * y[6 + c];
}

/* T = L^-1 of m = L L', column-major; false if m is not positive definite enough. */
static bool invert_lower(const double *m, const double *whole, double *t) {
    double l[9];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++) {
            double s = m[3 * j + i];
            for (int k = 0; k < j; k++) s -= l[3 * i + k] * l[3 * j + k];
            if (i == j && !(s > 1e-3 * whole[4 * i] && s < INFINITY)) return false;
            l[3 * i + j] = i == j ? sqrt(s) : s / l[3 * j + j];
        }
    memset(t, 0, 9 * sizeof(double));
    for (int c = 0; c < 3; c++)
        for (int r = c; r < 3; r++) {
            double s = r == c;
            for (int k = c; k < r; k++) s -= l[3 * r + k] * t[3 * c + k];
            t[3 * c + r] = s / l[4 * r];
        }
    return true;
}

/* Row i of L from the rows before it, entry by entry. */
static void row_of(ic *s, const sti__bsr *a, int i) {
    const sti__bsr *l = &s->l;
    for (int e = l->start[i]; e < l->start[i + 1]; e++) {
        int j = l->col[e], p = l->start[i], q = l->start[j];
        double m[9], *out = l->value + 9 * (size_t)e;
        const double *t = s->inverse + 9 * (size_t)j;
        memcpy(m, a->value + 9 * (size_t)s->from[e], sizeof m);
        while (p < e && q < l->start[j + 1]) {
            if (l->col[p] == l->col[q]) subtract(m, l->value + 9 * (size_t)p++, l->value + 9 * (size_t)q++);
            else if (l->col[p] < l->col[q]) p++;
            else q++;
        }
        for (int c = 0; c < 3; c++) /* m T' */
            for (int r = 0; r < 3; r++)
                out[3 * c + r] = m[r] * t[c] + m[3 + r] * t[3 + c] + m[6 + r] * t[6 + c];
    }
}

static bool factor(ic *s, const sti__bsr *a, double shift) {
    for (int i = 0; i < a->n; i++) {
        const double *whole = a->value + 9 * (size_t)a->diagonal[i];
        double m[9];
        row_of(s, a, i);
        memcpy(m, whole, sizeof m);
        for (int k = 0; k < 3; k++) m[4 * k] *= 1 + shift;
        for (int e = s->l.start[i]; e < s->l.start[i + 1]; e++)
            subtract(m, s->l.value + 9 * (size_t)e, s->l.value + 9 * (size_t)e);
        if (!invert_lower(m, whole, s->inverse + 9 * (size_t)i)) return false;
    }
    return true;
}

/* The roots of the diagonal alone. */
static void diagonal_only(ic *s, const sti__bsr *a) {
    memset(s->l.value, 0, sizeof(double) * 9 * (size_t)s->l.start[a->n]);
    memset(s->inverse, 0, sizeof(double) * 9 * (size_t)a->n);
    for (int i = 0; i < a->n; i++)
        for (int k = 0; k < 3; k++) {
            double d = a->value[9 * (size_t)a->diagonal[i] + 4 * (size_t)k];
            s->inverse[9 * (size_t)i + 4 * (size_t)k] = d > 0 && d < INFINITY ? 1 / sqrt(d) : 1;
        }
}

/* Both triangles for the sweeps, rounded: L L' is positive definite for any L. */
static void finish(ic *s, int n) {
    for (int e = 0; e < s->l.start[n]; e++)
        for (int k = 0; k < 9; k++) {
            float x = (float)s->l.value[9 * (size_t)e + (size_t)k];
            s->l.rounded[9 * (size_t)e + (size_t)k] = x;
            s->u.rounded[9 * (size_t)s->flip[e] + (size_t)(k % 3 * 3 + k / 3)] = x;
        }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 9; k++)
            s->transposed[9 * (size_t)i + (size_t)(k % 3 * 3 + k / 3)] =
                s->inverse[9 * (size_t)i + (size_t)k];
}

static void fill(void *state, const sti__bsr *a, const double *coords, const sti_tasks *tasks) {
    ic *s = state;
    double shift = 0;
    bool done = false;
    (void)coords, (void)tasks;
    for (int t = 0; t < TRIES && !done; t++) {
        done = factor(s, a, shift);
        shift = shift > 0 ? MORE * shift : FIRST_SHIFT;
    }
    if (!done) diagonal_only(s, a);
    finish(s, a->n);
}

static void apply(const void *state, const sti__bsr *a, const double *r, double *z, const sti_tasks *tasks) {
    const ic *s = state;
    const sti__bsr_kernels *k = sti__bsr_get();
    (void)a, (void)tasks;
    k->lower(&s->l, s->inverse, r, z);
    k->upper(&s->u, s->transposed, z, z);
}

static size_t bytes(const void *state) { return ((const ic *)state)->room; }

const sti__precond_kind sti__precond_ic = {"ic", plan, fill, apply, free_ic, bytes};
