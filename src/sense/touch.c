/* SPDX-License-Identifier: Apache-2.0 */
/* Touch sensors: normal forces of contacts of the site's body whose line, going out of the body, meets the site. */
#include "collide/shape.h"
#include "sense/sense.h"
#include <stiction/contact.h>
#include <string.h>

static sti__shape site_shape(const sti_state *s, int site) {
    const sti_model *m = s->model;
    sti__shape shape = {.type = m->site_type[site]};
    memcpy(shape.size, m->site_size + 3 * site, sizeof shape.size);
    memcpy(shape.pos, s->site_xpos + 3 * site, sizeof shape.pos);
    memcpy(shape.mat, s->site_xmat + 9 * site, sizeof shape.mat);
    return shape;
}

static double touch(const sti_state *s, int site, const sti_contact *contacts, int count) {
    int body = s->model->site_bodyid[site];
    sti__shape shape = site_shape(s, site);
    double sum = 0;
    for (int i = 0; i < count; i++) {
        const sti_contact *c = contacts + i;
        if ((c->body1 != body && c->body2 != body) || !(c->force[0] > 0)) continue;
        double sign = c->body1 == body ? 1 : -1;
        double out[3] = {sign * c->frame[0], sign * c->frame[1], sign * c->frame[2]};
        if (sti__ray_shape(&shape, c->pos, out, NULL) >= 0) sum += c->force[0];
    }
    return sum;
}

bool sti__sense_has_touch(const sti_model *m) {
    for (int i = 0; i < m->nsensor; i++)
        if (m->sensor_type[i] == STI_SENSOR_TOUCH) return true;
    return false;
}

void sti__sense_touch(const struct sti_contact *contacts, int count, sti_state *s) {
    const sti_model *m = s->model;
    for (int i = 0; i < m->nsensor; i++)
        if (m->sensor_type[i] == STI_SENSOR_TOUCH)
            s->sensordata[m->sensor_adr[i]] = touch(s, m->sensor_objid[i], contacts, count);
}
