# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's names on Stiction, so that a script runs by changing one import:

    import stiction.mujoco as mujoco     # was: import mujoco

What a script computes is Stiction's physics, which agrees with MuJoCo's in smooth dynamics and differs in contact on purpose
(docs/coming_from_mujoco.md). What is not here raises an error that says so; what is here without effect warns once.
"""
import enum as _enum
import warnings as _warnings

import numpy as _np

import stiction as _sti
from stiction import _core

__version__ = _sti.__version__
FatalError = _sti.Error


class UnexpectedError(RuntimeError):
    """Kept for scripts that catch it."""


# ---- enumerations ------------------------------------------------------------------------------------------

_OBJECTS = {
    "UNKNOWN": 0, "BODY": 1, "XBODY": 2, "JOINT": 3, "DOF": 4, "GEOM": 5, "SITE": 6, "CAMERA": 7, "LIGHT": 8, "FLEX": 9, "MESH": 10,
    "SKIN": 11, "HFIELD": 12, "TEXTURE": 13, "MATERIAL": 14, "PAIR": 15, "EXCLUDE": 16, "EQUALITY": 17, "TENDON": 18, "ACTUATOR": 19,
    "SENSOR": 20, "NUMERIC": 21, "TEXT": 22, "TUPLE": 23, "KEY": 24, "PLUGIN": 25}


def _mirror(name, prefix, members, base=_enum.IntEnum):
    return base(name, {prefix + member: value for member, value in members.items()}, module=__name__)


mjtObj = _mirror("mjtObj", "mjOBJ_", _OBJECTS)
mjtJoint = _mirror("mjtJoint", "mjJNT_", _core.ENUMS["Joint"])
mjtGeom = _mirror("mjtGeom", "mjGEOM_", _core.ENUMS["Geom"])
mjtTrn = _mirror("mjtTrn", "mjTRN_", _core.ENUMS["Transmission"])
mjtIntegrator = _mirror("mjtIntegrator", "mjINT_", _core.ENUMS["Integrator"])
mjtDisableBit = _mirror("mjtDisableBit", "mjDSBL_", _core.ENUMS["Disable"], _enum.IntFlag)
mjtEnableBit = _mirror("mjtEnableBit", "mjENBL_", _core.ENUMS["Enable"], _enum.IntFlag)
mjtState = _mirror("mjtState", "mjSTATE_", _core.ENUMS["State"], _enum.IntFlag)
mjtEq = _mirror("mjtEq", "mjEQ_", _core.ENUMS["Equality"])          # values are those of model.eq_type here
mjtSensor = _mirror("mjtSensor", "mjSENS_", _core.ENUMS["Sensor"])  # and of model.sensor_type
mjtCamera = _enum.IntEnum("mjtCamera", {"mjCAMERA_FREE": 0, "mjCAMERA_TRACKING": 1, "mjCAMERA_FIXED": 2, "mjCAMERA_USER": 3}, module=__name__)

mjtVisFlag = _enum.IntEnum("mjtVisFlag", {"mjVIS_CONTACTPOINT": 14, "mjVIS_CONTACTFORCE": 16, "mjVIS_CONTACTSPLIT": 17}, module=__name__)

mjMINVAL, mjPI = 1e-15, float(_np.pi)
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
    "qacc_warmstart": "the warm start is inside of snapshots: data.snapshot()",
    "qM": "the mass matrix has another layout: mj_fullM, stiction.mass_matrix",
}


class _Looks:
    """model.vis and the like: what is written is kept and has no effect."""

    def __init__(self, where):
        object.__setattr__(self, "_where", where)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        object.__setattr__(self, name, _Looks(f"{self._where}.{name}"))
        return self.__dict__[name]

    def __setattr__(self, name, value):
        _once(f"{self._where}.{name} has no effect in Stiction")
        object.__setattr__(self, name, value)


# ---- models ----------------------------------------------------------------------------------------------------

def _remake(kind, make, args):
    made = make(*args)
    object.__setattr__(made, "__class__", kind)
    return made


class MjModel(_sti.Model):
    """A stiction.Model with MuJoCo's constructors."""

    @classmethod
    def from_xml_path(cls, filename, assets=None, **options):
        """Load an MJCF file."""
        return super().from_xml_path(filename, assets, **options)

    @classmethod
    def from_xml_string(cls, xml, assets=None, **options):
        """Load MJCF from a string."""
        return super().from_xml_string(xml, assets, **options)

    @classmethod
    def from_binary_path(cls, *_, **__):
        """MuJoCo's binary models cannot be read."""
        raise NotImplementedError("MuJoCo's binary models (.mjb) cannot be read; load the XML, or pickle a model")

    @property
    def vis(self):
        """Settings of looks, without effect."""
        if "_vis" not in self.__dict__:
            self.__dict__["_vis"] = looks = _Looks("model.vis")
            for name, value in (("offwidth", 640), ("offheight", 480), ("fovy", 45.0), ("azimuth", 90.0), ("elevation", -45.0)):
                object.__setattr__(looks.global_, name, value)
        return self._vis

    def __getattr__(self, name):
        try:
            return super().__getattr__(name)
        except AttributeError:
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


class MjData(_sti.Data):
    """A stiction.Data with MuJoCo's extras: qacc may be written for mj_inverse, qfrc_inverse is what it found."""

    def __init__(self, model):
        if not isinstance(model, _sti.Model):
            raise TypeError("MjData needs an MjModel")
        super().__init__(model)

    @property
    def contact(self):
        """The contacts of the last mj_forward or mj_step, a copy."""
        return super().contact.view(_Contacts)

    def __getattr__(self, name):
        if name == "qacc":
            array = self.__dict__["qacc"] = _np.asarray(_Writable(_np.asarray(self._core.view("qacc"))))
            return array
        if name == "qfrc_inverse":
            array = self.__dict__["qfrc_inverse"] = _np.zeros(self.model.nv)
            return array
        if name in _HINTS:
            raise AttributeError(f"MjData.{name} is not here: {_HINTS[name]}")
        try:
            return super().__getattr__(name)
        except AttributeError:
            raise (AttributeError(name) if name.startswith("_") else _missing(f"MjData.{name}")) from None

    def __setattr__(self, name, value):
        if name in ("qacc", "qfrc_inverse"):
            getattr(self, name)[...] = value
        else:
            super().__setattr__(name, value)

    def __reduce__(self):
        return _remake, (type(self), *super().__reduce__())


class MjSpec(_sti.Spec):
    """A stiction.Spec whose models are MjModels; docs/spec.md says how it differs from MuJoCo's."""

    def compile(self):
        """An MjModel."""
        model = super().compile()
        object.__setattr__(model, "__class__", MjModel)
        return model


# ---- simulation ---------------------------------------------------------------------------------------------------

_control = None  # what set_mjcb_control has set


def _call_control(m, d):
    if _control is not None:
        _control(m, d)


def set_mjcb_control(callback):
    """callback(model, data) is called in every mj_step, mj_step1 and mj_forward of every MjData, before actuators act, to write
    inputs such as data.ctrl; None: no more. With RK4 it is called once a step, where MuJoCo calls it four times."""
    global _control
    if callback is not None and not callable(callback):
        raise TypeError("callback is not an Optional[Callable]")
    _control = callback


def get_mjcb_control():
    """What set_mjcb_control has set."""
    return _control


def _controlled(d):
    """The data, which calls what set_mjcb_control has set."""
    if _control is not None and isinstance(d, _sti.Data):
        if not any(function is _call_control for function, _ in d.__dict__.get("_functions", {}).values()):
            d.add_controller(_call_control)
    return d


def mj_step(m, d, nstep=1):
    """Steps."""
    _sti.step(m, _controlled(d), nstep)


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


def mj_resetDataKeyframe(m, d, key):
    """Back to a keyframe; one that does not exist is an error, where MuJoCo resets to qpos0."""
    _sti.reset(m, d, key)


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
        "mj_fwdPosition": ("position",), "mj_kinematics": ("position",), "mj_comPos": ("position",), "mj_crb": ("position",),
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


def mj_inverse(m, d):
    """Inverse dynamics of d.qacc into d.qfrc_inverse."""
    qacc = _np.array(d.qacc)
    d.qfrc_inverse[:] = _sti.inverse(m, d, qacc)


def mjd_transitionFD(m, d, eps, flg_centered, A=None, B=None, C=None, D=None):
    """The linear model of a step by differences."""
    if _control is not None:
        raise RuntimeError("mjd_transitionFD steps copies, which cannot call mjcb_control: set_mjcb_control(None) before")
    for number in [n for n, (function, _) in d.__dict__.get("_functions", {}).items() if function is _call_control]:
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


def mj_fullM(m, *args):
    """The dense mass matrix: mj_fullM(m, d, dst), as MuJoCo 4 has it."""
    if len(args) != 2 or not isinstance(args[0], _sti.Data):
        raise TypeError("mj_fullM(m, d, dst): the form with d.qM is MuJoCo 3's, and Stiction has no qM")
    args[1][...] = _sti.mass_matrix(m, args[0])


def mj_mulM(m, d, res, vec):
    """res = M vec."""
    res[...] = _sti.mass_matrix(m, d) @ vec


def mj_solveM(m, d, x, y):
    """x = M^-1 y, row by row."""
    x[...] = _np.linalg.solve(_sti.mass_matrix(m, d), _np.asarray(y).T).T


def mj_getTotalmass(m):
    """The mass of all bodies."""
    return float(m.body_mass.sum())


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


def mj_version():
    """Of MuJoCo's interface that this one follows."""
    return 4000000


def mj_versionString():
    """The same, in words."""
    return f"4.0.0 (Stiction {_sti.__version__})"


# ---- quaternions ------------------------------------------------------------------------------------------------------------

def _multiply(a, b):
    w, v, x, u = a[0], _np.asarray(a[1:4]), b[0], _np.asarray(b[1:4])
    return _np.concatenate([[w * x - v @ u], w * u + x * v + _np.cross(v, u)])


def _rotate(vec, quat):
    return _multiply(_multiply(quat, _np.concatenate([[0.0], vec])), _np.asarray(quat) * (1, -1, -1, -1))[1:]


def _turn(quat):
    """The rotation vector of a unit quaternion."""
    sine = _np.linalg.norm(quat[1:4])
    angle = 2 * _np.arctan2(sine, quat[0])
    if angle > _np.pi:
        angle -= 2 * _np.pi
    return _np.asarray(quat[1:4]) * (angle / sine if sine > mjMINVAL else 2)


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
    res[...] = _np.stack([_rotate(e, quat) for e in _np.eye(3)], axis=1).reshape(_np.shape(res))


def mju_mat2Quat(quat, mat):
    """The quaternion of a rotation matrix."""
    R = _np.reshape(mat, (3, 3))
    K = _np.array([[R.trace(), R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    K[1:, 1:] = R + R.T - _np.eye(3) * R.trace()
    K[1:, 0] = K[0, 1:]
    best = _np.linalg.eigh(K)[1][:, -1]  # that of the largest eigenvalue
    quat[...] = best if best[0] >= 0 else -best


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
    """Groups of geoms, and the flags of contact points and forces; what else is written has no effect."""

    def __init__(self):
        super().__init__("MjvOption")
        object.__setattr__(self, "flags", _np.zeros(64, _np.uint8))
        object.__setattr__(self, "geomgroup", _np.array([1, 1, 1, 0, 0, 0], _np.uint8))


def mjv_defaultFreeCamera(m, cam):
    """A camera that sees the whole model."""
    cam.type, cam.fixedcamid = mjtCamera.mjCAMERA_FREE, -1
    cam.lookat[:], cam.distance, cam.azimuth, cam.elevation = m.stat.center, 1.5 * m.stat.extent, 90.0, -45.0


def mjv_defaultCamera(cam):
    """The camera of a new MjvCamera."""
    cam.__init__()


class Renderer(_sti.Renderer):
    """Pictures as arrays; drawn without display or GPU."""

    def __init__(self, model, height=240, width=320, max_geom=10000):
        super().__init__(model, height, width, max_geom)


def __getattr__(name):
    if name == "viewer":
        import importlib
        return importlib.import_module(".viewer", __name__)
    if name.startswith("__"):
        raise AttributeError(name)
    raise _missing(f"mujoco.{name}")
