# SPDX-License-Identifier: Apache-2.0
"""Calls of the Python package that nobody would make: fuzz_python.py [SECONDS] [SEED] [ROUNDS].

Rounds of random calls with wrong types, huge numbers, NaN, arrays of odd shapes, views whose owners are gone, and several
threads. A call may raise what says that its arguments are wrong; a crash, a sanitizer's report, a SystemError or a call
of more than a minute is a finding. Each round has its own seed, so that `fuzz_python.py 0 SEED` repeats it alone."""
import copy
import faulthandler
import gc
import math
import os
import pathlib
import random
import sys
import tempfile
import threading
import time
import warnings

import numpy as np

import stiction

FAIR = (stiction.Error, TypeError, ValueError, IndexError, KeyError, AttributeError, OverflowError, MemoryError, BufferError,
        OSError, NotImplementedError, ZeroDivisionError, RuntimeError)
ROUND_CALLS, CALL_SECONDS = 60, 60
WORK_MOST = 1e7  # floating-point operations of a solve: less than a second under sanitizers

XML = [
    "<mujoco/>",
    "<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>",
    """<mujoco xmlns:sti='urn:stiction'><worldbody><geom name='floor' type='plane' size='5 5 1'/>
    <body name='a' pos='0 0 .09'><freejoint name='free'/><geom name='box' type='box' size='.1 .1 .1'/><site name='s'/></body>
    <body name='b' pos='.5 0 .3'><joint name='j' axis='0 1 0'/><geom name='ball' size='.05' pos='.1 0 0'/><site name='t' pos='.1 0 0'/>
    <body pos='.2 0 0'><joint name='k' axis='0 1 0'/><geom size='.03'/></body></body><camera name='eye' pos='0 -2 1'/></worldbody>
    <equality><sti:coupled name='c' site1='s' site2='t' ratio='1 0 0 1'/></equality>
    <actuator><motor name='m' joint='j'/><position joint='k' kp='10'/></actuator>
    <sensor><jointpos name='q' joint='j'/><contact name='touches' geom1='floor' num='3'/></sensor>
    <keyframe><key name='home' ctrl='1 0'/></keyframe></mujoco>""",
    """<mujoco xmlns:sti='urn:stiction'><worldbody><geom type='plane' size='5 5 1'/><sti:soft name='f' type='box' size='.05 .05 .05'
    edge='.1' pos='0 0 .05' young='1e5' poisson='.3'/></worldbody></mujoco>""",
    """<mujoco><worldbody><flexcomp name='f' type='grid' dim='2' count='3 3 1' spacing='.1 .1 .1' mass='.3' radius='.01' pos='0 0 .5'>
    <elasticity young='3e4' poisson='.3' thickness='.01' damping='.01' elastic2d='both'/><pin id='0'/></flexcomp><body name='a' pos='0 0 2'>
    <joint name='j' axis='0 1 0' stiffness='1' springyield='.1'/><joint name='k' axis='0 1 0'/><geom name='ball' size='.05' pos='.1 0 0'/>
    </body></worldbody><actuator><dcmotor name='m' joint='j' motorconst='.1' resistance='1' inductance='.01' input='pos vel'/>
    <pid joint='k' kp='1' ki='1' nsample='4' delay='.005' interp='linear'/></actuator>
    <sensor><jointpos name='q' joint='j' nsample='5' delay='.004' interval='.004' interp='cubic'/></sensor></mujoco>""",
]


class Odd:
    def __init__(self, owner):
        self.owner = owner

    def __or__(self, value):
        return self.owner.junk() if self.owner.rng.random() < 0.25 else value


class Round:
    """What one seed does."""

    def __init__(self, seed, folder, log):
        self.rng, self.folder, self.log = random.Random(seed), folder, log
        self.models = [stiction.Model.from_xml_string(x) for x in XML]
        self.datas = [stiction.Data(m) for m in self.models]
        self.problems, self.keep, self.recorders, self.viewers, self.renderers, self.batches = [], [], [], [], [], []

    # ---- arguments ----------------------------------------------------------------------------------

    def junk(self):
        rng = self.rng
        return rng.choice([
            lambda: None, lambda: True, lambda: -1, lambda: 2**31, lambda: 2**63, lambda: -2**63, lambda: 2**100, lambda: 0.5,
            lambda: math.nan, lambda: -math.inf, lambda: 1e308, lambda: "", lambda: "a\0b", lambda: "x" * 5000, lambda: "\ud800",
            lambda: b"", lambda: b"\xff" * 100, lambda: [], lambda: {}, lambda: (), object, lambda: int, lambda: (i for i in range(3)),
            lambda: {1: 2}, lambda: [[1], [2, 3]], lambda: 1j, lambda: slice(3), lambda: bytearray(8), self.array,
            lambda: rng.choice(self.models), lambda: rng.choice(self.datas), lambda: self.folder,
        ])()

    def array(self):
        rng = self.rng
        shape = rng.choice([(), (0,), (1,), (3,), (4,), (7,), (3, 3), (0, 3), (2, 3, 4), (1000,), (100, 3)])
        kind = rng.choice(["f8", "f4", "i4", "i8", "u1", ">f8", "O", "c16", "?", "S3"])
        a = np.zeros(shape, kind)
        if kind in ("f8", "f4", ">f8") and a.size:
            a[...] = rng.choice([0, 1, math.nan, math.inf, -1e300 if kind != "f4" else 1e38, 1e-300, 0.1])
        how = rng.randrange(6)
        if how == 0 and a.ndim:
            a = a[::-2]
        elif how == 1:
            a = a.T
        elif how == 2:
            a.flags.writeable = False
        elif how == 3:
            a = np.broadcast_to(a, (3,) + a.shape)
        return a

    def number(self):
        return self.odd | self.rng.choice([0, 1, -1, 0.1, 2.5, 1e-9, 1e9, 3])

    def integer(self):
        return self.odd | self.rng.choice([0, 1, 2, 3, 4, 5, -1, 10, 100])

    def vector(self, n=3):
        return self.odd | [self.rng.uniform(-1, 1) for _ in range(n)]

    @property
    def odd(self):
        """odd | x is x, or junk now and then."""
        return Odd(self)

    def name(self):
        return self.odd | self.rng.choice(["a", "b", "j", "box", "floor", "s", "eye", "m", "q", "touches", "c", "home", "f", "none"])

    def model(self):
        return self.odd | self.rng.choice(self.models)

    def data(self):
        return self.odd | self.rng.choice(self.datas)

    def pair(self):
        data = self.rng.choice(self.datas)
        return self.odd | data.model, self.odd | data

    def path(self):
        return self.odd | str(self.folder / self.rng.choice(["x.h5", "y.h5", "z.obj", "scene.xml", "t.vtk", "no/such/x.h5"]))

    def boolean(self):
        return self.odd | self.rng.choice([True, False])

    def xml(self):
        text = self.rng.choice(XML)
        for _ in range(self.rng.randrange(4)):
            i = self.rng.randrange(len(text))
            text = text[:i] + self.rng.choice(["", "0", "'", "<", "1e9", "\0", "é", "-"]) + text[i + self.rng.randrange(3):]
        return self.odd | text

    def assets(self):
        return self.odd | {self.rng.choice(["a.stl", "b.obj", "", "x\0"]): self.rng.choice([b"", b"solid", bytes(100), "text", 3])}

    def some(self, **makers):
        """Keywords, some of them."""
        return {k: make() for k, make in makers.items() if self.rng.random() < 0.3}

    # ---- calls ------------------------------------------------------------------------------------------

    def call(self, function, *args, **keywords):
        text = f"{getattr(function, '__qualname__', function)}{args!r:.400} {keywords!r:.400}".encode("utf8", "replace")
        os.write(self.log, text + b"\n")
        try:
            return function(*args, **keywords)
        except FAIR as e:
            if isinstance(e, RuntimeError) and type(e) is not RuntimeError:
                raise
            if isinstance(e, KeyError) or str(e) or isinstance(e, MemoryError):
                return None
            raise AssertionError(f"{type(e).__name__} without a word") from e

    def load(self):
        m = self.call(stiction.Model.from_xml_string, self.xml(), **self.some(assets=self.assets))
        if isinstance(m, stiction.Model) and m.nv < 200:
            self.models.append(m)
            d = self.call(stiction.Data, m, **self.some(profile=self.boolean, threads=lambda: self.rng.choice([1, 2, 3, -1, 10**9])))
            if d is not None:
                self.datas.append(d)

    def load_path(self):
        self.call(stiction.Model.from_xml_path, self.path(), **self.some(assets=self.assets, allow_outside=self.boolean))
        self.call(stiction.check, self.path(), **self.some(allow_outside=self.boolean))

    def make_data(self):
        self.call(stiction.Data, self.model(), **self.some(profile=self.boolean, threads=self.integer))

    def step(self):
        m, d = self.pair()
        n = self.odd | self.rng.choice([1, 2, 3, 0, -1])
        if not isinstance(n, int) or n < 1000:
            self.call(stiction.step, m, d, n)

    def forward(self):
        self.call(self.rng.choice([stiction.forward, stiction.mass_matrix]), *self.pair())

    def reset(self):
        self.call(stiction.reset, *self.pair(), **self.some(key=self.name))

    def ray(self):
        self.call(stiction.ray, *self.pair(), self.vector(), self.vector(),
                  **self.some(groups=lambda: self.odd | [0, 1, 9], fixed=self.boolean, bodyexclude=self.integer))

    def distance(self):
        self.call(stiction.geom_distance, *self.pair(), self.name(), self.integer(), **self.some(distmax=self.number))

    def reach(self):
        self.call(stiction.ik_solve, *self.pair(),
                  **self.some(site=self.name, body=self.name, pos=self.vector, quat=lambda: self.vector(4), qpos=lambda: self.vector(9),
                              joints=lambda: self.odd | [self.name()], restarts=lambda: self.odd | 1, tolerance=self.number,
                              damping=self.number, radius=self.number, max_iterations=lambda: self.rng.choice([0, 1, 50, -1, "a"])))

    def picture(self):
        self.call(stiction.picture, *self.pair(), width=self.odd | 32, height=self.odd | 24,
                  **self.some(camera=self.name, lookat=self.vector, distance=self.number, azimuth=self.number, elevation=self.number,
                              groups=lambda: self.odd | [0, 1], sites=self.boolean))

    def renderer(self):
        if self.renderers and self.rng.random() < 0.8:
            r = self.rng.choice(self.renderers)
            kind = self.rng.choice(["depth", "segmentation"])
            marker = lambda: self.odd | [stiction.Marker(self.rng.choice(["sphere", "arrow", "box", "no"]), self.vector(), self.vector(),
                                                         self.vector(4), label=self.name())]
            self.call(self.rng.choice([getattr(r, f"enable_{kind}_rendering"), getattr(r, f"disable_{kind}_rendering")]))
            self.call(r.update_scene, self.data(), **self.some(
                camera=self.name, lookat=self.vector, distance=self.number, azimuth=self.number, elevation=self.number, markers=marker,
                groups=lambda: self.odd | [0, 1], sites=self.boolean, contacts=self.boolean, force_scale=self.number, stress=self.boolean,
                stress_end=self.number))
            self.call(r.render, **self.some(out=self.array))
            if self.rng.random() < 0.1:
                self.call(r.close)
        elif len(self.renderers) < 3:
            r = self.call(stiction.Renderer, self.model(), self.odd | 24, self.odd | 32,
                          **self.some(backend=lambda: self.odd | self.rng.choice(["cpu", "egl", "auto"]), threads=self.integer))
            if r is not None:
                self.renderers.append(r)

    def batch(self):
        if self.batches and self.rng.random() < 0.8:
            b = self.rng.choice(self.batches)
            worlds = lambda: self.odd | self.rng.choice([[0], [1, 0], [True] * len(b), []])
            self.rng.choice([
                lambda: self.call(b.step, self.odd | 1, **self.some(ctrl=lambda: self.rng.choice([self.array, self.vector])())),
                lambda: self.call(b.rollout, **self.some(control=self.array, nstep=lambda: self.odd | 2, failed=worlds)),
                lambda: self.call(b.reset, **self.some(worlds=worlds, key=self.name, state=self.array)),
                lambda: self.call(b.forward, **self.some(worlds=worlds)),
                lambda: self.call(setattr, b, self.rng.choice(["qpos", "qvel", "ctrl", "time", "no"]), self.array()),
                lambda: self.call(setattr, b, self.rng.choice(["qpos", "qvel", "ctrl"]), self.number()),
                lambda: self.call(b.parameter, self.rng.choice(["body_mass", "geom_friction", "no"])),
                lambda: self.call(getattr, b, self.rng.choice(dir(b))),
                lambda: self.call(b.put, self.integer(), self.data()),
                lambda: self.datas.append(self.call(b.world, self.integer()) or self.datas[0]),
                lambda: self.call(b.hashes),
            ])()
        elif len(self.batches) < 3:
            b = self.call(stiction.Batch, self.model(), self.odd | 2, **self.some(
                threads=lambda: self.odd | self.rng.choice([1, 2]), errors=lambda: self.odd | self.rng.choice(["raise", "keep"]),
                device=lambda: self.odd | self.rng.choice(["cpu", "cuda"])))
            if b is not None:
                self.batches.append(b)

    def options(self):
        opt = self.rng.choice(self.models).opt
        name = self.rng.choice([n for n in dir(opt) if n not in ("substeps", "alm_outer", "alm_newton", "max_hits")])
        old = copy.copy(self.call(getattr, opt, name))
        self.call(setattr, opt, name, self.number())
        if self.rng.random() < 0.7 and old is not None:
            self.call(setattr, opt, name, old)

    def fields(self):
        d = self.rng.choice(self.datas)
        name = self.rng.choice(dir(d))
        value = self.call(getattr, d, name)
        if isinstance(value, np.ndarray):
            self.keep.append(value)
            if self.rng.random() < 0.5:
                self.call(setattr, d, name, self.rng.choice([self.array, self.number, self.vector])())

    def constants(self):
        m = self.rng.choice(self.models)
        name = self.rng.choice(dir(m))
        value = self.call(getattr, m, name)
        if isinstance(value, np.ndarray):
            self.keep.append(value)
            if self.rng.random() < 0.5:
                self.call(setattr, m, name, self.rng.choice([self.array, self.number, self.vector])())
                self.call(m.update)
        self.call(setattr, m, "nv", 3)

    def named(self):
        owner = self.rng.choice(self.models + self.datas)
        kind = self.rng.choice(["body", "joint", "geom", "site", "camera", "flex", "tendon", "actuator", "sensor", "equality", "key"])
        thing = self.call(getattr(owner, kind), self.name() if self.rng.random() < 0.5 else self.integer())
        if thing is not None:
            self.call(getattr, thing, self.rng.choice(["qpos", "xpos", "ctrl", "data", "size", "pos", "mass", "nothing", "id"]))
            self.call(setattr, thing, self.rng.choice(["qpos", "ctrl", "qvel"]), self.number())

    def snapshot(self):
        d = self.rng.choice(self.datas)
        s = self.call(d.snapshot)
        if s is None:
            return
        bad = bytearray(s)
        for _ in range(self.rng.randrange(4)):
            bad[self.rng.randrange(len(bad))] = self.rng.randrange(256)
        self.call(d.restore, self.odd | bytes(bad[:self.rng.choice([len(bad), len(bad), 3, len(bad) // 2])]))
        self.call(self.rng.choice(self.datas).restore, s)
        self.call(d.hash)

    def methods(self):
        d = self.rng.choice(self.datas)
        name = self.rng.choice(["soft_stress", "coupled", "profile", "set_capsules", "save_capsule", "load_capsule", "hash"])
        args = {"soft_stress": [self.boolean()], "coupled": [self.name()], "save_capsule": [self.path()], "load_capsule": [self.path()],
                "set_capsules": [self.odd | str(self.folder), self.integer()]}.get(name, [])
        self.call(getattr(d, name), *args)
        self.call(self.rng.choice(self.models).get_sensor_value, self.name(), self.data())

    def copies(self):
        self.call(copy.copy, self.rng.choice(self.models))
        d = self.call(self.rng.choice([copy.copy, copy.deepcopy]), self.rng.choice(self.datas))
        if isinstance(d, stiction.Data):
            self.datas.append(d)

    def recorder(self):
        if self.recorders and self.rng.random() < 0.7:
            r = self.rng.choice(self.recorders)
            self.call(self.rng.choice([r.frame, r.frame, r.close]))
        else:
            r = self.call(stiction.Recorder, self.path(), self.data(), **self.some(fields=lambda: self.odd | ["qpos", "xpos", "no"]))
            if r is not None:
                self.recorders.append(r)

    def matrix(self, n, m):
        a = np.array([[self.rng.choice([0, 1, -1, 0.5, 2]) for _ in range(m)] for _ in range(n)], float).reshape(n, m)
        return self.odd | self.rng.choice([a, a.tolist(), (a.ravel(), np.arange(n * m), np.arange(0, n * m + 1, max(m, 1)))])

    def rows(self):
        row = self.rng.choice([lambda: stiction.cone(3, 0.5), lambda: stiction.interval(0, 1), lambda: stiction.huber(1.0),
                               stiction.quadratic, lambda: {"kind": "cone", "dim": self.integer()}, self.junk,
                               lambda: self.call(stiction.cone, self.integer(), self.number()),
                               lambda: self.call(stiction.interval, self.number(), self.number(), self.integer())])
        return self.odd | [row() for _ in range(self.rng.randrange(4))]

    def problem(self):
        n, rows = self.rng.randrange(5), self.rows()
        m = sum(d for d in (getattr(r, "dim", 1) for r in rows) if type(d) is int and 0 <= d < 10) if isinstance(rows, list) else 3
        parts = {"A": self.rng.choice([np.eye(n), self.matrix(n, n)]), "J": self.matrix(m, n), "vstar": self.vector(n)}
        if self.rng.random() < 0.3:
            parts = {"W": self.rng.choice([np.eye(m), self.matrix(m, m)]), "q": self.vector(m)}
        parts |= self.some(R=lambda: self.vector(m), vhat=lambda: self.vector(m), h=self.number)
        p = self.call(stiction.Problem, rows, **parts)
        if p is not None:
            self.problems.append(p)

    def solve(self):
        p = self.odd | (self.rng.choice(self.problems) if self.problems else None)
        answer = self.call(stiction.solve, p, max_work=WORK_MOST, **self.some(
            solver=lambda: self.odd | self.rng.choice(["sap", "apgd", "newton", "auto"]),
            coulomb=lambda: self.rng.choice(["exact", "relaxed", "no"]), tol=self.number, guess_v=self.vector, guess_gamma=self.vector,
            workspace=lambda: self.odd | stiction.Workspace(), linear=lambda: self.rng.choice(["auto", "direct", "pcg", 3]),
            atol=self.number, rtol=self.number, max_iterations=lambda: self.rng.choice([0, 1, 100, -1, 2.5]), max_newton=lambda: 10,
            pcg_tol=self.number, max_step=self.number, relaxation=self.number, history=self.boolean, finish=self.boolean))
        if isinstance(answer, stiction.Solution):
            self.call(stiction.certify, p, self.odd | answer.v, self.odd | answer.gamma, **self.some(rank=self.boolean, share=self.boolean))
        if isinstance(p, stiction.Problem):
            self.call(p.vjp, self.vector(), self.vector())
            self.call(p.islands)
            self.call(self.rng.choice([p.save, p.export_fclib]), self.path())
        self.call(stiction.Problem.from_file, self.path())

    def coupled(self):
        c = stiction.coupled
        self.call(c.invert, self.matrix(2, 2), **self.some(pivot_epsilon=self.number))
        a = self.call(c.Body, **self.some(mass=self.number, inertia=self.number, pos=self.vector, quat=lambda: self.vector(4)))
        b = self.call(c.Body)
        k = self.call(c.Coupled, self.odd | [(1, 0, 0), (0, 1, 0)], **self.some(anchor_a=self.vector, axis=self.vector, distance=self.number))
        if k is not None:
            for name in ("prepare", "solve_velocity", "solve_position", "finish"):
                self.call(getattr(k, name), a, b, *([self.number()] if name == "prepare" else []))
            self.call(k.diagnostics) if callable(k.diagnostics) else None

    def mesh(self):
        points = self.odd | [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
        cells = self.odd | self.rng.choice([[[0, 1, 2, 3]], [[0, 1, 2, 9]], [[-1, 0, 1, 2]], [[0, 0, 0, 0]]])
        t = self.call(stiction.mesh.TetMesh, points, cells)
        if t is not None:
            for name in ("volume", "depth"):
                value = getattr(t, name)
                self.call(value) if callable(value) else None
            self.call(t.save, self.path())
        self.call(stiction.mesh.load, self.path())
        self.call(stiction.mesh.tetrahedralize, points, self.odd | [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]],
                  edge=self.odd | 0.5, **self.some(open=self.boolean, max_volume=self.number))

    def viewer(self):
        if not hasattr(stiction.viewer, "Viewer"):
            return
        if self.viewers and self.rng.random() < 0.7:
            v = self.rng.choice(self.viewers)
            self.call(self.rng.choice([v.sync, v.close, v.stop, v.is_running, lambda: v.run(0.01), lambda: v.contacts(self.name(), self.name()),
                                       lambda: v.run(self.rng.choice([math.nan, -1, 0, "x", None]))]))
        elif len(self.viewers) < 3:
            v = self.call(stiction.viewer.Viewer, *self.pair(),
                          **self.some(port=lambda: self.rng.choice([0, -1, 2**40, "x"]), rate=self.number, history=self.integer))
            if v is not None:
                self.viewers.append(v)

    def forget(self):
        """Owners go, their views stay and are read."""
        if len(self.datas) > 3:
            self.datas.pop(self.rng.randrange(len(self.datas)))
        if len(self.models) > 3:
            self.models.pop(self.rng.randrange(len(self.models)))
        gc.collect()
        for a in self.keep[-20:]:
            a.sum() if a.dtype.kind in "fiu" else None
        del self.keep[:-20]

    def threads(self):
        """The same world from several threads: who comes second is told so."""
        d = self.rng.choice(self.datas)
        def work():
            for _ in range(5):
                for f in (lambda: stiction.step(d.model, d, 2), d.snapshot, d.hash, lambda: d.contact, lambda: stiction.forward(d.model, d)):
                    try:
                        f()
                    except FAIR:
                        pass
        os.write(self.log, b"threads\n")
        all_ = [threading.Thread(target=work) for _ in range(3)]
        for t in all_:
            t.start()
        for t in all_:
            t.join()

    ACTIONS = [load, load_path, make_data, step, step, step, forward, reset, ray, distance, reach, picture, renderer, renderer, batch, batch,
               options, fields, fields, constants, named, snapshot, methods, copies, recorder, recorder, problem, problem, solve, solve,
               coupled, mesh, viewer, viewer, forget, threads]

    def run(self):
        for _ in range(ROUND_CALLS):
            faulthandler.dump_traceback_later(CALL_SECONDS, exit=True)
            self.rng.choice(self.ACTIONS)(self)
        for v in self.viewers:
            self.call(v.close)
        for r in self.recorders:
            self.call(r.close)
        faulthandler.cancel_dump_traceback_later()


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 60
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else random.SystemRandom().randrange(10**9)
    most = int(sys.argv[3]) if len(sys.argv) > 3 else math.inf
    warnings.simplefilter("ignore")
    np.seterr(all="ignore")
    faulthandler.enable()
    end, rounds = time.monotonic() + seconds, 0
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        (folder / "scene.xml").write_text(XML[2])
        log = os.open(folder / "calls.txt", os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        while rounds == 0 or (time.monotonic() < end and rounds < most):
            print(f"seed {seed}", flush=True)
            os.ftruncate(log, 0)
            os.lseek(log, 0, os.SEEK_SET)
            try:
                Round(seed, folder, log).run()
            except BaseException:
                os.lseek(log, 0, os.SEEK_SET)
                print("the last calls:\n" + os.read(log, 1 << 20).decode("utf8", "replace")[-3000:])
                raise
            seed, rounds = seed + 1, rounds + 1
    print(f"{rounds} rounds, nothing found")


if __name__ == "__main__":
    main()
