# SPDX-License-Identifier: Apache-2.0
"""Lines and branches that the tests run, per folder: coverage.py SUMMARY.json [TABLE.md], from gcovr's --json-summary.

Prints the table, writes it, and fails if a folder is below what it has to have."""
import collections
import json
import pathlib
import sys

LEAST_LINES, LEAST_BRANCHES = 90.0, 75.0  # per cent, in every folder
BRANCHES = {"src/model": 90.0, "src/record": 90.0, "src/mesh": 90.0, "web/server": 90.0}  # that read what others wrote

HEAD = """# What the tests run

Lines and branches of the C sources that the tests run, per folder, counted by gcovr: the C tests, the program's, the Python
package's and those of the viewer. A branch is one way out of a condition, so failures of memory and of files count too.
`./dev coverage` measures and writes this page; it fails below {:.0f} % of lines or {:.0f} % of branches, {} of branches in
{}.

| folder | lines | run | branches | run |
|---|---|---|---|---|
"""


def rows(summary):
    """folder: lines, run, branches, run"""
    count = collections.defaultdict(lambda: [0, 0, 0, 0])
    for file in summary["files"]:
        parts = pathlib.PurePosixPath(file["filename"]).parts
        for key in ("/".join(parts[:2]) if len(parts) > 2 else parts[0], "all"):
            for i, name in enumerate(("line_total", "line_covered", "branch_total", "branch_covered")):
                count[key][i] += file[name]
    return sorted(count.items(), key=lambda item: (item[0] == "all", item[0]))


def percent(part, whole):
    return 100.0 * part / whole if whole else 100.0


def main():
    table = rows(json.loads(pathlib.Path(sys.argv[1]).read_text()))
    strict = ", ".join(sorted(BRANCHES))
    text = HEAD.format(LEAST_LINES, LEAST_BRANCHES, f"{max(BRANCHES.values()):.0f} %", strict)
    bad = []
    for folder, (lines, ran, branches, taken) in table:
        text += f"| {folder} | {lines} | {percent(ran, lines):.1f} % | {branches} | {percent(taken, branches):.1f} % |\n"
        if percent(ran, lines) < LEAST_LINES or percent(taken, branches) < BRANCHES.get(folder, LEAST_BRANCHES):
            bad.append(folder)
    print(text[text.index("| folder"):])
    if len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).write_text(text)
    if bad:
        sys.exit("coverage: too little is run in " + ", ".join(bad))


if __name__ == "__main__":
    main()
