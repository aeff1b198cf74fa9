#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs into a folder and builds the example against it, as a user would: install.sh BUILD SOURCE
set -eu
build=$1 source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
command -v meson >/dev/null && command -v pkg-config >/dev/null || exit 77 # skipped
meson install -C "$build" --no-rebuild --destdir "$work/root" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
PKG_CONFIG_SYSROOT_DIR=$work/root
PKG_CONFIG_PATH=$(dirname "$(find "$work/root" -name stiction.pc)")
LD_LIBRARY_PATH=$(dirname "$(find "$work/root" -name 'libstiction.so')")
export PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_PATH LD_LIBRARY_PATH
flags=$(pkg-config --cflags --libs stiction)
# shellcheck disable=SC2086
cc -std=c17 -Wall -Wextra -Werror "$source/examples/hello.c" $flags -o "$work/hello"
"$work/hello" "$source/scenes/arm.xml" | grep -q 'state hash'
"$(find "$work/root" -type f -name stiction -perm -u+x)" --version | grep -q "$(pkg-config --modversion stiction)"
if command -v c++ >/dev/null; then
    printf '#include <stiction/stiction.h>\nint main() { return *sti_version() == 0; }\n' >"$work/hello.cpp"
    # shellcheck disable=SC2086
    c++ -std=c++17 -Wall -Wextra -Werror "$work/hello.cpp" $flags -o "$work/hello++"
    "$work/hello++"
fi
# every header stands alone
for header in "$source"/include/stiction/*.h; do
    printf '#include <stiction/%s>\nint unused;\n' "$(basename "$header")" >"$work/header.c"
    # shellcheck disable=SC2086
    cc -std=c17 -pedantic -Wall -Wextra -Werror -fsyntax-only $flags "$work/header.c"
done
# only sti_ names, and none of the internal ones
if nm -D --defined-only "$LD_LIBRARY_PATH/libstiction.so" | awk '{print $3}' | grep -v '^sti_[a-z]'; then
    echo "FAIL: the library exports names that are not public"
    exit 1
fi
