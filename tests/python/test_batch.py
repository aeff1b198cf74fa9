# SPDX-License-Identifier: Apache-2.0
"""Batch and rollout: the bits of single worlds, arrays on their memory, failures, MuJoCo's shapes."""
import os
import pathlib
import pickle
import signal
import threading

import numpy as np
import pytest

import stiction

SCENES = pathlib.Path(__file__).parents[2] / "scenes"
BALL = "<mujoco><worldbody><geom type='plane' size='1 1 1'/><body pos='0 0 .3'><freejoint/><geom size='.1'/></body></worldbody></mujoco>"


@pytest.fixture(scope="module")
def model():
    return stiction.Model.from_xml_path(SCENES / "quadruped.xml")


def kicks(model, n):
    return np.random.default_rng(1).normal(scale=0.1, size=(n, model.nv))


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_worlds_have_the_bits_of_worlds_alone(model, threads):
    batch = stiction.Batch(model, 5, threads=threads)
    batch.qvel = kicks(model, 5)
    controls = np.random.default_rng(2).uniform(-1, 1, (6, 5, model.nu))
    for ctrl in controls:
        batch.step(3, ctrl)
    hashes = []
    for i in range(5):
        data = stiction.Data(model)
        data.qvel = kicks(model, 5)[i]
        for ctrl in controls:
            data.ctrl = ctrl[i]
            stiction.step(model, data, 3)
        hashes.append(data.hash())
    assert batch.hashes() == hashes and len(set(hashes)) == 5


def test_lanes_are_in_use(model):
    batch = stiction.Batch(model, 16, threads=2)
    assert batch.lane_share == 0 and batch.lanes in (1, 4, 8)
    batch.step(2)
    assert batch.lane_share == 1
    soft = stiction.Batch(stiction.Model.from_xml_path(SCENES / "soft_ball.xml"), 2)
    assert soft.lanes == 1


def test_arrays_share_the_memory_of_the_worlds(model):
    batch = stiction.Batch(model, 3)
    assert batch.qpos.shape == (3, model.nq) and batch.time.shape == (3,) and batch.xfrc_applied.shape == (3, model.nbody, 6)
    batch.qpos[1, 2] = 0.75
    assert batch.world(1).qpos[2] == 0.75 and np.shares_memory(batch.world(1).qpos, batch.qpos)
    assert np.shares_memory(np.from_dlpack(batch.qvel), batch.qvel)
    batch.forward()
    assert batch.xpos.shape == (3, model.nbody, 3)
    assert np.array_equal(batch.xpos[1], batch.world(1).xpos) and not np.array_equal(batch.xpos[0], batch.xpos[1])
    with pytest.raises(AttributeError, match="derived"):
        batch.xpos = 0
    with pytest.raises(ValueError):
        batch.sensordata[0] = 1
    with pytest.raises(AttributeError):
        batch.nonsense
    with pytest.raises(IndexError):
        batch.world(3)
    assert batch.world(-1).hash() == batch.hashes()[2]


def test_a_world_of_a_batch_outlives_its_batch(model):
    data = stiction.Batch(model, 2).world(1)
    stiction.step(model, data, 2)
    assert data.time == pytest.approx(2 * model.opt.timestep)


def test_options_of_the_model_count(model):
    own = stiction.Model.from_xml_string(BALL)
    batch = stiction.Batch(own, 2)
    own.opt.gravity[2] = 0
    own.opt.timestep = 0.25
    batch.qvel[:, 0] = 2
    batch.step(2)
    assert np.allclose(batch.time, 0.5) and np.allclose(batch.qpos[:, 2], 0.3) and np.allclose(batch.qpos[:, 0], 1)


def test_a_world_that_fails_is_named_and_the_others_go_on(model):
    batch = stiction.Batch(model, 4)
    batch.step(2)
    before = batch.hashes()[2]
    batch.ctrl[2, 0] = np.nan
    with pytest.raises(stiction.Error, match="world 2: ctrl") as caught:
        batch.step(3)
    assert caught.value.code == "NONFINITE" and list(caught.value.worlds) == [2] == list(batch.failures)
    assert np.allclose(batch.time, np.where(np.arange(4) == 2, 2, 5) * model.opt.timestep)
    batch.ctrl[2, 0] = 0
    assert batch.hashes()[2] == before
    batch.step()
    assert not batch.failures

    quiet = stiction.Batch(model, 3, errors="keep")
    quiet.qvel[0] = np.inf
    quiet.step()
    assert quiet.failures[0][0] == "NONFINITE" and np.all(np.isfinite(quiet.qvel))


def test_reset_of_some(model):
    batch = stiction.Batch(model, 4)
    start = batch.hashes()[0]
    batch.step(4)
    later = batch.hashes()[1]
    batch.reset([0, 3])
    assert batch.hashes() == [start, later, later, start]
    batch.reset(np.array([False, True, False, False]))
    assert batch.hashes() == [start, start, later, start]
    state = batch.state
    assert state.shape == (4, batch.nstate) and state[2, 0] == batch.time[2] and np.array_equal(state[2, 1:1 + model.nq], batch.qpos[2])
    batch.reset(2, state=state[0])
    assert batch.hashes() == [start] * 4
    for bad in (dict(worlds=[4]), dict(worlds=[0], key=99), dict(state=np.full(batch.nstate, np.nan)), dict(worlds=np.ones(3, bool))):
        with pytest.raises((stiction.Error, ValueError, IndexError)):
            batch.reset(**bad)


@pytest.mark.parametrize("threads", [1, 2])
def test_forward_of_some(model, threads):
    """Those have the fields of a Data in their state, the others those that their last step left."""
    batch = stiction.Batch(model, 4, threads=threads)
    batch.step(5)
    before, hashes = batch.xpos, batch.hashes()
    batch.qpos[1:3, 2] += [0.5, 0.7]
    batch.forward([2, 1, 2])
    after = batch.xpos
    assert np.array_equal(after[[0, 3]], before[[0, 3]])
    data = stiction.Data(model)
    data.qpos, data.qvel = batch.qpos[2], batch.qvel[2]
    stiction.forward(model, data)
    assert np.array_equal(after[2], data.xpos) and np.allclose(after[2, 1, 2] - after[1, 1, 2], 0.2)
    assert batch.hashes()[0] == hashes[0]
    batch.forward(np.zeros(4, bool))
    with pytest.raises(stiction.Error, match="no world 4"):
        batch.forward([4])


def test_certificates_of_all(model):
    batch = stiction.Batch(model, 3)
    assert np.all(np.isnan(batch.certificate))
    batch.step(20)
    assert np.all(batch.certificate <= model.opt.contact_tol) and np.all(batch.converged)
    assert batch.solver_niter.shape == (3,)


def test_rollout_is_a_loop(model):
    n, steps = 6, 5
    state = stiction.Batch(model, n).state
    state[:, 1 + model.nq:1 + model.nq + model.nv] = kicks(model, n)
    control = np.random.default_rng(3).uniform(-1, 1, (n, steps, model.nu))
    states, sensors = stiction.rollout(model, state, control)
    assert states.shape == (n, steps, state.shape[1]) and sensors.shape == (n, steps, model.nsensordata)
    for i in (0, 5):
        data = stiction.Data(model)
        data.qvel = kicks(model, n)[i]
        for k in range(steps):
            data.ctrl = control[i, k]
            stiction.step(model, data)
            assert np.array_equal(states[i, k, 1:1 + model.nq], data.qpos) and np.array_equal(sensors[i, k], data.sensordata)
    one = stiction.rollout(model, state, control, threads=1)
    assert np.array_equal(one[0], states) and np.array_equal(one[1], sensors)
    same, _ = stiction.rollout(model, state[0], control[0])
    assert same.shape[0] == 1 and np.array_equal(same[0], states[0])
    free, _ = stiction.rollout(model, stiction.Data(model), nstep=3)
    assert free.shape == (1, 3, state.shape[1])


def test_a_rollout_in_pieces_is_the_whole(model):
    """Pieces on a batch that is pickled in between, one of whose worlds has failed, have the bits of the whole."""
    n, steps = 5, 9
    state = stiction.Batch(model, n).state
    state[:, 1 + model.nq:1 + model.nq + model.nv] = kicks(model, n)
    control = np.random.default_rng(3).uniform(-1, 1, (n, steps, model.nu))
    control[2, 1, 0] = np.nan
    want = stiction.rollout(model, state, control, errors="keep")
    batch = stiction.Batch(model, n, errors="keep")
    batch.reset(state=state)
    first = batch.rollout(control[:, :4])
    failed = list(batch.failures)
    assert failed == [2]
    second = pickle.loads(pickle.dumps(batch)).rollout(control[:, 4:], failed=failed)
    for whole, a, b in zip(want, first, second):
        assert np.array_equal(whole, np.concatenate([a, b], axis=1))
    with pytest.raises(ValueError, match="3 rollouts"):
        batch.rollout(control[:3])
    strict = stiction.Batch(model, n)
    with pytest.raises(stiction.Error) as caught:
        strict.rollout(control)
    assert list(caught.value.worlds) == [2]
    strict.rollout(control[:, 4:], failed=[2])


def test_rollout_has_the_shapes_of_mujoco():
    mujoco = pytest.importorskip("mujoco")
    from mujoco import rollout as peer
    xml = """<mujoco><worldbody><body><joint name='j' type='hinge' axis='0 1 0' damping='.1'/><geom size='.1' pos='.3 0 0'/></body>
             </worldbody><actuator><motor joint='j'/></actuator><sensor><jointpos joint='j'/><jointvel joint='j'/></sensor></mujoco>"""
    theirs, ours = mujoco.MjModel.from_xml_string(xml), stiction.Model.from_xml_string(xml)
    size = mujoco.mj_stateSize(theirs, mujoco.mjtState.mjSTATE_FULLPHYSICS)
    start = np.zeros((3, size))
    start[:, 1] = [0, 0.5, 1]
    control = np.random.default_rng(0).uniform(-1, 1, (3, 20, 1))
    want = peer.rollout(theirs, mujoco.MjData(theirs), start, control)
    got = stiction.rollout(ours, start, control)
    for a, b in zip(want, got):
        assert a.shape == b.shape and np.allclose(a, b, atol=1e-12)


def test_bad_rollouts_are_said(model):
    state = stiction.Batch(model, 2).state
    control = np.zeros((2, 4, model.nu))
    for bad in (lambda: stiction.rollout(model, state[:, 1:], control), lambda: stiction.rollout(model, state, control[:, :, 1:]),
                lambda: stiction.rollout(model, state), lambda: stiction.rollout(model, state, np.zeros((3, 4, model.nu))),
                lambda: stiction.rollout(model, state, control, nstep=3)):
        with pytest.raises(ValueError):
            bad()
    control[1, 2, 0] = np.nan
    with pytest.raises(stiction.Error) as caught:
        stiction.rollout(model, state, control)
    assert list(caught.value.worlds) == [1]
    states, _ = stiction.rollout(model, state, control, errors="keep")
    assert np.array_equal(states[1, 1], states[1, 3]) and not np.array_equal(states[0, 1], states[0, 3])


def test_ctrl_c_ends_a_long_call(model):
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    batch = stiction.Batch(model, 2)
    with pytest.raises(KeyboardInterrupt):
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        batch.step(2**31 - 1)
    assert np.all(batch.time < 1e6)
    batch.step()


def test_one_caller_at_a_time(model):
    batch = stiction.Batch(model, 2)
    worker = threading.Thread(target=batch.step, args=(30000,))
    worker.start()
    busy = 0
    while worker.is_alive() and not busy:
        try:
            batch.world(0).hash()
        except RuntimeError as error:
            busy = "another thread" in str(error)
    worker.join()
    assert busy


def test_bad_batches_are_said(model):
    for args in ((model, 0), (model, -1), (model, 2, 0), (model, 2, 1, "ignore")):
        with pytest.raises(ValueError):
            stiction.Batch(*args)
    with pytest.raises(TypeError):
        stiction.Batch("model", 2)
