# SPDX-License-Identifier: Apache-2.0
"""Primitives fitted to the box around a mesh, beside MuJoCo."""
import numpy as np
import pytest

import stiction

mujoco = pytest.importorskip("mujoco")

XML = """<mujoco><compiler fitaabb="{aabb}"/><asset><mesh name="a" vertex="{vertex}"/></asset><worldbody><body><freejoint/>
<geom type="{type}" mesh="a" pos="1 2 3" euler="10 20 30" fitscale="1.2"/></body></worldbody></mujoco>"""
VERTICES = ("0 0 0 1 0 0 0 .5 0 0 0 .3 .2 .1 .9", "0 0 0 1 0 0 0 .9 0 0 0 .1 1 .8 .05", "0 0 0 .1 0 0 0 .1 0 0 0 2 .1 .1 2")


@pytest.mark.parametrize("aabb", ("false", "true"))
@pytest.mark.parametrize("vertex", VERTICES)
@pytest.mark.parametrize("shape", ("sphere", "capsule", "ellipsoid", "cylinder", "box"))
def test_fit(shape, vertex, aabb):
    xml = XML.format(type=shape, vertex=vertex, aabb=aabb)
    try:
        theirs = mujoco.MjModel.from_xml_string(xml)
    except ValueError:  # a flat mesh has no height to fit a capsule to
        with pytest.raises(stiction.Error):
            stiction.Model.from_xml_string(xml)
        return
    ours = stiction.Model.from_xml_string(xml)
    for name in ("geom_size", "geom_pos", "body_mass", "body_inertia", "body_ipos"):
        assert np.allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-12), name
