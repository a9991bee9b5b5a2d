"""A server that answers as an API server does, from bytes prepared beforehand.

`python -m benchmarks.api_server --nodes N --gpus N --claims N` prints its address and then
serves until it is ended. Its own time thus counts for little beside what is measured.

Lists are paged by `continue` alone, in pages of 500; a list of one object, as it is asked for
before a watch, is answered with the page's first. Two states can be listed: as the
fleet was, and with one percent of its objects changed. Watches send what `POST /bench/...`
asks for:

- `/bench/state/NAME` chooses what lists show: `first` or `changed`;
- `/bench/events/COUNT/WRITES` sends so many changes of claims to every open watch of
  claims, each in its state after so many writes.
"""

import argparse
import queue
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from typing import Final
from urllib.parse import parse_qs, urlsplit

import orjson

from benchmarks.mirror_objects import FIRST_VERSION, Fleet, created_at
from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import NAMESPACES, RESOURCE_CLAIMS, RESOURCE_SLICES, Kind

PAGE_SIZE: Final = 500
LIST_VERSION: Final = str(FIRST_VERSION + 9_000_000)
STATES: Final = ("first", "changed")
KINDS: Final = {kind.path(): kind for kind in (RESOURCE_SLICES, RESOURCE_CLAIMS)}
SYSTEM_NAMESPACE: Final[JsonObject] = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {
        "name": "kube-system",
        "uid": "5f2c8f6e-9a53-4a55-8a39-6c1a2f7c9f10",
        "resourceVersion": "4",
        "creationTimestamp": created_at(0),
    },
}

FIXED: Final[Mapping[str, JsonObject]] = {
    NAMESPACES.path(name="kube-system"): SYSTEM_NAMESPACE,
    "/version": {"major": "1", "minor": "37", "gitVersion": "v1.37.2"},
    "/apis/resource.k8s.io": {
        "kind": "APIGroup",
        "versions": [{"groupVersion": "resource.k8s.io/v1", "version": "v1"}],
    },
    "/apis/resource.k8s.io/v1": {
        "kind": "APIResourceList",
        "resources": [{"name": kind.plural} for kind in KINDS.values()],
    },
}
"""What is answered to the questions before a list: who is this, and what does it serve."""


@dataclass(slots=True)
class Prepared:
    """Pages of each state and path, and the watches that are open."""

    fleet: Fleet
    pages: dict[tuple[str, str], list[bytes]]
    heads: dict[str, bytes]
    """Lists of one object, by path."""

    state: str = "first"
    watches: list["queue.SimpleQueue[bytes]"] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)


def prepare(fleet: Fleet) -> Prepared:
    """Write every page that can be asked for."""
    return Prepared(
        fleet,
        {
            (state, path): pages_of(kind, [*fleet.objects(kind, changed=state == "changed")])
            for state in STATES
            for path, kind in KINDS.items()
        },
        {
            path: pages_of(kind, [*islice(fleet.objects(kind, changed=False), 1)])[0]
            for path, kind in KINDS.items()
        },
    )


def pages_of(kind: Kind, objects: Sequence[JsonObject]) -> list[bytes]:
    """Cut a list into pages; each but the last says where the next one begins."""
    starts = range(0, len(objects), PAGE_SIZE) or range(1)
    return [
        orjson.dumps(
            {
                "kind": f"{kind.kind}List",
                "apiVersion": kind.api_version,
                "metadata": {
                    "resourceVersion": LIST_VERSION,
                    "continue": str(number + 1) if number + 1 < len(starts) else "",
                },
                "items": objects[start : start + PAGE_SIZE],
            }
        )
        for number, start in enumerate(starts)
    ]


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # As Go's servers do; otherwise an answer waits for 40 ms.
    prepared: Prepared

    def do_GET(self) -> None:
        """Answer a list, a watch, or the question who this cluster is."""
        address = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(address.query).items()}
        if address.path in FIXED:
            self._answer(orjson.dumps(FIXED[address.path]))
        elif query.get("watch") == "true":
            self._watch(address.path, seconds=float(query.get("timeoutSeconds", "60")))
        elif query.get("limit") == "1" and address.path in KINDS:
            self._answer(self.prepared.heads[address.path])
        elif pages := self.prepared.pages.get((self.prepared.state, address.path)):
            self._answer(pages[int(query.get("continue") or 0)])
        else:
            self._answer(b'{"kind":"Status","code":404}', HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Do what a benchmark asks for."""
        # Left unread, a body would be taken for the next request.
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        match self.path.split("/")[2:]:
            case ["state", name] if name in STATES:
                self.prepared.state = name
            case ["events", count, writes]:
                self._send_events(int(count), writes=int(writes))
            case _:
                self._answer(b"", HTTPStatus.NOT_FOUND)
                return
        self._answer(b"{}")

    def log_message(self, *_: object) -> None:
        """Keep quiet: each line would cost time."""

    def _answer(self, body: bytes, status: HTTPStatus = HTTPStatus.OK) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _send_events(self, count: int, *, writes: int) -> None:
        kind = RESOURCE_CLAIMS
        lines = b"".join(
            orjson.dumps(
                {
                    "type": "MODIFIED",
                    "object": {
                        "apiVersion": kind.api_version,
                        "kind": kind.kind,
                        **self.prepared.fleet.a_claim(number, writes=writes),
                    },
                }
            )
            + b"\n"
            for number in range(1, count + 1)
        )
        with self.prepared.lock:
            for watch in self.prepared.watches:
                watch.put(lines)

    def _watch(self, path: str, *, seconds: float) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        self.wfile.flush()
        lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        if path == RESOURCE_CLAIMS.path():
            with self.prepared.lock:
                self.prepared.watches.append(lines)
        try:
            while True:
                sent = lines.get(timeout=seconds)
                self.wfile.write(b"%x\r\n%b\r\n" % (len(sent), sent))
        except (queue.Empty, OSError):
            self.close_connection = True
        finally:
            with self.prepared.lock:
                if lines in self.prepared.watches:
                    self.prepared.watches.remove(lines)


def main() -> None:
    """Prepare, say where, and serve."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, required=True)
    parser.add_argument("--gpus", type=int, required=True)
    parser.add_argument("--claims", type=int, required=True)
    options = parser.parse_args()
    Handler.prepared = prepare(Fleet(options.nodes, options.gpus, options.claims))
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        print(f"http://127.0.0.1:{server.server_port}", flush=True)
        server.serve_forever()


if __name__ == "__main__":
    main()
