# SPDX-License-Identifier: Apache-2.0
"""Pictures and videos: Renderer with MuJoCo's names, picture and render in one call, render_video."""
import os as _os
import typing as _typing

import numpy as _np

from . import _core

# MuJoCo's numbers of what a segmentation shows, by ours
_MUJOCO_OBJECTS = {"geom": 5, "site": 6, "flex": 9, "skin": 11, "tendon": 18}
_BACKENDS = ("cpu", "egl", "auto")  # in the order of sti_picture_backend
_FIXED, _TRACKING = 2, 1  # MuJoCo's types of cameras


def _same(model, data):
    if data.model is not model:
        raise ValueError("data belongs to another model")


# the C struct sti_marker
_MARKER = _np.dtype([("type", _np.int32), ("rgba", _np.float32, 4), ("size", float, 3), ("pos", float, 3), ("mat", float, (3, 3)),
                     ("label", "S32")], align=True)
_ARROW = 100
_SHAPES = {"sphere": 2, "capsule": 3, "ellipsoid": 4, "cylinder": 5, "box": 6, "arrow": _ARROW}


class Marker(_typing.NamedTuple):
    """A shape that is only looks, for pictures and the viewer: its type ("sphere", "capsule", "ellipsoid", "cylinder", "box" or "arrow"),
    where it is (m, world: the middle, of an arrow its beginning), its size as of geoms (m; of an arrow: radius and, third, length), colour
    with opacity (0 to 1), rotation to the world (arrows, capsules and cylinders lie along its third column), and a text that the viewer shows."""
    type: str
    pos: _typing.Sequence[float]
    size: _typing.Sequence[float] = (0.01, 0.01, 0.01)
    rgba: _typing.Sequence[float] = (1.0, 0.0, 0.0, 1.0)
    mat: _typing.Any = None
    label: str = ""

    @classmethod
    def line(cls, start, end, radius=0.005, rgba=(1.0, 0.0, 0.0, 1.0), label="", arrow=False):
        """A capsule, or an arrow, from one point to another."""
        start, end = _np.asarray(start, float), _np.asarray(end, float)
        length = float(_np.linalg.norm(end - start))
        z = (end - start) / length if length > 0 else _np.array([0.0, 0, 1])
        x = _np.cross(_np.eye(3)[int(_np.argmin(abs(z)))], z)
        x /= _np.linalg.norm(x)
        mat = _np.stack([x, _np.cross(z, x), z], axis=1)
        if arrow:
            return cls("arrow", start, (radius, radius, length), rgba, mat, label)
        return cls("capsule", 0.5 * (start + end), (radius, 0.5 * length, 0.0), rgba, mat, label)


def _pack(markers):
    """Markers as the array that C reads."""
    packed = _np.zeros(len(markers), _MARKER)
    for row, marker in zip(packed, markers):
        marker = marker if isinstance(marker, Marker) else Marker(*marker)
        kind = _SHAPES.get(marker.type, marker.type)
        if isinstance(kind, str) or kind not in _SHAPES.values():
            raise ValueError(f"a marker is one of {', '.join(_SHAPES)}, not {marker.type!r}")
        size = _np.zeros(3)
        size[:_np.size(marker.size)] = marker.size
        row["type"], row["size"], row["pos"], row["rgba"] = kind, size, marker.pos, _np.append(marker.rgba, 1.0)[:4]
        row["mat"] = _np.eye(3) if marker.mat is None else _np.reshape(marker.mat, (3, 3))
        row["label"] = marker.label.encode()[:31]
    return packed


class Renderer:
    """Pictures of a model's worlds as arrays: colour, depth or segmentation. It keeps meshes and buffers between pictures.

        with stiction.Renderer(model, 480, 640) as renderer:
            renderer.update_scene(data, camera="side")
            rgb = renderer.render()                      # height x width x 3, uint8
            renderer.enable_depth_rendering()
            depth = renderer.render()                    # height x width, float32, m along the camera's axis

    backend: what draws. "cpu"; "egl", a GPU (or Mesa's software) through EGL, without a display; "auto", EGL if there is a real GPU, else the
    CPU. Pictures of EGL differ a little from the CPU's in colour. threads: that draw a picture by the CPU (None: one for each core, at most
    four); the picture is the same for any number. max_geom is accepted for MuJoCo's sake and has no effect."""

    def __init__(self, model, height=240, width=320, max_geom=None, backend="cpu", *, threads=None):
        if backend not in _BACKENDS:
            raise ValueError(f"backend must be one of {', '.join(_BACKENDS)}, not {backend!r}")
        if threads is None:
            threads = min(4, len(_os.sched_getaffinity(0)) if hasattr(_os, "sched_getaffinity") else _os.cpu_count() or 1)
        if int(threads) < 1:
            raise ValueError(f"threads must be at least 1, not {threads}")
        self._model, self._core = model, _core.renderer(model._model_core, int(threads), _BACKENDS.index(backend))
        self._height, self._width, self._mode, self._call = int(height), int(width), "rgb", None
        kinds = _np.full(max(_core.OBJECTS.values()) + 1, -1, _np.int32)
        for name, number in _MUJOCO_OBJECTS.items():
            kinds[_core.OBJECTS[name]] = number
        self._kinds = kinds

    @property
    def model(self):
        """The model."""
        return self._model

    @property
    def height(self):
        """Pixels."""
        return self._height

    @property
    def width(self):
        """Pixels."""
        return self._width

    @property
    def device(self):
        """What draws: "CPU", or the name of the GPU."""
        if self._core is None:
            raise RuntimeError("the renderer is closed")
        return _core.renderer_device(self._core)

    def update_scene(self, data, camera=-1, scene_option=None, *, lookat=None, distance=0.0, azimuth=None, elevation=None, groups=(0, 1, 2),
                     sites=False, contacts=False, force_scale=1.0, stress=False, stress_end=0.0, markers=()):
        """What render() shows: data as it is when render() is called, through a camera by name or id (-1 or None: the free one,
        placed by lookat, distance, azimuth and elevation, and around everything if none is given). scene_option: an object with MuJoCo's
        geomgroup and flags of contact points and forces. contacts: points and arrows of forces, force_scale times as long;
        stress: soft bodies coloured by von Mises' number from 0 to stress_end in Pa (0: the largest there is). markers: Marker shapes to
        draw beside the model's."""
        if self._core is None:
            raise RuntimeError("the renderer is closed")
        _same(self._model, data)
        view = {"lookat": lookat, "distance": distance, "azimuth": azimuth, "elevation": elevation}
        if hasattr(camera, "lookat"):  # MuJoCo's camera
            camera, view = self._free(camera, data)
        index = -1 if camera is None or (not isinstance(camera, str) and camera == -1) else self._model.camera(camera).id
        if scene_option is not None:
            groups = [int(g) for g in _np.flatnonzero(scene_option.geomgroup)]
            contacts = contacts or any(scene_option.flags[i] for i in (14, 16, 17))  # contact points, forces, split forces
        look = None if view["lookat"] is None else tuple(float(x) for x in view["lookat"])
        self._call = (data, index, look, view["distance"], view["azimuth"], view["elevation"], sum(1 << g for g in groups), sites,
                      bool(contacts), force_scale, stress, stress_end, _pack(markers))

    def _set_markers(self, markers):
        self._call = (*self._call[:-1], _pack(markers))

    @staticmethod
    def _free(camera, data):
        if camera.type == _FIXED:
            return camera.fixedcamid, {"lookat": None, "distance": 0.0, "azimuth": None, "elevation": None}
        look = data.xpos[camera.trackbodyid] if camera.type == _TRACKING else camera.lookat
        return -1, {"lookat": look, "distance": camera.distance, "azimuth": camera.azimuth, "elevation": camera.elevation}

    def enable_depth_rendering(self):
        """render() gives depth in m along the camera's axis, at most 50 times the model's extent (also where nothing is)."""
        self._mode = "depth"

    def disable_depth_rendering(self):
        """render() gives colours again."""
        self._mode = "rgb"

    def enable_segmentation_rendering(self):
        """render() gives what each pixel shows, height x width x 2: its id and MuJoCo's type of object; -1, -1: nothing."""
        self._mode = "segment"

    def disable_segmentation_rendering(self):
        """render() gives colours again."""
        self._mode = "rgb"

    def render(self, *, out=None):
        """The picture, as an array of its own or in out."""
        if self._core is None:
            raise RuntimeError("the renderer is closed")
        if self._call is None:
            raise RuntimeError("update_scene must be called first")
        extra, kind = {"rgb": ((3,), _np.uint8), "depth": ((), _np.float32), "segment": ((2,), _np.int32)}[self._mode]
        image = _np.empty((self._height, self._width, *extra), kind)
        if out is not None and (out.shape != image.shape or out.dtype != image.dtype):
            raise ValueError(f"out must have the shape {image.shape} and the type {image.dtype}")
        self._paint([image if self._mode == mode else None for mode in ("rgb", "depth", "segment")])
        if out is None:
            return image
        out[...] = image
        return out

    def _paint(self, targets):
        data, *view = self._call
        data._core.picture(self._core, *targets, self._width, self._height, *view)
        if targets[2] is not None:
            targets[2][..., 1] = _np.where(targets[2][..., 1] < 0, -1, self._kinds[targets[2][..., 1]])

    def close(self):
        """Frees what it keeps; it cannot draw any more."""
        self._core = self._call = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def picture(model, data, width=640, height=480, camera=None, **options):
    """An RGB picture as a height x width x 3 array, drawn without display or GPU, through a camera by name or id (None: the free one).
    Options are those of Renderer.update_scene."""
    with Renderer(model, height, width) as renderer:
        renderer.update_scene(data, camera, **options)
        return renderer.render()


def render(model, data, width=640, height=480, camera=None, **options):
    """The same as picture."""
    return picture(model, data, width, height, camera, **options)


# ---- videos -----------------------------------------------------------------------------------------------------------------

def _write_gif(path, frames, fps):
    try:
        from PIL import Image
    except ImportError as missing:
        raise ImportError("a GIF needs the package Pillow: pip install pillow") from missing
    images = [Image.fromarray(frame) for frame in frames]
    images[0].save(path, format="GIF", save_all=True, append_images=images[1:], duration=max(20, round(1000 / fps)), loop=0)


def _write_film(path, frames, fps, codec):
    try:
        import imageio_ffmpeg
    except ImportError as missing:
        raise ImportError(f"{path}: mp4 and webm need the package imageio-ffmpeg: pip install imageio-ffmpeg; a .gif does not") from missing
    height, width = frames[0].shape[:2]
    writer = imageio_ffmpeg.write_frames(path, (width, height), fps=fps, codec=codec, macro_block_size=2, ffmpeg_log_level="error")
    writer.send(None)
    for frame in frames:
        writer.send(_np.ascontiguousarray(frame))
    writer.close()


def render_video(path, frames, fps=30):
    """Writes pictures (height x width x 3, uint8, all of one size) as a video: .gif (needs Pillow), .mp4 or .webm (need imageio-ffmpeg).
    frames may be a generator. Returns how many there were."""
    path = _os.fspath(path)
    kind = _os.path.splitext(path)[1].lower()
    if kind not in (".gif", ".mp4", ".webm"):
        raise ValueError(f"{path}: a video ends in .gif, .mp4 or .webm")
    if not 0 < fps <= 1000:
        raise ValueError("fps must be between 0 and 1000")
    frames = [_np.asarray(frame) for frame in frames]
    if not frames:
        raise ValueError("a video needs at least one picture")
    for frame in frames:
        if frame.dtype != _np.uint8 or frame.shape != frames[0].shape or frame.ndim != 3 or frame.shape[2] != 3:
            raise ValueError("pictures of a video are height x width x 3 bytes, all of one size")
    if kind == ".gif":
        _write_gif(path, frames, fps)
    else:
        _write_film(path, frames, fps, "libx264" if kind == ".mp4" else "libvpx-vp9")
    return len(frames)
