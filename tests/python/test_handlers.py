# SPDX-License-Identifier: Apache-2.0
"""Handlers and controllers in Python: closed forms, MuJoCo's callback, exceptions, copies, garbage."""
import copy
import gc
import pickle
import threading
import weakref

import mujoco
import numpy as np
import pytest

import stiction
import stiction.mujoco as shim

CART = """<mujoco><option timestep="0.002" gravity="0 0 0"/><worldbody><body name="cart"><joint type="slide" axis="1 0 0"/>
  <geom type="box" size=".1 .1 .1" mass="2"/></body></worldbody><actuator><motor joint="" name="push"/></actuator></mujoco>"""
CART = CART.replace('axis="1 0 0"', 'name="rail" axis="1 0 0"').replace('joint=""', 'joint="rail"')
BALL = """<mujoco><option timestep="%g"/><worldbody><body name="ball"><freejoint/><geom size=".1" mass="2" contype="0" conaffinity="0"/></body>
  </worldbody></mujoco>"""


def made(xml):
    model = stiction.Model.from_xml_string(xml)
    return model, stiction.Data(model)


@pytest.fixture(autouse=True)
def no_callback():
    yield
    shim.set_mjcb_control(None)
    mujoco.set_mjcb_control(None)


def test_a_controller_pushes():
    """A force of 2 N (1 + t) on 2 kg: semi-implicit Euler sums it to the bit of rounding."""
    model, data = made(CART)
    data.add_controller(lambda m, d: d.ctrl.__setitem__(0, 2 * (1 + d.time)))
    stiction.step(model, data, 100)
    h = 0.002
    v = np.cumsum(h * (1 + h * np.arange(100)))
    assert data.qvel[0] == pytest.approx(v[-1], rel=1e-13)
    assert data.qpos[0] == pytest.approx(h * v.sum(), rel=1e-13)


def test_calls_are_counted():
    model, data = made(CART)
    calls = []
    number = data.add_controller(lambda m, d: calls.append((m is model, d is data)))
    for call, count in ((stiction.forward, 1), (stiction.step1, 1), (stiction.step2, 0), (stiction.step, 1),
                        (lambda m, d: stiction.inverse(m, d, np.zeros(1)), 0)):
        calls.clear()
        call(model, data)
        assert calls == [(True, True)] * count
    model.opt.substeps = 4
    calls.clear()
    stiction.step(model, data, 2)
    assert len(calls) == 8
    data.remove_handler(number)
    stiction.step(model, data)
    assert len(calls) == 8
    with pytest.raises(KeyError):
        data.remove_handler(number)
    with pytest.raises(TypeError, match="must be a function, not int"):
        data.add_controller(3)


def run_pd(mj):
    """A pendulum held by a PD law in mjcb_control."""
    model = mj.MjModel.from_xml_string("""<mujoco><option timestep="0.002" integrator="implicitfast"/><worldbody><body><joint name="j" axis="0 1 0"/>
      <geom type="capsule" fromto="0 0 0 .5 0 0" size=".02" mass="1"/><body pos=".5 0 0"><joint axis="0 1 0" damping=".1"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".02" mass=".5"/></body></body></worldbody><actuator><motor joint="j"/></actuator></mujoco>""")
    data = mj.MjData(model)
    seen = []

    def control(m, d):
        assert m is model and d is data
        seen.append(d.xpos[2].copy())  # positions of this step are there
        d.ctrl[0] = -30 * d.qpos[0] - 3 * d.qvel[0]
        d.qfrc_applied[1] = 0.3 * np.sin(5 * d.time)
    mj.set_mjcb_control(control)
    assert mj.get_mjcb_control() is control
    for _ in range(300):
        mj.mj_step(model, data)
    mj.mj_forward(model, data)
    mj.set_mjcb_control(None)
    assert mj.get_mjcb_control() is None
    for _ in range(10):
        mj.mj_step(model, data)
    return np.concatenate([data.qpos, data.qvel, np.ravel(seen)])


def test_mjcb_control_is_mujocos():
    np.testing.assert_allclose(run_pd(shim), run_pd(mujoco), rtol=1e-9, atol=1e-10)
    for mj in (shim, mujoco):
        with pytest.raises(TypeError, match="Optional"):
            mj.set_mjcb_control(3)


@pytest.mark.parametrize("mj", [shim, mujoco])
def test_mjcb_control_may_raise(mj):
    model = mj.MjModel.from_xml_string(CART)
    data = mj.MjData(model)

    def control(m, d):
        d.ctrl[0] = 1
        if d.time > 0.009:
            raise ArithmeticError("enough")
    mj.set_mjcb_control(control)
    with pytest.raises(ArithmeticError, match="enough"):
        for _ in range(20):
            mj.mj_step(model, data)
    assert data.time == pytest.approx(0.01)
    assert data.qvel[0] == pytest.approx(0.005, rel=1e-12)


def test_no_derivatives_under_a_callback():
    model = shim.MjModel.from_xml_string(CART)
    data = shim.MjData(model)
    shim.set_mjcb_control(lambda m, d: None)
    shim.mj_step(model, data)
    A, B = np.zeros((2, 2)), np.zeros((2, 1))
    with pytest.raises(RuntimeError, match="mj_resetCallbacks"):
        shim.mjd_transitionFD(model, data, 1e-6, True, A, B)
    shim.set_mjcb_control(None)
    shim.mjd_transitionFD(model, data, 1e-6, True, A, B)
    np.testing.assert_allclose(B[1], 0.002 / 2, rtol=1e-7)
    data.add_controller(lambda m, d: None)
    with pytest.raises(RuntimeError, match="remove handlers"):
        stiction.linearize(model, data)
    stiction.step(model, data)


def test_what_is_raised_comes_out_and_the_state_is_good():
    model, data = made(CART)
    bad = []

    def control(m, d):
        d.ctrl[0] = 4
        if bad:
            raise bad[0]
    data.add_controller(control)
    stiction.step(model, data, 10)
    kept = data.qpos.copy(), data.qvel.copy(), data.time
    for error in (ZeroDivisionError("one"), KeyboardInterrupt()):
        bad[:] = [error]
        for call in (lambda: stiction.step(model, data, 5), lambda: stiction.forward(model, data), lambda: stiction.step1(model, data)):
            with pytest.raises(type(error)) as caught:
                call()
            assert caught.value is error
            assert (data.qpos, data.qvel, data.time) == kept
    bad.clear()
    stiction.step(model, data, 10)
    other = stiction.Data(model)
    other.ctrl[0] = 4
    stiction.step(model, other, 20)
    assert np.array_equal(other.qpos, data.qpos)


def test_numbers_that_are_none_are_named():
    model, data = made(CART)
    data.add_controller(lambda m, d: d.ctrl.__setitem__(0, np.nan))
    with pytest.raises(stiction.Error, match="ctrl"):
        stiction.step(model, data)
    assert data.time == 0


def rope(model, data, rows):
    x = data.body("ball").xpos
    length = np.linalg.norm(x)
    rows.add(stiction.interval(0, np.inf), -x / length @ rows.jacobian("ball", x), phi=1 - length)


@pytest.mark.parametrize("h", [0.01, 0.002])
def test_a_rope_hangs(h):
    """It pulls m g and is longer by the near-rigid depth at rest, beta^2 / (4 pi^2) (1 + beta / pi) h^2 g, beta = 0.7."""
    model, data = made(BALL % h)
    data.add_handler(rope)
    data.qpos[2] = -0.7
    stiction.step(model, data, int(3 / h))
    stretch = 0.49 / (4 * np.pi**2) * (1 + 0.7 / np.pi) * h * h * 9.81
    assert data.qpos[2] == pytest.approx(-1 - stretch, abs=1e-3 * stretch)
    assert data.qfrc_constraint[2] == pytest.approx(2 * 9.81, abs=1e-6)


def test_laws_of_rows():
    """A spring row hangs m g / k lower; dry friction slows by its force; an equality holds."""
    model, data = made(BALL % 0.002)
    data.add_handler(lambda m, d, rows: rows.add(stiction.interval(0, np.inf), [1], dofs=[2], phi=d.qpos[2] + 1, stiffness=1000, dissipation=0.1))
    data.qpos[2] = -1
    stiction.step(model, data, 3000)
    assert data.qpos[2] == pytest.approx(-1 - 2 * 9.81 / 1000, abs=1e-9)
    model, data = made(CART)
    data.qvel[0] = 1
    data.add_handler(lambda m, d, rows: rows.add(stiction.huber(3 * 0.002), [[1]]))
    stiction.step(model, data, 100)
    assert data.qvel[0] == pytest.approx(1 - 3 / 2 * 0.2, rel=1e-6)
    model, data = made(CART)
    data.ctrl[0] = 5
    data.add_handler(lambda m, d, rows: rows.add(stiction.quadratic(), np.ones((1, 1)), phi=d.qpos[0]))
    stiction.step(model, data, 500)
    assert abs(data.qpos[0]) < 1e-5 and data.qfrc_constraint[0] == pytest.approx(-5, rel=1e-6)


def test_a_plane_of_ones_own():
    """A contact on a slope that no geom describes: with friction 1 it holds on 0.5, with 0.2 it slides by g (sin - mu cos)."""
    for mu, acceleration in ((1.0, 0.0), (0.2, 9.81 * (np.sin(0.5) - 0.2 * np.cos(0.5)))):
        model, data = made((BALL % 0.001).replace("<freejoint/>", '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide"/>'))
        normal = np.array([np.sin(0.5), 0, np.cos(0.5)])

        def plane(m, d, rows):
            dist = d.xpos[1] @ normal - 0.1
            rows.touch(0, "ball", d.xpos[1] - normal * (0.1 + dist / 2), 3 * normal, dist, friction=mu)
        data.add_handler(plane)
        data.qpos[:] = 0.1 * normal
        stiction.step(model, data, 300)
        v0 = data.qvel.copy()
        stiction.step(model, data, 300)
        assert np.linalg.norm(data.qvel - v0) / 0.3 == pytest.approx(acceleration, abs=2e-3)
        assert data.ncon == 1 and data.contact[0].body2 == 1 and data.contact[0].geom2 == -1
        assert data.contact[0].force[0] == pytest.approx(2 * 9.81 * np.cos(0.5), rel=1e-3)


def test_wrong_rows_are_said_where_they_are():
    model, data = made(CART)
    later = []
    for wrong, error in ((lambda rows: rows.add(stiction.quadratic(), [1, 2]), ValueError), (lambda rows: rows.add(stiction.quadratic(2), [[1]]), ValueError),
                         (lambda rows: rows.add(stiction.quadratic(), [1], dofs=[7]), stiction.Error), (lambda rows: rows.add(stiction.quadratic(), [np.nan]), stiction.Error),
                         (lambda rows: rows.add(("user", 1), [1]), ValueError), (lambda rows: rows.add(stiction.quadratic(), [1], dofs=[0.5]), TypeError),
                         (lambda rows: rows.add(stiction.quadratic(), [1], vhat=0), ValueError), (lambda rows: rows.add(stiction.quadratic(), [1], phi=[1, 2]), ValueError),
                         (lambda rows: rows.touch(0, "cat", [0] * 3, [0, 0, 1], 0), KeyError), (lambda rows: rows.touch(0, 1, [0] * 3, [0, 0, 0], 0), stiction.Error)):
        number = data.add_handler(lambda m, d, rows: wrong(rows))
        with pytest.raises(error):
            stiction.step(model, data)
        assert data.time == 0
        data.remove_handler(number)
    data.add_handler(lambda m, d, rows: later.append(rows))
    stiction.step(model, data)
    with pytest.raises(RuntimeError, match="only while"):
        later[0].add(stiction.quadratic(), [1])


def test_what_a_controller_may_do():
    """Everything is read for the first time inside; what steps or changes the data is refused; a copy may be stepped."""
    model, data = made(CART)
    told, copies = [], []

    def control(m, d):
        if d is not data:
            return
        d.qpos, d.xpos, d.contact, d.certificate, d.hash()
        stiction.jac_body(m, d, "cart")
        stiction.mass_matrix(m, d)
        for call in (lambda: stiction.step(m, d), lambda: stiction.forward(m, d), lambda: stiction.reset(m, d), lambda: d.restore(d.snapshot()),
                     lambda: d.add_controller(print), lambda: d.remove_handler(0), lambda: stiction.inverse(m, d, np.zeros(1)),
                     lambda: stiction.set_state(m, d, stiction.get_state(m, d, 1), 1), lambda: stiction.step1(m, d)):
            with pytest.raises(RuntimeError, match="work on a copy"):
                call()
        other = threading.Thread(target=lambda: told.append(pytest.raises(RuntimeError, stiction.step, m, d).match("another thread")))
        other.start()
        other.join()
        ahead = copy.copy(d)
        stiction.step(m, ahead, 3)
        copies.append(ahead.time)
        d.ctrl[0] = 1
    data.add_controller(control)
    model.opt.substeps = 2  # whose parts' timestep is in the world's options meanwhile
    stiction.step(model, data, 2)
    assert len(told) == 4 and copies == pytest.approx([0.006, 0.007, 0.008, 0.009])
    assert data.time == pytest.approx(0.004) and data.qvel[0] == pytest.approx(0.002)


def test_copies_batches_pickles():
    model, data = made(CART)
    seen = []
    data.add_controller(lambda m, d: seen.append(d))
    number = data.add_controller(lambda m, d: seen.append(d))
    data.add_controller(lambda m, d: seen.append(d))
    data.remove_handler(number)
    other = copy.copy(data)
    stiction.step(model, other)
    assert len(seen) == 2 and all(d is other for d in seen)
    stiction.step(model, data)
    assert len(seen) == 4 and seen[-1] is data
    plain = pickle.loads(pickle.dumps(data))
    stiction.step(plain.model, plain)
    assert len(seen) == 4
    batch = stiction.Batch(model, 2)
    with pytest.raises(ValueError, match="worlds of a batch"):
        batch.world(0).add_controller(lambda m, d: None)


def test_cycles_are_collected():
    """A function that refers to its Data, whose arrays are in use: both go."""
    model, data = made(CART)
    data.add_controller(lambda m, d: data.qpos)
    stiction.step(model, data)
    gone = weakref.ref(data)
    qpos, value = data.qpos, data.qpos[0]
    del data
    gc.collect()
    assert gone() is None and qpos[0] == value


def test_the_viewer_raises_too():
    model, data = made(CART)

    def control(m, d):
        d.ctrl[0] = 1
        if d.time > 0.019:
            raise LookupError("enough")
    data.add_controller(control)
    viewer = pytest.importorskip("stiction.viewer").Viewer(model, data)
    try:
        with pytest.raises(LookupError, match="enough"):
            for _ in range(50):
                viewer.run(0.1)
        assert 0 < data.time <= 0.0201
    finally:
        viewer.close()
