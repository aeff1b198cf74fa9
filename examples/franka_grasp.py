# SPDX-License-Identifier: Apache-2.0
"""A Panda grasps a soft ball, lifts it, turns it by 90 degrees and holds it; robot and ball are one problem in every step.

    python examples/franka_grasp.py [picture.png] [--width] [--drop] [--edge M] [--rate HZ] [--view]

The fingers close with 1 N each. --width: they close to 0.02 m between the pads instead, within 1 s, with whatever force that
takes; --drop: they open at the end; --edge, --rate: length of the ball's edges in m, steps per second."""
import argparse
import pathlib
import time

import numpy as np

import stiction

SCENE = pathlib.Path(__file__).resolve().parents[1] / "scenes" / "panda_grasp.xml"
PLACE, LIFTED, OPEN = np.array([0.65, 0.0, 0.13]), np.array([0.65, 0.0, 0.3]), 0.04
ARM, PADS, HELD = slice(0, 7), ("left_pad", "right_pad"), ("lift", "turn", "hold")


def load(width=False, edge=0.005, rate=120.0):
    """The scene; with the fingers' full force if they are to go to a width."""
    arm = (SCENE.parent / "panda.xml").read_text()
    arm = arm.replace('forcerange="-1 1"', f'forcerange="{-70 if width else -1} {70 if width else 1}"')
    model = stiction.Model.from_xml_string(SCENE.read_text().replace('edge="0.005"', f'edge="{edge}"'), {"panda.xml": arm.encode()})
    model.opt.timestep = 1 / rate
    return model, stiction.Data(model)


def smooth(s):
    return s * s * (3 - 2 * s)


class Grasp:
    """The phases of the task, and what was seen in each step."""

    def __init__(self, model, data, width=False, drop=False):
        self.model, self.data, self.width = model, data, width
        self.phases = [("close", 1.0 if width else 0.5), ("lift", 1.5), ("turn", 1.5), ("hold", 2.0)] + [("open", 0.5)] * drop
        self.rows, self.phase = [], []
        self.pads = [model.geom(name).id for name in PADS]
        stiction.reset(model, data, "ready")
        data.qpos[ARM] = data.ctrl[ARM] = self.reach(PLACE, 0.0, data.qpos)[ARM]
        data.ctrl[7:] = OPEN
        stiction.forward(model, data)

    def reach(self, pos, angle, start):
        """Joint positions that point the hand down at pos, turned by angle about the vertical."""
        found = stiction.ik_solve(self.model, self.data, site="hand", pos=pos, qpos=start,
                                  quat=[0, np.cos(angle / 2), np.sin(angle / 2), 0])
        assert found.reached, f"the hand comes to {pos} but for {found.position} m and {found.angle} rad"
        return found.qpos

    def aim(self, phase, s):
        """Controls at the part s of a phase."""
        ctrl = self.data.ctrl
        if phase == "close":
            ctrl[7:] = OPEN + (0.01 - OPEN) * smooth(min(1.0, s)) if self.width else 0.0
        elif phase == "lift":
            ctrl[ARM] = self.reach(PLACE + smooth(s) * (LIFTED - PLACE), 0.0, self.data.qpos)[ARM]
        elif phase == "turn":
            ctrl[ARM] = self.reach(LIFTED, 0.5 * np.pi * smooth(s), self.data.qpos)[ARM]
        elif phase == "open":
            ctrl[7:] = OPEN

    def centre(self):
        """Of the ball's mass."""
        mass = self.model.flexvert_mass
        return mass @ self.data.flexvert_xpos / mass.sum()

    def press(self, contacts, pad):
        """The net force between a pad and the ball along the fingers' axis."""
        touching = contacts[(contacts.geom1 == pad) | (contacts.geom2 == pad)]
        force = np.einsum("nij,ni->j", touching.frame.reshape(-1, 3, 3), touching.force[:, :3])
        return abs(force @ self.data.site("hand").xmat.reshape(3, 3)[:, 1])

    def step(self, phase, s):
        self.aim(phase, s)
        ball, start = self.centre(), self.data.time  # where it is when the step begins, as the hand's frame is after it
        stiction.step(self.model, self.data)
        hand, contacts = self.data.site("hand"), self.data.contact
        place = hand.xmat.reshape(3, 3).T @ (ball - hand.xpos)
        self.phase.append(phase)
        self.rows.append([start, ball[2], *(self.press(contacts, pad) for pad in self.pads), *place,
                          self.data.certificate.headline, self.data.solver_niter, *self.data.qpos[7:], hand.xpos[2]])

    def run(self, each=lambda done: None):
        total, h = sum(seconds for _, seconds in self.phases), self.model.opt.timestep
        for phase, seconds in self.phases:
            count = round(seconds / h)
            for i in range(count):
                self.step(phase, (i + 1) / count)
                each(self.data.time / total)
        return self

    def column(self, first, last=None, phases=None):
        rows = np.array(self.rows)[[phases is None or p in phases for p in self.phase]]
        return rows[:, first] if last is None else rows[:, first:last]

    def summary(self):
        """What the task is judged by."""
        place = self.column(4, 7, HELD)
        followed = self.column(4, 7, ("turn", "hold"))
        return {"follows": np.linalg.norm(followed - followed[0], axis=1).max(),
                "since_lift": np.linalg.norm(place - place[0], axis=1).max(),
                "certificate": self.column(7).max(), "iterations": self.column(8, phases=HELD).mean(),
                "apart": np.abs(self.column(9) - self.column(10)).max(), "force": self.column(2, 4, ("hold",))[-1],
                "lifted": self.column(1, phases=("hold",))[-1] - self.rows[0][1], "hand": self.column(11, phases=("hold",))[-1],
                "height": self.centre()[2]}


def bar(done, start=time.monotonic()):
    print(f"\r[{'#' * int(40 * done):40}] {100 * done:3.0f} %  {time.monotonic() - start:5.1f} s", end="", flush=True)


def picture(path, grasp):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4))
    left.imshow(stiction.render(grasp.model, grasp.data, 640, 480, lookat=(0.65, 0, 0.22), distance=0.45, azimuth=70, elevation=-10))
    left.axis("off")
    middle.plot(grasp.column(0), grasp.column(2, 4), label=["left pad", "right pad"])
    middle.set(xlabel="time [s]", ylabel="normal force [N]")
    middle.legend()
    right.plot(grasp.column(0), grasp.column(1))
    right.set(xlabel="time [s]", ylabel="height of the ball [m]")
    figure.tight_layout()
    figure.savefig(path, dpi=100)


def check(grasp, drop):
    end = grasp.summary()
    force = 1.0 if not grasp.width else end["force"].mean()
    print(f"\nnodes {grasp.model.nflexvert}; pads press {end['force'][0]:.4f} and {end['force'][1]:.4f} N; the ball was lifted by "
          f"{end['lifted']:.4f} m and follows the hand within {1e3 * end['follows']:.3f} mm ({1e3 * end['since_lift']:.3f} mm since "
          f"it lay on the floor); worst certificate {end['certificate']:.1e}, {end['iterations']:.2f} iterations while held")
    assert np.allclose(end["force"], force, rtol=0.02), "both pads press as wanted"
    assert abs(end["lifted"] - (LIFTED - PLACE)[2]) < 2e-3 and abs(end["hand"] - LIFTED[2]) < 1e-3, "it is lifted"
    assert end["follows"] < 1e-3 and end["since_lift"] < 1e-3, "the ball follows the hand"
    assert end["certificate"] < 1e-6 and end["iterations"] <= 5, "every step is solved, and soon"
    assert end["apart"] < 1e-4, "the fingers stay even"
    assert drop == (end["height"] < 0.03), "it falls if and only if the fingers open"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("picture", nargs="?")
    parser.add_argument("--width", action="store_true", help="close to 0.02 m instead of with 1 N")
    parser.add_argument("--drop", action="store_true", help="open the fingers at the end")
    parser.add_argument("--edge", type=float, default=0.005, help="of the ball's mesh, m")
    parser.add_argument("--rate", type=float, default=120.0, help="steps per second")
    parser.add_argument("--view", action="store_true", help="in the browser")
    args = parser.parse_args()
    model, data = load(args.width, args.edge, args.rate)
    grasp = Grasp(model, data, args.width, args.drop)
    if args.view:
        with stiction.viewer.launch_passive(model, data, open_browser=True) as viewer:
            grasp.run(lambda done: (viewer.sync(), time.sleep(model.opt.timestep)))
        return
    grasp.run(bar)
    if args.picture:
        picture(args.picture, grasp)
    check(grasp, args.drop)


if __name__ == "__main__":
    main()
