"""API objects as detection knows them, without rows in between."""

from datetime import UTC, datetime

from dra_console.allocator.decoding.decode import (
    decode_class,
    decode_slice,
    decode_taint_rule,
)
from dra_console.allocator.model import Device, DeviceId, Json, JsonObject
from dra_console.scheduling.coexistence.detect import detect
from dra_console.scheduling.coexistence.facts import HeldClaim, PodFacts, World
from dra_console.scheduling.coexistence.findings import Finding, FindingKind
from dra_console.scheduling.coexistence.mismatches import why_no_match
from dra_console.scheduling.coexistence.reading import held_claim, slice_facts

DELETED_AT = datetime(2026, 11, 29, 21, 0, tzinfo=UTC)


def known(*objects: JsonObject) -> World:
    """Sort objects as `Watched` does; pending claims are no part of it."""
    of_kind: dict[Json, list[JsonObject]] = {}
    for one in objects:
        of_kind.setdefault(one["kind"], []).append(one)
    claims = [_held(one) for one in of_kind.get("ResourceClaim", ()) if _matters(one)]
    slices = [decode_slice(one) for one in of_kind.get("ResourceSlice", ())]
    classes = {each.name: each for each in map(decode_class, of_kind.get("DeviceClass", ()))}
    devices: dict[DeviceId, Device] = {
        DeviceId(*each.pool_id, device.name): device for each in slices for device in each.devices
    }
    return World(
        claims=claims,
        slices=[slice_facts(each) for each in slices],
        mismatches={
            claim.uid: [
                found
                for result in claim.results
                if (
                    found := why_no_match(
                        claim, result, device=devices.get(result.device_id), classes=classes
                    )
                )
            ]
            for claim in claims
        },
        taint_rules=[decode_taint_rule(one) for one in of_kind.get("DeviceTaintRule", ())],
        pods={
            (_meta(one)["namespace"], _meta(one)["name"]): _pod(one)
            for one in of_kind.get("Pod", ())
        },
        nodes={_meta(one)["name"]: _is_ready(one) for one in of_kind.get("Node", ())},
    )


def found(kind: FindingKind, *objects: JsonObject) -> list[Finding]:
    """Detect in a world of these objects, and keep the findings of one kind."""
    return [finding for finding in detect(known(*objects)) if finding.kind is kind]


def deleted(one: JsonObject, *finalizers: str) -> JsonObject:
    """Mark an object as deleted at `DELETED_AT`, and kept by these finalizers."""
    metadata = one["metadata"]
    assert isinstance(metadata, dict)
    return {
        **one,
        "metadata": {
            **metadata,
            "deletionTimestamp": "2026-11-29T21:00:00Z",
            "finalizers": [*finalizers],
        },
    }


def _matters(claim: JsonObject) -> bool:
    status = claim.get("status")
    has_devices = isinstance(status, dict) and "allocation" in status
    return has_devices or "deletionTimestamp" in _meta(claim)


def _held(claim: JsonObject) -> HeldClaim:
    is_deleted = "deletionTimestamp" in _meta(claim)
    return held_claim(
        claim,
        node_name="",
        allocated_at=None,
        deletion_requested_at=DELETED_AT if is_deleted else None,
    )


def _meta(one: JsonObject) -> dict[str, str]:
    metadata = one["metadata"]
    assert isinstance(metadata, dict)
    return {key: str(value) for key, value in metadata.items()}


def _pod(pod: JsonObject) -> PodFacts:
    spec, status = pod["spec"], pod["status"]
    assert isinstance(spec, dict)
    assert isinstance(status, dict)
    return PodFacts(
        uid=_meta(pod)["uid"],
        phase=str(status.get("phase", "")),
        node_name=str(spec.get("nodeName", "")),
        scheduler_name=str(spec.get("schedulerName", "")),
        is_deleting="deletionTimestamp" in _meta(pod),
    )


def _is_ready(node: JsonObject) -> bool | None:
    status = node["status"]
    assert isinstance(status, dict)
    conditions = status.get("conditions")
    if not isinstance(conditions, list):
        return None
    return all(isinstance(one, dict) and one["status"] == "True" for one in conditions)
