# SPDX-License-Identifier: Apache-2.0
"""Height fields from PNG files of every kind, against MuJoCo; and files that are damaged."""
import struct
import zlib

import mujoco
import numpy as np
import pytest
import stiction

HFIELD = """<mujoco><asset><hfield name="h" file="h.png" size="1 1 1 1"/></asset>
<worldbody><geom type="hfield" hfield="h"/></worldbody></mujoco>"""
CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
ADAM7 = [(0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2)]


def chunk(kind, body):
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def rows(image, depth, rng):
    """filtered rows of an array (height, width, channels)"""
    out = b""
    height = image.shape[0]
    step = max(1, image.shape[2] * depth // 8)
    above = None
    for r in range(height):
        values = image[r].reshape(-1)
        if depth == 16:
            line = values.astype(">u2").tobytes()
        elif depth == 8:
            line = values.astype("u1").tobytes()
        else:
            bits = ((values[:, None] >> np.arange(depth)[::-1]) & 1).astype("u1")
            line = np.packbits(bits.reshape(-1)).tobytes()
        line = np.frombuffer(line, "u1").astype(int)
        up = np.zeros_like(line) if above is None else above
        left = np.concatenate([np.zeros(step, int), line])[:len(line)]
        corner = np.concatenate([np.zeros(step, int), up])[:len(line)]
        p = left + up - corner
        a, b, c = abs(p - left), abs(p - up), abs(p - corner)
        paeth = np.where((a <= b) & (a <= c), left, np.where(b <= c, up, corner))
        filters = [0 * line, left, up, (left + up) // 2, paeth]
        k = int(rng.integers(5))
        out += bytes([k]) + ((line - filters[k]) % 256).astype("u1").tobytes()
        above = line
    return out


def png(image, depth, kind, rng, interlaced=False, level=6, strategy=zlib.Z_DEFAULT_STRATEGY, palette=b""):
    height, width, _ = image.shape
    raw = b""
    for x, y, dx, dy in ADAM7 if interlaced else [(0, 0, 1, 1)]:
        part = image[y::dy, x::dx]
        if part.size:
            raw += rows(part, depth, rng)
    packer = zlib.compressobj(level, zlib.DEFLATED, 15, 9, strategy)
    data = packer.compress(raw) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, interlaced)
    cut = len(data) // 2
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + (chunk(b"PLTE", palette) if palette else b"")
            + chunk(b"tEXt", b"Comment\0none") + chunk(b"IDAT", data[:cut]) + chunk(b"IDAT", data[cut:]) + chunk(b"IEND", b""))


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("kind,depth", [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (2, 8), (2, 16), (3, 1), (3, 2), (3, 4), (3, 8),
                                        (4, 8), (4, 16), (6, 8), (6, 16)])
def test_all_kinds(kind, depth, interlaced):
    rng = np.random.default_rng(16 * kind + depth)
    for width, height, level, strategy in [(13, 9, 6, zlib.Z_DEFAULT_STRATEGY), (2, 3, 0, zlib.Z_DEFAULT_STRATEGY),
                                           (40, 31, 9, zlib.Z_FIXED), (200, 150, 9, zlib.Z_DEFAULT_STRATEGY)]:
        image = rng.integers(0, 1 << depth, (height, width, CHANNELS[kind]))
        image[height // 2:] = image[height // 2, 0]  # long matches
        palette = rng.integers(0, 256, 3 << depth).astype("u1").tobytes() if kind == 3 else b""
        content = png(image, depth, kind, rng, interlaced, level, strategy, palette)
        ours = stiction.Model.from_xml_string(HFIELD, assets={"h.png": content})
        theirs = mujoco.MjModel.from_xml_string(HFIELD, assets={"h.png": content})
        assert (ours.hfield_nrow[0], ours.hfield_ncol[0]) == (height, width)
        np.testing.assert_allclose(ours.hfield_data, theirs.hfield_data, atol=1e-6)


def test_damaged():
    rng = np.random.default_rng(0)
    content = png(rng.integers(0, 256, (5, 6, 1)), 8, 0, rng)
    stiction.Model.from_xml_string(HFIELD, assets={"h.png": content})
    for cut in range(8, len(content)):
        with pytest.raises(stiction.Error, match="PNG"):
            stiction.Model.from_xml_string(HFIELD, assets={"h.png": content[:cut]})
    for at in range(8, len(content)):
        bad = bytearray(content)
        bad[at] ^= 1 << int(rng.integers(8))
        with pytest.raises(stiction.Error, match="PNG"):
            stiction.Model.from_xml_string(HFIELD, assets={"h.png": bytes(bad)})


def test_damaged_inside():
    """compressed data that is wrong with right check sums around it"""
    rng = np.random.default_rng(1)
    raw = rows(rng.integers(0, 256, (12, 30, 1)), 8, rng)
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 30, 12, 8, 0, 0, 0, 0))
    for level in (0, 9):
        good = zlib.compress(raw, level)
        for k in range(300):
            bad = bytearray(good)
            bad[int(rng.integers(len(bad)))] ^= 1 << int(rng.integers(8))
            data = bytes(bad) if k % 3 else good[:int(rng.integers(len(good)))]
            content = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", data) + chunk(b"IEND", b"")
            with pytest.raises(stiction.Error, match="PNG"):
                stiction.Model.from_xml_string(HFIELD, assets={"h.png": content})


def test_too_large():
    head = chunk(b"IHDR", struct.pack(">IIBBBBB", 32768, 32768, 16, 6, 0, 0, 0))
    content = b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", zlib.compress(bytes(100))) + chunk(b"IEND", b"")
    with pytest.raises(stiction.Error, match="too short"):
        stiction.Model.from_xml_string(HFIELD, assets={"h.png": content})
