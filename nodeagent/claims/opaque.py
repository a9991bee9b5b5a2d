"""Which opaque configuration applies to a device, and what it may say.

From weak to strong: the driver's default, the class's entries in list order, the claim's entries
in list order. The strongest entry that applies wins whole; fields are never merged. The position
in the merged list says nothing, the source does (node-agent.md 2.4).
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Final

from nodeagent.claims.allocation import ConfigSource, OpaqueConfig, Result
from nodeagent.devices.model import Device
from nodeagent.fields import FieldError, Fields

API_VERSION: Final = "resource.nvidia.com/v1beta1"


class ConfigKind(StrEnum):
    """The kinds of configuration, each for one kind of device."""

    GPU = "GpuConfig"
    MIG = "MigDeviceConfig"


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


def decode_kind(parameters: Fields) -> ConfigKind:
    """Check a configuration strictly and return its kind.

    Raises:
        FieldError: unknown kind or field, or a sharing strategy: none is offered yet, and a claim
            that asks for one must not run without.

    """
    api_version = parameters.text("apiVersion")
    kind = parameters.text("kind")
    if api_version != API_VERSION or kind not in tuple(ConfigKind):
        expected = " or ".join(ConfigKind)
        raise FieldError(
            f"{parameters.path}: expected {expected} of {API_VERSION}, got {kind} of {api_version}"
        )
    parameters.refuse_others(("apiVersion", "kind", "sharing"))
    sharing = parameters.optional_object("sharing")
    if sharing is not None:
        strategy = sharing.text("strategy")
        raise FieldError(f"{sharing.path}.strategy: {strategy} is not offered by this agent")
    return ConfigKind(kind)


def check_configs(
    results: Iterable[tuple[Result, Device]], configs: Iterable[OpaqueConfig], *, driver: str
) -> None:
    """Insist that each device's configuration is one that the agent can honour.

    Entries for other drivers are none of our business, whatever they hold.

    Raises:
        FieldError: one is not; nothing must be prepared then.

    """
    own = tuple(config for config in configs if config.driver == driver)
    kinds = {id(config): decode_kind(config.parameters) for config in own}
    for result, device in results:
        wanted = ConfigKind.MIG if device.partition else ConfigKind.GPU
        effective(result, own, fits=lambda config, wanted=wanted: kinds[id(config)] is wanted)  # type: ignore[misc] # mypy cannot type a default in a lambda
