# SPDX-License-Identifier: Apache-2.0
"""Heaps of every shape come to rest, with friction of spin and rolling too."""
import numpy as np
import pytest

import stiction

PARENTS = {
    "box": lambda r: f'type="box" size="{r.uniform(.04, .1)} {r.uniform(.04, .1)} {r.uniform(.04, .1)}"',
    "cylinder": lambda r: f'type="cylinder" size="{r.uniform(.04, .1)} {r.uniform(.04, .1)}"',
    "capsule": lambda r: f'type="capsule" size="{r.uniform(.04, .08)} {r.uniform(.04, .1)}"',
    "ellipsoid": lambda r: f'type="ellipsoid" size="{r.uniform(.06, .1)} {r.uniform(.06, .1)} {r.uniform(.06, .1)}"',
    "sphere": lambda r: f'type="sphere" size="{r.uniform(.04, .1)}"',
    "mesh": lambda r: f'type="mesh" mesh="m{r.integers(4)}"',
}


def heap(kind, h, seed, count=10):
    r = np.random.default_rng(seed)
    corners = [" ".join(map(str, r.normal(size=(12, 3)).clip(-1.5, 1.5).ravel() * 0.06)) for _ in range(4)]
    meshes = "".join(f'<mesh name="m{k}" vertex="{c}"/>' for k, c in enumerate(corners))
    walls = "".join(f'<geom type="box" size="{a} {b} .3" pos="{x} {y} .3"/>'
                    for a, b, x, y in ((.02, .32, .3, 0), (.02, .32, -.3, 0), (.32, .02, 0, .3), (.32, .02, 0, -.3)))
    bodies = ""
    for i in range(count):
        quat = " ".join(map(str, r.normal(size=4)))
        bodies += (f'<body pos="{r.uniform(-.15, .15)} {r.uniform(-.15, .15)} {.15 + .17 * i}" quat="{quat}"><freejoint/>'
                   f"<geom {PARENTS[kind](r)}/></body>")
    return stiction.Model.from_xml_string(
        f'<mujoco><option timestep="{h}"/><default><geom condim="6" friction=".6 .01 .003"/></default><asset>{meshes}</asset>'
        f'<worldbody><geom type="plane" size="5 5 1"/>{walls}{bodies}</worldbody></mujoco>')


def pressed(data):
    """Contacts but for those that touch to rounding, which come and go."""
    return int((data.contact.dist < -1e-12).sum())


@pytest.mark.parametrize("h", [0.01, 0.005])
@pytest.mark.parametrize("kind", PARENTS)
def test_heap_rests(kind, h):
    model = heap(kind, h, seed=7)
    data = stiction.Data(model)
    stiction.step(model, data, int(6 / h))
    count, worst = pressed(data), 0.0
    for _ in range(40):
        stiction.step(model, data)
        assert pressed(data) == count
        worst = max(worst, float(np.abs(data.qvel).max()))
        assert data.certificate.headline < 1e-6
    assert worst < 1e-8
    assert data.contact.dist.min() > -1e-3


ROD = """<geom type="cylinder" size=".2 2" {}/><geom type="cylinder" size=".25 .25" pos="{}" euler="0 90 0"/>
  <geom type="cylinder" size=".25 .25" euler="0 90 0"/>"""


def test_nothing_moves_without_gravity():
    """A closed loop of four bars at rest: all that is left is rounding, which is no problem worth solving."""
    up, along = ROD.format('pos="0 0 2"', "0 0 4"), ROD.format('pos="0 2 0" euler="90 0 0"', "0 4 0")
    back, hinge = ROD.format('pos="0 -2 0" euler="90 0 0"', "0 -4 0"), '<joint axis="1 0 0"/>'
    model = stiction.Model.from_xml_string(f"""<mujoco><option gravity="0 0 0"/><worldbody>
      <body name="first" pos="0 0 2" euler="20 20 20">{up}<body pos=".5 0 0">{hinge}{along}<body pos="-.5 4 0">{hinge}{up}
      <body name="last" pos=".5 0 4">{hinge}{back}</body></body></body></body></worldbody>
      <equality><weld body1="first" body2="last" anchor="0 0 4"/></equality></mujoco>""")
    data = stiction.Data(model)
    for _ in range(200):
        stiction.step(model, data)
        assert data.certificate.headline <= 1e-8
        assert data.solver_niter <= 10
    assert np.abs(data.qpos).max() < 1e-14
