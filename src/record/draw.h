/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a model in a pose. */
#ifndef STI_RECORD_DRAW_H
#define STI_RECORD_DRAW_H

#include <stiction/picture.h>

/* Where things are, from a world's views; arrays of the model's sizes. */
typedef struct sti__pose {
    const double *geom_xpos, *geom_xmat, *site_xpos, *site_xmat, *cam_xpos, *cam_xmat, *light_xpos,
        *light_xdir, *flexvert_xpos, *xpos, *xquat;
    const struct sti_contact *contact;
    int ncontact;        /* 0 where none are asked for */
    const double *mises; /* of each tetrahedron, Pa; NULL: not asked for */
} sti__pose;

const sti_model *sti__renderer_model(const sti_renderer *renderer);
/* Options that sti__draw accepts, or an error. */
sti_status sti__draw_check(const sti_model *model, const sti_picture_options *options, sti_error *error);
sti_status sti__draw(sti_renderer *renderer, const sti_model *model, const sti__pose *pose,
                     const sti_picture_options *options, const sti_picture *out, sti_error *error);

#endif
