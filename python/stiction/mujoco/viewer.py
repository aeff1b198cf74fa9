# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's viewer calls on Stiction's viewer, which is a page in the browser."""
import warnings as _warnings

from stiction import viewer as _viewer


def _note(unknown):
    for name in unknown:
        _warnings.warn(f"viewer: {name} has no effect in Stiction", stacklevel=3)


def launch(model, data=None, **options):
    """Shows the simulation and steps it in real time until the page is closed."""
    from stiction.mujoco import MjData, _controlled
    _note(options)
    return _viewer.launch(model, _controlled(MjData(model) if data is None else data))


def launch_passive(model, data, **options):
    """A viewer for a script that steps by itself and calls sync()."""
    _note(options)
    return _viewer.launch_passive(model, data, open_browser=True)
