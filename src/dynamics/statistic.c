/* SPDX-License-Identifier: Apache-2.0 */
/* Typical sizes of a model: where it is, how large it and its bodies are. For viewers and scaling. */
#include "dynamics/reference.h"
#include "math/rot.h"

typedef struct box {
    double low[3], high[3];
} box;

static void grow(box *b, const double point[3], double radius) {
    for (int k = 0; k < 3; k++) {
        if (point[k] - radius < b->low[k]) b->low[k] = point[k] - radius;
        if (point[k] + radius > b->high[k]) b->high[k] = point[k] + radius;
    }
}

/* Planes have no bounding radius; they count by a tenth of their size, or a little if they have none. */
static double shown_radius(const sti_model *m, int geom) {
    const double *size = m->geom_size + 3 * geom;
    if (m->geom_rbound[geom] > 0) return m->geom_rbound[geom];
    if (m->geom_type[geom] != STI_GEOM_PLANE) return 0;
    double larger = size[0] > size[1] ? size[0] : size[1];
    return larger > 0 ? 0.1 * larger : 0.01;
}

static box bounds(const sti_model *m, const sti_state *s) {
    box b = {{1e10, 1e10, 1e10}, {-1e10, -1e10, -1e10}};
    for (int i = 1; i < m->nbody; i++) {
        grow(&b, s->xpos + 3 * i, 0);
        grow(&b, s->xipos + 3 * i, 0);
    }
    for (int i = 0; i < m->njnt; i++) grow(&b, s->xanchor + 3 * i, 0);
    for (int i = 0; i < m->nsite; i++) grow(&b, s->site_xpos + 3 * i, 0);
    for (int i = 0; i < m->nflexvert; i++) grow(&b, m->flexvert_pos0 + 3 * i, 0);
    for (int i = 0; i < m->ngeom; i++) grow(&b, s->geom_xpos + 3 * i, shown_radius(m, i));
    return b;
}

static double distance(const double a[3], const double b[3]) {
    double d[3];
    v3_sub(d, a, b);
    return v3_norm(d);
}

static void raise_to(double *x, double least) {
    if (*x < least) *x = least;
}

/* Mean over bodies of the largest distance from the centre of mass to a joint (its own or a child's)
   or to the far side of a geom; size: nbody numbers, at least as long as the state's scratch. */
static double mean_size(const sti_model *m, const sti_state *s, double *size) {
    double sum = 0;
    if (m->nbody < 2) return 0.2;
    for (int b = 0; b < m->nbody; b++) size[b] = 1e-5;
    for (int j = 0; j < m->njnt; j++) {
        int body = m->jnt_bodyid[j], parent = m->body_parentid[body];
        raise_to(&size[body], distance(s->xipos + 3 * body, s->xanchor + 3 * j));
        raise_to(&size[parent], distance(s->xipos + 3 * parent, s->xanchor + 3 * j));
    }
    for (int g = 0; g < m->ngeom; g++) {
        int body = m->geom_bodyid[g];
        if (m->geom_rbound[g] > 0) /* planes have no size */
            raise_to(&size[body], distance(s->xipos + 3 * body, s->geom_xpos + 3 * g) + m->geom_rbound[g]);
    }
    for (int b = 1; b < m->nbody; b++) sum += size[b];
    return sum / (m->nbody - 1);
}

static double mean_mass(const sti_model *m) {
    double sum = 0;
    for (int b = 1; b < m->nbody; b++) sum += m->body_mass[b];
    return m->nbody > 1 ? sum / (m->nbody - 1) : 1;
}

/* Mean diagonal of M, with the armature of tendons. */
static double mean_inertia(const sti_model *m, const sti_state *s) {
    double sum = 0;
    for (int i = 0; i < m->nv; i++) sum += s->M[m->M_rowadr[i] + m->M_rownnz[i] - 1];
    return m->nv ? sum / m->nv : 1;
}

void sti__open_statistic(sti_model *m, bool made) {
    double *const all[] = {&m->stat.meaninertia, &m->stat.meanmass,  &m->stat.meansize, &m->stat.extent,
                           &m->stat.center[0],   &m->stat.center[1], &m->stat.center[2]};
    if (!made) m->stat_given = 0;
    for (int i = 0; i < STI__COUNT(all); i++)
        if (!made) m->stat_given |= (*all[i] == *all[i]) << i;
        else if (!(m->stat_given >> i & 1)) *all[i] = __builtin_nan("");
}

static void set_if_open(double *x, double value) {
    if (*x != *x) *x = value;
}

void sti__reference_statistic(sti_model *m, const sti_state *s) {
    box b = bounds(m, s);
    double size = mean_size(m, s, s->scratch), extent = 2;
    bool empty = b.low[0] > b.high[0];
    if (b.high[0] > b.low[0]) {
        extent = 1e-5;
        for (int k = 0; k < 3; k++) raise_to(&extent, b.high[k] - b.low[k]);
    }
    raise_to(&extent, 2 * size);
    for (int k = 0; k < 3; k++) set_if_open(&m->stat.center[k], empty ? 0 : 0.5 * (b.low[k] + b.high[k]));
    set_if_open(&m->stat.extent, extent);
    set_if_open(&m->stat.meansize, size);
    set_if_open(&m->stat.meanmass, mean_mass(m));
    set_if_open(&m->stat.meaninertia, mean_inertia(m, s));
}
