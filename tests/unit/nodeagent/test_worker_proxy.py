import pytest

from nodeagent.devices.errors import BusyError, DevicesError, NoDriverError
from nodeagent.devices.worker import proxy
from nodeagent.devices.worker.messages import Answer
from nodeagent.devices.worker.proxy import WorkerGpus


def answering(error: tuple[str, str]) -> type:
    class Worker:
        """A worker whose every call ends in one error."""

        is_alive = True

        def __init__(self, *_arguments: object, **_options: object) -> None:
            pass

        def silent_seconds(self) -> float:
            return 0.0

        def ask(self, *_arguments: object, seconds: float) -> Answer:
            assert seconds > 0
            return Answer(1, error=error)

    return Worker


def test_what_nobody_thought_of_is_no_driver_for_now_and_does_not_end_the_agent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(proxy, "WorkerProcess", answering(("KeyError", "'GPU-1'")))
    gpus = WorkerGpus()

    with pytest.raises(NoDriverError, match="KeyError: 'GPU-1'"):
        gpus.discover()
    with pytest.raises(NoDriverError):
        gpus.read()
    with pytest.raises(DevicesError, match="KeyError"):
        gpus.instances("GPU-1")
    assert gpus.vitals() == ()


def test_an_error_of_the_worker_is_raised_as_its_own_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proxy, "WorkerProcess", answering(("BusyError", "in use")))

    with pytest.raises(BusyError, match="in use"):
        WorkerGpus().instances("GPU-1")
