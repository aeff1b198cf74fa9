# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, with real mouse and keyboard: browser.py PROGRAM [FOLDER]. Screenshots stay in the folder."""
import atexit
import io
import pathlib
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
from client import ROOT, server
from playwright.sync_api import sync_playwright

SCENE = pathlib.Path(__file__).with_name("press.xml")
SOFT = pathlib.Path(__file__).with_name("soft.xml")
ARGUMENTS = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
SIZE = {"width": 960, "height": 640}


class Page:
    """The page and what it has said."""

    def __init__(self, browser, url):
        self.page = browser.new_page(viewport=SIZE, accept_downloads=True)
        self.said = []
        self.page.on("console", lambda m: self.said.append(f"{m.type}: {m.text}") if m.type in ("error", "warning") else None)
        self.page.on("pageerror", lambda e: self.said.append(f"exception: {e}"))
        self.page.on("requestfailed", lambda r: self.said.append(f"failed: {r.url}"))
        self.page.goto(url)
        self.until("window.viewer && viewer.frame && viewer.drawn > 2")

    def get(self, js):
        return self.page.evaluate(js)

    def until(self, js, seconds=60):
        self.page.wait_for_function(f"() => {js}", timeout=1000 * seconds, polling=50)

    def drawn(self, n=2):
        self.until(f"viewer.drawn >= {self.get('viewer.drawn') + n}")

    def pixels(self):
        """The canvas as an array, read back from the drawing itself."""
        import base64

        import matplotlib.image
        data = self.get("""new Promise(done => { viewer.eye.update(viewer.eye.camera.aspect); viewer.capture.draw();
            done(document.getElementById('view').toDataURL('image/png')); })""")
        return matplotlib.image.imread(io.BytesIO(base64.b64decode(data.split(",")[1])))[..., :3]

    def place(self, body):
        """Where a body is on the screen."""
        return self.get(f"""(() => {{ const box = document.getElementById('view').getBoundingClientRect();
            const p = viewer.scene.bodies[{body}].position.clone().project(viewer.eye.camera);
            return [box.left + (p.x + 1) / 2 * box.width, box.top + (1 - p.y) / 2 * box.height]; }})()""")

    def slide(self, selector, part):
        self.page.locator(selector).first.scroll_into_view_if_needed()
        box = self.page.locator(selector).first.bounding_box()
        self.page.mouse.click(box["x"] + 8 + part * (box["width"] - 16), box["y"] + box["height"] / 2)

    def head(self):
        return self.get("viewer.frame.head")


def not_blank(page):
    image = page.pixels()
    colors = len(np.unique((image * 31).astype(int).reshape(-1, 3), axis=0))
    assert image.std() > 0.05 and colors > 30, f"a blank canvas: {colors} colours"


def count_color(image, rgb):
    """Pixels of the pure colour of an arrow."""
    return int((np.abs(image - np.array(rgb) / 255).max(axis=-1) < 0.06).sum())


BLUE, GREEN, RED, WHITE = (0x24, 0x57, 0xD6), (0x1F, 0x9D, 0x3A), (0xD9, 0x2B, 0x2B), (255, 255, 255)


def contact_arrows(page, shot):
    assert page.get("viewer.contacts.list.length") == 0, "nothing touches at the start"
    assert count_color(page.pixels(), BLUE) == 0
    shot("1-start")
    page.page.click("#play")
    page.until("viewer.frame.head.time > 1.5 && viewer.contacts.list.some(c => c.geom2 === 1 && c.length > 0)")
    length = "viewer.contacts.list.filter(c => c.geom2 === 1).reduce((sum, c) => sum + c.length, 0)"
    force = "viewer.contacts.list.filter(c => c.geom2 === 1).reduce((sum, c) => sum + c.normal, 0)"
    before, weight = page.get(length), page.get(force)
    assert abs(weight - 2 * 9.81) < 1, f"the foot weighs {weight} N"
    assert count_color(page.pixels(), BLUE) > 20 and count_color(page.pixels(), RED) > 5
    shot("2-contact")
    page.slide("#sliders input", 0.0)  # presses with 60 N
    page.until(f"{force} > 70")
    pressed, more = page.get(force), page.get(length)
    assert abs(pressed - (2 * 9.81 + 60)) < 2 and more > 3 * before, f"{before} m at {weight} N, {more} m at {pressed} N"
    shot("3-pressed")


def schemes(page, shot):
    page.page.select_option("#look", "2")
    page.until("viewer.frame.LOOK[0] === 2 && viewer.contacts.list.length > 0 && viewer.contacts.list.every(c => c.look === 2)")
    page.drawn()
    image = page.pixels()
    assert count_color(image, GREEN) > 20 and count_color(image, WHITE) > 3, "normals are green now"
    shot("4-frames")
    x, y = page.place(1)
    page.page.mouse.click(x, y)
    page.until("document.querySelector('#selection table')")
    text = page.page.inner_text("#selection")
    assert "foot" in text and "slide" in text and "2.000 kg" in text, text
    page.page.select_option("#bodylook", "1")
    page.until("viewer.contacts.list.some(c => c.geom2 === 1 && c.look === 1) && viewer.contacts.list.some(c => c.geom2 !== 1 && c.look === 2)")
    page.drawn()
    shot("5-selected")
    page.page.select_option("#look", "0")
    page.until("viewer.contacts.list.every(c => c.geom2 === 1)")
    page.page.select_option("#look", "1")


def pause_and_reset(page):
    page.page.click("#play")
    page.until("viewer.frame.head.paused")
    time.sleep(0.3)
    stopped = page.head()["time"]
    page.drawn()
    assert page.head()["time"] == stopped
    page.page.click("#step")
    page.until(f"viewer.frame.head.time > {stopped}")
    assert abs(page.head()["time"] - stopped - 0.002) < 1e-6
    page.page.click("#reset")
    page.until("viewer.frame.head.time === 0")
    page.page.select_option("#key", "0")
    page.until("Math.abs(viewer.frame.QPOS[0] - 0.5) < 1e-6")
    page.page.select_option("#key", "")
    page.until("viewer.frame.QPOS[0] === 0")
    page.page.focus("#view")
    page.page.keyboard.press("Space")
    page.until("!viewer.frame.head.paused && viewer.frame.head.time > 0.8")


def drag(page, shot):
    page.page.select_option("#speed", "1")
    page.drawn()
    before = page.get("viewer.frame.BODY[7 * 2 + 2]")
    x, y = page.place(2)
    page.page.keyboard.down("Control")
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    for i in range(1, 11):
        page.page.mouse.move(x, y - 16 * i)
        time.sleep(0.05)
    page.until(f"viewer.frame.head.dragging && viewer.frame.BODY[7 * 2 + 2] > {before} + 0.1")
    shot("6-dragged")
    page.page.mouse.up()
    page.page.keyboard.up("Control")
    page.until(f"!viewer.frame.head.dragging && viewer.frame.BODY[7 * 2 + 2] < {before} + 0.05")
    eye = page.get("viewer.eye.camera.position.toArray()")
    page.page.mouse.move(100, 400)
    page.page.mouse.down()
    page.page.mouse.move(220, 430, steps=6)
    page.page.mouse.up()
    page.drawn()
    assert page.get("viewer.eye.camera.position.toArray()") != eye, "the mouse turns the camera"


def plots(page, shot):
    for name in ("energy", "solver iterations", "residual", "contacts", "time of a step"):
        value = page.get(f"viewer.plots.all.findIndex(s => s.name.startsWith('{name}'))")
        page.page.select_option("#addplot", str(value))
    page.until("viewer.plots.list.length === 7 && viewer.plots.list.every(p => p.rows.length > 20)")
    page.page.select_option("#addplot", str(page.get("viewer.plots.all.findIndex(s => s.name.startsWith('qpos'))")))
    page.until("viewer.plots.list.length === 8 && viewer.plots.list[7].rows.length > 20")
    legend = page.get("viewer.plots.list[7].explain() || viewer.plots.list[7].legend.textContent")
    assert legend.startswith("slide ") and "box x " in legend and "box qw " in legend and "[0]" not in legend, legend
    assert page.get("viewer.plots.all.find(s => s.name.startsWith('where')).legend.join()") == "x,y,z"
    assert page.get("viewer.plots.all.slice(0, 3).map(s => s.name).join()") == "touch (N),where (framepos, m),under the box (contact)"
    assert page.get("viewer.plots.all[2].legend.join()") == ",".join(f"{name} #{k}" for k in range(2) for name in ("found", "force x", "force y", "force z"))
    inked = page.get("""viewer.plots.list.map(p => { p.dirty = true; p.draw(); const c = p.canvas, d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
        let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0; return n; })""")
    assert min(inked) > 200, f"empty plots: {inked}"
    page.page.click("summary:has-text('Stage profile')")
    page.until("document.querySelectorAll('#profile > div').length > 3 && Math.max(...viewer.frame.PROF) > 1")
    page.page.click("summary:has-text('View')")
    for label in ("sites", "frames", "cameras", "lights"):
        page.page.click(f"#toggles label:has-text('{label}')")
    page.drawn()
    shot("7-plots")
    page.page.select_option("#camera", "0")
    page.drawn()
    not_blank(page)
    shot("8-camera")
    page.page.select_option("#camera", "-1")


def go_back(page):
    page.page.click("#play")
    page.until("viewer.frame.head.paused")
    head = page.head()
    kept = page.get("viewer.plots.list[0].times.length")
    assert head["last"] > head["first"] + 10
    page.slide("#time", 0.1)
    page.until("viewer.frame.head.past")
    past = page.head()
    assert past["time"] < head["time"] and past["shown"] < head["last"]
    page.page.click("#replay")
    page.until(f"viewer.frame.head.time > {past['time']}")
    assert page.get("viewer.plots.list[0].times.length") >= kept, "plots forget what lies ahead"
    page.page.click("#live")
    page.until("!viewer.frame.head.past")
    page.page.click("#play")
    page.until("!viewer.frame.head.paused")


def model_panels(page, shot):
    """Tree, joints, names, inertia, wireframe, framing, help, floor: after the others, as they change the view."""
    page.page.click("summary:has-text('Bodies')")
    page.page.fill("#find", "foo")
    assert page.get("[...document.querySelectorAll('#tree button')].filter(b => !b.hidden).map(b => b.textContent)") == ["foot"]
    page.page.click("#tree button:has-text('foot')")
    assert "foot" in page.page.inner_text("#selection")
    page.page.fill("#find", "")
    page.page.click("#play")
    page.until("viewer.frame.head.paused")
    page.page.click("summary:has-text('Joints')")
    joint = page.get("viewer.scene.description.joints.find(j => j.type >= 2)")
    lo, hi = joint["range"] if joint["limited"] else (-1, 1)
    page.page.locator("#jointsliders input").first.fill(str((lo + hi) / 2))
    page.until(f"Math.abs(viewer.frame.QPOS[{joint['qpos']}] - {(lo + hi) / 2}) < {0.05 * (hi - lo)} && viewer.frame.QVEL[{joint['dof']}] === 0", 10)
    page.page.click("summary:has-text('Options')")
    page.until("document.querySelector('input.option').value === '0.002'")
    page.page.locator("input.option").nth(3).fill("-1.6")
    page.page.locator("input.option").nth(3).press("Enter")
    page.page.click("#flags label:has-text('contact')")
    page.until("Math.abs(viewer.frame.OPTI[3] + 1.6) < 1e-6 && viewer.frame.OPTI[4] === 16")
    page.page.locator("#options").scroll_into_view_if_needed()
    shot("22-options")
    page.page.click("#flags label:has-text('contact')")
    page.until("viewer.frame.OPTI[4] === 0")
    half = page.get("viewer.marks.inertia.find(g => g.userData.body === 1).userData.half")
    body = page.get("viewer.scene.description.bodies[1]")
    for k in range(3):  # moments of a box of even density: m / 3 (b^2 + c^2)
        b, c = (half[j] for j in range(3) if j != k)
        assert abs(body["mass"] / 3 * (b * b + c * c) - body["inertia"][k]) < 1e-6, (half, body)
    page.page.select_option("#named", "bodies")
    page.until("[...document.querySelectorAll('#names span')].some(s => s.textContent === 'foot' && !s.hidden)")
    for label in ("inertia", "wireframe"):
        page.page.click(f"#toggles label:has-text('{label}')")
    assert page.get("viewer.scene.geoms.filter(g => g.userData.solid).every(g => g.material.wireframe) && viewer.marks.inertia.every(g => g.visible)")
    page.page.click("#ask")
    shot("12-panels")
    page.page.keyboard.press("Escape")
    page.page.focus("#view")
    page.page.keyboard.press("Escape")
    assert page.get("document.getElementById('help').hidden")
    page.page.keyboard.press("w")
    page.page.keyboard.press("a")
    page.drawn()
    inside = page.get("viewer.scene.geoms.filter(g => g.visible && g.userData.solid).every(g => { const p = g.getWorldPosition(new viewer.THREE.Vector3()).project(viewer.eye.camera); return Math.abs(p.x) < 1 && Math.abs(p.y) < 1; })")
    assert inside and not page.get("viewer.scene.geoms[1].material.wireframe")
    page.get("viewer.eye.free.position.z = -3")
    page.drawn()
    assert page.get("viewer.eye.free.position.z") >= page.get("viewer.eye.floor") - 1e-9, "below the floor"
    row = "[0, 1, 0, 3, 0, 1, 0, k % 25 * 0.001, 0, 0, 0, 0, 1, 1, 0, 0, k, 0, 0]"
    chosen = page.get(f"viewer.contacts.choose(Float32Array.from(Array.from({{length: 500}}, (_, k) => {row}).flat())).map(i => i / 19)")
    assert 0 < len(chosen) < 200 and 499 in chosen, chosen  # the strongest is among them
    page.page.click("#play")


def small_and_dark(page, shot):
    page.page.emulate_media(color_scheme="dark")
    page.drawn()
    background = page.get("viewer.scene.root.background.getHex()")
    assert max(background >> 16, background >> 8 & 255, background & 255) < 64, hex(background)
    shot("13-dark")
    page.page.set_viewport_size({"width": 390, "height": 844})
    page.drawn(4)
    shot("14-small")
    assert page.get("document.documentElement.scrollWidth") <= 390, "wider than the screen"
    assert page.get("document.getElementById('bar').clientHeight") < 80, "a bar of more than two rows"
    assert page.get("document.getElementById('view').clientWidth > 350 && document.getElementById('side').clientHeight > 100")
    page.page.set_viewport_size(SIZE)
    page.page.emulate_media(color_scheme="light")
    page.drawn()


def captures(page, folder):
    with page.page.expect_download() as waiting:
        page.page.click("#photo")
    waiting.value.save_as(folder / "picture.png")
    assert (folder / "picture.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    page.page.click("#film")
    time.sleep(2)
    with page.page.expect_download() as waiting:
        page.page.click("#film")
    waiting.value.save_as(folder / "video.webm")
    data = (folder / "video.webm").read_bytes()
    assert data[:4] == b"\x1a\x45\xdf\xa3" and len(data) > 3000, f"{len(data)} bytes of video"


def own_color(image):
    """Pixels of the ball's own colour, magenta: how many, and the middle row of them."""
    rows, _ = np.nonzero((image[..., [0, 2]].min(axis=-1) > 1.8 * image[..., 1]) & (image[..., 0] > 0.2))
    return len(rows), rows.mean() if len(rows) else 0.0


def soft_ball(page, shot):
    middle = "(s => s.filter((_, i) => i % 3 === 2).reduce((a, b) => a + b, 0) / (s.length / 3))(Array.from(viewer.frame.SKIN))"
    drawn = "(a => { let z = 0; for (let i = 0; i < a.count; i++) z += a.getZ(i); return z / a.count; })(viewer.softs.skins[0].position)"
    before, height = own_color(page.pixels()), page.get(middle)
    assert before[0] > 500 and abs(height - 0.15) < 0.005, (before, height)
    assert page.get("viewer.softs.count") == 0 and page.page.is_visible("#softs") and not page.page.is_visible("#stressbar")
    shot("9-soft")
    page.page.click("#play")
    page.until("viewer.frame.head.time > 2 && viewer.softs.count > 3", 120)
    page.page.click("#play")
    page.until("viewer.frame.head.paused")
    page.drawn()
    lower = page.get(middle)
    assert 0.03 < lower < 0.05 and abs(page.get(drawn) - lower) < 1e-3, f"the skin is at {page.get(drawn)}, the ball at {lower}"
    # the polygons carry the weight: density, volume (that of the mesh, at most the ball's), g
    force = page.get("""(rows => { let sum = 0; const v = (i, k) => new viewer.THREE.Vector3().fromArray(rows, i + 2 + 3 * k);
        for (let i = 0; i < rows.length; i += 2 + 3 * rows[i + 1]) for (let k = 2; k < rows[i + 1]; k++)
            sum += rows[i] * v(i, k - 1).sub(v(i, 0)).cross(v(i, k).sub(v(i, 0))).length() / 2;
        return sum; })(viewer.frame.PTCH)""")
    weight = page.get("viewer.scene.description.weight")
    assert 0.85 < weight / (1000 * 4 / 3 * np.pi * 0.05**3 * 9.81) < 1.001, weight
    assert abs(force - weight) < 0.1 * weight, f"patches push with {force} N, the ball weighs {weight} N"
    page.page.select_option("#look", "0")  # arrows lie over the patches
    page.until("viewer.frame.LOOK[0] === 0 && viewer.contacts.list.length === 0")
    shot("10-patches")
    with_patches = page.pixels()
    page.page.click("#patchtoggle label")
    page.until("viewer.softs.count === 0 && !viewer.softs.polygons.visible")
    page.drawn()
    plain = page.pixels()
    seen = int((np.abs(with_patches - plain).max(axis=-1) > 0.1).sum())
    assert seen > 50, f"patches are seen on {seen} pixels"
    now = own_color(plain)
    assert now[0] > 500 and now[1] > before[1] + 20, f"the ball sinks on the screen: {before}, {now}"
    page.page.click("#stresstoggle label")
    page.until("viewer.frame.STRS && viewer.softs.skins[0].mesh.material === viewer.softs.skins[0].stressed")
    page.drawn()
    assert 0 < page.get("viewer.softs.stressScale.end") < 2e4 and "Pa" in page.page.inner_text("#stressend")
    assert own_color(page.pixels())[0] < 0.5 * now[0], "stress has colours of its own"
    page.page.click("#patchtoggle label")
    shot("11-stress")
    page.page.click("#stresstoggle label")
    page.until("viewer.softs.skins[0].mesh.material === viewer.softs.skins[0].plain && !viewer.frame.STRS || viewer.frame.head.paused")
    page.page.click("#patchtoggle label")
    page.drawn()
    assert abs(own_color(page.pixels())[0] - now[0]) < 0.05 * now[0]
    page.page.click("summary:has-text('View')")
    page.page.click("#groups label:has-text('group 0')")
    page.drawn()
    assert own_color(page.pixels())[0] == 0, "hidden with its group"
    page.page.click("#reset")
    page.until("viewer.frame.head.time === 0")
    assert abs(page.get(middle) - height) < 1e-6
    assert not page.said, page.said


def run_soft(browser, program, folder):
    process, url = server(program, SOFT, "--paused")
    page = Page(browser, url)

    def shot(name):
        page.drawn()
        page.page.screenshot(path=folder / f"{name}.png")
    soft_ball(page, shot)
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    page.page.close()


BATCH = """
import sys, stiction, stiction.viewer
model = stiction.Model.from_xml_path(sys.argv[1])
batch = stiction.Batch(model, 9, threads=1)
batch.qpos[:, 0] = [0.02 * i for i in range(9)]
stiction.viewer.launch(model, batch, open_browser=False, paused=True)
"""


def run_batch(browser, folder):
    """Nine worlds side by side; one is chosen by a click and by its number."""
    process = subprocess.Popen([sys.executable, "-c", BATCH, str(SCENE)], stdout=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    page = Page(browser, process.stdout.readline().strip())
    page.until("viewer.worlds.slots?.length === 8")
    assert page.page.is_visible("#worlds") and page.get("viewer.worlds.meshes.every(m => m.count === 8)")
    page.page.click("#all")
    page.drawn()
    outside = page.get("""viewer.worlds.meshes.flatMap(mesh => [...Array(mesh.count).keys()].map(i => {
        const place = new viewer.THREE.Matrix4(); mesh.getMatrixAt(i, place);
        const p = new viewer.THREE.Vector3().setFromMatrixPosition(place).project(viewer.eye.camera);
        return Math.max(Math.abs(p.x), Math.abs(p.y)); })).filter(far => far > 1).length""")
    assert outside == 0, f"{outside} things of other worlds are outside of the picture"
    page.page.screenshot(path=folder / "15-batch.png")
    foot = page.get("viewer.worlds.meshes.findIndex(m => m.userData.geom.userData.body === 1)")
    x, y = page.get(f"""(() => {{ const box = document.getElementById('view').getBoundingClientRect(), m = new viewer.THREE.Matrix4();
        viewer.worlds.meshes[{foot}].getMatrixAt(0, m);
        const p = new viewer.THREE.Vector3().setFromMatrixPosition(m).project(viewer.eye.camera);
        return [box.left + (p.x + 1) / 2 * box.width, box.top + (1 - p.y) / 2 * box.height]; }})()""")
    want = page.get("viewer.worlds.at(0)")
    page.page.mouse.click(x, y)
    page.until(f"viewer.worlds.chosen === {want}")
    page.page.fill("#world", "7")
    page.page.press("#world", "Enter")
    page.until("viewer.worlds.chosen === 7 && Math.abs(viewer.frame.QPOS[0] - 0.14) < 1e-6")
    page.page.fill("#beside", "4")
    page.page.press("#beside", "Enter")
    page.until("viewer.worlds.first === 4 && viewer.worlds.slots.length === 3")
    page.page.click("#play")
    page.until("viewer.frame.head.time > 0.1")
    assert not page.said, page.said
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    page.page.close()


MARKED = """
import sys, time
import stiction
model = stiction.Model.from_xml_path(sys.argv[1])
data = stiction.Data(model)
with stiction.viewer.launch_passive(model, data) as viewer:
    viewer.markers([stiction.Marker("sphere", (0.4, 0, 0.5), (0.1,), (1, 0, 1), label="goal"), stiction.Marker("box", (-0.4, 0, 0.1), (0.05, 0.1, 0.05), (0, 1, 1, 0.5)),
                    stiction.Marker("capsule", (0, 0.5, 0.5), (0.03, 0.2), (1, 0.6, 0)), stiction.Marker.line((-0.4, 0, 0.2), (0.3, 0, 0.5), 0.01, (0, 0.5, 0), arrow=True)])
    viewer.text("episode 7\\nreward 3.5")
    viewer.camera(lookat=(0, 0, 0.3), distance=2.5, azimuth=60, elevation=-25)
    while True:
        stiction.step(model, data)
        viewer.sync()
        time.sleep(0.002)
"""


def twist(page, folder):
    """Shift and drag to the right turns a body about the camera's upward axis, and the page shows the torque."""
    page.page.mouse.move(*page.place(2))
    page.page.keyboard.down("Shift")
    page.page.mouse.down()
    x, y = page.place(2)
    page.page.mouse.move(x + 120, y, steps=6)
    page.until("/^[0-9.e+-]+ N m$/.test(document.getElementById('pull').textContent) && viewer.mouse.ring.visible && !viewer.mouse.spring.visible")
    wrench = page.get("viewer.markers.wrench")
    assert max(map(abs, wrench[:3])) == 0 and max(map(abs, wrench[3:])) > 0, wrench
    page.page.screenshot(path=folder / "20-twist.png")
    page.page.mouse.up()
    page.page.keyboard.up("Shift")
    page.until("document.getElementById('pull').hidden && !viewer.mouse.ring.visible && !viewer.frame.head.dragging")


def run_marked(browser, folder):
    """What a program shows on the page; the page within a frame of this machine, as notebooks have it; a pose as a keyframe."""
    process = subprocess.Popen([sys.executable, "-c", MARKED, str(SCENE)], stdout=subprocess.PIPE, text=True)
    atexit.register(process.kill)
    url = process.stdout.readline().strip()
    page = Page(browser, url)
    page.until("viewer.markers.list.length === 4 && viewer.markers.asked === 1")
    page.drawn()
    assert page.page.inner_text("#note").split("\n") == ["episode 7", "reward 3.5"] and page.page.inner_text(".names") == "goal"
    place = page.get("viewer.eye.free.position.toArray()")
    level, azimuth, elevation = np.cos(np.deg2rad(-25)), np.deg2rad(60), np.deg2rad(-25)
    want = np.array([0, 0, 0.3]) - 2.5 * np.array([level * np.cos(azimuth), level * np.sin(azimuth), np.sin(elevation)])
    assert np.abs(place - want).max() < 1e-3, (place, want)
    image = page.pixels()
    assert ((image[..., 0] > 0.3) & (image[..., 2] > 0.3) & (image[..., 1] < 0.15)).sum() > 200, "no magenta ball"
    page.page.screenshot(path=folder / "18-markers.png")
    with page.page.expect_download() as saved:
        page.page.click("#pose")
    import xml.etree.ElementTree as tree
    key = tree.parse(saved.value.path()).getroot()
    assert key.tag == "key" and len(key.get("qpos").split()) == page.get("viewer.frame.QPOS.length")
    x, y = page.place(1)
    page.page.keyboard.down("Control")
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.page.mouse.move(x, y - 60, steps=5)
    page.until("!document.getElementById('pull').hidden && /^[0-9.e+]+ N$/.test(document.getElementById('pull').textContent)")
    page.page.screenshot(path=folder / "19-pull.png")
    page.page.mouse.up()
    page.page.keyboard.up("Control")
    page.until("document.getElementById('pull').hidden")
    twist(page, folder)
    assert not page.said, page.said
    page.page.close()
    process.kill()
    process.wait()


def run_textures(browser, program, folder):
    """Red and green quarters from above: red far left and near right; a ball in a cube that is blue but for its lower side."""
    process, url = server(program, pathlib.Path(__file__).with_name("textures.xml"), "--paused")
    page = Page(browser, url)
    page.drawn()
    page.page.screenshot(path=folder / "21-textures.png")
    image = page.pixels()
    # where a place in the world is in the picture
    at = page.get("""[[-.25, .25, .1], [.25, .25, .1], [-.25, -.25, .1], [.25, -.25, .1], [1, 0, .4]].map(p => {
        const q = new viewer.THREE.Vector3(...p).project(viewer.eye.camera); return [(q.x + 1) / 2, (1 - q.y) / 2]; })""")
    seen = [tuple((c > 0.5 * c.max()).astype(int)) for c in (image[int(y * len(image)), int(x * len(image[0]))] for x, y in at)]
    assert seen == [(1, 0, 0), (0, 1, 0), (0, 1, 0), (1, 0, 0), (0, 0, 1)], seen
    assert not page.said, page.said
    page.page.close()
    process.kill()
    process.wait()


def main(program, folder=ROOT / "out" / "viewer"):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    process, url = server(program, SCENE, "--paused")
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        page = Page(browser, url)

        def shot(name):
            page.drawn()
            page.page.screenshot(path=folder / f"{name}.png")
        not_blank(page)
        for part in (lambda: contact_arrows(page, shot), lambda: schemes(page, shot), lambda: pause_and_reset(page), lambda: drag(page, shot),
                     lambda: plots(page, shot), lambda: go_back(page), lambda: model_panels(page, shot), lambda: small_and_dark(page, shot), lambda: captures(page, folder)):
            part()
            assert not page.said, page.said
        received, start = page.get("viewer.received"), time.monotonic()
        time.sleep(2)
        rate = (page.get("viewer.received") - received) / (time.monotonic() - start)
        process.send_signal(signal.SIGINT)
        page.until("!document.getElementById('message').hidden")  # the page says that its server has gone
        run_soft(browser, program, folder)
        run_textures(browser, program, folder)
        run_batch(browser, folder)
        run_marked(browser, folder)
        browser.close()
    assert process.wait(20) == 0
    print(f"viewer: the page works; {rate:.0f} frames/s received; screenshots in {folder}")


if __name__ == "__main__":
    main(*sys.argv[1:])
