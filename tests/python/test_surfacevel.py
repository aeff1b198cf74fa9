# SPDX-License-Identifier: Apache-2.0
"""Surfaces that move: belts, turntables, treadmills."""
import mujoco
import numpy as np
import pytest

import stiction

SCENE = """<mujoco><option timestep="0.002" integrator="{integrator}"/><asset><mesh name="m" vertex="-2 -2 -.3 2 -2 -.3 -2 2 -.3 2 2 -.3 -2 -2 .1 2 -2 .1 -2 2 .1 2 2 .1"/></asset>
<worldbody>{floor}<body pos="{x} 0 .1"><freejoint/><geom type="{shape}" size=".1 .1 .1" {body}/></body></worldbody></mujoco>"""
PLANE = '<geom type="plane" size="5 5 1" surfacevel="{v}" friction="{mu}" {more}/>'


def scene(v, mu=0.5, x=0, shape="box", body="", integrator="Euler", more=""):
    floor = PLANE.format(v=v, mu=mu, more=more)
    return stiction.Model.from_xml_string(SCENE.format(floor=floor, x=x, shape=shape, body=body, integrator=integrator))


@pytest.mark.parametrize("integrator", ["Euler", "implicitfast", "implicit", "RK4", "alm"])
def test_a_box_is_driven_by_friction_and_then_carried(integrator):
    """It slides with mu g until it is as fast as the belt, and then does not creep."""
    model = scene("1 0 0", mu=0.5, body='friction="0.1"', integrator=integrator)
    data = stiction.Data(model)
    stiction.step(model, data, 50)
    assert abs(data.qvel[0] - 0.5 * 9.81 * 0.1) < 0.02
    stiction.step(model, data, 200)
    speed, start = data.qvel[0], data.qpos[0]
    assert abs(speed - 1) < 1e-5
    stiction.step(model, data, 1000)
    assert abs(data.qpos[0] - start - 2) < 1e-4 and abs(data.qpos[1]) < 1e-8


def test_the_surface_of_the_other_body():
    """A box whose own surface runs drives itself, the other way."""
    model = scene("0 0 0", body='surfacevel="1 0 0" friction="0.5"')
    data = stiction.Data(model)
    stiction.step(model, data, 400)
    assert abs(data.qvel[0] + 1) < 1e-5


def test_both_surfaces_add_up():
    model = scene("1 0 0", body='surfacevel="0.25 0 0" friction="0.5"')
    data = stiction.Data(model)
    stiction.step(model, data, 500)
    assert abs(data.qvel[0] - 0.75) < 1e-5


def test_a_turntable_carries_round():
    """At radius r it needs omega^2 r / g of friction: with less it slides off."""
    held, lost = (scene("0 0 0 0 0 2", mu=mu, x=0.5, body='friction="0.01"') for mu in (0.5, 0.1))
    data = stiction.Data(held)
    data.qvel[:] = [0, 1, 0, 0, 0, 2]
    stiction.step(held, data, 1000)
    angle = 2 * 2.0
    assert np.allclose(data.qpos[:2], [0.5 * np.cos(angle), 0.5 * np.sin(angle)], atol=5e-3)
    assert np.allclose(data.qvel[[0, 1, 5]], [-np.sin(angle), np.cos(angle), 2], atol=2e-2)
    data = stiction.Data(lost)
    data.qvel[:] = [0, 1, 0, 0, 0, 2]
    stiction.step(lost, data, 1000)
    assert np.hypot(*data.qpos[:2]) > 0.6


def test_spin_of_condim_4():
    """A ball at the middle of a turntable is spun by torsional friction alone."""
    model = scene("0 0 0 0 0 1", shape="sphere", body='condim="4" friction="0.5 0.05"')
    data = stiction.Data(model)
    stiction.step(model, data, 1500)
    assert abs(data.qvel[5] - 1) < 1e-4


def test_a_belt_that_is_blocked_pushes_with_all_its_friction():
    xml = """<mujoco><worldbody><geom type="plane" size="5 5 1" surfacevel="1 0 0" friction="0.5"/>
      <body pos="0 0 .1"><joint name="x" axis="1 0 0" type="slide" range="0 .01" limited="true"/><joint axis="0 0 1" type="slide"/>
      <geom type="box" size=".1 .1 .1" mass="2" friction="0.1"/></body></worldbody><sensor><jointlimitfrc joint="x"/></sensor></mujoco>"""
    model = stiction.Model.from_xml_string(xml)
    data = stiction.Data(model)
    stiction.step(model, data, 1000)
    assert abs(data.qvel[0]) < 1e-6
    assert abs(data.sensordata[0] - 0.5 * 2 * 9.81) < 1e-3 * 2 * 9.81


def test_a_soft_body_is_carried():
    model = stiction.Model.from_xml_string("""<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 1" surfacevel="1 0 0" friction="0.8"/>
      <flexcomp name="f" dim="3" type="grid" count="3 3 3" spacing=".05 .05 .05" pos="0 0 .051" mass="1" radius="0"><elasticity young="1e5" poisson=".3"/></flexcomp></worldbody></mujoco>""")
    data = stiction.Data(model)
    stiction.step(model, data, 200)
    before = data.flexvert_xpos.reshape(-1, 3).mean(axis=0)
    stiction.step(model, data, 100)
    moved = data.flexvert_xpos.reshape(-1, 3).mean(axis=0) - before
    assert abs(moved[0] - 0.5) < 5e-3 and abs(moved[1]) < 1e-3


@pytest.mark.parametrize("geom", [
    '<geom type="box" size="2 2 .1" euler="10 20 30" surfacevel="1 2 3 .1 .2 .3"/>',
    '<geom type="mesh" mesh="m" euler="10 20 30" surfacevel="1 2 3 .1 .2 .3"/>', '<geom type="box" mesh="m" surfacevel="1 2 3 .1 .2 .3"/>',
    '<geom type="capsule" size=".1" fromto="0 0 0 1 0 0" surfacevel="1"/>'])
def test_the_field_is_mujocos(geom):
    xml = SCENE.format(floor=geom, x=0, shape="box", body="", integrator="Euler")
    ours, theirs = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    # axes of a mesh may point the other way
    turn = [np.zeros(9), np.zeros(9)]
    for k, m in enumerate((ours, theirs)):
        mujoco.mju_quat2Mat(turn[k], np.asarray(m.geom_quat[0], float))
    for part in (slice(0, 3), slice(3, 6)):
        a, b = (turn[k].reshape(3, 3) @ np.asarray(m.geom_surfacevel[0][part]) for k, m in enumerate((ours, theirs)))
        np.testing.assert_allclose(a, b, atol=1e-9)


def test_relative_velocity_is_mujocos():
    """Along a belt and round a table, the box ends with the velocity that it has in MuJoCo."""
    for v in ("0.5 0.25 0", "0.3 0 0 0 0 0.5"):
        xml = SCENE.format(floor=PLANE.format(v=v, mu=1, more=""), x=0.3, shape="box", body="", integrator="Euler")
        model, mj = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
        data, mjd = stiction.Data(model), mujoco.MjData(mj)
        stiction.step(model, data, 500)
        mujoco.mj_step(mj, mjd, 500)
        assert np.allclose(data.qvel, mjd.qvel, atol=2e-2) and np.allclose(data.qpos[:2], mjd.qpos[:2], atol=1e-2)
