/* SPDX-License-Identifier: Apache-2.0 */
/* Compiled once per instruction set; every number has its own lane, so that all variants give the same bits. */
#include "base/lane.h"
#include "base/unroll.h"
#include "contact/chain.h"
#include <string.h>

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define INLINE static inline __attribute__((always_inline))

#if defined __AVX512F__
#define VW 8 /* doubles in a register */
#elif defined __AVX__
#define VW 4
#else
#define VW 2
#endif
#define PARTS (8 / VW)
#define UNROLL STI__UNROLL(8)
typedef double vec __attribute__((vector_size(8 * VW), aligned(8), may_alias));
#define AT(x, i) (*(vec *)((x) + (i)))
#define IN(x, i) (*(const vec *)((x) + (i)))

/* With M = L'DL the rows of S L^-1 give S M^-1 S' = sum of x x' / D; x has a pack per dof, six numbers and two zeros. */
static void mobility(const sti_state *s, const int *dof, int n, double out[48]) {
    double x[8 * STI__MOBILITY_CHAIN] __attribute__((aligned(64)));
    vec total[6][PARTS] = {{{0}}};
    for (int k = 0; k < n; k++) {
        const double *S = s->cdof + 6 * (size_t)dof[k];
        UNROLL for (int i = 0; i < 6; i++) x[8 * k + i] = S[i];
        x[8 * k + 6] = x[8 * k + 7] = 0;
    }
    for (int k = n - 1; k >= 0; k--) {
        const double *L = s->qLD + s->model->M_rowadr[dof[k]], *xk = x + 8 * k, scale = s->qLDiagInv[dof[k]];
        vec y[PARTS];
        UNROLL for (int v = 0; v < PARTS; v++) y[v] = IN(xk, VW * v);
        for (int p = k - 1; p >= 0; p--) /* what the next dof waits for comes first */
            UNROLL for (int v = 0; v < PARTS; v++) AT(x, 8 * p + VW * v) -= L[p] * y[v];
        UNROLL for (int v = 0; v < PARTS; v++) {
            vec z = y[v] * scale;
            UNROLL for (int i = 0; i < 6; i++) total[i][v] += xk[i] * z;
        }
    }
    UNROLL for (int i = 0; i < 6; i++) UNROLL for (int v = 0; v < PARTS; v++) AT(out, 8 * i + VW * v) =
        total[i][v];
}

/* W - c h' - h c' + (g'h + 1 / D) c c' with h = W g. Every dof waits for the one before it: sums are in pairs. */
static double extend(const double *up, const double c[8], const double g[6], double inverse, double *out) {
    double h[8] __attribute__((aligned(64)));
    vec Wg[PARTS], u[PARTS];
    UNROLL for (int v = 0; v < PARTS; v++) {
        vec part[3];
        UNROLL for (int i = 0; i < 3; i++) part[i] =
            g[2 * i] * IN(up, 16 * i + VW * v) + g[2 * i + 1] * IN(up, 16 * i + 8 + VW * v);
        AT(h, VW * v) = Wg[v] = part[0] + part[1] + part[2];
    }
    double sum =
        (g[0] * h[0] + g[1] * h[1]) + (g[2] * h[2] + g[3] * h[3]) + (g[4] * h[4] + g[5] * h[5] + inverse);
    UNROLL for (int v = 0; v < PARTS; v++) u[v] = sum * IN(c, VW * v) - Wg[v];
    UNROLL for (int i = 0; i < 6; i++) UNROLL for (int v = 0; v < PARTS; v++) AT(out, 8 * i + VW * v) =
        IN(up, 8 * i + VW * v) - h[i] * IN(c, VW * v) + c[i] * u[v];
    return sum;
}

static double lightness(const sti_state *s, int dof) {
    const sti_model *m = s->model;
    const int *chain = m->M_colind + m->M_rowadr[dof];
    int n = m->M_rownnz[dof];
    double x[STI__MOBILITY_CHAIN] = {0}, sum = 0;
    x[n - 1] = 1;
    for (int k = n - 1; k >= 0; k--) {
        const double *L = s->qLD + m->M_rowadr[chain[k]], y = x[k];
        for (int p = 0; p < k; p++) x[p] -= L[p] * y;
        sum += y * y * s->qLDiagInv[chain[k]];
    }
    return sum;
}

typedef double row4 __attribute__((vector_size(32), aligned(8), may_alias));

/* Up to four rows, with a lane each. */
INLINE void few_rows(const double *cdof, const int *dof, int n, double wrench[6][STI__CHAIN_ROWS], int first,
                     int count, double *restrict J, int stride) {
    row4 in[6];
    UNROLL for (int c = 0; c < 6; c++) in[c] = *(const row4 *)(wrench[c] + first);
    for (int k = 0; k < n; k++) {
        const double *S = cdof + 6 * (size_t)dof[k];
        row4 sum = in[0] * S[0] + in[1] * S[1] + in[2] * S[2] + (in[3] * S[3] + in[4] * S[4] + in[5] * S[5]);
        UNROLL for (int i = 0; i < count; i++) J[(first + i) * stride + k] = sum[i];
    }
}

static void rows(const double *cdof, const int *dof, int n, double wrench[6][STI__CHAIN_ROWS], int count,
                 double *J, int stride) {
    int i = 0;
    for (; i + 4 <= count; i += 4) few_rows(cdof, dof, n, wrench, i, 4, J, stride);
    if (count - i == 3) few_rows(cdof, dof, n, wrench, i, 3, J, stride);
    if (count - i == 2) few_rows(cdof, dof, n, wrench, i, 2, J, stride);
    if (count - i == 1) few_rows(cdof, dof, n, wrench, i, 1, J, stride);
}

/* v_p = v + w x arm: with P = [arm]x, K += P ww P' - P wv - (P wv)' + vv. */
static void point(const sti__mobility *b, const double arm[3], double K[12]) {
    row4 pw[3], pv[3], across, one = {arm[1], arm[2], arm[0]}, two = {arm[2], arm[0], arm[1]};
    const row4 *ww = (const row4 *)b->ww, *wv = (const row4 *)b->wv, *vv = (const row4 *)b->vv;
    row4 *out = (row4 *)K;
    UNROLL for (int i = 0; i < 3; i++) {
        int y = (i + 1) % 3, z = (i + 2) % 3;
        pw[i] = arm[y] * ww[z] - arm[z] * ww[y];
        pv[i] = arm[y] * wv[z] - arm[z] * wv[y];
    }
    UNROLL for (int i = 0; i < 3; i++) {
        row4 turned = one * __builtin_shufflevector(pw[i], pw[i], 2, 0, 1, 3) -
                      two * __builtin_shufflevector(pw[i], pw[i], 1, 2, 0, 3);
        across = (row4){pv[0][i], pv[1][i], pv[2][i]};
        out[i] += turned - pv[i] - across + vv[i];
    }
}

extern const sti__chain_kernels CAT(sti__chain_set, STI_ISA);
const sti__chain_kernels CAT(sti__chain_set, STI_ISA) = {mobility, extend, lightness, rows, point};
