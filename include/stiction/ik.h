/* SPDX-License-Identifier: Apache-2.0 */
/* Inverse kinematics: joint positions that bring a site or body to a wanted pose. docs/ik.md. */
#ifndef STICTION_IK_H
#define STICTION_IK_H

#include <stiction/world.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct sti_ik_options {
    int max_iterations;         /* in all starts together; 200 */
    int restarts;               /* from other places, if the first ends elsewhere; 0: stay near the start */
    double tolerance;           /* m and rad; 1e-10 */
    double damping;             /* at the first step, over the squared error; 1e-2 */
    double radius;              /* m: what a radian of error counts as; 0.3 */
    const unsigned char *joint; /* njnt: whether it may move; NULL: all that move the frame */
    uint64_t cookie;            /* set by sti_ik_options_default */
} sti_ik_options;

STI_API sti_ik_options sti_ik_options_default(void);

/* How a search ended; X(enum, word, meaning) */
/* clang-format off */
#define STI_IK_ENDS(X)                                                              \
    X(REACHED, "reached", "the frame is there, within the tolerance")               \
    X(CLOSEST, "closest", "no small motion within the limits brings it nearer")     \
    X(ITERATIONS, "iterations", "max_iterations are used up; the best so far")
/* clang-format on */

typedef enum sti_ik_end {
#define X(id, word, text) STI_IK_##id,
    STI_IK_ENDS(X)
#undef X
        STI_IK_END_COUNT
} sti_ik_end;
/* Its word, "?" if there is none. */
STI_API const char *sti_ik_end_name(sti_ik_end end);

typedef struct sti_ik_info {
    sti_ik_end end;
    int iterations;  /* steps that were tried */
    int restarts;    /* other starts that were tried */
    double position; /* m: what is left; 0 if no position was wanted */
    double angle;    /* rad: what is left; 0 if no orientation was wanted */
} sti_ik_info;

/* Damped least squares with the joints' limits. kind: STI_OBJ_SITE, STI_OBJ_BODY or STI_OBJ_XBODY (both: the body's own
   frame). pos (3) and quat (4, any length but 0) are of the world frame; either may be NULL, for any. qpos (nq): where to
   start, and then the best that was found; joints beyond their limits are brought inside first. Joints that do not move
   the frame, or may not move, keep their values. Equalities and contacts are not looked at. The world's state stays as
   it is; mocap bodies are where it has them. options may be NULL, info not: it says whether the pose was reached, which
   is no error. The first call for a world allocates. STI_ARGUMENT or STI_NO_MEMORY with the reason in sti_world_error, and
   then qpos is as it was. */
STI_API sti_status sti_ik_solve(sti_world *world, sti_object kind, int id, const double *pos,
                                const double *quat, const sti_ik_options *options, double *qpos,
                                sti_ik_info *info);

#ifdef __cplusplus
}
#endif
#endif
