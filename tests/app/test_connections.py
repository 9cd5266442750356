"""Slow and vanished clients: neither keeps anything of the server."""

import json
import socket
import time

import httpx
import pytest

from app.context import THREADS
from app.deadlines import ReadDeadlines
from app.hangups import Hangups
from tests.app.conftest import Keyed, client
from tests.app.test_episodes import TASK, source


def request(method: str, path: str, token: str, body: bytes, length: int) -> bytes:
    return (
        f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    ).encode() + body


def test_a_slow_body_is_answered_with_408(keyed: Keyed) -> None:
    url, token = httpx.URL(keyed.url), keyed.key("slow")
    with socket.create_connection((url.host, url.port or 80), timeout=30) as slow:
        slow.sendall(request("POST", "/submissions", token, b"{", 100))
        for _ in range(4):  # drop by drop, for longer than the two seconds that this server gives
            time.sleep(0.4)
            slow.sendall(b" ")
        answer = slow.makefile("rb").read()
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 408")
    assert b"application/problem+json" in head
    assert json.loads(body)["code"] == "body_too_slow"


def test_a_slow_body_that_arrives_in_time_is_read(keyed: Keyed) -> None:
    url, token = httpx.URL(keyed.url), keyed.key("slow")
    body = json.dumps({"task_id": TASK, "code": "x"}).encode()
    with socket.create_connection((url.host, url.port or 80), timeout=30) as slow:
        slow.sendall(request("POST", "/submissions", token, body[:5], len(body)))
        time.sleep(0.5)
        slow.sendall(body[5:])
        assert slow.recv(100).startswith(b"HTTP/1.1 202")


CHUNKED = "Transfer-Encoding: chunked"
BODIES = [
    (CHUNKED, b"2\r\n{}\r\n0\r\n\r\n", 201),
    (CHUNKED, b"zz\r\n{}\r\n0\r\n\r\n", 400),
    (CHUNKED, b"2\r\n{}xx0\r\n\r\n", 400),
    (CHUNKED, b"5\r\n{}", 400),
    (CHUNKED, b"%x\r\n" % 3_000_000 + b" " * 3_000_000 + b"\r\n0\r\n\r\n", 413),
    ("Content-Length: 100", b'{"max_turns": 1}', 400),  # cut off where it happens to be JSON
    ("Content-Length: -1", b"{}", 400),
    ("Content-Length: many", b"{}", 400),
]


@pytest.mark.parametrize(("length", "body", "status"), BODIES, ids=range(len(BODIES)))
def test_bodies_that_are_not_as_announced(api: httpx.Client, length: str, body: bytes, status: int) -> None:
    head = f"POST /episodes HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n{length}\r\n\r\n"
    with socket.create_connection((api.base_url.host, api.base_url.port or 80), timeout=30) as connection:
        connection.sendall(head.encode() + body)
        connection.shutdown(socket.SHUT_WR)
        answer = connection.makefile("rb").read()
    assert answer.startswith(f"HTTP/1.1 {status} ".encode()), answer
    if status == 400 and length in (CHUNKED, "Content-Length: 100"):  # others never reach the application
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "bad_request"


def test_a_refusal_reaches_who_still_sends(api: httpx.Client) -> None:
    for _ in range(20):
        with httpx.Client(base_url=api.base_url, timeout=60, trust_env=False) as sender:
            for path in ("/submissions", "/nowhere", "/submissions/sub_nothing/cancel"):
                answer = sender.post(path, content=b" " * 10_000_000, headers={"Content-Type": "application/json"})
                assert answer.status_code == (413 if path == "/submissions" else 404)


def test_a_waiting_client_that_goes_away_is_noticed(keyed: Keyed) -> None:
    url, token = httpx.URL(keyed.url), keyed.key("gone", "admin")
    with keyed.client("gone") as holder:
        body = {"task_id": TASK, "code": source("correct eval_s=60")}
        name = holder.post("/submissions", json=body).json()["id"]
        with socket.create_connection((url.host, url.port or 80), timeout=30) as leaver:
            leaver.sendall(request("GET", f"/submissions/{name}?wait=60", token, b"", 0))
            wait_for_waiters(holder, 1)
        wait_for_waiters(holder, 0)  # long before its minute is over
        assert holder.get(f"/submissions/{name}").json()["status"] in ("queued", "running")  # and cancelled nothing
        holder.post(f"/submissions/{name}/cancel")


def wait_for_waiters(api: httpx.Client, count: int) -> None:
    for _ in range(200):
        for line in api.get("/metrics").text.splitlines():
            if line.startswith("kernel_grader_waiting_requests") and float(line.rpartition(" ")[2]) == count:
                return
        time.sleep(0.05)
    raise AssertionError(f"never were {count} waiting")


def test_hangups_calls_once_and_only_while_it_watches() -> None:
    hangups, gone = Hangups(), []
    for leaves_within in (True, False):
        here, there = socket.socketpair()
        with here, there:
            with hangups.watching(here, lambda: gone.append(1)):
                if leaves_within:
                    there.close()
                    for _ in range(200):
                        if gone:
                            break
                        time.sleep(0.01)
            there.close()
    time.sleep(0.05)
    assert gone == [1]
    with hangups.watching(None, lambda: gone.append(1)):
        pass


def test_deadlines_leave_connections_alone_that_were_in_time() -> None:
    deadlines = ReadDeadlines(0.1)
    here, there = socket.socketpair()
    with here, there:
        with deadlines.watching(here) as reading:
            pass
        time.sleep(0.2)
        assert not reading.late
        there.sendall(b"x")
        assert here.recv(1) == b"x"


def test_deadlines_end_what_takes_longer_and_count_from_each_ones_start() -> None:
    deadlines = ReadDeadlines(0.2)
    pairs = [socket.socketpair() for _ in range(5)]
    for here, _ in pairs:
        with deadlines.watching(here) as reading:
            assert here.recv(1) == b""  # nobody sends, and nobody hangs up
        assert reading.late
    for here, there in pairs:
        here.close()
        there.close()


def test_heads_that_never_end_hold_up_nobody_for_long(keyed: Keyed) -> None:
    """More of them than the server has threads."""
    url = httpx.URL(keyed.url)
    slow = [socket.create_connection((url.host, url.port or 80), timeout=60) for _ in range(THREADS + 76)]
    try:
        for connection in slow:
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost:")
        with client(keyed.url) as stranger:
            assert stranger.get("/healthz").status_code == 200
        assert slow[0].recv(1) == b""
    finally:
        for connection in slow:
            connection.close()


def test_answers_that_nobody_reads_hold_up_nobody_for_long(keyed: Keyed) -> None:
    """More of them than the server has threads, each larger than what lies in between."""
    url, slow = httpx.URL(keyed.url), []
    try:
        for _ in range(THREADS + 76):
            slow.append(socket.socket())
            slow[-1].setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            slow[-1].settimeout(60)
            slow[-1].connect((url.host, url.port or 80))
            slow[-1].sendall(b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: x\r\n\r\n")
        with client(keyed.url) as stranger:
            assert stranger.get("/healthz").status_code == 200
    finally:
        for connection in slow:
            connection.close()
