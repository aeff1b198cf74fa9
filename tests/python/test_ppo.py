# SPDX-License-Identifier: Apache-2.0
"""The parts of examples/ppo.py against formulas; test_examples.py trains with it."""
import importlib.util
import pathlib

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
SPEC = importlib.util.spec_from_file_location("ppo", pathlib.Path(__file__).resolve().parents[2] / "examples" / "ppo.py")
ppo = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(ppo)


def test_gradient_of_a_network():
    """Against central differences of a linear function of its output, in double precision."""
    rng = np.random.default_rng(0)
    net = ppo.Network([3, 5, 4, 2], 1.0, rng, extra=1)
    net.values = [v.astype(float) for v in net.values]
    x, weight = rng.normal(size=(7, 3)), rng.normal(size=(7, 2))
    gradient = net.backward(net.forward(x), weight)
    for value, slope in zip(net.values, gradient):
        for i in np.ndindex(value.shape):
            kept, ends = value[i], []
            for h in (1e-5, -1e-5):
                value[i] = kept + h
                ends.append((weight * net(x)).sum())
            value[i] = kept
            assert slope[i] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-7)


def test_adam_finds_a_minimum():
    net = ppo.Network([1, 1], 1.0, np.random.default_rng(0))
    for _ in range(3000):  # (w - 3)^2 + (b + 2)^2
        net.descend([2 * (net.values[0] - 3), 2 * (net.values[1] + 2), np.zeros(0)], 0.02)
    assert net.values[0][0, 0] == pytest.approx(3, abs=1e-2) and net.values[1][0] == pytest.approx(-2, abs=1e-2)


def test_scale_is_mean_and_variance():
    x, scale = np.random.default_rng(0).normal([1, -2], [3, 0.5], (1000, 2)), ppo.Scale(2)
    for part in np.array_split(x, 7):
        scale.learn(part)
    np.testing.assert_allclose(scale.mean, x.mean(axis=0), rtol=1e-5)
    np.testing.assert_allclose(scale.var, x.var(axis=0), rtol=1e-5)


def test_density_is_the_normal_distribution():
    rng = np.random.default_rng(0)
    policy = ppo.Policy(gymnasium.spaces.Box(-2, 2, (3,)), 4, rng)
    action, mean = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    density = np.exp(-0.5 * (action - mean) ** 2 / np.exp(-2)) / np.sqrt(2 * np.pi * np.exp(-2))
    np.testing.assert_allclose(np.exp(policy.log_density(action, mean)), density.prod(axis=1), rtol=1e-5)


def test_a_policy_is_saved_and_loaded(tmp_path):
    policy = ppo.Policy(gymnasium.spaces.Box(np.float32([-2, 0]), np.float32([2, 4])), 4, np.random.default_rng(0))
    policy.scale.learn(np.random.default_rng(1).normal(size=(50, 4)))
    policy.save(tmp_path / "policy.npz")
    x = np.random.default_rng(2).normal(size=(3, 4))
    assert np.array_equal(ppo.Policy.load(tmp_path / "policy.npz").best(x), policy.best(x))


def test_advantages():
    """With trace 1 they are discounted rewards up to the end of the episode, or the value of where it goes on, less the value."""
    learner = ppo.Learner(gymnasium.make_vec("stiction/InvertedPendulum-v5", num_envs=2), horizon=3, trace=1.0, discount=0.5)
    learner.value = lambda x: np.full((len(x), 1), 8.0)
    reward, value = np.array([[1.0, 1], [2, 2], [4, 4]]), np.array([[0.0, 1], [0, 1], [0, 1]])
    done = np.array([[False, False], [False, True], [False, False]])
    want = [[1 + 1 + 1 + 1, 1 + 1 - 1], [2 + 2 + 2, 2 - 1], [4 + 4, 4 + 4 - 1]]
    np.testing.assert_allclose(learner.advantages(value, reward, done), want)


def test_learning_does_not_depend_on_threads():
    curves = [ppo.train("stiction/Hopper-v5", 2048, 16, threads=t, show=lambda *_: None, horizon=32)[1] for t in (1, 2)]
    assert np.array_equal(*curves) and len(curves[0]) > 1
