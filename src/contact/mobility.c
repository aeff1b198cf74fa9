/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/mobility.h"
#include "contact/chain.h"
#include "math/rot.h"

extern const sti__chain_kernels sti__chain_set;
#ifdef STI_HAVE_ISA
extern const sti__chain_kernels sti__chain_set_avx2, sti__chain_set_avx512;
#endif

const sti__chain_kernels *sti__chain_kernels_get(void) {
#ifdef STI_HAVE_ISA
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq"))
        return &sti__chain_set_avx512;
    if (__builtin_cpu_supports("avx2")) return &sti__chain_set_avx2;
#endif
    return &sti__chain_set;
}

/* The ancestors of a dof are all entries of its row of M, so a chain is a dense triangle of the factor. */
void sti__mobility_of(const sti_state *s, int body, int *dof, double *cdof, sti__mobility *out) {
    const sti_model *m = s->model;
    int n = sti__chain_length(m, body);
    for (int k = n - 1, d = m->body_lastdof[body]; k >= 0; k--, d = m->dof_parentid[d]) {
        dof[k] = d;
        for (int i = 0; i < 6; i++) cdof[i * n + k] = s->cdof[6 * (size_t)d + (size_t)i];
    }
    sti__chain_kernels_get()->mobility(s, dof, n, out);
}

/* v_p = v + w x arm: with P = [arm]x, K = P ww P' - P wv - (P wv)' + vv. */
void sti__mobility_add_point(const sti__mobility *b, const double arm[3], double K[9]) {
    double pw[9], pv[9], row[3];
    for (int j = 0; j < 3; j++) { /* column j of P ww and of P wv */
        for (int i = 0; i < 3; i++) {
            int y = (i + 1) % 3, z = (i + 2) % 3;
            pw[3 * i + j] = arm[y] * b->ww[3 * z + j] - arm[z] * b->ww[3 * y + j];
            pv[3 * i + j] = arm[y] * b->wv[3 * z + j] - arm[z] * b->wv[3 * y + j];
        }
    }
    for (int i = 0; i < 3; i++) {
        v3_cross(row, arm, pw + 3 * i);
        for (int j = 0; j < 3; j++) K[3 * i + j] += row[j] - pv[3 * i + j] - pv[3 * j + i] + b->vv[3 * i + j];
    }
}
