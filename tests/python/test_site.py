# SPDX-License-Identifier: Apache-2.0
"""The documentation as a site: links lead somewhere, and the references have every public name."""
import html
import json
import pathlib
import re

import pytest

import stiction

pytest.importorskip("markdown")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def load():
    import importlib.util
    spec = importlib.util.spec_from_file_location("stiction_site", ROOT / "tools" / "site.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def site():
    return load()


@pytest.fixture(scope="module")
def pages(site):
    return site.make()


def test_links_lead_somewhere(site, pages):
    assert list(site.broken_links(pages)) == []


def test_every_function_of_c_is_in_its_reference(pages):
    body = pages["c"][1]
    for header in (ROOT / "include" / "stiction").glob("*.h"):
        text = re.sub(r"/\*.*?\*/", "", header.read_text(), flags=re.S)
        for name in re.findall(r"STI_API[^;{]*?\b(sti_\w+)\s*\(", text):
            assert f'id="{name}"' in body, (header.name, name)


def test_every_name_of_python_is_in_its_reference(pages):
    body = pages["python"][1]
    for name in set(stiction.__all__) - {"viewer", "coupled", "Handler"}:
        assert f'id="{name}"' in body, name
    for place in ("Data.qpos", "Model.body_mass", "Spec.attach", "Option.timestep", "viewer.launch", "mujoco.mj_step"):
        assert f'id="{place}"' in body, place


def test_what_entries_say(pages):
    plain = html.unescape(re.sub("<[^>]+>", " ", pages["python"][1]))
    assert inspect_text(stiction.jac_site) in plain
    assert "nbody x 6" in plain  # shapes of arrays
    c = html.unescape(pages["c"][1])
    assert "The world's own copy of the options" in c


def inspect_text(function):
    import inspect
    return inspect.getdoc(function).split("\n")[0]


def test_the_search_knows_headings_and_names(site, pages, tmp_path):
    site.main(tmp_path)
    index = json.loads((tmp_path / "index.js").read_text()[len("const INDEX="):-1].replace("<\\/", "</"))
    places = {place for _, _, place, _ in index}
    for wanted in ("python.html#jac_site", "c.html#sti_jac_point", "control.html#inverse-dynamics", "examples.html#scenes"):
        assert wanted in places
    for _, _, place, _ in index:
        assert (tmp_path / place.split("#")[0]).exists()
    assert (tmp_path / "index.html").read_text().count("<nav>") == 1
