"""Prepare and unprepare claims as kubelet asks for them: each on its own, and always in time.

What is decided here is whether a claim may be prepared now; how that is done, stands in
`execution` (node-agent.md 2.2, 2.3).
"""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Final, TypeAlias

import structlog

from nodeagent.cdi.store import CLAIM_UID
from nodeagent.claims.allocation import AllocatedClaim
from nodeagent.claims.capacity import excess_of
from nodeagent.claims.checkpoint import Checkpoint
from nodeagent.claims.entry import UNSETTLED, Entry, PlannedDevice, State
from nodeagent.claims.execution import EXPECTED, Execution
from nodeagent.claims.injection import Injection
from nodeagent.claims.jobs import Jobs
from nodeagent.claims.ledger import Ledger
from nodeagent.claims.metrics import REFUSALS, count_call
from nodeagent.claims.prepare import (
    Conflict,
    Refusal,
    conflict_of,
    is_same_allocation,
    other_interval,
    plan,
    with_identities,
)
from nodeagent.claims.reading import ClaimReader, ClaimReference, Read, Unavailable, read_claims
from nodeagent.claims.sharing import Strategy
from nodeagent.devices.model import Inventory

log = structlog.get_logger()

Outcome: TypeAlias = tuple[PlannedDevice, ...] | Refusal

LATE: Final = "still at work on this claim: ask again"
FRESH: Final = timedelta(seconds=5)
"""How old a claim may be when its turn comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparer:
    """This driver's claims on this node. Safe between threads; the ledger's lock serialises."""

    execution: Execution
    reader: ClaimReader
    read_pool: ThreadPoolExecutor
    is_abandoned: Callable[[Entry], bool]
    """Whether a claim that stands in the way may be undone; asks the API server."""

    driver: str
    pool: str
    offered: frozenset[Strategy] = frozenset()
    """The ways of sharing whose feature gates are on."""

    preparing: Jobs[Outcome] = field(default_factory=lambda: Jobs("prepare"))
    unpreparing: Jobs[str | None] = field(default_factory=lambda: Jobs("unprepare"))

    @property
    def ledger(self) -> Ledger:
        """The node's checkpoint."""
        return self.execution.ledger

    @property
    def injection(self) -> Injection:
        """How devices get into containers."""
        return self.execution.injection

    def inventory(self) -> Inventory | None:
        """Return the node's devices as last discovered; `None` before the first discovery."""
        return self.execution.inventory()

    def prepare(self, references: Iterable[ClaimReference]) -> Mapping[str, Outcome]:
        """Prepare claims, each on its own; the answer has every UID that was asked for."""
        asked = {reference.uid: reference for reference in references}
        asked_at = datetime.now(UTC)

        def begin(claim_uids: Sequence[str]) -> Mapping[str, Callable[[], Outcome]]:
            new = [asked[claim_uid] for claim_uid in claim_uids]
            reads = read_claims(self.reader, new, pool=self.read_pool)
            return {
                reference.uid: partial(self._prepare, reference, read, asked_at=asked_at)
                for reference, read in zip(new, reads, strict=True)
            }

        return self.preparing.run(tuple(asked), begin, late=lambda: Refusal(LATE))

    def cdi_ids(self, claim_uid: str, devices: Sequence[PlannedDevice]) -> list[list[str]]:
        """Return what kubelet has to hand to the runtime for each device, its own id first."""
        return self.execution.describing.cdi_ids(claim_uid, devices)

    def unprepare(self, references: Iterable[ClaimReference]) -> Mapping[str, str | None]:
        """Undo claims, each on its own; the answer has every UID, with an error or `None`.

        A claim that was never prepared is done already. Nothing is asked of the API server: the
        claim may be gone.
        """
        return self.unpreparing.run(
            tuple(dict.fromkeys(reference.uid for reference in references)),
            lambda claim_uids: {
                claim_uid: partial(self.undo, claim_uid) for claim_uid in claim_uids
            },
            late=lambda: LATE,
        )

    def undo(self, claim_uid: str) -> str | None:
        """Undo one claim; return why that cannot be done now, or `None`."""
        if not CLAIM_UID.fullmatch(claim_uid):
            return None
        began = time.monotonic()
        refusal = None
        try:
            with self.ledger.held():
                self.execution.undo(claim_uid)
        except EXPECTED as error:
            log.warning("claim not unprepared", claim=claim_uid, reason=str(error))
            refusal = str(error)
        count_call("unprepare", began=began, is_done=refusal is None)
        return refusal

    def _prepare(self, reference: ClaimReference, read: Read, *, asked_at: datetime) -> Outcome:
        began = time.monotonic()
        if datetime.now(UTC) - asked_at > FRESH:
            # It waited behind others: the claim may have been taken back since it was read.
            (read,) = read_claims(self.reader, [reference], pool=self.read_pool)
        outcome = self._outcome(reference, read, asked_at=asked_at)
        count_call("prepare", began=began, is_done=not isinstance(outcome, Refusal))
        if isinstance(outcome, Refusal):
            REFUSALS.inc()
            log.warning("claim refused", claim=reference.uid, reason=outcome.reason)
        return outcome

    def _outcome(self, reference: ClaimReference, read: Read, *, asked_at: datetime) -> Outcome:
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
        except EXPECTED as error:
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
        if entry is not None and _is_too_late(entry, read, asked_at=asked_at):
            return Refusal("the claim was unprepared after this call began")
        own = [result for result in read.results if result.driver == self.driver]
        is_completed = entry is not None and entry.state is State.COMPLETED
        if entry is not None and is_completed and is_same_allocation(own, entry.devices):
            return self._again(read, entry, inventory)
        planned = self._planned(read, inventory)
        if isinstance(planned, Refusal):
            return planned
        if entry is not None and is_completed:
            # Deallocated and allocated anew without us being told: the old devices are not its.
            self.execution.undo(entry.uid)
        elif entry is not None and entry.state in UNSETTLED:
            self.execution.settle(entry)
        elif reference.uid in checkpoint.unreadable:
            self.execution.undo(reference.uid)
        obstacle = self._obstacle(read.uid, planned, inventory)
        return obstacle or self.execution.carry_out(read, planned, inventory)

    def _obstacle(
        self, claim_uid: str, planned: tuple[PlannedDevice, ...], inventory: Inventory
    ) -> Conflict | Refusal | None:
        entries = tuple(self.ledger.read().speaking.values())
        conflict = conflict_of(planned, claim_uid=claim_uid, entries=entries)
        if conflict is not None:
            return conflict
        excess = excess_of(
            planned, claim_uid=claim_uid, driver=self.driver, entries=entries, inventory=inventory
        )
        if excess is not None:
            log.error("shares exceed a device", claim=claim_uid, reason=excess)
            return Refusal(excess)
        return other_interval(planned, claim_uid=claim_uid, entries=entries)

    def _from_checkpoint(
        self, entry: Entry | None, inventory: Inventory | None
    ) -> tuple[PlannedDevice, ...] | None:
        """Answer a claim that was completed, without knowing more than the checkpoint does."""
        if entry is None or entry.state is not State.COMPLETED:
            return None
        self.execution.repeat(entry, inventory)
        return entry.devices

    def _again(
        self, claim: AllocatedClaim, entry: Entry, inventory: Inventory
    ) -> tuple[PlannedDevice, ...]:
        """Answer a completed claim again; its files must be there, whoever removed them.

        It was right when it was prepared: what a feature gate says by now does not matter.
        """
        self.execution.repeat(entry, inventory)
        self.execution.describing.describe(claim, entry.devices, inventory)
        if all(device.requests for device in entry.devices):
            return entry.devices
        # Rebuilt from CDI names when the checkpoint was lost; the claim says the rest.
        planned = self._planned(claim, inventory)
        if isinstance(planned, Refusal):
            return entry.devices
        known = with_identities(planned, entry.devices)
        self.ledger.put(replace(entry, devices=known))
        return known

    def _planned(
        self, claim: AllocatedClaim, inventory: Inventory
    ) -> tuple[PlannedDevice, ...] | Refusal:
        return plan(
            claim, inventory=inventory, driver=self.driver, pool=self.pool, offered=self.offered
        )


def _is_too_late(entry: Entry, claim: AllocatedClaim, *, asked_at: datetime) -> bool:
    """Tell whether a call that kubelet gave up long ago would bring back what was undone since."""
    if entry.state is not State.UNPREPARED:
        return False
    return asked_at <= entry.changed_at or claim.resource_version == entry.resource_version
