# SPDX-License-Identifier: Apache-2.0
"""What runs in actors, and how those that die are replaced."""
import io
import pickle
import sys
import time

import ray

from .. import Batch

# What a caller sees of an actor, or of what it left in the store of its machine, that is gone
GONE = (ray.exceptions.RayActorError, ray.exceptions.ObjectLostError, ray.exceptions.WorkerCrashedError,
        ray.exceptions.NodeDiedError, ray.exceptions.LocalRayletDiedError)


class _Pickler(pickle.Pickler):
    """Leaves out a model that every actor has."""

    def __init__(self, file, shared):
        super().__init__(file, protocol=pickle.HIGHEST_PROTOCOL)
        self.shared = shared

    def persistent_id(self, thing):
        return "model" if thing is self.shared else None


class _Unpickler(pickle.Unpickler):
    def __init__(self, file, model):
        super().__init__(file)
        self.model = model

    def persistent_load(self, name):
        return self.model


def pack(thing, shared):
    """As bytes; shared: the model that is left out, None if it is to be kept."""
    file = io.BytesIO()
    _Pickler(file, shared).dump(thing)
    return file.getvalue()


def unpack(data, model):
    return _Unpickler(io.BytesIO(data), model).load()


class Shard:
    """Some worlds of a vector environment."""

    def __init__(self, model, settings, snapshot=None):
        from ..gym import VectorEnv
        self.model, self.known = model, model.hash()
        self.env = VectorEnv(model=model, **settings) if snapshot is None else unpack(snapshot, model)

    def snapshot(self):
        """The whole environment: worlds, generators, episodes, what the task remembers; and the model if the task has changed it."""
        return pack(self.env, self.model if self.model.hash() == self.known else None)

    def play(self, calls, wanted):
        """Calls of the environment, (name, arguments) each. Returns what the last returned and, if wanted, a snapshot after it."""
        result = None
        for name, arguments in calls:
            result = getattr(self.env, name)(**arguments)
        return result, self.snapshot() if wanted else None

    def hashes(self):
        return self.env.batch.hashes()

    def state(self):
        return self.env.batch.state

    def render(self):
        return self.env.render()


class Roller:
    """Takes rollouts, a piece of them after the other."""

    def __init__(self, model, threads):
        self.model, self.threads, self.batch = model, threads, None

    def begin(self, count, states):
        """Rollouts from given states."""
        if self.batch is None or len(self.batch) != count:
            self.batch = Batch(self.model, count, threads=self.threads, errors="keep")
        self.batch.reset(state=states)

    def restore(self, snapshot):
        """Rollouts that another began."""
        self.batch = unpack(snapshot, self.model)

    def piece(self, control, failed, wanted):
        """Steps on. Returns states, sensordata, new failures {world: (code, text)} and, if wanted, a snapshot."""
        out = self.batch.rollout(control, failed=failed)
        new = {i: what for i, what in self.batch.failures.items() if not failed[i]}
        return *out, new, pack(self.batch, self.model) if wanted else None


def remote(cls, threads):
    """Machines take turns; an actor that dies is replaced by its owner, who knows its snapshot."""
    return ray.remote(num_cpus=threads, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")(cls)


def count_shards(shards, threads, most):
    """As many as the cluster has processors for, if none are asked for."""
    if threads < 1 or (shards is not None and shards < 1):
        raise ValueError("shards and threads must be at least 1")
    if not ray.is_initialized():
        ray.init()
    if shards is None:
        shards = max(1, int(ray.cluster_resources().get("CPU", 1)) // threads)
    return min(shards, most)


class Replaced:
    """How often actors were replaced; ends what would go on for ever."""

    def __init__(self, most):
        self.count, self.most = 0, most

    def another(self, error):
        self.count += 1
        if self.count > self.most:
            raise RuntimeError(f"{self.count} actors have died, max_replaced is {self.most}; the last: {error}") from error


class Progress:
    """A line on stderr, or calls of a function with a dictionary, once a second and at the end.

    wanted: None: a line if stderr is a terminal; True, False, or the function."""

    def __init__(self, wanted, replaced, shards, total=None):
        self.show = wanted if callable(wanted) else self.line if wanted or (wanted is None and sys.stderr.isatty()) else None
        self.replaced, self.shards, self.total = replaced, shards, total
        self.done, self.begun, self.shown = 0, time.monotonic(), 0.0

    def add(self, steps):
        self.done += steps
        now = time.monotonic()
        if self.show and (now - self.shown >= 1 or self.done == self.total):
            self.shown = now
            self.show(self.figures())

    def figures(self):
        seconds = time.monotonic() - self.begun
        return {"steps": self.done, "total": self.total, "seconds": seconds, "steps_per_second": self.done / max(seconds, 1e-9),
                "shards": self.shards, "replaced": self.replaced.count}

    def line(self, f):
        share = f"{f['steps'] / max(f['total'], 1):4.0%}, " if f["total"] is not None else ""
        end = "\n" if f["steps"] == f["total"] else ""
        print(f"\r{share}{f['steps']:,} steps, {f['steps_per_second']:,.0f} steps/s, {f['shards']} shards, {f['replaced']} replaced  ",
              end=end, file=sys.stderr, flush=True)
