/* SPDX-License-Identifier: Apache-2.0 */
/* Keyframes and custom numbers. */
#include "math/rot.h"
#include "model/compile.h"
#include <string.h>

/* ---- custom numbers ---------------------------------------------------------------------------------- */

/* How many values a number holds: its size attribute, or what its data gives. */
static int numeric_size(sti__compiler *c, const sti_element *e) {
    int given = 0;
    sti__list(e, STI_A_data, &given);
    if (!sti__has_own(e, STI_A_name)) sti__complain(c, e, STI_A_name, STI_VALUE, "is required");
    int size = sti__has_own(e, STI_A_size) ? sti__int(e, STI_A_size, 0) : given;
    if (size <= 0) sti__complain(c, e, STI_A_size, STI_VALUE, "must be positive");
    if (given > size) sti__complain(c, e, STI_A_data, STI_VALUE, "has more than the %d values of size", size);
    return size < 0 ? 0 : size;
}

static void size_numerics(sti__compiler *c) {
    for (int i = 0; i < c->m->nnumeric; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_NUMERIC, i);
        sti__add_to(c, e, sti__has_own(e, STI_A_size) ? STI_A_size : STI_A_data, &c->m->nnumericdata,
                    (size_t)numeric_size(c, e), sizeof(double), "custom numbers");
    }
}

/* Every keyframe holds a whole state. */
void sti__size_keys(sti__compiler *c) {
    const sti_model *m = c->m;
    size_t each = 1 + (size_t)m->nq + (size_t)m->nv + (size_t)m->na + (size_t)m->nu + (size_t)m->nplastic +
                  7 * (size_t)m->nmocap;
    const sti_element *last = m->nkey ? sti__object(c, STI_OBJ_KEY, m->nkey - 1) : NULL;
    int total = 0;
    size_numerics(c);
    if (m->nkey && !last) last = sti__setting(c->spec, STI_E_size, STI_A_nkey);
    sti__add_to(c, last, STI_A_COUNT, &total, (size_t)m->nkey, each * sizeof(double), "keyframes");
}

static void fill_numerics(sti__compiler *c) {
    sti_model *m = c->m;
    int adr = 0;
    for (int i = 0; i < m->nnumeric; i++) {
        const sti_element *e = sti__object(c, STI_OBJ_NUMERIC, i);
        int given = 0;
        const double *data = sti__list(e, STI_A_data, &given);
        m->numeric_adr[i] = adr;
        m->numeric_size[i] = numeric_size(c, e);
        if (given) memcpy(m->numeric_data + adr, data, (size_t)given * sizeof(double));
        adr += m->numeric_size[i];
    }
}

/* ---- keyframes --------------------------------------------------------------------------------------- */

/* Copies what is given over the values that are there already, from `first` on. */
static void fill_vector(sti__compiler *c, const sti_element *e, sti__aid attribute, double first, double *out,
                        int size) {
    int given = 0;
    const double *values = sti__list(e, attribute, &given);
    bool partly = sti__has_own(e, STI_A_first);
    if (given && (first < 0 || first > size || given > size - (int)first)) {
        if (partly)
            sti__complain(c, e, attribute, STI_VALUE, "has %d values from %g on, but the model takes %d",
                          given, first, size);
        else sti__complain(c, e, attribute, STI_VALUE, "has %d values, but the model takes %d", given, size);
        return;
    }
    if (given > 0 && given < size && !partly)
        sti__warn(c, e, attribute, "has only %d of %d values; the others keep their standard value", given,
                  size);
    if (given > 0) memcpy(out + (int)first, values, (size_t)given * sizeof(double));
}

static void normalize_qpos(const sti_model *m, double *qpos) {
    for (int j = 0; j < m->njnt; j++) {
        if (m->jnt_type[j] == STI_JOINT_FREE) quat_normalize(qpos + m->jnt_qposadr[j] + 3);
        if (m->jnt_type[j] == STI_JOINT_BALL) quat_normalize(qpos + m->jnt_qposadr[j]);
    }
}

/* The poses of the mocap bodies as the file places them. */
static void fill_mocap(const sti_model *m, double *mpos, double *mquat) {
    for (int b = 0; b < m->nbody; b++) {
        int k = m->body_mocapid[b];
        if (k < 0) continue;
        memcpy(mpos + 3 * k, m->body_pos + 3 * b, 3 * sizeof(double));
        memcpy(mquat + 4 * k, m->body_quat + 4 * b, 4 * sizeof(double));
    }
}

static void fill_key(sti__compiler *c, const sti_element *e, size_t i) {
    sti_model *m = c->m;
    size_t nq = (size_t)m->nq, nmocap = (size_t)m->nmocap;
    double *qpos = m->key_qpos + i * nq, *mpos = m->key_mpos + i * nmocap * 3,
           *mquat = m->key_mquat + i * nmocap * 4;
    if (nq) memcpy(qpos, m->qpos0, nq * sizeof(double));
    fill_mocap(m, mpos, mquat);
    if (!e) return;
    m->key_time[i] = sti__real(e, STI_A_time, 0);
    double first[5] = {0}; /* of qpos, qvel, act, ctrl, mocap bodies */
    sti__reals(e, STI_A_first, first, 5);
    fill_vector(c, e, STI_A_qpos, first[0], qpos, m->nq);
    fill_vector(c, e, STI_A_qvel, first[1], m->key_qvel + i * (size_t)m->nv, m->nv);
    fill_vector(c, e, STI_A_act, first[2], m->key_act + i * (size_t)m->na, m->na);
    fill_vector(c, e, STI_A_ctrl, first[3], m->key_ctrl + i * (size_t)m->nu, m->nu);
    for (int k = 0; k < m->nplastic; k++)
        m->key_plastic[i * (size_t)m->nplastic + (size_t)k] = __builtin_nan("");
    fill_vector(c, e, STI_A_plastic, 0, m->key_plastic + i * (size_t)m->nplastic, m->nplastic);
    fill_vector(c, e, STI_A_mpos, 3 * first[4], mpos, m->nmocap * 3);
    fill_vector(c, e, STI_A_mquat, 4 * first[4], mquat, m->nmocap * 4);
    normalize_qpos(m, qpos);
    for (size_t k = 0; k < nmocap; k++) quat_normalize(mquat + 4 * k);
}

void sti__fill_keys(sti__compiler *c) {
    for (int i = 0; i < c->m->nkey; i++) fill_key(c, sti__object(c, STI_OBJ_KEY, i), (size_t)i);
    fill_numerics(c);
}
