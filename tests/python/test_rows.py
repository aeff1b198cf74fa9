# SPDX-License-Identifier: Apache-2.0
"""Projections onto the rows' sets against a conic solver, in all regions and at their borders. A projection in the norm
diag(w) is the problem with W = diag(w), q = -w x; its answer must be what the conic solver finds."""
import numpy as np
import pytest

import stiction
from stiction import cone

clarabel = pytest.importorskip("clarabel")
sp = pytest.importorskip("scipy.sparse")


def conic_projection(x, mu, w):
    n = len(x)
    scale = np.concatenate([[1], 1 / np.asarray(mu)]) if n > 1 else np.ones(1)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    kind = clarabel.SecondOrderConeT(n) if n > 1 else clarabel.NonnegativeConeT(1)
    solver = clarabel.DefaultSolver(sp.csc_matrix(np.diag(w)), -w * x, sp.csc_matrix(-np.diag(scale)), np.zeros(n), [kind], settings)
    return np.array(solver.solve().x)


def points(rng, mu, w):
    """Inside, outside, in the polar cone, and on both borders."""
    n = len(mu) + 1
    e = rng.normal(size=n - 1)
    e /= np.linalg.norm(e) if n > 1 else 1
    on = np.concatenate([[1], mu * e])
    polar = np.concatenate([[-1 / w[0]], e / (mu * w[1:]) if n > 1 else []])
    polar[0] = -np.linalg.norm(mu * w[1:] * polar[1:]) / w[0] if n > 1 else -1
    inside, below = on.copy(), polar.copy()
    inside[0] += 1
    below[0] -= 1
    return [on, polar, inside, below, rng.normal(size=n), 3 * rng.normal(size=n)]


@pytest.mark.parametrize("dim", (1, 3, 4, 6))
@pytest.mark.parametrize("euclidean", (True, False))
def test_projections(dim, euclidean):
    rng = np.random.default_rng(dim)
    for _ in range(8):
        mu = rng.uniform(0.2, 1.5, dim - 1)
        w = np.ones(dim) if euclidean else rng.uniform(0.2, 5, dim)
        for x in points(rng, mu, w):
            g = conic_projection(x, mu, w)
            problem = stiction.Problem([cone(dim, mu)], W=np.diag(w), q=-w * x)
            s = stiction.solve(problem, tol=1e-11)
            assert s.converged and s.certificate.cone < 1e-14
            # no farther from x than the conic solver's point, and as near to that as its own error allows
            far, farther = (w @ (y - x) ** 2 for y in (s.gamma, g))
            assert far <= farther + 1e-10 * (1 + farther)
            assert w @ (s.gamma - g) ** 2 <= farther - far + 1e-9 * (1 + farther)


def test_impulse_in_the_norm_of_R():
    """One contact with a mass that nothing moves: the impulse is the projection of -y/R in the R norm. Random points are
    far from borders, where the conic solver is accurate."""
    rng = np.random.default_rng(2)
    for dim in (1, 3, 4, 6):
        for _ in range(10):
            mu = rng.uniform(0.2, 1.5, dim - 1)
            R = np.concatenate([[rng.uniform(0.1, 2)], rng.uniform(0.1, 2) / mu**2])
            y = rng.normal(size=dim)
            heavy = stiction.Problem([cone(dim, mu)], A=1e9 * np.eye(dim), J=np.eye(dim), vstar=y, R=R)
            s = stiction.solve(heavy, tol=1e-10)
            assert s.gamma == pytest.approx(conic_projection(-y / R, mu, R), abs=1e-6)
