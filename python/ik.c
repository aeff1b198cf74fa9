/* SPDX-License-Identifier: Apache-2.0 */
/* stiction._core: inverse kinematics. Arguments are made ready in stiction/__init__.py. */
#include "core.h"
#include <string.h>

/* Three or four numbers of a tuple; NULL in *out for None. */
static bool numbers(PyObject *tuple, int n, double *store, const double **out) {
    *out = NULL;
    if (tuple == Py_None) return true;
    if (!PyTuple_Check(tuple) || PyTuple_Size(tuple) != n) {
        PyErr_Format(PyExc_ValueError, "needs %d numbers", n);
        return false;
    }
    for (int i = 0; i < n; i++) store[i] = PyFloat_AsDouble(PyTuple_GetItem(tuple, i));
    *out = store;
    return !PyErr_Occurred();
}

/* ik_solve(world, error type, kind, id, pos, quat, qpos, joints, max_iterations, restarts, tolerance, damping, radius)
   -> (end, iterations, restarts, position, angle); qpos is overwritten */
static PyObject *core_ik_solve(PyObject *module, PyObject *args) {
    PyObject *owner, *type, *place, *turn, *array, *joints;
    int kind, id;
    sti_ik_options o = sti_ik_options_default();
    (void)module;
    if (!PyArg_ParseTuple(args, "OOiiOOOOiiddd", &owner, &type, &kind, &id, &place, &turn, &array, &joints,
                          &o.max_iterations, &o.restarts, &o.tolerance, &o.damping, &o.radius))
        return NULL;
    double p[3], q[4];
    const double *pos, *quat;
    char *mask = NULL;
    Py_ssize_t nmask = 0;
    if (!numbers(place, 3, p, &pos) || !numbers(turn, 4, q, &quat)) return NULL;
    if (joints != Py_None && PyBytes_AsStringAndSize(joints, &mask, &nmask) < 0) return NULL;
    Py_buffer b;
    if (PyObject_GetBuffer(array, &b, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) return NULL;
    sti_world *world = core_world_take(owner);
    sti_ik_info info;
    sti_error error = {.code = STI_ARGUMENT, .message = "qpos or joints have the wrong size"};
    if (world) {
        const sti_model *m = sti_world_model(world);
        o.joint = (const unsigned char *)mask;
        if (b.len == (Py_ssize_t)sizeof(double) * m->nq && (!mask || nmask == m->njnt)) {
            sti_status status = sti_ik_solve(world, (sti_object)kind, id, pos, quat, &o, b.buf, &info);
            error = *sti_world_error(world);
            error.code = status;
        }
        core_world_give(owner);
    }
    PyBuffer_Release(&b);
    if (!world) return NULL;
    if (error.code != STI_OK) return core_raise(type, &error);
    return Py_BuildValue("siidd", sti_ik_end_name(info.end), info.iterations, info.restarts, info.position,
                         info.angle);
}

static PyMethodDef methods[] = {{"ik_solve", core_ik_solve, METH_VARARGS, "inverse kinematics"},
                                {NULL, NULL, 0, NULL}};

int core_add_ik(PyObject *module) { return PyModule_AddFunctions(module, methods); }
