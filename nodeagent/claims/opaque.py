"""Which opaque configuration applies to a device, and whether the device can honour it.

From weak to strong: the driver's default, the class's entries in list order, the claim's entries
in list order. The strongest entry that applies wins whole; fields are never merged. The position
in the merged list says nothing, the source does (node-agent.md 2.4).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from nodeagent.claims.allocation import ConfigSource, OpaqueConfig, Result
from nodeagent.claims.configuration import ConfigKind, Configuration, decode_configuration
from nodeagent.claims.sharing import Mps, Sharing, Strategy
from nodeagent.devices.model import Device
from nodeagent.fields import FieldError

MPS_CAPABILITY: Final = (7, 0)
"""Older GPUs take the flag for several users, and then their clients fail."""


def effective(
    result: Result,
    configs: Iterable[OpaqueConfig],
    *,
    fits: Callable[[OpaqueConfig], bool],
) -> OpaqueConfig | None:
    """Return the entry that applies to a result; `None` means the driver's default.

    `configs` are this driver's entries in the API's order; `fits` tells whether an entry is meant
    for the result's kind of device. An entry for all requests that does not fit is passed over.

    Raises:
        FieldError: an entry names the request but does not fit the device.

    """
    from_weak_to_strong = sorted(
        configs, key=lambda config: config.source is ConfigSource.FROM_CLAIM
    )
    for config in reversed(from_weak_to_strong):
        if not config.requests:
            if fits(config):
                return config
        elif result.request in config.requests or result.main_request in config.requests:
            if fits(config):
                return config
            raise FieldError(
                f"{config.parameters.path}: meant for another kind of device than"
                f" {result.device} of request {result.request}"
            )
    return None


def sharing_of(
    results: Sequence[tuple[Result, Device]],
    configs: Iterable[OpaqueConfig],
    *,
    driver: str,
    offered: frozenset[Strategy],
) -> tuple[Sharing | None, ...]:
    """Return how each device is shared, in the order of the results.

    Entries for other drivers are none of our business, whatever they hold. Access for
    administrators never changes a device, so for it there is nothing to share.

    Raises:
        FieldError: an entry is wrong, or asks for what a device cannot do; nothing must be
            prepared then.

    """
    own = tuple(config for config in configs if config.driver == driver)
    decoded = {
        id(config): decode_configuration(config.parameters, offered=offered) for config in own
    }

    def configuration_of(result: Result, device: Device) -> Configuration | None:
        if result.admin_access:
            return None
        wanted = ConfigKind.MIG if device.partition else ConfigKind.GPU
        entry = effective(result, own, fits=lambda config: decoded[id(config)].kind is wanted)
        return decoded[id(entry)] if entry is not None else None

    chosen = [configuration_of(result, device) for result, device in results]
    _check_mps(results, chosen)
    return tuple(configuration.sharing if configuration else None for configuration in chosen)


def _check_mps(
    results: Sequence[tuple[Result, Device]], chosen: Sequence[Configuration | None]
) -> None:
    devices: list[Device] = []
    groups: dict[int, Configuration] = {}
    for (result, device), configuration in zip(results, chosen, strict=True):
        if configuration is None or not isinstance(configuration.sharing, Mps):
            continue
        groups[id(configuration)] = configuration
        devices.append(device)
        reason = _without_mps(result, device)
        if reason is not None:
            raise FieldError(f"{configuration.path}.sharing.strategy: {reason}")
    if len(groups) > 1:
        first, second, *_ = groups.values()
        raise FieldError(
            f"{second.path}.sharing.strategy: a container can talk to one MPS daemon only, and"
            f" {first.path} asks for one already; put all devices under one entry"
        )
    for configuration in groups.values():
        _check_limits(configuration, devices)


def _without_mps(result: Result, device: Device) -> str | None:
    """Say why a device cannot be shared by MPS; `None` if it can."""
    if result.share_id is not None:
        return f"MPS cannot serve a share of {device.name}: each share would need its own pipe"
    if device.partition is not None and device.gpu.is_dynamic:
        return f"MPS cannot serve {device.name}: its partition is made for the claim"
    capability = device.gpu.compute_capability
    if capability is None or _version(capability) < MPS_CAPABILITY:
        return (
            f"MPS needs compute capability 7.0 or later, and {device.name} has"
            f" {capability or 'an unknown one'}"
        )
    return None


def _check_limits(configuration: Configuration, devices: Sequence[Device]) -> None:
    if not isinstance(configuration.sharing, Mps):
        return
    known = {str(index) for index in range(len(devices))} | {device.uuid for device in devices}
    for key in configuration.sharing.pinned_memory_mebibytes_by_device:
        if key not in known:
            raise FieldError(
                f"{configuration.path}.sharing.mpsConfig.defaultPerDevicePinnedMemoryLimit.{key}:"
                f" no index below {len(devices)} and no UUID of a device of this entry"
            )


def _version(capability: str) -> tuple[int, ...]:
    return tuple(int(part) for part in capability.split(".") if part.isdigit())
