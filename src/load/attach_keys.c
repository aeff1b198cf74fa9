/* SPDX-License-Identifier: Apache-2.0 */
/* Keyframes of attached models: the values of the part that was attached, and where they begin in the whole. */
#include "load/attach.h"
#include <stdio.h>
#include <string.h>

/* ---- counting ------------------------------------------------------------------------------------------ */

/* What lies before something in the order of the model. */
typedef struct counts {
    int qpos, qvel, mocap;
    bool soft; /* there are soft bodies, which have no place in keyframes */
} counts;

static void count_joint(const sti_element *e, counts *n) {
    static const int q[] = {7, 4, 1, 1}, v[] = {6, 3, 1, 1};
    if (e->id != STI_E_joint && e->id != STI_E_freejoint) return;
    int type = e->id == STI_E_freejoint ? 0 : sti__keyword(e, STI_A_type, 3);
    n->qpos += q[type];
    n->qvel += v[type];
}

static bool is_frame(const sti_element *e) { return e->id == STI_E_frame || e->id == STI_E_replicate; }

/* Joints of a body, through frames, without those of bodies in it. */
static void count_joints(const sti_element *in, counts *n) {
    for (const sti_element *e = in->child; e; e = e->next) {
        count_joint(e, n);
        n->soft |= e->id == STI_E_flexcomp || e->id == STI_E_sti_soft;
        if (is_frame(e)) count_joints(e, n);
    }
}

static bool count_before(const sti_element *in, const sti_element *end, counts *n);

/* Too many to count are refused when they are copied. */
static int sum(int a, double b) { return a + b < 1e9 ? (int)(a + b) : 1000000000; }

static bool count_body(const sti_element *e, const sti_element *end, counts *n) {
    counts before = *n;
    if (e->id == STI_E_body) n->mocap += sti__keyword(e, STI_A_mocap, 0) != 0;
    if (e->id == STI_E_body) count_joints(e, n);
    if (count_before(e, end, n)) return true;
    if (e->id != STI_E_replicate) return false;
    double times =
        sti__int(e, STI_A_count, 1) - 1.0; /* values for what stands in it are those of the first copy */
    n->qpos = sum(n->qpos, times * (n->qpos - before.qpos));
    n->qvel = sum(n->qvel, times * (n->qvel - before.qvel));
    n->mocap = sum(n->mocap, times * (n->mocap - before.mocap));
    return false;
}

/* Bodies in `in` in the order of the model until `end`; true if that was reached. NULL: all. */
static bool count_before(const sti_element *in, const sti_element *end, counts *n) {
    for (const sti_element *e = in->child; e; e = e->next) {
        if (e == end) return true;
        if ((e->id == STI_E_body || is_frame(e)) && count_body(e, end, n)) return true;
    }
    return false;
}

static counts count_all(const sti_spec *spec, const sti_element *end) {
    counts n = {0};
    for (const sti_element *s = spec->root->child; s; s = s->next) {
        if (s->id == STI_E_deformable && s->child) n.soft = true;
        if (s->id != STI_E_worldbody) continue;
        count_joints(s, &n);
        if (count_before(s, end, &n)) break;
    }
    return n;
}

/* Settings of an instance in <extension>, or inside. */
static const sti_element *settings_of(const sti_element *e) {
    const char *name = sti__own_text(e, STI_A_instance);
    const sti_element *root = e->spec->root;
    for (const sti_element *i = name ? root : NULL; i; i = sti__preorder(root, i)) {
        const char *its = i->id == STI_E_plugin_instance ? sti__own_text(i, STI_A_name) : NULL;
        if (its && strcmp(its, name) == 0) return i;
    }
    return e;
}

/* Of mujoco.pid, which is the only plugin among actuators: an integral if ki is not 0, the last control if slewmax is given. */
static int plugin_activations(const sti_element *e) {
    int n = sti__keyword(e, STI_A_dyntype, 0) != 0, integral = 0, last = 0;
    for (const sti_element *s = sti__first(settings_of(e), STI_E_plugin_config); s; s = sti__next_same(s)) {
        const char *key = sti__own_text(s, STI_A_key), *value = sti__own_text(s, STI_A_value);
        double x = 0;
        bool ok = false;
        if (!key || !value) continue;
        sti__parse_real(value, value + strlen(value), &x, &ok);
        if (strcmp(key, "ki") == 0) integral = ok && x != 0;
        if (strcmp(key, "slewmax") == 0) last = 1;
    }
    return n + integral + last;
}

static int activations(const sti_element *e) {
    switch (e->id) {
    case STI_E_intvelocity:
    case STI_E_cylinder:
    case STI_E_muscle: return 1;
    case STI_E_position: return sti__real(e, STI_A_timeconst, 0) != 0;
    case STI_E_general: {
        int given = sti__int(e, STI_A_actdim, -1);
        return given >= 0 ? given : sti__keyword(e, STI_A_dyntype, 0) != 0;
    }
    case STI_E_actuator_plugin: return plugin_activations(e);
    default: return 0;
    }
}

/* ---- copies -------------------------------------------------------------------------------------------- */

typedef struct span {
    int first, count;
} span;

typedef struct key_copy {
    sti__attaching *a;
    const sti_element *from;
    sti_element *to;
    double first[5]; /* of qpos, qvel, act, ctrl and mocap bodies: where values begin in the part */
} key_copy;

/* Values of one attribute: number k of the list belongs to place first + k of the model. */
typedef struct numbers {
    const double *x;
    int first, count;
} numbers;

/* Those of the spans as text; *skipped: how many of their places come before the first value. */
static bool write_numbers(const numbers *from, const span *spans, int nspan, sti__vec *text, int *skipped) {
    bool memory = true;
    *skipped = 0;
    for (int k = 0; k < nspan; k++)
        for (int i = spans[k].first - from->first, n = spans[k].count; n > 0 && memory; i++, n--) {
            char number[32];
            *skipped += i < 0;
            if (i < 0 || i >= from->count) continue;
            snprintf(number, sizeof number, "%.17g ", from->x[i]);
            for (const char *p = number; *p && memory; p++) memory = sti__vec_push(text, p);
        }
    return memory && sti__vec_push(text, "");
}

static sti_status slice(key_copy *k, sti__aid attribute, int which, int width, const span *spans, int nspan) {
    double first[5] = {0};
    int skipped;
    numbers from = {0};
    sti__vec text;
    sti_status code = STI_OK;
    from.x = sti__list(k->from, attribute, &from.count);
    if (!from.count) return STI_OK;
    sti__reals(k->from, STI_A_first, first, 5);
    from.first = width * (int)first[which];
    sti__vec_init(&text, 1, &k->a->copy.to->allocator);
    if (!write_numbers(&from, spans, nspan, &text, &skipped))
        code = sti__out_of_memory(k->a->copy.error, sti__place_of(k->to), STI_NO_MEMORY);
    else if (text.count > 1) {
        code = sti__copy_set(&k->a->copy, k->to, attribute, (const char *)text.data);
        k->first[which] = skipped / width;
    }
    sti__vec_free(&text);
    return code;
}

static span between(int from, int to) { return (span){from, to - from}; }

/* Controls and activations of the actuators that were taken. */
static sti_status slice_actuators(key_copy *k, const sti__vec *taken) {
    const sti_allocator *allocator = &k->a->copy.to->allocator;
    sti__vec ctrl, act;
    int u = 0, at = 0;
    size_t next = 0;
    bool memory = true;
    sti__vec_init(&ctrl, sizeof(span), allocator);
    sti__vec_init(&act, sizeof(span), allocator);
    for (const sti_element *s = k->a->of->root->child; s; s = s->next)
        for (const sti_element *e = s->id == STI_E_actuator ? s->child : NULL; e; e = e->next, u++) {
            int n = activations(e);
            bool here = next < taken->count && ((const sti_element **)taken->data)[next] == e;
            if (here) memory &= sti__vec_push(&ctrl, &(span){u, 1}) && sti__vec_push(&act, &(span){at, n});
            next += here;
            at += n;
        }
    sti_status code =
        memory ? STI_OK : sti__out_of_memory(k->a->copy.error, sti__place_of(k->to), STI_NO_MEMORY);
    if (!code) code = slice(k, STI_A_act, 2, 1, (span *)act.data, (int)act.count);
    if (!code) code = slice(k, STI_A_ctrl, 3, 1, (span *)ctrl.data, (int)ctrl.count);
    sti__vec_free(&ctrl);
    sti__vec_free(&act);
    return code;
}

static sti_status copy_key(key_copy *k, const sti__vec *taken) {
    sti__attaching *a = k->a;
    counts first = count_all(a->of, a->part), end = first;
    if (!a->part) first = (counts){0}, end = count_all(a->of, NULL);
    else count_body(a->part, NULL, &end);
    const span q = between(first.qpos, end.qpos), v = between(first.qvel, end.qvel),
               p = between(3 * first.mocap, 3 * end.mocap), r = between(4 * first.mocap, 4 * end.mocap);
    sti_status code = STI_OK;
    for (const sti__value *x = k->from->value; x && !code; x = x->next)
        if (x->info->name == STI_A_name || x->info->name == STI_A_time)
            code = a->copy.value(&a->copy, k->to, x);
    if (!code && !sti__own_text(k->from, STI_A_name)) /* as in MuJoCo */
        code = sti__copy_set(&a->copy, k->to, STI_A_name, a->prefix);
    if (!code) code = slice(k, STI_A_qpos, 0, 1, &q, 1);
    if (!code) code = slice(k, STI_A_qvel, 1, 1, &v, 1);
    if (!code) code = slice(k, STI_A_mpos, 4, 3, &p, 1);
    if (!code) code = slice(k, STI_A_mquat, 4, 4, &r, 1);
    if (!code) code = slice_actuators(k, taken);
    return code ? code : sti__copy_reals(&a->copy, k->to, STI_A_first, k->first, 5);
}

sti_status sti__keys_attach(sti__attaching *a, const sti__vec *actuators, int first, sti__vec *late) {
    sti_element *root = a->copy.to->root, *keyframe = NULL;
    if (count_all(a->of, NULL).soft) return STI_OK;
    for (sti_element *s = root->child; s; s = s->next)
        if (s->id == STI_E_keyframe) keyframe = s;
    for (const sti_element *s = a->of->root->child; s; s = s->next)
        for (const sti_element *e = s->id == STI_E_keyframe ? s->child : NULL; e; e = e->next) {
            if (!keyframe) keyframe = sti__copy_element(&a->copy, root, a->place, STI_E_keyframe);
            sti_element *to = keyframe ? sti__copy_element(&a->copy, keyframe, e, STI_E_key) : NULL;
            key_copy k = {.a = a, .from = e, .to = to};
            if (!to || copy_key(&k, actuators)) return a->copy.error->code;
            if (!sti__vec_push(late, &(sti__late_key){to, a->place, first}))
                return sti__out_of_memory(a->copy.error, sti__place_of(a->place), STI_NO_MEMORY);
        }
    return STI_OK;
}

static int activations_before(const sti_spec *spec, int actuator) {
    int u = 0, at = 0;
    for (const sti_element *s = spec->root->child; s; s = s->next)
        for (const sti_element *e = s->id == STI_E_actuator ? s->child : NULL; e; e = e->next, u++)
            at += u < actuator ? activations(e) : 0;
    return at;
}

sti_status sti__keys_place(sti_spec *spec, const sti__vec *late, sti_error *error) {
    sti__copy copy = {spec, NULL, error, NULL};
    const sti__late_key *keys = (const sti__late_key *)late->data;
    if (late->count) sti__scope_all(spec); /* joint types may come from classes */
    for (size_t i = 0; i < late->count; i++) {
        counts n = count_all(spec, keys[i].place);
        int before[] = {n.qpos, n.qvel, activations_before(spec, keys[i].actuator), keys[i].actuator,
                        n.mocap};
        double first[5] = {0};
        sti__reals(keys[i].key, STI_A_first, first, 5);
        for (int k = 0; k < 5; k++) first[k] += before[k];
        sti_status code = sti__copy_reals(&copy, keys[i].key, STI_A_first, first, 5);
        if (code) return code;
    }
    return STI_OK;
}
