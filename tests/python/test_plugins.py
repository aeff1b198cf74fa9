# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's own plugins, which are built in: settings and what is wrong with them, mujoco.pid and mujoco.sensor.touch_grid."""
import compare
import mujoco
import numpy as np
import pytest

import stiction

LINKS = """<mujoco><option integrator="{integrator}"/>
<extension><plugin plugin="mujoco.pid">{shared}</plugin></extension>
<worldbody><body><joint name="j" axis="0 1 0" damping=".1"/><geom size=".1" pos=".3 0 0"/>
<body pos=".3 0 0"><joint name="k" axis="0 1 0"/><geom size=".05" pos=".2 0 0"/></body></body></worldbody>
<actuator><motor joint="j"/>{actuators}<position joint="j" kp="3" timeconst=".1"/></actuator></mujoco>"""


def settings(**values):
    return "".join(f'<config key="{key}" value="{value}"/>' for key, value in values.items())


def links(actuators, shared="", integrator="Euler"):
    """MuJoCo refuses instances that nothing refers to."""
    instance = f'<instance name="shared">{shared}</instance>' if shared else ""
    return LINKS.format(actuators=actuators, shared=instance, integrator=integrator)


def pid(dim, attributes="", **values):
    return f'<plugin name="p" joint="k" plugin="mujoco.pid" actdim="{dim}" {attributes}>{settings(**values)}</plugin>'


GAINS = {"kp": 40, "kd": 2}
CASES = {
    "proportional": pid(0, **GAINS),
    "integral": pid(1, ki=400, **GAINS),
    "limited": pid(1, ki=400, imax=3, **GAINS),
    "limited by both signs": pid(1, ki=-400, imax=-3, **GAINS),
    "slow": pid(1, slewmax=1.5, **GAINS),
    "all": pid(2, 'ctrlrange="-1 1" forcerange="-30 30"', ki=400, imax=3, slewmax=1.5, **GAINS),
    "filter": pid(3, 'dyntype="filter" dynprm=".1"', ki=400, imax=3, slewmax=1.5, **GAINS),
    "filterexact, early": pid(3, 'dyntype="filterexact" dynprm=".1" actearly="true"', ki=400, imax=3, slewmax=1.5, **GAINS),
    "integrator": pid(2, 'dyntype="integrator" actrange="-.5 .5"', ki=400, **GAINS),
    "gear and group": pid(2, 'gear="-2" group="3"', ki=100, slewmax=3, **GAINS),
}


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit", "implicitfast"])
@pytest.mark.parametrize("case", CASES)
def test_pid(case, integrator):
    """Forces and activations along a run from time 0, where no control came before."""
    xml = links(CASES[case], integrator=integrator)
    mj, model = mujoco.MjModel.from_xml_string(xml), stiction.Model.from_xml_string(xml)
    mjd, data = mujoco.MjData(mj), stiction.Data(model)
    assert model.na == mj.na and list(model.actuator_actnum) == list(mj.actuator_actnum)
    for i in range(150):
        control = [np.sin(0.1 * i), 2 * np.cos(0.07 * i), 0.3]
        mjd.ctrl[:], data.ctrl[:] = control, control
        mujoco.mj_step(mj, mjd)
        stiction.step(model, data)
        for name in ("act", "act_dot", "actuator_force", "qpos", "qvel"):
            assert compare.relative(getattr(data, name), getattr(mjd, name)) < 1e-9, (i, name)


@pytest.mark.parametrize("case", CASES)
def test_pid_compiles(tmp_path, case):
    path = tmp_path / "links.xml"
    path.write_text(links(CASES[case]))
    result = compare.compare(path, states=20)
    assert result.status == "ok", result.detail


def test_pid_by_instance_and_actdim():
    """The same settings by an instance; the number of activations may be left out, as in files before MuJoCo 4."""
    shared = settings(kp=40, ki=400, slewmax=2)
    a = stiction.Model.from_xml_string(links('<plugin joint="k" plugin="mujoco.pid" instance="shared"/>', shared))
    b = stiction.Model.from_xml_string(links(f'<plugin joint="k" plugin="mujoco.pid" actdim="2">{shared}</plugin>'))
    assert a.na == b.na == 3 and np.array_equal(a.actuator_pidprm, b.actuator_pidprm)
    assert list(a.actuator_pidprm[1]) == [40, 400, 0, 0, 2]


def test_pid_of_batches():
    """Several worlds side by side take the same steps as one alone; gains may differ."""
    model = stiction.Model.from_xml_string(links(CASES["all"]))
    batch, alone = stiction.Batch(model, 5), stiction.Data(model)
    for i in range(40):
        batch.ctrl[:], alone.ctrl[:] = (0.5, 1.5, 0.1), (0.5, 1.5, 0.1)
        batch.step()
        stiction.step(model, alone)
    assert np.array_equal(batch.qpos, np.tile(alone.qpos, (5, 1))) and np.array_equal(batch.act, np.tile(alone.act, (5, 1)))


def test_written_again():
    xml = links(CASES["all"], settings(kp=3))
    model = stiction.Spec.from_string(xml)
    again = stiction.Model.from_xml_string(model.to_xml())
    assert np.array_equal(again.actuator_pidprm, stiction.Model.from_xml_string(xml).actuator_pidprm)


def test_attached(tmp_path):
    """Instances come along under their new names, and keyframes count their activations."""
    (tmp_path / "arm.xml").write_text(
        links('<plugin name="p" joint="k" plugin="mujoco.pid" instance="shared" actdim="2"/>', settings(kp=4, ki=2, slewmax=1))
        .replace("</mujoco>", '<keyframe><key name="s" act="1 2 3"/></keyframe></mujoco>'))
    xml = """<mujoco><asset><model name="arm" file="arm.xml"/></asset><worldbody>
      <attach model="arm" prefix="a_"/><attach model="arm" prefix="b_"/></worldbody></mujoco>"""
    (tmp_path / "two.xml").write_text(xml)
    model = stiction.Model.from_xml_path(str(tmp_path / "two.xml"))
    assert model.na == 6 and list(model.actuator_pidprm[4]) == [4, 2, 0, 0, 1]
    assert list(model.key_act[0]) == [1, 2, 3, 0, 0, 0] and list(model.key_act[1]) == [0, 0, 0, 1, 2, 3]


@pytest.mark.parametrize("actuators, shared, words", [
    ('<plugin joint="k" plugin="mujoco.elasticity.fast"/>', "", ["mujoco.elasticity.fast", "mujoco.pid", "mujoco.sensor.touch_grid"]),
    ('<plugin joint="k"/>', "", ["names no plugin"]),
    ('<plugin joint="k" plugin="mujoco.sensor.touch_grid"/>', "", ["cannot stand here"]),
    ('<plugin joint="k" instance="other"/>', "", ["no instance 'other'"]),
    ('<plugin joint="k" instance="shared"><config key="kp" value="1"/></plugin>', settings(kp=1), ["those of the instance"]),
    ('<plugin joint="k" plugin="mujoco.sensor.touch_grid" instance="shared"/>', settings(kp=1), ["is an instance of mujoco.pid"]),
    (pid(0, kpx=3), "", ["no setting 'kpx'", "kp, ki, kd, imax and slewmax"]),
    (pid(0, kp="3 4"), "", ["kp takes at most 1 numbers"]),
    (pid(0, kp="3x"), "", ["kp '3x' is not a number"]),
    (pid(1, ki=3, imax=-1), "", ["imax must have the sign of ki"]),
    (pid(1, slewmax=-1), "", ["slewmax must not be negative"]),
    (pid(2, ki=3), "", ["must be 1"]),
    ("", settings(gain=3), ["no setting 'gain'"]),
    (pid(0, 'sti:implicit="true"').replace("<plugin ", '<plugin xmlns:sti="urn:stiction" '), "", ["not with a plugin"]),
])
def test_refused(actuators, shared, words):
    with pytest.raises(stiction.Error) as error:
        stiction.Model.from_xml_string(links(actuators, shared))
    assert "line" in str(error.value) or ":" in str(error.value)
    for word in words:
        assert word in str(error.value), str(error.value)


def test_unknown_plugin_names_its_line():
    xml = '<mujoco>\n<extension>\n<plugin plugin="mujoco.none"/></extension>\n</mujoco>'
    with pytest.raises(stiction.Error) as error:
        stiction.Model.from_xml_string(xml)
    assert error.value.line == 3 and "mujoco.pid" in str(error.value)


# ---- mujoco.sensor.touch_grid -------------------------------------------------------------------------------------------

WEIGHT = 2 * 9.81
RESTING = """<mujoco><option timestep=".002"/><extension><plugin plugin="mujoco.sensor.touch_grid"/></extension>
<worldbody><geom type="plane" size="2 2 .1" solref=".02 1"/><site name="below" pos=".03 .02 .3" quat="{quat}"/>
<body pos="0 0 .1"><joint type="slide" axis="0 0 1"/><joint axis="0 0 1" damping="1"/><geom size=".1" mass="2"/>
<site name="inside" pos=".02 -.01 .03" quat="{quat}"/></body></worldbody>
<sensor><clock/><plugin name="g" plugin="mujoco.sensor.touch_grid" objtype="site" objname="{site}" {cutoff}>{settings}</plugin></sensor></mujoco>"""


def resting(site="inside", quat=(1, 0, 0, 0), cutoff="", **values):
    return RESTING.format(site=site, quat=" ".join(map(str, quat)), cutoff=cutoff, settings=settings(**values))


def cell_of(angle, n, fov, gamma):
    """Which of n cells over -fov to fov degrees, with edges drawn to the middle, holds an angle; -1: none."""
    x = np.linspace(-1, 1, n + 1)
    edges = np.radians(fov) * (gamma * x**5 + (1 - gamma) * x)
    return int(np.searchsorted(edges, angle, side="left")) - 1 if edges[0] < angle <= edges[-1] else -1


def expected(model, data, site, size, fov, gamma, channels, force):
    """A force on the site's body at the lowest point of the ball, where its skin meets the plane."""
    axes = data.site_xmat[site].reshape(3, 3)
    out = np.zeros((channels, size[1], size[0]))
    where = axes.T @ (np.array([0, 0, data.geom_xpos[1][2] - 0.1]) - data.site_xpos[site])
    column = cell_of(np.arctan2(where[0], -where[2]), size[0], fov[0], gamma)
    row = cell_of(np.arctan2(where[1], np.hypot(where[0], where[2])), size[1], fov[1], gamma)
    seen = axes.T @ force
    if column >= 0 and row >= 0:
        out[:3, row, column] = seen[[2, 0, 1]][:channels]
    return out.ravel()


@pytest.mark.parametrize("site, sign", [("inside", 1), ("below", -1)])
@pytest.mark.parametrize("size, fov, gamma, channels", [
    ((7, 5), (180, 90), 0, 3), ((4, 6), (120, 70), 0.6, 6), ((1, 1), (60, 50), 1, 1), ((9, 3), (180, 20), 0.3, 2)])
def test_touch_grid(site, sign, size, fov, gamma, channels):
    """The weight of a ball on a plane, in the cell that looks there, of sites turned at random; as in MuJoCo."""
    rng, hits = np.random.default_rng(3), 0
    for turn in range(12):
        quat = rng.normal(size=4) if turn else np.array([1, 0, 0, 0])
        xml = resting(site, quat / np.linalg.norm(quat), size="{} {}".format(*size), fov="{} {}".format(*fov), gamma=gamma, nchannel=channels)
        model, mj = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
        data, mjd = stiction.Data(model), mujoco.MjData(mj)
        stiction.step(model, data, 200)
        mujoco.mj_step(mj, mjd, 1500)
        assert model.nsensordata == mj.nsensordata == 1 + channels * size[0] * size[1]
        want = expected(model, data, model.site(site).id, size, fov, gamma, channels, np.array([0, 0, sign * WEIGHT]))
        np.testing.assert_allclose(data.sensordata[1:], want, atol=1e-6 * WEIGHT)
        theirs = expected(mj, mjd, mj.site(site).id, size, fov, gamma, channels, np.array([0, 0, sign * WEIGHT]))
        np.testing.assert_allclose(mjd.sensordata[1:], theirs, atol=1e-4 * WEIGHT)
        hits += np.any(want != 0)
    assert hits > 0


def test_touch_grid_torque_and_cutoff():
    """Of contacts that resist spinning the torque is in channels 3 to 5; cutoff bounds every value."""
    xml = resting(size="1 1", fov="180 90", nchannel=6).replace("<geom size", '<geom condim="4" friction="1 .1" size').replace('damping="1"', 'damping="0" frictionloss="0"')
    model = stiction.Model.from_xml_string(xml)
    data = stiction.Data(model)
    data.qvel[1] = 40
    stiction.step(model, data, 20)
    np.testing.assert_allclose(data.sensordata[[1, 4]], [WEIGHT, -0.1 * WEIGHT], rtol=1e-3)
    bounded = stiction.Model.from_xml_string(resting(cutoff='cutoff="5"', size="1 1", fov="180 90"))
    data = stiction.Data(bounded)
    stiction.step(bounded, data, 200)
    assert data.sensordata[1] == 5


@pytest.mark.parametrize("values, words", [
    ({"size": "7"}, "size must be two"), ({"size": "7 0"}, "size must be two"), ({"size": "2.5 3"}, "size must be two"),
    ({"fov": "190 20"}, "fov must be two angles"), ({"fov": "20"}, "fov must be"), ({"gamma": "2"}, "gamma must be from 0 to 1"),
    ({"nchannel": "7"}, "nchannel must be"), ({"size": "30000 30000"}, "too many sensor values")])
def test_touch_grid_refused(values, words):
    with pytest.raises(stiction.Error, match=words):
        stiction.Model.from_xml_string(resting(**{"size": "7 5", "fov": "90 45", **values}))


def test_touch_grid_needs_a_site():
    xml = resting(size="2 2", fov="90 45").replace('objtype="site" objname="inside"', 'objtype="geom" objname="x"').replace("<geom size", '<geom name="x" size')
    with pytest.raises(stiction.Error, match="must be site"):
        stiction.Model.from_xml_string(xml)
