"""Memory that is free after a large job is asked back from the C library."""

import pytest

from dra_console import returned_memory as module
from dra_console.returned_memory import returned_memory


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    found: list[str] = []

    def trim(kept_bytes: int) -> int:
        found.append(f"returned all but {kept_bytes}")
        return 1

    monkeypatch.setattr(module, "_trim", trim)
    return found


def test_it_is_given_back_once_the_job_is_done(steps: list[str]) -> None:
    with returned_memory():
        steps.append("job")

    assert steps == ["job", "returned all but 0"]


def test_it_is_given_back_after_a_job_that_fails_too(steps: list[str]) -> None:
    with pytest.raises(ValueError, match="job"), returned_memory():
        raise ValueError("job")

    assert steps == ["returned all but 0"]


def test_a_library_that_cannot_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_trim", None)

    with returned_memory():
        done = True

    assert done


def test_this_machines_library_takes_the_call() -> None:
    with returned_memory():
        pass
