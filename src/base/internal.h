/* SPDX-License-Identifier: Apache-2.0 */
/* What all stages share: allocation, errors, arena, hash, profiler. */
#ifndef STI_BASE_INTERNAL_H
#define STI_BASE_INTERNAL_H

#include <stdarg.h>
#include <stdatomic.h>
#include <stiction/base.h>

#define STI__COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))
#define STI__ALIGN 64

#if defined(__GNUC__)
#define STI__PRINTF(f, a) __attribute__((format(printf, f, a)))
#else
#define STI__PRINTF(f, a)
#endif

/* ---- tasks ---------------------------------------------------------------------------------- */

/* Runs body over [0, count) in pieces of `grain`, on the pool if there is one. */
static inline void sti__run(const sti_tasks *tasks, int count, int grain, sti_task_body body, void *context) {
    if (tasks && tasks->run && tasks->nthread > 1 && count > grain) {
        tasks->run(tasks->system, count, grain, body, context);
        return;
    }
    for (int i = 0; i < count; i += grain) body(context, i, count - i < grain ? count : i + grain);
}

/* ---- allocation ---------------------------------------------------------------------------- */

/* NULL = malloc's. */
const sti_allocator *sti__allocator(const sti_allocator *allocator);
void *sti__alloc(const sti_allocator *allocator, size_t size); /* zeroed; NULL on failure */
void *sti__resize(const sti_allocator *allocator, void *ptr, size_t old_size, size_t new_size);
void sti__free(const sti_allocator *allocator, void *ptr, size_t size); /* ptr may be NULL */
/* 64-byte aligned, zeroed; free with sti__free_aligned and the same size. */
void *sti__alloc_aligned(const sti_allocator *allocator, size_t size);
void sti__free_aligned(const sti_allocator *allocator, void *ptr, size_t size);
/* An allocator whose failures are noted, whoever survives them. Blocks are those of `user`. It must stay where it is while it is
   in use. */
typedef struct sti__watch {
    sti_allocator user;
    atomic_bool failed; /* since someone cleared it */
} sti__watch;
sti_allocator sti__watched(sti__watch *watch, const sti_allocator *user);
/* a*b and a+b, or SIZE_MAX on overflow (which no allocation satisfies). */
size_t sti__mul(size_t a, size_t b);
size_t sti__add(size_t a, size_t b);
/* Products and sums of any number of counts, likewise; every one of them becomes a size_t first, so that none wraps as an int.
   Sizes of blocks are written with them: sti__alloc(a, sti__size(n, 3, sizeof(double))). tools/style.py looks for others. */
#define sti__size(...) \
    sti__mul_all((const size_t[]){__VA_ARGS__}, STI__COUNT(((const size_t[]){__VA_ARGS__})))
#define sti__sum(...) sti__add_all((const size_t[]){__VA_ARGS__}, STI__COUNT(((const size_t[]){__VA_ARGS__})))
size_t sti__mul_all(const size_t *factor, int count);
size_t sti__add_all(const size_t *term, int count);
/* The next multiple of STI__ALIGN, likewise. */
size_t sti__padded(size_t bytes);

/* A growing array of bytes: sti__vec_push(v, &item). Zero it, set allocator and item size first. */
typedef struct sti__vec {
    char *data;
    size_t count, capacity; /* in items */
    size_t item;            /* bytes per item */
    const sti_allocator *allocator;
} sti__vec;
void sti__vec_init(sti__vec *vec, size_t item, const sti_allocator *allocator);
void *sti__vec_push(sti__vec *vec,
                    const void *item); /* place of the new item (zeroed if item is NULL), NULL on failure */
void sti__vec_free(sti__vec *vec);

/* ---- errors ---------------------------------------------------------------------------------- */

/* Fills error (may be NULL) and returns code. */
sti_status sti__fail(sti_error *error, sti_status code, const char *format, ...) STI__PRINTF(3, 4);
/* A place in a file; any pointer may be NULL. */
typedef struct sti__place {
    const char *file;
    int line;
    const char *element;
    const char *attribute;
} sti__place;
sti_status sti__fail_at(sti_error *error, sti__place place, sti_status code, const char *format, ...)
    STI__PRINTF(4, 5);
/* Adds to report (may be NULL). Losing an item to memory shortage only loses its text. */
void sti__report_add(sti_report *report, sti_severity severity, const sti_error *error);
/* Text into a fixed buffer, cut at its end, control characters replaced, always valid UTF-8. */
void sti__copy_text(char *out, size_t size, const char *text);

/* ---- arena: one block, grows up; scratch by mark and release ------------------------------------ */

typedef struct sti__arena {
    char *base;
    size_t size, used, peak;
} sti__arena;
void *sti__arena_take(sti__arena *arena, size_t bytes); /* 64-byte aligned, NULL when full */
static inline size_t sti__arena_mark(const sti__arena *arena) { return arena->used; }
void sti__arena_release(sti__arena *arena, size_t mark);
/* What one take uses up: bytes padded to 64, and a red zone more under ASan. Size arenas by it. */
size_t sti__arena_cost(size_t bytes);
void sti__arena_close(sti__arena *arena); /* before its memory goes back to an allocator */

/* ---- hash ------------------------------------------------------------------------------------------ */

#define STI__HASH_SEED 0x9e3779b97f4a7c15ull
uint64_t sti__hash(uint64_t seed, const void *data, size_t size);

/* ---- profiler ---------------------------------------------------------------------------------------- */

#define STI__PROFILE_MAX 96
typedef struct sti__profile {
    sti_profile_node node[STI__PROFILE_MAX];
    int64_t start[16];
    int64_t last; /* when a stage was last entered or left */
    int64_t own;  /* time that the profile itself has taken: it belongs to no stage */
    int stack[16];
    int count, depth;
    bool on;
} sti__profile;
void sti__profile_enter(sti__profile *profile, const char *name); /* name: a string literal */
void sti__profile_leave(sti__profile *profile);
void sti__profile_iterations(sti__profile *profile, int64_t count); /* of the stage that was entered last */
#define STI__ENTER(p, name)                           \
    do {                                              \
        if ((p)->on) sti__profile_enter((p), (name)); \
    } while (0)
#define STI__LEAVE(p)                         \
    do {                                      \
        if ((p)->on) sti__profile_leave((p)); \
    } while (0)

/* Parts of stages that have no profile at hand, as those which threads share. X(enum, name); what follows PCG up to
   PRECONDITIONER is inside of it. */
/* clang-format off */
#define STI__WORKS(X)                                                                                      \
    X(BVH, "bvh") X(NEAR, "near pairs") X(NARROW, "narrow phase")                                          \
    X(JACOBIANS, "jacobians") X(REGULARISATION, "regularisation")                                          \
    X(FACTOR, "factor")                                                                                    \
    X(GUESS, "guess") X(REDUCTION, "reduction") X(SMALL, "small islands") X(ISLANDS, "islands")            \
    X(DELASSUS, "delassus") X(PRODUCTS, "products") X(GRADIENT, "gradient") X(HESSIAN, "hessian")          \
    X(DIRECT, "direct") X(PCG, "pcg") X(MATVEC, "matvec") X(DOT, "dot") X(UPDATE, "update")                \
    X(PRECONDITIONER, "preconditioner")                                                                    \
    X(SWEEPS, "sweeps") X(LINE_SEARCH, "line search") X(ITERATION, "iteration")                            \
    X(CERTIFICATE, "certificate")
/* clang-format on */
typedef enum sti__work {
#define X(id, name) STI__WORK_##id,
    STI__WORKS(X)
#undef X
        STI__WORK_COUNT
} sti__work;

/* Time of a part that is inside of another is counted to the inner one alone. */
typedef struct sti__tally {
    struct {
        int64_t ticks, count, iterations;
    } part[STI__WORK_COUNT];
    int64_t sum;  /* ticks of all parts */
    int64_t last; /* when a part, or the stage around them, last began or ended */
} sti__tally;

int64_t sti__clock(void); /* ns, monotonic */
/* A start: the time, less what was counted before it. */
int64_t sti__tally_begin(sti__tally *tally);
void sti__tally_end(sti__tally *tally, sti__work part, int64_t start, int64_t iterations);
void sti__tally_add(sti__tally *sum, const sti__tally *part);
/* A stage whose parts are tallied: what lies between entering it and its first part is that part's, if it is but the clock. */
void sti__profile_enter_parts(sti__profile *profile, const char *name, sti__tally *tally);
/* Into stages inside of the one that was entered last; clears it. */
void sti__profile_take(sti__profile *profile, sti__tally *tally);
/* NULL where nobody asks: then they cost a comparison. */
static inline int64_t sti__tick(sti__tally *tally) { return tally ? sti__tally_begin(tally) : 0; }
static inline void sti__tock(sti__tally *tally, sti__work part, int64_t start, int64_t iterations) {
    if (tally) sti__tally_end(tally, part, start, iterations);
}

/* ---- numbers ------------------------------------------------------------------------------------------ */

/* Correctly rounded decimal to double, whatever the locale. Returns the first character not used,
   NULL if there is no number. "nan", "inf" and overflow (1e400) give *ok = false. */
const char *sti__parse_real(const char *text, const char *end, double *value, bool *ok);

#endif
