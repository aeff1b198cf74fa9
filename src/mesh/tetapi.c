/* SPDX-License-Identifier: Apache-2.0 */
/* The public face of tetrahedral meshes. */
#include "base/file.h"
#include "mesh/pressure.h"
#include "mesh/stuff.h"
#include "mesh/tetfile.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <stiction/tetmesh.h>
#include <unistd.h>

#define COOKIE 0x7465746d65736831ull
#define MAX_FILE ((size_t)1 << 30)
#define MAX_MEMORY ((size_t)4 << 30)

/* The public part comes first, so that one pointer is both. */
typedef struct handle {
    sti_tetmesh view;
    sti__tetmesh mesh;
} handle;

sti_tetmesh_options sti_tetmesh_options_default(void) {
    return (sti_tetmesh_options){
        .nodes = 1000, .max_volume = 0.1, .max_hausdorff = 1, .max_tet = STI__TET_MAX, .cookie = COOKIE};
}

/* ---- handles --------------------------------------------------------------------------------------------------- */

typedef struct job {
    sti_tetmesh_options options;
    sti_tetmesh_info info;
    sti__place place;
    sti_error *error;
} job;

static bool begin(job *j, const sti_tetmesh_options *options, const char *path, sti_error *error) {
    *j = (job){.options = options ? *options : sti_tetmesh_options_default(),
               .place = {.file = path},
               .error = error};
    if (j->options.cookie == COOKIE) return true;
    sti__fail(error, STI_ARGUMENT, "the options did not come from sti_tetmesh_options_default");
    return false;
}

static sti__tetmesh_options inner_options(const job *j) {
    return (sti__tetmesh_options){.turn = true,
                                  .drop = true,
                                  .max_tet = j->options.max_tet,
                                  .allocator = j->options.allocator,
                                  .place = j->place};
}

static void describe(job *j, const sti__tetmesh *mesh, const sti__tetmesh_report *report) {
    sti__tetmesh_quality q;
    sti_tetmesh_info *i = &j->info;
    sti__tetmesh_measure(mesh, &q);
    i->volume = sti__tetmesh_volume(mesh);
    i->min_dihedral = q.min_dihedral;
    i->max_dihedral = q.max_dihedral;
    i->min_edge = q.min_edge;
    i->mean_edge = q.mean_edge;
    i->max_edge = q.max_edge;
    i->turned_tets = report->turned;
    i->dropped_nodes = report->dropped;
}

static void describe_filling(job *j, const sti__stuff_report *r) {
    sti_tetmesh_info *i = &j->info;
    i->filled = true;
    i->edge = r->edge;
    i->surface_volume = r->surface.volume;
    i->volume_error = r->volume_error;
    i->hausdorff = r->hausdorff;
    i->turned = r->surface.turned;
    i->welded = r->surface.welded;
    i->dropped = r->surface.dropped;
    i->open_edges = r->surface.open_edges;
    i->crossings = r->surface.crossings;
}

/* Takes the mesh over. */
static sti_tetmesh *wrap(job *j, sti__tetmesh *mesh, const sti__tetmesh_report *report) {
    handle *h = sti__alloc(j->options.allocator, sizeof *h);
    if (!h) {
        sti__tetmesh_free(mesh);
        sti__fail_at(j->error, j->place, STI_NO_MEMORY, "out of memory for the tetrahedral mesh");
        return NULL;
    }
    describe(j, mesh, report);
    h->mesh = *mesh;
    h->view =
        (sti_tetmesh){mesh->nnode, mesh->ntet, mesh->ntri, mesh->node, mesh->tet, mesh->tri, mesh->tri_tet};
    return &h->view;
}

void sti_tetmesh_free(sti_tetmesh *mesh) {
    if (!mesh) return;
    handle *h = (handle *)mesh;
    const sti_allocator *a = h->mesh.allocator;
    sti__tetmesh_free(&h->mesh);
    sti__free(a, h, sizeof *h);
}

/* ---- sources --------------------------------------------------------------------------------------------------- */

static sti_tetmesh *create(job *j, int nnode, const double *node, int ntet, const int *tet) {
    sti__tetmesh mesh;
    sti__tetmesh_report report;
    sti__tetmesh_options o = inner_options(j);
    if (sti__tetmesh_create(nnode, node, ntet, tet, &o, &mesh, &report, j->error) != STI_OK) return NULL;
    return wrap(j, &mesh, &report);
}

static sti_tetmesh *fill(job *j, int nvert, const double *vert, int ntri, const int *tri) {
    const sti_tetmesh_options *o = &j->options;
    sti__tetmesh mesh;
    sti__tetmesh_report none = {0};
    sti__stuff_report report;
    sti__stuff_options how = {.edge = o->edge,
                              .nodes = o->nodes,
                              .open = o->open,
                              .max_volume = o->max_volume,
                              .max_hausdorff = o->max_hausdorff,
                              .mesh = inner_options(j),
                              .progress = o->progress,
                              .context = o->context};
    sti_status status = sti__tetmesh_stuff(nvert, vert, ntri, tri, &how, &mesh, &report, j->error);
    describe_filling(j, &report);
    return status == STI_OK ? wrap(j, &mesh, &none) : NULL;
}

static sti_tetmesh *decode_tets(job *j, const void *data, size_t size, const char *path) {
    sti__tetmesh mesh;
    sti__tetmesh_report report;
    sti__tetmesh_options o = inner_options(j);
    o.place = (sti__place){0}; /* the reader names the file, and the line */
    if (sti__tetmesh_decode(data, size, path, MAX_MEMORY, &o, &mesh, &report, j->error) != STI_OK)
        return NULL;
    return wrap(j, &mesh, &report);
}

static sti_tetmesh *decode_surface(job *j, const void *data, size_t size, const char *path) {
    sti__mesh surface;
    size_t memory = MAX_MEMORY;
    sti__place nowhere = {0};
    if (sti__mesh_decode(data, size, path, &memory, j->options.allocator, nowhere, &surface, j->error) !=
        STI_OK)
        return NULL;
    sti_tetmesh *mesh = fill(j, surface.nvert, surface.vert, surface.nface, surface.face);
    sti__mesh_free(&surface);
    return mesh;
}

/* ---- files ----------------------------------------------------------------------------------------------------- */

static void *no_file(const job *j, const char *what, const char *why) {
    sti__fail_at(j->error, j->place, STI_FILE, "cannot be %s: %s", what, why);
    return NULL;
}

/* All of a file; NULL with an error set. */
static char *read_file(const job *j, const char *path, size_t *size) {
    uint64_t bytes;
    const char *why;
    int file = sti__file_open(path, &bytes, &why);
    char *data = NULL;
    if (file < 0) return no_file(j, "opened", why);
    *size = (size_t)bytes;
    if (bytes > MAX_FILE) sti__fail_at(j->error, j->place, STI_LIMIT, "the file is larger than 1 GiB");
    else if (!(data = sti__alloc(j->options.allocator, *size)))
        sti__fail_at(j->error, j->place, STI_NO_MEMORY, "out of memory for the file");
    else if ((why = sti__file_fill(file, data, *size))) {
        sti__free(j->options.allocator, data, *size);
        data = no_file(j, "read", why);
    }
    close(file);
    return data;
}

static sti_tetmesh *load(job *j, const char *path) {
    size_t size = 0;
    char *data = read_file(j, path, &size);
    if (!data) return NULL;
    sti_tetmesh *mesh = sti__tetmesh_known(data, size) ? decode_tets(j, data, size, path)
                                                       : decode_surface(j, data, size, path);
    sti__free(j->options.allocator, data, size);
    return mesh;
}

static bool ends_with(const char *name, const char *end) {
    size_t n = strlen(name), k = strlen(end);
    return n > k && strcmp(name + n - k, end) == 0;
}

static void *encode(const handle *h, const char *path, size_t *size, sti_error *error) {
    const sti__tetmesh *m = &h->mesh;
    if (!ends_with(path, ".vtk")) return sti__tetmesh_encode_gmsh(m, size);
    double *depth = sti__alloc(m->allocator, sti__size(m->nnode, sizeof(double)));
    bool deep = depth && sti_tetmesh_depth(&h->view, depth, error) == STI_OK;
    void *data = sti__tetmesh_encode_vtk(m, deep ? depth : NULL, size);
    sti__free(m->allocator, depth, (size_t)m->nnode * sizeof(double));
    return data;
}

sti_status sti_tetmesh_save(const sti_tetmesh *mesh, const char *path, sti_error *error) {
    const handle *h = (const handle *)mesh;
    sti__place place = {.file = path};
    sti_error ignored = {0};
    if (!ends_with(path, ".vtk") && !ends_with(path, ".msh"))
        return sti__fail_at(error, place, STI_ARGUMENT, "tetrahedra are written to .vtk or .msh files");
    size_t size;
    void *data = encode(h, path, &size, &ignored);
    if (!data) return sti__fail_at(error, place, STI_NO_MEMORY, "out of memory for the file");
    sti_status status = sti__file_replace(path, data, size, error);
    sti__free(h->mesh.allocator, data, size);
    return status;
}

/* ---------------------------------------------------------------------------------------------------------- */

sti_status sti_tetmesh_depth(const sti_tetmesh *mesh, double *depth, sti_error *error) {
    const handle *h = (const handle *)mesh;
    sti__place nowhere = {0};
    sti__pressure field;
    sti_status status = sti__pressure_field(&h->mesh, 1, NULL, h->mesh.allocator, nowhere, &field, error);
    if (status != STI_OK) return status;
    memcpy(depth, field.value, (size_t)mesh->nnode * sizeof(double));
    sti__pressure_free(&field);
    return STI_OK;
}

sti_tetmesh *sti_tetmesh_load(const char *path, const sti_tetmesh_options *options, sti_tetmesh_info *info,
                              sti_error *error) {
    job j;
    sti_error scratch = {0};
    sti_tetmesh *mesh = begin(&j, options, path, error ? error : &scratch) ? load(&j, path) : NULL;
    if (info) *info = j.info;
    return mesh;
}

sti_tetmesh *sti_tetmesh_create(int nnode, const double *node, int ntet, const int *tet,
                                const sti_tetmesh_options *options, sti_tetmesh_info *info,
                                sti_error *error) {
    job j;
    sti_error scratch = {0};
    bool good = begin(&j, options, NULL, error ? error : &scratch);
    sti_tetmesh *mesh = good ? create(&j, nnode, node, ntet, tet) : NULL;
    if (info) *info = j.info;
    return mesh;
}

sti_tetmesh *sti_tetmesh_fill(int nvert, const double *vert, int ntri, const int *tri,
                              const sti_tetmesh_options *options, sti_tetmesh_info *info, sti_error *error) {
    job j;
    sti_error scratch = {0};
    bool good = begin(&j, options, NULL, error ? error : &scratch);
    sti_tetmesh *mesh = good ? fill(&j, nvert, vert, ntri, tri) : NULL;
    if (info) *info = j.info;
    return mesh;
}
