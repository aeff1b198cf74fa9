# SPDX-License-Identifier: Apache-2.0
"""Skins: fields and moved vertices are those of MuJoCo."""
import struct

import mujoco
import numpy as np
import pytest

import stiction

AROUND, RINGS = 24, 13
Z = np.repeat(np.linspace(0, 1, RINGS), AROUND)
ANGLE = np.tile(2 * np.pi * np.arange(AROUND) / AROUND, RINGS)
VERT = np.stack([0.12 * np.cos(ANGLE), 0.12 * np.sin(ANGLE), Z], axis=1)
WEIGHT = np.clip((Z - 0.35) / 0.3, 0, 1)
COORD = np.stack([ANGLE / 2, 1 - Z], axis=1)
FACE = np.array([f for r in range(RINGS - 1) for i in range(AROUND) for a, b in [(r * AROUND + i, r * AROUND + (i + 1) % AROUND)]
                 for f in ((a, b, b + AROUND), (a, b + AROUND, a + AROUND))])
BONES = [("a", (0, 0, 0), (1, 0, 0, 0), np.flatnonzero(WEIGHT < 1), 1 - WEIGHT[WEIGHT < 1]),
         ("b", (0, 0, .5), (1, 0, 0, .1), np.flatnonzero(WEIGHT > 0), 3 * WEIGHT[WEIGHT > 0])]  # weights are made to sum to 1


def words(x):
    return " ".join(f"{v:.9g}" for v in np.ravel(x))


def lists():
    bones = "".join(f'<bone body="{n}" bindpos="{words(p)}" bindquat="{words(q)}" vertid="{words(v)}" vertweight="{words(w)}"/>' for n, p, q, v, w in BONES)
    return f'<skin name="s" rgba="1 .5 .2 1" inflate=".01" group="1" vertex="{words(VERT)}" face="{words(FACE)}" texcoord="{words(COORD)}">{bones}</skin>'


def binary():
    data = struct.pack("<4i", len(VERT), len(COORD), len(FACE), len(BONES))
    data += VERT.astype("<f4").tobytes() + COORD.astype("<f4").tobytes() + FACE.astype("<i4").tobytes()
    for name, pos, quat, vert, weight in BONES:
        data += name.encode().ljust(40, b"\0") + struct.pack("<7fi", *pos, *quat, len(vert)) + vert.astype("<i4").tobytes() + weight.astype("<f4").tobytes()
    return data


def scene(skin, where="deformable"):
    return f"""<mujoco><worldbody><geom type="plane" size="2 2 .1"/><camera name="side" pos="0 -2.2 .5" xyaxes="1 0 0 0 0 1"/>
      <body name="a"><geom size=".02" group="3"/><body name="b" pos="0 0 .5"><joint name="j" axis="0 1 0"/><geom size=".02" pos="0 0 .4" group="3"/></body></body></worldbody>
      <{where}>{skin}</{where}></mujoco>"""


FIELDS = """nskin nskinvert nskintexvert nskinface nskinbone nskinbonevert skin_matid skin_group skin_rgba skin_inflate skin_vertadr skin_vertnum skin_texcoordadr
  skin_faceadr skin_facenum skin_boneadr skin_bonenum skin_vert skin_texcoord skin_face skin_bonevertadr skin_bonevertnum skin_bonebindpos skin_bonebindquat
  skin_bonebodyid skin_bonevertid skin_bonevertweight""".split()


@pytest.mark.parametrize("form", ["lists", "file"])
def test_fields_are_those_of_mujoco(form):
    skin, files = (lists(), {}) if form == "lists" else ('<skin name="s" file="s.skn" inflate=".01" group="1" rgba="1 .5 .2 1"/>', {"s.skn": binary()})
    theirs, ours = mujoco.MjModel.from_xml_string(scene(skin), files), stiction.Model.from_xml_string(scene(skin), files)
    for field in FIELDS:
        np.testing.assert_allclose(getattr(ours, field), getattr(theirs, field), atol=2e-7, err_msg=field)
    assert ours.skin("s").id == 0 and not ours.warnings


def test_vertices_move_as_in_mujoco():
    """Depths of a picture at the places where MuJoCo's vertices are, of those that face the camera."""
    theirs, ours = mujoco.MjModel.from_xml_string(scene(lists())), stiction.Model.from_xml_string(scene(lists()))
    their, our = mujoco.MjData(theirs), stiction.Data(ours)
    their.qpos[0] = our.qpos[0] = 1.1
    mujoco.mj_forward(theirs, their)
    stiction.forward(ours, our)
    looks = mujoco.MjvScene(theirs, 10)
    mujoco.mjv_updateScene(theirs, their, mujoco.MjvOption(), None, mujoco.MjvCamera(), 7, looks)
    vert, normal = (np.reshape(x, (-1, 3))[:len(VERT)] for x in (looks.skinvert, looks.skinnormal))
    with stiction.Renderer(ours, 240, 320) as renderer:
        renderer.update_scene(our, camera="side")
        renderer.enable_depth_rendering()
        depth = renderer.render()
        renderer.enable_segmentation_rendering()
        seen = renderer.render()
    away = vert[:, 1] + 2.2
    focal = 120 / np.tan(np.deg2rad(ours.cam_fovy[0]) / 2)
    x, y = (160 + focal * vert[:, 0] / away).astype(int), (120 - focal * (vert[:, 2] - 0.5) / away).astype(int)
    facing = (normal[:, 1] < -0.5) & (vert[:, 2] > 0.05)  # where neither the floor nor an edge is near
    inner = facing & (Z < 0.95)
    assert facing.sum() > 60
    error = np.abs(depth[y, x] - away)[facing]
    assert np.mean(error < 0.006) > 0.95 and np.median(error) < 0.003
    assert np.mean(seen[y, x, 1][inner] == 11) > 0.95  # mjOBJ_SKIN


def test_files_that_are_none():
    good = binary()
    for data, text in ((good[:-4], "no skin"), (b"", "no skin"), (b"\xff" * 64, "no skin"), (good[:16] + b"\0\0\xc0\x7f" + good[20:], "finite"),
                       (good.replace(b"b".ljust(40, b"\0"), b"z".ljust(40, b"\0")), "'z'")):
        with pytest.raises(stiction.Error, match=text):
            stiction.Model.from_xml_string(scene('<skin file="s.skn"/>'), {"s.skn": data})
    for skin, text in ((lists().replace('body="b"', 'body="z"'), "z"), ('<skin vertex="0 0 0 1 0 0 0 1 0" face="0 1 2"/>', "bones"),
                       ('<skin vertex="0 0 0 1 0 0 0 1 0" face="0 1 3"><bone body="a" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1 1"/></skin>', "exist"),
                       ('<skin vertex="0 0 0 1 0 0 0 1 0" face="0 1 2"><bone body="a" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1" vertweight="1 1"/></skin>', "no bone"),
                       ('<skin vertex="0 0 0 1 0 0 0 1 0" face="0 1 2"><bone body="a" bindpos="0 0 0" bindquat="1 0 0 0" vertid="0 1 2" vertweight="1 1"/></skin>', "one weight")):
        with pytest.raises(stiction.Error, match=text):
            stiction.Model.from_xml_string(scene(skin))
