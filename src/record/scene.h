/* SPDX-License-Identifier: Apache-2.0 */
/* What a picture is made of: items (a shape, a pose, a look) seen through a lens onto a target.
     picture.c     renderers; depth and objects
     eye.c         options, camera
     band.c        colours, in bands of rows
     egl/          the same by OpenGL ES
     scene.c       geoms, sites, tendons and soft bodies to items
     marks.c       contact forces and stress
     shape.c       unit shapes; shading normals of meshes
     raster.c      items to depth, item and face per sample
     surface.c     place and normal of what a sample shows
     texture.c     textures on it
     light.c       lamps and sky, and depth maps seen from them
     shadow.c      what the depth maps say of a place
     shade.c       colour of a point
   Lengths in metres, colours linear; single precision except for places in the world. */
#ifndef STI_RECORD_SCENE_H
#define STI_RECORD_SCENE_H

#include "base/internal.h"
#include "record/draw.h"
#include <math.h>

/* ---- shapes -------------------------------------------------------------------------------------- */

typedef struct sti__drawn_mesh {
    const float *vert; /* nvert * 3 */
    const int *face;   /* nface * 3 */
    float *normal;     /* nface * 9, one for each corner */
    float radius;      /* of a ball around the origin that holds it; 0 = not measured */
    float *tint;       /* nvert * 3: colours of its own, linear, or NULL */
    const float
        *coord; /* the model's texture coordinates and, for each corner of the faces, which it has; or NULL */
    const int *face_coord; /* nface * 3 */
    int nvert, nface;
    bool own_vert;    /* vert and face are ours, not the model's */
    bool shared_face; /* but the faces are the model's */
    bool closed;      /* its faces look outwards and leave no hole: those seen from behind are hidden */
} sti__drawn_mesh;

enum { STI__LEVELS = 4 }; /* of detail */
enum {
    STI__SPHERES,
    STI__CYLINDERS = STI__SPHERES + STI__LEVELS,
    STI__CUBE = STI__CYLINDERS + STI__LEVELS,
    STI__CONE,
    STI__MESHES
};

/* Unit shapes, then the model's meshes, height fields, soft bodies and skins (made when first asked for). */
typedef struct sti__shapes {
    sti__drawn_mesh *shape;
    sti__drawn_mesh
        *coarse;        /* of large meshes: fewer faces, for the small maps of the sky; else without faces */
    int count, largest; /* most vertices of all */
    const sti_model *model;
    const sti_allocator *allocator;
} sti__shapes;

bool sti__shapes_init(sti__shapes *s, const sti_model *m, const sti_allocator *allocator);
bool sti__shapes_need_mesh(sti__shapes *s, int mesh);
bool sti__shapes_need_field(sti__shapes *s, int field);
/* The skin of a soft body as it is now, around its middle; xpos: of all vertices. */
bool sti__shapes_need_soft(sti__shapes *s, int flex, const double *xpos, double middle[3]);
/* A skin as its bones move it, around the first of them. */
bool sti__shapes_need_skin(sti__shapes *s, int skin, const double *xpos, const double *xquat,
                           double middle[3]);
void sti__shapes_free(sti__shapes *s);
/* Normal of every corner: the mean of the faces that meet there at less than 40 degrees. */
bool sti__shape_normals(sti__drawn_mesh *shape, const sti_allocator *allocator);

/* ---- items ----------------------------------------------------------------------------------------- */

typedef enum sti__pattern { STI__PLAIN, STI__CHECKER, STI__GRID } sti__pattern;

/* How a picture lies on a geom without coordinates of its own: along x and y; on each side of a box; around a ball or ellipsoid;
   around a cylinder, flat on its caps; around a capsule. */
typedef enum sti__wrap { STI__ALONG, STI__SIDES, STI__AROUND, STI__TUBE, STI__PILL } sti__wrap;

typedef struct sti__look {
    float color[3], other[3]; /* other: of the pattern */
    float alpha, specular, shininess, emission, reflectance;
    float cell[2]; /* of the pattern, m */
    sti__pattern pattern;
    int texture; /* 1 + of the scene's textures; 0 = none */
    float map[3],
        shift
            [2]; /* of a picture: repetitions a metre along x and y, or around (wrap), and what is added; of a cube: what the
                               direction is scaled by */
    sti__wrap wrap;
    bool printed; /* the mesh says where the picture is */
} sti__look;

typedef struct sti__item {
    int shape; /* first level of detail; -1 for a plane, which is cast, not drawn */
    double pos[3];
    float rot[9];   /* local to world */
    float scale[3]; /* of the unit shape */
    float stretch;  /* along z, apart from the middle: what makes a capsule of a sphere */
    float radius;   /* of a ball around pos that holds it */
    float half[2];  /* of a plane; 0 = without end */
    bool casts;     /* a shadow */
    int kind,
        object; /* sti_object and index of what it belongs to; kind -1: a mark over what hides it, such as
                         a contact's arrow; -2: a marker of the user's */
    sti__look look;
} sti__item;

/* A texture at halved sizes, down to one pixel; colours linear. */
enum { STI__LEVELS_MOST = 16 };
typedef struct sti__texture {
    bool cube;
    int faces; /* of a cube: 1 (all are the same) or 6 */
    int levels, width[STI__LEVELS_MOST], height[STI__LEVELS_MOST];
    float *texel
        [STI__LEVELS_MOST]; /* 3 for each, rows from the top, faces one after the other; the largest first */
    size_t ntexel;          /* of all levels, which are one block */
} sti__texture;

typedef struct sti__scene {
    const sti_model *model;
    const sti__pose *pose;
    sti__shapes shapes;
    sti__texture *texture; /* of the model, made when first asked for; NULL before */
    sti__vec items;        /* sti__item */
    double centre[3];      /* of all that casts a shadow */
    double radius;
    float floor[3]; /* colour that the ground throws back */
} sti__scene;

sti_status sti__scene_gather(sti__scene *scene, const sti_picture_options *options);
/* Contacts of the pose as points and arrows; colours of stress on soft bodies, from 0 to end (0: the largest). False if memory
   is short. */
bool sti__scene_contacts(sti__scene *scene, double factor);
bool sti__scene_stress(sti__scene *scene, double end);
/* Markers of the options. Shape, scale and radius of a primitive; false if there is nothing to draw. */
bool sti__scene_markers(sti__scene *scene, const sti_picture_options *options);
void sti__linear_color(float out[3], const float rgb[3]); /* from the screen's */
bool sti__scene_form(sti__item *item, int type, const double size[3]);
static inline const sti__item *sti__scene_item(const sti__scene *s, int i) {
    return (const sti__item *)s->items.data + i;
}

/* In which order and how items are drawn: opaque ones in any, then the transparent from far to near, then marks. */
static inline bool sti__is_mark(const sti__item *item) { return item->kind == -1; }
static inline bool sti__is_transparent(const sti__item *item) {
    return item->shape >= 0 && item->look.alpha < 0.999f;
}
static inline bool sti__is_opaque(const sti__item *item) {
    return item->shape >= 0 && !sti__is_mark(item) && !sti__is_transparent(item);
}
/* Whether a part of an item may be over a plane that mirrors. */
bool sti__scene_above(const sti__item *item, const sti__item *plane);

/* ---- lens and target ---------------------------------------------------------------------------------- */

/* Camera or light. Places become (right, up, depth); perspective or parallel. */
typedef struct sti__lens {
    double pos[3];
    float axis[9]; /* rows: right, up, forward */
    float fx, fy;  /* pixels per unit of tangent (perspective) or per metre (parallel) */
    float cx, cy;  /* pixel of the axis */
    float near;
    bool parallel, mirrored; /* mirrored: axis is right-handed, as seen in a mirror */
} sti__lens;

/* A lens at pos that looks along forward. */
void sti__lens_aim(sti__lens *lens, const double pos[3], const double forward[3]);
/* The lens behind the mirror that an item's plane is. */
void sti__lens_mirror(sti__lens *lens, const sti__item *plane);
/* The first plane that mirrors, with the lens behind it; -1 = none. */
int sti__scene_mirror(const sti__scene *scene, const sti__lens *eye, sti__lens *mirror);
/* The transparent items, far to near; order has room for all items. Returns how many. */
int sti__scene_layers(const sti__scene *scene, const sti__lens *eye, int *order);
/* The lens of a picture with `fine` samples per pixel along each side. */
sti_status sti__lens_eye(sti__lens *lens, const sti__scene *scene, const sti_picture_options *options,
                         int fine, sti_error *error);
/* Depth key, larger = nearer, linear on the screen. */
static inline float sti__lens_key(const sti__lens *lens, float depth) {
    return lens->parallel ? -depth : 1 / depth;
}

enum { STI__WIDE = 4 }; /* samples of a row that are filled at once */

/* Rows top .. top + height - 1 of a picture. */
typedef struct sti__target {
    int width, height, top;
    int stride;  /* samples from row to row: sti__target_stride(width) */
    bool finest; /* round shapes in their finest form, for depths */
    bool coarse; /* simplified meshes will do */
    float *key;  /* depth key, -FLT_MAX = nothing */
    int *id;     /* item, -1 = nothing; NULL = depth only */
    int *face;   /* of the item's shape; NULL = depth only */
} sti__target;
static inline int sti__target_stride(int width) {
    return (width + 2 * STI__WIDE - 1) / STI__WIDE * STI__WIDE;
}

/* The level of detail at which the item is drawn through the lens. */
const sti__drawn_mesh *sti__choose_shape(const sti__scene *scene, const sti__item *item,
                                         const sti__lens *lens, bool coarse);
/* scratch: STI__SCRATCH words for each vertex of the largest shape. */
enum { STI__SCRATCH = 8 };
static inline size_t sti__scratch_floats(const sti__shapes *shapes) {
    return ((size_t)shapes->largest + 1) * STI__SCRATCH;
}
void sti__raster_item(const sti__target *t, const sti__lens *lens, const sti__scene *scene, int id,
                      float *scratch);
/* Planes, which are spans of each row. */
void sti__raster_plane(const sti__target *t, const sti__lens *lens, const sti__scene *scene, int id);
void sti__target_clear(const sti__target *t);
void sti__target_clear_rows(const sti__target *t, int from, int to); /* counted from top */

/* ---- surfaces ------------------------------------------------------------------------------------------ */

/* Faces of one part have the same normals, or ones that change smoothly: the whole of a ball, a side of a box, a face of a
   mesh. shape: that was drawn, NULL for planes. */
int sti__surface_part(const sti__scene *scene, int id, const sti__drawn_mesh *shape, int face);
/* Unit normal at a place on a face, on the side that looks back along the unit ray. */
void sti__surface_normal(const sti__scene *scene, int id, const sti__drawn_mesh *shape, int face,
                         const double p[3], const float ray[3], float out[3]);
struct sti__point;
/* texture.c. Whether the texture can be drawn; it is made when first asked for. False in *ok if memory is short. */
bool sti__texture_need(sti__scene *scene, int texture, bool *ok);
void sti__textures_free(sti__scene *scene);
/* Mean colour of a texture at a point, over its pixel; false where it has none. */
bool sti__texture_color(const sti__scene *scene, int id, const sti__drawn_mesh *shape, int face,
                        const struct sti__point *p, float out[3]);
/* Place in the item's own axes. */
void sti__surface_local(const sti__item *item, const double p[3], float out[3]);
/* Colour at a place on a face; false where the item's own counts. */
bool sti__surface_tint(const sti__scene *scene, int id, const sti__drawn_mesh *shape, int face,
                       const double p[3], float out[3]);

/* ---- light -------------------------------------------------------------------------------------------- */

enum { STI__SKY = 32, STI__TAPS = 32, STI__LAMPS = 8 };

enum { STI__TILE = 8 }; /* texels of the tiles of a map */

typedef struct sti__map {
    sti__lens lens;
    int size, stride, tiles; /* texels of a side, from row to row, tiles of a side */
    float texel;             /* m (at depth 1 if not parallel) */
    float *key;
    float *nearest,
        *farthest; /* of the texels within a shadow's reach of each tile: the largest and the smallest key */
} sti__map;

typedef struct sti__lamp {
    bool positional;
    double pos[3];
    float dir[3]; /* towards the light */
    float color[3], specular[3];
} sti__lamp;

typedef struct sti__lights {
    sti__lamp lamp[STI__LAMPS];
    int nlamp, shadow; /* lamp that casts shadows, -1 = none */
    sti__map key;
    sti__map sky[STI__SKY];
    float sky_dir[STI__SKY][3], sky_color[STI__SKY][3];
    /* the same for all directions at once: rows right, up and forward of the maps' axes */
    float sky_axis[9][STI__SKY];
    double sky_centre[3];
    int nsky;
    float head[3], head_specular[3], ambient[3];
    float zenith[3], horizon[3], ground[3];
    float tap[2][STI__TAPS]; /* places in the unit disc */
    float *block;
    size_t nblock;
} sti__lights;

/* Work that is cut into pieces for the threads of a picture. */
enum { STI__DRAW_THREADS = 8 }; /* at most so many have scratch of their own */
static inline int sti__draw_threads(const sti_tasks *tasks) {
    int n = tasks->run ? tasks->nthread : 1;
    return n < 1 ? 1 : n > STI__DRAW_THREADS ? STI__DRAW_THREADS : n;
}
static inline void sti__draw_run(const sti_tasks *tasks, int count, int grain, sti_task_body body,
                                 void *context) {
    if (tasks->run && tasks->nthread > 1) tasks->run(tasks->system, count, grain, body, context);
    else body(context, 0, count);
}

/* Lamps and sky, and sizes and lenses of their maps. */
void sti__lights_aim(sti__lights *l, const sti__scene *scene, const sti__lens *eye, int pixels);
/* And the maps drawn. scratch: as much as sti__raster_item needs, for each of sti__draw_threads(tasks) one after the other. */
sti_status sti__lights_init(sti__lights *l, const sti__scene *scene, const sti__lens *eye, int pixels,
                            const sti_tasks *tasks, float *scratch, sti_error *error);
void sti__lights_free(sti__lights *l, const sti_allocator *allocator);
/* Fills nearest and farthest of a map that has been drawn. */
void sti__map_tiles(sti__map *map);
/* Share of the key light that reaches a place, 0 to 1, and light of the sky. */
float sti__lights_key(const sti__lights *l, const double p[3], const float n[3]);
void sti__lights_sky(const sti__lights *l, const double p[3], const float n[3], float out[3]);
void sti__lights_background(const sti__lights *l, const float dir[3], float out[3]);

/* ---- shade -------------------------------------------------------------------------------------------- */

typedef struct sti__point {
    double pos[3];
    float normal[3], view[3]; /* unit; view looks back at the eye */
    float sky[3];             /* light of the sky there */
    float lamp;               /* share of the lamp that casts shadows */
    float tint[3];            /* colour of the surface, if tinted */
    bool tinted;
    float distance; /* from the eye */
    float pixel;    /* size of a pixel there, m, seen head-on */
} sti__point;
void sti__shade(const sti__scene *scene, const sti__lights *lights, int item, const sti__point *p,
                float out[3]);

/* ---- small vectors
   ------------------------------------------------------------------------------------------ */

static inline float f3_dot(const float a[3], const float b[3]) {
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
static inline void f3_scale(float r[3], float s) { r[0] *= s, r[1] *= s, r[2] *= s; }
static inline void f3_copy(float r[3], const float a[3]) { r[0] = a[0], r[1] = a[1], r[2] = a[2]; }
static inline void f3_mix(float r[3], const float a[3], const float b[3], float t) {
    for (int k = 0; k < 3; k++) r[k] = a[k] + t * (b[k] - a[k]);
}
static inline void f3_cross(float r[3], const float a[3], const float b[3]) {
    r[0] = a[1] * b[2] - a[2] * b[1];
    r[1] = a[2] * b[0] - a[0] * b[2];
    r[2] = a[0] * b[1] - a[1] * b[0];
}
static inline float f3_normalize(float a[3]) {
    float n = sqrtf(f3_dot(a, a));
    if (n > 1e-20f) f3_scale(a, 1 / n);
    else a[0] = a[1] = 0, a[2] = 1;
    return n;
}
/* fmaxf and fminf without a call. */
static inline float f_max(float a, float b) { return a > b ? a : b; }
static inline float f_min(float a, float b) { return a < b ? a : b; }
static inline float f_clamp(float x, float lo, float hi) { return x < lo ? lo : x > hi ? hi : x; }
/* floorf without a call. */
static inline float f_floor(float x) {
    if (!(fabsf(x) < 1e9f)) return x;
    float t = (float)(int)x;
    return t - (float)(t > x);
}
static inline float f_smooth(float x) {
    x = f_clamp(x, 0, 1);
    return x * x * (3 - 2 * x);
}

#endif
