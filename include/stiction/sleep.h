/* SPDX-License-Identifier: Apache-2.0 */
/* Trees that rest are left out of steps until something touches or pushes them, while the flag "sleep" of the options is on
   (STI_ENABLE_SLEEP). docs/sleep.md. */
#ifndef STICTION_SLEEP_H
#define STICTION_SLEEP_H

#include <stiction/world.h>

#ifdef __cplusplus
extern "C" {
#endif

/* MuJoCo's tree_asleep: negative if the tree is awake, from -11 up to -1 while it rests; else the next of the trees that fell asleep with
   it, the last of which leads to the first. -11 if there is no such tree. */
STI_API int sti_world_tree_asleep(const sti_world *world, int tree);

#ifdef __cplusplus
}
#endif
#endif
