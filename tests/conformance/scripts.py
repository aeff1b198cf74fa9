# SPDX-License-Identifier: Apache-2.0
"""Packages of others that were written for MuJoCo, run on stiction.mujoco: scripts.py [PACKAGE ...]. ./dev scripts installs them.
Prints a line for each task: whether it was made, stepped ten times and, where it can, drawn."""
import importlib.metadata
import os
import sys
import time
import warnings

os.environ.setdefault("MUJOCO_GL", "osmesa")
warnings.simplefilter("ignore")
import stiction.mujoco  # noqa: E402

stiction.mujoco.install()
import numpy as np  # noqa: E402

GYMNASIUM = ["HalfCheetah", "Hopper", "Walker2d", "Ant", "Humanoid", "HumanoidStandup", "Swimmer", "Reacher", "Pusher", "InvertedPendulum",
             "InvertedDoublePendulum"]
ROBOTICS = ["FetchReach-v4", "FetchPush-v4", "FetchSlide-v4", "FetchPickAndPlace-v4", "HandReach-v3", "HandManipulateBlock-v1",
            "HandManipulateEgg-v1", "HandManipulatePen-v1", "PointMaze_UMaze-v3", "AntMaze_UMaze-v5", "AdroitHandDoor-v1", "AdroitHandHammer-v1",
            "AdroitHandPen-v1", "AdroitHandRelocate-v1", "FrankaKitchen-v1"]
HIL = ["PandaPickCubeBase-v0", "PandaArrangeBoxesBase-v0", "PandaPickCubeViewer-v0", "PandaArrangeBoxesViewer-v0"]
SUITE = [("Lift", "Panda"), ("Stack", "Sawyer"), ("NutAssembly", "UR5e"), ("Door", "IIWA"), ("PickPlace", "Panda"), ("Wipe", "Kinova3"),
         ("ToolHang", "Jaco"), ("TwoArmLift", ["Panda", "Panda"]), ("Lift", "GR1")]


# every domain of dm_control's suite
CONTROL = [("cartpole", "swingup"), ("walker", "walk"), ("humanoid", "stand"), ("cheetah", "run"), ("hopper", "hop"), ("reacher", "easy"),
           ("finger", "spin"), ("ball_in_cup", "catch"), ("fish", "swim"), ("quadruped", "walk"), ("manipulator", "bring_ball"),
           ("point_mass", "easy"), ("acrobot", "swingup"), ("pendulum", "swingup"), ("swimmer", "swimmer6"), ("stacker", "stack_2"),
           ("lqr", "lqr_2_1"), ("dog", "stand"), ("humanoid_CMU", "stand")]
ALOHA = ["AlohaInsertion-v0", "AlohaTransferCube-v0"]


def drive(env):
    env.reset(seed=0)
    env.action_space.seed(0)
    for _ in range(10):
        seen, reward, *_ = env.step(env.action_space.sample())
    assert np.isfinite(reward)
    assert isinstance(getattr(env.unwrapped, "data", None) or env.unwrapped._data, stiction.mujoco.MjData)
    return env


def gymnasium_task(name, **options):
    import gymnasium
    env = drive(gymnasium.make(name, **options))
    if env.render_mode == "rgb_array":
        assert np.std(env.render()) > 5, "an empty picture"
    env.close()


def suite_task(task, robot):
    import robosuite
    env = robosuite.make(task, robots=robot, has_renderer=False, has_offscreen_renderer=True, use_camera_obs=True, camera_names="agentview",
                         camera_heights=120, camera_widths=160)
    env.reset()
    for _ in range(10):
        seen, reward, *_ = env.step(np.full(env.action_dim, 0.1))
    assert np.isfinite(reward) and np.std(seen["agentview_image"]) > 5
    assert isinstance(env.sim.model._model, stiction.mujoco.MjModel)


def control_task(domain, task):
    from dm_control import suite
    env = suite.load(domain, task, task_kwargs={"random": 1})
    spec, random = env.action_spec(), np.random.default_rng(0)
    env.reset()
    for _ in range(10):
        assert np.isfinite(env.step(random.uniform(spec.minimum, spec.maximum, spec.shape)).reward)
    assert isinstance(env.physics.data.ptr, stiction.mujoco.MjData)
    if os.environ["MUJOCO_GL"] == "egl":
        assert np.std(env.physics.render(120, 160, camera_id=0)) > 5, "an empty picture"


def aloha_task(name):
    import gymnasium
    env = gymnasium.make("gym_aloha/" + name, obs_type="pixels_agent_pos")
    env.reset(seed=0)
    for _ in range(5):
        seen, reward, *_ = env.step(env.action_space.sample())
    assert np.isfinite(reward) and np.std(seen["pixels"]["top"]) > 5


def reach():
    """Inverse kinematics of a Panda by mink: a frame, a posture, limits of joints and speeds, and of distances."""
    import mink
    import mujoco
    model = mujoco.MjModel.from_xml_path(stiction.scene_path("panda_grasp.xml"))
    where = mink.Configuration(model)
    where.update_from_keyframe(model.key(0).name)
    task = mink.FrameTask("hand", "body", position_cost=1.0, orientation_cost=1.0, lm_damping=1.0)
    start = where.get_transform_frame_to_world("hand", "body")
    task.set_target(mink.SE3.from_rotation_and_translation(start.rotation(), start.translation() + (.05, .05, -.05)))
    posture = mink.PostureTask(model, cost=1e-2)
    posture.set_target_from_configuration(where)
    limits = [mink.ConfigurationLimit(model), mink.VelocityLimit(model, {model.joint(i).name: 3.0 for i in range(7)})]
    for _ in range(400):
        where.integrate_inplace(mink.solve_ik(where, [task, posture], 0.01, "quadprog", damping=1e-3, limits=limits), 0.01)
    assert np.linalg.norm(task.compute_error(where)[:3]) < 1e-3


def register_robotics():
    import gymnasium
    import gymnasium_robotics
    gymnasium.register_envs(gymnasium_robotics)


def register_hil():
    import gym_hil  # noqa: F401


def register_control():
    """dm_control opens EGL when it is imported, although pictures are drawn by the CPU; without EGL there are none."""
    import ctypes.util
    os.environ["MUJOCO_GL"] = "egl" if ctypes.util.find_library("EGL") else "disabled"


def register_aloha():
    register_control()
    import gym_aloha  # noqa: F401


PACKAGES = {
    "gymnasium": (None, [(f"{name}-v5", lambda name=name: gymnasium_task(name + "-v5", render_mode="rgb_array")) for name in GYMNASIUM]),
    "gymnasium-robotics": (register_robotics, [(name, lambda name=name: gymnasium_task(name, render_mode="rgb_array")) for name in ROBOTICS]),
    "gym-hil": (register_hil, [(name, lambda name=name: gymnasium_task("gym_hil/" + name)) for name in HIL]),
    "robosuite": (None, [(f"{task} {robot}", lambda task=task, robot=robot: suite_task(task, robot)) for task, robot in SUITE]),
    "mink": (None, [("a Panda reaches", reach)]),
    "dm_control": (register_control, [(f"{domain} {task}", lambda domain=domain, task=task: control_task(domain, task)) for domain, task in CONTROL]),
    "gym-aloha": (register_aloha, [(name, lambda name=name: aloha_task(name)) for name in ALOHA]),
}


def main():
    failed = 0
    for package in sys.argv[1:] or PACKAGES:
        register, tasks = PACKAGES[package]
        print(f"{package} {importlib.metadata.version(package)}")
        if register:
            register()
        for name, task in tasks:
            start = time.time()
            try:
                task()
                print(f"  ran     {name}  {time.time() - start:.1f} s", flush=True)
            except Exception as error:
                failed += 1
                print(f"  failed  {name}: {type(error).__name__}: {str(error)[:200]}", flush=True)
    print(f"{failed} failed" if failed else "all ran")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
