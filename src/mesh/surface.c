/* SPDX-License-Identifier: Apache-2.0 */
#include "mesh/surface.h"
#include "math/rot.h"
#include "mesh/distance.h"
#include <limits.h>
#include <string.h>

#define MAX_COORDINATE 1e12
#define MAX_CROSSINGS 1000
/* A surface is flat if its volume is below this part of the ball with the same area. */
#define FLAT 1e-6

typedef struct job {
    sti__surface *s;
    const sti__surface_options *options;
    sti__surface_report *report;
    sti_error *error;
} job;

#define FAIL(j, ...) sti__fail_at((j)->error, (j)->options->place, __VA_ARGS__)

static sti_status no_memory(const job *j) { return FAIL(j, STI_NO_MEMORY, "out of memory for the surface"); }

static const double *corner(const sti__surface *s, int t, int k) {
    return s->vert + 3 * (size_t)s->tri[3 * (size_t)t + k];
}

/* ---- copying and welding ---------------------------------------------------------------------------------- */

static sti_status check_numbers(const job *j, int nvert, const double *vert, int ntri, const int *tri) {
    if (nvert < 4 || ntri < 4) return FAIL(j, STI_MESH, "a closed surface needs at least four triangles");
    if (nvert > INT_MAX / 4 || ntri > INT_MAX / 16) return FAIL(j, STI_LIMIT, "the surface is too large");
    for (size_t i = 0; i < 3 * (size_t)nvert; i++)
        if (!(fabs(vert[i]) <= MAX_COORDINATE))
            return FAIL(j, STI_MESH, "vertex %zu is not finite or beyond 1e12", i / 3);
    for (size_t i = 0; i < 3 * (size_t)ntri; i++)
        if (tri[i] < 0 || tri[i] >= nvert)
            return FAIL(j, STI_MESH, "triangle %zu names vertex %d, but there are %d", i / 3, tri[i], nvert);
    return STI_OK;
}

static sti_status reserve(const job *j, int nvert, int ntri) {
    sti__surface *s = j->s;
    s->vert = sti__alloc(s->allocator, sti__size(nvert, 3, sizeof(double)));
    s->room_vert = s->vert ? nvert : 0;
    s->tri = sti__alloc(s->allocator, sti__size(ntri, 3, sizeof(int)));
    s->room_tri = s->tri ? ntri : 0;
    return s->vert && s->tri ? STI_OK : no_memory(j);
}

void sti__surface_free(sti__surface *surface) {
    const sti_allocator *a = surface->allocator;
    sti__free(a, surface->vert, (size_t)surface->room_vert * 3 * sizeof(double));
    sti__free(a, surface->tri, (size_t)surface->room_tri * 3 * sizeof(int));
    *surface = (sti__surface){.allocator = a};
}

/* 0 and -0 are one place. */
static void canonical(double out[3], const double in[3]) {
    for (int k = 0; k < 3; k++) out[k] = in[k] + 0.0;
}

/* Number of the vertex at a place; slot: vertex + 1 in a table of a power of two. */
static int weld(sti__surface *s, int *slot, size_t mask, const double p[3]) {
    double q[3];
    canonical(q, p);
    size_t i = (size_t)sti__hash(STI__HASH_SEED, q, sizeof q) & mask;
    for (; slot[i]; i = (i + 1) & mask)
        if (memcmp(s->vert + 3 * (size_t)(slot[i] - 1), q, sizeof q) == 0) return slot[i] - 1;
    v3_copy(s->vert + 3 * (size_t)s->nvert, q);
    slot[i] = ++s->nvert;
    return s->nvert - 1;
}

static void copy_welded(const job *j, const double *vert, int ntri, const int *tri, int *slot, size_t mask) {
    sti__surface *s = j->s;
    for (int t = 0; t < ntri; t++) {
        int v[3];
        for (int k = 0; k < 3; k++) v[k] = weld(s, slot, mask, vert + 3 * (size_t)tri[3 * (size_t)t + k]);
        if (v[0] == v[1] || v[1] == v[2] || v[2] == v[0]) j->report->dropped++;
        else memcpy(s->tri + 3 * (size_t)s->ntri++, v, sizeof v);
    }
}

static sti_status copy(const job *j, int nvert, const double *vert, int ntri, const int *tri) {
    size_t nslot = 16;
    while (nslot < 2 * (size_t)nvert) nslot *= 2;
    int *slot = sti__alloc(j->s->allocator, sti__size(nslot, sizeof(int)));
    if (!slot) return no_memory(j);
    copy_welded(j, vert, ntri, tri, slot, nslot - 1);
    sti__free(j->s->allocator, slot, nslot * sizeof(int));
    j->report->welded = nvert - j->s->nvert;
    if (j->s->ntri < 4) return FAIL(j, STI_MESH, "a closed surface needs at least four triangles");
    return STI_OK;
}

/* ---- edges --------------------------------------------------------------------------------------------------- */

/* Edge e runs from corner e % 3 of triangle e / 3 to the next one. */
static void edge_ends(const sti__surface *s, int e, int end[2]) {
    const int *v = s->tri + 3 * (size_t)(e / 3);
    int a = v[e % 3], b = v[(e + 1) % 3];
    end[0] = a < b ? a : b;
    end[1] = a < b ? b : a;
}

static bool forward(const sti__surface *s, int e) {
    const int *v = s->tri + 3 * (size_t)(e / 3);
    return v[e % 3] < v[(e + 1) % 3];
}

/* One counting pass by one end; two of them sort. */
static void sort_edges(const sti__surface *s, int which, const int *from, int *to, int *start) {
    int count = 3 * s->ntri, end[2];
    memset(start, 0, ((size_t)s->nvert + 1) * sizeof(int));
    for (int i = 0; i < count; i++) {
        edge_ends(s, i, end);
        start[end[which] + 1]++;
    }
    for (int i = 0; i < s->nvert; i++) start[i + 1] += start[i];
    for (int i = 0; i < count; i++) {
        edge_ends(s, from[i], end);
        to[start[end[which]]++] = from[i];
    }
}

/* An edge of a closed surface is run through as often forwards as backwards. */
static void judge_edges(const sti__surface *s, const int *order, int *open, int *twisted) {
    int count = 3 * s->ntri;
    for (int i = 0; i < count;) {
        int a[2], b[2], n = 0, balance = 0;
        edge_ends(s, order[i], a);
        for (; i < count; i++, n++) {
            edge_ends(s, order[i], b);
            if (a[0] != b[0] || a[1] != b[1]) break;
            balance += forward(s, order[i]) ? 1 : -1;
        }
        if (n % 2) ++*open;
        else if (balance) ++*twisted;
    }
}

static sti_status check_edges(const job *j) {
    sti__surface *s = j->s;
    size_t count = 3 * (size_t)s->ntri,
           bytes = sti__size(sti__sum(sti__size(2, count), s->nvert, 1), sizeof(int));
    int *order = sti__alloc(s->allocator, bytes), twisted = 0;
    if (!order) return no_memory(j);
    int *other = order + count, *start = other + count;
    for (size_t i = 0; i < count; i++) order[i] = (int)i;
    sort_edges(s, 1, order, other, start);
    sort_edges(s, 0, other, order, start);
    judge_edges(s, order, &j->report->open_edges, &twisted);
    sti__free(s->allocator, order, bytes);
    if (twisted)
        return FAIL(j, STI_MESH,
                    "the faces of the surface are not oriented alike: %d edges are run through twice in "
                    "the same direction",
                    twisted);
    if (j->report->open_edges && !j->options->open)
        return FAIL(j, STI_MESH, "the surface is open: %d edges have no neighbour; close it first",
                    j->report->open_edges);
    return STI_OK;
}

/* ---- volume --------------------------------------------------------------------------------------------------- */

static void measure(const sti__surface *s, double *volume, double *area) {
    const double *o = s->vert;
    *volume = *area = 0;
    for (int t = 0; t < s->ntri; t++) {
        double a[3], b[3], c[3], ab[3], ac[3], n[3];
        v3_sub(a, corner(s, t, 0), o);
        v3_sub(b, corner(s, t, 1), o);
        v3_sub(c, corner(s, t, 2), o);
        v3_sub(ab, b, a);
        v3_sub(ac, c, a);
        v3_cross(n, ab, ac);
        *volume += v3_dot(n, a) / 6;
        *area += v3_norm(n) / 2;
    }
}

static sti_status check_volume(const job *j) {
    sti__surface *s = j->s;
    sti__surface_report *r = j->report;
    measure(s, &r->volume, &r->area);
    /* a ball has the volume A^(3/2) / (6 sqrt pi) */
    if (!(fabs(r->volume) > FLAT * r->area * sqrt(r->area) / 10.6))
        return FAIL(j, STI_MESH, "the surface encloses no volume");
    if (r->volume > 0) return STI_OK;
    r->turned = true;
    r->volume = -r->volume;
    for (int t = 0; t < s->ntri; t++) {
        int *v = s->tri + 3 * (size_t)t, k = v[1];
        v[1] = v[2];
        v[2] = k;
    }
    return STI_OK;
}

/* ---- crossings -------------------------------------------------------------------------------------------------- */

typedef struct crossing {
    const sti__surface *s;
    int tri, count;
    int64_t left; /* of the work that is allowed */
} crossing;

static double volume6(const double *a, const double *b, const double *c, const double *d) {
    double ab[3], ac[3], ad[3], n[3];
    v3_sub(ab, b, a);
    v3_sub(ac, c, a);
    v3_sub(ad, d, a);
    v3_cross(n, ab, ac);
    return v3_dot(n, ad);
}

/* The segment p q meets triangle t, its border too: parts that lie face on face overlap, though nothing goes through. */
static bool pierces(const sti__surface *s, const double *p, const double *q, int t) {
    const double *a = corner(s, t, 0), *b = corner(s, t, 1), *c = corner(s, t, 2);
    double x = volume6(a, b, c, p), y = volume6(a, b, c, q);
    if ((x > 0 && y > 0) || (x < 0 && y < 0) || (x == 0 && y == 0)) return false;
    double u = volume6(p, q, a, b), v = volume6(p, q, b, c), w = volume6(p, q, c, a);
    return (u >= 0 && v >= 0 && w >= 0) || (u <= 0 && v <= 0 && w <= 0);
}

static bool visit(void *context, int t) {
    crossing *x = context;
    const sti__surface *s = x->s;
    if (--x->left < 0 || x->count >= MAX_CROSSINGS) return false;
    if (t <= x->tri) return true;
    for (int i = 0; i < 9; i++)
        if (s->tri[3 * (size_t)t + i / 3] == s->tri[3 * (size_t)x->tri + i % 3]) return true;
    for (int k = 0; k < 3; k++) {
        bool cut = pierces(s, corner(s, t, k), corner(s, t, (k + 1) % 3), x->tri) ||
                   pierces(s, corner(s, x->tri, k), corner(s, x->tri, (k + 1) % 3), t);
        if (!cut) continue;
        x->count++;
        break;
    }
    return true;
}

static sti_status count_crossings(const job *j) {
    sti__surface *s = j->s;
    sti__distance d;
    sti_status status =
        sti__distance_create(s->vert, s->ntri, s->tri, s->allocator, j->options->place, &d, j->error);
    if (status != STI_OK) return status;
    crossing x = {s, 0, 0, 1000000 + 200 * (int64_t)s->ntri};
    for (; x.tri < s->ntri && x.left > 0 && x.count < MAX_CROSSINGS; x.tri++) {
        double lo[3], hi[3];
        for (int k = 0; k < 3; k++) {
            double a = corner(s, x.tri, 0)[k], b = corner(s, x.tri, 1)[k], c = corner(s, x.tri, 2)[k];
            lo[k] = fmin(a, fmin(b, c));
            hi[k] = fmax(a, fmax(b, c));
        }
        sti__distance_overlap(&d, lo, hi, visit, &x);
    }
    j->report->crossings = x.count;
    sti__distance_free(&d);
    return STI_OK;
}

/* ---------------------------------------------------------------------------------------------------------- */

sti_status sti__surface_create(int nvert, const double *vert, int ntri, const int *tri,
                               const sti__surface_options *options, sti__surface *surface,
                               sti__surface_report *report, sti_error *error) {
    job j = {surface, options, report, error};
    *surface = (sti__surface){.allocator = options->allocator};
    *report = (sti__surface_report){0};
    sti_status status = check_numbers(&j, nvert, vert, ntri, tri);
    if (status == STI_OK) status = reserve(&j, nvert, ntri);
    if (status == STI_OK) status = copy(&j, nvert, vert, ntri, tri);
    if (status == STI_OK) status = check_edges(&j);
    if (status == STI_OK) status = check_volume(&j);
    if (status == STI_OK) status = count_crossings(&j);
    if (status != STI_OK) sti__surface_free(surface);
    return status;
}
