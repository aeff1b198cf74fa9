# SPDX-License-Identifier: Apache-2.0
"""Enumerations and constants with MuJoCo's names and numbers."""
import enum as _enum

from stiction import _core

_OBJECTS = {
    "UNKNOWN": 0, "BODY": 1, "XBODY": 2, "JOINT": 3, "DOF": 4, "GEOM": 5, "SITE": 6, "CAMERA": 7, "LIGHT": 8, "FLEX": 9, "MESH": 10,
    "SKIN": 11, "HFIELD": 12, "TEXTURE": 13, "MATERIAL": 14, "PAIR": 15, "EXCLUDE": 16, "EQUALITY": 17, "TENDON": 18, "ACTUATOR": 19,
    "SENSOR": 20, "NUMERIC": 21, "TEXT": 22, "TUPLE": 23, "KEY": 24, "PLUGIN": 25}
_MARKERS = {"ARROW": 100, "ARROW1": 101, "ARROW2": 102, "LINE": 103, "LINEBOX": 104, "LABEL": 107, "TRIANGLE": 108, "NONE": 1001}


def _mirror(name, prefix, members, base=_enum.IntEnum):
    return base(name, {prefix + member: value for member, value in members.items()}, module=__name__)


def _listed(name, prefix, words, last=""):
    """Members that count from 0; last: the name of their number."""
    members = {prefix + word: i for i, word in enumerate(words.split())}
    return _enum.IntEnum(name, {**members, **({last: len(members)} if last else {})}, module=__name__)


mjtObj = _mirror("mjtObj", "mjOBJ_", _OBJECTS)
mjtJoint = _mirror("mjtJoint", "mjJNT_", _core.ENUMS["Joint"])
mjtGeom = _mirror("mjtGeom", "mjGEOM_", {**_core.ENUMS["Geom"], **_MARKERS})
mjtTrn = _mirror("mjtTrn", "mjTRN_", _core.ENUMS["Transmission"])
mjtIntegrator = _mirror("mjtIntegrator", "mjINT_", _core.ENUMS["Integrator"])
mjtDisableBit = _mirror("mjtDisableBit", "mjDSBL_", _core.ENUMS["Disable"], _enum.IntFlag)
mjtEnableBit = _mirror("mjtEnableBit", "mjENBL_", _core.ENUMS["Enable"], _enum.IntFlag)
mjtState = _mirror("mjtState", "mjSTATE_", _core.ENUMS["State"], _enum.IntFlag)
mjtEq = _mirror("mjtEq", "mjEQ_", _core.ENUMS["Equality"])          # values are those of model.eq_type here
mjtSensor = _mirror("mjtSensor", "mjSENS_", _core.ENUMS["Sensor"])  # and of model.sensor_type

mjtCamera = _listed("mjtCamera", "mjCAMERA_", "FREE TRACKING FIXED USER")
mjtVisFlag = _listed("mjtVisFlag", "mjVIS_", """CONVEXHULL TEXTURE JOINT CAMERA ACTUATOR ACTIVATION LIGHT TENDON RANGEFINDER CONSTRAINT INERTIA
    SCLINERTIA PERTFORCE PERTOBJ CONTACTPOINT ISLAND CONTACTFORCE CONTACTSPLIT TRANSPARENT AUTOCONNECT COM SELECT STATIC SKIN FLEXVERT FLEXEDGE
    FLEXFACE FLEXSKIN BODYBVH MESHBVH SDFITER""", "mjNVISFLAG")
mjtRndFlag = _listed("mjtRndFlag", "mjRND_", """SHADOW WIREFRAME REFLECTION ADDITIVE SKYBOX FOG HAZE DEPTH SEGMENT IDCOLOR CULL_FACE
    POST_PROCESSING""", "mjNRNDFLAG")
mjtGridPos = _listed("mjtGridPos", "mjGRID_", "TOPLEFT TOPRIGHT BOTTOMLEFT BOTTOMRIGHT TOP BOTTOM LEFT RIGHT")
mjtFramebuffer = _listed("mjtFramebuffer", "mjFB_", "WINDOW OFFSCREEN")
mjtMouse = _listed("mjtMouse", "mjMOUSE_", "NONE ROTATE_V ROTATE_H MOVE_V MOVE_H ZOOM MOVE_V_REL MOVE_H_REL TURN_V TURN_H")
mjtFrame = _listed("mjtFrame", "mjFRAME_", "NONE BODY GEOM SITE CAMERA LIGHT CONTACT WORLD", "mjNFRAME")
mjtLabel = _listed("mjtLabel", "mjLABEL_", """NONE BODY JOINT GEOM SITE CAMERA LIGHT TENDON ACTUATOR CONSTRAINT FLEX SKIN SELECTION SELPNT
    CONTACTPOINT CONTACTFORCE ISLAND""", "mjNLABEL")
mjtStereo = _listed("mjtStereo", "mjSTEREO_", "NONE QUADBUFFERED SIDEBYSIDE")
mjtFont = _listed("mjtFont", "mjFONT_", "NORMAL SHADOW BIG")
mjtWarning = _listed("mjtWarning", "mjWARN_", "INERTIA CONTACTFULL CNSTRFULL BADQPOS BADQVEL BADQACC BADCTRL", "mjNWARNING")
mjtCone = _listed("mjtCone", "mjCONE_", "PYRAMIDAL ELLIPTIC")
mjtSolver = _listed("mjtSolver", "mjSOL_", "PGS CG NEWTON")
mjtJacobian = _listed("mjtJacobian", "mjJAC_", "DENSE SPARSE AUTO")
mjtTexture = _listed("mjtTexture", "mjTEXTURE_", "2D CUBE SKYBOX")
mjtTextureRole = _listed("mjtTextureRole", "mjTEXROLE_", "USER RGB OCCLUSION ROUGHNESS METALLIC NORMAL OPACITY EMISSIVE RGBA ORM", "mjNTEXROLE")
mjtBuiltin = _listed("mjtBuiltin", "mjBUILTIN_", "NONE GRADIENT CHECKER FLAT")
mjtMark = _listed("mjtMark", "mjMARK_", "NONE EDGE CROSS RANDOM")
mjtDyn = _listed("mjtDyn", "mjDYN_", "NONE INTEGRATOR FILTER FILTEREXACT MUSCLE DCMOTOR PID USER")
mjtGain = _listed("mjtGain", "mjGAIN_", "FIXED AFFINE MUSCLE DCMOTOR SO3 PID USER")
mjtBias = _listed("mjtBias", "mjBIAS_", "NONE AFFINE MUSCLE DCMOTOR SO3 USER")
mjtStage = _listed("mjtStage", "mjSTAGE_", "NONE POS VEL ACC")
mjtConstraint = _listed("mjtConstraint", "mjCNSTR_", """EQUALITY FRICTION_DOF FRICTION_TENDON LIMIT_JOINT LIMIT_TENDON CONTACT_FRICTIONLESS
    CONTACT_PYRAMIDAL CONTACT_ELLIPTIC""")
mjtConstraintState = _listed("mjtConstraintState", "mjCNSTRSTATE_", "SATISFIED QUADRATIC LINEARNEG LINEARPOS CONE")
mjtLightType = _listed("mjtLightType", "mjLIGHT_", "SPOT DIRECTIONAL POINT IMAGE")
mjtProjection = _listed("mjtProjection", "mjPROJ_", "PERSPECTIVE ORTHOGRAPHIC")
mjtOrientation = _listed("mjtOrientation", "mjORIENTATION_", "QUAT AXISANGLE XYAXES ZAXIS EULER")
mjtGeomInertia = _listed("mjtGeomInertia", "mjINERTIA_", "VOLUME SHELL")
mjtMeshInertia = _listed("mjtMeshInertia", "mjMESH_INERTIA_", "CONVEX EXACT LEGACY SHELL")
mjtMeshBuiltin = _listed("mjtMeshBuiltin", "mjMESH_BUILTIN_", """NONE SPHERE HEMISPHERE CONE SUPERSPHERE SUPERTORUS WEDGE PLATE GRID BOX CYLINDER
    ELLIPSOID SQUARE DISC""")
mjtInertiaFromGeom = _listed("mjtInertiaFromGeom", "mjINERTIAFROMGEOM_", "FALSE TRUE AUTO")
mjtAlignFree = _listed("mjtAlignFree", "mjALIGNFREE_", "FALSE TRUE AUTO")
mjtColorSpace = _listed("mjtColorSpace", "mjCOLORSPACE_", "AUTO LINEAR SRGB")
mjtFlexSelf = _listed("mjtFlexSelf", "mjFLEXSELF_", "NONE NARROW BVH SAP AUTO")
mjtLRMode = _listed("mjtLRMode", "mjLRMODE_", "NONE MUSCLE MUSCLEUSER ALL")
mjtDataType = _listed("mjtDataType", "mjDATATYPE_", "REAL POSITIVE AXIS QUATERNION")
mjtConDataField = _listed("mjtConDataField", "mjCONDATA_", "FOUND FORCE TORQUE DIST POS NORMAL TANGENT LINVEL ANGVEL", "mjNCONDATA")
mjtRayDataField = _listed("mjtRayDataField", "mjRAYDATA_", "DIST DIR ORIGIN POINT NORMAL DEPTH", "mjNRAYDATA")
mjtSleepPolicy = _listed("mjtSleepPolicy", "mjSLEEP_", "AUTO AUTO_NEVER AUTO_ALLOWED NEVER ALLOWED INIT")
mjtSleepState = _mirror("mjtSleepState", "mjS_", {"STATIC": -1, "ASLEEP": 0, "AWAKE": 1})
mjtTendon = _listed("mjtTendon", "mjTENDON_", "FIXED SPATIAL")
mjtTimer = _listed("mjtTimer", "mjTIMER_", """STEP FORWARD INVERSE POSITION VELOCITY ACTUATION CONSTRAINT ADVANCE POS_KINEMATICS POS_INERTIA
    POS_COLLISION POS_MAKE POS_PROJECT COL_BROAD COL_NARROW""", "mjNTIMER")
mjtDepthMap = _listed("mjtDepthMap", "mjDEPTH_", "ZERONEAR ZEROFAR")
mjtSameFrame = _listed("mjtSameFrame", "mjSAMEFRAME_", "NONE BODY INERTIA BODYROT INERTIAROT")
mjtLimited = _listed("mjtLimited", "mjLIMITED_", "FALSE TRUE AUTO")
mjtWrap = _listed("mjtWrap", "mjWRAP_", "NONE JOINT PULLEY SITE SPHERE CYLINDER")
mjtCamLight = _listed("mjtCamLight", "mjCAMLIGHT_", "FIXED TRACK TRACKCOM TARGETBODY TARGETBODYCOM")
mjtFontScale = _enum.IntEnum("mjtFontScale", {f"mjFONTSCALE_{n}": n for n in range(50, 301, 50) if n != 0}, module=__name__)
mjtCatBit = _mirror("mjtCatBit", "mjCAT_", {"STATIC": 1, "DYNAMIC": 2, "DECOR": 4, "ALL": 7})
mjtPertBit = _mirror("mjtPertBit", "mjPERT_", {"TRANSLATE": 1, "ROTATE": 2})

mjMINVAL, mjMAXVAL, mjPI, mjMINMU, mjMINIMP, mjMAXIMP = 1e-15, 1e10, 3.141592653589793, 1e-5, 1e-4, 0.9999
mjNGROUP, mjMAXLINEPNT, mjMAXLINE, mjNREF, mjNIMP, mjNEQDATA, mjVERSION_HEADER = 6, 1001, 100, 2, 5, 12, 4000000
mjNDYN, mjNGAIN, mjNBIAS, mjMAXLIGHT = 10, 10, 10, 100


def _strings(members):
    """Names of flags for people, whether they are on by default, and no key."""
    return tuple((name.split("_", 1)[1].replace("_", " ").title(), "0", "") for name in members if not name.startswith("mjN"))


mjVISSTRING, mjRNDSTRING = _strings(mjtVisFlag.__members__), _strings(mjtRndFlag.__members__)
mjFRAMESTRING = tuple(name for name, _, _ in _strings(mjtFrame.__members__))
mjLABELSTRING = tuple(name for name, _, _ in _strings(mjtLabel.__members__))
mjDISABLESTRING = tuple(name for name, _, _ in _strings(mjtDisableBit.__members__))
mjENABLESTRING = tuple(name for name, _, _ in _strings(mjtEnableBit.__members__))
mjTIMERSTRING = ("step", "forward")
