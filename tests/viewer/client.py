# SPDX-License-Identifier: Apache-2.0
"""A small WebSocket client for tests and benchmarks: what a page does, and what no page would do."""
import atexit
import base64
import os
import pathlib
import socket
import struct
import subprocess
import urllib.parse

NOTHING = 0xFFFFFFFF
OP = {name: i + 1 for i, name in enumerate(
    "pause step speed reset control drag release seek replay live resume look record stress joint equality world grid".split())}
FLAGS = "paused past replaying recording recorder replay dragging".split()
ROOT = pathlib.Path(__file__).resolve().parents[2]


def server(program, scene, *options, **kw):
    """Starts `stiction view`; returns the process and its address."""
    process = subprocess.Popen([str(program), "view", str(scene), *options], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, **kw)
    atexit.register(process.kill)  # a test that fails leaves nothing behind
    url = process.stdout.readline().strip()
    if not url:
        raise RuntimeError(process.communicate()[1])
    return process, url


def decode(message):
    """Sections by tag: floats, bytes for LOOK, text for PNAM, TEXT, NOTE and MLAB, a dict for HEAD."""
    frame, at = {}, 0
    while at + 8 <= len(message):
        tag, words = message[at:at + 4].decode(), struct.unpack_from("<I", message, at + 4)[0]
        part = message[at + 8:at + 8 + 4 * words]
        assert len(part) == 4 * words, f"{tag} is cut off"
        at += 8 + 4 * words
        if tag == "HEAD":
            sequence, flags, first, last, shown, time, speed, rate, begin, end, h = struct.unpack("<IIiiid5f", part)
            frame[tag] = dict(sequence=sequence, first=first, last=last, shown=shown, time=time, speed=speed, rate=rate,
                              begin=begin, end=end, timestep=h, **{f: bool(flags >> i & 1) for i, f in enumerate(FLAGS)})
        elif tag == "LOOK":
            frame[tag] = part
        elif tag in ("PNAM", "TEXT", "NOTE", "MLAB"):
            frame[tag] = part.rstrip(b"\0").decode()
        else:
            frame[tag] = struct.unpack(f"<{words}f", part)
    assert at == len(message)
    return frame


class Client:
    def __init__(self, url, path="stream", protocol="stiction", timeout=60.0, receive_buffer=None, host=None, origin=None):
        parts = urllib.parse.urlsplit(url)
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect((parts.hostname, parts.port))
        self.left = b""
        key = base64.b64encode(os.urandom(16)).decode()
        name = f"Sec-WebSocket-Protocol: {protocol}\r\n" if protocol else ""
        name += f"Origin: {origin}\r\n" if origin else ""
        self.socket.sendall(f"GET {parts.path}{path} HTTP/1.1\r\nHost: {host or parts.netloc}\r\nUpgrade: websocket\r\n"
                            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n{name}\r\n".encode())
        head = b""
        while b"\r\n\r\n" not in head:
            piece = self.socket.recv(4096)
            if not piece:
                break
            head += piece
        head, _, self.left = head.partition(b"\r\n\r\n")
        self.status = int(head.split()[1]) if head else 0

    def _read(self, n):
        while len(self.left) < n:
            piece = self.socket.recv(max(65536, n - len(self.left)))
            if not piece:
                raise ConnectionError("the server closed the connection")
            self.left += piece
        out, self.left = self.left[:n], self.left[n:]
        return out

    def message(self):
        """The next binary message; answers pings."""
        parts = b""
        while True:
            a, b = self._read(2)
            n = b & 127
            if n >= 126:
                n = int.from_bytes(self._read(2 if n == 126 else 8), "big")
            data = self._read(n)
            if a & 15 == 8:
                raise ConnectionError("the server closed the connection")
            if a & 15 == 9:
                self.raw(data, 10)
            if a & 15 in (0, 2):
                parts += data
                if a & 128:
                    return parts

    def frame(self):
        return decode(self.message())

    def until(self, condition, most=6000):
        """The first frame that meets a condition."""
        for _ in range(most):
            frame = self.frame()
            if condition(frame):
                return frame
        raise AssertionError("no frame met the condition")

    def raw(self, data, opcode=2, final=True, mask=True, length=None):
        n = len(data) if length is None else length
        head = bytes([opcode | (128 if final else 0)])
        bit = 128 if mask else 0
        head += bytes([bit | n]) if n < 126 else bytes([bit | 126]) + n.to_bytes(2, "big") if n < 65536 else bytes([bit | 127]) + n.to_bytes(8, "big")
        key = os.urandom(4) if mask else b""
        body = bytes(c ^ key[i % 4] for i, c in enumerate(data)) if mask else data
        self.socket.sendall(head + key + body)

    def send(self, op, index=0, *x):
        self.raw(struct.pack("<II6d", OP[op], index, *x, *[0.0] * (6 - len(x))))

    def closed(self):
        """Whether the server has ended the connection (waits for it)."""
        try:
            while True:
                self.message()
        except (ConnectionError, OSError) as error:
            return not isinstance(error, TimeoutError)

    def close(self):
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
