/* SPDX-License-Identifier: Apache-2.0 */
/* Broken and hostile scenes: each gives its documented status and place, in under a second and with
   bounded memory, and leaves nothing behind. */
#include "bad_scene.h"
#include <sys/stat.h>
#include <unistd.h>

/* ---- text and structure ------------------------------------------------------------------------------ */

/* clang-format off */
TEST(not_xml) {
    static const bad cases[] = {
        {"", STI_XML, -1, NULL, NULL},
        {" ", STI_XML, -1, NULL, NULL},
        {"robot", STI_XML, 1, NULL, NULL},
        {"<mujoco>", STI_XML, 1, NULL, NULL},
        {"<mujoco>\n<worldbody>\n<body>\n", STI_XML, 4, NULL, NULL},
        {"<mujoco>\n<worldbody>\n<bod", STI_XML, 3, NULL, NULL},
        {"<mujoco>\n<worldbody>\n<body>\n</worldbody>\n</mujoco>", STI_XML, 4, NULL, NULL},
        {"<mujoco/>\n<mujoco/>", STI_XML, 2, NULL, NULL},
        {"<mujoco>\n<option timestep='1' timestep='2'/></mujoco>", STI_XML, 2, NULL, NULL},
        {"<mujoco>\n<option timestep=1/></mujoco>", STI_XML, 2, NULL, NULL},
        {"<mujoco model='&nothing;'/>", STI_XML, 1, NULL, NULL},
        {"<mujoco model='\xff\xfe'/>", STI_XML, 1, NULL, NULL},
        {"<mujoco model='\xc3'/>", STI_XML, 1, NULL, NULL},
        {"<mujoco model='a\x01'/>", STI_XML, 1, NULL, NULL},
        {"<?xml version='1.0' encoding='klingon'?>\n<mujoco/>", STI_XML, -1, NULL, NULL},
        {"<foo:mujoco/>", STI_XML, 1, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(&cases[i]);
    sti_error e = run(NULL, "<mujoco\0/>", 10, 1 << 20);
    CHECK(e.code == STI_XML);
}

TEST(schema) {
    static const bad cases[] = {
        {"<scene/>", STI_SCHEMA, 1, "scene", ""},
        {"<robot><link/></robot>", STI_SCHEMA, 1, "link", "name"},
        {TOP("<worldbdy/>"), STI_SCHEMA, 3, "worldbdy", ""},
        {TOP("<geom size='1'/>"), STI_SCHEMA, 3, "geom", ""},
        {WORLD("<actuator/>"), STI_SCHEMA, 3, "actuator", ""},
        {WORLD("<geom sise='1'/>"), STI_SCHEMA, 3, "geom", "sise"},
        {WORLD("<geom SIZE='1'/>"), STI_SCHEMA, 3, "geom", "SIZE"},
        {WORLD("<geom size='1'><geom size='1'/></geom>"), STI_SCHEMA, 3, "geom", ""},
        {WORLD("<body>\n\n<joint kind='hinge'/></body>"), STI_SCHEMA, 5, "joint", "kind"},
        {WORLD("<joint/>"), STI_SCHEMA, 3, "joint", ""},
        {TOP("<include/>"), STI_SCHEMA, 3, "include", "file"},
        {WORLD("<body><inertial pos='0 0 0'/></body>"), STI_SCHEMA, 3, "inertial", "mass"},
        {"<mujoco xmlns:x='urn:stiction'>\n<x:nothing/></mujoco>", STI_SCHEMA, 2, NULL, NULL},
        {TOP("<asset><hfield name='h' nrow='1000000000' ncol='1000000000'/></asset>"), STI_SCHEMA, 3, "hfield", "size"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(&cases[i]);
}

/* ---- values ------------------------------------------------------------------------------------------- */

TEST(values) {
    static const bad cases[] = {
        {WORLD("<geom size='nan'/>"), STI_VALUE, 3, "geom", "size"},
        {WORLD("<geom size='1' pos='0 inf 0'/>"), STI_VALUE, 3, "geom", "pos"},
        {WORLD("<geom size='1e400'/>"), STI_VALUE, 3, "geom", "size"},
        {WORLD("<geom size='0x10'/>"), STI_VALUE, 3, "geom", "size"},
        {WORLD("<geom size='1,5'/>"), STI_VALUE, 3, "geom", "size"},
        {WORLD("<geom size='big'/>"), STI_VALUE, 3, "geom", "size"},
        {WORLD("<geom size='-1'/>"), STI_PHYSICS, 3, "geom", "size"},
        {WORLD("<geom type='box' size='1'/>"), STI_PHYSICS, 3, "geom", "size"},
        {WORLD("<geom size='1' pos='1 2'/>"), STI_VALUE, 3, "geom", "pos"},
        {WORLD("<geom size='1' pos='1 2 3 4'/>"), STI_VALUE, 3, "geom", "pos"},
        {WORLD("<geom size='1' type='bal'/>"), STI_VALUE, 3, "geom", "type"},
        {WORLD("<geom size='1' condim='2'/>"), STI_VALUE, 3, "geom", "condim"},
        {WORLD("<geom size='1' condim='3.5'/>"), STI_VALUE, 3, "geom", "condim"},
        {WORLD("<geom size='1' group='99999999999999999999'/>"), STI_VALUE, 3, "geom", "group"},
        {WORLD("<geom size='1' quat='0 0 0 0'/>"), STI_VALUE, 3, "geom", "quat"},
        {WORLD("<geom size='1' quat='1 0 0 0' euler='0 0 0'/>"), STI_VALUE, 3, "geom", NULL},
        {WORLD("<body mocap='perhaps'/>"), STI_VALUE, 3, "body", "mocap"},
        {WORLD("<body><joint axis='0 0 0'/><geom size='1'/></body>"), STI_VALUE, 3, "joint", "axis"},
        {WORLD("<body><joint limited='true' range='1 -1'/><geom size='1'/></body>"), STI_VALUE, 3, "joint", "range"},
        {WORLD("<body><joint damping='-1e30'/><geom size='1'/></body>"), STI_OK, -1, NULL, NULL},
        {TOP("<option timestep='0'/>"), STI_VALUE, 3, "option", "timestep"},
        {TOP("<option timestep='-0.1'/>"), STI_VALUE, 3, "option", "timestep"},
        {TOP("<option integrator='leapfrog'/>"), STI_VALUE, 3, "option", "integrator"},
        {TOP("<compiler eulerseq='abc'/>"), STI_VALUE, 3, "compiler", "eulerseq"},
        {TOP("<compiler inertiagrouprange='-1e300 1e300'/>"), STI_VALUE, 3, "compiler", "inertiagrouprange"},
        {TOP("<keyframe><key qpos='1'/></keyframe>"), STI_VALUE, 3, "key", "qpos"},
        {ROBOT("<keyframe><key qpos='1 2'/></keyframe>"), STI_VALUE, 3, "key", "qpos"},
        {ROBOT("<actuator><motor/></actuator>"), STI_VALUE, 3, "motor", NULL},
        {ROBOT("<actuator><motor joint='j' ctrllimited='true'/></actuator>"), STI_VALUE, 3, "motor", "ctrlrange"},
        {ROBOT("<tendon><spatial><site site='s'/></spatial></tendon>"), STI_VALUE, 3, NULL, NULL},
        {ROBOT("<tendon><spatial/></tendon>"), STI_VALUE, 3, "spatial", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(&cases[i]);
}

TEST(physics) {
    static const bad cases[] = {
        {WORLD("<body><freejoint/></body>"), STI_PHYSICS, 3, "body", NULL},
        {WORLD("<body><freejoint/><geom size='1' mass='-1'/></body>"), STI_PHYSICS, 3, "geom", "mass"},
        {WORLD("<body><freejoint/><geom size='1' density='-1'/></body>"), STI_PHYSICS, 3, "geom", "density"},
        {WORLD("<body><freejoint/><inertial pos='0 0 0' mass='-1' diaginertia='1 1 1'/></body>"), STI_PHYSICS, 3, "inertial", "mass"},
        {WORLD("<body><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 -1'/></body>"), STI_PHYSICS, 3, "inertial", "diaginertia"},
        {WORLD("<body><freejoint/><inertial pos='0 0 0' mass='1' diaginertia='1 1 3'/></body>"), STI_PHYSICS, 3, "inertial", NULL},
        {WORLD("<body><freejoint/><inertial pos='0 0 0' mass='1' fullinertia='1 1 1 5 0 0'/></body>"), STI_PHYSICS, 3, "inertial", NULL},
        {WORLD("<body><body><freejoint/><geom size='1'/></body></body>"), STI_PHYSICS, 3, NULL, NULL},
        {WORLD("<body><joint/><joint/><joint/><joint/><joint/><joint/><joint/><geom size='1'/></body>"), STI_PHYSICS, 3, NULL, NULL},
        {WORLD("<body><freejoint/><joint/><geom size='1'/></body>"), STI_PHYSICS, 3, NULL, NULL},
        {WORLD("<body><joint/><geom size='1' mass='1e-300'/></body>"), STI_PHYSICS, 3, "body", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(&cases[i]);
}

/* ---- names -------------------------------------------------------------------------------------------- */

TEST(references) {
    static const bad cases[] = {
        {WORLD("<geom size='1' class='none'/>"), STI_REFERENCE, 3, "geom", "class"},
        {WORLD("<body childclass='none'/>"), STI_REFERENCE, 3, "body", "childclass"},
        {WORLD("<geom type='mesh' mesh='none'/>"), STI_REFERENCE, 3, "geom", "mesh"},
        {WORLD("<geom size='1' material='none'/>"), STI_REFERENCE, 3, "geom", "material"},
        {WORLD("<body name='a'/>\n<body name='a'/>"), STI_REFERENCE, 4, "body", "name"},
        {WORLD("<geom name='a' size='1'/>\n<geom name='a' size='1'/>"), STI_REFERENCE, 4, "geom", "name"},
        {WORLD("<body name='world'/>"), STI_REFERENCE, 3, "body", "name"},
        {TOP("<default><default class='a'/><default class='a'/></default>"), STI_REFERENCE, 3, "default", "class"},
        {ROBOT("<actuator><motor joint='none'/></actuator>"), STI_REFERENCE, 3, "motor", "joint"},
        {ROBOT("<sensor><gyro site='none'/></sensor>"), STI_REFERENCE, 3, "gyro", "site"},
        {ROBOT("<sensor><framepos objtype='body' objname='none'/></sensor>"), STI_REFERENCE, 3, "framepos", "objname"},
        {ROBOT("<sensor><contact geom1='none'/></sensor>"), STI_REFERENCE, 3, "contact", "geom1"},
        {ROBOT("<sensor><contact body1='b' subtree2='none'/></sensor>"), STI_REFERENCE, 3, "contact", "subtree2"},
        {ROBOT("<sensor><contact site='g'/></sensor>"), STI_REFERENCE, 3, "contact", "site"},
        {ROBOT("<sensor><contact geom1='g' site='s'/></sensor>"), STI_VALUE, 3, "contact", "site"},
        {ROBOT("<sensor><tendonlimitfrc tendon='none'/></sensor>"), STI_REFERENCE, 3, "tendonlimitfrc", "tendon"},
        {ROBOT("<contact><exclude body1='b' body2='none'/></contact>"), STI_REFERENCE, 3, "exclude", "body2"},
        {ROBOT("<contact><pair geom1='g' geom2='none'/></contact>"), STI_REFERENCE, 3, "pair", "geom2"},
        {ROBOT("<equality><joint joint1='none'/></equality>"), STI_REFERENCE, 3, "joint", "joint1"},
        {ROBOT("<equality><weld body1='none'/></equality>"), STI_REFERENCE, 3, "weld", "body1"},
        {ROBOT("<tendon><fixed><joint joint='none' coef='1'/></fixed></tendon>"), STI_REFERENCE, 3, "joint", "joint"},
        {ROBOT("<tendon><spatial><site site='s'/><site site='none'/></spatial></tendon>"), STI_REFERENCE, 3, "site", "site"},
        {TOP("<asset><material name='m' texture='none'/></asset>"), STI_REFERENCE, 3, "material", "texture"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(&cases[i]);
}
/* clang-format on */

/* ---- documents that grow
   ------------------------------------------------------------------------------------- */

TEST(entities) {
    static const bad cases[] = {
        {"<!DOCTYPE mujoco [<!ENTITY a 'aaaaaaaaaa'><!ENTITY b '&a;&a;&a;&a;&a;&a;&a;&a;&a;&a;'>"
         "<!ENTITY c '&b;&b;&b;&b;&b;&b;&b;&b;&b;&b;'>]>\n<mujoco model='&c;'/>",
         STI_XML, 1, NULL, NULL},
        {"<!DOCTYPE mujoco [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>\n<mujoco>&x;</mujoco>", STI_XML, 1,
         NULL, NULL},
        {"<!DOCTYPE mujoco SYSTEM 'http://example.com/x.dtd'>\n<mujoco/>", STI_XML, 1, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(&cases[i]);
}

/* before, then `unit` count times, then after */
static char *repeat(const char *before, const char *unit, size_t count, const char *after, size_t *size) {
    size_t a = strlen(before), u = strlen(unit), b = strlen(after);
    char *text = malloc(a + u * count + b + 1);
    REQUIRE(text);
    memcpy(text, before, a);
    for (size_t i = 0; i < count; i++) memcpy(text + a + i * u, unit, u);
    memcpy(text + a + u * count, after, b + 1);
    *size = a + u * count + b;
    return text;
}

static void expect_repeated(const char *before, const char *unit, size_t count, const char *after,
                            size_t room, bad b) {
    size_t size;
    char *text = repeat(before, unit, count, after, &size);
    sti_error e = run(NULL, text, size, room);
    judge(&e, &b, unit);
    free(text);
}

TEST(deep_nesting) {
    expect_repeated("<mujoco><worldbody>\n", "<body>", 1000000, "", 4 << 20,
                    (bad){NULL, STI_LIMIT, 2, "body", NULL});
    expect_repeated("<mujoco><worldbody>\n", "<x>", 1000000, "", 4 << 20,
                    (bad){NULL, STI_SCHEMA, 2, "x", NULL});
    expect_repeated("<mujoco><worldbody>\n", "<frame>", 300, "", 4 << 20,
                    (bad){NULL, STI_LIMIT, 2, "frame", NULL});
    expect_repeated("<mujoco>\n", "<default>", 1000000, "", 4 << 20,
                    (bad){NULL, STI_LIMIT, 2, "default", NULL});
    expect_repeated("", "<a>", 1000000, "", 4 << 20, (bad){NULL, STI_SCHEMA, 1, "a", NULL});
}

TEST(gigantic_attributes) {
    const char *tail = "'/></worldbody></mujoco>";
    expect_repeated("<mujoco><worldbody>\n<geom size='1", " 1", 2000000, tail, 4 << 20,
                    (bad){NULL, STI_VALUE, 2, "geom", "size"});
    expect_repeated("<mujoco><worldbody>\n<geom size='1", "0", 4000000, tail, 4 << 20,
                    (bad){NULL, STI_VALUE, 2, "geom", "size"}); /* 1e4000000 */
    expect_repeated("<mujoco><worldbody>\n<geom class='", "x", 4000000, tail, 4 << 20,
                    (bad){NULL, STI_REFERENCE, 2, "geom", "class"});
    expect_repeated("<mujoco><worldbody>\n<geom type='", "x", 4000000, tail, 4 << 20,
                    (bad){NULL, STI_VALUE, 2, "geom", "type"});
    expect_repeated("<mujoco><worldbody>\n<geom ", "x", 4000000, "='1'/></worldbody></mujoco>", 4 << 20,
                    (bad){NULL, STI_SCHEMA, 2, "geom", NULL});
    expect_repeated("<mujoco>\n<", "x", 4000000, "/></mujoco>", 4 << 20,
                    (bad){NULL, STI_SCHEMA, 2, NULL, NULL});
}

/* More mistakes than a report holds; the first one is told. */
TEST(many_mistakes) {
    expect_repeated("<mujoco><worldbody>\n", "<geom sise='1'/>\n", 20000, "</worldbody></mujoco>", 8 << 20,
                    (bad){NULL, STI_SCHEMA, 2, "geom", "sise"});
    expect_repeated("<mujoco><worldbody>\n", "<geom size='1' class='a'/>\n", 20000, "</worldbody></mujoco>",
                    32 << 20, (bad){NULL, STI_REFERENCE, 2, "geom", "class"});
    expect_repeated("<mujoco><worldbody>\n", "<body name='b'/>\n", 20000, "</worldbody></mujoco>", 64 << 20,
                    (bad){NULL, STI_REFERENCE, 3, "body", "name"});
}

/* As many classes as geoms that use them: neither may be searched for the other. */
TEST(many_classes) {
    enum { N = 10000 };
    char *text = malloc((size_t)N * 80 + 200), *p = text;
    REQUIRE(text);
    p += sprintf(p, "<mujoco><default><geom density='7'/>");
    for (int i = 0; i < N; i++) p += sprintf(p, "<default class='c%d'/>", i);
    p += sprintf(p, "</default><worldbody>");
    for (int i = 0; i < N; i++) p += sprintf(p, "<geom class='c%d' size='1'/>", i);
    p += sprintf(p, "</worldbody></mujoco>");
    sti_error e = run(NULL, text, (size_t)(p - text), 32 << 20);
    CHECK(e.code == STI_OK);
    free(text);
}

/* Default elements that come and go between classes. */
TEST(edited_defaults) {
    static const char xml[] =
        "<mujoco><default><default class='a'/><geom mass='2'/><default class='b'><geom mass='3'/>"
        "</default></default><worldbody><body name='x'><joint/><geom class='a' size='1'/></body>"
        "<body name='y'><joint/><geom class='b' size='1'/></body></worldbody></mujoco>";
    sti_error e = {0};
    sti_spec *spec = sti_spec_parse(xml, sizeof xml - 1, NULL, NULL, &e);
    REQUIRE(spec);
    sti_element *section = sti_element_child(sti_spec_root(spec)), *a = sti_element_child(section);
    for (int round = 0; round < 3; round++) {
        sti_model *m = sti_model_compile(spec, NULL, &e);
        REQUIRE(m);
        double sphere = 4.0 / 3 * M_PI * 1000;
        CHECK_NEAR(m->body_mass[1], round == 0 ? 2 : round == 1 ? sphere : 5, 1e-9);
        CHECK_NEAR(m->body_mass[2], 3, 1e-9);
        sti_model_free(m);
        if (round == 0) sti_element_remove(sti_element_next(a));
        if (round == 1) sti_element_set(sti_element_add(section, "geom", &e), "mass", "5", &e);
    }
    sti_spec_free(spec);
}

/* clang-format off */
TEST(huge_counts) {
    static const bad cases[] = {
        {TOP("<custom><numeric name='n' size='2000000000'/></custom>"), STI_LIMIT, -1, NULL, NULL},
        {TOP("<custom><numeric name='n' size='-5'/></custom>"), STI_VALUE, 3, "numeric", "size"},
        {ROBOT("<size nuser_body='2000000000'/>"), STI_LIMIT, 3, "size", "nuser_body"},
        {ROBOT("<size nuser_body='-2'/>"), STI_VALUE, 3, "size", "nuser_body"},
        {ROBOT("<sensor><user dim='2000000000'/><user dim='2000000000'/></sensor>"), STI_LIMIT, -1, NULL, NULL},
        {ROBOT("<sensor><contact num='2000000000'/></sensor>"), STI_LIMIT, 3, "contact", "num"},
        {ROBOT("<sensor><contact num='1000000' data='found force torque dist pos normal tangent linvel angvel'/></sensor>"), STI_LIMIT, 3, "contact", "num"},
        {ROBOT("<sensor><contact num='99999999999'/></sensor>"), STI_VALUE, 3, "contact", "num"},
        {ROBOT("<actuator><general joint='j' dyntype='user' actdim='2000000000'/></actuator>"), STI_UNSUPPORTED, 3, "general", "dyntype"},
        {ROBOT("<actuator><general joint='j' dyntype='filter' actdim='2000000000'/></actuator>"), STI_VALUE, 3, "general", "actdim"},
        {ROBOT("<size memory='99999999999T'/>"), STI_OK, -1, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(&cases[i]);
}
/* clang-format on */

/* ---- other files
   ------------------------------------------------------------------------------------------------ */

TEST(include_cycles) {
    ngiven = 0;
    give_text("self.xml", "<mujoco>\n<include file='self.xml'/></mujoco>");
    give_text("a.xml", "<mujoco>\n\n<include file='b.xml'/></mujoco>");
    give_text("b.xml", "<mujoco>\n\n\n<include file='a.xml'/></mujoco>");
    give_text("bad.xml", "<mujoco>\n\n\n\n<worldbody><geom size='x'/></worldbody></mujoco>");
    give_text("broken.xml", "<mujoco>\n<worldbody></mujoco>");
    static const bad cases[] = {
        {TOP("<include file='self.xml'/>"), STI_REFERENCE, 2, "include", "file"},
        {TOP("<include file='a.xml'/>"), STI_REFERENCE, 4, "include", "file"},
        {TOP("<include file='missing.xml'/>"), STI_FILE, 3, "include", "file"},
        {TOP("<include file='bad.xml'/>"), STI_VALUE, 5, "geom", "size"},
        {TOP("<include file='broken.xml'/>"), STI_XML, 2, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(&cases[i]);
    sti_error e = run(NULL, cases[3].xml, strlen(cases[3].xml), 1 << 20);
    CHECK(strstr(e.file, "bad.xml") != NULL);
    ngiven = 0;
}

/* Each file includes the next one twice. */
TEST(include_bomb) {
    static char name[8][16], text[8][128];
    ngiven = 0;
    for (int i = 0; i < 8; i++) {
        snprintf(name[i], sizeof name[i], "f%d.xml", i);
        snprintf(text[i], sizeof text[i],
                 "<mujoco><include file='f%d.xml'/><include file='f%d.xml'/></mujoco>", i + 1, i + 1);
        give_text(name[i], text[i]);
    }
    bad b = {TOP("<include file='f0.xml'/>"), STI_FILE, -1, "include", "file"}; /* the last one is missing */
    sti_error e = run(NULL, b.xml, strlen(b.xml), 4 << 20);
    CHECK(e.code == STI_FILE || e.code == STI_REFERENCE || e.code == STI_LIMIT);
    ngiven = 0;
}

#define MESH(file)                                                                     \
    TOP("<asset><mesh name='m' file='" file "'/></asset><worldbody><geom type='mesh' " \
        "mesh='m'/></worldbody>")

TEST(corrupt_meshes) {
    static unsigned char good[CUBE_SIZE], many[CUBE_SIZE], nan[CUBE_SIZE], flat[CUBE_SIZE];
    make_cube(good);
    memcpy(many, good, CUBE_SIZE);
    memset(many + 80, 0xff, 4); /* 4294967295 faces */
    memcpy(nan, good, CUBE_SIZE);
    memset(nan + 84 + 12, 0xff, 4);
    memcpy(flat, good, CUBE_SIZE);
    for (int f = 0; f < 12; f++)
        for (int k = 0; k < 3; k++) memset(flat + 84 + 50 * f + 12 + 12 * k, 0, 4);
    ngiven = 0;
    give("good.stl", good, CUBE_SIZE);
    give("cut.stl", good, CUBE_SIZE - 1);
    give("many.stl", many, CUBE_SIZE);
    give("nan.stl", nan, CUBE_SIZE);
    give("flat.stl", flat, CUBE_SIZE);
    give("empty.stl", good, 0);
    give_text("face.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 2 99\n");
    /* a number that runs into the next word */
    give_text("glued.stl", "solid a\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1 0vertex 0 0 1\nvertex 0 0 1 "
                           "vertex 1 1 1 vertex 2 2 2");
    give("huge.msh", "\xff\xff\xff\x7f\xff\xff\xff\x7f\0\0\0\0\xff\xff\xff\x7f", 16);
    static const bad cases[] = {
        {MESH("good.stl"), STI_OK, -1, NULL, NULL},
        {MESH("cut.stl"), STI_MESH, 3, "mesh", "file"},
        {MESH("many.stl"), STI_MESH, 3, "mesh", "file"},
        {MESH("nan.stl"), STI_MESH, 3, "mesh", "file"},
        {MESH("flat.stl"), STI_MESH, 3, "mesh", NULL},
        {MESH("empty.stl"), STI_MESH, 3, "mesh", "file"},
        {MESH("face.obj"), STI_MESH, 3, "mesh", "file"},
        {MESH("huge.msh"), STI_MESH, 3, "mesh", "file"},
        {MESH("missing.stl"), STI_FILE, 3, "mesh", "file"},
        {MESH("model.step"), STI_FILE, 3, "mesh", "file"},
        {MESH("glued.stl"), STI_MESH, 3, "mesh", "file"},
        {TOP("<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0'/></asset>"), STI_VALUE, 3, "mesh", NULL},
        {TOP("<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 1 7'/></asset>"), STI_MESH, 3,
         "mesh", NULL},
        {TOP("<asset><mesh name='m' vertex='0 0 0 1e300 0 0 0 1e300 0 0 0 1'/></asset>"), STI_VALUE, 3,
         "mesh", NULL},
        {TOP("<asset><mesh name='m'/></asset>"), STI_MESH, 3, "mesh", NULL},
        {TOP("<asset><mesh name='m' file='good.stl' maxhullvert='3'/></asset>"
             "<worldbody><geom type='mesh' mesh='m'/></worldbody>"),
         STI_VALUE, 3, "mesh", NULL},
        {TOP("<asset><mesh name='m' file='good.stl' scale='0 1 1'/></asset>"), STI_MESH, 3, "mesh", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect(&cases[i]);
    ngiven = 0;
}

/* ---- paths
   -------------------------------------------------------------------------------------------------------- */

static char folder[64];

static void write_text(const char *name, const char *text) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    REQUIRE(f);
    fwrite(text, 1, strlen(text), f);
    fclose(f);
}

static void expect_on_disk(const char *name, bad b) {
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    sti_error e = run(path, NULL, 0, 4 << 20);
    judge(&e, &b, b.xml ? b.xml : name);
}

static void expect_scene(bad b) {
    write_text("in/scene.xml", b.xml);
    expect_on_disk("in/scene.xml", b);
}

static void make_folder(void) {
    char path[128], target[128];
    snprintf(folder, sizeof folder, "/tmp/stiction-XXXXXX");
    REQUIRE(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/in", folder);
    REQUIRE(mkdir(path, 0700) == 0);
    write_text("outside.xml", "<mujoco/>");
    write_text("in/inside.xml", "<mujoco/>");
    write_text("in/package.xml", ""); /* the project ends here */
    snprintf(path, sizeof path, "%s/in/link.xml", folder);
    snprintf(target, sizeof target, "%s/outside.xml", folder);
    REQUIRE(symlink(target, path) == 0);
    snprintf(path, sizeof path, "%s/in/up", folder);
    REQUIRE(symlink("..", path) == 0);
    snprintf(path, sizeof path, "%s/in/loop.xml", folder);
    REQUIRE(symlink("loop.xml", path) == 0);
}

static void remove_folder(void) {
    static const char *const names[] = {"in/scene.xml", "in/inside.xml",  "in/link.xml", "in/up",
                                        "in/loop.xml",  "in/package.xml", "outside.xml"};
    char path[128];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    snprintf(path, sizeof path, "%s/in", folder);
    rmdir(path);
    CHECK(rmdir(folder) == 0);
}

TEST(paths) {
    char absolute[256];
    make_folder();
    snprintf(absolute, sizeof absolute, "<mujoco>\n\n<include file='%s/outside.xml'/></mujoco>", folder);
    expect_scene((bad){TOP("<include file='inside.xml'/>"), STI_OK, -1, NULL, NULL});
    expect_scene((bad){TOP("<include file='./../in/inside.xml'/>"), STI_OK, -1, NULL, NULL});
    expect_scene((bad){TOP("<include file='../outside.xml'/>"), STI_PATH, 3, "include", "file"});
    expect_scene((bad){TOP("<include file='../../etc/passwd'/>"), STI_PATH, 3, "include", "file"});
    expect_scene((bad){TOP("<include file='/etc/passwd'/>"), STI_PATH, 3, "include", "file"});
    expect_scene((bad){absolute, STI_PATH, 3, "include", "file"});
    expect_scene((bad){TOP("<include file='link.xml'/>"), STI_PATH, 3, "include", "file"});
    expect_scene((bad){TOP("<include file='up/outside.xml'/>"), STI_PATH, 3, "include", "file"});
    expect_scene((bad){TOP("<include file='loop.xml'/>"), STI_FILE, 3, "include", "file"});
    expect_scene((bad){TOP("<include file='.'/>"), STI_FILE, 3, "include", "file"});
    expect_scene((bad){TOP("<include file=''/>"), STI_SCHEMA, 3, "include", "file"});
    expect_scene((bad){MESH("/etc/passwd"), STI_PATH, 3, "mesh", "file"});
    expect_scene((bad){MESH("../../../../../../etc/passwd"), STI_PATH, 3, "mesh", "file"});
    expect_scene((bad){TOP("<compiler meshdir='/etc'/><asset><mesh file='passwd.stl'/></asset>"), STI_PATH, 3,
                       "mesh", "file"});
    expect_scene((bad){TOP("<include file='/dev/zero'/>"), STI_PATH, 3, "include", "file"});
    expect_on_disk("in/missing.xml", (bad){NULL, STI_FILE, 0, "", ""});
    expect_on_disk("in", (bad){NULL, STI_FILE, 0, "", ""});
    expect_on_disk("in/loop.xml", (bad){NULL, STI_FILE, 0, "", ""});
    sti_error e = run("/dev/zero", NULL, 0, 4 << 20); /* endless */
    CHECK(e.code == STI_FILE || e.code == STI_LIMIT);
    remove_folder();
}

MAIN(CASE(not_xml), CASE(schema), CASE(values), CASE(physics), CASE(references), CASE(entities),
     CASE(deep_nesting), CASE(gigantic_attributes), CASE(many_mistakes), CASE(many_classes),
     CASE(edited_defaults), CASE(huge_counts), CASE(include_cycles), CASE(include_bomb), CASE(corrupt_meshes),
     CASE(paths))
