/* SPDX-License-Identifier: Apache-2.0 */
#include "collide/middles.h"

#include <string.h>

static size_t lay_out(sti__middles *m, char *base) {
    size_t c = (size_t)m->count, n = (size_t)m->nvert + c, used = 0;
    const struct {
        void *place;
        size_t bytes;
    } all[] = {{&m->node, sti__size(3, n, sizeof(double))},
               {&m->pressure, sti__size(n, sizeof(double))},
               {&m->tet, sti__size(4, sti__add(m->ntet, sti__size(4, c)), sizeof(int))},
               {&m->owner, sti__size(c, sizeof(int))}};
    for (int i = 0; i < STI__COUNT(all); i++) {
        void *at = base ? base + used : NULL;
        memcpy(all[i].place, &at, sizeof at);
        used = sti__add(used, sti__padded(all[i].bytes));
    }
    return used;
}

static void cut(sti__middles *m, int i, int tet, double pressure) {
    const int *whole = m->tet + 4 * (size_t)tet;
    int *part = m->tet + 4 * ((size_t)m->ntet + 4 * (size_t)i);
    m->owner[i] = tet;
    m->pressure[m->nvert + i] = pressure;
    for (int k = 0; k < 4; k++, part += 4) {
        memcpy(part, whole, 4 * sizeof *part);
        part[k] = m->nvert + i;
    }
}

bool sti__middles_create(sti__middles *m, const sti_model *model, int flex, const sti_allocator *allocator) {
    const double *middle = model->flexelem_pressure + model->flex_elemadr[flex];
    *m = (sti__middles){.nvert = model->flex_vertnum[flex], .ntet = model->flex_elemnum[flex]};
    for (int t = 0; t < m->ntet; t++) m->count += middle[t] > 0;
    if (m->count == 0) return true;
    m->bytes = lay_out(m, NULL);
    m->block = sti__alloc_aligned(allocator, m->bytes);
    if (!m->block) return false;
    m->allocator = allocator;
    lay_out(m, m->block);
    memcpy(m->tet, model->flex_elem + 4 * (size_t)model->flex_elemadr[flex],
           4 * sizeof(int) * (size_t)m->ntet);
    memcpy(m->pressure, model->flexvert_pressure + model->flex_vertadr[flex],
           sizeof(double) * (size_t)m->nvert);
    for (int t = 0, i = 0; t < m->ntet; t++)
        if (middle[t] > 0) cut(m, i++, t, middle[t]);
    sti__middles_place(m, model->flexvert_pos0 + 3 * (size_t)model->flex_vertadr[flex]);
    return true;
}

void sti__middles_free(sti__middles *m) {
    if (m->block) sti__free_aligned(m->allocator, m->block, m->bytes);
    *m = (sti__middles){0};
}

void sti__middles_place(sti__middles *m, const double *x) {
    if (m->count == 0) return;
    memcpy(m->node, x, 3 * sizeof(double) * (size_t)m->nvert);
    for (int i = 0; i < m->count; i++) {
        const int *t = m->tet + 4 * (size_t)m->owner[i];
        for (int k = 0; k < 3; k++)
            m->node[3 * ((size_t)m->nvert + (size_t)i) + (size_t)k] =
                0.25 * (x[3 * t[0] + k] + x[3 * t[1] + k] + x[3 * t[2] + k] + x[3 * t[3] + k]);
    }
}

void sti__middles_own(const sti__middles *m, int *tet, double weight[4]) {
    if (*tet < m->ntet) return;
    int part = *tet - m->ntet, k = part % 4;
    double share = weight[k] / 4;
    *tet = m->owner[part / 4];
    weight[k] = 0;
    for (int i = 0; i < 4; i++) weight[i] += share;
}
