# SPDX-License-Identifier: Apache-2.0
"""A robot on four legs stands, then steps on the spot with diagonal pairs; contact sensors say which feet are down.

    python examples/foot_contact.py [picture.png] [--view]

Over whole steps the floor must give as much momentum as gravity takes: the mean of the forces is the weight."""
import pathlib
import sys
import time

import numpy as np

import stiction

SCENE = pathlib.Path(__file__).resolve().parents[1] / "scenes" / "quadruped.xml"
FEET = ("fl", "fr", "rl", "rr")
PERIOD, START, LIFT = 0.25, 1.0, 0.2  # s, s, rad
PHASE = {"fl": 0.0, "rr": 0.0, "fr": 0.5, "rl": 0.5}


def targets(t):
    """Hip and knee angles of all legs: standing, with a leg folded while its foot is in the air."""
    angles = []
    for foot in FEET:
        cycle = ((t - START) / PERIOD + PHASE[foot]) % 1
        fold = LIFT * np.sin(2 * np.pi * cycle) if t > START and cycle < 0.5 else 0.0
        angles += [0.7 + fold, -1.4 - 2 * fold]
    return angles


def simulate(model, data, seconds, viewer=None):
    rows = []
    while data.time < seconds:
        start = time.monotonic()
        data.ctrl[:] = targets(data.time)
        stiction.step(model, data)
        rows.append([data.time] + [model.get_sensor_value(foot, data)[3] for foot in FEET])  # upwards
        if viewer:
            viewer.sync()
            time.sleep(max(0.0, model.opt.timestep - (time.monotonic() - start)))
    return np.array(rows)


def picture(path, model, data, rows):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
    left.imshow(stiction.render(model, data, 640, 480))
    left.axis("off")
    late = rows[:, 0] > START - 0.3
    for k, foot in enumerate(FEET):
        right.plot(rows[late, 0], np.clip(rows[late, 1 + k], 0, 150) + 160 * k, label=foot)
    right.set(xlabel="time [s]", ylabel="force on each foot [N], one above the other")
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def main():
    model = stiction.Model.from_xml_path(SCENE)
    data = stiction.Data(model)
    stiction.reset(model, data, "stand")
    if "--view" in sys.argv:
        with stiction.viewer.launch_passive(model, data, open_browser=True) as viewer:
            simulate(model, data, 60.0, viewer)
        return
    rows = simulate(model, data, START + 12 * PERIOD)
    weight = model.body_subtreemass[0] * 9.81
    times, force = rows[:, 0], rows[:, 1:]
    standing = force[(times > START - 0.1) & (times < START)].mean(axis=0)
    trot = times > START + 2 * PERIOD  # whole steps from here
    mean, air = force[trot].sum(axis=1).mean(), (force[trot] == 0).mean(axis=0)
    print(f"weight {weight:.2f} N; standing: {np.round(standing, 2)} N, sum {standing.sum():.3f} N")
    print(f"stepping: mean sum {mean:.2f} N; in the air {np.round(100 * air)} % of the time; trunk at {data.qpos[2]:.3f} m")
    if len(sys.argv) > 1:
        picture(sys.argv[1], model, data, rows)
    assert abs(standing.sum() - weight) < 0.005 * weight, "four feet carry the weight"
    assert abs(mean - weight) < 0.03 * weight, "momentum is kept over whole steps"
    assert (air > 0.2).all() and (air < 0.7).all(), "every foot leaves the floor in every step"
    assert data.qpos[2] > 0.25 and 1 - 2 * (data.qpos[4] ** 2 + data.qpos[5] ** 2) > 0.95, "it stays upright"


if __name__ == "__main__":
    main()
