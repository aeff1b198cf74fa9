/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of other models: what <attach> copies, what a file means under another's compiler settings, and keyframes. */
#ifndef STI_LOAD_ATTACH_H
#define STI_LOAD_ATTACH_H

#include "load/copy.h"

#define STI__NAME_ROOM 2000 /* bytes of a name with its prefix */

/* One <attach>. */
typedef struct sti__attaching {
    sti__copy copy; /* first: copies know it by this */
    const sti_spec *of;
    sti_element *place;      /* the <attach>, which becomes a frame */
    const sti_element *part; /* body or frame; NULL: all that is in the world */
    const char *prefix;
    char main[STI__NAME_ROOM]; /* class of what has none */
    sti__vec missing;          /* sti__named: what is not in the part */
    bool other_angles, other_limits, drop_inertial;
} sti__attaching;

/* ---- meaning.c: compiler settings ------------------------------------------------------------------ */

/* Looks at what differs; fails at what cannot be put in the words of the other file. */
sti_status sti__meaning_compare(sti__attaching *a);
/* After an element was copied: its angles, limits and inertia in the words of the other file. */
sti_status sti__meaning_adapt(sti__attaching *a, const sti_element *from, sti_element *to);
/* A file name of the one as the other must write it; false if that cannot be. */
bool sti__meaning_file(const sti__attaching *a, sti__eid id, const char *name, char out[STI__PATH_ROOM]);

/* ---- attach_keys.c ---------------------------------------------------------------------------------- */

/* Copies of keyframes whose place is not known before everything is attached. */
typedef struct sti__late_key {
    sti_element *key;
    const sti_element *place;
    int actuator; /* number of the first one that came with it */
} sti__late_key;
/* actuators: sti_element *, those of `of` that were taken; first: how many there were before. */
sti_status sti__keys_attach(sti__attaching *a, const sti__vec *actuators, int first, sti__vec *late);
/* Says where the values of each begin. */
sti_status sti__keys_place(sti_spec *spec, const sti__vec *late, sti_error *error);

#endif
