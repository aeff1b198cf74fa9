/* SPDX-License-Identifier: Apache-2.0 */
#include "contact/patch.h"
#include "collide/collide.h"
#include "contact/jacobian.h"
#include <math.h>
#include <string.h>

#define PI 3.14159265358979323846
/* A contact that feels less inverse mass (1/kg) moves nothing. */
#define LEAST_WEIGHT 1e-15

void sti__patch_frame(const sti__touch *p, double frame[9]) {
    v3_copy(frame, p->normal);
    sti__contact_frame(frame);
}

static int body_of(const sti__fields *f, const sti_model *m, int body) {
    return f->geom[body] < 0 ? 0 : m->geom_bodyid[f->geom[body]];
}

/* The vertices that a patch touches, ascending, with their share in its velocity; two tets of a body may have some in
   common. */
typedef struct corner {
    int vert;
    double share;
} corner;

static int add_corner(corner *list, int count, int vert, double share) {
    int at = count;
    for (int k = 0; k < count; k++)
        if (list[k].vert == vert) return list[k].share += share, count;
    for (; at > 0 && list[at - 1].vert > vert; at--) list[at] = list[at - 1];
    list[at] = (corner){vert, share};
    return count + 1;
}

static int find_corners(const sti__fields *f, const sti_model *m, const sti__touch *p, corner list[8]) {
    int count = 0;
    for (int side = 0; side < 2; side++) {
        int flex = side ? p->b : p->a;
        if (f->geom[flex] >= 0) continue;
        const int *tet = m->flex_elem + 4 * ((size_t)m->flex_elemadr[flex] + (size_t)p->element[side]);
        for (int k = 0; k < 4; k++)
            count =
                add_corner(list, count, m->flex_vertadr[flex] + tet[k], (side ? 1 : -1) * p->weight[side][k]);
    }
    return count;
}

/* The velocity of b against a at the point. */
static bool fill_jacobian(sti__assembly *as, const sti_state *s, const sti__fields *f, const sti__touch *p,
                          const double *frame, int dim) {
    const sti_model *m = s->model;
    corner corners[8];
    int a = body_of(f, m, p->a), b = body_of(f, m, p->b), count = find_corners(f, m, p, corners);
    int trees = sti__dofs_of_bodies(m, a, b, as->list), n = trees + 3 * count;
    for (int k = 0; k < 3 * count; k++) as->list[trees + k] = m->nv + 3 * corners[k / 3].vert + k % 3;
    double *J = n ? sti__block_open(as, dim, as->list, n) : NULL;
    if (!J) return false;
    sti__add_point(s, a, p->pos, frame, dim, -1, as->list, n, J);
    sti__add_point(s, b, p->pos, frame, dim, 1, as->list, n, J);
    for (int i = 0; i < dim; i++)
        for (int k = 0; k < 3 * count; k++)
            J[i * n + trees + k] = corners[k / 3].share * frame[3 * i + k % 3];
    return true;
}

static void add_touch(sti__assembly *as, const sti_state *s, const sti__fields *f, const sti__touch *p,
                      int id) {
    double frame[9], W[9], R[3], vhat[3] = {0}, h = s->opt.timestep, near = s->opt.beta * h / PI;
    sti__patch_law law = sti__fields_law(f, s, p);
    sti_row row = {.kind = STI_ROW_CONE, .dim = law.dim, .mu = {law.mu, law.mu}};
    sti__patch_frame(p, frame);
    if (!(p->stiffness > 0) || !fill_jacobian(as, s, f, p, frame, law.dim)) return;
    sti__block_delassus(as, s, W);
    double w = sti__block_weight(law.dim, W);
    if (!(w > LEAST_WEIGHT)) return;
    sti__softness soft = {h, p->stiffness, law.dissipation >= 0 ? law.dissipation : near, s->opt.beta,
                          s->opt.sigma};
    bool clamped = sti__regularise(&soft, law.dim, row.mu, w, p->dist, R, vhat);
    as->clamped += clamped && p->stiffness < INFINITY;
    if (clamped && vhat[0] > s->opt.push) vhat[0] = s->opt.push;
    for (int i = 1; s->opt.memory && i < law.dim; i++)
        R[i] = fmax(R[i], R[0]); /* anchors do not creep: Mindlin's stiffness */
    sti__block_info info = {STI__FROM_CONTACT, id, p->dist, near, clamped ? INFINITY : p->stiffness, w};
    sti__block_close(as, &row, R, vhat, &info, p->feature);
    memcpy(as->memory[as->nblock - 1].frame, frame, sizeof frame);
}

void sti__patch_rows(sti__assembly *as, const sti_state *s, const sti__fields *f, int first) {
    for (int i = 0; i < f->ntouch && !as->failed; i++) add_touch(as, s, f, &f->touch[i], first + i);
}
