/* SPDX-License-Identifier: Apache-2.0 */
/* From dofs to vertices: dofs with the same neighbours (those of a node or of a tree) are ordered as
   one, which makes the graph several times smaller. */
#include "linear/factor/compress.h"
#include <string.h>

static uint64_t mix(uint64_t x) {
    x = (x + 1) * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    return x ^ x >> 27;
}

/* A sum over each dof's neighbours and itself. Sums that are equal by chance cost some fill only. */
static void neighbour_sums(const sti_csr *a, uint64_t *sum) {
    for (int i = 0; i < a->nrow; i++) sum[i] = mix((uint64_t)i);
    for (int i = 0; i < a->nrow; i++) {
        uint64_t own = mix((uint64_t)i), s = 0;
        for (int k = a->start[i]; k < a->start[i + 1] && a->col[k] < i; k++) {
            s += mix((uint64_t)a->col[k]);
            sum[a->col[k]] += own;
        }
        sum[i] += s;
    }
}

static int find_vertices(const sti_csr *a, const uint64_t *sum, int *vertex) {
    int count = 0;
    for (int i = 0; i < a->nrow; i++) {
        int k = a->start[i + 1] - 1;
        while (k >= a->start[i] && a->col[k] >= i) k--;
        while (k >= a->start[i] && sum[a->col[k]] != sum[i]) k--; /* near ones first */
        vertex[i] = k >= a->start[i] ? vertex[a->col[k]] : count++;
    }
    return count;
}

/* Dofs by vertex. */
static void list_members(sti__compressed *c, int n) {
    int nv = c->graph.n;
    for (int v = 0; v < nv; v++) c->graph.weight[v] = 0;
    for (int i = 0; i < n; i++) c->graph.weight[c->vertex[i]]++;
    c->first[0] = 0;
    for (int v = 0; v < nv; v++) c->first[v + 1] = c->first[v] + c->graph.weight[v];
    for (int i = n - 1; i >= 0; i--) c->member[--c->first[c->vertex[i] + 1]] = i;
    for (int v = 0; v < nv; v++) c->first[v] = c->first[v + 1]; /* the marks have moved to the starts */
    c->first[nv] = n;
}

/* Lower late neighbours of a late vertex. */
static size_t list_late(const sti__compressed *c, int v, int *mark, int *from, int *to, size_t count) {
    for (int u = 0; u < v; u++) {
        if (!c->late[u] || mark[u] == v) continue;
        mark[u] = v;
        if (from) from[count] = v, to[count] = u;
        count++;
    }
    return count;
}

/* Each vertex's lower neighbours once (adjacent repeats dropped by mark), counted or stored. */
static size_t list_edges(const sti__compressed *c, const sti_csr *a, int *mark, int *from, int *to) {
    size_t count = 0;
    for (int v = 0; v < c->graph.n; v++) mark[v] = -1;
    for (int v = 0; v < c->graph.n; v++) {
        mark[v] = v;
        for (int m = c->first[v]; m < c->first[v + 1]; m++) {
            int i = c->member[m];
            for (int k = a->start[i]; k < a->start[i + 1] && a->col[k] < i; k++) {
                int u = c->vertex[a->col[k]];
                if (mark[u] == v) continue;
                mark[u] = v;
                if (from) from[count] = v, to[count] = u;
                count++;
            }
        }
        if (c->late && c->late[v]) count = list_late(c, v, mark, from, to, count);
    }
    return count;
}

/* Both directions, sorted by a pass over columns, repeats (edges seen from both ends) dropped. */
static void link_edges(sti__graph *g, const int *from, const int *to, size_t edges, int *start, int *list,
                       int *mark) {
    int n = g->n;
    memset(start, 0, sizeof(int) * ((size_t)n + 2));
    for (size_t e = 0; e < edges; e++) start[from[e] + 2]++, start[to[e] + 2]++;
    for (int v = 0; v < n; v++) start[v + 2] += start[v + 1];
    for (size_t e = 0; e < edges; e++) list[start[from[e] + 1]++] = to[e], list[start[to[e] + 1]++] = from[e];
    /* unsorted with repeats -> each vertex once into its neighbours' lists, in rising order */
    for (int v = 0; v <= n; v++) g->start[v] = 0;
    for (int v = 0; v < n; v++) mark[v] = -1;
    for (int v = 0; v < n; v++)
        for (int k = start[v]; k < start[v + 1]; k++)
            if (mark[list[k]] != v) mark[list[k]] = v, g->start[list[k] + 1]++;
    for (int v = 0; v < n; v++) g->start[v + 1] += g->start[v];
    for (int v = 0; v < n; v++) mark[v] = -1;
    for (int v = 0; v < n; v++)
        for (int k = start[v]; k < start[v + 1]; k++)
            if (mark[list[k]] != v) mark[list[k]] = v, g->adj[g->start[list[k]]++] = v;
    for (int v = n; v > 0; v--) g->start[v] = g->start[v - 1];
    g->start[0] = 0;
}

bool sti__compress(sti__compressed *c, const sti_csr *a, const bool *late, sti__temp *temp) {
    size_t n = (size_t)a->nrow;
    uint64_t *sum = sti__temp_take(temp, n, sizeof *sum);
    c->vertex = sti__temp_ints(temp, n);
    if (temp->failed) return false;
    neighbour_sums(a, sum);
    for (int i = 0; late && i < a->nrow; i++) sum[i] += late[i]; /* they are not joined with others */
    c->graph.n = find_vertices(a, sum, c->vertex);
    size_t nv = (size_t)c->graph.n;
    c->first = sti__temp_ints(temp, nv + 1);
    c->member = sti__temp_ints(temp, n);
    c->graph.weight = sti__temp_ints(temp, nv);
    c->graph.start = sti__temp_ints(temp, nv + 1);
    int *mark = sti__temp_ints(temp, nv), *start = sti__temp_ints(temp, nv + 2);
    if (temp->failed) return false;
    list_members(c, a->nrow);
    if (late) {
        bool *flag = sti__temp_take(temp, nv, sizeof *flag);
        if (!flag) return false;
        for (int i = 0; i < a->nrow; i++) flag[c->vertex[i]] = late[i];
        c->late = flag;
    }
    size_t edges = list_edges(c, a, mark, NULL, NULL);
    int *from = sti__temp_ints(temp, edges), *to = sti__temp_ints(temp, edges),
        *list = sti__temp_ints(temp, sti__size(2, edges));
    c->graph.adj = sti__temp_ints(temp, sti__size(2, edges));
    if (temp->failed) return false;
    list_edges(c, a, mark, from, to);
    link_edges(&c->graph, from, to, edges, start, list, mark);
    return true;
}
