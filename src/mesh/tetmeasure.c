/* SPDX-License-Identifier: Apache-2.0 */
/* Volume, mass properties and shape of the elements of a tetrahedral mesh. */
#include "base/det.h"
#include "math/eig3.h"
#include "math/rot.h"
#include "mesh/tetmesh.h"

#define FRAME_TOLERANCE 1e-7
#define DEGREES 57.295779513082323

static const double *corner(const sti__tetmesh *m, int t, int k) {
    return m->node + 3 * (size_t)m->tet[4 * (size_t)t + k];
}

static double volume_of(const sti__tetmesh *m, int t) {
    return sti__tet_volume6(corner(m, t, 0), corner(m, t, 1), corner(m, t, 2), corner(m, t, 3)) / 6;
}

double sti__tetmesh_volume(const sti__tetmesh *mesh) {
    double volume = 0;
    for (int t = 0; t < mesh->ntet; t++) volume += volume_of(mesh, t);
    return volume;
}

/* ---- mass ----------------------------------------------------------------------------------------------- */

static void centre(const sti__tetmesh *m, double com[3], double *volume) {
    v3_zero(com);
    *volume = 0;
    for (int t = 0; t < m->ntet; t++) {
        double v = volume_of(m, t);
        for (int k = 0; k < 4; k++) v3_add_scaled(com, corner(m, t, k), v / 4);
        *volume += v;
    }
    if (*volume > 0) v3_scale(com, com, 1 / *volume);
}

/* Second moments about com: V / 20 (sum x_i x_i' + (sum x_i)(sum x_i)') for the corners x_i of a tet. */
static void moments(const sti__tetmesh *m, const double com[3], double p[6]) {
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    for (int i = 0; i < 6; i++) p[i] = 0;
    for (int t = 0; t < m->ntet; t++) {
        double x[5][3] = {{0}}, v = volume_of(m, t);
        for (int k = 0; k < 4; k++) {
            v3_sub(x[k], corner(m, t, k), com);
            v3_add(x[4], x[4], x[k]);
        }
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < 5; k++) p[i] += v / 20 * x[k][row[i]] * x[k][col[i]];
    }
}

void sti__tetmesh_mass(const sti__tetmesh *mesh, sti__mass *mass) {
    double p[6], *i = mass->inertia;
    centre(mesh, mass->com, &mass->volume);
    moments(mesh, mass->com, p);
    i[0] = p[1] + p[2];
    i[1] = p[0] + p[2];
    i[2] = p[0] + p[1];
    for (int k = 3; k < 6; k++) i[k] = -p[k];
    double full[9] = {i[0], i[3], i[4], i[3], i[1], i[5], i[4], i[5], i[2]};
    sti__eig3_within(mass->principal, mass->quat, full, FRAME_TOLERANCE, FRAME_TOLERANCE);
}

/* ---- transformation --------------------------------------------------------------------------------------- */

static void swap_columns(int *list, int count, int width) {
    for (int i = 0; i < count; i++) {
        int *v = list + (size_t)width * (size_t)i, t = v[width - 1];
        v[width - 1] = v[width - 2];
        v[width - 2] = t;
    }
}

void sti__tetmesh_transform(sti__tetmesh *mesh, const double scale[3], const double pos[3]) {
    for (int i = 0; i < mesh->nnode; i++)
        for (int k = 0; k < 3; k++) {
            double *x = mesh->node + 3 * (size_t)i + k;
            if (scale) *x *= scale[k];
            if (pos) *x += pos[k];
        }
    if (!scale || scale[0] * scale[1] * scale[2] >= 0) return;
    swap_columns(mesh->tet, mesh->ntet, 4);
    swap_columns(mesh->tri, mesh->ntri, 3);
}

/* ---- shape ---------------------------------------------------------------------------------------------------- */

static void measure_edges(const sti__tetmesh *m, int t, sti__tetmesh_quality *q) {
    for (int i = 0; i < 4; i++)
        for (int k = i + 1; k < 4; k++) {
            double d[3];
            v3_sub(d, corner(m, t, i), corner(m, t, k));
            double length = v3_norm(d);
            q->min_edge = fmin(q->min_edge, length);
            q->max_edge = fmax(q->max_edge, length);
            q->mean_edge += length / (6.0 * m->ntet);
        }
}

/* Cosines of the dihedral angles, from the gradients of the barycentric coordinates, which look inwards. */
static void measure_angles(const sti__tetmesh *m, int t, double *least, double *most) {
    double g[4][3];
    sti__tet_gradients(corner(m, t, 0), corner(m, t, 1), corner(m, t, 2), corner(m, t, 3), g);
    for (int i = 0; i < 4; i++)
        for (int k = i + 1; k < 4; k++) {
            double c = -v3_dot(g[i], g[k]) / (v3_norm(g[i]) * v3_norm(g[k]));
            *least = fmin(*least, c);
            *most = fmax(*most, c);
        }
}

static double degrees(double cosine) { return DEGREES * sti__acos(fmin(fmax(cosine, -1), 1)); }

void sti__tetmesh_measure(const sti__tetmesh *mesh, sti__tetmesh_quality *quality) {
    double least = 1, most = -1;
    *quality = (sti__tetmesh_quality){.min_edge = HUGE_VAL, .min_volume = HUGE_VAL};
    for (int t = 0; t < mesh->ntet; t++) {
        double v = volume_of(mesh, t);
        quality->min_volume = fmin(quality->min_volume, v);
        quality->max_volume = fmax(quality->max_volume, v);
        measure_edges(mesh, t, quality);
        measure_angles(mesh, t, &least, &most);
    }
    quality->min_dihedral = degrees(most);
    quality->max_dihedral = degrees(least);
}
