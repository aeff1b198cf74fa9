# SPDX-License-Identifier: Apache-2.0
"""Runs a script as it is, with this module where it imports mujoco:

    python -m stiction.mujoco script.py ARGUMENTS
    python -m stiction.mujoco -m module ARGUMENTS
"""
import os
import runpy
import sys

import stiction.mujoco


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help") or arguments == ["-m"]:
        print(__doc__.strip())
        return 0 if arguments[:1] in (["-h"], ["--help"]) else 2
    if arguments[0] != "-m" and not os.path.exists(arguments[0]):
        print(f"stiction.mujoco: there is no file {arguments[0]!r}", file=sys.stderr)
        return 2
    stiction.mujoco.install()
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path.insert(0, os.getcwd())
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
