# SPDX-License-Identifier: Apache-2.0
"""Gymnasium's eleven MuJoCo tasks, version 5: its observations, rewards, terminations and parameters, on the XML files of the installed
package. Quantities that derive from positions are those at the beginning of the last step, as MuJoCo leaves them."""
import pathlib
import warnings
from dataclasses import dataclass
from typing import ClassVar

import gymnasium
import numpy as np

from .task import Task


def _squares(x):
    """Sum of squares of each world."""
    return np.square(x).reshape(len(x), -1).sum(axis=1)


def _between(bounds, x):
    return (bounds[0] < x) & (x < bounds[1])


@dataclass(kw_only=True)
class MujocoTask(Task):
    """A scene of Gymnasium's."""
    folder: ClassVar[pathlib.Path] = pathlib.Path(gymnasium.__file__).parent / "envs" / "mujoco" / "assets"

    def load(self):
        with warnings.catch_warnings():  # about attributes of looks and of MuJoCo's solver; model.warnings has them
            warnings.simplefilter("ignore")
            return super().load()

    def body(self, batch, name):
        """n x 3: where the frame of a body is."""
        return batch.xpos[:, self.model.body(name).id]

    def put(self, batch, worlds, qpos, qvel):
        batch.qpos[worlds], batch.qvel[worlds] = qpos, qvel

    def put_near(self, batch, worlds, rng, scale, normal=False):
        """Near qpos0 and rest; normal: velocities are drawn from the normal distribution, not the uniform one."""
        m = self.model
        qpos = m.qpos0 + rng.uniform(-scale, scale, m.nq)
        self.put(batch, worlds, qpos, scale * rng.standard_normal(m.nv) if normal else rng.uniform(-scale, scale, m.nv))


@dataclass(kw_only=True)
class Mover(MujocoTask):
    """Rewards speed along x. Episodes begin near qpos0; observed are positions, without the first ones, and velocities."""
    forward_reward_weight: float = 1.0
    ctrl_cost_weight: float = 0.1
    reset_noise_scale: float = 0.1
    exclude_current_positions_from_observation: bool = True
    hidden: ClassVar[int] = 1                  # positions that are left out
    normal_velocities: ClassVar[bool] = False  # of episodes that begin

    def reset(self, batch, worlds, rng):
        self.put_near(batch, worlds, rng, self.reset_noise_scale, self.normal_velocities)

    def observe(self, batch):
        seen = batch.qpos[:, self.hidden * self.exclude_current_positions_from_observation:]
        return np.concatenate([seen, *self.rest(batch)], axis=1)

    def rest(self, batch):
        """What is observed beside positions."""
        return [batch.qvel]

    def place(self, batch):
        """n x 1 or n x 2: x, or x and y, that speeds come from."""
        return batch.qpos[:, :self.hidden]

    def before(self, batch):
        return self.place(batch).copy()

    def control_cost(self, batch, action):
        return self.ctrl_cost_weight * _squares(action)

    def healthy(self, batch):
        """Where it may go on: a mask; None: everywhere, and that is not rewarded."""

    def reward(self, batch, action, before):
        speed = (self.place(batch) - before) / self.dt
        info = self.reset_info(batch) | dict(zip(("x_velocity", "y_velocity"), speed.T))
        forward, cost = self.forward_reward_weight * speed[:, 0], self.control_cost(batch, action)
        parts = {"reward_forward": forward, "reward_ctrl": -cost}
        healthy = self.healthy(batch)
        if healthy is None:
            return forward - cost, info | parts
        parts["reward_survive"] = healthy * self.healthy_reward
        return forward + parts["reward_survive"] - cost, info | parts

    def terminated(self, batch):
        healthy = self.healthy(batch)
        return super().terminated(batch) if healthy is None or not self.terminate_when_unhealthy else ~healthy

    def reset_info(self, batch):
        if self.hidden == 1:
            return {"x_position": batch.qpos[:, 0]}
        x, y = batch.qpos[:, 0], batch.qpos[:, 1]
        return {"x_position": x, "y_position": y, "distance_from_origin": np.hypot(x, y)}


@dataclass(kw_only=True)
class HalfCheetah(Mover):
    xml_file: str = "half_cheetah.xml"
    frame_skip: int = 5
    normal_velocities: ClassVar[bool] = True


@dataclass(kw_only=True)
class Swimmer(Mover):
    xml_file: str = "swimmer.xml"
    frame_skip: int = 4
    ctrl_cost_weight: float = 1e-4
    hidden: ClassVar[int] = 2


@dataclass(kw_only=True)
class Walker2d(Mover):
    xml_file: str = "walker2d_v5.xml"
    frame_skip: int = 4
    ctrl_cost_weight: float = 1e-3
    healthy_reward: float = 1.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (0.8, 2.0)
    healthy_angle_range: tuple[float, float] = (-1.0, 1.0)
    reset_noise_scale: float = 5e-3

    def rest(self, batch):
        return [np.clip(batch.qvel, -10, 10)]

    def healthy(self, batch):
        return _between(self.healthy_z_range, batch.qpos[:, 1]) & _between(self.healthy_angle_range, batch.qpos[:, 2])

    def reset_info(self, batch):
        return super().reset_info(batch) | {"z_distance_from_origin": batch.qpos[:, 1] - self.model.qpos0[1]}


@dataclass(kw_only=True)
class Hopper(Walker2d):
    xml_file: str = "hopper.xml"
    healthy_state_range: tuple[float, float] = (-100.0, 100.0)
    healthy_z_range: tuple[float, float] = (0.7, float("inf"))
    healthy_angle_range: tuple[float, float] = (-0.2, 0.2)

    def healthy(self, batch):
        state = np.concatenate([batch.qpos, batch.qvel], axis=1)[:, 2:]
        return super().healthy(batch) & _between(self.healthy_state_range, state).all(axis=1)


@dataclass(kw_only=True)
class Ant(Mover):
    xml_file: str = "ant.xml"
    frame_skip: int = 5
    forward_reward_weight: float = 1
    ctrl_cost_weight: float = 0.5
    contact_cost_weight: float = 5e-4
    healthy_reward: float = 1.0
    main_body: int | str = 1
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (0.2, 1.0)
    contact_force_range: tuple[float, float] = (-1.0, 1.0)
    include_cfrc_ext_in_observation: bool = True
    hidden: ClassVar[int] = 2
    normal_velocities: ClassVar[bool] = True
    camera: ClassVar[dict] = {"distance": 4.0}

    def place(self, batch):
        return self.body(batch, self.main_body)[:, :2]

    def contact_forces(self, batch):
        return np.clip(batch.cfrc_ext, *self.contact_force_range)

    def rest(self, batch):
        forces = [self.contact_forces(batch)[:, 1:].reshape(len(batch), -1)] * self.include_cfrc_ext_in_observation
        return [batch.qvel, *forces]

    def healthy(self, batch):
        (low, high), z = self.healthy_z_range, batch.qpos[:, 2]
        return (low <= z) & (z <= high)

    def reward(self, batch, action, before):
        reward, info = super().reward(batch, action, before)
        cost = self.contact_cost_weight * _squares(self.contact_forces(batch))
        return reward - cost, info | {"reward_contact": -cost}


@dataclass(kw_only=True)
class Body(Mover):
    """Gymnasium's humanoid: inertias, velocities, actuator and contact forces of all bodies are observed."""
    frame_skip: int = 5
    reset_noise_scale: float = 1e-2
    include_cinert_in_observation: bool = True
    include_cvel_in_observation: bool = True
    include_qfrc_actuator_in_observation: bool = True
    include_cfrc_ext_in_observation: bool = True
    hidden: ClassVar[int] = 2

    def rest(self, batch):
        parts = [batch.qvel]
        parts += [batch.cinert[:, 1:]] * self.include_cinert_in_observation
        parts += [batch.cvel[:, 1:]] * self.include_cvel_in_observation
        parts += [batch.qfrc_actuator[:, 6:]] * self.include_qfrc_actuator_in_observation
        parts += [batch.cfrc_ext[:, 1:]] * self.include_cfrc_ext_in_observation
        return [part.reshape(len(batch), -1) for part in parts]

    def control_cost(self, batch, action):
        return self.ctrl_cost_weight * _squares(batch.ctrl)

    def reset_info(self, batch):
        return super().reset_info(batch) | {"tendon_length": batch.ten_length, "tendon_velocity": batch.ten_velocity}


@dataclass(kw_only=True)
class Humanoid(Body):
    xml_file: str = "humanoid.xml"
    forward_reward_weight: float = 1.25
    contact_cost_weight: float = 5e-7
    contact_cost_range: tuple[float, float] = (-np.inf, 10.0)
    healthy_reward: float = 5.0
    terminate_when_unhealthy: bool = True
    healthy_z_range: tuple[float, float] = (1.0, 2.0)

    def place(self, batch):
        mass = self.model.body_mass
        return np.einsum("b,nbj->nj", mass, batch.xipos)[:, :2] / mass.sum()

    def healthy(self, batch):
        return _between(self.healthy_z_range, batch.qpos[:, 2])

    def reward(self, batch, action, before):
        reward, info = super().reward(batch, action, before)
        cost = np.clip(self.contact_cost_weight * _squares(batch.cfrc_ext), *self.contact_cost_range)
        return reward - cost, info | {"reward_contact": -cost}


@dataclass(kw_only=True)
class HumanoidStandup(Body):
    xml_file: str = "humanoidstandup.xml"
    uph_cost_weight: float = 1  # no effect, as in Gymnasium
    impact_cost_weight: float = 5e-7
    impact_cost_range: tuple[float, float] = (-np.inf, 10.0)

    def reward(self, batch, action, before):
        up, cost = batch.qpos[:, 2] / self.model.opt.timestep, self.control_cost(batch, action)
        impact = np.clip(self.impact_cost_weight * _squares(batch.cfrc_ext), *self.impact_cost_range)
        parts = {"reward_linup": up, "reward_quadctrl": -cost, "reward_impact": -impact}
        return up - cost - impact + 1, self.reset_info(batch) | parts

    def reset_info(self, batch):
        info = super().reset_info(batch) | {"z_distance_from_origin": batch.qpos[:, 2] - self.model.qpos0[2]}
        del info["distance_from_origin"]
        return info


@dataclass(kw_only=True)
class InvertedPendulum(MujocoTask):
    xml_file: str = "inverted_pendulum.xml"
    frame_skip: int = 2
    reset_noise_scale: float = 0.01
    camera: ClassVar[dict] = {"distance": 2.04}

    def reset(self, batch, worlds, rng):
        self.put_near(batch, worlds, rng, self.reset_noise_scale)

    def terminated(self, batch):
        return np.abs(batch.qpos[:, 1]) > 0.2

    def reward(self, batch, action, before):
        alive = np.where(self.terminated(batch), 0.0, 1.0)
        return alive, {"reward_survive": alive}


@dataclass(kw_only=True)
class InvertedDoublePendulum(MujocoTask):
    xml_file: str = "inverted_double_pendulum.xml"
    frame_skip: int = 5
    healthy_reward: float = 10.0
    reset_noise_scale: float = 0.1
    camera: ClassVar[dict] = {"distance": 4.1225, "lookat": (0.0, 0.0, 0.1225)}

    def reset(self, batch, worlds, rng):
        self.put_near(batch, worlds, rng, self.reset_noise_scale, normal=True)

    def observe(self, batch):
        angles = batch.qpos[:, 1:]
        return np.concatenate([batch.qpos[:, :1], np.sin(angles), np.cos(angles), np.clip(batch.qvel, -10, 10),
                               np.clip(batch.qfrc_constraint, -10, 10)[:, :1]], axis=1)

    def terminated(self, batch):
        return batch.site_xpos[:, 0, 2] <= 1

    def reward(self, batch, action, before):
        x, y = batch.site_xpos[:, 0, 0], batch.site_xpos[:, 0, 2]
        v1, v2 = batch.qvel[:, 1], batch.qvel[:, 2]
        parts = {"reward_survive": self.healthy_reward * ~self.terminated(batch),
                 "distance_penalty": -(0.01 * x ** 2 + (y - 2) ** 2), "velocity_penalty": -(1e-3 * v1 ** 2 + 5e-3 * v2 ** 2)}
        return sum(parts.values()), parts


@dataclass(kw_only=True)
class Reacher(MujocoTask):
    xml_file: str = "reacher.xml"
    frame_skip: int = 2
    reward_dist_weight: float = 1
    reward_control_weight: float = 1

    def reset(self, batch, worlds, rng):
        m = self.model
        qpos = m.qpos0 + rng.uniform(-0.1, 0.1, m.nq)
        qpos[:, -2:] = rng.until(lambda r: r.uniform(-0.2, 0.2, 2), lambda goal: np.hypot(*goal.T) < 0.2)
        qvel = rng.uniform(-0.005, 0.005, m.nv)
        qvel[:, -2:] = 0
        self.put(batch, worlds, qpos, qvel)

    def miss(self, batch):
        return self.body(batch, "fingertip") - self.body(batch, "target")

    def observe(self, batch):
        angles = batch.qpos[:, :2]
        return np.concatenate([np.cos(angles), np.sin(angles), batch.qpos[:, 2:], batch.qvel[:, :2], self.miss(batch)[:, :2]], axis=1)

    def reward(self, batch, action, before):
        parts = {"reward_dist": -np.linalg.norm(self.miss(batch), axis=1) * self.reward_dist_weight,
                 "reward_ctrl": -_squares(action) * self.reward_control_weight}
        return sum(parts.values()), parts


@dataclass(kw_only=True)
class Pusher(MujocoTask):
    xml_file: str = "pusher_v5.xml"
    frame_skip: int = 5
    reward_near_weight: float = 0.5
    reward_dist_weight: float = 1
    reward_control_weight: float = 0.1
    camera: ClassVar[dict] = {"distance": 4.0}

    def reset(self, batch, worlds, rng):
        m = self.model
        qpos = np.tile(m.qpos0, (len(rng), 1))
        qpos[:, -4:-2] = rng.until(lambda r: np.hstack([r.uniform(-0.3, 0, 1), r.uniform(-0.2, 0.2, 1)]),
                                   lambda cylinder: np.hypot(*cylinder.T) > 0.17)
        qpos[:, -2:] = 0
        qvel = rng.uniform(-0.005, 0.005, m.nv)
        qvel[:, -4:] = 0
        self.put(batch, worlds, qpos, qvel)

    def observe(self, batch):
        return np.concatenate([batch.qpos[:, :7], batch.qvel[:, :7], *(self.body(batch, b) for b in ("tips_arm", "object", "goal"))],
                              axis=1)

    def reward(self, batch, action, before):
        thing = self.body(batch, "object")
        near, far = (np.linalg.norm(thing - self.body(batch, b), axis=1) for b in ("tips_arm", "goal"))
        parts = {"reward_dist": -far * self.reward_dist_weight, "reward_ctrl": -_squares(action) * self.reward_control_weight,
                 "reward_near": -near * self.reward_near_weight}
        return sum(parts.values()), parts
