# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's MjSpec on stiction.Spec: the names of its elements and attributes, which are those of MuJoCo's C structs, in the words of MJCF."""
import os as _os
import struct as _struct

import numpy as _np

import stiction as _sti
from stiction import _core
from stiction.spec import Element as _Element
from stiction.spec import Spec as _Spec
from stiction.spec import _alive, _Attachment, _below, _referred, _text

from . import enums as _e

# attributes by other names than MJCF's: those of all elements, then those of some
_NAMES = {"userdata": "user", "fluid_coefs": "fluidcoef", "meshname": "mesh", "hfieldname": "hfield", "fitscale": "fitscale", "uservert": "vertex",
          "userface": "face", "usernormal": "normal", "usertexcoord": "texcoord", "solref_limit": "solreflimit", "solimp_limit": "solimplimit",
          "solref_friction": "solreffriction", "solimp_friction": "solimpfriction", "targetbody": "target", "sensor_size": "sensorsize",
          "focal_length": "focal", "focal_pixel": "focalpixel", "principal_length": "principal", "principal_pixel": "principalpixel",
          "geomname1": "geom1", "geomname2": "geom2", "bodyname1": "body1", "bodyname2": "body2"}
_OF_TAG = {"hfield": {"userdata": "elevation"}, "numeric": {"data": "data"}, "geom": {"typeinertia": "shellinertia", "fluid_ellipsoid": "fluidshape"}}
_TYPES = {"geom": _e.mjtGeom, "site": _e.mjtGeom, "joint": _e.mjtJoint, "texture": _e.mjtTexture}
# words that are not the last part of their enumeration's name in small letters
_WORDS = {"euler": "Euler", "rk4": "RK4", "pgs": "PGS", "cg": "CG", "newton": "Newton"}
_SWITCH = ("false", "true", "auto")
# what is read where nothing is set
_UNSET = {"pos": (0, 0, 0), "quat": (1, 0, 0, 0), "size": (0, 0, 0), "rgba": (0.5, 0.5, 0.5, 1), "axis": (0, 0, 1), "range": (0, 0), "mass": 0.0,
          "damping": 0.0, "stiffness": 0.0, "armature": 0.0, "frictionloss": 0.0, "group": 0.0, "gear": (1, 0, 0, 0, 0, 0), "name": "",
          "friction": (1, 0.005, 0.0001), "ctrlrange": (0, 0), "forcerange": (0, 0), "density": 1000.0, "contype": 1.0, "conaffinity": 1.0,
          "condim": 3.0, "gravity": (0, 0, -9.81), "timestep": 0.002, "wind": (0, 0, 0), "viscosity": 0.0, "fromto": (_np.nan, 0, 0, 0, 0, 0),
          "scale": (1, 1, 1)}
_PADDED = {"size": 3, "gear": 6, "friction": 3}
_INERTIAL = {"mass": "mass", "ipos": "pos", "iquat": "quat", "inertia": "diaginertia", "fullinertia": "fullinertia"}
_PARTS = ("geom", "joint", "site", "camera", "light", "mesh", "material", "texture", "pair", "equality", "tendon", "actuator")
# those that classes of defaults speak of, and under which tag
_DEFAULTED = {**{tag: tag for tag in _PARTS[:9]}, "spatial": "tendon", "fixed": "tendon"}
_ANGLES = ("range", "ref", "springref")  # of joints that turn
_NOT_INHERITED = ("name", "class", "childclass")
_TARGET = {"JOINT": "joint", "JOINTINPARENT": "jointinparent", "TENDON": "tendon", "SITE": "site", "BODY": "body", "SLIDERCRANK": "cranksite"}
_SENSORS = {"GEOMDIST": "distance", "GEOMNORMAL": "normal", "GEOMFROMTO": "fromto", "E_POTENTIAL": "e_potential", "E_KINETIC": "e_kinetic",
            "JOINTACTFRC": "jointactuatorfrc", "TENDONACTFRC": "tendonactuatorfrc"}
_KIND = {"cameras": "camera", "lights": "light", "geoms": "geom", "sites": "site", "joints": "joint", "bodies": "body", "frames": "frame"}


def _word(value, kind=None):
    """The word of a member of an enumeration, or of its number."""
    if isinstance(value, str):
        return value
    name = (kind(int(value)) if kind else value).name.rsplit("_", 1)[-1].lower()
    return _WORDS.get(name, name)


class _Numbers(_np.ndarray):
    """Numbers of an attribute: what is written into them is written into the spec."""

    def __setitem__(self, index, value):
        super().__setitem__(index, value)
        if getattr(self, "_of", None) is not None:
            setattr(self._of[0], self._of[1], _np.asarray(self))


def _live(numbers, element, name):
    found = _np.array(numbers, float).view(_Numbers)
    found._of = (element, name)
    return found


class _Flags:
    """disableflags and enableflags: the flags of an option as bits."""

    def __init__(self, members, on):
        self.members, self.on = members, on

    def read(self, option):
        flag = next((e for e in option.children if e.tag == "flag"), None)
        bits = 0
        for member in self.members:
            name = member.name.split("_", 1)[1].lower()
            if flag is not None and flag._core.knows(name) and flag.get(name) == self.on:
                bits |= int(member)
        return bits

    def write(self, option, bits):
        flag = next((e for e in option.children if e.tag == "flag"), None) or option.add("flag")
        for member in self.members:
            name = member.name.split("_", 1)[1].lower()
            if flag._core.knows(name):
                flag._core.set(name, self.on if int(bits) & int(member) else None)


_FLAGS = {"disableflags": _Flags(_e.mjtDisableBit, "disable"), "enableflags": _Flags(_e.mjtEnableBit, "enable")}


class _Textures:
    """material.textures[role]: the picture on a surface; others are layers."""

    def __init__(self, material):
        self._material = material

    def __setitem__(self, role, name):
        if int(role) == 1:  # mjTEXROLE_RGB
            self._material._core.set("texture", name)
        else:
            self._material.add("layer", role=_word(role, _e.mjtTextureRole), texture=name)

    def __getitem__(self, role):
        return self._material.get("texture") or "" if int(role) == 1 else ""


class MjsElement(_Element):
    """An element of an MjSpec. Numbers are read as arrays, and may be written in place."""

    __slots__ = ()

    # ---- attributes

    def _mjcf(self, name):
        return _OF_TAG.get(self.tag, {}).get(name) or _NAMES.get(name, name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        special = _READ.get(name)
        if special is not None and special[0](self):
            return special[1](self, name)
        written = self._mjcf(name)
        found = super().__getattr__(written)
        if found is None:
            found = self._inherited(written)
        if self.tag in _TYPES and name == "type":
            word = found or {"joint": "hinge", "texture": "cube"}.get(self.tag, "sphere")
            return next(member for member in _TYPES[self.tag] if _word(member) == word)
        if found is None:
            found = _UNSET.get(name)
        if isinstance(found, str) and found in _SWITCH[:2]:
            return int(_SWITCH.index(found))
        if name == "userdata" and not isinstance(found, (tuple, _np.ndarray)):  # one number or none
            return _live(_np.array([] if found is None else [found], float), self, name)
        if isinstance(found, (tuple, _np.ndarray)) or name in _PADDED:
            numbers = _np.ravel(_np.asarray(0 if found is None else found, float))
            numbers = _np.concatenate([numbers, _np.zeros(max(0, _PADDED.get(name, 0) - numbers.size))])
            return _live(numbers, self, name)
        return found

    def _inherited(self, written):
        """What its class of defaults says of an attribute, or a class around that one; None if none does."""
        part = _DEFAULTED.get(self.tag)
        if part is None or written in _NOT_INHERITED:
            return None
        around = _Element.parent.fget(self)
        if around.tag == "default":  # it is what a class says itself
            level = _Element.parent.fget(around)
        else:
            name = self.get("class")
            while name is None and around is not None and around.tag in ("body", "frame", "worldbody"):
                name, around = around.get("childclass"), _Element.parent.fget(around)
            level = self._spec.find_default(name or "main")
        while level is not None and level.tag == "default":
            for said in level.children:
                found = _Element.__getattr__(said, written) if said.tag == part else None
                if found is not None:
                    return found
            level = _Element.parent.fget(level)
        return None

    def _say(self, name, value):
        """The text of a value, with MjSpec's types of values."""
        kind = self._core.knows(name)
        if value is None or isinstance(value, (str, _Element)):
            return _text(value)
        if name == "type" and self.tag in _TYPES:
            return _word(value, _TYPES[self.tag])
        if hasattr(value, "name") and hasattr(value, "value"):
            return _word(value)
        if kind != "numbers" and isinstance(value, (bool, int, _np.integer, _np.bool_)):
            return _SWITCH[int(value)]
        if name == "fromto" and _np.any(_np.isnan(value)):
            return None
        if name == "size" and self.tag in ("geom", "site") and self.get("type") != "plane":
            value = _np.trim_zeros(_np.ravel(_np.asarray(value, float)), "b")
            return _text(value) if value.size else None
        return _text(value)

    def __setattr__(self, name, value):
        special = _WRITE.get(name)
        if special is not None and special[0](self):
            special[1](self, name, value)
            return
        written, _ = self._attribute(self._mjcf(name))
        if self.tag == "hfield" and written == "elevation":  # MjSpec has the first row at -y, MJCF at +y
            value = _np.reshape(_np.asarray(value, float), (int(self.nrow), int(self.ncol)))[::-1]
        if self.tag == "geom" and name == "fluid_ellipsoid":
            value = "ellipsoid" if value else "none"
        self._core.set(written, self._say(written, value))

    def set(self, **attributes):
        """Sets several attributes, names and sizes first; returns the element."""
        first = ("name", "type", "nrow", "ncol", "width", "height", "objtype", "trntype")
        for name in sorted(attributes, key=lambda n: first.index(n) if n in first else len(first)):
            if attributes[name] is not None:
                setattr(self, name, attributes[name])
        return self

    # ---- the tree

    def _around(self, tags):
        found = super().parent
        while found is not None and found.tag not in tags:
            found = _Element.parent.fget(found)
        return found

    @property
    def parent(self):
        """The body around it."""
        return self._around(("body", "worldbody")) or super().parent

    @property
    def frame(self):
        """The frame around it, None if there is none before the body."""
        found = super().parent
        return found if found is not None and found.tag == "frame" else None

    def set_frame(self, frame):
        """Moves it into a frame of its body."""
        moved = self._spec._copied(self, frame)
        self.remove()
        object.__setattr__(self, "_core", moved._core)

    def _own(self, tag):
        """Of a body and the frames in it, but not of bodies in it."""
        found = []
        for child in self.children:
            if child.tag == tag or (tag == "joint" and child.tag == "freejoint"):
                found.append(child)
            if child.tag == "frame":
                found += child._own(tag)
        return found

    def find_all(self, tag):
        """All elements below it, by their tag or mjtObj, in the order of the file."""
        if not isinstance(tag, str):
            tag = _e.mjtObj(int(tag)).name[len("mjOBJ_"):].lower()
            tag = {"xbody": "body"}.get(tag, tag)
        found = super().find_all(tag)
        if tag == "joint":
            found = [e for e in self._below() if e.tag in ("joint", "freejoint")]
        return found

    def _below(self):
        for child in self.children:
            yield child
            yield from child._below()

    def delete(self):
        """Removes it, and what refers to it: MuJoCo 3's way to write spec.delete(element)."""
        self._spec.delete(self)

    def attach_body(self, body, prefix="", suffix=""):
        """Copies a body of another spec, with what belongs to it, to a site or into a frame. Its world becomes a body."""
        return self._spec._attach_part(body, prefix or "", suffix or "", self)

    def attach_frame(self, frame, prefix="", suffix=""):
        """Copies a frame of another spec, with what is in it, into a body."""
        return self._spec._attach_part(frame, prefix or "", suffix or "", self)

    # ---- actuators and tendons

    def _make(self, gain, bias=None, dynamics=None, **more):
        self._core.set("gaintype", gain[0])
        self._core.set("gainprm", _text(gain[1]))
        self._core.set("biastype", bias[0] if bias else "none")
        self._core.set("biasprm", _text(bias[1]) if bias else None)
        self._core.set("dyntype", dynamics[0] if dynamics else "none")
        self._core.set("dynprm", _text(dynamics[1]) if dynamics and dynamics[1] is not None else None)
        self.set(**more)

    def set_to_motor(self):
        """A motor."""
        self._make(("fixed", [1]))

    def set_to_position(self, kp, kv=-1, dampratio=-1, timeconst=-1, inheritrange=False):
        """A position servo."""
        self._servo(kp, kv, dampratio, ("filterexact", [timeconst]) if timeconst > 0 else None, inheritrange, "ctrlrange")

    def set_to_intvelocity(self, kp, kv=-1, dampratio=-1, timeconst=-1, inheritrange=False):
        """A position servo whose set point is the integral of the control."""
        self._servo(kp, kv, dampratio, ("integrator", None), inheritrange, "actrange")

    def _servo(self, kp, kv, dampratio, dynamics, inheritrange, limits):
        if kv >= 0 and dampratio >= 0:
            raise ValueError("kv and dampratio cannot both be given")
        self._make(("fixed", [kp]), ("affine", [0, -kp, dampratio if dampratio > 0 else -max(kv, 0)]), dynamics)
        if inheritrange:
            joint = self._spec.joint(self.get("joint") or "")
            if joint is None or joint.get("range") is None:
                raise ValueError("inheritrange needs a joint with a range")
            low, high = _np.deg2rad(joint.range) if self._spec.compiler.degree and joint.type != _e.mjtJoint.mjJNT_SLIDE else joint.range
            middle, half = (low + high) / 2, (high - low) / 2 * float(inheritrange)
            setattr(self, limits, [middle - half, middle + half])

    def set_to_velocity(self, kv):
        """A velocity servo."""
        self._make(("fixed", [kv]), ("affine", [0, 0, -kv]))

    def set_to_damper(self, kv):
        """A damper with a control."""
        self._make(("affine", [0, 0, -kv]))

    def set_to_cylinder(self, timeconst, bias, area, diameter=-1):
        """A cylinder with a piston."""
        self._make(("fixed", [area if diameter < 0 else _np.pi / 4 * diameter * diameter]), ("affine", [bias]), ("filter", [timeconst]))

    def set_to_adhesion(self, gain):
        """Adhesion of a body."""
        self._make(("fixed", [gain]))

    def wrap_site(self, name):
        """The tendon's path goes on to a site."""
        return self.add("site", site=name)

    def wrap_geom(self, name, sidesite=""):
        """The tendon's path goes around a geom."""
        return self.add("geom", geom=name, **({"sidesite": sidesite} if sidesite else {}))

    def wrap_pulley(self, divisor):
        """The tendon's path begins anew, by a pulley."""
        return self.add("pulley", divisor=divisor)

    def wrap_joint(self, name, coef):
        """The tendon's length has a joint in it."""
        if self.tag == "spatial":
            moved = self._spec._copied(self, super().parent, "fixed")
            self.remove()
            object.__setattr__(self, "_core", moved._core)
        return self.add("joint", joint=name, coef=coef)


def _add_parts():
    def lists(tag):
        return property(lambda self: self._own(tag), doc=f"The {tag}s of a body and of the frames in it.")

    def firsts(tag):
        def first(self):
            return next(iter(self._own(tag)), None)

        def after(self, element):
            own = self._own(tag)
            return next(iter(own[own.index(element) + 1:]), None)
        first.__name__, after.__name__ = f"first_{tag}", f"next_{tag}"
        first.__doc__, after.__doc__ = f"The first {tag} of a body.", f"The {tag} of a body after one."
        return first, after
    for plural, tag in _KIND.items():
        setattr(MjsElement, plural, lists(tag))
        for function in firsts(tag):
            setattr(MjsElement, function.__name__, function)
    for tag in ("body", "geom", "joint", "freejoint", "site", "camera", "light", "frame"):
        def add(self, default=None, _tag=tag, **attributes):
            if _tag == "joint" and attributes.get("type") is not None and int(attributes["type"]) == _e.mjtJoint.mjJNT_FREE:
                attributes.pop("type")
                return self.add("freejoint", **attributes)
            return self.add(_tag, **({"classname": default.name} if default is not None and default.name != "main" else {}), **attributes)
        add.__name__ = add.__qualname__ = "add_" + tag
        add.__doc__ = f"A new {tag} in it, of a class of defaults."
        setattr(MjsElement, "add_" + tag, add)


_add_parts()


# ---- attributes that are no single attributes of MJCF -----------------------------------------------------------

def _is(*tags):
    return lambda e: e.tag in tags


def _is_actuator(e):
    return _Element.parent.fget(e) is not None and _Element.parent.fget(e).tag == "actuator"


def _child_of(tag):
    return lambda e, name: next((c for c in e.children if c.tag == (tag or name.rstrip("_"))), None) or e.add(tag or name.rstrip("_"))


def _read_inertial(e, name):
    pending = e._spec._bodies.get(e._core, {})
    inertial = next((c for c in e.children if c.tag == "inertial"), None)
    found = pending.get(name, inertial.get(_INERTIAL[name]) if inertial is not None else None)
    found = {"mass": 0, "ipos": (0, 0, 0), "iquat": (1, 0, 0, 0), "inertia": (0, 0, 0), "fullinertia": (0,) * 6}[name] if found is None else found
    numbers = _np.array(found.split() if isinstance(found, str) else found, float)
    return numbers.item() if name == "mass" else _live(numbers, e, name)


def _write_inertial(e, name, value):
    e._spec._bodies.setdefault(e._core, {})[name] = value


def _read_default_name(e, name):
    return e.get("class") or "main"


def _write_target(e, name, value):
    """target with trntype: the attribute that MJCF has for it."""
    known = e._spec._transmissions.setdefault(e._core, {})
    known[name] = value
    if "target" in known:
        kind = _e.mjtTrn(int(known.get("trntype", 0))).name[len("mjTRN_"):]
        for other in _TARGET.values():
            if e._core.knows(other):
                e._core.set(other, None)
        e._core.set(_TARGET[kind], known["target"])


def _read_target(e, name):
    if name == "trntype":
        return next((_e.mjtTrn["mjTRN_" + kind] for kind, a in _TARGET.items() if e._core.knows(a) and e.get(a)), _e.mjtTrn.mjTRN_JOINT)
    return next((e.get(a) for a in _TARGET.values() if e._core.knows(a) and e.get(a)), "")


def _object_of(e, name):
    """The attribute of a sensor that names what it measures: objname, or one for its kind of object."""
    prefix = name[:3]
    if e._core.knows(prefix + "name"):
        return prefix + "name"
    kind = e._spec._objects.get(e._core, {}).get(prefix + "type")
    word = {"xbody": "body"}.get(_word(kind), _word(kind)) if kind is not None else None
    number = {"obj": "1", "ref": "2"}[prefix]
    candidates = [word, f"{word}{number}"] if word else ["site", "joint", "tendon", "actuator", "body", "geom" + number]
    return next((c for c in candidates if c and e._core.knows(c)), prefix + "name")


def _write_object(e, name, value):
    e._spec._objects.setdefault(e._core, {})[name] = value
    if name.endswith("type"):
        if e._core.knows(name):
            e._core.set(name, _word(value))
    elif value:
        e._core.set(_object_of(e, name), value)


def _equality_ends(e, name, value):
    number = name[-1]
    kind = e._spec._objects.get(e._core, {}).get("objtype")
    word = _word(kind) if kind is not None else {"joint": "joint", "tendon": "tendon"}.get(e.tag, "body")
    e._core.set(word + number, value or None)


def _equality_data(e, name, value):
    data = _np.concatenate([_np.ravel(_np.asarray(value, float)), _np.zeros(12)])[:12]
    if e.tag == "connect":
        e._core.set("anchor", _text(data[:3]))
    elif e.tag == "weld":
        if not any(e.get(a) for a in ("site1", "site2")):
            e._core.set("anchor", _text(data[:3]))
            if data[6:10].any() or data[3:6].any():
                e._core.set("relpose", _text(data[3:10]))
        e._core.set("torquescale", _text(data[10]) if data[10] else None)
    else:
        e._core.set("polycoef", _text(data[:5]))


def _texture_data(e, name, value):
    pixels = bytes(value) if not isinstance(value, _np.ndarray) else value.astype(_np.uint8).tobytes()
    e._spec._pixels[e._core] = pixels


def _write_degree(e, name, value):
    e._core.set("angle", "degree" if value else "radian")


def _is_body(e):
    return e.tag == "body"


_READ = {
    **{name: (_is("default"), lambda e, n: _child_of("general" if n == "actuator" else n)(e, n)) for name in _PARTS},
    **{name: (_is_body, _read_inertial) for name in _INERTIAL},
    **{name: (_is("visual"), _child_of(None)) for name in ("global_", "headlight", "map", "quality", "scale")},
    **{name: (_is("option"), lambda e, n: _FLAGS[n].read(e)) for name in _FLAGS},
    **{name: (_is_actuator, _read_target) for name in ("target", "trntype")},
    "name": (_is("default", "worldbody"), lambda e, n: "world" if e.tag == "worldbody" else _read_default_name(e, n)),
    "textures": (_is("material"), lambda e, n: _Textures(e)),
    "degree": (_is("compiler"), lambda e, n: int((e.get("angle") or "degree") == "degree")),
    "explicitinertial": (_is_body, lambda e, n: int(any(c.tag == "inertial" for c in e.children) or
                                                   bool(e._spec._bodies.get(e._core, {}).get(n)))),
    "id": (lambda e: True, lambda e, n: e._spec._number(e)),
}
_WRITE = {
    **{name: (_is_body, _write_inertial) for name in (*_INERTIAL, "explicitinertial")},
    **{name: (_is("option"), lambda e, n, v: _FLAGS[n].write(e, v)) for name in _FLAGS},
    **{name: (_is_actuator, _write_target) for name in ("target", "trntype")},
    **{name: (lambda e: _Element.parent.fget(e).tag == "sensor", _write_object) for name in ("objtype", "objname", "reftype", "refname")},
    "name1": (lambda e: True, _equality_ends), "name2": (lambda e: True, _equality_ends),
    "data": (lambda e: e.tag in ("connect", "weld", "joint", "tendon", "texture"),
             lambda e, n, v: (_texture_data if e.tag == "texture" else _equality_data)(e, n, v)),
    "degree": (_is("compiler"), _write_degree),
}
_SENSOR_OBJECT = _WRITE["objtype"]
_WRITE["objtype"] = (lambda e: _Element.parent.fget(e).tag in ("sensor", "equality"), _write_object)


# ---- elements in a model ---------------------------------------------------------------------------------------------

class _Bound:
    """Several elements in a model or its data: an attribute is a list with the numbers of all, and takes a value for each."""

    def __init__(self, views):
        object.__setattr__(self, "_views", views)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return [number for view in self._views for number in _np.ravel(getattr(view, name))]

    def __setattr__(self, name, values):
        if len(values) != len(self._views):
            raise ValueError(f"{len(self._views)} values are needed, not {len(values)}")
        for view, value in zip(self._views, values):
            setattr(view, name, value)


def _bind(owner, elements):
    """The view that owner.geom("name") gives, of the geom that an element of the compiled spec has become; of a list, the views together."""
    if not isinstance(elements, _Element):
        return _Bound([_bind(owner, element) for element in elements])
    section = _Element.parent.fget(elements)
    kind = section.tag if section is not None and section.tag in ("actuator", "sensor", "tendon", "equality") else _referred(elements.tag)
    return getattr(owner, "body" if kind == "worldbody" else kind)(elements.id)


# ---- the spec ------------------------------------------------------------------------------------------------------

def _through_compiler(name):
    def read(self):
        return self.compiler.get(name) or ""

    def write(self, value):
        self.compiler._core.set(name, value if isinstance(value, str) else _SWITCH[int(value)])
    return property(read, write, doc=f"The compiler's {name}.")


def _through_size(name):
    def read(self):
        given = [e.get(name) for e in self.root.children if e.tag == "size"]
        return next((int(value) for value in reversed(given) if value is not None), -1)

    def write(self, value):
        self.section("size").set(**{name: int(value)})
    return property(read, write, doc="Numbers of the user for each object; -1: as many as the longest list has.")


class MjSpec(_Spec):
    """A scene that can be edited, then compiled to an MjModel. Attributes have the names of MuJoCo's MjSpec; those of MJCF work too."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        # what MJCF has no attribute for until all is known: by element
        self._bodies, self._transmissions, self._objects, self._pixels, self._joints = {}, {}, {}, {}, None
        self._brought = {}  # files of attached specs in other folders

    meshdir, texturedir, strippath = (_through_compiler(name) for name in ("meshdir", "texturedir", "strippath"))
    nuser_body, nuser_jnt, nuser_geom, nuser_site, nuser_cam, nuser_tendon, nuser_actuator, nuser_sensor = (
        _through_size("nuser_" + kind) for kind in ("body", "jnt", "geom", "site", "cam", "tendon", "actuator", "sensor"))
    stat = property(lambda self: self.section("statistic"), doc="Sizes of the scene.")
    visual = property(lambda self: self.section("visual"), doc="Settings of looks.")
    default = property(lambda self: next((e for e in self.root.children if e.tag == "default"), None) or self.root.add("default"),
                       doc="The outermost class of defaults.")
    bodies = property(lambda self: [self.worldbody, *self.worldbody.find_all("body")], doc="All bodies, the world first.")
    texts = tuples = skins = plugins = flexes = property(lambda self: [])

    def _element(self, core):
        return MjsElement(core, self)

    def _number(self, element):
        """The number of an element in the model."""
        same = element.tag if element.tag != "freejoint" else "joint"
        if element.tag == "worldbody":
            return 0
        top = _Element.parent.fget(element)
        if top.tag in ("actuator", "sensor", "tendon", "equality"):
            return top.children.index(element)
        among = self.worldbody.find_all(same) if same in _KIND.values() else [e for e in top.children if e.tag == same]
        return among.index(element) + (same == "body")

    def _copied(self, element, into, tag=None):
        """A copy of an element, with all in it."""
        made = into.add(tag or element.tag)
        for name, _, text in element._core.attributes():
            made._core.set(name, text)
        for child in element.children:
            self._copied(child, made)
        for known in (self._bodies, self._transmissions, self._objects, self._pixels):
            if element._core in known:
                known[made._core] = known[element._core]
        return made

    # ---- editing

    def find(self, tag, name):
        """The first element with this tag and name, None if there is none."""
        return self.worldbody if tag == "body" and name == "world" else super().find(tag, name)

    def detach_body(self, body):
        """Removes a body: MuJoCo 3's way to write delete(body)."""
        self.delete(body)

    def add_actuator(self, default=None, **attributes):
        """A new actuator: target and trntype say what it drives, gaintype, biastype and dyntype how; or set_to_position(...) and the like."""
        kind = default if isinstance(default, str) else "general"
        if default is not None and not isinstance(default, str) and default.name != "main":
            attributes["classname"] = default.name
        return self.section("actuator").add(kind, **attributes)

    def add_sensor(self, type=None, **attributes):
        """A new sensor, by mjtSensor or MJCF's word: add_sensor(type=mjtSensor.mjSENS_GYRO, objtype=mjtObj.mjOBJ_SITE, objname="imu")."""
        if type is None:
            raise TypeError("a sensor needs its type when it is added")
        if not isinstance(type, str):
            name = _e.mjtSensor(int(type)).name[len("mjSENS_"):]
            type = _SENSORS.get(name, name.lower())
        return self.section("sensor").add(type, **attributes)

    def add_equality(self, type=None, **attributes):
        """A new equality, by mjtEq or MJCF's word, of name1 and name2."""
        if type is None:
            raise TypeError("an equality needs its type when it is added")
        return self.section("equality").add(type if isinstance(type, str) else _e.mjtEq(int(type)).name[len("mjEQ_"):].lower(), **attributes)

    def add_tendon(self, default=None, **attributes):
        """A new tendon; its path follows from wrap_site, wrap_geom and wrap_pulley, or wrap_joint."""
        kind = default if isinstance(default, str) else "spatial"
        return self.section("tendon").add(kind, **attributes)

    def attach(self, child, prefix="", suffix="", frame=None, site=None, pos=None, quat=None):
        """Copies another spec to a frame or site, given by itself or its name; None: on the world. Returns the new frame."""
        frame = self.find("frame", frame) if isinstance(frame, str) else frame
        site = self.find("site", site) if isinstance(site, str) else site
        child._settle()
        if child._in_degrees() != self._in_degrees():
            child = child.copy()
            child._turn(self._in_degrees())
        self._brought.update(child._outside(self))
        return super().attach(child, prefix or "", suffix or "", frame, site, pos, quat)

    def _in_degrees(self):
        return self._setting("angle") in (None, "degree")

    def _turn(self, degrees):
        """Says all angles in degrees, or in radians; they stay as large."""
        scale = _np.rad2deg(1) if degrees else _np.deg2rad(1)
        every = [e for section in self.root.children for e in _below(section)]
        sliding = [e for e in every if e.tag == "joint" and (e._inherited("type") if e.get("type") is None else e.get("type")) == "slide"]
        for joint in sliding:  # what a class means as a length stays one
            for name in _ANGLES:
                found = joint._inherited(name) if joint.get(name) is None else None
                if found is not None:
                    joint._core.set(name, _text(found))
        for e in every:
            names = ("euler", *(_ANGLES if e.tag == "joint" and e not in sliding else ()))
            for name in names:
                if e._core.knows(name) and e.get(name) is not None:
                    e._core.set(name, _text(scale * _np.array(e.get(name).split(), float)))
            if e._core.knows("axisangle") and e.get("axisangle") is not None:
                turn = _np.array(e.get("axisangle").split(), float)
                e._core.set("axisangle", _text(turn * (1, 1, 1, scale)))
        self.compiler._core.set("angle", "degree" if degrees else "radian")

    def _outside(self, to):
        """Files of this spec, in its folder, that another one may not read because they are not in its own: bytes by the names it knows them by."""
        found, home = dict(self._brought), _os.path.realpath(self._folder or ".")
        for e in self._all("asset") if _os.path.realpath(to._folder or ".") != home else ():
            name = e.get("file") if e._core.knows("file") else None
            if not name or self.assets and name in self.assets:
                continue
            path = _Attachment(to, self, "", "").place(e.tag, name)
            real = _os.path.realpath(_os.path.join(self._folder or ".", self._directory(e.tag), name))
            if path.startswith("..") and _os.path.commonpath([home, real]) == home and _os.path.isfile(real):
                with open(real, "rb") as file:
                    found[path] = file.read()
        return found

    def _directory(self, tag):
        return self._setting("texturedir" if tag == "texture" else "meshdir") or self._setting("assetdir") or ""

    def _attach_part(self, part, prefix, suffix, place):
        """Copies one body or frame of another spec."""
        theirs = part._spec
        copy = theirs.copy()
        if part.tag == "worldbody":
            chosen = copy._world_as_body()
        else:
            chosen = [e for e in copy.worldbody._below()][[e for e in theirs.worldbody._below()].index(part)]
        keep = {chosen._core, *(e._core for e in chosen._below())}
        around = chosen
        while around.tag != "worldbody":
            keep.add(around._core)
            around = _Element.parent.fget(around)
        for element in [e for e in copy.worldbody._below()]:  # some go with those before them
            if _alive(element._core) and element._core not in keep and _Element.parent.fget(element)._core in (keep | {copy.worldbody._core}):
                copy.delete(element)
        frame = self.attach(copy, prefix, suffix, site=place) if place.tag == "site" else self.attach(copy, prefix, suffix, frame=place)
        made = next((e for e in frame._below() if e.tag == chosen.tag), frame)
        if part.tag == "worldbody":
            made.name = f"{prefix}world{suffix}"
        return made

    def _world_as_body(self):
        """Moves all that is in the world into a body."""
        inside = self.worldbody.children
        body = self.worldbody.add("body")
        for element in inside:
            self._copied(element, body)
            element.remove()
        return body

    # ---- writing

    def _settle(self):
        """Writes what has waited for the whole spec."""
        for core, given in self._bodies.items():
            body = self._element(core)
            try:
                shapes = body._own("geom")
            except ReferenceError:
                continue  # it was removed
            if shapes and not given.get("explicitinertial"):
                continue  # the inertia follows from geoms
            inertial = next((c for c in body.children if c.tag == "inertial"), None) or body.add("inertial", pos=given.get("ipos", (0, 0, 0)))
            for name, written in _INERTIAL.items():
                if name in given and (name != "inertia" or _np.any(given[name])):
                    inertial._core.set(written, _text(given[name]))
        files = {}
        for core, pixels in self._pixels.items():
            texture = self._element(core)
            name = f"{texture.name or 'texture'}.pixels"
            files[name] = _struct.pack("<ii", int(texture.width), int(texture.height)) + pixels
            texture._core.set("file", name)
        if self._brought:  # then the text is read without its folder
            files.update({**self._own_files(), **self._brought})
        return files

    def _own_files(self):
        found, home = {}, _os.path.realpath(self._folder or ".")
        for e in self._all("asset"):
            name = e.get("file") if e._core.knows("file") else None
            real = _os.path.realpath(_os.path.join(home, self._directory(e.tag), name or ""))
            if name and _os.path.commonpath([home, real]) == home and _os.path.isfile(real):
                with open(real, "rb") as file:
                    found[name] = file.read()
        return found

    def copy(self):
        """An independent spec."""
        self.assets = {**(self.assets or {}), **self._settle()} or None
        made = super().copy()
        made._brought = dict(self._brought)
        return made

    def compile(self):
        """An MjModel. The spec stays and may be edited further."""
        from . import MjModel
        files = self._settle()
        if files:
            core, _ = _core.spec(None, self.to_xml(), {**(self.assets or {}), **files}, self._allow_outside)
            model = _Spec(core, self._folder, None, self._allow_outside, self.warnings).compile()
        else:
            model = super().compile()
        object.__setattr__(model, "__class__", MjModel)
        text, found = self.to_xml(), {**(self.assets or {}), **files}
        model.__dict__["_make_spec"] = lambda: _Spec(_core.spec(None, text, found, self._allow_outside)[0], self._folder, found)
        self._joints = self._places(model)
        return model

    def _places(self, model):
        """Where the numbers of each joint are."""
        joints = self.worldbody.find_all("joint")
        if len(joints) != model.njnt:
            return None
        size = {0: (7, 6), 1: (4, 3), 2: (1, 1), 3: (1, 1)}
        return {e._core: (int(model.jnt_qposadr[i]), int(model.jnt_dofadr[i]), *size[int(model.jnt_type[i])]) for i, e in enumerate(joints)}

    def recompile(self, m, d):
        """An MjModel and an MjData that goes on from the state of d: joints and actuators that were there keep theirs."""
        from . import MjData
        before = self._joints
        model = self.compile()
        data = MjData(model)
        data.time = d.time
        for core, (q, v, nq, nv) in (self._joints or {}).items():
            if before and core in before:
                oq, ov = before[core][:2]
                data.qpos[q:q + nq], data.qvel[v:v + nv] = d.qpos[oq:oq + nq], d.qvel[ov:ov + nv]
        if model.nu == m.nu and model.na == m.na:
            data.ctrl[:], data.act[:] = d.ctrl, d.act
        return model, data
