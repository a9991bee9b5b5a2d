"""What a pod takes of its node, counted as kube-scheduler counts it. Pure.

Amounts are whole numbers: thousandths of a core for `cpu`, units for everything else, both
rounded up, as kube-scheduler keeps them. What is 0 is left out.

- Init containers run one by one before the others; those that restart always (sidecars,
  KEP-753) go on running beside all that comes after them.
- A container that is resized in place takes the most of what it asks for, what it was
  promised and what it has (KEP-1287); so does one whose wish is infeasible on its node.
- Requests of the pod as a whole (`spec.resources`, KEP-2837) replace those of its containers
  for cpu, memory and huge pages.
- Overhead of the runtime class comes on top (KEP-688).
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final, TypeAlias

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.model import Json, JsonObject
from dra_console.allocator.quantity import NANO, Quantity

CPU: Final = "cpu"
MEMORY: Final = "memory"
EPHEMERAL_STORAGE: Final = "ephemeral-storage"
HUGE_PAGES: Final = "hugepages-"

FINISHED: Final = frozenset({"Succeeded", "Failed"})
"""Phases in which a pod takes nothing any more."""

NANOS_IN_MILLI: Final = 10**6

Amounts: TypeAlias = Mapping[str, int]
"""By resource: thousandths of a core for `cpu`, units for all others."""


def is_finished(pod: JsonObject) -> bool:
    """Tell whether a pod has come to its end and gave its node back."""
    phase = object_of(pod.get("status")).get("phase")
    return isinstance(phase, str) and phase in FINISHED


def requests_of(pod: JsonObject) -> Amounts:
    """Compute what a pod requests at its peak.

    Raises:
        QuantityError: a request is not a quantity.

    """
    spec = object_of(pod.get("spec"))
    resized = _resized(object_of(pod.get("status")))
    running: dict[str, int] = {}
    peak: dict[str, int] = {}
    for container in objects_of(spec.get("initContainers")):
        stays = container.get("restartPolicy") == "Always"
        wanted = _of_container(container, resized if stays else {})
        for name, nanos in wanted.items():
            peak[name] = max(peak.get(name, 0), running.get(name, 0) + nanos)
            if stays:
                running[name] = running.get(name, 0) + nanos
    for container in objects_of(spec.get("containers")):
        for name, nanos in _of_container(container, resized).items():
            running[name] = running.get(name, 0) + nanos
    for name, nanos in peak.items():
        running[name] = max(nanos, running.get(name, 0))
    running |= {
        name: nanos
        for name, nanos in _requested(object_of(spec.get("resources"))).items()
        if name in {CPU, MEMORY} or name.startswith(HUGE_PAGES)
    }
    for name, nanos in _nanos(object_of(spec.get("overhead"))).items():
        running[name] = running.get(name, 0) + nanos
    return {name: _rounded(name, nanos) for name, nanos in running.items() if nanos > 0}


def amounts_of(quantities: Json) -> Amounts:
    """Read quantities by resource, such as `status.allocatable` of a node; rounded up as well.

    Raises:
        QuantityError: an amount is none.

    """
    return {name: _rounded(name, nanos) for name, nanos in _nanos(object_of(quantities)).items()}


def spelled(name: str, amount: int) -> str:
    """Write an amount of a resource as people do, such as `500m` or `16Gi`."""
    if name == CPU:
        return str(Quantity(amount * NANOS_IN_MILLI))
    is_binary = amount % 1024 == 0 and (
        name in {MEMORY, EPHEMERAL_STORAGE} or name.startswith(HUGE_PAGES)
    )
    return str(Quantity.parse(f"{amount // 1024}Ki") if is_binary else Quantity.of(amount))


def _of_container(
    container: JsonObject, resized: Mapping[str, list[JsonObject]]
) -> Mapping[str, int]:
    resources = object_of(container.get("resources"))
    most = _requested(resources)
    for other in resized.get(str(container.get("name", "")), ()):
        # Nearly always the same.
        if other != resources.get("requests"):
            for name, nanos in _nanos(other).items():
                most[name] = max(most.get(name, 0), nanos)
    return most


def _resized(status: JsonObject) -> Mapping[str, list[JsonObject]]:
    """Return what containers were promised and what they have, by the container's name."""
    found: dict[str, list[JsonObject]] = {}
    for key in ("containerStatuses", "initContainerStatuses"):
        for each in objects_of(status.get(key)):
            others = [
                object_of(object_of(each.get("resources")).get("requests")),
                object_of(each.get("allocatedResources")),
            ]
            if any(others):
                found[str(each.get("name", ""))] = [other for other in others if other]
    return found


def _requested(resources: JsonObject) -> dict[str, int]:
    """Read requests; the API server takes a limit for a request that is not given."""
    limits = resources.get("limits")
    requests = resources.get("requests")
    if not limits:
        return _nanos(object_of(requests))
    return _nanos({**object_of(limits), **object_of(requests)})


def _nanos(quantities: JsonObject) -> dict[str, int]:
    return {
        name: _nanos_of(amount if isinstance(amount, str) else str(amount))
        for name, amount in quantities.items()
        if amount is not None
    }


@lru_cache(maxsize=4096)
def _nanos_of(text: str) -> int:
    return Quantity.parse(text).nanos


def _rounded(name: str, nanos: int) -> int:
    return -(-nanos // (NANOS_IN_MILLI if name == CPU else NANO))
