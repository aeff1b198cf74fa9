# SPDX-License-Identifier: Apache-2.0
"""Problems from Python: closed forms, a conic solver's answers, files, errors."""
import numpy as np
import pytest

import stiction
from stiction import cone, huber, interval, quadratic

SIGMA = 1e-3
SOLVERS = ("sap", "apgd", "auto")


# ---- closed forms ----------------------------------------------------------------------------

def near_rigid(w, k, h, tau, beta=1.0):
    return max(beta**2 / (4 * np.pi**2) * w, 1 / (h * k * (h + tau)))


def pizza_saver(torque, mu=2 / 3, k=1e4, force=0.0, v0=(0, 0, 0, 0)):
    """A disc on three points under a torque about its axis: dofs x, y, z and the angle."""
    m, radius, g, h, tau = 3.0, 1.5, 10.0, 0.01, 0.02
    A = np.diag([m, m, m, m * radius**2])
    rows, J, R, vhat = [], [], [], []
    for a in 2 * np.pi / 3 * np.arange(3):
        x, y = radius * np.cos(a), radius * np.sin(a)
        block = np.array([[0, 0, 1, 0], [1, 0, 0, -y], [0, 1, 0, x]])
        w = np.linalg.norm(block @ np.linalg.inv(A) @ block.T) / 3
        Rn = near_rigid(w, k, h, tau)
        depth = h * m * g / 3 * Rn * (h + tau)  # what carries the weight at rest
        dim = 3 if mu > 0 else 1
        rows.append(cone(dim, mu))
        J.append(block[:dim])
        R += [Rn] + [SIGMA * w] * (dim - 1)
        vhat += [depth / (h + tau)] + [0] * (dim - 1)
    vstar = np.array(v0) + h * np.array([force / m, 0, -g, torque / (m * radius**2)])
    return stiction.Problem(rows, A=A, J=np.vstack(J), vstar=vstar, R=R, vhat=vhat, h=h), np.vstack(J)


def steady(solver, steps, **options):
    """Steps until the velocity stays: all of the torque is then held."""
    v = np.zeros(4)
    for _ in range(steps):
        problem, J = pizza_saver(v0=v, **options)
        s = stiction.solve(problem, solver, tol=1e-10)
        assert s.converged
        v = s.v
    return s, J


@pytest.mark.parametrize("solver", SOLVERS)
def test_pizza_saver_sticks(solver):
    s, J = steady(solver, 6, torque=20)
    assert J.T @ s.gamma == pytest.approx(0.01 * np.array([0, 0, 30, -20]), abs=1e-6)
    friction = s.gamma.reshape(3, 3)[:, 1:]
    assert np.linalg.norm(friction, axis=1) == pytest.approx(0.01 * 20 / (3 * 1.5), abs=1e-6)
    slip = (J @ s.v).reshape(3, 3)[:, 1:]
    assert np.linalg.norm(slip, axis=1).max() <= SIGMA * 2 / 3 * 0.01 * 10


@pytest.mark.parametrize("solver", SOLVERS)
def test_pizza_saver_slides(solver):
    problem, _ = pizza_saver(40)
    s = stiction.solve(problem, solver, tol=1e-10)
    g = s.gamma.reshape(3, 3)
    assert np.linalg.norm(g[:, 1:], axis=1) == pytest.approx(2 / 3 * g[:, 0], rel=1e-12)
    for torque, slides in ((29.9, False), (30.1, True)):
        problem, _ = pizza_saver(torque)
        g = stiction.solve(problem, solver, tol=1e-10).gamma.reshape(3, 3)
        assert (np.linalg.norm(g[:, 1:], axis=1) >= 2 / 3 * g[:, 0] * (1 - 1e-9)).all() == slides


def test_pizza_saver_stiff_and_smooth():
    s, J = steady("sap", 6, torque=20, k=1e20)
    assert J.T @ s.gamma == pytest.approx(0.01 * np.array([0, 0, 30, -20]), abs=1e-6)
    problem, _ = pizza_saver(0, mu=0, force=7.0)
    s = stiction.solve(problem, tol=1e-10)
    assert s.v[0] == pytest.approx(0.01 * 7 / 3, abs=1e-14)


def test_an_exact_guess_takes_no_iteration():
    for torque in (20, 40):
        problem, _ = pizza_saver(torque)
        s = stiction.solve(problem, "sap", tol=1e-10)
        again = stiction.solve(problem, "sap", tol=1e-8, guess_v=s.v)
        assert again.info["iterations"] == 0 and again.v == pytest.approx(s.v, abs=0)


def rolling_sphere(speed=(0.0, 0.0), spin=(0.0, 0.0), angle=np.radians(15), mu=0.6, h=0.01, m=2.0, r=0.1):
    """A sphere on an incline, hard: dofs x (downhill), y, z and rotations; the contact is below the centre."""
    inertia = 0.4 * m * r**2
    J = np.zeros((3, 6))
    J[0, 2] = 1
    J[1, 0], J[1, 4] = 1, -r
    J[2, 1], J[2, 3] = 1, r
    vstar = np.array([speed[0] + h * 9.81 * np.sin(angle), speed[1], -h * 9.81 * np.cos(angle), *spin, 0])
    return stiction.Problem([cone(3, mu)], A=np.diag([m] * 3 + [inertia] * 3), J=J, vstar=vstar, h=h)


@pytest.mark.parametrize("coulomb", ("relaxed", "exact"))
def test_rolling_on_an_incline(coulomb):
    s = stiction.solve(rolling_sphere(), coulomb=coulomb, tol=1e-12)
    pull = 2.0 * 9.81 * np.sin(np.radians(15)) * 0.01
    assert s.certificate.headline < 1e-12
    assert s.gamma == pytest.approx([2.0 * 9.81 * np.cos(np.radians(15)) * 0.01, -2 / 7 * pull, 0], abs=1e-12)
    assert s.v[0] == pytest.approx(5 / 7 * pull / 2.0, abs=1e-12)


def test_sliding_ball_starts_to_roll():
    """Thrown at v0 without spin it rolls at 5/7 v0 after t = 2 v0 / (7 mu g): exact Coulomb, step by step."""
    h, mu, v0 = 1e-3, 0.3, 1.0
    v, w, t = v0, 0.0, 0.0
    while v - 0.1 * w > 1e-9 and t < 1:
        problem = rolling_sphere((v, 0), (0, w), angle=0, mu=mu, h=h)
        s = stiction.solve(problem, coulomb="exact", tol=1e-11)
        assert abs(s.v[2]) < 1e-9  # exact Coulomb does not lift it
        v, w, t = s.v[0], s.v[4], t + h
    assert v == pytest.approx(5 / 7 * v0, rel=1e-6)
    assert t == pytest.approx(2 * v0 / (7 * mu * 9.81), abs=2 * h)


def test_exact_and_relaxed_differ_only_when_sliding():
    box = dict(A=np.eye(3), J=np.eye(3)[[2, 0, 1]])
    stick = stiction.Problem([cone(3, 0.5)], vstar=[0.1, 0.2, -1], **box)
    a, b = (stiction.solve(stick, coulomb=c, tol=1e-12) for c in ("relaxed", "exact"))
    assert a.v == pytest.approx(b.v, abs=1e-11) and a.v == pytest.approx([0, 0, 0], abs=1e-11)
    slide = stiction.Problem([cone(3, 0.5)], vstar=[3, 0, -1], **box)
    exact = stiction.solve(slide, coulomb="exact", tol=1e-12)
    assert exact.v == pytest.approx([2.5, 0, 0], abs=1e-10)  # loses mu times the normal impulse
    relaxed = stiction.solve(slide, coulomb="relaxed", tol=1e-12)
    assert relaxed.v[2] == pytest.approx(0.5 * relaxed.v[0], abs=1e-10)  # leaves along the cone's normal
    assert stiction.certify(slide, exact.v, exact.gamma, "relaxed").headline > 1e-2
    assert stiction.certify(slide, relaxed.v, relaxed.gamma, "exact").headline > 1e-2


def test_limit_and_dry_friction():
    A, h = np.eye(2), 0.01
    limit = stiction.Problem([interval(0, np.inf), huber(0.03)], A=A, J=np.eye(2), vstar=[-1, 0.05], R=[1e-9, 1e-9], h=h)
    s = stiction.solve(limit, tol=1e-10)
    assert s.gamma == pytest.approx([1, -0.03], abs=1e-8) and s.v == pytest.approx([0, 0.02], abs=1e-8)
    weld = stiction.Problem([quadratic(2)], A=A, J=[[1, 1], [1, -1]], vstar=[1, 2], vhat=[0.5, 0.25])
    s = stiction.solve(weld, tol=1e-12)
    assert s.v == pytest.approx([0.375, 0.125], abs=1e-10)


@pytest.mark.parametrize("dim", [2, 0, -1, 7, 2**31, 2**100])
def test_a_cone_of_a_size_that_does_not_exist_is_refused_at_once(dim):
    with pytest.raises(ValueError, match="dim 1, 3, 4 or 6"):
        cone(dim, 0.5)


# ---- against a conic solver ------------------------------------------------------------------------

def random_problem(rng, hard=False):
    n, nrow = int(rng.integers(4, 15)), int(rng.integers(1, 8))
    B = rng.normal(size=(n, n))
    rows, R = [], []
    for _ in range(nrow):
        kind = rng.integers(4)
        if kind == 0:
            dim = int(rng.choice([1, 3, 4, 6]))
            mu = rng.uniform(0.2, 1.2, dim - 1)
            rows.append(cone(dim, mu))
            R += [rng.uniform(0.01, 1)] + list(rng.uniform(0.01, 1) / mu**2)
        else:
            rows.append([interval(0, np.inf), interval(rng.uniform(-1, 0), rng.uniform(0, 1)), huber(rng.uniform(0.1, 1)),
                         quadratic()][rng.integers(4)])
            R.append(rng.uniform(0.01, 1))
    m = len(R)
    R = np.zeros(m) if hard else np.array(R)
    return dict(rows=rows, A=B @ B.T + np.eye(n), J=rng.normal(size=(m, n)), vstar=rng.normal(size=n), vhat=0.3 * rng.normal(size=m), R=R)


def conic_answer(p):
    """The dual by clarabel: min 1/2 g'(J A^-1 J' + R) g + q'g, g in C."""
    clarabel = pytest.importorskip("clarabel")
    import scipy.sparse as sp
    A, J = p["A"], p["J"]
    N = J @ np.linalg.solve(A, J.T) + np.diag(p["R"])
    q = J @ p["vstar"] - p["vhat"]
    G, b, cones, at = [], [], [], 0
    for row in p["rows"]:
        unit = -np.eye(len(q))[at:at + row.dim]
        if row.kind == "cone":
            unit[1:] /= np.array(row.mu)[:, None] if row.dim > 1 else 1
            G.append(unit)
            b.append(np.zeros(row.dim))
            cones.append(clarabel.SecondOrderConeT(row.dim) if row.dim > 1 else clarabel.NonnegativeConeT(1))
        elif row.kind != "quadratic":
            for sign, bound in ((1, -row.lo), (-1, row.hi)):
                if np.isfinite(bound):
                    G.append(sign * unit)
                    b.append(np.full(row.dim, bound))
                    cones.append(clarabel.NonnegativeConeT(row.dim))
        at += row.dim
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    G = np.vstack(G) if G else np.zeros((0, len(q)))
    b = np.concatenate(b) if b else np.zeros(0)
    answer = clarabel.DefaultSolver(sp.triu(sp.csc_matrix(N)).tocsc(), q, sp.csc_matrix(G), b, cones, settings).solve()
    g = np.array(answer.x)
    return p["vstar"] + np.linalg.solve(A, J.T @ g), g


@pytest.mark.parametrize("solver", ("sap", "apgd", "newton", "auto"))
def test_against_a_conic_solver(solver):
    """To 1e-7, or to the interior-point method's own error where that is larger (at the borders of regions). How well it ends
    depends on the machine's linear algebra: 1e-4 or better in nearly all."""
    rng, close, ended = np.random.default_rng(7), 0, 0
    for _ in range(60):
        p = random_problem(rng)
        v, g = conic_answer(p)
        problem = stiction.Problem(**p)
        s = stiction.solve(problem, solver, tol=1e-10)
        assert s.converged, s
        other = stiction.certify(problem, v, g)
        ended += other.error_bar < 1e-4
        error = np.sqrt((s.v - v) @ p["A"] @ (s.v - v))
        assert error <= s.certificate.error_bar + other.error_bar + 1e-12
        close += np.abs(s.v - v).max() < 1e-7 and np.abs(s.gamma - g).max() < 1e-7 / p["R"].min()
    assert close >= 45 and ended >= 57


def test_forms_agree():
    rng = np.random.default_rng(3)
    for hard in (False, True):
        for _ in range(20):
            p = random_problem(rng, hard)
            A, J = p["A"], p["J"]
            if hard and len(J) > len(A):
                continue
            dual = stiction.Problem(p["rows"], W=J @ np.linalg.solve(A, J.T), q=J @ p["vstar"] - p["vhat"], R=p["R"])
            a = stiction.solve(stiction.Problem(**p), "apgd", tol=1e-11)
            b = stiction.solve(dual, "apgd", tol=1e-11)
            assert b.v is None
            assert p["vstar"] + np.linalg.solve(A, J.T @ b.gamma) == pytest.approx(a.v, abs=1e-7)


# ---- arrays, files, errors ---------------------------------------------------------------------------

def test_kinds_of_matrices():
    sp = pytest.importorskip("scipy.sparse")
    A, J = np.diag([2.0, 3.0]), np.array([[1.0, 0], [0, 1], [1, 1]])
    forms = [dict(A=A, J=J), dict(A=sp.coo_matrix(A), J=sp.csc_matrix(J)),
             dict(A=([2.0, 3.0], [0, 1], [0, 1, 2]), J=([1.0, 1, 1, 1], [0, 1, 0, 1], [0, 1, 2, 4]))]
    answers = []
    for form in forms:
        p = stiction.Problem([cone(3, 0.5)], vstar=[-1, 0.5], R=[0.1] * 3, **form)
        assert (p.n, p.nrow, p.m) == (2, 1, 3) and p.rows == [cone(3, 0.5)]
        assert p.J[2].tolist() == [0, 1, 2, 4] and p.W is None and p.q is None and p.R.tolist() == [0.1] * 3
        answers.append(stiction.solve(p, tol=1e-10).v)
    assert answers[0].tolist() == answers[1].tolist() == answers[2].tolist()


def test_islands():
    p = stiction.Problem([cone(1), cone(1)], A=np.eye(3), J=[[1, 0, 0], [0, 0, 1]], vstar=[0, 0, 0], R=[1, 1])
    count, dof, row = p.islands()
    assert count == 2 and dof.tolist() == [0, -1, 1] and row.tolist() == [0, 1]


def test_files(tmp_path):
    rng = np.random.default_rng(1)
    p = stiction.Problem(**random_problem(rng), h=0.25)
    p.save(tmp_path / "p.h5")
    q = stiction.Problem.from_file(tmp_path / "p.h5")
    assert p.rows == q.rows and p.vstar.tolist() == q.vstar.tolist() and p.J[0].tolist() == q.J[0].tolist()
    assert stiction.solve(p, tol=1e-9).v.tolist() == stiction.solve(q, tol=1e-9).v.tolist()
    with pytest.raises(stiction.Error, match="FCLIB"):
        p.export_fclib(tmp_path / "f.h5")
    box = stiction.Problem([cone(3, 0.5), cone(1)], A=np.eye(3), J=np.eye(3)[[2, 0, 1, 0]], vstar=[3, 0, -1])
    box.export_fclib(tmp_path / "f.h5")
    back = stiction.Problem.from_file(tmp_path / "f.h5")
    assert back.rows == box.rows and back.vstar == pytest.approx(box.vstar, abs=1e-15)
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "f.h5") as file:
        group = file["fclib_global"]
        assert group["vectors/mu"][()].tolist() == [0.5, 0] and group["H/n"][0] == 6 and group["spacedim"][0] == 3


def test_errors(tmp_path):
    good = dict(rows=[cone(3, 0.5)], A=np.eye(3), J=np.eye(3), vstar=[0, 0, 0], R=[0.1] * 3)
    stiction.Problem(**good)
    for change, error, match in [
            (dict(A=None), TypeError, "A, vstar and J, or W and q"),
            (dict(A=np.eye(2)), ValueError, "A is 2 x 2, must be 3 x 3"),
            (dict(J=np.eye(3)[:2]), ValueError, "J is 2 x 3, must be 3 x 3"),
            (dict(R=[1, 2]), ValueError, "R has 2 numbers, must have 3"),
            (dict(vhat=np.zeros((3, 1))), ValueError, "one dimension"),
            (dict(vstar=[0, np.nan, 0]), stiction.Error, r"vstar\[1\] is not finite"),
            (dict(A=np.array([[1, 0.5, 0], [0, 1, 0], [0, 0, 1.0]])), stiction.Error, "symmetric"),
            (dict(A=np.diag([1, -1, 1.0])), stiction.Error, "diagonal"),
            (dict(rows=[cone(3, -0.5)]), stiction.Error, "mu"),
            (dict(rows=[("ball", 3)]), ValueError, "no kind 'ball'"),
            (dict(R=[-1, 1, 1]), stiction.Error, r"R\[0\]"),
            (dict(J=([1.0], [5], [0, 1, 1, 1])), stiction.Error, "out of range"),
            (dict(J=([1.0], [0], [0, 9, 1, 1])), ValueError, "row starts"),
            (dict(J=([1.0], [-1], [0, 1, 1, 1])), ValueError, "out of range"),
            (dict(J=([1.0], [0.5], [0, 1, 1, 1])), TypeError, "integers")]:
        with pytest.raises(error, match=match):
            stiction.Problem(**{**good, **change})
    p = stiction.Problem(**good)
    with pytest.raises(ValueError, match="no solver 'magic'"):
        stiction.solve(p, "magic")
    with pytest.raises(TypeError, match="no option speed"):
        stiction.solve(p, speed=3)
    with pytest.raises(ValueError, match="guess_v has 2 numbers"):
        stiction.solve(p, guess_v=[0, 0])
    with pytest.raises(stiction.Error, match="not finite"):
        stiction.certify(p, [0, 0, 0], [np.nan, 0, 0])
    with pytest.raises(ValueError, match="gamma has 2 numbers"):
        stiction.certify(p, [0, 0, 0], [0, 0])
    with pytest.raises(stiction.Error, match="no such file"):
        stiction.Problem.from_file(tmp_path / "none.h5")
    (tmp_path / "text.h5").write_text("no")
    with pytest.raises(stiction.Error) as caught:
        stiction.Problem.from_file(tmp_path / "text.h5")
    assert caught.value.code == "FILE" and "text.h5" in caught.value.file
    with pytest.raises(ValueError, match="one mu or 2"):
        cone(3, [1, 2, 3])


def test_views_keep_the_problem_alive():
    import gc
    p = stiction.Problem([cone(1)], A=np.eye(1), J=[[1]], vstar=[7])
    view = p.vstar
    del p
    gc.collect()
    assert view.tolist() == [7] and not view.flags.writeable


def test_certificate_parts():
    p = stiction.Problem([cone(3, 0.5), cone(3, 0.5)], A=np.eye(3), J=np.vstack([np.eye(3)[[2, 0, 1]]] * 2), vstar=[0, 0, -1])
    certificate, share = stiction.certify(p, [0, 0, 0], [0.5, 0, 0, 0.5, 0, 0], rank=True, share=True)
    assert certificate.headline == 0 and share.tolist() == [0, 0]
    assert (certificate.ndetermined, certificate.nregularised) == (3, 3)
    assert stiction.certify(p, [0, 0, -1], np.zeros(6)).penetration == 1


def test_workspace_and_threads():
    rng = np.random.default_rng(5)
    problems = [stiction.Problem(**random_problem(rng)) for _ in range(5)]
    shared = stiction.Workspace(threads=2)
    for p in problems:
        assert stiction.solve(p, tol=1e-9, workspace=shared).v.tolist() == stiction.solve(p, tol=1e-9).v.tolist()
    s = stiction.solve(problems[0], "apgd", tol=1e-9, history=True)
    assert len(s.history) > 0 and "solver" in s.info and s.info["seconds"] >= 0


def test_sensitivities():
    rng = np.random.default_rng(11)
    step = 1e-6
    for _ in range(10):
        p = random_problem(rng)
        w = rng.normal(size=len(p["vstar"]))

        def answer(**change):
            return w @ stiction.solve(stiction.Problem(**{**p, **change}), "sap", tol=1e-13).v

        v = stiction.solve(stiction.Problem(**p), "sap", tol=1e-13).v
        d = stiction.Problem(**p).vjp(v, w)
        for name in ("vstar", "vhat"):
            direction = rng.normal(size=len(p[name]))
            slope = (answer(**{name: p[name] + step * direction}) - answer(**{name: p[name] - step * direction})) / (2 * step)
            assert d[name] @ direction == pytest.approx(slope, rel=1e-4, abs=1e-5)
