import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import orjson
import pytest

from dra_console.allocator.model import JsonObject
from dra_console.devcluster import http_watch
from dra_console.devcluster.cluster import Cluster
from dra_console.devcluster.http_response import Stream
from dra_console.devcluster.metadata import metadata_of
from dra_console.kube.kinds import NODES, PODS
from tests.unit.devcluster.asking import a_cluster, a_request, ask, ask_stream
from tests.unit.devcluster.things import LAB, new_pod, with_namespace


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    cluster = a_cluster(tmp_path)
    with_namespace(cluster.store)
    yield cluster
    cluster.store.close()


class Watcher:
    """Reads the lines of a watch one by one."""

    def __init__(self, stream: Stream) -> None:
        self._chunks = stream.chunks
        self._lines: list[bytes] = []

    async def next(self) -> tuple[str, JsonObject]:
        """Return type and object of the next event."""
        while not self._lines:
            self._lines = (await anext(self._chunks)).splitlines()
        event = orjson.loads(self._lines.pop(0))
        return event["type"], event["object"]

    async def rest(self) -> list[str]:
        """Return the types of all events until the watch ends."""
        types = []
        try:
            while True:
                types.append((await self.next())[0])
        except StopAsyncIteration:
            return types


def watch(cluster: Cluster, path: str = NODES.path(), **query: str) -> Watcher:
    return Watcher(ask_stream(cluster, a_request("GET", path, query={"watch": "1", **query})))


def name_of(obj: JsonObject) -> object:
    return metadata_of(obj)["name"]


async def test_watch_begins_before_its_first_event(cluster: Cluster) -> None:
    stream = ask_stream(cluster, a_request("GET", NODES.path(), query={"watch": "true"}))

    assert await anext(stream.chunks) == b""
    assert isinstance(stream.chunks, AsyncIterator)


@pytest.mark.parametrize("version", ["", "0"])
async def test_watch_without_a_version_shows_what_is_there_first(
    cluster: Cluster, version: str
) -> None:
    cluster.store.create(NODES, {"metadata": {"name": "a"}})
    watcher = watch(cluster, resourceVersion=version)

    first = await watcher.next()
    cluster.store.create(NODES, {"metadata": {"name": "b"}})
    second = await watcher.next()

    assert (first[0], name_of(first[1])) == ("ADDED", "a")
    assert (second[0], name_of(second[1])) == ("ADDED", "b")


async def test_watch_from_a_version_shows_what_came_after_it(cluster: Cluster) -> None:
    cluster.store.create(NODES, {"metadata": {"name": "a"}})
    version = str(cluster.store.resource_version)
    node = cluster.store.get(NODES, "", "a")
    cluster.store.update(NODES, {**node, "spec": {"unschedulable": True}})
    cluster.store.delete(NODES, "", "a")

    watcher = watch(cluster, resourceVersion=version)

    assert [(await watcher.next())[0] for _ in range(2)] == ["MODIFIED", "DELETED"]


async def test_object_that_comes_into_view_is_added_and_that_leaves_is_deleted(
    cluster: Cluster,
) -> None:
    watcher = watch(cluster, PODS.path(LAB), fieldSelector="spec.nodeName=n1", resourceVersion="1")
    cluster.store.create(PODS, new_pod())
    pod = cluster.store.create(PODS, new_pod("b", node="n1"))
    metadata_of(pod)["labels"] = {"a": "b"}
    cluster.store.update(PODS, pod)

    assert [(await watcher.next())[0] for _ in range(2)] == ["ADDED", "MODIFIED"]
    by_label = watch(
        cluster,
        PODS.path(LAB),
        labelSelector="a=b",
        resourceVersion=str(cluster.store.resource_version),
    )
    pod = cluster.store.get(PODS, LAB, "b")
    metadata_of(pod)["labels"] = {}
    cluster.store.update(PODS, pod)
    word, gone = await by_label.next()
    assert word == "DELETED"
    assert metadata_of(gone)["labels"] == {"a": "b"}
    assert metadata_of(gone)["resourceVersion"] == str(cluster.store.resource_version)


async def test_watch_of_a_namespace_sees_no_other(cluster: Cluster) -> None:
    with_namespace(cluster.store, "other")
    watcher = watch(cluster, PODS.path(LAB), resourceVersion=str(cluster.store.resource_version))
    foreign = new_pod("foreign")
    metadata_of(foreign)["namespace"] = "other"
    cluster.store.create(PODS, foreign)
    cluster.store.create(PODS, new_pod("ours"))

    assert name_of((await watcher.next())[1]) == "ours"


async def test_bookmarks_come_while_nothing_happens_and_at_the_end(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_watch, "BOOKMARK_SECONDS", 0.4)
    watcher = watch(cluster, allowWatchBookmarks="true", timeoutSeconds="1", resourceVersion="1")
    cluster.store.create(PODS, new_pod())

    types = await watcher.rest()

    assert types == ["BOOKMARK"] * 3


async def test_bookmark_tells_the_version_that_all_kinds_have_reached(cluster: Cluster) -> None:
    watcher = watch(
        cluster,
        allowWatchBookmarks="true",
        timeoutSeconds="1",
        resourceVersion=str(cluster.store.resource_version),
    )
    cluster.store.create(PODS, new_pod())

    word, bookmark = await watcher.next()

    assert word == "BOOKMARK"
    assert bookmark["kind"] == "Node"
    assert metadata_of(bookmark)["resourceVersion"] == str(cluster.store.resource_version)


async def test_watch_without_bookmarks_ends_in_silence(cluster: Cluster) -> None:
    watcher = watch(cluster, timeoutSeconds="1", resourceVersion="1")

    assert await watcher.rest() == []


async def test_watch_from_beyond_the_log_gets_an_error_event(cluster: Cluster) -> None:
    word, status = await watch(cluster, resourceVersion="99").next()

    assert word == "ERROR"
    assert (status["code"], status["reason"]) == (410, "Expired")


async def test_watcher_that_falls_behind_gets_an_error_event(cluster: Cluster) -> None:
    watcher = watch(cluster, resourceVersion=str(cluster.store.resource_version))
    stream = asyncio.create_task(watcher.next())
    await asyncio.sleep(0)
    cluster.store._log._limit = 4
    for number in range(10):
        cluster.store.create(NODES, {"metadata": {"name": f"n{number}"}})

    word, status = await stream

    assert word == "ERROR"
    assert status["code"] == 410


def test_initial_events_are_refused_so_that_clients_list(cluster: Cluster) -> None:
    query = {"watch": "1", "sendInitialEvents": "true"}

    status, refusal = ask(cluster, a_request("GET", NODES.path(), query=query))

    assert status == 422
    assert refusal["reason"] == "Invalid"


async def test_table_watch_writes_each_object_as_a_row(cluster: Cluster) -> None:
    headers = (("accept", "application/json;as=Table;v=v1;g=meta.k8s.io"),)
    cluster.store.create(NODES, {"metadata": {"name": "a"}})
    request = a_request("GET", NODES.path(), query={"watch": "1"}, headers=headers)

    word, table = await Watcher(ask_stream(cluster, request)).next()

    assert word == "ADDED"
    assert table["kind"] == "Table"
