# SPDX-License-Identifier: Apache-2.0
"""stiction.ray on a local cluster of several nodes, one of which is killed in the middle: the bits of one machine."""
import os
import pathlib
import pickle
import signal

import numpy as np
import pytest

ray = pytest.importorskip("ray")
gymnasium = pytest.importorskip("gymnasium")
from gymnasium.vector import AutoresetMode  # noqa: E402
from ray.cluster_utils import Cluster  # noqa: E402

import stiction  # noqa: E402
import stiction.gym  # noqa: E402
import stiction.ray  # noqa: E402

SCENES = pathlib.Path(__file__).parents[2] / "scenes"


@pytest.fixture(scope="module")
def cluster():
    """A head that takes no actors and two nodes, each of which has room for all of them."""
    soon = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 500, "health_check_timeout_ms": 5000, "health_check_failure_threshold": 3}
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False, "_system_config": soon})
    for _ in range(2):
        made.add_node(num_cpus=4)
    ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
    yield made
    ray.shutdown()
    made.shutdown()


def kill_node_of(cluster, actor):
    """At once, as by a power cut."""
    name = ray.get(actor.__ray_call__.remote(lambda self: ray.get_runtime_context().get_node_id()))
    node = next(node for node in cluster.worker_nodes if node.node_id == name)
    cluster.remove_node(node, allow_graceful=False)


def kill_process_of(actor):
    os.kill(ray.get(actor.__ray_call__.remote(lambda self: os.getpid())), signal.SIGKILL)


@pytest.fixture(scope="module")
def model():
    return stiction.Model.from_xml_path(SCENES / "quadruped.xml")


def same(a, b):
    """Exactly, NaN (the reward of an action that is NaN) with NaN."""
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, tuple) or getattr(a, "dtype", None) == object:
        return len(a) == len(b) and all(same(x, y) for x, y in zip(a, b))
    return a is b or (a.dtype == b.dtype and np.array_equal(a, b, equal_nan=a.dtype.kind == "f"))


def test_rollouts(cluster, model):
    """Seven rollouts in jobs of three, one of which fails, on two actors, of which one is killed twice."""
    n, steps = 7, 12
    state = stiction.Batch(model, n).state
    state[:, 1 + model.nq:1 + model.nq + model.nv] = np.random.default_rng(1).normal(scale=0.1, size=(n, model.nv))
    control = np.random.default_rng(2).uniform(-1, 1, (n, steps, model.nu))
    control[4, 3, 0] = np.nan
    want = stiction.rollout(model, state, control, errors="keep")
    told = []

    def watch(figures):
        if not told:
            kill_process_of(pool._actors[0])
        told.append(figures)

    with stiction.ray.Pool(model, shards=2, progress=watch) as pool:
        got = pool.rollout(state, control, errors="keep", piece=5, side_by_side=3)
        assert pool.replaced == 1 and told[-1]["steps"] == told[-1]["total"] == n * steps and told[-1]["replaced"] == 1
        assert np.array_equal(got[0], want[0]) and np.array_equal(got[1], want[1])
        kill_process_of(pool._actors[1])
        one = pool.rollout(state[0], nstep=3)
        assert np.array_equal(one[0], stiction.rollout(model, state[0], nstep=3)[0])
        with pytest.raises(stiction.Error) as caught:
            pool.rollout(state, control, piece=100)
        assert list(caught.value.worlds) == [4] and "ctrl" in caught.value.message
    with pytest.raises(ValueError, match="closed"):
        pool.rollout(state, control)


@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP])
def test_vector_environment(cluster, mode):
    """Five ants through falls, time limits and a failure, while a node dies: observations, rewards, infos and hashes of one machine."""
    settings = dict(num_envs=5, autoreset_mode=mode, max_episode_steps=9, healthy_z_range=(0.5, 0.85))
    ours = stiction.ray.make_vec("stiction/Ant-v5", shards=2, snapshot_every=4, **settings)
    one = gymnasium.make_vec("stiction/Ant-v5", **settings)
    assert ours.shards == [3, 2] and ours.observation_space == one.observation_space and ours.metadata == one.metadata
    with pytest.raises(gymnasium.error.ResetNeeded):
        ours.step(np.zeros((5, 8)))
    assert same(ours.reset(seed=3), one.reset(seed=3))
    one.action_space.seed(1)
    ended = 0
    for k in range(16):
        if k == 6:  # two steps after a snapshot
            kill_node_of(cluster, ours._shards[0].actor)
            while ours.replaced == 0:  # a process lives on for a moment without its node
                ours.hashes()
        actions = one.action_space.sample()
        if k == 9:
            actions[4, 0] = np.nan
        got, want = ours.step(actions), one.step(actions)
        assert same(got, want), k
        ended += (got[2] | got[3]).sum()
    assert ended >= 5 and ours.replaced >= 1
    assert ours.hashes() == one.batch.hashes() and np.array_equal(ours.state, one.batch.state)
    ours.close()


def test_environments_are_pickled_whole():
    """Worlds, generators, episodes, and what the task remembers."""
    one = gymnasium.make_vec("stiction/PandaLift-v0", num_envs=2, max_episode_steps=5)
    one.reset(seed=1)
    actions = one.action_space.sample()
    for _ in range(4):
        one.step(actions)
    two = pickle.loads(pickle.dumps(one))
    for _ in range(4):
        assert same(two.step(actions), one.step(actions))
    assert one.batch.hashes() == two.batch.hashes()


def test_bad_arguments_are_said(model):
    for bad in (dict(shards=0), dict(threads=0)):
        with pytest.raises(ValueError):
            stiction.ray.rollout(model, np.zeros(1 + model.nq + model.nv), nstep=1, **bad)
    with pytest.raises(ValueError, match="snapshot_every"):
        stiction.ray.make_vec("stiction/Hopper-v5", snapshot_every=0)
    with pytest.raises(ValueError, match="not a task"):
        stiction.ray.make_vec("CartPole-v1")


def test_rays_are_cast_as_before():
    """stiction.ray is also the function that casts a ray: the module of that name can be called in its place."""
    model = stiction.Model.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    data = stiction.Data(model)
    stiction.forward(model, data)
    assert stiction.ray.rollout and stiction.ray(model, data, [0, 0, 5], [0, 0, -2]).distance == pytest.approx(2)
