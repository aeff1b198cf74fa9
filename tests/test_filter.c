/* SPDX-License-Identifier: Apache-2.0 */
/* MJCF's rules of who touches whom, and with what. */
#include "collide/filter.h"
#include "scene.h"
#include "test.h"

typedef struct rules {
    sti_model *m;
    sti__collision_model *cm;
    sti_state *s;
} rules;

static rules read_scene(const char *xml) {
    rules r = {.m = model_of(xml)};
    r.cm = sti__collision_model_create(r.m, NULL, NULL);
    r.s = sti__state_create(r.m, 1, NULL, NULL);
    REQUIRE(r.cm && r.s);
    return r;
}

static void drop(rules *r) {
    sti__state_free(r->s);
    sti__collision_model_free(r->cm);
    sti_model_free(r->m);
}

static bool touch(const rules *r, const char *a, const char *b) {
    int g1 = sti_model_id(r->m, STI_OBJ_GEOM, a), g2 = sti_model_id(r->m, STI_OBJ_GEOM, b);
    REQUIRE(g1 >= 0 && g2 >= 0);
    bool yes = sti__may_touch(r->cm, g1, g2, r->m->opt.disableflags);
    CHECK(yes == sti__may_touch(r->cm, g2, g1, r->m->opt.disableflags));
    return yes;
}

static sti__mixed mix(const rules *r, const char *a, const char *b) {
    int g1 = sti_model_id(r->m, STI_OBJ_GEOM, a), g2 = sti_model_id(r->m, STI_OBJ_GEOM, b);
    sti__candidate c = sti__candidate_dynamic(r->cm, g1, g2);
    sti__mixed out;
    sti__mix(r->cm, &r->s->par, &c, &out);
    return out;
}

#define FREE(name, attributes) \
    "<body name='B" name "'><freejoint/><geom name='" name "' size='1 1 1' " attributes "/></body>"
#define SCENE(world, rest) "<mujoco><worldbody>" world "</worldbody>" rest "</mujoco>"

TEST(bits) {
    rules r =
        read_scene(SCENE(FREE("a", "contype='1' conaffinity='2'") FREE("b", "contype='2' conaffinity='4'")
                             FREE("c", "contype='4' conaffinity='1'") FREE("d", "contype='8' conaffinity='0'")
                                 FREE("none", "contype='0' conaffinity='0'"),
                         ""));
    CHECK(touch(&r, "a", "b")); /* b's type in a's affinity */
    CHECK(touch(&r, "a", "c"));
    CHECK(touch(&r, "b", "c"));
    CHECK(!touch(&r, "a", "d"));
    CHECK(!touch(&r, "a", "none"));
    CHECK(r.cm->nmoving == 4); /* "none" does not enter the tree */
    drop(&r);
}

#define CHAIN(flag)                                                                                \
    "<mujoco><option><flag filterparent='" flag "'/></option><worldbody><geom name='w' size='1'/>" \
    "<body><joint/><geom name='a' size='1'/><geom name='a2' size='1'/>"                            \
    "<body><geom name='weld' size='1'/><body><joint/><geom name='b' size='1'/><body><joint/>"      \
    "<geom name='c' size='1'/></body></body></body></body>"                                        \
    "<body><geom name='fixed' size='1'/><body><joint/><geom name='child' size='1'/></body></body>" \
    "</worldbody></mujoco>"

TEST(families) {
    rules r = read_scene(CHAIN("enable"));
    CHECK(!touch(&r, "a", "a2"));   /* one body */
    CHECK(!touch(&r, "a", "weld")); /* welded together */
    CHECK(!touch(&r, "a", "b"));    /* parent, through a weld */
    CHECK(!touch(&r, "weld", "b"));
    CHECK(!touch(&r, "b", "c"));
    CHECK(touch(&r, "a", "c")); /* grandparent */
    CHECK(touch(&r, "weld", "c"));
    CHECK(touch(&r, "w", "a")); /* the world is no parent */
    CHECK(touch(&r, "fixed", "child"));
    CHECK(!touch(&r, "w", "fixed")); /* neither moves */
    drop(&r);
    r = read_scene(CHAIN("disable"));
    CHECK(!touch(&r, "a", "weld"));
    CHECK(touch(&r, "a", "b"));
    CHECK(touch(&r, "b", "c"));
    drop(&r);
}

TEST(what_does_not_move) {
    rules r = read_scene(SCENE(
        "<geom name='floor' type='plane' size='1 1 1'/><body mocap='true'><geom name='m' size='1'/></body>"
        "<body mocap='true'><geom name='n' size='1'/></body>"
        "<geom name='ground' type='hfield' hfield='h'/>" FREE("a", ""),
        "<asset><hfield name='h' nrow='2' ncol='2' size='1 1 1 1'/></asset>"));
    CHECK(!touch(&r, "floor", "m"));
    CHECK(!touch(&r, "m", "n"));
    CHECK(!touch(&r, "floor", "ground"));
    CHECK(touch(&r, "floor", "a"));
    CHECK(touch(&r, "ground", "a"));
    CHECK(touch(&r, "m", "a"));
    CHECK(r.cm->nplane == 1 && r.cm->nfixed == 1 && r.cm->nmoving == 3);
    CHECK(!sti__can_collide(STI_GEOM_PLANE, STI_GEOM_PLANE));
    CHECK(!sti__can_collide(STI_GEOM_HFIELD, STI_GEOM_PLANE));
    CHECK(sti__can_collide(STI_GEOM_HFIELD, STI_GEOM_MESH));
    drop(&r);
}

TEST(exclusions_and_pairs) {
    rules r =
        read_scene(SCENE(FREE("a", "") FREE("b", "type='box'") FREE("c", "") FREE("d", "margin='9'"),
                         "<contact><exclude body1='Bc' body2='Ba'/>"
                         "<pair geom1='b' geom2='a' margin='0.02' gap='0.01' friction='0 2 3' condim='4'/>"
                         "<pair geom1='d' geom2='c'/></contact>"));
    CHECK(!touch(&r, "a", "c"));
    CHECK(touch(&r, "a", "d"));
    CHECK(!touch(&r, "a", "b")); /* comes as an explicit pair, and only once */
    CHECK(!touch(&r, "c", "d"));
    sti__candidate c = sti__candidate_pair(r.cm, 0);
    CHECK(c.geom1 == 0 && c.geom2 == 1 && c.pair == 0); /* a ball comes before a box */
    CHECK_NEAR(c.margin, 0.03, 1e-15);
    sti__mixed x;
    sti__mix(r.cm, &r.s->par, &c, &x);
    CHECK(x.dim == 4);
    CHECK_NEAR(x.includemargin, 0.02, 0);
    CHECK_NEAR(x.friction[0], 1e-5, 0); /* never quite zero */
    CHECK_NEAR(x.friction[1], 2, 0);
    CHECK_NEAR(x.friction[2], 3, 0);
    c = sti__candidate_pair(r.cm, 1);
    CHECK_NEAR(c.margin, 0, 0); /* nothing comes from the geoms */
    drop(&r);
}

TEST(margins_add_up) {
    rules r =
        read_scene(SCENE(FREE("a", "margin='.01' gap='.002'") FREE("b", "margin='.02' gap='.005'"), ""));
    sti__candidate c = sti__candidate_dynamic(r.cm, 1, 0);
    CHECK(c.geom1 == 0 && c.geom2 == 1 && c.pair == -1);
    CHECK_NEAR(c.margin, 0.037, 1e-15);
    CHECK_NEAR(mix(&r, "a", "b").includemargin, 0.03, 1e-15);
    drop(&r);
}

TEST(mixing) {
    rules r = read_scene(SCENE(
        FREE("a", "friction='.3 .01 .002' solref='.01 .8' solimp='.8 .9 .01 .4 1' condim='4' solmix='2'")
            FREE("b", "friction='.2 .02 .001' solref='.04 1.2' solimp='.7 .95 .02 .6 3'")
                FREE("top", "priority='1' friction='.1 .1 .1' condim='1' solref='.5 .5'")
                    FREE("hard", "solref='-100 -5'") FREE("harder", "solref='-300 -1'")
                        FREE("no", "solmix='0' solref='.01 .8'") FREE("nor", "solmix='0' solref='.03 1'"),
        ""));
    sti__mixed x = mix(&r, "a", "b");
    CHECK(x.dim == 4);
    CHECK_NEAR(x.friction[0], 0.3, 0);
    CHECK_NEAR(x.friction[1], 0.3, 0);
    CHECK_NEAR(x.friction[2], 0.02, 0);
    CHECK_NEAR(x.friction[4], 0.002, 0);
    CHECK_NEAR(x.solref[0], (2 * 0.01 + 0.04) / 3, 1e-15);
    CHECK_NEAR(x.solref[1], (2 * 0.8 + 1.2) / 3, 1e-15);
    CHECK_NEAR(x.solimp[4], (2 * 1 + 3) / 3.0, 1e-15);
    x = mix(&r, "a", "top");
    CHECK(x.dim == 1);
    CHECK_NEAR(x.friction[0], 0.1, 0);
    CHECK_NEAR(x.solref[0], 0.5, 0);
    x = mix(&r, "hard", "b");
    CHECK_NEAR(x.solref[0], -100, 0);
    CHECK_NEAR(x.solref[1], -5, 0);
    x = mix(&r, "hard", "harder");
    CHECK_NEAR(x.solref[0], -300, 0);
    CHECK_NEAR(x.solref[1], -5, 0);
    CHECK_NEAR(mix(&r, "no", "nor").solref[0], 0.02, 1e-15);
    CHECK_NEAR(mix(&r, "no", "b").solref[0], 0.04, 0);
    drop(&r);
}

/* ---- height fields
 * ------------------------------------------------------------------------------------------ */

TEST(height_fields) {
    rules r = read_scene(
        SCENE("<geom name='g' type='hfield' hfield='h'/>",
              "<asset><hfield name='h' nrow='2' ncol='3' size='1 2 .5 .1' elevation='1 2 3 4 5 9'/>"
              "<hfield name='flat' nrow='2' ncol='2' size='1 1 1 1' elevation='3 3 3 3'/></asset>"));
    static const double expected[] = {3, 4, 8, 0, 1, 2}; /* the first row in the file lies at +y */
    for (int i = 0; i < 6; i++) CHECK_NEAR(r.m->hfield_data[i], expected[i] / 8, 1e-7);
    CHECK(r.m->hfield_data[6] == 0 && r.m->hfield_data[9] == 0);
    CHECK(r.m->nhfielddata == 10 && r.m->hfield_adr[1] == 6);
    CHECK(r.m->hfield_nrow[0] == 2 && r.m->hfield_ncol[0] == 3);
    CHECK_NEAR(r.m->geom_rbound[0], sqrt(1 + 4 + 0.25), 1e-15);
    CHECK_NEAR(r.m->geom_size[2], 0.25 * 0.5 + 0.5 * 0.1, 1e-15);
    CHECK(r.cm->hfield[0].ncol == 3 && r.cm->hfield[0].height == r.m->hfield_data);
    drop(&r);
    static const char *const bad[] = {"nrow='1' ncol='3' size='1 1 1 1'",
                                      "nrow='2' ncol='2' size='1 1 0 1'",
                                      "nrow='2' ncol='2' size='1 1 1 1' elevation='1 2 3'",
                                      "size='1 1 1 1'",
                                      "nrow='2000000000' ncol='2000000000' size='1 1 1 1'",
                                      "nrow='-2' ncol='-2' size='1 1 1 1'"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char xml[400];
        snprintf(xml, sizeof xml, "<mujoco><asset><hfield name='h' %s/></asset></mujoco>", bad[i]);
        sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, NULL);
        REQUIRE(spec);
        CHECK(!sti_model_compile(spec, NULL, NULL));
        sti_spec_free(spec);
    }
}

MAIN(CASE(bits), CASE(families), CASE(what_does_not_move), CASE(exclusions_and_pairs), CASE(margins_add_up),
     CASE(mixing), CASE(height_fields))
