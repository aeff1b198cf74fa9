# SPDX-License-Identifier: Apache-2.0
"""Pictures and the page of docs out of the rows of the contact benchmark."""
import math
import os
import platform
import textwrap

import contact_scaling
import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

COLOURS = {"Stiction": "#1b6ca8", "MuJoCo": "#c06014", "Drake": "#4f7942"}
SHADES = {"certified 1e-10": 1, "certified 1e-6": 0.75, "certified 2e-4": 0.5}


def bars(axis, rows, value, title, floor):
    """Groups of bars: a group per scene, a bar per engine and setting."""
    names = list(dict.fromkeys(r.scene for r in rows))
    for k, name in enumerate(names):
        group = [r for r in rows if r.scene == name]
        for i, r in enumerate(group):
            x = k + (i - (len(group) - 1) / 2) * 0.8 / len(group)
            axis.bar(x, max(getattr(r, value), floor), 0.76 / len(group), color=COLOURS[r.engine], alpha=SHADES.get(r.setting, 1))
    axis.set_yscale("log")
    axis.set_xticks(range(len(names)), ["\n".join(textwrap.fill(part, 11) for part in n.split(", ")) for n in names], fontsize=7)
    axis.set_title(title, fontsize=9)
    axis.grid(axis="y", alpha=0.3)


def plots(rows, folder):
    """contact.png: time, depth, residual, speed."""
    one = [r for r in rows if r.threads == 1]
    if not one:
        return
    figure, axes = plt.subplots(2, 2, figsize=(11, 7))
    bars(axes[0, 0], one, "ms", "time of a step, ms (one thread)", 1e-3)
    bars(axes[0, 1], one, "depth_max", "largest penetration, mm", 1e-4)
    bars(axes[1, 0], one, "residual", "largest residual", 1e-12)
    bars(axes[1, 1], one, "speed", "median speed at rest, mm/s", 1e-9)
    bars_of = {f"Stiction, {setting}": (COLOURS["Stiction"], shade) for setting, shade in SHADES.items()}
    bars_of |= {"MuJoCo (a bar for each setting)": (COLOURS["MuJoCo"], 1), "Drake": (COLOURS["Drake"], 1)}
    handles = [plt.Rectangle((0, 0), 1, 1, color=c, alpha=shade) for c, shade in bars_of.values()]
    figure.legend(handles, bars_of, loc="lower center", ncols=len(bars_of), fontsize=8)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    figure.savefig(os.path.join(folder, "contact.png"), dpi=110)
    plt.close(figure)


def plot_scaling(rows, folder):
    """contact_scaling.png: ms a step and bytes over bodies."""
    if not rows:
        return
    figure, axes = plt.subplots(1, 2, figsize=(10, 4))
    for scene in contact_scaling.COUNTS:
        some = [r for r in rows if r["scene"] == scene]
        bodies, line = [r["bodies"] for r in some], "o-" if scene == next(iter(contact_scaling.COUNTS)) else "s--"
        axes[0].plot(bodies, [r["step_ms"] for r in some], line, label=f"step, {scene}")
        axes[1].plot(bodies, [r["peak_bytes"] / 1e6 for r in some], line, label=scene)
        if line == "s--":
            continue
        for stage in contact_scaling.STAGES:
            axes[0].plot(bodies, [max(r[stage + "_ms"], 1e-4) for r in some], ".:", lw=0.8, label=stage)
        axes[0].plot(bodies, [some[-1]["step_ms"] * b / bodies[-1] for b in bodies], color="grey", lw=0.8, label="linear")
        axes[1].plot(bodies, [some[-1]["peak_bytes"] / 1e6 * b / bodies[-1] for b in bodies], color="grey", lw=0.8, label="linear")
    axes[0].set_ylabel("ms a step")
    axes[1].set_ylabel("MB")
    for axis in axes:
        axis.set_xscale("log")
        axis.set_yscale("log")
        axis.set_xlabel("spheres")
        axis.grid(alpha=0.3)
        axis.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(os.path.join(folder, "contact_scaling.png"), dpi=110)
    plt.close(figure)


def scaling_text(rows):
    """The section about growth, with its table."""
    if not rows:
        return ""
    head = ("scene", "bodies", "contacts", "step, ms", *(f"{s}, ms" for s in contact_scaling.STAGES), "Newton", "load, ms", "bytes a body", "bytes a contact")
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    for r in rows:
        cells = [r["scene"], f"{r['bodies']}", f"{r['contacts']}", f"{r['step_ms']:.3g}", *(f"{r[s + '_ms']:.3g}" for s in contact_scaling.STAGES),
                 f"{r['iterations']:.1f}", f"{r['load_ms']:.3g}", f"{r['body_bytes']:.0f}", f"{r['contact_bytes']:.0f}"]
        lines.append("| " + " | ".join(cells) + " |")
    grows = []
    for scene in contact_scaling.COUNTS:
        some = [r for r in rows if r["scene"] == scene]
        powers = {s: contact_scaling.exponent(some, s + "_ms") for s in ("step", "dynamics", "collide", "contact", "solve", "load")}
        powers["memory"] = contact_scaling.exponent(some, "peak_bytes")
        grows.append(f"{scene}: " + ", ".join(f"{s} {p:.2f}" for s, p in powers.items() if not math.isnan(p)))
    return f"""## Growth

Spheres in the pockets of the layers below, in bins of a hundred or in one bin that grows with them; one thread, CPU time, default tolerance (1e-8), 20
steps after they were let go. A pile is one island; bins are islands of their own. *bytes a body* is a new world over its bodies, *bytes a contact* what the first steps add, over the contacts.

{chr(10).join(lines)}

The exponent p of cost ~ bodies^p from the first line of a scene to its last. {". ".join(g[0].upper() + g[1:] for g in grows)}.

![cost and memory over bodies](images/contact_scaling.png)

"""


TOP = """# Contact, measured

Written by `./dev bench contact --write`; do not edit. {machine}.

All engines load the same MJCF (`bench/scenes_contact.py`) and settle on their own, piles for {settle}; *at* is the time at which
they were judged. Then they step turn about in short rounds. *ms* is the median over the rounds (CPU time with one thread, wall time
with more), *ratio* is MuJoCo's fastest solver on that scene over the engine, in the same rounds. *ms pouring* is the mean while
the bodies fall and hit each other.

*residual* is one measure for all: the momentum that the step's answer leaves open, |M (a − a_smooth) − Jᵀf| in the norm of M⁻¹,
over the larger of its two terms. For Stiction it is the certificate, which bounds it from above. The largest of all steps is shown.
Drake does not show its own. *speed* is the median over the bodies once settled, *drift* their median displacement.

"""


def table(rows, head, cells):
    text = ["| " + " | ".join(head[1:]) + " |", "|" + "---|" * (len(head) - 1)]
    return "\n".join(text + ["| " + " | ".join(cells(r)[1:]) + " |" for r in rows]) + "\n"


def write(rows, growth, head, cells, docs, settle):
    """docs/contact_measured.md and its pictures."""
    plots(rows, docs / "images")
    plot_scaling(growth, docs / "images")
    parts = [TOP.format(machine=f"{os.cpu_count()} cores, {platform.machine()}", settle=settle)]
    for name in dict.fromkeys(r.scene for r in rows):
        parts.append(f"## {name}\n\n" + table([r for r in rows if r.scene == name], head, cells) + "\n")
    parts.append("![time, depth, residual and speed](images/contact.png)\n\n")
    parts.append(scaling_text(growth))
    (docs / "contact_measured.md").write_text("".join(parts).rstrip() + "\n")
