/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to write an orientation in MJCF, and the composition of frames. */
#include "math/euler.h"
#include "model/pose.h"

bool sti__quat_from_z(double quat[4], const double axis[3]) {
    double z[3] = {axis[0], axis[1], axis[2]};
    if (v3_norm(z) < STI__TINY) return false;
    v3_normalize(z);
    double turn[3] = {-z[1], z[0], 0}, s = v3_norm(turn); /* z-axis cross axis */
    if (s < 1e-10) {
        turn[0] = 1;
        turn[1] = 0;
    } else v3_scale(turn, turn, 1 / s);
    quat_about(quat, turn, sti__atan2(s, z[2]));
    return true;
}

/* The largest component first, so that no division is by something small. */
void sti__quat_from_axes(double q[4], const double x[3], const double y[3], const double z[3]) {
    double d[4] = {x[0] + y[1] + z[2], x[0] - y[1] - z[2], y[1] - x[0] - z[2], z[2] - x[0] - y[1]};
    double a = y[2] - z[1], b = z[0] - x[2], c = x[1] - y[0];
    double e = x[1] + y[0], f = x[2] + z[0], g = y[2] + z[1];
    int big = d[0] > 0 ? 0 : x[0] > y[1] && x[0] > z[2] ? 1 : y[1] > z[2] ? 2 : 3;
    const double other[4][4] = {{0, a, b, c}, {a, 0, e, f}, {b, e, 0, g}, {c, f, g, 0}};
    double r = 0.5 * sqrt(1 + d[big]);
    for (int i = 0; i < 4; i++) q[i] = i == big ? r : 0.25 * other[big][i] / r;
    quat_normalize(q);
}

/* ---- alternatives ------------------------------------------------------------------------------------ */

static bool from_quat(sti__compiler *c, const sti_element *e, double quat[4]) {
    sti__reals(e, STI_A_quat, quat, 4);
    if (sqrt(quat[0] * quat[0] + quat[1] * quat[1] + quat[2] * quat[2] + quat[3] * quat[3]) < STI__MINVAL)
        return sti__complain(c, e, STI_A_quat, STI_VALUE, "a quaternion cannot be zero");
    quat_normalize(quat);
    return true;
}

static bool from_axisangle(sti__compiler *c, const sti_element *e, double quat[4]) {
    double v[4] = {0};
    sti__reals(e, STI_A_axisangle, v, 4);
    if (v3_norm(v) < STI__TINY)
        return sti__complain(c, e, STI_A_axisangle, STI_VALUE, "the axis cannot be zero");
    v3_normalize(v);
    quat_about(quat, v, sti__angle(c, v[3]));
    return true;
}

static bool from_euler(sti__compiler *c, const sti_element *e, double quat[4]) {
    double v[3] = {0};
    sti__reals(e, STI_A_euler, v, 3);
    for (int i = 0; i < 3; i++) v[i] = sti__angle(c, v[i]);
    quat_euler(quat, c->eulerseq, v);
    return true;
}

static bool from_xyaxes(sti__compiler *c, const sti_element *e, double quat[4]) {
    double v[6] = {0}, *x = v, *y = v + 3, z[3];
    sti__reals(e, STI_A_xyaxes, v, 6);
    if (v3_norm(x) < STI__TINY)
        return sti__complain(c, e, STI_A_xyaxes, STI_VALUE, "the x axis cannot be zero");
    v3_normalize(x);
    v3_add_scaled(y, x, -v3_dot(x, y));
    if (v3_norm(y) < STI__TINY)
        return sti__complain(c, e, STI_A_xyaxes, STI_VALUE, "the y axis cannot be zero or along x");
    v3_normalize(y);
    v3_cross(z, x, y);
    sti__quat_from_axes(quat, x, y, z);
    return true;
}

static bool from_zaxis(sti__compiler *c, const sti_element *e, double quat[4]) {
    double v[3] = {0};
    sti__reals(e, STI_A_zaxis, v, 3);
    return sti__quat_from_z(quat, v) ||
           sti__complain(c, e, STI_A_zaxis, STI_VALUE, "the z axis cannot be zero");
}

typedef bool (*reader)(sti__compiler *c, const sti_element *e, double quat[4]);
static const struct {
    sti__aid attribute;
    reader read;
} ways[] = {{STI_A_quat, from_quat},
            {STI_A_axisangle, from_axisangle},
            {STI_A_euler, from_euler},
            {STI_A_xyaxes, from_xyaxes},
            {STI_A_zaxis, from_zaxis}};

/* The one way that an element or default itself uses; -1 if none. */
static int way_of(sti__compiler *c, const sti_element *e) {
    int way = -1;
    for (int i = 0; i < STI__COUNT(ways); i++) {
        if (!sti__has_own(e, ways[i].attribute)) continue;
        if (way >= 0)
            sti__complain(c, e, ways[i].attribute, STI_VALUE, "the orientation is given more than once");
        way = i;
    }
    return way;
}

/* The innermost setting counts, whatever its way. */
bool sti__orientation(sti__compiler *c, const sti_element *e, double quat[4]) {
    quat_identity(quat);
    int way = way_of(c, e);
    const sti_element *d = NULL;
    while (way < 0 && (d = sti__default_next(e, d))) way = way_of(c, d);
    return way < 0 || ways[way].read(c, e, quat);
}

/* ---- frames ------------------------------------------------------------------------------------------- */

void sti__pose_compose(const double frame_pos[3], const double frame_quat[4], double pos[3], double quat[4]) {
    quat_rotate(pos, frame_quat, pos);
    v3_add(pos, frame_pos, pos);
    quat_mul(quat, frame_quat, quat);
    quat_normalize(quat);
}

bool sti__own_pose(sti__compiler *c, const sti_element *e, double pos[3], double quat[4]) {
    v3_zero(pos);
    sti__reals(e, STI_A_pos, pos, 3);
    return sti__orientation(c, e, quat);
}

bool sti__frame_pose(sti__compiler *c, const sti_element *e, double pos[3], double quat[4]) {
    bool any = false;
    v3_zero(pos);
    quat_identity(quat);
    for (e = sti_element_parent(e); e && sti__is_frame(c, e); e = sti_element_parent(e)) {
        double p[3], q[4];
        if (!sti__own_pose(c, e, p, q)) continue;
        sti__pose_compose(p, q, pos, quat);
        any = true;
    }
    return any;
}

bool sti__read_pose(sti__compiler *c, const sti_element *e, double pos[3], double quat[4]) {
    double frame_pos[3], frame_quat[4];
    bool ok = sti__own_pose(c, e, pos, quat);
    if (sti__frame_pose(c, e, frame_pos, frame_quat)) sti__pose_compose(frame_pos, frame_quat, pos, quat);
    return ok;
}
