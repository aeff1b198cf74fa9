/* SPDX-License-Identifier: Apache-2.0 */
/* MuJoCo's own plugins that are built in, by their names, and the settings that a file gives them. */
#ifndef STI_MODEL_PLUGINS_H
#define STI_MODEL_PLUGINS_H

#include "model/compile.h"

typedef enum sti__plugin_id {
    STI__PLUGIN_PID,
    STI__PLUGIN_TOUCH_GRID,
    STI__PLUGIN_TORUS, /* shapes, in the order of sti_sdf */
    STI__PLUGIN_BOWL,
    STI__PLUGIN_BOLT,
    STI__PLUGIN_NUT,
    STI__PLUGIN_GEAR,
    STI__PLUGIN_CABLE, /* of composites, which are bodies with springs once they are loaded (load/composite.c) */
    STI__PLUGIN_COUNT,
    STI__PLUGIN_UNKNOWN = -1 /* and that has been said */
} sti__plugin_id;

/* A plugin as an element uses it. */
typedef struct sti__plugin {
    sti__plugin_id id;
    const sti_element *settings; /* the element whose <config> count */
} sti__plugin;

/* The plugin that an element names, or refers to by its instance; complains if that is none, or not one of `wanted`. */
sti__plugin sti__plugin_of(sti__compiler *c, const sti_element *e, sti__plugin_id first, sti__plugin_id last);
/* Numbers of a setting, at most `max`; returns how many there are, 0 if it is not given. */
int sti__plugin_numbers(sti__compiler *c, const sti__plugin *plugin, const char *key, double *out, int max);
/* One number; `otherwise` if it is not given. */
double sti__plugin_number(sti__compiler *c, const sti__plugin *plugin, const char *key, double otherwise);
/* The shape that an element's plugin is: sti_sdf and its parameters; STI_SDF_NONE with a complaint if it is none. */
int sti__plugin_shape(sti__compiler *c, const sti_element *e, double prm[5]);
/* Names and settings in <extension>, used or not. */
void sti__check_plugins(sti__compiler *c);
/* A complaint at a setting, or at the element if it is not given. */
bool sti__plugin_complain(sti__compiler *c, const sti__plugin *plugin, const char *key, const char *format,
                          ...) STI__PRINTF(4, 5);

#endif
