# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py from the field lists; ./dev docs writes it again.
import enum
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import control as control
from . import coupled as coupled
from . import mesh as mesh
from . import viewer as viewer

__version__: str
_Array = npt.NDArray[np.float64]
_IntArray = npt.NDArray[np.int32]
_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]

class Error(Exception):
    code: str
    file: str
    line: int
    element: str
    attribute: str
    message: str

class Option:
    timestep: float
    gravity: _Array
    wind: _Array
    magnetic: _Array
    density: float
    viscosity: float
    impratio: float
    tolerance: float
    ls_tolerance: float
    sleep_tolerance: float
    iterations: int
    ls_iterations: int
    integrator: int
    cone: int
    solver: int
    disableflags: int
    enableflags: int
    disableactuator: int
    handlers: int
    contact_solver: int
    coulomb: int
    memory: int
    watch: int
    linear: int
    preconditioner: int
    substeps: int
    adaptive_atol: int
    max_newton: int
    max_iterations: int
    max_pcg: int
    max_line_search: int
    pool_contacts: int
    pool_rows: int
    pool_candidates: int
    pool_overlaps: int
    pool_patches: int
    pool_elements: int
    max_hits: int
    max_polygons: int
    alm_scheme: int
    alm_adaptive: int
    alm_outer: int
    alm_newton: int
    alm_mu: float
    alm_tol: float
    alm_newton_tol: float
    max_work: float
    merge: float
    contact_tol: float
    atol: float
    rtol: float
    pcg_tol: float
    ls_tol: float
    max_step: float
    gradient_limit: float
    certificate_limit: float
    beta: float
    sigma: float
    push: float
    closing: float

class Rows:
    def add(self, row: Row, J: npt.ArrayLike, dofs: npt.ArrayLike | None = ..., phi: npt.ArrayLike = ..., stiffness: float = ...,
            dissipation: float = ..., R: npt.ArrayLike | None = ..., vhat: npt.ArrayLike | None = ..., feature: int = ...) -> None: ...
    def touch(self, body1: str | int, body2: str | int, pos: Sequence[float], normal: Sequence[float], dist: float, dim: int = ...,
              friction: float | Sequence[float] = ..., stiffness: float = ..., dissipation: float = ..., geom1: int = ...,
              geom2: int = ..., feature: int = ...) -> None: ...
    def jacobian(self, body: str | int, point: Sequence[float]) -> _Array: ...

class Handler(enum.IntFlag):
    POINT = 1
    PATCH = 2
    LIMIT = 4
    FRICTION = 8
    EQUALITY = 16
    ACTUATOR = 32
    USER = 64

class Joint(enum.IntEnum):
    FREE = 0
    BALL = 1
    SLIDE = 2
    HINGE = 3

class Geom(enum.IntEnum):
    PLANE = 0
    HFIELD = 1
    SPHERE = 2
    CAPSULE = 3
    ELLIPSOID = 4
    CYLINDER = 5
    BOX = 6
    MESH = 7

class Integrator(enum.IntEnum):
    EULER = 0
    RK4 = 1
    IMPLICIT = 2
    IMPLICITFAST = 3
    ALM = 4

class Equality(enum.IntEnum):
    CONNECT = 0
    WELD = 1
    JOINT = 2
    TENDON = 3
    DISTANCE = 4
    COUPLED = 5

class Transmission(enum.IntEnum):
    JOINT = 0
    JOINTINPARENT = 1
    SLIDERCRANK = 2
    TENDON = 3
    SITE = 4
    BODY = 5
    SO3 = 6

class Sensor(enum.IntEnum):
    ACCELEROMETER = 0
    VELOCIMETER = 1
    GYRO = 2
    FORCE = 3
    TORQUE = 4
    MAGNETOMETER = 5
    CAMPROJECTION = 6
    JOINTPOS = 7
    JOINTVEL = 8
    TENDONPOS = 9
    TENDONVEL = 10
    ACTUATORPOS = 11
    ACTUATORVEL = 12
    ACTUATORFRC = 13
    JOINTACTFRC = 14
    TENDONACTFRC = 15
    BALLQUAT = 16
    BALLANGVEL = 17
    JOINTLIMITPOS = 18
    JOINTLIMITVEL = 19
    JOINTLIMITFRC = 20
    TENDONLIMITPOS = 21
    TENDONLIMITVEL = 22
    TENDONLIMITFRC = 23
    FRAMEPOS = 24
    FRAMEQUAT = 25
    FRAMEXAXIS = 26
    FRAMEYAXIS = 27
    FRAMEZAXIS = 28
    FRAMELINVEL = 29
    FRAMEANGVEL = 30
    FRAMELINACC = 31
    FRAMEANGACC = 32
    SUBTREECOM = 33
    SUBTREELINVEL = 34
    SUBTREEANGMOM = 35
    INSIDESITE = 36
    TOUCH = 37
    RANGEFINDER = 38
    GEOMDIST = 39
    GEOMNORMAL = 40
    GEOMFROMTO = 41
    CONTACT = 42
    E_POTENTIAL = 43
    E_KINETIC = 44
    CLOCK = 45
    USER = 46
    TOUCH_GRID = 47
    TACTILE = 48

class Object(enum.IntEnum):
    BODY = 1
    JOINT = 2
    GEOM = 3
    SITE = 4
    CAMERA = 5
    LIGHT = 6
    MATERIAL = 7
    TEXTURE = 8
    MESH = 9
    HFIELD = 10
    FLEX = 11
    TENDON = 12
    ACTUATOR = 13
    SENSOR = 14
    EQUALITY = 15
    PAIR = 16
    EXCLUDE = 17
    KEY = 18
    NUMERIC = 19
    SKIN = 20
    XBODY = 21

class Disable(enum.IntFlag):
    CONSTRAINT = 1
    EQUALITY = 2
    FRICTIONLOSS = 4
    LIMIT = 8
    CONTACT = 16
    SPRING = 32
    DAMPER = 64
    GRAVITY = 128
    CLAMPCTRL = 256
    WARMSTART = 512
    FILTERPARENT = 1024
    ACTUATION = 2048
    REFSAFE = 4096
    SENSOR = 8192
    MIDPHASE = 16384
    EULERDAMP = 32768
    AUTORESET = 65536
    NATIVECCD = 131072
    ISLAND = 262144
    MULTICCD = 524288

class Enable(enum.IntFlag):
    OVERRIDE = 1
    ENERGY = 2
    FWDINV = 4
    INVDISCRETE = 8
    SLEEP = 16

class State(enum.IntFlag):
    TIME = 1
    QPOS = 2
    QVEL = 4
    ACT = 8
    HISTORY = 16
    WARMSTART = 32
    CTRL = 64
    QFRC_APPLIED = 128
    XFRC_APPLIED = 256
    EQ_ACTIVE = 512
    MOCAP_POS = 1024
    MOCAP_QUAT = 2048
    USERDATA = 4096
    PLUGIN = 8192
    PLASTIC = 16384
    PHYSICS = 16414
    FULLPHYSICS = 24607
    USER = 8128
    INTEGRATION = 32767

class Statistic:
    meaninertia: float
    meanmass: float
    meansize: float
    extent: float
    center: _Array

class Named:
    id: int
    name: str
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...

class Model:
    opt: Option
    stat: Statistic
    warnings: list[str]
    nq: int
    nv: int
    nu: int
    nactuator: int
    nout: int
    na: int
    nhistory: int
    nplastic: int
    nbody: int
    ntree: int
    njnt: int
    ngeom: int
    nsite: int
    ncam: int
    nlight: int
    nmat: int
    ntex: int
    ntexdata: int
    nmesh: int
    nmeshvert: int
    nmeshface: int
    nmeshtexcoord: int
    nmeshtangent: int
    nmeshhullvert: int
    nmeshhullface: int
    nhfield: int
    nhfielddata: int
    nflex: int
    nflexvert: int
    nflexelem: int
    nflexshell: int
    nskin: int
    nskinvert: int
    nskintexvert: int
    nskinface: int
    nskinbone: int
    nskinbonevert: int
    nmocap: int
    ntendon: int
    nwrap: int
    nJten: int
    nJmom: int
    nsheet: int
    nfold: int
    nbend: int
    nsensor: int
    nsensordata: int
    neq: int
    ncoupled: int
    npair: int
    nexclude: int
    nkey: int
    nnumeric: int
    nnumericdata: int
    nuserdata: int
    nuser_body: int
    nuser_jnt: int
    nuser_geom: int
    nuser_site: int
    nuser_cam: int
    nuser_tendon: int
    nuser_actuator: int
    nuser_sensor: int
    nM: int
    nD: int
    nname: int
    nnamemap: int
    qpos0: npt.NDArray[Any]
    qpos_spring: npt.NDArray[Any]
    body_parentid: npt.NDArray[Any]
    body_rootid: npt.NDArray[Any]
    body_weldid: npt.NDArray[Any]
    body_mocapid: npt.NDArray[Any]
    body_jntnum: npt.NDArray[Any]
    body_jntadr: npt.NDArray[Any]
    body_dofnum: npt.NDArray[Any]
    body_dofadr: npt.NDArray[Any]
    body_treeid: npt.NDArray[Any]
    body_geomnum: npt.NDArray[Any]
    body_geomadr: npt.NDArray[Any]
    body_lastdof: npt.NDArray[Any]
    body_pos: npt.NDArray[Any]
    body_quat: npt.NDArray[Any]
    body_ipos: npt.NDArray[Any]
    body_iquat: npt.NDArray[Any]
    body_mass: npt.NDArray[Any]
    body_subtreemass: npt.NDArray[Any]
    body_inertia: npt.NDArray[Any]
    body_invweight0: npt.NDArray[Any]
    body_gravcomp: npt.NDArray[Any]
    body_contactlook: npt.NDArray[Any]
    tree_sleep_policy: npt.NDArray[Any]
    jnt_type: npt.NDArray[Any]
    jnt_qposadr: npt.NDArray[Any]
    jnt_dofadr: npt.NDArray[Any]
    jnt_bodyid: npt.NDArray[Any]
    jnt_group: npt.NDArray[Any]
    jnt_actuatorid: npt.NDArray[Any]
    jnt_plasticadr: npt.NDArray[Any]
    jnt_limited: npt.NDArray[Any]
    jnt_actfrclimited: npt.NDArray[Any]
    jnt_actgravcomp: npt.NDArray[Any]
    jnt_solref: npt.NDArray[Any]
    jnt_solimp: npt.NDArray[Any]
    jnt_pos: npt.NDArray[Any]
    jnt_axis: npt.NDArray[Any]
    jnt_stiffness: npt.NDArray[Any]
    jnt_stiffnesspoly: npt.NDArray[Any]
    jnt_stiffnessaxes: npt.NDArray[Any]
    jnt_springyield: npt.NDArray[Any]
    jnt_range: npt.NDArray[Any]
    jnt_actfrcrange: npt.NDArray[Any]
    jnt_margin: npt.NDArray[Any]
    dof_bodyid: npt.NDArray[Any]
    dof_jntid: npt.NDArray[Any]
    dof_parentid: npt.NDArray[Any]
    dof_treeid: npt.NDArray[Any]
    dof_solref: npt.NDArray[Any]
    dof_solimp: npt.NDArray[Any]
    dof_frictionloss: npt.NDArray[Any]
    dof_armature: npt.NDArray[Any]
    dof_damping: npt.NDArray[Any]
    dof_dampingpoly: npt.NDArray[Any]
    dof_invweight0: npt.NDArray[Any]
    dof_M0: npt.NDArray[Any]
    M_rowadr: npt.NDArray[Any]
    M_rownnz: npt.NDArray[Any]
    M_colind: npt.NDArray[Any]
    D_rowadr: npt.NDArray[Any]
    D_rownnz: npt.NDArray[Any]
    D_diag: npt.NDArray[Any]
    D_colind: npt.NDArray[Any]
    geom_type: npt.NDArray[Any]
    geom_contype: npt.NDArray[Any]
    geom_conaffinity: npt.NDArray[Any]
    geom_condim: npt.NDArray[Any]
    geom_bodyid: npt.NDArray[Any]
    geom_dataid: npt.NDArray[Any]
    geom_matid: npt.NDArray[Any]
    geom_group: npt.NDArray[Any]
    geom_priority: npt.NDArray[Any]
    geom_solmix: npt.NDArray[Any]
    geom_solref: npt.NDArray[Any]
    geom_solimp: npt.NDArray[Any]
    geom_softness: npt.NDArray[Any]
    geom_hydroelastic: npt.NDArray[Any]
    geom_hydroedge: npt.NDArray[Any]
    geom_sdf: npt.NDArray[Any]
    geom_sdfprm: npt.NDArray[Any]
    geom_size: npt.NDArray[Any]
    geom_rbound: npt.NDArray[Any]
    geom_pos: npt.NDArray[Any]
    geom_quat: npt.NDArray[Any]
    geom_friction: npt.NDArray[Any]
    geom_surfacevel: npt.NDArray[Any]
    geom_margin: npt.NDArray[Any]
    geom_gap: npt.NDArray[Any]
    geom_adhesion: npt.NDArray[Any]
    geom_fluid: npt.NDArray[Any]
    geom_rgba: npt.NDArray[Any]
    site_type: npt.NDArray[Any]
    site_dataid: npt.NDArray[Any]
    site_bodyid: npt.NDArray[Any]
    site_matid: npt.NDArray[Any]
    site_group: npt.NDArray[Any]
    site_size: npt.NDArray[Any]
    site_pos: npt.NDArray[Any]
    site_quat: npt.NDArray[Any]
    site_rgba: npt.NDArray[Any]
    cam_mode: npt.NDArray[Any]
    cam_bodyid: npt.NDArray[Any]
    cam_targetbodyid: npt.NDArray[Any]
    cam_pos: npt.NDArray[Any]
    cam_quat: npt.NDArray[Any]
    cam_poscom0: npt.NDArray[Any]
    cam_pos0: npt.NDArray[Any]
    cam_mat0: npt.NDArray[Any]
    cam_fovy: npt.NDArray[Any]
    cam_projection: npt.NDArray[Any]
    cam_resolution: npt.NDArray[Any]
    cam_sensorsize: npt.NDArray[Any]
    cam_intrinsic: npt.NDArray[Any]
    light_mode: npt.NDArray[Any]
    light_bodyid: npt.NDArray[Any]
    light_targetbodyid: npt.NDArray[Any]
    light_directional: npt.NDArray[Any]
    light_castshadow: npt.NDArray[Any]
    light_active: npt.NDArray[Any]
    light_pos: npt.NDArray[Any]
    light_dir: npt.NDArray[Any]
    light_poscom0: npt.NDArray[Any]
    light_pos0: npt.NDArray[Any]
    light_dir0: npt.NDArray[Any]
    light_ambient: npt.NDArray[Any]
    light_diffuse: npt.NDArray[Any]
    light_specular: npt.NDArray[Any]
    mat_texid: npt.NDArray[Any]
    mat_rgba: npt.NDArray[Any]
    mat_emission: npt.NDArray[Any]
    mat_specular: npt.NDArray[Any]
    mat_shininess: npt.NDArray[Any]
    mat_reflectance: npt.NDArray[Any]
    mat_texrepeat: npt.NDArray[Any]
    mat_texuniform: npt.NDArray[Any]
    tex_type: npt.NDArray[Any]
    tex_builtin: npt.NDArray[Any]
    tex_rgb1: npt.NDArray[Any]
    tex_rgb2: npt.NDArray[Any]
    tex_width: npt.NDArray[Any]
    tex_height: npt.NDArray[Any]
    tex_nchannel: npt.NDArray[Any]
    tex_adr: npt.NDArray[Any]
    tex_data: npt.NDArray[Any]
    mesh_vertadr: npt.NDArray[Any]
    mesh_vertnum: npt.NDArray[Any]
    mesh_faceadr: npt.NDArray[Any]
    mesh_facenum: npt.NDArray[Any]
    mesh_texcoordadr: npt.NDArray[Any]
    mesh_texcoordnum: npt.NDArray[Any]
    mesh_tangentadr: npt.NDArray[Any]
    mesh_hullvertadr: npt.NDArray[Any]
    mesh_hullvertnum: npt.NDArray[Any]
    mesh_hullfaceadr: npt.NDArray[Any]
    mesh_hullfacenum: npt.NDArray[Any]
    mesh_convex: npt.NDArray[Any]
    mesh_pos: npt.NDArray[Any]
    mesh_quat: npt.NDArray[Any]
    mesh_vert: npt.NDArray[Any]
    mesh_face: npt.NDArray[Any]
    mesh_texcoord: npt.NDArray[Any]
    mesh_tangent: npt.NDArray[Any]
    mesh_facetexcoord: npt.NDArray[Any]
    mesh_hullvert: npt.NDArray[Any]
    mesh_hullface: npt.NDArray[Any]
    hfield_nrow: npt.NDArray[Any]
    hfield_ncol: npt.NDArray[Any]
    hfield_adr: npt.NDArray[Any]
    hfield_size: npt.NDArray[Any]
    hfield_data: npt.NDArray[Any]
    skin_matid: npt.NDArray[Any]
    skin_group: npt.NDArray[Any]
    skin_rgba: npt.NDArray[Any]
    skin_inflate: npt.NDArray[Any]
    skin_vertadr: npt.NDArray[Any]
    skin_vertnum: npt.NDArray[Any]
    skin_texcoordadr: npt.NDArray[Any]
    skin_faceadr: npt.NDArray[Any]
    skin_facenum: npt.NDArray[Any]
    skin_boneadr: npt.NDArray[Any]
    skin_bonenum: npt.NDArray[Any]
    skin_vert: npt.NDArray[Any]
    skin_texcoord: npt.NDArray[Any]
    skin_face: npt.NDArray[Any]
    skin_bonevertadr: npt.NDArray[Any]
    skin_bonevertnum: npt.NDArray[Any]
    skin_bonebindpos: npt.NDArray[Any]
    skin_bonebindquat: npt.NDArray[Any]
    skin_bonebodyid: npt.NDArray[Any]
    skin_bonevertid: npt.NDArray[Any]
    skin_bonevertweight: npt.NDArray[Any]
    tendon_adr: npt.NDArray[Any]
    tendon_num: npt.NDArray[Any]
    tendon_matid: npt.NDArray[Any]
    tendon_group: npt.NDArray[Any]
    tendon_limited: npt.NDArray[Any]
    tendon_actfrclimited: npt.NDArray[Any]
    tendon_width: npt.NDArray[Any]
    tendon_solref_lim: npt.NDArray[Any]
    tendon_solimp_lim: npt.NDArray[Any]
    tendon_solref_fri: npt.NDArray[Any]
    tendon_solimp_fri: npt.NDArray[Any]
    tendon_actuatorid: npt.NDArray[Any]
    tendon_plasticadr: npt.NDArray[Any]
    tendon_range: npt.NDArray[Any]
    tendon_actfrcrange: npt.NDArray[Any]
    tendon_margin: npt.NDArray[Any]
    tendon_stiffness: npt.NDArray[Any]
    tendon_stiffnesspoly: npt.NDArray[Any]
    tendon_springyield: npt.NDArray[Any]
    tendon_damping: npt.NDArray[Any]
    tendon_dampingpoly: npt.NDArray[Any]
    tendon_armature: npt.NDArray[Any]
    tendon_frictionloss: npt.NDArray[Any]
    tendon_lengthspring: npt.NDArray[Any]
    tendon_length0: npt.NDArray[Any]
    tendon_invweight0: npt.NDArray[Any]
    tendon_rgba: npt.NDArray[Any]
    wrap_type: npt.NDArray[Any]
    wrap_objid: npt.NDArray[Any]
    wrap_prm: npt.NDArray[Any]
    sheet_siteid: npt.NDArray[Any]
    sheet_matter: npt.NDArray[Any]
    sheet_length2: npt.NDArray[Any]
    sheet_metric: npt.NDArray[Any]
    fold_siteid: npt.NDArray[Any]
    fold_matter: npt.NDArray[Any]
    fold_weight: npt.NDArray[Any]
    bend_siteid: npt.NDArray[Any]
    bend_matter: npt.NDArray[Any]
    bend_stiffness: npt.NDArray[Any]
    ten_J_rowadr: npt.NDArray[Any]
    ten_J_rownnz: npt.NDArray[Any]
    ten_J_colind: npt.NDArray[Any]
    actuator_trntype: npt.NDArray[Any]
    actuator_trnid: npt.NDArray[Any]
    actuator_dyntype: npt.NDArray[Any]
    actuator_gaintype: npt.NDArray[Any]
    actuator_biastype: npt.NDArray[Any]
    actuator_ctrladr: npt.NDArray[Any]
    actuator_ctrlnum: npt.NDArray[Any]
    actuator_ctrlspec: npt.NDArray[Any]
    actuator_outadr: npt.NDArray[Any]
    actuator_outnum: npt.NDArray[Any]
    actuator_actadr: npt.NDArray[Any]
    actuator_actnum: npt.NDArray[Any]
    actuator_group: npt.NDArray[Any]
    actuator_ctrllimited: npt.NDArray[Any]
    actuator_forcelimited: npt.NDArray[Any]
    actuator_actlimited: npt.NDArray[Any]
    actuator_actearly: npt.NDArray[Any]
    actuator_history: npt.NDArray[Any]
    actuator_historyadr: npt.NDArray[Any]
    actuator_delay: npt.NDArray[Any]
    actuator_implicit: npt.NDArray[Any]
    actuator_pid: npt.NDArray[Any]
    actuator_pidprm: npt.NDArray[Any]
    actuator_dynprm: npt.NDArray[Any]
    actuator_gainprm: npt.NDArray[Any]
    actuator_biasprm: npt.NDArray[Any]
    actuator_ctrlrange: npt.NDArray[Any]
    actuator_forcerange: npt.NDArray[Any]
    actuator_actrange: npt.NDArray[Any]
    actuator_gear: npt.NDArray[Any]
    actuator_damping: npt.NDArray[Any]
    actuator_dampingpoly: npt.NDArray[Any]
    actuator_armature: npt.NDArray[Any]
    actuator_cranklength: npt.NDArray[Any]
    actuator_lengthrange: npt.NDArray[Any]
    actuator_length0: npt.NDArray[Any]
    actuator_acc0: npt.NDArray[Any]
    moment_rowadr: npt.NDArray[Any]
    moment_rownnz: npt.NDArray[Any]
    moment_colind: npt.NDArray[Any]
    sensor_type: npt.NDArray[Any]
    sensor_datatype: npt.NDArray[Any]
    sensor_needstage: npt.NDArray[Any]
    sensor_objtype: npt.NDArray[Any]
    sensor_objid: npt.NDArray[Any]
    sensor_reftype: npt.NDArray[Any]
    sensor_refid: npt.NDArray[Any]
    sensor_dim: npt.NDArray[Any]
    sensor_adr: npt.NDArray[Any]
    sensor_intprm: npt.NDArray[Any]
    sensor_grid: npt.NDArray[Any]
    sensor_cutoff: npt.NDArray[Any]
    sensor_noise: npt.NDArray[Any]
    sensor_history: npt.NDArray[Any]
    sensor_historyadr: npt.NDArray[Any]
    sensor_delay: npt.NDArray[Any]
    sensor_interval: npt.NDArray[Any]
    flex_bodyid: npt.NDArray[Any]
    flex_vertadr: npt.NDArray[Any]
    flex_vertnum: npt.NDArray[Any]
    flex_elemadr: npt.NDArray[Any]
    flex_elemnum: npt.NDArray[Any]
    flex_shelladr: npt.NDArray[Any]
    flex_shellnum: npt.NDArray[Any]
    flex_law: npt.NDArray[Any]
    flex_contype: npt.NDArray[Any]
    flex_conaffinity: npt.NDArray[Any]
    flex_condim: npt.NDArray[Any]
    flex_priority: npt.NDArray[Any]
    flex_selfcollide: npt.NDArray[Any]
    flex_matid: npt.NDArray[Any]
    flex_group: npt.NDArray[Any]
    flex_solmix: npt.NDArray[Any]
    flex_friction: npt.NDArray[Any]
    flex_damping: npt.NDArray[Any]
    flex_hydroelastic: npt.NDArray[Any]
    flex_dissipation: npt.NDArray[Any]
    flex_rgba: npt.NDArray[Any]
    flexvert_pos0: npt.NDArray[Any]
    flexvert_mass: npt.NDArray[Any]
    flexvert_pressure: npt.NDArray[Any]
    flexvert_pinned: npt.NDArray[Any]
    flexvert_local: npt.NDArray[Any]
    flex_elem: npt.NDArray[Any]
    flexelem_young: npt.NDArray[Any]
    flexelem_poisson: npt.NDArray[Any]
    flexelem_density: npt.NDArray[Any]
    flexelem_pressure: npt.NDArray[Any]
    flex_shell: npt.NDArray[Any]
    flex_shellelem: npt.NDArray[Any]
    eq_type: npt.NDArray[Any]
    eq_obj1id: npt.NDArray[Any]
    eq_obj2id: npt.NDArray[Any]
    eq_objtype: npt.NDArray[Any]
    eq_active0: npt.NDArray[Any]
    eq_solref: npt.NDArray[Any]
    eq_solimp: npt.NDArray[Any]
    eq_data: npt.NDArray[Any]
    eq_softness: npt.NDArray[Any]
    eq_closing: npt.NDArray[Any]
    coupled_eq: npt.NDArray[Any]
    coupled_count: npt.NDArray[Any]
    coupled_equation: npt.NDArray[Any]
    coupled_axis: npt.NDArray[Any]
    coupled_rest: npt.NDArray[Any]
    coupled_softness: npt.NDArray[Any]
    coupled_rule: npt.NDArray[Any]
    coupled_most: npt.NDArray[Any]
    pair_dim: npt.NDArray[Any]
    pair_geom1: npt.NDArray[Any]
    pair_geom2: npt.NDArray[Any]
    pair_solref: npt.NDArray[Any]
    pair_solreffriction: npt.NDArray[Any]
    pair_solimp: npt.NDArray[Any]
    pair_margin: npt.NDArray[Any]
    pair_gap: npt.NDArray[Any]
    pair_adhesion: npt.NDArray[Any]
    pair_friction: npt.NDArray[Any]
    pair_softness: npt.NDArray[Any]
    exclude_body1: npt.NDArray[Any]
    exclude_body2: npt.NDArray[Any]
    key_time: npt.NDArray[Any]
    key_qpos: npt.NDArray[Any]
    key_qvel: npt.NDArray[Any]
    key_act: npt.NDArray[Any]
    key_mpos: npt.NDArray[Any]
    key_mquat: npt.NDArray[Any]
    key_ctrl: npt.NDArray[Any]
    key_plastic: npt.NDArray[Any]
    numeric_adr: npt.NDArray[Any]
    numeric_size: npt.NDArray[Any]
    numeric_data: npt.NDArray[Any]
    body_user: npt.NDArray[Any]
    jnt_user: npt.NDArray[Any]
    geom_user: npt.NDArray[Any]
    site_user: npt.NDArray[Any]
    cam_user: npt.NDArray[Any]
    tendon_user: npt.NDArray[Any]
    actuator_user: npt.NDArray[Any]
    sensor_user: npt.NDArray[Any]
    name_body: npt.NDArray[Any]
    name_jnt: npt.NDArray[Any]
    name_geom: npt.NDArray[Any]
    name_site: npt.NDArray[Any]
    name_cam: npt.NDArray[Any]
    name_light: npt.NDArray[Any]
    name_mat: npt.NDArray[Any]
    name_tex: npt.NDArray[Any]
    name_mesh: npt.NDArray[Any]
    name_hfield: npt.NDArray[Any]
    name_flex: npt.NDArray[Any]
    name_tendon: npt.NDArray[Any]
    name_actuator: npt.NDArray[Any]
    name_sensor: npt.NDArray[Any]
    name_eq: npt.NDArray[Any]
    name_pair: npt.NDArray[Any]
    name_exclude: npt.NDArray[Any]
    name_key: npt.NDArray[Any]
    name_skin: npt.NDArray[Any]
    name_numeric: npt.NDArray[Any]
    names: npt.NDArray[Any]
    name_map: npt.NDArray[Any]
    @classmethod
    def from_xml_path(cls, path: _Path, assets: dict[str, bytes] | None = ..., allow_outside: bool | _Path = ..., memory_limit: int = ...,
                      element_limit: int = ...) -> Model: ...
    @classmethod
    def from_xml_string(cls, xml: str | bytes, assets: dict[str, bytes] | None = ..., memory_limit: int = ...,
                        element_limit: int = ...) -> Model: ...
    @property
    def title(self) -> str: ...
    def hash(self) -> int: ...
    def update(self) -> None: ...
    def get_sensor_value(self, name: str, data: Data) -> npt.NDArray[np.float32]: ...
    def body(self, name: str | int) -> Named: ...
    def joint(self, name: str | int) -> Named: ...
    def geom(self, name: str | int) -> Named: ...
    def site(self, name: str | int) -> Named: ...
    def camera(self, name: str | int) -> Named: ...
    def light(self, name: str | int) -> Named: ...
    def material(self, name: str | int) -> Named: ...
    def texture(self, name: str | int) -> Named: ...
    def mesh(self, name: str | int) -> Named: ...
    def skin(self, name: str | int) -> Named: ...
    def hfield(self, name: str | int) -> Named: ...
    def flex(self, name: str | int) -> Named: ...
    def tendon(self, name: str | int) -> Named: ...
    def actuator(self, name: str | int) -> Named: ...
    def sensor(self, name: str | int) -> Named: ...
    def equality(self, name: str | int) -> Named: ...
    def pair(self, name: str | int) -> Named: ...
    def exclude(self, name: str | int) -> Named: ...
    def key(self, name: str | int) -> Named: ...
    def numeric(self, name: str | int) -> Named: ...
    def jnt(self, name: str | int) -> Named: ...
    def cam(self, name: str | int) -> Named: ...
    def mat(self, name: str | int) -> Named: ...
    def tex(self, name: str | int) -> Named: ...
    def ten(self, name: str | int) -> Named: ...
    def eq(self, name: str | int) -> Named: ...
    def keyframe(self, name: str | int) -> Named: ...

class Data:
    model: Model
    time: float
    qpos: _Array
    qvel: _Array
    flexvert_xpos: _Array
    flexvert_xvel: _Array
    flexvert_tangent: _Array
    flex_knotted: _Array
    act: _Array
    history: _Array
    plastic: _Array
    ctrl: _Array
    qfrc_applied: _Array
    xfrc_applied: _Array
    flexvert_applied: _Array
    mocap_pos: _Array
    mocap_quat: _Array
    userdata: _Array
    xpos: _Array
    xquat: _Array
    xmat: _Array
    xipos: _Array
    ximat: _Array
    xanchor: _Array
    xaxis: _Array
    geom_xpos: _Array
    geom_xmat: _Array
    site_xpos: _Array
    site_xmat: _Array
    cam_xpos: _Array
    cam_xmat: _Array
    light_xpos: _Array
    light_xdir: _Array
    subtree_com: _Array
    cdof: _Array
    cinert: _Array
    M: _Array
    qLD: _Array
    qLDiagInv: _Array
    ten_length: _Array
    ten_J: _Array
    actuator_length: _Array
    actuator_moment: _Array
    cvel: _Array
    cdof_dot: _Array
    ten_velocity: _Array
    actuator_velocity: _Array
    subtree_linvel: _Array
    subtree_angmom: _Array
    qfrc_bias: _Array
    qfrc_spring: _Array
    qfrc_damper: _Array
    qfrc_gravcomp: _Array
    qfrc_fluid: _Array
    qfrc_sheet: _Array
    qfrc_adhesion: _Array
    qfrc_passive: _Array
    act_dot: _Array
    actuator_force: _Array
    qfrc_actuator: _Array
    qfrc_smooth: _Array
    qfrc_constraint: _Array
    qacc_smooth: _Array
    qacc: _Array
    cacc: _Array
    cfrc_int: _Array
    cfrc_ext: _Array
    energy: _Array
    sensordata: _Array
    eq_active: _IntArray
    def __init__(self, model: Model, profile: bool = ..., threads: int = ...) -> None: ...
    def add_controller(self, function: Callable[[Model, Data], object]) -> int: ...
    def add_handler(self, function: Callable[[Model, Data, Rows], object]) -> int: ...
    def remove_handler(self, number: int) -> None: ...
    @property
    def contact(self) -> np.recarray[Any, Any]: ...
    @property
    def patches(self) -> np.recarray[Any, Any]: ...
    @property
    def tree_asleep(self) -> npt.NDArray[np.int32]: ...
    def soft_stress(self, tensor: bool = ...) -> _Array: ...
    @property
    def ncon(self) -> int: ...
    @property
    def certificate(self) -> Certificate: ...
    def certify(self) -> Certificate: ...
    @property
    def converged(self) -> bool: ...
    @property
    def solver_niter(self) -> int: ...
    def coupled(self, constraint: str | int) -> coupled.Diagnostics: ...
    def hash(self) -> int: ...
    def snapshot(self) -> bytes: ...
    def restore(self, snapshot: bytes) -> None: ...
    def drop_warm_start(self) -> None: ...
    @property
    def trouble(self) -> tuple[str, ...]: ...
    @property
    def capsules(self) -> int: ...
    def set_capsules(self, folder: _Path | None, most: int = ..., troubles: Iterable[str] = ...) -> None: ...
    def save_capsule(self, path: _Path) -> None: ...
    def load_capsule(self, path: _Path) -> None: ...
    @property
    def warnings(self) -> dict[str, tuple[int, str]]: ...
    @property
    def growths(self) -> dict[str, tuple[int, int, int]]: ...
    @property
    def overlaps(self) -> list[tuple[int, int, float, str]]: ...
    def profile(self) -> list[Stage]: ...
    def body(self, name: str | int) -> Named: ...
    def joint(self, name: str | int) -> Named: ...
    def geom(self, name: str | int) -> Named: ...
    def site(self, name: str | int) -> Named: ...
    def camera(self, name: str | int) -> Named: ...
    def light(self, name: str | int) -> Named: ...
    def material(self, name: str | int) -> Named: ...
    def texture(self, name: str | int) -> Named: ...
    def mesh(self, name: str | int) -> Named: ...
    def skin(self, name: str | int) -> Named: ...
    def hfield(self, name: str | int) -> Named: ...
    def flex(self, name: str | int) -> Named: ...
    def tendon(self, name: str | int) -> Named: ...
    def actuator(self, name: str | int) -> Named: ...
    def sensor(self, name: str | int) -> Named: ...
    def equality(self, name: str | int) -> Named: ...
    def pair(self, name: str | int) -> Named: ...
    def exclude(self, name: str | int) -> Named: ...
    def key(self, name: str | int) -> Named: ...
    def numeric(self, name: str | int) -> Named: ...
    def jnt(self, name: str | int) -> Named: ...
    def cam(self, name: str | int) -> Named: ...
    def mat(self, name: str | int) -> Named: ...
    def tex(self, name: str | int) -> Named: ...
    def ten(self, name: str | int) -> Named: ...
    def eq(self, name: str | int) -> Named: ...
    def keyframe(self, name: str | int) -> Named: ...

class Batch:
    model: Model
    threads: int
    errors: str
    time: _Array
    qpos: _Array
    qvel: _Array
    flexvert_xpos: _Array
    flexvert_xvel: _Array
    flexvert_tangent: _Array
    flex_knotted: _Array
    act: _Array
    history: _Array
    plastic: _Array
    ctrl: _Array
    qfrc_applied: _Array
    xfrc_applied: _Array
    flexvert_applied: _Array
    mocap_pos: _Array
    mocap_quat: _Array
    userdata: _Array
    xpos: _Array
    xquat: _Array
    xmat: _Array
    xipos: _Array
    ximat: _Array
    xanchor: _Array
    xaxis: _Array
    geom_xpos: _Array
    geom_xmat: _Array
    site_xpos: _Array
    site_xmat: _Array
    cam_xpos: _Array
    cam_xmat: _Array
    light_xpos: _Array
    light_xdir: _Array
    subtree_com: _Array
    cdof: _Array
    cinert: _Array
    M: _Array
    qLD: _Array
    qLDiagInv: _Array
    ten_length: _Array
    ten_J: _Array
    actuator_length: _Array
    actuator_moment: _Array
    cvel: _Array
    cdof_dot: _Array
    ten_velocity: _Array
    actuator_velocity: _Array
    subtree_linvel: _Array
    subtree_angmom: _Array
    qfrc_bias: _Array
    qfrc_spring: _Array
    qfrc_damper: _Array
    qfrc_gravcomp: _Array
    qfrc_fluid: _Array
    qfrc_sheet: _Array
    qfrc_adhesion: _Array
    qfrc_passive: _Array
    act_dot: _Array
    actuator_force: _Array
    qfrc_actuator: _Array
    qfrc_smooth: _Array
    qfrc_constraint: _Array
    qacc_smooth: _Array
    qacc: _Array
    cacc: _Array
    cfrc_int: _Array
    cfrc_ext: _Array
    energy: _Array
    sensordata: _Array
    device: str
    def __init__(self, model: Model, n: int, threads: int | None = ..., errors: str = ..., device: str = ...) -> None: ...
    def __len__(self) -> int: ...
    def step(self, nstep: int = ..., ctrl: npt.ArrayLike | None = ...) -> None: ...
    def rollout(self, control: npt.ArrayLike | None = ..., *, nstep: int | None = ...,
                failed: npt.ArrayLike | None = ...) -> tuple[_Array, _Array]: ...
    def forward(self, worlds: npt.ArrayLike | None = ...) -> None: ...
    def reset(self, worlds: npt.ArrayLike | None = ..., key: str | int | None = ..., state: npt.ArrayLike | None = ...) -> None: ...
    @property
    def nstate(self) -> int: ...
    @property
    def state(self) -> _Array: ...
    @property
    def failures(self) -> dict[int, tuple[str, str]]: ...
    @property
    def certificate(self) -> _Array: ...
    @property
    def solver_niter(self) -> _IntArray: ...
    @property
    def converged(self) -> npt.NDArray[np.bool_]: ...
    @property
    def lanes(self) -> int: ...
    @property
    def lane_share(self) -> float: ...
    def parameter(self, name: str) -> _Array: ...
    def world(self, i: int) -> Data: ...
    def put(self, i: int, data: Data) -> None: ...
    @property
    def device_info(self) -> dict[str, int]: ...
    def hashes(self) -> list[int]: ...

def rollout(model: Model, initial_state: npt.ArrayLike | Data, control: npt.ArrayLike | None = ..., *, nstep: int | None = ...,
            threads: int | None = ..., errors: str = ...) -> tuple[_Array, _Array]: ...

class Recorder:
    def __init__(self, path: _Path, data: Data, fields: str | Iterable[str] | None = ...) -> None: ...
    def frame(self) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Recorder: ...
    def __exit__(self, *exception: object) -> None: ...

def forward(model: Model, data: Data) -> None: ...
def step(model: Model, data: Data, nstep: int = ...) -> None: ...
def reset(model: Model, data: Data, key: str | int | None = ...) -> None: ...
def mass_matrix(model: Model, data: Data) -> _Array: ...
class Element:
    spec: Spec
    tag: str
    name: str | None
    parent: Element | None
    children: list[Element]
    attributes: dict[str, str]
    def __getattr__(self, name: str) -> Any: ...
    def __setattr__(self, name: str, value: Any) -> None: ...
    def get(self, attribute: str) -> str | None: ...
    def set(self, **attributes: Any) -> Element: ...
    def find_all(self, tag: str) -> list[Element]: ...
    def find_child(self, name: str, tag: str = ...) -> Element | None: ...
    def add(self, tag: str, **attributes: Any) -> Element: ...
    def remove(self) -> None: ...
    def add_body(self, **attributes: Any) -> Element: ...
    def add_camera(self, **attributes: Any) -> Element: ...
    def add_frame(self, **attributes: Any) -> Element: ...
    def add_freejoint(self, **attributes: Any) -> Element: ...
    def add_geom(self, **attributes: Any) -> Element: ...
    def add_joint(self, **attributes: Any) -> Element: ...
    def add_light(self, **attributes: Any) -> Element: ...
    def add_site(self, **attributes: Any) -> Element: ...

class Spec:
    root: Element
    worldbody: Element
    option: Element
    compiler: Element
    modelname: str
    warnings: list[str]
    actuators: list[Element]
    sensors: list[Element]
    tendons: list[Element]
    equalities: list[Element]
    def __init__(self) -> None: ...
    @classmethod
    def from_file(cls, filename: _Path, assets: dict[str, bytes] | None = ..., allow_outside: bool = ...) -> Spec: ...
    @classmethod
    def from_string(cls, xml: str | bytes, assets: dict[str, bytes] | None = ...) -> Spec: ...
    def section(self, tag: str) -> Element: ...
    def find(self, tag: str, name: str) -> Element | None: ...
    def actuator(self, name: str) -> Element | None: ...
    def sensor(self, name: str) -> Element | None: ...
    def tendon(self, name: str) -> Element | None: ...
    def equality(self, name: str) -> Element | None: ...
    def add_actuator(self, kind: str = ..., **attributes: Any) -> Element: ...
    def add_sensor(self, kind: str, **attributes: Any) -> Element: ...
    def add_tendon(self, kind: str = ..., **attributes: Any) -> Element: ...
    def add_equality(self, kind: str, **attributes: Any) -> Element: ...
    def add_default(self, name: str, parent: Element | None = ...) -> Element: ...
    def find_default(self, name: str) -> Element | None: ...
    def delete(self, element: Element) -> None: ...
    def attach(self, child: Spec, prefix: str = ..., suffix: str = ..., frame: Element | None = ..., site: Element | None = ...,
               pos: npt.ArrayLike | None = ..., quat: npt.ArrayLike | None = ...) -> Element: ...
    def compile(self) -> Model: ...
    def to_xml(self, plain: bool = ...) -> str: ...
    def to_file(self, filename: _Path, plain: bool = ...) -> None: ...
    def copy(self) -> Spec: ...
    bodies: list[Element]
    def body(self, name: str) -> Element | None: ...
    cameras: list[Element]
    def camera(self, name: str) -> Element | None: ...
    lights: list[Element]
    def light(self, name: str) -> Element | None: ...
    geoms: list[Element]
    def geom(self, name: str) -> Element | None: ...
    sites: list[Element]
    def site(self, name: str) -> Element | None: ...
    joints: list[Element]
    def joint(self, name: str) -> Element | None: ...
    frames: list[Element]
    meshes: list[Element]
    def mesh(self, name: str) -> Element | None: ...
    def add_mesh(self, **attributes: Any) -> Element: ...
    materials: list[Element]
    def material(self, name: str) -> Element | None: ...
    def add_material(self, **attributes: Any) -> Element: ...
    textures: list[Element]
    def texture(self, name: str) -> Element | None: ...
    def add_texture(self, **attributes: Any) -> Element: ...
    hfields: list[Element]
    def hfield(self, name: str) -> Element | None: ...
    def add_hfield(self, **attributes: Any) -> Element: ...
    keys: list[Element]
    def key(self, name: str) -> Element | None: ...
    def add_key(self, **attributes: Any) -> Element: ...
    pairs: list[Element]
    def pair(self, name: str) -> Element | None: ...
    def add_pair(self, **attributes: Any) -> Element: ...
    excludes: list[Element]
    def exclude(self, name: str) -> Element | None: ...
    def add_exclude(self, **attributes: Any) -> Element: ...
    numerics: list[Element]
    def numeric(self, name: str) -> Element | None: ...
    def add_numeric(self, **attributes: Any) -> Element: ...

def jac_body(model: Model, data: Data, body: str | int) -> tuple[_Array, _Array]: ...
def jac_body_com(model: Model, data: Data, body: str | int) -> tuple[_Array, _Array]: ...
def jac_geom(model: Model, data: Data, geom: str | int) -> tuple[_Array, _Array]: ...
def jac_site(model: Model, data: Data, site: str | int) -> tuple[_Array, _Array]: ...
def jac_point(model: Model, data: Data, point: npt.ArrayLike, body: str | int) -> tuple[_Array, _Array]: ...
def jac_subtree_com(model: Model, data: Data, body: str | int) -> _Array: ...
def object_velocity(model: Model, data: Data, kind: str | int, which: str | int, local: bool = ...) -> _Array: ...
def apply_ft(model: Model, data: Data, force: npt.ArrayLike | None, torque: npt.ArrayLike | None, point: npt.ArrayLike,
             body: str | int, qfrc: _Array | None = ...) -> _Array: ...
def integrate_pos(model: Model, qpos: _Array, qvel: npt.ArrayLike, dt: float) -> None: ...
def differentiate_pos(model: Model, qpos1: npt.ArrayLike, qpos2: npt.ArrayLike, dt: float = ...) -> _Array: ...
def step1(model: Model, data: Data) -> None: ...
def step2(model: Model, data: Data) -> None: ...
def stage(model: Model, data: Data, name: str) -> None: ...
def inverse(model: Model, data: Data, qacc: npt.ArrayLike | None = ...) -> _Array: ...
class Linear(NamedTuple):
    A: _Array
    B: _Array
    C: _Array
    D: _Array

def linearize(model: Model, data: Data, eps: float = ..., centered: bool = ..., sensors: bool = ...) -> Linear: ...
def state_size(model: Model, spec: int = ...) -> int: ...
def get_state(model: Model, data: Data, spec: int = ...) -> _Array: ...
def set_state(model: Model, data: Data, state: npt.ArrayLike, spec: int = ...) -> None: ...
def set_keyframe(model: Model, data: Data, key: str | int) -> None: ...
def name2id(model: Model, kind: str | int, name: str) -> int: ...
def id2name(model: Model, kind: str | int, id: int) -> str | None: ...
class Stage(NamedTuple):
    name: str
    parent: int
    depth: int
    count: int
    nanoseconds: int
    iterations: int

class Ray(NamedTuple):
    distance: float
    geom: int
    normal: _Array

class Distance(NamedTuple):
    distance: float
    fromto: _Array

def ray(model: Model, data: Data, pnt: Sequence[float] | _Array, vec: Sequence[float] | _Array,
        groups: Iterable[int] | None = ..., fixed: bool = ..., bodyexclude: int = ...) -> Ray: ...
def geom_distance(model: Model, data: Data, geom1: str | int, geom2: str | int, distmax: float = ...) -> Distance: ...
class Reach(NamedTuple):
    qpos: _Array
    end: str
    position: float
    angle: float
    iterations: int
    restarts: int
    @property
    def reached(self) -> bool: ...

def ik_solve(model: Model, data: Data, site: str | int | None = ..., body: str | int | None = ...,
             pos: Sequence[float] | _Array | None = ..., quat: Sequence[float] | _Array | None = ...,
             qpos: Sequence[float] | _Array | None = ..., joints: Iterable[str | int] | None = ..., max_iterations: int = ...,
             restarts: int = ..., tolerance: float = ..., damping: float = ..., radius: float = ...) -> Reach: ...
def check(path: _Path, allow_outside: bool | _Path = ...) -> list[dict[str, Any]]: ...
def scene_path(name: str) -> str: ...
def picture(model: Model, data: Data, width: int = ..., height: int = ..., camera: str | int | None = ...,
            **options: Any) -> npt.NDArray[np.uint8]: ...
def render(model: Model, data: Data, width: int = ..., height: int = ..., camera: str | int | None = ...,
           **options: Any) -> npt.NDArray[np.uint8]: ...
def render_video(path: _Path, frames: Iterable[npt.NDArray[np.uint8]], fps: float = ...) -> int: ...

class Marker(NamedTuple):
    type: str
    pos: Sequence[float] | _Array
    size: Sequence[float] | _Array = ...
    rgba: Sequence[float] | _Array = ...
    mat: Any = ...
    label: str = ...
    @classmethod
    def line(cls, start: Sequence[float] | _Array, end: Sequence[float] | _Array, radius: float = ...,
             rgba: Sequence[float] | _Array = ..., label: str = ..., arrow: bool = ...) -> Marker: ...

class Renderer:
    def __init__(self, model: Model, height: int = ..., width: int = ..., max_geom: int | None = ..., backend: str = ..., *, threads: int | None = ...) -> None: ...
    @property
    def model(self) -> Model: ...
    @property
    def height(self) -> int: ...
    @property
    def width(self) -> int: ...
    def update_scene(self, data: Data, camera: Any = ..., scene_option: Any = ..., *, lookat: Sequence[float] | None = ...,
                     distance: float = ..., azimuth: float | None = ..., elevation: float | None = ..., groups: Iterable[int] = ...,
                     sites: bool = ..., contacts: bool = ..., force_scale: float = ..., stress: bool = ..., stress_end: float = ...,
                     markers: Sequence[Marker] = ...) -> None: ...
    def enable_depth_rendering(self) -> None: ...
    def disable_depth_rendering(self) -> None: ...
    def enable_segmentation_rendering(self) -> None: ...
    def disable_segmentation_rendering(self) -> None: ...
    def render(self, *, out: npt.NDArray[Any] | None = ...) -> npt.NDArray[Any]: ...
    def close(self) -> None: ...
    def __enter__(self) -> Renderer: ...
    def __exit__(self, *_: object) -> None: ...

class Row(NamedTuple):
    kind: str
    dim: int
    mu: tuple[float, ...] = ...
    lo: float = ...
    hi: float = ...

def cone(dim: int = ..., mu: npt.ArrayLike = ...) -> Row: ...
def interval(lo: float, hi: float, dim: int = ...) -> Row: ...
def huber(bound: float, dim: int = ...) -> Row: ...
def quadratic(dim: int = ...) -> Row: ...

_Matrix = Any  # dense array, SciPy matrix, or (data, indices, indptr)

class Problem:
    n: int
    nrow: int
    m: int
    rows: list[Row]
    R: _Array
    vhat: _Array
    vstar: _Array | None
    q: _Array | None
    A: tuple[_Array, _IntArray, _IntArray] | None
    J: tuple[_Array, _IntArray, _IntArray] | None
    W: tuple[_Array, _IntArray, _IntArray] | None
    def __init__(self, rows: Iterable[Row | dict[str, Any]], *, A: _Matrix = ..., vstar: npt.ArrayLike | None = ...,
                 J: _Matrix = ..., W: _Matrix = ..., q: npt.ArrayLike | None = ..., R: npt.ArrayLike | None = ...,
                 vhat: npt.ArrayLike | None = ..., h: float = ...) -> None: ...
    @classmethod
    def from_file(cls, path: _Path) -> Problem: ...
    def save(self, path: _Path) -> None: ...
    def export_fclib(self, path: _Path) -> None: ...
    def islands(self) -> tuple[int, _IntArray, _IntArray]: ...
    def vjp(self, v: npt.ArrayLike, w: npt.ArrayLike, workspace: Workspace | None = ...) -> dict[str, _Array]: ...

class Workspace:
    def __init__(self, threads: int = ...) -> None: ...

class Certificate(NamedTuple):
    error_bar: float
    relative: float
    gap: float
    momentum: float
    natural: float
    cone: float
    dissipation: float
    penetration: float
    desaxce: float
    full_raw: float
    full_scaled: float
    joints: float
    headline: float
    ndetermined: int
    nregularised: int

class Solution:
    v: _Array | None
    gamma: _Array
    info: dict[str, Any]
    certificate: Certificate
    history: _Array
    @property
    def converged(self) -> bool: ...

def solve(problem: Problem, solver: str = ..., coulomb: str = ..., tol: float | None = ..., *,
          guess_v: npt.ArrayLike | None = ..., guess_gamma: npt.ArrayLike | None = ..., workspace: Workspace | None = ...,
          linear: str = ..., preconditioner: str = ..., full_error: float = ..., atol: float = ..., rtol: float = ..., adaptive_atol: bool = ...,
          max_iterations: int = ..., max_newton: int = ..., max_pcg: int = ..., max_line_search: int = ..., max_work: float = ...,
          pcg_tol: float = ..., ls_tol: float = ..., max_step: float = ..., gradient_limit: float = ..., relaxation: float = ...,
          finish: bool = ..., history: bool = ...) -> Solution: ...
def certify(problem: Problem, v: npt.ArrayLike | None, gamma: npt.ArrayLike, coulomb: str = ..., rank: bool = ...,
            share: bool = ...) -> Any: ...
