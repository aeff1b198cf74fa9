/* SPDX-License-Identifier: Apache-2.0 */
/* Surfaces of which soft bodies are made. */
#ifndef STI_LOAD_FLEXMESH_H
#define STI_LOAD_FLEXMESH_H

#include "load/tree.h"
#include "mesh/mesh.h"

/* What `file` or `mesh` of a flexcomp name, before the flexcomp's own scale. Default classes of meshes count: sti__scope_all has been
   called. The mesh is freed with sti__mesh_free, after an error too. */
sti_status sti__flexcomp_surface(const sti_spec *spec, const sti_element *flexcomp, sti__mesh *mesh,
                                 sti_error *error);

#endif
