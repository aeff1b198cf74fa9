/* SPDX-License-Identifier: Apache-2.0 */
/* Problems: what is refused, islands, and files in both layouts, whole and broken. */
#include "fclib_make.h"
#include "problem_make.h"
#include "robust.h"
#include <unistd.h>

static char folder[64];
static void clean(void) {
    static const char *const names[] = {"own",    "memory", "fclib", "no",   "hand",
                                        "global", "whole",  "cut",   "large"};
    for (int i = 0; i < (int)(sizeof names / sizeof names[0]); i++) {
        char path[128];
        snprintf(path, sizeof path, "%s/%s.h5", folder, names[i]);
        unlink(path);
    }
    rmdir(folder);
}
static const char *in_folder(const char *name) {
    static char path[2][128];
    static int which;
    if (!folder[0]) {
        strcpy(folder, "/tmp/stiction_XXXXXX");
        REQUIRE(mkdtemp(folder) != NULL);
        atexit(clean);
    }
    which = !which;
    snprintf(path[which], sizeof path[which], "%s/%s", folder, name);
    return path[which];
}

/* ---- refusals ----------------------------------------------------------------------------------------- */

/* Two dofs, a contact and a limit; every test breaks one thing. */
typedef struct small {
    sti_row rows[2];
    int astart[3], acol[4], jstart[5], jcol[5];
    double avalue[4], jvalue[5], vstar[2], R[4], vhat[4];
    sti_problem_arrays a;
} small;
static void make_small(small *s) {
    *s = (small){.rows = {make_cone(3, 0.5), {.kind = STI_ROW_INTERVAL, .dim = 1, .lo = 0, .hi = INFINITY}},
                 .astart = {0, 2, 4},
                 .acol = {0, 1, 0, 1},
                 .avalue = {2, 0.5, 0.5, 3},
                 .jstart = {0, 1, 2, 4, 5},
                 .jcol = {0, 1, 0, 1, 1},
                 .jvalue = {1, 1, 0.5, 0.5, 1},
                 .R = {0.1, 0.1, 0.1, 0.1}};
    s->a = sti_problem_arrays_default();
    s->a.n = 2;
    s->a.nrow = 2;
    s->a.rows = s->rows;
    s->a.R = s->R;
    s->a.vhat = s->vhat;
    s->a.vstar = s->vstar;
    s->a.A = (sti_csr){2, 2, s->astart, s->acol, s->avalue};
    s->a.J = (sti_csr){4, 2, s->jstart, s->jcol, s->jvalue};
}

#define REFUSED(change, text)                                                           \
    do {                                                                                \
        small s;                                                                        \
        sti_error error = {0};                                                          \
        make_small(&s);                                                                 \
        change;                                                                         \
        sti_problem *wrong = sti_problem_create(&s.a, NULL, &error);                    \
        CHECK(wrong == NULL);                                                           \
        CHECK(error.code != STI_OK);                                                    \
        if (!strstr(error.message, text)) fprintf(stderr, "said: %s\n", error.message); \
        CHECK(strstr(error.message, text) != NULL);                                     \
        sti_problem_free(wrong);                                                        \
    } while (0)

TEST(bad_arrays_are_refused) {
    small good;
    make_small(&good);
    sti_problem *problem = sti_problem_create(&good.a, NULL, NULL);
    REQUIRE(problem != NULL);
    sti_problem_free(problem);
    REFUSED(s.avalue[1] = NAN, "A[1]");
    REFUSED(s.jvalue[2] = INFINITY, "J[2]");
    REFUSED(s.vstar[1] = NAN, "vstar[1]");
    REFUSED(s.vhat[3] = NAN, "vhat[3]");
    REFUSED(s.R[0] = -1, "R[0]");
    REFUSED(s.R[2] = 0.7, "R_t mu_t^2");
    REFUSED(s.avalue[1] = 0.4, "not symmetric");
    REFUSED(s.avalue[0] = -2, "diagonal");
    REFUSED((s.avalue[1] = s.avalue[2] = 10), "positive definite");
    REFUSED(s.jcol[4] = 2, "out of range");
    REFUSED(s.jcol[0] = -1, "out of range");
    REFUSED((s.jcol[2] = 1, s.jcol[3] = 0), "ascend");
    REFUSED(s.jstart[2] = 5, "falls");
    REFUSED(s.rows[0].mu[1] = -0.5, "mu[1]");
    REFUSED(s.rows[0].mu[0] = 0, "dim 1");
    REFUSED(s.rows[0].mu[0] = NAN, "mu[0]");
    REFUSED(s.rows[0].dim = 2, "dim 1, 3, 4 or 6");
    REFUSED(s.rows[1].dim = 7, "1 to 6");
    REFUSED(s.rows[1].kind = 99, "kind 99");
    REFUSED(s.rows[1].lo = INFINITY, "empty");
    REFUSED(s.rows[1].hi = -1, "empty");
    REFUSED(s.rows[1].kind = STI_ROW_USER, "no R");
    REFUSED((s.rows[1].kind = STI_ROW_USER, s.R[3] = 0), "needs value");
    REFUSED((s.rows[1].kind = STI_ROW_HUBER, s.rows[1].hi = -1), "negative");
    REFUSED(s.a.nrow = 1, "J is 4 x 2");
    REFUSED(s.a.n = 3, "must be 3 x 3");
    REFUSED(s.a.n = -1, "negative");
    REFUSED(s.a.cookie = 0, "default");
    REFUSED(s.a.vstar = NULL, "vstar");
    REFUSED(s.a.rows = NULL, "rows");
    REFUSED(s.a.J.col = NULL, "no entries");
    REFUSED(s.a.h = NAN, "h is");
    REFUSED((s.a.n = 0, s.vhat[1] = 1, s.a.W = (sti_csr){4, 4, (int[]){0, 0, 0, 0, 0}, NULL, NULL},
             s.a.q = s.vhat),
            "part of q");
}

TEST(islands_are_found) {
    /* three bodies of two dofs; rows between 0 and 1, on 2, on 2, and one that touches nothing */
    make p = {.n = 7, .nrow = 4, .m = 4};
    for (int i = 0; i < 7; i++) p.A[i * 8] = 1;
    for (int i = 0; i < 6; i += 2) p.A[i * 7 + i + 1] = p.A[(i + 1) * 7 + i] = 0.1;
    for (int r = 0; r < 4; r++) p.rows[r] = make_cone(1, 0);
    p.J[0 * 7 + 5] = p.J[1 * 7 + 0] = p.J[1 * 7 + 3] = p.J[2 * 7 + 4] = 1;
    for (int i = 0; i < 4; i++) p.R[i] = 1;
    sti_problem *problem = make_problem(&p);
    int dof[7], row[4];
    CHECK(sti_problem_islands(problem, dof, row) == 2);
    CHECK(dof[0] == 0 && dof[1] == 0 && dof[2] == 0 && dof[3] == 0 && dof[4] == 1 && dof[5] == 1 &&
          dof[6] == -1);
    CHECK(row[0] == 1 && row[1] == 0 && row[2] == 1 && row[3] == -1);
    sti_problem_free(problem);
    problem = make_delassus(&p);
    CHECK(sti_problem_islands(problem, NULL, row) == 3);
    CHECK(row[0] == row[2] && row[1] != row[0] && row[3] != row[0] && row[3] != row[1]);
    sti_problem_free(problem);
}

/* ---- our layout --------------------------------------------------------------------------------------- */

static void same_csr(const sti_csr *a, const sti_csr *b) {
    REQUIRE(a->nrow == b->nrow && a->ncol == b->ncol);
    if (!a->start) return;
    CHECK(memcmp(a->start, b->start, sizeof(int) * (size_t)(a->nrow + 1)) == 0);
    CHECK(memcmp(a->col, b->col, sizeof(int) * (size_t)a->start[a->nrow]) == 0);
    CHECK(memcmp(a->value, b->value, sizeof(double) * (size_t)a->start[a->nrow]) == 0);
}

static void same_problem(const sti_problem *p, const sti_problem *q) {
    const sti_problem_arrays *a = sti_problem_view(p), *b = sti_problem_view(q);
    REQUIRE(p->m == q->m && a->n == b->n && a->nrow == b->nrow && a->h == b->h);
    size_t m = sizeof(double) * (size_t)p->m;
    for (int r = 0; r < a->nrow; r++) {
        CHECK(a->rows[r].kind == b->rows[r].kind && a->rows[r].dim == b->rows[r].dim);
        CHECK(a->rows[r].lo == b->rows[r].lo && a->rows[r].hi == b->rows[r].hi);
        CHECK(memcmp(a->rows[r].mu, b->rows[r].mu, sizeof a->rows[r].mu) == 0);
    }
    CHECK(memcmp(a->R, b->R, m) == 0 && memcmp(a->vhat, b->vhat, m) == 0);
    same_csr(&a->A, &b->A);
    same_csr(&a->J, &b->J);
    same_csr(&a->W, &b->W);
    if (a->n) CHECK(memcmp(a->vstar, b->vstar, sizeof(double) * (size_t)a->n) == 0);
    else CHECK(memcmp(a->q, b->q, m) == 0);
    REQUIRE(!a->memory == !b->memory);
    if (a->memory) CHECK(memcmp(a->memory, b->memory, sizeof *a->memory * (size_t)a->nrow) == 0);
}

TEST(saved_and_loaded) {
    for (int n = 0; n < 20; n++) {
        make p;
        sti_error error = {0};
        make_regularised(&p, STI_ROW_USER, false);
        sti_problem *problem = n % 2 ? make_delassus(&p) : make_problem(&p);
        REQUIRE(sti_problem_save(problem, in_folder("own.h5"), &error) == STI_OK);
        sti_problem *back = sti_problem_load(in_folder("own.h5"), NULL, &error);
        if (!back) fprintf(stderr, "%s\n", error.message);
        REQUIRE(back != NULL);
        same_problem(problem, back);
        sti_problem_free(problem);
        sti_problem_free(back);
    }
}

TEST(memory_is_saved) {
    make p;
    make_hard(&p, false);
    sti_problem *plain = make_problem(&p);
    sti_problem_arrays a = *sti_problem_view(plain);
    sti_contact_memory memory[MAKE_ROWS] = {
        {.feature = UINT64_MAX, .anchor = {1, 2, 3}, .turn = {7, 8, 9}, .frame = {0, 0, 1}}};
    a.memory = memory;
    a.h = 0.01;
    sti_problem *problem = sti_problem_create(&a, NULL, NULL), *back;
    REQUIRE(problem && sti_problem_save(problem, in_folder("memory.h5"), NULL) == STI_OK);
    REQUIRE((back = sti_problem_load(in_folder("memory.h5"), NULL, NULL)) != NULL);
    same_problem(problem, back);
    memory[0].frame[8] = NAN;
    CHECK(sti_problem_create(&a, NULL, NULL) == NULL);
    sti_problem_free(plain);
    sti_problem_free(problem);
    sti_problem_free(back);
}

/* ---- FCLIB ------------------------------------------------------------------------------------------- */

/* Same numbers up to rounding: v* comes back from f = A v*. */
TEST(fclib_round_trip) {
    for (int n = 0; n < 20; n++) {
        make p;
        sti_error error = {0};
        make_hard(&p, true);
        sti_problem *problem = n % 2 ? make_delassus(&p) : make_problem(&p);
        REQUIRE(sti_problem_export_fclib(problem, in_folder("fclib.h5"), &error) == STI_OK);
        sti_problem *back = sti_problem_load(in_folder("fclib.h5"), NULL, &error);
        if (!back) fprintf(stderr, "%s\n", error.message);
        REQUIRE(back != NULL);
        const sti_problem_arrays *a = sti_problem_view(problem), *b = sti_problem_view(back);
        REQUIRE(a->n == b->n && a->nrow == b->nrow && problem->m == back->m);
        same_csr(&a->A, &b->A);
        same_csr(&a->J, &b->J);
        same_csr(&a->W, &b->W);
        for (int r = 0; r < a->nrow; r++)
            CHECK(a->rows[r].dim == b->rows[r].dim &&
                  (a->rows[r].dim == 1 || a->rows[r].mu[0] == b->rows[r].mu[0]));
        for (int i = 0; i < a->n; i++) CHECK_NEAR(a->vstar[i], b->vstar[i], 1e-11);
        for (int i = 0; i < problem->m; i++) CHECK(a->vhat[i] == b->vhat[i] && (a->n || a->q[i] == b->q[i]));
        sti_certificate c;
        REQUIRE(sti_certify(back, NULL, p.g, STI_COULOMB_EXACT, false, &c, NULL, NULL) == STI_OK);
        CHECK(c.full_raw < 1e-11);
        sti_problem_free(problem);
        sti_problem_free(back);
    }
}

TEST(fclib_refuses_what_it_cannot_hold) {
    make p;
    sti_error error = {0};
    make_regularised(&p, 1, false);
    sti_problem *problem = make_problem(&p);
    CHECK(sti_problem_export_fclib(problem, in_folder("no.h5"), &error) == STI_UNSUPPORTED);
    sti_problem_free(problem);
    make_hard(&p, false);
    p.rows[0].kind = STI_ROW_QUADRATIC;
    problem = make_problem(&p);
    CHECK(sti_problem_export_fclib(problem, in_folder("no.h5"), &error) == STI_UNSUPPORTED);
    sti_problem_free(problem);
}

/* A local problem by hand: one contact, W in any of three forms. */
typedef struct local {
    int m, n, nz, np, count, spacedim, nq;
    int p[8], i[8];
    double x[8], q[8], mu[2];
} local;
static sti_problem *load_local(const local *l, sti_error *error) {
    sti__hdf h;
    const char *path = in_folder("hand.h5");
    REQUIRE(sti__hdf_open(&h, path, true, NULL, NULL));
    sti__hdf_group(&h, "fclib_local");
    sti__hdf_group(&h, "fclib_local/vectors");
    sti__hdf_put_ints(&h, "fclib_local/spacedim", &l->spacedim, 1);
    put_fclib(&h, "fclib_local/W", l->m, l->n, l->nz, l->p, l->np, l->i, l->x, l->count);
    sti__hdf_put_reals(&h, "fclib_local/vectors/q", l->q, (size_t)l->nq, 1);
    sti__hdf_put_reals(&h, "fclib_local/vectors/mu", l->mu, 1, 1);
    REQUIRE(sti__hdf_close(&h) == STI_OK);
    memset(error, 0, sizeof *error);
    return sti_problem_load(path, NULL, error);
}

TEST(fclib_matrices) {
    sti_error error = {0};
    /* [4 1 0; 2 5 0; 0 0 6], with 6 = 2 + 4 as triplets in disorder */
    local forms[] = {
        {3, 3, 6, 6, 6, 3, 3, {2, 1, 0, 0, 2, 1}, {2, 1, 1, 0, 2, 0}, {2, 5, 2, 4, 4, 1}, {-1, 2, 3}, {0.3}},
        {3, 3, -1, 4, 5, 3, 3, {0, 2, 4, 5}, {0, 1, 0, 1, 2}, {4, 2, 1, 5, 6}, {-1, 2, 3}, {0.3}},
        {3, 3, -2, 4, 5, 3, 3, {0, 2, 4, 5}, {0, 1, 0, 1, 2}, {4, 1, 2, 5, 6}, {-1, 2, 3}, {0.3}}};
    for (int f = 0; f < 3; f++) {
        sti_problem *problem = load_local(&forms[f], &error);
        if (!problem) fprintf(stderr, "%s\n", error.message);
        REQUIRE(problem != NULL);
        const sti_problem_arrays *a = sti_problem_view(problem);
        REQUIRE(problem->m == 3 && a->n == 0 && a->nrow == 1 && a->W.start[3] == 5);
        CHECK(a->W.value[0] == 4 && a->W.value[1] == 1 && a->W.value[2] == 2 && a->W.value[3] == 5 &&
              a->W.value[4] == 6);
        CHECK(a->rows[0].mu[0] == 0.3 && a->rows[0].mu[1] == 0.3 && a->q[2] == 3 && problem->hard);
        sti_problem_free(problem);
    }
    forms[1].mu[0] = 0; /* without friction its tangents go */
    sti_problem *problem = load_local(&forms[1], &error);
    REQUIRE(problem != NULL);
    CHECK(problem->m == 1 && sti_problem_view(problem)->W.value[0] == 4 &&
          sti_problem_view(problem)->q[0] == -1);
    sti_problem_free(problem);
}

TEST(fclib_broken) {
    const local good = {3,          3,    -1, 4, 5, 3, 3, {0, 2, 4, 5}, {0, 1, 0, 1, 2}, {4, 2, 1, 5, 6},
                        {-1, 2, 3}, {0.3}};
    const struct {
        int which, value;
        const char *text;
    } cases[] = {{0, 1000000000, "in ["},  {0, 6, "numbers"}, {1, 2147483647, "in ["}, {1, 4, "has 4"},
                 {2, -3, "in ["},          {2, 7, "entries"}, {3, 3, "has 3"},         {4, 4, "entries"},
                 {5, 2, "two dimensions"}, {5, 0, "in ["},    {6, 2, "has 2"}};
    for (int k = 0; k < STI__COUNT(cases); k++) {
        local l = good;
        sti_error error;
        ((int *)&l)[cases[k].which] = cases[k].value;
        sti_problem *problem = load_local(&l, &error);
        if (problem || !strstr(error.message, cases[k].text))
            fprintf(stderr, "case %d: %s\n", k, error.message);
        CHECK(problem == NULL && error.code != STI_OK);
        sti_problem_free(problem);
    }
    const int starts[] = {-1, 3, 1000000, -2000000000};
    for (int k = 0; k < STI__COUNT(starts); k++) {
        local l = good;
        sti_error error;
        l.p[1 + k % 3] = starts[k];
        sti_problem *problem = load_local(&l, &error);
        CHECK((problem == NULL) == (k != 1)); /* 3 is a permissible start */
        sti_problem_free(problem);
        l = good;
        l.i[k] = starts[k] == 3 ? 3 : starts[k];
        problem = load_local(&l, &error);
        CHECK(problem == NULL && strstr(error.message, "out of range"));
        sti_problem_free(problem);
    }
    local l = good;
    sti_error error;
    l.x[2] = NAN;
    CHECK(load_local(&l, &error) == NULL && error.code == STI_VALUE && error.file[0]);
    l = good;
    l.mu[0] = -1;
    CHECK(load_local(&l, &error) == NULL && error.code == STI_VALUE);
}

/* Bilateral rows of a global problem: two masses, one welded, one on the ground. */
TEST(fclib_bilateral) {
    sti__hdf h;
    sti_error error = {0};
    const char *path = in_folder("global.h5");
    int dim = 3;
    REQUIRE(sti__hdf_open(&h, path, true, NULL, NULL));
    sti__hdf_group(&h, "fclib_global");
    sti__hdf_group(&h, "fclib_global/vectors");
    sti__hdf_put_ints(&h, "fclib_global/spacedim", &dim, 1);
    put_fclib(&h, "fclib_global/M", 4, 4, 4, (int[]){0, 1, 2, 3}, 4, (int[]){0, 1, 2, 3},
              (double[]){2, 2, 2, 5}, 4);
    put_fclib(&h, "fclib_global/H", 4, 3, 3, (int[]){0, 1, 2}, 3, (int[]){0, 1, 2}, (double[]){1, 1, 1}, 3);
    put_fclib(&h, "fclib_global/G", 4, 1, 2, (int[]){0, 0}, 2, (int[]){0, 3}, (double[]){1, -1}, 2);
    sti__hdf_put_reals(&h, "fclib_global/vectors/f", (double[]){-2, 1, 0, 10}, 4, 1);
    sti__hdf_put_reals(&h, "fclib_global/vectors/w", (double[]){0.5, 0, 0}, 3, 1);
    sti__hdf_put_reals(&h, "fclib_global/vectors/b", (double[]){0.25}, 1, 1);
    sti__hdf_put_reals(&h, "fclib_global/vectors/mu", (double[]){0.7}, 1, 1);
    REQUIRE(sti__hdf_close(&h) == STI_OK);
    sti_problem *problem = sti_problem_load(path, NULL, &error);
    if (!problem) fprintf(stderr, "%s\n", error.message);
    REQUIRE(problem != NULL);
    const sti_problem_arrays *a = sti_problem_view(problem);
    CHECK(a->n == 4 && a->nrow == 2 && problem->m == 4 && a->rows[1].kind == STI_ROW_QUADRATIC);
    CHECK_NEAR(a->vstar[0], -1, 1e-15);
    CHECK_NEAR(a->vstar[1], 0.5, 1e-15);
    CHECK_NEAR(a->vstar[3], 2, 1e-15);
    CHECK(a->vhat[0] == -0.5 && a->vhat[3] == -0.25);
    CHECK(a->J.start[4] == 5 && a->J.col[3] == 0 && a->J.value[3] == 1 && a->J.col[4] == 3 &&
          a->J.value[4] == -1);
    sti_problem_free(problem);
}

/* ---- broken files ------------------------------------------------------------------------------------ */

static long read_bytes(const char *path, char *out, long room) {
    FILE *f = fopen(path, "rb");
    REQUIRE(f != NULL);
    long n = (long)fread(out, 1, (size_t)room, f);
    fclose(f);
    return n;
}
static void write_bytes(const char *path, const char *bytes, long n) {
    FILE *f = fopen(path, "wb");
    REQUIRE(f != NULL && fwrite(bytes, 1, (size_t)n, f) == (size_t)n);
    fclose(f);
}

TEST(truncated_files) {
    static char bytes[1 << 20];
    make p;
    make_regularised(&p, STI_ROW_USER, false);
    sti_problem *problem = make_problem(&p);
    REQUIRE(sti_problem_save(problem, in_folder("whole.h5"), NULL) == STI_OK);
    sti_problem_free(problem);
    long n = read_bytes(in_folder("whole.h5"), bytes, sizeof bytes);
    for (int k = 0; k < 60; k++) {
        sti_error error = {0};
        write_bytes(in_folder("cut.h5"), bytes, n * k / 60);
        problem = sti_problem_load(in_folder("cut.h5"), NULL, &error);
        CHECK(problem == NULL && error.code != STI_OK && error.message[0] && error.file[0]);
        sti_problem_free(problem);
    }
    sti_error error = {0};
    CHECK(sti_problem_load(in_folder("nowhere.h5"), NULL, &error) == NULL && error.code == STI_FILE);
}

/* Sizes that the file cannot hold: nothing is allocated for them. */
static size_t largest;
static void *watch(void *context, void *ptr, size_t old_size, size_t new_size) {
    (void)context, (void)old_size;
    if (new_size > largest) largest = new_size;
    if (new_size == 0) {
        free(ptr);
        return NULL;
    }
    return realloc(ptr, new_size);
}

TEST(gigabyte_headers) {
    const sti_allocator allocator = {watch, NULL};
    const char *names[] = {"stiction_problem/rows/kind", "stiction_problem/R", "stiction_problem/W/col"};
    for (int k = 0; k < 3; k++) {
        sti__hdf h;
        sti_error error = {0};
        const char *path = in_folder("large.h5");
        int one = 1, nrow = 200000000, none = 0;
        double zero = 0;
        REQUIRE(sti__hdf_open(&h, path, true, NULL, NULL));
        const char *groups[] = {"stiction_problem", "stiction_problem/rows", "stiction_problem/W"};
        for (int g = 0; g < 3; g++) sti__hdf_group(&h, groups[g]);
        sti__hdf_put_ints(&h, "stiction_problem/version", &one, 1);
        sti__hdf_put_ints(&h, "stiction_problem/n", &none, 1);
        sti__hdf_put_ints(&h, "stiction_problem/nrow", k == 0 ? &nrow : &one, 1);
        sti__hdf_put_reals(&h, "stiction_problem/h", &zero, 1, 1);
        hsize_t shape = 1000000000, chunk = 1000;
        hid_t space = H5Screate_simple(1, &shape, NULL), plan = H5Pcreate(H5P_DATASET_CREATE);
        H5Pset_chunk(plan, 1, &chunk);
        hid_t set = H5Dcreate2(h.file, names[k], k == 1 ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT, space,
                               H5P_DEFAULT, plan, H5P_DEFAULT);
        H5Dclose(set);
        H5Pclose(plan);
        H5Sclose(space);
        if (k > 0) {
            sti__hdf_put_ints(&h, "stiction_problem/rows/kind", &none, 1);
            sti__hdf_put_ints(&h, "stiction_problem/rows/dim", &one, 1);
            sti__hdf_put_reals(&h, "stiction_problem/rows/mu", (double[5]){0}, 1, 5);
            sti__hdf_put_reals(&h, "stiction_problem/rows/lo", &zero, 1, 1);
            sti__hdf_put_reals(&h, "stiction_problem/rows/hi", &zero, 1, 1);
        }
        if (k == 2) {
            sti__hdf_put_reals(&h, "stiction_problem/R", &zero, 1, 1);
            sti__hdf_put_reals(&h, "stiction_problem/vhat", &zero, 1, 1);
            sti__hdf_put_ints(&h, "stiction_problem/W/start", (int[]){0, 1000000000}, 2);
        }
        REQUIRE(sti__hdf_close(&h) == STI_OK);
        largest = 0;
        sti_problem *problem = sti_problem_load(path, &allocator, &error);
        CHECK(problem == NULL && strstr(error.message, "numbers") != NULL);
        CHECK(largest < 1u << 20);
        sti_problem_free(problem);
    }
}

/* Whichever allocation fails: an error, and nothing is lost. */
TEST(failing_memory) {
    make p;
    make_regularised(&p, STI_ROW_USER, false);
    sti_problem *plain = make_problem(&p);
    REQUIRE(sti_problem_save(plain, in_folder("own.h5"), NULL) == STI_OK);
    sti_problem_free(plain);
    make_hard(&p, false);
    plain = make_problem(&p);
    REQUIRE(sti_problem_export_fclib(plain, in_folder("fclib.h5"), NULL) == STI_OK);
    sti_problem_free(plain);
    for (int file = 0; file < 2; file++)
        for (long n = 1, done = 0; !done && n < 2000; n++) {
            counter c = {.fail_at = n};
            sti_allocator allocator = counter_allocator(&c);
            sti_error error = {0};
            sti_certificate certificate;
            double g[MAKE_M] = {0}, v[MAKE_N] = {0};
            sti_problem *problem =
                sti_problem_load(in_folder(file ? "fclib.h5" : "own.h5"), &allocator, &error);
            sti_status status =
                problem ? sti_certify(problem, v, g, STI_COULOMB_EXACT, true, &certificate, NULL, &error)
                        : error.code;
            if (problem && status == STI_OK) status = sti_problem_save(problem, in_folder("no.h5"), &error);
            CHECK((status == STI_OK) == !c.failed);
            CHECK(status == STI_OK || (status == STI_NO_MEMORY && error.code == STI_NO_MEMORY));
            sti_problem_free(problem);
            CHECK(c.blocks == 0 && c.live == 0 && c.wrong_size == 0);
            done = !c.failed;
        }
}

/* ---- outside problems -------------------------------------------------------------------------------- */

TEST(fclib_files) {
    const char *root = getenv("STI_FCLIB"), *names[] = {"Rover1040",
                                                        "CubeH8",
                                                        "LMGC_GFC3D-i00001-1-00000",
                                                        "Box_Stacks-i0122-82-5",
                                                        "LMGC_100_PR_PerioBox-i00361-60-03000",
                                                        "spheres-in-a-box-98-i10000-256-10"};
    const int m[] = {15, 3, 3, 246, 180, 768}, n[] = {0, 0, 48, 450, 0, 588};
    CHECK(true);
    if (!root) {
        fprintf(stderr, "SKIPPED: STI_FCLIB names no folder with FCLIB's problems\n");
        return;
    }
    for (int k = 0; k < STI__COUNT(names); k++) {
        char path[512];
        sti_error error = {0};
        snprintf(path, sizeof path, "%s/%s.hdf5", root, names[k]);
        sti_problem *problem = sti_problem_load(path, NULL, &error);
        if (!problem) fprintf(stderr, "%s: %s\n", names[k], error.message);
        CHECK(problem != NULL);
        if (!problem) continue;
        CHECK(problem->m == m[k] && problem->arrays.n == n[k] && problem->hard);
        sti_problem_free(problem);
    }
}

MAIN(CASE(bad_arrays_are_refused), CASE(islands_are_found), CASE(saved_and_loaded), CASE(memory_is_saved),
     CASE(fclib_round_trip), CASE(fclib_refuses_what_it_cannot_hold), CASE(fclib_matrices),
     CASE(fclib_broken), CASE(fclib_bilateral), CASE(truncated_files), CASE(gigabyte_headers),
     CASE(failing_memory), CASE(fclib_files))
