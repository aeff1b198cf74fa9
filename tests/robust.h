/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of bad input and failing memory share: an allocator that counts, limits and fails,
   and a scene that uses a bit of everything. */
#ifndef STI_ROBUST_H
#define STI_ROBUST_H

#include <stdint.h>
#include <stdlib.h>
#include <stiction/stiction.h>
#include <string.h>

/* ---- allocator ------------------------------------------------------------------------------- */

typedef struct counter {
    size_t live, peak;  /* bytes */
    long blocks, calls; /* blocks alive; allocations asked for */
    long fail_at;       /* the call that fails, 0 = none */
    bool failed;        /* whether it did */
    long wrong_size;    /* frees and moves with another size than was asked for */
} counter;

static void *counter_resize(void *context, void *ptr, size_t old_size, size_t new_size) {
    counter *c = context;
    char *block = ptr ? (char *)ptr - 16 : NULL;
    size_t size = 0;
    if (block) memcpy(&size, block, sizeof size);
    if (block && size != old_size) c->wrong_size++;
    if (new_size && ++c->calls == c->fail_at) {
        c->failed = true;
        return NULL;
    }
    if (new_size == 0) {
        if (block) c->blocks--, c->live -= size;
        free(block);
        return NULL;
    }
    char *moved = new_size < SIZE_MAX / 2 ? realloc(block, new_size + 16) : NULL;
    if (!moved) return NULL;
    c->blocks += !block;
    c->live += new_size - size;
    if (c->live > c->peak) c->peak = c->live;
    memcpy(moved, &new_size, sizeof new_size);
    if (!block) memset(moved + 16, 0xa5, new_size < 4096 ? new_size : 4096); /* nobody may count on zeros */
    return moved + 16;
}

static inline sti_allocator counter_allocator(counter *c) { return (sti_allocator){counter_resize, c}; }

/* ---- meshes ------------------------------------------------------------------------------------ */

enum { CUBE_SIZE = 84 + 12 * 50 };

/* A binary STL of a cube with edges of 0.2 m around the origin. */
static inline void make_cube(unsigned char stl[CUBE_SIZE]) {
    static const unsigned char quad[6][4] = {{0, 2, 3, 1}, {4, 5, 7, 6}, {0, 1, 5, 4},
                                             {2, 6, 7, 3}, {0, 4, 6, 2}, {1, 3, 7, 5}};
    memset(stl, 0, CUBE_SIZE);
    stl[80] = 12;
    unsigned char *p = stl + 84;
    for (int f = 0; f < 12; f++, p += 50) {
        const unsigned char *q = quad[f / 2];
        int corner[3] = {q[0], q[f % 2 ? 2 : 1], q[f % 2 ? 3 : 2]};
        for (int k = 0; k < 9; k++) {
            float x = corner[k / 3] >> k % 3 & 1 ? 0.1f : -0.1f;
            memcpy(p + 12 + 4 * k, &x, 4);
        }
    }
}

/* ---- scene --------------------------------------------------------------------------------------- */

/* clang-format off */
static const char everything_xml[] =
"<mujoco model='everything'>\n"
"  <compiler angle='degree' autolimits='true'/>\n"
"  <option timestep='0.002' density='1.2' viscosity='1e-5' integrator='implicitfast'><flag energy='enable'/></option>\n"
"  <default>\n"
"    <geom density='500' rgba='1 0 0 1'/>\n"
"    <default class='arm'><joint damping='0.1' armature='0.01'/><geom type='capsule' size='0.03'/></default>\n"
"  </default>\n"
"  <asset>\n"
"    <mesh name='cube' file='cube.stl'/>\n"
"    <mesh name='tet' vertex='0 0 0  0.1 0 0  0 0.1 0  0 0 0.1'/>\n"
"    <material name='red' rgba='1 0 0 1'/>\n"
"  </asset>\n"
"  <custom><numeric name='n' size='3' data='1 2'/></custom>\n"
"  <include file='part.xml'/>\n"
"  <contact><exclude body1='upper' body2='lower'/></contact>\n"
"  <equality><joint joint1='elbow' joint2='wrist' polycoef='0 1 0 0 0'/><connect body1='ball' body2='free' anchor='0 0 0'/></equality>\n"
"  <tendon>\n"
"    <fixed name='fixed' stiffness='1' limited='true' range='-1 1'><joint joint='elbow' coef='1'/><joint joint='wrist' coef='-1'/></fixed>\n"
"    <spatial name='string' damping='1'><site site='a'/><geom geom='knob' sidesite='c'/><site site='b'/></spatial>\n"
"  </tendon>\n"
"  <actuator>\n"
"    <motor name='m' joint='shoulder' gear='10' ctrlrange='-1 1'/>\n"
"    <position joint='elbow' kp='20' dampratio='1'/><velocity joint='wrist' kv='1'/>\n"
"    <general tendon='string' dyntype='filter' dynprm='0.1' gainprm='2' biastype='affine' biasprm='0 -1 0'/>\n"
"    <motor site='a' gear='0 0 1 0 0 0'/>\n"
"  </actuator>\n"
"  <sensor>\n"
"    <jointpos joint='elbow'/><gyro site='a'/><accelerometer site='a'/><framepos objtype='body' objname='lower' reftype='site' refname='b'/>\n"
"    <subtreeangmom body='upper'/><tendonpos tendon='string'/><actuatorfrc actuator='m'/><force site='b'/><clock/>\n"
"    <contact name='net' site='c' body2='free' data='found force torque pos normal tangent' reduce='netforce' num='3'/><touch site='b'/>\n"
"    <contact subtree1='upper' geom2='floor' data='force dist linvel angvel' reduce='maxforce' num='2'/><contact body1='world'/>\n"
"    <jointlimitfrc joint='shoulder'/><tendonlimitpos tendon='fixed'/>\n"
"<jointpos name='twisted' joint='twist'/>\n"
"  </sensor>\n"
"  <keyframe><key name='bent' time='1' ctrl='1 0 0 0 0'/></keyframe>\n"
"  <worldbody>\n"
"    <flexcomp name='cloth' type='mesh' mesh='tet' pos='5 0 0' mass='1'><edge damping='1'/></flexcomp>\n"
"    <flexcomp name='paper' type='mesh' file='cube.stl' pos='6 0 0' mass='1'><edge equality='true'/></flexcomp>\n"
"    <flexcomp name='solid' type='mesh' dim='3' mesh='cube' origin='0 0 0' pos='7 0 0'><elasticity young='1e4'/></flexcomp>\n"
"    <body name='noted' user='1 2' pos='8 0 0'><joint user='1'/><geom size='.1' user='3'/><site user='4'/></body>\n"
"  </worldbody>\n"
"</mujoco>\n";

static const char part_xml[] =
"<mujoco>\n"
"  <worldbody>\n"
"    <light pos='0 0 3'/><camera name='cam' pos='0 -2 1' xyaxes='1 0 0 0 0 1'/>\n"
"    <geom name='floor' type='plane' size='1 1 0.1' material='red'/>\n"
"    <site name='c' pos='0.1 0.1 0.1'/>\n"
"    <body name='upper' pos='0 0 1' childclass='arm'>\n"
"      <joint name='shoulder' axis='0 1 0' range='-90 90' stiffness='2' springref='10'/>\n"
"      <geom fromto='0 0 0 0 0 -0.4'/><site name='a' pos='0.05 0 -0.1'/>\n"
"      <geom name='knob' type='sphere' size='0.04' pos='0 0 -0.4'/>\n"
"      <body name='lower' pos='0 0 -0.4' euler='10 20 30'>\n"
"        <joint name='elbow' axis='0 1 0'/><joint name='wrist' axis='1 0 0' type='slide'/>\n"
"        <geom fromto='0 0 0 0 0 -0.3'/><site name='b' pos='0.05 0 -0.3'/>\n"
"        <geom type='mesh' mesh='cube' pos='0 0 -0.3'/>\n"
"      </body>\n"
"    </body>\n"
"    <body name='ball' pos='1 0 1'><joint type='ball'/><geom type='ellipsoid' size='0.1 0.2 0.3' fluidshape='ellipsoid'/></body>\n"
"    <body name='free' pos='2 0 1' gravcomp='0.5'><freejoint/><geom type='mesh' mesh='tet'/><inertial mass='1' pos='0 0 0' fullinertia='1 1 1 0.1 0 0'/></body>\n"
"    <body name='hand' mocap='true' pos='0 3 0'><geom type='box' size='0.1 0.1 0.1'/></body>\n"
"<replicate count='2' offset='9 0 0' euler='0 0 10' sep='_'><body name='twin' pos='9 9 9'><joint name='twist'/>\n"
"<geom name='knob' size='.1'/></body></replicate>\n"
"  </worldbody>\n"
"</mujoco>\n";
/* clang-format on */

#endif
