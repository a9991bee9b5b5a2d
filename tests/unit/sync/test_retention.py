from datetime import UTC, datetime, timedelta

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import DEVICE_CLASSES, RESOURCE_CLAIMS, Kind
from dra_console.mirror.models import Cluster, ObjectChange
from dra_console.sync.objects import ObjectKey
from dra_console.sync.reconcile import apply
from dra_console.sync.retention import KEPT, KEPT_PER_OBJECT, forget_old_changes
from tests.builders.objects import NAMESPACE, a_claim, a_class

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_url")]

NOW = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
LONG_AGO = NOW - KEPT - timedelta(seconds=1)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="prod")


def come_and_go(
    cluster: Cluster, kind: Kind, one: JsonObject, *, namespace: str = "", at: datetime
) -> None:
    metadata = one["metadata"]
    assert isinstance(metadata, dict)
    apply(cluster, kind=kind, objects=[one], seen_at=at)
    gone = {ObjectKey(namespace, str(metadata["name"]))}
    apply(cluster, kind=kind, objects=[], gone=gone, seen_at=at)


def remembered() -> set[str]:
    return set(ObjectChange.objects.values_list("name", flat=True))


def test_old_changes_of_what_is_gone_are_forgotten_and_young_ones_kept(cluster: Cluster) -> None:
    old, young = a_claim("old"), a_claim("young")
    come_and_go(cluster, RESOURCE_CLAIMS, old, namespace=NAMESPACE, at=LONG_AGO)
    come_and_go(cluster, RESOURCE_CLAIMS, young, namespace=NAMESPACE, at=NOW - KEPT)
    come_and_go(cluster, DEVICE_CLASSES, a_class("old-class"), at=LONG_AGO)

    forgotten = forget_old_changes(now=NOW)

    assert forgotten == 4
    assert remembered() == {"young"}


def test_a_claim_that_is_still_there_keeps_its_whole_life(cluster: Cluster) -> None:
    apply(cluster, kind=RESOURCE_CLAIMS, objects=[a_claim("long-lived")], seen_at=LONG_AGO)

    assert forget_old_changes(now=NOW) == 0
    assert remembered() == {"long-lived"}


def test_an_object_that_changes_all_the_time_keeps_its_newest_changes(cluster: Cluster) -> None:
    come_and_go(cluster, DEVICE_CLASSES, a_class("quiet"), at=NOW)
    ObjectChange.objects.bulk_create(
        ObjectChange(
            cluster=cluster,
            plural="resourceclaims",
            name="busy",
            uid="busy",
            seen_at=NOW + timedelta(seconds=number),
            happened=f"reserved {number}",
        )
        for number in range(KEPT_PER_OBJECT + 3)
    )

    forgotten = forget_old_changes(now=NOW)

    assert forgotten == 3
    oldest = ObjectChange.objects.filter(uid="busy").order_by("seen_at").first()
    assert oldest is not None
    assert oldest.happened == "reserved 3"
    assert remembered() == {"quiet", "busy"}
