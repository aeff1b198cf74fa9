/* SPDX-License-Identifier: Apache-2.0 */
/* Errors, diagnostics, allocation, logging and tasks: what every other header needs. */
#ifndef STICTION_BASE_H
#define STICTION_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define STI_API __attribute__((visibility("default")))
#else
#define STI_API
#endif

#define STI_VERSION_MAJOR 0
#define STI_VERSION_MINOR 1
#define STI_VERSION_PATCH 0

/* "0.1.0" */
STI_API const char *sti_version(void);

/* ---- errors as values ------------------------------------------------------------------- */

/* Every status with its one-line meaning. */
/* clang-format off */
#define STI_STATUSES(X)                                                                  \
    X(OK, "success")                                                                     \
    X(NO_MEMORY, "out of memory")                                                        \
    X(LIMIT, "a size or depth limit was exceeded")                                       \
    X(FILE, "a file could not be read or written")                                       \
    X(PATH, "a path leaves the model's folder")                                          \
    X(XML, "the XML is not well formed")                                                 \
    X(SCHEMA, "an element or attribute is unknown or misplaced")                         \
    X(VALUE, "an attribute has a bad value")                                             \
    X(REFERENCE, "a name refers to nothing, or is used twice")                           \
    X(UNSUPPORTED, "a valid MJCF feature that Stiction does not support yet")            \
    X(MESH, "a mesh is corrupt or unusable")                                             \
    X(PHYSICS, "the model is not physically meaningful")                                 \
    X(ARGUMENT, "a function argument is out of range")                                   \
    X(NONFINITE, "the state became infinite or not a number")                            \
    X(FORMAT, "a recording or snapshot does not match")                                  \
    X(STOPPED, "the caller asked to stop")
/* clang-format on */

typedef enum sti_status {
#define X(name, text) STI_##name,
    STI_STATUSES(X)
#undef X
        STI_STATUS_COUNT
} sti_status;

/* The name ("NO_MEMORY") and meaning of a status; never NULL. */
STI_API const char *sti_status_name(sti_status status);
STI_API const char *sti_status_text(sti_status status);

/* What went wrong and where. Fields that do not apply are empty strings; line 0 = unknown.
   `code` is the truth; a zeroed sti_error means success. */
typedef struct sti_error {
    sti_status code;
    int line; /* in `file`, from 1 */
    char file[256];
    char element[64];   /* MJCF element at fault, such as "geom" */
    char attribute[64]; /* attribute at fault, such as "size" */
    char message[320];  /* what is wrong and what to do, without the place */
} sti_error;

/* "robot.xml:12: geom@size: must be positive" into out (always terminated); returns out. */
STI_API char *sti_error_format(const sti_error *error, char *out, size_t size);

/* ---- diagnostics: all errors and warnings of a load, in file order ------------------------ */

typedef enum sti_severity { STI_SEVERITY_WARNING, STI_SEVERITY_ERROR } sti_severity;

typedef struct sti_diagnostic {
    sti_severity severity;
    sti_error error;
} sti_diagnostic;

struct sti_allocator;

/* A growing list, kept short: after STI_REPORT_MAX items only the counts go on. */
#define STI_REPORT_MAX 200
typedef struct sti_report {
    sti_diagnostic *items;
    int count; /* items kept */
    int capacity;
    int nerror;   /* errors seen, kept or not */
    int nwarning; /* warnings seen, kept or not */
    const struct sti_allocator *allocator;
} sti_report;

/* allocator may be NULL (malloc). A report must outlive the calls it is given to. */
STI_API void sti_report_init(sti_report *report, const struct sti_allocator *allocator);
STI_API void sti_report_free(sti_report *report);

/* ---- allocation --------------------------------------------------------------------------- */

/* One function does everything: new_size 0 frees; ptr NULL allocates; else it moves the block.
   It returns NULL on failure (the old block stays valid) and on free. Results must be aligned
   as malloc's. `old_size` is what was asked for last time. */
typedef struct sti_allocator {
    void *(*resize)(void *context, void *ptr, size_t old_size, size_t new_size);
    void *context;
} sti_allocator;

/* ---- log callback --------------------------------------------------------------------------- */

typedef enum sti_log_level { STI_LOG_INFO, STI_LOG_WARNING, STI_LOG_ERROR } sti_log_level;

/* The library itself never prints; without a callback messages are dropped. */
typedef struct sti_log {
    void (*write)(void *context, sti_log_level level, const char *message);
    void *context;
} sti_log;

/* ---- tasks ---------------------------------------------------------------------------------- */

/* A task system runs `body(context, begin, end)` over pieces that cover [0, count) exactly once,
   and returns when all are done. Pieces are multiples of `grain` (except the last), so that work
   is cut the same way whatever the number of threads. Plug in your own, or use sti_pool. */
typedef void (*sti_task_body)(void *context, int begin, int end);
typedef struct sti_tasks {
    void (*run)(void *system, int count, int grain, sti_task_body body, void *context);
    void *system;
    int nthread;
} sti_tasks;

/* A pool of nthread - 1 workers plus the caller. */
typedef struct sti_pool sti_pool;
STI_API sti_pool *sti_pool_create(int nthread, const sti_allocator *allocator);
STI_API void sti_pool_destroy(sti_pool *pool);
STI_API sti_tasks sti_pool_tasks(sti_pool *pool);

/* ---- profiler: a tree of timed stages ------------------------------------------------------- */

/* One node; nodes are in preorder, so a parent comes before its children. */
typedef struct sti_profile_node {
    const char *name;
    int parent; /* index, -1 for the root */
    int depth;
    int64_t count; /* times entered */
    int64_t
        ticks; /* time inside, nanoseconds of the monotonic clock; of parts that threads share, of all of them together */
    int64_t iterations; /* of the loop that it is, in all; 0: none */
} sti_profile_node;

/* ---- views ------------------------------------------------------------------------------------ */

/* A window on an array inside a model or world; no copy. Element (i, j) is at data[i*cols + j]
   for one world. `data` stays valid as long as its owner lives. */
typedef struct sti_view {
    void *data;
    int rows;
    int cols;
    char type; /* 'd' double, 'i' int32, 'f' float32, 'b' byte */
    bool writable;
} sti_view;

#ifdef __cplusplus
}
#endif
#endif
