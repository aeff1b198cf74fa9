# SPDX-License-Identifier: Apache-2.0
"""Soft bodies of one file in both engines: vertices, tetrahedra and mass are those of MuJoCo's compiled model."""
import warnings

import mujoco
import numpy as np
import pytest
import stiction

MATTER = '<elasticity young="1e4" poisson="0.3" damping="0.01"/>'

KINDS = {
    "grid": 'type="grid" count="3 4 5" spacing=".1 .12 .08"',
    "box": 'type="box" count="4 4 3" spacing=".1 .1 .1"',
    "cylinder": 'type="cylinder" count="6 6 4" spacing=".1 .1 .1"',
    "ellipsoid": 'type="ellipsoid" count="6 6 6" spacing=".1 .08 .1"',
    "direct": 'type="direct" point="0 0 0 .1 0 0 0 .1 0 0 0 .1 .1 .1 .1" element="0 1 2 3 1 2 3 4"',
}

ALONE = '<contact contype="0" conaffinity="0"/>'

SLIDES = '<joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 1 0"/><joint type="slide" axis="0 0 1"/>'


def particle(name, pos, mass=0.1):
    return f'<body name="{name}" pos="{pos}">{SLIDES}<inertial pos="0 0 0" mass="{mass}" diaginertia="1e-5 1e-5 1e-5"/></body>'


PLACES = ["0 0 .5", "1 0 .5", "0 1 .5", "0 0 1.5", "1 1 1.5"]
BODIES = "".join(particle(f"v{i}", p, 0.1 * (i + 1)) for i, p in enumerate(PLACES))


def flex(attributes, bodies=BODIES, inside=MATTER + ALONE):
    return f"""<mujoco><worldbody>{bodies}</worldbody><deformable>
        <flex name="f" dim="3" {attributes}>{inside}</flex></deformable></mujoco>"""


def both(xml):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = stiction.Model.from_xml_string(xml), mujoco.MjModel.from_xml_string(xml)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    return ours, theirs, data


def tets(elements):
    return sorted(tuple(sorted(t)) for t in np.reshape(elements, (-1, 4)))


def same_mesh(ours, theirs, data):
    assert ours.nflex == theirs.nflex == 1
    np.testing.assert_allclose(np.reshape(ours.flexvert_pos0, (-1, 3)), data.flexvert_xpos, atol=1e-7)
    assert tets(ours.flex_elem) == tets(theirs.flex_elem)
    mass = theirs.body_mass[np.unique(theirs.flex_vertbodyid)]
    assert np.sum(ours.flexvert_mass) == pytest.approx(mass.sum(), rel=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_flexcomp(kind):
    xml = f"""<mujoco><worldbody><flexcomp name="f" dim="3" {KINDS[kind]} mass="2" pos="1 2 3" euler="20 30 40">{MATTER}</flexcomp></worldbody></mujoco>"""
    same_mesh(*both(xml))


def test_flex():
    """Vertices are bodies there, and none here."""
    ours, theirs, data = both(flex('body="v0 v1 v2 v3 v4" element="0 1 2 3 1 2 3 4"'))
    same_mesh(ours, theirs, data)
    assert theirs.nbody == 6 and ours.nbody == 1 and ours.nv == 0
    assert ours.flexelem_young[0] == 1e4 and not np.any(ours.flexvert_pinned)


def test_flex_in_a_body():
    """Offsets in turned bodies, and a vertex that is fixed to the body that the others are in."""
    inside = "".join(particle(f"v{i}", p).replace("<body", '<body euler="0 0 30"') for i, p in enumerate(PLACES))
    body = f'<body name="b" pos="0 0 1" euler="10 20 30"><joint/><geom size=".1"/>{inside}</body>'
    ours, theirs, data = both(flex('body="v0 v1 v2 b v4" vertex="0 0 0 .1 0 0 0 .2 0 0 0 1 0 0 0" element="0 1 2 3 1 2 3 4"', body))
    np.testing.assert_allclose(np.reshape(ours.flexvert_pos0, (-1, 3)), data.flexvert_xpos, atol=1e-7)
    assert tets(ours.flex_elem) == tets(theirs.flex_elem)
    assert list(np.ravel(ours.flexvert_pinned)) == [0, 0, 0, 1, 0]
    assert np.sum(ours.flexvert_mass) == pytest.approx(0.4)
    assert ours.flex_bodyid[0] == ours.body("b").id
    data = stiction.Data(ours)
    stiction.step(ours, data, 20)
    assert np.all(np.isfinite(data.flexvert_xpos))


def test_saved_flexcomp():
    """What MuJoCo writes of a flexcomp, with pins, is a flex."""
    spec = mujoco.MjSpec.from_string(f"""<mujoco><worldbody><flexcomp name="f" dim="3" type="grid" count="3 3 3" spacing=".1 .1 .1" mass="1">
        {MATTER}<pin id="0 1 2"/></flexcomp></worldbody></mujoco>""")
    spec.compile()
    ours, theirs, data = both(spec.to_xml())
    np.testing.assert_allclose(np.reshape(ours.flexvert_pos0, (-1, 3)), data.flexvert_xpos, atol=1e-6)
    assert tets(ours.flex_elem) == tets(theirs.flex_elem)
    assert np.sum(ours.flexvert_pinned) == 3


def test_falls_as_mujoco():
    """Before anything touches, the centre falls as every mass does."""
    ours, theirs, data = both(flex('body="v0 v1 v2 v3 v4" element="0 1 2 3 1 2 3 4"'))
    mine = stiction.Data(ours)
    stiction.step(ours, mine, 50)
    mujoco.mj_step(theirs, data, 50)
    mass = np.ravel(ours.flexvert_mass)
    drop = (mass @ (mine.flexvert_xpos - np.reshape(ours.flexvert_pos0, (-1, 3)))) / mass.sum()
    there = theirs.body_mass[1:] @ np.reshape(data.qpos, (-1, 3)) / theirs.body_mass[1:].sum()
    np.testing.assert_allclose(drop, there, atol=1e-9)


@pytest.mark.parametrize("attributes, bodies, message", [
    ('body="v0 v1 v2 v3" element="0 1 2"', BODIES, "four vertex numbers"),
    ('body="v0 v1 v2 v3" element="0 1 2 7"', BODIES, "element"),
    ('body="v0 v1 v2 v3" vertex="1 2 3" element="0 1 2 3"', BODIES, "has 3 numbers"),
    ('body="v0" element="0 1 2 3"', BODIES, "a body for every vertex"),
    ('body="v0 v1 v2 nobody" element="0 1 2 3"', BODIES, "neither a body with three slide joints"),
    ('body="v0 v1 v2 g" element="0 1 2 3"', BODIES + '<body name="g"><joint/><geom size=".1"/></body>', "neither a body"),
    ('body="v0 v1 v2 w" element="0 1 2 3"', BODIES + f'<body name="g">{particle("w", "0 0 0")}</body>', "in one body"),
    ('body="v0 v1 v2 w" element="0 1 2 3"', BODIES + f'<body name="w">{SLIDES}</body>', "inertial with a mass"),
])
def test_refused(attributes, bodies, message):
    with pytest.raises(stiction.Error, match=message):
        stiction.Model.from_xml_string(flex(attributes, bodies))


@pytest.mark.parametrize("dim", [1, 2])
def test_dimensions(dim):
    for xml in (flex('body="v0 v1 v2" element="0 1 2"').replace('dim="3"', f'dim="{dim}"'),
                f'<mujoco><worldbody><flexcomp name="f" dim="{dim}" count="3 3 1">{MATTER}</flexcomp></worldbody></mujoco>'):
        with pytest.raises(stiction.Error, match="only soft bodies of dimension 3.*chain of bodies.*thin body"):
            stiction.Model.from_xml_string(xml)


def test_no_effect():
    """Settings that mean nothing here are named."""
    inside = MATTER + '<contact contype="0" conaffinity="0" solref=".01 1" solimp=".8 .9 .001" margin=".01"/>'
    with pytest.warns(UserWarning, match="has no effect here"):
        model = stiction.Model.from_xml_string(flex('body="v0 v1 v2 v3" element="0 1 2 3" radius=".02"', inside=inside))
    text = "\n".join(model.warnings)
    for name in ("solref", "solimp", "margin", "radius"):
        assert name in text, name
