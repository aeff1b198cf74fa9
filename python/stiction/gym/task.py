# SPDX-License-Identifier: Apache-2.0
"""What a learner is asked to do: the base of all tasks."""
import dataclasses
import pathlib
from typing import Any, ClassVar

import numpy as np

from .. import Model

SCENES = pathlib.Path(__file__).resolve().parents[1] / "scenes"


class Streams:
    """The random generators of several worlds, drawn from as one: every result has a row for each world, drawn from its own
    generator. So what a world draws does not depend on the others."""

    def __init__(self, generators):
        self.generators = list(generators)

    def __len__(self):
        return len(self.generators)

    def __getitem__(self, mask):
        return Streams([g for g, wanted in zip(self.generators, mask) if wanted])

    def uniform(self, low, high, size):
        """len(self) x size."""
        return np.array([g.uniform(low, high, size) for g in self.generators]).reshape(len(self), size)

    def standard_normal(self, size):
        """len(self) x size."""
        return np.array([g.standard_normal(size) for g in self.generators]).reshape(len(self), size)

    def until(self, draw, accept):
        """Rows of draw(streams), each drawn again by its own world until accept(rows) is true of it."""
        out = draw(self)
        left = ~accept(out)
        while left.any():
            out[left] = draw(self[left])
            left[left] = ~accept(out[left])
        return out


@dataclasses.dataclass(kw_only=True)
class Task:
    """A scene, and reset, observation, reward and termination over arrays with a row for each world of a stiction.Batch.

    A subclass is a dataclass: its fields are the parameters that gymnasium.make takes. It overrides what it needs of the methods
    below; none of them loops over worlds. Arrays that views of the batch show change with the next step: a task that keeps one
    copies it."""
    xml_file: str = ""
    frame_skip: int = 1  # steps of the engine with the same action
    folder: ClassVar[pathlib.Path] = SCENES  # where xml_file is
    camera: ClassVar[dict[str, Any]] = {}    # arguments of stiction.picture, for scenes without a camera named "track"

    def load(self):
        """The model."""
        return Model.from_xml_path(self.folder / self.xml_file)

    def setup(self, model, count):
        """Called once with the model and the number of worlds: what a task looks up or remembers for each world is made here."""
        self.model = model

    def action_range(self):
        """Lowest and highest action; that of the controls."""
        return self.model.actuator_ctrlrange.T

    def control(self, batch, action):
        """Controls (n x nu) for actions (n x action)."""
        return action

    def reset(self, batch, worlds, rng):
        """Starts an episode in the given worlds (numbers), which were just reset to qpos0; rng: their Streams."""

    def reset_info(self, batch):
        """What is told with the first observation: {name: array with a row for each world}."""
        return {}

    def before(self, batch):
        """Whatever reward needs from before the step."""

    def observe(self, batch):
        """n x observation."""
        return np.concatenate([batch.qpos, batch.qvel], axis=1)

    def reward(self, batch, action, before):
        """Rewards, and what is told beside them: {name: array with a row for each world}."""
        raise NotImplementedError

    def terminated(self, batch):
        """Where the episode has ended: a mask."""
        return np.zeros(len(batch), bool)

    def look(self, batch, i):
        """Arguments of stiction.picture for world i."""
        return self.camera

    @property
    def dt(self):
        """Seconds from action to action."""
        return self.model.opt.timestep * self.frame_skip
