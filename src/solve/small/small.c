/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/small/small.h"
#include "base/isa.h"
#include "solve/policy.h"

#define VARIANT(isa)                                 \
    bool sti__small_solve##isa(sti__small_job *job); \
    bool sti__small_solve_large##isa(sti__small_job *job);
VARIANT()
#ifdef STI_HAVE_ISA
VARIANT(_avx2)
VARIANT(_avx512)
#endif
size_t sti__small_bytes(int n, int m, int nrow);
size_t sti__small_bytes_large(int n, int m, int nrow);

size_t sti__small_room(int n, int m, int nrow) {
    return n <= STI__SMALL ? sti__small_bytes(n, m, nrow) : sti__small_bytes_large(n, m, nrow);
}

sti__small_solver sti__small_get(int n) {
    bool large = n > STI__SMALL;
#ifdef STI_HAVE_ISA
    if (sti__has_avx512()) return large ? sti__small_solve_large_avx512 : sti__small_solve_avx512;
    if (sti__has_avx2()) return large ? sti__small_solve_large_avx2 : sti__small_solve_avx2;
#endif
    return large ? sti__small_solve_large : sti__small_solve;
}

bool sti__softened(const sti_problem *p, const int *row, int nrow) {
    for (int b = 0; b < nrow; b++) {
        if (p->arrays.rows[row[b]].kind == STI_ROW_USER) return false;
        for (int i = p->first[row[b]]; i < p->first[row[b] + 1]; i++)
            if (!(p->arrays.R[i] > 0)) return false;
    }
    return true;
}

/* Dofs that an island of these may have: those of deep kinematic trees may be many, next to soft bodies there are few. */
static int most_dofs(const sti_problem *p, const int *dof, int n) {
    const sti_csr *A = &p->arrays.A;
    int64_t count = 0;
    for (int i = 0; i < n; i++) {
        if (dof[i] >= p->first_soft) return STI__SMALL;
        count += A->start[dof[i] + 1] - A->start[dof[i]];
    }
    bool deep = count + n > 2 * STI__SMALL_DEEP * (int64_t)n; /* both triangles, with the diagonal once */
    return deep ? STI__SMALL_LARGE : STI__SMALL_BODIES;
}

int sti__small_steps(const sti_problem *p, const int *dof, int n) {
    return n > STI__SMALL && most_dofs(p, dof, n) == STI__SMALL_BODIES ? STI__SMALL_STEPS_BODIES
                                                                       : STI__SMALL_STEPS;
}

bool sti__small_fits(const sti_problem *p, const int *dof, const int *row, int n, int nrow) {
    return (n <= STI__SMALL || (n <= STI__SMALL_LARGE && n <= most_dofs(p, dof, n))) &&
           sti__softened(p, row, nrow);
}
