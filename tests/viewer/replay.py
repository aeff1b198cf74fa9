# SPDX-License-Identifier: Apache-2.0
"""A recorded run as the viewer shows it: replay.py PROGRAM. Frames must be those of the file, in both directions."""
import pathlib
import signal
import subprocess
import sys
import tempfile

from client import ROOT, Client, server


def main(program):
    scene = ROOT / "scenes" / "figure.xml"
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "run.h5"
        subprocess.run([program, "run", scene, "--key", "leap", "--time", "0.5", "--record", file, "--quiet"], check=True,
                       stdout=subprocess.DEVNULL)
        process, url = server(program, scene, "--replay", str(file), "--paused")
        with Client(url, timeout=30) as page:
            head = page.frame()["HEAD"]
            assert head["replay"] and head["past"] and head["first"] == 0 and head["last"] > 100, head
            h = head["timestep"]
            for frame in (50, 10, head["last"]):
                page.send("seek", frame)
                shown = page.until(lambda f, k=frame: f["HEAD"]["shown"] == k)
                assert abs(shown["HEAD"]["time"] - h * frame) < 1.5 * h, shown["HEAD"]
            page.send("seek", 5)
            page.until(lambda f: f["HEAD"]["shown"] == 5)
            page.send("pause", 0)  # plays on to the end
            page.until(lambda f: f["HEAD"]["replaying"])
            page.until(lambda f: f["HEAD"]["shown"] == head["last"] and not f["HEAD"]["replaying"])
            page.send("reset", 0xFFFFFFFF)
            page.until(lambda f: f["HEAD"]["shown"] == 0)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0
    print("viewer: a recording is replayed as it was")


main(sys.argv[1])
