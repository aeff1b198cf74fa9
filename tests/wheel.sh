#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a wheel into an empty environment and uses it as a new user would, without compilers or libraries of the system:
# wheel.sh WHEEL PYTHON
set -eu
wheel=$1 python=$2
work=$(mktemp -d)
trap 'kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT
server=
cp "$wheel" "$work"
cd "$work"
"$python" -m venv env
env/bin/python -m pip install -q --disable-pip-version-check --only-binary :all: ./*.whl
PATH=$work/env/bin:/usr/bin:/bin
unset LD_LIBRARY_PATH PYTHONPATH
export PATH
# the package, its compiled part and every module that needs nothing else
cat >use.py <<'EOF'
import gzip, importlib, os, re, urllib.request
import numpy
def libraries():
    return {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
before = libraries()  # of Python itself and numpy
import stiction
assert stiction.__file__.startswith(os.getcwd()), stiction.__file__
for name in "batch control coupled mesh mujoco mujoco.viewer problem viewer".split():
    importlib.import_module("stiction." + name)
scenes = os.path.join(os.path.dirname(stiction.__file__), "scenes")
model = stiction.Model.from_xml_path(os.path.join(scenes, "figure.xml"))
data = stiction.Data(model)
stiction.step(model, data, 100)
assert data.time > 0 and data.converged
assert stiction.render(model, data, 64, 48).any()
with stiction.Recorder("run.h5", data) as recorder:
    recorder.frame()
# all libraries but those that manylinux promises came with the wheel
promised = r"/(libc|libm|libdl|librt|libpthread|libresolv|libnss_\w+|libz|libexpat)\.so|/python3"
foreign = [x for x in libraries() - before if not x.startswith(os.getcwd()) and not re.search(promised, x)]
assert not foreign, foreign
with stiction.viewer.launch_passive(model, data) as viewer:
    page = urllib.request.urlopen(viewer.url, timeout=10).read()
    page = gzip.decompress(page) if page[:2] == b"\x1f\x8b" else page
    assert b"<html" in page.lower()
print("package: stiction", stiction.__version__)
EOF
env/bin/python use.py
# the program, by its name and with its scenes
stiction --version
stiction run figure.xml --key leap --time 0.2 --record demo.h5 --size 160x120 --picture demo.png >demo.txt
test -s demo.h5 && test -s demo.png && cat demo.txt
stiction bench --steps 20 >bench.txt
grep quadruped.xml bench.txt
stiction view scenes/arm.xml --port 0 >view.txt 2>&1 &
server=$!
for _ in 1 2 3 4 5 6 7 8 9 10; do
    url=$(grep -o 'http://[^ ]*' view.txt | head -n 1) || true
    [ -n "$url" ] && break
    sleep 1
done
"$work/env/bin/python" -c 'import sys, urllib.request; assert urllib.request.urlopen(sys.argv[1], timeout=10).status == 200' "$url"
echo "viewer: $url"
