# SPDX-License-Identifier: Apache-2.0
"""Contact against closed forms, with default settings and plain MJCF: ./dev bench closed [--only NAME] [--solver NAME] [--integrator NAME] [--scheme NAME] [--write].

Every case runs at h = 0.01, 0.002 and 0.001 s and is compared with a formula or with statics; --write makes
docs/closed_forms.md. Ends with an error if a case is off."""
import argparse
import functools
import math
import pathlib
import sys

import numpy as np
from scipy.optimize import linprog

import stiction

G = 9.81
STILL = 4e-9  # m/s, rad/s: what a tolerance of 1e-8 leaves of g h = 0.1 m/s at corners that are some cm away
STEPS = (0.01, 0.002, 0.001)
SIGMA = 1e-3  # R_t over the inverse mass of a contact
BETA = 0.7  # period of near-rigid contact over the time step
PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "closed_forms.md"
PLANE = '<geom type="plane" size="50 50 1"/>'


class Scene:
    """A model and its state, with what the cases ask about them."""
    solver, integrator, scheme = "sap", "Euler", "euler"  # the defaults

    def __init__(self, h, body, extra="", default="", gravity=(0, 0, -G)):
        gravity = " ".join(map(repr, map(float, gravity)))
        self.model = stiction.Model.from_xml_string(
            f'<mujoco><option timestep="{h}" gravity="{gravity}" integrator="{self.integrator}"/><default>{default}</default>{extra}'
            f"<worldbody>{body}</worldbody></mujoco>")
        self.model.opt.contact_solver = self.solver
        self.model.opt.alm_scheme = self.scheme
        self.data, self.h, self.worst, self.newton = stiction.Data(self.model), h, 0.0, []

    def run(self, seconds, watch=None):
        for _ in range(round(seconds / self.h)):
            stiction.step(self.model, self.data)
            self.worst = max(self.worst, self.data.certificate.headline)
            self.newton.append(self.data.solver_niter)
            if watch:
                watch()
        return self

    @property
    def speed(self):
        return float(np.abs(self.data.qvel).max())

    @property
    def normal_force(self):
        return float(self.data.contact.force[:, 0].sum())


def free(geom, pos, more=""):
    return f'<body pos="{pos}"><freejoint/><geom {geom}/>{more}</body>'


def tilted(degrees, g=G):
    """Gravity tilts instead of the plane."""
    a = math.radians(degrees)
    return g * math.sin(a), 0, -g * math.cos(a)


def corner_weight(half, mass):
    """Mean size of the Delassus block of a box's corner."""
    x, y, z = half
    inertia = mass / 3 * np.diag([y * y + z * z, x * x + z * z, x * x + y * y])
    r = np.array([[0, z, y], [-z, 0, -x], [-y, x, 0]])  # [arm]x of the corner (x, y, -z), signs do not matter
    block = np.eye(3) / mass - r @ np.linalg.inv(inertia) @ r
    return np.linalg.norm(block) / 3


# ---- cases: each yields (quantity, measured, expected, tolerance, unit) ---------------------------------------------

def rest(h):
    s = Scene(h, PLANE + free('type="box" size=".05 .05 .05" mass="1"', "0 0 .05")).run(2)
    depth = 0.05 - s.data.qpos[2]
    yield "depth of a 0.1 m box, 1 kg", depth, 0, 1e-4, "m"
    yield "its speed", s.speed, 0, STILL, "m/s"
    yield "force on it", s.normal_force, G, 1e-6 * G, "N"
    return s


SLAB = 'type="box" size=".05 .05 .01" mass="1"'
CUBE = 'type="box" size=".05 .05 .05" mass="1"'


def slab(h, mu, degrees, geom=SLAB, z=0.01):
    return Scene(h, PLANE + free(geom, f"0 0 {z}"), default=f'<geom friction="{mu} .005 .0001"/>', gravity=tilted(degrees))


def incline_stick(h):
    s = slab(h, 0.5, 20).run(2)
    yield "speed of a slab on 20°, μ 0.5", s.speed, 0, STILL, "m/s"
    yield "friction on it", float(np.linalg.norm(s.data.contact.force[:, 1:3].sum(0))), G * math.sin(math.radians(20)), 1e-6, "N"
    return s


def without_memory(s):
    s.model.opt.memory = 0
    s.data = stiction.Data(s.model)
    return s.run(2)


def incline_creep(h):
    s = without_memory(slab(h, 0.5, 20))
    creep = SIGMA * corner_weight((0.05, 0.05, 0.01), 1) * G * math.sin(math.radians(20)) * h / 4
    yield "creep of the slab without memory", float(s.data.qvel[0]), creep, 0.01 * creep, "m/s"
    return s


def incline_cube(h):
    """Its upper corners carry (1 - tan a)/4 of the load: they slide where tan a > mu/(1 + mu), and the lower two hold the rest."""
    a = math.radians(20)
    s = without_memory(slab(h, 0.5, 20, CUBE, 0.05))
    held = G * (math.sin(a) - 0.5 * math.cos(a) * (1 - math.tan(a)) / 2) / 2
    creep = SIGMA * corner_weight((0.05, 0.05, 0.05), 1) * held * h
    yield "creep of a cube without memory", float(s.data.qvel[0]), creep, 1e-3 * creep, "m/s"
    yield "corners of it that slide", int((s.data.contact.region == 2).sum()), 2, 0, ""
    s = slab(h, 0.5, 20, CUBE, 0.05).run(2)
    yield "speed of the cube with memory", s.speed, 0, STILL, "m/s"
    return s


def incline_slide(h):
    s = slab(h, 0.3, 25).run(0.2)
    a = G * (math.sin(math.radians(25)) - 0.3 * math.cos(math.radians(25)))
    v, z = float(s.data.qvel[0]), []
    s.run(1, lambda: z.append(float(s.data.qpos[2])))
    yield "acceleration of a slab on 25°, μ 0.3", float(s.data.qvel[0]) - v, a, 1e-6 * a, "m/s²"
    yield "its distance from the plane", float(np.abs(np.array(z) - 0.01).max()), 0, 1e-4, "m"
    return s


BALL = free('type="sphere" size=".1" mass="2"', "0 0 .1")


def rolling(h):
    s = Scene(h, PLANE + BALL, default='<geom friction="0.5 0 0"/>', gravity=tilted(15)).run(1)
    x, v, sine = float(s.data.qpos[0]), float(s.data.qvel[0]), math.sin(math.radians(15))
    yield "speed of a ball that rolls down 15°", v, math.sqrt(2 * G * x * sine / 1.4), 0.75 * h * v, "m/s"
    yield "friction on it", float(np.linalg.norm(s.data.contact.force[0, 1:3])), 2 / 7 * 2 * G * sine, 0.1 * h, "N"
    return s


def thrown(h):
    s, mu, v0 = Scene(h, PLANE + BALL, default='<geom friction="0.5 0 0"/>'), 0.5, 2.0
    s.data.qvel[0] = v0
    end, times = 2 * v0 / (7 * mu * G), []
    s.run(1, lambda: times.append(s.data.time) if s.data.contact[0].region == 1 else None)
    yield "speed of a ball thrown at 2 m/s, when it rolls", float(s.data.qvel[0]), 5 / 7 * v0, 0.05 * h, "m/s"
    yield "time until it rolls", min(times), end, 1.5 * h, "s"
    return s


def spinning(h):
    mu, m, r = 0.01, 2.0, 0.1
    s = Scene(h, PLANE + BALL, default=f'<geom friction="0.5 {mu} 0" condim="4"/>')
    s.data.qvel[5] = w0 = 20.0
    brake = mu * m * G / (0.4 * m * r * r)
    s.run(0.5)
    yield "rate of a ball that spins at 20 rad/s, after 0.5 s", float(s.data.qvel[5]), w0 - brake / 2, 5e-3, "rad/s"
    s.run(0.5)
    yield "after it should rest (0.8 s)", s.speed, 0, 1e-9, "rad/s"
    return s


def rolling_friction(h):
    mu, r = 0.002, 0.1
    s = Scene(h, PLANE + BALL, default=f'<geom friction="0.5 0.01 {mu}" condim="6"/>')
    s.data.qvel[[0, 4]] = 1, 10
    s.run(0.1)
    v = float(s.data.qvel[0])
    s.run(1)
    brake = mu / r * G / 1.4
    yield "loss of speed of a rolling ball in 1 s, μ_r 2 mm", v - float(s.data.qvel[0]), brake, 2e-3 * brake, "m/s"
    return s


def frictionless(h):
    s = Scene(h, PLANE + free(SLAB, "0 0 .01"), default='<geom condim="1"/>', gravity=tilted(30)).run(1)
    yield "speed of a slab on 30°, condim 1, after 1 s", float(s.data.qvel[0]), G / 2, 1e-9, "m/s"
    return s


def pizza(h, torque):
    m, r, g = 3, 1.5, 10
    feet = "".join(f'<geom type="sphere" size=".1" mass="0" pos="{r * math.cos(a)} {r * math.sin(a)} 0"/>'
                   for a in (math.pi / 2, math.pi * 7 / 6, math.pi * 11 / 6))
    body = f'<body pos="0 0 .1"><freejoint/><inertial pos="0 0 0" mass="{m}" diaginertia="{m * r * r / 2} {m * r * r / 2} {m * r * r}"/>{feet}</body>'
    s = Scene(h, PLANE + body, default=f'<geom friction="{2 / 3} 0 0"/>', gravity=(0, 0, -g))
    s.run(0.2)
    s.data.qfrc_applied[5] = torque
    return s.run(1)


def pizza_sticks(h):
    s = pizza(h, 20)
    f = s.data.contact.force
    yield "rate of the pizza saver, 20 N m", s.speed, 0, 1e-9, "rad/s"
    yield "friction per foot", float(np.linalg.norm(f[:, 1:3], axis=1).max()), 20 / 4.5, 1e-6, "N"
    yield "normal force", s.normal_force, 30, 1e-6, "N"
    return s


def pizza_slides(h):
    s = pizza(h, 40)
    f = s.data.contact.force
    ratio = np.linalg.norm(f[:, 1:3], axis=1) / f[:, 0]
    w = float(s.data.qvel[5])
    s.run(1)
    yield "friction over normal force, 40 N m", float(ratio.max()), 2 / 3, 1e-9, ""
    yield "acceleration", float(s.data.qvel[5]) - w, (40 - 30) / 6.75, 1e-5, "rad/s²"
    return s


def pizza_threshold(h):
    """Friction holds 2/3 * 30 N on an arm of 1.5 m."""
    yield "rate a hundredth below the threshold, 30 N m", pizza(h, 29.7).speed, 0, 1e-9, "rad/s"
    s = pizza(h, 30.3)
    w = float(s.data.qvel[5])
    yield "acceleration a hundredth above", float(s.run(1).data.qvel[5]) - w, 0.3 / 6.75, 1e-5, "rad/s²"
    return s


def pressed(h, tol=None):
    s = Scene(h, '<body><joint type="slide" axis="1 0 0" range="-1 0.05"/><geom size=".1" mass="1"/></body>', gravity=(0, 0, 0))
    if tol:
        s.model.opt.contact_tol = tol
        s.data = stiction.Data(s.model)
    s.data.qfrc_applied[0] = 10
    return s.run(2)


def limit(h):
    s = pressed(h)
    depth = 10 * h * h * (1 + BETA / math.pi) * BETA**2 / (4 * math.pi**2)
    yield "violation of a limit, 1 kg, 10 N", float(s.data.qpos[0]) - 0.05, depth, 1e-6 * depth, "m"
    yield "speed there", s.speed, 0, 1e-9, "m/s"
    yield "speed there with sti:option tol 1e-12", pressed(h, 1e-12).speed, 0, 1e-12, "m/s"
    return s


def sliding(h, geom, half):
    s, mu, v0 = slab(h, 0.5, 0, geom, half), 0.5, 2.0
    s.run(0.2)
    s.data.qvel[0] = v0
    x, high, force = float(s.data.qpos[0]), [], []

    def watch():
        high.append(float(s.data.qpos[2]) - half)
        force.append(abs(s.normal_force / G - 1))
    s.run(1, watch)
    name = "slab" if half < 0.05 else "cube"
    yield f"way of a {name} that slides at 2 m/s, μ 0.5", float(s.data.qpos[0]) - x, v0**2 / (2 * mu * G), v0 * h, "m"
    yield "how far it hops", max(0, max(high)), 0, 1e-6, "m"
    yield "how deep it sinks", max(0, -min(high)), 0, 1e-4, "m"
    yield "normal force over weight", max(force), 0, 0.02, ""
    yield "speed in the end", s.speed, 0, STILL, "m/s"
    return s


def sliding_slab(h):
    return (yield from sliding(h, SLAB, 0.01))


def sliding_cube(h):
    return (yield from sliding(h, CUBE, 0.05))


def tower(h, n=10):
    return Scene(h, PLANE + "".join(free('type="box" size=".05 .05 .05" mass="1"', f"0 0 {0.05 + 0.1 * i}") for i in range(n)))


def stack(h, seconds=3.0, words="ten boxes"):
    s, n = tower(h), 10
    s.run(seconds)
    c = s.data.contact
    below = [float(c.force[np.maximum(c.body1, c.body2) == i, 0].sum()) for i in range(1, n + 1)]
    q = s.data.qpos.reshape(n, 7)
    depth = h * h * G * (1 + BETA / math.pi) * BETA**2 / (4 * math.pi**2)  # of one box on four points is below this
    yield f"force below level i of {words}", max(abs(f - (n - i) * G) for i, f in enumerate(below)), 0, 1e-5 * G, "N"
    yield "drift sideways", float(np.abs(q[:, :2]).max()), 0, 1e-6, "m"
    yield "sinking of the top", 0.95 - float(q[-1, 2]), 0, 55 * 4 * depth, "m"
    yield "speed", s.speed, 0, 1e-7, "m/s"
    return s


# ---- an arch of blocks ---------------------------------------------------------------------------------------------

ARCH = dict(n=9, inner=0.8, outer=1.2, depth=0.3, density=1000.0)


def arch_joint(i):
    """Angle of joint i, 0 at one foot, pi at the other."""
    return math.pi * i / ARCH["n"]


def arch_block(i):
    """Vertices of block i, 8 x 3."""
    return np.array([[r * math.cos(a), y, r * math.sin(a)] for a in (arch_joint(i), arch_joint(i + 1))
                     for r in (ARCH["inner"], ARCH["outer"]) for y in (-ARCH["depth"] / 2, ARCH["depth"] / 2)])


@functools.lru_cache
def arch_critical():
    """The least friction with which statics allows the arch to stand: linear programs, two points per joint."""
    n, ri, ro = ARCH["n"], ARCH["inner"], ARCH["outer"]
    half = math.pi / n / 2
    trapezoid = (ro**2 - ri**2) * math.sin(half) * math.cos(half)  # area of a block
    points = [(r * math.cos(arch_joint(j)), r * math.sin(arch_joint(j))) for j in range(n + 1) for r in (ri, ro)]
    lhs, rhs = np.zeros((3 * n, 4 * (n + 1))), np.zeros(3 * n)
    for i in range(n):
        middle = arch_joint(i) + half
        # centroid of a trapezoid with parallel sides 2 r sin(half) at distance r cos(half)
        a, b = ri, ro
        radius = math.cos(half) * 2 / 3 * (a * a + a * b + b * b) / (a + b)
        centre = np.array([radius * math.cos(middle), radius * math.sin(middle)])
        for j, sign in ((i, 1), (i + 1, -1)):
            t = np.array([-math.sin(arch_joint(j)), math.cos(arch_joint(j))])  # along the arch: pushes block j, not j - 1
            s = np.array([math.cos(arch_joint(j)), math.sin(arch_joint(j))])
            for k in range(2):
                p = np.array(points[2 * j + k]) - centre
                for column, direction in ((4 * j + 2 * k, t), (4 * j + 2 * k + 1, s)):
                    f = sign * direction
                    lhs[3 * i:3 * i + 3, column] = [f[0], f[1], p[0] * f[1] - p[1] * f[0]]
        rhs[3 * i + 1] = trapezoid  # the weight, in units of rho g depth

    def stands(mu):
        rows = []
        for c in range(0, 4 * (n + 1), 2):
            for sign in (1, -1):
                row = np.zeros(4 * (n + 1))
                row[c], row[c + 1] = -mu, sign
                rows.append(row)
        bounds = [(0, None), (None, None)] * (2 * (n + 1))
        return linprog(np.zeros(4 * (n + 1)), A_ub=rows, b_ub=np.zeros(len(rows)), A_eq=lhs, b_eq=rhs, bounds=bounds).status == 0
    low, high = 0.0, 2.0
    while high - low > 1e-6:
        mu = (low + high) / 2
        low, high = (low, mu) if stands(mu) else (mu, high)
    return high


def arch(h, mu):
    meshes, bodies = "", ""
    for i in range(ARCH["n"]):
        meshes += f'<mesh name="b{i}" vertex="{" ".join(map(repr, arch_block(i).ravel().tolist()))}"/>'
        bodies += free(f'type="mesh" mesh="b{i}" density="{ARCH["density"]}"', "0 0 0")
    return Scene(h, PLANE + bodies, extra=f"<asset>{meshes}</asset>", default=f'<geom friction="{mu} 0 0"/>')


def arch_moved(h, mu, seconds):
    s = arch(h, mu)
    stiction.forward(s.model, s.data)
    start = np.array(s.data.xipos)
    s.run(seconds)
    return s, float(np.linalg.norm(s.data.xipos - start, axis=1).max())


def arch_stands(h):
    mu = 1.03 * arch_critical()
    s, moved = arch_moved(h, mu, 2)
    yield f"movement of an arch in 2 s, μ {mu:.3f} (critical {arch_critical():.3f})", moved, 0, 2e-3, "m"
    yield "its speed in the end", s.speed, 0, 1e-6, "m/s"
    return s


def arch_falls(h):
    mu = 0.97 * arch_critical()
    s, moved = arch_moved(h, mu, 2)
    yield f"whether it slides apart at μ {mu:.3f}", float(moved > 0.05), 1, 0, "(yes)"
    return s


def long_stack(h):
    return (yield from stack(h, 100_000 * h, "ten boxes after 100,000 steps"))


CASES = [rest, incline_stick, incline_creep, incline_cube, incline_slide, rolling, thrown, spinning, rolling_friction,
         frictionless, pizza_sticks, pizza_slides, pizza_threshold, limit, sliding_slab, sliding_cube, stack, long_stack,
         arch_stands, arch_falls]

HEAD = """# Contact against closed forms

Made by `./dev bench closed --write`: every case with default settings and plain MJCF at three time steps. A cell holds the
error against the formula, and in brackets what is allowed. The formulas and scenes are in `bench/closed_forms.py`;
`tests/python/test_closed_forms.py` runs them as tests, with apgd and other integrators too. First-order errors (the way of a sliding box is short or long by
up to a step's way, a rolling ball is half a step ahead) are errors of the integrator, and fall with h; near-rigid contact
gives way by h² w f (1 + β/π) β²/4π² under a load f, where w is the inverse mass that it feels.

The critical friction of the arch is what linear programming over the forces at its joints allows.

"""


def collect(case, h):
    """The rows of a case, and its scene."""
    rows, generator = [], case(h)
    while True:
        try:
            rows.append(next(generator))
        except StopIteration as end:
            return rows, end.value


def is_off(row):
    _, value, want, tolerance, _ = row
    return not abs(value - want) <= tolerance


def figure(x):
    return f"{x:.2g}" if x else "0"


def cell(row):
    _, value, want, tolerance, _ = row
    return f"{figure(abs(value - want))} (≤ {figure(tolerance)}){' **off**' if is_off(row) else ''}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", help="cases whose name contains this")
    parser.add_argument("--solver", default=Scene.solver, help="sap (the default), apgd, newton or auto")
    parser.add_argument("--integrator", default=Scene.integrator, help="Euler (the default), RK4, implicit, implicitfast or alm")
    parser.add_argument("--scheme", default=Scene.scheme, help="of alm: euler (the default), bdf2 or midpoint")
    parser.add_argument("--write", action="store_true", help="write docs/closed_forms.md")
    options = parser.parse_args()
    Scene.solver, Scene.integrator, Scene.scheme = options.solver, options.integrator, options.scheme
    failed, width = 0, len(STEPS)
    errors = ["| | expected | " + " | ".join(f"h = {h}" for h in STEPS) + " |", "|---|---" + "|---" * width + "|"]
    solves = ["| case | " + " | ".join(f"h = {h}" for h in STEPS) + " |", "|---" + "|---" * width + "|"]
    for case in CASES:
        if options.only and options.only not in case.__name__:
            continue
        results = [collect(case, h) for h in STEPS]
        for rows in zip(*(r for r, _ in results)):
            failed += sum(map(is_off, rows))
            errors.append(f"| {rows[0][0]} | {rows[0][2]:.6g} {rows[0][4]} | " + " | ".join(map(cell, rows)) + " |")
            print(errors[-1], flush=True)
        solves.append(f"| {case.__name__} | " + " | ".join(f"{np.mean(s.newton):.1f}, {s.worst:.0e}" for _, s in results) + " |")
        print("    Newton steps, worst certificate:", solves[-1], flush=True)
    if options.write:
        PAGE.write_text(HEAD + "\n".join(errors) + "\n\nMean Newton steps and worst certificate of all steps:\n\n"
                        + "\n".join(solves) + "\n", encoding="utf-8")
    return failed


if __name__ == "__main__":
    sys.exit(bool(main()))
