# SPDX-License-Identifier: Apache-2.0
"""Genesis' grasp of a soft ball by a Panda on the CPU, one thread: CPU seconds of steps of two substeps, as one line of JSON.
Run by bench_soft.py with a Python that has genesis-world and torch; it is never imported by anything else.

usage: genesis_grasp.py [--steps 12] [--default]      --default: its default tolerances, not those of its example"""
import argparse
import json
import os
import statistics
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import genesis as gs  # noqa: E402
import numpy as np  # noqa: E402


def build(default):
    tight = {} if default else dict(pcg_threshold=1e-10, sap_convergence_atol=1e-10, sap_convergence_rtol=1e-10, linesearch_ftol=1e-10)
    scene = gs.Scene(
        sim_options=gs.options.SimOptions(dt=1 / 60, substeps=2),
        fem_options=gs.options.FEMOptions(use_implicit_solver=True, **({} if default else dict(pcg_threshold=1e-10))),
        coupler_options=gs.options.SAPCouplerOptions(rigid_floor_contact_type="none", rigid_rigid_contact_type="none", **tight),
        show_viewer=False)
    scene.add_entity(gs.morphs.Plane())
    franka = scene.add_entity(gs.morphs.MJCF(file="xml/franka_emika_panda/panda.xml"))
    ball = scene.add_entity(morph=gs.morphs.Sphere(radius=0.02, pos=(0.65, 0, 0.02)),
                            material=gs.materials.FEM.Elastic(model="linear_corotated", friction_mu=1.0, E=1e5, nu=0.4))
    scene.build()
    return scene, franka, ball


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--steps", type=int, default=12)
    p.add_argument("--default", action="store_true")
    o = p.parse_args()
    gs.init(backend=gs.cpu, precision="64", logging_level="error")
    scene, franka, ball = build(o.default)
    arm, fingers = np.arange(7), np.arange(7, 9)
    q = np.asarray(franka.inverse_kinematics(link=franka.get_link("hand"), pos=np.array([0.65, 0, 0.13]), quat=np.array([0, 1, 0, 0])))
    q[-2:] = 0.04
    franka.set_qpos(q)
    times = []
    for i in range(o.steps + 2):  # two to compile
        franka.control_dofs_position(q[:7], arm)
        if i >= 2:
            franka.control_dofs_force(np.array([-1.0, -1.0]), fingers)
        start = time.process_time()
        scene.step()
        times.append(time.process_time() - start)
    print(json.dumps(dict(nodes=int(ball.n_vertices), tets=int(ball.n_elements), seconds=statistics.median(times[2:]), steps=o.steps)))


if __name__ == "__main__":
    main()
