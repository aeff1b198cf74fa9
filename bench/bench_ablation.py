# SPDX-License-Identifier: Apache-2.0
"""What each rule of the solvers is worth: ./dev bench ablation [--quick] [--write].

The program bench/ablation.c solves the same steps and problems with all rules of src/solve/rules.h and with each switched off in
turn; steps begin at the same state and warm start every time. Costs are floating-point operations as the solvers count them
(the same on every machine) and Newton steps; where a rule is off, a ratio above 1 is what it saves. A rule earns its place where
some scene or problem costs at least 5 % more without it, or a solve ends above its tolerance. --write renews docs/ablation.md."""
import argparse
import math
import os
import pathlib
import subprocess
import tempfile

import scenes_contact
import scenes_moving

ROOT = pathlib.Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "ablation.md"
PROGRAM = ROOT / "build-ablation" / "bench" / "ablation"
LEAST = 0.05
TOL, TIGHT = 1e-6, 1e-8  # of what moves; of what rests, robots and mass ratios
FULL = 1e-8  # error of FCLIB's problems
# scene, seconds before the first sample, samples, steps between them, control
MOVING = [("spheres_200", 0.1, 8, 14, None), ("spheres_1000", 0.25, 2, 20, None), ("densities", 0.1, 6, 18, None),
          ("mixed", 0.2, 3, 20, None), ("stir", 0.4, 3, 20, 0.5), ("drum", 0.2, 4, 20, 3), ("dominoes", 0.1, 8, 20, None),
          ("wall", 0.05, 6, 12, None), ("ragdolls", 0.2, 8, 20, None)]
RESTING = [("spheres_200", 1.5, 4, 7, None), ("boxes_64", 1.5, 4, 7, None)]
STORED = [("scenes/figure.xml", 0.2, 12, 25), ("scenes/quadruped.xml", 0.2, 12, 25), ("scenes/panda_grasp.xml", 0.2, 5, 20),
          ("scenes/soft_ball.xml", 0.2, 5, 20), ("scenes/coupled_contact.xml", 0.2, 10, 25)]
PILES = [(ratio, *kind) for ratio in (1, 1e2, 1e4) for kind in ((0, "auto"), (0, "sap"), (1e-3, "auto"))]
BOXES = [(500, "auto"), (1500, "auto"), (1500, "pcg")]  # nodes of soft boxes in problems that come from no world, linear
MAKE = {"boxes_64": lambda: scenes_contact.boxes(64)}


def measure(*arguments):
    """{rule: (operations, iterations, unmet, seconds)}; "-" is with all rules."""
    out = subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True, timeout=3000)
    if out.returncode:
        raise RuntimeError(f"{arguments}: {out.stderr.strip()}")
    rows = (line.split() for line in out.stdout.splitlines())
    return {name: (float(w), int(i), int(u), float(s)) for name, w, i, u, s in rows}


def items(folder, quick):
    """(group, name, arguments of the program)"""
    for group, scenes in (("moving", MOVING), ("resting", RESTING)):
        for name, begin, samples, every, control in scenes[:3] if quick else scenes:
            file = folder / f"{name}.xml"
            file.write_text(MAKE.get(name, getattr(scenes_moving, name, None))())
            tol = TOL if group == "moving" else TIGHT
            yield group, name, ["scene", file, begin, samples, every, tol] + ([control] if control else [])
    for name, begin, samples, every in STORED[:2] if quick else STORED:
        yield "robots, soft", pathlib.Path(name).stem, ["scene", ROOT / name, begin, samples, every, TIGHT]
    for nodes, linear in BOXES[:1] if quick else BOXES:
        yield "soft problems", f"box {nodes} {linear}", ["soft", nodes, TIGHT, linear]
    files = sorted(pathlib.Path(os.environ["STI_FCLIB"]).glob("*.hdf5")) if os.environ.get("STI_FCLIB") else []
    for file in files[:3] if quick else files:
        yield "FCLIB", file.stem, ["problem", file, FULL]
    for ratio, softness, solver in PILES[:3] if quick else PILES:
        name = f"{ratio:g} {'soft' if softness else 'hard'} {solver}"
        yield "mass ratios", name, ["pile", ratio, softness, TIGHT, solver]


def ratio_of(rule, index):
    def of(item):
        return (item[rule][index] + 1) / (item["-"][index] + 1)
    return of


def worth(item):
    """The rules without which this one costs more, or is not solved."""
    rules = {rule: ratio_of(rule, 0)(item) for rule in item if rule != "-"}
    lost = {rule for rule in rules if item[rule][2] > item["-"][2]}
    return ", ".join(f"{rule} {ratio:.2f}{' unmet' * (rule in lost)}" for rule, ratio in rules.items()
                     if ratio >= 1 + LEAST or rule in lost) or "nothing"


def summary(group, rule):
    """Geometric mean and largest ratio of operations, ratio of Newton steps, more unmet solves."""
    works = {name: ratio_of(rule, 0)(item) for name, item in group.items()}
    steps = sum(i[rule][1] for i in group.values()) / max(1, sum(i["-"][1] for i in group.values()))
    unmet = sum(i[rule][2] - i["-"][2] for i in group.values())
    mean = math.exp(sum(map(math.log, works.values())) / len(works))
    worst = max(works, key=works.get)
    return mean, works[worst], worst, steps, unmet


def cell(s):
    mean, most, worst, steps, unmet = s
    extra = f", {unmet:+d} unmet" if unmet else ""
    return f"{mean:.2f} ({most:.2f} {worst}), {steps:.2f}{extra}" if most > 1.005 or mean < 0.995 or unmet else "1"


def table(results):
    texts = dict(line.split(" ", 1) for line in subprocess.check_output([PROGRAM, "rules"], text=True).splitlines())
    yield "| rule | " + " | ".join(results) + " | verdict |"
    yield "|---" * (len(results) + 2) + "|"
    for rule, text in texts.items():
        sums = [summary(group, rule) for group in results.values()]
        earns = any(s[1] >= 1 + LEAST or s[4] > 0 for s in sums)
        yield f"| `{rule}`: {text} | " + " | ".join(map(cell, sums)) + f" | {'earns' if earns else 'less than 5 %'} |"


def base_lines(results):
    yield "| | solves | operations | Newton or gradient steps | unmet |"
    yield "|---|---|---|---|---|"
    for name, group in results.items():
        work, steps, unmet = (sum(i["-"][k] for i in group.values()) for k in range(3))
        yield f"| {name} | {len(group)} | {work:.2e} | {steps} | {unmet} |"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        for group, name, arguments in items(pathlib.Path(folder), options.quick):
            results.setdefault(group, {})[name] = measure(*arguments)
            print(f"{group}: {name}: {worth(results[group][name])}", flush=True)
    lines = ["\n".join(table(results)), "", "With all rules:", "", "\n".join(base_lines(results))]
    print("\n".join(lines))
    if options.write:
        head = PAGE.read_text().split("<!-- table -->")[0]
        PAGE.write_text(head + "<!-- table -->\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
