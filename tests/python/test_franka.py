# SPDX-License-Identifier: Apache-2.0
"""A Panda and a soft ball: inverse kinematics, and the grasp against the thresholds of other engines' tests."""
import importlib.util
import os
import pathlib

import numpy as np
import pytest

import stiction

ROOT = pathlib.Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("franka_grasp", ROOT / "examples" / "franka_grasp.py")
franka = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(franka)

LONG = bool(os.environ.get("STI_LONG"))  # ./dev bench grasp
CASES = [(0.0045, 120), (0.0045, 60), (0.0035, 60)] + [(0.0035, 120), (0.0022, 60), (0.0022, 120)] * LONG


@pytest.mark.parametrize("edge, rate", CASES)
def test_held_and_dropped(edge, rate):
    """Balls of 575, 1,159 and 4,991 nodes follow the hand within 1 mm, are held for 2 s, and fall when the fingers open."""
    model, data = franka.load(edge=edge, rate=rate)
    grasp = franka.Grasp(model, data, drop=True).run()
    franka.check(grasp, drop=True)
    low, high = model.jnt_range.T
    held = grasp.column(9, 11)
    assert (held > low[7] - 1e-4).all() and (held < high[7] + 1e-4).all()


def test_lift_by_five_centimetres():
    """15 steps hold, 10 grasp, 65 lift by 0.05 m, at 1/60 s: the ball's centre moves by (0, 0, 0.05) within 5 mm and then drifts
    by less than 1 mm in 25 steps; limits and the fingers' equality hold meanwhile."""
    model, data = franka.load(rate=60)
    grasp = franka.Grasp(model, data)
    low, high = model.jnt_range.T

    def step(count):
        for _ in range(count):
            stiction.step(model, data)
            assert data.certificate.headline < 1e-6
            assert (data.qpos > low - 1e-4).all() and (data.qpos < high + 1e-4).all()
            assert abs(data.qpos[7] - data.qpos[8]) < 1e-4

    step(15)
    data.ctrl[7:] = 0
    step(10)
    start = grasp.centre()
    for i in range(65):
        place = franka.PLACE + [0, 0, 0.05 * min(1, (i + 1) / 50)]
        data.ctrl[:7] = grasp.reach(place, 0.0, data.qpos)[:7]
        step(1)
    lifted = grasp.centre()
    np.testing.assert_allclose(lifted - start, [0, 0, 0.05], atol=5e-3)
    step(25)
    np.testing.assert_allclose(grasp.centre(), lifted, atol=1e-3)


def test_ik():
    model, data = franka.load()
    stiction.reset(model, data, "ready")
    before = data.qpos.copy()
    found = stiction.ik_solve(model, data, site="hand", pos=[0.5, 0.2, 0.4], quat=[0, 1, 0, 0])
    assert found.reached and found.end == "reached" and found.position < 1e-10 and found.angle < 1e-10
    assert (data.qpos == before).all() and (found.qpos[7:] == before[7:]).all()
    data.qpos = found.qpos
    stiction.forward(model, data)
    np.testing.assert_allclose(data.site("hand").xpos, [0.5, 0.2, 0.4], atol=1e-8)
    np.testing.assert_allclose(data.body("hand").xmat.reshape(3, 3), np.diag([1, -1, -1]), atol=1e-8)
    far = stiction.ik_solve(model, data, body="hand", pos=[2, 0, 0.333], max_iterations=2000)
    assert not far.reached and far.end == "closest" and far.angle == 0
    still = stiction.ik_solve(model, data, site="hand", pos=[0.5, 0.1, 0.4], joints=["joint1", 1, "joint3", "joint4"])
    assert still.reached and (still.qpos[4:] == data.qpos[4:]).all()


def test_ik_refuses():
    model, data = franka.load()
    solve = stiction.ik_solve
    with pytest.raises(ValueError):
        solve(model, data, pos=[0, 0, 0])
    with pytest.raises(ValueError):
        solve(model, data, site="hand", body="hand", pos=[0, 0, 0])
    with pytest.raises(KeyError):
        solve(model, data, site="foot", pos=[0, 0, 0])
    with pytest.raises(ValueError):
        solve(model, data, site="hand", pos=[0, 0])
    with pytest.raises(stiction.Error, match="neither"):
        solve(model, data, site="hand")
    with pytest.raises(stiction.Error, match="finite"):
        solve(model, data, site="hand", pos=[0, 0, float("nan")])
    with pytest.raises(stiction.Error, match="size"):
        solve(model, data, site="hand", pos=[0, 0, 0], qpos=[0, 0])
    with pytest.raises(stiction.Error, match="no joint"):
        solve(model, data, site="hand", pos=[0, 0, 0], joints=["finger_joint1"])
