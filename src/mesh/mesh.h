/* SPDX-License-Identifier: Apache-2.0 */
/* Triangle meshes: readers, hulls, mass properties. */
#ifndef STI_MESH_MESH_H
#define STI_MESH_MESH_H

#include "base/internal.h"
#include <string.h>

typedef struct sti__mesh {
    double *vert; /* nvert * 3; files hold floats, but scaling and centring must not round */
    int *face;    /* nface * 3, counter-clockwise from outside */
    int nvert, nface;
    int *hull_vert; /* nhullvert indices into vert */
    int *hull_face; /* nhullface * 3 indices into vert, outward */
    int nhullvert, nhullface;
    float *coord;    /* ncoord * 2 texture coordinates, right and down; NULL if there are none */
    int *face_coord; /* nface * 3 indices into coord; NULL with coord */
    int ncoord;
    double scale[3]; /* applied so far by sti__mesh_transform */
    const sti_allocator *allocator;
} sti__mesh;

typedef enum sti__mesh_inertia {
    STI__INERTIA_CONVEX,
    STI__INERTIA_EXACT,
    STI__INERTIA_LEGACY,
    STI__INERTIA_SHELL
} sti__mesh_inertia;

typedef enum sti__mesh_builtin_kind {
    STI__BUILTIN_SPHERE,
    STI__BUILTIN_HEMISPHERE,
    STI__BUILTIN_CONE,
    STI__BUILTIN_SUPERSPHERE,
    STI__BUILTIN_SUPERTORUS,
    STI__BUILTIN_WEDGE,
    STI__BUILTIN_PLATE
} sti__mesh_builtin_kind;

typedef struct sti__mass {
    double volume; /* m3, or area for a shell */
    double com[3];
    double inertia[6];   /* xx yy zz xy xz yz about com at unit density */
    double principal[3]; /* its eigenvalues, decreasing */
    double quat[4];      /* its principal axes, as MuJoCo picks them for meshes */
} sti__mass;

/* Decode by content and file name extension: binary or ASCII STL, OBJ, MSH (MuJoCo's binary).
   Equal STL vertices are merged as MuJoCo does. Sizes are checked against the data before
   anything is allocated; errors name place. memory: budget in bytes, reduced by what is used. */
sti_status sti__mesh_decode(const void *data, size_t size, const char *name, size_t *memory,
                            const sti_allocator *allocator, sti__place place, sti__mesh *mesh,
                            sti_error *error);
/* From lists of numbers in the XML; faces may be absent (then the hull's are used). */
sti_status sti__mesh_from_lists(const double *vert, int nvert3, const double *face, int nface3,
                                const sti_allocator *allocator, sti__place place, sti__mesh *mesh,
                                sti_error *error);
/* Texture coordinates from a list, one for each vertex. */
sti_status sti__mesh_coords(sti__mesh *mesh, const double *coord, int ncoord2, sti__place place,
                            sti_error *error);
/* A shape by its parameters, as MuJoCo makes it (docs/meshes.md). */
sti_status sti__mesh_builtin(sti__mesh_builtin_kind kind, const double *params, int count, size_t *memory,
                             const sti_allocator *allocator, sti__place place, sti__mesh *mesh,
                             sti_error *error);
/* Whether vertices of such a shape have tangents, and those of vertex i, as MuJoCo's: of a wedge along its two angles, of a plate
   along y and z. Before scaling. */
bool sti__mesh_has_tangents(sti__mesh_builtin_kind kind);
void sti__mesh_tangents(sti__mesh_builtin_kind kind, const double *params, int i, double out[6]);
/* Convex hull by qhull; maxvert <= 0 = no limit, else at least 4. STI_MESH if the points are flat.
   qhull takes its memory from malloc, and gives all of it back before this returns. */
sti_status sti__mesh_hull(sti__mesh *mesh, int maxvert, sti__place place, sti_error *error);
/* Volume, centre, inertia by the mode's rule; STI_MESH if the volume is too small or negative. */
sti_status sti__mesh_mass(const sti__mesh *mesh, sti__mesh_inertia mode, sti__place place, sti__mass *mass,
                          sti_error *error);
/* v -> scale * (R(quat)^T (v - pos)) for all vertices; NULL = no change. First with the asset's
   refpos, refquat and scale, then with a mass's com and quat, as MuJoCo centres its meshes. A
   mirroring scale turns the faces over. */
void sti__mesh_transform(sti__mesh *mesh, const double scale[3], const double pos[3], const double quat[4]);
void sti__mesh_free(sti__mesh *mesh);

/* Of the bits of a point, for tables. */
static inline size_t sti__hash_point(const float c[3]) {
    uint32_t b[3];
    memcpy(b, c, sizeof b);
    uint64_t h =
        (b[0] * 0x9e3779b97f4a7c15ull) ^ (b[1] * 0xc2b2ae3d27d4eb4full) ^ (b[2] * 0x165667b19e3779f9ull);
    h ^= h >> 29;
    h *= 0xbf58476d1ce4e5b9ull;
    return (size_t)(h ^ (h >> 32));
}

#endif
