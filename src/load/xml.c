/* SPDX-License-Identifier: Apache-2.0 */
/* XML to elements, by expat. Includes are read where they stand. What is wrong but can be skipped is
   collected; what makes the rest unreadable stops the reader. */
#include "load/urdf.h"
#include <expat.h>
#include <stdio.h>
#include <string.h>

#define SEPARATOR '|' /* between namespace and name in what expat gives */

/* All files of one load. */
typedef struct loader {
    sti_spec *spec;
    sti__judge *judge;
    sti__vec included; /* const char *, tidy paths of files read so far */
    int depth;         /* of includes */
    sti_status stop;   /* why reading cannot go on */
    bool is_urdf;
    sti__urdf urdf; /* of the main file */
} loader;

/* One file. */
typedef struct reader {
    loader *all;
    XML_Parser parser;
    const char *file;
    sti_element *current; /* where children go; NULL before the root of the main file */
    int depth;            /* elements of this file that are open */
    int skip;             /* open elements inside an unusable one, 0 if none */
    bool included;        /* the root element stands for the including element */
    bool spoke;           /* the open element's stray text was reported */
    bool block;           /* in the <mujoco> block of URDF */
} reader;

/* ---- messages ---------------------------------------------------------------------------------- */

static sti__place here(const reader *r, const char *element, const char *attribute) {
    return (sti__place){r->file, (int)XML_GetCurrentLineNumber(r->parser), element, attribute};
}

/* Nothing after this can be trusted: stops all files. */
static void halt(reader *r, const sti_error *error) {
    sti__judge_error(r->all->judge, error);
    r->all->stop = error->code;
    XML_StopParser(r->parser, XML_FALSE);
}

static void halt_memory(reader *r, sti_status code) {
    sti_error error;
    sti__out_of_memory(&error, here(r, NULL, NULL), code);
    halt(r, &error);
}

/* ---- names ---------------------------------------------------------------------------------------- */

typedef struct name {
    const char *local;
    bool own, foreign;
} name;

static name split(const char *given) {
    const char *bar = strrchr(given, SEPARATOR);
    if (!bar) return (name){given, false, false};
    size_t n = (size_t)(bar - given);
    bool own = n == strlen(STI__NAMESPACE) && memcmp(given, STI__NAMESPACE, n) == 0;
    return (name){bar + 1, own, !own};
}

/* Once nobody reads the messages any more, looking for near names only takes time. */
static bool may_guess(const reader *r, name n) { return !n.foreign && r->all->judge->count < STI_REPORT_MAX; }

static const char *prefix(bool own) { return own ? STI__PREFIX : ""; }

static void unknown_element(reader *r, name tag) {
    sti_error error;
    sti__place place = here(r, tag.local, NULL);
    const sti__elem_info *parent = r->current ? sti__schema(r->current->id) : NULL;
    const char *guess =
        parent && may_guess(r, tag) ? sti__suggest_child(r->current->id, tag.local, tag.own) : NULL;
    if (tag.foreign)
        sti__fail_at(&error, place, STI_SCHEMA,
                     "the element is in an unknown XML namespace; ours is " STI__NAMESPACE);
    else if (!parent)
        sti__fail_at(&error, place, STI_SCHEMA, "the root element must be 'mujoco', or 'robot' of URDF");
    else if (guess)
        sti__fail_at(&error, place, STI_SCHEMA, "unknown element in '%s', did you mean '%s%s'?", parent->tag,
                     prefix(tag.own), guess);
    else if (sti__schema_knows(tag.local, tag.own))
        sti__fail_at(&error, place, STI_SCHEMA, "not allowed in '%s'", parent->tag);
    else sti__fail_at(&error, place, STI_SCHEMA, "unknown element in '%s'", parent->tag);
    sti__judge_error(r->all->judge, &error);
}

static void unknown_attribute(reader *r, const sti_element *e, name attribute) {
    sti_error error;
    sti__place place = here(r, sti__schema(e->id)->tag, attribute.local);
    const char *guess =
        may_guess(r, attribute) ? sti__suggest_attr(e->id, attribute.local, attribute.own) : NULL;
    if (attribute.foreign)
        sti__fail_at(&error, place, STI_SCHEMA,
                     "the attribute is in an unknown XML namespace; ours is " STI__NAMESPACE);
    else if (guess)
        sti__fail_at(&error, place, STI_SCHEMA, "unknown attribute, did you mean '%s%s'?",
                     prefix(attribute.own), guess);
    else sti__fail_at(&error, place, STI_SCHEMA, "unknown attribute");
    sti__judge_error(r->all->judge, &error);
}

/* ---- elements ----------------------------------------------------------------------------------------- */

static void set_attributes(reader *r, sti_element *e, const char **pairs) {
    for (; pairs[0]; pairs += 2) {
        name attribute = split(pairs[0]);
        const sti__attr_info *info =
            attribute.foreign ? NULL : sti__schema_attr(e->id, attribute.local, attribute.own);
        if (!info) {
            unknown_attribute(r, e, attribute);
            continue;
        }
        sti_error error = {0};
        sti_status code = sti__value_set(e, info, pairs[1], &error);
        if (code == STI_NO_MEMORY || code == STI_LIMIT) {
            halt(r, &error);
            return;
        }
        if (code) sti__judge_error(r->all->judge, &error);
        else if (error.code) sti__judge_idle(r->all->judge, info, r->file, info->flags & STI_F_LOOKS, &error);
    }
}

/* Elements that are not supported yet are named once; their content is not looked at. */
static bool supported(reader *r, sti__eid id) {
    const sti__elem_info *info = sti__schema(id);
    sti_error error = {0};
    sti__place place = here(r, info->tag, NULL);
    if (info->flags & STI_F_IDLE) {
        sti__fail_at(&error, place, STI_UNSUPPORTED, "has no effect here: %s", info->doc);
        sti__judge_idle(r->all->judge, info, r->file, false, &error);
    }
    if (!(info->flags & STI_F_UNSUPPORTED)) return true;
    bool looks = (info->flags & STI_F_LOOKS) != 0;
    sti__fail_at(&error, place, STI_UNSUPPORTED, "%s",
                 looks ? "is not supported yet, only looks are affected"
                       : "this element is not supported yet");
    if (looks) sti__judge_idle(r->all->judge, info, r->file, true, &error);
    else sti__judge_error(r->all->judge, &error);
    return false;
}

/* Too deep, or one more than there may be. */
static bool too_large(reader *r, const char *tag) {
    int limit;
    sti_error error = {0};
    if (sti__too_deep(r->current, &limit) || r->depth >= 2 * STI__DEPTH_MAX)
        sti__fail_at(&error, here(r, tag, NULL), STI_LIMIT, "elements are nested more than %d deep", limit);
    else sti__room_for(r->all->spec, 1, here(r, tag, NULL), &error);
    if (error.code) halt(r, &error);
    return error.code != STI_OK;
}

static void open_element(reader *r, name tag, const char **pairs) {
    sti__eid id = STI_E_COUNT;
    if (tag.foreign) id = STI_E_COUNT;
    else if (r->current) id = sti__schema_child(r->current->id, tag.local, tag.own);
    else if (!tag.own && strcmp(tag.local, "mujoco") == 0) id = STI_E_mujoco;
    if (id == STI_E_COUNT) unknown_element(r, tag);
    if (id == STI_E_COUNT || !supported(r, id)) {
        r->skip = 1;
        return;
    }
    sti_status code;
    sti_element *e = sti__element_new(r->all->spec, r->current, id, &code);
    if (!e) {
        halt_memory(r, code);
        return;
    }
    if (!r->current) r->all->spec->root = e;
    e->file = r->file;
    e->line = (int)XML_GetCurrentLineNumber(r->parser);
    r->current = e;
    set_attributes(r, e, pairs);
}

/* ---- includes ----------------------------------------------------------------------------------------- */

static sti_status read_file(loader *all, const char *file, const void *data, size_t size,
                            sti_element *parent);

static bool seen(const loader *all, const char *file) {
    for (size_t i = 0; i < all->included.count; i++)
        if (strcmp(((const char **)all->included.data)[i], file) == 0) return true;
    return false;
}

/* The file attribute of <include>; anything else is unknown. */
static const char *include_name(reader *r, const char **pairs) {
    const char *found = NULL;
    for (; pairs[0]; pairs += 2) {
        if (strcmp(pairs[0], "file") == 0) found = pairs[1];
        else unknown_attribute(r, &(sti_element){.id = STI_E_include}, split(pairs[0]));
    }
    return found;
}

static bool may_include(reader *r, const char *file, const char *path, sti_error *error) {
    sti__place place = here(r, "include", "file");
    if (!file || !file[0])
        sti__fail_at(error, place, STI_SCHEMA, "the name of the file to include is missing");
    else if (!r->current) sti__fail_at(error, place, STI_SCHEMA, "the root element must be 'mujoco'");
    else if (seen(r->all, path))
        sti__fail_at(error, place, STI_REFERENCE, "'%.120s' is included twice", file);
    else if (r->all->depth >= STI__INCLUDE_MAX)
        sti__fail_at(error, place, STI_LIMIT, "includes are nested more than %d deep", STI__INCLUDE_MAX);
    else return true;
    return false;
}

static void include(reader *r, const char **pairs) {
    sti_spec *spec = r->all->spec;
    sti_error error = {0};
    char path[STI__PATH_ROOM] = "";
    const char *file = include_name(r, pairs), *kept = NULL;
    void *data = NULL;
    size_t size = 0;
    r->skip = 1; /* <include> has no content of its own */
    if (file && !sti__path_join(path, sizeof path, spec->folder, NULL, file)) file = NULL;
    sti__path_tidy(path);
    if (!may_include(r, file, path, &error)) {
        sti__judge_error(r->all->judge, &error);
        return;
    }
    if (sti__include_read(spec, r->file, file, here(r, "include", "file"), path, &data, &size, &error)) {
        if (error.code == STI_NO_MEMORY) halt(r, &error);
        else sti__judge_error(r->all->judge, &error);
        return;
    }
    kept = sti__spec_file(spec, path);
    if (kept && seen(r->all, kept)) {
        may_include(r, file, kept, &error);
        sti__judge_error(r->all->judge, &error);
    } else if (!kept || !sti__vec_push(&r->all->included, &kept)) halt_memory(r, STI_NO_MEMORY);
    else if (read_file(r->all, kept, data, size, r->current)) XML_StopParser(r->parser, XML_FALSE);
    sti__free(&spec->allocator, data, size);
}

/* ---- URDF ----------------------------------------------------------------------------------------------- */

static void begin_urdf(reader *r) {
    sti_status code;
    sti_element *root = sti__element_new(r->all->spec, NULL, STI_E_mujoco, &code);
    if (!root) {
        halt_memory(r, code);
        return;
    }
    root->file = r->file;
    root->line = (int)XML_GetCurrentLineNumber(r->parser);
    r->all->spec->root = root;
    r->all->is_urdf = true;
}

/* Whether an element of URDF was taken; the content of a <mujoco> block is not. depth: of the element, from 1 on. */
static bool open_urdf(reader *r, name tag, const char **pairs, int depth) {
    if (depth == 1 && !r->included && !tag.own && !tag.foreign && strcmp(tag.local, "robot") == 0)
        begin_urdf(r);
    if (!r->all->is_urdf || r->included || r->block) return false;
    if (depth == 2 && !tag.foreign && strcmp(tag.local, "mujoco") == 0) {
        r->block = true;
        r->current = r->all->spec->root;
    } else if (!r->all->stop && !sti__urdf_open(&r->all->urdf, tag.foreign ? "" : tag.local, pairs,
                                                (int)XML_GetCurrentLineNumber(r->parser)))
        halt_memory(r, STI_NO_MEMORY);
    return true;
}

static bool close_urdf(reader *r, int depth) {
    if (!r->all->is_urdf || r->included || (r->block && depth > 2)) return false;
    if (r->block) r->current = NULL, r->block = false;
    else sti__urdf_close(&r->all->urdf);
    return true;
}

/* ---- expat's callbacks
   ---------------------------------------------------------------------------------------- */

static void XMLCALL on_start(void *context, const char *given, const char **pairs) {
    reader *r = context;
    name tag = split(given);
    if (r->all->stop || too_large(r, tag.local)) return;
    bool root = r->depth++ == 0;
    r->spoke = false;
    if (r->skip) r->skip++;
    else if (open_urdf(r, tag, pairs, r->depth)) return;
    else if (root && r->included) return; /* its children take its place */
    else if (!tag.own && !tag.foreign && strcmp(tag.local, "include") == 0) include(r, pairs);
    else open_element(r, tag, pairs);
}

static void XMLCALL on_end(void *context, const char *given) {
    (void)given;
    reader *r = context;
    if (r->all->stop) return;
    bool root = --r->depth == 0;
    if (r->skip) r->skip--;
    else if (close_urdf(r, r->depth + 1)) return;
    else if (!(root && r->included)) r->current = r->current->parent;
}

static void XMLCALL on_text(void *context, const char *text, int size) {
    reader *r = context;
    if (r->all->stop || r->skip || r->spoke || (r->all->is_urdf && !r->current)) return;
    for (int i = 0; i < size; i++) {
        if (strchr(" \t\r\n", text[i]) && text[i]) continue;
        sti_error error;
        const char *tag = r->current ? sti__schema(r->current->id)->tag : NULL;
        sti__fail_at(&error, here(r, tag, NULL), STI_SCHEMA,
                     "text between elements has no meaning; is a '<' or a comment mark missing?");
        sti__judge_warning(r->all->judge, &error);
        r->spoke = true;
        return;
    }
}

static void XMLCALL on_doctype(void *context, const char *doctype, const char *system, const char *public,
                               int internal) {
    (void)doctype, (void)system, (void)public, (void)internal;
    reader *r = context;
    sti_error error;
    sti__fail_at(&error, here(r, NULL, NULL), STI_XML, "DOCTYPE is not allowed");
    halt(r, &error);
}

/* ---- files
   -------------------------------------------------------------------------------------------------------- */

/* What is still open, where a tag does not match or the file ends; NULL if it is not known. */
static const sti_element *unclosed(const reader *r, enum XML_Error why) {
    bool missing = why == XML_ERROR_TAG_MISMATCH || why == XML_ERROR_NO_ELEMENTS;
    return missing && r->depth > 0 && !r->skip && r->current && r->current->file == r->file ? r->current
                                                                                            : NULL;
}

static void syntax_error(reader *r) {
    enum XML_Error why = XML_GetErrorCode(r->parser);
    const sti_element *open = unclosed(r, why);
    sti_error error;
    if (why == XML_ERROR_NO_MEMORY) sti__out_of_memory(&error, here(r, NULL, NULL), STI_NO_MEMORY);
    else if (why == XML_ERROR_UNBOUND_PREFIX)
        sti__fail_at(&error, here(r, NULL, NULL), STI_XML,
                     "unbound prefix; that of our own names is declared by xmlns:sti=\"" STI__NAMESPACE
                     "\" in the root element");
    else if (open)
        sti__fail_at(&error, here(r, NULL, NULL), STI_XML, "%s: <%s> of line %d is not closed",
                     why == XML_ERROR_TAG_MISMATCH ? "mismatched tag" : "the file ends too early",
                     sti__schema(open->id)->tag, open->line);
    else if (why == XML_ERROR_NO_ELEMENTS && r->depth == 0)
        sti__fail_at(&error, here(r, NULL, NULL), STI_XML, "the file is empty");
    else sti__fail_at(&error, here(r, NULL, NULL), STI_XML, "%s", XML_ErrorString(why));
    sti__judge_error(r->all->judge, &error);
    r->all->stop = error.code;
}

/* Reads one file below `parent` (NULL: the main file). Not STI_OK if all reading must stop. */
static sti_status read_file(loader *all, const char *file, const void *data, size_t size,
                            sti_element *parent) {
    reader r = {.all = all, .file = file, .current = parent, .included = parent != NULL};
    r.parser = XML_ParserCreateNS(NULL, SEPARATOR);
    if (!r.parser) {
        sti_error error;
        sti__out_of_memory(&error, (sti__place){.file = file}, STI_NO_MEMORY);
        sti__judge_error(all->judge, &error);
        return all->stop = STI_NO_MEMORY;
    }
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_start, on_end);
    XML_SetCharacterDataHandler(r.parser, on_text);
    XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
    all->depth++;
    enum XML_Status status = XML_Parse(r.parser, data ? data : "", (int)size, 1);
    all->depth--;
    if (status != XML_STATUS_OK && !all->stop) syntax_error(&r);
    XML_ParserFree(r.parser);
    return all->stop;
}

sti_status sti__xml_read(sti_spec *spec, const char *file, const void *data, size_t size, sti__judge *judge) {
    loader all = {.spec = spec, .judge = judge};
    sti_error error;
    if (size > STI__XML_MAX) {
        sti__fail_at(&error, (sti__place){.file = file}, STI_LIMIT, "the file is larger than 1 GiB");
        sti__judge_error(judge, &error);
        return error.code;
    }
    sti__vec_init(&all.included, sizeof(char *), &spec->allocator);
    sti__urdf_init(&all.urdf, &spec->allocator);
    char path[4096];
    const char *kept = NULL; /* the main file counts as included */
    if (sti__path_join(path, sizeof path, NULL, NULL, file)) {
        sti__path_tidy(path);
        kept = sti__spec_file(spec, path);
    }
    if (kept && sti__vec_push(&all.included, &kept)) read_file(&all, file, data, size, NULL);
    else {
        sti__out_of_memory(&error, (sti__place){.file = file}, all.stop = STI_NO_MEMORY);
        sti__judge_error(judge, &error);
    }
    if (all.is_urdf && !all.stop) sti__urdf_build(&all.urdf, spec, file, judge);
    sti__urdf_free(&all.urdf);
    sti__vec_free(&all.included);
    return all.stop;
}
