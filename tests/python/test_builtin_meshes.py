# SPDX-License-Identifier: Apache-2.0
"""Meshes of builtin shapes, beside MuJoCo."""
import mujoco
import numpy as np
import pytest

import stiction

SCENE = """<mujoco><asset><mesh name="m" {inertia} builtin="{shape}" params="{params}" scale="1 .5 .25" refpos=".1 .2 .3"/></asset>
<worldbody><body><freejoint/><geom type="mesh" mesh="m" {geom}/></body></worldbody></mujoco>"""

SHAPES = [("sphere", p) for p in ("0", "1", "2.7", "3", "4")] + [("hemisphere", str(p)) for p in range(11)] + [
    ("cone", "3 0"), ("cone", "17 0"), ("cone", "30.5 0.3"), ("cone", "8 1"), ("supersphere", "3 1 1"), ("supersphere", "12 0.5 2"),
    ("supersphere", "9 0 0"), ("supersphere", "21 1.3 0.2"), ("supertorus", "3 0.25 1 1"), ("supertorus", "16 0.4 0.5 2"),
    ("supertorus", "11 1 2.5 0.7"), ("wedge", "3 3 60 45 0"), ("wedge", "8 5 150 80 0.6"), ("wedge", "6 11 30 90 1")]
PLATES = [("plate", "7 4"), ("plate", "4 7")]


def both(shape, params, inertia="", geom=""):
    xml = SCENE.format(shape=shape, params=params, inertia=inertia, geom=geom)
    return stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)


@pytest.mark.parametrize("shape, params", SHAPES + PLATES)
def test_as_mujoco_makes_them(shape, params):
    flat = shape == "plate"
    model, mj = both(shape, params, 'inertia="shell"' if flat else "", 'contype="0" conaffinity="0"' if flat else "")
    assert (model.nmeshvert, model.nmeshface) == (mj.nmeshvert, mj.nmeshface)
    for name in ("body_mass", "body_ipos", "body_inertia", "geom_size"):
        np.testing.assert_allclose(getattr(model, name), getattr(mj, name), rtol=1e-9, atol=1e-9, err_msg=name)

    def placed(m):  # where the file has them; principal axes of round shapes are a matter of rounding
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, np.asarray(m.mesh_quat[0], float))
        return np.asarray(m.mesh_vert, float).reshape(-1, 3) @ turn.reshape(3, 3).T + m.mesh_pos[0]
    np.testing.assert_allclose(placed(model), placed(mj), atol=3e-7)
    if shape not in ("cone", "wedge"):  # these have the faces of their hull, in an order of its own
        np.testing.assert_array_equal(model.mesh_face, mj.mesh_face)


@pytest.mark.parametrize("shape, params", [
    ("sphere", "5"), ("sphere", "-1"), ("sphere", "1 2"), ("hemisphere", "11"), ("hemisphere", "-1"), ("cone", "2 0"), ("cone", "3 1.5"),
    ("cone", "3 -.1"), ("supersphere", "2 1 1"), ("supersphere", "3 -1 0"), ("supersphere", "3 1 -1"), ("supertorus", "2 1 1 1"),
    ("supertorus", "3 0 1 1"), ("supertorus", "3 2 1 1"), ("supertorus", "3 .5 0 1"), ("supertorus", "3 .5 1 0"), ("wedge", "0 1 60 45 0"),
    ("wedge", "2 2 190 45 0"), ("wedge", "2 2 20 0 1"), ("wedge", "2 2 20 91 1"), ("wedge", "3 3 60 45 2"), ("wedge", "2 2 60 45 0"),
    ("plate", "0 1"), ("prism", "1")])
def test_what_mujoco_refuses(shape, params):
    with pytest.raises(ValueError):
        mujoco.MjModel.from_xml_string(SCENE.format(shape=shape, params=params, inertia="", geom=""))
    with pytest.raises(stiction.Error):
        stiction.Model.from_xml_string(SCENE.format(shape=shape, params=params, inertia="", geom=""))


@pytest.mark.parametrize("extra", ['vertex="0 0 0 1 0 0 0 1 0 0 0 1"', 'file="a.stl"'])
def test_one_source(extra):
    with pytest.raises(stiction.Error, match="one of file, vertex and builtin"):
        stiction.Model.from_xml_string(f'<mujoco><asset><mesh name="m" builtin="sphere" params="1" {extra}/></asset></mujoco>')


def test_needs_params():
    with pytest.raises(stiction.Error, match="needs params"):
        stiction.Model.from_xml_string('<mujoco><asset><mesh name="m" builtin="sphere"/></asset></mujoco>')


def test_written_out():
    xml = SCENE.format(shape="supertorus", params="12 0.3 1 1", inertia="", geom="")
    spec = stiction.Spec.from_string(xml)
    again = stiction.Model.from_xml_string(spec.to_xml())
    np.testing.assert_array_equal(again.mesh_vert, stiction.Model.from_xml_string(xml).mesh_vert)
    assert 'builtin="supertorus"' in spec.to_xml()


def test_a_cone_stands_on_its_base():
    """The base lies at z = -1, so that the geom's frame rests at its height."""
    model = stiction.Model.from_xml_string("""<mujoco><asset><mesh name="c" builtin="cone" params="12 0.5" scale=".1 .1 .1"/></asset>
      <worldbody><geom type="plane" size="2 2 1"/><body name="b" pos="0 0 .1005"><freejoint/><geom type="mesh" mesh="c"/></body></worldbody></mujoco>""")
    data = stiction.Data(model)
    for _ in range(500):
        stiction.step(model, data)
    assert abs(data.qpos[2] - 0.1) < 1e-3 and np.abs(data.qvel).max() < 1e-6
