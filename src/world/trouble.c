/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that end badly: what is noticed. */
#include "world/world.h"
#include <stiction/capsule.h>

int sti_world_trouble(const sti_world *world) { return world->trouble; }

static int troubles_of(const sti_world *world, sti_status status) {
    const sti__constraints *c = &world->constraints;
    int troubles = world->grown ? STI_TROUBLE_POOL : 0;
    if (status == STI_NONFINITE) troubles |= STI_TROUBLE_NONFINITE;
    else if (status != STI_OK && c->made && !c->solved) troubles |= STI_TROUBLE_SOLVE;
    else if (status == STI_OK && !(c->info.certificate.headline <= world->state->opt.certificate_limit))
        troubles |= STI_TROUBLE_CERTIFICATE;
    return troubles;
}

void sti__world_look_back(sti_world *world, sti_status status) {
    int troubles = troubles_of(world, status);
    const sti__capsules *k = &world->capsules;
    world->trouble |= troubles;
    if ((troubles & k->troubles) && k->count < k->most) sti__capsule_numbered(world, troubles);
}
