# SPDX-License-Identifier: Apache-2.0
"""Public functions of C and Python that no test and no example calls: called.py. Prints them and fails if there are any.

Of C: what the headers of include/ mark as STI_API, called in a C file of tests/ or examples/. Of Python: functions and methods of the
package's modules and stubs, by the syntax tree: a function counts where a test names it, a method where an attribute of its name is read,
both also as a string in a file that takes attributes by getattr. Names with a leading underscore are not public; a name that several
classes have counts for all; classes count by their methods, what they are for. Of a folder of modules counts what its __all__ names;
tasks of stiction.gym are made by their ids."""
import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
ASIDE = {"stiction.__main__", "stiction.plot"}  # modules that are run, not called
HOOKS = {"close_extras", "action_range", "look", "reset_info", "setup"}  # that Gymnasium or an environment calls


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
        name = ".".join(p for p in path.relative_to(package.parent).with_suffix("").parts if p != "__init__")
        stub = path.with_suffix(".pyi")
        if name not in ASIDE:
            yield name, stub if stub.exists() else path


def exported(path):
    """What a folder inside the package says is public of its modules; None: everything, as of the package itself."""
    if path.parent == ROOT / "python" / "stiction" or path.stem == "__init__":
        return None
    for node in ast.parse((path.parent / "__init__.py").read_text()).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return set(ast.literal_eval(node.value))
    return set()


def is_property(node):
    return any(getattr(d, "id", getattr(d, "attr", "")) in ("property", "setter", "cached_property") for d in node.decorator_list)


def python_functions():
    """Names as they are written: module.function, module.Class.method."""
    for module, path in modules():
        public = exported(path)
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, (ast.FunctionDef, ast.ClassDef)) or node.name.startswith("_"):
                continue
            if public is not None and node.name not in public:
                continue
            inside = node.body if isinstance(node, ast.ClassDef) else []
            if not inside:
                yield f"{module}.{node.name}"
            for inner in inside:
                if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_") and inner.name not in HOOKS and not is_property(inner):
                    yield f"{module}.{node.name}.{inner.name}"


def names_of(tree):
    """What a file reads: names, attributes, words in scripts that it hands to another Python, and strings where it uses getattr."""
    nodes = list(ast.walk(tree))
    names = {n.id for n in nodes if isinstance(n, ast.Name)}
    names.update(n.attr for n in nodes if isinstance(n, ast.Attribute))
    for text in (n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)):
        names.update(re.findall(r"\.(\w+)\(", text))
        if "getattr" in names and text.isidentifier():
            names.add(text)
    return names


def python_called():
    files = [p for folder in ("tests", "examples") for p in (ROOT / folder).rglob("*.py")]
    return set().union(*(names_of(ast.parse(p.read_text())) for p in files))


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
