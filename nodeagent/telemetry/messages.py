"""The agent's half of the live wire, version 1: JSON objects in WebSocket text frames.

The other half is the console's; golden files in `tests/golden/wire/v1/` hold the two together.
A reading that the board does not offer is left out, never sent as 0.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from nodeagent import __version__
from nodeagent.cdi.spec import qualified_name
from nodeagent.claims.entry import Entry, PlannedDevice, State
from nodeagent.devices.details import Details, DeviceProcess
from nodeagent.devices.events import RecoveryAction
from nodeagent.devices.model import Reading, Source
from nodeagent.fields import FieldError, Fields, Json, JsonObject
from nodeagent.health.report import DeviceHealth, HealthReport, Status

WIRE_VERSION: Final = 1
STATES: Final = {State.STARTED: "preparing", State.COMPLETED: "prepared"}
"""What the console is told of a claim; claims in other states are not on the node any more."""

READING_FIELDS: Final = (
    "utilisation_percent",
    "memory_used_bytes",
    "memory_total_bytes",
    "power_milliwatts",
    "temperature_celsius",
    "sm_clock_megahertz",
)


@dataclass(frozen=True, slots=True)
class Sample:
    """All readings of one moment."""

    taken_at: datetime
    readings: tuple[Reading, ...]
    details: Mapping[str, Details] = field(default_factory=dict)
    """By device, as last looked at; the same object until that is done again."""


class Naming(StrEnum):
    """Whose names a sample's devices have; the words are those of the live wire."""

    PUBLISHED = "published"
    """Those of the ResourceSlices."""

    UUID = "uuid"
    """This agent's own; another driver published the devices, and UUIDs tell which they are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who speaks on a connection."""

    node_name: str
    driver: str
    pool: str
    source: Source
    boot_id: str
    naming: Naming = Naming.PUBLISHED


def encode_hello(identity: Identity) -> str:
    """Make the first frame of a connection."""
    hello: JsonObject = {
        "type": "hello",
        "v": WIRE_VERSION,
        "node": identity.node_name,
        "agent_version": __version__,
        "source": identity.source.value,
        "driver": identity.driver,
        "pool": identity.pool,
        "boot_id": identity.boot_id,
    }
    if identity.naming is not Naming.PUBLISHED:
        hello["naming"] = identity.naming.value
    return _encode(hello)


def encode_sample(
    sample: Sample, *, seq: int, report: HealthReport | None = None, tells_details: bool = True
) -> str:
    """Make a frame of readings; `seq` grows with each frame of the connection.

    Devices in trouble are in it also without readings, as lost ones are. Details are complete
    where they are told, and told only when they are new.
    """
    health = {} if report is None else {one.device: one for one in report.devices}
    details = sample.details if tells_details else {}
    devices: list[Json] = [
        {
            **_reading(reading),
            **_health(health.pop(reading.device, None)),
            **_details(details.get(reading.device)),
        }
        for reading in sample.readings
    ]
    devices += [
        {**_device_of(one), **_health(one)}
        for one in health.values()
        if one.status is Status.UNHEALTHY
    ]
    return _encode(
        {"type": "sample", "seq": seq, "taken_at": _time(sample.taken_at), "devices": devices}
    )


def encode_claims(entries: Iterable[Entry], *, driver: str, seq: int) -> str:
    """Make the frame with all claims that this node has prepared, or is preparing, now."""
    claims: list[Json] = [
        _claim(entry, driver=driver)
        for entry in sorted(entries, key=lambda entry: entry.uid)
        # A claim that was only found again by its CDI file has no name that could be shown.
        if entry.state in STATES and entry.name
    ]
    return _encode({"type": "claims", "seq": seq, "claims": claims})


def decode_welcome(text: str | bytes) -> float:
    """Read the console's answer to `hello`; return the seconds between samples that it wants.

    Raises:
        FieldError: it is something else.

    """
    try:
        frame = Fields.of(json.loads(text), "welcome")
    except ValueError as error:
        raise FieldError(f"welcome: {error}") from error
    kind = frame.text("type")
    version = frame.optional_integer("v")
    if kind != "welcome" or version != WIRE_VERSION:
        raise FieldError(f"welcome: expected welcome of version 1, got {kind} of {version}")
    seconds = frame.optional_number("sample_interval_seconds")
    if seconds is None or seconds <= 0:
        raise FieldError(f"welcome.sample_interval_seconds: expected more than 0, got {seconds}")
    return seconds


def _reading(reading: Reading) -> JsonObject:
    spelled: JsonObject = {"device": reading.device, "uuid": reading.uuid}
    for name in READING_FIELDS:
        value: int | None = getattr(reading, name)
        if value is not None:
            spelled[name] = value
    return spelled


def _device_of(found: DeviceHealth) -> JsonObject:
    named: JsonObject = {"device": found.device}
    return named if found.uuid is None else {**named, "uuid": found.uuid}


def _health(found: DeviceHealth | None) -> JsonObject:
    if found is None:
        return {}
    return {"health": {"status": found.status.value.lower(), "message": found.message}}


def _details(found: Details | None) -> JsonObject:
    if found is None:
        return {}
    told = _told(found)
    del told["device"]
    return {"details": told}


def _told(it: Details | DeviceProcess) -> JsonObject:
    """Spell what is known, under the names that the fields have here."""
    values = {one.name: getattr(it, one.name) for one in fields(it)}
    return {name: _spelled(value) for name, value in values.items() if value is not None}


def _spelled(value: object) -> Json:
    if isinstance(value, RecoveryAction):
        return value.name.lower().replace("_", "-")
    if isinstance(value, DeviceProcess):
        return _told(value)
    if isinstance(value, tuple):
        return [_spelled(one) for one in value]
    if isinstance(value, bool | int | str):
        return value
    raise TypeError(f"{type(value).__name__} is not on the wire")


def _claim(entry: Entry, *, driver: str) -> JsonObject:
    devices: list[Json] = [_device(device, driver=driver) for device in entry.devices]
    claim: JsonObject = {
        "uid": entry.uid,
        "namespace": entry.namespace,
        "name": entry.name,
        "state": STATES[entry.state],
    }
    if entry.state is State.COMPLETED:
        claim["prepared_at"] = _time(entry.changed_at)
    claim["devices"] = devices
    return claim


def _device(device: PlannedDevice, *, driver: str) -> JsonObject:
    cdi_ids: list[Json] = [qualified_name(driver, device.cdi_name)]
    requests: list[Json] = list(device.requests)
    spelled: JsonObject = {"pool": device.pool, "device": device.device}
    if device.uuid is not None:
        spelled["uuid"] = device.uuid
    return {**spelled, "cdi_ids": cdi_ids, "requests": requests}


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _encode(frame: JsonObject) -> str:
    return json.dumps(frame, separators=(",", ":"))
