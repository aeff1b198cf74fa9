# SPDX-License-Identifier: Apache-2.0
"""A box falls on a bar: a contact sensor reports where they touch and with what force.

    python examples/contact_sensor.py [picture.png] [--view]

--view shows it in the browser: white points, green normal forces, red and blue friction, and a plot of the sensor."""
import pathlib
import sys

import numpy as np

import stiction

SCENE = pathlib.Path(__file__).resolve().parents[1] / "scenes" / "contact_sensor.xml"


def world_forces(values):
    """The forces of a sensor with data="found force pos normal tangent", in world axes: one row for each contact."""
    contacts = values[1:].reshape(-1, 12)[:int(values[0])]
    force, normal, tangent = contacts[:, 0:3], contacts[:, 6:9], contacts[:, 9:12]
    other = np.cross(normal, tangent)
    return force[:, :1] * normal + force[:, 1:2] * tangent + force[:, 2:] * other


def simulate(model, data, seconds):
    times, counts, sums = [], [], []
    while data.time < seconds:
        stiction.step(model, data)
        values = model.get_sensor_value("box_floor_contact", data)
        times.append(data.time)
        counts.append(int(values[0]))
        sums.append(world_forces(values).sum(axis=0))
    return np.array(times), np.array(counts), np.array(sums)


def picture(path, model, data, times, sums):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4))
    left.imshow(stiction.render(model, data, 640, 480))
    left.axis("off")
    right.plot(times, sums, label=["x", "y", "z"])
    right.axhline(2 * 9.81, color="0.5", linestyle=":", label="weight")
    right.set(xlabel="time [s]", ylabel="force of the bar on the box [N]", ylim=(-60, 250))
    right.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def main():
    model = stiction.Model.from_xml_path(SCENE)
    data = stiction.Data(model, profile=True)
    if "--view" in sys.argv:
        stiction.viewer.launch(model, data)
        return
    times, counts, sums = simulate(model, data, 2.0)
    first = times[counts > 0][0]
    values = model.get_sensor_value("box_floor_contact", data)
    print(f"touches after {first:.3f} s, strikes with up to {np.linalg.norm(sums, axis=1).max():.0f} N")
    print(f"at rest on {counts[-1]} points:")
    for force, contact in zip(world_forces(values), values[1:].reshape(-1, 12)):
        print(f"  at {np.round(contact[3:6], 3)} m: {np.round(force, 3)} N")
    print(f"sum {np.round(sums[-1], 4)} N, weight {2 * 9.81:.4f} N; net force of the other sensor "
          f"{np.round(model.get_sensor_value('net', data)[1:4], 4)} N")
    if len(sys.argv) > 1:
        picture(sys.argv[1], model, data, times, sums)
    # free fall to the bar: the lowest corner is 0.75 - 0.4 - h above it, h its height below the centre
    assert 0.15 < first < 0.3 and counts[times < first - 1e-9].max() == 0
    assert counts[-1] >= 3 and np.allclose(sums[-1], [0, 0, 2 * 9.81], atol=0.02), "the bar carries the weight"
    assert np.allclose(model.get_sensor_value("net", data)[1:4], sums[-1], atol=1e-3)
    assert abs(data.qpos[2] - 0.51) < 2e-3 and np.abs(data.qvel).max() < 1e-3, "it lies on the bar and is still"


if __name__ == "__main__":
    main()
