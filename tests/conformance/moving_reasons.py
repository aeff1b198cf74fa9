# SPDX-License-Identifier: Apache-2.0
"""Why some robots move otherwise than in MuJoCo: (wheel/path pattern, kinds of finding, reason), for docs/robots.md. Each was checked on a model
that the pattern names."""

BEYOND = "joint 4 begins 0.07 rad beyond its limit and the hand 12 to 30 mm inside a link: both are undone at other speeds than in MuJoCo, and the other joints feel it; with contact and limits off ranges agree to three digits"
SPIN = "explicit Euler gains energy, in MuJoCo too from the same state; `implicit` and `implicitfast` hold"
LANDS = "falls and lands on contacts and stops that are softer in MuJoCo: with elliptic cones and `impratio` 10, or `solref` 0.01 and `solimp` 0.99, its hips move by 0.40 rad there, too (0.63 without); here by 0.40 at this step and at a quarter of it"

REASONS = [
    ("*panda*", "range still", BEYOND),
    ("gym-hil/*", "range still", BEYOND),
    ("gymnasium-robotics/fetch/*", "range still",
     "the lift begins 39 mm beyond its limit, the hand is welded to a mocap body: the limit holds here, in MuJoCo 27 mm of it remain"),
    ("metaworld/sawyer_xyz/*", "range still",
     "the hand is welded to a mocap body 1.2 m away, which it cannot reach: joints end where weld and limits balance. In MuJoCo that place depends on the weld's `solref` (joint 5: -1.7 rad at 0.02 s, -0.3 at 0.1 s), here it is the same for every `closing`"),
    ("*unitree_go1/xmls/go1.xml", "range still",
     "falls freely with its knees 0.89 rad beyond their limits: here they close and stay, in MuJoCo they swing back; with limits off no joint moves in either"),
    ("mujoco-mjx/mjx/test_data/barkour_v0/*", "range still",
     "stands on four feet, which creep outwards in MuJoCo (joints still turn at 5 to 12 mrad/s after 4 s, 0.1 here); with contact off no joint moves in either, and ranges here are the same at a quarter of the step"),
    ("mujoco-warp/collision.xml", "range still",
     "its keyframe puts six bodies at one point, below the floor: they leave at 1 m/s (`push`) here, MuJoCo throws them 18 m away"),
    ("robosuite/xarm7/*", "range still",
     "dry friction of 1 N m holds joints here that creep in MuJoCo: with `solimpfriction` 0.9999 joint 7 moves by 0.001 rad there, too (0.25 without)"),
    ("robosuite/kinova3/*", "range still", "an arm that swings into its joints' limits, which throw it back in MuJoCo; with limits off ranges agree to three digits"),
    ("robosuite/baxter/*", "range still", "links that overlap push each other apart at other speeds; with contact off nothing is off"),
    ("robosuite/ur5e/*", "range still", "links rub against each other; with contact off nothing is off"),
    ("*humanoid_CMU*", "range still",
     "hangs by its root, which overlaps thighs and lower back by 45 to 56 mm: in MuJoCo these contacts push for ever (limbs still move at 10 rad/s after 2,000 steps), here such overlaps fade and it hangs at rest; with contact off ranges agree"),
    ("*drosophila*", "range still", "links that overlap push each other about in MuJoCo; here such overlaps fade; with contact off no joint moves in either"),
    ("*dog_v2/dog.xml", "range still", "its own links push it about where they touch and overlap: with contact off one joint moves in both, by the same; without limits 4 of 40 are off"),
    ("*adroit_hammer.xml", "range still",
     "fingers strike a hammer that lies loosely: it rises by 0.39 m in MuJoCo, by 0.15 with the solver CG and by 0.03 with elliptic cones; here by 0.03"),
    ("*adroit_pen.xml", "range still",
     "a pen in an open hand. At rest: it settles 0.11 and 0.19 rad here, 0.08 and 0.13 in MuJoCo, 0.11 and 0.16 there with `solref` 0.01 and `solimp` 0.99. With random controls it drops and rolls: 0.1 to 0.4 rad in MuJoCo as cone and `solref` go, 2.6 and 4.6 here at the whole and half the step"),
    ("brax/envs/assets/hopper.xml", "range still",
     "only its foot meets the floor, the rest falls past it: 1.2 m deep in MuJoCo, 1.7 with elliptic cones, 2.3 here, as the leg folds or stretches when joints meet their limits"),
    ("*humanoid*", "range still", LANDS),
    ("*/cheetah.xml", "range still",
     "stands on feet that sink and creep in MuJoCo: with elliptic cones and `impratio` 10, or `solref` 0.01 and `solimp` 0.99, the thigh moves by 0.074 rad there, too (0.097 without)"),
    ("dm-control/mujoco/testing/assets/arm.xml", "range still",
     "an arm without damping swings into itself and the floor: joint 6 moves by 1.5 to 9.0 rad in MuJoCo as time step, cone and `solref` go, by 3.6 and 5.8 here at the whole and half the step"),
    ("dm-control/third_party/kinova/jaco_arm.xml", "range still",
     "an arm without damping whose links overlap by up to 151 mm, with joints 2 and 3 beyond their limits by 0.82 and 0.33 rad: in MuJoCo their contacts make it spin ever faster (joint 1: 337 rad in 2,000 steps)"),
    ("robosuite/jaco/*", "range still",
     "at qpos0 joints 2, 4 and 6 are 0.8, 0.5 and 1.1 rad beyond their limits and links 81 mm inside each other: here both are undone at `closing` and `push`, in MuJoCo limits throw the arm (joint 1 by 4.1 rad, 2.2 at half the step); with contact and limits off no joint moves in either"),
    ("*viperx*", "range still", "at qpos0 the hands of the two arms are 45 mm inside each other and fingers 21 mm beyond their limits; dry friction of 30 to 60 N m holds the joints here and lets them creep in MuJoCo. With the arms apart the fingers come back to their limits here and stay 23 mm beyond them in MuJoCo"),
    ("mujoco-mjx/mjx/test_data/quadratic_frictionloss.xml", "speed",
     "begins 0.8 mm inside the floor, which is undone in the first step here (6.2 rad/s, below `push`; at rest 50 steps later) and over 20 ms (`solref`) in MuJoCo"),
    ("mujoco-warp/constraints.xml", "error", "a pinned bar of 320 kg that spins: " + SPIN),
    ("*/pendula.xml", "error", "a body on a ball joint whirls along the joint's limit with steps of 20 ms: " + SPIN + ", and so does RK4"),
    ("mujoco-mjx/mjx/test_data/actuator/general_dyntype.xml", "error",
     "four slides in three directions: the mass matrix has no inverse, which is an error here; MuJoCo warns, makes up a pivot, and diverges with random controls"),
    ("genesis-world/one_ball_joint.xml", "error", "the two capsules overlap around the ball joint that connects them; `<exclude>` them"),
]
