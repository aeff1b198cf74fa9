/* SPDX-License-Identifier: Apache-2.0 */
/* Scenes that say what cannot be: each is refused at its line, element and attribute. */
#include "bad_scene.h"

#define RUN(cases) \
    for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); i++) expect(&(cases)[i])

/* clang-format off */
#define OWN(x) "<mujoco xmlns:sti='urn:stiction'>\n<worldbody>\n" x "\n</worldbody>\n</mujoco>"
#define FLEX(attributes, inside) OWN("<flexcomp name='f' dim='3' " attributes ">\n" inside "</flexcomp>")
#define GRID(inside) FLEX("count='3 3 3'", "<elasticity young='1e4'/>\n" inside)

TEST(pins_and_parts) {
    static const bad cases[] = {
        {GRID("<pin id='27'/>"), STI_VALUE, 5, "pin", "id"},
        {GRID("<pin id='-1'/>"), STI_VALUE, 5, "pin", "id"},
        {GRID("<pin range='0 1 2'/>"), STI_VALUE, 5, "pin", "range"},
        {GRID("<pin range='20 30'/>"), STI_VALUE, 5, "pin", "range"},
        {GRID("<pin grid='0 0'/>"), STI_VALUE, 5, "pin", "grid"},
        {GRID("<pin grid='0 0 3'/>"), STI_VALUE, 5, "pin", "grid"},
        {GRID("<pin gridrange='0 0 0 0 9 0'/>"), STI_VALUE, 5, "pin", "gridrange"},
        {GRID("<pin gridrange='1 0 0 0 0 0'/>"), STI_VALUE, 5, "pin", "gridrange"},
        {GRID("<pin gridrange='1 0 0'/>"), STI_VALUE, 5, "pin", "gridrange"},
        {GRID("<pin id='0 26' range='3 5' grid='0 1 2' gridrange='0 0 0 2 2 0'/>"), STI_OK, -1, NULL, NULL},
        {FLEX("type='box' count='3 3 3'", "<elasticity young='1e4'/>\n<pin grid='0 0 0'/>"), STI_VALUE, 5, "pin", "grid"},
        {GRID("<sti:part id='99999' young='1'/>"), STI_VALUE, 5, "part", "id"},
        {GRID("<sti:part range='5 3' young='1'/>"), STI_VALUE, 5, "part", "range"},
        {GRID("<sti:part range='5' young='1'/>"), STI_VALUE, 5, "part", "range"},
        {GRID("<sti:part box='9 9 9 10 10 10' young='1'/>"), STI_VALUE, 5, "part", "box"},
        {GRID("<sti:part id='3' young='-1'/>"), STI_PHYSICS, 3, "flexcomp", NULL},
        {GRID("<sti:part id='3' poisson='0.6'/>"), STI_PHYSICS, 3, "flexcomp", NULL},
        {GRID("<sti:part box='-1 -1 -1 1 1 1' density='0'/>"), STI_PHYSICS, 3, "flexcomp", NULL},
    };
    RUN(cases);
}

TEST(matter_and_contact_of_soft_bodies) {
    static const bad cases[] = {
        {FLEX("count='2 2 2'", ""), STI_PHYSICS, 3, "flexcomp", NULL},
        {FLEX("count='2 2 2'", "<elasticity young='0'/>"), STI_PHYSICS, 4, "elasticity", "young"},
        {FLEX("count='2 2 2'", "<elasticity young='1' poisson='0.5'/>"), STI_PHYSICS, 4, "elasticity", "poisson"},
        {FLEX("count='2 2 2'", "<elasticity young='1' poisson='-0.1'/>"), STI_PHYSICS, 4, "elasticity", "poisson"},
        {FLEX("count='2 2 2'", "<elasticity young='1' damping='-1'/>"), STI_VALUE, 4, "elasticity", "damping"},
        {FLEX("count='2 2 2'", "<elasticity young='1' sti:massdamping='-1'/>"), STI_VALUE, 4, "elasticity", "massdamping"},
        {FLEX("count='2 2 2' mass='0'", "<elasticity young='1'/>"), STI_PHYSICS, 3, "flexcomp", "mass"},
        {FLEX("count='2 2 2'", "<elasticity young='1'/><contact condim='4'/>"), STI_UNSUPPORTED, 4, "contact", "condim"},
        {FLEX("count='2 2 2'", "<elasticity young='1'/><contact friction='-1'/>"), STI_VALUE, 4, "contact", "friction"},
        {FLEX("count='2 2 2'", "<elasticity young='1'/><contact sti:dissipation='-1'/>"), STI_VALUE, 4, "contact", "dissipation"},
        {FLEX("count='2 2 2'", "<elasticity young='1'/><contact sti:hydroelastic_stiffness='0'/>"), STI_VALUE, 4, "contact", "hydroelastic_stiffness"},
        {FLEX("count='2 2 2'", "<elasticity young='1'/><contact sti:hydroelastic_stiffness='0' contype='0' conaffinity='0'/>"), STI_OK, -1, NULL, NULL},
        {FLEX("count='2 2 2' material='none'", "<elasticity young='1'/>"), STI_REFERENCE, 3, "flexcomp", "material"},
        {OWN("<flexcomp name='f' count='2 2 2'/>"), STI_VALUE, 3, "flexcomp", "count"},
        {OWN("<flexcomp name='f' count='2 2 1' mass='0'/>"), STI_PHYSICS, 3, "flexcomp", "mass"},
        {OWN("<flexcomp name='f' count='2 2 1' inertiabox='0'/>"), STI_PHYSICS, 3, "flexcomp", "inertiabox"},
        {OWN("<flexcomp name='f' count='2 2 1' spacing='0 1 1'/>"), STI_VALUE, 3, "flexcomp", "spacing"},
        {OWN("<flexcomp name='f' count='2 2 1' zaxis='1 0 0'/>"), STI_UNSUPPORTED, 3, "flexcomp", ""},
        {OWN("<flexcomp name='f' dim='1' count='2 2 1'/>"), STI_VALUE, 3, "flexcomp", "count"},
        {OWN("<flexcomp name='f' dim='1' count='1 1 1'/>"), STI_VALUE, 3, "flexcomp", "count"},
        {OWN("<flexcomp name='f' dim='1' type='circle' count='3 1 1'/>"), STI_VALUE, 3, "flexcomp", "count"},
        {OWN("<flexcomp name='f' dim='2' type='circle' count='5 5 1'/>"), STI_VALUE, 3, "flexcomp", "dim"},
        {OWN("<flexcomp name='f' dim='1' type='disc' count='5 1 1'/>"), STI_VALUE, 3, "flexcomp", "dim"},
        {OWN("<flexcomp name='f' dim='2' type='box' count='5 5 5'/>"), STI_UNSUPPORTED, 3, "flexcomp", "type"},
        {OWN("<flexcomp name='f' dim='2' type='direct' point='0 0 0 1 0 0 0 1 0' element='0 1 3'/>"), STI_VALUE, 3, "flexcomp", "element"},
        {OWN("<flexcomp name='f' dim='2' type='direct' point='0 0 0 1 0 0 0 1 0' element='0 1 1'/>"), STI_VALUE, 3, "flexcomp", "element"},
        {OWN("<flexcomp name='f' dim='1' type='direct'/>"), STI_VALUE, 3, "flexcomp", "element"},
        {OWN("<flexcomp name='f' count='2 2 1'>\n<pin id='4'/></flexcomp>"), STI_VALUE, 4, "pin", "id"},
        {OWN("<flexcomp name='f' count='2 2 1'>\n<pin range='-1 2'/></flexcomp>"), STI_VALUE, 4, "pin", "range"},
        {OWN("<flexcomp name='f' count='2 2 1'>\n<pin grid='0 2'/></flexcomp>"), STI_VALUE, 4, "pin", "grid"},
        {OWN("<flexcomp name='f' count='2 2 1'>\n<pin gridrange='0 0 2 0'/></flexcomp>"), STI_VALUE, 4, "pin", "gridrange"},
        {OWN("<flexcomp name='f' count='2 2 1'>\n<elasticity young='1' elastic2d='both'/></flexcomp>"), STI_PHYSICS, 4, "elasticity", "thickness"},
        {OWN("<flexcomp name='f' count='2 2 1'>\n<edge equality='strain'/></flexcomp>"), STI_UNSUPPORTED, 4, "edge", "equality"},
        {OWN("<flexcomp name='f' count='2 2 1'>\n<edge equality='true' stiffness='1'/></flexcomp>"), STI_VALUE, 4, "edge", "stiffness"},
        {FLEX("count='2 2 2'", "<elasticity young='1'/><edge equality='true'/>"), STI_UNSUPPORTED, 4, "edge", "equality"},
        {FLEX("count='2 2 2'", "<elasticity young='1'/><edge damping='1'/>"), STI_UNSUPPORTED, 4, "edge", "damping"},
        {FLEX("count='2 2 2' rigid='true'", "<elasticity young='1'/>"), STI_UNSUPPORTED, 3, "flexcomp", "rigid"},
        {FLEX("count='2 2 2' type='disc'", "<elasticity young='1'/>"), STI_UNSUPPORTED, 3, "flexcomp", "type"},
        {OWN("<sti:soft name='s' size='1' young='1' density='0'/>"), STI_PHYSICS, 3, "soft", "density"},
        {OWN("<sti:soft name='s' size='1' young='1' mass='0'/>"), STI_PHYSICS, 3, "soft", "mass"},
        {OWN("<sti:soft name='s' size='1' young='1' condim='6'/>"), STI_UNSUPPORTED, 3, "soft", "condim"},
    };
    RUN(cases);
}

TEST(shapes_of_soft_bodies) {
    ngiven = 0;
    give_text("open.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\n");
    give_text("tet.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n");
    give_text("bad.vtk", "# vtk DataFile Version 3.0\nx\nASCII\nnonsense\n");
    static const bad cases[] = {
        {FLEX("count='1 2 2'", "<elasticity young='1'/>"), STI_VALUE, 3, "flexcomp", "count"},
        {FLEX("count='2 2 2' spacing='1 0 1'", "<elasticity young='1'/>"), STI_VALUE, 3, "flexcomp", "spacing"},
        {FLEX("type='cylinder' count='3 3 3' spacing='.1 .2 .1' sti:edge='0.1'", "<elasticity young='1'/>"), STI_UNSUPPORTED, 3, "flexcomp", "edge"},
        {FLEX("type='cylinder' count='3 3 3' spacing='.1 .1 .1' sti:edge='0.1'", "<elasticity young='1'/>"), STI_OK, -1, NULL, NULL},
        {FLEX("type='ellipsoid' count='4 4 4' sti:edge='0.02'", "<elasticity young='1'/>"), STI_OK, -1, NULL, NULL},
        {FLEX("type='direct'", "<elasticity young='1'/>"), STI_VALUE, 3, "flexcomp", "point"},
        {FLEX("type='direct' point='0 0 0 1'", "<elasticity young='1'/>"), STI_VALUE, 3, "flexcomp", "point"},
        {FLEX("type='direct' point='0 0 0 1 0 0 0 1 0 0 0 1'", "<elasticity young='1'/>"), STI_VALUE, 3, "flexcomp", "element"},
        {FLEX("type='direct' point='0 0 0 1 0 0 0 1 0 0 0 1' element='0 1 2'", "<elasticity young='1'/>"), STI_VALUE, 3, "flexcomp", "element"},
        {FLEX("type='direct' point='0 0 0 1 0 0 0 1 0 0 0 1' element='0 1 2 9'", "<elasticity young='1'/>"), STI_MESH, 3, "flexcomp", "element"},
        {FLEX("type='direct' point='0 0 0 1 0 0 0 1 0 0 0 1' element='0 1 3 2'", "<elasticity young='1'/>"), STI_OK, -1, NULL, NULL},
        {FLEX("type='mesh'", "<elasticity young='1'/>"), STI_VALUE, 3, "flexcomp", "file"},
        {FLEX("type='mesh' file='none.obj'", "<elasticity young='1'/>"), STI_FILE, 3, "flexcomp", "file"},
        {FLEX("type='mesh' file='open.obj'", "<elasticity young='1'/>"), STI_MESH, 3, "flexcomp", "file"},
        {FLEX("type='mesh' file='tet.obj' origin='.2 .2 .2'", "<elasticity young='1'/>"), STI_OK, -1, NULL, NULL},
        {FLEX("type='mesh' file='tet.obj' origin='2 2 2'", "<elasticity young='1'/>"), STI_MESH, 3, "flexcomp", "origin"},
        {FLEX("type='gmsh' file='bad.vtk'", "<elasticity young='1'/>"), STI_MESH, 3, "flexcomp", "file"},
        {OWN("<sti:soft name='s' young='1'/>"), STI_VALUE, 3, "soft", "size"},
        {OWN("<sti:soft name='s' type='box' size='1 1' young='1'/>"), STI_VALUE, 3, "soft", "size"},
        {OWN("<sti:soft name='s' type='mesh' young='1'/>"), STI_VALUE, 3, "soft", "file"},
        {OWN("<sti:soft name='s' type='capsule' size='1 1' edge='.5' young='1'/>"), STI_OK, -1, NULL, NULL},
    };
    RUN(cases);
    ngiven = 0;
}

/* ---- <flex>: bodies as vertices ------------------------------------------------------------------------- */

#define SLIDES "<joint type='slide' axis='1 0 0'/><joint type='slide' axis='0 1 0'/><joint type='slide' axis='0 0 1'/>"
#define POINT(name, pos) "<body name='" name "' pos='" pos "'>" SLIDES "<inertial mass='0.5' pos='0 0 0' diaginertia='1e-3 1e-3 1e-3'/></body>\n"
#define FLEXED(bodies, attributes) \
    "<mujoco>\n<worldbody>\n" bodies "</worldbody>\n<deformable><flex name='f' dim='3' " attributes "><elasticity young='1e4'/></flex></deformable></mujoco>"
#define FOUR POINT("a", "0 0 0") POINT("b", "1 0 0") POINT("c", "0 1 0") POINT("d", "0 0 1")

TEST(vertices_of_flex) {
    static const bad cases[] = {
        {FLEXED(FOUR, "body='a b c d' element='0 1 2 3'"), STI_OK, -1, NULL, NULL},
        {FLEXED(FOUR, "body='a b c' element='0 1 2 3'"), STI_UNSUPPORTED, 8, "flex", "body"},
        {FLEXED(FOUR, "body='a b c none' element='0 1 2 3'"), STI_UNSUPPORTED, 8, "flex", "body"},
        {FLEXED(FOUR, "body='a b c d' vertex='0 0 0' element='0 1 2 3'"), STI_VALUE, 8, "flex", "vertex"},
        {FLEXED(FOUR, "body='a b c d'"), STI_VALUE, 8, "flex", "element"},
        {FLEXED(FOUR, "body='a b c d' element='0 1 2 7'"), STI_MESH, 8, "flex", "element"},
        {FLEXED(FOUR "<body name='e'>" POINT("g", "1 1 1") "</body>", "body='a b c d g' element='0 1 2 3'"), STI_UNSUPPORTED, -1, "flex", "body"},
        {FLEXED(POINT("a", "0 0 0") POINT("b", "1 0 0") POINT("c", "0 1 0") "<body name='d'>" SLIDES "</body>\n", "body='a b c d' element='0 1 2 3'"), STI_PHYSICS, 6, "body", NULL},
        {FLEXED(FOUR "<body name='e'><geom size='1'/></body>", "body='a b c e' element='0 1 2 3'"), STI_UNSUPPORTED, -1, "flex", "body"},
    };
    RUN(cases);
}

/* ---- sensors, equalities, views -------------------------------------------------------------------------- */

#define SCENE(x)                                                                                                   \
    "<mujoco xmlns:sti='urn:stiction'>\n<worldbody><camera name='cam' resolution='4 3'/><body name='b'><joint name='j'/><geom name='g' size='1'/><site name='s'/></body>" \
    "<body name='k' pos='5 0 0'><joint name='ball' type='ball'/><geom name='h' size='1'/><site name='t'/></body></worldbody>" \
    "<tendon><fixed name='ten'><joint joint='j' coef='1'/></fixed></tendon>\n" x "\n</mujoco>"
#define SENSOR(x) SCENE("<sensor>" x "</sensor>")
#define EQUAL(x) SCENE("<equality>" x "</equality>")

TEST(sensors) {
    static const bad cases[] = {
        {SENSOR("<distance geom1='g' geom2='h'/><distance body1='b' body2='k'/><normal geom1='g' body2='k'/>"), STI_OK, -1, NULL, NULL},
        {SENSOR("<distance geom1='g'/>"), STI_VALUE, 3, "distance", "geom2"},
        {SENSOR("<distance geom1='g' body1='b' geom2='h'/>"), STI_VALUE, 3, "distance", "body1"},
        {SENSOR("<fromto geom1='g' geom2='g'/>"), STI_VALUE, 3, "fromto", ""},
        {SENSOR("<fromto body1='b' body2='b'/>"), STI_VALUE, 3, "fromto", ""},
        {SENSOR("<rangefinder camera='cam' site='s'/>"), STI_VALUE, 3, "rangefinder", "camera"},
        {SENSOR("<rangefinder camera='cam' data='dist point'/>"), STI_OK, -1, NULL, NULL},
        {SENSOR("<rangefinder camera='none'/>"), STI_REFERENCE, 3, "rangefinder", "camera"},
        {SENSOR("<tendonlimitpos tendon='ten'/>"), STI_VALUE, 3, "tendonlimitpos", "tendon"},
        {SENSOR("<jointlimitvel joint='j'/>"), STI_VALUE, 3, "jointlimitvel", "joint"},
        {SENSOR("<jointvel joint='ball'/>"), STI_VALUE, 3, "jointvel", "joint"},
        {SENSOR("<ballangvel joint='ball'/><camprojection site='s' camera='cam'/><insidesite objtype='body' objname='k' site='s'/>"), STI_OK, -1, NULL, NULL},
        {SENSOR("<camprojection site='s' camera='none'/>"), STI_REFERENCE, 3, "camprojection", "camera"},
        {SENSOR("<insidesite objtype='body' objname='k' site='none'/>"), STI_REFERENCE, 3, "insidesite", "site"},
        {SENSOR("<framepos objtype='xbody' objname='k' reftype='camera' refname='cam'/><framelinacc objtype='geom' objname='g'/>"), STI_OK, -1, NULL, NULL},
        {SENSOR("<framepos objtype='geom' objname='g' reftype='site'/>"), STI_VALUE, 3, "framepos", "refname"},
        {SENSOR("<user dim='2' objtype='body' objname='b'/><user dim='1' objtype='xbody' objname='b'/><user dim='1' objtype='tendon' objname='ten'/>"), STI_OK, -1, NULL, NULL},
        {SENSOR("<user dim='2' objtype='thing' objname='b'/>"), STI_VALUE, 3, "user", "objtype"},
        {SENSOR("<user dim='2' objname='b'/>"), STI_VALUE, 3, "user", "objtype"},
        {SENSOR("<user dim='2' objtype='site' objname='none'/>"), STI_REFERENCE, 3, "user", "objname"},
        {SENSOR("<user dim='2' datatype='axis'/>"), STI_VALUE, 3, "user", "dim"},
        {SENSOR("<user dim='3' datatype='axis' cutoff='1'/>"), STI_VALUE, 3, "user", "cutoff"},
        {SENSOR("<clock cutoff='-1'/>"), STI_VALUE, 3, "clock", "cutoff"},
        {SENSOR("<touch/>"), STI_VALUE, 3, "touch", "site"},
        {SENSOR("<contact data='linvel' reduce='mindist'/><contact reduce='maxforce' data='pos'/>"), STI_OK, -1, NULL, NULL},
    };
    RUN(cases);
}

TEST(equalities_and_pairs) {
    static const bad cases[] = {
        {EQUAL("<connect site1='s'/>"), STI_VALUE, 3, "connect", "site2"},
        {EQUAL("<connect site2='s'/>"), STI_VALUE, 3, "connect", "site1"},
        {EQUAL("<connect site1='s' site2='t' anchor='0 0 0'/>"), STI_VALUE, 3, "connect", "anchor"},
        {EQUAL("<weld site1='s' site2='t' body1='b'/>"), STI_VALUE, 3, "weld", "body1"},
        {EQUAL("<weld site1='s' site2='s'/>"), STI_VALUE, 3, "weld", "site2"},
        {EQUAL("<weld/>"), STI_VALUE, 3, "weld", "body1"},
        {EQUAL("<connect body1='b'/>"), STI_VALUE, 3, "connect", "anchor"},
        {EQUAL("<connect body1='b' body2='b' anchor='0 0 0'/>"), STI_VALUE, 3, "connect", "body2"},
        {EQUAL("<joint joint1='ball'/>"), STI_VALUE, 3, "joint", "joint1"},
        {EQUAL("<joint joint1='j' joint2='ball'/>"), STI_VALUE, 3, "joint", "joint2"},
        {EQUAL("<tendon tendon1='ten' polycoef='1'/>"), STI_OK, -1, NULL, NULL},
        {EQUAL("<tendon tendon1='ten' tendon2='ten'/>"), STI_VALUE, 3, "tendon", "tendon2"},
        {EQUAL("<sti:distance/>"), STI_VALUE, 3, "distance", ""},
        {EQUAL("<sti:distance site1='s' geom2='g'/>"), STI_VALUE, 3, "distance", ""},
        {EQUAL("<sti:distance site1='s'/>"), STI_VALUE, 3, "distance", "site2"},
        {EQUAL("<sti:distance geom2='g'/>"), STI_VALUE, 3, "distance", "geom1"},
        {EQUAL("<sti:distance site1='s' site2='t' distance='-1'/>"), STI_VALUE, 3, "distance", "distance"},
        {EQUAL("<sti:distance geom1='g' geom2='h'/><sti:distance site1='s' site2='t'/>"), STI_OK, -1, NULL, NULL},
        {EQUAL("<weld body1='b' sti:stiffness='0'/>"), STI_VALUE, 3, "weld", "stiffness"},
        {EQUAL("<weld body1='b' sti:stiffness='1' sti:dissipation='-1'/>"), STI_VALUE, 3, "weld", "dissipation"},
        {EQUAL("<weld body1='b' sti:dissipation='1'/>"), STI_VALUE, 3, "weld", "dissipation"},
        {EQUAL("<weld body1='b' sti:beta='0'/>"), STI_VALUE, 3, "weld", "beta"},
        {SCENE("<contact><pair geom1='g' geom2='h' condim='2'/></contact>"), STI_VALUE, 3, "pair", "condim"},
        {SCENE("<contact><pair geom1='h' geom2='g' condim='6' sti:sigma='1e-4'/></contact>"), STI_OK, -1, NULL, NULL},
        {SCENE("<contact><pair geom1='h' geom2='g' sti:sigma='-1'/></contact>"), STI_VALUE, 3, "pair", "sigma"},
    };
    RUN(cases);
}

TEST(cameras_lights_and_geoms) {
    static const bad cases[] = {
        {WORLD("<camera fovy='180'/>"), STI_VALUE, 3, "camera", "fovy"},
        {WORLD("<camera fovy='0'/>"), STI_OK, -1, NULL, NULL}, /* as in MuJoCo */
        {WORLD("<camera projection='orthographic' fovy='200'/>"), STI_OK, -1, NULL, NULL},
        {WORLD("<camera focal='1 1'/>"), STI_VALUE, 3, "camera", NULL},
        {WORLD("<camera sensorsize='1 1' focalpixel='3 3' principalpixel='1 2' resolution='10 20'/>"), STI_OK, -1, NULL, NULL},
        {WORLD("<camera mode='targetbody' target='none'/>"), STI_REFERENCE, 3, "camera", "target"},
        {WORLD("<camera mode='targetbody'/>"), STI_OK, -1, NULL, NULL}, /* as in MuJoCo */
        {WORLD("<light dir='0 0 0'/>"), STI_VALUE, 3, "light", "dir"},
        {WORLD("<light type='directional'/><light directional='true'/><light/>"), STI_OK, -1, NULL, NULL},
        {WORLD("<geom size='1' fromto='0 0 0 1 0 0'/>"), STI_VALUE, 3, "geom", "fromto"},
        {WORLD("<geom type='capsule' size='1' fromto='0 0 0 1 0 0' pos='0 0 1'/>"), STI_VALUE, 3, "geom", "fromto"},
        {WORLD("<geom type='box' size='1' fromto='1 0 0 1 0 0'/>"), STI_VALUE, 3, "geom", "fromto"},
        {WORLD("<geom type='mesh'/>"), STI_REFERENCE, 3, "geom", "mesh"},
        {WORLD("<body><freejoint/><geom type='plane' size='1 1 1'/></body>"), STI_PHYSICS, 3, "geom", "type"},
        {WORLD("<geom type='plane' size='1 1 0'/>"), STI_PHYSICS, 3, "geom", "size"},
        {WORLD("<geom size='1' condim='5'/>"), STI_VALUE, 3, "geom", "condim"},
        {OWN("<geom size='1' sti:hydroelastic_stiffness='-1'/>"), STI_VALUE, 3, "geom", "hydroelastic_stiffness"},
        {OWN("<geom size='1' sti:edge='-1'/>"), STI_VALUE, 3, "geom", "edge"},
        {WORLD("<geom size='1' xyaxes='1 0 0 2 0 0'/>"), STI_VALUE, 3, "geom", "xyaxes"},
        {WORLD("<geom size='1' xyaxes='0 0 0 1 0 0'/>"), STI_VALUE, 3, "geom", "xyaxes"},
        {WORLD("<geom size='1' zaxis='0 0 0'/>"), STI_VALUE, 3, "geom", "zaxis"},
        {WORLD("<geom size='1' axisangle='0 0 0 1'/>"), STI_VALUE, 3, "geom", "axisangle"},
        {WORLD("<body><joint springdamper='1 0'/><geom size='1'/></body>"), STI_VALUE, 3, "joint", "springdamper"},
        {WORLD("<body><joint springdamper='-1 1'/><geom size='1'/></body>"), STI_VALUE, 3, "joint", "springdamper"},
        {WORLD("<body><joint type='ball' range='1 2'/><geom size='1'/></body>"), STI_VALUE, 3, "joint", "range"},
        {WORLD("<body><joint type='ball' limited='true'/><geom size='1'/></body>"), STI_OK, -1, NULL, NULL},
        {WORLD("<body><joint frictionloss='-1'/><geom size='1'/></body>"), STI_PHYSICS, 3, "joint", "frictionloss"},
        {TOP("<compiler autolimits='false'/><worldbody><body><joint range='0 1'/><geom size='1'/></body></worldbody>"), STI_VALUE, 3, "joint", "range"},
        {TOP("<asset><mesh name='m'/></asset>"), STI_MESH, 3, "mesh", ""},
        {TOP("<asset><mesh name='m' vertex='0 0 0 1'/></asset>"), STI_VALUE, 3, "mesh", "vertex"},
        {TOP("<asset><mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1' maxhullvert='9'/></asset>"), STI_UNSUPPORTED, 3, "mesh", "maxhullvert"},
        {TOP("<asset><material name='m'><layer texture='none' role='rgb'/></material></asset>"), STI_REFERENCE, 3, "layer", "texture"},
    };
    RUN(cases);
}

/* ---- actuators and tendons -------------------------------------------------------------------------------- */

#define ACT(x) SCENE("<actuator>" x "</actuator>")

TEST(actuators_and_tendons) {
    static const bad cases[] = {
        {ACT("<damper joint='j' kv='-1' ctrlrange='0 1'/>"), STI_VALUE, 3, "damper", "kv"},
        {ACT("<damper joint='j' ctrlrange='-1 1'/>"), STI_VALUE, 3, "damper", "ctrlrange"},
        {ACT("<position joint='j' kp='-1' dampratio='1'/>"), STI_VALUE, 3, "position", NULL},
        {ACT("<position joint='j' inheritrange='1' ctrlrange='0 1'/>"), STI_VALUE, 3, "position", NULL},
        {ACT("<position joint='j' inheritrange='1'/>"), STI_VALUE, 3, "position", NULL},
        {ACT("<position joint='ball' inheritrange='1'/>"), STI_VALUE, 3, "position", NULL},
        {ACT("<position site='s' inheritrange='1'/>"), STI_VALUE, 3, "position", NULL},
        {ACT("<motor joint='j' slidersite='s'/>"), STI_VALUE, 3, "motor", "slidersite"},
        {ACT("<motor joint='j' cranklength='1'/>"), STI_VALUE, 3, "motor", "cranklength"},
        {ACT("<motor cranksite='s'/>"), STI_VALUE, 3, "motor", NULL},
        {ACT("<motor cranksite='s' slidersite='t'/>"), STI_VALUE, 3, "motor", "cranklength"},
        {ACT("<motor cranksite='s' slidersite='t' cranklength='1'/>"), STI_OK, -1, NULL, NULL},
        {ACT("<motor joint='j' forcelimited='true'/>"), STI_VALUE, 3, "motor", "forcerange"},
        {ACT("<general joint='j' dyntype='integrator' actlimited='true'/>"), STI_VALUE, 3, "general", "actrange"},
        {ACT("<cylinder joint='j' diameter='1'/><cylinder joint='j' area='2'/>"), STI_OK, -1, NULL, NULL},
        {SCENE("<tendon><fixed name='a' limited='true'><joint joint='j' coef='1'/></fixed></tendon>"), STI_VALUE, 3, "fixed", "range"},
        {SCENE("<tendon><fixed name='a' armature='-1'><joint joint='j' coef='1'/></fixed></tendon>"), STI_VALUE, 3, "fixed", "armature"},
        {SCENE("<tendon><fixed name='a' actuatorfrcrange='1 2'><joint joint='j' coef='1'/></fixed></tendon>"), STI_VALUE, 3, "fixed", "actuatorfrcrange"},
        {SCENE("<tendon><spatial name='a'><site site='s'/><pulley divisor='2'/><site site='t'/></spatial></tendon>"), STI_VALUE, 3, NULL, NULL},
        {SCENE("<tendon><spatial name='a'><site site='s'/><geom geom='g'/></spatial></tendon>"), STI_VALUE, 3, NULL, NULL},
        {SCENE("<tendon><spatial name='a' width='0'><site site='s'/><site site='t'/></spatial></tendon>"), STI_VALUE, 3, "spatial", "width"},
        {SCENE("<compiler autolimits='false'/><actuator>\n<motor joint='j' ctrlrange='0 1'/></actuator>"), STI_VALUE, 4, "motor", "ctrlrange"},
    };
    RUN(cases);
}

/* An empty name is none: it once stood for object -1. */
TEST(empty_names) {
    static const char *const scenes[] = {
        SCENE("<contact><pair geom1='' geom2='g'/></contact>"), SCENE("<contact><pair geom1='g' geom2=''/></contact>"),
        SCENE("<contact><exclude body1='' body2='b'/></contact>"), SCENE("<contact><exclude body1='b' body2=''/></contact>"),
        SCENE("<equality><connect body1='' body2='b' anchor='0 0 0'/></equality>"), SCENE("<equality><weld body1='' body2='b'/></equality>"),
        SCENE("<equality><connect site1='' site2='s'/></equality>"), SCENE("<equality><connect site1='s' site2=''/></equality>"),
        SCENE("<equality><weld site1='s' site2=''/></equality>"), SCENE("<equality><joint joint1=''/></equality>"),
        SCENE("<equality><tendon tendon1=''/></equality>"), ACT("<motor joint=''/>"), ACT("<motor site=''/>"),
        ACT("<motor cranksite='s' slidersite='' cranklength='1'/>"), ACT("<motor cranksite='' slidersite='s' cranklength='1'/>"),
        SCENE("<tendon><spatial name='a'><site site=''/><site site='t'/></spatial></tendon>"),
        SCENE("<tendon><spatial name='a'><site site='s'/><geom geom=''/><site site='t'/></spatial></tendon>"),
        SCENE("<tendon><fixed name='a'><joint joint='' coef='1'/></fixed></tendon>"),
        SCENE("<sensor><touch site=''/></sensor>"), SCENE("<sensor><rangefinder site=''/></sensor>"),
        SCENE("<sensor><jointpos joint=''/></sensor>"), SCENE("<sensor><framepos objtype='body' objname=''/></sensor>"),
        SCENE("<sensor><framepos objtype='body' objname='b' reftype='site' refname=''/></sensor>"),
        SCENE("<sensor><distance geom1='' geom2='g'/></sensor>"), SCENE("<sensor><distance body1='b' body2=''/></sensor>"),
    };
    for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
        sti_error error = run(NULL, scenes[i], strlen(scenes[i]), 4 << 20);
        if (error.code == STI_OK) fprintf(stderr, "loads: %s\n", scenes[i]);
        CHECK(error.code != STI_OK && error.line > 0);
    }
}
/* clang-format on */

MAIN(CASE(pins_and_parts), CASE(matter_and_contact_of_soft_bodies), CASE(shapes_of_soft_bodies),
     CASE(vertices_of_flex), CASE(sensors), CASE(equalities_and_pairs), CASE(cameras_lights_and_geoms),
     CASE(actuators_and_tendons), CASE(empty_names))
