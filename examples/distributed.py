# SPDX-License-Identifier: Apache-2.0
"""Rollouts of 48 quadrupeds under random controls on the actors of a Ray cluster, one of which is killed in the middle: it is replaced, and
the results are those of this machine alone, to the bit. Ends in a line of figures, and in a picture if a file is given:

    python examples/distributed.py heights.png                        # a cluster of two processors, made for it
    RAY_ADDRESS=auto python examples/distributed.py heights.png       # the cluster that this machine belongs to
"""
import os
import pathlib
import signal
import sys
import time

import numpy as np
import ray

import stiction
import stiction.ray

ROLLOUTS, STEPS, PIECE = 48, 200, 50  # steps of a piece, after which worlds are kept


def picture(path, model, states):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    plt.plot(states[0, :, 0], states[:, :, 3].T, color="tab:blue", alpha=0.2)
    plt.xlabel("time, s")
    plt.ylabel("height of the trunk, m")
    plt.title(f"{ROLLOUTS} quadrupeds, random controls")
    plt.savefig(path, dpi=100)


def kill_first(pool):
    """A function for progress that kills an actor when it is first called."""
    def watch(figures):
        if not watch.done:
            os.kill(ray.get(pool._actors[0].__ray_call__.remote(lambda self: os.getpid())), signal.SIGKILL)
            watch.done = True
        print(f"{figures['steps']} of {figures['total']} steps, {figures['replaced']} actors replaced", file=sys.stderr)
    watch.done = False
    return watch


def main():
    ray.init(**({} if "RAY_ADDRESS" in os.environ else {"num_cpus": 2, "include_dashboard": False}), log_to_driver=False)
    model = stiction.Model.from_xml_path(pathlib.Path(__file__).resolve().parents[1] / "scenes" / "quadruped.xml")
    rng = np.random.default_rng(0)
    low, high = model.actuator_ctrlrange.T
    # a new aim every 20 steps
    control = np.repeat(rng.uniform(low, high, (ROLLOUTS, STEPS // 20, model.nu)), 20, axis=1)
    start = stiction.Batch(model, 1).state
    with stiction.ray.Pool(model, shards=2) as pool:
        pool.progress, begun = kill_first(pool), time.perf_counter()
        states, sensors = pool.rollout(start, control, piece=PIECE, side_by_side=8)
        rate, replaced = ROLLOUTS * STEPS / (time.perf_counter() - begun), pool.replaced
    ray.shutdown()
    alone = stiction.rollout(model, start, control)
    same = np.array_equal(states, alone[0]) and np.array_equal(sensors, alone[1])
    print(f"{ROLLOUTS} rollouts of {STEPS} steps, {rate:.0f} steps/s with the start of another actor, {replaced} replaced, "
          f"{'the' if same else 'not the'} bits of one machine")
    if len(sys.argv) > 1:
        picture(sys.argv[1], model, states)
    assert same and replaced == 1


if __name__ == "__main__":
    main()
