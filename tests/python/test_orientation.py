# SPDX-License-Identifier: Apache-2.0
"""Servos for orientations: <orientation>, and general actuators of type so3, against MuJoCo."""
import mujoco
import numpy as np
import pytest

import stiction

INTEGRATORS = ["Euler", "implicit", "implicitfast", "RK4"]
SCENE = """<mujoco><compiler angle="radian"/><option integrator="{integrator}" timestep=".005"><flag contact="disable"/></option><worldbody><site name="w" euler=".2 .3 .1"/>
<body><joint name="h" axis="0 1 1"/><geom size=".1" pos=".3 .1 0"/><site name="p" euler="1 .2 0"/><body pos=".3 0 0" euler=".1 .2 .3"><joint name="b" type="ball"/>
<geom type="box" size=".1 .2 .3" pos=".1 .02 .03"/><site name="s" euler=".4 .1 .2"/></body></body></worldbody>
<actuator><motor name="m" joint="h" gear="3"/>{actuator}<position name="q" joint="h" kp="2"/></actuator><sensor>{sensor}</sensor></mujoco>"""
SO3 = 'gaintype="so3" biastype="so3" '
SERVOS = ['<orientation name="o" joint="b" kp="50" kv="2"/>', '<orientation name="o" joint="b" kp="50" dampratio="1" input="quat"/>', '<orientation name="o" site="s" refsite="p" kp="50" kv="2"/>',
          '<orientation name="o" site="s" refsite="w" kp="30" dampratio=".7" ctrlrange="-.5 1"/>', '<orientation name="o" joint="b" kp="50" nsample="3" delay=".01" interp="linear"/>',
          f'<general name="o" joint="b" {SO3} gainprm="50" biasprm="0 -50 -1" dyntype="integrator" actearly="true" gear="3"/>',
          f'<general name="o" site="s" refsite="p" {SO3} gainprm="50" biasprm="0 -50 -1" dyntype="integrator" actrange="-.01 .02"/>',
          f'<general name="o" joint="b" {SO3} gainprm="50" biasprm="0 -50 2" input="quat"/>', f'<general name="o" joint="b" {SO3} gainprm="50" biasprm="0 -50 0" input="expmap"/>',
          '<orientation name="o" joint="b" kp="50" forcerange="0 3"/>']
SENSORS = "".join(f'<actuator{of} actuator="{a}"/>' for of in ("pos", "vel", "frc") for a in "moq")
FIELDS = """actuator_outadr actuator_outnum actuator_trntype actuator_ctrlnum actuator_ctrllimited actuator_ctrlrange actuator_gainprm actuator_biasprm actuator_dyntype
actuator_gaintype actuator_biastype actuator_actnum actuator_forcelimited actuator_gear actuator_length0 actuator_acc0 sensor_dim sensor_adr"""


def started(xml, seed=0):
    model, mj = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    data, mjd = stiction.Data(model), mujoco.MjData(mj)
    rng = np.random.default_rng(seed)
    quat = rng.normal(size=4)
    data.qpos[1:] = mjd.qpos[1:] = quat / np.linalg.norm(quat)
    data.qvel[:] = mjd.qvel[:] = rng.normal(size=mj.nv)
    return model, data, mj, mjd, rng


@pytest.mark.parametrize("servo", SERVOS)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_orientation_servos(integrator, servo):
    if "forcerange" in servo and integrator.startswith("implicit"):
        integrator = "Euler"  # whether a torque at its limit damps is a matter of rounding in MuJoCo
    model, data, mj, mjd, rng = started(SCENE.format(integrator=integrator, actuator=servo, sensor=SENSORS))
    assert model.actuator_ctrlspec[1] == mj.actuator_ctrlspec[1]
    assert (model.nu, model.nout, model.nactuator, model.na) == (mj.nu, mj.nout, 3, mj.na) and model.nout == 5
    for name in FIELDS.split():
        np.testing.assert_allclose(np.ravel(getattr(model, name)), np.ravel(getattr(mj, name)), rtol=1e-12, atol=1e-12, err_msg=name)
    for k in range(60):
        data.ctrl[:] = mjd.ctrl[:] = rng.normal(size=mj.nu)
        stiction.step(model, data)
        mujoco.mj_step(mj, mjd)
        for name in ("qpos", "qvel", "act", "sensordata", "actuator_length", "actuator_velocity", "actuator_force", "qfrc_actuator"):
            if integrator == "RK4" and name not in ("qpos", "qvel", "act"):
                continue  # of another stage
            np.testing.assert_allclose(getattr(data, name), getattr(mjd, name), rtol=1e-9, atol=1e-9, err_msg=f"{name}, step {k}")


def test_an_orientation_is_reached():
    """Without gravity it is at rest at the commanded quaternion, whatever that is, and the torque is that of the angle that is left."""
    xml = SCENE.format(integrator="implicitfast", actuator='<orientation joint="b" kp="5" dampratio="1" input="quat"/>', sensor="").replace("<option ", '<option gravity="0 0 0" ')
    xml = xml.replace('axis="0 1 1"', 'axis="0 1 1" damping="9"')
    model = stiction.Model.from_xml_string(xml)
    data = stiction.Data(model)
    wanted = np.array([-.3, .5, .1, -.8])
    wanted /= np.linalg.norm(wanted)
    data.ctrl[1:5] = 7 * wanted
    stiction.forward(model, data)
    assert np.linalg.norm(data.actuator_force[1:4]) == pytest.approx(5 * 2 * np.arccos(abs(wanted[0])), rel=1e-12)
    stiction.step(model, data, 8000)
    assert abs(data.qpos[1:] @ wanted) > 1 - 1e-9 and np.abs(data.qvel).max() < 1e-5


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_batches_turn_alike(integrator):
    model = stiction.Model.from_xml_string(SCENE.format(integrator=integrator, actuator=SERVOS[0] + SERVOS[6].replace('"o"', '"x"'), sensor=SENSORS))
    batch, alone = stiction.Batch(model, 9), [stiction.Data(model) for _ in range(9)]
    rng = np.random.default_rng(1)
    for _ in range(10):
        ctrl = rng.normal(size=(9, model.nu))
        batch.step(1, ctrl)
        for k, d in enumerate(alone):
            d.ctrl[:] = ctrl[k]
            stiction.step(model, d)
    for name in ("qpos", "act", "sensordata"):
        np.testing.assert_array_equal(getattr(batch, name), [getattr(d, name) for d in alone], err_msg=name)


def test_classes_of_orientation_servos():
    xml = SCENE.format(integrator="Euler", sensor="", actuator='<orientation class="a" joint="b" kp="7"/><orientation class="b" joint="b" kv="1"/><general class="a" joint="b"/><motor class="a" joint="h"/>')
    xml = xml.replace("<worldbody>", f'<default><default class="a"><orientation kp="3" kv="2" input="quat"/></default><default class="b"><general {SO3} gainprm="4" biasprm="0 -4 -1"/></default></default><worldbody>')
    model, data, mj, mjd, rng = started(xml)
    for name in FIELDS.split():
        np.testing.assert_allclose(np.ravel(getattr(model, name)), np.ravel(getattr(mj, name)), rtol=1e-12, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("servo, match", [
    ('<orientation joint="h"/>', "ball"), ('<orientation site="s"/>', "refsite"), ('<orientation joint="b" kp="1" forcerange="-1 1"/>', "forcerange"), ('<orientation joint="b" kv="-1"/>', "kv"),
    ('<orientation joint="b" kv="1" dampratio="1"/>', "dampratio"), ('<orientation joint="b" input="pos"/>', "input"), ('<general joint="b" gaintype="so3"/>', "so3"),
    ('<general joint="b" biastype="so3"/>', "so3"), (f'<general joint="b" {SO3} gainprm="3"/>', "biasprm"), (f'<general joint="b" {SO3} biasprm="0 -1" dyntype="filter"/>', "dyntype"),
    (f'<general joint="b" {SO3} biasprm="0 -1" dyntype="integrator" input="quat"/>', "dyntype"), (f'<general joint="b" {SO3} biasprm="0 -1" input="ff"/>', "input"),
    (f'<general tendon="b" {SO3} biasprm="0 -1"/>', "tendon|ball")])
def test_orientation_servos_that_are_refused(servo, match):
    with pytest.raises(stiction.Error, match=match):
        stiction.Model.from_xml_string(SCENE.format(integrator="Euler", actuator=servo, sensor=""))
