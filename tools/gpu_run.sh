#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu_run.sh PACK build|test|bench [arguments of bench_gpu]: in the repository's root, on a machine with a GPU, with what gpu_pack.sh made.
set -eu
pack=$(cd "$1" && pwd) command=$2
shift 2
[ -d /usr/local/cuda/bin ] && PATH=$PATH:/usr/local/cuda/bin
if [ ! -f "$pack/libstiction_cuda.so" ]; then
    gunzip -kf "$pack/device.ptx.gz"
    tar xzf "$pack/modules.tar.gz" -C "$pack"
    ptxas=$(command -v ptxas || true)
    begin=$(date +%s)
    python3 tools/device_program.py --made --work "$pack" --out "$pack/device.ptx" --embed "$pack/device_program.S" \
        ${ptxas:+--ptxas "$ptxas" --cubin "$pack/device.cubin"}
    cc -std=gnu17 -D_GNU_SOURCE -O2 -fPIC -shared -fvisibility=hidden -Iinclude -Isrc src/gpu/cuda/cuda.c "$pack/device_program.S" -ldl \
        -o "$pack/libstiction_cuda.so"
    echo "built libstiction_cuda.so in $(($(date +%s) - begin)) s" >&2
fi
export STI_CUDA_LIBRARY="$pack/libstiction_cuda.so" STI_SCENES="$PWD/scenes"
export LD_LIBRARY_PATH="${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$pack/lib"
case $command in
build) ;;
test) STI_TEST_DEVICE=cuda "$pack/test_gpu" ;;
bench) "$pack/bench_gpu" "$@" ;;
*) echo "gpu_run.sh: build, test or bench" >&2; exit 2 ;;
esac
