/* SPDX-License-Identifier: Apache-2.0 */
/* What is made for the eye only: stress of soft bodies, polygons of contact. */
#include "world/world.h"

#include <string.h>

_Static_assert(STI_PATCH_CORNERS == STI__POLYGON_MAX, "the most corners of a polygon");

void sti_world_soft_stress(const sti_world *world, double *mises, double *cauchy) {
    const sti__soft_bodies *b = &world->soft;
    if (b->fem && (mises || cauchy)) sti__fem_stress(b->fem, world->state->flexvert_xpos, cauchy, mises);
}

static void set_side(sti_patch *out, const sti__fields *f, const sti__patch *p, int side) {
    int body = side ? p->b : p->a, geom = f->geom[body];
    *(side ? &out->geom2 : &out->geom1) = geom;
    *(side ? &out->flex2 : &out->flex1) = geom < 0 ? body : -1;
    *(side ? &out->elem2 : &out->elem1) = sti__fields_tet(f, p, side);
}

static void describe(sti_patch *out, const sti__fields *f, int i) {
    const sti__patch *p = &f->patches.patch[i];
    const sti__polygon *polygon = &f->patches.polygon[i];
    memset(out, 0, sizeof *out);
    set_side(out, f, p, 0);
    set_side(out, f, p, 1);
    out->count = polygon->count;
    out->area = p->area;
    out->pressure = p->pressure;
    memcpy(out->pos, p->pos, sizeof out->pos);
    memcpy(out->normal, p->normal, sizeof out->normal);
    memcpy(out->corner, polygon->x, (size_t)polygon->count * sizeof polygon->x[0]);
}

int sti_world_patches(const sti_world *world, sti_patch *out, int n) {
    const sti__constraints *c = &world->constraints;
    int count = c->npatch ? c->fields.patches.npatch : 0;
    for (int i = 0; i < count && i < n; i++) describe(&out[i], &c->fields, i);
    return count;
}
