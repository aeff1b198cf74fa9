/* SPDX-License-Identifier: Apache-2.0 */
/* A context of OpenGL ES without surface, and what is made in it once. */
#ifndef STI_RECORD_EGL_CONTEXT_H
#define STI_RECORD_EGL_CONTEXT_H

#include "record/egl/egl.h"
#include "record/egl/gl.h"

typedef enum sti__program {
    PROGRAM_DEPTH, /* of meshes, for maps */
    PROGRAM_SHADE_MESH,
    PROGRAM_SHADE_PLANE,
    PROGRAM_OBJECT_MESH,
    PROGRAM_OBJECT_PLANE,
    PROGRAM_BACKGROUND,
    PROGRAM_BYTES,
    PROGRAM_COUNT
} sti__program;

enum { BLOCK_VIEW, BLOCK_THING, BLOCK_LIGHT, BLOCK_COUNT };
/* Units of textures: the lamp's map as numbers and compared, the sky's maps, the mirror's view, the samples, the picture and the cube on
   what is drawn. */
enum { UNIT_DEPTH, UNIT_OPEN, UNIT_SKY, UNIT_MIRROR, UNIT_SAMPLES, UNIT_PICTURE, UNIT_CUBE, UNIT_COUNT };
/* Textures that are targets: colours and depths of the samples and of the mirror's view, bytes, and maps. */
enum {
    TEXTURE_SAMPLES,
    TEXTURE_SAMPLE_DEPTH,
    TEXTURE_MIRROR,
    TEXTURE_MIRROR_DEPTH,
    TEXTURE_BYTES,
    TEXTURE_OBJECTS,
    TEXTURE_OBJECT_DEPTH,
    TEXTURE_KEY,
    TEXTURE_SKY,
    TEXTURE_COUNT
};

typedef struct sti__gl_texture {
    unsigned name;
    int width, height;
} sti__gl_texture;

typedef struct sti__gl_mesh {
    unsigned array, buffer;
    int count; /* corners */
} sti__gl_mesh;

struct sti__egl {
    sti__gl gl;
    sti_allocator allocator;
    void *display, *context;
    unsigned (*make_current)(void *, void *, void *, void *);
    void *(*current)(void);
    unsigned (*destroy)(void *, void *);
    unsigned program[PROGRAM_COUNT], block[BLOCK_COUNT], frame, empty;
    sti__gl_texture texture[TEXTURE_COUNT];
    sti__gl_mesh *mesh;        /* of each shape of the scene */
    unsigned *laid;            /* of each texture of the model; 0: not yet */
    int nmesh, nlaid, largest; /* pixels of a side */
    bool stale;                /* the meshes are of shapes that are gone */
    char name[128];
};

/* The calling thread draws with it until the context before is set again. False if that is not possible. */
bool sti__egl_enter(sti__egl *egl);
void sti__egl_leave(sti__egl *egl);

#endif
