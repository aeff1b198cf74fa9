/* SPDX-License-Identifier: Apache-2.0 */
/* Which sensor kernel to run, and what it needs. */
#include "sense/sense.h"

#include "base/isa.h"

sti__sense_kernel sti__sense_w1, sti__sense_w8;
#ifdef STI_HAVE_ISA
sti__sense_kernel sti__sense_w1_avx2, sti__sense_w1_avx512, sti__sense_w8_avx512;
#endif

sti__sense_kernel *sti__sense_get(int lanes) {
#ifdef STI_HAVE_ISA
    if (lanes == 8 && sti__has_avx512()) return sti__sense_w8_avx512;
    if (lanes == 1 && sti__has_avx512vl()) return sti__sense_w1_avx512;
    if (lanes == 1 && sti__has_avx2()) return sti__sense_w1_avx2;
#endif
#ifndef STI_ONE_LANE
    if (lanes == 8) return sti__sense_w8;
#endif
    return sti__sense_w1;
}

static uint32_t wants_object(int type) {
    switch (type) {
    case STI_OBJ_GEOM: return STI__WANT_GEOM;
    case STI_OBJ_SITE: return STI__WANT_SITE;
    case STI_OBJ_CAMERA: return STI__WANT_CAMLIGHT;
    default: return 0;
    }
}

static uint32_t wants_sensor(int type) {
    switch (type) {
    case STI_SENSOR_ACCELEROMETER:
    case STI_SENSOR_FORCE:
    case STI_SENSOR_TORQUE:
    case STI_SENSOR_FRAMELINACC:
    case STI_SENSOR_FRAMEANGACC: return STI__WANT_RNEPOST;
    case STI_SENSOR_SUBTREELINVEL:
    case STI_SENSOR_SUBTREEANGMOM: return STI__WANT_SUBTREE;
    case STI_SENSOR_INSIDESITE: return STI__WANT_GEOM | STI__WANT_SITE;
    case STI_SENSOR_TACTILE:
    case STI_SENSOR_RANGEFINDER:
    case STI_SENSOR_GEOMDIST:
    case STI_SENSOR_GEOMNORMAL:
    case STI_SENSOR_GEOMFROMTO: return STI__WANT_GEOM;
    case STI_SENSOR_E_POTENTIAL:
    case STI_SENSOR_E_KINETIC: return STI__WANT_ENERGY;
    default: return 0;
    }
}

uint32_t sti__sense_wants(const sti_model *m) {
    uint32_t wants = 0;
    for (int i = 0; i < m->nsensor; i++) {
        wants |= wants_sensor(m->sensor_type[i]) | wants_object(m->sensor_objtype[i]);
        if (m->sensor_refid[i] >= 0) wants |= wants_object(m->sensor_reftype[i]);
    }
    return wants;
}
