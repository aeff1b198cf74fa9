# SPDX-License-Identifier: Apache-2.0
"""Three engines behind one small face: step, and say what contact looks like. All lengths in m, times in s."""
import copy
import logging

import mujoco
import numpy as np

import stiction



def world(model, threads):
    return stiction.Data(model, threads=threads) if threads > 1 else stiction.Data(model)


def free_speeds(model, qvel):
    """Speeds of the free bodies: both engines lay out qvel alike."""
    first = np.asarray(model.jnt_dofadr)[np.asarray(model.jnt_type) == 0]
    return np.linalg.norm(qvel[first[:, None] + np.arange(3)], axis=1) if len(first) else np.zeros(1)


def free_places(model, qpos):
    first = np.asarray(model.jnt_qposadr)[np.asarray(model.jnt_type) == 0]
    return qpos[first[:, None] + np.arange(3)].copy() if len(first) else qpos[None, :].copy()


def depths(dist):
    dist = np.asarray(dist)
    over = np.maximum(0, -dist)
    return dict(contacts=len(dist), depth_mean=float(over.mean()) if len(dist) else 0.0, depth_max=float(over.max()) if len(dist) else 0.0)


class Stiction:
    name = "Stiction"

    def __init__(self, path=None, xml=None, tol=1e-6, threads=1):
        self.setting = f"certified {tol:.0e}".replace("e-0", "e-")
        self.model = stiction.Model.from_xml_path(path, allow_outside=True) if path else stiction.Model.from_xml_string(xml)
        self.model.opt.contact_tol = tol
        self.data = world(self.model, threads)

    def like(self, tol, threads=1):
        """The same state, solved to another tolerance."""
        other = object.__new__(Stiction)
        other.setting = f"certified {tol:.0e}".replace("e-0", "e-")
        other.model = copy.copy(self.model)
        other.model.opt.contact_tol = tol
        other.data = world(other.model, threads)
        other.data.restore(self.data.snapshot())
        return other

    def step(self, count=1):
        stiction.step(self.model, self.data, count)

    def reset(self, key):
        stiction.reset(self.model, self.data, key)

    def forward(self):
        stiction.forward(self.model, self.data)

    def body(self, name):
        return self.model.body(name).id

    time = property(lambda self: self.data.time)
    timestep = property(lambda self: float(self.model.opt.timestep))
    speeds = property(lambda self: free_speeds(self.model, self.data.qvel))
    places = property(lambda self: free_places(self.model, self.data.qpos))
    iterations = property(lambda self: self.data.solver_niter)
    residual = property(lambda self: self.data.certificate.headline)

    def contact(self):
        return depths(self.data.contact.dist)


class MuJoCo:
    name = "MuJoCo"

    def __init__(self, path=None, xml=None, solver=None, cone=None, threads=1):
        self.model = mujoco.MjModel.from_xml_path(str(path)) if path else mujoco.MjModel.from_xml_string(xml)
        self.data = mujoco.MjData(self.model)
        self.choose(solver, cone)
        if threads > 1:
            mujoco.mju_threadpool(self.data, threads)

    def choose(self, solver=None, cone=None, impratio=None, noslip=None):
        if noslip is not None:
            self.model.opt.noslip_iterations = noslip
        if impratio is not None:
            self.model.opt.impratio = impratio
        if solver is not None:
            self.model.opt.solver = getattr(mujoco.mjtSolver, "mjSOL_" + solver.upper())
        if cone is not None:
            self.model.opt.cone = getattr(mujoco.mjtCone, "mjCONE_" + cone.upper())
        names = {0: "PGS", 1: "CG", 2: "Newton"}
        self.setting = f"{names[int(self.model.opt.solver)]}, {'elliptic' if self.model.opt.cone else 'pyramidal'}"
        if self.model.opt.impratio != 1:
            self.setting += f", impratio {self.model.opt.impratio:g}"
        if self.model.opt.noslip_iterations:
            self.setting += f", noslip {self.model.opt.noslip_iterations}"
        return self

    def like(self, solver=None, cone=None, threads=1):
        other = object.__new__(MuJoCo)
        other.model, other.data = copy.copy(self.model), copy.copy(self.data)
        if threads > 1:
            mujoco.mju_threadpool(other.data, threads)
        return other.choose(solver, cone)

    def step(self, count=1):
        mujoco.mj_step(self.model, self.data, count)

    def reset(self, key):
        mujoco.mj_resetDataKeyframe(self.model, self.data, key)

    def forward(self):
        mujoco.mj_forward(self.model, self.data)

    def body(self, name):
        return self.model.body(name).id

    def push_between(self, body1, body2):
        """Sum of the normal forces between two bodies, N."""
        force, total, wrench = self.data.contact, 0.0, np.zeros(6)
        for i in range(self.data.ncon):
            if {int(self.model.geom_bodyid[g]) for g in (force[i].geom1, force[i].geom2)} == {body1, body2}:
                mujoco.mj_contactForce(self.model, self.data, i, wrench)
                total += wrench[0]
        return total

    time = property(lambda self: self.data.time)
    timestep = property(lambda self: self.model.opt.timestep)
    speeds = property(lambda self: free_speeds(self.model, self.data.qvel))
    places = property(lambda self: free_places(self.model, self.data.qpos))
    iterations = property(lambda self: int(np.sum(self.data.solver_niter)))

    @property
    def residual(self):
        """The certificate's measure: |M (a - a_smooth) - J'f| in the norm of M^-1, relative to the larger of its two terms."""
        m, d = self.model, self.data
        if d.nefc == 0:
            return 0.0
        inertial = np.zeros(m.nv)
        mujoco.mj_mulM(m, d, inertial, d.qacc - d.qacc_smooth)
        rows = np.stack([inertial - d.qfrc_constraint, inertial, d.qfrc_constraint])
        solved = np.zeros_like(rows)
        mujoco.mj_solveM(m, d, solved, rows)
        rest, a, b = np.sqrt(np.maximum(0, np.sum(rows * solved, axis=1)))
        return float(rest / max(a, b)) if max(a, b) > 0 else 0.0

    def contact(self):
        return depths(self.data.contact.dist)


class Drake:
    name = "Drake"
    setting = "SAP"
    residual = float("nan")  # Drake does not show it
    iterations = float("nan")

    def __init__(self, xml, timestep):
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, ContactModel, DiscreteContactApproximation
        from pydrake.systems.analysis import Simulator
        from pydrake.systems.framework import DiagramBuilder
        logging.getLogger("drake").setLevel(logging.ERROR)
        builder = DiagramBuilder()
        self.plant, _ = AddMultibodyPlantSceneGraph(builder, timestep)
        self.plant.set_contact_model(ContactModel.kPoint)
        self.plant.set_discrete_contact_approximation(DiscreteContactApproximation.kSap)
        Parser(self.plant).AddModelsFromString(xml, "xml")
        self.plant.Finalize()
        diagram = builder.Build()
        self.simulator = Simulator(diagram)
        self.context = self.plant.GetMyContextFromRoot(self.simulator.get_mutable_context())
        self.simulator.Initialize()
        self.timestep = timestep
        self.bodies = [self.plant.get_body(i) for i in self.plant.GetFloatingBaseBodies()]

    def step(self, count=1):
        now = round(self.time / self.timestep)
        self.simulator.AdvanceTo((now + count) * self.timestep)

    time = property(lambda self: self.simulator.get_context().get_time())

    @property
    def speeds(self):
        return np.array([np.linalg.norm(b.EvalSpatialVelocityInWorld(self.context).translational()) for b in self.bodies])

    @property
    def places(self):
        return np.array([b.EvalPoseInWorld(self.context).translation() for b in self.bodies])

    def contact(self):
        found = self.plant.get_contact_results_output_port().Eval(self.context)
        return depths([-found.point_pair_contact_info(i).point_pair().depth for i in range(found.num_point_pair_contacts())])
