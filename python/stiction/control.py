# SPDX-License-Identifier: Apache-2.0
"""What controllers and planners ask: Jacobians, inverse dynamics, the linear model of a step, state vectors, steps in parts.
docs/control.md. All names are also in stiction itself."""
import enum as _enum
import operator as _operator
import typing as _typing

import numpy as _np

from . import _core


def _enumeration(name, doc, base=_enum.IntEnum):
    kind = base(name, _core.ENUMS[name], module="stiction")
    kind.__doc__ = doc
    return kind


Joint = _enumeration("Joint", "Types of joints: model.jnt_type.")
Geom = _enumeration("Geom", "Types of geoms: model.geom_type.")
Integrator = _enumeration("Integrator", "Integrators: model.opt.integrator.")
Equality = _enumeration("Equality", "Types of equalities: model.eq_type.")
Transmission = _enumeration("Transmission", "What actuators act on: model.actuator_trntype.")
Sensor = _enumeration("Sensor", "What sensors report: model.sensor_type.")
Object = _enumeration("Object", "Kinds of named objects. XBODY is a body's own frame, BODY its inertial frame where that matters.")
Disable = _enumeration("Disable", "Bits of model.opt.disableflags.", _enum.IntFlag)
Enable = _enumeration("Enable", "Bits of model.opt.enableflags.", _enum.IntFlag)
State = _enumeration("State", "Parts of a state for get_state and set_state; bits are MuJoCo's.", _enum.IntFlag)

STAGES = ("position", "velocity", "actuation", "acceleration", "collide", "contact", "solve", "sense", "integrate")


class Linear(_typing.NamedTuple):
    """The linear model of a step: dx' = A dx + B du, dy = C dx + D du. x is positions as tangent vectors (nv), velocities (nv),
    activations (na); u is ctrl; y is sensordata of the step."""
    A: _np.ndarray
    B: _np.ndarray
    C: _np.ndarray
    D: _np.ndarray


def _same(model, data):
    from . import _same as same
    same(model, data)


def _kind(kind):
    """The number of a kind given as a word, an Object or a number."""
    if isinstance(kind, str):
        from . import _ALIASES
        word = _ALIASES.get(kind, kind)
        number = _core.ENUMS["Object"].get(word.upper())
        if number is None:
            raise ValueError(f"{kind!r} is no kind of object; they are {', '.join(k.lower() for k in _core.ENUMS['Object'])}")
        return number
    return _operator.index(kind)


def name2id(model, kind, name):
    """The id of a named object, -1 if there is none. kind: "body", Object.BODY, ..."""
    number = _kind(kind)
    return model._model_core.id(Object.BODY if number == Object.XBODY else number, name)


def id2name(model, kind, id):
    """The name of an object, None if it has none or there is no such object."""
    number = _kind(kind)
    return model._model_core.name(Object.BODY if number == Object.XBODY else number, _operator.index(id)) or None


# ---- Jacobians -------------------------------------------------------------------------------------------

def _jac(model, data, kind, which):
    _same(model, data)
    word = "body" if kind == Object.XBODY else kind.name.lower()
    jacp, jacr = _np.empty((3, model.nv)), _np.empty((3, model.nv))
    _core.jac_object(data._core, kind, model._index(word, which), jacp, jacr)
    return jacp, jacr


def jac_body(model, data, body):
    """Jacobians of the origin of a body's frame, by name or id: (jacp, jacr), both 3 x nv. jacp @ qvel is the velocity of the
    point (m/s), jacr @ qvel that of the rotation (rad/s), world frame. Poses are those of the last forward or step."""
    return _jac(model, data, Object.XBODY, body)


def jac_body_com(model, data, body):
    """As jac_body, of the body's centre of mass."""
    return _jac(model, data, Object.BODY, body)


def jac_geom(model, data, geom):
    """As jac_body, of a geom's centre."""
    return _jac(model, data, Object.GEOM, geom)


def jac_site(model, data, site):
    """As jac_body, of a site."""
    return _jac(model, data, Object.SITE, site)


def jac_point(model, data, point, body):
    """As jac_body, of a point given in the world frame that moves with the body."""
    _same(model, data)
    jacp, jacr = _np.empty((3, model.nv)), _np.empty((3, model.nv))
    _core.jac_point(data._core, model._index("body", body), tuple(map(float, point)), jacp, jacr)
    return jacp, jacr


def jac_subtree_com(model, data, body):
    """The Jacobian (3 x nv) of the centre of mass of a body and all that hangs on it; body 0: of everything."""
    _same(model, data)
    jacp = _np.empty((3, model.nv))
    _core.jac_subtree_com(data._core, model._index("body", body), jacp)
    return jacp


def object_velocity(model, data, kind, which, local=False):
    """Velocity of a frame ("body": its own frame, "site", "geom", "camera"; Object.BODY: the inertial frame) at its origin: rotation
    (rad/s), then translation (m/s), along the world's axes, or with local the frame's own."""
    _same(model, data)
    number = Object.XBODY if kind == "body" else _kind(kind)
    word = "body" if number in (Object.XBODY, Object.BODY) else Object(number).name.lower()
    out = _np.empty(6)
    _core.object_velocity(data._core, number, model._index(word, which), bool(local), out)
    return out


def _vector(x, n):
    return None if x is None else _np.ascontiguousarray(_np.asarray(x, float).reshape(n))


def apply_ft(model, data, force, torque, point, body, qfrc=None):
    """Adds the generalised force of a force (N) and torque (N m; either may be None) at a point of a body, world frame, to qfrc (None:
    zeros) and returns it. apply_ft(..., qfrc=data.qfrc_applied) lets it act in steps."""
    _same(model, data)
    out = _np.zeros(model.nv) if qfrc is None else qfrc
    _core.apply_ft(data._core, _vector(force, 3), _vector(torque, 3), tuple(map(float, point)), model._index("body", body), out)
    return out


# ---- positions -----------------------------------------------------------------------------------------------

def integrate_pos(model, qpos, qvel, dt):
    """Moves qpos (nq, an array of doubles that is overwritten) with the velocity qvel for dt seconds; quaternions stay unit."""
    _core.integrate_pos(model._model_core, qpos, _np.ascontiguousarray(qvel, float), float(dt))


def differentiate_pos(model, qpos1, qpos2, dt=1.0):
    """The velocity (nv) that leads from qpos1 to qpos2 in dt seconds."""
    out = _np.empty(model.nv)
    _core.differentiate_pos(model._model_core, out, float(dt), _np.ascontiguousarray(qpos1, float), _np.ascontiguousarray(qpos2, float))
    return out


# ---- steps in parts ---------------------------------------------------------------------------------------------

def step1(model, data):
    """The first half of a step: what follows from positions and velocities. Set controls then, and call step2. Both are step(), to the
    last bit; opt.substeps must be 1."""
    _same(model, data)
    _core.stage(data._core, "step1")


def step2(model, data):
    """The second half of a step: actuators, contact, integration."""
    _same(model, data)
    _core.stage(data._core, "step2")


def stage(model, data, name):
    """One stage of a step: position, velocity, actuation, acceleration, collide, contact, solve, sense, integrate; in this order they
    are a step. "dynamics" is the first four."""
    _same(model, data)
    if name not in STAGES and name != "dynamics":
        raise ValueError(f"there is no stage {name!r}; they are {', '.join(STAGES)}")
    _core.stage(data._core, name)


# ---- inverse dynamics and linear models -----------------------------------------------------------------------------

def inverse(model, data, qacc=None):
    """Inverse dynamics: the forces (nv, N or N m), beside those of passive elements and constraints, with which the present state
    accelerates by qacc (None: data.qacc). Contacts, limits and equalities push as a step with this acceleration would make them.
    With Enable.INVDISCRETE qacc is (next - present velocity) / timestep."""
    _same(model, data)
    out = _np.empty(model.nv)
    _core.inverse(data._core, _np.array(data.qacc if qacc is None else qacc, float), out)
    return out


def linearize(model, data, eps=1e-6, centered=True, sensors=True):
    """The linear model of one step at the present state and controls, by differences of size eps: Linear(A, B, C, D). data stays as it
    is. sensors=False: C and D are not computed, None."""
    _same(model, data)
    n, nu, ny = 2 * model.nv + model.na, model.nu, model.nsensordata
    A, B = _np.zeros((n, n)), _np.zeros((n, nu))
    C, D = (_np.zeros((ny, n)), _np.zeros((ny, nu))) if sensors else (None, None)
    _core.linearize(data._core, float(eps), bool(centered), A, B, C, D)
    return Linear(A, B, C, D)


# ---- state --------------------------------------------------------------------------------------------------------

def state_size(model, spec=State.FULLPHYSICS):
    """Numbers in a state vector with these parts."""
    size = _core.state_size(model._model_core, _operator.index(spec))
    if size < 0:
        raise ValueError(f"state bits {int(spec):#x} are unknown")
    return size


def get_state(model, data, spec=State.FULLPHYSICS):
    """Parts of the state as one vector, in the order of their bits. FULLPHYSICS is time, qpos, qvel, act, and positions and velocities
    of the vertices of soft bodies."""
    _same(model, data)
    out = _np.empty(state_size(model, spec))
    _core.state_get(data._core, _operator.index(spec), out)
    return out


def set_state(model, data, state, spec=State.FULLPHYSICS):
    """The state of such a vector. With State.QPOS what is remembered of earlier steps is forgotten: the future depends on the state
    alone. A snapshot (data.snapshot()) keeps that too."""
    _same(model, data)
    _core.state_set(data._core, _operator.index(spec), _np.ascontiguousarray(state, float).reshape(-1))


def set_keyframe(model, data, key):
    """Keyframe `key` (name or number) of the model becomes the present state of data."""
    _same(model, data)
    _core.set_keyframe(model._model_core, data._core, model.key(key).id)
