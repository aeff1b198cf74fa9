/* SPDX-License-Identifier: Apache-2.0 */
/* Models and worlds from MJCF text, for tests. */
#ifndef STI_TEST_SCENE_H
#define STI_TEST_SCENE_H

#include "failing.h"
#include "test.h"
#include <stiction/stiction.h>

static inline sti_model *model_of(const char *xml) {
    sti_error error = {0};
    char text[1024];
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, NULL, &error);
    sti_model *model = spec ? sti_model_compile(spec, NULL, &error) : NULL;
    if (!model) fprintf(stderr, "%s\n", sti_error_format(&error, text, sizeof text));
    REQUIRE(model);
    sti_spec_free(spec);
    return model;
}

static inline sti_world *world_of(const sti_model *model) {
    sti_world *world = sti_world_create(model, NULL, NULL);
    REQUIRE(world);
    return world;
}

static inline double *values(sti_world *world, const char *field) {
    sti_view view = sti_world_view_named(world, field);
    REQUIRE(view.data);
    return view.data;
}

#endif
