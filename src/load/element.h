/* SPDX-License-Identifier: Apache-2.0 */
/* How the model compiler reads a spec. Attribute and element ids come from schema.def. */
#ifndef STI_LOAD_ELEMENT_H
#define STI_LOAD_ELEMENT_H

#include "base/internal.h"
#include <stiction/spec.h>

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
sti__place sti__place_attr(const sti_element *element, sti__aid attribute); /* line of the attribute's element */
/* First child with this id, and the next sibling with the same id; NULL at the end. */
const sti_element *sti__first(const sti_element *parent, sti__eid id);
const sti_element *sti__next_same(const sti_element *element);
const sti_element *sti__root(const sti_spec *spec);
const sti_load_options *sti__spec_options(const sti_spec *spec);

/* ---- values ----------------------------------------------------------------------------------- */

/* Looks in the element, then in the default classes that apply to it (class, nearest childclass,
   "main"), innermost first, by the schema's kind (all actuators share one kind, all tendons too). */
bool sti__has(const sti_element *element, sti__aid attribute);       /* set there or in a default */
bool sti__has_own(const sti_element *element, sti__aid attribute);   /* set on the element itself */

/* Numbers: returns how many were given (0 if unset). Fills out[0..max): given ones, then the
   schema's default for the rest; without a default out keeps what the caller put there. */
int sti__reals(const sti_element *element, sti__aid attribute, double *out, int max);
double sti__real(const sti_element *element, sti__aid attribute, double otherwise);
int sti__int(const sti_element *element, sti__aid attribute, int otherwise);
/* Index of a keyword in the schema's list ("plane|hfield|sphere" -> 0, 1, 2); `otherwise` if unset
   and the schema has no default. Booleans are "false|true", tri-states "false|true|auto". */
int sti__keyword(const sti_element *element, sti__aid attribute, int otherwise);
/* Text or NULL. */
const char *sti__text(const sti_element *element, sti__aid attribute);
/* All numbers of a long list (mesh vertex): pointer valid while the spec lives. */
const double *sti__list(const sti_element *element, sti__aid attribute, int *count);

/* Reads a file named in the XML: `dir` (meshdir, may be NULL) and name are joined as MuJoCo does,
   relative to the main file; assets first, then disk; leaving the model's folder is an error.
   data is freed with sti__free(sti__spec_allocator(spec), data, size). */
sti_status sti__spec_read_file(const sti_spec *spec, const char *dir, const char *name,
                               sti__place place, void **data, size_t *size, sti_error *error);
const sti_allocator *sti__spec_allocator(const sti_spec *spec);

#endif
