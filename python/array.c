/* SPDX-License-Identifier: Apache-2.0 */
/* Errors as exceptions, and windows on arrays of the library. */
#include "objects.h"
#include <string.h>

PyObject *core_text(const char *s) {
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
    char line[1024];
    if (e->code == STI_NO_MEMORY && !e->message[0]) return PyErr_NoMemory();
    if (e->code == STI_NO_MEMORY)
        return PyErr_SetString(PyExc_MemoryError, sti_error_format(e, line, sizeof line)), NULL;
    PyObject *message = core_text(sti_error_format(e, line, sizeof line));
    if (!message) return NULL;
    PyObject *exception = PyObject_CallFunctionObjArgs(type, message, NULL);
    Py_DECREF(message);
    if (!exception) return NULL;
    if (set_attr(exception, "code", core_text(sti_status_name(e->code))) == 0 &&
        set_attr(exception, "file", core_text(e->file)) == 0 &&
        set_attr(exception, "line", PyLong_FromLong(e->line)) == 0 &&
        set_attr(exception, "element", core_text(e->element)) == 0 &&
        set_attr(exception, "attribute", core_text(e->attribute)) == 0 &&
        set_attr(exception, "message", core_text(e->message)) == 0)
        PyErr_SetObject(type, exception);
    Py_DECREF(exception);
    return NULL;
}

PyObject *core_error(core_state *s, const sti_error *e) { return core_raise(s->error, e); }

const char *core_path(PyObject *bytes) {
    char *path = NULL;
    return PyBytes_AsStringAndSize(bytes, &path, NULL) < 0 ? NULL : path;
}

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
PyType_Spec core_array_spec = {"stiction._core.Array", sizeof(core_array), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, array_slots};

PyObject *core_array_new(core_state *s, PyObject *owner, sti_view v) {
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
    return core_array_new(core_state_of(module), owner, v);
}
