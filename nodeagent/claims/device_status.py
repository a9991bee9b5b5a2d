"""Tell in each claim's own status what became of its devices (KEP 4817), where that is wanted.

`status.devices` is for people and controllers; nothing on the node depends on it. So it is
written apart from kubelet's calls, late if need be, and a failure costs nothing but a new attempt.
"""

import threading
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final, Protocol

import structlog

from nodeagent.claims.entry import Entry, PlannedDevice, State
from nodeagent.fields import Json, JsonObject
from nodeagent.kube.errors import (
    ConflictError,
    InvalidError,
    KubeError,
    NotFoundError,
    NotServedError,
)

log = structlog.get_logger()

RETRY_SECONDS: Final = 30
MESSAGE_CHARACTERS: Final = 1000


class StatusWriter(Protocol):
    """Writes a claim's devices; `nodeagent.kube.resources.Resources` is one."""

    def apply_claim_devices(
        self, namespace: str, name: str, *, uid: str, devices: list[Json]
    ) -> None:
        """Replace what this driver said of a claim's devices."""
        ...


class DeviceStatus:
    """Keeps the statuses of one node's claims as the checkpoint has them, on its own thread."""

    def __init__(
        self, writer: StatusWriter, entries: Callable[[], Mapping[str, Entry]], *, driver: str
    ) -> None:
        self._writer = writer
        self._entries = entries
        self._driver = driver
        self._told: dict[str, list[Json]] = {}
        self._known: dict[str, Entry] = {}
        self._changed = threading.Event()
        self._stopping = False

    def look_again(self) -> None:
        """Have the thread look at the entries soon; callable from any thread."""
        self._changed.set()

    def run(self) -> None:
        """Write until stopped; what failed is tried again."""
        while not self._stopping:
            is_done = self.write_due()
            self._changed.wait(None if is_done else RETRY_SECONDS)
            self._changed.clear()

    def stop(self) -> None:
        """End the thread at its next turn."""
        self._stopping = True
        self._changed.set()

    def write_due(self) -> bool:
        """Write what differs from what was written last; tell whether nothing is left to write."""
        entries = self._entries()
        is_done = True
        for claim_uid in {*entries, *self._told}:
            entry = entries.get(claim_uid) or self._known[claim_uid]
            devices = self._devices(entries.get(claim_uid))
            if devices == self._told.get(claim_uid, []) or not entry.name:
                continue
            is_done = self._write(entry, devices) and is_done
        return is_done

    def _write(self, entry: Entry, devices: list[Json]) -> bool:
        try:
            self._writer.apply_claim_devices(
                entry.namespace, entry.name, uid=entry.uid, devices=devices
            )
        except KubeError as error:
            if _may_be_there(error):
                log.warning("device status not written", claim=entry.uid, reason=str(error))
                return False
            log.info("device status not wanted", claim=entry.uid, reason=str(error))
        if devices:
            self._told[entry.uid], self._known[entry.uid] = devices, entry
        else:
            self._told.pop(entry.uid, None)
            self._known.pop(entry.uid, None)
        return True

    def _devices(self, entry: Entry | None) -> list[Json]:
        if entry is None or entry.state is not State.COMPLETED:
            return []
        unique = {(one.device, one.share_id): one for one in entry.devices}
        return [self._device(one, entry) for one in unique.values()]

    def _device(self, device: PlannedDevice, entry: Entry) -> JsonObject:
        described: JsonObject = {
            "driver": self._driver,
            "pool": device.pool,
            "device": device.device,
            "conditions": [_condition(entry)],
            "data": _data(device),
        }
        if device.share_id is not None:
            described["shareID"] = device.share_id
        return described


def _may_be_there(error: KubeError) -> bool:
    """Tell whether the claim is still to be told, unlike one that is gone or not allocated."""
    is_gone = isinstance(error, ConflictError | InvalidError | NotFoundError)
    return not is_gone or isinstance(error, NotServedError)


def _condition(entry: Entry) -> JsonObject:
    at = entry.changed_at.astimezone(UTC)
    return {
        "type": "Ready",
        "status": "True" if entry.error is None else "False",
        "reason": "Prepared" if entry.error is None else "CannotBeServed",
        "message": (entry.error or "")[:MESSAGE_CHARACTERS],
        "lastTransitionTime": _timestamp(at),
    }


def _timestamp(at: datetime) -> str:
    return at.isoformat(timespec="seconds").replace("+00:00", "Z")


def _data(device: PlannedDevice) -> JsonObject:
    known: JsonObject = {
        "uuid": device.uuid,
        "parentUUID": device.parent_uuid if device.uuid != device.parent_uuid else None,
        "pciBusID": device.pci_bus_id,
        "gpuInstanceID": device.gpu_instance_id,
        "computeInstanceID": device.compute_instance_id,
    }
    return {name: value for name, value in known.items() if value is not None}
