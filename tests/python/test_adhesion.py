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
