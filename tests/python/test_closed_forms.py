# SPDX-License-Identifier: Apache-2.0
"""The cases of bench/closed_forms.py within their tolerances, every step certified."""
import math
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import closed_forms  # noqa: E402


@pytest.mark.parametrize("h", closed_forms.STEPS)
@pytest.mark.parametrize("case", closed_forms.CASES, ids=lambda case: case.__name__)
def test_case(case, h):
    rows, scene = closed_forms.collect(case, h)
    assert rows
    for row in rows:
        assert not closed_forms.is_off(row), row
    assert scene.worst < 1e-6


SHORT = [case for case in closed_forms.CASES if case is not closed_forms.long_stack]


SOFT = (closed_forms.incline_creep, closed_forms.incline_cube, closed_forms.limit)  # contacts and limits of alm are hard


@pytest.mark.parametrize("name", ["apgd", "RK4", "implicit", "implicitfast"])
@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.__name__)
def test_case_with_another(case, name, monkeypatch):
    """The other solver and the other integrators step the same scenes to the same answers."""
    monkeypatch.setattr(closed_forms.Scene, "solver" if name == "apgd" else "integrator", name)
    test_case(case, 0.01)


@pytest.mark.parametrize("h", [0.01, 0.002])
@pytest.mark.parametrize("scheme", ["euler", "bdf2", "midpoint"])
@pytest.mark.parametrize("case", [case for case in SHORT if case not in SOFT], ids=lambda case: case.__name__)
def test_case_with_alm(case, scheme, h, monkeypatch):
    """Joints as constraints, with every scheme of alm."""
    if case is closed_forms.arch_stands and h < 0.01:
        pytest.skip("the forces in it settle slowly: it moves at up to 5e-6 m/s after 2 s, see docs/alm.md")
    monkeypatch.setattr(closed_forms.Scene, "integrator", "alm")
    monkeypatch.setattr(closed_forms.Scene, "scheme", scheme)
    test_case(case, h)


@pytest.mark.parametrize("scheme", ["euler", "bdf2", "midpoint"])
def test_limit_with_alm(scheme, monkeypatch):
    """Its limits are hard: 10 N press a slide against one, and it stands there."""
    monkeypatch.setattr(closed_forms.Scene, "integrator", "alm")
    monkeypatch.setattr(closed_forms.Scene, "scheme", scheme)
    for h in closed_forms.STEPS:
        s = closed_forms.pressed(h)
        assert s.data.qpos[0] == pytest.approx(0.05, abs=1e-10) and s.speed < 1e-10


def area_and_centre(corners):
    """Of a polygon in (x, z): area and x of its centroid."""
    x, z = np.array(corners).T
    cross = x * np.roll(z, -1) - np.roll(x, -1) * z
    area = cross.sum() / 2
    return area, ((x + np.roll(x, -1)) * cross).sum() / (6 * area)


def test_statics_of_the_arch():
    """The linear program against a search over the thrust H at height y of the crown, for one half of the arch: on a joint at
    angle t below weight W with centre x the force (-H, W) acts at radius (y H + x W) / (H sin t + W cos t)."""
    n, a, b = (closed_forms.ARCH[k] for k in ("n", "inner", "outer"))
    assert n % 2 == 1
    key, crown = closed_forms.arch_joint(n // 2), math.cos(math.pi / n / 2)
    blocks = [[(a * crown, math.pi / 2), (b * crown, math.pi / 2), (b, key), (a, key)]]  # half of the keystone, polar
    for i in reversed(range(n // 2)):
        lower, upper = closed_forms.arch_joint(i), closed_forms.arch_joint(i + 1)
        blocks.append([(a, upper), (b, upper), (b, lower), (a, lower)])
    weight = moment = 0.0
    H, y = np.meshgrid(np.linspace(0.001, 0.5, 4000), np.linspace(a * crown, b * crown, 101))
    need = np.zeros_like(H)
    for block in blocks:
        area, x = area_and_centre([(r * math.cos(t), r * math.sin(t)) for r, t in block])
        weight += abs(area)
        moment += abs(area) * x
        t = block[-1][1]
        normal, shear = H * math.sin(t) + weight * math.cos(t), np.abs(weight * math.sin(t) - H * math.cos(t))
        radius = (y * H + moment) / normal
        inside = (normal > 0) & (radius >= a - 1e-12) & (radius <= b + 1e-12)
        need = np.where(inside, np.maximum(need, shear / normal), np.inf)
    assert need.min() == pytest.approx(closed_forms.arch_critical(), rel=2e-3)
