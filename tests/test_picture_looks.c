/* SPDX-License-Identifier: Apache-2.0 */
/* Materials, textures, lamps and layers on pictures: what they do to the colours of pixels. */
#include "shot.h"

static int brightness(const uint8_t *p) { return p[0] + p[1] + p[2]; }
/* squares of a floor, pale from the light above them; the sky is neither */
static bool warm(const uint8_t *p) { return p[0] > p[2] + 5 && p[0] > p[1] + 5; }
static bool cold(const uint8_t *p) { return p[2] > p[0] + 15 && p[1] <= p[0] + 1; }

#define ABOVE "<camera pos='0 0 3' xyaxes='1 0 0 0 1 0'/>"
#define BESIDE "<camera pos='0 -2 .5' xyaxes='1 0 0 0 .2 1'/>"

/* Red and blue squares of 0.5 m from straight above: both colours, about the same number of pixels of each. */
TEST(checkers_on_the_floor) {
    shot s;
    double cx, cy;
    open_shot(
        &s, "<mujoco><asset><texture name='t' type='2d' builtin='checker' width='8' height='8' rgb1='1 0 0' "
            "rgb2='0 0 1'/><material name='m' texture='t' texrepeat='4 4' rgba='1 1 1 1'/>"
            "<material name='plain' rgba='0 1 0 1'/></asset>"
            "<worldbody>" ABOVE "<geom type='plane' size='1 1 .1' material='m'/>"
            "<geom type='sphere' size='.05' pos='0 0 .1' material='plain'/></worldbody></mujoco>");
    s.options.camera = 0;
    take(&s);
    int red = count(&s, warm, &cx, &cy), blue = count(&s, cold, &cx, &cy);
    CHECK(red > 300 && blue > 300 && 2 * red > blue && 2 * blue > red);
    CHECK(greenish(at(&s, W / 2, H / 2))); /* the material's colour */
    close_shot(&s);
}

TEST(a_texture_without_repeat_or_end) {
    shot s;
    double cx, cy;
    open_shot(
        &s, "<mujoco><asset><texture name='t' type='2d' builtin='checker' width='8' height='8' rgb1='1 0 0' "
            "rgb2='0 0 1'/><texture name='flat' type='2d' builtin='flat' width='8' height='8' rgb1='1 1 1'/>"
            "<material name='m' texture='t' texrepeat='0 1' rgba='1 1 1 1'/>"
            "<material name='other' texture='flat' rgba='0 1 0 1'/></asset><worldbody>" ABOVE
            "<geom type='plane' size='0 0 .1' material='m'/>"
            "<geom type='box' size='.2 .2 .2' material='other' rgba='0 1 0 1'/></worldbody></mujoco>");
    s.options.camera = 0;
    take(&s);
    CHECK(count(&s, warm, &cx, &cy) > 100 && count(&s, cold, &cx, &cy) > 100);
    CHECK(greenish(at(&s, W / 2, H / 2))); /* the texture leaves the material's colour */
    close_shot(&s);
}

/* A red ball above a floor that mirrors: red pixels below the ball that a dull floor does not show. */
TEST(a_floor_that_mirrors) {
    int red[2];
    for (int shiny = 0; shiny < 2; shiny++) {
        shot s;
        char xml[1024];
        double cx, cy;
        snprintf(
            xml, sizeof xml,
            "<mujoco><asset><material name='m' reflectance='%g' rgba='.3 .3 .3 1'/></asset><worldbody>"
            "<camera pos='0 -2 .6' xyaxes='1 0 0 0 .15 1'/><geom type='plane' size='3 3 .1' material='m'/>"
            "<geom type='sphere' size='.25' pos='0 0 .5' rgba='1 0 0 1'/>"
            "<geom type='sphere' size='.1' pos='1 0 -5' rgba='1 0 0 1'/>"
            "<geom type='sphere' size='.1' pos='.6 0 .3' rgba='0 0 1 .5'/></worldbody></mujoco>",
            shiny ? 0.9 : 0.0);
        open_shot(&s, xml);
        s.options.camera = 0;
        take(&s);
        red[shiny] = count(&s, reddish, &cx, &cy);
        close_shot(&s);
    }
    CHECK(red[1] > 1.3 * red[0]);
}

/* A lamp at a place: bright under it, dark far from it, and a shadow where a ball stands in its way. */
TEST(a_lamp_at_a_place) {
    for (int inside = 0; inside < 2; inside++) {
        shot s;
        char xml[1024];
        snprintf(xml, sizeof xml,
                 "<mujoco><visual><headlight diffuse='0 0 0' ambient='0 0 0' specular='0 0 "
                 "0'/></visual><worldbody>"
                 "<light pos='%g 0 %g' dir='0 0 -1' diffuse='1 1 1' castshadow='true'/>" ABOVE
                 "<geom type='plane' size='3 3 .1' rgba='.8 .8 .8 1'/>"
                 "<geom type='sphere' size='.15' pos='.6 0 .4' rgba='.5 .5 .5 1'/></worldbody></mujoco>",
                 inside ? 0.3 : 0.0, inside ? 0.6 : 2.5);
        open_shot(&s, xml);
        s.options.camera = 0;
        take(&s);
        /* the floor at (0.73, 0) lies in the shadow of the lamp at (0, 0, 2.5) */
        double f = 0.5 * H / tan(22.5 * acos(-1) / 180);
        int x = (int)(W / 2 + f * 0.76 / 3), left = (int)(W / 2 - f * 0.76 / 3);
        CHECK(brightness(at(&s, left, H / 2)) > 60);
        if (!inside) CHECK(brightness(at(&s, x, H / 2)) + 60 < brightness(at(&s, left, H / 2)));
        close_shot(&s);
    }
}

/* More lamps than there is room for, some that are off, colours out of range: drawn, and no pixel is black. */
TEST(many_lamps) {
    char xml[8192] = "<mujoco><worldbody>" ABOVE "<geom type='plane' size='3 3 .1'/><geom size='.3'/>";
    for (int i = 0; i < 40; i++) {
        char lamp[200];
        snprintf(lamp, sizeof lamp,
                 "<light pos='%d 0 3' dir='0 .1 -1' directional='%s' active='%s' castshadow='%s' diffuse='%d "
                 ".5 -1' "
                 "ambient='2 0 0' specular='-1 2 0'/>",
                 i % 5, i % 2 ? "true" : "false", i % 3 ? "true" : "false", i % 4 ? "false" : "true", i % 7);
        strcat(xml, lamp);
    }
    strcat(xml, "</worldbody></mujoco>");
    shot s;
    open_shot(&s, xml);
    s.options.camera = 0;
    take(&s);
    for (int i = 0; i < W * H; i++) CHECK(brightness(s.rgb + 3 * i) > 0);
    close_shot(&s);
}

/* Without any light of the model only the headlight is left; without that as well, emission. */
TEST(emission_needs_no_light) {
    int bright[2];
    for (int glows = 0; glows < 2; glows++) {
        shot s;
        char xml[700];
        snprintf(
            xml, sizeof xml,
            "<mujoco><visual><headlight diffuse='0 0 0' ambient='0 0 0' specular='0 0 0'/></visual><asset>"
            "<material name='m' emission='%d' specular='2' shininess='-1' rgba='1 0 0 "
            "1'/></asset><worldbody>" BESIDE
            "<light active='false'/><geom size='.4' pos='0 0 .5' material='m'/></worldbody></mujoco>",
            glows);
        open_shot(&s, xml);
        s.options.camera = 0;
        take(&s);
        bright[glows] = at(&s, W / 2, H / 2)[0];
        close_shot(&s);
    }
    CHECK(bright[1] > bright[0] + 15);
}

/* Two panes, one behind the other: the near one counts more, in whichever order they were declared. */
TEST(panes_are_drawn_far_to_near) {
    for (int swap = 0; swap < 2; swap++) {
        shot s;
        char xml[900];
        const char *red = "<geom type='box' size='.5 .01 .5' pos='0 0 .5' rgba='1 0 0 .7'/>",
                   *blue = "<geom type='box' size='.5 .01 .5' pos='0 1 .5' rgba='0 0 1 .7'/>";
        snprintf(xml, sizeof xml,
                 "<mujoco><worldbody>" BESIDE "%s%s"
                 "<geom type='plane' size='.2 .2 .1' rgba='1 1 1 .5'/></worldbody></mujoco>",
                 swap ? red : blue, swap ? blue : red);
        open_shot(&s, xml);
        s.options.camera = 0;
        take(&s);
        const uint8_t *p = at(&s, W / 2, H / 2);
        CHECK(p[0] > p[2] + 20);
        close_shot(&s);
    }
}

/* A floor with an end: beyond it there is sky, whichever way it lies. */
TEST(a_floor_with_an_end) {
    shot s;
    open_shot(&s, "<mujoco><worldbody>" ABOVE
                  "<geom type='plane' size='.2 0 .1' rgba='0 1 0 1'/></worldbody></mujoco>");
    s.options.camera = 0;
    take(&s);
    CHECK(greenish(at(&s, W / 2, 5)) && greenish(at(&s, W / 2, H - 5)) && !greenish(at(&s, 5, H / 2)));
    close_shot(&s);
}

/* Sites of every kind, tendons over pulleys and around geoms. */
TEST(sites_and_tendons_of_every_kind) {
    static const char *const kinds[] = {"sphere", "capsule", "ellipsoid", "cylinder", "box"};
    for (int i = 0; i < 5; i++) {
        shot s;
        double cx, cy;
        char xml[1800];
        snprintf(xml, sizeof xml,
                 "<mujoco><worldbody>" BESIDE
                 "<site type='%s' size='.3 .3 .3' pos='0 0 .5' rgba='1 0 0 1' group='1'/>"
                 "<site name='a' pos='-1 0 .5' rgba='0 0 0 0'/><site name='p' pos='-.8 0 1' rgba='0 0 0 0'/>"
                 "<site name='q' pos='.8 0 1' rgba='0 0 0 0'/><site name='z' pos='1 0 .5' rgba='0 0 0 0'/>"
                 "<geom name='g' type='sphere' size='.01' pos='-.9 .5 .7' rgba='1 1 1 0'/>"
                 "<body pos='0 5 0'><joint name='j'/><geom size='.1'/><site name='b'/></body></worldbody>"
                 "<tendon><spatial rgba='0 1 0 1' width='.05'><site site='a'/><geom geom='g'/><site "
                 "site='p'/><pulley divisor='2'/>"
                 "<site site='q'/><site site='z'/></spatial>"
                 "<fixed><joint joint='j' coef='1'/></fixed></tendon></mujoco>",
                 kinds[i]);
        open_shot(&s, xml);
        s.options.camera = 0;
        s.options.sites = true;
        take(&s);
        CHECK(count(&s, reddish, &cx, &cy) > 40 && fabs(cx - W / 2.0) < 2);
        CHECK(count(&s, greenish, &cx, &cy) > 4 &&
              fabs(cx - W / 2.0) < 8); /* left and right, nothing between */
        CHECK(!greenish(at(&s, W / 2, H / 4)));
        s.options.groups = 1;
        take(&s);
        CHECK(count(&s, reddish, &cx, &cy) == 0);
        close_shot(&s);
    }
}

TEST(an_empty_scene_is_sky) {
    shot s;
    double cx, cy;
    open_shot(&s, "<mujoco/>");
    take(&s);
    CHECK(count(&s, skyish, &cx, &cy) == W * H);
    s.options.width = 700, s.options.height = 1;
    static uint8_t wide[3 * 1100];
    CHECK(sti_picture_render(s.world, &s.options, wide, NULL) == STI_OK);
    s.options.width = 1100;
    CHECK(sti_picture_render(s.world, &s.options, wide, NULL) == STI_OK);
    close_shot(&s);
}

TEST(a_picture_on_a_full_disk) {
    static uint8_t rgb[300 * 300 * 3];
    sti_error error = {0};
    unsigned seed = 5;
    for (size_t k = 0; k < sizeof rgb; k++) rgb[k] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    CHECK(sti_picture_write_png("/dev/full", rgb, 300, 300, &error) == STI_FILE && error.file[0]);
    CHECK(strstr(error.message, "whole"));
    CHECK(sti_picture_write_png(NULL, rgb, 3, 3, &error) == STI_ARGUMENT);
    CHECK(sti_picture_write_png("x.png", NULL, 3, 3, &error) == STI_ARGUMENT);
    CHECK(sti_picture_write_png("x.png", rgb, 3, 0, &error) == STI_ARGUMENT);
    CHECK(sti_picture_write_png("x.png", rgb, 8193, 3, &error) == STI_ARGUMENT);
    CHECK(sti_picture_write_png("x.png", rgb, 3, 8193, &error) == STI_ARGUMENT);
}

MAIN(CASE(checkers_on_the_floor), CASE(a_texture_without_repeat_or_end), CASE(a_floor_that_mirrors),
     CASE(a_lamp_at_a_place), CASE(many_lamps), CASE(emission_needs_no_light),
     CASE(panes_are_drawn_far_to_near), CASE(a_floor_with_an_end), CASE(sites_and_tendons_of_every_kind),
     CASE(an_empty_scene_is_sky), CASE(a_picture_on_a_full_disk))
