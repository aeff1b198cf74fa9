/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a model that need dynamics at qpos0. */
#ifndef STI_DYNAMICS_REFERENCE_H
#define STI_DYNAMICS_REFERENCE_H

#include "model/state.h"
#include <stiction/spec.h>

/* Fills dof_M0, dof_invweight0, body_invweight0, tendon_length0, tendon_lengthspring (where it is
   -1 -1), tendon_invweight0, actuator_length0, actuator_acc0, biasprm from dampratio, stiffness and
   damping from springdamper, eq_data from relative poses, cam_* and light_* reference values, stat.
   See model/compile.h for how the model says what is wanted. spec: what it was made from, for the places of messages;
   NULL: the model is finished and some of its fields were changed. */
sti_status sti__reference_values(sti_model *model, const sti_spec *spec, sti_report *report,
                                 sti_error *error);

/* lengthrange.c: actuator_lengthrange of muscles that give none, or as <lengthrange> says. After the reference values. */
sti_status sti__find_lengthranges(sti_model *model, const sti_spec *spec, sti_report *report,
                                  sti_error *error);

/* All derived fields of a finished model, from those that were changed. */
sti_status sti__model_derive(sti_model *model, sti_error *error);

/* weights.c: dof_invweight0 (before joints share it) and body_invweight0 by recursion, from a state with M's factor at qpos0. False if
   memory is short or M is not that of trees alone. */
bool sti__reference_weights(const sti_state *state, sti_model *model);

/* statistic.c: notes what a file gives of stat, or, of a finished model, opens what it does not give. */
void sti__open_statistic(sti_model *model, bool made);
/* what the file does not give (NaN) of stat; state holds the positions at qpos0. */
void sti__reference_statistic(sti_model *model, const sti_state *state);

#endif
