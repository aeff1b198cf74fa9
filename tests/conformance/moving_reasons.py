# SPDX-License-Identifier: Apache-2.0
"""Why some robots move otherwise than in MuJoCo: (wheel/path pattern, kinds of finding, reason), for docs/robots.md. What was not checked on the model
itself begins with "probably"."""

BEYOND = "joint 4 begins 0.07 rad beyond its limit and the hand 30 mm inside a link: both are undone at other speeds than in MuJoCo, and the other joints feel it"
FALLS = "probably: falls over; here it stays in its plane of symmetry for longer"
CHANCE = "probably: tumbles or is thrown about: small differences grow"
FRICTION = "probably: dry friction holds a joint that creeps in MuJoCo"

REASONS = [
    ("*panda*", "range still", BEYOND),
    ("gymnasium-robotics/fetch/*", "range still",
     "the lift begins 39 mm beyond its limit, the hand is welded to a mocap body: the limit holds here, in MuJoCo 27 mm of it remain"),
    ("*unitree_go1/xmls/go1.xml", "range still", "probably: falls freely; legs meet their stops, which do not bounce here"),
    ("mujoco-warp/collision.xml", "range still", "probably: bodies that begin deep in each other leave at 1 m/s (`push`) here and at 10 m/s in MuJoCo"),
    ("robosuite/xarm7/*", "range still", FRICTION),
    ("*humanoid*", "range still", FALLS),
    ("*walker*", "range still", CHANCE),
    ("*cheetah*", "range still", CHANCE),
    ("*hopper*", "range still", CHANCE),
    ("*pendulum*", "range still", CHANCE),
    ("*cartpole*", "range still", CHANCE),
    ("*acrobot*", "range still", CHANCE),
    ("*manipulator*", "range still", CHANCE),
    ("*finger*", "range still", CHANCE),
    ("*adroit*", "range still", "probably: the object is thrown about by the hand: small differences grow"),
    ("*hand*", "range still", "probably: the object is thrown about by the hand: small differences grow"),
    ("mujoco-warp/actuation/site.xml", "range still", CHANCE),
    ("mujoco-warp/aloha_pot/*", "range still", "probably: the lid of a pot that lies loosely in it and is pushed by chance"),
    ("dm-control/third_party/kinova/jaco_arm.xml", "range still", "an arm without damping whose links overlap: in MuJoCo their contacts make it spin ever faster (joint 1: 337 rad in 2,000 steps)"),
    ("*jaco*", "range still certificate", "probably: links overlap in directions that their joints cannot open"),
    ("*drosophila*", "range still", "probably: links that overlap push each other about in MuJoCo; here such overlaps fade"),
    ("*viperx*", "range still", "at qpos0 the hands of the two arms are 45 mm inside each other and fingers 21 mm beyond their limits; dry friction of 30 to 60 N m holds the joints here and lets them creep in MuJoCo. With the arms apart the fingers come back to their limits here and stay 23 mm beyond them in MuJoCo"),
    ("mujoco-warp/constraints.xml", "error", "a pinned bar of 320 kg that spins: explicit Euler gains energy, in MuJoCo too from the same state; `implicit` and `implicitfast` hold"),
    ("mujoco-mjx/mjx/test_data/actuator/general_dyntype.xml", "error", "open"),
    ("*", "load", "a geom with both `pos` and `fromto` is refused here, and loads in MuJoCo"),
    ("genesis-world/one_ball_joint.xml", "error", "the two capsules overlap around the ball joint that connects them; `<exclude>` them"),
]
