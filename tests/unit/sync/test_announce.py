from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from django.dispatch import Signal
from django.test import TestCase

from dra_console import events
from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import (
    DEVICE_TAINT_RULES,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from dra_console.mirror.models import Cluster
from dra_console.sync.reconcile import apply
from tests.builders.objects import (
    a_claim,
    a_namespace,
    a_node,
    a_pod,
    a_slice,
    a_taint_rule,
    a_template,
    a_uid,
    an_allocated_claim,
)
from tests.unit.sync.rows import at_version

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
CLAIM_UID = a_uid("ResourceClaim/team-research/train")


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="prod")


class Heard:
    """What other rooms and browsers were told."""

    def __init__(self) -> None:
        self.signals: list[str] = []
        self.topics: set[str] = set()


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Heard]:
    heard = Heard()

    def hear(*topics: str) -> None:
        heard.topics.update(topics)

    monkeypatch.setattr(events, "publish", hear)
    for signal in (events.claims_changed, events.inventory_changed):
        # Without the console's own listeners, which need servers.
        monkeypatch.setattr(signal, "receivers", [])
    with (
        _listening(events.claims_changed, "claims", heard),
        _listening(events.inventory_changed, "inventory", heard),
    ):
        yield heard


@contextmanager
def _listening(signal: Signal, name: str, heard: Heard) -> Iterator[None]:
    def hear(**_: object) -> None:
        heard.signals.append(name)

    signal.connect(hear)
    try:
        yield
    finally:
        signal.disconnect(hear)


def see(cluster: Cluster, kind: Kind, *objects: JsonObject) -> None:
    with TestCase.captureOnCommitCallbacks(execute=True):
        apply(cluster, kind=kind, objects=objects, seen_at=NOON)


@pytest.mark.parametrize(
    ("kind", "subject", "told"),
    [
        (NODES, a_node(), ("inventory", "devices")),
        (RESOURCE_SLICES, a_slice(), ("inventory", "devices")),
        (DEVICE_TAINT_RULES, a_taint_rule(), ("inventory", "devices")),
        (RESOURCE_CLAIMS, a_claim(), ("claims", "claims")),
        (RESOURCE_CLAIM_TEMPLATES, a_template(), ("claims", "claims")),
        (PODS, a_pod(claim="train"), ("claims", "claims")),
    ],
    ids=lambda value: value.plural if isinstance(value, Kind) else "",
)
def test_a_change_is_told_to_the_rooms_and_the_pages_that_show_it(
    cluster: Cluster, heard: Heard, kind: Kind, subject: JsonObject, told: tuple[str, str]
) -> None:
    see(cluster, kind, subject)

    signal, topic = told
    assert heard.signals == [signal]
    assert heard.topics == {f"{topic}.{cluster.pk}"}


def test_nothing_is_told_of_what_is_mirrored_already(cluster: Cluster, heard: Heard) -> None:
    see(cluster, NODES, a_node())
    heard.signals.clear()

    see(cluster, NODES, a_node())

    assert heard.signals == []


def test_a_kind_that_no_page_waits_for_is_silent(cluster: Cluster, heard: Heard) -> None:
    see(cluster, NAMESPACES, a_namespace())

    assert (heard.signals, heard.topics) == ([], set())


def test_a_claim_that_takes_a_device_is_told_to_the_board_as_well(
    cluster: Cluster, heard: Heard
) -> None:
    see(cluster, RESOURCE_CLAIMS, an_allocated_claim())

    assert f"devices.{cluster.pk}" in heard.topics


def test_the_page_of_a_claim_hears_of_its_changes(cluster: Cluster, heard: Heard) -> None:
    see(cluster, RESOURCE_CLAIMS, a_claim())
    assert f"claim.{cluster.pk}.{CLAIM_UID}" not in heard.topics

    see(cluster, RESOURCE_CLAIMS, at_version(a_claim(), 2))

    assert f"claim.{cluster.pk}.{CLAIM_UID}" in heard.topics


def test_the_page_of_a_claim_hears_of_its_pods(cluster: Cluster, heard: Heard) -> None:
    see(cluster, RESOURCE_CLAIMS, a_claim())

    see(cluster, PODS, a_pod("somebody", claim="train"))

    assert f"claim.{cluster.pk}.{CLAIM_UID}" in heard.topics


def test_a_nodes_heartbeat_is_nothing_to_tell(cluster: Cluster, heard: Heard) -> None:
    def beating(version: int, time: str, ready: str = "True") -> JsonObject:
        condition: Json = {"type": "Ready", "status": ready, "lastHeartbeatTime": time}
        return {**at_version(a_node(), version), "status": {"conditions": [condition]}}

    see(cluster, NODES, beating(1, "2026-11-29T12:00:00Z"))
    heard.signals.clear()

    see(cluster, NODES, beating(2, "2026-11-29T12:00:10Z"))
    assert heard.signals == []

    see(cluster, NODES, beating(3, "2026-11-29T12:00:20Z", ready="False"))
    assert heard.signals == ["inventory"]


def test_a_listener_that_fails_does_not_undo_or_stop_the_rest(
    cluster: Cluster, heard: Heard
) -> None:
    def fail(**_: object) -> None:
        raise RuntimeError("a listener's fault")

    events.claims_changed.connect(fail)
    try:
        see(cluster, RESOURCE_CLAIMS, a_claim())
    finally:
        events.claims_changed.disconnect(fail)

    assert heard.topics == {f"claims.{cluster.pk}"}
