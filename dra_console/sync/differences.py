"""Compare mirror and API server object by object; an operator's and the tests' check.

A mirror that is being written lags by a moment, so one comparison proves nothing. A
difference counts when it stays over several looks while the mirror's side of it does not
move: then it is not a lag.
"""

import time
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.client import Client
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES
from dra_console.mirror.models import Cluster, Device, DeviceAssignment, ResourceSlice
from dra_console.sync.assignments import held_by
from dra_console.sync.columns import allocation_of
from dra_console.sync.mirrored import Mirrored
from dra_console.sync.objects import ObjectKey, metadata_of, storable
from dra_console.sync.pools import newest
from dra_console.sync.reading import objects_in, text_in

LOOKS: Final = 6
PAUSE_SECONDS: Final = 1.0


class Difference(NamedTuple):
    """Where the mirror does not say what the API server says."""

    subject: str
    """Such as `resourceclaims team-vision/train` or `assignments`."""

    mirrored: str
    """What the mirror has: a resource version, or the word for what is wrong."""


def lasting_differences(
    cluster: Cluster, *, mirrored: Mirrored, client: Client
) -> Mapping[Difference, str]:
    """Return the differences that are no lag, each with what the API server says instead.

    Raises:
        ApiError: the API server could not be asked.

    """
    found = dict(_differences(cluster, mirrored=mirrored, client=client))
    for _ in range(LOOKS - 1):
        if not found:
            break
        time.sleep(PAUSE_SECONDS)
        again = dict(_differences(cluster, mirrored=mirrored, client=client))
        found = {difference: again[difference] for difference in found if difference in again}
    return found


def _differences(
    cluster: Cluster, *, mirrored: Mirrored, client: Client
) -> Iterator[tuple[Difference, str]]:
    objects = {
        metadata_of(subject).key: storable(subject)
        for subject in client.list(mirrored.kind).items
        if mirrored.concerns_us(subject)
    }
    rows = {ObjectKey(row.namespace, row.name): row for row in mirrored.rows(cluster)}
    for key in sorted(objects.keys() | rows.keys()):
        subject = f"{mirrored.kind.plural} {'/'.join(filter(None, key))}"
        row, there = rows.get(key), objects.get(key)
        if there is None:
            yield Difference(subject, row.resource_version if row else ""), "not there"
        elif row is None:
            yield Difference(subject, "missing"), f"version {metadata_of(there).resource_version}"
        elif field := _first_difference(row.raw, there, path=""):
            difference = Difference(subject, row.resource_version)
            yield difference, f"version {metadata_of(there).resource_version}, {field} differs"
    if mirrored.kind == RESOURCE_CLAIMS:
        yield from _assignment_differences(cluster, objects)
    if mirrored.kind == RESOURCE_SLICES:
        yield from _device_differences(cluster)


def _first_difference(ours: Json, theirs: Json, *, path: str) -> str:
    """Return the path of the first field that differs; empty if none does."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for key in sorted(ours.keys() | theirs.keys()):
            if key not in ours or key not in theirs:
                return f"{path}.{key}".lstrip(".")
            if found := _first_difference(ours[key], theirs[key], path=f"{path}.{key}"):
                return found
        return ""
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = enumerate(zip(ours, theirs, strict=True))
        inside = (_first_difference(a, b, path=f"{path}[{index}]") for index, (a, b) in pairs)
        return next(filter(None, inside), "")
    return "" if ours == theirs else path.lstrip(".") or "the whole object"


def _assignment_differences(
    cluster: Cluster, claims: Mapping[ObjectKey, JsonObject]
) -> Iterator[tuple[Difference, str]]:
    """Compare who holds which device now."""
    holding = {
        _holder(held.driver, held.pool, held.device, text_in(claim, "metadata", "uid"))
        for claim in claims.values()
        for held in held_by(allocation_of(claim))
    }
    mirrored = {
        _holder(row.driver, row.pool, row.device, row.claim_uid)
        for row in DeviceAssignment.objects.filter(cluster=cluster, released_at=None)
    }
    for holder in sorted(holding - mirrored):
        yield Difference(f"assignment of {holder}", "missing"), "allocated"
    for holder in sorted(mirrored - holding):
        yield Difference(f"assignment of {holder}", "open"), "not allocated"


def _holder(driver: str, pool: str, device: str, claim_uid: str) -> str:
    return f"{driver}/{pool}/{device} by claim {claim_uid}"


def _device_differences(cluster: Cluster) -> Iterator[tuple[Difference, str]]:
    """Compare the devices of each pool with its newest mirrored slices."""
    pools: dict[tuple[str, str], list[ResourceSlice]] = {}
    for row in ResourceSlice.objects.filter(cluster=cluster):
        pools.setdefault((row.driver, row.pool), []).append(row)
    published = {
        f"{row.driver}/{row.pool}/{text_in(device, 'name')}"
        for slices in pools.values()
        for row in newest(slices)
        for device in objects_in(row.raw, "spec", "devices")
    }
    mirrored = {str(row) for row in Device.objects.filter(cluster=cluster)}
    for name in sorted(published - mirrored):
        yield Difference(f"device {name}", "missing"), "published"
    for name in sorted(mirrored - published):
        yield Difference(f"device {name}", "there"), "not published"
