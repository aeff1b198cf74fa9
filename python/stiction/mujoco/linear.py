# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's functions of matrices, muscles, random numbers and derivatives of rotations. Results go into the first argument."""
import math as _math
import random as _random

import numpy as _np

_TINY = 1e-15  # mjMINVAL


def _square(mat):
    return _np.reshape(mat, (int(round(_math.sqrt(_np.size(mat)))), -1))


# ---- numbers -----------------------------------------------------------------------------------------------------

def mju_min(a, b):
    """The smaller one."""
    return float(min(a, b))


def mju_max(a, b):
    """The larger one."""
    return float(max(a, b))


def mju_round(x):
    """The nearest whole number; halves go away from 0."""
    return int(_math.copysign(_math.floor(abs(x) + 0.5), x))


def mju_isBad(x):
    """1 if x is not a number or beyond 1e10, else 0."""
    return int(not abs(x) <= 1e10)


def mju_Halton(index, base):
    """The number of Halton's sequence: the digits of index in base, mirrored at the point."""
    value, digit = 0.0, 1.0
    while index > 0:
        digit /= base
        index, rest = divmod(index, base)
        value += rest * digit
    return value


def mju_standardNormal(num2=None):
    """A random number of the standard normal distribution, from Python's generator."""
    return _random.gauss(0.0, 1.0)


def mju_springDamper(pos0, vel0, Kp, Kv, dt):
    """The place after dt of what starts at pos0 with vel0 and has the acceleration -Kp pos - Kv vel."""
    half, square = Kv / 2, Kv * Kv / 4 - Kp
    decay, slope = _math.exp(-half * dt), vel0 + half * pos0
    if square > _TINY:
        root = _math.sqrt(square)
        return decay * (pos0 * _math.cosh(root * dt) + slope * _math.sinh(root * dt) / root)
    if square < -_TINY:
        root = _math.sqrt(-square)
        return decay * (pos0 * _math.cos(root * dt) + slope * _math.sin(root * dt) / root)
    return decay * (pos0 + slope * dt)


def mju_writeNumBytes(nbytes):
    """A number of bytes for people, in the largest of K, M, G, … of which it is a whole number: 1048576 is 1M."""
    power = 0
    while nbytes > 0 and power < 6 and nbytes % 1024 == 0:
        nbytes, power = nbytes // 1024, power + 1
    return f"{nbytes}{' KMGTPE'[power].strip()}"


# ---- vectors -----------------------------------------------------------------------------------------------------

def mju_L1(vec):
    """Sum of the magnitudes."""
    return float(_np.abs(vec).sum())


def mju_isZero(vec):
    """1 if all elements are 0, else 0."""
    return int(not _np.any(vec))


def mju_normalize(res):
    """Unit length; returns the old one. What has no length becomes the first axis."""
    length = float(_np.linalg.norm(res))
    if length < _TINY:
        res[...] = 0
        res[0] = 1
    else:
        res[...] /= length
    return length


def mju_insertionSort(list):
    """Sorts a list in place."""
    list.sort()


mju_insertionSortInt = mju_insertionSort


def mju_n2f(res, vec):
    """Copies numbers into an array of another type."""
    res[...] = vec


mju_f2n = mju_n2d = mju_d2n = mju_n2f


# ---- matrices ----------------------------------------------------------------------------------------------------

def mju_mulVecMatVec(vec1, mat, vec2):
    """vec1' M vec2"""
    return float(_np.ravel(vec1) @ _square(mat) @ _np.ravel(vec2))


def mju_sqrMatTD(res, mat, diag=None):
    """res = M' D M, with D the matrix that has diag on its diagonal, or without it."""
    res[...] = mat.T @ (mat if diag is None else _np.reshape(diag, (-1, 1)) * mat)


def mju_symmetrize(res, mat):
    """res = (M + M') / 2"""
    res[...] = (mat + mat.T) / 2


def mju_dense2sparse(res, mat, rownnz, rowadr, colind):
    """The elements that are not 0, row by row; 1 if res is too short, else 0."""
    count = 0
    for row, values in enumerate(mat):
        columns = _np.flatnonzero(values)
        if count + len(columns) > min(len(res), len(colind)):
            return 1
        rownnz[row], rowadr[row] = len(columns), count
        colind[count:count + len(columns)] = columns
        res[count:count + len(columns)] = values[columns]
        count += len(columns)
    return 0


def mju_sym2dense(res, mat, rownnz, rowadr, colind):
    """A symmetric matrix from the rows of its lower triangle."""
    res[...] = 0
    for row, (count, start) in enumerate(zip(_np.ravel(rownnz), _np.ravel(rowadr))):
        columns = _np.ravel(colind)[start:start + count]
        res[row, columns] = res[columns, row] = _np.ravel(mat)[start:start + count]


def mju_printMat(mat):
    """Prints a matrix."""
    print("\n".join("".join(f"{value:12.6f}" for value in row) for row in _np.atleast_2d(mat)))


def mju_printMatSparse(mat, rownnz, rowadr, colind):
    """Prints the elements of a sparse matrix with their columns, a line for each row."""
    for count, start in zip(_np.ravel(rownnz), _np.ravel(rowadr)):
        print("".join(f"  {column:2d}: {value:9.6f}" for column, value in zip(colind[start:start + count], mat[start:start + count])))


def mju_eig3(eigval, eigvec, quat, mat):
    """Eigenvalues of a symmetric 3x3 matrix, largest first; eigenvectors as columns of a rotation, and its quaternion."""
    from . import mju_mat2Quat
    values, vectors = _np.linalg.eigh(_np.reshape(mat, (3, 3)))
    vectors = vectors[:, ::-1].copy()
    if _np.linalg.det(vectors) < 0:
        vectors[:, 2] *= -1
    eigval[...] = values[::-1]
    eigvec[...] = vectors.reshape(_np.shape(eigvec))
    mju_mat2Quat(quat, vectors)
    return 1


def mju_mat2Rot(quat, mat):
    """The rotation nearest to any 3x3 matrix, as a quaternion that begins as a guess; returns how many corrections it took."""
    from . import mju_quat2Mat, mju_quatIntegrate
    target, found = _np.reshape(mat, (3, 3)), _np.zeros(9)
    for count in range(500):
        mju_quat2Mat(found, quat)
        axes = found.reshape(3, 3)
        scale = abs(_np.sum(axes * target)) + 1e-9
        turn = _np.cross(axes, target, axis=0).sum(axis=1) / scale  # in the world's frame
        if _np.linalg.norm(turn) < 1e-9:
            return count
        mju_quatIntegrate(quat, axes.T @ turn, 1.0)
    return 500


# ---- Cholesky factors --------------------------------------------------------------------------------------------

def mju_cholFactor(mat, mindiag):
    """Puts L of M = L L' into the lower triangle; squares of its diagonal are at least mindiag. Returns the rank."""
    n = rank = len(mat)
    for j in range(n):
        left = mat[j, j] - mat[j, :j] @ mat[j, :j]
        if left < mindiag:
            left, rank = mindiag, rank - 1
        mat[j, j] = _math.sqrt(left)
        mat[j + 1:, j] = (mat[j + 1:, j] - mat[j + 1:, :j] @ mat[j, :j]) / mat[j, j]
    return rank


def mju_cholSolve(res, mat, vec):
    """res = (L L')^-1 vec"""
    low, n = _np.tril(mat), len(mat)
    found = _np.array(vec, float).ravel()
    for i in range(n):
        found[i] = (found[i] - low[i, :i] @ found[:i]) / low[i, i]
    for i in reversed(range(n)):
        found[i] = (found[i] - low[i + 1:, i] @ found[i + 1:]) / low[i, i]
    res[...] = found


def mju_cholUpdate(mat, x, flg_plus):
    """L of L L' + x x', or of L L' - x x' where that is positive; x is used up. Returns the rank."""
    rank, sign = len(mat), 1 if flg_plus else -1
    for j in range(len(mat)):
        if x[j] == 0:
            continue
        square = mat[j, j] ** 2 + sign * x[j] ** 2
        if square < _TINY:
            square, rank = _TINY, rank - 1
        root = _math.sqrt(square)
        cosine, sine = root / mat[j, j], x[j] / mat[j, j]
        mat[j, j] = root
        mat[j + 1:, j] = (mat[j + 1:, j] + sign * sine * x[j + 1:]) / cosine
        x[j + 1:] = cosine * x[j + 1:] - sine * mat[j + 1:, j]
    return rank


def _band_rows(ntotal, nband, ndense):
    """Of each row of a band-dense matrix: where it starts in the list, its first column, and the one after its diagonal."""
    sparse = ntotal - ndense
    for row in range(ntotal):
        if row < sparse:
            width = min(nband, row + 1)
            yield row, (row + 1) * nband - width, row + 1 - width
        else:
            yield row, sparse * nband + (row - sparse) * ntotal, 0


def mju_bandDiag(i, ntotal, nband, ndense):
    """Where element (i, i) of a band-dense matrix is: rows of the band have nband numbers up to the diagonal, the last ndense rows all."""
    sparse = ntotal - ndense
    return (i + 1) * nband - 1 if i < sparse else sparse * nband + (i - sparse) * ntotal + i


def mju_band2Dense(res, mat, ntotal, nband, ndense, flg_sym):
    """A band-dense matrix in full; flg_sym: with its upper triangle."""
    res[...] = 0
    for row, start, first in _band_rows(ntotal, nband, ndense):
        res[row, first:row + 1] = mat[start:start + row + 1 - first]
    if flg_sym:
        res += _np.tril(res, -1).T


def mju_dense2Band(res, mat, ntotal, nband, ndense):
    """The band and the dense rows of a matrix."""
    res[...] = 0
    for row, start, first in _band_rows(ntotal, nband, ndense):
        res[start:start + row + 1 - first] = mat[row, first:row + 1]


def _band_full(mat, ntotal, nband, ndense, symmetric):
    full = _np.zeros((ntotal, ntotal))
    mju_band2Dense(full, _np.ravel(mat), ntotal, nband, ndense, symmetric)
    return full


def mju_bandMulMatVec(res, mat, vec, ntotal, nband, ndense, nvec, flg_sym):
    """A band-dense matrix times each of nvec vectors."""
    full = _band_full(mat, ntotal, nband, ndense, flg_sym)
    res[...] = (_np.reshape(vec, (nvec, ntotal)) @ full.T).reshape(_np.shape(res))


def mju_cholFactorBand(mat, ntotal, nband, ndense, diagadd, diagmul):
    """Puts L of M = L L' in the place of a band-dense M, whose diagonal becomes diagadd + diagmul times itself more. Returns the
    smallest element of the diagonal of L, 0 if M is not positive."""
    full = _band_full(mat, ntotal, nband, ndense, False)
    full[_np.diag_indices(ntotal)] += diagadd + diagmul * full.diagonal()
    if mju_cholFactor(full, _TINY) < ntotal:
        return 0.0
    mju_dense2Band(mat, full, ntotal, nband, ndense)
    return float(full.diagonal().min())


def mju_cholSolveBand(res, mat, vec, ntotal, nband, ndense):
    """res = (L L')^-1 vec with a band-dense L."""
    mju_cholSolve(res, _band_full(mat, ntotal, nband, ndense, False), vec)


def _free(at, slope, low, high):
    """Where a coordinate is not pressed against its bound."""
    return ~(((at <= low) & (slope > 0)) | ((at >= high) & (slope < 0)))


def mju_boxQP(res, R, index, H, g, lower=None, upper=None):
    """The least x' H x / 2 + x' g with lower <= x <= upper, from the guess res. R: the Cholesky factor of H of the free coordinates, whose
    numbers are in index. Returns how many these are, -1 if H is not positive there. Newton's method with projection on the box."""
    n = len(g)
    low = _np.full(n, -_np.inf) if lower is None else _np.ravel(lower)
    high = _np.full(n, _np.inf) if upper is None else _np.ravel(upper)
    at = _np.clip(_np.array(res, float), low, high)
    found, factor = _np.arange(n), _np.zeros((0, 0))

    def cost(point):
        return 0.5 * point @ H @ point + point @ g

    for _ in range(100):
        slope = H @ at + g
        found = _np.flatnonzero(_free(at, slope, low, high))
        factor = _np.array(_np.asarray(H)[_np.ix_(found, found)])
        if mju_cholFactor(factor, _TINY) < len(found):
            return -1
        if _np.linalg.norm(slope[found]) < 1e-14 * (1 + _np.linalg.norm(g)):
            break
        way = _np.zeros(n)
        mju_cholSolve(step := _np.zeros(len(found)), factor, -slope[found])
        way[found] = step
        size, before = 1.0, cost(at)
        while size > 1e-12:
            there = _np.clip(at + size * way, low, high)
            if cost(there) <= before + 0.1 * slope @ (there - at):
                break
            size *= 0.6
        if size <= 1e-12 or _np.array_equal(there, at):
            break
        at = there
    res[...] = at
    R.ravel()[:len(found) ** 2] = _np.tril(factor).ravel()
    if index is not None:
        index[:len(found)] = found
    return len(found)


# ---- muscles -----------------------------------------------------------------------------------------------------

def _muscle(len, lengthrange, acc0, prm):
    """Length in rest lengths, the rest length, and the peak force."""
    rest = (lengthrange[1] - lengthrange[0]) / max(_TINY, prm[1] - prm[0])
    peak = prm[2] if prm[2] >= 0 else prm[3] / max(_TINY, acc0)
    return prm[0] + (len - lengthrange[0]) / max(_TINY, rest), rest, peak


def _bump(length, least, most):
    """Force over length: parabolas from 0 at least through 1 at 1 to 0 at most, halfway down in the middle of each side."""
    if not least <= length <= most:
        return 0.0
    end = least if length <= 1 else most
    share = (length - end) / (1 - end) if end != 1 else 1.0  # 0 at the end, 1 at the top
    return 2 * share * share if share <= 0.5 else 1 - 2 * (1 - share) ** 2


def mju_muscleGain(len, vel, lengthrange, acc0, prm):
    """Active force of a muscle at full activation: peak force times its curves of length and velocity."""
    length, rest, peak = _muscle(len, lengthrange, acc0, prm)
    speed, most = vel / max(_TINY, rest * prm[6]), prm[8]
    if speed <= 0:
        curve = max(0.0, 1 + speed) ** 2
    else:
        curve = most - max(0.0, most - 1 - speed) ** 2 / max(_TINY, most - 1)
    return float(-peak * _bump(length, prm[4], prm[5]) * curve)


def mju_muscleBias(len, lengthrange, acc0, prm):
    """Passive force of a muscle, which resists being longer than its rest length."""
    length, _, peak = _muscle(len, lengthrange, acc0, prm)
    half = (prm[5] - 1) / 2
    over = (length - 1) / max(_TINY, half)
    curve = 0.0 if over <= 0 else 0.5 * over * over if over <= 1 else over - 0.5
    return float(-peak * prm[7] * curve)


def mju_muscleDynamics(ctrl, act, prm):
    """Rate of a muscle's activation; prm: times of rise and fall, width of the change from one to the other."""
    from .vectors import mju_sigmoid
    gap, level = min(max(ctrl, 0.0), 1.0) - act, 0.5 + 1.5 * min(max(act, 0.0), 1.0)
    rise, fall = prm[0] * level, prm[1] / level
    share = float(gap > 0) if prm[2] < _TINY else mju_sigmoid(gap / prm[2] + 0.5)
    return float(gap / max(_TINY, fall + (rise - fall) * share))


# ---- derivatives of rotations ------------------------------------------------------------------------------------

def _cross_matrix(v):
    return _np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])


def mjd_subQuat(qa, qb, Da=None, Db=None):
    """Derivatives of mju_subQuat by turns of qa and qb in their own frames."""
    from . import mju_subQuat
    turn = _np.zeros(3)
    mju_subQuat(turn, qa, qb)
    angle, K = float(_np.linalg.norm(turn)), _cross_matrix(turn)
    rest = 1 / 12 if angle < 1e-4 else (1 - angle / 2 / _math.tan(angle / 2)) / angle ** 2
    D = _np.eye(3) + K / 2 + rest * K @ K
    if Da is not None:
        Da[...] = D.reshape(_np.shape(Da))
    if Db is not None:
        Db[...] = -D.T.reshape(_np.shape(Db))


def mjd_quatIntegrate(vel, scale, Dquat=None, Dvel=None, Dscale=None):
    """Derivatives of mju_quatIntegrate, as turns in the new frame: by a turn of quat, by vel times scale, by scale."""
    turn = _np.asarray(vel) * scale
    angle, K = float(_np.linalg.norm(turn)), _cross_matrix(turn)
    small = angle < 1e-4
    first = 0.5 if small else (1 - _math.cos(angle)) / angle ** 2
    second = 1 / 6 if small else (angle - _math.sin(angle)) / angle ** 3
    right = _np.eye(3) - first * K + second * K @ K
    back = _np.eye(3) - (1.0 if small else _math.sin(angle) / angle) * K + first * K @ K
    for res, value in ((Dquat, back), (Dvel, right), (Dscale, _np.asarray(vel, float))):
        if res is not None:
            res[...] = value.reshape(_np.shape(res))
