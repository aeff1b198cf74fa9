/* SPDX-License-Identifier: Apache-2.0 */
/* A URDF file as it was read, until it is turned into a spec. */
#ifndef STI_LOAD_URDF_H
#define STI_LOAD_URDF_H

#include "load/tree.h"

typedef struct sti__urdf_node {
    size_t tag;                          /* where its text begins */
    size_t pairs;                        /* where its attributes begin: name, value, ..., an empty name */
    int parent, child, last, next, line; /* nodes; -1: none */
} sti__urdf_node;

typedef struct sti__urdf {
    sti__vec node; /* sti__urdf_node, parents before children; 0 is <robot> */
    sti__vec text; /* char */
    int open;      /* the node that is being read */
} sti__urdf;

void sti__urdf_init(sti__urdf *u, const sti_allocator *allocator);
void sti__urdf_free(sti__urdf *u);
/* Opens a node; pairs: name, value, ..., NULL. False if memory is short. */
bool sti__urdf_open(sti__urdf *u, const char *tag, const char **pairs, int line);
void sti__urdf_close(sti__urdf *u);
/* Adds links and joints to the root of the spec, which has what the <mujoco> block says already. */
void sti__urdf_build(const sti__urdf *u, sti_spec *spec, const char *file, sti__judge *judge);

#endif
