# SPDX-License-Identifier: Apache-2.0
"""<flexcomp> of dimension 1 and 2: strings and nets."""
import math

import compare
import mujoco
import numpy as np
import pytest

import stiction

WORLD = "<mujoco><worldbody><body name='p' pos='0 0 1'>{}</body></worldbody></mujoco>"
SHAPES = ["dim='1' count='4 1 1' spacing='.1 .1 .1'", "count='3 4 1' spacing='.1 .2 .1' pos='1 0 .1' euler='10 20 30'",
          "type='square' count='4 3 1' quat='.5 .5 -.5 .5'", "type='disc' count='4 5 1' axisangle='1 1 0 30' inertiabox='.02'",
          "type='disc' count='5 4 1'", "dim='1' type='circle' count='6 1 1'",
          "type='direct' point='0 0 0 1 0 0 0 1 0 1 1 0' element='0 1 2 1 3 2' scale='2 1 3'"]
EDGES = ["equality='true'", "damping='3'", "stiffness='50' damping='3'"]  # in MuJoCo stiff ones are in strings only


@pytest.mark.parametrize("pin", ["", "<pin id='0 2'/>", "<pin range='1 2'/>"])
@pytest.mark.parametrize("shape, edge", [(shape, edge) for shape in SHAPES for edge in EDGES if "dim='1'" in shape or "stiffness" not in edge])
def test_smooth_dynamics(tmp_path, shape, edge, pin):
    path = tmp_path / "scene.xml"
    path.write_text(WORLD.format(f"<flexcomp name='f' mass='3' {shape}><edge {edge}/>{pin}<contact selfcollide='none'/></flexcomp>"))
    result = compare.compare(path, states=3, integrators=("Euler", "RK4"))  # the others take damping implicitly here
    assert result.status == "ok", result.detail


SURFACE = """v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 .5\nv 2 1 .3\nf 1 2 3\nf 2 4 3\nf 2 5 4\n"""
MESHES = ['<mesh name="m" file="cloth.obj" inertia="shell"/>', '<mesh file="cloth.obj" inertia="shell" scale="2 1 -1" refpos=".1 .2 .3" refquat="1 2 3 4"/>',
          '<mesh name="m" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>', '<mesh name="m" class="c" builtin="sphere" params="0"/>',
          '<mesh name="m" builtin="plate" params="3 4"/>']


def surface(tmp_path, asset, flexcomp, inside):
    (tmp_path / "part").mkdir()
    (tmp_path / "part" / "cloth.obj").write_text(SURFACE)
    path = tmp_path / "scene.xml"
    path.write_text(f"""<mujoco><compiler meshdir="part"/><default><default class="c"><mesh scale="1 2 3"/></default></default><asset>{asset}</asset><worldbody>
        <body name="p" pos="0 0 1"><flexcomp name="f" type="mesh" {flexcomp} scale="1 3 2" pos="1 0 .1" euler="10 20 30" mass="3">{inside}</flexcomp></body></worldbody></mujoco>""")
    return path


def test_a_net_of_a_file(tmp_path):
    path = surface(tmp_path, "", 'file="cloth.obj"', "<edge damping='3'/><contact selfcollide='none'/><pin id='2'/>")
    result = compare.compare(path, states=3, integrators=("Euler",))
    assert result.status == "ok", result.detail


@pytest.mark.parametrize("mesh", MESHES)
def test_nets_of_meshes(tmp_path, mesh):
    """MuJoCo rounds vertices of a mesh to single precision on their way."""
    path = surface(tmp_path, mesh, 'mesh="m"' if "name" in mesh else 'mesh="cloth"', "<edge damping='3'/><contact selfcollide='none'/><pin id='2'/>")
    ours, theirs = stiction.Model.from_xml_path(str(path)), mujoco.MjModel.from_xml_path(str(path))
    a, b = stiction.Data(ours), mujoco.MjData(theirs)
    a.qvel = b.qvel[:] = np.random.default_rng(0).normal(size=ours.nv)
    stiction.forward(ours, a)
    mujoco.mj_forward(theirs, b)
    np.testing.assert_allclose(a.xpos, b.xpos, atol=5e-7)
    np.testing.assert_allclose(a.qfrc_passive, b.qfrc_passive, atol=2e-6)


@pytest.mark.parametrize("mesh", MESHES[2:4])
def test_solids_of_meshes(tmp_path, mesh):
    path = surface(tmp_path, mesh, 'mesh="m" dim="3" origin=".1 .1 .1"', "<elasticity young='1e4'/>")
    ours, theirs = stiction.Model.from_xml_path(str(path)), mujoco.MjModel.from_xml_path(str(path))
    a, b = stiction.Data(ours), mujoco.MjData(theirs)
    stiction.forward(ours, a)
    mujoco.mj_forward(theirs, b)
    np.testing.assert_allclose(a.flexvert_xpos, b.flexvert_xpos, atol=5e-7)


@pytest.mark.parametrize("source, why", [("", "flexcomp@file: a soft body of this type needs a file or a mesh"), ('mesh="x"', "flexcomp@mesh: there is no mesh 'x'"),
                                         ('mesh="m" file="cloth.obj"', "flexcomp@mesh: file and mesh are both given"),
                                         ('file="gone.obj"', "flexcomp@file: cannot"), ('mesh="m" dim="1"', "flexcomp@dim: is not the dimension of this type")])
def test_meshes_that_are_not_there(tmp_path, source, why):
    with pytest.raises(stiction.Error, match=why):
        stiction.Model.from_xml_path(str(surface(tmp_path, MESHES[0], source, "")))


@pytest.mark.parametrize("pin", ["grid='0 1 2 2'", "gridrange='0 0 1 0'", "gridrange='1 1 2 2'"])
def test_pins_of_a_grid(tmp_path, pin):
    path = tmp_path / "scene.xml"
    path.write_text(WORLD.format(f"<flexcomp name='f' count='3 3 1'><edge damping='1'/><pin {pin}/></flexcomp>"))
    result = compare.compare(path, states=2, integrators=("Euler",))
    assert result.status == "ok", result.detail


def test_a_pendulum():
    """A string of two vertices, let go level: its speed at the lowest point is that of a mass on a thread."""
    model = stiction.Model.from_xml_string("<mujoco><option timestep='.0005'/><worldbody><flexcomp name='f' dim='1' count='2 1 1' spacing='1 1 1'>"
                                           "<edge equality='true' solref='.002 1'/><pin id='0'/></flexcomp></worldbody></mujoco>")
    data, lowest, fastest = stiction.Data(model), 0, 0
    for _ in range(1500):
        stiction.step(model, data)
        lowest, fastest = min(lowest, data.qpos[2]), max(fastest, np.linalg.norm(data.qvel))
    assert lowest == pytest.approx(-1, abs=5e-3)
    assert fastest == pytest.approx(math.sqrt(2 * 9.81), rel=5e-3)


def test_a_net_lies_on_the_floor():
    """By the spheres at its vertices; edges keep their length."""
    model = stiction.Model.from_xml_string("<mujoco><worldbody><geom type='plane' size='1 1 1'/><flexcomp name='f' count='4 4 1' spacing='.1 .1 .1' radius='.01' pos='0 0 .05'"
                                           " mass='.5'><edge equality='true'/></flexcomp></worldbody></mujoco>")
    data = stiction.Data(model)
    stiction.step(model, data, 500)
    np.testing.assert_allclose(data.xpos[1:, 2], .01, atol=1e-3)
    assert sum(c.force[0] for c in data.contact) == pytest.approx(.5 * 9.81, rel=1e-3)
    assert any("spheres at its vertices" in w for w in model.warnings)


def test_replicated(tmp_path):
    path = tmp_path / "scene.xml"
    path.write_text(WORLD.format("<replicate count='3' offset='0 0 1'><flexcomp name='f' dim='1' count='3 1 1'><edge equality='true'/><pin id='0'/></flexcomp></replicate>"))
    model = stiction.Model.from_xml_path(path)
    assert model.nv == 18 and model.neq == 6
