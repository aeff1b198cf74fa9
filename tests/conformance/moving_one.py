# SPDX-License-Identifier: Apache-2.0
"""One model in Stiction and in MuJoCo, with contact and everything else on: moving_one.py FILE STEPS REPEATS SECONDS; a JSON object
out, and the process ends after so many seconds of its own time.

Both engines start from the first keyframe (or qpos0), once with its controls held and once with random ones, the same for both.
A first pass looks at every step, and MuJoCo's at steps of half the length too: what these change is chance, and no fault of another
engine. Where joints move otherwise all the same, ours takes steps of half the length, too, and both engines start again from velocities that are
nudged a little, several times: what that changes in either is chance, too. The speed is timed in passes of their own, in turns, of which the fastest counts."""
import json
import resource
import sys
import time
import warnings
import zlib

import mujoco
import numpy as np

import moving_page
import stiction

HOLD = 0.1   # s between two random controls
LEAST = 0.05  # s that a speed is measured over
NUDGES, NUDGE = 3, 1e-4  # runs, and by how much velocities at their start differ, rad/s and m/s
START = "qpos qvel act ctrl mocap_pos mocap_quat".split()
BAD = (mujoco.mjtWarning.mjWARN_BADQPOS, mujoco.mjtWarning.mjWARN_BADQVEL, mujoco.mjtWarning.mjWARN_BADQACC)


class Run:
    """What a pass over all steps saw: least and largest positions, largest speed, and why it ended early."""

    def __init__(self, qpos):
        self.low, self.high, self.speed, self.error = qpos.copy(), qpos.copy(), 0.0, ""

    def see(self, qpos, qvel):
        np.minimum(self.low, qpos, out=self.low)
        np.maximum(self.high, qpos, out=self.high)
        self.speed = max(self.speed, np.abs(qvel).max())


class Pair:
    """Both engines with the same model."""

    def __init__(self, path):
        self.mj = mujoco.MjModel.from_xml_path(path)
        self.mjd = mujoco.MjData(self.mj)
        self.model = stiction.Model.from_xml_path(path, allow_outside=True)
        self.data = stiction.Data(self.model)

    def reset(self, nudge=0):
        if self.mj.nkey:
            mujoco.mj_resetDataKeyframe(self.mj, self.mjd, 0)
        else:
            mujoco.mj_resetData(self.mj, self.mjd)
        if nudge:
            self.mjd.qvel += np.random.default_rng(nudge).uniform(-NUDGE, NUDGE, self.mj.nv)
        self.reset_ours()

    def reset_ours(self):
        stiction.reset(self.model, self.data)
        for name in START:
            getattr(self.data, name)[...] = getattr(self.mjd, name).reshape(getattr(self.data, name).shape)


def random_controls(mj, steps, seed):
    """(every, controls): a new row of controls after so many steps, within their ranges."""
    every = max(1, round(HOLD / mj.opt.timestep))
    low = np.where(mj.actuator_ctrllimited, mj.actuator_ctrlrange[:, 0], -1)
    high = np.where(mj.actuator_ctrllimited, mj.actuator_ctrlrange[:, 1], 1)
    return every, np.random.default_rng(seed).uniform(low, high, (steps // every + 1, mj.nu))


def held_controls(pair, steps):
    pair.reset()
    return steps, np.array(pair.mjd.ctrl)[None, :]


def watch_mujoco(pair, steps, controls, nudge=0):
    pair.reset(nudge)
    run, (every, rows), mj, d = Run(pair.mjd.qpos), controls, pair.mj, pair.mjd
    for i in range(steps):
        if i % every == 0:
            d.ctrl[:] = rows[i // every]
        mujoco.mj_step(mj, d)
        if any(d.warning[w].number for w in BAD):
            run.error = f"diverges at step {i}"
            return run
        run.see(d.qpos, d.qvel)
    return run


def watch_ours(pair, steps, controls, nudge=0):
    pair.reset(nudge)
    run, (every, rows), data = Run(pair.data.qpos), controls, pair.data
    run.certificate, run.bad, run.contacts = 0.0, 0, 0
    for i in range(steps):
        if i % every == 0:
            data.ctrl[:] = rows[i // every]
        try:
            stiction.step(pair.model, data)
        except stiction.Error as problem:
            run.error = f"step {i}: {problem}"
            break
        run.see(data.qpos, data.qvel)
        certificate = data.certificate.headline
        if not certificate <= 1e-6 and not np.isnan(certificate):
            run.bad += 1
        run.certificate = max(run.certificate, 0 if np.isnan(certificate) else certificate)
    run.contacts = pair.data.ncon
    run.warnings = {k: v[0] for k, v in data.warnings.items()}
    return run


def timed(reset, step, data, steps, controls):
    """Seconds of the process for all steps: the mean of so many passes that clocks which tick in milliseconds will do."""
    every, rows = controls
    spent = passes = 0
    while spent < LEAST:
        reset()
        start = time.process_time()
        for i in range(0, steps, every):
            data.ctrl[:] = rows[i // every]
            step(min(every, steps - i))
        spent += time.process_time() - start
        passes += 1
    return spent / passes


def speeds(pair, steps, controls, repeats):
    """(microseconds a step, ours and MuJoCo's): the fastest of several runs in turns."""
    best = [np.inf, np.inf]
    for _ in range(repeats):
        best[0] = min(best[0], timed(pair.reset, lambda n: stiction.step(pair.model, pair.data, n), pair.data, steps, controls))
        best[1] = min(best[1], timed(pair.reset, lambda n: mujoco.mj_step(pair.mj, pair.mjd, n), pair.mjd, steps, controls))
    return [1e6 * b / steps for b in best]


def watch_mujoco_half(pair, steps, controls):
    every, rows = controls
    pair.mj.opt.timestep /= 2
    run = watch_mujoco(pair, 2 * steps, (2 * every, rows))
    pair.mj.opt.timestep *= 2
    return run


def watch_ours_half(pair, steps, controls):
    every, rows = controls
    pair.model.opt.timestep /= 2
    whole, pair.data = pair.data, stiction.Data(pair.model)
    run = watch_ours(pair, 2 * steps, (2 * every, rows))
    pair.model.opt.timestep *= 2
    pair.data = whole
    return run


def joints(pair, ours, theirs):
    """For hinges and slides: name, ranges of motion in our runs and in MuJoCo's, whether a limit was met."""
    mj, found = pair.mj, []
    for j in range(mj.njnt):
        if mj.jnt_type[j] < 2:
            continue
        q, (least, most) = mj.jnt_qposadr[j], mj.jnt_range[j]
        slack = 0.01 * (most - least)
        met = bool(mj.jnt_limited[j]) and any(r.low[q] < least + slack or r.high[q] > most - slack for r in (ours[0], theirs[0]))
        found.append((mj.joint(j).name or f"joint {j}", *([float(r.high[q] - r.low[q]) for r in runs] for runs in (ours, theirs)), met))
    return found


def compare(pair, steps, controls, repeats):
    theirs, half, ours = (watch(pair, steps, controls) for watch in (watch_mujoco, watch_mujoco_half, watch_ours))
    result = dict(error=ours.error, their_error=theirs.error or half.error, speed=float(ours.speed), their_speed=float(theirs.speed),
                  certificate=float(ours.certificate), bad=ours.bad, contacts=ours.contacts, warnings=ours.warnings,
                  joints=joints(pair, [ours], [theirs, half]))
    if not ours.error and not result["their_error"] and any(moving_page.joint_findings(result)[:2]):
        nudged = [[watch(pair, steps, controls, 1 + k) for k in range(NUDGES)] for watch in (watch_ours, watch_mujoco)]
        result["nudged"] = NUDGES
        result["joints"] = joints(pair, [ours, watch_ours_half(pair, steps, controls)] + nudged[0], [theirs, half] + nudged[1])
    if repeats and not ours.error and not theirs.error:
        result["us"] = speeds(pair, steps, controls, repeats)
    return result


def main():
    path, steps, repeats, seconds = sys.argv[1], *map(int, sys.argv[2:5])
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    warnings.simplefilter("ignore")
    try:
        mujoco.MjModel.from_xml_path(path)
    except ValueError as problem:
        return dict(skipped="MuJoCo: " + str(problem).splitlines()[0])
    try:
        pair = Pair(path)
    except stiction.Error as problem:
        return {"unsupported" if problem.code == "UNSUPPORTED" else "load": str(problem)}
    mj = pair.mj
    if mj.nv == 0 or mj.nflex:
        return dict(skipped="nothing moves" if mj.nv == 0 else "soft bodies")
    result = dict(nv=mj.nv, nu=mj.nu, h=mj.opt.timestep, home=compare(pair, steps, held_controls(pair, steps), repeats))
    if mj.nu:
        seed = zlib.crc32(path.rsplit("/", 1)[-1].encode())
        result["random"] = compare(pair, steps, random_controls(mj, steps, seed), repeats)
    return result


if __name__ == "__main__":
    print(json.dumps(main()))
