# SPDX-License-Identifier: Apache-2.0
"""Batches on a device, by the processor ("cuda-emulated"): the bits of worlds alone, arrays without a copy, worlds that move, errors.
With $STI_TEST_DEVICE=cuda the same on a GPU."""
import copy
import os
import pathlib
import pickle

import numpy as np
import pytest

import stiction
from stiction.batch import DeviceArray

SCENES = pathlib.Path(__file__).parents[2] / "scenes"
DEVICE = os.environ.get("STI_TEST_DEVICE", "cuda-emulated")
N = 5


@pytest.fixture(scope="module")
def model():
    return stiction.Model.from_xml_path(SCENES / "quadruped.xml")


@pytest.fixture
def batch(model):
    batch = stiction.Batch(model, N, device=DEVICE)
    batch.qvel = np.random.default_rng(1).normal(scale=0.1, size=(N, model.nv))
    return batch


def alone(model, i, steps, ctrl=None):
    data = stiction.Data(model)
    data.qvel = np.random.default_rng(1).normal(scale=0.1, size=(N, model.nv))[i]
    if ctrl is not None:
        data.ctrl = ctrl[i]
    stiction.step(model, data, steps)
    return data


def test_worlds_have_the_bits_of_worlds_alone(model, batch):
    ctrl = np.random.default_rng(2).uniform(-1, 1, (N, model.nu))
    batch.step(20, ctrl)
    single = [alone(model, i, 20, ctrl) for i in range(N)]
    assert batch.hashes() == [d.hash() for d in single]
    for name in ("qpos", "xpos", "sensordata", "qfrc_constraint"):
        assert np.array_equal(np.asarray(getattr(batch, name)), [getattr(d, name) for d in single]), name
    assert np.array_equal(batch.certificate, [d.certificate.headline for d in single]) and batch.converged.all()
    assert batch.device == DEVICE and DEVICE in repr(batch) and batch.device_info["world_bytes"] > 0
    assert stiction.Batch(model, 1).device_info["bytes"] == 0


def test_arrays_are_those_of_the_worlds(model, batch):
    array = batch.qpos if isinstance(batch.qpos, DeviceArray) else DeviceArray(batch, "qpos")
    assert array.shape == (N, model.nq) and len(array) == N and array.ndim == 2 and array.dtype == float
    array[1, 2] = 0.75
    assert np.asarray(batch.qpos)[1, 2] == 0.75 and array.numpy()[1, 2] == 0.75
    array[...] = np.broadcast_to(model.qpos0, array.shape)
    batch.forward()
    assert np.array_equal(np.asarray(batch.xpos)[1], batch.world(1).xpos)
    with pytest.raises(ValueError, match="cannot be written"):
        DeviceArray(batch, "sensordata")[...] = 0
    with pytest.raises(ValueError):
        batch.ctrl = np.zeros((N + 1, model.nu))


@pytest.mark.skipif(DEVICE == "cuda", reason="NumPy takes arrays of the processor alone")
def test_dlpack_gives_the_memory_itself(model, batch):
    view = np.from_dlpack(DeviceArray(batch, "qvel"))
    assert view.shape == (N, model.nv) and np.shares_memory(view, batch.qvel)
    with pytest.raises(AttributeError, match="GPU"):
        DeviceArray(batch, "qvel").__cuda_array_interface__
    with pytest.raises(BufferError):
        DeviceArray(batch, "qvel").__dlpack__(copy=True)
    batch.qvel[0, 0] = 2.5
    assert view[0, 0] == 2.5
    del batch
    assert view[0, 0] == 2.5  # the array keeps the batch
    DeviceArray(stiction.Batch(model, 2, device=DEVICE), "qpos").__dlpack__()  # and a capsule that nobody takes is freed


def test_worlds_move(model, batch):
    batch.step(10)
    data = batch.world(3)
    assert data.hash() == alone(model, 3, 10).hash() and np.array_equal(data.qpos, np.asarray(batch.qpos)[3])
    stiction.step(model, data, 5)
    batch.put(0, data)
    batch.step(5)
    assert batch.hashes()[0] == alone(model, 3, 20).hash() and batch.hashes()[3] == alone(model, 3, 15).hash()
    with pytest.raises(IndexError):
        batch.world(N)
    other = stiction.Data(stiction.Model.from_xml_path(SCENES / "arm.xml"))
    with pytest.raises(stiction.Error, match="match|model"):
        batch.put(0, other)


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda b: pickle.loads(pickle.dumps(b))])
def test_copies_go_on_alike(batch, how):
    batch.step(7)
    other = how(batch)
    assert other.device == DEVICE and other.hashes() == batch.hashes()
    batch.step(3), other.step(3)
    assert other.hashes() == batch.hashes()


def test_resets_and_states(model, batch):
    fresh = stiction.Batch(model, N, device=DEVICE).hashes()
    state = batch.state
    batch.step(4)
    batch.reset([1, 2])
    assert [a == b for a, b in zip(batch.hashes(), fresh)] == [False, True, True, False, False]
    batch.reset(state=state)
    batch.step(4)
    assert batch.hashes() == [alone(model, i, 4).hash() for i in range(N)]


def test_a_world_that_fails_is_named_and_the_others_go_on(model, batch):
    applied = np.zeros((N, model.nv))
    applied[2, 3] = np.nan
    batch.qfrc_applied = applied
    with pytest.raises(stiction.Error) as info:
        batch.step(3)
    assert list(info.value.worlds) == [2] and info.value.code == "NONFINITE"
    assert np.asarray(batch.time)[2] == 0 and np.asarray(batch.time)[0] == pytest.approx(3 * model.opt.timestep)


def test_what_is_not_there_says_so(model, batch):
    with pytest.raises(stiction.Error, match="no device tpu"):
        stiction.Batch(model, 2, device="tpu")
    with pytest.raises(TypeError, match="device"):
        stiction.Batch(model, 2, device=3)


def test_arrays_of_a_device_compute_as_those_of_numpy(model, batch):
    array, plain = DeviceArray(batch, "qpos"), np.array(batch.qpos)
    assert np.array_equal(array * 2 - plain[0], plain * 2 - plain[0]) and np.array_equal(np.sin(array), np.sin(plain))
    assert np.array_equal(array.reshape(-1), plain.ravel()) and array.max() == plain.max() and np.array_equal(array.T, plain.T)
    array[[1, 3]] = 0.25
    array += 1
    plain[[1, 3]] = 0.25
    assert np.array_equal(np.asarray(batch.qpos), plain + 1)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        array.nothing


def parameters_as_arrays(batch, names, how):
    """The fields of a model of each world its own, as the plain arrays or as DeviceArrays."""
    own = {name: batch.parameter(name) for name in names}
    return own if how == "plain" else {name: DeviceArray(batch, name, np.shape(a)[1:]) for name, a in own.items()}


@pytest.mark.parametrize("how", ["plain", "device"])
def test_worlds_have_parameters_of_their_own(model, batch, how):
    scale = 1 + 0.1 * np.arange(N)
    own = parameters_as_arrays(batch, ("body_mass", "geom_friction"), how)
    own["body_mass"][...] = scale[:, None] * model.body_mass
    own["geom_friction"][2:] = 0.5
    assert own["body_mass"].shape == (N, model.nbody) and own["geom_friction"][1, 0, 0] == model.geom_friction[0, 0]
    batch.step(20)
    for i in (0, 3):
        mine = copy.copy(model)
        mine.body_mass[:] = scale[i] * model.body_mass
        mine.geom_friction[:] = 0.5 if i >= 2 else model.geom_friction
        data = alone(mine, i, 20)
        assert batch.hashes()[i] == data.hash()
        assert batch.world(i).hash() == data.hash() and np.array_equal(batch.world(i).qpos, data.qpos)
    for other in (copy.copy(batch), pickle.loads(pickle.dumps(batch))):
        assert other.hashes() == batch.hashes()
        other.step(5)
    batch.step(5)
    assert other.hashes() == batch.hashes()
    own["body_mass"][1, 2] = -1
    with pytest.raises(stiction.Error, match="body_mass") as info:
        batch.step()
    assert list(info.value.worlds) == [1] and own["body_mass"][1, 2] == scale[1] * model.body_mass[2]
    batch.step()


def test_rollouts_are_those_of_the_processor(model):
    rng = np.random.default_rng(3)
    state = np.zeros((7, 1 + model.nq + model.nv + model.na))
    state[:, 1:1 + model.nq] = model.qpos0
    control = rng.uniform(-1, 1, (7, 9, model.nu))
    for args in ((state, control), (state[0], control), (state, control[0]), (state,)):
        want = stiction.rollout(model, *args, nstep=9)
        got = stiction.rollout(model, *args, nstep=9, device=DEVICE)
        assert np.array_equal(want[0], got[0]) and np.array_equal(want[1], got[1])
    control[4, 6, 1] = np.nan
    with pytest.raises(stiction.Error) as info:
        stiction.rollout(model, state, control, device=DEVICE)
    assert list(info.value.worlds) == [4] and info.value.code == "NONFINITE"
    here, there = stiction.Batch(model, 7, errors="keep"), stiction.Batch(model, 7, errors="keep", device=DEVICE)
    for b in (here, there):
        b.step(3)
    for piece in (control[:, :4], control[:, 4:]):
        want, got = here.rollout(piece), there.rollout(piece)
        assert np.array_equal(want[0], got[0]) and np.array_equal(want[1], got[1])
    assert list(there.failures) == [4] and there.hashes() == here.hashes()


def test_steps_that_nobody_waits_for(model, batch):
    batch.step(5, wait=False)
    batch.step(5, wait=False)
    assert batch.hashes() == [alone(model, i, 10).hash() for i in range(N)]
    batch.step(2, wait=False)
    batch.synchronize()
    applied = np.zeros((N, model.nv))
    applied[2, 3] = np.nan
    batch.qfrc_applied = applied
    batch.step(wait=False)
    with pytest.raises(stiction.Error) as info:
        batch.synchronize()
    assert list(info.value.worlds) == [2]
    ordered = stiction.Batch(model, N, device=DEVICE)
    ordered.qvel = np.random.default_rng(1).normal(scale=0.1, size=(N, model.nv))
    ordered.step(7)
    assert pickle.loads(pickle.dumps(ordered)).hashes() == [alone(model, i, 7).hash() for i in range(N)]
    on_cpu = stiction.Batch(model, 2)
    on_cpu.step(3, wait=False)
    on_cpu.synchronize()
    assert on_cpu.time[0] == pytest.approx(3 * model.opt.timestep)


def test_environments_step_on_a_device():
    gymnasium = pytest.importorskip("gymnasium")
    import stiction.gym  # noqa: F401
    seen = []
    for device in ("cpu", DEVICE, "arrays"):
        envs = gymnasium.make_vec("stiction/Humanoid-v5", num_envs=4, device=DEVICE if device == "arrays" else device)
        batch = envs.unwrapped.batch
        if device == "arrays":  # what a task is given on a GPU
            batch.__dict__.update({name: DeviceArray(batch, name) for name in ("qpos", "qvel", "ctrl", "sensordata")})
        first, _ = envs.reset(seed=5)
        envs.action_space.seed(7)
        seen.append([first] + [envs.step(envs.action_space.sample())[:4] for _ in range(30)])
        assert batch.device == ("cpu" if device == "cpu" else DEVICE)
        envs.close()
    for other in seen[1:]:
        assert np.array_equal(seen[0][0], other[0])
        for want, got in zip(seen[0][1:], other[1:]):
            assert all(np.array_equal(a, b) for a, b in zip(want, got))
    assert seen[0][-1][2].any() or any(step[2].any() for step in seen[0][1:])  # episodes ended, and worlds were reset


def test_a_model_that_changed_is_noticed():
    model = stiction.Model.from_xml_path(SCENES / "arm.xml")
    batch = stiction.Batch(model, 2, device=DEVICE)
    batch.step()
    model.body_mass[1] *= 2
    with pytest.raises(stiction.Error, match="was changed"):
        batch.step()


def test_options_are_followed():
    model = stiction.Model.from_xml_path(SCENES / "arm.xml")
    batch, data = stiction.Batch(model, 2, device=DEVICE), stiction.Data(model)
    for name, value in (("timestep", 0.5 * model.opt.timestep), ("integrator", "alm")):
        setattr(model.opt, name, value)
        batch.step(2)
        stiction.step(model, data, 2)
        assert batch.hashes() == [data.hash()] * 2
