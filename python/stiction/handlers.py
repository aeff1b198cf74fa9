# SPDX-License-Identifier: Apache-2.0
"""Rows that a handler of Python adds to the problem of a step: docs/handlers.md."""
import operator as _operator

import numpy as _np

from . import _core, control
from .problem import Row


def _numbers(x, count, name):
    array = _np.ascontiguousarray(x, float).reshape(-1)
    if array.size == 1 and count > 1:
        array = _np.repeat(array, count)
    if array.size != count:
        raise ValueError(f"{name} must have {count} numbers, not {array.size}")
    return array


class Rows:
    """The problem of the step that is being made: what a handler is called with. It ends with the call."""

    def __init__(self, data):
        self._data = data

    def add(self, row, J, dofs=None, phi=0.0, stiffness=_np.inf, dissipation=0.0, R=None, vhat=None, feature=0):
        """Adds a block of row.dim rows with one law: stiction.interval(0, inf), huber(bound), cone(3, mu) or quadratic(). Bounds are
        impulses: a force times the timestep.
        J: row.dim x the number of dofs, so that the rows' velocity is J qvel; one row may be a vector. dofs: its columns, ascending
        (None: all nv; vertex v of a soft body has nv + 3 v and the two after it). phi: what the rows bring to 0, or keep above 0,
        m or rad. stiffness (N/m; infinite: near-rigid) and dissipation (s), or R and vhat as they are in the problem.
        feature: a number that is the same over steps for the same thing, different for each block of the handler.
        What is wrong is stiction.Error, and ends the step."""
        row = Row(*row)
        if row.kind not in _core.ROWS or row.kind == "user":
            raise ValueError(f"there is no kind {row.kind!r} of rows; use interval, huber, cone or quadratic")
        dim = _operator.index(row.dim)
        dofs = _np.arange(self._data.model.nv) if dofs is None else _np.asarray(dofs)
        if dofs.size and dofs.dtype.kind not in "iu":
            raise TypeError("dofs must be integers")
        dofs = _np.ascontiguousarray(dofs.reshape(-1), _np.int32)
        J = _np.ascontiguousarray(J, float)
        if J.shape != (dim, dofs.size) and not (dim == 1 and J.shape == (dofs.size,)):
            raise ValueError(f"J must be {dim} x {dofs.size}, not {' x '.join(map(str, J.shape))}")
        phis = _np.zeros(dim)
        given = _np.ascontiguousarray(phi, float).reshape(-1)
        if given.size not in (1, dim):
            raise ValueError(f"phi must have 1 or {dim} numbers, not {given.size}")
        phis[:given.size] = given  # one number of a cone is the normal's
        if given.size == 1 and row.kind != "cone":
            phis[:] = given[0]
        R = None if R is None else _numbers(R, dim, "R")
        vhat = None if vhat is None else _numbers(vhat, dim, "vhat")
        if vhat is not None and R is None:
            raise ValueError("vhat goes with R")
        mu = (*row.mu, 0.0, 0.0, 0.0, 0.0, 0.0)[:5]
        self._data._core.rows_add(_core.ROWS.index(row.kind), dim, mu, row.lo, row.hi, (dofs, J, phis, R, vhat), stiffness, dissipation,
                                  _operator.index(feature))

    def touch(self, body1, body2, pos, normal, dist, dim=3, friction=(1.0, 1.0, 0.005, 0.0001, 0.0001), stiffness=_np.inf,
              dissipation=0.0, geom1=-1, geom2=-1, feature=0):
        """Adds a contact of two bodies (names or ids; 0 is the world), which is treated as one of geoms and listed in data.contact.
        pos: half way between the surfaces, world; normal: from body1 to body2, of any length; dist: m, negative where they overlap;
        dim: 1, 3, 4 or 6; friction: two tangents, spin, rolling twice. The rest as in add."""
        model = self._data.model
        bodies = [model._index("body", body) for body in (body1, body2)]
        mu = tuple(_numbers(friction, 5, "friction")) if _np.ndim(friction) else (float(friction),) * 2 + (0.005, 0.0001, 0.0001)
        self._data._core.rows_touch(*bodies, geom1, geom2, tuple(map(float, pos)), tuple(map(float, normal)), float(dist), dim, mu,
                                    stiffness, dissipation, _operator.index(feature))

    def jacobian(self, body, point):
        """The Jacobian (3 x nv) of a point of a body, as stiction.jac_point."""
        return control.jac_point(self._data.model, self._data, point, body)[0]
