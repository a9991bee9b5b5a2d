"""Prepare and unprepare claims so that a kill at any moment loses none.

Order of writes for one claim: the plan ("started"), the CDI file, the answer ("completed"). Only
the answer is ever given to kubelet. Until it is written, everything before it is rolled back at
the next start, and kubelet, which had no answer, asks again; once it is written, it is answered
again and again, whatever else was lost. Unpreparing runs the other way round (node-agent.md 2).
"""

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TypeAlias

import structlog

from nodeagent.cdi.errors import CdiError
from nodeagent.cdi.store import CLAIM_UID
from nodeagent.claims.allocation import AllocatedClaim
from nodeagent.claims.checkpoint import Checkpoint
from nodeagent.claims.entry import Entry, PlannedDevice, State
from nodeagent.claims.errors import ClaimsError
from nodeagent.claims.injection import Injection
from nodeagent.claims.ledger import Ledger
from nodeagent.claims.prepare import Conflict, Refusal, conflict_of, is_same_allocation, plan
from nodeagent.claims.reading import ClaimReader, ClaimReference, Read, Unavailable, read_claims
from nodeagent.devices.model import Inventory

log = structlog.get_logger()

Outcome: TypeAlias = tuple[PlannedDevice, ...] | Refusal


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """This driver's claims on this node. Safe between threads; the ledger's lock serialises."""

    ledger: Ledger
    injection: Injection
    reader: ClaimReader
    read_pool: ThreadPoolExecutor
    inventory: Callable[[], Inventory | None]
    """The node's devices as last discovered; `None` before the first discovery."""

    is_abandoned: Callable[[Entry], bool]
    """Whether a claim that stands in the way may be undone; asks the API server."""

    driver: str
    pool: str

    def prepare(self, references: Iterable[ClaimReference]) -> Mapping[str, Outcome]:
        """Prepare claims, each on its own; the answer has every UID that was asked for."""
        asked = tuple(references)
        asked_at = datetime.now(UTC)
        reads = read_claims(self.reader, asked, pool=self.read_pool)
        outcomes = {}
        for reference, read in zip(asked, reads, strict=True):
            outcome = self._prepare(reference, read, asked_at=asked_at)
            outcomes[reference.uid] = outcome
            if isinstance(outcome, Refusal):
                log.warning("claim refused", claim=reference.uid, reason=outcome.reason)
        return outcomes

    def unprepare(self, references: Iterable[ClaimReference]) -> Mapping[str, str | None]:
        """Undo claims, each on its own; the answer has every UID, with an error or `None`.

        A claim that was never prepared is done already. Nothing is asked of the API server: the
        claim may be gone.
        """
        return {reference.uid: self.undo(reference.uid) for reference in references}

    def undo(self, claim_uid: str) -> str | None:
        """Undo one claim; return why that cannot be done now, or `None`."""
        if not CLAIM_UID.fullmatch(claim_uid):
            return None
        try:
            with self.ledger.held() as checkpoint:
                self._undo(claim_uid, checkpoint)
        except (ClaimsError, OSError) as error:
            log.warning("claim not unprepared", claim=claim_uid, reason=str(error))
            return str(error)
        return None

    def _prepare(self, reference: ClaimReference, read: Read, *, asked_at: datetime) -> Outcome:
        if isinstance(read, Refusal):
            return read
        try:
            with self.ledger.held() as checkpoint:
                outcome = self._decide(reference, read, checkpoint, asked_at=asked_at)
            if isinstance(outcome, Conflict) and self.is_abandoned(outcome.holder):
                # The API server was asked about the holder without the lock.
                self.undo(outcome.holder.uid)
                with self.ledger.held() as checkpoint:
                    outcome = self._decide(reference, read, checkpoint, asked_at=asked_at)
        except (ClaimsError, CdiError, OSError) as error:
            return Refusal(str(error))
        if isinstance(outcome, Conflict):
            holder = outcome.holder
            return Refusal(
                f"device {outcome.device} is still prepared for claim {holder.label} ({holder.uid})"
            )
        return outcome

    def _decide(
        self,
        reference: ClaimReference,
        read: AllocatedClaim | Unavailable,
        checkpoint: Checkpoint,
        *,
        asked_at: datetime,
    ) -> Outcome | Conflict:
        entry = checkpoint.entries.get(reference.uid)
        inventory = self.inventory()
        if isinstance(read, Unavailable):
            return self._from_checkpoint(entry, inventory) or Refusal(read.reason)
        if inventory is None:
            unknown = Refusal("the GPUs of this node are not known yet; try again")
            return self._from_checkpoint(entry, inventory) or unknown
        planned = plan(read, inventory=inventory, driver=self.driver, pool=self.pool)
        if isinstance(planned, Refusal):
            return planned
        if entry is not None and entry.state is State.COMPLETED:
            if is_same_allocation(planned, entry.devices):
                return self._again(entry, planned, inventory)
            # Deallocated and allocated anew without us being told: the old devices are not its.
            self._undo(entry.uid, checkpoint)
        elif entry is not None and _is_too_late(entry, read, asked_at=asked_at):
            return Refusal("the claim was unprepared after this call began")
        others = self.ledger.entries.values()
        conflict = conflict_of(planned, claim_uid=read.uid, entries=others)
        return conflict or self._carry_out(read, planned, inventory)

    def _carry_out(
        self, claim: AllocatedClaim, planned: tuple[PlannedDevice, ...], inventory: Inventory
    ) -> tuple[PlannedDevice, ...]:
        if not planned:
            return ()
        entry = Entry(
            uid=claim.uid,
            namespace=claim.namespace,
            name=claim.name,
            state=State.STARTED,
            resource_version=claim.resource_version,
            changed_at=datetime.now(UTC),
            devices=planned,
        )
        self.ledger.put(entry)
        try:
            self.injection.ensure(claim.uid, planned, inventory=inventory)
        except (CdiError, OSError):
            self.injection.store.remove(claim.uid)
            self.ledger.drop(claim.uid)
            raise
        self.ledger.put(replace(entry, state=State.COMPLETED, changed_at=datetime.now(UTC)))
        names = [device.device for device in planned]
        log.info("claim prepared", claim=claim.uid, name=entry.label, devices=names)
        return planned

    def _from_checkpoint(
        self, entry: Entry | None, inventory: Inventory | None
    ) -> tuple[PlannedDevice, ...] | None:
        """Answer a claim that was completed, without knowing more than the checkpoint does."""
        if entry is None or entry.state is not State.COMPLETED:
            return None
        if inventory is not None:
            self.injection.ensure(entry.uid, entry.devices, inventory=inventory)
        return entry.devices

    def _again(
        self, entry: Entry, planned: tuple[PlannedDevice, ...], inventory: Inventory
    ) -> tuple[PlannedDevice, ...]:
        """Answer a completed claim again; its file must be there, whoever removed it."""
        self.injection.ensure(entry.uid, entry.devices, inventory=inventory)
        if all(device.requests for device in entry.devices):
            return entry.devices
        # Rebuilt from CDI names when the checkpoint was lost; the claim says the rest.
        self.ledger.put(replace(entry, devices=planned))
        return planned

    def _undo(self, claim_uid: str, checkpoint: Checkpoint) -> None:
        entry = checkpoint.entries.get(claim_uid)
        if entry is not None and entry.holds_devices:
            undoing = replace(entry, state=State.UNPREPARING, changed_at=datetime.now(UTC))
            self.ledger.put(undoing)
        try:
            self.injection.store.remove(claim_uid)
        except OSError as error:
            # The sweep removes it later; the device itself is free.
            log.warning("cdi file not removed", claim=claim_uid, reason=str(error))
        if entry is None or entry.state is not State.UNPREPARED:
            self.ledger.put(tombstone(claim_uid, entry))
        if entry is not None and entry.holds_devices:
            log.info("claim unprepared", claim=claim_uid, name=entry.label)


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


def _is_too_late(entry: Entry, claim: AllocatedClaim, *, asked_at: datetime) -> bool:
    """Tell whether a call that kubelet gave up long ago would bring back what was undone since."""
    if entry.state is not State.UNPREPARED:
        return False
    return asked_at <= entry.changed_at or claim.resource_version == entry.resource_version
