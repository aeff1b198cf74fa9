/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/ordering.h"
#include <string.h>
#include <suitesparse/amd.h>

/* AMD's inner routine, which takes all its memory from the caller. */
bool sti__order_degree(const sti__graph *graph, int *order, const sti_allocator *allocator) {
    int n = graph->n;
    if (n == 0) return true;
    size_t edges = (size_t)graph->start[n], room = edges + edges / 5 + (size_t)n + 1;
    if (room > INT32_MAX) return false;
    size_t bytes = sizeof(int) * (room + 8 * (size_t)n);
    int *work = sti__alloc(allocator, bytes);
    if (!work) return false;
    int *pe = work, *len = pe + n, *nv = len + n, *next = nv + n, *last = next + n, *head = last + n;
    int *elen = head + n, *degree = elen + n, *iw = degree + n;
    double control[AMD_CONTROL], info[AMD_INFO];
    amd_defaults(control);
    memcpy(iw, graph->adj, sizeof(int) * edges);
    for (int i = 0; i < n; i++) {
        pe[i] = graph->start[i];
        len[i] = graph->start[i + 1] - graph->start[i];
    }
    /* order serves as its mark array first; `last` receives the permutation */
    amd_2(n, pe, iw, len, (int)room, (int)edges, nv, next, last, head, elen, degree, order, control, info);
    memcpy(order, last, sizeof(int) * (size_t)n);
    sti__free(allocator, work, bytes);
    return true;
}
