# SPDX-License-Identifier: Apache-2.0
"""solref and solimp: what is soft rests where MuJoCo lets it rest."""
import warnings

import mujoco
import numpy as np
import pytest

import stiction

SOLVERS = ['0.05 1', '0.04 0.5', '0.03 2', '-4000 -80', '-300 -40']
IMPEDANCES = ['0.9 0.95 0.001 0.5 2', '0.2 0.9 0.1 0.5 2', '0.5 0.8 0.05 0.3 1', '0.3 0.7 0.2 0.6 3']


def rest(xml, seconds=12):
    """Where both engines come to rest."""
    model, ours = mujoco.MjModel.from_xml_string(xml), stiction.Model.from_xml_string(xml)
    data, mine = mujoco.MjData(model), stiction.Data(ours)
    for _ in range(int(seconds / model.opt.timestep)):
        mujoco.mj_step(model, data)
    stiction.step(ours, mine, int(seconds / model.opt.timestep))
    assert np.abs(data.qvel).max() < 1e-5 and np.abs(mine.qvel).max() < 1e-7
    return data.qpos, mine.qpos


@pytest.mark.parametrize("solref", SOLVERS)
@pytest.mark.parametrize("solimp", IMPEDANCES)
def test_limit(solref, solimp):
    theirs, mine = rest(f"""<mujoco><worldbody><body><joint type="slide" axis="0 0 1" range="0 5" solreflimit="{solref}"
        solimplimit="{solimp}"/><geom size=".1" mass="2"/></body></worldbody></mujoco>""")
    assert theirs[0] < -1e-4
    assert mine[0] == pytest.approx(theirs[0], rel=2e-3)


@pytest.mark.parametrize("solref", SOLVERS)
@pytest.mark.parametrize("solimp", IMPEDANCES)
def test_contact(solref, solimp):
    theirs, mine = rest(f"""<mujoco><option cone="elliptic"/><default><geom condim="1" solref="{solref}" solimp="{solimp}"/></default>
        <worldbody><geom type="plane" size="5 5 1"/><body pos="0 0 .5"><freejoint/><geom size=".5" mass="2"/></body></worldbody></mujoco>""")
    assert theirs[2] < 0.5 - 1e-4
    assert 0.5 - mine[2] == pytest.approx(0.5 - theirs[2], rel=2e-3)


@pytest.mark.parametrize("solimp", [*IMPEDANCES[1:], "0.015 1 0.031 0.5 2", "0.8 0.9 0.01 0.5 2"])
def test_solimp_that_is_softer_than_the_default_counts_without_solref(solimp):
    theirs, mine = rest(f"""<mujoco><option cone="elliptic"/><default><geom condim="1" solimp="{solimp}"/></default>
        <worldbody><geom type="plane" size="5 5 1"/><body pos="0 0 .5"><freejoint/><geom size=".5" mass="2"/></body></worldbody></mujoco>""")
    assert theirs[2] < 0.5 - 1e-4
    assert 0.5 - mine[2] == pytest.approx(0.5 - theirs[2], rel=2e-3)


@pytest.mark.parametrize("solimp", ["0.9 0.95 0.001 0.5 2", "0.95 0.99 0.001 0.5 2", "0.998 0.998 0.001 0.5 2"])
def test_solimp_that_is_stiffer_stays_near_rigid(solimp):
    model = stiction.Model.from_xml_string(f"""<mujoco><worldbody><geom type="plane" size="5 5 1" solimp="{solimp}"/><body pos="0 0 .5">
        <freejoint/><geom size=".5" mass="2" solimp="{solimp}"/></body></worldbody></mujoco>""")
    data = stiction.Data(model)
    stiction.step(model, data, 1000)
    assert 0 < 0.5 - data.qpos[2] < 2e-6  # MuJoCo: 1e-4 and more


def test_equality():
    theirs, mine = rest("""<mujoco><worldbody><body name="a"><freejoint/><geom size=".1" mass="2"/></body></worldbody>
        <equality><connect body1="a" anchor="0 0 0" solref="0.06 1" solimp="0.5 0.8 0.05 0.3 2"/></equality></mujoco>""")
    assert mine[2] == pytest.approx(theirs[2], rel=2e-3)


@pytest.mark.parametrize("option, pair, word", [('impratio="10"', "", "impratio"), ("", 'solreffriction="0.1 1"', "solreffriction")])
def test_what_has_no_effect_is_named(option, pair, word):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        stiction.Model.from_xml_string(f"""<mujoco><option {option}/><worldbody><geom name="f" type="plane" size="1 1 1"/>
            <body><freejoint/><geom name="b" size=".1"/></body></worldbody>
            <contact><pair geom1="f" geom2="b" {pair}/></contact></mujoco>""")
    assert any(word in str(w.message) and "no effect" in str(w.message) for w in caught)
