# SPDX-License-Identifier: Apache-2.0
"""Files that are damaged, hostile, cut short or not files at all; and what must not be run because it lies beside them."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import sysconfig
import textwrap
import time

import numpy as np
import pytest

import stiction

h5py = pytest.importorskip("h5py")
pytest.importorskip("matplotlib")
ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.path.join(sysconfig.get_path("scripts"), "stiction")  # Python's, which starts the next
ITSELF = os.path.join(sysconfig.get_path("platlib"), "stiction", "bin", "stiction")
ROBOT = """<mujoco model="two links"><worldbody><body pos="0 0 1"><joint name="a" axis="0 1 0"/>
  <geom type="capsule" size=".02" fromto="0 0 0 .3 0 0"/><body pos=".3 0 0"><joint name="b" axis="0 1 0"/><geom size=".05"/></body></body>
  </worldbody><actuator><motor joint="a"/></actuator></mujoco>"""


def program(*arguments, cwd=None, env=None, timeout=600, path=PROGRAM):
    """(status, output) of the command-line program."""
    done = subprocess.run([path, *map(str, arguments)], cwd=cwd, env=env, timeout=timeout, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    return done.returncode, done.stdout


def python(code, *arguments, timeout=600):
    """A process of its own that runs some lines."""
    return subprocess.run([sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)], timeout=timeout, cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    path = tmp_path_factory.mktemp("recording") / "run.h5"
    model = stiction.Model.from_xml_string(ROBOT)
    data = stiction.Data(model)
    with stiction.Recorder(path, data, "qpos qvel energy") as r:
        for _ in range(40):
            stiction.step(model, data)
            r.frame()
    return path


# ---- what lies in the present folder ---------------------------------------------------------------------------------


def test_plots_run_nothing_of_the_present_folder(tmp_path, recording):
    """Modules and settings that somebody left beside a recording."""
    trap = "open({!r}, 'a').write(__name__ + '\\n')\n".format(str(tmp_path / "trapped"))
    for name in ("h5py", "matplotlib", "numpy", "csv", "argparse", "sitecustomize", "usercustomize", "json"):
        (tmp_path / f"{name}.py").write_text(trap)
    (tmp_path / "stiction").mkdir()
    for name in ("__init__", "plot"):
        (tmp_path / "stiction" / f"{name}.py").write_text(trap)
    (tmp_path / "matplotlibrc").write_text("backend: module://json\nfont.size: no number\n")  # loud if it is read
    (tmp_path / "robot.xml").write_text(ROBOT)
    shutil.copy(recording, tmp_path / "-run.h5")
    shutil.copytree(ROOT / "tests" / "problems", tmp_path / "problems")
    for k, (path, command) in enumerate((("", ["plot", "./-run.h5", "-o", "0.png"]), (":", ["run", "robot.xml", "--time", "0.1", "--plot", "1.png"]),
                                         (str(tmp_path), ["solve", "--compare", "problems", "--coulomb", "exact", "--plot", "2.png"]))):
        status, text = program(*command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path, "STICTION_PYTHON": sys.executable}, path=ITSELF)
        assert not (tmp_path / "trapped").exists(), (tmp_path / "trapped").read_text()
        assert status == 0 and "font.size" not in text, text
        assert (tmp_path / f"{k}.png").read_bytes()[:4] == b"\x89PNG"


# ---- files that are none ---------------------------------------------------------------------------------------------


def test_pipes_devices_and_folders_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe.h5")
    os.mkfifo(tmp_path / "pipe.csv")
    os.mkfifo(tmp_path / "pipe.stl")
    os.mkfifo(tmp_path / "pipe.xml")
    (tmp_path / "robot.xml").write_text(ROBOT)
    (tmp_path / "include.xml").write_text('<mujoco><include file="pipe.xml"/></mujoco>')
    (tmp_path / "mesh.xml").write_text('<mujoco><asset><mesh name="m" file="pipe.stl"/></asset></mujoco>')
    for command in (["solve", "pipe.h5"], ["solve", "/dev/zero"], ["solve", "."], ["solve", "--compare", "."], ["plot", "pipe.h5"],
                    ["plot", "/dev/zero"], ["plot", "."], ["plot", "pipe.csv"], ["plot", "coupled", "pipe.csv"], ["mesh", "pipe.stl"],
                    ["check", "pipe.xml"], ["check", "include.xml"], ["check", "mesh.xml"], ["run", "robot.xml", "--record", "pipe.h5"],
                    ["view", "robot.xml", "--replay", "pipe.h5"], ["view", "robot.xml", "--replay", "/dev/zero"]):
        status, text = program(*command, cwd=tmp_path)
        assert status == 1 and ("regular file" in text or "folder" in text), (command, text)
        assert "Traceback" not in text


# ---- damaged files ---------------------------------------------------------------------------------------------------

DRAW = """
    import io, sys, contextlib
    from stiction import plot
    if len(sys.argv) > 3:  # quickly: everything but the pixels
        plot._save = lambda figure, out: (figure.draw_without_rendering(), plot._pyplot().close(figure))
    for line in open(sys.argv[1]):
        kind, _, arguments = line.rstrip("\\n").partition("|")
        try:
            with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as said:
                plot.main(arguments.split("|") + ["-o", sys.argv[2]])
            print(f"{kind}|drawn|", flush=True)
        except SystemExit as end:
            print(f"{kind}|refused|{end.code!r}", flush=True)
    """


def draw_all(tmp_path, cases, *quickly):
    """What became of each (kind, arguments), all in one process: a traceback or a crash ends it."""
    tmp_path.joinpath("cases.txt").write_text("".join(f"{kind}|{'|'.join(map(str, a))}\n" for kind, a in cases))
    done = python(DRAW, tmp_path / "cases.txt", tmp_path / "out.png", *quickly)
    lines = [line.split("|", 2) for line in done.stdout.splitlines() if line.count("|") >= 2]
    assert done.returncode == 0 and len(lines) == len(cases), (cases[len(lines)] if len(lines) < len(cases) else "", done.stdout[-3000:])
    for kind, what, said in lines:
        if what == "refused":
            assert said.startswith(("'stiction plot: ", '"stiction plot: ')) and "\\n" not in said, (kind, said)
    return [(kind, what) for kind, what, _ in lines]


def damaged_bytes(content, seed):
    """Cut, flipped, blanked or doubled, somewhere."""
    rng = np.random.default_rng(seed)
    b = bytearray(content)
    at, n = int(rng.integers(len(b))), int(rng.integers(1, 400))
    match seed % 5:
        case 0: del b[at:]
        case 1:
            for _ in range(1 + seed % 30):
                b[int(rng.integers(len(b)))] ^= 1 << int(rng.integers(8))
        case 2: b[at:at + n] = bytes(len(b[at:at + n]))
        case 3: b[at:at + n] = rng.bytes(n)
        case 4:  # where the structure is
            b[int(rng.integers(min(4096, len(b))))] = int(rng.integers(256))
    return bytes(b)


# name: (whether it must be refused, what is done to the open file)
WRONG = {
    "no time": (True, lambda f: f.__delitem__("time")),
    "no field": (False, lambda f: f.__delitem__("qvel")),
    "integers": (True, lambda f: put(f, "qpos", np.zeros((40, 2), int))),
    "text": (True, lambda f: put(f, "qpos", np.full(40, b"abc"))),
    "structs": (True, lambda f: put(f, "qpos", np.zeros(40, [("a", "f8"), ("b", "i4")]))),
    "booleans": (True, lambda f: put(f, "time", np.zeros(40, bool))),
    "three axes": (True, lambda f: put(f, "qpos", np.zeros((40, 2, 2)))),
    "no axis": (True, lambda f: put(f, "qpos", 1.0)),
    "two times": (True, lambda f: put(f, "time", np.zeros((40, 2)))),
    "no times": (True, lambda f: put(f, "time", np.zeros(0))),
    "shorter": (False, lambda f: put(f, "qpos", np.zeros((7, 2)))),
    "longer": (False, lambda f: put(f, "qpos", np.zeros((90, 2)))),
    "no columns": (False, lambda f: put(f, "qpos", np.zeros((40, 0)))),
    "energy of three": (False, lambda f: put(f, "energy", np.ones((40, 3)))),
    "a group": (True, lambda f: f.create_group("more")),
    "a group of times": (True, lambda f: (f.__delitem__("time"), f.create_group("time"))),
    "a soft link": (True, lambda f: f.__setitem__("again", h5py.SoftLink("/qpos"))),
    "a link to nothing": (True, lambda f: f.__setitem__("again", h5py.SoftLink("/nowhere"))),
    "a link to itself": (True, lambda f: f.__setitem__("again", h5py.SoftLink("/again"))),
    "another file": (True, lambda f: f.__setitem__("again", h5py.ExternalLink("other.h5", "/qpos"))),
    "bytes elsewhere": (True, lambda f: f.create_dataset("far", (40, 2), "f8", external=[("/dev/zero", 0, 640)])),
    "a thousand billions": (True, lambda f: f.create_dataset("huge", (10**9, 1000), "f8", chunks=(1000, 1000))),
    "not numbers": (False, lambda f: put(f, "qpos", np.full((40, 2), np.nan))),
    "infinity": (False, lambda f: put(f, "qpos", np.full((40, 2), np.inf))),
    "the largest": (False, lambda f: put(f, "qpos", np.tile([1.7e308, -1.7e308], (40, 1)))),
    "times that are not": (False, lambda f: put(f, "time", np.full(40, np.inf))),
    "a title of numbers": (False, lambda f: f.attrs.__setitem__("title", np.arange(5))),
    "a title that is not text": (False, lambda f: f.attrs.__setitem__("title", np.void(b"\xff\xfe\x00\x01"))),
    "a title of formulas": (False, lambda f: f.attrs.__setitem__("title", "$\\frac{$")),
    "nothing at all": (True, lambda f: f.clear()),
}


def put(file, name, value):
    if name in file:
        del file[name]
    file[name] = value


def test_plots_of_wrong_recordings_are_one_line(tmp_path, recording):
    cases = []
    for kind, (_, change) in WRONG.items():
        path = tmp_path / f"{kind.replace(' ', '_')}.h5"
        shutil.copy(recording, path)
        with h5py.File(path, "r+") as file:
            change(file)
        cases.append((kind, [path]))
    os.mkfifo(tmp_path / "other.h5")  # a link must not be followed there
    for kind, what in draw_all(tmp_path, cases):
        assert what == "refused" or not WRONG[kind][0], kind


def test_plots_of_damaged_recordings_are_one_line(tmp_path, recording):
    content = recording.read_bytes()
    cases = [("empty", [tmp_path / "empty.h5"])]
    cases[0][1][0].write_bytes(b"")
    for seed in range(80):
        path = tmp_path / f"{seed}.h5"
        path.write_bytes(damaged_bytes(content, seed))
        cases.append((str(seed), [path]))
    ends = [what for _, what in draw_all(tmp_path, cases, "quickly")]
    assert ends.count("refused") > 20 and ends[0] == "refused"


PROFILE = "problem,solver,blocks,dofs,iterations,seconds,converged,headline,full_raw,full_scaled\n" + "".join(
    f"p{p}.h5,{s},1,6,9,{1e-3 * (p + 1) * (k + 1)},{int(p + k != 3)},1e-9,1e-9,1e-9\n" for p in range(5) for k, s in enumerate(("sap", "apgd")))


def test_plots_of_damaged_tables_are_one_line(tmp_path):
    status, text = program("bench", "coupled", "--steps", "4", "--quiet", cwd=tmp_path)
    assert status == 0, text
    cases = []
    status, text = program("solve", ROOT / "tests" / "problems" / "regularised.h5", "--history", "--csv", "history.csv", "--plot", "history.png",
                           cwd=tmp_path, env={**os.environ, "STICTION_PYTHON": sys.executable}, path=ITSELF)
    assert status == 0 and (tmp_path / "history.png").read_bytes()[:4] == b"\x89PNG", text
    for kind, content, words in (("profile", PROFILE.encode(), []), ("history", (tmp_path / "history.csv").read_bytes(), []),
                                 ("coupled", (tmp_path / "coupled.csv").read_bytes()[:20000], ["coupled"])):
        for seed in range(20):
            path = tmp_path / f"{kind}{seed}.csv"
            path.write_bytes(damaged_bytes(content, seed) if seed else b"")
            cases.append((f"{kind} {seed}", [*words, path]))
        for name, change in (("text", content.replace(b"0", b"zero")), ("short", content[:content.index(b"\n") + 4]),
                             ("long", content + b'"' + b"x" * 200000 + b'"\n'), ("binary", bytes(range(256)) * 9)):
            path = tmp_path / f"{kind}-{name}.csv"
            path.write_bytes(change)
            cases.append((f"{kind} {name}", [*words, path]))
    ends = [what for _, what in draw_all(tmp_path, cases, "quickly")]
    assert ends.count("refused") > 20


# ---- recordings ------------------------------------------------------------------------------------------------------


def test_a_killed_recording_is_read_by_h5py(tmp_path):
    """All but the last second, by the clock of the process that records: it writes down when each frame began and ended."""
    path, diary = tmp_path / "killed.h5", tmp_path / "diary"
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent("""
        import sys, time, stiction
        model = stiction.Model.from_xml_string(sys.argv[2])
        data = stiction.Data(model)
        recorder = stiction.Recorder(sys.argv[1], data)
        diary, first = open(sys.argv[3], "wb", buffering=0), time.monotonic()
        while True:
            begun = data.ctrl[0] = time.monotonic()
            recorder.frame()
            diary.write(b"%.9f %.9f\\n" % (begun, time.monotonic()))
            if begun > first + 1.5:
                print("ready", flush=True)
            time.sleep(0.002)
        """), str(path), ROBOT, str(diary)], stdout=subprocess.PIPE)
    child.stdout.readline()
    child.kill()
    child.wait()
    times = np.array([line.split() for line in diary.read_bytes().splitlines() if line.count(b".") == 2], float)
    with h5py.File(path, "r", swmr=True) as file:
        stamps = file["ctrl"][:, 0]
        assert len(file["time"]) == len(stamps) == len(file["qpos"])
    n = min(len(stamps), len(times))
    assert n > 1 and np.allclose(stamps[:n], times[:n, 0], rtol=0, atol=1e-6)
    assert np.all(times[len(stamps):, 1] > times[-1, 0] - 1)  # what is lost
    status, text = program("plot", path, "-o", tmp_path / "killed.png", env={**os.environ, "STICTION_PYTHON": sys.executable}, path=ITSELF)
    assert status == 0, text


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_full_disk_is_said_and_nothing_crashes_later(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(small)], capture_output=True).returncode:
        pytest.skip("may not mount")
    try:
        done = python("""
            import sys, stiction
            m = stiction.Model.from_xml_path("scenes/figure.xml")
            d = stiction.Data(m)
            stiction.step(m, d, 50)
            for k in range(3):
                try:
                    d.save_capsule(f"{sys.argv[1]}/{k}.h5")
                    open(f"{sys.argv[1]}/fill{k}", "wb", buffering=0).write(bytes(40000))
                except OSError:
                    pass
                except stiction.Error as problem:
                    assert "disk full" in str(problem), problem
                    print("said")
            """, small)
        assert done.returncode == 0 and "said" in done.stdout, done.stdout
        assert not [p for p in small.iterdir() if "part" in p.name]
    finally:
        subprocess.run(["umount", str(small)])


# ---- processes and threads -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [2, 4])
def test_a_forked_child_steps_and_frees_data_with_threads(threads):
    done = python("""
        import os, signal, sys, stiction
        model = stiction.Model.from_xml_string("<mujoco><worldbody><geom type='plane' size='5 5 1'/><replicate count='60' offset='.01 0 .22'>"
            "<body pos='0 0 .1'><freejoint/><geom type='box' size='.1 .1 .1'/></body></replicate></worldbody></mujoco>")
        data = stiction.Data(model, threads=int(sys.argv[1]))
        stiction.step(model, data, 5)
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.alarm(120)
            stiction.step(model, data, 5)
            os.write(write, str(data.hash()).encode())
            del data
            os._exit(0)
        stiction.step(model, data, 5)
        assert os.waitpid(pid, 0)[1] == 0
        assert int(os.read(read, 100)) == data.hash(), "other bits in the child"
        """, threads)
    assert done.returncode == 0, done.stdout


def test_assets_may_change_while_a_model_is_loaded():
    """Names and contents are held, whatever becomes of the dict."""
    done = python("""
        import gc, threading, time, stiction
        key = "".join(["part_"] + ["q"] * 60 + [".xml"])
        big = "<mujoco><worldbody>" + "<geom size='.1'/>" * 100000 + "</worldbody><include file='%s'/></mujoco>" % key
        def load():
            assets = {"".join(list(key)): b"<mujoco><worldbody><geom name='inc' size='1'/></worldbody></mujoco>"}
            out = []
            t = threading.Thread(target=lambda: out.append(stiction.Model.from_xml_string(big, assets=assets).ngeom))
            t.start()
            time.sleep(.03)
            assets.clear()
            gc.collect()
            junk = ["z%069d" % i for i in range(100000)]
            t.join()
            return out
        for _ in range(3):
            assert load() == [100001]
        """)
    assert done.returncode == 0, done.stdout


def test_assets_that_change_their_dict_when_looked_at():
    if sys.version_info < (3, 12):
        pytest.skip("__buffer__ is of Python 3.12")

    class Tricky:
        def __buffer__(self, flags):
            assets.update({f"{k}.xml": b"" for k in range(1000)})
            return memoryview(b"<mujoco/>")

    assets = {"a.xml": Tricky(), "b.xml": Tricky()}
    assert stiction.Model.from_xml_string('<mujoco><include file="a.xml"/></mujoco>', assets=assets).nbody == 1


def test_goals_of_ik_that_are_too_far_are_an_error():
    model = stiction.Model.from_xml_path(ROOT / "scenes" / "arm.xml")
    data = stiction.Data(model)
    stiction.forward(model, data)
    with pytest.raises(stiction.Error, match="far away"):
        stiction.ik_solve(model, data, body=5, pos=[1e155, 0, 0])
    found = stiction.ik_solve(model, data, body=5, pos=[1e150, 0, 0])
    assert not found.reached and np.all(np.isfinite(found.qpos))


def test_rays_that_cannot_be_computed_are_an_error():
    model = stiction.Model.from_xml_string("<mujoco><worldbody><geom size='1'/></worldbody></mujoco>")
    data = stiction.Data(model)
    stiction.forward(model, data)
    assert stiction.ray(model, data, [0, 0, 5], [0, 0, -1e200]).distance == pytest.approx(4e-200)
    for point, direction in (([0, 0, 1e200], [0, 0, -1]), ([0, 0, 5], [0, 0, float("nan")]), ([0, float("inf"), 5], [0, 0, -1])):
        with pytest.raises(ValueError, match="finite"):
            stiction.ray(model, data, point, direction)


def test_ctrl_c_ends_a_viewer_that_runs():
    if not hasattr(stiction._core, "viewer"):
        pytest.skip("built without the viewer")
    child = subprocess.Popen([sys.executable, "-c", textwrap.dedent("""
        import signal, stiction, stiction.viewer
        signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's job in the background ignores
        m = stiction.Model.from_xml_path("scenes/figure.xml")
        v = stiction.viewer.Viewer(m, stiction.Data(m))
        try:
            print("ready", flush=True)
            v.run(1000)
        except KeyboardInterrupt:
            v.run(0.01)  # and it can go on
            v.close()
            print("interrupted", flush=True)
        """)], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    try:
        assert child.communicate(timeout=120)[0] == "interrupted\n" and child.returncode == 0
    finally:
        child.kill()


def test_folders_that_may_be_named(tmp_path):
    folder = tmp_path / "robots" / "a"
    folder.mkdir(parents=True)
    far, near = tmp_path / "far.xml", tmp_path / "robots" / "near.xml"
    for part in (far, near):
        part.write_text("<mujoco><option timestep='0.25'/></mujoco>")
    main = folder / "main.xml"
    main.write_text("<mujoco><include file='../near.xml'/></mujoco>")
    assert stiction.Model.from_xml_path(main).opt.timestep == 0.25
    main.write_text("<mujoco><include file='../../far.xml'/></mujoco>")
    with pytest.raises(stiction.Error, match="allow_outside") as caught:
        stiction.Model.from_xml_path(main)
    assert caught.value.code == "PATH"
    for allowed in (True, tmp_path, str(tmp_path), os.fsencode(tmp_path)):
        assert stiction.Model.from_xml_path(main, allow_outside=allowed).opt.timestep == 0.25
        assert not stiction.check(main, allow_outside=allowed)
    main.write_text(f"<mujoco><include file='{far}'/></mujoco>")
    with pytest.raises(stiction.Error, match="allow_outside"):
        stiction.Model.from_xml_path(main)
