"""What the kubelet remembers of claims across restarts: which pods use them, by which drivers.

Kubernetes keeps the same in `dra_manager_state`. A claim is written before its drivers are
called and removed after all of them have taken it back, so that at no moment a driver holds
something that the file does not know of.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Self

import structlog

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.kubelet_plugin import ClaimReference, PreparedDevice

log = structlog.get_logger()

FORMAT_VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class ClaimState:
    """One claim that pods of this node use, or are about to."""

    reference: ClaimReference
    drivers: frozenset[str]
    pod_uids: frozenset[str]
    devices: Mapping[str, tuple[PreparedDevice, ...]] = field(default_factory=dict)
    """By driver: what its last successful prepare answered."""

    def to_json(self) -> JsonObject:
        devices: JsonObject = {
            driver: [_device_json(device) for device in of_driver]
            for driver, of_driver in sorted(self.devices.items())
        }
        return {
            "namespace": self.reference.namespace,
            "name": self.reference.name,
            "uid": self.reference.uid,
            "drivers": [*sorted(self.drivers)],
            "pods": [*sorted(self.pod_uids)],
            "devices": devices,
        }

    @classmethod
    def read(cls, fields: Fields) -> Self:
        """Read one entry of the file.

        Raises:
            DecodeError: a member is not of its type.

        """
        devices = fields.child("devices") or Fields(fields.path_of("devices"), {})
        return cls(
            reference=ClaimReference(
                fields.text("namespace"), fields.text("name"), fields.text("uid")
            ),
            drivers=frozenset(fields.texts("drivers")),
            pod_uids=frozenset(fields.texts("pods")),
            devices={
                driver: tuple(_device(device) for device in devices.children(driver))
                for driver in devices.raw
            },
        )


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The file of one node."""

    path: Path

    def load(self) -> dict[str, ClaimState]:
        """Return the claims by UID; a file that cannot be read is set aside, never believed."""
        try:
            content: Json = json.loads(self.path.read_text())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            return self._set_aside(str(error))
        try:
            root = Fields.at("", content)
            if root.integer("formatVersion") != FORMAT_VERSION:
                return self._set_aside(f"formatVersion: expected {FORMAT_VERSION}")
            states = [ClaimState.read(claim) for claim in root.children("claims")]
        except DecodeError as error:
            return self._set_aside(str(error))
        return {state.reference.uid: state for state in states}

    def store(self, states: Mapping[str, ClaimState]) -> None:
        """Replace the file as a whole.

        There is no fsync: the page cache outlives the process, and a power cut takes the
        simulated containers along.
        """
        content = {
            "formatVersion": FORMAT_VERSION,
            "claims": [states[uid].to_json() for uid in sorted(states)],
        }
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(content, indent=1))
        fresh.replace(self.path)

    def _set_aside(self, reason: str) -> dict[str, ClaimState]:
        aside = self.path.with_suffix(f".corrupt-{time.time_ns()}")
        self.path.replace(aside)
        log.error("checkpoint set aside", path=str(self.path), kept_as=str(aside), reason=reason)
        return {}


def _device_json(device: PreparedDevice) -> JsonObject:
    written: JsonObject = {
        "requests": [*device.request_names],
        "pool": device.pool,
        "device": device.device,
        "cdiDeviceIDs": [*device.cdi_ids],
    }
    if device.share_id is not None:
        written["shareID"] = device.share_id
    return written


def _device(fields: Fields) -> PreparedDevice:
    return PreparedDevice(
        request_names=fields.texts("requests"),
        pool=fields.text("pool"),
        device=fields.text("device"),
        cdi_ids=fields.texts("cdiDeviceIDs"),
        share_id=fields.optional_text("shareID"),
    )
