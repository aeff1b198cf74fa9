/* SPDX-License-Identifier: Apache-2.0 */
/* Hulls for the narrow phase: triangles that lie in one plane become one polygon. */
#include "collide/core.h"
#include "model/shared.h"
#include <stdint.h>
#include <string.h>

/* vertices are floats: triangles this near to a plane, relative to the hull's size, belong to one face */
#define FLAT 2e-6

typedef struct builder {
    int nv, nt;
    double *vert, *plane, *area;
    int *tri, *twin, *group, *order, *stack, *head, *list, *slot;
    int *face_start, *face_vert, *edge_start, *edge_to, *around_start, *around;
    int nslot, nface, used;
    double size;
} builder;

static int slots(int nv) {
    int n = 8;
    while (n < 2 * nv && n < (1 << 29)) n *= 2;
    return n;
}

/* counts bytes when memory is NULL */
static size_t lay_out(builder *b, char *memory) {
    size_t at = 0, nv = (size_t)b->nv, nt = (size_t)b->nt;
    struct {
        double **p;
        size_t n;
    } real[] = {{&b->vert, 3 * nv}, {&b->plane, 4 * nt}, {&b->area, nt}};
    struct {
        int **p;
        size_t n;
    } whole[] = {{&b->face_start, nt + 1}, {&b->face_vert, 3 * nt},
                 {&b->edge_start, nv + 1}, {&b->edge_to, 3 * nt},
                 {&b->around, 3 * nt},     {&b->around_start, nv + 1},
                 {&b->tri, 3 * nt},        {&b->twin, 3 * nt},
                 {&b->group, nt},          {&b->order, nt},
                 {&b->stack, nt},          {&b->head, nv + 1},
                 {&b->list, 3 * nt},       {&b->slot, (size_t)b->nslot}};
    for (int i = 0; i < STI__COUNT(real); i++) {
        if (memory) *real[i].p = (double *)(void *)(memory + at);
        at += real[i].n * sizeof(double);
    }
    for (int i = 0; i < STI__COUNT(whole); i++) {
        if (memory) *whole[i].p = (int *)(void *)(memory + at);
        at += whole[i].n * sizeof(int);
    }
    return (at + 63) / 64 * 64;
}

size_t sti__hull_bytes(int nvert, int ntriangle) {
    builder b = {.nv = nvert, .nt = ntriangle, .nslot = slots(nvert)};
    if (nvert < 0 || ntriangle < 0 || nvert > (1 << 28) || ntriangle > (1 << 28)) return SIZE_MAX;
    return lay_out(&b, NULL);
}

/* ---- vertices and triangles
 * ------------------------------------------------------------------------------------ */

static unsigned home(const builder *b, int vertex) {
    return ((unsigned)vertex * 2654435761u) & (unsigned)(b->nslot - 1);
}

static int position(const builder *b, const int *hull_vert, int vertex) {
    for (unsigned k = home(b, vertex);; k = (k + 1) & (unsigned)(b->nslot - 1)) {
        if (b->slot[k] < 0) return -1;
        if (hull_vert[b->slot[k]] == vertex) return b->slot[k];
    }
}

static bool read_triangles(builder *b, const float *vert, const int *hull_vert, const int *hull_face) {
    for (int i = 0; i < b->nslot; i++) b->slot[i] = -1;
    for (int i = 0; i < b->nv; i++) {
        unsigned k = home(b, hull_vert[i]);
        while (b->slot[k] >= 0) k = (k + 1) & (unsigned)(b->nslot - 1);
        b->slot[k] = i;
        for (int j = 0; j < 3; j++) b->vert[3 * i + j] = (double)vert[3 * hull_vert[i] + j];
    }
    for (int i = 0; i < 3 * b->nt; i++)
        if ((b->tri[i] = position(b, hull_vert, hull_face[i])) < 0) return false;
    return true;
}

static int next(int h) { return h % 3 == 2 ? h - 2 : h + 1; }

/* half edges by the vertex they start from */
static void bucket(builder *b) {
    memset(b->head, 0, (size_t)(b->nv + 1) * sizeof(int));
    for (int h = 0; h < 3 * b->nt; h++) b->head[b->tri[h] + 1]++;
    for (int i = 0; i < b->nv; i++) b->head[i + 1] += b->head[i];
    memcpy(b->edge_start, b->head, (size_t)(b->nv + 1) * sizeof(int));
    for (int h = 0; h < 3 * b->nt; h++) b->list[b->edge_start[b->tri[h]]++] = h;
    memcpy(b->edge_start, b->head, (size_t)(b->nv + 1) * sizeof(int));
    for (int k = 0; k < 3 * b->nt; k++) b->edge_to[k] = b->tri[next(b->list[k])];
}

static int degree(const builder *b, int v) { return b->head[v + 1] - b->head[v]; }

/* looked for at the end with fewer edges: linear time also for a cone */
static bool find_twins(builder *b) {
    for (int h = 0; h < 3 * b->nt; h++) b->twin[h] = -1;
    for (int h = 0; h < 3 * b->nt; h++) {
        int from = b->tri[h], to = b->tri[next(h)];
        if (degree(b, to) > degree(b, from)) continue;
        for (int k = b->head[to]; k < b->head[to + 1]; k++) {
            int t = b->list[k];
            if (b->tri[next(t)] != from) continue;
            b->twin[h] = t;
            b->twin[t] = h;
        }
    }
    for (int h = 0; h < 3 * b->nt; h++)
        if (b->twin[h] < 0 || b->twin[b->twin[h]] != h) return false;
    return true;
}

/* ---- faces
 * ----------------------------------------------------------------------------------------------------------
 */

static double triangle_normal(const builder *b, int t, double n[3]) {
    const double *p = b->vert + 3 * b->tri[3 * t], *q = b->vert + 3 * b->tri[3 * t + 1],
                 *r = b->vert + 3 * b->tri[3 * t + 2];
    double e[3], f[3];
    v3_sub(e, q, p);
    v3_sub(f, r, p);
    v3_cross(n, e, f);
    return v3_norm(n);
}

static void sift(const builder *b, int *order, int i, int n) {
    for (int child; (child = 2 * i + 1) < n; i = child) {
        if (child + 1 < n && b->area[order[child + 1]] < b->area[order[child]]) child++;
        if (!(b->area[order[child]] < b->area[order[i]])) return;
        int x = order[i];
        order[i] = order[child];
        order[child] = x;
    }
}

/* largest first */
static void sort_by_area(builder *b) {
    double n[3];
    for (int t = 0; t < b->nt; t++) {
        b->area[t] = triangle_normal(b, t, n);
        b->order[t] = t;
        b->group[t] = -1;
    }
    for (int i = b->nt / 2; i-- > 0;) sift(b, b->order, i, b->nt);
    for (int i = b->nt; i-- > 1;) {
        int x = b->order[0];
        b->order[0] = b->order[i];
        b->order[i] = x;
        sift(b, b->order, 0, i);
    }
}

static bool in_plane(const builder *b, int t, const double n[3], double d) {
    double m[3], l = triangle_normal(b, t, m);
    for (int i = 0; i < 3; i++)
        if (fabs(v3_dot(b->vert + 3 * b->tri[3 * t + i], n) - d) > FLAT * b->size) return false;
    return v3_dot(m, n) > -0.5 * l; /* slivers may have any normal, but not the other side's */
}

/* triangles around seed in its plane, listed in stack; sum of their normals in plane */
static int flood(builder *b, int seed, int label, double plane[4]) {
    double n[3], m[3];
    triangle_normal(b, seed, n);
    v3_copy(plane, n);
    v3_normalize(n);
    double d = v3_dot(n, b->vert + 3 * b->tri[3 * seed]);
    int count = 0;
    b->stack[count++] = seed;
    b->group[seed] = label;
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++) {
            int t = b->twin[3 * b->stack[i] + k] / 3;
            if (b->group[t] >= 0 || !in_plane(b, t, n, d)) continue;
            b->group[t] = label;
            b->stack[count++] = t;
            triangle_normal(b, t, m);
            v3_add(plane, plane, m);
        }
    v3_normalize(plane);
    return count;
}

/* the rim of the group as a polygon, from half edge h on */
static int walk(builder *b, int h, int label, int at) {
    int first = h, n = 0;
    do {
        if (at + n >= 3 * b->nt) return n;
        b->face_vert[at + n++] = b->tri[h];
        h = next(h);
        for (int guard = 0; b->group[b->twin[h] / 3] == label && guard < b->nt; guard++) h = next(b->twin[h]);
    } while (h != first && n <= 3 * b->nt);
    return n;
}

static void finish_face(builder *b, int label, double plane[4]) {
    int from = b->face_start[label], n = b->used - from;
    double sum = 0;
    for (int i = 0; i < n; i++) sum += v3_dot(plane, b->vert + 3 * b->face_vert[from + i]);
    plane[3] = n > 0 ? sum / n : 0;
    b->face_start[label + 1] = b->used;
}

static void make_faces(builder *b) {
    b->nface = b->used = 0;
    b->face_start[0] = 0;
    for (int i = 0; i < b->nt; i++) {
        int seed = b->order[i];
        if (b->group[seed] >= 0) continue;
        int label = b->nface++, rim = -1;
        double *plane = b->plane + 4 * label;
        int count = flood(b, seed, label, plane);
        for (int k = 0; k < 3 * count && rim < 0; k++) {
            int h = 3 * b->stack[k / 3] + k % 3;
            if (b->group[b->twin[h] / 3] != label) rim = h;
        }
        if (rim >= 0) b->used += walk(b, rim, label, b->used);
        finish_face(b, label, plane);
    }
}

static void make_around(builder *b) {
    memset(b->around_start, 0, (size_t)(b->nv + 1) * sizeof(int));
    for (int k = 0; k < b->used; k++) b->around_start[b->face_vert[k] + 1]++;
    for (int i = 0; i < b->nv; i++) b->around_start[i + 1] += b->around_start[i];
    memcpy(b->head, b->around_start, (size_t)(b->nv + 1) * sizeof(int));
    for (int f = 0; f < b->nface; f++)
        for (int k = b->face_start[f]; k < b->face_start[f + 1]; k++)
            b->around[b->head[b->face_vert[k]]++] = f;
}

/* The middle of a cell of directions. */
static void cell_middle(int cell, double d[3]) {
    int k = cell / 32, i = cell / 4 % 4, j = cell % 4, u = k == 2 ? 0 : k + 1, v = k == 0 ? 2 : k - 1;
    d[k] = cell / 16 % 2 ? 1 : -1;
    d[u] = 0.5 * i - 0.75;
    d[v] = 0.5 * j - 0.75;
}

/* Each cell's climb begins at the answer of the one before it. */
static void find_tops(sti__hull *h) {
    int top = 0;
    for (int k = 0; k < STI__COUNT(h->top) && h->nvert > STI__HULL_SMALL; k++) {
        double d[3];
        cell_middle(k, d);
        h->top[k] = top;
        top = h->top[k] = sti__hull_top(h, d, top);
    }
}

bool sti__hull_build(const float *vert, const int *hull_vert, int nhullvert, const int *hull_face,
                     int nhullface, void *memory, sti__hull *hull) {
    builder b = {.nv = nhullvert, .nt = nhullface, .nslot = slots(nhullvert)};
    *hull = (sti__hull){0};
    if (nhullvert < 4 || nhullface < 4) return false;
    lay_out(&b, memory);
    if (!read_triangles(&b, vert, hull_vert, hull_face)) return false;
    bucket(&b);
    if (!find_twins(&b)) return false;
    for (int j = 0; j < 3; j++) {
        hull->lo[j] = INFINITY;
        hull->hi[j] = -INFINITY;
        for (int i = 0; i < b.nv; i++) {
            hull->lo[j] = fmin(hull->lo[j], b.vert[3 * i + j]);
            hull->hi[j] = fmax(hull->hi[j], b.vert[3 * i + j]);
        }
        b.size = fmax(b.size, hull->hi[j] - hull->lo[j]);
    }
    sort_by_area(&b);
    make_faces(&b);
    make_around(&b);
    hull->nvert = b.nv;
    hull->vert = b.vert;
    hull->nface = b.nface;
    hull->face_start = b.face_start;
    hull->face_vert = b.face_vert;
    hull->face_plane = b.plane;
    hull->edge_start = b.edge_start;
    hull->edge_to = b.edge_to;
    hull->around_start = b.around_start;
    hull->around = b.around;
    find_tops(hull);
    return true;
}

/* ---- all hulls of a model
 * ----------------------------------------------------------------------------------------- */

typedef struct hulls {
    sti__shared head;
    sti__hull hull[]; /* nmesh; then what they point to */
} hulls;

static size_t head_bytes(const sti_model *m) {
    return sti__add(sti__sum(sizeof(hulls), sti__size(m->nmesh, sizeof(sti__hull))), 63) / 64 * 64;
}

static hulls *make_hulls(const sti_model *m) {
    size_t bytes = head_bytes(m);
    for (int i = 0; i < m->nmesh; i++)
        bytes = sti__add(bytes, sti__hull_bytes(m->mesh_hullvertnum[i], m->mesh_hullfacenum[i]));
    hulls *all = sti__alloc_aligned(&m->allocator, bytes);
    if (!all) return NULL;
    all->head = (sti__shared){.kind = STI__SHARED_HULLS, .bytes = bytes};
    char *at = (char *)all + head_bytes(m);
    for (int i = 0; i < m->nmesh; i++) {
        int nv = m->mesh_hullvertnum[i], nt = m->mesh_hullfacenum[i];
        sti__hull_build(m->mesh_vert + 3 * m->mesh_vertadr[i], m->mesh_hullvert + m->mesh_hullvertadr[i], nv,
                        m->mesh_hullface + 3 * m->mesh_hullfaceadr[i], nt, at, &all->hull[i]);
        at += sti__hull_bytes(nv, nt);
    }
    return all;
}

const sti__hull *sti__hulls_of(const sti_model *m, sti_error *error) {
    sti__shared *shared = sti__shared_get(m, STI__SHARED_HULLS);
    if (m->nmesh == 0) return NULL;
    if (!shared) {
        hulls *all = make_hulls(m);
        if (!all) {
            sti__fail(error, STI_NO_MEMORY, "no memory for %d hulls", m->nmesh);
            return NULL;
        }
        shared = sti__shared_give(m, &all->head);
    }
    return ((const hulls *)(const void *)shared)->hull;
}
