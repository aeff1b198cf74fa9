# SPDX-License-Identifier: Apache-2.0
"""Tactile sensors: depth and slip at the vertices of a mesh, beside MuJoCo's, whose normals are single precision."""
import mujoco
import numpy as np
import pytest

import stiction

SCENE = """<mujoco><extension><plugin plugin="mujoco.sdf.torus"><instance name="t"><config key="radius1" value=".2"/><config key="radius2" value=".15"/></instance></plugin></extension>
<asset><mesh name="pad" {mesh}/><mesh name="torus"><plugin instance="t"/></mesh></asset>
<worldbody><geom name="floor" type="plane" size="3 3 .1"/>
<body pos=".05 .02 {height}"><joint type="slide" axis="1 0 0"/><joint axis="0 0 1" pos=".1 0 0"/><geom {other}/></body>
<body name="f" pos="0 0 .19"><freejoint/><geom type="box" size=".3 .5 .2" mass="1"/>
<geom name="skin" type="mesh" mesh="pad" mass="0" contype="0" conaffinity="0" pos="0 .1 -.01"/></body>
</worldbody><sensor><tactile geom="skin" mesh="pad"/><tactile geom="skin" mesh="pad" cutoff=".02"/></sensor></mujoco>"""
PLATE, WEDGE = 'builtin="plate" params="5 4" scale=".3 .5 .2"', 'builtin="wedge" params="5 6 70 40 .4" scale=".3 .4 .25"'
OTHERS = {
    "sphere": 'size=".3"',
    "capsule": 'type="capsule" size=".2 .2" euler="70 0 0"',
    "box": 'type="box" size=".2 .15 .25" euler="20 0 10"',
    "cylinder": 'type="cylinder" size=".2 .25"',
    "torus": 'type="sdf" mesh="torus" mass="1"><plugin instance="t"/></geom><geom size=".01" contype="0" conaffinity="0"',
}


def both(other, mesh, height=0.1):
    xml = SCENE.format(mesh=mesh, other=OTHERS[other], height=height)
    theirs, ours = mujoco.MjModel.from_xml_string(xml), stiction.Model.from_xml_string(xml)
    mjd, data = mujoco.MjData(theirs), stiction.Data(ours)
    mjd.qvel[:] = data.qvel[:] = np.linspace(-0.7, 0.9, ours.nv)
    mujoco.mj_forward(theirs, mjd)
    stiction.forward(ours, data)
    return theirs, mjd, ours, data


@pytest.mark.parametrize("mesh", [PLATE, WEDGE], ids=["plate", "wedge"])
@pytest.mark.parametrize("other", OTHERS)
def test_depth_and_slip(other, mesh):
    theirs, mjd, ours, data = both(other, mesh)
    assert list(ours.sensor_dim) == list(theirs.sensor_dim) and list(ours.sensor_needstage) == list(theirs.sensor_needstage)
    n = ours.sensor_dim[0] // 3
    depth = data.sensordata[:n]
    assert (depth > 0.011).sum() >= 2, "the other geom is felt, not the floor alone"
    assert (data.sensordata[n : 3 * n] > 0.01).sum() > n / 2
    assert data.sensordata[3 * n :].max() <= 0.02
    same = slice(n, 3 * n) if other == "box" else slice(None)  # MuJoCo's depth in a box is not that to its nearest face
    assert np.abs(data.sensordata - mjd.sensordata)[same].max() < 2e-6
    if other == "box":
        skin, box = ours.geom("skin").id, 1
        points = data.geom_xpos[skin] + ours.mesh_vert[:n] @ data.geom_xmat[skin].reshape(3, 3).T
        inside = ours.geom_size[box] - np.abs((points - data.geom_xpos[box]) @ data.geom_xmat[box].reshape(3, 3))
        np.testing.assert_allclose(depth, np.maximum(np.maximum(inside.min(axis=1), -points[:, 2]), 0), atol=1e-9)


def test_nothing_is_felt_apart():
    data = both("sphere", PLATE)[3]
    data.qpos[4] += 1  # the pad's height
    stiction.forward(data.model, data)
    assert not data.sensordata.any()


def test_other_meshes_have_no_slip():
    ours, data = both("sphere", 'vertex="-.1 -.1 -.1 .1 -.1 -.1 0 .1 -.1 0 0 .1"')[2:]
    n = ours.sensor_dim[0] // 3
    assert n == 4 and data.sensordata[:n].max() > 0.05 and not data.sensordata[n : 3 * n].any()


@pytest.mark.parametrize("sensor, what", [('<tactile geom="skin"/>', "mesh"), ('<tactile mesh="pad"/>', "geom"), ('<tactile geom="skin" mesh="no"/>', "mesh")])
def test_both_must_be_named(sensor, what):
    xml = SCENE.format(mesh=PLATE, other=OTHERS["sphere"], height=0).replace('<tactile geom="skin" mesh="pad"/>', sensor)
    with pytest.raises(stiction.Error) as caught:
        stiction.Model.from_xml_string(xml)
    assert caught.value.element == "tactile" and caught.value.attribute == what
