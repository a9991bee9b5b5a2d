"""The world in memory is what reading all anew would give, whatever happened and was heard of."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NODES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from dra_console.mirror.models import Cluster
from dra_console.scheduling.allocating.claim_reading import read_claims
from dra_console.scheduling.allocating.pending import key_in
from dra_console.scheduling.allocating.resident import Resident
from dra_console.scheduling.names import RESERVE_AHEAD_LABEL
from dra_console.sync.objects import ObjectKey
from dra_console.sync.reconcile import apply
from tests.builders.objects import (
    NAMESPACE,
    a_claim,
    a_class,
    a_device,
    a_node,
    a_result,
    a_slice,
    a_taint_rule,
    an_allocated_claim,
)
from tests.unit.sync.rows import at_version

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)
NAMES = ("a", "b", "c")
GONE = 3
"""A variant without an object."""


def a_varied(kind: Kind, name: str, variant: int) -> JsonObject:
    """Build one of three states of an object; the last cannot be read, or is empty."""
    is_odd = variant == GONE - 1
    if kind == NODES:
        return a_node(name, zone=f"zone-{variant}")
    if kind == RESOURCE_SLICES:
        odd: Any = a_slice(name, node=name, devices=[a_device(f"gpu-{n}") for n in range(2)])
        odd["spec"]["pool"]["generation"] = "one" if is_odd else variant
        return odd  # type: ignore[no-any-return]  # a builder's object, made odd
    if kind == DEVICE_CLASSES:
        return a_class(name)
    if kind == DEVICE_TAINT_RULES:
        return a_taint_rule(name, pool=f"pool-{variant}")
    claim: Any = (
        a_claim(name)
        if variant == 0
        else an_allocated_claim(name, results=[a_result("gpu-0", pool=name)], node=name)
    )
    claim["metadata"]["labels"] = {RESERVE_AHEAD_LABEL: "true"}
    if is_odd:
        claim["spec"] = {"devices": {"requests": "odd"}}
        # Another object: the spec of one never changes.
        claim["metadata"]["uid"] += "-odd"
    return claim  # type: ignore[no-any-return]  # a builder's object, made odd


class Happening(NamedTuple):
    """What happens to an object, and whether the world is told of it at once."""

    kind: Kind
    name: str
    variant: int
    is_heard: bool


happenings = st.lists(
    st.builds(
        Happening,
        st.sampled_from(
            (NODES, RESOURCE_SLICES, DEVICE_CLASSES, DEVICE_TAINT_RULES, RESOURCE_CLAIMS)
        ),
        st.sampled_from(NAMES),
        st.integers(min_value=0, max_value=GONE),
        st.booleans(),
    ),
    max_size=20,
)


def look_of(resident: Resident) -> Mapping[str, Any]:
    """Say what plans can see of a world."""
    snapshot = resident.fleet.snapshot()
    index = resident.fleet.roster.index
    return {
        "nodes": sorted(snapshot.nodes, key=lambda each: each.name),
        "slices": sorted(snapshot.slices, key=lambda each: each.name),
        "classes": sorted(snapshot.classes, key=lambda each: each.name),
        "rules": sorted(snapshot.taint_rules, key=lambda each: each.name),
        "claims": sorted(snapshot.claims, key=lambda each: each.key),
        "held": {str(each): claim.key for each, claim in index.usage.holders.items()},
        "waiting": {key: each.uid for key, each in resident.claims.items()},
        "ahead": sorted(resident.ahead),
        "left out": sorted(resident.left_out),
        "facts": sorted(map(str, resident.board.all_facts())),
    }


def happen(cluster: Cluster, resident: Resident, one: Happening, *, version: int) -> None:
    is_claim = one.kind == RESOURCE_CLAIMS
    key = f"{NAMESPACE}/{one.name}" if is_claim else one.name
    namespace = NAMESPACE if is_claim else ""
    if one.variant == GONE:
        gone = [ObjectKey(namespace, one.name)]
        apply(cluster, kind=one.kind, objects=[], gone=gone, seen_at=NOON)
        if is_claim:
            resident.remove_claim(key)
    else:
        raw = at_version(a_varied(one.kind, one.name, one.variant), version)
        apply(cluster, kind=one.kind, objects=[raw], seen_at=NOON)
        if is_claim:
            resident.put_claim(raw)
    if not is_claim and one.is_heard:
        resident.look_at(one.kind.plural, [key])


@pytest.mark.django_db
@given(before=happenings, after=happenings)
@settings(
    max_examples=40,
    deadline=None,
    # The fixture behind django_db wraps all examples; each rolls itself back.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_after_any_changes_the_world_is_what_reading_all_anew_gives(
    before: list[Happening], after: list[Happening]
) -> None:
    with transaction.atomic():
        cluster = Cluster.objects.create(name="test", kubeconfig="/nowhere")
        empty = Resident(cluster, read_claims(cluster))
        for version, one in enumerate(before):
            happen(cluster, empty, one, version=version)
        resident = Resident(cluster, read_claims(cluster))
        for version, one in enumerate(after, start=len(before)):
            happen(cluster, resident, one, version=version)

        for _ in resident.comparing():
            pass
        anew = Resident(cluster, read_claims(cluster))

        assert look_of(resident) == look_of(anew)
        transaction.set_rollback(True)


@pytest.fixture
def resident(db: None) -> Resident:
    del db
    cluster = Cluster.objects.create(name="test", kubeconfig="/nowhere")
    for kind, one in ((NODES, a_node("a")), (RESOURCE_SLICES, a_varied(RESOURCE_SLICES, "a", 1))):
        apply(cluster, kind=kind, objects=[one], seen_at=NOON)
    apply(cluster, kind=RESOURCE_CLAIMS, objects=[a_claim("train")], seen_at=NOON)
    return Resident(cluster, read_claims(cluster))


def test_plans_can_be_made_between_any_two_kinds_that_are_compared(resident: Resident) -> None:
    comparing = resident.comparing()
    tables = []
    is_over = False
    while not is_over:
        with CaptureQueriesContext(connection) as asked:
            is_over = next(comparing, resident) is resident
        tables.append({query["sql"].partition(" FROM ")[2].split()[0] for query in asked})

    assert len(tables) > len((NODES, RESOURCE_SLICES, DEVICE_CLASSES, DEVICE_TAINT_RULES))
    assert all(len(each) <= 1 for each in tables)


TRAIN = f"{NAMESPACE}/train"
ALLOCATED = an_allocated_claim("train", results=[a_result("gpu-0", pool="a")], node="a")


def held(resident: Resident) -> list[str]:
    return sorted(str(each) for each in resident.fleet.roster.index.usage.holders)


def assume(resident: Resident) -> None:
    allocation = decode_claim(ALLOCATED).allocation
    assert allocation is not None
    resident.assume({TRAIN: allocation})


def test_what_is_planned_holds_its_devices_at_once(resident: Resident) -> None:
    assume(resident)

    assert held(resident) == ["gpu.nvidia.com/a/gpu-0"]
    assert resident.is_assumed(TRAIN)


def test_a_plan_that_was_not_written_gives_its_devices_back(resident: Resident) -> None:
    assume(resident)
    gains = resident.gains

    resident.restore([TRAIN])

    assert not held(resident)
    assert resident.gains > gains
    assert TRAIN in resident.claims


def test_older_states_of_a_written_claim_do_not_free_its_devices(resident: Resident) -> None:
    assume(resident)
    resident.put_claim(at_version(a_claim("train"), 2))
    resident.settle(at_version(ALLOCATED, 3))

    resident.put_claim(at_version(a_claim("train"), 2))

    assert held(resident) == ["gpu.nvidia.com/a/gpu-0"]
    assert TRAIN not in resident.claims


def test_a_claim_that_is_freed_after_its_write_was_seen_is_free(resident: Resident) -> None:
    assume(resident)
    resident.settle(at_version(ALLOCATED, 3))
    resident.put_claim(at_version(ALLOCATED, 3))
    gains = resident.gains

    resident.put_claim(at_version(a_claim("train"), 4))

    assert not held(resident)
    assert resident.gains > gains
    assert TRAIN in resident.claims


def test_what_a_watch_shows_of_answers_that_followed_each_other_ends_in_the_last(
    resident: Resident,
) -> None:
    assume(resident)
    resident.put_claim(at_version(ALLOCATED, 3))
    assume(resident)
    resident.settle(at_version(a_claim("train"), 4))

    resident.put_claim(at_version(ALLOCATED, 3))
    resident.put_claim(at_version(a_claim("train"), 4))

    assert not held(resident)
    assert TRAIN in resident.claims


def test_an_answer_that_comes_after_the_claim_was_freed_again_changes_nothing(
    resident: Resident,
) -> None:
    assume(resident)
    resident.put_claim(at_version(ALLOCATED, 3))
    resident.put_claim(at_version(a_claim("train"), 4))

    resident.settle(at_version(ALLOCATED, 3))

    assert not held(resident)


def test_a_claim_that_somebody_else_allocated_is_believed_over_a_plan(resident: Resident) -> None:
    assume(resident)
    theirs = an_allocated_claim("train", results=[a_result("gpu-1", pool="a")], node="a")

    resident.put_claim(at_version(theirs, 2))

    assert held(resident) == ["gpu.nvidia.com/a/gpu-1"]
    assert not resident.is_assumed(TRAIN)


def test_a_noted_write_counts_until_the_claim_is_seen_allocated(resident: Resident) -> None:
    resident.believe(ALLOCATED)
    resident.put_claim(at_version(a_claim("train"), 2))

    assert held(resident) == ["gpu.nvidia.com/a/gpu-0"]
    assert TRAIN not in resident.claims


def test_a_noted_write_counts_where_the_mirror_does_not_show_the_claim_at_all(
    resident: Resident,
) -> None:
    resident.remove_claim(TRAIN)

    resident.believe(ALLOCATED)

    assert held(resident) == ["gpu.nvidia.com/a/gpu-0"]


def test_a_noted_write_counts_where_the_mirror_shows_the_allocation_before_it(
    resident: Resident,
) -> None:
    before = an_allocated_claim("train", results=[a_result("gpu-1", pool="a")], node="a")
    resident.put_claim(before)

    resident.believe(ALLOCATED)

    assert held(resident) == ["gpu.nvidia.com/a/gpu-0"]


def test_a_doubtful_write_is_what_the_api_server_says_in_the_end(resident: Resident) -> None:
    assume(resident)
    uid = resident.uid_of(TRAIN)

    keys = resident.decide([uid], [at_version(a_claim("train"), 2)])

    assert keys == [TRAIN]
    assert not held(resident)
    assert TRAIN in resident.claims


def test_a_claim_that_is_deleted_gives_its_devices_back(resident: Resident) -> None:
    resident.put_claim(at_version(ALLOCATED, 2))

    resident.remove_claim(key_in(ALLOCATED))

    assert not held(resident)
    assert resident.claim(TRAIN) is None
