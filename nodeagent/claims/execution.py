"""Carry a plan out, and take it back, so that a kill at any moment loses nothing.

Order of writes for one claim: the plan ("started"), the hardware step by step, the CDI file, the
answer ("completed"). Only the answer is ever given to kubelet. Until it is written, everything
before it is rolled back by whoever finds it, and kubelet, which had no answer, asks again; once it
is written, it is answered again and again, whatever else was lost. Undoing runs the other way
round: the intention ("unpreparing"), the file, the hardware, a tombstone (node-agent.md 2.3, 2.9).

Everything here is called under the node's lock.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

import structlog

from nodeagent.cdi.errors import CdiError
from nodeagent.claims import partitions
from nodeagent.claims.allocation import AllocatedClaim
from nodeagent.claims.describing import Describing
from nodeagent.claims.effects import Effects, heirs_of
from nodeagent.claims.entry import UNSETTLED, Entry, PlannedDevice, State
from nodeagent.claims.errors import ClaimsError, NewerCheckpointError
from nodeagent.claims.injection import Injection
from nodeagent.claims.ledger import Ledger
from nodeagent.devices.errors import DevicesError, DriverTimeoutError
from nodeagent.devices.model import Inventory

log = structlog.get_logger()

EXPECTED: Final = (ClaimsError, CdiError, DevicesError, OSError)
"""What may keep a claim from being prepared or undone now; the caller reports it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Execution:
    """Changes hardware, files and checkpoint for one claim at a time."""

    ledger: Ledger
    injection: Injection
    describing: Describing
    effects: Effects
    inventory: Callable[[], Inventory | None]

    def carry_out(
        self, claim: AllocatedClaim, planned: tuple[PlannedDevice, ...], inventory: Inventory
    ) -> tuple[PlannedDevice, ...]:
        """Prepare a claim for which nothing is done yet.

        Raises:
            ClaimsError, CdiError, DevicesError, OSError: it could not be done; what was begun
                is taken back, or stands in the checkpoint to be taken back.

        """
        if not planned:
            return ()
        entry = Entry(
            uid=claim.uid,
            namespace=claim.namespace,
            name=claim.name,
            state=State.STARTED,
            resource_version=claim.resource_version,
            changed_at=datetime.now(UTC),
            devices=partitions.looked_up(planned, self.effects.control),
        )
        self.ledger.put(entry)
        try:
            entry = self.effects.apply(entry, record=self.ledger.put)
            self._inject(entry, inventory)
            self.describing.describe(claim, entry.devices, inventory)
            self.ledger.put(replace(entry, state=State.COMPLETED, changed_at=datetime.now(UTC)))
        except EXPECTED as error:
            self._roll_back(entry, error)
            raise
        names = [device.device for device in entry.devices]
        log.info("claim prepared", claim=claim.uid, name=entry.label, devices=names)
        return entry.devices

    def repeat(self, entry: Entry, inventory: Inventory | None) -> bool:
        """Make sure that a completed claim is served; tell whether its file had to be written.

        What the driver cannot say now does not keep a claim that is prepared from being answered.

        Raises:
            DeviceLostError: a device is gone.
            MpsError, CdiError: a device cannot be handed out now.
            OSError: the directory cannot be written.

        """
        try:
            self.effects.insist_on(entry)
        except DevicesError as error:
            log.warning("prepared claim not verified", claim=entry.uid, reason=str(error))
        return inventory is not None and self._inject(entry, inventory)

    def undo(self, claim_uid: str) -> None:
        """Undo a claim in whatever state it is, and leave a tombstone.

        Raises:
            ClaimsError, DevicesError, OSError: it cannot be undone now; asking again goes on.

        """
        checkpoint = self.ledger.read()
        if checkpoint.is_read_only:
            raise NewerCheckpointError("a newer agent wrote the checkpoint: only it may change it")
        entry = checkpoint.speaking.get(claim_uid)
        if entry is not None and entry.holds_devices:
            entry = replace(entry, state=State.UNPREPARING, changed_at=datetime.now(UTC))
            self.ledger.put(entry)
        try:
            self.injection.store.remove(claim_uid)
        except OSError as error:
            # The sweep removes it later; the device itself is free.
            log.warning("cdi file not removed", claim=claim_uid, reason=str(error))
        self.describing.forget(claim_uid)
        self._undo_effects(claim_uid, entry)
        if entry is None or entry.state is not State.UNPREPARED:
            self.ledger.put(tombstone(claim_uid, entry))
        if entry is not None and entry.holds_devices:
            log.info("claim unprepared", claim=claim_uid, name=entry.label)

    def settle(self, entry: Entry) -> None:
        """Take back what somebody began who is not there any more.

        Nobody had an answer for a claim that was begun, so kubelet asks again.

        Raises:
            ClaimsError, DevicesError, OSError: that is not possible now; the entry stays.

        """
        if entry.state is State.UNPREPARING:
            self.undo(entry.uid)
        elif entry.state is State.STARTED:
            self.injection.store.remove(entry.uid)
            self.describing.forget(entry.uid)
            self._undo_effects(entry.uid, entry)
            self.ledger.drop(entry.uid)

    def settle_all(self) -> None:
        """Settle every claim that was left half done, as far as that goes now."""
        for entry in tuple(self.ledger.read().entries.values()):
            if entry.state not in UNSETTLED:
                continue
            try:
                self.settle(entry)
            except EXPECTED as error:
                log.warning("claim left half done", claim=entry.uid, reason=str(error))

    def _inject(self, entry: Entry, inventory: Inventory) -> bool:
        return self.injection.ensure(
            entry.uid,
            entry.devices,
            inventory=inventory,
            extra=self.effects.edits_for(entry.uid, entry.devices),
        )

    def _undo_effects(self, claim_uid: str, entry: Entry | None) -> None:
        if entry is None or not entry.holds_devices:
            self.effects.end_mps(claim_uid)
            return
        others = self.ledger.read().speaking.values()
        try:
            for heir in heirs_of(entry, others):
                self.ledger.put(heir)
            self.effects.undo(entry, others=others, inventory=self.inventory())
        except EXPECTED as error:
            with suppress(OSError):
                self.ledger.put(replace(entry, error=str(error)))
            raise

    def _roll_back(self, entry: Entry, error: Exception) -> None:
        """Undo what was begun; `entry` may lack the last step, which its places make up for."""
        try:
            self.injection.store.remove(entry.uid)
            self.describing.forget(entry.uid)
            self._undo_effects(entry.uid, entry)
            if isinstance(error, DriverTimeoutError):
                # It may still happen: the place is looked at again before anybody gets it.
                self.ledger.put(replace(entry, error=str(error)))
            else:
                self.ledger.drop(entry.uid)
        except EXPECTED as second:
            log.warning("claim not rolled back", claim=entry.uid, reason=str(second))


def tombstone(claim_uid: str, entry: Entry | None) -> Entry:
    """Return what stays of a claim that was undone now."""
    return Entry(
        uid=claim_uid,
        namespace=entry.namespace if entry else "",
        name=entry.name if entry else "",
        state=State.UNPREPARED,
        resource_version=entry.resource_version if entry else "",
        changed_at=datetime.now(UTC),
    )
