/* SPDX-License-Identifier: Apache-2.0 */
/* _core.Batch: many worlds of a model as arrays; rollouts. */
#include "objects.h"
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PATIENCE 0.05 /* s between looks for Ctrl-C */

/* Asked between steps by every thread; the caller's looks for signals. */
static bool should_stop(void *context) {
    core_batch *b = context;
    if (atomic_load_explicit(&b->stopped, memory_order_relaxed)) return true;
    if ((uintptr_t)pthread_self() != b->caller || !b->thread) return false;
    double now = core_seconds();
    if (now >= b->looked && now - b->looked < PATIENCE) return false;
    b->looked = now;
    PyEval_RestoreThread(b->thread);
    if (PyErr_CheckSignals() < 0) atomic_store(&b->stopped, true);
    b->thread = PyEval_SaveThread();
    return atomic_load(&b->stopped);
}

static void batch_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    core_batch *b = (core_batch *)self;
    sti_batch_destroy(b->batch);
    sti_pool_destroy(b->pool);
    Py_XDECREF(b->model);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* batch(model, count, threads, device) */
PyObject *core_batch_new(PyObject *module, PyObject *args) {
    PyObject *model;
    int count, threads;
    const char *device;
    core_state *s = core_state_of(module);
    if (!PyArg_ParseTuple(args, "O!iis", s->model, &model, &count, &threads, &device)) return NULL;
    if (!core_model_update(s, model)) return NULL;
    core_batch *b = PyObject_New(core_batch, s->batch);
    if (!b) return NULL;
    b->batch = NULL;
    b->thread = NULL;
    b->pool = threads > 1 ? sti_pool_create(threads, NULL) : NULL;
    b->model = Py_NewRef(model);
    atomic_flag_clear(&b->busy);
    atomic_init(&b->stopped, false);
    sti_batch_options options = sti_batch_options_default();
    options.option = &((core_model *)model)->opt;
    options.device = device;
    options.stop = should_stop;
    options.stop_context = b;
    if (b->pool) options.tasks = sti_pool_tasks(b->pool);
    sti_error error = {.code = STI_NO_MEMORY};
    if (threads <= 1 || b->pool)
        b->batch = sti_batch_create(((core_model *)model)->model, count, &options, &error);
    if (b->batch) return (PyObject *)b;
    Py_DECREF(b);
    return core_error(s, &error);
}

/* One caller at a time; the model's present options are taken over. */
bool core_batch_take(core_batch *b) {
    if (atomic_flag_test_and_set(&b->busy)) {
        PyErr_SetString(PyExc_RuntimeError, "this Batch is being stepped by another thread");
        return false;
    }
    if (!core_model_update(core_state_of_type(Py_TYPE((PyObject *)b)), b->model)) {
        atomic_flag_clear(&b->busy);
        return false;
    }
    sti_status status = sti_batch_set_option(b->batch, &((core_model *)b->model)->opt);
    if (status == STI_OK) return true;
    atomic_flag_clear(&b->busy);
    core_batch_lost(b, 0, status);
    return false;
}
static bool take(core_batch *b) { return core_batch_take(b); }
static void give(core_batch *b) { atomic_flag_clear(&b->busy); }

/* Before and after work without the GIL. */
static void leave_python(core_batch *b) {
    atomic_store(&b->stopped, false);
    b->caller = (uintptr_t)pthread_self();
    b->looked = core_seconds();
    ((core_model *)b->model)->running++;
    b->thread = PyEval_SaveThread();
}
static void enter_python(core_batch *b) {
    PyEval_RestoreThread(b->thread);
    b->thread = NULL;
    ((core_model *)b->model)->running--;
}

/* The status; NULL if a signal's handler raised. */
static PyObject *ended(core_batch *b, sti_status status) {
    give(b);
    return PyErr_Occurred() ? NULL : PyLong_FromLong(status);
}

/* step(n, wait) */
static PyObject *batch_step(PyObject *self, PyObject *args) {
    core_batch *b = (core_batch *)self;
    long n;
    int wait;
    if (!PyArg_ParseTuple(args, "lp", &n, &wait)) return NULL;
    if (n < 0 || n > 0x7fffffff)
        return PyErr_Format(PyExc_ValueError, "nstep must be between 0 and 2147483647"), NULL;
    if (!take(b)) return NULL;
    leave_python(b);
    sti_status status = wait ? sti_batch_step(b->batch, (int)n) : sti_batch_step_begin(b->batch, (int)n);
    enter_python(b);
    return ended(b, status);
}

static PyObject *batch_step_end(PyObject *self, PyObject *none) {
    core_batch *b = (core_batch *)self;
    (void)none;
    if (!take(b)) return NULL;
    leave_python(b);
    sti_status status = sti_batch_step_end(b->batch);
    enter_python(b);
    return ended(b, status);
}

/* forward(None), or forward(which: int32 array) */
static PyObject *batch_forward(PyObject *self, PyObject *which) {
    core_batch *b = (core_batch *)self;
    Py_buffer w = {0};
    bool some = which != Py_None;
    if (some && PyObject_GetBuffer(which, &w, PyBUF_C_CONTIGUOUS) < 0) return NULL;
    PyObject *result = NULL;
    if (take(b)) {
        sti_error error = {0};
        leave_python(b);
        sti_status status = some ? sti_batch_forward_some(b->batch, w.buf, (int)(w.len / 4), &error)
                                 : sti_batch_forward(b->batch);
        enter_python(b);
        result = ended(b, status);
        if (result && error.code != STI_OK) {
            Py_CLEAR(result);
            core_error(core_state_of_type(Py_TYPE(self)), &error);
        }
    }
    if (some) PyBuffer_Release(&w);
    return result;
}

sti_field core_field(PyObject *name) {
    const char *text = PyUnicode_AsUTF8AndSize(name, NULL);
    return text ? sti_field_named(text) : STI_FIELD_COUNT;
}

/* A window on all rows of a field; None if it must be gathered, or lies in the memory of a GPU. */
static PyObject *batch_view(PyObject *self, PyObject *name) {
    core_batch *b = (core_batch *)self;
    sti_view v = sti_batch_view(b->batch, core_field(name));
    if (PyErr_Occurred()) return NULL;
    if (!v.data || strcmp(sti_batch_device(b->batch), "cuda") == 0) Py_RETURN_NONE;
    return core_array_new(core_state_of_type(Py_TYPE(self)), self, v);
}

/* parameter(name) -> Array: a field of the model, a row a world; None if it lies in the memory of a GPU. */
static PyObject *batch_parameter(PyObject *self, PyObject *name) {
    core_batch *b = (core_batch *)self;
    core_state *s = core_state_of_type(Py_TYPE(self));
    const char *field = PyUnicode_AsUTF8AndSize(name, NULL);
    sti_error error = {0};
    if (!field || !take(b)) return NULL;
    sti_view v = sti_batch_parameter(b->batch, field, &error);
    give(b);
    if (!v.data) return core_error(s, &error);
    if (strcmp(sti_batch_device(b->batch), "cuda") == 0) Py_RETURN_NONE;
    return core_array_new(s, self, v);
}

/* An array that the caller has made to fit, out of a field of all worlds or into it. */
static PyObject *move_field(PyObject *self, PyObject *args, bool in) {
    core_batch *b = (core_batch *)self;
    PyObject *name, *array;
    Py_buffer buffer;
    if (!PyArg_ParseTuple(args, "UO", &name, &array)) return NULL;
    sti_field field = core_field(name);
    int flags = PyBUF_C_CONTIGUOUS | (in ? 0 : PyBUF_WRITABLE);
    if (PyErr_Occurred() || PyObject_GetBuffer(array, &buffer, flags) < 0) return NULL;
    sti_status status = STI_ARGUMENT;
    bool mine = take(b);
    if (mine) {
        size_t bytes =
            sizeof(double) * sti_batch_field_size(b->batch, field) * (size_t)sti_batch_count(b->batch);
        if (field != STI_FIELD_COUNT && (size_t)buffer.len == bytes)
            status = in ? sti_batch_scatter(b->batch, field, buffer.buf)
                        : sti_batch_gather(b->batch, field, buffer.buf);
        give(b);
    }
    PyBuffer_Release(&buffer);
    if (!mine) return NULL;
    if (status != STI_OK)
        return PyErr_Format(PyExc_ValueError, "there is no such field, or the array has another size"), NULL;
    Py_RETURN_NONE;
}

/* gather(name, out), scatter(name, in) */
static PyObject *batch_gather(PyObject *self, PyObject *args) { return move_field(self, args, false); }
static PyObject *batch_scatter(PyObject *self, PyObject *args) { return move_field(self, args, true); }

static PyObject *finish_reset(core_batch *b, sti_status status, const sti_error *error) {
    give(b);
    if (status == STI_OK) Py_RETURN_NONE;
    return core_error(core_state_of_type(Py_TYPE((PyObject *)b)), error);
}

/* reset(which: int32 array, key, states or None) */
static PyObject *batch_reset(PyObject *self, PyObject *args) {
    core_batch *b = (core_batch *)self;
    PyObject *which, *states;
    int key;
    Py_buffer w, x = {0};
    if (!PyArg_ParseTuple(args, "OiO", &which, &key, &states)) return NULL;
    if (PyObject_GetBuffer(which, &w, PyBUF_C_CONTIGUOUS) < 0) return NULL;
    PyObject *result = NULL;
    bool given = states != Py_None;
    Py_ssize_t n = w.len / 4, size = (Py_ssize_t)sizeof(double) * sti_state_size(sti_batch_model(b->batch));
    if (given && PyObject_GetBuffer(states, &x, PyBUF_C_CONTIGUOUS) < 0) goto done;
    sti_error error = {0};
    if (given && x.len != n * size) PyErr_SetString(PyExc_ValueError, "the states have another size");
    else if (take(b)) {
        sti_status status = given ? sti_batch_reset_to(b->batch, w.buf, (int)n, x.buf, &error)
                                  : sti_batch_reset(b->batch, w.buf, (int)n, key, &error);
        result = finish_reset(b, status, &error);
    }
    if (given) PyBuffer_Release(&x);
done:
    PyBuffer_Release(&w);
    return result;
}

/* Statuses that are not OK: {world: (name, text)} */
static PyObject *batch_failures(PyObject *self, PyObject *unused) {
    (void)unused;
    core_batch *b = (core_batch *)self;
    if (!take(b)) return NULL;
    PyObject *dict = PyDict_New();
    const sti_status *status = sti_batch_status(b->batch);
    for (int i = 0; dict && i < sti_batch_count(b->batch); i++) {
        if (status[i] == STI_OK) continue;
        sti_error e = {0};
        sti_batch_error(b->batch, i, &e);
        PyObject *key = PyLong_FromLong(i);
        PyObject *text = core_text(e.code == status[i] ? e.message : sti_status_text(status[i]));
        PyObject *item = text ? Py_BuildValue("sN", sti_status_name(status[i]), text) : NULL;
        if (!key || !item || PyDict_SetItem(dict, key, item) < 0) Py_CLEAR(dict);
        Py_XDECREF(key);
        Py_XDECREF(item);
    }
    give(b);
    return dict;
}

/* solved(certificates: double, iterations: int32, converged: bool), each of count */
static PyObject *batch_solved(PyObject *self, PyObject *args) {
    core_batch *b = (core_batch *)self;
    PyObject *out[3];
    Py_buffer x[3];
    static const size_t item[] = {sizeof(double), sizeof(int), sizeof(bool)};
    if (!PyArg_ParseTuple(args, "OOO", &out[0], &out[1], &out[2])) return NULL;
    int got = 0, fits = 1;
    while (got < 3 && PyObject_GetBuffer(out[got], &x[got], PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) == 0) {
        fits &= x[got].len == (Py_ssize_t)(item[got] * (size_t)sti_batch_count(b->batch));
        got++;
    }
    bool done = false;
    if (got == 3 && !fits) PyErr_SetString(PyExc_ValueError, "the arrays have another size");
    else if (got == 3 && take(b)) {
        sti_batch_solved(b->batch, x[0].buf, x[1].buf, x[2].buf);
        give(b);
        done = true;
    }
    for (int i = 0; i < got; i++) PyBuffer_Release(&x[i]);
    return done ? Py_NewRef(Py_None) : NULL;
}

static PyObject *batch_world(PyObject *self, PyObject *number) {
    core_batch *b = (core_batch *)self;
    long i = PyLong_AsLong(number);
    if (i == -1 && PyErr_Occurred()) return NULL;
    sti_world *world = i >= 0 && i < sti_batch_count(b->batch) ? sti_batch_world(b->batch, (int)i) : NULL;
    if (!world) return PyErr_Format(PyExc_IndexError, "world %ld is out of range", i), NULL;
    return core_wrap_world(core_state_of_type(Py_TYPE(self)), world, b->model, NULL, self);
}

static PyObject *batch_hashes(PyObject *self, PyObject *unused) {
    (void)unused;
    core_batch *b = (core_batch *)self;
    if (!take(b)) return NULL;
    size_t count = (size_t)sti_batch_count(b->batch);
    uint64_t *all = PyMem_Calloc(count, sizeof *all);
    sti_status status = all ? sti_batch_hash(b->batch, all) : STI_NO_MEMORY;
    PyObject *list = status == STI_OK ? PyList_New(0) : core_batch_lost(b, 0, status);
    for (size_t i = 0; list && i < count; i++) {
        PyObject *hash = PyLong_FromUnsignedLongLong(all[i]);
        if (!hash || PyList_Append(list, hash) < 0) Py_CLEAR(list);
        Py_XDECREF(hash);
    }
    PyMem_Free(all);
    give(b);
    return list;
}

/* rollout(count, nstep, state, one_state, ctrl, one_ctrl, states, sensordata, status): arrays that the caller has made to
   fit, state with one_state may be empty: the worlds go on; see stiction/batch.py */
static PyObject *batch_rollout(PyObject *self, PyObject *args) {
    core_batch *b = (core_batch *)self;
    const sti_model *m = sti_batch_model(b->batch);
    sti_rollout r = {0};
    PyObject *array[5];
    Py_buffer x[5];
    int one_state, one_ctrl, got = 0;
    if (!PyArg_ParseTuple(args, "iiOpOpOOO", &r.count, &r.nstep, &array[0], &one_state, &array[1], &one_ctrl,
                          &array[2], &array[3], &array[4]))
        return NULL;
    size_t n = (size_t)sti_state_size(m), count = (size_t)r.count, steps = count * (size_t)r.nstep;
    bool fits = r.count >= 0 && r.nstep >= 0;
    const size_t bytes[] = {(one_state ? 1 : count) * n * 8,
                            (one_ctrl ? (size_t)r.nstep : steps) * (size_t)m->nu * 8, steps * n * 8,
                            steps * (size_t)m->nsensordata * 8, count * sizeof(sti_status)};
    for (; got < 5; got++) {
        int flags = PyBUF_C_CONTIGUOUS | (got > 1 ? PyBUF_WRITABLE : 0);
        if (PyObject_GetBuffer(array[got], &x[got], flags) < 0) break;
        bool goes_on = got == 0 && one_state && x[0].len == 0;
        fits &= (size_t)x[got].len == bytes[got] || goes_on;
    }
    sti_status status = STI_OK;
    sti_error error = {0};
    bool ran = false;
    if (got == 5 && !fits) PyErr_SetString(PyExc_ValueError, "the arrays of a rollout have other sizes");
    else if (got == 5 && take(b)) {
        r.state = x[0].len ? x[0].buf : NULL, r.ctrl = x[1].buf, r.states = x[2].buf, r.sensordata = x[3].buf,
        r.status = x[4].buf;
        r.one_state = one_state, r.one_ctrl = one_ctrl;
        leave_python(b);
        status = sti_batch_rollout(b->batch, &r, &error);
        enter_python(b);
        give(b);
        ran = !PyErr_Occurred();
    }
    for (int i = 0; i < got; i++) PyBuffer_Release(&x[i]);
    if (!ran) return NULL;
    PyObject *text = core_text(error.message);
    return text ? Py_BuildValue("sN", sti_status_name(status), text) : NULL;
}

/* worlds side by side, and the share of these places that was in use */
static PyObject *batch_lanes(PyObject *self, PyObject *none) {
    const core_batch *b = (core_batch *)self;
    (void)none;
    return Py_BuildValue("id", sti_batch_lanes(b->batch), sti_batch_lane_share(b->batch));
}

PyObject *core_lanes(PyObject *module, PyObject *none) {
    (void)module;
    (void)none;
    return PyLong_FromLong(sti_lanes());
}

static PyMethodDef batch_methods[] = {
    {"step", batch_step, METH_VARARGS, "n steps of all worlds; the first status that is not OK"},
    {"step_end", batch_step_end, METH_NOARGS, "the end of steps that nobody has waited for"},
    {"forward", batch_forward, METH_O, "everything but the integration, of all or some"},
    {"view", batch_view, METH_O, "a field of all worlds, None if it must be gathered"},
    {"parameter", batch_parameter, METH_O, "a field of the model that differs from world to world"},
    {"gather", batch_gather, METH_VARARGS, "a field of all worlds into an array"},
    {"scatter", batch_scatter, METH_VARARGS, "a field of all worlds from an array"},
    {"reset", batch_reset, METH_VARARGS, "some worlds to a keyframe or to states"},
    {"failures", batch_failures, METH_NOARGS, "worlds whose last call failed"},
    {"solved", batch_solved, METH_VARARGS, "certificates, iterations, converged"},
    {"device", core_batch_device, METH_NOARGS,
     "its name, and bytes of model, world and all; growths, reordered factors"},
    {"move_parameter", core_batch_move_parameter, METH_VARARGS,
     "a parameter of all worlds into an array or from it"},
    {"place", core_batch_place, METH_VARARGS,
     "address of an array, and whether it may be written; None: it must be gathered"},
    {"dlpack", core_batch_dlpack, METH_VARARGS, "a field's array as a capsule of DLPack"},
    {"scatter_there", core_batch_scatter_there, METH_VARARGS,
     "a field of all worlds from an address of the memory in which they live"},
    {"save", core_batch_save, METH_VARARGS, "world i into a world of the same model"},
    {"restore", core_batch_restore, METH_VARARGS, "world i from a world of the same model"},
    {"lanes", batch_lanes, METH_NOARGS, "worlds side by side, share in use"},
    {"world", batch_world, METH_O, "one of the worlds"},
    {"hashes", batch_hashes, METH_NOARGS, "of all worlds"},
    {"rollout", batch_rollout, METH_VARARGS, "trajectories from states and controls"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot batch_slots[] = {
    {Py_tp_dealloc, batch_dealloc}, {Py_tp_methods, batch_methods}, {0, NULL}};
PyType_Spec core_batch_spec = {"stiction._core.Batch", sizeof(core_batch), 0,
                               Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, batch_slots};
