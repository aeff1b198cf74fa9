/* SPDX-License-Identifier: Apache-2.0 */
/* Batches whose worlds live on a device: their arrays for other libraries, by address and by DLPack, and worlds that move. */
#include "objects.h"
#include <stdio.h>
#include <string.h>

static void give(core_batch *b) { atomic_flag_clear(&b->busy); }
static core_state *state_of(PyObject *self) { return core_state_of_type(Py_TYPE(self)); }

PyObject *core_batch_lost(core_batch *b, int world, sti_status status) {
    sti_error error = {0};
    if (status == STI_NO_MEMORY) return PyErr_NoMemory();
    sti_batch_error(b->batch, world, &error);
    if (error.code != status) {
        error = (sti_error){.code = status};
        snprintf(error.message, sizeof error.message, "%s", sti_status_text(status));
    }
    return core_error(state_of((PyObject *)b), &error);
}

PyObject *core_batch_device(PyObject *self, PyObject *none) {
    const core_batch *b = (core_batch *)self;
    sti_device_info i = sti_batch_device_info(b->batch);
    (void)none;
    return Py_BuildValue("snnnLLL", sti_batch_device(b->batch), (Py_ssize_t)i.model_bytes,
                         (Py_ssize_t)i.world_bytes, (Py_ssize_t)i.bytes, (long long)i.grown,
                         (long long)i.reordered, (long long)i.orderings);
}

/* A field of all worlds, or a parameter of single worlds. data is NULL, and an exception set, if there is none such. */
static sti_view view_of(core_batch *b, PyObject *name, int parameter) {
    if (!parameter) return sti_batch_view(b->batch, core_field(name));
    sti_view none = {0};
    sti_error error = {0};
    const char *field = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!field) return none;
    sti_view v = sti_batch_parameter(b->batch, field, &error);
    if (!v.data) core_error(state_of((PyObject *)b), &error);
    return v;
}

/* place(name, parameter) -> (address, whether it may be written), or None: it must be gathered */
PyObject *core_batch_place(PyObject *self, PyObject *args) {
    PyObject *name;
    int parameter;
    if (!PyArg_ParseTuple(args, "Up", &name, &parameter)) return NULL;
    sti_view v = view_of((core_batch *)self, name, parameter);
    if (PyErr_Occurred()) return NULL;
    if (!v.data) Py_RETURN_NONE;
    return Py_BuildValue("KO", (unsigned long long)(uintptr_t)v.data, v.writable ? Py_True : Py_False);
}

/* move_parameter(name, array, in): an array that the caller has made to fit, from a parameter of all worlds or into it. */
PyObject *core_batch_move_parameter(PyObject *self, PyObject *args) {
    core_batch *b = (core_batch *)self;
    PyObject *name, *array, *result = NULL;
    Py_buffer x;
    int in;
    if (!PyArg_ParseTuple(args, "UOp", &name, &array, &in)) return NULL;
    const char *field = PyUnicode_AsUTF8AndSize(name, NULL);
    if (!field || PyObject_GetBuffer(array, &x, PyBUF_C_CONTIGUOUS | (in ? 0 : PyBUF_WRITABLE)) < 0)
        return NULL;
    if (core_batch_take(b)) {
        sti_error error = {0};
        sti_view v = sti_batch_parameter(b->batch, field, &error);
        bool fits = (size_t)x.len == sizeof(double) * (size_t)v.rows * (size_t)v.cols;
        sti_status status = error.code;
        if (v.data && fits)
            status = in ? sti_batch_set_parameter(b->batch, field, x.buf, &error)
                        : sti_batch_get_parameter(b->batch, field, x.buf, &error);
        if (v.data && !fits) PyErr_SetString(PyExc_ValueError, "the array has another size");
        else result = status == STI_OK ? Py_NewRef(Py_None) : core_error(state_of(self), &error);
        give(b);
    }
    PyBuffer_Release(&x);
    return result;
}

/* scatter_there(name, address) */
PyObject *core_batch_scatter_there(PyObject *self, PyObject *args) {
    core_batch *b = (core_batch *)self;
    PyObject *name, *from;
    if (!PyArg_ParseTuple(args, "UO", &name, &from)) return NULL;
    sti_field field = core_field(name);
    void *address = PyLong_AsVoidPtr(from);
    if (PyErr_Occurred() || !core_batch_take(b)) return NULL;
    sti_status status = sti_batch_scatter_there(b->batch, field, address);
    PyObject *result = status == STI_OK ? Py_NewRef(Py_None) : core_batch_lost(b, 0, status);
    give(b);
    return result;
}

/* ---- worlds that move ----------------------------------------------------------------------------------------- */

static PyObject *move(PyObject *self, PyObject *args, bool out) {
    core_batch *b = (core_batch *)self;
    PyObject *other;
    int i;
    if (!PyArg_ParseTuple(args, "iO!", &i, state_of(self)->world, &other) || !core_batch_take(b)) return NULL;
    core_world *w = (core_world *)other;
    PyObject *result = NULL;
    if (core_take(w)) {
        sti_status status =
            out ? sti_batch_save(b->batch, i, w->world) : sti_batch_restore(b->batch, i, w->world);
        if (status == STI_OK) result = Py_NewRef(Py_None);
        else if (out && sti_world_error(w->world)->code == status)
            core_error(state_of(self), sti_world_error(w->world));
        else core_batch_lost(b, i, status);
        atomic_flag_clear(w->busy);
    }
    give(b);
    return result;
}

PyObject *core_batch_save(PyObject *self, PyObject *args) { return move(self, args, true); }
PyObject *core_batch_restore(PyObject *self, PyObject *args) { return move(self, args, false); }

/* ---- DLPack ------------------------------------------------------------------------------------------------------ */

/* The layout that DLPack's document gives, before version 1. */
typedef struct tensor {
    void *data;
    int32_t device_type, device_id;
    int32_t ndim;
    uint8_t code, bits;
    uint16_t lanes;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} tensor;
typedef struct managed {
    tensor tensor;
    void *owner;
    void (*deleter)(struct managed *self);
} managed;
typedef struct held {
    managed managed;
    int64_t shape[8];
} held;

enum { CPU = 1, CUDA = 2, FLOATING = 2 };

static void delete(managed *self) {
    PyGILState_STATE gil = PyGILState_Ensure();
    Py_XDECREF((PyObject *)self->owner);
    PyMem_Free(self);
    PyGILState_Release(gil);
}

/* Nobody took it. */
static void drop(PyObject *capsule) {
    if (!PyCapsule_IsValid(capsule, "dltensor")) return;
    managed *m = PyCapsule_GetPointer(capsule, "dltensor");
    if (m) m->deleter(m);
}

/* dlpack(name, shape, parameter) */
PyObject *core_batch_dlpack(PyObject *self, PyObject *args) {
    core_batch *b = (core_batch *)self;
    PyObject *name, *shape;
    int parameter;
    if (!PyArg_ParseTuple(args, "UO!p", &name, &PyTuple_Type, &shape, &parameter)) return NULL;
    sti_view v = view_of(b, name, parameter);
    held *h = PyErr_Occurred() ? NULL : PyMem_Calloc(1, sizeof *h);
    if (!h) return PyErr_Occurred() ? NULL : PyErr_NoMemory();
    bool cuda = strcmp(sti_batch_device(b->batch), "cuda") == 0;
    int64_t count = 1;
    tensor *t = &h->managed.tensor;
    *t = (tensor){.data = v.data,
                  .device_type = cuda ? CUDA : CPU,
                  .code = FLOATING,
                  .bits = 64,
                  .lanes = 1,
                  .shape = h->shape};
    t->ndim = (int32_t)PyTuple_Size(shape);
    for (int i = 0; i < t->ndim && t->ndim <= 8; i++)
        count *= h->shape[i] = PyLong_AsLongLong(PyTuple_GetItem(shape, i));
    if (PyErr_Occurred() || t->ndim > 8 || !v.data || count != (int64_t)v.rows * v.cols) {
        PyMem_Free(h);
        return PyErr_Occurred() ? NULL : (PyErr_SetString(PyExc_ValueError, "the shape does not fit"), NULL);
    }
    h->managed.owner = Py_NewRef(self);
    h->managed.deleter = delete;
    PyObject *capsule = PyCapsule_New(&h->managed, "dltensor", drop);
    if (!capsule) delete (&h->managed);
    return capsule;
}
