"""The thread that looks, now and then, at who really uses the node's devices."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

import structlog

from nodeagent.claims.entry import Entry
from nodeagent.devices.errors import DevicesError
from nodeagent.devices.gpu_process import ProcessLister
from nodeagent.usage.accounting import Accounting
from nodeagent.usage.claim_pods import ClaimPods, ClaimReader
from nodeagent.usage.containers import Containers

log = structlog.get_logger()

LOOK_SECONDS: Final = 30.0
"""Processes are listed by one slow call a device (node-agent.md 6.1)."""


@dataclass(slots=True)
class UsageWatch:
    """Looks at processes and containers until it is stopped."""

    accounting: Accounting
    containers: Containers
    look_seconds: float = LOOK_SECONDS
    _stopping: threading.Event = field(default_factory=threading.Event, init=False)

    @classmethod
    def of(
        cls,
        lister: ProcessLister,
        *,
        reader: ClaimReader,
        entries: Callable[[], Mapping[str, Entry]],
        file_of: Callable[[str], Path],
    ) -> Self:
        """Make it for this host; `file_of` names a claim's CDI file by the claim's UID."""
        pods = ClaimPods(reader)
        return cls(Accounting(lister, entries, pods), Containers(entries, file_of, pods))

    def run(self) -> None:
        """Look until stopped. Runs in a thread of its own."""
        while not self._stopping.wait(self.look_seconds):
            self.turn()

    def turn(self) -> None:
        """Look once."""
        self.accounting.pods.keep_only(frozenset(self.accounting.entries()))
        self.containers.look()
        try:
            self.accounting.look()
        except DevicesError as error:
            # The sampler says so; there is nothing to add.
            log.debug("processes not listed", reason=str(error))

    def stop(self) -> None:
        """End the thread at its next turn."""
        self._stopping.set()
