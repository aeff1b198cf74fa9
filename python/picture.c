/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures: renderers, which are capsules, and what a world draws with one. */
#include "objects.h"

#define NAME "stiction.renderer"

typedef struct renderer {
    sti_renderer *renderer;
    PyObject *model; /* kept alive */
    sti_pool *pool;  /* NULL: the calling thread alone */
    atomic_flag busy;
} renderer;

static void destroy(renderer *r) {
    sti_renderer_destroy(r->renderer);
    sti_pool_destroy(r->pool);
    Py_XDECREF(r->model);
    PyMem_Free(r);
}

static void renderer_free(PyObject *capsule) {
    renderer *r = PyCapsule_GetPointer(capsule, NAME);
    if (!r) return;
    destroy(r);
}

/* (model, threads, backend: a number of sti_picture_backend) */
PyObject *core_renderer_new(PyObject *module, PyObject *args) {
    core_state *s = core_state_of(module);
    PyObject *model;
    int threads = 1, backend = STI_PICTURE_CPU;
    if (!PyArg_ParseTuple(args, "O!|ii", s->model, &model, &threads, &backend)) return NULL;
    sti_error error = {0};
    renderer *r = PyMem_Malloc(sizeof *r);
    if (!r) return PyErr_NoMemory();
    r->renderer = sti_renderer_create(((core_model *)model)->model, NULL, &error);
    r->model = Py_NewRef(model);
    r->pool = threads > 1 ? sti_pool_create(threads, NULL) : NULL;
    atomic_flag_clear(&r->busy);
    PyObject *capsule = NULL;
    if (!r->renderer || sti_renderer_use(r->renderer, (sti_picture_backend)backend, &error) != STI_OK)
        core_error(s, &error);
    else if (threads > 1 && !r->pool) PyErr_NoMemory();
    else capsule = PyCapsule_New(r, NAME, renderer_free);
    if (!capsule) destroy(r);
    return capsule;
}

PyObject *core_renderer_device(PyObject *module, PyObject *capsule) {
    (void)module;
    renderer *r = PyCapsule_GetPointer(capsule, NAME);
    return r ? PyUnicode_FromString(sti_renderer_device(r->renderer)) : NULL;
}

/* What is drawn and where to; arrays that are None are left out. */
typedef struct order {
    PyObject *capsule, *array[3], *markers;
    Py_buffer buffer[4]; /* of the arrays and the markers */
    sti_picture_options options;
} order;

/* (renderer, rgb, depth, segment, width, height, camera, lookat3 or None, distance, azimuth, elevation, groups, sites, contacts,
   force_scale, stress, stress_end, markers or None) */
static bool read_order(order *q, PyObject *args) {
    sti_picture_options *o = &q->options;
    PyObject *look, *azimuth, *elevation;
    int sites, contacts, stress;
    if (!PyArg_ParseTuple(args, "OOOOiiiOdOOippdpd|O", &q->capsule, &q->array[0], &q->array[1], &q->array[2],
                          &o->width, &o->height, &o->camera, &look, &o->distance, &azimuth, &elevation,
                          &o->groups, &sites, &contacts, &o->force_scale, &stress, &o->stress_end,
                          &q->markers))
        return false;
    o->sites = sites, o->contacts = contacts, o->stress = stress;
    if (look != Py_None && !PyArg_ParseTuple(look, "ddd", &o->lookat[0], &o->lookat[1], &o->lookat[2]))
        return false;
    if (azimuth != Py_None) o->azimuth = PyFloat_AsDouble(azimuth);
    if (elevation != Py_None) o->elevation = PyFloat_AsDouble(elevation);
    return !PyErr_Occurred();
}

static void release(order *q) {
    for (int i = 0; i < 4; i++)
        if (q->buffer[i].obj) PyBuffer_Release(&q->buffer[i]);
}

static bool open_markers(order *q) {
    if (!q->markers || q->markers == Py_None) return true;
    if (PyObject_GetBuffer(q->markers, &q->buffer[3], PyBUF_C_CONTIGUOUS) < 0) return false;
    Py_ssize_t n = q->buffer[3].len / (Py_ssize_t)sizeof(sti_marker);
    if (n * (Py_ssize_t)sizeof(sti_marker) != q->buffer[3].len || n > INT_MAX) {
        PyErr_SetString(PyExc_ValueError, "markers must be an array of whole markers");
        return false;
    }
    q->options.marker = q->buffer[3].buf, q->options.nmarker = (int)n;
    return true;
}

static bool open_arrays(order *q) {
    static const int bytes[3] = {3, 4, 8};
    for (int i = 0; i < 3; i++) {
        if (q->array[i] == Py_None) continue;
        if (PyObject_GetBuffer(q->array[i], &q->buffer[i], PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0)
            return false;
        if (q->buffer[i].len != (Py_ssize_t)q->options.width * q->options.height * bytes[i]) {
            PyErr_SetString(PyExc_ValueError, "the array must have height x width pixels");
            return false;
        }
    }
    return open_markers(q);
}

static bool draw(core_world *w, renderer *r, order *q) {
    sti_error error = {0};
    sti_status status = STI_OK;
    if (r->pool) q->options.tasks = sti_pool_tasks(r->pool);
    sti_picture out = {q->buffer[0].buf, q->buffer[1].buf, q->buffer[2].buf};
    if (!core_take(w)) return false;
    CORE_RUN(w->model) status = sti_renderer_draw(r->renderer, w->world, &q->options, &out, &error);
    CORE_RUN_END(w->model)
    atomic_flag_clear(w->busy);
    if (status != STI_OK) core_error(core_state_of_type(Py_TYPE((PyObject *)w)), &error);
    return status == STI_OK;
}

PyObject *core_world_picture(PyObject *self, PyObject *args) {
    core_world *w = (core_world *)self;
    order q = {.options = sti_picture_options_default(sti_world_model(w->world))};
    if (!read_order(&q, args)) return NULL;
    renderer *r = PyCapsule_GetPointer(q.capsule, NAME);
    if (!r) return NULL;
    if (atomic_flag_test_and_set(&r->busy))
        return PyErr_Format(PyExc_RuntimeError, "another thread draws with this renderer");
    bool done = open_arrays(&q) && draw(w, r, &q);
    release(&q);
    atomic_flag_clear(&r->busy);
    if (!done) return NULL;
    Py_RETURN_NONE;
}
