# SPDX-License-Identifier: Apache-2.0
"""64 quadrupeds at once under random controls; those that fall are set up again. Ends in a line of figures, and in a picture of their
heights over time if a file is given:

    python examples/batch.py heights.png
"""
import pathlib
import sys
import time

import numpy as np

import stiction

WORLDS, ROUNDS, STEPS = 64, 50, 5  # steps with the same controls


def picture(path, model, heights):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    seconds = np.arange(1, ROUNDS + 1) * STEPS * model.opt.timestep
    plt.plot(seconds, heights, color="tab:blue", alpha=0.15)
    plt.plot(seconds, heights.mean(axis=1), color="black", label="mean")
    plt.xlabel("time, s")
    plt.ylabel("height of the trunk, m")
    plt.title(f"{WORLDS} quadrupeds, random controls")
    plt.legend()
    plt.savefig(path, dpi=100)


def main():
    model = stiction.Model.from_xml_path(pathlib.Path(__file__).resolve().parents[1] / "scenes" / "quadruped.xml")
    batch = stiction.Batch(model, WORLDS)
    rng = np.random.default_rng(0)
    low, high = model.actuator_ctrlrange.T
    start = batch.qpos[0, 2]
    heights, fallen, worst, begun = np.zeros((ROUNDS, WORLDS)), 0, 0.0, time.perf_counter()
    for k in range(ROUNDS):
        batch.step(STEPS, ctrl=rng.uniform(low, high, (WORLDS, model.nu)))
        worst = max(worst, batch.certificate.max())
        heights[k] = batch.qpos[:, 2]
        down = heights[k] < 0.5 * start
        fallen += int(down.sum())
        batch.reset(down)
    rate = WORLDS * ROUNDS * STEPS / (time.perf_counter() - begun)
    print(f"{WORLDS} worlds, {rate:.0f} steps/s on {batch.threads} threads, {fallen} fell, largest certificate {worst:.1e}")
    if len(sys.argv) > 1:
        picture(sys.argv[1], model, heights)
    assert worst <= model.opt.contact_tol, "every step is solved to the tolerance"
    assert np.ptp(batch.qpos[:, 2]) > 0, "worlds differ"


if __name__ == "__main__":
    main()
