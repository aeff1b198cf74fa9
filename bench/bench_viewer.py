# SPDX-License-Identifier: Apache-2.0
"""What a page costs: CPU time of the thread that steps 100 humanoids, with and without a page that looks on, and frames
per second that reach a page from a scene of 1000 geoms.

    python bench/bench_viewer.py [--steps N] [--rounds N]"""
import argparse
import copy
import multiprocessing
import pathlib
import statistics
import sys
import time
import xml.etree.ElementTree as ET

import gymnasium

import stiction

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "viewer"))
from client import Client  # noqa: E402

HUMANOID = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets" / "humanoid.xml"


def humanoids(count):
    """Gymnasium's humanoid, on a square grid."""
    root = ET.parse(HUMANOID).getroot()
    world = root.find("worldbody")
    torso = next(b for b in world if b.tag == "body")
    world.remove(torso)
    for tag in ("tendon", "actuator", "sensor", "contact", "keyframe"):
        for part in root.findall(tag):
            root.remove(part)
    for i in range(count):
        one = copy.deepcopy(torso)
        x, y, z = map(float, one.get("pos").split())
        one.set("pos", f"{x + 2 * (i % 10)} {y + 2 * (i // 10)} {z}")
        for element in one.iter():
            if "name" in element.attrib:
                element.set("name", f"{element.get('name')}_{i}")
            element.attrib.pop("target", None)
        for camera in one.findall("camera"):
            one.remove(camera)
        world.append(one)
    return ET.tostring(root, encoding="unicode")


def spheres(count):
    """As many bodies with a geom each, that move and do not meet."""
    bodies = "".join(f'<body pos="{i % 32} {i // 32} 1"><joint axis="0 1 0"/><geom size=".2" pos=".3 0 0" contype="0" conaffinity="0"/></body>'
                     for i in range(count))
    return f"<mujoco><worldbody>{bodies}</worldbody></mujoco>"


def look_on(url, end, frames, sizes):
    """A page: takes every frame that comes."""
    with Client(url) as page:
        while not end.is_set():
            size = len(page.message())
            with frames.get_lock():
                frames.value += 1
            sizes.value = size


class Page:
    def __init__(self, url):
        self.frames, self.size, self.end = multiprocessing.Value("i", 0), multiprocessing.Value("i", 0), multiprocessing.Event()
        self.process = multiprocessing.Process(target=look_on, args=(url, self.end, self.frames, self.size), daemon=True)
        self.process.start()

    def close(self):
        self.end.set()
        self.process.terminate()
        self.process.join()


def cpu(model, data, steps, viewer=None):
    """Seconds that this thread computes for a step."""
    start = time.thread_time()
    for _ in range(steps):
        stiction.step(model, data)
        if viewer:
            viewer.sync()
    return (time.thread_time() - start) / steps


def cost(steps, rounds):
    model = stiction.Model.from_xml_string(humanoids(100))
    alone, shown = stiction.Data(model), stiction.Data(model)
    for data in (alone, shown):
        stiction.step(model, data, 100)
    with stiction.viewer.Viewer(model, shown) as viewer:
        page, ratios, times = Page(viewer.url), [], []
        while viewer.clients == 0:
            time.sleep(0.01)
        for _ in range(rounds):  # in turns, so that both meet the same weather
            a, b = cpu(model, alone, steps), cpu(model, shown, steps, viewer)
            ratios.append(b / a)
            times.append(a)
        seen, size = page.frames.value, page.size.value
        page.close()
    rise = 100 * (statistics.median(ratios) - 1)
    print(f"100 humanoids ({model.nbody} bodies, {model.nv} dofs, {shown.ncon} contacts): "
          f"{1e3 * statistics.median(times):.2f} ms of CPU a step alone, {rise:+.1f} % with a page "
          f"({rounds} rounds of {steps} steps, {seen} frames of {size / 1024:.0f} KB seen)")
    return rise


def rate(seconds):
    model = stiction.Model.from_xml_string(spheres(1000))
    data = stiction.Data(model)
    with stiction.viewer.Viewer(model, data) as viewer:
        page = Page(viewer.url)
        viewer.run(1)
        first, start = page.frames.value, time.monotonic()
        viewer.run(seconds)
        per_second = (page.frames.value - first) / (time.monotonic() - start)
        size = page.size.value
        page.close()
    print(f"1000 geoms: {per_second:.1f} frames/s of {size / 1024:.0f} KB reach the page")
    return per_second


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    rise, frames = cost(options.steps, options.rounds), rate(5)
    good = rise <= 5 and frames >= 59
    print("both within their limits (5 %, 60 frames/s)" if good else "NOT within the limits (5 %, 60 frames/s)")
    return not good


if __name__ == "__main__":
    sys.exit(main())
