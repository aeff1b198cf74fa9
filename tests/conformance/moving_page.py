# SPDX-License-Identifier: Apache-2.0
"""What the runs of moving.py show: findings per model, a summary, and docs/robots.md."""
import collections
import fnmatch
import math

from moving_reasons import REASONS, SLOW

CERTIFICATE = 1e-6
FASTER = 10.0     # times MuJoCo's largest speed
MOVES = 0.05      # rad or m in MuJoCo: a joint that moves
SAME = 0.2        # share by which ranges of motion may differ
SLOWEST = 0.9     # of MuJoCo's speed
RUNS = ("home", "random")


def joint_findings(run):
    """(joints that move in MuJoCo and hardly here, those whose ranges differ, how many are compared)."""
    still, other, compared = [], [], 0
    for name, ours, theirs, met in run["joints"]:
        least, most = min(theirs), max(theirs)
        if least < MOVES:
            continue
        compared += 1
        if max(ours) < SAME * least:
            still.append(name)
        elif not met and (max(ours) < (1 - SAME) * least or min(ours) > (1 + SAME) * most):
            other.append(name)
    return still, other, compared


def run_findings(run):
    """Why a run does not hold, as (kind, text)."""
    if run["their_error"]:
        return [("MuJoCo", run["their_error"])]
    if run["error"]:
        return [("error", run["error"])]
    found = []
    if run["speed"] > FASTER * max(run["their_speed"], 0.1):
        found.append(("speed", f"{run['speed']:.3g} against {run['their_speed']:.3g} in MuJoCo"))
    if run["certificate"] > CERTIFICATE:
        found.append(("certificate", f"{run['certificate']:.1e}, {run['bad']} steps"))
    still, other, compared = joint_findings(run)
    if still:
        found.append(("still", f"{len(still)} of {compared}: {', '.join(still[:4])}"))
    if other:
        found.append(("range", f"{len(other)} of {compared}"))
    return found


def findings(result):
    """All of a model, as (run, kind, text)."""
    for kind in ("load", "crash"):
        if kind in result:
            return [("", kind, result[kind])]
    return [(name, kind, text) for name in RUNS if name in result for kind, text in run_findings(result[name])]


def ratio(run):
    """MuJoCo's time over ours; None where it was not measured."""
    return run["us"][1] / run["us"][0] if run and "us" in run else None


def mean_ratio(results, name):
    """(geometric mean, least, how many)."""
    all_of = [ratio(r.get(name)) for r in results.values()]
    all_of = [x for x in all_of if x]
    if not all_of:
        return math.nan, math.nan, 0
    return math.exp(sum(map(math.log, all_of)) / len(all_of)), min(all_of), len(all_of)


def counted(results, warning):
    return sum(r[name]["warnings"].get(warning, 0) for r in results.values() for name in RUNS if name in r)


def summary(results):
    """A table in text: models with findings, then the totals."""
    lines, kinds = [], {}
    for name, result in sorted(results.items()):
        for run, kind, text in findings(result):
            kinds.setdefault(kind, set()).add(name)
            lines.append(f"{kind:<12}{run:<7} {name}: {text}")
    ran = {n: r for n, r in results.items() if "home" in r}
    left = ", ".join(f"{sum(why in r for r in results.values())} {why}" for why in ("skipped", "unsupported"))
    lines.append(f"{len(ran)} models ran, {left}; with findings: "
                 + (", ".join(f"{kind} {len(names)}" for kind, names in sorted(kinds.items())) or "none"))
    lines.append(f"STALLED {counted(ran, 'STALLED')}, ITERATION_CAP {counted(ran, 'ITERATION_CAP')} steps")
    for run in RUNS:
        mean, least, count = mean_ratio(ran, run)
        slow = sum((ratio(r.get(run)) or SLOWEST) < SLOWEST for r in ran.values())
        lines.append(f"speed over MuJoCo's, {run}: {mean:.2f} (geometric mean of {count}), least {least:.2f}, {slow} below {SLOWEST}")
    return "\n".join(lines)


# ---- the page ------------------------------------------------------------------------------------------------------------

HEAD = """# Robots as they come

How robots and scenes of other projects move and how fast they are, beside MuJoCo 4.0. The models are all MJCF files in a set of Python wheels. Contact, limits,
equalities and actuators are on. Each model is run twice in both engines, in a process of its own with a time limit:

- *home*: {steps} from the first keyframe (or `qpos0`), with its controls held;
- *random*: {steps} with controls that jump every 0.1 s within their ranges, the same in both engines.

A *finding* is a model that moves differently from MuJoCo, or whose steps are not solved; [below](#what-counts-as-a-finding) is how it is decided, and then the cause
of each. *Speed* is MuJoCo's time for a step divided by Stiction's, on one thread, each the fastest of runs that take turns: a number above 1 means that Stiction is faster.

| | |
|---|---|
"""

NOTES = """
## What counts as a finding

- *error*: a step that failed; *speed*: a largest velocity above ten times MuJoCo's; *certificate*: a step whose [certificate](glossary.md) is above 1e-6.
- *still*: a joint that moves by 0.05 (rad or m) or more in MuJoCo, and by less than a fifth of that here.
- *range*: a joint that moves by 20 % more or less than in MuJoCo and has not met a limit.

Motion that is sensitive to small changes does not count. MuJoCo runs with half the time step too, and everything between its two ranges of motion (and 20 % around them) is
accepted. Where a joint is still *still* or out of *range*, Stiction also runs with half the time step, and both engines run three times more, from velocities that are changed by up
to 1e-4. If the ranges of these runs overlap (within 20 %), small differences grow in this model, and it is no finding.

Models in which MuJoCo itself diverges, soft bodies and models without a joint are not compared.

## Robots without contact

Speeds of robots that touch nothing (their free joint 20 m higher, 300 steps): G1 1.89, Go1 1.90, gymnasium's ant 2.13 and humanoid 1.82, dm-control's humanoid 1.57, CMU humanoid 1.62, dog (85 dofs) 1.49,
rodent 1.48, Spot 1.47, six humanoids (162 dofs) 1.26; geometric mean 1.64.

## To run it

`./dev conformance moving --all --write` writes this page; `--only PATTERN`, `--wheel NAME`, `--limit N`, `--steps N` and `--again` choose what is
run (again), and `--repeats 0` leaves the timing out. Without `--all` six files of each folder are taken. Results are kept in `out/moving/results.json`; a run that was
interrupted continues where it ended.

## Robots with findings, and why

| robot | run | finding | why |
|---|---|---|---|
"""


def reason(name, kind):
    """Why a finding is there, as far as it is known."""
    return next((why for pattern, kinds, why in REASONS if kind in kinds.split() and fnmatch.fnmatch(name, pattern)), "")


def slow_rows(results):
    """Speeds below SLOWEST and why, as lines of a table."""
    lines = ["", f"Speeds below {SLOWEST}:", "", "| robot | run | speed | why |", "|---|---|---|---|"]
    for name, result in sorted(results.items()):
        for run in RUNS:
            if (ratio(result.get(run)) or SLOWEST) < SLOWEST:
                why = next((why for pattern, why in SLOW if fnmatch.fnmatch(name, pattern)), "not yet looked into")
                lines.append(f"| {name} | {run} | {cell(result[run])} | {why} |")
    return lines if len(lines) > 5 else []


def conditions(results):
    """How results were made, for the page: (steps, timed runs) and of how many files."""
    kinds = collections.Counter((r.get("steps"), r.get("repeats")) for r in results.values())
    return ", ".join(f"{steps:,} steps, the faster of {repeats} runs ({count} files)" if repeats else f"{steps:,} steps, not timed ({count} files)"
                     for (steps, repeats), count in kinds.most_common() if steps) or "not known"


def totals(results, known):
    ran = {n: r for n, r in results.items() if "home" in r}
    most = max((r[run]["certificate"] for r in ran.values() for run in RUNS if run in r and not r[run]["their_error"]), default=0)
    rows = [("files that were tried", f"{len(results)} of {known} in the wheels"), ("steps and timed runs of each", conditions(results)), ("robots and scenes that ran", len(ran)), ("skipped: MuJoCo does not load them, nothing moves, soft bodies", sum("skipped" in r for r in results.values())),
            ("with elements that are not supported", sum("unsupported" in r for r in results.values())), ("largest certificate", f"{most:.1e}"),
            ("`STALLED`, `ITERATION_CAP`", f"{counted(ran, 'STALLED')}, {counted(ran, 'ITERATION_CAP')}")]
    for run in RUNS:
        mean, least, count = mean_ratio(ran, run)
        slow = sum((ratio(r.get(run)) or SLOWEST) < SLOWEST for r in ran.values())
        rows.append((f"speed over MuJoCo's, {run}", f"{mean:.2f} (geometric mean of {count}), least {least:.2f}, {slow} below {SLOWEST}"))
    return rows


def cell(run):
    return f"{ratio(run):.2f}" if ratio(run) else ""


def write(path, results, steps, note, known):
    lines = [HEAD.format(steps=f"{steps:,} steps").rstrip("\n")] + [f"| {name} | {value} |" for name, value in totals(results, known)] + ([f"\n{note}"] if note else []) + slow_rows(results) + [NOTES.rstrip("\n")]
    for name, result in sorted(results.items()):
        lines += [f"| {name} | {run} | {kind}: {text.split(': ', 1)[-1] if kind == 'load' else text} | {reason(name, kind) or 'not yet looked into'} |"
                  for run, kind, text in findings(result) if kind != "MuJoCo"]
    lines += ["", "## All robots", "", "| robot | dofs | speed, home | speed, random | largest certificate |", "|---|---|---|---|---|"]
    for name, result in sorted(results.items()):
        if "home" in result:
            most = max(result[run]["certificate"] for run in RUNS if run in result)
            lines.append(f"| {name} | {result['nv']} | {cell(result['home'])} | {cell(result.get('random'))} | {most:.0e} |")
    path.write_text("\n".join(lines) + "\n")
