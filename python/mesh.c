/* SPDX-License-Identifier: Apache-2.0 */
/* stiction._core: meshes of tetrahedra. Arguments are made ready in stiction/mesh.py. */
#include "core.h"
#include <string.h>

/* tets(kind, points, cells, edge, nodes, open, max_volume, max_hausdorff, max_tet): kind "fill" takes triangles, "check"
   tetrahedra, as bytes of doubles and ints; kind "load" takes a path instead of points. */
typedef struct request {
    const char *kind, *path;
    Py_buffer point, cell;
    sti_tetmesh_options options;
    sti_tetmesh_info info;
    sti_error error;
} request;

static sti_tetmesh *answer(request *r) {
    int npoint = (int)(r->point.len / (Py_ssize_t)(3 * sizeof(double)));
    bool fill = strcmp(r->kind, "fill") == 0;
    int ncell = (int)(r->cell.len / (Py_ssize_t)((fill ? 3 : 4) * sizeof(int)));
    if (r->path) return sti_tetmesh_load(r->path, &r->options, &r->info, &r->error);
    return fill ? sti_tetmesh_fill(npoint, r->point.buf, ncell, r->cell.buf, &r->options, &r->info, &r->error)
                : sti_tetmesh_create(npoint, r->point.buf, ncell, r->cell.buf, &r->options, &r->info,
                                     &r->error);
}

static PyObject *describe(const sti_tetmesh_info *i) {
    PyObject *own = Py_BuildValue("{s:d,s:d,s:d,s:d,s:d,s:d,s:i,s:i}", "volume", i->volume, "min_dihedral",
                                  i->min_dihedral, "max_dihedral", i->max_dihedral, "min_edge", i->min_edge,
                                  "mean_edge", i->mean_edge, "max_edge", i->max_edge, "turned_tets",
                                  i->turned_tets, "dropped_nodes", i->dropped_nodes);
    if (!own || !i->filled) return own;
    PyObject *more = Py_BuildValue(
        "{s:d,s:d,s:d,s:d,s:O,s:i,s:i,s:i,s:i}", "edge", i->edge, "surface_volume", i->surface_volume,
        "volume_error", i->volume_error, "hausdorff", i->hausdorff, "turned", i->turned ? Py_True : Py_False,
        "welded", i->welded, "dropped", i->dropped, "open_edges", i->open_edges, "crossings", i->crossings);
    if (!more || PyDict_Update(own, more) < 0) Py_CLEAR(own);
    Py_XDECREF(more);
    return own;
}

/* Arrays as bytes: nodes, tets, surface triangles. */
static PyObject *unpack(const sti_tetmesh *m, const sti_tetmesh_info *info) {
    return Py_BuildValue("y#y#y#N", (const char *)m->node,
                         (Py_ssize_t)m->nnode * 3 * (Py_ssize_t)sizeof(double), (const char *)m->tet,
                         (Py_ssize_t)m->ntet * 4 * (Py_ssize_t)sizeof(int), (const char *)m->tri,
                         (Py_ssize_t)m->ntri * 3 * (Py_ssize_t)sizeof(int), describe(info));
}

static PyObject *raise_error(PyObject *module, const sti_error *error) {
    PyObject *type = PyObject_GetAttrString(module, "Error");
    if (type) core_raise(type, error);
    Py_XDECREF(type);
    return NULL;
}

static PyObject *core_tets(PyObject *module, PyObject *args) {
    request r = {.options = sti_tetmesh_options_default()};
    int open;
    sti_tetmesh_options *o = &r.options;
    if (!PyArg_ParseTuple(args, "szy*y*dipddi", &r.kind, &r.path, &r.point, &r.cell, &o->edge, &o->nodes,
                          &open, &o->max_volume, &o->max_hausdorff, &o->max_tet))
        return NULL;
    o->open = open;
    sti_tetmesh *mesh;
    Py_BEGIN_ALLOW_THREADS mesh = answer(&r);
    Py_END_ALLOW_THREADS PyBuffer_Release(&r.point);
    PyBuffer_Release(&r.cell);
    if (!mesh) return raise_error(module, &r.error);
    PyObject *result = unpack(mesh, &r.info);
    sti_tetmesh_free(mesh);
    return result;
}

/* tets_save(points, cells, path) and tets_depth(points, cells) */
static sti_tetmesh *rebuild(Py_buffer *point, Py_buffer *cell, sti_error *error) {
    sti_tetmesh_options o = sti_tetmesh_options_default();
    o.max_tet = INT32_MAX / 4;
    return sti_tetmesh_create((int)(point->len / (Py_ssize_t)(3 * sizeof(double))), point->buf,
                              (int)(cell->len / (Py_ssize_t)(4 * sizeof(int))), cell->buf, &o, NULL, error);
}

static PyObject *core_tets_save(PyObject *module, PyObject *args) {
    Py_buffer point, cell;
    const char *path;
    sti_error error = {0};
    if (!PyArg_ParseTuple(args, "y*y*s", &point, &cell, &path)) return NULL;
    sti_tetmesh *mesh = rebuild(&point, &cell, &error);
    bool good = mesh && sti_tetmesh_save(mesh, path, &error) == STI_OK;
    sti_tetmesh_free(mesh);
    PyBuffer_Release(&point);
    PyBuffer_Release(&cell);
    return good ? Py_NewRef(Py_None) : raise_error(module, &error);
}

static PyObject *core_tets_depth(PyObject *module, PyObject *args) {
    Py_buffer point, cell;
    sti_error error = {0};
    if (!PyArg_ParseTuple(args, "y*y*", &point, &cell)) return NULL;
    sti_tetmesh *mesh = rebuild(&point, &cell, &error);
    PyObject *result =
        mesh ? PyBytes_FromStringAndSize(NULL, (Py_ssize_t)mesh->nnode * (Py_ssize_t)sizeof(double)) : NULL;
    bool good =
        result && sti_tetmesh_depth(mesh, (double *)(void *)PyBytes_AsString(result), &error) == STI_OK;
    sti_tetmesh_free(mesh);
    PyBuffer_Release(&point);
    PyBuffer_Release(&cell);
    if (good) return result;
    Py_XDECREF(result);
    return error.code ? raise_error(module, &error) : NULL;
}

static PyMethodDef functions[] = {
    {"tets", core_tets, METH_VARARGS, "a mesh of tetrahedra: points, cells, surface, info"},
    {"tets_save", core_tets_save, METH_VARARGS, "a mesh of tetrahedra to a file"},
    {"tets_depth", core_tets_depth, METH_VARARGS, "depth of the nodes"},
    {NULL, NULL, 0, NULL}};

int core_add_mesh(PyObject *module) { return PyModule_AddFunctions(module, functions); }
