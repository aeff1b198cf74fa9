# SPDX-License-Identifier: Apache-2.0
"""Renderer: depth against closed forms and MuJoCo's rays, segmentation, contact arrows, stress, videos."""
import numpy as np
import pytest

import stiction
import stiction.mujoco as shim

SCENE = """<mujoco><statistic extent="2" center="0 0 0.5"/><worldbody>
<camera name="down" pos="0 0 3" xyaxes="1 0 0 0 1 0" fovy="45"/><camera name="side" pos="0 -2 .5" xyaxes="1 0 0 0 0 1" fovy="60"/>
<geom name="floor" type="plane" size="0 0 1"/><site name="mark" pos=".4 0 .5" size=".05"/>
<body pos="0 0 .5"><freejoint/><geom name="ball" type="sphere" size=".3" rgba="1 0 0 1"/></body>
<body pos="-.6 .3 .2"><geom name="box" type="box" size=".15 .15 .2" rgba="0 1 0 .5"/></body>
</worldbody></mujoco>"""


@pytest.fixture
def scene():
    model = stiction.Model.from_xml_string(SCENE)
    data = stiction.Data(model)
    stiction.forward(model, data)
    return model, data


def rays(height, width, fovy):
    """Of each pixel's middle: (right, up) per unit of depth."""
    f = 0.5 * height / np.tan(np.radians(fovy) / 2)
    y, x = np.mgrid[:height, :width] + 0.5
    return (x - width / 2) / f, (height / 2 - y) / f


def test_depth_of_ball_and_floor(scene):
    model, data = scene
    with stiction.Renderer(model, 90, 120) as renderer:
        renderer.enable_depth_rendering()
        renderer.update_scene(data, camera="down")
        depth = renderer.render()
        renderer.disable_depth_rendering()
        assert renderer.render().shape == (90, 120, 3)
    assert depth.shape == (90, 120) and depth.dtype == np.float32
    a, b = rays(90, 120, 45)
    # the ball: |z (a, b, 1) - (0, 0, 2.5)| = 0.3, the nearer root
    n = a * a + b * b + 1
    disc = 2.5 ** 2 - n * (2.5 ** 2 - 0.3 ** 2)
    inside = disc > 0.01
    assert inside.sum() > 100
    assert np.abs(depth - (2.5 - np.sqrt(np.maximum(disc, 0))) / n)[inside].max() < 2e-3  # facets of a ball, corners rounded to a sixteenth of a pixel
    box = (np.abs(a * 2.6 + 0.6) < 0.13) & (np.abs(b * 2.6 - 0.3) < 0.13)
    assert box.sum() > 20 and np.allclose(depth[box], 2.6, atol=1e-5)  # its top, though it is half transparent
    floor = (disc < -0.5) & (a > 0)
    assert np.allclose(depth[floor], 3, atol=1e-5)


def test_every_pixel_is_what_a_ray_hits(scene):
    model, data = scene
    with stiction.Renderer(model, 45, 60) as renderer:
        renderer.update_scene(data, camera="side")
        renderer.enable_segmentation_rendering()
        segments = renderer.render()
        renderer.enable_depth_rendering()
        depth = renderer.render()
    a, b = rays(45, 60, 60)
    cam = data.cam_xmat.reshape(-1, 3, 3)[1]
    wrong = 0
    for i in range(45):
        for j in range(60):
            direction = a[i, j] * cam[:, 0] + b[i, j] * cam[:, 1] - cam[:, 2]
            hit = stiction.ray(model, data, data.cam_xpos[1], direction)
            seen = segments[i, j]
            if hit.geom != (seen[0] if seen[1] == 5 else -1) or (hit.geom >= 0 and abs(hit.distance - depth[i, j]) > 0.02 * depth[i, j]):
                wrong += hit.distance < 90 or seen[1] != -1
    assert wrong < 0.02 * 45 * 60  # edges
    assert {tuple(s) for s in segments.reshape(-1, 2)} == {(-1, -1), (0, 5), (1, 5), (2, 5)}
    assert depth[segments[..., 1] < 0].min() == 100  # 50 times the extent where nothing is


def test_objects_have_mujocos_types():
    soft = stiction.Model.from_xml_string("""<mujoco xmlns:sti="urn:stiction"><worldbody><camera pos="0 -1 0" xyaxes="1 0 0 0 0 1"/>
        <site name="a" pos="-.3 0 .2" size=".04"/><site name="b" pos=".3 0 .2" size=".04"/>
        <sti:soft name="s" type="box" size=".1 .1 .1" edge=".1" mass="1" young="1e5"/></worldbody>
        <tendon><spatial width=".02"><site site="a"/><site site="b"/></spatial></tendon></mujoco>""")
    data = stiction.Data(soft)
    stiction.forward(soft, data)
    renderer = stiction.Renderer(soft, 60, 80)
    renderer.enable_segmentation_rendering()
    renderer.update_scene(data, camera=0, sites=True)
    seen = {tuple(s) for s in renderer.render().reshape(-1, 2)}
    assert seen == {(-1, -1), (0, 9), (0, 6), (1, 6), (0, 18)}  # flex, sites, tendon


def test_like_picture_and_own_memory(scene):
    model, data = scene
    renderer = stiction.Renderer(model, 60, 80)
    renderer.update_scene(data, "side")
    first = renderer.render()
    assert np.array_equal(first, stiction.picture(model, data, 80, 60, "side"))
    data.qpos[0] = 0.4
    stiction.forward(model, data)
    out = np.zeros((60, 80, 3), np.uint8)
    assert renderer.render(out=out) is out and not np.array_equal(out, first)
    data.qpos[0] = 0
    stiction.forward(model, data)
    assert np.array_equal(renderer.render(), first)  # nothing of the picture between is left
    with pytest.raises(ValueError, match="shape"):
        renderer.render(out=np.zeros((80, 60, 3), np.uint8))
    renderer.close()
    with pytest.raises(RuntimeError, match="closed"):
        renderer.render()


def test_any_number_of_threads(scene):
    pictures = []
    for threads in (None, 1, 2, 7):
        with stiction.Renderer(scene[0], 90, 120, threads=threads) as renderer:
            renderer.update_scene(scene[1], "side", contacts=True)
            pictures.append(renderer.render())
    assert all(np.array_equal(p, pictures[0]) for p in pictures) and pictures[0].std() > 10
    with pytest.raises(ValueError, match="at least 1"):
        stiction.Renderer(scene[0], threads=0)


def test_backends(scene):
    model, data = scene
    with stiction.Renderer(model, 60, 80, backend="auto") as renderer:
        assert "llvmpipe" not in renderer.device
    try:
        egl = stiction.Renderer(model, 60, 80, backend="egl")
    except stiction.Error as error:
        assert "EGL" in str(error)
        pytest.skip(str(error))
    with egl, stiction.Renderer(model, 60, 80) as cpu:
        assert cpu.device == "CPU" != egl.device
        for renderer in (egl, cpu):
            renderer.update_scene(data, "side")
        assert np.abs(egl.render().astype(int) - cpu.render()).mean() < 1.5
        egl.enable_depth_rendering(), cpu.enable_depth_rendering()
        assert np.mean(np.abs(egl.render() / cpu.render() - 1) > 2e-3) < 0.01
    with pytest.raises(RuntimeError, match="closed"):
        egl.device


def test_refusals(scene):
    model, data = scene
    with pytest.raises(ValueError, match="cpu, egl, auto"):
        stiction.Renderer(model, backend="osmesa")
    renderer = stiction.Renderer(model)
    with pytest.raises(RuntimeError, match="update_scene"):
        renderer.render()
    with pytest.raises(ValueError):
        renderer.update_scene(stiction.Data(stiction.Model.from_xml_string(SCENE)))
    renderer.update_scene(data, force_scale=-1)
    with pytest.raises(stiction.Error, match="force_scale"):
        renderer.render()


def test_contact_arrows():
    """A ball of 1 kg on the floor: its arrow is blue and as long as 0.6 of the extent times its share of the weight, which is all."""
    model = stiction.Model.from_xml_string("""<mujoco><statistic extent="1" meansize=".1"/><worldbody><camera pos="0 -1.5 .35" xyaxes="1 0 0 0 0 1"/>
        <geom type="plane" size="0 0 1"/><body pos="0 0 .1"><freejoint/><geom size=".1" mass="1" rgba="1 1 1 1"/></body></worldbody></mujoco>""")
    data = stiction.Data(model)
    stiction.step(model, data, 1000)
    assert data.contact[0].force[0] == pytest.approx(9.81, rel=1e-3)

    def arrow(**options):
        image = stiction.picture(model, data, 300, 480, 0, **options).astype(int)
        blue = (image[..., 2] > 90) & (image[..., 2] > 1.8 * image[..., 0]) & (image[..., 2] > 1.5 * image[..., 1])
        rows = np.flatnonzero(blue.any(axis=1))
        return 0 if len(rows) == 0 else rows[-1] - rows[0] + 1
    pixel = 1.5 / (240 / np.tan(np.radians(22.5)))
    assert arrow() == 0
    assert arrow(contacts=True) * pixel == pytest.approx(0.6, abs=0.03)  # the red point hides its beginning
    assert arrow(contacts=True, force_scale=0.5) * pixel == pytest.approx(0.3, abs=0.03)
    option = shim.MjvOption()
    option.flags[shim.mjtVisFlag.mjVIS_CONTACTFORCE] = 1
    renderer = stiction.Renderer(model, 480, 300)
    renderer.update_scene(data, 0, option)
    assert np.array_equal(renderer.render(), stiction.picture(model, data, 300, 480, 0, contacts=True))


def green(image):
    """Rows and columns of what is green."""
    image = image.astype(int)
    return np.nonzero((image[..., 1] > 90) & (image[..., 1] > 1.5 * image[..., 0]) & (image[..., 1] > 1.5 * image[..., 2]))


@pytest.mark.parametrize("look", ["force", "frame"])
def test_arrows_of_friction(look):
    """A box at rest on which gravity pulls by 9.81 N down and 5 N to the side, which friction takes. In the look "force" the green arrows are
    tangential forces and lie, in the look "frame" they are normal ones and stand."""
    model = stiction.Model.from_xml_string(f"""<mujoco xmlns:sti="urn:stiction"><option gravity="5 0 -9.81"/><statistic extent="1" meansize=".1"/>
        <sti:visual contact="{look}"/><worldbody><camera pos="0 -1.5 .35" xyaxes="1 0 0 0 0 1"/><geom type="plane" size="0 0 1"/>
        <body pos="0 0 .1"><freejoint/><geom type="box" size=".1 .1 .1" mass="1" rgba="1 1 1 1"/></body></worldbody></mujoco>""")
    data = stiction.Data(model)
    stiction.step(model, data, 200)
    assert np.abs(data.qvel).max() < 1e-6
    normal, tangent = (data.contact.force[:, 0].sum(), np.abs(data.contact.force[:, 1:3]).sum())
    assert normal == pytest.approx(9.81, rel=1e-3) and tangent > 4.9
    rows, columns = green(stiction.picture(model, data, 300, 480, 0, contacts=True, force_scale=4))
    assert len(rows) > 50
    stands = np.ptp(rows) > np.ptp(columns) if look == "frame" else np.ptp(columns) > np.ptp(rows)
    assert stands
    assert len(green(stiction.picture(model, data, 300, 480, 0))[0]) == 0


def test_a_fine_mesh_looks_as_what_it_is_made_of():
    """A ball of 9,600 triangles, of which light and shadow take a coarse form, beside the ball itself."""
    n, m = 80, 61
    u, v = np.meshgrid(np.arange(n) * 2 * np.pi / n, np.linspace(0, np.pi, m))
    points = 0.3 * np.stack([np.cos(u) * np.sin(v), np.sin(u) * np.sin(v), np.cos(v)], -1).reshape(-1, 3)
    faces = [t for i in range(m - 1) for j in range(n) for a, b, c, d in [(i * n + j, i * n + (j + 1) % n, (i + 1) * n + j, (i + 1) * n + (j + 1) % n)]
             for t in ((a, c, b), (b, c, d))]
    text = " ".join(f"{x:.9g}" for x in points.ravel())
    images = []
    for geom in ('type="mesh" mesh="ball"', 'type="sphere" size=".3"'):
        model = stiction.Model.from_xml_string(f"""<mujoco><asset><mesh name="ball" vertex="{text}" face="{' '.join(map(str, np.ravel(faces)))}"/></asset>
            <statistic extent="2" center="0 0 .5"/><worldbody><camera pos="0 -2 .5" xyaxes="1 0 0 0 0 1"/><geom type="plane" size="2 2 1"/>
            <body pos="0 0 .5"><geom {geom} rgba="1 .5 .2 1"/></body></worldbody></mujoco>""")
        data = stiction.Data(model)
        stiction.forward(model, data)
        images.append(stiction.picture(model, data, 160, 120, 0).astype(int))
    differ = np.abs(images[0] - images[1]).max(axis=-1)
    assert differ.mean() < 3 and (differ > 40).mean() < 0.01 and images[0].std() > 20


def test_stress_colours():
    """Stretched by 1 %: the same stress everywhere, so one colour of the scale: its end, or half of it."""
    model = stiction.Model.from_xml_string("""<mujoco xmlns:sti="urn:stiction"><worldbody><camera pos="0 -1 0" xyaxes="1 0 0 0 0 1"/>
        <sti:soft name="s" type="box" size=".1 .1 .1" edge=".1" mass="1" young="1e5" rgba="1 1 1 1"/></worldbody></mujoco>""")
    data = stiction.Data(model)
    stiction.forward(model, data)
    data.flexvert_xpos[:, 0] *= 1.01  # Hooke, nu = 0: 1e3 Pa
    middle = lambda **options: stiction.picture(model, data, 80, 60, 0, **options)[30, 40].astype(int)
    plain, end, half = middle(), middle(stress=True), middle(stress=True, stress_end=2e3)
    assert plain.max() - plain.min() < 40
    assert end[0] > 2 * end[1] and end[0] > 2 * end[2]  # red
    assert half[1] > half[2] and abs(half[0] - half[1]) < 80 and half[1] > 100  # between green and yellow
    assert np.array_equal(middle(), plain)


def test_videos(tmp_path, scene):
    model, data = scene
    renderer = stiction.Renderer(model, 48, 64)

    def frames():
        for _ in range(5):
            stiction.step(model, data, 20)
            renderer.update_scene(data, "side")
            yield renderer.render()
    assert stiction.render_video(tmp_path / "a.gif", frames(), fps=25) == 5
    from PIL import Image
    with Image.open(tmp_path / "a.gif") as image:
        assert image.n_frames == 5 and image.size == (64, 48) and image.info["duration"] == 40
    with pytest.raises(ValueError, match="gif"):
        stiction.render_video(tmp_path / "a.avi", frames())
    with pytest.raises(ValueError, match="at least one"):
        stiction.render_video(tmp_path / "a.gif", [])
    with pytest.raises(ValueError, match="one size"):
        stiction.render_video(tmp_path / "a.gif", [np.zeros((4, 4, 3), np.uint8), np.zeros((4, 5, 3), np.uint8)])
    try:
        import imageio_ffmpeg  # noqa: F401
    except ImportError:
        with pytest.raises(ImportError, match="imageio-ffmpeg"):
            stiction.render_video(tmp_path / "a.mp4", frames())
    else:
        assert stiction.render_video(tmp_path / "a.mp4", frames()) == 5 and (tmp_path / "a.mp4").stat().st_size > 500


def test_markers():
    """A ball of 0.1 m half way between camera and floor covers pi r^2 f^2 / d^2 pixels; one that is behind something is hidden."""
    model = stiction.Model.from_xml_string("""<mujoco><visual><global fovy="45"/></visual><worldbody>
      <geom type="box" size="1 1 .1" rgba="1 1 1 1"/><camera name="down" pos="0 0 4"/></worldbody></mujoco>""")
    data = stiction.Data(model)
    stiction.forward(model, data)
    with stiction.Renderer(model, 200, 200) as renderer:
        def red(*markers):
            renderer.update_scene(data, "down", markers=markers)
            picture = renderer.render().astype(int)
            return int(((picture[..., 0] > 2 * picture[..., 1]) & (picture[..., 0] > 60)).sum())
        focal = 100 / np.tan(np.deg2rad(22.5))
        ball = stiction.Marker("sphere", (0, 0, 2), (0.1,) * 3)
        assert red() == 0 and abs(red(ball) / (np.pi * (0.1 * focal / 2) ** 2) - 1) < 0.1  # pixels of its edge are half white
        assert red(ball._replace(pos=(0, 0, -1))) == 0
        rod = stiction.Marker.line((-.5, 0, 2), (.5, 0, 2), radius=0.05)  # with round ends
        assert abs(red(rod) / ((0.1 + np.pi * 0.0025) * (focal / 2) ** 2) - 1) < 0.15
        assert red(stiction.Marker.line((-.5, 0, 2), (.5, 0, 2), radius=0.05, arrow=True)) > 0
        assert red(ball._replace(pos=(np.nan, 0, 0))) == red(ball._replace(rgba=(1, 0, 0, 0))) == 0
        renderer.enable_segmentation_rendering()
        renderer.update_scene(data, "down", markers=[ball])
        assert (renderer.render()[100, 100] == (0, 5)).all()  # the box below
    with pytest.raises(ValueError, match="a marker is one of"):
        stiction.picture(model, data, markers=[("cube", (0, 0, 0))])
