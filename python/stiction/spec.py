# SPDX-License-Identifier: Apache-2.0
"""Scenes that can be edited: Spec, a tree of elements as in MJCF. docs/spec.md."""
import enum as _enum
import os as _os
import warnings as _warnings

import numpy as _np

from . import _core

# sections of objects by kind, as find and lists know them
_ACTUATORS = ("motor", "position", "velocity", "general", "intvelocity", "damper", "cylinder", "muscle", "adhesion")
_PLURALS = {"body": "bodies", "camera": "cameras", "light": "lights", "geom": "geoms", "site": "sites", "joint": "joints",
            "frame": "frames", "mesh": "meshes", "material": "materials", "texture": "textures", "hfield": "hfields", "key": "keys",
            "pair": "pairs", "exclude": "excludes", "numeric": "numerics"}
_SECTION = {"mesh": "asset", "material": "asset", "texture": "asset", "hfield": "asset", "key": "keyframe", "pair": "contact",
            "exclude": "contact", "numeric": "custom"}
# attributes of a compiler that change what the rest of a file means, and their standard values
_MEANING = {"angle": "degree", "eulerseq": "xyz", "autolimits": "true", "coordinate": "local", "inertiafromgeom": "auto",
            "boundmass": "0", "boundinertia": "0", "settotalmass": "-1", "balanceinertia": "false"}


def _text(value):
    """An attribute's text: words as they are, numbers with all their digits."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, _enum.Enum):
        return value.name.rsplit("_", 1)[-1].lower()  # Geom.BOX, mjtGeom.mjGEOM_BOX
    if isinstance(value, (bool, _np.bool_)):
        return "true" if value else "false"
    if isinstance(value, (int, _np.integer)):
        return str(int(value))
    if isinstance(value, Element):
        return value.name
    return " ".join(repr(float(x)) if float(x) != int(x) or abs(x) > 1e15 else str(int(x)) for x in _np.ravel(_np.asarray(value, float)))


class Element:
    """One element of a Spec. Its attributes are those of MJCF: geom.size = [.1, .2, .3], geom.size, geom.size = None to unset it.
    Numbers are read as arrays, all else as text; what is unset is None. Attributes of Stiction's own are written with an underscore:
    geom.sti_stiffness."""

    __slots__ = ("_core", "_spec")

    def __init__(self, core, spec):
        object.__setattr__(self, "_core", core)
        object.__setattr__(self, "_spec", spec)

    def _wrap(self, core):
        return None if core is None else self._spec._element(core)

    def __eq__(self, other):
        return isinstance(other, Element) and self._core is other._core

    def __hash__(self):
        return id(self._core)

    def _attribute(self, name):
        """The name as in MJCF, and its kind."""
        name = "class" if name == "classname" else name
        kind = self._core.knows(name)
        if kind is None and name.startswith("sti_"):
            name = "sti:" + name[4:]
            kind = self._core.knows(name)
        return name, kind

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        written, kind = self._attribute(name)
        if kind is None:
            raise AttributeError(f"a {self.tag} has no attribute {name!r}")
        text = self._core.get(written)
        if text is None or kind != "numbers":
            return text
        numbers = _np.array(text.split(), float)
        return numbers if numbers.size > 1 else numbers[0].item()

    def __setattr__(self, name, value):
        written, _ = self._attribute(name)
        self._core.set(written, _text(value))

    def get(self, attribute):
        """The text of an attribute as it was given, None if it is unset."""
        return self._core.get(self._attribute(attribute)[0])

    def set(self, **attributes):
        """Sets several attributes; returns the element."""
        for name, value in attributes.items():
            setattr(self, name, value)
        return self

    @property
    def attributes(self):
        """Those that are given: {name: text}."""
        return {name: text for name, _, text in self._core.attributes()}

    @property
    def tag(self):
        """Its name as an element: "geom"."""
        return self._core.tag()

    @property
    def parent(self):
        """The element around it."""
        return self._wrap(self._core.parent())

    @property
    def spec(self):
        """The spec that it belongs to."""
        return self._spec

    @property
    def children(self):
        """The elements in it, a list."""
        found, child = [], self._core.child()
        while child is not None:
            found.append(self._spec._element(child))
            child = child.next()
        return found

    def find_all(self, tag):
        """All elements below it with this tag, in the order of the file."""
        found = []
        for child in self.children:
            if child.tag == tag:
                found.append(child)
            found += child.find_all(tag)
        return found

    def find_child(self, name, tag="body"):
        """The first element below it with this tag and name, None if there is none."""
        return next((e for e in self.find_all(tag) if e.name == name), None)

    def add(self, tag, **attributes):
        """A new element in it, at the end. If an attribute is wrong nothing is added."""
        added = self._spec._element(self._core.add(tag))
        try:
            return added.set(**attributes)
        except BaseException:
            added.remove()
            raise

    def remove(self):
        """Takes it and all in it out of the spec."""
        self._core.remove()

    def __dir__(self):
        return sorted({*super().__dir__(), *self.attributes})

    def __repr__(self):
        if not _alive(self._core):
            return "<removed element>"
        inside = "".join(f" {name}={text!r}" for name, text in self.attributes.items())
        return f"<{self.tag}{inside}>"


def _alive(core):
    try:
        core.tag()
    except ReferenceError:
        return False
    return True


def _add_adders():
    for tag in ("body", "geom", "joint", "freejoint", "site", "camera", "light", "frame"):
        def add(self, _tag=tag, **attributes):
            return self.add(_tag, **attributes)
        add.__name__ = add.__qualname__ = "add_" + tag
        add.__doc__ = f"A new {tag} in it."
        setattr(Element, "add_" + tag, add)


_add_adders()


class Spec:
    """A scene that can be edited, then compiled. Names are those of MuJoCo's MjSpec where the thing is the same; attributes are those of
    MJCF files.

        spec = stiction.Spec.from_file("robot.xml")
        spec.body("hand").add_site(name="tip", pos=[0, 0, .1])
        model = spec.compile()
    """

    def __init__(self, _core_spec=None, _folder=None, _assets=None, _allow_outside=False, _warnings=()):
        self._core = _core.spec(None, None, None, False)[0] if _core_spec is None else _core_spec
        self._folder, self.assets, self._allow_outside = _folder, _assets, _allow_outside
        self.warnings = list(_warnings)

    @classmethod
    def from_file(cls, filename, assets=None, allow_outside=False):
        """The scene of an MJCF file, with what it includes. Arguments as of Model.from_xml_path."""
        core, found = _core.spec(_os.fsencode(filename), None, assets, allow_outside)
        folder = _os.path.dirname(_os.path.abspath(_os.fsdecode(filename)))
        return cls(core, folder, assets, allow_outside, [d["text"] for d in found])

    @classmethod
    def from_string(cls, xml, assets=None):
        """The scene of MJCF in a string; files it names come from assets, then the working folder."""
        core, found = _core.spec(None, xml, assets, False)
        return cls(core, None, assets, False, [d["text"] for d in found])

    # ---- reading ------------------------------------------------------------------------------------------

    def _element(self, core):
        return Element(core, self)

    @property
    def root(self):
        """The mujoco element."""
        return self._element(self._core.root())

    def section(self, tag):
        """The section with this tag, "asset" or "actuator", which is made if it is not there."""
        return next((e for e in self.root.children if e.tag == tag), None) or self.root.add(tag)

    @property
    def worldbody(self):
        """The world, which bodies are in."""
        return self.section("worldbody")

    @property
    def option(self):
        """Options of the step."""
        return self.section("option")

    @property
    def compiler(self):
        """How the file is read."""
        return self.section("compiler")

    @property
    def modelname(self):
        """The title of the model."""
        return self.root.model or ""

    @modelname.setter
    def modelname(self, name):
        self.root.model = name

    def find(self, tag, name):
        """The first element with this tag and name, None if there is none."""
        core = self._core.find(tag, name)
        return None if core is None else self._element(core)

    def _all(self, section, tag=None):
        inside = [e for s in self.root.children if s.tag == section for e in s.children]
        return [e for e in inside if tag is None or e.tag == tag]

    def _among(self, section, name):
        return next((e for e in self._all(section) if e.name == name), None)

    def actuator(self, name):
        """The actuator with this name, None if there is none."""
        return self._among("actuator", name)

    def sensor(self, name):
        """The sensor with this name, None if there is none."""
        return self._among("sensor", name)

    def tendon(self, name):
        """The tendon with this name, None if there is none."""
        return self._among("tendon", name)

    def equality(self, name):
        """The equality with this name, None if there is none."""
        return self._among("equality", name)

    actuators = property(lambda self: self._all("actuator"), doc="All actuators.")
    sensors = property(lambda self: self._all("sensor"), doc="All sensors.")
    tendons = property(lambda self: self._all("tendon"), doc="All tendons.")
    equalities = property(lambda self: self._all("equality"), doc="All equalities.")

    # ---- editing ----------------------------------------------------------------------------------------------

    def add_actuator(self, kind="general", **attributes):
        """A new actuator: add_actuator("motor", joint="elbow")."""
        return self.section("actuator").add(kind, **attributes)

    def add_sensor(self, kind, **attributes):
        """A new sensor: add_sensor("jointpos", joint="elbow")."""
        return self.section("sensor").add(kind, **attributes)

    def add_tendon(self, kind="spatial", **attributes):
        """A new tendon, spatial or fixed; its path is made of elements in it: tendon.add("site", site="a")."""
        return self.section("tendon").add(kind, **attributes)

    def add_equality(self, kind, **attributes):
        """A new equality: add_equality("weld", body1="a", body2="b")."""
        return self.section("equality").add(kind, **attributes)

    def add_default(self, name, parent=None):
        """A new class of defaults, in the outermost one or in another; add to it what it sets: add("geom", rgba=...)."""
        if parent is None:
            parent = next((e for e in self.root.children if e.tag == "default"), None) or self.root.add("default")
        return parent.add("default", classname=name)

    def find_default(self, name):
        """The class of defaults with this name, None if there is none."""
        return next((e for e in self.root.find_all("default") if (e.get("class") or "main") == name), None)

    def delete(self, element):
        """Removes an element and all in it, and what refers to it by name: actuators, sensors, equalities and so on. What went with another
        element already stays gone."""
        try:
            element.children
        except ReferenceError:
            return
        names = {}
        for e in [element, *_below(element)]:
            if e._core.knows("name") and e.name:
                names.setdefault(_referred(e.tag), set()).add(e.name)
        element.remove()
        for section in ("actuator", "sensor", "equality", "contact", "tendon"):
            for e in self._all(section):
                if any(_refers(x, names) for x in (e, *_below(e))):
                    e.remove()

    def attach(self, child, prefix="", suffix="", frame=None, site=None, pos=None, quat=None):
        """Copies another spec into this one; every name of it gets the prefix and suffix. It hangs on a frame or body of this spec, or where a
        site is; None: on the world. Returns the new frame around it, at pos and quat. Keyframes are left out, with a warning; settings of the
        compiler that change what a file means must be the same in both."""
        self._check_compilers(child)
        if site is not None:
            place = site.parent.add("frame", **{k: v for k, v in site.attributes.items() if k in _POSE})
        else:
            place = (self.worldbody if frame is None else frame).add("frame")
        place.set(**{k: v for k, v in (("pos", pos), ("quat", quat)) if v is not None})
        copy = _Attachment(self, child, prefix, suffix)
        copy.classes()
        if copy.main:
            place.childclass = copy.main
        for world in child._sections("worldbody"):
            copy.children(world, place)
        copy.sections()
        return place

    def _sections(self, tag):
        return [e for e in self.root.children if e.tag == tag]

    def _setting(self, name):
        values = [e.get(name) for e in self._sections("compiler") if e.get(name) is not None]
        return values[-1] if values else None

    def _check_compilers(self, child):
        for name, standard in _MEANING.items():
            ours, theirs = (s._setting(name) or standard for s in (self, child))
            if ours != theirs:
                raise ValueError(f"compiler {name} is {ours!r} here and {theirs!r} in the spec to be attached: make them the same first")

    # ---- writing ------------------------------------------------------------------------------------------------

    def compile(self):
        """A stiction.Model. The spec stays and may be edited further."""
        from . import Model
        core, found = self._core.compile()
        model = Model._make(core, self.warnings + [d["text"] for d in found])
        if model.warnings:
            more = f" (and {len(model.warnings) - 1} more in model.warnings)" if len(model.warnings) > 1 else ""
            _warnings.warn(model.warnings[0] + more, stacklevel=2)
        return model

    def to_xml(self, plain=False):
        """The scene as MJCF, includes written out. plain: without elements and attributes of Stiction's own."""
        return self._core.write(bool(plain))

    def to_file(self, filename, plain=False):
        """Writes to_xml() to a file."""
        with open(filename, "w", encoding="utf-8") as file:
            file.write(self.to_xml(plain))

    def copy(self):
        """An independent spec. Files that it names are looked for in the working folder, or in assets."""
        core, _ = _core.spec(None, self.to_xml(), self.assets, False)
        return type(self)(core, self._folder, self.assets, self._allow_outside, self.warnings)

    def __repr__(self):
        return f"<stiction.Spec {self.modelname!r}: {len(self.bodies)} bodies, {len(self.geoms)} geoms, {len(self.joints)} joints>"


_POSE = ("pos", "quat", "axisangle", "xyaxes", "zaxis", "euler")


def _below(element):
    for child in element.children:
        yield child
        yield from _below(child)


# attributes that refer, and to what kind of thing; others (joint1, body2, ...) end with a number
_REFERENCES = {"joint": "joint", "jointinparent": "joint", "body": "body", "geom": "geom", "site": "site", "cranksite": "site", "slidersite": "site",
               "refsite": "site", "tendon": "tendon", "actuator": "actuator", "mesh": "mesh", "material": "material", "sidesite": "site",
               "subtree": "body", "camera": "camera"}


def _referred(tag):
    """Under which kind others refer to an element with this tag."""
    if tag == "freejoint":
        return "joint"
    return {"spatial": "tendon", "fixed": "tendon"}.get(tag, "actuator" if tag in _ACTUATORS else tag)


def _refers(element, names):
    given = element.attributes
    for name, kind, text in element._core.attributes():
        target = _REFERENCES.get(name.rstrip("0123456789"))
        if name in ("objname", "refname"):
            target = {"xbody": "body"}.get(given.get(name[:3] + "type"), given.get(name[:3] + "type"))
        if kind == "name" and target and text in names.get(target, ()):
            return True
    return False


class _Attachment:
    """Copies the elements of one spec into another, with new names."""

    def __init__(self, to, of, prefix, suffix):
        self.to, self.of, self.prefix, self.suffix, self.main = to, of, prefix, suffix, None

    def rename(self, name):
        return f"{self.prefix}{name}{self.suffix}"

    def place(self, tag, path):
        """A file of the other spec as this one must name it."""
        folder = "texturedir" if tag == "texture" else "meshdir"
        theirs, ours = (_os.path.join(s._folder or "", s._setting(folder) or s._setting("assetdir") or "") for s in (self.of, self.to))
        if self.of.assets and path in self.of.assets:
            return path
        return _os.path.relpath(_os.path.join(theirs, path), ours or ".")

    def element(self, source, target):
        """Attributes of source into target."""
        for name, kind, text in source._core.attributes():
            if kind == "name" and text not in ("world", ""):
                text = self.rename(text)
            elif kind == "file":
                text = self.place(source.tag, text)
            target._core.set(name, text)
        if source.tag in ("mesh", "hfield", "texture") and not source.name and source.file:
            target.name = self.rename(_os.path.splitext(_os.path.basename(source.file))[0])
        return target

    def children(self, source, target):
        for child in source.children:
            self.children(child, self.element(child, target.add(child.tag)))

    def classes(self):
        """Defaults of the other spec as classes of this one; the outermost becomes `main`."""
        for default in self.of._sections("default"):
            outer = self.to.root.children
            parent = next((e for e in outer if e.tag == "default"), None) or self.to.root.add("default")
            new = parent.add("default")
            self.element(default, new)
            self.main = self.rename(default.get("class") or "main")
            new._core.set("class", self.main)
            self.children(default, new)

    def sections(self):
        for section in self.of.root.children:
            if section.tag in ("asset", "actuator", "sensor", "tendon", "equality", "contact", "deformable", "custom"):
                target = self.to.section(section.tag)
                before = len(target.children)
                self.children(section, target)
                for new in target.children[before:]:
                    if self.main and new._core.knows("class") and new.get("class") is None:
                        new._core.set("class", self.main)
            elif section.tag == "keyframe" and section.children:
                _warnings.warn("keyframes of an attached spec are left out: their sizes are those of another model", stacklevel=4)


def _add_finders():
    for tag, plural in _PLURALS.items():
        def one(self, name, _tag=tag):
            return self.find(_tag, name) or (self.find("freejoint", name) if _tag == "joint" else None)
        one.__name__ = one.__qualname__ = tag
        one.__doc__ = f"The {tag} with this name, None if there is none."

        def every(self, _tag=tag):
            if _tag in _SECTION:
                return self._all(_SECTION[_tag], _tag)
            found = [e for s in self._sections("worldbody") for e in _below(s)]
            return [e for e in found if e.tag == _tag or (_tag == "joint" and e.tag == "freejoint")]
        if tag != "frame":
            setattr(Spec, tag, one)
        setattr(Spec, plural, property(every, doc=f"All {plural}, a list."))
        if tag in _SECTION:
            def add(self, _tag=tag, **attributes):
                return self.section(_SECTION[_tag]).add(_tag, **attributes)
            add.__name__ = add.__qualname__ = "add_" + tag
            add.__doc__ = f"A new {tag}."
            setattr(Spec, "add_" + tag, add)


_add_finders()
