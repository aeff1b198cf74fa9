#!/bin/sh
# same_hash.sh BUILD...: the same scenes stepped by each build must end in the same state, bit for bit.
set -eu
cd "$(dirname "$0")/.."
status=0
for scene in scenes/*.xml; do
    first=
    for build in "$@"; do
        hash=$("$build/cli/stiction" run "$scene" --time 1 --quiet | sed -n 's/.*hash[ =:]*\([0-9a-f]\{16\}\).*/\1/p')
        [ -n "$hash" ] || { echo "$build: no hash for $scene"; exit 1; }
        : "${first:=$hash}"
        [ "$hash" = "$first" ] || { echo "$scene: $build gives $hash, $1 gives $first"; status=1; }
    done
    echo "$scene $first"
done
exit $status
