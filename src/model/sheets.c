/* SPDX-License-Identifier: Apache-2.0 */
/* Elastic sheets: triangles that resist stretching, and folds between them that resist bending, over sites; corners of elastic strings,
   which resist bending. docs/soft_bodies.md. */
#include "math/rot.h"
#include "model/compile.h"
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846

static const sti__aid corner[] = {STI_A_site1, STI_A_site2, STI_A_site3, STI_A_site4};

/* The next element `id` of any <tendon> after e, which may be NULL. */
static const sti_element *next_of(const sti__compiler *c, sti__eid id, const sti_element *e) {
    const sti_element *section = e ? sti_element_parent(e) : sti__first(sti__root(c->spec), STI_E_tendon);
    e = e ? sti_element_next(e) : section ? sti_element_child(section) : NULL;
    for (; section; section = sti__next_same(section), e = section ? sti_element_child(section) : NULL)
        for (; e; e = sti_element_next(e))
            if (sti__eid_of(e) == id) return e;
    return NULL;
}

void sti__size_sheets(sti__compiler *c) {
    for (const sti_element *e = NULL; (e = next_of(c, STI_E_sti_sheet, e)) != NULL;)
        sti__add_to(c, e, STI_A_COUNT, &c->m->nsheet, 1, 116, "triangles of sheets");
    for (const sti_element *e = NULL; (e = next_of(c, STI_E_sti_fold, e)) != NULL;)
        sti__add_to(c, e, STI_A_COUNT, &c->m->nfold, 1, 80, "folds of sheets");
    for (const sti_element *e = NULL; (e = next_of(c, STI_E_sti_bend, e)) != NULL;)
        sti__add_to(c, e, STI_A_COUNT, &c->m->nbend, 1, 44, "corners of strings");
}

static void fill_corners(sti__compiler *c, const sti_element *e, int count, int *site) {
    for (int k = 0; k < count; k++) {
        site[k] = sti__reference(c, e, corner[k], STI_OBJ_SITE);
        for (int i = 0; i < k; i++)
            if (site[k] >= 0 && site[i] == site[k])
                sti__complain(c, e, corner[k], STI_VALUE, "is a corner already");
        if (site[k] < 0) site[k] = 0;
    }
}

static void fill(sti__compiler *c, const sti_element *e, int count, int *site, double matter[4]) {
    fill_corners(c, e, count, site);
    matter[0] = sti__real(e, STI_A_young, 0);
    matter[1] = sti__real(e, STI_A_poisson, 0);
    matter[2] = sti__real(e, STI_A_thickness, 0);
    matter[3] = sti__real(e, STI_A_damping, 0);
    if (!(matter[0] > 0)) sti__complain(c, e, STI_A_young, STI_PHYSICS, "must be positive");
    if (!(matter[1] >= 0 && matter[1] < 0.5))
        sti__complain(c, e, STI_A_poisson, STI_PHYSICS, "must be from 0 to below 0.5");
    if (!(matter[2] > 0)) sti__complain(c, e, STI_A_thickness, STI_PHYSICS, "must be positive");
    if (!(matter[3] >= 0)) sti__complain(c, e, STI_A_damping, STI_VALUE, "must not be negative");
}

static void fill_bend(sti__compiler *c, const sti_element *e, int *site, double matter[3]) {
    fill_corners(c, e, 3, site);
    matter[0] = sti__real(e, STI_A_young, 0);
    matter[1] = sti__real(e, STI_A_radius, 0);
    matter[2] = sti__real(e, STI_A_damping, 0);
    if (!(matter[0] > 0)) sti__complain(c, e, STI_A_young, STI_PHYSICS, "must be positive");
    if (!(matter[1] > 0)) sti__complain(c, e, STI_A_radius, STI_PHYSICS, "must be positive");
    if (!(matter[2] >= 0)) sti__complain(c, e, STI_A_damping, STI_VALUE, "must not be negative");
}

void sti__fill_sheets(sti__compiler *c) {
    sti_model *m = c->m;
    const sti_element *e = NULL;
    for (int i = 0; i < m->nsheet && (e = next_of(c, STI_E_sti_sheet, e)) != NULL; i++)
        fill(c, e, 3, m->sheet_siteid + 3 * i, m->sheet_matter + 4 * i);
    e = NULL;
    for (int i = 0; i < m->nfold && (e = next_of(c, STI_E_sti_fold, e)) != NULL; i++)
        fill(c, e, 4, m->fold_siteid + 4 * i, m->fold_matter + 4 * i);
    e = NULL;
    for (int i = 0; i < m->nbend && (e = next_of(c, STI_E_sti_bend, e)) != NULL; i++)
        fill_bend(c, e, m->bend_siteid + 3 * i, m->bend_matter + 3 * i);
}

/* With edges e_k opposite to corner k and area A, an edge's change of squared length d_k is 2 e_k'E e_k, E Green's strain. Solved for E, the
   energy A t (mu E:E + lambda/2 tr^2 E) is d'metric d / 2 (Delingette 2008). */
static bool sheet_rest(const double *const x[3], const double matter[4], double length2[3],
                       double metric[6]) {
    static const int row[6] = {0, 1, 2, 0, 0, 1}, col[6] = {0, 1, 2, 1, 2, 2};
    double e[3][3], cross[3], dot[3][3];
    for (int k = 0; k < 3; k++) v3_sub(e[k], x[(k + 2) % 3], x[(k + 1) % 3]);
    v3_cross(cross, e[0], e[1]);
    double twice = v3_norm(cross), four = twice * twice; /* 2 A, 4 A^2 */
    for (int k = 0; k < 9; k++) dot[k / 3][k % 3] = v3_dot(e[k / 3], e[k % 3]);
    for (int k = 0; k < 3; k++) length2[k] = dot[k][k];
    if (!(four > 1e-24 * length2[0] * length2[1])) return false;
    double mu = matter[0] / (2 * (1 + matter[1])),
           lambda = matter[0] * matter[1] / (1 - matter[1] * matter[1]);
    /* E = -sum over k of d_k / (8 A^2) sym(e*_i e*_j), e* turned by a right angle; its products and traces need dots of edges alone */
    double scale = matter[2] * twice / (8 * four * four);
    for (int k = 0; k < 6; k++) {
        int a = row[k], i = (a + 1) % 3, j = (a + 2) % 3, b = col[k], p = (b + 1) % 3, q = (b + 2) % 3;
        double both = 0.5 * (dot[i][p] * dot[j][q] + dot[i][q] * dot[j][p]), trace = dot[i][j] * dot[p][q];
        metric[k] = scale * (2 * mu * both + lambda * trace);
    }
    return true;
}

static double cotangent(const double *at, const double *a, const double *b) {
    double u[3], v[3], cross[3];
    v3_sub(u, a, at);
    v3_sub(v, b, at);
    v3_cross(cross, u, v);
    return v3_dot(u, v) / v3_norm(cross);
}

/* Quadratic bending (Bergou et al. 2006) of the rigidity D = E t^3 / 12 (1 - nu^2). */
static bool fold_rest(const double *const x[4], const double matter[4], double weight[4]) {
    double e[3], f[3], g[3], area = 0;
    v3_sub(e, x[1], x[0]);
    for (int k = 2; k < 4; k++) {
        v3_sub(f, x[k], x[0]);
        v3_cross(g, e, f);
        area += 0.5 * v3_norm(g);
    }
    double rigidity = matter[0] * matter[2] * matter[2] * matter[2] / (12 * (1 - matter[1] * matter[1]));
    double c03 = cotangent(x[0], x[1], x[2]), c04 = cotangent(x[0], x[1], x[3]),
           c01 = cotangent(x[1], x[0], x[2]), c02 = cotangent(x[1], x[0], x[3]), root = sqrt(rigidity / area);
    weight[0] = root * (c01 + c02);
    weight[1] = root * (c03 + c04);
    weight[2] = -root * (c01 + c03);
    weight[3] = -root * (c02 + c04);
    return isfinite(weight[0]) && isfinite(weight[1]) && isfinite(weight[2]) && isfinite(weight[3]);
}

/* A rod of the rigidity E I that bends by the angle a over half of each edge has the energy E I a^2 / (l0 + l1); a is the length of the curvature
   binormal 2 t0 x t1 / (1 + t0't1), t the directions of the edges (Bergou et al. 2008). */
static bool bend_rest(const double *const x[3], const double matter[3], double *stiffness) {
    double e[3], f[3], r2 = matter[1] * matter[1];
    v3_sub(e, x[1], x[0]);
    v3_sub(f, x[2], x[1]);
    double a = v3_norm(e), b = v3_norm(f), moment = 0.25 * PI * r2 * r2;
    *stiffness = 2 * matter[0] * moment / (a + b);
    return a > 0 && b > 0 && isfinite(*stiffness);
}

int sti__sheets_rest(sti_model *m, const double *site) {
    const double *x[4];
    for (int i = 0; i < m->nsheet; i++) {
        for (int k = 0; k < 3; k++) x[k] = site + 3 * (size_t)m->sheet_siteid[3 * i + k];
        if (!sheet_rest(x, m->sheet_matter + 4 * i, m->sheet_length2 + 3 * i, m->sheet_metric + 6 * i))
            return i;
    }
    for (int i = 0; i < m->nfold; i++) {
        for (int k = 0; k < 4; k++) x[k] = site + 3 * (size_t)m->fold_siteid[4 * i + k];
        if (!fold_rest(x, m->fold_matter + 4 * i, m->fold_weight + 4 * i)) return m->nsheet + i;
    }
    for (int i = 0; i < m->nbend; i++) {
        for (int k = 0; k < 3; k++) x[k] = site + 3 * (size_t)m->bend_siteid[3 * i + k];
        if (!bend_rest(x, m->bend_matter + 3 * i, m->bend_stiffness + i)) return m->nsheet + m->nfold + i;
    }
    return -1;
}
