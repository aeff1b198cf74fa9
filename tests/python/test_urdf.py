# SPDX-License-Identifier: Apache-2.0
"""URDF against MuJoCo's reading of it."""
import compare
import mujoco
import numpy as np
import pytest

import stiction

BALL = "<inertial><mass value='{m}'/><inertia ixx='.1' ixy='0' ixz='0' iyy='.1' iyz='0' izz='.1'/></inertial>"
ROBOT = """<?xml version='1.0'?>
<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'><material name='red'><color rgba='1 0 0 1'/></material>
{block}
<link name='base'><inertial><origin xyz='0 0 .1' rpy='.1 -.4 0.2'/><mass value='3'/>
  <inertia ixx='.1' ixy='0.01' ixz='0' iyy='.2' iyz='0.02' izz='.25'/></inertial>
 <visual name='v0'><geometry><box size='1 2 3'/></geometry><material name='red'/></visual>
 <collision name='c0'><origin xyz='0 0 .2' rpy='.1 .2 .3'/><geometry><cylinder radius='.1' length='.4'/></geometry></collision></link>
<link name='e'/>
<link name='a'>{ball}<collision><geometry><sphere radius='.2'/></geometry></collision></link>
<link name='b'><collision><geometry><capsule radius='.1' length='.3'/></geometry></collision></link>
<link name='c'><inertial><origin rpy='.3 .2 .1' xyz='.1 0 0'/><mass value='2'/>
  <inertia ixx='.1' ixy='0' ixz='0' iyy='.15' iyz='0' izz='.2'/></inertial></link>
<link name='d'>{ball}<collision><origin xyz='0 0 1'/><geometry><box size='.1 .2 .3'/></geometry></collision></link>
<link name='tool'><inertial><origin xyz='0 .1 0'/><mass value='.5'/><inertia ixx='.01' ixy='0' ixz='0.001' iyy='.01' iyz='0' izz='.01'/></inertial></link>
<joint name='j5' type='fixed'><origin xyz='0 1 0' rpy='0 0 1'/><parent link='d'/><child link='e'/></joint>
<joint name='j4' type='{planar}'><origin rpy='.3 0 0'/><parent link='a'/><child link='d'/><axis xyz='0 0 1'/></joint>
<joint name='j2' type='continuous'><parent link='a'/><child link='b'/><limit effort='0' velocity='1'/></joint>
<joint name='j1' type='revolute'><origin xyz='1 0 0' rpy='0 .5 .2'/><parent link='base'/><child link='a'/><axis xyz='0 0.6 .8'/>
 <limit lower='-1' upper='1' effort='10' velocity='3'/><dynamics damping='.1' friction='.2'/></joint>
<joint name='j3' type='prismatic'><parent link='b'/><child link='c'/><axis xyz='0 1 0'/>
 <limit lower='0' upper='0.5' effort='5' velocity='1'/><mimic joint='j1' multiplier='2' offset='.1'/></joint>
<joint name='j6' type='fixed'><origin xyz='.2 .1 0' rpy='1 0 1'/><parent link='c'/><child link='tool'/></joint>
<transmission name='t'><type>simple</type></transmission><gazebo reference='a'><material>Gazebo/Red</material></gazebo>
</robot>"""


def robot(block="", planar="planar"):
    return ROBOT.format(block=block, ball=BALL.format(m=1), planar=planar)


@pytest.mark.parametrize("planar", ["planar", "prismatic", "fixed"])
@pytest.mark.parametrize("block", [
    "", "<mujoco><compiler fusestatic='false' discardvisual='false'/><option timestep='.01'/></mujoco>",
    "<mujoco><compiler discardvisual='false' inertiafromgeom='true' balanceinertia='true'/></mujoco>",
    "<mujoco><compiler fusestatic='false' boundmass='.01' boundinertia='1e-4'/><option integrator='implicitfast' gravity='0 0 -1'/></mujoco>"])
def test_robot(tmp_path, block, planar):
    path = tmp_path / "robot.urdf"
    path.write_text(robot(block, planar))
    result = compare.compare(path, states=5)
    assert result.status == "ok", result.detail
    mj, model = mujoco.MjModel.from_xml_path(str(path)), stiction.Model.from_xml_path(path)
    np.testing.assert_allclose(model.geom_rgba, mj.geom_rgba)
    np.testing.assert_allclose(model.jnt_axis, mj.jnt_axis, atol=1e-15)
    assert list(model.jnt_actfrclimited) == list(mj.jnt_actfrclimited)


@pytest.mark.parametrize("root", ["world", "ground"])
@pytest.mark.parametrize("kind", ["floating", "revolute"])
def test_roots(tmp_path, root, kind):
    path = tmp_path / "robot.urdf"
    limit = "" if kind == "floating" else "<limit lower='1' upper='2'/>"
    path.write_text(f"<robot name='x'><link name='{root}'><collision><geometry><box size='9 9 .1'/></geometry></collision></link>"
                    f"<link name='c'>{BALL.format(m=2)}</link><joint name='f' type='{kind}'><origin xyz='1 2 3'/>"
                    f"<parent link='{root}'/><child link='c'/>{limit}</joint></robot>")
    result = compare.compare(path, states=5)
    assert result.status == "ok", result.detail


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"


def with_mesh(name, scale="1 1 1", block=""):
    mesh = f"<collision><geometry><mesh filename='{name}' scale='{scale}'/></geometry></collision>"
    return (f"<robot name='x'>{block}<link name='world'/><link name='c'>{mesh}{mesh}</link><joint name='f' type='continuous'>"
            f"<parent link='world'/><child link='c'/></joint></robot>")


@pytest.mark.parametrize("block, folder, name", [
    ("", "some/where", "some/where/part.obj"), ("meshdir='meshes'", "meshes/some", "some/part.obj"),
    ("strippath='true' meshdir='meshes'", "meshes", "package://some/where/part.obj")])
def test_meshes_as_in_mujoco(tmp_path, block, folder, name):
    path, folder = tmp_path / "robot.urdf", tmp_path / folder
    folder.mkdir(parents=True)
    (folder / "part.obj").write_text(TETRAHEDRON)
    path.write_text(with_mesh(name, "1 2 -3", f"<mujoco><compiler {block}/></mujoco>"))
    result = compare.compare(path, states=3)
    assert result.status == "ok", result.detail


def test_packages(tmp_path):
    """package:// leads to the folder above that has the name, or into the folder that the caller names."""
    urdf, meshes = tmp_path / "arm_description" / "urdf", tmp_path / "arm_description" / "meshes"
    urdf.mkdir(parents=True)
    meshes.mkdir()
    (meshes / "part.obj").write_text(TETRAHEDRON)
    path = urdf / "arm.urdf"
    path.write_text(with_mesh("package://arm_description/meshes/part.obj"))
    assert stiction.Model.from_xml_path(path).nmesh == 1
    path.write_text(with_mesh("../meshes/part.obj"))
    assert stiction.Model.from_xml_path(path).nmesh == 1
    other = tmp_path / "elsewhere" / "arm.urdf"
    other.parent.mkdir()
    other.write_text(with_mesh("package://arm_description/meshes/part.obj"))
    with pytest.raises(stiction.Error, match="part.obj"):
        stiction.Model.from_xml_path(other)
    assert stiction.Model.from_xml_path(other, allow_outside=tmp_path).nmesh == 1
    assert stiction.Model.from_xml_string(with_mesh("package://a/b/part.obj"), {"part.obj": TETRAHEDRON.encode()}).nmesh == 1


@pytest.mark.parametrize("text, match, line", [
    ("<robot name='x'>\n<link name='a'/>\n<link name='a'/></robot>", "two links", 0),
    ("<robot name='x'><link name='a'/>\n<joint name='j' type='fixed'><parent link='b'/><child link='a'/></joint></robot>", "no link 'b'", 2),
    ("<robot name='x'>\n<link name='a'/><joint name='j' type='fixed'><parent link='a'/><child link='a'/></joint></robot>", "hangs on itself", 2),
    ("<robot name='x'><link name='a'/>\n<link name='b'/><joint name='j' type='odd'><parent link='a'/><child link='b'/></joint></robot>",
     "unknown type", 2),
    ("<robot name='x'><link name='a'>\n<collision><geometry><box size='1 2'/></geometry></collision></link></robot>", "three numbers", 2),
    ("<robot name='x'><link name='a'>\n<collision><geometry/></collision></link></robot>", "needs box", 2),
    ("<robot name='x'><link name='a'>\n<visual/></link></robot>", None, 0),
])
def test_errors(text, match, line):
    if match is None:
        assert stiction.Model.from_xml_string(text).nbody == 1
        return
    with pytest.raises(stiction.Error, match=match) as caught:
        stiction.Model.from_xml_string(text)
    assert not line or caught.value.line == line
