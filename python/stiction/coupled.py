# SPDX-License-Identifier: Apache-2.0
"""Coupled constraints: up to four equations r_d C_d + r_theta C_theta = target over a distance and an angle of two bodies.

    from stiction.coupled import Body, Coupled
    a, b = Body(), Body.planar(mass=1, inertia=0.1, pos=(1, 0))
    c = Coupled([(1, 0.4), (0.35, -0.48)], softness=(0.014, 0.028))
    for _ in range(1000):
        b.vel[1] -= 9.81 * 0.01
        c.prepare(a, b, 0.01)
        c.solve_velocity(a, b)
        c.finish(a, b)
        b.move(0.01)
    print(c.diagnostics.force, c.diagnostics.kept.spectral)

In scenes the same block is the element sti:coupled; data.coupled(name) gives its diagnostics. docs/coupled.md.
"""
import enum as _enum
from collections import namedtuple as _namedtuple

import numpy as _np

from . import _core

__all__ = ["Body", "Coupled", "Condition", "Diagnostics", "Flag", "Preset", "PRESETS", "invert"]

Condition = _namedtuple("Condition", "size rank pivot_min pivot_max row_sum spectral gap")
Condition.__doc__ = "Rank, pivots and condition numbers of a symmetric matrix; arrays if there are many."
Flag = _enum.IntFlag("Flag", _core.COUPLED_FLAGS)
Flag.__doc__ = "Conditions that a step reports; see sti_coupled_flag_text."


class Diagnostics(_namedtuple("Diagnostics", "flags active dropped whole kept C_d C_theta phi impulse residual force torque "
                                             "steps warnings drops")):
    """What a constraint reports of its last step; see sti_coupled_diagnostics in coupled.h."""
    __slots__ = ()

    @classmethod
    def _of(cls, values):
        values = list(values)
        values[0] = Flag(values[0])
        values[3:5] = Condition(*values[3]), Condition(*values[4])
        return cls(*values)


Preset = _namedtuple("Preset", "name r_d r_theta softness_d softness_theta K printed_row_sum printed_spectral")
PRESETS = {p[0]: Preset(*p[:5], _np.array(p[5]).reshape(2, 2), *p[6:]) for p in _core.COUPLED_PRESETS}


def invert(K, pivot_epsilon=1e-12):
    """The inverse of a symmetric matrix of size 1 to 4, or of each of an array of them (..., n, n), by Gauss elimination
    with scaled partial pivoting, and its Condition. A matrix without an inverse gives NaN."""
    K = _np.ascontiguousarray(K, _np.float64)
    if K.ndim < 2 or K.shape[-1] != K.shape[-2]:
        raise ValueError("K must be square matrices")
    inverse, table = _np.full(K.shape, _np.nan), _np.empty((int(_np.prod(K.shape[:-2])), 7))
    _core.coupled_invert(K, K.shape[-1], pivot_epsilon, inverse, table)
    if K.ndim == 2:
        return inverse, Condition(int(table[0, 0]), int(table[0, 1]), *table[0, 2:].tolist())
    table = table.reshape(K.shape[:-2] + (7,))
    return inverse, Condition(K.shape[-1], table[..., 1].astype(int), *(table[..., k] for k in range(2, 7)))


class Body:
    """A body of the local solve; without arguments it is fixed at the origin. pos, quat, vel and omega are arrays to be
    written to; inertia: three principal moments or a 3 x 3 matrix, in the body's frame."""

    def __init__(self, mass=_np.inf, inertia=_np.inf, pos=(0, 0, 0), quat=(1, 0, 0, 0), vel=(0, 0, 0), omega=(0, 0, 0)):
        self._numbers = x = _np.zeros(23)
        self.pos, self.quat, self.vel, self.omega = x[10:13], x[13:17], x[17:20], x[20:23]
        inertia = _np.asarray(inertia, float)
        x[0] = 1 / mass
        if inertia.ndim == 2:
            x[1:10] = _np.linalg.inv(inertia).reshape(9)
        else:
            x[1:10:4] = 1 / inertia
        self.pos[:], self.quat[:], self.vel[:], self.omega[:] = pos, quat, vel, omega

    @classmethod
    def planar(cls, mass, inertia, pos, angle=0, vel=(0, 0), omega=0):
        """A body in the xy plane, which turns about z."""
        body = cls(mass, (_np.inf, _np.inf, inertia), (*pos, 0), (_np.cos(angle / 2), 0, 0, _np.sin(angle / 2)))
        body.vel[:2], body.omega[2] = vel, omega
        return body

    def move(self, h):
        """By h with its velocities."""
        _core.coupled_move(self._numbers, h)


class Coupled:
    """A constraint on two bodies: equations are (r_d, r_theta) or (r_d, r_theta, target)."""

    def __init__(self, equations, *, anchor_a=(0, 0, 0), anchor_b=(0, 0, 0), axis=(0, 0, 1), distance=1.0, angle=0.0,
                 softness=(0, 0), beta=0.2, pivot_epsilon=1e-12, condition_limit=1e8, max_drops=3, cross=True, warm_start=1.0,
                 max_force=_np.inf, max_torque=_np.inf):
        table = _np.array([(*e, 0)[:3] for e in equations], float).reshape(-1, 3)
        frame = _np.concatenate([_np.asarray(x, float).reshape(3) for x in (anchor_a, anchor_b, axis)])
        numbers = _np.array([distance, angle, *softness, beta, pivot_epsilon, condition_limit, warm_start, max_force, max_torque],
                            float)
        self._core = _core.coupled(table, frame, numbers, max_drops, cross)
        self._count = len(table)

    def prepare(self, a, b, h):
        """A step of h begins: K, its inverse, drops; the bodies get the warm start's impulses."""
        self._core.run(0, a._numbers, b._numbers, h)

    def solve_velocity(self, a, b):
        """One pass; returns the largest residual before it."""
        return self._core.run(1, a._numbers, b._numbers, 0)

    def solve_position(self, a, b):
        """One Newton step on positions; returns the largest error before it."""
        return self._core.run(2, a._numbers, b._numbers, 0)

    def finish(self, a, b):
        """The step is over: forces, residual, and whether it breaks."""
        self._core.run(3, a._numbers, b._numbers, 0)

    @property
    def diagnostics(self):
        """Diagnostics of the last step."""
        return Diagnostics._of(self._core.diagnostics())

    @property
    def K(self):
        """R M^-1 R' + diag(gamma) of all equations."""
        return _np.array(self._core.block()[0]).reshape(self._count, self._count)

    @property
    def inverse(self):
        """Of the active equations, in their places; 0 elsewhere."""
        return _np.array(self._core.block()[1]).reshape(self._count, self._count)

    @property
    def gamma(self):
        return _np.array(self._core.block()[2])

    @property
    def bias(self):
        return _np.array(self._core.block()[3])

    @property
    def impulse(self):
        return _np.array(self._core.block()[4])

    @property
    def broken(self):
        return self._core.block()[5]
