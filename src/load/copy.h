/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of elements, and who refers to whom by name: what <replicate> and <attach> have in common. */
#ifndef STI_LOAD_COPY_H
#define STI_LOAD_COPY_H

#include "load/tree.h"

/* A name that others may refer to. */
typedef struct sti__named {
    sti__eid kind; /* body, geom, joint, site, camera, spatial for tendons, motor for actuators */
    const char *name;
} sti__named;

/* Lists of sti__named; sorted before they are looked into. */
bool sti__named_add(sti__vec *names, const sti_element *e); /* false without memory */
void sti__named_sort(sti__vec *names);
bool sti__named_has(const sti__vec *names, sti__eid kind, const char *name);
/* What an attribute refers to; STI_E_COUNT if it is no reference to something in a tree. */
sti__eid sti__referred(const sti_element *e, sti__aid attribute);
/* Whether an element or anything in it refers to one of the names. */
bool sti__refers(const sti__vec *names, const sti_element *top);

/* How elements are copied, within a spec or from another one. */
typedef struct sti__copy {
    sti_spec *to;
    sti_status (*value)(struct sti__copy *copy, sti_element *to, const sti__value *v);
    sti_error *error;
    /* when all values of an element are there; may be NULL */
    sti_status (*after)(struct sti__copy *copy, const sti_element *from, sti_element *to);
} sti__copy;

sti_status sti__copy_set(sti__copy *copy, sti_element *e, sti__aid attribute, const char *text);
/* A new element of this kind at the end of parent, with file and line of another; NULL: see the error. */
sti_element *sti__copy_element(sti__copy *copy, sti_element *parent, const sti_element *like, sti__eid id);
sti_status sti__copy_reals(sti__copy *copy, sti_element *e, sti__aid attribute, const double *x, int n);
/* An element and everything below it, at the end of parent. */
sti_status sti__copy_tree(sti__copy *copy, const sti_element *top, sti_element *parent);

/* Euler angles of a file as a turn, in its units and in the order of compiler@eulerseq. */
void sti__turn_by(const sti_spec *spec, const double angle[3], double quat[4]);

#endif
