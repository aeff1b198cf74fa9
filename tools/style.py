# SPDX-License-Identifier: Apache-2.0
"""Size and style limits of the C sources: function and file lengths, and what a library must not do."""
import pathlib
import re
import statistics
import sys

import lizard

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIMIT_FUNCTION, LIMIT_FILE, LIMIT_MEDIAN, LIMIT_PARAMETERS = 150, 1200, 20, 9
FORBIDDEN = re.compile(r"\b(exit|abort|printf|puts|perror)\s*\(")


def main():
    bad, lengths = [], []
    for path in sorted((ROOT / "src").rglob("*.[ch]")) + sorted((ROOT / "web/server").glob("*.[ch]")):
        text, name = path.read_text(), path.relative_to(ROOT)
        if text.count("\n") > LIMIT_FILE:
            bad.append(f"{name}: {text.count(chr(10))} lines; is it still one idea?")
        code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
        bad += [f"{name}: {m[0]} in the library" for m in FORBIDDEN.finditer(re.sub(r"__attribute__\(\(.*?\)\)\)", "", code))]
        for f in lizard.analyze_file(str(path)).function_list:
            lengths.append(f.length)
            if f.length > LIMIT_FUNCTION:
                bad.append(f"{name}:{f.start_line}: {f.name} has {f.length} lines")
            if len(f.parameters) > LIMIT_PARAMETERS:
                bad.append(f"{name}:{f.start_line}: {f.name} has {len(f.parameters)} parameters")
    median = statistics.median(lengths)
    if median > LIMIT_MEDIAN:
        bad.append(f"median function length {median} is over {LIMIT_MEDIAN}")
    print("\n".join(bad) if bad else f"style: {len(lengths)} functions, median {median:g} lines, longest {max(lengths)}")
    return bool(bad)


sys.exit(main())
