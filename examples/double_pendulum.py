# SPDX-License-Identifier: Apache-2.0
"""A double pendulum for three seconds with every integrator, against the true motion.

    python examples/double_pendulum.py [picture.png]

The links start level and at rest: 1 kg, 1 m, unit inertia. The true angles at 3 s come from an
integration with error 1e-12 (DOP853)."""
import math
import pathlib
import sys

import stiction

SCENE = pathlib.Path(__file__).resolve().parents[1] / "scenes" / "double_pendulum.xml"
TRUE_ANGLES = (-0.58611986061, -7.90777168725)
INTEGRATORS = {"Euler": 0, "implicitfast": 3, "implicit": 2, "RK4": 1}


def simulate(model, integrator, h):
    model.opt.integrator, model.opt.timestep = INTEGRATORS[integrator], h
    data = stiction.Data(model)
    times, energies = [], []
    for _ in range(round(3 / h)):
        stiction.step(model, data)
        times.append(data.time)
        energies.append(data.energy.sum())
    error = math.dist(data.qpos, TRUE_ANGLES)
    return error, times, energies


def main():
    model = stiction.Model.from_xml_path(SCENE)
    model.opt.enableflags |= 2  # energy
    curves, errors = {}, {}
    print(f"{'integrator':<14}{'h':>8}{'angle error at 3 s':>22}{'energy drift':>16}")
    for name in INTEGRATORS:
        for h in (0.01, 0.0025):
            errors[name, h], times, energies = simulate(model, name, h)
            drift = max(abs(e - energies[0]) for e in energies)
            print(f"{name:<14}{h:>8}{errors[name, h]:>22.3e}{drift:>14.2e} J")
            if h == 0.01:
                curves[name] = times, energies
    if len(sys.argv) > 1:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
        for name, (times, energies) in curves.items():
            plt.plot(times, energies, label=name)
        plt.xlabel("time [s]"), plt.ylabel("energy [J]"), plt.legend(), plt.title("double pendulum, h = 0.01 s")
        plt.savefig(sys.argv[1], dpi=110)
    # RK4 converges at order 4: a step four times smaller is over a hundred times better
    assert errors["RK4", 0.0025] < 1e-6 and errors["RK4", 0.0025] < errors["RK4", 0.01] / 100
    assert errors["Euler", 0.0025] < errors["Euler", 0.01]


if __name__ == "__main__":
    main()
