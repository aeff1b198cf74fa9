/* SPDX-License-Identifier: Apache-2.0 */
/* A convex shape in the world and what the narrow phase says about two of them. */
#ifndef STI_COLLIDE_SHAPE_H
#define STI_COLLIDE_SHAPE_H

#include "base/internal.h"
#include <stiction/model.h>

/* Convex hull of a mesh, in its own frame; shared by all geoms that use it. Built by sti__hull_build. */
typedef struct sti__hull {
    int nvert;
    const double *vert;  /* the hull's own vertices, nvert * 3; position i is the model's mesh_hullvert[i] */
    double lo[3], hi[3]; /* their box */
    /* faces as polygons: coplanar triangles merged; vertices counter-clockwise from outside */
    int nface;
    const int *face_start;    /* nface + 1 */
    const int *face_vert;     /* positions in vert */
    const double *face_plane; /* nface * 4: outward unit normal, offset */
    /* neighbours of a vertex, for hill climbing, and the faces around it */
    const int *edge_start; /* nvert + 1 */
    const int *edge_to;
    const int *around_start; /* nvert + 1 */
    const int *around;
    int top[96]; /* the vertex farthest along the middle of a cell of directions (sti__hull_cell) */
} sti__hull;

/* hulls of up to so many vertices are searched through, larger ones climbed */
#define STI__HULL_SMALL 12

typedef struct sti__hfield {
    const float *height; /* nrow * ncol, 0..1 */
    int nrow, ncol;
    const double *size; /* radius x, radius y, elevation, base */
} sti__hfield;

/* size as geom_size: sphere r; capsule r, half length; cylinder r, half height; ellipsoid, box half sizes */
typedef struct sti__shape {
    int type; /* sti_geom_type */
    double size[3];
    double pos[3];
    double mat[9];              /* row-major, columns are the axes */
    const sti__hull *hull;      /* meshes only */
    const sti__hfield *hfield;  /* height fields only */
    const struct sti__sdf *sdf; /* type sdf only: its field, */
    int tries[2];               /* and how its contacts are looked for: steps from each start, starts */
} sti__shape;

#define STI__MANIFOLD_MAX 8
#define STI__HFIELD_MAX 64

/* One point: dist < 0 is penetration; the normal points from the first shape to the second; pos lies half way
   between the two surfaces. feature: which parts touch; the same parts give the same number over steps. */
typedef struct sti__point {
    double pos[3];
    double normal[3];
    double dist;
    uint32_t feature;
} sti__point;

typedef struct sti__manifold {
    sti__point point[STI__HFIELD_MAX];
    int count;
} sti__manifold;

/* A direction that kept two shapes apart, to begin with the next time: it is checked, never believed. */
typedef struct sti__apart {
    double axis[3]; /* unit, from the first to the second; zero: none is known */
    int hint[2];    /* hull vertices that were farthest along it */
    uint64_t pair;  /* whose it is */
} sti__apart;

/* All points with dist < margin. Types in any order. Never loops without end; degenerate shapes give no points
   or a sensible one, never NaN. scratch-free: everything lives on the stack. */
void sti__collide_pair(const sti__shape *a, const sti__shape *b, double margin, sti__manifold *out);
/* The same, faster for shapes that stay apart; finds the same whatever `apart` holds. */
void sti__collide_again(const sti__shape *a, const sti__shape *b, double margin, sti__apart *apart,
                        sti__manifold *out);

/* Signed distance (negative: penetration depth) and the two witness points, world frame; `limit`: give up beyond it and
   return it. */
double sti__pair_distance(const sti__shape *a, const sti__shape *b, double limit, double from[3],
                          double to[3]);

/* Farthest point of the shape along dir (world), for planes and hfields undefined. */
void sti__support(const sti__shape *s, const double dir[3], double out[3], uint32_t *feature);

/* First hit of the ray p + x*v (x >= 0) with the surface; -1 if none. normal may be NULL. */
double sti__ray_shape(const sti__shape *s, const double p[3], const double v[3], double normal[3]);
/* The same for the triangles of a mesh that need not be convex; frame given by s. */
double sti__ray_mesh(const sti__shape *s, const float *vert, const int *face, int nface, const double p[3],
                     const double v[3], double normal[3]);

/* Box that contains the shape, grown by margin; planes are unbounded. */
void sti__shape_bounds(const sti__shape *s, double margin, double lo[3], double hi[3]);

/* Bytes that sti__hull_build needs, its own scratch included; SIZE_MAX if they cannot be counted. */
size_t sti__hull_bytes(int nvert, int ntriangle);
/* From hull triangles (indices into vert, outward) in memory that the hull keeps pointing into; aligned for
   double. False if the triangles are not a closed surface over hull_vert. */
bool sti__hull_build(const float *vert, const int *hull_vert, int nhullvert, const int *hull_face,
                     int nhullface, void *memory, sti__hull *hull);

/* The hulls of all meshes of a model, which its worlds share; hull[i].nvert = 0: mesh i has none. NULL without meshes, and with
   an error if there is no memory. */
const sti__hull *sti__hulls_of(const sti_model *model, sti_error *error);

#endif
