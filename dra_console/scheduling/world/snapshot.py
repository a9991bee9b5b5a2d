"""The mirror as the allocator reads it, allocations on their way included.

An object that cannot be decoded is left out and named in `unreadable`: a broken slice hides
its own devices and nothing else. Of an unreadable claim that is allocated, the devices stay:
they are in use, whatever else it says.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.decoding.decode import decode_claim
from dra_console.allocator.model import Json, ResourceClaim, Snapshot
from dra_console.mirror import models as mirror
from dra_console.scheduling.models import WrittenAllocation
from dra_console.scheduling.world.decoded import (
    CLAIM_ROWS,
    CLASS_ROWS,
    NODE_ROWS,
    ROWS_AT_ONCE,
    RULE_ROWS,
    SLICE_ROWS,
    Entries,
    forget_removed_clusters,
)
from dra_console.scheduling.world.left_out import LeftOut


@dataclass(frozen=True, slots=True)
class ReadSnapshot:
    """A snapshot, and what had to be left out of it."""

    snapshot: Snapshot
    unreadable: tuple[LeftOut, ...]


def read_snapshot(cluster: mirror.Cluster) -> ReadSnapshot:
    """Read the mirrored state of a cluster, overlaid with writes not yet seen again."""
    forget_removed_clusters()
    # Before the claims: a note is forgotten once the mirror shows its allocation, so whoever
    # reads in this order misses neither.
    notes = list(WrittenAllocation.objects.filter(cluster=cluster))
    claims = CLAIM_ROWS.read(cluster)
    nodes = NODE_ROWS.read(cluster)
    slices = SLICE_ROWS.read(cluster)
    classes = CLASS_ROWS.read(cluster)
    rules = RULE_ROWS.read(cluster)
    snapshot = Snapshot(
        nodes=nodes.readable,
        slices=slices.readable,
        classes=classes.readable,
        claims=(*_with_written(notes, claims.readable), *_holding(cluster, claims)),
        taint_rules=rules.readable,
    )
    kinds = (claims, nodes, slices, classes, rules)
    return ReadSnapshot(snapshot, tuple(found for kind in kinds for found in kind.unreadable))


def _with_written(
    notes: Iterable[WrittenAllocation], claims: tuple[ResourceClaim, ...]
) -> tuple[ResourceClaim, ...]:
    written = {note.claim_uid: note.raw for note in notes}
    return tuple(
        decode_claim(written[claim.uid])
        if claim.uid in written and claim.allocation is None
        else claim
        for claim in claims
    )


def _holding(cluster: mirror.Cluster, claims: Entries[ResourceClaim]) -> Iterator[ResourceClaim]:
    """Give the devices of allocated claims that are not readable, as claims without a wish."""
    uids = (each.uid for each in claims.of.values() if isinstance(each.read, LeftOut))
    while chunk := list(islice(uids, ROWS_AT_ONCE)):
        for row in mirror.ResourceClaim.objects.filter(cluster=cluster, uid__in=chunk):
            if row.allocation is not None:
                yield holding(row.namespace, row.name, row.uid, allocation=row.allocation)


def holding(namespace: str, name: str, uid: str, *, allocation: Json) -> ResourceClaim:
    """Give the devices of a claim that is not readable, as a claim without a wish."""
    results: list[Json] = [
        {name: str(result.get(name, "")) for name in ("request", "driver", "pool", "device")}
        for result in objects_of(object_of(object_of(allocation).get("devices")).get("results"))
    ]
    return decode_claim(
        {
            "metadata": {"namespace": namespace, "name": name, "uid": uid},
            "status": {"allocation": {"devices": {"results": results}}},
        }
    )
