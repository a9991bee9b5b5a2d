"""Whole allocation windows: a real API server and its watches, the mirror, Redis, real leases."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
import redis
from django.db import connection

from dra_console.allocator.model import JsonObject
from dra_console.api.allocation_measures import allocation_measures
from dra_console.kube.client import Client
from dra_console.kube.kinds import (
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from dra_console.leases import lease
from dra_console.mirror.models import Cluster, Cursor, Pod
from dra_console.scheduling.allocating import upkeep, wakes, window
from dra_console.scheduling.allocating.counts import Counts
from dra_console.scheduling.allocating.wakes import Wake
from dra_console.scheduling.allocating.window import Ended, Window, allocate
from dra_console.scheduling.models import WrittenAllocation
from dra_console.scheduling.names import RESERVE_AHEAD_LABEL
from dra_console.scheduling.writing.turns import hold_turn
from dra_console.sync.cursors import make_cursors
from dra_console.sync.reconcile import apply
from tests.builders.objects import (
    NAMESPACE,
    a_claim,
    a_device,
    a_pod,
    a_slice,
)
from tests.integration.devclusters import Devcluster, api_server
from tests.integration.scheduling.fleet import KINDS, create, make_fleet

__all__ = ["api_server"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_url")]

WAIT_SECONDS = 30.0


class World:
    """A cluster with one ready node of two GPUs, mirrored once."""

    def __init__(self, server: Devcluster) -> None:
        self.client = Client.from_kubeconfig(str(server.kubeconfig))
        self.cluster = Cluster.objects.create(name="test", kubeconfig=str(server.kubeconfig))
        make_fleet(self.client, "gpu-01")
        self.mirror()

    def create(self, one: JsonObject) -> Any:
        return create(self.client, one)

    def mirror(self, *kinds: Kind) -> None:
        make_cursors(self.cluster)
        for kind in kinds or KINDS:
            listed = self.client.list(kind)
            apply(self.cluster, kind=kind, objects=listed.items, seen_at=datetime.now(UTC))
            Cursor.objects.filter(cluster=self.cluster, plural=kind.plural).update(
                resource_version=listed.resource_version
            )

    def claim_ahead(self, name: str) -> None:
        claim: Any = a_claim(name)
        claim["metadata"]["labels"] = {RESERVE_AHEAD_LABEL: "true"}
        self.create(claim)

    def device_of(self, name: str) -> str | None:
        claim: Any = self.client.get(RESOURCE_CLAIMS, name, namespace=NAMESPACE)
        allocation = claim.get("status", {}).get("allocation")
        return None if allocation is None else allocation["devices"]["results"][0]["device"]

    def node_of(self, name: str) -> str | None:
        pod: Any = self.client.get(PODS, name, namespace=NAMESPACE)
        return pod["spec"].get("nodeName")  # type: ignore[no-any-return]  # as JSON has it


class Open:
    """A window in a thread of its own."""

    def __init__(self) -> None:
        self.ended: tuple[Ended, Counts] | None = None
        self.is_stopped = False


@pytest.fixture
def world(api_server: Devcluster) -> World:
    return World(api_server)


@contextmanager
def open_window(
    world: World, *, seconds: float = 60, idle_seconds: float = 60, longest_seconds: float = 60
) -> Iterator[Open]:
    """Have a window open for the block, which ends it if nothing else does."""
    opened = Open()

    def hold() -> None:
        with lease(f"allocate:{world.cluster.pk}", seconds=15) as held:
            assert held is not None
            opened.ended = allocate(
                Window(
                    world.cluster,
                    held,
                    seconds=seconds,
                    idle_seconds=idle_seconds,
                    longest_seconds=longest_seconds,
                    stopped=lambda: opened.is_stopped,
                )
            )
        connection.close()

    thread = threading.Thread(target=hold)
    thread.start()
    try:
        yield opened
    finally:
        opened.is_stopped = True
        thread.join(timeout=WAIT_SECONDS)
    assert not thread.is_alive()


def eventually(is_so: Callable[[], object]) -> bool:
    deadline = time.monotonic() + WAIT_SECONDS
    while not is_so():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def test_a_claim_that_comes_into_an_open_window_is_allocated_before_the_mirror_shows_it(
    world: World,
) -> None:
    with open_window(world) as opened:
        world.claim_ahead("train")
        is_allocated = eventually(lambda: world.device_of("train"))

    assert is_allocated
    assert opened.ended is not None
    ended, counts = opened.ended
    assert (ended, counts.reserved) == (Ended.CALLED_OFF, 1)


def test_a_pod_that_comes_before_its_claim_is_bound_once_there_is_one(world: World) -> None:
    with open_window(world):
        world.create(a_pod("train", claim="train"))
        time.sleep(0.5)
        world.create(a_claim("train"))
        is_bound = eventually(lambda: world.node_of("train"))

    assert is_bound
    assert world.device_of("train") is not None


def test_a_device_that_is_freed_in_an_open_window_goes_to_whoever_waits(world: World) -> None:
    for name in ("first", "second", "third"):
        world.claim_ahead(name)
    names = {"first", "second", "third"}
    with open_window(world):
        assert eventually(lambda: sum(world.device_of(name) is not None for name in names) == 2)
        (waiting,) = (name for name in names if world.device_of(name) is None)
        freed: Any = world.client.get(
            RESOURCE_CLAIMS, (names - {waiting}).pop(), namespace=NAMESPACE
        )
        freed["metadata"]["labels"] = {}
        freed = world.client.replace(RESOURCE_CLAIMS, freed)
        freed["status"] = {}
        world.client.replace(RESOURCE_CLAIMS, freed, subresource="status")
        is_allocated = eventually(lambda: world.device_of(waiting))

    assert is_allocated


@pytest.mark.parametrize("is_told", [True, False], ids=["told", "wake-up-lost"])
def test_devices_that_are_published_in_an_open_window_are_found(
    world: World, monkeypatch: pytest.MonkeyPatch, *, is_told: bool
) -> None:
    # Nobody listens to signals of `apply` here: the test says itself what is heard.
    monkeypatch.setattr("dra_console.events.inventory_changed.receivers", [])
    if not is_told:
        monkeypatch.setattr(upkeep, "COMPARE_EVERY_SECONDS", 0.5)
    for name in ("first", "second", "third"):
        world.claim_ahead(name)
    with open_window(world):
        assert eventually(
            lambda: sum(bool(world.device_of(name)) for name in ("first", "second", "third")) == 2
        )
        published: Any = world.create(
            a_slice("more", node="gpu-01", pool="more", devices=[a_device("gpu-2")])
        )
        world.mirror(RESOURCE_SLICES)
        if is_told:
            name = published["metadata"]["name"]
            wakes.push(world.cluster.pk, Wake(RESOURCE_SLICES.plural, (name,)))
        is_allocated = eventually(
            lambda: all(world.device_of(name) for name in ("first", "second", "third"))
        )

    assert is_allocated


def test_nothing_is_reserved_ahead_that_a_pod_which_has_ended_still_names(world: World) -> None:
    """kube-controller-manager would give it to that pod, and take it back at once."""
    ended: Any = a_pod("train", claim="ahead", scheduler="default-scheduler", node="gpu-01")
    world.create(ended)
    world.client.merge_patch(
        PODS,
        "train",
        {"status": {"phase": "Succeeded"}},
        namespace=NAMESPACE,
        subresource="status",
    )
    world.mirror(PODS)
    with open_window(world):
        world.claim_ahead("ahead")
        world.claim_ahead("other")
        assert eventually(lambda: world.device_of("other"))
        assert world.device_of("ahead") is None

        Pod.objects.filter(name="train").delete()
        assert eventually(lambda: world.device_of("ahead"))


def test_a_window_ends_when_nothing_was_to_be_done_for_a_while(world: World) -> None:
    with open_window(world, idle_seconds=0.5) as opened:
        assert eventually(lambda: opened.ended)

    assert opened.ended is not None
    assert opened.ended[0] is Ended.IDLE


def test_a_window_ends_after_its_term(world: World) -> None:
    with open_window(world, seconds=0.5) as opened:
        assert eventually(lambda: opened.ended)

    assert opened.ended is not None
    assert opened.ended[0] is Ended.OVER


def test_a_window_does_not_end_after_its_term_while_claims_keep_coming(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "PAUSE_SECONDS", 60.0)

    with open_window(world, seconds=0) as opened:
        world.claim_ahead("first")
        assert eventually(lambda: world.device_of("first"))
        world.claim_ahead("second")
        assert eventually(lambda: world.device_of("second"))

    assert opened.ended is not None
    ended, counts = opened.ended
    assert (ended, counts.reserved) == (Ended.CALLED_OFF, 2)


def test_a_window_ends_some_time_though_claims_keep_coming(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(window, "PAUSE_SECONDS", 60.0)

    with open_window(world, seconds=0, longest_seconds=0.5) as opened:
        assert eventually(lambda: opened.ended)

    assert opened.ended is not None
    assert opened.ended[0] is Ended.OVER


def test_a_window_ends_when_its_credentials_have_changed(
    world: World, api_server: Devcluster
) -> None:
    with open_window(world) as opened:
        world.claim_ahead("first")
        assert eventually(lambda: world.device_of("first"))
        os.utime(api_server.kubeconfig)
        assert eventually(lambda: opened.ended)

    assert opened.ended is not None
    assert opened.ended[0] is Ended.CALLED_OFF


def test_nothing_is_allocated_before_claims_are_mirrored_to_the_end(world: World) -> None:
    Cursor.objects.filter(cluster=world.cluster, plural="resourceclaims").update(
        resource_version=""
    )
    world.claim_ahead("train")

    with open_window(world) as opened:
        assert eventually(lambda: opened.ended)

    assert opened.ended is not None
    assert opened.ended[0] is Ended.NOT_MIRRORED
    assert world.device_of("train") is None


def test_a_window_whose_turn_another_has_taken_allocates_nothing_more(world: World) -> None:
    with open_window(world) as opened:
        world.claim_ahead("first")
        assert eventually(lambda: world.device_of("first"))
        hold_turn(world.cluster, fence=2**60)
        world.claim_ahead("second")
        assert eventually(lambda: opened.ended)

    assert opened.ended is not None
    assert opened.ended[0] is Ended.CALLED_OFF
    assert world.device_of("second") is None
    assert WrittenAllocation.objects.count() == 1


def test_a_window_without_its_lease_ends_at_once(world: World, redis_url: str) -> None:
    with open_window(world) as opened:
        world.claim_ahead("first")
        assert eventually(lambda: world.device_of("first"))
        client = redis.Redis.from_url(redis_url)
        client.set(f"lease:{{allocate:{world.cluster.pk}}}", "somebody else")
        assert eventually(lambda: opened.ended)
        client.delete(f"lease:{{allocate:{world.cluster.pk}}}")
        client.close()

    assert opened.ended is not None
    assert opened.ended[0] is Ended.CALLED_OFF


def test_a_window_ends_with_the_api_server(world: World, api_server: Devcluster) -> None:
    with open_window(world) as opened:
        world.claim_ahead("first")
        assert eventually(lambda: world.device_of("first"))
        api_server.kill()
        assert eventually(lambda: opened.ended)

    assert opened.ended is not None
    assert opened.ended[0] is Ended.FAILED


def test_what_a_window_wrote_counts_in_the_next_before_the_mirror_shows_it(world: World) -> None:
    for name in ("first", "second", "third"):
        world.claim_ahead(name)
    for _ in range(2):
        with open_window(world, idle_seconds=0.5) as opened:
            assert eventually(lambda opened=opened: opened.ended)  # type: ignore[misc]  # bound at once

    devices = [world.device_of(name) for name in ("first", "second", "third")]
    given = [device for device in devices if device is not None]
    assert sorted(given) == ["gpu-0", "gpu-1"]


def test_what_windows_have_done_is_counted_for_prometheus(world: World) -> None:
    world.claim_ahead("train")
    world.create(a_claim("other"))
    world.create(a_pod("other", claim="other"))
    for _ in range(2):
        with open_window(world, idle_seconds=0.5) as opened:
            assert eventually(lambda opened=opened: opened.ended)  # type: ignore[misc]  # bound at once

    values = {
        sample.name: sample.value
        for metric in allocation_measures([world.cluster], prefix="console")
        for sample in metric.samples
    }

    assert values["console_allocation_pods_bound_total"] == 1
    assert values["console_allocation_claims_reserved_total"] == 1
    assert values["console_allocation_rounds_total"] >= 1
    assert values["console_allocation_window_open"] == 0
