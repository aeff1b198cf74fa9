# SPDX-License-Identifier: Apache-2.0
"""Plots of recorded trajectories: python -m stiction.plot run.h5 -o run.png [--field qpos,energy],
performance profiles of solvers: python -m stiction.plot compare.csv -o profile.png,
and coupled constraints: python -m stiction.plot coupled coupled.csv -o coupled.png --summary-json."""
import argparse
import sys


def load(path):
    """Fields of a recording as a dict of arrays, and its attributes."""
    import h5py
    with h5py.File(path, "r") as file:
        return {name: file[name][()] for name in file}, dict(file.attrs)


def plot(path, out, fields=None):
    """Draw each recorded field against time, one panel per field."""
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    values, attributes = load(path)
    time = values.pop("time").reshape(-1)
    names = fields or [n for n in values if values[n].size]
    missing = [n for n in names if n not in values]
    if missing:
        raise SystemExit(f"stiction plot: {path} has no field {missing[0]!r}; it has {', '.join(sorted(values))}")
    figure, axes = plt.subplots(len(names), 1, sharex=True, figsize=(9, 2.3 * len(names) + 0.8), squeeze=False)
    for axis, name in zip(axes[:, 0], names):
        series = values[name].reshape(len(time), -1)
        labels = ["potential", "kinetic"] if name == "energy" else [None] * series.shape[1]
        for column, label in zip(series.T, labels):
            axis.plot(time, column, linewidth=1, label=label)
        if name == "energy":
            axis.plot(time, series.sum(axis=1), "k", linewidth=1.2, label="total")
            axis.legend(fontsize=7)
        axis.set_ylabel(name)
        axis.grid(True, alpha=0.3)
    axes[-1, 0].set_xlabel("time [s]")
    title = attributes.get("title", b"")
    axes[0, 0].set_title(title.decode() if isinstance(title, bytes) else str(title))
    figure.tight_layout()
    figure.savefig(out, dpi=110)
    plt.close(figure)


def profile(path, out):
    """Dolan and More's performance profile: the share of problems that a solver solves within a factor of the fastest.
    The CSV file has columns problem, solver, seconds and converged, such as `stiction solve --compare` writes."""
    import csv
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    times, problems = {}, set()
    with open(path, newline="") as file:
        for row in csv.DictReader(file):
            problems.add(row["problem"])
            times.setdefault(row["solver"], {})
            if row["converged"] == "1":
                times[row["solver"]][row["problem"]] = float(row["seconds"])
    best = {p: min((t[p] for t in times.values() if p in t), default=None) for p in problems}
    figure, axis = plt.subplots(figsize=(7, 4.5))
    ratios = {s: sorted(max(t[p], 1e-9) / max(best[p], 1e-9) for p in t) for s, t in times.items()}
    last = 1.5 * max((r[-1] for r in ratios.values() if r), default=10)
    for solver, ratio in ratios.items():
        share = [i / len(problems) for i in range(len(ratio) + 1)]
        axis.step([1] + ratio + [last], share + [share[-1]], where="post", label=f"{solver} ({len(ratio)} of {len(problems)})")
    axis.set_xscale("log")
    axis.set_xlim(1, last)
    axis.set_ylim(0, 1.02)
    axis.set_xlabel("time, relative to the fastest solver")
    axis.set_ylabel("share of problems solved")
    axis.grid(True, alpha=0.3)
    axis.legend(loc="lower right", fontsize=8)
    figure.tight_layout()
    figure.savefig(out, dpi=110)
    plt.close(figure)


# ---- coupled constraints -------------------------------------------------------------------------------------------


def read_coupled(path):
    """Rows of `stiction bench coupled` by (preset, sweep, value): dicts of lists of numbers; what is empty is a NaN."""
    import csv
    cases = {}
    with open(path, newline="") as file:
        reader = csv.DictReader(file)
        missing = {"preset", "sweep", "value", "step", "kappa_hat", "kappa_s", "residual"} - set(reader.fieldnames or ())
        if missing:
            raise SystemExit(f"stiction plot: {path} has no column {sorted(missing)[0]!r}; is it of `stiction bench coupled`?")
        for row in reader:
            case = cases.setdefault((row["preset"], row["sweep"], float(row["value"])), {})
            for name in reader.fieldnames[3:]:
                case.setdefault(name, []).append(float(row[name] or "nan"))
    if not cases:
        raise SystemExit(f"stiction plot: {path} has no rows")
    return cases


def _finite(values, reduce):
    """None where a JSON number cannot say it."""
    import math
    values = [x for x in values if not math.isnan(x)]
    if not values:
        return None
    x = reduce(values)
    return x if math.isfinite(x) else "inf"


def summarise(cases):
    """One entry per case, and those of all: what `--summary-json` writes."""
    entries = []
    for (preset, sweep, value), c in cases.items():
        entry = {"preset": preset, "sweep": sweep, "value": value, "samples": len(c["step"]), "last_step": int(c["step"][-1]),
                 "equations": int(c["equations"][0]), "rank": int(min(c["all_rank"])), "dropped": int(max(c["dropped"])),
                 "warnings": int(c["warnings"][-1]), "flags": 0}
        for flags in c["flags"]:
            entry["flags"] |= int(flags)
        for name, column, reduce in (("pivot_min", "pivot_min", min), ("pivot_max", "pivot_max", max), ("kappa_hat", "kappa_hat", max),
                                     ("kappa_s", "kappa_s", max), ("gap", "gap", max), ("all_kappa_hat", "all_kappa_hat", max),
                                     ("all_kappa_s", "all_kappa_s", max), ("residual", "residual", max),
                                     ("position", "position", max)):
            entry[name] = _finite(c[column], reduce)
        off = [abs(a - b) for a, b in zip(c["reaction"], c["load"])]
        entry["reaction_error"] = _finite(off[len(off) // 10:], max)
        entries.append(entry)
    return {"cases": entries, "warnings": sum(e["warnings"] for e in entries), "samples": sum(e["samples"] for e in entries),
            "residual": _finite([e["residual"] for e in entries if isinstance(e["residual"], float) and e["sweep"] != "cross"], max),
            "presets": sorted({e["preset"] for e in entries if e["sweep"] != "scene"})}


def _lines(axis, cases, columns, label, floor=1e-18):
    for number, ((preset, _, value), c) in enumerate(cases):
        for style, column in zip(("-", "--"), columns):
            y = [max(abs(x), floor) for x in c[column]]
            axis.plot(c["step"], y, style, color=f"C{number}", linewidth=1,
                      label=label(preset, value) if column == columns[0] else None)
    axis.set_yscale("log")
    axis.set_xlabel("step")


def _sweep(axis, cases, sweep, xlabel):
    """Condition numbers of all equations and of the kept ones over the values of a sweep."""
    presets = sorted({p for p, s, _ in cases if s == sweep})
    for number, preset in enumerate(presets):
        points = sorted((v, max(c["all_kappa_hat"]), max(c["kappa_hat"]), max(c["kappa_s"])) for (p, s, v), c in cases.items()
                        if (p, s) == (preset, sweep))
        x = [p[0] for p in points]
        whole = [(a, b) for a, b in zip(x, (p[1] for p in points)) if b < float("inf")]
        axis.plot(*(zip(*whole) if whole else ([], [])), "o:", color=f"C{number}", markersize=3, linewidth=1, label=f"{preset}, all")
        axis.plot(x, [p[2] for p in points], "-", color=f"C{number}", linewidth=1.2, label=f"{preset}, kept")
        axis.plot(x, [p[3] for p in points], "--", color=f"C{number}", linewidth=1)
    axis.axhline(1e8, color="0.5", linewidth=0.8)
    axis.set_xscale("log")
    axis.set_yscale("log")
    axis.set_xlabel(xlabel)
    axis.legend(fontsize=6)


def plot_coupled(path, out, summary=None):
    """The endurance plot of coupled constraints: condition numbers, pivots, residuals and drops over steps, and two sweeps."""
    import json
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    cases = read_coupled(path)
    long = [(k, c) for k, c in cases.items() if k[1] in ("endurance", "scene")]
    figure, axes = plt.subplots(3, 2, figsize=(11, 10))
    scene = {k[0] for k, _ in long if k[1] == "scene"}
    label = lambda preset, value: f"{preset} (scene)" if preset in scene else f"{preset}, {value:g} equations"
    panels = (("kappa_hat", "kappa_s"), "condition (row sum -, spectral --)"), (("pivot_max", "pivot_min"), "pivots (largest -, smallest --)"), \
             (("residual", "position"), "residual -, position --"), (("dropped",), "dropped equations")
    for axis, (columns, title) in zip(axes.flat, panels):
        _lines(axis, long, columns, label)
        axis.set_title(title, fontsize=9)
    axes[1, 1].set_yscale("linear")
    axes[1, 1].legend(fontsize=6, loc="center right")
    _sweep(axes[2, 0], cases, "softness", "softness over that of the preset (4 equations)")
    _sweep(axes[2, 1], cases, "parallel", "how far two hard equations are apart")
    for axis in axes.flat:
        axis.grid(True, alpha=0.3)
    axes[2, 0].set_ylabel("condition")
    figure.tight_layout()
    figure.savefig(out, dpi=110)
    plt.close(figure)
    if summary:
        with open(summary, "w") as file:
            json.dump(summarise(cases), file, indent=1, allow_nan=False)


def _main_coupled(argv):
    import os
    parser = argparse.ArgumentParser(prog="stiction plot coupled", description="Plot what `stiction bench coupled` wrote.")
    parser.add_argument("file")
    parser.add_argument("-o", "--output", default="plot.png")
    parser.add_argument("--summary-json", action="store_true", help="write the summary beside the picture, as .json")
    options = parser.parse_args(argv)
    summary = os.path.splitext(options.output)[0] + ".json" if options.summary_json else None
    try:
        plot_coupled(options.file, options.output, summary)
    except (ImportError, OSError, ValueError, TypeError) as problem:
        sys.exit(f"stiction plot: {options.file}: {problem}")
    print(*filter(None, (options.output, summary)), sep="\n")


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    if argv[:1] == ["coupled"]:
        return _main_coupled(argv[1:])
    parser = argparse.ArgumentParser(prog="stiction plot", description="Plot a recorded trajectory.",
                                     epilog="example: stiction plot run.h5 -o run.png --field qpos,energy")
    parser.add_argument("recording")
    parser.add_argument("-o", "--output", default="plot.png")
    parser.add_argument("--field", help="fields separated by commas; default: all")
    options = parser.parse_args(argv)
    try:
        if options.recording.endswith(".csv"):
            profile(options.recording, options.output)
        else:
            plot(options.recording, options.output, options.field.split(",") if options.field else None)
    except (ImportError, OSError) as problem:
        sys.exit(f"stiction plot: {problem}")
    print(options.output)


if __name__ == "__main__":
    main()
