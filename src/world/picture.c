/* SPDX-License-Identifier: Apache-2.0 */
/* A picture of a world as its last forward or step left it; a fresh world is brought to position first. */
#include "record/draw.h"
#include "world/world.h"

static const double *view(sti_world *world, sti_field field) { return sti_world_view(world, field).data; }

sti_status sti_renderer_draw(sti_renderer *renderer, sti_world *world, const sti_picture_options *options,
                             const sti_picture *out, sti_error *error) {
    if (!renderer || !world || !out || (!out->rgb && !out->depth && !out->segment))
        return sti__fail(error, STI_ARGUMENT,
                         "a picture needs a renderer, a world and a place for its pixels");
    /* a world of a batch may have a model of its own, which differs in numbers only */
    const sti_model *model = sti__renderer_model(renderer);
    if (model != world->model && model != world->model->of)
        return sti__fail(error, STI_ARGUMENT, "the renderer was made for another model than the world's");
    sti_status status = sti__draw_check(world->model, options, error);
    if (status != STI_OK) return status;
    sti__pose pose = {view(world, STI_FIELD_geom_xpos),     view(world, STI_FIELD_geom_xmat),
                      view(world, STI_FIELD_site_xpos),     view(world, STI_FIELD_site_xmat),
                      view(world, STI_FIELD_cam_xpos),      view(world, STI_FIELD_cam_xmat),
                      view(world, STI_FIELD_light_xpos),    view(world, STI_FIELD_light_xdir),
                      view(world, STI_FIELD_flexvert_xpos), view(world, STI_FIELD_xpos),
                      view(world, STI_FIELD_xquat)};
    if (world->progress == STI__AT_NOTHING) sti_stage_position(world);
    if (options->contacts) pose.contact = sti_world_contacts(world, &pose.ncontact);
    size_t nmises = sti__size(world->model->nflexelem, sizeof(double));
    double *mises = options->stress && nmises ? sti__alloc(&world->allocator, nmises) : NULL;
    if (options->stress && nmises && !mises)
        return sti__fail(error, STI_NO_MEMORY, "out of memory for the stress of soft bodies");
    if (mises) sti_world_soft_stress(world, mises, NULL);
    pose.mises = mises;
    status = sti__draw(renderer, world->model, &pose, options, out, error);
    sti__free(&world->allocator, mises, nmises);
    return status;
}

sti_status sti_picture_render(sti_world *world, const sti_picture_options *options, uint8_t *rgb,
                              sti_error *error) {
    if (!world || !rgb)
        return sti__fail(error, STI_ARGUMENT, "a picture needs a world and a place for its pixels");
    sti_renderer *renderer = sti_renderer_create(world->model, &world->allocator, error);
    if (!renderer) return STI_NO_MEMORY;
    sti_status status = sti_renderer_draw(renderer, world, options, &(sti_picture){.rgb = rgb}, error);
    sti_renderer_destroy(renderer);
    return status;
}
