# SPDX-License-Identifier: Apache-2.0
"""Stiction: physics of robots and soft things that touch each other.

    import stiction
    model = stiction.Model.from_xml_path("robot.xml")
    data = stiction.Data(model)
    stiction.step(model, data, 100)
    print(data.qpos, data.sensordata)

Names follow MuJoCo's where the thing is the same. Arrays are NumPy views on the library's memory,
without copies; they stay valid, and keep their owner alive, as long as they are used.
"""
import difflib as _difflib
import enum as _enum
import operator as _operator
import os as _os
import re as _re
import sys as _sys
import typing as _typing
import warnings as _warnings

import numpy as _np

from . import _core, coupled
from ._core import Error
from .batch import Batch, rollout
from .control import (Disable, Enable, Equality, Geom, Integrator, Joint, Linear, Object, Sensor, State, Transmission, apply_ft,
                      differentiate_pos, get_state, id2name, integrate_pos, inverse, jac_body, jac_body_com, jac_geom, jac_point,
                      jac_site, jac_subtree_com, linearize, name2id, object_velocity, set_keyframe, set_state, stage, state_size,
                      step1, step2)
from .handlers import Rows
from .pictures import Marker, Renderer, picture, render, render_video
from .problem import (Certificate, Problem, Row, Solution, Workspace, certify, cone, huber, interval, quadratic,
                      solve)
from .spec import Element, Spec

__version__ = _core.VERSION
__all__ = ["Model", "Data", "Batch", "rollout", "Handler", "Error", "Recorder", "forward", "step", "reset", "mass_matrix", "check", "scene_path", "picture", "render", "Renderer", "Marker", "render_video", "viewer",
           "ray", "geom_distance", "Ray", "Distance", "ik_solve", "Reach",
           "jac_body", "jac_body_com", "jac_geom", "jac_site", "jac_point", "jac_subtree_com", "object_velocity", "apply_ft",
           "integrate_pos", "differentiate_pos", "inverse", "linearize", "Linear", "step1", "step2", "stage", "get_state", "set_state",
           "state_size", "set_keyframe", "name2id", "id2name", "Joint", "Geom", "Integrator", "Equality", "Transmission", "Sensor",
           "Object", "Disable", "Enable", "State", "Spec", "Element", "Rows",
           "Problem", "Solution", "Certificate", "Row", "Workspace", "cone", "interval", "huber", "quadratic", "solve", "certify", "coupled"]

# kind: (prefix of its model fields, size name)
_KINDS = {
    "body": ("body_", "nbody"), "joint": ("jnt_", "njnt"), "geom": ("geom_", "ngeom"),
    "site": ("site_", "nsite"), "camera": ("cam_", "ncam"), "light": ("light_", "nlight"),
    "material": ("mat_", "nmat"), "texture": ("tex_", "ntex"), "mesh": ("mesh_", "nmesh"), "skin": ("skin_", "nskin"),
    "hfield": ("hfield_", "nhfield"), "flex": ("flex_", "nflex"),
    "tendon": ("tendon_", "ntendon"), "actuator": ("actuator_", "nactuator"), "sensor": ("sensor_", "nsensor"),
    "equality": ("eq_", "neq"), "pair": ("pair_", "npair"), "exclude": ("exclude_", "nexclude"),
    "key": ("key_", "nkey"), "numeric": ("numeric_", "nnumeric"),
}
# the shorter names of the same kinds
_ALIASES = {"jnt": "joint", "cam": "camera", "mat": "material", "tex": "texture", "ten": "tendon",
            "eq": "equality", "keyframe": "key"}
_SIZES = frozenset(_core.SIZES)
_CHANGE = {name: change for name, _, change in _core.FIELDS}  # letters of model_fields.h
_FIELDS = frozenset(_CHANGE)
_STATE = {name: role for name, role in _core.STATE if role != "T"}


# words for the options that are one of a few
_WORDS = {
    "contact_solver": ("sap", "apgd", "newton", "auto"),
    "coulomb": ("relaxed", "exact"),
    "linear": ("auto", "direct", "pcg"),
    "memory": ("disable", "enable"),
    "watch": ("off", "warn", "stop"),
    "adaptive_atol": ("disable", "enable"),
    "integrator": ("Euler", "RK4", "implicit", "implicitfast", "alm"),
    "alm_scheme": ("euler", "bdf2", "midpoint"),
    "alm_adaptive": ("disable", "enable"),
}

_BOUNDS = {name: (least, most) for name, least, most in _core.BOUNDS}

# options of MJCF that have no effect, and ours that do their job
_IDLE = {
    "cone": "coulomb", "solver": "contact_solver", "tolerance": "contact_tol", "iterations": "max_newton",
    "ls_iterations": "max_line_search", "ls_tolerance": "ls_tol", "impratio": "sigma",
}

Handler = _enum.IntFlag("Handler", {name: 1 << i for i, name in enumerate(_core.HANDLERS)})
Handler.__doc__ = "Bits of model.opt.handlers: which handlers make rows."


class _Struct:
    """Live view on a C struct of numbers: model.opt, model.stat."""

    def __init__(self, core, which):
        object.__setattr__(self, "_core", core)
        object.__setattr__(self, "_which", which)
        object.__setattr__(self, "_arrays", {})

    def _array(self, name):
        array = self._arrays.get(name)
        if array is None:
            view = self._core.struct_view(self._which, name)
            if view is None:
                raise AttributeError(f"{self._which} has no member {name!r}", name=name, obj=self)
            array = self._arrays[name] = _np.asarray(view)
        return array

    def __dir__(self):
        return self._core.struct_names(self._which)

    def __repr__(self):
        """With all values."""
        return "\n".join([f"<{self._which} of a model", *(f"  {name}: {getattr(self, name)}" for name in dir(self))]) + ">"

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        array = self._array(name)
        return array if array.size > 1 else array.item()

    def __setattr__(self, name, value):
        array = self._array(name)
        if isinstance(value, str) and name in _WORDS:
            if value not in _WORDS[name]:
                raise ValueError(f"{self._which}.{name} must be {' or '.join(_WORDS[name])}, not {value!r}")
            value = _WORDS[name].index(value)
        if array.dtype == _np.int32:
            value = _operator.index(value)
            if not -2**31 <= value < 2**31:
                raise ValueError(f"{self._which}.{name} must fit into 32 bits")
        value = _np.asarray(value, dtype=float)
        if not _np.all(_np.isfinite(value)):
            raise ValueError(f"{self._which}.{name} must be finite")
        least, most = _BOUNDS.get(name, (-1e10, 1e10)) if self._which == "opt" else (-_np.inf, _np.inf)
        if not _np.all((value >= least) & (value <= most)):
            raise ValueError(f"{self._which}.{name} is {value.tolist()}, must be between {least:g} and {most:g}")
        if self._which == "opt" and name in _IDLE:
            ours = f"; Stiction's option for it is {_IDLE[name]}" if _IDLE[name] else ""
            _warnings.warn(f"opt.{name} is kept for MJCF and has no effect{ours}", stacklevel=2)
        changed = not _np.array_equal(array, value.reshape(-1)) if value.size == array.size else True
        array[:] = value
        why = self._core.option_idle(name) if self._which == "opt" and changed else None
        if why:
            _warnings.warn(f"opt.{name} has no effect with the other options as they are: it {why}", stacklevel=2)


class _Named:
    """One object of a model or data by name or id: id, name and its rows of the arrays."""

    def __init__(self, owner, kind, index, name):
        self._owner, self._kind = owner, kind
        self.id, self.name = index, name

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        return self._owner._named_value(self._kind, self.id, name)

    def __setattr__(self, name, value):
        if name.startswith("_") or name in ("id", "name"):
            object.__setattr__(self, name, value)
        else:
            self._owner._named_value(self._kind, self.id, name)[...] = value

    def __dir__(self):
        return sorted({"id", "name", *self._owner._named_fields(self._kind, self.id)})

    def __repr__(self):
        """With all values."""
        rows = [f"  {name}: {getattr(self, name)}" for name in dir(self) if name not in ("id", "name")]
        return "\n".join([f"<{self._kind} {self.id} {self.name!r}", *rows]) + ">"


class _HasNamed:
    """body("hand"), joint(3), ... for every named kind."""

    def _index(self, kind, which):
        """The id of an object given by name or id."""
        core, (_, size) = self._model_core, _KINDS[kind]
        count = core.size(size)
        if which is None:
            names = [core.name(_core.OBJECTS[kind], i) for i in range(min(count, 100))]
            raise KeyError(f"which {kind}? There are {count}: {', '.join(map(repr, names))}{', ...' if count > 100 else ''}")
        if isinstance(which, str):
            index = core.id(_core.OBJECTS[kind], which)
            if index < 0:
                names = [name for i in range(count) if (name := core.name(_core.OBJECTS[kind], i))]
                near = _difflib.get_close_matches(which, names, 5) or names[:20]
                nameless = count - len(names)
                dots = ", ..." if len(near) < len(names) else f" and {nameless} without a name" if nameless else ""
                told = f"there are {', '.join(map(repr, near))}{dots}" if names else f"there are {count or 'none'}{', none with a name' if count else ''}"
                raise KeyError(f"no {kind} named {which!r}; {told}")
        else:
            index = _operator.index(which)
            if not 0 <= index < count:
                raise IndexError(f"{kind} {index} is out of range: there are {count}")
        return index

    def _named_fields(self, kind, index):
        """Names that an object of the kind has."""
        found = []
        for name in self._named_candidates(kind):
            try:
                self._named_value(kind, index, name)
            except AttributeError:
                continue
            found.append(name)
        return found

    def _named(self, kind, which):
        index = self._index(kind, which)
        return _Named(self, kind, index, self._model_core.name(_core.OBJECTS[kind], index))


def _add_kinds():
    for kind in _KINDS:
        def lookup(self, name=None, _kind=kind):
            return self._named(_kind, name)
        lookup.__name__ = kind
        lookup.__doc__ = f"The {kind} with this name or id; its repr and dir() say what it has. Without a name an error lists all."
        setattr(_HasNamed, kind, lookup)
    for alias, kind in _ALIASES.items():
        setattr(_HasNamed, alias, getattr(_HasNamed, kind))


_add_kinds()


class Model(_HasNamed):
    """A compiled model. Fields and sizes are attributes: model.nv, model.body_mass. Masses, frictions, gains, poses and the like may
    be written, model.body_mass[2] = 3, and options too, model.opt.timestep = 0.001: the next step uses them and what follows from
    them. Sizes, tree and meshes are read only. docs/changing.md."""

    def __init__(self, *_):
        raise TypeError("use Model.from_xml_path or Model.from_xml_string")

    @classmethod
    def _make(cls, core, warnings):
        self = cls.__new__(cls)
        self.__dict__.update(_model_core=core, opt=_Struct(core, "opt"), stat=_Struct(core, "stat"),
                             warnings=warnings)
        return self

    def _warn(self):
        if self.warnings:
            more = f" (and {len(self.warnings) - 1} more in model.warnings)" if len(self.warnings) > 1 else ""
            _warnings.warn(self.warnings[0] + more, stacklevel=4)

    @classmethod
    def from_xml_path(cls, path, assets=None, allow_outside=False, memory_limit=0, element_limit=0):
        """Load an MJCF file. assets: dict of name to bytes, looked at before the disk.
        allow_outside: the folder whose files it may name, or True: any file; False: those of its project (docs/files.md). memory_limit (bytes) and element_limit: what the
        load may take; 0: the standard limits, 4 GiB and 1,048,576 elements."""
        return cls._load(_os.fsencode(path), None, assets, _root(allow_outside), memory_limit, element_limit)

    @classmethod
    def from_xml_string(cls, xml, assets=None, memory_limit=0, element_limit=0):
        """Load MJCF from a string; files it names come from assets, then the working folder. Limits as of from_xml_path."""
        if not isinstance(xml, (str, bytes)):
            raise TypeError(f"xml must be a string, not {type(xml).__name__}")
        if isinstance(xml, str):  # which has no encoding any more, whatever its first line says
            xml = _re.sub(r"^(\s*<\?xml\b[^>]*?)\s+encoding\s*=\s*([\"']).*?\2", r"\1", xml, count=1)
        return cls._load(None, xml, assets, False, memory_limit, element_limit)

    @classmethod
    def _load(cls, path, xml, assets, allow_outside, memory_limit, element_limit):
        try:
            core, diagnostics = _core.load(path, xml, assets, allow_outside, False, memory_limit, element_limit)
        except Error as error:
            if path is not None and not _os.path.exists(path) and _os.fsdecode(path) in _scenes():
                error.add_note(f"a scene of this name comes with the package: stiction.scene_path({_os.fsdecode(path)!r})")
            raise
        self = cls._make(core, [d["text"] for d in diagnostics])
        self._warn()
        return self

    def __copy__(self):
        """An independent model with options of its own."""
        return self._make(self._model_core.copy(), list(self.warnings))

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce__(self):
        options = {name: _np.array(self.opt._array(name)) for name in dir(self.opt)}
        return _unpack_model, (self._model_core.pack(), options, list(self.warnings))

    def update(self):
        """Checks what was written into fields and computes what follows from it. Steps and all else do that by themselves; call it
        to have the error of an impossible value here, or to read derived fields such as body_subtreemass at once. After an error
        all fields are as they were at the last update."""
        self._model_core.update()

    def __setattr__(self, name, value):
        why = self._model_core.may_write(name) if name in _FIELDS else None
        if name not in _FIELDS or why:
            why = why or ("sizes follow from the file: edit it and load it anew" if name in _SIZES else "there is no such field")
            raise AttributeError(f"Model.{name} cannot be set: {why}")
        getattr(self, name)[...] = value

    def __getattr__(self, name):
        if name in _SIZES:
            self.__dict__[name] = size = self._model_core.size(name)
            return size
        if name in _FIELDS:
            array = _np.asarray(self._model_core.view(name))
            self.__dict__[name] = array
            return array
        raise AttributeError(f"Model has no attribute {name!r}", name=name, obj=self)

    def __dir__(self):
        return sorted(set(super().__dir__()) | _SIZES | _FIELDS)

    def _named_candidates(self, kind):
        prefix = _KINDS[kind][0]
        own = {name[len(prefix):] for name in _FIELDS if name.startswith(prefix)}
        return sorted(own | ({name[4:] for name in _FIELDS if name.startswith("dof_")} | {"qpos0"} if kind == "joint" else set()))

    def _named_value(self, kind, index, name):
        prefix, size = _KINDS[kind]
        array = getattr(self, prefix + name) if prefix + name in _FIELDS else None
        if array is not None and len(array) == self._model_core.size(size):  # else of parts, such as vertices
            return array[index] if array.ndim > 1 else array[index:index + 1]
        if kind == "joint" and "dof_" + name in _FIELDS:
            start, count = self.jnt_dofadr[index], (6, 3, 1, 1)[self.jnt_type[index]]
            return getattr(self, "dof_" + name)[start:start + count]
        if kind == "joint" and name == "qpos0":
            start, count = self.jnt_qposadr[index], (7, 4, 1, 1)[self.jnt_type[index]]
            return self.qpos0[start:start + count]
        raise AttributeError(f"a {kind} has no {name!r}")

    @property
    def title(self):
        """The name of the model."""
        return self._model_core.title()

    def hash(self):
        """64-bit hash of all sizes, options and fields."""
        return self._model_core.hash()

    def get_sensor_value(self, name, data):
        """The values of a sensor as a float32 array (a copy).

        That of a contact sensor is the number of contacts and then what is reported of each, padded with zeros."""
        _same(self, data)
        size = data._core.sensor(name, _np.zeros(0, _np.float32))
        if size < 0:
            raise KeyError(f"no sensor named {name!r}")
        out = _np.zeros(size, _np.float32)
        data._core.sensor(name, out)
        return out

    def __repr__(self):
        return f"<stiction.Model {self.title!r}: {self.nbody} bodies, {self.nv} dofs, {self.nactuator} actuators>"


def _unpack_model(packed, options, warnings):
    """A pickled Model."""
    model = Model._make(_core.unpack(packed), warnings)
    for name, value in options.items():
        model.opt._array(name)[...] = value
    return model


def _unpack_data(model, snapshot, threads):
    """A pickled Data."""
    data = Data(model, threads=threads)
    data.restore(snapshot)
    return data


# sti_contact
_CONTACT = _np.dtype(
    [(name, "i4") for name in ("geom1", "geom2", "body1", "body2", "flex1", "flex2", "elem1", "elem2", "dim", "region")]
    + [("pos", "f8", 3), ("frame", "f8", 9), ("dist", "f8"), ("phi0", "f8"), ("stiffness", "f8"), ("area", "f8"),
       ("pressure", "f8"), ("bary1", "f8", 4), ("bary2", "f8", 4), ("mu", "f8", 5),
       ("impulse", "f8", 6), ("force", "f8", 6), ("adhesion", "f8"), ("share", "f8"), ("feature", "u8")])


# sti_patch
_PATCH = _np.dtype(
    [(name, "i4") for name in ("geom1", "geom2", "flex1", "flex2", "elem1", "elem2", "count", "zero")]
    + [("area", "f8"), ("pressure", "f8"), ("pos", "f8", 3), ("normal", "f8", 3), ("corner", "f8", (8, 3))])


class Data(_HasNamed):
    """The state of one simulation, and everything derived from it. threads: how many step it; the bits are the same."""

    def __init__(self, model, profile=False, threads=1):
        if not isinstance(model, Model):
            raise TypeError("Data needs a stiction.Model")
        if not 1 <= threads <= 1024:
            raise ValueError("threads must be between 1 and 1024")
        self.__dict__["model"] = model
        self.__dict__["_model_core"] = model._model_core
        self.__dict__["_threads"] = threads
        self.__dict__["_core"] = _core.world(model._model_core, profile, threads)

    # ---- functions that steps call ---------------------------------------------------------------------------

    def _add_callback(self, function, handler):
        if not callable(function):
            raise TypeError(f"a {'handler' if handler else 'controller'} must be a function, not {type(function).__name__}")
        functions = self.__dict__.setdefault("_functions", {})
        key = max(functions, default=-1) + 1
        self._core.set_data(self)
        self._core.add_callback(key, handler)
        functions[key] = (function, handler)
        return key

    def add_controller(self, function):
        """function(model, data) is called in every step, forward and step1, when positions and velocities are known and before
        actuators act, to write inputs: data.ctrl, qfrc_applied, xfrc_applied, flexvert_applied. With substeps it is called in each
        part, with RK4 once a step. What it raises comes out of step, and the state is the last good one. Copies of the data call it
        too, with the copy; pickled ones do not have it. Returns its number for remove_handler. docs/handlers.md."""
        return self._add_callback(function, False)

    def add_handler(self, function):
        """function(model, data, rows) is called in the contact stage of every step and adds rows or contacts of its own to the
        problem: rows.add, rows.touch. Else as add_controller."""
        return self._add_callback(function, True)

    def remove_handler(self, number):
        """The handler or controller with this number is not called any more."""
        if number not in self.__dict__.get("_functions", {}):
            raise KeyError(f"there is no handler or controller {number!r}")
        self._core.remove_callback(number)
        del self._functions[number]

    def _called(self, number, with_rows):
        """By the core, within a step."""
        function = self._functions[number][0]
        if with_rows:
            function(self.model, self, Rows(self))
        else:
            function(self.model, self)

    def _view(self, name):
        """A field as an array. It stays in the object's own dictionary, so that Python finds it there the next time."""
        array = self.__dict__.get(name)
        if array is None:
            array = _np.asarray(_core.eq_active(self._core) if name == "eq_active" else self._core.view(name))
            self.__dict__[name] = array
        return array

    def __getattr__(self, name):
        if name in _STATE or name == "eq_active":
            return self._view(name)
        raise AttributeError(f"Data has no attribute {name!r}", name=name, obj=self)

    def __setattr__(self, name, value):
        if name not in _STATE and name != "eq_active":
            raise AttributeError(f"Data has no attribute {name!r}", name=name, obj=self)
        self._view(name)[...] = value

    @property
    def time(self):
        """Simulated time, s."""
        return self._view("time").item()

    def __dir__(self):
        return sorted(set(super().__dir__()) | set(_STATE) | {"eq_active"})

    @staticmethod
    def _named_candidates(kind):
        prefix = {"geom": "geom_", "site": "site_", "camera": "cam_", "light": "light_", "tendon": "ten_", "actuator": "actuator_"}.get(kind)
        if kind == "body":
            return [n for n in ("cacc", "cfrc_ext", "cfrc_int", "cinert", "cvel", "subtree_angmom", "subtree_com", "subtree_linvel", "xfrc_applied",
                                "ximat", "xipos", "xmat", "xpos", "xquat") if n in _STATE]
        if kind == "joint":
            return ["cdof", "qacc", "qpos", "qvel", "xanchor", "xaxis", *sorted(n for n in _STATE if n.startswith("qfrc_"))]
        own = sorted(n[len(prefix):] for n in _STATE if prefix and n.startswith(prefix))
        return own + {"actuator": ["ctrl"], "sensor": ["data"]}.get(kind, [])

    def _named_value(self, kind, index, name):
        model = self.model
        if kind == "joint":
            t = model.jnt_type[index]
            if name == "qpos":
                start = model.jnt_qposadr[index]
                return self.qpos[start:start + (7, 4, 1, 1)[t]]
            if name in ("xanchor", "xaxis"):
                return self._view(name)[index]
            if name in ("qvel", "qacc", "cdof") or name.startswith("qfrc_"):
                start = model.jnt_dofadr[index]
                return self._view(name)[start:start + (6, 3, 1, 1)[t]]
        if kind == "sensor" and name == "data":
            start = model.sensor_adr[index]
            return self.sensordata[start:start + model.sensor_dim[index]]
        if kind == "actuator" and name == "ctrl":
            return self.ctrl[index:index + 1]
        prefix = {"body": "", "geom": "geom_", "site": "site_", "camera": "cam_", "light": "light_",
                  "tendon": "ten_", "actuator": "actuator_"}.get(kind)
        rows = {"body": "nbody"}.get(kind)
        if prefix is not None and prefix + name in _STATE:
            array = self._view(prefix + name)
            if rows is None or len(array) == model._model_core.size(rows):
                return array[index] if array.ndim > 1 else array[index:index + 1]
        raise AttributeError(f"a {kind} has no {name!r}")

    @property
    def contact(self):
        """The contacts of the last forward or step: a record array, a copy. data.contact[0].force, data.contact.dist, ..."""
        return _np.frombuffer(self._core.contacts(), _CONTACT).view(_np.recarray)

    @property
    def patches(self):
        """The polygons on which pressure fields touch: a record array, a copy. data.patches[0].corner[:data.patches[0].count]"""
        return _np.frombuffer(self._core.patches(), _PATCH).view(_np.recarray)

    @property
    def tree_asleep(self):
        """Which trees sleep, a copy: negative if awake, else the next of the trees that fell asleep together (docs/sleep.md)."""
        return _np.frombuffer(self._core.tree_asleep(), _np.int32)

    def soft_stress(self, tensor=False):
        """Stress of the tetrahedra of all soft bodies where they are now, Pa: von Mises' number of each, or xx yy zz xy xz yz."""
        both, n = _np.frombuffer(self._core.soft_stress()), self.model.nflexelem
        return both[n:].reshape(n, 6) if tensor else both[:n]

    @property
    def ncon(self):
        """How many contacts there are."""
        return len(self.contact)

    @property
    def certificate(self):
        """How well the last step was solved, as its solver claims. What was not computed is nan (a count: -1); certify()
        computes it. Zeros if there was nothing to solve, nan before the first step."""
        return Certificate(**self._core.solve_info()[2])

    def certify(self):
        """The certificate of the last step computed again in full: every field that applies but the ranks. It costs about a solve."""
        return Certificate(**self._core.certify())

    @property
    def converged(self):
        """Whether the certificate of the last step is within opt.contact_tol."""
        return self._core.solve_info()[1]

    def coupled(self, constraint):
        """What a coupled constraint, by its name or the number of its equality, reports of the last step: forces, rank,
        condition numbers, counts. docs/coupled.md."""
        index = self.model.equality(constraint).id
        values = self._core.coupled(index)
        if values is None:
            raise ValueError(f"equality {constraint!r} is not a sti:coupled")
        return coupled.Diagnostics._of(values)

    @property
    def solver_niter(self):
        """Iterations of the last solve."""
        return self._core.solve_info()[0]

    def hash(self):
        """64-bit hash of state, inputs and warm start: of what a snapshot has."""
        return self._core.hash()

    def snapshot(self):
        """State, inputs and warm start as bytes; restore(bytes) brings them back exactly."""
        return self._core.save()

    def restore(self, snapshot):
        """Back to a snapshot of a world of the same model. One with numbers that are not finite is refused, and nothing changes."""
        self._core.load(snapshot)

    def drop_warm_start(self):
        """Forgets what is remembered of earlier steps for speed alone: the next step takes longer and has the same answer, within
        the tolerances."""
        self._core.drop_warm_start()

    @property
    def warnings(self):
        """What solves had to say since the world was made or reset: {"MANY_PCG": (count, text), ...}; mostly empty.
        docs/troubleshooting.md has remedies."""
        return self._core.warnings()

    @property
    def growths(self):
        """Pools that were too small since then, by the option that sizes them: {"pool_rows": (room, need, times), ...}. No step
        is lost by it."""
        return self._core.growths()

    @property
    def overlaps(self):
        """Bodies that overlap in a direction that their joints cannot open, since then: [(body1, body2, depth in m, text), ...].
        Their contact is weak or left out; docs/troubleshooting.md has remedies."""
        return self._core.overlaps()

    @property
    def trouble(self):
        """What went badly in the last step: a tuple of "certificate", "pool", "nonfinite", "solve", "watch"; mostly empty."""
        bits = self._core.trouble()[0]
        return tuple(word for i, word in enumerate(_core.TROUBLES) if bits & 1 << i)

    @property
    def capsules(self):
        """How many capsules were written since set_capsules."""
        return self._core.trouble()[1]

    def set_capsules(self, folder, most=100, troubles=tuple(_core.TROUBLES)):
        """Steps that end badly write a capsule each to the folder, at most so many; None: no more."""
        unknown = set(troubles) - set(_core.TROUBLES)
        if unknown:
            raise ValueError(f"troubles are {', '.join(_core.TROUBLES)}, not {', '.join(sorted(unknown))}")
        bits = sum(1 << i for i, word in enumerate(_core.TROUBLES) if word in troubles)
        self._core.set_capsules(None if folder is None else _os.fsdecode(folder), most, bits)

    def save_capsule(self, path):
        """Writes the step that would be taken now: its problem, contact memory and state. `stiction solve` reads it."""
        self._core.save_capsule(_os.fsencode(path))

    def load_capsule(self, path):
        """Back to the state of a capsule of the same model."""
        self._core.load_capsule(_os.fsencode(path))

    def __copy__(self):
        """An independent world of the same model in the same state."""
        if self._core.is_own():  # the copy outlives the batch
            return _unpack_data(self._own_model(), self.snapshot(), 1)
        other = type(self).__new__(type(self))
        other.__dict__.update(model=self.model, _model_core=self._model_core, _core=self._core.copy())
        for function, handler in self.__dict__.get("_functions", {}).values():
            other._add_callback(function, handler)
        return other

    def __deepcopy__(self, memo):
        return self.__copy__()

    def _own_model(self):
        """The model; of a world of a batch with parameters of its own a copy that has them."""
        if not self._core.is_own():
            return self.model
        model = Model._make(_core.unpack(self._core.pack_model()), list(self.model.warnings))
        for name in dir(self.model.opt):
            model.opt._array(name)[...] = self.model.opt._array(name)
        return model

    def __reduce__(self):
        return _unpack_data, (self._own_model(), self.snapshot(), self.__dict__.get("_threads", 1))

    def profile(self):
        """The stage tree, parents before their children, as a list of Stage; Data(model, profile=True)."""
        return [Stage(*node) for node in self._core.profile()]

    def __repr__(self):
        return f"<stiction.Data of {self.model.title!r} at t = {self.time:g} s>"


class Recorder:
    """Records a world into an HDF5 file; use as a context manager and call frame() when wanted."""

    def __init__(self, path, data, fields=None):
        names = None if fields is None else fields if isinstance(fields, str) else " ".join(fields)
        if not isinstance(data, Data):
            raise TypeError(f"a Recorder needs a stiction.Data, not {type(data).__name__}")
        self._recorder = _core.recorder(_os.fsencode(path), data._core, names)

    def frame(self):
        """Append the present values."""
        self._recorder.frame()

    def close(self):
        """Flush and close the file."""
        self._recorder.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _same(model, data):
    if not isinstance(model, Model) or not isinstance(data, Data):
        raise TypeError(f"needs a Model and a Data, not {type(model).__name__} and {type(data).__name__}")
    if data.model is not model:
        raise ValueError("this Data belongs to another Model")


def forward(model, data):
    """Everything that follows from the state, without stepping."""
    _same(model, data)
    data._core.forward()


def step(model, data, nstep=1):
    """nstep steps of model.opt.timestep. On an error the state is the last good one. Ctrl-C stops
    between two steps."""
    _same(model, data)
    data._core.step(nstep)


def reset(model, data, key=None):
    """Back to qpos0, or to a keyframe given by name or index."""
    _same(model, data)
    data._core.reset(-1 if key is None else model.key(key).id)


def mass_matrix(model, data):
    """The joint-space mass matrix, dense."""
    _same(model, data)
    out = _np.zeros((model.nv, model.nv))
    data._core.mass_matrix(out)
    return out


class Stage(_typing.NamedTuple):
    """A stage of a profile: how often it was entered, the time inside and the iterations of the loop that it is, in all."""
    name: str
    parent: int
    depth: int
    count: int
    nanoseconds: int
    iterations: int


class Ray(_typing.NamedTuple):
    """Where a ray ended: distance in units of its vector and geom id, both -1 if it met nothing; surface normal."""
    distance: float
    geom: int
    normal: _np.ndarray


class Distance(_typing.NamedTuple):
    """Signed distance of two geoms, m (negative: depth), and the nearest points on both as 2 x 3."""
    distance: float
    fromto: _np.ndarray


def ray(model, data, pnt, vec, groups=None, fixed=True, bodyexclude=-1):
    """First visible geom that pnt + x*vec, x >= 0, meets. groups: those to look at (None: all); fixed: geoms of the
    world too; bodyexclude: id of a body to look through. Poses are those of the last forward or step."""
    _same(model, data)
    mask = 0xFFFFFFFF if groups is None else sum(1 << _operator.index(g) for g in set(groups))
    x, geom, normal = data._core.ray(tuple(map(float, pnt)), tuple(map(float, vec)), mask, bool(fixed),
                                     _operator.index(bodyexclude))
    if x != x:
        raise ValueError("a ray needs finite numbers, and a point within 1e100 m")
    return Ray(x, geom, _np.array(normal))


def geom_distance(model, data, geom1, geom2, distmax=float("inf")):
    """Distance of two geoms, by id or name, up to distmax; then fromto is zero. Poses as in ray."""
    _same(model, data)
    x, fromto = data._core.geom_distance(model.geom(geom1).id, model.geom(geom2).id, float(distmax))
    return Distance(x, _np.array(fromto).reshape(2, 3))


class Reach(_typing.NamedTuple):
    """What inverse kinematics found: joint positions; how it ended ("reached", "closest", "iterations"); what is left to the
    pose in m and rad; how many steps and other starts were tried."""
    qpos: _np.ndarray
    end: str
    position: float
    angle: float
    iterations: int
    restarts: int

    @property
    def reached(self):
        """Whether the pose was reached."""
        return self.end == "reached"


def ik_solve(model, data, site=None, body=None, pos=None, quat=None, qpos=None, joints=None, max_iterations=200, restarts=0,
             tolerance=1e-10, damping=1e-2, radius=0.3):
    """Joint positions that bring a site or a body (name or id) to a position and orientation of the world frame; None: any.
    qpos: where to start (None: data.qpos); joints: those that may move, names or ids (None: all that move the frame). Limits
    are kept. data stays as it is. A pose out of reach is no error: look at .reached. docs/ik.md."""
    _same(model, data)
    if (site is None) == (body is None):
        raise ValueError("ik_solve needs either a site or a body")
    frame = model.body(body) if site is None else model.site(site)
    start = _np.array(data.qpos if qpos is None else qpos, dtype=float)
    mask = None
    if joints is not None:
        mask = bytearray(model.njnt)
        for joint in joints:
            mask[model.joint(joint).id] = 1
    pose = [None if x is None else tuple(map(float, x)) for x in (pos, quat)]
    end, iterations, tried, position, angle = _core.ik_solve(
        data._core, Error, _core.OBJECTS["body" if site is None else "site"], frame.id, *pose, start,
        None if mask is None else bytes(mask), max_iterations, restarts, tolerance, damping, radius)
    return Reach(start, end, position, angle, iterations, tried)


def _root(allow_outside):
    """A folder as bytes, anything else as it is."""
    return _os.fsencode(allow_outside) if isinstance(allow_outside, (str, bytes, _os.PathLike)) else allow_outside


def check(path, allow_outside=False):
    """All errors and warnings of an MJCF file, as a list of dicts with line, element and attribute. Also bodies that overlap in a
    direction that their joints cannot open, at the initial pose and at keyframes."""
    return _core.load(_os.fsencode(path), None, None, _root(allow_outside), True)[1]


_SCENES = _os.path.join(_os.path.dirname(_os.path.abspath(__file__)), "scenes")


def _scenes():
    """Names of the scenes that come with the package."""
    return sorted(f for f in _os.listdir(_SCENES) if f.endswith(".xml")) if _os.path.isdir(_SCENES) else []


def scene_path(name):
    """The path of a scene that comes with the package, as scene_path("arm.xml")."""
    if name not in _scenes():
        raise FileNotFoundError(f"no scene {name!r} comes with the package; there are {', '.join(_scenes())}")
    return _os.path.join(_SCENES, name)


from . import viewer  # noqa: E402  it needs the names above


def __getattr__(name):
    if name in ("mesh", "mujoco"):  # when asked for: `python -m stiction.mesh` finds it fresh, and few need the other
        import importlib
        return importlib.import_module(f".{name}", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=_sys.modules[__name__])
