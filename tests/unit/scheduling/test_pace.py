"""Work that can wait leaves room for what cannot."""

import time

import pytest

from dra_console.scheduling.pace import Pace


class Clock:
    """Time of the processor and of the wall, which a test lets pass."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.worked = self.now = 0.0
        self.rests: list[float] = []
        monkeypatch.setattr(time, "thread_time", lambda: self.worked)
        monkeypatch.setattr(time, "monotonic", lambda: self.now)
        monkeypatch.setattr(time, "sleep", self.sleep)

    def work(self, seconds: float) -> None:
        self.worked += seconds
        self.now += seconds

    def sleep(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds


def test_whoever_worked_for_a_while_rests_for_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    pace = Pace()

    for _ in range(2):
        clock.work(0.03)
        pace.rest()
        pace.rest()

    assert clock.rests == pytest.approx([0.03, 0.03])
    assert pace.rested_seconds == pytest.approx(0.06)


def test_small_steps_are_taken_together(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    pace = Pace()

    for _ in range(10):
        clock.work(0.004)
        pace.rest()

    assert clock.rests == pytest.approx([0.012] * 3)
