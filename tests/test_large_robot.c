/* SPDX-License-Identifier: Apache-2.0 */
/* Robots of a hundred dofs and more, few of which touch anything: their steps are solved on the dofs that rows touch. */
#include "closed.h"
#include <math.h>

/* A palm on a slide with eleven chains of nine hinges, on two feet that have two each. */
#define FOOT(y)                                                       \
    "<body pos='0 " y " -.2'><joint axis='1 0 0'/><geom size='.02'/>" \
    "<body pos='0 0 -.1'><joint axis='0 1 0'/><geom size='.09' contype='1' mass='.2'/></body></body>"
#define LINK "<joint axis='0 1 0'/><geom type='capsule' size='.01' fromto='0 0 0 0 0 -.04'/>"
#define THREE "<body pos='.05 0 -.02'>" LINK "<body pos='0 0 -.04'>" LINK "<body pos='0 0 -.04'>" LINK
#define CHAIN THREE THREE THREE "</body></body></body></body></body></body></body></body></body>"
#define SCENE                                                                                             \
    "<mujoco><option timestep='%g'><flag eulerdamp='disable'/></option><default>"                         \
    "<joint damping='.05' armature='.002' stiffness='.5'/>"                                               \
    "<geom contype='0' conaffinity='0' mass='.05'/></default><worldbody>"                                 \
    "<geom type='plane' size='1 1 1' conaffinity='1'/><body pos='0 0 .4'>"                                \
    "<joint type='slide' axis='0 0 1' stiffness='0' damping='5'/><geom size='.05' mass='1'/>" CHAIN CHAIN \
        CHAIN CHAIN CHAIN CHAIN CHAIN CHAIN CHAIN CHAIN CHAIN FOOT("-.2")                                 \
            FOOT(".2") "</body></worldbody></mujoco>"

/* What stands on the floor weighs on it, and no step is claimed to be better than it is. */
TEST(few_dofs_of_many_touch_the_floor) {
    sti_model *m;
    sti_world *w = open(SCENE, 0.002, &m);
    double weight = 0, force = 0;
    int count;
    CHECK(m->nv == 104);
    for (int i = 0; i < 1000; i++) {
        REQUIRE(sti_step(w, 1) == STI_OK);
        CHECK(sti_world_solve_info(w)->certificate.headline < 1e-6);
    }
    run(w, 20);
    CHECK(sti_world_warnings(w, STI_WARN_STALLED) == 0 && sti_world_warnings(w, STI_WARN_FROZEN_SLIP) == 0);
    for (int b = 1; b < m->nbody; b++) weight += 9.81 * m->body_mass[b];
    const sti_contact *c = sti_world_contacts(w, &count);
    for (int i = 0; i < count; i++) force += c[i].force[0];
    CHECK_NEAR(force, weight, 1e-3 * weight);
    close(w, m);
}

MAIN(CASE(few_dofs_of_many_touch_the_floor))
