/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures of a world without display: by the CPU, or by a GPU through EGL. docs/pictures.md. */
#ifndef STICTION_PICTURE_H
#define STICTION_PICTURE_H

#include <stiction/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A shape that is only looks: pictures and the viewer show it, the simulation does not know it. */
typedef struct sti_marker {
    int type;      /* STI_GEOM_SPHERE, CAPSULE, ELLIPSOID, CYLINDER, BOX, or STI_MARKER_ARROW */
    float rgba[4]; /* 0..1 */
    double
        size[3];   /* m, as of geoms of the type; of an arrow: radius of the shaft, and its length as third */
    double pos[3]; /* m, world: the middle; of an arrow: where it begins */
    double mat[9]; /* rotation to world, row by row; arrows point along the third axis */
    char label[32]; /* beside it in the viewer, ends with a zero; pictures have no text */
} sti_marker;
#define STI_MARKER_ARROW 100

typedef struct sti_picture_options {
    int width, height;        /* pixels, 1..8192 */
    int camera;               /* camera id, or -1: the free camera below */
    double lookat[3];         /* m, world */
    double distance;          /* m; 0 = so far that all is in the picture (with lookat untouched: around
                          what is there now) */
    double azimuth;           /* degrees, MuJoCo's convention */
    double elevation;         /* degrees */
    int groups;               /* bit g set = draw geoms of group g */
    bool sites;               /* draw sites and tendons too */
    bool contacts;            /* draw contact points and forces, in the looks of docs/viewer.md */
    double force_scale;       /* of the arrows; 1: the scene's whole weight is 0.6 of its extent long */
    bool stress;              /* colour soft bodies by von Mises' number, from 0 to the end of the scale */
    double stress_end;        /* Pa; 0 = the largest there is now */
    const sti_marker *marker; /* shapes to draw beside the world's */
    int nmarker;
    sti_tasks
        tasks; /* threads that draw; all 0: the calling one alone. The picture is the same for any number */
    uint64_t cookie; /* set by sti_picture_options_default */
} sti_picture_options;

/* Looks at the model's centre from its visual/global angles; groups 0 to 2. model may be NULL. */
STI_API sti_picture_options sti_picture_options_default(const sti_model *model);

/* RGB, 3 bytes a pixel, rows from the top, into rgb (width*height*3 bytes). */
STI_API sti_status sti_picture_render(sti_world *world, const sti_picture_options *options, uint8_t *rgb,
                                      sti_error *error);

/* What a picture is written to; members that are NULL are left out. */
typedef struct sti_picture {
    uint8_t *rgb; /* as above */
    float *
        depth; /* m along the camera's axis at the middle of each pixel; STI_PICTURE_FAR times the model's extent at most
                     and where there is nothing */
    int *
        segment; /* 2 for each pixel: index and sti_object of the geom, flex, site or tendon there; -1 -1 = nothing */
} sti_picture;
#define STI_PICTURE_FAR 50

/* Makes pictures of the worlds of one model and keeps what they share: shading normals, simplified meshes, buffers. The model
   must outlive it. allocator may be NULL. One thread at a time. */
typedef struct sti_renderer sti_renderer;
STI_API sti_renderer *sti_renderer_create(const sti_model *model, const sti_allocator *allocator,
                                          sti_error *error);
STI_API void sti_renderer_destroy(sti_renderer *renderer);
/* What draws: the CPU (as created), OpenGL ES through EGL (its library is opened at run time; STI_UNSUPPORTED if it is not there or
   has no device that can draw), or AUTO: EGL if there is a real GPU, else the CPU. EGL draws the same scene with the same options; its
   colours differ a little from the CPU's, and from device to device. */
typedef enum sti_picture_backend { STI_PICTURE_CPU, STI_PICTURE_EGL, STI_PICTURE_AUTO } sti_picture_backend;
STI_API sti_status sti_renderer_use(sti_renderer *renderer, sti_picture_backend backend, sti_error *error);
/* "CPU", or the name that the driver gives what draws; lives as long as the renderer, or until its backend changes. */
STI_API const char *sti_renderer_device(const sti_renderer *renderer);
/* With the CPU the same pixels as sti_picture_render's; a world of another model is refused. */
STI_API sti_status sti_renderer_draw(sti_renderer *renderer, sti_world *world,
                                     const sti_picture_options *options, const sti_picture *out,
                                     sti_error *error);

/* Writes rgb as a PNG file. */
STI_API sti_status sti_picture_write_png(const char *path, const uint8_t *rgb, int width, int height,
                                         sti_error *error);

#ifdef __cplusplus
}
#endif
#endif
