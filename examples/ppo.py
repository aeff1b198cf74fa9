# SPDX-License-Identifier: Apache-2.0
"""Proximal policy optimisation (PPO, arXiv 1707.06347) in NumPy, on the CPU.

    python examples/ppo.py [curve.png] [--long] [--task ID] [--steps N] [--save policy.npz] [--load policy.npz] [--film film.png]

Some seconds teach it to balance a pendulum on a cart; --long, some minutes, a quadruped to walk. The worlds are one stiction.Batch,
the networks two layers of 64 tanh units each. Prints a progress bar; ends with the return of the policy without its noise and, if files are
named, with the learning curve and an episode as pictures. docs/learning.md explains it."""
import argparse
import dataclasses
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the networks are too small to share
import gymnasium
import numpy as np

import stiction.gym  # noqa: F401  registers the tasks


class Network:
    """A multilayer perceptron with tanh units, its gradient, and Adam (arXiv 1412.6980). extra: more parameters to train."""

    def __init__(self, sizes, gain, rng, extra=0):
        pairs = list(zip(sizes[:-1], sizes[1:]))
        gains = [np.sqrt(2)] * (len(pairs) - 1) + [gain]
        self.values = []
        for (m, n), g in zip(pairs, gains):
            self.values += [(g * rng.standard_normal((m, n)) / np.sqrt(m)).astype(np.float32), np.zeros(n, np.float32)]
        self.values.append(np.full(extra, -1.0, np.float32))
        self.moments = [(np.zeros_like(v), np.zeros_like(v)) for v in self.values]
        self.updates = 0

    def __call__(self, x):
        return self.forward(x)[-1]

    def forward(self, x):
        """What each layer gives, the input first."""
        layers, last = [x], len(self.values) // 2 - 1
        for k in range(last + 1):
            x = x @ self.values[2 * k] + self.values[2 * k + 1]
            x = x if k == last else np.tanh(x)
            layers.append(x)
        return layers

    def backward(self, layers, slope):
        """Gradient of a loss with respect to weights and biases, from its slope with respect to the output."""
        gradient = []
        for k in reversed(range(len(self.values) // 2)):
            gradient = [layers[k].T @ slope, slope.sum(axis=0)] + gradient
            slope = slope @ self.values[2 * k].T * (1 - layers[k] ** 2) if k else None
        return gradient

    def descend(self, gradient, rate, most=0.5):
        """One step of Adam; the gradient is shortened to the norm `most`."""
        norm = np.sqrt(sum(float((g ** 2).sum()) for g in gradient))
        scale = min(1.0, most / (norm + 1e-8))
        self.updates += 1
        bias1, bias2 = 1 - 0.9 ** self.updates, 1 - 0.999 ** self.updates
        for value, (m, v), g in zip(self.values, self.moments, gradient):
            m += 0.1 * (scale * g - m)
            v += 0.001 * ((scale * g) ** 2 - v)
            value -= (rate / bias1) * m / (np.sqrt(v / bias2) + 1e-5)


class Scale:
    """Running mean and variance of what is seen, to bring it to unit size."""

    def __init__(self, size):
        self.mean, self.var, self.count = np.zeros(size), np.ones(size), 1e-4

    def learn(self, x):
        n, mean, var = len(x), x.mean(axis=0), x.var(axis=0)
        total, shift = self.count + n, mean - self.mean
        self.var = (self.var * self.count + var * n + shift ** 2 * self.count * n / total) / total
        self.mean, self.count = self.mean + shift * n / total, total

    def __call__(self, x):
        return np.clip((x - self.mean) / np.sqrt(self.var + 1e-8), -10, 10).astype(np.float32)


class Policy:
    """A normal distribution of actions whose mean is a network's and whose standard deviation is the same in all states. The
    learner's actions are within about -1 and 1; middle and half bring them to those of the task."""

    def __init__(self, space, size, rng):
        self.rng, self.scale = rng, Scale(size)
        self.middle, self.half = (space.high + space.low) / 2, (space.high - space.low) / 2
        self.net = Network([size, 64, 64, len(self.half)], 0.01, rng, extra=len(self.half))

    def log_density(self, action, mean):
        spread = self.net.values[-1]
        return -0.5 * (((action - mean) / np.exp(spread)) ** 2).sum(axis=1) - spread.sum() - 0.5 * len(spread) * np.log(2 * np.pi)

    def sample(self, x):
        mean = self.net(x)
        action = mean + np.exp(self.net.values[-1]) * self.rng.standard_normal(mean.shape).astype(np.float32)
        return action, self.log_density(action, mean)

    def to_task(self, action):
        return (self.middle + self.half * np.clip(action, -1, 1)).astype(np.float32)

    def best(self, observation):
        """The mean action, without noise."""
        return self.to_task(self.net(self.scale(observation)))

    def save(self, path):
        np.savez(path, mean=self.scale.mean, var=self.scale.var, middle=self.middle, half=self.half,
                 **{f"layer{i}": v for i, v in enumerate(self.net.values)})

    @classmethod
    def load(cls, path):
        kept = np.load(path)
        space = gymnasium.spaces.Box(kept["middle"] - kept["half"], kept["middle"] + kept["half"])
        policy = cls(space, len(kept["mean"]), np.random.default_rng())
        policy.scale.mean, policy.scale.var = kept["mean"], kept["var"]
        policy.net.values = [kept[f"layer{i}"] for i in range(len(policy.net.values))]
        return policy


class Learner:
    """PPO with clipped ratios and generalised advantage estimation (arXiv 1506.02438)."""

    def __init__(self, envs, seed=0, horizon=64, epochs=5, parts=8, rate=5e-4, discount=0.99, trace=0.95, clip=0.2, entropy=0.0):
        self.envs, self.rng = envs, np.random.default_rng(seed)
        self.horizon, self.epochs, self.parts, self.rate = horizon, epochs, parts, rate
        self.discount, self.trace, self.clip, self.entropy = discount, trace, clip, entropy
        size = envs.single_observation_space.shape[0]
        self.policy = Policy(envs.single_action_space, size, self.rng)
        self.value = Network([size, 64, 64, 1], 1.0, self.rng)
        self.observation, _ = envs.reset(seed=seed)
        self.policy.scale.learn(self.observation)
        self.running, self.returns = np.zeros(envs.num_envs), Scale(())
        self.discounted, self.finished = np.zeros(envs.num_envs), []

    def play(self):
        """One round of all worlds: what was seen, done and earned, and the values of it, horizon x worlds each."""
        kept, seen = [], []
        for _ in range(self.horizon):
            seen.append(self.observation)
            x = self.policy.scale(self.observation)
            action, density = self.policy.sample(x)
            after, reward, ended, cut, info = self.envs.step(self.policy.to_task(action))
            self.tally(reward, ended | cut)
            bonus = np.zeros(len(reward))
            if cut.any() and "final_obs" in info:  # an episode that was cut would have gone on
                which = np.flatnonzero(cut & ~ended)
                if len(which):
                    bonus[which] = self.discount * self.value(self.policy.scale(np.stack(info["final_obs"][which])))[:, 0]
            scaled = np.clip(reward / np.sqrt(self.returns.var + 1e-8), -10, 10)
            kept.append((x, action, density, self.value(x)[:, 0], scaled + bonus, ended | cut))
            self.observation = after
        self.policy.scale.learn(np.concatenate(seen))
        return [np.stack(column) for column in zip(*kept)]

    def tally(self, reward, done):
        """Returns of finished episodes, and the size of discounted ones."""
        self.running += reward
        self.discounted = self.discount * self.discounted + reward
        self.returns.learn(self.discounted)
        self.finished += list(self.running[done])
        self.running[done] = self.discounted[done] = 0

    def advantages(self, value, reward, done):
        """How much better each action was than the value of its state."""
        following = self.value(self.policy.scale(self.observation))[:, 0]
        out, trace = np.zeros_like(reward), 0.0
        for t in reversed(range(self.horizon)):
            going = 1.0 - done[t]
            surprise = reward[t] + self.discount * going * following - value[t]
            out[t] = trace = surprise + self.discount * self.trace * going * trace
            following = value[t]
        return out

    def learn(self, rate):
        """One round of play, and the updates that follow from it."""
        x, action, density, value, reward, done = self.play()
        advantage = self.advantages(value, reward, done)
        flat = [a.reshape(-1, *a.shape[2:]) for a in (x, action, density, advantage, advantage + value)]
        for _ in range(self.epochs):
            for part in np.array_split(self.rng.permutation(len(flat[0])), self.parts):
                self.update(rate, *(a[part] for a in flat))

    def update(self, rate, x, action, density, advantage, target):
        advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
        layers, net = self.policy.net.forward(x), self.policy.net
        mean, n, spread = layers[-1], len(x), np.exp(net.values[-1])
        ratio = np.exp(self.policy.log_density(action, mean) - density)
        clipped = ((ratio > 1 + self.clip) & (advantage > 0)) | ((ratio < 1 - self.clip) & (advantage < 0))
        slope = (np.where(clipped, 0, -ratio * advantage) / n)[:, None]  # of the loss with respect to the log density
        off = (action - mean) / spread
        gradient = net.backward(layers, (slope * off / spread).astype(np.float32))
        gradient.append(((slope * (off ** 2 - 1)).sum(axis=0) - self.entropy).astype(np.float32))
        net.descend(gradient, rate)
        layers = self.value.forward(x)
        slope = (layers[-1] - target[:, None]).astype(np.float32) / n
        self.value.descend(self.value.backward(layers, slope) + [np.zeros(0, np.float32)], rate)


def bar(done, text, start):
    print(f"\r[{'#' * int(30 * done):30}] {100 * done:3.0f} %  {time.monotonic() - start:5.0f} s  {text}", end="", flush=True)


def train(task, steps, worlds=64, seed=0, threads=None, show=bar, **settings):
    """Learns for so many steps of all worlds together. Returns the policy and the curve: steps, mean return of the episodes that
    ended meanwhile."""
    envs = gymnasium.make_vec(task, num_envs=worlds, threads=threads, autoreset_mode="SameStep")
    learner = Learner(envs, seed, **settings)
    rounds, curve, start = max(1, steps // (worlds * learner.horizon)), [], time.monotonic()
    for k in range(rounds):
        learner.learn(learner.rate * (1 - k / rounds))
        if learner.finished:
            curve.append(((k + 1) * worlds * learner.horizon, np.mean(learner.finished)))
            learner.finished = []
        show((k + 1) / rounds, f"return {curve[-1][1]:8.1f}" if curve else "", start)
    envs.close()
    return learner.policy, np.array(curve).reshape(-1, 2)


def judge(task, policy, worlds=16, seed=1000, threads=None):
    """Returns of whole episodes under the policy without noise."""
    envs = gymnasium.make_vec(task, num_envs=worlds, threads=threads, autoreset_mode="SameStep")
    observation, _ = envs.reset(seed=seed)
    total, running = np.zeros(worlds), np.ones(worlds, bool)
    while running.any():
        observation, reward, ended, cut, _ = envs.step(policy.best(observation))
        total += reward * running
        running &= ~(ended | cut)
    envs.close()
    return total


def draw_curve(path, task, curve, final):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, axes = plt.subplots(figsize=(7, 4))
    width = max(1, len(curve) // 40)
    smooth = np.convolve(curve[:, 1], np.ones(width) / width, "valid")
    axes.plot(*curve.T, color="tab:blue", alpha=0.3, label="mean of the episodes that ended")
    axes.plot(curve[width - 1:, 0], smooth, color="tab:blue", label=f"mean of {width} rounds")
    axes.axhline(final.mean(), color="black", linestyle=":", label="trained policy without noise")
    axes.set(xlabel="steps of all worlds", ylabel="return", title=task)
    axes.legend()
    axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def draw_film(path, task, policy, frames=6, every=8, seed=1000):
    """Pictures of one episode side by side."""
    import matplotlib.image
    env = gymnasium.make(task, render_mode="rgb_array", width=320, height=320)
    observation, _ = env.reset(seed=seed)
    shots = []
    for k in range(frames * every):
        if k % every == 0:
            shots.append(env.render())
        observation, *_ = env.step(policy.best(observation[None])[0])
    matplotlib.image.imsave(path, np.concatenate(shots, axis=1))


@dataclasses.dataclass
class Plan:
    """What to learn, for how many steps of all worlds together, and the return that it must reach."""
    task: str
    steps: int
    worlds: int
    goal: float


SHORT = Plan("stiction/InvertedPendulum-v5", 100_000, 32, 950)  # Gymnasium's threshold; the most is 1000
LONG = Plan("stiction/QuadrupedWalk-v0", 1_000_000, 64, 700)    # standing still: 250; the most is 1250


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("curve", nargs="?", help="picture of the learning curve")
    parser.add_argument("--long", action="store_true", help=f"{LONG.task} for {LONG.steps} steps, not {SHORT.task} for {SHORT.steps}")
    parser.add_argument("--task", help="another one; its return is not checked")
    parser.add_argument("--steps", type=int, help="of all worlds together")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, help="default: all")
    parser.add_argument("--save", help="the policy as .npz")
    parser.add_argument("--load", help="a policy to show instead of learning one")
    parser.add_argument("--film", help="picture of an episode")
    o = parser.parse_args()
    plan = LONG if o.long else SHORT
    task, steps = o.task or plan.task, o.steps or plan.steps
    if o.load:
        policy, curve = Policy.load(o.load), np.zeros((0, 2))
    else:
        policy, curve = train(task, steps, plan.worlds, o.seed, o.threads)
    final = judge(task, policy, threads=o.threads)
    print(f"\n{task}: return {final.mean():.1f} +- {final.std():.1f} in {len(final)} episodes without noise")
    if o.curve and len(curve):
        draw_curve(o.curve, task, curve, final)
    if o.film:
        draw_film(o.film, task, policy)
    if o.save:
        policy.save(o.save)
    assert (task, steps) != (plan.task, plan.steps) or final.mean() >= plan.goal, f"the return is at least {plan.goal}"


if __name__ == "__main__":
    main()
