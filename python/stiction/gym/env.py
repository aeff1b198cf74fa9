# SPDX-License-Identifier: Apache-2.0
"""Tasks as Gymnasium environments: Env is one world, VectorEnv many worlds of a batch."""
import dataclasses
import importlib

import gymnasium
import numpy as np
from gymnasium.spaces import Box
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from .. import Batch, picture
from .task import Streams, Task


_TAKEN = {"task", "model", "num_envs", "max_episode_steps", "autoreset_mode", "threads", "device", "render_mode", "width", "height", "camera_name", "shards", "snapshot_every", "max_replaced", "progress"}


def _make_task(task, parameters):
    """From a Task, a subclass of it, or where that is found: "module:Class"."""
    if isinstance(task, str):
        module, _, name = task.partition(":")
        task = getattr(importlib.import_module(module), name)
    if isinstance(task, Task):
        if parameters:
            raise TypeError(f"a task that is made takes no more parameters: {', '.join(parameters)}")
        return task
    taken = _TAKEN & {field.name for field in dataclasses.fields(task)}
    if taken:
        raise TypeError(f"parameters of a task cannot be named {', '.join(sorted(taken))}: environments have them")
    return task(**parameters)


class _Simulation:
    """A task in all worlds of a batch."""

    def __init__(self, task, parameters, count, threads, render_mode, width, height, camera_name, model=None, device="cpu"):
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode must be None or 'rgb_array', not {render_mode!r}")
        self.task = _make_task(task, parameters)
        self.model = model or self.task.load()
        self.task.setup(self.model, count)
        self.batch = Batch(self.model, count, threads=threads, errors="keep", device=device)
        self.size, self.camera_name = (width, height), camera_name
        size = self.task.observe(self.batch).shape[1]
        self.observation_space = Box(-np.inf, np.inf, (size,), np.float64)
        low, high = (np.asarray(bound, np.float32) for bound in self.task.action_range())
        self.action_space = Box(low, high, dtype=np.float32)
        self.metadata = Env.metadata | {"render_fps": int(np.round(1 / self.task.dt))}

    def reset(self, worlds, generators):
        """Starts an episode in the given worlds. Returns observations and infos of all."""
        self.batch.reset(worlds)
        self.task.reset(self.batch, worlds, Streams(generators))
        self.batch.forward(worlds)
        return self.task.observe(self.batch), self._copies(self.task.reset_info(self.batch))

    def step(self, action):
        """Observations, rewards, terminated, infos of all. A world whose step failed keeps its last good state, and its episode
        ends."""
        before = self.task.before(self.batch)
        self.batch.step(self.task.frame_skip, self.task.control(self.batch, action))
        reward, info = self.task.reward(self.batch, action, before)
        info, terminated = self._copies(info), self.task.terminated(self.batch)
        if failures := self.batch.failures:
            info["failed"] = np.isin(np.arange(len(self.batch)), list(failures))
            terminated = terminated | info["failed"]
        return self.task.observe(self.batch), np.asarray(reward, float), terminated, info

    @staticmethod
    def _copies(info):
        return {name: np.array(value) for name, value in info.items()}

    def render(self, i):
        """World i as height x width x 3."""
        width, height = self.size
        names = [self.model.camera(k).name for k in range(self.model.ncam)]
        name = self.camera_name or ("track" if "track" in names else None)
        look = {} if name else self.task.look(self.batch, i)
        return picture(self.model, self.batch.world(i), width, height, camera=name, **look)


class Env(gymnasium.Env):
    """A task in one world, which has the bits of a world of a VectorEnv with the same seed.

    task: a subclass of Task, an instance, or "module:Class"; parameters: its fields. width, height, camera_name: of pictures; without a
    name the camera "track" of the scene, if it has one."""
    metadata = {"render_modes": ["rgb_array"]}

    def __init__(self, task, render_mode=None, width=480, height=480, camera_name=None, **parameters):
        self._simulation = s = _Simulation(task, parameters, 1, 1, render_mode, width, height, camera_name)
        self.task, self.model, self.batch = s.task, s.model, s.batch
        self.observation_space, self.action_space, self.metadata = s.observation_space, s.action_space, s.metadata
        self.render_mode = render_mode

    @property
    def dt(self):
        """Seconds from action to action."""
        return self.task.dt

    @property
    def data(self):
        """The world as a stiction.Data."""
        return self.batch.world(0)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        observation, info = self._simulation.reset(np.array([0]), [self.np_random])
        return observation[0], self._first(info)

    def step(self, action):
        action = np.asarray(action)
        if action.shape != self.action_space.shape:
            raise ValueError(f"an action has shape {self.action_space.shape}, not {action.shape}")
        observation, reward, terminated, info = self._simulation.step(action[None])
        return observation[0], float(reward[0]), bool(terminated[0]), False, self._first(info)

    @staticmethod
    def _first(info):
        return {name: value[0] for name, value in info.items()}

    def render(self):
        if self.render_mode is None:
            gymnasium.logger.warn("render needs make(..., render_mode='rgb_array')")
            return None
        return self._simulation.render(0)


def _with_masks(info, worlds):
    """Gymnasium's form of infos: beside each a mask of the worlds that have it; of failures those have it that failed."""
    masks = {"_" + name: worlds.copy() for name in info}
    if "failed" in info:
        masks["_failed"] &= info["failed"]
    return info | masks


def check_mask(count, options):
    """The worlds that a reset of a vector environment is for."""
    if not options or "reset_mask" not in options:
        return np.ones(count, bool)
    mask = np.asarray(options["reset_mask"])
    if mask.shape != (count,) or mask.dtype != bool or not mask.any():
        raise ValueError(f"options['reset_mask'] must be {count} truth values, at least one of them true")
    return mask


def list_seeds(count, seed):
    """seed: None, a number for the first world, or one (or None) for each."""
    if seed is None or isinstance(seed, (int, np.integer)):
        seed = [None if seed is None else int(seed) + i for i in range(count)]
    if len(seed) != count:
        raise ValueError(f"{len(seed)} seeds for {count} worlds")
    return seed


def check_actions(env, actions, begun, done):
    """As an array; an error if they do not fit, or if the environment has to be reset before."""
    actions = np.asarray(actions)
    if actions.shape != env.action_space.shape:
        raise ValueError(f"actions have shape {env.action_space.shape}, not {actions.shape}")
    if not begun or (env.autoreset_mode == AutoresetMode.DISABLED and done.any()):
        raise gymnasium.error.ResetNeeded("step before reset" if not begun else
                                          f"worlds {np.flatnonzero(done)} have ended: reset them with a reset_mask")
    return actions


class VectorEnv(gymnasium.vector.VectorEnv):
    """A task in num_envs worlds of a batch, on all threads or on a device.

    autoreset_mode: when a world whose episode ended begins the next: AutoresetMode.NEXT_STEP, SAME_STEP or DISABLED (the caller resets, with
    options={"reset_mask": ...}). threads: None: all. device: where the worlds live, as of Batch: "cuda" steps them on a GPU; what the task computes of
    them is computed here, of copies. model: None: the task's own. The rest as of Env. World i draws from a generator of its own, seeded
    with seed + i, so that it does what an Env with that seed does."""

    def __init__(self, task, num_envs=1, max_episode_steps=None, autoreset_mode=AutoresetMode.NEXT_STEP, threads=None, render_mode=None,
                 width=480, height=480, camera_name=None, model=None, device="cpu", **parameters):
        self._simulation = s = _Simulation(task, parameters, num_envs, threads, render_mode, width, height, camera_name, model, device)
        self.task, self.model, self.batch, self.num_envs = s.task, s.model, s.batch, num_envs
        self.single_observation_space, self.single_action_space = s.observation_space, s.action_space
        self.observation_space, self.action_space = batch_space(s.observation_space, num_envs), batch_space(s.action_space, num_envs)
        self.autoreset_mode = AutoresetMode(autoreset_mode)
        self.metadata = s.metadata | {"autoreset_mode": self.autoreset_mode}
        self.render_mode, self.max_episode_steps = render_mode, max_episode_steps
        self._generators, self._seeds = [None] * num_envs, [None] * num_envs
        self._elapsed, self._done = np.zeros(num_envs, int), np.zeros(num_envs, bool)

    @property
    def np_random(self):
        """The generator of each world."""
        return tuple(self._generators)

    @property
    def np_random_seed(self):
        """The seed of each world."""
        return tuple(self._seeds)

    def _begin(self, mask):
        """Next episodes of some worlds. Returns observations and infos of all."""
        worlds = np.flatnonzero(mask)
        self._elapsed[mask], self._done[mask] = 0, False
        return self._simulation.reset(worlds, [self._generators[i] for i in worlds])

    def reset(self, *, seed=None, options=None):
        mask = check_mask(self.num_envs, options)
        return self.reset_some(list_seeds(self.num_envs, seed), mask)

    def reset_some(self, seeds, mask):
        """reset for a mask of worlds, none of them too, with a seed or None for each of all."""
        for i, number in enumerate(seeds):
            if number is not None or self._generators[i] is None:
                self._generators[i], self._seeds[i] = seeding.np_random(number)
        observation, info = self._begin(mask)
        return observation, _with_masks(info, mask)

    def step(self, actions):
        actions = check_actions(self, actions, self._generators[0] is not None, self._done)
        ended = self._done.copy() if self.autoreset_mode == AutoresetMode.NEXT_STEP else np.zeros(self.num_envs, bool)
        observation, reward, terminated, info = self._simulation.step(actions)
        self._elapsed += 1
        truncated = self._elapsed >= (self.max_episode_steps or np.inf)
        if ended.any():
            observation, info = self._restart(ended, observation, info)
            reward[ended], terminated[ended], truncated[ended] = 0, False, False
        else:
            info = _with_masks(info, ~ended)
        self._done = terminated | truncated
        if self.autoreset_mode == AutoresetMode.SAME_STEP and self._done.any():
            observation, info = self._restart_now(observation, info)
        return observation, reward, terminated, truncated, info

    def _restart(self, ended, observation, info):
        """Begins anew where the last step ended an episode; observations and infos there are those of the reset."""
        first, told = self._begin(ended)
        observation[ended] = first[ended]
        for name in info:
            info[name][ended] = 0
        info = _with_masks(info, ~ended)
        for name, value in told.items():
            if name in info:
                info[name][ended], info["_" + name] = value[ended], np.ones(self.num_envs, bool)
            else:
                value[~ended] = 0
                info |= {name: value, "_" + name: ended.copy()}
        nobody = {name for name in info if "_" + name in info and not info["_" + name].any()}
        return observation, {name: value for name, value in info.items() if name not in nobody and name[1:] not in nobody}

    def _restart_now(self, observation, info):
        """The same in the step that ended them: its own observations and infos are final_obs and final_info."""
        ended = self._done.copy()
        final = np.full(self.num_envs, None, object)
        for i in np.flatnonzero(ended):
            final[i] = observation[i].copy()
        last = {name: value.copy() for name, value in info.items() if not name.startswith("_")}
        for value in last.values():
            value[~ended] = 0
        info = {name: value for name, value in info.items() if not name.startswith("_")}
        observation, info = self._restart(ended, observation, info)
        return observation, info | _with_masks({"final_obs": final}, ended) | {
            "final_info": _with_masks(last, ended), "_final_info": ended}

    def render(self):
        if self.render_mode is None:
            gymnasium.logger.warn("render needs make_vec(..., render_mode='rgb_array')")
            return None
        return tuple(self._simulation.render(i) for i in range(self.num_envs))
