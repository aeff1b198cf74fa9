/* SPDX-License-Identifier: Apache-2.0 */
/* Step capsules: the problem of a step, what the contacts remembered and the state before it, in one HDF5 file. Files are
   written only where asked for. HDF5 is not thread-safe everywhere: write from one thread at a time. docs/capsules.md. */
#ifndef STICTION_CAPSULE_H
#define STICTION_CAPSULE_H

#include <stiction/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* X(enum, word, text): how a step may end badly. */
/* clang-format off */
#define STI_TROUBLES(X)                                                                      \
    X(CERTIFICATE, "certificate", "the certificate is above opt.certificate_limit")          \
    X(POOL, "pool", "a pool was too small and has grown")                                    \
    X(NONFINITE, "nonfinite", "a number became infinite or absurd; the step was not taken")  \
    X(SOLVE, "solve", "the problem could not be solved; the step was not taken")   \
    X(WATCH, "watch", "energy without a source, or a displacement beyond the size of the scene")
/* clang-format on */
enum {
#define X(id, word, text) STI_TROUBLE_BIT_##id,
    STI_TROUBLES(X)
#undef X
        STI_TROUBLE_COUNT
};
/* STI_TROUBLE_CERTIFICATE, ...: bits */
enum {
#define X(id, word, text) STI_TROUBLE_##id = 1 << STI_TROUBLE_BIT_##id,
    STI_TROUBLES(X)
#undef X
        STI_TROUBLE_ALL = (1 << STI_TROUBLE_COUNT) - 1
};

/* What went badly in the last step (all its substeps), as bits; 0: nothing. */
STI_API int sti_world_trouble(const sti_world *world);
/* The first word of some bits, "none" for 0. */
STI_API const char *sti_trouble_word(int troubles);

/* The step that would be taken now: runs sti_forward and writes its problem, the guess it starts from, what contacts
   remember and the state. Without rows only the state is written; rows of kind user cannot be (STI_UNSUPPORTED). */
STI_API sti_status sti_capsule_save(sti_world *world, const char *path, sti_error *error);

/* From now on a step (or substep) with one of `troubles` writes a capsule, as it was when it ended badly, to
   `folder`/capsule-NNNN-WORD.h5: at most `most` of them. What cannot be written is said to the world's log; the step goes
   on. folder NULL: no more. A copy of the world writes none. */
STI_API sti_status sti_world_set_capsules(sti_world *world, const char *folder, int most, int troubles,
                                          sti_error *error);
/* Capsules that were written since then. */
STI_API int sti_world_capsules(const sti_world *world);

/* The state of a capsule, ready for the step that it holds; refuses those of another model (STI_FORMAT). Options that were
   changed in the world are not in it. */
STI_API sti_status sti_capsule_load(sti_world *world, const char *path, sti_error *error);

/* What a capsule says besides the problem, which sti_problem_load reads. */
typedef struct sti_capsule {
    int troubles;              /* bits */
    double time;               /* of the state, s */
    uint64_t model;            /* hash */
    int n, m;                  /* dofs and scalar rows of the problem; 0: the step had no rows */
    sti_solve_options options; /* as in the step, with guess_v (n) and guess_g (m; may be NULL) */
    const double *v, *g;       /* n and m: what the solver found */
    double headline;           /* of its certificate; NAN: the step was not solved */
} sti_capsule;
/* NULL if the file is no capsule (STI_FORMAT) or cannot be read. */
STI_API sti_capsule *sti_capsule_open(const char *path, const sti_allocator *allocator, sti_error *error);
STI_API void sti_capsule_close(sti_capsule *capsule);

#ifdef __cplusplus
}
#endif
#endif
