"""Frames between processes that do not trust each other: what passes, what is refused, what ends a wait."""

import json
import os
import socket
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluator.wire import (
    MAX_MESSAGE_BYTES,
    Channel,
    DeadlinePassed,
    Interrupted,
    PeerClosed,
    WireError,
    decode,
    encode,
)

SOURCE_BYTES_MAX = 256 * 1024
Json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@pytest.fixture
def pair() -> Iterator[tuple[Channel, socket.socket]]:
    """A channel, and the raw socket of a peer that may send anything."""
    ours, theirs = socket.socketpair()
    channel = Channel(ours, max_bytes=1000)
    yield channel, theirs
    channel.close()
    theirs.close()


def frame(body: bytes) -> bytes:
    return struct.pack("!I", len(body)) + body


@given(st.dictionaries(st.text(), Json, max_size=4))
def test_what_is_encoded_is_decoded(message: dict[str, Any]) -> None:
    assert decode(encode(message)[4:]) == message


@given(st.lists(st.dictionaries(st.text(max_size=5), st.integers(), max_size=3), max_size=5), st.integers(1, 7))
def test_frames_arrive_whole_however_they_are_cut(messages: list[dict[str, int]], piece: int) -> None:
    ours, theirs = socket.socketpair()
    channel = Channel(ours)
    stream = b"".join(encode(message) for message in messages)
    piece = max(piece, len(stream) // 100)  # a socket holds some 250 pieces, however short
    for start in range(0, len(stream), piece):
        theirs.sendall(stream[start : start + piece])
    assert [channel.receive(deadline_s=5) for _ in messages] == messages
    channel.close()
    theirs.close()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_only_finite_numbers_are_sent(value: float) -> None:
    with pytest.raises(ValueError, match="JSON compliant"):
        encode({"value": value})


def test_too_long_a_message_is_not_sent() -> None:
    with pytest.raises(ValueError, match="over the limit"):
        encode({"text": "x" * MAX_MESSAGE_BYTES})


@pytest.mark.parametrize("character", ["\x01", "é", "漢", "😀", "a"])
def test_the_longest_source_fits_into_a_message(character: str) -> None:
    source = character * (SOURCE_BYTES_MAX // len(character.encode()))
    assert decode(encode({"op": "grade", "submission": {"code": source}})[4:])["submission"]["code"] == source


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff\xfe",
        b'{"a": "\xed\xa0\x80"}',
        b'{"a": 1',
        b"[]",
        b"1",
        b"null",
        b'"text"',
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": ' + b"9" * 100_000 + b"}",
        b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    ],
    ids=lambda body: repr(body[:16]),
)
def test_what_is_no_message_is_refused(body: bytes) -> None:
    with pytest.raises(WireError):
        decode(body)


@given(st.binary(max_size=64))
def test_any_bytes_are_a_message_or_refused(body: bytes) -> None:
    try:
        message = decode(body)
    except WireError:
        return
    assert message == json.loads(body)


def test_a_claimed_length_beyond_the_limit_is_refused_before_it_arrives(pair: tuple[Channel, socket.socket]) -> None:
    channel, peer = pair
    peer.sendall(struct.pack("!I", 2**32 - 1))
    with pytest.raises(WireError, match="over the limit"):
        channel.receive(deadline_s=5)


def test_a_frame_at_the_limit_passes(pair: tuple[Channel, socket.socket]) -> None:
    channel, peer = pair
    body = b'{"a": "' + b"x" * (1000 - 9) + b'"}'
    peer.sendall(frame(body))
    assert channel.receive(deadline_s=5)["a"] == "x" * 991


def test_a_frame_that_never_ends_meets_the_deadline(pair: tuple[Channel, socket.socket]) -> None:
    channel, peer = pair
    peer.sendall(frame(b"{}")[:-1])
    with pytest.raises(DeadlinePassed):
        channel.receive(deadline_s=0.05)


def test_a_frame_cut_off_by_the_end_of_the_peer(pair: tuple[Channel, socket.socket]) -> None:
    channel, peer = pair
    peer.sendall(frame(b"{}")[:-1])
    peer.close()
    with pytest.raises(PeerClosed):
        channel.receive(deadline_s=5)


def test_complete_frames_are_read_after_the_peer_closed(pair: tuple[Channel, socket.socket]) -> None:
    channel, peer = pair
    peer.sendall(frame(b'{"n":1}') + frame(b'{"n":2}'))
    peer.close()
    assert [channel.receive(deadline_s=5)["n"] for _ in range(2)] == [1, 2]
    with pytest.raises(PeerClosed):
        channel.receive(deadline_s=5)
    with pytest.raises(PeerClosed):
        channel.send({"n": 3})


def test_a_peer_that_does_not_read_meets_the_deadline(pair: tuple[Channel, socket.socket]) -> None:
    channel, _ = pair
    with pytest.raises(DeadlinePassed):
        channel.send({"text": "x" * 1_000_000}, deadline_s=0.05)


def test_a_closed_channel_is_a_closed_peer(pair: tuple[Channel, socket.socket]) -> None:
    channel, _ = pair
    channel.close()
    with pytest.raises(PeerClosed):
        channel.send({})


@pytest.mark.parametrize("how", ["readable", "closed"])
def test_an_interrupt_ends_the_wait(pair: tuple[Channel, socket.socket], how: str) -> None:
    channel, _ = pair
    read, write = os.pipe()
    if how == "readable":
        os.write(write, b"x")
    os.close(write)
    with pytest.raises(Interrupted):
        channel.receive(deadline_s=30, interrupts=[read])
    os.close(read)


def test_a_message_that_is_complete_comes_before_an_interrupt(pair: tuple[Channel, socket.socket]) -> None:
    channel, peer = pair
    peer.sendall(frame(b"{}") * 2)
    channel.receive(deadline_s=5)
    read, write = os.pipe()
    os.close(write)
    assert channel.receive(deadline_s=5, interrupts=[read]) == {}
    os.close(read)


def test_a_peer_that_never_stops_sending_does_not_put_an_interrupt_off(pair: tuple[Channel, socket.socket]) -> None:
    channel, peer = pair
    peer.sendall(frame(b"{}")[:-1])
    read, write = os.pipe()
    os.close(write)
    with pytest.raises(Interrupted):
        channel.receive(deadline_s=5, interrupts=[read])
    os.close(read)


def descriptors() -> list[str]:
    return sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208 - the listing's own descriptor is the same one each time


def test_descriptors_of_a_hostile_peer_are_dropped(pair: tuple[Channel, socket.socket]) -> None:
    channel, peer = pair
    before = descriptors()
    with Path("/dev/null").open() as file:
        for _ in range(50):
            socket.send_fds(peer, [frame(b"{}")], [file.fileno()] * 16)
            assert channel.receive(deadline_s=5) == {}
    assert channel.take_fds() == []
    assert descriptors() == before


def test_descriptors_pass_where_they_are_asked_for() -> None:
    ours, theirs = socket.socketpair()
    sender, receiver = Channel(theirs), Channel(ours, accept_fds=True)
    read, write = os.pipe()
    sender.send({"op": "x"}, fds=[write])
    assert receiver.receive(deadline_s=5) == {"op": "x"}
    (passed,) = receiver.take_fds()
    assert receiver.take_fds() == []
    os.write(passed, b"hello")
    assert os.read(read, 5) == b"hello"
    for fd in (read, write, passed):
        os.close(fd)
    sender.close()
    receiver.close()
