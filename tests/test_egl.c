/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures by EGL beside the CPU's: colours, depth and objects of the same scenes. Where no EGL can be had, only the refusal. */
#include "failing.h"
#include "shot.h"
#include <math.h>

typedef struct both {
    uint8_t rgb[2][W * H * 3];
    float depth[2][W * H];
    int segment[2][2 * W * H];
} both;

static both pair;

/* The scene by the CPU (first) and by EGL; false without EGL. */
static bool draw_both(shot *s) {
    sti_error error = {0};
    sti_renderer *r = sti_renderer_create(s->model, NULL, &error);
    CHECK(r);
    if (!r) return false;
    bool done = true;
    for (int i = 0; i < 2; i++) {
        sti_picture out = {pair.rgb[i], pair.depth[i], pair.segment[i]};
        sti_status status = sti_renderer_use(r, i ? STI_PICTURE_EGL : STI_PICTURE_CPU, &error);
        done = status == STI_OK;
        if (!done) {
            CHECK(i == 1 && status == STI_UNSUPPORTED && strstr(error.message, "no pictures by EGL: "));
            CHECK(strcmp(sti_renderer_device(r), "CPU") == 0); /* it goes on with what it had */
            fprintf(stderr, "SKIPPED: %s\n", error.message);
            break;
        }
        CHECK((strcmp(sti_renderer_device(r), "CPU") == 0) == (i == 0));
        for (int again = 0; again < 2; again++)
            CHECK(sti_renderer_draw(r, s->world, &s->options, &out, &error) == STI_OK);
    }
    sti_renderer_destroy(r);
    return done;
}

/* Edges may fall into another sample, and shadows end a little elsewhere. */
static void compare(double most_mean, double most_far) {
    double sum = 0;
    int far = 0, other = 0, deep = 0;
    for (int i = 0; i < W * H; i++) {
        int most = 0;
        for (int k = 0; k < 3; k++) {
            int d = abs(pair.rgb[0][3 * i + k] - pair.rgb[1][3 * i + k]);
            sum += d, most = d > most ? d : most;
        }
        far += most > 24;
        bool same = pair.segment[0][2 * i] == pair.segment[1][2 * i] &&
                    pair.segment[0][2 * i + 1] == pair.segment[1][2 * i + 1];
        other += !same;
        float a = pair.depth[0][i], b = pair.depth[1][i];
        deep += same && !(fabsf(a - b) <= 2e-3f * a);
    }
    printf("     mean %.2f, far %.2f %%, other objects %d, other depths %d of %d\n", sum / (3 * W * H),
           100.0 * far / (W * H), other, deep, W * H);
    CHECK(sum / (3 * W * H) < most_mean);
    CHECK(far < most_far * W * H);
    CHECK(other < 0.01 * W * H);
    CHECK(deep < 0.01 * W * H);
}

static void try_scene(const char *xml, bool marks, double most_far) {
    shot s;
    open_shot(&s, xml);
    CHECK(sti_step(s.world, 3) == STI_OK);
    s.options.contacts = s.options.sites = marks;
    s.options.stress = marks;
    if (draw_both(&s)) compare(1.5, most_far);
    close_shot(&s);
}

TEST(shapes_and_shadows) {
    try_scene(
        "<mujoco><worldbody><geom type='plane' size='0 0 1'/><geom size='.3' pos='0 0 .3' rgba='1 0 0 1'/>"
        "<geom type='box' size='.2 .1 .3' pos='.7 .2 .3' euler='0 0 30' rgba='.2 .8 .3 1'/>"
        "<geom type='capsule' size='.1 .3' pos='-.6 .2 .2' euler='0 80 20' rgba='.2 .3 .9 1'/>"
        "<geom type='cylinder' size='.15 .2' pos='.1 -.6 .2' rgba='.9 .8 .1 1'/>"
        "<geom type='ellipsoid' size='.1 .2 .3' pos='-.3 -.5 .3' rgba='.6 .2 .7 1'/></worldbody></mujoco>",
        false, 0.02);
}

/* Lamps with a place, a floor with an end that mirrors, a checker, and things that are half transparent. */
TEST(lamps_mirrors_and_glass) {
    try_scene(
        "<mujoco><asset><texture name='t' type='2d' builtin='checker' width='8' height='8' rgb1='.8 .8 .8' "
        "rgb2='.2 .3 .3'/><material name='m' texture='t' texrepeat='4 4' "
        "reflectance='.4'/></asset><worldbody>"
        "<light pos='1 -1 3' dir='-.3 .3 -1'/><light pos='-2 -1 2' dir='1 .5 -1' castshadow='false'/>"
        "<geom type='plane' size='2 2 .1' material='m'/><geom type='sphere' size='.25' pos='0 0 .5' rgba='1 "
        "0 0 1'/>"
        "<geom type='box' size='.2 .2 .2' pos='.3 -.6 .2' rgba='0 .5 1 .4'/>"
        "<geom type='sphere' size='.2' pos='-.5 -.3 .2' rgba='.1 1 .2 .5'/></worldbody></mujoco>",
        false, 0.02);
}

/* Edges in textures are mixed from other texels. */
TEST(textures) {
    try_scene(
        "<mujoco><asset><texture name='t' type='2d' builtin='checker' width='64' height='64' rgb1='1 .8 .2' "
        "rgb2='.1 .3 .6' "
        "mark='edge' markrgb='1 0 0'/><texture name='c' type='cube' builtin='checker' width='32' rgb1='1 1 "
        "1' rgb2='0 .5 0'/>"
        "<texture name='g' type='2d' builtin='gradient' width='32' height='32' rgb1='1 0 0' rgb2='0 0 1'/>"
        "<material name='t' texture='t' texrepeat='2 2'/><material name='c' texture='c'/><material name='g' "
        "texture='g'/>"
        "<mesh name='m' vertex='-.2 -.2 0 .2 -.2 0 .2 .2 .1 -.2 .2 .1 0 0 -.2' texcoord='0 1 1 1 1 0 0 0 0 "
        "0' "
        "face='0 1 2 0 2 3 0 4 1 1 4 2 2 4 3 3 4 0'/></asset><worldbody>"
        "<geom type='plane' size='2 2 .1' material='g'/><geom size='.3' pos='0 0 .3' material='c'/>"
        "<geom type='box' size='.2 .1 .3' pos='.7 .2 .3' euler='0 0 30' material='t'/>"
        "<geom type='capsule' size='.1 .3' pos='-.6 .2 .2' euler='0 80 20' material='t'/>"
        "<geom type='cylinder' size='.15 .2' pos='.1 -.6 .2' material='t'/>"
        "<geom type='mesh' mesh='m' pos='.6 -.5 .2' material='t'/>"
        "<geom type='ellipsoid' size='.1 .2 .3' pos='-.3 -.5 .3' material='t'/></worldbody></mujoco>",
        false, 0.04);
}

TEST(soft_bodies_contacts_and_sites) {
    try_scene(
        "<mujoco><worldbody><geom type='plane' size='0 0 1'/><site pos='.4 0 .4' size='.05' rgba='1 1 0 1'/>"
        "<body pos='.5 .3 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
        "<flexcomp name='s' type='grid' count='4 4 4' spacing='.1 .1 .1' pos='0 0 .2' dim='3' radius='.01' "
        "mass='1'>"
        "<elasticity young='1e4' poisson='.3'/><contact selfcollide='none'/></flexcomp></worldbody></mujoco>",
        true, 0.02);
}

/* Asked for without need: AUTO takes the CPU where a program would stand in for a GPU. */
TEST(choice_of_a_backend) {
    shot s;
    sti_error error = {0};
    open_shot(&s, "<mujoco><worldbody><geom size='.3'/></worldbody></mujoco>");
    sti_renderer *r = sti_renderer_create(s.model, NULL, NULL);
    REQUIRE(r);
    CHECK(sti_renderer_use(r, STI_PICTURE_AUTO, &error) == STI_OK);
    CHECK(!strstr(sti_renderer_device(r), "llvmpipe"));
    take(&s);
    CHECK(sti_renderer_draw(r, s.world, &s.options, &(sti_picture){.rgb = pair.rgb[0]}, &error) == STI_OK);
    CHECK(sti_renderer_use(r, (sti_picture_backend)7, &error) == STI_ARGUMENT);
    CHECK(sti_renderer_use(NULL, STI_PICTURE_CPU, &error) == STI_ARGUMENT);
    sti_renderer_destroy(r);
    close_shot(&s);
}

static const char of_all_kinds[] =
    "<mujoco xmlns:sti='urn:stiction'><asset><texture name='t' type='2d' builtin='checker' width='8'"
    " height='8' rgb1='1 .8 .2' rgb2='.1 .3 .6'/><material name='t' texture='t'/><mesh name='m' buil"
    "tin='sphere' params='4' scale='.1 .1 .1'/><hfield name='h' nrow='3' ncol='3' size='.3 .3 .1 .1'"
    " elevation='0 1 0 1 0 1 0 1 0'/></asset><worldbody><geom type='plane' size='0 0 1'/><geom type="
    "'capsule' size='.1 .3' pos='-.6 .2 .2' euler='0 80 20' material='t'/><geom type='box' size='.2 "
    ".2 .2' pos='.3 -.6 .2' rgba='0 .5 1 .4'/><geom type='mesh' mesh='m' pos='-.4 -.4 .2'/><geom typ"
    "e='hfield' hfield='h' pos='.5 .5 .1'/><flexcomp name='s' type='grid' count='2 2 2' spacing='.2 "
    ".2 .2' pos='0 0 .2' dim='3' radius='.01' mass='1'><elasticity young='1e4' poisson='.3'/><contac"
    "t selfcollide='none'/></flexcomp><body name='x' pos='.2 .8 .0999'><freejoint/><geom type='box' "
    "size='.1 .1 .1'/><site name='a' pos='0 0 .1'/></body><body pos='.6 .9 .0999' sti:contact='frame"
    "'><freejoint/><geom type='box' size='.1 .1 .1'/></body><body pos='-.9 .9 .0999' sti:contact='no"
    "ne'><freejoint/><geom type='box' size='.1 .1 .1'/></body><site name='b' pos='.2 .8 .6'/><site t"
    "ype='mesh' mesh='m' pos='1 0 1'/></worldbody><tendon><spatial><site site='a'/><site site='b'/><"
    "/spatial></tendon><deformable><skin name='k' material='t' inflate='.01' vertex='0 0 .2 .2 0 .2 "
    "0 .2 .2 0 0 .4' face='0 2 1 0 1 3 1 2 3 0 3 2' texcoord='0 0 1 0 0 1 1 1'><bone body='x' bindpo"
    "s='0 0 0' bindquat='1 0 0 0' vertid='0 1 2 3' vertweight='1 1 1 1'/></skin></deformable></mujoc"
    "o>";

/* A picture of colours, depth and objects with a renderer whose `fail`th allocation fails; if that is in the drawing, a second attempt
   has to give the whole picture. What it took is in c. False: the drawing was not reached. */
static bool draw_short_of_memory(shot *s, sti_picture_backend backend, long fail, counter *c, int i) {
    sti_picture out = {pair.rgb[i], pair.depth[i], pair.segment[i]};
    sti_error error = {0};
    *c = (counter){.fail_at = fail};
    sti_allocator allocator = {counting, c};
    sti_renderer *r = sti_renderer_create(s->model, &allocator, &error);
    sti_status status = r ? sti_renderer_use(r, backend, &error) : error.code;
    bool reached = status == STI_OK;
    CHECK(reached || status == (fail ? STI_NO_MEMORY : STI_UNSUPPORTED));
    if (reached && sti_renderer_draw(r, s->world, &s->options, &out, &error) != STI_OK) {
        CHECK(error.code == STI_NO_MEMORY && c->calls >= fail);
        CHECK(sti_renderer_draw(r, s->world, &s->options, &out, &error) == STI_OK);
    }
    sti_renderer_destroy(r);
    CHECK(c->live == 0);
    return reached;
}

static void fail_each(sti_picture_backend backend) {
    shot s;
    counter c;
    const sti_marker marker[] = {{.type = STI_GEOM_BOX,
                                  .pos = {0, 0, 1},
                                  .size = {.1, .2, .1},
                                  .mat = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                  .rgba = {1, 0, 0, 1}},
                                 {.type = STI_MARKER_ARROW,
                                  .pos = {0, 0, 1},
                                  .size = {.02, .02, .5},
                                  .mat = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                  .rgba = {0, 1, 0, .5f}},
                                 {.type = STI_GEOM_SPHERE,
                                  .pos = {NAN},
                                  .size = {.1},
                                  .mat = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                  .rgba = {0, 1, 0, 1}}};
    open_shot(&s, of_all_kinds);
    CHECK(sti_step(s.world, 3) == STI_OK);
    s.options.stress = s.options.contacts = s.options.sites = true;
    s.options.marker = marker, s.options.nmarker = STI__COUNT(marker);
    bool there = draw_short_of_memory(&s, backend, 0, &c, 0);
    for (long fail = 1, total = c.calls; there && fail <= total; fail++)
        if (draw_short_of_memory(&s, backend, fail, &c, 1)) {
            CHECK(memcmp(pair.rgb[0], pair.rgb[1], sizeof pair.rgb[0]) == 0);
            CHECK(memcmp(pair.depth[0], pair.depth[1], sizeof pair.depth[0]) == 0);
            CHECK(memcmp(pair.segment[0], pair.segment[1], sizeof pair.segment[0]) == 0);
        }
    close_shot(&s);
}

TEST(every_allocation_of_the_cpu_may_fail) { fail_each(STI_PICTURE_CPU); }
TEST(every_allocation_of_egl_may_fail) { fail_each(STI_PICTURE_EGL); }

MAIN(CASE(shapes_and_shadows), CASE(lamps_mirrors_and_glass), CASE(textures),
     CASE(soft_bodies_contacts_and_sites), CASE(choice_of_a_backend),
     CASE(every_allocation_of_the_cpu_may_fail), CASE(every_allocation_of_egl_may_fail))
