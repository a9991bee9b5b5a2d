"""The connection between agent and worker, whatever the kernel cuts it into."""

import socket
from collections.abc import Iterator

import msgspec
import pytest

from nodeagent.devices.worker.messages import (
    LENGTH,
    LONGEST_BYTES,
    Answer,
    FrameError,
    Message,
    Noted,
    Pipe,
    Request,
    decode_message,
    decode_request,
)


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, Pipe]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, Pipe(theirs)


def test_messages_arrive_whole_in_order_however_they_are_cut(
    ends: tuple[socket.socket, Pipe],
) -> None:
    connection, pipe = ends
    sent: list[Message] = [
        Answer(1, error=("BusyError", "in use")),
        Noted("warning", "gpu left out", {"nvml_index": 3}),
        Answer(2, msgspec.Raw(msgspec.msgpack.encode(["x", 3]))),
    ]
    Pipe(connection).write(sent[0])
    for message in sent[1:]:
        content = msgspec.msgpack.encode(message)
        for byte in LENGTH.pack(len(content)) + content:
            connection.send(bytes([byte]))

    received = [decode_message(pipe.read() or b"") for _ in sent]

    assert received == sent


def test_a_request_is_read_as_it_was_asked(ends: tuple[socket.socket, Pipe]) -> None:
    connection, pipe = ends
    request = Request(7, "create_partition", ("GPU-1", 19, 3), 12.5)

    Pipe(connection).write(request)

    assert decode_request(pipe.read() or b"") == request


@pytest.mark.parametrize("cut", [b"", b"\x00\x00", LENGTH.pack(10) + b"half"])
def test_an_end_in_the_middle_is_an_end(ends: tuple[socket.socket, Pipe], cut: bytes) -> None:
    connection, pipe = ends
    connection.sendall(cut)
    connection.shutdown(socket.SHUT_WR)

    assert pipe.read() is None


def test_what_is_no_frame_is_refused_before_it_is_read(ends: tuple[socket.socket, Pipe]) -> None:
    connection, pipe = ends
    connection.sendall(LENGTH.pack(LONGEST_BYTES + 1))

    with pytest.raises(FrameError):
        pipe.read()
