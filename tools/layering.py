# SPDX-License-Identifier: Apache-2.0
"""A stage includes only earlier stages, base and math. Prints each violation; exit 1 if there is one."""
import pathlib
import re
import sys

STAGES = "base math linear mesh load model dynamics fem collide contact solve integrate sense record world gpu batch".split()
ROOT = pathlib.Path(__file__).resolve().parent.parent


def violations():
    for path in sorted((ROOT / "src").rglob("*.[ch]")):
        stage = path.relative_to(ROOT / "src").parts[0]
        if stage not in STAGES:
            yield f"{path.relative_to(ROOT)}: {stage} is not a stage"
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"(\w+)/', line)
            if match and STAGES.index(match[1]) > STAGES.index(stage):
                yield f"{path.relative_to(ROOT)}:{number}: {stage} includes the later stage {match[1]}"
            # public headers of the world belong to the last stage
            match = re.match(r"\s*#\s*include\s+<stiction/(world|batch|stiction)\.h>", line)
            if match and stage not in ("world", "batch"):
                yield f"{path.relative_to(ROOT)}:{number}: {stage} includes the world's header"
    for path in sorted((ROOT / "cli").glob("*.[ch]")) + sorted((ROOT / "web").rglob("server/*.[ch]")) + sorted((ROOT / "python").glob("*.c")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if re.match(r'\s*#\s*include\s+"(%s)/' % "|".join(STAGES), line):
                yield f"{path.relative_to(ROOT)}:{number}: only public headers are allowed here"


found = list(violations())
print("\n".join(found) if found else f"layering: {len(STAGES)} stages in order")
sys.exit(bool(found))
