/* SPDX-License-Identifier: Apache-2.0 */
/* _core.Model: loading, fields, options. */
#include "objects.h"
#include <stddef.h>
#include <string.h>

static void model_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    core_model *m = (core_model *)self;
    sti_model_free(m->model);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *diagnostic(const sti_diagnostic *d) {
    char line[1024];
    return Py_BuildValue("{s:s,s:s,s:N,s:i,s:N,s:N,s:N,s:N}", "severity",
                         d->severity == STI_SEVERITY_ERROR ? "error" : "warning", "code",
                         sti_status_name(d->error.code), "file", core_text(d->error.file), "line",
                         d->error.line, "element", core_text(d->error.element), "attribute",
                         core_text(d->error.attribute), "message", core_text(d->error.message), "text",
                         core_text(sti_error_format(&d->error, line, sizeof line)));
}

PyObject *core_report(const sti_report *report) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < report->count; i++) {
        PyObject *item = diagnostic(&report->items[i]);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

void core_assets_free(core_assets *list) {
    for (int i = 0; i < list->count; i++) PyBuffer_Release(&list->views[i]);
    PyMem_Free(list->items);
    PyMem_Free(list->views);
    Py_CLEAR(list->pairs);
}

int core_assets_fill(core_assets *list, PyObject *dict) {
    memset(list, 0, sizeof *list);
    if (!dict || dict == Py_None) return 0;
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "assets must be a dict of name: bytes");
        return -1;
    }
    list->pairs = PyDict_Items(dict);
    if (!list->pairs) return -1;
    Py_ssize_t n = PyList_Size(list->pairs);
    list->items = PyMem_Calloc((size_t)n + 1, sizeof *list->items);
    list->views = PyMem_Calloc((size_t)n + 1, sizeof *list->views);
    if (!list->items || !list->views) {
        PyErr_NoMemory();
        return -1;
    }
    for (; list->count < n; list->count++) {
        PyObject *pair = PyList_GetItem(list->pairs, list->count);
        Py_buffer *view = &list->views[list->count];
        const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(pair, 0), NULL);
        if (!name || PyObject_GetBuffer(PyTuple_GetItem(pair, 1), view, PyBUF_SIMPLE) < 0) return -1;
        list->items[list->count] = (sti_asset){name, view->buf, (size_t)view->len};
    }
    return 0;
}

PyObject *core_wrap_model(core_state *s, sti_model *model) {
    core_model *m = PyObject_New(core_model, s->model);
    if (!m) {
        sti_model_free(model);
        return NULL;
    }
    m->model = model;
    m->shown = false;
    m->running = 0;
    m->opt = model->opt;
    return (PyObject *)m;
}

/* load(path as bytes or None, xml or None, assets, allow_outside (a bool, or a folder as bytes), check, memory_limit, element_limit) -> (Model or None,
   diagnostics); raises stiction.Error unless check is true. Limits: 0 = the standard ones. */
PyObject *core_load(PyObject *module, PyObject *args) {
    const char *path = NULL, *xml = NULL;
    Py_ssize_t xml_size = 0, memory = 0, elements = 0;
    PyObject *place = NULL, *dict = NULL, *outside = NULL;
    int check = 0;
    if (!PyArg_ParseTuple(args, "Oz#OOp|nn", &place, &xml, &xml_size, &dict, &outside, &check, &memory,
                          &elements))
        return NULL;
    if (memory < 0 || elements < 0) {
        PyErr_SetString(PyExc_ValueError, "memory_limit and element_limit must not be negative");
        return NULL;
    }
    if (place != Py_None && !(path = core_path(place))) return NULL;
    const char *root = NULL;
    if (PyBytes_Check(outside) && !(root = core_path(outside))) return NULL;
    int anywhere = root ? 0 : PyObject_IsTrue(outside);
    if (anywhere < 0) return NULL;
    core_state *s = core_state_of(module);
    core_assets assets;
    if (core_assets_fill(&assets, dict) < 0) {
        core_assets_free(&assets);
        return NULL;
    }
    sti_load_options options = sti_load_options_default();
    options.assets = assets.items;
    options.nasset = assets.count;
    options.allow_outside = anywhere;
    options.root = root;
    options.memory_limit = (size_t)memory;
    options.element_limit = (size_t)elements;
    sti_report report;
    sti_error error = {0};
    sti_report_init(&report, NULL);
    sti_model *model = NULL;
    Py_BEGIN_ALLOW_THREADS if (path) { model = sti_model_load(path, &options, &report, &error); }
    else {
        sti_spec *spec = sti_spec_parse(xml, (size_t)xml_size, &options, &report, &error);
        if (spec) model = sti_model_compile(spec, &report, &error);
        sti_spec_free(spec);
    }
    if (model && check) sti_model_check_overlaps(model, &report, &error);
    Py_END_ALLOW_THREADS core_assets_free(&assets);
    PyObject *list = core_report(&report);
    sti_report_free(&report);
    if (!list || (!model && !check)) {
        sti_model_free(model);
        Py_XDECREF(list);
        return list ? core_error(s, &error) : NULL;
    }
    if (!model) return Py_BuildValue("ON", Py_None, list);
    PyObject *m = core_wrap_model(s, model);
    if (!m) Py_DECREF(list);
    return m ? Py_BuildValue("NN", m, list) : NULL;
}

bool core_model_update(core_state *s, PyObject *model) {
    core_model *m = (core_model *)model;
    sti_error error = {0};
    if (!m->shown || !sti_model_changed(m->model)) return true;
    if (m->running > 0)
        PyErr_SetString(PyExc_RuntimeError, "the model was changed while another thread steps with it: wait "
                                            "for that thread, or give each its own copy");
    else if (sti_model_update(m->model, &error) == STI_OK) return true;
    else core_error(s, &error);
    return false;
}

static PyObject *model_update(PyObject *self, PyObject *unused) {
    (void)unused;
    return core_model_update(core_state_of_type(Py_TYPE(self)), self) ? Py_NewRef(Py_None) : NULL;
}

/* may_write(name) -> None, or why a field cannot be written and what to do. */
static PyObject *model_may_write(PyObject *self, PyObject *name) {
    (void)self;
    const char *field = PyUnicode_AsUTF8AndSize(name, NULL);
    sti_error error = {0};
    if (!field) return NULL;
    if (sti_model_may_write(field, &error) == STI_OK) Py_RETURN_NONE;
    return core_text(error.message);
}

PyObject *core_pack(core_state *s, const sti_model *model) {
    size_t size = sti_model_pack_size(model);
    sti_error error = {0};
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)size);
    if (bytes && sti_model_pack(model, PyBytes_AsString(bytes), size, &error) != STI_OK) {
        Py_DECREF(bytes);
        return core_error(s, &error);
    }
    return bytes;
}

static PyObject *model_pack(PyObject *self, PyObject *unused) {
    (void)unused;
    core_state *s = core_state_of_type(Py_TYPE(self));
    return core_model_update(s, self) ? core_pack(s, ((core_model *)self)->model) : NULL;
}

PyObject *core_unpack(PyObject *module, PyObject *bytes) {
    core_state *s = core_state_of(module);
    Py_buffer b;
    sti_error error = {0};
    if (PyObject_GetBuffer(bytes, &b, PyBUF_SIMPLE) < 0) return NULL;
    sti_model *model = sti_model_unpack(b.buf, (size_t)b.len, NULL, &error);
    PyBuffer_Release(&b);
    return model ? core_wrap_model(s, model) : core_error(s, &error);
}

static PyObject *model_copy(PyObject *self, PyObject *unused) {
    (void)unused;
    core_state *s = core_state_of_type(Py_TYPE(self));
    if (!core_model_update(s, self)) return NULL;
    sti_error error = {0};
    sti_model *copy = sti_model_copy(((core_model *)self)->model, &error);
    PyObject *m = copy ? core_wrap_model(s, copy) : core_error(s, &error);
    if (m) ((core_model *)m)->opt = ((core_model *)self)->opt;
    return m;
}

static PyObject *model_size(PyObject *self, PyObject *name) {
    const char *text_name = PyUnicode_AsUTF8AndSize(name, NULL);
    return text_name ? PyLong_FromLong(sti_model_size(((core_model *)self)->model, text_name)) : NULL;
}

static PyObject *model_view(PyObject *self, PyObject *name) {
    const char *field = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!field) return NULL;
    sti_view v = sti_model_view(((core_model *)self)->model, field);
    if (v.type == 0) Py_RETURN_NONE;
    v.writable = sti_model_may_write(field, NULL) == STI_OK;
    ((core_model *)self)->shown |= v.writable;
    PyObject *array = core_array_new(core_state_of_type(Py_TYPE(self)), self, v);
    /* as many numbers as the file says: a matrix, be it of one column */
    const char *last = strrchr(field, '_');
    if (array && last && strcmp(last, "_user") == 0) ((core_array *)array)->ndim = 2;
    return array;
}

static PyObject *model_id(PyObject *self, PyObject *args) {
    int kind;
    const char *name;
    if (!PyArg_ParseTuple(args, "is", &kind, &name)) return NULL;
    return PyLong_FromLong(sti_model_id(((core_model *)self)->model, (sti_object)kind, name));
}

static PyObject *model_name(PyObject *self, PyObject *args) {
    int kind, id;
    if (!PyArg_ParseTuple(args, "ii", &kind, &id)) return NULL;
    return core_text(sti_model_name(((core_model *)self)->model, (sti_object)kind, id));
}

static PyObject *model_title(PyObject *self, PyObject *unused) {
    (void)unused;
    return core_text(((core_model *)self)->model->title);
}

static PyObject *model_hash(PyObject *self, PyObject *unused) {
    (void)unused;
    if (!core_model_update(core_state_of_type(Py_TYPE(self)), self)) return NULL;
    return PyLong_FromUnsignedLongLong(sti_model_hash(((core_model *)self)->model));
}

/* The members of sti_option, statistic and visual, by name: X(name, type code, count, offset). */
typedef struct member {
    const char *name;
    char type; /* d or i */
    int count;
    size_t offset;
} member;
#define OPT(name, type, count) \
    { #name, type, count, offsetof(sti_option, name) }
static const member option_members[] = {OPT(timestep, 'd', 1),       OPT(gravity, 'd', 3),
                                        OPT(wind, 'd', 3),           OPT(magnetic, 'd', 3),
                                        OPT(density, 'd', 1),        OPT(viscosity, 'd', 1),
                                        OPT(impratio, 'd', 1),       OPT(tolerance, 'd', 1),
                                        OPT(ls_tolerance, 'd', 1),   OPT(sleep_tolerance, 'd', 1),
                                        OPT(iterations, 'i', 1),     OPT(ls_iterations, 'i', 1),
                                        OPT(sdf_iterations, 'i', 1), OPT(sdf_initpoints, 'i', 1),
                                        OPT(integrator, 'i', 1),     OPT(cone, 'i', 1),
                                        OPT(solver, 'i', 1),         OPT(disableflags, 'i', 1),
                                        OPT(enableflags, 'i', 1),    OPT(disableactuator, 'i', 1),
                                        OPT(handlers, 'i', 1),
#define X(type, name, attribute, least, most, text) OPT(name, CODE_##type, 1),
                                        STI_OWN_OPTIONS(X)
#undef X
};
#define STAT(name, type, count) \
    { #name, type, count, offsetof(sti_statistic, name) }
static const member stat_members[] = {STAT(meaninertia, 'd', 1), STAT(meanmass, 'd', 1),
                                      STAT(meansize, 'd', 1), STAT(extent, 'd', 1), STAT(center, 'd', 3)};

#define VIS(name, type) \
    { #name, type, 1, offsetof(sti_visual, name) }
static const member visual_members[] = {VIS(fovy, 'd'), VIS(azimuth, 'd'), VIS(elevation, 'd'),
                                        VIS(offwidth, 'i'), VIS(offheight, 'i')};

/* The members of opt, stat or vis, and where they are in the model. */
static const member *members_of(const char *which, core_model *model, int *count, char **base) {
    if (strcmp(which, "opt") == 0) {
        *count = (int)(sizeof option_members / sizeof *option_members);
        *base = (char *)&model->opt;
        return option_members;
    }
    if (strcmp(which, "vis") == 0) {
        *count = (int)(sizeof visual_members / sizeof *visual_members);
        *base = (char *)&model->model->vis;
        return visual_members;
    }
    *count = (int)(sizeof stat_members / sizeof *stat_members);
    *base = (char *)&model->model->stat;
    return stat_members;
}

/* struct_view(which, name) -> Array: a live view on one member of opt (writable), stat or vis. */
static PyObject *model_struct_view(PyObject *self, PyObject *args) {
    const char *which, *name;
    if (!PyArg_ParseTuple(args, "ss", &which, &name)) return NULL;
    int n;
    char *base;
    const member *members = members_of(which, (core_model *)self, &n, &base);
    for (int i = 0; i < n; i++) {
        if (strcmp(members[i].name, name) != 0) continue;
        sti_view v = {base + members[i].offset, members[i].count, 1, members[i].type,
                      members == option_members};
        return core_array_new(core_state_of_type(Py_TYPE(self)), self, v);
    }
    Py_RETURN_NONE;
}

/* option_idle(name) -> why an option has no effect beside the others, or None. */
static PyObject *model_option_idle(PyObject *self, PyObject *args) {
    const char *name;
    if (!PyArg_ParseTuple(args, "s", &name)) return NULL;
    return Py_BuildValue("z", sti_option_idle(&((core_model *)self)->opt, name));
}

/* struct_names(which) -> list of the members' names. */
static PyObject *model_struct_names(PyObject *self, PyObject *args) {
    const char *which;
    if (!PyArg_ParseTuple(args, "s", &which)) return NULL;
    int n;
    char *base;
    const member *members = members_of(which, (core_model *)self, &n, &base);
    PyObject *names = PyList_New(n);
    for (int i = 0; names && i < n; i++) {
        PyObject *name = PyUnicode_FromString(members[i].name);
        if (!name || PyList_SetItem(names, i, name) < 0) Py_CLEAR(names);
    }
    return names;
}

static PyMethodDef model_methods[] = {
    {"size", model_size, METH_O, "a size by name, -1 if unknown"},
    {"view", model_view, METH_O, "a field by name, None if unknown"},
    {"id", model_id, METH_VARARGS, "id of a named object"},
    {"name", model_name, METH_VARARGS, "name of an object"},
    {"title", model_title, METH_NOARGS, "mujoco@model"},
    {"hash", model_hash, METH_NOARGS, "64-bit hash"},
    {"copy", model_copy, METH_NOARGS, "an independent model"},
    {"update", model_update, METH_NOARGS, "carries over what was written into fields"},
    {"may_write", model_may_write, METH_O, "why a field cannot be written, or None"},
    {"pack", model_pack, METH_NOARGS, "the model as bytes"},
    {"option_idle", model_option_idle, METH_VARARGS, "why an option has no effect, or None"},
    {"struct_view", model_struct_view, METH_VARARGS, "a member of opt, stat or vis"},
    {"struct_names", model_struct_names, METH_VARARGS, "the members of opt, stat or vis"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot model_slots[] = {
    {Py_tp_dealloc, model_dealloc}, {Py_tp_methods, model_methods}, {0, NULL}};
PyType_Spec core_model_spec = {"stiction._core.Model", sizeof(core_model), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, model_slots};
