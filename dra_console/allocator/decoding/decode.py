"""API objects to values: the one edge where JSON is parsed.

Every function takes one object as the API server sends it (any served version of the
group), and raises `DecodeError` with the field's path if a field is of the wrong kind.
Fields that are missing take the API server's defaults, so that hand-written YAML means
what it would mean when applied. Whether the object is *valid* is for `validate` to say:
what the API server would refuse is decoded as it stands.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from sys import intern
from typing import Final

from dra_console.allocator.decoding.decode_slice import decode_slice, node_selector, taint
from dra_console.allocator.decoding.decode_status import (
    allocation,
    consumer,
    device_status,
    opaque,
    toleration,
)
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.decoding.unknown import unknown_in_claim, unknown_in_class
from dra_console.allocator.decoding.versions import (
    check_version,
    claim_spec_as_v1,
    version_of,
)
from dra_console.allocator.model import (
    ALL_DEVICES,
    EXACT_COUNT,
    ClaimConfig,
    ClaimSpec,
    DerivedAttribute,
    DeviceClass,
    DeviceConstraint,
    DeviceRequest,
    DeviceTaintRule,
    DeviceWish,
    Json,
    JsonObject,
    Node,
    NodeSelector,
    ResourceClaim,
    ResourceClaimTemplate,
    Snapshot,
    SubRequest,
)

__all__ = [
    "decode_claim",
    "decode_claim_spec",
    "decode_class",
    "decode_node",
    "decode_node_selector",
    "decode_slice",
    "decode_snapshot",
    "decode_taint_rule",
    "decode_template",
]

RULE_FIELDS: Final = frozenset({"driver", "pool", "device"})

WISHES_SHARED: Final = 4_096
"""Equal wishes are kept once: a template's claims are alike."""


def decode_node(obj: JsonObject) -> Node:
    """Read a Node."""
    metadata = _metadata(obj)
    status = Fields.at("", obj).child("status") or Fields("status", {})
    return Node(
        name=metadata.text("name"),
        labels=metadata.text_map("labels"),
        declared_features=frozenset(status.texts("declaredFeatures")),
    )


def decode_node_selector(obj: Json, *, path: str = "nodeSelector") -> NodeSelector:
    """Read a core NodeSelector, wherever it stands; `path` is where it was found."""
    return node_selector(Fields.at(path, obj))


def decode_class(obj: JsonObject) -> DeviceClass:
    """Read a DeviceClass."""
    check_version(obj)
    spec = _spec(obj)
    return DeviceClass(
        name=_metadata(obj).text("name"),
        selectors=tuple(_selectors(spec)),
        config=tuple(opaque(entry) for entry in spec.children("config")),
        extended_resource_name=spec.text("extendedResourceName") or None,
        created_at=_metadata(obj).text("creationTimestamp"),
        unknown_fields=tuple(unknown_in_class(spec)),
    )


def decode_claim(obj: JsonObject) -> ResourceClaim:
    """Read a ResourceClaim with its status."""
    check_version(obj)
    metadata = _metadata(obj)
    status = Fields.at("", obj).child("status") or Fields("status", {})
    allocated = status.child("allocation")
    return ResourceClaim(
        namespace=intern(metadata.text("namespace")),
        name=metadata.text("name"),
        uid=metadata.text("uid"),
        spec=decode_claim_spec(obj.get("spec"), api_version=version_of(obj)),
        allocation=None if allocated is None else allocation(allocated),
        reserved_for=tuple(consumer(entry) for entry in status.children("reservedFor")),
        is_deleting=metadata.has("deletionTimestamp"),
        devices=tuple(device_status(entry) for entry in status.children("devices")),
    )


def decode_template(obj: JsonObject) -> ResourceClaimTemplate:
    """Read a ResourceClaimTemplate."""
    check_version(obj)
    metadata = _metadata(obj)
    spec = _spec(obj)
    stamped = spec.child("metadata") or Fields("spec.metadata", {})
    return ResourceClaimTemplate(
        namespace=metadata.text("namespace"),
        name=metadata.text("name"),
        spec=decode_claim_spec(spec.raw.get("spec"), path="spec.spec", api_version=version_of(obj)),
        labels=stamped.text_map("labels"),
        annotations=stamped.text_map("annotations"),
    )


def decode_taint_rule(obj: JsonObject) -> DeviceTaintRule:
    """Read a DeviceTaintRule."""
    check_version(obj)
    spec = _spec(obj)
    selector = spec.child("deviceSelector") or Fields("spec.deviceSelector", {})
    is_narrower = any(selector.has(name) for name in selector.raw if name not in RULE_FIELDS)
    return DeviceTaintRule(
        name=_metadata(obj).text("name"),
        taint=taint(spec.child("taint") or Fields("spec.taint", {})),
        driver=selector.optional_text("driver"),
        pool=selector.optional_text("pool"),
        device=selector.optional_text("device"),
        selects_nothing=is_narrower or not spec.has("deviceSelector"),
    )


def decode_claim_spec(raw: Json, *, path: str = "spec", api_version: str = "") -> ClaimSpec:
    """Read the spec of a claim, as it also stands in a template; `path` is where it was found.

    Without the version of the object that it is from, the shape of every version is read.
    """
    lifted = claim_spec_as_v1({} if raw is None else raw, path=path, api_version=api_version)
    spec = Fields.at(path, lifted)
    devices = spec.child("devices") or Fields(spec.path_of("devices"), {})
    return ClaimSpec(
        requests=tuple(_request(entry) for entry in devices.children("requests")),
        constraints=tuple(
            DeviceConstraint(
                requests=entry.texts("requests"),
                match_attribute=entry.optional_text("matchAttribute"),
                distinct_attribute=entry.optional_text("distinctAttribute"),
            )
            for entry in devices.children("constraints")
        ),
        config=tuple(
            ClaimConfig(requests=entry.texts("requests"), opaque=opaque(entry))
            for entry in devices.children("config")
        ),
        unknown_fields=tuple(unknown_in_claim(spec)),
    )


def decode_snapshot(objects: Iterable[JsonObject]) -> Snapshot:
    """Sort API objects by `kind` into a snapshot; kinds without meaning here are left out."""
    of_kind: dict[str, list[JsonObject]] = {}
    for obj in objects:
        of_kind.setdefault(str(obj.get("kind")), []).append(obj)
    return Snapshot(
        nodes=tuple(decode_node(obj) for obj in of_kind.get("Node", ())),
        slices=tuple(decode_slice(obj) for obj in of_kind.get("ResourceSlice", ())),
        classes=tuple(decode_class(obj) for obj in of_kind.get("DeviceClass", ())),
        claims=tuple(decode_claim(obj) for obj in of_kind.get("ResourceClaim", ())),
        taint_rules=tuple(decode_taint_rule(obj) for obj in of_kind.get("DeviceTaintRule", ())),
    )


def _metadata(obj: JsonObject) -> Fields:
    return Fields.at("", obj).child("metadata") or Fields("metadata", {})


def _spec(obj: JsonObject) -> Fields:
    return Fields.at("", obj).child("spec") or Fields("spec", {})


def _request(fields: Fields) -> DeviceRequest:
    exactly = fields.child("exactly")
    return DeviceRequest(
        name=fields.text("name"),
        exactly=None if exactly is None else _wish(exactly),
        first_available=tuple(
            SubRequest(name=entry.text("name"), wish=_wish(entry))
            for entry in fields.children("firstAvailable")
        ),
    )


def _wish(fields: Fields) -> DeviceWish:
    mode = fields.text("allocationMode") or EXACT_COUNT
    count = fields.integer("count") or 0
    capacity = fields.child("capacity")
    wish = DeviceWish(
        device_class_name=fields.text("deviceClassName"),
        selectors=tuple(_selectors(fields)),
        allocation_mode=mode,
        count=count or (0 if mode == ALL_DEVICES else 1),
        admin_access=fields.boolean("adminAccess") or False,
        tolerations=tuple(toleration(entry) for entry in fields.children("tolerations")),
        capacity=None if capacity is None else capacity.quantity_map("requests"),
        names_admin_access=fields.has("adminAccess"),
        derived_attributes=tuple(
            DerivedAttribute(name=entry.text("name"), expression=entry.text("expression"))
            for entry in fields.children("derivedAttributes")
        ),
    )
    # Equal quantities may be spelled differently.
    return _shared_wish(wish) if capacity is None else wish


@lru_cache(maxsize=WISHES_SHARED)
def _shared_wish(wish: DeviceWish) -> DeviceWish:
    """Return the wish of those that are equal that was read first."""
    return wish


def _selectors(fields: Fields) -> Iterator[str | None]:
    for entry in fields.children("selectors"):
        cel = entry.child("cel")
        yield None if cel is None else cel.text("expression")
