# SPDX-License-Identifier: Apache-2.0
"""Batches on many machines through Ray: VectorEnv, make_vec, rollout, Pool. docs/distributed.md.

    import ray, stiction, stiction.ray
    ray.init(address="auto")
    states, sensordata = stiction.ray.rollout(model, initial_state, control)
    envs = stiction.ray.make_vec("stiction/Ant-v5", num_envs=1024)

The worlds are cut into shards. A shard is a batch in an actor, a process of its own on any machine of the cluster. States, actions and
results travel through Ray's object store. An actor that dies, by itself or with its machine, is replaced: its worlds are restored from
their last snapshot and step again what they had stepped since. Worlds have the same bits everywhere, so the results are those of
one machine.

stiction.ray(model, data, point, direction), which casts a ray, is called as before: this module can be called."""
import sys
import types

try:
    import ray
except ImportError as error:
    raise ImportError('stiction.ray needs Ray: pip install "stiction[ray]"') from error

from .. import ray as _cast  # the function: the name is this module's only once it is loaded
from .rollout import Pool, rollout

__all__ = ["Pool", "VectorEnv", "make_vec", "rollout"]


def __getattr__(name):
    """Environments need Gymnasium, rollouts do not."""
    if name not in ("VectorEnv", "make_vec"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import env
    return getattr(env, name)


class _Module(types.ModuleType):
    """Importing a module of a package's sets its name there, which the function that casts rays has too."""
    __call__ = staticmethod(_cast)


sys.modules[__name__].__class__ = _Module
