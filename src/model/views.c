/* SPDX-License-Identifier: Apache-2.0 */
/* Cameras and lights. */
#include "base/det.h"
#include "math/rot.h"
#include "model/bodies.h"

#define PI 3.14159265358979323846

/* ---- cameras ------------------------------------------------------------------------------------------ */

/* A pair given in metres, or in pixels that the sensor's size turns into metres. */
static void metres_or_pixels(const sti_element *e, sti__aid metres, sti__aid pixels, const double sensor[2],
                             const double resolution[2], double out[2]) {
    double px[2] = {0, 0};
    sti__reals(e, metres, out, 2);
    sti__reals(e, pixels, px, 2);
    for (int i = 0; i < 2; i++)
        if (px[i] != 0 && resolution[i] > 0) out[i] = px[i] * sensor[i] / resolution[i];
}

static bool has_any(const sti_element *e, const sti__aid *attributes, int count) {
    for (int i = 0; i < count; i++)
        if (sti__has(e, attributes[i])) return true;
    return false;
}

static void fill_lens(sti__compiler *c, const sti_element *e, int k) {
    static const sti__aid lens[] = {STI_A_focal, STI_A_focalpixel, STI_A_principal, STI_A_principalpixel};
    sti_model *m = c->m;
    double sensor[2] = {0, 0}, resolution[2] = {1, 1}, focal[2] = {0, 0}, principal[2] = {0, 0};
    sti__reals(e, STI_A_sensorsize, sensor, 2);
    sti__reals(e, STI_A_resolution, resolution, 2);
    metres_or_pixels(e, STI_A_focal, STI_A_focalpixel, sensor, resolution, focal);
    metres_or_pixels(e, STI_A_principal, STI_A_principalpixel, sensor, resolution, principal);
    double fovy = sti__real(e, STI_A_fovy, 45);
    bool has_sensor = sensor[0] > 0 && sensor[1] > 0, perspective = sti__keyword(e, STI_A_projection, 0) == 0;
    /* MuJoCo takes this angle in single precision */
    if (has_sensor) fovy = 2 * (double)(float)sti__atan2((float)sensor[1] / 2, (float)focal[1]) * (180 / PI);
    else if (has_any(e, lens, STI__COUNT(lens)))
        sti__complain(c, e, STI_A_sensorsize, STI_VALUE, "focal and principal need it");
    else if (perspective && fovy >= 180) sti__complain(c, e, STI_A_fovy, STI_VALUE, "must be below 180");
    m->cam_fovy[k] = fovy;
    m->cam_projection[k] = !perspective;
    /* without a sensor the picture is at the near plane */
    double znear = sti__real(sti__setting(c->spec, STI_E_map, STI_A_znear), STI_A_znear, 0.01);
    const double plain[4] = {znear, znear, 0, 0}, real[4] = {focal[0], focal[1], principal[0], principal[1]};
    for (int i = 0; i < 4; i++) m->cam_intrinsic[4 * k + i] = (float)(has_sensor ? real : plain)[i];
    for (int i = 0; i < 2; i++) {
        m->cam_sensorsize[2 * k + i] = (float)sensor[i];
        m->cam_resolution[2 * k + i] = (int)resolution[i];
    }
}

static void fill_cameras(sti__compiler *c) {
    sti_model *m = c->m;
    for (int k = 0; k < m->ncam; k++) {
        const sti_element *e = sti__object(c, STI_OBJ_CAMERA, k);
        m->cam_mode[k] = sti__keyword(e, STI_A_mode, STI_MODE_FIXED);
        m->cam_targetbodyid[k] = sti__reference(c, e, STI_A_target, STI_OBJ_BODY);
        sti__read_pose(c, e, m->cam_pos + 3 * k, m->cam_quat + 4 * k);
        fill_lens(c, e, k);
    }
}

/* ---- lights ------------------------------------------------------------------------------------------- */

static void fill_colour(const sti_element *e, sti__aid attribute, float *out) {
    double rgb[3] = {0, 0, 0};
    sti__reals(e, attribute, rgb, 3);
    for (int i = 0; i < 3; i++) out[i] = (float)rgb[i];
}

static void fill_beam(sti__compiler *c, const sti_element *e, int k) {
    sti_model *m = c->m;
    double *pos = m->light_pos + 3 * k, *dir = m->light_dir + 3 * k, frame_pos[3], frame_quat[4];
    sti__reals(e, STI_A_pos, pos, 3);
    sti__reals(e, STI_A_dir, dir, 3);
    if (v3_norm(dir) < STI__TINY) {
        sti__complain(c, e, STI_A_dir, STI_VALUE, "the direction cannot be zero");
        return;
    }
    v3_normalize(dir);
    if (!sti__frame_pose(c, e, frame_pos, frame_quat)) return;
    quat_rotate(pos, frame_quat, pos);
    v3_add(pos, frame_pos, pos);
    quat_rotate(dir, frame_quat, dir);
}

static void fill_lights(sti__compiler *c) {
    sti_model *m = c->m;
    for (int k = 0; k < m->nlight; k++) {
        const sti_element *e = sti__object(c, STI_OBJ_LIGHT, k);
        m->light_mode[k] = sti__keyword(e, STI_A_mode, STI_MODE_FIXED);
        m->light_targetbodyid[k] = sti__reference(c, e, STI_A_target, STI_OBJ_BODY);
        m->light_directional[k] =
            sti__keyword(e, STI_A_type, 0) == 1 || sti__keyword(e, STI_A_directional, 0) == 1;
        m->light_castshadow[k] = sti__keyword(e, STI_A_castshadow, 1);
        m->light_active[k] = sti__keyword(e, STI_A_active, 1);
        fill_beam(c, e, k);
        fill_colour(e, STI_A_ambient, m->light_ambient + 3 * k);
        fill_colour(e, STI_A_diffuse, m->light_diffuse + 3 * k);
        fill_colour(e, STI_A_specular, m->light_specular + 3 * k);
    }
}

void sti__fill_views(sti__compiler *c) {
    fill_cameras(c);
    fill_lights(c);
}
