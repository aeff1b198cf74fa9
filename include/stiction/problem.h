/* SPDX-License-Identifier: Apache-2.0 */
/* The problem of one step, its solvers and the certificate of their answers.

       min over v   1/2 (v - v*)' A (v - v*)  +  sum_i  l_i(J_i v)

   A is symmetric positive definite, J_i are sparse row blocks and l_i convex costs, given as data:

       l_i(y) = max over g in C_i   -g'(y - vhat) - 1/2 g' R g

   so that the impulses of the answer are g = P_C(-(J v - vhat) / R) in the R norm. C is a friction
   cone, an interval or everything. R = 0 is hard contact. The dual,

       min over g in C   1/2 g'(J A^-1 J' + R) g + g'(J v* - vhat),

   may also be given directly, as W = J A^-1 J' and q = J v* - vhat. */
#ifndef STICTION_PROBLEM_H
#define STICTION_PROBLEM_H

#include <stiction/base.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the problem ---------------------------------------------------------------------------- */

/* X(enum, name): what a row block's impulse may be. */
/* clang-format off */
#define STI_ROWS(X)                                                                              \
    X(CONE, "cone")           /* (n, t...): |t_i / mu_i| <= n; dim 1, 3, 4 or 6, normal first */ \
    X(INTERVAL, "interval")   /* lo <= g <= hi; limits, bounded actuators */                     \
    X(HUBER, "huber")         /* |g| <= hi; dry friction */                                      \
    X(QUADRATIC, "quadratic") /* free; equalities, implicit gains */                             \
    X(USER, "user")           /* the caller's functions */
/* clang-format on */
typedef enum sti_row_kind {
#define X(id, name) STI_ROW_##id,
    STI_ROWS(X)
#undef X
        STI_ROW_KINDS
} sti_row_kind;

#define STI_ROW_DIM 6

/* A user's convex cost; all functions are pure and must be finite for finite y. */
typedef struct sti_row_user {
    /* l(y); gradient (dim) and Hessian (dim x dim, symmetric, positive semidefinite) if not NULL */
    double (*value)(const void *context, int dim, const double *y, double *gradient, double *hessian);
    /* l*(-g) = max over y of -g'y - l(y); may be infinite */
    double (*conjugate)(const void *context, int dim, const double *g);
    /* nearest g (Euclidean) at which the conjugate is finite */
    void (*project)(const void *context, int dim, double *g);
    const void *context;
} sti_row_user;

/* One row block: `dim` consecutive scalar rows. */
typedef struct sti_row {
    int kind;      /* sti_row_kind */
    int dim;       /* 1..6 */
    double mu[5];  /* cone: friction per tangential row, each > 0 (dim - 1 of them) */
    double lo, hi; /* interval; Huber uses hi. -INFINITY and INFINITY are allowed */
    sti_row_user user;
} sti_row;

/* Compressed rows; column indices ascend within a row. */
typedef struct sti_csr {
    int nrow, ncol;
    const int *start;    /* nrow + 1 */
    const int *col;      /* start[nrow] */
    const double *value; /* start[nrow] */
} sti_csr;

/* What contacts remember over steps, matched by `feature`; carried by the caller or world. */
typedef struct sti_contact_memory {
    uint64_t feature;
    double anchor[3]; /* tangential displacement s, world, m */
    double turn[3];   /* the same of spin and rolling, world, rad */
    double frame[9];  /* rows: normal, tangents */
    double pos
        [3]; /* of the point, world, m; with the pair it finds contacts whose feature changed. Not in files */
    uint64_t pair; /* of geoms; 0: none */
} sti_contact_memory;

/* What the caller gives; everything is copied. Either A, vstar and J, or W and q. */
typedef struct sti_problem_arrays {
    int n;    /* dofs, 0 in the Delassus form */
    int nrow; /* row blocks */
    const sti_row *rows;
    const double *
        R; /* per scalar row, >= 0; NULL = 0. For cones R_t * mu_t^2 must be the same for all t; 0 for user rows */
    const double *vhat;  /* per scalar row; NULL = 0. In the Delassus form it is part of q */
    sti_csr A;           /* n x n, both triangles, symmetric to 1e-9 relative */
    const double *vstar; /* n */
    sti_csr J;           /* m x n */
    sti_csr W;           /* m x m; may be slightly unsymmetric, is used as it is */
    const double *q;     /* m */
    double h;            /* step length in s, for messages and memory; 0 = unknown */
    double still; /* sqrt(J): a part whose free motion has less is measured as if it had this; 0 = none */
    const double *
        coords; /* n, m: a node's three dofs have its coordinates, others anything; NULL = unknown. For multigrid
                             only; not in files */
    const sti_contact_memory
        *memory; /* per row block, what it remembers; NULL = nothing. Kept and saved, not used by solvers */
    uint64_t cookie; /* set by sti_problem_arrays_default */
} sti_problem_arrays;
STI_API sti_problem_arrays sti_problem_arrays_default(void);

typedef struct sti_problem sti_problem;

/* Checks and copies. Errors name the array and index: not finite, indices out of range or not
   ascending, A unsymmetric or with a non-positive diagonal, negative R or mu, rows that do not add up. */
STI_API sti_problem *sti_problem_create(const sti_problem_arrays *arrays, const sti_allocator *allocator,
                                        sti_error *error);
STI_API void sti_problem_free(sti_problem *problem);
/* A window on what the problem holds. */
STI_API const sti_problem_arrays *sti_problem_view(const sti_problem *problem);
STI_API int sti_problem_scalar_rows(const sti_problem *problem);

/* Independent parts: island of each dof and of each row block (Delassus form: of rows only);
   returns their number. Either array may be NULL. */
STI_API int sti_problem_islands(const sti_problem *problem, int *dof, int *row);

/* ---- files -------------------------------------------------------------------------------------- */

/* HDF5. The native group `stiction_problem` holds everything; FCLIB's `fclib_local` and
   `fclib_global` hold friction cones only. Loading recognises which it is; sizes in a file are
   checked against its length before anything is allocated. */
STI_API sti_problem *sti_problem_load(const char *path, const sti_allocator *allocator, sti_error *error);
STI_API sti_status sti_problem_save(const sti_problem *problem, const char *path, sti_error *error);
STI_API sti_status sti_problem_export_fclib(const sti_problem *problem, const char *path, sti_error *error);

/* ---- the certificate: computed outside the solvers, the same for all ------------------------------ */

/* How far an answer is from the exact solution. A number that was not computed is NAN, a count -1: never 0, which is a perfect answer. Two
   things make certificates:
   - code outside the solvers (sti_certify, sti_solve, sti_world_certificate) computes every field that applies;
   - the claim of a step (sti_world_solve_info) has error_bar, relative, gap and headline always. Where the solver has added up
     the gap itself, the others are NAN; sti_world_certificate computes them for who asks.
     A step of alm claims for its last problem and for what its iteration left (docs/alm.md); nothing more is computed.
   A problem without rows is solved exactly: its numbers and counts are 0. Before the first solve, and after one that failed,
   nothing is known: all NAN and -1. */
typedef struct sti_certificate {
    /* sqrt(2 gap) >= |v - v_opt|_A, in sqrt(J); infinite as the gap may be */
    double error_bar;
    /* error_bar relative to |J' g| in the A^-1 norm (or to |v - v*|_A if larger) */
    double relative;
    /* duality gap, J: momentum part + sum of the rows' parts; with hard rows (R = 0) infinite unless v obeys them exactly */
    double gap;
    /* |A (v - v*) - J' g| in momentum scaling (diag(A)^-1/2), relative; 0 in the Delassus form, whose v follows from g */
    double momentum;
    /* natural map of the rows at unit Delassus diagonal, relative */
    double natural;
    /* largest violation of C by g, relative */
    double cone;
    /* largest angle between slip and opposite friction of sliding contacts, rad; 0 if none slides */
    double dissipation;
    /* largest violation of the velocity constraint, m/s (hard contact) */
    double penetration;
    /* exact Coulomb: largest |s - mu |v_t|| over the slip scale; NAN with relaxed cones, which have none */
    double desaxce;
    /* FCLIB's full error: |r - P(r - u^)| / max(|q|, |r|, |u|); NAN unless all rows are round cones */
    double full_raw;
    /* the same for the problem scaled to unit Delassus diagonal */
    double full_scaled;
    /* of a step of alm: largest violation of joints and equalities, m or rad; NAN with others, whose joints are coordinates */
    double joints;
    /* what `tol` is compared with: `relative`; for hard contact max(momentum, natural). In a step with a nonlinear soft
       body what is left of its elastic forces comes on top */
    double headline;
    /* force components that the motion determines (rank of J on active rows); -1: not asked for, or an island has more
       than 4096 */
    int ndetermined;
    /* active components that only R (or the start) decides; -1 likewise */
    int nregularised;
} sti_certificate;

/* Certificate of (v, g), from any source; v = NULL: the velocity that g gives. Impulses are projected onto C before
   their gap is taken, so that the bar holds for any g. In exact Coulomb the bar is that of the problem with the De
   Saxce term frozen at v. Impulses below 1e-4 of the momentum at v* are not resolved further. coulomb as in
   sti_solve_options. share (nrow, may be NULL) gets each row block's part of the gap (or of the
   squared natural map). Rank counting is done only if `rank`. */
typedef enum sti_coulomb { STI_COULOMB_RELAXED, STI_COULOMB_EXACT } sti_coulomb;
STI_API sti_status sti_certify(const sti_problem *problem, const double *v, const double *g,
                               sti_coulomb coulomb, bool rank, sti_certificate *certificate, double *share,
                               sti_error *error);

/* ---- solving ------------------------------------------------------------------------------------------ */

/* clang-format off */
#define STI_SOLVERS(X)                                                                       \
    X(SAP, "sap")             /* primal Newton on v; needs the (A, J) form */                \
    X(APGD, "apgd")           /* accelerated projected gradient on g */                      \
    X(NEWTON, "newton")       /* semismooth Newton on the active set: the finisher, alone */ \
    X(AUTO, "auto")           /* by a fixed cost model */
/* clang-format on */
typedef enum sti_solver {
#define X(id, name) STI_SOLVER_##id,
    STI_SOLVERS(X)
#undef X
        STI_SOLVER_COUNT
} sti_solver;

typedef enum sti_linear { STI_LINEAR_AUTO, STI_LINEAR_DIRECT, STI_LINEAR_PCG } sti_linear;

/* X(enum, name): what conjugate gradients are preconditioned with in soft bodies, whose dofs come in threes. */
/* clang-format off */
#define STI_PRECONDITIONERS(X)                                                                        \
    X(AUTO, "auto")           /* multigrid */                                                        \
    X(JACOBI, "jacobi")       /* diagonal blocks of 3 x 3 */                                          \
    X(MG, "mg")               /* smoothed-aggregation multigrid */
/* clang-format on */
typedef enum sti_preconditioner {
#define X(id, name) STI_PRECONDITIONER_##id,
    STI_PRECONDITIONERS(X)
#undef X
        STI_PRECONDITIONER_COUNT
} sti_preconditioner;

/* X(enum, section, text): what a solve may have to say; counted, never printed. The section of docs/troubleshooting.md has
   remedies. */
/* clang-format off */
#define STI_SOLVE_WARNINGS(X)                                                                                    \
    X(GRADIENT_EXPLOSION, "instability", "the gradient norm passed its limit")                                   \
    X(ENERGY_INCREASE, "instability", "a line search raised the energy")                                         \
    X(NEAR_RIGID, "instability", "a patch is stiffer than the time step resolves and was taken for near-rigid")  \
    X(ENERGY_GAIN, "instability", "a step has given things more energy than there was, without work of anything") \
    X(INVERTED, "instability", "an element of a soft body is inside out")                                        \
    X(DISPLACEMENT, "instability", "something moved by more than the size of the scene in one step")             \
    X(LINE_SEARCH, "slow-convergence", "a line search failed and took a tenth of its largest step")              \
    X(ITERATION_CAP, "slow-convergence", "the iteration cap was reached; this is the best iterate")              \
    X(WORK_CAP, "slow-convergence", "max_work was reached; this is the best iterate")                            \
    X(STALLED, "slow-convergence", "no further progress was possible in double precision")                       \
    X(FROZEN_SLIP, "slow-convergence",                                                                           \
      "exact friction did not converge; the step was solved with the slip of its best iterate held fixed")       \
    X(CONTRADICTION, "slow-convergence", "rows contradict each other; this is the answer of softer ones")        \
    X(MANY_NEWTON, "slow-convergence", "a solve took more than 50 Newton steps")                                 \
    X(MANY_PCG, "slow-convergence", "a linear solve took more than 100 conjugate-gradient steps")
/* clang-format on */
#define STI_MANY_NEWTON 50
#define STI_MANY_PCG 100
typedef enum sti_solve_warning {
#define X(id, section, text) STI_WARN_##id,
    STI_SOLVE_WARNINGS(X)
#undef X
        STI_WARN_COUNT
} sti_solve_warning;
/* What it means, and where remedies are. */
STI_API const char *sti_solve_warning_text(sti_solve_warning warning);
/* "MANY_PCG" */
STI_API const char *sti_solve_warning_name(sti_solve_warning warning);

typedef struct sti_solve_options {
    sti_solver solver;
    sti_coulomb coulomb;
    sti_linear linear;
    sti_preconditioner preconditioner; /* of conjugate gradients in soft bodies */
    double tol;                        /* on the certificate's headline (relative) */
    double full_error;                 /* > 0: stop at this FCLIB full error (raw) instead */
    double atol,
        rtol; /* SAP also stops at |gradient| <= atol + rtol max(|momentum|, |impulse|), momentum scaling */
    bool adaptive_atol; /* atol (1 + 0.1 sqrt(contacts)) */
    int max_iterations;
    int max_newton; /* Newton steps of an island, in all */
    int max_pcg, max_line_search;
    /* floating-point operations, by estimate, after which it ends with its best iterate; 0: 5e9 and 5e7 for each of n + m */
    double max_work;
    double pcg_tol;
    double ls_tol;         /* a line search ends at a slope of so much of that at its start, 1e-8 */
    double max_step;       /* of the line search, 1.5 */
    double gradient_limit; /* warn above, 1e6 */
    double relaxation;     /* APGD over-relaxation, 1 = none */
    bool finish;           /* let the finisher take over when a first-order method crawls */
    bool history;          /* keep one number per iteration */
    const double *guess_v; /* n, may be NULL */
    const double *guess_g; /* m, may be NULL; what lies outside its cone or bounds is moved into them */
    sti_tasks tasks;       /* zero = this thread only; the bits do not depend on it */
    uint64_t cookie;       /* set by sti_solve_options_default */
} sti_solve_options;
STI_API sti_solve_options sti_solve_options_default(void);

typedef struct sti_solve_info {
    sti_solver solver; /* the one that gave the answer */
    int iterations;    /* Newton or gradient steps */
    int outer;         /* De Saxce loops, proximal loops */
    int products;      /* with N or the Hessian */
    int pcg, line_search, factorisations;
    int first_order; /* of a step of alm with bdf2 or midpoint: bodies that took one of implicit Euler instead, see docs/alm.md */
    /* floating-point operations, estimated from the sizes of matrices: the same on every machine */
    double work;
    double r4;      /* APGD and its finisher: the literature's projected-gradient residual; NAN with others */
    double seconds; /* wall time of the solve, without the certificate */
    int warnings[STI_WARN_COUNT];
    bool converged; /* headline (or full error) is below its tolerance */
    sti_certificate certificate;
} sti_solve_info;

/* A workspace is reused over problems: factor patterns, scratch. No allocation once it is warm. */
typedef struct sti_workspace sti_workspace;
STI_API sti_workspace *sti_workspace_create(const sti_allocator *allocator, sti_error *error);
STI_API void sti_workspace_free(sti_workspace *workspace);

/* v (n, may be NULL in the Delassus form) and g (m) receive the answer: the best iterate, whatever
   happens; the certificate says what it is worth. STI_OK unless the call itself is wrong or memory is short. */
STI_API sti_status sti_solve(const sti_problem *problem, const sti_solve_options *options,
                             sti_workspace *workspace, double *v, double *g, sti_solve_info *info,
                             sti_error *error);
/* History of the last solve: headline per iteration; NULL and 0 without options.history. */
STI_API const double *sti_workspace_history(const sti_workspace *workspace, int *count);

/* ---- sensitivity -------------------------------------------------------------------------------------- */

/* Vector-Jacobian products at a solution v of a regularised problem (relaxed friction) by implicit differentiation, with
   one solve with the Hessian: given w = dL/dv (n), fills dL/dv* (n), dL/dvhat (m), dL/dR (m; R_t of a cone's tangents are
   taken to move together, as they must), dL/dmu (per row block, by the first coefficient, the others in proportion and R
   held); outputs may be NULL. On a border between two regions of a row it is a derivative to one side. */
STI_API sti_status sti_problem_vjp(const sti_problem *problem, const double *v, const double *w,
                                   sti_workspace *workspace, double *d_vstar, double *d_vhat, double *d_R,
                                   double *d_mu, sti_error *error);

#ifdef __cplusplus
}
#endif
#endif
