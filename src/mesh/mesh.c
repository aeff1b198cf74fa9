/* SPDX-License-Identifier: Apache-2.0 */
/* Meshes from files and lists: dispatch, checks that hold for every source, transformation. */
#include "math/rot.h"
#include "mesh/readers.h"
#include <limits.h>
#include <string.h>

/* qhull and the integrals square and cube coordinates; nothing real is larger than this */
#define MAX_COORDINATE 1e12

sti_status sti__mesh_refuse(const sti__mesh_reader *r, sti_status code, int64_t line, const char *why) {
    if (line > 0) return sti__fail_at(r->error, r->place, code, "%s:%lld: %s", r->name, (long long)line, why);
    return sti__fail_at(r->error, r->place, code, "%s: %s", r->name, why);
}

void *sti__mesh_borrow(sti__mesh_reader *r, size_t bytes) {
    if (bytes > *r->memory) {
        sti__mesh_refuse(r, STI_LIMIT, 0, "the mesh needs more than the memory budget");
        return NULL;
    }
    void *ptr = sti__alloc(r->mesh->allocator, bytes ? bytes : 1);
    if (!ptr) sti__mesh_refuse(r, STI_NO_MEMORY, 0, "out of memory for the mesh");
    if (ptr) *r->memory -= bytes;
    return ptr;
}

void sti__mesh_return(sti__mesh_reader *r, void *ptr, size_t bytes) {
    if (!ptr) return;
    sti__free(r->mesh->allocator, ptr, bytes ? bytes : 1);
    *r->memory += bytes;
}

static sti_status reserve_vertices(sti__mesh_reader *r, size_t nvert) {
    if (nvert < 4) return sti__mesh_refuse(r, STI_MESH, 0, "a mesh needs at least 4 vertices");
    if (nvert > INT_MAX / 3) return sti__mesh_refuse(r, STI_LIMIT, 0, "too many vertices");
    r->mesh->vert = sti__mesh_borrow(r, sti__size(nvert, 3, sizeof(double)));
    if (!r->mesh->vert) return r->error ? r->error->code : STI_NO_MEMORY;
    r->mesh->nvert = (int)nvert;
    return STI_OK;
}

static sti_status reserve_faces(sti__mesh_reader *r, size_t nface) {
    if (nface == 0) return STI_OK;
    if (nface > INT_MAX / 3) return sti__mesh_refuse(r, STI_LIMIT, 0, "too many faces");
    r->mesh->face = sti__mesh_borrow(r, sti__size(nface, 3, sizeof(int)));
    if (!r->mesh->face) return r->error ? r->error->code : STI_NO_MEMORY;
    r->mesh->nface = (int)nface;
    return STI_OK;
}

sti_status sti__mesh_reserve(sti__mesh_reader *r, size_t nvert, size_t nface) {
    sti_status status = reserve_vertices(r, nvert);
    return status == STI_OK ? reserve_faces(r, nface) : status;
}

sti_status sti__mesh_reserve_coords(sti__mesh_reader *r, size_t ncoord) {
    sti__mesh *m = r->mesh;
    if (ncoord == 0 || m->nface == 0) return STI_OK;
    if (ncoord > INT_MAX / 3) return sti__mesh_refuse(r, STI_LIMIT, 0, "too many texture coordinates");
    m->coord = sti__mesh_borrow(r, sti__size(ncoord, 2, sizeof(float)));
    if (!m->coord) return r->error->code;
    m->ncoord = (int)ncoord;
    m->face_coord = sti__mesh_borrow(r, sti__size(m->nface, 3, sizeof(int)));
    return m->face_coord ? STI_OK : r->error->code;
}

/* ---- checks for every source --------------------------------------------------------------------- */

static sti_status check_vertices(const sti__mesh_reader *r) {
    const sti__mesh *m = r->mesh;
    for (int i = 0; i < 3 * m->nvert; i++)
        if (!(fabs(m->vert[i]) <= MAX_COORDINATE))
            return sti__mesh_refuse(r, STI_MESH, 0, "a vertex is not finite or beyond 1e12");
    return STI_OK;
}

static sti_status check_faces(const sti__mesh_reader *r) {
    const sti__mesh *m = r->mesh;
    for (int i = 0; i < 3 * m->nface; i++)
        if (m->face[i] < 0 || m->face[i] >= m->nvert)
            return sti__mesh_refuse(r, STI_MESH, 0, "a face names a vertex that does not exist");
    for (int i = 0; m->face_coord && i < 3 * m->nface; i++)
        if (m->face_coord[i] < 0 || m->face_coord[i] >= m->ncoord)
            return sti__mesh_refuse(r, STI_MESH, 0, "a face names texture coordinates that do not exist");
    for (int i = 0; m->coord && i < 2 * m->ncoord; i++)
        if (!(fabsf(m->coord[i]) <= 1e6f)) m->coord[i] = 0;
    return STI_OK;
}

/* A cloud of points gets the faces of its hull. */
static sti_status faces_from_hull(sti__mesh_reader *r) {
    sti__mesh *m = r->mesh;
    if (m->nface > 0) return STI_OK;
    sti_status status = sti__mesh_hull(m, 0, r->place, r->error);
    if (status == STI_OK) status = reserve_faces(r, (size_t)m->nhullface);
    if (status == STI_OK) memcpy(m->face, m->hull_face, (size_t)m->nface * 3 * sizeof(int));
    return status;
}

sti_status sti__mesh_check(sti__mesh_reader *r) {
    sti_status status = check_vertices(r);
    if (status == STI_OK) status = check_faces(r);
    if (status == STI_OK) status = faces_from_hull(r);
    return status;
}

/* ---- sources --------------------------------------------------------------------------------------- */

void sti__mesh_clear(sti__mesh *mesh, const sti_allocator *allocator) {
    memset(mesh, 0, sizeof *mesh);
    mesh->allocator = allocator;
    mesh->scale[0] = mesh->scale[1] = mesh->scale[2] = 1;
}

static bool has_extension(const char *name, const char *extension) {
    size_t n = strlen(name), k = strlen(extension);
    if (n < k) return false;
    for (size_t i = 0; i < k; i++) {
        char c = name[n - k + i];
        if ((c >= 'A' && c <= 'Z' ? c + 32 : c) != extension[i]) return false;
    }
    return true;
}

sti_status sti__mesh_decode(const void *data, size_t size, const char *name, size_t *memory,
                            const sti_allocator *allocator, sti__place place, sti__mesh *mesh,
                            sti_error *error) {
    sti_error scratch;
    sti__mesh_reader r = {data, size, name, memory, place, error ? error : &scratch, mesh};
    sti_status status;
    sti__mesh_clear(mesh, allocator);
    if (has_extension(name, ".stl")) status = sti__mesh_read_stl(&r);
    else if (has_extension(name, ".obj")) status = sti__mesh_read_obj(&r);
    else if (has_extension(name, ".msh")) status = sti__mesh_read_msh(&r);
    else status = sti__mesh_refuse(&r, STI_UNSUPPORTED, 0, "only .stl, .obj and .msh meshes are supported");
    if (status == STI_OK) status = sti__mesh_check(&r);
    if (status != STI_OK) sti__mesh_free(mesh);
    return status;
}

/* Integers written as reals; what is none becomes -1, which no check lets pass. */
static int to_index(double x) { return x >= 0 && x <= INT_MAX && x == (double)(int)x ? (int)x : -1; }

static sti_status copy_lists(sti__mesh_reader *r, const double *vert, int nvert3, const double *face,
                             int nface3) {
    if (nvert3 % 3 || nface3 % 3 || nvert3 < 0 || nface3 < 0)
        return sti__mesh_refuse(r, STI_VALUE, 0, "vertex and face must hold a multiple of 3 numbers");
    sti_status status = sti__mesh_reserve(r, (size_t)nvert3 / 3, (size_t)nface3 / 3);
    if (status != STI_OK) return status;
    /* single precision, as from a file */
    for (int i = 0; i < nvert3; i++) r->mesh->vert[i] = (float)vert[i];
    for (int i = 0; i < nface3; i++) r->mesh->face[i] = to_index(face[i]);
    return sti__mesh_check(r);
}

sti_status sti__mesh_from_lists(const double *vert, int nvert3, const double *face, int nface3,
                                const sti_allocator *allocator, sti__place place, sti__mesh *mesh,
                                sti_error *error) {
    sti_error scratch;
    size_t memory = SIZE_MAX;
    sti__mesh_reader r = {NULL, 0, "vertex", &memory, place, error ? error : &scratch, mesh};
    sti__mesh_clear(mesh, allocator);
    sti_status status = copy_lists(&r, vert, nvert3, face, nface3);
    if (status != STI_OK) sti__mesh_free(mesh);
    return status;
}

sti_status sti__mesh_coords(sti__mesh *mesh, const double *coord, int ncoord2, sti__place place,
                            sti_error *error) {
    sti_error scratch;
    size_t memory = SIZE_MAX;
    sti__mesh_reader r = {NULL, 0, "texcoord", &memory, place, error ? error : &scratch, mesh};
    if (ncoord2 != 2 * mesh->nvert)
        return sti__mesh_refuse(&r, STI_VALUE, 0, "two numbers are needed for each vertex");
    sti_status status = sti__mesh_reserve_coords(&r, (size_t)mesh->nvert);
    if (status != STI_OK || !mesh->coord) return status;
    for (int i = 0; i < ncoord2; i++) mesh->coord[i] = (float)coord[i];
    memcpy(mesh->face_coord, mesh->face, (size_t)mesh->nface * 3 * sizeof(int));
    return check_faces(&r);
}

void sti__mesh_free(sti__mesh *mesh) {
    const sti_allocator *a = mesh->allocator;
    sti__free(a, mesh->coord, (size_t)mesh->ncoord * 2 * sizeof(float));
    sti__free(a, mesh->face_coord, (size_t)mesh->nface * 3 * sizeof(int));
    sti__free(a, mesh->vert, (size_t)mesh->nvert * 3 * sizeof(double));
    sti__free(a, mesh->face, (size_t)mesh->nface * 3 * sizeof(int));
    sti__free(a, mesh->hull_vert, (size_t)mesh->nhullvert * sizeof(int));
    sti__free(a, mesh->hull_face, (size_t)mesh->nhullface * 3 * sizeof(int));
    sti__mesh_clear(mesh, a);
}

/* ---- transformation ---------------------------------------------------------------------------------- */

static void turn_over(int *face, int nface) {
    for (int f = 0; f < nface; f++) {
        int t = face[3 * f + 1];
        face[3 * f + 1] = face[3 * f + 2];
        face[3 * f + 2] = t;
    }
}

void sti__mesh_transform(sti__mesh *mesh, const double scale[3], const double pos[3], const double quat[4]) {
    static const double one[3] = {1, 1, 1}, zero[3] = {0, 0, 0}, identity[4] = {1, 0, 0, 0};
    const double *s = scale ? scale : one, *p = pos ? pos : zero;
    double q[4], r[9];
    quat_copy(q, quat ? quat : identity);
    quat_normalize(q);
    quat_to_mat(r, q);
    for (int i = 0; i < mesh->nvert; i++) {
        double *v = mesh->vert + 3 * (size_t)i, d[3], t[3];
        v3_sub(d, v, p);
        m3_mul_vec_t(t, r, d);
        for (int k = 0; k < 3; k++) v[k] = s[k] * t[k];
    }
    for (int k = 0; k < 3; k++) mesh->scale[k] *= s[k];
    if (s[0] * s[1] * s[2] >= 0) return;
    turn_over(mesh->face, mesh->nface);
    if (mesh->face_coord) turn_over(mesh->face_coord, mesh->nface);
    turn_over(mesh->hull_face, mesh->nhullface);
}
