"""An HTTP server that answers as a test told it to, and remembers what it was asked.

Discovery of resource.k8s.io it answers by itself, from `plurals_by_version`, and counts; so it
does when a watch is about to begin and asks whether its version is known.
"""

import json
import ssl
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

import yaml

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.client import Client

GROUP = "resource.k8s.io"
ALL_PLURALS = (
    "deviceclasses",
    "devicetaintrules",
    "resourceclaims",
    "resourceclaimtemplates",
    "resourceslices",
)


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. With `lines` it is a chunked stream; `stays_open` leaves it unfinished.

    A line of bytes is sent as it is, without an end.
    """

    body: Json = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    lines: tuple[Json | bytes, ...] | None = None
    stays_open: bool = False
    breaks_off: bool = False
    raw: bytes | None = None
    hangs: bool = False
    """Takes the request and never answers."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came in."""

    method: str
    path: str
    query: dict[str, str]
    headers: list[tuple[str, str]]
    body: Json

    certificate: str = ""
    """Common name of the client's certificate."""

    def values_of(self, header: str) -> list[str]:
        return [value for name, value in self.headers if name.lower() == header.lower()]


class ScriptedServer:
    """Gives its answers in order; the last one again and again.

    With `tls` it is met with HTTPS and asks clients for a certificate of the same authority.
    """

    def __init__(self, directory: Path, *, tls: ssl.SSLContext | None = None) -> None:
        self.answers: deque[Answer] = deque()
        self.asked: list[Asked] = []
        self.plurals_by_version: dict[str, tuple[str, ...]] = {"v1": ALL_PLURALS}
        self.looks = 0
        self.newest_version = 1_000_000
        self.closing = threading.Event()
        handler = type("ScriptedHandler", (Handler,), {"script": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        scheme = "http" if tls is None else "https"
        self.url = f"{scheme}://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        self.kubeconfig = directory / "kubeconfig"
        self.write_kubeconfig(token="first")

    def write_kubeconfig(self, *, authority: Path | None = None, **user: Json) -> None:
        named = {"name": "it"}
        cluster: JsonObject = {"server": self.url}
        if authority is not None:
            cluster["certificate-authority"] = str(authority)
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{**named, "cluster": cluster}],
            "users": [{**named, "user": user}],
            "contexts": [{**named, "context": {"cluster": "it", "user": "it"}}],
            "current-context": "it",
        }
        self.kubeconfig.write_text(yaml.safe_dump(document))

    def client(self) -> Client:
        return Client.from_kubeconfig(str(self.kubeconfig))

    def will_answer(self, *answers: Answer) -> None:
        self.answers.extend(answers)

    def close(self) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def discovery(self, path: str) -> Answer | None:
        """Answer a question about the group or one of its versions; `None` for others."""
        group, _, version = path.removeprefix("/apis/").partition("/")
        if group != GROUP or "/" in version:
            return None
        if not version:
            self.looks += 1
            versions: list[Json] = [{"version": each} for each in self.plurals_by_version]
            if versions:
                return Answer({"kind": "APIGroup", "name": GROUP, "versions": versions})
        elif version in self.plurals_by_version:
            resources: list[Json] = [{"name": each} for each in self.plurals_by_version[version]]
            return Answer({"kind": "APIResourceList", "resources": resources})
        # As the real API server answers: in plain text.
        return Answer(status=404, raw=b"404 page not found\n")

    def confirmation(self, query: dict[str, str]) -> Answer | None:
        """Answer whether a resource version is known; `None` for other questions."""
        if query.get("resourceVersionMatch") != "NotOlderThan":
            return None
        if int(query["resourceVersion"]) <= self.newest_version:
            return Answer({"metadata": {"resourceVersion": str(self.newest_version)}, "items": []})
        cause: Json = {"reason": "ResourceVersionTooLarge", "message": "Too large"}
        return Answer(a_status(504, "Too large resource version", causes=[cause]), status=504)

    def next_answer(self) -> Answer:
        return self.answers.popleft() if len(self.answers) > 1 else self.answers[0]


class Handler(BaseHTTPRequestHandler):
    """Takes each answer from its server's script."""

    script: "ScriptedServer"

    protocol_version = "HTTP/1.1"

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (ConnectionError, ssl.SSLError):
            self.close_connection = True

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        parts = urlsplit(self.path)
        query = dict(parse_qsl(parts.query))
        answer = self.script.discovery(parts.path) or self.script.confirmation(query)
        if answer is None:
            headers = [*self.headers.items()]
            asked = Asked(self.command, parts.path, query, headers, body, self._common_name())
            self.script.asked.append(asked)
            answer = self.script.next_answer()
        if answer.hangs:
            self.script.closing.wait(20)
            self.close_connection = True
            return
        if answer.lines is not None:
            self._stream(answer)
            return
        payload = json.dumps(answer.body).encode() if answer.raw is None else answer.raw
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def _common_name(self) -> str:
        if not isinstance(self.connection, ssl.SSLSocket):
            return ""
        certificate = self.connection.getpeercert() or {}
        for parts in certificate.get("subject", ()):
            for pair in parts:
                if pair[0] == "commonName":
                    return str(pair[1])
        return ""

    def _stream(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for line in answer.lines or ():
            encoded = (
                json.dumps(line, ensure_ascii=False).encode() + b"\n"
                if not isinstance(line, bytes)
                else line
            )
            self._chunk(encoded)
        if answer.stays_open:
            self.script.closing.wait(20)
        if answer.breaks_off:
            self.close_connection = True
        else:
            self._chunk(b"")

    def _chunk(self, payload: bytes) -> None:
        self.wfile.write(f"{len(payload):x}\r\n".encode() + payload + b"\r\n")
        self.wfile.flush()

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - names of http.server

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def scripted_server(directory: Path) -> Iterator[ScriptedServer]:
    """Serve until the block ends."""
    server = ScriptedServer(directory)
    try:
        yield server
    finally:
        server.close()


def a_status(code: int, message: str, *, causes: list[Json] | None = None) -> JsonObject:
    """Build the body of a refusal."""
    return {
        "apiVersion": "v1",
        "kind": "Status",
        "status": "Failure",
        "message": message,
        "code": code,
        "details": {"causes": causes or []},
    }
