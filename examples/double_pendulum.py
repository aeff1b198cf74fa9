# SPDX-License-Identifier: Apache-2.0
"""A double pendulum for three seconds with every integrator, against the true motion.

    python examples/double_pendulum.py [picture.png]

The links start level and at rest: 1 kg, 1 m, unit inertia. First the integrator alm with the numbers of a published table
(implicit Euler, h = 0.01 s, penalty 1000, ten multiplier steps, 301 frames): its two tables, beside the true motion. Then
errors and energies of all integrators. The true motion comes from an integration with error 1e-12 (DOP853)."""
import math
import pathlib
import sys

import numpy as np

import stiction

SCENES = pathlib.Path(__file__).resolve().parents[1] / "scenes"
TRUE_ANGLES = (-0.58611986061, -7.90777168725)
# (position, velocity) of both links at 3 s; accelerations at the start
TRUE_END = (((0.416546588, -0.276566339), (-0.396815, -0.597658)), ((0.534531586, -0.954207454), (-2.390817, -0.006364)))
TRUE_START = (-3.110488, -6.938780)
PUBLISHED_START = (-3.11, -6.94)
PUBLISHED_END = (((0.40, -0.30), (-0.14, -0.19), (-2.3, -3.0)), ((0.94, -1.08), (-2.18, -0.96), (-6.4, 1.8)))
INTEGRATORS = {"Euler": ("Euler", "euler"), "implicitfast": ("implicitfast", "euler"), "implicit": ("implicit", "euler"),
               "RK4": ("RK4", "euler"), "alm euler": ("alm", "euler"), "alm bdf2": ("alm", "bdf2"),
               "alm midpoint": ("alm", "midpoint")}


def centres(model, data):
    stiction.forward(model, data)
    return data.xipos[1:, :2].copy()


def frames(model):
    """Positions, velocities and accelerations of the links' centres in 301 frames, the latter two by differences."""
    data, h = stiction.Data(model), model.opt.timestep
    x = [centres(model, data)]
    for _ in range(300):
        stiction.step(model, data)
        x.append(centres(model, data))
    x = np.array(x)
    v = np.concatenate([np.zeros((1, 2, 2)), np.diff(x, axis=0) / h])
    a = np.concatenate([np.diff(v, axis=0) / h, np.full((1, 2, 2), np.nan)])  # of frame k: what takes it to the next
    return x, v, a


def pair(values, digits):
    return "(" + ", ".join(f"{x:.{digits}f}" for x in values) + ")"


def published():
    """Prints the two tables, and checks them to all digits that were printed."""
    model = stiction.Model.from_xml_path(SCENES / "double_pendulum_alm.xml")
    x, v, a = frames(model)
    print("alm, implicit Euler, h = 0.01 s, 10 multiplier steps with penalty 1000\n")
    print(f"{'at the start':<14}{'a_y':>9}{'published':>12}{'true':>12}")
    for i in range(2):
        print(f"link {i + 1:<9}{a[0, i, 1]:>9.3f}{PUBLISHED_START[i]:>12}{TRUE_START[i]:>12}")
        assert round(a[0, i, 1], 2) == PUBLISHED_START[i]
    print(f"\n{'at 3 s':<8}{'':<14}{'position':<18}{'velocity':<18}{'acceleration':<16}")
    for i in range(2):
        end = (x[300, i], v[300, i], a[299, i])
        print(f"link {i + 1:<3}{'alm':<14}{pair(end[0], 3):<18}{pair(end[1], 3):<18}{pair(end[2], 2):<16}")
        print(f"{'':<8}{'published':<14}{pair(PUBLISHED_END[i][0], 2):<18}{pair(PUBLISHED_END[i][1], 2):<18}"
              f"{pair(PUBLISHED_END[i][2], 1):<16}")
        print(f"{'':<8}{'true motion':<14}{pair(TRUE_END[i][0], 3):<18}{pair(TRUE_END[i][1], 3):<18}")
        for got, printed, digits in zip(end, PUBLISHED_END[i], (2, 2, 1)):
            assert np.round(got, digits).tolist() == list(printed), (got, printed)
    print("\nThe published table is what the method gives, not where the pendulum is: implicit Euler loses 2.7 J"
          "\non the way. A second-order rule in the same form finds it:\n")
    return x


def simulate(model, name, h):
    model.opt.integrator, model.opt.alm_scheme = INTEGRATORS[name]
    model.opt.timestep = h
    data = stiction.Data(model)
    path, times, energies = [], [], []
    for _ in range(round(3 / h)):
        stiction.step(model, data)
        times.append(data.time)
        energies.append(data.energy.sum())
        path.append(data.site_xpos[0, :2].copy())
    return math.dist(data.qpos, TRUE_ANGLES), times, energies, np.array(path)


def draw(curves, file):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5))
    for name, (times, energies, path) in curves.items():
        left.plot(path[:, 0], path[:, 1], label=name, linewidth=1)
        right.plot(times, energies, label=name, linewidth=1)
    left.set(xlabel="x [m]", ylabel="y [m]", title="path of the tip, h = 0.01 s", aspect="equal")
    right.set(xlabel="time [s]", ylabel="energy [J]", title="energy, h = 0.01 s")
    right.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(file, dpi=110)


def main():
    published()
    model = stiction.Model.from_xml_path(SCENES / "double_pendulum.xml")
    curves, errors = {}, {}
    print(f"{'integrator':<14}{'h':>8}{'angle error at 3 s':>22}{'energy drift':>16}")
    for name in INTEGRATORS:
        for h in (0.01, 0.0025):
            errors[name, h], times, energies, path = simulate(model, name, h)
            drift = max(abs(e - energies[0]) for e in energies)
            print(f"{name:<14}{h:>8}{errors[name, h]:>22.3e}{drift:>14.2e} J")
            if h == 0.01:
                curves[name] = times, energies, path
    if len(sys.argv) > 1:
        draw(curves, sys.argv[1])
    # of order 4, 2 and 1: a step four times smaller is so much better
    assert errors["RK4", 0.0025] < 1e-6 and errors["RK4", 0.0025] < errors["RK4", 0.01] / 100
    for name in ("alm bdf2", "alm midpoint"):
        assert errors[name, 0.0025] < errors[name, 0.01] / 12 and errors[name, 0.01] < 0.01
    for name in ("Euler", "alm euler"):
        assert errors[name, 0.0025] < errors[name, 0.01]


if __name__ == "__main__":
    main()
