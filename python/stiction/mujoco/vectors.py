# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's functions of vectors, matrices and poses. Results go into the first argument."""
import numpy as _np


def _into(res, value):
    res[...] = _np.reshape(value, _np.shape(res))


def _elementwise(names, function, doc):
    def call(res, *args):
        _into(res, function(*(_np.asarray(a) for a in args)))
    for name in names.split():
        named = type(call)(call.__code__, call.__globals__, name, call.__defaults__, call.__closure__)
        named.__qualname__, named.__doc__ = name, doc
        globals()[name] = named


_elementwise("mju_add mju_add3", lambda a, b: a + b, "res = a + b")
_elementwise("mju_sub mju_sub3", lambda a, b: a - b, "res = a - b")
_elementwise("mju_scl mju_scl3", lambda a, s: a * s, "res = s a")
_elementwise("mju_addScl mju_addScl3", lambda a, b, s: a + s * b, "res = a + s b")
_elementwise("mju_copy mju_copy3 mju_copy4", lambda a: a, "res = a")
_elementwise("mju_cross", lambda a, b: _np.cross(a, b), "res = a x b")
_elementwise("mju_mulMatVec mju_mulMatVec3", lambda m, v: _np.reshape(m, (-1, _np.size(v))) @ _np.ravel(v), "res = M v")
_elementwise("mju_mulMatTVec mju_mulMatTVec3", lambda m, v: _np.reshape(m, (_np.size(v), -1)).T @ _np.ravel(v), "res = M' v")
_elementwise("mju_mulMatMat", lambda a, b: a @ b, "res = A B")
_elementwise("mju_mulMatTMat", lambda a, b: a.T @ b, "res = A' B")
_elementwise("mju_mulMatMatT", lambda a, b: a @ b.T, "res = A B'")
_elementwise("mju_transpose", lambda a: a.T, "res = A'")


def _adding(names, function, doc):
    def call(res, *args):
        res[...] += _np.reshape(function(*(_np.asarray(a) for a in args)), _np.shape(res))
    for name in names.split():
        named = type(call)(call.__code__, call.__globals__, name, call.__defaults__, call.__closure__)
        named.__qualname__, named.__doc__ = name, doc
        globals()[name] = named


_adding("mju_addTo mju_addTo3", lambda a: a, "res += a")
_adding("mju_subFrom mju_subFrom3", lambda a: -a, "res -= a")
_adding("mju_addToScl mju_addToScl3", lambda a, s: s * a, "res += s a")


def mju_sparse2dense(res, mat, rownnz, rowadr, colind):
    """A matrix whose rows are parts of lists of numbers and columns."""
    res[...] = 0
    for row, count, start in zip(_np.atleast_2d(res), _np.ravel(rownnz), _np.ravel(rowadr)):
        row[_np.ravel(colind)[start:start + count]] = _np.ravel(mat)[start:start + count]


def mju_zero(res):
    """res = 0"""
    res[...] = 0


mju_zero3 = mju_zero4 = mju_zero


def mju_fill(res, value):
    """All of res = value."""
    res[...] = value


def mju_eye(mat):
    """The unit matrix."""
    _into(mat, _np.eye(int(round(_np.sqrt(_np.size(mat))))))


def mju_unit4(res):
    """The quaternion of no rotation."""
    res[...] = 1, 0, 0, 0


def mju_dot(vec1, vec2):
    """The scalar product."""
    return float(_np.ravel(vec1) @ _np.ravel(vec2))


mju_dot3 = mju_dot


def mju_norm(res):
    """Euclidean length."""
    return float(_np.linalg.norm(res))


mju_norm3 = mju_norm


def mju_dist3(pos1, pos2):
    """Distance of two points."""
    return float(_np.linalg.norm(_np.subtract(pos1, pos2)))


def mju_sum(vec):
    """Sum of the elements."""
    return float(_np.sum(vec))


def mju_clip(x, min, max):
    """x within min and max."""
    return float(_np.clip(x, min, max))


def mju_sign(x):
    """1, 0 or -1."""
    return float(_np.sign(x))


def mju_sigmoid(x):
    """A smooth step from 0 at 0 to 1 at 1, a polynomial of the fifth degree."""
    x = min(max(float(x), 0.0), 1.0)
    return x * x * x * (3 * x * (2 * x - 5) + 10)


def _quat():
    from . import _multiply, _rotate
    return _multiply, _rotate


def mju_mulPose(posres, quatres, pos1, quat1, pos2, quat2):
    """The pose 2 in the frame of pose 1, in the world."""
    multiply, rotate = _quat()
    pos, quat = _np.asarray(pos1) + rotate(pos2, quat1), multiply(quat1, quat2)
    _into(posres, pos)
    _into(quatres, quat / _np.linalg.norm(quat))


def mju_negPose(posres, quatres, pos, quat):
    """The inverse of a pose."""
    inverse = _np.asarray(quat) * (1, -1, -1, -1)
    _into(posres, -_quat()[1](pos, inverse))
    _into(quatres, inverse)


def mju_trnVecPose(res, pos, quat, vec):
    """A point of a frame, in the world."""
    _into(res, _np.asarray(pos) + _quat()[1](vec, quat))


def mju_mulQuatAxis(res, quat, axis):
    """The product of a quaternion and a vector."""
    _into(res, _quat()[0](quat, _np.concatenate([[0.0], _np.ravel(axis)])))


def mju_derivQuat(res, quat, vel):
    """The rate of a quaternion that turns with an angular velocity of the frame in which it is given."""
    _into(res, 0.5 * _quat()[0](_np.concatenate([[0.0], _np.ravel(vel)]), quat))


def mju_quatZ2Vec(quat, vec):
    """The shortest turn from the z axis to a vector."""
    length = _np.linalg.norm(vec)
    v = _np.asarray(vec) / length if length > 1e-15 else _np.array([0.0, 0, 1])
    axis = _np.array([-v[1], v[0], 0.0])
    sine = _np.linalg.norm(axis)
    if sine < 1e-15:
        quat[...] = (1, 0, 0, 0) if v[2] > 0 else (0, 1, 0, 0)
        return
    angle = _np.arctan2(sine, v[2])
    quat[...] = _np.concatenate([[_np.cos(angle / 2)], _np.sin(angle / 2) / sine * axis])


def mju_transformSpatial(res, vec, flg_force, newpos, oldpos, rotnew2old=None):
    """A spatial vector (rotation, translation) about another point, in another frame."""
    v, arm = _np.array(vec, float).ravel(), _np.subtract(newpos, oldpos)
    if flg_force:
        v[:3] -= _np.cross(arm, v[3:])
    else:
        v[3:] -= _np.cross(arm, v[:3])
    if rotnew2old is not None:
        R = _np.reshape(rotnew2old, (3, 3))
        v = _np.concatenate([R.T @ v[:3], R.T @ v[3:]])
    _into(res, v)
