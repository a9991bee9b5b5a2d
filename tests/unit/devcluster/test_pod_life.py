"""How simulated containers run and pods end, in virtual time."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.container_runs import run_seconds
from dra_console.devcluster.container_status import Running, Terminated, Waiting
from dra_console.devcluster.pod_end import ending
from dra_console.devcluster.pod_progress import Progress, progress
from dra_console.devcluster.pod_status import PodStatus, phase_of
from dra_console.devcluster.pods import Pod
from dra_console.devcluster.workqueue import BackOff
from tests.builders.objects import a_pod

START = datetime(2026, 11, 29, 20, 0, tzinfo=UTC)
BACK_OFF = BackOff(first_seconds=10, most_seconds=300)


def after(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def a_container(name: str = "main", *command: str, **fields: Json) -> JsonObject:
    return {
        "name": name,
        "image": "registry.k8s.io/pause:3.10",
        **({"args": [*command]} if command else {}),
        **fields,
    }


def pod_of(*containers: JsonObject, init: list[JsonObject] | None = None, **spec: Json) -> Pod:
    stored = a_pod(node="gpu-01")
    assert isinstance(stored["spec"], dict)
    stored["spec"] |= {"containers": [*containers], "initContainers": [*(init or [])], **spec}
    return Pod.read(stored)


def fresh(pod: Pod) -> PodStatus:
    return PodStatus.read({}, pod=pod, now=START)


def run(pod: Pod, status: PodStatus, *, at: datetime) -> Progress:
    """Start whatever may start, as a runtime does that refuses nothing."""
    step = progress(pod, status, now=at, back_off=BACK_OFF)
    while step.startable:
        status = step.status
        for container in step.startable:
            status = status.with_container(status.of(container.name).started(now=at))
        step = progress(pod, status, now=at, back_off=BACK_OFF)
    return step


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        (("sleep", "45"), 45),
        (("/bin/sleep", "1.5m"), 90),
        (("sh", "-c", "sleep 2h"), 7200),
        (("sleep", "infinity"), None),
        (("sleep",), None),
        (("python", "train.py"), None),
        (("sh", "-c", "sleep 5; echo 'open"), None),
    ],
)
def test_only_sleep_ends_by_itself(command: tuple[str, ...], seconds: float | None) -> None:
    pod = pod_of(a_container("main", *command))

    assert run_seconds(pod.containers[0]) == seconds


def test_a_container_without_sleep_runs_until_it_is_stopped() -> None:
    pod = pod_of(a_container())

    step = run(pod, fresh(pod), at=START)

    assert step.status.of("main").state == Running(START)
    assert step.next_at is None


def test_a_pod_that_is_never_restarted_succeeds_when_sleep_ends() -> None:
    pod = pod_of(a_container("main", "sleep", "45"), restartPolicy="Never")
    step = run(pod, fresh(pod), at=START)
    assert step.next_at == after(45)

    step = run(pod, step.status, at=after(46))

    assert step.status.of("main").state == Terminated(0, "Completed", START, after(45))
    assert phase_of(pod, step.status) == "Succeeded"


def test_a_container_is_restarted_at_once_and_then_with_back_off() -> None:
    pod = pod_of(a_container("main", "sleep", "5"), restartPolicy="Always")
    step = run(pod, fresh(pod), at=START)

    step = run(pod, step.status, at=after(5))
    assert step.status.of("main").restart_count == 1
    assert step.status.of("main").state == Running(after(5))

    step = run(pod, step.status, at=after(10))
    assert isinstance(step.status.of("main").state, Terminated)
    assert step.next_at == after(20)
    assert phase_of(pod, step.status) == "Running"

    step = run(pod, step.status, at=after(20))
    assert step.status.of("main").restart_count == 2


def test_a_container_that_ended_well_is_not_restarted_on_failure() -> None:
    pod = pod_of(a_container("main", "sleep", "5"), restartPolicy="OnFailure")
    step = run(pod, fresh(pod), at=START)

    step = run(pod, step.status, at=after(5))

    assert phase_of(pod, step.status) == "Succeeded"


def test_containers_wait_for_init_containers_one_after_another() -> None:
    pod = pod_of(
        a_container(), init=[a_container("one", "sleep", "3"), a_container("two", "sleep", "4")]
    )
    step = run(pod, fresh(pod), at=START)
    assert step.status.of("one").state == Running(START)
    assert step.status.of("two").state == Waiting("PodInitializing")

    step = run(pod, step.status, at=after(3))
    assert step.status.of("two").state == Running(after(3))
    assert isinstance(step.status.of("main").state, Waiting)
    assert phase_of(pod, step.status) == "Pending"

    step = run(pod, step.status, at=after(7))
    assert step.status.of("main").state == Running(after(7))
    assert phase_of(pod, step.status) == "Running"


def test_an_init_container_without_sleep_is_done_at_once() -> None:
    pod = pod_of(a_container(), init=[a_container("prepare")])

    step = run(pod, fresh(pod), at=START)

    assert step.status.of("main").state == Running(START)


def test_a_sidecar_runs_beside_the_containers() -> None:
    pod = pod_of(
        a_container("main", "sleep", "5"),
        init=[a_container("proxy", restartPolicy="Always")],
        restartPolicy="Never",
    )
    step = run(pod, fresh(pod), at=START)
    assert step.status.of("proxy").state == Running(START)
    assert step.status.of("main").state == Running(START)

    step = run(pod, step.status, at=after(5))

    assert phase_of(pod, step.status) == "Succeeded"


def test_a_pod_goes_on_while_nothing_ends_it() -> None:
    pod = pod_of(a_container())

    assert ending(pod, run(pod, fresh(pod), at=START).status, now=after(3600)) is None


def test_a_deadline_fails_the_pod_with_its_reason() -> None:
    pod = pod_of(a_container(), activeDeadlineSeconds=60)
    status = run(pod, fresh(pod), at=START).status
    assert ending(pod, status, now=after(59)) is None

    end = ending(pod, status, now=after(60))

    assert end is not None
    assert (end.phase, end.reason) == ("Failed", "DeadlineExceeded")
    assert end.is_stopped


@pytest.mark.parametrize(
    ("command", "phase", "exit_code"), [((), "Succeeded", 0), (("sleep", "99"), "Failed", 143)]
)
def test_a_deleted_pod_ends_as_its_containers_take_the_signal(
    command: tuple[str, ...], phase: str, exit_code: int
) -> None:
    pod = pod_of(a_container("main", *command))
    status = run(pod, fresh(pod), at=START).status

    end = ending(replace(pod, is_deleting=True), status, now=after(5))

    assert end is not None
    assert end.phase == phase
    state = end.of("main").state
    assert isinstance(state, Terminated)
    assert state.exit_code == exit_code


def test_a_deleted_pod_that_never_ran_has_failed() -> None:
    pod = replace(pod_of(a_container()), is_deleting=True)

    end = ending(pod, fresh(pod), now=START)

    assert end is not None
    assert end.phase == "Failed"


def test_a_status_is_taken_up_again_after_a_restart() -> None:
    pod = pod_of(a_container("main", "sleep", "5"), restartPolicy="Always")
    status = run(pod, run(pod, fresh(pod), at=START).status, at=after(5)).status
    stored: JsonObject = {
        "status": {
            "startTime": "2026-11-29T20:00:00Z",
            "containerStatuses": [one.to_json() for one in status.containers],
        }
    }

    again = PodStatus.read(stored, pod=pod, now=after(100))

    assert again == status
