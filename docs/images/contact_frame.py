# SPDX-License-Identifier: Apache-2.0
"""Draws contact_frame.svg: frame and signs of the contact sensor. Usage: python docs/images/contact_frame.py"""
import pathlib

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({"svg.hashsalt": "stiction", "svg.fonttype": "none", "font.size": 9})
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.patches import Circle, Rectangle  # noqa: E402

FIRST, SECOND, AXIS, FORCE = "#c9d3dc", "#f0d9a8", "#2b5d8a", "#b3312b"


def arrow(ax, start, step, color, text, side=(0.05, 0.05)):
    ax.annotate("", xy=(start[0] + step[0], start[1] + step[1]), xytext=start,
                arrowprops={"arrowstyle": "-|>", "color": color, "lw": 1.8, "shrinkA": 0, "shrinkB": 0})
    ax.text(start[0] + step[0] + side[0], start[1] + step[1] + side[1], text, color=color)


def through(ax, at, out, color, text):
    """An axis along the line of sight, towards the reader or away."""
    ax.add_patch(Circle(at, 0.07, fill=True, fc="white", ec=color, lw=1.5, zorder=3))
    ax.text(*at, "•" if out else "×", color=color, ha="center", va="center", zorder=4)
    ax.text(at[0] + 0.11, at[1] - 0.02, text, color=color)


def bodies(ax, floor, box):
    ax.add_patch(Rectangle((-1.5, -0.6), 3, 0.6, color=FIRST))
    ax.add_patch(Rectangle((-0.9, 0), 1.8, 0.9, color=SECOND))
    ax.text(-1.4, -0.5, floor)
    ax.text(0.32, 0.72, box)


def frame(ax, down):
    """The frame of a contact at the origin, and the force that goes with it."""
    sign = -1 if down else 1
    arrow(ax, (0, 0), (0, sign * 0.55), AXIS, "normal", (0.05 if not down else -0.52, -0.02))
    arrow(ax, (0, 0), (sign * 0.6, 0), AXIS, "tangent 0", (-0.62 if down else -0.1, 0.08 if down else -0.17))
    through(ax, (-0.5, -0.3) if not down else (0.22, 0.16), False, AXIS, "tangent 1")
    arrow(ax, (0, 0), (-0.3 * sign, 0.75 * sign), FORCE, "force on 2", (-0.7 if not down else 0.05, -0.1))
    ax.plot(0, 0, "ko", ms=4, zorder=5)


def squeezed(ax):
    ax.add_patch(Rectangle((-1.5, -0.6), 3, 0.4, color=FIRST))
    ax.add_patch(Rectangle((-1.5, 0.9), 3, 0.4, color=FIRST))
    ax.add_patch(Circle((0, 0.35), 0.55, color=SECOND))
    ax.add_patch(Circle((0, 0.35), 0.85, fill=False, ls="--", ec="gray"))
    ax.text(0.66, 0.85, "site", color="gray")
    for y, text in ((-0.2, "floor on ball"), (0.9, "ball on ceiling")):
        arrow(ax, (-0.12, y), (0, 0.38), AXIS, "", (0, 0))
        ax.text(-0.2, y + (0.1 if y < 0 else 0.22), text, color=AXIS, ha="right")
    for y, step, text in ((-0.2, 0.38, "on ball"), (0.9, -0.38, "on ball")):
        arrow(ax, (0.12, y), (0, step), FORCE, "", (0, 0))
        ax.text(0.2, y + step / 2 - 0.05, text, color=FORCE)
    ax.text(-1.45, -0.55, "sensordata: 2F", color=AXIS)
    ax.text(0.35, -0.55, "array: 0", color=FORCE)


def main():
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 2.9))
    bodies(axes[0], "object 1", "object 2")
    frame(axes[0], False)
    axes[0].set_title('geom1="floor" geom2="box"', fontsize=9, family="monospace")
    bodies(axes[1], "object 2", "object 1")
    frame(axes[1], True)
    axes[1].set_title('geom1="box" geom2="floor"', fontsize=9, family="monospace")
    squeezed(axes[2])
    axes[2].set_title('site="here" reduce="netforce"', fontsize=9, family="monospace")
    for ax in axes:
        ax.set(xlim=(-1.5, 1.5), ylim=(-0.9, 1.3), aspect="equal")
        ax.axis("off")
    figure.tight_layout()
    figure.savefig(pathlib.Path(__file__).with_name("contact_frame.svg"), metadata={"Date": None})
    return figure


if __name__ == "__main__":
    main()
