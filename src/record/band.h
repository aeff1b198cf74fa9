/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a picture that are drawn together. */
#ifndef STI_RECORD_BAND_H
#define STI_RECORD_BAND_H

#include "record/scene.h"

enum {
    FINE = 2,
    STI__STEP = 4
}; /* samples per pixel along each side; pixels between nodes of the sky's light */

/* A pixel at which the light was found. */
typedef struct sti__node {
    int id;                          /* item, -1 = none */
    float pos[3], normal[3], sky[3]; /* pos: from the eye */
    float lamp;                      /* share of the lamp that casts shadows */
} sti__node;

typedef struct sti__band {
    const sti__scene *scene;
    const sti_tasks *tasks;
    const sti__lights *lights;
    const sti__lens *eye;
    sti__lens mirror;         /* the eye behind the polished plane, if there is one */
    int polished;             /* that plane, -1 = none */
    int width, rows, top;     /* pixels */
    sti__target solid, layer; /* samples; layer: the mirror's view, then one transparent item at a time */
    const sti__drawn_mesh *
        *drawn; /* of each item: the level of detail for the eye, then those for the mirror */
    sti__node *node;
    float *color; /* 3 for each pixel, linear */
    float *scratch;
    int *order; /* transparent items, far to near */
    int norder;
    void *block;
    size_t nblock;
} sti__band;

/* Room for pictures of this size and so many items; keeps what it has if that is enough. False if memory is short. */
bool sti__band_init(sti__band *b, int width, int height, int nitem, const sti_allocator *a);
/* All rows, with scene, tasks, lights, eye and scratch set. */
void sti__band_draw(sti__band *b, int height, uint8_t *rgb);

#endif
