# SPDX-License-Identifier: Apache-2.0
"""The problem of one step, its solvers and the certificates of their answers.

    min over v   1/2 (v - v*)' A (v - v*)  +  sum_i  l_i(J_i v)

    import numpy as np, stiction
    p = stiction.Problem([stiction.cone(3, mu=0.5)], A=np.eye(3), J=np.eye(3)[[2, 0, 1]], vstar=[0.1, 0, -1], R=[0.01] * 3)
    s = stiction.solve(p, tol=1e-10)
    print(s.v, s.gamma, s.certificate.relative)
"""
import operator as _operator
import os as _os
from collections import namedtuple as _namedtuple

import numpy as _np

from . import _core

__all__ = ["Problem", "Solution", "Certificate", "Row", "Workspace", "cone", "interval", "huber", "quadratic", "solve", "certify"]

Row = _namedtuple("Row", "kind dim mu lo hi", defaults=((), -_np.inf, _np.inf))
Row.__doc__ = "What a row block's impulse may be; made by cone, interval, huber and quadratic."
Certificate = _namedtuple("Certificate", _core.CERTIFICATE)
for _field, _text in {
        "error_bar": "At least the error of the velocities in the norm of A, sqrt(J): the root of twice the duality gap.",
        "relative": "error_bar relative to the impulses in the norm of A^-1.",
        "gap": "Duality gap, J.",
        "momentum": "What is left of A (v - v*) - J' gamma, relative.",
        "natural": "What is left of the rows' laws, relative: the natural map at unit Delassus diagonal.",
        "cone": "Largest violation of the friction cones by the impulses, relative.",
        "dissipation": "Largest angle between slip and opposite friction of sliding contacts, rad.",
        "penetration": "Largest violation of the velocity constraint of hard contacts, m/s.",
        "desaxce": "Exact Coulomb: error of the slip speeds that the laws were solved with, relative; nan with relaxed cones.",
        "full_raw": "FCLIB's full error; nan unless all rows are round cones.",
        "full_scaled": "The same for the problem scaled to unit Delassus diagonal.",
        "joints": "Integrator alm: largest violation of joints and equalities, m or rad; nan with others.",
        "headline": "What the option tol is compared with: relative, or for hard contact the larger of momentum and natural.",
        "ndetermined": "Force components that the motion determines; -1: not computed.",
        "nregularised": "Force components that only the rows' softness determines; -1: not computed."}.items():
    getattr(Certificate, _field).__doc__ = _text
Certificate.__doc__ = "What an answer is worth; `headline` is what tol is compared with; nan (a count: -1) was not computed or does not apply. See sti_certificate in problem.h."


def cone(dim=3, mu=()):
    """Contact: impulse (n, t...) with |t_i / mu_i| <= n. dim 1, 3, 4 or 6; mu: one number, or one per tangential row."""
    dim = _operator.index(dim)
    if dim not in (1, 3, 4, 6):
        raise ValueError(f"a cone has dim 1, 3, 4 or 6, not {dim}")
    mu = _np.atleast_1d(_np.asarray(mu, float)).tolist()
    if dim > 1 and len(mu) == 1:
        mu = mu * (dim - 1)
    if dim > 1 and len(mu) != dim - 1:
        raise ValueError(f"a cone of dim {dim} needs one mu or {dim - 1}, not {len(mu)}")
    return Row("cone", dim, tuple(mu) if dim > 1 else ())


def interval(lo, hi, dim=1):
    """lo <= impulse <= hi: limits (0, inf), bounded actuators."""
    return Row("interval", dim, (), float(lo), float(hi))


def huber(bound, dim=1):
    """|impulse| <= bound: dry friction."""
    return Row("huber", dim, (), -float(bound), float(bound))


def quadratic(dim=1):
    """Any impulse: equalities, implicit gains."""
    return Row("quadratic", dim)


def _reals(x, name):
    if x is None:
        return None
    array = _np.ascontiguousarray(x, _np.float64)
    if array.ndim != 1:
        raise ValueError(f"{name} must have one dimension, not {array.ndim}")
    return array


def _indices(x, name):
    array = _np.asarray(x)
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} has indices that are not integers")
    if array.size and (array.min() < 0 or array.max() > 2**31 - 1):
        raise ValueError(f"{name} has indices that are out of range")
    return _np.ascontiguousarray(array, _np.int32)


def _csr(x, name, ncol=None):
    """(value, col, start) and the number of rows and columns of a dense array, a SciPy matrix or such a triple."""
    if x is None:
        return None, 0, 0
    if isinstance(x, tuple) and len(x) == 3:
        value, col, start = x
        return (_reals(value, name), _indices(col, name), _indices(start, name)), len(start) - 1, ncol
    if hasattr(x, "tocsr"):
        m = x.tocsr(copy=True)
        m.sum_duplicates()
        m.sort_indices()
        return (_reals(m.data, name), _indices(m.indices, name), _indices(m.indptr, name)), m.shape[0], m.shape[1]
    dense = _np.asarray(x, _np.float64)
    if dense.ndim != 2:
        raise ValueError(f"{name} must be a matrix: a dense array, a SciPy matrix, or (data, indices, indptr)")
    row, col = _np.nonzero(dense)
    start = _np.zeros(dense.shape[0] + 1, _np.int32)
    _np.add.at(start, row + 1, 1)
    triple = _np.ascontiguousarray(dense[row, col]), col.astype(_np.int32), _np.cumsum(start, dtype=_np.int32)
    return triple, dense.shape[0], dense.shape[1]


def _row_arrays(rows):
    kinds = {name: i for i, name in enumerate(_core.ROWS)}
    kind, dim = _np.zeros(len(rows), _np.int32), _np.zeros(len(rows), _np.int32)
    mu, lo, hi = _np.zeros((len(rows), 5)), _np.zeros(len(rows)), _np.zeros(len(rows))
    for i, row in enumerate(rows):
        row = Row(**row) if isinstance(row, dict) else Row(*row)
        if row.kind not in kinds or row.kind == "user":
            raise ValueError(f"row {i}: there is no kind {row.kind!r}; use {', '.join(k for k in kinds if k != 'user')}")
        if len(row.mu) > 5:
            raise ValueError(f"row {i}: at most 5 friction coefficients")
        kind[i], dim[i], lo[i], hi[i] = kinds[row.kind], row.dim, row.lo, row.hi
        mu[i, :len(row.mu)] = row.mu
    return kind, dim, mu, lo, hi


class Problem:
    """A problem in one of two forms: A (n x n), vstar (n) and J (m x n), or W (m x m) and q (m). rows: cones, intervals,
    ... in the order of the scalar rows. R (m, 0 = hard) and vhat (m) may be left out. h: the step in s. Matrices are
    dense arrays, SciPy matrices, or (data, indices, indptr) of compressed rows. All is checked and copied."""

    def __init__(self, rows, *, A=None, vstar=None, J=None, W=None, q=None, R=None, vhat=None, h=0.0):
        primal = A is not None
        if primal != (J is not None) or primal != (vstar is not None) or primal == (W is not None) or primal == (q is not None):
            raise TypeError("a problem needs A, vstar and J, or W and q")
        vstar = _reals(vstar, "vstar")
        n = len(vstar) if primal else 0
        if primal and n == 0:
            raise ValueError("vstar is empty")
        rows = list(rows)
        m = sum(Row(**r).dim if isinstance(r, dict) else Row(*r).dim for r in rows)
        matrices = []
        for matrix, name, shape in ((A, "A", (n, n)), (J, "J", (m, n)), (W, "W", (m, m))):
            triple, nrow, ncol = _csr(matrix, name, shape[1])
            if triple is not None and (nrow, ncol) != shape:
                raise ValueError(f"{name} is {nrow} x {ncol}, must be {shape[0]} x {shape[1]}")
            matrices.append(triple)
        self._core = _core.problem(_row_arrays(rows), n, _reals(R, "R"), _reals(vhat, "vhat"), matrices[0], vstar, matrices[1],
                                   matrices[2], _reals(q, "q"), float(h))

    @classmethod
    def from_file(cls, path):
        """Load our own HDF5 group, or FCLIB's local or global layout."""
        self = object.__new__(cls)
        self._core = _core.problem_load(_os.fspath(path))
        return self

    def save(self, path):
        """Write to HDF5, everything."""
        self._core.save(_os.fspath(path))

    def export_fclib(self, path):
        """Write FCLIB's layout; only hard cones of dim 1 and 3."""
        self._core.export_fclib(_os.fspath(path))

    n = property(lambda self: self._core.sizes()[0], doc="dofs; 0 in the Delassus form")
    nrow = property(lambda self: self._core.sizes()[1], doc="row blocks")
    m = property(lambda self: self._core.sizes()[2], doc="scalar rows")

    @property
    def rows(self):
        """The row blocks."""
        out = []
        for kind, dim, mu, lo, hi in self._core.rows():
            free = kind in ("cone", "quadratic")
            out.append(Row(kind, dim, mu[:dim - 1] if kind == "cone" else (), -_np.inf if free else lo, _np.inf if free else hi))
        return out

    def _vector(self, name):
        view = self._core.view(name)
        return None if view is None else _np.asarray(view)

    R = property(lambda self: self._vector("R"), doc="regularisation, 1/kg")
    vhat = property(lambda self: self._vector("vhat"), doc="velocity that the rows aim at")
    vstar = property(lambda self: self._vector("vstar"), doc="free velocity; None in the Delassus form")
    q = property(lambda self: self._vector("q"), doc="J vstar - vhat; None in the (A, J) form")

    def _matrix(self, name):
        start = self._vector(name + ".start")
        return None if start is None else (self._vector(name + ".value"), self._vector(name + ".col"), start)

    A = property(lambda self: self._matrix("A"), doc="(data, indices, indptr), or None")
    J = property(lambda self: self._matrix("J"), doc="(data, indices, indptr), or None")
    W = property(lambda self: self._matrix("W"), doc="(data, indices, indptr), or None")

    def islands(self):
        """(count, island of each dof, island of each row block); -1: touched by nothing."""
        dof, row = _np.zeros(self.n, _np.int32), _np.zeros(self.nrow, _np.int32)
        return self._core.islands(dof, row), dof, row

    def vjp(self, v, w, workspace=None):
        """Given w = dL/dv at the answer v of a regularised problem: a dict of dL/d(vstar, vhat, R, mu); mu: per row
        block, of its first coefficient."""
        out = {"vstar": _np.zeros(self.n), "vhat": _np.zeros(self.m), "R": _np.zeros(self.m), "mu": _np.zeros(self.nrow)}
        workspace = workspace or Workspace()
        self._core.vjp(workspace._core, _reals(v, "v"), _reals(w, "w"), *out.values())
        return out

    def __repr__(self):
        form = f"{self.n} dofs" if self.n else "Delassus form"
        return f"<stiction.Problem: {self.nrow} row blocks, {self.m} rows, {form}>"


class Workspace:
    """Room that solvers reuse over problems, and their threads; the answer's bits do not depend on these."""

    def __init__(self, threads=1):
        self._core = _core.workspace(threads)


class Solution:
    """v (None in the Delassus form), gamma, info (dict), certificate and history (one headline per iteration)."""

    def __init__(self, v, gamma, info, history):
        self.v, self.gamma, self.history = v, gamma, history
        self.certificate = Certificate(**info.pop("certificate"))
        self.info = info

    converged = property(lambda self: self.info["converged"])

    def __repr__(self):
        state = "converged" if self.converged else "not converged"
        return (f"<stiction.Solution by {self.info['solver']}: {state} in {self.info['iterations']} iterations, "
                f"headline {self.certificate.headline:.2g}>")


def _choice(name, value, known):
    if value not in known:
        raise ValueError(f"there is no {name} {value!r}; use {', '.join(known)}")
    return known.index(value)


_COULOMB = ("relaxed", "exact")
_LINEAR = ("auto", "direct", "pcg")
_PRECONDITIONER = ("auto", "jacobi", "mg")


def solve(problem, solver="auto", coulomb="relaxed", tol=None, *, guess_v=None, guess_gamma=None, workspace=None,
          linear="auto", preconditioner="auto", **options):
    """Solve a problem. solver: sap, apgd, newton or auto; coulomb: relaxed (convex) or exact (De Saxce); tol: on the
    certificate's headline; linear: direct, pcg or auto; preconditioner (of pcg in soft bodies): jacobi, mg or
    auto. options: full_error, atol, rtol, adaptive_atol, max_iterations, max_newton, max_pcg, max_work,
    max_line_search, pcg_tol, ls_tol, max_step, gradient_limit, relaxation, finish, history. The best iterate is returned
    whatever happens; its certificate says what it is worth."""
    if not isinstance(problem, Problem):
        raise TypeError("solve needs a stiction.Problem")
    options["solver"] = _choice("solver", solver, _core.SOLVERS)
    options["coulomb"] = _choice("coulomb", coulomb, _COULOMB)
    options["linear"] = _choice("linear", linear, _LINEAR)
    options["preconditioner"] = _choice("preconditioner", preconditioner, _PRECONDITIONER)
    if tol is not None:
        options["tol"] = tol
    workspace = workspace or Workspace()
    v, gamma = _np.zeros(problem.n), _np.zeros(problem.m)
    info, history = problem._core.solve(workspace._core, options, _reals(guess_v, "guess_v"),
                                        _reals(guess_gamma, "guess_gamma"), v if problem.n else None, gamma)
    return Solution(v if problem.n else None, gamma, info, _np.array(history))


def certify(problem, v, gamma, coulomb="relaxed", rank=False, share=False):
    """Certificate of (v, gamma), from any source; v = None: the velocity that gamma gives. rank: count hyperstatic
    forces. share: return (certificate, each row block's part of the gap, or of the squared natural map)."""
    parts = _np.zeros(problem.nrow) if share else None
    exact = _choice("coulomb", coulomb, _COULOMB) == 1
    v = None if problem.n == 0 else _reals(v, "v")
    certificate = Certificate(**problem._core.certify(v, _reals(gamma, "gamma"), exact, rank, parts))
    return (certificate, parts) if share else certificate
