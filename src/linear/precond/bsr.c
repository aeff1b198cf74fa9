/* SPDX-License-Identifier: Apache-2.0 */
#include "linear/precond/bsr.h"
#include "base/isa.h"
#include "linear/factor/block_cholesky.h"
#include "linear/product.h"
#include <math.h>
#include <string.h>

#define GRAIN 256

extern const sti__bsr_kernels sti__bsr_table;
#ifdef STI_HAVE_ISA
extern const sti__bsr_kernels sti__bsr_table_avx2, sti__bsr_table_avx512;
#endif

const sti__bsr_kernels *sti__bsr_variant(int k) {
#ifdef STI_HAVE_ISA
    if (k == 1) return sti__has_avx2() ? &sti__bsr_table_avx2 : NULL;
    if (k == 2) return sti__has_avx512() ? &sti__bsr_table_avx512 : NULL;
#endif
    return k == 0 ? &sti__bsr_table : NULL;
}

const sti__bsr_kernels *sti__bsr_get(void) {
    for (int k = 2; k > 0; k--)
        if (sti__bsr_variant(k)) return sti__bsr_variant(k);
    return &sti__bsr_table;
}

typedef struct product {
    const sti__bsr *a;
    const double *x;
    double *y;
    const sti__bsr_kernels *kernels;
} product;

static void mul_rows(void *context, int begin, int end) {
    const product *p = context;
    p->kernels->mul(p->a, p->x, p->y, begin, end);
}

void sti__bsr_mul(const sti__bsr *a, const double *x, double *y, const sti_tasks *tasks) {
    product p = {a, x, y, sti__bsr_get()};
    sti__run(tasks, a->n, GRAIN, mul_rows, &p);
}

/* ---- small inverses ------------------------------------------------------------------------------------- */

static void diagonal_only(const double *m, int n, double *out) {
    for (int i = 0; i < n * n; i++) {
        double d = m[i];
        out[i] = i % (n + 1) != 0 ? 0 : d > 0 && d < INFINITY ? 1 / d : 1;
    }
}

bool sti__invert_spd(const double *m, int n, double *out, double *l) {
    memcpy(l, m, sizeof(double) * (size_t)n * (size_t)n);
    if (!sti__block_factor(l, n, 1e-14)) return diagonal_only(m, n, out), false;
    for (int i = 0; i < n; i++) { /* rows of L^-1, in place of L's */
        double d = 1 / l[i * n + i];
        for (int j = 0; j < i; j++) {
            double s = 0;
            for (int k = j; k < i; k++) s += l[i * n + k] * l[k * n + j];
            out[j] = -d * s;
        }
        memcpy(l + i * n, out, sizeof(double) * (size_t)i);
        l[i * n + i] = d;
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double s = 0;
            for (int k = i; k < n; k++) s += l[k * n + i] * l[k * n + j];
            out[i * n + j] = out[j * n + i] = s;
        }
    return true;
}
