# SPDX-License-Identifier: Apache-2.0
"""Coupled constraints: small matrices against LAPACK, the local solve, scenes, the bench and its plot."""
import json
import pathlib
import re
import subprocess
import sys

import numpy as np
import pytest
import scipy.linalg
import stiction
from stiction.coupled import PRESETS, Body, Coupled, Flag, invert

ROOT = pathlib.Path(__file__).resolve().parents[2]
EPS = np.finfo(float).eps


# ---- matrices against LAPACK -------------------------------------------------------------------------------------


def families(n, count, rng):
    """Symmetric matrices n x n, `count` of each kind: any, definite, scaled, nearly singular, singular, singular with softness."""
    any_ = rng.normal(size=(count, n, n))
    yield "any", any_ + any_.transpose(0, 2, 1), None
    ratios = rng.normal(size=(count, n, 2))
    mobility = rng.uniform(0.5, 5, size=(count, 1, 2))
    block = (ratios * mobility) @ ratios.transpose(0, 2, 1)
    yield "definite", block + np.eye(n) * rng.uniform(0.001, 1, size=(count, 1, 1)), None
    yield "softened", block + np.eye(n) * 10.0 ** rng.uniform(-9, -2, size=(count, 1, 1)), None
    scale = 10.0 ** rng.uniform(-3, 3, size=(count, n))
    yield "scaled", (any_ + any_.transpose(0, 2, 1)) * scale[:, :, None] * scale[:, None, :], None
    q = np.linalg.qr(rng.normal(size=(count, n, n)))[0]
    value = 10.0 ** rng.uniform(-12, 0, size=(count, n)) * rng.choice([-1, 1], size=(count, n))
    near = (q * value[:, None, :]) @ q.transpose(0, 2, 1)
    yield "near", (near + near.transpose(0, 2, 1)) / 2, None
    rank = rng.integers(0, n + 1, size=count)
    vectors = rng.integers(-3, 4, size=(count, n, n)).astype(float) * (np.arange(n) < rank[:, None, None])
    singular = vectors @ vectors.transpose(0, 2, 1)  # exact: small integers
    yield "singular", singular, np.linalg.matrix_rank(vectors)
    yield "block", block, np.full(count, min(n, 2))


def scaled_rows(K):
    """Divided by the largest entry of each row; rows of zeros stay."""
    scale = np.abs(K).max(axis=-1, keepdims=True)
    return K / np.where(scale > 0, scale, 1)


def lapack_pivots(K):
    """Pivots of LAPACK's elimination of the matrix with scaled rows, which chooses as scaled partial pivoting does."""
    scale = np.abs(K).max(axis=1)
    lu, swaps = scipy.linalg.lu_factor(K / scale[:, None], check_finite=False)
    order = np.arange(len(K))
    for i, j in enumerate(swaps):
        order[[i, j]] = order[[j, i]]
    return np.abs(np.diag(lu) * scale[order])


def check_against_lapack(kind, K, known_rank):
    n = K.shape[-1]
    inverse, c = invert(K)
    values = np.linalg.svd(scaled_rows(K), compute_uv=False)
    grey = ((values > 1e-14) & (values < 1e-10)).any(axis=1)  # the rank is a matter of taste there
    rank = (values >= 1e-10).sum(axis=1)
    assert (c.rank == rank)[~grey].all()
    if known_rank is not None:
        assert (c.rank == known_rank).all()
    full = (c.rank == n) & ~grey
    assert np.isinf(c.row_sum[c.rank < n]).all() and np.isinf(c.spectral[c.rank < n]).all() and np.isnan(inverse[c.rank < n]).all()
    A, kappa = K[full], np.linalg.cond(K[full])
    expected = np.linalg.inv(A)
    bar = 100 * EPS * kappa
    assert (np.abs(inverse[full] - expected).max(axis=(1, 2)) <= bar * np.abs(expected).max(axis=(1, 2))).all()
    assert (np.abs(c.spectral[full] - kappa) <= bar * kappa).all()
    row_sum = np.linalg.cond(A, np.inf)
    assert (np.abs(c.row_sum[full] - row_sum) <= bar * row_sum).all()
    assert (c.gap[full] == c.row_sum[full] - c.spectral[full]).all()
    if kind == "singular":  # small integers have ties, which rounding breaks either way
        return len(K), grey.sum()
    pivots = np.array([lapack_pivots(a) for a in A]).reshape(-1, n)
    rough = bar * np.maximum(pivots.max(axis=1, initial=0), 1e-300)
    assert (np.abs(c.pivot_min[full] - pivots.min(axis=1)) <= rough).all()
    assert (np.abs(c.pivot_max[full] - pivots.max(axis=1)) <= rough).all()
    return len(K), grey.sum()


def test_100000_matrices_against_lapack():
    rng, count, grey = np.random.default_rng(1), 0, 0
    for n in (1, 2, 3, 4):
        for kind, K, rank in families(n, 3600, rng):
            assert len(K) == 3600
            more = check_against_lapack(kind, K, rank)
            count, grey = count + more[0], grey + more[1]
    assert count >= 100000 and grey < 0.06 * count


def test_presets():
    honest = {"tele_yaw_control": (5.0884, 4.0719), "optic_alignment_trim": (3.8692, 2.9986)}
    assert set(PRESETS) == set(honest)
    for name, (row_sum, spectral) in honest.items():
        K = PRESETS[name].K
        _, c = invert(K)
        assert c.row_sum == pytest.approx(row_sum, abs=5e-5) and c.spectral == pytest.approx(spectral, abs=5e-5)
        assert c.row_sum == pytest.approx(np.linalg.cond(K, np.inf), rel=1e-13)
        assert c.spectral == pytest.approx(np.linalg.cond(K), rel=1e-13)
        assert PRESETS[name].printed_row_sum > 1e4 * c.row_sum
    assert PRESETS["tele_yaw_control"][1:5] == (1.0, 0.4, 0.014, 0.028)
    assert PRESETS["optic_alignment_trim"][1:5] == (0.35, -0.48, 0.02, 0.034)


def test_bad_matrices():
    for bad in (np.eye(5), np.ones((2, 3)), np.ones(4)):
        with pytest.raises(ValueError):
            invert(bad)
    inverse, c = invert([[1, np.nan], [np.nan, 1]])
    assert c.rank == 0 and np.isnan(inverse).all()
    inverse, c = invert(np.zeros((0, 2, 2)))
    assert inverse.shape == (0, 2, 2) and len(c.rank) == 0


# ---- the local solve -----------------------------------------------------------------------------------------------


def test_local_solve_against_dense_kkt():
    """In the plane, against NumPy's solve of the whole saddle-point system."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        n, h, beta = rng.integers(1, 5), 0.01, 0.3
        m, inertia = rng.uniform(0.5, 2, 2), rng.uniform(0.05, 0.5, 2)
        pos = [rng.uniform(-0.2, 0.2, 2), rng.uniform(-0.2, 0.2, 2) + (1.2, 0)]
        angle, vel, omega = rng.uniform(-1, 1, 2), rng.uniform(-1, 1, (2, 2)), rng.uniform(-1, 1, 2)
        anchor, equations = rng.uniform(-0.3, 0.3, (2, 2)), rng.uniform(-1, 1, (n, 3)) * (1, 1, 0.1)
        soft = (0.014, 0.028)
        bodies = [Body.planar(m[i], inertia[i], pos[i], angle[i], vel[i], omega[i]) for i in range(2)]
        c = Coupled(equations, anchor_a=(*anchor[0], 0), anchor_b=(*anchor[1], 0), softness=soft, beta=beta)
        c.prepare(*bodies, h)
        c.solve_velocity(*bodies)
        c.finish(*bodies)
        turn = [np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in angle]
        arm = [turn[i] @ anchor[i] for i in range(2)]
        d = pos[1] + arm[1] - pos[0] - arm[0]
        normal = d / np.linalg.norm(d)
        across = [a[0] * normal[1] - a[1] * normal[0] for a in arm]
        distance_row = np.array([*-normal, -across[0], *normal, across[1]])
        angle_row = np.array([0, 0, -1, 0, 0, 1])
        J = equations[:, :1] * distance_row + equations[:, 1:2] * angle_row
        phi = equations[:, 0] * (np.linalg.norm(d) - 1) + equations[:, 1] * (angle[1] - angle[0]) - equations[:, 2]
        gamma = equations[:, 0] ** 2 * soft[0] + equations[:, 1] ** 2 * soft[1]
        M = np.diag([m[0], m[0], inertia[0], m[1], m[1], inertia[1]])
        v = np.array([*vel[0], omega[0], *vel[1], omega[1]])
        kkt = np.block([[M, -J.T], [J, np.diag(gamma)]])
        answer = np.linalg.solve(kkt, np.concatenate([M @ v, -beta / h * phi]))
        ours = np.array([*bodies[0].vel[:2], bodies[0].omega[2], *bodies[1].vel[:2], bodies[1].omega[2]])
        assert ours == pytest.approx(answer[:6], abs=1e-10)
        assert c.impulse == pytest.approx(answer[6:], rel=1e-9, abs=1e-9)
        assert c.K == pytest.approx(J @ np.linalg.inv(M) @ J.T + np.diag(gamma), rel=1e-12)
        assert c.diagnostics.phi == pytest.approx(phi, abs=1e-13) and c.bias == pytest.approx(-beta / h * phi, abs=1e-11)


def test_local_solve_in_python():
    c = Coupled([(1, 0), (1, 0), (0, 1)], max_force=5)
    a, b = Body(), Body(mass=1, inertia=(1, 2, 0.5), pos=(1, 0, 0))
    b.vel[0] = 0.04
    c.prepare(a, b, 0.01)
    assert c.diagnostics.flags == Flag.RANK | Flag.DROPPED and c.diagnostics.active == 0b101
    c.solve_velocity(a, b)
    c.finish(a, b)
    assert b.vel[0] == pytest.approx(0) and c.diagnostics.force == pytest.approx(-4) and not c.broken
    b.vel[0] = 0.06
    c.prepare(a, b, 0.01)
    c.solve_velocity(a, b)
    c.finish(a, b)
    assert c.broken and Flag.BROKEN in c.diagnostics.flags
    full = Body(mass=2, inertia=np.diag([1.0, 2, 4]))
    assert full._numbers[:10] == pytest.approx([0.5, 1, 0, 0, 0, 0.5, 0, 0, 0, 0.25])


def test_positions_are_put_right_by_newton_steps():
    """A distance that is too long by a tenth: each step returns the error before it, and the masses share what is left as m_b : m_a."""
    c = Coupled([(1, 0)], distance=1.0)
    a, b = Body(mass=3, inertia=(1, 1, 1)), Body(mass=1, inertia=(1, 1, 1), pos=(1.1, 0, 0))
    c.prepare(a, b, 0.01)
    errors = [c.solve_position(a, b) for _ in range(3)]
    assert errors[0] == pytest.approx(0.1, rel=1e-12) and errors[1] < 1e-12 and errors[2] < 1e-12
    assert a.pos[0] == pytest.approx(0.025, rel=1e-9) and b.pos[0] == pytest.approx(1.025, rel=1e-9)


def test_bad_arguments():
    for bad in (dict(beta=2), dict(softness=(-1, 0)), dict(axis=(0, 0, 0)), dict(max_drops=7), dict(max_force=0),
                dict(condition_limit=0), dict(anchor_a=(0, 0, np.nan))):
        with pytest.raises(ValueError):
            Coupled([(1, 0)], **bad)
    for equations in ([], [(1, 0)] * 5, [(0, 0)], [(np.nan, 1)]):
        with pytest.raises(ValueError):
            Coupled(equations)
    c = Coupled([(1, 0)])
    for h in (0, -1, np.nan):
        with pytest.raises(ValueError, match="h must"):
            c.prepare(Body(), Body(), h)
    with pytest.raises(ValueError, match="finite"):
        c.prepare(Body(), Body(pos=(np.nan, 0, 0)), 0.01)


# ---- scenes ----------------------------------------------------------------------------------------------------------


def test_scene_diagnostics():
    model = stiction.Model.from_xml_path(str(ROOT / "scenes" / "coupled_contact.xml"))
    data = stiction.Data(model)
    stiction.step(model, data, 50)
    tele, redundant = data.coupled("tele"), data.coupled(2)
    assert tele.steps == 50 and tele.warnings == 0 and tele.flags == 0 and len(tele.phi) == 1
    assert redundant.warnings == 50 and redundant.whole.rank == 2 and redundant.kept.rank == 2 and len(redundant.phi) == 4
    assert Flag.DROPPED in redundant.flags and np.isinf(redundant.whole.spectral)
    with pytest.raises((KeyError, ValueError)):
        data.coupled("none")
    plain = stiction.Model.from_xml_string(
        "<mujoco><worldbody><body><joint name='a'/><geom size='1'/></body></worldbody>"
        "<equality><joint name='e' joint1='a'/></equality></mujoco>")
    with pytest.raises(ValueError, match="sti:coupled"):
        stiction.Data(plain).coupled("e")


# ---- bench and plot ----------------------------------------------------------------------------------------------------


def run(*arguments, status=0):
    done = subprocess.run([sys.executable, "-m", "stiction", *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def sheet(tmp_path_factory):
    path = tmp_path_factory.mktemp("coupled") / "coupled.csv"
    out = run("bench", "coupled", ROOT / "scenes" / "coupled_contact.xml", "-o", path, "--steps", 2000)
    assert "rows" in out and "100%" in out  # a line per quarter where there is no terminal
    return path


def test_bench(sheet):
    from stiction.plot import read_coupled
    cases = read_coupled(sheet)
    for name, preset in PRESETS.items():
        matrix = cases[name, "matrix", 2.0]
        assert matrix["kappa_hat"][0] == pytest.approx(np.linalg.cond(preset.K, np.inf), rel=1e-9)
        assert matrix["kappa_s"][0] == pytest.approx(np.linalg.cond(preset.K), rel=1e-9)
        assert matrix["gap"][0] == pytest.approx(matrix["kappa_hat"][0] - matrix["kappa_s"][0])
        hard = cases[name, "hard", 4.0]  # four equations over two residuals
        assert set(hard["all_rank"]) == {2} and set(hard["dropped"]) == {2} and hard["warnings"][-1] == 1000
        soft = cases[name, "count", 4.0]
        assert set(soft["all_rank"]) == {4} and set(soft["dropped"]) == {0} and soft["warnings"][-1] == 0
        assert cases[name, "endurance", 3.0]["step"][-1] == 1999
        assert max(cases[name, "cross", 0.0]["residual"]) > 1e6 * max(cases[name, "cross", 1.0]["residual"])
        assert max(cases[name, "beta", 1.0]["position"]) < max(cases[name, "beta", 0.0]["position"])
    scene = cases["redundant", "scene", 2.0]
    assert scene["warnings"][-1] == 2000 and scene["reaction"][-1] == pytest.approx(6.5 * 9.81, rel=1e-9)
    worst = max(max(c["residual"]) for (_, sweep, _), c in cases.items() if sweep not in ("cross", "parallel"))
    assert worst < 1e-9


def test_bench_of_one_preset(tmp_path):
    path = tmp_path / "one.csv"
    assert "rows" in run("bench", "coupled", "--preset", "optic_alignment_trim", "--steps", 10, "--quiet", "-o", path)
    assert "tele_yaw_control" not in path.read_text()
    assert "no preset" in run("bench", "coupled", "--preset", "none", status=2)
    assert "positive" in run("bench", "coupled", "--steps", 0, status=2)
    assert "missing.xml" in run("bench", "coupled", "missing.xml", "--steps", 1, "-o", path, status=1)
    assert "no sti:coupled" in run("bench", "coupled", ROOT / "scenes" / "figure.xml", "--steps", 1, "-o", path, status=1)
    assert "nowhere" in run("bench", "coupled", "-o", "/nowhere/x.csv", status=1)


def test_plot_and_summary(sheet, tmp_path):
    out = run("plot", "coupled", sheet, "-o", tmp_path / "c.png", "--summary-json")
    assert "c.png" in out and "c.json" in out
    assert (tmp_path / "c.png").read_bytes()[:4] == b"\x89PNG"
    summary = json.loads((tmp_path / "c.json").read_text())
    by = {(c["preset"], c["sweep"], c["value"]): c for c in summary["cases"]}
    assert by["tele_yaw_control", "matrix", 2]["kappa_hat"] == pytest.approx(5.0884, abs=5e-5)
    assert by["optic_alignment_trim", "hard", 4]["all_kappa_hat"] == "inf"
    assert by["redundant", "scene", 2]["reaction_error"] < 1e-6
    assert summary["warnings"] > 2000 and summary["presets"] == ["optic_alignment_trim", "tele_yaw_control"]
    bad = tmp_path / "bad.csv"
    for text in ("", "a,b\n1,2\n", sheet.read_text().split("\n")[0] + "\n", sheet.read_text().replace(",matrix,2,", ",matrix,x,")):
        bad.write_text(text)
        assert "stiction plot" in run("plot", "coupled", bad, "-o", tmp_path / "b.png", status=1)
    assert "which file" in run("plot", "coupled", status=2)
    assert "none.csv" in run("plot", "coupled", "none.csv", status=1)


# ---- the tutorial ----------------------------------------------------------------------------------------------------------


def test_tutorial(monkeypatch):
    """The code of docs/coupled.md runs, in order, and its own checks hold."""
    monkeypatch.chdir(ROOT)
    text = (ROOT / "docs" / "coupled.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert len(blocks) >= 6 and all("assert" in block for block in blocks)
    names = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"docs/coupled.md, block {number + 1}", "exec"), names)
