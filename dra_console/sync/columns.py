"""What each kind's row repeats of its object beside `raw`.

Pure: an object in, column values out. Texts that the API bounds are taken as they are;
texts that it does not bound are cut to their column.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Final, TypeAlias

from dra_console.allocator.model import Json, JsonObject
from dra_console.mirror.models import ClaimState
from dra_console.mirror.placed_pods import SCHEDULER_NAME
from dra_console.sync.reading import (
    LONGEST_NAME,
    flag_in,
    integer_in,
    label_in,
    name_in,
    object_in,
    objects_in,
    pool_in,
    text_in,
    texts_in,
)

Column: TypeAlias = Json | datetime
ColumnsOf: TypeAlias = Callable[[JsonObject], Mapping[str, Column]]

PHASE_LENGTH: Final = 16


def no_columns(_: JsonObject) -> Mapping[str, Column]:
    """Repeat nothing but the metadata."""
    return {}


def node_columns(node: JsonObject) -> Mapping[str, Column]:
    """Repeat what decides whether a node takes pods."""
    ready = {
        text_in(condition, "type"): text_in(condition, "status")
        for condition in objects_in(node, "status", "conditions")
    }.get("Ready")
    return {
        "ready": {"True": True, "False": False}.get(ready or ""),
        "unschedulable": flag_in(node, "spec", "unschedulable"),
    }


def pod_columns(pod: JsonObject) -> Mapping[str, Column]:
    """Repeat a pod's place and its claims."""
    return {
        "phase": text_in(pod, "status", "phase")[:PHASE_LENGTH],
        "node_name": name_in(pod, "spec", "nodeName"),
        "scheduler_name": name_in(pod, "spec", "schedulerName"),
        "claim_names": dict(claim_names_of(pod)),
    }


def claim_names_of(pod: JsonObject) -> Mapping[str, str]:
    """Map names in `spec.resourceClaims` to claims that exist or were named outright.

    A claim from a template has a name only once the controller made it and said so in the
    pod's status; a status entry without a name means that no claim is needed.
    """
    generated = {
        text_in(status, "name"): name_in(status, "resourceClaimName")
        for status in objects_in(pod, "status", "resourceClaimStatuses")
    }
    named = {
        text_in(entry, "name"): name_in(entry, "resourceClaimName")
        or generated.get(text_in(entry, "name"), "")
        for entry in objects_in(pod, "spec", "resourceClaims")
    }
    return {name: claim for name, claim in named.items() if claim}


def template_names_of(pod: JsonObject) -> Mapping[str, str]:
    """Map names in `spec.resourceClaims` to the templates that they are generated from."""
    return {
        text_in(entry, "name"): name_in(entry, "resourceClaimTemplateName")
        for entry in objects_in(pod, "spec", "resourceClaims")
        if name_in(entry, "resourceClaimTemplateName")
    }


def is_pod_mirrored(pod: JsonObject) -> bool:
    """Tell whether a pod has a row of its own: it names claims, or the console is to place it."""
    spec = object_in(pod, "spec")
    return bool(objects_in(spec, "resourceClaims")) or spec.get("schedulerName") == SCHEDULER_NAME


def slice_columns(published: JsonObject) -> Mapping[str, Column]:
    """Repeat which pool a slice belongs to, and whose devices it lists.

    Generation and count are 0 where the slice has none; such a slice is not decodable, and
    its pool's problem says so.
    """
    spec = object_in(published, "spec")
    pool = object_in(spec, "pool")
    return {
        "driver": label_in(spec, "driver"),
        "pool": pool_in(pool, "name"),
        "pool_generation": integer_in(pool, "generation") or 0,
        "pool_slice_count": integer_in(pool, "resourceSliceCount") or 0,
        "node_name": name_in(spec, "nodeName"),
    }


def claim_columns(claim: JsonObject) -> Mapping[str, Column]:
    """Repeat what a claim asks for, what it got, and whom it is for."""
    allocation = allocation_of(claim)
    reserved_for = objects_in(claim, "status", "reservedFor")
    owner = pod_owner_of(claim)
    return {
        "state": claim_state(
            is_deleting=bool(text_in(claim, "metadata", "deletionTimestamp")),
            is_allocated=allocation is not None,
            is_reserved=bool(reserved_for),
        ),
        "allocation": allocation,
        "reserved_for": list[Json](reserved_for),
        "class_names": list[Json](_class_names_of(claim)),
        "node_name": _only_node_of(allocation),
        "owner_pod": name_in(owner, "name"),
    }


def allocation_of(claim: JsonObject) -> JsonObject | None:
    """Return `status.allocation`; one without devices is an allocation, too."""
    allocation = object_in(claim, "status").get("allocation")
    return allocation if isinstance(allocation, dict) else None


def pod_owner_of(claim: JsonObject) -> JsonObject:
    """Return the owner reference to the pod that a claim was generated for; empty if none."""
    for owner in objects_in(claim, "metadata", "ownerReferences"):
        if text_in(owner, "kind") == "Pod" and text_in(owner, "apiVersion") == "v1":
            return owner
    return {}


def claim_state(*, is_deleting: bool, is_allocated: bool, is_reserved: bool) -> ClaimState:
    """Put a claim's state in a word."""
    if is_deleting:
        return ClaimState.DELETING
    if not is_allocated:
        return ClaimState.PENDING
    return ClaimState.RESERVED if is_reserved else ClaimState.ALLOCATED


def _class_names_of(claim: JsonObject) -> list[str]:
    """List the classes in the order of the requests, each once."""
    wishes = [
        wish
        for request in objects_in(claim, "spec", "devices", "requests")
        for wish in (object_in(request, "exactly"), *objects_in(request, "firstAvailable"))
    ]
    names = [text_in(wish, "deviceClassName") for wish in wishes]
    return [name for name in dict.fromkeys(names) if name]


def _only_node_of(allocation: JsonObject | None) -> str:
    """Return the one node that an allocation is pinned to; empty if it may be used on more.

    Only the form that schedulers write for devices of one node is understood: a single
    term with `metadata.name In [<node>]`.
    """
    terms = objects_in(allocation, "nodeSelector", "nodeSelectorTerms")
    fields = objects_in(terms[0], "matchFields") if len(terms) == 1 else []
    for requirement in fields:
        key, operator = text_in(requirement, "key"), text_in(requirement, "operator")
        if node := node_pinned_by(key, operator, texts_in(requirement, "values")):
            return node
    return ""


def node_pinned_by(key: str, operator: str, values: Iterable[str]) -> str:
    """Return the one node that a requirement of a node selector allows; empty if it is not one."""
    names = [name for name in values if "/" not in name and len(name) <= LONGEST_NAME]
    is_one = (key, operator) == ("metadata.name", "In") and len(names) == 1
    return names[0] if is_one else ""
