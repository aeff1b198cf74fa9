/* SPDX-License-Identifier: Apache-2.0 */
#include "world/spans.h"

#include <string.h>

typedef struct spans {
    const sti_world *world;
    sti__span *list;
    int count;
} spans;

static sti__span *add(spans *s, const char *name, sti__span_kind kind, sti__span_check check, void *data,
                      size_t bytes) {
    s->list[s->count] = (sti__span){.name = name, .kind = kind, .check = check, .data = data, .bytes = bytes};
    return &s->list[s->count++];
}

static sti__span *add_numbers(spans *s, const char *name, sti__span_kind kind, double *data, size_t count) {
    return add(s, name, kind, STI__SPAN_NUMBERS, data, count * sizeof *data);
}

static void add_shown(spans *s, void *data, size_t bytes) {
    add(s, "", STI__SPAN_SHOWN, STI__SPAN_ANYTHING, data, bytes);
}

/* ---- members of a world ----------------------------------------------------------------------------------- */

static void spans_of_state(spans *s) {
    const sti_world *w = s->world;
    for (int f = 0; f < STI_FIELD_COUNT; f++) {
        char role = sti__field_role((sti_field)f);
        if (role != 'S' && role != 'I') continue;
        double *data = sti__field_data(w->state, (sti_field)f);
        size_t bytes = sti__size(sti__field_size(w->model, (sti_field)f), sizeof(double));
        add(s, sti__field_name((sti_field)f), STI__SPAN_STATE, STI__SPAN_FIELD, data, bytes)->field =
            (sti_field)f;
    }
    add(s, "eq_active", STI__SPAN_STATE, STI__SPAN_ANYTHING, w->state->eq_active,
        (size_t)w->model->neq * sizeof(int));
    add_shown(s, w->state->block, w->state->nblock);
    add_shown(s, &w->state->wanted, sizeof w->state->wanted);
}

static void spans_of_good(spans *s) {
    add_shown(s, s->world->good, sti__world_nstate(s->world->model) * sizeof(double));
}
static void spans_of_before(spans *s) {
    add_shown(s, s->world->before, sti__world_nstate(s->world->model) * sizeof(double));
}

static bool room_for_memories(sti_world *w, size_t bytes) {
    return sti__memories_room(w, (int)(bytes / sizeof(sti_contact_memory)));
}
static bool room_for_rows(sti_world *w, size_t bytes) {
    return sti__memories_room(w, (int)(bytes / sizeof(sti__row_warm)));
}

/* These structs have no list of their own: what is added to one needs a span, or a reason not to have one. */
_Static_assert(sizeof(sti__memories) == sizeof(void *) + 8 + sizeof(sti__pool), "spans_of_memory");
_Static_assert(sizeof(sti__warm_start) == 4 * sizeof(void *) + sizeof(sti__pool) + sizeof(size_t),
               "spans_of_warm");

static void spans_of_memory(spans *s) {
    sti__memories *m = (sti__memories *)&s->world->memory;
    sti__span *a = add(s, "contact memory", STI__SPAN_STATE, STI__SPAN_MEMORIES, m->item,
                       sizeof *m->item * (size_t)m->count);
    a->item = sizeof *m->item;
    a->count = &m->count;
    a->room = room_for_memories;
}

static void spans_of_warm(spans *s) {
    sti__warm_start *w = (sti__warm_start *)&s->world->warm;
    const sti_model *m = s->world->model;
    int *count = (int *)&s->world->memory.count;
    sti__span *rows = add_numbers(s, "impulses of rows", STI__SPAN_WARM, (double *)(void *)w->row,
                                  sizeof *w->row / sizeof(double) * (size_t)*count);
    rows->item = sizeof *w->row;
    rows->count = count;
    rows->room = room_for_rows;
    add_numbers(s, "trends of velocities", STI__SPAN_WARM, w->trend, 2 * (size_t)m->nv);
    add_numbers(s, "touched vertices", STI__SPAN_WARM, w->touched, (size_t)m->nflexvert);
}

static bool room_for_alm(sti_world *w, size_t bytes) {
    return bytes == 0 || sti__world_need_alm(w) == STI_OK;
}

static void spans_of_alm(spans *s) {
    const sti__alm *alm = s->world->alm;
    size_t sizes[2] = {0};
    double *parts[2] = {NULL, NULL};
    if (alm) sti__alm_state(alm, parts, sizes);
    bool any = alm && sti__alm_has_state(alm);
    for (int k = 0; k < 2; k++) {
        sti__span *a = add_numbers(s, k ? "multipliers of alm" : "momenta of alm",
                                   k ? STI__SPAN_WARM : STI__SPAN_STATE, parts[k], any ? sizes[k] : 0);
        a->most = sizes[k] * sizeof(double);
        a->room = room_for_alm;
    }
}

static bool room_for_sleep(sti_world *w, size_t bytes) { return bytes == 0 || sti__sleep_make(w); }
static bool room_for_asleep(sti_world *w, size_t bytes) {
    size_t count = bytes / sizeof(sti__asleep_memory);
    return bytes == 0 || (sti__sleep_make(w) && sti__sleep_room(w, (int)count));
}

static void spans_of_sleep(spans *s) {
    sti__sleep *x = s->world->sleep;
    const sti_model *m = s->world->model;
    bool any = x && sti__sleep_has_state(s->world);
    size_t trees = sizeof(int) * (size_t)m->ntree, poses = 8 * ((size_t)m->ntree + STI__SLEEP_SEEN),
           sensed = sizeof(double) * (size_t)m->nsensordata;
    const struct {
        const char *name;
        sti__span_check check;
        void *data;
        size_t bytes;
    } part[] = {{"sleep of trees", STI__SPAN_TREES, x ? x->tree : NULL, trees},
                {"poses of sleep", STI__SPAN_ANYTHING, x ? x->pose : NULL, poses},
                {"sensors of sleep", STI__SPAN_NUMBERS, x ? x->sensed : NULL, sensed}};
    for (int i = 0; i < STI__COUNT(part); i++) {
        sti__span *a =
            add(s, part[i].name, STI__SPAN_STATE, part[i].check, part[i].data, any ? part[i].bytes : 0);
        a->most = x ? part[i].bytes : 0;
        a->room = room_for_sleep;
    }
    sti__span *a = add(s, "memory of sleep", STI__SPAN_STATE, STI__SPAN_ASLEEP, x ? x->item : NULL,
                       x ? sizeof *x->item * (size_t)x->count : 0);
    a->item = sizeof *x->item;
    a->count = x ? &x->count : NULL;
    a->room = room_for_asleep;
}

static void spans_of_constraints(spans *s) {
    sti__constraints *c = (sti__constraints *)&s->world->constraints;
    add_shown(s, &c->info, sizeof c->info);
    add_shown(s, c->warned, sizeof c->warned);
    add_shown(s, c->rows.coupled, sizeof *c->rows.coupled * (size_t)s->world->model->ncoupled);
}

/* ---- all of it -------------------------------------------------------------------------------------------- */

int sti__world_spans(const sti_world *world, sti__span list[STI__SPANS]) {
    spans s = {world, list, 0};
#define HELD(name) spans_of_##name(&s);
#define PLAIN(name)
#define OWN(name)
#define X(type, name, dims, class) class(name)
    STI__WORLD_MEMBERS(X)
#undef X
#undef HELD
#undef PLAIN
#undef OWN
    return s.count;
}

bool sti__spans_room(sti_world *world, sti__span_kind last, const size_t *bytes) {
    sti__span list[STI__SPANS];
    int n = sti__world_spans(world, list);
    for (int i = 0; i < n; i++)
        if (list[i].kind <= last && list[i].room && !list[i].room(world, bytes[i])) return false;
    return true;
}

void sti__spans_put(sti_world *world, sti__span_kind last, const size_t *bytes, const void *const *from) {
    sti__span list[STI__SPANS];
    int n = sti__world_spans(world, list);
    for (int i = 0; i < n; i++) {
        sti__span *s = &list[i];
        if (s->kind > last) continue;
        if (s->count) *s->count = (int)(bytes[i] / s->item);
        if (bytes[i]) memcpy(s->data, from[i], bytes[i]);
        else if (s->most) memset(s->data, 0, s->most);
    }
}
