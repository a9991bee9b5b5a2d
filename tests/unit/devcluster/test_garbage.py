import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.garbage import GarbageCollector
from dra_console.devcluster.metadata import Deletion, Propagation, metadata_of
from dra_console.devcluster.namespaces import NamespaceController
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import (
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    SERVICE_ACCOUNTS,
    Kind,
)
from tests.unit.devcluster.things import LAB, new_claim, new_pod, new_slice, with_namespace


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[Store]:
    """A store in which both controllers run."""
    store = with_namespace(Store(tmp_path / "cluster.db"))
    running = [
        asyncio.create_task(GarbageCollector(store).run()),
        asyncio.create_task(NamespaceController(store).run()),
    ]
    await asyncio.sleep(0)
    yield store
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    store.close()


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110 - what is waited for is state, not one event
            await asyncio.sleep(0)


async def settled() -> None:
    for _ in range(50):
        await asyncio.sleep(0)


def reference_to(owner: JsonObject, kind: Kind) -> JsonObject:
    metadata = metadata_of(owner)
    return {
        "apiVersion": kind.api_version,
        "kind": kind.kind,
        "name": metadata["name"],
        "uid": metadata["uid"],
    }


def claim_of(store: Store, *owners: JsonObject, name: str = "gpu") -> JsonObject:
    claim = new_claim(name)
    metadata_of(claim)["ownerReferences"] = [reference_to(owner, PODS) for owner in owners]
    return store.create(RESOURCE_CLAIMS, claim)


def claims(store: Store) -> list[JsonObject]:
    return store.list(RESOURCE_CLAIMS).items


def delete(store: Store, name: str, propagation: Propagation) -> None:
    deletion = Deletion(propagation=propagation)
    store.commit(store.prepare_delete(PODS, LAB, name, deletion=deletion))


async def test_dependent_goes_with_its_last_owner(store: Store) -> None:
    a, b = (store.create(PODS, new_pod(name)) for name in ("a", "b"))
    claim_of(store, a, b)

    store.delete(PODS, LAB, "a")
    await settled()
    (claim,) = claims(store)
    assert metadata_of(claim)["ownerReferences"] == [reference_to(b, PODS)]
    store.delete(PODS, LAB, "b")

    await until(lambda: not claims(store))


async def test_owner_recreated_under_its_name_is_another_owner(store: Store) -> None:
    claim_of(store, store.create(PODS, new_pod()))

    store.delete(PODS, LAB, "trainer")
    store.create(PODS, new_pod())

    await until(lambda: not claims(store))


async def test_dependent_created_after_its_owner_went_is_collected(store: Store) -> None:
    pod = store.create(PODS, new_pod())
    store.delete(PODS, LAB, "trainer")
    await settled()

    claim_of(store, pod)

    await until(lambda: not claims(store))


async def test_owner_of_a_kind_that_is_not_served_counts_as_present(store: Store) -> None:
    claim = new_claim()
    metadata_of(claim)["ownerReferences"] = [
        {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u"}
    ]
    store.create(RESOURCE_CLAIMS, claim)

    await settled()

    assert claims(store)


async def test_orphaned_dependent_stays_without_its_owner(store: Store) -> None:
    claim_of(store, store.create(PODS, new_pod()))
    await settled()

    delete(store, "trainer", Propagation.ORPHAN)
    await until(lambda: not store.list(PODS).items)
    await settled()

    (claim,) = claims(store)
    assert "ownerReferences" not in metadata_of(claim)


async def test_foreground_deletion_takes_dependents_first(store: Store) -> None:
    claim = new_claim()
    pod = store.create(PODS, new_pod())
    metadata_of(claim)["ownerReferences"] = [reference_to(pod, PODS)]
    metadata_of(claim)["finalizers"] = ["example.com/hold"]
    store.create(RESOURCE_CLAIMS, claim)
    await settled()

    delete(store, "trainer", Propagation.FOREGROUND)
    await settled()
    (held,) = claims(store)
    assert metadata_of(held)["deletionTimestamp"]
    assert store.list(PODS).items
    metadata_of(held)["finalizers"] = []
    store.update(RESOURCE_CLAIMS, held)

    await until(lambda: not store.list(PODS).items and not claims(store))


async def test_slices_and_pods_go_with_their_node(store: Store) -> None:
    node = store.create(NODES, {"metadata": {"name": "gpu-01"}})
    resource_slice = new_slice()
    metadata_of(resource_slice)["ownerReferences"] = [reference_to(node, NODES)]
    store.create(RESOURCE_SLICES, resource_slice)
    store.create(PODS, new_pod(node="gpu-01"))
    await settled()

    store.delete(NODES, "", "gpu-01")

    await until(lambda: not store.list(RESOURCE_SLICES).items and not store.list(PODS).items)


async def test_garbage_from_before_the_start_is_collected(tmp_path: Path) -> None:
    store = with_namespace(Store(tmp_path / "other.db"))
    claim_of(store, store.create(PODS, new_pod()))
    store.create(PODS, new_pod("b", node="gone"))
    store.delete(PODS, LAB, "trainer")

    GarbageCollector(store).collect_all()

    assert claims(store) == []
    assert store.list(PODS).items == []
    store.close()


async def test_namespace_gets_its_default_account(store: Store) -> None:
    with_namespace(store, "new")

    await until(lambda: bool(store.list(SERVICE_ACCOUNTS, "new").items))


async def test_deleted_namespace_takes_its_content_and_waits_for_what_is_held(
    store: Store,
) -> None:
    claim = new_claim()
    metadata_of(claim)["finalizers"] = ["example.com/hold"]
    store.create(RESOURCE_CLAIMS, claim)
    store.create(PODS, new_pod())

    store.delete(NAMESPACES, "", LAB)
    await until(lambda: not store.list(PODS).items)
    (held,) = claims(store)
    assert store.get(NAMESPACES, "", LAB)["status"] == {"phase": "Terminating"}
    metadata_of(held)["finalizers"] = []
    store.update(RESOURCE_CLAIMS, held)

    await until(lambda: not store.list(NAMESPACES).items)
