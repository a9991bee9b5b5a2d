from datetime import UTC, datetime, timedelta

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import DEVICE_CLASSES, NODES, RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.models import Cluster, ObjectChange
from dra_console.sync.objects import ObjectKey
from dra_console.sync.reading import object_in
from dra_console.sync.reconcile import apply
from tests.builders.objects import (
    NAMESPACE,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_result,
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
    assert ObjectChange.objects.get(happened="changed").detail == {
        "selectors_added": {"first": ["true"]},
        "selectors_removed": {"first": ['device.driver == "gpu.nvidia.com"']},
    }


def test_a_slices_change_names_the_devices_that_came_went_and_changed(cluster: Cluster) -> None:
    before = a_slice(devices=[a_device("gpu-0"), a_device("gpu-1"), a_device("gpu-2")])
    after = a_slice(
        devices=[
            a_device("gpu-0", taints=[a_taint()]),
            a_device("gpu-1", memory="1"),
            a_device("x"),
        ],
        generation=2,
    )
    for subject in (before, at_version(after, 2)):
        apply(cluster, kind=RESOURCE_SLICES, objects=[subject], seen_at=NOON)

    assert ObjectChange.objects.get(happened="published").detail == {
        "generation": 2,
        "devices": 3,
        "came": {"first": ["x"]},
        "went": {"first": ["gpu-2"]},
        "changed": {"first": ["gpu-1: capacity"]},
    }


def test_what_a_driver_says_of_a_claims_device_is_written_down_when_it_changes(
    cluster: Cluster,
) -> None:
    plain, ready, beaten, lost = (an_allocated_claim() for _ in range(4))
    for claim, status in ((ready, "True"), (beaten, "True"), (lost, "False")):
        condition: JsonObject = {"type": "Ready", "status": status, "message": str(id(claim))}
        object_in(claim, "status")["devices"] = [{**a_result(), "conditions": [condition]}]
    for version, claim in enumerate((plain, ready, beaten, lost), start=1):
        apply(cluster, kind=RESOURCE_CLAIMS, objects=[at_version(claim, version)], seen_at=NOON)

    said = ObjectChange.objects.filter(happened="device status").order_by("pk")
    assert [change.detail for change in said] == [
        {"said": [f"{DEVICE}: Ready=True"]},
        {"said": [f"{DEVICE}: Ready=False"]},
    ]


def test_what_is_listed_again_writes_nothing_down_twice(cluster: Cluster) -> None:
    states = [an_allocated_claim(f"held-{number}", pods=("train",)) for number in range(3)]
    apply(cluster, kind=RESOURCE_CLAIMS, objects=states, seen_at=NOON)
    once = happened()

    touched = [at_version(state, 2, annotations={"touched": "yes"}) for state in states]
    for relist in (states, touched, touched):
        apply(cluster, kind=RESOURCE_CLAIMS, objects=relist, seen_at=NOON + timedelta(hours=1))

    assert happened() == once


def test_what_was_missed_is_written_down_at_the_time_when_it_was_seen(cluster: Cluster) -> None:
    back = NOON + timedelta(hours=2)
    apply(cluster, kind=RESOURCE_CLAIMS, objects=[a_claim("held")], seen_at=NOON)

    missed = at_version(an_allocated_claim("held", pods=("train",)), 900)
    apply(cluster, kind=RESOURCE_CLAIMS, objects=[missed], seen_at=back)

    seen = ObjectChange.objects.filter(seen_at=back).values_list("happened", flat=True)
    assert list(seen) == ["allocated", "reserved"]


def test_a_change_of_many_names_is_bounded_and_counts_the_others(cluster: Cluster) -> None:
    pods = tuple(f"pod-{number:03}-{'x' * 200}" for number in range(256))
    for subject in (a_claim("held"), at_version(an_allocated_claim("held", pods=pods), 2)):
        apply(cluster, kind=RESOURCE_CLAIMS, objects=[subject], seen_at=NOON)

    detail = ObjectChange.objects.get(happened="reserved").detail
    assert (len(detail["reserved_for"]), detail["more"]) == (32, 224)
    assert len(str(detail)) < 10_000


def test_other_kinds_have_no_history(cluster: Cluster) -> None:
    apply(cluster, kind=NODES, objects=[a_node()], seen_at=NOON)

    assert happened() == []
