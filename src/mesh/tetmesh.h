/* SPDX-License-Identifier: Apache-2.0 */
/* Tetrahedral meshes: what soft bodies and pressure fields stand on. */
#ifndef STI_MESH_TETMESH_H
#define STI_MESH_TETMESH_H

#include "mesh/mesh.h"

#define STI__TET_MAX 1000000 /* elements of a mesh, unless an option says otherwise */

/* What a tet may be made of. */
typedef enum sti__matter {
    STI__MATTER_YOUNG,   /* Young's modulus, Pa */
    STI__MATTER_POISSON, /* Poisson's ratio */
    STI__MATTER_DENSITY, /* kg/m3 */
    STI__MATTERS
} sti__matter;

/* Every tet is positively oriented: (b - a) x (c - a) . (d - a) > 0 for its nodes a b c d. Every node belongs to a
   tet. No face belongs to more than two tets; those of one tet only are the surface, counter-clockwise from outside,
   in the order of their tets and, within a tet, of the node opposite to them. */
typedef struct sti__tetmesh {
    int nnode, ntet, ntri;
    double *node;                 /* nnode * 3 */
    int *tet;                     /* ntet * 4 */
    int *tri;                     /* ntri * 3, the surface */
    int *tri_tet;                 /* ntri, the tet that a surface triangle is a face of */
    double *matter[STI__MATTERS]; /* ntet each, from the cell data of a file; NULL: not given */
    const sti_allocator *allocator;
} sti__tetmesh;

/* Faces of a tet, opposite to its nodes 0 to 3, counter-clockwise from outside. */
static const int sti__tet_face[4][3] = {{1, 2, 3}, {0, 3, 2}, {0, 1, 3}, {0, 2, 1}};

/* What every function that makes a mesh is told; all zero will do. */
typedef struct sti__tetmesh_options {
    bool turn; /* inverted tets are put right: two of their nodes change places; else refused */
    bool drop; /* nodes that no tet uses are left out, and the others move up; else refused */
    bool
        inscribed; /* sti__tetmesh_medial: nodes of round surfaces stay on them; else they are moved out a little, until the
                       mesh has the shape's volume */
    int max_tet; /* 0 = STI__TET_MAX; more is STI_LIMIT */
    const sti_allocator *allocator;
    sti__place place; /* for messages */
} sti__tetmesh_options;

/* How often something was put right. */
typedef struct sti__tetmesh_report {
    int turned, dropped;
} sti__tetmesh_report;

/* Takes copies of node and tet. Refuses coordinates that are not finite, node numbers out of range, tets without
   volume, tets that overlap across a face or occur twice, faces of three tets, and (without the options above)
   inverted tets and unused nodes; the message names the element. options, report and error may be NULL. On failure
   the mesh is empty. */
sti_status sti__tetmesh_create(int nnode, const double *node, int ntet, const int *tet,
                               const sti__tetmesh_options *options, sti__tetmesh *mesh,
                               sti__tetmesh_report *report, sti_error *error);
void sti__tetmesh_free(sti__tetmesh *mesh);

/* Six times the signed volume of a, b, c, d. */
double sti__tet_volume6(const double a[3], const double b[3], const double c[3], const double d[3]);
/* Gradients of the four barycentric coordinates; returns the volume. For a tet without volume they are zero. */
double sti__tet_gradients(const double a[3], const double b[3], const double c[3], const double d[3],
                          double gradient[4][3]);

double sti__tetmesh_volume(const sti__tetmesh *mesh);
/* Volume, centre of mass, and inertia about it at unit density. */
void sti__tetmesh_mass(const sti__tetmesh *mesh, sti__mass *mass);
/* v -> scale * v + pos, componentwise; NULL = no change. A mirroring scale turns the tets over. */
void sti__tetmesh_transform(sti__tetmesh *mesh, const double scale[3], const double pos[3]);

/* Shape of the elements. */
typedef struct sti__tetmesh_quality {
    double min_dihedral, max_dihedral; /* degrees */
    double min_edge, max_edge, mean_edge;
    double min_volume, max_volume;
} sti__tetmesh_quality;
void sti__tetmesh_measure(const sti__tetmesh *mesh, sti__tetmesh_quality *quality);

#endif
