"""What the agent says of its devices' health now, and a place where others wait for news of it.

One thread judges and puts reports here; the slices take its taints, kubelet's health stream its
statuses. A report that nobody renews is worth nothing: after `STALE_SECONDS` every device of it
counts as unknown, whatever it said, so that a judge that hangs never passes for good health.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from nodeagent.devices.taint import Taint

STALE_SECONDS: Final = 20.0
MESSAGE_CHARACTERS: Final = 300
"""Far below the 1021 bytes at which kubelet cuts; pods repeat it for each container."""


class Status(StrEnum):
    """Whether a device works; kubelet's health stream has the same three words."""

    HEALTHY = "Healthy"
    UNHEALTHY = "Unhealthy"
    UNKNOWN = "Unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceHealth:
    """One device, named as in the slices."""

    device: str
    status: Status
    message: str
    """Why, in printable ASCII, at most `MESSAGE_CHARACTERS`; empty: nothing to say."""

    since: datetime
    """When its status or message became so, in UTC."""

    taints: tuple[Taint, ...] = ()
    uuid: str | None = None
    """The identity that whoever published it knows, too; `None`: it does not exist yet."""

    def __post_init__(self) -> None:
        """Cut and clean the message: it goes into files and streams that take no more.

        The driver's own words may have any characters.
        """
        clean = "".join(one if " " <= one <= "~" else "?" for one in self.message)
        object.__setattr__(self, "message", clean[:MESSAGE_CHARACTERS])


@dataclass(frozen=True, slots=True)
class HealthReport:
    """All devices of the node, in the order of the slices."""

    devices: tuple[DeviceHealth, ...] = ()
    number: int = 0
    """Grows with each report that says something else than the one before."""

    @property
    def taints(self) -> Mapping[str, tuple[Taint, ...]]:
        """Taints by device name, for the publisher; devices without any are left out."""
        return {one.device: one.taints for one in self.devices if one.taints}

    def find(self, device: str) -> DeviceHealth | None:
        """Return what it says of one device."""
        return next((one for one in self.devices if one.device == device), None)


class Reports:
    """The newest report. Safe between threads."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._changed = threading.Condition()
        self._report = HealthReport()
        self._renewed_at: float | None = None
        self._is_closed = False

    def put(self, devices: tuple[DeviceHealth, ...]) -> None:
        """Take what was just judged; the same again renews what is there."""
        with self._changed:
            self._renewed_at = self._monotonic()
            if devices != self._report.devices:
                self._next(devices)

    def current(self) -> HealthReport:
        """Return the newest report, number 0 and without devices before the first one."""
        with self._changed:
            self._expire()
            return self._report

    def wait(self, after: int, seconds: float) -> HealthReport:
        """Wait until there is a report with a higher number than `after`, or for that long.

        Return the newest one in either case; at once, and always, after `close`.
        """
        until = self._monotonic() + seconds
        with self._changed:
            while True:
                self._expire()
                left = until - self._monotonic()
                if self._report.number > after or self._is_closed or left <= 0:
                    return self._report
                self._changed.wait(min(left, self._seconds_to_expiry()))

    def wake(self) -> None:
        """Have every waiting thread look again."""
        with self._changed:
            self._changed.notify_all()

    def close(self) -> None:
        """Let nobody wait any more: the agent ends."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()

    @property
    def is_closed(self) -> bool:
        """Whether the agent ends."""
        return self._is_closed

    def _seconds_to_expiry(self) -> float:
        if self._renewed_at is None:
            return STALE_SECONDS
        return max(0.01, self._renewed_at + STALE_SECONDS - self._monotonic())

    def _expire(self) -> None:
        if self._renewed_at is None or self._monotonic() - self._renewed_at < STALE_SECONDS:
            return
        now = datetime.now(UTC)
        stale = f"not looked at for {STALE_SECONDS:g} s"
        expired = tuple(
            one
            if one.status is Status.UNKNOWN
            else replace(one, status=Status.UNKNOWN, message=stale, since=now)
            for one in self._report.devices
        )
        self._renewed_at = None
        if expired != self._report.devices:
            self._next(expired)

    def _next(self, devices: tuple[DeviceHealth, ...]) -> None:
        self._report = HealthReport(devices, self._report.number + 1)
        self._changed.notify_all()
