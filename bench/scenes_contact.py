# SPDX-License-Identifier: Apache-2.0
"""Scenes of the contact benchmark, as MJCF that all engines load: python bench/scenes_contact.py NAME COUNT [IN A BIN] > scene.xml."""
import math
import random
import sys

RADIUS = 0.05


def walls(side, height, at=(0, 0)):
    """Four walls around side x side."""
    half, thick, (x, y) = side / 2, 0.1, at
    wall = '<geom type="box" size="{} {} {}" pos="{} {} {}"/>'
    both = [wall.format(thick, half + 2 * thick, height, x + sign * (half + thick), y, height) for sign in (-1, 1)]
    both += [wall.format(half + 2 * thick, thick, height, x, y + sign * (half + thick), height) for sign in (-1, 1)]
    return "".join(both)


def container(side, height):
    """A floor and walls."""
    return f'<geom type="plane" size="{2 * side} {2 * side} 1"/>' + walls(side, height)


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


def pocketed(count, dice, at=(0, 0)):
    """Walls and spheres in the pockets of the layer below, nearly at rest: n x n, (n - 1) x (n - 1) in turn."""
    radius, n = RADIUS, max(3, round((count * 1.2) ** (1 / 3)))
    apart = 2.02 * radius
    rise = math.sqrt(4 * radius ** 2 - apart ** 2 / 2)
    side, bodies, layer = (n - 1) * apart + 2 * radius, [], 0
    while len(bodies) < count:
        m = n - layer % 2
        for i in range(min(m * m, count - len(bodies))):
            x, y = (apart * (k - (m - 1) / 2) + dice.uniform(-1, 1) * 1e-5 for k in (i % m, i // m))
            bodies.append(f'<body pos="{at[0] + x:.7f} {at[1] + y:.7f} {radius + layer * rise:.7f}"><freejoint/>'
                          f'<geom type="sphere" size="{radius}" density="1000" friction="0.5 0.005 0.0001"/></body>')
        layer += 1
    return walls(side, rise * layer, at), bodies


def packed(count, timestep=0.005, each=None):
    """Such spheres, all in one bin, or in bins of `each` in rows."""
    dice, each = random.Random(count), each or count
    bins = math.ceil(count / each)
    across = math.ceil(math.sqrt(bins))
    pitch = 0 if bins == 1 else 2.5 * RADIUS * round((each * 1.2) ** (1 / 3)) + 0.5
    parts = [pocketed(min(each, count - k * each), dice, (pitch * (k % across), pitch * (k // across))) for k in range(bins)]
    return (f'<mujoco model="packed"><option timestep="{timestep}"/><worldbody><geom type="plane" size="0 0 1"/>'
            f'{"".join(w for w, _ in parts)}{"".join(b for _, bodies in parts for b in bodies)}</worldbody></mujoco>')


def crowd(path, count):
    """Copies of a model on one floor, as one file."""
    import mujoco
    scene, single = mujoco.MjSpec(), mujoco.MjSpec.from_file(str(path))
    scene.option = single.option
    scene.visual.map.zfar = single.visual.map.zfar
    scene.worldbody.add_geom(type=mujoco.mjtGeom.mjGEOM_PLANE, size=[0, 0, 0.05])
    for i in range(count):
        frame = scene.worldbody.add_frame(pos=[2.0 * (i % 10), 2.0 * (i // 10), 0])
        one = mujoco.MjSpec.from_file(str(path))
        one.delete(one.geom("floor"))
        scene.attach(one, prefix=f"r{i}_", frame=frame)
    scene.compile()
    return scene.to_xml()


def panda(folder):
    """A Panda at its home pose that holds a 100 g cube between its fingers; the path of a file beside panda.xml."""
    import mujoco
    import numpy as np
    text = (folder / "panda.xml").read_text()
    text = text[:text.index("<keyframe>")] + text[text.index("</keyframe>") + len("</keyframe>"):]
    robot = mujoco.MjModel.from_xml_path(str(folder / "panda.xml"))
    data = mujoco.MjData(robot)
    mujoco.mj_resetDataKeyframe(robot, data, 0)
    data.qpos[7:9] = 0.02
    mujoco.mj_kinematics(robot, data)
    hand = data.body("hand")
    at = hand.xpos + hand.xmat.reshape(3, 3) @ np.array([0, 0, 0.0584 + 0.0445])
    row = " ".join
    qpos = row(f"{x:.9g}" for x in [*data.qpos, *at, *hand.xquat])
    ctrl = row(f"{x:.9g}" for x in [*data.qpos[:7], 0])
    cube = (f'<body name="cube" pos="{row(f"{x:.9g}" for x in at)}" quat="{row(f"{x:.9g}" for x in hand.xquat)}"><freejoint/>'
            '<geom type="box" size="0.02 0.02 0.02" mass="0.1"/></body>')
    text = text.replace("</worldbody>", cube + "</worldbody>").replace("</mujoco>", f'<keyframe><key name="hold" qpos="{qpos}" ctrl="{ctrl}"/></keyframe></mujoco>')
    path = folder / "panda_cube.xml"
    path.write_text(text)
    return path


NAMES = {"spheres": spheres, "boxes": boxes, "packed": packed}

if __name__ == "__main__":
    kind, *numbers = sys.argv[1:]
    print(NAMES[kind](int(numbers[0]), **({"each": int(numbers[1])} if len(numbers) > 1 else {})))
