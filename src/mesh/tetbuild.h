/* SPDX-License-Identifier: Apache-2.0 */
/* Growing lists of nodes and tets, for those who make meshes out of nothing. */
#ifndef STI_MESH_TETBUILD_H
#define STI_MESH_TETBUILD_H

#include "mesh/tetmesh.h"

typedef struct sti__tetbuild {
    sti__vec node, tet;
    sti__tetmesh_options options;
    sti_error *error;
    bool failed; /* out of memory; said by sti__tetbuild_finish */
} sti__tetbuild;

/* options may be NULL. */
void sti__tetbuild_init(sti__tetbuild *build, const sti__tetmesh_options *options, sti_error *error);
/* STI_LIMIT if so many tets would be too many. */
sti_status sti__tetbuild_expect(const sti__tetbuild *build, double ntet);
int sti__tetbuild_node(sti__tetbuild *build, double x, double y, double z); /* its number */
/* In either orientation; left out if two nodes are the same. */
void sti__tetbuild_tet(sti__tetbuild *build, int a, int b, int c, int d);
/* Tets between two triangles with the same order of corners; in `top` corners may be the same. The diagonal of a side depends on the numbers of its corners only, so that neighbours
   agree. */
void sti__tetbuild_prism(sti__tetbuild *build, const int bottom[3], const int top[3]);
/* The mesh, if all went well; frees the lists in any case. */
sti_status sti__tetbuild_finish(sti__tetbuild *build, sti__tetmesh *mesh);

/* Sizes of a shape must be positive, the edge length not negative. */
sti_status sti__tetbuild_check(const sti__tetbuild *build, const double *size, int nsize, double edge);
/* Pieces of about the given edge on a length: at least `least`, at most 1e6. */
int sti__tetbuild_pieces(double length, double edge, int least);

#endif
