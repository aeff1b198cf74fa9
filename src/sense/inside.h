/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a point is in the volume of a site, in lanes. */
#ifndef STI_SENSE_INSIDE_H
#define STI_SENSE_INSIDE_H

#include "base/lane.h"
#include <stiction/model.h>

static inline vreal sti__squared(vreal x) { return x * x; }

/* 1 if the point p, in the frame of the shape, is inside it. */
static inline vreal sti__inside(int type, const double size[3], const vreal p[3]) {
    vreal a = v_set(size[0]), b = v_set(size[1]), c = v_set(size[2]);
    vreal radial = sti__squared(p[0]) + sti__squared(p[1]), z = v_abs(p[2]), yes = v_set(1), no = v_set(0);
    vmask in;
    switch (type) {
    case STI_GEOM_SPHERE: in = v_le(radial + sti__squared(z), a * a); break;
    case STI_GEOM_CAPSULE: in = v_le(radial + sti__squared(v_max(z - b, no)), a * a); break;
    case STI_GEOM_ELLIPSOID:
        in = v_le(sti__squared(p[0] / a) + sti__squared(p[1] / b) + sti__squared(p[2] / c), yes);
        break;
    case STI_GEOM_CYLINDER: in = v_le(z, b) & v_le(radial, a * a); break;
    default: in = v_le(v_abs(p[0]), a) & v_le(v_abs(p[1]), b) & v_le(z, c); break;
    }
    return v_select(in, yes, no);
}

#endif
