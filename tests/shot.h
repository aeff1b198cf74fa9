/* SPDX-License-Identifier: Apache-2.0 */
/* Small pictures of scenes, and what is where on them. */
#ifndef STI_TEST_SHOT_H
#define STI_TEST_SHOT_H

#include "base/internal.h"
#include "test.h"
#include <stiction/stiction.h>

enum { W = 96, H = 64 };

typedef struct shot {
    sti_model *model;
    sti_world *world;
    sti_picture_options options;
    uint8_t rgb[W * H * 3];
} shot;

static inline void open_shot(shot *s, const char *xml) {
    sti_error error = {0};
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, &error);
    s->model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    s->world = s->model ? sti_world_create(s->model, NULL, &error) : NULL;
    if (!s->world) fprintf(stderr, "%s\n", error.message);
    sti_spec_free(spec);
    REQUIRE(s->world);
    s->options = sti_picture_options_default(s->model);
    s->options.width = W;
    s->options.height = H;
}

static inline void close_shot(shot *s) {
    sti_world_destroy(s->world);
    sti_model_free(s->model);
}

static inline void take(shot *s) {
    sti_error error = {0};
    CHECK(sti_picture_render(s->world, &s->options, s->rgb, &error) == STI_OK);
    CHECK(error.code == STI_OK);
}

static inline const uint8_t *at(const shot *s, int x, int y) { return s->rgb + 3 * (y * W + x); }
static inline bool reddish(const uint8_t *p) { return p[0] > 60 && p[0] > 2 * p[1] && p[0] > 2 * p[2]; }
static inline bool greenish(const uint8_t *p) {
    return p[1] > 50 && 2 * p[1] > 3 * p[0] && 2 * p[1] > 3 * p[2];
}
static inline bool skyish(const uint8_t *p) {
    return p[2] >= p[0] && p[0] > 60 && p[2] - p[0] < 120 && !greenish(p);
}

/* Pixels of a colour, and the middle of them. */
static inline int count(const shot *s, bool (*is)(const uint8_t *), double *cx, double *cy) {
    int n = 0;
    *cx = *cy = 0;
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            if (is(at(s, x, y))) {
                n++;
                *cx += x + 0.5;
                *cy += y + 0.5;
            }
    if (n) *cx /= n, *cy /= n;
    return n;
}

#define WORLD(content) "<mujoco><worldbody>" content "</worldbody></mujoco>"
#define BALL "<body pos='0 0 1'><joint type='free'/><geom type='sphere' size='0.2' rgba='1 0 0 1'/></body>"

#endif
