/* SPDX-License-Identifier: Apache-2.0 */
/* The processor's side of gpu/orders.h: graphs that worlds have asked about are ordered, and their orderings given to the device. */
#include "gpu/device_inside.h"
#include <string.h>

/* Of a graph as the device has written it. NULL without memory. */
static int *order_of(int *graph, const sti_allocator *allocator) {
    int n = graph[1];
    sti__graph g = {.n = n, .start = graph + 2, .weight = graph + 3 + n, .adj = graph + 3 + 2 * n};
    sti__temp temp = {0};
    sti__temp_reset(&temp, allocator);
    int *order = sti__alloc(allocator, sti__size(n, sizeof *order));
    bool found = order && (graph[0] == STI__GPU_DISSECT ? sti__order_dissect(&g, order, &temp)
                                                        : sti__order_degree(&g, order, &temp));
    sti__temp_free(&temp, allocator);
    if (found) return order;
    sti__free(allocator, order, sti__size(n, sizeof *order));
    return NULL;
}

/* Its ordering goes to the device, for good. */
static bool give_order(sti__device_batch *b, int *graph, const int **known) {
    size_t bytes = sti__size(graph[1], sizeof(int));
    int *order = order_of(graph, &b->allocator), *there = order ? sti__device_take(b, bytes) : NULL;
    if (there) b->ordering[b->nordering++] = there;
    if (there) sti__device_write(b, there, order, bytes);
    sti__free(&b->allocator, order, bytes);
    *known = there;
    return there != NULL;
}

/* Those without room are forgotten, and asked for again. Whether the worlds that wait have something new. */
static bool answer_all(sti__device_batch *b, sti__gpu_orders *o) {
    bool news = false;
    for (int k = 0; k < STI__GPU_ORDERS; k++) {
        if (!o->key[k] || o->known[k]) continue;
        news = true;
        if (!o->asked[k]) o->key[k] = 0;
        else if (b->nordering == STI__GPU_ORDERS) return false;
        else if (!give_order(b, o->graph + o->asked[k] - 1, &o->known[k])) return false;
    }
    o->used = 0;
    return news;
}

bool sti__device_answer(sti__device_batch *b) {
    size_t head = offsetof(sti__gpu_orders, graph);
    sti__gpu_orders *there = b->copy.orders, *o = sti__alloc(&b->allocator, sizeof *o);
    bool news = o && sti__device_read(b, o, there, head) == STI_OK && o->used > 0;
    size_t used = news && o->used < STI__GPU_ORDER_ROOM ? (size_t)o->used : STI__GPU_ORDER_ROOM;
    if (news)
        news = sti__device_read(b, o->graph, there->graph, used * sizeof(int)) == STI_OK && answer_all(b, o);
    if (news) news = sti__device_write(b, there, o, head) == STI_OK;
    sti__free(&b->allocator, o, sizeof *o);
    return news;
}
