# SPDX-License-Identifier: Apache-2.0
"""./dev soak [SECONDS]: steps, snapshots, replays and reloads for a long time; memory and bits must not change.

Every round picks a scene, an integrator and random controls, steps, goes back to a snapshot, repeats the
steps and compares the hashes; now and then it loads the model again, or gives the world bad numbers."""
import pathlib
import random
import resource
import sys
import time
import warnings

import numpy as np

import stiction

SCENES = sorted((pathlib.Path(__file__).resolve().parents[1] / "scenes").glob("*.xml"))
GROWTH_LIMIT_MB = 24


def memory_mb():
    return int(pathlib.Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize() / 2**20


def replay(model, data, rng, steps):
    """The same steps twice from one snapshot."""
    controls = [rng.uniform(-1, 1, model.nu) for _ in range(4)]
    hashes = []
    start = data.snapshot()
    for _ in range(2):
        data.restore(start)
        for control in controls:
            data.ctrl[:] = control
            stiction.step(model, data, steps)
        hashes.append(data.hash())
    assert hashes[0] == hashes[1], f"{model.title}: a replay differs"


def poison(model, data):
    """A bad number is refused and the state stays."""
    before = data.snapshot()
    data.qvel[0] = np.nan
    try:
        stiction.step(model, data)
        raise AssertionError(f"{model.title}: NaN was accepted")
    except stiction.Error as error:
        assert error.code == "NONFINITE", error
    data.restore(before)


def soak(seconds):
    rng, choose = np.random.default_rng(0), random.Random(0)
    worlds = {}
    rounds, start, first = 0, time.monotonic(), None
    shown = start
    while (now := time.monotonic()) - start < seconds:
        path = choose.choice(SCENES)
        if path not in worlds or choose.random() < 0.05:
            model = stiction.Model.from_xml_path(path)
            worlds[path] = model, stiction.Data(model)
        model, data = worlds[path]
        model.opt.integrator = choose.randrange(4)
        stiction.reset(model, data)
        data.qvel[:] = rng.normal(size=model.nv) * 0.1
        replay(model, data, rng, 3 if model.nflex else 25)  # soft bodies take longer
        if choose.random() < 0.2:
            poison(model, data)
        if choose.random() < 0.01:
            stiction.picture(model, data, 64, 48)
        rounds += 1
        if rounds <= 600 and rounds % 20 == 0:
            first = max(first or 0, memory_mb())  # everything is warm by then: soft bodies come and go, with their pools
        if now - shown > 10:
            print(f"{now - start:6.0f} of {seconds:g} s, {rounds} rounds, {memory_mb():.0f} MB", flush=True)
            shown = now
    growth = memory_mb() - (first or memory_mb())
    print(f"soak: {rounds} rounds in {seconds:g} s, memory grew by {growth:.1f} MB (limit {GROWTH_LIMIT_MB})")
    assert rounds > 200 and growth < GROWTH_LIMIT_MB


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    soak(float(sys.argv[1]) if len(sys.argv) > 1 else 600)
