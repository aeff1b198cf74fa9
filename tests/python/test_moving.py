# SPDX-License-Identifier: Apache-2.0
"""./dev conformance moving: one robot beside MuJoCo, and what is called a finding."""
import json
import pathlib
import subprocess
import sys

import moving_page

FOLDER = pathlib.Path(moving_page.__file__).parent

PENDULUM = """<mujoco><worldbody><body><joint name="swing" axis="0 1 0"/><geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/></body>
</worldbody><actuator><motor joint="swing" gear=".1" ctrllimited="true" ctrlrange="-1 1"/></actuator></mujoco>"""


def run(**changes):
    """A run without findings, but for these."""
    return dict(dict(error="", their_error="", speed=1.0, their_speed=1.0, certificate=1e-9, bad=0, warnings={}, joints=[]), **changes)


def kinds(**changes):
    return [kind for kind, _ in moving_page.run_findings(run(**changes))]


def test_a_pendulum_moves_as_in_mujoco(tmp_path):
    path = tmp_path / "pendulum.xml"
    path.write_text(PENDULUM)
    out = subprocess.run([sys.executable, str(FOLDER / "moving_one.py"), str(path), "300", "1", "60"], check=True, capture_output=True, text=True)
    result = json.loads(out.stdout)
    assert moving_page.findings(result) == []
    for name in moving_page.RUNS:
        (joint, ours, theirs, met), = result[name]["joints"]  # ranges of each run: theirs also with half the step
        assert joint == "swing" and not met and len(theirs) == 2 and theirs[0] > 0.5
        assert abs(ours[0] - theirs[0]) < 1e-3 and abs(theirs[1] - theirs[0]) < 0.1
        assert moving_page.ratio(result[name]) > 0


def test_what_is_a_finding():
    assert kinds() == []
    assert kinds(error="step 3: no") == ["error"]
    assert kinds(their_error="diverges at step 3", error="step 3: no") == ["MuJoCo"]
    assert kinds(speed=10.5) == ["speed"] and kinds(speed=9.5) == []
    assert kinds(certificate=2e-6) == ["certificate"]
    assert kinds(joints=[("j", [0.1], [1.0, 1.0], True)]) == ["still"]
    assert kinds(joints=[("j", [0.7], [1.0, 1.0], False)]) == ["range"]
    assert kinds(joints=[("j", [0.7], [1.0, 1.0], True)]) == []         # a limit was met
    assert kinds(joints=[("j", [0.7], [1.0, 0.8], False)]) == []        # MuJoCo's own ranges differ as much
    assert kinds(joints=[("j", [0.7, 0.9], [1.0, 1.0], False)]) == []   # one of our own runs agrees
    assert kinds(joints=[("j", [0.0], [0.04, 0.04], False)]) == []      # it hardly moves
