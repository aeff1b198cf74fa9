# SPDX-License-Identifier: Apache-2.0
"""Which geoms touch, and with what parameters, against MuJoCo on real robots."""
import pathlib
import subprocess

import models
import numpy as np
import pytest

mujoco = pytest.importorskip("mujoco")
ROOT = pathlib.Path(__file__).resolve().parents[2]
PRINT = ROOT / "build" / "tests" / "print_contacts"
WHEELS = ("gymnasium", "mjlab", "genesis-world")
MODELS = [path for _, path in models.models(WHEELS)]

EXACT = 1e-12  # surfaces that coincide by the model's numbers touch or not by rounding


def states(model, count, rng):
    """Random joint angles within limits, trees near the floor, so that things touch."""
    out = []
    data = mujoco.MjData(model)
    for _ in range(count):
        mujoco.mj_resetData(model, data)
        v = rng.normal(size=model.nv) * 0.7
        mujoco.mj_integratePos(model, data.qpos, v, 1.0)
        for j in range(model.njnt):
            a = model.jnt_qposadr[j]
            if model.jnt_type[j] >= 2 and model.jnt_limited[j]:
                data.qpos[a] = rng.uniform(*model.jnt_range[j])
            if model.jnt_type[j] == 0:
                data.qpos[a + 2] = rng.uniform(0, 1)
        out.append(data.qpos.copy())
    return out


def ours(path, qpos):
    text = "\n".join(" ".join(repr(float(x)) for x in q) for q in qpos)
    done = subprocess.run([PRINT, path], input=text, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(done.stderr.strip())
    result, lines = [], iter(done.stdout.splitlines())
    for line in lines:
        count = int(line.split()[1])
        result.append([np.array(next(lines).split(), dtype=float) for _ in range(count)])
    return result


def by_pair(rows):
    pairs = {}
    for row in rows:
        pairs.setdefault((int(row[0]), int(row[1])), []).append(row)
    return pairs


def theirs(data):
    return [np.concatenate([[c.geom1, c.geom2, 0, 0, c.dim, c.exclude, c.dist, c.includemargin], c.friction,
                            c.solref, c.solreffriction, c.solimp, c.pos, c.frame]) for c in data.contact]


@pytest.mark.parametrize("path", MODELS, ids=lambda p: pathlib.Path(p).stem)
def test_pairs_and_parameters(path):
    try:
        model = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as e:
        pytest.skip(str(e))
    data = mujoco.MjData(model)
    qpos = states(model, 40, np.random.default_rng(3))
    touching = grazing = 0
    for q, rows in zip(qpos, ours(path, qpos)):
        data.qpos[:] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        mujoco.mj_collision(model, data)
        mine, other = by_pair(rows), by_pair(theirs(data))
        touching += len(other)
        for pair in set(mine) ^ set(other):  # only where the surfaces graze each other
            rows = mine.get(pair) or other.get(pair)
            depth = min(r[6] - r[7] for r in rows)
            assert abs(depth) < 1e-6, (pair, depth, pair in mine)
            grazing += abs(depth) > EXACT
        for pair in set(mine) & set(other):
            a, b = mine[pair][0], other[pair][0]
            np.testing.assert_allclose(a[7:22], b[7:22], rtol=0, atol=1e-12)
            assert a[4] == b[4]
            if min(abs(r[6] - r[7]) for r in other[pair]) > EXACT:
                assert min(r[5] for r in mine[pair]) == min(r[5] for r in other[pair])
    assert grazing <= 0.01 * touching + 1
