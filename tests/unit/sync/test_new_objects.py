"""New objects become the same rows, whether they are read in compiled code or leniently."""

import pytest
from django.db import transaction
from hypothesis import HealthCheck, Phase, given, settings

from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import PODS, RESOURCE_CLAIMS, RESOURCE_SLICES, Kind
from dra_console.mirror.models import Cluster, Device, ObjectChange, ObjectProblem
from dra_console.sync.claims import POD_CLAIM_NAME
from dra_console.sync.known import known_versions
from dra_console.sync.listing import write_sent
from dra_console.sync.new_objects import write_new
from dra_console.sync.objects import metadata_of
from dra_console.sync.reconcile import apply
from tests.builders.mirrored import SEEN_AT
from tests.builders.objects import (
    a_claim,
    a_device,
    a_pod,
    a_request,
    a_result,
    a_slice,
    a_taint,
    an_allocated_claim,
)
from tests.builders.odd import an_opaque, odd_objects
from tests.unit.sync.pages import a_page, page_of, text_of
from tests.unit.sync.rows import at_version, rows_of

pytestmark = pytest.mark.django_db

KINDS = (RESOURCE_SLICES, RESOURCE_CLAIMS)


def of_kind(kind: Kind, objects: list[JsonObject]) -> list[JsonObject]:
    return [each for each in objects if each["kind"] == kind.kind]


def by_page(cluster: Cluster, kind: Kind, raw: bytes) -> None:
    known = known_versions(cluster, kind=kind)
    write_sent(cluster, kind=kind, sent=page_of(kind, raw).changed, known=known, seen_at=SEEN_AT)


def leniently(cluster: Cluster, kind: Kind, raw: bytes) -> None:
    apply(cluster, kind=kind, objects=page_of(kind, raw).items, seen_at=SEEN_AT)


def everything_of(cluster: Cluster) -> set[str]:
    """Return all rows, history and notes, a line each."""
    changes = ObjectChange.objects.filter(cluster=cluster).values_list(
        "plural", "namespace", "name", "uid", "seen_at", "happened", "detail"
    )
    notes = ObjectProblem.objects.filter(cluster=cluster).values_list("plural", "name", "message")
    lines = [f"{table}: {row}" for table, rows in rows_of(cluster).items() for row in rows]
    return {*lines, *map(str, changes), *map(str, notes)}


def reached_by_both(kind: Kind, *answers: bytes) -> tuple[set[str], set[str]]:
    """Write pages of one list either way; the pod that they may be about is there."""
    reached = []
    for name, write in (("quick", by_page), ("lenient", leniently)):
        cluster = Cluster.objects.create(name=name)
        pod = a_pod("train", template="training")
        apply(cluster, kind=PODS, objects=[pod], seen_at=SEEN_AT)
        for answer in answers:
            write(cluster, kind, answer)
        reached.append(everything_of(cluster))
    return reached[0], reached[1]


@settings(
    max_examples=60,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    print_blob=True,
)
@given(odd=odd_objects())
def test_both_ways_write_the_same_whatever_an_object_holds(odd: list[JsonObject]) -> None:
    with transaction.atomic():
        quick, slow = (Cluster.objects.create(name=name) for name in ("quick", "slow"))
        for cluster, write in ((quick, by_page), (slow, leniently)):
            apply(cluster, kind=PODS, objects=of_kind(PODS, odd), seen_at=SEEN_AT)
            for kind in KINDS:
                write(cluster, kind, text_of(of_kind(kind, odd)))
        reached, wanted = everything_of(quick), everything_of(slow)
        transaction.set_rollback(True)

    assert reached == wanted


def rich_slices() -> list[JsonObject]:
    counters: JsonObject = {"name": "gpu-0-counter-set", "counters": {"memory": {"value": "80Gi"}}}
    whole = a_device(
        "gpu-0",
        attributes={"productName": "H100 <80GB>", "uuid": "GPU-1", "gpu.nvidia.com/index": 0},
        consumes={"gpu-0-counter-set": {"memory": "80Gi"}},
        taints=[a_taint()],
        nodeName="gpu-02",
    )
    part = a_device("gpu-0-mig-1", memory="10Gi", attributes={"parentUUID": "GPU-1"})
    return [
        a_slice("counters", slice_count=2, sharedCounters=[counters]),
        a_slice("devices", slice_count=2, devices=[whole, part]),
        a_slice("older", pool="newer", generation=1),
        a_slice(
            "newer", pool="newer", generation=2, devices=[a_device(f"gpu-{n}") for n in (1, 0)]
        ),
        a_slice("lonely", pool="lonely", slice_count=3),
    ]


def rich_claims() -> list[JsonObject]:
    uid = metadata_of(a_pod("train", template="training")).uid
    pod: JsonObject = {"apiVersion": "v1", "kind": "Pod", "name": "train", "uid": uid}
    generated = an_allocated_claim("train-gpu", results=[a_result()], pods=("train",))
    metadata = generated["metadata"]
    assert isinstance(metadata, dict)
    metadata |= {
        "annotations": {POD_CLAIM_NAME: "gpu"},
        "ownerReferences": [pod],
        "deletionTimestamp": "2026-11-29T21:00:00+01:00",
    }
    return [
        a_claim("pending"),
        a_claim("configured", config=[{"requests": ["gpu"], **an_opaque()}]),
        a_claim("selecting", requests=[a_request(selectors=["device.driver < 'x' && true"])]),
        an_allocated_claim("two", results=[a_result("gpu-2"), a_result("gpu-3")]),
        generated,
    ]


RICH = {RESOURCE_SLICES: rich_slices, RESOURCE_CLAIMS: rich_claims}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_usual_objects_are_written_the_quick_way(kind: Kind) -> None:
    cluster = Cluster.objects.create(name="prod")
    page = a_page(kind, RICH[kind]())

    others = write_new(cluster, kind=kind, sent=page.changed, stored=set(), seen_at=SEEN_AT)

    assert [each.identity.name for each in others] == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.plural)
def test_usual_objects_become_the_same_rows_either_way(kind: Kind) -> None:
    reached, wanted = reached_by_both(kind, text_of(RICH[kind]()))

    assert reached == wanted


def test_slices_of_one_pool_on_two_pages_are_one_pool() -> None:
    first, second, *others = rich_slices()

    reached, wanted = reached_by_both(
        RESOURCE_SLICES, text_of([first, *others]), text_of([second, others[0]])
    )

    assert reached == wanted
    assert Device.objects.filter(cluster__name="quick", name="gpu-0-mig-1").count() == 1


def test_the_last_of_a_name_that_a_page_holds_twice_counts() -> None:
    twice = [a_claim("twice"), at_version(an_allocated_claim("twice", results=[a_result()]), 2)]

    reached, wanted = reached_by_both(RESOURCE_CLAIMS, text_of([*twice, a_claim("once")]))

    assert reached == wanted


@pytest.mark.parametrize(
    "foreign",
    [
        *(b'"\\u0000"', b'"\\ud800"', b'"\xff"', b'"\\u003c"', b"1e2", b"1.50", b"1" + b"0" * 30),
        *(b'{"a":1,"a":2}', b"[" * 400 + b"]" * 400, b"1e999", b'"/\\/"', b"[ 1 ]"),
    ],
)
def test_what_people_wrote_for_a_driver_is_kept_alike(foreign: bytes) -> None:
    claims = [a_claim("plain"), a_claim("odd", config=[{"requests": ["gpu"], **an_opaque()}])]
    raw = text_of(claims)
    assert b'"MPS"' in raw

    reached, wanted = reached_by_both(RESOURCE_CLAIMS, raw.replace(b'"MPS"', foreign))

    assert reached == wanted


@pytest.mark.parametrize("field", ["uid", "name"])
def test_what_the_database_refuses_keeps_no_other_object_out(field: str) -> None:
    odd = a_claim("odd")
    metadata = odd["metadata"]
    assert isinstance(metadata, dict)
    metadata[field] = "x" * 300

    reached, wanted = reached_by_both(RESOURCE_CLAIMS, text_of([*rich_claims(), odd]))

    assert reached == wanted
    assert "team-research/pending" not in str(ObjectProblem.objects.all())


def test_a_claim_that_is_known_is_compared_with_what_is_known() -> None:
    cluster = Cluster.objects.create(name="prod")
    by_page(cluster, RESOURCE_CLAIMS, text_of(rich_claims()))

    by_page(cluster, RESOURCE_CLAIMS, text_of([at_version(a_claim("two"), 2)]))

    happened = ObjectChange.objects.filter(name="two").values_list("happened", flat=True)
    assert list(happened) == ["created", "allocated", "deallocated"]
