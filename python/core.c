/* SPDX-License-Identifier: Apache-2.0 */
/* stiction._core: models, worlds and array views on CPython's limited API. Everything that does
   not touch memory of the library is Python, in stiction/__init__.py. */
#include "core.h"
#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

/* ---- objects -------------------------------------------------------------------------------- */

typedef struct core_state {
    PyObject *error; /* stiction.Error */
    PyTypeObject *model, *world, *array, *recorder;
} core_state;

typedef struct core_model {
    PyObject_HEAD sti_model *model;
    sti_option opt; /* what model.opt shows; worlds take it over, the model itself stays as it is */
} core_model;

typedef struct core_world {
    PyObject_HEAD sti_world *world;
    PyObject *model;  /* core_model, kept alive */
    sti_pool *pool;   /* its threads; NULL = the caller's alone */
    atomic_flag busy; /* a step runs without the GIL */
} core_world;

/* A buffer on memory inside a model or world, which it keeps alive. */
typedef struct core_array {
    PyObject_HEAD PyObject *owner;
    void *data;
    Py_ssize_t shape[2], strides[2];
    int ndim;
    bool writable;
    char format[2];
    Py_ssize_t item;
} core_array;

typedef struct core_recorder {
    PyObject_HEAD sti_recorder *recorder;
    PyObject *world;
} core_recorder;

static core_state *state_of(PyObject *module) { return PyModule_GetState(module); }
/* our types cannot be subclassed, so a type's module is this one */
static core_state *state_of_type(PyTypeObject *type) {
    PyObject *module = PyType_GetModule(type);
    return module ? state_of(module) : NULL;
}

/* ---- errors ----------------------------------------------------------------------------------- */

static PyObject *text(const char *s) {
    PyObject *r = PyUnicode_DecodeUTF8(s, (Py_ssize_t)strlen(s), "replace");
    return r;
}

static int set_attr(PyObject *object, const char *name, PyObject *value) {
    if (!value) return -1;
    int r = PyObject_SetAttrString(object, name, value);
    Py_DECREF(value);
    return r;
}

PyObject *core_raise(PyObject *type, const sti_error *e) {
    if (e->code == STI_NO_MEMORY) return PyErr_NoMemory();
    char line[1024];
    PyObject *message = text(sti_error_format(e, line, sizeof line));
    if (!message) return NULL;
    PyObject *exception = PyObject_CallFunctionObjArgs(type, message, NULL);
    Py_DECREF(message);
    if (!exception) return NULL;
    if (set_attr(exception, "code", text(sti_status_name(e->code))) == 0 &&
        set_attr(exception, "file", text(e->file)) == 0 &&
        set_attr(exception, "line", PyLong_FromLong(e->line)) == 0 &&
        set_attr(exception, "element", text(e->element)) == 0 &&
        set_attr(exception, "attribute", text(e->attribute)) == 0 &&
        set_attr(exception, "message", text(e->message)) == 0)
        PyErr_SetObject(type, exception);
    Py_DECREF(exception);
    return NULL;
}

static PyObject *raise_error(core_state *s, const sti_error *e) { return core_raise(s->error, e); }

/* The bytes of os.fsencode, which may be no text at all; NULL if a 0 is in them. */
static const char *path_of(PyObject *bytes) {
    char *path = NULL;
    return PyBytes_AsStringAndSize(bytes, &path, NULL) < 0 ? NULL : path;
}

/* ---- arrays ------------------------------------------------------------------------------------- */

static void array_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((core_array *)self)->owner);
    PyObject_Free(self);
    Py_DECREF(type);
}

static int array_getbuffer(PyObject *self, Py_buffer *view, int flags) {
    core_array *a = (core_array *)self;
    if ((flags & PyBUF_WRITABLE) && !a->writable) {
        PyErr_SetString(PyExc_BufferError, "this array is read only");
        return -1;
    }
    view->buf = a->data;
    view->obj = Py_NewRef(self);
    view->len = a->item * a->shape[0] * (a->ndim == 2 ? a->shape[1] : 1);
    view->itemsize = a->item;
    view->readonly = !a->writable;
    view->ndim = a->ndim;
    view->format = (flags & PyBUF_FORMAT) ? a->format : NULL;
    view->shape = (flags & PyBUF_ND) ? a->shape : NULL;
    view->strides = (flags & PyBUF_STRIDES) ? a->strides : NULL;
    view->suboffsets = NULL;
    view->internal = NULL;
    return 0;
}

static PyType_Slot array_slots[] = {
    {Py_tp_dealloc, array_dealloc},
    {Py_bf_getbuffer, array_getbuffer},
    {Py_tp_doc, "A window on an array of a model or world; use numpy.asarray on it."},
    {0, NULL}};
static PyType_Spec array_spec = {"stiction._core.Array", sizeof(core_array), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, array_slots};

/* One column becomes a vector. */
static PyObject *array_new(core_state *s, PyObject *owner, sti_view v) {
    static double nothing;
    core_array *a = PyObject_New(core_array, s->array);
    if (!a) return NULL;
    a->owner = Py_NewRef(owner);
    a->item = v.type == 'd' ? 8 : v.type == 'b' ? 1 : 4;
    a->format[0] = v.type == 'b' ? 'B' : v.type;
    a->format[1] = 0;
    a->data = v.data ? v.data : &nothing;
    a->writable = v.writable;
    a->ndim = v.cols == 1 ? 1 : 2;
    a->shape[0] = v.rows;
    a->shape[1] = v.cols;
    a->strides[0] = a->item * v.cols;
    a->strides[1] = a->item;
    return (PyObject *)a;
}

PyObject *core_window(PyObject *module, PyObject *owner, sti_view v) {
    return array_new(state_of(module), owner, v);
}

/* ---- model --------------------------------------------------------------------------------------- */

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
                         sti_status_name(d->error.code), "file", text(d->error.file), "line", d->error.line,
                         "element", text(d->error.element), "attribute", text(d->error.attribute), "message",
                         text(d->error.message), "text",
                         text(sti_error_format(&d->error, line, sizeof line)));
}

static PyObject *report_list(const sti_report *report) {
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < report->count; i++) {
        PyObject *item = diagnostic(&report->items[i]);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* dict of name -> bytes to sti_asset; buffers stay held in `views`. */
typedef struct asset_list {
    sti_asset *items;
    Py_buffer *views;
    int count;
} asset_list;

static void assets_free(asset_list *list) {
    for (int i = 0; i < list->count; i++) PyBuffer_Release(&list->views[i]);
    PyMem_Free(list->items);
    PyMem_Free(list->views);
}

static int assets_fill(asset_list *list, PyObject *dict) {
    memset(list, 0, sizeof *list);
    if (!dict || dict == Py_None) return 0;
    if (!PyDict_Check(dict)) {
        PyErr_SetString(PyExc_TypeError, "assets must be a dict of name: bytes");
        return -1;
    }
    Py_ssize_t n = PyDict_Size(dict), at = 0;
    list->items = PyMem_Calloc((size_t)n + 1, sizeof *list->items);
    list->views = PyMem_Calloc((size_t)n + 1, sizeof *list->views);
    if (!list->items || !list->views) {
        PyErr_NoMemory();
        return -1;
    }
    PyObject *key, *value;
    while (PyDict_Next(dict, &at, &key, &value)) {
        const char *name = PyUnicode_AsUTF8AndSize(key, NULL);
        if (!name || PyObject_GetBuffer(value, &list->views[list->count], PyBUF_SIMPLE) < 0) return -1;
        list->items[list->count] =
            (sti_asset){name, list->views[list->count].buf, (size_t)list->views[list->count].len};
        list->count++;
    }
    return 0;
}

/* Takes over the model, which is freed on failure. */
static PyObject *model_new(core_state *s, sti_model *model) {
    core_model *m = PyObject_New(core_model, s->model);
    if (!m) {
        sti_model_free(model);
        return NULL;
    }
    m->model = model;
    m->opt = model->opt;
    return (PyObject *)m;
}

/* load(path as bytes or None, xml or None, assets, allow_outside) -> (Model or None, diagnostics); raises
   stiction.Error unless check is true. */
static PyObject *core_load(PyObject *module, PyObject *args) {
    const char *path = NULL, *xml = NULL;
    Py_ssize_t xml_size = 0;
    PyObject *place = NULL, *dict = NULL;
    int outside = 0, check = 0;
    if (!PyArg_ParseTuple(args, "Oz#Opp", &place, &xml, &xml_size, &dict, &outside, &check)) return NULL;
    if (place != Py_None && !(path = path_of(place))) return NULL;
    core_state *s = state_of(module);
    asset_list assets;
    if (assets_fill(&assets, dict) < 0) {
        assets_free(&assets);
        return NULL;
    }
    sti_load_options options = sti_load_options_default();
    options.assets = assets.items;
    options.nasset = assets.count;
    options.allow_outside = outside;
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
    Py_END_ALLOW_THREADS assets_free(&assets);
    PyObject *list = report_list(&report);
    sti_report_free(&report);
    if (!list || (!model && !check)) {
        sti_model_free(model);
        Py_XDECREF(list);
        return list ? raise_error(s, &error) : NULL;
    }
    if (!model) return Py_BuildValue("ON", Py_None, list);
    PyObject *m = model_new(s, model);
    if (!m) Py_DECREF(list);
    return m ? Py_BuildValue("NN", m, list) : NULL;
}

static PyObject *model_copy(PyObject *self, PyObject *unused) {
    (void)unused;
    core_state *s = state_of_type(Py_TYPE(self));
    sti_error error = {0};
    sti_model *copy = sti_model_copy(((core_model *)self)->model, &error);
    PyObject *m = copy ? model_new(s, copy) : raise_error(s, &error);
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
    v.writable = false;
    return array_new(state_of_type(Py_TYPE(self)), self, v);
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
    return text(sti_model_name(((core_model *)self)->model, (sti_object)kind, id));
}

static PyObject *model_title(PyObject *self, PyObject *unused) {
    (void)unused;
    return text(((core_model *)self)->model->title);
}

static PyObject *model_hash(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyLong_FromUnsignedLongLong(sti_model_hash(((core_model *)self)->model));
}

/* The members of sti_option, statistic and visual, by name: X(name, type code, count, offset). */
typedef struct member {
    const char *name;
    char type; /* d or i */
    int count;
    size_t offset;
} member;
#define CODE_int 'i'
#define CODE_double 'd'
#define OPT(name, type, count) \
    { #name, type, count, offsetof(sti_option, name) }
static const member option_members[] = {
    OPT(timestep, 'd', 1),     OPT(gravity, 'd', 3),    OPT(wind, 'd', 3),          OPT(magnetic, 'd', 3),
    OPT(density, 'd', 1),      OPT(viscosity, 'd', 1),  OPT(impratio, 'd', 1),      OPT(tolerance, 'd', 1),
    OPT(ls_tolerance, 'd', 1), OPT(iterations, 'i', 1), OPT(ls_iterations, 'i', 1), OPT(integrator, 'i', 1),
    OPT(cone, 'i', 1),         OPT(solver, 'i', 1),     OPT(disableflags, 'i', 1),  OPT(enableflags, 'i', 1),
    OPT(handlers, 'i', 1),
#define X(type, name, attribute, least, most, text) OPT(name, CODE_##type, 1),
    STI_OWN_OPTIONS(X)
#undef X
};
#define STAT(name, type, count) \
    { #name, type, count, offsetof(sti_statistic, name) }
static const member stat_members[] = {STAT(meaninertia, 'd', 1), STAT(meanmass, 'd', 1),
                                      STAT(meansize, 'd', 1), STAT(extent, 'd', 1), STAT(center, 'd', 3)};

/* The members of opt or stat. */
static const member *members_of(const char *which, int *count) {
    bool opt = strcmp(which, "opt") == 0;
    *count = (int)(opt ? sizeof option_members / sizeof *option_members
                       : sizeof stat_members / sizeof *stat_members);
    return opt ? option_members : stat_members;
}

/* struct_view(which, name) -> Array: a live view on one member of opt (writable) or stat. */
static PyObject *model_struct_view(PyObject *self, PyObject *args) {
    const char *which, *name;
    if (!PyArg_ParseTuple(args, "ss", &which, &name)) return NULL;
    int n;
    const member *members = members_of(which, &n);
    bool opt = members == option_members;
    for (int i = 0; i < n; i++) {
        if (strcmp(members[i].name, name) != 0) continue;
        char *base = opt ? (char *)&((core_model *)self)->opt : (char *)&((core_model *)self)->model->stat;
        sti_view v = {base + members[i].offset, members[i].count, 1, members[i].type, opt};
        return array_new(state_of_type(Py_TYPE(self)), self, v);
    }
    Py_RETURN_NONE;
}

/* struct_names(which) -> list of the members' names. */
static PyObject *model_struct_names(PyObject *self, PyObject *args) {
    (void)self;
    const char *which;
    if (!PyArg_ParseTuple(args, "s", &which)) return NULL;
    int n;
    const member *members = members_of(which, &n);
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
    {"struct_view", model_struct_view, METH_VARARGS, "a member of opt or stat"},
    {"struct_names", model_struct_names, METH_VARARGS, "the members of opt or stat"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot model_slots[] = {
    {Py_tp_dealloc, model_dealloc}, {Py_tp_methods, model_methods}, {0, NULL}};
static PyType_Spec model_spec = {"stiction._core.Model", sizeof(core_model), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, model_slots};

/* ---- world --------------------------------------------------------------------------------------- */

static void world_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    core_world *w = (core_world *)self;
    sti_world_destroy(w->world);
    sti_pool_destroy(w->pool);
    Py_XDECREF(w->model);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* Takes over the world and its threads, which are destroyed on failure. */
static PyObject *wrap_world(core_state *s, sti_world *world, PyObject *model, sti_pool *pool) {
    core_world *w = PyObject_New(core_world, s->world);
    if (!w) {
        sti_world_destroy(world);
        sti_pool_destroy(pool);
        return NULL;
    }
    w->world = world;
    w->pool = pool;
    w->model = Py_NewRef(model);
    atomic_flag_clear(&w->busy);
    return (PyObject *)w;
}

static PyObject *core_world_new(PyObject *module, PyObject *args) {
    PyObject *model;
    int profile = 0, threads = 1;
    core_state *s = state_of(module);
    if (!PyArg_ParseTuple(args, "O!|pi", s->model, &model, &profile, &threads)) return NULL;
    sti_pool *pool = threads > 1 ? sti_pool_create(threads, NULL) : NULL;
    if (threads > 1 && !pool) return PyErr_NoMemory();
    sti_world_options options = sti_world_options_default();
    options.option = &((core_model *)model)->opt;
    options.profile = profile;
    if (pool) options.tasks = sti_pool_tasks(pool);
    sti_error error = {0};
    sti_world *world = sti_world_create(((core_model *)model)->model, &options, &error);
    if (world) return wrap_world(s, world, model, pool);
    sti_pool_destroy(pool);
    return raise_error(s, &error);
}

/* One caller at a time; the model's present options are taken over. */
static bool world_take(core_world *w) {
    if (atomic_flag_test_and_set(&w->busy)) {
        PyErr_SetString(PyExc_RuntimeError, "this Data is being stepped by another thread");
        return false;
    }
    *sti_world_option(w->world) = ((core_model *)w->model)->opt;
    return true;
}

sti_world *core_world_take(PyObject *world) {
    return world_take((core_world *)world) ? ((core_world *)world)->world : NULL;
}
void core_world_give(PyObject *world) { atomic_flag_clear(&((core_world *)world)->busy); }

static PyObject *world_done(core_world *w, sti_status status) {
    atomic_flag_clear(&w->busy);
    if (status == STI_OK) Py_RETURN_NONE;
    return raise_error(state_of_type(Py_TYPE((PyObject *)w)), sti_world_error(w->world));
}

static double seconds(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Steps for about a tenth of a second. */
static sti_status step_some(sti_world *world, long *left) {
    double start = seconds();
    sti_status status;
    do {
        int n = *left < 16 ? (int)*left : 16;
        status = sti_step(world, n);
        *left -= n;
    } while (status == STI_OK && *left > 0 && fabs(seconds() - start) < 0.1);
    return status;
}

static PyObject *world_step(PyObject *self, PyObject *arg) {
    core_world *w = (core_world *)self;
    long n = PyLong_AsLong(arg);
    if (n == -1 && PyErr_Occurred()) return NULL;
    if (n < 0) return PyErr_Format(PyExc_ValueError, "nstep must not be negative"), NULL;
    if (!world_take(w)) return NULL;
    sti_status status = STI_OK;
    bool stopped = false;
    do {
        Py_BEGIN_ALLOW_THREADS status = step_some(w->world, &n);
        Py_END_ALLOW_THREADS stopped = status == STI_OK && PyErr_CheckSignals() < 0;
    } while (status == STI_OK && n > 0 && !stopped);
    if (!stopped) return world_done(w, status);
    atomic_flag_clear(&w->busy);
    return NULL;
}

static PyObject *world_forward(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!world_take(w)) return NULL;
    sti_status status;
    Py_BEGIN_ALLOW_THREADS status = sti_forward(w->world);
    Py_END_ALLOW_THREADS return world_done(w, status);
}

static PyObject *world_reset(PyObject *self, PyObject *arg) {
    core_world *w = (core_world *)self;
    long key = PyLong_AsLong(arg);
    if (key == -1 && PyErr_Occurred()) return NULL;
    if (!world_take(w)) return NULL;
    return world_done(w, sti_world_reset(w->world, (int)key));
}

static PyObject *world_view(PyObject *self, PyObject *name) {
    const char *field = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!field) return NULL;
    core_world *w = (core_world *)self;
    if (!world_take(w)) return NULL;
    sti_view v = sti_world_view_named(w->world, field);
    atomic_flag_clear(&w->busy);
    if (v.type == 0) Py_RETURN_NONE;
    return array_new(state_of_type(Py_TYPE(self)), self, v);
}

static PyObject *world_mass_matrix(PyObject *self, PyObject *out) {
    core_world *w = (core_world *)self;
    int nv = sti_world_model(w->world)->nv;
    Py_buffer b;
    if (PyObject_GetBuffer(out, &b, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) return NULL;
    bool fits = b.len == (Py_ssize_t)sizeof(double) * nv * nv, mine = fits && world_take(w);
    if (mine) sti_world_mass_matrix(w->world, b.buf);
    PyBuffer_Release(&b);
    if (!fits) return PyErr_Format(PyExc_ValueError, "the array must be %d x %d doubles", nv, nv), NULL;
    return mine ? world_done(w, STI_OK) : NULL;
}

static PyObject *world_ray(PyObject *self, PyObject *args) {
    core_world *w = (core_world *)self;
    double p[3], v[3], normal[3] = {0};
    unsigned int groups;
    int fixed, body, geom = -1;
    if (!PyArg_ParseTuple(args, "(ddd)(ddd)Ipi", p, p + 1, p + 2, v, v + 1, v + 2, &groups, &fixed, &body) ||
        !world_take(w))
        return NULL;
    sti_ray_options options = {.groups = groups, .fixed = fixed != 0, .bodyexclude = body};
    double x = sti_ray(w->world, p, v, &options, &geom, normal);
    atomic_flag_clear(&w->busy);
    return Py_BuildValue("di(ddd)", x, geom, normal[0], normal[1], normal[2]);
}

static PyObject *world_geom_distance(PyObject *self, PyObject *args) {
    core_world *w = (core_world *)self;
    int geom1, geom2;
    double distmax, ft[6] = {0};
    if (!PyArg_ParseTuple(args, "iid", &geom1, &geom2, &distmax) || !world_take(w)) return NULL;
    double x = sti_geom_distance(w->world, geom1, geom2, distmax, ft);
    atomic_flag_clear(&w->busy);
    return Py_BuildValue("d(dddddd)", x, ft[0], ft[1], ft[2], ft[3], ft[4], ft[5]);
}

static PyObject *world_hash(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!world_take(w)) return NULL;
    uint64_t hash = sti_world_hash(w->world);
    atomic_flag_clear(&w->busy);
    return PyLong_FromUnsignedLongLong(hash);
}

/* All contacts as the bytes of an array of sti_contact. */
static PyObject *world_contacts(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    int count;
    if (!world_take(w)) return NULL;
    const sti_contact *list = sti_world_contacts(w->world, &count);
    PyObject *bytes =
        PyBytes_FromStringAndSize((const char *)list, (Py_ssize_t)((size_t)count * sizeof *list));
    atomic_flag_clear(&w->busy);
    return bytes;
}

/* All polygons of contact as the bytes of an array of sti_patch. */
static PyObject *world_patches(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!world_take(w)) return NULL;
    int count = sti_world_patches(w->world, NULL, 0);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((size_t)count * sizeof(sti_patch)));
    if (bytes) sti_world_patches(w->world, (sti_patch *)(void *)PyBytes_AsString(bytes), count);
    atomic_flag_clear(&w->busy);
    return bytes;
}

/* Von Mises' numbers of all tetrahedra, then their stresses, as bytes. */
static PyObject *world_soft_stress(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!world_take(w)) return NULL;
    size_t n = (size_t)sti_world_model(w->world)->nflexelem;
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(7 * n * sizeof(double)));
    double *out = bytes ? (double *)(void *)PyByteArray_AsString(bytes) : NULL;
    if (out) sti_world_soft_stress(w->world, out, out + n);
    atomic_flag_clear(&w->busy);
    return bytes;
}

static PyObject *world_solve_info(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!world_take(w)) return NULL;
    sti_solve_info info = *sti_world_solve_info(w->world);
    atomic_flag_clear(&w->busy);
    return Py_BuildValue("iNN", info.iterations, PyBool_FromLong(info.converged),
                         core_certificate(&info.certificate));
}

static PyObject *world_warnings(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    int64_t counts[STI_WARN_COUNT];
    if (!world_take(w)) return NULL;
    for (int i = 0; i < STI_WARN_COUNT; i++) counts[i] = sti_world_warnings(w->world, (sti_solve_warning)i);
    atomic_flag_clear(&w->busy);
    return core_warnings(counts);
}

static PyObject *world_growths(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!world_take(w)) return NULL;
    int count;
    const sti_growth *g = sti_world_growths(w->world, &count);
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < count; i++) {
        PyObject *item = Py_BuildValue("iiL", g[i].room, g[i].need, (long long)g[i].times);
        if (!item || PyDict_SetItemString(dict, g[i].option, item) < 0) Py_CLEAR(dict);
        Py_XDECREF(item);
    }
    atomic_flag_clear(&w->busy);
    return dict;
}

/* Diagnostics of a coupled constraint, None if the equality is another. */
static PyObject *world_coupled(PyObject *self, PyObject *number) {
    core_world *w = (core_world *)self;
    long equality = PyLong_AsLong(number);
    if (equality == -1 && PyErr_Occurred()) return NULL;
    if (!world_take(w)) return NULL;
    const sti_model *m = sti_world_model(w->world);
    const sti_coupled_diagnostics *d =
        equality >= 0 && equality < m->neq ? sti_world_coupled(w->world, (int)equality) : NULL;
    PyObject *result = d ? core_coupled_diagnostics(d, m->coupled_count[(int)m->eq_data[11 * equality]])
                         : Py_NewRef(Py_None);
    atomic_flag_clear(&w->busy);
    return result;
}

static PyObject *world_copy(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    core_state *s = state_of_type(Py_TYPE(self));
    sti_error error = {0};
    if (!world_take(w)) return NULL;
    sti_world *copy = sti_world_copy(w->world, &error);
    atomic_flag_clear(&w->busy);
    if (!copy) return raise_error(s, &error);
    sti_tasks tasks = {0};
    sti_pool *pool = w->pool ? sti_pool_create(sti_pool_tasks(w->pool).nthread, NULL) : NULL;
    if (pool) tasks = sti_pool_tasks(pool);
    sti_world_set_tasks(copy, &tasks); /* each has its own threads */
    return wrap_world(s, copy, w->model, pool);
}

static PyObject *world_save(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    size_t n = sti_snapshot_size(w->world);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
    if (!bytes) return NULL;
    sti_status status = STI_ARGUMENT;
    if (world_take(w)) {
        status = sti_snapshot_save(w->world, PyBytes_AsString(bytes), n);
        atomic_flag_clear(&w->busy);
    }
    if (status != STI_OK) Py_CLEAR(bytes);
    return bytes;
}

/* ---- capsules ---- */

typedef sti_status capsule_call(sti_world *world, const char *path, sti_error *error);

static PyObject *call_capsule(PyObject *self, PyObject *arg, capsule_call *call) {
    core_world *w = (core_world *)self;
    sti_error error = {0};
    char *path = PyBytes_AsString(arg);
    if (!path || !world_take(w)) return NULL;
    sti_status status = call(w->world, path, &error);
    atomic_flag_clear(&w->busy);
    if (status == STI_OK) Py_RETURN_NONE;
    return raise_error(state_of_type(Py_TYPE(self)), &error);
}
static PyObject *world_save_capsule(PyObject *self, PyObject *arg) {
    return call_capsule(self, arg, sti_capsule_save);
}
static PyObject *world_load_capsule(PyObject *self, PyObject *arg) {
    return call_capsule(self, arg, sti_capsule_load);
}

/* set_capsules(folder or None, most, troubles) */
static PyObject *world_set_capsules(PyObject *self, PyObject *args) {
    core_world *w = (core_world *)self;
    const char *folder;
    int most, troubles;
    sti_error error = {0};
    if (!PyArg_ParseTuple(args, "zii", &folder, &most, &troubles) || !world_take(w)) return NULL;
    sti_status status = sti_world_set_capsules(w->world, folder, most, troubles, &error);
    atomic_flag_clear(&w->busy);
    if (status == STI_OK) Py_RETURN_NONE;
    return raise_error(state_of_type(Py_TYPE(self)), &error);
}

/* trouble() -> (bits of the last step, capsules written) */
static PyObject *world_trouble(PyObject *self, PyObject *unused) {
    core_world *w = (core_world *)self;
    (void)unused;
    if (!world_take(w)) return NULL;
    int bits = sti_world_trouble(w->world), count = sti_world_capsules(w->world);
    atomic_flag_clear(&w->busy);
    return Py_BuildValue("ii", bits, count);
}

static PyObject *world_load(PyObject *self, PyObject *arg) {
    core_world *w = (core_world *)self;
    Py_buffer b;
    if (PyObject_GetBuffer(arg, &b, PyBUF_SIMPLE) < 0) return NULL;
    sti_status status = STI_OK;
    bool mine = world_take(w);
    if (mine) status = sti_snapshot_load(w->world, b.buf, (size_t)b.len);
    PyBuffer_Release(&b);
    return mine ? world_done(w, status) : NULL;
}

static PyObject *world_sensor(PyObject *self, PyObject *args) {
    const char *name;
    PyObject *out;
    if (!PyArg_ParseTuple(args, "sO", &name, &out)) return NULL;
    Py_buffer b;
    if (PyObject_GetBuffer(out, &b, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) return NULL;
    core_world *w = (core_world *)self;
    int n = -1;
    bool mine = world_take(w);
    if (mine) {
        n = sti_sensor_value(w->world, name, b.buf, (int)(b.len / 4));
        atomic_flag_clear(&w->busy);
    }
    PyBuffer_Release(&b);
    return mine ? PyLong_FromLong(n) : NULL;
}

static PyObject *world_profile(PyObject *self, PyObject *unused) {
    (void)unused;
    int n = 0;
    const sti_profile_node *nodes = sti_world_profile(((core_world *)self)->world, &n);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < n; i++) {
        PyObject *item = Py_BuildValue("(siiLLL)", nodes[i].name, nodes[i].parent, nodes[i].depth,
                                       (long long)nodes[i].count, (long long)nodes[i].ticks,
                                       (long long)nodes[i].iterations);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

/* picture(out, width, height, camera, lookat3 or None, distance, azimuth, elevation, groups, sites) */
static PyObject *world_picture(PyObject *self, PyObject *args) {
    core_world *w = (core_world *)self;
    PyObject *out, *look, *azimuth, *elevation;
    int sites;
    sti_picture_options o = sti_picture_options_default(sti_world_model(w->world));
    if (!PyArg_ParseTuple(args, "OiiiOdOOip", &out, &o.width, &o.height, &o.camera, &look, &o.distance,
                          &azimuth, &elevation, &o.groups, &sites))
        return NULL;
    o.sites = sites;
    if (look != Py_None && !PyArg_ParseTuple(look, "ddd", &o.lookat[0], &o.lookat[1], &o.lookat[2]))
        return NULL;
    if (azimuth != Py_None) o.azimuth = PyFloat_AsDouble(azimuth);
    if (elevation != Py_None) o.elevation = PyFloat_AsDouble(elevation);
    if (PyErr_Occurred()) return NULL;
    Py_buffer b;
    if (PyObject_GetBuffer(out, &b, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) return NULL;
    sti_error error = {0};
    sti_status status = STI_ARGUMENT;
    if (b.len != (Py_ssize_t)o.width * o.height * 3)
        PyErr_SetString(PyExc_ValueError, "the array must be height x width x 3 bytes");
    else if (world_take(w)) {
        Py_BEGIN_ALLOW_THREADS status = sti_picture_render(w->world, &o, b.buf, &error);
        Py_END_ALLOW_THREADS atomic_flag_clear(&w->busy);
        if (status != STI_OK) raise_error(state_of_type(Py_TYPE(self)), &error);
    }
    PyBuffer_Release(&b);
    if (status != STI_OK) return NULL;
    Py_RETURN_NONE;
}

static PyMethodDef world_methods[] = {
    {"step", world_step, METH_O, "n steps"},
    {"forward", world_forward, METH_NOARGS, "everything but the integration"},
    {"reset", world_reset, METH_O, "to keyframe, -1 = qpos0"},
    {"view", world_view, METH_O, "a field by name, None if unknown"},
    {"mass_matrix", world_mass_matrix, METH_O, "M into an nv x nv array"},
    {"ray", world_ray, METH_VARARGS, "first hit of a ray: distance, geom, normal"},
    {"geom_distance", world_geom_distance, METH_VARARGS, "signed distance and nearest points of two geoms"},
    {"hash", world_hash, METH_NOARGS, "64-bit hash of state and inputs"},
    {"copy", world_copy, METH_NOARGS, "an independent world in the same state"},
    {"contacts", world_contacts, METH_NOARGS, "contacts as bytes"},
    {"patches", world_patches, METH_NOARGS, "polygons of contact as bytes"},
    {"soft_stress", world_soft_stress, METH_NOARGS, "von Mises' numbers and stresses of tetrahedra as bytes"},
    {"solve_info", world_solve_info, METH_NOARGS, "iterations, converged, certificate"},
    {"coupled", world_coupled, METH_O, "diagnostics of a coupled constraint"},
    {"save", world_save, METH_NOARGS, "snapshot as bytes"},
    {"save_capsule", world_save_capsule, METH_O, "the step that would be taken now, to a file"},
    {"load_capsule", world_load_capsule, METH_O, "the state of a capsule"},
    {"set_capsules", world_set_capsules, METH_VARARGS, "where bad steps are written"},
    {"trouble", world_trouble, METH_NOARGS, "what went badly in the last step, capsules written"},
    {"load", world_load, METH_O, "restore a snapshot"},
    {"sensor", world_sensor, METH_VARARGS, "sensor values as float32"},
    {"warnings", world_warnings, METH_NOARGS, "counted warnings"},
    {"growths", world_growths, METH_NOARGS, "pools that grew"},
    {"profile", world_profile, METH_NOARGS, "stage tree"},
    {"picture", world_picture, METH_VARARGS, "RGB picture"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot world_slots[] = {
    {Py_tp_dealloc, world_dealloc}, {Py_tp_methods, world_methods}, {0, NULL}};
static PyType_Spec world_spec = {"stiction._core.World", sizeof(core_world), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, world_slots};

/* ---- recorder -------------------------------------------------------------------------------------- */

static void recorder_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    core_recorder *r = (core_recorder *)self;
    sti_recorder_close(r->recorder, NULL);
    Py_XDECREF(r->world);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *core_recorder_new(PyObject *module, PyObject *args) {
    core_state *s = state_of(module);
    const char *path, *fields;
    PyObject *world, *place;
    if (!PyArg_ParseTuple(args, "OO!z", &place, s->world, &world, &fields) || !(path = path_of(place)))
        return NULL;
    sti_error error = {0};
    core_world *w = (core_world *)world;
    if (!world_take(w)) return NULL;
    sti_recorder *recorder = sti_recorder_create(path, w->world, fields, &error);
    atomic_flag_clear(&w->busy);
    if (!recorder) return raise_error(s, &error);
    core_recorder *r = PyObject_New(core_recorder, s->recorder);
    if (!r) {
        sti_recorder_close(recorder, NULL);
        return NULL;
    }
    r->recorder = recorder;
    r->world = Py_NewRef(world);
    return (PyObject *)r;
}

static PyObject *recorder_frame(PyObject *self, PyObject *unused) {
    (void)unused;
    core_recorder *r = (core_recorder *)self;
    sti_error error = {0};
    if (!r->recorder) return PyErr_Format(PyExc_ValueError, "the recorder is closed"), NULL;
    core_world *w = (core_world *)r->world;
    if (!world_take(w)) return NULL;
    sti_status status = sti_recorder_frame(r->recorder, w->world, &error);
    atomic_flag_clear(&w->busy);
    if (status == STI_OK) Py_RETURN_NONE;
    return raise_error(state_of_type(Py_TYPE(self)), &error);
}

static PyObject *recorder_close(PyObject *self, PyObject *unused) {
    (void)unused;
    core_recorder *r = (core_recorder *)self;
    sti_error error = {0};
    sti_status status = sti_recorder_close(r->recorder, &error);
    r->recorder = NULL;
    if (status == STI_OK) Py_RETURN_NONE;
    return raise_error(state_of_type(Py_TYPE(self)), &error);
}

static PyMethodDef recorder_methods[] = {{"frame", recorder_frame, METH_NOARGS, "append the present values"},
                                         {"close", recorder_close, METH_NOARGS, "flush and close"},
                                         {NULL, NULL, 0, NULL}};
static PyType_Slot recorder_slots[] = {
    {Py_tp_dealloc, recorder_dealloc}, {Py_tp_methods, recorder_methods}, {0, NULL}};
static PyType_Spec recorder_spec = {"stiction._core.Recorder", sizeof(core_recorder), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, recorder_slots};

/* ---- module ------------------------------------------------------------------------------------------ */

static int add_constants(PyObject *module) {
    PyObject *objects = PyDict_New(), *sizes = PyList_New(0), *fields = PyList_New(0), *state = PyList_New(0);
    PyObject *options = PyList_New(0), *handlers = PyList_New(0), *troubles = PyList_New(0);
    int bad = !objects || !sizes || !fields || !state || !options || !handlers || !troubles;
    PyObject *item;
#define PUSH(list, value) \
    (bad = bad || !(item = (value)) || PyList_Append(list, item) < 0, bad ? (void)0 : Py_DECREF(item))
#define X(id, name, field, count)                                                                          \
    bad = bad || !(item = PyLong_FromLong(STI_OBJ_##id)) || PyDict_SetItemString(objects, name, item) < 0; \
    if (!bad) Py_DECREF(item);
    STI_OBJECTS(X)
#undef X
#define X(name, meaning) PUSH(sizes, text(#name));
    STI_MODEL_SIZES(X)
#undef X
#define X(type, name, rows, cols, vary) PUSH(fields, text(#name));
    STI_MODEL_FIELDS(X)
#undef X
#define X(name, rows, cols, role) PUSH(state, Py_BuildValue("ss", #name, #role));
    STI_STATE_FIELDS(X)
#undef X
#define X(type, name, attribute, least, most, meaning) PUSH(options, Py_BuildValue("sC", #name, CODE_##type));
    STI_OWN_OPTIONS(X)
#undef X
#define X(id, attribute, meaning) PUSH(handlers, text(#id));
    STI_HANDLERS(X)
#undef X
#define X(id, word, meaning) PUSH(troubles, text(word));
    STI_TROUBLES(X)
#undef X
    bad = bad || PyModule_AddObjectRef(module, "OBJECTS", objects) < 0 ||
          PyModule_AddObjectRef(module, "TROUBLES", troubles) < 0 ||
          PyModule_AddObjectRef(module, "OPTIONS", options) < 0 ||
          PyModule_AddObjectRef(module, "HANDLERS", handlers) < 0 ||
          PyModule_AddObjectRef(module, "SIZES", sizes) < 0 ||
          PyModule_AddObjectRef(module, "FIELDS", fields) < 0 ||
          PyModule_AddObjectRef(module, "STATE", state) < 0 ||
          PyModule_AddStringConstant(module, "VERSION", sti_version()) < 0;
    Py_XDECREF(objects);
    Py_XDECREF(sizes);
    Py_XDECREF(fields);
    Py_XDECREF(state);
    Py_XDECREF(options);
    Py_XDECREF(handlers);
    Py_XDECREF(troubles);
    return bad ? -1 : 0;
}

static PyTypeObject *add_type(PyObject *module, PyType_Spec *spec) {
    PyObject *type = PyType_FromModuleAndSpec(module, spec, NULL);
    if (type && PyModule_AddType(module, (PyTypeObject *)type) < 0) Py_CLEAR(type);
    return (PyTypeObject *)type;
}

static int core_exec(PyObject *module) {
    core_state *s = state_of(module);
    PyObject *members = Py_BuildValue("{s:s,s:s,s:i,s:s,s:s,s:s}", "code", "", "file", "", "line", 0,
                                      "element", "", "attribute", "", "message", "");
    if (!members) return -1;
    s->error = PyErr_NewExceptionWithDoc(
        "stiction.Error", "What went wrong and where: code, file, line, element, attribute, message.", NULL,
        members);
    Py_DECREF(members);
    if (!s->error || PyModule_AddObjectRef(module, "Error", s->error) < 0) return -1;
    s->model = add_type(module, &model_spec);
    s->world = add_type(module, &world_spec);
    s->array = add_type(module, &array_spec);
    s->recorder = add_type(module, &recorder_spec);
    if (!s->model || !s->world || !s->array || !s->recorder) return -1;
    return add_constants(module) < 0 || core_add_problem(module) < 0 || core_add_coupled(module) < 0 ||
                   core_add_mesh(module) < 0 || core_add_ik(module) < 0
               ? -1
               : core_add_viewer(module);
}

static void core_free(void *module) {
    core_state *s = state_of(module);
    if (!s) return;
    Py_CLEAR(s->error);
    Py_CLEAR(s->model);
    Py_CLEAR(s->world);
    Py_CLEAR(s->array);
    Py_CLEAR(s->recorder);
}

static PyMethodDef core_methods[] = {{"load", core_load, METH_VARARGS, "load and compile a model"},
                                     {"world", core_world_new, METH_VARARGS, "a world of a model"},
                                     {"recorder", core_recorder_new, METH_VARARGS, "an HDF5 recorder"},
                                     {NULL, NULL, 0, NULL}};
static PyModuleDef_Slot core_slots[] = {{Py_mod_exec, core_exec}, {0, NULL}};
static struct PyModuleDef core_module = {.m_base = PyModuleDef_HEAD_INIT,
                                         .m_name = "stiction._core",
                                         .m_size = sizeof(core_state),
                                         .m_methods = core_methods,
                                         .m_slots = core_slots,
                                         .m_free = core_free};

PyMODINIT_FUNC PyInit__core(void);
PyMODINIT_FUNC PyInit__core(void) { return PyModuleDef_Init(&core_module); }
