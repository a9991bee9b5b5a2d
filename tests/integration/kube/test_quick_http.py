"""Whole answers, however a server frames them, and what is none."""

import gc
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
import urllib3
from urllib3.exceptions import HTTPError

from dra_console.kube.quick_http import QuickPool, _Answer

Answers = Callable[..., QuickPool]

SERVED = b'{"kind": "Pod"}'
FRAMES = {
    "with-a-length": b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n" + SERVED,
    "in-chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b'8\r\n{"kind":\r\n7\r\n "Pod"}\r\n0\r\n\r\n',
    "until-the-end": b"HTTP/1.1 200 OK\r\n\r\n" + SERVED,
    "after-others": b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"
    b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n" + SERVED,
    "of-old": b"HTTP/1.0 200 OK\r\nContent-Length: 15\r\n\r\n" + SERVED,
}
CUT_OFF = {
    "nothing": b"",
    "in-its-head": b"HTTP/1.1 200 OK\r\nContent-",
    "in-its-body": b"HTTP/1.1 200 OK\r\nContent-Length: 15\r\n\r\n{",
    "in-a-chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{",
    "no-http": b"SSH-2.0-OpenSSH_9.2\r\n",
}


@pytest.fixture
def answering() -> Iterator[Answers]:
    """Serve one text of bytes for each connection, a few bytes at a time, then close it."""
    listener = socket.create_server(("127.0.0.1", 0))
    pools: list[QuickPool] = []

    def serve(texts: tuple[bytes, ...], step: int) -> None:
        # Who is refused asks for nothing, and the listener closes.
        with suppress(OSError):
            for text in texts:
                connection, _ = listener.accept()
                with connection:
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    connection.recv(65536)
                    for start in range(0, len(text), step):
                        connection.sendall(text[start : start + step])

    def answer(*texts: bytes, step: int = 7) -> QuickPool:
        threading.Thread(target=serve, args=(texts, step), daemon=True).start()
        pools.append(QuickPool("127.0.0.1", listener.getsockname()[1]))
        return pools[-1]

    yield answer
    with suppress(OSError):
        listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    for pool in pools:
        pool.close()


def asked(
    pool: QuickPool, target: str = "/api", headers: tuple[tuple[str, str], ...] = ()
) -> urllib3.HTTPResponse:
    return pool.exchange(
        "GET", target, headers=headers, body=None, connect_seconds=5.0, read_seconds=5.0
    )


@pytest.mark.parametrize("step", [1, 7, 4096])
@pytest.mark.parametrize("framed", FRAMES.values(), ids=FRAMES)
def test_an_answer_is_read_to_its_end(answering: Answers, framed: bytes, step: int) -> None:
    answer = asked(answering(framed, step=step))

    assert (answer.status, answer.data) == (200, SERVED)


def test_of_an_answer_that_was_given_nothing_waits_for_the_collector(answering: Answers) -> None:
    gc.collect()  # what other tests left
    gc.disable()
    try:
        asked(answering(FRAMES["in-chunks"]))

        assert not [each for each in gc.get_objects() if type(each) is _Answer]
    finally:
        gc.enable()


@pytest.mark.parametrize("cut", CUT_OFF.values(), ids=CUT_OFF)
def test_an_answer_that_is_cut_off_is_none(answering: Answers, cut: bytes) -> None:
    pool = answering(cut)

    with pytest.raises((HTTPError, OSError)):
        asked(pool)


def test_a_connection_that_the_server_closed_is_made_anew(answering: Answers) -> None:
    pool = answering(FRAMES["with-a-length"], FRAMES["in-chunks"])

    assert [asked(pool).data for _ in range(2)] == [SERVED, SERVED]


def test_a_header_of_two_lines_is_not_sent(answering: Answers) -> None:
    pool = answering(FRAMES["with-a-length"])

    with pytest.raises(ValueError, match="one line"):
        asked(pool, headers=(("Impersonate-User", "ann\r\nImpersonate-Group: system:masters"),))


def test_a_target_with_a_space_is_one_target(answering: Answers) -> None:
    answer = asked(answering(FRAMES["with-a-length"]), target="/api/a b HTTP/1.1\r\n")

    assert answer.status == 200


def test_an_answer_that_does_not_come_is_given_up() -> None:
    silent = socket.create_server(("127.0.0.1", 0))
    pool = QuickPool("127.0.0.1", silent.getsockname()[1])
    try:
        with pytest.raises(HTTPError, match="no answer came in time"):
            pool.exchange("GET", "/", headers=(), body=None, connect_seconds=5.0, read_seconds=0.05)
    finally:
        pool.close()
        silent.close()
