/* SPDX-License-Identifier: Apache-2.0 */
#include "load/element.h"
#include "test.h"
#include <stiction/spec.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- helpers ------------------------------------------------------------------------------------ */

static sti_spec *parse(const char *xml, sti_error *error) {
    return sti_spec_parse(xml, strlen(xml), NULL, NULL, error);
}

/* A scene with `text` in its worldbody. */
static sti_spec *world(const char *before, const char *inside, sti_error *error) {
    char xml[4096];
    snprintf(xml, sizeof xml, "<mujoco>%s<worldbody>%s</worldbody></mujoco>", before, inside);
    return parse(xml, error);
}

/* Parsing must fail with this code, line, element and attribute, and the message must hold `text`. */
static int fails(const char *xml, sti_status code, int line, const char *element, const char *attribute,
                 const char *text) {
    sti_error e;
    sti_spec *spec = parse(xml, &e);
    int ok = !spec && e.code == code && e.line == line && !strcmp(e.element, element) &&
             !strcmp(e.attribute, attribute) && strstr(e.message, text);
    if (!ok)
        fprintf(stderr, "  got %s line %d %s@%s: %s\n", spec ? "a spec" : sti_status_name(e.code), e.line,
                e.element, e.attribute, e.message);
    sti_spec_free(spec);
    return ok;
}

static int geom_fails(const char *attributes, sti_status code, const char *attribute, const char *text) {
    char xml[512];
    snprintf(xml, sizeof xml, "<mujoco>\n<worldbody>\n<geom %s/></worldbody></mujoco>", attributes);
    return fails(xml, code, 3, "geom", attribute, text);
}

static const sti_element *find(sti_spec *spec, const char *tag, const char *name) {
    const sti_element *e = sti_spec_find(spec, tag, name);
    REQUIRE(e != NULL);
    return e;
}

static sti_spec *scene(const char *name, sti_report *report, sti_error *error) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", getenv("STI_SCENES"), name);
    return sti_spec_load(path, NULL, report, error);
}

/* ---- reading ---------------------------------------------------------------------------------------- */

TEST(reads_elements_and_values) {
    sti_error e;
    sti_spec *spec =
        parse("<?xml version='1.0'?>\n<!-- a comment -->\n<mujoco model='m&amp;m'>\n <worldbody>\n"
              "  <body name='b' pos='1 -2.5 3e-1'>\n   <geom name='g' type='box' size='.1 .2 +.3'\n"
              "     condim='4' rgba='1 0 0 1'/>\n  </body>\n </worldbody>\n</mujoco>",
              &e);
    REQUIRE(spec);
    CHECK(!strcmp(sti_element_get(sti_spec_root(spec), "model"), "m&m"));
    const sti_element *b = find(spec, "body", "b"), *g = find(spec, "geom", "g");
    double pos[3], size[3];
    CHECK(sti__eid_of(b) == STI_E_body && sti__eid_of(g) == STI_E_geom);
    CHECK(sti__reals(b, STI_A_pos, pos, 3) == 3 && pos[0] == 1 && pos[1] == -2.5 && pos[2] == 0.3);
    CHECK(sti__reals(g, STI_A_size, size, 3) == 3 && size[2] == 0.3);
    CHECK(sti__keyword(g, STI_A_type, -1) == 6 && sti__int(g, STI_A_condim, 0) == 4);
    CHECK(sti__place_of(b).line == 5 && sti__place_of(g).line == 6);
    CHECK(!strcmp(sti__place_attr(g, STI_A_size).attribute, "size"));
    CHECK(sti__first(b, STI_E_geom) == g && sti__next_same(g) == NULL && sti__first(g, STI_E_geom) == NULL);
    sti_spec_free(spec);
}

TEST(unset_values_come_from_the_schema) {
    sti_error e;
    sti_spec *spec = world("", "<geom name='g' size='1' friction='0.5'/><body><joint name='j'/></body>", &e);
    REQUIRE(spec);
    const sti_element *g = find(spec, "geom", "g");
    double friction[3], solimp[5], fromto[6] = {7, 7, 7, 7, 7, 7};
    CHECK(sti__reals(g, STI_A_friction, friction, 3) == 1);
    CHECK(friction[0] == 0.5 && friction[1] == 0.005 && friction[2] == 0.0001);
    CHECK(sti__reals(g, STI_A_solimp, solimp, 5) == 0 && solimp[2] == 0.001 && solimp[4] == 2);
    CHECK(sti__reals(g, STI_A_fromto, fromto, 6) == 0 && fromto[5] == 7);
    CHECK(sti__real(g, STI_A_mass, -3) == -3 && sti__real(g, STI_A_density, -3) == 1000);
    CHECK(sti__keyword(g, STI_A_type, -1) == 2 &&
          sti__keyword(find(spec, "joint", "j"), STI_A_limited, -1) == 2);
    CHECK(!sti__has(g, STI_A_solimp) && sti__has_own(g, STI_A_friction) &&
          sti__text(g, STI_A_material) == NULL);
    sti_spec_free(spec);
}

TEST(blank_numbers_and_empty_names_are_unset) {
    sti_error e;
    sti_spec *spec = world("", "<geom name='g' size='1' rgba=' ' material=''/>", &e);
    REQUIRE(spec);
    const sti_element *g = find(spec, "geom", "g");
    CHECK(!sti__has(g, STI_A_rgba) && sti__text(g, STI_A_material) == NULL);
    sti_spec_free(spec);
}

TEST(long_lists) {
    sti_error e;
    sti_spec *spec = parse(
        "<mujoco><asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 1 2'/></asset></mujoco>", &e);
    REQUIRE(spec);
    const sti_element *m = find(spec, "mesh", "m");
    int count;
    const double *vertex = sti__list(m, STI_A_vertex, &count);
    CHECK(count == 12 && vertex[3] == 1 && vertex[11] == 1);
    CHECK(sti__list(m, STI_A_face, &count)[2] == 2 && count == 3);
    CHECK(sti__list(m, STI_A_texcoord, &count) == NULL && count == 0);
    sti_spec_free(spec);
}

TEST(settings_last_one_counts) {
    sti_error e;
    sti_spec *spec = parse("<mujoco><option timestep='0.01' gravity='0 0 -1'><flag energy='enable'/></option>"
                           "<option timestep='0.02'/><visual><map zfar='7'/></visual></mujoco>",
                           &e);
    REQUIRE(spec);
    double gravity[3];
    CHECK(sti__real(sti__setting(spec, STI_E_option, STI_A_timestep), STI_A_timestep, 0) == 0.02);
    CHECK(sti__reals(sti__setting(spec, STI_E_option, STI_A_gravity), STI_A_gravity, gravity, 3) == 3 &&
          gravity[2] == -1);
    CHECK(sti__real(sti__setting(spec, STI_E_option, STI_A_density), STI_A_density, 3) == 0);
    CHECK(sti__keyword(sti__setting(spec, STI_E_flag, STI_A_energy), STI_A_energy, 0) == 1);
    CHECK(sti__keyword(sti__setting(spec, STI_E_flag, STI_A_contact), STI_A_contact, 0) == 1);
    CHECK(sti__real(sti__setting(spec, STI_E_map, STI_A_zfar), STI_A_zfar, 0) == 7);
    CHECK(sti__int(sti__setting(spec, STI_E_global, STI_A_offwidth), STI_A_offwidth, 0) == 640);
    sti_spec_free(spec);
}

/* ---- defaults
   ---------------------------------------------------------------------------------------------- */

static double size_of(sti_spec *spec, const char *name) {
    return sti__real(find(spec, "geom", name), STI_A_size, -1);
}

TEST(defaults_nest_and_inherit) {
    sti_error e;
    sti_spec *spec =
        world("<default><default class='b'><geom condim='4'/><default class='c'><geom condim='6'/></default>"
              "</default><geom size='3' condim='1'/></default>",
              "<geom name='m'/><geom name='b' class='b'/><geom name='c' class='c'/>"
              "<geom name='main' class='main'/><geom name='own' class='c' condim='3'/>",
              &e);
    REQUIRE(spec);
    const char *name[] = {"m", "b", "c", "main", "own"};
    int condim[] = {1, 4, 6, 1, 3};
    for (int i = 0; i < 5; i++) {
        CHECK(size_of(spec, name[i]) == 3);
        CHECK(sti__int(find(spec, "geom", name[i]), STI_A_condim, 0) == condim[i]);
    }
    CHECK(sti__has(find(spec, "geom", "c"), STI_A_size) &&
          !sti__has_own(find(spec, "geom", "c"), STI_A_size));
    sti_spec_free(spec);
}

TEST(childclass_reaches_down_until_the_next) {
    sti_error e;
    sti_spec *spec = world("<default><geom size='1'/><default class='b'><geom size='2'/></default>"
                           "<default class='c'><geom size='4'/></default></default>",
                           "<geom name='w'/><body childclass='b'><geom name='1'/><body><geom name='2'/>"
                           "<geom name='3' class='c'/></body><body childclass='main'><geom name='4'/></body>"
                           "<frame childclass='c'><geom name='5'/></frame><geom name='6'/></body>",
                           &e);
    REQUIRE(spec);
    CHECK(size_of(spec, "w") == 1 && size_of(spec, "1") == 2 && size_of(spec, "2") == 2);
    CHECK(size_of(spec, "3") == 4 && size_of(spec, "4") == 1 && size_of(spec, "5") == 4 &&
          size_of(spec, "6") == 2);
    sti_spec_free(spec);
}

TEST(short_values_are_completed_by_outer_classes) {
    sti_error e;
    sti_spec *spec = world("<default><geom size='1' solimp='0.8 0.9 0.01 0.4 3'/><default class='b'>"
                           "<geom solimp='0.7 0.75'/></default></default>",
                           "<geom name='g' class='b' solimp='0.6'/>", &e);
    REQUIRE(spec);
    double solimp[5], expected[5] = {0.6, 0.75, 0.01, 0.4, 3};
    CHECK(sti__reals(find(spec, "geom", "g"), STI_A_solimp, solimp, 5) == 1);
    for (int i = 0; i < 5; i++) CHECK(solimp[i] == expected[i]);
    sti_spec_free(spec);
}

TEST(repeated_main_sections_override) {
    sti_error e;
    sti_spec *spec =
        world("<default><geom size='3' condim='1'/></default><option/><default class='main'><geom size='4'/>"
              "<default class='b'><site size='1'/></default></default><default/>",
              "<geom name='g'/><geom name='b' class='b'/>", &e);
    REQUIRE(spec);
    CHECK(size_of(spec, "g") == 4 && sti__int(find(spec, "geom", "g"), STI_A_condim, 0) == 1);
    CHECK(size_of(spec, "b") == 4 && sti__int(find(spec, "geom", "b"), STI_A_condim, 0) == 1);
    sti_spec_free(spec);
}

TEST(actuators_and_tendons_share_defaults) {
    sti_error e;
    sti_spec *spec =
        parse("<mujoco><default><general ctrlrange='-1 1'/><motor gear='5'/><tendon stiffness='9'/>"
              "<default class='s'><position kp='7'/></default></default>"
              "<actuator><motor name='m' joint='j'/><position name='p' class='s' joint='j'/>"
              "<general name='g' class='s' joint='j'/></actuator>"
              "<tendon><fixed name='f'><joint joint='j' coef='1'/></fixed>"
              "<spatial name='t'><site site='a'/><site site='b'/></spatial></tendon></mujoco>",
              &e);
    REQUIRE(spec);
    double range[2];
    const sti_element *m = find(spec, "motor", "m"), *p = find(spec, "position", "p"),
                      *g = find(spec, "general", "g");
    CHECK(sti__reals(m, STI_A_ctrlrange, range, 2) == 2 && range[0] == -1);
    CHECK(sti__real(m, STI_A_gear, 0) == 5 && sti__real(p, STI_A_gear, 0) == 5);
    CHECK(sti__real(p, STI_A_kp, 0) == 7 && sti__eid_of(sti__where(p, STI_A_kp)) == STI_E_position);
    CHECK(sti__has(g, STI_A_kp) && sti__where(g, STI_A_kp) != g);
    CHECK(sti__real(find(spec, "fixed", "f"), STI_A_stiffness, 0) == 9);
    CHECK(sti__real(find(spec, "spatial", "t"), STI_A_stiffness, 0) == 9);
    /* innermost first: class s, then main's motor, then main's general */
    const sti_element *d = sti__default_next(p, NULL);
    CHECK(sti__eid_of(d) == STI_E_position);
    CHECK(sti__eid_of(d = sti__default_next(p, d)) == STI_E_motor);
    CHECK(sti__eid_of(d = sti__default_next(p, d)) == STI_E_general);
    CHECK(sti__default_next(p, d) == NULL);
    sti_spec_free(spec);
}

TEST(default_errors) {
    CHECK(fails("<mujoco><worldbody>\n<geom size='1' class='x'/></worldbody></mujoco>", STI_REFERENCE, 2,
                "geom", "class", "unknown default class 'x'"));
    CHECK(fails("<mujoco><worldbody>\n<body childclass='x'/></worldbody></mujoco>", STI_REFERENCE, 2, "body",
                "childclass", "unknown default class 'x'"));
    CHECK(fails("<mujoco><default class='x'/></mujoco>", STI_VALUE, 1, "default", "class", "always 'main'"));
    CHECK(fails("<mujoco><default>\n<default/></default></mujoco>", STI_SCHEMA, 2, "default", "class",
                "needs a name"));
    CHECK(fails("<mujoco><default><default class='a'/>\n<default class='a'/></default></mujoco>",
                STI_REFERENCE, 2, "default", "class", "another default class 'a'"));
    CHECK(fails("<mujoco><default><geom/>\n<geom/></default></mujoco>", STI_SCHEMA, 2, "geom", "",
                "only once"));
    CHECK(fails("<mujoco><default><geom name='x'/></default></mujoco>", STI_SCHEMA, 1, "geom", "name",
                "default class"));
}

/* ---- errors
   --------------------------------------------------------------------------------------------------- */

TEST(bad_values) {
    CHECK(geom_fails("size='1 x'", STI_VALUE, "size", "'x' is not a number"));
    CHECK(geom_fails("size='1,2,3'", STI_VALUE, "size", "not a number"));
    CHECK(geom_fails("size='nan'", STI_VALUE, "size", "not a finite number"));
    CHECK(geom_fails("size='-inf'", STI_VALUE, "size", "not a finite number"));
    CHECK(geom_fails("size='1e400'", STI_VALUE, "size", "not a finite number"));
    CHECK(geom_fails("size='1' pos='1 2'", STI_VALUE, "pos", "needs 3 numbers, 2 given"));
    CHECK(geom_fails("size='1 2 3 4'", STI_VALUE, "size", "takes 1 to 3 numbers, 4 given"));
    CHECK(geom_fails("size='1' condim='3.0'", STI_VALUE, "condim", "not an integer"));
    CHECK(geom_fails("size='1' contype='4294967295'", STI_VALUE, "contype", "too large"));
    CHECK(geom_fails("size='1' type='blob'", STI_VALUE, "type", "expected one of plane, hfield, sphere"));
    CHECK(geom_fails("size='1' type='Sphere'", STI_VALUE, "type", "did you mean 'sphere'?"));
    CHECK(fails("<mujoco><worldbody><site type='plane'/></worldbody></mujoco>", STI_VALUE, 1, "site", "type",
                "plane"));
}

TEST(unknown_names_and_suggestions) {
    CHECK(geom_fails("sise='1'", STI_SCHEMA, "sise", "did you mean 'size'?"));
    CHECK(geom_fails("wobble='1'", STI_SCHEMA, "wobble", "unknown attribute"));
    CHECK(
        fails("<mujoco>\n<wordbody/></mujoco>", STI_SCHEMA, 2, "wordbody", "", "did you mean 'worldbody'?"));
    CHECK(fails("<mujoco><asset>\n<geom/></asset></mujoco>", STI_SCHEMA, 2, "geom", "",
                "not allowed in 'asset'"));
    CHECK(
        fails("<mujoco><worldbody><joint/></worldbody></mujoco>", STI_SCHEMA, 1, "joint", "", "not allowed"));
    CHECK(
        fails("<mujoco><something_else/></mujoco>", STI_SCHEMA, 1, "something_else", "", "unknown element"));
    CHECK(fails("<body/>", STI_SCHEMA, 1, "body", "", "must be 'mujoco'"));
    CHECK(fails("<robot><link/></robot>", STI_SCHEMA, 1, "link", "name", "required"));
    CHECK(fails("<mujoco><robot/></mujoco>", STI_SCHEMA, 1, "robot", "", "unknown element"));
    CHECK(fails("<mujoco><worldbody pos='0 0 0'/></mujoco>", STI_SCHEMA, 1, "worldbody", "pos",
                "unknown attribute"));
    CHECK(fails(
        "<mujoco><worldbody><body><inertial mass='1' pos='0 0 0'/>\n<inertial mass='1' pos='0 0 0'/></body>"
        "</worldbody></mujoco>",
        STI_SCHEMA, 2, "inertial", "", "only once in 'body'"));
    CHECK(fails("<mujoco><contact><exclude body1='a'/></contact></mujoco>", STI_SCHEMA, 1, "exclude", "body2",
                "required"));
}

TEST(unsupported_is_named) {
    CHECK(fails("<mujoco><equality>\n<flexstrain flex='j' any='thing'/></equality></mujoco>", STI_UNSUPPORTED,
                2, "flexstrain", "", "not supported yet"));
    CHECK(fails("<mujoco><deformable>\n<flex name='f' node='a'/></deformable></mujoco>", STI_UNSUPPORTED, 2,
                "flex", "node", "not supported yet"));
    sti_error e;
    sti_report report;
    sti_report_init(&report, NULL);
    const char *xml =
        "<mujoco><option ccd_iterations='7' iterations='3'/><asset><mesh name='a' normal='0 0 1'/>"
        "</asset><worldbody><geom size='1' adhesion='0'/><body><joint damping='3 0 0' springyield='0'/>"
        "</body> stray </worldbody></mujoco>";
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, &report, &e);
    CHECK(spec && e.code == STI_OK && report.nerror == 0 && report.nwarning == 4);
    CHECK(report.count == 4 && !strcmp(report.items[0].error.attribute, "ccd_iterations"));
    CHECK(report.count == 4 && !strcmp(report.items[1].error.attribute, "iterations"));
    CHECK(report.count == 4 && strstr(report.items[2].error.message, "text between elements"));
    CHECK(report.count == 4 && !strcmp(report.items[3].error.element, "mesh"));
    sti_spec_free(spec);
    sti_report_free(&report);
}

TEST(all_errors_are_collected) {
    sti_error e;
    sti_report report;
    sti_report_init(&report, NULL);
    const char *xml = "<mujoco>\n<worldbody>\n<geom sise='1' type='blob'/>\n<bodi><geom bad='1'/></bodi>\n"
                      "<geom size='x' class='none'/>\n</worldbody></mujoco>";
    CHECK(!sti_spec_parse(xml, strlen(xml), NULL, &report, &e));
    CHECK(report.nerror == 5 && e.line == 3 && !strcmp(e.attribute, "sise"));
    int line[] = {3, 3, 4, 5, 5};
    for (int i = 0; i < report.count; i++) CHECK(report.items[i].error.line == line[i]);
    sti_report_free(&report);
}

TEST(broken_xml) {
    CHECK(fails("<mujoco>\n<worldbody>\n</mujoco>", STI_XML, 3, "", "",
                "mismatched tag: <worldbody> of line 2"));
    CHECK(fails("<mujoco>\n<worldbody>\n<body>\n", STI_XML, 4, "", "", "ends too early: <body> of line 3"));
    CHECK(fails("", STI_XML, 1, "", "", "empty"));
    CHECK(fails("<mujoco>\n<worldbody>", STI_XML, 2, "", "", ""));
    CHECK(fails("", STI_XML, 1, "", "", ""));
    CHECK(fails("<mujoco><option timestep='1' timestep='2'/></mujoco>", STI_XML, 1, "", "", "duplicate"));
    CHECK(fails("<mujoco>\n<option timestep='\xff'/></mujoco>", STI_XML, 2, "", "", ""));
    CHECK(fails("<mujoco>&unknown;</mujoco>", STI_XML, 1, "", "", ""));
    CHECK(fails("<mujoco/><mujoco/>", STI_XML, 1, "", "", ""));
    CHECK(fails("<!DOCTYPE m [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;'>]>\n<mujoco model='&b;'/>", STI_XML, 1,
                "", "", "DOCTYPE"));
    CHECK(fails("<mujoco a:b='1'/>", STI_XML, 1, "", "", ""));
}

/* <body> nested `count` times */
static char *nested(int count) {
    char *xml = malloc((size_t)count * 6 + 64), *p = xml;
    p += sprintf(p, "<mujoco><worldbody>");
    for (int i = 0; i < count; i++) p += sprintf(p, "<body>");
    return xml;
}

/* A rope is a body in a body in a body: read, written and read again. */
TEST(long_chains_are_read) {
    enum { LINKS = 990 };
    size_t size;
    sti_error e = {0};
    char *xml = realloc(nested(LINKS), (size_t)LINKS * 13 + 128);
    xml[strlen("<mujoco><worldbody>") + 6 * LINKS] = 0;
    for (int i = 0; i < LINKS; i++)
        memcpy(xml + strlen("<mujoco><worldbody>") + 6 * LINKS + 7 * i, "</body>", 8);
    strcat(xml, "</worldbody></mujoco>");
    sti_spec *spec = parse(xml, &e);
    CHECK(spec && e.code == STI_OK);
    char *text = sti_spec_write(spec, false, &size, &e);
    CHECK(text && size < 100 * 2 * LINKS);
    sti_spec *again = parse(text, &e);
    CHECK(again);
    int depth = 0;
    for (sti_element *at = sti_spec_root(again); at; at = sti_element_child(at)) depth++;
    CHECK(depth == LINKS + 2);
    sti_string_free(spec, text, size);
    sti_spec_free(again);
    sti_spec_free(spec);
    free(xml);
}

TEST(deep_nesting_is_refused) {
    char *xml = nested(1000000);
    sti_error e;
    CHECK(!parse(xml, &e) && e.code == STI_LIMIT && strstr(e.message, "nested"));
    free(xml);
    xml = nested(1000000);
    memcpy(xml + 8, "<nonsense> ", 11); /* also where elements are only skipped */
    CHECK(!parse(xml, &e) && e.code == STI_SCHEMA);
    free(xml);
    sti_spec *spec = sti_spec_create(NULL, &e);
    sti_element *at = sti_element_add(sti_spec_root(spec), "worldbody", &e);
    int depth = 0;
    for (sti_element *next = at; (next = sti_element_add(at, "body", &e)); depth++) at = next;
    CHECK(e.code == STI_LIMIT && depth > 1900 && depth < 2000);
    sti_spec_free(spec);
}

TEST(copies) {
    static const char *const xml =
        "<mujoco><worldbody><replicate count='3' offset='1 0 0'>\n<body name='b'><joint name='j'/><geom "
        "size='1'/>"
        "</body></replicate></worldbody><actuator><motor name='m' joint='j'/></actuator></mujoco>";
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, NULL);
    CHECK(spec && sti_spec_find(spec, "body", "b0") && sti_spec_find(spec, "body", "b2") &&
          !sti_spec_find(spec, "body", "b"));
    CHECK(spec && sti_spec_find(spec, "motor", "m1") && !sti_spec_find(spec, "motor", "m"));
    if (spec) CHECK(strcmp(sti_element_get(sti_spec_find(spec, "motor", "m1"), "joint"), "j1") == 0);
    sti_spec_free(spec);
    CHECK(fails("<mujoco><worldbody>\n<replicate><geom size='1'/></replicate></worldbody></mujoco>",
                STI_SCHEMA, 2, "replicate", "count", "required"));
    CHECK(fails(
        "<mujoco><worldbody>\n<replicate count='2000000'><geom size='1'/></replicate></worldbody></mujoco>",
        STI_LIMIT, 2, "replicate", "count", "element_limit"));
}

TEST(memory_limit_is_kept) {
    char *xml = malloc(2000000), *p = xml;
    p += sprintf(p, "<mujoco><worldbody>");
    for (int i = 0; i < 50000; i++) p += sprintf(p, "<geom size='1 2 3'/>");
    sprintf(p, "</worldbody></mujoco>");
    sti_load_options options = sti_load_options_default();
    options.memory_limit = 1 << 20;
    sti_error e;
    CHECK(!sti_spec_parse(xml, strlen(xml), &options, NULL, &e) && e.code == STI_LIMIT);
    options.memory_limit = 0;
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), &options, NULL, &e);
    CHECK(spec != NULL);
    sti_spec_free(spec);
    free(xml);
}

TEST(options_must_be_initialised) {
    sti_load_options options = {0};
    sti_error e;
    CHECK(!sti_spec_parse("<mujoco/>", 9, &options, NULL, &e) && e.code == STI_ARGUMENT);
    CHECK(!sti_spec_load(NULL, NULL, NULL, &e) && e.code == STI_ARGUMENT);
    CHECK(!sti_spec_parse(NULL, 3, NULL, NULL, &e) && e.code == STI_ARGUMENT);
}

/* ---- files
   ----------------------------------------------------------------------------------------------------------- */

#define ASSET(name, text) \
    { name, text, sizeof(text) - 1 }

static sti_spec *with_assets(const char *xml, const sti_asset *assets, int count, sti_error *error) {
    sti_load_options options = sti_load_options_default();
    options.assets = assets;
    options.nasset = count;
    options.no_disk = true;
    return sti_spec_parse(xml, strlen(xml), &options, NULL, error);
}

TEST(includes_are_expanded_in_place) {
    sti_asset assets[] = {
        ASSET("bodies.xml",
              "<mujoco model='ignored'>\n<body name='b'><include file='sub/geom.xml'/></body>\n</mujoco>"),
        ASSET("sub/geom.xml", "<mujocoinclude>\n\n<geom name='g' size='1'/></mujocoinclude>")};
    sti_error e;
    sti_spec *spec =
        with_assets("<mujoco><worldbody><body name='a'/><include file='bodies.xml'/><body name='c'/>"
                    "</worldbody></mujoco>",
                    assets, 2, &e);
    REQUIRE(spec);
    const sti_element *g = find(spec, "geom", "g");
    CHECK(!strcmp(sti__place_of(g).file, "sub/geom.xml") && sti__place_of(g).line == 3);
    const sti_element *b = sti_element_next(find(spec, "body", "a"));
    CHECK(b == find(spec, "body", "b") && sti_element_next(b) == find(spec, "body", "c"));
    CHECK(sti_element_parent(g) == b && sti_element_get(sti_spec_root(spec), "model") == NULL);
    sti_spec_free(spec);
}

TEST(include_errors) {
    sti_asset assets[] = {ASSET("a.xml", "<mujoco>\n<include file='b.xml'/></mujoco>"),
                          ASSET("b.xml", "<mujoco>\n\n<include file='./x/../a.xml'/></mujoco>"),
                          ASSET("bad.xml", "<mujoco>\n<option timestep='x'/></mujoco>"),
                          ASSET("broken.xml", "<mujoco>\n<option")};
    sti_error e;
    CHECK(!with_assets("<mujoco><include file='a.xml'/></mujoco>", assets, 4, &e));
    CHECK(e.code == STI_REFERENCE && e.line == 3 && !strcmp(e.file, "b.xml") &&
          strstr(e.message, "included twice"));
    CHECK(
        !with_assets("<mujoco><include file='bad.xml'/>\n<include file='bad.xml'/></mujoco>", assets, 4, &e));
    CHECK(e.code == STI_VALUE && e.line == 2 && !strcmp(e.file, "bad.xml") &&
          !strcmp(e.attribute, "timestep"));
    CHECK(!with_assets("<mujoco><include file='broken.xml'/></mujoco>", assets, 4, &e));
    CHECK(e.code == STI_XML && e.line == 2 && !strcmp(e.file, "broken.xml"));
    CHECK(!with_assets("<mujoco>\n<include file='none.xml'/></mujoco>", assets, 4, &e));
    CHECK(e.code == STI_FILE && e.line == 2 && !strcmp(e.element, "include"));
    CHECK(fails("<mujoco><include/></mujoco>", STI_SCHEMA, 1, "include", "file", "missing"));
    CHECK(fails("<mujoco><include file='/etc/hostname'/></mujoco>", STI_PATH, 1, "include", "file",
                "allow_outside"));
    CHECK(fails("<mujoco><include file='../../none.xml'/></mujoco>", STI_PATH, 1, "include", "file",
                "allow_outside"));
}

static void put_file(const char *folder, const char *name, const char *text) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "w");
    REQUIRE(f != NULL);
    fputs(text, f);
    fclose(f);
}

static sti_status read_named(const sti_spec *spec, const char *dir, const char *name, char *out,
                             sti_error *error) {
    void *data;
    size_t size;
    sti_status code = sti__spec_read_file(spec, dir, name, (sti__place){0}, &data, &size, error);
    if (code) return code;
    snprintf(out, 64, "%.*s", (int)size, data ? (char *)data : "");
    sti__free(sti__spec_allocator(spec), data, size);
    return STI_OK;
}

static void make_folders(const char *root, const char *const *names, int count) {
    char path[512];
    for (int i = 0; i < count; i++) {
        snprintf(path, sizeof path, "%s/%s", root, names[i]);
        REQUIRE(mkdir(path, 0700) == 0);
    }
}

static sti_spec *load_under(const char *root, const char *name, const sti_load_options *options,
                            sti_error *e) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return sti_spec_load(path, options, NULL, e);
}

static void remove_folder(const char *root) {
    char command[600];
    snprintf(command, sizeof command, "rm -r '%s'", root);
    CHECK(system(command) == 0);
}

TEST(files_stay_in_the_project) {
    char root[] = "/tmp/sti_load_XXXXXX", path[512], text[64];
    REQUIRE(mkdtemp(root) != NULL);
    make_folders(root, (const char *[]){"robot", "robot/model", "robot/model/meshes", "robot/.keys"}, 4);
    put_file(root, "secret.txt", "secret");
    put_file(root, "robot/near.txt", "near");
    put_file(root, "robot/.keys/a", "key");
    put_file(root, "robot/model/meshes/a.stl", "solid");
    put_file(root, "robot/model/empty.stl", "");
    put_file(root, "robot/model/main.xml", "<mujoco><include file='part.xml'/></mujoco>");
    put_file(root, "robot/model/self.xml", "<mujoco><include file='./meshes/../self.xml'/></mujoco>");
    put_file(root, "robot/model/part.xml", "<mujoco><option timestep='0.25'/></mujoco>");
    snprintf(path, sizeof path, "%s/robot/model/link.txt", root);
    REQUIRE(symlink("../../secret.txt", path) == 0);
    sti_error e;
    snprintf(path, sizeof path, "%s/robot/model/self.xml", root);
    CHECK(!sti_spec_load(path, NULL, NULL, &e) && e.code == STI_REFERENCE && !strcmp(e.file, path));
    sti_spec *spec = load_under(root, "robot/model/main.xml", NULL, &e);
    REQUIRE(spec);
    snprintf(path, sizeof path, "%s/robot/model/part.xml", root);
    CHECK(!strcmp(sti__place_of(sti__first(sti__root(spec), STI_E_option)).file, path));
    CHECK(sti__real(sti__setting(spec, STI_E_option, STI_A_timestep), STI_A_timestep, 0) == 0.25);
    CHECK(read_named(spec, "meshes", "a.stl", text, &e) == STI_OK && !strcmp(text, "solid"));
    CHECK(read_named(spec, "../model/meshes", "a.stl", text, &e) == STI_OK);
    CHECK(read_named(spec, NULL, "empty.stl", text, &e) == STI_OK && !strcmp(text, ""));
    CHECK(read_named(spec, "..", "near.txt", text, &e) == STI_OK && !strcmp(text, "near"));
    CHECK(read_named(spec, "../.keys", "a", text, &e) == STI_PATH);
    CHECK(read_named(spec, "../..", "secret.txt", text, &e) == STI_PATH &&
          strstr(e.message, "allow_outside"));
    CHECK(read_named(spec, NULL, "link.txt", text, &e) == STI_PATH);
    snprintf(path, sizeof path, "%s/secret.txt", root);
    CHECK(read_named(spec, NULL, path, text, &e) == STI_PATH);
    snprintf(path, sizeof path, "%s/robot/near.txt", root);
    CHECK(read_named(spec, NULL, path, text, &e) == STI_PATH);
    CHECK(read_named(spec, NULL, "none.stl", text, &e) == STI_FILE && strstr(e.message, "no such file"));
    CHECK(read_named(spec, NULL, "meshes", text, &e) == STI_FILE && strstr(e.message, "regular"));
    sti_spec_free(spec);
    remove_folder(root);
}

TEST(folders_that_may_be_read) {
    char root[] = "/tmp/sti_load_XXXXXX", text[64];
    REQUIRE(mkdtemp(root) != NULL);
    make_folders(root, (const char *[]){"project", "project/robots", "project/robots/a"}, 3);
    put_file(root, "secret.txt", "secret");
    put_file(root, "project/far.txt", "far");
    put_file(root, "project/robots/a/main.xml", "<mujoco/>");
    sti_load_options anywhere = sti_load_options_default(), named = sti_load_options_default();
    sti_error e;
    sti_spec *spec = load_under(root, "project/robots/a/main.xml", NULL, &e);
    REQUIRE(spec);
    CHECK(read_named(spec, "../..", "far.txt", text, &e) == STI_PATH); /* only the folder above */
    put_file(root, "project/robots/__init__.py", "");
    CHECK(read_named(spec, "../..", "far.txt", text, &e) == STI_PATH); /* a package */
    put_file(root, "project/__init__.py", "");
    CHECK(read_named(spec, "../..", "far.txt", text, &e) == STI_OK); /* in a package */
    put_file(root, "project/robots/package.xml", "");
    CHECK(read_named(spec, "../..", "far.txt", text, &e) == STI_PATH);
    sti_spec_free(spec);
    named.root = root;
    spec = load_under(root, "project/robots/a/main.xml", &named, &e);
    REQUIRE(spec);
    CHECK(read_named(spec, "../../..", "secret.txt", text, &e) == STI_OK && !strcmp(text, "secret"));
    CHECK(read_named(spec, "/etc", "hostname", text, &e) == STI_PATH);
    sti_spec_free(spec);
    anywhere.allow_outside = true;
    spec = load_under(root, "project/robots/a/main.xml", &anywhere, &e);
    REQUIRE(spec);
    CHECK(read_named(spec, "../../..", "secret.txt", text, &e) == STI_OK && !strcmp(text, "secret"));
    sti_spec_free(spec);
    remove_folder(root);
}

TEST(includes_beside_the_including_file) {
    char root[] = "/tmp/sti_load_XXXXXX";
    REQUIRE(mkdtemp(root) != NULL);
    make_folders(root, (const char *[]){"scene", "robot", "robot/meshes", "scene/sub"}, 4);
    put_file(root, "scene/main.xml",
             "<mujoco><include file='../robot/arm.xml'/><include file='sub/a.xml'/></mujoco>");
    put_file(root, "robot/arm.xml",
             "<mujoco><compiler meshdir='meshes'/><include file='part.xml'/>"
             "<asset><mesh name='m' file='m.obj'/></asset></mujoco>");
    put_file(root, "robot/part.xml", "<mujoco><option timestep='0.25'/></mujoco>");
    put_file(root, "robot/meshes/m.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n");
    put_file(root, "scene/sub/a.xml", "<mujoco><include file='b.xml'/></mujoco>");
    put_file(root, "scene/sub/b.xml", "<mujoco><worldbody><geom name='g' size='1'/></worldbody></mujoco>");
    sti_error e;
    sti_spec *spec = load_under(root, "scene/main.xml", NULL, &e);
    REQUIRE(spec);
    CHECK(sti__real(sti__setting(spec, STI_E_option, STI_A_timestep), STI_A_timestep, 0) == 0.25);
    CHECK(find(spec, "geom", "g") != NULL);
    const sti_element *mesh = find(spec, "mesh", "m");
    void *data;
    size_t size;
    REQUIRE(mesh);
    CHECK(sti__spec_read_file(spec, "meshes", "m.obj", sti__place_of(mesh), &data, &size, &e) == STI_OK);
    sti__free(sti__spec_allocator(spec), data, size);
    sti_spec_free(spec);
    remove_folder(root);
}

TEST(missing_main_file) {
    sti_error e;
    sti_report report;
    sti_report_init(&report, NULL);
    CHECK(!sti_spec_load("no/such/file.xml", NULL, &report, &e) && e.code == STI_FILE && report.nerror == 1);
    sti_report_free(&report);
}

/* ---- our own namespace
   ------------------------------------------------------------------------------------------------- */

TEST(own_namespace) {
    sti_error e;
    sti_spec *spec = parse(
        "<mujoco xmlns:s='urn:stiction' s:requires='0.1'>\n<s:record interval='0.01' fields='qpos qvel'/>"
        "<worldbody/></mujoco>",
        &e);
    REQUIRE(spec);
    const sti_element *r = sti__first(sti__root(spec), STI_E_sti_record);
    REQUIRE(r);
    CHECK(!strcmp(sti_element_name(r), "sti:record") && sti__real(r, STI_A_interval, 0) == 0.01);
    CHECK(!strcmp(sti__text(r, STI_A_fields), "qpos qvel"));
    CHECK(!strcmp(sti_element_get(sti_spec_root(spec), "sti:requires"), "0.1"));
    size_t size;
    char *text = sti_spec_write(spec, false, &size, &e);
    CHECK(strstr(text, "xmlns:sti=\"urn:stiction\"") && strstr(text, "<sti:record") &&
          strstr(text, "sti:requires"));
    sti_string_free(spec, text, size);
    text = sti_spec_write(spec, true, &size, &e);
    CHECK(!strcmp(text, "<mujoco>\n  <worldbody/>\n</mujoco>\n") && size == strlen(text));
    sti_string_free(spec, text, size);
    sti_spec_free(spec);
}

TEST(namespace_errors) {
    CHECK(fails("<mujoco xmlns:s='urn:stiction'><s:recrd/></mujoco>", STI_SCHEMA, 1, "recrd", "",
                "'sti:record'"));
    CHECK(
        fails("<mujoco xmlns:s='urn:stiction'><s:worldbody/></mujoco>", STI_SCHEMA, 1, "worldbody", "", ""));
    CHECK(fails("<mujoco><record/></mujoco>", STI_SCHEMA, 1, "record", "", "unknown element"));
    CHECK(
        fails("<mujoco xmlns:s='urn:other'><s:record/></mujoco>", STI_SCHEMA, 1, "record", "", "namespace"));
    CHECK(fails("<mujoco xmlns:s='urn:other' s:model='a'/>", STI_SCHEMA, 1, "mujoco", "model", "namespace"));
    CHECK(fails("<mujoco xmlns='urn:other'/>", STI_SCHEMA, 1, "mujoco", "", "urn:stiction"));
    CHECK(fails("<mujoco>\n<sti:option/></mujoco>", STI_XML, 2, "", "", "xmlns:sti=\"urn:stiction\""));
    CHECK(fails("<mujoco requires='0.1'/>", STI_SCHEMA, 1, "mujoco", "requires", "unknown attribute"));
    CHECK(fails("<mujoco xmlns:s='urn:stiction' s:requires='99'/>", STI_UNSUPPORTED, 1, "mujoco", "requires",
                "this is"));
    CHECK(fails("<mujoco xmlns:s='urn:stiction' s:requires='x'/>", STI_VALUE, 1, "mujoco", "requires",
                "version"));
    CHECK(fails("<mujoco xmlns:s='urn:stiction' s:requires='0.'/>", STI_VALUE, 1, "mujoco", "requires",
                "version"));
}

/* ---- writing and editing
   ---------------------------------------------------------------------------------------------------- */

/* Same tags, attributes, texts and children. */
static int same(const sti_element *a, const sti_element *b) {
    if (sti__eid_of(a) != sti__eid_of(b)) return 0;
    for (int i = 0; i < STI_A_COUNT; i++) {
        sti__aid name = (sti__aid)i;
        int has = sti__has_own(a, name);
        if (has != (int)sti__has_own(b, name)) return 0;
        const char *p = has ? sti__text(a, name) : NULL, *q = has ? sti__text(b, name) : NULL;
        if ((p != NULL) != (q != NULL) || (p && strcmp(p, q) != 0)) return 0;
    }
    const sti_element *c = sti_element_child(a), *d = sti_element_child(b);
    for (; c && d; c = sti_element_next(c), d = sti_element_next(d))
        if (!same(c, d)) return 0;
    return !c && !d;
}

static int round_trip(sti_spec *spec) {
    sti_error e;
    size_t size;
    char *text = sti_spec_write(spec, false, &size, &e);
    sti_spec *again = text ? sti_spec_parse(text, size, NULL, NULL, &e) : NULL;
    int ok = again && same(sti_spec_root(spec), sti_spec_root(again));
    sti_string_free(spec, text, size);
    sti_spec_free(again);
    return ok;
}

TEST(writing_round_trips) {
    sti_error e;
    sti_spec *spec = parse(
        "<mujoco model='&lt;a&gt; &quot;b&quot; &amp;&#10;&#9;\xc3\xa9'><custom><text name='t' data=' x '/>"
        "</custom></mujoco>",
        &e);
    REQUIRE(spec);
    CHECK(round_trip(spec));
    sti_spec_free(spec);
    const char *scenes[] = {"arm.xml", "figure.xml", "double_pendulum.xml", "double_pendulum_rods.xml",
                            "spinning_top.xml"};
    for (int i = 0; i < 5; i++) {
        sti_report report;
        sti_report_init(&report, NULL);
        spec = scene(scenes[i], &report, &e);
        REQUIRE(spec);
        CHECK(report.nwarning == 0 && round_trip(spec));
        sti_spec_free(spec);
        sti_report_free(&report);
    }
}

TEST(nothing_may_be_edited) {
    sti_error e;
    CHECK(!sti_element_add(NULL, "geom", &e) && e.code == STI_ARGUMENT);
    CHECK(sti_element_set(NULL, "size", "1", &e) == STI_ARGUMENT && e.code == STI_ARGUMENT);
    CHECK(!sti_element_get(NULL, "size") && !sti_element_child(NULL) && !sti_element_next(NULL));
    CHECK(!sti_element_parent(NULL) && !strcmp(sti_element_name(NULL), ""));
    sti_element_remove(NULL);
    sti_spec *spec = sti_spec_create(NULL, &e);
    CHECK(!sti_element_add(sti_spec_root(spec), NULL, &e) && e.code == STI_ARGUMENT);
    CHECK(sti_element_set(sti_spec_root(spec), NULL, "1", NULL) == STI_ARGUMENT);
    CHECK(!sti_spec_find(spec, "body", NULL) && !sti_spec_find(spec, NULL, "a"));
    sti_spec_free(spec);
}

TEST(building_by_hand) {
    sti_error e;
    sti_spec *spec = sti_spec_create(NULL, &e);
    REQUIRE(spec);
    sti_element *root = sti_spec_root(spec), *world_ = sti_element_add(root, "worldbody", &e);
    sti_element *body = sti_element_add(world_, "body", &e), *geom = sti_element_add(body, "geom", &e);
    CHECK(sti_element_set(body, "name", "b", &e) == STI_OK &&
          sti_element_set(geom, "size", "0.1", &e) == STI_OK);
    CHECK(!strcmp(sti_element_get(geom, "size"), "0.1") && sti_element_get(geom, "pos") == NULL);
    CHECK(sti_element_set(geom, "size", "0.2 x", &e) == STI_VALUE &&
          !strcmp(sti_element_get(geom, "size"), "0.1"));
    CHECK(sti_element_set(geom, "sice", "1", &e) == STI_SCHEMA && strstr(e.message, "'size'"));
    CHECK(sti_element_set(geom, "adhesion", "x", &e) == STI_VALUE);
    CHECK(sti_element_add(root, "geom", &e) == NULL && e.code == STI_SCHEMA);
    CHECK(sti_element_add(body, "plugin", &e) == NULL && e.code == STI_UNSUPPORTED);
    CHECK(sti_element_set(geom, "size", NULL, &e) == STI_OK && sti_element_get(geom, "size") == NULL);
    CHECK(sti_element_add(root, "sti:record", &e) != NULL &&
          sti_element_set(root, "sti:requires", "0", &e) == STI_OK);
    CHECK(sti_spec_find(spec, "body", "b") == body && sti_spec_find(spec, "geom", "b") == NULL);
    sti_element_remove(body);
    CHECK(sti_element_child(world_) == NULL && sti_spec_find(spec, "body", "b") == NULL);
    sti_element_remove(root);
    CHECK(sti_spec_root(spec) == root);
    sti_spec_free(spec);
}

TEST(attributes_are_listed) {
    sti_error error = {0};
    sti_spec *spec = sti_spec_create(NULL, &error);
    REQUIRE(spec);
    sti_element *body =
        sti_element_add(sti_element_add(sti_spec_root(spec), "worldbody", &error), "body", &error);
    sti_element *geom = sti_element_add(body, "geom", &error);
    REQUIRE(geom);
    CHECK(sti_element_set(geom, "type", "box", &error) == STI_OK);
    CHECK(sti_element_set(geom, "size", "1 2 3", &error) == STI_OK);
    CHECK(sti_element_set(geom, "name", "g", &error) == STI_OK);
    CHECK(sti_element_set(geom, "sti:stiffness", "5", &error) == STI_OK);
    static const sti_attribute want[] = {{"type", "box", STI_ATTRIBUTE_WORDS, false},
                                         {"size", "1 2 3", STI_ATTRIBUTE_NUMBERS, false},
                                         {"name", "g", STI_ATTRIBUTE_NAME, false},
                                         {"stiffness", "5", STI_ATTRIBUTE_NUMBERS, true}};
    sti_attribute a;
    for (int i = 0; i < 4; i++) {
        REQUIRE(sti_element_attribute(geom, i, &a));
        CHECK(strcmp(a.name, want[i].name) == 0 && strcmp(a.text, want[i].text) == 0);
        CHECK(a.kind == want[i].kind && a.own == want[i].own);
    }
    CHECK(!sti_element_attribute(geom, 4, &a) && !sti_element_attribute(geom, -1, &a));
    CHECK(!sti_element_attribute(NULL, 0, &a));
    sti_attribute_kind kind;
    CHECK(sti_element_knows(geom, "mesh", &kind) && kind == STI_ATTRIBUTE_NAME);
    CHECK(!sti_element_knows(geom, "colour", &kind));
    sti_spec_free(spec);
}

TEST(edits_of_classes_take_effect) {
    sti_error e;
    sti_spec *spec =
        world("<default><geom size='1'/></default>", "<body name='b'><geom name='g'/></body>", &e);
    REQUIRE(spec);
    sti_element *body = sti_spec_find(spec, "body", "b"), *geom = sti_spec_find(spec, "geom", "g");
    CHECK(sti_element_set(body, "childclass", "c", &e) == STI_OK);
    CHECK(!sti__spec_check(spec, NULL, &e) && e.code == STI_REFERENCE);
    sti_element *main_ = sti_element_child(sti_spec_root(spec)),
                *class_ = sti_element_add(main_, "default", &e);
    CHECK(sti_element_set(class_, "class", "c", &e) == STI_OK && sti__spec_check(spec, NULL, &e));
    CHECK(sti_element_set(sti_element_add(class_, "geom", &e), "size", "2", &e) == STI_OK);
    CHECK(size_of(spec, "g") == 2);
    sti_element *other = sti_element_add(body, "geom", &e);
    CHECK(sti_element_set(other, "name", "h", &e) == STI_OK && size_of(spec, "h") == 2);
    CHECK(sti_element_set(geom, "class", "main", &e) == STI_OK && size_of(spec, "g") == 1);
    CHECK(sti_element_set(geom, "class", NULL, &e) == STI_OK && size_of(spec, "g") == 2);
    sti_element_remove(class_);
    CHECK(size_of(spec, "g") == 1);
    sti_element_remove(main_);
    CHECK(size_of(spec, "g") == 0);
    sti_spec_free(spec);
}

/* ---- memory
   --------------------------------------------------------------------------------------------------------------------- */

typedef struct meter {
    long calls, fail_at;
    long long bytes;
} meter;

static void *meter_resize(void *context, void *ptr, size_t old_size, size_t new_size) {
    meter *m = context;
    if (new_size == 0) {
        m->bytes -= ptr ? (long long)old_size : 0;
        free(ptr);
        return NULL;
    }
    if (++m->calls == m->fail_at) return NULL;
    void *moved = realloc(ptr, new_size);
    if (moved) m->bytes += (long long)new_size - (ptr ? (long long)old_size : 0);
    return moved;
}

/* With and without an error to report. */
TEST(urdf_without_memory) {
    const char *xml = "<robot name='r'><mujoco><compiler meshdir='m'/></mujoco><material name='a'><color "
                      "rgba='1 0 0 1'/></material>"
                      "<link name='a'><inertial><mass value='1'/><inertia ixx='1' iyy='1' "
                      "izz='1'/></inertial></link><link name='b'>"
                      "<collision><origin xyz='1 2 3'/><geometry><mesh "
                      "filename='package://p/x.stl'/></geometry></collision></link><link name='c'/>"
                      "<joint name='j' type='revolute'><parent link='a'/><child link='b'/><limit lower='0' "
                      "upper='1'/></joint>"
                      "<joint name='k' type='prismatic'><parent link='b'/><child link='%s'/><mimic "
                      "joint='j'/></joint></robot>";
    long calls = 1;
    for (long i = 2; i <= 2 * (calls + 1); i++) {
        meter m = {.fail_at = i / 2};
        sti_allocator allocator = {meter_resize, &m};
        sti_load_options options = sti_load_options_default();
        options.allocator = &allocator;
        sti_error e;
        char text[1024];
        snprintf(text, sizeof text, xml, i % 2 ? "c" : "none");
        sti_spec *spec = sti_spec_parse(text, strlen(text), &options, NULL, &e);
        CHECK(spec != NULL || e.code != STI_OK);
        sti_spec_free(spec);
        CHECK(m.bytes == 0);
        if (m.calls > calls) calls = m.calls;
    }
    CHECK(calls > 30);
}

TEST(every_allocation_may_fail) {
    const char *xml =
        "<mujoco xmlns:sti='urn:stiction'><sti:record/><default><default class='a'><geom size='1'/></default>"
        "</default><worldbody><include file='b.xml'/><geom class='a' bad='1' pos='1 2 "
        "3'/></worldbody></mujoco>";
    sti_asset assets[] = {ASSET("b.xml", "<m><body childclass='a'><geom/></body></m>")};
    long calls = 1;
    for (long i = 2; i <= 2 * (calls + 1); i++) {
        meter m = {.fail_at = i / 2};
        sti_allocator allocator = {meter_resize, &m};
        sti_load_options options = sti_load_options_default();
        options.allocator = &allocator;
        options.assets = assets;
        options.nasset = 1;
        sti_report report;
        sti_report_init(&report, &allocator);
        sti_error e;
        char clean[1024];
        snprintf(clean, sizeof clean, "%s", xml);
        memset(strstr(clean, "bad='1'"), ' ', i % 2 ? 7 : 0); /* with and without an error to report */
        sti_spec *spec = sti_spec_parse(clean, strlen(clean), &options, &report, &e);
        size_t size;
        char *text = spec ? sti_spec_write(spec, false, &size, &e) : NULL;
        if (text) sti_string_free(spec, text, size);
        CHECK(spec != NULL || e.code != STI_OK);
        sti_spec_free(spec);
        sti_report_free(&report);
        CHECK(m.bytes == 0);
        if (m.calls > calls) calls = m.calls;
    }
    CHECK(calls > 20);
}

/* ---- the schema
   ------------------------------------------------------------------------------------------------------------------ */

static void count_text(void *context, const char *text) { *(size_t *)context += strlen(text); }

TEST(schema_documents_itself) {
    size_t size = 0;
    sti_schema_document(count_text, &size);
    CHECK(size > 20000);
}

MAIN(CASE(reads_elements_and_values), CASE(unset_values_come_from_the_schema),
     CASE(blank_numbers_and_empty_names_are_unset), CASE(long_lists), CASE(settings_last_one_counts),
     CASE(defaults_nest_and_inherit), CASE(childclass_reaches_down_until_the_next),
     CASE(short_values_are_completed_by_outer_classes), CASE(repeated_main_sections_override),
     CASE(actuators_and_tendons_share_defaults), CASE(default_errors), CASE(bad_values),
     CASE(unknown_names_and_suggestions), CASE(unsupported_is_named), CASE(all_errors_are_collected),
     CASE(broken_xml), CASE(long_chains_are_read), CASE(deep_nesting_is_refused), CASE(copies),
     CASE(memory_limit_is_kept), CASE(options_must_be_initialised), CASE(includes_are_expanded_in_place),
     CASE(include_errors), CASE(files_stay_in_the_project), CASE(folders_that_may_be_read),
     CASE(includes_beside_the_including_file), CASE(missing_main_file), CASE(own_namespace),
     CASE(namespace_errors), CASE(writing_round_trips), CASE(building_by_hand), CASE(nothing_may_be_edited),
     CASE(attributes_are_listed), CASE(edits_of_classes_take_effect), CASE(every_allocation_may_fail),
     CASE(urdf_without_memory), CASE(schema_documents_itself))
