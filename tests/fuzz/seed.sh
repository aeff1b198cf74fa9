#!/bin/sh
# usage: seed.sh load|step|files|viewer|mesh|collide|patch|tets FOLDER
# Fills a corpus with starting points and writes FOLDER.dict, words that the fuzzer may put in.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../..
target=$1 out=$2
mkdir -p "$out"

seed_load() {
    for f in "$root"/scenes/*.xml; do
        [ -f "$f" ] && [ "$(wc -c < "$f")" -lt 20000 ] && cp "$f" "$out/"
    done
    # the scene of the other robustness tests: the string lines of the two literals, with and without its include
    lines() { sed -n "/$1\[\]/,/;\$/p" "$here/../robust.h" | sed -n 's/^"\(.*\)\\n".*/\1/p'; }
    lines everything_xml > "$out/everything.xml"
    { lines everything_xml | sed '/include file/,$d'; lines part_xml | sed '1d;$d'; lines everything_xml | sed '1,/include file/d'; } > "$out/whole.xml"
    {
        sed -n 's/^NAME(\([a-z0-9_]*\)).*/"\1="/p' "$root/src/load/names.def"
        sed -n 's/^ELEM([a-z0-9_]*, "\([a-z0-9_]*\)".*/"<\1"/p' "$root/src/load/schema.def"
        sed -n 's/.*"\([a-z|!-]*|[a-z|!-]*\)".*/\1/p' "$root/src/load/schema.def" | tr -s '|!-' '\n\n\n' | sed -n 's/^\([a-z]\{1,\}\)$/"\1"/p'
        printf '%s\n' '"/>"' '"cube.stl"' '"part.xml"' '"1e308"' '"-1"' '"nan"' '"0 0 0"' '"1 0 0 0"' '"<sti:record xmlns:sti=\x22urn:stiction\x22"'
    } | sort -u > "$out.dict"
}

# one byte for the format (0 STL, 1 OBJ, 2 MSH), then the file
seed_mesh() {
    v='v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n'
    printf "\\001${v}f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n" > "$out/tet.obj"
    printf "\\001# a quad\n${v}v 1 1 1\nvt 0 0\nvn 0 0 1\nf 1/1/1 2/1/1 5/1/1 3/1/1\nf -1//1 -2//1 -3//1\n" > "$out/quad.obj"
    {
        printf '\000solid t\n'
        for t in '0 0 0;0 1 0;1 0 0' '0 0 0;1 0 0;0 0 1' '0 0 0;0 0 1;0 1 0' '1 0 0;0 1 0;0 0 1'; do
            printf 'facet normal 0 0 1\nouter loop\n'
            printf '%s\n' "$t" | tr ';' '\n' | sed 's/^/vertex /'
            printf 'endloop\nendfacet\n'
        done
        printf 'endsolid t\n'
    } > "$out/tet.stl"
    zero='\000\000\000\000' one='\000\000\200\077'
    {
        printf '\000'
        head -c 80 /dev/zero
        printf '\004\000\000\000'
        for t in "$zero$zero$zero$zero$one$zero$one$zero$zero" "$zero$zero$zero$one$zero$zero$zero$zero$one" \
                 "$zero$zero$zero$zero$zero$one$zero$one$zero" "$one$zero$zero$zero$one$zero$zero$zero$one"; do
            printf "$zero$zero$zero$t\\000\\000"
        done
    } > "$out/tet_binary.stl"
    { # counts of vertices, normals, texture coordinates, faces
        printf '\002\004\000\000\000\000\000\000\000\000\000\000\000\004\000\000\000'
        printf "$zero$zero$zero$one$zero$zero$zero$one$zero$zero$zero$one"
        for i in 0 2 1 0 1 3 0 3 2 1 2 3; do printf "\\00$i\\000\\000\\000"; done
    } > "$out/tet.msh"
    printf '%s\n' '"vertex "' '"facet normal "' '"endsolid"' '"f "' '"v "' '"vn "' '"1e38"' '"nan"' '"//"' '"\x00\x00\x80\x3f"' > "$out.dict"
}

# two shapes: type, position, quaternion, sizes; the numbers are places in the target's table
seed_collide() {
    for i in 0 1 2 3 4 5 6 7; do
        for j in 2 3 4 5 6 7; do
            printf "\\00$i\\000\\000\\000\\001\\000\\000\\000\\003\\005\\021\\00$j\\021\\000\\003\\001\\003\\000\\000\\003\\021\\005" > "$out/pair_$i$j"
        done
    done
    printf '%s\n' '"\x00"' '"\x01"' > "$out.dict"
}

# corners of two tets and a triangle: a kind, then three places in the target's table of numbers
seed_patch() {
    tet='\000\000\000\000\000\001\000\000\000\000\001\000\000\000\000\001'
    for i in 0 3 4 5; do
        half="\\000\\00$i\\003\\003\\000\\001\\00$i\\000\\000\\000\\001\\00$i\\000\\005\\005\\001"
        printf "$tet$half$half\000\001\001\003\003\000\005\001\000\000\000\005\000\000\000\001\001" > "$out/tets_$i"
    done
    printf '%s\n' '"\x00"' '"\x01"' > "$out.dict"
}

# files of tetrahedra as they are; a first byte of 255 means a surface: vertices, edge, places, triangles
seed_tets() {
    points='POINTS 5 double\n0 0 0 1 0 0 0 1 0 0 0 1 1 1 1\n'
    head='t\nASCII\nDATASET UNSTRUCTURED_GRID\n'
    printf "# vtk DataFile Version 3.0\n${head}${points}CELLS 2 10\n4 0 1 2 3\n4 1 2 3 4\nCELL_TYPES 2\n10 10\n" > "$out/pair3.vtk"
    printf "# vtk DataFile Version 5.1\n${head}${points}CELLS 3 8\nOFFSETS vtktypeint64\n0 4 8\nCONNECTIVITY vtktypeint64\n0 1 2 3 1 2 3 4\nCELL_TYPES 2\n10 10\n" > "$out/pair5.vtk"
    printf '$MeshFormat\n2.2 0 8\n$EndMeshFormat\n$Nodes\n4\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n$EndNodes\n$Elements\n2\n1 2 2 0 1 1 2 3\n2 4 2 0 1 1 2 3 4\n$EndElements\n' > "$out/two.msh"
    printf '$MeshFormat\n4.1 0 8\n$EndMeshFormat\n$Nodes\n1 4 1 4\n3 1 0 4\n1\n2\n3\n4\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n$EndNodes\n$Elements\n1 1 1 1\n3 1 4 1\n1 1 2 3 4\n$EndElements\n' > "$out/four.msh"
    printf '\377\004\000\000\000\000\177\000\000\000\177\000\000\000\177\000\002\001\000\001\003\000\003\002\001\002\003' > "$out/tet.surface"
    printf '%s\n' '"POINTS "' '"CELLS "' '"CELL_TYPES "' '"BINARY"' '"ASCII"' '"FIELD "' '"METADATA"' '"$Nodes"' '"$Elements"' '"$EndNodes"' '"4.1 1 8"' '"2.2 1 8"' '"vtktypeint64"' '"nan"' > "$out.dict"
}

seed_step() { seed_load; }

# a file, then changes of four bytes: dataset, kind, where, what
seed_files() {
    for i in 0 1 2 3 4; do
        printf "\\00$i" > "$out/whole_$i"
        for k in 0 1 2 3; do printf "\\00$i\\00$k\\00$k\\001\\011" > "$out/change_$i$k"; done
    done
    printf '%s\n' '"\x00"' '"\x01"' > "$out.dict"
}

# a viewer, then commands in short form, and a moment to act
seed_viewer() {
    for v in 0 1 2 3 4 6; do
        for op in 1 2 3 4 5 6 7; do printf "\\00$v\\000\\00$op\\001\\001\\001\\001\\000\\000\\000\\011\\300\\000\\01$op\\001\\001\\001\\001\\000\\000\\000\\011\\300" > "$out/command_$v$op"; done
    done
    printf '%s\n' '"\xc0"' '"\x00"' > "$out.dict"
}

"seed_$target"
if [ -d "$here/corpus/$target" ]; then cp "$here/corpus/$target"/* "$out/"; fi
