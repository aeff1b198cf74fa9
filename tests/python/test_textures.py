# SPDX-License-Identifier: Apache-2.0
"""Textures: their pixels and coordinates are those of MuJoCo, and pictures show them where MuJoCo's rules lay them."""
import io
import itertools
import warnings

import mujoco
import numpy as np
import pytest

import stiction

Image = pytest.importorskip("PIL.Image")


def png(pixels, mode=None, **options):
    out = io.BytesIO()
    Image.fromarray(pixels, mode).save(out, "png", **options) if mode != "P" else Image.fromarray(pixels).quantize(16).save(out, "png")
    return out.getvalue()


def noise(height, width, channels=3, seed=1):
    shape = (height, width, channels) if channels > 1 else (height, width)
    return np.random.default_rng(seed).integers(0, 256, shape, np.uint8)


def both(asset, files=None):
    """The textures of MuJoCo's model and ours."""
    xml = f"<mujoco><asset>{asset}</asset></mujoco>"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mujoco.MjModel.from_xml_string(xml, files or {}), stiction.Model.from_xml_string(xml, files or {})


def same_pixels(theirs, ours, names=("tex_width", "tex_height", "tex_nchannel", "tex_adr")):
    for name in names:
        assert np.array_equal(getattr(theirs, name), getattr(ours, name)), name
    assert theirs.tex_data.size and np.array_equal(theirs.tex_data, ours.tex_data)


@pytest.mark.parametrize("kind,builtin,mark", itertools.product(("2d", "cube"), ("checker", "gradient", "flat"), ("none", "edge", "cross")))
def test_generated(kind, builtin, mark):
    size = 'width="12" height="10"' if kind == "2d" else 'width="12"'
    same_pixels(*both(f'<texture name="a" type="{kind}" builtin="{builtin}" mark="{mark}" rgb1="1 .5 .2" rgb2=".1 .2 .3" markrgb="0 .3 1" {size}/>'))


def test_random_marks_are_a_share_of_the_pixels():
    model = stiction.Model.from_xml_string(
        '<mujoco><asset><texture name="a" type="2d" builtin="flat" mark="random" random=".1" rgb1="0 0 0" markrgb="1 1 1" width="100" height="100"/></asset></mujoco>')
    assert 0.08 < (model.tex_data.reshape(-1, 3)[:, 0] == 255).mean() < 0.12  # three standard deviations of 10,000 draws are 0.009


@pytest.mark.parametrize("flips", ["", 'hflip="true"', 'vflip="true"', 'hflip="true" vflip="true"'])
@pytest.mark.parametrize("form", ["rgb", "rgba", "gray", "palette", "gray16", "odd"])
def test_files(form, flips):
    data = {"rgb": lambda: png(noise(7, 9)), "rgba": lambda: png(noise(7, 9, 4)), "gray": lambda: png(noise(7, 9, 1)),
            "palette": lambda: png(noise(7, 9), "P"), "odd": lambda: png(noise(1, 1)),
            "gray16": lambda: png(np.random.default_rng(1).integers(0, 65536, (7, 9)).astype(np.uint16))}[form]()
    same_pixels(*both(f'<texture type="2d" file="a.png" {flips}/>', {"a.png": data}))


def test_cubes_of_files():
    grid = png(noise(12, 16))
    same_pixels(*both('<texture type="cube" file="a.png" gridsize="3 4" gridlayout=".U..LFRB.D.."/>', {"a.png": grid}))
    same_pixels(*both('<texture type="cube" file="a.png" gridsize="3 4" gridlayout=".U..LFR....." rgb1="1 .2 .4"/>', {"a.png": grid}))
    same_pixels(*both('<texture type="cube" file="a.png"/>', {"a.png": png(noise(8, 8))}))
    faces = {f"{k}.png": png(noise(8, 8, seed=k)) for k in range(5)}
    same_pixels(*both('<texture name="c" type="cube" fileright="0.png" fileleft="1.png" fileup="2.png" filedown="3.png" filefront="4.png" rgb1=".5 .5 1"/>', faces))


OBJ = b"""v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1
vt 0 0\nvt .9 .1\nvt 1 .75\nvt .25 1
f 1/1 4/2 3/3 2/4\nf 5/1 6/2 7/3 8/4\nf 1/1 2/2 6/3 5/4\nf -7/-3 -6/-2 -2/-1 -3/-4\nf 3/2 4/2 8/3 7/4\nf 4/1 1/2 5/3 8/4
"""


def test_coordinates_of_meshes():
    theirs, ours = both('<mesh name="a" vertex="0 0 0 1 0 0 0 1 0 0 0 1" texcoord="0 0 1 0 0 1 .5 .25" face="0 2 1 0 1 3 0 3 2 1 2 3"/>'
                        '<mesh name="plain" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><mesh file="b.obj"/><mesh name="turned" file="b.obj" scale="-1 1 1"/>', {"b.obj": OBJ})
    assert ours.mesh_texcoordadr.tolist() == theirs.mesh_texcoordadr.tolist() and ours.mesh_texcoordadr[1] == -1

    def corners(model, mesh):
        """Places and texture coordinates of the corners, in any order."""
        faces = slice(model.mesh_faceadr[mesh], model.mesh_faceadr[mesh] + model.mesh_facenum[mesh])
        uv = model.mesh_texcoord[model.mesh_texcoordadr[mesh] + model.mesh_facetexcoord[faces]]
        turn = np.zeros(9)
        mujoco.mju_quat2Mat(turn, model.mesh_quat[mesh])
        place = model.mesh_pos[mesh] + model.mesh_vert[model.mesh_vertadr[mesh] + model.mesh_face[faces]] @ turn.reshape(3, 3).T  # in the file's frame
        rows = np.concatenate([place, uv], axis=2).reshape(-1, 5).round(4) + 0.0
        return rows[np.lexsort(rows.T)]
    for mesh in (0, 2, 3):
        assert np.abs(corners(theirs, mesh) - corners(ours, mesh)).max() < 2e-4


def test_what_cannot_be_read_is_a_warning():
    for files in ({}, {"a.png": b"no picture"}, {"a.png": png(noise(4, 4))[:60]}):
        with pytest.warns(UserWarning, match="texture is not drawn"):
            model = stiction.Model.from_xml_string('<mujoco><asset><texture name="t" type="2d" file="a.png"/></asset></mujoco>', files)
        assert model.tex_width[0] == 0 and model.tex_data.size == 0
    with pytest.warns(UserWarning, match="squares"):
        stiction.Model.from_xml_string('<mujoco><asset><texture name="t" file="a.png"/></asset></mujoco>', {"a.png": png(noise(4, 6))})


# ---- where pictures show them ---------------------------------------------------------------------------------------

QUARTERS = np.zeros((64, 64, 3), np.uint8)  # red, green; blue, white
QUARTERS[:32, :32, 0] = QUARTERS[:32, 32:, 1] = QUARTERS[32:, :32, 2] = 255
QUARTERS[32:, 32:] = 255


def color_at(geom, asset, place, outwards, files):
    """Which channels are bright where the eye looks at a place from outside."""
    xml = f"""<mujoco><visual><headlight ambient=".6 .6 .6" diffuse=".3 .3 .3" specular="0 0 0"/></visual>
      <asset>{asset}</asset><worldbody><geom {geom} material="m"/></worldbody></mujoco>"""
    model = stiction.Model.from_xml_string(xml, files)
    data = stiction.Data(model)
    stiction.forward(model, data)
    n = np.array(outwards, float) / np.linalg.norm(outwards)
    eye = dict(lookat=place, distance=1.2, elevation=-np.degrees(np.arcsin(n[2])), azimuth=np.degrees(np.arctan2(-n[1], -n[0])))
    middle = stiction.render(model, data, 31, 31, **eye)[15, 15].astype(float)
    return tuple(int(c > 0.5 * middle.max()) for c in middle)


def quarter(u, v):
    """By the formulas of MuJoCo's renderer."""
    u, v = u % 1, v % 1
    return (((1, 0, 0), (0, 1, 0)), ((0, 0, 1), (1, 1, 1)))[int(v > 0.5)][int(u > 0.5)]


def turn(x, y):
    return np.arctan2(y, x) / (2 * np.pi) % 1


BOX, BALL, TUBE, PLANE = 'type="box" size=".3 .2 .25"', 'type="sphere" size=".3"', 'type="cylinder" size=".3 .25"', 'type="plane" size="3 2 1"'
CASES = [(BOX, (x, y, .25), (0, .01, 1), ((x / .3 + 1) / 2, (1 - y / .2) / 2), (.3, .2)) for x in (-.1, .1) for y in (-.1, .1)]
CASES += [(BOX, (.3, y, z), (1, 0, 0), ((y / .2 + 1) / 2, (1 - z / .25) / 2), (.3, .2)) for y in (-.1, .1) for z in (-.1, .1)]
CASES += [(BOX, (x, -.2, z), (0, -1, 0), ((x / .3 + 1) / 2, (1 - z / .25) / 2), (.3, .2)) for x in (-.1, .1) for z in (-.1, .1)]
CASES += [(BALL, tuple(.3 * np.array(d)), d, (turn(d[0], d[1]), np.arccos(d[2]) / np.pi), (.3, .3)) for d in ((.6, .48, .64), (-.6, .48, -.64), (-.6, -.48, .64), (.6, -.48, -.64))]
CASES += [(TUBE, (.3 * c, .3 * s, z), (c, s, 0), (turn(c, s), (1 - z / .25) / 2), (.3, .3)) for c, s in ((.8, .6), (.6, -.8)) for z in (-.12, .12)]
CASES += [(TUBE, (.1, .1, .25), (0, .01, 1), (.667, .667), (.3, .3)), (TUBE, (-.1, .1, .25), (0, .01, 1), (.333, .667), (.3, .3))]
CASES += [(PLANE, (x, y, 0), (0, .01, 1), ((x / 3 + 1) / 2, (1 - y / 2) / 2), (3, 2)) for x in (-.4, .4) for y in (-.4, .4)]


@pytest.mark.parametrize("uniform", [False, True])
@pytest.mark.parametrize("repeat", [(1, 1), (3, 2)])
def test_pictures_lie_as_in_mujoco(repeat, uniform):
    asset = (f'<texture name="t" type="2d" file="q.png"/><material name="m" texture="t" texrepeat="{repeat[0]} {repeat[1]}" specular="0" '
             f'texuniform="{str(uniform).lower()}"/>')
    for geom, place, outwards, (u, v), size in CASES:
        u, v = (x * r * (s if uniform else 1) for x, r, s in zip((u, v), repeat, size))
        if min(abs(2 * x - round(2 * x)) for x in (u, v)) < 0.1:
            continue  # on a border of two colours
        assert color_at(geom, asset, place, outwards, {"q.png": png(QUARTERS)}) == quarter(u, v), (geom, place)


def test_surfaces_without_an_edge_begin_in_the_middle():
    asset = '<texture name="t" type="2d" file="q.png"/><material name="m" texture="t" texrepeat="2 2" specular="0"/>'
    for x, y in itertools.product((-.2, .2), (-.2, .2)):
        assert color_at('type="plane" size="0 0 1"', asset, (x, y, 0), (0, .01, 1), {"q.png": png(QUARTERS)}) == quarter(x + 0.5, 0.5 - y)


def test_cubes_show_their_faces():
    """R, L, U, D, F, B: +x, -x, +y, -y, +z, -z, as OpenGL has it."""
    colors = [(1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 0), (1, 0, 1), (0, 1, 1)]
    strip = np.concatenate([np.full((16, 16, 3), 255 * np.array(c), np.uint8) for c in colors])
    asset = '<texture name="t" type="cube" file="q.png" gridsize="6 1" gridlayout="RLUDFB"/><material name="m" texture="t" specular="0"/>'
    for geom in (BOX, BALL):
        for k, color in enumerate(colors):
            n = np.zeros(3)
            n[k // 2] = 1 - 2 * (k % 2)
            reach = (.3, .2, .25)[k // 2] if geom == BOX else .3
            assert color_at(geom, asset, tuple(reach * n), n + (0, .01, 0), {"q.png": png(strip)}) == color


def test_meshes_have_coordinates_of_their_own():
    asset = ('<texture name="t" type="2d" file="q.png"/><material name="m" texture="t" specular="0"/>'
             '<mesh name="a" vertex="-1 -1 0 1 -1 0 1 1 0 -1 1 0 0 0 -1" texcoord="0 1 1 1 1 0 0 0 0 0" face="0 1 2 0 2 3 0 4 1 1 4 2 2 4 3 3 4 0"/>')
    model = stiction.Model.from_xml_string(f'<mujoco><asset>{asset}</asset><worldbody><geom type="mesh" mesh="a"/></worldbody></mujoco>', {"q.png": png(QUARTERS)})
    lift = -model.mesh_pos[0]
    for x, y in itertools.product((-.5, .5), (-.5, .5)):
        place = (x, y, lift[2] - lift[2])
        assert color_at('type="mesh" mesh="a"', asset, place, (0, .01, 1), {"q.png": png(QUARTERS)}) == quarter((x + 1) / 2, (1 - y) / 2)


def test_far_textures_are_their_mean():
    """Checkers that are finer than a pixel are grey, not noise."""
    asset = '<texture name="t" type="2d" builtin="checker" rgb1="1 1 1" rgb2="0 0 0" width="64" height="64"/><material name="m" texture="t" texrepeat="400 400" specular="0"/>'
    xml = f'<mujoco><asset>{asset}</asset><worldbody><geom type="box" size="1 1 .1" material="m"/></worldbody></mujoco>'
    model = stiction.Model.from_xml_string(xml)
    data = stiction.Data(model)
    stiction.forward(model, data)
    image = stiction.render(model, data, 64, 64, lookat=(0, 0, .1), distance=1, elevation=-60, azimuth=90)[16:48, 16:48].astype(float)
    assert image.std() < 0.1 * image.mean()
