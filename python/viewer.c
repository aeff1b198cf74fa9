/* SPDX-License-Identifier: Apache-2.0 */
/* stiction._core.viewer: the viewer of a world, if the build has one. stiction/viewer.py is what users see. */
#include "core.h"
#include "objects.h"

#ifndef STI_VIEWER
int core_add_viewer(PyObject *module) {
    (void)module;
    return 0;
}
#else
#include <stiction/viewer.h>
#include <time.h>

typedef struct core_viewer {
    PyObject_HEAD sti_viewer *viewer;
    PyObject *world; /* core_world or core_batch, kept alive */
    bool batch;
    bool running; /* run is on, in some thread */
} core_viewer;

static PyObject *raise(PyObject *self, const sti_error *error) {
    PyObject *module = PyType_GetModule(Py_TYPE(self)),
             *type = module ? PyObject_GetAttrString(module, "Error") : NULL;
    if (type) core_raise(type, error);
    Py_XDECREF(type);
    return NULL;
}

static void end(core_viewer *v) {
    sti_viewer *viewer = v->viewer;
    v->viewer = NULL;
    Py_BEGIN_ALLOW_THREADS sti_viewer_destroy(viewer);
    Py_END_ALLOW_THREADS Py_CLEAR(v->world);
}

static void viewer_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    end((core_viewer *)self);
    PyObject_Free(self);
    Py_DECREF(type);
}

static PyObject *viewer_close(PyObject *self, PyObject *unused) {
    (void)unused;
    if (((core_viewer *)self)->running)
        return PyErr_Format(PyExc_RuntimeError, "the viewer is running: stop it first"), NULL;
    end((core_viewer *)self);
    Py_RETURN_NONE;
}

/* The viewer, or NULL and an exception if it is closed. */
static sti_viewer *of(PyObject *self) {
    sti_viewer *v = ((core_viewer *)self)->viewer;
    if (!v) PyErr_SetString(PyExc_ValueError, "the viewer is closed");
    return v;
}

/* One caller at a time, of the world or the batch. */
static bool take(const core_viewer *v) {
    return v->batch ? core_batch_take((core_batch *)v->world) : core_world_take(v->world) != NULL;
}
static void give(PyObject *owner, bool batch) {
    if (batch) atomic_flag_clear(&((core_batch *)owner)->busy);
    else core_world_give(owner);
}

static PyObject *viewer_sync(PyObject *self, PyObject *unused) {
    (void)unused;
    sti_viewer *v = of(self);
    const core_viewer *c = (const core_viewer *)self;
    if (!v || !take(c)) return NULL;
    sti_status status = c->batch ? sti_viewer_sync_batch(v, ((core_batch *)c->world)->batch)
                                 : sti_viewer_sync(v, ((core_world *)c->world)->world);
    give(c->world, c->batch);
    if (status == STI_OK) Py_RETURN_NONE;
    return raise(self, &(sti_error){.code = status, .message = "the viewer cannot go on"});
}

static double clock_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Steps until `seconds` have passed, or a signal's handler raises (Ctrl-C), in slices that keep it waiting unnoticeably. */
static sti_status run_slices(sti_viewer *v, PyObject *owner, bool batch, double seconds, bool *interrupted,
                             sti_error *error) {
    const core_world *world = batch ? NULL : (core_world *)owner;
    PyObject *model = batch ? ((core_batch *)owner)->model : world->model;
    const double slice = 0.05;
    sti_status status = STI_OK;
    double end = clock_seconds() + seconds, left = seconds;
    do {
        double span = left < slice ? left : slice;
        CORE_RUN(model)
        if (batch) status = sti_viewer_run_batch(v, ((core_batch *)owner)->batch, span, error);
        else status = sti_viewer_run(v, world->world, span, error);
        CORE_RUN_END(model)
        *interrupted = PyErr_CheckSignals() < 0;
        left = end - clock_seconds();
    } while (status == STI_OK && !*interrupted && !(world && world->raised[0]) && left > 0 &&
             !sti_viewer_stopped(v));
    return status;
}

/* run(seconds) */
static PyObject *viewer_run(PyObject *self, PyObject *arg) {
    sti_viewer *v = of(self);
    double seconds = PyFloat_AsDouble(arg);
    if (!v || PyErr_Occurred()) return NULL;
    PyObject *owner = Py_NewRef(((core_viewer *)self)->world);
    bool batch = ((core_viewer *)self)->batch, taken = take((core_viewer *)self);
    sti_error error = {0};
    sti_status status = STI_OK;
    bool interrupted = false;
    if (taken) {
        if (batch) atomic_store(&((core_batch *)owner)->stopped, false);
        ((core_viewer *)self)->running = true;
        status = run_slices(v, owner, batch, seconds, &interrupted, &error);
        ((core_viewer *)self)->running = false;
        give(owner, batch);
    }
    bool raised =
        !batch && ((core_world *)owner)->raised[0] != NULL; /* by a handler: the viewer has paused */
    if (taken && !interrupted && raised) core_failed((core_world *)owner, &error);
    Py_DECREF(owner);
    if (!taken || interrupted || PyErr_Occurred()) return NULL;
    if (status == STI_OK) Py_RETURN_NONE;
    return raise(self, &error);
}

static PyObject *viewer_stop(PyObject *self, PyObject *unused) {
    (void)unused;
    sti_viewer *v = ((core_viewer *)self)->viewer;
    if (v) sti_viewer_stop(v);
    Py_RETURN_NONE;
}

/* (url, clients, stopped, paused, speed, world) */
static PyObject *viewer_state(PyObject *self, PyObject *unused) {
    (void)unused;
    sti_viewer *v = of(self);
    if (!v) return NULL;
    return Py_BuildValue("siNNdi", sti_viewer_url(v), sti_viewer_clients(v),
                         PyBool_FromLong(sti_viewer_stopped(v)), PyBool_FromLong(sti_viewer_paused(v)),
                         sti_viewer_speed(v), sti_viewer_world(v));
}

static PyObject *viewer_pause(PyObject *self, PyObject *arg) {
    sti_viewer *v = of(self);
    int on = v ? PyObject_IsTrue(arg) : -1;
    if (on < 0) return NULL;
    sti_viewer_pause(v, on);
    Py_RETURN_NONE;
}

static PyObject *viewer_speed(PyObject *self, PyObject *arg) {
    sti_viewer *v = of(self);
    double speed = v ? PyFloat_AsDouble(arg) : -1;
    if (PyErr_Occurred()) return NULL;
    if (!(speed >= 0 && speed <= 1e9)) return PyErr_Format(PyExc_ValueError, "a speed is not negative"), NULL;
    sti_viewer_set_speed(v, speed);
    Py_RETURN_NONE;
}

static PyObject *viewer_choose(PyObject *self, PyObject *arg) {
    sti_viewer *v = of(self);
    long world = v ? PyLong_AsLong(arg) : -1;
    if (PyErr_Occurred()) return NULL;
    if (world >= 0 && world <= INT_MAX) sti_viewer_choose(v, (int)world);
    Py_RETURN_NONE;
}

/* look(body or -1, number) */
static PyObject *viewer_look(PyObject *self, PyObject *args) {
    int body, look;
    sti_viewer *v = of(self);
    if (!v || !PyArg_ParseTuple(args, "ii", &body, &look)) return NULL;
    if (sti_viewer_look(v, body, (sti_contact_look)look) == STI_OK) Py_RETURN_NONE;
    return PyErr_Format(PyExc_ValueError, "there is no such body or look"), NULL;
}

/* markers(array of sti_marker) */
static PyObject *viewer_markers(PyObject *self, PyObject *array) {
    sti_viewer *v = of(self);
    Py_buffer buffer;
    if (!v || PyObject_GetBuffer(array, &buffer, PyBUF_C_CONTIGUOUS) < 0) return NULL;
    Py_ssize_t n = buffer.len / (Py_ssize_t)sizeof(sti_marker);
    sti_status status = n > STI_VIEWER_MARKERS ? STI_ARGUMENT : sti_viewer_markers(v, buffer.buf, (int)n);
    PyBuffer_Release(&buffer);
    if (status == STI_OK) Py_RETURN_NONE;
    return PyErr_Format(PyExc_ValueError, "at most %d markers", STI_VIEWER_MARKERS), NULL;
}

static PyObject *viewer_text(PyObject *self, PyObject *arg) {
    sti_viewer *v = of(self);
    PyObject *bytes = v ? PyUnicode_AsUTF8String(arg) : NULL;
    if (!bytes) return NULL;
    sti_status status = sti_viewer_text(v, PyBytes_AsString(bytes));
    Py_DECREF(bytes);
    if (status == STI_OK) Py_RETURN_NONE;
    return PyErr_Format(PyExc_ValueError, "the text has more than 1023 bytes"), NULL;
}

/* camera(camera or -1, x, y, z, distance, azimuth, elevation) */
static PyObject *viewer_camera(PyObject *self, PyObject *args) {
    sti_viewer *v = of(self);
    int camera;
    double look[3], distance, azimuth, elevation;
    if (!v || !PyArg_ParseTuple(args, "idddddd", &camera, &look[0], &look[1], &look[2], &distance, &azimuth,
                                &elevation))
        return NULL;
    if (sti_viewer_camera(v, camera, look, distance, azimuth, elevation) == STI_OK) Py_RETURN_NONE;
    return PyErr_Format(PyExc_ValueError, "numbers must be finite, and the distance not negative"), NULL;
}

static PyMethodDef viewer_methods[] = {
    {"markers", viewer_markers, METH_O, "shapes beside the world"},
    {"text", viewer_text, METH_O, "lines in a corner"},
    {"camera", viewer_camera, METH_VARARGS, "moves the camera of all pages"},
    {"sync", viewer_sync, METH_NOARGS, "obey the pages and leave a frame"},
    {"run", viewer_run, METH_O, "step in real time for some seconds"},
    {"stop", viewer_stop, METH_NOARGS, "end run"},
    {"close", viewer_close, METH_NOARGS, "end the connections"},
    {"state", viewer_state, METH_NOARGS, "url, clients, stopped, paused, speed"},
    {"pause", viewer_pause, METH_O, "pause or play"},
    {"speed", viewer_speed, METH_O, "simulated seconds per second"},
    {"choose", viewer_choose, METH_O, "the world of a batch to be shown"},
    {"look", viewer_look, METH_VARARGS, "how contacts are drawn"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot viewer_slots[] = {
    {Py_tp_dealloc, viewer_dealloc}, {Py_tp_methods, viewer_methods}, {0, NULL}};
static PyType_Spec viewer_spec = {"stiction._core.Viewer", sizeof(core_viewer), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, viewer_slots};

/* viewer(world or batch, port, rate, history in bytes, paused, wait, worlds, host or None) */
static PyObject *core_viewer_new(PyObject *module, PyObject *args) {
    core_state *s = core_state_of(module);
    PyObject *world;
    sti_viewer_options o = sti_viewer_options_default();
    Py_ssize_t memory;
    int paused, wait;
    if (!PyArg_ParseTuple(args, "Oidnppi|z", &world, &o.port, &o.rate, &memory, &paused, &wait, &o.worlds,
                          &o.host))
        return NULL;
    if (!Py_IS_TYPE(world, s->world) && !Py_IS_TYPE(world, s->batch))
        return PyErr_Format(PyExc_TypeError, "a viewer shows a world or a batch"), NULL;
    o.history = memory > 0 ? (size_t)memory : 0;
    o.paused = paused;
    o.wait = wait;
    PyObject *own = PyObject_GetAttrString(module, "Viewer");
    core_viewer *v = own ? PyObject_New(core_viewer, (PyTypeObject *)own) : NULL;
    Py_XDECREF(own);
    if (!v) return NULL;
    v->viewer = NULL;
    v->running = false;
    v->world = Py_NewRef(world);
    v->batch = Py_IS_TYPE(world, s->batch);
    sti_error error = {0};
    bool taken = take(v);
    if (taken) {
        const sti_model *model = v->batch ? sti_batch_model(((core_batch *)world)->batch)
                                          : sti_world_model(((core_world *)world)->world);
        v->viewer = sti_viewer_create(model, &o, &error);
        give(world, v->batch);
    }
    if (v->viewer) return (PyObject *)v;
    if (taken) raise((PyObject *)v, &error);
    Py_DECREF(v);
    return NULL;
}

static PyMethodDef functions[] = {{"viewer", core_viewer_new, METH_VARARGS, "a viewer of a world"},
                                  {NULL, NULL, 0, NULL}};

int core_add_viewer(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &viewer_spec, NULL);
    int bad = !type || PyModule_AddType(module, (PyTypeObject *)type) < 0;
    Py_XDECREF(type);
    return bad ? -1 : PyModule_AddFunctions(module, functions);
}
#endif
