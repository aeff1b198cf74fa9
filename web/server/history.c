/* SPDX-License-Identifier: Apache-2.0 */
/* Snapshots of the recent past, as many as fit. */
#include "server.h"

#include <string.h>

static void forget(history *h, moment *m) {
    give(h->allocator, m->data, m->size);
    h->bytes -= m->size;
    *m = (moment){0};
}

static void forget_first(history *h) {
    forget(h, &h->item[h->first]);
    h->first = (h->first + 1) % h->capacity;
    h->count--;
    h->number++;
}

static bool grow(history *h) {
    int capacity = h->capacity ? 2 * h->capacity : 256;
    moment *item = take(h->allocator, (size_t)capacity * sizeof *item);
    if (!item) return false;
    for (int i = 0; i < h->count; i++) item[i] = h->item[(h->first + i) % h->capacity];
    give(h->allocator, h->item, (size_t)h->capacity * sizeof *item);
    h->item = item;
    h->capacity = capacity;
    h->first = 0;
    return true;
}

void history_add(history *h, const sti_world *world, double time) {
    moment m = {.size = sti_snapshot_size(world), .time = time};
    if (m.size > h->limit) return;
    while (h->count > 0 && h->bytes + m.size > h->limit) forget_first(h);
    if (h->count == h->capacity && !grow(h)) return;
    if (!(m.data = h->allocator->resize(h->allocator->context, NULL, 0, m.size))) return;
    if (sti_snapshot_save(world, m.data, m.size) != STI_OK) {
        give(h->allocator, m.data, m.size);
        return;
    }
    h->item[(h->first + h->count++) % h->capacity] = m;
    h->bytes += m.size;
}

const moment *history_at(const history *h, int64_t number) {
    int64_t i = number - h->number;
    return i >= 0 && i < h->count ? &h->item[(h->first + i) % h->capacity] : NULL;
}

void history_cut(history *h, int64_t number) {
    while (h->count > 0 && h->number + h->count - 1 > number)
        forget(h, &h->item[(h->first + --h->count) % h->capacity]);
}

void history_clear(history *h) {
    while (h->count > 0) forget_first(h);
}

void history_free(history *h) {
    history_clear(h);
    give(h->allocator, h->item, (size_t)h->capacity * sizeof *h->item);
    *h = (history){.allocator = h->allocator};
}
