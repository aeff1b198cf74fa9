/* SPDX-License-Identifier: Apache-2.0 */
/* Soft bodies in a world: how they are read, how they fall, hang and are carried, snapshots, bad input. */
#include "scene.h"
#include "u_mesh.h"

#define SOFT "<mujoco xmlns:sti='urn:stiction'>"
static const double g = 9.81;

static double sum(const sti_model *m, int flex, const double *x, int axis, bool weigh) {
    double total = 0;
    for (int v = m->flex_vertadr[flex]; v < m->flex_vertadr[flex] + m->flex_vertnum[flex]; v++)
        total += x[3 * v + axis] * (weigh ? m->flexvert_mass[v] : 1);
    return total;
}

static double mass_of(const sti_model *m, int flex) {
    double total = 0;
    for (int v = m->flex_vertadr[flex]; v < m->flex_vertadr[flex] + m->flex_vertnum[flex]; v++)
        total += m->flexvert_mass[v];
    return total;
}

/* ---- reading ----------------------------------------------------------------------------------------------- */

/* As MuJoCo makes it: counts, mass, places of the corners. */
TEST(flexcomp_grid) {
    sti_model *m = model_of(
        "<mujoco><worldbody><body name='b' pos='1 2 3' euler='0 0 90'>"
        "<flexcomp name='s' type='grid' dim='3' count='3 4 5' spacing='.1 .2 .3' mass='2' pos='0 0 1'>"
        "<elasticity young='1e4' poisson='.3' damping='.01'/>"
        "<contact friction='.7' contype='3'/><pin gridrange='0 0 0 2 3 0'/></flexcomp>"
        "</body></worldbody></mujoco>");
    CHECK(m->nflex == 1 && m->nflexvert == 60 && m->flex_bodyid[0] == 1);
    CHECK(sti_model_id(m, STI_OBJ_FLEX, "s") == 0);
    CHECK_NEAR(mass_of(m, 0), 2, 1e-12);
    int pinned = 0;
    for (int v = 0; v < 60; v++) pinned += m->flexvert_pinned[v];
    CHECK(pinned == 12);
    double low[3] = {INFINITY, INFINITY, INFINITY}, high[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int i = 0; i < 180; i++) {
        low[i % 3] = fmin(low[i % 3], m->flexvert_pos0[i]);
        high[i % 3] = fmax(high[i % 3], m->flexvert_pos0[i]);
    }
    /* turned by 90 degrees: x is the 0.6 m side, y the 0.2 m side */
    const double from[3] = {1 - 0.3, 2 - 0.1, 4 - 0.6}, to[3] = {1 + 0.3, 2 + 0.1, 4 + 0.6};
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(low[k], from[k], 1e-9);
        CHECK_NEAR(high[k], to[k], 1e-9);
    }
    CHECK_NEAR(m->flex_friction[0], 0.7, 0);
    CHECK(m->flex_contype[0] == 3 && m->flex_conaffinity[0] == 1);
    sti_model_free(m);
}

TEST(soft_shapes) {
    static const char *const shapes[] = {"type='sphere' size='.1'", "type='box' size='.1 .2 .1'",
                                         "type='cylinder' size='.1 .2'", "type='capsule' size='.1 .1'",
                                         "type='ellipsoid' size='.1 .2 .1'"};
    const double pi = 3.14159265358979323846;
    const double volume[] = {4 * pi / 3000, 0.016, pi * 0.004, pi * 0.002 + 4 * pi / 3000, 8 * pi / 3000};
    for (int k = 0; k < 5; k++) {
        char xml[512];
        snprintf(xml, sizeof xml,
                 SOFT "<worldbody><sti:soft name='s' %s edge='.02' density='500' young='1e5' poisson='.3'/>"
                      "</worldbody></mujoco>",
                 shapes[k]);
        sti_model *m = model_of(xml);
        CHECK_NEAR(mass_of(m, 0), 500 * volume[k], 0.03 * 500 * volume[k]); /* curved surfaces are cut off */
        CHECK_NEAR(sum(m, 0, m->flexvert_pos0, 2, true), 0, 1e-9);
        sti_model_free(m);
    }
}

/* ---- moving ------------------------------------------------------------------------------------------------ */

/* A free body falls as a point does: implicit Euler has it at -g h^2 n (n + 1) / 2 after n steps, for every law. */
TEST(free_fall) {
    static const char *const laws[] = {"linear", "linear_corotated", "corotated", "neohookean", "stvk"};
    for (int k = 0; k < 5; k++) {
        char xml[512];
        snprintf(xml, sizeof xml,
                 SOFT
                 "<option timestep='.01'/><worldbody>"
                 "<sti:soft name='s' type='sphere' size='.1' edge='.05' young='1e5' poisson='.3' law='%s'/>"
                 "</worldbody></mujoco>",
                 laws[k]);
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        CHECK(sti_step(w, 50) == STI_OK);
        double mass = mass_of(m, 0);
        CHECK_NEAR(sum(m, 0, values(w, "flexvert_xpos"), 2, true) / mass, -g * 1e-4 * 50 * 51 / 2, 1e-11);
        CHECK_NEAR(sum(m, 0, values(w, "flexvert_xvel"), 2, true) / mass, -g * 0.5, 1e-11);
        CHECK_NEAR(sum(m, 0, values(w, "flexvert_xvel"), 0, true), 0, 1e-12);
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* A bar that hangs from the world by its upper end is longer by rho g L^2 / 2E. */
TEST(hanging_bar) {
    sti_model *m =
        model_of("<mujoco xmlns:sti='urn:stiction'><option timestep='.01'/><worldbody>"
                 "<flexcomp name='s' type='grid' dim='3' count='3 3 21' spacing='.05 .05 .05' mass='10'>"
                 "<elasticity young='1e5' poisson='0' damping='.05' sti:massdamping='5'/>"
                 "<pin gridrange='0 0 20 2 2 20'/></flexcomp></worldbody></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 1500) == STI_OK);
    const double *x = values(w, "flexvert_xpos");
    double lowest = x[2], rho = 10 / (0.1 * 0.1 * 1.0), speed = 0;
    for (int v = 0; v < m->nflexvert; v++) lowest = fmin(lowest, x[3 * v + 2]);
    for (int i = 0; i < 3 * m->nflexvert; i++) speed = fmax(speed, fabs(values(w, "flexvert_xvel")[i]));
    CHECK(speed < 1e-8);
    double stretch = rho * g / (2 * 1e5);
    CHECK_NEAR(-0.5 - lowest, stretch, 0.02 * stretch); /* finite strain, lumped weight */
    for (int v = 0; v < m->nflexvert; v++)
        if (m->flexvert_pinned[v]) CHECK_NEAR(x[3 * v + 2], 0.5, 0);
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A rod pendulum with a soft bob: its pins go with it. */
TEST(carried_by_a_link) {
    sti_model *m = model_of(
        "<mujoco><option timestep='.005'/><worldbody><body name='arm' pos='0 0 1'>"
        "<joint axis='0 1 0'/><geom type='capsule' fromto='0 0 0 .5 0 0' size='.02' mass='1' contype='0' "
        "conaffinity='0'/>"
        "<flexcomp name='s' type='grid' dim='3' count='3 3 3' spacing='.05 .05 .05' mass='.5' pos='.6 0 0'>"
        "<elasticity young='1e6' poisson='.3'/><contact contype='0' conaffinity='0'/><pin gridrange='0 0 0 0 "
        "2 2'/>"
        "</flexcomp></body></worldbody></mujoco>");
    sti_world *w = world_of(m);
    double far = 0;
    for (int k = 0; k < 200; k++) {
        CHECK(sti_step(w, 1) == STI_OK);
        CHECK(sti_world_certificate(w).headline < 1e-6);
    }
    CHECK(sti_forward(w) == STI_OK);
    const double *x = values(w, "flexvert_xpos"), *p = values(w, "xpos") + 3, *R = values(w, "xmat") + 9;
    for (int v = 0; v < m->nflexvert; v++)
        for (int k = 0; m->flexvert_pinned[v] && k < 3; k++) {
            const double *local = m->flexvert_local + 3 * v;
            double at = p[k] + R[3 * k] * local[0] + R[3 * k + 1] * local[1] + R[3 * k + 2] * local[2];
            far = fmax(far, fabs(at - x[3 * v + k]));
        }
    CHECK_NEAR(far, 0, 2e-4); /* rows as rigid as the step allows give way by R (h + tau) h F */
    CHECK(fabs(values(w, "qpos")[0]) > 0.5); /* it swings */
    sti_world_destroy(w);
    sti_model_free(m);
}

/* A snapshot in the middle gives the same bits as going on. */
TEST(snapshots) {
    sti_model *m =
        model_of(SOFT "<worldbody><sti:soft name='s' type='box' size='.1 .05 .05' edge='.05' young='1e4'/>"
                      "</worldbody></mujoco>");
    sti_world *w = world_of(m);
    values(w, "flexvert_xvel")[0] = 1;
    values(w, "flexvert_applied")[4] = 3;
    CHECK(sti_step(w, 20) == STI_OK);
    size_t size = sti_snapshot_size(w);
    void *snapshot = malloc(size);
    CHECK(sti_snapshot_save(w, snapshot, size) == STI_OK);
    CHECK(sti_step(w, 20) == STI_OK);
    uint64_t hash = sti_world_hash(w);
    sti_world *other = world_of(m);
    CHECK(sti_snapshot_load(other, snapshot, size) == STI_OK && sti_step(other, 20) == STI_OK);
    CHECK(sti_world_hash(other) == hash);
    CHECK(sti_snapshot_load(w, snapshot, size) == STI_OK && sti_step(w, 20) == STI_OK);
    CHECK(sti_world_hash(w) == hash);
    values(w, "flexvert_applied")[0] = NAN;
    CHECK(sti_step(w, 1) == STI_NONFINITE && strstr(sti_world_error(w)->message, "soft body 0 (s)"));
    free(snapshot);
    sti_world_destroy(w);
    sti_world_destroy(other);
    sti_model_free(m);
}

/* ---- several materials ------------------------------------------------------------------------------------- */

/* Forces on the vertices of the end x = end that add up to `force`, by area. */
static void pull(const sti_model *m, double end, double force, double area, double *applied) {
    for (int t = 0; t < m->nflexshell; t++) {
        const double *a = m->flexvert_pos0 + 3 * m->flex_shell[3 * t],
                     *b = m->flexvert_pos0 + 3 * m->flex_shell[3 * t + 1],
                     *c = m->flexvert_pos0 + 3 * m->flex_shell[3 * t + 2];
        if (fabs(a[0] - end) + fabs(b[0] - end) + fabs(c[0] - end) > 1e-9) continue;
        double size = fabs((b[1] - a[1]) * (c[2] - a[2]) - (b[2] - a[2]) * (c[1] - a[1])) / 2;
        for (int k = 0; k < 3; k++) applied[3 * m->flex_shell[3 * t + k]] += force * size / area / 3;
    }
}

/* A bar of two halves, one end held, the other pulled: springs in a row, F L/2A (1/E1 + 1/E2), the first half with its share. At nu = 0
   linear tets have it exactly. The mass is that of the halves; where the whole is given, halves have it in proportion. */
TEST(two_materials) {
    const double L = 0.4, A = 0.01, F = 5, E1 = 1e5, E2 = 4e5;
    for (int given = 0; given < 2; given++) {
        char xml[1024];
        snprintf(xml, sizeof xml,
                 SOFT "<option gravity='0 0 0' timestep='10'/><worldbody><flexcomp name='s' dim='3' "
                      "type='grid' count='9 3 3' "
                      "spacing='.05 .05 .05' mass='%g'><elasticity young='1e5' poisson='0' sti:law='linear'/>"
                      "<contact contype='0' conaffinity='0'/><pin gridrange='0 0 0 0 2 2'/>"
                      "<sti:part box='0 -1 -1 1 1 1' young='4e5' %s/></flexcomp></worldbody></mujoco>",
                 given ? 3.0 : 1.0, given ? "density='2000'" : "");
        sti_model *m = model_of(xml);
        sti_world *w = world_of(m);
        double half[2] = {0};
        for (int e = 0; e < m->nflexelem; e++) {
            double x = 0;
            for (int k = 0; k < 4; k++) x += m->flexvert_pos0[3 * m->flex_elem[4 * e + k]] / 4;
            CHECK(m->flexelem_young[e] == (x > 0 ? E2 : E1));
            half[x > 0] = m->flexelem_density[e];
        }
        /* 1000 is the density of what says nothing */
        CHECK_NEAR(mass_of(m, 0), given ? 3 : 1, 1e-12);
        CHECK_NEAR(half[0], given ? 3 / (1.5 * L * A) : 1 / (L * A), 1e-9);
        CHECK_NEAR(half[1], (given ? 2 : 1) * half[0], 1e-9);
        pull(m, L / 2, F, A, values(w, "flexvert_applied"));
        CHECK(sti_step(w, 60) == STI_OK);
        const double *x = values(w, "flexvert_xpos");
        for (int v = 0; v < m->nflexvert; v++) {
            double at = m->flexvert_pos0[3 * v] + L / 2, moved = x[3 * v] - m->flexvert_pos0[3 * v];
            double expect = F / A * (fmin(at, L / 2) / E1 + fmax(at - L / 2, 0) / E2);
            CHECK_NEAR(moved, expect, 1e-9);
        }
        sti_world_destroy(w);
        sti_model_free(m);
    }
}

/* ---- bad input ---------------------------------------------------------------------------------------------- */

TEST(bad_soft_bodies) {
    static const struct {
        const char *xml, *attribute;
        sti_status code;
    } all[] = {
        {"<flexcomp name='s' type='grid' dim='2'/>", "count", STI_VALUE},
        {"<flexcomp name='s' type='grid' dim='3'/>", NULL, STI_PHYSICS},
        {"<flexcomp name='s' dim='3' count='1 2 3'/>", "count", STI_VALUE},
        {"<flexcomp name='s' dim='3' count='1000 1000 1000'/>", NULL, STI_LIMIT},
        {"<flexcomp name='s' dim='3' spacing='0 1 1'/>", "spacing", STI_VALUE},
        {"<flexcomp name='s' dim='3' type='direct' point='0 0'/>", "point", STI_VALUE},
        {"<flexcomp name='s' dim='3' type='direct' point='0 0 0 1 0 0 0 1 0 0 0 1' element='0 1 2'/>",
         "element", STI_VALUE},
        {"<flexcomp name='s' dim='3' type='direct' point='0 0 0 1 0 0 0 1 0 0 0 1' element='0 1 2 9'/>",
         "element", STI_MESH},
        {"<flexcomp name='s' dim='3' type='direct' point='0 0 0 1 0 0 0 1 0 1 1 0' element='0 1 2 3'/>",
         "element", STI_MESH},
        {"<sti:soft name='s' size='0' young='1'/>", "size", STI_VALUE},
        {"<sti:soft name='s' size='.1' young='-1'/>", "young", STI_PHYSICS},
        {"<sti:soft name='s' size='.1' young='1e4' poisson='.5'/>", "poisson", STI_PHYSICS},
        {"<sti:soft name='s' size='.1' young='1e4' density='0'/>", "density", STI_PHYSICS},
        {"<sti:soft name='s' size='.1' young='1e4' hydroelastic_stiffness='0'/>", "hydroelastic_stiffness",
         STI_VALUE},
        {"<sti:soft name='s' size='.1' young='1e4' edge='1e-9'/>", NULL, STI_LIMIT},
        {"<sti:soft name='s' size='.1' young='1e4'><pin id='99999'/></sti:soft>", "id", STI_VALUE},
        {"<sti:soft name='s' size='.1' young='1e4'><pin grid='0 0 0'/></sti:soft>", "grid", STI_VALUE},
        {"<sti:soft name='s' size='.1' young='1e4'><sti:part id='99999' young='1'/></sti:soft>", "id",
         STI_VALUE},
        {"<sti:soft name='s' size='.1' young='1e4'><sti:part range='5 3' young='1'/></sti:soft>", "range",
         STI_VALUE},
        {"<sti:soft name='s' size='.1' young='1e4'><sti:part range='5' young='1'/></sti:soft>", "range",
         STI_VALUE},
        {"<sti:soft name='s' size='.1' young='1e4'><sti:part box='1 1 1 2 2 2' young='1'/></sti:soft>", "box",
         STI_VALUE},
        {"<sti:soft name='s' size='.1' young='1e4'><sti:part id='0' young='-1'/></sti:soft>", NULL,
         STI_PHYSICS},
        {"<sti:soft name='s' size='.1' young='1e4'><sti:part id='0' poisson='.5'/></sti:soft>", NULL,
         STI_PHYSICS},
        {"<sti:soft name='s' size='.1' young='1e4'><sti:part id='0' density='0'/></sti:soft>", NULL,
         STI_PHYSICS},
        {"<sti:soft name='s' type='mesh' young='1e4'/>", "file", STI_VALUE},
        {"<sti:soft name='s' size='.1' young='1e4'/><sti:soft name='s' size='.1' young='1e4'/>", "name",
         STI_REFERENCE},
    };
    for (int k = 0; k < (int)(sizeof all / sizeof *all); k++) {
        char xml[1024];
        snprintf(xml, sizeof xml, SOFT "\n<worldbody>%s</worldbody></mujoco>", all[k].xml);
        sti_error error = {0};
        sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, &error);
        sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
        CHECK(!model && error.code == all[k].code && error.line == 2);
        CHECK(!all[k].attribute || strcmp(error.attribute, all[k].attribute) == 0);
        if (model || error.code != all[k].code)
            fprintf(stderr, "%s\n%d %s %s\n", all[k].xml, error.code, error.attribute, error.message);
        sti_model_free(model);
        sti_spec_free(spec);
    }
}

/* What would pass through each other is refused, where the soft body may touch it. */
TEST(unsupported_pairs_are_refused) {
    static const struct {
        const char *geom, *attribute; /* NULL: it loads */
        const char *says;
    } all[] = {
        {"<geom type='hfield' hfield='h'/>", NULL, NULL},
        {"<geom type='hfield' hfield='h' sti:hydroelastic_stiffness='1e6'/>", "hfield", "no pressure field"},
        {"<geom type='hfield' hfield='fine'/>", "hfield", "at most 262,144"},
        {"<geom type='hfield' hfield='fine' contype='2' conaffinity='2'/>", NULL, NULL},
        {"<geom type='mesh' mesh='u'/>", NULL, NULL},
        {"<geom type='mesh' mesh='hull'/>", NULL, NULL},
        {"<geom type='mesh' mesh='points'/>", NULL, NULL},
        {"<geom type='plane' size='1 1 1' sti:hydroelastic_stiffness='1e6'/>", "hydroelastic_stiffness",
         "plane"},
        {"<geom type='plane' size='1 1 1'/>", NULL, NULL},
    };
    for (int k = 0; k < (int)(sizeof all / sizeof *all); k++) {
        char xml[4096];
        snprintf(xml, sizeof xml,
                 SOFT
                 "<asset><hfield name='h' nrow='2' ncol='2' size='1 1 1 1'/>"
                 "<hfield name='fine' nrow='600' ncol='600' size='1 1 1 1'/><mesh name='u' vertex='" U_VERTEX
                 "' face='" U_FACE "'/><mesh name='hull' inertia='convex' vertex='" U_VERTEX "' face='" U_FACE
                 "'/><mesh name='points' vertex='" U_VERTEX "'/></asset>\n<worldbody>%s"
                 "<sti:soft name='s' pos='0 0 .3' size='.1' young='1e4'/></worldbody></mujoco>",
                 all[k].geom);
        sti_error error = {0};
        sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, &error);
        sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
        CHECK(!model == (all[k].attribute != NULL));
        if (all[k].attribute) {
            CHECK(error.code == STI_UNSUPPORTED && error.line == 2 &&
                  strstr(error.attribute, all[k].attribute));
            CHECK(strstr(error.message, all[k].says) && strstr(error.message, "'s'"));
        }
        sti_model_free(model);
        sti_spec_free(spec);
    }
}

/* A number that is not finite is named, and the state before it is back. */
TEST(bad_numbers) {
    sti_model *m =
        model_of(SOFT "<worldbody><sti:soft name='first' size='.1' young='1e5'/>"
                      "<sti:soft name='second' pos='1 0 0' size='.1' young='1e5'/></worldbody></mujoco>");
    sti_world *w = world_of(m);
    CHECK(sti_step(w, 1) == STI_OK);
    uint64_t good = sti_world_hash(w);
    static const char *const fields[] = {"flexvert_xpos", "flexvert_xvel"};
    for (int k = 0; k < 2; k++) {
        values(w, fields[k])[3 * m->flex_vertadr[1] + 1] = k ? 1e200 : NAN;
        CHECK(sti_step(w, 1) == STI_NONFINITE);
        CHECK(strstr(sti_world_error(w)->message, fields[k]) &&
              strstr(sti_world_error(w)->message, "(second)"));
        CHECK(sti_step(w, 0) == STI_OK && isfinite(values(w, fields[k])[3 * m->flex_vertadr[1] + 1]));
    }
    CHECK(sti_step(w, 1) == STI_OK && sti_world_hash(w) != good);
    sti_world_option(w)->integrator = STI_INTEGRATOR_ALM;
    CHECK(sti_step(w, 1) == STI_ARGUMENT && strstr(sti_world_error(w)->message, "soft bodies"));
    sti_world_destroy(w);
    sti_model_free(m);
}

MAIN(CASE(flexcomp_grid), CASE(soft_shapes), CASE(free_fall), CASE(hanging_bar), CASE(carried_by_a_link),
     CASE(snapshots), CASE(two_materials), CASE(bad_soft_bodies), CASE(unsupported_pairs_are_refused),
     CASE(bad_numbers))
