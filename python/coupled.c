/* SPDX-License-Identifier: Apache-2.0 */
/* stiction._core: coupled constraints. Arguments are made ready in stiction/coupled.py. */
#include "core.h"
#include <string.h>

typedef struct core_coupled {
    PyObject_HEAD sti_coupled coupled;
} core_coupled;

enum { BODY_NUMBERS = sizeof(sti_coupled_body) / sizeof(double) };
_Static_assert(BODY_NUMBERS == 23, "stiction/coupled.py knows the order of a body's numbers");

/* ---- numbers out ------------------------------------------------------------------------------------ */

static PyObject *reals(const double *x, int n) {
    PyObject *list = PyTuple_New(n);
    for (int i = 0; list && i < n; i++) {
        PyObject *item = PyFloat_FromDouble(x[i]);
        if (!item || PyTuple_SetItem(list, i, item) < 0) Py_CLEAR(list);
    }
    return list;
}

static PyObject *condition(const sti_coupled_condition *c) {
    return Py_BuildValue("iiddddd", c->size, c->rank, c->pivot_min, c->pivot_max, c->row_sum, c->spectral,
                         c->gap);
}

PyObject *core_coupled_diagnostics(const sti_coupled_diagnostics *d, int count) {
    return Py_BuildValue("iiiNNddNNdddLLL", d->flags, d->active, d->dropped, condition(&d->whole),
                         condition(&d->kept), d->C_d, d->C_theta, reals(d->phi, count),
                         reals(d->impulse, count), d->residual, d->force, d->torque, (long long)d->steps,
                         (long long)d->warnings, (long long)d->drops);
}

/* ---- matrices --------------------------------------------------------------------------------------- */

static double *hold(PyObject *object, Py_buffer *view, Py_ssize_t count, bool write) {
    if (PyObject_GetBuffer(object, view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (write ? PyBUF_WRITABLE : 0)) <
        0)
        return NULL;
    if (view->itemsize == sizeof(double) && view->format && view->format[0] == 'd' &&
        (count < 0 || view->len == count * (Py_ssize_t)sizeof(double)))
        return view->buf;
    PyBuffer_Release(view);
    PyErr_Format(PyExc_ValueError, "must be a float64 array of %zd numbers", count);
    return NULL;
}

/* coupled_invert(K, size, epsilon, inverse, table): one or many matrices; a row of table is size ... gap */
static PyObject *core_coupled_invert(PyObject *module, PyObject *args) {
    PyObject *in, *out, *sheet;
    Py_buffer k, inverse, table;
    int size;
    double epsilon;
    (void)module;
    if (!PyArg_ParseTuple(args, "OidOO", &in, &size, &epsilon, &out, &sheet)) return NULL;
    if (size < 1 || size > STI_COUPLED_MAX)
        return PyErr_Format(PyExc_ValueError, "a matrix must have 1 to 4 rows, not %d", size), NULL;
    const double *K = hold(in, &k, -1, false);
    if (!K) return NULL;
    Py_ssize_t cells = (Py_ssize_t)size * size, count = k.len / (Py_ssize_t)sizeof(double) / cells;
    double *inv = hold(out, &inverse, count * cells, true), *row = NULL;
    if (inv && !(row = hold(sheet, &table, 7 * count, true))) PyBuffer_Release(&inverse);
    for (Py_ssize_t i = 0; row && i < count; i++, row += 7) {
        sti_coupled_condition c;
        sti_coupled_invert(size, K + i * cells, epsilon, inv + i * cells, &c);
        double line[7] = {c.size, c.rank, c.pivot_min, c.pivot_max, c.row_sum, c.spectral, c.gap};
        memcpy(row, line, sizeof line);
    }
    if (row) {
        PyBuffer_Release(&inverse);
        PyBuffer_Release(&table);
    }
    PyBuffer_Release(&k);
    if (!row) return NULL;
    Py_RETURN_NONE;
}

/* ---- constraints ------------------------------------------------------------------------------------ */

/* coupled(equations, anchors and axis, numbers, max_drops, cross) */
static PyObject *core_coupled_new(PyObject *module, PyObject *args) {
    PyObject *equations, *frame, *numbers, *result = NULL;
    Py_buffer e, f, n;
    int drops, cross;
    if (!PyArg_ParseTuple(args, "OOOip", &equations, &frame, &numbers, &drops, &cross)) return NULL;
    sti_coupled_def def = sti_coupled_def_default();
    def.max_drops = drops;
    def.cross = cross;
    double *x = hold(equations, &e, -1, false);
    if (!x) return NULL;
    Py_ssize_t count = e.len / (Py_ssize_t)sizeof(double) / 3;
    def.count = count > STI_COUPLED_MAX ? STI_COUPLED_MAX + 1 : (int)count;
    for (int i = 0; i < def.count && i < STI_COUPLED_MAX; i++)
        def.equation[i] = (sti_coupled_equation){x[3 * i], x[3 * i + 1], x[3 * i + 2]};
    PyBuffer_Release(&e);
    if (!(x = hold(frame, &f, 9, false))) return NULL;
    memcpy(def.anchor_a, x, sizeof def.anchor_a);
    memcpy(def.anchor_b, x + 3, sizeof def.anchor_b);
    memcpy(def.axis, x + 6, sizeof def.axis);
    PyBuffer_Release(&f);
    double *const places[] = {&def.distance,  &def.angle,         &def.softness_d,      &def.softness_theta,
                              &def.beta,      &def.pivot_epsilon, &def.condition_limit, &def.warm_start,
                              &def.max_force, &def.max_torque};
    if (!(x = hold(numbers, &n, 10, false))) return NULL;
    for (int i = 0; i < 10; i++) *places[i] = x[i];
    PyBuffer_Release(&n);
    sti_coupled coupled;
    sti_error error = {0};
    if (sti_coupled_init(&coupled, &def, &error) != STI_OK)
        return PyErr_SetString(PyExc_ValueError, error.message), NULL;
    PyObject *type = PyObject_GetAttrString(module, "Coupled");
    if (type && (result = (PyObject *)PyObject_New(core_coupled, (PyTypeObject *)type)))
        ((core_coupled *)result)->coupled = coupled;
    Py_XDECREF(type);
    return result;
}

static void coupled_dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_Free(self);
    Py_DECREF(type);
}

/* run(what, a, b, h): 0 prepare, 1 velocity, 2 position, 3 finish */
static PyObject *coupled_run(PyObject *self, PyObject *args) {
    sti_coupled *c = &((core_coupled *)self)->coupled;
    PyObject *first, *second;
    Py_buffer views[2];
    sti_coupled_body body[2];
    int what;
    double h, left = 0;
    sti_status status = STI_OK;
    if (!PyArg_ParseTuple(args, "iOOd", &what, &first, &second, &h)) return NULL;
    double *a = hold(first, &views[0], BODY_NUMBERS, true);
    if (!a) return NULL;
    double *b = hold(second, &views[1], BODY_NUMBERS, true);
    if (b) {
        memcpy(&body[0], a, sizeof body[0]);
        memcpy(&body[1], b, sizeof body[1]);
        if (what == 0) status = sti_coupled_prepare(c, &body[0], &body[1], h);
        else if (what == 1) left = sti_coupled_solve_velocity(c, &body[0], &body[1]);
        else if (what == 2) left = sti_coupled_solve_position(c, &body[0], &body[1]);
        else sti_coupled_finish(c, &body[0], &body[1]);
        memcpy(a, &body[0], sizeof body[0]);
        memcpy(b, &body[1], sizeof body[1]);
        PyBuffer_Release(&views[1]);
    }
    PyBuffer_Release(&views[0]);
    if (!b) return NULL;
    if (status == STI_OK) return PyFloat_FromDouble(left);
    PyErr_SetString(PyExc_ValueError,
                    status == STI_NONFINITE
                        ? "a body has a number that is not finite"
                        : "h must be positive and finite, masses not negative, quaternions unit");
    return NULL;
}

static PyObject *coupled_diagnostics(PyObject *self, PyObject *unused) {
    (void)unused;
    const sti_coupled *c = &((core_coupled *)self)->coupled;
    return core_coupled_diagnostics(&c->diagnostics, c->def.count);
}

/* K, its inverse, gamma, bias, impulse, broken */
static PyObject *coupled_block(PyObject *self, PyObject *unused) {
    (void)unused;
    const sti_coupled *c = &((core_coupled *)self)->coupled;
    int n = c->def.count;
    return Py_BuildValue("NNNNNN", reals(c->K, n * n), reals(c->inverse, n * n), reals(c->gamma, n),
                         reals(c->bias, n), reals(c->impulse, n), PyBool_FromLong(c->broken));
}

static PyObject *core_coupled_move(PyObject *module, PyObject *args) {
    PyObject *object;
    Py_buffer view;
    sti_coupled_body body;
    double h;
    (void)module;
    if (!PyArg_ParseTuple(args, "Od", &object, &h)) return NULL;
    double *x = hold(object, &view, BODY_NUMBERS, true);
    if (!x) return NULL;
    memcpy(&body, x, sizeof body);
    sti_coupled_body_move(&body, h);
    memcpy(x, &body, sizeof body);
    PyBuffer_Release(&view);
    Py_RETURN_NONE;
}

/* ---- module ----------------------------------------------------------------------------------------- */

static PyMethodDef coupled_methods[] = {
    {"run", coupled_run, METH_VARARGS, "prepare, velocity, position or finish"},
    {"diagnostics", coupled_diagnostics, METH_NOARGS, "of the last step"},
    {"block", coupled_block, METH_NOARGS, "the small system"},
    {NULL, NULL, 0, NULL}};
static PyType_Slot coupled_slots[] = {
    {Py_tp_dealloc, coupled_dealloc}, {Py_tp_methods, coupled_methods}, {0, NULL}};
static PyType_Spec coupled_spec = {"stiction._core.Coupled", sizeof(core_coupled), 0,
                                   Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, coupled_slots};
static PyMethodDef functions[] = {
    {"coupled_invert", core_coupled_invert, METH_VARARGS, "inverses of small matrices"},
    {"coupled", core_coupled_new, METH_VARARGS, "a coupled constraint"},
    {"coupled_move", core_coupled_move, METH_VARARGS, "moves a body by h"},
    {NULL, NULL, 0, NULL}};

static PyObject *presets(void) {
    int count;
    const sti_coupled_preset *p = sti_coupled_presets(&count);
    PyObject *list = PyList_New(0);
    for (int i = 0; list && i < count; i++) {
        PyObject *item =
            Py_BuildValue("sddddNdd", p[i].name, p[i].r_d, p[i].r_theta, p[i].softness_d, p[i].softness_theta,
                          reals(p[i].K, 4), p[i].printed_row_sum, p[i].printed_spectral);
        if (!item || PyList_Append(list, item) < 0) Py_CLEAR(list);
        Py_XDECREF(item);
    }
    return list;
}

int core_add_coupled(PyObject *module) {
    PyObject *type = PyType_FromModuleAndSpec(module, &coupled_spec, NULL), *list = presets();
    PyObject *flags = PyDict_New();
    int bad = !type || PyModule_AddType(module, (PyTypeObject *)type) < 0 || !list || !flags ||
              PyModule_AddObjectRef(module, "COUPLED_PRESETS", list) < 0;
#define X(id, words)                                             \
    if (!bad) {                                                  \
        PyObject *bit = PyLong_FromLong(STI_COUPLED_##id);       \
        bad = !bit || PyDict_SetItemString(flags, #id, bit) < 0; \
        Py_XDECREF(bit);                                         \
    }
    STI_COUPLED_FLAGS(X)
#undef X
    bad = bad || PyModule_AddObjectRef(module, "COUPLED_FLAGS", flags) < 0;
    Py_XDECREF(type);
    Py_XDECREF(list);
    Py_XDECREF(flags);
    return bad ? -1 : PyModule_AddFunctions(module, functions);
}
