# SPDX-License-Identifier: Apache-2.0
"""Copies what the viewer needs of three.js into a source archive (meson dist)."""
import os
import pathlib
import shutil

FILES = ("LICENSE", "package.json", "build/three.module.js", "build/three.core.js", "examples/jsm/controls/OrbitControls.js",
         "examples/jsm/utils/BufferGeometryUtils.js")
source = pathlib.Path(os.environ["MESON_SOURCE_ROOT"]) / "web" / "node_modules" / "three"
target = pathlib.Path(os.environ["MESON_DIST_ROOT"]) / "web" / "node_modules" / "three"
if not source.exists():
    print("three.js is not there: the archive is without the viewer")
for name in FILES if source.exists() else ():
    (target / name).parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source / name, target / name)
