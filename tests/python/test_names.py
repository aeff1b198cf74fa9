# SPDX-License-Identifier: Apache-2.0
"""Named things of models and data: every kind by each of its names, beside MuJoCo."""
import mujoco
import numpy as np
import pytest

import stiction

# two of each kind, the second one asked for
EVERYTHING = """<mujoco>
<custom><numeric name="n0" data="1 2 3"/><numeric name="n1" data="7 8"/></custom>
<asset><texture name="t0" type="2d" builtin="flat" rgb1="1 0 0" width="8" height="8"/>
  <texture name="t1" type="2d" builtin="checker" rgb1="0 1 0" rgb2="0 0 1" width="16" height="4"/>
  <material name="m0"/><material name="m1" texture="t1" shininess=".75" rgba=".1 .2 .3 1"/>
  <hfield name="h0" nrow="2" ncol="2" size="1 1 1 1" elevation="0 1 0 .5"/>
  <hfield name="h1" nrow="3" ncol="2" size="2 3 .5 .25" elevation="0 1 0 .5 .2 .1"/>
  <mesh name="v0" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><mesh name="v1" vertex="0 0 0 2 0 0 0 2 0 0 0 2"/></asset>
<worldbody><light name="l0"/><light name="l1" pos="1 2 3" diffuse=".5 .25 .125"/>
  <camera name="c0"/><camera name="c1" pos="3 2 1" fovy="30"/><site name="s0"/><site name="s1" pos=".1 .2 .3"/>
  <body name="b0" pos="0 0 1"><joint name="j0"/><geom name="g0" size=".1"/><site name="a"/></body>
  <body name="b1" pos="0 .5 1"><joint name="j1" axis="0 1 0" stiffness="4"/><geom name="g1" type="box" size=".1 .2 .3" mass="3"/><site name="b"/></body>
</worldbody>
<contact><pair name="p0" geom1="g0" geom2="g1"/><exclude name="e0" body1="b0" body2="b1"/></contact>
<tendon><spatial name="r0"><site site="s0"/><site site="a"/></spatial><spatial name="r1" stiffness="2"><site site="s1"/><site site="b"/></spatial></tendon>
<equality><joint name="q0" joint1="j0"/><joint name="q1" joint1="j1" polycoef=".5 0 0 0 0"/></equality>
<actuator><motor name="u0" joint="j0"/><motor name="u1" joint="j1" gear="9"/></actuator>
<sensor><jointpos name="o0" joint="j0"/><jointpos name="o1" joint="j1" cutoff=".25"/></sensor>
<keyframe><key name="k0"/><key name="k1" time="2" qpos=".1 .2"/></keyframe></mujoco>"""

# names of the accessor, the second thing's name, a field that both have, MuJoCo's accessor
KINDS = [
    (("body",), "b1", "mass", "body"), (("joint", "jnt"), "j1", "stiffness", "joint"), (("geom",), "g1", "size", "geom"),
    (("site",), "s1", "pos", "site"), (("camera", "cam"), "c1", "fovy", "camera"), (("light",), "l1", "diffuse", "light"),
    (("material", "mat"), "m1", "shininess", "material"), (("texture", "tex"), "t1", "type", "texture"),
    (("hfield",), "h1", "size", "hfield"), (("tendon", "ten"), "r1", None, "tendon"),
    (("actuator",), "u1", "gear", "actuator"), (("sensor",), "o1", "cutoff", "sensor"), (("equality", "eq"), "q1", "data", "equality"),
    (("key", "keyframe"), "k1", "time", "key"), (("numeric",), "n1", "size", "numeric"), (("mesh",), "v1", "vertnum", "mesh"),
    (("pair",), "p0", "dim", "pair"), (("exclude",), "e0", None, "exclude"),
]


@pytest.mark.parametrize("names,name,field,theirs", KINDS)
def test_every_kind_is_found_by_each_of_its_names(names, name, field, theirs):
    model, other = stiction.Model.from_xml_string(EVERYTHING), mujoco.MjModel.from_xml_string(EVERYTHING)
    wanted = getattr(other, theirs)(name)
    for accessor in names:
        found = getattr(model, accessor)(name)
        assert (found.id, found.name) == (wanted.id, name) and getattr(model, accessor)(wanted.id).name == name
        if field:
            np.testing.assert_allclose(np.ravel(getattr(found, field))[:3], np.ravel(getattr(wanted, field))[:3], rtol=1e-14, err_msg=accessor)
        with pytest.raises(KeyError, match=name):
            getattr(model, accessor)(name + "x")


def test_state_of_named_things():
    """What moves has the same rows by name as in the arrays of all."""
    model, other = stiction.Model.from_xml_string(EVERYTHING), mujoco.MjModel.from_xml_string(EVERYTHING)
    data, theirs = stiction.Data(model), mujoco.MjData(other)
    data.qpos, theirs.qpos[:] = (.3, -.2), (.3, -.2)
    stiction.forward(model, data)
    mujoco.mj_forward(other, theirs)
    for accessor, name, field in (("body", "b1", "xpos"), ("geom", "g1", "xmat"), ("site", "b", "xpos"), ("camera", "c1", "xpos"),
                                  ("light", "l1", "xpos"), ("tendon", "r1", "length"), ("actuator", "u1", "length"), ("joint", "j1", "qpos")):
        np.testing.assert_allclose(np.ravel(getattr(getattr(data, accessor)(name), field)),
                                   np.ravel(getattr(getattr(theirs, accessor)(name), field)), atol=1e-14, err_msg=accessor)
    assert data.ten("r1").length == data.ten_length[1] and data.tendon("r1").id == data.ten("r1").id == 1
    for accessor, name in (("hfield", "h1"), ("texture", "t1"), ("tex", "t1"), ("numeric", "n1")):  # they have no state
        assert getattr(data, accessor)(name).id == 1
    assert model.hfield("h1").id == 1 and data.numeric("n1").name == "n1"


def test_scenes_of_the_package():
    model = stiction.Model.from_xml_path(stiction.scene_path("double_pendulum.xml"))
    assert model.nv == 2
    with pytest.raises(FileNotFoundError, match="figure.xml"):
        stiction.scene_path("nothing.xml")


def test_wrong_names_say_what_there_is():
    """What Python needs to suggest a name, and what a beginner meets first."""
    import traceback

    def told(call):
        try:
            call()
        except Exception as error:
            return "".join(traceback.format_exception(error))
        raise AssertionError("no error")

    model = stiction.Model.from_xml_string(EVERYTHING)
    assert "Did you mean: 'timestep'" in told(lambda: model.opt.timestpe)
    assert "Did you mean: 'rollout'" in told(lambda: stiction.rolout)
    assert "Did you mean: 'qpos'" in told(lambda: stiction.Data(model).qpso)
    assert 'stiction.scene_path(\'arm.xml\')' in told(lambda: stiction.Model.from_xml_path("arm.xml"))
    missing = told(lambda: stiction.Model.from_xml_path("legs.xml"))
    assert "a scene of this name" not in missing
    assert "timestep: 0.002" in repr(model.opt) and "extent: " in repr(model.stat)
    assert stiction.mujoco.mjtGeom.mjGEOM_BOX == 6


def test_columns_of_nameless_sensors_say_what_they_measure(tmp_path):
    h5py = pytest.importorskip("h5py")
    model = stiction.Model.from_xml_string(
        '<mujoco><worldbody><body name="b"><joint name="elbow"/><geom size=".1"/><site name="tip"/><site/></body></worldbody>'
        '<sensor><jointpos joint="elbow"/><gyro site="tip"/><jointvel name="speed" joint="elbow"/><clock/>'
        '<framepos objtype="xbody" objname="b"/></sensor></mujoco>')
    data = stiction.Data(model)
    with stiction.Recorder(str(tmp_path / "a.h5"), data, "sensordata") as recorder:
        recorder.frame()
    with h5py.File(tmp_path / "a.h5") as file:
        columns = [c.decode().rstrip("\0") for c in file["sensordata"].attrs["columns"]]
    gyro, place = [f"gyro_tip_{k}" for k in range(3)], [f"framepos_b_{k}" for k in range(3)]
    assert columns == ["jointpos_elbow", *gyro, "speed", "clock3", *place]
