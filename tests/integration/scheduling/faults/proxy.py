"""An API server as it is on a bad day: a proxy in front of one that does what it is told to.

`python -m tests.integration.scheduling.faults.proxy UPSTREAM_URL` prints its port and serves
until its standard input ends. `POST /faults` with a list of faults, one for each of the coming
writes (null: pass it on), and `GET /faults` for what was done to which write since, and how
many writes are held back.
"""

import http.client
import json
import sys
import threading
import time
from collections import Counter, deque
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final
from urllib.parse import urlsplit

WRITES: Final = ("POST", "PUT", "PATCH")
CLIENT_GIVES_UP_SECONDS: Final = 0.3
"""How long the console's workers in these tests wait for an answer."""

LATE_SECONDS: Final = 1.2


class Fault(StrEnum):
    """What becomes of one write."""

    CONFLICT = "409"
    BUSY = "429"
    FAILED = "500 instead of the write"
    FAILED_AFTER = "500 after the write"
    UNAVAILABLE = "503"
    CUT = "connection cut before the write"
    CUT_AFTER = "connection cut after the write"
    SILENCE = "time-out without the write"
    SILENCE_AFTER = "time-out after the write"
    LATE = "the write happens after the time-out"


REFUSALS: Final = {
    Fault.CONFLICT: (409, "Conflict"),
    Fault.BUSY: (429, "TooManyRequests"),
    Fault.FAILED: (500, "InternalError"),
    Fault.FAILED_AFTER: (500, "InternalError"),
    Fault.UNAVAILABLE: (503, "ServiceUnavailable"),
}
AFTER_WRITE: Final = frozenset({Fault.FAILED_AFTER, Fault.CUT_AFTER, Fault.SILENCE_AFTER})


class Proxy(ThreadingHTTPServer):
    """Passes requests on, but for the faults that it was told."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, upstream: str) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.upstream = urlsplit(upstream)
        self.faults: deque[str | None] = deque()
        self.done: Counter[str] = Counter()
        self.lock = threading.Lock()
        self.late = 0
        """Writes that are held back."""

    def fault_of(self, what: str) -> Fault | None:
        with self.lock:
            fault = self.faults.popleft() if self.faults else None
            if fault is not None:
                self.done[f"{fault}: {what}"] += 1
        return Fault(fault) if fault is not None else None

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients are killed in mid-request here."""


class Handler(BaseHTTPRequestHandler):
    """One client's connection."""

    server: Proxy
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    _upstream: http.client.HTTPConnection | None = None

    def _handle(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length) if length else None
        if self.path == "/faults":
            self._control(body)
            return
        what = _write_in(self.command, self.path)
        fault = self.server.fault_of(what) if what else None
        if fault is None:
            self._pass_on(body)
        else:
            self._spoil(fault, body)

    def _spoil(self, fault: Fault, body: bytes | None) -> None:
        if fault in AFTER_WRITE:
            self._forward(body).read()
        if fault is Fault.LATE:
            self.server.late += 1
            try:
                time.sleep(LATE_SECONDS)
                self._forward(body).read()
            finally:
                self.server.late -= 1
        if fault in REFUSALS:
            self._refuse(*REFUSALS[fault])
            return
        if fault in {Fault.SILENCE, Fault.SILENCE_AFTER}:
            time.sleep(CLIENT_GIVES_UP_SECONDS + 0.2)
        self.close_connection = True

    def _refuse(self, code: int, reason: str) -> None:
        status = {
            "kind": "Status",
            "apiVersion": "v1",
            "status": "Failure",
            "reason": reason,
            "message": f"a bad day: {reason}",
            "code": code,
        }
        headers = {"Retry-After": "1"} if code in {429, 503} else {}
        self._answer(code, json.dumps(status).encode(), headers)

    def _pass_on(self, body: bytes | None) -> None:
        answer = self._forward(body)
        if answer.getheader("Transfer-Encoding") == "chunked":
            self._stream(answer)
            return
        self._answer(answer.status, answer.read(), {})

    def _stream(self, answer: http.client.HTTPResponse) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        while piece := answer.read1(65536):
            self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")

    def _forward(self, body: bytes | None) -> http.client.HTTPResponse:
        connection = self._connection()
        headers = {"Content-Type": self.headers.get("Content-Type", "application/json")}
        connection.request(self.command, self.path, body, headers)
        return connection.getresponse()

    def _connection(self) -> http.client.HTTPConnection:
        if self._upstream is None:
            host, port = self.server.upstream.hostname or "", self.server.upstream.port
            self._upstream = http.client.HTTPConnection(host, port, timeout=60)
        return self._upstream

    def _control(self, body: bytes | None) -> None:
        with self.server.lock:
            if body is not None:
                self.server.faults = deque(json.loads(body))
            done = dict(self.server.done)
            self.server.done.clear()
        answer = {"done": done, "late": self.server.late}
        self._answer(200, json.dumps(answer).encode(), {})

    def _answer(self, code: int, payload: bytes, headers: dict[str, str]) -> None:
        self.send_response(code)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _handle  # noqa: N815 - names of http.server

    def finish(self) -> None:
        if self._upstream is not None:
            self._upstream.close()
        super().finish()

    def log_message(self, *_: object) -> None:
        pass


def _write_in(method: str, path: str) -> str:
    """Name the write of a plan that a request is; empty: it is none, or an Event."""
    parts = urlsplit(path).path.split("/")
    if method not in WRITES or "events" in parts:
        return ""
    if "resourceclaims" in parts:
        return "claim status" if parts[-1] == "status" else "claim"
    if parts[-1] == "binding":
        return "binding"
    return "pod status" if parts[-1] == "status" else ""


def main() -> None:
    """Serve until standard input ends."""
    proxy = Proxy(sys.argv[1])
    threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True).start()
    sys.stdout.write(f"{proxy.server_port}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
