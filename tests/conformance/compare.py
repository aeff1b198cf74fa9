# SPDX-License-Identifier: Apache-2.0
"""Compares Stiction with MuJoCo on one model: sizes, names, fields, dynamics, sensors and steps.

All errors are relative to the largest entry of the reference array (at least FLOOR, so that arrays
which are zero up to rounding do not count). Constraints are disabled in both engines."""
import dataclasses
import zlib

import mujoco
import numpy as np

import stiction

TOLERANCE = 1e-9
FLOOR = 1e-3
STATES = 20
INTEGRATORS = {"Euler": mujoco.mjtIntegrator.mjINT_EULER, "RK4": mujoco.mjtIntegrator.mjINT_RK4,
               "implicit": mujoco.mjtIntegrator.mjINT_IMPLICIT,
               "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST}
SIZES = "nq nv nu nactuator na nhistory nplastic nbody njnt ngeom nsite ncam nlight nmat nmesh nmocap ntendon nwrap nsensor nsensordata neq npair nexclude nkey nnumeric ntree".split()
KINDS = {"body": "nbody", "joint": "njnt", "geom": "ngeom", "site": "nsite", "camera": "ncam", "tendon": "ntendon",
         "actuator": "nactuator", "sensor": "nsensor", "equality": "neq", "key": "nkey", "mesh": "nmesh", "material": "nmat"}
# compiled fields that must agree as well
FIELDS = """qpos0 qpos_spring body_parentid body_rootid body_weldid body_mocapid body_jntnum body_dofnum body_pos body_quat body_ipos
body_mass body_subtreemass body_inertia body_invweight0 body_gravcomp jnt_type jnt_qposadr jnt_dofadr jnt_limited jnt_pos jnt_axis
jnt_stiffness jnt_range jnt_actfrcrange dof_armature dof_damping dof_frictionloss dof_invweight0 dof_M0 geom_type geom_contype
geom_conaffinity geom_condim geom_bodyid geom_group geom_priority geom_size geom_rbound geom_pos geom_friction geom_margin geom_solref
geom_solimp geom_fluid site_type site_bodyid site_size site_pos cam_fovy tendon_limited tendon_range tendon_stiffness tendon_damping
tendon_frictionloss tendon_lengthspring tendon_length0 tendon_invweight0 wrap_type wrap_objid wrap_prm actuator_trntype actuator_dyntype
actuator_gaintype actuator_biastype actuator_ctrllimited actuator_forcelimited actuator_gainprm actuator_biasprm actuator_dynprm
actuator_ctrlrange actuator_forcerange actuator_gear actuator_length0 actuator_acc0 actuator_lengthrange sensor_dim sensor_adr sensor_cutoff eq_type eq_data
eq_active0 pair_dim pair_friction key_time key_qpos key_qvel key_act key_ctrl numeric_data""".split()
OUTPUTS = """xpos xquat xmat xipos geom_xpos geom_xmat site_xpos site_xmat cam_xpos cam_xmat subtree_com cvel ten_length ten_velocity
actuator_length actuator_velocity qfrc_bias qfrc_passive actuator_force qfrc_actuator qacc_smooth qacc energy""".split()


@dataclasses.dataclass
class Result:
    path: str
    status: str = "ok"          # ok, differs, unsupported, skipped
    detail: str = ""
    worst: float = 0.0          # largest relative error
    where: str = ""
    errors: dict = dataclasses.field(default_factory=dict)

    def add(self, name, error):
        self.errors[name] = max(self.errors.get(name, 0.0), error)
        if not error <= self.worst:
            self.worst, self.where = error, name

    def differs(self, detail):
        self.status, self.detail = "differs", detail
        return self


def relative(ours, reference):
    """Largest difference relative to the largest reference value."""
    ours, reference = np.asarray(ours, float).reshape(-1), np.asarray(reference, float).reshape(-1)
    if ours.shape != reference.shape:
        return np.inf
    if not reference.size:
        return 0.0
    error = np.max(np.abs(ours - reference)) / max(np.max(np.abs(reference)), FLOOR)
    return float(error) if np.isfinite(error) else np.inf


def quaternions(ours, reference):
    """As relative, for quaternions up to their sign."""
    reference = np.asarray(reference).reshape(-1, 4)
    ours = np.asarray(ours).reshape(-1, 4)
    sign = np.sign(np.sum(ours * reference, axis=1, keepdims=True))
    return relative(ours * np.where(sign == 0, 1, sign), reference)


def random_state(rng, mj, mjd):
    """Everything that the user may set, at random: reachable positions, moderate velocities."""
    mujoco.mj_resetData(mj, mjd)
    velocity = rng.normal(size=mj.nv)
    mujoco.mj_integratePos(mj, mjd.qpos, velocity, 0.5)
    mjd.qvel[:] = rng.normal(size=mj.nv)
    mjd.act[:] = rng.uniform(0, 1, mj.na)
    low = np.where(mj.actuator_ctrllimited, mj.actuator_ctrlrange[:, 0], -1)
    high = np.where(mj.actuator_ctrllimited, mj.actuator_ctrlrange[:, 1], 1)
    mjd.ctrl[:] = rng.uniform(low, high) * 1.1 if mj.nu else []
    # forces that match the masses, so that light bodies are not shot away
    mjd.qfrc_applied[:] = rng.normal(size=mj.nv) * mj.dof_M0
    mjd.xfrc_applied[1:, :3] = rng.normal(size=(mj.nbody - 1, 3)) * mj.body_mass[1:, None]
    mjd.xfrc_applied[1:, 3:] = rng.normal(size=(mj.nbody - 1, 3)) * mj.body_inertia[1:]
    if mj.nmocap:
        mjd.mocap_pos[:] = rng.normal(size=(mj.nmocap, 3))
        mjd.mocap_quat[:] = rng.normal(size=(mj.nmocap, 4))


STATE = "qpos qvel act ctrl qfrc_applied xfrc_applied mocap_pos mocap_quat".split()


def copy_state(mjd, data):
    data.time = mjd.time
    for name in STATE:
        getattr(data, name)[...] = getattr(mjd, name).reshape(getattr(data, name).shape)


# strings and nets have sites, equalities or tendons and spheres of their own here
OF_FLEXES = {"nsite", "neq", "ngeom", "ntendon", "nwrap"}


def compare_structure(result, model, mj):
    left_out = OF_FLEXES if mj.nflex else set()
    for size in SIZES:
        if size not in left_out and getattr(model, size) != getattr(mj, size):
            return result.differs(f"{size} is {getattr(model, size)}, should be {getattr(mj, size)}")
    for kind, size in KINDS.items():
        if size in left_out:
            continue
        for i in range(getattr(mj, size)):
            ours, theirs = getattr(model, kind)(i).name, getattr(mj, kind)(i).name
            if ours != theirs:
                return result.differs(f"{kind} {i} is named {ours!r}, should be {theirs!r}")
    for name in FIELDS:
        if mj.nflex and name.split("_")[0] in ("site", "eq", "geom", "tendon", "wrap"):
            continue
        ours, theirs = getattr(model, name), getattr(mj, name)
        if name == "eq_data":
            theirs = theirs[:, :ours.shape[1]]  # MuJoCo keeps a flag of its own in the last column
        error = quaternions(ours, theirs) if name.endswith("quat") else relative(ours, theirs)
        result.add("model." + name, error)
    return result


def unsnap(mj, mjd, kind):
    """MuJoCo gives geoms and sites that lie within 1e-6 of their body's frame that very frame; undo it."""
    pos, mat = getattr(mjd, kind + "_xpos"), getattr(mjd, kind + "_xmat")
    for i in np.nonzero(getattr(mj, kind + "_sameframe"))[0]:
        body, turn, quat = getattr(mj, kind + "_bodyid")[i], np.zeros(4), np.zeros(9)
        mujoco.mju_mulQuat(turn, mjd.xquat[body], getattr(mj, kind + "_quat")[i])
        mujoco.mju_quat2Mat(quat, turn)
        mat[i] = quat.reshape(mat[i].shape)
        pos[i] = mjd.xpos[body] + mjd.xmat[body].reshape(3, 3) @ getattr(mj, kind + "_pos")[i]


def snap_bodies(mj, model):
    """MuJoCo takes an inertial frame that lies within 1e-6 of the body's for that very frame, also in the mass matrix; do the same."""
    for b in np.nonzero(mj.body_sameframe == mujoco.mjtSameFrame.mjSAMEFRAME_BODY)[0]:
        off = max(np.max(np.abs(model.body_ipos[b])), np.max(np.abs(model.body_iquat[b, 1:])))
        if 0 < off < 1e-6:
            model.body_ipos[b], model.body_iquat[b] = 0, (1, 0, 0, 0)
            model.update()


def compare_outputs(result, model, data, mj, mjd):
    for kind in ("geom", "site"):
        unsnap(mj, mjd, kind)
    for name in OUTPUTS:
        if mj.nflex and name.split("_")[0] in ("site", "geom", "ten", "energy"):
            continue
        ours, theirs = getattr(data, name), getattr(mjd, name)
        result.add(name, quaternions(ours, theirs) if name == "xquat" else relative(ours, theirs))
    full = np.zeros((mj.nv, mj.nv))
    if mj.nv:
        mujoco.mj_fullM(mj, mjd, full)
    result.add("M", relative(stiction.mass_matrix(model, data), full))
    for i in range(mj.nsensor):
        span = slice(mj.sensor_adr[i], mj.sensor_adr[i] + mj.sensor_dim[i])
        ours, theirs = data.sensordata[span], mjd.sensordata[span]
        quat = mj.sensor_datatype[i] == mujoco.mjtDataType.mjDATATYPE_QUATERNION
        kind = mujoco.mjtSensor(mj.sensor_type[i]).name
        result.add("sensor." + kind, quaternions(ours, theirs) if quat else relative(ours, theirs))


def diverged(mjd):
    bad = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)
    return any(mjd.warning[w].number for w in bad) or not np.all(np.abs(mjd.qvel) < 1e6)


def calm(mj, mjd):
    """With a singular mass matrix MuJoCo goes on with a pivot of 1e-15, which makes noise of whatever drives joints apart: nothing does."""
    before = mjd.warning[mujoco.mjtWarning.mjWARN_INERTIA].number
    mujoco.mj_forward(mj, mjd)
    if mjd.warning[mujoco.mjtWarning.mjWARN_INERTIA].number > before:
        for name in ("ctrl", "act", "qfrc_applied", "xfrc_applied"):
            getattr(mjd, name)[:] = 0


def last_bits(mj, state):
    """The next larger numbers."""
    for name in ("qpos", "qvel"):
        getattr(state, name)[:] = np.nextafter(getattr(state, name), np.inf)


def compare_steps(result, model, data, mj, mjd, rng, integrators):
    """An error counts less a hundred times what MuJoCo itself makes of a last bit in each step: where a motor turns a link by many radians in a
    step, that is much more than rounding."""
    for name in integrators:
        mj.opt.integrator = INTEGRATORS[name]
        model.opt.integrator = int(INTEGRATORS[name])
        random_state(rng, mj, mjd)
        calm(mj, mjd)
        mjd.xfrc_applied[:] = 0
        copy_state(mjd, data)
        other = mujoco.MjData(mj)
        copy_state(mjd, other)
        for total in range(1, 11):
            mujoco.mj_step(mj, mjd)
            mujoco.mj_step(mj, other)
            last_bits(mj, other)
            if diverged(mjd):
                break  # the reference itself, so there is nothing to compare
            stiction.step(model, data)
            for field in ("qpos", "qvel", "act") if total in (1, 10) else ():
                ours, theirs, moved = (getattr(d, field) for d in (data, mjd, other))
                result.add(f"{name}.{total}.{field}", max(0.0, relative(ours, theirs) - 100 * relative(moved, theirs)))


def disable_constraints(mj, model):
    mj.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)
    mj.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)
    model.opt.enableflags |= int(mujoco.mjtEnableBit.mjENBL_ENERGY)


def compare(path, states=STATES, integrators=tuple(INTEGRATORS)):
    """All comparisons for one file."""
    result = Result(str(path))
    try:
        mj = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as problem:
        result.status, result.detail = "skipped", "MuJoCo: " + str(problem).splitlines()[0]
        return result
    try:
        model = stiction.Model.from_xml_path(path)
    except stiction.Error as problem:
        result.status = "unsupported" if problem.code == "UNSUPPORTED" else "differs"
        result.detail = str(problem)
        return result
    if model.nflex:
        result.status, result.detail = "skipped", "soft bodies are vertices here, bodies with joints in MuJoCo"
        return result
    if compare_structure(result, model, mj).status != "ok":
        return result
    disable_constraints(mj, model)
    snap_bodies(mj, model)
    mjd, data = mujoco.MjData(mj), stiction.Data(model)
    rng = np.random.default_rng(zlib.crc32(str(path).rsplit("/", 1)[-1].encode()))
    try:
        for _ in range(states):
            random_state(rng, mj, mjd)
            calm(mj, mjd)
            copy_state(mjd, data)
            mujoco.mj_forward(mj, mjd)
            stiction.forward(model, data)
            compare_outputs(result, model, data, mj, mjd)
        compare_steps(result, model, data, mj, mjd, rng, integrators)
    except stiction.Error as problem:  # a singular mass matrix, say, with which MuJoCo goes on
        return result.differs(str(problem))
    if not result.worst <= TOLERANCE:
        result.differs(", ".join(f"{k} {v:.1e}" for k, v in sorted(result.errors.items(), key=lambda x: -x[1]) if v > TOLERANCE))
    return result
