# SPDX-License-Identifier: Apache-2.0
"""<attach> of other models against MuJoCo's."""
import compare
import mujoco
import numpy as np
import pytest

import stiction

MESH = "0 0 0 1 0 .1 0 1.5 .2 .3 0 .7"
KID = f"""<mujoco model="kid"><compiler angle="radian" eulerseq="ZYX" inertiafromgeom="true" {{compiler}}/>
<option timestep="0.01"/>
<default><joint axis="1 0 0" damping=".1"/><position kp="7"/>
 <default class="c"><joint range="-.5 .7" ref=".2" {{limited}}/><geom euler="0 0 .4"/><position kp="9" ctrlrange="-1 1" {{ctrllimited}}/></default></default>
<asset><mesh name="tet" vertex="{MESH}"/><mesh name="unused" vertex="{MESH}"/><material name="red"/></asset>
<custom><numeric name="n" data="1 2"/></custom>
<worldbody><body name="off"><joint name="offj"/><geom size=".1"/></body>
 <body name="top" childclass="c"><frame name="F" pos=".1 .2 .3" euler="0 .3 .2"><body name="b" euler=".1 .2 .3">
  <inertial pos="0 0 0" mass="9" diaginertia="1 1 1"/>
  <body name="in"><joint name="ball" type="ball" range="0 1.2" {{limited}}/><geom size=".1 .1" type="capsule" axisangle="1 1 0 .5" material="red"/><site name="x"/></body>
  <joint name="h"/><joint name="s" type="slide" springref=".3" stiffness="2"/>
  <geom name="g" type="mesh" mesh="tet"/><geom type="box" size=".1 .2 .3" pos=".2 0 0"/><site name="y" pos="0 0 1"/></body></frame></body>
 <body name="m" mocap="true" pos="1 1 1"/></worldbody>
<contact><exclude body1="b" body2="m"/><exclude body1="off" body2="b"/></contact>
<equality><connect body1="b" anchor="0 0 0"/><joint joint1="h" joint2="offj"/></equality>
<tendon><spatial name="t"><site site="x"/><site site="y"/></spatial><fixed name="u"><joint joint="offj" coef="2"/></fixed></tendon>
<actuator><motor joint="offj"/><position name="p" joint="h"/><position class="c" joint="s"/><general joint="h" dyntype="integrator"/>
 <motor tendon="u"/><motor tendon="t"/></actuator>
<sensor><jointpos joint="offj"/><framepos objtype="xbody" objname="b" reftype="site" refname="x"/><actuatorfrc actuator="p"/></sensor>
<keyframe><key name="a" time="3" qpos=".1 .2 .3 1 0 .1 0" qvel="1 2 3 4 5 6" ctrl="1 2 3 4 5 6" act=".5" mpos="1 2 3"/><key/></keyframe>
</mujoco>"""
WORLD = """<mujoco><compiler {compiler}/><default><joint damping="5" armature="3"/><geom friction="2"/><position kp="3"/></default>
<asset><mesh name="own" vertex="0 0 0 1 0 .1 0 1 .2 .3 0 .9"/><model file="sub/kid.xml"/></asset>
<worldbody>{first}<body name="z"><joint name="j"/><geom type="mesh" mesh="own"/><geom size=".2"/><frame pos="1 0 0" euler="0 90 10">{attach}</frame></body>{last}</worldbody>
<actuator><position joint="j"/></actuator><sensor><clock/></sensor><keyframe><key qpos="{qpos}"/></keyframe></mujoco>"""


def compared(path):
    result = compare.compare(path, states=3)
    assert result.status == "ok", result.detail
    return mujoco.MjModel.from_xml_path(str(path)), stiction.Model.from_xml_path(path)


@pytest.mark.parametrize("compiler", ["angle='radian' eulerseq='ZYX'", "", "autolimits='false'"])
@pytest.mark.parametrize("part", ["body='b'", "frame='F'", "body='in'"])
def test_parts(tmp_path, part, compiler):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "kid.xml").write_text(KID.format(compiler="", limited="", ctrllimited=""))
    path = tmp_path / "world.xml"
    nq = 1 + (6 if part != "body='in'" else 4) + 1
    path.write_text(WORLD.format(compiler=compiler, attach=f"<attach model='kid' {part} prefix='l/'/>", qpos=" ".join(["0"] * nq),
                                 first="", last="<body pos='0 0 3'><joint type='slide'/><geom size='.1'/></body>"))
    mj, model = compared(path)
    np.testing.assert_allclose(model.key_mpos, mj.key_mpos)
    np.testing.assert_array_equal(model.geom_matid, mj.geom_matid)


def test_limits_that_are_not_automatic(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "kid.xml").write_text(KID.format(compiler="autolimits='false'", limited="limited='false'", ctrllimited="ctrllimited='true'"))
    path = tmp_path / "world.xml"
    path.write_text(WORLD.format(compiler="", attach="<attach model='kid' body='b' prefix=''/>", qpos="0 0 0 1 0 0 0", first="", last=""))
    compared(path)


def test_whole_world(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "kid.xml").write_text(KID.format(compiler="", limited="", ctrllimited=""))
    path = tmp_path / "world.xml"
    path.write_text(WORLD.format(compiler="", attach="", qpos="0", first="<frame euler='10 0 0'><attach model='kid' prefix='w_'/></frame>", last=""))
    mj, model = compared(path)
    np.testing.assert_allclose(model.key_mpos, mj.key_mpos)


def test_replicated(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "kid.xml").write_text(KID.format(compiler="", limited="", ctrllimited="").replace('ctrl="1 2 3 4 5 6" act=".5" mpos="1 2 3"', ""))
    path = tmp_path / "world.xml"
    path.write_text(WORLD.format(compiler="", attach="", qpos="0", first="", last="<replicate count='3' offset='1 0 0' sep='-'><attach model='kid' body='b' prefix='w_'/></replicate>")
                    .replace("<sensor><clock/></sensor>", ""))  # in MuJoCo clocks multiply with each copy
    compared(path)


def test_files_of_attached_models(tmp_path):
    """Meshes are found from the folder of the model that names them."""
    obj = "v 0 0 0\nv 1 0 .1\nv 0 1.5 .2\nv .3 0 .7\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    for folder, scale in (("assets", 1), ("parts/kid/shapes", 2)):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "same.obj").write_text(obj.replace("1.5", str(1.5 * scale)))
    (tmp_path / "parts/kid/kid.xml").write_text("<mujoco><compiler meshdir='shapes'/><asset><mesh file='same.obj'/></asset>"
                                                "<worldbody><body name='b'><joint/><geom type='mesh' mesh='same'/></body></worldbody></mujoco>")
    path = tmp_path / "world.xml"
    path.write_text("<mujoco><compiler meshdir='assets'/><asset><mesh file='same.obj'/><model name='k' file='parts/kid/kid.xml'/></asset><worldbody>"
                    "<body><joint/><geom type='mesh' mesh='same'/></body><attach model='k' body='b' prefix='k_'/></worldbody></mujoco>")
    _, model = compared(path)
    assert model.body_mass[2] > 1.9 * model.body_mass[1]
    again = tmp_path / "again.xml"
    spec = stiction.Spec.from_file(path)
    again.write_text(spec.to_xml())
    np.testing.assert_array_equal(stiction.Model.from_xml_path(again).body_mass, model.body_mass)


def test_files_in_memory():
    kid = "<mujoco><compiler meshdir='shapes'/><asset><mesh file='a.obj'/></asset><worldbody><body name='b'><joint/><geom type='mesh' mesh='a'/></body></worldbody></mujoco>"
    obj = "v 0 0 0\nv 1 0 .1\nv 0 1.5 .2\nv .3 0 .7\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
    xml = "<mujoco><asset><model name='k' file='kid.xml'/></asset><worldbody><attach model='k' body='b' prefix='k_'/></worldbody></mujoco>"
    model = stiction.Model.from_xml_string(xml, {"kid.xml": kid.encode(), "shapes/a.obj": obj.encode()})
    assert model.nmesh == 1 and model.body_mass[1] > 0


def test_written_out(tmp_path):
    """A spec with attached models, written and read again, is the same model."""
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "kid.xml").write_text(KID.format(compiler="", limited="", ctrllimited=""))
    path = tmp_path / "world.xml"
    path.write_text(WORLD.format(compiler="", attach="<attach model='kid' body='b' prefix='l/'/>", qpos="0", first="", last=""))
    spec = stiction.Spec.from_file(path)
    one, two = spec.compile(), stiction.Model.from_xml_string(spec.to_xml())
    for field in ("body_mass", "jnt_range", "dof_damping", "key_qpos", "actuator_gainprm", "geom_friction"):
        np.testing.assert_array_equal(getattr(one, field), getattr(two, field))


@pytest.mark.parametrize("kid, attach, says", [
    ("<worldbody><body name='b'/></worldbody>", "<attach model='none' body='b' prefix=''/>", "unknown model 'none'"),
    ("<worldbody><body name='b'/></worldbody>", "<attach model='k' body='c' prefix=''/>", "has no body 'c'"),
    ("<worldbody><body name='b'/></worldbody>", "<attach model='k' body='b' frame='f' prefix=''/>", "both given"),
    ("<worldbody><body name='b'/></worldbody>", "<attach model='k' body='b'/>", "required"),
    ("<worldbody><body name='b'/></worldbody>", "<attach body='b' prefix='x'/>", "name a model"),
    ("<compiler boundmass='1'/><worldbody><body name='b'/></worldbody>", "<attach model='k' body='b' prefix=''/>", "boundmass"),
    ("<worldbody><body nam='b'/></worldbody>", "<attach model='k' body='b' prefix=''/>", "did you mean 'name'"),
    ("<asset><model file='world.xml'/></asset>", "<attach model='k' prefix=''/>", "attaches itself"),
    ("<asset><model name='k' file='kid.xml'/></asset>", "<attach model='k' prefix=''/>", "attaches itself"),
    ("<worldbody><body name='b'/></worldbody>", f"<attach model='k' body='b' prefix='{'x' * 3000}'/>", "too long"),
])
def test_what_is_refused(tmp_path, kid, attach, says):
    (tmp_path / "kid.xml").write_text(f"<mujoco>{kid}</mujoco>")
    path = tmp_path / "world.xml"
    path.write_text(f"<mujoco><asset><model name='k' file='kid.xml'/></asset><worldbody>{attach}</worldbody></mujoco>")
    with pytest.raises(stiction.Error, match=says):
        stiction.Model.from_xml_path(path)


def test_a_model_outside_of_the_project(tmp_path):
    (tmp_path / "a" / ".git").mkdir(parents=True)
    (tmp_path / "kid.xml").write_text("<mujoco><worldbody><body name='b'/></worldbody></mujoco>")
    path = tmp_path / "a" / "world.xml"
    path.write_text("<mujoco><asset><model name='k' file='../kid.xml'/></asset><worldbody><attach model='k' body='b' prefix=''/></worldbody></mujoco>")
    with pytest.raises(stiction.Error, match="leaves the project"):
        stiction.Model.from_xml_path(path)
