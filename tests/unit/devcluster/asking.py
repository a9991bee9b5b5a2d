"""Asks the API server's request handling without a socket."""

from pathlib import Path

import orjson

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.authz import Policy
from dra_console.devcluster.cluster import Cluster
from dra_console.devcluster.errors import StatusError
from dra_console.devcluster.http_dispatch import answer
from dra_console.devcluster.http_request import Request
from dra_console.devcluster.http_response import Response, Stream
from dra_console.devcluster.store import Store
from dra_console.devcluster.tokens import Signer


def a_cluster(directory: Path, *, policy: Policy | None = None) -> Cluster:
    """Build a cluster without objects; its files are in `directory`."""
    return Cluster(
        Store(directory / "cluster.db"), policy or Policy(), Signer.from_directory(directory)
    )


def a_request(
    method: str,
    path: str,
    body: Json = None,
    *,
    query: dict[str, str] | None = None,
    headers: tuple[tuple[str, str], ...] = (),
) -> Request:
    return Request(method, path, query or {}, headers, b"" if body is None else orjson.dumps(body))


def ask(cluster: Cluster, request: Request) -> tuple[int, JsonObject]:
    """Return status and JSON of the answer, also where it is a refusal."""
    try:
        response = answer(cluster, request)
    except StatusError as error:
        return error.code, error.to_json()
    assert isinstance(response, Response)
    decoded = orjson.loads(response.body)
    assert isinstance(decoded, dict)
    return response.status, decoded


def ask_stream(cluster: Cluster, request: Request) -> Stream:
    stream = answer(cluster, request)
    assert isinstance(stream, Stream)
    return stream
