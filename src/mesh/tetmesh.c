/* SPDX-License-Identifier: Apache-2.0 */
/* Tetrahedral meshes: copying and checking what comes from outside, and finding the surface. */
#include "mesh/tetmesh.h"
#include "math/rot.h"
#include <limits.h>

#define MAX_COORDINATE 1e12
/* A tet is flat below this volume over the cube of its longest edge: rounding of its corners decides then. */
#define FLAT 1e-12

typedef struct job {
    sti__tetmesh *mesh;
    const sti__tetmesh_options *options;
    sti__tetmesh_report *report;
    sti_error *error;
} job;

#define FAIL(j, ...) sti__fail_at((j)->error, (j)->options->place, __VA_ARGS__)

static sti_status no_memory(const job *j) {
    return FAIL(j, STI_NO_MEMORY, "out of memory for the tetrahedral mesh");
}

static const double *node_of(const sti__tetmesh *m, int t, int k) {
    return m->node + 3 * (size_t)m->tet[4 * (size_t)t + k];
}

/* ---- one tet -------------------------------------------------------------------------------------------- */

double sti__tet_volume6(const double a[3], const double b[3], const double c[3], const double d[3]) {
    double e[3][3], n[3];
    v3_sub(e[0], b, a);
    v3_sub(e[1], c, a);
    v3_sub(e[2], d, a);
    v3_cross(n, e[0], e[1]);
    return v3_dot(n, e[2]);
}

double sti__tet_gradients(const double a[3], const double b[3], const double c[3], const double d[3],
                          double gradient[4][3]) {
    double e[3][3];
    v3_sub(e[0], b, a);
    v3_sub(e[1], c, a);
    v3_sub(e[2], d, a);
    v3_cross(gradient[1], e[1], e[2]);
    v3_cross(gradient[2], e[2], e[0]);
    v3_cross(gradient[3], e[0], e[1]);
    double six = v3_dot(gradient[3], e[2]), scale = six != 0 ? 1 / six : 0;
    v3_zero(gradient[0]);
    for (int k = 1; k < 4; k++) {
        v3_scale(gradient[k], gradient[k], scale);
        v3_sub(gradient[0], gradient[0], gradient[k]);
    }
    return six / 6;
}

static double volume6(const sti__tetmesh *m, int t) {
    return sti__tet_volume6(node_of(m, t, 0), node_of(m, t, 1), node_of(m, t, 2), node_of(m, t, 3));
}

static double longest_edge2(const sti__tetmesh *m, int t) {
    double longest = 0;
    for (int i = 0; i < 4; i++)
        for (int k = i + 1; k < 4; k++) {
            double d[3];
            v3_sub(d, node_of(m, t, i), node_of(m, t, k));
            longest = fmax(longest, v3_dot(d, d));
        }
    return longest;
}

/* ---- memory --------------------------------------------------------------------------------------------- */

static sti_status reserve(const job *j, int nnode, int ntet) {
    sti__tetmesh *m = j->mesh;
    int limit = j->options->max_tet > 0 ? j->options->max_tet : STI__TET_MAX;
    if (ntet < 1 || nnode < 4) return FAIL(j, STI_MESH, "the mesh has no tetrahedra");
    if (ntet > limit || nnode > 4 * (int64_t)limit)
        return FAIL(
            j, STI_LIMIT,
            "%d tetrahedra and %d nodes are more than the limit of %d tetrahedra; make the mesh coarser",
            ntet, nnode, limit);
    m->node = sti__alloc(m->allocator, sti__size(nnode, 3, sizeof(double)));
    m->nnode = m->node ? nnode : 0;
    m->tet = sti__alloc(m->allocator, sti__size(ntet, 4, sizeof(int)));
    m->ntet = m->tet ? ntet : 0;
    return m->node && m->tet ? STI_OK : no_memory(j);
}

void sti__tetmesh_free(sti__tetmesh *mesh) {
    const sti_allocator *a = mesh->allocator;
    sti__free(a, mesh->node, (size_t)mesh->nnode * 3 * sizeof(double));
    sti__free(a, mesh->tet, (size_t)mesh->ntet * 4 * sizeof(int));
    sti__free(a, mesh->tri, (size_t)mesh->ntri * 3 * sizeof(int));
    sti__free(a, mesh->tri_tet, (size_t)mesh->ntri * sizeof(int));
    for (int k = 0; k < STI__MATTERS; k++) sti__free(a, mesh->matter[k], (size_t)mesh->ntet * sizeof(double));
    memset(mesh, 0, sizeof *mesh);
    mesh->allocator = a;
}

/* ---- checks of nodes and tets ------------------------------------------------------------------------------ */

static sti_status check_numbers(const job *j, const double *node, const int *tet, int nnode, int ntet) {
    for (size_t i = 0; i < 3 * (size_t)nnode; i++)
        if (!(fabs(node[i]) <= MAX_COORDINATE))
            return FAIL(j, STI_MESH, "node %zu is not finite or beyond 1e12", i / 3);
    for (size_t i = 0; i < 4 * (size_t)ntet; i++)
        if (tet[i] < 0 || tet[i] >= nnode)
            return FAIL(j, STI_MESH, "tetrahedron %zu names node %d, but there are %d nodes", i / 4, tet[i],
                        nnode);
    return STI_OK;
}

/* Copies the tets, and the nodes that are in use. rank: nnode, scratch. */
static sti_status copy_used(const job *j, const double *node, const int *tet, int nnode, int *rank) {
    sti__tetmesh *m = j->mesh;
    int used = 0;
    for (size_t i = 0; i < 4 * (size_t)m->ntet; i++) rank[tet[i]] = 1;
    for (int i = 0; i < nnode; i++) {
        if (!rank[i] && !j->options->drop) return FAIL(j, STI_MESH, "node %d belongs to no tetrahedron", i);
        if (!rank[i]) continue;
        v3_copy(m->node + 3 * (size_t)used, node + 3 * (size_t)i);
        rank[i] = used++;
    }
    for (size_t i = 0; i < 4 * (size_t)m->ntet; i++) m->tet[i] = rank[tet[i]];
    j->report->dropped = nnode - used;
    if (used == nnode) return STI_OK;
    double *less = sti__resize(m->allocator, m->node, sti__size(nnode, 3, sizeof(double)),
                               sti__size(used, 3, sizeof(double)));
    if (!less) return no_memory(j);
    m->node = less;
    m->nnode = used;
    return STI_OK;
}

static sti_status copy(const job *j, const double *node, const int *tet, int nnode) {
    const sti_allocator *a = j->mesh->allocator;
    int *rank = sti__alloc(a, sti__size(nnode, sizeof(int)));
    if (!rank) return no_memory(j);
    sti_status status = copy_used(j, node, tet, nnode, rank);
    sti__free(a, rank, (size_t)nnode * sizeof(int));
    return status;
}

static sti_status orient(const job *j) {
    sti__tetmesh *m = j->mesh;
    for (int t = 0; t < m->ntet; t++) {
        double v = volume6(m, t), longest = longest_edge2(m, t);
        int *n = m->tet + 4 * (size_t)t, last = n[3];
        if (!(fabs(v) > 6 * FLAT * longest * sqrt(longest)))
            return FAIL(j, STI_MESH, "tetrahedron %d (nodes %d %d %d %d) has no volume", t, n[0], n[1], n[2],
                        n[3]);
        if (v > 0) continue;
        if (!j->options->turn)
            return FAIL(j, STI_MESH, "tetrahedron %d (nodes %d %d %d %d) is inverted", t, n[0], n[1], n[2],
                        n[3]);
        n[3] = n[2];
        n[2] = last;
        j->report->turned++;
    }
    return STI_OK;
}

/* ---- surface ---------------------------------------------------------------------------------------------- */

/* Faces by their nodes in increasing order: three counting passes sort them, in time linear in their number whatever
   the numbering. */
typedef struct faces {
    const sti__tetmesh *mesh;
    int *order, *other; /* 4 * ntet: face 4 t + k */
    int *start;         /* nnode + 1 */
} faces;

static void face_nodes(const sti__tetmesh *m, int f, int out[3]) {
    for (int k = 0; k < 3; k++) out[k] = m->tet[4 * (size_t)(f / 4) + sti__tet_face[f % 4][k]];
}

/* Nodes in increasing order; true if that is an odd permutation. */
static bool sorted_face(const sti__tetmesh *m, int f, int out[3]) {
    face_nodes(m, f, out);
    bool odd = false;
    for (int pass = 0; pass < 3; pass++) {
        int k = pass % 2, t = out[k];
        if (out[k] <= out[k + 1]) continue;
        out[k] = out[k + 1];
        out[k + 1] = t;
        odd = !odd;
    }
    return odd;
}

static void sort_by(faces *s, int which) {
    const sti__tetmesh *m = s->mesh;
    int nface = 4 * m->ntet, v[3];
    memset(s->start, 0, ((size_t)m->nnode + 1) * sizeof(int));
    for (int i = 0; i < nface; i++) {
        sorted_face(m, i, v);
        s->start[v[which] + 1]++;
    }
    for (int i = 0; i < m->nnode; i++) s->start[i + 1] += s->start[i];
    for (int i = 0; i < nface; i++) {
        sorted_face(m, s->order[i], v);
        s->other[s->start[v[which]]++] = s->order[i];
    }
    int *t = s->order;
    s->order = s->other;
    s->other = t;
}

static bool same_tet(const sti__tetmesh *m, int a, int b) {
    for (int i = 0; i < 4; i++) {
        bool found = false;
        for (int k = 0; k < 4; k++) found |= m->tet[4 * (size_t)a + i] == m->tet[4 * (size_t)b + k];
        if (!found) return false;
    }
    return true;
}

static sti_status bad_pair(const job *j, int f, int g) {
    if (same_tet(j->mesh, f / 4, g / 4))
        return FAIL(j, STI_MESH, "tetrahedra %d and %d have the same nodes", f / 4, g / 4);
    return FAIL(j, STI_MESH, "tetrahedra %d and %d overlap: they lie on the same side of a common face",
                f / 4, g / 4);
}

/* Runs of equal faces in the sorted list: one is surface (left 0 in other), two are inside (marked). */
static sti_status pair_faces(const job *j, faces *s, int *count) {
    const sti__tetmesh *m = s->mesh;
    int nface = 4 * m->ntet, a[3], b[3];
    memset(s->other, 0, (size_t)nface * sizeof(int));
    *count = nface;
    for (int i = 0; i < nface; i++) {
        bool odd = sorted_face(m, s->order[i], a);
        if (i + 1 == nface) break;
        bool other_odd = sorted_face(m, s->order[i + 1], b);
        if (memcmp(a, b, sizeof a) != 0) continue;
        if (odd == other_odd) return bad_pair(j, s->order[i], s->order[i + 1]);
        s->other[s->order[i]] = s->other[s->order[i + 1]] = 1;
        *count -= 2;
        if (i + 2 < nface && (sorted_face(m, s->order[i + 2], b), memcmp(a, b, sizeof a) == 0))
            return FAIL(j, STI_MESH, "face %d %d %d belongs to more than two tetrahedra: %d, %d and %d", a[0],
                        a[1], a[2], s->order[i] / 4, s->order[i + 1] / 4, s->order[i + 2] / 4);
        i++;
    }
    return STI_OK;
}

static sti_status collect_surface(const job *j, const faces *s, int count) {
    sti__tetmesh *m = j->mesh;
    if (count == 0) return FAIL(j, STI_MESH, "the mesh has no surface");
    m->tri = sti__alloc(m->allocator, sti__size(count, 3, sizeof(int)));
    m->tri_tet = sti__alloc(m->allocator, sti__size(count, sizeof(int)));
    m->ntri = count;
    if (!m->tri || !m->tri_tet) return no_memory(j);
    for (int f = 0, n = 0; f < 4 * m->ntet; f++) {
        if (s->other[f]) continue;
        face_nodes(m, f, m->tri + 3 * (size_t)n);
        m->tri_tet[n++] = f / 4;
    }
    return STI_OK;
}

static sti_status find_surface(const job *j, faces *s) {
    int count, nface = 4 * s->mesh->ntet;
    for (int i = 0; i < nface; i++) s->order[i] = i;
    for (int which = 2; which >= 0; which--) sort_by(s, which);
    sti_status status = pair_faces(j, s, &count);
    return status == STI_OK ? collect_surface(j, s, count) : status;
}

static sti_status surface(const job *j) {
    const sti_allocator *a = j->mesh->allocator;
    size_t nface = 4 * (size_t)j->mesh->ntet, nstart = (size_t)j->mesh->nnode + 1;
    if (nface > INT_MAX) return FAIL(j, STI_LIMIT, "too many tetrahedra");
    int *block = sti__alloc(a, sti__size(sti__add(sti__size(2, nface), nstart), sizeof(int)));
    if (!block) return no_memory(j);
    faces s = {j->mesh, block, block + nface, block + 2 * nface};
    sti_status status = find_surface(j, &s);
    sti__free(a, block, (2 * nface + nstart) * sizeof(int));
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- */

static sti_status build(const job *j, int nnode, const double *node, int ntet, const int *tet) {
    sti_status status = reserve(j, nnode, ntet);
    if (status == STI_OK) status = check_numbers(j, node, tet, nnode, ntet);
    if (status == STI_OK) status = copy(j, node, tet, nnode);
    if (status == STI_OK) status = orient(j);
    if (status == STI_OK) status = surface(j);
    return status;
}

sti_status sti__tetmesh_create(int nnode, const double *node, int ntet, const int *tet,
                               const sti__tetmesh_options *options, sti__tetmesh *mesh,
                               sti__tetmesh_report *report, sti_error *error) {
    static const sti__tetmesh_options strict = {0};
    sti__tetmesh_report scratch;
    job j = {mesh, options ? options : &strict, report ? report : &scratch, error};
    memset(mesh, 0, sizeof *mesh);
    memset(j.report, 0, sizeof *j.report);
    mesh->allocator = j.options->allocator;
    sti_status status = build(&j, nnode, node, ntet, tet);
    if (status != STI_OK) sti__tetmesh_free(mesh);
    return status;
}
