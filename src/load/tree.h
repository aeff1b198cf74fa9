/* SPDX-License-Identifier: Apache-2.0 */
/* The spec as the load stage sees it: schema tables, elements and their values. */
#ifndef STI_LOAD_TREE_H
#define STI_LOAD_TREE_H

#include "load/element.h"

#define STI__NAMESPACE "urn:stiction"
#define STI__PREFIX "sti:"  /* how names of our own namespace are written in the API */
#define STI__DEPTH_MAX 2000 /* elements inside one another: a rope is a body in a body in a body */
#define STI__BARE_MAX 200   /* the same without a body between, since every look-up passes them all */
#define STI__INCLUDE_MAX 32 /* includes inside one another */
#define STI__SECTION_MAX 64 /* outermost <default> sections, each lookup may pass them all */
#define STI__XML_MAX ((size_t)1 << 30)
#define STI__MEMORY_DEFAULT ((size_t)4 << 30)
#define STI__ELEMENT_DEFAULT ((size_t)1 << 20) /* a second or two, half a gigabyte */

/* ---- schema ------------------------------------------------------------------------------- */

typedef enum sti__type {
    STI_T_REAL,
    STI_T_INT,
    STI_T_KEY,
    STI_T_KEYS,
    STI_T_TEXT,
    STI_T_NAME,
    STI_T_FILE
} sti__type;

typedef struct sti__attr_info {
    const char *text; /* name as written, NULL ends a list */
    sti__aid name;
    sti__type type;
    int min, max;
    const char *otherwise, *words;
    int flags;
    const char *doc;
} sti__attr_info;

typedef struct sti__elem_info {
    const char *id, *tag, *parents;
    sti__kind kind;
    int flags;
    const char *doc;
    const sti__attr_info *attr;
} sti__elem_info;

const sti__elem_info *sti__schema(sti__eid id);
/* Child of `parent` with this tag; STI_E_COUNT if there is none. */
sti__eid sti__schema_child(sti__eid parent, const char *tag, bool own);
/* Attribute by written name, NULL if there is none. */
const sti__attr_info *sti__schema_attr(sti__eid id, const char *name, bool own);
const sti__attr_info *sti__schema_attr_by_id(sti__eid id, sti__aid name);
const char *sti__attr_name(sti__aid name);
/* Nearest known name, NULL if none is near. */
const char *sti__suggest_child(sti__eid parent, const char *tag, bool own);
const char *sti__suggest_attr(sti__eid id, const char *name, bool own);
const char *sti__suggest_word(const char *words, const char *word, size_t size, char *out, size_t room);
/* Index of a word in "a|!b|-c", -1 if it is not there; *mark gets '!', '-' or 0. */
int sti__word_index(const char *words, const char *word, size_t size, char *mark);
/* Whether some element of the schema has this tag. */
bool sti__schema_knows(const char *tag, bool own);

/* ---- values --------------------------------------------------------------------------------- */

/* One attribute as given, in one block: numbers (or keyword indices), then the text. */
typedef struct sti__value {
    struct sti__value *next; /* in the order of the file */
    const sti__attr_info *info;
    size_t size; /* bytes of this block */
    int count;
    const char *text;
    double number[];
} sti__value;

struct sti_element {
    sti__eid id;
    int line, depth;
    int bare;         /* elements around it up to the next body */
    const char *file; /* owned by the spec */
    sti_spec *spec;
    sti_element *parent, *child, *last, *next, *previous;
    sti__value *value, *last_value;
    const sti_element *scope; /* innermost <default> that applies, NULL = main; for an outermost
                                 <default>, the one before it; inside a <default>, the last
                                 sibling before it that is not a class */
};

/* A <default> by its class name. */
typedef struct sti__class {
    const char *name;
    const sti_element *element;
} sti__class;

struct sti_spec {
    sti_allocator allocator;
    sti_load_options options;
    sti_log log;
    size_t used, limit; /* bytes of elements and values */
    size_t nelement;
    sti_element *root;
    char *path, *folder;     /* of the main file; "" and "." without one */
    sti__vec files;          /* char *, names that elements point to */
    const sti_element *main; /* last outermost <default>, NULL if there is none */
    sti__class *classes;     /* open addressing, nslot is 0 or a power of two */
    size_t nslot;
    const sti_spec *attached_to; /* while it is read: the spec that asks for it, or NULL */
};

/* ---- tree.c ------------------------------------------------------------------------------------ */

sti_spec *sti__spec_new(const sti_load_options *options, sti_error *error);
void *sti__spec_alloc(sti_spec *spec, size_t size, sti_status *code); /* counted; LIMIT or NO_MEMORY */
void sti__spec_release(sti_spec *spec, void *ptr, size_t size);
char *sti__spec_string(sti_spec *spec, const char *text, size_t size, sti_status *code);
/* A name that lives as long as the spec; the same pointer for the same text as last time. */
const char *sti__spec_file(sti_spec *spec, const char *name);
/* A child at the end of parent, which may be NULL for the root. */
sti_element *sti__element_new(sti_spec *spec, sti_element *parent, sti__eid id, sti_status *code);
void sti__element_free(sti_element *element); /* with everything below; unlinks it */
/* Depth first, parents before children; NULL at the end of `top`'s subtree. */
const sti_element *sti__preorder(const sti_element *top, const sti_element *element);
bool sti__in_default(const sti_element *element);
/* Whether a child of `parent` would be too deep; *limit gets the number that is passed. */
bool sti__too_deep(const sti_element *parent, int *limit);
sti_status sti__out_of_memory(sti_error *error, sti__place place, sti_status code);
/* Fails if so many elements more are above the limit. */
sti_status sti__room_for(const sti_spec *spec, double more, sti__place place, sti_error *error);

/* ---- scope.c: which default class applies -------------------------------------------------------- */

const sti_element *sti__class_find(const sti_spec *spec, const char *name); /* NULL if there is none */
void sti__scope_all(sti_spec *spec);                                        /* after a change of classes */
void sti__scope_below(sti_element *element); /* after a change of class or childclass */
/* The class name that applies to an element and where it is written; NULL name = main. */
const char *sti__scope_name(const sti_element *element, const sti_element **where, sti__aid *attribute);

/* ---- value.c ----------------------------------------------------------------------------------------- */

const sti__value *sti__value_of(const sti_element *element, sti__aid name); /* own, NULL if unset */
const char *sti__own_text(const sti_element *element, sti__aid name);       /* NULL if unset or empty */
/* Checks text against the schema and replaces the attribute. A blank text for numbers unsets it. A
   warning goes to *error too, but STI_OK is returned. */
sti_status sti__value_set(sti_element *element, const sti__attr_info *info, const char *text,
                          sti_error *error);
void sti__value_unset(sti_element *element, const sti__attr_info *info);

/* ---- files.c ------------------------------------------------------------------------------------------ */

#define STI__PATH_ROOM 4096 /* of a path */
/* As sti__spec_read_file, but the name is taken as it is. */
sti_status sti__file_read(const sti_spec *spec, const char *dir, const char *name, size_t limit,
                          sti__place place, void **data, size_t *size, sti_error *error);
/* A file that file `from` includes: seen from the main file's folder, or else from its own; path becomes that of the latter. */
sti_status sti__include_read(const sti_spec *spec, const char *from, const char *name, sti__place place,
                             char path[STI__PATH_ROOM], void **data, size_t *size, sti_error *error);
/* folder/dir/name, where a later absolute part drops what is before it. false if it does not fit. */
bool sti__path_join(char *out, size_t room, const char *folder, const char *dir, const char *name);
/* In place; "./a/../b.xml" and "b.xml" are one file. */
void sti__path_tidy(char *path);

/* ---- xml.c, check.c
   ---------------------------------------------------------------------------------------- */

/* Collects what is wrong: everything goes to the report, the first error is kept. */
typedef struct sti__judge {
    sti_report *report; /* may be NULL */
    const sti_log *log; /* may be NULL */
    sti_error first;
    int count;     /* errors so far */
    sti__vec said; /* sti__saying: what has no effect is said once for each file */
    sti_error
        looks; /* the first attribute that only looks would show and do not; the others are added to its message */
    int nlooks;
} sti__judge;
typedef struct sti__saying {
    const void *what; /* sti__attr_info or sti__elem_info */
    const char *file;
} sti__saying;
void sti__judge_init(sti__judge *judge, sti_report *report, const sti_spec *spec);
/* Says what it has collected. */
void sti__judge_finish(sti__judge *judge);
void sti__judge_error(sti__judge *judge, const sti_error *error);
void sti__judge_warning(sti__judge *judge, const sti_error *error);
/* The same, once for each file and what; `looks`: with others of its kind in one. */
void sti__judge_idle(sti__judge *judge, const void *what, const char *file, bool looks,
                     const sti_error *error);

sti_status sti__xml_read(sti_spec *spec, const char *name, const void *data, size_t size, sti__judge *judge);
/* Reads another model that this one names; NULL with an error, of which the judge may have been told. */
sti_spec *sti__spec_other(const sti_spec *spec, const char *file, sti__place place, sti__judge *judge,
                          sti_error *error);
/* Writes strings and nets out, <flexcomp> of dimension 1 and 2; false if that failed. */
bool sti__flexcomps(sti_spec *spec, sti__judge *judge);
/* Writes cables out, <composite>; false if that failed. */
bool sti__composites(sti_spec *spec, sti__judge *judge);
/* Writes <attach> out; false if that failed. */
bool sti__attach(sti_spec *spec, sti__judge *judge);
/* Writes <replicate> out; false if that failed. */
bool sti__replicate(sti_spec *spec, sti__judge *judge);
/* What can only be seen in the whole tree: missing attributes, repeated elements, unknown classes. */
void sti__spec_judge(const sti_spec *spec, sti__judge *judge);

#endif
