/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a warp run the same instruction, and wait for each other where one has more to do: worlds whose last solves took like work are
   given to neighbouring threads, those with most of it first. Which thread steps a world changes none of its bits. */
#include "gpu/device_inside.h"
#include <string.h>

void sti__device_sort(sti__device_batch *b) {
    b->sorted = false;
    int first[STI__GPU_KINDS + 1] = {0}, *kind = b->short_list;
    int *there = sti__device_stage(b, sti__size(b->count, sizeof *there));
    if (!there) return;
    sti_status status = sti__device_launch(b, STI__GPU_kind, (sti__gpu_call){.out = there, .n = b->count});
    if (status == STI_OK) status = sti__device_read(b, kind, there, sti__size(b->count, sizeof *kind));
    if (status != STI_OK) return;
    for (int i = 0; i < b->count; i++) first[STI__GPU_KINDS - kind[i]]++;
    for (int k = 0; k < STI__GPU_KINDS; k++) first[k + 1] += first[k];
    for (int i = 0; i < b->count; i++) b->order[first[STI__GPU_KINDS - 1 - kind[i]]++] = i;
    b->sorted = true;
}
