# SPDX-License-Identifier: Apache-2.0
"""Writes python/stiction/__init__.pyi from the field lists of the installed package."""
import pathlib
import sys

from stiction import _ALIASES, _KINDS, _core

HEAD = '''# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py from the field lists; ./dev docs writes it again.
import enum
import os
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import coupled as coupled
from . import mesh as mesh
from . import viewer as viewer

__version__: str
_Array = npt.NDArray[np.float64]
_IntArray = npt.NDArray[np.int32]
_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

class Error(Exception):
    code: str
    file: str
    line: int
    element: str
    attribute: str
    message: str

class Option:
    timestep: float
    gravity: _Array
    wind: _Array
    magnetic: _Array
    density: float
    viscosity: float
    impratio: float
    tolerance: float
    ls_tolerance: float
    iterations: int
    ls_iterations: int
    integrator: int
    cone: int
    solver: int
    disableflags: int
    enableflags: int
    disableactuator: int
    handlers: int
OWN_OPTIONS
class Handler(enum.IntFlag):
HANDLER_BITS
class Statistic:
    meaninertia: float
    meanmass: float
    meansize: float
    extent: float
    center: _Array

class Named:
    id: int
    name: str
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
'''
TAIL = '''
class Recorder:
    def __init__(self, path: _Path, data: Data, fields: str | Iterable[str] | None = ...) -> None: ...
    def frame(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Recorder: ...
    def __exit__(self, *exception: object) -> None: ...

def forward(model: Model, data: Data) -> None: ...
def step(model: Model, data: Data, nstep: int = ...) -> None: ...
def reset(model: Model, data: Data, key: str | int | None = ...) -> None: ...
def mass_matrix(model: Model, data: Data) -> _Array: ...
class Stage(NamedTuple):
    name: str
    parent: int
    depth: int
    count: int
    nanoseconds: int
    iterations: int

class Ray(NamedTuple):
    distance: float
    geom: int
    normal: _Array

class Distance(NamedTuple):
    distance: float
    fromto: _Array

def ray(model: Model, data: Data, pnt: Sequence[float] | _Array, vec: Sequence[float] | _Array,
        groups: Iterable[int] | None = ..., fixed: bool = ..., bodyexclude: int = ...) -> Ray: ...
def geom_distance(model: Model, data: Data, geom1: str | int, geom2: str | int, distmax: float = ...) -> Distance: ...
class Reach(NamedTuple):
    qpos: _Array
    end: str
    position: float
    angle: float
    iterations: int
    restarts: int
    @property
    def reached(self) -> bool: ...

def ik_solve(model: Model, data: Data, site: str | int | None = ..., body: str | int | None = ...,
             pos: Sequence[float] | _Array | None = ..., quat: Sequence[float] | _Array | None = ...,
             qpos: Sequence[float] | _Array | None = ..., joints: Iterable[str | int] | None = ..., max_iterations: int = ...,
             restarts: int = ..., tolerance: float = ..., damping: float = ..., radius: float = ...) -> Reach: ...
def check(path: _Path, allow_outside: bool | _Path = ...) -> list[dict[str, Any]]: ...
def picture(model: Model, data: Data, width: int = ..., height: int = ..., camera: str | int | None = ...,
            lookat: Sequence[float] | None = ..., distance: float = ..., azimuth: float | None = ...,
            elevation: float | None = ..., groups: Iterable[int] = ..., sites: bool = ...) -> npt.NDArray[np.uint8]: ...
def render(model: Model, data: Data, width: int = ..., height: int = ..., camera: str | int | None = ...,
           **options: Any) -> npt.NDArray[np.uint8]: ...

class Row(NamedTuple):
    kind: str
    dim: int
    mu: tuple[float, ...] = ...
    lo: float = ...
    hi: float = ...

def cone(dim: int = ..., mu: npt.ArrayLike = ...) -> Row: ...
def interval(lo: float, hi: float, dim: int = ...) -> Row: ...
def huber(bound: float, dim: int = ...) -> Row: ...
def quadratic(dim: int = ...) -> Row: ...

_Matrix = Any  # dense array, SciPy matrix, or (data, indices, indptr)

class Problem:
    n: int
    nrow: int
    m: int
    rows: list[Row]
    R: _Array
    vhat: _Array
    vstar: _Array | None
    q: _Array | None
    A: tuple[_Array, _IntArray, _IntArray] | None
    J: tuple[_Array, _IntArray, _IntArray] | None
    W: tuple[_Array, _IntArray, _IntArray] | None
    def __init__(self, rows: Iterable[Row | dict[str, Any]], *, A: _Matrix = ..., vstar: npt.ArrayLike | None = ...,
                 J: _Matrix = ..., W: _Matrix = ..., q: npt.ArrayLike | None = ..., R: npt.ArrayLike | None = ...,
                 vhat: npt.ArrayLike | None = ..., h: float = ...) -> None: ...
    @classmethod
    def from_file(cls, path: _Path) -> Problem: ...
    def save(self, path: _Path) -> None: ...
    def export_fclib(self, path: _Path) -> None: ...
    def islands(self) -> tuple[int, _IntArray, _IntArray]: ...
    def vjp(self, v: npt.ArrayLike, w: npt.ArrayLike, workspace: Workspace | None = ...) -> dict[str, _Array]: ...

class Workspace:
    def __init__(self, threads: int = ...) -> None: ...

class Certificate(NamedTuple):
CERTIFICATE_PARTS
class Solution:
    v: _Array | None
    gamma: _Array
    info: dict[str, Any]
    certificate: Certificate
    history: _Array
    @property
    def converged(self) -> bool: ...

def solve(problem: Problem, solver: str = ..., coulomb: str = ..., tol: float | None = ..., *,
          guess_v: npt.ArrayLike | None = ..., guess_gamma: npt.ArrayLike | None = ..., workspace: Workspace | None = ...,
          linear: str = ..., preconditioner: str = ..., full_error: float = ..., atol: float = ..., rtol: float = ..., adaptive_atol: bool = ...,
          max_iterations: int = ..., max_newton: int = ..., max_pcg: int = ..., max_line_search: int = ..., max_work: float = ...,
          pcg_tol: float = ..., ls_tol: float = ..., max_step: float = ..., gradient_limit: float = ..., relaxation: float = ...,
          finish: bool = ..., history: bool = ...) -> Solution: ...
def certify(problem: Problem, v: npt.ArrayLike | None, gamma: npt.ArrayLike, coulomb: str = ..., rank: bool = ...,
            share: bool = ...) -> Any: ...
'''


def stub():
    named = "".join(f"    def {kind}(self, name: str | int) -> Named: ...\n" for kind in (*_KINDS, *_ALIASES))
    model = "\nclass Model:\n    opt: Option\n    stat: Statistic\n    warnings: list[str]\n"
    model += "".join(f"    {name}: int\n" for name in _core.SIZES)
    model += "".join(f"    {name}: npt.NDArray[Any]\n" for name, *_ in _core.FIELDS)
    model += '''    @classmethod
    def from_xml_path(cls, path: _Path, assets: dict[str, bytes] | None = ..., allow_outside: bool | _Path = ..., memory_limit: int = ...,
                      element_limit: int = ...) -> Model: ...
    @classmethod
    def from_xml_string(cls, xml: str | bytes, assets: dict[str, bytes] | None = ..., memory_limit: int = ...,
                        element_limit: int = ...) -> Model: ...
    @property
    def title(self) -> str: ...
    def hash(self) -> int: ...
    def update(self) -> None: ...
    def get_sensor_value(self, name: str, data: Data) -> npt.NDArray[np.float32]: ...
''' + named
    data = "\nclass Data:\n    model: Model\n    time: float\n"
    data += "".join(f"    {name}: _Array\n" for name, role in _core.STATE if role != "T" and name != "time")
    data += '''    def __init__(self, model: Model, profile: bool = ..., threads: int = ...) -> None: ...
    @property
    def contact(self) -> np.recarray[Any, Any]: ...
    @property
    def patches(self) -> np.recarray[Any, Any]: ...
    def soft_stress(self, tensor: bool = ...) -> _Array: ...
    @property
    def ncon(self) -> int: ...
    @property
    def certificate(self) -> Certificate: ...
    def certify(self) -> Certificate: ...
    @property
    def converged(self) -> bool: ...
    @property
    def solver_niter(self) -> int: ...
    def coupled(self, constraint: str | int) -> coupled.Diagnostics: ...
    def hash(self) -> int: ...
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: bytes) -> None: ...
    def drop_warm_start(self) -> None: ...
    @property
    def trouble(self) -> tuple[str, ...]: ...
    @property
    def capsules(self) -> int: ...
    def set_capsules(self, folder: _Path | None, most: int = ..., troubles: Iterable[str] = ...) -> None: ...
    def save_capsule(self, path: _Path) -> None: ...
    def load_capsule(self, path: _Path) -> None: ...
    @property
    def warnings(self) -> dict[str, tuple[int, str]]: ...
    @property
    def growths(self) -> dict[str, tuple[int, int, int]]: ...
    @property
    def overlaps(self) -> list[tuple[int, int, float, str]]: ...
    def profile(self) -> list[Stage]: ...
''' + named
    batch = "\nclass Batch:\n    model: Model\n    threads: int\n    errors: str\n"
    batch += "".join(f"    {name}: _Array\n" for name, role in _core.STATE if role != "T")
    batch += '''    def __init__(self, model: Model, n: int, threads: int | None = ..., errors: str = ...) -> None: ...
    def __len__(self) -> int: ...
    def step(self, nstep: int = ..., ctrl: npt.ArrayLike | None = ...) -> None: ...
    def forward(self, worlds: npt.ArrayLike | None = ...) -> None: ...
    def reset(self, worlds: npt.ArrayLike | None = ..., key: str | int | None = ..., state: npt.ArrayLike | None = ...) -> None: ...
    @property
    def nstate(self) -> int: ...
    @property
    def state(self) -> _Array: ...
    @property
    def failures(self) -> dict[int, tuple[str, str]]: ...
    @property
    def certificate(self) -> _Array: ...
    @property
    def solver_niter(self) -> _IntArray: ...
    @property
    def converged(self) -> npt.NDArray[np.bool_]: ...
    @property
    def lanes(self) -> int: ...
    @property
    def lane_share(self) -> float: ...
    def parameter(self, name: str) -> _Array: ...
    def world(self, i: int) -> Data: ...
    def hashes(self) -> list[int]: ...

def rollout(model: Model, initial_state: npt.ArrayLike | Data, control: npt.ArrayLike | None = ..., *, nstep: int | None = ...,
            threads: int | None = ..., errors: str = ...) -> tuple[_Array, _Array]: ...
'''
    parts = "".join(f"    {name}: {'int' if name.startswith('n') and name != 'natural' else 'float'}\n" for name in _core.CERTIFICATE)
    own = "".join(f"    {name}: {'int' if type_ == 'i' else 'float'}\n" for name, type_ in _core.OPTIONS)
    bits = "".join(f"    {name} = {1 << i}\n" for i, name in enumerate(_core.HANDLERS))
    return HEAD.replace("OWN_OPTIONS", own).replace("HANDLER_BITS", bits) + model + data + batch + TAIL.replace("CERTIFICATE_PARTS", parts)


if __name__ == "__main__":
    path = pathlib.Path(__file__).resolve().parents[1] / "python" / "stiction" / "__init__.pyi"
    if "--check" in sys.argv:
        sys.exit(path.read_text() != stub() and "the stubs are stale: run ./dev docs")
    path.write_text(stub())
    print(path.name)
