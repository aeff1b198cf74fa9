# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's names on Stiction, so that a script runs by changing one import:

    import stiction.mujoco as mujoco     # was: import mujoco

What a script computes is Stiction's physics, which agrees with MuJoCo's in smooth dynamics and differs in contact on purpose
(docs/coming_from_mujoco.md). What is not here raises an error that says so; what is here without effect warns once.
"""
import math as _math
import sys as _sys
import warnings as _warnings

import numpy as _np

import stiction as _sti
from stiction import _core

from . import absent as _absent
from .enums import *  # noqa: F401,F403
from .enums import mjMINVAL, mjtCamera, mjtDisableBit, mjtObj, mjtWarning
from .linear import *  # noqa: F401,F403
from .vectors import *  # noqa: F401,F403

__version__ = "4.0.0"  # of MuJoCo's interface that this one follows, since scripts ask
FatalError = _sti.Error


def install(name="mujoco"):
    """Scripts and packages that import MuJoCo from now on get this module instead."""
    this = _sys.modules[__name__]
    for known in [known for known in _sys.modules if known == name or known.startswith(name + ".")]:
        if _sys.modules[known] is not this:
            del _sys.modules[known]
    _sys.modules[name] = this
    for part in ("viewer", "rollout", "minimize", "renderer", "egl", "glfw", "osmesa", "gl_context"):
        _sys.modules[f"{name}.{part}"] = __getattr__(part)


class UnexpectedError(RuntimeError):
    """Kept for scripts that catch it."""


_told = set()


def _once(text):
    """A warning that is given once."""
    if text not in _told:
        _told.add(text)
        _warnings.warn(text, stacklevel=3)


def _missing(what):
    return AttributeError(f"{what} has no counterpart in Stiction; docs/coming_from_mujoco.md says what to use instead")


# what scripts ask for most, and what to say
_HINTS = {
    "efc_J": "rows of constraints are not kept in MuJoCo's form; data.contact[i].force has the forces",
    "efc_force": "rows of constraints are not kept in MuJoCo's form; data.contact[i].force has the forces",
    "nefc": "rows of constraints are not kept in MuJoCo's form",
}


# numbers of looks that pictures heed once a script has written them
_HEEDED = {"model.vis.scale.jointlength", "model.vis.scale.jointwidth", "model.vis.scale.framelength", "model.vis.scale.framewidth",
           "model.vis.map.alpha", "model.vis.rgba.joint", "MjvOption.frame"}


class _Looks:
    """model.vis and the like: what is written is kept; most of it has no effect."""

    def __init__(self, where):
        object.__setattr__(self, "_where", where)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        object.__setattr__(self, name, _Looks(f"{self._where}.{name}"))
        return self.__dict__[name]

    def __setattr__(self, name, value):
        if f"{self._where}.{name}" not in _HEEDED:
            _once(f"{self._where}.{name} has no effect in Stiction")
        object.__setattr__(self, name, value)


# ---- models ----------------------------------------------------------------------------------------------------

# kinds of named objects, by MuJoCo's prefix of their table: Stiction's kind and size
_TABLES = {
    "body": ("body", "nbody"), "jnt": ("joint", "njnt"), "geom": ("geom", "ngeom"), "site": ("site", "nsite"), "cam": ("camera", "ncam"),
    "light": ("light", "nlight"), "flex": ("flex", "nflex"), "mesh": ("mesh", "nmesh"), "hfield": ("hfield", "nhfield"),
    "tex": ("texture", "ntex"), "mat": ("material", "nmat"), "pair": ("pair", "npair"), "exclude": ("exclude", "nexclude"),
    "eq": ("equality", "neq"), "tendon": ("tendon", "ntendon"), "actuator": ("actuator", "nactuator"), "sensor": ("sensor", "nsensor"),
    "numeric": ("numeric", "nnumeric"), "key": ("key", "nkey"), "skin": ("skin", "nskin"), "text": None, "tuple": None, "plugin": None}
# tables with a row for each keyframe, however short
_KEYS = {"key_qpos": "nq", "key_qvel": "nv", "key_act": "na", "key_ctrl": "nu"}
# what Stiction's models never have
_NONE = {"nplugin", "ntext", "ntuple", "npluginstate"}


def _name_tables(model):
    """All names as bytes that end with zeros, and where those of each kind begin."""
    text, tables = bytearray(model.title.encode() + b"\0"), {}
    for prefix, kind in _TABLES.items():
        starts = []
        for i in range(getattr(model, kind[1]) if kind else 0):
            starts.append(len(text))
            text += model._model_core.name(_core.OBJECTS[kind[0]], i).encode() + b"\0"
        tables[f"name_{prefix}adr"] = _np.array(starts, _np.int32)
    return {"names": bytes(text), "nnames": len(text), **tables}


def _remake(kind, make, args):
    made = make(*args)
    object.__setattr__(made, "__class__", kind)
    return made


class _Listed(type):
    """Classes whose dir() has the fields of their objects, for packages that wrap each of them."""

    def __dir__(cls):
        fields = set(_sti._SIZES) | set(_sti._FIELDS) if issubclass(cls, _sti.Model) else set(_sti._STATE) | {"qM", "warning", "eq_active"}
        names = _absent.DATA | {"model", "moment_colind", "moment_rowadr", "moment_rownnz", "qacc_warmstart", "qfrc_inverse"}
        if issubclass(cls, _sti.Model):
            names = {f"name_{prefix}adr" for prefix in _TABLES} | {"names", "nnames", "opt", "stat"} | _NONE | _absent.MODEL | _absent.COUNTS
        return sorted({*super().__dir__(), *fields, *names})


class MjModel(_sti.Model, metaclass=_Listed):
    """A stiction.Model with MuJoCo's constructors."""

    @classmethod
    def from_xml_path(cls, filename, assets=None, **options):
        """Load an MJCF file."""
        made = super().from_xml_path(filename, assets, **options)
        made.__dict__["_make_spec"] = lambda: _sti.Spec.from_file(filename, assets, options.get("allow_outside", False))
        return made

    @classmethod
    def from_xml_string(cls, xml, assets=None, **options):
        """Load MJCF from a string."""
        made = super().from_xml_string(xml, assets, **options)
        made.__dict__["_make_spec"] = lambda: _sti.Spec.from_string(xml, assets)
        return made

    @classmethod
    def from_binary_path(cls, *_, **__):
        """MuJoCo's binary models cannot be read."""
        raise NotImplementedError("MuJoCo's binary models (.mjb) cannot be read; load the XML, or pickle a model")

    def bind(self, elements):
        """What elements of the spec have become in this model, by attributes as of model.geom("name"); of a list: lists of values."""
        from .spec import _bind
        return _bind(self, elements)

    @property
    def vis(self):
        """Settings of looks, most of them without effect."""
        if "_vis" not in self.__dict__:
            self.__dict__["_vis"] = looks = _Looks("model.vis")
            for name in ("offwidth", "offheight", "fovy", "azimuth", "elevation"):
                object.__setattr__(looks.global_, name, _np.asarray(self._model_core.struct_view("vis", name)).item())
            for name, value in (("znear", 0.01), ("zfar", 50.0)):
                object.__setattr__(looks.map, name, value)
        return self._vis

    def __getattr__(self, name):
        if name in ("names", "nnames") or (name.startswith("name_") and name.endswith("adr")):
            self.__dict__.update(_name_tables(self))
            if name in self.__dict__:
                return self.__dict__[name]
        if name in _KEYS:
            return _np.reshape(super().__getattr__(name), (self.nkey, -1) if self.nkey else (0, getattr(self, _KEYS[name])))
        try:
            return super().__getattr__(name)
        except AttributeError:
            if name in _NONE or name in _absent.COUNTS:
                return 0
            if name in _absent.MODEL:
                return _absent.Absent(_missing(f"MjModel.{name}"))
            raise (AttributeError(name) if name.startswith("_") else _missing(f"MjModel.{name}")) from None

    def __reduce__(self):
        return _remake, (type(self), *super().__reduce__())


class _Writable:
    """The memory of an array that is read only for users, for those who must write it."""

    def __init__(self, array):
        self._array = array
        self.__array_interface__ = {**array.__array_interface__, "data": (array.__array_interface__["data"][0], False)}


class _Contacts(_np.recarray):
    """Contacts with MuJoCo's names beside Stiction's."""

    def __getattribute__(self, name):
        if name == "friction":
            return self["mu"]
        if name == "geom":
            return _np.stack([self["geom1"], self["geom2"]], axis=-1)
        return super().__getattribute__(name)

    def __getitem__(self, index):
        item = super().__getitem__(index)
        return _Contact(item) if isinstance(item, (_np.record, _np.void)) else item


class _Contact:
    """One contact."""

    def __init__(self, record):
        self._record = record

    friction = property(lambda self: self._record["mu"])
    geom = property(lambda self: _np.array([self._record["geom1"], self._record["geom2"]]))

    def __getattr__(self, name):
        if name.startswith("_") or name not in self._record.dtype.names:
            raise AttributeError(f"a contact has no {name!r}; it has {', '.join(self._record.dtype.names)}")
        return self._record[name]


class _Warnings:
    """data.warning: how often something was wrong since the last reset. The one kind is mjWARN_BADQACC, for a step that diverged."""

    def __init__(self):
        self.number, self.lastinfo = _np.zeros(7, _np.int32), _np.zeros(7, _np.int32)

    def __getitem__(self, kind):
        one = _Warnings.__new__(_Warnings)
        one.number, one.lastinfo = int(self.number[kind]), int(self.lastinfo[kind])
        return one

    def __len__(self):
        return len(self.number)


class MjData(_sti.Data, metaclass=_Listed):
    """A stiction.Data with MuJoCo's extras: qacc may be written for mj_inverse, qfrc_inverse is what it found; qfrc_passive may be written by
    set_mjcb_passive's callback; warning counts steps that diverged. qacc_warmstart is qacc, and writing it has no effect: what the solver
    starts from is in snapshots."""

    def __init__(self, model):
        if not isinstance(model, _sti.Model):
            raise TypeError("MjData needs an MjModel")
        super().__init__(model)

    def bind(self, elements):
        """What elements of the spec have become in this data, by attributes as of data.geom("name"); of a list: lists of values."""
        from .spec import _bind
        return _bind(self, elements)

    @property
    def contact(self):
        """The contacts of the last mj_forward or mj_step, a copy."""
        return super().contact.view(_Contacts)

    def __getattr__(self, name):
        if name in ("qacc", "qfrc_passive"):
            array = self.__dict__[name] = _np.asarray(_Writable(_np.asarray(self._core.view(name))))
            return array
        if name == "qacc_warmstart":
            return _np.array(self.qacc)
        if name == "qfrc_inverse":
            array = self.__dict__["qfrc_inverse"] = _np.zeros(self.model.nv)
            return array
        if name == "qM":
            return _lower(self.model, _sti.mass_matrix(self.model, self))
        if name in ("moment_rownnz", "moment_rowadr", "moment_colind") and name in _sti._FIELDS:
            return getattr(self.model, name)  # which does not change here
        if name == "warning":
            found = self.__dict__["warning"] = _Warnings()
            return found
        if name in _absent.DATA:
            hint = _HINTS.get(name)
            return _absent.Absent(AttributeError(f"MjData.{name} is not here: {hint}") if hint else _missing(f"MjData.{name}"))
        if name in _HINTS:
            raise AttributeError(f"MjData.{name} is not here: {_HINTS[name]}")
        try:
            return super().__getattr__(name)
        except AttributeError:
            raise (AttributeError(name) if name.startswith("_") else _missing(f"MjData.{name}")) from None

    def __setattr__(self, name, value):
        if name in ("qacc", "qfrc_inverse", "qfrc_passive"):
            getattr(self, name)[...] = value
        elif name == "qacc_warmstart":
            _np.broadcast_to(value, self.model.nv)  # which checks its shape
        else:
            super().__setattr__(name, value)

    def __reduce__(self):
        return _remake, (type(self), *super().__reduce__())


# ---- simulation ---------------------------------------------------------------------------------------------------

_callbacks = {"control": None, "passive": None}  # what set_mjcb_control and set_mjcb_passive have set


def _call_callbacks(m, d):
    for callback in (_callbacks["passive"], _callbacks["control"]):
        if callback is not None:
            callback(m, d)


def _set_callback(kind, callback):
    if callback is not None and not callable(callback):
        raise TypeError("callback is not an Optional[Callable]")
    _callbacks[kind] = callback


def set_mjcb_control(callback):
    """callback(model, data) is called in every mj_step, mj_step1 and mj_forward of every MjData, before actuators act, to write
    inputs such as data.ctrl; None: no more. With RK4 it is called once a step, where MuJoCo calls it four times."""
    _set_callback("control", callback)


def get_mjcb_control():
    """What set_mjcb_control has set."""
    return _callbacks["control"]


def set_mjcb_passive(callback):
    """callback(model, data) is called when that of set_mjcb_control is, before it, to add forces to data.qfrc_passive; None: no more."""
    _set_callback("passive", callback)


def get_mjcb_passive():
    """What set_mjcb_passive has set."""
    return _callbacks["passive"]


def mj_resetCallbacks():
    """No callbacks any more."""
    _callbacks.update(control=None, passive=None)


def set_mju_user_warning(callback):
    """Has no effect: warnings are Python's, which the module warnings can catch."""


def _controlled(d):
    """The data, which calls what set_mjcb_control and set_mjcb_passive have set."""
    if any(_callbacks.values()) and isinstance(d, _sti.Data):
        if not any(function is _call_callbacks for function, _ in d.__dict__.get("_functions", {}).values()):
            d.add_controller(_call_callbacks)
    return d


def _diverged(m, d, error):
    """What MuJoCo does when a state diverges: a warning, and back to the start."""
    _warnings.warn(f"the simulation is unstable and was reset: {error}", stacklevel=3)
    _sti.reset(m, d)
    d.warning.number[mjtWarning.mjWARN_BADQACC] += 1


def mj_step(m, d, nstep=1):
    """Steps. A state that diverges is reset with a warning, unless mjDSBL_AUTORESET is set; then it is an error."""
    try:
        _sti.step(m, _controlled(d), nstep)
    except _sti.Error as error:
        if error.code != "NONFINITE" or int(m.opt.disableflags) & mjtDisableBit.mjDSBL_AUTORESET or not isinstance(d, MjData):
            raise
        _diverged(m, d, error)


def mj_forward(m, d):
    """Everything that follows from the state."""
    _sti.forward(m, _controlled(d))


def mj_step1(m, d):
    """The first half of a step."""
    _sti.step1(m, _controlled(d))


def mj_step2(m, d):
    """The second half of a step."""
    _sti.step2(m, d)


def mj_resetData(m, d):
    """Back to qpos0."""
    _sti.reset(m, d)
    d.__dict__.pop("warning", None)


def mj_resetDataKeyframe(m, d, key):
    """Back to a keyframe; one that does not exist is an error, where MuJoCo resets to qpos0."""
    _sti.reset(m, d, key)
    d.__dict__.pop("warning", None)


def mj_resetDataDebug(m, d, debug_value):
    """Back to qpos0."""
    mj_resetData(m, d)


def mj_setConst(m, d):
    """What follows from changed fields of the model."""
    m.update()


def mj_checkPos(m, d):
    """Nothing: every step checks its state."""


mj_checkVel = mj_checkAcc = mj_checkPos


def mj_loadAllPluginLibraries(directory, callback=None):
    """Nothing: the plugins that Stiction knows are built in."""


def mj_setKeyframe(m, d, k):
    """A keyframe from the state."""
    _sti.set_keyframe(m, d, k)


def _stage_function(name, *stages):
    def call(m, d):
        for stage in stages:
            _sti.stage(m, d, stage)
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The stage {' and '.join(stages)} of a step."
    return call


for _name, _stages in {
        "mj_fwdPosition": ("position",), "mj_fwdKinematics": ("position",), "mj_makeM": ("position",), "mj_flex": ("position",),
        "mj_invPosition": ("position",), "mj_invVelocity": ("velocity",), "mj_Euler": ("integrate",), "mj_implicit": ("integrate",), "mj_kinematics": ("position",), "mj_comPos": ("position",), "mj_crb": ("position",),
        "mj_camlight": ("position",), "mj_tendon": ("position",), "mj_transmission": ("position",), "mj_factorM": ("position",),
        "mj_fwdVelocity": ("velocity",), "mj_comVel": ("velocity",), "mj_passive": ("velocity",), "mj_fwdActuation": ("actuation",),
        "mj_fwdAcceleration": ("acceleration",), "mj_collision": ("collide",), "mj_makeConstraint": ("contact",),
        "mj_fwdConstraint": ("collide", "contact", "solve")}.items():
    globals()[_name] = _stage_function(_name, *_stages)


def _computed(name, fields):
    def call(m, d):
        for field in fields:
            getattr(d, field)  # it is computed from now on, in every step
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"{', '.join(fields)}: Stiction computes them once they have been read."
    return call


mj_rnePostConstraint = _computed("mj_rnePostConstraint", ("cacc", "cfrc_int", "cfrc_ext"))
mj_subtreeVel = _computed("mj_subtreeVel", ("subtree_linvel", "subtree_angmom"))
mj_energyPos = _computed("mj_energyPos", ("energy",))
mj_energyVel = _computed("mj_energyVel", ("energy",))
mj_sensorPos = mj_sensorVel = mj_sensorAcc = _computed("mj_sensorPos", ("sensordata",))


def mj_forwardSkip(m, d, skipstage, skipsensor):
    """mj_forward: nothing is skipped, which costs time and gives the same."""
    mj_forward(m, d)


def mj_inverse(m, d):
    """Inverse dynamics of d.qacc into d.qfrc_inverse."""
    qacc = _np.array(d.qacc)
    d.qfrc_inverse[:] = _sti.inverse(m, d, qacc)


def mj_inverseSkip(m, d, skipstage, skipsensor):
    """mj_inverse: nothing is skipped."""
    mj_inverse(m, d)


def mjd_transitionFD(m, d, eps, flg_centered, A=None, B=None, C=None, D=None):
    """The linear model of a step by differences."""
    if any(_callbacks.values()):
        raise RuntimeError("mjd_transitionFD steps copies, which cannot call mjcb_control or mjcb_passive: mj_resetCallbacks() before")
    for number in [n for n, (function, _) in d.__dict__.get("_functions", {}).items() if function is _call_callbacks]:
        d.remove_handler(number)
    outputs = (A, B, C, D)
    for array, found in zip(outputs, _sti.linearize(m, d, eps, bool(flg_centered), C is not None or D is not None)):
        if array is not None:
            array[...] = found


# ---- names -------------------------------------------------------------------------------------------------------------

def _our_kind(kind):
    name = mjtObj(int(kind)).name[len("mjOBJ_"):]
    number = _core.ENUMS["Object"].get(name)
    if number is None:
        raise NotImplementedError(f"objects of the kind {name.lower()} do not exist in Stiction")
    return number


def mj_name2id(m, type, name):
    """The id of a named object, -1 if there is none."""
    return _sti.name2id(m, _our_kind(type), name)


def mju_type2Str(type):
    """The name of a kind of objects, None if there is none."""
    return next((kind.name[len("mjOBJ_"):].lower() for kind in mjtObj if int(kind) == int(type) and int(kind)), None)


def mju_str2Type(str):
    """The kind of objects of that name; 0 if there is none."""
    text = str.decode() if isinstance(str, bytes) else str
    return next((int(kind) for kind in mjtObj if kind.name == f"mjOBJ_{text.upper()}"), 0)


def mj_id2name(m, type, id):
    """The name of an object, None if it has none."""
    return _sti.id2name(m, _our_kind(type), id)


# ---- Jacobians, velocities, forces -----------------------------------------------------------------------------------------

def _fill(found, *outputs):
    for array, values in zip(outputs, found):
        if array is not None:
            array[...] = values


def mj_jac(m, d, jacp, jacr, point, body):
    """Jacobians of a point of a body."""
    _fill(_sti.jac_point(m, d, _np.ravel(point), body), jacp, jacr)


def mj_jacBody(m, d, jacp, jacr, body):
    """Jacobians of a body's frame."""
    _fill(_sti.jac_body(m, d, body), jacp, jacr)


def mj_jacBodyCom(m, d, jacp, jacr, body):
    """Jacobians of a body's centre of mass."""
    _fill(_sti.jac_body_com(m, d, body), jacp, jacr)


def mj_jacGeom(m, d, jacp, jacr, geom):
    """Jacobians of a geom."""
    _fill(_sti.jac_geom(m, d, geom), jacp, jacr)


def mj_jacSite(m, d, jacp, jacr, site):
    """Jacobians of a site."""
    _fill(_sti.jac_site(m, d, site), jacp, jacr)


def mj_jacSubtreeCom(m, d, jacp, body):
    """The Jacobian of a subtree's centre of mass."""
    _fill((_sti.jac_subtree_com(m, d, body),), jacp)


def mj_objectVelocity(m, d, objtype, objid, res, flg_local):
    """Velocity of a frame: rotation, translation."""
    res[...] = _sti.object_velocity(m, d, _sti.Object(_our_kind(objtype)), objid, bool(flg_local)).reshape(_np.shape(res))


def mj_applyFT(m, d, force, torque, point, body, qfrc_target):
    """Adds the generalised force of a force and torque."""
    _sti.apply_ft(m, d, force, torque, _np.ravel(point), body, qfrc_target)


def mj_contactForce(m, d, id, result):
    """Force and torque of a contact in its frame: normal, two tangents."""
    contacts = super(MjData, d).contact if isinstance(d, MjData) else d.contact
    if not 0 <= id < len(contacts):
        raise IndexError(f"there is no contact {id}: there are {len(contacts)}")
    result[...] = contacts["force"][id].reshape(_np.shape(result))


def _rows_of_qM(m):
    """The row and column of every number of qM: of each dof from itself to the root."""
    rows, cols, parent = [], [], m.dof_parentid
    for i in range(m.nv):
        j = i
        while j >= 0:
            rows.append(i)
            cols.append(j)
            j = parent[j]
    return rows, cols


def _lower(m, full):
    return full[_rows_of_qM(m)]


def mj_fullM(m, first, second):
    """The dense mass matrix: mj_fullM(m, d, dst), as in MuJoCo 4, or mj_fullM(m, dst, d.qM), as before."""
    if isinstance(first, _sti.Data):
        second[...] = _sti.mass_matrix(m, first)
        return
    rows, cols = _rows_of_qM(m)
    first[...] = 0
    first[rows, cols] = first[cols, rows] = second


def mj_mulM(m, d, res, vec):
    """res = M vec."""
    res[...] = _sti.mass_matrix(m, d) @ vec


def mj_solveM(m, d, x, y):
    """x = M^-1 y, row by row."""
    x[...] = _np.linalg.solve(_sti.mass_matrix(m, d), _np.asarray(y).T).T


def mj_getTotalmass(m):
    """The mass of all bodies."""
    return float(m.body_mass.sum())


def mj_setTotalmass(m, newmass):
    """Scales the masses and inertias of all bodies."""
    factor = newmass / mj_getTotalmass(m)
    m.body_mass[:] *= factor
    m.body_inertia[:] *= factor


def mj_rne(m, d, flg_acc, result):
    """Forces that d.qacc (flg_acc) or no acceleration needs, without passive, applied and constraint forces."""
    result[...] = d.qfrc_bias + (_sti.mass_matrix(m, d) @ d.qacc if flg_acc else 0)


def mj_local2Global(d, xpos, xmat, pos, quat, body, sameframe=0):
    """A pose in the frame of a body, in the world."""
    if sameframe:
        raise NotImplementedError("mj_local2Global: sameframe other than 0")
    turn = _np.reshape(d.xmat[body], (3, 3))
    own = _np.zeros(9)
    mju_quat2Mat(own, quat)
    xpos[...] = d.xpos[body] + turn @ _np.ravel(pos)
    xmat[...] = (turn @ own.reshape(3, 3)).reshape(_np.shape(xmat))


def mj_multiRay(m, d, pnt, vec, geomgroup, flg_static, bodyexclude, geomid, dist, normal, nray, cutoff=_np.inf):
    """Rays from one point."""
    for i, direction in enumerate(_np.reshape(vec, (nray, 3))):
        hit, across = _np.zeros(1, _np.int32), _np.zeros(3)
        found = mj_ray(m, d, pnt, direction, geomgroup, flg_static, bodyexclude, hit, across)
        near = 0 <= found * _np.linalg.norm(direction) <= cutoff
        dist[i], geomid[i] = (found, hit[0]) if near else (-1, -1)
        if normal is not None:
            _np.reshape(normal, (nray, 3))[i] = across if near else 0


def mj_geomDistance(m, d, geom1, geom2, distmax, fromto=None):
    """Signed distance of two geoms."""
    found = _sti.geom_distance(m, d, geom1, geom2, distmax)
    if fromto is not None:
        fromto[...] = found.fromto.reshape(_np.shape(fromto))
    return found.distance


def mj_ray(m, d, pnt, vec, geomgroup=None, flg_static=1, bodyexclude=-1, geomid=None, normal=None):
    """Where a ray first meets a geom."""
    groups = None if geomgroup is None else [g for g, on in enumerate(_np.ravel(geomgroup)) if on]
    found = _sti.ray(m, d, _np.ravel(pnt), _np.ravel(vec), groups, bool(flg_static), bodyexclude)
    if geomid is not None:
        geomid[...] = found.geom
    if normal is not None:
        normal[...] = found.normal.reshape(_np.shape(normal))
    return found.distance


# ---- positions and states -------------------------------------------------------------------------------------------------

def mj_integratePos(m, qpos, qvel, dt):
    """Moves qpos with a velocity."""
    _sti.integrate_pos(m, qpos, qvel, dt)


def mj_differentiatePos(m, qvel, dt, qpos1, qpos2):
    """The velocity from qpos1 to qpos2."""
    qvel[...] = _sti.differentiate_pos(m, qpos1, qpos2, dt)


def mj_normalizeQuat(m, qpos):
    """Quaternions of unit length."""
    _sti.integrate_pos(m, qpos, _np.zeros(m.nv), 1)


def mj_stateSize(m, sig):
    """Numbers of a state vector."""
    return _sti.state_size(m, int(sig))


def mj_getState(m, d, state, sig):
    """A state vector."""
    state[...] = _sti.get_state(m, d, int(sig)).reshape(_np.shape(state))


def mj_setState(m, d, state, sig):
    """From a state vector; with qpos in it what is remembered of earlier steps is forgotten."""
    _sti.set_state(m, d, state, int(sig))


def mj_saveLastXML(filename, m):
    """Writes the MJCF that a model was made from, with what it includes, into one file. Arrays of the model that were written since are not
    in it; a warning names them."""
    make = m.__dict__.get("_make_spec")
    if make is None:
        raise RuntimeError("mj_saveLastXML needs a model that was made from a file, a string or an MjSpec; copies and pickles have no MJCF")
    spec = make()
    spec.to_file(filename)
    fresh = spec.compile()
    object.__setattr__(fresh, "__class__", MjModel)
    changed = [name for name in sorted(_sti._FIELDS) if not _np.array_equal(getattr(m, name), getattr(fresh, name))]
    changed += ["opt." + name for name in dir(m.opt) if not _np.array_equal(m.opt._array(name), fresh.opt._array(name))]
    if changed:
        _warnings.warn(f"{filename} does not have what was written into the model since it was loaded: {', '.join(changed)}", stacklevel=2)


def mj_version():
    """Of MuJoCo's interface that this one follows."""
    return 4000000


def mj_versionString():
    """The same, in words."""
    return f"4.0.0 (Stiction {_sti.__version__})"


# ---- quaternions ------------------------------------------------------------------------------------------------------------

# in numbers of Python, which take a tenth of the time of NumPy's functions on so few
def _numbers(x):
    return _np.asarray(x, float).ravel().tolist()


def _multiply(a, b):
    (w, x, y, z), (p, q, r, s) = _numbers(a), _numbers(b)
    return _np.array([w * p - x * q - y * r - z * s, w * q + p * x + y * s - z * r, w * r + p * y + z * q - x * s, w * s + p * z + x * r - y * q])


def _rotate(vec, quat):
    (a, b, c), (w, x, y, z) = _numbers(vec), _numbers(quat)
    p, q, r = w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a
    return _np.array([a + 2 * (y * r - z * q), b + 2 * (z * p - x * r), c + 2 * (x * q - y * p)])


def _turn(quat):
    """The rotation vector of a unit quaternion."""
    w, x, y, z = _numbers(quat)
    sine = _math.sqrt(x * x + y * y + z * z)
    angle = 2 * _math.atan2(sine, w)
    if angle > _math.pi:
        angle -= 2 * _math.pi
    scale = angle / sine if sine > mjMINVAL else 2
    return _np.array([scale * x, scale * y, scale * z])


def mju_mulQuat(res, quat1, quat2):
    """Product of quaternions."""
    res[...] = _multiply(quat1, quat2)


def mju_negQuat(res, quat):
    """The inverse of a unit quaternion."""
    res[...] = _np.asarray(quat) * (1, -1, -1, -1)


def mju_rotVecQuat(res, vec, quat):
    """A vector turned by a quaternion."""
    res[...] = _rotate(vec, quat)


def mju_axisAngle2Quat(res, axis, angle):
    """The quaternion of a turn about a unit axis."""
    res[...] = _np.concatenate([[_np.cos(angle / 2)], _np.sin(angle / 2) * _np.asarray(axis)])


def mju_quat2Vel(res, quat, dt):
    """The angular velocity that makes a rotation in dt."""
    res[...] = _turn(quat) / dt


def mju_subQuat(res, qa, qb):
    """The rotation vector from qb to qa, in the frame of qb."""
    res[...] = _turn(_multiply(_np.asarray(qb) * (1, -1, -1, -1), qa))


def mju_quatIntegrate(quat, vel, scale):
    """A quaternion moved by an angular velocity of its own frame."""
    angle = scale * _np.linalg.norm(vel)
    axis = _np.asarray(vel) / (_np.linalg.norm(vel) or 1)
    turned = _multiply(quat, _np.concatenate([[_np.cos(angle / 2)], _np.sin(angle / 2) * axis]))
    quat[...] = turned / _np.linalg.norm(turned)


def mju_quat2Mat(res, quat):
    """The rotation matrix of a quaternion, row by row."""
    w, x, y, z = _numbers(quat)
    a, b, c, d = w * w, x * x, y * y, z * z
    R = [a + b - c - d, 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z), a - b + c - d, 2 * (y * z - w * x),
         2 * (x * z - w * y), 2 * (y * z + w * x), a - b - c + d]
    res[...] = _np.reshape(R, _np.shape(res))


def mju_mat2Quat(quat, mat):
    """The quaternion of a rotation matrix."""
    R = _numbers(mat)
    trace, turn = R[0] + R[4] + R[8], (R[7] - R[5], R[2] - R[6], R[3] - R[1])
    if trace > 0:
        q = [1 + trace, *turn]
    else:  # by the largest number of its vector, which becomes positive
        i = max(range(3), key=lambda k: R[4 * k])
        j, k = (i + 1) % 3, (i + 2) % 3
        q = [turn[i], 0, 0, 0]
        q[1 + i], q[1 + j], q[1 + k] = 1 + R[4 * i] - R[4 * j] - R[4 * k], R[3 * i + j] + R[3 * j + i], R[3 * i + k] + R[3 * k + i]
    length = _math.sqrt(sum(x * x for x in q))
    quat[...] = [x / length for x in q] if length > mjMINVAL else (1, 0, 0, 0)


def mju_euler2Quat(quat, euler, seq):
    """Euler angles; lower case letters of seq turn about moving axes, upper case about fixed ones."""
    whole = _np.array([1.0, 0, 0, 0])
    for angle, letter in zip(euler, seq):
        one = _np.array([_np.cos(angle / 2), 0, 0, 0])
        one[1 + "xyz".index(letter.lower())] = _np.sin(angle / 2)
        whole = _multiply(whole, one) if letter.islower() else _multiply(one, whole)
    quat[...] = whole


def mju_normalize4(vec):
    """Unit length; returns the old one."""
    length = float(_np.linalg.norm(vec))
    vec[...] = _np.asarray(vec) / length if length > mjMINVAL else (1, 0, 0, 0)
    return length


def mju_normalize3(vec):
    """Unit length; returns the old one."""
    length = float(_np.linalg.norm(vec))
    vec[...] = _np.asarray(vec) / length if length > mjMINVAL else (1, 0, 0)
    return length


# ---- pictures -----------------------------------------------------------------------------------------------------------------

class MjvCamera:
    """Where a picture is taken from."""

    def __init__(self):
        self.type, self.fixedcamid, self.trackbodyid = mjtCamera.mjCAMERA_FREE, -1, -1
        self.lookat, self.distance, self.azimuth, self.elevation = _np.zeros(3), 2.0, 90.0, -45.0


class MjvOption(_Looks):
    """Groups of geoms and joints, the flags of contact points, forces and joints, and frame; what else is written has no effect."""

    def __init__(self):
        super().__init__("MjvOption")
        flags = _np.zeros(31, _np.uint8)
        flags[[1, 7, 8, 13, 22, 23, 25, 27]] = 1
        object.__setattr__(self, "flags", flags)
        for kind in ("geom", "site", "joint", "tendon", "actuator", "flex", "skin"):
            object.__setattr__(self, kind + "group", _np.array([1, 1, 1, 0, 0, 0], _np.uint8))
        for name in ("frame", "label", "flex_layer", "bvh_depth"):
            object.__setattr__(self, name, 0)


def mjv_defaultFreeCamera(m, cam):
    """A camera that sees the whole model."""
    cam.type, cam.fixedcamid = mjtCamera.mjCAMERA_FREE, -1
    looks = m.vis.global_
    cam.lookat[:], cam.distance, cam.azimuth, cam.elevation = m.stat.center, 1.5 * m.stat.extent, looks.azimuth, looks.elevation


def mjv_defaultCamera(cam):
    """The camera of a new MjvCamera."""
    cam.__init__()


from .draw import *  # noqa: E402,F401,F403
from .dynamics import *  # noqa: E402,F401,F403
from .spec import MjSpec  # noqa: E402,F401


# packages ask for the platform's contexts by these names
_PARTS = {"viewer": "viewer", "rollout": "rollout", "minimize": "minimize", "enums": "enums", "draw": "draw", "renderer": "draw", "egl": "draw", "glfw": "draw",
          "osmesa": "draw", "gl_context": "draw"}


def __getattr__(name):
    if name in _PARTS:
        import importlib
        return importlib.import_module("stiction.mujoco." + _PARTS[name])
    if name.startswith("__"):
        raise AttributeError(name)
    raise _missing(f"mujoco.{name}")
