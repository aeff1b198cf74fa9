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


# Sizes go through checked arithmetic: sti__size, sti__sum, sti__mul, sti__add (src/base/internal.h).
ALLOCATION = re.compile(r"\bsti__(?:alloc|alloc_aligned|resize|make_room|workspace_block|arena_take|temp_take|temp_ints|cut|scratch|reserve|"
                        r"tetscan_borrow|mesh_borrow)\s*\(")
SIZE = re.compile(r"\b(?:bytes|need|nblock)\s*=\s*([^;]*sizeof[^;]*);")
SIZEOF = re.compile(r"sizeof\s*(?:\((?:[^()]|\([^()]*\))*\)|\*+\s*\w[\w.>\-\[\]]*|\w+)")
CONSTANT = r"\b(?:\d+|[A-Z][A-Z_0-9]*)\b"
WIDENED = re.compile(r"\(size_t\)\s*\((\w[\w.>\[\]\-]*(?:\s\*\s\w[\w.>\[\]\-]*)+)\)")


def arguments(code, start):
    """The text of a call's arguments, from its opening parenthesis."""
    depth = 0
    for end in range(start, len(code)):
        depth += {"(": 1, ")": -1}.get(code[end], 0)
        if depth == 0:
            return code[start + 1:end]
    return code[start + 1:]


def is_product(text):
    """Whether something that is not a constant is multiplied."""
    text = SIZEOF.sub("S", text)
    text = re.sub(rf"{CONSTANT}(?:\s\*\s{CONSTANT})+", "1", text)
    return re.search(r"[\w)\]]\s\*\s[\w(]", text) is not None


def raw_sizes(code):
    """Sizes of blocks that are made by plain arithmetic, which may wrap: (where, what)."""
    for m in ALLOCATION.finditer(code):
        text = arguments(code, m.end() - 1)
        is_call = code[code.rfind("\n", 0, m.start()) + 1] in " \t"
        if is_call and is_product(text):
            yield m.start(), f"{m[0]}{text}): write its size with sti__size"
    for m in SIZE.finditer(code):
        if is_product(m[1]):
            yield m.start(), f"{m[0]}: write it with sti__size"
    for m in WIDENED.finditer(code):
        if not re.fullmatch(rf"[\s*]*(?:{CONSTANT}[\s*]*)+", m[1]):
            yield m.start(), f"{m[0]}: a product of ints is widened after it may have wrapped"


def main():
    bad, lengths = [], []
    for path in sorted((ROOT / "src").rglob("*.[ch]")) + sorted((ROOT / "web/server").glob("*.[ch]")):
        text, name = path.read_text(), path.relative_to(ROOT)
        if text.count("\n") > LIMIT_FILE:
            bad.append(f"{name}: {text.count(chr(10))} lines; is it still one idea?")
        code = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
        bad += [f"{name}: {m[0]} in the library" for m in FORBIDDEN.finditer(re.sub(r"__attribute__\(\(.*?\)\)\)", "", code))]
        if not path.name.endswith("_kernel.c"):
            kept = re.sub(r"//[^\n]*|/\*.*?\*/", lambda m: re.sub(r"[^\n]", " ", m[0]), text, flags=re.S)
            bad += [f"{name}:{kept.count(chr(10), 0, at) + 1}: {' '.join(what.split())}" for at, what in raw_sizes(kept)]
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
