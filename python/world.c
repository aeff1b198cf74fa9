/* SPDX-License-Identifier: Apache-2.0 */
/* _core.World: steps, fields, contacts, snapshots, capsules, pictures. */
#include "objects.h"
#include <math.h>
#include <time.h>

static void world_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    core_world *w = (core_world *)self;
    if (!w->batch) sti_world_destroy(w->world);
    sti_pool_destroy(w->pool);
    core_callbacks_free(w);
    Py_XDECREF(w->model);
    Py_XDECREF(w->batch);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *core_wrap_world(core_state *s, sti_world *world, PyObject *model, sti_pool *pool, PyObject *batch) {
    core_world *w = PyObject_New(core_world, s->world);
    if (!w) {
        if (!batch) sti_world_destroy(world);
        sti_pool_destroy(pool);
        return NULL;
    }
    w->world = world;
    w->pool = pool;
    w->model = Py_NewRef(model);
    w->batch = Py_XNewRef(batch);
    w->busy = batch ? &((core_batch *)batch)->busy : &w->own;
    atomic_flag_clear(&w->own);
    w->callbacks = NULL;
    w->data = w->raised[0] = w->raised[1] = w->raised[2] = NULL;
    w->rows = NULL;
    w->inside = 0;
    return (PyObject *)w;
}

PyObject *core_world_new(PyObject *module, PyObject *args) {
    PyObject *model;
    int profile = 0, threads = 1;
    core_state *s = core_state_of(module);
    if (!PyArg_ParseTuple(args, "O!|pi", s->model, &model, &profile, &threads)) return NULL;
    if (!core_model_update(s, model)) return NULL;
    sti_pool *pool = threads > 1 ? sti_pool_create(threads, NULL) : NULL;
    if (threads > 1 && !pool) return PyErr_NoMemory();
    sti_world_options options = sti_world_options_default();
    options.option = &((core_model *)model)->opt;
    options.profile = profile;
    if (pool) options.tasks = sti_pool_tasks(pool);
    sti_error error = {0};
    sti_world *world = sti_world_create(((core_model *)model)->model, &options, &error);
    if (world) return core_wrap_world(s, world, model, pool, NULL);
    sti_pool_destroy(pool);
    return core_error(s, &error);
}

bool core_take(core_world *w) {
    bool other = w->inside && w->inside != PyThread_get_thread_ident();
    if (other || atomic_flag_test_and_set(w->busy)) {
        PyErr_SetString(PyExc_RuntimeError, "this Data is being stepped by another thread");
        return false;
    }
    if (w->inside) return true; /* in the middle of a step: options and fields are those of its beginning */
    if (!core_model_update(core_state_of_type(Py_TYPE((PyObject *)w)), w->model)) {
        atomic_flag_clear(w->busy);
        return false;
    }
    if (w->batch) sti_batch_update(((core_batch *)w->batch)->batch);
    *sti_world_option(w->world) = ((core_model *)w->model)->opt;
    return true;
}

bool core_take_idle(core_world *w) {
    if (w->inside && w->inside == PyThread_get_thread_ident()) {
        PyErr_SetString(PyExc_RuntimeError,
                        "a handler or controller may read the Data that calls it and write its inputs, "
                        "not step, reset, load or linearize it; work on a copy: copy.copy(data)");
        return false;
    }
    return core_take(w);
}

sti_world *core_world_take(PyObject *world) {
    return core_take((core_world *)world) ? ((core_world *)world)->world : NULL;
}
void core_world_give(PyObject *world) { atomic_flag_clear(((core_world *)world)->busy); }

static PyObject *world_done(core_world *w, sti_status status) {
    atomic_flag_clear(w->busy);
    if (status == STI_OK) Py_RETURN_NONE;
    return core_failed(w, sti_world_error(w->world));
}

double core_seconds(void) {
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Steps for about a tenth of a second. */
static sti_status step_some(sti_world *world, long *left) {
    double start = core_seconds();
    sti_status status;
    do {
        int n = *left < 16 ? (int)*left : 16;
        status = sti_step(world, n);
        *left -= n;
    } while (status == STI_OK && *left > 0 && fabs(core_seconds() - start) < 0.1);
    return status;
}

static PyObject *world_step(PyObject *self, PyObject *arg) {
    core_world *w = (core_world *)self;
    long n = PyLong_AsLong(arg);
    if (n == -1 && PyErr_Occurred()) return NULL;
    if (n < 0) return PyErr_Format(PyExc_ValueError, "nstep must not be negative"), NULL;
    if (!core_take_idle(w)) return NULL;
    sti_status status = STI_OK;
    bool stopped = false;
    do {
        CORE_RUN(w->model) status = step_some(w->world, &n);
        CORE_RUN_END(w->model)
        stopped = status == STI_OK && PyErr_CheckSignals() < 0;
    } while (status == STI_OK && n > 0 && !stopped);
    if (!stopped) return world_done(w, status);
    atomic_flag_clear(w->busy);
    return NULL;
}

static PyObject *world_forward(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!core_take_idle(w)) return NULL;
    sti_status status;
    CORE_RUN(w->model) status = sti_forward(w->world);
    CORE_RUN_END(w->model)
    return world_done(w, status);
}

static PyObject *world_reset(PyObject *self, PyObject *arg) {
    core_world *w = (core_world *)self;
    long key = PyLong_AsLong(arg);
    if (key == -1 && PyErr_Occurred()) return NULL;
    if (!core_take_idle(w)) return NULL;
    return world_done(w, sti_world_reset(w->world, (int)key));
}

static PyObject *world_view(PyObject *self, PyObject *name) {
    const char *field = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!field) return NULL;
    core_world *w = (core_world *)self;
    if (!core_take(w)) return NULL;
    sti_view v = sti_world_view_named(w->world, field);
    atomic_flag_clear(w->busy);
    if (v.type == 0) Py_RETURN_NONE;
    return core_array_new(core_state_of_type(Py_TYPE(self)), self, v);
}

static PyObject *world_mass_matrix(PyObject *self, PyObject *out) {
    core_world *w = (core_world *)self;
    int nv = sti_world_model(w->world)->nv;
    Py_buffer b;
    if (PyObject_GetBuffer(out, &b, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) return NULL;
    bool fits = b.len == (Py_ssize_t)sizeof(double) * nv * nv, mine = fits && core_take(w);
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
        !core_take(w))
        return NULL;
    sti_ray_options options = {.groups = groups, .fixed = fixed != 0, .bodyexclude = body};
    double x = sti_ray(w->world, p, v, &options, &geom, normal);
    atomic_flag_clear(w->busy);
    return Py_BuildValue("di(ddd)", x, geom, normal[0], normal[1], normal[2]);
}

static PyObject *world_geom_distance(PyObject *self, PyObject *args) {
    core_world *w = (core_world *)self;
    int geom1, geom2;
    double distmax, ft[6] = {0};
    if (!PyArg_ParseTuple(args, "iid", &geom1, &geom2, &distmax) || !core_take(w)) return NULL;
    double x = sti_geom_distance(w->world, geom1, geom2, distmax, ft);
    atomic_flag_clear(w->busy);
    return Py_BuildValue("d(dddddd)", x, ft[0], ft[1], ft[2], ft[3], ft[4], ft[5]);
}

static PyObject *world_hash(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!core_take(w)) return NULL;
    uint64_t hash = sti_world_hash(w->world);
    atomic_flag_clear(w->busy);
    return PyLong_FromUnsignedLongLong(hash);
}

/* All contacts as the bytes of an array of sti_contact. */
static PyObject *world_contacts(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    int count;
    if (!core_take(w)) return NULL;
    const sti_contact *list = sti_world_contacts(w->world, &count);
    PyObject *bytes =
        PyBytes_FromStringAndSize((const char *)list, (Py_ssize_t)((size_t)count * sizeof *list));
    atomic_flag_clear(w->busy);
    return bytes;
}

/* All polygons of contact as the bytes of an array of sti_patch. */
static PyObject *world_patches(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!core_take(w)) return NULL;
    int count = sti_world_patches(w->world, NULL, 0);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((size_t)count * sizeof(sti_patch)));
    if (bytes) sti_world_patches(w->world, (sti_patch *)(void *)PyBytes_AsString(bytes), count);
    atomic_flag_clear(w->busy);
    return bytes;
}

/* sti_world_tree_asleep of all trees as the bytes of an array of int. */
static PyObject *world_tree_asleep(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!core_take(w)) return NULL;
    int n = sti_world_model(w->world)->ntree;
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)((size_t)n * sizeof(int)));
    int *out = bytes ? (int *)(void *)PyBytes_AsString(bytes) : NULL;
    for (int t = 0; out && t < n; t++) out[t] = sti_world_tree_asleep(w->world, t);
    atomic_flag_clear(w->busy);
    return bytes;
}

/* Von Mises' numbers of all tetrahedra, then their stresses, as bytes. */
static PyObject *world_soft_stress(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!core_take(w)) return NULL;
    size_t n = (size_t)sti_world_model(w->world)->nflexelem;
    PyObject *bytes = PyByteArray_FromStringAndSize(NULL, (Py_ssize_t)(7 * n * sizeof(double)));
    double *out = bytes ? (double *)(void *)PyByteArray_AsString(bytes) : NULL;
    if (out) sti_world_soft_stress(w->world, out, out + n);
    atomic_flag_clear(w->busy);
    return bytes;
}

static PyObject *world_solve_info(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!core_take(w)) return NULL;
    sti_solve_info info = *sti_world_solve_info(w->world);
    atomic_flag_clear(w->busy);
    return Py_BuildValue("iNN", info.iterations, PyBool_FromLong(info.converged),
                         core_certificate(&info.certificate));
}

/* The certificate computed outside the solver, with all fields that the claim of a step leaves out. */
static PyObject *world_certify(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!core_take_idle(w)) return NULL;
    sti_certificate c = sti_world_certificate(w->world);
    atomic_flag_clear(w->busy);
    return core_certificate(&c);
}

static PyObject *world_warnings(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    int64_t counts[STI_WARN_COUNT];
    if (!core_take(w)) return NULL;
    for (int i = 0; i < STI_WARN_COUNT; i++) counts[i] = sti_world_warnings(w->world, (sti_solve_warning)i);
    atomic_flag_clear(w->busy);
    return core_warnings(counts);
}

static PyObject *world_growths(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!core_take(w)) return NULL;
    int count;
    const sti_growth *g = sti_world_growths(w->world, &count);
    PyObject *dict = PyDict_New();
    for (int i = 0; dict && i < count; i++) {
        PyObject *item = Py_BuildValue("iiL", g[i].room, g[i].need, (long long)g[i].times);
        if (!item || PyDict_SetItemString(dict, g[i].option, item) < 0) Py_CLEAR(dict);
        Py_XDECREF(item);
    }
    atomic_flag_clear(w->busy);
    return dict;
}

static PyObject *world_overlaps(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!core_take(w)) return NULL;
    int count;
    char text[400];
    const sti_overlap *o = sti_world_overlaps(w->world, &count);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++) {
        sti_overlap_text(sti_world_model(w->world), &o[i], text, sizeof text);
        PyObject *item = Py_BuildValue("iids", o[i].body1, o[i].body2, o[i].depth, text);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    atomic_flag_clear(w->busy);
    return list;
}

/* Diagnostics of a coupled constraint, None if the equality is another. */
static PyObject *world_coupled(PyObject *self, PyObject *number) {
    core_world *w = (core_world *)self;
    long equality = PyLong_AsLong(number);
    if (equality == -1 && PyErr_Occurred()) return NULL;
    if (!core_take(w)) return NULL;
    const sti_model *m = sti_world_model(w->world);
    const sti_coupled_diagnostics *d =
        equality >= 0 && equality < m->neq ? sti_world_coupled(w->world, (int)equality) : NULL;
    PyObject *result = d ? core_coupled_diagnostics(d, m->coupled_count[(int)m->eq_data[11 * equality]])
                         : Py_NewRef(Py_None);
    atomic_flag_clear(w->busy);
    return result;
}

/* The world's model as bytes; in a batch with its own parameters. */
static PyObject *world_pack_model(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!core_take(w)) return NULL;
    PyObject *bytes = core_pack(core_state_of_type(Py_TYPE(self)), sti_world_model(w->world));
    atomic_flag_clear(w->busy);
    return bytes;
}

/* Whether its model is its own, as in a batch with parameters. */
static PyObject *world_is_own(PyObject *self, PyObject *unused) {
    (void)unused;
    return PyBool_FromLong(sti_world_model(((core_world *)self)->world)->of != NULL);
}

static PyObject *world_copy(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    core_state *s = core_state_of_type(Py_TYPE(self));
    sti_error error = {0};
    if (!core_take(w)) return NULL;
    sti_world *copy = sti_world_copy(w->world, &error);
    atomic_flag_clear(w->busy);
    if (!copy) return core_error(s, &error);
    core_callbacks_drop(w, copy);
    sti_tasks tasks = {0};
    sti_pool *pool = w->pool ? sti_pool_create(sti_pool_tasks(w->pool).nthread, NULL) : NULL;
    if (pool) tasks = sti_pool_tasks(pool);
    sti_world_set_tasks(copy, &tasks); /* each has its own threads */
    return core_wrap_world(s, copy, w->model, pool, NULL);
}

static PyObject *world_save(PyObject *self, PyObject *unused) {
    (void)unused;
    core_world *w = (core_world *)self;
    if (!core_take(w)) return NULL;
    size_t n = sti_snapshot_size(w->world);
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)n);
    if (bytes) sti_snapshot_save(w->world, PyBytes_AsString(bytes), n);
    atomic_flag_clear(w->busy);
    return bytes;
}

typedef sti_status capsule_call(sti_world *world, const char *path, sti_error *error);

static PyObject *call_capsule(PyObject *self, PyObject *arg, capsule_call *call) {
    core_world *w = (core_world *)self;
    sti_error error = {0};
    char *path = PyBytes_AsString(arg);
    if (!path || !core_take_idle(w)) return NULL;
    sti_status status = call(w->world, path, &error);
    atomic_flag_clear(w->busy);
    if (status == STI_OK) Py_RETURN_NONE;
    return core_failed(w, &error);
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
    if (!PyArg_ParseTuple(args, "zii", &folder, &most, &troubles) || !core_take(w)) return NULL;
    sti_status status = sti_world_set_capsules(w->world, folder, most, troubles, &error);
    atomic_flag_clear(w->busy);
    if (status == STI_OK) Py_RETURN_NONE;
    return core_error(core_state_of_type(Py_TYPE(self)), &error);
}

/* trouble() -> (bits of the last step, capsules written) */
static PyObject *world_trouble(PyObject *self, PyObject *unused) {
    core_world *w = (core_world *)self;
    (void)unused;
    if (!core_take(w)) return NULL;
    int bits = sti_world_trouble(w->world), count = sti_world_capsules(w->world);
    atomic_flag_clear(w->busy);
    return Py_BuildValue("ii", bits, count);
}

static PyObject *world_load(PyObject *self, PyObject *arg) {
    core_world *w = (core_world *)self;
    Py_buffer b;
    if (PyObject_GetBuffer(arg, &b, PyBUF_SIMPLE) < 0) return NULL;
    sti_status status = STI_OK;
    bool mine = core_take_idle(w);
    if (mine) status = sti_snapshot_load(w->world, b.buf, (size_t)b.len);
    PyBuffer_Release(&b);
    return mine ? world_done(w, status) : NULL;
}

static PyObject *world_drop_warm_start(PyObject *self, PyObject *none) {
    core_world *w = (core_world *)self;
    (void)none;
    if (!core_take_idle(w)) return NULL;
    sti_world_drop_warm_start(w->world);
    return world_done(w, STI_OK);
}

static PyObject *world_sensor(PyObject *self, PyObject *args) {
    const char *name;
    PyObject *out;
    if (!PyArg_ParseTuple(args, "sO", &name, &out)) return NULL;
    Py_buffer b;
    if (PyObject_GetBuffer(out, &b, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) return NULL;
    core_world *w = (core_world *)self;
    int n = -1;
    bool mine = core_take(w);
    if (mine) {
        n = sti_sensor_value(w->world, name, b.buf, (int)(b.len / 4));
        atomic_flag_clear(w->busy);
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

static PyMethodDef world_methods[] = {
    {"step", world_step, METH_O, "n steps"},
    {"forward", world_forward, METH_NOARGS, "everything but the integration"},
    {"reset", world_reset, METH_O, "to keyframe, -1 = qpos0"},
    {"view", world_view, METH_O, "a field by name, None if unknown"},
    {"mass_matrix", world_mass_matrix, METH_O, "M into an nv x nv array"},
    {"ray", world_ray, METH_VARARGS, "first hit of a ray: distance, geom, normal"},
    {"geom_distance", world_geom_distance, METH_VARARGS, "signed distance and nearest points of two geoms"},
    {"hash", world_hash, METH_NOARGS, "64-bit hash of state and inputs"},
    {"pack_model", world_pack_model, METH_NOARGS, "the world's model as bytes"},
    {"is_own", world_is_own, METH_NOARGS, "whether its model has parameters of this world alone"},
    {"copy", world_copy, METH_NOARGS, "an independent world in the same state"},
    {"contacts", world_contacts, METH_NOARGS, "contacts as bytes"},
    {"patches", world_patches, METH_NOARGS, "polygons of contact as bytes"},
    {"tree_asleep", world_tree_asleep, METH_NOARGS, "which trees sleep, as bytes"},
    {"soft_stress", world_soft_stress, METH_NOARGS, "von Mises' numbers and stresses of tetrahedra as bytes"},
    {"solve_info", world_solve_info, METH_NOARGS, "iterations, converged, certificate"},
    {"certify", world_certify, METH_NOARGS,
     "the certificate of the last step, computed in full outside the solver"},
    {"coupled", world_coupled, METH_O, "diagnostics of a coupled constraint"},
    {"save", world_save, METH_NOARGS, "snapshot as bytes"},
    {"save_capsule", world_save_capsule, METH_O, "the step that would be taken now, to a file"},
    {"load_capsule", world_load_capsule, METH_O, "the state of a capsule"},
    {"set_capsules", world_set_capsules, METH_VARARGS, "where bad steps are written"},
    {"trouble", world_trouble, METH_NOARGS, "what went badly in the last step, capsules written"},
    {"load", world_load, METH_O, "restore a snapshot"},
    {"drop_warm_start", world_drop_warm_start, METH_NOARGS, "forget what is remembered for speed"},
    {"sensor", world_sensor, METH_VARARGS, "sensor values as float32"},
    {"warnings", world_warnings, METH_NOARGS, "counted warnings"},
    {"growths", world_growths, METH_NOARGS, "pools that grew"},
    {"overlaps", world_overlaps, METH_NOARGS, "bodies whose overlap joints cannot open"},
    {"set_data", core_world_set_data, METH_O, "whose functions the callbacks are"},
    {"add_callback", core_world_add_callback, METH_VARARGS, "a function of Python that steps call"},
    {"remove_callback", core_world_remove_callback, METH_O, "it is called no more"},
    {"rows_add", core_world_rows_add, METH_VARARGS, "a block of the handler that runs"},
    {"rows_touch", core_world_rows_touch, METH_VARARGS, "a contact of the handler that runs"},
    {"profile", world_profile, METH_NOARGS, "stage tree"},
    {"picture", core_world_picture, METH_VARARGS, "colours, depth or objects into arrays"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot world_slots[] = {
    {Py_tp_dealloc, world_dealloc}, {Py_tp_methods, world_methods}, {0, NULL}};
PyType_Spec core_world_spec = {"stiction._core.World", sizeof(core_world), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, world_slots};
