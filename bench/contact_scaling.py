# SPDX-License-Identifier: Apache-2.0
"""How a step's cost and a world's memory grow with the bodies: packed spheres, in a process of their own."""
import math
import os
import subprocess
import tempfile

import scenes_contact as scenes

COUNTS = {"bins of 100": (100, 300, 1000, 3000, 10_000, 20_000), "one pile": (100, 300, 1000, 2000)}
STAGES = ("dynamics", "collide", "contact", "solve", "integrate")


def figures(text):
    """{name: value} of bench_stages' lines."""
    return {line.split()[0]: float(line.split()[1]) for line in text.splitlines() if len(line.split()) == 2}


def measure(program, scene, count, threads, limit):
    """One count: ms of the stages, bytes; None if it takes too long."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "packed.xml")
        with open(path, "w") as out:
            out.write(scenes.packed(count, each=100 if scene == "bins of 100" else None))
        steps = max(5, min(100, 20_000 // count))
        command = [program, path, "-w", "20", "-n", str(steps), "-t", str(threads)]
        try:
            found = figures(subprocess.run(command, capture_output=True, text=True, check=True, timeout=limit).stdout)
        except subprocess.TimeoutExpired:
            return None
    row = dict(scene=scene, bodies=count, contacts=int(found["contacts"]), load_ms=found["parse_ms"] + found["compile_ms"] + found["world_ms"],
               step_ms=found["cpu"] / 1e3, iterations=found["iterations"])
    for stage in STAGES:  # by their share of the clock, so that a busy machine does not show
        row[stage + "_ms"] = found["cpu"] / 1e3 * found.get(stage, 0.0) / found["step"]
    row["body_bytes"] = found["world_bytes"] / count
    row["contact_bytes"] = (found["warm_bytes"] - found["world_bytes"]) / max(1, row["contacts"])
    row["peak_bytes"] = found["peak_bytes"]
    return row


def run(program, quick, threads, limit, tell):
    rows = []
    for scene, counts in COUNTS.items():
        for count in counts[:3] if quick else counts:
            tell(f"scaling: {count} spheres, {scene}")
            row = measure(program, scene, count, threads, limit)
            if row is None:
                tell(f"scaling: {count} spheres, {scene} took more than {limit} s: left out")
                break
            rows.append(row)
    return rows


def exponent(rows, key):
    """p of cost ~ bodies^p, between the first count and the last."""
    if len(rows) < 2 or rows[0][key] <= 0 or rows[-1][key] <= 0:
        return math.nan
    return math.log(rows[-1][key] / rows[0][key]) / math.log(rows[-1]["bodies"] / rows[0]["bodies"])
