# SPDX-License-Identifier: Apache-2.0
"""Nonlinear least squares with bounds, as mujoco.minimize: steps of Gauss and Newton with a regulariser (Levenberg-Marquardt), each the answer of
a quadratic problem within the bounds."""
import abc as _abc
import dataclasses as _dataclasses
import enum as _enum
import sys as _sys
import typing as _typing

import numpy as _np

from stiction.mujoco.linear import mju_boxQP as _box_qp


class Verbosity(_enum.IntEnum):
    """What is printed: nothing, one line at the end, one for each iteration, that and the candidates."""
    SILENT, FINAL, ITER, FULLITER = range(4)


class Status(_enum.IntEnum):
    """Why the iteration ended."""
    FACTORIZATION_FAILED, NO_IMPROVEMENT, MAX_ITER, DX_TOL, G_TOL = range(1, 6)


_ENDS = {Status.FACTORIZATION_FAILED: "no step was found: the Hessian is not positive", Status.NO_IMPROVEMENT: "no step lowers the objective",
         Status.MAX_ITER: "max_iter iterations", Status.DX_TOL: "the step is shorter than xtol", Status.G_TOL: "the gradient is smaller than gtol"}


@_dataclasses.dataclass
class IterLog:
    """One iteration: where it began, the objective there, by how much it fell, with which regulariser; of detailed logs the rest."""
    candidate: _np.ndarray
    objective: float
    reduction: float
    regularizer: float
    residual: _typing.Optional[_np.ndarray] = None
    jacobian: _typing.Optional[_np.ndarray] = None
    grad: _typing.Optional[_np.ndarray] = None
    step: _typing.Optional[_np.ndarray] = None


class Norm(_abc.ABC):
    """What is minimised, as a function of the residual."""

    @_abc.abstractmethod
    def value(self, r):
        """The norm of a residual."""

    @_abc.abstractmethod
    def grad_hess(self, r, proj):
        """proj' times the gradient, and proj' times the Hessian times proj; proj is the Jacobian of the residual."""


class Quadratic(Norm):
    """Half the sum of squares."""

    def value(self, r):
        return 0.5 * float(_np.ravel(r) @ _np.ravel(r))

    def grad_hess(self, r, proj):
        return proj.T @ r, proj.T @ proj


def _column(x):
    return _np.asarray(x, float).reshape(-1, 1)


def jacobian_fd(residual, x, r, eps, n_res, bounds=None):
    """The Jacobian of the residual by differences, away from the upper bound where that is near; and n_res plus the number of columns."""
    x, r = _column(x), _column(r)
    step = _np.full(x.size, float(eps)) * _np.maximum(1, _np.abs(x.ravel()))
    if bounds is not None:
        step[x.ravel() + step > _np.ravel(bounds[1])] *= -1
    points = x + _np.diag(step)
    step = points.diagonal() - x.ravel()  # as it is after rounding
    return (_np.asarray(residual(points), float).reshape(r.size, -1) - r) / step, n_res + x.size


def _agree(name, given, found, tolerance):
    if not _np.all(_np.isfinite(given)):
        raise ValueError(f"{name} has numbers that are not finite")
    worst = _np.abs(given - found).max() / max(1.0, _np.abs(found).max())
    if worst > tolerance:
        raise ValueError(f"{name} is not that of differences: {worst:.1e} apart")


def check_jacobian(residual, x, r, jac, eps, n_res, bounds=None, output=None, name="Jacobian"):
    """Compares a Jacobian with differences; ValueError if it is wrong."""
    found, n_res = jacobian_fd(residual, x, r, eps, n_res, bounds)
    _agree(name, _np.asarray(jac, float), found, 1e-4)
    print(f"{name} agrees with differences", file=output or _sys.stdout)
    return n_res


def check_norm(r, norm, eps, output=None):
    """Compares the gradient of a norm with differences; ValueError if it is wrong."""
    r, unit = _column(r), _np.eye(_np.size(r))
    slopes = [(norm.value(r + eps * unit[:, [k]]) - norm.value(r - eps * unit[:, [k]])) / (2 * eps) for k in range(r.size)]
    _agree("the gradient of the norm", _np.ravel(norm.grad_hess(r, unit)[0]), _np.array(slopes, float), 1e-4)
    print("the norm agrees with differences", file=output or _sys.stdout)


class _Search:
    """A point with its residual and objective, the regulariser, and what is asked for."""

    def __init__(self, x, residual, norm, bounds, limits, factor):
        self.call, self.norm, self.bounds, self.limits, self.factor = residual, norm, bounds, limits, factor
        self.n_res, self.mu = 0, 0.0
        self.x = x
        self.r, self.y = self.at(x)

    def at(self, x):
        r = _np.asarray(self.call(x), float).reshape(-1, 1)
        self.n_res += 1
        return r, float(_np.squeeze(self.norm.value(r)))

    def step(self, grad, hess, scale):
        """The answer of the quadratic problem with the regulariser as it is; None if its Hessian is not positive."""
        low, high = ((b.ravel() - self.x.ravel()) / scale for b in self.bounds)
        dx, n = _np.zeros(grad.size), grad.size
        full = hess * _np.outer(scale, scale) + self.mu * _np.eye(n)
        return None if _box_qp(dx, _np.zeros((n, n)), _np.zeros(n, int), full, grad * scale, low, high) < 0 else dx * scale

    def harder(self):
        """A larger regulariser; False if there is none."""
        least, most = self.limits
        self.mu = max(least, self.mu * self.factor**2)
        return self.mu <= most

    def improve(self, grad, hess, scale):
        """The first step that lowers the objective by a share of what the quadratic foretells: (step, residual, objective), or why there is none."""
        why = Status.FACTORIZATION_FAILED
        while True:
            dx = self.step(grad, hess, scale)
            if dx is not None:
                why = Status.NO_IMPROVEMENT
                r, y = self.at(self.x + dx.reshape(-1, 1))
                foretold = -(grad @ dx + 0.5 * dx @ hess @ dx)
                if y <= self.y and (self.y - y > 0.05 * foretold or foretold <= 1e-14 * abs(self.y)):
                    if self.y - y > 0.7 * foretold:
                        self.mu = self.mu / self.factor**3 if self.mu / self.factor**3 >= self.limits[0] else 0.0
                    return dx, r, y
            if not self.harder():
                return why


def _free_gradient(x, grad, bounds):
    low, high = (b.ravel() for b in bounds)
    held = ((x.ravel() <= low) & (grad > 0)) | ((x.ravel() >= high) & (grad < 0))
    return _np.where(held, 0, grad)


def _scale(x_scale, jac):
    if isinstance(x_scale, str):
        if x_scale != "jac":
            raise ValueError("x_scale must be a number, an array or 'jac'")
        length = _np.linalg.norm(jac, axis=0)
        return 1 / _np.where(length > 0, length, 1)
    scale = _np.ones(jac.shape[1]) if x_scale is None else _np.ones(jac.shape[1]) * _np.asarray(x_scale, float)
    if not _np.all(scale > 0):
        raise ValueError("x_scale must be positive")
    return scale


def _bounds(bounds, size):
    if bounds is None:
        return [_np.full((size, 1), -_np.inf), _np.full((size, 1), _np.inf)]
    low, high = (_column(b) for b in bounds)
    if low.size != size or high.size != size or not _np.all(low < high):
        raise ValueError(f"bounds must be two arrays of {size} numbers, the first below the second")
    return [low, high]


def least_squares(x0, residual, bounds=None, jacobian=None, norm=Quadratic(), eps=_np.finfo(float).eps**0.5, mu_min=1e-6, mu_max=1e8,
                  mu_factor=10.0**0.1, xtol=1e-8, gtol=1e-8, max_iter=100, verbose=Verbosity.ITER, output=None, iter_callback=None,
                  check_derivatives=False, x_scale=None):
    """The least norm(residual(x)) with bounds[0] <= x <= bounds[1], from x0: (x, trace), the trace a list of IterLog. residual takes points as the
    columns of an array and gives residuals as columns; jacobian(x, r), if it is given, is its derivative, else differences of width eps."""
    output = output or _sys.stdout
    shape, size = _np.shape(x0), _np.size(x0)
    box, detailed = _bounds(bounds, size), verbose >= Verbosity.FULLITER
    search = _Search(_np.clip(_column(x0), *box), residual, norm, box, (mu_min, mu_max), mu_factor)
    trace, status = [], Status.MAX_ITER
    for i in range(max_iter + 1):
        jac = jacobian(search.x, search.r) if jacobian else None
        if jac is None:
            jac, search.n_res = jacobian_fd(residual, search.x, search.r, eps, search.n_res, box)
        if check_derivatives and i == 0:
            search.n_res = check_jacobian(residual, search.x, search.r, jac, eps, search.n_res, box, output)
            check_norm(search.r, norm, eps, output)
        grad, hess = norm.grad_hess(search.r, _np.asarray(jac, float))
        grad = _np.ravel(grad)
        log = IterLog(search.x.copy(), search.y, 0.0, search.mu)
        if detailed:
            log.residual, log.jacobian, log.grad = search.r.copy(), jac, grad.copy()
        trace.append(log)
        scale = _scale(x_scale, jac)
        size_of = _np.linalg.norm(_free_gradient(search.x, grad, box))
        if size_of < gtol:
            status = Status.G_TOL
        found = None if status == Status.G_TOL or i == max_iter else search.improve(grad, _np.asarray(hess, float), scale)
        if isinstance(found, Status):
            status, found = found, None
        if found:
            log.reduction, log.regularizer, log.step = search.y - found[2], search.mu, found[0].reshape(-1, 1) if detailed else None
            search.x, search.r, search.y = _np.clip(search.x + found[0].reshape(-1, 1), *box), found[1], found[2]
        if verbose >= Verbosity.ITER:
            print(f"{i:4d}  y {log.objective:<12.6g} |gradient| {size_of:<10.3g} reduction {log.reduction:<10.3g} mu {log.regularizer:.3g}", file=output)
        if detailed:
            print(f"      x {log.candidate.ravel()}", file=output)
        if iter_callback:
            iter_callback(trace)
        if not found:
            break
        if _np.linalg.norm(found[0]) < xtol * (1 + _np.linalg.norm(search.x)):
            status = Status.DX_TOL
            trace.append(IterLog(search.x.copy(), search.y, 0.0, search.mu))
            break
    if verbose >= Verbosity.FINAL:
        print(f"{_ENDS[status]} after {len(trace) - 1} iterations; y {search.y:.6g}, {search.n_res} evaluations of the residual", file=output)
    return search.x.reshape(shape), trace
