/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of sti__fill_bodies, in the order in which they run. */
#ifndef STI_MODEL_BODIES_H
#define STI_MODEL_BODIES_H

#include "model/pose.h"

/* Mass and principal moments of a geom, about its centre of mass and along its axes. */
typedef struct sti__geom_mass {
    double mass, moment[3];
    bool apart;             /* that frame is another than the geom's: */
    double com[3], axes[4]; /* where it is in the geom's */
} sti__geom_mass;

/* A mesh while it is compiled; see assets.c. */
typedef struct sti__mesh_facts {
    double volume;          /* m3, or m2 for a shell */
    double moment[3];       /* principal, at unit density */
    double pos[3], quat[4]; /* of the centred mesh in the file's frame */
    bool apart;             /* it is not centred, as that of a shape with a distance field: */
    double com[3], axes[4]; /* where its mass is */
    double half[3];         /* largest |x|, |y|, |z| of the centred vertices */
    bool shell;
} sti__mesh_facts;
/* Facts of a mesh that a geom uses; NULL if the mesh is unusable (which was complained about). */
const sti__mesh_facts *sti__mesh_of(sti__compiler *c, const sti_element *geom, int mesh);
/* How many vertices a mesh has. */
int sti__mesh_vertices(const sti__compiler *c, int mesh);
/* Sizes of a primitive fitted to the box around a mesh, along its principal axes, and the middle of that box. */
void sti__mesh_enclose(const sti__compiler *c, int id, int type, double size[3], double middle[3]);

/* Size and radius of a geom that is a height field; false if it has none (which was complained about). */
bool sti__place_hfield(sti__compiler *c, const sti_element *e, int g, double *radius);

void sti__size_joints(sti__compiler *c);
void sti__fill_joints(sti__compiler *c);
/* Geoms; mass has ngeom entries to be filled. */
void sti__fill_geoms(sti__compiler *c, sti__geom_mass *mass);
void sti__fill_sites(sti__compiler *c);
void sti__fill_views(sti__compiler *c); /* cameras and lights */
void sti__align_free(sti__compiler *c); /* when poses and inertia are there */
void sti__fill_inertia(sti__compiler *c, const sti__geom_mass *mass);
/* Pose from fromto, which also sets the sizes that depend on the length; false if it is not given. */
bool sti__read_fromto(sti__compiler *c, const sti_element *e, int type, double size[3], double pos[3],
                      double quat[4]);
/* Complains about sizes that a type needs and that are not positive. */
bool sti__check_size(sti__compiler *c, const sti_element *e, int type, const double size[3]);

/* particles.c: the vertices of <flex>. */
typedef struct sti__vertices {
    int count, nfree;
    double *point;             /* in the frame of the body that they are in */
    bool *pinned;              /* to that body */
    double mass;               /* of those that are not */
    const sti_element *parent; /* NULL: the world */
} sti__vertices;
bool sti__flex_vertices(sti__compiler *c, const sti_element *e, sti__vertices *v);

#endif
