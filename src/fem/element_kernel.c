/* SPDX-License-Identifier: Apache-2.0 */
/* Energy, force and tangent of eight elements side by side. Compiled once per instruction set; the lanes never mix, so
   all give the same bits. */
#undef STI_LANES
#define STI_LANES 8
#include "fem/inside.h"

#define CAT2(a, b) a##b
#define CAT(a, b) CAT2(a, b)
#define INLINE static inline __attribute__((always_inline))

typedef vreal aliased __attribute__((may_alias));
INLINE vreal at(const double *p) { return *(const aliased *)p; }
INLINE void put(double *p, vreal v) { *(aliased *)p = v; }

/* out[l], l < 8, stride apart: the eight numbers of lane l. */
#ifdef __AVX512F__
/* 8 x 8 turned in three rounds */
INLINE void put_turned(const vreal in[8], double *out, int stride) {
    vreal a[8], b[8];
    for (int i = 0; i < 8; i += 2) {
        a[i] = __builtin_shufflevector(in[i], in[i + 1], 0, 8, 2, 10, 4, 12, 6, 14);
        a[i + 1] = __builtin_shufflevector(in[i], in[i + 1], 1, 9, 3, 11, 5, 13, 7, 15);
    }
    for (int i = 0; i < 8; i += 4)
        for (int k = i; k < i + 2; k++) {
            b[k] = __builtin_shufflevector(a[k], a[k + 2], 0, 1, 8, 9, 4, 5, 12, 13);
            b[k + 2] = __builtin_shufflevector(a[k], a[k + 2], 2, 3, 10, 11, 6, 7, 14, 15);
        }
    for (int k = 0; k < 4; k++) {
        put(out + stride * k, __builtin_shufflevector(b[k], b[k + 4], 0, 1, 2, 3, 8, 9, 10, 11));
        put(out + stride * (k + 4), __builtin_shufflevector(b[k], b[k + 4], 4, 5, 6, 7, 12, 13, 14, 15));
    }
}
#else
INLINE void put_turned(const vreal in[8], double *out, int stride) {
    for (int l = 0; l < 8; l++)
        for (int n = 0; n < 8; n++) out[stride * l + n] = in[n][l];
}
#endif

/* F = sum over nodes 1 to 3 of (x_a - x_0) grad_a' */
INLINE void deformation(const sti__fem_batch *b, const double *x, vreal f[9]) {
    vreal d[4][3];
    for (int a = 0; a < 4; a++)
        for (int l = 0; l < 8; l++)
            for (int i = 0; i < 3; i++) d[a][i][l] = x[3 * b->node[a][l] + i];
    for (int i = 0; i < 3; i++) {
        vreal e1 = d[1][i] - d[0][i], e2 = d[2][i] - d[0][i], e3 = d[3][i] - d[0][i];
        for (int k = 0; k < 3; k++)
            f[3 * i + k] = e1 * at(b->grad[k]) + e2 * at(b->grad[3 + k]) + e3 * at(b->grad[6 + k]);
    }
}

/* Whether some lane of m is farther than tolerance from the reference. */
INLINE bool moved(const double *reference, const vreal m[9], double tolerance) {
    vreal most = v_set(0);
    for (int i = 0; i < 9; i++) most = v_max(most, v_abs(m[i] - at(reference + 8 * i)));
    return !v_all(v_le(most, v_set(tolerance)));
}

/* out = q' r, q of the frame that an element turns with */
INLINE void without_turn(const sti__fem_pass *pass, const sti__fem_batch *b, const vreal r[9], vreal out[9]) {
    vreal q[9];
    for (int l = 0; l < 8; l++)
        for (int i = 0; i < 9; i++) q[i][l] = pass->turn[9 * pass->node_turn[b->node[0][l]] + i];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) out[3 * i + j] = q[i] * r[j] + q[3 + i] * r[3 + j] + q[6 + i] * r[6 + j];
}

/* f_a = -volume P grad_a; node 0 takes what balances the others */
INLINE void put_force(const sti__fem_batch *b, const vreal p[9], double *out) {
    vreal f[4][3], w = -at(b->volume);
    for (int i = 0; i < 3; i++) {
        for (int a = 0; a < 3; a++)
            f[a + 1][i] = w * (p[3 * i] * at(b->grad[3 * a]) + p[3 * i + 1] * at(b->grad[3 * a + 1]) +
                               p[3 * i + 2] * at(b->grad[3 * a + 2]));
        f[0][i] = -(f[1][i] + f[2][i] + f[3][i]);
    }
    for (int l = 0; l < 8; l++)
        for (int a = 0; a < 4; a++)
            for (int i = 0; i < 3; i++) out[12 * l + 3 * a + i] = f[a][i][l];
}

/* k = u (block of H between the gradients x and y, in the frames of H) u' */
INLINE void hess_block(const sti__fem_hess *h, const vreal x[3], const vreal y[3], vreal k[9]) {
    static const int pair[3][3] = {{0, 0, 1}, {0, 0, 2}, {1, 2, 0}};
    vreal m[9], t[9];
    for (int p = 0; p < 3; p++) {
        int q = (p + 1) % 3, r = (p + 2) % 3;
        m[4 * p] = h->stretch[p] * x[p] * y[p] + h->same[pair[p][q]] * x[q] * y[q] +
                   h->same[pair[p][r]] * x[r] * y[r];
        m[3 * p + q] = h->stretch[3 + pair[p][q]] * x[p] * y[q] + h->cross[pair[p][q]] * x[q] * y[p];
        m[3 * p + r] = h->stretch[3 + pair[p][r]] * x[p] * y[r] + h->cross[pair[p][r]] * x[r] * y[p];
    }
    m3_mul(t, h->u, m);
    sti__mul_transposed(k, t, h->u);
}

INLINE void make_symmetric(vreal k[9]) { k[3] = k[1], k[6] = k[2], k[7] = k[5]; }

/* The ten blocks of the lower triangle, (a, b) at a (a + 1) / 2 + b. */
INLINE void put_blocks(const sti__fem_batch *b, const sti__fem_hess *h, double *out) {
    vreal all[STI__FEM_NUMBERS], (*k)[9] = (vreal(*)[9])all, g[3][3];
    for (int n = 90; n < STI__FEM_NUMBERS; n++) all[n] = v_set(0);
    for (int a = 0; a < 3; a++)
        for (int i = 0; i < 3; i++)
            g[a][i] = h->v[i] * at(b->grad[3 * a]) + h->v[3 + i] * at(b->grad[3 * a + 1]) +
                      h->v[6 + i] * at(b->grad[3 * a + 2]);
    vreal w = at(b->volume);
    for (int a = 1; a < 4; a++)
        for (int c = 1; c <= a; c++) {
            vreal *block = k[a * (a + 1) / 2 + c], x[3];
            v3_scale(x, g[a - 1], w);
            hess_block(h, x, g[c - 1], block);
            if (a == c) make_symmetric(block);
        }
    /* node 0: rows and columns sum to zero */
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
            int n = 3 * i + j, t = 3 * j + i;
            k[1][n] = -(k[2][n] + k[4][t] + k[7][t]);
            k[3][n] = -(k[4][n] + k[5][n] + k[8][t]);
            k[6][n] = -(k[7][n] + k[8][n] + k[9][n]);
        }
    for (int n = 0; n < 9; n++) k[0][n] = -(k[1][n] + k[3][n] + k[6][n]);
    make_symmetric(k[0]);
    for (int n = 0; n < STI__FEM_NUMBERS; n += 8) put_turned(all + n, out + n, STI__FEM_NUMBERS);
}

/* The linear law has no constant part here. */
INLINE void product(const sti__fem_pass *pass, int k, sti__fem_kind kind) {
    const sti__fem_batch *b = pass->batch + k;
    const double *rotation = pass->rotation + 72 * (size_t)k;
    vreal f[9], r[9], e[6], p[9], h = v_set(pass->h), w = h * h + h * at(pass->beta + 8 * (size_t)k);
    deformation(b, pass->x, f);
    for (int i = 0; i < 9; i++) r[i] = at(rotation + 8 * i);
    const vreal *frame = kind == STI__FEM_LINEAR ? NULL : r;
    sti__turned_strain(f, frame, e);
    sti__hooke_stress(w * at(b->mu), w * at(b->lambda), e, frame, p);
    put_force(b, p, pass->force + 96 * (size_t)k);
}

/* The rotation nearest to f by Newton's method, x := (x + x^-T) / 2 (Higham 1986), which takes a few rounds where f is neither
   crushed nor inverted; else by singular values. */
INLINE void rotation_of(const vreal f[9], vreal r[9]) {
    vreal x[9], c[9], half = v_set(0.5), change = v_set(1);
    bool good = v_all(v_le(v_set(0.05), sti__det3(f))) && v_all(v_le(sti__norm2(f), v_set(30)));
    for (int i = 0; i < 9; i++) x[i] = f[i];
    for (int k = 0; k < 12 && good && !v_all(v_le(change, v_set(1e-8))); k++) {
        sti__cofactor3(x, c);
        vreal inverse = half / v3_dot(x, c);
        change = v_set(0);
        for (int i = 0; i < 9; i++) {
            vreal next = half * x[i] + inverse * c[i];
            change = v_max(change, v_abs(next - x[i]));
            x[i] = next;
        }
    }
    good = good && v_all(v_le(change, v_set(1e-8))); /* its square is what is left */
    if (!good) sti__polar3(f, r);
    for (int i = 0; good && i < 9; i++) r[i] = x[i];
}

/* kind is a constant wherever this is used */
INLINE void batch(const sti__fem_pass *pass, int k, sti__fem_kind kind) {
    const sti__fem_batch *b = pass->batch + k;
    double *rotation = pass->rotation + 72 * (size_t)k, *reference = pass->reference + 72 * (size_t)k;
    vreal f[9], r[9], mu = at(b->mu), lambda = at(b->lambda);
    bool walled = (kind == STI__FEM_COROTATED || kind == STI__FEM_NEOHOOKEAN) && pass->what & STI__FEM_WALL;
    sti__fem_hess h;
    if ((kind == STI__FEM_LINEAR || kind == STI__FEM_LINEAR_COROTATED) && pass->what & STI__FEM_PRODUCT) {
        product(pass, k, kind);
        return;
    }
    deformation(b, pass->x, f);
    if (kind == STI__FEM_LINEAR_COROTATED) {
        if (pass->what & STI__FEM_FREEZE) {
            rotation_of(f, r);
            for (int i = 0; i < 9; i++) put(rotation + 8 * i, r[i]);
        } else
            for (int i = 0; i < 9; i++) r[i] = at(rotation + 8 * i);
    }
    const vreal *seen = kind == STI__FEM_LINEAR_COROTATED ? r : f;
    if (kind != STI__FEM_LINEAR && pass->what & STI__FEM_CHECK) {
        vreal rest[9];
        if (kind == STI__FEM_LINEAR_COROTATED && pass->turn) without_turn(pass, b, r, rest);
        pass->moved[k] =
            moved(reference, kind == STI__FEM_LINEAR_COROTATED && pass->turn ? rest : seen, pass->tolerance);
    }
    if (pass->what & STI__FEM_BLOCKS) {
        sti__material_hess(kind, mu, lambda, f, r, &h);
        if (walled) sti__hess_wall(mu, lambda, f, &h);
        if (kind == STI__FEM_COROTATED) sti__mul_transposed(r, h.u, h.v);
        if (kind != STI__FEM_LINEAR && kind != STI__FEM_LINEAR_COROTATED) sti__hess_project(&h);
        put_blocks(b, &h, pass->block + (size_t)(k - pass->first) * 8 * STI__FEM_NUMBERS);
        if (kind != STI__FEM_LINEAR)
            for (int i = 0; i < 9; i++) put(reference + 8 * i, seen[i]);
    } else if (kind == STI__FEM_COROTATED && pass->what & (STI__FEM_FORCE | STI__FEM_ENERGY))
        sti__polar3(f, r);
    if (pass->what & STI__FEM_ENERGY) {
        vreal energy = sti__material_energy(kind, mu, lambda, f, r);
        if (walled) energy = energy + sti__wall(mu, lambda, sti__det3(f)).energy;
        put(pass->energy + 8 * (size_t)k, at(b->volume) * energy);
    }
    if (pass->what & STI__FEM_FORCE) {
        vreal p[9], c[9];
        sti__material_stress(kind, mu, lambda, f, r, p);
        if (walled) {
            vreal slope = sti__wall(mu, lambda, sti__det3(f)).slope;
            sti__cofactor3(f, c);
            for (int i = 0; i < 9; i++) p[i] = p[i] + slope * c[i];
        }
        put_force(b, p, pass->force + 96 * (size_t)k);
    }
}

static __attribute__((noinline)) void linear(const sti__fem_pass *p, int k) { batch(p, k, STI__FEM_LINEAR); }
static __attribute__((noinline)) void frozen(const sti__fem_pass *p, int k) {
    batch(p, k, STI__FEM_LINEAR_COROTATED);
}
static __attribute__((noinline)) void corotated(const sti__fem_pass *p, int k) {
    batch(p, k, STI__FEM_COROTATED);
}
static __attribute__((noinline)) void neohookean(const sti__fem_pass *p, int k) {
    batch(p, k, STI__FEM_NEOHOOKEAN);
}
static __attribute__((noinline)) void stvk(const sti__fem_pass *p, int k) { batch(p, k, STI__FEM_STVK); }

sti__fem_kernel CAT(sti__fem_elements, STI_ISA);
void CAT(sti__fem_elements, STI_ISA)(const sti__fem_pass *pass, int begin, int end) {
    static void (*const kinds[STI__FEM_KINDS])(const sti__fem_pass *, int) = {linear, frozen, corotated,
                                                                              neohookean, stvk};
    for (int k = begin; k < end; k++) {
        sti__fem_kind kind = pass->batch[k].kind;
        bool follows = kind == STI__FEM_LINEAR_COROTATED && pass->what & STI__FEM_CRUSHED;
        kinds[follows ? STI__FEM_COROTATED : kind](pass, k);
    }
}
