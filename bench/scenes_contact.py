# SPDX-License-Identifier: Apache-2.0
"""Scenes of the contact benchmark, as MJCF that all engines load: python bench/scenes_contact.py NAME > scene.xml."""
import math
import random
import sys

RADIUS = 0.05


def container(side, height):
    """A floor and four walls around side x side."""
    half, thick = side / 2, 0.1
    wall = '<geom type="box" size="{} {} {}" pos="{} {} {}"/>'
    walls = [wall.format(thick, half + 2 * thick, height, sign * (half + thick), 0, height) for sign in (-1, 1)]
    walls += [wall.format(half + 2 * thick, thick, height, 0, sign * (half + thick), height) for sign in (-1, 1)]
    return f'<geom type="plane" size="{2 * side} {2 * side} 1"/>' + "".join(walls)


def pile(count, geom, timestep, spacing, side=None):
    """Loose bodies on a jittered grid above the floor of a container that is as wide as it will be filled high."""
    dice = random.Random(count)
    across = side or max(2, round(count ** (1 / 3)))
    width = across * spacing
    layers = math.ceil(count / across ** 2)
    bodies = []
    for i in range(count):
        x, y, z = i % across, i // across % across, i // across ** 2
        at = [spacing * (k + 0.5) - width / 2 + dice.uniform(-1, 1) * 0.04 * spacing for k in (x, y)]
        turn = " ".join(f"{dice.gauss(0, 1):.4f}" for _ in range(4))
        bodies.append(f'<body pos="{at[0]:.5f} {at[1]:.5f} {spacing * (z + 0.6):.5f}" quat="{turn}"><freejoint/>{geom}</body>')
    return (f'<mujoco model="pile"><option timestep="{timestep}"/><worldbody>{container(width, spacing * layers)}'
            f'{"".join(bodies)}</worldbody></mujoco>')


def spheres(count, timestep=0.005):
    return pile(count, f'<geom type="sphere" size="{RADIUS}" density="1000" friction="0.5 0.005 0.0001"/>', timestep, 2.2 * RADIUS)


def boxes(count, timestep=0.005):
    return pile(count, f'<geom type="box" size="{RADIUS} {RADIUS} {RADIUS}" density="1000" friction="0.5 0.005 0.0001"/>', timestep, 3.6 * RADIUS)


NAMES = {"spheres": spheres, "boxes": boxes}

if __name__ == "__main__":
    kind, count = sys.argv[1], int(sys.argv[2])
    print(NAMES[kind](count))
