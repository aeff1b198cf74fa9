/* SPDX-License-Identifier: Apache-2.0 */
/* From a file or text to a checked spec. */
#include "load/tree.h"
#include <string.h>

/* The main file's path and folder; without a file the current folder. */
static sti_status set_path(sti_spec *spec, const char *path, sti_error *error) {
    const char *slash = strrchr(path, '/');
    size_t size = slash ? (size_t)(slash - path) : 0;
    sti_status code;
    spec->path = sti__spec_string(spec, path, strlen(path), &code);
    if (spec->path && !slash) spec->folder = sti__spec_string(spec, ".", 1, &code);
    else if (spec->path) spec->folder = sti__spec_string(spec, path, size ? size : 1, &code);
    return spec->folder ? STI_OK : sti__out_of_memory(error, (sti__place){0}, code);
}

static sti_spec *start(const char *path, const sti_load_options *options, sti_error *error) {
    sti_spec *spec = sti__spec_new(options, error);
    if (!spec || set_path(spec, path, error) == STI_OK) return spec;
    sti_spec_free(spec);
    return NULL;
}

/* Reads, then looks at the whole; the spec is freed if anything is wrong. */
static sti_spec *finish(sti_spec *spec, const char *name, const void *data, size_t size, sti_report *report,
                        sti_error *error) {
    sti__judge judge;
    sti__judge_init(&judge, report, spec);
    const char *file = sti__spec_file(spec, name);
    if (!file) sti__out_of_memory(&judge.first, (sti__place){0}, STI_NO_MEMORY);
    else if (sti__xml_read(spec, file, data, size, &judge) == STI_OK && spec->root) {
        bool whole =
            judge.first.code != STI_OK || (sti__flexcomps(spec, &judge) && sti__composites(spec, &judge) &&
                                           sti__attach(spec, &judge) && sti__replicate(spec, &judge));
        sti__scope_all(spec);
        if (whole) sti__spec_judge(spec, &judge); /* else half of the copies are missing */
    }
    sti__judge_finish(&judge);
    if (judge.first.code == STI_OK) return spec;
    if (error) *error = judge.first;
    sti_spec_free(spec);
    return NULL;
}

sti_spec *sti_spec_parse(const char *xml, size_t size, const sti_load_options *options, sti_report *report,
                         sti_error *error) {
    if (error) *error = (sti_error){0};
    if (!xml && size) {
        sti__fail(error, STI_ARGUMENT, "no text was given");
        return NULL;
    }
    sti_spec *spec = start("", options, error);
    return spec ? finish(spec, "", xml, size, report, error) : NULL;
}

/* The main file may be anywhere, so its folder is no limit for it. */
static sti_status read_main(sti_spec *spec, const char *path, void **data, size_t *size, sti_error *error) {
    const char *slash = strrchr(path, '/');
    bool strict = spec->options.allow_outside;
    spec->options.allow_outside = true;
    sti_status code = sti__file_read(spec, NULL, slash ? slash + 1 : path, STI__XML_MAX,
                                     (sti__place){.file = path}, data, size, error);
    spec->options.allow_outside = strict;
    return code;
}

sti_spec *sti_spec_load(const char *path, const sti_load_options *options, sti_report *report,
                        sti_error *error) {
    if (error) *error = (sti_error){0};
    if (!path || !path[0]) {
        sti__fail(error, STI_ARGUMENT, "no path was given");
        return NULL;
    }
    sti_error first = {0};
    sti_spec *spec = start(path, options, &first);
    void *data = NULL;
    size_t size = 0;
    if (!spec || read_main(spec, path, &data, &size, &first)) {
        sti__report_add(report, STI_SEVERITY_ERROR, &first);
        if (error) *error = first;
        sti_spec_free(spec);
        return NULL;
    }
    sti_allocator allocator = spec->allocator; /* the spec may be gone afterwards */
    spec = finish(spec, path, data, size, report, error);
    sti__free(&allocator, data, size);
    return spec;
}

/* A file that attaches itself, by way of others or not, has no end. */
static bool is_open(const sti_spec *spec, const char *path) {
    for (; spec; spec = spec->attached_to)
        if (strcmp(spec->path, path) == 0) return true;
    return false;
}

sti_spec *sti__spec_other(const sti_spec *spec, const char *file, sti__place place, sti__judge *judge,
                          sti_error *error) {
    char path[STI__PATH_ROOM];
    void *data = NULL;
    size_t size = 0;
    if (!sti__path_join(path, sizeof path, spec->folder, NULL, file)) {
        sti__fail_at(error, place, STI_LIMIT, "is too long a path");
        return NULL;
    }
    sti__path_tidy(path);
    if (is_open(spec, path)) {
        sti__fail_at(error, place, STI_REFERENCE, "'%.120s' attaches itself", file);
        return NULL;
    }
    if (sti__file_read(spec, NULL, file, STI__XML_MAX, place, &data, &size, error)) return NULL;
    sti_spec *other = start(path, &spec->options, error);
    if (other) {
        other->attached_to = spec;
        sti_error inner = {0};
        other = finish(other, path, data, size, judge->report, &inner);
        if (other) other->attached_to = NULL;
        else *error = inner, judge->first = judge->count++ ? judge->first : inner;
    }
    sti__free(&spec->allocator, data, size);
    return other;
}

sti_spec *sti_spec_create(const sti_load_options *options, sti_error *error) {
    if (error) *error = (sti_error){0};
    sti_spec *spec = start("", options, error);
    sti_status code;
    if (!spec) return NULL;
    spec->root = sti__element_new(spec, NULL, STI_E_mujoco, &code);
    if (spec->root) return spec;
    sti__out_of_memory(error, (sti__place){0}, code);
    sti_spec_free(spec);
    return NULL;
}
