/* SPDX-License-Identifier: Apache-2.0 */
/* Nested dissection: a small set of vertices (the separator) that parts the graph in two halves is
   eliminated last, the halves likewise, small parts by minimum degree. Separators are found on a
   graph made coarse by contracting edges, and refined on the way back by moving vertices out of the
   separator, accepting losses for a while (Fiduccia and Mattheyses). All choices are fixed: the same
   graph gives the same order. */
#include "linear/factor/ordering.h"
#include "linear/policy.h"
#include <string.h>

enum { LEFT, RIGHT, BETWEEN };

/* Ints from one block; what is taken last is given back first. */
typedef struct pool {
    int *base;
    size_t used, size;
} pool;

static int *grab(pool *p, size_t count) {
    if (count > p->size - p->used) return NULL;
    int *r = p->base + p->used;
    p->used += count;
    return r;
}

/* A graph with weights on vertices and edges. */
typedef struct level {
    int n;
    int *start, *adj, *edge; /* edge: weights, beside adj */
    int *weight;
    int *coarse; /* vertex of the next level */
    int *part;
    int *near[2]; /* of vertices in the separator: weight of neighbours on each side */
} level;

/* ---- coarsening --------------------------------------------------------------------------------------- */

static bool take_level(level *l, pool *p, int n, size_t edges) {
    size_t v = (size_t)n;
    int **arrays[] = {&l->weight, &l->coarse, &l->part, &l->near[0], &l->near[1]};
    l->n = n;
    l->start = grab(p, v + 1);
    for (int i = 0; i < STI__COUNT(arrays); i++) *arrays[i] = grab(p, v);
    l->adj = grab(p, edges);
    l->edge = grab(p, edges);
    return l->start && l->near[1] && l->edge && l->adj && l->weight && l->coarse && l->part && l->near[0];
}

/* Near 2/3 n and without a common divisor with n: steps of it come to every vertex. */
static int stride(int n) {
    for (int step = n / 3 * 2 + 1;; step++) {
        int a = step, b = n;
        while (b) {
            int t = a % b;
            a = b;
            b = t;
        }
        if (a == 1) return step;
    }
}

/* Pairs each vertex with the free neighbour of its heaviest edge; returns the number of pairs and
   singles. Starts in a scattered order, since neighbours in number are neighbours in space. */
static int match(level *l, int most) {
    int count = 0, n = l->n, step = stride(n);
    for (int v = 0; v < n; v++) l->coarse[v] = -1;
    for (int64_t k = 0, v = 0; k < n; k++, v = (v + step) % n) {
        if (l->coarse[v] >= 0) continue;
        int best = -1, heavy = 0;
        for (int e = l->start[v]; e < l->start[v + 1]; e++) {
            int u = l->adj[e];
            if (l->coarse[u] >= 0 || l->weight[u] + l->weight[v] > most) continue;
            if (l->edge[e] > heavy || (l->edge[e] == heavy && l->weight[u] < l->weight[best]))
                best = u, heavy = l->edge[e];
        }
        l->coarse[v] = count;
        if (best >= 0) l->coarse[best] = count;
        count++;
    }
    return count;
}

/* The contracted graph; edges between the same two vertices add up. */
static bool contract(const level *f, level *c, int count, pool *p, int *slot) {
    size_t mark = p->used;
    int *first = grab(p, (size_t)count), *second = grab(p, (size_t)count);
    if (!first || !second) return false;
    for (int v = 0; v < count; v++) first[v] = second[v] = -1, slot[v] = -1;
    for (int v = 0; v < f->n; v++)
        *(first[f->coarse[v]] < 0 ? &first[f->coarse[v]] : &second[f->coarse[v]]) = v;
    if (!take_level(c, p, count, (size_t)f->start[f->n])) return p->used = mark, false;
    int at = 0;
    for (int v = 0; v < count; v++) {
        int begin = at;
        c->start[v] = at;
        c->weight[v] = 0;
        for (int half = 0; half < 2; half++) {
            int u = half ? second[v] : first[v];
            if (u < 0) continue;
            c->weight[v] += f->weight[u];
            for (int e = f->start[u]; e < f->start[u + 1]; e++) {
                int x = f->coarse[f->adj[e]];
                if (x == v) continue;
                if (slot[x] < begin) slot[x] = at, c->adj[at] = x, c->edge[at++] = 0;
                c->edge[slot[x]] += f->edge[e];
            }
        }
    }
    c->start[count] = at;
    c->edge = memmove(c->adj + at, c->edge, sizeof(int) * (size_t)at); /* gives back what was too much */
    p->used = (size_t)(c->edge + at - p->base);
    for (int v = 0; v < count; v++) slot[v] = -1;
    return true;
}

/* ---- separators --------------------------------------------------------------------------------------- */

/* The separator as a list, and what each part weighs. */
typedef struct cut {
    level *l;
    int *list, *where; /* members; place of a vertex in the list, -1 outside */
    int *lock;         /* pass in which a vertex was moved */
    int *log;          /* changes: vertex, part before */
    int count, nlog, pass;
    int64_t weight[3];
    int64_t limit; /* of a side */
} cut;

static void set_part(cut *c, int v, int part) {
    level *l = c->l;
    int old = l->part[v], w = l->weight[v];
    c->weight[old] -= w;
    c->weight[part] += w;
    l->part[v] = part;
    if (old == BETWEEN) {
        int last = c->list[--c->count];
        c->list[c->where[v]] = last;
        c->where[last] = c->where[v];
        c->where[v] = -1;
    }
    if (part == BETWEEN) {
        c->where[v] = c->count;
        c->list[c->count++] = v;
        l->near[LEFT][v] = l->near[RIGHT][v] = 0;
    }
    for (int e = l->start[v]; e < l->start[v + 1]; e++) {
        int u = l->adj[e], side = l->part[u];
        if (part == BETWEEN && side != BETWEEN) l->near[side][v] += l->weight[u];
        if (side != BETWEEN) continue;
        if (old != BETWEEN) l->near[old][u] -= w;
        if (part != BETWEEN) l->near[part][u] += w;
    }
}

/* From l->part alone. */
static void survey(cut *c) {
    level *l = c->l;
    c->count = c->nlog = 0;
    c->weight[0] = c->weight[1] = c->weight[2] = 0;
    for (int v = 0; v < l->n; v++) {
        c->weight[l->part[v]] += l->weight[v];
        c->where[v] = -1;
        c->lock[v] = 0;
        if (l->part[v] != BETWEEN) continue;
        c->where[v] = c->count;
        c->list[c->count++] = v;
        l->near[LEFT][v] = l->near[RIGHT][v] = 0;
        for (int e = l->start[v]; e < l->start[v + 1]; e++)
            if (l->part[l->adj[e]] != BETWEEN) l->near[l->part[l->adj[e]]][v] += l->weight[l->adj[e]];
    }
    c->pass = 0;
    c->limit = (int64_t)(STI__DISSECT_HALF * (double)(c->weight[0] + c->weight[1] + c->weight[2]));
}

/* The move of the largest gain that keeps the balance (or mends it); -1 if there is none. */
static int best_move(const cut *c, int *side) {
    const level *l = c->l;
    int best = -1;
    int64_t most = INT64_MIN;
    for (int k = 0; k < c->count; k++) {
        int v = c->list[k];
        if (c->lock[v] == c->pass) continue;
        for (int to = 0; to < 2; to++) {
            int64_t grown = c->weight[to] + l->weight[v];
            if (grown > c->limit && grown > c->weight[!to]) continue;
            int64_t gain = 4 * ((int64_t)l->weight[v] - l->near[!to][v]) +
                           (c->weight[to] < c->weight[!to]); /* ties: to the lighter */
            if (gain > most || (gain == most && v < best)) best = v, most = gain, *side = to;
        }
    }
    return best;
}

static void note(cut *c, int v) {
    c->log[2 * c->nlog] = v;
    c->log[2 * c->nlog++ + 1] = c->l->part[v];
}

/* v leaves the separator; its neighbours on the other side join it. */
static void move(cut *c, int v, int to) {
    const level *l = c->l;
    note(c, v);
    set_part(c, v, to);
    c->lock[v] = c->pass;
    for (int e = l->start[v]; e < l->start[v + 1]; e++)
        if (l->part[l->adj[e]] == !to) {
            note(c, l->adj[e]);
            set_part(c, l->adj[e], BETWEEN);
        }
}

/* How bad a separator is: its weight, and more if a side is too heavy. */
static int64_t badness(const cut *c) {
    int64_t heavy = c->weight[0] > c->weight[1] ? c->weight[0] : c->weight[1];
    return 8 * c->weight[BETWEEN] + (heavy > c->limit ? 8 * (heavy - c->limit) : 0);
}

/* Moves until nothing has been won for a while, then goes back to the best; true if it won. A vertex
   is moved once per pass, and joins the separator at most once more. */
static bool refine_pass(cut *c) {
    int64_t start = badness(c), best = start;
    int best_log = 0, idle = 0, side = 0;
    c->pass++;
    c->nlog = 0;
    while (idle < STI__DISSECT_IDLE + c->count / 4) {
        int v = best_move(c, &side);
        if (v < 0) break;
        move(c, v, side);
        int64_t now = badness(c);
        idle++;
        if (now < best) best = now, best_log = c->nlog, idle = 0;
    }
    while (c->nlog > best_log) {
        c->nlog--;
        set_part(c, c->log[2 * c->nlog], c->log[2 * c->nlog + 1]);
    }
    return best < start;
}

static void refine(cut *c) {
    survey(c);
    for (int k = 0; k < STI__DISSECT_PASSES && c->count <= STI__DISSECT_SCANNED; k++)
        if (!refine_pass(c)) break;
}

/* Breadth first from a seed until half the weight is reached; the vertices next to it part. */
static void grow(level *l, int seed, int *queue) {
    int64_t total = 0, have = 0;
    int head = 0, tail = 0;
    for (int v = 0; v < l->n; v++) total += l->weight[v], l->part[v] = RIGHT;
    for (int next = 0; 2 * have < total;) {
        if (head == tail) { /* a part that is not connected to the rest */
            while (l->part[(seed + next) % l->n] == LEFT) next++;
            queue[tail++] = (seed + next) % l->n;
            l->part[queue[head]] = LEFT;
        }
        int v = queue[head++];
        have += l->weight[v];
        for (int e = l->start[v]; e < l->start[v + 1]; e++)
            if (l->part[l->adj[e]] == RIGHT) l->part[l->adj[e]] = LEFT, queue[tail++] = l->adj[e];
    }
    while (head < tail) l->part[queue[head++]] = BETWEEN; /* seen, but not taken */
}

static void first_separator(cut *c, int *queue, int *keep) {
    level *l = c->l;
    int64_t best = INT64_MAX;
    for (int k = 0; k < STI__DISSECT_STARTS; k++) {
        grow(l, (int)((int64_t)l->n * k / STI__DISSECT_STARTS), queue);
        refine(c);
        if (badness(c) >= best) continue;
        best = badness(c);
        memcpy(keep, l->part, sizeof(int) * (size_t)l->n);
    }
    memcpy(l->part, keep, sizeof(int) * (size_t)l->n);
}

/* Fills part of the finest level. False if the pool is too small even for that. */
static bool separate(level *levels, pool *p) {
    size_t n = (size_t)levels[0].n;
    cut c = {.l = levels};
    int *slot = grab(p, n), *keep = grab(p, n);
    c.list = grab(p, n), c.where = grab(p, n), c.lock = grab(p, n), c.log = grab(p, 6 * n + 2);
    if (!slot || !keep || !c.list || !c.where || !c.lock || !c.log) return false;
    int64_t total = 0;
    for (size_t v = 0; v < n; v++) total += levels[0].weight[v];
    int most = (int)(3 * total / (2 * STI__DISSECT_COARSEST)) + 1, depth = 0;
    while (depth + 1 < STI__DISSECT_LEVELS && levels[depth].n > STI__DISSECT_COARSEST) {
        int count = match(&levels[depth], most);
        if (count > levels[depth].n / 10 * 9) break;
        if (!contract(&levels[depth], &levels[depth + 1], count, p, slot)) break;
        depth++;
    }
    c.l = &levels[depth];
    first_separator(&c, slot, keep);
    while (depth-- > 0) {
        level *fine = &levels[depth];
        for (int v = 0; v < fine->n; v++) fine->part[v] = levels[depth + 1].part[fine->coarse[v]];
        c.l = fine;
        refine(&c);
    }
    return true;
}

/* ---- the order
   --------------------------------------------------------------------------------------------- */

/* The subgraph of `count` vertices; `name` is -1 outside and is left so. */
static bool extract(const sti__graph *g, const int *vertex, int count, int *name, level *l, pool *p) {
    size_t edges = 0;
    for (int i = 0; i < count; i++) edges += (size_t)(g->start[vertex[i] + 1] - g->start[vertex[i]]);
    if (!take_level(l, p, count, edges)) return false;
    for (int i = 0; i < count; i++) name[vertex[i]] = i;
    int at = 0;
    for (int i = 0; i < count; i++) {
        l->start[i] = at;
        l->weight[i] = g->weight[vertex[i]];
        for (int e = g->start[vertex[i]]; e < g->start[vertex[i] + 1]; e++)
            if (name[g->adj[e]] >= 0) l->adj[at] = name[g->adj[e]], l->edge[at++] = 1;
    }
    l->start[count] = at;
    for (int i = 0; i < count; i++) name[vertex[i]] = -1;
    return true;
}

static bool order_leaf(const level *l, int *vertex, pool *p) {
    sti__graph g = {l->n, l->start, l->adj, l->weight};
    size_t size = sti__order_degree_work(&g), n = (size_t)l->n;
    int *order = grab(p, 2 * n), *work = grab(p, size);
    if (!order || !work) return false;
    sti__order_degree_in(&g, order, work);
    int *old = order + n;
    memcpy(old, vertex, sizeof(int) * n);
    for (size_t i = 0; i < n; i++) vertex[i] = old[order[i]];
    return true;
}

/* Left part first, right part, separator last; their sizes. */
static void split(const level *l, int *vertex, int *old, int size[3]) {
    int at[3];
    size[0] = size[1] = size[2] = 0;
    for (int i = 0; i < l->n; i++) size[l->part[i]]++;
    at[LEFT] = 0, at[RIGHT] = size[LEFT], at[BETWEEN] = size[LEFT] + size[RIGHT];
    memcpy(old, vertex, sizeof(int) * (size_t)l->n);
    for (int i = 0; i < l->n; i++) vertex[at[l->part[i]]++] = old[i];
}

bool sti__order_dissect(const sti__graph *g, int *order, sti__temp *temp) {
    size_t n = (size_t)g->n, edges = (size_t)g->start[n];
    pool p = {.size = sti__add(sti__mul(40, n), sti__add(sti__mul(10, edges), 1000))};
    p.base = sti__temp_ints(temp, p.size);
    int *name = sti__temp_ints(temp, n), *stack = sti__temp_ints(temp, sti__add(sti__size(2, n), 2)),
        depth = 0;
    level levels[STI__DISSECT_LEVELS];
    if (temp->failed) return false;
    for (size_t v = 0; v < n; v++) name[v] = -1, order[v] = (int)v;
    stack[0] = 0, stack[1] = g->n, depth = 1;
    while (depth > 0) {
        int begin = stack[2 * --depth], count = stack[2 * depth + 1], size[3];
        if (count < 2) continue;
        p.used = 0;
        if (!extract(g, order + begin, count, name, levels, &p)) return false;
        if (count > STI__DISSECT_LEAF) {
            if (!separate(levels, &p)) return false;
            split(levels, order + begin, levels[0].near[0], size);
            if (size[LEFT] > 0 && size[RIGHT] > 0) {
                stack[2 * depth] = begin, stack[2 * depth++ + 1] = size[LEFT];
                stack[2 * depth] = begin + size[LEFT], stack[2 * depth++ + 1] = size[RIGHT];
                continue;
            }
            p.used = 0;
            if (!extract(g, order + begin, count, name, levels, &p)) return false;
        }
        if (!order_leaf(levels, order + begin, &p)) return false;
    }
    return true;
}
