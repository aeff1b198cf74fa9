# SPDX-License-Identifier: Apache-2.0
"""Many worlds of one model as arrays: Batch and rollout."""
import operator as _operator
import os as _os
from copy import copy as _copy

import numpy as _np

from . import _core
from ._core import Error


def _all_threads():
    """As many as the process may use."""
    return len(_os.sched_getaffinity(0)) if hasattr(_os, "sched_getaffinity") else _os.cpu_count() or 1


def _fail(failures, total):
    """stiction.Error that names the worlds that failed."""
    first, (code, text) = next(iter(failures.items()))
    more = f" (and {len(failures) - 1} more of {total})" if len(failures) > 1 else ""
    error = Error(f"world {first}: {text}{more}")
    error.code, error.message, error.worlds = code, text, dict(failures)
    return error


class DeviceArray(_np.lib.mixins.NDArrayOperatorsMixin):
    """A field of all worlds of a Batch in the memory of its device, a row a world, or one of their parameters. PyTorch, JAX and CuPy take it
    without a copy (torch.from_dlpack(batch.qpos), cupy.asarray(batch.qpos)) and may write into it where the field may be set; numpy.asarray,
    NumPy's functions and operators, and what else an array of NumPy has, copy it here first. Calls of the batch begin once all work on the device
    is done, and return when theirs is."""

    def __init__(self, batch, name, parameter_shape=None):
        self._batch, self._name, self._is_parameter = batch, name, parameter_shape is not None
        self.shape = (len(batch), *parameter_shape) if self._is_parameter else batch._shape(name)
        self._address, self.writable = batch._core.place(name, self._is_parameter)

    dtype, ndim = _np.dtype(float), property(lambda self: len(self.shape))

    def __len__(self):
        return self.shape[0]

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("an array of a device is copied to become one of NumPy")
        if not self._is_parameter:
            return self._batch._gather(self._name).astype(dtype or float, copy=False)
        out = _np.empty(self.shape)
        self._batch._core.move_parameter(self._name, out, False)
        return out.astype(dtype or float, copy=False)

    def __array_ufunc__(self, ufunc, method, *inputs, out=None, **more):
        inputs = [x.numpy() if isinstance(x, DeviceArray) else x for x in inputs]
        if out is None:
            return getattr(ufunc, method)(*inputs, **more)
        into = [x.numpy() if isinstance(x, DeviceArray) else x for x in out]
        getattr(ufunc, method)(*inputs, out=tuple(into), **more)
        for there, here in zip(out, into):
            if isinstance(there, DeviceArray):
                there[...] = here
        return out[0] if len(out) == 1 else out

    def __getattr__(self, name):
        """reshape, copy, T, sum and so on: of a copy here."""
        if name == "__cuda_array_interface__":
            raise AttributeError("this array is not in the memory of a GPU")
        if name.startswith("_") or not hasattr(_np.ndarray, name):
            raise AttributeError(f"a DeviceArray has no attribute {name!r}")
        return getattr(self.numpy(), name)

    def numpy(self):
        """A copy as an array of NumPy."""
        return self.__array__()

    def __getitem__(self, key):
        return self.__array__()[key]

    def __setitem__(self, key, value):
        if not self.writable:
            raise ValueError(f"Batch.{self._name} cannot be written")
        if not (isinstance(key, type(...)) or isinstance(key, slice) and key == slice(None)):
            array = self.__array__()
            array[key] = value
            value = array
        if not self._is_parameter:
            return self._batch._scatter(self._name, value)
        value = _np.ascontiguousarray(_np.broadcast_to(_np.asarray(value, float), self.shape))
        self._batch._core.move_parameter(self._name, value, True)

    @property
    def __cuda_array_interface__(self):
        if self._batch.device != "cuda":
            raise AttributeError  # __getattr__ says why
        return {"shape": self.shape, "typestr": "<f8", "data": (self._address, not self.writable), "version": 3, "stream": None}

    def __dlpack_device__(self):
        return (2, 0) if self._batch.device == "cuda" else (1, 0)

    def __dlpack__(self, *, stream=None, max_version=None, dl_device=None, copy=None):
        if dl_device not in (None, self.__dlpack_device__()) or copy:
            raise BufferError("DLPack: this array is given out where it is, without a copy")
        return self._batch._core.dlpack(self._name, self.shape, self._is_parameter)

    def __repr__(self):
        return f"<{' x '.join(map(str, self.shape))} numbers of {self._batch.device}: {self._name}>"


def _on_device(value, shape):
    """The address of an array of shape in a GPU's memory; None: it is somewhere else."""
    there = getattr(value, "__cuda_array_interface__", None)
    if there is None:
        return None
    if there["typestr"] != "<f8" or tuple(there["shape"]) != shape:
        raise ValueError(f"an array of a GPU must have {' x '.join(map(str, shape))} doubles, not {there['shape']} of {there['typestr']}")
    if there.get("strides") is not None and not _is_contiguous(there["strides"], shape):
        raise ValueError("an array of a GPU must be contiguous")
    return there["data"][0]


def _is_contiguous(strides, shape):
    step = 8
    for stride, n in zip(reversed(strides), reversed(shape)):
        if n > 1 and stride != step:
            return False
        step *= n
    return True


class Batch:
    """n worlds of a model, stepped side by side. Each has the bits of a Data stepped alone, whatever the threads.

    Fields are arrays with a row for each world: batch.qpos is n x nq. State, inputs and sensordata are views on the
    worlds' own memory; other fields are gathered into a copy when read.

    device: where they live, "cpu", or "cuda": the first NVIDIA GPU, where fields are DeviceArrays (docs/gpu.md);
    "cuda-emulated": what that computes, by this processor, for tests. threads: how many step it on the processor; None: all that the process
    may use. errors: what a world that fails does to the call once all others
    have stepped, "raise" an Error that names it, or "keep" it in batch.failures. Its state stays the last good one."""

    def __init__(self, model, n, threads=None, errors="raise", device="cpu"):
        from . import Model
        if not isinstance(model, Model):
            raise TypeError("a Batch needs a stiction.Model")
        n, threads = _operator.index(n), _all_threads() if threads is None else _operator.index(threads)
        if not 1 <= n < 2**31:
            raise ValueError("a batch has at least one world")
        if not 1 <= threads <= 1024:
            raise ValueError("threads must be between 1 and 1024")
        if errors not in ("raise", "keep"):
            raise ValueError(f"errors must be 'raise' or 'keep', not {errors!r}")
        if not isinstance(device, str):
            raise TypeError(f"device must be a name such as 'cuda', not {device!r}")
        self.__dict__.update(model=model, threads=threads, errors=errors, device=device, _n=n, _shapes={}, _parameters={},
                             _core=_core.batch(model._model_core, n, 1 if device != "cpu" else threads, device))

    def __len__(self):
        return self._n

    def _shape(self, name):
        """A row a world; time is one number each. Looked up once: a gather of a small batch costs less."""
        if name not in self._shapes:
            from . import Data
            one = self._core.world(0) if self.device == "cpu" else Data(self.model)._core
            one = _np.asarray(one.view(name)).shape
            self._shapes[name] = (self._n,) if name == "time" else (self._n, *one)
        return self._shapes[name]

    def __getattr__(self, name):
        from . import _STATE
        if name.startswith("_") or name not in _STATE:
            raise AttributeError(f"Batch has no attribute {name!r}")
        view = self._core.view(name)
        if view is not None:
            array = _np.asarray(view).reshape(self._shape(name))
        elif self.device == "cuda" and self._core.place(name, False):
            array = DeviceArray(self, name)
        else:
            return self._gather(name)
        self.__dict__[name] = array
        return array

    def _gather(self, name):
        out = _np.empty(self._shape(name))
        self._core.gather(name, out)
        return out

    def _scatter(self, name, value):
        """A field of all worlds, from an array of the GPU that is copied there, or from one of the processor."""
        shape = self._shape(name)
        address = _on_device(value, shape) if self.device == "cuda" else None
        if address is not None:
            return self._core.scatter_there(name, address)
        return self._core.scatter(name, _np.ascontiguousarray(_np.broadcast_to(_np.asarray(value, float), shape)))

    def __setattr__(self, name, value):
        from . import _STATE
        if name not in _STATE:
            raise AttributeError(f"Batch has no attribute {name!r}")
        array = getattr(self, name)
        if _STATE[name] not in "SI":
            raise AttributeError(f"Batch.{name} is derived and cannot be set")
        array[...] = value

    def __dir__(self):
        from . import _STATE
        return sorted(set(super().__dir__()) | set(_STATE))

    def _end(self, status):
        if status and self.errors == "raise":
            raise _fail(self.failures, self._n)

    def step(self, nstep=1, ctrl=None, wait=True):
        """nstep steps of all worlds, with ctrl (n x nu, or nu for all) if given. On the processor Ctrl-C stops each between two steps.

        wait=False, on a GPU: the call returns once the steps have begun. They come after what was begun on the device's default stream, and
        what is begun there later comes after them (PyTorch and CuPy work there if nothing else is asked). synchronize() waits, as do all other calls of
        the batch that look at worlds; a world that was short of memory takes its steps only then."""
        if ctrl is not None:
            self._scatter("ctrl", ctrl)
        self._end(self._core.step(_operator.index(nstep), bool(wait)))

    def synchronize(self):
        """Waits for the end of step(wait=False); worlds that failed in it are told of as by step."""
        self._end(self._core.step_end())

    def rollout(self, control=None, *, nstep=None, failed=None):
        """Steps each world under a sequence of controls, n x nstep x nu (or one for all, or None and nstep: zeros), from where it is.
        Returns states (n x nstep x nstate) after each step and sensordata (n x nstep x nsensordata), so that a long rollout can be cut into
        pieces: it has the bits of the whole. A world that fails repeats its last good state from then on; so do those of the mask
        `failed`, which failed in an earlier piece."""
        control = _controls(self.model, control, nstep)
        if len(control) not in (1, self._n):
            raise ValueError(f"control has {len(control)} rollouts, the batch {self._n} worlds")
        status = _np.zeros(self._n, _np.int32)
        status[[] if failed is None else self._numbers(failed)] = 1
        earlier = set(_np.flatnonzero(status))
        states, sensors, _, _ = _roll(self, self._n, _np.empty(0), True, control, status)
        new = {i: what for i, what in self.failures.items() if i not in earlier}
        if new and self.errors == "raise":
            raise _fail(new, self._n)
        return states, sensors

    def forward(self, worlds=None):
        """Everything that follows from the states, without stepping, of worlds (a list of numbers or a mask; None: all). Others keep
        what their last step left."""
        self._end(self._core.forward(None if worlds is None else _np.unique(self._numbers(worlds))))

    def _numbers(self, worlds):
        """Of worlds given as a list of numbers or a mask; None: all."""
        which = _np.arange(self._n) if worlds is None else _np.asarray(worlds)
        if which.dtype == bool:
            if which.shape != (self._n,):
                raise ValueError(f"a mask of worlds has {self._n} numbers")
            which = _np.flatnonzero(which)
        return _np.ascontiguousarray(_np.atleast_1d(which), dtype=_np.int32)

    def reset(self, worlds=None, key=None, state=None):
        """Worlds (a list of numbers or a mask; None: all) back to qpos0, to a keyframe by name or number, or to state vectors
        as batch.state has them. Inputs are cleared."""
        which = self._numbers(worlds)
        if key is not None and state is not None:
            raise ValueError("reset takes a key or a state, not both")
        if state is not None:
            state = _np.ascontiguousarray(_np.broadcast_to(_np.asarray(state, float), (len(which), self.nstate)))
        self._core.reset(which, -1 if key is None else self.model.key(key).id, state)

    @property
    def nstate(self):
        """Numbers of a state vector."""
        return _state_size(self.model)

    @property
    def state(self):
        """State vectors, n x nstate, a copy: time, qpos, qvel, act, as MuJoCo's full physics state; then positions and velocities of
        soft vertices. reset(state=...) takes them."""
        parts = [_np.asarray(self.time)[:, None], self.qpos, self.qvel, self.act]
        if self.model.nflexvert:
            parts += [self.flexvert_xpos.reshape(self._n, -1), self.flexvert_xvel.reshape(self._n, -1)]
        return _np.concatenate(parts, axis=1)

    @property
    def failures(self):
        """Worlds whose last step failed: {number: (code, text)}."""
        return self._core.failures()

    def _solved(self):
        out = _np.empty(self._n), _np.empty(self._n, _np.int32), _np.empty(self._n, bool)
        self._core.solved(*out)
        return out

    @property
    def certificate(self):
        """The headline of each world's certificate: how well its last step was solved, relative."""
        return self._solved()[0]

    @property
    def solver_niter(self):
        """Iterations of each world's last solve."""
        return self._solved()[1]

    @property
    def converged(self):
        """Whether each certificate is within opt.contact_tol."""
        return self._solved()[2]

    @property
    def lanes(self):
        """Worlds whose smooth parts run side by side in the lanes of registers; 1: one by one."""
        return self._core.lanes()[0]

    @property
    def lane_share(self):
        """The share of lanes that had a world in them, of all steps so far; a world that steps alone takes all lanes."""
        return self._core.lanes()[1]

    def world(self, i):
        """World i as a Data: contacts, sensors by name, pictures, snapshots, the viewer. On the same memory; of a device, a copy that
        Data.forward has filled, and that put(i, data) brings back."""
        from . import Data
        if self.device != "cpu":
            data = Data(self._model_of(i))
            self._core.save(range(self._n)[_operator.index(i)], data._core)
            data._core.forward()
            return data
        data = Data.__new__(Data)
        data.__dict__.update(model=self.model, _model_core=self.model._model_core,
                             _core=self._core.world(range(self._n)[_operator.index(i)]))
        return data

    def _model_of(self, i, own=None):
        """The model, with world i's parameters if it has any. own: these of all worlds, already copied."""
        if not self._parameters:
            return self.model
        self.forward([])  # worlds know what was written
        model = _copy(self.model)
        for name, rows in (own or self._parameters).items():
            getattr(model, name)[...] = rows[range(self._n)[_operator.index(i)]]
        model.update()
        return model

    def put(self, i, data):
        """World i becomes as data, one of the same model: its state, inputs and warm start."""
        self._core.restore(range(self._n)[_operator.index(i)], data._core)

    @property
    def device_info(self):
        """Bytes of the model, of a world and of all on the device; how often worlds were given more; factors in another order than the
        processor's, whose solves have other bits; orderings of large matrices that the processor has found for it. All 0 on the processor."""
        return dict(zip(("model_bytes", "world_bytes", "bytes", "grown", "reordered", "orderings"), self._core.device()[1:]))

    def hashes(self):
        """64-bit hashes of all worlds, as Data.hash."""
        return self._core.hashes()

    def parameter(self, name):
        """A field of the model for each world its own, such as "body_mass": an array n x its shape, to be written; the next step uses
        it and what follows from it. The fields are those marked W in docs/changing.md."""
        if name not in self._parameters:
            shape, view = _np.shape(getattr(self.model, name, 0)), self._core.parameter(name)
            self._parameters[name] = DeviceArray(self, name, shape) if view is None else _np.asarray(view).reshape(self._n, *shape)
        return self._parameters[name]

    def __reduce__(self):
        from . import _STATE
        own = {name: _np.array(value) for name, value in self._parameters.items()}
        worlds = [self._snapshot(i, own) for i in range(self._n)]
        # what the last step has left, of fields that someone looks at; a device keeps its own
        seen = {*self._shapes, "sensordata"} if self.device == "cpu" else ()
        derived = {name: _np.array(getattr(self, name)) for name in seen if _STATE[name] == "D"}
        return _unpack_batch, (self.model, self._n, self.threads, self.errors, own, worlds, derived, self.device)

    def _snapshot(self, i, own):
        if self.device == "cpu":
            return self.world(i).snapshot()
        from . import Data
        data = Data(self._model_of(i, own))
        self._core.save(i, data._core)
        return data.snapshot()

    def __copy__(self):
        return _unpack_batch(*self.__reduce__()[1])

    def __deepcopy__(self, memo):
        return _unpack_batch(self.model.__deepcopy__(memo), *self.__reduce__()[1][1:])

    def __repr__(self):
        return f"<stiction.Batch of {self._n} x {self.model.title!r}, {f'{self.threads} threads' if self.device == 'cpu' else self.device}>"


def _unpack_batch(model, n, threads, errors, own, worlds, derived, device="cpu"):
    """A pickled Batch."""
    from . import Data
    batch = Batch(model, n, threads, errors, device)
    for name, value in own.items():
        batch.parameter(name)[...] = value
    if own:
        batch.forward([])  # worlds know their parameters before they are restored
    for i, snapshot in enumerate(worlds):
        data = batch.world(i) if device == "cpu" else Data(batch._model_of(i, own))
        data.restore(snapshot)
        if device != "cpu":
            batch.put(i, data)
    for name, value in derived.items():
        batch._core.scatter(name, value)
    return batch


def _state_size(model):
    return 1 + model.nq + model.nv + model.na + 6 * model.nflexvert


def _initial(model, initial_state):
    """As n x nstate."""
    from . import Data
    if isinstance(initial_state, Data):
        d = initial_state
        initial_state = _np.concatenate([[d.time], d.qpos, d.qvel, d.act, d.flexvert_xpos.ravel(), d.flexvert_xvel.ravel()])
    state = _np.ascontiguousarray(_np.atleast_2d(_np.asarray(initial_state, float)))
    if state.ndim != 2 or state.shape[1] != _state_size(model):
        raise ValueError(f"initial_state must be n x {_state_size(model)} (time, qpos, qvel, act), not {state.shape}")
    return state


def _controls(model, control, nstep):
    """As n x nstep x nu."""
    if control is None:
        if nstep is None:
            raise ValueError("rollout needs control or nstep")
        return _np.zeros((1, nstep, model.nu))
    control = _np.asarray(control, float)
    if control.ndim < 2:
        control = control.reshape((1, -1, model.nu) if model.nu else (1, 0, 0))
    control = control[None] if control.ndim == 2 else control
    if control.ndim != 3 or control.shape[2] != model.nu:
        raise ValueError(f"control must be n x nstep x {model.nu}, not {control.shape}")
    if nstep is not None and control.shape[1] == 1:
        control = _np.repeat(control, nstep, axis=1)
    if nstep is not None and control.shape[1] != nstep:
        raise ValueError(f"control has {control.shape[1]} steps, nstep is {nstep}")
    return _np.ascontiguousarray(control)


def _matched(model, initial_state, control, nstep):
    """States, controls and the number of rollouts, which is that of both, or one of them serves all."""
    state, control = _initial(model, initial_state), _controls(model, control, nstep)
    count = max(len(state), len(control))
    for name, array in (("initial_state", state), ("control", control)):
        if len(array) not in (1, count):
            raise ValueError(f"{name} has {len(array)} rollouts, the other has {count}")
    return state, control, count


def _roll(batch, count, state, one_state, control, status):
    """states, sensordata, code and text of the first failure."""
    model, nstep = batch.model, control.shape[1]
    states, sensors = _np.empty((count, nstep, _state_size(model))), _np.empty((count, nstep, model.nsensordata))
    return states, sensors, *batch._core.rollout(count, nstep, state, one_state, control, len(control) == 1, states, sensors, status)


_ROLLED = 16384  # worlds that a device takes side by side in a rollout


def rollout(model, initial_state, control=None, *, nstep=None, threads=None, errors="raise", device="cpu"):
    """Trajectories from initial states under given controls, on all threads or on a device (as of Batch).

    initial_state: n x nstate (time, qpos, qvel, act), one of them, or a Data; control: n x nstep x nu, one of them, or None for
    zeros. One state or one control serves all. Returns states (n x nstep x nstate) after each step and sensordata
    (n x nstep x nsensordata). Each rollout begins without a warm start and has the same bits whatever the threads.

    A rollout that fails repeats its last good state; errors="raise" raises an Error that names it (.worlds), "keep" goes on."""
    if errors not in ("raise", "keep"):
        raise ValueError(f"errors must be 'raise' or 'keep', not {errors!r}")
    state, control, count = _matched(model, initial_state, control, nstep)
    threads = _all_threads() if threads is None else _operator.index(threads)
    side_by_side = threads * _core.lanes() if device == "cpu" else _ROLLED
    batch = Batch(model, max(1, min(side_by_side, count)), threads=threads, device=device)
    status = _np.zeros(count, _np.int32)
    states, sensors, code, text = _roll(batch, count, state, len(state) == 1, control, status)
    if code != "OK" and errors == "raise":
        raise _fail({int(i): (code, text) for i in _np.flatnonzero(status)} or {0: (code, text)}, count)
    return states, sensors
