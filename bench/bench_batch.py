# SPDX-License-Identifier: Apache-2.0
"""Many worlds against MuJoCo's rollout, in one process: ./dev bench batch [--rounds N] [--only NAME] [--worlds N] [--tolerance X].

Both engines take the same states and controls with contact on, and step turn about in short rounds. One thread is CPU time, all threads are
wall time; a ratio is the median over the rounds. Then vector environments of stiction.gym against Gymnasium's own. Certificates are the largest over all worlds and steps of a batch that is stepped apart,
untimed; the profile is that of single worlds under the same controls, whose smooth part (dynamics, and most of Runge-Kutta's integrate)
runs in lanes in a batch."""
import argparse
import dataclasses
import os
import pathlib
import re
import statistics
import sys
import time
import warnings

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "conformance"))
import gymnasium  # noqa: E402
import models  # noqa: E402
import mujoco  # noqa: E402
import mujoco.rollout  # noqa: E402
import numpy as np  # noqa: E402
import scenes_contact  # noqa: E402

import stiction  # noqa: E402
import stiction.gym  # noqa: E402

ASSETS = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"
HELD = 5  # steps with the same controls


@dataclasses.dataclass
class Scene:
    """The same file in both engines."""
    name: str
    theirs: mujoco.MjModel
    ours: stiction.Model
    key: int = -1       # keyframe to start from; -1: qpos0
    random: bool = True  # controls over their range; otherwise those of the keyframe

    def states(self, count, rng):
        """count x nstate: the start with a little noise in its velocities."""
        m = self.theirs
        qpos = m.key_qpos[self.key] if self.key >= 0 else m.qpos0
        still = np.concatenate([[0], qpos, np.zeros(m.nv + m.na)])
        states = np.tile(still, (count, 1))
        states[:, 1 + m.nq:1 + m.nq + m.nv] = rng.normal(scale=0.01, size=(count, m.nv))
        return states

    def controls(self, count, steps, rng):
        """count x steps x nu."""
        m = self.theirs
        if not self.random:
            return np.broadcast_to(m.key_ctrl[self.key], (count, steps, m.nu)).copy()
        low, high = m.actuator_ctrlrange.T
        return np.repeat(rng.uniform(low, high, (count, -(-steps // HELD), m.nu)), HELD, axis=1)[:, :steps].copy()


def quadruped():
    """The scene without what only we read."""
    text = (ROOT / "scenes" / "quadruped.xml").read_text()
    return re.sub(r'<sti:[^>]*/>| xmlns:sti="[^"]*"', "", text)


def load(name, path=None, xml=None, **settings):
    if path:
        return Scene(name, mujoco.MjModel.from_xml_path(str(path)), stiction.Model.from_xml_path(path, allow_outside=True), **settings)
    return Scene(name, mujoco.MjModel.from_xml_string(xml), stiction.Model.from_xml_string(xml), **settings)


SCENES = {
    "humanoid": lambda: load("humanoid, random controls", ASSETS / "humanoid.xml"),
    "ant": lambda: load("ant, random controls", ASSETS / "ant.xml"),
    "panda": lambda: load("Panda holds a cube", scenes_contact.panda(models.unpack("genesis-world") / "franka_emika_panda"), key=0, random=False),
    "quadruped": lambda: load("quadruped stands", xml=quadruped(), key=0, random=False),
}


def timed(clock, function):
    start = clock()
    function()
    return clock() - start


def race(scene, threads, count, steps, rounds):
    """Steps per second of MuJoCo and of us, and the median ratio."""
    rng, clock = np.random.default_rng(1), time.process_time if threads == 1 else time.perf_counter
    datas = [mujoco.MjData(scene.theirs) for _ in range(threads)]
    mine, peer = [], []
    with mujoco.rollout.Rollout(nthread=threads if threads > 1 else 0) as pool:
        for _ in range(rounds):
            state, control = scene.states(count, rng), scene.controls(count, steps, rng)
            peer.append(timed(clock, lambda: pool.rollout(scene.theirs, datas, state, control)))
            mine.append(timed(clock, lambda: stiction.rollout(scene.ours, state, control, threads=threads)))
    ratio = statistics.median(p / m for p, m in zip(peer, mine))
    return count * steps / statistics.median(peer), count * steps / statistics.median(mine), ratio


def certified(scene, count, steps):
    """The largest certificate of all worlds and steps, the mean number of iterations, the share of lanes in use."""
    rng = np.random.default_rng(2)
    batch = stiction.Batch(scene.ours, count)
    batch.reset(state=scene.states(count, rng))
    worst, iterations = 0.0, []
    for ctrl in scene.controls(count, steps, rng).transpose(1, 0, 2):
        batch.step(1, ctrl)
        worst = max(worst, np.nanmax(batch.certificate))
        iterations.append(batch.solver_niter.mean())
    return worst, np.mean(iterations), batch.lane_share, batch.lanes


def profiled(scene, steps):
    """The stages of a world under the scene's controls."""
    rng, data = np.random.default_rng(3), stiction.Data(scene.ours, profile=True)
    data.qpos = scene.states(1, rng)[0, 1:1 + scene.ours.nq]
    for ctrl in scene.controls(1, steps, rng)[0]:
        data.ctrl = ctrl
        stiction.step(scene.ours, data)
    return data.profile()


def profile(scene, steps, depth):
    """Where the time of a step goes: of seven runs the fastest, since other programs disturb them."""
    stages = min((profiled(scene, steps) for _ in range(7)), key=lambda s: s[0].nanoseconds)
    for stage in stages:
        if stage.depth <= depth and stage.nanoseconds > 0.01 * stages[0].nanoseconds:
            print(f"      {'  ' * stage.depth}{stage.name:<28}{100 * stage.nanoseconds / stages[0].nanoseconds:6.1f} %"
                  f"{stage.nanoseconds / steps / 1000:9.2f} us")


def race_environments(name, count, steps, rounds):
    """Steps of vector environments per second of CPU on one thread: Gymnasium's, ours, and the median ratio."""
    envs = [gymnasium.make_vec(f"{name}-v5", num_envs=count, vectorization_mode="sync"),
            gymnasium.make_vec(f"stiction/{name}-v5", num_envs=count, threads=1)]
    for env in envs:
        env.reset(seed=0)
        env.action_space.seed(0)
    times = [[], []]
    for _ in range(rounds):
        for env, kept in zip(envs, times):
            actions = [env.action_space.sample() for _ in range(steps)]
            kept.append(timed(time.process_time, lambda: [env.step(a) for a in actions]))
    ratio = statistics.median(p / m for p, m in zip(*times))
    return *(count * steps / statistics.median(kept) for kept in times), ratio


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--worlds", type=int, default=64)
    parser.add_argument("--steps", type=int, default=100, help="of each rollout")
    parser.add_argument("--only", default="", help=f"one of {', '.join(SCENES)}")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="of our certificate")
    parser.add_argument("--depth", type=int, default=3, help="of the profile")
    o = parser.parse_args()
    warnings.simplefilter("ignore")
    every = len(os.sched_getaffinity(0))
    print(f"stiction {stiction.__version__}, MuJoCo {mujoco.__version__}; {o.worlds} rollouts of {o.steps} steps, {every} cores, "
          f"load when it began {os.getloadavg()[0]:.1f}")
    print(f"{'scene':<28}{'threads':>8}{'MuJoCo':>11}{'Stiction':>11}{'ratio':>8}   (steps/s)")
    for name in [n for n in SCENES if o.only in n]:
        scene = SCENES[name]()
        scene.ours.opt.contact_tol = o.tolerance
        alone = 0.0
        for threads in sorted({1, every}):
            theirs, ours, ratio = race(scene, threads, o.worlds, o.steps, o.rounds)
            gain = f"   {ours / alone:.2f} times one thread" if threads > 1 else ""
            alone = ours
            print(f"{scene.name:<28}{threads:>8}{theirs:>11.0f}{ours:>11.0f}{ratio:>8.2f}{gain}", flush=True)
        worst, iterations, share, lanes = certified(scene, min(o.worlds, 32), o.steps)
        print(f"      largest certificate {worst:.1e}, {iterations:.2f} iterations a step; {100 * share:.0f} % of {lanes} lanes in use")
        profile(scene, o.steps, o.depth)
    print(f"{'environment, one thread':<36}{'Gymnasium':>11}{'Stiction':>11}{'ratio':>8}   (steps/s)")
    for name in [n for n in ("Humanoid", "Ant", "HalfCheetah", "Hopper") if o.only in n.lower()]:
        print("{:<36}{:>11.0f}{:>11.0f}{:>8.2f}".format(f"{name}-v5", *race_environments(name, 16, 20, o.rounds)), flush=True)


if __name__ == "__main__":
    main()
