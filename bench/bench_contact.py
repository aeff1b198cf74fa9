# SPDX-License-Identifier: Apache-2.0
"""Contact, side by side with MuJoCo and Drake in one run: ./dev bench contact [--quick] [--only NAME] [--write].

Every engine loads the same MJCF and makes its own way to rest; then they step turn about in short rounds. One thread is
CPU time, two threads are wall time; a ratio is the median over the rounds of MuJoCo's best solver over the engine.
--write puts the figures into docs/contact_measured.md."""
import argparse
import csv
import dataclasses
import math
import os
import pathlib
import statistics
import sys
import time
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "conformance"))
import contact_engines as engines  # noqa: E402
import contact_page  # noqa: E402
import contact_scaling  # noqa: E402
import models  # noqa: E402
import numpy as np  # noqa: E402
import scenes_contact as scenes  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[1]
TOLERANCES = (1e-10, 1e-6, 2e-4)  # the default, what is asked, and what MuJoCo leaves
VARIANTS = [(solver, cone) for solver in ("CG", "Newton") for cone in ("pyramidal", "elliptic")]


@dataclasses.dataclass
class Row:
    """A line of the table; NaN: not known."""
    scene: str
    engine: str
    setting: str
    threads: int = 1
    ms_min: float = math.nan
    ms: float = math.nan
    ratio: float = math.nan  # MuJoCo's best over this
    pour_ms: float = math.nan
    at: float = math.nan  # simulated time, s
    contacts: float = math.nan
    depth_mean: float = math.nan  # mm
    depth_max: float = math.nan
    residual: float = math.nan  # largest of all steps
    iterations: float = math.nan
    speed: float = math.nan  # median, mm/s
    drift: float = math.nan  # median displacement, um/s


class Bar:
    """Progress on stderr."""

    def __init__(self, total):
        self.total, self.done, self.start = total, 0, time.monotonic()

    def tell(self, text, step=0):
        self.done += step
        share = min(1, self.done / self.total)
        filled = round(24 * share)
        if sys.stderr.isatty():
            print(f"\r[{'#' * filled}{'.' * (24 - filled)}] {time.monotonic() - self.start:6.0f} s  {text:<60.60}", end="", file=sys.stderr, flush=True)
        elif step:
            print(f"[{100 * share:3.0f} %] {text}", file=sys.stderr, flush=True)

    def clear(self):
        if sys.stderr.isatty():
            print("\r" + " " * 100 + "\r", end="", file=sys.stderr, flush=True)


def timed(clock, function, *arguments):
    start = clock()
    function(*arguments)
    return clock() - start


def settle(engine, seconds, pour, bar, limit):
    """Steps to `seconds`, or as far as `limit` seconds of CPU allow; what was seen on the way."""
    seen = dict(residual=0.0, iterations=[], poured=[], cpu=0.0)
    steps, every = round(seconds / engine.timestep), max(1, round(0.02 / engine.timestep))
    for k in range(steps):
        spent = timed(time.process_time, engine.step)
        seen["cpu"] += spent
        if k * engine.timestep < pour:
            seen["poured"].append(spent)
        if engine.name == "Stiction" or k % every == 0:
            seen["residual"] = max(seen["residual"], engine.residual)
            seen["iterations"].append(engine.iterations)
        if k % every == 0:
            bar.tell(f"{engine.name} {engine.setting}: {engine.time:.2f} of {seconds:g} s")
        if seen["cpu"] > limit:
            break
    return seen


def rounds_of(runners, count, steps, clock, bar):
    """Seconds a step of each, [runner][round], turn about."""
    spent = [[] for _ in runners]
    for r in range(count):
        for k in range(len(runners)):
            k = (k + r) % len(runners)
            bar.tell(f"round {r + 1} of {count}: {runners[k].name} {runners[k].setting}")
            spent[k].append(timed(clock, runners[k].step, steps) / steps)
    return spent


def best_variant(engine, bar):
    """MuJoCo's fastest solver and cone from this state, among those that solve the step to 1e-3."""
    times = {}
    for solver, cone in VARIANTS:
        bar.tell(f"trying MuJoCo {solver}, {cone}")
        trial = engine.like(solver, cone)
        trial.step()
        spent = min(timed(time.process_time, trial.step) for _ in range(2))
        times[solver, cone] = (trial.residual > 1e-3, spent)
    return min(times, key=times.get)


def look(engine, seconds, limit):
    """Contacts, speeds and drift while it goes on for a while, for at most `limit` seconds of CPU."""
    start, began, speeds, residuals, iterations, cpu = engine.places, engine.time, [], [], [], 0.0
    for _ in range(max(1, round(seconds / engine.timestep))):
        if cpu > limit:
            break
        cpu += timed(time.process_time, engine.step)
        speeds.append(np.median(engine.speeds))
        residuals.append(engine.residual)
        iterations.append(engine.iterations)
    facts = engine.contact()
    moved = np.median(np.linalg.norm(engine.places - start, axis=1)) / (engine.time - began)
    return dict(at=engine.time, contacts=facts["contacts"], depth_mean=1e3 * facts["depth_mean"], depth_max=1e3 * facts["depth_max"],
                speed=1e3 * float(np.median(speeds)), drift=1e6 * float(moved), residual=max(residuals), iterations=float(np.mean(iterations)))


def compare(name, runners, facts, o, bar, threads=1, reference=None):
    """Rounds of all runners; a row each. reference: the runner that ratios are taken against."""
    clock = time.process_time if threads == 1 else time.perf_counter
    once = [timed(clock, r.step) for r in runners]
    steps = max(1, min(200, int(o.round / max(once))))
    rounds = max(3, min(o.rounds, int(o.limit / (steps * sum(once)))))
    spent = rounds_of(runners, rounds, steps, clock, bar)
    base = spent[runners.index(reference)] if reference else None
    rows = []
    for runner, times, fact in zip(runners, spent, facts):
        row = Row(name, runner.name, runner.setting, threads, 1e3 * min(times), 1e3 * statistics.median(times), **fact)
        if base:
            row.ratio = statistics.median(b / t for b, t in zip(base, times))
        rows.append(row)
    return rows


def pile(name, xml, o, bar):
    """Settled in a container: MuJoCo's best against ours at three tolerances."""
    ours, theirs = engines.Stiction(xml=xml, tol=1e-6), engines.MuJoCo(xml=xml, solver="CG")
    seen = [settle(e, o.settle, o.pour, bar, o.limit) for e in (ours, theirs)]
    solver, cone = best_variant(theirs, bar)
    runners = [theirs.like(solver, cone)] + [ours.like(tol) for tol in TOLERANCES]
    facts = []
    for runner in runners:
        fact = look(runner, o.look, o.limit / 4)
        whole = seen[0 if runner.name == "Stiction" else 1]
        if runner.name == "MuJoCo" or runner.setting == ours.setting:
            fact["residual"] = max(fact["residual"], whole["residual"])
            fact["pour_ms"] = 1e3 * float(np.mean(whole["poured"]))
        facts.append(fact)
    rows = compare(name, runners, facts, o, bar, 1, runners[0])
    if o.threads > 1:
        two = [theirs.like(solver, cone, threads=o.threads)] + [ours.like(tol, threads=o.threads) for tol in TOLERANCES]
        rows += compare(name, two, facts, o, bar, o.threads, two[0])
    return rows


def drake_pile(name, xml, o, bar):
    """Drake, MuJoCo and ours at Drake's step."""
    ours, theirs = engines.Stiction(xml=xml, tol=1e-6), engines.MuJoCo(xml=xml, solver="CG")
    runners = [theirs, ours]
    try:
        runners.append(engines.Drake(xml, 0.01))
    except ImportError:
        print("drake is not installed: left out", file=sys.stderr)
    seen = [settle(e, o.settle, o.pour, bar, o.limit) for e in runners]
    solver, cone = best_variant(theirs, bar)
    theirs.choose(solver, cone)
    facts = []
    for runner, whole in zip(runners, seen):
        fact = look(runner, o.look, o.limit / 4)
        fact["residual"] = max(fact["residual"], whole["residual"])
        fact["pour_ms"] = 1e3 * float(np.mean(whole["poured"]))
        facts.append(fact)
    return compare(name, runners, facts, o, bar, 1, theirs)


def in_hand(engine):
    """Where the cube is, in the hand's frame."""
    engine.forward()
    d, cube, hand = engine.data, engine.body("cube"), engine.body("hand")
    return np.array(d.xmat[hand]).reshape(3, 3).T @ (d.xpos[cube] - d.xpos[hand])


def grasp(name, path, o, bar):
    """A loaded cube in a gripper: how fast it creeps out of the hand, and what a step costs."""
    theirs = [engines.MuJoCo(path=path).choose(**how) for how in
              ({}, dict(cone="elliptic"), dict(cone="elliptic", impratio=100), dict(cone="elliptic", impratio=10, noslip=5))]
    runners = theirs + [engines.Stiction(path=path, tol=tol) for tol in TOLERANCES]
    load, facts = None, []
    for runner in runners:
        bar.tell(f"{runner.name} {runner.setting}: grips")
        runner.reset(0)
        h, cube = runner.timestep, runner.body("cube")
        runner.step(round(1 / h))
        if load is None:  # two fingers, half of what friction 1 can hold
            mass = float(runner.model.body_mass[cube])
            load = 0.5 * 2 * runner.push_between(cube, runner.body("left_finger")) - 9.81 * mass
        runner.data.xfrc_applied[cube, 2] = -load
        runner.step(round(1 / h))
        start = in_hand(runner)
        fact = look(runner, 2, o.limit)
        fact["drift"] = 1e6 * float(np.linalg.norm(in_hand(runner) - start)) / 2
        facts.append(fact)
    return compare(name, runners, facts, o, bar, 1, theirs[0])


def crowd(name, path, xml, o, bar):
    """Humanoids that have fallen down."""
    ours, theirs = engines.Stiction(path=path, xml=xml, tol=1e-6), engines.MuJoCo(path=path, xml=xml)
    seen = [settle(e, o.fall, o.fall, bar, o.limit) for e in (ours, theirs)]
    solver, cone = best_variant(theirs, bar)
    runners = [theirs.like(solver, cone)] + [ours.like(tol) for tol in TOLERANCES]
    facts = [look(runner, 0.2, o.limit / 4) for runner in runners]
    for runner, fact in zip(runners, facts):
        whole = seen[0 if runner.name == "Stiction" else 1]
        if runner.setting in (ours.setting, theirs.setting):
            fact["residual"] = max(fact["residual"], whole["residual"])
            fact["pour_ms"] = 1e3 * float(np.mean(whole["poured"]))
    rows = compare(name, runners, facts, o, bar, 1, runners[0])
    if o.threads > 1 and xml:
        two = [theirs.like(solver, cone, threads=o.threads)] + [ours.like(tol, threads=o.threads) for tol in TOLERANCES]
        rows += compare(name, two, facts, o, bar, o.threads, two[0])
    return rows


def plan(o):
    """Name, function and a function that makes its arguments, of all scenes."""
    def count(n):
        return max(10, n // 5) if o.quick else n

    def humanoid():
        return models.unpack("mujoco-warp") / "humanoid" / "humanoid.xml"

    few, many, people = count(200), count(1000), count(100)
    yield f"{few} spheres, h = 10 ms", drake_pile, lambda: (scenes.spheres(few, 0.01),)
    yield f"{many} spheres", pile, lambda: (scenes.spheres(many),)
    yield f"{many} boxes", pile, lambda: (scenes.boxes(many),)
    yield "1 humanoid", crowd, lambda: (humanoid(), None)
    yield "22 humanoids", crowd, lambda: (None, scenes.crowd(humanoid(), 22))
    yield f"{people} humanoids", crowd, lambda: (None, scenes.crowd(humanoid(), people))
    yield "Panda holds a cube", grasp, lambda: (scenes.panda(models.unpack("genesis-world") / "franka_emika_panda"),)


HEAD = ("scene", "engine", "setting", "threads", "ms (median)", "ms (least)", "ratio", "ms pouring", "at, s", "contacts", "depth mean, mm", "max",
        "residual", "iterations", "speed, mm/s", "drift, um/s")


def cells(row):
    """A row as text."""
    def figure(x, form):
        return "" if math.isnan(x) else form.format(x)
    return (row.scene, row.engine, row.setting, str(row.threads), figure(row.ms, "{:.3g}"), figure(row.ms_min, "{:.3g}"),
            figure(row.ratio, "{:.2f}"), figure(row.pour_ms, "{:.3g}"), figure(row.at, "{:.1f}"), figure(row.contacts, "{:.0f}"), figure(row.depth_mean, "{:.3f}"),
            figure(row.depth_max, "{:.2f}"), figure(row.residual, "{:.0e}"), figure(row.iterations, "{:.1f}"), figure(row.speed, "{:.2g}"),
            figure(row.drift, "{:.2g}"))


def print_rows(rows):
    lines = [HEAD] + [cells(r) for r in rows]
    widths = [max(len(line[k]) for line in lines) for k in range(len(HEAD))]
    for line in lines:
        print("  ".join(t.ljust(w) if k < 3 else t.rjust(w) for k, (t, w) in enumerate(zip(line, widths))))


def save(rows, path):
    with open(path, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow([f.name for f in dataclasses.fields(Row)])
        writer.writerows(dataclasses.astuple(r) for r in rows)


def read(folder):
    """Rows and growth of an earlier run."""
    with open(os.path.join(folder, "contact.csv"), newline="") as text:
        kinds = {f.name: f.type for f in dataclasses.fields(Row)}
        rows = [Row(**{k: {"str": str, "int": int}.get(getattr(kinds[k], "__name__", kinds[k]), float)(v) for k, v in line.items()})
                for line in csv.DictReader(text)]
    path = os.path.join(folder, "contact_scaling.csv")
    if not os.path.exists(path):
        return rows, []
    with open(path, newline="") as text:
        kinds = {"scene": str, "bodies": int, "contacts": int}
        return rows, [{k: kinds.get(k, float)(v) for k, v in line.items()} for line in csv.DictReader(text)]


def scale(o, bar):
    """Growth from 100 to 20,000 bodies, printed and saved."""
    program = str(ROOT / "build" / "bench" / "bench_stages")
    rows = contact_scaling.run(program, o.quick, 1, o.limit, bar.tell)
    bar.clear()
    if rows:
        print("  ".join(f"{k:>13}" for k in rows[0]))
        for r in rows:
            print("  ".join(f"{v:>13}" if isinstance(v, str) else f"{v:>13.4g}" for v in r.values()))
        with open(os.path.join(o.out, "contact_scaling.csv"), "w", newline="") as out:
            writer = csv.DictWriter(out, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)
    return rows


def options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a fifth of the bodies, a fifth of the time")
    parser.add_argument("--only", default="", help="only scenes whose name contains this text")
    parser.add_argument("--settle", type=float, default=10, help="seconds of simulated time before the rounds")
    parser.add_argument("--pour", type=float, default=1, help="of these, seconds that count as pouring")
    parser.add_argument("--fall", type=float, default=2, help="seconds that humanoids have to fall down")
    parser.add_argument("--look", type=float, default=0.5, help="simulated seconds over which rest is judged")
    parser.add_argument("--limit", type=float, default=3600, help="seconds of CPU that settling may take, per engine and scene")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--round", type=float, default=0.5, help="seconds of the slowest in a round")
    parser.add_argument("--threads", type=int, default=2, help="the second count of threads; 1 = one thread only")
    parser.add_argument("--out", default=str(ROOT / "out"))
    parser.add_argument("--write", action="store_true", help="write docs/contact_measured.md and its pictures")
    parser.add_argument("--again", action="store_true", help="measure nothing: write the page from the figures of the last run")
    o = parser.parse_args()
    if o.quick:
        o.settle, o.rounds, o.limit = min(o.settle, 2), min(o.rounds, 5), min(o.limit, 120)
    return o


def told(o):
    """How long piles settled, for the page."""
    return f"{o.settle:g} s of simulated time, or {o.limit:g} s of CPU if that is sooner" + ("; a quick run with a fifth of the bodies" if o.quick else "")


def main():
    o = options()
    warnings.simplefilter("ignore")
    os.makedirs(o.out, exist_ok=True)
    if o.again:
        rows, growth = read(o.out)
        contact_page.write(rows, growth, HEAD, cells, ROOT / "docs", told(o))
        return
    todo = [p for p in plan(o) if o.only in p[0]]
    bar, rows = Bar(len(todo) + 1), []
    for name, function, arguments in todo:
        bar.tell(name)
        found = function(name, *arguments(), o, bar)
        bar.clear()
        print_rows(found)
        print(flush=True)
        rows += found
        save(rows, os.path.join(o.out, "contact.csv"))
        bar.tell(name, 1)
    bar.clear()
    growth = scale(o, bar) if o.only in "scaling" else []
    contact_page.plots(rows, o.out)
    contact_page.plot_scaling(growth, o.out)
    print(f"figures: {o.out}/contact.csv, contact_scaling.csv; pictures: contact.png, contact_scaling.png")
    if o.write:
        contact_page.write(rows, growth, HEAD, cells, ROOT / "docs", told(o))


if __name__ == "__main__":
    main()
