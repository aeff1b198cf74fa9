# SPDX-License-Identifier: Apache-2.0
"""Draws hydroelastic.svg: signs of a patch, and errors of a ball on a plane. Usage: python docs/images/hydroelastic.py"""
import pathlib

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "stiction", "svg.fonttype": "none", "font.size": 9})
import matplotlib.pyplot as plt  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.patches import Circle, Rectangle  # noqa: E402

FIRST, SECOND, AXIS, FORCE = "#c9d3dc", "#f0d9a8", "#2b5d8a", "#b3312b"

# |error| of the force in per cent at an indentation of R / 10, from tests/test_patch.c and docs/hydroelastic.md
EDGE = [1 / 2, 1 / 4, 1 / 8, 1 / 16]
SERIES = {
    "nodes on the sphere": ([69.7, 23.0, 5.3, 1.45], "o--", "#8a8a8a"),
    "the sphere's volume": ([4.1, 1.8, 0.32, 0.09], "s-", AXIS),
    "the same, on a pole": ([10.6, 4.5, 1.26, 0.33], "v-", FORCE),
}


def arrow(ax, start, step, color, text, side=(0.03, 0.02)):
    ax.annotate("", xy=(start[0] + step[0], start[1] + step[1]), xytext=start,
                arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.6, "shrinkA": 0, "shrinkB": 0})
    ax.text(start[0] + step[0] + side[0], start[1] + step[1] + side[1], text, color=color)


def sketch(ax):
    depth = 0.35
    ax.add_patch(Rectangle((-1.4, -0.5), 2.8, 0.5, color=FIRST))
    ax.add_patch(Circle((0, 1 - depth), 1, color=SECOND, alpha=0.85))
    for r in (0.8, 0.6, 0.4, 0.2):
        ax.add_patch(Circle((0, 1 - depth), r, fill=False, ec="#b89a50", lw=0.7))
    half = np.sqrt(1 - (1 - depth) ** 2)
    x = np.linspace(-half, half, 80)
    p = 1 - np.sqrt(x**2 + (1 - depth) ** 2)
    ax.fill_between(x, 0, p, color=FORCE, alpha=0.35, lw=0)
    ax.plot([-half, half], [0, 0], color=FORCE, lw=2)
    for cut in np.linspace(-half, half, 8):
        ax.plot([cut, cut], [-0.03, 0.03], color=FORCE, lw=1)
    arrow(ax, (0, 0), (0, 0.75), AXIS, "n, from 1 to 2")
    arrow(ax, (-0.45, 0.35), (0.22, 0.2), "#7a5f12", "∇p", (-0.02, 0.04))
    ax.text(-1.35, -0.42, "1: rigid")
    ax.text(0.35, 1.35, "2: compliant, p = 0 outside,\nE at the centre", fontsize=8)
    ax.text(0.3, -0.2, "polygons, pressure on them", color=FORCE, fontsize=8)
    ax.set(xlim=(-1.45, 1.45), ylim=(-0.55, 1.75), aspect="equal")
    ax.axis("off")


def errors(ax):
    for name, (error, style, color) in SERIES.items():
        ax.loglog(EDGE, error, style, color=color, label=name, ms=4)
    ax.loglog([1 / 4, 1 / 16], [8, 0.5], "k:", lw=1)
    ax.text(0.1, 2.6, "order 2")
    ax.set(xlabel="edge / R", ylabel="error of the force, %", xticks=EDGE)
    ax.set_xticklabels(["1/2", "1/4", "1/8", "1/16"])
    ax.minorticks_off()
    ax.legend(frameon=False, fontsize=8)


def main():
    figure, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.4), layout="constrained")
    sketch(left)
    errors(right)
    figure.savefig(pathlib.Path(__file__).with_suffix(".svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
