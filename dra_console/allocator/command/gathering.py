"""API objects, one by one, to a snapshot; whatever is wrong is said with the object's name.

Both ways into the command line end here: lines of `batch` and dumps of `kubectl`. Kinds are
told apart by API group and kind, since other groups have kinds of the same name. A version
that cannot be read is broken input: to leave the object out would change the answer in
silence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from dra_console.allocator.api_json import JsonObject, object_of
from dra_console.allocator.command.pods import Pod, decode_pod
from dra_console.allocator.decoding.decode import (
    decode_claim,
    decode_class,
    decode_node,
    decode_slice,
    decode_taint_rule,
    decode_template,
)
from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.errors import AllocatorError, DecodeError
from dra_console.allocator.model import (
    DeviceClass,
    DeviceTaintRule,
    Node,
    ResourceClaim,
    ResourceClaimTemplate,
    ResourceSlice,
    Snapshot,
)
from dra_console.allocator.quantity import Quantity

CORE: Final = ""
RESOURCE: Final = "resource.k8s.io"
DEFAULT_NAMESPACE: Final = "default"
"""Where clients of the API server put an object that names no namespace."""

KINDS: Final = frozenset(
    {
        (CORE, "Node"),
        (CORE, "Pod"),
        (RESOURCE, "DeviceClass"),
        (RESOURCE, "ResourceSlice"),
        (RESOURCE, "ResourceClaim"),
        (RESOURCE, "ResourceClaimTemplate"),
        (RESOURCE, "DeviceTaintRule"),
    }
)
"""API group and kind of what is decoded here."""

NAMESPACED: Final = frozenset({"Pod", "ResourceClaim", "ResourceClaimTemplate"})


class ObjectError(AllocatorError):
    """An object cannot be read; the text names object, field and reason."""


@dataclass(frozen=True, slots=True)
class ObjectName:
    """What an object is called; `namespace` is empty for kinds of the whole cluster."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        name = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{self.kind} {name or 'without a name'}"


@dataclass(slots=True)
class Gathering:
    """Objects so far, in the order in which they were given."""

    nodes: list[Node] = field(default_factory=list)
    slices: list[ResourceSlice] = field(default_factory=list)
    classes: list[DeviceClass] = field(default_factory=list)
    claims: list[ResourceClaim] = field(default_factory=list)
    templates: list[ResourceClaimTemplate] = field(default_factory=list)
    taint_rules: list[DeviceTaintRule] = field(default_factory=list)
    pods: list[Pod] = field(default_factory=list)
    allocatable: dict[str, Mapping[str, Quantity]] = field(default_factory=dict)
    """What each node has for pods, by the node's name."""

    def take(self, obj: JsonObject) -> bool:
        """Decode an object, or tell that its kind has no use here.

        Raises:
            ObjectError: it is of a version that cannot be read, or a field is wrong.

        """
        kind = _kind_of(obj)
        if kind is None:
            return False
        name = name_of(obj)
        try:
            self._decode(kind, _in_namespace(obj, name.namespace))
        except DecodeError as error:
            raise ObjectError(f"{name}: {error}") from error
        return True

    def _decode(self, kind: str, obj: JsonObject) -> None:
        match kind:
            case "Node":
                node = decode_node(obj)
                self.nodes.append(node)
                self.allocatable[node.name] = _allocatable(obj)
            case "ResourceSlice":
                self.slices.append(decode_slice(obj))
            case "DeviceClass":
                self.classes.append(decode_class(obj))
            case "ResourceClaim":
                self.claims.append(decode_claim(obj))
            case "ResourceClaimTemplate":
                self.templates.append(decode_template(obj))
            case "DeviceTaintRule":
                self.taint_rules.append(decode_taint_rule(obj))
            case _:
                self.pods.append(decode_pod(obj))

    def snapshot(self) -> Snapshot:
        """Freeze what an allocation depends on."""
        return Snapshot(
            nodes=tuple(self.nodes),
            slices=tuple(self.slices),
            classes=tuple(self.classes),
            claims=tuple(self.claims),
            taint_rules=tuple(self.taint_rules),
        )


def is_of_use(obj: JsonObject) -> bool:
    """Tell whether `take` would decode the object."""
    return _kind_of(obj) is not None


def name_of(obj: JsonObject) -> ObjectName:
    """Read an object's name; a namespaced one that names no namespace is in the default one.

    Raises:
        ObjectError: kind or metadata are of the wrong shape.

    """
    kind = obj.get("kind")
    try:
        metadata = Fields.at("metadata", obj.get("metadata") or {})
        namespace = metadata.text("namespace") or DEFAULT_NAMESPACE if kind in NAMESPACED else ""
        return ObjectName(str(kind), namespace, metadata.text("name"))
    except DecodeError as error:
        raise ObjectError(f"{kind}: {error}") from error


def _kind_of(obj: JsonObject) -> str | None:
    """Return the kind of an object of use; without `apiVersion` the kind alone decides."""
    kind, api_version = obj.get("kind"), obj.get("apiVersion")
    if not isinstance(kind, str):
        return None
    if api_version is None:
        return kind if any(kind == known for _, known in KINDS) else None
    if not isinstance(api_version, str):
        return None
    group, _, _ = api_version.rpartition("/")
    return kind if (group, kind) in KINDS else None


def _in_namespace(obj: JsonObject, namespace: str) -> JsonObject:
    if not namespace:
        return obj
    metadata = object_of(obj.get("metadata"))
    return {**obj, "metadata": {**metadata, "namespace": namespace}}


def _allocatable(node: JsonObject) -> Mapping[str, Quantity]:
    status = Fields.at("", node).child("status") or Fields("status", {})
    return status.quantity_map("allocatable")
