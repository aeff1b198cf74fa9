/* SPDX-License-Identifier: Apache-2.0 */
#include "linear/factor/symbolic.h"
#include "base/room.h"
#include "linear/factor/compress.h"
#include "linear/factor/dense.h"
#include "linear/policy.h"
#include <string.h>

/* ---- supernodes ------------------------------------------------------------------------------------ */

/* A forest of supernodes that grows together; all arrays have one entry per vertex at most. */
typedef struct forest {
    int count;
    int *of;                 /* supernode of each vertex (in elimination order) */
    int *col, *row;          /* dofs: pivots; pivots and rows below */
    int *parent;             /* -1 at roots */
    int *head, *tail, *next; /* children */
    int *into;               /* which took it up, -1 while it lives */
} forest;

static bool forest_take(forest *f, size_t n, sti__temp *temp) {
    int **arrays[] = {&f->of, &f->col, &f->row, &f->parent, &f->head, &f->tail, &f->next, &f->into};
    for (int i = 0; i < STI__COUNT(arrays); i++) *arrays[i] = sti__temp_ints(temp, n);
    return !temp->failed;
}

/* Chains of vertices whose columns have the same rows; late ones are a chain of their own. */
static void find_chains(forest *f, const sti__graph *g, const sti__etree *t, const bool *late) {
    f->count = 0;
    for (int v = 0; v < g->n; v++) {
        int w = g->weight[t->order[v]];
        bool chained = v > 0 && t->parent[v - 1] == v &&
                       t->count[v - 1] - g->weight[t->order[v - 1]] == t->count[v] &&
                       !(late && late[t->order[v]] != late[t->order[v - 1]]);
        if (!chained) f->col[f->count] = 0, f->row[f->count] = 0, f->count++;
        int s = f->count - 1;
        f->of[v] = s;
        f->row[s] = f->col[s] + t->count[v];
        f->col[s] += w;
    }
    for (int s = 0; s < f->count; s++) f->parent[s] = f->head[s] = f->tail[s] = f->next[s] = f->into[s] = -1;
    for (int v = 0; v < g->n; v++)
        if (t->parent[v] >= 0 && f->of[t->parent[v]] != f->of[v]) f->parent[f->of[v]] = f->of[t->parent[v]];
}

static void append_child(forest *f, int p, int c) {
    f->next[c] = -1;
    if (f->head[p] < 0) f->head[p] = c;
    else f->next[f->tail[p]] = c;
    f->tail[p] = c;
}

/* Time of a front, in units of a tile's step over one column; measured, not exact. */
static double front_cost(int ncol, int nrow) {
    double nd = STI__TILES(ncol), nu = STI__TILES(nrow - ncol), nb = nd + nu;
    double panel = 4 * nd * nd * (nb - 0.67 * nd) + 8 * nb * nd; /* products, solves with tiles */
    double update = ncol * nu * (nu + 1) / 2;
    double adding = 10 * nu * (nu + 1) / 2; /* into the parent */
    return 60 + 20 * nd + panel + update + adding;
}

/* Does the parent gain by taking up a child? Zeros are paid for by fewer and larger fronts. */
static bool gains(const forest *f, int c, int p) {
    double apart = front_cost(f->col[c], f->row[c]) + front_cost(f->col[p], f->row[p]);
    return front_cost(f->col[c] + f->col[p], f->col[c] + f->row[p]) < apart;
}

static void take_up(forest *f, int c, int p) {
    f->col[p] += f->col[c];
    f->row[p] += f->col[c];
    f->into[c] = p;
}

/* The last one takes up nothing if it is to stay as it is. */
static void amalgamate(forest *f, bool keep_last) {
    for (int s = 0; s < f->count; s++)
        if (f->parent[s] >= 0) append_child(f, f->parent[s], s);
    for (int p = 0; p < f->count - keep_last; p++) {
        int c = f->head[p];
        f->head[p] = f->tail[p] = -1;
        while (c >= 0) {
            int next = f->next[c];
            if (gains(f, c, p)) {
                take_up(f, c, p);
                /* its children come next */
                if (f->head[c] >= 0) f->next[f->tail[c]] = next, next = f->head[c];
            } else {
                append_child(f, p, c);
            }
            c = next;
        }
    }
}

/* Small parts that nothing connects share a front: diagonal entries, single bodies. */
static void join_roots(forest *f) {
    int open = -1;
    for (int s = 0; s < f->count; s++) {
        if (f->into[s] >= 0 || f->parent[s] >= 0 || f->head[s] >= 0) continue;
        if (open >= 0 && f->col[open] + f->col[s] <= STI__FACTOR_JOINED) take_up(f, open, s);
        open = s;
    }
}

/* All in one. */
static void join_all(forest *f, int n) {
    f->count = 1;
    f->col[0] = f->row[0] = n;
    f->parent[0] = f->into[0] = f->head[0] = f->tail[0] = f->next[0] = -1;
}

/* ---- numbering ---------------------------------------------------------------------------------------- */

/* What is needed of supernodes and vertices to lay out the plan. */
typedef struct layout {
    const sti__compressed *c;
    const sti__etree *tree;
    forest f;
    int nnode, nlone;
    int *node_of;   /* vertex (graph's number) -> node */
    int *vertex;    /* the vertices in their final order */
    int *rank;      /* and the reverse */
    int *first;     /* nnode + 1: first vertex of each node in that order */
    int *parent;    /* of nodes */
    int *row_start; /* nnode + 1 */
    int *row;       /* vertices (final order) below each node's pivots, ascending */
} layout;

/* Without relations and one tile in size. */
static bool is_lone(const forest *f, int s) { return f->parent[s] < 0 && f->head[s] < 0 && f->col[s] <= 8; }

/* Numbers surviving supernodes in postorder and their vertices after each other. */
static bool number_nodes(layout *l, sti__temp *temp) {
    forest *f = &l->f;
    size_t nf = (size_t)f->count, nv = (size_t)l->c->graph.n;
    int *name = sti__temp_ints(temp, nf), *alive = sti__temp_ints(temp, nf),
        *parent = sti__temp_ints(temp, nf);
    int *post = sti__temp_ints(temp, nf), *work = sti__temp_ints(temp, sti__size(2, nf));
    l->parent = sti__temp_ints(temp, nf);
    l->first = sti__temp_ints(temp, nf + 2);
    l->node_of = sti__temp_ints(temp, nv);
    l->vertex = sti__temp_ints(temp, nv);
    l->rank = sti__temp_ints(temp, nv);
    if (temp->failed) return false;
    l->nnode = 0;
    for (int s = 0; s < f->count; s++)
        if (f->into[s] < 0) alive[l->nnode] = s, name[s] = l->nnode++;
    for (int s = f->count - 1; s >= 0; s--) /* takers have higher numbers */
        if (f->into[s] >= 0) name[s] = name[f->into[s]];
    for (int k = 0; k < l->nnode; k++) parent[k] = f->parent[alive[k]] < 0 ? -1 : name[f->parent[alive[k]]];
    sti__postorder(l->nnode, parent, post, work);
    int *where = work, at_node = 0;
    for (int pass = 0; pass < 2; pass++) { /* lone ones first */
        for (int k = 0; k < l->nnode; k++)
            if ((!l->c->late && is_lone(f, alive[post[k]])) == !pass) where[post[k]] = at_node++;
        if (pass == 0) l->nlone = at_node;
    }
    for (int k = 0; k < l->nnode; k++) l->parent[where[k]] = parent[k] < 0 ? -1 : where[parent[k]];
    memset(l->first, 0, sizeof(int) * ((size_t)l->nnode + 2));
    for (int v = 0; v < l->c->graph.n; v++) {
        int node = where[name[f->of[v]]];
        l->node_of[l->tree->order[v]] = node;
        l->first[node + 2]++;
    }
    for (int k = 0; k < l->nnode; k++) l->first[k + 2] += l->first[k + 1];
    for (int v = 0; v < l->c->graph.n; v++) {
        int g = l->tree->order[v], at = l->first[l->node_of[g] + 1]++;
        l->vertex[at] = g;
        l->rank[g] = at;
    }
    return true;
}

/* Walks from each vertex's earlier neighbours up the tree; every node on the way has it as a row. */
static void walk_rows(const layout *l, int *mark, int *count, int *row) {
    const sti__graph *g = &l->c->graph;
    for (int s = 0; s < l->nnode; s++) mark[s] = -1;
    for (int i = 0; i < g->n; i++) {
        int v = l->vertex[i], own = l->node_of[v];
        for (int k = g->start[v]; k < g->start[v + 1]; k++) {
            int s = l->node_of[g->adj[k]];
            if (s >= own) continue;
            for (; s >= 0 && s != own && mark[s] != i; s = l->parent[s]) {
                mark[s] = i;
                if (row) row[count[s]++] = i;
                else count[s]++;
            }
        }
    }
}

static bool find_rows(layout *l, sti__temp *temp) {
    int *mark = sti__temp_ints(temp, (size_t)l->nnode), *count = sti__temp_ints(temp, (size_t)l->nnode);
    l->row_start = sti__temp_ints(temp, (size_t)l->nnode + 1);
    if (temp->failed) return false;
    memset(count, 0, sizeof(int) * (size_t)l->nnode);
    walk_rows(l, mark, count, NULL);
    int64_t total = 0;
    for (int s = 0; s < l->nnode; s++) {
        l->row_start[s] = (int)total;
        total += count[s];
        if (total > INT32_MAX) return false;
    }
    l->row_start[l->nnode] = (int)total;
    l->row = sti__temp_ints(temp, (size_t)total);
    if (temp->failed) return false;
    memcpy(count, l->row_start, sizeof(int) * (size_t)l->nnode);
    walk_rows(l, mark, count, l->row);
    return true;
}

/* ---- the plan's sizes --------------------------------------------------------------------------------- */

static int vertices_weight(const layout *l, const int *list, int begin, int end) {
    int sum = 0;
    for (int i = begin; i < end; i++) sum += l->c->graph.weight[list ? l->vertex[list[i]] : l->vertex[i]];
    return sum;
}

static double node_flops(const sti__node *node) {
    double c = node->ncol, r = node->ncol + node->nrow; /* sum of (r - k)^2, k < c */
    return c * r * r - r * c * (c - 1) + (c - 1) * c * (2 * c - 1) / 6;
}

/* Sizes and places of all nodes. False if a front is too large to index. */
static bool size_nodes(sti__plan *p, const layout *l, sti__node *node) {
    int64_t x = 0;
    size_t z = 0, panel = 0;
    p->flops = 0;
    p->fill = 0;
    p->most_tiles = 0;
    for (int s = 0; s < l->nnode; s++) {
        sti__node *n = &node[s];
        *n = (sti__node){.parent = l->parent[s], .x0 = (int)x, .z0 = z, .panel = panel};
        n->ncol = vertices_weight(l, NULL, l->first[s], l->first[s + 1]);
        n->nrow = vertices_weight(l, l->row, l->row_start[s], l->row_start[s + 1]);
        n->nd = STI__TILES(n->ncol);
        n->nu = STI__TILES(n->nrow);
        if (n->nd > p->most_tiles) p->most_tiles = n->nd;
        size_t numbers = 64 * (size_t)(n->nd + n->nu) * (size_t)n->nd;
        if (numbers > INT32_MAX || 64 * STI__TRIANGLE(n->nu) > INT32_MAX) return false;
        n->wide = node_flops(n) > STI__FACTOR_SHARED;
        x += 8 * n->nd;
        z += 8 * (size_t)n->nu;
        panel += numbers;
        p->flops += node_flops(n);
        p->fill += (int64_t)n->ncol * n->nrow + (int64_t)n->ncol * (n->ncol + 1) / 2;
        if (x > INT32_MAX) return false;
    }
    node[l->nnode] = (sti__node){.parent = -1, .x0 = (int)x, .z0 = z, .panel = panel};
    p->nnode = l->nnode;
    p->nlone = l->nlone;
    p->npad = (int)x;
    p->nz = z;
    p->nfactor = panel;
    return true;
}

static size_t count_sources(const sti_csr *a) {
    size_t count = 0;
    for (int i = 0; i < a->nrow; i++)
        for (int k = a->start[i]; k < a->start[i + 1] && a->col[k] <= i; k++) count++;
    return count;
}

static size_t place_arrays(sti__plan *p, char *base) {
    sti__cutter c = {base, 0};
    size_t nodes = (size_t)p->nnode + 1, i = sizeof(int);
    p->node = sti__cut(&c, nodes, sizeof *p->node);
    p->target = sti__cut(&c, p->nz, sizeof *p->target);
    p->place = sti__cut(&c, (size_t)p->n, i);
    p->dof = sti__cut(&c, (size_t)p->npad, i);
    p->children = sti__cut(&c, nodes, i);
    p->from = sti__cut(&c, p->nsource, i);
    p->to = sti__cut(&c, p->nsource, i);
    p->task = sti__cut(&c, sti__size(2, nodes), i);
    p->top = sti__cut(&c, nodes, i);
    return c.used;
}

static bool reserve(sti__plan *p, const sti_allocator *allocator) {
    size_t need = place_arrays(p, NULL);
    if (!sti__make_room(allocator, &p->block, &p->room, need, need / 4)) return false;
    place_arrays(p, p->block);
    return true;
}

/* ---- filling the plan --------------------------------------------------------------------------------- */

static void list_children(sti__plan *p) {
    for (int s = 0; s < p->nnode; s++)
        if (p->node[s].parent >= 0) p->node[p->node[s].parent].nchild++;
    int at = 0;
    for (int s = 0; s < p->nnode; s++) p->node[s].child = at, at += p->node[s].nchild, p->node[s].nchild = 0;
    for (int s = 0; s < p->nnode; s++)
        if (p->node[s].parent >= 0) {
            sti__node *parent = &p->node[p->node[s].parent];
            p->children[parent->child + parent->nchild++] = s;
        }
}

/* Places of dofs; `place_of` gets that of each vertex's first dof. */
static void place_dofs(sti__plan *p, const layout *l, int *place_of) {
    for (int i = 0; i < p->npad; i++) p->dof[i] = -1;
    for (int s = 0; s < p->nnode; s++) {
        int at = p->node[s].x0;
        for (int i = l->first[s]; i < l->first[s + 1]; i++) {
            int v = l->vertex[i];
            place_of[i] = at;
            for (int m = l->c->first[v]; m < l->c->first[v + 1]; m++) {
                p->place[l->c->member[m]] = at;
                p->dof[at++] = l->c->member[m];
            }
        }
    }
}

/* Row r of the parent's front (pivots padded to whole tiles) as a target. */
static sti__target make_target(const sti__node *parent, int x, int r) {
    int tile = r >> 3, nd = parent->nd;
    sti__target t = {.x = x, .panel = tile * nd * 64 + (r & 7)};
    if (r < 8 * nd) t.column = 8 * r;
    else t.column = 8 * (r - 8 * nd), t.tri = (int)(64 * STI__TRIANGLE(tile - nd)) + (r & 7);
    return t;
}

/* Where the rows of node s go in its parent's front; both lists ascend. */
static void aim_rows(sti__plan *p, const layout *l, const int *place_of, int s) {
    sti__node *n = &p->node[s];
    if (n->parent < 0) return;
    const sti__node *parent = &p->node[n->parent];
    int k = l->row_start[n->parent], below = 8 * parent->nd, i = 0;
    for (int e = l->row_start[s]; e < l->row_start[s + 1]; e++) {
        int v = l->row[e], w = l->c->graph.weight[l->vertex[v]], r;
        if (l->node_of[l->vertex[v]] == n->parent) {
            r = place_of[v] - parent->x0;
            n->split += w;
        } else {
            while (l->row[k] != v) below += l->c->graph.weight[l->vertex[l->row[k++]]];
            r = below;
        }
        for (int m = 0; m < w; m++)
            p->target[n->z0 + (size_t)i++] = make_target(parent, place_of[v] + m, r + m);
    }
}

/* Entries of A by the node of their first eliminated dof, then their places in that node's panel. */
static void aim_entries(sti__plan *p, const layout *l, const sti_csr *a, int *offset, int *partner) {
    const int *vertex = l->c->vertex;
    for (int s = 0; s <= p->nnode; s++) p->node[s].source = 0;
    for (int i = 0; i < a->nrow; i++)
        for (int k = a->start[i]; k < a->start[i + 1] && a->col[k] <= i; k++) {
            int u = l->node_of[vertex[i]], v = l->node_of[vertex[a->col[k]]];
            p->node[(u < v ? u : v) + 1].source++;
        }
    for (int s = 0; s < p->nnode; s++) p->node[s + 1].source += p->node[s].source;
    for (int i = 0; i < a->nrow; i++)
        for (int k = a->start[i]; k < a->start[i + 1] && a->col[k] <= i; k++) {
            int u = l->node_of[vertex[i]], v = l->node_of[vertex[a->col[k]]];
            size_t e = p->node[u < v ? u : v].source++;
            bool first = p->place[i] < p->place[a->col[k]];
            p->from[e] = k;
            p->to[e] = first ? p->place[i] : p->place[a->col[k]]; /* column */
            partner[e] = first ? a->col[k] : i;                   /* row */
        }
    for (int s = p->nnode; s > 0; s--) p->node[s].source = p->node[s - 1].source;
    p->node[0].source = 0;
    for (int s = 0; s < p->nnode; s++) {
        const sti__node *n = &p->node[s];
        int at_row = 8 * n->nd;
        for (int e = l->row_start[s]; e < l->row_start[s + 1]; e++) {
            offset[l->row[e]] = at_row;
            at_row += l->c->graph.weight[l->vertex[l->row[e]]];
        }
        for (size_t e = n->source; e < n[1].source; e++) {
            int dof = partner[e], v = vertex[dof], r = p->place[dof] - n->x0;
            if (l->node_of[v] != s)
                r = offset[l->rank[v]] + p->place[dof] - p->place[l->c->member[l->c->first[v]]];
            p->to[e] = (r >> 3) * n->nd * 64 + 8 * (p->to[e] - n->x0) + (r & 7);
        }
    }
}

/* ---- parts and memory
   --------------------------------------------------------------------------------------- */

/* Independent subtrees of at most 1/STI__FACTOR_TASKS of the work; neighbours are joined while they are small. */
static void cut_tasks(sti__plan *p, double *work, int *begin) {
    double limit = p->flops < STI__FACTOR_ALONE ? p->flops : p->flops / STI__FACTOR_TASKS, open = 0;
    for (int s = 0; s < p->nnode; s++) work[s] = 0, begin[s] = s;
    for (int s = 0; s < p->nnode; s++) {
        work[s] += node_flops(&p->node[s]);
        int parent = p->node[s].parent;
        if (parent < 0) continue;
        work[parent] += work[s];
        if (begin[s] < begin[parent]) begin[parent] = begin[s];
    }
    p->ntask = p->ntop = 0;
    for (int s = p->nlone; s < p->nnode; s++) {
        int parent = p->node[s].parent;
        bool small = work[s] <= limit, root = parent < 0 || work[parent] > limit;
        if (!small) p->top[p->ntop++] = s;
        if (!small || !root) continue;
        int *last = p->task + (p->ntask > 0 ? 2 * p->ntask - 2 : 0);
        if (p->ntask > 0 && last[1] == begin[s] && open + work[s] <= limit) {
            last[1] = s + 1;
            open += work[s];
        } else {
            p->task[2 * p->ntask] = begin[s];
            p->task[2 * p->ntask++ + 1] = s + 1;
            open = work[s];
        }
    }
}

/* Two stacks by the parity of the depth: a node's triangle goes on one while its children's, on the
   other, are taken off. `kept` triangles outlive their part. */
typedef struct stacks {
    size_t top[2], peak[2];
} stacks;

static size_t triangle_size(const sti__node *n) { return 64 * STI__TRIANGLE(n->nu); }

static void stack_node(sti__plan *p, stacks *k, const char *depth, const char *kept, int s) {
    sti__node *n = &p->node[s];
    int side = depth[s];
    for (int c = n->nchild - 1; c >= 0; c--) {
        const sti__node *child = &p->node[p->children[n->child + c]];
        if (!kept[p->children[n->child + c]]) k->top[!side] = child->triangle;
    }
    if (kept[s]) return;
    n->triangle = k->top[side];
    k->top[side] += triangle_size(n);
    if (k->top[side] > k->peak[side]) k->peak[side] = k->top[side];
}

/* Moves the stacks of a part to their place behind `base`. */
static size_t settle(sti__plan *p, const stacks *k, const char *depth, const char *kept, int s, size_t base) {
    if (!kept[s]) p->node[s].triangle += base + (depth[s] ? k->peak[0] : 0);
    return base + k->peak[0] + k->peak[1];
}

static void place_triangles(sti__plan *p, char *depth, char *kept) {
    for (int s = p->nnode - 1; s >= 0; s--)
        depth[s] = p->node[s].parent >= 0 ? !depth[p->node[s].parent] : 0, kept[s] = 0;
    size_t base = 0;
    for (int t = 0; t < p->ntask; t++)
        for (int s = p->task[2 * t]; s < p->task[2 * t + 1]; s++)
            if (p->node[s].parent >= p->task[2 * t + 1]) {
                kept[s] = 1;
                p->node[s].triangle = base;
                base += triangle_size(&p->node[s]);
            }
    for (int t = 0; t < p->ntask; t++) {
        stacks k = {{0}, {0}};
        size_t end = base;
        for (int s = p->task[2 * t]; s < p->task[2 * t + 1]; s++) stack_node(p, &k, depth, kept, s);
        for (int s = p->task[2 * t]; s < p->task[2 * t + 1]; s++) end = settle(p, &k, depth, kept, s, base);
        base = end;
    }
    stacks k = {{0}, {0}};
    size_t end = base;
    for (int i = 0; i < p->ntop; i++) stack_node(p, &k, depth, kept, p->top[i]);
    for (int i = 0; i < p->ntop; i++) end = settle(p, &k, depth, kept, p->top[i], base);
    p->nstack = end;
}

/* ---- all of it
   ------------------------------------------------------------------------------------------------ */

static bool take_tree(sti__etree *tree, size_t n, sti__temp *temp) {
    tree->order = sti__temp_ints(temp, n);
    tree->parent = sti__temp_ints(temp, n);
    tree->count = sti__temp_ints(temp, n);
    return !temp->failed;
}

/* The late ones at the end, the others in their order. They are connected with each other, so that they stay there in a
   postorder. */
static bool delay(const sti__compressed *c, int *order, sti__temp *temp) {
    if (!c->late) return true;
    int *late = sti__temp_ints(temp, (size_t)c->graph.n), count = 0, at = 0;
    if (!late) return false;
    for (int k = 0; k < c->graph.n; k++) {
        if (c->late[order[k]]) late[count++] = order[k];
        else order[at++] = order[k];
    }
    for (int k = 0; k < count; k++) order[at + k] = late[k];
    return true;
}

/* Minimum degree; where that leaves much work, dissection too, and the better of the two. */
static bool order_vertices(sti__plan *p, const sti__compressed *c, sti__etree *tree, sti__temp *temp) {
    const sti__graph *g = &c->graph;
    size_t n = (size_t)g->n;
    sti__etree other = {0};
    p->dissected = false;
    if (!take_tree(tree, n, temp) || !sti__order_degree(g, tree->order, temp) ||
        !delay(c, tree->order, temp) || !sti__etree_make(g, tree, temp))
        return false;
    if (tree->flops < STI__DISSECT_WORTH) return true;
    if (!take_tree(&other, n, temp) || !sti__order_dissect(g, other.order, temp) ||
        !delay(c, other.order, temp) || !sti__etree_make(g, &other, temp))
        return false;
    p->dissected = other.flops < tree->flops;
    if (p->dissected) *tree = other;
    return true;
}

static void fill_plan(sti__plan *p, const layout *l, const sti_csr *a, const sti__node *node, int *place_of,
                      int *partner, double *work, char *flags) {
    memcpy(p->node, node, sizeof *node * ((size_t)p->nnode + 1));
    list_children(p);
    place_dofs(p, l, place_of);
    for (int s = 0; s < p->nnode; s++) aim_rows(p, l, place_of, s);
    aim_entries(p, l, a, place_of, partner); /* place_of is scratch from here on */
    cut_tasks(p, work, partner);
    place_triangles(p, flags, flags + p->nnode);
}

sti_status sti__plan_make(sti__plan *p, const sti_csr *a, const bool *late, sti__temp *temp,
                          const sti_allocator *allocator, sti_error *error) {
    sti__compressed c = {0};
    sti__etree tree = {0};
    layout l = {.c = &c, .tree = &tree};
    sti__temp_reset(temp, allocator);
    p->n = a->nrow;
    p->nsource = count_sources(a);
    if (!sti__compress(&c, a, late, temp) || !order_vertices(p, &c, &tree, temp) ||
        !forest_take(&l.f, (size_t)c.graph.n, temp))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory to order a matrix of %d dofs", a->nrow);
    find_chains(&l.f, &c.graph, &tree, c.late);
    if (a->nrow > 0 && a->nrow <= STI__FACTOR_DENSE && !late) {
        join_all(&l.f, a->nrow);
        memset(l.f.of, 0, sizeof(int) * (size_t)c.graph.n);
    } else {
        amalgamate(&l.f, late != NULL);
        if (!late) join_roots(&l.f);
    }
    if (!number_nodes(&l, temp) || !find_rows(&l, temp))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory to analyse a matrix of %d dofs", a->nrow);
    size_t nodes = (size_t)l.nnode + 1, most = p->nsource > nodes ? p->nsource : nodes;
    sti__node *node = sti__temp_take(temp, nodes, sizeof *node);
    int *place_of = sti__temp_ints(temp, (size_t)c.graph.n), *partner = sti__temp_ints(temp, most);
    double *work = sti__temp_take(temp, nodes, sizeof *work);
    char *flags = sti__temp_take(temp, sti__size(2, nodes), 1);
    if (temp->failed)
        return sti__fail(error, STI_NO_MEMORY, "not enough memory to analyse a matrix of %d dofs", a->nrow);
    if (!size_nodes(p, &l, node))
        return sti__fail(error, STI_LIMIT, "the factor of a matrix of %d dofs is too large", a->nrow);
    if (!reserve(p, allocator))
        return sti__fail(error, STI_NO_MEMORY, "not enough memory for the plan of a factor");
    fill_plan(p, &l, a, node, place_of, partner, work, flags);
    p->tail = late ? p->nnode - 1 : -1;
    return STI_OK;
}

void sti__plan_free(sti__plan *p, const sti_allocator *allocator) {
    if (p->block) sti__free_aligned(allocator, p->block, p->room);
    *p = (sti__plan){0};
}
