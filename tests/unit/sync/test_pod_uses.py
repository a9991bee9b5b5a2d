"""Every pod is counted on its node, whatever it names, and nothing else of it is kept."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pytest_django import DjangoCaptureOnCommitCallbacks

from dra_console.allocator.model import JsonObject
from dra_console.events import room_changed
from dra_console.kube.kinds import PODS
from dra_console.mirror.models import Cluster, Pod, PodUse
from dra_console.sync.derived_differences import use_differences
from dra_console.sync.known import known_versions
from dra_console.sync.objects import ObjectKey
from dra_console.sync.reconcile import apply, distrust, sweep
from tests.builders.objects import NAMESPACE, a_pod
from tests.unit.sync.rows import at_version

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 11, 29, 12, 0, tzinfo=UTC)


@pytest.fixture
def cluster() -> Cluster:
    return Cluster.objects.create(name="prod")


def see(cluster: Cluster, *pods: JsonObject, gone: tuple[str, ...] = ()) -> None:
    keys = [ObjectKey(NAMESPACE, name) for name in gone]
    apply(cluster, kind=PODS, objects=pods, gone=keys, seen_at=NOON)


def a_working_pod(
    name: str = "web",
    *,
    node: str | None = "gpu-01",
    phase: str = "Running",
    claim: str | None = None,
    **requests: str,
) -> Any:
    pod: Any = a_pod(name, node=node, phase=phase, claim=claim, scheduler="default-scheduler")
    pod["spec"]["containers"][0].setdefault("resources", {})["requests"] = requests
    return pod


@contextmanager
def hearing() -> Iterator[list[Any]]:
    heard: list[Any] = []

    def hear(node_names: Any, **_: object) -> None:
        heard.append(node_names)

    room_changed.connect(hear)
    try:
        yield heard
    finally:
        room_changed.disconnect(hear)


def test_a_pod_that_names_no_claims_is_counted_and_not_kept(cluster: Cluster) -> None:
    see(cluster, a_working_pod(cpu="500m", memory="1Gi", **{"example.com/gpu": "2"}))

    row = PodUse.objects.get()
    assert (row.node_name, row.cpu_milli, row.memory_bytes) == ("gpu-01", 500, 2**30)
    assert row.other_requests == {"example.com/gpu": 2}
    assert not Pod.objects.exists()


def test_a_pod_that_names_claims_is_counted_as_well(cluster: Cluster) -> None:
    see(cluster, a_working_pod(cpu="1", claim="train"))

    assert PodUse.objects.get().is_mirrored
    assert Pod.objects.exists()


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_ended_takes_nothing(cluster: Cluster, phase: str) -> None:
    see(cluster, a_working_pod(cpu="1"))

    see(cluster, at_version(a_working_pod(cpu="1", phase=phase), "2"))

    assert PodUse.objects.get().is_finished


def test_a_pod_whose_requests_cannot_be_read_takes_a_place(cluster: Cluster) -> None:
    see(cluster, a_working_pod("odd", cpu="a lot"), a_working_pod("web", cpu="1"))

    assert dict(PodUse.objects.values_list("name", "cpu_milli")) == {"odd": 0, "web": 1000}


def test_a_pod_that_is_gone_takes_nothing(cluster: Cluster) -> None:
    see(cluster, a_working_pod("one"), a_working_pod("two"), a_working_pod("three"))

    see(cluster, gone=("one",))
    sweep(cluster, kind=PODS, listed={ObjectKey(NAMESPACE, "three")}, seen_at=NOON)

    assert [row.name for row in PodUse.objects.all()] == ["three"]


def test_scheduling_hears_of_room_and_not_of_every_word_of_a_pod(
    cluster: Cluster, django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks
) -> None:
    def heard_of(pod: JsonObject, version: str) -> list[Any]:
        with hearing() as heard, django_capture_on_commit_callbacks(execute=True):
            see(cluster, at_version(pod, version))
        return heard

    assert not heard_of(a_working_pod(node=None, phase="Pending"), "1")
    assert heard_of(a_working_pod(phase="Pending"), "2") == [["gpu-01"]]
    assert not heard_of(a_working_pod(phase="Running"), "3")
    assert heard_of(a_working_pod(phase="Failed"), "4") == [["gpu-01"]]
    with hearing() as heard, django_capture_on_commit_callbacks(execute=True):
        sweep(cluster, kind=PODS, listed=frozenset(), seen_at=NOON)
    assert heard == [None]


def test_a_pod_that_is_known_is_not_read_again(cluster: Cluster) -> None:
    see(cluster, a_working_pod("web"), a_working_pod("train", claim="train"))

    known = known_versions(cluster, kind=PODS)

    assert {key.name for key in known.versions} == {"web", "train"}
    distrust(cluster, kind=PODS)
    distrusted = known_versions(cluster, kind=PODS).versions.values()
    assert all(version.endswith("?") for _, version in distrusted)


def test_a_pod_that_is_mirrored_but_not_counted_is_read_again(cluster: Cluster) -> None:
    see(cluster, a_working_pod("train", claim="train"))
    PodUse.objects.all().delete()

    known = known_versions(cluster, kind=PODS)

    assert not known.versions
    assert known.names == {ObjectKey(NAMESPACE, "train")}


def test_a_row_that_says_something_else_than_its_pod_is_a_difference(cluster: Cluster) -> None:
    pods = [a_working_pod("web", cpu="1"), a_working_pod("other", cpu="1")]
    see(cluster, *pods)
    assert not [*use_differences(cluster, pods)]

    PodUse.objects.filter(name="web").update(cpu_milli=1)

    ((difference, truth),) = use_differences(cluster, pods)
    assert difference.subject == f"use of pods {NAMESPACE}/web"
    assert "1000" in truth


names = st.sampled_from(["a", "b", "c"])
pods = st.builds(
    a_working_pod,
    names,
    node=st.sampled_from([None, "gpu-01", "gpu-02"]),
    phase=st.sampled_from(["Pending", "Running", "Succeeded"]),
    claim=st.sampled_from([None, "train"]),
    cpu=st.sampled_from(["1", "2"]),
)


@settings(
    max_examples=30,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.lists(pods | names, max_size=4), max_size=4))
def test_whatever_comes_the_rows_are_those_of_the_pods_that_are_there(
    cluster: Cluster, batches: list[list[Any]]
) -> None:
    PodUse.objects.all().delete()
    Pod.objects.all().delete()
    there: dict[str, Any] = {}
    for version, batch in enumerate(batches):
        present = {
            each["metadata"]["name"]: at_version(each, str(version))
            for each in batch
            if not isinstance(each, str)
        }
        gone = {each for each in batch if isinstance(each, str)} - present.keys()
        see(cluster, *present.values(), gone=tuple(gone))
        there = {name: pod for name, pod in (there | present).items() if name not in gone}

    assert not [*use_differences(cluster, there.values())]
