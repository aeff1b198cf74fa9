/* SPDX-License-Identifier: Apache-2.0 */
/* Problems in our own layout, the group `stiction_problem`:
     version, n, nrow, h
     rows/{kind, dim, mu (nrow x 5), lo, hi}    R, vhat
     A/{start, col, value}, J/..., vstar        or W/..., q
     memory/{feature, anchor, turn, frame}     if there is any; older files have more */
#include "record/problem_file.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define ROOT "stiction_problem/"
enum { VERSION = 1 };

/* ---- reading ---------------------------------------------------------------------------------------- */

static sti_csr read_csr(sti__hdf *h, const char *name, int nrow, int ncol) {
    char path[64];
    int64_t count = 0;
    sti_csr a = {nrow, ncol, NULL, NULL, NULL};
    snprintf(path, sizeof path, ROOT "%s/start", name);
    const int *start = sti__hdf_ints(h, path, (int64_t)nrow + 1, NULL);
    snprintf(path, sizeof path, ROOT "%s/col", name);
    a.col = sti__hdf_ints(h, path, -1, &count);
    if (h->status != STI_OK) return a;
    for (int i = 0; i < nrow; i++)
        if (start[i] < 0 || start[i + 1] < start[i])
            sti__hdf_fail(h, STI_FORMAT, ROOT "%s/start falls at %d", name, i);
    if (start[0] != 0 || start[nrow] != count)
        sti__hdf_fail(h, STI_FORMAT, ROOT "%s/start does not fit its %lld columns", name, (long long)count);
    snprintf(path, sizeof path, ROOT "%s/value", name);
    a.value = sti__hdf_reals(h, path, count, NULL);
    a.start = start;
    return a;
}

static int read_rows(sti__hdf *h, sti_problem_arrays *a) {
    int64_t m = 0;
    const int *kind = sti__hdf_ints(h, ROOT "rows/kind", a->nrow, NULL),
              *dim = sti__hdf_ints(h, ROOT "rows/dim", a->nrow, NULL);
    const double *mu = sti__hdf_reals(h, ROOT "rows/mu", (int64_t)5 * a->nrow, NULL);
    const double *lo = sti__hdf_reals(h, ROOT "rows/lo", a->nrow, NULL),
                 *hi = sti__hdf_reals(h, ROOT "rows/hi", a->nrow, NULL);
    sti_row *rows = sti__hdf_room(h, (size_t)a->nrow, sizeof *rows);
    for (int i = 0; h->status == STI_OK && i < a->nrow; i++) {
        rows[i] = (sti_row){.kind = kind[i], .dim = dim[i], .lo = lo[i], .hi = hi[i]};
        memcpy(rows[i].mu, mu + (size_t)5 * (size_t)i, sizeof rows[i].mu);
        if (kind[i] == STI_ROW_USER)
            sti__hdf_fail(h, STI_UNSUPPORTED, "row %d is a user's, whose functions no file can hold", i);
        if (dim[i] < 1 || dim[i] > STI_ROW_DIM)
            sti__hdf_fail(h, STI_FORMAT, ROOT "rows/dim[%d] is %d", i, dim[i]);
        m += dim[i];
    }
    if (m > INT_MAX / 2) sti__hdf_fail(h, STI_LIMIT, "has too many rows");
    a->rows = rows;
    return (int)m;
}

static void read_memory(sti__hdf *h, sti_problem_arrays *a) {
    const uint64_t *feature = sti__hdf_words(h, ROOT "memory/feature", a->nrow);
    const double *anchor = sti__hdf_reals(h, ROOT "memory/anchor", (int64_t)3 * a->nrow, NULL);
    bool turns = sti__hdf_has(h, ROOT "memory/turn"); /* older files have none */
    const double *turn = turns ? sti__hdf_reals(h, ROOT "memory/turn", (int64_t)3 * a->nrow, NULL) : NULL;
    const double *frame = sti__hdf_reals(h, ROOT "memory/frame", (int64_t)9 * a->nrow, NULL);
    sti_contact_memory *memory = sti__hdf_room(h, (size_t)a->nrow, sizeof *memory);
    for (size_t i = 0; h->status == STI_OK && i < (size_t)a->nrow; i++) {
        memory[i].feature = feature[i];
        memcpy(memory[i].anchor, anchor + 3 * i, sizeof memory[i].anchor);
        if (turn) memcpy(memory[i].turn, turn + 3 * i, sizeof memory[i].turn);
        memcpy(memory[i].frame, frame + 9 * i, sizeof memory[i].frame);
    }
    a->memory = memory;
}

void sti__native_read(sti__hdf *h, sti_problem_arrays *a) {
    if (sti__hdf_int(h, ROOT "version", INT_MIN, INT_MAX) > VERSION)
        sti__hdf_fail(h, STI_FORMAT, "was written by a newer version of Stiction");
    a->n = sti__hdf_int(h, ROOT "n", 0, INT_MAX / 2);
    a->nrow = sti__hdf_int(h, ROOT "nrow", 0, INT_MAX / 8);
    const double *step = sti__hdf_reals(h, ROOT "h", 1, NULL);
    int m = read_rows(h, a);
    if (h->status != STI_OK) return;
    a->h = *step;
    if (sti__hdf_has(h, ROOT "still")) {
        const double *still = sti__hdf_reals(h, ROOT "still", 1, NULL);
        a->still = still ? *still : 0;
    }
    a->R = sti__hdf_reals(h, ROOT "R", m, NULL);
    a->vhat = sti__hdf_reals(h, ROOT "vhat", m, NULL);
    if (sti__hdf_has(h, ROOT "memory")) read_memory(h, a);
    if (a->n == 0) {
        a->W = read_csr(h, "W", m, m);
        a->q = sti__hdf_reals(h, ROOT "q", m, NULL);
        return;
    }
    a->vstar = sti__hdf_reals(h, ROOT "vstar", a->n, NULL);
    a->A = read_csr(h, "A", a->n, a->n);
    a->J = read_csr(h, "J", m, a->n);
}

sti_problem *sti_problem_load(const char *path, const sti_allocator *allocator, sti_error *error) {
    sti__hdf h;
    sti_problem *problem = NULL;
    sti_error own = {0}, *at = error ? error : &own;
    sti_problem_arrays a = sti_problem_arrays_default();
    if (sti__hdf_open(&h, path, false, allocator, at)) {
        if (sti__hdf_has(&h, "stiction_problem")) sti__native_read(&h, &a);
        else if (sti__hdf_has(&h, "fclib_local")) sti__fclib_read_local(&h, &a);
        else if (sti__hdf_has(&h, "fclib_global")) sti__fclib_read_global(&h, &a);
        else if (sti__hdf_has(&h, "stiction_capsule"))
            sti__hdf_fail(&h, STI_FORMAT,
                          "is the capsule of a step without a problem: it had no rows, rows of the user's "
                          "kind, or ended before they were made; its state can be loaded");
        else
            sti__hdf_fail(&h, STI_FORMAT,
                          "holds no problem: neither stiction_problem nor fclib_local nor fclib_global");
    }
    if (h.status == STI_OK) {
        problem = sti_problem_create(&a, allocator, at);
        if (!problem) sti__copy_text(at->file, sizeof at->file, path);
    }
    sti__hdf_close(&h);
    return problem;
}

/* ---- writing ------------------------------------------------------------------------------------------ */

static void put_csr(sti__hdf *h, const char *name, const sti_csr *a) {
    char path[64];
    size_t count = (size_t)a->start[a->nrow];
    snprintf(path, sizeof path, ROOT "%s", name);
    sti__hdf_group(h, path);
    snprintf(path, sizeof path, ROOT "%s/start", name);
    sti__hdf_put_ints(h, path, a->start, (size_t)a->nrow + 1);
    snprintf(path, sizeof path, ROOT "%s/col", name);
    sti__hdf_put_ints(h, path, a->col, count);
    snprintf(path, sizeof path, ROOT "%s/value", name);
    sti__hdf_put_reals(h, path, a->value, count, 1);
}

static void put_rows(sti__hdf *h, const sti_problem_arrays *a) {
    size_t n = (size_t)a->nrow;
    int *kind = sti__hdf_room(h, n, sizeof(int)), *dim = sti__hdf_room(h, n, sizeof(int));
    double *mu = sti__hdf_room(h, 5 * n, sizeof(double)), *lo = sti__hdf_room(h, n, sizeof(double)),
           *hi = sti__hdf_room(h, n, sizeof(double));
    for (size_t i = 0; h->status == STI_OK && i < n; i++) {
        kind[i] = a->rows[i].kind;
        dim[i] = a->rows[i].dim;
        lo[i] = a->rows[i].lo;
        hi[i] = a->rows[i].hi;
        memcpy(mu + 5 * i, a->rows[i].mu, sizeof a->rows[i].mu);
    }
    sti__hdf_group(h, ROOT "rows");
    sti__hdf_put_ints(h, ROOT "rows/kind", kind, n);
    sti__hdf_put_ints(h, ROOT "rows/dim", dim, n);
    sti__hdf_put_reals(h, ROOT "rows/mu", mu, n, 5);
    sti__hdf_put_reals(h, ROOT "rows/lo", lo, n, 1);
    sti__hdf_put_reals(h, ROOT "rows/hi", hi, n, 1);
}

static void put_memory(sti__hdf *h, const sti_problem_arrays *a) {
    size_t n = (size_t)a->nrow;
    uint64_t *feature = sti__hdf_room(h, n, sizeof(uint64_t));
    double *anchor = sti__hdf_room(h, 3 * n, sizeof(double)), *turn = sti__hdf_room(h, 3 * n, sizeof(double)),
           *frame = sti__hdf_room(h, 9 * n, sizeof(double));
    for (size_t i = 0; h->status == STI_OK && i < n; i++) {
        const sti_contact_memory *m = &a->memory[i];
        feature[i] = m->feature;
        memcpy(anchor + 3 * i, m->anchor, sizeof m->anchor);
        memcpy(turn + 3 * i, m->turn, sizeof m->turn);
        memcpy(frame + 9 * i, m->frame, sizeof m->frame);
    }
    sti__hdf_group(h, ROOT "memory");
    sti__hdf_put_words(h, ROOT "memory/feature", feature, n);
    sti__hdf_put_reals(h, ROOT "memory/anchor", anchor, n, 3);
    sti__hdf_put_reals(h, ROOT "memory/turn", turn, n, 3);
    sti__hdf_put_reals(h, ROOT "memory/frame", frame, n, 9);
}

sti_status sti__native_writable(const sti_problem *p, sti_error *error) {
    const sti_problem_arrays *a = &p->arrays;
    for (int i = 0; i < a->nrow; i++)
        if (a->rows[i].kind == STI_ROW_USER)
            return sti__fail(error, STI_UNSUPPORTED, "row %d is a user's, whose functions no file can hold",
                             i);
    return STI_OK;
}

void sti__native_write(sti__hdf *h, const sti_problem *p) {
    const sti_problem_arrays *a = &p->arrays;
    int version = VERSION;
    sti__hdf_group(h, "stiction_problem");
    sti__hdf_put_ints(h, ROOT "version", &version, 1);
    sti__hdf_put_text(h, ROOT "writer", sti_version());
    sti__hdf_put_ints(h, ROOT "n", &a->n, 1);
    sti__hdf_put_ints(h, ROOT "nrow", &a->nrow, 1);
    sti__hdf_put_reals(h, ROOT "h", &a->h, 1, 1);
    sti__hdf_put_reals(h, ROOT "still", &a->still, 1, 1);
    put_rows(h, a);
    sti__hdf_put_reals(h, ROOT "R", a->R, (size_t)p->m, 1);
    sti__hdf_put_reals(h, ROOT "vhat", a->vhat, (size_t)p->m, 1);
    if (a->memory) put_memory(h, a);
    if (p->delassus) {
        put_csr(h, "W", &a->W);
        sti__hdf_put_reals(h, ROOT "q", a->q, (size_t)p->m, 1);
    } else {
        sti__hdf_put_reals(h, ROOT "vstar", a->vstar, (size_t)a->n, 1);
        put_csr(h, "A", &a->A);
        put_csr(h, "J", &a->J);
    }
}

sti_status sti_problem_save(const sti_problem *p, const char *path, sti_error *error) {
    sti__hdf h;
    sti_status status = sti__native_writable(p, error);
    if (status != STI_OK) return status;
    if (sti__hdf_open(&h, path, true, p->allocator, error)) sti__native_write(&h, p);
    return sti__hdf_close(&h);
}
