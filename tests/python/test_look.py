# SPDX-License-Identifier: Apache-2.0
"""Polygons of contact and stress of soft bodies, as arrays."""
import numpy as np

import stiction

BLOCK = """<mujoco xmlns:sti="urn:stiction"><option timestep="0.005"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<sti:soft name="s" type="box" size=".05 .05 .05" pos="0 0 .05" edge=".03" mass="2" young="1e5" damping=".01"/></worldbody></mujoco>"""


def test_patches():
    model = stiction.Model.from_xml_string(BLOCK)
    data = stiction.Data(model)
    assert len(data.patches) == 0
    for _ in range(400):
        stiction.step(model, data)
    patches = data.patches
    assert len(patches) > 4 and (patches.flex2 == 0).all() and (patches.geom1 == 0).all()
    assert abs((patches.area * patches.pressure).sum() - 2 * 9.81) < 0.02 * 2 * 9.81  # carries its weight
    for p in patches:
        a, b = p.corner[1:p["count"] - 1] - p.corner[0], p.corner[2:p["count"]] - p.corner[0]
        assert np.isclose(0.5 * np.linalg.norm(np.cross(a, b).sum(axis=0)), p.area, rtol=1e-9)


def test_stress():
    model = stiction.Model.from_xml_string(BLOCK)
    data = stiction.Data(model)
    assert np.abs(data.soft_stress()).max() < 1e-6
    data.flexvert_xpos[:, 0] *= 1.01  # Hooke, nu = 0
    assert data.soft_stress().shape == (model.nflexelem,) and np.allclose(data.soft_stress(), 1e3, rtol=1e-6)
    tensor = data.soft_stress(tensor=True)
    assert tensor.shape == (model.nflexelem, 6) and np.allclose(tensor, [1e3, 0, 0, 0, 0, 0], atol=1e-3)
    rigid = stiction.Model.from_xml_string("<mujoco/>")
    assert len(stiction.Data(rigid).soft_stress()) == 0 and len(stiction.Data(rigid).patches) == 0
