/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds of every kind that remembers something over steps: scenes, solvers, integrators, soft bodies, handlers. */
#ifndef STI_TEST_STATE_SCENES_H
#define STI_TEST_STATE_SCENES_H

#include "scene.h"
#include <math.h>

typedef struct state_scene {
    const char *name; /* a file in scenes/, or the text of a scene */
    int steps;        /* until something has happened in it */
    int solver, integrator, scheme;
    bool rope;    /* a handler holds body 1 */
    double force; /* on body 1, N */
    double ctrl;  /* of all actuators */
} state_scene;

static char marbles_xml
    [1 << 14]; /* spheres in a box, which keep the matrices of large islands; with little friction, as
                                     much has more than one answer */
static const char soft_xml[] =
    "<mujoco xmlns:sti='urn:stiction'><option timestep='.002'/><worldbody><geom type='plane' size='1 1 1'/>"
    "<body pos='0 0 .085'><freejoint/><geom type='box' size='.03 .03 .02' mass='.2'/></body>"
    "<sti:soft name='b' type='box' size='.03 .03 .03' pos='0 0 .03' edge='.02' young='5e4' poisson='.3' "
    "law='neohookean'/></worldbody></mujoco>";
static const char boxes_xml[] =
    "<mujoco><option timestep='.005'/><worldbody><geom type='plane' size='1 1 1' euler='0 10 0'/>"
    "<body pos='0 0 .12'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body pos='0 0 .33'><freejoint/><geom type='box' size='.1 .1 .1'/></body>"
    "<body pos='.02 0 .51'><freejoint/><geom type='sphere' size='.08' condim='6'/></body>"
    "<body pos='1 0 .5'><joint name='h' axis='0 1 0' frictionloss='.3' limited='true' range='-20 20'/>"
    "<geom size='.05' pos='.2 0 0'/></body></worldbody></mujoco>";
static const char hanging_xml[] =
    "<mujoco><option timestep='.01'/><worldbody><body pos='0 0 -.7'><freejoint/>"
    "<geom size='.1' mass='2'/></body></worldbody></mujoco>";
/* What has a memory of its own: motors, servos with an integral, delays, histories of sensors, springs that yield, a sheet. */
static const char motors_xml[] =
    "<mujoco><option timestep='.002'/><worldbody><flexcomp name='f' type='grid' dim='2' count='3 3 1' "
    "spacing='.1 .1 .1' mass='.3' radius='.01' pos='0 0 .3'><elasticity young='3e4' poisson='.3' "
    "thickness='.01' "
    "damping='.01' elastic2d='both'/><pin id='0'/></flexcomp><body pos='1 0 .5'><joint name='j' axis='0 1 0' "
    "stiffness='1' springyield='.01' damping='.01'/><geom size='.05' pos='.3 0 0'/></body><body pos='2 0 "
    ".5'><joint "
    "name='k' axis='0 1 0'/><joint name='l' axis='0 0 1'/><geom size='.05' pos='.1 0 0'/></body></worldbody>"
    "<actuator><dcmotor joint='j' motorconst='.1' resistance='1' inductance='.01' controller='1 2 .1 5 2 10' "
    "thermal='1 2 0 2 1 20' lugre='100 1 .1 .2 .01' input='pos vel'/><pid joint='k' kp='1' ki='1' imax='.5' "
    "slewmax='3' nsample='4' delay='.005' interp='linear'/><position joint='l' kp='2' nsample='6' "
    "delay='.008' "
    "interp='cubic'/></actuator><sensor><jointpos joint='j' nsample='5' delay='.004' interval='.004' "
    "interp='cubic'/>"
    "<jointvel joint='k' nsample='3' delay='.003'/></sensor></mujoco>";

static const state_scene state_scenes[] = {
    {.name = "arm.xml", .steps = 60},
    {.name = "contact_sensor.xml", .steps = 180},
    {.name = "coupled_contact.xml", .steps = 40, .force = 2},
    {.name = "double_pendulum_alm.xml", .steps = 30, .integrator = STI_INTEGRATOR_ALM},
    {.name = "double_pendulum_rods.xml", .steps = 30},
    {.name = "figure.xml", .steps = 60},
    {.name = "figure.xml", .steps = 30, .integrator = STI_INTEGRATOR_ALM},
    {.name = "gripper.xml", .steps = 60},
    {.name = "panda_grasp.xml", .steps = 40},
    {.name = "quadruped.xml", .steps = 60, .integrator = STI_INTEGRATOR_IMPLICITFAST},
    {.name = "quadruped.xml", .steps = 60, .integrator = STI_INTEGRATOR_RK4},
    {.name = "soft_ball.xml", .steps = 60},
    {.name = "spinning_top.xml", .steps = 60},
    {.name = soft_xml, .steps = 40},
    {.name = marbles_xml, .steps = 250},
    {.name = boxes_xml, .steps = 60},
    {.name = boxes_xml, .steps = 60, .solver = STI_SOLVER_APGD},
    {.name = boxes_xml, .steps = 60, .solver = STI_SOLVER_NEWTON},
    {.name = boxes_xml, .steps = 60, .integrator = STI_INTEGRATOR_IMPLICIT},
    {.name = boxes_xml, .steps = 60, .integrator = STI_INTEGRATOR_RK4},
    {.name = boxes_xml, .steps = 40, .integrator = STI_INTEGRATOR_ALM},
    {.name = boxes_xml, .steps = 40, .integrator = STI_INTEGRATOR_ALM, .scheme = 1},
    {.name = boxes_xml, .steps = 40, .integrator = STI_INTEGRATOR_ALM, .scheme = 2},
    {.name = hanging_xml, .steps = 60, .rope = true},
    {.name = motors_xml, .steps = 60, .ctrl = .7},
    {.name = motors_xml, .steps = 60, .integrator = STI_INTEGRATOR_RK4, .ctrl = -.4},
};
enum { STATE_SCENES = (int)(sizeof state_scenes / sizeof *state_scenes) };

static inline void write_marbles(void) {
    size_t at = (size_t)snprintf(
        marbles_xml, sizeof marbles_xml,
        "<mujoco><option timestep='.005'/><default><geom friction='.2'/></default><worldbody>"
        "<geom type='plane' size='5 5 1'/><geom type='box' size='.05 1 .3' pos='.3 0 .3'/><geom type='box' "
        "size='.05 1 .3' pos='-.3 0 .3'/>"
        "<geom type='box' size='1 .05 .3' pos='0 .3 .3'/><geom type='box' size='1 .05 .3' pos='0 -.3 .3'/>");
    for (int i = 0; i < 80; i++)
        at += (size_t)snprintf(marbles_xml + at, sizeof marbles_xml - at,
                               "<body pos='%g %g %g'><freejoint/><geom size='.05'/></body>",
                               .11 * (i % 4 - 1.5) + .01 * (i / 16 % 2),
                               .11 * (i / 4 % 4 - 1.5) + .003 * (i % 3), .06 + .11 * (i / 16));
    snprintf(marbles_xml + at, sizeof marbles_xml - at, "</worldbody></mujoco>");
}

static inline sti_model *state_model(const state_scene *s) {
    char path[1024];
    write_marbles();
    if (*s->name == '<') return model_of(s->name);
    snprintf(path, sizeof path, "%s/%s", getenv("STI_SCENES") ? getenv("STI_SCENES") : "scenes", s->name);
    sti_spec *spec = sti_spec_load(path, NULL, NULL, NULL);
    sti_model *m = spec ? sti_model_compile(spec, NULL, NULL) : NULL;
    REQUIRE(m);
    sti_spec_free(spec);
    return m;
}

/* A rope of length 1 from the origin to body 1. */
static sti_status hold_by_rope(void *context, sti_world *w, sti_rows *rows) {
    const double *x =
        (const double *)sti_world_view(w, STI_FIELD_xpos).data + 3; /* threads share no counter of checks */
    double J6[36], J[6], length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    int dofs[6], n = sti_world_jacobian(w, 1, x, dofs, J6);
    (void)context;
    for (int k = 0; k < n; k++) J[k] = -(x[0] * J6[k] + x[1] * J6[n + k] + x[2] * J6[2 * n + k]) / length;
    sti_block b = sti_block_default();
    b.row = (sti_row){.kind = STI_ROW_INTERVAL, .dim = 1, .lo = 0, .hi = INFINITY};
    b.ndof = n;
    b.dofs = dofs;
    b.J = J;
    b.phi[0] = 1 - length;
    return sti_rows_add(rows, &b);
}

/* A world of it at its beginning. */
static inline sti_world *state_world(const state_scene *s, const sti_model *m) {
    sti_world *w = world_of(m);
    sti_option *o = sti_world_option(w);
    o->contact_solver = s->solver;
    if (s->integrator) o->integrator = s->integrator;
    o->alm_scheme = s->scheme;
    if (s->rope) CHECK(sti_world_add_handler(w, hold_by_rope, NULL, NULL) == 0);
    if (s->force != 0) values(w, "xfrc_applied")[6] = s->force;
    for (int i = 0; i < m->nu; i++) values(w, "ctrl")[i] = s->ctrl;
    return w;
}

#endif
