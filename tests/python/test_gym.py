# SPDX-License-Identifier: Apache-2.0
"""Gymnasium environments: the same spaces, starts, observations and rewards as Gymnasium's own; vector environments that do what
Gymnasium's vectorisation of single ones does; tasks of contact."""
import dataclasses
import pathlib
import subprocess
import sys
import textwrap
import warnings

import numpy as np
import pytest

gymnasium = pytest.importorskip("gymnasium")
mujoco = pytest.importorskip("mujoco")

import stiction  # noqa: E402
import stiction.gym  # noqa: E402
from gymnasium.utils.env_checker import check_env, data_equivalence  # noqa: E402
from gymnasium.vector import AutoresetMode  # noqa: E402

MUJOCO = ("HalfCheetah", "Hopper", "Walker2d", "Ant", "Humanoid", "HumanoidStandup", "Reacher", "Pusher", "Swimmer", "InvertedPendulum",
          "InvertedDoublePendulum")
OWN = ("PandaLift", "PandaHold", "QuadrupedWalk")


@pytest.fixture(params=MUJOCO)
def pair(request):
    """Gymnasium's environment and ours."""
    return gymnasium.make(f"{request.param}-v5").unwrapped, gymnasium.make(f"stiction/{request.param}-v5").unwrapped


def smooth(theirs, values):
    """Observations without forces of contacts and limits, which each engine solves in its own way."""
    count = getattr(theirs, "observation_structure", {}).get("cfrc_ext", 0)
    if type(theirs).__name__ == "InvertedDoublePendulumEnv":
        count = 1
    return values[..., :values.shape[-1] - count]


def put(theirs, ours, qpos, qvel, ctrl):
    """Both in the same state, with what follows from it."""
    theirs.data.ctrl[:] = ctrl
    theirs.set_state(qpos, qvel)
    mujoco.mj_rnePostConstraint(theirs.model, theirs.data)
    ours.batch.qpos[0], ours.batch.qvel[0], ours.batch.ctrl[0] = qpos, qvel, ctrl
    ours.batch.forward()


def test_spaces(pair):
    theirs, ours = pair
    assert ours.observation_space == theirs.observation_space and ours.action_space == theirs.action_space
    assert ours.metadata["render_fps"] == theirs.metadata["render_fps"] and ours.dt == pytest.approx(theirs.dt, abs=1e-15)
    registered, own = gymnasium.spec(theirs.spec.id), gymnasium.spec(ours.spec.id)
    for name in ("max_episode_steps", "reward_threshold"):
        assert getattr(own, name) == getattr(registered, name)
    envs = gymnasium.make_vec(ours.spec.id, num_envs=2, threads=1)
    assert envs.single_observation_space == theirs.observation_space and envs.max_episode_steps == registered.max_episode_steps


def test_parameters_are_those_of_gymnasium(pair):
    import inspect
    theirs, ours = pair
    known = {f.name: f.default for f in dataclasses.fields(ours.task)}
    for name, parameter in inspect.signature(type(theirs).__init__).parameters.items():
        if name not in ("self", "kwargs", "default_camera_config"):
            assert known.pop(name) == parameter.default, name
    assert set(known) <= {"forward_reward_weight"}  # HumanoidStandup has no use for it


def test_the_same_seed_gives_the_same_start(pair):
    theirs, ours = pair
    for seed in (3, 4, None):
        want, want_info = theirs.reset(seed=seed)
        got, info = ours.reset(seed=seed)
        np.testing.assert_allclose(smooth(theirs, got), smooth(theirs, want), rtol=0, atol=1e-9)
        assert info.keys() == want_info.keys()
        for name in info:
            np.testing.assert_allclose(info[name], want_info[name], atol=1e-12, err_msg=name)


def floating(model, rng):
    """A random state in the air, with no joint at a limit."""
    qpos, qvel = model.qpos0 + rng.uniform(-0.05, 0.05, model.nq), rng.uniform(-0.2, 0.2, model.nv)
    for j in range(model.njnt):
        at, kind = model.jnt_qposadr[j], model.jnt_type[j]
        if kind == mujoco.mjtJoint.mjJNT_FREE:
            qpos[at + 2] += 3
            qpos[at + 3:at + 7] /= np.linalg.norm(qpos[at + 3:at + 7])
        elif model.jnt_limited[j]:
            low, high = model.jnt_range[j]
            qpos[at] = np.clip(qpos[at], 0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high)
    if model.joint(0).name == "rootx":
        qpos[1] += 3
    return qpos, qvel


def test_steps_without_contact_are_the_same(pair):
    """Observation, reward and what is told beside it, after whole steps from the same states with the same actions."""
    theirs, ours = pair
    rng, smooth_steps = np.random.default_rng(5), 0
    for env in pair:
        env.model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    theirs.reset(seed=0), ours.reset(seed=0)
    for _ in range(6):
        put(theirs, ours, *floating(theirs.model, rng), 0)
        if theirs.data.nefc:  # a limit is near
            continue
        action = 0.3 * rng.uniform(theirs.action_space.low, theirs.action_space.high).astype(np.float32)
        want, got = theirs.step(action), ours.step(action)
        if theirs.data.nefc:
            continue
        smooth_steps += 1
        np.testing.assert_allclose(got[0], want[0], rtol=1e-9, atol=1e-9)
        assert got[1] == pytest.approx(want[1], rel=1e-9, abs=1e-9) and got[2:4] == want[2:4]
        assert got[4].keys() == want[4].keys()
        for name in got[4]:
            np.testing.assert_allclose(got[4][name], want[4][name], rtol=1e-9, atol=1e-9, err_msg=name)
    assert smooth_steps >= 3


def judged(theirs, ours, start, end, action):
    """Observation, reward without the cost of contact forces and the end of the episode, of both, for a change between two states."""
    put(theirs, ours, *start, action)
    name, before = type(theirs).__name__, ours.task.before(ours.batch)
    was = {"AntEnv": lambda: theirs.data.body(1).xpos[:2].copy(), "HumanoidEnv": lambda: mass_centre(theirs)}.get(
        name, lambda: theirs.data.qpos[:2].copy())
    begun = was()
    put(theirs, ours, *end, action)
    speed = ((was() - begun) / theirs.dt)[0]
    if name == "InvertedPendulumEnv":
        want, parts = float(abs(theirs.data.qpos[1]) <= 0.2), {}
    elif name == "InvertedDoublePendulumEnv":
        x, _, y = theirs.data.site_xpos[0]
        want, parts = theirs._get_rew(x, y, bool(y <= 1))
    else:
        arguments = {"ReacherEnv": (), "PusherEnv": (), "HumanoidStandupEnv": (theirs.data.qpos[2],)}.get(name, (speed,))
        want, parts = theirs._get_rew(*arguments, action)
    got, mine = ours.task.reward(ours.batch, action[None], before)
    forces = ("reward_contact", "reward_impact")
    want -= sum(parts.get(f, 0) for f in forces)
    got = got[0] - sum(mine[f][0] for f in forces if f in mine)
    return (theirs._get_obs(), want, not getattr(theirs, "is_healthy", True)), (
        ours.task.observe(ours.batch)[0], got, ours.task.terminated(ours.batch)[0])


def mass_centre(env):
    from gymnasium.envs.mujoco.humanoid_v5 import mass_center
    return mass_center(env.model, env.data)


def test_the_same_states_are_judged_the_same(pair):
    """Along trajectories of Gymnasium's environments, through contacts and falls."""
    theirs, ours = pair
    theirs.action_space.seed(1)
    theirs.reset(seed=1), ours.reset(seed=1)
    ends = set()
    for k in range(40):
        action = theirs.action_space.sample()
        start = theirs.data.qpos.copy(), theirs.data.qvel.copy()
        theirs.step(action)
        end = theirs.data.qpos.copy(), theirs.data.qvel.copy()
        want, got = judged(theirs, ours, start, end, action)
        np.testing.assert_allclose(smooth(theirs, got[0]), smooth(theirs, want[0]), rtol=1e-9, atol=1e-9)
        assert got[1] == pytest.approx(want[1], rel=1e-9, abs=1e-9)
        if hasattr(theirs, "is_healthy"):
            assert bool(got[2]) == want[2]
        ends.add(want[2])
        theirs.set_state(*end)
    if type(theirs).__name__ in ("HopperEnv", "HumanoidEnv"):  # which random actions make fall
        assert ends == {True, False}


@pytest.mark.parametrize("name", ["Ant", "Humanoid"])
def test_forces_of_contact_mean_the_same(name):
    """At rest on the floor cfrc_ext, in the observation, carries the weight in both engines."""
    env = gymnasium.make(f"{name}-v5").unwrapped
    for make in (lambda: env, lambda: gymnasium.make(f"stiction/{name}-v5").unwrapped):
        one = make()
        one.reset(seed=0)
        for _ in range(150):
            one.step(np.zeros(one.action_space.shape))
        forces = one.data.cfrc_ext[:, 3:].sum(axis=0)
        weight = env.model.body_mass.sum() * 9.81
        np.testing.assert_allclose(forces, [0, 0, weight], atol=0.03 * weight, err_msg=str(type(one)))


def warned(env):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        check_env(env)
    return {str(w.message) for w in caught}


@pytest.mark.parametrize("id", ["stiction/Hopper-v5", "stiction/Reacher-v5", "stiction/PandaLift-v0", "stiction/QuadrupedWalk-v0"])
def test_check_env_is_clean(id):
    """No warnings but those that Gymnasium's own environments have: spaces without bounds, actions beyond -1 and 1."""
    for text in warned(gymnasium.make(id).unwrapped):
        assert "infinity" in text or "symmetric and normalized" in text, text


@pytest.mark.parametrize("mode", list(AutoresetMode))
@pytest.mark.parametrize("name", ["Hopper-v5", "Ant-v5", "PandaLift-v0"])
def test_vector_does_what_single_environments_do(name, mode):
    """Bit for bit, with all infos, through falls and time limits; Gymnasium's SyncVectorEnv over single environments says what is right."""
    settings = dict(num_envs=3, max_episode_steps=7)
    if name == "Ant-v5":
        settings["healthy_z_range"] = (0.5, 0.85)
    ours = gymnasium.make_vec(f"stiction/{name}", autoreset_mode=mode, threads=2, **settings)
    sync = gymnasium.make_vec(f"stiction/{name}", vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode}, **settings)
    assert isinstance(ours, stiction.gym.VectorEnv) and ours.metadata["autoreset_mode"] is mode
    first, wanted = ours.reset(seed=11), sync.reset(seed=11)
    assert data_equivalence(first, wanted, exact=True)
    ours.action_space.seed(2)
    ended = 0
    for _ in range(20):
        actions = ours.action_space.sample()
        got, want = ours.step(actions), sync.step(actions)
        for a, b in zip(got[:4], want[:4]):
            assert np.array_equal(a, b)
        assert data_equivalence(plain(got[4]), plain(want[4]), exact=True)
        done = got[2] | got[3]
        ended += done.sum()
        if mode is AutoresetMode.DISABLED and done.any():
            with pytest.raises(gymnasium.error.ResetNeeded):
                ours.step(actions)
            again = [env.reset(options={"reset_mask": done}) for env in (ours, sync)]
            assert np.array_equal(again[0][0], again[1][0])
    assert ended >= 6


def plain(info):
    """Masks and numbers alike, however they are typed."""
    return {k: plain(v) if isinstance(v, dict) else [None if x is None else np.asarray(x, float) for x in v] for k, v in info.items()}


def test_threads_and_number_of_worlds_do_not_matter():
    def run(count, threads):
        envs = gymnasium.make_vec("stiction/Walker2d-v5", num_envs=count, threads=threads)
        envs.reset(seed=5)
        actions = np.random.default_rng(0).uniform(-1, 1, (30, 8, 6)).astype(np.float32)
        return np.array([envs.step(a[:count])[0][:4] for a in actions])
    want = run(8, 1)
    assert np.array_equal(run(8, 3), want) and np.array_equal(run(4, 2), want)


def test_a_world_that_fails_ends_its_episode():
    envs = gymnasium.make_vec("stiction/HalfCheetah-v5", num_envs=3)
    envs.reset(seed=0)
    actions = np.zeros((3, 6), np.float32)
    actions[1, 2] = np.nan
    observation, _, terminated, _, info = envs.step(actions)
    assert list(terminated) == [False, True, False] == list(info["failed"]) and np.isfinite(observation).all()
    observation, reward, terminated, _, info = envs.step(np.zeros((3, 6), np.float32))
    assert not terminated.any() and reward[1] == 0 and "failed" not in info


def test_seeds():
    envs = gymnasium.make_vec("stiction/Hopper-v5", num_envs=3)
    a, b = envs.reset(seed=[7, 8, 7])[0], envs.reset()[0]
    assert np.array_equal(a[0], a[2]) and not np.array_equal(a[0], a[1]) and not np.array_equal(a, b)
    assert envs.np_random_seed == (7, 8, 7) and np.array_equal(envs.reset(seed=7)[0][:2], a[:2])
    with pytest.raises(ValueError):
        envs.reset(seed=[1, 2])
    with pytest.raises(gymnasium.error.ResetNeeded):
        gymnasium.make_vec("stiction/Hopper-v5").step(np.zeros((1, 3)))
    with pytest.raises(ValueError):
        envs.step(np.zeros(3))


def test_some_worlds_begin_anew_by_their_own_seeds():
    """As reset with a mask; the others go on."""
    envs = gymnasium.make_vec("stiction/Hopper-v5", num_envs=3)
    first = envs.reset(seed=[7, 8, 9])[0]
    moved = envs.step(np.ones((3, 3), np.float32))[0]
    mask = np.array([False, True, False])
    assert not np.array_equal(first[1], moved[1])
    again, _ = envs.reset_some([None, 8, None], mask)
    assert np.array_equal(again[1], first[1]) and np.array_equal(again[[0, 2]], moved[[0, 2]])


def test_wrappers_of_gymnasium_work():
    envs = gymnasium.wrappers.vector.RecordEpisodeStatistics(gymnasium.make_vec("stiction/InvertedPendulum-v5", num_envs=4, max_episode_steps=9))
    envs.reset(seed=0)
    for _ in range(9):
        *_, info = envs.step(np.zeros((4, 1)))
    assert np.allclose(info["episode"]["r"], 9)


def test_pictures():
    env = gymnasium.make("stiction/Ant-v5", render_mode="rgb_array", width=160, height=120)
    env.reset(seed=0)
    assert env.render().shape == (120, 160, 3) and env.render().dtype == np.uint8 and env.render().std() > 10
    envs = gymnasium.make_vec("stiction/QuadrupedWalk-v0", num_envs=2, render_mode="rgb_array", width=80, height=60)
    envs.reset(seed=0)
    frames = envs.render()
    assert len(frames) == 2 and all(f.shape == (60, 80, 3) for f in frames)
    with pytest.raises(ValueError):
        gymnasium.make("stiction/Ant-v5", render_mode="depth_array")


def test_gymnasium_is_optional():
    run = lambda text: subprocess.run([sys.executable, "-c", text], capture_output=True, text=True)  # noqa: E731
    assert run("import stiction, sys; assert 'gymnasium' not in sys.modules").returncode == 0
    missing = run("import sys; sys.modules['gymnasium'] = None\nimport stiction\nimport stiction.gym")
    assert missing.returncode == 1 and 'pip install "stiction[gym]"' in missing.stderr


@dataclasses.dataclass(kw_only=True)
class Fall(stiction.gym.Task):
    """A ball falls; an episode ends at the floor."""
    start: float = 1.0

    def load(self):
        return stiction.Model.from_xml_string("<mujoco><worldbody><body><freejoint/><geom size='.1'/></body></worldbody></mujoco>")

    def reset(self, batch, worlds, rng):
        batch.qpos[worlds, 2] = self.start + rng.uniform(0, 0.5, 1)[:, 0]

    def reward(self, batch, action, before):
        return batch.qpos[:, 2], {}

    def terminated(self, batch):
        return batch.qpos[:, 2] < 0


def test_a_task_of_ones_own():
    stiction.gym.register("Fall-v0", Fall, max_episode_steps=1000)
    env, envs = gymnasium.make("Fall-v0", start=0.2), gymnasium.make_vec("Fall-v0", num_envs=2, start=0.2)
    height = env.reset(seed=1)[0][2]
    assert np.array_equal(envs.reset(seed=1)[0][0], env.reset(seed=1)[0]) and 0.2 <= height <= 0.7
    for steps in range(1, 1000):
        _, reward, ended, *_ = env.step(np.zeros(0))
        if ended:
            break
    assert steps * 0.002 == pytest.approx(np.sqrt(2 * height / 9.81), abs=0.004) and -0.02 < reward < 0
    with pytest.raises(TypeError):
        gymnasium.make("Fall-v0", depth=1)
    with pytest.raises(TypeError, match="width"):
        stiction.gym.Env(dataclasses.make_dataclass("Wide", [("width", float, 1.0)], bases=(Fall,), kw_only=True))


def test_the_task_of_the_docs():
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "learning.md").read_text()
    block = next(b for b in page.split("\n\n##") if "class Hover" in b)
    names = {}
    exec(textwrap.dedent("\n".join(line for line in block.splitlines() if line.startswith("    ") or not line)), names)
    envs = names["envs"]
    observation, _ = envs.reset(seed=0)
    assert observation.shape == (64, 2) and envs.task.height_wanted == 0.5
    mass = envs.model.body_mass.sum()
    weight = np.full((64, 1), mass * 9.81)
    for _ in range(10):  # thrust that carries the weight keeps it where it is
        after, reward, *_ = envs.step(weight)
    np.testing.assert_allclose(after, observation, atol=1e-6)
    np.testing.assert_allclose(reward, -np.abs(observation[:, 0] - 0.5), atol=1e-6)


# ---- tasks of contact ---------------------------------------------------------------------------


def test_panda_lifts_a_cube():
    """Hands that go to the cube, close and rise lift it in all worlds; hands that do not close lift it in none."""
    envs = gymnasium.make_vec("stiction/PandaLift-v0", num_envs=4, spread=0.03)
    for grip in (-1.0, 1.0):
        envs.reset(seed=0)
        for k in range(90):
            task, batch = envs.task, envs.batch
            aim = batch.qpos[:, 9:12] + [0, 0, 0.1034]  # of the hand
            if k < 25:
                aim[:, 2] += 0.05 * (k < 12)
            elif k >= 40:
                aim = task.target + [0, 0, 0.02]
            move = np.clip((aim - task.target) / task.reach, -1, 1)
            _, reward, ended, _, info = envs.step(np.hstack([move, np.full((4, 1), 1.0 if k < 25 else grip)]))
        if grip < 0:
            assert info["is_success"].all() and (reward > 5.5).all() and not ended.any()
            np.testing.assert_allclose(task.felt(batch), 1.0, atol=0.35)  # the fingers press with 1 N, and carry half of 0.49 N each
        else:
            assert not info["is_success"].any() and (info["reward_lift"] < 0.05).all()


def test_panda_carries_a_soft_ball():
    """A hand that moves towards the goal brings the ball there; one that opens drops it."""
    envs = gymnasium.make_vec("stiction/PandaHold-v0", num_envs=2, autoreset_mode="Disabled")
    observation, _ = envs.reset(seed=0)
    away = np.linalg.norm(observation[:, 13:16], axis=1)
    assert (away > 0.02).all() and (np.abs(observation[:, 16:] - 1) < 0.1).all()  # pads press with 1 N
    for _ in range(25):
        move = np.clip((envs.task.goal + [0, 0, 0.1034] - envs.task.target) / envs.task.reach, -1, 1)
        _, reward, ended, _, info = envs.step(np.hstack([move, -np.ones((2, 1))]))
        assert not ended.any()
    assert info["is_success"].all() and (reward > 0.9).all()
    for _ in range(30):
        _, _, ended, _, _ = envs.step(np.tile([0, 0, 0, 1.0], (2, 1)))
        if ended.any():
            break
    assert ended.all()


def test_quadruped_feels_the_floor():
    """At rest the feet carry its weight; in the air they feel nothing; upside down its episode ends."""
    envs = gymnasium.make_vec("stiction/QuadrupedWalk-v0", num_envs=3)
    envs.reset(seed=0)
    for _ in range(50):
        _, reward, ended, _, info = envs.step(np.zeros((3, 8), np.float32))
    touch, load = envs.task.feet(envs.batch)
    assert not ended.any() and touch.all()
    np.testing.assert_allclose(load.sum(axis=1), 1, atol=0.01)
    np.testing.assert_allclose(reward, 0.5, atol=0.02)
    envs.batch.qpos[0, 2] += 1
    envs.batch.qpos[1, 3:7] = 0, 1, 0, 0
    _, _, ended, _, _ = envs.step(np.zeros((3, 8), np.float32))
    assert envs.task.feet(envs.batch)[1][0].sum() == 0 and list(ended) == [False, True, False]
