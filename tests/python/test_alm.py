# SPDX-License-Identifier: Apache-2.0
"""The integrator alm against exact solutions of the same step, found another way: Newton on the KKT system of bodies in a
plane (position and angle each), and Newton on the joint angles of the double pendulum."""
import math

import numpy as np
import pytest
import stiction

TAU = 2 * math.pi


class Plane:
    """Bodies in a plane with pins between their points: implicit Euler, position constraints at the end of a step."""

    def __init__(self, position, angle, mass, inertia, pins, gravity, h, sign):
        self.n, self.h, self.pins, self.sign = len(mass), h, pins, sign
        self.x = np.column_stack([position, angle]).ravel()
        self.v = np.zeros_like(self.x)
        self.M = np.column_stack([mass, mass, inertia]).ravel()
        self.f = np.column_stack([np.outer(mass, gravity), np.zeros(self.n)]).ravel()

    def turn(self, a, r, derivative=0):
        c, s = [(math.cos(a), math.sin(a)), (-math.sin(a), math.cos(a)), (-math.cos(a), -math.sin(a))][derivative]
        return np.array([c * r[0] - self.sign * s * r[1], self.sign * s * r[0] + c * r[1]])

    def rows(self, x):
        C, J = np.zeros(2 * len(self.pins)), np.zeros((2 * len(self.pins), 3 * self.n))
        bend = []
        for k, (i, ri, j, rj) in enumerate(self.pins):
            for body, r, side in ((i, ri, 1), (j, rj, -1)):
                if body < 0:
                    C[2 * k:2 * k + 2] += side * np.asarray(r)
                    continue
                at = 3 * body
                C[2 * k:2 * k + 2] += side * (x[at:at + 2] + self.turn(x[at + 2], r))
                J[2 * k:2 * k + 2, at:at + 2] = side * np.eye(2)
                J[2 * k:2 * k + 2, at + 2] = side * self.turn(x[at + 2], r, 1)
                bend.append((at + 2, 2 * k, side * self.turn(x[at + 2], r, 2)))
        return C, J, bend

    def step(self):
        x0, h = self.x, self.h
        hat = x0 + h * self.v
        x, lam = hat.copy(), np.zeros(2 * len(self.pins))
        for _ in range(30):
            C, J, bend = self.rows(x)
            H = np.diag(self.M).copy()
            for at, row, second in bend:
                H[at, at] += lam[row:row + 2] @ second
            K = np.block([[H, J.T], [J, np.zeros((len(C), len(C)))]])
            g = self.M * (x - hat) - h * h * self.f + J.T @ lam
            d = np.linalg.lstsq(K, -np.r_[g, C], rcond=1e-13)[0]  # rows may be redundant
            x, lam = x + d[:len(x)], lam + d[len(x):]
            if np.abs(d[:len(x)]).max() < 1e-14:
                break
        self.v, self.x = (x - x0) / h, x


def pendulum(scenes, h):
    model = stiction.Model.from_xml_path(scenes / "double_pendulum.xml")
    model.opt.integrator, model.opt.timestep = "alm", h
    return model, stiction.Data(model)


def test_pendulum_agrees_with_kkt(scenes):
    model, data = pendulum(scenes, 0.01)
    exact = Plane([[0.5, 0], [1.5, 0]], [0, 0], [1, 1], [1, 1],
                  [(-1, (0, 0), 0, (-0.5, 0)), (0, (0.5, 0), 1, (-0.5, 0))], (0, -9.81), 0.01, 1)
    for _ in range(100):
        stiction.step(model, data)
        exact.step()
        x = exact.x.reshape(2, 3)
        assert data.qpos == pytest.approx([x[0, 2], x[1, 2] - x[0, 2]], abs=1e-8)
    stiction.forward(model, data)
    assert data.xipos[1:, :2] == pytest.approx(exact.x.reshape(2, 3)[:, :2], abs=1e-8)


def loop_xml(n):
    links = "".join(f"<body name='b{i}' pos='{0.1 if i else 0} 0 0' euler='0 {TAU / n if i else 0!r} 0'>"
                    "<joint axis='0 1 0'/><geom type='capsule' size='0.02' fromto='0 0 0 0.1 0 0' mass='0.1'/>"
                    for i in range(n))
    return ("<mujoco><compiler angle='radian'/><option integrator='alm' timestep='0.005'><flag contact='disable'/>"
            f"</option><worldbody>{links}{'</body>' * n}</worldbody>"
            f"<equality><connect body1='b{n - 1}' anchor='0.1 0 0'/></equality></mujoco>")


def test_loop_of_20_agrees_with_kkt():
    n = 20
    model = stiction.Model.from_xml_string(loop_xml(n))
    data = stiction.Data(model)
    stiction.forward(model, data)
    angle = np.arange(n) * TAU / n
    pins = [(-1, (0, 0), 0, (-0.05, 0))] + [(i, (0.05, 0), i + 1, (-0.05, 0)) for i in range(n - 1)]
    anchor = data.xpos[n, [0, 2]] + 0.1 * np.array([math.cos(angle[-1]), -math.sin(angle[-1])])
    pins.append((n - 1, (0.05, 0), -1, anchor))
    inertia = model.body_inertia[1:, 0]  # capsules: principal axes 0 and 1 are the cross ones
    exact = Plane(data.xipos[1:][:, [0, 2]], angle, model.body_mass[1:], inertia, pins, (0, -9.81), 0.005, -1)
    for k in range(60):
        stiction.step(model, data)
        exact.step()
        assert np.cumsum(data.qpos) + angle == pytest.approx(exact.x[2::3], abs=1e-8), k
        assert data.certificate.joints < 1e-10


def test_pendulum_agrees_with_joint_angles(scenes):
    """The same objective over two angles, minimised by Newton with complex-step gradients."""
    h, model_data = 0.01, pendulum(scenes, 0.01)
    model, data = model_data

    def bodies(q):
        a, b = q[0], q[0] + q[1]
        return np.array([0.5 * np.cos(a), 0.5 * np.sin(a), a,
                         np.cos(a) + 0.5 * np.cos(b), np.sin(a) + 0.5 * np.sin(b), b])

    def gradient(q, hat):
        g = np.zeros(2)
        for k in range(2):
            z = np.asarray(q, complex)
            z[k] += 1e-30j
            x = bodies(z)
            g[k] = (0.5 * np.sum((x - hat)**2) + h * h * 9.81 * (x[1] + x[4])).imag / 1e-30
        return g

    x, v, q = bodies([0, 0]), np.zeros(6), np.zeros(2)
    for _ in range(100):
        hat = x + h * v
        for _ in range(20):
            g = gradient(q, hat)
            H = np.column_stack([(gradient(q + e, hat) - gradient(q - e, hat)) / 2e-6 for e in 1e-6 * np.eye(2)])
            d = np.linalg.solve(H, -g)
            q = q + d
            if np.abs(d).max() < 1e-14:
                break
        x, v = bodies(q), (bodies(q) - x) / h
        stiction.step(model, data)
        assert data.qpos == pytest.approx(q, abs=1e-8)


def test_preset_scene_is_the_published_table(scenes):
    model = stiction.Model.from_xml_path(scenes / "double_pendulum_alm.xml")
    o = model.opt
    assert (o.timestep, o.alm_mu, o.alm_outer, o.alm_newton, o.alm_adaptive) == (0.01, 1000, 10, 20, 0)
    data = stiction.Data(model)
    for _ in range(300):
        stiction.step(model, data)
    stiction.forward(model, data)
    assert np.round(data.xipos[1:, :2], 2).tolist() == [[0.40, -0.30], [0.94, -1.08]]


def test_words_and_ranges(scenes):
    model, data = pendulum(scenes, 0.01)
    for word, number in (("euler", 0), ("bdf2", 1), ("midpoint", 2)):
        model.opt.alm_scheme = word
        assert model.opt.alm_scheme == number
    with pytest.raises(ValueError):
        model.opt.alm_scheme = "leapfrog"
    with pytest.raises(ValueError):
        model.opt.integrator = "almost"
    with pytest.raises(ValueError, match="alm_mu"):
        model.opt.alm_mu = -1


def test_mass_matrix_on_demand(scenes):
    """Nothing of the size of M is computed in a step, but it is there for who asks."""
    model, data = pendulum(scenes, 0.01)
    other = stiction.Model.from_xml_path(scenes / "double_pendulum.xml")
    other.opt.integrator, other.opt.timestep = "Euler", 0.01
    reference = stiction.Data(other)
    data.qpos[:] = reference.qpos[:] = [0.3, -0.7]
    stiction.forward(model, data), stiction.forward(other, reference)
    assert data.M == pytest.approx(reference.M)
    assert data.qacc_smooth == pytest.approx(reference.qacc_smooth)
    assert data.energy == pytest.approx(reference.energy)
