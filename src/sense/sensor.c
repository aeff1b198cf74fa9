/* SPDX-License-Identifier: Apache-2.0 */
/* The sensor kernel. Spatial vectors are (rotation, translation) at the com of the tree, in world
   axes; a sensor moves them to its own point and, for sites, into its own axes. */
#include "base/lane.h"

#include "base/det.h"
#include "math/rot.h"
#include "sense/inside.h"
#include "sense/sense.h"

sti__sense_kernel STI_K(sense);

#define VEC(array, i) ((const vreal *)(array) + (i))

/* ---- frames ---------------------------------------------------------------------------------- */

typedef struct frame {
    int body;               /* that carries it */
    const vreal *pos, *mat; /* in the world */
} frame;

static frame frame_of(const sti_state *s, int type, int id) {
    const sti_model *m = s->model;
    switch (type) {
    case STI_OBJ_BODY: return (frame){id, VEC(s->xipos, 3 * id), VEC(s->ximat, 9 * id)};
    case STI_OBJ_GEOM:
        return (frame){m->geom_bodyid[id], VEC(s->geom_xpos, 3 * id), VEC(s->geom_xmat, 9 * id)};
    case STI_OBJ_SITE:
        return (frame){m->site_bodyid[id], VEC(s->site_xpos, 3 * id), VEC(s->site_xmat, 9 * id)};
    case STI_OBJ_CAMERA:
        return (frame){m->cam_bodyid[id], VEC(s->cam_xpos, 3 * id), VEC(s->cam_xmat, 9 * id)};
    default: return (frame){id, VEC(s->xpos, 3 * id), VEC(s->xmat, 9 * id)};
    }
}

static frame object_frame(const sti_state *s, int i) {
    return frame_of(s, s->model->sensor_objtype[i], s->model->sensor_objid[i]);
}
static frame reference_frame(const sti_state *s, int i) {
    return frame_of(s, s->model->sensor_reftype[i], s->model->sensor_refid[i]);
}

/* Orientation of an object as a quaternion: its body's times its own. */
static void frame_quat(const sti_state *s, int type, int id, vreal quat[4]) {
    int body = frame_of(s, type, id).body;
    vreal own[4];
    quat_identity(own);
    for (int k = 0; k < 4; k++) switch (type) {
        case STI_OBJ_BODY: own[k] = PAR(s, body_iquat, 4 * id + k); break;
        case STI_OBJ_GEOM: own[k] = PAR(s, geom_quat, 4 * id + k); break;
        case STI_OBJ_SITE: own[k] = PAR(s, site_quat, 4 * id + k); break;
        case STI_OBJ_CAMERA: own[k] = PAR(s, cam_quat, 4 * id + k); break;
        default: break;
        }
    quat_mul(quat, VEC(s->xquat, 4 * body), own);
}

/* ---- position ------------------------------------------------------------------------------- */

/* Relative to the reference frame, if there is one. */
static void sense_framepos(const sti_state *s, int i, vreal *out) {
    frame f = object_frame(s, i);
    v3_copy(out, f.pos);
    if (s->model->sensor_refid[i] < 0) return;
    frame ref = reference_frame(s, i);
    vreal d[3];
    v3_sub(d, f.pos, ref.pos);
    m3_mul_vec_t(out, ref.mat, d);
}

static void sense_frameaxis(const sti_state *s, int i, int axis, vreal *out) {
    frame f = object_frame(s, i);
    vreal a[3] = {f.mat[axis], f.mat[3 + axis], f.mat[6 + axis]};
    v3_copy(out, a);
    if (s->model->sensor_refid[i] >= 0) m3_mul_vec_t(out, reference_frame(s, i).mat, a);
}

static void sense_framequat(const sti_state *s, int i, vreal *out) {
    const sti_model *m = s->model;
    frame_quat(s, m->sensor_objtype[i], m->sensor_objid[i], out);
    if (m->sensor_refid[i] < 0) return;
    vreal ref[4];
    frame_quat(s, m->sensor_reftype[i], m->sensor_refid[i], ref);
    quat_conj(ref, ref);
    quat_mul(out, ref, out);
}

/* Pixel coordinates of a site in a camera's image: pinhole at the image's centre, z backwards. */
static void sense_camprojection(const sti_state *s, int i, vreal *out) {
    const sti_model *m = s->model;
    int cam = m->sensor_refid[i];
    const int *res = m->cam_resolution + 2 * cam;
    const float *size = m->cam_sensorsize + 2 * cam, *intrinsic = m->cam_intrinsic + 4 * cam;
    double half = m->cam_fovy[cam] * (3.14159265358979323846 / 360);
    double fx = 0.5 / sti__tan(half) * res[1], fy = fx;
    if (size[0] > 0 && size[1] > 0) {
        fx = intrinsic[0] / size[0] * (float)res[0];
        fy = intrinsic[1] / size[1] * (float)res[1];
    }
    frame eye = reference_frame(s, i);
    vreal d[3], p[3];
    v3_sub(d, object_frame(s, i).pos, eye.pos);
    m3_mul_vec_t(p, eye.mat, d);
    vreal tiny = v_select(v_lt(p[2], v_set(0)), v_set(-1e-15), v_set(1e-15));
    vreal depth = v_select(v_lt(v_abs(p[2]), v_set(1e-15)), tiny, p[2]);
    out[0] = v_set(-fx) * p[0] / depth + v_set(0.5 * res[0]);
    out[1] = v_set(fy) * p[1] / depth + v_set(0.5 * res[1]);
}

static void sense_insidesite(const sti_state *s, int i, vreal *out) {
    int site = s->model->sensor_refid[i];
    frame f = reference_frame(s, i);
    vreal d[3], p[3];
    v3_sub(d, object_frame(s, i).pos, f.pos);
    m3_mul_vec_t(p, f.mat, d);
    out[0] = sti__inside(s->model->site_type[site], s->model->site_size + 3 * site, p);
}

/* Of an actuator: one number, of a servo for orientations three. */
static void sense_outputs(const sti_state *s, int i, const double *of, vreal *out) {
    int first = s->model->actuator_outadr[s->model->sensor_objid[i]];
    for (int k = 0; k < s->model->sensor_dim[i]; k++) out[k] = *VEC(of, first + k);
}

static void sense_magnetometer(const sti_state *s, int i, vreal *out) {
    vreal b[3] = {v_set(s->opt.magnetic[0]), v_set(s->opt.magnetic[1]), v_set(s->opt.magnetic[2])};
    m3_mul_vec_t(out, object_frame(s, i).mat, b);
}

static void sense_position(const sti_state *s, int i, vreal *out) {
    const sti_model *m = s->model;
    int id = m->sensor_objid[i], type = m->sensor_type[i];
    switch (type) {
    case STI_SENSOR_MAGNETOMETER: sense_magnetometer(s, i, out); break;
    case STI_SENSOR_CAMPROJECTION: sense_camprojection(s, i, out); break;
    case STI_SENSOR_JOINTPOS: out[0] = *VEC(s->qpos, m->jnt_qposadr[id]); break;
    case STI_SENSOR_TENDONPOS: out[0] = *VEC(s->ten_length, id); break;
    case STI_SENSOR_ACTUATORPOS: sense_outputs(s, i, s->actuator_length, out); break;
    case STI_SENSOR_BALLQUAT:
        quat_copy(out, VEC(s->qpos, m->jnt_qposadr[id]));
        quat_normalize(out);
        break;
    case STI_SENSOR_FRAMEPOS: sense_framepos(s, i, out); break;
    case STI_SENSOR_FRAMEQUAT: sense_framequat(s, i, out); break;
    case STI_SENSOR_FRAMEXAXIS:
    case STI_SENSOR_FRAMEYAXIS:
    case STI_SENSOR_FRAMEZAXIS: sense_frameaxis(s, i, type - STI_SENSOR_FRAMEXAXIS, out); break;
    case STI_SENSOR_SUBTREECOM: v3_copy(out, VEC(s->subtree_com, 3 * id)); break;
    case STI_SENSOR_INSIDESITE:
        if (!m->sensor_intprm[3 * i]) sense_insidesite(s, i, out);
        break; /* the others are there already */
    case STI_SENSOR_E_POTENTIAL: out[0] = *VEC(s->energy, 0); break;
    case STI_SENSOR_E_KINETIC: out[0] = *VEC(s->energy, 1); break;
    case STI_SENSOR_CLOCK: out[0] = *VEC(s->time, 0); break;
    default: break; /* user sensors, and those of other files, keep what was there */
    }
}

/* ---- velocity --------------------------------------------------------------------------------- */

/* From the com of the frame's tree, where spatial vectors live, to the frame. */
static void arm_of(const sti_state *s, frame f, vreal arm[3]) {
    v3_sub(arm, f.pos, VEC(s->subtree_com, 3 * s->model->body_rootid[f.body]));
}

/* A spatial motion vector of the frame's body, taken at the frame's origin. */
static void motion_at(const sti_state *s, frame f, const double *spatial, vreal ang[3], vreal lin[3]) {
    const vreal *v = VEC(spatial, 6 * f.body);
    vreal arm[3], turn[3];
    arm_of(s, f, arm);
    v3_copy(ang, v);
    v3_cross(turn, v, arm);
    v3_add(lin, v + 3, turn);
}

/* As a moving observer in the reference frame sees it. */
static void sense_framevel(const sti_state *s, int i, bool linear, vreal *out) {
    vreal ang[3], lin[3], ref_ang[3], ref_lin[3], d[3], turn[3];
    frame f = object_frame(s, i);
    motion_at(s, f, s->cvel, ang, lin);
    v3_copy(out, linear ? lin : ang);
    if (s->model->sensor_refid[i] < 0) return;
    frame ref = reference_frame(s, i);
    motion_at(s, ref, s->cvel, ref_ang, ref_lin);
    v3_sub(d, f.pos, ref.pos);
    v3_cross(turn, ref_ang, d);
    v3_sub(lin, lin, ref_lin);
    v3_sub(lin, lin, turn);
    v3_sub(ang, ang, ref_ang);
    m3_mul_vec_t(out, ref.mat, linear ? lin : ang);
}

static void sense_imu_velocity(const sti_state *s, int i, bool linear, vreal *out) {
    vreal ang[3], lin[3];
    frame f = object_frame(s, i);
    motion_at(s, f, s->cvel, ang, lin);
    m3_mul_vec_t(out, f.mat, linear ? lin : ang);
}

static void sense_velocity(const sti_state *s, int i, vreal *out) {
    const sti_model *m = s->model;
    int id = m->sensor_objid[i];
    switch (m->sensor_type[i]) {
    case STI_SENSOR_VELOCIMETER: sense_imu_velocity(s, i, true, out); break;
    case STI_SENSOR_GYRO: sense_imu_velocity(s, i, false, out); break;
    case STI_SENSOR_JOINTVEL: out[0] = *VEC(s->qvel, m->jnt_dofadr[id]); break;
    case STI_SENSOR_TENDONVEL: out[0] = *VEC(s->ten_velocity, id); break;
    case STI_SENSOR_ACTUATORVEL: sense_outputs(s, i, s->actuator_velocity, out); break;
    case STI_SENSOR_BALLANGVEL: v3_copy(out, VEC(s->qvel, m->jnt_dofadr[id])); break;
    case STI_SENSOR_FRAMELINVEL: sense_framevel(s, i, true, out); break;
    case STI_SENSOR_FRAMEANGVEL: sense_framevel(s, i, false, out); break;
    case STI_SENSOR_SUBTREELINVEL: v3_copy(out, VEC(s->subtree_linvel, 3 * id)); break;
    case STI_SENSOR_SUBTREEANGMOM: v3_copy(out, VEC(s->subtree_angmom, 3 * id)); break;
    default: break;
    }
}

/* ---- acceleration ----------------------------------------------------------------------------- */

/* Acceleration of the frame's origin, minus gravity (which cacc carries). */
static void acceleration_at(const sti_state *s, frame f, vreal ang[3], vreal lin[3]) {
    vreal w[3], v[3], turn[3];
    motion_at(s, f, s->cvel, w, v);
    motion_at(s, f, s->cacc, ang, lin);
    v3_cross(turn, w, v); /* spatial acceleration misses the centripetal part */
    v3_add(lin, lin, turn);
}

static void sense_frameacc(const sti_state *s, int i, bool linear, vreal *out) {
    vreal ang[3], lin[3];
    acceleration_at(s, object_frame(s, i), ang, lin);
    v3_copy(out, linear ? lin : ang);
}

static void sense_accelerometer(const sti_state *s, int i, vreal *out) {
    vreal ang[3], lin[3];
    frame f = object_frame(s, i);
    acceleration_at(s, f, ang, lin);
    m3_mul_vec_t(out, f.mat, lin);
}

/* What the body's parent exerts on the site's body, at the site. */
static void sense_force(const sti_state *s, int i, bool torque, vreal *out) {
    frame f = object_frame(s, i);
    const vreal *wrench = VEC(s->cfrc_int, 6 * f.body);
    vreal arm[3], turn[3], value[3];
    arm_of(s, f, arm);
    v3_cross(turn, arm, wrench + 3);
    v3_sub(value, wrench, turn);
    m3_mul_vec_t(out, f.mat, torque ? value : wrench + 3);
}

static void sense_tendonactfrc(const sti_state *s, int i, vreal *out) {
    const sti_model *m = s->model;
    out[0] = v_set(0);
    for (int u = 0; u < m->nactuator; u++)
        if (m->actuator_trntype[u] == STI_TRN_TENDON && m->actuator_trnid[2 * u] == m->sensor_objid[i])
            out[0] = out[0] + *VEC(s->actuator_force, m->actuator_outadr[u]);
}

static void sense_acceleration(const sti_state *s, int i, vreal *out) {
    const sti_model *m = s->model;
    int id = m->sensor_objid[i];
    switch (m->sensor_type[i]) {
    case STI_SENSOR_ACCELEROMETER: sense_accelerometer(s, i, out); break;
    case STI_SENSOR_FORCE: sense_force(s, i, false, out); break;
    case STI_SENSOR_TORQUE: sense_force(s, i, true, out); break;
    case STI_SENSOR_ACTUATORFRC: sense_outputs(s, i, s->actuator_force, out); break;
    case STI_SENSOR_JOINTACTFRC: out[0] = *VEC(s->qfrc_actuator, m->jnt_dofadr[id]); break;
    case STI_SENSOR_TENDONACTFRC: sense_tendonactfrc(s, i, out); break;
    case STI_SENSOR_FRAMELINACC: sense_frameacc(s, i, true, out); break;
    case STI_SENSOR_FRAMEANGACC: sense_frameacc(s, i, false, out); break;
    default: break;
    }
}

/* ---- the kernel ------------------------------------------------------------------------------- */

static void apply_cutoff(const sti_model *m, int i, vreal *out) {
    vreal cutoff = v_set(m->sensor_cutoff[i]);
    if (m->sensor_type[i] == STI_SENSOR_GEOMFROMTO) return; /* there it limits the distance */
    if (m->sensor_type[i] == STI_SENSOR_CONTACT) return;    /* forces, places and directions in one */
    for (int k = 0; k < m->sensor_dim[i]; k++) {
        if (m->sensor_datatype[i] == STI_DATA_REAL) out[k] = v_clamp(out[k], -cutoff, cutoff);
        if (m->sensor_datatype[i] == STI_DATA_POSITIVE) out[k] = v_min(out[k], cutoff);
    }
}

void STI_K(sense)(sti_state *s, int stage) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nsensor; i++) {
        if (m->sensor_needstage[i] != stage) continue;
        vreal *out = (vreal *)s->sensordata + m->sensor_adr[i];
        if (stage == STI__SENSE_POSITION) sense_position(s, i, out);
        else if (stage == STI__SENSE_VELOCITY) sense_velocity(s, i, out);
        else sense_acceleration(s, i, out);
        if (m->sensor_cutoff[i] > 0) apply_cutoff(m, i, out);
    }
}
