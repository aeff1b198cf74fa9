# SPDX-License-Identifier: Apache-2.0
"""A part of ./dev conformance, with pinned wheels: same sizes, names, dynamics, sensors and steps as MuJoCo."""
import compare
import models
import pytest

WHEELS = ("gymnasium", "mjlab", "mujoco-warp")
# what the wheels contain that this version does not support must fail clearly, and nothing else may
UNSUPPORTED_LIMIT = {"gymnasium": 0, "mjlab": 0, "mujoco-warp": 40}
# shapes by distance fields, whose inertia is that of another sampling and in principal axes (docs/conformance.md); test_sdf.py has the shapes
DIFFER = {"cow.xml", "mesh.xml", "nutbolt.xml", "tactile.xml"}


def may_differ(path):
    return path.parent.name == "collision_sdf" and path.name in DIFFER


@pytest.mark.parametrize("wheel", WHEELS)
def test_wheel(wheel):
    agreed, unsupported = 0, []
    for _, path in models.models((wheel,)):
        result = compare.compare(path, states=5)
        assert result.status != "differs" or may_differ(path), f"{path.name}: {result.detail}"
        agreed += result.status == "ok"
        if result.status == "unsupported":
            unsupported.append(result.detail)
            assert ":" in result.detail and path.name in result.detail or ".xml:" in result.detail
    assert agreed > 0
    assert len(unsupported) <= UNSUPPORTED_LIMIT[wheel], unsupported


@pytest.mark.parametrize("scene", ["double_pendulum", "spinning_top", "arm", "figure", "double_pendulum_rods"])
def test_own_scene(scenes, scene):
    result = compare.compare(scenes / f"{scene}.xml")
    assert result.status == "ok", result.detail
    assert result.worst <= compare.TOLERANCE
