/* SPDX-License-Identifier: Apache-2.0 */
/* Convex hulls by qhull. Errors inside qhull come back as exit codes of qh_new_qhull; what it would
   print goes to a small buffer in memory. Once it has returned, its lists are only read. */
#include "math/rot.h"
#include "mesh/mesh.h"
#include <libqhull_r/qhull_ra.h>
#include <string.h>

typedef struct hull_job {
    sti__mesh *mesh;
    sti__place place;
    sti_error *error;
} hull_job;

static sti_status fail(const hull_job *j, sti_status code, const char *why) {
    return sti__fail_at(j->error, j->place, code, "%s", why);
}

static sti_status failure(const hull_job *j, int code) {
    if (code == qh_ERRmem) return fail(j, STI_NO_MEMORY, "out of memory for the convex hull");
    if (code == qh_ERRsingular || code == qh_ERRprec || code == qh_ERRwide)
        return fail(j, STI_MESH,
                    "the mesh is flat and has no convex hull; use a thin box or a plane instead");
    return fail(j, STI_MESH, "the convex hull of the mesh could not be computed");
}

static bool allocate(hull_job *j, int nvert, int nface) {
    sti__mesh *m = j->mesh;
    m->hull_vert = sti__alloc(m->allocator, sti__size(nvert, sizeof(int)));
    m->nhullvert = m->hull_vert ? nvert : 0;
    m->hull_face = sti__alloc(m->allocator, sti__size(nface, 3, sizeof(int)));
    m->nhullface = m->hull_face ? nface : 0;
    return m->hull_vert && m->hull_face;
}

static void count(qhT *qh, int *nvert, int *nface) {
    facetT *facet;
    vertexT *vertex;
    *nvert = *nface = 0;
    FORALLvertices(*nvert)++;
    FORALLfacets(*nface)++;
}

/* Every facet is a triangle (option Qt); toporient says which way its vertices turn. */
static bool read_facet(qhT *qh, facetT *facet, int face[3]) {
    vertexT *vertex, **vertexp;
    int k = 0;
    FOREACHvertex_(facet->vertices) {
        if (k < 3) face[k] = qh_pointid(qh, vertex->point);
        k++;
    }
    if (facet->toporient ^ qh_ORIENTclock) {
        int t = face[1];
        face[1] = face[2];
        face[2] = t;
    }
    return k == 3;
}

static sti_status read_hull(hull_job *j, qhT *qh) {
    int nvert, nface, i = 0;
    facetT *facet;
    vertexT *vertex;
    count(qh, &nvert, &nface);
    if (nvert < 4 || nface < 4) return fail(j, STI_MESH, "the mesh has no convex hull");
    if (!allocate(j, nvert, nface)) return fail(j, STI_NO_MEMORY, "out of memory for the convex hull");
    FORALLvertices j->mesh->hull_vert[i++] = qh_pointid(qh, vertex->point);
    i = 0;
    FORALLfacets {
        if (!read_facet(qh, facet, j->mesh->hull_face + 3 * (size_t)i++))
            return fail(j, STI_MESH, "the convex hull of the mesh is not made of triangles");
    }
    for (i = 0; i < 3 * nface; i++)
        if (j->mesh->hull_face[i] < 0)
            return fail(j, STI_MESH, "the convex hull of the mesh could not be computed");
    return STI_OK;
}

/* Six times the volume under the hull, whose sign says whether the faces look outward. */
static double signed_volume(const sti__mesh *m) {
    double volume = 0;
    const double *o = m->vert + 3 * (size_t)m->hull_face[0];
    for (int f = 0; f < m->nhullface; f++) {
        double e[3][3], n[3];
        for (int k = 0; k < 3; k++) v3_sub(e[k], m->vert + 3 * (size_t)m->hull_face[3 * f + k], o);
        v3_cross(n, e[0], e[1]);
        volume += v3_dot(n, e[2]);
    }
    return volume;
}

static void drop_hull(sti__mesh *m) {
    sti__free(m->allocator, m->hull_vert, (size_t)m->nhullvert * sizeof(int));
    sti__free(m->allocator, m->hull_face, (size_t)m->nhullface * 3 * sizeof(int));
    m->hull_vert = m->hull_face = NULL;
    m->nhullvert = m->nhullface = 0;
}

static void face_outward(sti__mesh *m) {
    if (signed_volume(m) >= 0) return;
    for (int f = 0; f < m->nhullface; f++) {
        int *v = m->hull_face + 3 * (size_t)f, t = v[1];
        v[1] = v[2];
        v[2] = t;
    }
}

static sti_status run_qhull(hull_job *j, int maxvert, FILE *messages) {
    char options[64] = "qhull Qt";
    /* qhull starts from a simplex and then adds at most TAn points */
    if (maxvert > 0) snprintf(options, sizeof options, "qhull Qt TA%d", maxvert - 4);
    qhT *qh = calloc(1, sizeof *qh);
    if (!qh) return fail(j, STI_NO_MEMORY, "out of memory for the convex hull");
    qh_zero(qh, messages);
    int code = qh_new_qhull(qh, 3, j->mesh->nvert, j->mesh->vert, False, options, NULL, messages);
    sti_status status = code ? failure(j, code) : read_hull(j, qh);
    int curlong, totlong;
    qh_freeqhull(qh, !qh_ALL);
    if (qh->qhmem.LASTsize == 0) { /* memory ran out so early that qhull forgets what it has */
        free(qh->qhmem.sizetable);
        free(qh->qhmem.freelists);
    }
    qh_memfreeshort(qh, &curlong, &totlong);
    free(qh);
    return status;
}

sti_status sti__mesh_hull(sti__mesh *mesh, int maxvert, sti__place place, sti_error *error) {
    hull_job j = {mesh, place, error};
    if (mesh->hull_face) return STI_OK;
    if (maxvert > 0 && maxvert < 4) return fail(&j, STI_VALUE, "a hull has at least 4 vertices");
    if (mesh->nvert < 4) return fail(&j, STI_MESH, "a mesh needs at least 4 vertices");
    char buffer[256];
    FILE *messages = fmemopen(buffer, sizeof buffer, "w");
    if (!messages) return fail(&j, STI_NO_MEMORY, "out of memory for the convex hull");
    sti_status status = run_qhull(&j, maxvert, messages);
    fclose(messages);
    if (status == STI_OK) face_outward(mesh);
    else drop_hull(mesh);
    return status;
}
