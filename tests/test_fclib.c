/* SPDX-License-Identifier: Apache-2.0 */
/* FCLIB's files by hand: bilateral rows, mass matrices that are not symmetric, and files that contradict themselves. */
#include "fclib_make.h"
#include "problem_make.h"
#include <unistd.h>

static const char path[] = "fclib_hand.h5";

typedef struct matrix {
    int nrow, ncol, count, row[8], col[8];
    double value[8];
    int values; /* how many are written; 0: count */
} matrix;

typedef struct global {
    matrix M, H, G;
    int nf, nw, nb, nmu;
    double f[4], w[3], b[1], mu[1];
} global;

/* One contact on three dofs and a dof of its own that a bilateral row ties to the first. */
static const global sound = {.M = {4, 4, 4, {0, 1, 2, 3}, {0, 1, 2, 3}, {2, 2, 2, 5}},
                             .H = {4, 3, 3, {0, 1, 2}, {0, 1, 2}, {1, 1, 1}},
                             .G = {4, 1, 2, {0, 3}, {0, 0}, {1, -1}},
                             .nf = 4,
                             .nw = 3,
                             .nb = 1,
                             .nmu = 1,
                             .f = {-2, 1, 0, 10},
                             .w = {0.5},
                             .b = {0.25},
                             .mu = {0.7}};

static void put(sti__hdf *h, const char *name, const matrix *m) {
    char x[64];
    put_fclib(h, name, m->nrow, m->ncol, m->count, m->col, m->count, m->row, m->value, m->count);
    if (m->values == 0) return;
    snprintf(x, sizeof x, "%s/x", name);
    H5Ldelete(h->file, x, H5P_DEFAULT);
    sti__hdf_put_reals(h, x, m->value, (size_t)m->values, 1);
}

static sti_problem *load_global(const global *g, sti_error *error) {
    sti__hdf h;
    int dim = 3;
    REQUIRE(sti__hdf_open(&h, path, true, NULL, NULL));
    sti__hdf_group(&h, "fclib_global");
    sti__hdf_group(&h, "fclib_global/vectors");
    sti__hdf_put_ints(&h, "fclib_global/spacedim", &dim, 1);
    put(&h, "fclib_global/M", &g->M);
    put(&h, "fclib_global/H", &g->H);
    if (g->G.nrow) put(&h, "fclib_global/G", &g->G);
    sti__hdf_put_reals(&h, "fclib_global/vectors/f", g->f, (size_t)g->nf, 1);
    sti__hdf_put_reals(&h, "fclib_global/vectors/w", g->w, (size_t)g->nw, 1);
    sti__hdf_put_reals(&h, "fclib_global/vectors/b", g->b, (size_t)g->nb, 1);
    sti__hdf_put_reals(&h, "fclib_global/vectors/mu", g->mu, (size_t)g->nmu, 1);
    REQUIRE(sti__hdf_close(&h) == STI_OK);
    memset(error, 0, sizeof *error);
    sti_problem *p = sti_problem_load(path, NULL, error);
    unlink(path);
    return p;
}

/* u = W r + V l + q, 0 = V' r + R l + s: one matrix of both. */
TEST(bilateral_rows_of_a_local_problem) {
    sti__hdf h;
    sti_error error = {0};
    int dim = 3;
    const matrix W = {3, 3, 3, {0, 1, 2}, {0, 1, 2}, {4, 5, 6}}, V = {3, 1, 2, {0, 2}, {0, 0}, {0.5, -1}},
                 R = {1, 1, 1, {0}, {0}, {7}};
    for (int wrong = 0; wrong < 4; wrong++) {
        matrix v = V, r = R;
        if (wrong == 1) v.nrow = 4;
        if (wrong == 2) r.ncol = 2;
        REQUIRE(sti__hdf_open(&h, path, true, NULL, NULL));
        sti__hdf_group(&h, "fclib_local");
        sti__hdf_group(&h, "fclib_local/vectors");
        sti__hdf_put_ints(&h, "fclib_local/spacedim", &dim, 1);
        put(&h, "fclib_local/W", &W);
        put(&h, "fclib_local/V", &v);
        if (wrong != 3) put(&h, "fclib_local/R", &r);
        sti__hdf_put_reals(&h, "fclib_local/vectors/q", (double[]){-1, 2, 3}, 3, 1);
        sti__hdf_put_reals(&h, "fclib_local/vectors/s", (double[]){0.125}, 1, 1);
        sti__hdf_put_reals(&h, "fclib_local/vectors/mu", (double[]){0.3}, 1, 1);
        REQUIRE(sti__hdf_close(&h) == STI_OK);
        sti_problem *p = sti_problem_load(path, NULL, &error);
        CHECK((p != NULL) == (wrong == 0) && (p || (error.code == STI_FORMAT && error.message[0])));
        if (p) {
            const sti_problem_arrays *a = sti_problem_view(p);
            CHECK(a->nrow == 2 && p->m == 4 && a->rows[1].kind == STI_ROW_QUADRATIC && a->q[3] == 0.125);
            CHECK(a->W.start[4] == 8 && a->W.col[1] == 3 && a->W.value[1] == 0.5);    /* row 0: 4, V */
            CHECK(a->W.value[5] == 0.5 && a->W.value[6] == -1 && a->W.value[7] == 7); /* row 3: V', R */
        }
        sti_problem_free(p);
    }
    unlink(path);
}

/* M = [0 2 0; 4 0 0; 0 0 5] needs a pivot; with H = 1: W = M^-1, q = M^-1 f + w. */
TEST(a_mass_matrix_that_is_not_symmetric) {
    const double W[3][3] = {{0, 0.25, 0}, {0.5, 0, 0}, {0, 0, 0.2}},
                 q[3] = {0.25 * 6 + 0.5, 0.5 * 8, 0.2 * 10};
    global g = {.M = {3, 3, 3, {0, 1, 2}, {1, 0, 2}, {2, 4, 5}},
                .H = sound.H,
                .nf = 3,
                .nw = 3,
                .nmu = 1,
                .f = {8, 6, 10},
                .w = {0.5},
                .mu = {0.7}};
    sti_error error;
    g.H.nrow = 3;
    sti_problem *p = load_global(&g, &error);
    if (!p) fprintf(stderr, "%s\n", error.message);
    REQUIRE(p);
    const sti_problem_arrays *a = sti_problem_view(p);
    CHECK(a->n == 0 && p->m == 3 && p->delassus);
    for (int i = 0; i < 3; i++) {
        CHECK_NEAR(a->q[i], q[i], 1e-15);
        for (int k = a->W.start[i]; k < a->W.start[i + 1]; k++)
            CHECK_NEAR(a->W.value[k], W[i][a->W.col[k]], 1e-15);
    }
    sti_problem_free(p);
    g.M = (matrix){3, 3, 2, {0, 2}, {1, 2}, {2, 5}}; /* a row of zeros */
    CHECK(!load_global(&g, &error) && error.code == STI_VALUE && strstr(error.message, "singular"));
}

TEST(global_problems_that_contradict_themselves) {
    sti_error error;
    sti_problem *p = load_global(&sound, &error);
    CHECK(p);
    sti_problem_free(p);
#define BROKEN(change, text)                                                                         \
    do {                                                                                             \
        global g = sound;                                                                            \
        change;                                                                                      \
        p = load_global(&g, &error);                                                                 \
        if (p || !strstr(error.message, text)) fprintf(stderr, "%s, not %s\n", error.message, text); \
        CHECK(!p && error.code != STI_OK && error.file[0] && strstr(error.message, text));           \
        sti_problem_free(p);                                                                         \
    } while (0)
    BROKEN(g.M.ncol = 5, "M is 4 x 5");
    BROKEN(g.H.nrow = 5, "H is 5 x 3");
    BROKEN(g.G.nrow = 5, "G is 5 x 1");
    BROKEN(g.H.ncol = 4, "not three per contact");
    BROKEN(g.nf = 3, "f has 3");
    BROKEN(g.nw = 2, "w has 2");
    BROKEN(g.nb = 0, "b has 0");
    BROKEN(g.nmu = 0, "mu has 0");
    BROKEN(g.M.values = 2, "has 2 values");
    BROKEN(g.M.value[1] = -1, "positive definite");
    BROKEN(g.M.row[1] = 4, "out of range");
    BROKEN(g.H.col[1] = -1, "out of range");
    BROKEN(g.M.nrow = g.M.ncol = g.H.nrow = g.G.nrow = g.M.count = g.H.count = g.G.count = g.nf = 0,
           "no dofs");
#undef BROKEN
}

TEST(what_fclib_cannot_hold) {
    make p;
    sti_error error = {0};
    make_hard(&p, false);
    sti_problem *problem = make_problem(&p);
    double *R = (double *)problem->arrays.R;
    R[0] = 0.5;
    CHECK(sti_problem_export_fclib(problem, path, &error) == STI_UNSUPPORTED &&
          strstr(error.message, "hard"));
    R[0] = 0;
    CHECK(sti_problem_export_fclib(problem, "no/such/folder/x.h5", &error) == STI_FILE);
    sti_row *row = (sti_row *)&problem->arrays.rows[0];
    sti_row kept = *row;
    row->dim = 3, row->mu[0] = 0.1, row->mu[1] = 0.2;
    CHECK(sti_problem_export_fclib(problem, path, &error) == STI_UNSUPPORTED);
    *row = kept;
    int count = problem->arrays.nrow;
    problem->arrays.nrow = 0;
    CHECK(sti_problem_export_fclib(problem, path, &error) == STI_UNSUPPORTED &&
          strstr(error.message, "without contacts"));
    problem->arrays.nrow = count;
    sti_problem_free(problem);
    CHECK(access(path, F_OK) != 0); /* nothing was written */
}

MAIN(CASE(bilateral_rows_of_a_local_problem), CASE(a_mass_matrix_that_is_not_symmetric),
     CASE(global_problems_that_contradict_themselves), CASE(what_fclib_cannot_hold))
