/* SPDX-License-Identifier: Apache-2.0 */
/* The compiled model: closed forms of inertia and orientation, names, memory, errors with lines. */
#include "model/compile.h"
#include "model/state.h"
#include "test.h"

#define PI 3.14159265358979323846

/* Compiles <mujoco>text</mujoco>; NULL on failure, with the error in `last`. */
static sti_error last;
static sti_model *compile_with(const char *text, const sti_load_options *options, sti_report *report) {
    char xml[8192];
    memset(&last, 0, sizeof last);
    int n = snprintf(xml, sizeof xml, "<mujoco>%s</mujoco>", text);
    sti_spec *spec = sti_spec_parse(xml, (size_t)n, options, report, &last);
    sti_model *m = spec ? sti_model_compile(spec, report, &last) : NULL;
    sti_spec_free(spec);
    return m;
}
static sti_model *compile(const char *text) { return compile_with(text, NULL, NULL); }

static sti_model *need(const char *text) {
    sti_model *m = compile(text);
    if (!m)
        fprintf(stderr, "%s:%d: %s@%s: %s\n", last.file, last.line, last.element, last.attribute,
                last.message);
    REQUIRE(m);
    return m;
}

static void check_vec(const double *a, const double *b, int n, double tolerance) {
    for (int i = 0; i < n; i++) CHECK_NEAR(a[i], b[i], tolerance);
}
#define VEC(...) ((const double[]){__VA_ARGS__})
/* q and -q are the same rotation */
static void check_quat(const double *a, const double *b) {
    double dot = a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
    CHECK_NEAR(fabs(dot), 1, 1e-14);
}

#define WORLD(x) "<worldbody>" x "</worldbody>"
#define BODY(x) WORLD("<body>" x "</body>")

/* ---- inertia of shapes -------------------------------------------------------------------------------- */

static void check_shape(const char *geom, double mass, double xx, double yy, double zz) {
    char text[512];
    snprintf(text, sizeof text, BODY("<freejoint/><geom %s/>"), geom);
    sti_model *m = need(text);
    CHECK_NEAR(m->body_mass[1], mass, 1e-12 * mass);
    check_vec(m->body_inertia + 3, VEC(xx, yy, zz), 3, 1e-12 * (xx + yy + zz));
    sti_model_free(m);
}

TEST(solid_shapes) {
    double m, r = 0.1, h = 0.2, a = 0.1, b = 0.2, c = 0.3;
    m = 1000 * 4 * PI / 3 * r * r * r;
    check_shape("size='.1'", m, .4 * m * r * r, .4 * m * r * r, .4 * m * r * r);
    m = 1000 * 2 * PI * r * r * h;
    double side = m * (3 * r * r + 4 * h * h) / 12;
    check_shape("type='cylinder' size='.1 .2'", m, side, side, m * r * r / 2);
    m = 500 * 8 * a * b * c;
    check_shape("type='box' size='.1 .2 .3' density='500'", m, m * (b * b + c * c) / 3,
                m * (a * a + c * c) / 3, m * (a * a + b * b) / 3);
    m = 7;
    check_shape("type='ellipsoid' size='.1 .2 .3' mass='7'", m, m * (b * b + c * c) / 5,
                m * (a * a + c * c) / 5, m * (a * a + b * b) / 5);
    /* cylinder plus two half balls, whose centres are 3/8 r above their bases */
    double mc = 1000 * 2 * PI * r * r * h, ms = 1000 * 4 * PI / 3 * r * r * r, d = h + 3 * r / 8;
    side = mc * (3 * r * r + 4 * h * h) / 12 + ms * (83.0 / 320 * r * r + d * d);
    check_shape("type='capsule' size='.1 .2'", mc + ms, side, side, mc * r * r / 2 + .4 * ms * r * r);
}

TEST(shells) {
    double m = 3, r = 0.1, h = 0.2;
    check_shape("size='.1' mass='3' shellinertia='true'", m, 2 * m * r * r / 3, 2 * m * r * r / 3,
                2 * m * r * r / 3);
    /* tube and two discs, by area */
    double tube = m * 2 * h / (2 * h + r), discs = m - tube;
    double side = tube * (r * r / 2 + h * h / 3) + discs * (r * r / 4 + h * h);
    check_shape("type='cylinder' size='.1 .2' mass='3' shellinertia='true'", m, side, side,
                tube * r * r + discs * r * r / 2);
    /* a cube's shell: 5/3 of the solid moment */
    double cube = 5.0 / 3 * m * 2 * .01 / 3;
    check_shape("type='box' size='.1 .1 .1' mass='3' shellinertia='true'", m, cube, cube, cube);
    check_shape("size='.1' density='10' shellinertia='true'", 10 * 4 * PI * r * r,
                10 * 8 * PI / 3 * r * r * r * r, 10 * 8 * PI / 3 * r * r * r * r,
                10 * 8 * PI / 3 * r * r * r * r);
}

TEST(two_geoms) {
    /* two balls on a rod: centre by weight, inertia by Steiner */
    sti_model *m = need(
        BODY("<freejoint/><geom size='.1' mass='1' pos='0 0 0'/><geom size='.1' mass='3' pos='0 0 2'/>"));
    double own = .4 * 4 * .01, steiner = 1 * 1.5 * 1.5 + 3 * .5 * .5;
    check_vec(m->body_ipos + 3, VEC(0, 0, 1.5), 3, 1e-14);
    check_vec(m->body_inertia + 3, VEC(own + steiner, own + steiner, own), 3, 1e-13);
    CHECK_NEAR(m->body_mass[1], 4, 0);
    sti_model_free(m);
}

TEST(mesh_geom) {
    /* a brick as eight points: volume, centre, axes and fitted box are exact */
    sti_model *m =
        need("<asset><mesh name='brick' vertex='1 1 1 1.5 1 1 1 1.25 1 1.5 1.25 1 1 1 2 1.5 1 2 1 1.25 2 1.5 "
             "1.25 2'/></asset>" BODY("<freejoint/><geom type='mesh' mesh='brick' density='8'/><geom "
                                      "type='box' mesh='brick' mass='0'/>"));
    CHECK_NEAR(m->body_mass[1], 1, 1e-12);
    check_vec(m->geom_pos, VEC(1.25, 1.125, 1.5), 3, 1e-12);
    double s[3] = {.25, .125, .5}, f[3];
    for (int i = 0; i < 3; i++) f[i] = m->geom_size[3 + i];
    CHECK_NEAR(f[0] * f[1] * f[2], s[0] * s[1] * s[2], 1e-12);
    CHECK_NEAR(m->body_inertia[3], (s[0] * s[0] + s[2] * s[2]) / 3, 1e-12);
    CHECK_NEAR(m->body_inertia[4], (s[1] * s[1] + s[2] * s[2]) / 3, 1e-12);
    CHECK_NEAR(m->body_inertia[5], (s[0] * s[0] + s[1] * s[1]) / 3, 1e-12);
    CHECK_NEAR(m->geom_rbound[0], sqrt(.25 * .25 + .125 * .125 + .25), 1e-12);
    CHECK(m->geom_dataid[0] == 0 && m->geom_dataid[1] == -1);
    CHECK(m->mesh_hullvertnum[0] == 8 && m->mesh_hullfacenum[0] == 12 && m->mesh_facenum[0] == 12);
    sti_model_free(m);
}

/* ---- inertial element and compiler options ------------------------------------------------------------ */

TEST(inertial) {
    sti_model *m = need("<compiler boundmass='.5' boundinertia='.01'/>" WORLD(
        "<body><inertial pos='1 2 3' mass='2' fullinertia='2 2 3 1 0 0'/></body>"
        "<body><inertial pos='0 0 0' mass='.1' diaginertia='1 1 .001'/></body>"));
    check_vec(m->body_inertia + 3, VEC(3, 3, 1), 3, 1e-12);
    check_vec(m->body_ipos + 3, VEC(1, 2, 3), 3, 0);
    CHECK_NEAR(m->body_mass[2], .5, 0);
    check_vec(m->body_inertia + 6, VEC(1, 1, .01), 3, 0);
    sti_model_free(m);
    m = need("<compiler balanceinertia='true' settotalmass='10'/>" BODY(
        "<inertial pos='0 0 0' mass='5' diaginertia='1 1 4'/>"));
    check_vec(m->body_inertia + 3, VEC(4, 4, 4), 3, 1e-14);
    CHECK_NEAR(m->body_subtreemass[0], 10, 1e-14);
    sti_model_free(m);
    m = need("<compiler inertiagrouprange='1 2'/>" BODY(
        "<geom size='1' mass='1' group='0'/><geom size='1' mass='2' group='2'/>"));
    CHECK_NEAR(m->body_mass[1], 2, 0);
    sti_model_free(m);
}

/* ---- poses
   ---------------------------------------------------------------------------------------------------- */

static void check_body_quat(const char *settings, const char *how, const double *quat) {
    char text[512];
    snprintf(text, sizeof text, "%s" WORLD("<body %s/>"), settings, how);
    sti_model *m = need(text);
    check_quat(m->body_quat + 4, quat);
    sti_model_free(m);
}

TEST(orientations) {
    double h = sqrt(0.5), c = cos(PI / 12), s = sin(PI / 12);
    check_body_quat("", "axisangle='0 0 3 90'", VEC(h, 0, 0, h));
    check_body_quat("<compiler angle='radian'/>", "axisangle='0 2 0 1'", VEC(cos(.5), 0, sin(.5), 0));
    check_body_quat("", "zaxis='1 0 0'", VEC(h, 0, h, 0));
    check_body_quat("", "zaxis='0 0 -2'", VEC(0, 1, 0, 0));
    check_body_quat("", "xyaxes='0 1 0 -1 0 0'", VEC(h, 0, 0, h));
    check_body_quat("", "quat='0 0 0 -3'", VEC(0, 0, 0, 1));
    /* x 90 then about the moved y axis 30: qx * qy; about the fixed one: qy * qx */
    check_body_quat("", "euler='90 30 0'", VEC(h * c, h * c, h * s, h * s));
    check_body_quat("<compiler eulerseq='XYZ'/>", "euler='90 30 0'", VEC(h * c, h * c, h * s, -h * s));
    check_body_quat("<compiler eulerseq='zyx'/>", "euler='0 0 30'", VEC(c, s, 0, 0));
}

TEST(frames) {
    sti_model *m =
        need(BODY("<frame pos='1 0 0' axisangle='0 0 1 90'><frame pos='1 0 0'>"
                  "<geom size='.1' pos='0 0 3'/><joint axis='1 0 0' pos='1 0 0'/><light dir='1 0 0'/></frame>"
                  "<geom type='capsule' size='.1' fromto='0 0 0 2 0 0'/></frame>"));
    check_vec(m->geom_pos, VEC(1, 1, 3), 3, 1e-15);
    check_vec(m->geom_pos + 3, VEC(1, 1, 0), 3, 1e-15);
    check_vec(m->jnt_pos, VEC(1, 2, 0), 3, 1e-15);
    check_vec(m->jnt_axis, VEC(0, 1, 0), 3, 1e-15);
    check_vec(m->light_dir, VEC(0, 1, 0), 3, 1e-15);
    CHECK_NEAR(m->geom_size[4], 1, 1e-15);
    sti_model_free(m);
}

TEST(fromto) {
    sti_model *m = need(BODY("<geom type='capsule' size='.1' fromto='1 0 0 4 4 0' mass='1'/>"
                             "<site type='box' size='.3' fromto='0 0 1 0 0 0'/>"));
    check_vec(m->geom_pos, VEC(2.5, 2, 0), 3, 1e-15);
    check_vec(m->geom_size, VEC(.1, 2.5, 0), 3, 1e-15);
    /* the axis is (-3 -4 0)/5 */
    const double *q = m->geom_quat;
    check_vec(VEC(2 * (q[1] * q[3] + q[0] * q[2]), 2 * (q[2] * q[3] - q[0] * q[1])), VEC(-.6, -.8), 2, 1e-15);
    check_vec(m->site_size, VEC(.3, .3, .5), 3, 0);
    CHECK_NEAR(m->geom_rbound[0], 2.6, 1e-15);
    sti_model_free(m);
}

/* ---- joints, defaults, structure
   ---------------------------------------------------------------------------------- */

TEST(joints) {
    sti_model *m = need(WORLD("<body pos='1 2 3'><freejoint name='f'/><geom size='.1'/>"
                              "<body><joint type='ball' range='0 90'/><geom size='.1'/></body></body>"
                              "<body><joint type='slide' range='-1 2' ref='.5'/>"
                              "<joint axis='0 3 4' ref='90' springref='180' range='-90 90' damping='1' "
                              "armature='2' frictionloss='3'/>"
                              "<geom size='.1'/></body>"));
    CHECK(m->nq == 7 + 4 + 1 + 1 && m->nv == 6 + 3 + 2 && m->njnt == 4 && m->ntree == 2);
    check_vec(m->qpos0, VEC(1, 2, 3, 1, 0, 0, 0, 1, 0, 0, 0, .5, PI / 2), 13, 1e-15);
    CHECK_NEAR(m->qpos_spring[12], PI, 1e-15);
    CHECK_NEAR(m->jnt_range[3], PI / 2, 1e-15);
    check_vec(m->jnt_range + 4, VEC(-1, 2, -PI / 2, PI / 2), 4, 1e-15);
    check_vec(m->jnt_axis + 9, VEC(0, .6, .8), 3, 1e-15);
    CHECK(m->jnt_limited[0] == 0 && m->jnt_limited[1] == 1 && m->jnt_limited[3] == 1);
    CHECK(m->dof_damping[10] == 1 && m->dof_armature[10] == 2 && m->dof_frictionloss[10] == 3);
    sti_model_free(m);
}

TEST(defaults) {
    sti_model *m = need(
        "<default><geom rgba='1 0 0 1' size='.5 .6 .7'/><default class='a'><geom type='box' density='1'/>"
        "<default class='b'><geom size='1'/></default></default></default>" WORLD(
            "<geom/><geom class='b'/><body childclass='a'><geom/><geom class='b'/>"
            "<frame childclass='b'><geom type='ellipsoid'/></frame></body>"));
    CHECK(m->geom_type[0] == STI_GEOM_SPHERE && m->geom_type[1] == STI_GEOM_BOX &&
          m->geom_type[4] == STI_GEOM_ELLIPSOID);
    check_vec(m->geom_size, VEC(.5, .6, .7, 1, .6, .7, .5, .6, .7, 1, .6, .7, 1, .6, .7), 15, 0);
    CHECK(m->geom_rgba[0] == 1 && m->geom_rgba[1] == 0);
    sti_model_free(m);
}

#define LINK(name, inside) "<body name='" name "'><joint name='" name "'/><geom size='.1'/>" inside "</body>"
TEST(tree) {
    sti_model *m = need(WORLD("<body name='base'>" LINK("a", LINK("b", ""))
                                  LINK("c", "") "</body>" LINK("d", "") "<body mocap='true'/>"));
    const int parent[] = {0, 0, 1, 2, 1, 0, 0}, weld[] = {0, 0, 2, 3, 4, 5, 6},
              root[] = {0, 1, 1, 1, 1, 5, 6};
    const int tree_of[] = {-1, -1, 0, 0, 1, 2, -1}, up[] = {-1, 0, -1, -1};
    for (int b = 0; b < 7; b++) {
        CHECK(m->body_parentid[b] == parent[b]);
        CHECK(m->body_weldid[b] == weld[b]);
        CHECK(m->body_rootid[b] == root[b]);
        CHECK(m->body_treeid[b] == tree_of[b]);
    }
    for (int d = 0; d < 4; d++) CHECK(m->dof_parentid[d] == up[d]);
    CHECK(m->nM == 4 * m->nv && m->nD == 6 && m->ntree == 3 && m->nmocap == 1 && m->body_mocapid[6] == 0);
    CHECK(m->M_rownnz[1] == 2 && m->M_colind[m->M_rowadr[1]] == 0 && m->M_colind[m->M_rowadr[1] + 1] == 1);
    CHECK(m->D_rownnz[0] == 2 && m->D_diag[0] == 0 && m->D_diag[1] == 1 &&
          m->D_colind[m->D_rowadr[0] + 1] == 1);
    sti_model_free(m);
}

/* A geom after a child body still belongs to its own body's run of geoms. */
TEST(order) {
    sti_model *m = need(WORLD(
        "<body name='a'><body name='b'><geom name='b1' size='1'/></body><geom name='a1' size='1'/></body>"
        "<frame><body name='c'/></frame><geom name='w' size='1'/>"));
    CHECK(sti_model_id(m, STI_OBJ_GEOM, "w") == 0 && sti_model_id(m, STI_OBJ_GEOM, "a1") == 1 &&
          sti_model_id(m, STI_OBJ_GEOM, "b1") == 2);
    CHECK(sti_model_id(m, STI_OBJ_BODY, "c") == 3 && m->body_geomadr[2] == 2 && m->body_geomadr[3] == -1);
    sti_model_free(m);
}

/* ---- names
   ------------------------------------------------------------------------------------------------------------ */

TEST(names) {
    sti_model *m =
        need(WORLD("<body name='x'><geom name='x' size='1'/><geom size='1'/><site name='x'/></body>"));
    CHECK(sti_model_id(m, STI_OBJ_BODY, "world") == 0 && sti_model_id(m, STI_OBJ_BODY, "x") == 1 &&
          sti_model_id(m, STI_OBJ_XBODY, "x") == 1);
    CHECK(sti_model_id(m, STI_OBJ_GEOM, "x") == 0 && sti_model_id(m, STI_OBJ_SITE, "x") == 0);
    CHECK(sti_model_id(m, STI_OBJ_GEOM, "") == -1 && sti_model_id(m, STI_OBJ_GEOM, "y") == -1 &&
          sti_model_id(m, STI_OBJ_KEY, "x") == -1);
    CHECK(strcmp(sti_model_name(m, STI_OBJ_GEOM, 0), "x") == 0 &&
          strcmp(sti_model_name(m, STI_OBJ_GEOM, 1), "") == 0);
    CHECK(strcmp(sti_model_name(m, STI_OBJ_GEOM, 7), "") == 0 &&
          strcmp(sti_model_name(m, STI_OBJ_GEOM, -1), "") == 0);
    CHECK(sti_model_count(m, STI_OBJ_GEOM) == 2 && sti_model_count(m, STI_OBJ_UNKNOWN) == 0);
    sti_model_free(m);
}

TEST(mesh_name) {
    const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n";
    sti_asset asset = {"dir/some.part.obj", obj, sizeof obj - 1};
    sti_load_options options = sti_load_options_default();
    options.assets = &asset;
    options.nasset = 1;
    options.no_disk = true;
    sti_model *m = compile_with("<asset><mesh file='dir/some.part.obj'/></asset>", &options, NULL);
    REQUIRE(m);
    CHECK(sti_model_id(m, STI_OBJ_MESH, "some.part") == 0);
    CHECK_NEAR(m->mesh_pos[0], .25, 1e-12);
    sti_model_free(m);
}

/* ---- memory
   --------------------------------------------------------------------------------------------------------------- */

#define SMALL                                                                                              \
    "<compiler angle='radian'/><option timestep='.01'><flag energy='enable'/></option>"                    \
    "<asset><mesh name='t' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/><material name='red'/></asset>"               \
    "<worldbody><light/><body name='a'><joint name='j'/><geom type='mesh' mesh='t' material='red'/><site " \
    "name='s'/>"                                                                                           \
    "<camera/></body></worldbody><tendon><fixed><joint joint='j' coef='1'/></fixed></tendon>"              \
    "<actuator><motor joint='j'/></actuator><sensor><jointpos joint='j'/></sensor><keyframe><key "         \
    "qpos='1'/></keyframe>"

TEST(block) {
    sti_model *m = need(SMALL);
    CHECK((uintptr_t)m->buffer % 64 == 0);
    size_t inside = 0, total = 0;
#define X(type, name, rows, cols, vary, change)                                                            \
    total++;                                                                                               \
    inside += (char *)m->name >= (char *)m->buffer && (char *)m->name <= (char *)m->buffer + m->nbuffer && \
              (uintptr_t)m->name % 64 == 0;
    STI_MODEL_FIELDS(X)
#undef X
    CHECK(inside == total);
    sti_view view = sti_model_view(m, "body_inertia");
    CHECK(view.data == m->body_inertia && view.rows == m->nbody && view.cols == 3 && view.type == 'd' &&
          !view.writable);
    CHECK(sti_model_view(m, "no_such").data == NULL && sti_model_size(m, "nbody") == 2 &&
          sti_model_size(m, "x") == -1);
    CHECK(m->opt.timestep == .01 && m->opt.enableflags == STI_ENABLE_ENERGY && m->opt.disableflags == 0);
    sti_model_free(m);
    sti_model_free(NULL);
}

TEST(copy_and_hash) {
    sti_model *a = need(SMALL), *b = need(SMALL), *c = sti_model_copy(a, NULL);
    REQUIRE(c);
    CHECK(sti_model_hash(a) == sti_model_hash(b) && sti_model_hash(a) == sti_model_hash(c));
    CHECK(c->body_mass != a->body_mass && c->body_mass[1] == a->body_mass[1]);
    CHECK(sti_model_id(c, STI_OBJ_SITE, "s") == 0);
    c->body_mass[1] *= 2;
    CHECK(sti_model_hash(a) != sti_model_hash(c));
    b->opt.gravity[2] = 0;
    CHECK(sti_model_hash(a) != sti_model_hash(b));
    sti_model_free(a);
    sti_model_free(b);
    sti_model_free(c);
}

TEST(state) {
    sti_model *m =
        need(WORLD("<body pos='1 2 3' mocap='true'/><body pos='4 5 6'><freejoint/><geom size='.1'/></body>"));
    for (int lanes = 1; lanes <= 8; lanes += 7) {
        sti_state *s = sti__state_create(m, lanes, NULL, NULL);
        REQUIRE(s);
        for (int l = 0; l < lanes; l++) {
            CHECK(s->qpos[l] == 4 && s->qpos[2 * lanes + l] == 6 && s->qpos[3 * lanes + l] == 1);
            CHECK(s->mocap_pos[2 * lanes + l] == 3 && s->mocap_quat[l] == 1 && s->qvel[5 * lanes + l] == 0);
        }
        CHECK((uintptr_t)s->qvel % 64 == 0 && (uintptr_t)s->scratch % 64 == 0 &&
              s->par.body_mass == m->body_mass);
        sti__state_free(s);
    }
    sti_model_free(m);
    sti__state_free(NULL);
}

/* An allocator that fails from the n-th call on, and counts what is out. */
typedef struct flaky {
    int left;
    long out;
} flaky;
static void *flaky_resize(void *context, void *ptr, size_t old_size, size_t new_size) {
    flaky *f = context;
    if (new_size == 0) {
        f->out -= (long)old_size;
        free(ptr);
        return NULL;
    }
    if (f->left-- <= 0) return NULL;
    void *moved = realloc(ptr, new_size);
    if (moved) f->out += (long)new_size - (long)(ptr ? old_size : 0);
    return moved;
}

TEST(no_memory) {
    int n = 0;
    for (bool done = false; !done && n < 5000; n++) {
        flaky f = {n, 0};
        sti_allocator allocator = {flaky_resize, &f};
        sti_load_options options = sti_load_options_default();
        options.allocator = &allocator;
        sti_model *m = compile_with(SMALL, &options, NULL);
        done = m != NULL;
        if (!m && last.code != STI_NO_MEMORY) CHECK(last.code == STI_NO_MEMORY);
        sti_model_free(m);
        if (f.out != 0) CHECK(f.out == 0);
    }
    CHECK(n > 20 && n < 5000);
}

TEST(budget) {
    sti_load_options options = sti_load_options_default();
    options.memory_limit = 20000;
    sti_model *m = compile_with("<size nkey='100000'/>" BODY("<joint/><geom size='1'/>"), &options, NULL);
    CHECK(!m && (last.code == STI_LIMIT || last.code == STI_NO_MEMORY));
    sti_model_free(m);
}

/* ---- errors
   ----------------------------------------------------------------------------------------------------------------- */

static void check_error(const char *text, sti_status code, const char *element, const char *attribute) {
    sti_model *m = compile(text);
    CHECK(!m);
    if (last.code != code || strcmp(last.element, element) || strcmp(last.attribute, attribute))
        fprintf(stderr, "%s\n   gives %s %s@%s: %s\n", text, sti_status_name(last.code), last.element,
                last.attribute, last.message);
    CHECK(last.code == code && strcmp(last.element, element) == 0 && strcmp(last.attribute, attribute) == 0);
    CHECK(last.line == 1 && last.message[0] != 0);
    sti_model_free(m);
}
#define GEOM "<geom size='.1'/>"

TEST(bad_geoms) {
    check_error(WORLD("<geom/>"), STI_PHYSICS, "geom", "size");
    check_error(WORLD("<geom size='-1'/>"), STI_PHYSICS, "geom", "size");
    check_error(WORLD("<geom type='box' size='1 1'/>"), STI_PHYSICS, "geom", "size");
    check_error(WORLD("<geom type='plane' size='1 1 0'/>"), STI_PHYSICS, "geom", "size");
    check_error(WORLD("<geom size='1' mass='-1'/>"), STI_PHYSICS, "geom", "mass");
    check_error(WORLD("<geom size='1' density='-1'/>"), STI_PHYSICS, "geom", "density");
    check_error(WORLD("<geom size='1' condim='2'/>"), STI_VALUE, "geom", "condim");
    check_error(WORLD("<geom size='1' fromto='0 0 0 0 0 1'/>"), STI_VALUE, "geom", "fromto");
    check_error(WORLD("<geom type='capsule' size='1' fromto='1 2 3 1 2 3'/>"), STI_VALUE, "geom", "fromto");
    check_error(WORLD("<geom type='capsule' size='1' pos='1 2 3' fromto='0 0 0 1 2 3'/>"), STI_VALUE, "geom",
                "fromto");
    check_error(WORLD("<geom type='mesh'/>"), STI_REFERENCE, "geom", "mesh");
    check_error(WORLD("<geom type='mesh' mesh='x'/>"), STI_REFERENCE, "geom", "mesh");
    check_error(WORLD("<geom size='1' material='x'/>"), STI_REFERENCE, "geom", "material");
    check_error(BODY("<joint/>" GEOM "<geom type='plane' size='1 1 1'/>"), STI_PHYSICS, "geom", "type");
    check_error(WORLD("<site size='0'/>"), STI_PHYSICS, "site", "size");
}

TEST(bad_bodies) {
    check_error(WORLD("<body quat='0 0 0 0'/>"), STI_VALUE, "body", "quat");
    check_error(WORLD("<body zaxis='0 0 0'/>"), STI_VALUE, "body", "zaxis");
    check_error(WORLD("<body xyaxes='1 0 0 2 0 0'/>"), STI_VALUE, "body", "xyaxes");
    check_error(WORLD("<body axisangle='0 0 0 1'/>"), STI_VALUE, "body", "axisangle");
    check_error(WORLD("<body name='a'/><body name='a'/>"), STI_REFERENCE, "body", "name");
    check_error(WORLD("<body name='world'/>"), STI_REFERENCE, "body", "name");
    check_error(WORLD("<body mocap='true'><joint/>" GEOM "</body>"), STI_PHYSICS, "body", "mocap");
    check_error(BODY("<joint/>"), STI_PHYSICS, "body", "");
    check_error(BODY("<joint/><geom size='.1' mass='0'/>"), STI_PHYSICS, "body", "");
    check_error(BODY("<inertial pos='0 0 0' mass='1' diaginertia='1 1 3'/>"), STI_PHYSICS, "inertial", "");
    check_error(BODY("<inertial pos='0 0 0' mass='-1' diaginertia='1 1 1'/>"), STI_PHYSICS, "inertial",
                "mass");
    check_error(BODY("<inertial pos='0 0 0' mass='1' diaginertia='1 1 -1'/>"), STI_PHYSICS, "inertial",
                "diaginertia");
    check_error(BODY("<inertial pos='0 0 0' mass='1' fullinertia='1 1 1 2 2 2'/>"), STI_PHYSICS, "inertial",
                "fullinertia");
    check_error("<compiler eulerseq='xyw'/>", STI_VALUE, "compiler", "eulerseq");
    check_error("<option timestep='0'/>", STI_VALUE, "option", "timestep");
    check_error("<sti:record xmlns:sti='urn:stiction' interval='-1'/>", STI_VALUE, "record", "interval");
    check_error("<statistic extent='-1'/>", STI_VALUE, "statistic", "extent");
}

TEST(bad_joints) {
    check_error(BODY(GEOM "<joint axis='0 0 0'/>"), STI_VALUE, "joint", "axis");
    check_error(BODY(GEOM "<joint limited='true' range='1 0'/>"), STI_VALUE, "joint", "range");
    check_error(BODY(GEOM "<joint type='ball' range='-1 1'/>"), STI_VALUE, "joint", "range");
    check_error("<compiler autolimits='false'/>" BODY(GEOM "<joint range='0 1'/>"), STI_VALUE, "joint",
                "range");
    check_error(BODY(GEOM "<joint armature='-1'/>"), STI_PHYSICS, "joint", "armature");
    check_error(BODY(GEOM "<joint type='ball'/><joint/>"), STI_PHYSICS, "joint", "");
    check_error(BODY(GEOM "<freejoint/><joint/>"), STI_PHYSICS, "freejoint", "");
    check_error(BODY("<body>" GEOM "<freejoint/></body>"), STI_PHYSICS, "freejoint", "");
    check_error(BODY(GEOM "<joint/><joint/><joint/><joint type='slide'/><joint type='slide'/><joint "
                          "type='slide'/><joint type='slide'/>"),
                STI_PHYSICS, "body", "");
}

TEST(bad_meshes) {
    check_error("<asset><mesh name='a'/></asset>", STI_MESH, "mesh", "");
    check_error("<asset><mesh file='nowhere.stl'/></asset>", STI_FILE, "mesh", "file");
    check_error("<asset><mesh name='a' vertex='0 0 0 1 0 0 0 1 0 1 1 0' face='0 1 2'/></asset>", STI_MESH,
                "mesh", "");
    check_error("<asset><mesh name='a' vertex='0 0 0 1 0 0 0 1 0 0 0 1' face='0 1 9'/></asset>", STI_MESH,
                "mesh", "vertex");
}

/* Limits, dry friction, equalities and contacts are all enforced: nothing to warn of. */
TEST(warnings) {
    sti_report report;
    sti_report_init(&report, NULL);
    const char *text = "<worldbody><geom type='plane' size='1 1 1'/><body><joint name='j' range='0 1' "
                       "frictionloss='1'/>" GEOM "</body></worldbody>"
                       "<equality><joint joint1='j'/></equality>";
    sti_model *m = compile_with(text, NULL, &report);
    REQUIRE(m);
    CHECK(report.nwarning == 0 && report.nerror == 0);
    sti_model_free(m);
    sti_report_free(&report);
}

/* All errors of a pass are reported, not only the first. */
TEST(many_errors) {
    sti_report report;
    sti_report_init(&report, NULL);
    sti_model *m = compile_with(WORLD("<geom/><geom size='1' condim='7'/><site size='0'/>"), NULL, &report);
    CHECK(!m && report.nerror == 3 && report.count == 3);
    sti_report_free(&report);
}

MAIN(CASE(solid_shapes), CASE(shells), CASE(two_geoms), CASE(mesh_geom), CASE(inertial), CASE(orientations),
     CASE(frames), CASE(fromto), CASE(joints), CASE(defaults), CASE(tree), CASE(order), CASE(names),
     CASE(mesh_name), CASE(block), CASE(copy_and_hash), CASE(state), CASE(no_memory), CASE(budget),
     CASE(bad_geoms), CASE(bad_bodies), CASE(bad_joints), CASE(bad_meshes), CASE(warnings), CASE(many_errors))
