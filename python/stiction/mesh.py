# SPDX-License-Identifier: Apache-2.0
"""Meshes of tetrahedra for soft bodies and pressure fields.

    from stiction import mesh
    ball = mesh.tetrahedralize("ball.stl", nodes=500)          # isosurface stuffing, in C
    hard = mesh.tetrahedralize("finger.obj", edge=0.002, backend="pytetwild")
    ball.save("ball.msh")                                      # for <flexcomp type="gmsh">, or .vtk

On the command line, for surfaces that `stiction mesh` refuses: python -m stiction.mesh finger.obj -o finger.msh
"""
import argparse
import contextlib
import os
import struct
import sys
import tempfile

import numpy as np

from . import _core

__all__ = ["TetMesh", "tetrahedralize", "load", "read_surface"]


class TetMesh:
    """points [n, 3], tets [m, 4] (positively oriented), surface [k, 3] (outward triangles), info (figures of the mesh)."""

    def __init__(self, points, tets, *, _parts=None):
        if _parts is None:
            _parts = _core.tets("check", None, _reals(points), _integers(tets, 4), 0.0, 0, False, 0.1, 1.0, 0)
        node, tet, tri, self.info = _parts
        self.points = np.frombuffer(node).reshape(-1, 3)
        self.tets = np.frombuffer(tet, np.int32).reshape(-1, 4)
        self.surface = np.frombuffer(tri, np.int32).reshape(-1, 3)

    @property
    def volume(self):
        return self.info["volume"]

    def depth(self):
        """Distance of each node from the surface over the largest one: 0 to 1, as a pressure field has it."""
        return np.frombuffer(_core.tets_depth(self.points, self.tets))

    def save(self, path):
        """To a .vtk or .msh (Gmsh 4.1) file."""
        _core.tets_save(self.points, self.tets, os.fspath(path))

    def __repr__(self):
        return f"TetMesh({len(self.points)} nodes, {len(self.tets)} tets, volume {self.volume:.4g} m3)"


def _reals(points):
    array = np.ascontiguousarray(points, np.float64)
    if array.ndim != 2 or array.shape[1] != 3:
        raise ValueError(f"points must have the shape (n, 3), not {array.shape}")
    return array


def _integers(cells, width):
    array = np.asarray(cells)
    if array.ndim != 2 or array.shape[1] != width or not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"cells must be integers of the shape (n, {width}), not {array.dtype} {array.shape}")
    if array.size and (array.min() < 0 or array.max() >= 1 << 31):
        raise ValueError("a cell names a point that does not exist")
    return np.ascontiguousarray(array, np.int32)


def load(path):
    """A legacy VTK or Gmsh file of tetrahedra; inverted ones are turned, unused nodes left out (see info)."""
    return TetMesh(None, None, _parts=_core.tets("load", os.fspath(path), b"", b"", 0.0, 0, False, 0.1, 1.0, 0))


def tetrahedralize(vertices, faces=None, *, edge=None, nodes=None, open=False, max_volume=0.1, max_hausdorff=1.0,
                   max_tets=1_000_000, backend="stuffing"):
    """Fills a closed surface: `vertices` is a path (STL, OBJ), or an array [n, 3] with `faces` [m, 3].

    edge: length of the edges in m; or nodes: about so many (1000). backend "stuffing" (ours; good angles, sharp edges are
    cut off) or "pytetwild" (slow; keeps edges, takes surfaces that are open or cut themselves; needs `pip install pytetwild pyvista`).
    """
    if edge is not None and nodes is not None:
        raise ValueError("edge or nodes, not both")
    if edge is not None and not edge > 0:
        raise ValueError("edge must be positive")
    if backend == "pytetwild":
        return _wild(vertices, faces, edge, nodes)
    if backend != "stuffing":
        raise ValueError(f'backend must be "stuffing" or "pytetwild", not {backend!r}')
    rest = (float(edge or 0), int(nodes or 0), bool(open), float(max_volume), float(max_hausdorff), int(max_tets))
    if faces is None:
        path = os.fspath(vertices)
        return TetMesh(None, None, _parts=_core.tets("load", path, b"", b"", *rest))
    return TetMesh(None, None, _parts=_core.tets("fill", None, _reals(vertices), _integers(faces, 3), *rest))


def read_surface(path):
    """Vertices and triangles of a binary or text STL, or of an OBJ file."""
    path = os.fspath(path)
    with open(path, "rb") as file:
        data = file.read()
    if path.lower().endswith(".obj"):
        return _read_obj(data.decode("utf-8", "replace"), path)
    if path.lower().endswith(".stl"):
        return _read_stl(data, path)
    raise ValueError(f"{path}: only .stl and .obj surfaces are read here")


def _read_obj(text, path):
    vertices, faces = [], []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            vertices.append([float(x) for x in words[1:4]])
        elif words[:1] == ["f"]:
            corner = [int(w.split("/")[0]) for w in words[1:]]
            corner = [c - 1 if c > 0 else len(vertices) + c for c in corner]
            faces += [[corner[0], corner[i], corner[i + 1]] for i in range(1, len(corner) - 1)]
    if not vertices or not faces:
        raise ValueError(f"{path}: no vertices or no faces")
    return np.array(vertices), np.array(faces)


def _read_stl(data, path):
    count = struct.unpack_from("<I", data, 80)[0] if len(data) >= 84 else -1
    if len(data) == 84 + 50 * count:
        kind = np.dtype([("normal", "<f4", 3), ("corner", "<f4", (3, 3)), ("attribute", "<u2")])
        corner = np.frombuffer(data, kind, count, 84)["corner"].reshape(-1, 3).astype(float)
    else:
        lines = [line.split() for line in data.decode("utf-8", "replace").splitlines()]
        corner = np.array([[float(x) for x in words[1:4]] for words in lines if words[:1] == ["vertex"]])
    if len(corner) == 0 or len(corner) % 3:
        raise ValueError(f"{path}: not an STL file")
    vertices, index = np.unique(corner, axis=0, return_inverse=True)
    return vertices, index.reshape(-1, 3)


def _wild(vertices, faces, edge, nodes):
    try:
        import pytetwild
    except ImportError as problem:
        raise ImportError(f"the backend pytetwild cannot be used ({problem}): pip install pytetwild pyvista") from problem
    if faces is None:
        vertices, faces = read_surface(vertices)
    vertices, faces = _reals(vertices), _integers(faces, 3)
    corner = vertices[faces]
    volume = abs(np.einsum("ij,ij->", np.cross(corner[:, 0], corner[:, 1]), corner[:, 2])) / 6
    if edge is None:  # a mesh of tets of one size has about edge^3 / 6 for each of five times as many tets as nodes
        edge = (6 * volume / (5 * (nodes or 1000))) ** (1 / 3)
    size = np.linalg.norm(vertices.max(axis=0) - vertices.min(axis=0))
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # it leaves a file where it runs
        points, tets = pytetwild.tetrahedralize(vertices, faces, edge_length_fac=float(min(edge / size, 1)))[:2]
    mesh = TetMesh(points, np.asarray(tets).astype(np.int64))
    mesh.info["surface_volume"] = float(volume)
    mesh.info["volume_error"] = float(mesh.volume / volume - 1) if volume else float("nan")
    return mesh


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m stiction.mesh", description=__doc__.splitlines()[0])
    parser.add_argument("surface", help="an STL or OBJ file")
    parser.add_argument("-o", "--out", required=True, help="a .vtk or .msh file")
    parser.add_argument("--edge", type=float, help="edge length in m")
    parser.add_argument("--nodes", type=int, help="about so many nodes (1000)")
    parser.add_argument("--backend", default="pytetwild", choices=["pytetwild", "stuffing"])
    arguments = parser.parse_args(argv)
    try:
        mesh = tetrahedralize(arguments.surface, edge=arguments.edge, nodes=arguments.nodes, backend=arguments.backend)
        mesh.save(arguments.out)
    except (ImportError, OSError, ValueError, _core.Error) as problem:
        print(f"python -m stiction.mesh: {problem}", file=sys.stderr)
        return 1
    figures = mesh.info
    print(f"{len(mesh.points)} nodes, {len(mesh.tets)} tets; volume {mesh.volume:.6g} m3 ({100 * figures['volume_error']:+.2f} %); "
          f"dihedral {figures['min_dihedral']:.1f} to {figures['max_dihedral']:.1f} degrees")
    return 0


if __name__ == "__main__":
    sys.exit(main())
