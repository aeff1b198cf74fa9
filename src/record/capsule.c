/* SPDX-License-Identifier: Apache-2.0 */
/* The group `stiction_capsule`:
     version, troubles, why, time, model, headline
     integers {solver, coulomb, linear, adaptive_atol, max_iterations, max_newton, max_pcg, max_line_search}
     reals {tol, atol, rtol, pcg_tol, ls_tol, max_step, gradient_limit}
     max_work                    not in files of earlier versions
     guess_v, guess_g, v, g      if there is a problem
     size, snapshot              bytes, in words */
#include "record/capsule.h"

#include "record/problem_file.h"
#include <limits.h>
#include <string.h>

#define ROOT "stiction_capsule/"
enum { VERSION = 1, INTEGERS = 8, REALS = 7 };

/* ---- writing ---------------------------------------------------------------------------------------------- */

static void put_options(sti__hdf *h, const sti_solve_options *o) {
    const int whole[INTEGERS] = {(int)o->solver,    (int)o->coulomb, (int)o->linear, o->adaptive_atol,
                                 o->max_iterations, o->max_newton,   o->max_pcg,     o->max_line_search};
    const double real[REALS] = {o->tol,    o->atol,     o->rtol,          o->pcg_tol,
                                o->ls_tol, o->max_step, o->gradient_limit};
    sti__hdf_put_ints(h, ROOT "integers", whole, INTEGERS);
    sti__hdf_put_reals(h, ROOT "reals", real, REALS, 1);
    sti__hdf_put_reals(h, ROOT "max_work", &o->max_work, 1, 1);
}

/* Bytes as words, the last one filled up. */
static void put_snapshot(sti__hdf *h, const void *data, size_t size) {
    size_t count = (size + 7) / 8;
    uint64_t *words = sti__hdf_room(h, count, sizeof *words), bytes = size;
    if (!words) return;
    memcpy(words, data, size);
    sti__hdf_put_words(h, ROOT "size", &bytes, 1);
    sti__hdf_put_words(h, ROOT "snapshot", words, count);
}

static void put_answer(sti__hdf *h, const sti_capsule *a, size_t n, size_t m) {
    if (a->options.guess_v) sti__hdf_put_reals(h, ROOT "guess_v", a->options.guess_v, n, 1);
    if (a->options.guess_g) sti__hdf_put_reals(h, ROOT "guess_g", a->options.guess_g, m, 1);
    sti__hdf_put_reals(h, ROOT "v", a->v, n, 1);
    sti__hdf_put_reals(h, ROOT "g", a->g, m, 1);
}

sti_status sti__capsule_write(const char *path, const sti__capsule_content *c, const sti_allocator *allocator,
                              sti_error *error) {
    const sti_capsule *a = c->about;
    sti__hdf h;
    int version = VERSION;
    if (!sti__hdf_open(&h, path, true, allocator, error)) return sti__hdf_close(&h);
    sti__hdf_group(&h, "stiction_capsule");
    sti__hdf_put_ints(&h, ROOT "version", &version, 1);
    sti__hdf_put_ints(&h, ROOT "troubles", &a->troubles, 1);
    sti__hdf_put_text(&h, ROOT "why", sti_trouble_word(a->troubles));
    sti__hdf_put_reals(&h, ROOT "time", &a->time, 1, 1);
    sti__hdf_put_words(&h, ROOT "model", &a->model, 1);
    sti__hdf_put_reals(&h, ROOT "headline", &a->headline, 1, 1);
    put_options(&h, &a->options);
    put_snapshot(&h, c->snapshot, c->size);
    if (c->problem) {
        put_answer(&h, a, (size_t)c->problem->arrays.n, (size_t)c->problem->m);
        sti__native_write(&h, c->problem);
    }
    return sti__hdf_close(&h);
}

const char *sti_trouble_word(int troubles) {
    static const char *const words[] = {
#define X(id, word, text) word,
        STI_TROUBLES(X)
#undef X
    };
    for (int i = 0; i < STI_TROUBLE_COUNT; i++)
        if (troubles & 1 << i) return words[i];
    return "none";
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

static bool open_capsule(sti__hdf *h, const char *path, const sti_allocator *allocator, sti_error *error) {
    if (!sti__hdf_open(h, path, false, allocator, error)) return false;
    if (!sti__hdf_has(h, "stiction_capsule")) sti__hdf_fail(h, STI_FORMAT, "is no step capsule");
    else if (sti__hdf_int(h, ROOT "version", INT_MIN, INT_MAX) > VERSION)
        sti__hdf_fail(h, STI_FORMAT, "was written by a newer version of Stiction");
    return h->status == STI_OK;
}

void *sti__capsule_snapshot(const char *path, const sti_allocator *allocator, size_t *size,
                            sti_error *error) {
    sti__hdf h;
    void *out = NULL;
    if (open_capsule(&h, path, allocator, error)) {
        const uint64_t *bytes = sti__hdf_words(&h, ROOT "size", 1);
        if (bytes && *bytes > (uint64_t)INT_MAX * 8)
            sti__hdf_fail(&h, STI_FORMAT, ROOT "size is too large for the file");
        const uint64_t *words =
            h.status == STI_OK ? sti__hdf_words(&h, ROOT "snapshot", (int64_t)((*bytes + 7) / 8)) : NULL;
        if (words) {
            *size = (size_t)*bytes;
            out = sti__alloc(&h.allocator, *size + 1);
            if (out) memcpy(out, words, *size);
            else sti__hdf_fail(&h, STI_NO_MEMORY, "not enough memory for the state of a capsule");
        }
    }
    sti__hdf_close(&h);
    return out;
}

/* The struct and its arrays are one block. */
typedef struct capsule_block {
    sti_capsule about;
    sti_allocator allocator;
    size_t size;
} capsule_block;

static void read_options(sti__hdf *h, sti_solve_options *o) {
    const int *whole = sti__hdf_ints(h, ROOT "integers", INTEGERS, NULL);
    const double *real = sti__hdf_reals(h, ROOT "reals", REALS, NULL);
    *o = sti_solve_options_default();
    if (!whole || !real) return;
    o->solver = (sti_solver)whole[0];
    o->coulomb = (sti_coulomb)whole[1];
    o->linear = (sti_linear)whole[2];
    o->adaptive_atol = whole[3] != 0;
    o->max_iterations = whole[4];
    o->max_newton = whole[5];
    o->max_pcg = whole[6];
    o->max_line_search = whole[7];
    o->tol = real[0];
    o->atol = real[1];
    o->rtol = real[2];
    o->pcg_tol = real[3];
    o->ls_tol = real[4];
    o->max_step = real[5];
    o->gradient_limit = real[6];
    const double *work =
        sti__hdf_has(h, ROOT "max_work") ? sti__hdf_reals(h, ROOT "max_work", 1, NULL) : NULL;
    if (work) o->max_work = *work;
}

static void read_about(sti__hdf *h, sti_capsule *a) {
    a->troubles = sti__hdf_int(h, ROOT "troubles", 0, STI_TROUBLE_ALL);
    const double *time = sti__hdf_reals(h, ROOT "time", 1, NULL),
                 *headline = sti__hdf_reals(h, ROOT "headline", 1, NULL);
    const uint64_t *model = sti__hdf_words(h, ROOT "model", 1);
    read_options(h, &a->options);
    if (h->status != STI_OK) return;
    a->time = *time;
    a->headline = *headline;
    a->model = *model;
}

static sti_capsule *make_capsule(sti__hdf *h, const sti_capsule *a, const double *const array[4],
                                 const int64_t count[4]) {
    size_t size = sizeof(capsule_block);
    for (int i = 0; i < 4; i++) size = sti__add(size, sti__mul((size_t)count[i], sizeof(double)));
    capsule_block *block = sti__alloc(&h->allocator, size);
    if (!block) return sti__hdf_fail(h, STI_NO_MEMORY, "not enough memory for a capsule"), NULL;
    *block = (capsule_block){*a, h->allocator, size};
    double *at = (double *)(block + 1);
    const double **place[] = {&block->about.v, &block->about.g, &block->about.options.guess_v,
                              &block->about.options.guess_g};
    for (int i = 0; i < 4; i++) {
        if (!array[i]) continue;
        *place[i] = memcpy(at, array[i], sizeof(double) * (size_t)count[i]);
        at += count[i];
    }
    return &block->about;
}

sti_capsule *sti_capsule_open(const char *path, const sti_allocator *allocator, sti_error *error) {
    static const char *const names[] = {ROOT "v", ROOT "g", ROOT "guess_v", ROOT "guess_g"};
    sti__hdf h;
    sti_capsule about = {0}, *made = NULL;
    const double *array[4] = {NULL};
    int64_t count[4] = {0};
    sti_error own = {0};
    if (open_capsule(&h, path, allocator, error ? error : &own)) {
        read_about(&h, &about);
        if (sti__hdf_has(&h, "stiction_problem")) {
            for (int i = 0; i < 4; i++) {
                if (i >= 2 && !sti__hdf_has(&h, names[i])) continue;
                array[i] = sti__hdf_reals(&h, names[i], i < 2 ? -1 : count[i - 2], &count[i]);
            }
            about.n = (int)count[0];
            about.m = (int)count[1];
        }
        if (h.status == STI_OK) made = make_capsule(&h, &about, array, count);
    }
    sti__hdf_close(&h);
    return made;
}

void sti_capsule_close(sti_capsule *capsule) {
    if (!capsule) return;
    capsule_block *block = (capsule_block *)capsule;
    sti_allocator allocator = block->allocator;
    sti__free(&allocator, block, block->size);
}
