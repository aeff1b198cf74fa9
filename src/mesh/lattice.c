/* SPDX-License-Identifier: Apache-2.0 */
/* Isosurface stuffing on a uniform lattice. Vertices have integer coordinates, all even or all odd, in units of half
   an edge. A vertex has 6 long edges (along the axes) and 8 short ones (along the diagonals); a tet has two long and
   four short ones.
     1. Signs: inside or outside, of every vertex.       2. Cuts: where an edge between different signs meets the
     surface.      3. Warps: a vertex with a cut too close moves there, and its cuts are gone.
     4. Tets: those inside are kept, those cut are trimmed by stencils. */
#include "math/rot.h"
#include "mesh/distance.h"
#include "mesh/stuff.h"
#include "mesh/tetbuild.h"

/* Of Labelle and Shewchuk, for dihedral angles between 10.7 and 164.8 degrees. */
#define ALPHA_LONG 0.21509
#define ALPHA_SHORT 0.35900
#define MAX_POINTS 8000000 /* vertices of a lattice, 9 bytes each */
#define ROOT_STEPS 24
#define ROOT_TOLERANCE 1e-7 /* of an edge */

/* Opposite directions are neighbours in the list, the long ones first. */
static const int way[14][3] = {{2, 0, 0},  {-2, 0, 0},  {0, 2, 0},    {0, -2, 0}, {0, 0, 2},
                               {0, 0, -2}, {1, 1, 1},   {-1, -1, -1}, {1, 1, -1}, {-1, -1, 1},
                               {1, -1, 1}, {-1, 1, -1}, {1, -1, -1},  {-1, 1, 1}};
enum { NWAY = 14, NLONG = 6 };

/* A vertex with neighbours on the other side. */
typedef struct active {
    double value;     /* depth, positive inside */
    double x[3];      /* where it is, warped or not */
    double cut[NWAY]; /* place of a cut along an edge, 0 to 1; -1 = none */
    int node[NWAY];   /* of a cut, once it is used: number + 1 */
    int self;         /* its own node + 1 */
    int at[3];
} active;

typedef struct lattice {
    const sti__distance *surface;
    const sti__stuff_options *options;
    double edge, origin[3];
    int n[3];          /* coordinates run from 0 to n, which is even */
    size_t half[3];    /* vertices of one parity along an axis: n / 2 + 1 */
    size_t count;      /* 2 * half[0] * half[1] * half[2] */
    signed char *sign; /* 1 inside, 0 on the surface, -1 outside */
    int *index;        /* active vertex + 1 */
    sti__vec active;
    sti__tetbuild build;
} lattice;

static size_t place_of(const lattice *l, const int at[3]) {
    size_t cell = (((size_t)at[0] / 2) * l->half[1] + (size_t)at[1] / 2) * l->half[2] + (size_t)at[2] / 2;
    return 2 * cell + (size_t)(at[0] & 1);
}

static bool within(const lattice *l, const int at[3]) {
    for (int k = 0; k < 3; k++)
        if (at[k] < 0 || at[k] > l->n[k]) return false;
    return true;
}

static void position(const lattice *l, const int at[3], double x[3]) {
    for (int k = 0; k < 3; k++) x[k] = l->origin[k] + 0.5 * l->edge * at[k];
}

/* Positive inside. The surface is no further away than bound. */
static double depth_at(const lattice *l, const double x[3], double bound) {
    return -sti__distance_signed(l->surface, x, bound);
}

static void report_progress(const lattice *l, double fraction) {
    if (l->options->progress) l->options->progress(l->options->context, fraction);
}

/* ---- signs ------------------------------------------------------------------------------------------------ */

/* Along a line the sign cannot change before the distance to the surface is used up. */
static void scan_line(lattice *l, int x0, int y, int z) {
    int at[3] = {x0, y, z}, last_at = x0;
    double bound = HUGE_VAL;
    while (at[0] <= l->n[0]) {
        double p[3];
        position(l, at, p);
        double d = depth_at(l, p, bound + 0.5 * l->edge * (at[0] - last_at));
        bound = fabs(d);
        last_at = at[0];
        signed char s = (signed char)(d > 0 ? 1 : d < 0 ? -1 : 0);
        double last = fmin(at[0] + 2 * fmax((fabs(d) / l->edge) * (1 - 1e-9) - 1e-9, 0), l->n[0]);
        do {
            l->sign[place_of(l, at)] = s;
            at[0] += 2;
        } while (at[0] <= last);
    }
}

static void find_signs(lattice *l) {
    for (int z = 0; z <= l->n[2]; z++) {
        for (int y = z & 1; y <= l->n[1]; y += 2) scan_line(l, z & 1, y, z);
        report_progress(l, 0.6 * (z + 1) / (l->n[2] + 1));
    }
}

/* ---- cuts --------------------------------------------------------------------------------------------------- */

static active *active_at(const lattice *l, const int at[3]) {
    int i = l->index[place_of(l, at)];
    return i ? (active *)l->active.data + (i - 1) : NULL;
}

static int neighbour_sign(const lattice *l, const int at[3], int w) {
    int to[3] = {at[0] + way[w][0], at[1] + way[w][1], at[2] + way[w][2]};
    return within(l, to) ? l->sign[place_of(l, to)] : -1;
}

static void add_active(lattice *l, const int at[3]) {
    int s = l->sign[place_of(l, at)];
    bool near = s == 0;
    for (int w = 0; w < NWAY && !near; w++) near = neighbour_sign(l, at, w) * s < 0;
    if (!near) return;
    active a = {.at = {at[0], at[1], at[2]}};
    position(l, at, a.x);
    if (s) a.value = depth_at(l, a.x, 1.01 * l->edge);
    for (int w = 0; w < NWAY; w++) a.cut[w] = -1;
    if (!sti__vec_push(&l->active, &a)) l->build.failed = true;
    else l->index[place_of(l, at)] = (int)l->active.count;
}

static void find_active(lattice *l) {
    int at[3];
    for (at[0] = 0; at[0] <= l->n[0]; at[0]++)
        for (at[1] = at[0] & 1; at[1] <= l->n[1]; at[1] += 2)
            for (at[2] = at[0] & 1; at[2] <= l->n[2] && !l->build.failed; at[2] += 2) add_active(l, at);
}

/* Zero of the depth between a (inside, at 0) and b (outside, at 1): false position with halved ends, and bisection
   where that lags, as it does where an open surface has no zero. */
static double find_cut(const lattice *l, const active *a, const active *b) {
    double lo = 0, hi = 1, flo = a->value, fhi = b->value;
    for (int step = 0; step < ROOT_STEPS && hi - lo > ROOT_TOLERANCE; step++) {
        double t = step % 4 == 3 ? 0.5 * (lo + hi) : lo + (hi - lo) * flo / (flo - fhi), x[3], e[3];
        v3_sub(e, b->x, a->x);
        v3_copy(x, a->x);
        v3_add_scaled(x, e, t);
        double f = depth_at(l, x, 1.01 * l->edge);
        if (fabs(f) <= ROOT_TOLERANCE * l->edge) return t;
        if (f > 0) {
            lo = t;
            flo = f;
            fhi *= 0.5;
        } else {
            hi = t;
            fhi = f;
            flo *= 0.5;
        }
    }
    return 0.5 * (lo + hi);
}

static void find_cuts(lattice *l) {
    active *list = (active *)l->active.data;
    for (size_t i = 0; i < l->active.count; i++) {
        active *a = &list[i];
        if (l->sign[place_of(l, a->at)] <= 0) continue;
        for (int w = 0; w < NWAY; w++) {
            if (neighbour_sign(l, a->at, w) >= 0) continue;
            int to[3] = {a->at[0] + way[w][0], a->at[1] + way[w][1], a->at[2] + way[w][2]};
            active *b = within(l, to) ? active_at(l, to) : NULL;
            if (!b) continue; /* the margin makes this impossible */
            a->cut[w] = find_cut(l, a, b);
            b->cut[w ^ 1] = 1 - a->cut[w];
        }
        if (i % 256 == 0) report_progress(l, 0.6 + 0.3 * (double)i / (double)l->active.count);
    }
}

/* ---- warps ---------------------------------------------------------------------------------------------------- */

static double way_length(const lattice *l, int w) {
    return w < NLONG ? l->edge : l->edge * 0.86602540378443865;
}

/* The nearest cut that is too close, -1 = none. */
static int violated(const lattice *l, const active *a) {
    int best = -1;
    double least = HUGE_VAL;
    for (int w = 0; w < NWAY; w++) {
        if (a->cut[w] < 0 || a->cut[w] >= (w < NLONG ? ALPHA_LONG : ALPHA_SHORT)) continue;
        double length = a->cut[w] * way_length(l, w);
        if (length >= least) continue;
        least = length;
        best = w;
    }
    return best;
}

static void clear_cuts(lattice *l, active *a) {
    for (int w = 0; w < NWAY; w++) {
        if (a->cut[w] < 0) continue;
        int to[3] = {a->at[0] + way[w][0], a->at[1] + way[w][1], a->at[2] + way[w][2]};
        active_at(l, to)->cut[w ^ 1] = -1;
        a->cut[w] = -1;
    }
}

static void warp_vertices(lattice *l) {
    active *list = (active *)l->active.data;
    for (size_t i = 0; i < l->active.count; i++) {
        active *a = &list[i];
        int w = violated(l, a);
        if (w < 0) continue;
        for (int k = 0; k < 3; k++) a->x[k] += a->cut[w] * 0.5 * l->edge * way[w][k];
        clear_cuts(l, a);
        l->sign[place_of(l, a->at)] = 0;
        a->value = 0;
    }
}

/* ---- tets ------------------------------------------------------------------------------------------------------ */

/* A corner of a tet of the lattice. */
typedef struct vertex {
    int at[3];
    int sign;
} vertex;

static int way_between(const vertex *a, const vertex *b) {
    for (int w = 0; w < NWAY; w++)
        if (a->at[0] + way[w][0] == b->at[0] && a->at[1] + way[w][1] == b->at[1] &&
            a->at[2] + way[w][2] == b->at[2])
            return w;
    return 0; /* corners of a tet are neighbours */
}

/* Nodes of vertices that are not active are kept in the index, as negative numbers. */
static int vertex_node(lattice *l, const vertex *v) {
    int *slot = &l->index[place_of(l, v->at)];
    active *a = *slot > 0 ? (active *)l->active.data + (*slot - 1) : NULL;
    if (*slot < 0) return -1 - *slot;
    if (a && a->self) return a->self - 1;
    double x[3];
    position(l, v->at, x);
    if (a) v3_copy(x, a->x);
    int node = sti__tetbuild_node(&l->build, x[0], x[1], x[2]);
    if (a) a->self = node + 1;
    else *slot = -1 - node;
    return node;
}

/* Place and node of the cut between a vertex inside and one outside. */
static void cut_place(const lattice *l, const vertex *in, const vertex *out, double x[3]) {
    int w = way_between(in, out);
    const active *a = active_at(l, in->at);
    for (int k = 0; k < 3; k++) x[k] = a->x[k] + a->cut[w] * 0.5 * l->edge * way[w][k];
}

static int cut_node(lattice *l, const vertex *in, const vertex *out) {
    active *a = active_at(l, in->at);
    int w = way_between(in, out);
    if (a->node[w]) return a->node[w] - 1;
    double x[3];
    cut_place(l, in, out, x);
    int node = sti__tetbuild_node(&l->build, x[0], x[1], x[2]);
    a->node[w] = node + 1;
    return node;
}

static double distance2(const double a[3], const double b[3]) {
    double e[3];
    v3_sub(e, a, b);
    return v3_dot(e, e);
}

/* The face a b out, a and b inside, leaves a quadrilateral. Its diagonal ends in the cut of the long edge, else it is
   the shorter one; both tets of the face see the same. True if it runs from a to the cut of b. */
static bool from_first(const lattice *l, const vertex *a, const vertex *b, const vertex *out) {
    bool a_long = way_between(a, out) < NLONG, b_long = way_between(b, out) < NLONG;
    if (a_long != b_long) return b_long;
    double xa[3], xb[3], ca[3], cb[3];
    position(l, a->at, xa);
    position(l, b->at, xb);
    cut_place(l, a, out, ca);
    cut_place(l, b, out, cb);
    double first = distance2(xa, cb), second = distance2(xb, ca);
    return first != second ? first < second : place_of(l, a->at) < place_of(l, b->at);
}

/* A prism with given diagonals: before[i][j] = the side of columns i and j is divided from the bottom of i to the top
   of j. The columns are taken in that order. */
static void add_prism(lattice *l, const int bottom[3], const int top[3], bool d01, bool d02, bool d12) {
    int rank[3] = {!d01 + !d02, d01 + !d12, d02 + d12}, p[3] = {0, 1, 2};
    for (int k = 0; k < 3; k++) p[rank[k]] = k;
    sti__tetbuild *b = &l->build;
    sti__tetbuild_tet(b, bottom[p[0]], bottom[p[1]], bottom[p[2]], top[p[2]]);
    sti__tetbuild_tet(b, bottom[p[0]], bottom[p[1]], top[p[1]], top[p[2]]);
    sti__tetbuild_tet(b, bottom[p[0]], top[p[0]], top[p[1]], top[p[2]]);
}

/* Three inside, one outside. */
static void trim_corner(lattice *l, vertex *const in[3], const vertex *out) {
    int bottom[3], top[3];
    for (int k = 0; k < 3; k++) {
        bottom[k] = vertex_node(l, in[k]);
        top[k] = cut_node(l, in[k], out);
    }
    add_prism(l, bottom, top, from_first(l, in[0], in[1], out), from_first(l, in[0], in[2], out),
              from_first(l, in[1], in[2], out));
}

/* Two inside, two outside: a prism with the ends at the former. The diagonal on the surface is free, as long as the
   three do not chase each other round. */
static void trim_edge(lattice *l, vertex *const in[2], vertex *const out[2]) {
    int bottom[3] = {vertex_node(l, in[0]), cut_node(l, in[0], out[0]), cut_node(l, in[0], out[1])};
    int top[3] = {vertex_node(l, in[1]), cut_node(l, in[1], out[0]), cut_node(l, in[1], out[1])};
    bool d01 = from_first(l, in[0], in[1], out[0]), d02 = from_first(l, in[0], in[1], out[1]), d12 = d02;
    if (d01 == d02) {
        double x[4][3];
        for (int k = 0; k < 4; k++) cut_place(l, in[k / 2], out[k % 2], x[k]);
        d12 = distance2(x[0], x[3]) <= distance2(x[1], x[2]);
    }
    add_prism(l, bottom, top, d01, d02, d12);
}

/* Two inside, one on the surface, one outside. */
static void trim_face(lattice *l, vertex *const in[2], const vertex *on, const vertex *out) {
    int a = vertex_node(l, in[0]), b = vertex_node(l, in[1]), z = vertex_node(l, on),
        ca = cut_node(l, in[0], out), cb = cut_node(l, in[1], out);
    bool first = from_first(l, in[0], in[1], out);
    sti__tetbuild_tet(&l->build, a, b, first ? cb : ca, z);
    sti__tetbuild_tet(&l->build, first ? a : b, ca, cb, z);
}

/* One inside: the others are where they are, or cut. */
static void trim_to_one(lattice *l, const vertex *in, vertex *const rest[3]) {
    int n[3];
    for (int k = 0; k < 3; k++) n[k] = rest[k]->sign < 0 ? cut_node(l, in, rest[k]) : vertex_node(l, rest[k]);
    sti__tetbuild_tet(&l->build, vertex_node(l, in), n[0], n[1], n[2]);
}

static void add_tet(lattice *l, vertex v[4]) {
    vertex *by_sign[4];
    int n = 0, count[3] = {0}; /* inside, on, outside */
    for (int s = 1; s >= -1; s--)
        for (int k = 0; k < 4; k++) {
            if (v[k].sign != s) continue;
            by_sign[n++] = &v[k];
            count[1 - s]++;
        }
    if (count[0] == 0) return;
    if (count[2] == 0)
        sti__tetbuild_tet(&l->build, vertex_node(l, &v[0]), vertex_node(l, &v[1]), vertex_node(l, &v[2]),
                          vertex_node(l, &v[3]));
    else if (count[0] == 1) trim_to_one(l, by_sign[0], by_sign + 1);
    else if (count[0] == 3) trim_corner(l, by_sign, by_sign[3]);
    else if (count[2] == 2) trim_edge(l, by_sign, by_sign + 2);
    else trim_face(l, by_sign, by_sign[2], by_sign[3]);
}

static void set_vertex(const lattice *l, vertex *v, int x, int y, int z) {
    *v = (vertex){{x, y, z}, 0};
    v->sign = l->sign[place_of(l, v->at)];
}

/* Four tets between the middle of a cell, that of the next one along an axis, and the edges of their common face. */
static void add_tets_about(lattice *l, const int at[3], int axis) {
    static const int turn[5][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}, {-1, -1}};
    int u = (axis + 1) % 3, w = (axis + 2) % 3, to[3] = {at[0], at[1], at[2]};
    vertex v[4], corner[5];
    to[axis] += 2;
    if (to[axis] > l->n[axis]) return;
    set_vertex(l, &v[0], at[0], at[1], at[2]);
    set_vertex(l, &v[1], to[0], to[1], to[2]);
    to[axis]--;
    for (int k = 0; k < 5; k++) {
        int c[3];
        c[axis] = to[axis];
        c[u] = at[u] + turn[k][0];
        c[w] = at[w] + turn[k][1];
        set_vertex(l, &corner[k], c[0], c[1], c[2]);
    }
    for (int k = 0; k < 4; k++) {
        v[2] = corner[k];
        v[3] = corner[k + 1];
        if (v[0].sign > 0 || v[1].sign > 0 || v[2].sign > 0 || v[3].sign > 0) add_tet(l, v);
    }
}

static void add_tets(lattice *l) {
    int at[3];
    for (at[0] = 1; at[0] < l->n[0]; at[0] += 2) {
        for (at[1] = 1; at[1] < l->n[1]; at[1] += 2)
            for (at[2] = 1; at[2] < l->n[2] && !l->build.failed; at[2] += 2)
                for (int axis = 0; axis < 3; axis++) add_tets_about(l, at, axis);
        report_progress(l, 0.9 + 0.1 * at[0] / l->n[0]);
    }
}

/* ---------------------------------------------------------------------------------------------------------- */

/* A margin of more than an edge on all sides, so that the outermost vertices are outside. */
static sti_status lay_out(lattice *l) {
    const sti__distance_node *all = &l->surface->node[0];
    double points = 2;
    for (int k = 0; k < 3; k++) {
        double cells = ceil((all->hi[k] - all->lo[k]) / l->edge) + 3;
        points *= cells + 1;
        if (!(points <= MAX_POINTS))
            return sti__fail_at(
                l->build.error, l->build.options.place, STI_LIMIT,
                "edges of %g m are too short: the lattice about the surface would have more than %d "
                "points",
                l->edge, MAX_POINTS);
        l->n[k] = 2 * (int)cells;
        l->half[k] = (size_t)cells + 1;
        l->origin[k] = 0.5 * (all->lo[k] + all->hi[k]) - 0.5 * cells * l->edge;
    }
    l->count = 2 * l->half[0] * l->half[1] * l->half[2];
    return STI_OK;
}

static void run(lattice *l) {
    find_signs(l);
    find_active(l);
    if (l->build.failed) return;
    find_cuts(l);
    warp_vertices(l);
    add_tets(l);
}

sti_status sti__stuff_lattice(const sti__distance *inside, double edge, double volume,
                              const sti__stuff_options *options, sti__tetmesh *mesh, sti_error *error) {
    lattice l = {.surface = inside, .options = options, .edge = edge};
    const sti_allocator *a = options->mesh.allocator;
    memset(mesh, 0, sizeof *mesh);
    mesh->allocator = a;
    sti__tetbuild_init(&l.build, &options->mesh, error);
    sti_status status = sti__tetbuild_expect(&l.build, 12 * volume / (edge * edge * edge));
    if (status == STI_OK) status = lay_out(&l);
    if (status != STI_OK) return status;
    sti__vec_init(&l.active, sizeof(active), a);
    l.sign = sti__alloc(a, l.count);
    l.index = sti__alloc(a, sti__size(l.count, sizeof(int)));
    if (l.sign && l.index) run(&l);
    else l.build.failed = true;
    sti__vec_free(&l.active);
    sti__free(a, l.sign, l.count);
    sti__free(a, l.index, l.count * sizeof(int));
    return sti__tetbuild_finish(&l.build, mesh);
}
