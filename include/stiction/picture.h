/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a world without display or GPU: a small software rasteriser. */
#ifndef STICTION_PICTURE_H
#define STICTION_PICTURE_H

#include <stiction/world.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sti_picture_options {
    int width, height; /* pixels, 1..8192 */
    int camera;        /* camera id, or -1: the free camera below */
    double lookat[3];  /* m, world */
    double distance;   /* m; 0 = so far that all is in the picture (with lookat untouched: around
                          what is there now) */
    double azimuth;    /* degrees, MuJoCo's convention */
    double elevation;  /* degrees */
    int groups;        /* bit g set = draw geoms of group g */
    bool sites;        /* draw sites and tendons too */
    uint64_t cookie;   /* set by sti_picture_options_default */
} sti_picture_options;

/* Looks at the model's centre from its visual/global angles; groups 0 to 2. model may be NULL. */
STI_API sti_picture_options sti_picture_options_default(const sti_model *model);

/* RGB, 3 bytes a pixel, rows from the top, into rgb (width*height*3 bytes). */
STI_API sti_status sti_picture_render(sti_world *world, const sti_picture_options *options, uint8_t *rgb,
                                      sti_error *error);

/* Writes rgb as a PNG file. */
STI_API sti_status sti_picture_write_png(const char *path, const uint8_t *rgb, int width, int height,
                                         sti_error *error);

#ifdef __cplusplus
}
#endif
#endif
