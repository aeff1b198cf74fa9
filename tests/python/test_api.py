# SPDX-License-Identifier: Apache-2.0
"""The Python package: names, views, lifetimes, errors."""
import copy
import gc
import os
import pathlib
import pickle
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import stiction

PENDULUM = """
<mujoco model="pendulum">
  <option timestep="0.01"/>
  <worldbody>
    <body name="arm" pos="0 0 1">
      <joint name="hinge" type="hinge" axis="0 1 0" damping="0.1"/>
      <geom name="rod" type="capsule" fromto="0 0 0 0 0 -0.5" size="0.02"/>
      <site name="tip" pos="0 0 -0.5"/>
    </body>
    <body name="target" mocap="true" pos="1 2 3"/>
    <camera name="side" pos="0 -3 1" xyaxes="1 0 0 0 0 1"/>
  </worldbody>
  <actuator><motor name="motor" joint="hinge" gear="2"/></actuator>
  <sensor><jointpos name="angle" joint="hinge"/><framepos name="tip" objtype="site" objname="tip"/></sensor>
  <keyframe><key name="up" qpos="3.14159" time="2"/></keyframe>
</mujoco>"""


@pytest.fixture
def pendulum():
    model = stiction.Model.from_xml_string(PENDULUM)
    return model, stiction.Data(model)


def test_sizes_and_names(pendulum):
    model, _ = pendulum
    assert (model.nq, model.nv, model.nu, model.na, model.nbody, model.nsite, model.nsensor, model.nmocap) == (1, 1, 1, 0, 3, 1, 2, 1)
    assert model.title == "pendulum"
    assert model.body("arm").id == 1 and model.body(1).name == "arm"
    assert model.joint("hinge").damping == pytest.approx(0.1)
    assert model.actuator("motor").gear[0] == 2
    with pytest.raises(KeyError, match="no body named 'leg'"):
        model.body("leg")
    nameless = stiction.Model.from_xml_string("<mujoco><worldbody><geom size='1'/><geom size='1'/><site name='s'/><site/></worldbody></mujoco>")
    for call, why in ((nameless.geom, "there are 2, none with a name"), (nameless.site, "there are 's' and 1 without a name"), (nameless.camera, "there are none")):
        with pytest.raises(KeyError, match=why):
            call("leg")
    with pytest.raises(IndexError):
        model.geom(7)
    with pytest.raises(AttributeError):
        model.no_such_field


def test_views_are_live_and_shaped(pendulum):
    model, data = pendulum
    assert data.qpos.shape == (1,) and data.xpos.shape == (3, 3) and data.xmat.shape == (3, 9)
    assert data.mocap_pos.tolist() == [[1, 2, 3]]
    tip = data.site_xpos
    stiction.forward(model, data)
    assert tip[0] == pytest.approx([0, 0, 0.5])
    data.qpos[0] = np.pi / 2
    stiction.forward(model, data)
    assert tip[0] == pytest.approx([-0.5, 0, 1])  # a rotation about y turns -z to -x
    data.qpos = [0.25]
    assert data.joint("hinge").qpos[0] == 0.25
    data.joint("hinge").qvel = 3
    assert data.qvel[0] == 3
    data.actuator("motor").ctrl = 0.5
    assert data.ctrl[0] == 0.5


def test_read_only(pendulum):
    model, data = pendulum
    for array in (model.body_parentid, model.body_subtreemass, data.xpos, data.qacc, data.sensordata):
        with pytest.raises(ValueError):
            array[...] = 1
    with pytest.raises(AttributeError):
        data.nonsense = 1


def test_step_reset_key(pendulum):
    model, data = pendulum
    data.ctrl[0] = 1
    stiction.step(model, data, nstep=10)
    assert data.time == pytest.approx(0.1)
    stiction.reset(model, data)
    assert data.time == 0 and data.qpos[0] == 0 and data.ctrl[0] == 0
    stiction.reset(model, data, key="up")
    assert data.time == 2 and data.qpos[0] == pytest.approx(3.14159)
    stiction.reset(model, data, 0)
    with pytest.raises(KeyError):
        stiction.reset(model, data, "down")


def test_options_apply(pendulum):
    model, data = pendulum
    model.opt.timestep = 0.5
    model.opt.gravity = [0, 0, 0]
    data.qvel[0] = 0
    stiction.step(model, data)
    assert data.time == 0.5 and data.qvel[0] == 0
    with pytest.raises(ValueError):
        model.opt.timestep = 0
    with pytest.raises(ValueError):
        model.opt.gravity = [0, 0, np.nan]
    with pytest.raises(AttributeError):
        model.opt.nonsense = 1


def test_mass_matrix(pendulum):
    model, data = pendulum
    stiction.forward(model, data)
    # capsule of length l and radius r about its end: cylinder plus two half balls, density 1000
    l, r, rho = 0.5, 0.02, 1000.0
    cylinder, ball = rho * np.pi * r**2 * l, rho * 4 / 3 * np.pi * r**3
    about_com = cylinder * (l**2 / 12 + r**2 / 4) + ball * (2 * r**2 / 5 + l**2 / 4 + 3 * l * r / 8)
    expected = about_com + (cylinder + ball) * (l / 2)**2
    assert stiction.mass_matrix(model, data)[0, 0] == pytest.approx(expected, rel=1e-12)


def test_sensor_value(pendulum):
    model, data = pendulum
    data.qpos[0] = 0.3
    stiction.forward(model, data)
    angle = model.get_sensor_value("angle", data)
    assert angle.dtype == np.float32 and angle.shape == (1,) and angle[0] == np.float32(0.3)
    assert model.get_sensor_value("tip", data).shape == (3,)
    angle[0] = 7  # a copy
    assert data.sensordata[0] == 0.3
    assert data.sensor("tip").data == pytest.approx(data.site_xpos[0])
    with pytest.raises(KeyError):
        model.get_sensor_value("nose", data)


def test_views_keep_their_owner_alive():
    def make():
        model = stiction.Model.from_xml_string(PENDULUM)
        data = stiction.Data(model)
        return model.body_mass, data.qpos, data.body("arm").xpos
    for _ in range(50):
        mass, qpos, xpos = make()
        gc.collect()
        qpos[0] = 1
        assert mass[1] > 0 and qpos[0] == 1 and np.isfinite(xpos).all()
    model = stiction.Model.from_xml_string(PENDULUM)
    data = stiction.Data(model)
    del model
    gc.collect()
    stiction.step(data.model, data)


def test_snapshot_is_exact(pendulum):
    model, data = pendulum
    data.ctrl[0] = 0.2
    stiction.step(model, data, 20)
    saved, hash_then = data.snapshot(), data.hash()
    stiction.step(model, data, 20)
    after = data.hash()
    data.restore(saved)
    assert data.hash() == hash_then != after
    stiction.step(model, data, 20)
    assert data.hash() == after
    with pytest.raises(stiction.Error):
        data.restore(saved[:-3])
    with pytest.raises(stiction.Error):
        data.restore(b"nonsense")
    assert data.hash() == after


def test_error_says_where(tmp_path):
    path = tmp_path / "bad.xml"
    path.write_text("<mujoco>\n <worldbody>\n  <geom type='sphere' size='x'/>\n </worldbody>\n</mujoco>")
    with pytest.raises(stiction.Error) as caught:
        stiction.Model.from_xml_path(path)
    e = caught.value
    assert (e.line, e.element, e.attribute) == (3, "geom", "size") and e.file.endswith("bad.xml")
    assert "bad.xml:3" in str(e)
    found = stiction.check(path)
    assert found and found[0]["line"] == 3 and found[0]["severity"] == "error"
    with pytest.raises(stiction.Error, match="missing"):
        stiction.Model.from_xml_path(tmp_path / "missing.xml")


def test_unsupported_names_line():
    with pytest.raises(stiction.Error) as caught:
        stiction.Model.from_xml_string("<mujoco>\n<worldbody/>\n<equality>\n<flexstrain flex='a'/>\n</equality></mujoco>")
    assert caught.value.code == "UNSUPPORTED" and caught.value.line == 4 and caught.value.element == "flexstrain"


def test_nonfinite_keeps_last_good_state(pendulum):
    model, data = pendulum
    stiction.step(model, data, 5)
    good = data.qpos.copy()
    data.ctrl[0] = np.nan
    with pytest.raises(stiction.Error) as caught:
        stiction.step(model, data)
    assert caught.value.code == "NONFINITE" and (data.qpos == good).all()
    data.ctrl[0] = 0
    stiction.step(model, data)
    assert np.isfinite(data.qpos).all()


def test_wrong_pairs(pendulum):
    model, data = pendulum
    other = stiction.Model.from_xml_string(PENDULUM)
    with pytest.raises(ValueError):
        stiction.step(other, data)
    with pytest.raises(TypeError):
        stiction.Data(PENDULUM)
    with pytest.raises(ValueError):
        stiction.step(model, data, -1)


def test_threads_step_different_worlds():
    model = stiction.Model.from_xml_string(PENDULUM)
    worlds = [stiction.Data(model) for _ in range(4)]
    threads = [threading.Thread(target=stiction.step, args=(model, d, 2000)) for d in worlds]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({d.hash() for d in worlds}) == 1


def test_record_and_plot(tmp_path, pendulum):
    h5py = pytest.importorskip("h5py")
    model, data = pendulum
    data.qpos[0] = 1
    path = tmp_path / "run.h5"
    times = []
    with stiction.Recorder(path, data, ["qpos", "qvel", "energy"]) as recorder:
        for _ in range(30):
            stiction.step(model, data)
            recorder.frame()
            times.append(data.time)
    with h5py.File(path) as file:
        assert file["qpos"].shape == (30, 1) and file["time"][()].reshape(-1).tolist() == times
        assert file["qpos"][-1, 0] == data.qpos[0]
    with pytest.raises(ValueError):
        recorder.frame()
    from stiction import plot
    plot.main([str(path), "-o", str(tmp_path / "run.png")])
    assert (tmp_path / "run.png").read_bytes()[:4] == b"\x89PNG"
    assert plot.load(path)[2] == {"time": [("time", "s")], "qpos": [("hinge", "rad")], "qvel": [("hinge", "rad/s")],
                                  "energy": [("potential", "J"), ("kinetic", "J")]}
    with pytest.raises(stiction.Error):
        stiction.Recorder(tmp_path / "no" / "such" / "folder.h5", data)
    with pytest.raises(stiction.Error, match="nonsense"):
        stiction.Recorder(tmp_path / "x.h5", data, "qpos nonsense")


def test_picture(pendulum):
    model, data = pendulum
    stiction.forward(model, data)
    image = stiction.picture(model, data, 160, 120, camera="side")
    assert image.shape == (120, 160, 3) and image.std() > 3
    assert not (image == stiction.picture(model, data, 160, 120, azimuth=10, elevation=-30)).all()


def test_assets():
    cube = "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 1) for z in (0, 1)).encode()
    cube += b"f 1 2 4 3\nf 5 7 8 6\nf 1 5 6 2\nf 3 4 8 7\nf 1 3 7 5\nf 2 6 8 4\n"
    xml = "<mujoco><asset><mesh name='m' file='cube.obj'/></asset><worldbody><body><freejoint/><geom type='mesh' mesh='m' density='1000'/></body></worldbody></mujoco>"
    model = stiction.Model.from_xml_string(xml, {"cube.obj": cube})
    assert model.body_mass[1] == pytest.approx(1000)
    assert model.body_inertia[1] == pytest.approx([1000 / 6] * 3)
    with pytest.raises(TypeError):
        stiction.Model.from_xml_string(xml, {"cube.obj": 3})


def test_snapshots_with_nan_are_refused(scenes):
    figure = stiction.Model.from_xml_path(str(scenes / "figure.xml"))
    data = stiction.Data(figure)
    stiction.step(figure, data, 5)
    good = data.snapshot()
    data.qpos[0] = np.nan
    bad = data.snapshot()
    other = stiction.Data(figure)
    before = other.hash()
    with pytest.raises(stiction.Error, match=r"qpos\[0\] of joint 0 .* is nan"):
        other.restore(bad)
    assert other.hash() == before
    stiction.step(figure, other)
    other.restore(good)
    stiction.step(figure, other)


def test_warm_start_can_be_dropped(scenes):
    figure = stiction.Model.from_xml_path(str(scenes / "figure.xml"))
    data = stiction.Data(figure)
    stiction.step(figure, data, 60)
    other = copy.copy(data)
    other.drop_warm_start()
    assert other.hash() != data.hash()
    stiction.step(figure, data)
    stiction.step(figure, other)
    assert np.allclose(data.qvel, other.qvel, rtol=0, atol=1e-7)


def test_stubs_are_current():
    root = pathlib.Path(__file__).resolve().parents[2]
    subprocess.run([sys.executable, str(root / "tools" / "stubs.py"), "--check"], check=True)


def test_program_is_installed():
    done = subprocess.run([sys.executable, "-m", "stiction", "--version"], capture_output=True, text=True)
    assert done.returncode == 0 and stiction.__version__ in done.stdout


def test_copies_are_independent(pendulum):
    model, data = pendulum
    data.qvel[0] = 1
    stiction.step(model, data, 10)
    for other in (copy.copy(data), copy.deepcopy(data)):
        assert other.hash() == data.hash() and other.site_xpos.tolist() == data.site_xpos.tolist()
        before = data.hash()
        stiction.step(model, other, 10)
        assert data.hash() == before != other.hash()
    twin = copy.deepcopy(model)
    twin.opt.timestep = 0.5
    assert model.opt.timestep == 0.01 and twin.body("arm").id == 1
    there = pickle.loads(pickle.dumps(data))
    assert there.hash() == data.hash() and there.model.hash() == model.hash()


def test_options_leave_snapshots_valid(pendulum):
    model, data = pendulum
    stiction.step(model, data, 3)
    saved = data.snapshot()
    model.opt.timestep, model.opt.integrator = 0.001, 1
    other = stiction.Data(model)
    other.restore(saved)
    assert other.hash() == data.hash()


def test_named_rows_are_arrays(pendulum):
    model, data = pendulum
    assert model.jnt("hinge").qposadr[0] == 0 and model.body("arm").mass.shape == (1,)
    assert model.cam("side").id == model.camera("side").id == 0 and model.keyframe("up").id == 0
    assert data.jnt("hinge").qpos.shape == (1,) and data.cam(0).xpos.shape == (3,)


def test_nothing_wrong_is_taken(pendulum):
    model, data = pendulum
    for name, value in (("nq", 3), ("body_parentid", 1), ("opt", None), ("foo", 1)):
        with pytest.raises(AttributeError, match="cannot be set"):
            setattr(model, name, value)
    for name, value in (("integrator", 1.5), ("iterations", 1e30), ("solver", "Newton")):
        with pytest.raises(TypeError):
            setattr(model.opt, name, value)
    with pytest.raises(ValueError, match="32 bits"):
        model.opt.disableflags = 1 << 40
    with pytest.raises(TypeError):
        model.body(1.5)
    with pytest.raises(TypeError):
        stiction.Model()
    with pytest.raises(TypeError):
        stiction.step(data, model)
    with pytest.raises(TypeError):
        stiction.Model.from_xml_string(None)
    with pytest.raises(TypeError, match="needs a stiction.Data"):
        stiction.Recorder("x.h5", model)
    assert stiction.Error("mine").line == 0


def test_many_names_are_not_all_listed():
    bodies = "".join(f'<body name="link{i}"/>' for i in range(1000))
    model = stiction.Model.from_xml_string(f"<mujoco><worldbody>{bodies}</worldbody></mujoco>")
    with pytest.raises(KeyError) as caught:
        model.body("lnk77")
    assert "'link77'" in str(caught.value) and len(str(caught.value)) < 200


def test_paths_of_any_bytes(tmp_path, pendulum):
    path = os.fsencode(tmp_path) + b"/\xff\xfe.xml"
    with open(path, "w", encoding="utf-8") as file:
        file.write(PENDULUM)
    assert stiction.Model.from_xml_path(path).nq == 1
    assert stiction.Model.from_xml_path(os.fsdecode(path)).nq == 1
    with open(path, "w", encoding="utf-8") as file:
        file.write("<mujoco><worldbody><geom " + "b" + "ä" * 40 + "='1'/></worldbody></mujoco>")
    assert stiction.check(path)[0]["element"] == "geom"
    with pytest.raises(stiction.Error) as caught:
        stiction.Model.from_xml_path(path)
    assert caught.value.line == 1


def test_ctrl_c_stops_a_long_step():
    script = ("import signal, stiction\n"
              "signal.signal(signal.SIGINT, signal.default_int_handler)  # which a shell's job in the background ignores\n"
              "m = stiction.Model.from_xml_string('<mujoco/>')\n"
              "d = stiction.Data(m)\n"
              "try:\n"
              "    print('ready', flush=True)\n"
              "    stiction.step(m, d, 2**31 - 1)\n"
              "except KeyboardInterrupt: stiction.step(m, d); print('stopped', d.time > 0)\n")
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=120)[0] == "stopped True\n"


def test_trees_that_sleep_as_in_mujoco():
    mujoco = pytest.importorskip("mujoco")
    box = '<body pos="0 0 {}"><freejoint/><geom type="box" size=".1 .1 .1"/></body>'
    text = ('<mujoco><option timestep="0.005"><flag sleep="enable"/></option><worldbody><geom type="plane" size="5 5 .1"/>' +
            box.format(.0999) + box.format(.2998) + box.format(3) + "</worldbody></mujoco>")
    model, theirs = stiction.Model.from_xml_string(text), mujoco.MjModel.from_xml_string(text)
    data, other = stiction.Data(model), mujoco.MjData(theirs)
    stiction.step(model, data)
    assert data.tree_asleep.shape == (3,) and (data.tree_asleep < 0).all()
    stiction.step(model, data, 100)
    mujoco.mj_step(theirs, other, 101)
    assert list(data.tree_asleep[:2]) == list(other.tree_asleep[:2]) == [1, 0] and data.tree_asleep[2] < 0
    data.qvel[0] = 1
    stiction.step(model, data)
    assert (data.tree_asleep < 0).all()


def test_long_rope():
    n = 500
    link = '<body pos="0.02 0 0"><joint type="hinge" axis="0 1 0" damping="1e-3"/><geom type="capsule" size="0.005" fromto="0 0 0 0.02 0 0"/>'
    model = stiction.Model.from_xml_string(f"<mujoco><worldbody>{link * n}{'</body>' * n}</worldbody></mujoco>")
    data = stiction.Data(model)
    stiction.forward(model, data)
    assert model.nv == n and data.xpos[n] == pytest.approx([0.02 * n, 0, 0])


@pytest.mark.parametrize("defaults, margin", [
    ("<default><default class='a'/></default><default><geom margin='0.3'/></default>", 0),  # comes after the class
    ("<default><geom margin='0.3'/></default><default><default class='a'/></default>", 0.3),
    ("<default><default class='a'/><geom margin='0.3'/></default>", 0.3),
])
def test_classes_and_sections(defaults, margin):
    model = stiction.Model.from_xml_string(
        f"<mujoco>{defaults}<worldbody><geom class='a' size='1'/></worldbody></mujoco>")
    assert model.geom_margin[0] == margin
