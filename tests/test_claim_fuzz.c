/* SPDX-License-Identifier: Apache-2.0 */
/* Random small worlds, some with absurd numbers: what every step claims of its own answer against the certificate computed outside the solver. */
#include "base/unroll.h"
#include "scene.h"
#include "world/world.h"
#include <stdarg.h>

/* A claim is good to this factor, or to this part of the tolerance: a solver knows its own answer better than rounding lets
   it be handed out. */
#define FACTOR 1.5
#define SHARE 0.5
/* Nor are tolerances below this compared: momenta that cancel have rounding of 1e2 eps, and impulses of 1e-4 of the momentum
   count in full. */
#define ROUNDING 1e-9

static unsigned long long seed;
static double chance(void) { /* 0 to 1 */
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(seed >> 11) / 9007199254740992.0;
}
static double between(double a, double b) { return a + (b - a) * chance(); }
static double power(double a, double b) { return pow(10, between(a, b)); }
static double signed_power(double a, double b) {
    double share = between(-1, 1);
    return share * power(a, b);
}
static int below(int n) { return (int)(chance() * n); }

/* Each draw is a statement of its own: the order of a call's arguments is the compiler's. */

/* ---- scenes ------------------------------------------------------------------------------------------------- */

typedef struct text {
    char at[16384];
    size_t used;
} text;

static void add(text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(text *t, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int n = vsnprintf(t->at + t->used, sizeof t->at - t->used, format, args);
    va_end(args);
    REQUIRE(n >= 0 && t->used + (size_t)n < sizeof t->at);
    t->used += (size_t)n;
}

static void add_geom(text *t, bool wild) {
    static const char *const shape[] = {"type='sphere' size='.1'", "type='box' size='.1 .08 .05'",
                                        "type='capsule' size='.05 .1'", "type='cylinder' size='.07 .1'"};
    const char *form = shape[below(4)];
    double mass = wild ? power(-6, 6) : power(-1, 1);
    int condim = below(2) ? 3 : below(2) ? 1 : 6;
    double mu = power(-2, wild ? 2 : 0.3);
    add(t, "<geom %s mass='%g' condim='%d' friction='%g .01 .001'/>", form, mass, condim, mu);
}

static void add_body(text *t, int i, bool wild) {
    double x = between(-.2, .2), y = between(-.2, .2), z = between(0, .4);
    double roll = between(-90, 90), pitch = between(-90, 90);
    add(t, "<body name='b%d' pos='%g %g %g' euler='%g %g 0'>", i, x, y, z, roll, pitch);
    if (chance() < 0.6) add(t, "<freejoint/>");
    else {
        const char *type = below(2) ? "hinge" : "slide";
        double ax = between(-1, 1), ay = between(-1, 1);
        const char *limited = below(2) ? "true" : "false";
        double friction = below(2) ? power(-3, wild ? 6 : 0) : 0,
               damping = below(2) ? power(-3, wild ? 6 : 0) : 0;
        add(t, "<joint type='%s' axis='%g %g 1' range='-10 20' limited='%s' frictionloss='%g' damping='%g'/>",
            type, ax, ay, limited, friction, damping);
    }
    add_geom(t, wild);
    add(t, "</body>");
}

static void add_soft(text *t, bool wild) {
    static const char *const law[] = {"linear_corotated", "neohookean", "linear"};
    int count = 2 + below(3);
    double height = between(.03, .3), mass = wild ? power(-3, 3) : 1,
           young = wild ? power(2, 9) : power(4, 6);
    double damping = below(2) ? power(-4, wild ? 1 : -2) : 0;
    add(t,
        "<flexcomp name='s' type='grid' dim='3' count='%d 3 3' spacing='.05 .05 .05' pos='0 0 %g' mass='%g' "
        "radius='.001'>"
        "<elasticity young='%g' poisson='.3' damping='%g' sti:law='%s'/><contact "
        "selfcollide='none'/></flexcomp>",
        count, height, mass, young, damping, law[below(3)]);
}

static sti_model *make_scene(bool wild, bool soft) {
    text t = {.used = 0};
    static const char *const integrators[] = {"Euler", "implicit", "implicitfast", "RK4"};
    double timestep = wild ? power(-5, 4.2) : power(-3.5, -1.5);
    add(&t, "<mujoco xmlns:sti='urn:stiction'><option timestep='%g' integrator='%s'/><worldbody>", timestep,
        integrators[soft ? 0 : below(4)]);
    add(&t, "<geom type='plane' size='9 9 1'/>");
    int n = soft ? below(3) : 1 + below(5);
    for (int i = 0; i < n; i++) add_body(&t, i, wild);
    if (soft) add_soft(&t, wild);
    add(&t, "</worldbody>");
    if (n > 1 && below(3) == 0)
        add(&t, "<equality><connect body1='b0' body2='b1' anchor='.1 0 0'/></equality>");
    add(&t, "</mujoco>");
    sti_error error = {0};
    sti_spec *spec = sti_spec_parse(t.at, t.used, NULL, NULL, &error);
    sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    sti_spec_free(spec);
    return model;
}

/* ---- rows of a user ------------------------------------------------------------------------------------------- */

/* Rows on random dofs with numbers of any size, some hard. */
static sti_status hostile(void *context, sti_world *w, sti_rows *rows) {
    unsigned long long kept = seed;
    seed = *(unsigned long long *)context;
    int nv = w->model->nv, count = 1 + below(3);
    sti_status status = STI_OK;
    for (int b = 0; b < count && nv > 0 && status == STI_OK; b++) {
        int dofs[6], n = 0;
        double J[36], R[6], vhat[6];
        for (int d = below(nv); d < nv && n < 6; d += 1 + below(3)) dofs[n++] = d;
        sti_block x = sti_block_default();
        int kind = below(4), dim = kind == STI_ROW_CONE ? 3 : 1 + below(2);
        for (int i = 0; i < dim * n; i++) J[i] = chance() < 0.5 ? -power(-8, 8) : power(-8, 8);
        x.row = (sti_row){.kind = (sti_row_kind)kind, .dim = dim, .mu = {0.5, 0.5}, .lo = 0, .hi = INFINITY};
        if (kind == STI_ROW_HUBER) x.row.hi = power(-8, 8);
        if (kind == STI_ROW_QUADRATIC) x.row.lo = -INFINITY;
        x.ndof = n, x.dofs = dofs, x.J = J, x.feature = (uint64_t)b;
        for (int i = 0; i < dim; i++) {
            x.phi[i] = signed_power(-8, 8);
            R[i] = i > 1 ? R[1] : power(-14, 8);
            vhat[i] = signed_power(-8, 8);
        }
        if (below(2)) x.R = R, x.vhat = vhat;
        else if (below(2)) x.stiffness = power(-8, 14), x.dissipation = power(-8, 3);
        status = sti_rows_add(rows, &x);
    }
    seed = kept;
    return status;
}

/* ---- the comparison ------------------------------------------------------------------------------------------- */

typedef struct tally {
    int steps, failed, worlds, refused, loose, worse;
} tally;

static void set_options(sti_world *w) {
    sti_option *o = sti_world_option(w);
    o->contact_solver = below(STI_SOLVER_COUNT);
    if (below(2)) o->contact_solver = STI_SOLVER_SAP;
    o->coulomb = below(4) > 0;
    o->linear = below(3);
    o->contact_tol = power(-12, -3);
    if (below(4) == 0) o->max_newton = below(6);
}

static void compare(const sti_world *w, unsigned number, int step, tally *t) {
    const sti__assembly *as = &w->constraints.rows;
    const sti_solve_info *info = sti_world_solve_info(w);
    sti_certificate c;
    sti_error error = {0};
    if (as->nblock == 0) return;
    t->steps++;
    sti_coulomb coulomb = (sti_coulomb)w->state->opt.coulomb;
    if (sti_certify(&as->problem, as->v, as->g, coulomb, false, &c, NULL, &error) != STI_OK) return;
    double said = info->certificate.headline, true_ = c.headline + w->constraints.soft_rest;
    t->loose += true_ > 1e-3;
    double tol = fmax(ROUNDING, w->state->opt.contact_tol);
    bool honest = said == INFINITY || true_ <= FACTOR * said + SHARE * tol;
    if (honest && (!info->converged || true_ <= FACTOR * tol)) return;
    t->worse++;
    fprintf(stderr, "seed %u, step %d: claims %.3g%s, judged %.3g (momentum %.3g, natural %.3g)\n", number,
            step, said, info->converged ? ", converged" : "", true_, c.momentum, c.natural);
}

static void run_world(unsigned number, bool wild, bool soft, bool user, tally *t) {
    unsigned long long rows = number * 77ull + 5;
    seed = number * 2654435761ull + 12345;
    for (int i = 0; i < 8; i++) chance();
    sti_model *m = make_scene(wild, soft);
    if (!m) {
        t->refused++;
        return;
    }
    sti_world *w = world_of(m);
    t->worlds++;
    set_options(w);
    if (user) sti_world_add_handler(w, hostile, &rows, NULL);
    for (int i = 0; i < m->nv; i++) values(w, "qvel")[i] = wild ? signed_power(-3, 3) : between(-3, 3);
    for (int i = 0; i < (soft ? 3 : 6); i++) {
        if (sti_step(w, 1) == STI_OK) compare(w, number, i, t);
        else t->failed++;
    }
    sti_world_destroy(w);
    sti_model_free(m);
}

static void run_many(unsigned from, int count, bool wild, bool soft, bool user) {
#ifdef STI__WATCHED
    count = count / 6; /* a sanitizer makes it ten times slower */
#endif
    tally t = {0};
    for (int i = 0; i < count; i++) run_world(from + (unsigned)i, wild, soft, user, &t);
    printf("%d worlds (%d refused), %d steps, %d failed, %d judged above 1e-3; claims too good: %d\n",
           t.worlds, t.refused, t.steps, t.failed, t.loose, t.worse);
    CHECK(t.steps > count && t.worse == 0);
}

TEST(rigid_worlds) { run_many(1, 300, false, false, false); }
TEST(rigid_worlds_with_absurd_numbers) { run_many(1000, 300, true, false, false); }
TEST(rows_of_a_user_with_absurd_numbers) { run_many(2000, 300, false, false, true); }
TEST(soft_worlds) { run_many(3000, 20, false, true, false); }
TEST(soft_worlds_with_absurd_numbers) { run_many(4000, 24, true, true, false); }

/* Where easing by other masses (solve/coulomb/mass_scaling.c) gets nowhere, what it has certified on the way is not claimed. */
TEST(worlds_that_were_claimed_too_well) {
    tally t = {0};
    run_world(10238, true, true, false, &t);
    CHECK(t.steps > 0 && t.worse == 0);
}

MAIN(CASE(rigid_worlds), CASE(rigid_worlds_with_absurd_numbers), CASE(rows_of_a_user_with_absurd_numbers),
     CASE(soft_worlds), CASE(soft_worlds_with_absurd_numbers), CASE(worlds_that_were_claimed_too_well))
