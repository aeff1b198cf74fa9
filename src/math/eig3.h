/* SPDX-License-Identifier: Apache-2.0 */
/* Principal axes of a symmetric 3x3 matrix. */
#ifndef STI_MATH_EIG3_H
#define STI_MATH_EIG3_H

/* mat = R(quat) diag(eigval) R(quat)^T, eigenvalues in decreasing order, quat (w x y z) unit and a
   proper rotation. Of the many equivalent frames this picks the one that MuJoCo picks. Returns the
   number of rotations used, 500 if mat has a NaN. */
int sti__eig3(double eigval[3], double quat[4], const double mat[9]);

/* The same, but off-diagonal entries up to `stop` and differences of eigenvalues up to `tie`, both
   relative to the largest entry, count as zero. Meshes use 1e-7 for both, so that the noise of a
   symmetric mesh does not turn its frame. */
int sti__eig3_within(double eigval[3], double quat[4], const double mat[9], double stop, double tie);

#endif
