"""What the agent remembers of one claim.

An entry holds each device's hardware identity beside its name, because names move: after a
reboot `gpu-0` may be another board (node-agent.md 2.3 g, 5.1). How it is written down stands in
`entry_format`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final, Self

from nodeagent.claims.sharing import Sharing
from nodeagent.devices.control import Instance
from nodeagent.fields import Json


class State(StrEnum):
    """How far a claim is; the words are the checkpoint's."""

    STARTED = "started"
    COMPLETED = "completed"
    UNPREPARING = "unpreparing"
    STALE_BOOT = "stale-boot"
    """Prepared under an earlier boot: the hardware's state and the containers are gone."""

    UNPREPARED = "unprepared"
    """A tombstone, so that a late prepare of the same claim does not bring it back."""


HOLDING: Final = frozenset({State.STARTED, State.COMPLETED, State.UNPREPARING})
"""States in which the claim's devices belong to it."""

UNSETTLED: Final = frozenset({State.STARTED, State.UNPREPARING})
"""States that nobody leaves a claim in: whoever finds one without the lock's holder, died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedDevice:
    """One allocated device with everything that undoing it needs."""

    requests: tuple[str, ...]
    """Main request names; empty (only after the checkpoint was lost): all requests."""

    pool: str
    device: str
    cdi_name: str
    parent_uuid: str | None
    """UUID of the GPU; `None` only after the checkpoint was lost, until it is known again."""

    uuid: str | None
    """UUID that a container sees: the GPU's, or the partition's."""

    pci_bus_id: str | None = None
    mig_profile_id: int | None = None
    mig_start: int | None = None
    mig_size: int | None = None
    gpu_instance_id: int | None = None
    """With the compute instance's: `None` until the partition exists."""

    compute_instance_id: int | None = None
    makes_partition: bool = False
    """The partition is made for this claim, and goes with it."""

    mig_mode: bool | None = None
    """The MIG mode that the GPU is switched to for this claim; `None`: it stays as it is."""

    sharing: Sharing | None = None
    share_id: str | None = None
    consumed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What this share was granted of the device's capacities, as quantities."""

    admin_access: bool = False
    unknown: Mapping[str, Json] = field(default_factory=lambda: MappingProxyType({}))
    """Members that a newer agent wrote; kept and written back."""

    @property
    def memory_slices(self) -> range | None:
        """The GPU's memory slices that it occupies; `None`: the whole GPU."""
        if self.mig_start is None or self.mig_size is None:
            return None
        return range(self.mig_start, self.mig_start + self.mig_size)

    @property
    def is_whole(self) -> bool:
        """It is a whole GPU, as far as is known."""
        return self.mig_profile_id is None

    def lies_at(self, instance: Instance) -> bool:
        """Tell whether an instance of its GPU is where this partition is or would be."""
        return (instance.profile_id, instance.start) == (self.mig_profile_id, self.mig_start)

    def on(self, instance: Instance) -> Self:
        """Return the device with the identity that the driver gave its partition."""
        return replace(
            self,
            uuid=instance.uuid,
            gpu_instance_id=instance.gpu_instance_id,
            compute_instance_id=instance.compute_instance_id,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One claim in the checkpoint. Its key is the UID; names repeat over time."""

    uid: str
    namespace: str
    name: str
    """Empty, like the namespace, only from a lost checkpoint until the claim is found again."""

    state: State
    resource_version: str
    changed_at: datetime
    """When the state was reached, in UTC."""

    devices: tuple[PlannedDevice, ...] = ()
    error: str | None = None
    unknown: Mapping[str, Json] = field(default_factory=dict)
    """Members that a newer agent wrote; kept and written back."""

    @property
    def holds_devices(self) -> bool:
        """Its devices are not free for another claim."""
        return self.state in HOLDING

    @property
    def label(self) -> str:
        """How people call the claim; its UID where nothing else is known."""
        return f"{self.namespace}/{self.name}" if self.name else self.uid
