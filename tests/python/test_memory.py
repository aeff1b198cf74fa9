# SPDX-License-Identifier: Apache-2.0
"""What a world of a robot takes of the machine's memory, beside MuJoCo's."""
import subprocess
import sys

import models
import pytest

# Pages that many worlds of a model have touched after a few steps, over their number.
SCRIPT = """
import ctypes, sys, mujoco, stiction
ctypes.CDLL(None).mallopt(-3, 1 << 16)  # M_MMAP_THRESHOLD is fixed: large blocks are pages of their own, of which only those that are touched count
COUNT, STEPS = 40, 5
def resident():
    return int(open("/proc/self/statm").read().split()[1]) * 4096
def measure(make, step):
    kept = [make()]
    step(kept[0])
    before = resident()
    for _ in range(COUNT):
        kept.append(make())
        step(kept[-1])
    return (resident() - before) / COUNT
model, theirs = stiction.Model.from_xml_path(sys.argv[1]), mujoco.MjModel.from_xml_path(sys.argv[1])
print(measure(lambda: stiction.Data(model), lambda data: stiction.step(model, data, STEPS)),
      measure(lambda: mujoco.MjData(theirs), lambda data: mujoco.mj_step(theirs, data, STEPS)))
"""


@pytest.mark.parametrize("wheel, name", [("mjlab", "unitree_g1/xmls/g1.xml"), ("mjlab", "unitree_go1/xmls/go1.xml"), ("genesis-world", "franka_emika_panda/panda.xml")])
def test_a_world_takes_no_more_than_mujocos(wheel, name):
    path = models.unpack(wheel) / name
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SCRIPT, str(path)], check=True, capture_output=True, text=True)
    ours, theirs = map(float, done.stdout.split())
    assert 0.05e6 < ours < 1.1 * theirs, (ours, theirs)
