"""Find out again who holds what, when the checkpoint is lost.

Never go on from an empty one if anything says otherwise: kubelet does not ask again for pods that
run, so a forgotten claim would stay forgotten and its device be given away. Two witnesses are
left: the CDI files, whose names hold claim and device, and the claims that the API server shows as
allocated to this node and in use (node-agent.md 2.6, and 8, faults 15 and 18).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import Final

import structlog

from nodeagent.claims.allocation import AllocatedClaim, decode_claim
from nodeagent.claims.checkpoint import Checkpoint
from nodeagent.claims.entry import Entry, PlannedDevice, State
from nodeagent.claims.prepare import Refusal, conflict_of, plan
from nodeagent.claims.sharing import Strategy
from nodeagent.devices.control import GpuControl
from nodeagent.devices.errors import DevicesError
from nodeagent.devices.model import Inventory
from nodeagent.fields import FieldError, JsonObject

log = structlog.get_logger()

SHARE_ID: Final = re.compile(r"-([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What the witnesses are held against."""

    inventory: Inventory | None
    control: GpuControl
    driver: str
    pool: str
    offered: frozenset[Strategy] = frozenset(Strategy)
    """A claim that was prepared counts, whatever gates are off by now."""


def with_adopted(
    checkpoint: Checkpoint,
    files: Mapping[str, tuple[str, ...]],
    claims: Iterable[JsonObject],
    *,
    node: Node,
    now: datetime,
) -> Checkpoint:
    """Take over every claim that a witness names, where the checkpoint cannot be relied on.

    `files` holds each CDI file's device names by claim UID. What the last write said is unknown,
    so a claim that was only begun may have been answered since: it counts as completed. A claim
    that only the API server names is taken over if its devices are free and its partitions exist.
    """
    entries = dict(checkpoint.entries)
    witnessed = {claim.uid: claim for claim in _decoded(claims)}
    for claim_uid, names in files.items():
        entry = entries.get(claim_uid)
        if entry is None:
            entries[claim_uid] = _from_file(claim_uid, names, witnessed, node=node, now=now)
        elif entry.state is State.STARTED:
            devices = tuple(_identified(device, node) or device for device in entry.devices)
            entries[claim_uid] = replace(
                entry, state=State.COMPLETED, changed_at=now, devices=devices
            )
    for claim_uid, claim in witnessed.items():
        if claim_uid not in entries and claim.is_reserved:
            devices = _from_claim(claim, node=node)
            if devices and not conflict_of(devices, claim_uid=claim_uid, entries=entries.values()):
                entries[claim_uid] = _entry(claim_uid, claim, devices, now=now)
    return replace(checkpoint, entries=MappingProxyType(entries))


def _decoded(claims: Iterable[JsonObject]) -> Iterator[AllocatedClaim]:
    for claim in claims:
        try:
            yield decode_claim(claim)
        except FieldError:
            # Not allocated, or of a form that this agent never prepared.
            continue


def _from_file(
    claim_uid: str,
    names: tuple[str, ...],
    witnessed: Mapping[str, AllocatedClaim],
    *,
    node: Node,
    now: datetime,
) -> Entry:
    claim = witnessed.get(claim_uid)
    told = _from_claim(claim, node=node) if claim is not None else ()
    if {device.cdi_name for device in told} == set(names):
        return _entry(claim_uid, claim, told, now=now)
    devices = tuple(_from_cdi_name(name, claim_uid=claim_uid, node=node) for name in names)
    return _entry(claim_uid, claim, devices, now=now)


def _from_claim(claim: AllocatedClaim, *, node: Node) -> tuple[PlannedDevice, ...]:
    """Plan a claim as it was once prepared; nothing if that cannot have been."""
    if node.inventory is None:
        return ()
    planned = plan(
        claim,
        inventory=node.inventory,
        driver=node.driver,
        pool=node.pool,
        offered=node.offered,
    )
    if isinstance(planned, Refusal):
        return ()
    devices = tuple(_identified(device, node) for device in planned)
    return tuple(device for device in devices if device is not None) if all(devices) else ()


def _identified(device: PlannedDevice, node: Node) -> PlannedDevice | None:
    """Give a device its partition's identity; `None` if there is no such partition."""
    is_known = device.uuid is not None or device.mig_profile_id is None
    if is_known or device.parent_uuid is None:
        return device
    try:
        instances = node.control.instances(device.parent_uuid)
    except DevicesError as error:
        log.warning("partition not identified", device=device.device, reason=str(error))
        return device
    return next((device.on(one) for one in instances if device.lies_at(one)), None)


def _from_cdi_name(cdi_name: str, *, claim_uid: str, node: Node) -> PlannedDevice:
    name = cdi_name.removeprefix(f"{claim_uid}-")
    share = SHARE_ID.search(name)
    device_name = name[: share.start()] if share else name
    device = node.inventory.find(device_name) if node.inventory else None
    partition = device.partition if device else None
    is_dynamic = device is not None and partition is not None and device.gpu.is_dynamic
    found = PlannedDevice(
        requests=(),
        pool=node.pool,
        device=device_name,
        cdi_name=cdi_name,
        parent_uuid=device.gpu.uuid if device else None,
        uuid=device.uuid if device and not is_dynamic else None,
        pci_bus_id=device.gpu.pci_bus_id if device else None,
        mig_profile_id=partition.profile.id if partition else None,
        mig_start=partition.start if partition else None,
        mig_size=partition.profile.memory_slices if partition else None,
        makes_partition=is_dynamic,
        share_id=share.group(1) if share else None,
    )
    return _identified(found, node) or found


def _entry(
    claim_uid: str,
    claim: AllocatedClaim | None,
    devices: tuple[PlannedDevice, ...],
    *,
    now: datetime,
) -> Entry:
    return Entry(
        uid=claim_uid,
        namespace=claim.namespace if claim else "",
        name=claim.name if claim else "",
        state=State.COMPLETED,
        resource_version=claim.resource_version if claim else "",
        changed_at=now,
        devices=devices,
    )
