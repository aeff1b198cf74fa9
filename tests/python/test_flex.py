# SPDX-License-Identifier: Apache-2.0
"""Soft bodies of one file in both engines: vertices, tetrahedra and mass are those of MuJoCo's compiled model."""
import itertools
import struct
import warnings

import mujoco
import numpy as np
import pytest
import stiction
import stiction.mesh

MATTER = '<elasticity young="1e4" poisson="0.3" damping="0.01"/>'

KINDS = {
    "grid": 'type="grid" count="3 4 5" spacing=".1 .12 .08"',
    "box": 'type="box" count="4 4 3" spacing=".1 .1 .1"',
    "cylinder": 'type="cylinder" count="6 6 4" spacing=".1 .1 .1"',
    "ellipsoid": 'type="ellipsoid" count="6 6 6" spacing=".1 .08 .1"',
    "direct": 'type="direct" point="0 0 0 .1 0 0 0 .1 0 0 0 .1 .1 .1 .1" element="0 1 2 3 1 2 3 4"',
}

ALONE = '<contact contype="0" conaffinity="0"/>'

SLIDES = '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>'


def particle(name, pos, mass=0.1):
    return f'<body name="{name}" pos="{pos}">{SLIDES}<inertial pos="0 0 0" mass="{mass}" diaginertia="1e-5 1e-5 1e-5"/></body>'


PLACES = ["0 0 .5", "1 0 .5", "0 1 .5", "0 0 1.5", "1 1 1.5"]
BODIES = "".join(particle(f"v{i}", p, 0.1 * (i + 1)) for i, p in enumerate(PLACES))


def flex(attributes, bodies=BODIES, inside=MATTER + ALONE):
    return f"""<mujoco><worldbody>{bodies}</worldbody><deformable>
        <flex name="f" dim="3" {attributes}>{inside}</flex></deformable></mujoco>"""


def both(xml):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    return ours, theirs, data


def tets(elements):
    return sorted(tuple(sorted(t)) for t in np.reshape(elements, (-1, 4)))


def same_mesh(ours, theirs, data):
    assert ours.nflex == theirs.nflex == 1
    np.testing.assert_allclose(np.reshape(ours.flexvert_pos0, (-1, 3)), data.flexvert_xpos, atol=1e-7)
    assert tets(ours.flex_elem) == tets(theirs.flex_elem)
    mass = theirs.body_mass[np.unique(theirs.flex_vertbodyid)]
    assert np.sum(ours.flexvert_mass) == pytest.approx(mass.sum(), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_flexcomp(kind):
    xml = f"""<mujoco><worldbody><flexcomp name="f" dim="3" {KINDS[kind]} mass="2" pos="1 2 3" euler="20 30 40">{MATTER}</flexcomp></worldbody></mujoco>"""
    same_mesh(*both(xml))


CUBE = "".join(f"v {x} {y} {z}\n" for z in (-1, 1) for x, y in ((-1, -1), (1, -1), (1, 1), (-1, 1)))
CUBE += "".join(f"f {f}\n" for f in ("1 3 2", "1 4 3", "5 6 7", "5 7 8", "1 2 6", "1 6 5", "2 3 7", "2 7 6", "3 4 8", "3 8 7", "4 1 5", "4 5 8"))


def stl(text):
    lines = [line.split() for line in text.splitlines()]
    verts = [[float(x) for x in line[1:]] for line in lines if line[0] == "v"]
    faces = [[int(x) - 1 for x in line[1:]] for line in lines if line[0] == "f"]
    one = [struct.pack("<12fH", 0, 0, 0, *(x for v in face for x in verts[v]), 0) for face in faces]
    return bytes(80) + struct.pack("<I", len(faces)) + b"".join(one)


def compare_file(tmp_path, name, data, attributes):
    """Of a file in a folder; the tetrahedra of both are listed by position, since a reader may order vertices as it likes."""
    (tmp_path / name).write_bytes(data)
    path = tmp_path / "scene.xml"
    path.write_text(f"""<mujoco><worldbody><flexcomp name="f" dim="3" file="{name}" {attributes} mass="2" pos="1 2 3" euler="20 30 40">
        {MATTER}</flexcomp></worldbody></mujoco>""")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = stiction.Model.from_xml_path(str(path)), mujoco.MjModel.from_xml_path(str(path))
    there = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, there)
    same_mesh(ours, theirs, there)
    return ours, theirs


def volume(model):
    x, t = np.reshape(model.flexvert_pos0, (-1, 3)), np.reshape(model.flex_elem, (-1, 4))
    a, b, c = x[t[:, 1]] - x[t[:, 0]], x[t[:, 2]] - x[t[:, 0]], x[t[:, 3]] - x[t[:, 0]]
    return np.sum(np.einsum("ij,ij->i", np.cross(a, b), c)) / 6


@pytest.mark.parametrize("name, data", [("c.obj", CUBE.encode()), ("c.stl", stl(CUBE))])
def test_surface_with_an_origin(tmp_path, name, data):
    """Tetrahedra from every triangle to the origin, which is the first vertex and scaled with the others."""
    ours, theirs = compare_file(tmp_path, name, data, 'type="mesh" scale=".1 .1 .2" origin=".5 0 .1"')
    assert ours.nflexelem == 12 and ours.nflexvert == 9
    assert volume(ours) == pytest.approx(0.2 * 0.2 * 0.4, rel=1e-6)
    # masses: by volume here, in equal parts there
    np.testing.assert_allclose(theirs.body_mass[np.unique(theirs.flex_vertbodyid)], 2 / 9)
    assert ours.flexvert_mass[0] == pytest.approx(2 / 4)  # a quarter of every tetrahedron


def test_surface_without_an_origin(tmp_path):
    """MuJoCo asks for one; here the surface is filled."""
    (tmp_path / "c.obj").write_text(CUBE)
    path = tmp_path / "scene.xml"
    text = f'<mujoco xmlns:sti="urn:stiction"><worldbody><flexcomp name="f" dim="3" type="mesh" file="c.obj" scale=".1 .1 .1" %s>{MATTER}</flexcomp></worldbody></mujoco>'
    for more in ("", 'origin="0 0 0" sti:edge=".05"'):
        path.write_text(text % more)
        model = stiction.Model.from_xml_path(str(path))
        assert model.nflexvert > 50 and volume(model) == pytest.approx(0.2**3, rel=0.02)
    path.write_text(text % 'origin="2 0 0"')
    with pytest.raises(stiction.Error, match="origin.*filled"):
        stiction.Model.from_xml_path(str(path))


def test_gmsh(tmp_path):
    """Written by stiction.mesh, read by both: all vertices and tetrahedra, and the volume of the cube."""
    (tmp_path / "c.obj").write_text(CUBE)
    stiction.mesh.tetrahedralize(str(tmp_path / "c.obj"), edge=0.7).save(str(tmp_path / "c.msh"))
    ours, theirs = compare_file(tmp_path, "c.msh", (tmp_path / "c.msh").read_bytes(), 'type="gmsh"')
    assert ours.nflexelem == theirs.nflexelem > 100 and volume(ours) == pytest.approx(8, rel=1e-6)


def test_cell_data(tmp_path):
    """Young's modulus, Poisson's ratio and density of every tetrahedron from a VTK file: a bar of two halves in tension is two springs in a row."""
    n, d = (6, 2, 2), 0.1
    x = np.array([(i, j, k) for i in range(n[0] + 1) for j in range(n[1] + 1) for k in range(n[2] + 1)]) * d

    def at(i, j, k):
        return (i * (n[1] + 1) + j) * (n[2] + 1) + k

    cells = []
    for i, j, k in np.ndindex(n):
        for order in itertools.permutations(range(3)):  # the six ways along the edges of a cell
            p, path = np.array([i, j, k]), [(i, j, k)]
            for axis in order:
                p = p + np.eye(3, dtype=int)[axis]
                path.append(tuple(p))
            cells.append([at(*q) for q in path])
    half = [int(x[c].mean(axis=0)[0] > 0.3) for c in cells]

    def column(name, values):
        return f"SCALARS {name} double 1\nLOOKUP_TABLE default\n" + "\n".join(str(values[h]) for h in half) + "\n"

    lines = ["# vtk DataFile Version 3.0", "bar", "ASCII", "DATASET UNSTRUCTURED_GRID", f"POINTS {len(x)} double"]
    lines += [" ".join(map(str, p)) for p in x] + [f"CELLS {len(cells)} {5 * len(cells)}"] + [" ".join(map(str, [4, *c])) for c in cells]
    lines += [f"CELL_TYPES {len(cells)}"] + ["10"] * len(cells) + [f"CELL_DATA {len(cells)}"]
    (tmp_path / "bar.vtk").write_text("\n".join(lines) + "\n" + column("young", (1e5, 3e5)) + column("poisson", (0, 0)) + column("density", (500, 2000)))
    held = " ".join(str(at(0, j, k)) for j in range(n[1] + 1) for k in range(n[2] + 1))
    path = tmp_path / "scene.xml"
    path.write_text(f"""<mujoco xmlns:sti="urn:stiction"><option gravity="0 0 0" timestep="10"/><worldbody>
        <sti:soft name="bar" type="mesh" file="bar.vtk" law="linear" contype="0" conaffinity="0"><pin id="{held}"/></sti:soft></worldbody></mujoco>""")
    model = stiction.Model.from_xml_path(str(path))
    assert np.sum(model.flexvert_mass) == pytest.approx(0.04 * 0.3 * (500 + 2000), rel=1e-12)
    data = stiction.Data(model)
    area, force = 0.04, 8.0
    for tri in np.reshape(model.flex_shell, (-1, 3)):
        p = x[tri]
        if np.all(p[:, 0] > 0.6 - 1e-9):
            data.flexvert_applied[tri, 0] += force / area * np.linalg.norm(np.cross(p[1] - p[0], p[2] - p[0])) / 2 / 3
    stiction.step(model, data, 60)
    expect = force / area * (np.minimum(x[:, 0], 0.3) / 1e5 + np.maximum(x[:, 0] - 0.3, 0) / 3e5)
    np.testing.assert_allclose(np.array(data.flexvert_xpos)[:, 0] - x[:, 0], expect, atol=1e-9)
    (tmp_path / "bar.vtk").write_text("\n".join(lines) + "\n" + column("young", (1e5, -3e5)))
    with pytest.raises(stiction.Error, match="tetrahedron .* Young's modulus -300000"):
        stiction.Model.from_xml_path(str(path))


def vtk(points, tets):
    lines = ["# vtk DataFile Version 3.0", "bad", "ASCII", "DATASET UNSTRUCTURED_GRID", f"POINTS {len(points)} double"]
    lines += [" ".join(map(str, p)) for p in points] + [f"CELLS {len(tets)} {5 * len(tets)}"]
    return "\n".join(lines + [" ".join(map(str, (4, *t))) for t in tets] + [f"CELL_TYPES {len(tets)}"] + ["10"] * len(tets)) + "\n"


CORNER = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
OPEN = CUBE.replace("f 1 3 2\n", "")
ODD = CUBE.replace("f 1 3 2\n", "f 1 2 3\n")
SHEET = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\nf 1 3 2\nv 1 1 0\nf 2 4 3\nf 2 3 4\n"


def load_file(tmp_path, name, text, edge="0.25", more=""):
    (tmp_path / name).write_text(text)
    path = tmp_path / "scene.xml"
    path.write_text(f"""<mujoco xmlns:sti="urn:stiction"><worldbody>
        <sti:soft name="s" type="mesh" file="{name}" edge="{edge}" young="1e5" {more}/></worldbody></mujoco>""")
    return stiction.Model.from_xml_path(str(path))


@pytest.mark.parametrize("name, text, edge, message", [
    ("open.obj", OPEN, "0.25", "open edges|3 edges|not closed|open"),
    ("odd.obj", ODD, "0.25", "oriented"),
    ("sheet.obj", SHEET, "0.25", "no volume"),
    ("cube.obj", CUBE, "0.01", "limit of 1000000"),
    ("flat.vtk", vtk([*CORNER[:3], (1, 1, 0)], [(0, 1, 2, 3)]), "0", "without volume|no volume|flat"),
    ("twice.vtk", vtk(CORNER, [(0, 1, 2, 3), (1, 2, 3, 0)]), "0", "same nodes|twice|same"),
    ("fold.vtk", vtk([*CORNER, (0.2, 0.2, 0.2)], [(0, 1, 2, 3), (0, 1, 2, 4)]), "0", "same side|overlap"),
    ("far.vtk", vtk([*CORNER[:3], (0, 0, 1e13)], [(0, 1, 2, 3)]), "0", "1e12|1e\\+12|too far|finite"),
    ("node.vtk", vtk(CORNER, [(0, 1, 2, 7)]), "0", "node"),
    ("many.vtk", "# vtk DataFile Version 3.0\nx\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 double\n0 0 0 1 0 0 0 1 0 0 0 1\nCELLS 2000000 10000000\n", "0", "too short"),
])
def test_bad_meshes(tmp_path, name, text, edge, message):
    """Each is an error that names the file it is in."""
    with pytest.raises(stiction.Error, match=message) as caught:
        load_file(tmp_path, name, text, edge)
    assert "scene.xml" in str(caught.value) or name in str(caught.value)


def test_million_elements(tmp_path):
    """A file of more than a million is refused, whatever it holds; that takes little time and memory."""
    count = 1_000_001
    text = vtk(CORNER, []).split("CELLS")[0] + f"CELLS {count} {5 * count}\n" + "4 0 1 2 3\n" * count + f"CELL_TYPES {count}\n" + "10\n" * count
    with pytest.raises(stiction.Error, match="1000000"):
        load_file(tmp_path, "many.vtk", text, "0")


def test_mended_meshes(tmp_path):
    """Inside out, crossing, inverted, unused: put right as the docs say."""
    inside_out = "\n".join(" ".join([w[0], w[1], w[3], w[2]]) if w[0] == "f" else " ".join(w) for w in map(str.split, CUBE.splitlines())) + "\n"
    assert volume(load_file(tmp_path, "inside_out.obj", inside_out)) == pytest.approx(8, rel=0.02)
    second = "\n".join(f"v {float(w[1]) + 1} {w[2]} {w[3]}" if w[0] == "v" else "f " + " ".join(str(int(x) + 8) for x in w[1:]) for w in map(str.split, CUBE.splitlines()))
    assert volume(load_file(tmp_path, "crossing.obj", CUBE + second + "\n")) == pytest.approx(12, rel=0.02)
    model = load_file(tmp_path, "inverted.vtk", vtk([*CORNER, (5, 5, 5)], [(0, 2, 1, 3)]))
    assert model.nflexvert == 4 and volume(model) == pytest.approx(1 / 6)


def test_overlapping_tetrahedra(tmp_path):
    """Two that share no face but space: said, since nothing else would show it."""
    shifted = [tuple(c + 0.05 for c in p) for p in CORNER]
    with pytest.warns(UserWarning, match="2 of 2 tetrahedra lie in others"):
        load_file(tmp_path, "self.vtk", vtk(CORNER + shifted, [(0, 1, 2, 3), (4, 5, 6, 7)]))
    apart = [tuple(c + 1 for c in p) for p in CORNER]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_file(tmp_path, "two.vtk", vtk(CORNER + apart, [(0, 1, 2, 3), (4, 5, 6, 7)]))


def test_flex():
    """Vertices are bodies there, and none here."""
    ours, theirs, data = both(flex('body="v0 v1 v2 v3 v4" element="0 1 2 3 1 2 3 4"'))
    same_mesh(ours, theirs, data)
    assert theirs.nbody == 6 and ours.nbody == 1 and ours.nv == 0
    assert ours.flexelem_young[0] == 1e4 and not np.any(ours.flexvert_pinned)


def test_flex_in_a_body():
    """Offsets in turned bodies, and a vertex that is fixed to the body that the others are in."""
    inside = "".join(particle(f"v{i}", p).replace("<body", '<body euler="0 0 30"') for i, p in enumerate(PLACES))
    body = f'<body name="b" pos="0 0 1" euler="10 20 30"><joint/><geom size=".1"/>{inside}</body>'
    ours, theirs, data = both(flex('body="v0 v1 v2 b v4" vertex="0 0 0 .1 0 0 0 .2 0 0 0 1 0 0 0" element="0 1 2 3 1 2 3 4"', body))
    np.testing.assert_allclose(np.reshape(ours.flexvert_pos0, (-1, 3)), data.flexvert_xpos, atol=1e-7)
    assert tets(ours.flex_elem) == tets(theirs.flex_elem)
    assert list(np.ravel(ours.flexvert_pinned)) == [0, 0, 0, 1, 0]
    assert np.sum(ours.flexvert_mass) == pytest.approx(0.4)
    assert ours.flex_bodyid[0] == ours.body("b").id
    data = stiction.Data(ours)
    stiction.step(ours, data, 20)
    assert np.all(np.isfinite(data.flexvert_xpos))


def test_saved_flexcomp():
    """What MuJoCo writes of a flexcomp, with pins, is a flex."""
    spec = mujoco.MjSpec.from_string(f"""<mujoco><worldbody><flexcomp name="f" dim="3" type="grid" count="3 3 3" spacing=".1 .1 .1" mass="1">
        {MATTER}<pin id="0 1 2"/></flexcomp></worldbody></mujoco>""")
    spec.compile()
    ours, theirs, data = both(spec.to_xml())
    np.testing.assert_allclose(np.reshape(ours.flexvert_pos0, (-1, 3)), data.flexvert_xpos, atol=1e-6)
    assert tets(ours.flex_elem) == tets(theirs.flex_elem)
    assert np.sum(ours.flexvert_pinned) == 3


def test_falls_as_mujoco():
    """Before anything touches, the centre falls as every mass does."""
    ours, theirs, data = both(flex('body="v0 v1 v2 v3 v4" element="0 1 2 3 1 2 3 4"'))
    mine = stiction.Data(ours)
    stiction.step(ours, mine, 50)
    mujoco.mj_step(theirs, data, 50)
    mass = np.ravel(ours.flexvert_mass)
    drop = (mass @ (mine.flexvert_xpos - np.reshape(ours.flexvert_pos0, (-1, 3)))) / mass.sum()
    there = theirs.body_mass[1:] @ np.reshape(data.qpos, (-1, 3)) / theirs.body_mass[1:].sum()
    np.testing.assert_allclose(drop, there, atol=1e-9)


@pytest.mark.parametrize("attributes, bodies, message", [
    ('body="v0 v1 v2 v3" element="0 1 2"', BODIES, "four vertex numbers"),
    ('body="v0 v1 v2 v3" element="0 1 2 7"', BODIES, "element"),
    ('body="v0 v1 v2 v3" vertex="1 2 3" element="0 1 2 3"', BODIES, "has 3 numbers"),
    ('body="v0" element="0 1 2 3"', BODIES, "a body for every vertex"),
    ('body="v0 v1 v2 nobody" element="0 1 2 3"', BODIES, "neither a body with three slide joints"),
    ('body="v0 v1 v2 g" element="0 1 2 3"', BODIES + '<body name="g"><joint/><geom size=".1"/></body>', "neither a body"),
    ('body="v0 v1 v2 w" element="0 1 2 3"', BODIES + f'<body name="g">{particle("w", "0 0 0")}</body>', "in one body"),
    ('body="v0 v1 v2 w" element="0 1 2 3"', BODIES + f'<body name="w">{SLIDES}</body>', "inertial with a mass"),
])
def test_refused(attributes, bodies, message):
    with pytest.raises(stiction.Error, match=message):
        stiction.Model.from_xml_string(flex(attributes, bodies))


@pytest.mark.parametrize("dim", [1, 2])
def test_dimensions(dim):
    xml = flex('body="v0 v1 v2" element="0 1 2"').replace('dim="3"', f'dim="{dim}"')
    with pytest.raises(stiction.Error, match="dimension 1 or 2.*thin body"):
        stiction.Model.from_xml_string(xml)


@pytest.mark.parametrize("attributes, matter, message", [
    ('dim="1" count="3 1 1" radius="0"', MATTER, "radius above 0"),
    ('dim="1" count="9 1 1" type="circle"', MATTER, "must be straight"),
    ('dim="1" count="3 1 1"', '<elasticity young="1e4" section="box" sectionsize=".01 .02"/>', "section.*box"),
    ('dim="2" count="3 3 1"', '<elasticity young="1e4" elastic2d="both"/>', "needs a thickness"),
    ('dim="2" count="3 3 1"', '<elasticity young="1e4" poisson=".6" thickness=".01" elastic2d="both"/>', "from 0 to below 0.5"),
    ('dim="2" count="3 3 1" dof="trilinear"', MATTER, "only full, radial and 2d"),
    ('dim="1" count="3 1 1" dof="radial"', ALONE, "axis cannot be zero"),
    ('dim="3" count="3 3 3" dof="trilinear"', MATTER + '<pin id="0"/>', "corners of cells"),
    ('dim="3" count="3 3 3" dof="radial"', MATTER, "move freely: use"),
    ('dim="3" count="3 3 3" dof="2d"', MATTER, "move freely: use"),
])
def test_elastic_refused(attributes, matter, message):
    with pytest.raises(stiction.Error, match=message):
        stiction.Model.from_xml_string(f'<mujoco><worldbody><flexcomp name="f" {attributes}>{matter}</flexcomp></worldbody></mujoco>')


SHEETS = {
    "grid": 'type="grid" count="4 5 1" spacing=".1 .13 .1"',
    "disc": 'type="disc" count="5 5 1" spacing=".1 .1 .1"',
    "direct": 'type="direct" point="0 0 0 .1 0 0 .13 .09 0 -.02 .11 0 .2 .05 0" element="0 1 2 0 2 3 1 4 2"',
}


@pytest.mark.parametrize("law, dof", [("bend", "full"), ("stretch", "full"), ("both", "full"), ("both", "radial"), ("both", "2d")])
@pytest.mark.parametrize("kind", SHEETS)
def test_sheets(kind, law, dof):
    """Forces of a crumpled net, its energy, and the way of 100 steps, as in MuJoCo; a body that moves holds it."""
    xml = f"""<mujoco><option timestep=".0005"><flag energy="enable"/></option><worldbody><body name="arm"><joint axis="0 1 0"/><geom size=".1" mass="2" contype="0"
        conaffinity="0" pos="1 0 0"/><flexcomp name="s" {SHEETS[kind]} dim="2" mass="1" dof="{dof}" pos=".3 .4 .2" euler="20 30 40"><contact contype="0" conaffinity="0" selfcollide="none"/>
        <elasticity young="1e4" poisson=".3" thickness=".01" damping=".01" elastic2d="{law}"/><pin id="0 3"/></flexcomp></body></worldbody></mujoco>"""
    theirs = mujoco.MjModel.from_xml_string(xml)
    ours = stiction.Model.from_xml_string(xml)
    d, e = mujoco.MjData(theirs), stiction.Data(ours)
    rng = np.random.default_rng(1)
    for x in (d, e):
        rng = np.random.default_rng(1)
        x.qpos[:] = 0.02 * rng.standard_normal(theirs.nq)
        x.qvel[:] = 0.3 * rng.standard_normal(theirs.nv)
    mujoco.mj_forward(theirs, d)
    stiction.forward(ours, e)
    for name in ("qfrc_spring", "qfrc_damper"):
        want = getattr(d, name)
        assert np.allclose(getattr(e, name), want, rtol=0, atol=1e-12 * np.abs(want).max()), name
    eps = 1e-6
    for k in range(0, theirs.nv, 5):
        energy = []
        for sign in (1, -1):
            f = stiction.Data(ours)
            f.qpos[:] = e.qpos
            f.qpos[k] += sign * eps
            ours.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
            stiction.forward(ours, f)
            energy.append(f.energy[0])
        ours.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_GRAVITY)
        assert abs(-(energy[0] - energy[1]) / (2 * eps) - e.qfrc_spring[k]) < 1e-6 * np.abs(e.qfrc_spring).max()
    for _ in range(100):
        mujoco.mj_step(theirs, d)
    stiction.step(ours, e, 100)
    assert np.allclose(e.qpos, d.qpos, rtol=0, atol=1e-12)


def string(what, inside="", options="", young=1e6, damping=0.01):
    return f"""<mujoco><option timestep=".0001" {options}><flag energy="enable"/></option><worldbody><flexcomp name="s" {what} dim="1" radius=".01">
        <contact contype="0" conaffinity="0" selfcollide="none"/><elasticity young="{young}" poisson=".3" damping="{damping}"/>{inside}</flexcomp></worldbody></mujoco>"""


@pytest.mark.parametrize("what, hinges", [
    ('type="grid" count="6 1 1" spacing=".1 .1 .1"', 4),
    ('type="direct" point="0 0 0 .1 0 0 .2 0 0 .35 0 0 0 1 0 .1 1 0 .2 1 0 .25 1 0 .4 1 0" element="0 1 1 2 2 3 4 5 5 6 6 7 7 8"', 0),
])
def test_elastic_strings(what, hinges):
    """Forces of bent strings and their energy are MuJoCo's; where it makes no hinges that twist them, so are dampers and 100 steps."""
    xml = string(what, '<pin id="0 1"/>' if hinges else '<pin id="0 4"/>')
    theirs = mujoco.MjModel.from_xml_string(xml)
    with pytest.warns(UserWarning, match="not torsion"):
        ours = stiction.Model.from_xml_string(xml)
    d, e, n = mujoco.MjData(theirs), stiction.Data(ours), ours.nv
    assert theirs.nv == n + hinges and ours.nbend == theirs.nflexbending // 10
    rng = np.random.default_rng(1)
    d.qpos[:n] = e.qpos[:] = 0.03 * rng.standard_normal(n)
    d.qvel[:n] = e.qvel[:] = 0.3 * rng.standard_normal(n)
    mujoco.mj_forward(theirs, d)
    stiction.forward(ours, e)
    for name in ("qfrc_spring", "qfrc_damper")[:1 if hinges else 2]:
        want = getattr(d, name)[:n]
        assert np.allclose(getattr(e, name), want, rtol=0, atol=1e-12 * np.abs(want).max()), name
    stored = 0
    for site1, site2, site3 in np.reshape(ours.bend_siteid, (-1, 3)):
        a, b = (e.site_xpos[j] - e.site_xpos[i] for i, j in ((site1, site2), (site2, site3)))
        rest = sum(np.linalg.norm(ours.site_pos[j] + ours.body_pos[ours.site_bodyid[j]] - ours.site_pos[i] - ours.body_pos[ours.site_bodyid[i]])
                   for i, j in ((site1, site2), (site2, site3)))
        half = np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b) / 2
        stored += 1e6 * np.pi * 0.01**4 / 4 / rest * (2 * np.tan(half))**2
    weight = -sum(ours.body_mass * (e.xipos @ ours.opt.gravity))
    assert e.energy[0] - weight == pytest.approx(stored, rel=1e-10)
    if not hinges:
        for _ in range(100):
            mujoco.mj_step(theirs, d)
        stiction.step(ours, e, 100)
        assert np.allclose(e.qpos, d.qpos, rtol=0, atol=1e-12)


@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicit", "implicitfast", "alm"])
def test_strings_bend_as_beams(integrator):
    """Clamped in the middle of its first edge, a string of N + 1/2 further edges sags under a force F at its end by F l^3 / E I times the sum of the
    squares to N, which is F L^3 / 3 E I but for 1 / 4 N^2."""
    n, l, E, force = 11, 0.05, 1e7, 0.002
    model = stiction.Model.from_xml_string(string(f'type="grid" count="{n} 1 1" spacing="{l} {l} {l}" mass=".11"', '<edge equality="true"/><pin id="0 1"/>',
                                                  f'integrator="{integrator}" gravity="0 0 0"', E, 0))
    model.opt.timestep = 0.001
    model.dof_damping[:] = 0.2
    data = stiction.Data(model)
    data.body(f"s_{n - 1}").xfrc_applied[2] = -force
    stiction.step(model, data, 3000)
    moment, N = np.pi * 0.01**4 / 4, n - 2
    sag = -data.qpos[-1]
    assert abs(data.qvel).max() < 1e-6
    assert sag == pytest.approx(force * l**3 / (E * moment) * N * (N + 1) * (2 * N + 1) / 6, rel=1e-4)
    assert sag == pytest.approx(force * ((N + 0.5) * l)**3 / (3 * E * moment), rel=0.005)


def test_interpolated():
    """Interpolated vertices move freely here, and that is said."""
    model = stiction.Model.from_xml_string(f'<mujoco><worldbody><flexcomp name="f" dim="3" count="3 3 3" dof="trilinear" cellcount="2 2 2">{MATTER}</flexcomp></worldbody></mujoco>')
    assert model.nflexvert == 27 and "every vertex moves freely" in "\n".join(model.warnings)


def test_no_effect():
    """Settings that mean nothing here are named."""
    inside = MATTER + '<contact contype="0" conaffinity="0" solref=".01 1" solimp=".8 .9 .001" margin=".01"/>'
    with pytest.warns(UserWarning, match="has no effect here"):
        model = stiction.Model.from_xml_string(flex('body="v0 v1 v2 v3" element="0 1 2 3" radius=".02"', inside=inside))
    text = "\n".join(model.warnings)
    for name in ("solref", "solimp", "margin", "radius"):
        assert name in text, name
