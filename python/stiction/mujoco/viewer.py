# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's viewer calls on Stiction's viewer, which is a page in the browser."""
import threading as _threading
import warnings as _warnings

from stiction import viewer as _viewer


def _note(unknown):
    for name in unknown:
        _warnings.warn(f"viewer: {name} has no effect in Stiction", stacklevel=3)


class Handle:
    """A viewer for a script that steps by itself. sync shows the shapes of user_scn, and moves the camera when cam has changed; opt has no
    effect."""

    def __init__(self, viewer, model, data):
        from stiction import mujoco
        self.m, self.d, self._viewer, self._lock, self._marked = model, data, viewer, _threading.RLock(), False
        self.user_scn, self.opt, self.cam = mujoco.MjvScene(model, 1000), mujoco.MjvOption(), mujoco.MjvCamera()
        mujoco.mjv_defaultFreeCamera(model, self.cam)
        self._seen = self._view()

    def _view(self):
        c = self.cam
        return int(c.type), int(c.fixedcamid), int(c.trackbodyid), tuple(c.lookat), c.distance, c.azimuth, c.elevation

    def _follow(self):
        view = self._view()
        kind, fixed, body, lookat, *rest = view
        if view == self._seen and kind != 1:
            return
        self._seen = view
        if kind == 2:
            self._viewer.camera(fixed)
        else:
            distance, azimuth, elevation = rest
            self._viewer.camera(lookat=self.d.subtree_com[body] if kind == 1 else lookat, distance=distance, azimuth=azimuth, elevation=elevation)

    def lock(self):
        """A lock for scripts that ask for one."""
        return self._lock

    def sync(self, state_only=False):
        """Shows the state as it is now, and does what the pages ask for."""
        self._follow()
        if self.user_scn.ngeom or self._marked:
            self._viewer.markers(self.user_scn._markers()[:4096])
            self._marked = self.user_scn.ngeom > 0
        self._viewer.sync()

    def __getattr__(self, name):
        return getattr(self._viewer, name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._viewer.close()


def launch(model, data=None, **options):
    """Shows the simulation and steps it in real time until the page is closed."""
    from stiction.mujoco import MjData, _controlled
    _note(options)
    return _viewer.launch(model, _controlled(MjData(model) if data is None else data))


def launch_passive(model, data, **options):
    """A viewer for a script that steps by itself and calls sync()."""
    _note(options)
    return Handle(_viewer.launch_passive(model, data, open_browser=True), model, data)
