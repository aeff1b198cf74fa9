/* SPDX-License-Identifier: Apache-2.0 */
/* _core.Recorder. */
#include "objects.h"

static void recorder_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    core_recorder *r = (core_recorder *)self;
    sti_recorder_close(r->recorder, NULL);
    Py_XDECREF(r->world);
    PyObject_Free(self);
    Py_DECREF(type);
}

PyObject *core_recorder_new(PyObject *module, PyObject *args) {
    core_state *s = core_state_of(module);
    const char *path, *fields;
    PyObject *world, *place;
    if (!PyArg_ParseTuple(args, "OO!z", &place, s->world, &world, &fields) || !(path = core_path(place)))
        return NULL;
    sti_error error = {0};
    core_world *w = (core_world *)world;
    if (!core_take(w)) return NULL;
    sti_recorder *recorder = sti_recorder_create(path, w->world, fields, &error);
    atomic_flag_clear(w->busy);
    if (!recorder) return core_error(s, &error);
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
    if (!core_take(w)) return NULL;
    sti_status status = sti_recorder_frame(r->recorder, w->world, &error);
    atomic_flag_clear(w->busy);
    if (status == STI_OK) Py_RETURN_NONE;
    return core_error(core_state_of_type(Py_TYPE(self)), &error);
}

static PyObject *recorder_close(PyObject *self, PyObject *unused) {
    (void)unused;
    core_recorder *r = (core_recorder *)self;
    sti_error error = {0};
    sti_status status = sti_recorder_close(r->recorder, &error);
    r->recorder = NULL;
    if (status == STI_OK) Py_RETURN_NONE;
    return core_error(core_state_of_type(Py_TYPE(self)), &error);
}

static PyMethodDef recorder_methods[] = {{"frame", recorder_frame, METH_NOARGS, "append the present values"},
                                         {"close", recorder_close, METH_NOARGS, "flush and close"},
                                         {NULL, NULL, 0, NULL}};
static PyType_Slot recorder_slots[] = {
    {Py_tp_dealloc, recorder_dealloc}, {Py_tp_methods, recorder_methods}, {0, NULL}};
PyType_Spec core_recorder_spec = {"stiction._core.Recorder", sizeof(core_recorder), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, recorder_slots};
