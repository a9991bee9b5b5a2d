"""Pods that nobody can place are told why, from rows as the mirror writes them."""

from typing import Any

import pytest

from dra_console.mirror.models import Cluster
from dra_console.scheduling.allocating.explaining import explain_waiting
from dra_console.scheduling.models import Attempt
from dra_console.scheduling.pace import Pace
from tests.builders.boards import a_ready_node
from tests.builders.cases import case_objects
from tests.builders.mirrored import mirror
from tests.builders.objects import (
    a_claim,
    a_class,
    a_device,
    a_pod,
    a_slice,
    an_object,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("redis_url")]


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="test")


def stored(objects: Any) -> list[Any]:
    """Give objects of a case what a server gives them."""
    whole = []
    for each in objects:
        metadata = each["metadata"]
        made: Any = an_object(each["kind"], metadata["name"], namespace=metadata.get("namespace"))
        whole.append({**each, "metadata": {**made["metadata"], **metadata}})
    return whole


def headlines(cluster: Cluster) -> dict[str, str]:
    explain_waiting(cluster, Pace())
    attempts = Attempt.objects.filter(cluster=cluster, is_newest=True)
    return {attempt.pod_name or attempt.claim_name: attempt.headline for attempt in attempts}


def a_world(*more: Any) -> list[Any]:
    return [
        a_ready_node("gpu-01", offers={"cpu": "4", "pods": "110"}),
        a_class(),
        a_slice(node="gpu-01", devices=[a_device(f"gpu-{at}") for at in range(4)]),
        *more,
    ]


def a_pod_asking(name: str, *, scheduler: str = "dra-console", **spec: Any) -> Any:
    pod: Any = a_pod(name, claim=name, scheduler=scheduler)
    pod["spec"] |= spec
    return pod


def test_a_pod_that_asks_for_what_the_console_does_not_do_is_told_so(cluster: Cluster) -> None:
    ports = [{"name": "main", "ports": [{"containerPort": 80, "hostPort": 80}]}]
    mirror(
        cluster,
        *a_world(
            a_claim("ours"),
            a_pod_asking("ours", containers=ports),
            a_claim("theirs"),
            a_pod_asking("theirs", scheduler="default-scheduler", containers=ports),
        ),
    )

    said = headlines(cluster)

    assert "does not place pods with host ports" in said["ours"]
    assert "host ports" not in said["theirs"]


def test_what_other_pods_take_of_a_node_is_said(cluster: Cluster) -> None:
    def requests(cpu: str) -> Any:
        return [{"name": "main", "resources": {"requests": {"cpu": cpu}}}]

    web: Any = a_pod("web", node="gpu-01", phase="Running", scheduler="default-scheduler")
    web["spec"]["containers"] = requests("3")
    mirror(
        cluster,
        *a_world(web, a_claim("train"), a_pod_asking("train", containers=requests("2"))),
    )

    explain_waiting(cluster, Pace())

    attempt = Attempt.objects.get(pod_name="train")
    assert "lacks cpu: 2 wanted, 1 left" in f"{attempt.headline} {attempt.explanation}"


def test_a_pod_whose_claim_has_all_its_consumers_is_told_so(cluster: Cluster) -> None:
    """Case 039, whoever schedules the pod."""
    late: Any = a_pod("w-256", namespace="lab", claim="channel", scheduler="default-scheduler")
    mirror(cluster, a_ready_node(), *stored(case_objects("039-reserved-for-256")), late)

    assert "lab/channel has 256 of 256 consumers" in headlines(cluster)["w-256"]


def test_a_pod_that_passed_every_scheduler_by_is_told_so(cluster: Cluster) -> None:
    """Case 046."""
    objects = stored(case_objects("046-pod-with-node-name"))
    for each in objects:
        if each["kind"] == "Pod":
            each["status"] = {"phase": "Pending"}
    mirror(cluster, *objects)

    said = headlines(cluster)

    assert "nobody allocates claim free" in said["uses-free"]
    assert "devices of claim got cannot be used" in said["wrong-node"]
    assert "uses-allocated" not in said


def test_it_rests_while_it_reads_and_after_each_that_waits(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("first", "second", "third")
    pods = [one for name in names for one in (a_claim(name), a_pod_asking(name))]
    mirror(cluster, *a_world(*pods))
    rests: list[int] = []
    monkeypatch.setattr(Pace, "rest", lambda _: rests.append(1))

    explain_waiting(cluster, Pace())

    assert len(rests) >= 2 + len(names)
