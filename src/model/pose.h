/* SPDX-License-Identifier: Apache-2.0 */
/* Poses while compiling: composition, principal axes, inertia of shapes. Quaternions are w x y z. */
#ifndef STI_MODEL_POSE_H
#define STI_MODEL_POSE_H

#include "model/compile.h"

/* Angles below this (m, or a pure number) count as zero in a direction or a size. */
#define STI__TINY 1e-14
/* The smallest mass (kg) and inertia (kg m2) of a body that moves. */
#define STI__MINVAL 1e-15

/* Unit quaternion that turns z into `axis` (of any length) by the shortest way; false if axis is tiny. */
bool sti__quat_from_z(double quat[4], const double axis[3]);
/* Unit quaternion of the rotation whose columns are x, y, z (orthonormal). */
void sti__quat_from_axes(double quat[4], const double x[3], const double y[3], const double z[3]);
/* pos, quat = frame pose * pose. */
void sti__pose_compose(const double frame_pos[3], const double frame_quat[4], double pos[3], double quat[4]);
/* Pose of the frames around an element in its body's frame; false (identity) if there are none. */
bool sti__frame_pose(sti__compiler *c, const sti_element *e, double pos[3], double quat[4]);
/* pos and orientation of an element in the innermost frame around it. */
bool sti__own_pose(sti__compiler *c, const sti_element *e, double pos[3], double quat[4]);
/* The same in the frame of its body. */
bool sti__read_pose(sti__compiler *c, const sti_element *e, double pos[3], double quat[4]);

/* body_subtreemass. */
void sti__sum_masses(sti_model *model);
/* Eigenvalues (descending) of a symmetric tensor xx yy zz xy xz yz, and the rotation to its axes. */
void sti__principal_axes(const double full[6], double quat[4], double moment[3]);
/* full += the tensor with principal moments `moment` along the axes of quat, of a mass at offset. */
void sti__add_inertia(double full[6], const double moment[3], const double quat[4], double mass,
                      const double offset[3]);

/* Volume (m3), or area (m2) of the surface with shell, of a primitive of MJCF type and size. */
double sti__shape_volume(int type, const double size[3], bool shell);
/* Radius of the ball around its centre that holds it; 0 for planes. */
double sti__shape_radius(int type, const double size[3]);
/* geom_fluid of the ellipsoid like a shape: on, coefficients, virtual mass and inertia per axis. */
void sti__shape_fluid(int type, const double size[3], const double coef[5], double out[12]);
/* Its principal moments for a given mass. */
void sti__shape_inertia(int type, const double size[3], bool shell, double mass, double moment[3]);

#endif
