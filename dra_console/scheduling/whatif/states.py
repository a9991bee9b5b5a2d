"""The states that scenarios are answered on: what is mirrored now, and a few that were before.

A state is named by what it consists of: the versions of all objects that an answer depends on.
So equal names mean equal states, in every process of the console, and a scenario that names
its state gets the same answer as long as that is kept, or comes back.
"""

import hashlib
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import Lock
from typing import Final

from dra_console.allocator.api_json import JsonObject, object_of
from dra_console.allocator.model import ResourceClaim, Snapshot
from dra_console.allocator.world.index import carry_index, derive_index
from dra_console.mirror import models as mirror
from dra_console.mirror.clock import database_now
from dra_console.mirror.models.cluster import MirroredObject
from dra_console.scheduling.models import WrittenAllocation
from dra_console.scheduling.world.snapshot import read_snapshot

MODELS: Final = (
    mirror.ResourceSlice,
    mirror.DeviceClass,
    mirror.ResourceClaim,
    mirror.DeviceTaintRule,
    mirror.ResourceClaimTemplate,
)
"""Beside nodes, of whose versions most say nothing new."""

STATES_KEPT: Final = 4
"""Of all clusters together. They share the objects that are the same in several of them."""

READS: Final = 3
"""Before a state that changes while it is read gets a name that no other has."""

DIGEST_BYTES: Final = 10

LOOKING: Final = Lock()
"""Held by whoever asks about a state: what is found out about its devices is kept and shared.
Side by side, threads would not be faster anyway."""


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class State:
    """What was mirrored at one moment."""

    id: str
    read_at: datetime
    snapshot: Snapshot
    templates: Mapping[tuple[str, str], JsonObject]
    """The ResourceClaimTemplates as they were stored, by namespace and name."""

    unusable: Mapping[str, str]
    """Nodes that take no pod, by name, and why."""

    claims: Mapping[str, ResourceClaim] = field(init=False)
    """By `namespace/name`."""

    def __post_init__(self) -> None:
        """Index what is looked up by name."""
        object.__setattr__(self, "claims", {each.key: each for each in self.snapshot.claims})


@dataclass(frozen=True, slots=True)
class Chosen:
    """The state for an answer. `is_current` is false for one of before that was asked for."""

    state: State
    is_current: bool
    is_substitute: bool = False
    """True: the one that was asked for is no longer kept, and this is the one of now."""


class _KeptStates:
    """The states that were asked about last, and which one the mirror shows now."""

    def __init__(self) -> None:
        self._states: OrderedDict[tuple[int, str], State] = OrderedDict()
        self._latest: dict[int, tuple[str, State]] = {}
        """By cluster, with the versions of its rows."""
        self._lock: Final = Lock()

    def get(self, cluster: mirror.Cluster, state_id: str) -> State | None:
        with self._lock:
            state = self._states.get((cluster.pk, state_id))
            if state is not None:
                self._states.move_to_end((cluster.pk, state_id))
        return state

    def latest(self, cluster: mirror.Cluster) -> tuple[str, State] | None:
        with self._lock:
            return self._latest.get(cluster.pk)

    def keep(self, cluster: mirror.Cluster, versions: str, state: State) -> State:
        with self._lock:
            known = self._states.setdefault((cluster.pk, state.id), state)
            self._states.move_to_end((cluster.pk, state.id))
            self._latest[cluster.pk] = (versions, known)
            while len(self._states) > STATES_KEPT:
                (cluster_id, _), dropped = self._states.popitem(last=False)
                if self._latest.get(cluster_id, ("", None))[1] is dropped:
                    del self._latest[cluster_id]
        return known


_kept: Final = _KeptStates()


def choose_state(cluster: mirror.Cluster, state_id: str = "") -> Chosen:
    """Return the state of this name, as long as it is kept; else, or without one, that of now."""
    now = current_state(cluster)
    if not state_id or state_id == now.id:
        return Chosen(now, is_current=True)
    known = _kept.get(cluster, state_id)
    if known is not None:
        return Chosen(known, is_current=False)
    return Chosen(now, is_current=True, is_substitute=True)


def current_state(cluster: mirror.Cluster) -> State:
    """Return what is mirrored now; an equal state is the same object."""
    versions = _versions_of(cluster, *MODELS, mirror.Node)
    latest = _kept.latest(cluster)
    if latest is not None and latest[0] == versions:
        return latest[1]
    before = latest[1] if latest else None
    state = _read(cluster, before=before)
    for _ in range(READS):
        after = _versions_of(cluster, *MODELS, mirror.Node)
        if after == versions:
            return _kept.keep(cluster, versions, state)
        versions = after
        state = _read(cluster, before=before)
    moving = replace(state, id=f"{state.id}-{state.read_at.timestamp():.6f}")
    return _kept.keep(cluster, "", moving)


def _read(cluster: mirror.Cluster, *, before: State | None) -> State:
    snapshot = read_snapshot(cluster).snapshot
    if before is not None:
        snapshot = _carried(snapshot, before.snapshot)
    unusable = _unusable(cluster)
    nodes = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for node in snapshot.nodes:
        labels = sorted(node.labels.items())
        features = sorted(node.declared_features)
        nodes.update(repr((node.name, labels, features, unusable.get(node.name))).encode())
    rest = _versions_of(cluster, *MODELS)
    name = hashlib.blake2b(f"{rest} {nodes.hexdigest()}".encode(), digest_size=DIGEST_BYTES)
    return State(name.hexdigest(), database_now(), snapshot, _templates(cluster), unusable)


def _carried(snapshot: Snapshot, before: Snapshot) -> Snapshot:
    """Keep what was derived from a state before, as far as it holds for this one.

    Nodes get a new version with every report of their kubelet; what counts of them stays.
    """
    if snapshot.nodes == before.nodes:
        snapshot = replace(snapshot, nodes=before.nodes)
    carry_index(before, snapshot)
    derive_index(before, snapshot)
    return snapshot


def _versions_of(cluster: mirror.Cluster, *models: type[MirroredObject]) -> str:
    """Add up the versions of all objects of some kinds, and of what was written beside them."""
    digest = hashlib.blake2b(digest_size=DIGEST_BYTES)
    for model in models:
        digest.update(model.__name__.encode())
        rows = model._default_manager.filter(cluster=cluster).order_by("uid")  # noqa: SLF001 - Django's documented name
        for uid, version in rows.values_list("uid", "resource_version").iterator():
            digest.update(f"{uid} {version}\n".encode())
    notes = WrittenAllocation.objects.filter(cluster=cluster).order_by("claim_uid")
    for uid, raw in notes.values_list("claim_uid", "raw"):
        sent = object_of(object_of(raw).get("metadata")).get("resourceVersion")
        digest.update(f"written {uid} {sent}\n".encode())
    return digest.hexdigest()


def _templates(cluster: mirror.Cluster) -> Mapping[tuple[str, str], JsonObject]:
    rows = mirror.ResourceClaimTemplate.objects.filter(cluster=cluster)
    return {
        (namespace, name): raw
        for namespace, name, raw in rows.values_list("namespace", "name", "raw")
    }


def _unusable(cluster: mirror.Cluster) -> Mapping[str, str]:
    rows = mirror.Node.objects.filter(cluster=cluster)
    return {
        name: "the node is not ready" if ready is False else "the node is cordoned"
        for name, ready, unschedulable in rows.values_list("name", "ready", "unschedulable")
        if ready is False or unschedulable
    }
