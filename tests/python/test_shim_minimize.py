# SPDX-License-Identifier: Apache-2.0
"""Least squares of stiction.mujoco.minimize beside those of mujoco.minimize."""
import io

import numpy as np
import pytest
from mujoco import minimize as theirs

import stiction.mujoco
from stiction.mujoco import minimize as ours


def rosenbrock(x):
    return np.stack([1 - x[0, :], 10 * (x[1, :] - x[0, :] ** 2)])


def beam(x):
    """Twenty residuals of four numbers, not linear in them."""
    t = np.linspace(0, 1, 20)[:, None]
    def curve(a, b, c, d):
        return a * np.exp(-((b * t) ** 2)) + c * np.sin(3 * d * t)
    return curve(*x) - curve(1.0, 0.8, 0.5, 0.7) - 0.01 * np.cos(20 * t)


PROBLEMS = {
    "rosenbrock": (rosenbrock, np.array([-1.5, 2.0]), None),
    "bounded": (rosenbrock, np.array([-1.5, 2.0]), [np.array([-2.0, -2.0]), np.array([0.5, 2.0])]),
    "beam": (beam, np.array([0.5, 0.5, 0.5, 0.5]), None),
    "bounded beam": (beam, np.array([0.5, 0.5, 0.5, 0.5]), [np.full(4, 0.1), np.full(4, 0.9)]),
}


class Huber(ours.Norm):
    """Quadratic near 0, linear far away."""

    def value(self, r):
        return float(np.sum(np.sqrt(1 + r**2) - 1))

    def grad_hess(self, r, proj):
        root = np.sqrt(1 + r**2)
        return proj.T @ (r / root), proj.T @ (proj / root**3)


@pytest.mark.parametrize("problem", PROBLEMS)
def test_the_same_minimum(problem):
    residual, x0, bounds = PROBLEMS[problem]
    expected, theirs_log = theirs.least_squares(x0, residual, bounds, verbose=0)
    x, trace = ours.least_squares(x0, residual, bounds, verbose=0)
    assert x.shape == expected.shape and trace[0].candidate.shape == theirs_log[0].candidate.shape
    assert trace[-1].objective <= theirs_log[-1].objective + 1e-10 and np.all(np.diff([log.objective for log in trace]) <= 0)
    assert np.abs(x - expected).max() < 1e-5 and len(trace) < 3 * len(theirs_log) + 10
    assert bounds is None or (np.all(x >= bounds[0]) and np.all(x <= bounds[1]))


def test_norms_jacobians_and_logs():
    def jacobian(x, r):
        return np.array([[-1, 0], [-20 * x[0, 0], 10]])

    seen, text = [], io.StringIO()
    x, trace = ours.least_squares(np.array([-1.5, 2.0]), rosenbrock, jacobian=jacobian, norm=Huber(), verbose=ours.Verbosity.FULLITER,
                                  output=text, iter_callback=lambda t: seen.append(len(t)), check_derivatives=True, x_scale="jac")
    np.testing.assert_allclose(x, [1, 1], atol=1e-6)
    assert seen == list(range(1, len(seen) + 1)) and trace[0].jacobian.shape == (2, 2) and trace[0].step.shape == (2, 1)
    assert "agrees with differences" in text.getvalue() and "evaluations of the residual" in text.getvalue()


def test_what_is_wrong_is_said():
    with pytest.raises(ValueError, match="differences"):
        ours.least_squares(np.ones(2), rosenbrock, jacobian=lambda x, r: np.eye(2), check_derivatives=True, output=io.StringIO())
    with pytest.raises(ValueError, match="bounds"):
        ours.least_squares(np.ones(2), rosenbrock, bounds=[np.ones(2), np.zeros(2)])
    with pytest.raises(ValueError, match="x_scale"):
        ours.least_squares(np.ones(2), rosenbrock, x_scale=-1.0, verbose=0)
    with pytest.raises(TypeError):
        ours.Norm()


def test_it_is_found_under_its_name():
    assert stiction.mujoco.minimize.least_squares is ours.least_squares
    assert [s.name for s in ours.Status] == [s.name for s in theirs.Status] and [v.value for v in ours.Verbosity] == [v.value for v in theirs.Verbosity]
