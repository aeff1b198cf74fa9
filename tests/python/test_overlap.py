# SPDX-License-Identifier: Apache-2.0
"""Links that overlap by design, beside MuJoCo: joints move at least as far, nothing is thrown, and the pairs are named."""
import mujoco
import pytest
import stiction

BASE = '<mujoco><option timestep="0.002"/><worldbody>{}</worldbody><actuator><motor joint="j" ctrlrange="-{} {}"/></actuator></mujoco>'
HINGE = BASE.format("""<geom type="box" size=".06 .06 .05" pos="0 0 .05"/><body name="link" pos="0 0 .1">
<joint name="j" axis="{}" armature=".1" damping=".5"/><geom type="box" size=".05 .05 .1" pos="0 0 .088" mass="1.5"/>
<geom type="capsule" size=".03" fromto="0 0 .15 .4 0 .2" mass="3"/></body>""", 39, 39)
FORK = BASE.format("""<geom type="box" size=".05 .02 .05" pos="0 .035 0"/><geom type="box" size=".05 .02 .05" pos="0 -.035 0"/>
<body name="link"><joint name="j" axis="1 0 0" pos="0 0 .3" armature=".02" damping=".2"/>
<geom type="box" size=".03 .02 .05" mass="1"/></body>""", 20, 20)
SCENES = {"along the hinge": HINGE.format("0 0 1"), "at 6 degrees to the hinge": HINGE.format(".1 .05 1"), "in a fork": FORK}


def mujoco_way(xml, contact=True, steps=150):
    model = mujoco.MjModel.from_xml_string(xml)
    if not contact:
        model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    data = mujoco.MjData(model)
    data.ctrl[:] = model.actuator_ctrlrange[:, 1]
    for _ in range(steps):
        mujoco.mj_step(model, data)
    return abs(data.qpos[0])


@pytest.mark.parametrize("name", SCENES)
def test_motors_turn_joints_at_least_as_far_as_in_mujoco(name):
    model = stiction.Model.from_xml_string(SCENES[name])
    data = stiction.Data(model)
    data.ctrl[:] = model.actuator_ctrlrange[:, 1]
    force = 0
    for _ in range(150):
        stiction.step(model, data)
        force = max([force, *(c.force[0] for c in data.contact)])
    free = mujoco_way(SCENES[name], contact=False)
    assert 0.8 * mujoco_way(SCENES[name]) < abs(data.qpos[0]) < 1.2 * free
    assert data.overlaps and "their joints cannot open: consider <exclude>" in data.overlaps[0][3]
    assert force < 1e5


def test_check_names_them(tmp_path):
    path = tmp_path / "hinge.xml"
    path.write_text(SCENES["along the hinge"])
    messages = [item["message"] for item in stiction.check(path)]
    assert messages == ["links world and link overlap by 12 mm in a direction that their joints cannot open: consider <exclude>"]
    path.write_text(SCENES["along the hinge"].replace("<actuator>", '<contact><exclude body1="world" body2="link"/></contact><actuator>'))
    assert stiction.check(path) == []

