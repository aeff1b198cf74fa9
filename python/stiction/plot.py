# SPDX-License-Identifier: Apache-2.0
"""Plots of recorded trajectories: python -m stiction.plot run.h5 -o run.png [--field qpos,energy],
performance profiles and histories of solvers: python -m stiction.plot compare.csv -o profile.png,
and coupled constraints: python -m stiction.plot coupled coupled.csv -o coupled.png --summary-json."""
import argparse
import os
import stat
import sys


class BadFile(Exception):
    """What is wrong with a file, in words."""


# ---- files and the canvas ------------------------------------------------------------------------------------------


def _regular(path):
    """Refuses what would block or never end: pipes, devices, folders."""
    mode = os.stat(path).st_mode
    if not stat.S_ISREG(mode):
        raise BadFile("it is a folder" if stat.S_ISDIR(mode) else "it is not a regular file")


def _pyplot():
    """matplotlib.pyplot for files. Matplotlib takes settings from the folder it is imported in: not those of whoever left
    them beside the recording."""
    try:
        here = os.open(".", os.O_RDONLY)
    except OSError:
        here = -1
    os.chdir("/")
    try:
        import matplotlib
        matplotlib.use("Agg")
        import matplotlib.pyplot
        return matplotlib.pyplot
    finally:
        if here >= 0:
            os.fchdir(here)
            os.close(here)


def _save(figure, out):
    figure.tight_layout()
    figure.savefig(out, dpi=110)
    _pyplot().close(figure)


# ---- trajectories --------------------------------------------------------------------------------------------------

_PACKED = 1000  # a compressed dataset may hold this many times the file's bytes


def _numbers(file, name, length):
    """A dataset of real numbers of this very file, as [frame, n]."""
    import h5py
    if not isinstance(file.get(name, getlink=True), h5py.HardLink):
        raise BadFile(f"{name} is a link")
    item = file[name]
    if not isinstance(item, h5py.Dataset) or item.dtype.kind != "f" or item.ndim not in (1, 2):
        raise BadFile(f"{name} is not an array of reals [frame, n]")
    if item.is_virtual or item.external:
        raise BadFile(f"{name} lies in another file")
    if item.size * item.dtype.itemsize > _PACKED * length:
        raise BadFile(f"{name} says it has {item.size} numbers, more than the file can hold")
    values = item[()]
    return values.reshape(len(values), -1) if values.size else values.reshape(len(values), 0)


def _open(path):
    """A recording, which may still be in writing, or have been when its process was killed."""
    import h5py
    _regular(path)
    try:
        return h5py.File(path, "r")
    except OSError:
        return h5py.File(path, "r", swmr=True)


def _texts(item, name):
    """The attribute of a dataset with a text for each column; empty texts where it has none."""
    found = item.attrs.get(name, ())
    texts = [t.decode(errors="replace") if isinstance(t, bytes) else str(t) for t in getattr(found, "flat", found)]
    count = item.shape[1] if item.ndim == 2 else 1
    return texts if len(texts) == count else [""] * count


def load(path):
    """Fields of a recording as a dict of arrays [frame, n], all as long as the shortest; its attributes; and labels and units of the
    columns of each field."""
    length = os.path.getsize(path)
    with _open(path) as file:
        if "time" not in file:
            raise BadFile("it is not a trajectory: it has no dataset of times")
        values = {name: _numbers(file, name, length) for name in file}
        attributes = dict(file.attrs)
        columns = {name: list(zip(_texts(file[name], "columns"), _texts(file[name], "units"))) for name in file}
    if values["time"].shape[1] != 1:
        raise BadFile(f"time has {values['time'].shape[1]} columns")
    frames = min(len(v) for v in values.values())
    return {name: v[:frames] for name, v in values.items()}, attributes, columns


def plot(path, out, fields=None):
    """Draw each recorded field against time, one panel for each field and unit."""
    values, attributes, columns = load(path)
    time = values.pop("time")[:, 0]
    names = fields or [n for n in values if values[n].size]
    missing = [n for n in names if n not in values]
    if missing:
        raise BadFile(f"it has no field {missing[0]!r}; it has {', '.join(sorted(values)) or 'none'}")
    if not names:
        raise BadFile("it has no frames to draw")
    plt = _pyplot()
    panels = [(name, unit, [i for i, (_, u) in enumerate(columns[name]) if u == unit]) for name in names
              for unit in dict.fromkeys(u for _, u in columns[name])]
    across = 1 if len(panels) <= 7 else 2  # side by side where there are many
    down = -(-len(panels) // across)
    figure, axes = plt.subplots(down, across, sharex=True, figsize=(10 * across, 2.3 * down + 0.8), squeeze=False)
    for axis in axes.T.flat[len(panels):]:
        axis.set_axis_off()
    for axis, (name, unit, which) in zip(axes.T.flat, panels):
        _panel(axis, name, unit, time, values[name][:, which], [columns[name][i][0] for i in which])
    for column in axes.T:
        column[-1].set_xlabel("time [s]")
    title = attributes.get("title", b"")
    axes[0, 0].set_title(title.decode(errors="replace") if isinstance(title, bytes) else str(title), parse_math=False)
    _save(figure, out)


_LEGEND = 24  # columns that a legend names; the others are drawn without


def _panel(axis, name, unit, time, series, labels):
    for k, (column, label) in enumerate(zip(series.T, labels)):
        axis.plot(time, column, linewidth=1, label=label.replace("_", " ") if label and k < _LEGEND else None)
    if name == "energy" and series.shape[1] == 2:
        axis.plot(time, series.sum(axis=1), "k", linewidth=1.2, label="total")
    handles, shown = axis.get_legend_handles_labels()
    if series.shape[1] > _LEGEND:
        handles.append(axis.plot([], [], alpha=0)[0])
        shown.append(f"and {series.shape[1] - _LEGEND} more")
    if handles:
        legend = axis.legend(handles, shown, fontsize=7, loc="upper left", bbox_to_anchor=(1.0, 1.02), ncols=1 + (len(shown) - 1) // 12, frameon=False)
        for text in legend.get_texts():
            text.set_parse_math(False)
    axis.set_ylabel(f"{name} [{unit.replace('^2', '²')}]" if unit else name, parse_math=False)
    axis.grid(True, alpha=0.3)


# ---- performance profiles ------------------------------------------------------------------------------------------


def _rows(path, columns):
    """Rows of a CSV file as dicts, all with these columns; and its heading."""
    import csv
    _regular(path)
    with open(path, newline="", encoding="utf-8") as file:
        reader = csv.DictReader(file, restval="")
        missing = [c for c in columns if c not in (reader.fieldnames or ())]
        if missing:
            raise BadFile(f"it has no column {missing[0]!r}")
        return list(reader), reader.fieldnames


def _real(row, name):
    try:
        return float(row[name])
    except ValueError:
        raise BadFile(f"{name} is {row[name]!r}, not a number") from None


def profile(path, out):
    """Dolan and More's performance profile: the share of problems that a solver solves within a factor of the fastest.
    The CSV file has columns problem, solver, seconds and converged, such as `stiction solve --compare` writes."""
    times, problems = {}, set()
    for row in _rows(path, ("problem", "solver", "seconds", "converged"))[0]:
        problems.add(row["problem"])
        solver = times.setdefault(row["solver"], {})
        if row["converged"] == "1":
            solver[row["problem"]] = _real(row, "seconds")
    if not problems:
        raise BadFile("it has no rows")
    plt = _pyplot()
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
    _save(figure, out)


def history(path, out):
    """The certificate's headline after each iteration of a solver, as `stiction solve --history --csv` writes it."""
    rows, _ = _rows(path, ("iteration", "headline"))
    points = [(_real(row, "iteration"), _real(row, "headline")) for row in rows]
    if not points:
        raise BadFile("it has no rows")
    figure, axis = _pyplot().subplots(figsize=(7, 4.5))
    axis.plot([x for x, _ in points], [y if y > 0 else float("nan") for _, y in points], ".-", linewidth=1, markersize=3)
    axis.set_yscale("log")
    axis.set_xlabel("iteration")
    axis.set_ylabel("headline of the certificate")
    axis.grid(True, alpha=0.3)
    _save(figure, out)


def table(path, out):
    """A CSV file of `stiction solve`: a history or a comparison, by its heading."""
    _regular(path)
    with open(path, "rb") as file:
        first = file.readline(1000)
    (history if first.startswith(b"iteration,") else profile)(path, out)


# ---- coupled constraints -------------------------------------------------------------------------------------------


def read_coupled(path):
    """Rows of `stiction bench coupled` by (preset, sweep, value): dicts of lists of numbers; what is empty is a NaN."""
    columns = ("preset", "sweep", "value", "step", "equations", "all_rank", "dropped", "warnings", "flags", "pivot_min", "pivot_max",
               "kappa_hat", "kappa_s", "gap", "all_kappa_hat", "all_kappa_s", "residual", "position", "reaction", "load")
    rows, heading = _rows(path, columns)
    cases = {}
    for row in rows:
        case = cases.setdefault((row["preset"], row["sweep"], _real(row, "value")), {})
        for name in heading[3:]:
            case.setdefault(name, []).append(_real(row, name) if row[name] else float("nan"))
    if not cases:
        raise BadFile("it has no rows")
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
    cases = read_coupled(path)
    plt = _pyplot()
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
    _save(figure, out)
    if summary:
        with open(summary, "w") as file:
            json.dump(summarise(cases), file, indent=1, allow_nan=False)


# ---- commands ------------------------------------------------------------------------------------------------------


def _draw(file, function, *arguments):
    """Whatever is wrong with a file is one line and exit status 1: what files can hold is more than can be foreseen."""
    try:
        function(file, *arguments)
    except Exception as problem:
        words = str(problem).partition("\n")[0] or type(problem).__name__
        sys.exit(f"stiction plot: {file}: {words if isinstance(problem, (BadFile, OSError, ImportError)) else 'cannot be drawn: ' + words}")


def _main_coupled(argv):
    parser = argparse.ArgumentParser(prog="stiction plot coupled", description="Plot what `stiction bench coupled` wrote.")
    parser.add_argument("file")
    parser.add_argument("-o", "--output", default="plot.png")
    parser.add_argument("--summary-json", action="store_true", help="write the summary beside the picture, as .json")
    options = parser.parse_args(argv)
    summary = os.path.splitext(options.output)[0] + ".json" if options.summary_json else None
    _draw(options.file, plot_coupled, options.output, summary)
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
    if options.recording.endswith(".csv"):
        _draw(options.recording, table, options.output)
    else:
        _draw(options.recording, plot, options.output, options.field.split(",") if options.field else None)
    print(options.output)


if __name__ == "__main__":
    main()
