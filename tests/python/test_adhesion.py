# SPDX-License-Identifier: Apache-2.0
"""Actuators that make a body stick to what it touches."""
import mujoco
import numpy as np
import pytest

import stiction

CEILING = """<mujoco><option timestep=".002" integrator="{integrator}"/><worldbody><geom type="box" size="1 1 .1" pos="0 0 1.1" {margin}/>
<body name="b" pos="0 0 {z}"><freejoint/><geom size=".1 .1 .1" type="box"/></body></worldbody>
<actuator><adhesion body="b" ctrlrange="0 2" gain="{gain}"/></actuator></mujoco>"""
ARM = """<mujoco><option cone="elliptic"/><default><geom {margin}/></default><worldbody><geom type="plane" size="1 1 1"/>
<geom type="capsule" fromto="-.3 -.5 .1 -.3 .5 .1" size=".1"/>
<body name="a" pos="0 0 .2"><joint axis="0 1 0"/><joint type="slide" axis="1 .2 0"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".05"/>
 <body name="b" pos=".4 0 0"><joint axis="0 1 1"/><geom type="capsule" fromto="-.05 0 0 .25 0 0" size=".21"/></body></body>
<body name="c" pos=".45 .25 .09"><freejoint/><geom size=".1"/></body></worldbody>
<actuator><adhesion body="b" ctrlrange="0 1" gain="7"/><general body="c" gainprm="3" dyntype="integrator"/><motor joint="j" /></actuator></mujoco>""".replace(
    '<joint axis="0 1 0"/>', '<joint name="j" axis="0 1 0"/>')


@pytest.mark.parametrize("margin", ["", "gap='.02'", "margin='.05' gap='.01'"])
def test_forces_are_those_of_mujoco(margin):
    """The forces on the dofs, where contacts are the same."""
    xml = ARM.format(margin=margin)
    mj, model = mujoco.MjModel.from_xml_string(xml), stiction.Model.from_xml_string(xml)
    mjd, data = mujoco.MjData(mj), stiction.Data(model)
    mjd.ctrl[:], mjd.act[:] = [.6, 0, .2], [.4]
    data.ctrl[:], data.act[:] = mjd.ctrl, mjd.act
    mujoco.mj_forward(mj, mjd)
    stiction.forward(model, data)
    assert mjd.ncon > 3
    np.testing.assert_allclose(data.actuator_force, mjd.actuator_force)
    np.testing.assert_allclose(data.qfrc_actuator, mjd.qfrc_actuator, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(data.qacc_smooth, mjd.qacc_smooth, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "RK4"])
def test_hangs_from_a_ceiling(integrator):
    """It holds if it pulls with more than the weight; the contacts carry the rest."""
    weight = 8 * 9.81
    for gain, holds in ((70, False), (90, True)):
        model = stiction.Model.from_xml_string(CEILING.format(integrator=integrator, margin="", z=.9, gain=gain))
        data = stiction.Data(model)
        data.ctrl[:] = 1
        stiction.step(model, data, 300)
        if holds:
            assert abs(data.qpos[2] - .9) < 1e-5
            assert sum(c.force[0] for c in data.contact) == pytest.approx(gain - weight, rel=1e-6)
        else:
            assert data.qpos[2] == pytest.approx(.9 - 9.81 / 2 * .6**2, abs=.02)


def test_pulls_through_the_gap():
    """Within the gap of a margin it pulls before anything touches."""
    model = stiction.Model.from_xml_string(CEILING.format(integrator="Euler", margin="gap='.01'", z=.895, gain=90))
    data = stiction.Data(model)
    data.ctrl[:] = 1
    stiction.forward(model, data)
    np.testing.assert_allclose(data.qacc[:3], [0, 0, 90 / 8 - 9.81], atol=1e-9)


@pytest.mark.parametrize("actuator, says", [
    ("<adhesion body='b'/>", "ctrlrange"), ("<adhesion body='b' ctrlrange='-1 1'/>", "negative"), ("<adhesion ctrlrange='0 1'/>", "needs a target"),
    ("<adhesion body='b' ctrlrange='0 1' gain='-1'/>", "negative"), ("<adhesion body='x' ctrlrange='0 1'/>", "x"),
    ("<general xmlns:sti='urn:stiction' body='b' sti:implicit='true'/>", "adhesion has no gains")])
def test_what_is_refused(actuator, says):
    with pytest.raises(stiction.Error, match=says):
        stiction.Model.from_xml_string(f"<mujoco><worldbody><body name='b'><joint/><geom size='1'/></body></worldbody><actuator>{actuator}</actuator></mujoco>")


def test_batches_are_the_same():
    model = stiction.Model.from_xml_string(CEILING.format(integrator="Euler", margin="", z=.9, gain=90))
    data, batch = stiction.Data(model), stiction.Batch(model, 5)
    data.ctrl[:] = 1
    batch.ctrl[:] = 1
    stiction.step(model, data, 20)
    batch.step(20)
    for k in range(5):
        np.testing.assert_array_equal(batch.qpos[k], data.qpos)


STICKY = """<mujoco><option timestep=".002" integrator="{integrator}" cone="elliptic"/><default><geom {margin}/></default><worldbody><geom name="p" type="plane" size="1 1 1" adhesion="2"/>
<geom type="capsule" fromto="-.3 -.5 .1 -.3 .5 .1" size=".1" adhesion="3" priority="{priority}"/>
<body name="a" pos="0 0 .2"><joint axis="0 1 0" damping=".1"/><joint type="slide" axis="1 .2 0" stiffness="3"/><geom type="capsule" fromto="0 0 0 .4 0 0" size=".05"/>
 <body name="b" pos=".4 0 0"><joint axis="0 1 1"/><geom name="g" type="capsule" fromto="-.05 0 0 .25 0 0" size=".21" adhesion="1"/></body></body>
<body name="c" pos=".45 .25 .09" gravcomp=".3"><freejoint/><geom name="c" size=".1" adhesion="4"/></body></worldbody>{pair}</mujoco>"""


@pytest.mark.parametrize("pair", ["", '<contact><pair geom1="c" geom2="g" adhesion="9" margin=".02"/><pair geom1="c" geom2="p"/></contact>'])
@pytest.mark.parametrize("margin, priority", [("", 0), ("gap='.02'", 1), ("margin='.05' gap='.01'", 0)])
def test_sticky_geoms_pull_as_in_mujoco(margin, priority, pair):
    """The sum of both, or that of the higher priority, or of the pair: a passive force of each contact."""
    xml = STICKY.format(margin=margin, priority=priority, pair=pair, integrator="Euler")
    mj, model = mujoco.MjModel.from_xml_string(xml), stiction.Model.from_xml_string(xml)
    mjd, data = mujoco.MjData(mj), stiction.Data(model)
    mjd.qvel[:] = data.qvel[:] = np.linspace(-1, 1, mj.nv)
    np.testing.assert_array_equal(model.geom_adhesion, mj.geom_adhesion)
    np.testing.assert_array_equal(sorted(model.pair_adhesion), sorted(mj.pair_adhesion))
    mujoco.mj_forward(mj, mjd)
    stiction.forward(model, data)
    assert mjd.ncon > 3 and np.abs(mjd.qfrc_adhesion).max() > 1
    np.testing.assert_allclose(sorted(c.adhesion for c in data.contact), sorted(c.adhesion for c in mjd.contact))
    for name in ("qfrc_adhesion", "qfrc_passive", "qacc_smooth"):
        np.testing.assert_allclose(getattr(data, name), getattr(mjd, name), rtol=1e-9, atol=1e-9, err_msg=name)
    stiction.forward(model, data)
    np.testing.assert_allclose(data.qfrc_passive, mjd.qfrc_passive, rtol=1e-9, atol=1e-9)


BELOW = """<mujoco><option timestep=".002" integrator="{integrator}"/><worldbody><geom type="box" size="1 1 .1" pos="0 0 1.1" {fixed}/>
<body pos="0 0 .9" {gravcomp}><freejoint/><geom size=".1" mass="2" condim="1" {moving}/></body></worldbody>
<sensor><contact data="found force" body1="world"/></sensor></mujoco>"""
WAYS = [dict(integrator=i) for i in ("Euler", "implicit", "implicitfast", "RK4", "ALM")] + [dict(contact_solver=s) for s in ("sap", "apgd", "newton")] + [dict(coulomb=c) for c in ("exact", "relaxed")]


def configured(xml, way):
    integrator = way.get("integrator", "Euler")
    xml = xml.replace("{integrator}", "Euler" if integrator == "ALM" else integrator)
    model = stiction.Model.from_xml_string(xml)
    if integrator == "ALM":
        model.opt.integrator = "alm"
    for name in ("contact_solver", "coulomb"):
        if name in way:
            setattr(model.opt, name, way[name])
    return model


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_a_ball_hangs_by_its_adhesion(way):
    """With F above the weight it stays, and the contact transmits the weight; with less it falls freely."""
    weight = 2 * 9.81
    for fixed, moving, holds in ((10, 10, True), (0, weight + 1, True), (10, 8, False)):
        model = configured(BELOW.format(integrator="{integrator}", fixed=f'adhesion="{fixed}"', moving=f'adhesion="{moving}"', gravcomp=""), way)
        data = stiction.Data(model)
        stiction.step(model, data, 200)
        if holds:
            assert abs(data.qpos[2] - .9) < 1e-5 and np.abs(data.qvel).max() < 1e-5
            assert [c.force[0] for c in data.contact] == pytest.approx([-weight], rel=1e-5)
            assert data.sensordata[0] == 1 and abs(data.sensordata[1]) == pytest.approx(weight, rel=1e-5)
        else:
            assert data.qpos[2] == pytest.approx(.9 - 9.81 / 2 * .4**2, abs=.02)
            assert not np.any(data.qfrc_adhesion)


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_adhesion_adds_to_friction(way):
    """A box of weight m g on a plane, pulled sideways, holds up to mu (m g + n F) with n contacts, and slides beyond."""
    xml = """<mujoco><option timestep=".002" integrator="{integrator}"/><worldbody><geom type="plane" size="9 9 1" friction=".5"/>
<body pos="0 0 .1"><joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/><geom type="box" size=".2 .2 .1" mass="2" friction=".5" adhesion="5" gap=".01"/></body></worldbody></mujoco>"""
    limit, m = .5 * (2 * 9.81 + 4 * 5), 2
    for pull in (.98 * limit, 1.1 * limit):
        model = configured(xml, way)
        data = stiction.Data(model)
        data.qfrc_applied[0] = pull
        stiction.step(model, data, 250)
        assert len(data.contact) == 4
        if pull < limit:
            assert abs(data.qvel[0]) < 1e-5
        else:
            assert data.qvel[0] == pytest.approx((pull - limit) / m * .5, rel=.02)
        assert sum(c.force[0] for c in data.contact) == pytest.approx(2 * 9.81, rel=1e-4)


def test_adhesion_that_is_changed_switched_off_and_refused():
    model = stiction.Model.from_xml_string(BELOW.format(integrator="Euler", fixed="", moving='adhesion="30"', gravcomp=""))
    data = stiction.Data(model)
    stiction.step(model, data, 20)
    held = data.qpos[2]
    model.geom_adhesion[1] = 0
    stiction.step(model, data, 100)
    assert held > .8999 and data.qpos[2] < .8
    for flags in ('spring="disable"', 'spring="disable" damper="disable"'):
        xml = STICKY.format(margin="", priority=0, pair="", integrator="Euler").replace('cone="elliptic"/>', f'cone="elliptic"><flag {flags}/></option>')
        mj, model = mujoco.MjModel.from_xml_string(xml), stiction.Model.from_xml_string(xml)
        mjd, data = mujoco.MjData(mj), stiction.Data(model)
        mujoco.mj_forward(mj, mjd)
        stiction.forward(model, data)
        np.testing.assert_allclose(data.qfrc_passive, mjd.qfrc_passive, atol=1e-9)
    patch = '<mujoco xmlns:sti="urn:stiction"><worldbody><geom type="plane" size="1 1 1" {0}/><body><freejoint/><geom name="a" size=".1" {1}/></body></worldbody>{2}</mujoco>'
    hydro = 'sti:hydroelastic_stiffness="1e6"'
    for a, b, more in (('adhesion="-1"', "", ""), ("", f'adhesion="1" {hydro}', ""), ('adhesion="1"', hydro, "")):
        with pytest.raises(stiction.Error, match="adhesion"):
            stiction.Model.from_xml_string(patch.format(a, b, more))


def test_batches_stick_alike():
    xml = STICKY.format(margin="gap='.02'", priority=0, pair="", integrator="implicitfast")
    model = stiction.Model.from_xml_string(xml)
    batch, data = stiction.Batch(model, 9), stiction.Data(model)
    batch.step(30)
    stiction.step(model, data, 30)
    assert np.any(data.qfrc_adhesion)
    np.testing.assert_array_equal(batch.qpos, np.tile(data.qpos, (9, 1)))
