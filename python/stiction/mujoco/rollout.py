# SPDX-License-Identifier: Apache-2.0
"""Trajectories from many initial states, as mujoco.rollout: one after the other on each MjData, MjDatas side by side.
stiction.Batch steps many worlds faster."""
import concurrent.futures as _futures

import numpy as _np

import stiction as _sti
from stiction.mujoco import enums as _e

_FULL, _CTRL = int(_e.mjtState.mjSTATE_FULLPHYSICS), int(_e.mjtState.mjSTATE_CTRL)


def _listed(x):
    return list(x) if isinstance(x, (list, tuple)) else [x]


def _deep(array, name, dims):
    """The array with so many dimensions, new ones in front."""
    if array is None:
        return None
    array = _np.asarray(array, float)
    if array.ndim > dims:
        raise ValueError(f"{name} can have at most {dims} dimensions")
    return array.reshape((1,) * (dims - array.ndim) + array.shape)


def _agree(name, *numbers):
    """The one number other than 1 among those that are given."""
    found = {n for n in numbers if n not in (None, 1)}
    if len(found) > 1:
        raise ValueError(f"{name} is not the same everywhere: {sorted(found)}")
    return found.pop() if found else 1


def _one(model, data, start, control, spec, state, sensordata):
    """One trajectory into rows of state and sensordata."""
    _sti.set_state(model, data, start, _FULL)
    for k in range(len(state)):
        if control is not None:
            _sti.set_state(model, data, control[k if len(control) > 1 else 0], spec)
        _sti.step(model, data)
        state[k] = _sti.get_state(model, data, _FULL)
        sensordata[k] = data.sensordata


class Rollout:
    """rollout() with threads that stay."""

    def __init__(self, *, nthread=None):
        self._pool = _futures.ThreadPoolExecutor(nthread) if nthread else None

    def rollout(self, model, data, initial_state, control=None, *, control_spec=_CTRL, skip_checks=False, nstep=None, initial_warmstart=None,
                state=None, sensordata=None, chunk_size=None):
        """States (batch x steps x state) and sensor data after each step."""
        models, datas = _listed(model), _listed(data)
        starts, control = _deep(initial_state, "initial_state", 2), _deep(control, "control", 3)
        nbatch = _agree("nbatch", len(models), len(starts), None if control is None else len(control), None if state is None else len(state))
        steps = _agree("nstep", nstep, None if control is None else control.shape[1], None if state is None else state.shape[1])
        state = _np.empty((nbatch, steps, starts.shape[1])) if state is None else state
        sensordata = _np.empty((nbatch, steps, models[0].nsensordata)) if sensordata is None else sensordata

        def share(first):
            for i in range(first, nbatch, len(datas)):
                one = models[i % len(models)] if len(models) > 1 else models[0]
                world = datas[first] if datas[first].model is one else type(datas[first])(one)
                _one(one, world, starts[i % len(starts)], None if control is None else control[i % len(control)], int(control_spec), state[i],
                     sensordata[i])
        if len(datas) == 1:
            share(0)
        else:
            pool = self._pool or _futures.ThreadPoolExecutor(len(datas))
            list(pool.map(share, range(len(datas))))
            if pool is not self._pool:
                pool.shutdown()
        return state, sensordata

    def close(self):
        """Ends the threads."""
        if self._pool:
            self._pool.shutdown()
        self._pool = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def rollout(model, data, initial_state, control=None, *, persistent_pool=False, **options):
    """States (batch x steps x state) and sensor data of trajectories from initial states, under given controls. Each of a list of data has
    a thread of its own."""
    return Rollout().rollout(model, data, initial_state, control, **options)
