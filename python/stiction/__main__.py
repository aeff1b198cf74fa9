# SPDX-License-Identifier: Apache-2.0
"""python -m stiction: runs the `stiction` program that came with the package."""
import os
import shutil
import sys
import sysconfig


def main():
    here = os.path.join(sysconfig.get_path("scripts"), "stiction")
    program = here if os.path.exists(here) else shutil.which("stiction")
    if program is None:
        sys.exit("stiction: the program is not installed beside this package; run ./dev build and use build/cli/stiction")
    os.environ.setdefault("STICTION_PYTHON", sys.executable)  # for plots
    os.execv(program, [program] + sys.argv[1:])


if __name__ == "__main__":
    main()
