/* SPDX-License-Identifier: Apache-2.0 */
/* Files of tetrahedral meshes: legacy VTK, Gmsh 2.2 and 4.1, text or binary. */
#ifndef STI_MESH_TETFILE_H
#define STI_MESH_TETFILE_H

#include "mesh/tetmesh.h"

/* By content, whatever the name is. Elements of less than three dimensions are skipped; of a quadratic tet the corners
   are taken; other solids are STI_UNSUPPORTED. Counts are checked against the size of the file before anything is
   allocated; memory: budget in bytes for what is needed meanwhile. Nodes that no tet uses are left out and tets that
   are inverted are turned, both counted in the report, whatever the options say; errors name the file and, in a text,
   the line. Of VTK's cell data, the arrays young, poisson and density become mesh->matter. */
sti_status sti__tetmesh_decode(const void *data, size_t size, const char *name, size_t memory,
                               const sti__tetmesh_options *options, sti__tetmesh *mesh,
                               sti__tetmesh_report *report, sti_error *error);
/* True if the bytes begin as one of these files does. */
bool sti__tetmesh_known(const void *data, size_t size);

/* Binary files: legacy VTK 3.0, with the numbers of `field` (nnode, NULL = none) as "depth", or Gmsh 4.1 in one block, as
   MuJoCo takes it. The buffer
   comes from the mesh's allocator; NULL if there is no memory. */
void *sti__tetmesh_encode_vtk(const sti__tetmesh *mesh, const double *field, size_t *size);
void *sti__tetmesh_encode_gmsh(const sti__tetmesh *mesh, size_t *size);

#endif
