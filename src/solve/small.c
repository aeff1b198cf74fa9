/* SPDX-License-Identifier: Apache-2.0 */
#include "solve/small.h"
#include "base/isa.h"

bool sti__small_solve(sti__small_job *job);
size_t sti__small_bytes(int n, int m, int nrow);
#ifdef STI_HAVE_ISA
bool sti__small_solve_avx2(sti__small_job *job);
bool sti__small_solve_avx512(sti__small_job *job);
#endif

size_t sti__small_room(int n, int m, int nrow) { return sti__small_bytes(n, m, nrow); }

sti__small_solver sti__small_get(void) {
#ifdef STI_HAVE_ISA
    if (sti__has_avx512()) return sti__small_solve_avx512;
    if (sti__has_avx2()) return sti__small_solve_avx2;
#endif
    return sti__small_solve;
}

bool sti__softened(const sti_problem *p, const int *row, int nrow) {
    for (int b = 0; b < nrow; b++) {
        if (p->arrays.rows[row[b]].kind == STI_ROW_USER) return false;
        for (int i = p->first[row[b]]; i < p->first[row[b] + 1]; i++)
            if (!(p->arrays.R[i] > 0)) return false;
    }
    return true;
}

bool sti__small_fits(const sti_problem *p, const int *row, int n, int nrow) {
    return n <= STI__SMALL && sti__softened(p, row, nrow);
}
