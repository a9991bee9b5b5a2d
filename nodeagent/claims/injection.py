"""The CDI file of a prepared claim: composed from the hardware as it is now, and kept in place.

It is always made anew from each device's identity, never from numbers stored earlier: minors
move at reboot or when a module is loaded again (node-agent.md 8, fault 16).
"""

from collections.abc import Iterable
from dataclasses import dataclass

from nodeagent.cdi.edits import EditsSource
from nodeagent.cdi.errors import CdiError
from nodeagent.cdi.spec import ContainerEdits, build
from nodeagent.cdi.store import CdiStore
from nodeagent.claims.entry import PlannedDevice
from nodeagent.devices.model import Inventory


class DeviceGoneError(CdiError):
    """The device that was prepared is not on this node any more, or its name means another."""


@dataclass(frozen=True, slots=True)
class Injection:
    """How this node's devices get into containers."""

    store: CdiStore
    edits: EditsSource

    def ensure(
        self, claim_uid: str, devices: Iterable[PlannedDevice], *, inventory: Inventory
    ) -> bool:
        """Make the claim's file say what it should; tell whether it had to be written.

        Raises:
            DeviceGoneError: one of the devices is not there.
            CdiError: one of the devices cannot be handed out now; there is no new file.
            OSError: the directory cannot be written.

        """
        edits: dict[str, ContainerEdits] = {}
        for planned in devices:
            device = inventory.find(planned.device)
            if device is None or (planned.uuid is not None and planned.uuid != device.uuid):
                identity = planned.uuid or planned.device
                raise DeviceGoneError(
                    f"device {planned.device} ({identity}) is gone from this node: delete the pod"
                )
            # An admin claim may hold one device twice; a file must name it once.
            edits[planned.cdi_name] = self.edits.of(device)
        spec = build(self.store.driver, devices=edits, common=self.edits.common())
        if self.store.holds(claim_uid, spec):
            return False
        self.store.write(claim_uid, spec)
        return True
