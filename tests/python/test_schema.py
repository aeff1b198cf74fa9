# SPDX-License-Identifier: Apache-2.0
"""Our schema table knows every element and attribute of MuJoCo's, supported or not, and docs/mjcf.md shows it."""
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def table():
    command = [sys.executable, "-m", "stiction", "info", "--schema"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def test_table_is_complete(table):
    done = subprocess.run([sys.executable, str(ROOT / "tests" / "check_schema.py")], input=table, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert table.count("\n") > 300


def test_reference_is_current(table):
    assert (ROOT / "docs" / "mjcf.md").read_text(encoding="utf-8") == table, "run ./dev docs"
