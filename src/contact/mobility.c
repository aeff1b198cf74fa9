/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/mobility.h"
#include "math/rot.h"
#include <string.h>

/* With M = L'DL the rows of S L^-1, S the columns of cdof, give S M^-1 S' = sum of x x' / D. The ancestors of a dof are
   all entries of its row of L, so a chain is a dense triangle. */
static void chain_mobility(const sti_state *s, const int *dof, double x[][6], int n, sti__mobility *out) {
    double ww[6] = {0}, wv[9] = {0}, vv[6] = {0};
    for (int i = n - 1; i >= 0; i--) {
        const double *L = s->qLD + s->model->M_rowadr[dof[i]], *y = x[i];
        double scale = s->qLDiagInv[dof[i]], z[6];
        for (int p = 0; p < i; p++)
            for (int k = 0; k < 6; k++) x[p][k] -= L[p] * y[k];
        for (int k = 0; k < 6; k++) z[k] = y[k] * scale;
        for (int a = 0, at = 0; a < 3; a++)
            for (int b = a; b < 3; b++, at++) {
                ww[at] += z[a] * y[b];
                vv[at] += z[3 + a] * y[3 + b];
            }
        for (int a = 0; a < 3; a++)
            for (int b = 0; b < 3; b++) wv[3 * a + b] += z[a] * y[3 + b];
    }
    static const int place[9] = {0, 1, 2, 1, 3, 4, 2, 4, 5};
    memcpy(out->wv, wv, sizeof wv);
    for (int i = 0; i < 9; i++) {
        out->ww[i] = ww[place[i]];
        out->vv[i] = vv[place[i]];
    }
}

void sti__mobility_of(const sti_state *s, int body, int *dof, double *cdof, sti__mobility *out) {
    const sti_model *m = s->model;
    double x[STI__MOBILITY_CHAIN][6];
    int n = sti__chain_length(m, body);
    for (int k = n - 1, d = m->body_lastdof[body]; k >= 0; k--, d = m->dof_parentid[d]) {
        dof[k] = d;
        memcpy(x[k], s->cdof + 6 * (size_t)d, sizeof x[k]);
        for (int i = 0; i < 6; i++) cdof[i * n + k] = x[k][i];
    }
    chain_mobility(s, dof, x, n, out);
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
