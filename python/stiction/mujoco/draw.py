# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's scenes and contexts of rendering on Stiction's pictures, which the CPU draws: what mjr_render has drawn, mjr_readPixels gives.
Shapes that a script adds to a scene are drawn; what it changes of the model's own is not."""
import math as _math

import numpy as _np

import stiction as _sti
from stiction import pictures as _pictures

from . import enums as _e

_RND, _VIS = _e.mjtRndFlag, _e.mjtVisFlag
_SHOWN = ("SPHERE", "CAPSULE", "ELLIPSOID", "CYLINDER", "BOX", "ARROW", "ARROW1", "ARROW2", "LINE")
_DRAWN = {int(_e.mjtGeom["mjGEOM_" + name]) for name in _SHOWN}
_ARROWS = {int(_e.mjtGeom["mjGEOM_" + name]) for name in ("ARROW", "ARROW1", "ARROW2")}
_DIRECTED = {*_ARROWS, int(_e.mjtGeom.mjGEOM_LINE)}
_GREY = _np.array([0.5, 0.5, 0.5, 1], _np.float32)
# sizes in units of the model's mean size, and shares: what MuJoCo takes where nothing else is set
_STANDARD = {("scale", "jointlength"): 1.0, ("scale", "jointwidth"): 0.1, ("scale", "framelength"): 1.0, ("scale", "framewidth"): 0.1,
             ("map", "alpha"): 0.3, ("rgba", "joint"): (0.2, 0.6, 0.8, 1.0)}


def _once(text):
    from . import _once as once
    once(text)


class MjvGeom:
    """A shape of a scene."""

    def __init__(self):
        self.type, self.dataid, self.objtype, self.objid, self.category, self.segid = 1001, -1, 0, -1, 4, -1
        self.matid = self.texid = -1
        self.texcoord = self.texuniform = self.transparent = 0
        self.emission, self.specular, self.shininess, self.reflectance = 0.0, 0.5, 0.5, 0.0
        self.camdist, self.modelrbound, self.label, self.castshadow = 0.0, 0.0, "", 1
        self._arrays = {"size": _np.full(3, 0.1, _np.float32), "pos": _np.zeros(3, _np.float32), "mat": _np.eye(3, dtype=_np.float32),
                        "rgba": _GREY.copy()}
        self.texrepeat = _np.zeros(2, _np.float32)

    def _array(name):  # noqa: N805
        def write(self, value):
            self._arrays[name].flat = value
        return property(lambda self: self._arrays[name], write)

    size, pos, mat, rgba = _array("size"), _array("pos"), _array("mat"), _array("rgba")
    del _array

    def _marker(self, line):
        kind = int(self.type)
        size = _np.array(self.size, float)
        if kind == _e.mjtGeom.mjGEOM_LINE:  # whose width is in pixels
            pos = self.pos + 0.5 * size[2] * self.mat[:, 2]
            return _sti.Marker("capsule", pos, (line * max(1, size[0]), 0.5 * size[2], 0), self.rgba, self.mat, self.label)
        if kind == _e.mjtGeom.mjGEOM_CAPSULE or kind == _e.mjtGeom.mjGEOM_CYLINDER:
            size = size[[0, 2, 1]]  # MuJoCo's scenes have half the length third
        return _sti.Marker(100 if kind in _ARROWS else kind, self.pos, size, self.rgba, self.mat, self.label)


class MjvGLCamera:
    """Where a scene is seen from."""

    def __init__(self):
        self.pos, self.forward, self.up = _np.zeros(3, _np.float32), _np.zeros(3, _np.float32), _np.zeros(3, _np.float32)
        self.frustum_center = self.frustum_bottom = self.frustum_top = self.frustum_near = self.frustum_far = self.frustum_width = 0.0
        self.orthographic = 0


class MjvLight:
    """A light of a scene, without effect."""


class _Geoms:
    """The shapes of a scene: the model's, made when they are looked at, then those that a script adds."""

    def __init__(self, scene):
        self._scene = scene

    def __len__(self):
        return self._scene.maxgeom

    def __getitem__(self, index):
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = index + len(self) if index < 0 else index
        if not 0 <= index < len(self):
            raise IndexError(f"there is no geom {index} in the scene")
        return self._scene._geom(index)

    def __iter__(self):
        return (self[i] for i in range(self._scene.ngeom))


class MjvScene:
    """What is drawn: the model's geoms as mjv_updateScene found them, and shapes added after them."""

    def __init__(self, model=None, maxgeom=10000, **_):
        self.maxgeom, self._ngeom, self.nlight, self._geoms = int(maxgeom), 0, 0, _Geoms(self)
        self.flags = _np.array([1, 0, 1, 0, 1, 0, 1, 0, 0, 0, 1, 1], _np.uint8)
        self.camera, self.lights = [MjvGLCamera(), MjvGLCamera()], [MjvLight() for _ in range(100)]
        self.stereo, self.enabletransform, self.scale = 0, 0, 1.0
        self._model, self._data, self._call, self._own, self._extra = model, None, None, [], {}

    @property
    def ngeom(self):
        """How many shapes there are; a script that adds some counts them."""
        return self._ngeom

    @ngeom.setter
    def ngeom(self, count):
        self._ngeom = int(count)

    @property
    def geoms(self):
        """The shapes."""
        return self._geoms

    def _geom(self, index):
        if index >= len(self._own):
            return self._extra.setdefault(index, MjvGeom())
        m, d, i = self._model, self._data, int(self._own[index])
        g = MjvGeom()
        g.type, g.objtype, g.objid, g.segid, g.dataid = int(m.geom_type[i]), 5, i, index, int(m.geom_dataid[i])
        g.category = 2 if m.body_weldid[m.geom_bodyid[i]] else 1
        g.size, g.pos, g.mat, g.rgba = m.geom_size[i], d.geom_xpos[i], d.geom_xmat[i], _color(m, i, self._call["option"])
        return g

    def _markers(self):
        line = 0.001 * (self._model.stat.extent if self._model is not None else 1)
        added = [self._extra[i]._marker(line) for i in range(len(self._own), self.ngeom)
                 if i in self._extra and int(self._extra[i].type) in _DRAWN]
        if self._call is None:  # a scene of the viewer, of added shapes only
            return added
        seen = self._model, self._data, self._call["option"]
        return [*_joints(*seen), *_frames(*seen), *added]


def mjv_makeScene(m, scn, maxgeom):
    """A scene anew."""
    scn.__init__(m, maxgeom)


def mjv_defaultOption(opt):
    """The options of a new MjvOption."""
    opt.__init__()


def mjv_initGeom(geom, type, size=None, pos=None, mat=None, rgba=None):
    """A shape from nothing; what is None keeps its default."""
    geom.__init__()
    geom.type = int(type)
    for name, value in (("size", size), ("pos", pos), ("mat", mat), ("rgba", rgba)):
        if value is not None:
            setattr(geom, name, value)
    if geom.type in (_e.mjtGeom.mjGEOM_SPHERE,):
        geom.size[1:] = geom.size[0]
    if geom.type in (_e.mjtGeom.mjGEOM_CAPSULE, _e.mjtGeom.mjGEOM_CYLINDER) and size is not None:
        geom.size = geom.size[[0, 0, 1]]


def mjv_connector(geom, type, width, from_, to):
    """Type, size and pose of a shape from one point to another."""
    a, b = (_np.asarray(x, float).ravel().tolist() for x in (from_, to))
    length = _math.dist(a, b)
    z = [(q - p) / length for p, q in zip(a, b)] if length > 0 else [0.0, 0.0, 1.0]
    x, y = _across(z)
    geom.type = int(type)
    geom.mat = (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2])
    geom.size = (width, width, length if geom.type in _DIRECTED else 0.5 * length)
    geom.pos = a if geom.type in _DIRECTED else [0.5 * (p + q) for p, q in zip(a, b)]


def _cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _across(z):
    """Two directions at right angles to a third; one by one, as scripts add thousands of shapes to a picture."""
    least = min(range(3), key=lambda k: abs(z[k]))
    x = _cross([1.0 if k == least else 0.0 for k in range(3)], z)
    x = [value / _math.hypot(*x) for value in x]
    return x, _cross(z, x)


def mjv_makeConnector(geom, type, width, a0, a1, a2, b0, b1, b2):
    """mjv_connector with the points' numbers one by one, as before MuJoCo 3."""
    mjv_connector(geom, type, width, (a0, a1, a2), (b0, b1, b2))


def _fixed(camera):
    return int(camera.type) == _e.mjtCamera.mjCAMERA_FIXED


def _look_from(m, d, camera):
    """Place, direction of sight, direction of up, and angle of view in degrees."""
    if _fixed(camera):
        mat = d.cam_xmat[camera.fixedcamid].reshape(3, 3)
        return d.cam_xpos[camera.fixedcamid], -mat[:, 2], mat[:, 1], float(m.cam_fovy[camera.fixedcamid])
    tracking = int(camera.type) == _e.mjtCamera.mjCAMERA_TRACKING
    lookat = d.subtree_com[camera.trackbodyid] if tracking else camera.lookat
    az, el = _np.deg2rad(camera.azimuth), _np.deg2rad(camera.elevation)
    ahead = _np.array([_np.cos(el) * _np.cos(az), _np.cos(el) * _np.sin(az), _np.sin(el)])
    up = _np.array([-_np.sin(el) * _np.cos(az), -_np.sin(el) * _np.sin(az), _np.cos(el)])
    return lookat - camera.distance * ahead, ahead, up, float(m.vis.global_.fovy)


def _groups(opt):
    return [int(g) for g in _np.flatnonzero(opt.geomgroup)]


def _look(m, part, name):
    """A number of model.vis if a script has set it, else MuJoCo's own."""
    value = m.vis.__dict__.get(part)
    value = value.__dict__.get(name) if value is not None else None
    return _STANDARD[part, name] if value is None else value


def _color(m, i, opt):
    """A geom's colour, or its material's if it has none of its own."""
    own = m.geom_rgba[i]
    color = _np.array(m.mat_rgba[m.geom_matid[i]] if m.geom_matid[i] >= 0 and _np.array_equal(own, _GREY) else own)
    if opt.flags[_VIS.mjVIS_TRANSPARENT] and m.body_weldid[m.geom_bodyid[i]]:
        color[3] *= _look(m, "map", "alpha")
    return color


def _joints(m, d, opt):
    """Arrows along the axes of hinges and slides, balls and boxes at ball joints and free ones, if the option asks for them."""
    if not opt.flags[_VIS.mjVIS_JOINT]:
        return []
    size, color, found = float(m.stat.meansize), _look(m, "rgba", "joint"), []
    width, length = size * _look(m, "scale", "jointwidth"), size * _look(m, "scale", "jointlength")
    for j in _np.flatnonzero(_np.isin(m.jnt_group, _np.flatnonzero(opt.jointgroup))):
        kind, body = int(m.jnt_type[j]), int(m.jnt_bodyid[j])
        if kind in (_e.mjtJoint.mjJNT_FREE, _e.mjtJoint.mjJNT_BALL):
            shape = "box" if kind == _e.mjtJoint.mjJNT_FREE else "sphere"
            found.append(_sti.Marker(shape, d.xanchor[j], _np.full(3, 0.3 * length), color, d.xmat[body].reshape(3, 3)))
            continue
        x, y = _across(d.xaxis[j].tolist())
        found.append(_sti.Marker(100, d.xanchor[j], (width, width, length), color, _np.stack([x, y, d.xaxis[j]], axis=1)))
    return found


def _frames(m, d, opt):
    """The axes of bodies, geoms, sites or the world, red, green and blue, if the option asks for them."""
    kind, kinds = int(opt.frame), _e.mjtFrame
    if kind == kinds.mjFRAME_NONE:
        return []
    geoms, sites = (_np.isin(getattr(m, of + "_group"), _np.flatnonzero(getattr(opt, of + "group"))) for of in ("geom", "site"))
    places = {int(kinds.mjFRAME_WORLD): (_np.zeros((1, 3)), _np.eye(3)), int(kinds.mjFRAME_BODY): (d.xpos[1:], d.xmat[1:]),
              int(kinds.mjFRAME_GEOM): (d.geom_xpos[geoms], d.geom_xmat[geoms]),
              int(kinds.mjFRAME_SITE): (d.site_xpos[sites], d.site_xmat[sites])}
    if kind not in places:
        _once(f"{kinds(kind).name} has no effect in Stiction's pictures")
        return []
    size, found = float(m.stat.meansize) * (2 if kind == kinds.mjFRAME_WORLD else 1), []
    width, half = size * _look(m, "scale", "framewidth"), 0.5 * size * _look(m, "scale", "framelength")
    pos, mat = places[kind]
    for p, r in zip(pos, _np.reshape(mat, (-1, 3, 3))):
        for k in range(3):
            turned = r[:, [(k + 1) % 3, (k + 2) % 3, k]]  # the cylinder lies along its third axis
            found.append(_sti.Marker("cylinder", p + half * r[:, k], (width, half, 0), (*(0.9 * _np.eye(3)[k]), 1), turned))
    return found


def _tell_of_flags(opt):
    if opt.flags[_VIS.mjVIS_TRANSPARENT]:
        _once("mjVIS_TRANSPARENT has effect only on geoms of mjv_addGeoms in Stiction's pictures")
    for name in ("COM", "INERTIA", "ACTUATOR", "CONVEXHULL", "CAMERA", "LIGHT", "CONSTRAINT"):
        if opt.flags[_VIS["mjVIS_" + name]]:
            _once(f"mjVIS_{name} has no effect in Stiction's pictures")


def _update_camera(m, d, cam, scn):
    pos, ahead, up, fovy = _look_from(m, d, cam)
    near = m.vis.map.znear * m.stat.extent
    for eye in scn.camera:
        eye.pos, eye.forward, eye.up = (_np.array(x, _np.float32) for x in (pos, ahead, up))
        eye.frustum_near, eye.frustum_far = near, m.vis.map.zfar * m.stat.extent
        eye.frustum_top = near * _np.tan(_np.deg2rad(fovy) / 2)
        eye.frustum_bottom = -eye.frustum_top


def mjv_updateCamera(m, d, cam, scn):
    """Where the scene is seen from."""
    _update_camera(m, d, cam, scn)
    if scn._call is not None:
        scn._call["camera"] = cam


def mjv_updateScene(m, d, opt, pert, cam, catmask, scn):
    """The model's geoms as they are when mjr_render is called, seen through a camera."""
    _tell_of_flags(opt)
    scn._model, scn._data, scn._extra = m, d, {}
    scn._own = _np.flatnonzero(_np.isin(m.geom_group, _groups(opt)))
    if not int(catmask) & 1:
        scn._own = scn._own[m.body_weldid[m.geom_bodyid[scn._own]] > 0]
    scn.ngeom, scn._call = len(scn._own), {"camera": cam, "option": opt}
    _update_camera(m, d, cam, scn)


def mjv_addGeoms(m, d, opt, pert, catmask, scn):
    """More geoms, of another state or model: primitives as they are now; planes, meshes and height fields are left out."""
    left_out = 0
    for i in _np.flatnonzero(_np.isin(m.geom_group, _groups(opt))):
        moves = m.body_weldid[m.geom_bodyid[i]] > 0
        if scn.ngeom >= scn.maxgeom or not int(catmask) & (2 if moves else 1):
            continue
        if int(m.geom_type[i]) not in _DRAWN:
            left_out += 1
            continue
        mjv_initGeom(scn.geoms[scn.ngeom], m.geom_type[i], m.geom_size[i], d.geom_xpos[i], d.geom_xmat[i], _color(m, i, opt))
        scn.ngeom += 1
    if left_out:
        _once("mjv_addGeoms leaves out planes, meshes and height fields")


# ---- contexts --------------------------------------------------------------------------------------------------------------

class GLContext:
    """Stands for a context of OpenGL, which pictures of the CPU do not need."""

    def __init__(self, max_width=640, max_height=480, *_, **__):
        self.width, self.height = max_width, max_height

    def make_current(self):
        """Nothing to do."""

    def free(self):
        """Nothing to do."""


class MjrRect:
    """A part of a picture."""

    def __init__(self, left=0, bottom=0, width=0, height=0):
        self.left, self.bottom, self.width, self.height = int(left), int(bottom), int(width), int(height)


class MjrContext:
    """Keeps what mjr_render has drawn."""

    def __init__(self, model=None, fontscale=150):
        size = model.vis.global_ if model is not None else None
        self.offWidth, self.offHeight = (int(size.offwidth), int(size.offheight)) if size else (640, 480)
        self.windowWidth, self.windowHeight, self.currentBuffer, self.offSamples = self.offWidth, self.offHeight, 1, 4
        self._renderer = self._image = None

    def free(self):
        """Frees what it keeps."""
        self._renderer = self._image = None


def mjr_setBuffer(framebuffer, con):
    """All pictures are off the screen."""


def mjr_resizeOffscreen(width, height, con):
    """The size of the buffer."""
    con.offWidth, con.offHeight = int(width), int(height)


def _view(m, d, camera):
    """Camera and options of Renderer.update_scene."""
    if _fixed(camera):
        return {"camera": int(camera.fixedcamid)}
    tracking = int(camera.type) == _e.mjtCamera.mjCAMERA_TRACKING
    look = d.subtree_com[camera.trackbodyid] if tracking else camera.lookat
    return {"camera": -1, "lookat": look, "distance": camera.distance, "azimuth": camera.azimuth, "elevation": camera.elevation}


def _update(renderer, scn):
    opt = scn._call["option"]
    flags = [opt.flags[_VIS["mjVIS_" + name]] for name in ("CONTACTPOINT", "CONTACTFORCE", "CONTACTSPLIT")]
    _pictures.Renderer.update_scene(renderer, scn._data, **_view(scn._model, scn._data, scn._call["camera"]), groups=_groups(opt),
                          sites=bool(_np.any(opt.sitegroup)), contacts=any(flags), markers=scn._markers())


def _window(depth, m):
    """Depth in m as OpenGL's buffer has it, from 0 at the near plane to 1 at the far one."""
    near, far = m.vis.map.znear * m.stat.extent, m.vis.map.zfar * m.stat.extent
    return _np.clip(far / (far - near) * (1 - near / _np.maximum(depth, near)), 0, 1)


def _numbered(segment, scn):
    """The place in the scene, plus one, of the geom that each pixel shows, as three bytes."""
    place = _np.zeros(scn._model.ngeom + 1, _np.int64)
    place[scn._own] = _np.arange(1, len(scn._own) + 1)
    number = place[_np.where(segment[..., 1] == _e.mjtObj.mjOBJ_GEOM, segment[..., 0], -1)]
    return _np.stack([number & 255, number >> 8 & 255, number >> 16 & 255], axis=-1).astype(_np.uint8)


def mjr_render(viewport, scn, con):
    """Draws the scene as it is now."""
    width, height, m = viewport.width, viewport.height, scn._model
    if scn._call is None:
        con._image = _np.zeros((height, width, 3), _np.uint8), _np.ones((height, width), _np.float32)
        return
    if con._renderer is None or con._renderer.model is not m:
        con._renderer = _pictures.Renderer(m, height, width)
    con._renderer._height, con._renderer._width = height, width
    _update(con._renderer, scn)
    segmented = bool(scn.flags[_RND.mjRND_SEGMENT])
    depth, segment = _np.empty((height, width), _np.float32), _np.empty((height, width, 2), _np.int32) if segmented else None
    rgb = None if segmented else _np.empty((height, width, 3), _np.uint8)
    con._renderer._paint([rgb, depth, segment])
    con._image = _numbered(segment, scn) if segmented else rgb, _window(depth, m).astype(_np.float32)


def mjr_readPixels(rgb=None, depth=None, viewport=None, con=None):
    """What mjr_render has drawn, rows from below, into arrays."""
    if con._image is None:
        raise RuntimeError("mjr_render must be called first")
    for array, image in zip((rgb, depth), con._image):
        if array is None:
            continue
        if array.size != image.size:
            raise ValueError(f"an array of {image.size} numbers is needed, not of {array.size}")
        array[...] = image[::-1].reshape(array.shape)


def _silent(name, text):
    def call(*_, **__):
        _once(f"{name}: {text}")
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Has no effect: {text}."
    return call


mjr_overlay = _silent("mjr_overlay", "pictures have no text")
mjr_figure = _silent("mjr_figure", "pictures have no plots")
mjr_uploadTexture = _silent("mjr_uploadTexture", "textures are read when a model is loaded")
mjr_uploadMesh = _silent("mjr_uploadMesh", "pictures show the model's meshes")
mjr_uploadHField = _silent("mjr_uploadHField", "pictures show the model's height fields")


class MjvPerturb:
    """Pulling with the mouse, without effect: the viewer in the browser does it itself."""

    def __init__(self):
        self.select = self.active = self.active2 = 0
        self.flexselect = self.skinselect = -1
        self.localmass, self.scale = 0.0, 1.0
        self.localpos, self.refpos, self.refselpos, self.refquat = _np.zeros(3), _np.zeros(3), _np.zeros(3), _np.array([1.0, 0, 0, 0])


class MjvFigure:
    """A plot, which pictures do not show: what is written is kept."""


def mjv_defaultFigure(fig):
    """A new MjvFigure."""
    fig.__dict__.clear()


def mjv_defaultPerturb(pert):
    """A new MjvPerturb."""
    pert.__init__()


class Renderer(_pictures.Renderer):
    """Pictures as arrays; drawn without display or GPU. scene: shapes may be added to it between update_scene and render."""

    def __init__(self, model, height=240, width=320, max_geom=10000, *_):
        super().__init__(model, height, width, max_geom)
        self._scene = MjvScene(model, max_geom)

    @property
    def scene(self):
        """The MjvScene that is drawn."""
        return self._scene

    def update_scene(self, data, camera=-1, scene_option=None):
        """What render() shows, through a camera by name or id, or an MjvCamera; -1: the free one."""
        from . import MjvCamera, MjvOption, mjv_defaultFreeCamera
        if not hasattr(camera, "lookat"):
            index = camera if camera is None or isinstance(camera, (int, _np.integer)) else self._model.camera(camera).id
            camera = MjvCamera()
            mjv_defaultFreeCamera(self._model, camera)
            if index is not None and index >= 0:
                camera.type, camera.fixedcamid = _e.mjtCamera.mjCAMERA_FIXED, self._model.camera(int(index)).id
        mjv_updateScene(self._model, data, scene_option or MjvOption(), None, camera, 7, self._scene)
        _update(self, self._scene)


    def render(self, *, out=None):
        """The picture; black before the first update_scene."""
        if self._core is not None and self._call is None:
            shape = {"rgb": ((3,), _np.uint8), "depth": ((), _np.float32), "segment": ((2,), _np.int32)}[self._mode]
            image = _np.zeros((self._height, self._width, *shape[0]), shape[1])
            return image
        if self._call is not None:
            self._set_markers(self._scene._markers())
        return super().render(out=out)
