# SPDX-License-Identifier: Apache-2.0
"""Contacts, certificate and contact options as users of Python see them."""
import math

import numpy as np
import pytest

import stiction

BOX = """<mujoco xmlns:sti='urn:stiction'><option timestep='0.002'/>{}<worldbody><geom name='floor' type='plane' size='9 9 1'/>
<body name='box' pos='0 0 .05'><freejoint/><geom name='cube' type='box' size='.05 .05 .05' mass='2'/></body></worldbody></mujoco>"""


def rest(option=""):
    model = stiction.Model.from_xml_string(BOX.format(option))
    data = stiction.Data(model)
    stiction.step(model, data, 500)
    return model, data


def test_contacts_of_a_soft_body():
    """Patches of one soft cube on a floor: their forces carry it, their polygons lie under it."""
    model = stiction.Model.from_xml_string("""<mujoco xmlns:sti='urn:stiction'><option timestep='.005'/><worldbody>
<geom name='floor' type='plane' size='9 9 1'/><sti:soft name='jelly' type='box' size='.05 .05 .05' pos='0 0 .05' young='1e5'
 poisson='.3' mass='2'/></worldbody></mujoco>""")
    data = stiction.Data(model)
    stiction.step(model, data, 200)
    contact, jelly = data.contact, model.flex("jelly")
    assert np.isclose(contact.force[:, 0].sum(), 2 * 9.81, rtol=1e-4)
    assert sorted(set(contact.flex1) | set(contact.flex2)) == [-1, jelly.id] and np.isclose(contact.area.sum(), 0.01, rtol=0.1)
    assert (contact.pressure > 0).all() and max(contact.elem1.max(), contact.elem2.max()) < jelly.elemnum[0]
    soft = np.where(contact.flex1[:, None] >= 0, contact.bary1, contact.bary2)
    np.testing.assert_allclose(soft.sum(axis=1), 1, atol=1e-9)
    with pytest.raises(AttributeError):
        jelly.elem  # rows of tetrahedra, not of soft bodies


def test_contacts():
    model, data = rest()
    contact = data.contact
    assert data.ncon == len(contact) == 4
    assert np.isclose(contact.force[:, 0].sum(), 2 * 9.81, rtol=1e-8)
    assert np.allclose(contact.frame[:, :3], [0, 0, 1])
    assert sorted(map(tuple, np.sign(contact.pos[:, :2]))) == [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    assert (contact.body1 == 0).all() and (contact.body2 == model.body("box").id).all()
    assert (contact.geom1 == model.geom("floor").id).all() and (contact.dim == 3).all()
    assert (contact.region == 1).all() and (contact.dist < 0).all() and (contact.dist > -1e-4).all()
    assert np.isinf(contact.stiffness).all() and len(set(contact.feature)) == 4
    np.testing.assert_allclose(contact.force, contact.impulse / 0.002)
    assert data.certificate.headline < 1e-8


@pytest.mark.parametrize("solver", ["sap", "apgd"])
@pytest.mark.parametrize("coulomb", ["relaxed", "exact"])
def test_solvers_agree(solver, coulomb):
    _, data = rest(f"<sti:option solver='{solver}' coulomb='{coulomb}'/>")
    assert abs(data.qpos[2] - 0.05) < 1e-4 and abs(data.qvel).max() < 1e-7
    assert np.isclose(data.contact.force[:, 0].sum(), 2 * 9.81, rtol=1e-6)


def test_options():
    model, _ = rest("<sti:option memory='disable' tol='1e-7' beta='0.5' sigma='1e-4' push='2'/>")
    o = model.opt
    assert (o.memory, o.contact_tol, o.beta, o.sigma, o.push, o.coulomb) == (0, 1e-7, 0.5, 1e-4, 2, 1)
    with pytest.raises(stiction.Error, match="positive"):
        rest("<sti:option beta='0'/>")


def test_nothing_touches():
    model = stiction.Model.from_xml_string("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")
    data = stiction.Data(model)
    stiction.step(model, data)
    assert data.ncon == 0 and data.certificate.gap == 0 and data.solver_niter == 0


def test_what_was_not_computed_is_nan():
    """A step claims the gap alone; the rest is nan, not 0, until somebody asks."""
    model, data = rest()
    fresh = stiction.Data(model).certificate
    assert all(math.isnan(x) for x in fresh[:-2]) and fresh[-2:] == (-1, -1)
    stiction.step(model, data)
    said, judged = data.certificate, data.certify()
    assert data.converged and said.headline <= model.opt.contact_tol and said.gap >= 0
    for name in ("momentum", "natural", "cone", "dissipation", "penetration", "desaxce"):
        assert math.isnan(getattr(said, name)), name
        assert getattr(judged, name) >= 0, name
    assert said.ndetermined == judged.ndetermined == -1
    assert judged.headline == pytest.approx(said.headline, rel=1e-3, abs=1e-12)


def test_too_few_newton_steps_are_said():
    """Too few for exact friction: the step says that it reached the cap, and that it did not converge."""
    model, data = rest()
    model.opt.max_newton = 1
    data.qvel[:] = [3, 1, -2, 4, -5, 6]
    stiction.step(model, data)
    assert data.warnings["ITERATION_CAP"][0] == 1
    assert not data.converged and data.certificate.headline > model.opt.contact_tol
    assert data.converged == (data.certify().headline <= model.opt.contact_tol)
