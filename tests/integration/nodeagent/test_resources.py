"""Requests to an API server that serves whichever versions a test wants."""

import json
import re
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nodeagent.fields import JsonObject
from nodeagent.kube.client import Client
from nodeagent.kube.errors import (
    ConflictError,
    CredentialsError,
    ExpiredError,
    ForbiddenError,
    InvalidError,
    NotFoundError,
    NotServedError,
    StatusError,
    UnreachableError,
)
from nodeagent.kube.resources import Resources

KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: u, user: {{token: "secret"}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
"""
GROUP_PATH = "/apis/resource.k8s.io/"
A_SLICE: JsonObject = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceSlice",
    "metadata": {"name": "s", "resourceVersion": "1"},
    "spec": {"devices": [{"name": "a", "attributes": {"x": {"int": 1}}}]},
}


class Server(ThreadingHTTPServer):
    """Answers with what a test has put there, and remembers what was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.versions = ["v1"]
        self.answers: dict[str, tuple[int, Any]] = {}
        self.headers: dict[str, str] = {}
        self.asked: list[tuple[str, str]] = []
        self.bodies: list[Any] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def _answer(self) -> None:
        path = self.path.partition("?")[0]
        self.server.asked.append((self.command, self.path))
        self.server.headers = dict(self.headers)
        if length := int(self.headers.get("Content-Length") or 0):
            self.server.bodies.append(json.loads(self.rfile.read(length)))
        if path == "/apis/resource.k8s.io":
            versions = [{"version": version} for version in self.server.versions]
            self._send(200, {"kind": "APIGroup", "versions": versions})
            return
        key = path
        if path.startswith(GROUP_PATH):
            version, _, key = path.removeprefix(GROUP_PATH).partition("/")
            if version not in self.server.versions:
                self._send(404, "404 page not found")
                return
        status, body = self.server.answers.get(key, (404, {"message": "not found"}))
        self._send(status, body)

    do_GET = do_POST = do_PUT = do_DELETE = _answer  # noqa: N815 - http.server's own names

    def _send(self, status: int, body: object) -> None:
        if isinstance(body, list):
            content = b"".join(json.dumps(line).encode() + b"\n" for line in body)
        else:
            content = body.encode() if isinstance(body, str) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(content)))
        if status == 429:
            self.send_header("Retry-After", "7")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_arguments: object) -> None:
        return


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def resources(server: Server, tmp_path: Path) -> Resources:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG.format(port=server.server_address[1]))
    client = Client.from_kubeconfig(str(kubeconfig))
    return Resources(client, driver="gpu.nvidia.com", node_name="gpu-01")


def test_each_request_carries_the_identity(server: Server, resources: Resources) -> None:
    server.answers["/api/v1/nodes/gpu-01"] = (200, {"kind": "Node"})

    resources.node("gpu-01")

    assert server.headers["Authorization"] == "Bearer secret"
    assert server.headers["User-Agent"].startswith("dra-nodeagent/")


@pytest.mark.parametrize(
    ("versions", "spoken"),
    [(["v1", "v1beta1"], "v1"), (["v1beta1", "v1beta2"], "v1beta2"), (["v1beta1"], "v1beta1")],
)
def test_slices_are_written_in_the_newest_served_version(
    server: Server, resources: Resources, versions: list[str], spoken: str
) -> None:
    server.versions = versions
    server.answers["resourceslices"] = (201, A_SLICE)

    resources.create_slice(A_SLICE)

    assert server.asked[-1] == ("POST", f"/apis/resource.k8s.io/{spoken}/resourceslices")
    assert server.bodies[-1]["apiVersion"] == f"resource.k8s.io/{spoken}"
    assert ("basic" in server.bodies[-1]["spec"]["devices"][0]) == (spoken == "v1beta1")


def test_a_server_that_no_longer_serves_a_version_is_asked_again(
    server: Server, resources: Resources
) -> None:
    server.answers["resourceslices"] = (201, A_SLICE)
    resources.create_slice(A_SLICE)
    server.versions = ["v1beta1"]

    with pytest.raises(NotServedError):
        resources.create_slice(A_SLICE)
    resources.create_slice(A_SLICE)

    assert server.asked[-1][1] == "/apis/resource.k8s.io/v1beta1/resourceslices"


def test_a_kind_that_is_not_served_is_told_from_an_object_that_is_not_there(
    server: Server, resources: Resources
) -> None:
    no_object = {"message": 'resourceclaims "b" not found', "details": {"name": "b"}}
    no_kind = {"message": "the server could not find the requested resource", "details": {}}
    server.answers["namespaces/a/resourceclaims/b"] = (404, no_object)
    server.answers["namespaces/a/resourceclaims/c"] = (404, no_kind)

    with pytest.raises(NotFoundError) as gone:
        resources.claim("a", "b")
    with pytest.raises(NotServedError):
        resources.claim("a", "c")

    assert type(gone.value) is NotFoundError


def test_a_server_without_a_version_that_we_speak_is_named(
    server: Server, resources: Resources
) -> None:
    server.versions = ["v1alpha3"]

    with pytest.raises(NotServedError, match="in none of v1, v1beta2, v1beta1"):
        resources.claim("ns", "name")


def test_only_this_nodes_slices_of_this_driver_are_asked_for(
    server: Server, resources: Resources
) -> None:
    server.answers["resourceslices"] = (
        200,
        {"metadata": {"resourceVersion": "5"}, "items": [A_SLICE]},
    )

    listed = resources.slices()

    assert listed.resource_version == "5"
    assert listed.items == (A_SLICE,)
    assert (
        "fieldSelector=spec.driver%3Dgpu.nvidia.com%2Cspec.nodeName%3Dgpu-01"
        in (server.asked[-1][1])
    )


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (403, ForbiddenError),
        (409, ConflictError),
        (410, ExpiredError),
        (422, InvalidError),
        (500, StatusError),
        (429, StatusError),
    ],
)
def test_refusals_are_told_apart_with_the_servers_own_words(
    server: Server, resources: Resources, status: int, error: type[StatusError]
) -> None:
    server.answers["namespaces/ns/resourceclaims/c"] = (status, {"message": "because of that"})

    with pytest.raises(error, match="because of that") as refused:
        resources.claim("ns", "c")

    assert type(refused.value) is error
    assert refused.value.retry_after_seconds == (7 if status == 429 else None)


def test_a_right_that_is_missing_is_named(server: Server, resources: Resources) -> None:
    server.answers["resourceslices"] = (403, {"message": "forbidden"})
    rule = 'apiGroups: ["resource.k8s.io"], resources: ["resourceslices"], verbs: ["create"]'

    with pytest.raises(ForbiddenError, match=re.escape(rule)):
        resources.create_slice(A_SLICE)


def test_a_slice_is_tried_by_a_dry_run(server: Server, resources: Resources) -> None:
    server.answers["resourceslices"] = (201, A_SLICE)

    assert resources.try_slice(A_SLICE) == A_SLICE

    assert server.asked[-1] == ("POST", f"{GROUP_PATH}v1/resourceslices?dryRun=All")


def test_the_server_says_which_one_it_is(server: Server, resources: Resources) -> None:
    server.answers["/version"] = (200, {"gitVersion": "v1.35.0-gke.1"})

    assert resources.server_version().minor == (1, 35)

    server.answers["/version"] = (200, {"major": "1"})
    with pytest.raises(UnreachableError, match="gitVersion"):
        resources.server_version()


def test_a_better_version_is_taken_when_it_is_looked_for(
    server: Server, resources: Resources
) -> None:
    server.versions = ["v1beta1"]
    server.answers["resourceslices"] = (201, A_SLICE)
    resources.create_slice(A_SLICE)
    server.versions = ["v1", "v1beta1"]

    resources.create_slice(A_SLICE)
    assert resources.version() == "v1beta1"

    resources.rediscover()
    assert resources.version() == "v1"


def test_a_watch_yields_events_and_raises_its_error(server: Server, resources: Resources) -> None:
    server.answers["resourceslices"] = (
        200,
        [
            {"type": "ADDED", "object": A_SLICE},
            {"type": "ERROR", "object": {"code": 410, "message": "too old"}},
        ],
    )

    events = resources.watch_slices(resource_version="5", window_seconds=9)

    assert next(events).type == "ADDED"
    with pytest.raises(ExpiredError, match="too old"):
        next(events)
    assert "resourceVersion=5" in server.asked[-1][1]
    assert "timeoutSeconds=9" in server.asked[-1][1]


def test_an_answer_that_is_not_json_is_no_answer(server: Server, resources: Resources) -> None:
    server.answers["/api/v1/nodes/gpu-01"] = (200, "<html>")

    with pytest.raises(UnreachableError, match="not JSON"):
        resources.node("gpu-01")


def test_a_server_that_is_away_is_unreachable(resources: Resources, server: Server) -> None:
    server.socket.close()

    with pytest.raises(UnreachableError):
        resources.node("gpu-01")


def test_a_deletion_names_the_very_object(server: Server, resources: Resources) -> None:
    server.answers["resourceslices/s"] = (200, {"kind": "Status"})

    resources.delete_slice("s", uid="u", resource_version="3")

    assert server.bodies[-1]["preconditions"] == {"uid": "u", "resourceVersion": "3"}


def test_credentials_that_cannot_be_used_are_named(tmp_path: Path) -> None:
    with pytest.raises(CredentialsError, match="absent"):
        Client.from_kubeconfig(str(tmp_path / "absent"))
    with pytest.raises(CredentialsError, match="in-cluster"):
        Client.in_cluster()
