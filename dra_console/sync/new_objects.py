"""Write what of a page was never seen before the fast way, and leave the rest to `reconcile`.

A first list is nothing but new objects, nearly all of them of the usual shape. For those there
is nothing to compare with and nothing to take away: they are read in compiled code and written
as they are. The rows are the same whichever way they are written; tests hold both ways against
each other.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Any, Final

import structlog
from django.db import transaction

from dra_console.kube.changed import SentObject
from dra_console.kube.kinds import RESOURCE_CLAIMS, RESOURCE_SLICES, Kind
from dra_console.mirror.models import Cluster
from dra_console.sync import problems
from dra_console.sync.announce import announce_new
from dra_console.sync.errors import STUMBLES
from dra_console.sync.new_claims import read_claims, write_claims
from dra_console.sync.new_slices import read_slices, write_slices
from dra_console.sync.objects import ObjectKey
from dra_console.sync.sent import plain_text

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class _Way:
    """How new objects of one kind are read and written; what is read has a `key`."""

    read: Callable[[Cluster, Iterable[bytes]], Sequence[Any]]
    """Leaves out what is odd."""

    write: Callable[..., bool]
    """Tells whether a device was taken."""


WAYS: Final[Mapping[str, _Way]] = MappingProxyType(
    {
        RESOURCE_CLAIMS.plural: _Way(read_claims, write_claims),
        RESOURCE_SLICES.plural: _Way(read_slices, write_slices),
    }
)


def write_new(
    cluster: Cluster,
    *,
    kind: Kind,
    sent: Sequence[SentObject],
    stored: AbstractSet[ObjectKey],
    seen_at: datetime,
) -> list[SentObject]:
    """Write those that are new and nothing odd; return the others. `stored` is as in `apply`."""
    way = WAYS.get(kind.plural)
    if way is None:
        return [*sent]
    keys = [ObjectKey.of(each.identity) for each in sent]
    times = Counter(keys)
    texts = (
        plain_text(each)
        for key, each in zip(keys, sent, strict=True)
        if key not in stored and times[key] == 1
    )
    try:
        new = way.read(cluster, (text for text in texts if text is not None))
        written = {each.key for each in new}
        if not new:
            return [*sent]
        with transaction.atomic():
            devices_moved = way.write(cluster, new, seen_at=seen_at)
            problems.forget(cluster, kind=kind, keys=written)
            announce_new(cluster, plural=kind.plural, keys=written, devices_moved=devices_moved)
    except STUMBLES as error:
        # `reconcile` finds out which object it is.
        log.info("page written object by object", plural=kind.plural, reason=str(error))
        return [*sent]
    return [each for key, each in zip(keys, sent, strict=True) if key not in written]
