/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/mobility.h"
#include "base/isa.h"
#include "contact/chain.h"
#include "math/rot.h"
#include <string.h>

extern const sti__chain_kernels sti__chain_set;
#ifdef STI_HAVE_ISA
extern const sti__chain_kernels sti__chain_set_avx2, sti__chain_set_avx512;
#endif

const sti__chain_kernels *sti__chain_kernels_get(void) {
#ifdef STI_HAVE_ISA
    if (sti__has_avx512()) return &sti__chain_set_avx512;
    if (sti__has_avx2()) return &sti__chain_set_avx2;
#endif
    return &sti__chain_set;
}

void sti__mobility_of(const sti_state *s, int body, sti__mobility *out) {
    const sti_model *m = s->model;
    double W[48];
    sti__chain_kernels_get()->mobility(s, sti__chain_dofs(m, body), sti__chain_length(m, body), W);
    sti__mobility_take(W, out);
}

void sti__mobility_take(const double *W, sti__mobility *out) {
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++) {
            out->ww[4 * i + j] = i < j ? W[8 * i + j] : W[8 * j + i];
            out->vv[4 * i + j] = i < j ? W[8 * (3 + i) + 3 + j] : W[8 * (3 + j) + 3 + i];
            out->wv[4 * i + j] = W[8 * i + 3 + j];
        }
        out->ww[4 * i + 3] = out->vv[4 * i + 3] = out->wv[4 * i + 3] = 0;
    }
}

/* ---- outwards ------------------------------------------------------------------------------------------ */

static bool is_free_root(const sti_model *m, int d) {
    return m->jnt_type[m->dof_jntid[d]] == STI_JOINT_FREE && m->M_rownnz[d] <= 6;
}

/* Armature of tendons couples dofs in another way. */
static bool has_plain_mass(const sti_model *m) {
    for (int t = 0; t < m->ntendon; t++)
        if (sti__tendon_is_heavy(m, t)) return false;
    return true;
}

int sti__outward_count(const sti_model *m, int *place) {
    bool plain = has_plain_mass(m);
    int count = 0;
    for (int d = 0; d < m->nv; d++) {
        int root = m->M_colind[m->M_rowadr[d]], n = m->M_rownnz[d];
        /* a body that is free and alone is as quick without */
        bool branches = root + 6 < m->nv && m->dof_treeid[root + 6] == m->dof_treeid[root];
        bool has = plain && branches && is_free_root(m, root) && n >= 6 && n <= STI__MOBILITY_CHAIN;
        if (place) place[d] = has ? count : -1;
        count += has;
    }
    return count;
}

void sti__outward_begin(sti__outward *o) { o->now++; }

/* g of dof d: its products with the motions of the root, which are those of the world's axes and three rotations. */
static void find_gain(const sti_state *s, int d, double g[6]) {
    const sti_model *m = s->model;
    const double *L = s->qLD + m->M_rowadr[d], *S = s->cdof + 6 * (size_t)(m->M_colind[m->M_rowadr[d]] + 3);
    v3_copy(g + 3, L);
    v3_zero(g);
    for (int k = 0; k < 3; k++) v3_add_scaled(g, S + 6 * k, L[3 + k] - v3_dot(g + 3, S + 6 * k + 3));
}

static void start(const sti_state *s, int last, double *out) {
    const sti_model *m = s->model;
    sti__chain_kernels_get()->mobility(s, m->M_colind + m->M_rowadr[last], 6, out);
    out[48] = 0; /* nobody asks for it */
}

const double *sti__outward_of(sti__outward *o, const sti_state *s, int dof) {
    const sti_model *m = s->model;
    const int *chain = m->M_colind + m->M_rowadr[dof];
    const sti__chain_kernels *kernels = sti__chain_kernels_get();
    int n = m->M_rownnz[dof], k = n - 1;
    while (k >= 5 && o->when[o->place[chain[k]]] != o->now) k--;
    for (k++; k < n; k++) {
        int d = chain[k], at = o->place[d];
        double *to = o->at + STI__OUTWARD * (size_t)at, g[6];
        o->when[at] = o->now;
        if (k == 5) {
            start(s, d, to);
            continue;
        }
        const double *c = s->cdof + 6 * (size_t)d,
                     *up = o->at + STI__OUTWARD * (size_t)o->place[chain[k - 1]];
        double end[8] = {0};
        if (d == m->nv - 1) memcpy(end, c, 6 * sizeof(double)), c = end;
        find_gain(s, d, g);
        to[48] = kernels->extend(up, c, g, s->qLDiagInv[d], to);
    }
    return o->at + STI__OUTWARD * (size_t)o->place[dof];
}
