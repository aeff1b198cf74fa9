# SPDX-License-Identifier: Apache-2.0
"""Geoms of type sdf: shapes of MuJoCo's plugins, their mass, and what they touch."""
import mujoco
import numpy as np
import pytest

import stiction

NAMES = ["torus", "bowl", "bolt", "nut", "gear"]
DEFAULTS = {"torus": {"radius1": 0.35, "radius2": 0.15}, "bowl": {"height": 0.4, "radius": 1, "thickness": 0.02}, "bolt": {"radius": 0.26},
            "nut": {"radius": 0.26}, "gear": {"alpha": 0, "diameter": 2.8, "teeth": 25, "thickness": 0.2, "innerdiameter": -1}}


def instance(name, kind, **values):
    config = "".join(f'<config key="{key}" value="{value}"/>' for key, value in values.items())
    return f'<plugin plugin="mujoco.sdf.{kind}"><instance name="{name}">{config}</instance></plugin>'


def scene(shapes, bodies, option=""):
    """shapes: {name: (kind, values)}; a geom of the shape is {name} in bodies."""
    extension = "".join(instance(name, kind, **values) for name, (kind, values) in shapes.items())
    mesh = "".join(f'<mesh name="{name}"><plugin instance="{name}"/></mesh>' for name in shapes)
    for name in shapes:
        bodies = bodies.replace("{" + name + "}", f'<geom type="sdf" mesh="{name}" name="{name}"><plugin instance="{name}"/></geom>')
    return f"<mujoco><option {option}/><extension>{extension}</extension><asset>{mesh}</asset><worldbody>{bodies}</worldbody></mujoco>"


@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("inertia", ["legacy", "exact"])
def test_mass_and_size(kind, inertia):
    """Mass, principal moments and extent of MuJoCo's compiled shapes, whose meshes are others: to the part by which grids of 100 cells err."""
    xml = scene({"s": (kind, {})}, "<body><freejoint/>{s}</body>").replace('<mesh name', f'<mesh inertia="{inertia}" name')
    model = stiction.Model.from_xml_string(xml)
    mj = mujoco.MjModel.from_xml_string(xml)
    # legacy adds up what surfaces cut off towards the centre, back and forth: it depends on the triangles
    loose = 4 if inertia == "legacy" else 1
    np.testing.assert_allclose(model.body_mass[1], mj.body_mass[1], rtol=5e-3 * loose)
    np.testing.assert_allclose(model.body_inertia[1], mj.body_inertia[1], rtol=1e-2 * loose)
    np.testing.assert_allclose(model.geom_size[0], mj.geom_size[0], rtol=1e-2)
    np.testing.assert_array_equal(model.geom_pos[0], mj.geom_pos[0])


def test_inertia_of_a_torus():
    """2 pi^2 R r^2 rho; about the axis m (R^2 + 3/4 r^2), across m (R^2 / 2 + 5/8 r^2). MuJoCo takes the axis for x; here it is z."""
    R, r = 0.4, 0.1
    xml = scene({"s": ("torus", {"radius1": R, "radius2": r})}, "<body><freejoint/>{s}</body>").replace('<mesh name', '<mesh inertia="exact" name')
    model = stiction.Model.from_xml_string(xml)
    mass = 2 * np.pi**2 * R * r**2 * 1000
    along, across = mass * (R**2 + 0.75 * r**2), mass * (R**2 / 2 + 5 / 8 * r**2)
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, model.body_iquat[1])
    turn = turn.reshape(3, 3)
    np.testing.assert_allclose(model.body_mass[1], mass, rtol=3e-3)
    np.testing.assert_allclose(turn @ np.diag(model.body_inertia[1]) @ turn.T, np.diag([across, across, along]), rtol=5e-3, atol=1e-3 * along)
    np.testing.assert_allclose(model.body_ipos[1], 0, atol=1e-6)


def test_centre_of_a_bolt():
    """Its head lies above its tip: the centre of mass is that of the mesh, where MuJoCo takes the origin."""
    model = stiction.Model.from_xml_string(scene({"s": ("bolt", {})}, "<body><freejoint/>{s}</body>").replace('<mesh name', '<mesh inertia="exact" name'))
    v, f = model.mesh_vert.astype(float), model.mesh_face
    a, b, c = v[f[:, 0]], v[f[:, 1]], v[f[:, 2]]
    volume = np.einsum("ij,ij->i", a, np.cross(b, c)) / 6
    np.testing.assert_allclose(model.body_ipos[1], (volume[:, None] * (a + b + c) / 4).sum(0) / volume.sum(), atol=1e-6)
    assert -0.4 < model.body_ipos[1][2] < -0.3


# ---- distances in closed form ------------------------------------------------------------------------------------------------

R, r = 0.35, 0.15


def torus_distance(p):
    return np.hypot(np.hypot(p[0], p[1]) - R, p[2]) - r


def first_contact(xml):
    model = stiction.Model.from_xml_string(xml)
    data = stiction.Data(model)
    stiction.forward(model, data)
    return data.contact


@pytest.mark.parametrize("seed", range(12))
def test_ball_and_torus(seed):
    """A ball near a torus: one contact, the distance of its centre less its radius, along the gradient."""
    rng = np.random.default_rng(seed)
    angle, turn, d = rng.uniform(0, 2 * np.pi), rng.uniform(-np.pi, np.pi), rng.uniform(-0.03, 0.02)
    out = np.array([np.cos(angle) * np.cos(turn), np.sin(angle) * np.cos(turn), np.sin(turn)])
    ring = R * np.array([np.cos(angle), np.sin(angle), 0])
    ball = 0.08
    centre = ring + (r + ball + d) * out
    if np.hypot(*centre[:2]) < 0.12:
        centre = ring + (r + ball + d) * out * [-1, -1, 1]
        out = out * [-1, -1, 1]
    xml = scene({"s": ("torus", {})}, "{s}<body pos='%.17g %.17g %.17g'><freejoint/><geom size='%g' margin='.05'/></body>" % (*centre, ball))
    contact = first_contact(xml)
    best = contact[np.argmin(contact.dist)]
    assert best.dist == pytest.approx(torus_distance(centre) - ball, abs=1e-7)
    np.testing.assert_allclose(best.frame.reshape(3, 3)[0] * (1 if best.geom1 == 0 else -1), out, atol=1e-4)
    np.testing.assert_allclose(best.pos, ring + (r + (torus_distance(centre) - ball) / 2) * out, atol=1e-4)


@pytest.mark.parametrize("tilt", [0, 0.3, 1.0, np.pi / 2])
def test_torus_on_a_plane(tilt):
    """The lowest point of a tilted torus is R sin(tilt) + r below its centre; lying flat it touches all around."""
    low = R * np.sin(tilt) + r
    xml = scene({"s": ("torus", {})}, "<geom type='plane' size='3 3 1'/><body pos='0 0 %.17g' quat='%.17g %.17g 0 0'><freejoint/>{s}</body>"
                % (low - 0.002, np.cos(tilt / 2), np.sin(tilt / 2)))
    contact = first_contact(xml)
    assert min(contact.dist) == pytest.approx(-0.002, abs=1e-8)
    for c in contact:
        np.testing.assert_allclose(abs(c.frame.reshape(3, 3)[0]), [0, 0, 1], atol=1e-6)
    if tilt == 0:
        angles = np.sort([np.arctan2(c.pos[1], c.pos[0]) for c in contact])
        gaps = np.diff(np.append(angles, angles[0] + 2 * np.pi))
        assert len(contact) >= 8 and max(gaps) < 1.2


def test_two_tori():
    """One lying and one upright, x apart: along the x axis their rings are x from each other, at two places."""
    x = 0.195
    xml = scene({"s": ("torus", {"radius1": 0.5, "radius2": 0.1}), "t": ("torus", {"radius1": 0.5, "radius2": 0.1})},
                "{s}<body pos='%g 0 0' euler='90 0 0'><freejoint/>{t}</body>" % x)
    contact = sorted(first_contact(xml), key=lambda c: c.pos[0])
    assert len(contact) == 2
    for c, place in zip(contact, (-0.5, 0.5)):
        assert c.dist == pytest.approx(x - 0.2, abs=1e-9)
        np.testing.assert_allclose(c.pos, [place + x / 2, 0, 0], atol=1e-4)


@pytest.mark.parametrize("other", ["type='box' size='.4 .3 .1'", "type='cylinder' size='.4 .1'", "type='ellipsoid' size='.4 .4 .1'",
                                   "type='capsule' size='.1 .4' euler='0 90 0'"])
def test_torus_beside_others(other):
    """Upright on a flat body: it touches the top at its lowest point."""
    xml = scene({"s": ("torus", {})}, "<geom %s/><body pos='0 0 %.17g' euler='90 0 0'><freejoint/>{s}</body>" % (other, 0.1 + R + r - 0.001))
    contact = first_contact(xml)
    best = contact[np.argmin(contact.dist)]
    assert best.dist == pytest.approx(-0.001, abs=1e-7)
    np.testing.assert_allclose(best.pos, [0, 0, 0.0995], atol=2e-3)
    np.testing.assert_allclose(abs(best.frame.reshape(3, 3)[0]), [0, 0, 1], atol=1e-3)


@pytest.mark.parametrize("shape", ["mesh", "sdf"])
def test_torus_on_a_mesh(shape):
    """A box as a mesh, taken as its hull, and by the distance to its triangles."""
    corners = " ".join(f"{x} {y} {z}" for x in (-.4, .4) for y in (-.3, .3) for z in (-.1, .1))
    xml = scene({"s": ("torus", {})}, "<geom type='%s' mesh='box'/><body pos='0 0 %.17g' euler='90 0 0'><freejoint/>{s}</body>" % (shape, 0.1 + R + r - 0.001))
    xml = xml.replace("<asset>", f"<asset><mesh name='box' vertex='{corners}'/>")
    contact = first_contact(xml)
    best = contact[np.argmin(contact.dist)]
    assert best.dist == pytest.approx(-0.001, abs=1e-6)
    np.testing.assert_allclose(best.pos[2], 0.0995, atol=1e-5)


@pytest.mark.parametrize("seed", range(8))
def test_ball_and_a_mesh_as_field(seed):
    """A ball outside of a box of triangles, which is turned: the distance of a box, whatever the table of the mesh says in between."""
    rng = np.random.default_rng(seed)
    half, ball = np.array([.4, .3, .1]), 0.05
    corners = " ".join(f"{x} {y} {z}" for x in (-.4, .4) for y in (-.3, .3) for z in (-.1, .1))
    quat = rng.normal(size=4)
    quat /= np.linalg.norm(quat)
    turn = np.zeros(9)
    mujoco.mju_quat2Mat(turn, quat)
    p = rng.uniform(-1, 1, 3) * half * 1.02
    p[seed % 3] = (half[seed % 3] + ball + rng.uniform(-.02, .02)) * rng.choice([-1, 1])
    over = np.abs(p) - half
    distance = np.linalg.norm(np.maximum(over, 0)) - ball
    xml = ("<mujoco><asset><mesh name='box' vertex='%s'/></asset><worldbody><geom type='sdf' mesh='box' quat='%.17g %.17g %.17g %.17g'/>"
           "<body pos='%.17g %.17g %.17g'><freejoint/><geom size='%g' margin='.06'/></body></worldbody></mujoco>" % (corners, *quat, *(turn.reshape(3, 3) @ p), ball))
    assert min(c.dist for c in first_contact(xml)) == pytest.approx(distance, abs=1e-7)


def test_torus_on_a_height_field():
    """A level one, which is as a plane at its height."""
    xml = scene({"s": ("torus", {})}, "<geom type='hfield' hfield='h'/><body pos='0 0 %.17g' euler='90 0 0'><freejoint/>{s}</body>" % (0.2 + R + r - 0.001))
    xml = xml.replace("<asset>", "<asset><hfield name='h' nrow='5' ncol='7' size='1 1 .2 .1' elevation='%s'/>" % " ".join(["1"] * 35))
    flat = xml.replace("elevation='1 ", "elevation='0 ")  # one corner is lower, so that the others have the height 0.2
    contact = first_contact(flat)
    assert min(contact.dist) == pytest.approx(-0.001, abs=1e-7)
    np.testing.assert_allclose(contact[0].pos, [0, 0, 0.1995], atol=1e-3)


def test_rays_and_distance_sensors():
    """A ray through the hole goes on to the floor, one beside it ends on the skin; a distance sensor measures the field."""
    xml = scene({"s": ("torus", {})}, "{s}<geom name='ball' size='.1' pos='0 0 .9'/><body><site name='a' pos='0 0 .5' quat='0 1 0 0'/><site name='b' pos='.35 0 .5' quat='0 1 0 0'/></body>"
                "<geom type='plane' size='1 1 1' pos='0 0 -1'/>")
    xml = xml.replace("</mujoco>", "<sensor><rangefinder site='a'/><rangefinder site='b'/><distance geom1='ball' geom2='s' cutoff='3'/></sensor></mujoco>")
    model = stiction.Model.from_xml_string(xml)
    data = stiction.Data(model)
    stiction.forward(model, data)
    np.testing.assert_allclose(data.sensordata, [1.5, 0.5 - r, torus_distance([0, 0, 0.9]) - 0.1], atol=1e-3)
    assert data.sensordata[2] == pytest.approx(torus_distance([0, 0, 0.9]) - 0.1, abs=1e-5)


# ---- at rest -----------------------------------------------------------------------------------------------------------------


def force_up(data):
    return sum((c.frame.reshape(3, 3)[0] * c.force[0])[2] * (1 if c.body2 > 0 else -1) for c in data.contact)


def test_torus_rests():
    """Lying flat its contacts carry its weight; it neither creeps nor spins."""
    xml = scene({"s": ("torus", {})}, "<geom type='plane' size='3 3 1'/><body pos='0 0 .151'><freejoint/>{s}</body>")
    model = stiction.Model.from_xml_string(xml)
    data = stiction.Data(model)
    stiction.step(model, data, 500)
    assert force_up(data) == pytest.approx(model.body_mass[1] * 9.81, rel=1e-4)
    assert data.qpos[2] == pytest.approx(r, abs=2e-4) and np.abs(data.qvel).max() < 1e-3
    assert np.hypot(*data.qpos[:2]) < 1e-4


def test_ball_in_a_bowl():
    """It swings about the bottom of the bowl, and rests there: radius of the inner skin less that of the ball, above the lowest point."""
    xml = scene({"s": ("bowl", {"height": -0.2, "radius": 0.5, "thickness": 0.05})},
                "{s}<body pos='.05 0 -.3'><freejoint/><geom size='.1' condim='6' friction='1 .01 .01'/></body>")
    model = stiction.Model.from_xml_string(xml)
    data = stiction.Data(model)
    stiction.step(model, data, 3000)
    assert data.qpos[2] == pytest.approx(-(0.5 - 0.05 - 0.1), abs=3e-3) and np.hypot(*data.qpos[:2]) < 0.03
    assert force_up(data) == pytest.approx(model.body_mass[1] * 9.81, rel=1e-2)


# ---- settings ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind, values, words", [
    ("torus", {"radius1": 0.1, "radius2": 0.2}, "radius2 must be positive, and below radius1"), ("bowl", {"height": 2}, "below radius"),
    ("bolt", {"radius": 1}, "below 0.45"), ("gear", {"teeth": 2}, "teeth must be from 4"), ("torus", {"radius3": 1}, "radius1 and radius2")])
def test_refused_shapes(kind, values, words):
    with pytest.raises(stiction.Error, match=words):
        stiction.Model.from_xml_string(scene({"s": (kind, values)}, "{s}"))


def test_refused_geoms():
    for bodies, words in (("<geom type='sdf'/>", "type sdf needs a mesh"), ("<geom type='box' size='1 1 1'><plugin instance='s'/></geom>", "of type sdf"),
                          ("<geom type='sdf' mesh='m'><plugin instance='s'/></geom>", "must have the shape too"),
                          ("<geom type='sdf' mesh='s' xmlns:sti='urn:stiction' sti:hydroelastic_stiffness='1e6'/>", "touches at points"),
                          ("<geom type='sdf' mesh='s'/><soft xmlns='urn:stiction' name='x' size='.1' young='1e5'/>", "do not touch geoms of type sdf")):
        xml = scene({"s": ("torus", {})}, bodies).replace("<asset>", "<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/>")
        with pytest.raises(stiction.Error, match=words):
            stiction.Model.from_xml_string(xml)


def test_options_and_writing():
    xml = scene({"s": ("gear", {"teeth": 12})}, "{s}", 'sdf_iterations="7" sdf_initpoints="11"')
    model = stiction.Model.from_xml_string(stiction.Spec.from_string(xml).to_xml())
    assert model.opt.sdf_iterations == 7 and model.opt.sdf_initpoints == 11 and model.geom_sdfprm[0][2] == 12
    assert stiction.Model.from_xml_string("<mujoco/>").opt.sdf_initpoints == 40
