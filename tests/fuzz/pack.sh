#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pack.sh OUT [WHEEL...]: what another machine needs to fuzz with many processors, when it has none of the libraries: the targets of
# build-asan, the shared libraries they use, corpora and dictionaries, in an archive beside many.sh as run.sh. Wheels are for that machine's
# Python, NumPy where it has none.
set -eu
cd "$(dirname "$0")/../.."
final=$1
shift
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
mkdir -p "$out/lib" "$out/package/stiction" "$out/problems"
for target in step files viewer load mesh collide patch tets; do
    [ -x "build-asan/tests/fuzz/fuzz_$target" ] || continue
    strip -o "$out/fuzz_$target" "build-asan/tests/fuzz/fuzz_$target"
    sh tests/fuzz/seed.sh "$target" "$out/corpus-$target"
done
if [ -f build-asan/python/_core.abi3.so ]; then
    cp python/stiction/*.py "$out/package/stiction/"
    strip -o "$out/package/stiction/_core.abi3.so" build-asan/python/_core.abi3.so
    cp "$(clang-16 -print-file-name=libclang_rt.asan-x86_64.so)" "$out/lib"
fi
for program in "$out"/fuzz_* "$out"/package/stiction/*.so; do ldd "$program"; done | awk '$3 ~ /^\// {print $3}' | sort -u |
    grep -vE '/(libc|libm|libpthread|libdl|librt|ld-linux[^/]*|libresolv)\.so' | xargs -I{} cp -L {} "$out/lib"
cp tests/problems/stack_fclib.hdf5 tests/problems/mixed.h5 "$out/problems"
cp tests/fuzz/fuzz_python.py "$out"
for wheel in "$@"; do cp "$wheel" "$out"; done
git rev-parse HEAD > "$out/commit"
rm -rf "$final"
mkdir -p "$final"
# the programs have most of their bytes in common: a window that sees them all
tar -C "$out" -cf - . | xz -T1 --lzma2=preset=2,dict=192MiB > "$final/pack.tar.xz"
cp tests/fuzz/many.sh "$final/run.sh"
du -sh "$final" >&2
