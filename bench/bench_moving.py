# SPDX-License-Identifier: Apache-2.0
"""Contact that moves, side by side with MuJoCo in one run: ./dev bench moving [--quick] [--only NAME] [--tol T...] [--write].

Every engine loads the same MJCF and runs from the same start, a step of each in turn; times are CPU times of one thread. The
trajectories part, as those of any two engines do where contact is chaotic. A ratio is the mean step of MuJoCo's fastest
solver over the mean step of ours, so above 1 is faster than MuJoCo. `unmet` counts the steps whose certificate is above the
tolerance. A scene ends early after --limit CPU seconds, so that all take about ten minutes; `simulated` says how far it came.
Solvers of MuJoCo that take more than 25 % of these seconds stop before, and are not counted as its fastest.

Then piles of 1000 to 8000 spheres that are poured, and that rest in each other's pockets (--piles runs these alone): steps from 0.3 s
on, when all layers touch, and how they grow; bytes of memory that a sphere takes, of a process of its own. --write puts the figures
into docs/moving_measured.md; with --piles those of the piles alone."""
import argparse
import dataclasses
import math
import os
import pathlib
import subprocess
import sys
import time

import contact_engines as engines
import numpy as np
import scenes_moving

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "moving_measured.md"
TOLERANCES = (1e-3, 2e-4, 1e-6, 1e-8)
VARIANTS = [(solver, cone) for solver in ("CG", "Newton") for cone in ("pyramidal", "elliptic")]
SHORT = 0.4  # of the time, in the short form
STOP = 0.25  # of a scene's CPU seconds, after which one of MuJoCo's solvers stops there
PILES = (1000, 2000, 4000, 8000)
PILE_TOL = 2e-4
PILE_KINDS = {"poured": scenes_moving.scenes_contact.spheres, "at rest": scenes_moving.scenes_contact.packed}
PILES_TITLE = "## Piles of spheres"


@dataclasses.dataclass
class Runner:
    engine: object
    name: str
    tol: float = math.nan  # ours only
    ms: list = dataclasses.field(default_factory=list)
    residuals: list = dataclasses.field(default_factory=list)
    contacts: list = dataclasses.field(default_factory=list)

    def step(self, ctrl):
        if ctrl is not None:
            self.engine.data.ctrl[:] = ctrl
        start = time.process_time()
        self.engine.step()
        self.ms.append(1e3 * (time.process_time() - start))
        self.contacts.append(int(self.engine.data.ncon))
        if self.tol == self.tol:
            self.residuals.append(float(self.engine.residual))


@dataclasses.dataclass
class Line:
    scene: str
    name: str
    tol: float
    mean: float
    median: float
    p99: float
    largest: float
    ratio: float
    contacts: float
    residual: float
    unmet: int
    seconds: float  # simulated


def ours(text, tol, solver):
    engine = engines.Stiction(xml=text, tol=tol)
    if solver:
        engine.model.opt.contact_solver = solver
    return Runner(engine, f"Stiction {tol:.0e}".replace("e-0", "e-"), tol)


def make_runners(text, options):
    runners = [ours(text, tol, options.solver) for tol in options.tol]
    runners += [Runner(engines.MuJoCo(xml=text, solver=s, cone=c), f"MuJoCo {s}, {c}") for s, c in VARIANTS]
    for r in runners:
        if r.engine.model.nkey:
            r.engine.reset(0)
    return runners


def run_scene(name, options):
    make, seconds, control = scenes_moving.SCENES[name]
    runners = make_runners(make(), options)
    h = runners[0].engine.timestep
    steps, begun = round(seconds * (SHORT if options.quick else 1) / h), time.process_time()
    for k in range(steps):
        for r in runners:
            if r.tol == r.tol or sum(r.ms) < 1e3 * STOP * options.limit:
                r.step(control(k * h) if control else None)
        if time.process_time() - begun > options.limit:
            break
    whole = max(len(r.ms) for r in runners)
    best = min((np.mean(r.ms) for r in runners if r.tol != r.tol and len(r.ms) == whole), default=math.nan)
    return [line_of(name, r, best) for r in runners]


def line_of(scene, r, best):
    ms = np.array(r.ms)
    residual = max(r.residuals, default=math.nan)
    return Line(scene, r.name, r.tol, ms.mean(), float(np.median(ms)), float(np.percentile(ms, 99)), ms.max(), best / ms.mean(),
                float(np.mean(r.contacts)), residual, sum(x > r.tol for x in r.residuals), len(ms) * r.engine.timestep)


HEAD = ("| scene | simulated, s | solver | mean ms | p99 ms | largest ms | largest / median | MuJoCo's best / mean | contacts | residual | unmet |\n"
        "|---|---|---|---|---|---|---|---|---|---|---|")


def row_of(x):
    residual, unmet = (f"{x.residual:.0e}", str(x.unmet)) if x.tol == x.tol else ("", "")
    return (f"| {x.scene} | {x.seconds:.2f} | {x.name} | {x.mean:.2f} | {x.p99:.2f} | {x.largest:.2f} | {x.largest / x.median:.1f} | {x.ratio:.2f} | "
            f"{x.contacts:.0f} | {residual} | {unmet} |")


def summary(lines, tolerances):
    out = ["| tolerance | geometric mean | least | scene of the least | largest step / median | unmet steps |", "|---|---|---|---|---|---|"]
    for tol in tolerances:
        mine = [x for x in lines if x.tol == tol]
        least = min(mine, key=lambda x: x.ratio)
        mean = math.exp(np.mean([math.log(x.ratio) for x in mine]))
        longest = max(x.largest / x.median for x in mine)
        out.append(f"| {tol:.0e} | {mean:.2f} | {least.ratio:.2f} | {least.scene} | {longest:.1f} | {sum(x.unmet for x in mine)} |")
    return out


def resident():
    """Bytes of memory of this process."""
    return 1024 * int(next(line for line in open("/proc/self/status") if line.startswith("VmRSS")).split()[1])


def print_memory(kind, count):
    """Bytes that a sphere of a pile takes once all layers touch, in a process that does nothing else."""
    text, before = PILE_KINDS[kind](count), resident()
    engine = engines.Stiction(xml=text, tol=PILE_TOL)
    while engine.time < 0.35:
        engine.step()
    print((resident() - before) / count)


def memory(kind, count):
    command = [sys.executable, __file__, "--memory", kind, str(count)]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@dataclasses.dataclass
class Pile:
    count: int
    mean: float  # ms of a step of ours, once all layers touch
    largest: float  # over the median
    cg: float  # mean ms of MuJoCo's CG
    contacts: int
    unmet: int  # of all steps
    bytes: float  # per sphere
    seconds: float  # simulated


def run_pile(kind, count, options):
    text = PILE_KINDS[kind](count)
    theirs = text.replace("<worldbody>", '<size memory="4G"/><worldbody>', 1)  # MuJoCo would ask for 100 GB
    runners = [ours(text, PILE_TOL, options.solver), Runner(engines.MuJoCo(xml=theirs, solver="CG", cone="pyramidal"), "CG")]
    h, begun, times = runners[0].engine.timestep, time.process_time(), []
    while time.process_time() - begun < options.limit and runners[0].engine.time < 0.6 - h / 2:
        for r in runners:
            r.step(None)
        times.append(runners[0].engine.time)
    late = [k for k, t in enumerate(times) if t > 0.3] or [len(times) - 1]  # all layers touch
    mine, cg = (np.array(r.ms)[late] for r in runners)
    return Pile(count, mine.mean(), mine.max() / np.median(mine), cg.mean(), runners[0].contacts[late[-1]],
                sum(x > PILE_TOL for x in runners[0].residuals), memory(kind, count), times[-1])


def growth(rows, of):
    return np.polyfit(np.log([x.count for x in rows]), np.log([of(x) for x in rows]), 1)[0]


def run_kind(kind, options):
    rows = [run_pile(kind, count, options) for count in PILES]
    out = [f"### {kind.capitalize()}", "", "| spheres | ms a step, 0.3 s to 0.6 s | largest / median | MuJoCo's CG, ms | contacts at the end | unmet | bytes a sphere | simulated, s |",
           "|---|---|---|---|---|---|---|---|"]
    out += [f"| {x.count} | {x.mean:.1f} | {x.largest:.1f} | {x.cg:.1f} | {x.contacts} | {x.unmet} | {x.bytes:.0f} | {x.seconds:.2f} |" for x in rows]
    exponents = [growth(rows, of) for of in (lambda x: x.mean, lambda x: x.cg, lambda x: x.count * x.bytes)]
    return [*out, "", "A step grows as n^{:.2f}, MuJoCo's as n^{:.2f}; memory as n^{:.2f}.".format(*exponents), ""]


def run_piles(options):
    out = [PILES_TITLE, "", f"At {PILE_TOL:.0e}, in turn with MuJoCo's CG with pyramids, one of its four solvers. Bytes are of a process of its own. "
           f"The machine had a load of {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores at the start.", ""]
    for kind in PILE_KINDS:
        out += run_kind(kind, options)
    return out


def write_piles(piles):
    PAGE.write_text("\n".join([PAGE.read_text().split(PILES_TITLE)[0] + piles[0], *piles[1:]]))


def page(lines, tolerances, piles):
    return "\n".join(["# Contact that moves, measured", "",
                      "Written by `./dev bench moving --write`. [measured.md](measured.md#contact-that-moves-dev-bench-moving) says what the columns mean, [sap.md](sap.md) has the method. One thread.", "",
                      "Ratios are the mean step of MuJoCo's fastest solver over ours: above 1 is faster than MuJoCo. "
                      f"The machine had a load of {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores at the end.", "",
                      *summary(lines, tolerances), "", HEAD, *map(row_of, lines), "", *piles])


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--quick", action="store_true", help=f"the first {100 * SHORT:.0f} %% of each scene at 2e-4 and 1e-6")
    p.add_argument("--only", action="append", default=[], help="scenes whose name contains this")
    p.add_argument("--tol", type=float, action="append", default=[], help="tolerances of ours")
    p.add_argument("--solver", default="", help="contact_solver of ours")
    p.add_argument("--limit", type=float, default=50, help="CPU seconds of a scene, after which it ends early")
    p.add_argument("--piles", action="store_true", help="the growth of piles alone")
    p.add_argument("--write", action="store_true", help="renew docs/moving_measured.md")
    p.add_argument("--memory", nargs=2, metavar=("KIND", "COUNT"), help=argparse.SUPPRESS)
    options = p.parse_args()
    if options.memory:
        print_memory(options.memory[0], int(options.memory[1]))
        return
    options.tol = options.tol or list(TOLERANCES[1:3] if options.quick else TOLERANCES)
    names = [n for n in scenes_moving.SCENES if not options.only or any(part in n for part in options.only)]
    if not names:
        sys.exit("no scene has such a name")
    if options.piles:
        piles = run_piles(options)
        print("\n".join(piles))
        if options.write:
            write_piles(piles)
        return
    lines = []
    print(HEAD)
    for name in names:
        mine = run_scene(name, options)
        lines += mine
        print("\n".join(map(row_of, mine)), flush=True)
    print("\n".join(["", *summary(lines, options.tol)]))
    if options.write:
        PAGE.write_text(page(lines, options.tol, run_piles(options)))


if __name__ == "__main__":
    main()
