# SPDX-License-Identifier: Apache-2.0
"""A viewer in the browser.

    stiction.viewer.launch(model, data)                    # steps in real time until Ctrl-C

    with stiction.viewer.launch_passive(model, data) as viewer:
        while viewer.is_running():                         # you step, the viewer looks
            stiction.step(model, data)
            viewer.sync()

Instead of data a Batch can be shown: one world with all panels, others beside it.
"""
import webbrowser as _webbrowser

import numpy as _np

from . import Batch, Data, Error, Model, _core, _same, forward  # noqa: F401
from .pictures import _pack

__all__ = ["launch", "launch_passive", "Viewer"]
_LOOKS = {"none": 0, "force": 1, "frame": 2, "scene": 3}


class Viewer:
    """Serves a page at `url`, an address on this machine that nobody else knows. Whoever steps `data` calls sync()
    after each step: it does what the pages ask for, leaves a frame for them, and never waits. data may be a Batch on the processor: the world
    `viewer.world` is shown with everything, and up to `worlds` are shown side by side. wait: run() simulates once a page has come.
    host: an address of this machine at which to listen, "0.0.0.0": all; docs/viewer.md says what that means. None: 127.0.0.1."""

    def __init__(self, model, data, port=0, rate=60.0, history=128 << 20, paused=False, wait=False, worlds=36, host=None):
        if not isinstance(data, Batch):
            _same(model, data)
        elif data.model is not model:
            raise ValueError("this Batch belongs to another Model")
        elif data.device != "cpu":
            raise ValueError(f"the viewer shows batches on the processor, not on {data.device}")
        if not hasattr(_core, "viewer"):
            raise ImportError("stiction was built without the viewer: it needs libwebsockets, and three.js in "
                              "web/node_modules (npm ci --prefix web); ./dev build installs both")
        data.forward() if isinstance(data, Batch) else forward(model, data)
        self._model = model
        self._core = _core.viewer(data._core, port, float(rate), history, bool(paused), bool(wait), worlds, host)
        self._count = len(data) if isinstance(data, Batch) else 1

    @property
    def url(self):
        """Where the page is."""
        return self._core.state()[0]

    @property
    def clients(self):
        """How many pages look on."""
        return self._core.state()[1]

    @property
    def paused(self):
        """Whether the pages have paused it. launch obeys; in a loop of your own it is up to you."""
        return self._core.state()[3]

    @paused.setter
    def paused(self, on):
        self._core.pause(on)

    @property
    def speed(self):
        """Simulated seconds per second that launch aims at; 0: as fast as it goes."""
        return self._core.state()[4]

    @speed.setter
    def speed(self, speed):
        self._core.speed(speed)

    @property
    def world(self):
        """The world of a Batch that is shown with everything; pages choose it too. It changes with the next sync or run."""
        return self._core.state()[5]

    @world.setter
    def world(self, index):
        if not 0 <= index < self._count:
            raise IndexError(f"there is no world {index}; there are {self._count}")
        self._core.choose(index)

    def contacts(self, look, body=None):
        """How contacts are drawn: "force", "frame" or "none"; for one body (name or id) also "scene"."""
        if look not in _LOOKS:
            raise ValueError(f"a look is one of {', '.join(_LOOKS)}, not {look!r}")
        self._core.look(-1 if body is None else self._model.body(body).id, _LOOKS[look])

    def markers(self, markers):
        """Shows stiction.Marker shapes with their labels beside the world, until the next call; an empty list: none. At most 4096."""
        self._core.markers(_pack(markers))

    def text(self, text):
        """Shows lines of text in a corner; "": none."""
        self._core.text(text)

    def camera(self, camera=None, *, lookat=None, distance=0.0, azimuth=None, elevation=None):
        """Moves the camera of all pages: to one of the model by name or id, or the free one by lookat (m, world; None: the model's
        centre), distance (m; 0: as it is), azimuth and elevation (degrees; None: the model's)."""
        vis = self._model._model_core.struct_view
        angles = [float(_np.asarray(vis("vis", name)).item() if x is None else x) for name, x in (("azimuth", azimuth), ("elevation", elevation))]
        look = self._model.stat.center if lookat is None else lookat
        index = -1 if camera is None or camera == -1 else self._model.camera(camera).id
        self._core.camera(index, *(float(x) for x in look), float(distance), *angles)

    def _repr_html_(self):
        """The page within a notebook, whose browser must be on this machine."""
        return f'<iframe src="{self.url}" width="100%" height="560" style="border:1px solid #8888" allow="fullscreen"></iframe>'

    def sync(self):
        """To be called after each step."""
        self._core.sync()

    def run(self, seconds):
        """Steps in real time for some seconds of the clock on the wall."""
        self._core.run(float(seconds))

    def is_running(self):
        """False once stop or close was called."""
        try:
            return not self._core.state()[2]
        except ValueError:
            return False

    def stop(self):
        """Ends launch; may be called from another thread."""
        self._core.stop()

    def close(self):
        """Ends the connections. The data stay as they are."""
        self._core.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def launch_passive(model, data, open_browser=False, **options):
    """A Viewer of data that you step yourself. Options: port, host, rate (frames per second), history (bytes), paused, worlds (of a Batch, side by side)."""
    viewer = Viewer(model, data, **options)
    print(viewer.url, flush=True)
    if open_browser:
        _webbrowser.open(viewer.url)
    return viewer


def launch(model, data, open_browser=True, wait=True, **options):
    """Steps data, or a Batch, in real time, as the pages ask, until Ctrl-C. wait: begins when the first page has come."""
    with launch_passive(model, data, open_browser, wait=wait, **options) as viewer:
        try:
            while viewer.is_running():
                viewer.run(0.1)
        except KeyboardInterrupt:
            pass
