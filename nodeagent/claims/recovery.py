"""What a start makes of the checkpoint that it finds.

A corrupt file is set aside and replaced by the one before it, and by what else can be found out.
Whatever an earlier boot did is gone with that boot; whatever an earlier process left half done is
taken back. Nothing here keeps the agent from starting: kubelet cannot unprepare through a plugin
that is not there (node-agent.md 0.4, 2.6, 2.7).
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

import structlog

from nodeagent.claims.checkpoint import Checkpoint
from nodeagent.claims.entry import State
from nodeagent.claims.errors import CorruptCheckpointError
from nodeagent.claims.execution import Execution
from nodeagent.claims.rebuild import Node, with_adopted
from nodeagent.fields import JsonObject
from nodeagent.kube.errors import KubeError

log = structlog.get_logger()

WITHOUT_FILE: Final = frozenset({State.UNPREPARED, State.STALE_BOOT})
"""States in which no container may be given the devices, beside those that are settled."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What had to be done at this start."""

    corrupt_file: Path | None = None
    """Where an untrustworthy checkpoint is now."""

    rebuilt: tuple[str, ...] = ()
    """UIDs of claims that the checkpoint did not tell of."""


def recover(
    execution: Execution,
    *,
    claims: Callable[[], Iterable[JsonObject]],
    driver: str,
    pool: str,
    now: datetime,
) -> Recovered:
    """Bring the checkpoint to where a first call can build on it.

    `claims` reads all claims from the API server; it is called only if the checkpoint is lost.

    Raises:
        LockTimeoutError: another agent is at work on this directory.
        OSError: the directory cannot be used.

    """
    ledger = execution.ledger
    with ledger.held_unread():
        checkpoint, corrupt_file, is_lost = _loaded(execution, now=now)
        if checkpoint.is_read_only:
            log.error("checkpoint of a newer agent: no claim can be prepared or unprepared")
            return Recovered()
        known = frozenset(checkpoint.entries)
        store = execution.injection.store
        files = {claim_uid: store.device_names(claim_uid) for claim_uid in store.claim_uids()}
        if is_lost:
            node = Node(
                inventory=execution.inventory(),
                control=execution.effects.control,
                driver=driver,
                pool=pool,
            )
            checkpoint = with_adopted(checkpoint, files, _read(claims), node=node, now=now)
        rebuilt = tuple(sorted(frozenset(checkpoint.entries) - known))
        checkpoint = under_boot(checkpoint, boot_id=ledger.boot_id, now=now)
        ledger.replace(checkpoint)
        for claim_uid, entry in checkpoint.entries.items():
            if entry.state in WITHOUT_FILE:
                if claim_uid in files:
                    store.remove(claim_uid)
                _end_mps(execution, claim_uid)
        execution.settle_all()
        return Recovered(corrupt_file, rebuilt)


def under_boot(checkpoint: Checkpoint, *, boot_id: str, now: datetime) -> Checkpoint:
    """Mark what an earlier boot had prepared: the next prepare does the work again.

    A file without a boot id comes from before there was one, and counts as of this boot.
    """
    if checkpoint.boot_id in ("", boot_id):
        return replace(checkpoint, boot_id=boot_id)
    entries = {
        uid: replace(entry, state=State.STALE_BOOT, changed_at=now)
        if entry.holds_devices
        else entry
        for uid, entry in checkpoint.entries.items()
    }
    return replace(checkpoint, boot_id=boot_id, entries=MappingProxyType(entries))


def _loaded(execution: Execution, *, now: datetime) -> tuple[Checkpoint, Path | None, bool]:
    """Return the checkpoint to go on from, where a bad one is now, and whether it lacks claims."""
    ledger = execution.ledger
    is_lost = not ledger.exists
    try:
        return ledger.read(), None, is_lost
    except CorruptCheckpointError as error:
        corrupt_file = ledger.set_aside(at=now)
        log.warning("checkpoint corrupt", reason=str(error), set_aside=str(corrupt_file))
        return ledger.previous() or Checkpoint(boot_id=ledger.boot_id), corrupt_file, True


def _read(claims: Callable[[], Iterable[JsonObject]]) -> Iterable[JsonObject]:
    try:
        return claims()
    except KubeError as error:
        log.warning("claims not read, cdi files alone tell of them", reason=str(error))
        return ()


def _end_mps(execution: Execution, claim_uid: str) -> None:
    try:
        execution.effects.end_mps(claim_uid)
    except OSError as error:
        log.warning("mps directory not removed", claim=claim_uid, reason=str(error))
