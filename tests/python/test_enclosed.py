# SPDX-License-Identifier: Apache-2.0
"""insidesite with enclosed: how far an object reaches out of a site."""
import mujoco
import numpy as np
import pytest

import stiction

SCENE = """<mujoco><compiler angle="radian"/><asset><mesh name="m" vertex="0 0 0 .3 0 0 0 .2 0 0 0 .4 .1 .1 .3"/><hfield name="h" nrow="2" ncol="2" size="1 1 .2 .1" elevation="0 0 0 1"/></asset><worldbody>
<site name="s" type="{site}" size="{size}" pos="{pos}" euler="{euler}"/><site name="ms" type="mesh" mesh="m"/><geom name="pl" type="plane" size="1 1 1" pos="0 0 -3"/><geom name="hf" type="hfield" hfield="h" pos="0 0 -9"/>
<body name="b"><freejoint/><geom name="g" {geom}/><camera name="c"/><site name="o" type="capsule" size=".05 .2" pos=".1 0 0"/><body name="child" pos=".5 .1 0"><geom size=".07"/></body></body><body name="none"/></worldbody>
<sensor><insidesite objtype="{kind}" objname="{name}" site="s" enclosed="true" {more}/></sensor></mujoco>"""


def scene(site="sphere", size="1", pos="0 0 0", euler="0 0 0", geom='size=".1"', kind="geom", name="g", more=""):
    return SCENE.format(site=site, size=size, pos=pos, euler=euler, geom=geom, kind=kind, name=name, more=more)


def reading(xml):
    model = stiction.Model.from_xml_string(xml)
    data = stiction.Data(model)
    stiction.forward(model, data)
    return data.sensordata[0]


def theirs(xml):
    mj = mujoco.MjModel.from_xml_string(xml)
    mjd = mujoco.MjData(mj)
    mujoco.mj_forward(mj, mjd)
    return mjd.sensordata[0]


@pytest.mark.parametrize("site, size, geom, expected", [
    ("sphere", "1", 'size=".1" pos=".85 0 0"', -.05), ("sphere", "1", 'size=".1" pos="0 3 0"', 2.1), ("sphere", "1", 'type="box" size=".1 .2 .3"', .14**.5 - 1),
    ("box", "1 2 3", 'size=".1" pos=".5 0 0"', -.4), ("box", "1 2 3", 'size=".1" pos="4 6 3"', 5.1), ("box", "1 1 1", 'type="cylinder" size=".6 .2" pos=".3 .3 0"', -.1),
    ("capsule", "1 2", 'type="capsule" size=".2 .5" pos="0 0 4"', 1.7), ("capsule", "1 2", 'type="ellipsoid" size=".2 .3 .4" pos="0 0 0"', -.7), ("cylinder", "1 2", 'type="ellipsoid" size=".2 .3 .4"', -.7),
    ("cylinder", "1 2", 'size=".5" pos="4 0 6"', 5.5), ("cylinder", "3 2", 'type="capsule" size=".5 1"', -.5), ("ellipsoid", "1 2 3", 'size=".1" pos="0 0 5"', 2.1),
    ("ellipsoid", "1 2 3", 'size=".1"', -.9), ("ellipsoid", ".5 .6 .7", 'type="ellipsoid" size=".5 .6 .7"', 0), ("ellipsoid", "1 1 1", 'type="box" size="2 2 2"', 12**.5 - 1),
    ("sphere", "1", 'type="cylinder" size=".3 .4" pos="0 0 .1"', (.3**2 + .5**2)**.5 - 1), ("box", "1 1 1", 'type="mesh" mesh="m"', None)])
def test_closed_forms(site, size, geom, expected):
    xml = scene(site, size, geom=geom)
    if expected is None:
        mj = mujoco.MjModel.from_xml_string(xml)
        mjd = mujoco.MjData(mj)
        mujoco.mj_forward(mj, mjd)
        expected = np.abs(mj.mesh_vert @ mjd.geom("g").xmat.reshape(3, 3).T + mjd.geom("g").xpos).max() - 1
    assert reading(xml) == pytest.approx(expected, abs=1e-12)


GEOMS = ['size=".1"', 'type="box" size=".1 .2 .3"', 'type="capsule" size=".1 .2"', 'type="cylinder" size=".1 .2"', 'type="ellipsoid" size=".1 .2 .3"', 'type="mesh" mesh="m"']


@pytest.mark.parametrize("site, size", [("sphere", "1"), ("capsule", ".5 .6"), ("cylinder", ".7 .4"), ("box", ".5 .6 .7"), ("ellipsoid", ".6 .5 .9")])
def test_against_mujoco(site, size):
    """The largest distance; MuJoCo looks for it in steps, which end at most 0.01 short of it, and in ellipsoids not short at all."""
    rng = np.random.default_rng(3)
    for geom in GEOMS:
        for scale in (.1, .4, .8):
            xml = scene(site, size, " ".join(map(str, scale * rng.normal(size=3))), " ".join(map(str, rng.normal(size=3))), geom)
            ours, other = reading(xml), theirs(xml)
            assert -1e-9 < ours - other < (1e-9 if site == "ellipsoid" else .01), (geom, xml)


@pytest.mark.parametrize("kind, name", [("geom", "g"), ("body", "b"), ("xbody", "b"), ("site", "o"), ("xbody", "child")])
def test_objects(kind, name):
    xml = scene("ellipsoid", ".6 .5 .9", ".1 .2 0", ".3 .2 .1", GEOMS[4], kind, name)
    assert reading(xml) == pytest.approx(theirs(xml), abs=1e-9)
    model, mj = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    for field in ("sensor_datatype", "sensor_needstage", "sensor_dim", "sensor_intprm"):
        np.testing.assert_array_equal(np.ravel(getattr(model, field)), np.ravel(getattr(mj, field)))
    assert reading(scene(more='cutoff=".05"')) == theirs(scene(more='cutoff=".05"')) == -.05
    batch = stiction.Batch(model, 9)
    data = stiction.Data(model)
    batch.step(3)
    stiction.step(model, data, 3)
    np.testing.assert_array_equal(batch.sensordata, np.tile(data.sensordata, (9, 1)))


@pytest.mark.parametrize("kind, name, match", [("camera", "c", "camera"), ("geom", "pl", "convex"), ("geom", "hf", "convex"), ("body", "none", "no geoms"), ("xbody", "world", "convex"), ("site", "ms", "mesh")])
def test_refused(kind, name, match):
    with pytest.raises(stiction.Error, match=match):
        stiction.Model.from_xml_string(scene(kind=kind, name=name))
