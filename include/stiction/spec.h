/* SPDX-License-Identifier: Apache-2.0 */
/* The editable description of a scene: a tree of elements with attributes, as in MJCF.
   One schema table (src/load/schema.def) says which elements and attributes exist. */
#ifndef STICTION_SPEC_H
#define STICTION_SPEC_H

#include <stiction/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sti_spec sti_spec;
typedef struct sti_element sti_element;

/* A file given in memory; `name` is matched against paths in the XML as written there. */
typedef struct sti_asset {
    const char *name;
    const void *data;
    size_t size;
} sti_asset;

typedef struct sti_load_options {
    const sti_asset *assets; /* looked at before the disk; must live as long as the spec */
    int nasset;
    const sti_allocator *allocator; /* NULL = malloc */
    const sti_log *log;             /* NULL = none */
    size_t memory_limit;            /* bytes for spec, meshes and model; 0 = 4 GiB */
    size_t element_limit;           /* elements once <replicate> is written out; 0 = 1,048,576 */
    bool allow_outside;             /* let paths lead anywhere */
    const char *
        root; /* folder that relative paths may not leave, besides the main file's; NULL = its project (docs/files.md) */
    bool no_disk;    /* only assets may be read */
    uint64_t cookie; /* set by sti_load_options_default */
} sti_load_options;

STI_API sti_load_options sti_load_options_default(void);

/* Parse MJCF, following includes. NULL on failure. Unknown or misplaced elements and attributes
   are errors with their line; all of them go to `report`, the first one to `error`. */
STI_API sti_spec *sti_spec_load(const char *path, const sti_load_options *options, sti_report *report,
                                sti_error *error);
STI_API sti_spec *sti_spec_parse(const char *xml, size_t size, const sti_load_options *options,
                                 sti_report *report, sti_error *error);
/* An empty scene, to be built by hand. */
STI_API sti_spec *sti_spec_create(const sti_load_options *options, sti_error *error);
STI_API void sti_spec_free(sti_spec *spec);

/* The <mujoco> element. */
STI_API sti_element *sti_spec_root(sti_spec *spec);

/* ---- editing -------------------------------------------------------------------------------
   An element may be NULL, such as one that was not found: adding to it and setting are refused, the
   rest gives NULL. */

/* A new child at the end; NULL and `error` if the schema does not allow it there. */
STI_API sti_element *sti_element_add(sti_element *parent, const char *name, sti_error *error);
/* Removes it and everything in it; the root stays. */
STI_API void sti_element_remove(sti_element *element);
/* Set from text, checked against the schema: sti_element_set(geom, "size", "0.1 0.2 0.3", &e).
   text NULL unsets the attribute. Names in Stiction's own namespace are written "sti:record". */
STI_API sti_status sti_element_set(sti_element *element, const char *attribute, const char *text,
                                   sti_error *error);
/* The attribute's text as given, NULL if unset. Valid until the attribute changes. */
STI_API const char *sti_element_get(const sti_element *element, const char *attribute);
/* An attribute that is given. */
typedef enum sti_attribute_kind {
    STI_ATTRIBUTE_NUMBERS,
    STI_ATTRIBUTE_WORDS, /* of a list */
    STI_ATTRIBUTE_TEXT,
    STI_ATTRIBUTE_NAME, /* of the element, or of another that it refers to */
    STI_ATTRIBUTE_FILE
} sti_attribute_kind;
typedef struct sti_attribute {
    const char *name; /* without the prefix "sti:" */
    const char *text;
    sti_attribute_kind kind;
    bool own; /* in Stiction's own namespace: its name is written with the prefix */
} sti_attribute;
/* The attributes that are given, by number from 0, in the order of the file; false after the last. Valid as of sti_element_get. */
STI_API bool sti_element_attribute(const sti_element *element, int i, sti_attribute *out);
/* Whether an element may have this attribute, and of what kind it is. */
STI_API bool sti_element_knows(const sti_element *element, const char *attribute, sti_attribute_kind *kind);
STI_API const char *sti_element_name(const sti_element *element);
STI_API sti_element *sti_element_parent(const sti_element *element);
STI_API sti_element *sti_element_child(const sti_element *element); /* first child */
STI_API sti_element *sti_element_next(const sti_element *element);  /* next sibling */
/* First element in the tree with this tag and this name attribute, NULL if there is none. */
STI_API sti_element *sti_spec_find(sti_spec *spec, const char *tag, const char *name);

/* ---- writing --------------------------------------------------------------------------------- */

/* The spec as XML (includes expanded) into a string to be freed with sti_string_free.
   plain: leave out everything in Stiction's own namespace. */
STI_API char *sti_spec_write(const sti_spec *spec, bool plain, size_t *size, sti_error *error);
STI_API void sti_string_free(const sti_spec *spec, char *string, size_t size);

/* ---- the schema, for documentation and tools ------------------------------------------------ */

/* Writes a reference of all elements and attributes as Markdown through `write`. */
STI_API void sti_schema_document(void (*write)(void *context, const char *text), void *context);

#ifdef __cplusplus
}
#endif
#endif
