#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh SECONDS [TARGET=WORKERS...]: fuzzes with many workers at once, from what pack.sh made; default step=6 files=5 viewer=5, else also
# load, mesh, collide, patch, tets, python.
# Each worker has its own corpus, seed, folder of findings and log, and begins anew after a finding until its time is over. In the end a
# line for each part of a worker: target, worker, seed, executions, seconds, verdict. Logs and findings go to $OUT, or results/ beside this.
set -u
pack=$(cd "$(dirname "$0")" && pwd)
seconds=$1
shift
[ $# -gt 0 ] || set -- step=6 files=5 viewer=5
out=${OUT:-$pack/results}
work=$(mktemp -d /tmp/stiction-many-XXXXXX)
mkdir "$work/pack"
python=${PYTHON:-python3}
"$python" -c 'import sys, tarfile; tarfile.open(sys.argv[1]).extractall(sys.argv[2])' "$pack/pack.tar.xz" "$work/pack" || exit 1
pack=$work/pack
mkdir -p "$out"
export LD_LIBRARY_PATH="$pack/lib" STI_PROBLEMS="$pack/problems" UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
for wheel in "$pack"/*.whl; do # NumPy, where the machine has none
    [ ! -f "$wheel" ] || "$python" -c 'import numpy' 2>/dev/null || "$python" -m zipfile -e "$wheel" "$pack/package"
done

# fuzz_c TARGET SEED SECONDS FOLDER
fuzz_c() {
    ASAN_OPTIONS=detect_leaks=1 "$pack/fuzz_$1" -max_total_time="$3" -timeout=60 -rss_limit_mb=2048 -max_len=8192 -seed="$2" \
        -print_final_stats=1 -artifact_prefix="$4/$1-$2-" -dict="$pack/corpus-$1.dict" "$4/corpus"
}

fuzz_python() {
    LD_PRELOAD=$pack/lib/libclang_rt.asan-x86_64.so \
        ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=4096 \
        PYTHONPATH=$pack/package "$python" "$pack/fuzz_python.py" "$3" "$2"
}

executions() {
    if [ "$1" = python ]; then grep -c '^seed ' "$2"
    else
        sed -n 's/^stat::number_of_executed_units: *//p' "$2" | grep . || sed -n 's/^#\([0-9]*\).*/\1/p' "$2" | tail -n 1
    fi
}

# worker TARGET NUMBER
worker() {
    local target=$1 folder=$work/$1-$2 end=$(($(date +%s) + seconds)) kind=fuzz_c left seed log begin rc
    mkdir -p "$folder"
    if [ "$target" = python ]; then kind=fuzz_python; else cp -r "$pack/corpus-$target" "$folder/corpus"; fi
    while left=$((end - $(date +%s))); [ "$left" -gt 5 ]; do
        seed=$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')
        log=$folder/$target-$2-$seed.log begin=$(date +%s)
        $kind "$target" "$seed" "$left" "$folder" > "$log" 2>&1
        rc=$?
        echo "$target $2 seed $seed executions $(executions "$target" "$log" | tail -n 1) seconds $(($(date +%s) - begin))" \
            "$([ "$rc" = 0 ] && echo nothing found || echo "FINDING exit $rc: $(grep -m 1 -E 'does not hold|ERROR|runtime error|Error' "$log")")" \
            >> "$work/summary"
    done
}

for spec in "$@"; do
    for n in $(seq "${spec#*=}"); do worker "${spec%%=*}" "$n" & done
done
wait
sort "$work/summary" | tee "$out/summary.txt"
awk '{s[$1] += $8; e[$1] += $6; if (/FINDING/) f[$1]++} END {for (t in s) printf "%s: %d executions, %.1f minutes, %d findings\n", t, e[t], s[t] / 60, f[t]}' \
    "$out/summary.txt" | tee -a "$out/summary.txt"
cd "$work" || exit 1
find . -name '*.log' -print0 | tar --null -czf "$out/logs.tar.gz" -T -
find . -regex '.*/[a-z]+-[0-9]+-\(crash\|timeout\|oom\|leak\|slow-unit\)-.*' -print0 | tar --null -czf "$out/findings.tar.gz" -T -
rm -rf "$work"
