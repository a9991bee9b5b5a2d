"""API servers that forget at once, are set back, or break off in mid-batch."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.mirror.models import Cluster, ResourceClaim
from dra_console.sync.follow import Ended
from tests.builders.objects import a_claim
from tests.integration.kube.scripted import Answer, ScriptedServer, a_status, scripted_server
from tests.integration.sync.windows import cursor_of, follow_for
from tests.unit.sync.rows import at_version

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("redis_url")]

KUBE_SYSTEM = Answer({"metadata": {"name": "kube-system", "uid": "c1"}})
GONE: Json = {"type": "ERROR", "object": a_status(410, "too old resource version")}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[ScriptedServer]:
    with scripted_server(tmp_path) as server:
        yield server


@pytest.fixture
def cluster(server: ScriptedServer) -> Cluster:
    return Cluster.objects.create(name="lab", kubeconfig=str(server.kubeconfig))


def a_list(version: str, *claims: JsonObject, more: str = "") -> Answer:
    metadata: JsonObject = {"resourceVersion": version}
    if more:
        metadata["continue"] = more
    return Answer({"metadata": metadata, "items": [*claims]})


def added(subject: JsonObject) -> JsonObject:
    return {"type": "ADDED", "object": subject}


def lists_asked(server: ScriptedServer) -> int:
    return sum(
        each.path.endswith("/resourceclaims") and "watch" not in each.query for each in server.asked
    )


def names() -> list[str]:
    return sorted(ResourceClaim.objects.values_list("name", flat=True))


@pytest.mark.parametrize("ending", [GONE, b"<html>bad gateway</html>\n"], ids=["410", "no JSON"])
def test_events_before_a_failure_in_one_read_are_mirrored(
    server: ScriptedServer, cluster: Cluster, ending: Json | bytes
) -> None:
    event = added(at_version(a_claim("seen"), 6))
    stream = Answer(lines=(event, ending))
    forgotten = Answer(a_status(500, "not now"), status=500)
    server.will_answer(KUBE_SYSTEM, a_list("5"), KUBE_SYSTEM, stream, KUBE_SYSTEM, forgotten)

    assert follow_for(cluster, seconds=3) is Ended.FAILED

    assert names() == ["seen"]


def test_a_server_that_forgets_at_once_is_not_listed_without_end(
    server: ScriptedServer, cluster: Cluster
) -> None:
    for _ in range(20):
        server.will_answer(
            KUBE_SYSTEM, a_list("5"), KUBE_SYSTEM, Answer(lines=(GONE,)), KUBE_SYSTEM
        )

    assert follow_for(cluster, seconds=30) is Ended.FAILED

    assert lists_asked(server) == 2
    assert "forgets versions" in cursor_of(cluster).error
    assert cursor_of(cluster).resource_version == ""


def test_a_list_that_expires_between_its_pages_begins_again(
    server: ScriptedServer, cluster: Cluster
) -> None:
    one, two, three = (at_version(a_claim(name), 4) for name in ("one", "two", "three"))
    quiet = Answer(lines=(), stays_open=True)
    server.will_answer(KUBE_SYSTEM, a_list("5", one, more="page-2"), KUBE_SYSTEM)
    server.will_answer(Answer(a_status(410, "the list has expired"), status=410))
    server.will_answer(KUBE_SYSTEM, a_list("8", two, more="page-2"), KUBE_SYSTEM)
    server.will_answer(a_list("8", three), KUBE_SYSTEM, quiet, KUBE_SYSTEM)

    assert follow_for(cluster, seconds=2) is Ended.OVER

    assert names() == ["three", "two"]
    assert cursor_of(cluster).resource_version == "8"


def test_after_a_server_was_set_back_an_object_of_a_known_version_is_read_anew(
    server: ScriptedServer, cluster: Cluster
) -> None:
    quiet = Answer(lines=(), stays_open=True)
    before = at_version(a_claim("kept"), 90)
    other = at_version(a_claim("kept"), 90, labels={"after": "the-restore"})
    server.will_answer(KUBE_SYSTEM, a_list("100", before), KUBE_SYSTEM, quiet, KUBE_SYSTEM)
    follow_for(cluster, seconds=1)
    server.answers.clear()

    server.newest_version = 95
    server.will_answer(KUBE_SYSTEM, a_list("95", other), KUBE_SYSTEM, quiet, KUBE_SYSTEM)
    follow_for(cluster, seconds=2)

    claim = ResourceClaim.objects.get()
    assert claim.resource_version == "90"
    assert claim.raw["metadata"]["labels"] == {"after": "the-restore"}
    assert cursor_of(cluster).resource_version == "95"
