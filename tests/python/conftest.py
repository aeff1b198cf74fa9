# SPDX-License-Identifier: Apache-2.0
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "conformance"))


@pytest.fixture
def scenes():
    return ROOT / "scenes"
