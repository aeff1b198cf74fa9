/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors: derived arrays to sensordata. */
#ifndef STI_SENSE_SENSE_H
#define STI_SENSE_SENSE_H

#include "model/state.h"

enum { STI__SENSE_POSITION = 1, STI__SENSE_VELOCITY = 2, STI__SENSE_ACCELERATION = 3 };

/* Writes the values of all sensors whose needstage is `stage`, cutoff applied. */
typedef void sti__sense_kernel(sti_state *state, int stage);

/* The best compiled variant for this machine; lanes 1 or 8. All variants give the same bits. */
sti__sense_kernel *sti__sense_get(int lanes);

/* STI__WANT_... groups that the model's sensors read. */
uint32_t sti__sense_wants(const sti_model *model);

#endif
