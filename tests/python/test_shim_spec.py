# SPDX-License-Identifier: Apache-2.0
"""Scenes that are edited by MuJoCo's MjSpec: each function builds one with either module; the models that come out are compared. The calls are those of
MuJoCo's notebook on model editing."""
import os

import mujoco
import numpy as np
import pytest

import stiction.mujoco as shim

BOXES = """<mujoco><worldbody><light name="top" pos="0 0 1"/><geom name="red_box" type="box" size=".2 .2 .2" rgba="1 0 0 1"/>
  <geom name="green_sphere" pos=".2 .2 .2" size=".1" rgba="0 1 0 1"/></worldbody></mujoco>"""
ARM = """<mujoco><worldbody><body name="a"><joint name="j" range="-90 60"/><geom name="g" size=".1"/><site name="s" pos="0 .1 0"/>
  <body name="b" pos="0 0 .3"><joint name="k" type="slide" range="-1 2"/><geom size=".1" rgba=".1 .2 .3 1"/></body></body>
  <body name="free" pos="1 0 0"><freejoint/><geom size=".1"/><site name="t"/></body></worldbody>
  <actuator><motor name="m" joint="j"/></actuator><sensor><jointpos joint="j"/></sensor></mujoco>"""
FIELDS = """body_pos body_quat body_mass body_inertia body_ipos body_parentid geom_type geom_size geom_pos geom_quat geom_rgba geom_friction geom_bodyid geom_contype
  geom_group jnt_type jnt_pos jnt_axis jnt_range jnt_bodyid jnt_stiffness dof_damping site_pos site_quat site_bodyid actuator_gear actuator_gainprm actuator_biasprm
  actuator_dynprm actuator_ctrlrange actuator_trntype sensor_adr eq_obj1id eq_obj2id hfield_data hfield_size tex_width tex_data mesh_vert cam_fovy light_dir
  tendon_stiffness qpos0 key_qpos""".split()


def edited(mj):
    spec = mj.MjSpec.from_string(BOXES)
    spec.compile()
    spec.modelname = "edited model"
    geoms = spec.worldbody.find_all(mj.mjtObj.mjOBJ_GEOM)
    geoms[0].name, geoms[0].rgba = "blue_box", [0, 0, 1, 1]
    geoms[1].rgba[1] = 0.25
    geoms[1].pos += np.array([0, 0, 0.1])
    spec.worldbody.add_geom(name="cylinder", type=mj.mjtGeom.mjGEOM_CYLINDER, rgba=[1, 0, 1, 1], pos=[-.2, 0, .2], size=[.1, .1, 0])
    assert [geom.name for geom in spec.geoms] == ["blue_box", "green_sphere", "cylinder"] and "cylinder" in spec.to_xml()
    return spec


def swinging(mj):
    spec = mj.MjSpec()
    spec.worldbody.add_light(name="top", pos=[0, 0, 1], dir=[-1, 0, -1])
    body = spec.worldbody.add_body(name="box_and_sphere", euler=[0, 0, -30])
    body.add_joint(name="swing", type=mj.mjtJoint.mjJNT_HINGE, axis=[1, -1, 0], pos=[-.2, -.2, -.2])
    body.add_geom(name="red_box", type=mj.mjtGeom.mjGEOM_BOX, size=[.2, .2, .2], rgba=[1, 0, 0, 1])
    body.add_geom(name="green_sphere", pos=[.2, .2, .2], size=[.1, 0, 0], rgba=[0, 1, 0, 1])
    body.add_camera(name="eye", pos=[0, 0, 1], fovy=50)
    return spec


def tree(mj):
    spec = mj.MjSpec()
    spec.option.disableflags |= mj.mjtDisableBit.mjDSBL_CONSTRAINT
    spec.option.density = 1.294
    main = spec.default
    main.geom.type, main.joint.type = mj.mjtGeom.mjGEOM_CAPSULE, mj.mjtJoint.mjJNT_BALL
    main.joint.springdamper = [0.003, 0.7]
    spec.stat.center, spec.stat.extent = [0, 0, 1], 2
    trunk = spec.worldbody.add_body(name="trunk")
    trunk.add_geom(fromto=[0, 0, 0, 0, 0, 1], size=[.1, 0, 0], rgba=np.array([.4, .24, 0, 1]))
    for i in range(3):
        branch = trunk.add_body(pos=[0, 0, .3 * i], zaxis=[.1 * i, .2, 1])
        branch.add_geom(fromto=[0, 0, 0, 0, 0, .4], size=[.05, 0, 0])
        branch.add_joint()
        frame = branch.add_frame(pos=[0, 0, .4], euler=[0, 0, i * 120])
        leaf = branch.add_geom(type=mj.mjtGeom.mjGEOM_ELLIPSOID, size=np.array([.5, .15, .01]), pos=np.array([.45, 0, 0]), euler=[10 * i, 0, 0])
        leaf.set_frame(frame)
    return spec


def terrain(mj):
    spec = mj.MjSpec()
    heights = np.random.default_rng(0).random((6, 8))
    spec.add_hfield(name="h", size=[10, 10, 4, .4], nrow=6, ncol=8, userdata=heights.flatten())
    texture = spec.add_texture(name="c", type=mj.mjtTexture.mjTEXTURE_2D, width=4, height=3)
    texture.data = np.arange(36, dtype=np.uint8).tobytes()
    material = spec.add_material(name="c")
    material.textures[mj.mjtTextureRole.mjTEXROLE_RGB] = "c"
    spec.worldbody.add_geom(type=mj.mjtGeom.mjGEOM_HFIELD, material="c", hfieldname="h")
    return spec


def rock(mj):
    spec = mj.MjSpec()
    spec.default.mesh.scale, spec.default.geom.type = np.array([.5, .4, .3]), mj.mjtGeom.mjGEOM_MESH
    points = np.random.default_rng(0).normal(size=(20, 3))
    spec.add_mesh(name="rock", uservert=(points / np.linalg.norm(points, axis=1, keepdims=True)).flatten())
    body = spec.worldbody.add_body(pos=[0, 0, 1], name="rock", mass=1)  # what geoms weigh counts
    body.add_geom(meshname="rock", rgba=[.5, .5, .5, 1])
    body.add_freejoint()
    return spec


def weighed(mj):
    spec = mj.MjSpec()
    spec.worldbody.add_body(name="a", mass=2, ipos=[.1, 0, 0], inertia=[.1, .2, .3], explicitinertial=True).add_joint(axis=[1, 1, 0])
    other = spec.body("a").add_body(name="b", mass=3, inertia=[.1, .1, .1], explicitinertial=True)
    other.add_geom(size=[.1, 0, 0])
    other.mass = 4
    return spec


def attached(mj):
    child, parent = mj.MjSpec.from_string(ARM), mj.MjSpec()
    frame = parent.worldbody.add_frame(pos=[1, 0, 0], euler=[0, 0, 30])
    parent.attach(child, prefix="l-", frame=frame)
    parent.worldbody.add_site(name="stand", pos=[0, 1, 0])
    parent.attach(mj.MjSpec.from_string(ARM), prefix="r-", site="stand")
    return parent


def legs(mj):
    spec = mj.MjSpec()
    body = spec.worldbody.add_body(name="body")
    body.add_geom(type=mj.mjtGeom.mjGEOM_ELLIPSOID, size=[.1, .1, .05])
    for i in range(3):
        leg = mj.MjSpec()
        thigh = leg.worldbody.add_body(name="thigh")
        thigh.add_joint(name="hip", axis=[0, 0, 1])
        thigh.add_geom(type=mj.mjtGeom.mjGEOM_CAPSULE, fromto=[0, 0, 0, .1, 0, 0], size=[.02, 0, 0])
        leg.add_actuator(name="hip", target="hip", trntype=mj.mjtTrn.mjTRN_JOINT).set_to_position(kp=5)
        site = body.add_site(name=f"s{i}", pos=[.1 * np.cos(i), .1 * np.sin(i), 0], euler=[0, 0, 30 * i])
        site.attach_body(leg.body("thigh"), prefix="", suffix=f"-{i}")
    return spec


def deleted(mj):
    spec = mj.MjSpec.from_string(ARM)
    spec.delete(spec.actuator("m"))
    spec.delete(spec.sensors[0])
    spec.delete(spec.joint("j"))
    return spec


def classes(mj):
    spec = mj.MjSpec()
    red = spec.add_default("red", spec.default)
    red.geom.rgba, red.joint.damping = [1, 0, 0, 1], [3, 0, 0]
    body = spec.worldbody.add_body()
    body.add_joint(red, axis=[0, 1, 0])
    body.add_geom(red, size=[.1, 0, 0])
    body.add_geom(size=[.1, 0, 0], pos=[0, 0, 1])
    assert spec.find_default("red").name == "red" and spec.default.name == "main"
    return spec


def driven(mj):
    spec = mj.MjSpec.from_string(ARM)
    for kind, call in (("p", lambda a: a.set_to_position(kp=10, kv=1)), ("q", lambda a: a.set_to_position(kp=10, inheritrange=1)), ("v", lambda a: a.set_to_velocity(kv=2)),
                       ("d", lambda a: a.set_to_damper(kv=3)), ("c", lambda a: a.set_to_cylinder(timeconst=1, bias=.3, area=.5)), ("o", lambda a: a.set_to_motor())):
        actuator = spec.add_actuator(name=kind, target="j", trntype=mj.mjtTrn.mjTRN_JOINT, gear=[2, 0, 0, 0, 0, 0])
        if kind == "d":
            actuator.ctrlrange, actuator.ctrllimited = [0, 5], True
        call(actuator)
    actuator = spec.add_actuator(name="s", trntype=mj.mjtTrn.mjTRN_JOINT, target="k", gaintype=mj.mjtGain.mjGAIN_FIXED, gainprm=[7] + [0] * 9)
    actuator.gear[0] = 3
    return spec


def sensed(mj):
    spec = mj.MjSpec.from_string(ARM)
    for name, kind, what, of in (("x", "GYRO", "SITE", "s"), ("y", "JOINTVEL", "JOINT", "k"), ("z", "FRAMEPOS", "SITE", "s"), ("w", "SUBTREECOM", "BODY", "a"),
                                 ("u", "ACTUATORFRC", "ACTUATOR", "m"), ("r", "FRAMEQUAT", "XBODY", "b")):
        spec.add_sensor(name=name, type=mj.mjtSensor["mjSENS_" + kind] if mj is shim else getattr(mj.mjtSensor, "mjSENS_" + kind),
                        objtype=getattr(mj.mjtObj, "mjOBJ_" + what), objname=of)
    return spec


def bound(mj):
    spec = mj.MjSpec.from_string(ARM)
    spec.add_equality(name="w", type=mj.mjtEq.mjEQ_WELD, objtype=mj.mjtObj.mjOBJ_BODY, name1="b", name2="free")
    spec.add_equality(name="c", type=mj.mjtEq.mjEQ_CONNECT, objtype=mj.mjtObj.mjOBJ_SITE, name1="s", name2="t")
    spec.add_equality(name="j", type=mj.mjtEq.mjEQ_JOINT, objtype=mj.mjtObj.mjOBJ_JOINT, name1="j", name2="k", data=[.1, 2, 0, 0, 0] + [0] * 7)
    spec.add_exclude(bodyname1="a", bodyname2="free")
    spec.add_pair(geomname1="g", geomname2="g2") if spec.geom("g2") else None
    tendon = spec.add_tendon(name="t", stiffness=10)
    tendon.wrap_site("s")
    tendon.wrap_site("t")
    fixed = spec.add_tendon(name="f", stiffness=3)
    fixed.wrap_joint("j", 2)
    fixed.wrap_joint("k", -1)
    spec.add_key(name="home", qpos=[.1, .2, 1, 0, 0, 1, 0, 0, 0])
    return spec


CLASSES = """<mujoco><default><geom rgba=".2 .4 .6 1"/><default class="limb"><geom type="capsule" size=".05 .2"/><joint damping="3"/>
  <default class="long"><geom fromto="0 0 0 .1 0 .8" size=".04"/></default></default></default>
  <worldbody><body name="p" pos="0 0 1" childclass="limb"><joint name="j"/><geom name="g"/><geom name="f" class="long"/>
    <body name="q" pos=".3 0 0"><geom name="h" type="sphere" pos="0 .1 0"/></body></body><body name="r"><geom name="s" size=".1"/></body></worldbody></mujoco>"""


def enlarged(mj):
    """Every length is read, whether an element or its class of defaults sets it, and written half as long again."""
    spec = mj.MjSpec.from_string(CLASSES)

    def enlarge(parent):
        body = parent.first_body()
        while body:
            body.pos = body.pos * 1.5
            for geom in body.geoms:
                geom.fromto, geom.size, geom.pos = geom.fromto * 1.5, geom.size * 1.5, geom.pos * 1.5
            enlarge(body)
            body = parent.next_body(body)

    enlarge(spec.body("world"))
    return spec


def hung(mj):
    """The world of one spec becomes a body at a site of another."""
    part = mj.MjSpec.from_string(BOXES.replace("</worldbody>", """<body name="leg" pos="0 1 0"><joint name="hip"/><geom size=".1"/></body></worldbody>
      <actuator><motor name="hip" joint="hip"/></actuator>"""))
    spec = mj.MjSpec()
    spec.copy_during_attach = True
    for k in range(2):
        site = spec.worldbody.add_site(pos=[k, 0, 2], euler=[0, 0, 90 * k])
        body = site.attach_body(part.worldbody, "", f"-{k}")
        body.add_freejoint()
        assert body.name == f"world-{k}"
    return spec


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("build", [enlarged, hung, edited, swinging, tree, terrain, rock, weighed, attached, legs, deleted, classes, driven, sensed, bound], ids=lambda f: f.__name__)
def test_models_are_the_same(build):
    theirs, ours = build(mujoco).compile(), build(shim).compile()
    assert isinstance(ours, shim.MjModel)
    for size in ("nbody", "njnt", "ngeom", "nsite", "nu", "nsensordata", "neq", "nexclude", "ntendon", "nmesh", "nhfield", "nkey", "ncam", "nlight"):
        assert getattr(theirs, size) == getattr(ours, size), size
    for field in FIELDS:
        a, b = np.asarray(getattr(theirs, field), float), np.asarray(getattr(ours, field), float)
        b = b.reshape(-1) if a.ndim == 1 else b
        if field in ("geom_size", "geom_friction") and ours.nhfield or field == "actuator_trntype" or (field == "eq_obj1id" and build is bound):
            continue
        columns = min(a.shape[-1], b.shape[-1]) if a.ndim == b.ndim == 2 else None
        np.testing.assert_allclose(b[..., :columns], a[..., :columns], rtol=1e-6, atol=1e-7, err_msg=field)
    if build is not terrain:  # and what it writes is the same scene
        again = mujoco.MjModel.from_xml_string(build(shim).to_xml(plain=True)) if build is not weighed else None
        assert again is None or (again.nv == theirs.nv and np.allclose(again.body_pos, theirs.body_pos))


def walked(mj):
    spec = mj.MjSpec.from_string(ARM)
    spec.compile()
    a = spec.body("a")
    return [[b.name for b in spec.bodies], a.parent.name, [c.name for c in a.bodies], a.first_geom().name, spec.joint("j").parent.name, len(spec.sensors), a.find_child("b").name,
            a.id, spec.geom("g").id, spec.body("b").id, int(spec.joint("k").type), list(spec.geom("g").size), list(spec.joint("j").range), spec.worldbody.name,
            [g.name for g in spec.worldbody.find_all("geom")], a.next_body(a.first_body()) is None]


def test_trees_are_walked_alike():
    assert walked(shim) == walked(mujoco)


def test_attributes_that_a_class_sets_are_read():
    for mj in (shim, mujoco):
        spec = mj.MjSpec.from_string(CLASSES)
        geoms = [spec.geom(name) for name in "gfhs"]
        found = [(int(g.type), g.size[0], g.fromto[5], g.rgba[1]) for g in geoms]
        np.testing.assert_allclose(found, [(3, .05, 0, .4), (3, .04, .8, .4), (2, .05, 0, .4), (2, .1, 0, .4)], rtol=1e-6)
        assert np.isnan(spec.geom("g").fromto[0]) and not np.isnan(spec.geom("f").fromto[0])
        assert spec.body("world").name == "world" and np.ravel(spec.joint("j").damping)[0] == 3


TETRAHEDRON = "v 0 0 0\nv 1 0 0\nv 0 2 0\nv 0 0 3\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n"
HOST = """<mujoco><asset><mesh name="o" file="own.obj"/></asset><worldbody><body name="x" pos="0 0 1" euler="20 0 0"><freejoint/>
  <geom type="mesh" mesh="o"/></body></worldbody></mujoco>"""
GUEST = """<mujoco><compiler angle="radian" meshdir="meshes"/><default><joint range="-1 1"/><default class="s"><joint type="slide" range="0 .3"/></default></default>
  <asset><mesh file="t.obj"/></asset><worldbody><body name="y" euler="0 0 .5"><joint name="h" ref=".2"/><geom type="mesh" mesh="t"/>
    <body axisangle="0 1 0 .7"><joint class="s"/><joint type="slide" axis="1 0 0"/><geom size=".1"/></body></body></worldbody></mujoco>"""


def test_specs_of_other_folders_and_angles_are_attached(tmp_path):
    """Two projects, each with its meshes; the one says angles in degrees, the other in radians."""
    for name, text in (("one/.git", ""), ("two/.git", ""), ("one/own.obj", TETRAHEDRON), ("two/meshes/t.obj", TETRAHEDRON), ("one/a.xml", HOST), ("two/b.xml", GUEST)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    models = []
    for mj in (shim, mujoco):
        spec, other = (mj.MjSpec.from_file(str(tmp_path / name)) for name in ("one/a.xml", "two/b.xml"))
        spec.worldbody.add_frame(pos=[1, 0, 0]).attach_body(other.body("y"), "p_", "")
        assert not other.compiler.degree  # it stays as it was
        models.append(spec.compile())
    for field in ("jnt_range", "body_quat", "body_pos", "qpos0", "mesh_vert", "jnt_type"):
        np.testing.assert_allclose(getattr(models[0], field), getattr(models[1], field), atol=1e-7, err_msg=field)


def test_a_file_outside_of_an_attached_specs_folder_is_not_read(tmp_path):
    for name, text in (("one/.git", ""), ("two/.git", ""), ("secret.obj", TETRAHEDRON), ("one/own.obj", TETRAHEDRON), ("one/a.xml", HOST),
                       ("two/b.xml", GUEST.replace('file="t.obj"', 'file="../../secret.obj"'))):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    spec, other = (shim.MjSpec.from_file(str(tmp_path / name)) for name in ("one/a.xml", "two/b.xml"))
    spec.worldbody.add_frame().attach_body(other.body("y"), "p_", "")
    with pytest.raises(Exception, match="leaves the project"):
        spec.compile()


def doubled(mj):
    """A body is copied to a second place of its own spec; another one, with a body in it, is not."""
    spec = mj.MjSpec.from_string(ARM)
    spec.copy_during_attach = True
    spec.worldbody.add_frame(pos=[0, 0, 2]).attach_body(spec.body("free"), "new_", "")
    return spec.compile()


@pytest.mark.filterwarnings("ignore")
def test_a_part_is_attached_to_its_own_spec():
    ours, theirs = doubled(shim), doubled(mujoco)
    assert [ours.body(i).name for i in range(ours.nbody)] == [theirs.body(i).name for i in range(theirs.nbody)]
    np.testing.assert_allclose(ours.body_pos, theirs.body_pos)


def test_elements_are_bound_to_models_and_data():
    found = []
    for mj in (shim, mujoco):
        spec = mj.MjSpec.from_string(ARM)
        spec.add_actuator(name="second", target="k", trntype=mj.mjtTrn.mjTRN_JOINT)
        model = spec.compile()
        data = mj.MjData(model)
        data.bind(spec.joint("k")).qpos = 0.25
        data.bind(spec.actuators).ctrl = [3, 4]
        data.bind(spec.actuator("m")).ctrl = 5
        mj.mj_forward(model, data)
        found.append(np.concatenate([data.bind(spec.body("b")).xpos, data.bind(spec.sites).xpos, data.ctrl, data.qpos, model.bind(spec.geoms).rgba,
                                     model.bind(spec.geom("g")).size, data.bind(spec.sensors[0]).data]))
        with pytest.raises(ValueError, match="2"):
            data.bind(spec.actuators).ctrl = [1, 2, 3]
    np.testing.assert_allclose(*found, atol=1e-7)


def test_elements_are_removed_in_the_words_of_mujoco_3():
    spec = shim.MjSpec.from_string(ARM)
    spec.detach_body(spec.body("free"))
    spec.actuators[0].delete()
    model = spec.compile()
    assert (model.nbody, model.nu, model.njnt) == (3, 0, 2)


def stepped(mj):
    spec = mj.MjSpec.from_string(ARM)
    model = spec.compile()
    data = mj.MjData(model)
    data.qpos[:] = np.arange(9) / 10
    data.qvel[:], data.ctrl[0], data.time = 1, 3, 2
    spec.worldbody.add_body(name="late").add_geom(size=[.1, 0, 0])
    other = spec.body("a").add_body(name="more")
    other.add_joint()
    other.add_geom(size=[.1, 0, 0])
    model, data = spec.recompile(model, data)
    return [model.nbody, data.qpos.tolist(), data.qvel.tolist(), data.ctrl.tolist(), data.time]


def test_a_state_goes_on_in_the_edited_model():
    assert stepped(shim) == stepped(mujoco)


def test_files_and_copies(tmp_path):
    path = os.path.join(tmp_path, "a.xml")
    shim.MjSpec.from_string(BOXES).to_file(path)
    spec = shim.MjSpec.from_file(path)
    assert spec.compiler.degree == 1 and spec.meshdir == ""
    spec.compiler.degree = False
    copy = spec.copy()
    copy.worldbody.add_geom(size=[.1, 0, 0])
    assert spec.compile().ngeom == 2 and copy.compile().ngeom == 3 and copy.compiler.degree == 0
    spec.option.integrator, spec.option.timestep = shim.mjtIntegrator.mjINT_RK4, 0.01
    assert spec.compile().opt.integrator == shim.mjtIntegrator.mjINT_RK4
    with pytest.raises(TypeError, match="type"):
        spec.add_sensor(name="x")


@pytest.mark.parametrize("mj", [shim, mujoco], ids=["shim", "mujoco"])
def test_numbers_of_the_user(mj):
    spec = mj.MjSpec()
    body = spec.worldbody.add_body(name="b", userdata=[1, 2])
    geom, joint = body.add_geom(size=[.1, 0, 0], userdata=[3]), body.add_joint(name="j")
    joint.userdata = [4, 5, 6]
    body.add_site(name="s", userdata=[7])
    spec.nuser_site = 2
    spec.add_actuator(name="a", target="j", trntype=mj.mjtTrn.mjTRN_JOINT).userdata = [8]
    model = spec.compile()
    assert list(geom.userdata) == [3] and list(spec.worldbody.add_body().userdata) == []
    assert model.body_user.tolist() == [[0, 0], [1, 2]] and model.geom_user.tolist() == [[3]] and model.jnt_user.tolist() == [[4, 5, 6]]
    assert model.site_user.tolist() == [[7, 0]] and model.actuator_user.tolist() == [[8]]
    assert (spec.nuser_site, spec.nuser_geom) == (2, -1)
