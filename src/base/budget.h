/* SPDX-License-Identifier: Apache-2.0 */
/* The work of a step, in floating-point operations estimated from the sizes of its matrices. It is counted and never timed, so
   that a cap on it ends a step at the same iterate on every machine and with every number of threads. */
#ifndef STI_BASE_BUDGET_H
#define STI_BASE_BUDGET_H

#include <stdbool.h>

typedef struct sti__budget {
    double spent, most; /* operations */
} sti__budget;

/* The cap where none is set: this, and more for every dof. A scene of a few bodies ends within seconds whatever its options
   say; ordinary steps take a hundredth of it or less. */
#define STI__BUDGET_BASE 5e9
#define STI__BUDGET_PER_DOF 5e7
static inline double sti__budget_default(double dofs) {
    return STI__BUDGET_BASE + STI__BUDGET_PER_DOF * dofs;
}

/* With soft bodies: enough for the Newton iterations of a crushed body with a thousand contacts, little for each of their many dofs, and so
   many factors of all of them. Ordinary steps take a hundredth of it or less. */
#define STI__BUDGET_SOFT_BASE 3e10
#define STI__BUDGET_PER_SOFT 2e5
#define STI__BUDGET_FACTORS 8
static inline double sti__budget_soft(double dofs, double soft_dofs, double factor) {
    return STI__BUDGET_SOFT_BASE + STI__BUDGET_PER_DOF * dofs + STI__BUDGET_PER_SOFT * soft_dofs +
           STI__BUDGET_FACTORS * factor;
}

static inline bool sti__budget_left(const sti__budget *b) { return b->spent < b->most; }
static inline void sti__budget_spend(sti__budget *b, double operations) { b->spent += operations; }
/* How many iterations of so many operations each may follow: at most `most`, at least one. */
static inline int sti__budget_iterations(const sti__budget *b, double each, int most) {
    double count = (b->most - b->spent) / each;
    return count < 1 ? 1 : count < most ? (int)count : most;
}

#endif
