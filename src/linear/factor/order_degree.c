/* SPDX-License-Identifier: Apache-2.0 */
#include "linear/factor/ordering.h"
#include <string.h>
#include <suitesparse/amd.h>

static size_t degree_room(const sti__graph *g) {
    size_t edges = (size_t)g->start[g->n];
    return edges + edges / 5 + (size_t)g->n + 1;
}

size_t sti__order_degree_work(const sti__graph *g) { return degree_room(g) + 8 * (size_t)g->n; }

/* AMD's inner routine, which takes all its memory from the caller. */
void sti__order_degree_in(const sti__graph *graph, int *order, int *work) {
    int n = graph->n;
    if (n == 0) return;
    size_t edges = (size_t)graph->start[n], room = degree_room(graph);
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
}

bool sti__order_degree(const sti__graph *graph, int *order, sti__temp *temp) {
    if (degree_room(graph) > INT32_MAX) return false;
    int *work = sti__temp_ints(temp, sti__order_degree_work(graph));
    if (!work) return false;
    sti__order_degree_in(graph, order, work);
    return true;
}
