/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/mobility.h"
#include "math/rot.h"
#include <string.h>

/* With M = L'DL the rows of S L^-1, S the columns of cdof, give S M^-1 S' = sum of x x' / D. The ancestors of a dof are
   all entries of its row of L, so a chain is a dense triangle. */
void sti__mobility_of(const sti_state *s, int body, sti__mobility *out) {
    const sti_model *m = s->model;
    double x[STI__MOBILITY_CHAIN][6];
    int dof[STI__MOBILITY_CHAIN], n = sti__chain_length(m, body);
    memset(out, 0, sizeof *out);
    for (int k = n - 1, d = m->body_lastdof[body]; k >= 0; k--, d = m->dof_parentid[d]) {
        dof[k] = d;
        memcpy(x[k], s->cdof + 6 * (size_t)d, sizeof x[k]);
    }
    for (int i = n - 1; i >= 0; i--) {
        const double *L = s->qLD + m->M_rowadr[dof[i]];
        double scale = s->qLDiagInv[dof[i]];
        for (int p = 0; p < i; p++)
            for (int k = 0; k < 6; k++) x[p][k] -= L[p] * x[i][k];
        for (int a = 0; a < 3; a++) {
            double w = x[i][a] * scale, v = x[i][3 + a] * scale;
            for (int b = 0; b < 3; b++) {
                out->ww[3 * a + b] += w * x[i][b];
                out->wv[3 * a + b] += w * x[i][3 + b];
                out->vv[3 * a + b] += v * x[i][3 + b];
            }
        }
    }
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
