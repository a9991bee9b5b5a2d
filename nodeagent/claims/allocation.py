"""The part of a ResourceClaim that a node needs: what was allocated, and for whom.

The same in v1, v1beta2 and v1beta1 (dra-semantics.md 1.5 and 1.13).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from nodeagent.fields import FieldError, Fields, JsonObject

SUBREQUEST_SEPARATOR: Final = "/"
POD_CLAIM_NAME: Final = "resource.kubernetes.io/pod-claim-name"


class ConfigSource(StrEnum):
    """Who gave a configuration; the API's own spelling."""

    FROM_CLASS = "FromClass"
    FROM_CLAIM = "FromClaim"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One allocated device of a claim."""

    request: str
    """`request`, or `request/subrequest` where the claim had alternatives."""

    driver: str
    pool: str
    device: str
    admin_access: bool = False
    share_id: str | None = None
    consumed: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    """What this share was granted of the device's capacities, as quantities."""

    @property
    def main_request(self) -> str:
        """The request by which a container refers to it."""
        return self.request.partition(SUBREQUEST_SEPARATOR)[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpaqueConfig:
    """Configuration for a driver, as a class or a claim gave it."""

    source: ConfigSource
    requests: tuple[str, ...]
    """To which requests it applies; empty: to all."""

    driver: str
    parameters: Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class AllocatedClaim:
    """A claim whose devices are chosen."""

    namespace: str
    name: str
    uid: str
    resource_version: str
    results: tuple[Result, ...]
    config: tuple[OpaqueConfig, ...]
    is_reserved: bool
    """Somebody may use it now; kubelet asks for no other claim."""

    pod_claim_name: str | None = None
    """What the pod calls it, if it was made from a template."""


def decode_claim(claim: JsonObject) -> AllocatedClaim:
    """Read a ResourceClaim as the API server sent it.

    Raises:
        FieldError: it is not allocated, or a field is missing, of the wrong kind, or newer than
            this agent (then it may mean something that must not be ignored).

    """
    fields = Fields(claim, "")
    metadata = fields.object("metadata")
    status = fields.optional_object("status") or Fields({}, "status")
    allocation = status.optional_object("allocation")
    if allocation is None:
        raise FieldError("status.allocation: the claim is not allocated")
    annotations = metadata.optional_object("annotations") or Fields({}, "metadata.annotations")
    devices = allocation.optional_object("devices") or Fields({}, "status.allocation.devices")
    return AllocatedClaim(
        namespace=metadata.text("namespace"),
        name=metadata.text("name"),
        uid=metadata.text("uid"),
        resource_version=metadata.text("resourceVersion"),
        results=tuple(_result(result) for result in devices.objects("results")),
        config=tuple(_config(config) for config in devices.objects("config")),
        is_reserved=bool(status.objects("reservedFor")),
        pod_claim_name=annotations.optional_text(POD_CLAIM_NAME) or None,
    )


def _result(result: Fields) -> Result:
    consumed = result.optional_object("consumedCapacity")
    return Result(
        request=result.text("request"),
        driver=result.text("driver"),
        pool=result.text("pool"),
        device=result.text("device"),
        admin_access=result.flag("adminAccess"),
        share_id=result.optional_text("shareID"),
        consumed=MappingProxyType(
            {name: consumed.text(name) for name in consumed.value} if consumed else {}
        ),
    )


def _config(config: Fields) -> OpaqueConfig:
    source = config.text("source")
    if source not in tuple(ConfigSource):
        expected = " or ".join(ConfigSource)
        raise FieldError(f"{config.path}.source: expected {expected}, got {source!r}")
    opaque = config.optional_object("opaque")
    if opaque is None:
        raise FieldError(
            f"{config.path}.opaque: expected an object; this agent knows no other kind"
        )
    return OpaqueConfig(
        source=ConfigSource(source),
        requests=config.texts("requests"),
        driver=opaque.text("driver"),
        parameters=opaque.object("parameters"),
    )
