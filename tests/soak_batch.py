# SPDX-License-Identifier: Apache-2.0
"""./dev soak batch [WORLD_STEPS]: batches with random actions, parameters and resets for a long time; memory and bits must not change.

Every round picks a batch, draws actions and now and then parameters, and resets some worlds. It steps twice from the same snapshots, the second
time with a world whose control is not a number: that one must fail and keep its state, and the others must have the same bits."""
import random
import sys
import time
import warnings

import numpy as np
import soak

import stiction

WORLDS, STEPS = 24, 20
PARAMETERS = ("body_mass", "geom_friction", "dof_damping")


def load():
    """Batches of the scenes without soft bodies that can be driven."""
    models = [stiction.Model.from_xml_path(path) for path in soak.SCENES]
    return [stiction.Batch(m, WORLDS, threads=2, errors="keep") for m in models if m.nflex == 0 and m.nv > 0]


def vary(batch, rng):
    """Parameters of their own, within a tenth of the model's."""
    for name in PARAMETERS:
        values = batch.parameter(name)
        values[...] = getattr(batch.model, name) * rng.uniform(0.9, 1.1, values.shape)


def restore(batch, snapshots):
    for i, snapshot in enumerate(snapshots):
        batch.world(i).restore(snapshot)


def hashes(batch):
    return [batch.world(i).hash() for i in range(WORLDS)]


def round_of(batch, rng, choose):
    """World-steps that were taken."""
    nu = batch.model.nu
    controls = rng.uniform(-1, 1, (2, WORLDS, nu))
    start = [batch.world(i).snapshot() for i in range(WORLDS)]
    for control in controls:
        batch.step(STEPS, ctrl=control)
    assert not batch.failures, batch.failures
    once = hashes(batch)
    restore(batch, start)
    bad = choose.randrange(WORLDS) if nu and choose.random() < 0.3 else None
    for control in controls:
        if bad is not None:
            control[bad, 0] = np.nan
        batch.step(STEPS, ctrl=control)
        assert set(batch.failures) == (set() if bad is None else {bad}), batch.failures
    for i, (a, b) in enumerate(zip(once, hashes(batch))):
        assert a == b or i == bad, f"{batch.model.title}: world {i} differs"
    if bad is not None:
        batch.reset([bad])
    return 4 * STEPS * WORLDS


def run(steps):
    rng, choose = np.random.default_rng(1), random.Random(1)
    batches = load()
    taken, rounds, shown, first = 0, 0, time.monotonic(), None
    while taken < steps:
        batch = choose.choice(batches)
        if choose.random() < 0.1:
            vary(batch, rng)
        batch.reset(rng.random(WORLDS) < 0.2)
        taken += round_of(batch, rng, choose)
        rounds += 1
        if rounds <= 20 * len(batches):
            first = max(first or 0, soak.memory_mb())  # until all are warm
        if time.monotonic() - shown > 10:
            shown = time.monotonic()
            print(f"{taken:.3g} of {steps:.3g} world-steps, {soak.memory_mb():.0f} MB", flush=True)
    growth = soak.memory_mb() - first
    print(f"soak batch: {taken} world-steps in {rounds} rounds, memory grew by {growth:.1f} MB (limit {soak.GROWTH_LIMIT_MB})")
    assert growth < soak.GROWTH_LIMIT_MB


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    run(float(sys.argv[1]) if len(sys.argv) > 1 else 1e7)
