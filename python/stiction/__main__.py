# SPDX-License-Identifier: Apache-2.0
"""The `stiction` command, and python -m stiction: runs the program that came with the package."""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SCENES = os.path.join(HERE, "scenes")


def place(argument):
    """Scenes of the package are found by name, arm.xml or scenes/arm.xml, where no such file is in the working folder."""
    folder, name = os.path.split(argument)
    known = os.path.join(SCENES, name)
    return known if folder in ("", "scenes") and name.endswith(".xml") and not os.path.exists(argument) and os.path.exists(known) else argument


def main():
    """Replaces this process by the program."""
    program = os.path.join(HERE, "bin", "stiction")
    if not os.path.exists(program):
        sys.exit("stiction: the program did not come with this package; build it with ./dev build and use build/cli/stiction")
    os.environ.setdefault("STICTION_PYTHON", sys.executable)  # for plots
    os.environ.setdefault("STICTION_SCENES", SCENES)
    os.execv(program, [program] + [place(a) for a in sys.argv[1:]])


if __name__ == "__main__":
    main()
