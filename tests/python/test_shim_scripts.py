# SPDX-License-Identifier: Apache-2.0
"""What notebooks and packages written for MuJoCo call beyond dynamics, on both modules: scenes, contexts of rendering, rollouts, names."""
import subprocess
import sys

import mujoco
import mujoco.rollout
import numpy as np
import pytest

import stiction.mujoco as shim
import stiction.mujoco.rollout

LUMP = """<mujoco model="lump"><worldbody><light pos="0 0 3"/><geom name="floor" type="plane" size="2 2 .1" pos="0 0 -.5"/>
  <body name="lump" euler="0 0 -30"><joint name="swing" axis="1 -1 0" pos="-.2 -.2 -.2"/>
    <geom name="box" type="box" size=".2 .2 .2" rgba="1 0 0 1"/><geom name="ball" pos=".2 .2 .2" size=".1" rgba="0 1 0 1"/>
    <geom name="rod" type="capsule" size=".02 .1" pos="0 0 .4" group="3"/></body>
  <camera name="side" pos="0 -2 0" xyaxes="1 0 0 0 0 1"/></worldbody></mujoco>"""

ARM = """<mujoco><option timestep=".002" integrator="implicitfast"/><worldbody><body><joint name="a" axis="0 1 0" damping=".1"/>
  <geom type="capsule" fromto="0 0 0 0 0 -.3" size=".02"/><body pos="0 0 -.3"><joint axis="0 1 0"/><geom size=".04" pos="0 0 -.2"/></body></body>
  <body pos="2 0 0"><freejoint/><geom type="box" size=".1 .2 .3"/></body></worldbody>
  <actuator><motor joint="a"/></actuator><sensor><jointpos joint="a"/></sensor></mujoco>"""


def loaded(mj, xml=LUMP):
    model = mj.MjModel.from_xml_string(xml)
    data = mj.MjData(model)
    mj.mj_forward(model, data)
    return model, data


def scene_of(mj, kind):
    """An abstract scene, which needs no OpenGL in MuJoCo either."""
    model, data = loaded(mj)
    scene, camera, option = mj.MjvScene(model, maxgeom=50), mj.MjvCamera(), mj.MjvOption()
    if kind == "fixed":
        camera.type, camera.fixedcamid = mj.mjtCamera.mjCAMERA_FIXED, 0
    else:
        mj.mjv_defaultFreeCamera(model, camera)
        camera.azimuth, camera.elevation = 30, -20
    mj.mjv_updateScene(model, data, option, mj.MjvPerturb(), camera, mj.mjtCatBit.mjCAT_ALL, scene)
    return model, scene


@pytest.mark.parametrize("kind", ["free", "fixed"])
def test_scenes_have_the_same_eye_and_geoms(kind):
    (_, ours), (_, theirs) = scene_of(shim, kind), scene_of(mujoco, kind)
    for mine, real in zip(ours.camera, theirs.camera):
        np.testing.assert_allclose(mine.forward, real.forward, atol=1e-6)
        np.testing.assert_allclose(mine.up, real.up, atol=1e-6)
    np.testing.assert_allclose(np.mean([c.pos for c in ours.camera], axis=0), np.mean([c.pos for c in theirs.camera], axis=0), atol=1e-5)
    def geoms(scene):
        return {g.objid: (int(g.type), np.array(g.pos), np.array(g.rgba)) for g in scene.geoms[:scene.ngeom] if int(g.objtype) == 5}
    mine, real = geoms(ours), geoms(theirs)
    assert mine.keys() == real.keys() == {0, 1, 2}  # the rod's group is hidden
    for i in mine:
        assert mine[i][0] == real[i][0]
        np.testing.assert_allclose(mine[i][2], real[i][2])
        if i:  # a plane's place in MuJoCo's scene follows the eye
            np.testing.assert_allclose(mine[i][1], real[i][1], atol=1e-6)


@pytest.mark.parametrize("name", ["CAPSULE", "CYLINDER", "ARROW", "LINE"])
def test_connectors_are_mujocos(name):
    found = []
    for mj in (shim, mujoco):
        scene = mj.MjvScene(mj.MjModel.from_xml_string(LUMP), maxgeom=5)
        kind = mj.mjtGeom["mjGEOM_" + name] if mj is shim else getattr(mj.mjtGeom, "mjGEOM_" + name)
        geom = scene.geoms[0]
        mj.mjv_initGeom(geom, kind, np.zeros(3), np.zeros(3), np.zeros(9), np.array([1, 0, 0, 1], np.float32))
        mj.mjv_connector(geom, kind, 0.05, np.array([.1, .2, .3]), np.array([.4, .6, .3]))
        found.append((geom.type, geom.size.copy(), geom.pos.copy(), geom.mat[:, 2].copy(), geom.rgba.copy()))
    for a, b in zip(*found):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_shapes_that_a_script_adds_are_drawn():
    model, data = loaded(shim)
    renderer = shim.Renderer(model, 120, 160)
    assert not renderer.render().any()  # nothing before the first update_scene
    renderer.update_scene(data)
    plain = renderer.render()
    renderer.scene.ngeom += 1
    shim.mjv_initGeom(renderer.scene.geoms[renderer.scene.ngeom - 1], shim.mjtGeom.mjGEOM_SPHERE, [.3, 0, 0], data.geom("ball").xpos, np.eye(3).ravel(),
                      np.array([0, 0, 1, 1], np.float32))
    seen = renderer.render()
    blue = (seen[..., 2] > 150) & (seen[..., 0] < 60)
    assert blue.sum() > 300 and not ((plain[..., 2] > 150) & (plain[..., 0] < 60)).any()
    renderer.update_scene(data)
    assert np.array_equal(renderer.render(), plain)


def test_axes_of_joints_and_frames_are_drawn():
    """As markers: where MuJoCo's scene has them, and as large."""
    model, data = loaded(shim, LUMP.replace("</worldbody>", '<body pos="0 0 2"><freejoint/><geom size=".1"/></body></worldbody>'))
    real, their = loaded(mujoco, LUMP.replace("</worldbody>", '<body pos="0 0 2"><freejoint/><geom size=".1"/></body></worldbody>'))
    for kind in ("JOINT", "BODY", "GEOM", "WORLD"):
        scenes = []
        for mj, m, d in ((shim, model, data), (mujoco, real, their)):
            option = mj.MjvOption()
            if kind == "JOINT":
                option.flags[mj.mjtVisFlag.mjVIS_JOINT] = True
            else:
                option.frame = getattr(mj.mjtFrame, "mjFRAME_" + kind)
            scenes.append(mj.MjvScene(m, maxgeom=50))
            mj.mjv_updateScene(m, d, option, None, mj.MjvCamera(), mj.mjtCatBit.mjCAT_ALL, scenes[-1])
        drawn = scenes[0]._markers()
        theirs = [g for g in scenes[1].geoms[:scenes[1].ngeom] if g.category == mujoco.mjtCatBit.mjCAT_DECOR]
        assert len(drawn) == len(theirs) > 0
        for a, b in zip(drawn, theirs):
            np.testing.assert_allclose(a.pos, b.pos, atol=1e-6)
            np.testing.assert_allclose(np.reshape(a.mat, (3, 3))[:, 2], np.reshape(b.mat, (3, 3))[:, 2], atol=1e-6)
            np.testing.assert_allclose(a.rgba, b.rgba, atol=1e-6)
            size = b.size[[0, 2, 1]] if a.type == "cylinder" else b.size
            np.testing.assert_allclose(a.size[:2], size[:2], rtol=1e-5)
    option = shim.MjvOption()
    renderer = shim.Renderer(model, 120, 160)
    renderer.update_scene(data)
    plain = renderer.render()
    option.frame = shim.mjtFrame.mjFRAME_WORLD
    renderer.update_scene(data, scene_option=option)
    assert not np.array_equal(renderer.render(), plain)


def test_geoms_that_are_added_have_their_materials_color_and_are_transparent():
    xml = LUMP.replace("<worldbody>", '<asset><material name="m" rgba=".1 .7 .3 .9"/></asset><worldbody>').replace('rgba="0 1 0 1"', 'material="m"')
    colors = []
    for mj in (shim, mujoco):
        model, data = loaded(mj, xml)
        option, scene = mj.MjvOption(), mj.MjvScene(model, maxgeom=50)
        option.flags[mj.mjtVisFlag.mjVIS_TRANSPARENT] = True
        mj.mjv_updateScene(model, data, mj.MjvOption(), None, mj.MjvCamera(), mj.mjtCatBit.mjCAT_ALL, scene)
        own = scene.ngeom
        mj.mjv_addGeoms(model, data, option, mj.MjvPerturb(), mj.mjtCatBit.mjCAT_DYNAMIC, scene)
        colors.append([scene.geoms[i].rgba.copy() for i in range(own, scene.ngeom)])
    np.testing.assert_allclose(*colors, rtol=1e-5)
    assert abs(colors[0][1][3] - 0.27) < 1e-6  # 0.3 of the material's


def test_the_camera_matrix_of_the_tutorials_finds_the_ball():
    """A point projected with the scene's eye lies in the middle of what segmentation shows of a small ball."""
    model, data = loaded(shim, LUMP.replace('size=".1"', 'size=".02"'))
    renderer = shim.Renderer(model, 240, 320)
    renderer.enable_segmentation_rendering()
    renderer.update_scene(data)
    rows, columns = np.nonzero(renderer.render()[..., 0] == model.geom("ball").id)
    eye = renderer.scene.camera[0]
    p = data.geom("ball").xpos - eye.pos
    focal = 120 / np.tan(np.deg2rad(model.vis.global_.fovy) / 2)
    right = np.cross(eye.forward, eye.up)
    x, y = 159.5 + focal * (p @ right) / (p @ eye.forward), 119.5 - focal * (p @ eye.up) / (p @ eye.forward)
    assert abs(columns.mean() - x) < 1.5 and abs(rows.mean() - y) < 1.5


def test_pixels_of_a_context():
    """Rows from below, depth as OpenGL has it, and numbers of geoms as colours."""
    model, data = loaded(shim)
    camera, option, scene = shim.MjvCamera(), shim.MjvOption(), shim.MjvScene(model, 100)
    camera.type, camera.fixedcamid = shim.mjtCamera.mjCAMERA_FIXED, 0
    gl = shim.GLContext(80, 60)
    gl.make_current()
    context = shim.MjrContext(model, shim.mjtFontScale.mjFONTSCALE_150)
    shim.mjr_setBuffer(shim.mjtFramebuffer.mjFB_OFFSCREEN, context)
    area, rgb, depth = shim.MjrRect(0, 0, 80, 60), np.zeros((60, 80, 3), np.uint8), np.zeros((60, 80), np.float32)
    with pytest.raises(RuntimeError, match="mjr_render"):
        shim.mjr_readPixels(rgb, None, area, context)
    shim.mjv_updateScene(model, data, option, None, camera, shim.mjtCatBit.mjCAT_ALL, scene)
    shim.mjr_render(area, scene, context)
    shim.mjr_readPixels(rgb, depth, area, context)
    with shim.Renderer(model, 60, 80) as renderer:
        renderer.update_scene(data, "side")
        assert np.array_equal(np.flipud(rgb), renderer.render())
        renderer.enable_depth_rendering()
        metres = renderer.render()
    near, far = 0.01 * model.stat.extent, 50 * model.stat.extent
    np.testing.assert_allclose(near / (1 - depth[::-1] * (1 - near / far)), metres, rtol=2e-2)
    scene.flags[shim.mjtRndFlag.mjRND_SEGMENT] = scene.flags[shim.mjtRndFlag.mjRND_IDCOLOR] = 1
    shim.mjr_render(area, scene, context)
    shim.mjr_readPixels(rgb, None, area, context)
    numbers = rgb.astype(int) @ [1, 256, 65536]
    shown = {scene.geoms[n - 1].objid for n in np.unique(numbers) if n}
    assert {model.geom("box").id, model.geom("ball").id} <= shown


def test_gymnasium_draws_its_tasks():
    code = """
import stiction.mujoco
stiction.mujoco.install()
import gymnasium, numpy
for mode in ("rgb_array", "depth_array", "rgbd_tuple"):
    env = gymnasium.make("Hopper-v5", render_mode=mode)
    env.reset(seed=0)
    picture = env.render()
    for part in picture if mode == "rgbd_tuple" else (picture,):
        assert part.std() > (10 if part.ndim == 3 else 1e-4), mode
    env.close()
print("drawn")
"""
    run = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True)
    assert run.stdout == "drawn\n", run.stderr


@pytest.mark.parametrize("threads", [1, 2])
def test_rollouts_are_mujocos(threads):
    results = []
    for mj, module in ((shim, stiction.mujoco.rollout), (mujoco, mujoco.rollout)):
        model = mj.MjModel.from_xml_string(ARM)
        datas = [mj.MjData(model) for _ in range(threads)]
        full = mj.mjtState.mjSTATE_FULLPHYSICS
        start = np.zeros(mj.mj_stateSize(model, full))
        mj.mj_getState(model, datas[0], start, full)
        starts = np.tile(start, (3, 1))
        starts[:, 1] = [.1, .2, .3]  # behind the time
        control = np.random.default_rng(0).standard_normal((3, 15, 1))
        results.append(module.rollout(model, datas if threads > 1 else datas[0], starts, control))
    for ours, theirs in zip(*results):
        assert ours.shape == theirs.shape
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-10)
    with pytest.raises(ValueError, match="nbatch"):
        stiction.mujoco.rollout.rollout(shim.MjModel.from_xml_string(ARM), [], np.zeros((2, 3)), np.zeros((3, 1, 1)))


def test_names_by_their_table():
    model = shim.MjModel.from_xml_string(LUMP)
    theirs = mujoco.MjModel.from_xml_string(LUMP)
    for prefix, count in (("body", 2), ("jnt", 1), ("geom", 4), ("cam", 1)):
        for i in range(count):
            a, b = (m.names[getattr(m, f"name_{prefix}adr")[i]:].split(b"\0")[0] for m in (model, theirs))
            assert a == b and (a or prefix != "geom")
    assert "qpos0" in dir(shim.MjModel) and "qvel" in dir(shim.MjData)


def test_the_mass_matrix_of_mujoco_3():
    model, data = loaded(shim, ARM)
    real = mujoco.MjModel.from_xml_string(ARM)
    state = mujoco.MjData(real)
    mujoco.mj_forward(real, state)
    ours, theirs = np.zeros((model.nv, model.nv)), np.zeros((model.nv, model.nv))
    shim.mj_fullM(model, ours, data.qM)
    mujoco.mj_fullM(real, state, theirs)
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_a_state_that_diverges_is_reset():
    model = shim.MjModel.from_xml_string(ARM)
    data = shim.MjData(model)
    data.qvel[0] = 1e9
    with pytest.warns(UserWarning, match="unstable"):
        shim.mj_step(model, data, 100)
    assert data.warning.number[shim.mjtWarning.mjWARN_BADQACC] == 1 and data.time == 0 and not data.qvel.any()
    assert data.warning[shim.mjtWarning.mjWARN_BADQACC].number == 1
    shim.mj_resetData(model, data)
    assert not data.warning.number.any()
    model.opt.disableflags = shim.mjtDisableBit.mjDSBL_AUTORESET
    data.qvel[0] = 1e9
    with pytest.raises(shim.FatalError):
        shim.mj_step(model, data, 100)


FOOT = """<mujoco><option timestep=".005"/><worldbody><geom type="plane" size="5 5 1"/><body name="torso" pos="0 0 .5"><freejoint/>
  <geom type="capsule" size=".07" fromto="0 0 -.1 0 0 .3" mass="5"/><body name="foot" pos="0 0 -.2"><joint name="x" axis="1 0 0"/><joint name="y" axis="0 1 0"/>
  <geom type="box" size=".1 .08 .04" pos="0 0 -.25" mass="1"/></body></body></worldbody><actuator><motor joint="x" gear="40"/><motor joint="y" gear="40"/>
  </actuator></mujoco>"""


def test_a_robot_stands_by_lqr_on_its_contacts():
    """The steps of an LQR tutorial: the height at which contact carries the weight, controls from forces by the moment arms, the linear
    model with contact, and the regulator, which keeps what would fall upright."""
    import scipy.linalg
    m, d = loaded(shim, FOOT)
    nv, nu = m.nv, m.nu

    def force(offset):
        shim.mj_resetData(m, d)
        shim.mj_forward(m, d)
        d.qacc = 0
        d.qpos[2] += offset
        shim.mj_inverse(m, d)
        return d.qfrc_inverse[2]
    rest = m.qpos0[2] - 0.01  # where the foot just touches
    offsets = rest - m.qpos0[2] + np.linspace(-2e-5, 2e-5, 401)
    forces = [force(offset) for offset in offsets]
    weight = 6 * 9.81
    assert abs(forces[-1] - weight) < 1e-6  # off the floor, all of it has to be held
    best = offsets[np.argmin(np.abs(forces))]
    assert abs(force(best)) < 0.1 * weight
    qpos0, wanted = d.qpos.copy(), d.qfrc_inverse.copy()
    moment = np.zeros((nu, nv))
    shim.mju_sparse2dense(moment, d.actuator_moment, d.moment_rownnz, d.moment_rowadr, d.moment_colind)
    assert np.array_equal(moment[:, 6:], 40 * np.eye(2)) and not moment[:, :6].any()
    ctrl0 = (np.atleast_2d(wanted) @ np.linalg.pinv(moment)).flatten()
    com, foot = np.zeros((3, nv)), np.zeros((3, nv))
    shim.mj_jacSubtreeCom(m, d, com, m.body("torso").id)
    shim.mj_jacBodyCom(m, d, foot, None, m.body("foot").id)
    Q = np.zeros((2 * nv, 2 * nv))
    Q[:nv, :nv] = 1000 * (com - foot).T @ (com - foot) + np.diag([0.0] * 6 + [3, 3])
    A, B = np.zeros((2 * nv, 2 * nv)), np.zeros((2 * nv, nu))
    shim.mj_resetData(m, d)
    d.ctrl, d.qpos = ctrl0, qpos0
    shim.mjd_transitionFD(m, d, 1e-6, True, A, B, None, None)
    P = scipy.linalg.solve_discrete_are(0.99999 * A, B, Q, np.eye(nu))  # where the foot stands costs nothing and stays: not on the unit circle
    K = np.linalg.inv(np.eye(nu) + B.T @ P @ B) @ B.T @ P @ A

    def tilt(gain):
        shim.mj_resetData(m, d)
        d.qpos, dq, rng = qpos0, np.zeros(nv), np.random.default_rng(0)
        while d.time < 3:
            shim.mj_differentiatePos(m, dq, 1, qpos0, d.qpos)
            d.ctrl = ctrl0 - gain @ np.hstack((dq, d.qvel)) + 0.01 * rng.standard_normal(nu)
            shim.mj_step(m, d)
        return np.degrees(np.arccos(d.body("torso").xmat[8]))
    assert tilt(K) < 5 and tilt(0 * K) > 45


def vectors(mj):
    rng = np.random.default_rng(3)
    a, b, q, r = rng.standard_normal(3), rng.standard_normal(3), rng.standard_normal(4), rng.standard_normal(4)
    q, r, M = q / np.linalg.norm(q), r / np.linalg.norm(r), rng.standard_normal((3, 3))
    out = []
    for name, shape, args in (
            ("mju_add3", 3, (a, b)), ("mju_sub3", 3, (a, b)), ("mju_scl3", 3, (a, 2.5)), ("mju_addScl3", 3, (a, b, .5)), ("mju_cross", 3, (a, b)),
            ("mju_mulMatVec3", 3, (M.ravel(), a)), ("mju_mulMatTVec3", 3, (M.ravel(), a)), ("mju_mulMatMat", (3, 3), (M, M)),
            ("mju_mulMatTMat", (3, 3), (M, M)), ("mju_mulMatMatT", (3, 3), (M, M)), ("mju_transpose", (3, 3), (M,)), ("mju_trnVecPose", 3, (a, q, b)),
            ("mju_mulQuatAxis", 4, (q, a)), ("mju_derivQuat", 4, (q, a)), ("mju_quatZ2Vec", 4, (a,)),
            ("mju_transformSpatial", 6, (np.r_[a, b], 0, b, a, np.eye(3).ravel())), ("mju_transformSpatial", 6, (np.r_[a, b], 1, b, a, np.eye(3)[[1, 2, 0]].ravel()))):
        res = np.zeros(shape)
        getattr(mj, name)(res, *args)
        out.append(res)
    pos, quat = np.zeros(3), np.zeros(4)
    mj.mju_mulPose(pos, quat, a, q, b, r)
    out += [pos.copy(), quat.copy()]
    mj.mju_negPose(pos, quat, a, q)
    return out + [pos, quat, mj.mju_dot3(a, b), mj.mju_norm3(a), mj.mju_sigmoid(.3), mj.mju_dist3(a, b)]


def odds_and_ends(mj):
    """Total mass, inverse dynamics without constraints, poses of bodies, rays, and calls that do next to nothing."""
    model, data = loaded(mj, ARM)
    mj.mj_setTotalmass(model, 7.0)
    mj.mj_setConst(model, data)
    mj.mj_resetDataDebug(model, data, 0) if mj is shim else mj.mj_resetData(model, data)
    data.qpos[0], data.qvel[:] = 0.4, 0.3
    mj.mj_forward(model, data)
    mj.mj_checkPos(model, data)
    without, xpos, xmat = np.zeros(model.nv), np.zeros(3), np.zeros(9)
    mj.mj_rne(model, data, 0, without)
    args = (data, xpos, xmat, np.array([.1, .2, .3]), np.array([.6, 0, .8, 0]), 2, 0)
    mj.mj_local2Global(*args)
    geomid, dist = np.zeros(2, np.int32), np.zeros(2)
    normal = np.zeros(6)
    mj.mj_multiRay(model, data, np.array([2, 0, 3.0]), np.array([0, 0, -1.0, 0, 0, 1]), None, 1, -1, geomid, dist, normal, 2, mj.mjMAXVAL)
    return [mj.mj_getTotalmass(model), without, xpos, xmat, geomid, dist, normal]


def test_odds_and_ends():
    for i, (ours, theirs) in enumerate(zip(odds_and_ends(shim), odds_and_ends(mujoco), strict=True)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-9, err_msg=f"value {i}")
    shim.mj_loadAllPluginLibraries("nowhere")
    shim.set_mju_user_warning(print)
    model, data = loaded(shim, ARM)
    data.qacc[:] = np.arange(model.nv)
    needed = np.zeros(model.nv)
    shim.mj_rne(model, data, 1, needed)
    full = np.zeros((model.nv, model.nv))
    shim.mj_fullM(model, data, full)
    np.testing.assert_allclose(needed, full @ np.arange(model.nv) + data.qfrc_bias)


def test_vectors_are_mujocos():
    for i, (ours, theirs) in enumerate(zip(vectors(shim), vectors(mujoco), strict=True)):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12, err_msg=f"value {i}")


def test_enumerations_of_drawing_are_mujocos():
    for name in ("mjtVisFlag", "mjtRndFlag", "mjtGridPos", "mjtFramebuffer", "mjtMouse", "mjtFrame", "mjtLabel", "mjtStereo", "mjtFont", "mjtWarning",
                 "mjtCone", "mjtSolver", "mjtJacobian", "mjtTexture", "mjtWrap", "mjtCamLight", "mjtFontScale", "mjtCatBit", "mjtPertBit",
                 "mjtCamera", "mjtGeom"):
        for member in getattr(shim, name):
            assert int(getattr(getattr(mujoco, name), member.name)) == member, member
    flags = mujoco.MjvOption()
    assert np.array_equal(shim.MjvOption().flags, flags.flags) and np.array_equal(shim.MjvOption().sitegroup, flags.sitegroup)


def test_scripts_run_as_they_are(tmp_path):
    script = tmp_path / "script.py"
    script.write_text("""
import sys
import mujoco, mujoco.viewer
from mujoco import rollout, MjModel
from mujoco.renderer import Renderer
assert Renderer is mujoco.Renderer and rollout.rollout
print(mujoco.__name__, sys.argv[1:], MjModel.from_xml_string("<?xml version='1.0' encoding='unicode'?><mujoco/>").nbody)
""")
    run = subprocess.run([sys.executable, "-m", "stiction.mujoco", str(script), "7"], capture_output=True, text=True)
    assert run.stdout == "stiction.mujoco ['7'] 1\n", run.stderr
    module = subprocess.run([sys.executable, "-m", "stiction.mujoco", "-m", "script", "8"], capture_output=True, text=True, cwd=tmp_path)
    assert module.stdout == "stiction.mujoco ['8'] 1\n", module.stderr
    assert subprocess.run([sys.executable, "-m", "stiction.mujoco"], capture_output=True).returncode == 2
    missing = subprocess.run([sys.executable, "-m", "stiction.mujoco", "none.py"], capture_output=True, text=True)
    assert missing.returncode == 2 and missing.stderr == "stiction.mujoco: there is no file 'none.py'\n"


def test_objects_tell_what_they_have():
    model, data = loaded(shim)
    with pytest.raises(KeyError, match="'box', 'ball', 'rod'"):
        model.geom()
    assert "rgba: [0. 1. 0. 1.]" in repr(model.geom("ball")) and "friction" in dir(model.geom("ball"))
    assert {"xpos", "xmat"} <= set(dir(data.geom("ball"))) and "xpos: [" in repr(data.body("lump")) and "qpos: [0.]" in repr(data.joint("swing"))
