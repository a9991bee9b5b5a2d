"""The CDI file of a prepared claim: composed from the hardware as it is now, and kept in place.

It is always made anew from each device's identity, never from numbers stored earlier: minors
move at reboot or when a module is loaded again (node-agent.md 8, fault 16).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from nodeagent.cdi.edits import Access, EditsSource
from nodeagent.cdi.spec import ContainerEdits, build
from nodeagent.cdi.store import CdiStore
from nodeagent.claims.entry import PlannedDevice
from nodeagent.claims.errors import DeviceLostError
from nodeagent.devices.model import Device, Inventory

NOTHING: Final = ContainerEdits()


@dataclass(frozen=True, slots=True)
class Injection:
    """How this node's devices get into containers."""

    store: CdiStore
    edits: EditsSource

    def ensure(
        self,
        claim_uid: str,
        devices: Iterable[PlannedDevice],
        *,
        inventory: Inventory,
        extra: Mapping[str, ContainerEdits],
    ) -> bool:
        """Make the claim's file say what it should; tell whether it had to be written.

        `extra` holds what containers need beside a device, by its CDI name.

        Raises:
            DeviceLostError: one of the devices is not there.
            CdiError: one of the devices cannot be handed out now; there is no new file.
            OSError: the directory cannot be written.

        """
        edits: dict[str, ContainerEdits] = {}
        for planned in devices:
            access = Access(
                gpu_instance_id=planned.gpu_instance_id,
                compute_instance_id=planned.compute_instance_id,
                is_administrative=planned.admin_access,
            )
            own = self.edits.of(_found(planned, inventory), access)
            # An admin claim may hold one device twice; a file must name it once.
            edits[planned.cdi_name] = own.merged(extra.get(planned.cdi_name, NOTHING))
        spec = build(self.store.driver, devices=edits, common=self.edits.common())
        if self.store.holds(claim_uid, spec):
            return False
        self.store.write(claim_uid, spec)
        return True


def _found(planned: PlannedDevice, inventory: Inventory) -> Device:
    """Return the device as it is now; the plan knows its partition better than the last look."""
    device = inventory.find(planned.device)
    if device is None or not _is_same(planned, device):
        identity = planned.uuid or planned.device
        raise DeviceLostError(
            f"device {planned.device} ({identity}) is gone from this node: delete the pod"
        )
    if device.partition is None or not device.gpu.is_dynamic or planned.uuid is None:
        return device
    return replace(device, partition=replace(device.partition, uuid=planned.uuid))


def _is_same(planned: PlannedDevice, device: Device) -> bool:
    if device.partition is not None and device.gpu.is_dynamic:
        # Its partition comes and goes; whether it is there, the driver is asked elsewhere.
        return planned.parent_uuid in (None, device.gpu.uuid)
    return planned.uuid in (None, device.uuid)
