# SPDX-License-Identifier: Apache-2.0
"""Public functions of C and Python that no test and no example calls: called.py. Prints them and fails if there are any.

Of C: what the headers of include/ mark as STI_API, called in a C file of tests/ or examples/. Of Python: functions, classes and their
methods of the package's modules and stubs, by the syntax tree: a function counts where it is called or handed on, a method where an
object's attribute of its name is; names with a leading underscore are not public. A name that several classes have counts for all."""
import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# modules that are run, not called
PROGRAMS = {"__main__", "plot"}


def c_functions():
    text = "\n".join(p.read_text() for p in sorted((ROOT / "include").rglob("*.h")))
    return sorted(set(re.findall(r"STI_API\b[^;()]*?\b(sti_\w+)\s*\(", text)))


def c_called():
    called = set()
    for folder in ("tests", "examples"):
        for path in (ROOT / folder).rglob("*.[ch]"):
            called.update(re.findall(r"\b(sti_\w+)\s*\(", path.read_text()))
    return called


def modules():
    """Each public module and the file that says what is in it: a stub, where there is one."""
    package = ROOT / "python" / "stiction"
    for path in sorted(package.rglob("*.py")):
        if path.stem in PROGRAMS or path.stem.startswith("_") and path.stem != "__init__":
            continue
        parts = path.relative_to(package.parent).with_suffix("").parts
        stub = path.with_suffix(".pyi")
        yield ".".join(p for p in parts if p != "__init__"), stub if stub.exists() else path


def is_property(node):
    return any(getattr(d, "id", getattr(d, "attr", "")) in ("property", "setter", "cached_property") for d in node.decorator_list)


def python_functions():
    """Names as they are written: module.function, module.Class, module.Class.method."""
    for module, path in modules():
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
                continue
            yield f"{module}.{node.name}"
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_") and not is_property(inner):
                        yield f"{module}.{node.name}.{inner.name}"


def python_called():
    """Every name and attribute that tests and examples read, in code and in the scripts that they hand to another Python."""
    used = set()
    for folder in ("tests", "examples"):
        for path in (ROOT / folder).rglob("*.py"):
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Attribute):
                    used.add(node.attr)
                elif isinstance(node, ast.Name):
                    used.add(node.id)
                elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                    used.update(re.findall(r"\.(\w+)\(", node.value))
    return used


def main():
    called = c_called()
    missing = [name for name in c_functions() if name not in called]
    used = python_called()
    names = sorted(set(python_functions()))
    missing += [name for name in names if name.split(".")[-1] not in used]
    for name in missing:
        print(f"no test or example calls {name}")
    if missing:
        sys.exit(f"called: {len(missing)} of {len(c_functions()) + len(names)} public functions")


if __name__ == "__main__":
    main()
