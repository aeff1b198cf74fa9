# SPDX-License-Identifier: Apache-2.0
"""Writes the problems of this folder: python tests/problems/make.py. They come from statics and a fixed generator."""
import pathlib

import numpy as np

import stiction
from stiction import cone, huber, interval, quadratic

HERE = pathlib.Path(__file__).parent
H, G = 0.01, 9.81


def contact(n, body, arm, frame, other=None, other_arm=None):
    """Rows (normal, tangents) of the velocity of `body` at arm, relative to `other`, in n dofs (6 per body)."""
    J = np.zeros((3, n))
    for sign, b, r in ((1, body, arm), (-1, other, other_arm)):
        if b is None:
            continue
        J[:, 6 * b:6 * b + 3] += sign * frame
        J[:, 6 * b + 3:6 * b + 6] += sign * np.cross(r, frame)
    return J


def boxes(count, half=(0.1, 0.1, 0.1), mass=1.0):
    """Mass matrix and free velocity of boxes that fall for a step."""
    a, b, c = half
    inertia = mass / 3 * np.array([b * b + c * c, a * a + c * c, a * a + b * b])
    A = np.diag(np.tile(np.concatenate([[mass] * 3, inertia]), count))
    return A, np.tile([0, 0, -H * G, 0, 0, 0], count)


UP = np.array([[0, 0, 1.0], [1, 0, 0], [0, 1, 0]])
CORNERS = [(x, y) for x in (-1, 1) for y in (-1, 1)]


def stack(levels=6, push=0.02):
    """Boxes on each other, the top one pushed: hyperstatic, most sticks, some slides. Hard."""
    n = 6 * levels
    A, vstar = boxes(levels)
    vstar[6 * (levels - 1)] = push
    blocks = []
    for k in range(levels):
        for x, y in CORNERS:
            low, high = np.array([0.1 * x, 0.1 * y, -0.1]), np.array([0.1 * x, 0.1 * y, 0.1])
            blocks.append(contact(n, k, low, UP, k - 1 if k else None, high))
    return stiction.Problem([cone(3, 0.4)] * len(blocks), A=A, J=np.vstack(blocks), vstar=vstar, h=H)


def table():
    """A four-legged table on a floor with friction, given by W and q: 12 forces, 6 of them determined."""
    A, vstar = boxes(1, (0.5, 0.3, 0.02), 8.0)
    J = np.vstack([contact(6, 0, np.array([0.5 * x, 0.3 * y, -0.7]), UP) for x, y in CORNERS])
    return stiction.Problem([cone(3, 0.6)] * 4, W=J @ np.linalg.solve(A, J.T), q=J @ vstar, h=H)


def regularised(count=30, seed=1):
    """Spheres thrown together at random, with R as for near-rigid contact."""
    rng = np.random.default_rng(seed)
    n, radius, mass = 6 * count, 0.05, 0.2
    A = np.diag(np.tile([mass] * 3 + [0.4 * mass * radius**2] * 3, count))
    vstar = rng.normal(scale=0.3, size=n)
    blocks, rows, R = [], [], []
    for k in range(count):
        for other in {*rng.integers(0, count, 2)} - {k}:
            normal = rng.normal(size=3)
            frame = np.linalg.qr(np.column_stack([normal, rng.normal(size=(3, 2))]))[0].T
            J = contact(n, k, -radius * frame[0], frame, int(other), radius * frame[0])
            w = np.linalg.norm(J @ np.linalg.solve(A, J.T)) / 3
            blocks.append(J)
            rows.append(cone(3, 0.5))
            R += [w / (4 * np.pi**2), 1e-3 * w, 1e-3 * w]
    return stiction.Problem(rows, A=A, J=np.vstack(blocks), vstar=vstar, R=R, h=H)


def mixed():
    """An arm's rows: two limits, dry friction, a weld, a bounded actuator, contacts of dim 1, 4 and 6."""
    rng = np.random.default_rng(4)
    rows = [interval(0, np.inf), interval(-np.inf, 0), huber(0.05), quadratic(3), interval(-0.2, 0.2), cone(1),
            cone(4, (0.6, 0.6, 0.01)), cone(6, (0.6, 0.6, 0.01, 0.002, 0.002))]
    n, m = 12, sum(r.dim for r in rows)
    B = rng.normal(size=(n, n))
    R = []
    for row in rows:
        R += [0.02] + [0.001 / mu**2 for mu in row.mu] if row.kind == "cone" else [0.02] * row.dim
    return stiction.Problem(rows, A=B @ B.T + np.eye(n), J=rng.normal(size=(m, n)), vstar=rng.normal(size=n),
                            vhat=0.1 * rng.normal(size=m), R=R, h=H)


if __name__ == "__main__":
    for make in (stack, table, regularised, mixed):
        make().save(HERE / f"{make.__name__}.h5")
    stack(3, 0.3).export_fclib(HERE / "stack_fclib.hdf5")
