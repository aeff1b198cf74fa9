# SPDX-License-Identifier: Apache-2.0
"""Specs in Python, beside MuJoCo's MjSpec and models of hand-written files."""
import gc
import struct

import mujoco
import numpy as np
import pytest

import stiction

ARM = """<mujoco model="arm"><compiler angle="radian"/><default><geom density="500"/><default class="soft"><geom rgba="1 0 0 1" friction=".3"/></default></default>
<worldbody><body name="link" pos="0 0 .1"><joint name="turn" axis="0 1 0" damping=".2"/><geom name="rod" type="capsule" fromto="0 0 0 .3 0 0" size=".02"/>
  <body name="hand" pos=".3 0 0"><joint name="wrist" axis="1 0 0"/><geom name="palm" class="soft" type="box" size=".03 .04 .01"/><site name="grip"/></body></body></worldbody>
<actuator><motor name="drive" joint="turn" gear="5"/><position name="hold" joint="wrist" kp="3"/></actuator>
<sensor><jointpos name="angle" joint="turn"/><framepos name="where" objtype="site" objname="grip"/></sensor>
<keyframe><key name="up" qpos="1 0"/></keyframe></mujoco>"""


def same_dynamics(model, theirs):
    """A model of ours and one of MuJoCo's have the same masses and move alike."""
    data, md = stiction.Data(model), mujoco.MjData(theirs)
    np.testing.assert_allclose(model.body_mass, theirs.body_mass, rtol=1e-12)
    assert (model.nq, model.nu, model.nsensor) == (theirs.nq, theirs.nu, theirs.nsensor)
    data.qvel, md.qvel[:] = 0.5, 0.5
    stiction.forward(model, data)
    mujoco.mj_forward(theirs, md)
    np.testing.assert_allclose(data.qacc_smooth, md.qacc_smooth, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(data.xpos, md.xpos, atol=1e-12)


def test_building_from_nothing_as_mjspec_does():
    def build(spec, types, joint):
        body = spec.worldbody.add_body(name="pole", pos=[0, 0, 1], quat=[.8, 0, .6, 0])
        body.add_joint(name="j", type=joint.HINGE if hasattr(joint, "HINGE") else joint.mjJNT_HINGE, axis=[0, 1, 0])
        kind = types.BOX if hasattr(types, "BOX") else types.mjGEOM_BOX
        body.add_geom(name="g", type=kind, size=[.1, .2, .3], mass=2)
        tip = body.add_body(name="tip", pos=[0, 0, .5])
        tip.add_geom(type=types.SPHERE if hasattr(types, "SPHERE") else types.mjGEOM_SPHERE, size=[.05, 0, 0] if spec.__class__ is mujoco.MjSpec else .05)
        tip.add_site(name="end", pos=[0, 0, .1])
        return spec.compile()
    ours = build(stiction.Spec(), stiction.Geom, stiction.Joint)
    same_dynamics(ours, build(mujoco.MjSpec(), mujoco.mjtGeom, mujoco.mjtJoint))


def test_loading_finding_and_setting():
    spec = stiction.Spec.from_string(ARM)
    assert spec.modelname == "arm" and [b.name for b in spec.bodies] == ["link", "hand"] and len(spec.geoms) == 2
    palm = spec.geom("palm")
    assert palm.type == "box" and palm.size.tolist() == [.03, .04, .01] and palm.mass is None and palm.classname == "soft"
    assert palm.parent == spec.body("hand") and palm.parent.parent.name == "link" and palm.spec is spec
    assert spec.actuator("hold").kp == 3 and spec.sensor("where").objname == "grip" and spec.body("nobody") is None
    palm.size = [.1, .1, .1]
    palm.mass = 0.1 + 0.2
    palm.sti_stiffness = 1e5
    assert palm.get("mass") == repr(0.1 + 0.2)
    spec.joint("turn").damping = None
    spec.option.timestep = 0.005
    model = spec.compile()
    assert model.body("hand").mass[0] == 0.1 + 0.2 and model.opt.timestep == 0.005 and model.dof_damping[0] == 0
    assert "sti:stiffness" in spec.to_xml() and "sti:" not in spec.to_xml(plain=True)
    same_dynamics(model, mujoco.MjModel.from_xml_string(spec.to_xml(plain=True)))


def test_mistakes_are_named():
    spec = stiction.Spec.from_string(ARM)
    with pytest.raises(AttributeError, match="geom has no attribute 'colour'"):
        spec.geom("palm").colour
    with pytest.raises(stiction.Error, match="did you mean 'size'"):
        spec.geom("palm").siz = 3
    with pytest.raises(stiction.Error, match="size"):
        spec.body("hand").add_geom(size="big")
    assert len(spec.geoms) == 2  # nothing was added
    with pytest.raises(stiction.Error, match="not allowed|unknown element"):
        spec.worldbody.add("motor")
    with pytest.raises(ValueError, match="root"):
        spec.root.remove()
    spec.add_actuator("motor", joint="nothing")
    with pytest.raises(stiction.Error, match="nothing"):
        spec.compile()


def test_removed_elements_say_so():
    spec = stiction.Spec.from_string(ARM)
    hand, palm = spec.body("hand"), spec.geom("palm")
    hand.remove()
    for gone in (hand, palm):
        with pytest.raises(ReferenceError, match="removed"):
            gone.tag
        assert repr(gone) == "<removed element>"
    assert spec.geom("palm") is None
    added = spec.body("link").add_geom(name="palm", size=.1)  # perhaps where the old one was
    with pytest.raises(ReferenceError):
        palm.size = 1
    assert added.size == .1


def test_deleting_takes_references_along():
    spec, theirs = stiction.Spec.from_string(ARM), mujoco.MjSpec.from_string(ARM)
    spec.delete(spec.body("hand"))
    spec.delete(spec.section("keyframe"))
    theirs.delete(theirs.body("hand"))
    for key in list(theirs.keys):
        theirs.delete(key)
    assert [a.name for a in spec.actuators] == ["drive"] and [s.name for s in spec.sensors] == ["angle"]
    hand = spec.body("link").add_body(name="hand")
    push = spec.section("sensor").add("framepos", objtype="body", objname="hand")
    for element in (hand, push, hand):  # what is gone already stays gone
        spec.delete(element)
    same_dynamics(spec.compile(), theirs.compile())


def test_attaching_with_prefixes():
    """Two arms on a stand; MuJoCo's attach gives the reference, names and all."""
    stand = "<mujoco><compiler angle='radian'/><worldbody><body name='stand' pos='0 0 .5'><geom size='.1'/><site name='left' pos='0 .2 0'/></body></worldbody></mujoco>"
    spec, theirs = stiction.Spec.from_string(stand), mujoco.MjSpec.from_string(stand)
    with pytest.warns(UserWarning, match="keyframes"):
        frame = spec.attach(stiction.Spec.from_string(ARM), prefix="a_", site=spec.site("left"))
    assert frame.tag == "frame" and spec.body("a_hand") is not None
    with pytest.warns(UserWarning):
        spec.attach(stiction.Spec.from_string(ARM), prefix="b_", frame=spec.body("stand"), pos=[0, -.2, 0])
    theirs.attach(mujoco.MjSpec.from_string(ARM), prefix="a_", site=theirs.site("left"))
    theirs.attach(mujoco.MjSpec.from_string(ARM), prefix="b_", frame=theirs.body("stand").add_frame(pos=[0, -.2, 0]))
    model, reference = spec.compile(), theirs.compile()
    for kind in ("body", "joint", "geom", "actuator", "sensor"):
        n = {"body": model.nbody, "joint": model.njnt, "geom": model.ngeom, "actuator": model.nu, "sensor": model.nsensor}[kind]
        ours = {getattr(model, kind)(i).name for i in range(n)}
        assert ours == {getattr(reference, kind)(i).name for i in range(n)}
    np.testing.assert_allclose(model.geom("a_palm").friction, reference.geom("a_palm").friction)  # its class came along
    same_dynamics(model, reference)
    again = stiction.Model.from_xml_string(spec.to_xml())
    assert again.hash() == model.hash()
    degrees = stiction.Spec.from_string("<mujoco><worldbody/></mujoco>")
    with pytest.raises(ValueError, match="angle"):
        spec.attach(degrees, "c_")


def test_attaching_brings_files(tmp_path):
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    (tmp_path / "part" / "meshes").mkdir(parents=True)
    with open(tmp_path / "part" / "meshes" / "tet.stl", "wb") as file:
        file.write(bytes(80) + struct.pack("<I", 4))
        for f in faces:
            file.write(struct.pack("<12fH", 0, 0, 0, *[x for v in f for x in corners[v]], 0))
    (tmp_path / "part" / "part.xml").write_text("<mujoco><compiler meshdir='meshes'/><asset><mesh file='tet.stl'/></asset>"
                                                "<worldbody><body name='p'><freejoint/><geom type='mesh' mesh='tet'/></body></worldbody></mujoco>")
    (tmp_path / "main.xml").write_text("<mujoco><worldbody/></mujoco>")
    spec = stiction.Spec.from_file(tmp_path / "main.xml")
    for prefix in ("x_", "y_"):
        spec.attach(stiction.Spec.from_file(tmp_path / "part" / "part.xml"), prefix)
    model = spec.compile()
    assert model.nmesh == 2 and model.mesh("y_tet").id == 1
    np.testing.assert_allclose(model.body_mass[1:], 1000 / 6, rtol=1e-6)  # kg: a sixth of a cubic metre


def test_defaults_tendons_and_the_rest():
    spec = stiction.Spec.from_string(ARM)
    assert spec.find_default("soft").children[0].tag == "geom"
    spec.add_default("light").add("geom", density=100)
    spec.geom("rod").classname = "light"
    tendon = spec.add_tendon("fixed", name="t")
    tendon.add("joint", joint="turn", coef=2)
    spec.add_equality("joint", joint1="turn", joint2="wrist")
    spec.add_sensor("tendonpos", tendon="t", name="pull")
    spec.add_exclude(body1="link", body2="hand")
    spec.add_material(name="red", rgba=[1, 0, 0, 1])
    model = spec.compile()
    assert (model.ntendon, model.neq, model.nexclude, model.nmat, model.nsensor) == (1, 1, 1, 1, 3)
    same_dynamics(spec.compile(), mujoco.MjModel.from_xml_string(spec.to_xml()))
    twin = spec.copy()
    twin.body("hand").remove()
    assert spec.body("hand") is not None


def test_specs_go_when_nobody_holds_them():
    """An element keeps its spec alive, and nothing keeps both."""
    element = stiction.Spec.from_string(ARM).geom("palm")
    gc.collect()
    assert element.parent.name == "hand"
    core = element.spec._core
    import sys
    before = sys.getrefcount(core)
    held = [element.spec.body("hand")._core for _ in range(10)]
    assert len(set(map(id, held))) == 1
    del held, element
    assert sys.getrefcount(core) < before


def test_assets_keys_pairs_and_looks_as_mjspec_makes_them(tmp_path):
    """Every kind of thing that is added to a spec has the fields that MuJoCo gives it."""
    heights = [0, 1, .5, .25, 0, .125]
    corners = [0, 0, 0, .1, 0, 0, 0, .1, 0, 0, 0, .1]

    spec = stiction.Spec()
    spec.add_texture(name="grid", type="2d", builtin="checker", rgb1=[0, 1, 0], rgb2=[0, 0, 1], width=16, height=8)
    spec.add_mesh(name="tet", vertex=corners)
    spec.add_hfield(name="hill", nrow=3, ncol=2, size=[2, 3, .5, .25], elevation=heights)
    spec.add_numeric(name="n", data=[7, 8])
    ball = spec.worldbody.add_body(name="ball", pos=[0, 0, 1])
    ball.add_freejoint(name="free")
    ball.add_geom(name="g", type="mesh", mesh="tet", mass=2)
    spec.worldbody.add_geom(name="floor", type="plane", size=[1, 1, 1])
    spec.worldbody.add_camera(name="eye", pos=[0, -2, 1], fovy=30)
    spec.worldbody.add_light(name="lamp", pos=[1, 2, 3], diffuse=[.5, .25, .125])
    spec.add_pair(name="touch", geom1="floor", geom2="g", condim=4)
    spec.add_key(name="high", qpos=[0, 0, 2, 1, 0, 0, 0])

    other = mujoco.MjSpec()
    other.add_texture(name="grid", type=mujoco.mjtTexture.mjTEXTURE_2D, builtin=mujoco.mjtBuiltin.mjBUILTIN_CHECKER, rgb1=[0, 1, 0],
                      rgb2=[0, 0, 1], width=16, height=8)
    other.add_mesh(name="tet", uservert=corners)
    other.add_hfield(name="hill", nrow=3, ncol=2, size=[2, 3, .5, .25],
                     userdata=np.reshape(heights, (3, 2))[::-1].ravel())  # a file begins with the far row
    other.add_numeric(name="n", data=[7, 8], size=2)
    body = other.worldbody.add_body(name="ball", pos=[0, 0, 1])
    body.add_freejoint(name="free")
    body.add_geom(name="g", type=mujoco.mjtGeom.mjGEOM_MESH, meshname="tet", mass=2)
    other.worldbody.add_geom(name="floor", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[1, 1, 1])
    other.worldbody.add_camera(name="eye", pos=[0, -2, 1], fovy=30)
    other.worldbody.add_light(name="lamp", pos=[1, 2, 3], diffuse=[.5, .25, .125])
    other.add_pair(name="touch", geomname1="floor", geomname2="g", condim=4)
    other.add_key(name="high", qpos=[0, 0, 2, 1, 0, 0, 0])

    theirs = other.compile()
    spec.to_file(tmp_path / "scene.xml")
    for model in (spec.compile(), stiction.Model.from_xml_path(tmp_path / "scene.xml")):
        same_dynamics(model, theirs)
        for field in ("tex_type", "mesh_vertnum", "hfield_size", "hfield_nrow", "hfield_data", "numeric_data", "cam_fovy",
                      "cam_pos", "light_pos", "light_diffuse", "pair_dim", "key_qpos", "body_inertia"):
            np.testing.assert_allclose(getattr(model, field), getattr(theirs, field), rtol=1e-6, atol=1e-12, err_msg=field)
    assert spec.hfield("hill").nrow == 3 and spec.numeric("n").data.tolist() == [7, 8] and spec.texture("grid").builtin == "checker"
    assert spec.hfield("valley") is None


def test_elements_below_an_element():
    spec = stiction.Spec.from_string(ARM)
    link = spec.body("link")
    assert [g.name for g in link.find_all("geom")] == ["rod", "palm"] and link.find_all("camera") == []
    assert link.find_child("hand") == spec.body("hand") and link.find_child("palm", "geom") == spec.geom("palm")
    assert spec.body("hand").find_child("link") is None
