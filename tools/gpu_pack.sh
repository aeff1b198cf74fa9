#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu_pack.sh BUILD PTX OUT: what a machine with a GPU needs to run tests and benchmarks, when it has a C compiler and Python but none of
# the libraries: programs, the shared libraries they use, the compiled device program.
set -eu
build=$1 ptx=$2 out=$3
rm -rf "$out"
mkdir -p "$out/lib"
for program in tests/test_gpu tests/test_device_worlds tests/test_device_orders bench/bench_gpu; do
    cp "$build/$program" "$out"
    strip "$out/$(basename "$program")"
done
# Gymnasium's robots, for the benchmarks
assets=$("${STICTION_PYTHON:-python3}" -c 'import gymnasium, pathlib; print(pathlib.Path(gymnasium.__file__).parent / "envs/mujoco/assets")' 2>/dev/null || true)
if [ -d "$assets" ]; then
    mkdir -p "$out/robots"
    cp "$assets/humanoid.xml" "$assets/ant.xml" "$out/robots"
    sed 's/integrator="RK4"/integrator="Euler"/' "$assets/humanoid.xml" > "$out/robots/humanoid_euler.xml"
fi
ldd "$out/test_gpu" | awk '$3 ~ /^\// {print $3}' | grep -vE '/(libc|libm|ld-linux[^/]*|libresolv)\.so' | xargs -I{} cp -L {} "$out/lib"
gzip -9c "$ptx" > "$out/device.ptx.gz"
tar czf "$out/modules.tar.gz" -C "$(dirname "$(find "$build" -type d -name modules | head -n 1)")" modules
du -sh "$out" >&2
