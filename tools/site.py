# SPDX-License-Identifier: Apache-2.0
"""The documentation as a static site: the pages of docs/, a reference of Python and C made from the sources, an index of examples, and a
search that works from files, without a server.   site.py OUT"""
import ast
import functools
import html
import inspect
import json
import pathlib
import re
import shutil
import sys

import markdown

import stiction
import stiction.mujoco

ROOT = pathlib.Path(__file__).resolve().parents[1]
TITLE = "Stiction"

# the order of the menu: (heading, pages); pages that are not named come last
MENU = [
    ("Start", ["first_steps", "coming_from_mujoco", "tuning_contact", "glossary", "viewer", "recordings", "examples"]),
    ("Use", ["mjcf", "urdf", "files", "options", "limits", "control", "ik", "spec", "changing", "batch", "gpu", "distributed", "sleep", "learning",
             "handlers", "coupled", "contact_sensor", "pictures", "scripts_of_others"]),
    ("When something is wrong", ["troubleshooting", "capsules"]),
    ("Soft bodies", ["soft_bodies", "fem", "hydroelastic", "tetmesh", "meshes"]),
    ("Reference", ["python", "c"]),
    ("How it works", ["architecture", "dynamics", "collide", "narrow_phase", "contact", "dvi", "problem", "sap", "dual_solvers", "linear_algebra",
                      "alm"]),
    ("How good it is", ["measured", "closed_forms", "contact_measured", "moving_measured", "soft_measured", "conformance", "robots", "ablation", "coverage"]),
]

STYLE = """
:root{color-scheme:light dark;--ink:#1c1e21;--soft:#5c636b;--line:#d9dde2;--back:#fff;--side:#f6f7f9;--link:#0b5cad}
@media(prefers-color-scheme:dark){:root{--ink:#e4e6e9;--soft:#9aa2ab;--line:#363b41;--back:#17191c;--side:#1f2226;--link:#7db8f5}}
*{box-sizing:border-box}html{scroll-padding-top:1rem}
body{margin:0;font:16px/1.6 system-ui,sans-serif;color:var(--ink);background:var(--back)}
a{color:var(--link);text-decoration:none}a:hover{text-decoration:underline}
nav{position:fixed;top:0;bottom:0;left:0;width:17rem;padding:1rem 1.2rem;overflow-y:auto;background:var(--side);border-right:1px solid var(--line);font-size:.9rem}
nav h2{font-size:.75rem;text-transform:uppercase;letter-spacing:.05em;color:var(--soft);margin:1.2rem 0 .2rem}
nav a{display:block;padding:.1rem 0}nav a.here{font-weight:600}
nav input{width:100%;padding:.4rem .6rem;font:inherit;color:inherit;background:var(--back);border:1px solid var(--line);border-radius:6px}
main{margin-left:17rem;padding:1.5rem 2.5rem 4rem;max-width:62rem;overflow-wrap:break-word}
h1{line-height:1.2}h2{margin-top:2.2rem;border-bottom:1px solid var(--line)}h3{margin-top:1.6rem}
pre,code{font:.88em/1.5 ui-monospace,monospace}pre{overflow-x:auto;padding:.8rem 1rem;background:var(--side);border:1px solid var(--line);border-radius:6px}
code{background:var(--side);padding:.1em .25em;border-radius:3px}pre code{padding:0}
table{border-collapse:collapse;display:block;overflow-x:auto;margin:1rem 0}th,td{border:1px solid var(--line);padding:.3rem .6rem;text-align:left;vertical-align:top}
img,video{max-width:100%}.entry{margin:1.1rem 0;padding-left:.9rem;border-left:3px solid var(--line)}.entry>pre{margin:.2rem 0;white-space:pre-wrap}.entry p{margin:.3rem 0}
#found{list-style:none;margin:.5rem 0 0;padding:0}#found li{margin:.4rem 0}#found small{color:var(--soft);display:block;line-height:1.35}
#menu{display:none}
@media(max-width:800px){nav{position:static;width:auto;border-right:0;border-bottom:1px solid var(--line);max-height:45vh}main{margin-left:0;padding:1rem}}
"""

SCRIPT = """
const box=document.getElementById('search'),list=document.getElementById('found');
function hits(words){
  const found=[];
  for(const [page,title,place,text] of INDEX){
    const head=(title+' '+page).toLowerCase(),body=text.toLowerCase();let score=0;
    for(const w of words){
      if(title.toLowerCase()===w)score+=page==='Glossary'?80:50;
      if(head.includes(w))score+=10;else if(body.includes(w))score+=1;else{score=-1;break;}
    }
    if(score>0)found.push([score,page,title,place,text]);
  }
  return found.sort((a,b)=>b[0]-a[0]).slice(0,30);
}
function look(){
  const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);list.textContent='';
  document.getElementById('pages').hidden=words.length>0;
  if(!words.length)return;
  for(const [,page,title,place,text] of hits(words)){
    const li=document.createElement('li'),a=document.createElement('a'),small=document.createElement('small');
    a.href=place;a.textContent=title;
    const at=Math.max(0,text.toLowerCase().indexOf(words[0])-30);
    small.textContent=page+': '+(at?'…':'')+text.slice(at,at+110);li.append(a,small);list.append(li);
  }
  if(!list.children.length)list.textContent='nothing found';
}
box.addEventListener('input',look);
document.addEventListener('keydown',e=>{if(e.key==='/'&&document.activeElement!==box){e.preventDefault();box.focus();}});
"""


def slug(text):
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


# ---- pages of docs/ ---------------------------------------------------------------------------------------------

def render(text):
    """Markdown as GitHub reads it: a list may follow a line of text, headings have its anchors."""
    lines, fenced = [], False
    for line in text.split("\n"):
        fenced ^= line.lstrip().startswith("```")
        starts = re.match(r"([-*]|\d+\.) ", line)
        if not fenced and starts and lines and lines[-1].strip() and not re.match(r"\s*([-*]|\d+\.) |\s{2,}", lines[-1]):
            lines.append("")
        lines.append(line)
    return markdown.markdown("\n".join(lines), extensions=["tables", "fenced_code", "toc", "sane_lists"],
                             extension_configs={"toc": {"slugify": lambda value, separator: slug(value)}})


def relink(body, known):
    """Links between pages: .md becomes .html; files of the repository that are not on the site are left as text."""
    def replace(match):
        target, anchor = match[2], match[3] or ""
        if "://" in target or not target:
            return match[0]
        name = target.removeprefix("docs/")
        if name.endswith(".md") and name[:-3] in known:
            return f'{match[1]}="{name[:-3]}.html{anchor}"'
        if name == "../README.md":
            return f'{match[1]}="index.html"'
        if name.startswith("images/"):
            return f'{match[1]}="{name}"'
        source = name.removeprefix("../")  # of the repository
        for start, place in (("examples/", "examples.html#" + pathlib.Path(source).stem), ("scenes/", "examples.html#scenes"),
                             ("include/stiction/", "c.html#" + pathlib.Path(source).name), ("CHANGELOG.md", "changelog.html")):
            if source.startswith(start):
                return f'{match[1]}="{place}"'
        return match[0]
    return re.sub(r'(href|src)="([^"#]*)(#[^"]*)?"', replace, body)


def doc_pages():
    return {path.stem: path.read_text() for path in sorted((ROOT / "docs").glob("*.md"))}


# ---- the reference of Python ---------------------------------------------------------------------------------------

def prose(text):
    """A docstring as paragraphs; those that are indented stay as they are."""
    out = []
    for part in re.split(r"\n[ \t]*\n", text or ""):
        if part.startswith("    "):
            out.append(f"<pre>{html.escape(inspect.cleandoc(chr(10) + part))}</pre>")
        elif part.strip():
            out.append(f"<p>{html.escape(' '.join(part.split()))}</p>")
    return "".join(out)


def entry(anchor, declaration, text):
    about = prose(text)
    return f'<div class="entry" id="{html.escape(anchor)}"><pre>{html.escape(declaration)}</pre>{about}</div>'


def signature(node):
    """A declaration of the stubs on one line, without decorators and body."""
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"def {node.name}({ast.unparse(node.args)}){returns}"


def stub_nodes(path):
    return ast.parse(path.read_text()).body


def doc_of(owner, name):
    found = inspect.getattr_static(owner, name, None) if owner is not None else None
    if isinstance(found, (classmethod, staticmethod)):
        found = found.__func__
    text = getattr(found, "__doc__", None)
    return inspect.cleandoc(text) if text and type(found) not in (int, float, str) else ""


def python_class(node, owner):
    parts = [f'<h3 id="{node.name}">{node.name}</h3>', prose(inspect.getdoc(owner))]
    fields, methods = [], []
    for item in node.body:
        if isinstance(item, ast.AnnAssign):
            fields.append((item.target.id, ast.unparse(item.annotation)))
        elif isinstance(item, ast.Assign):
            fields.append((item.targets[0].id, ast.unparse(item.value)))
        elif isinstance(item, ast.FunctionDef) and not item.name.startswith("_"):
            prop = any(ast.unparse(d) == "property" for d in item.decorator_list)
            what = f"{item.name}: {ast.unparse(item.returns)}" if prop and item.returns else signature(item)
            methods.append(entry(f"{node.name}.{item.name}", what, doc_of(owner, item.name)))
    if fields:
        meaning = {**field_meanings(), **{n: doc_of(owner, n) for n, _ in fields if doc_of(owner, n)}}
        rows = "".join(f'<tr id="{node.name}.{n}"><td><code>{n}</code></td><td><code>{html.escape(shape_of(node.name, n, t))}</code></td>'
                       f"<td>{html.escape(meaning.get((node.name, n)) or meaning.get(n, ''))}</td></tr>" for n, t in fields)
        parts.append(f"<table><tr><th>name</th><th>type or shape</th><th>meaning</th></tr>{rows}</table>")
    return "".join(parts + methods)


def field_list(name):
    """Rows of an X-macro with arrays: name, rows, cols and the comment beside or above."""
    text = (ROOT / "include" / "stiction" / name).read_text()
    for match in re.finditer(r"X\((?:(double|float|int|char), )?(\w+), ([^,()]+), ([^,()]+), [^)]*\)\s*(?:/\*(.*?)\*/)?", text):
        yield match[2], match[3].strip(), match[4].strip(), (match[5] or "").strip()


@functools.cache
def shapes():
    found = {}
    for owner, name in (("Model", "model_fields.h"), ("Data", "state_fields.h")):
        for field, rows, cols, _ in field_list(name):
            found[owner, field] = f"{rows}" if cols == "1" else f"{rows} x {cols}"
    return found


@functools.cache
def field_meanings():
    found = {}
    for owner, name in (("Model", "model_fields.h"), ("Data", "state_fields.h")):
        for field, _, _, text in field_list(name):
            found[owner, field] = text
    sizes = (ROOT / "include" / "stiction" / "model_fields.h").read_text()
    for match in re.finditer(r'X\((n\w+), "([^"]+)"\)', sizes):
        found["Model", match[1]] = "number of " + match[2]
    options = (ROOT / "include" / "stiction" / "option_fields.h").read_text()
    for match in re.finditer(r'X\((?:int|double), (\w+), [^"]*"([^"]+)"\)', options):
        found["Option", match[1]] = match[2]
    return found


def shape_of(owner, name, otherwise):
    return shapes().get((owner, name)) or otherwise


def python_page():
    nodes = stub_nodes(ROOT / "python" / "stiction" / "__init__.pyi")
    functions, classes = [], []
    for node in nodes:
        if isinstance(node, ast.FunctionDef):
            functions.append(entry(node.name, signature(node), doc_of(stiction, node.name)))
        elif isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            names = {"Option": "_Struct", "Statistic": "_Struct", "Named": "_Named"}
            owner = getattr(stiction, names.get(node.name, node.name), None)
            classes.append(python_class(node, owner))
    viewer_nodes = stub_nodes(ROOT / "python" / "stiction" / "viewer.pyi")
    viewer = [entry("viewer." + n.name, "viewer." + signature(n).removeprefix("def "), doc_of(stiction.viewer, n.name))
              for n in viewer_nodes if isinstance(n, ast.FunctionDef)]
    viewer += [python_class(n, stiction.viewer.Viewer) for n in viewer_nodes if isinstance(n, ast.ClassDef)]
    shim = [entry("mujoco." + name, f"mujoco.{name}{inspect.signature(value)}", inspect.getdoc(value))
            for name, value in sorted(vars(stiction.mujoco).items()) if inspect.isfunction(value) and not name.startswith("_")]
    return (f'<h1>Python reference</h1>{prose(inspect.getdoc(stiction))}<h2 id="functions">Functions</h2>{"".join(functions)}<h2 id="classes">Classes</h2>{"".join(classes)}'
            f'<h2 id="viewer">stiction.viewer</h2>{"".join(viewer)}<h2 id="shim">stiction.mujoco</h2>'
            f"{prose(inspect.getdoc(stiction.mujoco))}{''.join(shim)}")


# ---- the reference of C -----------------------------------------------------------------------------------------------

def comment_text(raw):
    text = re.sub(r"/\*+|\*+/", "", raw)
    return re.sub(r"\s*\n\s*", " ", text).strip()


def declarations(text):
    """(comment, declaration) of a header, in order; a heading line is a comment with no declaration."""
    text = re.sub(r"/\* clang-format o\w+ \*/\n?", "", text)
    pattern = re.compile(
        r"(?P<comment>/\*(?:[^*]|\*(?!/))*\*/)|(?P<function>STI_API[^;]+;)|(?P<typedef>typedef\s+(?:struct|enum)\s+\w+\s*\{.*?\n?\}\s*\w+;)"
        r"|(?P<opaque>typedef [^{;]+;)|(?P<macro>^#define STI_(?:[^\n]*\\\n)*[^\n]*)|(?P<enum>^enum \{.*?^\};)", re.S | re.M)
    comment = ""
    for match in pattern.finditer(text):
        kind = match.lastgroup
        if kind == "comment":
            heading = re.match(r"/\*\s*-{2,}\s*(.*?)\s*-{2,}(.*?)\*/", match[0], re.S)
            if heading:
                yield comment_text(heading[2]), None, heading[1].strip("- ")
            comment = "" if heading else comment_text(match[0])
        else:
            yield comment, match[0].removeprefix("STI_API "), None
            comment = "" if kind != "function" else comment


def c_page():
    parts = ["<h1>C reference</h1><p>Headers of <code>include/stiction</code>; <code>stiction/stiction.h</code> has them all.</p>"]
    for path in sorted((ROOT / "include" / "stiction").glob("*.h")):
        text = path.read_text()
        about = re.search(r"\*/\s*/\*(.*?)\*/", text, re.S)
        body = text[text.find("#define STICTION_"):]
        found, told = [], None
        for comment, declaration, heading in declarations(body):
            if heading:
                found.append(f"<h3>{html.escape(heading)}</h3>" + (f"<p>{html.escape(comment)}</p>" if comment else ""))
            elif declaration and not declaration.startswith(("#define STICTION_", "#define STI_API")):
                name = re.search(r"\b(sti_\w+)\s*\(|\}\s*(\w+);$|(\w+);$|#define (\w+)|\benum\b", declaration)
                anchor = next((g for g in name.groups() if g), path.stem) if name else path.stem
                found.append(entry(anchor, declaration, "" if comment == told else comment))
                told = comment
        if found:
            parts.append(f'<h2 id="{path.stem}.h">stiction/{path.name}</h2><p>{html.escape(comment_text(about[1]) if about else "")}</p>' + "".join(found))
    return "".join(parts)


# ---- examples -----------------------------------------------------------------------------------------------------------

def examples_page():
    """Every example and scene with what it says of itself, and its picture if docs/images has one."""
    parts = ["<h1>Examples</h1>"]
    for path in sorted((ROOT / "examples").iterdir()):
        if path.suffix not in (".py", ".c"):
            continue
        text = path.read_text()
        said = ast.get_docstring(ast.parse(text)) if path.suffix == ".py" else comment_text((re.findall(r"/\*.*?\*/", text, re.S) + ["", ""])[1])
        picture = next((p for p in sorted((ROOT / "docs" / "images").glob(path.stem + "*.png"))), None)
        shown = f'<p><img src="images/{picture.name}" alt="{path.stem}"></p>' if picture else ""
        parts.append(f'<h2 id="{path.stem}">examples/{path.name}</h2><p>{html.escape(said or "")}</p>{shown}<details><summary>source</summary>'
                     f"<pre>{html.escape(text)}</pre></details>")
    scenes = "".join(f"<tr><td><code>scenes/{p.name}</code></td><td>{html.escape(scene_text(p))}</td></tr>" for p in sorted((ROOT / "scenes").glob("*.xml")))
    return "".join(parts) + f'<h2 id="scenes">Scenes</h2><table>{scenes}</table>'


def scene_text(path):
    comments = [c.strip() for c in re.findall(r"<!--(.*?)-->", path.read_text(), re.S) if "SPDX" not in c]
    return re.sub(r"\s+", " ", comments[0]) if comments else ""


# ---- the site ---------------------------------------------------------------------------------------------------------------

def menu(pages, here):
    named = {p for _, names in MENU for p in names}
    rest = [p for p in pages if p not in named and p != "index"]
    out = ['<a href="index.html"' + (' class="here"' if here == "index" else "") + f"><b>{TITLE}</b></a>"]
    for heading, names in [*MENU, *([("More", rest)] if rest else [])]:
        out.append(f"<h2>{heading}</h2>")
        out += [f'<a href="{p}.html"{" class=here" if p == here else ""}>{html.escape(pages[p][0])}</a>' for p in names if p in pages]
    return "".join(out)


def page_html(pages, name):
    title, body = pages[name]
    return (f'<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width,initial-scale=1">'
            f"<title>{html.escape(title)} - {TITLE}</title><link rel=stylesheet href=style.css></head><body><nav>"
            f'<input id="search" type="search" placeholder="search  ( / )" aria-label="search"><ul id="found"></ul><div id="pages">{menu(pages, name)}</div></nav>'
            f"<main>{body}</main><script src=index.js></script><script src=search.js></script></body></html>")


def sections(name, title, body):
    """(page, heading, place, text) for the search: of headings, and of entries and rows of the references."""
    marks = list(re.finditer(r'<(h[123]|div class="entry"|tr) id="([^"]+)"[^>]*>', body))
    for mark, after in zip(marks, [*marks[1:], None]):
        piece = body[mark.end():after.start() if after else len(body)]
        plain = html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", piece))).strip()
        first = piece.split("</h" if mark[1].startswith("h") else "</td>")[0] if mark[1].startswith("h") or name == "glossary" else mark[2]
        heading = html.unescape(re.sub("<[^>]+>", "", first)).strip()
        yield [title, heading, f"{name}.html#{mark[2]}", plain]


def make():
    docs = doc_pages()
    known = {*docs, "python", "c", "examples", "changelog"}
    pages = {"index": (TITLE, relink(render((ROOT / "README.md").read_text()), known))}
    for name, text in docs.items():
        title = re.match(r"#\s*(.+)", text.lstrip())
        pages[name] = (re.sub(r"[`*]", "", title[1]) if title else name, relink(render(text), known))
    words = re.sub(r"<tr>\s*<td>([^<]+)</td>", lambda row: f'<tr id="{slug(html.unescape(row[1]))}"><td>{row[1]}</td>', pages["glossary"][1])
    pages["glossary"] = (pages["glossary"][0], words)
    pages["changelog"] = ("Changes", relink(render((ROOT / "CHANGELOG.md").read_text()), known))
    pages["examples"] = ("Examples", examples_page())
    pages["python"] = ("Python", python_page())
    pages["c"] = ("C", c_page())
    return pages


def broken_links(pages):
    """(page, link) of links within the site that lead nowhere."""
    anchors = {name: set(re.findall(r'id="([^"]+)"', body)) for name, (_, body) in pages.items()}
    for name, (_, body) in pages.items():
        for target in re.findall(r'href="([^"]+)"', body):
            if "://" in target or (ROOT / "docs" / target).is_file():
                continue
            page, _, anchor = target.partition("#")
            page = page.removesuffix(".html") or name
            if page not in pages or (anchor and anchor not in anchors[page]):
                yield name, target


def main(out):
    pages = make()
    out.mkdir(parents=True, exist_ok=True)
    shutil.copytree(ROOT / "docs" / "images", out / "images", dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.py"))
    index = [s for name, (title, body) in pages.items() for s in sections(name, title, body)]
    (out / "index.js").write_text("const INDEX=" + json.dumps(index, ensure_ascii=False).replace("</", "<\\/") + ";")
    (out / "search.js").write_text(SCRIPT)
    (out / "style.css").write_text(STYLE)
    for name in pages:
        (out / f"{name}.html").write_text(page_html(pages, name))
    broken = list(broken_links(pages))
    for page, link in broken:
        print(f"{page}: the link to {link} leads nowhere", file=sys.stderr)
    print(f"{out}/index.html: {len(pages)} pages, {len(index)} entries to search")
    return broken


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
