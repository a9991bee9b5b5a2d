"""What a start makes of the checkpoint that it finds.

Never an empty one if anything says otherwise: kubelet does not ask again for pods that run, so a
forgotten claim would stay forgotten and its device be given away. A corrupt file is set aside and
replaced by the one before it, and the CDI files, whose names hold claim and device, say what that
one lacks (node-agent.md 2.6, 2.7).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Final

import structlog

from nodeagent.cdi.store import CdiStore
from nodeagent.claims.checkpoint import Checkpoint
from nodeagent.claims.entry import Entry, PlannedDevice, State
from nodeagent.claims.errors import CorruptCheckpointError
from nodeagent.claims.ledger import Ledger
from nodeagent.claims.preparer import tombstone
from nodeagent.devices.model import Inventory

log = structlog.get_logger()

SHARE_ID: Final = re.compile(r"-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$")

WITHOUT_FILE: Final = frozenset({State.STARTED, State.UNPREPARING, State.UNPREPARED})
"""States in which no container may still be given the devices."""


@dataclass(frozen=True, slots=True)
class Recovered:
    """What had to be done at this start."""

    corrupt_file: Path | None = None
    """Where an untrustworthy checkpoint is now."""

    rebuilt: tuple[str, ...] = ()
    """UIDs of claims that only their CDI files told of."""


def recover(
    ledger: Ledger, *, store: CdiStore, inventory: Inventory | None, pool: str, now: datetime
) -> Recovered:
    """Bring the checkpoint to where a first call can build on it.

    Raises:
        LockTimeoutError: another agent is at work on this directory.
        OSError: the directory cannot be used.

    """
    with ledger.held_unread():
        corrupt_file = None
        is_lost = not ledger.exists
        try:
            checkpoint = ledger.read()
        except CorruptCheckpointError as error:
            corrupt_file = ledger.set_aside(at=now)
            log.warning("checkpoint corrupt", reason=str(error), set_aside=str(corrupt_file))
            checkpoint = ledger.previous() or Checkpoint(boot_id=ledger.boot_id)
            is_lost = True
        if checkpoint.is_read_only:
            log.error("checkpoint of a newer agent: no claim can be prepared or unprepared")
            return Recovered()
        files = {claim_uid: store.device_names(claim_uid) for claim_uid in store.claim_uids()}
        known = frozenset(checkpoint.entries)
        if is_lost:
            checkpoint = with_adopted(checkpoint, files, inventory=inventory, pool=pool, now=now)
        checkpoint = under_boot(checkpoint, boot_id=ledger.boot_id, now=now)
        for claim_uid in files:
            entry = checkpoint.entries.get(claim_uid)
            if entry is not None and entry.state in WITHOUT_FILE:
                store.remove(claim_uid)
        checkpoint = settled(checkpoint)
        ledger.replace(checkpoint)
        return Recovered(corrupt_file, tuple(sorted(frozenset(checkpoint.entries) - known)))


def with_adopted(
    checkpoint: Checkpoint,
    files: Mapping[str, tuple[str, ...]],
    *,
    inventory: Inventory | None,
    pool: str,
    now: datetime,
) -> Checkpoint:
    """Take over every claim that has a CDI file, where the checkpoint cannot be relied on.

    `files` holds each file's CDI device names by claim UID. What the last write said is unknown,
    so a claim that was only begun may have been answered since: it counts as completed.
    """
    entries = dict(checkpoint.entries)
    for claim_uid, names in files.items():
        entry = entries.get(claim_uid)
        if entry is None:
            devices = tuple(
                _from_cdi_name(name, claim_uid=claim_uid, inventory=inventory, pool=pool)
                for name in names
            )
            entries[claim_uid] = Entry(
                uid=claim_uid,
                namespace="",
                name="",
                state=State.COMPLETED,
                resource_version="",
                changed_at=now,
                devices=devices,
            )
        elif entry.state is State.STARTED:
            entries[claim_uid] = replace(entry, state=State.COMPLETED, changed_at=now)
    return replace(checkpoint, entries=MappingProxyType(entries))


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


def settled(checkpoint: Checkpoint) -> Checkpoint:
    """Roll back what was begun, and finish what was being undone.

    Nobody had an answer for a claim that was begun, so kubelet asks again.
    """
    entries = {
        uid: tombstone(uid, entry) if entry.state is State.UNPREPARING else entry
        for uid, entry in checkpoint.entries.items()
        if entry.state is not State.STARTED
    }
    return replace(checkpoint, entries=MappingProxyType(entries))


def _from_cdi_name(
    cdi_name: str, *, claim_uid: str, inventory: Inventory | None, pool: str
) -> PlannedDevice:
    name = cdi_name.removeprefix(f"{claim_uid}-")
    share = SHARE_ID.search(name)
    device_name = name[: share.start()] if share else name
    device = inventory.find(device_name) if inventory else None
    partition = device.partition if device else None
    return PlannedDevice(
        requests=(),
        pool=pool,
        device=device_name,
        cdi_name=cdi_name,
        parent_uuid=device.gpu.uuid if device else None,
        uuid=device.uuid if device else None,
        pci_bus_id=device.gpu.pci_bus_id if device else None,
        mig_profile_id=partition.profile.id if partition else None,
        mig_start=partition.start if partition else None,
        mig_size=partition.profile.memory_slices if partition else None,
        share_id=share.group(1) if share else None,
    )
