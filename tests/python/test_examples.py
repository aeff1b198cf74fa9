# SPDX-License-Identifier: Apache-2.0
"""Every example runs and passes the check of its own end state."""
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = sorted((pathlib.Path(__file__).resolve().parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_example(path, tmp_path):
    if path.stem == "distributed":
        pytest.importorskip("ray")
    done = subprocess.run([sys.executable, str(path), str(tmp_path / "out.png")], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout and (tmp_path / "out.png").stat().st_size > 1000
