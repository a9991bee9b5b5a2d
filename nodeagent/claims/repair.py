"""Keep the CDI file of every completed claim in place and true.

The runtime's directory is a tmpfs on most nodes, and people clean it. Without the file a
container that restarts fails for ever, and kubelet does not ask us again (node-agent.md 3.7).
"""

from dataclasses import replace

import structlog

from nodeagent.cdi.errors import CdiError
from nodeagent.claims.entry import Entry, State
from nodeagent.claims.errors import ClaimsError
from nodeagent.claims.injection import DeviceGoneError, Injection
from nodeagent.claims.ledger import Ledger
from nodeagent.devices.model import Inventory

log = structlog.get_logger()


def repair_files(ledger: Ledger, *, injection: Injection, inventory: Inventory) -> tuple[str, ...]:
    """Write again what is missing or stale; return the UIDs of the claims concerned.

    A claim whose device is gone loses its file: a container must not start on other hardware.
    Nothing else about it changes, and unpreparing it works as ever.
    """
    try:
        with ledger.held() as checkpoint:
            return tuple(
                entry.uid
                for entry in checkpoint.entries.values()
                if entry.state is State.COMPLETED and _repair(entry, ledger, injection, inventory)
            )
    except (ClaimsError, OSError) as error:
        log.warning("cdi files not checked", reason=str(error))
        return ()


def _repair(entry: Entry, ledger: Ledger, injection: Injection, inventory: Inventory) -> bool:
    try:
        is_written = injection.ensure(entry.uid, entry.devices, inventory=inventory)
    except DeviceGoneError as error:
        injection.store.remove(entry.uid)
        _note(entry, ledger, str(error))
        return False
    except CdiError as error:
        _note(entry, ledger, str(error))
        return False
    _note(entry, ledger, None)
    if is_written:
        log.warning("cdi file written again", claim=entry.uid, name=entry.label)
    return is_written


def _note(entry: Entry, ledger: Ledger, error: str | None) -> None:
    if entry.error == error:
        return
    if error is not None:
        log.error("prepared claim cannot be served", claim=entry.uid, reason=error)
    ledger.put(replace(entry, error=error))
