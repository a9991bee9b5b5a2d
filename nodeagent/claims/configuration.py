"""The opaque configuration that this driver reads, decoded strictly and checked field by field.

Our own kinds are `GpuConfig` and `MigConfig` of `config.dra-console.io/v1`. NVIDIA's kinds say
the same in the same words, so claims written for NVIDIA's driver work here. A mistake is refused
before anything is touched: a claim that asks for something must not run without it
(node-agent.md 2.4).
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from nodeagent.claims.sharing import Interval, Mps, Sharing, Strategy, TimeSlicing
from nodeagent.fields import FieldError, Fields
from nodeagent.quantity import value_of

OWN_VERSION: Final = "config.dra-console.io/v1"
NVIDIA_VERSION: Final = "resource.nvidia.com/v1beta1"
BYTES_PER_MEBIBYTE: Final = 1 << 20
PERCENT: Final = 100

GATES: Final[Mapping[Strategy, str]] = MappingProxyType(
    {Strategy.TIME_SLICING: "TimeSlicingSettings", Strategy.MPS: "MPSSupport"}
)
"""The feature gate behind which each strategy sits; off unless named."""


class ConfigKind(StrEnum):
    """For which kind of device a configuration is."""

    GPU = "GPU"
    MIG = "MIG device"


KINDS: Final[Mapping[tuple[str, str], ConfigKind]] = MappingProxyType(
    {
        (OWN_VERSION, "GpuConfig"): ConfigKind.GPU,
        (OWN_VERSION, "MigConfig"): ConfigKind.MIG,
        (NVIDIA_VERSION, "GpuConfig"): ConfigKind.GPU,
        (NVIDIA_VERSION, "MigDeviceConfig"): ConfigKind.MIG,
    }
)


@dataclass(frozen=True, slots=True)
class Configuration:
    """What one entry asks for."""

    kind: ConfigKind
    sharing: Sharing | None
    path: str
    """Where it stands in the claim."""


def decode_configuration(parameters: Fields, *, offered: frozenset[Strategy]) -> Configuration:
    """Decode opaque parameters; `offered` are the strategies whose feature gates are on.

    Raises:
        FieldError: an unknown kind, field or value, or a strategy that is not offered.

    """
    api_version = parameters.text("apiVersion")
    name = parameters.text("kind")
    kind = KINDS.get((api_version, name))
    if kind is None:
        expected = ", ".join(f"{known} of {version}" for version, known in KINDS)
        raise FieldError(
            f"{parameters.path}: expected one of {expected}; got {name} of {api_version}"
        )
    parameters.refuse_others(("apiVersion", "kind", "sharing"))
    sharing = parameters.optional_object("sharing")
    return Configuration(
        kind=kind,
        sharing=_sharing(sharing, kind=kind, offered=offered) if sharing else None,
        path=parameters.path,
    )


def _sharing(sharing: Fields, *, kind: ConfigKind, offered: frozenset[Strategy]) -> Sharing:
    strategy = sharing.text("strategy")
    if strategy not in tuple(Strategy):
        expected = " or ".join(Strategy)
        raise FieldError(f"{sharing.path}.strategy: expected {expected}, got {strategy!r}")
    if strategy not in offered:
        gate = GATES[Strategy(strategy)]
        raise FieldError(
            f"{sharing.path}.strategy: {strategy} is behind the feature gate {gate}, which is off"
        )
    if strategy == Strategy.MPS:
        _refuse_with(sharing, "timeSlicingConfig", strategy=strategy)
        sharing.refuse_others(("strategy", "mpsConfig"))
        return _mps(sharing.optional_object("mpsConfig"))
    _refuse_with(sharing, "mpsConfig", strategy=strategy)
    if kind is ConfigKind.MIG and sharing.value.get("timeSlicingConfig") is not None:
        raise FieldError(
            f"{sharing.path}.timeSlicingConfig: the time slice of a MIG device cannot be set"
        )
    sharing.refuse_others(("strategy", "timeSlicingConfig"))
    return _time_slicing(sharing.optional_object("timeSlicingConfig"))


def _refuse_with(sharing: Fields, block: str, *, strategy: str) -> None:
    if sharing.value.get(block) is not None:
        raise FieldError(f"{sharing.path}.{block}: not with the strategy {strategy}")


def _time_slicing(config: Fields | None) -> TimeSlicing:
    if config is None:
        return TimeSlicing()
    config.refuse_others(("interval",))
    interval = config.optional_text("interval") or Interval.DEFAULT
    if interval not in tuple(Interval):
        expected = ", ".join(Interval)
        raise FieldError(f"{config.path}.interval: expected one of {expected}; got {interval!r}")
    return TimeSlicing(Interval(interval))


def _mps(config: Fields | None) -> Mps:
    if config is None:
        return Mps()
    config.refuse_others(
        (
            "defaultActiveThreadPercentage",
            "defaultPinnedDeviceMemoryLimit",
            "defaultPerDevicePinnedMemoryLimit",
        )
    )
    percentage = config.optional_integer("defaultActiveThreadPercentage")
    if percentage is not None and not 0 <= percentage <= PERCENT:
        raise FieldError(
            f"{config.path}.defaultActiveThreadPercentage: expected 0 to 100, got {percentage}"
        )
    by_device = config.optional_object("defaultPerDevicePinnedMemoryLimit")
    limits = {key: _mebibytes(by_device, key) for key in by_device.value} if by_device else {}
    name = "defaultPinnedDeviceMemoryLimit"
    has_limit = config.value.get(name) is not None
    return Mps(
        active_thread_percentage=percentage,
        pinned_memory_mebibytes=_mebibytes(config, name) if has_limit else None,
        pinned_memory_mebibytes_by_device=MappingProxyType(limits),
    )


def _mebibytes(fields: Fields, name: str) -> int:
    """Read a quantity in whole MiB, which is what the daemon counts in."""
    written = fields.text(name)
    size = value_of(written)
    if size is None or size < BYTES_PER_MEBIBYTE:
        raise FieldError(
            f"{fields.path}.{name}: expected a quantity of 1Mi or more, got {written!r}"
        )
    return int(size // BYTES_PER_MEBIBYTE)
