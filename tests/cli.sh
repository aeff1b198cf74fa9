#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Exit status and output of each command: cli.sh PATH-TO-STICTION
case $1 in /*) stiction=$1 ;; *) stiction=$PWD/$1 ;; esac
problems=$(cd "$(dirname "$0")/problems" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

# expect STATUS PATTERN COMMAND...: PATTERN is a basic regular expression for stdout and stderr together
expect() {
    status=$1 pattern=$2
    shift 2
    "$@" >out.txt 2>&1 </dev/null
    got=$?
    if [ "$got" != "$status" ] || ! grep -q -- "$pattern" out.txt; then
        echo "FAIL: $* gave status $got, expected $status and \"$pattern\":"
        sed 's/^/    /' out.txt
        failures=$((failures + 1))
    fi
}

cat >robot.xml <<'XML'
<mujoco model="two links">
  <worldbody>
    <camera name="side" pos="0 -2 0" euler="90 0 0"/>
    <body name="upper" pos="0 0 1">
      <joint name="shoulder" axis="0 1 0" range="-90 90"/>
      <geom name="rod" type="capsule" size="0.02" fromto="0 0 0 0.3 0 0"/>
      <body name="lower" pos="0.3 0 0">
        <joint name="elbow" axis="0 1 0"/>
        <geom type="sphere" size="0.05"/>
        <site name="tip"/>
      </body>
    </body>
  </worldbody>
  <actuator><motor name="m1" joint="shoulder" ctrlrange="-1 1"/><motor name="m2" joint="elbow"/></actuator>
  <sensor><gyro name="imu" site="tip"/></sensor>
  <keyframe><key name="up" qpos="0.5 0.5"/></keyframe>
</mujoco>
XML
cat >bad.xml <<'XML'
<mujoco>
  <worldbody>
    <body>
      <geom type="spere" size="1"/>
      <joint axes="0 0 1"/>
    </body>
  </worldbody>
</mujoco>
XML
printf '<mujoco>\n<worldbody>\n' >broken.xml

# a box of 4 x 2 x 2, an open one, and a tet turned inside out
cat >box.obj <<'OBJ'
v -2 -1 -1
v -2 -1 1
v -2 1 -1
v -2 1 1
v 2 -1 -1
v 2 -1 1
v 2 1 -1
v 2 1 1
f 1 2 4 3
f 5 7 8 6
f 1 5 6 2
f 3 4 8 7
f 1 3 7 5
f 2 6 8 4
OBJ
sed '$d' box.obj >open.obj
printf '# vtk DataFile Version 3.0\nt\nASCII\nDATASET UNSTRUCTURED_GRID\nPOINTS 4 double\n0 0 0 1 0 0 0 1 0 0 0 1\nCELLS 1 5\n4 0 2 1 3\nCELL_TYPES 1\n10\n' >tet.vtk

# ---- the program ------------------------------------------------------------------------------
expect 2 '^usage: stiction COMMAND' "$stiction"
expect 0 'examples:' "$stiction" --help
expect 0 'examples:' "$stiction" help
expect 0 '^stiction [0-9]' "$stiction" --version
expect 0 '^stiction [0-9]' "$stiction" version
expect 2 'did you mean "run"' "$stiction" rnu
expect 2 'no command "xylophone"' "$stiction" xylophone
for command in run info check profile bench picture plot; do
    expect 0 '^examples:' "$stiction" $command --help
    expect 0 "^usage: stiction $command" "$stiction" help $command
    expect 2 'there is no option --nonsense' "$stiction" $command --nonsense
done
for command in run info check profile picture plot; do expect 2 'which file' "$stiction" $command; done
for command in run info check profile picture bench; do
    expect 1 'missing.xml' "$stiction" $command missing.xml
    expect 1 'bad.xml:[45]' "$stiction" $command bad.xml
done
[ -w /dev/full ] && expect 1 'No space' sh -c '"$0" info robot.xml >/dev/full' "$stiction"

# ---- run ----------------------------------------------------------------------------------------
expect 0 '^500 steps  1.000 s simulated .* steps/s  energy .* to .* J  certificate <= .* hash [0-9a-f]\{16\}$' "$stiction" run robot.xml
expect 0 '^ 50%' "$stiction" run robot.xml
expect 0 '^50 steps' "$stiction" run robot.xml --time=0.1 --quiet
[ "$(wc -l <out.txt)" = 1 ] || { echo "FAIL: --quiet is not quiet"; failures=$((failures + 1)); }
expect 0 '^1000 steps' "$stiction" run robot.xml --timestep 0.001 --key up --integrator RK4
expect 0 'hash' "$stiction" run robot.xml --random 3
expect 0 'hash' "$stiction" run robot.xml --ctrl 0.5,0.1
expect 0 'hash' "$stiction" run robot.xml --ctrl 0.5
expect 2 'did you mean --time?' "$stiction" run robot.xml --tiem 2
expect 1 '^none.xml: cannot be read: no such file' "$stiction" run none.xml
expect 1 '^model/none.xml: cannot be read: no such file' "$stiction" run model/none.xml
printf '<mujoco>\n<worldbody>\n<jiont/>\n<geom sise="1"/>\n</worldbody>\n</mujoco>' >twice.xml
expect 1 'did you mean .size.' "$stiction" run twice.xml
[ "$(grep -c jiont out.txt)" = 1 ] || { echo "FAIL: an error is said twice"; failures=$((failures + 1)); }
expect 2 'needs a number' "$stiction" run robot.xml --time soon
expect 2 'needs a value' "$stiction" run robot.xml --time
expect 2 'negative' "$stiction" run robot.xml --time -1
expect 2 'no integrator "euler2"' "$stiction" run robot.xml --integrator euler2
expect 2 'has 2 controls' "$stiction" run robot.xml --ctrl 1,2,3
expect 2 'exclude each other' "$stiction" run robot.xml --ctrl 1 --keys up,up
expect 2 'two keyframes or more' "$stiction" run robot.xml --keys up
expect 2 'no keyframe "down"' "$stiction" run robot.xml --keys up,down
expect 0 'hash' "$stiction" run robot.xml --keys up,0
expect 1 'make the folder' "$stiction" run robot.xml --picture nowhere/end.png
expect 1 'no keyframe "down"' "$stiction" run robot.xml --key down
expect 0 'hash' "$stiction" run robot.xml --record run.h5 --interval 0.01 --quiet
[ -s run.h5 ] || { echo "FAIL: no recording"; failures=$((failures + 1)); }
expect 1 'stopped by a signal' sh -c '"$0" run robot.xml --time 1e9 --record long.h5 & sleep 0.5; kill $!; wait $!' "$stiction"
expect 1 'nowhere/run.h5' "$stiction" run robot.xml --record nowhere/run.h5
expect 1 'no field "nonsense"' "$stiction" run robot.xml --record run.h5 --fields "qpos nonsense"
"$stiction" run robot.xml --quiet --random 3 | sed 's/.*hash//' >a.txt
"$stiction" run robot.xml --quiet --random 3 --record run.h5 | sed 's/.*hash//' >b.txt
cmp -s a.txt b.txt || { echo "FAIL: recording changes the result"; failures=$((failures + 1)); }

# ---- info, check ----------------------------------------------------------------------------------
expect 0 'two links' "$stiction" info robot.xml
expect 0 '2 degrees of freedom' "$stiction" info robot.xml
expect 0 '^ *lower .*\[elbow hinge\]' "$stiction" info robot.xml
expect 0 'm1 .*shoulder' "$stiction" info robot.xml
expect 0 'imu .*gyro' "$stiction" info robot.xml
expect 0 '<mujoco' "$stiction" info --plain robot.xml
"$stiction" info --plain robot.xml >plain.xml && expect 0 '2 degrees of freedom' "$stiction" info plain.xml
expect 0 'geom' "$stiction" info --schema
expect 0 'robot.xml: ok, 0 errors' "$stiction" check robot.xml
expect 1 'bad.xml: failed, [2-9] errors' "$stiction" check bad.xml
expect 1 'bad.xml:5: joint@axes' "$stiction" check bad.xml
expect 1 'broken.xml' "$stiction" check broken.xml
expect 1 '1 of 2 files' "$stiction" check robot.xml bad.xml
cat >overlap.xml <<'XML'
<mujoco><worldbody><geom type="box" size=".1 .1 .1"/><body name="link" pos="0 0 .18">
<joint axis="0 0 1"/><geom type="box" size=".05 .05 .1" mass="1"/></body></worldbody></mujoco>
XML
expect 0 'links world and link overlap by 20 mm in a direction that their joints cannot open' "$stiction" check overlap.xml
expect 1 'failed, 0 errors, 1 warning' "$stiction" check --strict overlap.xml
expect 0 'links world and link overlap by 20 mm' "$stiction" run overlap.xml --time 0.01

# ---- profile, bench, picture, plot -------------------------------------------------------------------
expect 0 '^ *kinematics .* 50$' "$stiction" profile robot.xml --steps 50 --trace trace.json
grep -q '"name":"kinematics","ph":"X"' trace.json || { echo "FAIL: no trace"; failures=$((failures + 1)); }
expect 2 'positive' "$stiction" profile robot.xml --steps 0
expect 0 '^robot.xml  *2  *2  *100 .* [0-9a-f]\{16\}$' "$stiction" bench robot.xml --steps 100
expect 0 'p.png' "$stiction" picture robot.xml -o p.png --size 64x48 --time 0.1 --key up
head -c 8 p.png | od -An -c | grep -q 'P   N   G' || { echo "FAIL: not a PNG"; failures=$((failures + 1)); }
expect 0 'p2.png' "$stiction" picture robot.xml -o p2.png --size 64x48 --camera side
expect 1 'no camera "front"' "$stiction" picture robot.xml --camera front
expect 2 'like 640x480' "$stiction" picture robot.xml --size big
# a mesh beside the included file that names it, from whatever folder the scene is loaded
mkdir -p model/part model/part/stl model/stl/part
echo '<mujoco><asset><mesh name="m" file="m.obj"/></asset><worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>' >model/part/a.xml
echo '<mujoco><include file="part/a.xml"/></mujoco>' >model/main.xml
echo '<mujoco><compiler meshdir="stl"/><include file="part/a.xml"/></mujoco>' >model/dir.xml
printf 'v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n' >m.obj
expect 1 'a.xml:1: mesh@file: cannot read .m.obj' "$stiction" check model/main.xml
cp m.obj model/part/m.obj
for path in model/main.xml ./model/../model/main.xml "$work/model/main.xml" model/dir.xml; do
    expect 0 'ok, 0 errors' "$stiction" check "$path"
done
expect 0 'ok, 0 errors' sh -c 'cd model && "$0" check main.xml' "$stiction"
for place in model/part/stl model/stl/part; do
    rm model/*/m.obj model/*/*/m.obj 2>/dev/null
    cp m.obj $place
    expect 0 'ok, 0 errors' "$stiction" check model/dir.xml
done
mkdir sub && echo '<mujoco><include file="../robot.xml"/></mujoco>' >sub/outside.xml
: >sub/package.xml # the project ends here
for command in run info check profile picture bench; do
    expect 1 'leaves the project' "$stiction" $command sub/outside.xml
    expect 0 . "$stiction" $command --allow-outside sub/outside.xml
done
expect 0 '^coupled.csv: [0-9]* rows' "$stiction" bench coupled --steps 50 --quiet
[ "$(head -1 coupled.csv | cut -d, -f1-4)" = preset,sweep,value,step ] || { echo "FAIL: no CSV"; failures=$((failures + 1)); }
expect 0 '^examples:' "$stiction" bench coupled --help
expect 2 'no preset' "$stiction" bench coupled --preset none
expect 1 'missing.xml' "$stiction" bench coupled missing.xml --steps 1
expect 1 'no sti:coupled' "$stiction" bench coupled robot.xml --steps 1
expect 1 'missing.csv' "$stiction" plot coupled missing.csv
expect 1 'missing.h5' "$stiction" plot missing.h5
expect 1 'pip install' env STICTION_PYTHON=/no/such/python "$stiction" plot run.h5

# ---- solve -------------------------------------------------------------------------------------------
# a headline for each iteration: the certificate's in the end, and within the tolerance where it converged
for solver in sap apgd newton; do
    expect 0 '^history  *headline after each of [1-9]' "$stiction" solve "$problems/regularised.h5" --solver $solver --history --tol 1e-9 --csv history.csv
    expect 0 '^iteration,headline$' head -1 history.csv
    awk -F, 'NR > 1 && ($1 != NR - 1 || !($2 >= 0)) { bad = 1 } END { exit bad || NR < 2 || $2 > 1e-9 }' history.csv ||
        { echo "FAIL: the history of $solver:"; cat history.csv; failures=$((failures + 1)); }
done
expect 1 'one of [2-9][0-9]* (--csv FILE has all)' "$stiction" solve "$problems/stack.h5" --solver apgd --coulomb exact --tol 1e-300 --max-iterations 1000 --history
expect 1 'cannot be written whole' "$stiction" solve "$problems/regularised.h5" --history --csv /dev/full
expect 1 'nowhere/h.csv' "$stiction" solve "$problems/regularised.h5" --history --csv nowhere/h.csv
expect 2 'is that of one solver' "$stiction" solve "$problems/stack.h5" --solver all --history
expect 2 'of one file' "$stiction" solve "$problems/stack.h5" "$problems/table.h5" --history --csv out.csv
expect 0 '^converged at tolerance 1e-09' "$stiction" solve "$problems/stack.h5" --coulomb exact --tol 1e-9
expect 0 'solver  *sap, relaxed' "$stiction" solve "$problems/regularised.h5" --solver sap
expect 0 'solver  *apgd, exact' "$stiction" solve "$problems/regularised.h5" --solver=apgd --coulomb exact --threads 2
expect 0 'forces  *6 determined, 6 only regularised' "$stiction" solve "$problems/table.h5" --coulomb exact --rank
expect 0 'full error .* raw' "$stiction" solve "$problems/stack_fclib.hdf5" --coulomb exact --full-error 1e-6
expect 1 'NOT CONVERGED' "$stiction" solve "$problems/regularised.h5" --solver apgd --max-iterations 2
expect 1 'needs the (A, J) form' "$stiction" solve "$problems/table.h5" --solver sap
expect 1 'cannot be opened' "$stiction" solve missing.h5
cat >box.xml <<'EOF'
<mujoco><worldbody><geom type="plane" size="1 1 1"/><body pos="0 0 .3"><freejoint/><geom type="box" size=".1 .1 .1"/></body></worldbody></mujoco>
EOF
expect 0 '^0 capsules in bad' "$stiction" run box.xml --capsules bad --quiet
expect 0 '^[1-9][0-9]* capsules in bad' "$stiction" run box.xml --time 0.3 --certificate-limit 0 --capsules bad --quiet
expect 0 'trouble: certificate; from its guess' "$stiction" solve bad/capsule-0001-certificate.h5
expect 0 'exact Coulomb' "$stiction" solve bad/capsule-0001-certificate.h5
expect 0 '^history  *headline after each of' "$stiction" solve bad/capsule-0001-certificate.h5 --history
expect 0 'relaxed Coulomb' "$stiction" solve bad/capsule-0001-certificate.h5 --coulomb relaxed --cold
expect 0 . "$stiction" run box.xml --time 0.5 --dump-problems dump --every 60 --threads 2 --solver apgd --substeps 2 --quiet
[ "$(ls dump | wc -l)" = 3 ] || { echo "FAIL: of the steps 0, 60, ... 240 three come after it has landed, not $(ls dump | wc -l)"; failures=$((failures + 1)); }
expect 0 'step-00000240.h5 .* apgd .* yes' "$stiction" solve --solver all dump/step-00000240.h5
expect 0 'step-00000240.h5 .* sap .* yes' "$stiction" solve dump/step-00000240.h5 --solver all
cat >wild.xml <<'EOF'
<mujoco><option integrator="RK4"/><worldbody><body><joint type="slide" damping="-1000"/><geom size=".1"/></body></worldbody><keyframe><key qvel="1"/></keyframe></mujoco>
EOF
expect 1 'next: the step is kept in wildly/capsule-0001-nonfinite.h5' "$stiction" run wild.xml --key 0 --capsules wildly --quiet
expect 1 'without a problem' "$stiction" solve wildly/capsule-0001-nonfinite.h5
expect 2 'no solver "pgs"' "$stiction" run box.xml --solver pgs
expect 2 'must be positive' "$stiction" run box.xml --threads 0
expect 2 'Not a directory' "$stiction" run box.xml --dump-problems box.xml/no
expect 1 'cannot be opened' "$stiction" solve robot.xml
expect 2 'did you mean sap' "$stiction" solve "$problems/stack.h5" --solver sp
expect 2 'cannot be "sharp"' "$stiction" solve "$problems/stack.h5" --coulomb sharp
expect 2 'which file' "$stiction" solve
expect 2 'belong to --compare' "$stiction" solve "$problems/stack.h5" --csv out.csv
expect 0 'mixed.h5 .* apgd .* yes' "$stiction" solve --compare "$problems" --coulomb exact --csv out.csv
[ "$(wc -l <out.csv)" = 16 ] || { echo "FAIL: 5 problems by 3 solvers and a head, not $(wc -l <out.csv) lines"; failures=$((failures + 1)); }
expect 1 '/dev/full: cannot be written whole' "$stiction" solve --compare "$problems" --csv /dev/full
expect 1 '/dev/full: cannot be written whole' "$stiction" profile robot.xml --steps 5 --trace /dev/full
expect 1 '/dev/full: cannot be written whole' "$stiction" bench coupled --steps 5 --quiet -o /dev/full
mkdir empty && expect 1 'has no problems' "$stiction" solve --compare empty
expect 1 'nowhere' "$stiction" solve --compare nowhere

# ---- mesh ----------------------------------------------------------------------------------------
expect 0 'examples:' "$stiction" mesh --help
expect 0 'nodes, .* tets, .*Hausdorff .*dihedral' "$stiction" mesh box.obj --edge 0.6 --out box.vtk --plot box.png --size 320x240
expect 0 '^[0-9]* nodes, .*volume 1[56]' "$stiction" mesh box.vtk --quiet
expect 0 'PNG' head -c 4 box.png
expect 0 '^[0-9]* nodes' "$stiction" mesh box.obj --nodes 300 --out box.msh --quiet
expect 0 'MeshFormat' head -c 12 box.msh
expect 0 'inverted; they were turned' "$stiction" mesh tet.vtk
expect 1 'open: 4 edges' "$stiction" mesh open.obj
expect 1 'limit of 1000000' "$stiction" mesh box.obj --edge 0.001
expect 1 'shorter' "$stiction" mesh box.obj --edge 5
expect 1 'cannot be opened' "$stiction" mesh missing.stl
expect 1 'vtk or .msh' "$stiction" mesh box.obj --edge 0.6 --out box.ply
expect 1 'only .stl' "$stiction" mesh robot.xml
expect 2 'which file' "$stiction" mesh
expect 2 'not both' "$stiction" mesh box.obj --edge 1 --nodes 100
expect 2 'must be like' "$stiction" mesh box.obj --edge 0.6 --plot box.png --size big

# the viewer, if this build has one
if "$stiction" view --help | grep -q -- --replay; then
    expect 1 'nowhere.xml' "$stiction" view nowhere.xml
    expect 2 'is 0 to 65535' "$stiction" view robot.xml --port 65536
    expect 2 'exclude each other' "$stiction" view robot.xml --record a.h5 --replay a.h5
    expect 1 'robot.xml' "$stiction" view robot.xml --replay robot.xml
    "$stiction" view robot.xml --speed 0 --no-wait --record seen.h5 >url.txt 2>&1 &
    sleep 1
    kill -INT $!
    wait $! || { echo "FAIL: the viewer ended with status $?"; failures=$((failures + 1)); }
    expect 0 '^http://127.0.0.1:[0-9]*/[0-9a-f]\{32\}/$' cat url.txt
    [ "$(wc -c <seen.h5)" -gt 10000 ] || { echo "FAIL: the viewer recorded nothing"; failures=$((failures + 1)); }
fi

[ $failures = 0 ] && echo "all well"
exit $((failures > 0))
