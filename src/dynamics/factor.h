/* SPDX-License-Identifier: Apache-2.0 */
/* L'DL of a symmetric matrix with the sparsity of M (see M_rowadr in model_fields.h), for kernels. */
#ifndef STI_DYNAMICS_FACTOR_H
#define STI_DYNAMICS_FACTOR_H

#include "base/lane.h"
#include <stiction/model.h>

/* In place: `ld` holds the matrix, then L below the diagonal and D on it; diaginv (nv) gets 1/D. */
void STI_K(ltdl_factor)(const sti_model *m, vreal *ld, vreal *diaginv);
/* The same of the dofs [begin, end) of some trees. */
void STI_K(ltdl_factor_dofs)(const sti_model *m, int begin, int end, vreal *ld, vreal *diaginv);
/* x = (L'DL)^-1 x */
void STI_K(ltdl_solve)(const sti_model *m, const vreal *ld, const vreal *diaginv, vreal *x);
/* The same of the dofs [begin, end) of some trees. */
void STI_K(ltdl_solve_dofs)(const sti_model *m, int begin, int end, const vreal *ld, const vreal *diaginv,
                            vreal *x);

#endif
