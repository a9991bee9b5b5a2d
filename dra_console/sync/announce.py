"""Say what a batch changed, once it is committed.

Other rooms of the process hear a signal, browsers hear topics. Nobody is told of a node's
heartbeat, which comes every few seconds and changes nothing that anybody decides on.
"""

from collections.abc import Collection, Sequence
from typing import Final

from django.db import transaction
from django.dispatch import Signal

from dra_console import events
from dra_console.allocator.model import Json, JsonObject
from dra_console.kube.kinds import (
    DEVICE_CLASSES,
    DEVICE_TAINT_RULES,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    RESOURCE_SLICES,
)
from dra_console.mirror.models import Cluster, Node, Pod, ResourceClaim
from dra_console.sync.changes import Row, RowChange
from dra_console.sync.objects import ObjectKey
from dra_console.sync.reading import object_in, objects_in

INVENTORY: Final = frozenset(
    kind.plural for kind in (NODES, RESOURCE_SLICES, DEVICE_CLASSES, DEVICE_TAINT_RULES)
)
DEMAND: Final = frozenset(kind.plural for kind in (PODS, RESOURCE_CLAIMS, RESOURCE_CLAIM_TEMPLATES))
KEYS_TOLD: Final = 200
"""Of more changes at once it is only said that there are many."""

BEATING_CONDITION_FIELDS: Final = frozenset({"lastHeartbeatTime"})


def announce(
    cluster: Cluster, *, plural: str, changes: Sequence[RowChange[Row]], devices_moved: bool
) -> None:
    """Tell of these changes on commit; `devices_moved` if a device was taken or released."""
    telling = [change for change in changes if not _is_heartbeat(change)]
    if not telling:
        return
    _tell(
        cluster,
        plural=plural,
        keys=_keys_of(telling) if len(telling) <= KEYS_TOLD else None,
        devices_moved=devices_moved,
        claim_uids=_claim_uids(cluster, telling),
    )


def announce_new(
    cluster: Cluster, *, plural: str, keys: Collection[ObjectKey], devices_moved: bool
) -> None:
    """Tell likewise of claims or slices that appeared."""
    names = sorted("/".join(filter(None, key)) for key in keys) if len(keys) <= KEYS_TOLD else None
    _tell(cluster, plural=plural, keys=names, devices_moved=devices_moved, claim_uids=())


def _tell(
    cluster: Cluster,
    *,
    plural: str,
    keys: Sequence[str] | None,
    devices_moved: bool,
    claim_uids: Collection[str],
) -> None:
    """Tell on commit; without `keys` there are many."""
    topics: set[str] = set()
    if plural in INVENTORY:
        _signal_on_commit(events.inventory_changed, cluster, plural, keys)
        topics.add(events.devices_topic(cluster.pk))
    if plural in DEMAND:
        _signal_on_commit(events.claims_changed, cluster, plural, keys)
        topics.add(events.claims_topic(cluster.pk))
    if devices_moved:
        topics.add(events.devices_topic(cluster.pk))
    topics |= {events.claim_topic(cluster.pk, uid) for uid in claim_uids}
    if topics:
        events.publish_on_commit(*sorted(topics))


def _signal_on_commit(
    signal: Signal, cluster: Cluster, plural: str, keys: Sequence[str] | None
) -> None:
    # Robust: the batch is committed by then; one listener's failure is logged by Django and
    # keeps neither the others from hearing nor the window from going on.
    transaction.on_commit(
        lambda: signal.send_robust(sender=None, cluster_id=cluster.pk, plural=plural, keys=keys)
    )


def _keys_of(changes: Sequence[RowChange[Row]]) -> list[str]:
    """List `namespace/name` of each object that changed, or the name of one in no namespace."""
    return sorted({str(row) for change in changes for row in change if row is not None})


def _claim_uids(cluster: Cluster, changes: Sequence[RowChange[Row]]) -> set[str]:
    """Return the claims that a page may be showing: changed themselves, or a pod of theirs.

    Nobody can be looking at a claim that appeared just now; so a first list of thousands
    sends no topic for each.
    """
    uids: set[str] = set()
    wanted: set[tuple[str, str]] = set()
    for change in changes:
        if isinstance(change.before, ResourceClaim):
            uids.add(change.before.uid)
        for row in (change.before, change.after):
            if isinstance(row, Pod):
                wanted |= {(row.namespace, name) for name in row.claim_names.values()}
    if wanted:
        named = ResourceClaim.objects.filter(
            cluster=cluster,
            namespace__in={namespace for namespace, _ in wanted},
            name__in={name for _, name in wanted},
        )
        uids |= {
            uid
            for namespace, name, uid in named.values_list("namespace", "name", "uid")
            if (namespace, name) in wanted
        }
    return uids


def _is_heartbeat(change: RowChange[Row]) -> bool:
    before, after = change.before, change.after
    if not (isinstance(before, Node) and isinstance(after, Node)):
        return False
    return _beyond_heartbeat(before.raw) == _beyond_heartbeat(after.raw)


def _beyond_heartbeat(node: JsonObject) -> list[Json]:
    """Return what of a node changes only when something happens."""
    metadata, status = object_in(node, "metadata"), object_in(node, "status")
    conditions: list[Json] = [
        {key: value for key, value in condition.items() if key not in BEATING_CONDITION_FIELDS}
        for condition in objects_in(status, "conditions")
    ]
    return [
        {key: metadata.get(key) for key in ("uid", "labels", "annotations", "deletionTimestamp")},
        object_in(node, "spec"),
        {key: value for key, value in status.items() if key not in {"conditions", "images"}},
        conditions,
    ]
