/* SPDX-License-Identifier: Apache-2.0 */
#include "base/internal.h"
#include <string.h>
#include <time.h>

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int find_child(const sti__profile *profile, int parent, const char *name) {
    for (int i = parent + 1; i < profile->count; i++) {
        const sti_profile_node *node = &profile->node[i];
        if (node->parent < parent) return -1; /* beyond the parent's subtree */
        if (node->parent == parent && (node->name == name || strcmp(node->name, name) == 0)) return i;
    }
    return -1;
}

/* Opens a place at the end of the parent's subtree, so that nodes stay in preorder. */
static int add_child(sti__profile *profile, int parent, const char *name) {
    if (profile->count == STI__PROFILE_MAX) return -1;
    int at = parent + 1;
    while (at < profile->count && profile->node[at].parent >= parent) at++;
    memmove(profile->node + at + 1, profile->node + at,
            (size_t)(profile->count - at) * sizeof *profile->node);
    profile->count++;
    for (int i = at + 1; i < profile->count; i++) profile->node[i].parent += profile->node[i].parent >= at;
    int depth = parent < 0 ? 0 : profile->node[parent].depth + 1;
    profile->node[at] = (sti_profile_node){.name = name, .parent = parent, .depth = depth};
    return at;
}

/* Beyond the fixed depth and number of nodes time is counted to the parent only. */
void sti__profile_enter(sti__profile *profile, const char *name) {
    int depth = profile->depth++;
    if (depth >= STI__COUNT(profile->stack)) return;
    int parent = depth ? profile->stack[depth - 1] : -1, node = -1;
    if (depth == 0 || parent >= 0) {
        node = find_child(profile, parent, name);
        if (node < 0) node = add_child(profile, parent, name);
    }
    profile->stack[depth] = node;
    profile->start[depth] = now();
}

void sti__profile_leave(sti__profile *profile) {
    if (profile->depth == 0) return;
    int depth = --profile->depth;
    if (depth >= STI__COUNT(profile->stack) || profile->stack[depth] < 0) return;
    sti_profile_node *node = &profile->node[profile->stack[depth]];
    node->ticks += now() - profile->start[depth];
    node->count++;
}
