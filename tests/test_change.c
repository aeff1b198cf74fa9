/* SPDX-License-Identifier: Apache-2.0 */
/* Models that change: every writable field, written into a finished model, gives the model that is compiled with that value, all
   derived fields and trajectories to the bit; impossible values are refused and leave no trace. */
#include "state_scenes.h"

/* ---- scenes, and words of them that are replaced ------------------------------------------------------------ */

/* clang-format off */
static const char rigid[] =
"<mujoco xmlns:sti='urn:stiction'><compiler angle='radian'/>"
"<option timestep='0.002' density='1.2' viscosity='0.001'/><custom><numeric name='n' data='1 2'/></custom>"
"<asset><material name='a' rgba='1 0 0 1' emission='0.1' specular='0.2' shininess='0.3' reflectance='0.4' texrepeat='2 2' texture='t'/>"
"<material name='b'/><texture name='t' type='2d' builtin='checker' rgb1='.1 .1 .1' rgb2='.2 .2 .2'/>"
"<hfield name='h' nrow='2' ncol='2' size='2 2 1 1' elevation='0 1 0 0.5'/></asset>"
"<worldbody><light name='l' pos='0 0 3' dir='0 0 -1' ambient='.1 .1 .1' diffuse='.5 .5 .5' specular='.2 .2 .2' directional='false' castshadow='true' active='true'/>"
"<camera name='c' pos='0 -2 1' fovy='40' mode='trackcom' user='15'/><geom name='floor' type='plane' size='5 5 .1'/>"
"<geom name='hill' type='hfield' hfield='h' pos='20 0 0'/><body name='hill ball' pos='20.3 0.2 1.2'><freejoint/><geom name='hb' size='.1'/></body>"
"<site name='anchor' pos='0 0 2'/>"
"<body name='arm' pos='0 0 1' gravcomp='0.1' sti:contact='force'><inertial pos='0 0 -.2' mass='2' diaginertia='.1 .1 .05'/>"
"<joint name='j1' axis='0 1 0' damping='.3' armature='.02' frictionloss='.05' stiffness='3' springyield='.3' springref='.1' range='-1 1' limited='true' margin='.01' ref='0'"
" solreflimit='.03 1.1' solimplimit='.8 .9 .01 .5 2' solreffriction='.04 1' solimpfriction='.7 .8 .01 .5 2' actuatorfrcrange='-9 9' group='1' actuatorgravcomp='false'/>"
"<geom name='upper' type='capsule' size='.05 .2' pos='0 0 -.2' rgba='1 0 0 1' material='a' group='1' fluidshape='ellipsoid' fluidcoef='.5 .25 1.5 1 1' contype='0' conaffinity='0'/>"
"<site name='s1' type='box' size='.01 .02 .03' pos='.1 0 -.1' rgba='0 1 0 1' group='2' material='a'/>"
"<body name='fore' pos='0 0 -.4'><inertial pos='0 0 -.1' mass='1' diaginertia='.05 .05 .02'/>"
"<joint name='j2' axis='0 1 0' pos='0 0 0' damping='.1'/><geom name='tip' type='sphere' size='.06' pos='0 0 -.3'/>"
"<site name='s2' pos='.05 0 -.3'/></body></body>"
"<body name='box' pos='1 0 .11'><inertial pos='0 0 0' mass='3' diaginertia='.02 .02 .02'/><freejoint/>"
"<geom name='cube' type='box' size='.1 .1 .1' friction='.6 .01 .001' solref='.03 .9' solimp='.8 .9 .01 .5 2' solmix='2' margin='.001' gap='0' priority='1' condim='3'/></body>"
"<body name='egg' user='11' pos='1.05 .02 .33'><inertial pos='0 0 0' mass='1' diaginertia='.01 .01 .01'/><freejoint/>"
"<geom name='egg' type='ellipsoid' size='.1 .11 .12' sti:stiffness='30000' sti:dissipation='.1'/></body>"
"<body name='pad' pos='3 0 .19'><inertial pos='0 0 0' mass='1' diaginertia='.01 .01 .01'/><freejoint/>"
"<geom name='pad' type='sphere' size='.2' sti:hydroelastic_stiffness='1e5' sti:edge='.1' sti:dissipation='.1'/></body>"
"<body name='p1' pos='5 0 .09'><freejoint/><geom name='p1' size='.1' contype='0' conaffinity='0' user='13'/></body>"
"<body name='hand' mocap='true' pos='0 4 1'><geom size='.1' contype='0' conaffinity='0'/></body>"
"<body name='link' pos='7 0 1'><joint name='j3' type='hinge' axis='0 1 0' user='12'/><geom size='.1' pos='0 0 -.3'/><site name='s3' pos='0 0 -.3' user='14'/></body>"
"<body name='link2' pos='7 0 .4'><freejoint/><geom size='.1' pos='0 0 -.3'/><site name='s4'/></body>"
"</worldbody>"
"<contact><pair geom1='floor' geom2='p1' condim='3' friction='.5 .5 .01 .001 .001' solref='.03 1' solimp='.8 .9 .01 .5 2' margin='.001' gap='0' solreffriction='.02 1'/></contact>"
"<equality><connect name='con' body1='link' body2='link2' anchor='0 0 -.6' solref='.03 1' solimp='.8 .9 .01 .5 2' active='true' sti:closing='3'/>"
"<joint name='eqj' joint1='j3' polycoef='.1 0 0 0 0' active='false' sti:stiffness='100'/></equality>"
"<tendon><spatial name='rope' user='16' stiffness='5' damping='.2' range='0 3' limited='true' margin='.01' frictionloss='.1' armature='.01' springlength='.5' springyield='.2' width='.01' rgba='1 1 0 1'"
" group='1' material='a' solreflimit='.03 1' solimplimit='.8 .9 .01 .5 2' solreffriction='.03 1' solimpfriction='.8 .9 .01 .5 2' actuatorfrcrange='-5 5'>"
"<site site='anchor'/><site site='s1'/><site site='s2'/></spatial>"
"<sti:sheet site1='anchor' site2='s1' site3='s2' young='200' poisson='.2' thickness='.01' damping='.01'/>"
"<sti:fold site1='anchor' site2='s1' site3='s2' site4='s3' young='3e3' poisson='.2' thickness='.02' damping='.02'/>"
"<sti:bend site1='anchor' site2='s1' site3='s2' young='3e3' radius='.02' damping='.03'/></tendon>"
"<actuator><general name='a1' joint='j1' gear='2' gainprm='3 0 0' biastype='affine' biasprm='.1 -3 -.2' ctrlrange='-1 1' forcerange='-6 6' ctrllimited='true' forcelimited='true' group='1'"
" dyntype='filterexact' dynprm='.1' actrange='-2 2' actlimited='true' actearly='false' lengthrange='0 2'/>"
"<general name='a2' user='17' tendon='rope' gainprm='1' armature='.03' damping='.15' nsample='3' delay='.004'/><general name='a3' cranksite='s1' slidersite='anchor' cranklength='2.5'/>"
"<plugin joint='j1' plugin='mujoco.pid'><config key='kp' value='2'/></plugin></actuator>"
"<sensor><touch site='s2' cutoff='5' noise='.1'/><framepos objtype='site' objname='s1' nsample='4' delay='.002' interval='.004 -.001'/><force site='s1' user='18'/></sensor>"
"<keyframe><key time='1' ctrl='.1 .2 .3 0' qvel='.1 0 0 0 0 0 0 .1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0' act='.1' plastic='.05 .5 .6' mpos='0 4 1.1' mquat='1 0 0 0'"
" qpos='20.3 .2 1.2 1 0 0 0 .1 .1 1 0 .11 1 0 0 0 1.05 .02 .33 1 0 0 0 3 0 .19 1 0 0 0 5 0 .09 1 0 0 0 0 7 0 .4 1 0 0 0'/></keyframe>"
"</mujoco>";

static const char soft[] =
"<mujoco xmlns:sti='urn:stiction'><option timestep='.002'/><asset><material name='a'/><material name='b'/></asset><worldbody><geom type='plane' size='1 1 1' friction='.1'/>"
"<body pos='0 0 .085'><freejoint/><geom type='box' size='.03 .03 .02' mass='.2'/></body>"
"<sti:soft name='b' type='box' size='.03 .03 .03' pos='0 0 .03' edge='.02' young='5e4' poisson='.3' law='neohookean' friction='.5'"
" dissipation='.1' damping='.01' condim='3' priority='0' group='1' material='a' rgba='1 0 0 1' solmix='1'/></worldbody></mujoco>";
/* clang-format on */

typedef struct edit {
    const char *field; /* that is to differ */
    const char *from, *to;
} edit;

static const edit rigid_edits[] = {
    {"qpos0", "ref='0'", "ref='.2'"},
    {"qpos_spring", "springref='.1'", "springref='.4'"},
    {"body_pos", "<body name='fore' pos='0 0 -.4'", "<body name='fore' pos='.1 0 -.45'"},
    {"body_quat", "<body name='fore' pos", "<body name='fore' euler='.1 .2 .3' pos"},
    {"body_ipos", "<inertial pos='0 0 -.1'", "<inertial pos='.02 .01 -.1'"},
    {"body_iquat", "<inertial pos='0 0 -.1'", "<inertial euler='.3 .2 .1' pos='0 0 -.1'"},
    {"body_mass", "mass='3'", "mass='4.5'"},
    {"body_inertia", "diaginertia='.02 .02 .02'", "diaginertia='.03 .02 .04'"},
    {"body_gravcomp", "gravcomp='0.1'", "gravcomp='0.7'"},
    {"body_contactlook", "sti:contact='force'", "sti:contact='frame'"},
    {"jnt_group", "actuatorfrcrange='-9 9' group='1'", "actuatorfrcrange='-9 9' group='2'"},
    {"jnt_limited", "range='-1 1' limited='true'", "range='-1 1' limited='false'"},
    {"jnt_actfrclimited", "actuatorfrcrange='-9 9'", "actuatorfrcrange='-9 9' actuatorfrclimited='false'"},
    {"jnt_actgravcomp", "actuatorgravcomp='false'", "actuatorgravcomp='true'"},
    {"jnt_solref", "solreflimit='.03 1.1'", "solreflimit='.05 1.2'"},
    {"jnt_solimp", "solreflimit='.03 1.1' solimplimit='.8", "solreflimit='.03 1.1' solimplimit='.7"},
    {"jnt_pos", "<joint name='j2' axis='0 1 0' pos='0 0 0'", "<joint name='j2' axis='0 1 0' pos='0 .05 .1'"},
    {"jnt_axis", "<joint name='j2' axis='0 1 0'", "<joint name='j2' axis='1 2 0'"},
    {"jnt_stiffness", "stiffness='3'", "stiffness='9'"},
    {"jnt_stiffnesspoly", "stiffness='3'", "stiffness='3 1 2'"},
    {"jnt_range", "range='-1 1' limited", "range='-.5 .01' limited"},
    {"jnt_actfrcrange", "actuatorfrcrange='-9 9'", "actuatorfrcrange='-.1 .1'"},
    {"jnt_margin", "limited='true' margin='.01' ref", "limited='true' margin='1.2' ref"},
    {"dof_solref", "solreffriction='.04 1'", "solreffriction='.06 1'"},
    {"dof_solimp", "solimpfriction='.7 .8", "solimpfriction='.6 .7"},
    {"dof_frictionloss", "frictionloss='.05'", "frictionloss='1.5'"},
    {"dof_armature", "armature='.02'", "armature='.2'"},
    {"dof_damping", "damping='.3'", "damping='.9'"},
    {"dof_dampingpoly", "damping='.3'", "damping='.3 .2 .1'"},
    {"geom_contype", "<geom name='cube' type='box'", "<geom name='cube' type='box' contype='2'"},
    {"geom_conaffinity", "<geom name='cube' type='box'",
     "<geom name='cube' type='box' contype='0' conaffinity='0'"},
    {"geom_condim", "priority='1' condim='3'", "priority='1' condim='6'"},
    {"geom_matid", "rgba='1 0 0 1' material='a' group='1' fluid",
     "rgba='1 0 0 1' material='b' group='1' fluid"},
    {"geom_group", "group='1' fluidshape", "group='3' fluidshape"},
    {"geom_priority", "priority='1'", "priority='-1'"},
    {"geom_solmix", "solmix='2' margin='.001' gap='0' priority='1'",
     "solmix='5' margin='.001' gap='0' priority='1'"},
    {"geom_solref", "solref='.03 .9'", "solref='.05 .7'"},
    {"geom_solimp", "solref='.03 .9' solimp='.8", "solref='.03 .9' solimp='.6"},
    {"geom_softness", "sti:stiffness='30000'", "sti:stiffness='3000'"},
    {"geom_hydroelastic", "sti:hydroelastic_stiffness='1e5'", "sti:hydroelastic_stiffness='2e4'"},
    {"geom_hydroedge", "sti:edge='.1'", "sti:edge='.05'"},
    {"geom_size", "size='.1 .1 .1' friction", "size='.1 .12 .15' friction"},
    {"geom_pos", "size='.06' pos='0 0 -.3'", "size='.06' pos='.1 0 -.62'"},
    {"geom_quat", "<geom name='egg' type", "<geom name='egg' euler='.5 .4 .3' type"},
    {"geom_friction", "friction='.6 .01 .001'", "friction='.2 .01 .001'"},
    {"geom_surfacevel", "friction='.6 .01 .001'", "friction='.6 .01 .001' surfacevel='.1 .2 0 0 0 .3'"},
    {"geom_margin", "solmix='2' margin='.001'", "solmix='2' margin='.02'"},
    {"geom_gap", "margin='.001' gap='0' priority", "margin='.001' gap='.001' priority"},
    {"geom_adhesion", "pos='0 4 1'><geom size='.1'", "pos='0 4 1'><geom size='.1' adhesion='3'"},
    {"geom_fluid", "fluidcoef='.5 .25", "fluidcoef='.9 .65"},
    {"geom_rgba", "rgba='1 0 0 1' material='a' group='1' fluid",
     "rgba='1 0 1 1' material='a' group='1' fluid"},
    {"site_matid", "group='2' material='a'", "group='2' material='b'"},
    {"site_group", "group='2' material", "group='4' material"},
    {"site_size", "size='.01 .02 .03'", "size='.02 .02 .03'"},
    {"site_pos", "pos='.1 0 -.1'", "pos='.15 .02 -.1'"},
    {"site_quat", "<site name='s1' type", "<site name='s1' euler='.1 .2 .3' type"},
    {"site_rgba", "rgba='0 1 0 1'", "rgba='0 1 .5 1'"},
    {"cam_pos", "pos='0 -2 1'", "pos='0 -3 1'"},
    {"cam_quat", "<camera name='c' pos", "<camera name='c' euler='.1 .2 .3' pos"},
    {"cam_fovy", "fovy='40'", "fovy='50'"},
    {"light_directional", "directional='false'", "directional='true'"},
    {"light_castshadow", "castshadow='true'", "castshadow='false'"},
    {"light_active", "castshadow='true' active='true'", "castshadow='true' active='false'"},
    {"light_pos", "pos='0 0 3'", "pos='0 1 3'"},
    {"light_dir", "dir='0 0 -1'", "dir='0 .5 -1'"},
    {"light_ambient", "ambient='.1 .1 .1'", "ambient='.2 .1 .1'"},
    {"light_diffuse", "diffuse='.5 .5 .5'", "diffuse='.6 .5 .5'"},
    {"light_specular", "specular='.2 .2 .2'", "specular='.3 .2 .2'"},
    {"mat_rgba", "<material name='a' rgba='1 0 0 1'", "<material name='a' rgba='1 .5 0 1'"},
    {"mat_emission", "emission='0.1'", "emission='0.5'"},
    {"mat_specular", "specular='0.2'", "specular='0.5'"},
    {"mat_shininess", "shininess='0.3'", "shininess='0.5'"},
    {"mat_reflectance", "reflectance='0.4'", "reflectance='0.5'"},
    {"mat_texrepeat", "texrepeat='2 2'", "texrepeat='3 2'"},
    {"mat_texuniform", "texrepeat='2 2'", "texrepeat='2 2' texuniform='true'"},
    {"tex_rgb1", "rgb1='.1 .1 .1'", "rgb1='.3 .1 .1'"},
    {"tex_rgb2", "rgb2='.2 .2 .2'", "rgb2='.3 .2 .2'"},
    {"hfield_data", "elevation='0 1 0 0.5'", "elevation='0 1 0 1'"},
    {"tendon_matid", "group='1' material='a' solref", "group='1' material='b' solref"},
    {"tendon_group", "group='1' material='a' solref", "group='2' material='a' solref"},
    {"tendon_limited", "range='0 3' limited='true'", "range='0 3' limited='false'"},
    {"tendon_actfrclimited", "actuatorfrcrange='-5 5'", "actuatorfrcrange='-5 5' actuatorfrclimited='false'"},
    {"tendon_width", "width='.01'", "width='.02'"},
    {"tendon_solref_lim", "material='a' solreflimit='.03 1'", "material='a' solreflimit='.05 1'"},
    {"tendon_solimp_lim", "solreflimit='.03 1' solimplimit='.8", "solreflimit='.03 1' solimplimit='.6"},
    {"tendon_solref_fri", "solreffriction='.03 1'", "solreffriction='.05 1'"},
    {"tendon_solimp_fri", "solimpfriction='.8 .9", "solimpfriction='.6 .9"},
    {"tendon_range", "range='0 3'", "range='0 1.2'"},
    {"tendon_actfrcrange", "actuatorfrcrange='-5 5'", "actuatorfrcrange='-.1 .1'"},
    {"tendon_margin", "limited='true' margin='.01' frictionloss='.1'",
     "limited='true' margin='.5' frictionloss='.1'"},
    {"tendon_stiffness", "stiffness='5'", "stiffness='50'"},
    {"jnt_springyield", "springyield='.3'", "springyield='.01'"},
    {"tendon_springyield", "springyield='.2'", "springyield='.001'"},
    {"actuator_armature", "armature='.03' damping", "armature='.05' damping"},
    {"actuator_damping", "damping='.15' nsample", "damping='.7' nsample"},
    {"actuator_dampingpoly", "damping='.15' nsample", "damping='.15 .2 .3' nsample"},
    {"actuator_delay", "delay='.004'", "delay='.002'"},
    {"sensor_delay", "delay='.002'", "delay='.005'"},
    {"sensor_interval", "interval='.004 -.001'", "interval='.006 -.002'"},
    {"key_plastic", "plastic='.05 .5 .6'", "plastic='.1 .5 .6'"},
    {"sheet_matter", "young='200' poisson='.2' thickness='.01'", "young='300' poisson='.3' thickness='.02'"},
    {"fold_matter", "poisson='.2' thickness='.02' damping='.02'",
     "poisson='.1' thickness='.03' damping='.01'"},
    {"bend_matter", "young='3e3' radius='.02' damping='.03'", "young='4e3' radius='.03' damping='.01'"},
    {"tendon_stiffnesspoly", "stiffness='5'", "stiffness='5 1 2'"},
    {"tendon_damping", "damping='.2'", "damping='2'"},
    {"tendon_dampingpoly", "damping='.2'", "damping='.2 1 2'"},
    {"tendon_armature", "armature='.01'", "armature='.1'"},
    {"tendon_frictionloss", "frictionloss='.1'", "frictionloss='.9'"},
    {"tendon_lengthspring", "springlength='.5'", "springlength='.1 .7'"},
    {"tendon_rgba", "rgba='1 1 0 1'", "rgba='1 1 .5 1'"},
    {"actuator_group", "forcelimited='true' group='1'", "forcelimited='true' group='2'"},
    {"actuator_ctrllimited", "ctrllimited='true'", "ctrllimited='false'"},
    {"actuator_forcelimited", "forcelimited='true'", "forcelimited='false'"},
    {"actuator_actlimited", "actlimited='true'", "actlimited='false'"},
    {"actuator_actearly", "actearly='false'", "actearly='true'"},
    {"actuator_pidprm", "key='kp' value='2'", "key='kp' value='3'"},
    {"actuator_dynprm", "dynprm='.1'", "dynprm='.3'"},
    {"actuator_gainprm", "gainprm='3 0 0'", "gainprm='5 0 0'"},
    {"actuator_biasprm", "biasprm='.1 -3 -.2'", "biasprm='.3 -4 -.9'"},
    {"actuator_biasprm", "biasprm='.1 -3 -.2'", "biasprm='0 -3 -.5'"},
    {"actuator_ctrlrange", "ctrlrange='-1 1'", "ctrlrange='-.2 .2'"},
    {"actuator_forcerange", "forcerange='-6 6'", "forcerange='-.1 .1'"},
    {"actuator_actrange", "actrange='-2 2'", "actrange='-.001 .001'"},
    {"actuator_lengthrange", "lengthrange='0 2'", "lengthrange='0 1'"},
    {"actuator_gear", "gear='2'", "gear='-3'"},
    {"actuator_cranklength", "cranklength='2.5'", "cranklength='2.2'"},
    {"sensor_cutoff", "cutoff='5'", "cutoff='.001'"},
    {"sensor_noise", "noise='.1'", "noise='.2'"},
    {"eq_active0", "polycoef='.1 0 0 0 0' active='false'", "polycoef='.1 0 0 0 0' active='true'"},
    {"eq_solref", "anchor='0 0 -.6' solref='.03 1'", "anchor='0 0 -.6' solref='.1 1'"},
    {"eq_solimp", "anchor='0 0 -.6' solref='.03 1' solimp='.8", "anchor='0 0 -.6' solref='.03 1' solimp='.5"},
    {"eq_data", "anchor='0 0 -.6'", "anchor='.1 0 -.5'"},
    {"eq_softness", "sti:stiffness='100'", "sti:stiffness='200'"},
    {"eq_closing", "sti:closing='3'", "sti:closing='2'"},
    {"pair_dim", "geom2='p1' condim='3'", "geom2='p1' condim='1'"},
    {"pair_solref", "friction='.5 .5 .01 .001 .001' solref='.03 1'",
     "friction='.5 .5 .01 .001 .001' solref='.06 1'"},
    {"pair_solreffriction", "solreffriction='.02 1'", "solreffriction='.05 1'"},
    {"pair_solimp", ".001 .001' solref='.03 1' solimp='.8", ".001 .001' solref='.03 1' solimp='.5"},
    {"pair_margin", "margin='.001' gap='0' solreffriction", "margin='.02' gap='0' solreffriction"},
    {"pair_gap", "gap='0' solreffriction", "gap='.001' solreffriction"},
    {"pair_adhesion", "gap='0' solreffriction", "gap='0' adhesion='3' solreffriction"},
    {"pair_friction", "friction='.5 .5 .01", "friction='.1 .1 .01"},
    {"pair_softness", "geom2='p1' condim", "geom2='p1' sti:stiffness='5000' condim"},
    {"key_time", "<key time='1'", "<key time='2'"},
    {"key_qpos", "qpos='20.3 .2 1.2", "qpos='20.3 .2 1.3"},
    {"key_qvel", "qvel='.1", "qvel='.2"},
    {"key_act", "act='.1'", "act='.3'"},
    {"key_mpos", "mpos='0 4 1.1'", "mpos='0 4 1.2'"},
    {"key_mquat", "mquat='1 0 0 0'", "mquat='0 1 0 0'"},
    {"key_ctrl", "ctrl='.1 .2 .3 0'", "ctrl='.2 .2 .3 0'"},
    {"numeric_data", "data='1 2'", "data='1 3'"},
    {"body_user", "user='11'", "user='21'"},
    {"jnt_user", "user='12'", "user='22'"},
    {"geom_user", "user='13'", "user='23'"},
    {"site_user", "user='14'", "user='24'"},
    {"cam_user", "user='15'", "user='25'"},
    {"tendon_user", "user='16'", "user='26'"},
    {"actuator_user", "user='17'", "user='27'"},
    {"sensor_user", "user='18'", "user='28'"},
};
#define COUNT(a) ((int)(sizeof(a) / sizeof *(a)))

/* ---- the comparison ----------------------------------------------------------------------------------------- */

static char *replaced(const char *text, const char *from, const char *to) {
    const char *at = strstr(text, from);
    if (!at) fprintf(stderr, "%s: not in the scene\n", from);
    REQUIRE(at && !strstr(at + 1, from));
    size_t before = (size_t)(at - text), size = strlen(text) + strlen(to) + 1;
    char *out = malloc(size);
    REQUIRE(out);
    snprintf(out, size, "%.*s%s%s", (int)before, text, to, at + strlen(from));
    return out;
}

static size_t bytes_of(sti_view v) {
    return (size_t)v.rows * (size_t)v.cols * (v.type == 'd' ? 8 : v.type == 'b' ? 1 : 4);
}

static bool is_writable(const char *field) { return sti_model_may_write(field, NULL) == STI_OK; }

/* The writable fields of one model into another; whether the named one was among those that differed. */
static bool take_over(sti_model *to, const sti_model *from, const char *named) {
    bool found = false;
#define X(type, name, rows, cols, vary, change)                                              \
    {                                                                                        \
        sti_view a = sti_model_view(to, #name), b = sti_model_view(from, #name);             \
        REQUIRE(bytes_of(a) == bytes_of(b));                                                 \
        if (is_writable(#name) && bytes_of(a) && memcmp(a.data, b.data, bytes_of(a)) != 0) { \
            memcpy((void *)(uintptr_t)a.data, b.data, bytes_of(a));                          \
            found |= strcmp(#name, named) == 0;                                              \
        }                                                                                    \
    }
    STI_MODEL_FIELDS(X)
#undef X
    return found;
}

static void name_difference(const sti_model *a, const sti_model *b) {
#define X(type, name, rows, cols, vary, change)                              \
    {                                                                        \
        sti_view x = sti_model_view(a, #name), y = sti_model_view(b, #name); \
        if (bytes_of(x) && memcmp(x.data, y.data, bytes_of(x)) != 0)         \
            fprintf(stderr, "    %s differs\n", #name);                      \
    }
    STI_MODEL_FIELDS(X)
#undef X
    if (memcmp(&a->stat, &b->stat, sizeof a->stat) != 0) fprintf(stderr, "    stat differs\n");
}

static void drive(sti_world *w) {
    int nu = sti_world_model(w)->nu;
    double *ctrl = values(w, "ctrl");
    for (int i = 0; i < nu; i++) ctrl[i] = 0.9;
    REQUIRE(sti_step(w, 25) == STI_OK);
}

/* A world that ran before the change is, after a reset, one of the compiled model; and so it is in the middle of its way. */
static void compare_worlds(sti_world *old, const sti_model *compiled, const char *name) {
    sti_world *fresh = world_of(compiled);
    sti_world *on = sti_world_copy(old, NULL);
    REQUIRE(on && sti_forward(on) == STI_OK);
    size_t size = sti_snapshot_size(on);
    void *snapshot = malloc(size);
    REQUIRE(snapshot && sti_snapshot_save(on, snapshot, size) == STI_OK);
    for (int key = -1; key < compiled->nkey; key++) {
        REQUIRE(sti_world_reset(old, key) == STI_OK && sti_world_reset(fresh, key) == STI_OK);
        drive(old);
        drive(fresh);
        if (sti_world_hash(old) != sti_world_hash(fresh))
            fprintf(stderr, "%s: other bits from key %d\n", name, key);
        CHECK(sti_world_hash(old) == sti_world_hash(fresh));
        CHECK(memcmp(values(old, "sensordata"), values(fresh, "sensordata"),
                     sizeof(double) * (size_t)compiled->nsensordata) == 0);
    }
    CHECK(sti_snapshot_load(fresh, snapshot, size) == STI_OK);
    sti_world_drop_warm_start(on);
    sti_world_drop_warm_start(fresh);
    drive(on);
    drive(fresh);
    if (sti_world_hash(on) != sti_world_hash(fresh)) fprintf(stderr, "%s: other bits on the way\n", name);
    CHECK(sti_world_hash(on) == sti_world_hash(fresh));
    free(snapshot);
    sti_world_destroy(on);
    sti_world_destroy(fresh);
}

static void try_edit(const char *text, const edit *e) {
    char *other = replaced(text, e->from, e->to);
    sti_model *m = model_of(text), *compiled = model_of(other);
    sti_world *w = world_of(m);
    sti_error error = {0};
    drive(w);
    bool differs = take_over(m, compiled, e->field);
    if (!differs) fprintf(stderr, "%s does not differ\n", e->field);
    CHECK(differs);
    CHECK(sti_model_update(m, &error) == STI_OK);
    if (error.code != STI_OK) fprintf(stderr, "%s: %s\n", e->field, error.message);
    if (sti_model_hash(m) != sti_model_hash(compiled)) {
        fprintf(stderr, "%s:\n", e->field);
        name_difference(m, compiled);
    }
    CHECK(sti_model_hash(m) == sti_model_hash(compiled));
    compare_worlds(w, compiled, e->field);
    sti_world_destroy(w);
    sti_model_free(m);
    sti_model_free(compiled);
    free(other);
}

TEST(every_field_of_rigid_things) {
    for (int i = 0; i < COUNT(rigid_edits); i++) try_edit(rigid, &rigid_edits[i]);
}

static const edit soft_edits[] = {
    {"flex_condim", "condim='3'", "condim='1'"},
    {"flex_priority", "priority='0'", "priority='1'"},
    {"flex_matid", "material='a' rgba", "material='b' rgba"},
    {"flex_group", "group='1'", "group='2'"},
    {"flex_solmix", "solmix='1'", "solmix='2'"},
    {"flex_friction", "friction='.5'", "friction='.2'"},
    {"flex_dissipation", "dissipation='.1'", "dissipation='.3'"},
    {"flex_rgba", "rgba='1 0 0 1'", "rgba='1 1 0 1'"},
    {"flex_damping", "damping='.01'", "damping='.05'"},
    {"flexelem_young", "young='5e4'", "young='9e4'"},
    {"flexelem_poisson", "poisson='.3'", "poisson='.4'"},
};

TEST(every_field_of_soft_things) {
    for (int i = 0; i < COUNT(soft_edits); i++) try_edit(soft, &soft_edits[i]);
}

static bool is_tried(const char *field) {
    for (int i = 0; i < COUNT(rigid_edits); i++)
        if (strcmp(rigid_edits[i].field, field) == 0) return true;
    for (int i = 0; i < COUNT(soft_edits); i++)
        if (strcmp(soft_edits[i].field, field) == 0) return true;
    return false;
}

TEST(no_writable_field_is_left_out) {
    int writable = 0;
#define X(type, name, rows, cols, vary, change)                                                    \
    CHECK(sti_model_field_change(#name) == #change[0] && sti_model_field_vary(#name) == #vary[0]); \
    if (is_writable(#name)) {                                                                      \
        writable++;                                                                                \
        if (!is_tried(#name)) fprintf(stderr, "%s is not tried\n", #name);                         \
        CHECK(is_tried(#name));                                                                    \
    }
    STI_MODEL_FIELDS(X)
#undef X
    CHECK(writable > 100);
}

/* ---- several at once, other integrators --------------------------------------------------------------------- */

TEST(all_integrators_use_the_new_values) {
    static const char *const names[] = {"Euler", "RK4", "implicit", "implicitfast", "alm"};
    for (int i = 0; i < COUNT(names); i++) {
        char option[80];
        snprintf(option, sizeof option, "timestep='0.002' integrator='%s'", names[i]);
        char *text = replaced(boxes_xml, "timestep='.005'", option);
        try_edit(text, &(edit){"geom_size", "size='.08' condim='6'",
                               "size='.1' mass='2.144660584850632' condim='6'"});
        try_edit(text, &(edit){"dof_armature", "name='h'", "name='h' armature='.3'"});
        free(text);
    }
}

/* ---- what is refused ---------------------------------------------------------------------------------------- */

static void refuse(const char *field, int i, double value, const char *word) {
    sti_model *m = model_of(rigid);
    sti_world *w = world_of(m);
    sti_error error = {0};
    uint64_t hash = sti_model_hash(m), changes = m->changes[0];
    sti_view v = sti_model_view(m, field);
    if (v.type == 'd') ((double *)(uintptr_t)v.data)[i] = value;
    else if (v.type == 'f') ((float *)(uintptr_t)v.data)[i] = (float)value;
    else ((int *)(uintptr_t)v.data)[i] = (int)value;
    m->body_gravcomp[1] = 0.5; /* a good one beside it */
    CHECK(sti_model_update(m, &error) != STI_OK);
    if (!strstr(error.message, field) || !strstr(error.message, word))
        fprintf(stderr, "%s = %g: %s\n", field, value, error.message);
    CHECK(strstr(error.message, field) && strstr(error.message, word));
    CHECK(sti_model_hash(m) == hash && m->changes[0] == changes);
    CHECK(sti_step(w, 2) == STI_OK);
    sti_world_destroy(w);
    sti_model_free(m);
}

TEST(impossible_values_leave_no_trace) {
    refuse("body_mass", 2, -1, "range");
    refuse("body_mass", 2, NAN, "finite");
    refuse("body_mass", 2, 0, "mass");
    refuse("body_inertia", 6, 5, "A + B");
    refuse("body_quat", 4, 0, "length 0");
    refuse("geom_size", 9, 0, "positive");
    refuse("geom_size", 3, 1, "compile");
    refuse("geom_condim", 2, 5, "1, 3, 4");
    refuse("geom_matid", 2, 9, "material");
    refuse("jnt_range", 2, 3, "less");
    refuse("jnt_limited", 0, 1, "free");
    refuse("hfield_data", 0, 2, "range");
    refuse("actuator_ctrlrange", 0, 7, "less");
}

/* A height field that is too fine for contact with soft bodies, which is why the compiler refuses the pair. */
TEST(soft_bodies_cannot_begin_to_touch_what_is_not_supported) {
    sti_model *m = model_of(
        "<mujoco xmlns:sti='urn:stiction'><asset><hfield name='hill' nrow='600' ncol='600' size='1 1 .1 "
        ".1'/></asset><worldbody><geom type='hfield' hfield='hill' contype='0' "
        "conaffinity='0'/>"
        "<sti:soft name='s' type='box' size='.05 .05 .05' edge='.1' pos='0 0 .5' young='1e5' poisson='.3'/>"
        "</worldbody></mujoco>");
    static const char *const words[] = {"262,144", "soft body"};
    sti_error error = {0};
    m->geom_contype[0] = 1;
    CHECK(sti_model_update(m, &error) == STI_UNSUPPORTED);
    for (int i = 0; i < 2; i++) CHECK(strstr(error.message, words[i]));
    CHECK(m->geom_contype[0] == 0);
    m->geom_contype[0] = 2; /* a bit that the soft body does not have */
    CHECK(sti_model_update(m, &error) == STI_OK);
    sti_model_free(m);
}

TEST(what_cannot_change_says_what_to_do) {
    sti_error error = {0};
    CHECK(sti_model_may_write("body_mass", &error) == STI_OK &&
          sti_model_may_write("geom_rgba", NULL) == STI_OK);
    CHECK(sti_model_may_write("body_parentid", &error) == STI_ARGUMENT && strstr(error.message, "compile"));
    CHECK(sti_model_may_write("mesh_vert", &error) == STI_ARGUMENT && strstr(error.message, "compile"));
    CHECK(sti_model_may_write("body_invweight0", &error) == STI_ARGUMENT && strstr(error.message, "derived"));
    CHECK(sti_model_may_write("nothing", &error) == STI_ARGUMENT && sti_model_field_change("nothing") == 0);
    CHECK(sti_model_update(NULL, &error) == STI_ARGUMENT);
}

/* Writing what was there is no change; a written quaternion is brought to length 1. */
TEST(updates_count_changes_alone) {
    sti_model *m = model_of(rigid);
    uint64_t hash = sti_model_hash(m);
    CHECK(sti_model_update(m, NULL) == STI_OK && m->changes[0] == 0 && sti_model_hash(m) == hash);
    CHECK(!sti_model_changed(m) && !sti_model_changed(NULL));
    m->geom_rgba[0] = 0.25f;
    CHECK(sti_model_changed(m));
    CHECK(sti_model_update(m, NULL) == STI_OK && m->changes[0] == 1 && m->changes[1] == 0);
    CHECK(!sti_model_changed(m));
    m->body_mass[1] *= 2;
    CHECK(sti_model_update(m, NULL) == STI_OK && m->changes[0] == 2 && m->changes[1] == 1 &&
          m->changes[2] == 0);
    m->geom_margin[0] = 0.01;
    CHECK(sti_model_update(m, NULL) == STI_OK && m->changes[2] == 1);
    for (int k = 0; k < 4; k++) m->body_quat[4 + k] = 3;
    CHECK(sti_model_update(m, NULL) == STI_OK);
    for (int k = 0; k < 4; k++) CHECK_NEAR(m->body_quat[4 + k], 0.5, 1e-15);
    sti_model_free(m);
}

/* A copy knows what was written and not told of. */
TEST(copies_keep_what_is_pending) {
    sti_model *m = model_of(rigid);
    m->body_mass[1] = 5;
    sti_model *copy = sti_model_copy(m, NULL);
    REQUIRE(copy && sti_model_update(m, NULL) == STI_OK);
    CHECK(sti_model_hash(copy) != sti_model_hash(m));
    CHECK(sti_model_update(copy, NULL) == STI_OK && sti_model_hash(copy) == sti_model_hash(m));
    sti_model_free(copy);
    sti_model_free(m);
}

/* Memory that runs out while a world makes things anew: the step is not taken, and is once there is memory. */
TEST(short_memory_while_things_are_made_anew) {
    int failures = 0;
    for (long at = 1; at < 400; at++) {
        counter c = {0};
        sti_allocator a = {counting, &c};
        sti_world_options o = sti_world_options_default();
        o.allocator = &a;
        sti_model *m = model_of(boxes_xml);
        sti_world *w = sti_world_create(m, &o, NULL);
        REQUIRE(w && sti_step(w, 5) == STI_OK);
        m->geom_margin[1] = 0.01;
        REQUIRE(sti_model_update(m, NULL) == STI_OK);
        c.fail_at = c.calls + at;
        uint64_t hash = sti_world_hash(w);
        sti_status status = sti_step(w, 1);
        bool failed = c.calls >= c.fail_at;
        if (failed) {
            failures++;
            CHECK(status == STI_NO_MEMORY && (sti_world_hash(w) == hash || *values(w, "time") < 0.0251));
            CHECK(sti_step(w, 1) == STI_OK);
        }
        sti_world_destroy(w);
        CHECK(c.live == 0);
        sti_model_free(m);
        if (!failed) break;
    }
    CHECK(failures > 10);
}

/* ---- worlds of a batch with parameters of their own -------------------------------------------------------------- */

/* Fields that may differ per world into row i of the batch; false if others differ too. */
static bool give_row(sti_batch *batch, int i, const sti_model *base, const sti_model *from) {
    bool all = true;
#define X(type, name, rows, cols, vary, change)                                                \
    {                                                                                          \
        sti_view a = sti_model_view(base, #name), b = sti_model_view(from, #name);             \
        if (is_writable(#name) && bytes_of(a) && memcmp(a.data, b.data, bytes_of(a)) != 0) {   \
            sti_view p = sti_batch_parameter(batch, #name, NULL);                              \
            all &= (p.data != NULL) == (#vary[0] == 'W');                                      \
            if (p.data) memcpy((char *)p.data + (size_t)i * bytes_of(a), b.data, bytes_of(a)); \
            else all = false;                                                                  \
        }                                                                                      \
    }
    STI_MODEL_FIELDS(X)
#undef X
    return all;
}

static uint64_t hash_alone(const sti_model *m) {
    sti_world *w = world_of(m);
    drive(w);
    uint64_t hash = sti_world_hash(w);
    sti_world_destroy(w);
    return hash;
}

static void drive_batch(sti_batch *b) {
    sti_view ctrl = sti_batch_view(b, STI_FIELD_ctrl);
    for (int i = 0; i < ctrl.rows * ctrl.cols; i++) ((double *)ctrl.data)[i] = 0.9;
    CHECK(sti_batch_step(b, 25) == STI_OK);
}

static bool try_row(const edit *e, sti_pool *pool) {
    char *other = replaced(rigid, e->from, e->to);
    sti_model *m = model_of(rigid), *compiled = model_of(other);
    sti_batch_options o = sti_batch_options_default();
    o.tasks = sti_pool_tasks(pool);
    sti_batch *b = sti_batch_create(m, 3, &o, NULL);
    REQUIRE(b && sti_batch_step(b, 3) == STI_OK);
    uint64_t before = sti_model_hash(m);
    bool mine = give_row(b, 1, m, compiled);
    if (mine) {
        CHECK(sti_batch_reset(b, NULL, 0, -1, NULL) == STI_OK);
        drive_batch(b);
        bool same = sti_world_hash(sti_batch_world(b, 1)) == hash_alone(compiled) &&
                    sti_model_hash(sti_world_model(sti_batch_world(b, 1))) == sti_model_hash(compiled);
        if (!same)
            fprintf(stderr, "%s: other bits\n", e->field),
                name_difference(sti_world_model(sti_batch_world(b, 1)), compiled);
        CHECK(same && sti_model_hash(m) == before);
        CHECK(sti_world_hash(sti_batch_world(b, 0)) == hash_alone(m));
        CHECK(sti_world_hash(sti_batch_world(b, 2)) == hash_alone(m));
    }
    sti_batch_destroy(b);
    sti_model_free(m);
    sti_model_free(compiled);
    free(other);
    return mine;
}

TEST(every_parameter_of_one_world) {
    sti_pool *pool = sti_pool_create(2, NULL);
    bool tried[COUNT(rigid_edits)];
    for (int i = 0; i < COUNT(rigid_edits); i++) tried[i] = try_row(&rigid_edits[i], pool);
#define X(type, name, rows, cols, vary, change)                            \
    if (is_writable(#name) && #vary[0] == 'W') {                           \
        bool found = false;                                                \
        for (int i = 0; i < COUNT(rigid_edits); i++)                       \
            found |= tried[i] && strcmp(rigid_edits[i].field, #name) == 0; \
        if (!found) fprintf(stderr, "%s is not tried\n", #name);           \
        CHECK(found);                                                      \
    }
    STI_MODEL_FIELDS(X)
#undef X
    sti_pool_destroy(pool);
}

/* A change of the batch's own model reaches all worlds, those with parameters of their own too. */
TEST(the_model_of_a_batch_changes_too) {
    sti_model *m = model_of(rigid), *want = model_of(rigid);
    sti_batch *b = sti_batch_create(m, 2, NULL, NULL);
    double *mass = sti_batch_parameter(b, "body_mass", NULL).data;
    REQUIRE(mass);
    mass[m->nbody + 2] = want->body_mass[2] = 4;
    for (int i = 0; i < 2; i++) {
        sti_model *one = i ? want : m;
        one->geom_friction[3] = 0.11;
        one->qpos0[7] = 0.2;
        one->geom_margin[3] = 0.004;
        CHECK(sti_model_update(one, NULL) == STI_OK);
    }
    CHECK(sti_batch_reset(b, NULL, 0, -1, NULL) == STI_OK);
    drive_batch(b);
    CHECK(sti_world_hash(sti_batch_world(b, 0)) == hash_alone(m));
    CHECK(sti_world_hash(sti_batch_world(b, 1)) == hash_alone(want));
    CHECK(hash_alone(m) != hash_alone(want));
    sti_batch_destroy(b);
    sti_model_free(m);
    sti_model_free(want);
}

/* A world's own calls use what was written once sti_batch_update has carried it over. */
TEST(an_update_reaches_the_worlds) {
    sti_model *m = model_of(
        "<mujoco><worldbody><body><joint type='slide' axis='0 0 1'/><geom size='.1' mass='2'/></body>"
        "</worldbody></mujoco>");
    sti_batch *b = sti_batch_create(m, 2, NULL, NULL);
    double *mass = sti_batch_parameter(b, "body_mass", NULL).data, M[1];
    REQUIRE(mass);
    mass[3] = 5;
    CHECK(sti_batch_update(b) == STI_OK);
    for (int i = 0; i < 2; i++) {
        CHECK(sti_forward(sti_batch_world(b, i)) == STI_OK);
        sti_world_mass_matrix(sti_batch_world(b, i), M);
        CHECK_NEAR(M[0], i ? 5 : 2, 1e-15);
    }
    mass[3] = -5;
    CHECK(sti_batch_update(b) == STI_VALUE && mass[3] == 5);
    sti_batch_destroy(b);
    sti_model_free(m);
}

TEST(a_world_with_impossible_parameters_fails_alone) {
    sti_model *m = model_of(rigid);
    sti_batch *b = sti_batch_create(m, 3, NULL, NULL);
    sti_error error = {0};
    double *mass = sti_batch_parameter(b, "body_mass", NULL).data;
    REQUIRE(mass);
    double good = mass[m->nbody + 2];
    mass[m->nbody + 2] = -1;
    CHECK(sti_batch_step(b, 2) == STI_VALUE && sti_batch_status(b)[0] == STI_OK &&
          sti_batch_status(b)[2] == STI_OK);
    CHECK(sti_batch_status(b)[1] == STI_VALUE &&
          strstr(sti_world_error(sti_batch_world(b, 1))->message, "body_mass"));
    CHECK(mass[m->nbody + 2] == good && sti_batch_step(b, 2) == STI_OK);
    CHECK(!sti_batch_parameter(b, "body_subtreemass", &error).data && strstr(error.message, "derived"));
    CHECK(!sti_batch_parameter(b, "geom_solref", &error).data && strstr(error.message, "sti_model_update"));
    CHECK(!sti_batch_parameter(b, "body_parentid", &error).data &&
          !sti_batch_parameter(b, "no", &error).data);
    sti_rollout r = {.count = 0, .state = mass}; /* from states: any world may take any of them */
    CHECK(sti_batch_rollout(b, &r, &error) == STI_ARGUMENT && strstr(error.message, "parameters"));
    CHECK(sti_batch_rollout(b, &(sti_rollout){.count = 3, .nstep = 1}, &error) == STI_OK);
    mass[1] = NAN;
    CHECK(sti_batch_reset(b, NULL, 0, -1, &error) == STI_VALUE && strstr(error.message, "world 0"));
    sti_batch_destroy(b);
    sti_model_free(m);
}

TEST(short_memory_for_parameters) {
    int failures = 0;
    sti_model *m = model_of(boxes_xml);
    for (long at = 1; at < 500; at++) {
        counter c = {0};
        sti_batch_options o = sti_batch_options_default();
        sti_allocator a = {counting, &c};
        o.allocator = &a;
        sti_batch *b = sti_batch_create(m, 2, &o, NULL);
        REQUIRE(b);
        c.fail_at = c.calls + at;
        double *mass = sti_batch_parameter(b, "body_mass", NULL).data;
        if (mass) mass[1] *= 2;
        sti_status status = sti_batch_step(b, 1);
        bool failed = c.calls >= c.fail_at;
        failures += failed;
        CHECK(!failed || !mass || status == STI_NO_MEMORY || status == STI_OK);
        c.fail_at = 0;
        CHECK(sti_batch_step(b, 1) == STI_OK);
        sti_batch_destroy(b);
        CHECK(c.live == 0);
        if (!failed) break;
    }
    CHECK(failures > 10);
    sti_model_free(m);
}

/* ---- as bytes ------------------------------------------------------------------------------------------------ */

TEST(a_packed_model_is_the_same) {
    static const char *const texts[] = {rigid, soft};
    for (int k = 0; k < 2; k++) {
        sti_model *m = model_of(texts[k]);
        size_t size = sti_model_pack_size(m);
        char *data = malloc(size);
        REQUIRE(data && sti_model_pack(m, data, size, NULL) == STI_OK);
        sti_model *other = sti_model_unpack(data, size, NULL, NULL);
        REQUIRE(other && sti_model_hash(other) == sti_model_hash(m) && hash_alone(other) == hash_alone(m));
        m->stat_given = other->stat_given;
        m->body_gravcomp[0] = other->body_gravcomp[0] = 0.5; /* of the world: nothing follows */
        CHECK(sti_model_update(other, NULL) == STI_OK && other->changes[0] == 1);
        CHECK(sti_model_pack(m, data, size, NULL) == STI_ARGUMENT); /* it was not told */
        sti_model_free(other);
        sti_model_free(m);
        free(data);
    }
}

TEST(damaged_and_foreign_bytes_are_refused) {
    sti_model *m = model_of(boxes_xml);
    size_t size = sti_model_pack_size(m);
    unsigned char *data = malloc(size);
    sti_error error = {0};
    REQUIRE(data && sti_model_pack(m, data, size, NULL) == STI_OK);
    CHECK(sti_model_pack(m, data, size - 1, &error) == STI_ARGUMENT);
    for (size_t i = 0; i < size; i += i < 200 ? 1 : 97) {
        data[i] ^= 4;
        CHECK(!sti_model_unpack(data, size, NULL, &error) && error.code == STI_FORMAT);
        data[i] ^= 4;
    }
    for (size_t cut = 0; cut < size; cut += 61)
        CHECK(!sti_model_unpack(data, cut, NULL, &error) && error.code == STI_FORMAT);
    data[8] ^= 1; /* the version */
    CHECK(!sti_model_unpack(data, size, NULL, &error) && strstr(error.message, "another version"));
    data[8] ^= 1;
    for (long at = 1; at < 3; at++) {
        counter c = {.fail_at = at};
        sti_allocator a = {counting, &c};
        CHECK(!sti_model_unpack(data, size, &a, &error) && error.code == STI_NO_MEMORY && c.live == 0);
    }
    sti_model_free(m);
    free(data);
}

MAIN(CASE(every_field_of_rigid_things), CASE(every_field_of_soft_things), CASE(no_writable_field_is_left_out),
     CASE(all_integrators_use_the_new_values), CASE(impossible_values_leave_no_trace),
     CASE(soft_bodies_cannot_begin_to_touch_what_is_not_supported), CASE(what_cannot_change_says_what_to_do),
     CASE(updates_count_changes_alone), CASE(copies_keep_what_is_pending),
     CASE(short_memory_while_things_are_made_anew), CASE(every_parameter_of_one_world),
     CASE(the_model_of_a_batch_changes_too), CASE(an_update_reaches_the_worlds),
     CASE(a_world_with_impossible_parameters_fails_alone), CASE(short_memory_for_parameters),
     CASE(a_packed_model_is_the_same), CASE(damaged_and_foreign_bytes_are_refused))
