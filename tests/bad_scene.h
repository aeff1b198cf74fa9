/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a scene that must not load: status, place, time and memory of its error are judged. */
#ifndef STI_BAD_SCENE_H
#define STI_BAD_SCENE_H

#include "robust.h"
#include "test.h"
#include <time.h>

#ifdef __SANITIZE_ADDRESS__
#define SLOWDOWN 8
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOWDOWN 8
#endif
#endif
#ifndef SLOWDOWN
#define SLOWDOWN 1
#endif

/* of this process alone: others may keep the machine busy */
static inline double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* ---- running one case ------------------------------------------------------------------------------ */

typedef struct bad {
    const char *xml;
    sti_status code;
    int line;                        /* -1 = do not care */
    const char *element, *attribute; /* NULL = do not care */
} bad;

static sti_asset given[16];
static int ngiven;

static inline void give(const char *name, const void *data, size_t size) {
    given[ngiven++] = (sti_asset){name, data, size};
}
static inline void give_text(const char *name, const char *text) { give(name, text, strlen(text)); }

/* path NULL: xml from memory. Memory may not exceed the input by more than `room`. */
static sti_error run(const char *path, const char *xml, size_t size, size_t room) {
    counter c = {0};
    sti_allocator allocator = counter_allocator(&c);
    sti_load_options options = sti_load_options_default();
    options.allocator = &allocator;
    options.assets = given;
    options.nasset = ngiven;
    options.no_disk = path == NULL;
    sti_error error = {0};
    sti_report report;
    sti_report_init(&report, &allocator);
    double start = seconds();
    sti_spec *spec = path ? sti_spec_load(path, &options, &report, &error)
                          : sti_spec_parse(xml, size, &options, &report, &error);
    sti_model *model = spec ? sti_model_compile(spec, &report, &error) : NULL;
    CHECK(seconds() - start < SLOWDOWN);
    CHECK(model || error.code != STI_OK);
    CHECK(model || report.nerror > 0); /* an error is also in the report */
    for (int i = 0; i < report.count && !path; i++) {
        const sti_diagnostic *d = &report.items[i];
        bool placed = d->severity != STI_SEVERITY_ERROR || d->error.line > 0;
        if (!placed) fprintf(stderr, "no line: %s\n", d->error.message);
        CHECK(placed);
    }
    sti_model_free(model);
    sti_spec_free(spec);
    sti_report_free(&report);
    CHECK(c.blocks == 0 && c.live == 0 && c.wrong_size == 0);
    CHECK(c.peak <= 8 * size + room);
    if (model) error.code = STI_OK;
    return error;
}

static bool matches(const sti_error *e, const bad *b) {
    return e->code == b->code && (b->line < 0 || e->line == b->line) &&
           (!b->element || strcmp(e->element, b->element) == 0) &&
           (!b->attribute || strcmp(e->attribute, b->attribute) == 0);
}

static void judge(const sti_error *e, const bad *b, const char *what) {
    char text[1024];
    bool ok = matches(e, b);
    if (!ok)
        fprintf(stderr, "%.200s\n  gave %s, %s\n  not %s at line %d %s@%s\n", what, sti_status_name(e->code),
                sti_error_format(e, text, sizeof text), sti_status_name(b->code), b->line,
                b->element ? b->element : "?", b->attribute ? b->attribute : "?");
    CHECK(ok);
    CHECK(b->code == STI_OK || e->message[0]);
}

static inline void expect(const bad *b) {
    sti_error e = run(NULL, b->xml, strlen(b->xml), 4 << 20);
    judge(&e, b, b->xml);
}

/* ---- scenes ------------------------------------------------------------------------------------------- */

/* what is inside stands in line 3 */
#define WORLD(x) "<mujoco>\n<worldbody>\n" x "\n</worldbody>\n</mujoco>"
#define TOP(x) "<mujoco>\n\n" x "\n</mujoco>"
/* a model with a joint, a site and so on, to refer to; x in line 3 */
#define ROBOT(x)                                                                                            \
    "<mujoco>\n<worldbody><body name='b'><joint name='j'/><geom name='g' size='1'/><site name='s'/></body>" \
    "<site name='t'/></worldbody>\n" x "\n</mujoco>"

#endif
