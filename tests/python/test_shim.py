# SPDX-License-Identifier: Apache-2.0
"""Scripts that run on MuJoCo and on stiction.mujoco alike. Each takes the module as its argument; what both return is compared."""
import copy
import pickle
import warnings

import mujoco
import numpy as np
import pytest
import scipy.linalg

import stiction.mujoco as shim

TIPPED = """<mujoco><option timestep="0.002"/><worldbody><light pos="0 0 3"/>
  <body name="box_and_sphere" euler="0 0 -30"><joint name="swing" type="hinge" axis="1 -1 0" pos="-.2 -.2 -.2"/>
    <geom name="red_box" type="box" size=".2 .2 .2" rgba="1 0 0 1"/><geom name="green_sphere" pos=".2 .2 .2" size=".1" rgba="0 1 0 1"/></body>
  <camera name="side" pos="0 -2 0" xyaxes="1 0 0 0 0 1"/></worldbody></mujoco>"""

BALANCER = """<mujoco><option timestep="0.005" integrator="implicitfast"/>
  <worldbody><body name="cart" pos="0 0 1"><joint name="rail" type="slide" axis="1 0 0" damping=".1"/><geom type="box" size=".1 .05 .05" mass="1"/>
    <body name="pole" pos="0 0 0"><joint name="pivot" axis="0 1 0" damping=".01"/><geom type="capsule" fromto="0 0 0 0 0 .6" size=".02" mass=".2"/>
      <site name="top" pos="0 0 .6"/>
      <body name="pole2" pos="0 0 .6"><joint name="second" axis="0 1 0" damping=".01"/><geom type="capsule" fromto="0 0 0 0 0 .4" size=".02" mass=".1"/></body>
    </body></body></worldbody>
  <actuator><motor name="push" joint="rail" ctrlrange="-50 50"/></actuator>
  <sensor><framepos objtype="site" objname="top"/></sensor>
  <keyframe><key name="leaning" qpos="0 .02 .01"/></keyframe></mujoco>"""


def tour(mj):
    """The first lines that people write."""
    model = mj.MjModel.from_xml_string(TIPPED)
    data = mj.MjData(model)
    out = [model.ngeom, model.geom("green_sphere").rgba.copy(), model.geom(1).name, model.geom("red_box").id]
    with pytest.raises(KeyError):
        model.geom("purple_cone")
    mj.mj_kinematics(model, data)
    out += [data.geom_xpos.copy(), data.geom("green_sphere").xpos.copy()]
    mj.mj_resetData(model, data)
    model.opt.gravity = (0, 0, 10)
    heights = []
    while data.time < 0.5:
        mj.mj_step(model, data)
        heights.append(data.geom_xpos[model.geom("green_sphere").id][2])
    out += [np.array(heights), data.time, data.joint("swing").qpos.copy(), data.body("box_and_sphere").xquat.copy()]
    out.append(mj.mj_name2id(model, mj.mjtObj.mjOBJ_GEOM, "green_sphere"))
    out.append(mj.mj_id2name(model, mj.mjtObj.mjOBJ_JOINT, 0))
    M = np.zeros((model.nv, model.nv))
    mj.mj_fullM(model, data, M)
    data.qfrc_applied[:] = 3
    mj.mj_forward(model, data)
    return out + [M, data.qacc.copy(), model.jnt_type[0] == mj.mjtJoint.mjJNT_HINGE, mj.mj_getTotalmass(model)]


def chaos(mj):
    """Energy of a double pendulum, and copies of its data."""
    model = mj.MjModel.from_xml_string(BALANCER)
    model.opt.disableflags = mj.mjtDisableBit.mjDSBL_CLAMPCTRL
    model.opt.enableflags = mj.mjtEnableBit.mjENBL_ENERGY
    data = mj.MjData(model)
    mj.mj_resetDataKeyframe(model, data, 0)
    mj.mj_energyPos(model, data)
    twin = copy.copy(data)
    mj.mj_step(model, data, 100)
    mj.mj_step(model, twin, 100)
    assert np.array_equal(data.qpos, twin.qpos)
    size = mj.mj_stateSize(model, mj.mjtState.mjSTATE_FULLPHYSICS)
    state = np.zeros(size)
    mj.mj_getState(model, data, state, mj.mjtState.mjSTATE_FULLPHYSICS)
    mj.mj_step(model, data)
    after = data.qvel.copy()
    mj.mj_setState(model, data, state, mj.mjtState.mjSTATE_FULLPHYSICS)
    mj.mj_step(model, data)
    np.testing.assert_allclose(data.qvel, after, rtol=1e-12)
    return [data.energy.copy(), data.qpos.copy(), data.sensordata.copy(), state]


def lqr(mj):
    """Balances by a linear-quadratic regulator: inverse dynamics for the force at the set point, differences for A and B, the Riccati
    equation for the gain, then a run from elsewhere with pushes."""
    model = mj.MjModel.from_xml_string(BALANCER)
    data = mj.MjData(model)
    mj.mj_forward(model, data)
    data.qacc = 0
    mj.mj_inverse(model, data)
    qpos0, force = data.qpos.copy(), data.qfrc_inverse.copy()
    nv = model.nv
    A, B = np.zeros((2 * nv, 2 * nv)), np.zeros((2 * nv, model.nu))
    mj.mjd_transitionFD(model, data, 1e-6, True, A, B, None, None)
    Q, R = np.diag([1.0, 10, 10, .1, .1, .1]), np.eye(1) * 0.01
    P = scipy.linalg.solve_discrete_are(A, B, Q, R)
    K = np.linalg.inv(R + B.T @ P @ B) @ B.T @ P @ A
    mj.mj_resetDataKeyframe(model, data, model.key("leaning").id)
    dq, path = np.zeros(nv), []
    rng = np.random.default_rng(1)
    for i in range(400):
        mj.mj_differentiatePos(model, dq, 1, qpos0, data.qpos)
        data.ctrl = -K @ np.hstack([dq, data.qvel])
        if i % 100 == 0:
            data.qvel[1] += 0.1 * rng.standard_normal()
        mj.mj_step(model, data)
        path.append(data.qpos.copy())
    return [force, A, B, K, np.array(path)]


def operational_space(mj):
    """A force at the tip through Jacobians, and the small functions around them."""
    model = mj.MjModel.from_xml_string(BALANCER)
    data = mj.MjData(model)
    mj.mj_resetDataKeyframe(model, data, 0)
    jacp, jacr = np.zeros((3, model.nv)), np.zeros((3, model.nv))
    out = []
    for _ in range(100):
        mj.mj_step1(model, data)
        mj.mj_jacSite(model, data, jacp, jacr, model.site("top").id)
        data.qfrc_applied[:] = jacp.T @ np.array([1.0, 0, 0.5])
        mj.mj_step2(model, data)
    out += [data.qpos.copy(), jacp.copy()]
    mj.mj_forward(model, data)
    v = np.zeros(6)
    mj.mj_objectVelocity(model, data, mj.mjtObj.mjOBJ_SITE, 0, v, 0)
    q = np.zeros(model.nv)
    mj.mj_applyFT(model, data, np.array([1., 0, 0]), np.zeros(3), np.array([0, 0, 1.3]), model.body("pole").id, q)
    for call, index in ((mj.mj_jacBody, 2), (mj.mj_jacBodyCom, 2), (mj.mj_jacGeom, 1)):
        call(model, data, jacp, jacr, index)
        out += [jacp.copy(), jacr.copy()]
    mj.mj_jac(model, data, jacp, None, np.array([0, 0, 1.]), 2)
    x, y = np.zeros((1, model.nv)), np.ones((1, model.nv))
    mj.mj_solveM(model, data, x, y)
    mj.mj_rnePostConstraint(model, data)
    return out + [jacp.copy(), v, q, x, data.cfrc_int.copy(), data.subtree_com.copy()]


def quaternions(mj):
    rng = np.random.default_rng(2)
    out = []
    a, b = rng.standard_normal(4), rng.standard_normal(4)
    mj.mju_normalize4(a)
    mj.mju_normalize4(b)
    for call, n, args in ((mj.mju_mulQuat, 4, (a, b)), (mj.mju_negQuat, 4, (a,)), (mj.mju_rotVecQuat, 3, (np.arange(3.), a)),
                          (mj.mju_axisAngle2Quat, 4, (np.array([0, .6, .8]), 1.2)), (mj.mju_quat2Vel, 3, (a, .5)),
                          (mj.mju_subQuat, 3, (a, b)), (mj.mju_quat2Mat, 9, (a,)), (mj.mju_euler2Quat, 4, (np.array([.1, .2, .3]), "xyz")),
                          (mj.mju_euler2Quat, 4, (np.array([.1, .2, .3]), "ZYX"))):
        res = np.zeros(n)
        call(res, *args)
        out.append(res)
    for k in range(40):  # signs too; every other a half turn, some about an axis
        turn, mat, back = rng.standard_normal(4), np.zeros(9), np.zeros(4)
        turn[0] *= k % 2
        turn[1 + k % 3] *= k % 5 > 0
        mj.mju_normalize4(turn)
        mj.mju_quat2Mat(mat, turn)
        mj.mju_mat2Quat(back, mat)
        out += [mat, back]
    mj.mju_quatIntegrate(a, np.array([.3, -.2, 1.]), .1)
    return out + [a]


@pytest.mark.parametrize("script", [tour, chaos, lqr, operational_space, quaternions], ids=lambda f: f.__name__)
def test_a_script_gives_the_same(script):
    for i, (ours, theirs) in enumerate(zip(script(shim), script(mujoco), strict=True)):
        if isinstance(theirs, str):
            assert ours == theirs
        else:
            np.testing.assert_allclose(ours, theirs, rtol=2e-6, atol=2e-6, err_msg=f"value {i}")


def test_contacts_have_mujocos_names():
    """A ball of 1 kg that lies: 9.81 N along the normal, which points from the floor to it."""
    xml = """<mujoco><worldbody><geom name="floor" type="plane" size="1 1 .1"/>
      <body pos="0 0 .1"><freejoint/><geom name="ball" size=".1" mass="1"/></body></worldbody></mujoco>"""
    for mj in (shim, mujoco):
        m = mj.MjModel.from_xml_string(xml)
        d = mj.MjData(m)
        mj.mj_step(m, d, 1000)
        mj.mj_forward(m, d)
        assert d.ncon == len(d.contact) == 1
        c, force = d.contact[0], np.zeros(6)
        mj.mj_contactForce(m, d, 0, force)
        assert (c.geom1, c.geom2, c.dim) == (0, 1, 3) and c.geom.tolist() == [0, 1]
        assert c.friction[0] == 1 and d.contact.geom1.tolist() == [0]
        np.testing.assert_allclose(c.frame[:3], [0, 0, 1], atol=1e-9)
        np.testing.assert_allclose(force[:3], [9.81, 0, 0], atol=1e-3)
    with pytest.raises(IndexError):
        shim.mj_contactForce(m, shim.MjData(shim.MjModel.from_xml_string(xml)), 0, force)


def test_specs():
    heights = []
    for mj in (shim, mujoco):
        spec = mj.MjSpec.from_string(TIPPED)
        spec.worldbody.add_body(name="extra", pos=[0, 0, 1]).add_geom(name="g", size=[.1, 0, 0], mass=2)
        model = spec.compile()
        assert isinstance(model, mj.MjModel) and model.body("extra").mass[0] == 2
        data = mj.MjData(model)
        mj.mj_forward(model, data)
        heights.append(data.geom("g").xpos.tolist())
    assert heights[0] == heights[1]


def test_pictures():
    m = shim.MjModel.from_xml_string(TIPPED)
    d = shim.MjData(m)
    shim.mj_forward(m, d)
    with shim.Renderer(m, 60, 80) as renderer:
        renderer.update_scene(d)
        assert renderer.render().shape == (60, 80, 3)
        renderer.update_scene(d, "side")
        seen = renderer.render()
        assert (seen[..., 0].astype(int) - seen[..., 1] > 60).any()  # the red box
        camera = shim.MjvCamera()
        shim.mjv_defaultFreeCamera(m, camera)
        camera.lookat[:] = 100, 100, 100  # far away from everything
        renderer.update_scene(d, camera)
        assert not np.array_equal(renderer.render(), seen)
        shim.mjv_defaultCamera(camera)
        assert vars(camera).keys() == vars(shim.MjvCamera()).keys() and not camera.lookat.any()
        renderer.update_scene(d, "side")
        renderer.enable_depth_rendering()
        assert renderer.render().shape == (60, 80) and renderer.render().min() < renderer.render().max()
        renderer.enable_segmentation_rendering()
        assert (renderer.render()[..., 1] == shim.mjtObj.mjOBJ_GEOM).any()
        renderer.disable_segmentation_rendering()
        assert np.array_equal(renderer.render(), seen)


def small_functions(mj):
    """Products with M, quaternions, keyframes, versions."""
    model = mj.MjModel.from_xml_string(BALANCER)
    data = mj.MjData(model)
    data.qpos[:] = .1, .2, -.3
    mj.mj_forward(model, data)
    product, vector, zero = np.zeros(3), np.array([3.0, 0, -4]), np.zeros(3)
    mj.mj_mulM(model, data, product, np.array([1.0, -2, 3]))
    out = [product, mj.mju_normalize3(vector), vector, mj.mju_normalize3(zero), zero, mj.mj_version()]
    mj.mj_setKeyframe(model, data, 0)
    mj.mj_resetDataKeyframe(model, data, 0)
    out += [data.qpos.copy(), model.key_qpos.copy(), mj.mj_versionString().startswith("4.0.0")]
    free = mj.MjModel.from_xml_string("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    qpos = np.array([1.0, 2, 3, 3, 0, 0, 4])
    mj.mj_normalizeQuat(free, qpos)
    return out + [qpos]


def test_small_functions():
    for a, b in zip(small_functions(shim), small_functions(mujoco), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_what_is_not_here_says_so():
    m = shim.MjModel.from_xml_string(TIPPED)
    d = shim.MjData(m)
    for owner, name, text in ((shim, "mj_addContact", "no counterpart"), (d, "efc_J", "data.contact"), (d, "nefc", "rows"),
                              (m, "bvh_aabb", "MjModel.bvh_aabb"), (d, "nothing", "MjData.nothing")):
        with pytest.raises(AttributeError, match=text):
            getattr(owner, name)[0]
    with pytest.raises(NotImplementedError, match="tuple"):
        shim.mj_name2id(m, shim.mjtObj.mjOBJ_TUPLE, "x")
    with pytest.raises(NotImplementedError, match="mjb"):
        shim.MjModel.from_binary_path("x.mjb")
    with pytest.warns(UserWarning, match="model.vis.global_.offwidth"):
        m.vis.global_.offwidth = 1280
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        m.vis.global_.offwidth = 640  # once


def test_enumerations_are_mujocos():
    for name in ("mjtObj", "mjtJoint", "mjtGeom", "mjtTrn", "mjtDisableBit", "mjtEnableBit", "mjtState"):
        for member in getattr(shim, name):
            assert int(getattr(getattr(mujoco, name), member.name)) == member


def test_models_and_data_travel():
    m = shim.MjModel.from_xml_string(BALANCER)
    d = shim.MjData(m)
    shim.mj_step(m, d, 5)
    again = pickle.loads(pickle.dumps(d))
    assert type(again) is shim.MjData and type(again.model) is shim.MjModel
    shim.mj_step(again.model, again)
    shim.mj_step(m, d)
    assert np.array_equal(again.qpos, d.qpos)
    assert type(copy.deepcopy(m)) is shim.MjModel


GYM = """
import sys, warnings
warnings.simplefilter("ignore")
import stiction.mujoco
sys.modules["mujoco"] = stiction.mujoco
import gymnasium, numpy
for name in ("HalfCheetah", "Hopper", "Walker2d", "Ant", "Humanoid", "HumanoidStandup", "Swimmer", "Reacher", "Pusher", "InvertedPendulum",
             "InvertedDoublePendulum"):
    env = gymnasium.make(name + "-v5")
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(10):
        seen, reward, *_ = env.step(env.action_space.sample())
    assert numpy.isfinite(seen).all() and numpy.isfinite(reward), name
    assert type(env.unwrapped.data) is stiction.mujoco.MjData
    print(name)
"""


def test_gymnasiums_tasks_run_unchanged():
    """Gymnasium's own code, with this module where it imports MuJoCo."""
    import subprocess
    import sys
    run = subprocess.run([sys.executable, "-c", GYM], capture_output=True, text=True)
    assert run.returncode == 0 and len(run.stdout.split()) == 11, run.stderr


def test_what_is_absent_is_an_error_when_it_is_used():
    """Packages such as dm_control look up every field of MuJoCo's structs by name, and use few of them."""
    m = shim.MjModel.from_xml_string("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    d = shim.MjData(m)
    theirs = mujoco.MjModel.from_xml_string("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    for ours, their, kind in ((m, theirs, shim.MjModel), (d, mujoco.MjData(theirs), shim.MjData)):
        for name in dir(their):
            if not name.startswith("_") and isinstance(getattr(their, name), np.ndarray):
                assert name in dir(kind) and getattr(ours, name) is not None, name
    for use in (np.asarray, len, lambda x: x[0], lambda x: x.sum(), lambda x: x + 1, lambda x: x == 0, bool):
        with pytest.raises(AttributeError, match="efc_J"):
            use(d.efc_J)
        with pytest.raises(AttributeError, match="bvh_aabb"):
            use(m.bvh_aabb)
    with pytest.raises(AttributeError):
        d.nefc
    assert not hasattr(m, "no_such_field") and m.nbvh == 0


def test_kinds_by_name():
    for kind in shim.mjtObj:
        name = mujoco.mju_type2Str(int(kind))
        if shim.mju_type2Str(int(kind)) is not None:
            assert name is None or shim.mju_type2Str(int(kind)) == name
            assert shim.mju_str2Type(shim.mju_type2Str(int(kind))) == int(kind)
    assert shim.mju_str2Type("geom") == mujoco.mju_str2Type("geom") == shim.mju_str2Type(b"geom") and shim.mju_str2Type("nothing") == 0


def test_scenes_may_be_wrapped():
    class Scene(shim.MjvScene):
        """As dm_control has it."""

        @property
        def geoms(self):
            return super().geoms[:super().ngeom]
    m = shim.MjModel.from_xml_string("<mujoco><worldbody><geom size='.1'/></worldbody></mujoco>")
    d, scene = shim.MjData(m), Scene(m, 10)
    shim.mj_forward(m, d)
    shim.mjv_updateScene(m, d, shim.MjvOption(), None, shim.MjvCamera(), 7, scene)
    assert len(scene.geoms) == scene.ngeom == 1
