/* SPDX-License-Identifier: Apache-2.0 */
/* Sensors of limits: distance from the limit less its margin, its rate and the force, where the limit acts. */
#include "contact/assemble.h"
#include "sense/sense.h"

/* Which row and which number of it; -1: no such sensor. */
static int source_of(int type) {
    switch (type) {
    case STI_SENSOR_JOINTLIMITPOS:
    case STI_SENSOR_JOINTLIMITVEL:
    case STI_SENSOR_JOINTLIMITFRC: return STI__FROM_LIMIT;
    case STI_SENSOR_TENDONLIMITPOS:
    case STI_SENSOR_TENDONLIMITVEL:
    case STI_SENSOR_TENDONLIMITFRC: return STI__FROM_TENDON_LIMIT;
    default: return -1;
    }
}

/* Rows are also made of limits that are only near; those count when they push. The lower limit comes first. */
static int find_row(const sti__assembly *rows, int source, int id) {
    for (int b = 0; b < rows->nblock; b++) {
        const sti__block_info *info = rows->info + b;
        if (info->source == source && info->id / 2 == id && (info->phi0 < 0 || rows->g[rows->first[b]] != 0))
            return b;
    }
    return -1;
}

static double rate_of(const sti__assembly *rows, int b, const double *qvel) {
    double sum = 0;
    for (int k = rows->jstart[rows->first[b]]; k < rows->jstart[rows->first[b] + 1]; k++)
        sum += rows->jvalue[k] * qvel[rows->dof[rows->jcol[k]]];
    return sum;
}

static double value_of(const sti__assembly *rows, const sti_state *s, int type, int b) {
    switch (type) {
    case STI_SENSOR_JOINTLIMITFRC:
    case STI_SENSOR_TENDONLIMITFRC: return rows->g[rows->first[b]] / s->opt.timestep;
    case STI_SENSOR_JOINTLIMITPOS:
    case STI_SENSOR_TENDONLIMITPOS: return rows->info[b].phi0 < 0 ? rows->info[b].phi0 : 0;
    default: return rows->info[b].phi0 < 0 ? rate_of(rows, b, s->qvel) : 0;
    }
}

void sti__sense_limits(const sti__assembly *rows, sti_state *s) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nsensor; i++) {
        int type = m->sensor_type[i], source = source_of(type);
        if (source < 0) continue;
        int b = find_row(rows, source, m->sensor_objid[i]);
        s->sensordata[m->sensor_adr[i]] = b < 0 ? 0 : value_of(rows, s, type, b);
    }
}
