# SPDX-License-Identifier: Apache-2.0
"""Scenes in which contact moves, as MJCF that both engines load: python bench/scenes_moving.py FOLDER writes them all.

A scene is a function without arguments that returns its text. What starts with a speed has a keyframe. SCENES says how long
each runs and what drives it."""
import math
import pathlib
import random
import sys

import numpy as np
import scenes_contact

FRICTION = "0.5 0.005 0.0001"
SHAPES = ('type="sphere" size="0.05"', 'type="box" size="0.05 0.04 0.03"', 'type="capsule" size="0.03 0.04"',
          'type="cylinder" size="0.04 0.04"', 'type="ellipsoid" size="0.06 0.045 0.035"')


def scene(name, timestep, world, extra="", still=0, last=""):
    """extra: other elements; last: velocity of the last free body at the start, after `still` free bodies at rest."""
    key = f'<keyframe><key qvel="{"0 0 0 0 0 0 " * still}{last}"/></keyframe>' if last else ""
    return f'<mujoco model="{name}"><option timestep="{timestep}"/><worldbody>{world}</worldbody>{extra}{key}</mujoco>'


def free(at, geom, turn="1 0 0 0"):
    return f'<body pos="{at[0]:.6f} {at[1]:.6f} {at[2]:.6f}" quat="{turn}"><freejoint/><geom {geom}/></body>'


def grid(count, spacing, across, geom, seed, base=0.6, jitter=0.04):
    """`count` bodies at random orientations on a jittered grid; geom(i): attributes of the i-th."""
    dice, width, bodies = random.Random(seed), across * spacing, []
    for i in range(count):
        x, y, z = i % across, i // across % across, i // across ** 2
        at = [spacing * (k + 0.5) - width / 2 + dice.uniform(-1, 1) * jitter * spacing for k in (x, y)]
        turn = " ".join(f"{dice.gauss(0, 1):.4f}" for _ in range(4))
        bodies.append(free((*at, spacing * (z + base)), geom(i), turn))
    return "".join(bodies)


def spheres_200():
    return scenes_contact.spheres(200)


def spheres_1000():
    return scenes_contact.spheres(1000)


def boxes_1000():
    return scenes_contact.boxes(1000)


def densities():
    """Densities from 1e2 to 1e5 kg/m^3 in turn."""
    def geom(i):
        return f'type="sphere" size="0.05" density="{10 ** (2 + i % 4)}" friction="{FRICTION}"'
    return scene("densities", 0.005, scenes_contact.container(6 * 0.11, 1) + grid(200, 0.11, 6, geom, 2))


def hulls(count=300):
    dice = np.random.default_rng(3)
    meshes = []
    for k in range(20):
        p = dice.normal(size=(16, 3))
        p *= 0.05 * dice.uniform(0.7, 1.2, size=(1, 3)) / np.linalg.norm(p, axis=1)[:, None]
        meshes.append(f'<mesh name="m{k}" vertex="{" ".join(f"{x:.5f}" for x in p.ravel())}"/>')

    def geom(i):
        return f'type="mesh" mesh="m{i % 20}" density="1000" friction="{FRICTION}"'
    world = scenes_contact.container(6 * 0.13, 1.2) + grid(count, 0.13, 6, geom, 3)
    return scene("hulls", 0.005, world, f'<asset>{"".join(meshes)}</asset>')


def mixed(count=300):
    def geom(i):
        return f'{SHAPES[i % len(SHAPES)]} density="1000" friction="{FRICTION}"'
    return scene("mixed", 0.005, scenes_contact.container(6 * 0.14, 1.2) + grid(count, 0.14, 6, geom, 4))


def stir(count=200):
    """A gripper that stirs boxes."""
    def geom(_):
        return 'type="box" size=".018 .015 .02" density="800" friction="0.6 0.005 0.0001"'
    finger = ('<body pos="{} 0 -.02"><joint name="{}" type="slide" axis="{} 0 0" range="-.04 .02" damping="5"/>'
              '<geom type="box" size=".008 .02 .07" pos="0 0 -.07" mass=".2" friction="1 .005 .0001"/></body>')
    slides = "".join(f'<joint name="{n}" type="slide" axis="{a}" damping="20"/>' for n, a in (("x", "1 0 0"), ("y", "0 1 0"), ("z", "0 0 1")))
    palm = (f'<body name="palm" pos="0 0 0.45">{slides}<joint name="r" type="hinge" axis="0 0 1" damping="1"/>'
            f'<geom type="box" size=".06 .03 .02" mass="1"/>{finger.format(".05", "f1", "1")}{finger.format("-.05", "f2", "-1")}</body>')
    gains = (("x", 2000, 50), ("y", 2000, 50), ("z", 2000, 50), ("r", 50, 2), ("f1", 300, 5), ("f2", 300, 5))
    act = "".join(f'<position joint="{j}" kp="{k}" kv="{d}"/>' for j, k, d in gains)
    return scene("stir", 0.004, scenes_contact.container(7 * 0.055, 0.3) + grid(count, 0.055, 7, geom, 5) + palm, f"<actuator>{act}</actuator>")


def stir_control(t):
    """x, y, z, r, f1, f2"""
    w, grip = 2 * math.pi * 0.7, -0.03 * (math.sin(3 * t) > 0)
    z = -0.30 + 0.05 * math.sin(2.3 * t) if t > 0.4 else -0.3 * t / 0.4
    return [0.1 * math.cos(w * t), 0.1 * math.sin(w * t), z, 1.5 * math.sin(1.1 * t), grip, grip]


def drum(count=200, staves=16, radius=0.4, depth=0.3):
    """A drum that turns at 3 rad/s, a third full."""
    def geom(i):
        return f'{SHAPES[i % 3]} density="1000" friction="{FRICTION}"'.replace("0.05", "0.03").replace("0.04", "0.03")
    half, wall = math.pi * radius / staves * 1.05, ""
    for k in range(staves):
        a = 2 * math.pi * k / staves
        wall += (f'<geom type="box" size="0.02 {half:.5f} {depth}" pos="{radius * math.cos(a):.6f} {radius * math.sin(a):.6f} 0" '
                 f'euler="0 0 {math.degrees(a):.4f}" mass="1" friction="0.8 .005 .0001"/>')
    ends = "".join(f'<geom type="cylinder" size="{radius} 0.02" pos="0 0 {s * (depth + 0.02)}" mass="1"/>' for s in (-1, 1))
    body = f'<body pos="0 0 0.1" euler="90 0 0"><joint name="axle" type="hinge" axis="0 0 1" damping="0.1"/>{wall}{ends}</body>'
    world = body + grid(count, 0.08, 5, geom, 6, base=-2.2, jitter=0.02)
    return scene("drum", 0.004, world, '<actuator><velocity joint="axle" kv="50" ctrlrange="-10 10"/></actuator>')


def conveyor(count=120):
    """Parcels that a belt drives into a stop. The belt is a plate that slides at 0.5 m/s."""
    def geom(i):
        return f'{SHAPES[1 + i % 3]} density="300" friction="{FRICTION}"'
    belt = ('<body pos="-2 0 -0.05"><joint name="belt" type="slide" axis="1 0 0" damping="1"/>'
            '<geom type="box" size="3 0.5 0.05" mass="200" friction="0.7 .005 .0001"/></body>')
    stop = '<geom type="box" size="0.05 0.6 0.4" pos="0.7 0 0.4"/>' + "".join(
        f'<geom type="box" size="1.2 0.05 0.4" pos="0 {s * 0.56} 0.4"/>' for s in (-1, 1))
    world = belt + stop + grid(count, 0.14, 6, geom, 7)
    return scene("conveyor", 0.005, world, '<actuator><velocity joint="belt" kv="5000"/></actuator>')


def dominoes(count=200):
    bodies = ""
    for i in range(count):
        r = 0.6 + 0.0012 * i
        a = i * 0.045 / r
        turn = (a + math.pi / 2) / 2
        bodies += free((r * math.cos(a), r * math.sin(a), 0.05), 'type="box" size="0.005 0.02 0.05" density="700" friction="0.4 .005 .0001"',
                       f"{math.cos(turn):.7f} 0 0 {math.sin(turn):.7f}")
    ball = free((0.6, -0.06, 0.09), 'type="sphere" size=".02" density="3000"')
    return scene("dominoes", 0.005, '<geom type="plane" size="3 3 1"/>' + bodies + ball, still=count, last="0 1.5 0 0 0 0")


def wall(rows=12, across=12):
    """A wall of bricks that a ball hits at 10 m/s."""
    bodies = ""
    for r in range(rows):
        for c in range(across):
            bodies += free((0, (c - across / 2 + 0.5 * (r % 2)) * 0.202, 0.05 + r * 0.1),
                           'type="box" size=".05 .1 .05" density="1800" friction="0.6 .005 .0001"')
    ball = free((-1.5, 0, 0.8), 'type="sphere" size=".15" density="4000"')
    return scene("wall", 0.005, '<geom type="plane" size="10 10 1"/>' + bodies + ball, still=rows * across, last="10 0 1.2 0 0 0")


def cards(levels=6):
    """A card house, pairs of leaning cards under lids, that a ball hits."""
    long, wide, thin, lean = 0.09, 0.06, 0.001, math.radians(20)
    half, dx = long / 2, long / 2 * math.sin(lean)
    height, pitch = long * math.cos(lean) + 2 * thin * math.sin(lean), 4 * dx + 0.006
    card = f'type="box" size="{{}} {wide / 2} {{}}" density="900" friction="0.6 .005 .0001"'
    bodies, count, floor = "", 0, 0.0
    for level in range(levels):
        n = levels - level
        for k in range(n):
            for s in (-1, 1):
                at = ((k - (n - 1) / 2) * pitch + s * (dx + thin), 0, floor + half * math.cos(lean) + thin * math.sin(lean))
                bodies += free(at, card.format(thin, half), f"{math.cos(lean / 2):.7f} 0 {-s * math.sin(lean / 2):.7f} 0")
        for k in range(n - 1):
            bodies += free(((k - (n - 2) / 2) * pitch, 0, floor + height + thin), card.format(f"{pitch / 2 - 0.001:.5f}", thin))
        count += 3 * n - 1
        floor += height + 2 * thin
    ball = free((-1.2, 0, 0.35), 'type="sphere" size=".02" density="1000"')
    return scene("cards", 0.002, '<geom type="plane" size="3 3 1" friction="0.8 .005 .0001"/>' + bodies + ball, still=count, last="3 0 1.5 0 0 0")


def ragdoll(at, turn):
    """A figure of eleven bodies: ball joints with limits, hinges with limits and dry friction; 26 dofs."""
    def limb(side, place, axis, size, low, high):
        return (f'<body pos="{place[0]} {side * place[1]} {place[2]}"><joint type="ball" range="0 80" damping="0.5"/>'
                f'<geom type="capsule" fromto="0 0 0 0 0 {-size}" size="0.045" density="900"/>'
                f'<body pos="0 0 {-size - 0.02}"><joint type="hinge" axis="{axis}" range="{low} {high}" damping="0.3" frictionloss="0.5"/>'
                f'<geom type="capsule" fromto="0 0 0 0 0 {-size}" size="0.04" density="900"/></body></body>')
    limbs = "".join(limb(s, (0, 0.2, 0.2), "0 1 0", 0.22, -120, 5) + limb(s, (0, 0.09, -0.28), "0 1 0", 0.34, -5, 130) for s in (-1, 1))
    head = ('<body pos="0 0 0.3"><joint type="ball" range="0 40" damping="0.5"/><geom type="sphere" pos="0 0 0.1" size="0.1" density="800"/></body>')
    hips = ('<body pos="0 0 -0.1"><joint type="hinge" axis="0 1 0" range="-60 30" damping="1" frictionloss="1"/>'
            '<geom type="capsule" fromto="0 -0.08 -0.1 0 0.08 -0.1" size="0.09" density="900"/></body>')
    return (f'<body pos="{at[0]:.4f} {at[1]:.4f} {at[2]:.4f}" quat="{turn}"><freejoint/>'
            f'<geom type="box" size="0.09 0.14 0.2" pos="0 0 0.05" density="700"/>{limbs}{head}{hips}</body>')


def ragdolls(count=20):
    dice = random.Random(1)
    world = scenes_contact.container(1.6, 1.5)
    for i in range(count):
        turn = " ".join(f"{dice.gauss(0, 1):.4f}" for _ in range(4))
        world += ragdoll((0.4 * (2 * (i % 2) - 1) + dice.uniform(-.1, .1), 0.4 * (2 * (i // 2 % 2) - 1) + dice.uniform(-.1, .1), 0.9 + 0.9 * (i // 4)), turn)
    return scene("ragdolls", 0.004, world)


# name: text, simulated seconds, control of a time in seconds (None: none)
SCENES = {
    "200 spheres": (spheres_200, 1.0, None),
    "1000 spheres": (spheres_1000, 1.0, None),
    "200 spheres, densities 1e2 to 1e5": (densities, 1.0, None),
    "1000 boxes": (boxes_1000, 1.0, None),
    "300 hulls": (hulls, 1.0, None),
    "300 mixed shapes": (mixed, 1.0, None),
    "gripper stirs 200 boxes": (stir, 2.0, stir_control),
    "drum": (drum, 2.0, lambda _: [3.0]),
    "conveyor": (conveyor, 2.0, lambda _: [0.5]),
    "dominoes": (dominoes, 2.0, None),
    "wall": (wall, 1.5, None),
    "card house": (cards, 1.5, None),
    "20 ragdolls": (ragdolls, 2.0, None),
}

if __name__ == "__main__":
    for name, (make, _, _) in SCENES.items():
        (pathlib.Path(sys.argv[1]) / f"{make.__name__}.xml").write_text(make())
