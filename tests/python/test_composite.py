# SPDX-License-Identifier: Apache-2.0
"""Cables, which MuJoCo made of <composite> before version 4.0: what is written out runs there, and its shape is the curve."""
import compare
import mujoco
import numpy as np
import pytest

import stiction

PLUGIN = """<plugin plugin="mujoco.elasticity.cable"><config key="twist" value="1e6"/><config key="bend" value="4e6"/></plugin>"""
SCENE = """<mujoco><extension><plugin plugin="mujoco.elasticity.cable"/></extension><option integrator="implicitfast"/>
<worldbody>{before}<composite prefix="c_" type="cable" {what}>{plugin}<joint kind="main" damping=".01" armature=".001"/>
<geom {geom} condim="1" rgba="1 0 0 1"/><site group="3"/></composite>{after}</worldbody></mujoco>"""
CURVE = 'curve="s cos(s) sin(s)" count="11 1 1" size="1 .2 3"'


def scene(what, plugin="", geom='type="capsule" size=".01"', body=True):
    around = ('<body pos="0 0 1">', "</body>") if body else ("", "")
    return SCENE.format(what=what, plugin=plugin, geom=geom, before=around[0], after=around[1])


def loaded(*args, **kwargs):
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return stiction.Model.from_xml_string(scene(*args, **kwargs))


def points(model, data):
    """Where the pieces begin, and the end of the last."""
    return np.vstack([*(data.body(b).xpos for b in range(1, model.nbody) if model.body(b).name), data.site("c_S_last").xpos])


def test_names_and_joints_are_those_of_the_cable():
    model = loaded(CURVE + ' initial="none"')
    bodies = [f"c_B_{k}" for k in ("first", *range(1, 9), "last")]
    assert [model.body(i).name for i in range(model.nbody)] == ["world", "", *bodies]
    assert [model.joint(i).name for i in range(model.njnt)] == [f"c_J_{k}" for k in (*range(1, 9), "last")]
    assert [model.geom(i).name for i in range(model.ngeom)] == [f"c_G{k}" for k in range(10)]
    assert [model.site(i).name for i in range(model.nsite)] == ["c_S_first", "c_S_last"] and list(model.site_group) == [3, 3]
    assert model.nexclude == 9 and set(model.jnt_type) == {stiction.Joint.BALL} and set(model.geom_condim) == {1}
    assert set(model.dof_damping) == {0.01} and set(model.dof_armature) == {0.001} and not model.jnt_stiffness.any()


@pytest.mark.parametrize("initial, first", [("free", stiction.Joint.FREE), ("ball", stiction.Joint.BALL), ("none", None)])
def test_the_first_joint(initial, first):
    model = loaded(CURVE + f' initial="{initial}"', body=False)
    types = list(model.jnt_type)
    assert types[1 if first is not None else 0:] == [stiction.Joint.BALL] * 9
    assert first is None or types[0] == first
    assert first != stiction.Joint.FREE or not model.dof_damping[:6].any(), "a free cable flies freely"


def test_the_pieces_lie_on_the_curve():
    model = loaded(CURVE + ' offset=".1 .2 .3" quat="0 0 0 1"')
    data = stiction.Data(model)
    stiction.forward(model, data)
    s = np.linspace(0, 1, 11)
    curve = np.column_stack([s, 0.2 * np.cos(3 * np.pi * s), 0.2 * np.sin(3 * np.pi * s)]) * [-1, -1, 1] + [0.1, 0.2, 1.3]
    np.testing.assert_allclose(points(model, data), curve, atol=1e-12)
    np.testing.assert_allclose(2 * model.geom_size[:, 1], np.linalg.norm(np.diff(curve, axis=0), axis=1), atol=1e-12)


def test_given_points_and_boxes():
    at = np.array([[0, 0, 0], [0.1, 0, 0], [0.2, 0.1, 0], [0.2, 0.2, 0.1]])
    model = loaded(f'vertex="{" ".join(map(str, at.ravel()))}"', geom='type="box" size="1 .01 .02"', body=False)
    data = stiction.Data(model)
    stiction.forward(model, data)
    np.testing.assert_allclose(points(model, data), at, atol=1e-12)
    np.testing.assert_allclose(data.geom_xpos, (at[1:] + at[:-1]) / 2, atol=1e-12)
    np.testing.assert_allclose(model.geom_size[:, 1:], [[0.01, 0.02]] * 3)


def rotation_vector(q):
    angle, sine = 2 * np.arctan2(np.linalg.norm(q[1:]), q[0]), np.linalg.norm(q[1:])
    return q[1:] / sine * (angle - 2 * np.pi * (angle > np.pi)) if sine else np.zeros(3)


def torque(q, stiffness):
    """-d/dq of sum k r^2 / 2, r the rotation vector, by an angular velocity in the body: by differences of the energy."""
    def energy(turn):
        p = np.zeros(4)
        mujoco.mju_mulQuat(p, q, turn)
        return stiffness @ rotation_vector(p)**2 / 2
    eps = 1e-4
    turns = np.concatenate([np.full((3, 1), np.cos(eps / 2)), np.sin(eps / 2) * np.eye(3)], axis=1)
    return np.array([energy(t * [1, -1, -1, -1]) - energy(t) for t in turns]) / (2 * eps)


@pytest.mark.parametrize("plugin", ["", PLUGIN], ids=["limp", "elastic"])
def test_it_moves_as_the_same_bodies_do_in_mujoco(plugin):
    spec = stiction.Spec.from_string(scene(CURVE + ' initial="none"', plugin))
    model, text = spec.compile(), spec.to_xml(plain=True)
    assert "composite" not in text
    stiffness = np.reshape(model.jnt_stiffnessaxes, (-1, 3))
    assert stiffness.any() == bool(plugin)
    mj = mujoco.MjModel.from_xml_string(text.replace('<plugin plugin="mujoco.elasticity.cable"/>', ""))
    mjd, data = mujoco.MjData(mj), stiction.Data(model)
    for _ in range(50):
        for j in range(mj.njnt if plugin else 0):
            q = mjd.qpos[4 * j:4 * j + 4]
            mjd.qfrc_applied[3 * j:3 * j + 3] = torque(q / np.linalg.norm(q), stiffness[j])
        mujoco.mj_step(mj, mjd)
    stiction.step(model, data, 50)
    bound = 1e-6 if plugin else 1e-9 # differences
    assert compare.relative(data.qpos, mjd.qpos) < bound and compare.relative(data.qvel, mjd.qvel) < bound


def test_elasticity_is_that_of_a_beam():
    """A straight horizontal cable, clamped at one end, bends by w L^4 / 8 E I under its weight."""
    E, r, n = 2e9, 0.005, 41
    model = loaded(f'count="{n} 1 1" curve="s 0 0" size=".5" initial="none"', PLUGIN.replace("4e6", str(E)), f'type="capsule" size="{r}"')
    I, L = np.pi * r**4 / 4, 0.5
    np.testing.assert_allclose(np.reshape(model.jnt_stiffnessaxes, (-1, 3)), [np.array([1e6 * 2 * I, E * I, E * I]) / (L / (n - 1))] * (n - 2), rtol=1e-12)
    model.opt.timestep = 0.0005
    model.dof_damping[:] = 2
    data = stiction.Data(model)
    stiction.step(model, data, 60000)
    sag, w = 1 - data.site("c_S_last").xpos[2], model.body_mass.sum() / L * 9.81
    assert abs(data.qvel).max() < 1e-3 and abs(sag / (w * L**4 / (8 * E * I)) - 1) < 0.08, sag


@pytest.mark.parametrize("geom, constant", [('type="capsule" size=".005"', np.pi * 0.005**4 / 2), ('type="box" size="1 .005 .005"', 0.1406 * 0.01**4),
                                            ('type="box" size="1 .01 .002"', 0.2913 * 0.02 * 0.004**3)])
@pytest.mark.parametrize("integrator", ["Euler", "RK4", "implicitfast", "alm"])
def test_twist(geom, constant, integrator):
    """A torque along a cable of n pieces twists its end by (n - 1) M l / G J, J the torsional constant (tables of Roark: b = a, b = a / 5)."""
    G, M, n, l = 1e7, 1e-4, 5, 0.1
    model = loaded(f'count="{n + 1} 1 1" curve="s 0 0" size="{n * l}" initial="none"', PLUGIN.replace("1e6", str(G)).replace("4e6", "1e7"), geom)
    model.opt.gravity[:] = 0
    model.opt.integrator = getattr(stiction.Integrator, integrator.upper())
    model.dof_damping[:] = 5e-3
    data = stiction.Data(model)
    data.body("c_B_last").xfrc_applied[3] = M
    stiction.step(model, data, 3000)
    assert abs(data.qvel).max() < 1e-8
    x = data.body("c_B_last").xmat.reshape(3, 3)
    assert np.arctan2(x[2, 1], x[2, 2]) == pytest.approx((n - 1) * M * l / (G * constant), rel=3e-3)


def test_what_is_not_as_in_mujoco_is_said():
    with pytest.warns(UserWarning, match="flat has no effect"):
        stiction.Model.from_xml_string(scene(CURVE, PLUGIN.replace("</plugin>", '<config key="flat" value="true"/></plugin>')))


@pytest.mark.parametrize("what, geom, plugin, attribute", [
    ('count="1 1 1"', 'size=".01"', "", "count"), ('count="4 2 1"', 'size=".01"', "", "count"), ('count="4 1 1" curve="s t 0"', 'size=".01"', "", "curve"),
    ('vertex="0 0 0 1 1"', 'size=".01"', "", "vertex"), ('vertex="0 0 0 0 0 0"', 'size=".01"', "", "vertex"),
    ('vertex="0 0 0 1 0 0" count="3 1 1"', 'size=".01"', "", "vertex"), (CURVE, 'type="sphere" size=".01"', "", "type"),
    (CURVE, 'size=".01"', PLUGIN.replace("4e6", "much"), "value"), (CURVE, 'size=".01"', PLUGIN.replace("1e6", "-1"), "value"), (CURVE, 'size=".01"', '<plugin instance="none"/>', "instance"),
    (CURVE, 'size=".01"', '<plugin plugin="mujoco.pid"/>', "plugin"), (CURVE.replace("cable", "x") + ' initial="weld"', 'size=".01"', "", "initial")])
def test_wrong_cables_are_errors(what, geom, plugin, attribute):
    with pytest.raises(stiction.Error) as caught:
        loaded(what, plugin, geom if "type" in geom else f'type="capsule" {geom}')
    assert caught.value.attribute == attribute


def test_other_composites_name_flexcomp():
    with pytest.raises(stiction.Error, match="rope"):
        stiction.Model.from_xml_string(scene('count="4 1 1"').replace('type="cable"', 'type="rope"'))


def test_a_cable_added_to_a_spec_is_refused():
    spec = stiction.Spec()
    spec.worldbody.add("composite", type="cable", count=[4, 1, 1])
    with pytest.raises(stiction.Error, match="files only"):
        spec.compile()
