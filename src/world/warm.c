/* SPDX-License-Identifier: Apache-2.0 */
#include "world/warm.h"

#include "world/spans.h"
#include "world/world.h"
#include <string.h>

sti_status sti__warm_create(sti_world *world, sti_error *error) {
    sti__warm_start *w = &world->warm;
    size_t nv = (size_t)world->model->nv, n = (size_t)world->model->nflexvert;
    w->bytes = sti__mul(sti__add(sti__mul(2, nv), n), sizeof(double));
    w->block = sti__alloc_aligned(&world->allocator, w->bytes);
    if (!w->block) return sti__fail(error, STI_NO_MEMORY, "no memory for a world");
    w->trend = w->block;
    w->touched = w->trend + 2 * nv;
    return STI_OK;
}

void sti__warm_free(sti_world *world) {
    sti__warm_start *w = &world->warm;
    sti__free_aligned(&world->allocator, w->pool.data, w->pool.bytes);
    sti__free_aligned(&world->allocator, w->block, w->bytes);
}

void sti_world_drop_warm_start(sti_world *world) {
    sti__span span[STI__SPANS];
    int n = sti__world_spans(world, span);
    for (int i = 0; i < n; i++)
        if (span[i].kind == STI__SPAN_WARM && span[i].bytes) memset(span[i].data, 0, span[i].bytes);
}
