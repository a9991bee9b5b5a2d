from datetime import UTC, datetime, timedelta

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import DEVICE_CLASSES, NODES, RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.models import Cluster, ObjectChange
from dra_console.sync.objects import ObjectKey
from dra_console.sync.reconcile import apply
from tests.builders.objects import (
    NAMESPACE,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_slice,
    a_taint,
    an_allocated_claim,
)
from tests.unit.sync.rows import at_version

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
DEVICE = "gpu.nvidia.com/gpu-01/gpu-0"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="prod")


def happened() -> list[str]:
    return list(ObjectChange.objects.order_by("pk").values_list("happened", flat=True))


def test_a_claims_life_is_written_down_as_it_is_seen(cluster: Cluster) -> None:
    life: list[JsonObject] = [
        a_claim("held"),
        an_allocated_claim("held", pods=("train",)),
        at_version(
            an_allocated_claim("held", pods=("train",)), 0, deletionTimestamp="2026-11-29T12:00:00Z"
        ),
        at_version(a_claim("held"), 0, deletionTimestamp="2026-11-29T12:00:00Z"),
    ]
    for minute, state in enumerate(life):
        seen_at = NOON + timedelta(minutes=minute)
        apply(
            cluster, kind=RESOURCE_CLAIMS, objects=[at_version(state, minute + 1)], seen_at=seen_at
        )
    apply(
        cluster,
        kind=RESOURCE_CLAIMS,
        objects=(),
        gone=[ObjectKey(NAMESPACE, "held")],
        seen_at=NOON + timedelta(minutes=9),
    )

    assert happened() == [
        "created",
        "allocated",
        "reserved",
        "deletion requested",
        "unreserved",
        "deallocated",
        "deleted",
    ]
    allocated = ObjectChange.objects.get(happened="allocated")
    assert (allocated.detail, allocated.seen_at) == (
        {"devices": [DEVICE]},
        NOON + timedelta(minutes=1),
    )
    assert ObjectChange.objects.get(happened="reserved").detail == {"reserved_for": ["pods/train"]}


def test_a_claim_that_is_seen_allocated_at_first_has_both_written_down(cluster: Cluster) -> None:
    apply(cluster, kind=RESOURCE_CLAIMS, objects=[an_allocated_claim()], seen_at=NOON)

    assert happened() == ["created", "allocated"]


def test_a_slice_is_written_down_when_its_content_changes(cluster: Cluster) -> None:
    tainted = a_slice(devices=[a_device(taints=[a_taint()])], generation=2)
    for subject in (a_slice(), at_version(a_slice(), 2), at_version(tainted, 3)):
        apply(cluster, kind=RESOURCE_SLICES, objects=[subject], seen_at=NOON)

    assert happened() == ["created", "published", "taints changed"]
    assert ObjectChange.objects.get(happened="taints changed").detail == {
        "tainted": {"gpu-0": ["gpu.nvidia.com/xid=79:NoSchedule"]}
    }


def test_a_class_is_written_down_when_its_spec_changes(cluster: Cluster) -> None:
    changed = a_class(selectors=["true"])
    for subject in (a_class(), at_version(a_class(), 2), at_version(changed, 3)):
        apply(cluster, kind=DEVICE_CLASSES, objects=[subject], seen_at=NOON)

    assert happened() == ["created", "changed"]


def test_other_kinds_have_no_history(cluster: Cluster) -> None:
    apply(cluster, kind=NODES, objects=[a_node()], seen_at=NOON)

    assert happened() == []
