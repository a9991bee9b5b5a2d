"""Cases that people met, as far as the mirror decides them (`tests/golden/cases`)."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES, Kind
from dra_console.kube.shapes import read_as_v1
from dra_console.mirror.models import Cluster, Device, Pool, ResourceClaim, ResourceSlice
from dra_console.sync.objects import ObjectKey
from dra_console.sync.reconcile import apply
from nodeagent.publish.plan import Pool as PublishedPool
from nodeagent.publish.plan import plan_writes
from tests.builders.cases import case_object, case_objects
from tests.builders.objects import a_uid
from tests.builders.slice_cuts import cut
from tests.unit.sync.rows import at_version

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
ACME = "gpu.acme.example"


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="lab")


def see(cluster: Cluster, kind: Kind, *objects: JsonObject) -> None:
    """Mirror objects of a case, with what the API server would have given them."""
    stored = [
        at_version(one, 1, uid=a_uid(f"{kind.plural}/{one['metadata']}"))
        for one in objects
        if one["kind"] == kind.kind
    ]
    apply(cluster, kind=kind, objects=stored, seen_at=NOON)


def test_020_a_pool_with_a_missing_slice_is_marked_with_one_of_two(cluster: Cluster) -> None:
    see(cluster, RESOURCE_SLICES, *case_objects("020-incomplete-pool"))

    half, whole = Pool.objects.get(name="p2"), Pool.objects.get(name="p9")
    assert (half.slices_seen, half.slices_expected, half.is_complete) == (1, 2, False)
    assert half.problem == "1 of 2 slices of generation 1 seen"
    assert (whole.is_complete, whole.problem) == (True, "")


def test_022_a_device_that_is_twice_in_a_pool_is_its_problem_and_no_other_pools(
    cluster: Cluster,
) -> None:
    see(cluster, RESOURCE_SLICES, *case_objects("022-duplicate-device-in-pool"))

    problems = {(row.driver, row.name): row.problem for row in Pool.objects.all()}
    assert problems == {
        (ACME, "p"): "device name occurs more than once: card-0",
        ("nic.acme.example", "p"): "",
        (ACME, "q"): "device name occurs more than once: x",
    }
    assert Device.objects.filter(pool="p", driver=ACME).count() == 3


def test_048_objects_of_an_old_server_are_the_rows_of_a_new_one(cluster: Cluster) -> None:
    case = "048-v1beta1-and-v1-shapes"
    beta = replace(RESOURCE_CLAIMS, version="v1beta1")
    claim = read_as_v1(case_object(case, "ResourceClaim", "beta"), served=beta)

    see(cluster, RESOURCE_CLAIMS, claim)
    see(cluster, RESOURCE_SLICES, case_object(case, "ResourceSlice", "beta-slice"))

    assert ResourceClaim.objects.get().class_names == ["gpu"]
    assert {row.name: row.memory_bytes for row in Device.objects.all()} == {
        "g0": 8 * 2**30,
        "g1": 8 * 2**30,
    }
    assert Pool.objects.get().problem == ""


def test_051_a_pool_of_three_slices_is_whole_and_shrinks_to_one(cluster: Cluster) -> None:
    pool = PublishedPool(driver=ACME, node_name="node-a", node_uid="uid", name="node-a")
    created = plan_writes(cut(devices_numbered(300)), [], pool=pool).create
    published = [published_as(f"{index:05}-x", body) for index, body in enumerate(created)]
    see(cluster, RESOURCE_SLICES, *published)

    row = Pool.objects.get()
    assert (row.slices_seen, row.slices_expected, row.problem) == (3, 3, "")
    names = list(Device.objects.order_by("slice__name", "position").values_list("name", flat=True))
    assert names == [f"d{number:03}" for number in range(300)]

    writes = plan_writes(cut(devices_numbered(100)), published, pool=pool)
    [kept] = writes.replace
    gone = {one.name for one in ResourceSlice.objects.all()} - {name_of(kept)}
    apply(
        cluster,
        kind=RESOURCE_SLICES,
        objects=[at_version(kept, 2, uid="kept")],
        gone=[ObjectKey("", name) for name in gone],
        seen_at=NOON,
    )

    row = Pool.objects.get()
    assert (row.slices_seen, row.slices_expected, row.problem) == (1, 1, "")
    assert Device.objects.count() == 100


def devices_numbered(count: int) -> list[JsonObject]:
    return [
        {"name": f"d{number:03}", "attributes": {"n": {"int": number}}} for number in range(count)
    ]


def published_as(name: str, body: JsonObject) -> JsonObject:
    return {"kind": "ResourceSlice", **body, "metadata": {"name": name, "resourceVersion": "1"}}


def name_of(one: JsonObject) -> str:
    metadata = one["metadata"]
    assert isinstance(metadata, dict)
    return str(metadata["name"])
