# SPDX-License-Identifier: Apache-2.0
"""Histories of controls and sensors, pid, dcmotor and springs that yield, against MuJoCo."""
import copy

import mujoco
import numpy as np
import pytest

import stiction

INTEGRATORS = ["Euler", "implicit", "implicitfast", "RK4"]
ARM = """<mujoco><compiler angle="radian"/><option integrator="{integrator}" timestep="{h}"><flag contact="disable"/></option><worldbody>
<body><joint name="a" axis="0 1 0" {a}/><geom size=".1" pos=".3 0 0"/><site name="p" pos=".3 0 .1"/>
<body pos=".5 0 0"><joint name="b" type="{type}" axis="1 0 1" {b}/><geom size=".1" pos=".1 0 0.2"/><site name="s" pos=".1 0 .2"/></body></body></worldbody>
<tendon><fixed name="t" {t}><joint joint="a" coef="2"/></fixed><spatial name="u" {u}><site site="s"/><site site="p"/></spatial></tendon>
<actuator>{actuator}</actuator><sensor>{sensor}</sensor>{more}</mujoco>"""


def scene(integrator="Euler", h=0.01, **parts):
    names = dict(a="", b="", t="", u="", actuator="", sensor="", more="", type="slide")
    return ARM.format(integrator=integrator, h=h, **{**names, **parts})


def together(xml, steps=60, controls=None, seed=0, fields=("qpos", "qvel", "act", "history", "plastic", "sensordata", "actuator_force")):
    """Steps both engines with the same controls and compares; what moves must move."""
    model, mj = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    data, mjd = stiction.Data(model), mujoco.MjData(mj)
    rng = np.random.default_rng(seed)
    data.qvel[:] = mjd.qvel[:] = rng.normal(size=mj.nv)
    for name in ("history", "plastic"):
        np.testing.assert_allclose(getattr(data, name), getattr(mjd, name), atol=1e-12, err_msg=name)
    for k in range(steps):
        data.ctrl[:] = mjd.ctrl[:] = rng.normal(size=mj.nu) if controls is None else controls(k)
        stiction.step(model, data)
        mujoco.mj_step(mj, mjd)
        for name in fields:
            if name == "actuator_force" and "RK4" in xml:
                continue  # of another stage
            np.testing.assert_allclose(getattr(data, name), getattr(mjd, name), rtol=1e-9, atol=1e-9, err_msg=f"{name}, step {k}")
    return model, data, mj, mjd


def fields_agree(model, mj, names):
    for name in names.split():
        np.testing.assert_allclose(np.ravel(getattr(model, name)), np.ravel(getattr(mj, name)), rtol=1e-12, atol=1e-14, err_msg=name)


DELAYED = """<motor joint="a" nsample="5" delay=".035" interp="{interp}"/><position joint="b" kp="20" kv="1" nsample="3" delay=".03"/>
<general joint="a" dyntype="filter" dynprm=".1" nsample="4" delay=".021" interp="{interp}"/><motor joint="b" nsample="2"/><motor joint="b" ctrlrange="-.2 .3" nsample="2" delay=".015" interp="linear"/>
<damper joint="a" kv="2" ctrlrange="0 1" nsample="2" delay=".02"/>"""
SENSED = """<jointpos joint="a" nsample="4" delay=".035" interp="{interp}"/><framequat objtype="site" objname="s" nsample="3"/><jointvel joint="b" nsample="3" interval=".025"/>
<accelerometer site="s" nsample="6" interval=".03 -.01" delay=".05" interp="{interp}"/><actuatorfrc actuator="m" nsample="2" delay=".01"/><clock nsample="2" interval=".007"/><clock interval=".1"/>"""


@pytest.mark.parametrize("interp", ["zoh", "linear", "cubic"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_histories(integrator, interp):
    xml = scene(integrator, actuator=DELAYED.format(interp=interp).replace("<motor ", '<motor name="m" ', 1), sensor=SENSED.format(interp=interp))
    model, data, mj, mjd = together(xml)
    fields_agree(model, mj, "actuator_history actuator_historyadr actuator_delay sensor_history sensor_historyadr sensor_delay sensor_interval")
    assert model.nhistory == mj.nhistory > 0 and np.ptp(data.sensordata) > 0
    stiction.forward(model, data)
    mujoco.mj_forward(mj, mjd)
    np.testing.assert_allclose(data.sensordata, mjd.sensordata, rtol=1e-9, atol=1e-9)


def test_a_delayed_motor_starts_late():
    """A sudden control of 1 arrives n steps later, of whatever size."""
    xml = scene(h=0.01, a='armature="1"', actuator='<motor joint="a" nsample="7" delay=".07"/>')
    model = stiction.Model.from_xml_string(xml)
    data = stiction.Data(model)
    force = []
    for _ in range(12):
        data.ctrl[0] = 1
        stiction.step(model, data)
        force.append(data.actuator_force[0])
    assert force == [0] * 7 + [1] * 5


def test_time_that_is_set_back():
    """As MuJoCo: a sample between others takes its place among them, one of the same time is replaced."""
    xml = scene(actuator='<motor joint="a" nsample="4" delay=".02"/>')
    model, data, mj, mjd = together(xml, 8)
    for time in (0.055, 0.06, -5, 0.065, 9):
        data.time = mjd.time = time
        data.ctrl[:] = mjd.ctrl[:] = time
        stiction.step(model, data)
        mujoco.mj_step(mj, mjd)
        np.testing.assert_allclose(data.history, mjd.history, atol=1e-9)


def test_histories_are_state():
    """Of copies, snapshots, hashes, state vectors and resets."""
    xml = scene(actuator=DELAYED.format(interp="linear"), sensor='<jointpos joint="a" nsample="4" delay=".035"/>', more='<keyframe><key ctrl="1 1 1 1 1 1" time="2"/></keyframe>')
    model, data, mj, mjd = together(xml, 9)
    bits = stiction.State.PHYSICS
    assert len(stiction.get_state(model, data, bits)) == mujoco.mj_stateSize(mj, int(mujoco.mjtState.mjSTATE_PHYSICS))
    other = copy.copy(data)
    assert other.hash() == data.hash()
    other.history[2] += 1e-3
    assert other.hash() != data.hash()
    other.history[2] -= 1e-3
    kept = np.array(data.history)
    for d in (data, other):
        stiction.step(model, d, 20)
    np.testing.assert_array_equal(data.qpos, other.qpos)
    np.testing.assert_array_equal(data.history, other.history)
    assert np.any(kept != data.history)
    stiction.reset(model, data, 0)
    mujoco.mj_resetDataKeyframe(mj, mjd, 0)
    np.testing.assert_allclose(data.history, mjd.history)


@pytest.mark.parametrize("device", ["cpu", "cuda-emulated"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_batches_are_delayed_alike(integrator, device):
    xml = scene(integrator, actuator=DELAYED.format(interp="cubic") + '<pid joint="a" kp="3" ki="1" slewmax="2"/><dcmotor joint="b" motorconst=".5" resistance="2" lugre="10 1 .1 .2 .05" inductance=".01"/>',
                sensor='<jointpos joint="a" nsample="4" delay=".035"/>', a='stiffness="5" springyield=".02"')
    model = stiction.Model.from_xml_string(xml)
    batch, alone = stiction.Batch(model, 9, device=device), [stiction.Data(model) for _ in range(9)]
    rng = np.random.default_rng(1)
    for _ in range(15):
        ctrl = rng.normal(size=(9, model.nu))
        batch.step(1, ctrl)
        for k, d in enumerate(alone):
            d.ctrl[:] = ctrl[k]
            stiction.step(model, d)
    for name in ("qpos", "history", "act", "sensordata", "plastic"):
        np.testing.assert_array_equal(np.asarray(getattr(batch, name)).reshape(9, -1), [np.ravel(getattr(d, name)) for d in alone], err_msg=name)
    assert np.abs(alone[0].plastic[0]) > 0


@pytest.mark.parametrize("actuator, sensor, match", [
    ('<motor joint="a" delay="1"/>', "", "nsample"), ('<motor joint="a" nsample="2" delay="-1"/>', "", "negative"), ('<motor joint="a" nsample="-1"/>', "", "negative"),
    ('<motor joint="a" nsample="2000000000"/>', "", "samples|memory"), ("", '<clock delay="1"/>', "nsample"), ("", '<clock nsample="2" interval="1 1"/>', "phase"),
    ("", '<clock nsample="2" interval="-1"/>', "period"), ("", '<clock nsample="2" interval="1 -1"/>', "phase")])
def test_histories_that_are_refused(actuator, sensor, match):
    with pytest.raises(stiction.Error, match=match):
        stiction.Model.from_xml_string(scene(actuator=actuator, sensor=sensor))


PIDS = ['kp="3" kv="2" ki="4" imax=".01" slewmax="2"', 'kp="30" kv="2" input="pos"', 'kp="3" kv="2" input="pos ff" posrange="-.1 .1" ffrange="-.2 .2"',
        'kp="3" input="vel" kv="1" velrange="-1 1" forcerange="-.5 .5"', 'kp="3" kv="2" ki="4" input="pos vel ff" posrange="-1 2" ctrllimited="true"',
        'kp="3" dampratio="1" slewmax="1"', 'input="ff"', 'kp="2" kv="1" nsample="3" delay=".02" interp="linear"', 'kp="10" ki="3" gear="3" inheritrange="1"']


@pytest.mark.parametrize("pid", PIDS)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_pid(integrator, pid):
    xml = scene(integrator, a='range="-1 2"', actuator=f'<pid joint="a" {pid}/><motor joint="b"/>')
    model, _, mj, _ = together(xml)
    fields_agree(model, mj, "actuator_ctrladr actuator_ctrlnum actuator_ctrlspec actuator_ctrllimited actuator_ctrlrange actuator_gainprm actuator_biasprm "
                 "actuator_dynprm actuator_dyntype actuator_gaintype actuator_biastype actuator_actadr actuator_actnum")
    assert (model.nu, model.na, model.nactuator) == (mj.nu, mj.na, 2)


MOTOR = 'motorconst=".5" resistance="2" '
MOTORS = [MOTOR, 'nominal="12 3 100" gear="5"', MOTOR + 'cogging=".1 7 .3"', MOTOR + 'inductance=".01"', MOTOR + 'inductance="0 .02" saturation="0 1 10"',
          MOTOR + 'thermal="2 30 0 .04 20 25"', MOTOR + 'thermal="2 0 40 .04 20 25" inductance=".01"', MOTOR + 'lugre="100 1 .1 .2 .05"', MOTOR + 'lugre="10 1 .1 .2 0"',
          'resistance="2" motorconst="0" input="none" lugre="100 1 .1 .2 .05"', MOTOR + 'saturation=".1"', MOTOR + 'saturation=".1" lugre="10 1 .1 .2 .05" cogging=".1 7 .3"',
          MOTOR + 'input="pos vel" controller="5 1 2 0 0 0"', MOTOR + 'input="pos vel" controller="5 1 2 3 .004 0"', MOTOR + 'input="pos vel" controller="5 1 2 0 0 2"',
          MOTOR + 'input="pos vel ff voltage" controller="5 0 2 0 0 6"', MOTOR + 'input="vel" controller="0 0 2 3 0 0"', MOTOR + 'input="ff" controller="0 0 0 3 0 0"',
          MOTOR + 'input="pos vel" controller="5 1 2 3 .004 6" inductance=".01" thermal="2 30 0 .04 20 25" lugre="10 1 .1 .2 .05" ctrlrange="-1 1"',
          MOTOR + 'damping=".1" armature=".05" gear="3" nsample="3" delay=".02"', 'motorconst=".5 .4" resistance="2" input="pos vel" controller="5 1 2" thermal="2 30 0 .04 20 25"']


@pytest.mark.parametrize("motor", MOTORS)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_dcmotor(integrator, motor):
    xml = scene(integrator, actuator=f'<dcmotor joint="a" {motor}/><motor joint="b"/>')
    model, _, mj, _ = together(xml, controls=lambda k: 2 * np.sin(0.3 * k + np.arange(mujoco.MjModel.from_xml_string(xml).nu)))
    fields_agree(model, mj, "actuator_ctrladr actuator_ctrlnum actuator_ctrlspec actuator_ctrllimited actuator_ctrlrange actuator_gainprm actuator_biasprm "
                 "actuator_dynprm actuator_dyntype actuator_gaintype actuator_biastype actuator_actadr actuator_actnum actuator_forcerange actuator_forcelimited")


def test_the_speed_of_a_motor_without_load():
    """Where the induced voltage is the one applied: V / K."""
    xml = """<mujoco><worldbody><body><joint name="b"/><geom size=".1"/></body></worldbody>
<actuator><dcmotor joint="b" nominal="12 30 100"/></actuator></mujoco>"""
    model = stiction.Model.from_xml_string(xml)
    data = stiction.Data(model)
    data.ctrl[0] = 6
    stiction.step(model, data, 20000)
    assert abs(data.actuator_velocity[0] - 50) < 0.05


@pytest.mark.parametrize("bad", ["", 'motorconst="1"', 'resistance="1"', 'motorconst="-1" resistance="1"', 'motorconst="1" resistance="1" controller="1"', 'nominal="1 2 0"',
                                 'motorconst="1" resistance="1" input="vel" controller="0 1"', 'motorconst="1" resistance="1" input="voltage pos"',
                                 'motorconst="1" resistance="1" input="none pos"', 'motorconst="1" resistance="1" thermal="1"', 'motorconst="1" resistance="1" lugre="1 -1"'])
def test_motors_that_are_refused(bad):
    with pytest.raises(stiction.Error):
        stiction.Model.from_xml_string(scene(actuator=f'<dcmotor joint="a" {bad}/>'))


@pytest.mark.parametrize("bad", ['input="vel" ki="1"', 'input="vel" slewmax="1"', 'input="vel pos"', 'input="pos pos"', 'kv="1" dampratio="1"', 'imax="-1"'])
def test_pids_that_are_refused(bad):
    with pytest.raises(stiction.Error):
        stiction.Model.from_xml_string(scene(actuator=f'<pid joint="a" {bad}/>'))


ALL_OF_PID = 'gaintype="pid" biastype="affine" '
PID_STATE = ALL_OF_PID + 'dyntype="pid" '
ALL_OF_MOTOR = 'gaintype="dcmotor" biastype="dcmotor" dyntype="dcmotor" actearly="true" '
GENERALS = [PID_STATE + 'gainprm="4" biasprm=".5 -3 -2" dynprm=".01 2"', PID_STATE + 'gainprm="4" biasprm="0 -3 -2" dynprm="0 2" actrange="-.05 .05"',
            PID_STATE + 'gainprm="4" biasprm="0 -3 -2" dynprm=".01 2" actearly="true"', PID_STATE + 'gainprm="0" biasprm="0 -3 -2" dynprm="0 2" actdim="1"',
            ALL_OF_PID + 'gainprm="0" biasprm="0 -3 2"', ALL_OF_PID + 'gainprm="0" biasprm="0 -3 -2" dynprm="0 2"',
            ALL_OF_PID + 'gainprm="0" biasprm="0 -3 -2" input="pos ff" ctrlrange="-.1 .1" ffrange="-.2 .2"',
            ALL_OF_PID + 'gainprm="0" biasprm="0 -3 -2" input="vel" velrange="-1 1" forcerange="-.5 .5"', ALL_OF_PID + 'gainprm="0" biasprm="0 -9 0" inheritrange="1"',
            ALL_OF_MOTOR + 'gainprm="2 .5" dynprm="0"', ALL_OF_MOTOR + 'gainprm="2 .5" dynprm=".01 10" biasprm=".1 7 .3"',
            ALL_OF_MOTOR + 'gainprm="2 .5 .04 20" dynprm="0 0 2 30 25" actrange="-.01 .01"', ALL_OF_MOTOR + 'gainprm="2 .5" dynprm="0 0 0 0 0 10 1" biasprm="0 0 0 .1 .2 .05"',
            ALL_OF_MOTOR + 'gainprm="2 .5 0 0 5 1 2 6" dynprm="0 0 0 0 0 0 0 3 .004" input="pos vel" ctrlrange="-1 1"',
            ALL_OF_MOTOR + 'gainprm="2 0" dynprm="0 0 0 0 0 100 1" biasprm="0 0 0 .1 .2 .05" input="none"',
            'gaintype="dcmotor" biastype="dcmotor" gainprm="2 .5" dynprm="0" forcerange="-.2 .2"', 'velrange="-1 1" ffrange="0 1" input="vel"']


@pytest.mark.parametrize("general", GENERALS)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_pid_and_dcmotor_as_general_actuators(integrator, general):
    xml = scene(integrator, a='range="-1 2"', actuator=f'<general joint="a" {general}/><motor joint="b"/>')
    model, _, mj, _ = together(xml, controls=lambda k: 2 * np.sin(0.3 * k + np.arange(mujoco.MjModel.from_xml_string(xml).nu)))
    fields_agree(model, mj, "actuator_ctrladr actuator_ctrlnum actuator_ctrllimited actuator_ctrlrange actuator_gainprm actuator_biasprm actuator_dynprm "
                 "actuator_dyntype actuator_gaintype actuator_biastype actuator_actadr actuator_actnum actuator_actearly actuator_forcerange actuator_forcelimited")


def test_general_actuators_say_what_a_shortcut_says():
    """Written in either way, the steps have the same bits."""
    ways = ('<pid joint="a" kp="3" kv="2" ki="4" imax=".01" slewmax="2" ffrange="-1 1" input="pos ff"/><dcmotor joint="b" motorconst=".5" resistance="2" inductance="0 .02"/>',
            f'<general joint="a" {PID_STATE} gainprm="4" biasprm="0 -3 -2" dynprm=".01 2" ffrange="-1 1" input="pos ff"/><general joint="b" {ALL_OF_MOTOR} gainprm="2 .5" dynprm=".02"/>')
    states = []
    for way in ways:
        model = stiction.Model.from_xml_string(scene(actuator=way))
        data = stiction.Data(model)
        for k in range(50):
            data.ctrl[:] = np.sin(0.2 * k + np.arange(model.nu))
            stiction.step(model, data)
        states.append(np.concatenate([data.qpos, data.qvel, data.act]))
    np.testing.assert_array_equal(*states)


@pytest.mark.parametrize("general, match", [
    ('gaintype="pid"', "biastype.*affine"), (ALL_OF_PID, "dyntype"), (PID_STATE + 'gainprm="0"', "dyntype"), ('dyntype="pid"', "gain type pid"),
    (ALL_OF_PID + 'dyntype="filter" gainprm="0"', "dyntype"), (PID_STATE + 'input="vel"', "input.*pos"), (ALL_OF_PID + 'gainprm="0" input="voltage"', "input"),
    (PID_STATE + 'dynprm="-1"', "dynprm.*negative"), (PID_STATE + 'actdim="2"', "actdim"), ('gaintype="dcmotor"', "goes together"),
    ('biastype="dcmotor"', "goes together"), ('gaintype="dcmotor" biastype="dcmotor" gainprm="2 .5"', "goes together"), (ALL_OF_MOTOR + 'gainprm="0 1"', "resistance"),
    (ALL_OF_MOTOR + 'gainprm="1 0"', "motorconst"), (ALL_OF_MOTOR + 'gainprm="1 1 0 0 2"', "input"), (ALL_OF_MOTOR + 'gainprm="1 1" dynprm="-1"', "dynprm"),
    (ALL_OF_MOTOR + 'gainprm="1 1" dynprm="0 0 1"', "thermal"), (ALL_OF_MOTOR + 'gainprm="1 1" biasprm="0 0 0 -1"', "biasprm"),
    ('dyntype="user"', "qfrc_applied"), ('gaintype="user"', "control callback"), ('biastype="user"', "callback"), ('input="vel pos"', "order"), ('input="pressures"', "pressures")])
def test_general_actuators_that_are_refused(general, match):
    with pytest.raises(stiction.Error, match=match):
        stiction.Model.from_xml_string(scene(actuator=f'<general joint="a" {general}/>'))


def test_classes_of_motors_and_pids():
    xml = scene(actuator='<dcmotor class="m" joint="a"/><dcmotor class="m" joint="a" resistance="3" lugre="10 1 .1 .2 .05"/><pid class="p" joint="a" ki="2"/><pid class="q" joint="b" kp="7"/>'
                '<general class="p" joint="b" gainprm="3" dyntype="pid"/><general class="m" joint="b" gainprm="4 .5"/><pid class="g" joint="a" kv="3"/><motor class="m" joint="b"/>')
    classes = """<default><default class="m"><dcmotor motorconst=".5" resistance="2" inductance=".02"/></default><default class="p"><pid kp="4" kv="2" velrange="-1 1"/>
<default class="q"><pid input="pos" slewmax="3"/></default></default><default class="g"><general gaintype="pid" biastype="affine" biasprm="0 -6 0" gainprm="2" ffrange="-1 1"/></default></default>"""
    xml = xml.replace("<worldbody>", classes + "<worldbody>")
    model, _, mj, _ = together(xml, 20)
    fields_agree(model, mj, "actuator_ctrlspec actuator_ctrllimited actuator_ctrlrange actuator_gainprm actuator_biasprm actuator_dynprm")


YIELDING = [dict(a='stiffness="30 2 1" springyield=".05" springref=".1"'), dict(b='stiffness="40" springyield=".01" damping=".1"'), dict(type="ball", b='stiffness="8 1 1" springyield=".05"'),
            dict(t='stiffness="10 2" springlength="-.05 .05" springyield=".1"'), dict(t='stiffness="10" springlength="0 .05" springyield=".1"'),
            dict(u='stiffness="30" springyield=".02"'), dict(a='stiffness="30" springyield=".05"', t='stiffness="10" springlength="0 .05" springyield=".1"', u='stiffness="30" springyield=".02"')]


@pytest.mark.parametrize("where", range(len(YIELDING)))
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_springs_yield(integrator, where):
    xml = scene(integrator, more='<keyframe><key time="1"/></keyframe>', **YIELDING[where])
    model, data, mj, mjd = together(xml, 100)
    fields_agree(model, mj, "nplastic jnt_plasticadr jnt_springyield tendon_plasticadr tendon_springyield key_plastic")
    assert np.any(np.abs(data.plastic - model.key_plastic[0]) > 1e-3)
    stiction.reset(model, data, 0)
    mujoco.mj_resetDataKeyframe(mj, mjd, 0)
    np.testing.assert_allclose(data.plastic, mjd.plastic)


def test_a_spring_yields_at_its_limit():
    """Pulled slowly beyond 0.1 rad and let go, it is at rest where it was less 0.1 rad."""
    xml = scene(h=0.001, a='stiffness="50" damping="20" springyield=".1"').replace("<option ", '<option gravity="0 0 0" ')
    model = stiction.Model.from_xml_string(xml)
    data = stiction.Data(model)
    data.qpos[0] = 0.4
    stiction.step(model, data, 1)
    assert abs(data.plastic[0] - (data.qpos[0] - 0.1)) < 1e-12
    stiction.step(model, data, 20000)
    assert abs(data.qpos[0] - data.plastic[0]) < 1e-3


@pytest.mark.parametrize("a, t", [('stiffness="1" springyield="-1"', ""), ("", 'springyield="-1"')])
def test_yields_that_are_refused(a, t):
    with pytest.raises(stiction.Error):
        stiction.Model.from_xml_string(scene(a=a, t=t))


SINGULAR = """<mujoco><option integrator="{integrator}"/><worldbody><body><joint name="a" type="slide" axis="1 0 0"/><joint name="b" type="slide" axis="0 0 1"/>
<joint name="c" type="slide" axis="2 0 0"/><geom size=".1"/></body></worldbody><actuator><motor joint="b"/><motor joint="c"/></actuator></mujoco>"""


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_joints_that_act_alike(integrator):
    """They are told of, and stay together as in MuJoCo; what drives them apart is an error that names one."""
    xml = SINGULAR.format(integrator=integrator)
    mj = mujoco.MjModel.from_xml_string(xml)
    with pytest.warns(UserWarning, match="act alike"):
        model = stiction.Model.from_xml_string(xml)
    data, mjd = stiction.Data(model), mujoco.MjData(mj)
    data.ctrl[0] = mjd.ctrl[0] = 3
    for _ in range(50):
        stiction.step(model, data)
        mujoco.mj_step(mj, mjd)
    np.testing.assert_allclose(data.qpos, mjd.qpos, rtol=1e-9)
    assert abs(data.qpos[1]) > 0.01
    data.ctrl[1] = 1
    with pytest.raises(stiction.Error, match="joint"):
        stiction.step(model, data)
