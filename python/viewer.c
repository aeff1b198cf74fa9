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
    PyObject *world; /* kept alive */
    bool running;    /* run is on, in some thread */
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

static PyObject *viewer_sync(PyObject *self, PyObject *unused) {
    (void)unused;
    sti_viewer *v = of(self);
    sti_world *world = v ? core_world_take(((core_viewer *)self)->world) : NULL;
    if (!world) return NULL;
    sti_status status = sti_viewer_sync(v, world);
    core_world_give(((core_viewer *)self)->world);
    if (status == STI_OK) Py_RETURN_NONE;
    return raise(self, &(sti_error){.code = status, .message = "the viewer cannot go on"});
}

static double clock_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Steps until `seconds` have passed, or a signal's handler raises (Ctrl-C), in slices that keep it waiting unnoticeably. */
static sti_status run_slices(sti_viewer *v, const core_world *w, double seconds, bool *interrupted,
                             sti_error *error) {
    const double slice = 0.05;
    sti_status status = STI_OK;
    double end = clock_seconds() + seconds, left = seconds;
    do {
        CORE_RUN(w->model) status = sti_viewer_run(v, w->world, left < slice ? left : slice, error);
        CORE_RUN_END(w->model)
        *interrupted = PyErr_CheckSignals() < 0;
        left = end - clock_seconds();
    } while (status == STI_OK && !*interrupted && !w->raised[0] && left > 0 && !sti_viewer_stopped(v));
    return status;
}

/* run(seconds) */
static PyObject *viewer_run(PyObject *self, PyObject *arg) {
    sti_viewer *v = of(self);
    double seconds = PyFloat_AsDouble(arg);
    if (!v || PyErr_Occurred()) return NULL;
    PyObject *owner = Py_NewRef(((core_viewer *)self)->world);
    sti_world *world = core_world_take(owner);
    sti_error error = {0};
    sti_status status = STI_OK;
    bool interrupted = false;
    if (world) {
        ((core_viewer *)self)->running = true;
        status = run_slices(v, (core_world *)owner, seconds, &interrupted, &error);
        ((core_viewer *)self)->running = false;
        core_world_give(owner);
    }
    bool raised = ((core_world *)owner)->raised[0] != NULL; /* by a handler: the viewer has paused */
    if (world && !interrupted && raised) core_failed((core_world *)owner, &error);
    Py_DECREF(owner);
    if (!world || interrupted || PyErr_Occurred()) return NULL;
    if (status == STI_OK) Py_RETURN_NONE;
    return raise(self, &error);
}

static PyObject *viewer_stop(PyObject *self, PyObject *unused) {
    (void)unused;
    sti_viewer *v = ((core_viewer *)self)->viewer;
    if (v) sti_viewer_stop(v);
    Py_RETURN_NONE;
}

/* (url, clients, stopped, paused, speed) */
static PyObject *viewer_state(PyObject *self, PyObject *unused) {
    (void)unused;
    sti_viewer *v = of(self);
    if (!v) return NULL;
    return Py_BuildValue("siNNd", sti_viewer_url(v), sti_viewer_clients(v),
                         PyBool_FromLong(sti_viewer_stopped(v)), PyBool_FromLong(sti_viewer_paused(v)),
                         sti_viewer_speed(v));
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

/* look(body or -1, number) */
static PyObject *viewer_look(PyObject *self, PyObject *args) {
    int body, look;
    sti_viewer *v = of(self);
    if (!v || !PyArg_ParseTuple(args, "ii", &body, &look)) return NULL;
    if (sti_viewer_look(v, body, (sti_contact_look)look) == STI_OK) Py_RETURN_NONE;
    return PyErr_Format(PyExc_ValueError, "there is no such body or look"), NULL;
}

static PyMethodDef viewer_methods[] = {
    {"sync", viewer_sync, METH_NOARGS, "obey the pages and leave a frame"},
    {"run", viewer_run, METH_O, "step in real time for some seconds"},
    {"stop", viewer_stop, METH_NOARGS, "end run"},
    {"close", viewer_close, METH_NOARGS, "end the connections"},
    {"state", viewer_state, METH_NOARGS, "url, clients, stopped, paused, speed"},
    {"pause", viewer_pause, METH_O, "pause or play"},
    {"speed", viewer_speed, METH_O, "simulated seconds per second"},
    {"look", viewer_look, METH_VARARGS, "how contacts are drawn"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot viewer_slots[] = {
    {Py_tp_dealloc, viewer_dealloc}, {Py_tp_methods, viewer_methods}, {0, NULL}};
static PyType_Spec viewer_spec = {"stiction._core.Viewer", sizeof(core_viewer), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, viewer_slots};

/* viewer(world, port, rate, history in bytes, paused) */
static PyObject *core_viewer_new(PyObject *module, PyObject *args) {
    PyObject *world, *type = PyObject_GetAttrString(module, "World");
    sti_viewer_options o = sti_viewer_options_default();
    Py_ssize_t memory;
    int paused,
        good = type && PyArg_ParseTuple(args, "O!idnp", type, &world, &o.port, &o.rate, &memory, &paused);
    Py_XDECREF(type);
    if (!good) return NULL;
    o.history = memory > 0 ? (size_t)memory : 0;
    o.paused = paused;
    PyObject *own = PyObject_GetAttrString(module, "Viewer");
    core_viewer *v = own ? PyObject_New(core_viewer, (PyTypeObject *)own) : NULL;
    Py_XDECREF(own);
    if (!v) return NULL;
    v->viewer = NULL;
    v->running = false;
    v->world = Py_NewRef(world);
    sti_error error = {0};
    sti_world *w = core_world_take(world);
    if (w) v->viewer = sti_viewer_create(sti_world_model(w), &o, &error);
    if (w) core_world_give(world);
    if (v->viewer) return (PyObject *)v;
    if (w) raise((PyObject *)v, &error);
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
