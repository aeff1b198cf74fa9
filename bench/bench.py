# SPDX-License-Identifier: Apache-2.0
"""Speed against MuJoCo in one process on one core: ./dev bench [--rounds N] [--only NAME].

Both engines step the same model from the same states with constraints disabled in both, turn about, many short rounds; the figure is the median of the ratios."""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "conformance"))
import models  # noqa: E402
import mujoco  # noqa: E402
import numpy as np  # noqa: E402

import stiction  # noqa: E402


def chain(n):
    """n hanging links with one hinge each, about x and y in turn."""
    head = '<body pos="0 0 -0.1"><joint type="hinge" axis="{} {} 0" damping="0.05"/><geom type="capsule" fromto="0 0 0 0 0 -0.1" size="0.02"/>'
    links = "".join(head.format(i % 2, 1 - i % 2) for i in range(n))
    return f"<mujoco model='chain'><option timestep='0.001'/><worldbody>{links}{'</body>' * n}</worldbody></mujoco>"


def crowd(path, n):
    """n copies of a model, side by side, as one file."""
    scene = mujoco.MjSpec()
    single = mujoco.MjSpec.from_file(str(path))
    scene.option = single.option
    scene.visual.map.zfar = single.visual.map.zfar
    for i in range(n):
        frame = scene.worldbody.add_frame(pos=[2.0 * (i % 10), 2.0 * (i // 10), 0])
        scene.attach(mujoco.MjSpec.from_file(str(path)), prefix=f"r{i}_", frame=frame)
    scene.compile()
    return scene.to_xml()


def scenes():
    gymnasium, warp = models.unpack("gymnasium"), models.unpack("mujoco-warp")
    panda = models.unpack("genesis-world") / "franka_emika_panda" / "panda.xml"
    humanoid = warp / "humanoid" / "humanoid.xml"
    yield "humanoid", humanoid, None
    yield "humanoid (gymnasium, RK4)", gymnasium / "humanoid.xml", None
    yield "Panda", panda, None
    yield "chain of 100 links", None, chain(100)
    yield "100 humanoids", None, crowd(humanoid, 100)


def load(path, xml):
    if path:
        return mujoco.MjModel.from_xml_path(str(path)), stiction.Model.from_xml_path(path, allow_outside=True)
    return mujoco.MjModel.from_xml_string(xml), stiction.Model.from_xml_string(xml)


def timed(function, *arguments):
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def measure(mj, model, rounds, seconds):
    """Steps per second of both, and the median ratio."""
    mj.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    mjd, data = mujoco.MjData(mj), stiction.Data(model)
    mujoco.mj_step(mj, mjd, 10)
    each = max(10, int(seconds / (timed(mujoco.mj_step, mj, mjd, 50) / 50)))
    ours, theirs = [], []
    rng = np.random.default_rng(1)
    for _ in range(rounds):
        mujoco.mj_resetData(mj, mjd)
        stiction.reset(model, data)
        mjd.qvel[:] = rng.normal(size=mj.nv) * 0.1
        data.qvel[:] = mjd.qvel
        theirs.append(timed(mujoco.mj_step, mj, mjd, each))
        ours.append(timed(stiction.step, model, data, each))
    ratio = statistics.median(t / o for t, o in zip(theirs, ours))
    return each / statistics.median(theirs), each / statistics.median(ours), ratio


def profile(model, steps=2000):
    """Share of each stage, from our own profiler."""
    data = stiction.Data(model, profile=True)
    stiction.step(model, data, steps)
    nodes = data.profile()
    if not nodes:
        return
    total = nodes[0].nanoseconds
    for name, _, depth, count, ticks, _ in nodes:
        print(f"      {'  ' * depth}{name:<24}{100 * ticks / total:6.1f} %{ticks / steps / 1000:9.3f} us{count / steps:7.1f} calls/step")


LOAD = """
import sys, time, warnings
warnings.simplefilter("ignore")
import mujoco, stiction
path, engine = sys.argv[1:]
start = time.process_time()
mujoco.MjModel.from_xml_path(path) if engine == "mujoco" else stiction.Model.from_xml_path(path, allow_outside=True)
print(time.process_time() - start)
"""


def load_time(path, rounds=7):
    """Median CPU seconds to load in a new process (MuJoCo keeps meshes in a cache otherwise)."""
    def once(engine):
        return float(subprocess.run([sys.executable, "-c", LOAD, str(path), engine], capture_output=True, text=True, check=True).stdout)
    times = [(once("mujoco"), once("stiction")) for _ in range(rounds)]
    return tuple(statistics.median(t) for t in zip(*times))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--seconds", type=float, default=0.1, help="length of a round")
    parser.add_argument("--only", default="", help="only scenes whose name contains this text")
    parser.add_argument("--no-profile", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    print(f"stiction {stiction.__version__}, MuJoCo {mujoco.__version__}; one thread, CPU time, constraints disabled in both")
    print(f"{'scene':<28}{'dofs':>6}{'MuJoCo':>12}{'Stiction':>12}   ratio   (steps/s)")
    ratios = []
    for name, path, xml in scenes():
        if options.only not in name:
            continue
        mj, model = load(path, xml)
        theirs, ours, ratio = measure(mj, model, options.rounds, options.seconds)
        ratios.append(ratio)
        print(f"{name:<28}{model.nv:>6}{theirs:>12.0f}{ours:>12.0f}{ratio:>8.2f}", flush=True)
        if not options.no_profile:
            profile(model, max(20, int(0.2 * ours)))
    if ratios:
        print(f"geometric mean of the ratios: {np.exp(np.mean(np.log(ratios))):.2f}")
    print("load time, seconds of CPU:")
    for label, path in (("Panda", models.unpack("genesis-world") / "franka_emika_panda" / "panda.xml"),
                        ("G1", models.unpack("mjlab") / "unitree_g1" / "xmls" / "g1.xml"),
                        ("ALOHA with pot", models.unpack("mujoco-warp") / "aloha_pot" / "scene.xml")):
        theirs, ours = load_time(path)
        print(f"  {label:<20} MuJoCo {theirs:.3f}   Stiction {ours:.3f}   ratio {theirs / ours:.2f}")


main()
