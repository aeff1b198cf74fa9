/* SPDX-License-Identifier: Apache-2.0 */
/* Meshes of tetrahedra: from files, from arrays, or filled into a closed surface. */
#ifndef STICTION_TETMESH_H
#define STICTION_TETMESH_H

#include <stiction/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* To be read only. Every tet is positively oriented: (b - a) x (c - a) . (d - a) > 0 for its nodes a b c d. */
typedef struct sti_tetmesh {
    int nnode, ntet, ntri;
    const double *node; /* nnode * 3, m */
    const int *tet;     /* ntet * 4 */
    const int *tri;     /* ntri * 3: the surface, counter-clockwise from outside */
    const int *tri_tet; /* ntri: the tet that a surface triangle is a face of */
} sti_tetmesh;

typedef struct sti_tetmesh_options {
    double edge;          /* of the lattice that fills a surface, m; 0 = from nodes */
    int nodes;            /* wanted about, if edge is 0 (1000) */
    bool open;            /* fill surfaces with open edges too (false) */
    double max_volume;    /* refuse a larger relative error of the volume (0.1) */
    double max_hausdorff; /* refuse a larger distance between the surfaces, in edges (1) */
    int max_tet;          /* refuse more elements (1,000,000) */
    void (*progress)(void *context, double fraction); /* while a surface is filled; may be NULL */
    void *context;
    const sti_allocator *allocator;
    uint64_t cookie; /* set by sti_tetmesh_options_default */
} sti_tetmesh_options;
STI_API sti_tetmesh_options sti_tetmesh_options_default(void);

/* What a mesh is like, and what was put right on the way. */
typedef struct sti_tetmesh_info {
    double volume;                        /* m3 */
    double min_dihedral, max_dihedral;    /* degrees */
    double min_edge, mean_edge, max_edge; /* m */
    int turned_tets, dropped_nodes;       /* of a file: inverted ones, unused ones */
    bool filled;                          /* the mesh was filled into a surface; what follows is 0 else */
    double edge;                          /* of the lattice, m */
    double surface_volume, volume_error;  /* m3; relative */
    double hausdorff;    /* m, largest distance between both surfaces, from samples half an edge apart */
    bool turned;         /* all faces of the surface looked inwards */
    int welded, dropped; /* vertices at one place or unused; triangles without area */
    int open_edges, crossings; /* left as they are: inside is where the winding number is above 1/2 */
} sti_tetmesh_info;

/* A file by its content: tetrahedra (legacy VTK; Gmsh 2.2 and 4.1) are taken, a surface (STL, OBJ, MuJoCo's MSH) is
   filled. options, info and error may be NULL. NULL on failure. */
STI_API sti_tetmesh *sti_tetmesh_load(const char *path, const sti_tetmesh_options *options,
                                      sti_tetmesh_info *info, sti_error *error);
/* From arrays, which are copied; as sti_tetmesh_load does, inverted tets are turned and unused nodes left out. */
STI_API sti_tetmesh *sti_tetmesh_create(int nnode, const double *node, int ntet, const int *tet,
                                        const sti_tetmesh_options *options, sti_tetmesh_info *info,
                                        sti_error *error);
/* Fills a closed surface of triangles by isosurface stuffing (docs/tetmesh.md). */
STI_API sti_tetmesh *sti_tetmesh_fill(int nvert, const double *vert, int ntri, const int *tri,
                                      const sti_tetmesh_options *options, sti_tetmesh_info *info,
                                      sti_error *error);
/* Binary, by the name: .vtk (with the depth of the nodes) or .msh (Gmsh 4.1, for MuJoCo's flexcomp type="gmsh"). */
STI_API sti_status sti_tetmesh_save(const sti_tetmesh *mesh, const char *path, sti_error *error);
/* Distance of each node from the surface over the largest one, as a pressure field has it, into depth (nnode). */
STI_API sti_status sti_tetmesh_depth(const sti_tetmesh *mesh, double *depth, sti_error *error);
STI_API void sti_tetmesh_free(sti_tetmesh *mesh);

#ifdef __cplusplus
}
#endif
#endif
