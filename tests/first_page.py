# SPDX-License-Identifier: Apache-2.0
"""The first page of the docs as a new user follows it: first_page.py PAGE WHEEL PYTHON.

In an empty folder with the wheel in dist/, without compilers or libraries of the repository: indented lines are typed into one shell, in
their order; a line that is no command is what the command before it must have printed; a block of XML is saved as the file named before
it; blocks of Python are one session; a viewer is opened, its page fetched, and ended by Ctrl-C."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

COMMANDS = ("python3 ", "pip ", ". ", "stiction ")


def pieces(page):
    """(kind, text) in the order of the page: "command" and "output", a line each; "xml" and "python", whole blocks."""
    block, name = None, ""
    for line in page.splitlines():
        if block is not None:
            if line.startswith("```"):
                yield (block[0], (name, "\n".join(block[1:]) + "\n"))
                block = None
            else:
                block.append(line)
        elif line.startswith("```"):
            block = [line[3:].strip()]
        elif line.startswith("    "):
            yield ("command" if line.strip().startswith(COMMANDS) else "output", line.strip())
        else:
            name = (re.findall(r"`([\w.]+\.xml)`", line) or [name])[-1]


class User:
    def __init__(self, folder, wheel, python):
        self.folder, self.printed, self.session, self.count = folder, "", "", 0
        (folder / "dist").mkdir()
        shutil.copy(wheel, folder / "dist")
        (folder / "bin").mkdir()
        (folder / "bin" / "python3").symlink_to(shutil.which(python))
        ways = {k: v for k, v in os.environ.items() if k in ("HOME", "LANG") or k.startswith(("PIP_", "SSL_")) or k.lower().endswith("_proxy")}
        self.environment = {**ways, "PATH": f"{folder / 'bin'}:/usr/bin:/bin"}
        self.entered = ""  # what changes the shell itself, as activating an environment does

    def shell(self, command):
        return subprocess.Popen(["/bin/sh", "-c", self.entered + command], cwd=self.folder, env=self.environment, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def command(self, line, may_fail):
        self.count += 1
        print("$", line, flush=True)
        if line.startswith(". "):
            self.entered += line + "\n"
            return
        process = self.shell(line)
        if line.startswith("stiction view"):
            self.visit(process)
            return
        self.printed = process.communicate(timeout=600)[0]
        assert process.returncode == 0 or may_fail, f"{line}: exit {process.returncode}\n{self.printed}"
        for name in re.findall(r"--(?:record|plot|picture) (\S+)", line):
            assert (self.folder / name).stat().st_size > 1000, f"{line}: {name} is not there or empty"

    def visit(self, process):
        first = ""
        while "http://" not in first:
            first = process.stdout.readline()
            assert first, "the viewer ended without an address"
        with urllib.request.urlopen(re.search(r"http://\S+", first)[0], timeout=20) as page:
            assert page.status == 200
        time.sleep(1)
        assert process.poll() is None, "the viewer did not wait for Ctrl-C"
        os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=20)

    def output(self, text):
        assert text in self.printed, f"the page says\n{text}\nbut this was printed:\n{self.printed}"

    def python(self, code):
        """All blocks so far are run, as in one session; only what the last one prints is shown."""
        self.count += 1
        self.session += code
        script = self.folder / "session.py"
        script.write_text(self.session)
        done = subprocess.run(["/bin/sh", "-c", self.entered + "python session.py"], cwd=self.folder, env=self.environment, text=True,
                              capture_output=True, timeout=600)
        assert done.returncode == 0, f"{code}\n{done.stderr}"
        script.unlink()
        print(done.stdout, end="", flush=True)

    def follow(self, page):
        parts = list(pieces(page))
        for i, (kind, text) in enumerate(parts):
            if kind == "command":
                self.command(text, may_fail=i + 1 < len(parts) and parts[i + 1][0] == "output")
            elif kind == "output":
                self.output(text)
            elif kind == "python":
                self.python(text[1])
            elif kind == "xml":
                (self.folder / text[0]).write_text(text[1])


def main():
    page, wheel, python = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as folder:
        user = User(pathlib.Path(folder).resolve(), wheel, python)
        user.follow(pathlib.Path(page).read_text())
    assert user.count >= 8, "the page has fewer commands than it had"
    print(f"first page: {user.count} commands and scripts")


if __name__ == "__main__":
    main()
