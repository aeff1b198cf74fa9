# SPDX-License-Identifier: Apache-2.0
"""Our schema table knows every element and attribute of MuJoCo's, supported or not, and docs/mjcf.md shows it."""
import pathlib
import re
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


def unread(table):
    """Attributes in the table whose name no code reads, without a word that they have no effect."""
    code = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.[ch]"))
    read = set(re.findall(r"STI_A_(\w+)", code))
    read |= set(re.findall(r"\b(?:WORD|REAL)\((\w+), ", (ROOT / "src/dynamics/lengthrange.c").read_text(encoding="utf-8")))
    fields = (ROOT / "include/stiction/option_fields.h").read_text(encoding="utf-8")
    read |= set(re.findall(r"X\(\w+, \w+, (\w+),", fields)) | set(re.findall(r"X\([A-Z]+, (\w+),", fields))
    read |= set(re.findall(r"X\((?:int|double), (\w+), [\d.e-]+, \w", fields))
    told = ("*Has no effect.*", "*Not supported.*", "*Appearance, not drawn.*", "(not yet)")
    element = silent = ""
    for line in table.splitlines():
        head, row = re.match(r"## (\S+)", line), re.match(r"\| `(?:sti:)?(\w+)` \|", line)
        if head:
            element, silent = head.group(1), ""
        elif not row and any(word in line for word in told):
            silent = element  # the whole element
        elif row and row.group(1) not in read and not silent and not any(word in line for word in told):
            yield f"{element}@{row.group(1)}"


def test_every_attribute_is_read_or_said_to_have_no_effect(table):
    # finer than the screen anyway; what a <tuple> holds stays in the file with it
    assert sorted(set(unread(table)) - {"texture@height", "element@prm"}) == []
