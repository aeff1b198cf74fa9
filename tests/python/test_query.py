# SPDX-License-Identifier: Apache-2.0
"""Rays, distances and the sensors that use them, against MuJoCo."""
import numpy as np
import pytest

import stiction

mujoco = pytest.importorskip("mujoco")

SCENE = """
<mujoco>
  <option ccd_tolerance="1e-12" ccd_iterations="500"/>
  <asset>
    <hfield name="hills" nrow="5" ncol="6" size="2 1.5 .4 .2"
      elevation="0 1 2 1 0 1  2 3 1 0 2 2  0 0 1 4 2 1  3 1 0 2 1 0  1 2 3 0 1 4"/>
    <mesh name="star" vertex="0 0 .6 .2 .2 .1 .6 0 0 .2 -.2 -.1 0 -.6 0 -.2 -.2 .1 -.6 0 0 -.2 .2 -.1 0 .6 0 0 0 -.5"
      face="0 2 1 0 3 2 0 4 3 0 5 4 0 6 5 0 7 6 0 8 7 0 1 8 9 1 2 9 2 3 9 3 4 9 4 5 9 5 6 9 6 7 9 7 8 9 8 1"/>
    <material name="ghost" rgba="1 1 1 0"/>
  </asset>
  <worldbody>
    <geom type="plane" size="6 6 .1" pos="0 0 -1" euler="3 4 5"/>
    <geom type="hfield" hfield="hills" pos="0 0 -.6" group="1"/>
    <geom type="box" size=".3 .2 .4" pos="1 1 0" euler="20 30 40"/>
    %s
  </worldbody>
  <sensor>%s</sensor>
</mujoco>"""
SHAPES = ('size=".3"', 'type="capsule" size=".15 .3"', 'type="ellipsoid" size=".2 .3 .4"',
          'type="cylinder" size=".2 .3"', 'type="box" size=".2 .3 .1"', 'type="mesh" mesh="star"')


def scene(rng, count=24):
    bodies = "".join(
        f'<body name="b{i}" pos="{x[0]} {x[1]} {x[2]}" euler="{x[3] * 90} {x[4] * 90} {x[5] * 90}"><freejoint/>'
        f'<geom name="g{i}" {SHAPES[i % len(SHAPES)]} group="{i % 5}"/><site name="s{i}"/></body>'
        for i, x in enumerate(rng.uniform(-1.5, 1.5, (count, 6))))
    sensors = "".join(f'<rangefinder site="s{i}" data="{data}"/>' for i in range(count)
                      for data in ("dist", "dist dir origin point normal depth", "origin depth"))
    sensors += "".join(f'<{kind} geom1="g{i}" geom2="g{k}" cutoff="2"/>' for i in range(count) for k in range(count)
                       if i != k for kind in ("distance", "normal", "fromto"))
    xml = SCENE % (bodies, sensors)
    theirs = mujoco.MjModel.from_xml_string(xml)
    their_data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, their_data)
    ours = stiction.Model.from_xml_string(xml)
    our_data = stiction.Data(ours)
    stiction.forward(ours, our_data)
    return theirs, their_data, ours, our_data


def buried(p):
    """Inside the hills, where MuJoCo's rays meet a face between base and hills that is not on the surface."""
    return abs(p[0]) <= 2 and abs(p[1]) <= 1.5 and -0.8 <= p[2] <= -0.2


@pytest.fixture(scope="module")
def worlds():
    return [scene(np.random.default_rng(seed)) for seed in range(3)]


def test_hfield_fields(worlds):
    theirs, _, ours, _ = worlds[0]
    for name in ("hfield_size", "hfield_data", "hfield_nrow", "hfield_ncol", "hfield_adr"):
        np.testing.assert_allclose(np.squeeze(getattr(ours, name)), np.squeeze(getattr(theirs, name)), atol=1e-7)
    for name in ("geom_size", "geom_rbound"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), atol=1e-7)


@pytest.mark.parametrize("options", [{}, {"fixed": False}, {"groups": (1, 3)}, {"bodyexclude": 2}])
def test_rays(worlds, options):
    rng = np.random.default_rng(5)
    hits = differ = 0
    for theirs, their_data, ours, our_data in worlds:
        for _ in range(400):
            p, v = rng.uniform(-3, 3, 3), rng.normal(size=3)
            if rng.random() < 0.2:
                v[rng.integers(3)] = 0
            if buried(p):
                continue
            geom, normal = np.zeros(1, np.int32), np.zeros(3)
            groups = None
            if "groups" in options:
                groups = np.array([g in options["groups"] for g in range(6)], np.uint8)
            x = mujoco.mj_ray(theirs, their_data, p, v, groups, options.get("fixed", True),
                              options.get("bodyexclude", -1), geom, normal)
            got = stiction.ray(ours, our_data, p, v, **options)
            hits += x >= 0
            same = got.geom == geom[0] and abs(got.distance - x) < 1e-6 * max(1, x)
            if same and x >= 0:
                same = np.allclose(got.normal, normal, atol=1e-4)
            differ += not same
    assert hits > 90
    assert differ == 0


def is_capsule_in_box(model, geoms):
    """MuJoCo does not push a capsule out of a box along the nearest way."""
    kinds = {int(model.geom_type[g]) for g in geoms}
    return kinds == {int(mujoco.mjtGeom.mjGEOM_CAPSULE), int(mujoco.mjtGeom.mjGEOM_BOX)}


def test_sensors(worlds):
    rays = apart = deep = 0
    for theirs, their_data, ours, our_data in worlds:
        kind = theirs.sensor_type
        assert (ours.sensor_dim == theirs.sensor_dim).all() and (ours.sensor_intprm == theirs.sensor_intprm).all()
        for i in range(theirs.nsensor):
            at = slice(theirs.sensor_adr[i], theirs.sensor_adr[i] + theirs.sensor_dim[i])
            a, b = our_data.sensordata[at], their_data.sensordata[at]
            if kind[i] == mujoco.mjtSensor.mjSENS_RANGEFINDER:
                if not buried(their_data.site_xpos[theirs.sensor_objid[i]]):
                    assert a == pytest.approx(b, abs=1e-4 if len(a) > 1 else 1e-6), ours.sensor(i)
                    rays += b[0] >= 0
                continue
            geoms = theirs.sensor_objid[i], theirs.sensor_refid[i]
            if kind[i] == mujoco.mjtSensor.mjSENS_GEOMDIST:
                distance = b[0]
            if distance < 0 and is_capsule_in_box(theirs, geoms):
                continue
            if kind[i] == mujoco.mjtSensor.mjSENS_GEOMDIST:
                assert a == pytest.approx(b, abs=1e-6), ours.sensor(i)
            elif kind[i] == mujoco.mjtSensor.mjSENS_GEOMNORMAL:
                assert a == pytest.approx(b, abs=3e-5), ours.sensor(i)
                apart += distance > 0
                deep += distance < 0
            elif distance > 0:
                assert a == pytest.approx(b, abs=1e-4), ours.sensor(i)
            else:  # points on two faces are not unique; what lies between them is
                assert a[3:] - a[:3] == pytest.approx(b[3:] - b[:3], abs=1e-5), ours.sensor(i)
    assert rays > 30 and apart > 500 and deep > 20, (rays, apart, deep)


def test_distances(worlds):
    for theirs, their_data, ours, our_data in worlds:
        for i in range(3, theirs.ngeom, 2):
            for j in range(4, theirs.ngeom, 3):
                ft = np.zeros(6)
                x = mujoco.mj_geomDistance(theirs, their_data, i, j, 5.0, ft)
                if i == j or x < 0:
                    continue
                got = stiction.geom_distance(ours, our_data, i, j, 5.0)
                assert got.distance == pytest.approx(x, abs=2e-6)
                assert np.linalg.norm(got.fromto[1] - got.fromto[0]) == pytest.approx(x, abs=2e-6)


HFIELD = """<mujoco><asset><hfield name="h" file="h.bin" size="1 1 1 1"/></asset>
<worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>"""


def test_hfield_file():
    heights = np.random.default_rng(0).normal(size=(4, 7)).astype(np.float32)
    content = np.array([4, 7], np.int32).tobytes() + heights.tobytes()
    ours = stiction.Model.from_xml_string(HFIELD, assets={"h.bin": content})
    theirs = mujoco.MjModel.from_xml_string(HFIELD, assets={"h.bin": content})
    np.testing.assert_allclose(ours.hfield_data, theirs.hfield_data, atol=1e-6)
    assert (ours.hfield_nrow[0], ours.hfield_ncol[0]) == (4, 7)


@pytest.mark.parametrize("content", [b"", b"\4\0\0\0", np.array([4, 7], np.int32).tobytes(),
                                     np.array([-4, -7], np.int32).tobytes() + bytes(112),
                                     np.array([2**30, 2**30], np.int32).tobytes() + bytes(112),
                                     np.array([1, 28], np.int32).tobytes() + bytes(112),
                                     np.array([4, 7], np.int32).tobytes() + b"\xff" * 112, b"\x89PNG\r\n\x1a\n"])
def test_bad_hfield_file(content):
    with pytest.raises(stiction.Error):
        stiction.Model.from_xml_string(HFIELD, assets={"h.bin": content})


LENSES = ('fovy="50"', 'projection="orthographic" fovy="3"', 'sensorsize=".004 .003" focal=".005 .004"')


@pytest.mark.parametrize("lens", LENSES)
def test_rangefinders_of_cameras(lens):
    """Every pixel against MuJoCo. Its rangefinders count the principal point from the image's corner, its pictures from the
    middle, as ours do: it is told the corner's. Its orthographic images are as wide as high."""
    rng = np.random.default_rng(4)
    bodies = "".join(f'<body pos="{x[0]} {x[1]} {x[2]}"><geom {SHAPES[i % 5]}/></body>'
                     for i, x in enumerate(rng.uniform(-1, 1, (12, 3))))
    xml = """<mujoco><worldbody>%s<geom type="plane" size="9 9 1" pos="0 0 -1.5"/>
      <body pos="0.3 -4 0.5" euler="80 5 3"><freejoint/><geom size=".1"/>
      <camera name="eye" resolution="%d 12" %s/></body></worldbody>
      <sensor><rangefinder camera="eye" data="dist dir origin point normal depth"/></sensor></mujoco>"""
    width = 12 if "ortho" in lens else 16
    corner = ' principal="0.002 0.0015"' if "focal" in lens else ""
    theirs = mujoco.MjModel.from_xml_string(xml % (bodies, width, lens + corner))
    there = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, there)
    ours = stiction.Model.from_xml_string(xml % (bodies, width, lens))
    here = stiction.Data(ours)
    stiction.forward(ours, here)
    assert ours.sensor_dim[0] == theirs.sensor_dim[0] == width * 12 * 14
    assert ours.cam_projection[0] == theirs.cam_projection[0]
    hit = here.sensordata.reshape(-1, 14)[:, 0] >= 0
    assert 50 < hit.sum() < width * 12
    np.testing.assert_allclose(here.sensordata, there.sensordata, atol=2e-6)


def test_principal_point_of_a_camera():
    """An image that is moved by one pixel sees what its neighbours saw: to the right and down."""
    xml = """<mujoco><worldbody><body pos=".1 .2 -2"><geom type="ellipsoid" size=".6 .8 .7"/></body>
      <camera name="eye" resolution="9 7" sensorsize=".009 .007" focal=".005 .005" principal="%g %g"/></worldbody>
      <sensor><rangefinder camera="eye"/></sensor></mujoco>"""
    seen = []
    for shift in ((0, 0), (1e-3, 0), (0, 1e-3)):
        model = stiction.Model.from_xml_string(xml % shift)
        data = stiction.Data(model)
        stiction.forward(model, data)
        seen.append(data.sensordata.reshape(7, 9).copy())
    assert (seen[0] > 0).sum() > 5
    np.testing.assert_allclose(seen[1][:, :-1], seen[0][:, 1:], atol=1e-6)
    np.testing.assert_allclose(seen[2][:-1], seen[0][1:], atol=1e-6)
