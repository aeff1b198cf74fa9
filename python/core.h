/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of stiction._core share. */
#ifndef STI_PYTHON_CORE_H
#define STI_PYTHON_CORE_H

#ifndef Py_LIMITED_API
#define Py_LIMITED_API 0x030B0000
#endif
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stiction/stiction.h>

/* Raises stiction.Error (the given type) with all that the library knows; returns NULL. */
PyObject *core_raise(PyObject *type, const sti_error *error);
/* A window on memory of `owner`, which it keeps alive. */
PyObject *core_window(PyObject *module, PyObject *owner, sti_view view);
/* Adds problems, workspaces and their functions to the module. */
PyObject *core_certificate(const sti_certificate *certificate);
/* name: (count, text) of those that are not zero, by STI_WARN_... */
PyObject *core_warnings(const int64_t *counts);
int core_add_problem(PyObject *module);
/* Coupled constraints, and the diagnostics of one with `count` equations as a tuple. */
int core_add_coupled(PyObject *module);
PyObject *core_coupled_diagnostics(const sti_coupled_diagnostics *diagnostics, int count);
/* Meshes of tetrahedra. */
int core_add_mesh(PyObject *module);
/* The world of a _core.World, for one caller at a time; NULL and an exception if another has it. */
sti_world *core_world_take(PyObject *world);
void core_world_give(PyObject *world);
/* Jacobians, inverse dynamics, linear models, state vectors. */
int core_add_control(PyObject *module);
/* Inverse kinematics. */
int core_add_ik(PyObject *module);
/* _core.viewer, if this build has the viewer; the name is missing else. */
int core_add_viewer(PyObject *module);

#endif
