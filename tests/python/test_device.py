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
    soft = stiction.Model.from_xml_path(SCENES / "soft_ball.xml")
    with pytest.raises(stiction.Error, match="soft bodies are not there yet"):
        stiction.Batch(soft, 2, device=DEVICE)
    with pytest.raises(stiction.Error, match="no device tpu"):
        stiction.Batch(model, 2, device="tpu")
    with pytest.raises(TypeError, match="device"):
        stiction.Batch(model, 2, device=3)
    with pytest.raises(stiction.Error, match="not there yet"):
        batch.parameter("body_mass")


def test_a_model_that_changed_is_noticed():
    model = stiction.Model.from_xml_path(SCENES / "arm.xml")
    batch = stiction.Batch(model, 2, device=DEVICE)
    batch.step()
    model.body_mass[1] *= 2
    with pytest.raises(stiction.Error, match="was changed"):
        batch.step()


def test_an_option_that_is_not_there_is_refused_and_others_are_followed():
    model = stiction.Model.from_xml_path(SCENES / "arm.xml")
    batch, data = stiction.Batch(model, 2, device=DEVICE), stiction.Data(model)
    model.opt.timestep *= 0.5
    batch.step(2)
    stiction.step(model, data, 2)
    assert batch.hashes() == [data.hash()] * 2
    model.opt.integrator = "alm"
    with pytest.raises(stiction.Error, match="alm is not there yet"):
        batch.step()
