# SPDX-License-Identifier: Apache-2.0
"""Our schema table knows every element and attribute of MuJoCo's, supported or not."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PRINT = ROOT / "build" / "tests" / "print_schema"


@pytest.mark.skipif(not PRINT.exists(), reason="needs ./dev build")
def test_table_is_complete():
    table = subprocess.run([str(PRINT)], capture_output=True, text=True, check=True).stdout
    done = subprocess.run([sys.executable, str(ROOT / "tests" / "check_schema.py")], input=table, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert table.count("\n") > 300
