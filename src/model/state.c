/* SPDX-License-Identifier: Apache-2.0 */
/* The block that holds the arrays of one world, or of several side by side. */
#include "model/state.h"
#include <string.h>

static size_t scratch_size(const sti_model *m) {
    return 64 + 48 * (size_t)m->nbody + 16 * (size_t)m->nv + 8 * (size_t)m->nq + 4 * (size_t)m->na +
           2 * (size_t)m->nM + (size_t)m->nD;
}

static size_t take(size_t *used, size_t count, size_t lanes, size_t item) {
    size_t at = *used, bytes = sti__mul(sti__mul(count, lanes), item);
    bytes = sti__add(bytes, STI__ALIGN - 1);
    if (bytes != SIZE_MAX) bytes &= ~(size_t)(STI__ALIGN - 1);
    *used = sti__add(*used, bytes);
    return at;
}

/* Bytes of the block; with place also sets the pointers into it. */
static size_t lay_out(sti_state *s, bool place) {
    const sti_model *m = s->model;
#define X(name, text)                    \
    const size_t name = (size_t)m->name; \
    (void)name;
    STI_MODEL_SIZES(X)
#undef X
    size_t used = 0, at, lanes = (size_t)s->lanes;
    char *base = s->block;
#define X(name, rows, cols, role)                                             \
    at = take(&used, (size_t)(rows) * (size_t)(cols), lanes, sizeof(double)); \
    if (place) s->name = (double *)(void *)(base + at);
    STI_STATE_FIELDS(X)
#undef X
    at = take(&used, neq, lanes, sizeof(int));
    if (place) s->eq_active = (int *)(void *)(base + at);
    at = take(&used, s->nscratch, lanes, sizeof(double));
    if (place) s->scratch = (double *)(void *)(base + at);
    return used;
}

void sti__state_parameters(sti_state *s) {
    const sti_model *m = s->model;
#define SET_C(name)
#define SET_W(name) s->par.name = m->name;
#define X(type, name, rows, cols, vary, change) SET_##vary(name)
    STI_MODEL_FIELDS(X)
#undef X
#undef SET_C
#undef SET_W
}

static void spread(double *out, const double *values, size_t count, size_t lanes) {
    for (size_t i = 0; i < count; i++)
        for (size_t l = 0; l < lanes; l++) out[i * lanes + l] = values[i];
}

static void set_initial(sti_state *s) {
    const sti_model *m = s->model;
    const double unit[4] = {1, 0, 0, 0};
    size_t lanes = (size_t)s->lanes;
    spread(s->qpos, m->qpos0, (size_t)m->nq, lanes);
    spread(s->flexvert_xpos, m->flexvert_pos0, 3 * (size_t)m->nflexvert, lanes);
    spread(s->flexvert_tangent, m->flexvert_pos0, 3 * (size_t)m->nflexvert, lanes);
    for (size_t b = 0; b < (size_t)m->nbody; b++) {
        spread(s->xquat + 4 * b * lanes, unit, 4, lanes);
        if (m->body_mocapid[b] < 0) continue;
        size_t id = (size_t)m->body_mocapid[b];
        spread(s->mocap_pos + 3 * id * lanes, m->body_pos + 3 * b, 3, lanes);
        spread(s->mocap_quat + 4 * id * lanes, m->body_quat + 4 * b, 4, lanes);
    }
    for (size_t e = 0; e < (size_t)m->neq; e++)
        for (size_t l = 0; l < lanes; l++) s->eq_active[e * lanes + l] = m->eq_active0[e];
}

sti_state *sti__state_create(const sti_model *model, int lanes, const sti_allocator *allocator,
                             sti_error *error) {
    const sti_allocator *from = sti__allocator(allocator);
    sti_state *s = sti__alloc(from, sizeof *s);
    if (!s) {
        sti__fail(error, STI_NO_MEMORY, "no memory for a world");
        return NULL;
    }
    s->model = model;
    s->lanes = lanes;
    s->opt = model->opt;
    s->allocator = from;
    s->range = (sti__range){1, model->nbody, 0, model->njnt, 0, model->nv};
    s->nscratch = scratch_size(model);
    s->nblock = lay_out(s, false);
    s->block = sti__alloc_aligned(from, s->nblock);
    if (!s->block) {
        sti__fail(error, STI_NO_MEMORY, "no memory for a world of %zu bytes", s->nblock);
        sti__free(from, s, sizeof *s);
        return NULL;
    }
    lay_out(s, true);
    sti__state_parameters(s);
    set_initial(s);
    return s;
}

void sti__state_free(sti_state *state) {
    if (!state) return;
    const sti_allocator *from = state->allocator;
    sti__free_aligned(from, state->block, state->nblock);
    sti__free(from, state, sizeof *state);
}
