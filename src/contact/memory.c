/* SPDX-License-Identifier: Apache-2.0 */
/* Anchors of friction, carried from step to step. */
#include "contact/memory.h"
#include "contact/rows.h"
#include <math.h>
#include <string.h>

/* A friction force this close to its cone slides. */
#define ON_CONE (1 - 1e-9)
/* Cosine of the largest angle between the normals of a contact and what it may take its memory from. */
#define SAME_NORMAL 0.95

/* So many contacts may be gone in one place before the table is asked. */
#define AHEAD 8

int sti__memory_slots(int count) {
    int slots = 4;
    while (slots < 2 * count && slots < 1 << 30) slots *= 2;
    return slots;
}

/* Spreads features that are not hashes, such as those of limits. */
static int home_of(uint64_t feature, int slots) {
    return (int)((feature * 0x9e3779b97f4a7c15ull >> 34) & (uint64_t)(slots - 1));
}

void sti__memory_index_fill(sti__memory_index *index, int *slot) {
    int slots = sti__memory_slots(index->count);
    index->slot = slot;
    memset(slot, -1, sizeof *slot * (size_t)slots);
    for (int i = 0; i < index->count; i++) {
        int at = home_of(index->list[i].feature, slots);
        while (slot[at] >= 0 && index->list[slot[at]].feature != index->list[i].feature)
            at = (at + 1) & (slots - 1);
        if (slot[at] < 0) slot[at] = i;
    }
}

const sti_contact_memory *sti__memory_next(sti__memory_index *index, uint64_t feature) {
    if (index->next >= index->count || index->list[index->next].feature != feature) return NULL;
    return &index->list[index->next++];
}

const sti_contact_memory *sti__memory_ahead(sti__memory_index *index, uint64_t feature) {
    int end = index->count - index->next < AHEAD ? index->count : index->next + AHEAD;
    for (int i = index->next; i < end; i++)
        if (index->list[i].feature == feature) return index->next = i + 1, &index->list[i];
    return NULL;
}

const sti_contact_memory *sti__memory_find(sti__memory_index *index, uint64_t feature) {
    int slots = sti__memory_slots(index->count), at = home_of(feature, slots);
    while (index->slot[at] >= 0 && index->list[index->slot[at]].feature != feature)
        at = (at + 1) & (slots - 1);
    if (index->slot[at] < 0) return NULL;
    index->next = index->slot[at] + 1;
    return &index->list[index->slot[at]];
}

static double dot3(const double *a, const double *b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

/* Rows without a pair come before and after the contacts: they count as less and more than all. */
void sti__memory_pair(const sti__memory_index *index, uint64_t pair, int *first, int *end) {
    int lo = 0, hi = index->count;
    while (lo < hi && index->list[lo].pair == 0) lo++;
    while (lo < hi && index->list[hi - 1].pair == 0) hi--;
    *end = hi;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (index->list[mid].pair < pair) lo = mid + 1;
        else hi = mid;
    }
    int last = lo;
    while (last < *end && index->list[last].pair == pair) last++;
    *first = lo;
    *end = last;
}

static bool has_feature(const sti_contact_memory *list, int count, uint64_t feature) {
    for (int i = 0; i < count; i++)
        if (list[i].feature == feature) return true;
    return false;
}

const sti_contact_memory *sti__memory_near(const sti__memory_index *index, int first, int end,
                                           const sti_contact_memory *now, int count, const double pos[3],
                                           const double normal[3], double far) {
    const sti_contact_memory *best = NULL;
    double least = far * far;
    for (int i = first; i < end; i++) {
        const sti_contact_memory *m = &index->list[i];
        double d[3] = {m->pos[0] - pos[0], m->pos[1] - pos[1], m->pos[2] - pos[2]}, dd = dot3(d, d);
        if (dd > least || dot3(m->frame, normal) < SAME_NORMAL || has_feature(now, count, m->feature))
            continue;
        least = dd;
        best = m;
    }
    return best;
}

/* Field by field, as most of it is written a moment later. */
void sti__memory_carry(const sti_contact_memory *old, uint64_t feature, const double frame[9],
                       sti_contact_memory *m) {
    static const sti_contact_memory nothing;
    const sti_contact_memory *from = old ? old : &nothing;
    double along = old ? dot3(from->anchor, frame) : 0;
    for (int k = 0; k < 3; k++) {
        m->anchor[k] = from->anchor[k] - along * frame[k];
        m->turn[k] = from->turn[k];
        m->pos[k] = 0;
    }
    m->feature = feature;
    m->pair = 0;
    if (frame != m->frame) memcpy(m->frame, frame, sizeof m->frame);
}

/* Axis of row i: normal, tangents, then the same for rotation. */
static const double *axis_of(const sti_contact_memory *m, int i) {
    return m->frame + (size_t)3 * (size_t)(i % 3);
}

void sti__memory_vhat(const sti_contact_memory *m, int dim, double h, double tau, const double surface[3],
                      double *vhat) {
    for (int i = 1; i < dim; i++)
        vhat[i - 1] =
            -dot3(i < 3 ? m->anchor : m->turn, axis_of(m, i)) / (h + tau) - (i < 4 ? surface[i - 1] : 0);
}

static bool slides(const sti_row *row, const double *g) {
    double t2 = 0;
    for (int i = 1; i < row->dim; i++) t2 += g[i] / row->mu[i - 1] * (g[i] / row->mu[i - 1]);
    return !(g[0] > 0) || sqrt(t2) >= ON_CONE * g[0];
}

void sti__memory_update(sti_contact_memory *m, const sti_row *row, const double *R, const double *v,
                        const double *g, double h, double tau) {
    if (row->kind != STI_ROW_CONE || row->dim < 3) {
        memset(m->anchor, 0, sizeof m->anchor);
        memset(m->turn, 0, sizeof m->turn);
        return;
    }
    bool sliding = slides(row, g);
    double old[2][3];
    memcpy(old[0], m->anchor, sizeof old[0]);
    memcpy(old[1], m->turn, sizeof old[1]);
    memset(m->anchor, 0, sizeof m->anchor);
    memset(m->turn, 0, sizeof m->turn);
    for (int i = 1; i < row->dim; i++) {
        const double *axis = axis_of(m, i);
        double *to = i < 3 ? m->anchor : m->turn,
               s = sliding ? -R[i] * (h + tau) * g[i] : dot3(old[i / 3], axis) + h * v[i];
        for (int k = 0; k < 3; k++) to[k] += s * axis[k];
    }
}

bool sti__memory_is_finite(const sti_contact_memory *m) {
    bool finite = true;
    for (int k = 0; k < 9; k++) finite &= isfinite(m->frame[k]);
    for (int k = 0; k < 3; k++)
        finite &= isfinite(m->anchor[k]) && isfinite(m->turn[k]) && isfinite(m->pos[k]);
    return finite;
}

/* ---- the warm start of a row ------------------------------------------------------------------------------- */

static bool is_zero(const double *x) { return x[0] == 0 && x[1] == 0 && x[2] == 0; }

/* Forces (n, t1, t2) and torques (about n, t1, t2), which few contacts have, into another frame. */
static void turn(const double *from, const double *old, const double *frame, double *to) {
    for (int part = 0; part < 6; part += 3) {
        double world[3] = {0};
        if (is_zero(from + part)) {
            to[part] = to[part + 1] = to[part + 2] = 0;
            continue;
        }
        for (int i = 0; i < 3; i++)
            for (int k = 0; k < 3; k++) world[k] += from[part + i] * old[3 * i + k];
        for (int i = 0; i < 3; i++) to[part + i] = dot3(world, frame + (size_t)3 * (size_t)i);
    }
}

void sti__warm_carry(const sti__row_warm *old, const double from[9], const double frame[9], int dim,
                     sti__row_warm *w) {
    static const sti__row_warm nothing;
    *w = old ? *old : nothing;
    if (!old || dim == 1) return;                            /* one along the normal stays so */
    if (memcmp(from, frame, 9 * sizeof *frame) == 0) return; /* as on a plane */
    turn(old->impulse, from, frame, w->impulse);
    turn(old->rate, from, frame, w->rate);
}

void sti__warm_forecast(const sti__row_warm *w, const sti_row *row, const double *R, double *g) {
    if (row->kind == STI_ROW_CONE && row->dim == 3) { /* nearly all, in registers */
        double x[3] = {w->impulse[0] + w->rate[0], w->impulse[1] + w->rate[1], w->impulse[2] + w->rate[2]};
        sti__cone_project(3, row->mu, R, x);
        for (int i = 0; i < 3; i++) g[i] = x[i];
        return;
    }
    for (int i = 0; i < row->dim; i++) g[i] = w->impulse[i] + w->rate[i];
    sti__row_project(row, R, g);
}

void sti__warm_learn(sti__row_warm *w, const double *forecast, const double *g, int dim) {
    double age = INFINITY;
    bool steady = w->impulse[0] != 0 && g[0] != 0;
    for (int i = 0; i < dim; i++) {
        bool bound = g[i] == forecast[i]; /* then what was foretold may have been more */
        double trend[2] = {bound ? g[i] - w->impulse[i] : w->rate[i], w->age};
        sti__learn(bound ? 0 : g[i] - (w->impulse[i] + w->rate[i]), trend);
        w->rate[i] = steady ? trend[0] : 0;
        age = fmin(age, trend[1]);
    }
    w->age = steady ? age : 0;
    memset(w->impulse, 0, sizeof w->impulse);
    memcpy(w->impulse, g, sizeof *g * (size_t)dim);
}
