# SPDX-License-Identifier: Apache-2.0
"""A gripper closes until its contact sensors feel the wanted force, holds it, and lifts the cube.

    python examples/gripper_force.py [picture.png] [--view]

The loop around each finger is an integral of the force that is missing; it knows nothing of the cube."""
import pathlib
import sys
import time

import numpy as np

import stiction

SCENE = pathlib.Path(__file__).resolve().parents[1] / "scenes" / "gripper.xml"
WANTED, GAIN, WEIGHT = 8.0, 6.0, 0.3 * 9.81  # N, 1/s, N
FINGERS = {"left": (1, 0, 1.0), "right": (2, 0, -1.0)}  # actuator, axis of the world, direction of its pad


class Grip:
    """Motor forces that make what the pads feel what is wanted."""

    def __init__(self, model, data):
        self.model, self.data, self.effort = model, data, {name: 1.0 for name in FINGERS}

    def felt(self, name):
        """The pad's net force on the cube, in world axes."""
        return self.model.get_sensor_value(name, self.data)[1:4]

    def control(self):
        h = self.model.opt.timestep
        for name, (actuator, axis, sign) in FINGERS.items():
            press = sign * self.felt(name)[axis]
            if press > 0:  # until it touches, a gentle push closes it
                self.effort[name] += GAIN * h * (WANTED - press)
            self.data.ctrl[actuator] = self.effort[name]
        self.data.ctrl[0] = np.clip(0.15 * (self.data.time - 1.5), 0, 0.15)  # lifts after 1.5 s


def simulate(model, data, seconds, viewer=None):
    grip, rows = Grip(model, data), []
    while data.time < seconds:
        start = time.monotonic()
        grip.control()
        stiction.step(model, data)
        left, right = grip.felt("left"), grip.felt("right")
        rows.append([data.time, left[0], -right[0], left[2] + right[2], data.body("cube").xpos[2]])
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
    right.plot(rows[:, 0], rows[:, 1:4], label=["left presses", "right presses", "both carry"])
    right.axhline(WEIGHT, color="0.5", linestyle=":", label="weight")
    right.set(xlabel="time [s]", ylabel="force [N]")
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def main():
    model = stiction.Model.from_xml_path(SCENE)
    data = stiction.Data(model)
    if "--view" in sys.argv:
        with stiction.viewer.launch_passive(model, data, open_browser=True) as viewer:
            simulate(model, data, 60.0, viewer)
        return
    rows = simulate(model, data, 4.0)
    _, left, right, carried, height = rows[-1]
    print(f"left pad {left:.3f} N, right pad {right:.3f} N (wanted {WANTED}); both carry {carried:.3f} N of {WEIGHT:.3f} N; "
          f"the cube is at {height:.3f} m")
    if len(sys.argv) > 1:
        picture(sys.argv[1], model, data, rows)
    assert abs(left - WANTED) < 0.05 and abs(right - WANTED) < 0.05, "the pads press as wanted"
    assert abs(carried - WEIGHT) < 0.02 * WEIGHT, "friction carries the weight"
    assert height > 0.15 and np.abs(data.joint("lift").qvel).max() < 1e-2, "it has been lifted and is held"


if __name__ == "__main__":
    main()
