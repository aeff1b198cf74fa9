/* SPDX-License-Identifier: Apache-2.0 */
/* Handlers and controllers that are functions of Python. A world knows the numbers of its callbacks and, weakly, the Data that has
   the functions: a function that refers to its Data is a cycle of Python objects alone, which the garbage collector sees. */
#include "objects.h"
#include <string.h>

typedef struct core_callback {
    core_world *w;
    int key;    /* of the function in the Data */
    int number; /* of the library */
    struct core_callback *next;
} core_callback;

/* ---- calls ------------------------------------------------------------------------------------------------ */

static void forget_raised(core_world *w) {
    for (int i = 0; i < 3; i++) Py_CLEAR(w->raised[i]);
}

PyObject *core_failed(core_world *w, const sti_error *error) {
    if (!w->raised[0]) return core_error(core_state_of_type(Py_TYPE((PyObject *)w)), error);
    PyErr_Restore(w->raised[0], w->raised[1], w->raised[2]);
    w->raised[0] = w->raised[1] = w->raised[2] = NULL;
    return NULL;
}

/* data._called(key, with_rows) */
static PyObject *call_function(core_world *w, int key, bool rows) {
    PyObject *data = PyObject_CallNoArgs(w->data);
    if (!data) return NULL;
    PyObject *result = NULL;
    if (data == Py_None) PyErr_SetString(PyExc_RuntimeError, "the Data with the handlers is gone");
    else result = PyObject_CallMethod(data, "_called", "iN", key, PyBool_FromLong(rows));
    Py_DECREF(data);
    return result;
}

/* The world waits in the middle of its step; this thread may read it. */
static sti_status call_inside(core_world *w, int key, sti_rows *rows) {
    w->inside = PyThread_get_thread_ident();
    w->rows = rows;
    atomic_flag_clear(w->busy);
    PyObject *result = call_function(w, key, rows != NULL);
    (void)atomic_flag_test_and_set(w->busy);
    w->rows = NULL;
    w->inside = 0;
    if (!result) PyErr_Fetch(&w->raised[0], &w->raised[1], &w->raised[2]);
    Py_XDECREF(result);
    return result ? STI_OK : STI_STOPPED;
}

static sti_status call_back(const core_callback *c, sti_world *world, sti_rows *rows) {
    PyGILState_STATE gil = PyGILState_Ensure();
    core_world *w = c->w;
    sti_status status = STI_STOPPED;
    forget_raised(w);
    if (world == w->world) {
        status = call_inside(w, c->key, rows);
    } else {
        PyErr_SetString(PyExc_RuntimeError,
                        "linearize steps a copy of the world, which cannot call functions of Python: "
                        "remove handlers and controllers of this Data before");
        PyErr_Fetch(&w->raised[0], &w->raised[1], &w->raised[2]);
    }
    PyGILState_Release(gil);
    return status;
}

static sti_status run_handler(void *context, sti_world *world, sti_rows *rows) {
    return call_back(context, world, rows);
}
static sti_status run_controller(void *context, sti_world *world) { return call_back(context, world, NULL); }

/* ---- the list of callbacks ----------------------------------------------------------------------------------- */

void core_callbacks_free(core_world *w) {
    while (w->callbacks) {
        core_callback *next = w->callbacks->next;
        PyMem_Free(w->callbacks);
        w->callbacks = next;
    }
    forget_raised(w);
    Py_CLEAR(w->data);
}

void core_callbacks_drop(const core_world *w, sti_world *copy) {
    for (const core_callback *c = w->callbacks; c; c = c->next) sti_world_remove_handler(copy, c->number);
}

PyObject *core_world_set_data(PyObject *self, PyObject *data) {
    core_world *w = (core_world *)self;
    PyObject *weak = PyWeakref_NewRef(data, NULL), *old = w->data;
    if (!weak) return NULL;
    w->data = weak;
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

/* add_callback(key, handler: else controller) */
PyObject *core_world_add_callback(PyObject *self, PyObject *args) {
    core_world *w = (core_world *)self;
    int key, handler;
    sti_error error = {0};
    if (!PyArg_ParseTuple(args, "ip", &key, &handler)) return NULL;
    if (w->batch)
        return PyErr_Format(PyExc_ValueError,
                            "worlds of a batch step together, without Python: handlers and controllers "
                            "need a Data of their own, stiction.Data(model) or a copy"),
               NULL;
    if (!core_take_idle(w)) return NULL;
    core_callback *c = PyMem_Malloc(sizeof *c);
    if (!c) {
        atomic_flag_clear(w->busy);
        return PyErr_NoMemory();
    }
    *c = (core_callback){.w = w, .key = key, .next = w->callbacks};
    c->number = handler ? sti_world_add_handler(w->world, run_handler, c, &error)
                        : sti_world_add_controller(w->world, run_controller, c, &error);
    if (c->number >= 0) w->callbacks = c;
    else PyMem_Free(c);
    atomic_flag_clear(w->busy);
    return error.code == STI_OK ? Py_NewRef(Py_None) : core_error(core_state_of_type(Py_TYPE(self)), &error);
}

PyObject *core_world_remove_callback(PyObject *self, PyObject *number) {
    core_world *w = (core_world *)self;
    long key = PyLong_AsLong(number);
    if ((key == -1 && PyErr_Occurred()) || !core_take_idle(w)) return NULL;
    core_callback **at = &w->callbacks;
    while (*at && (*at)->key != key) at = &(*at)->next;
    core_callback *c = *at;
    if (c) {
        sti_world_remove_handler(w->world, c->number);
        *at = c->next;
        PyMem_Free(c);
    }
    atomic_flag_clear(w->busy);
    Py_RETURN_NONE;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static bool may_add(const core_world *w) {
    if (w->rows && w->inside == PyThread_get_thread_ident()) return true;
    PyErr_SetString(PyExc_RuntimeError, "rows can be added only while their handler is called");
    return false;
}

static PyObject *added(core_world *w, sti_status status) {
    if (status == STI_OK) Py_RETURN_NONE;
    return core_error(core_state_of_type(Py_TYPE((PyObject *)w)), sti_world_error(w->world));
}

#define ARRAYS 5 /* dofs, J, phi, R, vhat: int32, and doubles */

static void release(Py_buffer *b, int count) {
    for (int i = 0; i < count; i++) PyBuffer_Release(&b[i]);
}

/* The buffers of the arrays, whose sizes follow from those of dofs and phi; R and vhat may be None. */
static bool borrow_all(PyObject **array, Py_buffer *b, const void **at, Py_ssize_t dim) {
    static const char *const names[ARRAYS] = {"dofs", "J", "phi", "R", "vhat"};
    int got = 0;
    for (int i = 0; i < ARRAYS; i++) {
        at[i] = NULL;
        if (array[i] == Py_None) {
            b[got++] = (Py_buffer){0};
            continue;
        }
        if (PyObject_GetBuffer(array[i], &b[got], PyBUF_C_CONTIGUOUS) < 0) break;
        at[i] = b[got++].buf;
        Py_ssize_t want = i == 0 ? b[0].len : (Py_ssize_t)sizeof(double) * dim * (i == 1 ? b[0].len / 4 : 1);
        if (b[i].len == want) continue;
        PyErr_Format(PyExc_ValueError, "%s has %zd bytes, not %zd", names[i], b[i].len, want);
        break;
    }
    if (!PyErr_Occurred()) return true;
    release(b, got);
    return false;
}

/* rows_add(kind, dim, mu[5], lo, hi, (dofs, J, phi, R, vhat), stiffness, dissipation, feature) */
PyObject *core_world_rows_add(PyObject *self, PyObject *args) {
    core_world *w = (core_world *)self;
    sti_block block = sti_block_default();
    PyObject *array[ARRAYS];
    Py_buffer b[ARRAYS];
    const void *at[ARRAYS];
    unsigned long long feature;
    double *mu = block.row.mu;
    if (!PyArg_ParseTuple(args, "ii(ddddd)dd(OOOOO)ddK", &block.row.kind, &block.row.dim, mu, mu + 1, mu + 2,
                          mu + 3, mu + 4, &block.row.lo, &block.row.hi, &array[0], &array[1], &array[2],
                          &array[3], &array[4], &block.stiffness, &block.dissipation, &feature) ||
        !may_add(w))
        return NULL;
    if (block.row.dim < 1 || block.row.dim > 6)
        return PyErr_Format(PyExc_ValueError, "a block has 1 to 6 rows, not %d", block.row.dim), NULL;
    if (!borrow_all(array, b, at, block.row.dim)) return NULL;
    block.ndof = (int)(b[0].len / 4);
    block.dofs = at[0];
    block.J = at[1];
    memcpy(block.phi, at[2], sizeof(double) * (size_t)block.row.dim);
    block.R = at[3];
    block.vhat = at[4];
    block.feature = feature;
    sti_status status = sti_rows_add(w->rows, &block);
    release(b, ARRAYS);
    return added(w, status);
}

/* rows_touch(body1, body2, geom1, geom2, pos, normal, dist, dim, mu[5], stiffness, dissipation, feature) */
PyObject *core_world_rows_touch(PyObject *self, PyObject *args) {
    core_world *w = (core_world *)self;
    sti_touch t = sti_touch_default();
    unsigned long long feature;
    if (!PyArg_ParseTuple(args, "iiii(ddd)(ddd)di(ddddd)ddK", &t.body1, &t.body2, &t.geom1, &t.geom2,
                          &t.pos[0], &t.pos[1], &t.pos[2], &t.normal[0], &t.normal[1], &t.normal[2], &t.dist,
                          &t.dim, &t.mu[0], &t.mu[1], &t.mu[2], &t.mu[3], &t.mu[4], &t.stiffness,
                          &t.dissipation, &feature) ||
        !may_add(w))
        return NULL;
    t.feature = feature;
    return added(w, sti_rows_touch(w->rows, &t));
}
