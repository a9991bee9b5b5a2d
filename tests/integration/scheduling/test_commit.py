"""What stands after each answer that an API server can give to the writes of a plan."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.mirror.models import Cluster
from dra_console.scheduling.models import WrittenAllocation
from dra_console.scheduling.writing.claim_status import uid_of, with_finalizer
from dra_console.scheduling.writing.commit import write_all
from dra_console.scheduling.writing.open_notes import OpenNotes
from dra_console.scheduling.writing.outcomes import (
    Dropped,
    Failed,
    Refused,
    Waiting,
    WriteOutcome,
    Written,
)
from dra_console.scheduling.writing.plan import Plan, PlannedClaim, PodToBind
from dra_console.scheduling.writing.turns import hold_turn
from tests.builders.objects import a_claim, a_pod, a_result, an_allocated_claim, an_allocation
from tests.integration.kube.scripted import Answer, ScriptedServer, a_status, scripted_server

pytestmark = pytest.mark.django_db

CLAIM = a_claim("train")
ALLOCATION = an_allocation()
RESERVED: list[Json] = [{"resource": "pods", "name": "train", "uid": "pod-uid"}]
UID = uid_of(CLAIM)
PROTECTED = with_finalizer(CLAIM)
WITH_FINALIZER = Answer(PROTECTED)
HELD: JsonObject = {
    **PROTECTED,
    "status": {"allocation": ALLOCATION, "reservedFor": RESERVED},
}
ALLOCATED = Answer(HELD)
BOUND = Answer({"kind": "Status", "status": "Success"})
NO_ANSWER = Answer(lines=(), breaks_off=True)


def refusal(status: int, message: str) -> Answer:
    return Answer(a_status(status, message), status=status)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ScriptedServer]:
    with scripted_server(tmp_path) as server:
        yield server


@pytest.fixture
def cluster(server: ScriptedServer) -> Cluster:
    return Cluster.objects.create(name="test", kubeconfig=str(server.kubeconfig))


@dataclass(frozen=True)
class Held:
    """The allocation lease."""

    fence: int = 1
    is_lost: bool = False


def a_pod_of(name: str = "train") -> JsonObject:
    return {"metadata": {"name": name, "uid": "pod-uid"}, "spec": {}}


def a_plan(*claims: PlannedClaim) -> Plan:
    planned = claims or (PlannedClaim(CLAIM, ALLOCATION),)
    return Plan(planned, PodToBind("team-research", "train", "pod-uid", "gpu-01"))


def written(
    server: ScriptedServer, cluster: Cluster, plan: Plan | None = None, *, held: Held = Held()
) -> WriteOutcome:
    open_notes = OpenNotes()
    (outcome,) = write_all(
        server.client(), cluster, [plan or a_plan()], lease=held, open_notes=open_notes
    )
    open_notes.withdraw(cluster, fence=held.fence)
    return outcome


def asked_of(server: ScriptedServer) -> list[tuple[str, str]]:
    return [(asked.method, asked.path.rpartition("/")[2]) for asked in server.asked]


def test_the_note_of_a_write_holds_what_was_sent(server: ScriptedServer, cluster: Cluster) -> None:
    server.will_answer(WITH_FINALIZER, ALLOCATED, BOUND)

    outcome = written(server, cluster)

    assert outcome == Written((HELD,))
    assert WrittenAllocation.objects.get().raw == server.asked[1].body
    assert asked_of(server) == [("PUT", "train"), ("PUT", "status"), ("POST", "binding")]


def test_an_allocation_says_when_it_was_made_and_for_whom(
    server: ScriptedServer, cluster: Cluster
) -> None:
    server.will_answer(WITH_FINALIZER, ALLOCATED, BOUND)

    written(server, cluster)

    body: Any = server.asked[1].body
    made_at = datetime.fromisoformat(body["status"]["allocation"].pop("allocationTimestamp"))
    assert abs(datetime.now(UTC) - made_at) < timedelta(minutes=1)
    assert body["status"] == {
        "allocation": ALLOCATION,
        "reservedFor": [{"resource": "pods", "name": "train", "uid": "pod-uid"}],
    }


def test_a_conflict_drops_the_plan_and_the_note(server: ScriptedServer, cluster: Cluster) -> None:
    taken: JsonObject = {**CLAIM, "status": {"allocation": an_allocation(a_result("gpu-7"))}}
    server.will_answer(WITH_FINALIZER, refusal(409, "has been modified"), Answer(taken))

    outcome = written(server, cluster)

    assert outcome == Dropped(
        "claim team-research/train got allocated elsewhere in the meantime",
        (PROTECTED, taken),
    )
    assert not WrittenAllocation.objects.exists()


@pytest.mark.parametrize(
    ("status", "message", "reason"),
    [
        (422, "status.allocation: Invalid value", "status.allocation: Invalid value"),
        (
            422,
            'requires resource="resourceclaims/binding", verb="update" permission',
            "the console lacks a right: update on resourceclaims/binding (resource.k8s.io);",
        ),
        (
            403,
            'cannot update resource "resourceclaims/status" in API group "resource.k8s.io"',
            "the console lacks a right: update on resourceclaims/status (resource.k8s.io);",
        ),
    ],
    ids=["invalid", "field-right", "right"],
)
def test_a_refused_write_leaves_no_note_and_names_what_is_missing(
    server: ScriptedServer, cluster: Cluster, status: int, message: str, reason: str
) -> None:
    server.will_answer(WITH_FINALIZER, refusal(status, message))

    outcome = written(server, cluster)

    assert isinstance(outcome, Refused)
    assert outcome.reason.startswith(reason)
    assert not WrittenAllocation.objects.exists()


@pytest.mark.parametrize(
    "answer",
    [refusal(500, "etcd"), refusal(504, "late"), NO_ANSWER],
    ids=["failed", "timed-out", "no-answer"],
)
def test_a_write_that_may_have_happened_keeps_its_note(
    server: ScriptedServer, cluster: Cluster, answer: Answer
) -> None:
    server.will_answer(WITH_FINALIZER, answer, refusal(403, "cannot get"))

    outcome = written(server, cluster)

    noted = WrittenAllocation.objects.get().raw["status"]
    assert isinstance(outcome, Failed)
    assert (outcome.doubtful, outcome.claims) == ((UID,), ())
    assert noted["allocation"]["devices"] == ALLOCATION["devices"]


def test_a_write_whose_answer_was_lost_is_found_by_reading_the_claim(
    server: ScriptedServer, cluster: Cluster
) -> None:
    server.will_answer(WITH_FINALIZER, NO_ANSWER, ALLOCATED, BOUND)

    assert written(server, cluster) == Written((HELD,))


def test_a_lost_write_that_did_not_happen_is_sent_again_over_the_same_version(
    server: ScriptedServer, cluster: Cluster
) -> None:
    server.will_answer(WITH_FINALIZER, NO_ANSWER, WITH_FINALIZER, ALLOCATED, BOUND)

    assert isinstance(written(server, cluster), Written)
    assert server.asked[1].body == server.asked[3].body


def test_a_busy_server_says_itself_when_to_come_back(
    server: ScriptedServer, cluster: Cluster
) -> None:
    busy = Answer(a_status(429, "too many requests"), status=429, headers={"Retry-After": "7"})
    server.will_answer(WITH_FINALIZER, busy)

    assert written(server, cluster) == Failed("too many requests", 7.0, (PROTECTED,))
    assert not WrittenAllocation.objects.exists()


def test_a_binding_that_fails_keeps_the_note_of_the_allocation(
    server: ScriptedServer, cluster: Cluster
) -> None:
    server.will_answer(WITH_FINALIZER, ALLOCATED)
    for _ in range(3):
        server.will_answer(refusal(500, "etcd"), Answer(a_pod_of("train")))

    outcome = written(server, cluster)

    assert outcome == Failed("etcd", 1.0, (HELD,))
    assert WrittenAllocation.objects.count() == 1


def test_a_binding_whose_answer_was_lost_is_found_by_reading_the_pod(
    server: ScriptedServer, cluster: Cluster
) -> None:
    bound: JsonObject = {**a_pod_of("train"), "spec": {"nodeName": "gpu-01"}}
    server.will_answer(WITH_FINALIZER, ALLOCATED, NO_ANSWER, Answer(bound))

    assert isinstance(written(server, cluster), Written)


def a_changed_pod(*, disowned_at: str | None = None) -> JsonObject:
    pod = a_pod("train")
    condition: JsonObject = {"type": "PodScheduled", "lastProbeTime": disowned_at}
    metadata: Any = pod["metadata"]
    changed: JsonObject = {**metadata, "resourceVersion": "2"}
    return {**pod, "metadata": changed, "status": {"conditions": [condition]}}


def test_a_pod_that_changed_since_it_was_planned_with_is_bound_as_it_is_now(
    server: ScriptedServer, cluster: Cluster
) -> None:
    server.will_answer(
        WITH_FINALIZER,
        ALLOCATED,
        refusal(409, "Precondition failed: ResourceVersion"),
        Answer(a_changed_pod()),
        BOUND,
    )
    pod = PodToBind.of(a_pod("train"), node_name="gpu-01")

    outcome = written(server, cluster, Plan([PlannedClaim(CLAIM, ALLOCATION)], pod))

    bindings: list[Any] = [asked.body for asked in server.asked if asked.method == "POST"]
    assert isinstance(outcome, Written)
    assert [each["metadata"]["resourceVersion"] for each in bindings] == ["1", "2"]


def test_a_pod_that_lost_claims_since_it_was_planned_with_is_not_bound(
    server: ScriptedServer, cluster: Cluster
) -> None:
    server.will_answer(
        WITH_FINALIZER,
        ALLOCATED,
        refusal(409, "Precondition failed: ResourceVersion"),
        Answer(a_changed_pod(disowned_at="2026-11-30T06:00:00Z")),
        Answer(PROTECTED),
        Answer(CLAIM),
    )
    pod = PodToBind.of(a_pod("train"), node_name="gpu-01")

    outcome = written(server, cluster, Plan([PlannedClaim(CLAIM, ALLOCATION)], pod))

    assert outcome == Dropped("pod team-research/train lost claims in the meantime", (CLAIM,))
    assert asked_of(server).count(("POST", "binding")) == 1


def test_a_pod_that_is_gone_gives_its_devices_back(
    server: ScriptedServer, cluster: Cluster
) -> None:
    free = Answer(PROTECTED)
    server.will_answer(WITH_FINALIZER, ALLOCATED, refusal(404, "not found"), free, Answer(CLAIM))

    outcome = written(server, cluster)

    assert outcome == Dropped("pod team-research/train got deleted in the meantime", (CLAIM,))
    assert not WrittenAllocation.objects.exists()
    assert asked_of(server)[-2:] == [("PUT", "status"), ("PUT", "train")]


def test_a_pod_that_somebody_else_bound_keeps_its_devices(
    server: ScriptedServer, cluster: Cluster
) -> None:
    elsewhere: JsonObject = {**a_pod_of("train"), "spec": {"nodeName": "gpu-09"}}
    server.will_answer(
        WITH_FINALIZER, ALLOCATED, refusal(409, "already assigned"), Answer(elsewhere)
    )

    outcome = written(server, cluster)

    assert isinstance(outcome, Dropped)
    assert outcome.reason == "pod team-research/train got bound to node gpu-09 in the meantime"
    assert ("PUT", "status") not in asked_of(server)[2:]


def test_a_plan_of_a_lease_that_another_has_had_since_allocates_nothing(
    server: ScriptedServer, cluster: Cluster
) -> None:
    hold_turn(cluster, fence=7)
    server.will_answer(WITH_FINALIZER)

    dropped = written(server, cluster, held=Held(fence=6))

    assert isinstance(dropped, Dropped)
    assert not WrittenAllocation.objects.exists()
    assert ("PUT", "status") not in asked_of(server)


def test_who_has_lost_the_lease_writes_nothing(server: ScriptedServer, cluster: Cluster) -> None:
    outcome = written(server, cluster, held=Held(is_lost=True))

    assert outcome == Dropped("the allocation lease is lost")
    assert not server.asked


class LostAfter:
    """A lease that is lost after so many writes."""

    fence = 1

    def __init__(self, writes: int) -> None:
        self._left = writes

    @property
    def is_lost(self) -> bool:
        self._left -= 1
        return self._left < 0


def test_a_write_in_doubt_keeps_its_note_though_the_lease_is_lost_before_it_is_decided(
    server: ScriptedServer, cluster: Cluster
) -> None:
    server.will_answer(WITH_FINALIZER, NO_ANSWER, WITH_FINALIZER)

    open_notes, lease = OpenNotes(), LostAfter(writes=2)
    (outcome,) = write_all(server.client(), cluster, [a_plan()], lease=lease, open_notes=open_notes)
    open_notes.withdraw(cluster, fence=lease.fence)

    assert isinstance(outcome, Failed)
    assert outcome.doubtful == (UID,)
    assert WrittenAllocation.objects.get().claim_uid == UID


def test_a_claim_reserved_by_an_earlier_try_gets_another_version_before_its_pod_is_bound(
    server: ScriptedServer, cluster: Cluster
) -> None:
    server.will_answer(Answer(HELD), BOUND)

    outcome = written(server, cluster, a_plan(PlannedClaim(HELD, None)))

    sent: Any = server.asked[0].body
    annotations = sent["metadata"].pop("annotations")
    assert isinstance(outcome, Written)
    assert asked_of(server) == [("PUT", "train"), ("POST", "binding")]
    assert list(annotations) == ["dra-console.io/confirmed"]
    assert sent == HELD


def test_a_pod_is_not_bound_with_a_claim_that_was_taken_back_meanwhile(
    server: ScriptedServer, cluster: Cluster
) -> None:
    server.will_answer(refusal(409, "has been modified"), Answer(PROTECTED))

    outcome = written(server, cluster, a_plan(PlannedClaim(HELD, None)))

    assert outcome == Dropped(
        "claim team-research/train got deallocated in the meantime", (PROTECTED,)
    )
    assert ("POST", "binding") not in asked_of(server)


def test_a_claim_takes_no_more_than_256_pods(server: ScriptedServer, cluster: Cluster) -> None:
    held = an_allocated_claim("train", pods=tuple(f"pod-{number}" for number in range(256)))

    outcome = written(server, cluster, a_plan(PlannedClaim(held, None)))

    assert isinstance(outcome, Refused)
    assert "256 pods, the most that Kubernetes allows" in outcome.reason
    assert not server.asked


def test_pods_that_reserve_a_claim_at_the_same_time_do_not_stand_in_each_others_way(
    server: ScriptedServer, cluster: Cluster
) -> None:
    held = an_allocated_claim("train")
    by_now = an_allocated_claim("train", pods=("other",))
    server.will_answer(refusal(409, "has been modified"), Answer(by_now), Answer(held), BOUND)

    outcome = written(server, cluster, a_plan(PlannedClaim(held, None)))

    body: Any = server.asked[2].body
    assert isinstance(outcome, Written)
    assert [each["name"] for each in body["status"]["reservedFor"]] == ["other", "train"]


def a_preparing_claim(*conditions: JsonObject) -> JsonObject:
    """Build the held claim with a device that has to be prepared, and what its driver says."""
    result = a_result(bindingConditions=["Attached"], bindingFailureConditions=["Broken"])
    reported: list[Json] = [
        {key: result[key] for key in ("driver", "pool", "device")} | {"conditions": [*conditions]}
    ]
    return {
        **PROTECTED,
        "status": {
            "allocation": an_allocation(result),
            "reservedFor": RESERVED,
            "devices": reported,
        },
    }


def test_a_pod_whose_devices_are_being_prepared_is_bound_later_and_nobody_waits(
    server: ScriptedServer, cluster: Cluster
) -> None:
    preparing = a_preparing_claim({"type": "Attached", "status": "False"})

    outcome = written(server, cluster, a_plan(PlannedClaim(preparing, None)))

    assert isinstance(outcome, Waiting)
    assert "device gpu.nvidia.com/gpu-01/gpu-0 is not Attached yet" in outcome.reason
    assert outcome.until > datetime.now(UTC) + timedelta(seconds=500)
    assert not server.asked


def test_devices_that_cannot_be_prepared_are_given_back_once_no_old_binding_can_reach_the_pod(
    server: ScriptedServer, cluster: Cluster
) -> None:
    broken = a_preparing_claim(
        {"type": "Broken", "status": "True", "reason": "Cable", "message": "no link"}
    )
    server.will_answer(
        Answer(a_pod_of("train")), Answer(a_pod_of("train")), Answer(PROTECTED), Answer(CLAIM)
    )

    outcome = written(server, cluster, a_plan(PlannedClaim(broken, None)))

    marked: Any = server.asked[1].body
    assert outcome == Dropped(
        'device binding failed: claim=team-research/train, reason=Cable, message="no link"',
        (CLAIM,),
        gave_back=True,
    )
    assert [each.method for each in server.asked] == ["GET", "PATCH", "PUT", "PUT"]
    assert marked["status"]["conditions"][0]["lastProbeTime"]


def test_a_claim_reserved_ahead_is_allocated_and_reserved_for_nobody(
    server: ScriptedServer, cluster: Cluster
) -> None:
    server.will_answer(WITH_FINALIZER, ALLOCATED)

    outcome = written(server, cluster, Plan([PlannedClaim(CLAIM, ALLOCATION)], pod=None))

    body: Any = server.asked[1].body
    assert isinstance(outcome, Written)
    assert "reservedFor" not in body["status"]
    assert asked_of(server) == [("PUT", "train"), ("PUT", "status")]


def test_what_was_written_of_a_plan_that_does_not_hold_is_undone(
    server: ScriptedServer, cluster: Cluster
) -> None:
    other = an_allocated_claim("other")
    server.will_answer(
        WITH_FINALIZER,
        ALLOCATED,
        refusal(409, "has been modified"),
        refusal(404, "not found"),
        Answer(a_pod_of("train")),
        Answer(PROTECTED),
        Answer(CLAIM),
    )
    plan = a_plan(PlannedClaim(CLAIM, ALLOCATION), PlannedClaim(other, None))

    outcome = written(server, cluster, plan)

    freeing: Any = server.asked[5].body
    assert outcome == Dropped("claim team-research/other got deleted in the meantime", (CLAIM,))
    assert "allocation" not in freeing["status"]
    assert not WrittenAllocation.objects.exists()
