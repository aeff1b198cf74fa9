/* SPDX-License-Identifier: Apache-2.0 */
/* Unit shapes at a few levels of detail, and shading normals of meshes. */
#include "base/det.h"
#include "math/rot.h"
#include "mesh/mesh.h"
#include "record/scene.h"
#include <string.h>

#define PI 3.14159265358979323846
#define CREASE 0.766f /* cosine of 40 degrees */

static const int sectors[STI__LEVELS] = {12, 24, 48, 96};

static bool shape_alloc(sti__drawn_mesh *s, int nvert, int nface, const sti_allocator *a) {
    float *vert = sti__alloc(a, sti__size(nvert, 3, sizeof(float)));
    int *face = sti__alloc(a, sti__size(nface, 3, sizeof(int)));
    *s = (sti__drawn_mesh){
        .vert = vert, .face = face, .nvert = nvert, .nface = nface, .own_vert = true, .closed = true};
    s->normal = sti__alloc(a, sti__size(nface, 9, sizeof(float)));
    return vert && face && s->normal;
}

static void put(float *out, double x, double y, double z) {
    out[0] = (float)x, out[1] = (float)y, out[2] = (float)z;
}

/* Two triangles between rings a and b of n vertices. */
static int *quad(int *face, int a, int b, int i, int n) {
    int j = (i + 1) % n, q[6] = {a + i, b + i, b + j, a + i, b + j, a + j};
    memcpy(face, q, sizeof q);
    return face + 6;
}

/* The ring at the middle comes twice, so that a capsule can draw the halves apart; the halves are told
   by the sign of z, hence the tiny numbers there. */
static bool make_sphere(sti__drawn_mesh *s, int n, const sti_allocator *a) {
    int half = n / 4, rings = 2 * (half + 1);
    if (!shape_alloc(s, rings * n, (rings - 1) * n * 2, a)) return false;
    float *v = (float *)s->vert;
    int *f = (int *)s->face;
    for (int r = 0; r < rings; r++) {
        int step = r <= half ? r : r - 1;
        double angle = PI * step / (2 * half),
               z = step == half ? (r == half ? 1e-7 : -1e-7) : sti__cos(angle);
        for (int i = 0; i < n; i++, v += 3) {
            double b = 2 * PI * i / n;
            put(v, sti__sin(angle) * sti__cos(b), sti__sin(angle) * sti__sin(b), z);
        }
    }
    for (int r = 0; r + 1 < rings; r++)
        for (int i = 0; i < n; i++) f = quad(f, r * n, (r + 1) * n, i, n);
    for (int c = 0; c < 3 * s->nface; c++)
        memcpy(s->normal + 3 * c, s->vert + 3 * s->face[c], 3 * sizeof(float));
    return true;
}

static bool make_cylinder(sti__drawn_mesh *s, int n, const sti_allocator *a) {
    if (!shape_alloc(s, 2 * n + 2, 4 * n, a)) return false;
    float *v = (float *)s->vert;
    int *f = (int *)s->face;
    for (int i = 0; i < 2 * n; i++) {
        double b = 2 * PI * (i % n) / n;
        put(v + 3 * i, sti__cos(b), sti__sin(b), i < n ? 1 : -1);
    }
    put(v + 6 * n, 0, 0, 1);
    put(v + 6 * n + 3, 0, 0, -1);
    for (int i = 0; i < n; i++) f = quad(f, 0, n, i, n);
    for (int i = 0; i < n; i++, f += 6) {
        int j = (i + 1) % n, caps[6] = {2 * n, i, j, 2 * n + 1, n + j, n + i};
        memcpy(f, caps, sizeof caps);
    }
    for (int c = 0; c < 3 * s->nface; c++) {
        const float *p = s->vert + 3 * s->face[c];
        if (c < 6 * n) put(s->normal + 3 * c, p[0], p[1], 0);
        else put(s->normal + 3 * c, 0, 0, p[2]);
    }
    return true;
}

/* Base at z = -1, tip at z = 1. */
static bool make_cone(sti__drawn_mesh *s, int n, const sti_allocator *a) {
    if (!shape_alloc(s, n + 2, 2 * n, a)) return false;
    float *v = (float *)s->vert;
    int *f = (int *)s->face;
    for (int i = 0; i < n; i++) put(v + 3 * i, sti__cos(2 * PI * i / n), sti__sin(2 * PI * i / n), -1);
    put(v + 3 * n, 0, 0, 1);
    put(v + 3 * n + 3, 0, 0, -1);
    for (int i = 0; i < n; i++) {
        int j = (i + 1) % n, faces[6] = {n, i, j, n + 1, j, i};
        memcpy(f + 6 * i, faces, sizeof faces);
        double b = 2 * PI * (i + 0.5) / n;
        for (int k = 0; k < 3; k++) {
            put(s->normal + 18 * i + 3 * k, sti__cos(b), sti__sin(b), 0.5);
            put(s->normal + 18 * i + 9 + 3 * k, 0, 0, -1);
        }
    }
    return true;
}

static bool make_cube(sti__drawn_mesh *s, const sti_allocator *a) {
    static const int quads[6][4] = {{0, 1, 3, 2}, {4, 6, 7, 5}, {0, 4, 5, 1},
                                    {2, 3, 7, 6}, {0, 2, 6, 4}, {1, 5, 7, 3}};
    if (!shape_alloc(s, 8, 12, a)) return false;
    float *v = (float *)s->vert;
    for (int i = 0; i < 8; i++) put(v + 3 * i, i & 4 ? 1 : -1, i & 2 ? 1 : -1, i & 1 ? 1 : -1);
    for (int q = 0; q < 6; q++) {
        const int *c = quads[q];
        int tri[6] = {c[0], c[1], c[2], c[0], c[2], c[3]};
        memcpy((int *)s->face + 6 * q, tri, sizeof tri);
        static const int axis[6] = {0, 0, 1, 1, 2, 2}, sign[6] = {-1, 1, -1, 1, -1, 1};
        for (int k = 0; k < 6; k++) s->normal[18 * q + 3 * k + axis[q]] = (float)sign[q];
    }
    return true;
}

/* ---- height fields: the ground, walls down to the base, and a bottom --------------------------------------- */

/* place of grid point i along one side of n, from -r to r */
static double grid(int i, int n, double r) { return r * (2.0 * i / (n - 1) - 1); }

/* the border's grid points, once around, counter-clockwise from above */
static int border(int i, int nr, int nc) {
    if (i < nc - 1) return i;
    if ((i -= nc - 1) < nr - 1) return i * nc + nc - 1;
    if ((i -= nr - 1) < nc - 1) return (nr - 1) * nc + nc - 1 - i;
    return (nr - 1 - (i - (nc - 1))) * nc;
}

static void field_faces(int *f, int nr, int nc, int around) {
    for (int r = 0; r + 1 < nr; r++)
        for (int c = 0; c + 1 < nc; c++, f += 6) {
            int a = r * nc + c, tri[6] = {a, a + 1, a + nc + 1, a, a + nc + 1, a + nc};
            memcpy(f, tri, sizeof tri);
        }
    int low = nr * nc, middle = low + around;
    for (int i = 0; i < around; i++, f += 9) {
        int j = (i + 1) % around, top = border(i, nr, nc), next = border(j, nr, nc);
        int wall[9] = {top, low + i, low + j, top, low + j, next, middle, low + j, low + i};
        memcpy(f, wall, sizeof wall);
    }
}

static bool make_field(sti__drawn_mesh *s, const sti_model *m, int field, const sti_allocator *a) {
    int nr = m->hfield_nrow[field], nc = m->hfield_ncol[field], around = 2 * (nr + nc) - 4;
    const double *size = m->hfield_size + 4 * (size_t)field;
    const float *height = m->hfield_data + m->hfield_adr[field];
    int nface = 2 * (nr - 1) * (nc - 1) + 3 * around;
    float *v = sti__alloc(a, sti__size(sti__sum(sti__size(nr, nc), around, 1), 3, sizeof(float)));
    int *f = sti__alloc(a, sti__size(nface, 3, sizeof(int)));
    *s = (sti__drawn_mesh){
        .vert = v, .face = f, .nvert = nr * nc + around + 1, .nface = nface, .own_vert = true};
    if (!v || !f) return false;
    for (int i = 0; i < nr * nc; i++)
        put(v + 3 * (size_t)i, grid(i % nc, nc, size[0]), grid(i / nc, nr, size[1]),
            size[2] * (double)height[i]);
    v += 3 * ((size_t)nr * (size_t)nc);
    for (int i = 0; i < around; i++, v += 3) {
        int k = border(i, nr, nc);
        put(v, grid(k % nc, nc, size[0]), grid(k / nc, nr, size[1]), -size[3]);
    }
    put(v, 0, 0, -size[3]);
    field_faces(f, nr, nc, around);
    return true;
}

/* ---- normals of meshes ------------------------------------------------------------------------------ */

typedef struct welder {
    const sti__drawn_mesh *shape;
    int *first; /* of each face corner: the first vertex at the same place */
    int *slot;
    size_t nslot;
    int *start;   /* of each vertex: its corners in `corner` */
    int *corner;  /* face corners, by vertex */
    float *plane; /* of each face: normal times area */
} welder;

static size_t place_hash(const float *v) {
    const float p[3] = {v[0] + 0.0f, v[1] + 0.0f, v[2] + 0.0f}; /* -0 is 0 */
    return sti__hash_point(p);
}

static int find_place(welder *w, int vertex) {
    const float *v = w->shape->vert + 3 * (size_t)vertex;
    for (size_t i = place_hash(v) & (w->nslot - 1);; i = (i + 1) & (w->nslot - 1)) {
        if (w->slot[i] == 0) return w->slot[i] = vertex + 1, vertex;
        const float *u = w->shape->vert + 3 * ((size_t)w->slot[i] - 1);
        if (u[0] == v[0] && u[1] == v[1] && u[2] == v[2]) return w->slot[i] - 1;
    }
}

/* Corners sorted by place. */
static void sort_corners(welder *w) {
    const sti__drawn_mesh *s = w->shape;
    int ncorner = 3 * s->nface;
    for (int c = 0; c < ncorner; c++) {
        w->first[c] = find_place(w, s->face[c]);
        w->start[w->first[c] + 1]++;
    }
    for (int v = 0; v < s->nvert; v++) w->start[v + 1] += w->start[v];
    for (int c = ncorner - 1; c >= 0; c--) w->corner[--w->start[w->first[c] + 1]] = c;
    /* filling from the end has moved every start to its own place, one further */
    for (int v = 0; v < s->nvert; v++) w->start[v] = w->start[v + 1];
    w->start[s->nvert] = ncorner;
}

static void face_planes(welder *w) {
    const sti__drawn_mesh *s = w->shape;
    for (int f = 0; f < s->nface; f++) {
        const float *a = s->vert + 3 * (size_t)s->face[3 * f], *b = s->vert + 3 * (size_t)s->face[3 * f + 1],
                    *c = s->vert + 3 * (size_t)s->face[3 * f + 2];
        float ab[3] = {b[0] - a[0], b[1] - a[1], b[2] - a[2]},
              ac[3] = {c[0] - a[0], c[1] - a[1], c[2] - a[2]};
        f3_cross(w->plane + 3 * (size_t)f, ab, ac);
    }
}

/* Faces around a place beyond this count are not looked at: a hostile fan must not cost its square. */
#define MAX_VALENCE 64

static void corner_normal(const welder *w, int c, float out[3]) {
    const float *own = w->plane + 3 * (size_t)(c / 3);
    int from = w->start[w->first[c]], to = w->start[w->first[c] + 1];
    if (to - from > MAX_VALENCE) to = from + MAX_VALENCE;
    float length = sqrtf(f3_dot(own, own));
    f3_copy(out, own);
    for (int i = from; i < to; i++) {
        const float *n = w->plane + 3 * (size_t)(w->corner[i] / 3);
        if (w->corner[i] / 3 == c / 3 || f3_dot(n, own) < CREASE * length * sqrtf(f3_dot(n, n))) continue;
        for (int k = 0; k < 3; k++) out[k] += n[k];
    }
    f3_normalize(out);
}

static bool weld(welder *w, const sti_allocator *a) {
    size_t ncorner = 3 * (size_t)w->shape->nface, nvert = (size_t)w->shape->nvert;
    w->nslot = 16;
    while (w->nslot < 2 * nvert) w->nslot *= 2;
    w->first = sti__alloc(a, sti__size(ncorner, sizeof(int)));
    w->slot = sti__alloc(a, sti__size(w->nslot, sizeof(int)));
    w->start = sti__alloc(a, sti__size(sti__add(nvert, 1), sizeof(int)));
    w->corner = sti__alloc(a, sti__size(ncorner, sizeof(int)));
    w->plane = sti__alloc(a, sti__size(ncorner, sizeof(float)));
    return w->first && w->slot && w->start && w->corner && w->plane;
}

static void unweld(welder *w, const sti_allocator *a) {
    size_t ncorner = 3 * (size_t)w->shape->nface, nvert = (size_t)w->shape->nvert;
    sti__free(a, w->first, ncorner * sizeof(int));
    sti__free(a, w->slot, w->nslot * sizeof(int));
    sti__free(a, w->start, (nvert + 1) * sizeof(int));
    sti__free(a, w->corner, ncorner * sizeof(int));
    sti__free(a, w->plane, ncorner * sizeof(float));
}

/* Whether every edge is passed as often one way as the other, by a sum of hashes that is 0 then; and the faces look
   outwards, by the volume's sign. */
static bool is_closed(const welder *w) {
    const sti__drawn_mesh *s = w->shape;
    uint64_t sum = 0;
    double volume = 0;
    for (int c = 0; c < 3 * s->nface; c++) {
        uint64_t a = (uint64_t)w->first[c], b = (uint64_t)w->first[c % 3 == 2 ? c - 2 : c + 1],
                 h = (a < b ? a << 32 | b : b << 32 | a) * 0x9e3779b97f4a7c15ull;
        h = (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
        h ^= h >> 32;
        sum += a < b ? h : a > b ? 0 - h : 0;
    }
    for (int f = 0; f < s->nface; f++)
        volume += (double)f3_dot(s->vert + 3 * (size_t)s->face[3 * f], w->plane + 3 * (size_t)f);
    return sum == 0 && volume > 0;
}

bool sti__shape_normals(sti__drawn_mesh *shape, const sti_allocator *allocator) {
    welder w = {.shape = shape};
    if (!shape->normal) shape->normal = sti__alloc(allocator, sti__size(shape->nface, 9, sizeof(float)));
    bool ok = shape->normal && weld(&w, allocator);
    if (ok) {
        sort_corners(&w);
        face_planes(&w);
        shape->closed = is_closed(&w);
        for (int c = 0; c < 3 * shape->nface; c++) corner_normal(&w, c, shape->normal + 3 * (size_t)c);
    }
    unweld(&w, allocator);
    if (!ok) { /* the next picture tries again */
        sti__free(allocator, shape->normal, sti__size(shape->nface, 9, sizeof(float)));
        shape->normal = NULL;
    }
    return ok;
}

/* ---- fewer faces for small maps ------------------------------------------------------------------------ */

#define COARSE_FACES 1500 /* meshes with fewer stay as they are */
#define COARSE_CELLS 96   /* along the mesh's longest side; the vertices of a cell become one */

typedef struct thinner {
    const sti__drawn_mesh *from;
    float lo[3], cell;
    int *slot; /* hash table of cells: 1 + vertex of the coarse shape */
    size_t nslot;
    int *place; /* of each vertex: in the coarse shape */
    int *key;   /* of each coarse vertex: its cell */
    int *count;
} thinner;

static int cell_of(const thinner *t, const float *v) {
    int c[3];
    for (int k = 0; k < 3; k++) c[k] = (int)f_clamp((v[k] - t->lo[k]) / t->cell, 0, COARSE_CELLS - 1);
    return (c[0] * COARSE_CELLS + c[1]) * COARSE_CELLS + c[2];
}

/* Vertices of a cell become their mean. */
static int merge_vertices(thinner *t, float *vert) {
    int n = 0;
    for (int v = 0; v < t->from->nvert; v++) {
        const float *p = t->from->vert + 3 * (size_t)v;
        int cell = cell_of(t, p);
        size_t i = (size_t)((uint32_t)cell * 2654435761u) & (t->nslot - 1);
        while (t->slot[i] && t->key[t->slot[i] - 1] != cell) i = (i + 1) & (t->nslot - 1);
        if (!t->slot[i]) t->key[n] = cell, t->slot[i] = ++n;
        int to = t->place[v] = t->slot[i] - 1;
        t->count[to]++;
        for (int k = 0; k < 3; k++) vert[3 * (size_t)to + (size_t)k] += p[k];
    }
    for (int v = 0; v < n; v++) f3_scale(vert + 3 * (size_t)v, 1 / (float)t->count[v]);
    return n;
}

static int keep_faces(const thinner *t, int *face) {
    int n = 0;
    for (int f = 0; f < t->from->nface; f++) {
        const int *c = t->from->face + 3 * (size_t)f;
        int a = t->place[c[0]], b = t->place[c[1]], d = t->place[c[2]];
        if (a == b || b == d || d == a) continue;
        face[3 * n] = a, face[3 * n + 1] = b, face[3 * n + 2] = d;
        n++;
    }
    return n;
}

static void measure_cells(thinner *t) {
    float hi[3];
    for (int k = 0; k < 3; k++) {
        t->lo[k] = hi[k] = t->from->vert[k];
        for (int v = 0; v < t->from->nvert; v++) {
            float x = t->from->vert[3 * (size_t)v + (size_t)k];
            t->lo[k] = fminf(t->lo[k], x), hi[k] = fmaxf(hi[k], x);
        }
        t->cell = fmaxf(t->cell, (hi[k] - t->lo[k]) / COARSE_CELLS);
    }
}

static void fill_coarse(thinner *t, sti__drawn_mesh *out, float *vert, int *face, const sti_allocator *a) {
    int nvert = merge_vertices(t, vert), nface = keep_faces(t, face);
    size_t bytes = sti__size(nvert, 3, sizeof(float));
    float *v = sti__alloc(a, bytes);
    int *f = sti__alloc(a, sti__size(nface, 3, sizeof(int)));
    *out = (sti__drawn_mesh){
        .vert = v, .face = f, .nvert = nvert, .nface = nface, .own_vert = true, .closed = t->from->closed};
    if (v) memcpy(v, vert, bytes);
    if (f) memcpy(f, face, sti__size(nface, 3, sizeof(int)));
}

static bool make_coarse(sti__drawn_mesh *out, const sti__drawn_mesh *from, const sti_allocator *a) {
    if (from->nface < COARSE_FACES) return true;
    thinner t = {.from = from, .nslot = 16};
    size_t nvert = (size_t)from->nvert, words = sti__size(nvert, sizeof(int)),
           nv = sti__size(nvert, 3, sizeof(float)), nf = sti__size(from->nface, 3, sizeof(int));
    while (t.nslot < 2 * nvert) t.nslot *= 2;
    measure_cells(&t);
    t.slot = sti__alloc(a, sti__size(t.nslot, sizeof(int)));
    t.place = sti__alloc(a, words), t.key = sti__alloc(a, words), t.count = sti__alloc(a, words);
    float *vert = sti__alloc(a, nv);
    int *face = sti__alloc(a, nf);
    bool ok = t.slot && t.place && t.key && t.count && vert && face;
    if (ok && t.cell > 0) fill_coarse(&t, out, vert, face, a), ok = out->vert && out->face;
    sti__free(a, t.slot, t.nslot * sizeof(int));
    sti__free(a, t.place, words), sti__free(a, t.key, words), sti__free(a, t.count, words);
    sti__free(a, vert, nv), sti__free(a, face, nf);
    return ok;
}

static void free_solid(sti__drawn_mesh *p, const sti_allocator *a) {
    sti__free(a, p->normal, (size_t)p->nface * 9 * sizeof(float));
    sti__free(a, p->tint, (size_t)p->nvert * 3 * sizeof(float));
    if (!p->own_vert) return;
    sti__free(a, (void *)p->vert, (size_t)p->nvert * 3 * sizeof(float));
    if (!p->shared_face) sti__free(a, (void *)p->face, (size_t)p->nface * 3 * sizeof(int));
}

/* What could not be made whole is made anew by the next picture. */
static bool whole(bool ok, sti__drawn_mesh *p, const sti_allocator *a) {
    if (!ok) {
        free_solid(p, a);
        *p = (sti__drawn_mesh){0};
    }
    return ok;
}

/* ---- all of them -------------------------------------------------------------------------------------- */

bool sti__shapes_init(sti__shapes *s, const sti_model *m, const sti_allocator *a) {
    *s = (sti__shapes){
        .count = STI__MESHES + m->nmesh + m->nhfield + m->nflex + m->nskin, .model = m, .allocator = a};
    s->shape = sti__alloc(a, sti__size(s->count, sizeof *s->shape));
    s->coarse = sti__alloc(a, sti__size(s->count, sizeof *s->coarse));
    bool ok = s->shape && s->coarse;
    for (int i = 0; ok && i < STI__LEVELS; i++)
        ok = make_sphere(&s->shape[STI__SPHERES + i], sectors[i], a) &&
             make_cylinder(&s->shape[STI__CYLINDERS + i], sectors[i], a);
    ok = ok && make_cube(&s->shape[STI__CUBE], a) && make_cone(&s->shape[STI__CONE], sectors[1], a);
    for (int i = 0; ok && i < STI__MESHES; i++)
        s->largest = s->shape[i].nvert > s->largest ? s->shape[i].nvert : s->largest;
    return ok;
}

bool sti__shapes_need_mesh(sti__shapes *s, int mesh) {
    const sti_model *m = s->model;
    sti__drawn_mesh *shape = &s->shape[STI__MESHES + mesh];
    if (shape->normal) return true;
    shape->vert = m->mesh_vert + 3 * (size_t)m->mesh_vertadr[mesh];
    shape->face = m->mesh_face + 3 * (size_t)m->mesh_faceadr[mesh];
    shape->nvert = m->mesh_vertnum[mesh];
    shape->nface = m->mesh_facenum[mesh];
    if (m->mesh_texcoordadr[mesh] >= 0) {
        shape->coord = m->mesh_texcoord + 2 * (size_t)m->mesh_texcoordadr[mesh];
        shape->face_coord = m->mesh_facetexcoord + 3 * (size_t)m->mesh_faceadr[mesh];
    }
    if (shape->nvert > s->largest) s->largest = shape->nvert;
    sti__drawn_mesh *coarse = &s->coarse[STI__MESHES + mesh];
    return whole(sti__shape_normals(shape, s->allocator) &&
                     whole(make_coarse(coarse, shape, s->allocator), coarse, s->allocator),
                 shape, s->allocator);
}

bool sti__shapes_need_field(sti__shapes *s, int field) {
    sti__drawn_mesh *shape = &s->shape[STI__MESHES + s->model->nmesh + field];
    if (shape->normal) return true;
    bool ok = make_field(shape, s->model, field, s->allocator) && sti__shape_normals(shape, s->allocator);
    if (shape->nvert > s->largest) s->largest = shape->nvert;
    return whole(ok, shape, s->allocator);
}

/* A shape whose vertices are set for each picture: place for them. */
static float *moving(sti__shapes *s, sti__drawn_mesh *shape, int nvert) {
    float *vert = (float *)shape->vert; /* of the last picture */
    if (!vert) vert = sti__alloc(s->allocator, sti__size(3, nvert, sizeof *vert));
    shape->vert = vert;
    shape->nvert = vert ? nvert : 0;
    shape->radius = 0;
    shape->own_vert = shape->shared_face = true;
    if (nvert > s->largest) s->largest = nvert;
    return vert;
}

bool sti__shapes_need_soft(sti__shapes *s, int flex, const double *xpos, double middle[3]) {
    const sti_model *m = s->model;
    sti__drawn_mesh *shape = &s->shape[STI__MESHES + m->nmesh + m->nhfield + flex];
    int n = m->flex_vertnum[flex];
    const double *x = xpos + 3 * (size_t)m->flex_vertadr[flex];
    float *vert = moving(s, shape, n);
    if (!vert) return false;
    for (int k = 0; k < 3; k++) {
        middle[k] = 0;
        for (int i = 0; i < n; i++) middle[k] += x[3 * i + k] / n;
        for (int i = 0; i < n; i++) vert[3 * i + k] = (float)(x[3 * i + k] - middle[k]);
    }
    sti__free(s->allocator, shape->tint, sti__size(3, n, sizeof(float)));
    shape->tint = NULL;
    shape->face = m->flex_shell + 3 * (size_t)m->flex_shelladr[flex];
    shape->nface = m->flex_shellnum[flex];
    return sti__shape_normals(shape, s->allocator);
}

/* The motion of a bone since it was bound, as a rotation and what is added, from the middle. */
static void bone_motion(const sti_model *m, int bone, const double *xpos, const double *xquat,
                        const double middle[3], double rot[9], double shift[3]) {
    double bind[4], pos[3], turn[4];
    for (int k = 0; k < 4; k++) bind[k] = (double)m->skin_bonebindquat[4 * bone + k] * (k ? -1 : 1);
    for (int k = 0; k < 3; k++) pos[k] = (double)m->skin_bonebindpos[3 * bone + k];
    quat_normalize(bind);
    quat_mul(turn, xquat + 4 * m->skin_bonebodyid[bone], bind);
    quat_to_mat(rot, turn);
    m3_mul_vec(shift, rot, pos);
    for (int k = 0; k < 3; k++) shift[k] = xpos[3 * m->skin_bonebodyid[bone] + k] - middle[k] - shift[k];
}

static void add_bone(const sti_model *m, int bone, const float *from, const double rot[9],
                     const double shift[3], float *vert) {
    for (int i = m->skin_bonevertadr[bone]; i < m->skin_bonevertadr[bone] + m->skin_bonevertnum[bone]; i++) {
        const float *p = from + 3 * (size_t)m->skin_bonevertid[i];
        float *v = vert + 3 * (size_t)m->skin_bonevertid[i];
        for (int k = 0; k < 3; k++)
            v[k] += m->skin_bonevertweight[i] *
                    (float)(rot[3 * k] * (double)p[0] + rot[3 * k + 1] * (double)p[1] +
                            rot[3 * k + 2] * (double)p[2] + shift[k]);
    }
}

/* Moves vertices along the mean of the normals at their corners. */
static bool inflate(sti__shapes *s, sti__drawn_mesh *shape, float reach) {
    if (!sti__shape_normals(shape, s->allocator)) return false;
    if (reach == 0) return true;
    float *sum = sti__alloc(s->allocator, sti__size(3, shape->nvert, sizeof *sum));
    if (!sum) return false;
    for (int c = 0; c < 3 * shape->nface; c++)
        for (int k = 0; k < 3; k++)
            sum[3 * (size_t)shape->face[c] + (size_t)k] += shape->normal[3 * (size_t)c + (size_t)k];
    for (int v = 0; v < shape->nvert; v++) {
        f3_normalize(sum + 3 * (size_t)v);
        for (int k = 0; k < 3; k++)
            ((float *)shape->vert)[3 * (size_t)v + (size_t)k] += reach * sum[3 * (size_t)v + (size_t)k];
    }
    sti__free(s->allocator, sum, sti__size(3, shape->nvert, sizeof *sum));
    return true;
}

bool sti__shapes_need_skin(sti__shapes *s, int skin, const double *xpos, const double *xquat,
                           double middle[3]) {
    const sti_model *m = s->model;
    sti__drawn_mesh *shape = &s->shape[STI__MESHES + m->nmesh + m->nhfield + m->nflex + skin];
    int n = m->skin_vertnum[skin], bones = m->skin_boneadr[skin];
    float *vert = moving(s, shape, n);
    if (!vert) return false;
    v3_copy(middle, xpos + 3 * m->skin_bonebodyid[bones]);
    memset(vert, 0, (size_t)n * 3 * sizeof *vert);
    for (int b = bones; b < bones + m->skin_bonenum[skin]; b++) {
        double rot[9], shift[3];
        bone_motion(m, b, xpos, xquat, middle, rot, shift);
        add_bone(m, b, m->skin_vert + 3 * (size_t)m->skin_vertadr[skin], rot, shift, vert);
    }
    shape->face = m->skin_face + 3 * (size_t)m->skin_faceadr[skin];
    shape->nface = m->skin_facenum[skin];
    if (m->skin_texcoordadr[skin] >= 0) {
        shape->coord = m->skin_texcoord + 2 * (size_t)m->skin_texcoordadr[skin];
        shape->face_coord = shape->face;
    }
    return inflate(s, shape, m->skin_inflate[skin]);
}

void sti__shapes_free(sti__shapes *s) {
    for (int i = 0; s->shape && s->coarse && i < s->count; i++) {
        free_solid(&s->shape[i], s->allocator);
        free_solid(&s->coarse[i], s->allocator);
    }
    sti__free(s->allocator, s->shape, (size_t)s->count * sizeof *s->shape);
    sti__free(s->allocator, s->coarse, (size_t)s->count * sizeof *s->coarse);
    s->shape = s->coarse = NULL;
}
