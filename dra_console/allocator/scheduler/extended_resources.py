"""The claim that kube-scheduler makes for extended resources of a pod (KEP-5004).

A container may ask for `example.com/gpu: 2` as if a device plugin were there. If a class
stands in for the name and the node has no such plugin, the devices come from a claim of the
pod's own, which is made for the node that is looked at and allocated after all other claims.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from dra_console.allocator.api_json import JsonObject
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.model import (
    ClaimSpec,
    DeviceClass,
    DeviceRequest,
    DeviceWish,
    ResourceClaim,
)
from dra_console.allocator.names import label_key
from dra_console.allocator.quantity import Quantity

IMPLICIT_PREFIX: Final = "deviceclass.resource.kubernetes.io/"
NATIVE_DOMAIN: Final = "kubernetes.io/"
QUOTA_PREFIX: Final = "requests."
SPECIAL_CLAIM: Final = "<extended-resources>"
"""Name of the claim as long as it is in memory only."""


@dataclass(frozen=True, slots=True)
class RequestMapping:
    """Which request of the claim serves a container's resource, as the pod's status says."""

    container: str
    resource: str
    request: str


@dataclass(frozen=True, slots=True)
class SpecialClaim:
    """The claim for one node; to be allocated after the pod's other claims."""

    claim: ResourceClaim
    mappings: tuple[RequestMapping, ...]


@dataclass(frozen=True, slots=True)
class NotProvided:
    """No device plugin of the node and no class provides the resource, so the node is out."""

    resource: str

    def __str__(self) -> str:
        return f"cannot fit resource {self.resource}"


@dataclass(frozen=True, slots=True)
class _Container:
    index: int
    """Among init containers, then regular ones."""

    name: str
    is_long_lived: bool
    """Whether it runs beside the others: a regular container, or an init one that stays."""

    requests: Mapping[str, Quantity]

    def count(self, resource: str) -> int:
        """Return how many devices it asks for; fractions are no number of devices."""
        amount = self.requests.get(resource, Quantity(0))
        return amount.units_rounded_up if amount.is_whole else 0

    def request_name(self, resource: str) -> str:
        return f"container-{self.index}-request-{sorted(self.requests).index(resource)}"


def class_for(resource: str, *, classes: Iterable[DeviceClass]) -> DeviceClass | None:
    """Find the class that stands in for an extended resource.

    Of several the newest is taken, of equally old ones the one whose name comes first.
    """
    found = sorted((each for each in classes if _serves(each, resource)), key=lambda e: e.name)
    return max(found, key=lambda each: each.created_at, default=None)


def _serves(device_class: DeviceClass, resource: str) -> bool:
    return resource in {device_class.extended_resource_name, IMPLICIT_PREFIX + device_class.name}


def special_claim(
    pod: JsonObject, *, allocatable: Mapping[str, Quantity], classes: Sequence[DeviceClass]
) -> SpecialClaim | NotProvided | None:
    """Build the claim for a pod on a node with these allocatable resources.

    `None` if the node provides all of the pod's resources without a claim.

    Raises:
        DecodeError: a field of the pod is of the wrong kind.

    """
    containers = tuple(_containers(pod))
    wanted = sorted(
        name
        for name in {name for each in containers for name in each.requests}
        if is_extended_resource(name) and any(each.requests.get(name) for each in containers)
    )
    class_of = {name: class_for(name, classes=classes) for name in wanted}
    if not any(class_of.values()):
        return None
    served = [name for name in wanted if class_of[name] and not allocatable.get(name)]
    for name in wanted:
        if name not in served and name not in allocatable:
            return NotProvided(name)
    if not served:
        return None
    requests: list[DeviceRequest] = []
    mappings: list[RequestMapping] = []
    for name in served:
        device_class = class_of[name]
        if device_class is not None:
            more_requests, more_mappings = _of_resource(name, device_class, containers)
            requests += more_requests
            mappings += more_mappings
    metadata = Fields.at("", pod).child("metadata") or Fields("metadata", {})
    ordered = tuple(sorted(requests, key=lambda each: each.name))
    claim = ResourceClaim(
        namespace=metadata.text("namespace"), name=SPECIAL_CLAIM, spec=ClaimSpec(requests=ordered)
    )
    return SpecialClaim(claim, tuple(mappings))


def is_extended_resource(name: str) -> bool:
    """Tell whether a class could stand in for a resource of this name."""
    if name.startswith(IMPLICIT_PREFIX):
        return True
    is_native = "/" not in name or NATIVE_DOMAIN in name
    is_named_well = not any(label_key(QUOTA_PREFIX + name))
    return not is_native and not name.startswith(QUOTA_PREFIX) and is_named_well


def _of_resource(
    resource: str, device_class: DeviceClass, containers: Sequence[_Container]
) -> tuple[list[DeviceRequest], list[RequestMapping]]:
    """Make requests for one resource.

    Containers that run beside each other have a request each. Init containers that end before
    those start use the same devices, and one request more for the largest rest.
    """
    lasting: dict[int, DeviceRequest] = {}
    mappings: list[RequestMapping] = []
    for container in (each for each in containers if each.is_long_lived):
        count = container.count(resource)
        if count:
            request = _request(container, resource, device_class, count)
            lasting[container.index] = request
            mappings.append(RequestMapping(container.name, resource, request.name))
    largest: DeviceRequest | None = None
    passing: list[tuple[RequestMapping, bool]] = []
    """Mappings of init containers, and whether they are to a request for a rest."""
    for container in (each for each in containers if not each.is_long_lived):
        missing = container.count(resource)
        for index in sorted(lasting):
            if missing > 0 and index >= container.index:
                name = lasting[index].name
                passing.append((RequestMapping(container.name, resource, name), False))
                missing -= _count(lasting[index])
        if missing > 0:
            request = _request(container, resource, device_class, missing)
            passing.append((RequestMapping(container.name, resource, request.name), True))
            if largest is None or _count(largest) < missing:
                largest = request
    for mapping, is_rest in passing:
        name = largest.name if largest is not None and is_rest else mapping.request
        mappings.append(replace(mapping, request=name))
    return [*([largest] if largest is not None else []), *lasting.values()], mappings


def _request(
    container: _Container, resource: str, device_class: DeviceClass, count: int
) -> DeviceRequest:
    return DeviceRequest(
        name=container.request_name(resource), exactly=DeviceWish(device_class.name, count=count)
    )


def _count(request: DeviceRequest) -> int:
    return request.exactly.count if request.exactly is not None else 0


def _containers(pod: JsonObject) -> Iterator[_Container]:
    spec = Fields.at("", pod).child("spec") or Fields("spec", {})
    early = [*spec.children("initContainers")]
    for index, fields in enumerate([*early, *spec.children("containers")]):
        resources = fields.child("resources") or Fields(fields.path_of("resources"), {})
        stays = fields.text("restartPolicy") == "Always"
        yield _Container(
            index=index,
            name=fields.text("name"),
            is_long_lived=index >= len(early) or stays,
            # The API server takes a limit for a request that is not given.
            requests={**resources.quantity_map("limits"), **resources.quantity_map("requests")},
        )
