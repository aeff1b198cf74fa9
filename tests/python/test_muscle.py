# SPDX-License-Identifier: Apache-2.0
"""Muscles against MuJoCo: what compiles, length ranges, forces, activation and steps."""
import compare
import mujoco
import numpy as np
import pytest

import stiction

ARM = """<mujoco>
<compiler>{lengthrange}</compiler>
<option tolerance="0" iterations="200" integrator="{integrator}"/>
<default>
  <joint type="hinge" pos="0 0 0" axis="0 0 1" limited="true" damping="0.1"/>
  <muscle ctrllimited="true" ctrlrange="0 1" {default}/>
  <default class="slow"><muscle timeconst="0.05 0.2" lmin="0.6"/></default>
  <default class="plain"><general dyntype="muscle" gaintype="muscle" biastype="muscle" dynprm="0.02 0.05 0.1"
    gainprm="0.8 1.1 120 200 0.5 1.7 2 1.4 1.3" biasprm="0.8 1.1 120 200 0.5 1.7 2 1.4 1.3"/></default>
</default>
<worldbody>
  <site name="s1" pos="-0.1 0.05 0"/><site name="s2" pos="0.02 -0.07 0"/><site name="side" pos="0.06 0.06 0"/>
  <geom name="shoulder" type="cylinder" size="0.04 0.02"/>
  <body pos="0 0 0">
    <geom type="capsule" fromto="0 0 0 0.3 0 0" size="0.02"/>
    <joint name="j0" range="-90 90"/>
    <site name="u1" pos="0.15 0.03 0"/><site name="u2" pos="0.2 -0.03 0"/>
    <body pos="0.3 0 0">
      <geom type="capsule" fromto="0 0 0 0.25 0 0" size="0.015"/>
      <joint name="j1" range="0 120" {joint}/>
      <site name="l1" pos="0.05 0.02 0"/><site name="l2" pos="0.08 -0.02 0"/>
      <body pos="0.25 0 0"><joint name="j2" type="slide" axis="1 0 0" range="-0.1 0.1"/><geom size="0.03"/></body>
    </body>
  </body>
</worldbody>
<tendon>
  <spatial name="t0"><site site="s1"/><geom geom="shoulder" sidesite="side"/><site site="u1"/></spatial>
  <spatial name="t1"><site site="s2"/><site site="l2"/></spatial>
  <spatial name="t2" limited="{limited}" range="0.1 0.35"><site site="u1"/><site site="l1"/></spatial>
</tendon>
<actuator>
  <muscle name="m0" tendon="t0"/>
  <muscle name="m1" tendon="t1" class="slow" force="80" tausmooth="0.3"/>
  <muscle name="m2" tendon="t2" range="0.8 1.2" scale="400" lmax="1.8" vmax="3" fpmax="1.1" fvmax="1.5" tausmooth="0.2"/>
  <general name="g0" tendon="t0" class="plain"/>
  <muscle name="m3" joint="j2" gear="-2" lengthrange="-0.5 0.3" force="30"/>
  <motor name="torque" joint="j1"/>
</actuator>
{equality}
</mujoco>"""


def arm(lengthrange="", integrator="Euler", default="", limited="false", equality="", joint=""):
    return ARM.format(lengthrange=lengthrange, integrator=integrator, default=default, limited=limited, equality=equality, joint=joint)


@pytest.mark.parametrize("kind", [
    {},
    {"default": 'timeconst="0.015 0.06" scale="300"'},
    {"limited": "true"},
    {"lengthrange": '<lengthrange uselimit="true" timestep="0.002"/>', "limited": "true"},
    {"lengthrange": '<lengthrange accel="50" maxforce="2" timeconst="0.5" inttotal="6" interval="1" mode="all"/>'},
    {"lengthrange": '<lengthrange useexisting="false" timestep="0"/>', "integrator": "implicit"},
    {"integrator": "implicitfast", "joint": 'solreflimit="0.05 0.7" solimplimit="0.5 0.9 0.1 0.3 3" margin="0.1"'},
    {"equality": '<equality><joint joint1="j2" joint2="j1" polycoef="0 0.02 0.01 0 0"/></equality>'},
])
def test_arm(tmp_path, kind):
    path = tmp_path / "arm.xml"
    path.write_text(arm(**kind))
    result = compare.compare(path, states=30)
    assert result.status == "ok", result.detail


def test_curves():
    """Force and rate of activation over all parts of their curves."""
    xml = arm()
    mj, model = mujoco.MjModel.from_xml_string(xml), stiction.Model.from_xml_string(xml)
    mjd, data = mujoco.MjData(mj), stiction.Data(model)
    for length in np.linspace(-0.3, 0.4, 15):
        for speed in (-3, -0.5, -0.01, 0, 0.02, 0.3, 4):
            for act in (-0.2, 0, 0.4, 1, 1.3):
                mjd.qpos[2], mjd.qvel[2], mjd.act[:], mjd.ctrl[:] = length, speed, act, 0.4
                compare.copy_state(mjd, data)
                mujoco.mj_forward(mj, mjd)
                stiction.forward(model, data)
                np.testing.assert_allclose(data.actuator_force, mjd.actuator_force, rtol=1e-11, atol=1e-11)
                np.testing.assert_allclose(data.act_dot, mjd.act_dot, rtol=1e-12, atol=1e-12)


def test_fields_can_be_changed():
    xml = arm()
    mj, model = mujoco.MjModel.from_xml_string(xml), stiction.Model.from_xml_string(xml)
    mjd, data = mujoco.MjData(mj), stiction.Data(model)
    for m in (mj, model):
        m.actuator_lengthrange[0] = (0.1, 0.3)
        m.actuator_gainprm[1, 2] = 55
        m.actuator_dynprm[0, :3] = (0.03, 0.1, 0.2)
    compare.disable_constraints(mj, model)
    mjd.act[:], mjd.ctrl[:] = 0.5, 0.8
    compare.copy_state(mjd, data)
    mujoco.mj_step(mj, mjd, 5)
    stiction.step(model, data, 5)
    for name in ("qpos", "qvel", "act"):
        np.testing.assert_allclose(getattr(data, name), getattr(mjd, name), rtol=1e-9, atol=1e-10)


def test_range_that_is_not_found():
    free = "<mujoco><worldbody><body><joint name='j'/><geom size='.1'/></body></worldbody><actuator>\n<muscle joint='j'/></actuator></mujoco>"
    with pytest.raises(stiction.Error, match="does not settle") as caught:
        stiction.Model.from_xml_string(free)
    assert caught.value.line == 2 and caught.value.element == "muscle"


def test_no_implicit_gains():
    text = ("<mujoco xmlns:sti='urn:stiction'><worldbody><body><joint name='j'/><geom size='.1'/></body></worldbody><actuator>\n"
            "<muscle joint='j' lengthrange='0 1' sti:implicit='true'/></actuator></mujoco>")
    with pytest.raises(stiction.Error, match="no constant gains") as caught:
        stiction.Model.from_xml_string(text)
    assert caught.value.line == 2 and caught.value.attribute in ("implicit", "sti:implicit")
