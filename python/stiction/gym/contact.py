# SPDX-License-Identifier: Apache-2.0
"""Tasks that live on contact: a Panda lifts a cube, a Panda carries a soft ball, a quadruped walks on feet that feel the floor."""
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .. import Batch, Data, ik_solve
from .task import Task

DOWN = np.diag([1.0, -1.0, -1.0])  # orientation of a hand that points at the floor
TIP = 0.1034                       # m from the frame of the hand to the middle of the pads
OPEN = 0.04                        # m, of each finger


@dataclass(kw_only=True)
class Panda(Task):
    """A Panda whose hand points at the floor. Actions between -1 and 1: the hand's target moves by x, y, z times reach; the fingers
    open to (1 + grip)/2 of their range. The joints follow by damped least squares."""
    frame_skip: int = 4
    reach: float = 0.02  # m that the target moves at most in one action
    low: ClassVar[tuple] = (0.40, -0.25, 0.115)  # of targets
    high: ClassVar[tuple] = (0.75, 0.25, 0.45)
    camera: ClassVar[dict] = {"lookat": (0.55, 0.0, 0.15), "distance": 0.9, "azimuth": 120, "elevation": -15}

    def setup(self, model, count):
        super().setup(model, count)
        self.hand, self.target = model.site("hand").id, np.zeros((count, 3))
        self.ready = np.array([0, 0, 0, -1.5707963, 0, 1.5707963, -0.7853982, OPEN, OPEN])

    def action_range(self):
        return -np.ones(4), np.ones(4)

    def pose(self, at):
        """Joint positions of the arm with its open hand at a place."""
        data = Data(self.model)
        data.qpos[:9] = self.ready
        found = ik_solve(self.model, data, site="hand", pos=at, quat=[0, 1, 0, 0])
        assert found.reached, f"the hand does not reach {at}"
        return found.qpos[:9]

    def tip(self, batch):
        """n x 3: the middle between the pads."""
        return batch.site_xpos[:, self.hand] - [0, 0, TIP]

    def felt(self, batch):
        """n x 2: the force on each pad, N."""
        return np.linalg.norm(batch.sensordata.reshape(len(batch), 2, 4)[:, :, 1:], axis=2)

    def miss(self, batch):
        """n x 6: what is left to the target and to a hand that points down; m, rad."""
        turn = batch.site_xmat[:, self.hand].reshape(-1, 3, 3)
        return np.hstack([self.target - batch.site_xpos[:, self.hand], 0.5 * np.cross(turn, DOWN, axis=1).sum(axis=2)])

    def jacobian(self, batch):
        """n x 6 x 7: velocity and rotation of the hand for each joint's."""
        axis, arm = batch.xaxis[:, :7], batch.site_xpos[:, None, self.hand] - batch.xanchor[:, :7]
        return np.concatenate([np.cross(axis, arm), axis], axis=2).transpose(0, 2, 1)

    def control(self, batch, action):
        action = np.clip(action, -1, 1)
        self.target = np.clip(self.target + self.reach * action[:, :3], self.low, self.high)
        j = self.jacobian(batch)
        square = j @ j.transpose(0, 2, 1) + 1e-4 * np.eye(6)
        arm = batch.qpos[:, :7] + (j.transpose(0, 2, 1) @ np.linalg.solve(square, self.miss(batch)[:, :, None]))[:, :, 0]
        finger = 0.5 * OPEN * (1 + action[:, 3:])
        return np.hstack([arm, finger, finger])

    def hold(self, batch, worlds, qpos):
        """The servos keep the arm where it starts."""
        batch.ctrl[worlds] = qpos[..., :9]


@dataclass(kw_only=True)
class PandaLift(Panda):
    """Grasp the cube and lift it by 0.15 m. Rewarded: to be near it, to feel it with both pads, height."""
    xml_file: str = "panda_lift.xml"
    spread: float = 0.05  # m, of the cube's place
    rise: float = 0.15    # m: higher is not rewarded

    def setup(self, model, count):
        super().setup(model, count)
        self.start = np.array([0.55, 0, 0.22])
        self.qpos = np.concatenate([self.pose(self.start), model.qpos0[9:]])

    def reset(self, batch, worlds, rng):
        qpos = np.tile(self.qpos, (len(rng), 1))
        qpos[:, 9:11] += rng.uniform(-self.spread, self.spread, 2)
        half = rng.uniform(-0.3, 0.3, 1)[:, 0]  # half the angle of the cube about the vertical
        qpos[:, 12], qpos[:, 15] = np.cos(half), np.sin(half)
        batch.qpos[worlds] = qpos
        self.hold(batch, worlds, qpos)
        self.target[worlds] = self.start

    def observe(self, batch):
        tip, cube = self.tip(batch), batch.qpos[:, 9:]
        return np.concatenate([tip, self.target - tip, batch.qpos[:, 7:9], batch.qvel[:, 7:9], cube[:, :3] - tip, cube, batch.qvel[:, 9:],
                               self.felt(batch)], axis=1)

    def reward(self, batch, action, before):
        away = np.linalg.norm(batch.qpos[:, 9:12] - self.tip(batch), axis=1)
        lifted = np.clip((batch.qpos[:, 11] - 0.02) / self.rise, 0, 1)
        parts = {"reward_reach": 1 - np.tanh(10 * away), "reward_touch": 0.5 * (self.felt(batch) > 0.05).all(axis=1),
                 "reward_lift": 5 * lifted}
        return sum(parts.values()), parts | {"is_success": lifted > 0.9}

    def terminated(self, batch):
        return np.abs(batch.qpos[:, 9:11] - self.model.qpos0[9:11]).max(axis=1) > 0.25


@dataclass(kw_only=True)
class PandaHold(Panda):
    """Carry a soft ball, held between the fingers, to a goal, and do not drop it. Rewarded: to be near the goal; not rewarded: to
    press hard."""
    xml_file: str = "panda_grasp.xml"
    press_cost_weight: float = 0.1  # per N beyond what holds the ball
    spread: float = 0.08            # m, of the goal about the start

    def setup(self, model, count):
        super().setup(model, count)
        self.mass = model.flexvert_mass / model.flexvert_mass.sum()
        self.start, self.goal = np.array([0.65, 0, 0.3]), np.zeros((count, 3))
        self.held = self.grasp()

    def grasp(self):
        """The state of a world that holds the ball at the start."""
        batch, target = Batch(self.model, 1, threads=1), self.target
        self.target = np.array([[0.65, 0, 0.13]])
        batch.qpos[0, :9] = batch.ctrl[0, :9] = self.pose(self.target[0])
        batch.forward()
        rise = (self.start[2] - self.target[0, 2]) / self.reach / 20
        for up in [0] * 12 + [rise] * 20 + [0] * 12:  # close, lift, wait
            batch.step(self.frame_skip, self.control(batch, np.array([[0, 0, up, -1]])))
        self.target = target
        state = batch.state[0]
        state[0] = 0
        self.held_ctrl = batch.ctrl[0].copy()
        return state

    def centre(self, batch):
        """n x 3: of the ball's mass."""
        return np.einsum("v,nvj->nj", self.mass, batch.flexvert_xpos)

    def reset(self, batch, worlds, rng):
        batch.reset(worlds, state=self.held)
        batch.ctrl[worlds] = self.held_ctrl
        self.target[worlds] = self.start
        self.goal[worlds] = self.start - [0, 0, TIP] + rng.uniform(-self.spread, self.spread, 3)

    def observe(self, batch):
        tip, centre = self.tip(batch), self.centre(batch)
        return np.concatenate([tip, self.target - tip, batch.qpos[:, 7:9], batch.qvel[:, 7:9], centre - tip, self.goal - centre,
                               self.felt(batch)], axis=1)

    def reward(self, batch, action, before):
        away = np.linalg.norm(self.goal - self.centre(batch), axis=1)
        press = np.maximum(self.felt(batch).max(axis=1) - 1, 0)
        parts = {"reward_near": 1 - np.tanh(10 * away), "reward_press": -self.press_cost_weight * press}
        return sum(parts.values()), parts | {"is_success": away < 0.01}

    def terminated(self, batch):
        return np.linalg.norm(self.centre(batch) - self.tip(batch), axis=1) > 0.04  # dropped


@dataclass(kw_only=True)
class QuadrupedWalk(Task):
    """Walk along x. Actions are offsets from standing of hips and knees, times stride; observed are the trunk's attitude and
    velocities in its own frame, the joints, and what each foot feels of the floor."""
    xml_file: str = "quadruped.xml"
    frame_skip: int = 10
    stride: float = 0.5  # rad
    speed: float = 1.0   # m/s: faster is not rewarded
    forward_reward_weight: float = 2.0
    healthy_reward: float = 0.5
    sideways_cost_weight: float = 0.5
    ctrl_cost_weight: float = 0.02
    impact_cost_weight: float = 0.1  # per weight of the robot that a foot is pressed with beyond its whole weight
    reset_noise_scale: float = 0.02
    camera: ClassVar[dict] = {"distance": 1.6, "azimuth": 130, "elevation": -18}

    def setup(self, model, count):
        super().setup(model, count)
        self.qpos, self.stand = model.key_qpos[0].copy(), model.key_ctrl[0].copy()
        self.weight = model.body_subtreemass[0] * np.linalg.norm(model.opt.gravity)

    def action_range(self):
        return -np.ones(self.model.nu), np.ones(self.model.nu)

    def control(self, batch, action):
        return self.stand + self.stride * np.clip(action, -1, 1)

    def reset(self, batch, worlds, rng):
        scale, m = self.reset_noise_scale, self.model
        qpos = np.tile(self.qpos, (len(rng), 1))
        qpos[:, 7:] += rng.uniform(-scale, scale, m.nq - 7)
        batch.qpos[worlds], batch.qvel[worlds], batch.ctrl[worlds] = qpos, rng.uniform(-scale, scale, m.nv), self.stand

    def look(self, batch, i):
        return self.camera | {"lookat": (batch.qpos[i, 0], batch.qpos[i, 1], 0.25)}

    def turn(self, batch):
        """n x 3 x 3: axes of the trunk as columns, from its quaternion."""
        w, x, y, z = (batch.qpos[:, 3:7] / np.linalg.norm(batch.qpos[:, 3:7], axis=1, keepdims=True)).T
        rows = [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), 2 * (x * y + w * z), 1 - 2 * (x * x + z * z),
                2 * (y * z - w * x), 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)]
        return np.stack(rows, axis=1).reshape(-1, 3, 3)

    def feet(self, batch):
        """n x 4: whether each touches the floor; n x 4: how much it carries, in weights of the robot."""
        felt = batch.sensordata.reshape(len(batch), 4, 4)
        return (felt[:, :, 0] > 0).astype(float), np.maximum(felt[:, :, 3], 0) / self.weight

    def observe(self, batch):
        turn, (touch, load) = self.turn(batch), self.feet(batch)
        velocity = np.einsum("nij,ni->nj", turn, batch.qvel[:, :3])
        return np.concatenate([batch.qpos[:, 2:3], turn[:, 2], velocity, batch.qvel[:, 3:6], batch.qpos[:, 7:] - self.stand,
                               0.1 * batch.qvel[:, 6:], (batch.ctrl - self.stand) / self.stride, touch, np.minimum(load, 2)], axis=1)

    def before(self, batch):
        return batch.qpos[:, :2].copy()

    def reward(self, batch, action, before):
        speed = (batch.qpos[:, :2] - before) / self.dt
        impact = np.maximum(self.feet(batch)[1] - 1, 0).sum(axis=1)
        parts = {"reward_forward": self.forward_reward_weight * np.minimum(speed[:, 0], self.speed),
                 "reward_survive": self.healthy_reward * ~self.terminated(batch),
                 "reward_sideways": -self.sideways_cost_weight * (np.abs(speed[:, 1]) + np.abs(batch.qvel[:, 5])),
                 "reward_ctrl": -self.ctrl_cost_weight * np.square(action).sum(axis=1),
                 "reward_impact": -self.impact_cost_weight * impact}
        return sum(parts.values()), parts | {"x_position": batch.qpos[:, 0], "x_velocity": speed[:, 0]}

    def terminated(self, batch):
        return (batch.qpos[:, 2] < 0.2) | (self.turn(batch)[:, 2, 2] < 0.5)
