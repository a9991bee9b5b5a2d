"""The demo without a redis-server runs on fakeredis' TCP server: leases must hold there, too."""

import socket
import threading
from collections.abc import Iterator

import pytest
import redis
from fakeredis import TcpFakeServer

from dra_console import leases
from dra_console.leases import is_held, lease


@pytest.fixture
def fake_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    server = TcpFakeServer(("127.0.0.1", port), server_type="redis")
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    client = redis.Redis(port=port)
    monkeypatch.setattr(leases, "_script", client.register_script)
    monkeypatch.setattr(leases, "_redis", lambda: client)
    yield
    client.close()
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.usefixtures("fake_server")
def test_leases_exclude_grow_and_end_on_fakeredis() -> None:
    with lease("one", seconds=5) as first, lease("one", seconds=5) as second:
        assert first is not None
        assert second is None
        assert is_held("one")

    with lease("one", seconds=5) as third:
        assert third is not None
        assert third.fence > first.fence
