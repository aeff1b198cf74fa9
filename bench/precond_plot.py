# SPDX-License-Identifier: Apache-2.0
"""Time of one solve over the number of nodes: python bench/precond_plot.py build/bench/bench_precond docs/images/precond_growth.png"""
import re
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def read(text):
    """{(kind, E): [(nodes, ms), ...]} of the program's output."""
    series, nodes, young = {}, 0, 0
    for line in text.splitlines():
        if head := re.match(r"(\d+) nodes .* E = ([^,]+),", line):
            nodes, young = int(head[1]), float(head[2])
        elif row := re.match(r"\s+(\w+) .*fill \+ solve\s+([\d.]+) ms", line):
            series.setdefault((row[1], young), []).append((nodes, float(row[2])))
    return series


def main(program, path):
    series = read(open(program).read() if program.endswith(".txt") else
                  subprocess.run([program], capture_output=True, text=True, check=True).stdout)
    for (kind, young), points in sorted(series.items()):
        if kind in ("jacobi", "mg", "direct"):
            plt.loglog(*zip(*points), "o-" if young < 1e6 else "s--", label=f"{kind}, E = {young:.0e}")
    points = series["mg", 1e5]
    plt.loglog([p[0] for p in points], [points[0][1] * p[0] / points[0][0] for p in points], "k:", label="linear")
    plt.xlabel("nodes")
    plt.ylabel("new matrix and solve to 1e-6, ms")
    plt.legend(fontsize=8)
    plt.grid(which="both", alpha=0.3)
    plt.tight_layout()
    plt.savefig(path, dpi=110)


if __name__ == "__main__":
    main(*sys.argv[1:])
