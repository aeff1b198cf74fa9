# SPDX-License-Identifier: Apache-2.0
"""stiction.mujoco's functions of matrices, muscles and rotations beside MuJoCo's: the same arguments give the same numbers."""
import mujoco
import numpy as np
import pytest

import stiction.mujoco as shim

RNG = np.random.default_rng(7)
N = 7


def positive(n=N):
    half = RNG.standard_normal((n, n))
    return half @ half.T + np.eye(n)


M, OTHER, V, W = positive(), RNG.standard_normal((N, N)), RNG.standard_normal(N), RNG.standard_normal(N)
QUATS = RNG.standard_normal((6, 4))
QUATS /= np.linalg.norm(QUATS, axis=1)[:, None]


def ints(n):
    return np.zeros(n, np.int32)


def numbers(mj):
    out = [mj.mju_min(2, -3), mj.mju_max(2, -3), mj.mju_L1(V), mj.mju_isZero(np.zeros(3)), mj.mju_isZero(V)]
    out += [mj.mju_round(x) for x in (-2.5, -2.4, -0.5, 0.49, 0.5, 7.6)]
    out += [mj.mju_isBad(x) for x in (0.0, np.nan, np.inf, -1e11, 1e10, 1e9)]
    out += [mj.mju_Halton(i, base) for i in range(20) for base in (2, 3, 5)]
    for stiffness, damping in ((9.0, 1.0), (1.0, 9.0), (4.0, 4.0), (0.0, 1.0), (2.0, 0.0)):
        out += [mj.mju_springDamper(0.3, -0.7, stiffness, damping, dt) for dt in (0.0, 0.01, 1.3)]
    for vec in (V.copy(), np.zeros(4)):
        out += [mj.mju_normalize(vec), vec]
    single, double = np.zeros(N, np.float32), np.zeros(N)
    mj.mju_n2f(single, V)
    mj.mju_f2n(double, single)
    out += [single, double]
    for copy in (mj.mju_n2d, mj.mju_d2n):
        copy(double := np.zeros(N), V)
        out.append(double)
    mj.mju_insertionSort(sorted_ := V.copy())
    mj.mju_insertionSortInt(whole := np.array([5, -2, 9, 0], np.int32))
    return out + [sorted_, whole]


def matrices(mj):
    out = [mj.mju_mulVecMatVec(V, OTHER, W)]
    for diag in (None, np.abs(V)):
        mj.mju_sqrMatTD(res := np.zeros((N, N)), OTHER, diag)
        out.append(res)
    mj.mju_symmetrize(res := np.zeros((N, N)), OTHER)
    out.append(res)
    holes = np.where(np.abs(OTHER) > 0.7, OTHER, 0)
    values, count, start, columns = np.zeros(N * N), ints(N), ints(N), ints(N * N)
    out += [mj.mju_dense2sparse(values, holes, count, start, columns), values, count, start, columns]
    values, count, start, columns = np.zeros(N * N), ints(N), ints(N), ints(N * N)
    assert mj.mju_dense2sparse(np.zeros(3), holes, ints(N), ints(N), ints(3)) == 1
    mj.mju_dense2sparse(values, np.tril(M), count, start, columns)
    mj.mju_sym2dense(res := np.zeros((N, N)), values, count, start, columns)
    return out + [res]


def factors(mj):
    out = []
    singular = np.ones((3, 3))
    for matrix in (M, singular):
        factor = matrix.copy()
        out += [mj.mju_cholFactor(factor, 1e-10), np.tril(factor)]
    factor = np.linalg.cholesky(M)
    mj.mju_cholSolve(res := np.zeros(N), factor, V)
    out.append(res)
    for plus, vector in ((1, V), (0, 0.3 * factor @ V / np.linalg.norm(V))):
        changed = factor.copy()
        out += [mj.mju_cholUpdate(changed, vector.copy(), plus), np.tril(changed)]
    return out


def bands(mj):
    out = []
    for band, dense in ((3, 2), (1, 0), (N, 0), (2, N - 2)):
        size = (N - dense) * band + dense * N
        out += [mj.mju_bandDiag(i, N, band, dense) for i in range(N)]
        mj.mju_dense2Band(flat := np.zeros(size), M, N, band, dense)
        for full in (False, True):
            mj.mju_band2Dense(res := np.zeros((N, N)), flat, N, band, dense, full)
            out += [np.tril(res) if not full else res]
        mj.mju_bandMulMatVec(res := np.zeros(N), flat.reshape(1, -1), V.reshape(N, 1), N, band, dense, 1, True)
        out.append(res)
        out.append(mj.mju_cholFactorBand(flat, N, band, dense, 20.0, 0.5))
        mj.mju_cholSolveBand(res := np.zeros(N), flat, V, N, band, dense)
        mj.mju_band2Dense(full := np.zeros((N, N)), flat, N, band, dense, False)
        out += [res, np.tril(full)]
    return out


def boxes(mj):
    out = []
    for low, high in ((None, None), (np.full(N, -0.1), np.full(N, 0.1)), (np.full(N, 0.05), np.full(N, 2.0)), (-np.abs(V), np.abs(W))):
        res, R, index = np.zeros(N), np.zeros((N, N + 7)), ints(N)
        free = mj.mju_boxQP(res, R, index, M, 3 * W, low, high)
        out += [free, res.copy(), index[:free].copy(), np.tril(R.ravel()[:free * free].reshape(free, free))]
    return out


def rotations(mj):
    out = []
    for matrix in (M[:3, :3], np.diag([2.0, 5.0, 3.0]), np.eye(3)):
        values, vectors, quat = np.zeros(3), np.zeros(9), np.zeros(4)
        mj.mju_eig3(values, vectors, quat, matrix.ravel())
        turned = vectors.reshape(3, 3)
        mj.mju_quat2Mat(again := np.zeros(9), quat)
        np.testing.assert_allclose(again, vectors, atol=1e-9)
        out += [values, turned @ np.diag(values) @ turned.T]
    for start in QUATS:
        quat = start.copy()
        assert mj.mju_mat2Rot(quat, OTHER[:3, :3].ravel() + 3 * np.eye(3).ravel()) < 500
        out.append(quat * np.sign(quat[0]))
    for a, b in zip(QUATS, np.roll(QUATS, 1, axis=0)):
        mj.mjd_subQuat(a, b, Da := np.zeros((3, 3)), Db := np.zeros((3, 3)))
        out += [Da, Db]
    for speed in (1.3 * V[:3], np.zeros(3), 1e-6 * V[:3]):
        parts = np.zeros(9), np.zeros(9), np.zeros(3)
        mj.mjd_quatIntegrate(speed, 0.7, *parts)
        out += parts
    return out


def muscles(mj):
    out, prm, reach = [], np.array([0.75, 1.05, -1.0, 200.0, 0.5, 1.6, 1.5, 1.3, 1.2]), np.array([0.3, 0.6])
    for length in np.linspace(0.1, 1.2, 23):
        out.append(mj.mju_muscleBias(length, reach, 2.0, prm))
        out += [mj.mju_muscleGain(length, speed, reach, 2.0, prm) for speed in (-4.0, -0.3, 0.0, 0.1, 0.25, 3.0)]
    for width in (0.0, 0.3):
        out += [mj.mju_muscleDynamics(ctrl, act, np.array([0.01, 0.04, width])) for ctrl in (-0.5, 0.2, 0.5, 1.7) for act in (-0.1, 0.3, 0.5, 1.2)]
    return out


@pytest.mark.parametrize("script", [numbers, matrices, factors, bands, boxes, rotations, muscles])
def test_the_same_numbers(script):
    theirs, ours = script(mujoco), script(shim)
    assert len(theirs) == len(ours)
    for number, (a, b) in enumerate(zip(theirs, ours)):
        np.testing.assert_allclose(b, a, rtol=1e-7, atol=1e-7, err_msg=f"{script.__name__}, number {number}")


def test_normal_numbers_are_normal():
    sample = np.array([shim.mju_standardNormal(None) for _ in range(20000)])
    assert abs(sample.mean()) < 0.05 and abs(sample.std() - 1) < 0.05


def test_matrices_are_printed(capfd):
    shim.mju_printMat(np.array([[1.0, 2.0], [3.0, 4.5]]))
    shim.mju_printMatSparse(np.array([7.0, 8.0]), np.array([1, 1]), np.array([0, 1]), np.array([1, 0]))
    words = capfd.readouterr().out.replace(":", " ").split()
    assert [float(word) for word in words] == [1, 2, 3, 4.5, 1, 7, 0, 8]


def test_bytes_for_people():
    assert [shim.mju_writeNumBytes(n) for n in (0, 100, 1024, 1536, 3 << 19, 5 << 20, 10 ** 7)] == \
        [mujoco.mju_writeNumBytes(n) for n in (0, 100, 1024, 1536, 3 << 19, 5 << 20, 10 ** 7)]
