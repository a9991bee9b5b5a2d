"""What the agent remembers of one claim, and how that is written down.

An entry holds each device's hardware identity beside its name, because names move: after a
reboot `gpu-0` may be another board (node-agent.md 2.3 g, 5.1).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from nodeagent.fields import FieldError, Fields, Json, JsonObject


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
    share_id: str | None = None
    admin_access: bool = False

    @property
    def memory_slices(self) -> range | None:
        """The GPU's memory slices that it occupies; `None`: the whole GPU."""
        if self.mig_start is None or self.mig_size is None:
            return None
        return range(self.mig_start, self.mig_start + self.mig_size)


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


_ENTRY_MEMBERS: Final = frozenset(
    {
        "uid", "namespace", "name", "state", "resourceVersion", "changedAt", "devices", "error",
    }
)  # fmt: skip


def entry_to_json(entry: Entry) -> JsonObject:
    """Write an entry down, with what a newer agent had added to it."""
    devices: list[Json] = [_device_to_json(device) for device in entry.devices]
    written: JsonObject = {
        **entry.unknown,
        "uid": entry.uid,
        "namespace": entry.namespace,
        "name": entry.name,
        "state": entry.state.value,
        "resourceVersion": entry.resource_version,
        "changedAt": entry.changed_at.isoformat(),
        "devices": devices,
    }
    if entry.error is not None:
        written["error"] = entry.error
    return written


def entry_from_json(fields: Fields) -> Entry:
    """Read an entry.

    Raises:
        FieldError: a member is missing, of the wrong kind, or a state is not known.

    """
    state = fields.text("state")
    if state not in tuple(State):
        raise FieldError(f"{fields.path}.state: {state!r} is no known state")
    return Entry(
        uid=fields.text("uid"),
        namespace=fields.text("namespace"),
        name=fields.text("name"),
        state=State(state),
        resource_version=fields.text("resourceVersion"),
        changed_at=_moment(fields, "changedAt"),
        devices=tuple(_device_from_json(device) for device in fields.objects("devices")),
        error=fields.optional_text("error"),
        unknown=MappingProxyType(
            {name: value for name, value in fields.value.items() if name not in _ENTRY_MEMBERS}
        ),
    )


def _moment(fields: Fields, name: str) -> datetime:
    written = fields.text(name)
    try:
        moment = datetime.fromisoformat(written)
    except ValueError:
        raise FieldError(f"{fields.path}.{name}: {written!r} is no time") from None
    if moment.tzinfo is None:
        raise FieldError(f"{fields.path}.{name}: {written!r} has no time zone")
    return moment


def _device_to_json(device: PlannedDevice) -> JsonObject:
    requests: list[Json] = list(device.requests)
    written: JsonObject = {
        "requests": requests,
        "pool": device.pool,
        "device": device.device,
        "cdiName": device.cdi_name,
        "parentUUID": device.parent_uuid,
        "uuid": device.uuid,
        "pciBusID": device.pci_bus_id,
        "migProfileID": device.mig_profile_id,
        "migStart": device.mig_start,
        "migSize": device.mig_size,
        "shareID": device.share_id,
        "adminAccess": device.admin_access or None,
    }
    return {name: value for name, value in written.items() if value is not None}


def _device_from_json(fields: Fields) -> PlannedDevice:
    return PlannedDevice(
        requests=fields.texts("requests"),
        pool=fields.text("pool"),
        device=fields.text("device"),
        cdi_name=fields.text("cdiName"),
        parent_uuid=fields.optional_text("parentUUID"),
        uuid=fields.optional_text("uuid"),
        pci_bus_id=fields.optional_text("pciBusID"),
        mig_profile_id=fields.optional_integer("migProfileID"),
        mig_start=fields.optional_integer("migStart"),
        mig_size=fields.optional_integer("migSize"),
        share_id=fields.optional_text("shareID"),
        admin_access=fields.flag("adminAccess"),
    )
