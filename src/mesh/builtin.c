/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes that meshes can be made of without a file, as MuJoCo makes them: within [-1, 1], with its vertices in its order.

   Every shape is told twice, to count its vertices and faces and to write them. Vertices are single precision, as from a file. */
#include "base/det.h"
#include "mesh/readers.h"

#define PI 3.14159265358979323846
#define MAX_SUBDIVISION 4
#define MAX_RINGS 10
#define MAX_POINTS 100000 /* around a shape: more is no shape, and its square still fits */
#define MAX_VERTICES 4e6

typedef struct shape {
    sti__mesh *mesh; /* NULL: only count */
    int nvert, nface;
    const double *p; /* the parameters */
} shape;

/* To single precision and back. GCC 12 drops that from pairs of neighbours that it stores as one vector; not through a volatile. */
static double rounded(double x) {
    volatile float single = (float)x;
    return (double)single;
}

static void vertex(shape *s, double x, double y, double z) {
    if (s->mesh) {
        double *v = s->mesh->vert + 3 * (size_t)s->nvert;
        v[0] = rounded(x), v[1] = rounded(y), v[2] = rounded(z);
    }
    s->nvert++;
}

static void face(shape *s, int a, int b, int c) {
    if (s->mesh) {
        int *f = s->mesh->face + 3 * (size_t)s->nface;
        f[0] = a, f[1] = b, f[2] = c;
    }
    s->nface++;
}

/* ---- sphere: an icosahedron, each triangle cut in four ---------------------------------------------- */

static const double golden[2] = {0.525731112119133606, 0.850650808352039932};
/* signs and places of the two coordinates that are not 0 */
static const signed char ico_vertex[12][3] = {{-1, 2, 0}, {1, 2, 0}, {-1, -2, 0}, {1, -2, 0},
                                              {0, -1, 2}, {0, 1, 2}, {0, -1, -2}, {0, 1, -2},
                                              {2, 0, -1}, {2, 0, 1}, {-2, 0, -1}, {-2, 0, 1}};
static const signed char ico_face[20][3] = {{0, 11, 5}, {0, 5, 1},  {0, 1, 7},   {0, 7, 10}, {0, 10, 11},
                                            {1, 5, 9},  {5, 11, 4}, {11, 10, 2}, {10, 7, 6}, {7, 1, 8},
                                            {3, 9, 4},  {3, 4, 2},  {3, 2, 6},   {3, 6, 8},  {3, 8, 9},
                                            {4, 9, 5},  {2, 4, 11}, {6, 2, 10},  {8, 6, 7},  {9, 8, 1}};

static void icosahedron(shape *s) {
    double c[3];
    for (int i = 0; i < 12; i++) {
        for (int k = 0; k < 3; k++) {
            int t = ico_vertex[i][k];
            c[k] = t == 0 ? 0 : t > 0 ? golden[t - 1] : -golden[-t - 1];
        }
        vertex(s, c[0], c[1], c[2]);
    }
    for (int f = 0; f < 20; f++) face(s, ico_face[f][0], ico_face[f][1], ico_face[f][2]);
}

/* On the sphere, in single precision throughout. */
static void middle_vertex(shape *s, int a, int b) {
    const double *p = s->mesh->vert + 3 * (size_t)a, *q = s->mesh->vert + 3 * (size_t)b;
    float v[3];
    for (int k = 0; k < 3; k++) v[k] = (float)p[k] + (float)q[k];
    float norm = sqrtf((v[0] * v[0] + v[1] * v[1]) + v[2] * v[2]);
    vertex(s, v[0] / norm, v[1] / norm, v[2] / norm);
}

/* The vertex between a and b: parents[] holds the ends of those from number `first` on. */
static int middle(shape *s, int *parents, int first, int a, int b) {
    int low = a < b ? a : b, high = a < b ? b : a;
    for (int i = first; i < s->nvert; i++)
        if (parents[2 * i] == low && parents[2 * i + 1] == high) return i;
    parents[2 * s->nvert] = low, parents[2 * s->nvert + 1] = high;
    middle_vertex(s, a, b);
    return s->nvert - 1;
}

/* The old faces move to the end of their array, so that the new ones never reach those still to be read. */
static void subdivide(shape *s, int *parents) {
    int n = s->nface, first = s->nvert, *all = s->mesh->face, *old = all + 9 * (size_t)n;
    memmove(old, all, 3 * (size_t)n * sizeof(int));
    s->nface = 0;
    for (int f = 0; f < n; f++) {
        int a = old[3 * f], b = old[3 * f + 1], c = old[3 * f + 2];
        int ab = middle(s, parents, first, a, b), bc = middle(s, parents, first, b, c),
            ca = middle(s, parents, first, c, a);
        face(s, a, ab, ca);
        face(s, b, bc, ab);
        face(s, c, ca, bc);
        face(s, ab, bc, ca);
    }
}

static sti_status sphere(sti__mesh_reader *r, shape *s) {
    int levels = (int)s->p[0], faces = 20 << 2 * levels, vertices = faces / 2 + 2;
    size_t bytes = sti__size((size_t)vertices, 2, sizeof(int));
    sti_status status = sti__mesh_reserve(r, (size_t)vertices, (size_t)faces);
    int *parents = status == STI_OK ? sti__mesh_borrow(r, bytes) : NULL;
    if (!parents) return status == STI_OK ? r->error->code : status;
    s->mesh = r->mesh;
    icosahedron(s);
    for (int k = 0; k < levels; k++) subdivide(s, parents);
    sti__mesh_return(r, parents, bytes);
    return STI_OK;
}

/* ---- hemisphere: rings of 4, 8, 12 ... points below the pole, and a flat base ------------------------ */

static void ring_vertices(shape *s, int k, int rings) {
    static const double corner[5][2] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}, {1, 0}};
    for (int side = 0; side < 4; side++)
        for (int j = 0; j < k; j++) {
            double x = (k - j) * corner[side][0] + j * corner[side + 1][0];
            double y = (k - j) * corner[side][1] + j * corner[side + 1][1], z = rings - k;
            double norm = sqrt(x * x + y * y + z * z);
            vertex(s, x / norm, y / norm, z / norm);
        }
}

static int ring_point(int k, int side, int j) {
    int first = k > 0 ? 1 + 2 * k * (k - 1) : 0; /* 1 + 4 (1 + 2 + ... + k - 1) */
    return k > 0 ? first + (side * k + j) % (4 * k) : 0;
}

static void hemisphere(shape *s) {
    int rings = (int)s->p[0] + 1, centre = 1 + 2 * rings * (rings + 1);
    vertex(s, 0, 0, 1);
    for (int k = 1; k <= rings; k++) ring_vertices(s, k, rings);
    vertex(s, 0, 0, 0);
    for (int k = 0; k < rings; k++)
        for (int side = 0; side < 4; side++)
            for (int j = 0; j <= k; j++) {
                int in = ring_point(k, side, j), out = ring_point(k + 1, side, j),
                    next = ring_point(k + 1, side, j + 1);
                face(s, in, out, next);
                if (j < k) face(s, in, next, ring_point(k, side, j + 1));
            }
    for (int j = 0; j < 4 * rings; j++) face(s, ring_point(rings, 0, j), centre, ring_point(rings, 0, j + 1));
}

/* ---- cone, wedge, plate ------------------------------------------------------------------------------- */

static void circle(shape *s, int n, double radius, double z) {
    for (int i = 0; i < n; i++) {
        double angle = 2 * PI * i / n;
        vertex(s, radius * sti__cos(angle), radius * sti__sin(angle), z);
    }
}

static void cone(shape *s) {
    circle(s, (int)s->p[0], 1, -1);
    if (s->p[1] > 0) circle(s, (int)s->p[0], s->p[1], 1);
    else vertex(s, 0, 0, 1);
}

/* Edge i of n cells between -1 and 1, denser in the middle by gamma. */
static double fovea(int i, int n, double gamma) {
    double x = 2.0 * i / n - 1;
    return gamma * ((x * x) * (x * x) * x) + (1 - gamma) * x;
}

/* The two angles of the middle of a wedge's cell. */
static void wedge_angles(const double *p, int i, int j, double angle[2]) {
    int nx = (int)p[0], ny = (int)p[1];
    angle[0] = p[2] * PI / 180 / 2 * (fovea(i, nx, p[4]) + fovea(i + 1, nx, p[4]));
    angle[1] = p[3] * PI / 180 / 2 * (fovea(j, ny, p[4]) + fovea(j + 1, ny, p[4]));
}

/* A part of a sphere about -z: middles of cells in two angles. */
static void wedge(shape *s) {
    for (int i = 0; i < (int)s->p[0]; i++)
        for (int j = 0; j < (int)s->p[1]; j++) {
            double at[2];
            wedge_angles(s->p, i, j, at);
            double c = sti__cos(at[1]);
            vertex(s, c * sti__sin(at[0]), sti__sin(at[1]), -c * sti__cos(at[0]));
        }
}

static void plate(shape *s) {
    int nx = (int)s->p[0], ny = (int)s->p[1];
    for (int i = 0; i < nx; i++)
        for (int j = 0; j < ny; j++) vertex(s, (2 * i + 1.0) / nx - 1, (2 * j + 1.0) / ny - 1, -1);
    for (int i = 0; i + 1 < nx; i++)
        for (int j = 0; j + 1 < ny; j++) {
            int a = i * ny + j;
            face(s, a, a + ny, a + 1);
            face(s, a + ny + 1, a + 1, a + ny);
        }
}

bool sti__mesh_has_tangents(sti__mesh_builtin_kind kind) {
    return kind == STI__BUILTIN_WEDGE || kind == STI__BUILTIN_PLATE;
}

void sti__mesh_tangents(sti__mesh_builtin_kind kind, const double *params, int i, double out[6]) {
    static const double plate_axes[6] = {0, 1, 0, 0, 0, 1};
    double at[2];
    if (kind != STI__BUILTIN_WEDGE) {
        for (int k = 0; k < 6; k++) out[k] = plate_axes[k];
        return;
    }
    wedge_angles(params, i / (int)params[1], i % (int)params[1], at);
    double sa = sti__sin(at[0]), ca = sti__cos(at[0]), sb = sti__sin(at[1]);
    out[0] = ca, out[1] = 0, out[2] = sa;
    out[3] = -sb * sa, out[4] = sti__cos(at[1]), out[5] = sb * ca;
}

/* ---- supersphere and supertorus ------------------------------------------------------------------------ */

static double power(double x, double e) { return (x < 0 ? -1 : x > 0) * sti__pow(fabs(x), e); }
static double pcos(double x, double e) { return power(sti__cos(x), e); }
static double psin(double x, double e) { return power(sti__sin(x), e); }

/* n points around, n - 1 rings between the poles */
static void supersphere(shape *s) {
    int n = (int)s->p[0], top = 1 + (n - 1) * n;
    double e = s->p[1], m = s->p[2];
    vertex(s, 0, 0, -1);
    for (int k = 1; k < n; k++)
        for (int j = 0; j < n; j++) {
            double v = -PI / 2 + PI * k / n, u = -PI + 2 * PI * j / n;
            vertex(s, pcos(v, m) * pcos(u, e), pcos(v, m) * psin(u, e), psin(v, m));
        }
    vertex(s, 0, 0, 1);
    for (int j = 0; j < n; j++) face(s, 0, 1 + (j + 1) % n, 1 + j);
    for (int k = 0; k < n - 1; k++)
        for (int j = 0; j < n; j++) {
            int a = 1 + k * n + j, b = 1 + k * n + (j + 1) % n;
            face(s, a, b, k + 2 < n ? a + n : top);
            if (k + 2 < n) face(s, b, b + n, a + n);
        }
}

static void supertorus(shape *s) {
    int n = (int)s->p[0];
    double r = s->p[1], e = s->p[2], t = s->p[3];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double u = 2 * PI * i / n, v = 2 * PI * j / n, x = 1 + r * pcos(v, e);
            vertex(s, x * pcos(u, t), x * psin(u, t), r * psin(v, e));
        }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            int next = (i + 1) % n * n, a = i * n + j, a1 = i * n + (j + 1) % n, b = next + j,
                b1 = next + (j + 1) % n;
            face(s, a, b, a1);
            face(s, b, b1, a1);
        }
}

/* ---- which parameters ----------------------------------------------------------------------------------- */

/* lowest <= parameter <= highest; `open`: lowest itself is not allowed */
typedef struct bound {
    double lowest, highest;
    bool open;
} bound;

static const struct kind {
    const char *words;
    void (*make)(shape *);
    int count;
    bound bounds[5];
} kinds[] = {
    {"params of a sphere: subdivisions, 0 to 4", NULL, 1, {{0, MAX_SUBDIVISION}}},
    {"params of a hemisphere: resolution, 0 to 10", hemisphere, 1, {{0, MAX_RINGS}}},
    {"params of a cone: points around, at least 3; radius of the top, 0 to 1",
     cone,
     2,
     {{3, MAX_POINTS}, {0, 1}}},
    {"params of a supersphere: points around, at least 3; two exponents, at least 0",
     supersphere,
     3,
     {{3, MAX_POINTS}, {0, 1e6}, {0, 1e6}}},
    {"params of a supertorus: points around, at least 3; radius, above 0 to 1; two exponents above 0",
     supertorus,
     4,
     {{3, MAX_POINTS}, {0, 1, true}, {0, 1e6, true}, {0, 1e6, true}}},
    {"params of a wedge: cells in two directions, at least 1; two angles, above 0 to 180 and to 90 degrees; "
     "gamma, 0 to 1",
     wedge,
     5,
     {{1, MAX_POINTS}, {1, MAX_POINTS}, {0, 180, true}, {0, 90, true}, {0, 1}}},
    {"params of a plate: points in two directions, at least 1", plate, 2, {{1, MAX_POINTS}, {1, MAX_POINTS}}},
};

static bool within(const struct kind *k, const double *params, int count) {
    if (count != k->count) return false;
    for (int i = 0; i < count; i++) {
        const bound *b = &k->bounds[i];
        if (!(params[i] >= b->lowest && params[i] <= b->highest) || (b->open && params[i] == b->lowest))
            return false;
    }
    return true;
}

/* About how many vertices; counts for real are within int only below the cap. */
static bool too_many(sti__mesh_builtin_kind kind, const double *p) {
    switch (kind) {
    case STI__BUILTIN_SUPERSPHERE:
    case STI__BUILTIN_SUPERTORUS: return p[0] * p[0] > MAX_VERTICES;
    case STI__BUILTIN_WEDGE:
    case STI__BUILTIN_PLATE: return p[0] * p[1] > MAX_VERTICES;
    default: return false;
    }
}

static sti_status make(sti__mesh_reader *r, sti__mesh_builtin_kind kind, const double *params) {
    shape count = {.p = params}, s = {.p = params, .mesh = r->mesh};
    if (kind == STI__BUILTIN_SPHERE) return sphere(r, &count);
    kinds[kind].make(&count);
    sti_status status = sti__mesh_reserve(r, (size_t)count.nvert, (size_t)count.nface);
    if (status == STI_OK) kinds[kind].make(&s);
    return status;
}

sti_status sti__mesh_builtin(sti__mesh_builtin_kind kind, const double *params, int count, size_t *memory,
                             const sti_allocator *allocator, sti__place place, sti__mesh *mesh,
                             sti_error *error) {
    sti_error scratch;
    sti__mesh_reader r = {NULL, 0, "builtin", memory, place, error ? error : &scratch, mesh};
    sti__mesh_clear(mesh, allocator);
    if (!within(&kinds[kind], params, count)) return sti__mesh_refuse(&r, STI_VALUE, 0, kinds[kind].words);
    if (too_many(kind, params)) return sti__mesh_refuse(&r, STI_LIMIT, 0, "too many vertices");
    sti_status status = make(&r, kind, params);
    if (status == STI_OK) status = sti__mesh_check(&r);
    if (status != STI_OK) sti__mesh_free(mesh);
    return status;
}
