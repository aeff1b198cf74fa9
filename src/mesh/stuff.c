/* SPDX-License-Identifier: Apache-2.0 */
/* Around the lattice: the surface is checked before, the tets are judged afterwards. */
#include "mesh/stuff.h"
#include "base/det.h"
#include "math/rot.h"
#include "mesh/distance.h"

#define MAX_VOLUME 0.1
#define MAX_HAUSDORFF 1.0
#define MAX_PIECES 64       /* of a triangle's side, for samples */
#define MAX_SAMPLES 2000000 /* of a surface */
#define DEFAULT_NODES 1000
#define NODE_ROUNDS 5
#define NODE_TOLERANCE 0.05

typedef struct job {
    const sti__stuff_options *options;
    int round; /* of the search for an edge */
    sti__stuff_report *report;
    sti__surface surface;
    sti__distance distance;
    sti_error *error;
} job;

#define FAIL(j, ...) sti__fail_at((j)->error, (j)->options->mesh.place, __VA_ARGS__)

/* ---- judging --------------------------------------------------------------------------------------------------- */

static double sample_triangle(const double *a, const double *b, const double *c, int n,
                              const sti__distance *other, bool outside) {
    double worst = 0;
    for (int i = 0; i <= n; i++)
        for (int k = 0; k <= n - i; k++) {
            double p[3], u = (double)i / n, v = (double)k / n;
            for (int x = 0; x < 3; x++) p[x] = a[x] + u * (b[x] - a[x]) + v * (c[x] - a[x]);
            worst = fmax(worst, outside ? sti__distance_signed(other, p, HUGE_VAL)
                                        : sti__distance_to(other, p, NULL, NULL));
        }
    return worst;
}

static double distance_between(const double *a, const double *b) {
    double e[3];
    v3_sub(e, a, b);
    return v3_norm(e);
}

static int pieces_of(const double *const v[3], double step) {
    double longest =
        fmax(distance_between(v[0], v[1]), fmax(distance_between(v[1], v[2]), distance_between(v[2], v[0])));
    double pieces = fmin(ceil(longest / step), MAX_PIECES);
    return pieces > 1 ? (int)pieces : 1;
}

static void corners_of(const double *vert, const int *tri, int t, const double *v[3]) {
    for (int k = 0; k < 3; k++) v[k] = vert + 3 * (size_t)tri[3 * (size_t)t + k];
}

/* A step with which there are no more than MAX_SAMPLES, however many triangles lie in heaps. */
static double affordable(const double *vert, int ntri, const int *tri, double step) {
    double count = 0;
    const double *v[3];
    for (int t = 0; t < ntri; t++) {
        corners_of(vert, tri, t, v);
        double n = pieces_of(v, step);
        count += 0.5 * (n + 1) * (n + 2);
    }
    return count > MAX_SAMPLES ? step * sqrt(count / MAX_SAMPLES) : step;
}

double sti__surface_excursion(const double *vert, int ntri, const int *tri, double step,
                              const sti__distance *other, bool outside) {
    double worst = 0;
    const double *v[3];
    step = affordable(vert, ntri, tri, step);
    for (int t = 0; t < ntri; t++) {
        corners_of(vert, tri, t, v);
        worst = fmax(worst, sample_triangle(v[0], v[1], v[2], pieces_of(v, step), other, outside));
    }
    return worst;
}

/* Both ways between the surfaces. What a surface that cuts itself has inside is not missed. */
static sti_status hausdorff(const job *j, const sti__tetmesh *mesh, double edge, double *worst) {
    sti__distance own;
    bool simple = j->distance.simple;
    sti_status status = sti__distance_create(mesh->node, mesh->ntri, mesh->tri, mesh->allocator,
                                             j->options->mesh.place, &own, j->error);
    if (status != STI_OK) return status;
    own.simple = true;
    double there = sti__surface_excursion(mesh->node, mesh->ntri, mesh->tri, edge / 2, &j->distance, false);
    double back =
        sti__surface_excursion(j->surface.vert, j->surface.ntri, j->surface.tri, edge / 2, &own, !simple);
    *worst = fmax(there, back);
    sti__distance_free(&own);
    return STI_OK;
}

static double or_default(double x, double standard) { return x > 0 ? x : standard; }

static sti_status judge(const job *j, const sti__tetmesh *mesh) {
    sti__stuff_report *r = j->report;
    double edge = r->edge, truth = r->surface.volume;
    r->volume = sti__tetmesh_volume(mesh);
    r->volume_error = (r->volume - truth) / truth;
    sti__tetmesh_measure(mesh, &r->quality);
    sti_status status = hausdorff(j, mesh, edge, &r->hausdorff);
    if (status != STI_OK) return status;
    /* where parts overlap or edges are open, the surface's own volume means nothing */
    if (j->distance.simple && fabs(r->volume_error) > or_default(j->options->max_volume, MAX_VOLUME))
        return FAIL(j, STI_MESH,
                    "the tetrahedra fill %.3g of the surface's volume %.4g m3: edges of %.3g m are too long "
                    "for it; make "
                    "them shorter",
                    r->volume / truth, truth, edge);
    if (r->hausdorff > or_default(j->options->max_hausdorff, MAX_HAUSDORFF) * edge)
        return FAIL(
            j, STI_MESH,
            "the tetrahedra miss the surface by %.3g m, with edges of %.3g m: it has parts that are thinner; "
            "make the edges shorter",
            r->hausdorff, edge);
    return STI_OK;
}

/* ---- edge length ------------------------------------------------------------------------------------------- */

/* Nobody knows how many rounds there will be: each takes half of what is left. */
static void show(void *context, double fraction) {
    const job *j = context;
    double left = 1;
    for (int i = 0; i < j->round; i++) left /= 2;
    if (j->options->progress)
        j->options->progress(j->options->context,
                             1 - left * (1 - (j->options->edge > 0 ? 1 : 0.5) * fraction));
}

static sti_status stuff_edge(job *j, double edge, sti__tetmesh *mesh) {
    sti__stuff_options o = *j->options;
    o.progress = show;
    o.context = j;
    j->report->edge = edge;
    return sti__stuff_lattice(&j->distance, edge, j->report->surface.volume, &o, mesh, j->error);
}

/* The lattice has two vertices for every cube of an edge; a few rounds account for the surface. The number jumps, so
   the best round counts. */
static sti_status stuff_nodes(job *j, int nodes, sti__tetmesh *mesh) {
    double edge = sti__pow(2 * j->report->surface.volume / nodes, 1.0 / 3), best = edge, least = HUGE_VAL;
    double lo = 0, hi = HUGE_VAL; /* edges with too many and too few nodes */
    for (; j->round < NODE_ROUNDS; j->round++) {
        sti_status status = stuff_edge(j, edge, mesh);
        if (status != STI_OK && status != STI_MESH) return status;
        double ratio = status == STI_OK ? (double)mesh->nnode / nodes : 0.125;
        if (status == STI_OK && fabs(ratio - 1) < NODE_TOLERANCE) return status;
        sti__tetmesh_free(mesh);
        if (status == STI_OK && fabs(ratio - 1) < least) {
            least = fabs(ratio - 1);
            best = edge;
        }
        if (ratio > 1) lo = fmax(lo, edge);
        else hi = fmin(hi, edge);
        edge *= sti__pow(ratio, 1.0 / 3);
        if (!(edge > lo && edge < hi)) edge = 0.5 * (lo + hi);
    }
    return stuff_edge(j, best, mesh);
}

static sti_status check_options(const job *j) {
    double edge = j->options->edge;
    if (!(edge >= 0 && edge < HUGE_VAL)) return FAIL(j, STI_VALUE, "the edge length must be positive");
    if (j->options->nodes < 0) return FAIL(j, STI_VALUE, "the number of nodes must be positive");
    return STI_OK;
}

/* ---------------------------------------------------------------------------------------------------------- */

static sti_status stuff(job *j, sti__tetmesh *mesh) {
    const sti__stuff_options *o = j->options;
    int nodes = o->nodes > 0 ? o->nodes : DEFAULT_NODES;
    sti_status status = sti__distance_create(j->surface.vert, j->surface.ntri, j->surface.tri,
                                             o->mesh.allocator, o->mesh.place, &j->distance, j->error);
    if (status != STI_OK) return status;
    j->distance.simple = !j->report->surface.open_edges && !j->report->surface.crossings;
    status = o->edge > 0 ? stuff_edge(j, o->edge, mesh) : stuff_nodes(j, nodes, mesh);
    if (status == STI_MESH)
        status = FAIL(j, STI_MESH, "edges of %.3g m leave nothing of the surface; make them shorter",
                      j->report->edge);
    if (status == STI_OK) status = judge(j, mesh);
    if (status != STI_OK) sti__tetmesh_free(mesh);
    sti__distance_free(&j->distance);
    return status;
}

sti_status sti__tetmesh_stuff(int nvert, const double *vert, int ntri, const int *tri,
                              const sti__stuff_options *options, sti__tetmesh *mesh,
                              sti__stuff_report *report, sti_error *error) {
    sti__stuff_report scratch;
    job j = {.options = options, .report = report ? report : &scratch, .error = error};
    sti__surface_options how = {options->open, options->mesh.allocator, options->mesh.place};
    *j.report = (sti__stuff_report){0};
    memset(mesh, 0, sizeof *mesh);
    mesh->allocator = options->mesh.allocator;
    sti_status status = check_options(&j);
    if (status == STI_OK)
        status = sti__surface_create(nvert, vert, ntri, tri, &how, &j.surface, &j.report->surface, error);
    if (status != STI_OK) return status;
    status = stuff(&j, mesh);
    sti__surface_free(&j.surface);
    return status;
}
