# SPDX-License-Identifier: Apache-2.0
"""stiction.mujoco's functions of motion beside MuJoCo's: rates of Jacobians, accelerations, momentum, states, callbacks, files."""
import copy
import warnings

import mujoco
import numpy as np
import pytest

import stiction.mujoco as shim

LIMBS = """<mujoco model="limbs"><option timestep="0.002" integrator="{integrator}"/><worldbody>
  <body name="rail" pos="0 0 1"><joint type="slide" axis="1 .2 0" damping=".3"/><geom type="box" size=".1 .05 .05" mass="1.5"/>
    <body name="arm" pos=".1 0 0" euler="10 20 30"><joint name="elbow" axis="0 1 0" pos="0 0 .05" stiffness="2"/>
      <geom name="bone" type="capsule" fromto="0 0 0 .4 0 0" size=".03"/>
      <camera name="eye" pos=".1 .1 0" euler="5 0 0"/>
      <body name="hand" pos=".4 0 0"><joint type="ball" damping=".01"/><geom type="box" size=".05 .02 .08" pos=".02 0 0"/>
        <site name="palm" pos=".03 .01 .02" euler="0 40 0" type="box" size=".02 .03 .04"/></body></body></body>
  <body name="stone" pos="0 2 2" euler="30 0 10"><freejoint/><geom type="ellipsoid" size=".1 .2 .15" pos=".02 0 .01"/>
    <site name="core" type="ellipsoid" size=".1 .2 .15"/><site name="ball" size=".1"/>
    <site name="tube" type="cylinder" size=".1 .2"/><site name="pill" type="capsule" size=".1 .2"/></body></worldbody>
  <actuator><motor name="push" joint="elbow" gear="2"/></actuator>
  <sensor><gyro site="palm"/></sensor></mujoco>"""


def moving(mj, integrator="implicitfast", seed=3):
    rng = np.random.default_rng(seed)
    model = mj.MjModel.from_xml_string(LIMBS.format(integrator=integrator))
    data = mj.MjData(model)
    mj.mj_integratePos(model, data.qpos, rng.standard_normal(model.nv), 0.5)
    data.qvel[:] = rng.standard_normal(model.nv)
    data.ctrl[:] = 0.7
    mj.mj_forward(model, data)
    return model, data


def jacobians(mj):
    m, d = moving(mj)
    out = []
    for name in ("rail", "arm", "hand", "stone", "world"):
        body = mj.mj_name2id(m, mj.mjtObj.mjOBJ_BODY, name)
        point = d.xpos[body] + (0.1, -0.2, 0.3)
        for call, extra in ((mj.mj_jacDot, (point,)), (mj.mj_jacPointAxis, (point, np.array([0.0, 0.6, 0.8])))):
            a, b = np.zeros((3, m.nv)), np.zeros((3, m.nv))
            call(m, d, a, b, *extra, body)
            out += [a, b]
        mj.mj_angmomMat(m, d, mat := np.zeros((3, m.nv)), body)
        out.append(mat)
    return out


def accelerations(mj):
    m, d = moving(mj)
    mj.mj_rnePostConstraint(m, d)
    mj.mj_forward(m, d)
    mj.mj_rnePostConstraint(m, d)
    out = []
    for kind, name in ((mj.mjtObj.mjOBJ_BODY, "hand"), (mj.mjtObj.mjOBJ_XBODY, "stone"), (mj.mjtObj.mjOBJ_GEOM, "bone"),
                       (mj.mjtObj.mjOBJ_SITE, "palm"), (mj.mjtObj.mjOBJ_CAMERA, "eye")):
        for local in (0, 1):
            mj.mj_objectAcceleration(m, d, kind, mj.mj_name2id(m, kind, name), res := np.zeros(6), local)
            out.append(res)
    return out


def inside(mj):
    m, d = moving(mj)
    points = np.random.default_rng(5).uniform(-0.25, 0.25, (200, 3))
    return [[mj.mj_insideSite(m, d, site, d.site_xpos[site] + point) for point in points] for site in range(m.nsite)]


def states(mj):
    m, d = moving(mj)
    sig = mj.mjtState
    full = sig.mjSTATE_INTEGRATION
    vector = np.zeros(mj.mj_stateSize(m, sig.mjSTATE_PHYSICS))
    mj.mj_getState(m, d, vector, sig.mjSTATE_PHYSICS)
    mj.mj_extractState(m, vector, sig.mjSTATE_PHYSICS, part := np.zeros(m.nv), sig.mjSTATE_QVEL)
    other, third = mj.MjData(m), mj.MjData(m)
    mj.mj_copyState(m, d, other, full)
    mj.mj_copyData(third, m, d)
    out = [part, other.qpos.copy(), other.ctrl.copy(), third.xpos.copy(), third.qvel.copy()]
    mj.mj_resetCtrl(m, other)
    mj.mj_defaultSolRefImp(ref := np.zeros(2), imp := np.zeros(5))
    mj.mj_step(m, d)
    mj.mj_step(m, third)
    return out + [other.ctrl.copy(), ref, imp, d.qpos - third.qpos, mj.mj_isPyramidal(m) * 0]


def parts(mj):
    """A step put together from its parts."""
    out = []
    for integrator, advance in (("Euler", mj.mj_Euler), ("implicitfast", mj.mj_implicit)):
        m, d = moving(mj, integrator)
        for _ in range(5):
            mj.mj_fwdKinematics(m, d)
            mj.mj_makeM(m, d)
            mj.mj_forwardSkip(m, d, mj.mjtStage.mjSTAGE_NONE, 0)
            advance(m, d)
        out += [d.qpos.copy(), d.qvel.copy(), d.time]
    d.qacc[:] = 1
    mj.mj_inverseSkip(m, d, mj.mjtStage.mjSTAGE_NONE, 0)
    return out + [d.qfrc_inverse.copy()]


def callbacks(mj):
    def springs(m, d):
        d.qfrc_passive[0] -= 30 * d.qpos[0]

    def steer(m, d):
        d.ctrl[0] = -d.qvel[1]
    m, d = moving(mj)
    mj.set_mjcb_passive(springs)
    mj.set_mjcb_control(steer)
    try:
        assert mj.get_mjcb_passive() is springs and mj.get_mjcb_control() is steer
        mj.mj_step(m, d, 50)
        out = [d.qpos.copy()]
    finally:
        mj.set_mjcb_passive(None)
        mj.set_mjcb_control(None)
    assert mj.get_mjcb_passive() is None and mj.get_mjcb_control() is None
    mj.mj_step(m, d, 5)
    return out + [d.qpos.copy()]


def inverse_derivatives(mj):
    m, d = moving(mj)
    out = []
    for actuation in (False, True):
        three = [np.zeros((m.nv, m.nv)) for _ in range(3)]
        mj.mjd_inverseFD(m, d, 1e-6, actuation, *three, None, None, None, None)
        out += three
    return out + [d.qpos.copy(), d.qvel.copy()]


@pytest.mark.parametrize("script", [jacobians, accelerations, inside, states, parts, callbacks, inverse_derivatives])
def test_the_same_numbers(script):
    theirs, ours = script(mujoco), script(shim)
    assert len(theirs) == len(ours)
    close = 1e-4 if script is inverse_derivatives else 1e-8
    for number, (a, b) in enumerate(zip(theirs, ours)):
        np.testing.assert_allclose(b, a, rtol=close, atol=close, err_msg=f"{script.__name__}, number {number}")


def test_callbacks_are_reset_together():
    shim.set_mjcb_passive(print)
    shim.set_mjcb_control(print)
    shim.mj_resetCallbacks()
    assert shim.get_mjcb_passive() is None and shim.get_mjcb_control() is None


def test_rates_are_those_of_differences():
    m, d = moving(shim)
    body, point = m.body("hand").id, d.body("hand").xpos + (0.1, -0.2, 0.3)
    local = d.body("hand").xmat.reshape(3, 3).T @ (point - d.body("hand").xpos)
    shim.mj_jacDot(m, d, rate := np.zeros((3, m.nv)), turning := np.zeros((3, m.nv)), point, body)
    sides = []
    for dt in (-1e-6, 1e-6):
        e = copy.copy(d)
        shim.mj_integratePos(m, e.qpos, np.array(d.qvel), dt)
        shim.mj_forward(m, e)
        jacp, jacr = np.zeros((3, m.nv)), np.zeros((3, m.nv))
        shim.mj_jac(m, e, jacp, jacr, e.xpos[body] + e.xmat[body].reshape(3, 3) @ local, body)
        sides.append((jacp, jacr))
    for got, k in ((rate, 0), (turning, 1)):
        np.testing.assert_allclose(got, (sides[1][k] - sides[0][k]) / 2e-6, atol=1e-7)


def test_roots_of_the_mass_matrix():
    for mj in (mujoco, shim):
        m, d = moving(mj)
        M = np.zeros((m.nv, m.nv))
        mj.mj_fullM(m, d, M)
        v = np.arange(1.0, m.nv + 1)
        mj.mj_mulM2(m, d, res := np.zeros(m.nv), v)
        np.testing.assert_allclose(res @ res, v @ M @ v, rtol=1e-10)
    y = np.random.default_rng(1).standard_normal((3, m.nv))
    shim.mj_solveM2(m, d, x := np.zeros((3, m.nv)), y, np.zeros(m.nv))
    np.testing.assert_allclose(x @ x.T, y @ np.linalg.solve(M, y.T), rtol=1e-9, atol=1e-12)


def test_models_and_data_are_printed(tmp_path):
    m, d = moving(shim)
    shim.mj_printModel(m, str(tmp_path / "model.txt"))
    shim.mj_printData(m, d, str(tmp_path / "data.txt"))
    model, data = (tmp_path / "model.txt").read_text(), (tmp_path / "data.txt").read_text()
    assert "limbs" in model and "body_mass 5" in model and f"nv{' ' * 18} {m.nv}" in model
    assert f"qpos {m.nq}" in data and "site_xpos 5x3" in data


def test_the_last_xml_is_saved(tmp_path):
    path = str(tmp_path / "saved.xml")
    spec = shim.MjSpec.from_string(LIMBS.format(integrator="Euler"))
    spec.worldbody.add_geom(size=[0.1, 0.1, 0.1])
    (tmp_path / "part.xml").write_text("<mujoco><worldbody><geom name='more' size='.3'/></worldbody></mujoco>")
    (tmp_path / "main.xml").write_text("<mujoco><include file='part.xml'/></mujoco>")
    for model in (shim.MjModel.from_xml_string(LIMBS.format(integrator="Euler")), shim.MjModel.from_xml_path(str(tmp_path / "main.xml")),
                  spec.compile()):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            shim.mj_saveLastXML(path, model)
        theirs, again = mujoco.MjModel.from_xml_path(path), shim.MjModel.from_xml_path(path)
        assert (theirs.ngeom, theirs.nq) == (model.ngeom, model.nq) and again.hash() == model.hash()
    model.opt.timestep = 0.001
    model.body_mass[1] *= 2
    with pytest.warns(UserWarning, match="body_mass.*opt.timestep"):
        shim.mj_saveLastXML(path, model)
    with pytest.raises(RuntimeError, match="copies"):
        shim.mj_saveLastXML(path, model.__copy__())


def test_the_warm_start_may_be_copied():
    """As planners do with MuJoCo."""
    for mj in (mujoco, shim):
        m, d = moving(mj)
        mj.mj_step(m, d)
        other = mj.MjData(m)
        other.qacc_warmstart[:] = d.qacc_warmstart
        other.qacc_warmstart = d.qacc_warmstart
        np.testing.assert_array_equal(d.qacc_warmstart, d.qacc)


def test_new_enumerations_are_mujocos():
    checked = 0
    for name in dir(shim):
        if name.startswith("mjt") and name not in ("mjtSensor", "mjtEq", "mjtFontScale"):
            for word, member in getattr(shim, name).__members__.items():
                theirs = getattr(getattr(mujoco, name), word, None)
                if theirs is not None:
                    assert int(theirs) == member, (name, word)
                    checked += 1
    assert checked > 300
