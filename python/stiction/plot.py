# SPDX-License-Identifier: Apache-2.0
"""Plots of recorded trajectories: python -m stiction.plot run.h5 -o run.png [--field qpos,energy]."""
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


def main(argv=None):
    parser = argparse.ArgumentParser(prog="stiction plot", description="Plot a recorded trajectory.",
                                     epilog="example: stiction plot run.h5 -o run.png --field qpos,energy")
    parser.add_argument("recording")
    parser.add_argument("-o", "--output", default="plot.png")
    parser.add_argument("--field", help="fields separated by commas; default: all")
    options = parser.parse_args(argv)
    try:
        plot(options.recording, options.output, options.field.split(",") if options.field else None)
    except (ImportError, OSError) as problem:
        sys.exit(f"stiction plot: {problem}")
    print(options.output)


if __name__ == "__main__":
    main()
