/* SPDX-License-Identifier: Apache-2.0 */
/* How the model compiler reads a spec. Attribute and element ids come from schema.def. */
#ifndef STI_LOAD_ELEMENT_H
#define STI_LOAD_ELEMENT_H

#include "base/internal.h"
#include <stiction/spec.h>

/* Numbers of a file are in SI units and not larger than these, so that what is made of them is finite (docs/limits.md). */
#define STI__MOST_SPACE 1e10
#define STI__MOST_NUMBER 1e40

/* Flags of elements and attributes in schema.def. */
enum {
    STI_F_NODEFAULT = 1,   /* attribute: not allowed inside <default> */
    STI_F_REQUIRED = 2,    /* attribute: must be given (except inside <default>) */
    STI_F_LOOKS = 4,       /* kept, affects looks only */
    STI_F_UNSUPPORTED = 8, /* valid MJCF, not supported yet: an error, or a warning with LOOKS.
                         An attribute may be given with its standard value; an element's content is not looked at */
    STI_F_IDLE = 16,       /* accepted with a warning that it has no effect */
    STI_F_OWN = 64,        /* in the namespace urn:stiction */
    STI_F_ONCE = 128,      /* element: at most once in its parent; in <default> that holds for all */
    STI_F_SPACE = 256,     /* attribute: lengths, positions, velocities or times, up to STI__MOST_SPACE */
    STI_F_ANY = 512        /* attribute: numbers of any size; others are up to STI__MOST_NUMBER */
};

/* What default classes tell apart: elements of one kind share their defaults. */
/* clang-format off */
#define STI__KINDS(X) \
    X(none) X(geom) X(joint) X(site) X(camera) X(light) X(mesh) X(texture) X(material) X(pair) X(equality) X(tendon) X(actuator)
/* clang-format on */
typedef enum sti__kind {
#define X(name) STI_K_##name,
    STI__KINDS(X)
#undef X
        STI_K_COUNT
} sti__kind;

/* STI_E_geom, STI_E_body, ...: one per schema element (an element of the same tag in another place
   has its own id: STI_E_joint in a body, STI_E_equality_joint, STI_E_fixed_joint). */
typedef enum sti__eid {
#define ELEM(id, tag, parents, kind, flags, doc) STI_E_##id,
#define ATTR(...)
#include "load/schema.def"
#undef ELEM
#undef ATTR
    STI_E_COUNT
} sti__eid;

/* STI_A_pos, ...: one per attribute NAME, shared by all elements that have it. */
typedef enum sti__aid {
#define NAME(name) STI_A_##name,
#include "load/names.def"
#undef NAME
    STI_A_COUNT
} sti__aid;

/* ---- walking -------------------------------------------------------------------------------- */

sti__eid sti__eid_of(const sti_element *element);
sti__place sti__place_of(const sti_element *element); /* file, line and tag of the element */
sti__place sti__place_attr(const sti_element *element,
                           sti__aid attribute); /* line of the attribute's element */
/* First child with this id, and the next sibling with the same id; NULL at the end. */
const sti_element *sti__first(const sti_element *parent, sti__eid id);
const sti_element *sti__next_same(const sti_element *element);
const sti_element *sti__root(const sti_spec *spec);
const sti_load_options *sti__spec_options(const sti_spec *spec);
size_t sti__spec_memory(const sti_spec *spec); /* bytes that its limit leaves for the model */

/* What the loader checks in the whole tree (missing attributes, repeated elements, unknown classes), for
   specs that were edited by hand. */
bool sti__spec_check(const sti_spec *spec, sti_report *report, sti_error *error);

/* ---- values ----------------------------------------------------------------------------------- */

/* Looks in the element, then in the default classes that apply to it (class, nearest childclass,
   "main"), innermost first, by the schema's kind (all actuators share one kind, all tendons too). */
bool sti__has(const sti_element *element, sti__aid attribute);     /* set there or in a default */
bool sti__has_own(const sti_element *element, sti__aid attribute); /* set on the element itself */
/* Written on the element itself, be it an empty name, which counts as none above. */
bool sti__has_written(const sti_element *element, sti__aid attribute);
/* The element or default where the attribute is set, NULL if nowhere. An actuator default of another
   shortcut (kp of a <position> default) says so by its sti__eid_of. */
const sti_element *sti__where(const sti_element *element, sti__aid attribute);
/* Walks the defaults of an element, innermost first: pass NULL, then what came back. */
const sti_element *sti__default_next(const sti_element *element, const sti_element *previous);

/* Numbers: returns how many the innermost setting gave (0 if unset). Fills out[0..max): the schema's
   default, over it what outer classes give, over it what inner ones give, as far as each goes.
   Without any of them out keeps what the caller put there. */
int sti__reals(const sti_element *element, sti__aid attribute, double *out, int max);
/* One number; `otherwise` if unset and the schema has no default. */
double sti__real(const sti_element *element, sti__aid attribute, double otherwise);
int sti__int(const sti_element *element, sti__aid attribute, int otherwise);
/* Index of a keyword in the schema's list ("plane|hfield|sphere" -> 0, 1, 2); `otherwise` if unset
   and the schema has no default. Booleans are "false|true", tri-states "false|true|auto". */
int sti__keyword(const sti_element *element, sti__aid attribute, int otherwise);
/* Text or NULL. */
const char *sti__text(const sti_element *element, sti__aid attribute);
/* All numbers of a long list (mesh vertex, face): pointer valid while the spec lives. */
const double *sti__list(const sti_element *element, sti__aid attribute, int *count);

/* Sections may come several times (compiler, option, flag, visual's map, ...) and the last setting of
   an attribute counts. The last such element that sets it; if there is none, a blank one that gives
   the schema's defaults. Never NULL: sti__real(sti__setting(spec, STI_E_option, STI_A_timestep),
   STI_A_timestep, 0). */
const sti_element *sti__setting(const sti_spec *spec, sti__eid id, sti__aid attribute);

/* Reads a file named in the XML: `dir` (meshdir, may be NULL) and name are joined as MuJoCo does,
   relative to the main file; assets first, then disk; leaving the model's folder is an error.
   compiler@strippath is heeded. data is freed with sti__free(sti__spec_allocator(spec), data, size); an
   empty file gives NULL and 0. */
sti_status sti__spec_read_file(const sti_spec *spec, const char *dir, const char *name, sti__place place,
                               void **data, size_t *size, sti_error *error);
const sti_allocator *sti__spec_allocator(const sti_spec *spec);

#endif
