# SPDX-License-Identifier: Apache-2.0
"""Models that are changed, parameters per world, pickles. That every field gives what compiling gives: tests/test_change.c."""
import copy
import multiprocessing
import pathlib
import pickle
import threading

import numpy as np
import pytest

import stiction

XML = """<mujoco><option timestep="0.005"/><worldbody><geom type="plane" size="5 5 .1"/>
<body name="a" pos="0 0 .1"><freejoint/><inertial pos="0 0 0" mass="{mass}" diaginertia=".01 .01 .01"/>
<geom name="g" type="box" size=".1 .1 .1" friction="{friction}"/></body>
<body name="b" pos="1 0 1"><joint name="h" axis="0 1 0" damping="{damping}"/><geom size=".1" pos=".3 0 0" mass="1"/></body>
</worldbody><actuator><motor name="m" joint="h" gear="2"/></actuator></mujoco>"""


def load(mass=2, friction=0.6, damping=0.1):
    return stiction.Model.from_xml_string(XML.format(mass=mass, friction=friction, damping=damping))


def run(model, steps=30):
    data = stiction.Data(model)
    data.qvel[0] = 1
    stiction.step(model, data, steps)
    return data.hash()


def test_what_is_written_counts_in_the_next_step():
    model, data = load(), None
    data = stiction.Data(model)
    stiction.step(model, data, 3)
    model.body_mass[1] = 3
    model.geom("g").friction[0] = 0.2
    model.joint("h").damping = 0.5
    stiction.reset(model, data)
    data.qvel[0] = 1
    stiction.step(model, data, 30)
    want = load(3, 0.2, 0.5)
    assert data.hash() == run(want) and model.hash() == want.hash() and run(load()) != run(want)
    assert model.body_subtreemass[1] == 3
    model.body_mass = 1.5
    model.update()
    assert model.body_subtreemass[0] == 4.5


def test_what_cannot_be_written_says_what_to_do():
    model = load()
    with pytest.raises(AttributeError, match="compile it anew"):
        model.body_parentid = 0
    with pytest.raises(AttributeError, match="derived"):
        model.body_invweight0 = 0
    with pytest.raises(AttributeError, match="load it anew"):
        model.nv = 3
    with pytest.raises(ValueError):
        model.body_parentid[0] = 1
    data, before = stiction.Data(model), model.hash()
    model.body_mass[1] = -1
    with pytest.raises(stiction.Error, match="body_mass: number 1 is -1"):
        stiction.step(model, data)
    assert model.body_mass[1] == 2 and model.hash() == before
    stiction.step(model, data)


def test_parameters_of_worlds():
    masses = [2, 3.5, 0.7]
    model = load()
    batch = stiction.Batch(model, 3, threads=2)
    array = batch.parameter("body_mass")
    assert array.shape == (3, model.nbody)
    array[:, 1] = masses
    batch.parameter("geom_friction")[2, 1, 0] = 0.1
    batch.qvel[:, 0] = 1
    batch.step(30)
    want = [run(load(mass, friction)) for mass, friction in zip(masses, (0.6, 0.6, 0.1))]
    assert batch.hashes() == want and model.body_mass[1] == 2
    with pytest.raises(stiction.Error, match="sti_model_update"):
        batch.parameter("geom_solref")
    array[1, 1] = np.nan
    with pytest.raises(stiction.Error, match="world 1: body_mass"):
        batch.step()
    assert array[1, 1] == 3.5
    for other in (pickle.loads(pickle.dumps(batch)), copy.copy(batch), copy.deepcopy(batch)):
        assert other.hashes() == batch.hashes()
        other.step(5)
        one = pickle.loads(pickle.dumps(batch.world(2)))
        stiction.step(one.model, one, 5)
        assert one.hash() == other.hashes()[2] and one.model.body_mass[1] == 0.7
        assert copy.copy(batch.world(2)).model.body_mass[1] == 0.7


def test_pickles():
    model = load()
    model.opt.timestep = 0.001
    model.body_mass[1] = 4
    data = stiction.Data(model, threads=2)
    data.qvel[0] = 1
    stiction.step(model, data, 20)
    there = pickle.loads(pickle.dumps(data))
    assert there.hash() == data.hash() and there.model.opt.timestep == 0.001 and there.model.hash() == model.hash()
    for d in (data, there):
        stiction.step(d.model, d, 20)
    assert there.hash() == data.hash()
    both = pickle.loads(pickle.dumps((model, data)))
    assert both[1].model is both[0]


def test_damaged_pickles():
    packed = load()._model_core.pack()
    with pytest.raises(stiction.Error, match="damaged"):
        stiction._unpack_model(packed[:-3] + b"xyz", {}, [])
    with pytest.raises(stiction.Error, match="another version"):
        stiction._unpack_model(packed[:8] + b"9" + packed[9:], {}, [])
    with pytest.raises(stiction.Error, match="not a packed model"):
        stiction._unpack_model(b"x" * 1000, {}, [])


def test_other_processes():
    model = load()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(run, [model, load(3)]) == [run(model), run(load(3))]


def test_no_thread_steps_under_a_change():
    """While a thread steps, neither a change of its model nor a snapshot of its data reaches it; both say so."""
    model = stiction.Model.from_xml_path(str(pathlib.Path(__file__).parents[2] / "scenes" / "soft_ball.xml"))
    one, other = stiction.Data(model), stiction.Data(model)
    stiction.step(model, other)
    rgba = model.geom_rgba.copy()
    thread = threading.Thread(target=stiction.step, args=(model, one, 400))
    thread.start()
    changed = saved = 0
    while thread.is_alive():
        model.geom_rgba[:] = rgba / 2
        for call, count in ((lambda: stiction.step(model, other), "changed"), (one.snapshot, "saved")):
            try:
                call()
            except RuntimeError as error:
                assert "another thread" in str(error)
                changed, saved = changed + (count == "changed"), saved + (count == "saved")
        model.geom_rgba[:] = rgba
    thread.join()
    assert changed > 0 and saved > 0
    model.geom_rgba[:] = rgba / 2
    stiction.step(model, one)
    stiction.step(model, other)
