"""A fake API server that answers reviews only: who a token is, and who may do what."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import NamedTuple, cast

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.reviews import NODE_NAME_EXTRA


class Right(NamedTuple):
    """What one user may do; `namespace` empty means in all of them."""

    username: str
    verb: str
    plural: str
    namespace: str = ""


class TokenOwner(NamedTuple):
    username: str
    node_name: str


@dataclass(slots=True)
class Reviews:
    """What the server answers; change it while it runs."""

    rights: set[Right] = field(default_factory=set)
    tokens: dict[str, TokenOwner] = field(default_factory=dict)
    questions: list[str] = field(default_factory=list)
    kubeconfig: str = ""

    def may(self, spec: JsonObject) -> bool:
        asked = cast("dict[str, str]", spec["resourceAttributes"])
        namespaces = {"", asked.get("namespace", "")}
        return any(
            Right(str(spec["user"]), asked["verb"], asked["resource"], namespace) in self.rights
            for namespace in namespaces
        )

    def answer(self, kind: str, spec: JsonObject) -> JsonObject:
        self.questions.append(kind)
        if kind == "SubjectAccessReview":
            return {"allowed": self.may(spec)}
        owner = self.tokens.get(str(spec["token"]))
        if owner is None:
            return {"authenticated": False}
        extra: dict[str, Json] = {NODE_NAME_EXTRA: [owner.node_name]} if owner.node_name else {}
        return {
            "authenticated": True,
            "audiences": spec["audiences"],
            "user": {"username": owner.username, "groups": [], "extra": extra},
        }


@contextmanager
def a_review_server(directory: Path) -> Iterator[Reviews]:
    """Serve on a free port; `Reviews.kubeconfig` names a file that points there."""
    reviews = Reviews()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            body["status"] = reviews.answer(body["kind"], body["spec"])
            answer = json.dumps(body).encode()
            self.send_response(201)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, *_arguments: object) -> None:
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    config: JsonObject = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "reviews",
        "clusters": [
            {"name": "reviews", "cluster": {"server": f"http://127.0.0.1:{server.server_port}"}}
        ],
        "users": [{"name": "console", "user": {}}],
        "contexts": [{"name": "reviews", "context": {"cluster": "reviews", "user": "console"}}],
    }
    path = directory / "kubeconfig"
    path.write_text(json.dumps(config))
    reviews.kubeconfig = str(path)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield reviews
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
