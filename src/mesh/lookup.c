/* SPDX-License-Identifier: Apache-2.0 */
/* A distance changes by no more than the way between two places. So the table says for any place how far away the surface is at most,
   which leaves few triangles to look at, and mostly on which side, which saves winding numbers. */
#include "mesh/lookup.h"
#include "math/rot.h"

#define CORNERS 40000 /* of the grid, about: a quarter of a second at most to fill in, 160 kB */
#define LONGEST 128   /* cells along an axis, for what is flat or thin */
#define BEYOND 2      /* cells that the grid reaches beyond the mesh */
#define ROUNDING 1e-6 /* of the table's single precision, and more */

/* ---- exact --------------------------------------------------------------------------------------------------- */

static void face_normal(const sti__distance *mesh, int tri, double n[3]) {
    const int *corner = mesh->tri + 3 * (size_t)tri;
    double a[3], b[3];
    v3_sub(a, mesh->vert + 3 * (size_t)corner[1], mesh->vert + 3 * (size_t)corner[0]);
    v3_sub(b, mesh->vert + 3 * (size_t)corner[2], mesh->vert + 3 * (size_t)corner[0]);
    v3_cross(n, a, b);
    v3_normalize(n);
}

/* Where the surface is no further than `bound` away. side: -1 or 1 where it is known on which side p is, else 0: a nearest point
   straight below or above tells the side by its triangle, one on an edge or corner needs the winding number. */
static double measure(const sti__distance *mesh, const double p[3], double bound, int side, double n[3]) {
    double near[3], face[3];
    int tri = 0;
    double away = sti__distance_within(mesh, p, bound, near, &tri);
    face_normal(mesh, tri, face);
    v3_sub(n, p, near);
    double along = v3_dot(n, face);
    bool inside = side < 0;
    if (side == 0)
        inside = fabs(along) > (1 - 1e-9) * away ? along < 0 : sti__distance_winding(mesh, p) > 0.5;
    if (away > 1e-12) v3_scale(n, n, (inside ? -1 : 1) / away);
    else v3_copy(n, face);
    return inside ? -away : away;
}

/* From the value at a place which is `way` from p. */
static double measure_from(const sti__distance *mesh, const double p[3], double value, double way,
                           double n[3]) {
    double bound = (fabs(value) + way) * (1 + ROUNDING);
    bool sure = fabs(value) > way * (1 + ROUNDING);
    return measure(mesh, p, bound, !sure ? 0 : value < 0 ? -1 : 1, n);
}

double sti__lookup_exact(const sti__lookup *f, const double p[3], double n[3]) {
    int at[3];
    double way[3];
    for (int k = 0; k < 3 && f->value; k++) {
        double t = (p[k] - f->lo[k]) / f->cell + 0.5;
        if (!(t >= 0 && t < f->n[k])) return measure(&f->mesh, p, HUGE_VAL, 0, n);
        at[k] = (int)t;
        way[k] = p[k] - (f->lo[k] + at[k] * f->cell);
    }
    if (!f->value) return measure(&f->mesh, p, HUGE_VAL, 0, n);
    size_t corner = ((size_t)at[2] * (size_t)f->n[1] + (size_t)at[1]) * (size_t)f->n[0] + (size_t)at[0];
    return measure_from(&f->mesh, p, (double)f->value[corner], v3_norm(way), n);
}

/* ---- rough --------------------------------------------------------------------------------------------------- */

/* Between the eight corners of a cell, with t from 0 to 1 along its sides; the gradient is per cell. */
static double interpolate(const double v[8], const double t[3], double n[3]) {
    double x[4], y[2], dx[4], dxy[2], dy[2]; /* along x, then y, then z */
    for (int i = 0; i < 4; i++) dx[i] = v[2 * i + 1] - v[2 * i], x[i] = v[2 * i] + t[0] * dx[i];
    for (int i = 0; i < 2; i++) {
        dy[i] = x[2 * i + 1] - x[2 * i];
        y[i] = x[2 * i] + t[1] * dy[i];
        dxy[i] = dx[2 * i] + t[1] * (dx[2 * i + 1] - dx[2 * i]);
    }
    n[0] = dxy[0] + t[2] * (dxy[1] - dxy[0]);
    n[1] = dy[0] + t[2] * (dy[1] - dy[0]);
    n[2] = y[1] - y[0];
    return y[0] + t[2] * n[2];
}

double sti__lookup_rough(const sti__lookup *f, const double p[3], double n[3]) {
    int at[3];
    double t[3], v[8], out[3];
    for (int k = 0; k < 3; k++) {
        double x = (p[k] - f->lo[k]) / f->cell, in = fmin(fmax(x, 0), f->n[k] - 1);
        at[k] = in < f->n[k] - 2 ? (int)in : f->n[k] - 2;
        t[k] = in - at[k];
        out[k] = x - in;
    }
    size_t row = (size_t)f->n[0], layer = row * (size_t)f->n[1],
           first = (size_t)at[2] * layer + (size_t)at[1] * row + (size_t)at[0];
    for (int i = 0; i < 8; i++)
        v[i] = (double)f->value[first + (i & 1 ? 1 : 0) + (i & 2 ? row : 0) + (i & 4 ? layer : 0)];
    double d = interpolate(v, t, n), beyond = v3_norm(out), slope;
    if (beyond > 0) {
        v3_scale(n, out, 1 / beyond);
        return d + beyond * f->cell;
    }
    slope = v3_norm(n);
    if (slope > 0) v3_scale(n, n, 1 / slope);
    else n[2] = 1;
    return d;
}

/* ---- making the table ---------------------------------------------------------------------------------------------- */

static void fill(sti__lookup *f) {
    size_t row = (size_t)f->n[0], layer = row * (size_t)f->n[1];
    float *v = f->value;
    for (int k = 0; k < f->n[2]; k++)
        for (int j = 0; j < f->n[1]; j++)
            for (int i = 0; i < f->n[0]; i++, v++) {
                double p[3] = {f->lo[0] + i * f->cell, f->lo[1] + j * f->cell, f->lo[2] + k * f->cell}, n[3];
                const float *from = i > 0 ? v - 1 : j > 0 ? v - row : k > 0 ? v - layer : NULL;
                *v = (float)(from ? measure_from(&f->mesh, p, (double)*from, f->cell, n)
                                  : measure(&f->mesh, p, HUGE_VAL, 0, n));
            }
}

/* Cells of one size in all directions; false if the mesh has no size. */
static bool lay_grid(sti__lookup *f) {
    const sti__distance_node *all = &f->mesh.node[0];
    double most = 0, corners = HUGE_VAL;
    for (int k = 0; k < 3; k++) most = fmax(most, all->hi[k] - all->lo[k]);
    if (!(most > 0 && most < INFINITY)) return false;
    for (f->cell = most / LONGEST; corners > CORNERS; f->cell *= 1.1) {
        corners = 1;
        for (int k = 0; k < 3; k++) {
            f->n[k] = (int)ceil((all->hi[k] - all->lo[k]) / f->cell) + 2 * BEYOND + 1;
            f->lo[k] = 0.5 * (all->lo[k] + all->hi[k]) - 0.5 * (f->n[k] - 1) * f->cell;
            corners *= f->n[k];
        }
        if (corners <= CORNERS) break;
    }
    return f->cell > 0;
}

static size_t table_bytes(const sti__lookup *f) {
    return sti__size(f->n[0], f->n[1], f->n[2], sizeof(float));
}

sti_status sti__lookup_create(int nvert, const float *vert, int ntri, const int *tri,
                              const sti_allocator *allocator, sti__lookup *lookup, sti_error *error) {
    sti__lookup *f = lookup;
    f->mesh.allocator = allocator;
    f->nvert = sti__size(3, nvert, sizeof(double));
    f->vert = sti__alloc(allocator, f->nvert);
    if (!f->vert) return sti__fail(error, STI_NO_MEMORY, "no memory for a distance field");
    for (size_t i = 0; i < 3 * (size_t)nvert; i++) f->vert[i] = (double)vert[i];
    sti_status status = sti__distance_create(f->vert, ntri, tri, allocator, (sti__place){0}, &f->mesh, error);
    if (status != STI_OK || !lay_grid(f)) return status;
    f->value = sti__alloc(allocator, table_bytes(f));
    if (!f->value) return sti__fail(error, STI_NO_MEMORY, "no memory for a distance field");
    fill(f);
    return STI_OK;
}

void sti__lookup_free(sti__lookup *lookup) {
    const sti_allocator *allocator = lookup->mesh.allocator;
    if (!allocator) return;
    sti__free(allocator, lookup->value, lookup->value ? table_bytes(lookup) : 0);
    sti__free(allocator, lookup->vert, lookup->vert ? lookup->nvert : 0);
    sti__distance_free(&lookup->mesh);
    *lookup = (sti__lookup){0};
}
