# SPDX-License-Identifier: Apache-2.0
"""What no page would send: fuzz.py PROGRAM [SECONDS] [SEED]. The server must go on simulating and serving, give away no
file but its own, and end without an error (built with sanitizers: without a leak)."""
import os
import random
import signal
import socket
import struct
import sys
import time
import urllib.parse

from client import ROOT, Client, server

OWN = (b"HTTP/1.1 403", b"HTTP/1.1 404", b"HTTP/1.1 405", b"HTTP/1.1 400", b"HTTP/1.1 414", b"HTTP/1.1 501")


def connect(url):
    parts = urllib.parse.urlsplit(url)
    s = socket.create_connection((parts.hostname, parts.port), 5)
    return s, parts.path


def ask(url, request):
    """The answer to raw bytes, as far as it comes."""
    s, answer = connect(url)[0], b""
    try:
        s.sendall(request)
        s.settimeout(0.5)
        while len(answer) < 1 << 20:
            piece = s.recv(65536)
            if not piece:
                break
            answer += piece
    except OSError:
        pass
    s.close()
    return answer


def random_frames(url, rng):
    page = Client(url)
    for _ in range(rng.randrange(1, 20)):
        page.raw(rng.randbytes(rng.choice([0, 1, 8, 55, 56, 57, 125, 126, 1000, 70000])), rng.randrange(16),
                 rng.random() < 0.7, rng.random() < 0.8)
    page.close()


def random_commands(url, rng):
    page = Client(url)
    for _ in range(rng.randrange(1, 200)):
        x = [rng.choice([0.0, 1.0, -1.0, 1e300, float("nan"), float("inf"), rng.uniform(-10, 10)]) for _ in range(6)]
        page.raw(struct.pack("<II6d", rng.choice([0, 19, 255, *range(1, 19)]), rng.choice([0, 1, 2, 1 << 31, 0xFFFFFFFF, rng.randrange(99)]), *x))
    page.close()


def good_commands(url, rng):
    page = Client(url)
    for _ in range(rng.randrange(1, 50)):
        op = rng.choice("pause step reset control drag release seek replay live resume look speed record stress joint equality world grid".split())
        page.send(op, rng.choice([0, 1, 2, 3, 0xFFFFFFFF]), *[rng.uniform(-2, 2) for _ in range(6)])
        if rng.random() < 0.2:
            page.frame() if not op.startswith("x") and rng.random() < 0.5 else None
    page.close()


def oversized(url, rng):
    page = Client(url)
    page.raw(b"x" * 100, 2, True, True, length=rng.choice([1 << 20, 1 << 40, (1 << 63) - 1]))
    page.closed()
    page.close()


def fragments(url, rng):
    page, command = Client(url), struct.pack("<II6d", 1, 0, *[0.0] * 6)
    cut = rng.randrange(57)
    page.raw(command[:cut], 2, False)
    page.raw(command[cut:], 0, True)
    for _ in range(rng.randrange(30)):
        page.raw(rng.randbytes(rng.randrange(40)), 0, False)
    page.close()


def half_closed(url, rng):
    page = Client(url)
    page.socket.sendall(b"\x82\xb8" + rng.randbytes(rng.randrange(20)))
    page.socket.shutdown(rng.choice([socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR]))
    time.sleep(0.01)
    page.close()


def reset_connection(url, rng):
    page = Client(url)
    page.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    page.close()


def random_http(url, rng):
    s = connect(url)[0]
    s.sendall(rng.choice([b"", b"GET ", b"GET / HTTP/1.1\r\n"]) + rng.randbytes(rng.choice([1, 100, 5000, 100000])))
    s.close()


def slow_headers(url, rng):
    s, path = connect(url)
    s.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nX: ".encode() + b"a" * rng.randrange(9000))
    s.close()


def traversal(url, rng):
    up = rng.choice(["../", "..%2f", "%2e%2e/", "..\\", "....//", "%252e%252e/", "..%c0%af", "/"])
    name = rng.choice(["etc/passwd", "proc/self/environ", "web/package.json", "README.md"])
    token = urllib.parse.urlsplit(url).path if rng.random() < 0.7 else "/"
    method = rng.choice(["GET", "GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"])
    answer = ask(url, f"{method} {token}{up * rng.randrange(1, 9)}{name} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
    assert answer == b"" or answer.startswith(OWN), answer[:300]
    assert b"root:" not in answer and b"stiction-page" not in answer


def wrong_token(url, rng):
    token = bytearray(urllib.parse.urlsplit(url).path.encode())
    token[rng.randrange(1, 33)] = ord(rng.choice("ghijk"))
    bad = url.split("/")[0] + "//" + url.split("/")[2] + token.decode()
    assert Client(bad).status != 101
    assert ask(url, b"GET " + bytes(token) + b"scene.json HTTP/1.1\r\nHost: localhost\r\n\r\n").startswith(b"HTTP/1.1 403")


def crowd(url, rng):
    pages = []
    for _ in range(100):
        try:
            pages.append(Client(url, timeout=30))
        except OSError:
            break
    good = [p for p in pages if p.status == 101]
    assert len(good) >= 64, f"only {len(good)} of 100 were served"
    good[0].send("reset", 0xFFFFFFFF)
    for page in good[::10]:
        page.send("pause", 0)
        page.message()
    for page in pages:
        page.close()


KINDS = [random_frames, random_commands, good_commands, oversized, fragments, half_closed, reset_connection, random_http,
         slow_headers, traversal, wrong_token]


def alive(url):
    """Pages that behave are still served by a simulation that still runs."""
    for _ in range(20):
        try:
            with Client(url) as page:
                if page.status == 101:
                    page.send("reset", 0xFFFFFFFF)
                    page.send("speed", 0, 1.0)
                    page.send("pause", 0)
                    page.send("live")
                    page.until(lambda f: 0 < f["HEAD"]["time"] < 5 and not f["HEAD"]["paused"], 300)
                    return
        except (OSError, ConnectionError):
            pass
        time.sleep(0.2)
    raise AssertionError("the server no longer serves")


def main(program, seconds=20.0, seed=1):
    rng = random.Random(seed)
    process, url = server(program, ROOT / "scenes" / "figure.xml", env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1"})
    end, counts = time.monotonic() + seconds, {}
    crowd(url, rng)
    while time.monotonic() < end:
        kind = rng.choice(KINDS)
        try:
            kind(url, rng)
        except (OSError, ConnectionError):
            pass  # the server may end what is wrong
        counts[kind.__name__] = counts.get(kind.__name__, 0) + 1
        assert process.poll() is None, process.communicate()[1]
    crowd(url, rng)
    alive(url)
    left = connect(url)[0]  # one that stays open until the end
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    left.close()
    assert process.returncode == 0, f"exit {process.returncode}: {errors}"
    assert "Sanitizer" not in errors and "runtime error" not in errors, errors
    print(f"viewer: {sum(counts.values())} hostile connections of {len(counts)} kinds; no crash, no leak, no foreign file")


main(sys.argv[1], *map(float, sys.argv[2:3]), *map(int, sys.argv[3:4]))
