/* SPDX-License-Identifier: Apache-2.0 */
#include "linear/factor/ordering.h"
#include <string.h>

/* ---- the elimination tree ---------------------------------------------------------------------- */

void sti__postorder(int n, const int *parent, int *post, int *work) {
    int *head = work, *next = work + n, count = 0;
    for (int i = 0; i < n; i++) head[i] = -1;
    for (int i = n - 1; i >= 0; i--)
        if (parent[i] >= 0) next[i] = head[parent[i]], head[parent[i]] = i;
    for (int root = 0; root < n; root++) {
        if (parent[root] >= 0) continue;
        for (int i = root;;) {
            while (head[i] >= 0) i = head[i]; /* down to a leaf */
            post[count++] = i;
            if (i == root) break;
            head[parent[i]] = next[i];
            i = parent[i];
        }
    }
}

/* Parents by joining subtrees, with short cuts in `ancestor`. */
static void find_parents(const sti__graph *g, const int *order, const int *rank, int *parent, int *ancestor) {
    for (int i = 0; i < g->n; i++) {
        parent[i] = ancestor[i] = -1;
        for (int k = g->start[order[i]]; k < g->start[order[i] + 1]; k++)
            for (int j = rank[g->adj[k]]; j >= 0 && j < i;) {
                int next = ancestor[j];
                ancestor[j] = i;
                if (next < 0) parent[j] = i;
                j = next;
            }
    }
}

/* Row i of L has an entry in each column on the way from i's neighbours up to i. */
static void count_columns(const sti__graph *g, sti__etree *t, const int *rank, int *mark) {
    for (int i = 0; i < g->n; i++) mark[i] = -1, t->count[i] = g->weight[t->order[i]];
    for (int i = 0; i < g->n; i++) {
        int v = t->order[i], w = g->weight[v];
        mark[i] = i;
        for (int k = g->start[v]; k < g->start[v + 1]; k++) {
            int j = rank[g->adj[k]];
            if (j > i) continue;
            for (; mark[j] != i; j = t->parent[j]) mark[j] = i, t->count[j] += w;
        }
    }
}

bool sti__etree_make(const sti__graph *g, sti__etree *t, sti__temp *temp) {
    int n = g->n;
    int *rank = sti__temp_ints(temp, sti__add(sti__size(5, n), 1));
    if (!rank) return false;
    int *post = rank + n, *work = post + n;
    for (int i = 0; i < n; i++) rank[t->order[i]] = i;
    find_parents(g, t->order, rank, t->parent, work);
    sti__postorder(n, t->parent, post, work);
    int *where = work, *old = work + n; /* of each in the postorder; the order before */
    for (int k = 0; k < n; k++) where[post[k]] = k;
    for (int k = 0; k < n; k++) old[k] = t->parent[post[k]];
    for (int k = 0; k < n; k++) t->parent[k] = old[k] < 0 ? -1 : where[old[k]];
    memcpy(old, t->order, sizeof(int) * (size_t)n);
    for (int k = 0; k < n; k++) t->order[k] = old[post[k]];
    for (int k = 0; k < n; k++) rank[t->order[k]] = k;
    count_columns(g, t, rank, work);
    t->flops = 0;
    t->fill = 0;
    for (int k = 0; k < n; k++)
        for (int i = 0; i < g->weight[t->order[k]]; i++) {
            double c = t->count[k] - i;
            t->flops += c * c;
            t->fill += t->count[k] - i;
        }
    return true;
}
