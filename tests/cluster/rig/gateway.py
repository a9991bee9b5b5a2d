"""The way from pods to the API server: what a service's address is for on a whole node.

The API server listens on 127.0.0.1, where a pod finds only itself. So the node's end of every
pod's network has the address of the service `kubernetes`, and there this passes on what comes.
"""

import contextlib
import ipaddress
import selectors
import socket
import socketserver
import threading
from typing import Final

from tests.cluster.rig.home import LOOPBACK

HTTPS: Final = 443
PIECE_BYTES: Final = 65536
LOOK_SECONDS: Final = 0.5
IP_FREEBIND: Final = 15
"""From Linux's `in.h`: the address comes with the first pod, later than this."""


class Gateway:
    """Listens for pods from `start` to `stop`."""

    def __init__(self, address: ipaddress.IPv4Address, *, api_port: int) -> None:
        self._server = _Server(str(address), api_port)
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(LOOK_SECONDS,), daemon=True
        )

    def start(self) -> None:
        """Listen.

        Raises:
            OSError: somebody else has the address.

        """
        self._server.server_bind()
        self._server.server_activate()
        self._thread.start()

    def stop(self) -> None:
        """Let go of the address and of every connection."""
        if self._thread.is_alive():
            self._server.shutdown()
            self._thread.join()
        self._server.server_close()


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True

    def __init__(self, address: str, api_port: int) -> None:
        super().__init__((address, HTTPS), _Passing, bind_and_activate=False)
        self.socket.setsockopt(socket.IPPROTO_IP, IP_FREEBIND, 1)
        self.api_port = api_port
        self.ending = threading.Event()

    def shutdown(self) -> None:
        self.ending.set()
        super().shutdown()


class _Passing(socketserver.BaseRequestHandler):
    server: _Server

    def handle(self) -> None:
        # Whoever goes is no failure of the rig: the client sees it and asks again.
        with (
            contextlib.suppress(OSError),
            socket.create_connection((LOOPBACK, self.server.api_port)) as api,
            selectors.DefaultSelector() as ready,
        ):
            pod: socket.socket = self.request
            ready.register(pod, selectors.EVENT_READ, api)
            ready.register(api, selectors.EVENT_READ, pod)
            while not self.server.ending.is_set():
                for key, _ in ready.select(LOOK_SECONDS):
                    piece = key.fileobj.recv(PIECE_BYTES)  # type: ignore[union-attr]
                    if not piece:
                        return
                    key.data.sendall(piece)
