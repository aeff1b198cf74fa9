#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu_pack.sh BUILD PTX OUT: what a machine with a GPU needs to run tests and benchmarks, when it has a C compiler and Python but none of
# the libraries: programs, the shared libraries they use, the compiled device program.
set -eu
build=$1 ptx=$2 out=$3
rm -rf "$out"
mkdir -p "$out/lib"
cp "$build/tests/test_gpu" "$build/bench/bench_gpu" "$out"
strip "$out/test_gpu" "$out/bench_gpu"
ldd "$out/test_gpu" | awk '$3 ~ /^\// {print $3}' | grep -vE '/(libc|libm|ld-linux[^/]*|libresolv)\.so' | xargs -I{} cp -L {} "$out/lib"
gzip -9c "$ptx" > "$out/device.ptx.gz"
tar czf "$out/modules.tar.gz" -C "$(dirname "$(find "$build" -type d -name modules | head -n 1)")" modules
du -sh "$out" >&2
