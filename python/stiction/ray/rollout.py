# SPDX-License-Identifier: Apache-2.0
"""Rollouts on the machines of a Ray cluster."""
import collections

import numpy as np
import ray

from ..batch import _fail, _matched
from .actors import GONE, Progress, Replaced, Roller, count_shards, remote


class _Job:
    """Rollouts that one actor takes side by side, a piece of `length` steps after the other."""

    def __init__(self, begin, count, state, control, out, length):
        self.begin, self.count, self.length = begin, count, length
        self.states, self.sensors = (array[begin:begin + count] for array in out)
        self.start = np.broadcast_to(state, (len(out[0]), state.shape[1]))[begin:begin + count]
        self.control = control if len(control) == 1 else control[begin:begin + count]
        self.done, self.kept, self.failures = 0, None, {}
        self.failed = np.zeros(count, bool)

    @property
    def left(self):
        return self.states.shape[1] - self.done

    def send(self, actor, fresh):
        """The next piece; fresh: the actor has not taken the last one."""
        if fresh and self.kept is None:
            actor.begin.remote(self.count, self.start)
        elif fresh:
            actor.restore.remote(self.kept)
        control = self.control[:, self.done:self.done + self.length]
        return actor.piece.remote(control, self.failed, self.left > self.length)

    def take(self, states, sensors, new, snapshot):
        """Results of a piece; the number of steps in it."""
        n, rows = states.shape[1], slice(self.done, self.done + states.shape[1])
        self.states[:, rows], self.sensors[:, rows] = states, sensors
        for i, what in new.items():
            self.failed[i], self.failures[self.begin + i] = True, what
        # in the store of this machine, so that it outlives the actor's
        self.kept = None if snapshot is None else ray.put(snapshot)
        self.done += n
        return n * self.count


class Pool:
    """Actors that take rollouts of a model, kept between calls; close it, or use it in a with statement.

    shards: how many actors, None: as many as the cluster has processors for; threads: of each. max_replaced: actors that may die before
    an error. progress: None: a line on stderr if that is a terminal; True, False, or a function of a dictionary."""

    def __init__(self, model, shards=None, threads=1, max_replaced=100, progress=None):
        self.model, self.threads, self.progress = model, threads, progress
        shards = count_shards(shards, threads, 1 << 20)
        self._replaced, self._class, self._shared = Replaced(max_replaced), remote(Roller, threads), ray.put(model)
        self._actors = [self._new() for _ in range(shards)]

    def _new(self):
        return self._class.remote(self._shared, self.threads)

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def close(self):
        for actor in self._actors:
            ray.kill(actor)
        self._actors = []

    @property
    def replaced(self):
        """Actors that have died and were replaced."""
        return self._replaced.count

    def rollout(self, initial_state, control=None, *, nstep=None, errors="raise", piece=100, side_by_side=None):
        """As stiction.rollout, with the same bits.

        piece: steps between snapshots, which an actor that replaces a dead one has to repeat at most. side_by_side: rollouts that an actor
        takes at once; None: its share, at most 64 for each thread."""
        if errors not in ("raise", "keep"):
            raise ValueError(f"errors must be 'raise' or 'keep', not {errors!r}")
        if piece < 1 or (side_by_side is not None and side_by_side < 1):
            raise ValueError("piece and side_by_side must be at least 1")
        if not self._actors:
            raise ValueError("this Pool is closed")
        state, control, count = _matched(self.model, initial_state, control, nstep)
        n = control.shape[1]
        out = np.empty((count, n, state.shape[1])), np.empty((count, n, self.model.nsensordata))
        some = side_by_side or min(-(-count // len(self._actors)), 64 * self.threads)
        jobs = [_Job(k, min(some, count - k), state, control, out, piece) for k in range(0, count if n else 0, some)]
        self._run(jobs, Progress(self.progress, self._replaced, len(self._actors), count * n))
        failures = {i: what for job in jobs for i, what in job.failures.items()}
        if failures and errors == "raise":
            raise _fail(failures, count)
        return out

    def _run(self, jobs, progress):
        """Each actor takes the next job as it comes free."""
        waiting, running = collections.deque(jobs), {}
        for k in range(min(len(self._actors), len(jobs))):
            job = waiting.popleft()
            running[job.send(self._actors[k], True)] = k, job
        while running:
            ready, _ = ray.wait(list(running), num_returns=1)
            k, job = running.pop(ready[0])
            fresh = False
            try:
                progress.add(job.take(*ray.get(ready[0])))
            except GONE as error:
                self._replaced.another(error)
                self._actors[k], fresh = self._new(), True
            if not job.left:
                job, fresh = waiting.popleft() if waiting else None, True
            if job:
                running[job.send(self._actors[k], fresh)] = k, job


def rollout(model, initial_state, control=None, *, nstep=None, shards=None, threads=1, errors="raise", piece=100, side_by_side=None,
            max_replaced=100, progress=None):
    """As stiction.rollout, with the same bits, on the machines of a Ray cluster: Pool says what the arguments mean. Planners that call often
    keep a Pool: starting actors takes seconds."""
    with Pool(model, shards, threads, max_replaced, progress) as pool:
        return pool.rollout(initial_state, control, nstep=nstep, errors=errors, piece=piece, side_by_side=side_by_side)
