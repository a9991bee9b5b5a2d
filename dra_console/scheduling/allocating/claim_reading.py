"""Claims as the API server sends them, or the mirror has them, to claims as plans see them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from dra_console.allocator.api_json import object_of
from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject, ResourceClaim
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror import models as mirror
from dra_console.scheduling.world.decoded import CLAIM_ROWS, ROWS_AT_ONCE
from dra_console.scheduling.world.left_out import LeftOut
from dra_console.scheduling.world.snapshot import holding


@dataclass(frozen=True, slots=True)
class ClaimsRead:
    """All claims of a cluster at one moment."""

    of: Mapping[str, ResourceClaim]
    """By key; of one that cannot be read, the devices that it holds."""

    unreadable: Mapping[str, LeftOut]
    pending: Iterator[JsonObject]
    """Those that lack devices, as the API server sent them."""


def read_claims(cluster: mirror.Cluster) -> ClaimsRead:
    """Read the claims that the mirror has; use up `pending` in the same transaction."""
    entries = CLAIM_ROWS.read(cluster).of
    unreadable = {key: each.read for key, each in entries.items() if isinstance(each.read, LeftOut)}
    of = {key: each.read for key, each in entries.items() if not isinstance(each.read, LeftOut)} | {
        key: holding(row.namespace, row.name, row.uid, allocation=row.allocation)
        for key, row in _rows(cluster, [entries[key].uid for key in unreadable])
    }
    return ClaimsRead(of, unreadable, _pending(cluster))


def read_claim(
    raw: JsonObject, *, before: ResourceClaim | None = None
) -> tuple[ResourceClaim, LeftOut | None]:
    """Read a claim; of one that cannot be read, the devices that it holds, and why it cannot.

    `before` is what was read of an older state of it: its spec can never change.
    """
    metadata = object_of(raw.get("metadata"))
    uid = str(metadata.get("uid", ""))
    try:
        if before is None or before.uid != uid:
            return decode_claim(raw), None
        return replace(decode_claim({**raw, "spec": {}}), spec=before.spec), None
    except DecodeError as error:
        namespace, name = str(metadata.get("namespace", "")), str(metadata.get("name", ""))
        allocation = object_of(raw.get("status")).get("allocation")
        held = holding(namespace, name, uid, allocation=allocation)
        plural = RESOURCE_CLAIMS.plural
        return held, LeftOut(plural, namespace, name, error.path, error.message)


def _pending(cluster: mirror.Cluster) -> Iterator[JsonObject]:
    waiting = mirror.ResourceClaim.objects.filter(
        cluster=cluster, state=mirror.ClaimState.PENDING
    ).order_by()
    pks = iter(list(waiting.values_list("pk", flat=True)))
    while chunk := list(islice(pks, ROWS_AT_ONCE)):
        yield from waiting.filter(pk__in=chunk).values_list("raw", flat=True)


def _rows(cluster: mirror.Cluster, uids: list[str]) -> Iterator[tuple[str, mirror.ResourceClaim]]:
    waiting = iter(uids)
    while chunk := list(islice(waiting, ROWS_AT_ONCE)):
        for row in mirror.ResourceClaim.objects.filter(cluster=cluster, uid__in=chunk):
            yield f"{row.namespace}/{row.name}", row
