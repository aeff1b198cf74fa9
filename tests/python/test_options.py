# SPDX-License-Identifier: Apache-2.0
"""Options of the step in Python."""
import warnings

import numpy as np
import pytest

import stiction

BALL = """<mujoco><worldbody><geom type="plane" size="1 1 1"/>
  <body pos="0 0 .2"><freejoint/><geom size=".1" mass="1"/></body>
  <body pos=".5 0 .1"><freejoint/><geom size=".1" mass="1"/></body></worldbody></mujoco>"""


def test_words_and_bits():
    model = stiction.Model.from_xml_string(BALL)
    model.opt.contact_solver = "apgd"
    model.opt.coulomb = "relaxed"
    assert (model.opt.contact_solver, model.opt.coulomb) == (1, 0)
    with pytest.raises(ValueError, match="sap"):
        model.opt.contact_solver = "pgs"
    assert model.opt.handlers == sum(stiction.Handler)
    model.opt.handlers &= ~stiction.Handler.POINT
    data = stiction.Data(model)
    stiction.step(model, data, 500)
    assert data.ncon == 0 and data.qpos[2] < -1


@pytest.mark.parametrize("name, value", [
    ("cone", 7), ("cone", -1), ("solver", 3), ("integrator", 5), ("substeps", 0), ("contact_solver", 4), ("timestep", 0),
    ("timestep", 1e10), ("density", -1), ("tolerance", -1), ("iterations", -1), ("disableflags", 1 << 20), ("enableflags", 32),
    ("handlers", -1), ("contact_tol", 0), ("gravity", (0, 0, 1e11)), ("beta", float("nan"))])
def test_a_value_out_of_its_range_is_refused_when_it_is_set(name, value):
    model = stiction.Model.from_xml_string(BALL)
    before = np.copy(getattr(model.opt, name))
    with pytest.raises(ValueError, match=name):
        setattr(model.opt, name, value)
    np.testing.assert_array_equal(getattr(model.opt, name), before)


def test_bad_value_is_refused_by_the_step():
    model = stiction.Model.from_xml_string(BALL)
    data = stiction.Data(model)
    model.opt.gravity[1] = np.nan
    with pytest.raises(stiction.Error, match="gravity"):
        stiction.step(model, data)
    assert data.time == 0


@pytest.mark.parametrize("name, value, ours", [
    ("cone", 1, "coulomb"), ("solver", 0, "contact_solver"), ("tolerance", 1e-3, "contact_tol"), ("iterations", 7, "max_newton"),
    ("impratio", 2, "sigma")])
def test_an_option_without_effect_says_so(name, value, ours):
    model = stiction.Model.from_xml_string(BALL)
    with pytest.warns(UserWarning, match=f"{name} .* no effect; Stiction's option for it is {ours}"):
        setattr(model.opt, name, value)
    assert getattr(model.opt, name) == value


def test_substeps():
    model = stiction.Model.from_xml_string(BALL)
    fine, coarse = stiction.Data(model), stiction.Data(model)
    model.opt.timestep = 0.001
    stiction.step(model, fine, 400)
    model.opt.timestep, model.opt.substeps = 0.004, 4
    stiction.step(model, coarse, 100)
    np.testing.assert_allclose(coarse.time, 0.4, rtol=1e-13)
    np.testing.assert_allclose(coarse.qpos, fine.qpos, atol=1e-12)


@pytest.mark.parametrize("solver", ["sap", "apgd"])
def test_threads_and_pools_do_not_change_a_bit(solver):
    model = stiction.Model.from_xml_string(BALL)
    model.opt.contact_solver = solver
    one = stiction.Data(model)
    model.opt.pool_contacts = model.opt.pool_rows = model.opt.pool_candidates = model.opt.max_hits = 1
    two = stiction.Data(model, threads=2)
    stiction.step(model, one, 200)
    stiction.step(model, two, 200)
    assert one.ncon == 2 and one.hash() == two.hash()
    with pytest.raises(ValueError, match="threads"):
        stiction.Data(model, threads=0)


def test_capsules(tmp_path):
    model = stiction.Model.from_xml_string(BALL)
    data = stiction.Data(model)
    stiction.step(model, data, 100)
    assert data.trouble == () and data.capsules == 0
    model.opt.certificate_limit = 0
    data.set_capsules(tmp_path, most=1, troubles=["certificate"])
    before = data.hash()
    stiction.step(model, data)
    assert data.trouble == ("certificate",) and data.capsules == 1
    after = data.hash()
    path = tmp_path / "capsule-0001-certificate.h5"
    data.load_capsule(path)
    assert data.hash() == before
    stiction.step(model, data)
    assert data.hash() == after
    problem = stiction.Problem.from_file(path)
    for solver in ("sap", "apgd", "newton"):
        assert stiction.solve(problem, solver=solver, coulomb="exact", tol=1e-9).converged
    data.save_capsule(tmp_path / "now.h5")
    assert stiction.Problem.from_file(tmp_path / "now.h5").n == problem.n
    with pytest.raises(ValueError, match="nonfinite"):
        data.set_capsules(tmp_path, troubles=["heat"])
    with pytest.raises(stiction.Error, match="folder"):
        data.save_capsule(tmp_path / "no" / "now.h5")
    with pytest.raises(stiction.Error):
        data.load_capsule(tmp_path / "missing.h5")


def test_an_option_without_effect_in_its_mode_says_so():
    """With exact friction there is no line search to limit; with relaxed cones there is."""
    model = stiction.Model.from_xml_string("<mujoco/>")
    with pytest.warns(UserWarning, match="opt.max_step has no effect.*relaxed"):
        model.opt.max_step = 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.opt.max_newton = 50
        model.opt.max_step = 2  # as it was
        model.opt.coulomb = "relaxed"
        model.opt.max_step = 3
