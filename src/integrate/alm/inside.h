/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the augmented-Lagrangian stepper share. All vectors are in the world's axes; poses are relative to
   those at the start of the step, so that the unknowns are small whatever the size of the scene. */
#ifndef STI_INTEGRATE_ALM_INSIDE_H
#define STI_INTEGRATE_ALM_INSIDE_H

#include "contact/rows.h"
#include "integrate/alm/alm.h"
#include "integrate/alm/inner.h"
#include "integrate/alm/turn.h"
#include "linear/factor/cholesky.h"

/* The centre of mass has moved by u, the body has turned by q = Q. */
typedef struct sti__pose {
    double u[3], q[4], Q[9];
} sti__pose;

/* One moving body: the bodies of the model that are welded to each other, or the massless thing between two joints of one
   body. */
typedef struct sti__alm_body {
    const struct sti__scheme *scheme; /* of its step */
    double mass, I[9];                /* at the start; 0 between joints */
    double weight[2];                 /* 1/kg, 1/(kg m2): scales of its rows */
    double pos[3];                    /* centre of mass at the start */
    double u[3], q[4], turn[3];       /* prediction: where it goes without forces; turn = log q */
    double target[3];                 /* he times its angular momentum */
    double force[3], torque[3];       /* that stay as they are over the step */
    double lag[6], lag_u[3],
        lag_q[4]; /* linear term that makes up for what the energy cannot say, and where */
} sti__alm_body;

/* What is kept over steps of a body. */
typedef struct sti__alm_past {
    double P[3], L[3];    /* momentum and angular momentum, N s, N m s */
    double u[3], turn[3]; /* last step */
    double v[3], w[3];    /* velocity as reported */
    double P1[3], L1[3];  /* momenta one step earlier */
    double touched;       /* whether a contact, limit or dry friction pushed its part in the last step */
    double steps;         /* of a scheme of second order without interruption */
} sti__alm_past;

/* The steps before the last, from which the first guess of the next is extrapolated. */
typedef struct sti__alm_trail {
    double u1[3], turn1[3], u2[3], turn2[3], u3[3], turn3[3];
} sti__alm_trail;

/* One degree of freedom as a function y of the poses of bodies a and b, 0 at the start. */
typedef enum sti__coord_kind {
    STI__COORD_HINGE,
    STI__COORD_SLIDE,
    STI__COORD_TURN, /* of ball and free joints: about a fixed axis */
    STI__COORD_MOVE  /* of free joints */
} sti__coord_kind;

typedef struct sti__coord {
    int kind, a, b;
    double n[3], ra[3], rb[3];                        /* at the start */
    double y, ga[6], gb[6], axis[3];                  /* now: value, gradient, hinge axis */
    double start;                                     /* qpos; of hinges and slides */
    double armature, stiffness, damping, force, rest; /* rest: y of the spring at rest */
    double momentum, base;                            /* of the armature; y from which its rate is counted */
} sti__coord;

/* Kept over steps of a dof. */
typedef struct sti__alm_rate {
    double momentum, momentum1, y;
} sti__alm_rate;

/* Rows between two bodies. C has `dim` numbers. */
typedef enum sti__pin_kind {
    STI__PIN_POINT,  /* 3: points meet */
    STI__PIN_ALIGN,  /* 3: axes are parallel; rank 2 */
    STI__PIN_TURN,   /* 3: orientations agree */
    STI__PIN_ACROSS, /* 2: a point stays on a line of the first body */
    STI__PIN_CONTACT
} sti__pin_kind;

typedef struct sti__pin {
    int kind, a, b, dim, contact;
    bool round; /* contacts: what touches is round, and rolls over the point instead of carrying it along */
    double ra[3], rb[3], gap[3]; /* arms and what lies between the points, at the start */
    double ea[9], eb[9];         /* directions (rows) fixed to a and to b; of contacts the frame, fixed */
    double offset[4];            /* contacts: added to C of the normal, the tangents and the spin */
    sti_row law;
    double R[6], mu[6], *lambda; /* softness, penalty, multiplier (dim) */
    double C[6], g[6];           /* now: the response is -g */
    double f[6];  /* of steps with an inner problem: the multiplier as it is; lambda: about which */
    double *H;    /* of a cone: its Hessian, dim x dim; NULL for quadratic rows, see sti__pin_weight */
    double scale; /* of its penalty */
} sti__pin;

/* A weighted sum of dofs with springs and bounds: limits, dry friction, tendons, servos, equalities. */
typedef struct sti__alm_sum {
    int n, first;                /* terms in the pools */
    double start;                /* its value at the start */
    double stiffness, low, high; /* spring with a dead band */
    double damping, armature, momentum, base;
    double kp, kv, f0, fmin, fmax, now,
        rate; /* servo: f0 - kp y - kv (y' - rate) within bounds, less `now` */
    double polynomial[5],
        other; /* equality: first sum less a polynomial of the second (terms from `split` on) */
    int split;
    sti_row law;         /* dim 0: none */
    double sign, offset; /* C = sign y + offset */
    double R, mu, *lambda, scale;
    double y, C, g, slope, f;
    bool equality;
    int tendon;        /* number + 1 whose springs these are */
    int extra;         /* first row of a block of so many rows over dofs; -1: another row of it; 0: none */
    sti_row block;     /* its law, in this stepper's units */
    sti_row_user user; /* of the block: the user's cost, ... */
    double unit,
        *impulse; /* ... which is multiplied by this, and what a row's impulse is divided by; where it goes, N s */
} sti__alm_sum;

/* Where the scheme evaluates what. */
typedef struct sti__scheme {
    int kind;
    double h;      /* step */
    double he;     /* y' = (y - base) / he */
    double kappa;  /* weight of forces */
    double pull;   /* a multiplier over the force that it stands for, s2 */
    double middle; /* of y that potentials see: 1 or 1/2 */
} sti__scheme;

enum { STI__ALM_EULER, STI__ALM_BDF2, STI__ALM_MIDPOINT, STI__ALM_SCHEMES };

/* First numbers of the kept state. */
typedef struct sti__alm_head {
    double valid; /* steps since it began from qpos and qvel, 0: none */
    double h, scheme;
} sti__alm_head;

/* First numbers of its warm start. */
typedef struct sti__alm_warm {
    double steps; /* that guesses are extrapolated from */
    double mu;    /* penalty */
    double given; /* steps since rows were found to contradict each other; 0: they do not */
} sti__alm_warm;

struct sti__alm {
    const sti_model *model;
    sti_allocator allocator;
    int nbody; /* moving */
    int *link; /* model's nbody: moving body, -1 if static */
    int *before,
        *after; /* njnt: moving bodies that the joint holds together; `after` of the last joint is the body */
    sti__alm_body *body;
    sti__pose *pose, *trial, *still; /* now, of line searches, and at the start */
    sti__coord *coord;               /* nv */
    double *kept_state;              /* of the step that is being found; the parts below lead into it */
    double *committed;               /* of the last step that was taken */
    size_t nkept, nphysics;          /* doubles; the warm start follows what is physics */
    sti__alm_head *head;
    sti__alm_warm *warm;
    sti__alm_past *past;       /* nbody */
    sti__alm_trail *trail;     /* nbody */
    sti__alm_rate *rate;       /* nv, then ntendon */
    double *lambda1, *lambda2; /* multipliers of joints and equalities one and two steps earlier */
    double *lambda;            /* multipliers, see lambda_of_... */
    double *qpos, *qvel;       /* of the state that this belongs to */
    double *qpos_new, *qvel_new;
    sti__pin *pin;
    double *response; /* 6 per pin: scratch */
    int npin, npin_fixed, pin_room;
    double *touch_lambda; /* 42 per contact: multipliers, then the Hessian of its law */
    int *touch_pin;       /* pin of each contact, -1 */
    int ntouch, touch_room;
    bool has_sums; /* the model has something that makes them */
    sti__alm_sum *sum;
    int nsum, sum_room;
    int *term_dof;
    double *term;
    int nterm, term_room;
    /* the Hessian, in blocks of 6 x 6: block row i has columns bcol[bstart[i]...bstart[i+1]), ascending, i last */
    uint64_t *pair, *raw, *raw_new; /* of bodies: sorted; as found in the last step and in this one */
    int npair, nraw, nraw_new, pair_room;
    int *bstart, *bcol, block_room;
    int *start, *col;
    double *value;
    sti__chol *chol;
    bool factored;
    double *gradient, *step, *work;       /* 6 nbody each */
    int *used;                            /* nbody: scratch of sums */
    double *sum_gradient;                 /* 6 per body in `used` */
    sti__scheme scheme[STI__ALM_SCHEMES]; /* by kind */
    int *kind, *part;                     /* nbody: scheme of a body's step; the first body of its part */
    int *plain;  /* nbody: the step is one of implicit Euler, since another was tried */
    int *pushed; /* nbody: scratch */
    int second;  /* bodies whose step is of second order */
    double energy, mu, mu_most;
    bool curvature;
    bool inside; /* kinked rows are in the inner problem, and curvature is that of the multipliers alone */
    sti__inner inner;
    int *ustart, *urow, *uplace; /* the blocks of the Hessian above the diagonal: rows and places there */
    sti__alm_info info;
    sti__budget *budget; /* of the step */
};

/* ---- parts ------------------------------------------------------------------------------------------- */

/* rows.c: values and derivatives of pins and dofs at the given poses (of moving bodies; -1 is static). */
void sti__pin_value(const sti__pin *pin, const sti__pose *pose, double C[6]);
void sti__pin_jacobian(const sti__pin *pin, const sti__pose *pose, double Ja[36], double Jb[36]);
/* Adds sum_i f_i C_i'' to the blocks (6 x 6: a a, a b, b b). */
void sti__pin_curvature(const sti__pin *pin, const sti__pose *pose, const double *f, double aa[36],
                        double ab[36], double bb[36]);
void sti__coord_value(sti__coord *c, const sti__pose *pose);
void sti__coord_curvature(const sti__coord *c, const sti__pose *pose, double f, double aa[36], double ab[36],
                          double bb[36]);

/* parts.c: the schemes of all bodies; after their dofs were read. */
void sti__alm_choose(sti__alm *alm, const sti_state *s, const sti__alm_touch *touch);
/* After a step was found: parts (or all of them) that are pushed, or did not settle, are to take one of implicit Euler. True if some were not to. */
bool sti__alm_retreat(sti__alm *alm, bool all);
/* Which parts were pushed, for the next step. */
void sti__alm_remember_parts(sti__alm *alm, const sti_state *s);

/* start.c: bodies, dofs, rows and predictions of a step; false if memory is short. */
bool sti__alm_start(sti__alm *alm, const sti_state *s, const sti__alm_touch *touch);
sti__scheme sti__scheme_of(int kind, double h);
/* he times the angular momentum of a step that turns by t; `last` is the turn of the step before. */
void sti__alm_spin(const sti__scheme *scheme, const double I[9], const double t[3], const double last[3],
                   double l[3]);
/* alm.c: the most that a model's own rows can be. */
int sti__alm_own_sums(const sti_model *m);
int sti__alm_own_terms(const sti_model *m);
/* law.c */
bool sti__alm_rows(sti__alm *alm, const sti_state *s, const sti__alm_touch *touch);

typedef enum sti__what { STI__VALUE, STI__GRADIENT, STI__HESSIAN } sti__what;
/* hot.c: of STI__PIN_POINT and STI__PIN_ALIGN with quadratic laws; returns the energy. */
double sti__alm_hot_pin(sti__alm *alm, sti__pin *pin, const sti__pose *pose, sti__what what);

/* energy.c */
/* The gradient of a sum by body, in alm->used and sum_gradient; returns how many bodies. */
int sti__sum_bodies(sti__alm *alm, const sti__alm_sum *sum);
/* Values and responses of all rows at alm->pose. */
void sti__alm_respond(sti__alm *alm);
double sti__alm_energy(sti__alm *alm, const sti__pose *pose); /* value alone */
/* Value, gradient and, if asked, Hessian at alm->pose. */
void sti__alm_evaluate(sti__alm *alm, bool hessian);
/* The terms that no energy has, at alm->pose, for the responses of pins as they are and, if `sums`, of sums; returns by how
   much they changed (m or rad of the bodies they push). */
double sti__alm_update_lag(sti__alm *alm, bool sums);
/* Forces of springs, dampers and constant forces at the end of the step, for the momenta of the midpoint rule: per body
   force and torque. */
void sti__alm_end_forces(sti__alm *alm, double *wrench);

/* matrix.c */
bool sti__alm_pattern(sti__alm *alm);
sti_status sti__alm_analyse(sti__alm *alm, sti_error *error);
void sti__alm_add_block(sti__alm *alm, int i, int j, const double B[36]);

/* newton.c */
/* Operations of one evaluation of all bodies and rows. */
double sti__alm_pass(const sti__alm *alm);
sti_status sti__alm_minimise(sti__alm *alm, const sti_state *s, const sti_tasks *tasks);
bool sti__alm_is_smooth(const sti__alm *alm);
/* Evaluates and factors the Hessian at alm->pose; -H^-1 gradient into step, its largest number is returned. */
sti_status sti__alm_factor(sti__alm *alm, const sti_tasks *tasks);
double sti__alm_find_step(sti__alm *alm, const sti_tasks *tasks);
void sti__alm_move(sti__alm *alm, double alpha); /* poses, by the step */
void sti__alm_guess_lag(sti__alm *alm);

/* sqp.c: what newton.c does for smooth problems. */
sti_status sti__alm_settle(sti__alm *alm, const sti_state *s, const sti_tasks *tasks, sti_error *error);

/* inner.c: rows and pattern of a step; false if memory is short. */
bool sti__inner_begin(sti__alm *alm, double h);
void sti__inner_free(sti__alm *alm);
/* Jacobians at alm->pose, after its Hessian was factored; then what rows feel, which sets their penalties. */
void sti__inner_linearise(sti__alm *alm);
void sti__inner_weigh(sti__alm *alm, const sti_tasks *tasks);
/* Their softness becomes this, over what they would feel if bodies were free. */
void sti__inner_soften(sti__alm *alm, double soft);
/* Solves at alm->pose; alm->step has d*, and gets d. */
sti_status sti__inner_solve(sti__alm *alm, const sti_option *o, const sti_tasks *tasks, sti_error *error);
/* Its impulses become multipliers; returns the largest change, as a length. */
double sti__inner_take(sti__alm *alm, double alpha);
/* The impulses of rows over dofs, to those who gave them. */
void sti__inner_tell(const sti__alm *alm);
/* Multipliers become what the next problem is about; returns how far they were, as a length. */
double sti__inner_centre(sti__alm *alm);

/* claim.c: the certificate, while alm->step still has the last step. */
void sti__alm_claim(sti__alm *alm, const sti_state *s);

/* end.c */
void sti__alm_end(sti__alm *alm, const sti_state *s, const sti_tasks *tasks);

/* The scheme of a pin's, a dof's and a sum's bodies, which is one and the same. */
static inline const sti__scheme *sti__pin_scheme(const sti__alm *alm, const sti__pin *pin) {
    return alm->body[pin->b >= 0 ? pin->b : pin->a].scheme;
}
static inline const sti__scheme *sti__coord_scheme(const sti__alm *alm, const sti__coord *c) {
    return alm->body[c->b].scheme;
}
static inline const sti__scheme *sti__sum_scheme(const sti__alm *alm, const sti__alm_sum *sum) {
    return sum->n > 0 ? sti__coord_scheme(alm, &alm->coord[alm->term_dof[sum->first]])
                      : &alm->scheme[STI__ALM_EULER];
}

/* An entry of the Hessian of a pin's law. */
static inline double sti__pin_weight(const sti__pin *pin, int r, int q) {
    if (pin->H) return pin->H[r * pin->dim + q];
    return r == q ? 1 / (pin->R[r] + 1 / pin->mu[r]) : 0;
}

/* A servo whose force is bounded. */
static inline bool sti__sum_is_servo(const sti__alm_sum *sum) {
    return sum->kp + sum->kv > 0 && (sum->fmin > -INFINITY || sum->fmax < INFINITY);
}

static inline bool sti__sum_is_kinked(const sti__alm_sum *sum) {
    return (sum->law.dim > 0 && sum->law.kind != STI_ROW_QUADRATIC) || sti__sum_is_servo(sum) ||
           sum->extra != 0;
}

/* Of a servo without its bounds, at its y as it is; K: what it loses per y. */
static inline double sti__servo_force(const sti__scheme *s, const sti__alm_sum *sum, double *K) {
    *K = sum->kp * s->middle + sum->kv / s->he;
    return sum->f0 - sum->kp * s->middle * sum->y - sum->kv * ((sum->y - sum->base) / s->he - sum->rate);
}

static inline const sti__pose *sti__pose_at(const sti__pose *pose, int body) {
    static const sti__pose still = {{0}, {1, 0, 0, 0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    return body < 0 ? &still : pose + body;
}

#endif
