# SPDX-License-Identifier: Apache-2.0
"""What relaxed friction costs: a cube thrown along the floor, relaxed and exact. Prints the table of docs/sap.md."""
import numpy as np

import stiction

G, V0, HALF = 9.81, 2.0, 0.1


def throw(h, mu, coulomb):
    """Way, height, share of steps with contact and mean Newton steps until it stands still."""
    model = stiction.Model.from_xml_string(
        f'<mujoco><option timestep="{h}"/><worldbody><geom type="plane" size="50 50 1" friction="{mu} 0 0"/><body pos="0 0 {HALF}">'
        f'<freejoint/><geom type="box" size="{HALF} {HALF} {HALF}" mass="1" friction="{mu} 0 0"/></body></worldbody></mujoco>')
    data = stiction.Data(model)
    model.opt.coulomb = coulomb
    for _ in range(round(0.2 / h)):
        stiction.step(model, data)
    data.qvel[0], x, z, steps = V0, float(data.qpos[0]), float(data.qpos[2]), []
    while len(steps) * h < 3 and np.abs(data.qvel).max() > 1e-4:
        stiction.step(model, data)
        steps.append((float(data.qpos[2]) - z, (data.contact.force[:, 0] > 0).any(), data.solver_niter))
    high, touch, newton = np.array(steps, float).T
    return float(data.qpos[0]) - x, max(0, high.max()), touch.mean(), newton.mean()


def main():
    print("| h | μ | v²/(2μg) | | stops after | lifts off by | touches in | Newton steps per step |\n|---|---|---|---|---|---|---|---|")
    for h, mu in ((0.01, 0.2), (0.01, 0.5), (0.01, 1.0), (0.001, 0.5), (0.001, 1.0)):
        for coulomb in ("relaxed", "exact"):
            way, high, touch, newton = throw(h, mu, coulomb)
            left = f"{h} | {mu} | {V0**2 / (2 * mu * G):.4f} m" if coulomb == "relaxed" else " | | "
            print(f"| {left} | {coulomb} | {way:.4f} m | {1e3 * high:.2f} mm | {100 * touch:.0f} % | {newton:.1f} |")


if __name__ == "__main__":
    main()
