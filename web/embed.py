# SPDX-License-Identifier: Apache-2.0
"""The files of the page as compressed C arrays: embed.py OUT.c FILE..."""
import gzip
import pathlib
import sys

TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def main(out, *files):
    parts, table = ['/* Written by web/embed.py. */', '#include "server.h"'], []
    for i, path in enumerate(map(pathlib.Path, files)):
        text = path.read_bytes()
        if path.suffix == ".js":  # the browser resolves paths, not names of packages
            text = text.replace(b"from 'three'", b"from './three.module.js'")
        data = gzip.compress(text, 9, mtime=0)
        lines = (",".join(map(str, data[k:k + 32])) for k in range(0, len(data), 32))
        parts.append(f"static const uint8_t file{i}[] = {{\n" + ",\n".join(lines) + "};")
        table.append(f'    {{"{path.name}", "{TYPES[path.suffix]}", file{i}, sizeof file{i}}},')
    parts += ["const asset page_assets[] = {", *table, "};", f"const int page_nasset = {len(table)};"]
    pathlib.Path(out).write_text("\n".join(parts) + "\n")


main(*sys.argv[1:])
