# SPDX-License-Identifier: Apache-2.0
"""The viewer as its pages meet it: what is served, what frames say, what commands do."""
import concurrent.futures
import gzip
import http.client
import json
import math
import os
import pathlib
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import numpy as np
import pytest

import stiction
from stiction import _core

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "viewer"))
from client import NOTHING, Client  # noqa: E402

pytestmark = pytest.mark.skipif(not hasattr(_core, "viewer"), reason="built without the viewer")

BOX = """<mujoco model="box" xmlns:sti="urn:stiction">
  <sti:visual contact="frame"/>
  <option timestep="0.002"/>
  <worldbody>
    <geom name="floor" type="plane" size="3 3 .1"/>
    <body name="box" pos="0 0 .3" sti:contact="force"><freejoint/><geom name="box" type="box" size=".1 .1 .1" mass="2"/></body>
    <body name="arm" pos="1 0 1"><joint name="hinge" axis="0 1 0" damping="1"/><geom size=".05" pos=".3 0 0"/></body>
    <camera name="eye" pos="0 -2 1" xyaxes="1 0 0 0 .4 1"/>
  </worldbody>
  <actuator><motor name="turn" joint="hinge" ctrlrange="-2 2"/></actuator>
  <sensor><jointpos name="angle" joint="hinge"/><touch name="none" site="s"/></sensor>
  <keyframe><key name="high" qpos="0 0 2 1 0 0 0 .5"/></keyframe>
</mujoco>""".replace('<touch name="none" site="s"/>', "")


@pytest.fixture
def running():
    """A viewer that runs in a thread of its own; ends with the test."""
    model = stiction.Model.from_xml_string(BOX)
    data = stiction.Data(model, profile=True)
    data.time, data.xfrc_applied  # arrays to look at while another thread steps
    viewer = stiction.viewer.Viewer(model, data)

    def run():
        while viewer.is_running():
            viewer.run(0.05)
    thread = threading.Thread(target=run)
    thread.start()
    yield viewer, data
    viewer.stop()
    thread.join()
    viewer.close()


def get(url):
    with urllib.request.urlopen(url) as answer:
        body = answer.read()
        return gzip.decompress(body) if answer.headers.get("content-encoding") == "gzip" else body


def test_what_is_served(running):
    url = running[0].url
    assert url.startswith("http://127.0.0.1:")
    assert b"<canvas" in get(url)
    scene = json.loads(get(url + "scene.json"))
    assert [g["name"] for g in scene["geoms"]] == ["floor", "box", ""]
    assert scene["bodies"][1]["mass"] == 2 and scene["actuators"][0]["range"] == [-2, 2]
    assert scene["keys"][0]["name"] == "high" and scene["cameras"][0]["name"] == "eye"
    names = get(url + "main.js").decode()
    for name in ("three.module.js", "stream.js", "scene.js"):
        assert name in names and get(url + name)
    assert b"from 'three'" not in get(url + "OrbitControls.js")


@pytest.mark.parametrize("path", ["nothing.js", "../../../../etc/passwd", "%2e%2e/%2e%2e/etc/passwd", "index.html%00.js",
                                  "/etc/passwd", "..%2f..%2fetc%2fpasswd", "../"])
def test_nothing_else_is_served(running, path):
    try:
        body = get(running[0].url + path)
    except urllib.error.HTTPError as refused:
        assert refused.code in (403, 404)
        body = refused.read()
    except http.client.RemoteDisconnected:
        return
    else:
        raise AssertionError(f"{path} is served")
    assert b"root:" not in body


def test_wrong_token(running):
    url = running[0].url
    for bad in (url[:-33], url[:-2] + ("0/" if url[-2] != "0" else "1/"), url[:-1] + "0/"):
        with pytest.raises(urllib.error.HTTPError) as failed:
            get(bad)
        assert failed.value.code == 403
        assert Client(bad).status != 101
    assert Client(url, protocol=None).status != 101
    assert Client(url, path="other").status != 101
    assert Client(url).status == 101


def answer(url, **headers):
    """Status of a request with headers of our own."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    connection.putrequest("GET", parts.path, skip_host=True)
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()
    try:
        return connection.getresponse().status
    finally:
        connection.close()


def test_requests_for_other_machines_and_of_other_pages_are_refused(running):
    """DNS rebinding: a foreign name that points to 127.0.0.1; and pages that somebody else serves, even with the token."""
    url = running[0].url
    port = urllib.parse.urlsplit(url).port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", "localhost:9999", "LOCALHOST", "[::1]:80"):  # forwarded ports too
        assert answer(url, Host=host) == 200 and answer(url, Host=host, Origin=f"http://{host}") == 200
        assert Client(url, host=host, origin=f"http://{host}").status == 101 and Client(url, host=host).status == 101
    for host in (f"evil.example:{port}", "127.0.0.1.evil.example", "localhost.evil.example", "127.0.0.10", "notlocalhost", "x" * 300):
        assert answer(url, Host=host) == 403, host
        assert Client(url, host=host).status != 101, host
    assert answer(url) != 200  # no host at all
    local = f"127.0.0.1:{port}"
    for origin in ("http://evil.example", f"https://{local}", "null", "http://127.0.0.1:1", f"http://{local}.evil.example", "http://" + "x" * 300):
        assert answer(url, Host=local, Origin=origin) == 403, origin
        assert Client(url, origin=origin).status != 101, origin


def test_idle_connections_do_not_shut_pages_out(running):
    """Connections that never show the token: half of them silent, half in the middle of a request."""
    url = running[0].url
    parts = urllib.parse.urlsplit(url)
    with Client(url) as page:
        idle = []
        for k in range(700):
            s = socket.create_connection((parts.hostname, parts.port), timeout=60)
            if k % 2:
                s.sendall(b"GET /0123456789 HTTP/1.1\r\nHost: 127.0.0.1\r\n")
            idle.append(s)
        assert b"<canvas" in get(url)
        with Client(url) as other:
            assert other.status == 101 and other.frame() and page.frame()
        # and those that are left do not stay for ever
        end = time.monotonic() + 120
        for s in idle:
            s.settimeout(max(0.1, end - time.monotonic()))
            try:
                while s.recv(4096):
                    pass
            except ConnectionError:
                pass
            s.close()
        assert page.frame()


def test_a_forked_child_frees_its_copy():
    """It has no thread to wait for, and the connections are its parent's."""
    model = stiction.Model.from_xml_string(BOX)
    with stiction.viewer.Viewer(model, stiction.Data(model)) as viewer, Client(viewer.url) as page:
        child = os.fork()
        if child == 0:
            try:
                signal.alarm(120)
                viewer.close()
            finally:
                os._exit(0 if not viewer.is_running() else 1)
        assert os.waitpid(child, 0)[1] == 0
        viewer.run(0.2)
        assert page.frame() and b"<canvas" in get(viewer.url)


def test_frames_say_what_the_world_says(running):
    viewer, data = running
    with Client(viewer.url) as page:
        page.send("pause", 1)
        frame = page.until(lambda f: f["HEAD"]["paused"])
        assert frame["HEAD"]["time"] == data.time and frame["HEAD"]["timestep"] == pytest.approx(0.002)
        page.send("step", 400)
        frame = page.until(lambda f: len(f["CONT"]) == 19 * 4)
        contacts = np.array(frame["CONT"]).reshape(-1, 19)
        assert len(contacts) == 4 and set(contacts[:, 1]) == {1.0}
        page.send("pause", 0)
        rest = page.until(lambda f: abs(sum(f["CONT"][16::19]) - 2 * 9.81) < 0.05 * 2 * 9.81)  # the weight
        assert rest["BODY"][7 + 2] == pytest.approx(0.1, abs=0.01)
        assert list(rest["LOOK"][:4]) == [2, 3, 1, 3]  # as the file says: scene frame, box force
        stages = dict(zip((line[1:] for line in rest["PNAM"].split()), range(len(rest["PROF"]))))
        timed = page.until(lambda f: f["PROF"][stages["step"]] > 0)  # the first frame after a pause has no step of its own
        assert timed["PROF"][stages["step"]] < 1e5  # microseconds


def test_pause_step_reset_key(running):
    viewer, data = running
    with Client(viewer.url) as page:
        page.until(lambda f: f["HEAD"]["time"] > 0.1)
        page.send("pause", 1)
        paused = page.until(lambda f: f["HEAD"]["paused"])["HEAD"]["time"]
        page.send("step", 1)
        assert page.until(lambda f: f["HEAD"]["time"] > paused)["HEAD"]["time"] == pytest.approx(paused + 0.002)
        page.send("reset", NOTHING)
        assert page.until(lambda f: f["HEAD"]["time"] == 0)["QPOS"][2] == pytest.approx(0.3)
        page.send("reset", 0)
        assert page.until(lambda f: f["QPOS"][2] > 1)["QPOS"][7] == pytest.approx(0.5)
        page.send("reset", 5)  # there is none: nothing happens
        page.send("pause", 0)
        assert page.until(lambda f: f["HEAD"]["time"] > 0.05)["QPOS"][2] < 2


def test_controls_and_speed(running):
    viewer, _ = running
    with Client(viewer.url) as page:
        page.send("control", 0, 99.0)
        assert page.until(lambda f: f["CTRL"][0] != 0)["CTRL"][0] == 2  # within its range
        page.send("control", 7, 1.0)  # there is none
        page.send("speed", 0, 0.1)
        page.until(lambda f: abs(f["HEAD"]["speed"] - 0.1) < 1e-6)
        start = time.monotonic()
        page.send("speed", 0, 0.005)  # a step takes 0.4 s
        before = page.until(lambda f: f["HEAD"]["speed"] < 0.006)["HEAD"]["time"]
        after = page.until(lambda f: f["HEAD"]["time"] > before + 0.003)["HEAD"]["time"]
        assert after - before < 0.0075 * (time.monotonic() - start) + 0.0021
        viewer.speed = 4
        page.until(lambda f: abs(f["HEAD"]["speed"] - 4) < 1e-6)
        viewer.paused = True
        page.until(lambda f: f["HEAD"]["paused"])
        assert viewer.paused


def test_dragging_pulls_a_body_and_lets_go(running):
    viewer, data = running
    with Client(viewer.url) as page:
        page.send("speed", 0, 0.0)
        for _ in range(200):
            page.send("drag", 1, 0, 0, 0, 0, 0, 1.5)
            frame = page.frame()
            if frame["BODY"][7 + 2] > 1.2:
                break
        # the spring carries the weight below its end: m g / (m w^2)
        rest = page.until(lambda f: f["HEAD"]["time"] > 6)
        assert rest["BODY"][7 + 2] == pytest.approx(1.5 - 9.81 / 64, abs=0.02) and rest["HEAD"]["dragging"]
        page.send("release")
        page.until(lambda f: not f["HEAD"]["dragging"] and f["BODY"][7 + 2] < 0.15)
        page.send("drag", 2, 0, 0, 0, 0, 0, 9)
        page.until(lambda f: f["HEAD"]["dragging"])
    with Client(viewer.url) as page:  # who pulls and vanishes lets go
        page.until(lambda f: not f["HEAD"]["dragging"])
        page.send("pause", 1)
        page.until(lambda f: f["HEAD"]["paused"])
    assert np.all(data.xfrc_applied == 0)


def test_going_back_and_on(running):
    viewer, _ = running
    with Client(viewer.url) as page:
        page.until(lambda f: f["HEAD"]["time"] > 0.5)
        page.send("pause", 1)
        end = page.until(lambda f: f["HEAD"]["paused"])["HEAD"]
        page.send("seek", end["first"] + 3)
        past = page.until(lambda f: f["HEAD"]["past"])
        assert past["HEAD"]["shown"] == end["first"] + 3 and past["HEAD"]["time"] < 0.3
        page.send("replay", 1)
        page.until(lambda f: f["HEAD"]["replaying"])
        done = page.until(lambda f: f["HEAD"]["past"] and not f["HEAD"]["replaying"])
        # a step that was under way when the pause came may have been kept since
        assert done["HEAD"]["shown"] == done["HEAD"]["last"] >= end["last"] and done["HEAD"]["time"] == pytest.approx(end["time"], abs=0.05)
        page.send("live")
        page.until(lambda f: not f["HEAD"]["past"])
        page.send("seek", end["first"] + 3)
        page.until(lambda f: f["HEAD"]["past"])
        page.send("resume")
        on = page.until(lambda f: not f["HEAD"]["past"])
        assert on["HEAD"]["time"] < 0.4 and not on["HEAD"]["paused"]


def test_looks(running):
    viewer, _ = running
    viewer.contacts("none")
    viewer.contacts("scene", "box")
    with Client(viewer.url) as page:
        assert list(page.until(lambda f: f["LOOK"][0] == 0)["LOOK"][:4]) == [0, 3, 3, 3]
        page.send("look", NOTHING, 1.0)
        page.send("look", 2, 2.0)
        page.send("look", 77, 2.0)  # there is none
        page.send("look", NOTHING, 3.0)  # a scene cannot be as the scene
        assert list(page.until(lambda f: f["LOOK"][3] == 2)["LOOK"][:4]) == [1, 3, 3, 2]
    with pytest.raises(ValueError):
        viewer.contacts("pink")
    with pytest.raises(KeyError):
        viewer.contacts("force", "nobody")


def test_passive_never_waits():
    """A page that does not read, and one that vanished, cost a stepping loop nothing."""
    model = stiction.Model.from_xml_string(BOX)
    data = stiction.Data(model)
    with stiction.viewer.launch_passive(model, data, rate=1000) as viewer:
        stuck = [Client(viewer.url, receive_buffer=4096) for _ in range(8)]
        Client(viewer.url).socket.close()
        slowest, end = 0.0, time.monotonic() + 2
        while time.monotonic() < end or data.time <= 0.2:
            stiction.step(model, data)
            start = time.thread_time()
            viewer.sync()
            slowest = max(slowest, time.thread_time() - start)
        assert slowest < 0.05
        assert viewer.clients >= 8
        with Client(viewer.url) as page:  # others are served all the same
            for _ in range(20):
                viewer.sync()
                time.sleep(0.002)
            assert page.frame()["HEAD"]["sequence"] > 100
        for client in stuck:
            client.close()


def test_what_a_program_shows():
    """Markers with labels, text and a camera, in the frames that pages get."""
    model = stiction.Model.from_xml_string(BOX)
    data = stiction.Data(model)
    with stiction.viewer.launch_passive(model, data, rate=1000) as viewer, Client(viewer.url) as page:
        def frame():
            return page_frame(viewer, page)
        assert "MARK" not in frame()
        viewer.markers([stiction.Marker("sphere", (1, 2, 3), (0.5,), (1, 0, 0), label="goal"),
                        stiction.Marker.line((0, 0, 0), (0, 0, 2), 0.01, label="up", arrow=True)])
        viewer.text("episode 7")
        viewer.camera(lookat=(1, 0, 0), distance=3, azimuth=10, elevation=-20)
        while "MARK" not in (seen := frame()):
            pass
        rows = np.reshape(seen["MARK"], (2, 20))
        np.testing.assert_allclose(rows[0, :11], [2, 1, 0, 0, 1, .5, 0, 0, 1, 2, 3])
        np.testing.assert_allclose(rows[1, [0, 7, 19]], [100, 2, 1])
        assert seen["MLAB"].split("\n")[:2] == ["goal", "up"] and seen["NOTE"] == "episode 7"
        np.testing.assert_allclose(seen["EYES"], [1, -1, 1, 0, 0, 3, 10, -20])
        viewer.markers([])
        viewer.text("")
        viewer.camera("eye")
        while "MARK" in (seen := frame()):
            pass
        assert "NOTE" not in seen and seen["EYES"][:2] == (2, 0)
        assert f'src="{viewer.url}"' in viewer._repr_html_()
        for call in (lambda: viewer.markers([("cone", (0, 0, 0))]), lambda: viewer.markers([("sphere", (0, 0, 0))] * 4097),
                     lambda: viewer.text("x" * 1024), lambda: viewer.camera(lookat=(0, 0, math.inf)), lambda: viewer.camera(distance=-1)):
            with pytest.raises(ValueError):
                call()
        with pytest.raises(KeyError):
            viewer.camera("nowhere")


def test_mujocos_handle():
    """user_scn and cam of launch_passive, as scripts write them."""
    import stiction.mujoco as mujoco
    import stiction.mujoco.viewer
    model = mujoco.MjModel.from_xml_string(BOX)
    data = mujoco.MjData(model)
    with stiction.mujoco.viewer.launch_passive(model, data) as viewer, Client(viewer.url) as page:
        with viewer.lock():
            viewer.cam.azimuth, viewer.cam.distance = 35, 4
            viewer.user_scn.ngeom = 1
            mujoco.mjv_initGeom(viewer.user_scn.geoms[0], mujoco.mjtGeom.mjGEOM_BOX, [.1, .2, .3], [0, 0, 1], np.eye(3).ravel(), [0, 1, 0, 1])
        while "MARK" not in (seen := page_frame(viewer, page)):
            pass
        assert viewer.is_running()
        np.testing.assert_allclose(seen["MARK"][:11], [6, 0, 1, 0, 1, .1, .2, .3, 0, 0, 1], rtol=1e-6)
        np.testing.assert_allclose(seen["EYES"][5:7], [4, 35])


def page_frame(viewer, page):
    """The next frame; frames that come before the server knows the page, or too soon after another, are not sent, so one sync may not do."""
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(page.frame)
        while not waiting.done():
            viewer.sync()
            time.sleep(0.005)
        return waiting.result()


def test_a_host_lets_others_in():
    """With host the machine's own names and addresses will do; names of others not, and without it nothing but this machine."""
    model = stiction.Model.from_xml_string(BOX)
    data = stiction.Data(model)

    def status(viewer, host):
        port, path = int(viewer.url.split(":")[2].split("/")[0]), "/" + viewer.url.split("/", 3)[3]
        connection = http.client.HTTPConnection("127.0.0.1", port)
        connection.request("GET", path, headers={"Host": f"{host}:{port}"})
        return connection.getresponse().status
    own = socket.gethostname()
    with stiction.viewer.Viewer(model, data, host="0.0.0.0") as viewer:
        assert viewer.url.startswith(f"http://{own}:")
        assert [status(viewer, host) for host in (own, "192.0.2.7", "localhost", "evil.example", own + ".example")] == [200, 200, 200, 403, 403]
    with stiction.viewer.Viewer(model, data) as viewer:
        assert [status(viewer, host) for host in ("192.0.2.7", "localhost")] == [403, 200]
    with pytest.raises(stiction.Error, match="no such address"):
        stiction.viewer.Viewer(model, data, host="192.0.2.7")


def test_bad_arguments():
    model = stiction.Model.from_xml_string(BOX)
    data = stiction.Data(model)
    with pytest.raises(TypeError):
        stiction.viewer.launch_passive(model, None)
    with pytest.raises(ValueError):
        stiction.viewer.launch_passive(stiction.Model.from_xml_string(BOX), data)
    for options in ({"port": -1}, {"port": 65536}, {"rate": 0.0}, {"rate": float("nan")}):
        with pytest.raises(stiction.Error):
            stiction.viewer.Viewer(model, data, **options)
    with stiction.viewer.Viewer(model, data) as viewer:
        port = int(viewer.url.split(":")[2].split("/")[0])
        with pytest.raises(stiction.Error, match="not free"):
            stiction.viewer.Viewer(model, data, port=port)
        with pytest.raises(ValueError):
            viewer.speed = -1
    assert not viewer.is_running()
    with pytest.raises(ValueError):
        viewer.sync()


def test_render():
    model = stiction.Model.from_xml_string(BOX)
    data = stiction.Data(model)
    stiction.forward(model, data)
    a = stiction.render(model, data, 160, 120, "eye")
    assert a.shape == (120, 160, 3) and a.dtype == np.uint8 and a.std() > 5
    assert np.array_equal(a, stiction.picture(model, data, 160, 120, "eye"))
    assert not np.array_equal(a, stiction.render(model, data, 160, 120))


SOFT = """<mujoco xmlns:sti="urn:stiction"><option timestep="0.005"/><worldbody><geom name="floor" type="plane" size="1 1 1"/>
<sti:soft name="ball" size=".05" pos=".2 0 .05" edge=".02" young="1e5"/>
<sti:soft name="block" type="box" size=".05 .05 .05" pos="0 0 .05" edge=".03" young="1e5"/></worldbody></mujoco>"""


def test_soft_bodies():
    model = stiction.Model.from_xml_string(SOFT)
    data = stiction.Data(model)
    stiction.step(model, data, 20)
    with stiction.viewer.launch_passive(model, data) as viewer:
        scene, blob = json.loads(get(viewer.url + "scene.json")), get(viewer.url + "meshes.bin")
        faces = np.frombuffer(blob, "<u4", 3 * scene["nskinface"])
        rest = np.frombuffer(blob, "<f4", 3 * scene["nskin"], 12 * scene["nskinface"]).reshape(-1, 3)
        first = model.flex_vertadr[np.repeat([0, 1], 3 * model.flex_shellnum)]
        vertices = first + model.flex_shell.ravel()  # of the corners of all triangles
        skin = np.unique(vertices)
        assert [s["name"] for s in scene["softs"]] == ["ball", "block"] and scene["nskin"] == len(skin) < model.nflexvert
        assert (skin[faces] == vertices).all() and np.allclose(rest, model.flexvert_pos0[skin], atol=1e-6)
        with Client(viewer.url) as page:
            plain = [viewer.sync() or time.sleep(0.02) for _ in range(10)] and page.frame()
            assert "STRS" not in plain and np.allclose(np.reshape(plain["SKIN"], (-1, 3)), data.flexvert_xpos[skin], atol=1e-6)
            page.send("stress")
            [viewer.sync() or time.sleep(0.02) for _ in range(10)]
            frame = page.until(lambda f: "STRS" in f)
        tets = np.repeat(model.flex_vertadr, model.flex_elemnum)[:, None] + model.flex_elem
        total, count = np.zeros(model.nflexvert), np.zeros(model.nflexvert)
        for k in range(4):
            np.add.at(total, tets[:, k], data.soft_stress())
            np.add.at(count, tets[:, k], 1)
        assert np.allclose(frame["STRS"], (total / count)[skin], rtol=1e-5, atol=1e-3) and max(frame["STRS"]) > 1
        rows, patches = list(frame["PTCH"]), data.patches
        assert len(patches) > 0
        for p in patches:
            n = p["count"]
            assert rows[:2] == pytest.approx([p.pressure, n], rel=1e-5)
            assert np.allclose(rows[2:2 + 3 * n], p.corner[:n].ravel(), atol=1e-6)
            rows = rows[2 + 3 * n:]
        assert not rows


def test_a_batch_with_a_chosen_world():
    model = stiction.Model.from_xml_string(BOX)
    batch = stiction.Batch(model, 6, threads=2)
    batch.qpos[:, 2] = 0.3 + 0.1 * np.arange(6)
    with stiction.viewer.Viewer(model, batch, worlds=4, wait=True) as viewer:
        viewer.run(0.1)
        assert batch.time[0] == 0  # nobody looks on yet
        with Client(viewer.url) as page:
            viewer.world = 5
            page.send("pause", 1)
            viewer.run(0.3)
            assert viewer.world == 5
            # frames of steps that were taken before the command arrived come first
            frame = page.until(lambda f: f["GRID"][1] == 5 and f["QPOS"][2] == pytest.approx(batch.qpos[5, 2]))
            assert frame["GRID"][:4] == (6, 5, 4, 2) and len(frame["GRID"]) == 4 + 7 * 3
            assert frame["GRID"][4 + 7 + 2] == pytest.approx(batch.xpos[4, 1, 2])  # poses are those that the last step began with
            before = batch.time[0]
            viewer.paused = False
            viewer.run(0.2)
            viewer.sync()
            assert np.all(batch.time == batch.time[0]) and batch.time[0] > before
        with pytest.raises(IndexError):
            viewer.world = 6
    with pytest.raises(ValueError):
        stiction.viewer.Viewer(stiction.Model.from_xml_string(BOX), batch)
