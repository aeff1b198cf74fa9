/* SPDX-License-Identifier: Apache-2.0 */
/* The primal solver against closed forms, a dense reference and its certificate. */
#include "dense_problem.h"

typedef struct answer {
    double v[DENSE_N], g[DENSE_M];
    sti_solve_info info;
} answer;

static sti_solve_options sap_options(double tol) {
    sti_solve_options o = sti_solve_options_default();
    o.solver = STI_SOLVER_SAP;
    o.tol = tol;
    return o;
}

static void solve(const sti_problem *p, const sti_solve_options *o, answer *out) {
    sti_error error = {0};
    sti_workspace *w = sti_workspace_create(NULL, NULL);
    REQUIRE(p && w);
    sti_status status = sti_solve(p, o, w, out->v, out->g, &out->info, &error);
    if (status != STI_OK) fprintf(stderr, "%s\n", error.message);
    REQUIRE(status == STI_OK);
    sti_workspace_free(w);
}

TEST(random_problems) {
    static dense_problem d;
    for (int seed = 0; seed < 20; seed++) {
        random_problem(&d, (uint64_t)seed, 4, 12, seed % 2 ? 1e4 : 1, seed % 3 ? 1e-4 : 1e-1);
        sti_problem *p = dense_create(&d, NULL);
        answer x;
        sti_solve_options o = sap_options(1e-12);
        solve(p, &o, &x);
        CHECK(x.info.certificate.headline < 2e-11);
        CHECK(x.info.iterations < 100);
        sti_problem_free(p);
    }
}

MAIN(CASE(random_problems))
