#!/bin/sh
# usage: run.sh SECONDS TARGET
# Fuzzes one target in build-asan, or Python's calls, and says how it ended; ./dev fuzz builds them. $STI_FUZZ_SEED: where the random
# numbers begin. With it a run can be repeated: as many inputs as a common machine tries in that time, however long they take here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
seconds=$1 target=$2 log=$PWD/build-asan/$2.log
seed=${STI_FUZZ_SEED:-}

# inputs a second
pace() {
    case $target in
    step) echo 8;;
    python) echo 12;;
    files|viewer) echo 120;;
    load) echo 1000;;
    tets) echo 2000;;
    collide) echo 5000;;
    *) echo 40000;;
    esac
}

fuzz_c() {
    if [ "$seed" ]; then
        rm -rf "build-asan/corpus-$target"
        until="-runs=$((seconds * $(pace)))"
    else until="-max_total_time=$seconds"; fi
    sh tests/fuzz/seed.sh "$target" "build-asan/corpus-$target"
    ASAN_OPTIONS=detect_leaks=1 "build-asan/tests/fuzz/fuzz_$target" "$until" -timeout=60 -rss_limit_mb=2048 \
        -max_len=8192 -seed="${seed:-0}" -artifact_prefix="build-asan/$target-" -dict="build-asan/corpus-$target.dict" "build-asan/corpus-$target"
}

# the extension beside the package's files; the sanitizer's library has to be there before Python's own. Calls write files by odd names:
# in a folder of their own
fuzz_python() {
    root=$PWD
    mkdir -p build-asan/package/stiction build-asan/written
    cp python/stiction/*.py build-asan/python/_core*.so build-asan/package/stiction/
    until=$seconds
    if [ "$seed" ]; then until="1e9 $seed $((seconds * $(pace)))"; fi
    cd build-asan/written
    # shellcheck disable=SC2086
    LD_PRELOAD=$(clang-16 -print-file-name=libclang_rt.asan-x86_64.so) UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
        ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096 \
        PYTHONPATH=$root/build-asan/package "$root/.venv/bin/python" "$root/tests/fuzz/fuzz_python.py" $until
}

if [ "$target" = python ]; then kind=fuzz_python; else kind=fuzz_c; fi
if ! $kind > "$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "the fuzzer found a problem in $target: $log" >&2
    exit 1
fi
printf '%s: %s\n' "$target" "$(tail -n 1 "$log")"
