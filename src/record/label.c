/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of fields, and labels and units of their columns. */
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

/* "name"; for the nameless "jointpos_elbow", or "clock30" where the object has no name either. */
static void sensor_label(const sti_model *m, int i, char *out, size_t size) {
    static const char *const tags[] = {
#define X(id, text, stage) text,
        STI_SENSORS(X)
#undef X
    };
    char suffix[16] = "";
    int id = owner(m->sensor_adr, m->nsensor, i), type = m->sensor_objtype[id], on = m->sensor_objid[id];
    if (m->sensor_dim[id] > 1) snprintf(suffix, sizeof suffix, "_%d", i - m->sensor_adr[id]);
    const char *tag = tags[m->sensor_type[id]], *name = "";
    if (on >= 0) name = sti_model_name(m, (sti_object)type, on);
    if (*sti_model_name(m, STI_OBJ_SENSOR, id) || !*name)
        object_label(m, STI_OBJ_SENSOR, tag, id, suffix, out, size);
    else snprintf(out, size, "%s_%s%s", tag, name, suffix);
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
        for (id = 0; id + 1 < m->nactuator && m->actuator_outadr[id + 1] <= i;) id++;
        if (m->actuator_outnum[id] > 1) snprintf(suffix, sizeof suffix, "_%d", i - m->actuator_outadr[id]);
        object_label(m, STI_OBJ_ACTUATOR, "actuator", id, suffix, out, size);
    } else if (rows == m->nbody) {
        object_label(m, STI_OBJ_BODY, "body", i / cols, suffix, out, size);
    } else {
        snprintf(out, size, "%d%s", i / cols, suffix);
    }
}

/* ---- units ------------------------------------------------------------------------------------------------------ */

/* Of the n-th derivative of a coordinate, and of its force (n = 3); turns: an angle. */
static const char *motion_unit(bool turns, int n) {
    static const char *const unit[2][4] = {{"m", "m/s", "m/s^2", "N"}, {"rad", "rad/s", "rad/s^2", "N m"}};
    return unit[turns][n];
}

static bool is_hinge(const sti_model *m, int joint) { return m->jnt_type[joint] == STI_JOINT_HINGE; }

static const char *position_unit(const sti_model *m, int i) {
    int joint = owner(m->jnt_qposadr, m->njnt, i), k = i - m->jnt_qposadr[joint], type = m->jnt_type[joint];
    if (type == STI_JOINT_BALL || (type == STI_JOINT_FREE && k >= 3)) return ""; /* a quaternion */
    return motion_unit(type == STI_JOINT_HINGE, 0);
}

static const char *dof_unit(const sti_model *m, int dof, int n) {
    int joint = m->dof_jntid[dof], type = m->jnt_type[joint];
    bool turns = type == STI_JOINT_BALL || type == STI_JOINT_HINGE ||
                 (type == STI_JOINT_FREE && dof - m->jnt_dofadr[joint] >= 3);
    return motion_unit(turns, n);
}

static const char *sensor_unit(const sti_model *m, int i) {
    int id = owner(m->sensor_adr, m->nsensor, i);
    switch (m->sensor_type[id]) {
    case STI_SENSOR_JOINTPOS:
    case STI_SENSOR_JOINTLIMITPOS: return motion_unit(is_hinge(m, m->sensor_objid[id]), 0);
    case STI_SENSOR_JOINTVEL:
    case STI_SENSOR_JOINTLIMITVEL: return motion_unit(is_hinge(m, m->sensor_objid[id]), 1);
    case STI_SENSOR_JOINTACTFRC:
    case STI_SENSOR_JOINTLIMITFRC: return motion_unit(is_hinge(m, m->sensor_objid[id]), 3);
    case STI_SENSOR_FRAMEPOS:
    case STI_SENSOR_SUBTREECOM:
    case STI_SENSOR_RANGEFINDER:
    case STI_SENSOR_GEOMDIST:
    case STI_SENSOR_GEOMFROMTO:
    case STI_SENSOR_TENDONPOS:
    case STI_SENSOR_TENDONLIMITPOS: return "m";
    case STI_SENSOR_VELOCIMETER:
    case STI_SENSOR_FRAMELINVEL:
    case STI_SENSOR_SUBTREELINVEL:
    case STI_SENSOR_TENDONVEL:
    case STI_SENSOR_TENDONLIMITVEL: return "m/s";
    case STI_SENSOR_ACCELEROMETER:
    case STI_SENSOR_FRAMELINACC: return "m/s^2";
    case STI_SENSOR_GYRO:
    case STI_SENSOR_BALLANGVEL:
    case STI_SENSOR_FRAMEANGVEL: return "rad/s";
    case STI_SENSOR_FRAMEANGACC: return "rad/s^2";
    case STI_SENSOR_FORCE:
    case STI_SENSOR_TOUCH:
    case STI_SENSOR_TENDONACTFRC:
    case STI_SENSOR_TENDONLIMITFRC: return "N";
    case STI_SENSOR_TORQUE: return "N m";
    case STI_SENSOR_SUBTREEANGMOM: return "kg m^2/s";
    case STI_SENSOR_E_POTENTIAL:
    case STI_SENSOR_E_KINETIC: return "J";
    case STI_SENSOR_CLOCK: return "s";
    default: return "";
    }
}

const char *sti__field_unit(const sti_model *m, sti_field field, int i) {
    switch (field) {
    case STI_FIELD_time: return "s";
    case STI_FIELD_energy: return "J";
    case STI_FIELD_qpos: return position_unit(m, i);
    case STI_FIELD_qvel: return dof_unit(m, i, 1);
    case STI_FIELD_qacc: return dof_unit(m, i, 2);
    case STI_FIELD_qfrc_applied:
    case STI_FIELD_qfrc_actuator:
    case STI_FIELD_qfrc_constraint: return dof_unit(m, i, 3);
    case STI_FIELD_sensordata: return sensor_unit(m, i);
    case STI_FIELD_xpos:
    case STI_FIELD_site_xpos:
    case STI_FIELD_flexvert_xpos: return "m";
    case STI_FIELD_flexvert_xvel: return "m/s";
    default: return "";
    }
}
