# SPDX-License-Identifier: Apache-2.0
"""A soft ball between two fingers, on one mesh, in Stiction, MuJoCo and Drake: time of a step, sinking, residual.

usage: bench_soft.py [--nodes 550] [--time 0.6] [--quick] [--write] [--genesis [PYTHON]]
"""
import argparse
import importlib.util
import json
import logging
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import mujoco
import numpy as np

import stiction

RADIUS, YOUNG, POISSON, DENSITY, FORCE = 0.05, 1e5, 0.4, 1000.0, 10.0

HEAD = """<mujoco xmlns:sti="urn:stiction"><option timestep="{h}" {option}/><worldbody>
<geom name="floor" type="plane" size="1 1 .1" friction="1"/>
<body name="left" pos="-.0751 0 .05"><joint name="l" type="slide" axis="1 0 0" damping="5"/>
<geom type="box" size=".025 .05 .05" mass="1" friction="1"/></body>
<body name="right" pos=".0751 0 .05"><joint name="r" type="slide" axis="-1 0 0" damping="5"/>
<geom type="box" size=".025 .05 .05" mass="1" friction="1"/></body>
"""
TAIL = """</worldbody><actuator><motor joint="l"/><motor joint="r"/></actuator></mujoco>"""


def ours(h, edge, law="linear_corotated"):
    soft = (f'<sti:soft name="ball" type="sphere" size="{RADIUS}" pos="0 0 {RADIUS}" edge="{edge}" young="{YOUNG}" '
            f'poisson="{POISSON}" density="{DENSITY}" friction="1" law="{law}"/>')
    return stiction.Model.from_xml_string(HEAD.format(h=h, option="") + soft + TAIL)


def edge_for(nodes):
    """The edge length whose mesh is nearest to so many nodes."""
    best = None
    for edge in np.geomspace(RADIUS / 3, RADIUS / 9, 25):
        n = ours(0.01, edge).nflexvert
        if best is None or abs(n - nodes) < abs(best[1] - nodes):
            best = (edge, n)
    return best[0]


def theirs(h, model, option):
    """The same mesh as a flexcomp of given points."""
    pos = np.asarray(model.flexvert_pos0)
    tets = np.asarray(model.flex_elem)[:, [0, 1, 3, 2]]  # theirs are the other way around
    mass = float(np.sum(model.flexvert_mass))
    flex = (f'<flexcomp name="ball" type="direct" dim="3" mass="{mass}" radius="0.0005" '
            f'point="{" ".join(f"{x:.9g}" for x in pos.ravel())}" element="{" ".join(map(str, tets.ravel()))}">'
            f'<elasticity young="{YOUNG}" poisson="{POISSON}" damping="0.001"/><contact selfcollide="none" '
            f'friction="1"/></flexcomp>')
    return mujoco.MjModel.from_xml_string(HEAD.format(h=h, option=option).replace(' xmlns:sti="urn:stiction"', "") + flex + TAIL)


def sinking(vert, left, right):
    """How far vertices are inside the floor or the fingers, m."""
    depth = max(0.0, -float(vert[:, 2].min()))
    near = (np.abs(vert[:, 1]) < 0.05) & (vert[:, 2] < 0.1)
    for face, sign in ((left + 0.025, 1), (right - 0.025, -1)):
        depth = max(depth, float((sign * (face - vert[near, 0])).max()))
    return depth


class Progress:
    def __init__(self, name, count):
        self.name, self.count, self.done = name, count, 0

    def __call__(self):
        self.done += 1
        if sys.stderr.isatty():
            print(f"\r{self.name}: {100 * self.done // self.count:3d} %", end="\n" if self.done == self.count else "", file=sys.stderr)


def measure(name, step, count, look=lambda: None):
    """Median and mean ms of CPU time of a step, over the last half and all; look is called between steps."""
    bar, times = Progress(name, count), []
    for _ in range(count):
        start = time.process_time()
        step()
        times.append(1e3 * (time.process_time() - start))
        look()
        bar()
    return statistics.median(times[count // 2:]), statistics.mean(times)


def run_stiction(h, edge, law, tol, seconds):
    model = ours(h, edge, law)
    model.opt.contact_tol = tol
    data = stiction.Data(model)
    data.ctrl[:] = FORCE
    worst, iterations = 0.0, []

    def look():
        nonlocal worst
        worst = max(worst, data.certificate.headline)
        iterations.append(data.solver_niter)
    median, mean = measure(f"Stiction {law}", lambda: stiction.step(model, data), int(seconds / h), look)
    left, right = data.qpos[0] - 0.0751, 0.0751 - data.qpos[1]
    return dict(engine="Stiction", setting=f"{law}, certified {tol:.0e}", nodes=model.nflexvert, h=h, ms=median, mean=mean,
                sink=sinking(np.asarray(data.flexvert_xpos), left, right), residual=f"{worst:.1e}",
                iterations=statistics.mean(iterations[len(iterations) // 2:]), contacts=len(data.contact))


def run_mujoco(h, model, solver, seconds):
    mj = theirs(h, model, f'integrator="discrete" solver="{solver}"')
    data = mujoco.MjData(mj)
    data.ctrl[:] = FORCE
    median, mean = measure(f"MuJoCo {solver}", lambda: mujoco.mj_step(mj, data), int(seconds / h))
    left, right = data.qpos[0] - 0.0751, 0.0751 - data.qpos[1]
    return dict(engine="MuJoCo", setting=solver, nodes=mj.nflexvert, h=h, ms=median, mean=mean,
                sink=sinking(data.flexvert_xpos, left, right), residual="", iterations=float(np.mean(data.solver_niter)),
                contacts=data.ncon)


def write_vtk(path, model):
    pos, tets = np.asarray(model.flexvert_pos0), np.asarray(model.flex_elem)
    centre = np.array([0, 0, RADIUS])
    with open(path, "w") as f:
        f.write(f"# vtk DataFile Version 3.0\nball\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS {len(pos)} double\n")
        f.writelines("%.17g %.17g %.17g\n" % tuple(p) for p in pos - centre)
        f.write(f"CELLS {len(tets)} {5 * len(tets)}\n")
        f.writelines("4 %d %d %d %d\n" % tuple(t) for t in tets)
        f.write(f"CELL_TYPES {len(tets)}\n" + "10\n" * len(tets))


def run_drake(h, model, law, seconds):
    try:
        import pydrake.geometry as geo
        from pydrake.common.eigen_geometry import Quaternion
        from pydrake.math import RigidTransform
        from pydrake.multibody.fem import DeformableBodyConfig, MaterialModel
        from pydrake.multibody.plant import AddMultibodyPlant, CoulombFriction, MultibodyPlantConfig
        from pydrake.multibody.tree import PrismaticJoint, SpatialInertia, UnitInertia
        from pydrake.systems.analysis import Simulator
        from pydrake.systems.framework import DiagramBuilder
    except ImportError:
        print("drake is not installed: left out", file=sys.stderr)
        return None
    logging.getLogger("drake").setLevel(logging.ERROR)
    builder = DiagramBuilder()
    plant, graph = AddMultibodyPlant(MultibodyPlantConfig(time_step=h, discrete_contact_approximation="sap"), builder)
    rigid = geo.ProximityProperties()
    geo.AddContactMaterial(friction=CoulombFriction(1, 1), properties=rigid)
    geo.AddRigidHydroelasticProperties(0.02, rigid)
    plant.RegisterCollisionGeometry(plant.world_body(), RigidTransform([0, 0, -0.05]), geo.Box(2, 2, 0.1), "floor", rigid)
    joints = []
    for name, side in (("left", -1), ("right", 1)):
        body = plant.AddRigidBody(name, SpatialInertia(1.0, [0, 0, 0], UnitInertia.SolidBox(0.05, 0.1, 0.1)))
        plant.RegisterCollisionGeometry(body, RigidTransform(), geo.Box(0.05, 0.1, 0.1), name, rigid)
        joint = plant.AddJoint(PrismaticJoint(name, plant.world_frame(), body.body_frame(), [-side, 0, 0], damping=5))
        plant.AddJointActuator(name, joint)
        joints.append((joint, side))
    soft = geo.ProximityProperties()
    geo.AddContactMaterial(friction=CoulombFriction(1, 1), properties=soft)
    geo.AddCompliantHydroelasticProperties(1.0, 1e6, soft)
    config = DeformableBodyConfig()
    config.set_youngs_modulus(YOUNG)
    config.set_poissons_ratio(POISSON)
    config.set_mass_density(DENSITY)
    config.set_material_model(getattr(MaterialModel, {"linear_corotated": "kLinearCorotated", "corotated": "kCorotated",
                                                      "neohookean": "kNeoHookean"}[law]))
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "ball.vtk"
        write_vtk(path, model)
        instance = geo.GeometryInstance(RigidTransform([0, 0, RADIUS]), geo.Mesh(str(path)), "ball")
        instance.set_proximity_properties(soft)
        ball = plant.deformable_model().RegisterDeformableBody(instance, config, 1.0)
        plant.Finalize()
    diagram = builder.Build()
    simulator = Simulator(diagram)
    context = plant.GetMyMutableContextFromRoot(simulator.get_mutable_context())
    for joint, side in joints:
        joint.set_translation(context, -0.0751)
    plant.get_actuation_input_port().FixValue(context, [FORCE, FORCE])
    simulator.Initialize()
    t = [0.0]

    def step():
        t[0] += h
        simulator.AdvanceTo(t[0])
    median, mean = measure(f"Drake {law}", step, int(seconds / h))
    deformable = plant.deformable_model()
    state = context.get_discrete_state(deformable.GetDiscreteStateIndex(ball)).get_value()
    vert = np.asarray(state)[:model.nflexvert * 3].reshape(-1, 3)
    faces = [side * -joint.get_translation(context) for joint, side in joints]
    return dict(engine="Drake", setting=law, nodes=model.nflexvert, h=h, ms=median, mean=mean,
                sink=sinking(vert, faces[0], faces[1]), residual="", iterations=float("nan"), contacts=-1)


def table(rows):
    out = ["| engine | setting | nodes | h, ms | ms per step, median | mean | sinking, mm | contacts | certificate | ratio | of means |",
           "|" + "---|" * 11]
    for r in rows:
        base = next((x for x in rows if x["engine"] == "Stiction" and x["h"] == r["h"] and x["nodes"] == r["nodes"]
                     and (r["engine"] != "Drake" or x["setting"].startswith(r["setting"]))), r)
        contacts = r["contacts"] if r["contacts"] >= 0 else ""
        out.append(f"| {r['engine']} | {r['setting']} | {r['nodes']} | {1e3 * r['h']:g} | {r['ms']:.2f} | {r['mean']:.2f} | "
                   f"{1e3 * r['sink']:.2f} | {contacts} | {r['residual']} | {r['ms'] / base['ms']:.1f} | {r['mean'] / base['mean']:.1f} |")
    return "\n".join(out)


def grasp_of(nodes, more):
    """The Panda over a soft ball of so many nodes, or as few more or less as there are meshes of."""
    root = pathlib.Path(__file__).resolve().parents[1]
    spec = importlib.util.spec_from_file_location("franka_grasp", root / "examples" / "franka_grasp.py")
    franka = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(franka)
    edges = np.linspace(0.0050, 0.0030, 41)
    found = {franka.load(edge=e)[0].nflexvert: e for e in edges}
    best = min((n for n in found if n >= nodes), default=max(found)) if more else max((n for n in found if n <= nodes), default=min(found))
    return franka.Grasp(*franka.load(edge=found[best]))


def run_grasp(nodes, more):
    """CPU seconds of two steps at 1/120 s, mean of each phase: closing, lifting and turning; worst certificate."""
    grasp = grasp_of(nodes, more)
    by_phase, worst = {}, 0.0
    for phase, seconds in grasp.phases[:3]:
        count = round(seconds / grasp.model.opt.timestep)
        times = []
        for i in range(count):
            grasp.aim(phase, (i + 1) / count)
            start = time.process_time()
            stiction.step(grasp.model, grasp.data)
            times.append(2 * (time.process_time() - start))
            worst = max(worst, grasp.data.certificate.headline)
        by_phase[phase] = statistics.mean(times)
    return grasp.model.nflexvert, by_phase, worst


def compare_genesis(python):
    """Genesis' grasp, run by a Python that has it, beside ours of as many nodes, before and after it."""
    probe = subprocess.run([python, "-c", "import genesis, torch"], capture_output=True)
    if probe.returncode:
        print(f"GENESIS IS NOT MEASURED: {python} has no genesis-world with torch. pip install genesis-world torch into an environment "
              "of its own and pass its Python: --genesis PYTHON", file=sys.stderr)
        return
    script = pathlib.Path(__file__).with_name("genesis_grasp.py")
    for name, flags in (("tolerances of its example", []), ("default tolerances", ["--default"])):
        before = [run_grasp(968, more) for more in (False, True)]
        out = subprocess.run([python, str(script), *flags], capture_output=True, text=True)
        if out.returncode:
            print(f"GENESIS IS NOT MEASURED: it failed\n{out.stderr[-2000:]}", file=sys.stderr)
            return
        theirs = json.loads(out.stdout.strip().splitlines()[-1])
        after = [run_grasp(968, more) for more in (False, True)]
        print(f"Genesis, {name}, rigid-rigid off: {theirs['nodes']} nodes, {theirs['tets']} tets, {1e3 * theirs['seconds']:.0f} ms of CPU per "
              f"two substeps of 1/120 s while it closes")
        for (nodes, first, worst), (_, again, _) in zip(before, after):
            for phase in first:
                ms = 500 * (first[phase] + again[phase])
                print(f"  Stiction, {nodes} nodes, {phase}: {ms:.1f} ms per two steps, certificate at most {worst:.0e}: "
                      f"{1e3 * theirs['seconds'] / ms:.0f} times faster")


PAGE = """# Soft bodies, measured

Written by `./dev bench soft --write`. A ball (radius 50 mm, E = 1e5 Pa, ν = 0.4, 1000 kg/m³, μ = 1) lies on a floor between two
fingers that press with 10 N each; the same mesh in all engines, one thread, one run, on a
machine that others used too. CPU time of a step: median of the second half of
the run, and mean over all of it. Sinking: how far the deepest vertex is inside the floor or a finger. Ratio: median over that of
Stiction at the same h and nodes (for Drake: of the same law), and the same of means.
While the fingers close, contacts come and go and elements turn, so that factors are made anew: the mean has these steps too.

{table}
"""


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--nodes", type=int, nargs="*", default=[512])
    p.add_argument("--time", type=float, default=0.6, help="simulated seconds")
    p.add_argument("--quick", action="store_true", help="0.2 s, no Newton solver of MuJoCo, one law of Drake")
    p.add_argument("--write", action="store_true", help="write docs/soft_measured.md")
    p.add_argument("--genesis", nargs="?", const=sys.executable, metavar="PYTHON", help="Genesis' grasp beside ours, by a Python that has it")
    o = p.parse_args()
    if o.genesis:
        compare_genesis(o.genesis)
        return
    seconds = 0.2 if o.quick else o.time
    rows = []
    for nodes in o.nodes:
        edge = edge_for(nodes)
        model = ours(0.01, edge)
        for h in (0.002, 0.01):
            rows.append(run_stiction(h, edge, "linear_corotated", 1e-6, seconds))
            for solver in ("CG",) if o.quick else ("CG", "Newton"):
                if h == 0.002:
                    rows.append(run_mujoco(h, model, solver, seconds))
            laws = ("linear_corotated",) if o.quick else ("linear_corotated", "neohookean", "corotated")
            for law in laws if h == 0.01 else ():
                if law != "linear_corotated":
                    rows.append(run_stiction(h, edge, law, 1e-6, seconds))
                row = run_drake(h, model, law, seconds)
                if row:
                    rows.append(row)
    text = table(rows)
    print(text)
    if o.write:
        path = pathlib.Path(__file__).parent.parent / "docs" / "soft_measured.md"
        path.write_text(PAGE.format(table=text))


if __name__ == "__main__":
    main()
