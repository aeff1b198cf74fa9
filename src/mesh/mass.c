/* SPDX-License-Identifier: Apache-2.0 */
/* Volume, centre of mass and inertia of a mesh: a sum over the tetrahedra between a centre and the
   faces (over the faces themselves for a shell). The first pass, with the faces' own centroid as
   apex, finds the centre of mass; the second, with that as apex, the volume and inertia. For a
   closed mesh the apex does not matter. The legacy mode adds absolute volumes, where it does. */
#include "math/eig3.h"
#include "math/rot.h"
#include "mesh/mesh.h"

#define MIN_VOLUME 1e-15
#define MIN_AREA 3.1622776601683795e-08 /* in the file's units: smaller faces have no orientation */
#define FRAME_TOLERANCE 1e-7            /* relative; noise below it does not turn the frame */

typedef struct surface {
    const double *vert;
    const int *face;
    int nface;
    sti__mesh_inertia mode;
} surface;

static const double *corner(const surface *s, int f, int k) {
    return s->vert + 3 * (size_t)s->face[3 * (size_t)f + k];
}

/* Centroid of a face, and its normal times its area. */
static void face_geometry(const surface *s, int f, double centroid[3], double normal[3]) {
    const double *a = corner(s, f, 0), *b = corner(s, f, 1), *c = corner(s, f, 2);
    double ab[3], ac[3];
    v3_sub(ab, b, a);
    v3_sub(ac, c, a);
    v3_cross(normal, ab, ac);
    v3_scale(normal, normal, 0.5);
    for (int k = 0; k < 3; k++) centroid[k] = (a[k] + b[k] + c[k]) / 3;
}

/* Mass of the piece that belongs to a face: its area, or the volume of its tetrahedron. */
static double weight(const surface *s, const double centroid[3], const double normal[3],
                     const double apex[3]) {
    if (s->mode == STI__INERTIA_SHELL) return v3_norm(normal);
    double d[3];
    v3_sub(d, centroid, apex);
    double volume = v3_dot(d, normal) / 3;
    return s->mode == STI__INERTIA_LEGACY ? fabs(volume) : volume;
}

static double area_centroid(const surface *s, double out[3]) {
    double area = 0;
    v3_zero(out);
    for (int f = 0; f < s->nface; f++) {
        double c[3], n[3];
        face_geometry(s, f, c, n);
        double a = v3_norm(n);
        v3_add_scaled(out, c, a);
        area += a;
    }
    if (area > 0) v3_scale(out, out, 1 / area);
    return area;
}

/* Returns the first pass's volume. */
static double centre(const surface *s, double com[3]) {
    double apex[3], volume = 0;
    double area = area_centroid(s, apex);
    v3_copy(com, apex);
    if (s->mode == STI__INERTIA_SHELL) return area;
    v3_zero(com);
    for (int f = 0; f < s->nface; f++) {
        double c[3], n[3];
        face_geometry(s, f, c, n);
        double w = weight(s, c, n, apex);
        for (int k = 0; k < 3; k++) com[k] += w * (0.75 * c[k] + 0.25 * apex[k]);
        volume += w;
    }
    v3_scale(com, com, 1 / volume);
    return volume;
}

/* Second moments about com: for a simplex with n corners x_i and weight w, summed with com itself at
   the origin, w / k * (sum x_i x_i' + (sum x_i)(sum x_i)'), k = 12 for triangles, 20 for tetrahedra. */
static double moments(const surface *s, const double com[3], double p[6]) {
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    double volume = 0, k = s->mode == STI__INERTIA_SHELL ? 12 : 20;
    for (int i = 0; i < 6; i++) p[i] = 0;
    for (int f = 0; f < s->nface; f++) {
        double c[3], n[3], x[4][3];
        face_geometry(s, f, c, n);
        double w = weight(s, c, n, com);
        for (int j = 0; j < 3; j++) v3_sub(x[j], corner(s, f, j), com);
        for (int j = 0; j < 3; j++) x[3][j] = x[0][j] + x[1][j] + x[2][j];
        for (int i = 0; i < 6; i++) {
            double sum = 0;
            for (int j = 0; j < 4; j++) sum += x[j][row[i]] * x[j][col[i]];
            p[i] += w / k * sum;
        }
        volume += w;
    }
    return volume;
}

static void finish(const double p[6], sti__mass *mass) {
    double *i = mass->inertia;
    i[0] = p[1] + p[2];
    i[1] = p[0] + p[2];
    i[2] = p[0] + p[1];
    i[3] = -p[3];
    i[4] = -p[4];
    i[5] = -p[5];
    double full[9] = {i[0], i[3], i[4], i[3], i[1], i[5], i[4], i[5], i[2]};
    sti__eig3_within(mass->principal, mass->quat, full, FRAME_TOLERANCE, FRAME_TOLERANCE);
}

/* ---- orientation -------------------------------------------------------------------------------------- */

static bool add_edge(uint64_t *slot, size_t nslot, uint32_t a, uint32_t b) {
    uint64_t key = ((uint64_t)a << 32 | b) + 1, h = key * 0x9e3779b97f4a7c15ull;
    h ^= h >> 32;
    for (size_t i = (size_t)h & (nslot - 1);; i = (i + 1) & (nslot - 1)) {
        if (slot[i] == key) return false;
        if (slot[i] == 0) {
            slot[i] = key;
            return true;
        }
    }
}

/* Area of a face before the asset's scale was applied. */
static double file_area(const sti__mesh *m, const surface *s, int f) {
    double e[2][3], n[3];
    for (int j = 0; j < 2; j++) {
        v3_sub(e[j], corner(s, f, j + 1), corner(s, f, 0));
        for (int k = 0; k < 3; k++) e[j][k] /= m->scale[k] != 0 ? m->scale[k] : 1;
    }
    v3_cross(n, e[0], e[1]);
    return 0.5 * v3_norm(n);
}

static bool edges_unique(const sti__mesh *m, const surface *s, uint64_t *slot, size_t nslot) {
    for (int f = 0; f < s->nface; f++) {
        if (file_area(m, s, f) < MIN_AREA) continue;
        for (int k = 0; k < 3; k++) {
            const int *v = s->face + 3 * (size_t)f;
            if (!add_edge(slot, nslot, (uint32_t)v[k], (uint32_t)v[(k + 1) % 3])) return false;
        }
    }
    return true;
}

/* Neighbours of a well-oriented mesh run through their common edge in opposite directions. */
static sti_status check_orientation(const sti__mesh *m, const surface *s, sti__place place,
                                    sti_error *error) {
    size_t nslot = 16;
    while (nslot < 6 * (size_t)s->nface) nslot *= 2;
    uint64_t *slot = sti__alloc(m->allocator, sti__size(nslot, sizeof *slot));
    if (!slot) return sti__fail_at(error, place, STI_NO_MEMORY, "out of memory for the mesh");
    bool ok = edges_unique(m, s, slot, nslot);
    sti__free(m->allocator, slot, nslot * sizeof *slot);
    return ok ? STI_OK
              : sti__fail_at(error, place, STI_MESH,
                             "the faces of the mesh are not oriented alike; try another inertia mode");
}

/* ---------------------------------------------------------------------------------------------------------- */

static sti_status check_volume(const surface *s, double volume, sti__place place, sti_error *error) {
    const char *what = s->mode == STI__INERTIA_SHELL ? "area" : "volume";
    if (volume < 0)
        return sti__fail_at(error, place, STI_MESH,
                            "the volume of the mesh is negative; turn its faces over");
    if (volume >= MIN_VOLUME && volume < HUGE_VAL) return STI_OK;
    return sti__fail_at(
        error, place, STI_MESH,
        "the %s of the mesh is too small or not finite; try inertia=\"shell\" or another scale", what);
}

sti_status sti__mesh_mass(const sti__mesh *mesh, sti__mesh_inertia mode, sti__place place, sti__mass *mass,
                          sti_error *error) {
    surface s = {mesh->vert, mesh->face, mesh->nface, mode};
    if (mode == STI__INERTIA_CONVEX) {
        s.face = mesh->hull_face;
        s.nface = mesh->nhullface;
    }
    sti_status status = STI_OK;
    if (mode == STI__INERTIA_EXACT) status = check_orientation(mesh, &s, place, error);
    if (status != STI_OK) return status;
    status = check_volume(&s, centre(&s, mass->com), place, error);
    if (status != STI_OK) return status;
    double p[6];
    mass->volume = moments(&s, mass->com, p);
    finish(p, mass);
    return check_volume(&s, mass->volume, place, error);
}
