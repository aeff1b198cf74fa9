/* SPDX-License-Identifier: Apache-2.0 */
/* linear/factor/order_degree.c and dissect.c for a device, which asks the processor: gpu/orders.h. Compiled for the device, and for a test. */
#include "gpu/orders.h"
#include <string.h>

#define PROBES 64 /* places at which a graph may be */

static sti__gpu_orders *orders;
void sti__gpu_set_orders(sti__gpu_orders *those) { orders = those; }

#ifdef __NVPTX__
static unsigned long long take(unsigned long long *p, unsigned long long n) {
    return (unsigned long long)__nvvm_atom_add_gen_ll((long long *)p, (long long)n);
}
/* What was there. */
static unsigned long long claim(unsigned long long *p, unsigned long long key) {
    return (unsigned long long)__nvvm_atom_cas_gen_ll((long long *)p, 0, (long long)key);
}
#else
static unsigned long long take(unsigned long long *p, unsigned long long n) {
    unsigned long long was = *p;
    *p += n;
    return was;
}
static unsigned long long claim(unsigned long long *p, unsigned long long key) {
    unsigned long long was = *p;
    if (!was) *p = key;
    return was;
}
#endif

static size_t edges_of(const sti__graph *g) { return (size_t)g->start[g->n]; }
static size_t ints_of(const sti__graph *g) { return 3 + 2 * (size_t)g->n + edges_of(g); }

static unsigned long long key_of(const sti__graph *g, int kind) {
    uint64_t hash = sti__hash(STI__HASH_SEED + (uint64_t)kind, g->start, sizeof(int) * ((size_t)g->n + 1));
    hash = sti__hash(hash, g->weight, sizeof(int) * (size_t)g->n);
    return sti__hash(hash, g->adj, sizeof(int) * edges_of(g)) | 1;
}

static void ask(int place, const sti__graph *g, int kind) {
    unsigned long long at = take(&orders->used, ints_of(g));
    if (at + ints_of(g) > STI__GPU_ORDER_ROOM) return; /* in the next round */
    int *to = orders->graph + at, n = g->n;
    to[0] = kind;
    to[1] = n;
    memcpy(to + 2, g->start, sizeof(int) * ((size_t)n + 1));
    memcpy(to + 3 + n, g->weight, sizeof(int) * (size_t)n);
    memcpy(to + 3 + 2 * n, g->adj, sizeof(int) * edges_of(g));
    orders->asked[place] = at + 1;
}

/* The place of a graph, which is asked for if nobody has yet; -1: it is too large, or there is none left. */
static int place_of(const sti__graph *g, int kind) {
    unsigned long long key = key_of(g, kind);
    if (!orders || ints_of(g) > STI__GPU_ORDER_ROOM) return -1;
    for (int i = 0; i < PROBES; i++) {
        int place = (int)((key + (unsigned long long)i) % STI__GPU_ORDERS);
        unsigned long long was = claim(&orders->key[place], key);
        if (!was) ask(place, g, kind);
        if (!was || was == key) return place;
    }
    return -1;
}

static bool find(const sti__graph *g, int kind, int *order, sti__temp *temp) {
    int place = place_of(g, kind);
    if (place < 0) { /* the natural order: the factor is as right, and may have more numbers */
        sti__gpu_count_reordered();
        for (int i = 0; i < g->n; i++) order[i] = i;
        return true;
    }
    const int *known = orders->known[place];
    if (!known) { /* short of memory, for whoever looks */
        sti__alloc(temp->allocator, SIZE_MAX);
        return !(temp->failed = true);
    }
    memcpy(order, known, sizeof(int) * (size_t)g->n);
    return true;
}

bool sti__order_degree(const sti__graph *graph, int *order, sti__temp *temp) {
    return find(graph, STI__GPU_DEGREE, order, temp);
}

bool sti__order_dissect(const sti__graph *graph, int *order, sti__temp *temp) {
    return find(graph, STI__GPU_DISSECT, order, temp);
}
