/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds at three time steps against closed forms, for tests. */
#ifndef STI_TEST_CLOSED_H
#define STI_TEST_CLOSED_H

#include "scene.h"

#define PI 3.14159265358979323846
#define BETA 0.7 /* of near-rigid rows, the default */

static const double steps[] = {0.01, 0.002, 0.001};
#define EACH_STEP(h)               \
    for (int k_ = 0; k_ < 3; k_++) \
        for (double h = steps[k_], once_ = 1; once_ > 0; once_ = 0)

/* The format's first number is the time step. */
static inline sti_world *open(const char *format, double h, sti_model **model) {
    char xml[16384];
    snprintf(xml, sizeof xml, format, h);
    *model = model_of(xml);
    return world_of(*model);
}

static inline void close(sti_world *w, sti_model *m) {
    sti_world_destroy(w);
    sti_model_free(m);
}

static inline void run(sti_world *w, double seconds) {
    CHECK(sti_step(w, (int)(seconds / sti_world_option(w)->timestep + 0.5)) == STI_OK);
    if (sti_world_error(w)->code) fprintf(stderr, "%s\n", sti_world_error(w)->message);
    sti_certificate c = sti_world_certificate(w);
    CHECK(c.headline < 1e-6 || c.error_bar < 1e-12); /* relative to nothing where nothing moves */
}

#endif
