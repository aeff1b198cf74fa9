# SPDX-License-Identifier: Apache-2.0
"""Corners of MJCF against MuJoCo: polygons of OBJ files, servos of sites, fromto, groups of actuators."""
import compare
import mujoco
import numpy as np
import pytest

import stiction


def agree(tmp_path, xml, **options):
    path = tmp_path / "scene.xml"
    path.write_text(xml)
    result = compare.compare(path, **options)
    assert result.status == "ok", result.detail


def star(rng, corners, convex, backwards):
    """An OBJ file: a pyramid over a star-shaped polygon, turned at random."""
    angle, radius = np.sort(rng.uniform(0, 2 * np.pi, corners)), rng.uniform(0.3, 1, corners)
    if convex:
        radius[:] = 1
    flat = np.c_[radius * np.cos(angle), radius * np.sin(angle), np.zeros(corners)] + rng.uniform(-1, 1, 3)
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    points = (flat[::-1] if backwards else flat) @ turn.T
    points = np.vstack([points, points.mean(axis=0) + turn[:, 2]])
    lines = [f"v {x:.6f} {y:.6f} {z:.6f}" for x, y, z in points]
    lines.append("f " + " ".join(str(i + 1) for i in range(corners)))
    lines += [f"f {(i + 1) % corners + 1} {i + 1} {corners + 1}" for i in range(corners)]
    return "\n".join(lines) + "\n"


def test_polygons_are_cut_as_in_mujoco(tmp_path):
    rng = np.random.default_rng(0)
    for case in range(60):
        name = tmp_path / f"star{case}.obj"  # MuJoCo remembers files by name
        name.write_text(star(rng, int(rng.integers(5, 24)), case % 3 == 0, case % 2))
        path = tmp_path / "scene.xml"
        path.write_text(f"<mujoco><asset><mesh name='m' file='{name.name}' inertia='shell'/></asset><worldbody>"
                        "<body><freejoint/><geom type='mesh' mesh='m'/></body></worldbody></mujoco>")
        mj, model = mujoco.MjModel.from_xml_path(str(path)), stiction.Model.from_xml_path(path)
        np.testing.assert_array_equal(model.mesh_face, mj.mesh_face)
        np.testing.assert_allclose(model.body_mass, mj.body_mass, rtol=1e-9)
        np.testing.assert_allclose(model.body_inertia, mj.body_inertia, rtol=1e-9)


@pytest.mark.parametrize("pos", ["", "pos='0 0 0'"])
def test_fromto_beside_pos(tmp_path, pos):
    agree(tmp_path, f"<mujoco><worldbody><body><freejoint/><geom type='capsule' size='.1' {pos} fromto='0 0 0 .1 1 0'/>"
          f"<site type='box' size='.1' {pos} fromto='0 0 0 .1 1 0'/></body></worldbody></mujoco>", states=3)


def test_fromto_with_another_place():
    with pytest.raises(stiction.Error, match="both given"):
        stiction.Model.from_xml_string("<mujoco><worldbody><geom type='capsule' size='.1' pos='0 0 1' fromto='0 0 0 .1 1 0'/></worldbody></mujoco>")


SERVOS = """<mujoco><worldbody><site name='r'/><body><joint name='j' axis='0 0 1'/><geom size='.1'/><site name='s'/>
<body pos='.2 0 0'><joint type='ball'/><geom size='.1' pos='.1 0 0'/><site name='t' pos='.1 .1 0'/></body></body></worldbody><actuator>
<position site='s' refsite='r' gear='0 0 0 0 0 1' kp='2' kv='.1'/>
<position site='s' refsite='r' gear='0 0 0 0 0 2' kp='2' timeconst='0.1'/>
<position site='s' refsite='r' gear='0 0 0 0 1 1' kp='2' forcerange='-3 3'/>
<position site='t' refsite='s' gear='0 0 0 1 .5 .3' kp='2'/>
<position site='s' refsite='r' gear='1 0 0 0 0 1' kp='2'/>
<general site='s' refsite='r' gear='0 0 0 0 0 1' gainprm='3' biastype='affine' biasprm='0.3 -2 0'/>
<general site='s' refsite='r' gear='0 0 0 0 0 1' gainprm='3'/>
<intvelocity site='s' refsite='r' gear='0 0 0 0 0 1' kp='2'/>
</actuator></mujoco>"""


def test_servos_of_rotations_take_the_short_way(tmp_path):
    agree(tmp_path, SERVOS)
    mj, model = mujoco.MjModel.from_xml_string(SERVOS), stiction.Model.from_xml_string(SERVOS)
    mjd, data = mujoco.MjData(mj), stiction.Data(model)
    for angle in np.linspace(-3.1, 3.1, 9):
        for ctrl in np.linspace(-20, 20, 23):
            mjd.qpos[0], mjd.ctrl[:], mjd.act[:] = angle, ctrl, ctrl
            compare.copy_state(mjd, data)
            mujoco.mj_forward(mj, mjd)
            stiction.forward(model, data)
            np.testing.assert_allclose(data.actuator_force, mjd.actuator_force, rtol=1e-9, atol=1e-9)


FUSED = """<mujoco><compiler fusestatic='true' {compiler}/><worldbody>
<body name='shelf' pos='0 0 1' euler='0 0 20'><geom name='s0' size='.1'/><frame pos='.1 0 0'><body name='inner' pos='.1 0 0' euler='0 0 30'>
 <geom name='s1' size='.1' contype='0'/><site name='a'/>
 <body name='arm' pos='0 1 0'><joint name='j'/><geom name='g0' size='.1'/><geom name='g1' type='box' size='.1 .2 .1' pos='.1 0 0'/>
  <body name='palm' pos='0 0 .5' euler='90 0 0' childclass='red'><geom name='p0' type='box' size='.1 .2 .3'/>{inertial}
   <site name='b' pos='.1 .1 .1'/><camera name='eye' pos='0 0 1' euler='10 0 0'/><light name='lamp' pos='0 1 0'/>
   <body name='pad' pos='.1 .1 0'><frame euler='0 45 0'><geom name='p1' type='capsule' size='.05 .1'/></frame>
    <body name='tip' pos='0 0 .3' euler='10 20 30'><joint name='k' axis='0 1 0' pos='.1 0 0'/><geom name='t0' size='.1'/></body>
    <body name='empty'/>
   </body>
   <body name='finger' pos='.3 0 0' euler='0 90 0'><joint name='l' axis='0 1 0' type='slide'/><geom name='f0' size='.1'/></body>
  </body>
  <body name='kept' pos='1 0 0'><geom size='.05'/></body>
  <body name='floats' pos='1 0 0' gravcomp='1'><geom size='.05'/></body>
  <geom name='g2' size='.1' pos='0 0 -.3'/>
 </body></body></frame></body>
<body name='hand' mocap='true'><geom size='.1'/></body>
<body name='bare' pos='3 0 0'><freejoint/><body name='load' pos='.1 0 0' euler='30 0 0'><geom type='box' size='.1 .2 .3'/></body></body>
</worldbody>
<tendon><spatial><site site='a'/><site site='b'/></spatial></tendon>
<contact><exclude body1='kept' body2='tip'/></contact>
<sensor><framepos objtype='site' objname='b'/><gyro site='b'/><framequat objtype='camera' objname='eye'/></sensor></mujoco>"""
INERTIAL = "<inertial pos='0.1 0 0' mass='2' diaginertia='.1 .2 .25' euler='10 20 0'/>"


@pytest.mark.parametrize("compiler", ["", "inertiafromgeom='true'", "boundmass='3' boundinertia='.01'", "settotalmass='10'"])
@pytest.mark.parametrize("inertial", ["", INERTIAL])
def test_static_bodies_are_fused(tmp_path, compiler, inertial):
    text = FUSED.replace("<worldbody>", "<default><default class='red'><geom rgba='1 0 0 1' density='500'/></default></default><worldbody>", 1)
    agree(tmp_path, text.format(compiler=compiler, inertial=inertial), states=5)


GROUPS = """<mujoco><option actuatorgroupdisable='1 3 30'/><worldbody><body><joint name='j'/><geom size='.1' pos='.1 0 0'/></body></worldbody><actuator>
<motor joint='j' group='0'/><motor joint='j' group='1' forcerange='1 2'/><general joint='j' group='1' dyntype='integrator'/>
<general joint='j' group='2' dyntype='filter'/><position joint='j' group='3' kp='5' kv='1'/><velocity joint='j' group='4' kv='2'/>
<damper joint='j' group='30' kv='2' ctrlrange='0 1'/></actuator></mujoco>"""


def test_groups_of_actuators(tmp_path):
    agree(tmp_path, GROUPS)
    model = stiction.Model.from_xml_string(GROUPS)
    assert model.opt.disableactuator == mujoco.MjModel.from_xml_string(GROUPS).opt.disableactuator
    with pytest.raises(stiction.Error, match="0 to 30"):
        stiction.Model.from_xml_string("<mujoco><option actuatorgroupdisable='31'/></mujoco>")


def test_prefix_of_replicate(tmp_path):
    agree(tmp_path, "<mujoco><worldbody><replicate count='3' prefix='p_' offset='1 0 0'><body name='a'><freejoint name='f'/>"
          "<geom name='g' size='.1'/></body></replicate></worldbody></mujoco>", states=2)


POLYNOMIALS = """<mujoco><option integrator="{integrator}"><flag energy="enable" contact="disable"/></option><worldbody>
<body><joint name="a" type="slide" stiffness="30 -4 9" damping=".3 .2 .5" springref=".1"/><geom size=".1"/>
<body pos=".3 0 0"><joint name="b" axis="0 1 0" armature="1" stiffness="0 2 1" damping="0 .1"/><geom size=".1" pos=".1 0 0"/>
<body pos=".2 0 0"><joint type="ball" armature=".5" stiffness="1 .5 .2" damping=".1 .02 .03"/><geom size=".1" pos=".1 0 .1"/></body></body></body>
<body pos="0 0 2"><joint type="free" stiffness="3 1 .5" damping=".2 .1 .05"/><geom type="box" size=".1 .2 .3"/></body></worldbody>
<tendon><fixed stiffness="5 -2 3" damping=".1 .3 .2" springlength="-.1 .2"><joint joint="a" coef="1"/><joint joint="b" coef="-.5"/></fixed>
<fixed stiffness="0 0 4" damping="0 0 .1"><joint joint="b" coef="1.5"/></fixed></tendon></mujoco>"""


@pytest.mark.parametrize("integrator", ["Euler", "implicit", "implicitfast", "RK4"])
def test_polynomial_springs_and_dampers(tmp_path, integrator):
    xml = POLYNOMIALS.format(integrator=integrator)
    agree(tmp_path, xml)
    model, mj = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    for name in ("jnt_stiffness", "jnt_stiffnesspoly", "dof_damping", "dof_dampingpoly", "tendon_stiffness", "tendon_stiffnesspoly",
                 "tendon_damping", "tendon_dampingpoly"):
        np.testing.assert_array_equal(getattr(model, name), getattr(mj, name), err_msg=name)
    data, mjd = stiction.Data(model), mujoco.MjData(mj)
    rng = np.random.default_rng(3)
    for _ in range(5):
        mjd.qpos[:] = rng.normal(size=mj.nq)
        mjd.qvel[:] = rng.normal(size=mj.nv)
        mujoco.mj_normalizeQuat(mj, mjd.qpos)
        data.qpos[:], data.qvel[:] = mjd.qpos, mjd.qvel
        stiction.forward(model, data)
        mujoco.mj_forward(mj, mjd)
        np.testing.assert_allclose(data.qfrc_passive, mjd.qfrc_passive, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(data.energy, mjd.energy, rtol=1e-9)
        for _ in range(20):
            stiction.step(model, data)
            mujoco.mj_step(mj, mjd)
        np.testing.assert_allclose(data.qpos, mjd.qpos, rtol=1e-9, atol=1e-9)


def test_damping_that_falls_with_speed():
    """A damper of a polynomial may push: Euler treats it implicitly too, and the certificate outside agrees with the claim."""
    body = '<body pos="0 {} .1"><joint type="slide" axis="1 0 0" damping="{}"/><joint type="slide" axis="0 0 1"/><geom size=".1" mass="1"/></body>'
    for other in ("0", "1"):
        text = ('<mujoco><option timestep="0.01" integrator="Euler"/><worldbody>' + body.format(0, ".1 -.5") + body.format(1, other) +
                '<geom type="plane" size="5 5 .1"/></worldbody></mujoco>')
        model, theirs = stiction.Model.from_xml_string(text), mujoco.MjModel.from_xml_string(text)
        data, there = stiction.Data(model), mujoco.MjData(theirs)
        model.opt.disableflags |= stiction.Disable.CONTACT
        theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
        data.qvel[::2], there.qvel[::2] = 2, 2
        stiction.step(model, data, 10)
        mujoco.mj_step(theirs, there, 10)
        assert data.qvel == pytest.approx(there.qvel, rel=1e-12)
        model.opt.disableflags &= ~int(stiction.Disable.CONTACT)
        stiction.reset(model, data)
        data.qvel[::2] = 2
        for _ in range(10):
            stiction.step(model, data)
            assert data.ncon == 2 and data.certify().headline <= 1e-7


def test_polynomials_with_alm():
    """The coefficients are those at the start of a step, so that short steps go where Runge-Kutta's go."""
    end = []
    for integrator, h in (("RK4", 1e-3), ("alm", 2e-4)):
        xml = POLYNOMIALS.format(integrator=integrator).replace("<option", f'<option timestep="{h}"')
        model = stiction.Model.from_xml_string(xml)
        data = stiction.Data(model)
        data.qvel[:3] = 0.5, -1, 0.7
        stiction.step(model, data, round(0.2 / h))
        end.append(np.array(data.qpos))
    np.testing.assert_allclose(end[0], end[1], atol=2e-3)


ALIGNED = """<mujoco><compiler {compiler}/><asset><mesh name="q" vertex="0 0 0 1 0 0 0 .7 0 0 0 .4"/></asset><worldbody>
<body name="b" pos="1 2 3" euler="0 0 30">{joint}<geom type="box" size=".1 .2 .3" pos=".3 0 0" euler="30 0 0"/><geom type="mesh" mesh="q"/>
<site name="s" pos=".1 .2 .3"/><camera name="c" pos="1 0 0" euler="10 20 30"/><light pos="1 1 1" dir="1 0 0"/>{child}</body></worldbody>
<equality><connect body1="b" anchor=".1 .2 .3"/><weld body1="b" anchor="0 0 0"/></equality><keyframe><key qpos="1 2 3 1 0 0 0"/></keyframe>
<sensor><framepos objtype="site" objname="s"/><framequat objtype="camera" objname="c"/><accelerometer site="s"/></sensor></mujoco>"""


@pytest.mark.parametrize("compiler, joint, aligned", [
    ("", '<freejoint align="true"/>', True), ('alignfree="true"', "<freejoint/>", True), ('alignfree="true"', '<freejoint align="auto"/>', True),
    ('alignfree="true"', '<joint type="free"/>', True), ('alignfree="true"', '<freejoint align="false"/>', False), ("", "<freejoint/>", False)])
def test_free_bodies_are_aligned(tmp_path, compiler, joint, aligned):
    for child in ("", '<body pos="0 0 1"><geom size=".1"/></body>'):
        xml = ALIGNED.format(compiler=compiler, joint=joint, child=child)
        agree(tmp_path, xml)
        model, mj = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
        assert np.all(model.body_ipos[1] == 0) == (aligned and not child)
        for name in ("qpos0", "qpos_spring", "key_qpos", "cam_pos", "site_pos", "light_pos", "light_dir"):
            np.testing.assert_allclose(np.ravel(getattr(model, name)), np.ravel(getattr(mj, name)), atol=1e-9, err_msg=name)
        np.testing.assert_allclose(np.reshape(model.eq_data, (2, -1))[:, :11], mj.eq_data[:, :11], atol=1e-9)


SITE = """<mujoco><asset><mesh name="m" vertex="1 1 1 2 1 1 1 2 1 1 1 3"/></asset><worldbody><body><freejoint/><geom size=".1"/>
<site name="s" type="{type}" mesh="m" pos="1 2 3" euler="30 40 50" size="3 3 3"/></body></worldbody><sensor><framepos objtype="site" objname="s"/>{more}</sensor></mujoco>"""


def test_sites_with_meshes(tmp_path):
    xml = SITE.format(type="mesh", more="")
    agree(tmp_path, xml)
    model, mj = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    for name in ("site_type", "site_dataid", "site_pos", "site_quat", "site_size"):
        np.testing.assert_allclose(np.ravel(getattr(model, name)), np.ravel(getattr(mj, name)), atol=1e-9, err_msg=name)
    for bad in (xml.replace('mesh="m" pos', "pos"), SITE.format(type="box", more="")):
        with pytest.raises(ValueError):
            mujoco.MjModel.from_xml_string(bad)
        with pytest.raises(stiction.Error):
            stiction.Model.from_xml_string(bad)
    for sensor in ('<touch site="s"/>', '<insidesite objtype="body" objname="world" site="s"/>', '<contact site="s"/>'):
        with pytest.raises(stiction.Error, match="no volume"):
            stiction.Model.from_xml_string(SITE.format(type="mesh", more=sensor))


REFLECTED = """<mujoco><option integrator="{integrator}"><flag contact="disable"/></option><worldbody>
<body><joint name="h" axis="0 1 0" damping=".1 .2 .05" armature=".01"/><geom size=".1" pos=".3 0 0"/>
<body pos=".3 0 0"><joint name="b" type="ball" damping=".1"/><geom size=".1" pos=".3 0 .1"/>
<body pos=".3 0 0"><joint name="s" type="slide" axis="1 0 .3"/><geom size=".1" pos=".3 0 0"/><site name="p" pos=".1 .1 .1"/></body></body></body>
<body pos="1 1 1"><freejoint name="f"/><geom type="box" size=".1 .2 .3" pos=".1 .1 0"/><site name="q"/></body></worldbody>
<tendon><fixed name="t" damping=".1"><joint joint="h" coef="2"/><joint joint="s" coef="-1"/></fixed><spatial name="u"><site site="p"/><site site="q"/></spatial></tendon>
<actuator><motor joint="h" armature=".5" damping=".3 .1 .02" gear="3"/><motor joint="h" armature=".25" damping=".1 0 .1" gear="2"/>
<motor joint="b" armature=".125" damping=".1 0 .1" gear="1 2 3"/><motor joint="f" armature=".5" damping=".1 0 .1" gear="1.5 2 3"/>
<position jointinparent="s" armature=".5" damping=".1 0 .1" gear="1 2 3" kp="10" dampratio="1"/><motor joint="s"/>
<motor tendon="t" armature=".0625" damping=".2 .1 .1" gear="2"/><motor tendon="u" armature=".1" damping=".2" gear="2"/></actuator></mujoco>"""


@pytest.mark.parametrize("integrator", ["Euler", "implicit", "implicitfast", "RK4"])
def test_rotors_of_actuators(tmp_path, integrator):
    """Their armature and damping count with the square of the gear."""
    xml = REFLECTED.format(integrator=integrator)
    agree(tmp_path, xml)
    model, mj = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    for name in ("actuator_armature", "actuator_damping", "actuator_dampingpoly", "jnt_actuatorid", "tendon_actuatorid"):
        np.testing.assert_array_equal(getattr(model, name), getattr(mj, name), err_msg=name)
    data, mjd = stiction.Data(model), mujoco.MjData(mj)
    rng = np.random.default_rng(3)
    mjd.qvel[:] = data.qvel[:] = rng.normal(size=mj.nv)
    mjd.ctrl[:] = data.ctrl[:] = rng.normal(size=mj.nu)
    for _ in range(50):
        stiction.step(model, data)
        mujoco.mj_step(mj, mjd)
    np.testing.assert_allclose(data.qpos, mjd.qpos, rtol=1e-9, atol=1e-9)


def test_rotors_need_a_target_that_turns():
    for bad, match in (('<motor site="p" armature="1"/>', "needs a joint or tendon"), ('<motor site="p" damping="1"/>', "needs a joint or tendon"),
                       ('<motor joint="h" armature="-1"/>', "negative")):
        xml = REFLECTED.format(integrator="Euler").replace("<actuator>", "<actuator>" + bad)
        with pytest.raises(stiction.Error, match=match):
            stiction.Model.from_xml_string(xml)


def test_numbers_of_the_user(tmp_path):
    xml = """<mujoco><size nuser_geom="5"/><default><geom user="9 8"/></default><worldbody><site name="s" user="1"/>
        <body name="b" user="1 2 3"><joint name="j" user="5"/><geom name="g" size=".1" user="1 2 4"/><geom size=".1"/><site user="7 6"/>
        <camera user="8"/><body><joint name="k"/><geom size=".1"/></body></body></worldbody>
        <tendon><fixed user="3 4 5"><joint joint="j" coef="1"/></fixed></tendon>
        <actuator><pid joint="j" kp="10" ki="1" user="3 4"/><motor joint="k"/></actuator>
        <sensor><jointpos joint="j" user="1e3"/><user dim="2" user="3 3"/></sensor></mujoco>"""
    ours, theirs = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    for kind in ["body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor"]:
        np.testing.assert_array_equal(getattr(ours, f"{kind}_user"), getattr(theirs, f"{kind}_user"), strict=True)
        assert getattr(ours, f"nuser_{kind}") == getattr(theirs, f"nuser_{kind}")
    np.testing.assert_array_equal(ours.geom("g").user, [1, 2, 4, 0, 0])
    with pytest.raises(stiction.Error, match="body@user: has more than the 2 values of size@nuser_body"):
        stiction.Model.from_xml_string(xml.replace("nuser_geom", "nuser_body=\"2\" nuser_geom"))
