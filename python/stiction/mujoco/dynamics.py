# SPDX-License-Identifier: Apache-2.0
"""MuJoCo's functions of motion beside the common ones: rates of Jacobians, accelerations, momentum, roots of the mass matrix, states."""
import numpy as _np

import stiction as _sti

from .enums import mjtGeom as _Geom
from .enums import mjtObj as _Obj


def _fill(res, values):
    if res is not None:
        res[...] = _np.reshape(values, _np.shape(res))


# ---- Jacobians and accelerations ---------------------------------------------------------------------------------

def _axis_rates(m, d):
    """Rates of cdof. Those of ball and free joints turn with their own body; in d.cdof_dot they turn with what they hang on, which gives the
    same where they are multiplied by qvel."""
    rates = _np.array(d.cdof_dot)
    for joint in range(m.njnt):
        if m.jnt_type[joint] <= 1:
            start = m.jnt_dofadr[joint] + (3 if m.jnt_type[joint] == 0 else 0)
            rows, (spin, move) = slice(start, start + 3), d.cvel[m.jnt_bodyid[joint]].reshape(2, 3)
            turn, slide = d.cdof[rows, :3], d.cdof[rows, 3:]
            rates[rows] = _np.hstack([_np.cross(spin, turn), _np.cross(spin, slide) + _np.cross(move, turn)])
    return rates


def mj_jacDot(m, d, jacp, jacr, point, body):
    """Rates of the Jacobians of a point that moves with a body."""
    where = _np.ravel(point) - d.subtree_com[m.body_rootid[body]]
    speed = d.cvel[body, 3:] + _np.cross(d.cvel[body, :3], where)
    moved = _np.any(_np.vstack(_sti.jac_point(m, d, _np.ravel(point), body)), axis=0)[:, None]
    rates = _axis_rates(m, d) * moved
    turn, slide, axis = rates[:, :3], rates[:, 3:], d.cdof[:, :3] * moved
    _fill(jacp, (slide + _np.cross(turn, where) + _np.cross(axis, speed)).T)
    _fill(jacr, turn.T)


def mj_jacPointAxis(m, d, jacPoint, jacAxis, point, axis, body):
    """Jacobians of a point and of an axis that move with a body."""
    jacp, jacr = _sti.jac_point(m, d, _np.ravel(point), body)
    _fill(jacPoint, jacp)
    _fill(jacAxis, _np.cross(jacr, _np.ravel(axis), axis=0))


def _place(m, d, objtype, objid):
    """Body, origin and axes (columns) of an object."""
    kind = _Obj(int(objtype))
    if kind in (_Obj.mjOBJ_BODY, _Obj.mjOBJ_XBODY):
        own = kind == _Obj.mjOBJ_BODY
        return objid, (d.xipos if own else d.xpos)[objid], (d.ximat if own else d.xmat)[objid].reshape(3, 3)
    word = {_Obj.mjOBJ_GEOM: "geom", _Obj.mjOBJ_SITE: "site", _Obj.mjOBJ_CAMERA: "cam"}.get(kind)
    if word is None:
        raise ValueError(f"objects of the kind {kind.name} have no frame")
    return (int(getattr(m, f"{word}_bodyid")[objid]), getattr(d, f"{word}_xpos")[objid],
            getattr(d, f"{word}_xmat")[objid].reshape(3, 3))


def mj_objectAcceleration(m, d, objtype, objid, res, flg_local):
    """Acceleration of a frame: rotation, then translation, as an accelerometer at rest reads it, 9.81 upwards. From the last forward or
    step; cacc is computed from the first call on."""
    body, origin, axes = _place(m, d, objtype, objid)
    where = origin - d.subtree_com[m.body_rootid[body]]
    turn, slide = d.cacc[body, :3], d.cacc[body, 3:]
    spin, move = d.cvel[body, :3], d.cvel[body, 3:]
    line = slide + _np.cross(turn, where) + _np.cross(spin, move + _np.cross(spin, where))
    both = (axes.T @ turn, axes.T @ line) if flg_local else (turn, line)
    _fill(res, _np.concatenate(both))


def mj_angmomMat(m, d, mat, body):
    """The matrix (3 x nv) that turns velocities into the angular momentum of a subtree about its centre of mass."""
    total, centre = _np.zeros((3, m.nv)), d.subtree_com[body]
    subtree = {body}
    for link in range(body, m.nbody):
        if link != body and m.body_parentid[link] not in subtree:
            continue
        subtree.add(link)
        jacp, jacr = _sti.jac_body_com(m, d, link)
        axes = d.ximat[link].reshape(3, 3)
        total += axes @ _np.diag(m.body_inertia[link]) @ axes.T @ jacr
        total += m.body_mass[link] * _np.cross(d.xipos[link] - centre, jacp, axis=0)
    _fill(mat, total)


def mj_insideSite(m, d, siteid, point):
    """1 if a point is inside of a site, else 0."""
    x, y, z = d.site_xmat[siteid].reshape(3, 3).T @ (_np.ravel(point) - d.site_xpos[siteid])
    size, kind = m.site_size[siteid], m.site_type[siteid]
    if kind == _Geom.mjGEOM_SPHERE:
        inside = x * x + y * y + z * z <= size[0] ** 2
    elif kind == _Geom.mjGEOM_ELLIPSOID:
        inside = (x / size[0]) ** 2 + (y / size[1]) ** 2 + (z / size[2]) ** 2 <= 1
    elif kind == _Geom.mjGEOM_BOX:
        inside = abs(x) <= size[0] and abs(y) <= size[1] and abs(z) <= size[2]
    elif kind == _Geom.mjGEOM_CYLINDER:
        inside = x * x + y * y <= size[0] ** 2 and abs(z) <= size[1]
    elif kind == _Geom.mjGEOM_CAPSULE:
        inside = x * x + y * y + max(abs(z) - size[1], 0) ** 2 <= size[0] ** 2
    else:
        raise ValueError(f"site {siteid}: a site of type {_Geom(kind).name} has no inside")
    return int(inside)


# ---- the mass matrix ---------------------------------------------------------------------------------------------

def _root(m, d):
    """The upper triangular U of M = U U'."""
    turned = _sti.mass_matrix(m, d)[::-1, ::-1]
    return _np.linalg.cholesky(turned)[::-1, ::-1] if m.nv else turned


def mj_mulM2(m, d, res, vec):
    """res = M^(1/2) vec: a triangular root, so that res' res = vec' M vec."""
    _fill(res, _root(m, d).T @ vec)


def mj_solveM2(m, d, x, y, sqrtInvD=None):
    """x = M^(-1/2) y, row by row: x x' = y M^-1 y'. sqrtInvD is computed here and not read."""
    _fill(x, _np.linalg.solve(_root(m, d), _np.atleast_2d(y).T).T if m.nv else y)


# ---- derivatives -------------------------------------------------------------------------------------------------

def mjd_inverseFD(m, d, eps, flg_actuation, DfDq=None, DfDv=None, DfDa=None, DsDq=None, DsDv=None, DsDa=None, DmDq=None):
    """Derivatives of mj_inverse's forces, by differences of size eps: a row for each position, velocity and acceleration. flg_actuation:
    less those of actuators. Those of sensors and of the mass matrix have to be None."""
    if any(given is not None for given in (DsDq, DsDv, DsDa, DmDq)):
        raise NotImplementedError("mjd_inverseFD has no derivatives of sensors and of the mass matrix in Stiction")
    qpos, qvel, qacc = (_np.array(v) for v in (d.qpos, d.qvel, d.qacc))

    def forces(acceleration):
        _sti.forward(m, d)
        found = _sti.inverse(m, d, acceleration)
        return found - d.qfrc_actuator if flg_actuation else found

    start = d.snapshot()
    try:
        base = forces(qacc)
        for i in range(m.nv):
            nudge = _np.zeros(m.nv)
            nudge[i] = eps
            if DfDa is not None:
                DfDa[i] = (forces(qacc + nudge) - base) / eps
            if DfDv is not None:
                d.qvel[:] = qvel + nudge
                DfDv[i] = (forces(qacc) - base) / eps
                d.qvel[:] = qvel
            if DfDq is not None:
                _sti.integrate_pos(m, d.qpos, nudge, 1.0)
                DfDq[i] = (forces(qacc) - base) / eps
                d.qpos[:] = qpos
    finally:
        d.restore(start)
        _sti.forward(m, d)
        d.qacc[...] = qacc


# ---- states ------------------------------------------------------------------------------------------------------

def mj_copyData(dest, m, src):
    """Makes dest what src is: state, inputs and what steps remember, and all that follows from these. Returns dest."""
    dest.restore(src.snapshot())
    _sti.forward(m, dest)
    return dest


def mj_copyState(m, src, dst, sig):
    """Copies parts of a state."""
    _sti.set_state(m, dst, _sti.get_state(m, src, int(sig)), int(sig))


def mj_extractState(m, src, srcsig, dst, dstsig):
    """The parts dstsig of a state vector that has the parts srcsig."""
    srcsig, dstsig = int(srcsig), int(dstsig)
    if dstsig & ~srcsig:
        raise ValueError("dstsig asks for parts that srcsig does not have")
    found, start, bit = [], 0, 1
    while bit <= srcsig:
        if srcsig & bit:
            size = _sti.state_size(m, bit)
            if dstsig & bit:
                found.append(_np.ravel(src)[start:start + size])
            start += size
        bit <<= 1
    _fill(dst, _np.concatenate(found) if found else _np.zeros(0))


def mj_resetCtrl(m, d):
    """All controls to 0."""
    d.ctrl[:] = 0


def mj_defaultSolRefImp(solref=None, solimp=None):
    """The values that MuJoCo's files have if they say nothing."""
    _fill(solref, (0.02, 1.0))
    _fill(solimp, (0.9, 0.95, 0.001, 0.5, 2.0))


# ---- what MuJoCo's solver is asked -------------------------------------------------------------------------------

def mj_isPyramidal(m):
    """0: friction cones are round here."""
    return 0


mj_isDual = mj_isSparse = mj_isPyramidal


# ---- for people --------------------------------------------------------------------------------------------------

def _table(file, name, values):
    array = _np.asarray(values)
    if array.size:
        file.write(f"{name} {'x'.join(map(str, array.shape))}\n{_np.array2string(array, threshold=10 ** 9, max_line_width=150)}\n\n")


def mj_printModel(m, filename):
    """Writes all sizes and arrays of a model into a text file."""
    with open(filename, "w", encoding="utf-8") as file:
        file.write(f"{m.title}\n\n" + "".join(f"{name:20} {getattr(m, name)}\n" for name in sorted(_sti._SIZES)) + "\n")
        for name in sorted(_sti._FIELDS):
            _table(file, name, getattr(m, name))


def mj_printData(m, d, filename):
    """Writes all arrays of a data, and its contacts, into a text file."""
    with open(filename, "w", encoding="utf-8") as file:
        file.write(f"time {d.time:.12g}\n\n")
        for name in sorted(_sti._STATE):
            _table(file, name, getattr(d, name))
        _table(file, "contact", _sti.Data.contact.fget(d))
