/* SPDX-License-Identifier: Apache-2.0 */
/* What a load may cost, how large its numbers may be, and that every error says where it is. */
#include "bad_scene.h"

/* ---- small files that ask for much -------------------------------------------------------------------- */

/* clang-format off */
#define SOFT(attributes) "<flexcomp name='f' dim='3' " attributes "><elasticity young='1e4'/></flexcomp>"
#define OWN(x) "<mujoco xmlns:sti='urn:stiction'>\n<worldbody>\n" x "\n</worldbody>\n</mujoco>"

/* Each is refused within a second and a few megabytes, at the element that asks for too much. */
TEST(what_grows_is_counted_before_it_is_made) {
    static const bad cases[] = {
        {WORLD("<replicate count='2000000000'><geom size='1'/></replicate>"), STI_LIMIT, 3, "replicate", "count"},
        {WORLD("<replicate count='2000000000'/>"), STI_LIMIT, 3, "replicate", "count"},
        {WORLD("<replicate count='1000'>\n<replicate count='1000'>\n<replicate count='1000'><geom size='1'/>"
               "</replicate></replicate></replicate>"), STI_LIMIT, 5, "replicate", "count"},
        {WORLD("<replicate count='1000000'><body><freejoint/><geom size='1'/></body></replicate>"), STI_LIMIT, 3, "replicate", "count"},
        {"<mujoco>\n<worldbody>\n<replicate count='200000'><site name='s'/></replicate></worldbody>\n<sensor><gyro site='s'/>"
         "<gyro site='s'/><gyro site='s'/><gyro site='s'/><gyro site='s'/><gyro site='s'/></sensor></mujoco>",
         STI_LIMIT, 3, "replicate", "count"},
        {TOP("<size nkey='2000000000'/>"), STI_LIMIT, 3, "size", "nkey"},
        {TOP("<custom><numeric name='n' size='2000000000'/></custom>"), STI_LIMIT, 3, "numeric", "size"},
        {TOP("<custom>\n<numeric name='n' size='500000000'/>\n<numeric name='k' size='500000000'/></custom>"), STI_LIMIT, 5, "numeric", "size"},
        {ROBOT("<sensor>\n<user dim='400000000'/></sensor>"), STI_LIMIT, 4, "user", "dim"},
        {TOP("<asset><hfield name='h' nrow='100000' ncol='100000' size='1 1 1 1'/></asset>"), STI_LIMIT, 3, "hfield", "nrow"},
        {WORLD("<camera name='c' resolution='100000 100000'/>\n</worldbody><sensor><rangefinder camera='c'/></sensor><worldbody>"), STI_LIMIT, 4, "rangefinder", NULL},
        {WORLD(SOFT("count='1000 1000 1000'")), STI_LIMIT, 3, "flexcomp", NULL},
        {WORLD(SOFT("count='1001 2 2'")), STI_VALUE, 3, "flexcomp", "count"},
        {OWN("<sti:soft name='f' size='1' edge='1e-9' young='1e4'/>"), STI_LIMIT, 3, "soft", NULL},
        {OWN("<sti:soft name='f' type='box' size='1 1 1' edge='0.001' young='1e4'/>"), STI_LIMIT, 3, "soft", NULL},
        {OWN("<sti:soft name='f' type='box' size='1 1 1e-8' young='1e4'/>"), STI_LIMIT, 3, "soft", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(&cases[i]);
}

/* A chain of n bodies, each in the one before, with ball joints. */
static char *chain(int n) {
    static const char body[] = "<body pos='0 0 1'>\n<joint type='ball'/><geom size='.1'/>";
    char *text = malloc((size_t)n * (sizeof body + 8) + 200), *p = text;
    p += sprintf(p, "<mujoco><worldbody>");
    for (int i = 0; i < n; i++) p += sprintf(p, "%s", body);
    for (int i = 0; i < n; i++) p += sprintf(p, "</body>");
    sprintf(p, "</worldbody></mujoco>");
    return text;
}

/* Soft bodies, each of which is allowed: their sum is not. */
TEST(tetrahedra_of_all_soft_bodies_are_counted) {
    static const char xml[] = WORLD("<replicate count='2000' offset='9 0 0'>\n<flexcomp name='f' dim='3' count='11 11 11'>"
                                    "<elasticity young='1e4'/><contact contype='0' conaffinity='0'/></flexcomp></replicate>");
    sti_error e = {0};
    sti_spec *spec = sti_spec_parse(xml, sizeof xml - 1, NULL, NULL, &e);
    REQUIRE(spec);
    CHECK(!sti_model_compile(spec, NULL, &e));
    CHECK(e.code == STI_LIMIT && e.line == 4 && strcmp(e.element, "flexcomp") == 0);
    sti_spec_free(spec);
}

/* 190 classes in one another around 200,000 geoms: 12 million places to look at for every attribute. */
TEST(lookups_in_nested_classes_are_counted) {
    char *text = malloc(20000), *p = text;
    p += sprintf(p, "<mujoco><default>");
    for (int i = 0; i < 190; i++) p += sprintf(p, "<default class='c%d'><geom size='.1'/>", i);
    for (int i = 0; i < 190; i++) p += sprintf(p, "</default>");
    sprintf(p, "</default><worldbody>\n<replicate count='200000'>\n<geom class='c189'/></replicate></worldbody></mujoco>");
    sti_error e = {0};
    double start = seconds();
    CHECK(!sti_spec_parse(text, strlen(text), NULL, NULL, &e));
    CHECK(e.code == STI_LIMIT && e.line == 3 && strcmp(e.element, "geom") == 0);
    CHECK(seconds() - start < 2 * SLOWDOWN);
    free(text);
}

/* The factor of their mass matrix would take minutes. */
TEST(chains_too_long_to_factor_are_refused) {
    char *one = chain(1900);
    sti_error e = run(NULL, one, strlen(one), 32 << 20);
    CHECK(e.code == STI_LIMIT && e.line > 1200 && e.line < 1400 && strcmp(e.element, "joint") == 0);
    free(one);
}

/* The element limit is the caller's to set, and holds for what is added by hand too. */
TEST(element_limit_is_kept) {
    static const char xml[] = "<mujoco><worldbody><geom size='1'/><geom size='1'/><geom size='1'/></worldbody></mujoco>";
    sti_load_options options = sti_load_options_default();
    sti_error e;
    options.element_limit = 4;
    CHECK(!sti_spec_parse(xml, sizeof xml - 1, &options, NULL, &e) && e.code == STI_LIMIT && e.line == 1);
    options.element_limit = 5;
    sti_spec *spec = sti_spec_parse(xml, sizeof xml - 1, &options, NULL, &e);
    REQUIRE(spec);
    sti_element *world = sti_element_child(sti_spec_root(spec));
    CHECK(!sti_element_add(world, "geom", &e) && e.code == STI_LIMIT);
    sti_element_remove(sti_element_child(world));
    CHECK(sti_element_add(world, "geom", &e) != NULL);
    sti_spec_free(spec);
}

/* One error, not a second one about what the first left behind. */
TEST(a_refused_replicate_is_the_only_error) {
    static const char *const scenes[] = {
        WORLD("<replicate count='2000000000'><geom size='1'/></replicate>"),
        WORLD("<replicate count='2'><geom size='1'/></replicate><geom size='x'/>")};
    for (int i = 0; i < 2; i++) {
        sti_report report;
        sti_error e;
        sti_report_init(&report, NULL);
        CHECK(!sti_spec_parse(scenes[i], strlen(scenes[i]), NULL, &report, &e));
        CHECK(report.nerror == 1);
        sti_report_free(&report);
    }
}

/* What is only seen in the whole tree is seen when a spec that was made by hand is compiled. */
TEST(a_spec_made_by_hand_is_checked_whole) {
    sti_error e;
    sti_spec *spec = sti_spec_create(NULL, &e);
    REQUIRE(spec);
    sti_element *world = sti_element_add(sti_spec_root(spec), "worldbody", &e);
    sti_element *copies = sti_element_add(world, "replicate", &e);
    CHECK(sti_element_set(copies, "count", "2", &e) == STI_OK);
    CHECK(!sti_model_compile(spec, NULL, &e) && e.code == STI_UNSUPPORTED && !strcmp(e.element, "replicate"));
    sti_element_remove(copies);
    sti_element *body = sti_element_add(world, "body", &e);
    sti_element_add(body, "inertial", &e);
    CHECK(!sti_model_compile(spec, NULL, &e) && e.code == STI_SCHEMA && !strcmp(e.element, "inertial"));
    sti_spec_free(spec);
}

/* ---- every error has a place -------------------------------------------------------------------------- */

/* clang-format on */

/* The second of two hinges about one axis; the warning names it by its number. */
TEST(a_singular_mass_matrix_names_its_joint) {
    static const char xml[] = WORLD("<body>\n<joint/>\n<joint/>\n<geom size='.1'/></body>");
    sti_report report;
    sti_error e;
    sti_report_init(&report, NULL);
    sti_spec *spec = sti_spec_parse(xml, sizeof xml - 1, NULL, &report, &e);
    REQUIRE(spec);
    sti_model *model = sti_model_compile(spec, &report, &e);
    CHECK(model && report.nwarning == 1 && report.items[0].error.line >= 4 &&
          report.items[0].error.line <= 5);
    CHECK(strcmp(report.items[0].error.element, "joint") == 0);
    CHECK(strstr(report.items[0].error.message, "at joint 0") ||
          strstr(report.items[0].error.message, "at joint 1"));
    sti_model_free(model);
    sti_spec_free(spec);
    sti_report_free(&report);
}

/* ---- absurd magnitudes -------------------------------------------------------------------------------- */

/* The mesh of a pressure field is made with the world; which geom asks for too much is said by number and name. */
TEST(a_pressure_field_that_is_too_fine_names_its_geom) {
    static const char xml[] =
        OWN("<geom size='1'/><geom name='ball' size='1' sti:hydroelastic_stiffness='1e6' sti:edge='1e-6'/>"
            "<body pos='0 0 5'><freejoint/><geom size='1' sti:hydroelastic_stiffness='1e6'/></body>");
    sti_error e = {0};
    sti_spec *spec = sti_spec_parse(xml, sizeof xml - 1, NULL, NULL, &e);
    sti_model *model = spec ? sti_model_compile(spec, NULL, &e) : NULL;
    REQUIRE(model);
    CHECK(!sti_world_create(model, NULL, &e) && e.code == STI_LIMIT);
    CHECK(strstr(e.message, "geom 1 (ball): the mesh would have") != NULL);
    sti_model_free(model);
    sti_spec_free(spec);
}

/* clang-format off */
TEST(absurd_numbers_are_refused) {
    static const bad cases[] = {
        {TOP("<option timestep='1e10'/>"), STI_VALUE, 3, "option", "timestep"},
        {TOP("<option timestep='1e-16'/>"), STI_VALUE, 3, "option", "timestep"},
        {TOP("<option gravity='0 0 -1e11'/>"), STI_VALUE, 3, "option", "gravity"},
        {TOP("<option density='1e41'/>"), STI_VALUE, 3, "option", "density"},
        {WORLD("<body pos='1e308 0 0'><freejoint/><geom size='1'/></body>"), STI_VALUE, 3, "body", "pos"},
        {WORLD("<body pos='0 0 -2e10'/>"), STI_VALUE, 3, "body", "pos"},
        {WORLD("<frame pos='1e10 0 0'>\n<body pos='1 0 0'>\n<freejoint/><geom size='1'/></body></frame>"), STI_PHYSICS, 5, "freejoint", ""},
        {WORLD("<replicate count='3' offset='9e9 0 0'><geom size='1'/></replicate>"), STI_VALUE, 3, "frame", "pos"},
        {WORLD("<geom size='1e11'/>"), STI_VALUE, 3, "geom", "size"},
        {WORLD("<geom type='capsule' size='1' fromto='0 0 0 0 0 1e11'/>"), STI_VALUE, 3, "geom", "fromto"},
        {WORLD("<geom size='1' mass='1e41'/>"), STI_VALUE, 3, "geom", "mass"},
        {WORLD("<geom size='1' density='-1e300'/>"), STI_VALUE, 3, "geom", "density"},
        {WORLD("<geom size='1' friction='1e200'/>"), STI_VALUE, 3, "geom", "friction"},
        {WORLD("<body><inertial mass='1' pos='0 1e11 0' diaginertia='1 1 1'/></body>"), STI_VALUE, 3, "inertial", "pos"},
        {WORLD("<body><inertial mass='1' pos='0 0 0' diaginertia='1e300 1e300 1e300'/></body>"), STI_VALUE, 3, "inertial", "diaginertia"},
        {WORLD("<body><joint stiffness='1e300'/><geom size='1'/></body>"), STI_VALUE, 3, "joint", "stiffness"},
        {WORLD("<body><joint damping='-1e300'/><geom size='1'/></body>"), STI_VALUE, 3, "joint", "damping"},
        {WORLD("<body><joint armature='1e300'/><geom size='1'/></body>"), STI_VALUE, 3, "joint", "armature"},
        {WORLD("<body><joint ref='1e300'/><geom size='1'/></body>"), STI_VALUE, 3, "joint", "ref"},
        {WORLD("<body><joint pos='0 1e300 0'/><geom size='1'/></body>"), STI_VALUE, 3, "joint", "pos"},
        {WORLD("<site size='1e300'/>"), STI_VALUE, 3, "site", "size"},
        {WORLD("<camera pos='0 0 1e300'/>"), STI_VALUE, 3, "camera", "pos"},
        {WORLD(SOFT("spacing='1e300 1 1' count='2 2 2'")), STI_VALUE, 3, "flexcomp", "spacing"},
        {WORLD(SOFT("spacing='2e9 1 1' count='3 2 2'")), STI_VALUE, 3, "flexcomp", NULL},
        {WORLD(SOFT("pos='1e10 0 0' spacing='1 1 1' count='2 2 2'")), STI_PHYSICS, 3, "flexcomp", NULL},
        {WORLD(SOFT("mass='1e300' count='2 2 2'")), STI_VALUE, 3, "flexcomp", "mass"},
        {OWN("<sti:soft name='s' size='1' edge='1' young='1e300'/>"), STI_VALUE, 3, "soft", "young"},
        {TOP("<asset><hfield name='h' nrow='2' ncol='2' size='1e300 1 1 1'/></asset>"), STI_VALUE, 3, "hfield", "size"},
        {TOP("<asset><mesh name='m' vertex='0 0 0 1e300 0 0 0 1 0 0 0 1'/></asset>"), STI_VALUE, 3, "mesh", "vertex"},
        {ROBOT("<keyframe><key qpos='1e300'/></keyframe>"), STI_VALUE, 3, "key", "qpos"},
        {ROBOT("<keyframe><key qvel='-1e11'/></keyframe>"), STI_VALUE, 3, "key", "qvel"},
        {ROBOT("<keyframe><key time='1e300'/></keyframe>"), STI_VALUE, 3, "key", "time"},
        {ROBOT("<actuator><position joint='j' kp='1e300'/></actuator>"), STI_VALUE, 3, "position", "kp"},
        {ROBOT("<equality><connect body1='b' anchor='1e300 0 0'/></equality>"), STI_VALUE, 3, "connect", "anchor"},
        /* no limit is meant */
        {ROBOT("<actuator><motor joint='j' ctrlrange='-1e308 1e308' forcerange='-1e300 1e300'/></actuator>"), STI_OK, -1, NULL, NULL},
        {WORLD("<body><joint range='-1e308 1e308'/><geom size='1'/></body>"), STI_OK, -1, NULL, NULL},
        {TOP("<custom><numeric name='n' data='1e308'/></custom>"), STI_OK, -1, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(&cases[i]);
}
/* clang-format on */

static bool all_finite(sti_view v) {
    for (int i = 0; i < v.rows * v.cols; i++)
        if (v.type == 'd' && !isfinite(((const double *)v.data)[i])) return false;
    return true;
}

/* The largest numbers that load give a pose that is finite in every field. */
TEST(the_largest_numbers_give_finite_fields) {
    static const char xml[] =
        "<mujoco><worldbody><body pos='1e10 -1e10 1e10'><freejoint/><geom size='1e10' mass='1e40'/>"
        "<body pos='1e10 1e10 1e10'><joint type='ball'/><geom type='box' size='1e10 1e10 1e10' "
        "density='1e40' "
        "pos='1e10 0 0'/></body></body></worldbody></mujoco>";
    sti_error e = {0};
    sti_spec *spec = sti_spec_parse(xml, sizeof xml - 1, NULL, NULL, &e);
    sti_model *model = spec ? sti_model_compile(spec, NULL, &e) : NULL;
    REQUIRE(model);
    sti_world *world = sti_world_create(model, NULL, &e);
    REQUIRE(world);
    CHECK(sti_forward(world) == STI_OK);
    static const sti_field fields[] = {STI_FIELD_xpos, STI_FIELD_subtree_com, STI_FIELD_geom_xpos,
                                       STI_FIELD_qacc};
    for (int i = 0; i < 4; i++) CHECK(all_finite(sti_world_view(world, fields[i])));
    CHECK(all_finite(sti_model_view(model, "body_mass")) &&
          all_finite(sti_model_view(model, "body_inertia")));
    CHECK(all_finite(sti_model_view(model, "dof_invweight0")) && all_finite(sti_model_view(model, "dof_M0")));
    sti_world_destroy(world);
    sti_model_free(model);
    sti_spec_free(spec);
}

MAIN(CASE(what_grows_is_counted_before_it_is_made), CASE(tetrahedra_of_all_soft_bodies_are_counted),
     CASE(lookups_in_nested_classes_are_counted), CASE(chains_too_long_to_factor_are_refused),
     CASE(element_limit_is_kept), CASE(a_refused_replicate_is_the_only_error),
     CASE(a_spec_made_by_hand_is_checked_whole), CASE(a_singular_mass_matrix_names_its_joint),
     CASE(a_pressure_field_that_is_too_fine_names_its_geom), CASE(absurd_numbers_are_refused),
     CASE(the_largest_numbers_give_finite_fields))
