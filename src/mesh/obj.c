/* SPDX-License-Identifier: Apache-2.0 */
/* Wavefront OBJ: vertices, texture coordinates and faces; everything else is skipped. Faces may name vertices that come
   later in the file, so vertices are read in a first pass and faces in a second. */
#include "math/rot.h"
#include "mesh/readers.h"
#include <float.h>
#include <limits.h>
#include <math.h>
#include <string.h>

/* polygons up to this size are cut by ears, larger ones as fans */
#define MAX_EARS 512

/* ---- numbers --------------------------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Up to 19 digits with a small exponent; an error of one or two double roundings does not survive the
   rounding to float. NULL: let the careful parser have a look. */
static const char *quick_number(const char *p, const char *end, float *value) {
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    bool negative = p < end && *p == '-';
    if (negative) p++;
    const char *start = p;
    uint64_t head = 0;
    int fraction = 0;
    while (p < end && is_digit(*p)) head = 10 * head + (uint64_t)(*p++ - '0');
    if (p < end && *p == '.') {
        const char *point = ++p;
        while (p < end && is_digit(*p)) head = 10 * head + (uint64_t)(*p++ - '0');
        fraction = (int)(p - point < 64 ? p - point : 64);
    }
    bool plain = p == end || sti__mesh_blank(*p) || *p == '\n';
    if (!plain || p - start > 19 || p - start - (fraction > 0) < 1) return NULL;
    double x = (double)head / power[fraction];
    *value = (float)(negative ? -x : x);
    return p;
}

bool sti__mesh_number(const char **p, const char *end, float *value) {
    const char *q = *p;
    while (q < end && sti__mesh_blank(*q)) q++;
    const char *after = quick_number(q, end, value);
    if (!after) {
        double x;
        bool ok;
        after = sti__parse_real(q, end, &x, &ok);
        if (!after || !ok || fabs(x) > 1e30) return false;
        *value = (float)x;
    }
    *p = after;
    return true;
}

/* ---- lines ------------------------------------------------------------------------------------------- */

typedef struct obj {
    sti__mesh_reader *r;
    sti__vec vert;     /* float[3] */
    sti__vec coord;    /* float[2] */
    sti__vec polygon;  /* int[2], the face at hand: vertex and texture coordinates, -1: none */
    sti__vec face;     /* int[3] */
    sti__vec printed;  /* int[3], if there are texture coordinates */
    const char *faces; /* first line with a face */
    int64_t faces_line;
    size_t seen, seen_coord; /* vertices and texture coordinates before the line at hand */
    int64_t line;
} obj;

static sti_status refuse(const obj *o, sti_status code, const char *why) {
    return sti__mesh_refuse(o->r, code, o->line, why);
}

static sti_status no_memory(const obj *o) { return refuse(o, STI_NO_MEMORY, "out of memory for the mesh"); }

static const char *line_end(const char *p, const char *end) {
    const char *n = memchr(p, '\n', (size_t)(end - p));
    return n ? n : end;
}

static const char *next_line(const char *p, const char *end) {
    p = line_end(p, end);
    return p < end ? p + 1 : end;
}

static bool starts(const char *p, const char *end, char c) {
    return end - p >= 2 && p[0] == c && (p[1] == ' ' || p[1] == '\t');
}

static sti_status read_vertex(obj *o, const char *p, const char *end) {
    float v[3];
    for (int k = 0; k < 3; k++)
        if (!sti__mesh_number(&p, end, &v[k]))
            return refuse(o, STI_MESH, "a vertex is not three finite numbers");
    return sti__vec_push(&o->vert, v) ? STI_OK : no_memory(o);
}

static bool starts_coord(const char *p, const char *end) {
    return end - p >= 3 && p[0] == 'v' && p[1] == 't' && (p[2] == ' ' || p[2] == '\t');
}

/* Counted from the bottom in the file. One that cannot be read is 0: it is only looked at. */
static sti_status read_coord(obj *o, const char *p, const char *end) {
    float uv[2] = {0};
    for (int k = 0; k < 2; k++)
        if (!sti__mesh_number(&p, end, &uv[k])) break;
    uv[1] = 1 - uv[1];
    return sti__vec_push(&o->coord, uv) ? STI_OK : no_memory(o);
}

/* Pass 1 */
static sti_status read_vertices(obj *o) {
    const char *p = o->r->data, *end = p + o->r->size;
    o->line = 1;
    for (; p < end; p = next_line(p, end), o->line++) {
        while (p < end && (*p == ' ' || *p == '\t')) p++;
        if (starts(p, end, 'v')) {
            sti_status status = read_vertex(o, p + 2, line_end(p, end));
            if (status != STI_OK) return status;
        } else if (starts_coord(p, end)) {
            sti_status status = read_coord(o, p + 3, line_end(p, end));
            if (status != STI_OK) return status;
        } else if (!o->faces && starts(p, end, 'f')) {
            o->faces = p;
            o->faces_line = o->line;
            o->seen = o->vert.count;
            o->seen_coord = o->coord.count;
        }
    }
    return STI_OK;
}

/* ---- faces -------------------------------------------------------------------------------------------- */

static const float *corner(const obj *o, int i) {
    int v = ((const int *)o->polygon.data)[2 * i];
    return (const float *)o->vert.data + 3 * (size_t)v;
}

static void edge(double r[3], const float *a, const float *b) {
    for (int k = 0; k < 3; k++) r[k] = (double)b[k] - a[k];
}

static bool add_triangle(obj *o, int a, int b, int c) {
    const int *v = (const int *)o->polygon.data;
    int t[3] = {v[2 * a], v[2 * b], v[2 * c]}, uv[3] = {v[2 * a + 1], v[2 * b + 1], v[2 * c + 1]};
    if (o->coord.count && !sti__vec_push(&o->printed, uv)) return false;
    return sti__vec_push(&o->face, t) != NULL;
}

/* A quadrilateral is cut along its shorter diagonal. */
static bool cut_quad(obj *o) {
    double d02[3], d13[3];
    edge(d02, corner(o, 0), corner(o, 2));
    edge(d13, corner(o, 1), corner(o, 3));
    if (v3_dot(d02, d02) < v3_dot(d13, d13)) return add_triangle(o, 0, 1, 2) && add_triangle(o, 0, 2, 3);
    return add_triangle(o, 0, 1, 3) && add_triangle(o, 1, 2, 3);
}

static bool cut_fan(obj *o, int n) {
    for (int i = 1; i + 1 < n; i++)
        if (!add_triangle(o, 0, i, i + 1)) return false;
    return true;
}

/* The two axes of the plane that a polygon is seen in: all but the one along the normal of its first corner that is one. */
static void polygon_axes(const obj *o, int n, int axes[2]) {
    axes[0] = 1;
    axes[1] = 2;
    for (int i = 0; i < n; i++) {
        const float *p = corner(o, i), *q = corner(o, (i + 1) % n), *r = corner(o, (i + 2) % n);
        float a[3] = {q[0] - p[0], q[1] - p[1], q[2] - p[2]}, b[3] = {r[0] - q[0], r[1] - q[1], r[2] - q[2]};
        float x = fabsf(a[1] * b[2] - a[2] * b[1]), y = fabsf(a[2] * b[0] - a[0] * b[2]),
              z = fabsf(a[0] * b[1] - a[1] * b[0]);
        if (!(x > FLT_EPSILON || y > FLT_EPSILON || z > FLT_EPSILON)) continue;
        if (x > y && x > z) return;
        axes[0] = 0;
        if (z > x && z > y) axes[1] = 1;
        return;
    }
}

typedef struct flat {
    float x, y;
} flat;

static flat flat_corner(const obj *o, const int axes[2], int i) {
    return (flat){corner(o, i)[axes[0]], corner(o, i)[axes[1]]};
}

/* Whether a ray from p crosses an odd number of the triangle's edges. */
static bool in_triangle(const flat t[3], flat p) {
    bool in = false;
    for (int i = 0, j = 2; i < 3; j = i++)
        if ((t[i].y > p.y) != (t[j].y > p.y) &&
            p.x < (t[j].x - t[i].x) * (p.y - t[i].y) / (t[j].y - t[i].y) + t[i].x)
            in = !in;
    return in;
}

/* Whether the corners from `at` on are cut off. The sign that tells a bend inwards is that of the first edge about the origin. */
static bool is_ear(const obj *o, const int axes[2], const int *loop, int n, int at) {
    flat t[3];
    for (int k = 0; k < 3; k++) t[k] = flat_corner(o, axes, loop[(at + k) % n]);
    float bend = (t[1].x - t[0].x) * (t[2].y - t[1].y) - (t[1].y - t[0].y) * (t[2].x - t[1].x);
    float area = (t[0].x * t[1].y - t[0].y * t[1].x) * 0.5f;
    if (bend * area < 0) return false;
    for (int k = 3; k < n; k++)
        if (in_triangle(t, flat_corner(o, axes, loop[(at + k) % n]))) return false;
    return true;
}

/* As MuJoCo's reader cuts polygons, so that volumes and masses agree: ears from the first corner on, in single precision. Where it finds
   none, what is left has no triangles, there as here. */
static bool cut_ears(obj *o, int n) {
    int loop[MAX_EARS], axes[2], at = 0, tries = n, before = n;
    polygon_axes(o, n, axes);
    for (int i = 0; i < n; i++) loop[i] = i;
    while (n > 3 && tries > 0) {
        if (at >= n) at -= n;
        tries = before == n ? tries - 1 : n;
        before = n;
        if (!is_ear(o, axes, loop, n, at)) {
            at++;
            continue;
        }
        int ear = (at + 1) % n;
        if (!add_triangle(o, loop[at], loop[ear], loop[(at + 2) % n])) return false;
        memmove(loop + ear, loop + ear + 1, (size_t)(n - 1 - ear) * sizeof(int));
        n--;
    }
    return n > 3 || add_triangle(o, loop[0], loop[1], loop[2]);
}

/* Points and lines are no faces. */
static sti_status cut_polygon(obj *o) {
    int n = (int)o->polygon.count;
    bool ok = n < 3 || (n == 3          ? add_triangle(o, 0, 1, 2)
                        : n == 4        ? cut_quad(o)
                        : n <= MAX_EARS ? cut_ears(o, n)
                                        : cut_fan(o, n));
    return ok ? STI_OK : no_memory(o);
}

/* A number counted from 1, or negative, back from the last of `seen`: an index from 0, -1 if it is not one of `count`. NULL if there
   is no number. */
static const char *read_number(const char *p, const char *end, size_t seen, size_t count, int *index) {
    bool negative = p < end && *p == '-';
    if (negative) p++;
    if (p == end || !is_digit(*p)) return NULL;
    int64_t i = 0;
    for (; p < end && is_digit(*p); p++) i = i > INT_MAX ? i : 10 * i + (*p - '0');
    i = negative ? (int64_t)seen - i : i - 1;
    *index = i < 0 || i >= (int64_t)count ? -1 : (int)i;
    return p;
}

/* "7", "7/1", "7//3", "7/1/3": vertex, texture coordinates, normal. */
static const char *read_index(const obj *o, const char *p, const char *end, int index[2]) {
    index[1] = -1;
    p = read_number(p, end, o->seen, o->vert.count, &index[0]);
    if (p && p < end && *p == '/') {
        const char *after = read_number(p + 1, end, o->seen_coord, o->coord.count, &index[1]);
        p = after ? after : p;
    }
    while (p && p < end && (is_digit(*p) || *p == '/' || *p == '-')) p++;
    return !p || (p < end && !sti__mesh_blank(*p)) || index[0] < 0 ? NULL : p;
}

static sti_status read_face(obj *o, const char *p, const char *end) {
    o->polygon.count = 0;
    for (;;) {
        while (p < end && sti__mesh_blank(*p)) p++;
        if (p == end || *p == '#') return cut_polygon(o);
        int index[2];
        p = read_index(o, p, end, index);
        if (!p) return refuse(o, STI_MESH, "a face names a vertex that does not exist");
        if (!sti__vec_push(&o->polygon, index)) return no_memory(o);
    }
}

/* Pass 2. Only the first object of a file counts, as in MuJoCo. */
static sti_status read_faces(obj *o) {
    const char *p = o->faces, *end = o->r->data + o->r->size;
    o->line = o->faces_line;
    for (; p && p < end; p = next_line(p, end), o->line++) {
        while (p < end && (*p == ' ' || *p == '\t')) p++;
        if (starts(p, end, 'v')) o->seen++;
        else if (starts_coord(p, end)) o->seen_coord++;
        else if (o->face.count && (starts(p, end, 'o') || starts(p, end, 'g'))) break;
        else if (starts(p, end, 'f')) {
            sti_status status = read_face(o, p + 2, line_end(p, end));
            if (status != STI_OK) return status;
        }
    }
    return STI_OK;
}

/* ---------------------------------------------------------------------------------------------------------- */

/* Corners without coordinates take the first: MuJoCo's files have them at all corners or at none. */
static sti_status store_coords(obj *o) {
    const int *uv = (const int *)o->printed.data;
    bool any = false;
    for (size_t i = 0; i < 3 * o->printed.count; i++) any |= uv[i] >= 0;
    if (!any) return STI_OK;
    sti_status status = sti__mesh_reserve_coords(o->r, o->coord.count);
    if (status != STI_OK) return status;
    sti__mesh *m = o->r->mesh;
    memcpy(m->coord, o->coord.data, o->coord.count * 2 * sizeof(float));
    for (size_t i = 0; i < 3 * o->printed.count; i++) m->face_coord[i] = uv[i] < 0 ? 0 : uv[i];
    return STI_OK;
}

static sti_status store(obj *o) {
    sti_status status = sti__mesh_reserve(o->r, o->vert.count, o->face.count);
    if (status != STI_OK) return status;
    sti__mesh *m = o->r->mesh;
    const float *v = (const float *)o->vert.data;
    for (size_t i = 0; i < 3 * o->vert.count; i++) m->vert[i] = v[i];
    if (m->nface) memcpy(m->face, o->face.data, o->face.count * 3 * sizeof(int));
    return store_coords(o);
}

sti_status sti__mesh_read_obj(sti__mesh_reader *r) {
    /* what a file of this size can grow to, at 6 bytes for a vertex and 2 for a triangle and its texture coordinates */
    if (sti__mul(r->size, 24) > *r->memory)
        return sti__mesh_refuse(r, STI_LIMIT, 0, "the mesh needs more than the memory budget");
    obj o = {.r = r};
    sti__vec_init(&o.vert, 3 * sizeof(float), r->mesh->allocator);
    sti__vec_init(&o.coord, 2 * sizeof(float), r->mesh->allocator);
    sti__vec_init(&o.polygon, 2 * sizeof(int), r->mesh->allocator);
    sti__vec_init(&o.face, 3 * sizeof(int), r->mesh->allocator);
    sti__vec_init(&o.printed, 3 * sizeof(int), r->mesh->allocator);
    sti_status status = read_vertices(&o);
    if (status == STI_OK) status = read_faces(&o);
    if (status == STI_OK) status = store(&o);
    sti__vec_free(&o.vert);
    sti__vec_free(&o.coord);
    sti__vec_free(&o.polygon);
    sti__vec_free(&o.face);
    sti__vec_free(&o.printed);
    return status;
}
