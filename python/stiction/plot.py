# SPDX-License-Identifier: Apache-2.0
"""Plots of recorded trajectories: python -m stiction.plot run.h5 -o run.png [--field qpos,energy],
and performance profiles of solvers: python -m stiction.plot compare.csv -o profile.png."""
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


def main(argv=None):
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
