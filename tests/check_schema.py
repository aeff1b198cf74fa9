#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the schema table knows every element and attribute of the installed MuJoCo.

usage: stiction info --schema | check_schema.py
"""
import re
import sys

import mujoco


def theirs():
    """{path of tags: set of attributes}"""
    table, stack = {}, []
    for line in mujoco.mj_printSchema(False, True).split("\n"):
        head = re.match(r"( *)([\w()]+) \((.)\)\s*(.*)$", line)
        if head and len(head.group(1)) < 24:
            depth = len(head.group(1)) // 3
            tag = head.group(2).replace("(world)", "")
            stack = stack[:depth] + [tag]
            table[tuple(stack)] = set(head.group(4).split())
        elif line.strip():
            table[tuple(stack)] |= set(line.split())
    return table


def ours(text):
    """{(parent, tag): (attributes, supported)}"""
    table, current = {}, []
    for line in text:
        head = re.match(r"## (\S+)(?: \(in (.*)\))?", line)
        row = re.match(r"\| `([\w:]+)` \|", line)
        if head:
            parents = (head.group(2) or "").split() or [""]
            current = [(p, head.group(1)) for p in parents]
            for key in current:
                table[key] = [set(), True]
        elif row:
            for key in current:
                table[key][0].add(row.group(1))
        elif "*Not supported.*" in line:
            for key in current:
                table[key][1] = False
    return table


def main():
    known = ours(sys.stdin)
    missing = []
    for path, attributes in theirs().items():
        parent, tag = path[-2] if len(path) > 1 else "", path[-1]
        if path == ("mujoco", "body"):
            parent = "worldbody"  # printed as "(world)body"
        above = [(path[i - 1], path[i]) for i in range(1, len(path))]
        if any(key in known and not known[key][1] for key in above):
            continue  # inside something not supported: its content is not looked at
        if (parent, tag) not in known:
            missing.append("/".join(path))
            continue
        for name in sorted(attributes - known[parent, tag][0]):
            missing.append("/".join(path) + "@" + name)
    for item in missing:
        print("unknown to the table:", item)
    print(f"{len(missing)} of MuJoCo {mujoco.__version__}'s elements and attributes are missing")
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
