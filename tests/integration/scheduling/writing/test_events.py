"""Events and the pod's condition, as a devcluster keeps them."""

from typing import Any

import pytest

from dra_console.kube.client import Client
from dra_console.kube.kinds import EVENTS, NAMESPACES, PODS
from dra_console.scheduling.writing import remarks
from dra_console.scheduling.writing.recorder import BURST_PER_OBJECT, Recorder
from dra_console.scheduling.writing.remarks import Regarding
from tests.builders.objects import NAMESPACE, a_namespace, a_pod, unborn
from tests.integration.devclusters import Devcluster, api_server

__all__ = ["api_server"]

SECONDS = 30


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def client(api_server: Devcluster) -> Client:
    client = Client.from_kubeconfig(str(api_server.kubeconfig))
    client.create(NAMESPACES, unborn(a_namespace()))
    return client


@pytest.fixture
def pod(client: Client) -> Regarding:
    made: Any = client.create(PODS, unborn(a_pod("train")), namespace=NAMESPACE)
    return remarks.pod_named(NAMESPACE, "train", made["metadata"]["uid"])


def events_of(client: Client) -> list[Any]:
    return sorted(client.list(EVENTS).items, key=lambda event: str(event["eventTime"]))


def test_what_is_said_again_is_counted_in_one_event_and_seldom_written(
    client: Client, pod: Regarding
) -> None:
    clock = Clock()
    recorder = Recorder(client, clock=clock)
    counted = []

    for seconds in (0, 1, 2, 40):
        clock.now = seconds
        recorder.say(remarks.failed_scheduling(pod, "0/1 nodes are available."))
        assert recorder.wait(timeout_seconds=SECONDS)
        counted += [event.get("series", {}).get("count") for event in events_of(client)]

    [event] = events_of(client)
    assert counted == [None, 2, 2, 4]
    assert (event["type"], event["reason"], event["action"]) == (
        "Warning",
        "FailedScheduling",
        "Scheduling",
    )
    assert event["involvedObject"]["uid"] == pod.uid
    assert event["reportingComponent"] == "dra-console"


def test_a_pod_says_itself_why_it_has_no_node(client: Client, pod: Regarding) -> None:
    recorder = Recorder(client)
    since: set[str] = set()

    for message in ("first reason", "second reason"):
        recorder.say(remarks.failed_scheduling(pod, message))
        assert recorder.wait(timeout_seconds=SECONDS)
        live: Any = client.get(PODS, "train", namespace=NAMESPACE)
        since.update(each["lastTransitionTime"] for each in live["status"]["conditions"])

    live = client.get(PODS, "train", namespace=NAMESPACE)
    [condition] = live["status"]["conditions"]
    assert (condition["type"], condition["status"]) == ("PodScheduled", "False")
    assert (condition["reason"], condition["message"]) == ("Unschedulable", "second reason")
    assert len(since) == 1


def test_an_object_whose_reasons_keep_changing_gets_few_events(
    client: Client, pod: Regarding
) -> None:
    recorder = Recorder(client, clock=Clock())

    for number in range(BURST_PER_OBJECT + 10):
        recorder.say(remarks.failed_scheduling(pod, f"reason {number}"))
    assert recorder.wait(timeout_seconds=SECONDS)

    assert len(events_of(client)) == BURST_PER_OBJECT
    assert recorder.dropped == 10


def test_saying_something_never_waits_for_the_api_server(
    api_server: Devcluster, client: Client, pod: Regarding
) -> None:
    api_server.kill()
    recorder = Recorder(client)

    recorder.say(remarks.scheduled(pod, "gpu-01"))

    assert recorder.wait(timeout_seconds=SECONDS)
    assert recorder.dropped == 1
