/* SPDX-License-Identifier: Apache-2.0 */
/* State vectors by MuJoCo's bits, equality switches, keyframes that are written. */
#include "world/world.h"
#include <math.h>
#include <stiction/control.h>
#include <string.h>

#define PARTS 15

typedef struct part {
    double *data;
    int count;
    int *flags; /* instead of data */
    sti_field field;
} part;

/* Parts of the bits in their order; returns how many. */
static int parts_of(const sti_model *m, const sti_state *s, unsigned bits, part out[PARTS]) {
    const struct {
        unsigned bit;
        part part;
    } all[] = {
#define FIELD(bit, name)                                                                          \
    {                                                                                             \
        STI_STATE_##bit, {                                                                        \
            s ? s->name : NULL, (int)sti__field_size(m, STI_FIELD_##name), NULL, STI_FIELD_##name \
        }                                                                                         \
    }
        FIELD(TIME, time),
        FIELD(QPOS, qpos),
        FIELD(QVEL, qvel),
        FIELD(ACT, act),
        FIELD(HISTORY, history),
        FIELD(CTRL, ctrl),
        FIELD(QFRC_APPLIED, qfrc_applied),
        FIELD(XFRC_APPLIED, xfrc_applied),
        {STI_STATE_EQ_ACTIVE, {NULL, m->neq, s ? s->eq_active : NULL, STI_FIELD_COUNT}},
        FIELD(MOCAP_POS, mocap_pos),
        FIELD(MOCAP_QUAT, mocap_quat),
        FIELD(USERDATA, userdata),
        FIELD(PLASTIC, plastic),
        FIELD(QPOS, flexvert_xpos),
        FIELD(QVEL, flexvert_xvel),
#undef FIELD
    };
    int n = 0;
    for (int i = 0; i < STI__COUNT(all); i++)
        if ((bits & all[i].bit) && all[i].part.count > 0) out[n++] = all[i].part;
    return n;
}

static bool known(unsigned bits) { return bits <= (unsigned)STI_STATE_INTEGRATION; }

int sti_state_bits_size(const sti_model *model, unsigned bits) {
    part parts[PARTS];
    int n = parts_of(model, NULL, bits, parts), sum = 0;
    for (int i = 0; i < n; i++) sum += parts[i].count;
    return known(bits) ? sum : -1;
}

static sti_status refuse_bits(sti_world *world, unsigned bits) {
    world->error = (sti_error){0};
    if (known(bits)) return STI_OK;
    return sti__fail(&world->error, STI_ARGUMENT, "state bits %#x are unknown", bits);
}

sti_status sti_state_get(const sti_world *world, unsigned bits, double *out) {
    part parts[PARTS];
    if (!known(bits)) return STI_ARGUMENT;
    int n = parts_of(world->model, world->state, bits, parts);
    for (int i = 0; i < n; out += parts[i].count, i++) {
        if (!parts[i].flags) memcpy(out, parts[i].data, sizeof *out * (size_t)parts[i].count);
        for (int k = 0; parts[i].flags && k < parts[i].count; k++) out[k] = parts[i].flags[k] != 0;
    }
    return STI_OK;
}

static sti_status check_part(sti_world *world, const part *p, const double *in) {
    for (int k = 0; k < p->count; k++) {
        if (fabs(in[k]) <= (p->flags ? STI__ABSURD : sti__field_most(p->field))) continue;
        if (p->flags)
            return sti__fail(&world->error, STI_NONFINITE, "eq_active[%d] is %g; nothing was set", k, in[k]);
        return sti__world_fail_bad(world, "the given ", p->field, k, in[k], "nothing was set");
    }
    return STI_OK;
}

/* What is remembered of earlier steps belongs to another place. */
static void forget(sti_world *world) {
    const sti_state *s = world->state;
    size_t vertices = 3 * (size_t)world->model->nflexvert;
    if (vertices) memcpy(s->flexvert_tangent, s->flexvert_xpos, vertices * sizeof(double));
    sti__constraints_reset(world);
    world->memory.count = 0;
    if (world->alm) sti__alm_reset(world->alm);
    sti_world_drop_warm_start(world);
}

sti_status sti_state_set(sti_world *world, unsigned bits, const double *in) {
    part parts[PARTS];
    sti_status status = refuse_bits(world, bits);
    if (status == STI_OK) status = sti__world_renew(world);
    if (status != STI_OK) return status;
    int n = parts_of(world->model, world->state, bits, parts), at = 0;
    for (int i = 0; i < n && status == STI_OK; at += parts[i].count, i++)
        status = check_part(world, &parts[i], in + at);
    if (status != STI_OK) return status;
    for (int i = 0; i < n; in += parts[i].count, i++) {
        if (!parts[i].flags) memcpy(parts[i].data, in, sizeof *in * (size_t)parts[i].count);
        for (int k = 0; parts[i].flags && k < parts[i].count; k++) parts[i].flags[k] = in[k] != 0;
    }
    if (bits & STI_STATE_QPOS) forget(world);
    sti__world_copy_out(world, world->good);
    return STI_OK;
}

sti_view sti_world_eq_active(sti_world *world) {
    return (sti_view){world->state->eq_active, world->model->neq, 1, 'i', true};
}

static void keep_row(double *table, int key, const double *from, int count) {
    if (count > 0) memcpy(table + (size_t)key * (size_t)count, from, sizeof *table * (size_t)count);
}

sti_status sti_model_set_keyframe(sti_model *m, const sti_world *world, int key, sti_error *error) {
    const sti_state *s = world->state;
    if (error) *error = (sti_error){0};
    if (world->model != m) return sti__fail(error, STI_ARGUMENT, "the world is of another model");
    if (key < 0 || key >= m->nkey)
        return sti__fail(error, STI_ARGUMENT, "there is no keyframe %d: the model has %d", key, m->nkey);
    m->key_time[key] = *s->time;
    keep_row(m->key_qpos, key, s->qpos, m->nq);
    keep_row(m->key_qvel, key, s->qvel, m->nv);
    keep_row(m->key_act, key, s->act, m->na);
    keep_row(m->key_ctrl, key, s->ctrl, m->nu);
    keep_row(m->key_plastic, key, s->plastic, m->nplastic);
    keep_row(m->key_mpos, key, s->mocap_pos, 3 * m->nmocap);
    keep_row(m->key_mquat, key, s->mocap_quat, 4 * m->nmocap);
    return sti_model_update(m, error);
}
