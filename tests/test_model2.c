/* SPDX-License-Identifier: Apache-2.0 */
/* Tendons, actuators, sensors, constraints, keyframes and reference values of small models whose
   numbers follow from formulas. */
#include "test.h"
#include <stiction/stiction.h>

static sti_model *compile_with(const char *xml, sti_report *report, sti_error *error) {
    sti_spec *spec = sti_spec_parse(xml, strlen(xml), NULL, report, error);
    if (!spec) return NULL;
    sti_model *m = sti_model_compile(spec, report, error);
    sti_spec_free(spec);
    return m;
}

static sti_model *compile(const char *xml) {
    sti_error error = {0};
    char text[800];
    sti_model *m = compile_with(xml, NULL, &error);
    if (!m) fprintf(stderr, "%s\n", sti_error_format(&error, text, sizeof text));
    REQUIRE(m != NULL);
    return m;
}

/* A file that must fail with this code, line, element and attribute. */
static void refuse(const char *xml, sti_status code, int line, const char *element, const char *attribute) {
    sti_error error = {0};
    sti_model *m = compile_with(xml, NULL, &error);
    CHECK(m == NULL);
    CHECK(error.code == code);
    CHECK(error.line == line);
    CHECK(strcmp(error.element, element) == 0);
    CHECK(strcmp(error.attribute, attribute) == 0);
    if (m || error.code != code || error.line != line || strcmp(error.element, element) != 0 ||
        strcmp(error.attribute, attribute) != 0)
        fprintf(stderr, "in: %s\ngot %d: line %d: %s@%s: %s\n", xml, error.code, error.line, error.element,
                error.attribute, error.message);
    if (m) sti_model_free(m);
}

/* Whether there is a warning of this sort. */
static bool warned(const sti_report *report, sti_status code, const char *attribute) {
    for (int i = 0; i < report->count; i++) {
        const sti_diagnostic *d = &report->items[i];
        if (d->severity == STI_SEVERITY_WARNING && d->error.code == code &&
            strcmp(d->error.attribute, attribute) == 0)
            return true;
    }
    return false;
}

/* One link of mass 2 at distance 0.5 from a hinge about y, and a slide of mass 3, both with sites. */
#define WORLD                                                                                             \
    "<compiler angle='radian'/>"                                                                          \
    "<worldbody><site name='ground' pos='0 0 2'/>"                                                        \
    "<body name='link'><joint name='hinge' axis='0 1 0' range='-1 3'/>"                                   \
    "<inertial pos='0.5 0 0' mass='2' diaginertia='0.1 0.1 0.1'/><site name='tip' pos='1 0 0'/>"          \
    "<geom name='ball' type='sphere' size='0.1' mass='0'/><geom name='rod' type='cylinder' size='0.1 1' " \
    "mass='0'/>"                                                                                          \
    "<body name='end' pos='1 0 0'><joint name='joint3' type='ball'/><geom size='0.1' mass='1'/>"          \
    "<site name='far' pos='1 0 0'/></body></body>"                                                        \
    "<body name='cart' pos='0 3 0'><joint name='slide' type='slide' axis='1 0 0' armature='1'/>"          \
    "<geom name='box' type='box' size='0.1 0.1 0.1' mass='3'/><site name='top' pos='0 0 0.2'/></body>"    \
    "</worldbody>"
#define SCENE(defaults, rest) "<mujoco>" defaults WORLD rest "</mujoco>"
#define ACTUATORS(text) SCENE("", "<actuator>" text "</actuator>")

/* ---- actuators --------------------------------------------------------------------------------------- */

static void check_servo(const sti_model *m, int i, double gain, double b0, double b1, double b2) {
    const double *bias = m->actuator_biasprm + 10 * i;
    CHECK_NEAR(m->actuator_gainprm[10 * i], gain, 1e-12);
    CHECK_NEAR(bias[0], b0, 1e-12);
    CHECK_NEAR(bias[1], b1, 1e-12);
    CHECK_NEAR(bias[2], b2, 1e-12);
}

TEST(shortcuts) {
    sti_model *m = compile(ACTUATORS("<motor joint='hinge' gear='5'/>"
                                     "<position joint='hinge' kp='7' kv='2' timeconst='0.1'/>"
                                     "<velocity joint='hinge' kv='4'/>"
                                     "<intvelocity joint='hinge' kp='3' actrange='-1 1'/>"
                                     "<damper joint='hinge' kv='6' ctrlrange='0 1'/>"
                                     "<cylinder joint='hinge' diameter='2' bias='1 2 3' timeconst='4'/>"));
    CHECK(m->nu == 6 && m->na == 3);
    check_servo(m, 0, 1, 0, 0, 0);
    CHECK(m->actuator_gear[0] == 5 && m->actuator_actadr[0] == -1);
    check_servo(m, 1, 7, 0, -7, -2);
    CHECK(m->actuator_dyntype[1] == STI_DYN_FILTEREXACT && m->actuator_dynprm[10] == 0.1);
    CHECK(m->actuator_actadr[1] == 0 && m->actuator_actnum[1] == 1);
    check_servo(m, 2, 4, 0, 0, -4);
    check_servo(m, 3, 3, 0, -3, 0);
    CHECK(m->actuator_dyntype[3] == STI_DYN_INTEGRATOR && m->actuator_actlimited[3] &&
          m->actuator_actadr[3] == 1);
    CHECK(m->actuator_gaintype[4] == STI_GAIN_AFFINE && m->actuator_ctrllimited[4]);
    CHECK_NEAR(m->actuator_gainprm[42], -6, 0);
    check_servo(m, 5, acos(-1.0), 1, 2, 3); /* pi/4 d^2 */
    CHECK(m->actuator_dyntype[5] == STI_DYN_FILTER && m->actuator_dynprm[50] == 4);
    sti_model_free(m);
}

/* Parameters come from a default of the same shortcut or of general, else from the nearest outer class
   that has one, else they are the shortcut's own. */
TEST(actuator_defaults) {
    sti_model *m =
        compile(SCENE("<default><position kp='50' kv='3'/><default class='v'><velocity kv='9'/></default>"
                      "<default class='g'><general gainprm='8' biasprm='0 0 -1' ctrlrange='-2 2'/></default>"
                      "</default>",
                      "<actuator><position joint='hinge'/><position joint='hinge' kp='2'/>"
                      "<motor joint='hinge'/><general joint='hinge'/>"
                      "<position joint='hinge' class='v'/><velocity joint='hinge' class='v'/>"
                      "<position joint='hinge' class='g'/><motor joint='hinge' class='g'/></actuator>"));
    check_servo(m, 0, 50, 0, -50, -3);
    check_servo(m, 1, 2, 0, -2, -3);
    check_servo(m, 2, 1, 0, 0, 0);
    check_servo(m, 3, 50, 0, -50, -3);
    check_servo(m, 4, 50, 0, -50, -3); /* from the outer class */
    check_servo(m, 5, 9, 0, 0, -9);
    check_servo(m, 6, 8, 0, -8, -1);
    check_servo(m, 7, 1, 0, 0, 0);
    CHECK(m->actuator_ctrllimited[7] && m->actuator_ctrlrange[15] == 2);
    sti_model_free(m);
}

TEST(inherited_ranges) {
    sti_model *m = compile(
        SCENE("", "<tendon><fixed name='t' range='0 1'><joint joint='hinge' coef='2'/></fixed></tendon>"
                  "<actuator><position joint='hinge' inheritrange='0.5'/>"
                  "<position tendon='t' inheritrange='1.2'/>"
                  "<intvelocity joint='hinge' inheritrange='1'/></actuator>"));
    CHECK_NEAR(m->actuator_ctrlrange[0], 0, 1e-15); /* range -1 3, half of it about 1 */
    CHECK_NEAR(m->actuator_ctrlrange[1], 2, 1e-15);
    CHECK_NEAR(m->actuator_ctrlrange[2], -0.1, 1e-15);
    CHECK_NEAR(m->actuator_ctrlrange[3], 1.1, 1e-15);
    CHECK(m->actuator_ctrllimited[0] && m->actuator_ctrllimited[1] && !m->actuator_ctrllimited[2]);
    CHECK(m->actuator_actlimited[2] && m->actuator_actrange[4] == -1 && m->actuator_actrange[5] == 3);
    sti_model_free(m);
}

/* On a slide of mass 3 with armature 1: m = 4 / gear^2. */
TEST(damping_ratio) {
    sti_model *m = compile(
        ACTUATORS("<position joint='slide' kp='25' dampratio='0.5'/>"
                  "<position joint='slide' kp='25' dampratio='1' gear='2'/><motor joint='slide' gear='3'/>"));
    check_servo(m, 0, 25, 0, -25, -0.5 * 2 * sqrt(25.0 * 4));
    check_servo(m, 1, 25, 0, -25, -2 * sqrt(25.0 * 1));
    CHECK_NEAR(m->actuator_acc0[0], 0.25, 1e-14);
    CHECK_NEAR(m->actuator_acc0[2], 0.75, 1e-14);
    sti_model_free(m);
}

TEST(transmissions) {
    sti_model *m = compile(SCENE(
        "", "<tendon><spatial name='t'><site site='tip'/><site site='top'/></spatial></tendon>"
            "<actuator><motor joint='joint3' gear='1 2 3'/><motor jointinparent='joint3'/>"
            "<motor tendon='t'/><motor site='far' refsite='top'/>"
            "<motor cranksite='tip' slidersite='top' cranklength='5'/><motor site='ground'/></actuator>"));
    static const int nnz[] = {3, 3, 2, 5, 2, 0}, cols[] = {1, 2, 3, 1, 2, 3, 0, 4, 0, 1, 2, 3, 4, 0, 4};
    int adr = 0;
    CHECK(m->nJmom == 15);
    for (int i = 0; i < 6; i++) {
        CHECK(m->moment_rownnz[i] == nnz[i] && m->moment_rowadr[i] == adr);
        adr += nnz[i];
    }
    CHECK(memcmp(m->moment_colind, cols, sizeof cols) == 0);
    CHECK(m->actuator_trntype[3] == STI_TRN_SITE &&
          m->actuator_trnid[6] == sti_model_id(m, STI_OBJ_SITE, "far"));
    CHECK(m->actuator_trnid[7] == sti_model_id(m, STI_OBJ_SITE, "top"));
    CHECK(m->actuator_trntype[4] == STI_TRN_SLIDERCRANK && m->actuator_cranklength[4] == 5);
    CHECK(m->actuator_trnid[1] == -1);
    sti_model_free(m);
}

TEST(actuator_errors) {
#define BAD(text, code, element, attribute) \
    refuse("<mujoco>" WORLD "\n<actuator>\n" text "\n</actuator></mujoco>", code, 3, element, attribute)
    BAD("<motor/>", STI_VALUE, "motor", "");
    BAD("<motor joint='hinge' tendon='t'/>", STI_VALUE, "motor", "tendon");
    BAD("<motor joint='none'/>", STI_REFERENCE, "motor", "joint");
    BAD("<motor joint='hinge' ctrllimited='true'/>", STI_VALUE, "motor", "ctrlrange");
    BAD("<motor joint='hinge' refsite='tip'/>", STI_VALUE, "motor", "refsite");
    BAD("<motor cranksite='tip' cranklength='1'/>", STI_VALUE, "motor", "slidersite");
    BAD("<motor cranksite='tip' slidersite='top'/>", STI_VALUE, "motor", "cranklength");
    BAD("<position joint='hinge' kv='1' dampratio='1'/>", STI_VALUE, "position", "dampratio");
    BAD("<position joint='hinge' kv='-1'/>", STI_VALUE, "position", "kv");
    BAD("<position joint='hinge' ctrlrange='0 1' inheritrange='1'/>", STI_VALUE, "position", "ctrlrange");
    BAD("<position joint='slide' inheritrange='1'/>", STI_VALUE, "position", "inheritrange");
    BAD("<position site='tip' inheritrange='1'/>", STI_VALUE, "position", "inheritrange");
    BAD("<damper joint='hinge' ctrlrange='-1 1'/>", STI_VALUE, "damper", "ctrlrange");
    BAD("<general joint='hinge' actrange='0 1'/>", STI_VALUE, "general", "actrange");
    BAD("<general joint='hinge' dyntype='filter' actdim='2'/>", STI_VALUE, "general", "actdim");
    BAD("<general joint='hinge' dyntype='user'/>", STI_UNSUPPORTED, "general", "dyntype");
    BAD("<general joint='hinge' dyntype='dcmotor'/>", STI_VALUE, "general", "gaintype");
    BAD("<orientation joint='hinge'/>", STI_VALUE, "orientation", "joint");
    BAD("<muscle joint='hinge' tausmooth='-1'/>", STI_VALUE, "muscle", "tausmooth");
#undef BAD
}

/* ---- tendons ----------------------------------------------------------------------------------------- */

TEST(tendon_paths) {
    sti_model *m = compile(
        SCENE("", "<tendon>"
                  "<spatial name='a' width='0.1'><site site='ground'/><geom geom='ball' sidesite='tip'/>"
                  "<site site='tip'/><pulley divisor='2'/><site site='ground'/><geom geom='rod'/>"
                  "<site site='far'/></spatial>"
                  "<fixed name='b' springlength='0.3'><joint joint='slide' coef='-2'/>"
                  "<joint joint='hinge' coef='3'/></fixed></tendon>"));
    int ground = sti_model_id(m, STI_OBJ_SITE, "ground"), tip = sti_model_id(m, STI_OBJ_SITE, "tip");
    int far = sti_model_id(m, STI_OBJ_SITE, "far"), ball = sti_model_id(m, STI_OBJ_GEOM, "ball");
    int rod = sti_model_id(m, STI_OBJ_GEOM, "rod"), slide = sti_model_id(m, STI_OBJ_JOINT, "slide");
    const int type[] = {STI_WRAP_SITE,     STI_WRAP_SPHERE, STI_WRAP_SITE,  STI_WRAP_PULLEY, STI_WRAP_SITE,
                        STI_WRAP_CYLINDER, STI_WRAP_SITE,   STI_WRAP_JOINT, STI_WRAP_JOINT};
    const int id[] = {ground, ball, tip, -1, ground, rod, far, slide, 0};
    const double prm[] = {0, tip, 0, 2, 0, -1, 0, -2, 3};
    const int cols[] = {0, 1, 2, 3, 0, 4};
    CHECK(m->nwrap == 9 && m->nJten == 6 && m->tendon_adr[1] == 7 && m->tendon_num[0] == 7);
    for (int k = 0; k < 9; k++)
        CHECK(m->wrap_type[k] == type[k] && m->wrap_objid[k] == id[k] && m->wrap_prm[k] == prm[k]);
    CHECK(m->ten_J_rownnz[0] == 4 && m->ten_J_rowadr[1] == 4);
    CHECK(memcmp(m->ten_J_colind, cols, sizeof cols) == 0);
    CHECK(m->tendon_lengthspring[2] == 0.3 && m->tendon_lengthspring[3] == 0.3);
    CHECK(m->tendon_width[0] == 0.1 && m->tendon_width[1] == 0.003);
    sti_model_free(m);
}

/* Straight tendon from the tip (1 0 0) to the ground site (0 0 2): length sqrt 5; its open rest length is
   that at springref. Fixed tendon on the slide: weight coef^2 / (3 + 1). */
TEST(tendon_reference) {
    sti_model *m = compile(
        "<mujoco><compiler angle='radian'/><worldbody><site name='g' pos='0 0 2'/><body>"
        "<joint name='h' axis='0 1 0' springref='1.5707963267948966'/><geom size='0.1' mass='2' pos='1 0 0'/>"
        "<site name='tip' pos='1 0 0'/></body><body pos='9 0 0'><joint name='s' type='slide' armature='1' "
        "axis='1 0 0'/>"
        "<geom size='0.1' mass='3' pos='0.5 0 0'/></body></worldbody>"
        "<tendon><spatial><site site='tip'/><site site='g'/></spatial>"
        "<fixed><joint joint='s' coef='3'/></fixed></tendon></mujoco>");
    CHECK_NEAR(m->tendon_length0[0], sqrt(5.0), 1e-14);
    CHECK_NEAR(m->tendon_lengthspring[0], 3, 1e-12); /* the tip hangs at 0 0 -1 */
    CHECK_NEAR(m->tendon_lengthspring[1], 3, 1e-12);
    CHECK_NEAR(m->tendon_invweight0[1], 9.0 / 4, 1e-13);
    sti_model_free(m);
}

TEST(tendon_errors) {
#define BAD(text, code, line, element, attribute) \
    refuse("<mujoco>" WORLD "\n<tendon>\n" text "\n</tendon></mujoco>", code, line, element, attribute)
#define S(name) "<site site='" name "'/>\n"
    BAD("<spatial/>", STI_VALUE, 3, "spatial", "");
    BAD("<spatial>\n" S("tip") "<geom geom='ball'/>\n</spatial>", STI_VALUE, 5, "geom", "");
    BAD("<spatial>\n" S("tip") "<geom geom='box'/>\n" S("top") "</spatial>", STI_VALUE, 5, "geom", "geom");
    BAD("<spatial>\n" S("tip") S("tip") "</spatial>", STI_VALUE, 5, "site", "");
    BAD("<spatial>\n" S("tip") S("top") "<pulley divisor='2'/>\n</spatial>", STI_VALUE, 6, "pulley", "");
    BAD("<spatial>\n" S("tip") S("top") "<pulley divisor='0'/>\n" S("tip") S("top") "</spatial>", STI_VALUE,
        6, "pulley", "divisor");
    BAD("<spatial>\n" S("tip") "<pulley divisor='2'/>\n" S("tip") S("top") "</spatial>", STI_VALUE, 4, "site",
        "");
    BAD("<spatial>\n" S("tip") S("nowhere") "</spatial>", STI_REFERENCE, 5, "site", "site");
    BAD("<spatial armature='1'>\n" S("tip") "<geom geom='ball'/>\n" S("top") "</spatial>", STI_VALUE, 3,
        "spatial", "armature");
    BAD("<spatial width='0'>\n" S("tip") S("top") "</spatial>", STI_VALUE, 3, "spatial", "width");
    BAD("<fixed>\n<joint joint='joint3' coef='1'/></fixed>", STI_VALUE, 4, "joint", "joint");
    BAD("<fixed><joint joint='hinge' coef='1'/><joint joint='slide' coef='1'/><joint joint='hinge' "
        "coef='1'/></fixed>",
        STI_VALUE, 3, "fixed", "");
    BAD("<fixed limited='true'><joint joint='hinge' coef='1'/></fixed>", STI_VALUE, 3, "fixed", "range");
    BAD("<fixed actuatorfrcrange='1 2'><joint joint='hinge' coef='1'/></fixed>", STI_VALUE, 3, "fixed",
        "actuatorfrcrange");
    BAD("<fixed springlength='2 1'><joint joint='hinge' coef='1'/></fixed>", STI_VALUE, 3, "fixed",
        "springlength");
#undef S
#undef BAD
}

/* ---- sensors ----------------------------------------------------------------------------------------- */

TEST(sensor_layout) {
    sti_model *m =
        compile(SCENE("", "<actuator><motor name='a' joint='hinge'/></actuator><sensor>"
                          "<gyro site='tip' cutoff='2' noise='0.1'/><jointpos joint='hinge'/>"
                          "<framequat objtype='xbody' objname='end' reftype='site' refname='tip'/>"
                          "<actuatorfrc actuator='a'/><ballquat joint='joint3'/><subtreecom body='link'/>"
                          "<user dim='7' needstage='vel'/><framexaxis objtype='geom' objname='ball'/><clock/>"
                          "</sensor>"));
    const int dim[] = {3, 1, 4, 1, 4, 3, 7, 3, 1}, stage[] = {2, 1, 1, 3, 1, 1, 2, 1, 1};
    const int data[] = {0, 0, STI_DATA_QUATERNION, 0, STI_DATA_QUATERNION, 0, 0, STI_DATA_AXIS, 0};
    int adr = 0;
    for (int i = 0; i < 9; i++) {
        CHECK(m->sensor_dim[i] == dim[i] && m->sensor_adr[i] == adr);
        CHECK(m->sensor_needstage[i] == stage[i] && m->sensor_datatype[i] == data[i]);
        adr += dim[i];
    }
    CHECK(m->nsensordata == adr);
    CHECK(m->sensor_cutoff[0] == 2 && m->sensor_noise[0] == 0.1);
    CHECK(m->sensor_type[2] == STI_SENSOR_FRAMEQUAT && m->sensor_objtype[2] == STI_OBJ_XBODY &&
          m->sensor_objid[2] == 2);
    CHECK(m->sensor_reftype[2] == STI_OBJ_SITE && m->sensor_refid[2] == sti_model_id(m, STI_OBJ_SITE, "tip"));
    CHECK(m->sensor_objtype[8] == STI_OBJ_UNKNOWN && m->sensor_objid[8] == -1 && m->sensor_refid[8] == -1);
    sti_model_free(m);
}

TEST(contact_sensor_layout) {
    sti_model *m = compile(
        SCENE("", "<sensor><contact/><contact data='' num='3'/><contact data='tangent found force' num='4'/>"
                  "<contact geom1='ball' subtree2='link' data='dist pos normal'/>"
                  "<contact site='tip' body2='link' data='linvel'/><contact data='found' reduce='maxforce'/>"
                  "<contact data='torque angvel' num='2'/><contact reduce='netforce' num='3'/>"
                  "<contact reduce='mindist' body1='world'/></sensor>"));
    const int dim[] = {1, 3, 28, 7, 3, 1, 12, 3, 1}, stage[] = {1, 1, 3, 1, 2, 3, 3, 3, 1};
    const int bits[] = {1, 1, 67, 8 + 16 + 32, 128, 1, 4 + 256, 1, 1}, reduce[] = {0, 0, 0, 0, 0, 2, 0, 3, 1};
    for (int i = 0; i < 9; i++) {
        CHECK(m->sensor_dim[i] == dim[i] && m->sensor_needstage[i] == stage[i]);
        CHECK(m->sensor_intprm[3 * i] == bits[i] && m->sensor_intprm[3 * i + 1] == reduce[i]);
    }
    CHECK(m->sensor_intprm[2] == 1 && m->sensor_intprm[3 * 2 + 2] == 4);
    CHECK(m->sensor_objtype[0] == STI_OBJ_UNKNOWN && m->sensor_reftype[0] == STI_OBJ_UNKNOWN);
    CHECK(m->sensor_objtype[3] == STI_OBJ_GEOM && m->sensor_reftype[3] == STI_OBJ_XBODY);
    CHECK(m->sensor_objtype[4] == STI_OBJ_SITE && m->sensor_reftype[4] == STI_OBJ_BODY);
    CHECK(m->sensor_objtype[8] == STI_OBJ_BODY && m->sensor_objid[8] == 0);
    sti_model_free(m);
}

TEST(sensor_errors) {
#define BAD(text, code, element, attribute) \
    refuse("<mujoco>" WORLD "\n<sensor>\n" text "\n</sensor></mujoco>", code, 3, element, attribute)
    BAD("<gyro site='none'/>", STI_REFERENCE, "gyro", "site");
    BAD("<jointpos joint='joint3'/>", STI_VALUE, "jointpos", "joint");
    BAD("<ballquat joint='hinge'/>", STI_VALUE, "ballquat", "joint");
    BAD("<framequat objtype='site' objname='tip' cutoff='1'/>", STI_VALUE, "framequat", "cutoff");
    BAD("<framepos objtype='site' objname='tip' refname='top'/>", STI_VALUE, "framepos", "reftype");
    BAD("<framepos objtype='site' objname='link'/>", STI_REFERENCE, "framepos", "objname");
    BAD("<user dim='-1'/>", STI_VALUE, "user", "dim");
    BAD("<user dim='3' datatype='quaternion'/>", STI_VALUE, "user", "dim");
    BAD("<clock noise='-1'/>", STI_VALUE, "clock", "noise");
    BAD("<jointlimitpos joint='joint3'/>", STI_VALUE, "jointlimitpos", "joint");
    BAD("<contact geom1='ball' body1='link'/>", STI_VALUE, "contact", "body1");
    BAD("<contact subtree1='link' site='tip'/>", STI_VALUE, "contact", "site");
    BAD("<contact body2='link' geom2='ball'/>", STI_VALUE, "contact", "body2");
    BAD("<contact geom1='none'/>", STI_REFERENCE, "contact", "geom1");
    BAD("<contact body1='link' body2='none'/>", STI_REFERENCE, "contact", "body2");
    BAD("<contact subtree2=''/>", STI_REFERENCE, "contact", "subtree2");
    BAD("<contact site='ball'/>", STI_REFERENCE, "contact", "site");
    BAD("<contact num='0'/>", STI_VALUE, "contact", "num");
    BAD("<contact num='-3' data='force'/>", STI_VALUE, "contact", "num");
    BAD("<contact num='2.5'/>", STI_VALUE, "contact", "num");
    BAD("<contact num='2147483647' data='pos'/>", STI_LIMIT, "contact", "num");
    BAD("<contact data='found depth'/>", STI_VALUE, "contact", "data");
    BAD("<contact data='force pos force'/>", STI_VALUE, "contact", "data");
    BAD("<contact reduce='all'/>", STI_VALUE, "contact", "reduce");
    BAD("<contact reduce=''/>", STI_VALUE, "contact", "reduce");
    BAD("<contact reduce='netforce' data='force angvel'/>", STI_VALUE, "contact", "data");
    BAD("<rangefinder site='tip' data='dist dist'/>", STI_VALUE, "rangefinder", "data");
    BAD("<rangefinder data='dir'/>", STI_VALUE, "rangefinder", "site");
    BAD("<contact geom3='ball'/>", STI_SCHEMA, "contact", "geom3");
#undef BAD
}

/* ---- constraints ------------------------------------------------------------------------------------- */

/* Body `end` sits at 1 0 0 and the cart at 0 3 0, all unrotated. */
TEST(equality_data) {
    sti_model *m =
        compile(SCENE("", "<equality><connect body1='end' body2='cart' anchor='0 0 1'/>"
                          "<weld body1='end' body2='cart' anchor='0 0 1' torquescale='2' active='false'/>"
                          "<weld body1='link' relpose='1 2 3 0 2 0 0'/><connect site1='tip' site2='top'/>"
                          "<joint joint1='hinge' polycoef='1 2' solref='0.1'/></equality>"));
    const double connect[] = {0, 0, 1, 1, -3, 1}, weld[] = {0, 0, 1, -1, 3, 1, 1, 0, 0, 0, 2};
    for (int k = 0; k < 6; k++) CHECK_NEAR(m->eq_data[k], connect[k], 1e-15);
    for (int k = 0; k < 11; k++) CHECK_NEAR(m->eq_data[11 + k], weld[k], 1e-15);
    CHECK(m->eq_active0[0] == 1 && m->eq_active0[1] == 0);
    CHECK(m->eq_obj2id[2] == 0 && m->eq_data[22 + 7] == 1 && m->eq_data[22 + 5] == 3);
    CHECK(m->eq_objtype[3] == STI_OBJ_SITE && m->eq_obj1id[3] == sti_model_id(m, STI_OBJ_SITE, "tip"));
    CHECK(m->eq_type[4] == STI_EQ_JOINT && m->eq_obj2id[4] == -1 && m->eq_data[44] == 1 &&
          m->eq_data[45] == 2);
    CHECK(m->eq_solref[8] == 0.1 && m->eq_solref[9] == 1);
    sti_model_free(m);
}

TEST(contact_exceptions) {
    sti_model *m = compile(SCENE("", "<contact><pair geom1='box' geom2='ball' friction='0.5' margin='0.1'/>"
                                     "<exclude body1='cart' body2='link'/></contact>"));
    CHECK(m->pair_geom1[0] == sti_model_id(m, STI_OBJ_GEOM, "ball"));
    CHECK(m->pair_geom2[0] == sti_model_id(m, STI_OBJ_GEOM, "box"));
    CHECK(m->pair_friction[0] == 0.5 && m->pair_friction[1] == 1 && m->pair_margin[0] == 0.1 &&
          m->pair_dim[0] == 3);
    CHECK(m->exclude_body1[0] == 1 && m->exclude_body2[0] == 3);
    sti_model_free(m);
    refuse(SCENE("", "\n<contact>\n<exclude body1='link' body2='none'/></contact>"), STI_REFERENCE, 3,
           "exclude", "body2");
    refuse(SCENE("", "\n<contact><pair geom1='box' geom2='ball' condim='2'/></contact>"), STI_VALUE, 2,
           "pair", "condim");
    refuse(SCENE("", "\n<equality><weld body1='link' body2='link'/></equality>"), STI_VALUE, 2, "weld",
           "body2");
    refuse(SCENE("", "\n<equality><joint joint1='joint3'/></equality>"), STI_VALUE, 2, "joint", "joint1");
    refuse(SCENE("", "\n<equality><connect site1='tip' body1='link'/></equality>"), STI_VALUE, 2, "connect",
           "body1");
}

/* ---- keyframes and custom numbers -------------------------------------------------------------------- */

#define MOCAP                                                                                             \
    "<mujoco><size nkey='3'/><worldbody><body mocap='true' pos='1 2 3' quat='0 2 0 0'><geom "             \
    "size='1'/></body>"                                                                                   \
    "<body><joint type='ball'/><geom size='1'/></body><body><joint name='j' type='slide' ref='4'/><geom " \
    "size='1'/></body>"                                                                                   \
    "</worldbody><actuator><motor joint='j'/><position joint='j' timeconst='1'/></actuator>"

TEST(keyframes) {
    sti_report report;
    sti_error error = {0};
    sti_report_init(&report, NULL);
    sti_model *m = compile_with(MOCAP "<keyframe><key name='a' time='2' qpos='0 0 3 0 5' ctrl='1 2' act='7'/>"
                                      "<key qvel='1 2'/></keyframe></mujoco>",
                                &report, &error);
    REQUIRE(m != NULL);
    const double qpos[] = {0, 0, 1, 0, 5, /* the reference pose: */ 1, 0, 0, 0, 4, 1, 0, 0, 0, 4};
    const double mpos[] = {1, 2, 3}, mquat[] = {0, 1, 0, 0};
    CHECK(m->nkey == 3 && sti_model_id(m, STI_OBJ_KEY, "a") == 0);
    for (int k = 0; k < 15; k++) CHECK_NEAR(m->key_qpos[k], qpos[k], 1e-15);
    for (int k = 0; k < 3; k++) {
        CHECK(memcmp(m->key_mpos + 3 * k, mpos, sizeof mpos) == 0);
        CHECK(memcmp(m->key_mquat + 4 * k, mquat, sizeof mquat) == 0);
    }
    CHECK(m->key_time[0] == 2 && m->key_ctrl[1] == 2 && m->key_act[0] == 7 && m->key_act[1] == 0);
    CHECK(m->key_qvel[4] == 1 && m->key_qvel[5] == 2 && m->key_qvel[6] == 0);
    CHECK(report.nerror == 0 && warned(&report, STI_UNSUPPORTED, "qvel")); /* two velocities of four */
    sti_model_free(m);
    sti_report_free(&report);
    refuse(MOCAP "\n<keyframe>\n<key qpos='1 0 0 0 4 5'/></keyframe></mujoco>", STI_VALUE, 3, "key", "qpos");
    refuse(MOCAP "\n<keyframe>\n<key ctrl='1 2 3'/></keyframe></mujoco>", STI_VALUE, 3, "key", "ctrl");
}

TEST(custom_numbers) {
    sti_model *m =
        compile("<mujoco><custom><numeric name='a' data='1 2 3'/><numeric name='b' size='3' data='4'/>"
                "<text name='t' data='hello'/></custom></mujoco>");
    const double data[] = {1, 2, 3, 4, 0, 0};
    CHECK(m->nnumeric == 2 && m->nnumericdata == 6 && m->numeric_adr[1] == 3 && m->numeric_size[1] == 3);
    CHECK(memcmp(m->numeric_data, data, sizeof data) == 0);
    CHECK(sti_model_id(m, STI_OBJ_NUMERIC, "b") == 1);
    sti_model_free(m);
    refuse("<mujoco><custom>\n<numeric name='a' data='1 2' size='1'/></custom></mujoco>", STI_VALUE, 2,
           "numeric", "data");
    refuse("<mujoco><custom>\n<numeric name='a'/></custom></mujoco>", STI_VALUE, 2, "numeric", "size");
}

/* ---- reference values -------------------------------------------------------------------------------- */

/* A point mass 2 on a rod of length 0.5 about y, inertia 0.1: M = 0.1 + 2 * 0.25 = 0.6. */
TEST(inverse_weights) {
    sti_model *m = compile(
        "<mujoco><worldbody><body><joint axis='0 1 0' springdamper='0.1 0.5'/>"
        "<inertial pos='0.5 0 0' mass='2' diaginertia='0.1 0.1 0.1'/></body>"
        "<body pos='9 0 0'><freejoint/><geom type='box' size='1 2 3' mass='6'/></body>"
        "<body pos='0 9 0'><joint type='slide' axis='1 0 0' armature='5'/><geom size='1' mass='2'/></body>"
        "<body pos='0 0 9'><geom size='1'/></body></worldbody></mujoco>");
    double inertia[3] = {6.0 / 3 * (4 + 9), 6.0 / 3 * (1 + 9), 6.0 / 3 * (1 + 4)};
    double rotation = (1 / inertia[0] + 1 / inertia[1] + 1 / inertia[2]) / 3;
    CHECK_NEAR(m->dof_M0[0], 0.6, 1e-15);
    CHECK_NEAR(m->dof_invweight0[0], 1 / 0.6, 1e-14);
    CHECK_NEAR(m->body_invweight0[2], 0.25 / 0.6 / 3, 1e-14);
    CHECK_NEAR(m->body_invweight0[3], 1 / 0.6 / 3, 1e-14);
    CHECK_NEAR(m->jnt_stiffness[0], 0.6 / (0.1 * 0.1 * 0.5 * 0.5), 1e-11); /* inertia / (time ratio)^2 */
    CHECK_NEAR(m->dof_damping[0], 2 * 0.6 / 0.1, 1e-13);
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(m->dof_invweight0[1 + k], 1.0 / 6, 1e-15);
        CHECK_NEAR(m->dof_invweight0[4 + k], rotation, 1e-15);
    }
    CHECK_NEAR(m->body_invweight0[5], rotation, 1e-15);
    CHECK_NEAR(m->dof_M0[7], 7, 1e-15);
    CHECK_NEAR(m->dof_invweight0[7], 0.5, 1e-15); /* a lone slider counts without armature */
    CHECK_NEAR(m->body_invweight0[6], 0.5, 1e-15);
    CHECK(m->body_invweight0[8] == 0 && m->body_invweight0[9] == 0);
    CHECK_NEAR(m->stat.meaninertia, (0.6 + 18 + inertia[0] + inertia[1] + inertia[2] + 7) / 8, 1e-13);
    sti_model_free(m);
}

/* Body at 1 0 0 turned by 90 degrees about z; its camera at (1 0 0) in it is at (1 1 0) in the world. */
TEST(camera_and_light_reference) {
    sti_model *m = compile("<mujoco><worldbody><body pos='1 0 0' quat='1 0 0 1'><freejoint/><geom size='1' "
                           "mass='1' pos='0 0 2'/>"
                           "<camera pos='1 0 0' mode='track'/><light pos='0 1 0' dir='1 0 0' "
                           "mode='trackcom'/></body></worldbody></mujoco>");
    const double pos0[] = {0, 1, 0}, com[] = {0, 1, -2}, light[] = {-1, 0, 0}, dir[] = {0, 1, 0};
    for (int k = 0; k < 3; k++) {
        CHECK_NEAR(m->cam_pos0[k], pos0[k], 1e-15);
        CHECK_NEAR(m->cam_poscom0[k], com[k], 1e-15);
        CHECK_NEAR(m->light_pos0[k], light[k], 1e-15);
        CHECK_NEAR(m->light_dir0[k], dir[k], 1e-15);
    }
    CHECK_NEAR(m->cam_mat0[3], 1, 1e-15);
    sti_model_free(m);
}

TEST(statistics) {
    sti_model *m = compile("<mujoco><statistic meanmass='7'/><worldbody><geom type='plane' size='30 20 1'/>"
                           "<body pos='0 0 1'><geom size='0.5' mass='2'/></body><body pos='4 0 1'><geom "
                           "size='0.25' mass='3'/></body>"
                           "</worldbody></mujoco>");
    CHECK(m->stat.meanmass == 7); /* given */
    CHECK_NEAR(m->stat.meansize, 0.375, 1e-15);
    CHECK_NEAR(m->stat.extent, 7.25, 1e-14); /* x from -3 (a tenth of the plane) to 4.25 */
    CHECK_NEAR(m->stat.center[0], 0.625, 1e-15);
    CHECK_NEAR(m->stat.center[2], 0, 1e-15);
    sti_model_free(m);
}

TEST(singular_mass_matrix_warns) {
    sti_report report;
    sti_error error = {0};
    sti_report_init(&report, NULL);
    sti_model *m = compile_with("<mujoco><worldbody><body><joint name='a' type='slide' axis='1 0 0'/><joint "
                                "type='slide' axis='1 0 0'/>"
                                "<geom size='1' pos='0 0 1'/></body></worldbody></mujoco>",
                                &report, &error);
    CHECK(m != NULL && report.nerror == 0 && warned(&report, STI_PHYSICS, ""));
    if (m) sti_model_free(m);
    sti_report_free(&report);
}

/* ---- memory ------------------------------------------------------------------------------------------ */

typedef struct meter {
    long live, calls, fail_at;
} meter;

static void *metered(void *context, void *ptr, size_t old_size, size_t new_size) {
    meter *t = context;
    if (new_size == 0) {
        if (ptr) t->live -= (long)old_size;
        free(ptr);
        return NULL;
    }
    if (++t->calls == t->fail_at) return NULL;
    void *block = realloc(ptr, new_size);
    if (block) t->live += (long)new_size - (ptr ? (long)old_size : 0);
    return block;
}

/* Every allocation fails once: no model, no leak, the right status. */
TEST(every_allocation_may_fail) {
    const char *xml = SCENE(
        "<default><position kp='2'/></default>",
        "<tendon><spatial name='t'><site site='tip'/><geom geom='ball'/><site site='top'/></spatial></tendon>"
        "<actuator><position tendon='t' dampratio='1'/><motor site='far' refsite='tip'/></actuator>"
        "<sensor><gyro site='tip'/></sensor><equality><weld body1='link' body2='cart'/></equality>"
        "<keyframe><key/></keyframe><custom><numeric name='n' data='1 2'/></custom>");
    meter t = {0};
    sti_allocator allocator = {metered, &t};
    sti_load_options options = sti_load_options_default();
    options.allocator = &allocator;
    for (long n = 1; n < 5000; n++) {
        sti_error error = {0};
        t = (meter){.fail_at = n};
        sti_spec *spec = sti_spec_parse(xml, strlen(xml), &options, NULL, &error);
        sti_model *m = spec ? sti_model_compile(spec, NULL, &error) : NULL;
        bool done = m != NULL && t.calls < n;
        if (m) sti_model_free(m);
        else CHECK(error.code == STI_NO_MEMORY);
        if (spec) sti_spec_free(spec);
        CHECK(t.live == 0);
        if (done) return;
    }
    CHECK(!"never got through");
}

MAIN(CASE(shortcuts), CASE(actuator_defaults), CASE(inherited_ranges), CASE(damping_ratio),
     CASE(transmissions), CASE(actuator_errors), CASE(tendon_paths), CASE(tendon_reference),
     CASE(tendon_errors), CASE(sensor_layout), CASE(contact_sensor_layout), CASE(sensor_errors),
     CASE(equality_data), CASE(contact_exceptions), CASE(keyframes), CASE(custom_numbers),
     CASE(inverse_weights), CASE(camera_and_light_reference), CASE(statistics),
     CASE(singular_mass_matrix_warns), CASE(every_allocation_may_fail))
