/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of fields, and labels for their columns. */
#include "record/record.h"

#include <stdio.h>
#include <string.h>

sti_status sti__field_list_parse(const char *text, sti__field_list *list, sti_error *error) {
    *list = (sti__field_list){.count = 0};
    bool seen[STI_FIELD_COUNT] = {[STI_FIELD_time] = true};
    const char *at = text ? text : "qpos qvel act ctrl sensordata energy flexvert_xpos flexvert_xvel";
    for (at += strspn(at, " \t\n,"); *at; at += strspn(at, " \t\n,")) {
        size_t length = strcspn(at, " \t\n,");
        sti_field field = sti__field_find(at, length);
        if (field == STI_FIELD_COUNT || sti__field_role(field) == 'T')
            return sti__fail(error, STI_ARGUMENT, "there is no field \"%.*s\" to record",
                             (int)(length < 64 ? length : 64), at);
        at += length;
        if (seen[field]) continue;
        seen[field] = true;
        list->field[list->count++] = field;
        list->groups |= sti__field_group(field);
    }
    return STI_OK;
}

/* "name", or "joint3" for the nameless. */
static void object_label(const sti_model *m, sti_object kind, const char *text, int id, const char *suffix,
                         char *out, size_t size) {
    const char *name = sti_model_name(m, kind, id);
    if (*name) snprintf(out, size, "%s%s", name, suffix);
    else snprintf(out, size, "%s%d%s", text, id, suffix);
}

/* Joints with several coordinates get a suffix per coordinate. */
static void joint_label(const sti_model *m, int joint, int k, bool velocity, char *out, size_t size) {
    static const char *const pos[] = {"_x", "_y", "_z", "_qw", "_qx", "_qy", "_qz"};
    static const char *const vel[] = {"_vx", "_vy", "_vz", "_wx", "_wy", "_wz"};
    const char *suffix = "";
    int type = m->jnt_type[joint];
    if (type == STI_JOINT_BALL) k += 3;
    if (type == STI_JOINT_FREE || type == STI_JOINT_BALL) suffix = velocity ? vel[k] : pos[k];
    object_label(m, STI_OBJ_JOINT, "joint", joint, suffix, out, size);
}

static int owner(const int *adr, int count, int i) {
    int id = 0;
    while (id + 1 < count && adr[id + 1] <= i) id++;
    return id;
}

static void sensor_label(const sti_model *m, int i, char *out, size_t size) {
    char suffix[16] = "";
    int id = owner(m->sensor_adr, m->nsensor, i);
    if (m->sensor_dim[id] > 1) snprintf(suffix, sizeof suffix, "_%d", i - m->sensor_adr[id]);
    object_label(m, STI_OBJ_SENSOR, "sensor", id, suffix, out, size);
}

static void activation_label(const sti_model *m, int i, char *out, size_t size) {
    int id = 0;
    for (int u = 0; u < m->nactuator; u++)
        if (m->actuator_actnum[u] > 0 && m->actuator_actadr[u] <= i) id = u;
    object_label(m, STI_OBJ_ACTUATOR, "actuator", id, "", out, size);
}

void sti__field_label(const sti_model *m, sti_field field, int i, char *out, size_t size) {
    int rows = sti__field_rows(m, field), cols = sti__field_cols(field), id;
    switch (field) {
    case STI_FIELD_qpos:
        id = owner(m->jnt_qposadr, m->njnt, i);
        joint_label(m, id, i - m->jnt_qposadr[id], false, out, size);
        return;
    case STI_FIELD_act: activation_label(m, i, out, size); return;
    case STI_FIELD_sensordata: sensor_label(m, i, out, size); return;
    case STI_FIELD_time: snprintf(out, size, "time"); return;
    case STI_FIELD_energy: snprintf(out, size, "%s", i ? "kinetic" : "potential"); return;
    default: break;
    }
    char suffix[16] = "";
    if (cols > 1) snprintf(suffix, sizeof suffix, "_%d", i % cols);
    if (rows == m->nv && cols == 1 && field != STI_FIELD_ctrl) {
        id = m->dof_jntid[i];
        joint_label(m, id, i - m->jnt_dofadr[id], true, out, size);
    } else if (field == STI_FIELD_ctrl) {
        for (id = 0; id + 1 < m->nactuator && m->actuator_ctrladr[id] + m->actuator_ctrlnum[id] <= i;) id++;
        if (m->actuator_ctrlnum[id] > 1) snprintf(suffix, sizeof suffix, "_%d", i - m->actuator_ctrladr[id]);
        object_label(m, STI_OBJ_ACTUATOR, "actuator", id, suffix, out, size);
    } else if (field == STI_FIELD_actuator_force || field == STI_FIELD_actuator_length ||
               field == STI_FIELD_actuator_velocity) {
        object_label(m, STI_OBJ_ACTUATOR, "actuator", i, "", out, size);
    } else if (rows == m->nbody) {
        object_label(m, STI_OBJ_BODY, "body", i / cols, suffix, out, size);
    } else {
        snprintf(out, size, "%d%s", i / cols, suffix);
    }
}
