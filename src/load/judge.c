/* SPDX-License-Identifier: Apache-2.0 */
/* Collects what is wrong with a file and what has no effect in it. */
#include "load/tree.h"
#include <stdio.h>
#include <string.h>

void sti__judge_init(sti__judge *judge, sti_report *report, const sti_spec *spec) {
    *judge = (sti__judge){.report = report, .log = spec->options.log};
    sti__vec_init(&judge->said, sizeof(sti__saying), &spec->allocator);
}

void sti__judge_error(sti__judge *judge, const sti_error *error) {
    if (judge->count++ == 0) judge->first = *error;
    sti__report_add(judge->report, STI_SEVERITY_ERROR, error);
}

void sti__judge_warning(sti__judge *judge, const sti_error *error) {
    sti__report_add(judge->report, STI_SEVERITY_WARNING, error);
    if (!judge->log || !judge->log->write) return;
    char text[sizeof(sti_error)];
    judge->log->write(judge->log->context, STI_LOG_WARNING, sti_error_format(error, text, sizeof text));
}

/* Whether it is the first time; without memory it always is. */
static bool is_new(sti__judge *judge, const void *what, const char *file) {
    const sti__saying *said = (const sti__saying *)judge->said.data;
    for (size_t i = 0; i < judge->said.count; i++)
        if (said[i].what == what && said[i].file == file) return false;
    sti__vec_push(&judge->said, &(sti__saying){what, file});
    return true;
}

/* "; nor are texture@mark, texture@width" as far as there is room */
static void add_looks(sti__judge *judge, const sti_error *error) {
    if (judge->nlooks++ == 0) {
        judge->looks = *error;
        return;
    }
    char *message = judge->looks.message;
    size_t used = strlen(message), room = sizeof judge->looks.message - used;
    int need = snprintf(message + used, room, "%s%s%s%s", judge->nlooks == 2 ? "; nor are " : ", ",
                        error->element, error->attribute[0] ? "@" : "", error->attribute);
    if (need < 0 || (size_t)need + 5 > room) snprintf(message + used, room, "%s", room > 5 ? ", ..." : "");
}

void sti__judge_idle(sti__judge *judge, const void *what, const char *file, bool looks,
                     const sti_error *error) {
    if (!is_new(judge, what, file)) return;
    if (looks) add_looks(judge, error);
    else sti__judge_warning(judge, error);
}

void sti__judge_finish(sti__judge *judge) {
    if (judge->nlooks) sti__judge_warning(judge, &judge->looks);
    sti__vec_free(&judge->said);
}
