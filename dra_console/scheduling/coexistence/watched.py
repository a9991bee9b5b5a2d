"""What detection knows of one cluster, kept between two looks and brought up to date.

A kind is read again only after its cursor has moved, and of its objects only those whose
version is another one. So a look at a cluster in which nothing happened costs one query, and
one after a change costs what changed and a list of versions. Of slices only `SliceFacts` stay;
whole devices are decoded pool by pool, compared with what claims ask for, and let go.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Final, TypeVar

from dra_console.allocator.decoding.decode import decode_slice
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import (
    Device,
    DeviceClass,
    DeviceId,
    DeviceResult,
    DeviceTaintRule,
    PoolId,
    ResourceSlice,
)
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NODES,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
    Kind,
)
from dra_console.mirror import models as mirror
from dra_console.mirror.raw_objects import parsed_raw, raw_text
from dra_console.scheduling.coexistence.facts import (
    HeldClaim,
    Mismatch,
    PodFacts,
    SliceFacts,
    World,
)
from dra_console.scheduling.coexistence.mismatches import why_no_match
from dra_console.scheduling.coexistence.reading import newest_devices, slice_facts
from dra_console.scheduling.coexistence.rows import (
    LOOKED_AT,
    UNKNOWN,
    Mark,
    claims_of,
    classes_of,
    marks_of,
    nodes_of,
    pods_of,
    rules_of,
)
from dra_console.scheduling.pace import Pace

Key = TypeVar("Key")

NOT_YET: Final[Mark] = ("never looked",)
CLAIMS_AT_ONCE: Final = 100
POOLS_AT_ONCE: Final = 25


class Watched:
    """One cluster; `refresh` is not for two threads at once."""

    def __init__(self, cluster: mirror.Cluster) -> None:
        self._cluster: Final = cluster
        self._marks: dict[Kind, Mark] = dict.fromkeys(LOOKED_AT, NOT_YET)
        self._claims: dict[str, tuple[str, HeldClaim]] = {}
        self._slices: dict[int, tuple[str, SliceFacts | None]] = {}
        self._pool_of: dict[int, PoolId] = {}
        self._classes: dict[str, tuple[str, DeviceClass]] = {}
        self._rules: list[DeviceTaintRule] = []
        self._pods: dict[tuple[str, str], PodFacts] = {}
        self._nodes: dict[str, bool | None] = {}
        self._mismatches: dict[str, dict[tuple[str, DeviceId], Mismatch]] = {}

    @property
    def unknown_kinds(self) -> list[str]:
        """Name the kinds that nothing can be said of; clusters may well have no taint rules."""
        return sorted(
            kind.plural
            for kind, mark in self._marks.items()
            if mark == UNKNOWN and kind != DEVICE_TAINT_RULES
        )

    @property
    def claims(self) -> int:
        """Count the claims that are looked at."""
        return len(self._claims)

    @property
    def devices(self) -> int | None:
        """Count published devices; None: not known."""
        if self._marks[RESOURCE_SLICES] in (UNKNOWN, NOT_YET):
            return None
        return sum(len(facts.devices) for _, facts in self._slices.values() if facts)

    def refresh(self, pace: Pace) -> bool:
        """Read what has changed, a little at a time; tell whether anything has."""
        marks = marks_of(self._cluster)
        moved = {kind for kind in LOOKED_AT if marks[kind] != self._marks[kind]}
        if not moved:
            return False
        pools: set[PoolId] = set()
        if RESOURCE_CLAIMS in moved:
            pools |= self._read_claims(pace)
        if DEVICE_CLASSES in moved:
            pools |= self._read_classes()
        if RESOURCE_SLICES in moved:
            pools |= self._list_slices()
        self._read_pools(pools, pace)
        if DEVICE_TAINT_RULES in moved:
            self._rules = rules_of(self._cluster)
        if PODS in moved:
            self._pods = pods_of(self._cluster)
        if NODES in moved:
            self._nodes = nodes_of(self._cluster)
        self._marks = marks
        return True

    def world(self) -> World:
        """Return what is known, for `detect`."""
        is_known = {kind: self._marks[kind] != UNKNOWN for kind in LOOKED_AT}
        return World(
            claims=[claim for _, claim in self._claims.values()],
            slices=[facts for _, facts in self._slices.values() if facts]
            if is_known[RESOURCE_SLICES]
            else None,
            mismatches={
                uid: tuple(found.values()) for uid, found in self._mismatches.items() if found
            }
            if is_known[DEVICE_CLASSES]
            else {},
            taint_rules=self._rules,
            pods=self._pods if is_known[PODS] else None,
            nodes=self._nodes if is_known[NODES] else None,
        )

    def _read_claims(self, pace: Pace) -> set[PoolId]:
        """Read claims of a version not seen before; return the pools that they are about."""
        rows = mirror.ResourceClaim.objects.filter(cluster=self._cluster).order_by()
        rows = rows.exclude(state=mirror.ClaimState.PENDING)
        versions = dict(rows.values_list("uid", "resource_version"))
        for uid in self._claims.keys() - versions.keys():
            del self._claims[uid]
            self._mismatches.pop(uid, None)
        changed = [
            uid
            for uid, version in versions.items()
            if uid not in self._claims or self._claims[uid][0] != version
        ]
        pools: set[PoolId] = set()
        for some in _chunks(changed, CLAIMS_AT_ONCE):
            for uid, version, claim in claims_of(rows.filter(uid__in=some)):
                self._claims[uid] = (version, claim)
                self._mismatches.pop(uid, None)
                pools |= _pools_of(claim)
            pace.rest()
        return pools

    def _read_classes(self) -> set[PoolId]:
        """Read all classes, which are few; return the pools held through those that changed."""
        before, now = self._classes, classes_of(self._cluster)
        self._classes = now
        changed = {name for name in before.keys() | now.keys() if before.get(name) != now.get(name)}
        return {
            pool_id
            for _, claim in self._claims.values()
            if any(wish.device_class_name in changed for wish in claim.wishes.values())
            for pool_id in _pools_of(claim)
        }

    def _list_slices(self) -> set[PoolId]:
        """Forget slices that are gone; return the pools of which something is new."""
        rows = mirror.ResourceSlice.objects.filter(cluster=self._cluster).order_by()
        listed = {
            pk: (version, PoolId(driver, pool))
            for pk, version, driver, pool in rows.values_list(
                "pk", "resource_version", "driver", "pool"
            )
        }
        pools = set()
        for pk in self._pool_of.keys() - listed.keys():
            pools.add(self._pool_of.pop(pk))
            self._slices.pop(pk, None)
        for pk, (version, pool_id) in listed.items():
            if pk not in self._slices or self._slices[pk][0] != version:
                self._pool_of[pk] = pool_id
                pools.add(pool_id)
        return pools

    def _read_pools(self, pools: set[PoolId], pace: Pace) -> None:
        """Decode the slices of these pools, and compare their devices with their claims."""
        if not pools:
            return
        of_pool: defaultdict[PoolId, list[int]] = defaultdict(list)
        for pk, pool_id in self._pool_of.items():
            if pool_id in pools:
                of_pool[pool_id].append(pk)
        uses: defaultdict[PoolId, list[tuple[HeldClaim, DeviceResult]]] = defaultdict(list)
        for _, claim in self._claims.values():
            for result in claim.results:
                if result.device_id.pool_id in pools:
                    uses[result.device_id.pool_id].append((claim, result))
        for some in _chunks(pools, POOLS_AT_ONCE):
            decoded = self._decode([pk for pool_id in some for pk in of_pool[pool_id]])
            for pool_id in some:
                devices = newest_devices(decoded.get(pool_id, ()))
                self._compare(uses[pool_id], devices)
            pace.rest()

    def _decode(self, pks: Sequence[int]) -> Mapping[PoolId, Sequence[ResourceSlice]]:
        decoded: defaultdict[PoolId, list[ResourceSlice]] = defaultdict(list)
        rows = mirror.ResourceSlice.objects.filter(pk__in=pks).order_by()
        for pk, version, text in rows.values_list("pk", "resource_version", raw_text()):
            try:
                published = decode_slice(parsed_raw(text))
            except DecodeError:
                # Its pool shows as incomplete, which is what allocators make of it, too.
                self._slices[pk] = (version, None)
                continue
            decoded[published.pool_id].append(published)
            self._slices[pk] = (version, slice_facts(published))
        return decoded

    def _compare(
        self, uses: Iterable[tuple[HeldClaim, DeviceResult]], devices: Mapping[str, Device]
    ) -> None:
        classes = {name: device_class for name, (_, device_class) in self._classes.items()}
        for claim, result in uses:
            found = self._mismatches.setdefault(claim.uid, {})
            key = (result.request, result.device_id)
            why = why_no_match(claim, result, device=devices.get(result.device), classes=classes)
            if why is None:
                found.pop(key, None)
            else:
                found[key] = why


def _pools_of(claim: HeldClaim) -> set[PoolId]:
    return {result.device_id.pool_id for result in claim.results}


def _chunks(keys: Iterable[Key], size: int) -> Iterator[list[Key]]:
    remaining = iter(keys)
    while chunk := list(islice(remaining, size)):
        yield chunk
