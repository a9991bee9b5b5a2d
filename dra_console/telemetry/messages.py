"""Frames of the agent's wire, version 1, as the console reads and writes them.

One JSON object a WebSocket text frame. The agent speaks first: `hello`, answered by
`welcome`; then `sample` about once a second, and `claims` whenever what it has prepared
changes and every 30 s. The other half of the format is the agent's own; the two are
held together by `tests/golden/wire/v1/`.

`decode_frame` is the only door in. It returns a frame that keeps every rule written
here, or raises `FrameError` with the path of the first field that does not. Unknown
*fields* are ignored, since a newer agent may add some; an unknown *type* is refused.
"""

import re
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta

from dra_console.telemetry.bounds import (
    BYTES,
    CELSIUS,
    MEGAHERTZ,
    MILLIWATTS,
    PERCENT,
    keep_within,
)
from dra_console.telemetry.details import DeviceDetails
from dra_console.telemetry.device_health import DeviceHealth
from dra_console.telemetry.wire_types import (
    Count,
    DeviceName,
    DriverName,
    Identifier,
    NodeName,
    PoolName,
    RequestName,
    Sequence,
    Time,
)

FRAME_BYTES_LIMIT: Final = 2**20
WIRE_VERSION: Final = 1
SAMPLE_INTERVAL_SECONDS: Final = 1


class FrameError(Exception):
    """A frame breaks the format; the message names the field and what was expected."""

    def __init__(self, path: str, message: str) -> None:
        """Take the field's path, as in `devices[0].device`; empty for the frame itself."""
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path


class Source(StrEnum):
    """Where an agent's numbers come from; simulated ones are labelled on every page."""

    SIMULATED = "simulated"
    NVML = "nvml"


class PreparedState(StrEnum):
    """How far a claim has come on its node."""

    PREPARING = "preparing"
    PREPARED = "prepared"


class Naming(StrEnum):
    """Whose names a sample's devices have."""

    PUBLISHED = "published"
    """Those of the ResourceSlices: the agent published them itself."""

    UUID = "uuid"
    """The agent's own. Another vendor's driver published the devices: its UUIDs tell which."""


class Hello(msgspec.Struct, frozen=True, tag_field="type", tag="hello"):
    """Who speaks; the node must be the one that the agent's token is bound to."""

    v: int
    node: NodeName
    agent_version: Identifier
    source: Source
    driver: DriverName
    pool: PoolName
    boot_id: Identifier
    naming: Naming = Naming.PUBLISHED

    def __post_init__(self) -> None:
        if self.v != WIRE_VERSION:
            raise ValueError(f"v: expected {WIRE_VERSION}, got {self.v}")


class DeviceSample(msgspec.Struct, frozen=True):
    """One device's readings at one moment; what was not reported is `None`, never 0."""

    device: DeviceName
    """Name in the ResourceSlice, as in `gpu-0`."""

    uuid: Identifier | None = None
    utilisation_percent: Count | None = None
    memory_used_bytes: Count | None = None
    memory_total_bytes: Count | None = None
    power_milliwatts: Count | None = None
    temperature_celsius: int | None = None
    sm_clock_megahertz: Count | None = None
    health: DeviceHealth | None = None
    details: DeviceDetails | None = None
    """About every tenth sample has them; in between the last ones hold."""

    def __post_init__(self) -> None:
        keep_within(self, _BOUNDS)


_BOUNDS: Final = {
    "utilisation_percent": PERCENT,
    "memory_used_bytes": BYTES,
    "memory_total_bytes": BYTES,
    "power_milliwatts": MILLIWATTS,
    "temperature_celsius": CELSIUS,
    "sm_clock_megahertz": MEGAHERTZ,
}


class Sample(msgspec.Struct, frozen=True, tag_field="type", tag="sample"):
    """Readings of every device of the agent's pool at one moment."""

    seq: Sequence
    taken_at: Time
    devices: Annotated[tuple[DeviceSample, ...], Meta(max_length=1024)]

    def __post_init__(self) -> None:
        _check_time("taken_at", self.taken_at)
        _check_unique("devices", "device", [device.device for device in self.devices])


class PreparedClaimDevice(msgspec.Struct, frozen=True):
    """One device that a claim has on this node, as the container runtime will see it."""

    pool: PoolName
    device: DeviceName
    cdi_ids: Annotated[tuple[Identifier, ...], Meta(max_length=64)]
    requests: Annotated[tuple[RequestName, ...], Meta(max_length=32)]
    uuid: Identifier | None = None


class NodeClaim(msgspec.Struct, frozen=True):
    """One claim that the agent has prepared, or is preparing."""

    uid: Identifier
    namespace: NodeName
    name: NodeName
    state: PreparedState
    devices: Annotated[tuple[PreparedClaimDevice, ...], Meta(max_length=1024)]
    prepared_at: Time | None = None

    def __post_init__(self) -> None:
        if self.prepared_at is not None:
            _check_time("prepared_at", self.prepared_at)
        elif self.state is PreparedState.PREPARED:
            raise ValueError("prepared_at: expected a time, since state is prepared")


class Claims(msgspec.Struct, frozen=True, tag_field="type", tag="claims"):
    """Every claim that the agent holds on this node: the complete list, each time."""

    seq: Sequence
    claims: Annotated[tuple[NodeClaim, ...], Meta(max_length=4096)]

    def __post_init__(self) -> None:
        _check_unique("claims", "uid", [claim.uid for claim in self.claims])


AgentFrame: TypeAlias = Hello | Sample | Claims

_decoder: msgspec.json.Decoder[AgentFrame] = msgspec.json.Decoder(AgentFrame)


def decode_frame(text: str) -> AgentFrame:
    """Read one frame of an agent.

    Raises:
        FrameError: the text is not a frame of version 1; the message names the field.

    """
    try:
        encoded = text.encode()
    except UnicodeEncodeError as error:
        raise FrameError("", f"expected UTF-8 text: {error}") from error
    if len(encoded) > FRAME_BYTES_LIMIT:
        raise FrameError("", f"expected at most {FRAME_BYTES_LIMIT} bytes, got {len(encoded)}")
    try:
        return _decoder.decode(encoded)
    except msgspec.ValidationError as error:
        raise _frame_error(str(error)) from error
    except (msgspec.DecodeError, RecursionError) as error:
        raise FrameError("", str(error)) from error


def encode_welcome() -> str:
    """Spell the console's answer to `hello`."""
    welcome = {
        "type": "welcome",
        "v": WIRE_VERSION,
        "sample_interval_seconds": SAMPLE_INTERVAL_SECONDS,
    }
    return msgspec.json.encode(welcome).decode()


_AT = re.compile(r"^(?P<text>.*) - at `(?:key in )?\$\.?(?P<path>[^`]*)`$", re.DOTALL)
_MISSING = re.compile(r"^Object missing required field `(?P<field>[^`]+)`$")
_OWN = re.compile(r"^(?P<field>[a-z_][a-z_0-9.\[\]]*): (?P<text>.*)$", re.DOTALL)


def _frame_error(text: str) -> FrameError:
    """Put msgspec's words, and those of the checks in this module, behind the field's path."""
    path = ""
    if at := _AT.match(text):
        text, path = at["text"], at["path"]
    if missing := _MISSING.match(text):
        return FrameError(_joined(path, missing["field"]), "expected a value, got none")
    if own := _OWN.match(text):
        return FrameError(_joined(path, own["field"]), own["text"])
    return FrameError(path, text[:1].lower() + text[1:])


def _joined(path: str, field: str) -> str:
    return f"{path}.{field}" if path else field


def _check_unique(list_name: str, field: str, names: list[str]) -> None:
    seen: set[str] = set()
    for position, name in enumerate(names):
        if name in seen:
            raise ValueError(f"{list_name}[{position}].{field}: {name!r} is given twice")
        seen.add(name)


_EARLIEST = datetime(2000, 1, 1, tzinfo=UTC)
_LATEST = datetime(2200, 1, 1, tzinfo=UTC)


def _check_time(field: str, time: datetime) -> None:
    if not _EARLIEST <= time <= _LATEST:
        raise ValueError(f"{field}: expected a time between 2000 and 2200, got {time.isoformat()}")
