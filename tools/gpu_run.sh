#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# gpu_run.sh PACK build|test|bench|all [arguments of bench_gpu]: in the repository's root, on a machine with a GPU, with what gpu_pack.sh made.
# all: the tests, then the benchmarks of docs/gpu.md, in at most $STI_SECONDS (420) once it is built.
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
begun=$(date +%s)
# timed PROGRAM ARGUMENTS: ended when the time is over
timed() {
    left=$((${STI_SECONDS:-420} - ($(date +%s) - begun)))
    if [ $left -le 0 ]; then echo "no time is left for $*" >&2; return 1; fi
    timeout $left "$@"
}
test_all() {
    for program in test_gpu test_device_worlds test_device_orders; do STI_TEST_DEVICE=cuda timed "$pack/$program" || return 1; done
}
# measure FILE WORLDS...: steps per second, certificate, bits
measure() {
    if [ -f "$1" ]; then
        file=$1
        shift
        timed "$pack/bench_gpu" "$file" cuda 50 4 "$@" || failed=1
    fi
}
case $command in
build) ;;
test) test_all ;;
all)
    test_all || failed=1
    [ -d "$pack/robots" ] || echo "no robots in the pack: their benchmarks are left out" >&2
    robots=$pack/robots
    measure "$robots/humanoid.xml" 1024 8192 32768 65536
    measure "$robots/humanoid_euler.xml" 32768
    measure "$robots/ant.xml" 32768
    measure scenes/quadruped.xml 8192 32768
    measure scenes/panda_lift.xml 8192
    measure scenes/double_pendulum.xml 32768
    measure scenes/soft_ball.xml 16
    exit ${failed:-0} ;;
bench) "$pack/bench_gpu" "$@" ;;
*) echo "gpu_run.sh: build, test, bench or all" >&2; exit 2 ;;
esac
