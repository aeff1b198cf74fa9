# SPDX-License-Identifier: Apache-2.0
"""A tippe top: it flips where friction creeps, as docs/contact.md says, and rolls where friction holds."""
import numpy as np
import pytest
import stiction

TOP = """<mujoco xmlns:sti="urn:stiction"><option integrator="RK4"/>{}<worldbody><geom type="plane" size="1 1 .1"/>
<body name="top" pos="0 0 .02"><freejoint/><geom type="sphere" size=".02"/>
<geom type="cylinder" pos="0 0 .02" size=".004 .008"/>
<geom type="box" size=".023 .023 .005" pos="0 0 -.015" contype="0" conaffinity="0"/></body></worldbody>
<keyframe><key qpos="0 0 .02 1 0 0 0" qvel="0 0 0 0 1 200"/></keyframe></mujoco>"""


def lowest_axis(option, seconds=6):
    """The least that the stem points up, 1 to -1, and at the end."""
    model = stiction.Model.from_xml_string(TOP.format(option))
    data = stiction.Data(model)
    stiction.reset(model, data, 0)
    ups = []
    for _ in range(int(seconds / model.opt.timestep / 10)):
        stiction.step(model, data, 10)
        ups.append(np.reshape(data.xmat[1], (3, 3))[2, 2])
    return min(ups), ups[-1]


def test_it_flips_where_friction_creeps():
    least, last = lowest_axis('<sti:option sigma="1" memory="disable"/>')
    assert least < -0.9 and last < -0.9


@pytest.mark.parametrize("option", ["", '<sti:option memory="disable"/>'])
def test_it_rolls_where_friction_holds(option):
    assert lowest_axis(option)[0] > 0.95
