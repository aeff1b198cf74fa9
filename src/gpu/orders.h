/* SPDX-License-Identifier: Apache-2.0 */
/* Orderings of large matrices. The processor finds them (by AMD, and by dissection), a device does not: a world there that needs one which is not known
   yet writes its graph down and ends its step as if memory were short. The processor orders the graph, and the step is taken again, with the bits
   that it has on the processor. */
#ifndef STI_GPU_ORDERS_H
#define STI_GPU_ORDERS_H

#include "linear/factor/ordering.h"

#define STI__GPU_ORDERS 4096          /* that a batch remembers */
#define STI__GPU_ORDER_ROOM (1 << 20) /* ints of graphs that are asked for at once */
typedef enum sti__gpu_order_kind { STI__GPU_DEGREE = 1, STI__GPU_DISSECT } sti__gpu_order_kind;

/* In the device's memory. */
typedef struct sti__gpu_orders {
    unsigned long long
        key[STI__GPU_ORDERS]; /* hash of a graph and of how to order it; 0: this place is free */
    unsigned long long asked[STI__GPU_ORDERS]; /* where it is in `graph`, plus 1; 0: there was no room */
    const int *known[STI__GPU_ORDERS];         /* its ordering, on the device; NULL: it is asked for */
    unsigned long long used;                   /* of graph */
    int graph[STI__GPU_ORDER_ROOM];            /* kind, n, start, weight, adj of each */
} sti__gpu_orders;

/* Where the worlds of this device find them. On the processor there is nothing to set. */
void sti__gpu_set_orders(sti__gpu_orders *orders);
/* A factor takes the natural order, since there is no room for its own: its bits are not those of the processor. */
void sti__gpu_count_reordered(void);

#endif
