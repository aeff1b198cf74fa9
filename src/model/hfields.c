/* SPDX-License-Identifier: Apache-2.0 */
/* Height fields: a grid of heights from 0 to 1, first row at -y, from numbers in the scene, from a PNG picture or
   from MuJoCo's binary file (int32 nrow, int32 ncol, float32 heights). */
#include "model/bodies.h"

#include "mesh/png.h"

#include <math.h>
#include <string.h>

struct sti__terrain {
    int nrow, ncol;
    float *height; /* scratch; NULL = flat */
};

#define MOST_HEIGHTS (1 << 26) /* of all height fields: 8192 by 8192; about a second to decode */

/* Whether there is room for its heights beside those of the ones before. */
static bool fits(sti__compiler *c, const sti_element *e, sti__aid attribute, const struct sti__terrain *t) {
    if ((int64_t)t->nrow * t->ncol <= MOST_HEIGHTS - c->m->nhfielddata) return true;
    return sti__complain(c, e, attribute, STI_LIMIT, "%d by %d heights are too many: a scene has at most %d",
                         t->nrow, t->ncol, MOST_HEIGHTS);
}

/* Pictures are seen from above: the first row is the far one. */
static bool decode_png(sti__compiler *c, const sti_element *e, const void *data, size_t size,
                       struct sti__terrain *t) {
    const char *why;
    size_t work = sti__png_work(data, size, &t->ncol, &t->nrow, &why);
    if (work == 0) return sti__complain(c, e, STI_A_file, STI_FILE, "bad PNG file: %s", why);
    if (!fits(c, e, STI_A_file, t)) return false;
    size_t n = (size_t)t->nrow * (size_t)t->ncol, nc = (size_t)t->ncol;
    void *scratch = sti__scratch(c, work, 1);
    uint8_t *gray = scratch ? sti__scratch(c, n, 1) : NULL;
    t->height = gray ? sti__scratch(c, n, sizeof(float)) : NULL;
    if (!t->height) return false;
    if (!sti__png_gray(data, size, scratch, gray, &why))
        return sti__complain(c, e, STI_A_file, STI_FILE, "bad PNG file: %s", why);
    for (size_t i = 0; i < n; i++) t->height[i] = gray[((size_t)t->nrow - 1 - i / nc) * nc + i % nc];
    return true;
}

static bool decode(sti__compiler *c, const sti_element *e, const void *data, size_t size,
                   struct sti__terrain *t) {
    int32_t head[2];
    if (sti__is_png(data, size)) return decode_png(c, e, data, size, t);
    if (size < sizeof head) return sti__complain(c, e, STI_A_file, STI_FILE, "too short for a height field");
    memcpy(head, data, sizeof head);
    size_t room = (size - sizeof head) / sizeof(float);
    if (head[0] < 1 || head[1] < 1 || (size_t)head[0] > room || (size_t)head[1] != room / (size_t)head[0] ||
        (size_t)head[0] * (size_t)head[1] * sizeof(float) != size - sizeof head)
        return sti__complain(c, e, STI_A_file, STI_FILE, "its size does not fit its %d rows and %d columns",
                             (int)head[0], (int)head[1]);
    t->nrow = head[0];
    t->ncol = head[1];
    t->height = sti__scratch(c, room, sizeof(float));
    if (t->height) memcpy(t->height, (const char *)data + sizeof head, room * sizeof(float));
    return t->height != NULL;
}

static bool read_file(sti__compiler *c, const sti_element *e, struct sti__terrain *t) {
    void *data = NULL;
    size_t size = 0;
    if (!sti__read_named_file(c, e, &data, &size)) return false;
    bool good = decode(c, e, data, size, t);
    sti__free(sti__spec_allocator(c->spec), data, size);
    return good;
}

/* Numbers in the scene are written as one looks at them: the first row is the far one. */
static bool read_list(sti__compiler *c, const sti_element *e, struct sti__terrain *t) {
    int count = 0;
    const double *list = sti__list(e, STI_A_elevation, &count);
    if (!list || count == 0) return true;
    if ((int64_t)t->nrow * t->ncol != count)
        return sti__complain(c, e, STI_A_elevation, STI_VALUE, "must hold nrow * ncol numbers");
    t->height = sti__scratch(c, (size_t)count, sizeof(float));
    if (!t->height) return false;
    for (int r = 0; r < t->nrow; r++)
        for (int k = 0; k < t->ncol; k++)
            t->height[r * t->ncol + k] = (float)list[(t->nrow - 1 - r) * t->ncol + k];
    return true;
}

/* To 0..1. */
static bool normalise(sti__compiler *c, const sti_element *e, struct sti__terrain *t) {
    float low = INFINITY, high = -INFINITY;
    int count = t->height ? t->nrow * t->ncol : 0;
    for (int i = 0; i < count; i++) {
        if (!isfinite(t->height[i]))
            return sti__complain(c, e, STI_A_COUNT, STI_VALUE, "a height is not finite");
        low = fminf(low, t->height[i]);
        high = fmaxf(high, t->height[i]);
    }
    for (int i = 0; i < count; i++) {
        t->height[i] -= low;
        if (high > low) t->height[i] /= high - low;
    }
    return true;
}

static bool prepare(sti__compiler *c, const sti_element *e, struct sti__terrain *t) {
    const char *file = sti__text(e, STI_A_file);
    double size[4] = {0};
    sti__reals(e, STI_A_size, size, 4);
    for (int k = 0; k < 4; k++)
        if (!(size[k] > 0))
            return sti__complain(c, e, STI_A_size, STI_PHYSICS, "size %d must be positive", k + 1);
    t->nrow = sti__int(e, STI_A_nrow, 0);
    t->ncol = sti__int(e, STI_A_ncol, 0);
    if (file && !read_file(c, e, t)) return false;
    if (t->nrow < 2 || t->ncol < 2)
        return sti__complain(c, e, STI_A_nrow, STI_VALUE,
                             "a height field needs two rows and columns, or a file");
    return fits(c, e, file ? STI_A_file : STI_A_nrow, t) && (file || read_list(c, e, t)) &&
           normalise(c, e, t);
}

void sti__size_hfields(sti__compiler *c) {
    sti_model *m = c->m;
    c->terrain = sti__scratch(c, (size_t)m->nhfield, sizeof *c->terrain);
    for (int i = 0; c->terrain && i < m->nhfield; i++) {
        struct sti__terrain *t = c->terrain + i;
        const sti_element *e = sti__object(c, STI_OBJ_HFIELD, i);
        if (prepare(c, e, t))
            sti__add_to(c, e, STI_A_nrow, &m->nhfielddata, (size_t)t->nrow * (size_t)t->ncol, sizeof(float),
                        "heights");
    }
}

void sti__fill_hfields(sti__compiler *c) {
    sti_model *m = c->m;
    int at = 0;
    for (int i = 0; i < m->nhfield; i++) {
        const struct sti__terrain *t = c->terrain + i;
        int count = t->nrow * t->ncol;
        m->hfield_nrow[i] = t->nrow;
        m->hfield_ncol[i] = t->ncol;
        m->hfield_adr[i] = at;
        sti__reals(sti__object(c, STI_OBJ_HFIELD, i), STI_A_size, m->hfield_size + 4 * i, 4);
        if (t->height) memcpy(m->hfield_data + at, t->height, (size_t)count * sizeof(float));
        at += count;
    }
}

/* Its geom weighs as a box of half the heights. */
bool sti__place_hfield(sti__compiler *c, const sti_element *e, int g, double *radius) {
    sti_model *m = c->m;
    int id = sti__reference(c, e, STI_A_hfield, STI_OBJ_HFIELD);
    if (id < 0) {
        if (!sti__text(e, STI_A_hfield))
            sti__complain(c, e, STI_A_hfield, STI_REFERENCE, "a geom of type hfield needs a height field");
        return false;
    }
    const double *s = m->hfield_size + 4 * id;
    double *size = m->geom_size + 3 * g, high = s[2] > s[3] ? s[2] : s[3];
    m->geom_dataid[g] = id;
    size[0] = s[0];
    size[1] = s[1];
    size[2] = 0.25 * s[2] + 0.5 * s[3];
    *radius = sqrt(s[0] * s[0] + s[1] * s[1] + high * high);
    return true;
}
