# SPDX-License-Identifier: Apache-2.0
"""Gymnasium environments on stiction's batches. docs/learning.md.

    import gymnasium, stiction.gym
    env = gymnasium.make("stiction/Hopper-v5")
    envs = gymnasium.make_vec("stiction/Hopper-v5", num_envs=256)

A task of your own is a subclass of Task, made known by register("Name-v0", TheTask)."""
try:
    import gymnasium
except ImportError as error:
    raise ImportError('stiction.gym needs Gymnasium: pip install "stiction[gym]"') from error

from .env import Env, VectorEnv
from .task import Streams, Task


def register(id, task, max_episode_steps=None, reward_threshold=None):
    """Makes a task known to gymnasium.make and make_vec. task: a subclass of Task, or where to find it, "module:Class"."""
    gymnasium.register(id, entry_point="stiction.gym:Env", vector_entry_point="stiction.gym:VectorEnv", kwargs={"task": task},
                       max_episode_steps=max_episode_steps, reward_threshold=reward_threshold)


_MUJOCO = {"HalfCheetah": (1000, 4800), "Hopper": (1000, 3800), "Walker2d": (1000, None), "Ant": (1000, 6000), "Humanoid": (1000, None),
           "HumanoidStandup": (1000, None), "Reacher": (50, -3.75), "Pusher": (100, 0), "Swimmer": (1000, 360),
           "InvertedPendulum": (1000, 950), "InvertedDoublePendulum": (1000, 9100)}
for _name, (_steps, _threshold) in _MUJOCO.items():
    register(f"stiction/{_name}-v5", f"stiction.gym.mujoco:{_name}", _steps, _threshold)
for _name, _steps in {"PandaLift": 200, "PandaHold": 120, "QuadrupedWalk": 500}.items():
    register(f"stiction/{_name}-v0", f"stiction.gym.contact:{_name}", _steps)

__all__ = ["Env", "Streams", "Task", "VectorEnv", "register"]
