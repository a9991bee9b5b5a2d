"""The mirror as the allocator reads it, allocations on their way included.

Objects are decoded once for each version and kept for as long as the mirror shows that
version. An object that cannot be decoded is left out and named in `unreadable`: a broken
slice hides its own devices and nothing else.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import timedelta
from threading import Lock
from typing import Generic, TypeVar

import structlog
from django.utils import timezone

from dra_console.allocator.decode import (
    decode_claim,
    decode_class,
    decode_node,
    decode_slice,
    decode_taint_rule,
)
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject, ResourceClaim, Snapshot
from dra_console.kube.client import Client
from dra_console.kube.errors import ApiError, NotFoundError
from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror import models as mirror
from dra_console.scheduling.models import WrittenAllocation

ASK_AFTER = timedelta(seconds=10)
"""A write that the mirror has not shown for so long is looked up at the API server."""

Decoded = TypeVar("Decoded")

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An object that no device can come from, and why."""

    kind: str
    name: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class ReadSnapshot:
    """A snapshot, and what had to be left out of it."""

    snapshot: Snapshot
    unreadable: tuple[Unreadable, ...]


class _DecodedVersions(Generic[Decoded]):
    """Decoded objects of one kind, by UID and version, kept between two snapshots."""

    def __init__(self, decode: Callable[[JsonObject], Decoded]) -> None:
        self._decode = decode
        self._kept: dict[tuple[int, str, str], Decoded | DecodeError] = {}
        self._lock = Lock()

    def read(
        self, rows: Iterable[mirror.cluster.MirroredObject], *, unreadable: list[Unreadable]
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
                kind = str(row.raw.get("kind", ""))
                unreadable.append(Unreadable(kind, str(row), decoded.path, decoded.message))
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


_nodes = _DecodedVersions(decode_node)
_slices = _DecodedVersions(decode_slice)
_classes = _DecodedVersions(decode_class)
_claims = _DecodedVersions(decode_claim)
_rules = _DecodedVersions(decode_taint_rule)


def read_snapshot(cluster: mirror.Cluster) -> ReadSnapshot:
    """Decode the mirrored state of a cluster, overlaid with writes not yet seen again."""
    unreadable: list[Unreadable] = []
    of_cluster = {"cluster": cluster}
    claims = _claims.read(mirror.ResourceClaim.objects.filter(**of_cluster), unreadable=unreadable)
    snapshot = Snapshot(
        nodes=_nodes.read(mirror.Node.objects.filter(**of_cluster), unreadable=unreadable),
        slices=_slices.read(
            mirror.ResourceSlice.objects.filter(**of_cluster), unreadable=unreadable
        ),
        classes=_classes.read(
            mirror.DeviceClass.objects.filter(**of_cluster), unreadable=unreadable
        ),
        claims=_with_written(cluster, claims),
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
    """Tell whether the API server no longer holds the noted allocation."""
    if timezone.now() - note.written_at < ASK_AFTER:
        return False
    metadata = note.raw["metadata"]
    try:
        live = client.get(RESOURCE_CLAIMS, metadata["name"], namespace=metadata["namespace"])
    except NotFoundError:
        return True
    except ApiError as error:
        log.warning("noted allocation not checked", claim=note.claim_uid, error=str(error))
        return False
    is_same = decode_claim(live).uid == note.claim_uid
    return not (is_same and decode_claim(live).allocation is not None)


def _with_written(
    cluster: mirror.Cluster, claims: tuple[ResourceClaim, ...]
) -> tuple[ResourceClaim, ...]:
    notes = WrittenAllocation.objects.filter(cluster=cluster)
    written = {note.claim_uid: decode_claim(note.raw) for note in notes}
    return tuple(
        written[claim.uid] if claim.uid in written and claim.allocation is None else claim
        for claim in claims
    )
