# SPDX-License-Identifier: Apache-2.0
"""The program of docs/tuning_contact.md: its figures against formulas and MuJoCo, and as the page prints them."""
import pathlib
import re
import subprocess
import sys

import mujoco
import numpy as np
import pytest

PAGE = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "tuning_contact.md").read_text(encoding="utf-8")
CODE = re.search(r"```python\n(.*?)```", PAGE, re.S).group(1)


@pytest.fixture(scope="module")
def page():
    names = {"__name__": "page"}
    exec(compile(CODE, "tuning_contact.md", "exec"), names)  # its functions, without the prints
    return names


def test_the_page_prints_what_it_says(tmp_path):
    (tmp_path / "tuning.py").write_text(CODE, encoding="utf-8")
    said = subprocess.run([sys.executable, "tuning.py"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout.splitlines()
    for line, printed in zip(re.search(r"```text\n(.*?)```", PAGE, re.S).group(1).splitlines(), said, strict=True):
        if not line.startswith("on the slope"):  # rounding
            assert line == printed


def test_depths(page):
    depth = page["depth"]
    # near-rigid depth grows as h^2 and, for small h, as beta^2 (1 + beta / pi)
    assert depth(h=0.01) / depth(h=0.002) == pytest.approx(25, rel=1e-3)
    law = [b * b * (1 + b / np.pi) for b in (0.5, 1.0)]
    assert depth(option='beta="1"') / depth(option='beta="0.5"') == pytest.approx(law[1] / law[0], rel=1e-3)
    # four springs share m g
    assert depth(geom='sti:stiffness="1e4" sti:dissipation=".02"') == pytest.approx(9.81 / 4e4, rel=1e-6)
    assert -depth(geom='margin=".01"') == pytest.approx(0.01, rel=1e-3)
    xml = page["SCENE"].format(h=0.002, gx=0, gz=-9.81, option="", geom='solref=".05 1" priority="1"', z=0.05, shape=page["BOX"])
    model = mujoco.MjModel.from_xml_string(re.sub(r'<sti:option */>|xmlns:sti="urn:stiction"', "", xml))
    data = mujoco.MjData(model)
    mujoco.mj_step(model, data, 1000)
    assert depth(geom='solref=".05 1" priority="1"') == pytest.approx(0.05 - data.qpos[2], rel=1e-3)


def test_motion(page):
    assert abs(page["creep"]()) < 1e-12
    assert page["fastest"](option='push="0.2"') == pytest.approx(0.2, rel=1e-2)
    assert page["ball"](3) == pytest.approx((10, 1), rel=1e-4)
    spin, speed = page["ball"](6)
    assert abs(spin) < 1e-6 and speed == pytest.approx(1 - 0.002 * 9.81 / 0.05 / 1.4 * 0.5, rel=2e-3)
