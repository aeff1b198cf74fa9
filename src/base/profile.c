/* SPDX-License-Identifier: Apache-2.0 */
#include "base/internal.h"
#include <string.h>
#include <time.h>

int64_t sti__clock(void) {
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

/* What lies nearer to the last stage entered or left than this is the same moment: the time in between is that of reading the
   clock. */
#define SAME 150 /* ns */
static int64_t moment(sti__profile *profile, int64_t clock) {
    int64_t now = clock - profile->own;
    if (now - profile->last > SAME) profile->last = now;
    return profile->last;
}

/* Beyond the fixed depth and number of nodes time is counted to the parent only. */
static void open_node(sti__profile *profile, const char *name) {
    int depth = profile->depth++;
    if (depth >= STI__COUNT(profile->stack)) return;
    int parent = depth ? profile->stack[depth - 1] : -1, node = -1;
    if (depth == 0 || parent >= 0) {
        node = find_child(profile, parent, name);
        if (node < 0) node = add_child(profile, parent, name);
    }
    profile->stack[depth] = node;
}

void sti__profile_enter(sti__profile *profile, const char *name) {
    int64_t begun = sti__clock(), start = moment(profile, begun);
    if (profile->depth < STI__COUNT(profile->start)) profile->start[profile->depth] = start;
    open_node(profile, name);
    profile->own += sti__clock() - begun;
}

void sti__profile_leave(sti__profile *profile) {
    if (profile->depth == 0) return;
    int depth = --profile->depth;
    if (depth >= STI__COUNT(profile->stack) || profile->stack[depth] < 0) return;
    sti_profile_node *node = &profile->node[profile->stack[depth]];
    node->count++;
    int64_t clock = sti__clock();
    if (profile->last == profile->start[depth])
        profile->last = clock - profile->own; /* nothing was entered in it */
    node->ticks += moment(profile, clock) - profile->start[depth];
}

static sti_profile_node *top(sti__profile *profile) {
    int depth = profile->depth - 1;
    if (depth < 0 || depth >= STI__COUNT(profile->stack) || profile->stack[depth] < 0) return NULL;
    return &profile->node[profile->stack[depth]];
}

void sti__profile_iterations(sti__profile *profile, int64_t count) {
    sti_profile_node *node = profile->on ? top(profile) : NULL;
    if (node) node->iterations += count;
}

/* ---- tallies ------------------------------------------------------------------------------------------ */

/* Now, or the end of the part before, if it is the same moment. After code in wide registers a clock was seen to take twice as long. */
static int64_t after_last(const sti__tally *tally) {
    int64_t now = sti__clock();
    return now - tally->last < 2 * SAME ? tally->last : now;
}

/* A part that begins as soon as the one around it takes that one's moment. */
int64_t sti__tally_begin(sti__tally *tally) {
    tally->last = after_last(tally);
    return tally->last - tally->sum;
}

/* Threads that share a part count more than the time that passes around them. */
void sti__tally_end(sti__tally *tally, sti__work part, int64_t start, int64_t iterations) {
    tally->last = sti__clock();
    int64_t ticks = tally->last - tally->sum - start;
    if (ticks > 0) tally->part[part].ticks += ticks, tally->sum += ticks;
    tally->part[part].count++;
    tally->part[part].iterations += iterations;
}

void sti__tally_add(sti__tally *sum, const sti__tally *part) {
    for (int i = 0; i < STI__WORK_COUNT; i++) {
        sum->part[i].ticks += part->part[i].ticks;
        sum->part[i].count += part->part[i].count;
        sum->part[i].iterations += part->part[i].iterations;
    }
    sum->sum += part->sum;
}

void sti__profile_enter_parts(sti__profile *profile, const char *name, sti__tally *tally) {
    if (!profile->on) return;
    sti__profile_enter(profile, name);
    int depth = profile->depth - 1;
    tally->last = depth < STI__COUNT(profile->start) ? profile->start[depth] + profile->own : sti__clock();
}

/* Opens a stage without its clock. */
static void open_part(sti__profile *profile, const char *name, const sti__tally *tally, int part) {
    open_node(profile, name);
    sti_profile_node *node = top(profile);
    if (!node) return;
    node->ticks += tally->part[part].ticks;
    node->count += tally->part[part].count;
    node->iterations += tally->part[part].iterations;
}

void sti__profile_take(sti__profile *profile, sti__tally *tally) {
    static const char *const names[] = {
#define X(id, name) name,
        STI__WORKS(X)
#undef X
    };
    if (!profile->on || tally->sum == 0) return;
    int64_t start = after_last(tally);
    for (int i = STI__WORK_MATVEC; i <= STI__WORK_PRECONDITIONER && tally->part[STI__WORK_PCG].count; i++)
        tally->part[STI__WORK_PCG].ticks += tally->part[i].ticks;
    for (int i = 0; i < STI__WORK_COUNT; i++) {
        if (i == STI__WORK_PRECONDITIONER + 1 && tally->part[STI__WORK_PCG].count) profile->depth--;
        if (tally->part[i].count == 0) continue;
        open_part(profile, names[i], tally, i);
        if (i != STI__WORK_PCG) profile->depth--; /* which stays open for what is inside */
    }
    *tally = (sti__tally){0};
    profile->last = start - profile->own; /* a stage that is left now ends with its last part */
    profile->own += sti__clock() - start;
}
