# SPDX-License-Identifier: Apache-2.0
"""How many Newton steps a step of the world takes, on the mean over the steps in which something touches: at most 5 where
things rest or are held, 10 where they hit each other, 50 in tall stacks and piles."""
import math
import pathlib
import sys

import numpy as np
import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import closed_forms  # noqa: E402
import scenes_contact  # noqa: E402

import stiction  # noqa: E402

PLANE, BOX, free = closed_forms.PLANE, 'type="box" size=".05 .05 .05" mass="1"', closed_forms.free


def scene(h, bodies, extra=""):
    return closed_forms.Scene(h, PLANE + bodies, extra=extra).model


def gripper(h):
    """Two fingers press a cube from both sides; the hand is carried."""
    finger = '<body pos="{} 0 0"><joint name="{}" type="slide" axis="{} 0 0" range="-.05 .05"/><geom type="box" size=".01 .02 .05" mass=".1"/></body>'
    hand = ('<body pos="0 0 .5" gravcomp="1"><joint type="slide" axis="0 0 1" damping="50"/><geom type="box" size=".1 .02 .02" pos="0 0 .1" mass=".5"/>'
            + finger.format(-.06, "l", 1) + finger.format(.06, "r", -1) + "</body>")
    cube = free('type="box" size=".04 .04 .04" mass=".5"', "0 0 .46")
    return scene(h, hand + cube, '<actuator><general joint="l" biastype="affine" biasprm="30"/><general joint="r" biastype="affine" biasprm="30"/></actuator>')


def tumbling(h):
    body = '<body pos="{} {} {}" euler="{} {} 0"><freejoint/><geom ' + BOX + "/></body>"
    return scene(h, "".join(body.format(.05 * math.cos(i), .05 * math.sin(i), .3 + .2 * i, 20 * i, 30 * i) for i in range(8)))


CASES = {  # name: (model, seconds before counting, seconds, most)
    "box at rest": (lambda h: scene(h, free(BOX, "0 0 .05")), 0.2, 0.5, 5),
    "slab on an incline": (lambda h: closed_forms.slab(h, 0.5, 20).model, 0.2, 0.5, 5),
    "slab that slides": (lambda h: closed_forms.slab(h, 0.3, 25).model, 0.2, 0.5, 5),
    "cube in a gripper": (gripper, 0.2, 0.5, 5),
    "dropped box": (lambda h: scene(h, free(BOX, "0 0 .3")), 0, 0.5, 10),
    "tumbling boxes": (tumbling, 0, 2, 10),
    "stack of 10": (lambda h: closed_forms.tower(h).model, 0, 1, 50),
    "stack of 40": (lambda h: closed_forms.tower(h, 40).model, 0, 0.5, 50),
    "arch that falls": (lambda h: closed_forms.arch(h, 0.2).model, 0, 0.5, 50),
    "pile of spheres": (lambda h: stiction.Model.from_xml_string(scenes_contact.spheres(64, h)), 0, 0.8, 50),
    "pile of boxes": (lambda h: stiction.Model.from_xml_string(scenes_contact.boxes(27, h)), 0, 0.8, 50),
}


@pytest.mark.parametrize("h", [0.01, 0.002])
@pytest.mark.parametrize("name", CASES)
def test_newton_steps(name, h):
    make, before, seconds, most = CASES[name]
    model = make(h)
    data, steps = stiction.Data(model), []
    for i in range(round((before + seconds) / h)):
        stiction.step(model, data)
        assert data.certificate.headline < 1e-6
        if i * h >= before and data.ncon:
            steps.append(data.solver_niter)
    assert len(steps) > 10
    print(f"{name}, h = {h}: {np.mean(steps):.2f} on the mean, {max(steps)} at most")
    assert np.mean(steps) <= most


@pytest.mark.parametrize("name", CASES)
def test_certified_to_1e_10_on_request(name):
    """The certificate of every step, also where things land."""
    make, before, seconds, _ = CASES[name]
    model = make(0.01)
    model.opt.contact_tol = 1e-10
    data = stiction.Data(model)
    for _ in range(round((before + seconds) / 0.01)):
        stiction.step(model, data)
        assert data.certificate.headline <= 1e-10
