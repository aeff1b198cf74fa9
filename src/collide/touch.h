/* SPDX-License-Identifier: Apache-2.0 */
/* Points of contact, made of polygons. docs/hydroelastic.md. */
#ifndef STI_COLLIDE_TOUCH_H
#define STI_COLLIDE_TOUCH_H

#include "collide/fields.h"

/* A patch as one point. */
sti__touch sti__touch_whole(const sti__patch *x);
/* The points of polygon `patch`, one or three, into `out`; how many. */
int sti__touch_split(const sti__fields *f, int patch, sti__touch *out);
/* Polygons begin..end (more than `limit`, which is at least 6) of one pair, whose body b is soft, as at most `limit` points, into `out`; how many. Their
   forces add up to those of the polygons, and so do their moments where normals agree. Room of f->patches.found is used. */
int sti__touch_coarse(const sti__fields *f, int begin, int end, int limit, sti__touch *out);

#endif
