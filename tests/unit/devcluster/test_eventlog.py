import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_console.devcluster.errors import GoneError
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import NODES, RESOURCE_SLICES
from tests.unit.devcluster.things import new_slice


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "cluster.db", kept_events=8)
    yield store
    store.close()


def add_nodes(store: Store, *names: str) -> None:
    for name in names:
        store.create(NODES, {"metadata": {"name": name}})


async def test_watcher_wakes_with_the_write(store: Store) -> None:
    watcher = store.watch(NODES, since=store.resource_version)
    waiting = asyncio.create_task(watcher.next())
    await asyncio.sleep(0)

    add_nodes(store, "a")

    (event,) = await waiting
    assert (event.type, event.stored.name) == ("ADDED", "a")


async def test_watcher_sees_each_write_once_and_in_order(store: Store) -> None:
    watcher = store.watch(NODES, since=store.resource_version)

    add_nodes(store, "a", "b")
    first = watcher.pending()
    add_nodes(store, "c")
    second = watcher.pending()

    assert [event.stored.name for event in first + second] == ["a", "b", "c"]


async def test_waiting_ends_with_its_time(store: Store) -> None:
    watcher = store.watch(NODES, since=store.resource_version)

    assert await watcher.next(timeout_seconds=0.01) == []


async def test_writes_of_other_kinds_move_the_watcher_on_unseen(store: Store) -> None:
    watcher = store.watch(RESOURCE_SLICES, since=store.resource_version)

    add_nodes(store, "a", "b")

    assert watcher.pending() == []
    assert watcher.resource_version == store.resource_version


async def test_watcher_of_all_kinds_sees_all(store: Store) -> None:
    watcher = store.watch(None, since=store.resource_version)

    add_nodes(store, "a")
    store.create(RESOURCE_SLICES, new_slice())

    assert [event.kind for event in watcher.pending()] == [NODES, RESOURCE_SLICES]


async def test_watcher_that_falls_behind_is_told_so(store: Store) -> None:
    watcher = store.watch(NODES, since=store.resource_version)

    add_nodes(store, *(f"n{number}" for number in range(20)))

    with pytest.raises(GoneError):
        watcher.pending()


async def test_event_knows_the_object_before(store: Store) -> None:
    add_nodes(store, "a")
    watcher = store.watch(NODES, since=store.resource_version)

    store.delete(NODES, "", "a")

    (event,) = watcher.pending()
    assert event.previous is not None
    assert event.stored.resource_version == event.previous.resource_version + 1
