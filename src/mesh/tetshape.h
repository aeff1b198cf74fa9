/* SPDX-License-Identifier: Apache-2.0 */
/* Tetrahedral meshes of simple shapes, centred at the origin, axes along z; sizes as MJCF's geoms (half-lengths,
   radii). */
#ifndef STI_MESH_TETSHAPE_H
#define STI_MESH_TETSHAPE_H

#include "mesh/tetmesh.h"

typedef enum sti__tet_shape {
    STI__TET_BOX,       /* half sizes x y z */
    STI__TET_SPHERE,    /* radius */
    STI__TET_ELLIPSOID, /* semi-axes x y z */
    STI__TET_CAPSULE,   /* radius, half length of the segment */
    STI__TET_CYLINDER   /* radius, half length */
} sti__tet_shape;

/* For soft bodies: elements of about the given edge length all through the volume. */
sti_status sti__tetmesh_shape(sti__tet_shape shape, const double size[3], double edge,
                              const sti__tetmesh_options *options, sti__tetmesh *mesh, sti_error *error);
/* For pressure fields of rigid geoms: nodes only on the surface, with edges of about the given length (0 = a third of
   the radius, or half the sides of a box), and on the medial set, so that the depth is linear in every tet; exact for
   a box, and where a side is flat. depth: nnode numbers from the allocator, 0 on the surface, 1 at the deepest points;
   for an ellipsoid those of the sphere that it is scaled from. The mesh of a round shape has its volume, which makes
   forces of contact many times more exact than nodes on the surface. */
sti_status sti__tetmesh_medial(sti__tet_shape shape, const double size[3], double edge,
                               const sti__tetmesh_options *options, sti__tetmesh *mesh, double **depth,
                               sti_error *error);

/* The tets that MuJoCo's flexcomp makes of type grid, box, cylinder and ellipsoid with dim="3": same nodes in the
   same order, same elements in the same order, but for the last two nodes of each, which change places: MuJoCo's
   tets are inverted in our sense. */
typedef enum sti__flex_shape {
    STI__FLEX_GRID,
    STI__FLEX_BOX,
    STI__FLEX_CYLINDER,
    STI__FLEX_ELLIPSOID
} sti__flex_shape;
sti_status sti__tetmesh_flex(sti__flex_shape shape, const int count[3], const double spacing[3],
                             const sti__tetmesh_options *options, sti__tetmesh *mesh, sti_error *error);

#endif
