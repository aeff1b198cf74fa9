/* SPDX-License-Identifier: Apache-2.0 */
/* Coupled constraints: up to four equations

       phi_i = r_d C_d + r_theta C_theta - target = 0

   over the distance residual C_d of two points and the angle residual C_theta of two bodies, solved together as a small
   dense block

       (K + diag(gamma)) impulse = -beta/h phi - J v,   K = R M^-1 R',   gamma_i = r_d^2 S_d + r_theta^2 S_theta

   with its rank, pivots and condition numbers. These functions work on bodies of yours, in the plane and in space; in
   scenes the same block is the element sti:coupled. docs/coupled.md. */
#ifndef STICTION_COUPLED_H
#define STICTION_COUPLED_H

#include <stiction/base.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STI_COUPLED_MAX 4

/* ---- a matrix of one to four equations ------------------------------------------------------------ */

/* What elimination and eigenvalues say of a symmetric matrix. */
typedef struct sti_coupled_condition {
    int size, rank;
    double pivot_min, pivot_max; /* sizes of the pivots that were taken; 0 if there is none */
    double row_sum;              /* kappa-hat = |K|_inf |K^-1|_inf; INFINITY without an inverse */
    double spectral; /* kappa_s, largest over smallest |eigenvalue|; INFINITY without an inverse */
    double gap;      /* row_sum - spectral; 0 without an inverse */
} sti_coupled_condition;

/* The inverse of a symmetric size x size matrix (1 to 4) by Gauss elimination with scaled partial pivoting: of the rows
   left, that one is taken whose entry is largest over the largest entry of its row in K. If none is above pivot_epsilon
   (relative, like 1e-12) the column is skipped and the rank is less than the size. True if there is an inverse (size x size,
   may be NULL); condition may be NULL. Numbers that are not finite give rank 0. */
STI_API bool sti_coupled_invert(int size, const double *K, double pivot_epsilon, double *inverse,
                                sti_coupled_condition *condition);

/* ---- a constraint --------------------------------------------------------------------------------- */

typedef struct sti_coupled_equation {
    double r_d, r_theta; /* per m and per rad, in the unit of the equation */
    double target;
} sti_coupled_equation;

typedef struct sti_coupled_def {
    int count; /* equations */
    sti_coupled_equation equation[STI_COUPLED_MAX];
    double anchor_a[3], anchor_b[3];   /* m, from the centre of mass, in the frame of the body */
    double axis[3];                    /* of the angle, in the frame of a; (0 0 1) */
    double distance, angle;            /* m and rad at which C_d and C_theta are zero; 1 and 0 */
    double softness_d, softness_theta; /* S_d and S_theta, >= 0: velocity per impulse; 0 */
    double beta;                       /* part of phi to be undone in a step, 0 to 1; 0.2 */
    double pivot_epsilon;              /* relative, 1e-12 */
    double condition_limit;            /* warn above, 1e8 */
    int max_drops;                     /* equations that may be left out in a step, 0 to 3; 3 */
    bool cross;                        /* the distance-angle part of K; true. For comparison only */
    double warm_start;                 /* part of the last step's impulses to begin with, 0 to 1; 1 */
    double max_force, max_torque;      /* N and N m above which it breaks; INFINITY */
    uint64_t cookie;                   /* set by sti_coupled_def_default */
} sti_coupled_def;
STI_API sti_coupled_def sti_coupled_def_default(void);

/* X(enum, text) */
/* clang-format off */
#define STI_COUPLED_FLAGS(X)                                                                          \
    X(RANK, "the equations depend on each other")                                                     \
    X(CONDITION, "a condition number is over its limit, after all drops")                             \
    X(DROPPED, "an equation was left out")                                                            \
    X(LOST, "a drop took an independent equation")                                                    \
    X(SINGULAR, "no equation could be kept: the step goes on without impulses")                       \
    X(DEGENERATE, "the direction of the distance or the angle is not defined")                        \
    X(BROKEN, "the force or torque passed its limit: the constraint is off")
/* clang-format on */
enum {
#define X(id, text) STI__COUPLED_BIT_##id,
    STI_COUPLED_FLAGS(X)
#undef X
        STI_COUPLED_FLAG_COUNT
};
enum {
#define X(id, text) STI_COUPLED_##id = 1 << STI__COUPLED_BIT_##id,
    STI_COUPLED_FLAGS(X)
#undef X
};
/* The text of one bit; "" if it is none. */
STI_API const char *sti_coupled_flag_text(int flag);

typedef struct sti_coupled_diagnostics {
    int flags;                   /* STI_COUPLED_RANK | ... of the last step */
    int active;                  /* bit i: equation i is solved */
    int dropped;                 /* how many are not */
    sti_coupled_condition whole; /* of all equations */
    sti_coupled_condition kept;  /* of the active ones */
    double C_d, C_theta;         /* m, rad */
    double phi[STI_COUPLED_MAX]; /* of all equations */
    double impulse[STI_COUPLED_MAX];
    double residual;      /* largest |J v + gamma impulse - bias| of the active ones after the solve */
    double force, torque; /* N along the distance (> 0: pushes apart), N m about the axis */
    /* since the start or reset */
    int64_t steps, warnings,
        drops; /* steps; those over the condition limit before any drop; those with a drop */
} sti_coupled_diagnostics;

/* ---- bodies --------------------------------------------------------------------------------------- */

typedef struct sti_coupled_body {
    double inv_mass; /* 1/kg; 0: fixed */
    double inv_inertia
        [9]; /* 1/(kg m^2), symmetric, at the centre of mass, in the frame of the body; 0: does not turn */
    double pos[3];           /* of the centre of mass, m */
    double quat[4];          /* w x y z */
    double vel[3], omega[3]; /* m/s, rad/s, world */
} sti_coupled_body;

/* A fixed body at the origin. */
STI_API sti_coupled_body sti_coupled_body_fixed(void);
/* A body in the xy plane, which turns about z. */
STI_API sti_coupled_body sti_coupled_body_planar(double inv_mass, double inv_inertia, const double pos[2],
                                                 double angle);
/* Moves it by h with its velocities. */
STI_API void sti_coupled_body_move(sti_coupled_body *body, double h);

/* ---- solving -------------------------------------------------------------------------------------- */

/* A constraint with what it remembers. It owns nothing; only read it. */
typedef struct sti_coupled {
    sti_coupled_def def;
    sti_coupled_diagnostics diagnostics;
    double h;                              /* s, of the last prepare */
    double n[3], arm_a[3], arm_b[3], u[3]; /* direction from a to b, levers, gradient of the angle; world */
    double inertia_a[9], inertia_b[9];     /* inverse, world */
    double K[16];                          /* of all equations, with gamma */
    double inverse[16];                    /* of the active ones, in their places, else 0 */
    double gamma[STI_COUPLED_MAX], bias[STI_COUPLED_MAX], impulse[STI_COUPLED_MAX];
    double last_angle; /* goes on beyond half a turn */
    bool started, finished, broken;
} sti_coupled;

/* Checks def, which is copied; errors name the member at fault. */
STI_API sti_status sti_coupled_init(sti_coupled *coupled, const sti_coupled_def *def, sti_error *error);
/* A step of h begins: finds K and its inverse, drops equations if it must, and gives the bodies the warm start's impulses.
   STI_NONFINITE or STI_ARGUMENT if h or a body is bad (a mass below zero, a quaternion that is not unit), and nothing changes
   then. What is merely ill-conditioned is no error:
   look at the diagnostics. */
STI_API sti_status sti_coupled_prepare(sti_coupled *coupled, sti_coupled_body *a, sti_coupled_body *b,
                                       double h);
/* One pass over the active equations; returns the largest residual before it, in m/s or rad/s. Alone it is exact after one. */
STI_API double sti_coupled_solve_velocity(sti_coupled *coupled, sti_coupled_body *a, sti_coupled_body *b);
/* The bodies have moved: one Newton step on phi_i + h gamma_i impulse_i / beta (what a soft equation is at rest at) by moving
   them, for active equations that are hard or have beta > 0. Returns the largest before it. */
STI_API double sti_coupled_solve_position(sti_coupled *coupled, sti_coupled_body *a, sti_coupled_body *b);
/* The step is over: forces, residual, and whether it breaks. prepare does this for the step before, if it was not called. */
STI_API void sti_coupled_finish(sti_coupled *coupled, const sti_coupled_body *a, const sti_coupled_body *b);

/* ---- presets -------------------------------------------------------------------------------------- */

/* Examples from a printed table: the ratios and softness of one equation, and a matrix of two. */
typedef struct sti_coupled_preset {
    const char *name;
    double r_d, r_theta, softness_d, softness_theta;
    double K[4];
    double printed_row_sum, printed_spectral; /* what that table says, which is wrong: see docs/coupled.md */
} sti_coupled_preset;
STI_API const sti_coupled_preset *sti_coupled_presets(int *count);
/* Fills ratios and softness of the first equation; false if there is no such preset. */
STI_API bool sti_coupled_def_preset(sti_coupled_def *def, const char *name);

#ifdef __cplusplus
}
#endif
#endif
