/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and controls of your own. A handler is called in the contact stage of every step, when positions, velocities and smooth
   forces are known, and adds row blocks or contacts to the step's problem. A controller is called earlier, when positions and
   velocities are known, and writes the inputs of the step. docs/handlers.md. */
#ifndef STICTION_HANDLER_H
#define STICTION_HANDLER_H

#include <stiction/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The problem that is being made; there is one only while a handler runs. */
typedef struct sti_rows sti_rows;

/* Reads the world (its views, its options: with substeps the timestep is a part's) and adds to rows, in an order that only
   depends on what it reads. Another value than STI_OK ends the step with this error. */
typedef sti_status (*sti_handler)(void *context, sti_world *world, sti_rows *rows);

/* The handler's number, counted from 0; -1 if memory is short. Handlers run in the order in which they came, after contacts
   of geoms; a copy of the world has them too, with the same context. */
STI_API int sti_world_add_handler(sti_world *world, sti_handler handler, void *context, sti_error *error);
/* Called once in every sti_forward, sti_step (each part of it, with substeps; with RK4 once a step) and sti_step1, when positions and
   velocities are known and before actuators act; not while actuation is disabled. It reads the world and writes its inputs: ctrl,
   qfrc_applied, xfrc_applied, flexvert_applied. Another value than STI_OK ends the step with this error. */
typedef sti_status (*sti_controller)(void *context, sti_world *world);
/* The controller's number, counted together with those of handlers; -1 if memory is short. Copies of the world have it too. */
STI_API int sti_world_add_controller(sti_world *world, sti_controller controller, void *context,
                                     sti_error *error);
/* The handler or controller is not called any more; the numbers of the others stay. */
STI_API void sti_world_remove_handler(sti_world *world, int handler);

/* What moves a point of a body: the ascending dofs (room for nv) and the velocity of the point (rows 0 to 2) and of the
   rotation (3 to 5) by each, along the world's axes: J (room for 6 nv) is 6 x n. Returns n.
   Vertex v of a soft body has the dofs nv + 3 v, nv + 3 v + 1 and nv + 3 v + 2: its velocity along the world's axes. */
STI_API int sti_world_jacobian(const sti_world *world, int body, const double point[3], int *dofs, double *J);

/* `row.dim` rows with one law. */
typedef struct sti_block {
    sti_row row; /* kind, dim, mu, lo and hi; bounds are impulses: a force f is f times the timestep */
    int ndof;
    const int *dofs; /* ndof, ascending; of a vertex of a soft body all three */
    const double *J; /* dim x ndof, row by row: the rows' velocity is J qvel */
    double phi
        [6]; /* m or rad: what the rows bring to 0 (a cone: the normal's; intervals from 0: what keeps > 0) */
    double stiffness;   /* N/m; INFINITY, or stiffer than the step resolves: near-rigid */
    double dissipation; /* s: relaxation time of a spring's damping */
    const double *R;    /* dim, if not NULL: taken as it is, with vhat, instead of the last three */
    const double *vhat; /* dim, with R; NULL = 0 */
    uint64_t feature;   /* the same over steps for the same thing; distinct within the handler */
    uint64_t cookie;    /* set by sti_block_default */
} sti_block;
/* A near-rigid row of nothing. */
STI_API sti_block sti_block_default(void);

/* A point at which a body touches another: rows are made as for geoms, and the world shows it among its contacts. */
typedef struct sti_touch {
    int body1, body2;              /* 0 is the world */
    int geom1, geom2;              /* for those who ask; -1 = none */
    double pos[3];                 /* half way between the surfaces, world */
    double normal[3];              /* from body 1 to body 2, of any length but 0 */
    double dist;                   /* m, < 0: they overlap */
    int dim;                       /* 1, 3, 4 or 6 */
    double mu[5];                  /* friction: tangents, spin, rolling (m) */
    double stiffness, dissipation; /* as above */
    uint64_t feature;
    uint64_t cookie; /* set by sti_touch_default */
} sti_touch;
/* Near-rigid, dim 3, friction 1 1 0.005 0.0001 0.0001 as MJCF's geoms. */
STI_API sti_touch sti_touch_default(void);

/* Copies the block, or the contact, into the problem. What is wrong with it (dofs, numbers that are not finite, bounds that
   cross) ends the step after the handler has returned, with an error that names it. Rows that nothing can move are left out. */
STI_API sti_status sti_rows_add(sti_rows *rows, const sti_block *block);
STI_API sti_status sti_rows_touch(sti_rows *rows, const sti_touch *touch);

#ifdef __cplusplus
}
#endif
#endif
