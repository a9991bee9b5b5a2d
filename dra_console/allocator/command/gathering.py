"""API objects, one by one, to a snapshot; whatever is wrong is said with the object's name.

Both ways into the command line end here: lines of `batch` and dumps of `kubectl`. Kinds are
told apart by API group and kind, since other groups have kinds of the same name. A version
that this release cannot read is broken input: leaving the object out would change the
answer in silence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from dra_console.allocator.api_json import JsonObject
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

CORE: Final = ""
RESOURCE: Final = "resource.k8s.io"
DEFAULT_NAMESPACE: Final = "default"
"""Where clients of the API server put an object that names no namespace."""

SERVED: Final = ("v1", "v1beta2", "v1beta1", "v1alpha3")
VERSIONS: Final[Mapping[tuple[str, str], tuple[str, ...]]] = MappingProxyType(
    {
        (CORE, "Node"): ("v1",),
        (CORE, "Pod"): ("v1",),
        (RESOURCE, "DeviceClass"): SERVED,
        (RESOURCE, "ResourceSlice"): SERVED,
        (RESOURCE, "ResourceClaim"): SERVED,
        (RESOURCE, "ResourceClaimTemplate"): SERVED,
        (RESOURCE, "DeviceTaintRule"): ("v1", "v1beta2", "v1alpha3"),
    }
)
"""Versions that can be read, the newest first, by group and kind."""

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

    def take(self, obj: JsonObject) -> ObjectName | None:
        """Decode an object and return its name, or `None` if its kind has no use here.

        Raises:
            ObjectError: it is of a version that cannot be read, or a field is wrong.

        """
        kind = kind_of(obj)
        if kind is None:
            return None
        name = ObjectName(kind, "", "")
        try:
            obj, name = _named(obj, kind)
            _check_version(obj, kind)
            self._decode(kind, obj)
        except DecodeError as error:
            raise ObjectError(f"{name}: {error}") from error
        return name

    def _decode(self, kind: str, obj: JsonObject) -> None:
        match kind:
            case "Node":
                self.nodes.append(decode_node(obj))
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


def kind_of(obj: JsonObject) -> str | None:
    """Return the kind of an object that can be gathered; without `apiVersion` the kind decides."""
    kind, api_version = obj.get("kind"), obj.get("apiVersion")
    if not isinstance(kind, str):
        return None
    if api_version is None:
        return kind if any(kind == known for _, known in VERSIONS) else None
    if not isinstance(api_version, str):
        return None
    group, _, _ = api_version.rpartition("/")
    return kind if (group, kind) in VERSIONS else None


def _named(obj: JsonObject, kind: str) -> tuple[JsonObject, ObjectName]:
    """Read an object's name, and give it the default namespace if it should have one."""
    metadata = Fields.at("metadata", obj.get("metadata") or {})
    namespace = ""
    if kind in NAMESPACED:
        namespace = metadata.text("namespace") or DEFAULT_NAMESPACE
        obj = {**obj, "metadata": {**metadata.raw, "namespace": namespace}}
    return obj, ObjectName(kind, namespace, metadata.text("name"))


def _check_version(obj: JsonObject, kind: str) -> None:
    api_version = obj.get("apiVersion")
    if not isinstance(api_version, str):
        return
    group, _, version = api_version.rpartition("/")
    readable = VERSIONS[group, kind]
    if version not in readable:
        known = ", ".join(readable)
        raise DecodeError(
            "apiVersion",
            f"version {version} of {kind} cannot be read here; these can: {known}. "
            f"Ask the API server for one of them, as in: kubectl get {_resource(kind, group)}",
        )


def _resource(kind: str, group: str) -> str:
    plural = f"{kind.lower()}es" if kind.endswith("s") else f"{kind.lower()}s"
    version = VERSIONS[group, kind][0]
    return f"{plural}.{version}.{group}" if group else plural
