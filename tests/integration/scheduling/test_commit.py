"""What stands after each answer that an API server can give to the writes of a plan."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_console.allocator.model import JsonObject
from dra_console.kube.errors import ApiError, ForbiddenError, InvalidError
from dra_console.mirror.models import Cluster
from dra_console.scheduling.models import WrittenAllocation
from dra_console.scheduling.writing.commit import (
    Dropped,
    PlannedClaim,
    PlannedPod,
    commit,
    deallocate,
)
from dra_console.scheduling.writing.turns import hold_turn
from tests.builders.objects import a_claim, an_allocated_claim, an_allocation
from tests.integration.kube.scripted import Answer, ScriptedServer, a_status, scripted_server

pytestmark = pytest.mark.django_db

CLAIM = a_claim("train")
ALLOCATION = an_allocation()
WITH_FINALIZER = Answer(CLAIM)
BOUND = Answer({"kind": "Status", "status": "Success"})
NO_ANSWER = Answer(lines=(), breaks_off=True)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ScriptedServer]:
    with scripted_server(tmp_path) as server:
        yield server


@pytest.fixture
def cluster(server: ScriptedServer) -> Cluster:
    return Cluster.objects.create(name="test", kubeconfig=str(server.kubeconfig))


def a_plan(*claims: PlannedClaim) -> PlannedPod:
    planned = claims or (PlannedClaim(CLAIM, ALLOCATION),)
    return PlannedPod("team-research", "train", "pod-uid", "gpu-01", planned)


def test_the_note_of_a_write_holds_what_the_server_answered(
    server: ScriptedServer, cluster: Cluster
) -> None:
    answered: JsonObject = {**CLAIM, "status": {"allocation": ALLOCATION}}
    server.will_answer(WITH_FINALIZER, Answer(answered), BOUND)

    written = commit(server.client(), cluster, a_plan(), fence=1)

    assert written == [answered]
    assert WrittenAllocation.objects.get().raw == answered
    assert [(asked.method, asked.path.rpartition("/")[2]) for asked in server.asked] == [
        ("PUT", "train"),
        ("PUT", "status"),
        ("POST", "binding"),
    ]


def test_a_conflict_drops_the_plan_and_the_note(server: ScriptedServer, cluster: Cluster) -> None:
    server.will_answer(WITH_FINALIZER, Answer(a_status(409, "has been modified"), status=409))

    dropped = commit(server.client(), cluster, a_plan(), fence=1)

    assert dropped == Dropped("has been modified")
    assert not WrittenAllocation.objects.exists()


@pytest.mark.parametrize(
    ("status", "error"), [(422, InvalidError), (403, ForbiddenError)], ids=["invalid", "forbidden"]
)
def test_a_refused_write_leaves_no_note(
    server: ScriptedServer, cluster: Cluster, status: int, error: type[ApiError]
) -> None:
    server.will_answer(WITH_FINALIZER, Answer(a_status(status, "refused"), status=status))

    with pytest.raises(error):
        commit(server.client(), cluster, a_plan(), fence=1)

    assert not WrittenAllocation.objects.exists()


@pytest.mark.parametrize(
    "answer",
    [
        Answer(a_status(500, "etcd"), status=500),
        Answer(a_status(504, "late"), status=504),
        NO_ANSWER,
    ],
    ids=["failed", "timed-out", "no-answer"],
)
def test_a_write_that_may_have_happened_keeps_its_note(
    server: ScriptedServer, cluster: Cluster, answer: Answer
) -> None:
    server.will_answer(WITH_FINALIZER, answer)

    with pytest.raises(ApiError):
        commit(server.client(), cluster, a_plan(), fence=1)

    noted = WrittenAllocation.objects.get().raw["status"]
    assert noted["allocation"] == ALLOCATION
    assert len(server.asked) == 2


def test_a_binding_that_fails_keeps_the_note_of_the_allocation(
    server: ScriptedServer, cluster: Cluster
) -> None:
    allocated = Answer({**CLAIM, "status": {"allocation": ALLOCATION}})
    server.will_answer(WITH_FINALIZER, allocated, Answer(a_status(500, "etcd"), status=500))

    with pytest.raises(ApiError):
        commit(server.client(), cluster, a_plan(), fence=1)

    assert WrittenAllocation.objects.count() == 1


def test_a_plan_of_a_lease_that_another_has_had_since_allocates_nothing(
    server: ScriptedServer, cluster: Cluster
) -> None:
    hold_turn(cluster, fence=7)
    server.will_answer(WITH_FINALIZER)

    dropped = commit(server.client(), cluster, a_plan(), fence=6)

    assert isinstance(dropped, Dropped)
    assert not WrittenAllocation.objects.exists()
    assert not [asked for asked in server.asked if asked.path.endswith("/status")]


def test_a_claim_that_is_allocated_and_reserved_is_not_written_again(
    server: ScriptedServer, cluster: Cluster
) -> None:
    held = an_allocated_claim("train")
    status = held["status"]
    assert isinstance(status, dict)
    status["reservedFor"] = [{"resource": "pods", "name": "train", "uid": "pod-uid"}]
    server.will_answer(BOUND)

    written = commit(server.client(), cluster, a_plan(PlannedClaim(held, None)), fence=1)

    assert written == [held]
    assert [asked.path.rpartition("/")[2] for asked in server.asked] == ["binding"]


def test_deallocating_a_claim_that_changed_meanwhile_leaves_it(server: ScriptedServer) -> None:
    server.will_answer(Answer(a_status(409, "has been modified"), status=409))

    assert not deallocate(server.client(), an_allocated_claim("train"))


def test_deallocating_keeps_what_else_the_status_says(server: ScriptedServer) -> None:
    held = an_allocated_claim("train", pods=("train",))
    status = held["status"]
    assert isinstance(status, dict)
    status["fromTheFuture"] = 1
    server.will_answer(Answer(held))

    assert deallocate(server.client(), held)

    body = server.asked[0].body
    assert isinstance(body, dict)
    assert body["status"] == {"fromTheFuture": 1}
