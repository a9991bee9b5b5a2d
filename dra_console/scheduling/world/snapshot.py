"""The mirror as the allocator reads it, allocations on their way included.

Objects are decoded once for each version and kept for as long as the mirror shows that
version. An object that cannot be decoded is left out and named in `unreadable`: a broken
slice hides its own devices and nothing else. Of an unreadable claim that is allocated, the
devices stay: they are in use, whatever else it says.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock
from typing import Generic, TypeVar

import structlog

from dra_console.allocator.api_json import object_of, objects_of
from dra_console.allocator.decoding.decode import (
    decode_claim,
    decode_class,
    decode_node,
    decode_slice,
    decode_taint_rule,
)
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import Json, JsonObject, ResourceClaim, Snapshot
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, NotFoundError
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NODES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from dra_console.mirror import models as mirror
from dra_console.mirror.clock import database_now
from dra_console.scheduling.models import WrittenAllocation
from dra_console.scheduling.world.left_out import LeftOut

ASK_AFTER = timedelta(seconds=10)
"""A write that the mirror has not shown for so long is looked up at the API server."""

WRITE_LIFE = timedelta(seconds=90)
"""A write whose answer was lost may still happen for so long: API servers end a request
after 60 s by default."""

Decoded = TypeVar("Decoded")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class ReadSnapshot:
    """A snapshot, and what had to be left out of it."""

    snapshot: Snapshot
    unreadable: tuple[LeftOut, ...]


class _DecodedVersions(Generic[Decoded]):
    """Decoded objects of one kind, by UID and version, kept between two snapshots."""

    def __init__(self, kind: Kind, decode: Callable[[JsonObject], Decoded]) -> None:
        self._plural = kind.plural
        self._decode = decode
        self._kept: dict[tuple[int, str, str], Decoded | DecodeError] = {}
        self._lock = Lock()

    def read(
        self, rows: Iterable[mirror.cluster.MirroredObject], *, unreadable: list[LeftOut]
    ) -> tuple[Decoded, ...]:
        with self._lock:
            kept = self._kept
        fresh: dict[tuple[int, str, str], Decoded | DecodeError] = {}
        result = []
        for row in rows:
            key = (row.cluster_id, row.uid, row.resource_version)
            decoded = kept.get(key)
            if decoded is None:
                decoded = self._try(row.raw)
            fresh[key] = decoded
            if isinstance(decoded, DecodeError):
                unreadable.append(
                    LeftOut(self._plural, row.namespace, row.name, decoded.path, decoded.message)
                )
            else:
                result.append(decoded)
        with self._lock:
            self._kept = fresh
        return tuple(result)

    def _try(self, raw: JsonObject) -> Decoded | DecodeError:
        try:
            return self._decode(raw)
        except DecodeError as error:
            return error


_nodes = _DecodedVersions(NODES, decode_node)
_slices = _DecodedVersions(RESOURCE_SLICES, decode_slice)
_classes = _DecodedVersions(DEVICE_CLASSES, decode_class)
_claims = _DecodedVersions(RESOURCE_CLAIMS, decode_claim)
_rules = _DecodedVersions(DEVICE_TAINT_RULES, decode_taint_rule)


def read_snapshot(cluster: mirror.Cluster) -> ReadSnapshot:
    """Decode the mirrored state of a cluster, overlaid with writes not yet seen again."""
    unreadable: list[LeftOut] = []
    of_cluster = {"cluster": cluster}
    # Before the claims: a note is forgotten once the mirror shows its allocation, so whoever
    # reads in this order misses neither.
    notes = list(WrittenAllocation.objects.filter(**of_cluster))
    rows = list(mirror.ResourceClaim.objects.filter(**of_cluster))
    claims = _claims.read(rows, unreadable=unreadable)
    snapshot = Snapshot(
        nodes=_nodes.read(mirror.Node.objects.filter(**of_cluster), unreadable=unreadable),
        slices=_slices.read(
            mirror.ResourceSlice.objects.filter(**of_cluster), unreadable=unreadable
        ),
        classes=_classes.read(
            mirror.DeviceClass.objects.filter(**of_cluster), unreadable=unreadable
        ),
        claims=(*_with_written(notes, claims), *_holding(rows, readable=claims)),
        taint_rules=_rules.read(
            mirror.DeviceTaintRule.objects.filter(**of_cluster), unreadable=unreadable
        ),
    )
    return ReadSnapshot(snapshot, tuple(unreadable))


def settle_written(cluster: mirror.Cluster, client: Client) -> None:
    """Forget noted writes that the mirror shows, or that turn out not to stand."""
    for note in WrittenAllocation.objects.filter(cluster=cluster):
        row = mirror.ResourceClaim.objects.filter(cluster=cluster, uid=note.claim_uid).first()
        if row is None or row.allocation is not None or _is_superseded(note, client):
            note.delete()


def _is_superseded(note: WrittenAllocation, client: Client) -> bool:
    """Tell whether the API server does not hold the noted allocation, and never will.

    Each write carries the version that it is based on: once the claim has another one, a
    write that is still under way is refused.
    """
    age = database_now() - note.written_at
    if age < ASK_AFTER:
        return False
    metadata = note.raw["metadata"]
    try:
        live = client.get(RESOURCE_CLAIMS, metadata["name"], namespace=metadata["namespace"])
    except NotFoundError:
        return True
    except ApiError as error:
        log.warning("noted allocation not checked", claim=note.claim_uid, error=str(error))
        return False
    live_metadata = object_of(live.get("metadata"))
    if live_metadata.get("uid") != note.claim_uid:
        return True
    if object_of(live.get("status")).get("allocation") is not None:
        return False
    return live_metadata.get("resourceVersion") != metadata["resourceVersion"] or age > WRITE_LIFE


def _with_written(
    notes: Iterable[WrittenAllocation], claims: tuple[ResourceClaim, ...]
) -> tuple[ResourceClaim, ...]:
    written = {note.claim_uid: decode_claim(note.raw) for note in notes}
    return tuple(
        written[claim.uid] if claim.uid in written and claim.allocation is None else claim
        for claim in claims
    )


def _holding(
    rows: Iterable[mirror.ResourceClaim], *, readable: Iterable[ResourceClaim]
) -> Iterator[ResourceClaim]:
    """Give the devices of allocated claims that are not readable, as claims without a wish."""
    known = {claim.uid for claim in readable}
    for row in rows:
        if row.allocation is None or row.uid in known:
            continue
        results: list[Json] = [
            {name: str(result.get(name, "")) for name in ("request", "driver", "pool", "device")}
            for result in objects_of(object_of(row.allocation.get("devices")).get("results"))
        ]
        yield decode_claim(
            {
                "metadata": {"namespace": row.namespace, "name": row.name, "uid": row.uid},
                "status": {"allocation": {"devices": {"results": results}}},
            }
        )
