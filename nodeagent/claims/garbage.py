"""Undo what nobody will ever ask to be undone.

Kubelet may die between our answer and its own note of it, and a claim may vanish while the agent
is away; both leave entries and CDI files that no unprepare call will name (node-agent.md 2.9).
"""

from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

import structlog

from nodeagent.claims.abandoned import Abandonment
from nodeagent.claims.checkpoint import Checkpoint
from nodeagent.claims.entry import State
from nodeagent.claims.errors import ClaimsError
from nodeagent.claims.mps import claim_uid_of
from nodeagent.claims.preparer import Preparer

log = structlog.get_logger()

ENTRY_AGE: Final = timedelta(minutes=5)
FILE_AGE: Final = timedelta(hours=1)


def sweep(preparer: Preparer, *, abandonment: Abandonment, now: datetime) -> tuple[str, ...]:
    """Undo abandoned claims and remove orphaned files; return the UIDs that went."""
    gone = []
    for entry in preparer.ledger.entries.values():
        if entry.state is State.UNPREPARED or now - entry.changed_at < ENTRY_AGE:
            continue
        if abandonment.is_abandoned(entry):
            log.warning("abandoned claim undone", claim=entry.uid, name=entry.label)
            if preparer.undo(entry.uid) is None:
                abandonment.forget(entry.uid)
                gone.append(entry.uid)
    return (*gone, *_sweep_files(preparer, now=now))


def _sweep_files(preparer: Preparer, *, now: datetime) -> tuple[str, ...]:
    store = preparer.injection.store
    mps = preparer.execution.effects.mps
    describing = preparer.execution.describing
    gone = []
    try:
        # Prepare writes its entry before its file, so under the lock a file alone is an orphan.
        with preparer.ledger.held() as checkpoint:
            for claim_uid in list(store.claim_uids()):
                path = store.path_of(claim_uid)
                if _is_orphan(claim_uid, checkpoint) and _age(path, now=now) > FILE_AGE:
                    store.remove(claim_uid)
                    log.warning("orphaned cdi file removed", claim=claim_uid)
                    gone.append(claim_uid)
            for claim_uid in describing.files.claim_uids():
                if _is_orphan(claim_uid, checkpoint):
                    # Nobody was told its name: kubelet got the description with the devices.
                    describing.forget(claim_uid)
                    gone.append(claim_uid)
            for mps_id in mps.ids():
                claim_uid = claim_uid_of(mps_id)
                path = mps.directory / mps_id
                if _is_orphan(claim_uid, checkpoint) and _age(path, now=now) > FILE_AGE:
                    mps.stop(mps_id)
                    log.warning("orphaned mps daemon removed", mps=mps_id)
                    gone.append(claim_uid)
    except (ClaimsError, OSError) as error:
        log.warning("files not swept", reason=str(error))
    return tuple(dict.fromkeys(gone))


def _is_orphan(claim_uid: str, checkpoint: Checkpoint) -> bool:
    """Tell whether no entry speaks for a claim's files; one that cannot be read does."""
    entry = checkpoint.entries.get(claim_uid)
    holds = entry is not None and entry.holds_devices
    return not holds and claim_uid not in checkpoint.unreadable


def _age(path: Path, *, now: datetime) -> timedelta:
    return now - datetime.fromtimestamp(path.stat().st_mtime, tz=now.tzinfo)
