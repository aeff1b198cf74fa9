# SPDX-License-Identifier: Apache-2.0
"""stiction.mesh: surfaces filled with tetrahedra, files, and what is refused."""
import importlib.util

import numpy as np
import pytest

import stiction
from stiction import mesh


def icosphere(radius, rounds=3):
    t = (1 + 5**0.5) / 2
    v = [np.array(p, float) for p in ((-1, t, 0), (1, t, 0), (-1, -t, 0), (1, -t, 0), (0, -1, t), (0, 1, t), (0, -1, -t),
                                      (0, 1, -t), (t, 0, -1), (t, 0, 1), (-t, 0, -1), (-t, 0, 1))]
    f = [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6), (7, 1, 8),
         (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10), (8, 6, 7), (9, 8, 1)]
    for _ in range(rounds):
        middle = {}

        def between(a, b):
            key = (min(a, b), max(a, b))
            if key not in middle:
                middle[key] = len(v)
                v.append(v[a] + v[b])
            v[middle[key]] = v[middle[key]] / np.linalg.norm(v[middle[key]])
            return middle[key]

        v = [p / np.linalg.norm(p) for p in v]
        f = [t for a, b, c in f for x, y, z in [(between(a, b), between(b, c), between(c, a))]
             for t in ((a, x, z), (b, y, x), (c, z, y), (x, y, z))]
    return radius * np.array([p / np.linalg.norm(p) for p in v]), np.array(f)


def volume(m):
    a, b, c, d = (m.points[m.tets[:, k]] for k in range(4))
    return np.einsum("ij,ij->", np.cross(b - a, c - a), d - a) / 6


def test_ball():
    vertices, faces = icosphere(0.02)
    ball = mesh.tetrahedralize(vertices, faces, nodes=500)
    assert 400 < len(ball.points) < 600
    assert ball.info["min_dihedral"] > 10.7 and ball.info["max_dihedral"] < 164.8
    assert ball.volume == pytest.approx(volume(ball), rel=1e-12)
    assert volume(ball) == pytest.approx(4 / 3 * np.pi * 0.02**3, rel=0.04)
    radius = np.linalg.norm(ball.points, axis=1)
    assert np.abs(radius[np.unique(ball.surface)] - 0.02).max() < 2e-4
    depth = ball.depth()
    assert depth.max() == 1 and (depth[np.unique(ball.surface)] == 0).all()
    assert np.abs(depth - (1 - radius / 0.02)).max() < 0.05
    assert not ball.info["turned"] and ball.info["crossings"] == 0


def test_files(tmp_path):
    vertices, faces = icosphere(0.02, 2)
    ball = mesh.tetrahedralize(vertices, faces, edge=0.008)
    for name in ("ball.vtk", "ball.msh"):
        ball.save(tmp_path / name)
        again = mesh.load(tmp_path / name)
        assert np.array_equal(again.points, ball.points) and np.array_equal(again.tets, ball.tets)
    with pytest.raises(stiction.Error, match="vtk or .msh"):
        ball.save(tmp_path / "ball.ply")
    with pytest.raises(stiction.Error, match="cannot be opened"):
        mesh.load(tmp_path / "none.vtk")
    obj = tmp_path / "ball.obj"
    obj.write_text("".join(f"v {x} {y} {z}\n" for x, y, z in vertices) + "".join(f"f {a} {b} {c}\n" for a, b, c in faces + 1))
    from_file = mesh.tetrahedralize(obj, edge=0.008)
    assert len(from_file.tets) == pytest.approx(len(ball.tets), rel=0.02)  # files hold single precision
    v, f = mesh.read_surface(obj)
    assert np.allclose(v, vertices) and np.array_equal(f, faces)


def test_gmsh_file_loads_in_mujoco(tmp_path):
    mujoco = pytest.importorskip("mujoco")
    vertices, faces = icosphere(0.02, 2)
    ball = mesh.tetrahedralize(vertices, faces, edge=0.008)
    ball.save(tmp_path / "ball.msh")
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><worldbody><body name="b"><flexcomp name="f" type="gmsh" file="{tmp_path}/ball.msh" dim="3" mass="1" '
        'radius="0.001"/></body></worldbody></mujoco>')
    assert model.flex_vertnum[0] == len(ball.points) and model.flex_elemnum[0] == len(ball.tets)


def test_arrays():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [9, 9, 9.0]])
    one = mesh.TetMesh(points, np.array([[0, 2, 1, 3]]))
    assert one.info["turned_tets"] == 1 and one.info["dropped_nodes"] == 1 and one.volume == pytest.approx(1 / 6)
    with pytest.raises(stiction.Error, match="no volume"):
        mesh.TetMesh(points, np.array([[0, 1, 1, 2]]))
    with pytest.raises(ValueError, match="shape"):
        mesh.TetMesh(points, np.array([[0, 1, 2]]))
    with pytest.raises(ValueError, match="integers"):
        mesh.TetMesh(points, np.array([[0, 1, 2, 3.0]]))
    with pytest.raises(ValueError, match="does not exist"):
        mesh.TetMesh(points, np.array([[0, 1, 2, 1 << 40]]))


def test_refused():
    vertices, faces = icosphere(0.02, 1)
    with pytest.raises(stiction.Error, match="open: 3 edges"):
        mesh.tetrahedralize(vertices, faces[:-1], edge=0.01)
    with pytest.raises(stiction.Error, match="limit"):
        mesh.tetrahedralize(vertices, faces, edge=1e-5)
    with pytest.raises(ValueError, match="not both"):
        mesh.tetrahedralize(vertices, faces, edge=0.01, nodes=100)
    with pytest.raises(ValueError, match="positive"):
        mesh.tetrahedralize(vertices, faces, edge=0)
    with pytest.raises(ValueError, match="backend"):
        mesh.tetrahedralize(vertices, faces, backend="magic")


def test_pytetwild(tmp_path, capsys):
    vertices, faces = icosphere(0.02, 2)
    assert stiction.mesh is mesh
    if importlib.util.find_spec("pytetwild") is None or importlib.util.find_spec("pyvista") is None:
        with pytest.raises(ImportError, match="pip install pytetwild pyvista"):
            mesh.tetrahedralize(vertices, faces, backend="pytetwild")
        obj = tmp_path / "ball.obj"
        obj.write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
        assert mesh.main([str(obj), "-o", str(tmp_path / "a.vtk")]) == 1
        assert "pip install pytetwild" in capsys.readouterr().err
        return
    ball = mesh.tetrahedralize(vertices, faces, edge=0.008, backend="pytetwild")
    assert abs(ball.info["volume_error"]) < 0.05


def test_command_line(tmp_path, capsys):
    vertices, faces = icosphere(0.02, 2)
    obj = tmp_path / "ball.obj"
    obj.write_text("".join(f"v {x} {y} {z}\n" for x, y, z in vertices) + "".join(f"f {a} {b} {c}\n" for a, b, c in faces + 1))
    assert mesh.main([str(obj), "-o", str(tmp_path / "a.vtk"), "--edge", "0.008", "--backend", "stuffing"]) == 0
    assert "dihedral" in capsys.readouterr().out
    assert mesh.main([str(tmp_path / "none.obj"), "-o", str(tmp_path / "a.vtk")]) == 1
