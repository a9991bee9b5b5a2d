"""Keep every completed claim served: its CDI file in place and true, its MPS daemon alive.

The runtime's directory is a tmpfs on most nodes, and people clean it. Without the file a
container that restarts fails for ever, and kubelet does not ask us again (node-agent.md 3.7).
What somebody left half done is taken back here, too, when it could not be at the start.
"""

from dataclasses import replace

import structlog

from nodeagent.cdi.errors import CdiError
from nodeagent.claims.entry import Entry, State
from nodeagent.claims.errors import ClaimsError, DeviceLostError, MpsError
from nodeagent.claims.execution import Execution
from nodeagent.devices.model import Inventory

log = structlog.get_logger()


def repair_claims(execution: Execution, *, inventory: Inventory) -> tuple[str, ...]:
    """Write again what is missing or stale; return the UIDs of the claims concerned.

    A claim whose device is gone loses its file: a container must not start on other hardware.
    Nothing else about it changes, and unpreparing it works as ever.
    """
    try:
        with execution.ledger.held():
            execution.settle_all()
        return tuple(
            claim_uid
            for claim_uid in tuple(execution.ledger.entries)
            if _repair(claim_uid, execution, inventory)
        )
    except (ClaimsError, OSError) as error:
        log.warning("claims not checked", reason=str(error))
        return ()


def _repair(claim_uid: str, execution: Execution, inventory: Inventory) -> bool:
    """Look at one claim, and let others at the lock before the next."""
    with execution.ledger.held() as checkpoint:
        entry = checkpoint.entries.get(claim_uid)
        if entry is None or entry.state is not State.COMPLETED:
            return False
        try:
            is_written = execution.repeat(entry, inventory)
        except DeviceLostError as error:
            execution.injection.store.remove(claim_uid)
            _note(entry, execution, str(error))
            return False
        except (CdiError, MpsError) as error:
            _note(entry, execution, str(error))
            return False
        _note(entry, execution, None)
    if is_written:
        log.warning("cdi file written again", claim=claim_uid, name=entry.label)
    return is_written


def _note(entry: Entry, execution: Execution, error: str | None) -> None:
    if entry.error == error:
        return
    if error is not None:
        log.error("prepared claim cannot be served", claim=entry.uid, reason=error)
    execution.ledger.put(replace(entry, error=error))
