/* SPDX-License-Identifier: Apache-2.0 */
/* stiction._core: Jacobians, inverse dynamics, linear models, state vectors, steps in parts. Arguments are made ready in
   stiction/control.py. */
#include "objects.h"
#include <string.h>

#define BUFFERS 4

/* Arrays of doubles that a call borrows. */
typedef struct loan {
    Py_buffer b[BUFFERS];
    int count;
} loan;

static void give(loan *l) {
    for (int i = 0; i < l->count; i++) PyBuffer_Release(&l->b[i]);
}

/* The numbers of an array of `count` doubles; NULL in *out for None. False, with an exception and everything released, if it is
   something else. */
static bool borrow(loan *l, PyObject *array, Py_ssize_t count, bool write, double **out) {
    *out = NULL;
    if (array == Py_None) return true;
    Py_buffer *b = &l->b[l->count];
    if (PyObject_GetBuffer(array, b, PyBUF_C_CONTIGUOUS | (write ? PyBUF_WRITABLE : 0)) == 0) {
        l->count++;
        *out = b->buf;
        if (b->len == count * (Py_ssize_t)sizeof(double)) return true;
        PyErr_Format(PyExc_ValueError, "the array must have %zd doubles, not %zd bytes", count, b->len);
    }
    give(l);
    return false;
}

/* None, or stiction.Error of the world; gives back what was taken and borrowed. */
static PyObject *finish(PyObject *module, PyObject *world, loan *l, sti_status status) {
    sti_error error = *sti_world_error(((core_world *)world)->world);
    error.code = status;
    core_world_give(world);
    give(l);
    (void)module;
    if (status == STI_OK) Py_RETURN_NONE;
    return core_failed((core_world *)world, &error);
}

/* False, with everything given back, if another has the world; idle: a callback may not call this. */
static bool take_idle(PyObject *world, loan *l, sti_world **out) {
    bool mine = core_take_idle((core_world *)world);
    *out = mine ? ((core_world *)world)->world : NULL;
    if (!mine) give(l);
    return mine;
}
static bool take_world(PyObject *world, loan *l, sti_world **out) {
    *out = core_world_take(world);
    if (!*out) give(l);
    return *out != NULL;
}

static const sti_model *model_of(PyObject *world) { return sti_world_model(((core_world *)world)->world); }

/* ---- Jacobians, velocities, forces ------------------------------------------------------------------------- */

/* jac_object(world, kind, id, jacp or None, jacr or None) */
static PyObject *control_jac_object(PyObject *module, PyObject *args) {
    PyObject *owner, *a, *b;
    int kind, id;
    double *p, *r;
    loan l = {.count = 0};
    sti_world *world;
    if (!PyArg_ParseTuple(args, "O!iiOO", core_state_of(module)->world, &owner, &kind, &id, &a, &b))
        return NULL;
    Py_ssize_t n = 3 * (Py_ssize_t)model_of(owner)->nv;
    if (!borrow(&l, a, n, true, &p) || !borrow(&l, b, n, true, &r) || !take_world(owner, &l, &world))
        return NULL;
    return finish(module, owner, &l, sti_jac_object(world, (sti_object)kind, id, p, r));
}

/* jac_point(world, body, point, jacp or None, jacr or None) */
static PyObject *control_jac_point(PyObject *module, PyObject *args) {
    PyObject *owner, *a, *b;
    int body;
    double x[3], *p, *r;
    loan l = {.count = 0};
    sti_world *world;
    if (!PyArg_ParseTuple(args, "O!i(ddd)OO", core_state_of(module)->world, &owner, &body, x, x + 1, x + 2,
                          &a, &b))
        return NULL;
    Py_ssize_t n = 3 * (Py_ssize_t)model_of(owner)->nv;
    if (!borrow(&l, a, n, true, &p) || !borrow(&l, b, n, true, &r) || !take_world(owner, &l, &world))
        return NULL;
    return finish(module, owner, &l, sti_jac_point(world, body, x, p, r));
}

/* jac_subtree_com(world, body, jacp) */
static PyObject *control_jac_subtree_com(PyObject *module, PyObject *args) {
    PyObject *owner, *a;
    int body;
    double *p;
    loan l = {.count = 0};
    sti_world *world;
    if (!PyArg_ParseTuple(args, "O!iO", core_state_of(module)->world, &owner, &body, &a)) return NULL;
    if (a == Py_None) return PyErr_Format(PyExc_TypeError, "an array is needed"), NULL;
    if (!borrow(&l, a, 3 * (Py_ssize_t)model_of(owner)->nv, true, &p) || !take_world(owner, &l, &world))
        return NULL;
    return finish(module, owner, &l, sti_jac_subtree_com(world, body, p));
}

/* object_velocity(world, kind, id, local, out) */
static PyObject *control_object_velocity(PyObject *module, PyObject *args) {
    PyObject *owner, *a;
    int kind, id, local;
    double *out;
    loan l = {.count = 0};
    sti_world *world;
    if (!PyArg_ParseTuple(args, "O!iipO", core_state_of(module)->world, &owner, &kind, &id, &local, &a))
        return NULL;
    if (a == Py_None) return PyErr_Format(PyExc_TypeError, "an array is needed"), NULL;
    if (!borrow(&l, a, 6, true, &out) || !take_world(owner, &l, &world)) return NULL;
    return finish(module, owner, &l, sti_object_velocity(world, (sti_object)kind, id, local, out));
}

/* apply_ft(world, force or None, torque or None, point, body, qfrc) */
static PyObject *control_apply_ft(PyObject *module, PyObject *args) {
    PyObject *owner, *a, *b, *c;
    int body;
    double x[3], *force, *torque, *qfrc;
    loan l = {.count = 0};
    sti_world *world;
    if (!PyArg_ParseTuple(args, "O!OO(ddd)iO", core_state_of(module)->world, &owner, &a, &b, x, x + 1, x + 2,
                          &body, &c))
        return NULL;
    if (c == Py_None) return PyErr_Format(PyExc_TypeError, "an array is needed"), NULL;
    if (!borrow(&l, a, 3, false, &force) || !borrow(&l, b, 3, false, &torque) ||
        !borrow(&l, c, model_of(owner)->nv, true, &qfrc) || !take_world(owner, &l, &world))
        return NULL;
    return finish(module, owner, &l, sti_apply_ft(world, force, torque, x, body, qfrc));
}

/* ---- positions ------------------------------------------------------------------------------------------------ */

/* integrate_pos(model, qpos, qvel, dt) */
static PyObject *control_integrate_pos(PyObject *module, PyObject *args) {
    PyObject *owner, *a, *b;
    double dt, *qpos, *qvel;
    loan l = {.count = 0};
    if (!PyArg_ParseTuple(args, "O!OOd", core_state_of(module)->model, &owner, &a, &b, &dt)) return NULL;
    const sti_model *m = ((core_model *)owner)->model;
    if (a == Py_None || b == Py_None) return PyErr_Format(PyExc_TypeError, "arrays are needed"), NULL;
    if (!borrow(&l, a, m->nq, true, &qpos) || !borrow(&l, b, m->nv, false, &qvel)) return NULL;
    sti_integrate_pos(m, qpos, qvel, dt);
    give(&l);
    Py_RETURN_NONE;
}

/* differentiate_pos(model, qvel, dt, qpos1, qpos2) */
static PyObject *control_differentiate_pos(PyObject *module, PyObject *args) {
    PyObject *owner, *a, *b, *c;
    double dt, *qvel, *q1, *q2;
    loan l = {.count = 0};
    if (!PyArg_ParseTuple(args, "O!OdOO", core_state_of(module)->model, &owner, &a, &dt, &b, &c)) return NULL;
    const sti_model *m = ((core_model *)owner)->model;
    if (a == Py_None || b == Py_None || c == Py_None)
        return PyErr_Format(PyExc_TypeError, "arrays are needed"), NULL;
    if (!borrow(&l, a, m->nv, true, &qvel) || !borrow(&l, b, m->nq, false, &q1) ||
        !borrow(&l, c, m->nq, false, &q2))
        return NULL;
    sti_differentiate_pos(m, qvel, dt, q1, q2);
    give(&l);
    Py_RETURN_NONE;
}

/* ---- steps in parts ---------------------------------------------------------------------------------------------- */

typedef sti_status stage_call(sti_world *world);
#define STAGE(name)                                \
    static sti_status stage_##name(sti_world *w) { \
        sti_stage_##name(w);                       \
        return STI_OK;                             \
    }
STAGE(dynamics)
STAGE(position)
STAGE(velocity)
STAGE(actuation)
STAGE(acceleration)
STAGE(sense)
STAGE(integrate)
static const struct {
    const char *name;
    stage_call *call;
} stages[] = {{"step1", sti_step1},
              {"step2", sti_step2},
              {"dynamics", stage_dynamics},
              {"position", stage_position},
              {"velocity", stage_velocity},
              {"actuation", stage_actuation},
              {"acceleration", stage_acceleration},
              {"collide", sti_stage_collide},
              {"contact", sti_stage_contact},
              {"solve", sti_stage_solve},
              {"sense", stage_sense},
              {"integrate", stage_integrate}};

/* stage(world, name) -> whether there is such a stage */
static PyObject *control_stage(PyObject *module, PyObject *args) {
    PyObject *owner;
    const char *name;
    loan l = {.count = 0};
    sti_world *world;
    if (!PyArg_ParseTuple(args, "O!s", core_state_of(module)->world, &owner, &name)) return NULL;
    for (size_t i = 0; i < sizeof stages / sizeof *stages; i++) {
        if (strcmp(stages[i].name, name) != 0) continue;
        if (!take_idle(owner, &l, &world)) return NULL;
        sti_status status;
        CORE_RUN(((core_world *)owner)->model) status = stages[i].call(world);
        CORE_RUN_END(((core_world *)owner)->model)
        return finish(module, owner, &l, status);
    }
    return PyErr_Format(PyExc_ValueError, "there is no stage '%s'", name), NULL;
}

/* ---- inverse dynamics, linear models ---------------------------------------------------------------------------- */

/* inverse(world, qacc, qfrc) */
static PyObject *control_inverse(PyObject *module, PyObject *args) {
    PyObject *owner, *a, *b;
    double *qacc, *qfrc;
    loan l = {.count = 0};
    sti_world *world;
    if (!PyArg_ParseTuple(args, "O!OO", core_state_of(module)->world, &owner, &a, &b)) return NULL;
    int nv = model_of(owner)->nv;
    if (a == Py_None || b == Py_None) return PyErr_Format(PyExc_TypeError, "arrays are needed"), NULL;
    if (!borrow(&l, a, nv, false, &qacc) || !borrow(&l, b, nv, true, &qfrc) || !take_idle(owner, &l, &world))
        return NULL;
    return finish(module, owner, &l, sti_inverse(world, qacc, qfrc));
}

/* linearize(world, eps, centered, A, B, C, D) */
static PyObject *control_linearize(PyObject *module, PyObject *args) {
    PyObject *owner, *array[4];
    double eps, *out[4];
    int centered;
    loan l = {.count = 0};
    sti_world *world;
    if (!PyArg_ParseTuple(args, "O!dpOOOO", core_state_of(module)->world, &owner, &eps, &centered, &array[0],
                          &array[1], &array[2], &array[3]))
        return NULL;
    const sti_model *m = model_of(owner);
    Py_ssize_t n = 2 * (Py_ssize_t)m->nv + m->na, ny = m->nsensordata, nu = m->nu;
    const Py_ssize_t size[4] = {n * n, n * nu, ny * n, ny * nu};
    for (int i = 0; i < 4; i++)
        if (!borrow(&l, array[i], size[i], true, &out[i])) return NULL;
    if (!take_idle(owner, &l, &world)) return NULL;
    sti_status status;
    CORE_RUN(((core_world *)owner)->model)
    status = sti_linearize(world, eps, centered, out[0], out[1], out[2], out[3]);
    CORE_RUN_END(((core_world *)owner)->model)
    return finish(module, owner, &l, status);
}

/* ---- state ---------------------------------------------------------------------------------------------------------- */

static PyObject *control_state_size(PyObject *module, PyObject *args) {
    PyObject *owner;
    unsigned int bits;
    if (!PyArg_ParseTuple(args, "O!I", core_state_of(module)->model, &owner, &bits)) return NULL;
    return PyLong_FromLong(sti_state_bits_size(((core_model *)owner)->model, bits));
}

/* state_get(world, bits, out), state_set(world, bits, in) */
static PyObject *move_state(PyObject *module, PyObject *args, bool set) {
    PyObject *owner, *array;
    unsigned int bits;
    double *x;
    loan l = {.count = 0};
    sti_world *world;
    if (!PyArg_ParseTuple(args, "O!IO", core_state_of(module)->world, &owner, &bits, &array)) return NULL;
    int n = sti_state_bits_size(model_of(owner), bits);
    if (n < 0) return PyErr_Format(PyExc_ValueError, "state bits %u are unknown", bits), NULL;
    if (array == Py_None) return PyErr_Format(PyExc_TypeError, "an array is needed"), NULL;
    if (!borrow(&l, array, n, !set, &x) || !(set ? take_idle : take_world)(owner, &l, &world)) return NULL;
    return finish(module, owner, &l, set ? sti_state_set(world, bits, x) : sti_state_get(world, bits, x));
}
static PyObject *control_state_get(PyObject *module, PyObject *args) {
    return move_state(module, args, false);
}
static PyObject *control_state_set(PyObject *module, PyObject *args) {
    return move_state(module, args, true);
}

static PyObject *control_eq_active(PyObject *module, PyObject *world) {
    core_state *s = core_state_of(module);
    if (!PyObject_TypeCheck(world, s->world)) return PyErr_Format(PyExc_TypeError, "a world is needed"), NULL;
    return core_array_new(s, world, sti_world_eq_active(((core_world *)world)->world));
}

/* set_keyframe(model, world, key) */
static PyObject *control_set_keyframe(PyObject *module, PyObject *args) {
    core_state *s = core_state_of(module);
    PyObject *model, *owner;
    int key;
    sti_error error = {0};
    if (!PyArg_ParseTuple(args, "O!O!i", s->model, &model, s->world, &owner, &key)) return NULL;
    sti_world *world = core_world_take(owner);
    if (!world) return NULL;
    sti_status status = sti_model_set_keyframe(((core_model *)model)->model, world, key, &error);
    core_world_give(owner);
    if (status == STI_OK) Py_RETURN_NONE;
    return core_error(s, &error);
}

static PyMethodDef methods[] = {
    {"jac_object", control_jac_object, METH_VARARGS, "Jacobian of a frame"},
    {"jac_point", control_jac_point, METH_VARARGS, "Jacobian of a point of a body"},
    {"jac_subtree_com", control_jac_subtree_com, METH_VARARGS, "Jacobian of a centre of mass"},
    {"object_velocity", control_object_velocity, METH_VARARGS, "velocity of a frame"},
    {"apply_ft", control_apply_ft, METH_VARARGS, "generalised force of a force and torque"},
    {"integrate_pos", control_integrate_pos, METH_VARARGS, "positions moved by a velocity"},
    {"differentiate_pos", control_differentiate_pos, METH_VARARGS, "velocity between positions"},
    {"stage", control_stage, METH_VARARGS, "one stage of a step"},
    {"inverse", control_inverse, METH_VARARGS, "inverse dynamics"},
    {"linearize", control_linearize, METH_VARARGS, "the linear model of a step"},
    {"state_size", control_state_size, METH_VARARGS, "numbers of a state vector"},
    {"state_get", control_state_get, METH_VARARGS, "a state vector"},
    {"state_set", control_state_set, METH_VARARGS, "from a state vector"},
    {"eq_active", control_eq_active, METH_O, "which equalities act"},
    {"set_keyframe", control_set_keyframe, METH_VARARGS, "a keyframe from the state"},
    {NULL, NULL, 0, NULL}};

int core_add_control(PyObject *module) { return PyModule_AddFunctions(module, methods); }
