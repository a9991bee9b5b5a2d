"""Write claims that were never seen before: the rows that `reconcile` would write, faster."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

import msgspec

from dra_console.kube.kinds import RESOURCE_CLAIMS
from dra_console.mirror.models import Cluster, DeviceAssignment, ObjectChange, Pod, ResourceClaim
from dra_console.sync import bulk
from dra_console.sync.assignments import LONGEST_REQUEST, LONGEST_SHARE_ID, Held
from dra_console.sync.claim_shape import (
    NOTHING,
    AllocationShape,
    ClaimShape,
    Consumer,
    Request,
    Result,
    read_allocation,
    read_claim,
    read_consumers,
)
from dra_console.sync.claims import owners_among_pods, template_of_entry
from dra_console.sync.columns import claim_state, node_pinned_by
from dra_console.sync.history import Happening, first_names
from dra_console.sync.objects import ObjectKey
from dra_console.sync.reading import label_of, name_of, pool_of, time_of
from dra_console.sync.sent import (
    Owner,
    common_values,
    first_happening,
    last_happening,
)


class NewClaim(NamedTuple):
    """A claim as far as rows are made of it."""

    text: bytes
    claim: ClaimShape
    allocation: AllocationShape | None
    held: Mapping[Held, Result]
    consumers: list[Consumer]
    owner: Owner
    """The pod that it was generated for; blank if none."""

    @property
    def key(self) -> ObjectKey:
        """Return what names it."""
        return ObjectKey(self.claim.metadata.namespace, self.claim.metadata.name)


def read_claims(_: Cluster, texts: Iterable[bytes]) -> list[NewClaim]:
    """Read claims; those of another shape are left out."""
    return [claim for text in texts if (claim := _claim_of(text)) is not None]


def write_claims(cluster: Cluster, claims: Sequence[NewClaim], *, seen_at: datetime) -> bool:
    """Write the rows of claims of which there is none; tell whether they hold devices."""
    owned = [(each.key.namespace, name_of(each.owner.name)) for each in claims if each.owner.uid]
    pods = owners_among_pods(cluster, owned)
    rows: list[bulk.Values] = []
    assignments: list[bulk.Values] = []
    changes: list[bulk.Values] = []
    for each in claims:
        metadata = each.claim.metadata
        allocated_at = _allocated_at(each, seen_at=seen_at)
        rows.append(
            (
                *common_values(cluster.pk, metadata, each.text, seen_at=seen_at),
                *_columns(each, allocated_at, pods=pods),
            )
        )
        identity = (cluster.pk, metadata.uid, metadata.namespace, metadata.name)
        assignments += [
            (
                *identity,
                *held,
                result.admin_access,
                result.consumed_capacity,
                allocated_at or seen_at,
                None,
            )
            for held, result in each.held.items()
        ]
        changed = (cluster.pk, RESOURCE_CLAIMS.plural, metadata.namespace, metadata.name)
        changes += [
            (*changed, metadata.uid, seen_at, happened, detail)
            for happened, detail in _happenings(each)
        ]
    bulk.write_values(ResourceClaim, rows)
    bulk.write_values(DeviceAssignment, assignments)
    bulk.write_values(ObjectChange, changes)
    return bool(assignments)


def _claim_of(text: bytes) -> NewClaim | None:
    try:
        claim = read_claim(text)
        sent = claim.status.allocation
        allocation = None if sent is NOTHING else read_allocation(sent)
        results = allocation.devices.results if allocation else []
        if any(not bytes(each.consumed_capacity).startswith(b"{") for each in results):
            return None
        consumers = read_consumers(claim.status.reserved_for)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    owners = claim.metadata.owner_references
    owner = next(
        (each for each in owners if (each.kind, each.api_version) == ("Pod", "v1")), Owner()
    )
    return NewClaim(text, claim, allocation, _held_by(results), consumers, owner)


def _held_by(results: Iterable[Result]) -> dict[Held, Result]:
    held = {
        Held(
            each.request[:LONGEST_REQUEST],
            label_of(each.driver),
            pool_of(each.pool),
            label_of(each.device),
            each.share_id[:LONGEST_SHARE_ID],
        ): each
        for each in results
    }
    return {one: each for one, each in held.items() if one.driver and one.pool and one.device}


def _columns(
    each: NewClaim, allocated_at: datetime | None, *, pods: Mapping[str, Pod]
) -> bulk.Values:
    metadata, status = each.claim.metadata, each.claim.status
    owner_pod = name_of(each.owner.name)
    state = claim_state(
        is_deleting=bool(metadata.deletion_timestamp),
        is_allocated=each.allocation is not None,
        is_reserved=bool(each.consumers),
    )
    return (
        state.value,
        None if each.allocation is None else status.allocation,
        allocated_at,
        status.reserved_for,
        _class_names(each.claim.spec.devices.requests),
        _only_node(each.allocation),
        owner_pod,
        template_of_entry(
            metadata.annotations.pod_claim_name,
            owner=(metadata.namespace, owner_pod),
            pod=pods.get(each.owner.uid),
        ),
    )


def _allocated_at(each: NewClaim, *, seen_at: datetime) -> datetime | None:
    if each.allocation is None:
        return None
    return time_of(each.allocation.allocation_timestamp) or seen_at


def _class_names(requests: Iterable[Request]) -> list[str]:
    wishes = (wish for each in requests for wish in (each.exactly, *each.first_available))
    names = dict.fromkeys(wish.device_class_name for wish in wishes)
    return [name for name in names if name]


def _only_node(allocation: AllocationShape | None) -> str:
    terms = allocation.node_selector.node_selector_terms if allocation else []
    fields = terms[0].match_fields if len(terms) == 1 else []
    nodes = (node_pinned_by(each.key, each.operator, each.values) for each in fields)
    return next(filter(None, nodes), "")


def _happenings(each: NewClaim) -> Iterator[Happening]:
    yield first_happening(each.claim.metadata)
    if each.allocation is not None:
        devices = [f"{held.driver}/{held.pool}/{held.device}" for held in each.held]
        yield "allocated", first_names("devices", devices)
    if each.consumers:
        names = [f"{consumer.resource}/{consumer.name}" for consumer in each.consumers]
        yield "reserved", first_names("reserved_for", names)
    yield from last_happening(each.claim.metadata)
