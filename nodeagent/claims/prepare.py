"""What preparing a claim on this node means, decided without touching anything.

Given the claim, the node's devices and what other claims hold, the answer is a plan or a reason.
The exclusivity check here is the last line of defence: the scheduler has allocated devices twice
before, and a force-deleted pod frees its device while its containers still run.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from nodeagent.cdi.spec import device_name
from nodeagent.claims.allocation import AllocatedClaim, Result
from nodeagent.claims.entry import Entry, PlannedDevice
from nodeagent.claims.opaque import sharing_of
from nodeagent.claims.sharing import Sharing, Strategy, TimeSlicing
from nodeagent.devices.model import Device, Inventory
from nodeagent.fields import FieldError


@dataclass(frozen=True, slots=True)
class Refusal:
    """The claim cannot be prepared now; kubelet shows the reason and tries again."""

    reason: str


@dataclass(frozen=True, slots=True)
class Conflict:
    """A device is in the hands of another claim."""

    device: str
    holder: Entry


def plan(
    claim: AllocatedClaim,
    *,
    inventory: Inventory,
    driver: str,
    pool: str,
    offered: frozenset[Strategy] = frozenset(),
) -> tuple[PlannedDevice, ...] | Refusal:
    """Say what each of the claim's results for this driver becomes here.

    Results of other drivers are left alone; a claim with none of ours is a plan without devices.
    `offered` are the ways of sharing whose feature gates are on.
    """
    own = [result for result in claim.results if result.driver == driver]
    found: list[tuple[Result, Device]] = []
    for result in own:
        device = inventory.find(result.device) if result.pool == pool else None
        if device is None:
            return Refusal(
                f"device {result.device} of pool {result.pool} is not on this node"
                f" (pool {pool} of driver {driver})"
            )
        found.append((result, device))
    try:
        sharing = sharing_of(found, claim.config, driver=driver, offered=offered)
    except FieldError as error:
        return Refusal(str(error))
    return tuple(
        _planned(result, device, claim_uid=claim.uid, sharing=shared)
        for (result, device), shared in zip(found, sharing, strict=True)
    )


def conflict_of(
    devices: Iterable[PlannedDevice], *, claim_uid: str, entries: Iterable[Entry]
) -> Conflict | None:
    """Return the first device that another claim holds, wholly or in part."""
    others = [entry for entry in entries if entry.uid != claim_uid and entry.holds_devices]
    for device in devices:
        for entry in others:
            if any(_exclude_each_other(device, held) for held in entry.devices):
                return Conflict(device.device, entry)
    return None


def other_interval(
    devices: Iterable[PlannedDevice], *, claim_uid: str, entries: Iterable[Entry]
) -> Refusal | None:
    """Refuse a time slice where another claim has a different one on the same GPU.

    Shares of one GPU belong to several claims, and a GPU has one time slice.
    """
    wanted = {
        device.parent_uuid: device
        for device in devices
        if isinstance(device.sharing, TimeSlicing) and device.is_whole
    }
    for entry in entries:
        for held in entry.devices if entry.uid != claim_uid and entry.holds_devices else ():
            device = wanted.get(held.parent_uuid)
            is_set = isinstance(held.sharing, TimeSlicing)
            if device is not None and is_set and held.sharing != device.sharing:
                return Refusal(
                    f"device {device.device} has another time slice for claim"
                    f" {entry.label} ({entry.uid})"
                )
    return None


def is_same_allocation(
    allocated: Iterable[Result | PlannedDevice], recorded: Iterable[PlannedDevice]
) -> bool:
    """Tell whether what a claim is allocated now are the devices that were recorded for it."""
    return _allocated(allocated) == _allocated(recorded)


def with_identities(
    planned: Iterable[PlannedDevice], recorded: Iterable[PlannedDevice]
) -> tuple[PlannedDevice, ...]:
    """Return a plan with the partitions that are recorded for the same allocation."""
    known = {(device.device, device.share_id): device for device in recorded}
    return tuple(
        replace(
            device,
            uuid=known[device.device, device.share_id].uuid or device.uuid,
            gpu_instance_id=known[device.device, device.share_id].gpu_instance_id,
            compute_instance_id=known[device.device, device.share_id].compute_instance_id,
        )
        for device in planned
    )


def _planned(
    result: Result, device: Device, *, claim_uid: str, sharing: Sharing | None
) -> PlannedDevice:
    partition = device.partition
    is_dynamic = partition is not None and device.gpu.is_dynamic
    # Of a partition that is still to be made, only the driver knows the identity.
    instance = partition.instance if partition and not is_dynamic else None
    changes_gpu = not result.admin_access
    return PlannedDevice(
        requests=(result.main_request,),
        pool=result.pool,
        device=device.name,
        cdi_name=device_name(claim_uid, device.name, share_id=result.share_id),
        parent_uuid=device.gpu.uuid,
        uuid=None if is_dynamic else device.uuid,
        pci_bus_id=device.gpu.pci_bus_id,
        mig_profile_id=partition.profile.id if partition else None,
        mig_start=partition.start if partition else None,
        mig_size=partition.profile.memory_slices if partition else None,
        gpu_instance_id=instance.gpu_instance_id if instance else None,
        compute_instance_id=instance.compute_instance_id if instance else None,
        makes_partition=is_dynamic and changes_gpu,
        mig_mode=is_dynamic if device.gpu.toggles_mig and changes_gpu else None,
        sharing=sharing,
        share_id=result.share_id,
        consumed=result.consumed,
        admin_access=result.admin_access,
    )


def _exclude_each_other(wanted: PlannedDevice, held: PlannedDevice) -> bool:
    if wanted.admin_access or held.admin_access:
        return False
    is_same = (wanted.pool, wanted.device) == (held.pool, held.device)
    if is_same and wanted.share_id and held.share_id:
        return wanted.share_id == held.share_id
    return is_same or _overlap(wanted, held)


def _overlap(wanted: PlannedDevice, held: PlannedDevice) -> bool:
    if wanted.parent_uuid is None or wanted.parent_uuid != held.parent_uuid:
        return False
    if wanted.memory_slices is None or held.memory_slices is None:
        return True
    return not set(wanted.memory_slices).isdisjoint(held.memory_slices)


def _allocated(
    devices: Iterable[Result | PlannedDevice],
) -> set[tuple[str, str, str | None, bool]]:
    return {
        (device.pool, device.device, device.share_id, device.admin_access) for device in devices
    }
