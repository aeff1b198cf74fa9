# SPDX-License-Identifier: Apache-2.0
"""A video of a scene as the viewer shows it: film.py PROGRAM SCENE OUT.webm [SIMULATED SECONDS] [SPEED]. A screenshot of its
last moment goes beside it. It is taken eight times slower than it plays, as browsers without a graphics card draw slowly."""
import pathlib
import shutil
import signal
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "viewer"))
from browser import ARGUMENTS  # noqa: E402
from client import server  # noqa: E402
from playwright.sync_api import sync_playwright  # noqa: E402


SLOWER = 8
# the element TimestampScale of a WebM file: nanoseconds per tick, one million
SCALE = bytes.fromhex("2ad7b1830f4240")


def faster(path):
    data = path.read_bytes()
    assert data.count(SCALE) == 1
    path.write_bytes(data.replace(SCALE, SCALE[:4] + (1000000 // SLOWER).to_bytes(3, "big")))


def main(program, scene, out, seconds=0.7, speed=0.1):
    process, url = server(program, scene, "--paused", "--speed", str(speed / SLOWER))
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": 960, "height": 560}, accept_downloads=True)
        page.goto(url)
        page.wait_for_function("() => window.viewer && viewer.drawn > 3")
        page.evaluate("viewer.contacts.factor = 0.6")
        page.click("#film")
        page.click("#play")
        page.wait_for_function(f"() => viewer.frame.head.time >= {seconds}", timeout=600000, polling=20)
        with page.expect_download() as waiting:
            page.click("#film")
        waiting.value.save_as(out)
        page.screenshot(path=pathlib.Path(out).with_suffix(".png"))
        browser.close()
    process.send_signal(signal.SIGINT)
    process.wait(20)
    faster(pathlib.Path(out))


main(*sys.argv[1:4], *map(float, sys.argv[4:]))
