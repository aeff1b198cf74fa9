/* SPDX-License-Identifier: Apache-2.0 */
/* FCLIB's layout of frictional-contact problems, in three dimensions, normal first:
     fclib_local   u = W r + V l + q,          0 = V' r + R l + s      (V, R, s may be missing)
     fclib_global  M v = H r + G l + f,  u = H' v + w,  0 = G' v + b   (G, b may be missing)
   An M that is not symmetric is taken as it is, and reduced to W and q. Contacts without friction lose
   their tangential rows, bilateral rows become quadratic rows with R = 0. */
#include "linear/factor/cholesky.h"
#include "linear/product.h"
#include "record/problem_file.h"
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* What still counts as a symmetric M, relative to its diagonal; dofs that are reduced densely otherwise. */
#define SYMMETRY 1e-9
enum { DENSE = 2000 };

/* ---- matrices ----------------------------------------------------------------------------------------- */

/* Entries in any order; equal places add up. */
typedef struct triplets {
    int nrow, ncol;
    int64_t count;
    int *i, *j;
    double *x;
} triplets;

/* The outer index of each entry of a compressed matrix. */
static int *expand(sti__hdf *h, const char *name, const int *start, int outer, int64_t count) {
    int *index = sti__hdf_room(h, (size_t)count, sizeof(int));
    for (int i = 0; index && i < outer; i++) {
        if (start[i] < 0 || start[i + 1] < start[i] || start[i + 1] > count) {
            sti__hdf_fail(h, STI_FORMAT, "%s/p falls, or passes its %lld entries, at %d", name,
                          (long long)count, i);
            return NULL;
        }
        for (int k = start[i]; k < start[i + 1]; k++) index[k] = i;
    }
    return index;
}

static void check_range(sti__hdf *h, const char *name, const int *index, int64_t count, int limit) {
    for (int64_t k = 0; h->status == STI_OK && k < count; k++)
        if (index[k] < 0 || index[k] >= limit)
            sti__hdf_fail(h, STI_FORMAT, "%s: index %d of entry %lld is out of range", name, index[k],
                          (long long)k);
}

/* nz >= 0: that many triplets, i rows and p columns; -1: compressed columns; -2: compressed rows. */
static triplets read_matrix(sti__hdf *h, const char *name) {
    char path[64];
    triplets t = {0};
    int64_t np = 0, ni = 0;
    snprintf(path, sizeof path, "%s/m", name);
    t.nrow = sti__hdf_int(h, path, 0, INT_MAX / 4);
    snprintf(path, sizeof path, "%s/n", name);
    t.ncol = sti__hdf_int(h, path, 0, INT_MAX / 4);
    snprintf(path, sizeof path, "%s/nz", name);
    int nz = sti__hdf_int(h, path, -2, INT_MAX - 1), outer = nz == -1 ? t.ncol : t.nrow;
    snprintf(path, sizeof path, "%s/p", name);
    int *p = sti__hdf_ints(h, path, nz < 0 ? (int64_t)outer + 1 : -1, &np);
    snprintf(path, sizeof path, "%s/i", name);
    int *i = sti__hdf_ints(h, path, -1, &ni);
    if (h->status != STI_OK) return t;
    t.count = nz < 0 ? p[outer] : nz;
    if (t.count < 0 || t.count > ni || (nz >= 0 && t.count > np))
        sti__hdf_fail(h, STI_FORMAT, "%s says it has %lld entries and has %lld", name, (long long)t.count,
                      (long long)ni);
    snprintf(path, sizeof path, "%s/x", name);
    int64_t nx = 0;
    t.x = sti__hdf_reals(h, path, -1, &nx);
    if (h->status == STI_OK && nx < t.count)
        sti__hdf_fail(h, STI_FORMAT, "%s has %lld values, must have %lld", path, (long long)nx,
                      (long long)t.count);
    if (h->status != STI_OK) return t;
    t.i = nz == -2 ? expand(h, name, p, outer, t.count) : i;
    t.j = nz == -1 ? expand(h, name, p, outer, t.count) : nz == -2 ? i : p;
    check_range(h, name, t.i, t.count, t.nrow);
    check_range(h, name, t.j, t.count, t.ncol);
    return t;
}

static triplets transpose(triplets t) { return (triplets){t.ncol, t.nrow, t.count, t.j, t.i, t.x}; }

/* Stable counting sort of `order` by key. */
static void sort_by(const int *key, int nkey, const int *order, int64_t count, int *start, int *sorted) {
    memset(start, 0, sizeof(int) * ((size_t)nkey + 1));
    for (int64_t k = 0; k < count; k++) start[key[k] + 1]++;
    for (int i = 0; i < nkey; i++) start[i + 1] += start[i];
    for (int64_t k = 0; k < count; k++) {
        int e = order ? order[k] : (int)k;
        sorted[start[key[e]]++] = e;
    }
}

/* Compressed rows with ascending columns, duplicates added in their order. */
static sti_csr compress(sti__hdf *h, triplets t) {
    size_t count = (size_t)t.count, most = (size_t)(t.nrow > t.ncol ? t.nrow : t.ncol) + 2;
    int *a = sti__hdf_room(h, count, sizeof(int)), *b = sti__hdf_room(h, count, sizeof(int)),
        *work = sti__hdf_room(h, most, sizeof(int));
    int *start = sti__hdf_room(h, (size_t)t.nrow + 1, sizeof(int)),
        *col = sti__hdf_room(h, count, sizeof(int));
    double *value = sti__hdf_room(h, count, sizeof(double));
    sti_csr m = {t.nrow, t.ncol, start, col, value};
    if (h->status != STI_OK) return m;
    sort_by(t.j, t.ncol, NULL, t.count, work, a);
    sort_by(t.i, t.nrow, a, t.count, work, b);
    int at = 0, row = 0;
    for (int64_t k = 0; k < t.count; k++) {
        int e = b[k];
        while (row < t.i[e]) start[++row] = at;
        if (at > start[row] && col[at - 1] == t.j[e]) value[at - 1] += t.x[e];
        else {
            col[at] = t.j[e];
            value[at++] = t.x[e];
        }
    }
    while (row < t.nrow) start[++row] = at;
    return m;
}

/* One matrix of all entries of `list`, each shifted to its place; places that `keep` maps to -1 are dropped
   (keep_row, keep_col: NULL keeps all). */
typedef struct piece {
    triplets t;
    int i, j;
} piece;
static triplets gather(sti__hdf *h, const piece *list, int count, int nrow, int ncol, const int *keep_row,
                       const int *keep_col) {
    triplets all = {nrow, ncol, 0, NULL, NULL, NULL};
    int64_t total = 0;
    for (int p = 0; p < count; p++) total += list[p].t.count;
    if (total > INT_MAX - 1) sti__hdf_fail(h, STI_LIMIT, "has matrices of more than 2^31 entries");
    all.i = sti__hdf_room(h, (size_t)total, sizeof(int));
    all.j = sti__hdf_room(h, (size_t)total, sizeof(int));
    all.x = sti__hdf_room(h, (size_t)total, sizeof(double));
    for (int p = 0; h->status == STI_OK && p < count; p++)
        for (int64_t k = 0; k < list[p].t.count; k++) {
            int i = list[p].t.i[k] + list[p].i, j = list[p].t.j[k] + list[p].j;
            if (keep_row) i = keep_row[i];
            if (keep_col) j = keep_col[j];
            if (i < 0 || j < 0) continue;
            all.i[all.count] = i;
            all.j[all.count] = j;
            all.x[all.count++] = list[p].t.x[k];
        }
    return all;
}

/* ---- rows -------------------------------------------------------------------------------------------- */

/* Makes row blocks of `contacts` cones and `bilateral` quadratic rows; returns the map of the file's rows to
   ours. */
static int *make_rows(sti__hdf *h, sti_problem_arrays *a, const double *mu, int contacts, int bilateral,
                      int *m) {
    size_t total = (size_t)3 * (size_t)contacts + (size_t)bilateral;
    int *keep = sti__hdf_room(h, total, sizeof(int));
    sti_row *rows = sti__hdf_room(h, (size_t)contacts + (size_t)bilateral, sizeof *rows);
    *m = 0;
    if (h->status != STI_OK) return NULL;
    for (int c = 0; c < contacts; c++) {
        rows[c] = (sti_row){.kind = STI_ROW_CONE, .dim = mu[c] == 0 ? 1 : 3, .mu = {mu[c], mu[c]}};
        for (int i = 0; i < 3; i++) keep[3 * c + i] = i < rows[c].dim ? (*m)++ : -1;
    }
    for (int i = 0; i < bilateral; i++) {
        rows[contacts + i] = (sti_row){.kind = STI_ROW_QUADRATIC, .dim = 1};
        keep[3 * contacts + i] = (*m)++;
    }
    a->rows = rows;
    a->nrow = contacts + bilateral;
    return keep;
}

/* first (and second) joined, without dropped rows, times sign. */
static double *make_vector(sti__hdf *h, const double *first, int nfirst, const double *second, int nsecond,
                           const int *keep, int m, double sign) {
    double *x = sti__hdf_room(h, (size_t)m, sizeof(double));
    if (h->status != STI_OK) return NULL;
    for (int i = 0; i < nfirst + nsecond; i++)
        if (keep[i] >= 0) x[keep[i]] = sign * (i < nfirst ? first[i] : second[i - nfirst]);
    return x;
}

static int read_contacts(sti__hdf *h, const char *root, int rows, const double **mu) {
    char path[64];
    snprintf(path, sizeof path, "%s/spacedim", root);
    int dim = sti__hdf_int(h, path, 2, 3);
    if (h->status == STI_OK && dim != 3)
        sti__hdf_fail(h, STI_UNSUPPORTED, "is a problem in two dimensions; only three are supported");
    if (h->status == STI_OK && rows % 3 != 0)
        sti__hdf_fail(h, STI_FORMAT, "has %d rows, not three per contact", rows);
    snprintf(path, sizeof path, "%s/vectors/mu", root);
    *mu = sti__hdf_reals(h, path, rows / 3, NULL);
    return rows / 3;
}

static void must_be(sti__hdf *h, const char *name, const triplets *t, int nrow, int ncol) {
    if (h->status == STI_OK && (t->nrow != nrow || t->ncol != ncol))
        sti__hdf_fail(h, STI_FORMAT, "%s is %d x %d, must be %d x %d", name, t->nrow, t->ncol, nrow, ncol);
}

void sti__fclib_read_local(sti__hdf *h, sti_problem_arrays *a) {
    const double *mu, *s = NULL;
    triplets W = read_matrix(h, "fclib_local/W"), V = {0}, R = {0};
    int contacts = read_contacts(h, "fclib_local", W.nrow, &mu), bilateral = 0, m = 0, n = W.nrow;
    must_be(h, "fclib_local/W", &W, n, n);
    const double *q = sti__hdf_reals(h, "fclib_local/vectors/q", n, NULL);
    if (sti__hdf_has(h, "fclib_local/V")) {
        V = read_matrix(h, "fclib_local/V");
        R = read_matrix(h, "fclib_local/R");
        bilateral = V.ncol;
        must_be(h, "fclib_local/V", &V, n, bilateral);
        must_be(h, "fclib_local/R", &R, bilateral, bilateral);
        s = sti__hdf_reals(h, "fclib_local/vectors/s", bilateral, NULL);
    }
    int *keep = h->status == STI_OK ? make_rows(h, a, mu, contacts, bilateral, &m) : NULL;
    if (!keep) return;
    piece list[] = {{W, 0, 0}, {V, 0, n}, {transpose(V), n, 0}, {R, n, n}};
    a->W = compress(h, gather(h, list, 4, m, m, keep, keep));
    a->q = make_vector(h, q, n, s, bilateral, keep, m, 1);
}

/* v* = M^-1 f */
static double *free_velocity(sti__hdf *h, const sti_csr *M, const double *f) {
    double *v = sti__hdf_room(h, (size_t)M->nrow, sizeof(double));
    int bad = -1;
    sti__chol *chol = v ? sti__chol_create(&h->allocator, NULL) : NULL;
    if (v) memcpy(v, f, sizeof(double) * (size_t)M->nrow);
    if (v && (!chol || sti__chol_analyse(chol, M, NULL) != STI_OK))
        sti__hdf_fail(h, STI_NO_MEMORY, "not enough memory to factor M");
    else if (v && sti__chol_factor(chol, M->value, NULL, &bad) != STI_OK)
        sti__hdf_fail(h, STI_VALUE, "fclib_global/M is not positive definite (at dof %d)", bad);
    else if (v) sti__chol_solve(chol, v, NULL);
    sti__chol_free(chol);
    return v;
}

/* (M + M') / 2, its pattern symmetric; *off gets the largest |M - M'| relative to the diagonal. */
static sti_csr symmetrise(sti__hdf *h, triplets M, double *off) {
    int n = M.nrow;
    triplets negative = transpose(M), half = M;
    negative.x = sti__hdf_room(h, (size_t)M.count, sizeof(double));
    half.x = sti__hdf_room(h, (size_t)M.count, sizeof(double));
    double *scale = sti__hdf_room(h, (size_t)n, sizeof(double));
    for (int64_t k = 0; h->status == STI_OK && k < M.count; k++) {
        negative.x[k] = -M.x[k];
        half.x[k] = M.x[k] / 2;
        if (M.i[k] == M.j[k]) scale[M.i[k]] += fabs(M.x[k]);
    }
    piece difference[] = {{M, 0, 0}, {negative, 0, 0}}, sum[] = {{half, 0, 0}, {transpose(half), 0, 0}};
    sti_csr d = compress(h, gather(h, difference, 2, n, n, NULL, NULL)),
            a = compress(h, gather(h, sum, 2, n, n, NULL, NULL));
    *off = 0;
    for (int i = 0; h->status == STI_OK && i < n; i++)
        for (int k = d.start[i]; k < d.start[i + 1]; k++)
            *off = fmax(*off, d.value[k] == 0 ? 0 : fabs(d.value[k]) / sqrt(scale[i] * scale[d.col[k]]));
    return a;
}

static void swap_rows(double *x, size_t i, size_t j, size_t width) {
    for (size_t k = 0; k < width; k++) {
        double t = x[i * width + k];
        x[i * width + k] = x[j * width + k];
        x[j * width + k] = t;
    }
}

/* X := M^-1 X for a dense M (n x n, destroyed) and `count` columns of X (n x count), with partial pivoting. */
static bool solve_dense(int n, double *M, int count, double *X) {
    size_t w = (size_t)n, c = (size_t)count;
    for (size_t j = 0; j < w; j++) {
        size_t best = j;
        for (size_t i = j + 1; i < w; i++)
            if (fabs(M[i * w + j]) > fabs(M[best * w + j])) best = i;
        if (M[best * w + j] == 0) return false;
        if (best != j) swap_rows(M, j, best, w);
        if (best != j) swap_rows(X, j, best, c);
        for (size_t i = j + 1; i < w; i++) {
            double f = M[i * w + j] / M[j * w + j];
            for (size_t k = j + 1; k < w && f != 0; k++) M[i * w + k] -= f * M[j * w + k];
            for (size_t k = 0; k < c && f != 0; k++) X[i * c + k] -= f * X[j * c + k];
        }
    }
    for (size_t j = w; j-- > 0;)
        for (size_t k = 0; k < c; k++) {
            double sum = X[j * c + k];
            for (size_t i = j + 1; i < w; i++) sum -= M[j * w + i] * X[i * c + k];
            X[j * c + k] = sum / M[j * w + j];
        }
    return true;
}

/* An unsymmetric M has no (A, J) form: W = J M^-1 J', q = J M^-1 f - vhat. */
static void reduce(sti__hdf *h, sti_problem_arrays *a, triplets M, const double *f) {
    int n = M.nrow, m = a->J.nrow;
    if (n > DENSE || m > DENSE) {
        sti__hdf_fail(h, STI_UNSUPPORTED,
                      "fclib_global/M is not symmetric, and %d dofs are too many for that (%d)", n, DENSE);
        return;
    }
    size_t c = (size_t)m + 1, n2 = (size_t)n * (size_t)n, m2 = (size_t)m * (size_t)m;
    double *dense = sti__hdf_room(h, n2, sizeof(double)),
           *X = sti__hdf_room(h, (size_t)n * c, sizeof(double));
    double *q = sti__hdf_room(h, (size_t)m, sizeof(double)), *value = sti__hdf_room(h, m2, sizeof(double));
    int *start = sti__hdf_room(h, c, sizeof(int)), *col = sti__hdf_room(h, m2, sizeof(int));
    if (h->status != STI_OK) return;
    for (int64_t k = 0; k < M.count; k++) dense[(size_t)M.i[k] * (size_t)n + (size_t)M.j[k]] += M.x[k];
    for (int i = 0; i < n; i++) X[(size_t)i * c + (size_t)m] = f[i];
    for (int i = 0; i < m; i++)
        for (int k = a->J.start[i]; k < a->J.start[i + 1]; k++)
            X[(size_t)a->J.col[k] * c + (size_t)i] = a->J.value[k];
    if (!solve_dense(n, dense, m + 1, X)) sti__hdf_fail(h, STI_VALUE, "fclib_global/M is singular");
    for (int i = 0; i < m; i++) {
        q[i] = -a->vhat[i];
        start[i + 1] = start[i] + m;
        for (int j = 0; j < m; j++) col[start[i] + j] = j;
        for (int k = a->J.start[i]; k < a->J.start[i + 1]; k++) {
            const double *x = X + (size_t)a->J.col[k] * c;
            for (int j = 0; j < m; j++) value[start[i] + j] += a->J.value[k] * x[j];
            q[i] += a->J.value[k] * x[m];
        }
    }
    a->n = 0;
    a->W = (sti_csr){m, m, start, col, value};
    a->q = q;
    a->vhat = NULL;
    a->A = a->J = (sti_csr){0};
}

void sti__fclib_read_global(sti__hdf *h, sti_problem_arrays *a) {
    const double *mu, *b = NULL;
    triplets M = read_matrix(h, "fclib_global/M"), H = read_matrix(h, "fclib_global/H"), G = {0};
    int n = M.nrow, contacts = read_contacts(h, "fclib_global", H.ncol, &mu), bilateral = 0, m = 0;
    double off = 0;
    must_be(h, "fclib_global/M", &M, n, n);
    must_be(h, "fclib_global/H", &H, n, H.ncol);
    const double *f = sti__hdf_reals(h, "fclib_global/vectors/f", n, NULL);
    const double *w = sti__hdf_reals(h, "fclib_global/vectors/w", H.ncol, NULL);
    if (sti__hdf_has(h, "fclib_global/G")) {
        G = read_matrix(h, "fclib_global/G");
        bilateral = G.ncol;
        must_be(h, "fclib_global/G", &G, n, bilateral);
        b = sti__hdf_reals(h, "fclib_global/vectors/b", bilateral, NULL);
    }
    if (h->status == STI_OK && n == 0) sti__hdf_fail(h, STI_FORMAT, "has no dofs");
    int *keep = h->status == STI_OK ? make_rows(h, a, mu, contacts, bilateral, &m) : NULL;
    if (!keep) return;
    piece list[] = {{transpose(H), 0, 0}, {transpose(G), 3 * contacts, 0}};
    a->n = n;
    a->A = symmetrise(h, M, &off);
    a->J = compress(h, gather(h, list, 2, m, n, keep, NULL));
    a->vhat = make_vector(h, w, H.ncol, b, bilateral, keep, m, -1);
    if (h->status != STI_OK) return;
    if (off > SYMMETRY) reduce(h, a, M, f);
    else a->vstar = free_velocity(h, &a->A, f);
}

/* ---- writing ----------------------------------------------------------------------------------------- */

/* p and i as FCLIB calls them; outer is the compressed dimension: rows (nz = -2) or columns (-1). */
static void put_matrix(sti__hdf *h, const char *name, int nrow, int ncol, int nz, const int *p, const int *i,
                       const double *x) {
    char path[64];
    int outer = nz == -2 ? nrow : ncol, count = p[outer];
    const struct {
        const char *name;
        int value;
    } scalar[] = {{"m", nrow}, {"n", ncol}, {"nz", nz}, {"nzmax", count}};
    sti__hdf_group(h, name);
    for (int k = 0; k < STI__COUNT(scalar); k++) {
        snprintf(path, sizeof path, "%s/%s", name, scalar[k].name);
        sti__hdf_put_ints(h, path, &scalar[k].value, 1);
    }
    snprintf(path, sizeof path, "%s/p", name);
    sti__hdf_put_ints(h, path, p, (size_t)outer + 1);
    snprintf(path, sizeof path, "%s/i", name);
    sti__hdf_put_ints(h, path, i, (size_t)count);
    snprintf(path, sizeof path, "%s/x", name);
    sti__hdf_put_reals(h, path, x, (size_t)count, 1);
}

/* FCLIB has three rows per contact: where ours go, and row starts with empty rows for contacts without
   friction. */
typedef struct padded {
    int m;
    int *place; /* of our scalar rows */
    int *start; /* m + 1 */
    double *mu, *x;
} padded;

static padded pad(sti__hdf *h, const sti_problem *p, const sti_csr *a, const double *vector, double sign) {
    int contacts = p->arrays.nrow;
    padded d = {.m = 3 * contacts};
    d.place = sti__hdf_room(h, (size_t)p->m, sizeof(int));
    d.start = sti__hdf_room(h, (size_t)d.m + 1, sizeof(int));
    d.mu = sti__hdf_room(h, (size_t)contacts, sizeof(double));
    d.x = sti__hdf_room(h, (size_t)d.m, sizeof(double));
    if (h->status != STI_OK) return d;
    for (int c = 0; c < contacts; c++) {
        d.mu[c] = p->arrays.rows[c].dim == 1 ? 0 : p->arrays.rows[c].mu[0];
        for (int i = 0; i < 3; i++) {
            int at = p->first[c] + i, to = 3 * c + i;
            bool ours = at < p->first[c + 1];
            if (ours) d.place[at] = to;
            if (ours) d.x[to] = sign * vector[at];
            d.start[to + 1] = a->start[ours ? at + 1 : p->first[c + 1]];
        }
    }
    return d;
}

static sti_status check_cones(const sti_problem *p, sti_error *error) {
    for (int r = 0; r < p->arrays.nrow; r++) {
        const sti_row *row = &p->arrays.rows[r];
        bool plain =
            row->kind == STI_ROW_CONE && (row->dim == 1 || (row->dim == 3 && row->mu[0] == row->mu[1]));
        if (!plain)
            return sti__fail(error, STI_UNSUPPORTED,
                             "row %d: FCLIB holds only cones of dim 1 or 3 with one coefficient", r);
        for (int i = p->first[r]; i < p->first[r + 1]; i++)
            if (p->arrays.R[i] != 0)
                return sti__fail(error, STI_UNSUPPORTED,
                                 "row %d: FCLIB holds only hard contact, and R[%d] is %g", r, i,
                                 p->arrays.R[i]);
    }
    return p->arrays.nrow ? STI_OK
                          : sti__fail(error, STI_UNSUPPORTED, "FCLIB holds no problem without contacts");
}

static void put_local(sti__hdf *h, const sti_problem *p) {
    const sti_csr *W = &p->arrays.W;
    padded d = pad(h, p, W, p->arrays.q, 1);
    int *col = sti__hdf_room(h, (size_t)W->start[W->nrow], sizeof(int));
    if (h->status != STI_OK) return;
    for (int k = 0; k < W->start[W->nrow]; k++) col[k] = d.place[W->col[k]];
    put_matrix(h, "fclib_local/W", d.m, d.m, -2, d.start, col, W->value);
    sti__hdf_group(h, "fclib_local/vectors");
    sti__hdf_put_reals(h, "fclib_local/vectors/mu", d.mu, (size_t)p->arrays.nrow, 1);
    sti__hdf_put_reals(h, "fclib_local/vectors/q", d.x, (size_t)d.m, 1);
}

/* A and J by rows are M (symmetric) and H by columns. */
static void put_global(sti__hdf *h, const sti_problem *p) {
    const sti_problem_arrays *a = &p->arrays;
    padded d = pad(h, p, &a->J, a->vhat, -1);
    double *f = sti__hdf_room(h, (size_t)a->n, sizeof(double));
    if (h->status != STI_OK) return;
    sti__csr_mul(&a->A, a->vstar, f, NULL);
    put_matrix(h, "fclib_global/M", a->n, a->n, -1, a->A.start, a->A.col, a->A.value);
    put_matrix(h, "fclib_global/H", a->n, d.m, -1, d.start, a->J.col, a->J.value);
    sti__hdf_group(h, "fclib_global/vectors");
    sti__hdf_put_reals(h, "fclib_global/vectors/f", f, (size_t)a->n, 1);
    sti__hdf_put_reals(h, "fclib_global/vectors/w", d.x, (size_t)d.m, 1);
    sti__hdf_put_reals(h, "fclib_global/vectors/mu", d.mu, (size_t)a->nrow, 1);
}

sti_status sti_problem_export_fclib(const sti_problem *p, const char *path, sti_error *error) {
    sti__hdf h;
    int dim = 3;
    const char *root = p->delassus ? "fclib_local" : "fclib_global";
    char name[64];
    sti_status status = check_cones(p, error);
    if (status != STI_OK) return status;
    if (sti__hdf_open(&h, path, true, p->allocator, error)) {
        sti__hdf_group(&h, root);
        snprintf(name, sizeof name, "%s/spacedim", root);
        sti__hdf_put_ints(&h, name, &dim, 1);
        if (p->delassus) put_local(&h, p);
        else put_global(&h, p);
        snprintf(name, sizeof name, "%s/info", root);
        sti__hdf_group(&h, name);
        snprintf(name, sizeof name, "%s/info/title", root);
        sti__hdf_put_text(&h, name, "written by Stiction");
    }
    return sti__hdf_close(&h);
}
