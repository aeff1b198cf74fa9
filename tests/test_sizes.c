/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes that are products of counts: short scenes with many pairs of things take bounded memory, or are refused by a limit that
   has a name. */
#include "scene.h"

#define MOST ((size_t)1 << 30) /* bytes that a world of this file may take */

/* An allocator that refuses to go beyond a budget. */
typedef struct budget {
    size_t used, peak, most;
} budget;

static void *spend(void *context, void *ptr, size_t old_size, size_t new_size) {
    budget *b = context;
    size_t used = b->used - (ptr ? old_size : 0) + new_size;
    if (new_size && used > b->most) return NULL;
    void *p = new_size ? realloc(ptr, new_size) : (free(ptr), NULL);
    if (new_size && !p) return NULL;
    b->used = used;
    if (used > b->peak) b->peak = used;
    return p;
}

/* Worlds of a scene within the budget: the status of its creation and of two steps. */
static sti_status try_world(const char *xml, sti_error *error) {
    budget b = {.most = MOST};
    sti_allocator allocator = {spend, &b};
    sti_world_options options = sti_world_options_default();
    options.allocator = &allocator;
    sti_model *m = model_of(xml);
    sti_world *w = sti_world_create(m, &options, error);
    sti_status status = w ? sti_step(w, 2) : error->code;
    if (w && status != STI_OK) *error = *sti_world_error(w);
    sti_world_destroy(w);
    sti_model_free(m);
    CHECK(b.used == 0);
    printf("     %s, at most %.0f MB\n", sti_status_name(status), (double)b.peak / 1e6);
    return status;
}

#define BESIDE(count, geom)                                                                           \
    "<mujoco><worldbody><flexcomp name='s' type='grid' dim='3' count='" count "' spacing='.1 .1 .1' " \
    "mass='1' pos='0 0 3'><elasticity young='1e4' poisson='.3'/></flexcomp><replicate count='65535' " \
    "offset='1 0 0'><geom " geom "/></replicate></worldbody></mujoco>"

/* 65536 bodies have 2^31 pairs, of which the soft one's are 65535. */
TEST(many_geoms_beside_a_soft_body) {
    sti_error error = {0};
    CHECK(try_world(BESIDE("2 2 2", "size='.1'"), &error) == STI_OK);
}

/* Every vertex at every plane would be 33 million points of contact. */
TEST(many_planes_below_a_soft_body) {
    sti_error error = {0};
    CHECK(try_world(BESIDE("8 8 8", "type='plane' size='1 1 1'"), &error) == STI_OK);
}

/* Of n bodies with a field n (n - 1) / 2 pairs may touch. */
TEST(pairs_of_fields_have_a_limit) {
    sti_error error = {0};
    CHECK(
        try_world("<mujoco xmlns:sti='urn:stiction'><worldbody><replicate count='6000' offset='1 0 0'><body>"
                  "<freejoint/><geom size='.1' sti:hydroelastic_stiffness='1e6'/></body></replicate>"
                  "</worldbody></mujoco>",
                  &error) == STI_LIMIT);
    CHECK(strstr(error.message, "16777216 pairs"));
}

MAIN(CASE(many_geoms_beside_a_soft_body), CASE(many_planes_below_a_soft_body),
     CASE(pairs_of_fields_have_a_limit))
