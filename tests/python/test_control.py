# SPDX-License-Identifier: Apache-2.0
"""Jacobians, inverse dynamics, linear models, state vectors and steps in parts, beside MuJoCo's."""
import copy

import mujoco
import numpy as np
import pytest

import stiction

ARM = """<mujoco><option timestep="0.002" integrator="INTEGRATOR"/>
<worldbody>
  <body name="base" pos="0 0 1"><freejoint name="free"/><geom name="trunk" type="box" size=".2 .1 .05" pos=".03 0 0"/>
    <site name="eye" pos=".1 .02 .03" euler="10 20 30"/>
    <body name="upper" pos=".2 0 0" euler="0 15 0"><joint name="ball" type="ball" damping="DAMPING"/>
      <geom type="capsule" fromto="0 0 0 .3 0 0" size=".03"/>
      <body name="lower" pos=".3 0 0"><joint name="elbow" axis="0 1 0" damping="DAMPING"/>
        <geom name="rod" type="capsule" fromto="0 0 0 .25 0 .05" size=".02"/>
        <body name="tool" pos=".25 0 .05"><joint name="slide" type="slide" axis="1 0 0" damping="DAMPING"/>
          <geom type="sphere" size=".03"/><site name="tip" pos=".05 0 0"/><camera name="cam" pos="0 0 .1" euler="5 6 7"/>
        </body></body></body></body>
</worldbody>
<actuator><motor joint="elbow"/><position joint="slide" kp="20"/><general joint="elbow" dyntype="filter" dynprm=".05" gainprm="3"/></actuator>
<sensor><framepos objtype="site" objname="tip"/><gyro site="eye"/><jointvel joint="elbow"/></sensor>
</mujoco>"""


def pair(xml=ARM, integrator="Euler", damping="0"):
    """The same model, at the same random state, in both."""
    xml = xml.replace("INTEGRATOR", integrator).replace("DAMPING", damping)
    m, mm = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    d, md = stiction.Data(m), mujoco.MjData(mm)
    rng = np.random.default_rng(3)
    md.qvel[:] = rng.standard_normal(m.nv)
    mujoco.mj_integratePos(mm, md.qpos, rng.standard_normal(m.nv), 0.7)
    md.ctrl[:] = rng.standard_normal(m.nu)
    md.act[:] = rng.standard_normal(m.na)
    d.qpos, d.qvel, d.ctrl, d.act = md.qpos, md.qvel, md.ctrl, md.act
    stiction.forward(m, d)
    mujoco.mj_forward(mm, md)
    return m, d, mm, md


def close(a, b, tol=1e-10):
    np.testing.assert_allclose(a, b, rtol=tol, atol=tol)


@pytest.mark.parametrize("ours,theirs,kind,name", [
    ("jac_body", "mj_jacBody", "body", "tool"), ("jac_body_com", "mj_jacBodyCom", "body", "upper"),
    ("jac_site", "mj_jacSite", "site", "tip"), ("jac_geom", "mj_jacGeom", "geom", "rod")])
def test_jacobians_of_frames(ours, theirs, kind, name):
    m, d, mm, md = pair()
    p, r = np.zeros((3, m.nv)), np.zeros((3, m.nv))
    getattr(mujoco, theirs)(mm, md, p, r, getattr(mm, kind)(name).id)
    jacp, jacr = getattr(stiction, ours)(m, d, name)
    close(jacp, p)
    close(jacr, r)
    assert np.abs(jacp).max() > 0.1


def test_jacobians_of_points_and_centres_of_mass():
    m, d, mm, md = pair()
    p, r = np.zeros((3, m.nv)), np.zeros((3, m.nv))
    mujoco.mj_jac(mm, md, p, r, np.array([.1, .2, .3]), 3)
    close(stiction.jac_point(m, d, (.1, .2, .3), "lower"), (p, r))
    for body in (0, 2):
        mujoco.mj_jacSubtreeCom(mm, md, p, body)
        close(stiction.jac_subtree_com(m, d, body), p)
    with pytest.raises(IndexError, match="body 9 is out of range"):
        stiction.jac_body(m, d, 9)
    with pytest.raises(KeyError, match="tip"):
        stiction.jac_site(m, d, "tipp")


def test_velocities_of_frames_and_forces_at_points():
    m, d, mm, md = pair()
    out = np.zeros(6)
    for kind, number, name in (("body", mujoco.mjtObj.mjOBJ_XBODY, "lower"), (stiction.Object.BODY, mujoco.mjtObj.mjOBJ_BODY, "lower"),
                               ("site", mujoco.mjtObj.mjOBJ_SITE, "tip"), ("geom", mujoco.mjtObj.mjOBJ_GEOM, "rod"),
                               ("camera", mujoco.mjtObj.mjOBJ_CAMERA, "cam")):
        for local in (0, 1):
            mujoco.mj_objectVelocity(mm, md, number, mujoco.mj_name2id(mm, number, name), out, local)
            close(stiction.object_velocity(m, d, kind, name, bool(local)), out)
    want = np.zeros(m.nv)
    force, torque, point = np.array([1., 2, 3]), np.array([.1, -.2, .3]), np.array([.5, .1, 1.2])
    mujoco.mj_applyFT(mm, md, force, torque, point, 3, want)
    close(stiction.apply_ft(m, d, force, torque, point, "lower"), want)
    stiction.apply_ft(m, d, None, torque, point, "lower", d.qfrc_applied)
    mujoco.mj_applyFT(mm, md, np.zeros(3), torque, point, 3, md.qfrc_applied)
    close(d.qfrc_applied, md.qfrc_applied)


def test_positions_are_a_manifold():
    m, d, mm, md = pair()
    rng = np.random.default_rng(5)
    q1, v = d.qpos.copy(), rng.standard_normal(m.nv)
    q2, want = q1.copy(), q1.copy()
    mujoco.mj_integratePos(mm, want, v, 0.3)
    stiction.integrate_pos(m, q2, v, 0.3)
    close(q2, want)
    close(stiction.differentiate_pos(m, q1, q2, 0.3), v)
    mujoco.mj_differentiatePos(mm, v, 0.1, q2, q1)
    close(stiction.differentiate_pos(m, q2, q1, 0.1), v)


@pytest.mark.parametrize("integrator", ["Euler", "implicit", "implicitfast", "RK4"])
def test_halves_of_a_step_are_a_step(integrator):
    m, d, *_ = pair(integrator=integrator, damping="0.3")
    e = stiction.Data(m)
    e.restore(d.snapshot())
    for _ in range(20):
        stiction.step1(m, e)
        e.ctrl[0] = np.sin(e.time)
        stiction.step2(m, e)
        d.ctrl[0] = np.sin(d.time)
        stiction.step(m, d)
    assert d.hash() == e.hash()
    m.opt.substeps = 2
    with pytest.raises(stiction.Error, match="substeps"):
        stiction.step1(m, e)


def test_stages_are_a_step():
    m, d, *_ = pair()
    e = stiction.Data(m)
    e.restore(d.snapshot())
    for name in stiction.control.STAGES:
        stiction.stage(m, e, name)
    stiction.step(m, d)
    assert np.array_equal(d.qpos, e.qpos) and np.array_equal(d.qvel, e.qvel)
    with pytest.raises(ValueError, match="no stage 'fly'"):
        stiction.stage(m, e, "fly")


def test_controls_between_the_halves_see_the_present():
    m, d, mm, md = pair()
    d.qpos[2] += 0.5
    stiction.step1(m, d)
    md.qpos[2] += 0.5
    mujoco.mj_step1(mm, md)
    close(d.xpos, md.xpos)
    close(d.cvel, md.cvel, 1e-9)


def test_inverse_of_smooth_motion():
    m, d, mm, md = pair(damping="0.2")
    rng = np.random.default_rng(7)
    md.qacc[:] = rng.standard_normal(m.nv)
    mujoco.mj_inverse(mm, md)
    close(stiction.inverse(m, d, md.qacc), md.qfrc_inverse, 1e-9)
    stiction.forward(m, d)
    close(stiction.inverse(m, d), d.qfrc_actuator, 1e-9)


@pytest.mark.parametrize("integrator", ["Euler", "implicit", "implicitfast"])
def test_inverse_of_a_discrete_step(integrator):
    m, d, mm, md = pair(integrator=integrator, damping="0.2")
    m.opt.enableflags |= stiction.Enable.INVDISCRETE
    mm.opt.enableflags |= mujoco.mjtEnableBit.mjENBL_INVDISCRETE
    before = d.qvel.copy()
    e = stiction.Data(m)
    e.restore(d.snapshot())
    stiction.step(m, e)
    qacc = (e.qvel - before) / m.opt.timestep
    md.qacc[:] = qacc
    mujoco.mj_inverse(mm, md)
    got = stiction.inverse(m, d, qacc)
    close(got, md.qfrc_inverse, 1e-8)
    stiction.forward(m, d)
    close(got, d.qfrc_actuator, 1e-8)


@pytest.mark.parametrize("coulomb,along", [("exact", 100), ("exact", 10), ("relaxed", 10)])
def test_inverse_with_contact_gives_the_applied_forces_back(coulomb, along):
    """A box that slides over the floor (100 N) or stays (10 N), and a hinge at its limit."""
    m = stiction.Model.from_xml_string("""<mujoco><compiler angle="degree"/><worldbody><geom type="plane" size="5 5 .1" friction=".4"/>
      <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" friction=".4"/></body>
      <body pos="2 0 1"><joint name="h" axis="0 1 0" range="-5 5" limited="true"/><geom type="capsule" fromto="0 0 0 .3 0 0" size=".02"/></body>
      </worldbody></mujoco>""")
    m.opt.coulomb = coulomb
    m.opt.contact_tol = 1e-14
    d = stiction.Data(m)
    push = np.zeros(m.nv)
    push[0], push[2] = along, -3  # N; 78 N is the weight
    d.qfrc_applied = push
    d.qpos[7] = np.radians(5)
    stiction.step(m, d, 15)
    stiction.forward(m, d)
    assert np.abs(d.qfrc_constraint[[0, 2, 6]]).min() > 0.1 and (d.qvel[0] > 0.1) == (along == 100)
    qacc = d.qacc.copy()
    close(stiction.inverse(m, d, qacc), push, 1e-4)
    qacc[0] += 1
    if along == 100:  # it slides: friction is the same
        assert stiction.inverse(m, d, qacc)[0] == pytest.approx(100 + m.body_mass[1], rel=1e-4)


def test_inverse_says_what_it_does_not_cover():
    m, d, *_ = pair(integrator="RK4")
    with pytest.raises(stiction.Error, match="RK4"):
        stiction.inverse(m, d)


def test_linear_model_of_a_smooth_step():
    m, d, mm, md = pair(integrator="implicit", damping="0.2")
    n = 2 * m.nv + m.na
    A, B = np.zeros((n, n)), np.zeros((n, m.nu))
    C, D = np.zeros((m.nsensordata, n)), np.zeros((m.nsensordata, m.nu))
    mujoco.mjd_transitionFD(mm, md, 1e-6, True, A, B, C, D)
    before = d.hash()
    got = stiction.linearize(m, d)
    assert d.hash() == before
    for ours, theirs in zip(got, (A, B, C, D)):
        close(ours, theirs, 1e-6)
    assert np.abs(got.B).max() > 1e-3 and np.abs(got.C).max() > 0.1
    one_sided = stiction.linearize(m, d, centered=False, sensors=False)
    close(one_sided.A, A, 1e-4)
    assert one_sided.C is None


def test_linear_model_of_contact_predicts_steps():
    """A block that slides: friction is constant, so velocity changes carry over; one that sticks resists pushes."""
    m = stiction.Model.from_xml_string("""<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
      <body pos="0 0 .1"><joint name="x" type="slide" axis="1 0 0"/><joint name="z" type="slide" axis="0 0 1"/>
      <geom type="box" size=".1 .1 .1"/></body></worldbody>
      <actuator><motor joint="x" ctrllimited="true" ctrlrange="-200 200"/></actuator></mujoco>""")
    d = stiction.Data(m)
    stiction.step(m, d, 100)
    stuck = stiction.linearize(m, d)
    d.qvel[0] = 2
    stiction.step(m, d, 5)
    slides = stiction.linearize(m, d)
    free = m.opt.timestep / m.body_mass[1]
    assert abs(stuck.B[2, 0]) < 0.05 * free
    assert slides.B[2, 0] == pytest.approx(free, rel=1e-5)
    assert slides.A[2, 2] == pytest.approx(1, abs=1e-5)
    d.ctrl[0] = 200  # at its limit: moved inwards alone
    assert stiction.linearize(m, d).B[2, 0] == pytest.approx(free, rel=1e-4)


SWITCH = """<mujoco><worldbody><body name="a" pos="0 0 1"><freejoint/><geom size=".1"/></body>
  <body name="m" mocap="true" pos="0 0 2"/></worldbody>
  <equality><weld name="hold" body1="a" body2="world"/></equality>
  <keyframe><key name="k" qpos="0 0 3 1 0 0 0"/></keyframe></mujoco>"""


def test_state_vectors_are_mujocos():
    m, d, mm, md = pair()
    for spec in ("PHYSICS", "FULLPHYSICS", "USER", "TIME", "QPOS", "CTRL", "XFRC_APPLIED"):
        bits = int(getattr(mujoco.mjtState, "mjSTATE_" + spec))
        assert getattr(stiction.State, spec) == bits
        assert stiction.state_size(m, bits) == mujoco.mj_stateSize(mm, bits)
        want = np.zeros(mujoco.mj_stateSize(mm, bits))
        mujoco.mj_getState(mm, md, want, bits)
        close(stiction.get_state(m, d, bits), want)
    full = stiction.get_state(m, d)
    stiction.step(m, d, 3)
    after = d.qpos.copy()
    stiction.set_state(m, d, full)
    stiction.step(m, d, 3)
    assert np.array_equal(d.qpos, after)
    with pytest.raises(ValueError, match="unknown"):
        stiction.state_size(m, 1 << 20)
    with pytest.raises(stiction.Error, match="qpos.*nan"):
        stiction.set_state(m, d, np.full(m.nq, np.nan), stiction.State.QPOS)
    assert np.isfinite(d.qpos).all()


def test_a_state_decides_the_future_whatever_was_before():
    m = stiction.Model.from_xml_string("""<mujoco><worldbody><geom type="plane" size="5 5 .1"/>
      <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>""")
    d, e = stiction.Data(m), stiction.Data(m)
    stiction.step(m, d, 50)
    state = stiction.get_state(m, d)
    e.qvel[0] = 3
    stiction.step(m, e, 20)
    ends = []
    for x in (d, e):
        stiction.set_state(m, x, state)
        stiction.step(m, x, 30)
        ends.append(x.qpos.copy())
    assert np.array_equal(*ends)


def test_equalities_are_switched():
    m, mm = stiction.Model.from_xml_string(SWITCH), mujoco.MjModel.from_xml_string(SWITCH)
    d, md = stiction.Data(m), mujoco.MjData(mm)
    assert d.eq_active.tolist() == md.eq_active.tolist() == [1]
    stiction.step(m, d, 100)
    assert abs(d.qpos[2] - 1) < 1e-3
    d.eq_active[0] = 0
    md.eq_active[0] = 0
    state = stiction.get_state(m, d, stiction.State.EQ_ACTIVE)
    assert state.tolist() == [0]
    stiction.step(m, d, 100)
    assert d.qpos[2] < 1 - 0.9 * 9.81 * 0.2**2 / 2
    stiction.set_state(m, d, [1], stiction.State.EQ_ACTIVE)
    assert d.eq_active[0] == 1


def test_keyframes_are_written():
    m = stiction.Model.from_xml_string(SWITCH)
    d = stiction.Data(m)
    d.qpos[0], d.qvel[1], d.time = 4, 5, 6
    d.mocap_pos[0] = 7, 8, 9
    stiction.set_keyframe(m, d, "k")
    stiction.reset(m, d)
    assert d.qpos[0] == 0
    stiction.reset(m, d, "k")
    assert (d.qpos[0], d.qvel[1], d.time) == (4, 5, 6) and d.mocap_pos[0].tolist() == [7, 8, 9]


def test_names_and_enumerations():
    m, d, mm, _ = pair()
    assert stiction.name2id(m, "body", "lower") == mujoco.mj_name2id(mm, mujoco.mjtObj.mjOBJ_BODY, "lower")
    assert stiction.name2id(m, stiction.Object.SITE, "nobody") == -1
    assert stiction.id2name(m, "jnt", 2) == "elbow" and stiction.id2name(m, "geom", 1) is None
    with pytest.raises(ValueError, match="no kind"):
        stiction.name2id(m, "planet", "x")
    for ours, theirs, prefix in ((stiction.Joint, mujoco.mjtJoint, "mjJNT_"), (stiction.Geom, mujoco.mjtGeom, "mjGEOM_"),
                                 (stiction.Disable, mujoco.mjtDisableBit, "mjDSBL_"), (stiction.Enable, mujoco.mjtEnableBit, "mjENBL_"),
                                 (stiction.State, mujoco.mjtState, "mjSTATE_")):
        for member in ours:
            assert int(getattr(theirs, prefix + member.name)) == member, member
    assert stiction.Joint(m.jnt_type[2]) is stiction.Joint.HINGE


def test_attributes_are_read_fast():
    """Views are kept where Python looks first. The bound is generous, and tight enough for a call into the library to fail it."""
    import timeit
    m, d, mm, md = pair()
    d.qpos
    ours, theirs = (min(timeit.repeat("x.qpos", globals={"x": x}, number=20000, repeat=7)) for x in (d, md))
    assert ours < 3 * theirs
    assert d.qpos is d.qpos


def test_userdata_is_kept_with_the_state():
    """size@nuserdata numbers of each world: in state vectors as in MuJoCo, copies, snapshots and hashes; resets clear them, steps do not look at them."""
    xml = '<mujoco><size nuserdata="3"/><worldbody><body><freejoint/><geom size=".1"/></body></worldbody><keyframe><key time="1"/></keyframe></mujoco>'
    model, mj = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    data, mjd = stiction.Data(model), mujoco.MjData(mj)
    assert model.nuserdata == mj.nuserdata == 3 and not data.userdata.any()
    data.userdata[:] = mjd.userdata[:] = [1e200, -2, 3]
    for bits in (stiction.State.USERDATA, stiction.State.USER, stiction.State.FULLPHYSICS):
        theirs = np.empty(mujoco.mj_stateSize(mj, int(bits)))
        mujoco.mj_getState(mj, mjd, theirs, int(bits))
        np.testing.assert_array_equal(stiction.get_state(model, data, bits), theirs)
    stiction.step(model, data, 3)
    np.testing.assert_array_equal(data.userdata, [1e200, -2, 3])
    other, kept, hashed = copy.copy(data), data.snapshot(), data.hash()
    other.userdata[1] = 5
    assert other.hash() != hashed and data.userdata[1] == -2
    stiction.set_state(model, other, stiction.get_state(model, data, stiction.State.USERDATA), stiction.State.USERDATA)
    assert other.hash() == hashed
    data.userdata[:] = 0
    data.restore(kept)
    assert data.userdata[0] == 1e200 and data.hash() == hashed
    stiction.reset(model, data, 0)
    assert not data.userdata.any()
    data.userdata[2] = np.nan
    with pytest.raises(stiction.Error, match="userdata"):
        stiction.step(model, data)
    with pytest.raises(stiction.Error, match="nuserdata"):
        stiction.Model.from_xml_string('<mujoco><size nuserdata="-1"/><worldbody/></mujoco>')
    with pytest.raises(stiction.Error, match="nuserdata"):
        stiction.Model.from_xml_string('<mujoco><size nuserdata="2000000000"/><worldbody/></mujoco>')
