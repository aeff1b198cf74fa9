# SPDX-License-Identifier: Apache-2.0
"""The integrator alm on long chains and closed loops, against MuJoCo: ./dev bench alm [--write] [--long [N]] [--steps N].

Chains are hinges in a tree for us (alm reads them as bodies with constraints) and free bodies with two connect constraints
per hinge for MuJoCo: points on the axis, so that both have the same bodies, rows of the same rank and no joint. Both engines
run in this process on one core, turn about; times are of the process. --write renews the table of docs/alm.md and the plot.
--long swings the double pendulum by the midpoint rule for N steps (a million) and bounds its energy."""
import argparse
import math
import pathlib
import statistics
import time

import mujoco
import numpy as np

import stiction

ROOT = pathlib.Path(__file__).resolve().parents[1]
LENGTH, STEPS = 0.1, (0.002, 0.005)  # 0.002 s is MJCF's own
LINK = f'<geom type="capsule" size="0.02" fromto="0 0 0 {LENGTH} 0 0" mass="0.1" contype="0" conaffinity="0"/>'
HEAD = '<mujoco><compiler angle="radian"/><option {}><flag contact="disable"/></option>'


def tree(n, loop):
    """Ours: one hinge per link about y; a loop is closed by a connect."""
    turn = 2 * math.pi / n if loop else 0
    links = "".join(f'<body name="b{i}" pos="{LENGTH if i else 0} 0 0" euler="0 {turn if i else 0!r} 0">'
                    f'<joint axis="0 1 0"/>{LINK}' for i in range(n))
    close = f'<equality><connect body1="b{n - 1}" anchor="{LENGTH} 0 0"/></equality>' if loop else ""
    return f'{HEAD.format("")}<worldbody>{links}{"</body>" * n}</worldbody>{close}</mujoco>'


def maximal(n, loop):
    """MuJoCo's: free bodies, every hinge two points that meet."""
    bodies, rows, p, a = [], [], np.zeros(2), 0.0
    for i in range(n):
        bodies.append(f'<body name="b{i}" pos="{float(p[0])!r} 0 {float(p[1])!r}" euler="0 {a!r} 0"><freejoint/>{LINK}</body>')
        other = f'body2="b{i - 1}"' if i else ""
        rows += [f'<connect body1="b{i}" {other} anchor="0 {y} 0"/>' for y in (-0.05, 0.05)]
        p = p + LENGTH * np.array([math.cos(a), -math.sin(a)])
        a += 2 * math.pi / n if loop else 0
    if loop:
        rows.append(f'<connect body1="b{n - 1}" anchor="{LENGTH} 0 0"/>')
    head = HEAD.format('jacobian="sparse"') + '<size memory="4G"/>'
    return (f'{head}<worldbody>{"".join(bodies)}</worldbody>'
            f'<equality>{"".join(rows)}</equality></mujoco>')


def spent(function, *arguments):
    start = time.process_time()
    function(*arguments)
    return time.process_time() - start


def compare(n, loop, h, rounds, steps):
    """Medians of seconds per step, and how well joints hold."""
    model = stiction.Model.from_xml_string(tree(n, loop))
    model.opt.integrator, model.opt.timestep = "alm", h
    ours = stiction.Data(model)
    theirs_model = mujoco.MjModel.from_xml_string(maximal(n, loop))
    theirs_model.opt.timestep = h
    theirs = mujoco.MjData(theirs_model)
    a, b, worst, theirs_worst = [], [], 0.0, 0.0
    for _ in range(rounds):
        a.append(spent(lambda: [stiction.step(model, ours) for _ in range(steps)]) / steps)
        b.append(spent(mujoco.mj_step, theirs_model, theirs, steps) / steps)
        worst = max(worst, ours.certificate.joints)
        theirs_worst = max(theirs_worst, np.abs(theirs.efc_pos).max())
    return statistics.median(a), statistics.median(b), worst, theirs_worst


def long_run(steps):
    model = stiction.Model.from_xml_path(ROOT / "scenes" / "double_pendulum.xml")
    model.opt.integrator, model.opt.alm_scheme, model.opt.timestep = "alm", "midpoint", 0.01
    data, most = stiction.Data(model), [0.0] * 10
    for k in range(steps):
        stiction.step(model, data)
        part = 10 * k // steps
        most[part] = max(most[part], abs(data.energy.sum()))
    print(f"midpoint rule, {steps} steps of 0.01 s: largest energy error in each tenth, J (it is 0 J)")
    print("  " + "  ".join(f"{e:.2e}" for e in most))
    assert max(most) < 1.5 * max(most[:2]), "the energy drifts"


def draw(table, path):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(6, 4))
    for kind, mark in (("chain", "o"), ("loop", "s")):
        rows = [r for r in table if r[0] == kind and r[1] == STEPS[0]]
        n = [r[2] for r in rows]
        axes.loglog(n, [1e3 * r[3] for r in rows], mark + "-", label=f"{kind}, alm")
        axes.loglog(n, [1e3 * r[4] for r in rows], mark + "--", label=f"{kind}, MuJoCo with equalities")
    n = np.array([20, 1000])
    axes.loglog(n, 0.004 * n, "k:", linewidth=1, label="linear")
    axes.set(xlabel="links", ylabel="time of a step [ms]", title=f"h = {STEPS[0]} s")
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def write(table):
    page = ROOT / "docs" / "alm.md"
    text = page.read_text()
    lines = ["| | h, s | links | alm, ms | MuJoCo, ms | MuJoCo / alm | alm, joints | MuJoCo, joints |",
             "|---|---|---|---|---|---|---|---|"]
    lines += [f"| {k} | {h} | {n} | {1e3 * a:.3g} | {1e3 * b:.3g} | {b / a:.2f} | {w:.0e} m | {t:.0e} m |"
              for k, h, n, a, b, w, t in table]
    first, rest = text.split("<!-- bench alm -->\n", 1)
    page.write_text(first + "<!-- bench alm -->\n" + "\n".join(lines) + "\n" + rest[rest.index("\n<!-- end -->"):])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--long", nargs="?", type=int, const=1000000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=20)
    options = parser.parse_args()
    if options.long:
        long_run(options.long)
        return
    table = []
    print(f"{'':<7}{'h':>7}{'links':>6}{'alm':>11}{'MuJoCo':>11}{'ratio':>7}{'alm joints':>13}{'MuJoCo joints':>15}")
    for h in STEPS:
        for kind, sizes in (("chain", (50, 100, 200, 400, 1000)), ("loop", (25, 50, 100, 200))):
            for n in sizes:
                row = (kind, h, n, *compare(n, kind == "loop", h, options.rounds, options.steps))
                table.append(row)
                print(f"{kind:<7}{h:>7}{n:>6}{1e3 * row[3]:>8.3f} ms{1e3 * row[4]:>8.3f} ms{row[4] / row[3]:>7.2f}"
                      f"{row[5]:>11.1e} m{row[6]:>13.1e} m", flush=True)
    for kind in ("chain", "loop"):
        rows = [r for r in table if r[0] == kind and r[1] == STEPS[0]]
        slope = np.polyfit(np.log([r[2] for r in rows]), np.log([r[3] for r in rows]), 1)[0]
        print(f"{kind}: time grows as length to the {slope:.2f}")
    if options.write:
        write(table)
        draw(table, ROOT / "docs" / "images" / "alm_scaling.png")


if __name__ == "__main__":
    main()
