# SPDX-License-Identifier: Apache-2.0
"""Vector environments on the machines of a Ray cluster."""
import gymnasium
import numpy as np
import ray
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from .. import gym
from ..gym.env import _Simulation, check_actions, check_mask, list_seeds
from .actors import GONE, Progress, Replaced, Shard, count_shards, remote


class _Worlds:
    """A shard as its owner sees it: the actor, its last snapshot and the calls since."""

    def __init__(self, model, settings, every, replaced):
        self.model, self.settings, self.every, self.replaced = model, settings, every, replaced
        self.cls = remote(Shard, settings["threads"])
        self.actor = self.cls.remote(model, settings)
        self.kept, self.calls, self.pending = None, [], None

    def send(self, name, arguments):
        self.calls.append((name, arguments))
        self.pending = self.actor.play.remote(self.calls[-1:], len(self.calls) >= self.every)

    def receive(self):
        """What the call returned."""
        result, snapshot = self._insist(lambda: self.pending)
        if snapshot is not None:
            # in the store of this machine, so that it outlives the actor's
            self.kept, self.calls = ray.put(snapshot), []
        return result

    def ask(self, what):
        return self._insist(lambda: getattr(self.actor, what).remote())

    def _insist(self, call):
        """For as long as actors die, another is restored and repeats the calls since the snapshot."""
        while True:
            try:
                return ray.get(call())
            except GONE as error:
                self.replaced.another(error)
                self.actor = self.cls.remote(self.model, self.settings, self.kept)
                self.pending = self.actor.play.remote(self.calls, len(self.calls) >= self.every)


def _merge(infos, counts):
    """Infos of shards as those of one environment: zeros and a false mask where a shard has none of a name."""
    out = {}
    for name in dict.fromkeys(name for info in infos for name in info if not name.startswith("_")):
        parts = [info.get(name) for info in infos]
        have = next(part for part in parts if part is not None)
        if isinstance(have, dict):
            out[name] = _merge([part or {} for part in parts], counts)
        else:
            blank = None if have.dtype == object else 0
            out[name] = np.concatenate([np.full((n, *have.shape[1:]), blank, have.dtype) if part is None else part
                                        for part, n in zip(parts, counts)])
        out["_" + name] = np.concatenate([info.get("_" + name, np.zeros(n, bool)) for info, n in zip(infos, counts)])
    return out


class VectorEnv(gymnasium.vector.VectorEnv):
    """As stiction.gym.VectorEnv, with the same bits, in shards on the machines of a Ray cluster.

    task, parameters and the rest as there; make_vec makes one by its name. shards: how many actors, None: as many as the cluster has
    processors for. threads: of each. snapshot_every: calls between snapshots, which an actor that replaces a dead one has to repeat at
    most. max_replaced: actors that may die before an error. progress: None: a line on stderr if that is a terminal; True, False,
    or a function of a dictionary."""

    def __init__(self, task, num_envs=1, max_episode_steps=None, autoreset_mode=AutoresetMode.NEXT_STEP, threads=1, render_mode=None,
                 width=480, height=480, camera_name=None, shards=None, snapshot_every=50, max_replaced=100, progress=None, **parameters):
        if snapshot_every < 1:
            raise ValueError("snapshot_every must be at least 1")
        # one world here says what spaces there are, and checks the settings
        one = _Simulation(task, parameters, 1, 1, render_mode, width, height, camera_name)
        self.model, self.num_envs = one.model, num_envs
        self.single_observation_space, self.single_action_space = one.observation_space, one.action_space
        self.observation_space, self.action_space = batch_space(one.observation_space, num_envs), batch_space(one.action_space, num_envs)
        self.autoreset_mode, self.render_mode = AutoresetMode(autoreset_mode), render_mode
        self.metadata = one.metadata | {"autoreset_mode": self.autoreset_mode}
        self._begun, self._done = False, np.zeros(num_envs, bool)
        settings = dict(task=task, max_episode_steps=max_episode_steps, autoreset_mode=autoreset_mode, threads=threads,
                        render_mode=render_mode, width=width, height=height, camera_name=camera_name, **parameters)
        self._spread(settings, count_shards(shards, threads, num_envs), snapshot_every, Replaced(max_replaced), progress)

    def _spread(self, settings, shards, every, replaced, progress):
        self._counts = [len(part) for part in np.array_split(np.arange(self.num_envs), shards)]
        self._ends = np.cumsum(self._counts)[:-1]
        self._replaced, self._progress = replaced, Progress(progress, replaced, shards)
        model = ray.put(self.model)
        self._shards = [_Worlds(model, settings | {"num_envs": n}, every, replaced) for n in self._counts]

    @property
    def shards(self):
        """How many worlds each actor has."""
        return list(self._counts)

    @property
    def replaced(self):
        """Actors that have died and were replaced."""
        return self._replaced.count

    def _call(self, name, **rows):
        """One call of each shard with its rows, side by side; their results."""
        parts = {key: np.split(value, self._ends) for key, value in rows.items()}
        for k, shard in enumerate(self._shards):
            shard.send(name, {key: part[k] for key, part in parts.items()})
        return [shard.receive() for shard in self._shards]

    def reset(self, *, seed=None, options=None):
        mask, seeds = check_mask(self.num_envs, options), list_seeds(self.num_envs, seed)
        if not self._begun:  # drawn here, so that an actor that repeats the call repeats the draw
            seeds = [seeding.np_random(None)[1] if number is None else number for number in seeds]
        parts = self._call("reset_some", seeds=np.array(seeds, object), mask=mask)
        self._begun, self._done = True, self._done & ~mask
        return np.concatenate([p[0] for p in parts]), _merge([p[1] for p in parts], self._counts)

    def step(self, actions):
        actions = check_actions(self, actions, self._begun, self._done)
        parts = self._call("step", actions=actions)
        observation, reward, terminated, truncated = (np.concatenate([p[k] for p in parts]) for k in range(4))
        self._done = terminated | truncated
        self._progress.add(self.num_envs)
        return observation, reward, terminated, truncated, _merge([p[4] for p in parts], self._counts)

    def _ask(self, what):
        return [rows for shard in self._shards for rows in shard.ask(what)]

    def render(self):
        if self.render_mode is None:
            gymnasium.logger.warn("render needs make_vec(..., render_mode='rgb_array')")
            return None
        return tuple(self._ask("render"))

    def hashes(self):
        """64-bit hashes of all worlds, as Batch.hashes."""
        return self._ask("hashes")

    @property
    def state(self):
        """State vectors of all worlds, as Batch.state: n x nstate."""
        return np.array(self._ask("state"))

    def close_extras(self, **kwargs):
        for shard in self._shards:
            ray.kill(shard.actor)
        self._shards = []


def make_vec(id, num_envs=1, **settings):
    """A registered task of stiction.gym, such as "stiction/Ant-v5", as a VectorEnv on the machines of the cluster."""
    spec = gymnasium.spec(id)
    if "task" not in spec.kwargs or spec.vector_entry_point != "stiction.gym:VectorEnv":
        raise ValueError(f"{id} is not a task of {gym.__name__}")
    return VectorEnv(num_envs=num_envs, **({"max_episode_steps": spec.max_episode_steps} | spec.kwargs | settings))
