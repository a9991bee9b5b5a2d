"""The agent's slow chores: CDI files, at once if one is removed, and abandoned claims."""

import random
import threading
import time
from datetime import UTC, datetime
from typing import Final

import structlog

from nodeagent.cdi.watch import MissingFiles
from nodeagent.claims.abandoned import Abandonment
from nodeagent.claims.entry import State
from nodeagent.claims.garbage import sweep
from nodeagent.claims.preparer import Preparer
from nodeagent.claims.repair import repair_claims
from nodeagent.devices.model import Inventory

log = structlog.get_logger()

LOOK_SECONDS: Final = 1
"""How soon a CDI file that somebody removed is noticed."""

REPAIR_SECONDS: Final = 60
SWEEP_SECONDS: Final = 600


class Keeper:
    """Does the chores of one agent on a thread of their own."""

    def __init__(self, preparer: Preparer, *, abandonment: Abandonment) -> None:
        self._preparer = preparer
        self._abandonment = abandonment
        self._missing = MissingFiles(preparer.injection.store)
        self._stopping = threading.Event()

    def run(self) -> None:
        """Look after things until stopped; the first sweep comes at once."""
        sweep_due = time.monotonic()
        while True:
            if time.monotonic() >= sweep_due:
                sweep(self._preparer, abandonment=self._abandonment, now=datetime.now(UTC))
                # Nodes that started together must not ask the API server together.
                jitter = random.uniform(0.9, 1.1)  # noqa: S311 - jitter, not a secret
                sweep_due = time.monotonic() + SWEEP_SECONDS * jitter
            if not self._wait():
                return
            self.repair(self._preparer.inventory())

    def _wait(self) -> bool:
        """Wait for the next repair, cut short by a missing file; tell whether to go on."""
        due = time.monotonic() + REPAIR_SECONDS
        while time.monotonic() < due:
            if self._stopping.wait(LOOK_SECONDS):
                return False
            self._preparer.ledger.look_again()
            entries = self._preparer.ledger.entries
            completed = [uid for uid, one in entries.items() if one.state is State.COMPLETED]
            lost = self._missing.look(completed)
            if lost:
                log.warning("cdi files are gone", claims=lost)
                break
        return True

    def repair(self, inventory: Inventory | None) -> None:
        """Put every completed claim's CDI files right, as far as the devices are known."""
        # Without a driver nothing can be said about a device, least of all that it is gone.
        if inventory is not None and inventory.devices:
            repair_claims(self._preparer.execution, inventory=inventory)
        repaired = self._preparer.execution.describing.files.repair()
        if repaired:
            log.warning("cdi files of device metadata written again", claims=repaired)

    def stop(self) -> None:
        """End the thread at its next turn."""
        self._stopping.set()
