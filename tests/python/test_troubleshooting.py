# SPDX-License-Identifier: Apache-2.0
"""docs/troubleshooting.md knows every warning that the sources can give, and what links to it finds its section."""
import pathlib
import re

import pytest
import stiction

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
SECTIONS = {re.sub(r"[^a-z0-9]+", "-", title.lower()) for title in re.findall(r"^## (.+)$", PAGE, re.M)}


def macro(path, name):
    """The X(...) lines of a list."""
    text = (ROOT / path).read_text(encoding="utf-8")
    body = text[text.index(f"#define {name}(X)"):]
    body = body[:body.index("clang-format on")]
    return re.findall(r'X\((\w+), "([^"]+)", "([^"]+)"\)', body)


def sources(folder):
    return "".join(p.read_text(encoding="utf-8") for p in sorted((ROOT / folder).rglob("*.c")))


def test_warnings_of_solves():
    warnings = macro("include/stiction/problem.h", "STI_SOLVE_WARNINGS")
    assert len(warnings) >= 8
    for name, section, _ in warnings:
        assert f"`{name}`" in PAGE, name
        assert section in SECTIONS


def test_troubles():
    troubles = macro("include/stiction/capsule.h", "STI_TROUBLES")
    assert [word for _, word, _ in troubles] == list(stiction._core.TROUBLES)
    for _, word, _ in troubles:
        assert f"trouble `{word}`" in PAGE, word


def test_pools():
    pools = re.findall(r"X\(int, (pool_\w+),", (ROOT / "include/stiction/option_fields.h").read_text(encoding="utf-8"))
    assert len(pools) == 6
    for pool in pools:
        assert f"`{pool}`" in PAGE, pool


def test_warnings_of_files():
    """The text of every warning in load, model and dynamics; what is formatted may be anything."""
    text = sources("src/load") + sources("src/model")
    found = re.findall(r'sti__warn\(c, [^"]{0,80}"([^"]+)"', text)
    found += ["has no effect here", "is not supported yet, only looks are affected"]
    found += ["text between elements has no meaning"]
    for message in found:
        assert message in text
        words = [w.strip(" ;,:'") for w in re.split(r"%\w|\.\.\.", message)]
        for part in words:
            assert part[:40] in PAGE, message
    # every other place that warns is known by name
    places = re.findall(r"sti__judge_warning\(|STI_SEVERITY_WARNING", text + sources("src/dynamics"))
    assert len(places) == 7, "a new place warns: put its message on the page and here"
    assert "the mass matrix is singular in the reference pose" in PAGE


def test_links():
    for folder in ("src", "include"):
        for path in (ROOT / folder).rglob("*.[ch]"):
            for section in re.findall(r"docs/troubleshooting\.md#([a-z-]+)", path.read_text(encoding="utf-8")):
                assert section in SECTIONS, path


def test_counts():
    model = stiction.Model.from_xml_string("""<mujoco xmlns:sti="urn:stiction"><sti:option pool_patches="1"/><worldbody>
        <geom type="plane" size="1 1 1"/><body pos="0 0 .0499"><freejoint/>
        <geom size=".05" mass="1" sti:hydroelastic_stiffness="1e15"/></body></worldbody></mujoco>""")
    data = stiction.Data(model)
    assert data.warnings == {} and data.growths == {}
    stiction.step(model, data, 3)
    count, text = data.warnings["NEAR_RIGID"]
    assert count > 0 and "docs/troubleshooting.md#instability" in text
    room, need, times = data.growths["pool_patches"]
    assert room >= 1 and need > room and times >= 1
    stiction.reset(model, data)
    assert data.warnings == {} and data.growths == {}


def test_profile():
    model = stiction.Model.from_xml_string("""<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 .05"><freejoint/>
        <geom type="box" size=".05 .05 .05"/></body></worldbody></mujoco>""")
    data = stiction.Data(model, profile=True)
    stiction.step(model, data, 10)
    stages = {s.name: s for s in data.profile()}
    assert stages["step"].count == 10 and stages["solve"].iterations > 0
    assert stages["regularisation"].nanoseconds <= stages["rows"].nanoseconds
    with pytest.raises(AttributeError):
        stages["step"].count = 1
    assert stiction.Data(model).profile() == []
