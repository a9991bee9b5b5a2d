"""The objects of a ResourceClaimTemplate that the request form looks into and writes to."""

from dataclasses import dataclass
from typing import Final, Self

from dra_console.allocator.decoding.reading import Fields
from dra_console.allocator.errors import DecodeError
from dra_console.allocator.model import JsonObject
from dra_console.kube.kinds import RESOURCE_CLAIM_TEMPLATES

DEVICES_PATH: Final = "spec.spec.devices"
REQUEST_PATH: Final = f"{DEVICES_PATH}.requests[0]"
REQUEST_NAME: Final = "gpu"

SERVER_SET: Final = frozenset(
    {"creationTimestamp", "generation", "managedFields", "resourceVersion", "selfLink", "uid"}
)
"""Members of `metadata` that an API server sets; a new object has none of them."""


@dataclass(frozen=True, slots=True)
class TemplateParts:
    """The form speaks of the first request. What is absent is an empty object."""

    root: Fields
    metadata: Fields
    spec: Fields
    claim_spec: Fields
    devices: Fields
    request: Fields
    exactly: Fields

    @classmethod
    def of(cls, template: JsonObject) -> Self:
        """Find them.

        Raises:
            DecodeError: it is no ResourceClaimTemplate of v1, or a part is no object.

        """
        root = Fields.at("", template)
        for field, expected in (
            ("apiVersion", RESOURCE_CLAIM_TEMPLATES.api_version),
            ("kind", RESOURCE_CLAIM_TEMPLATES.kind),
        ):
            if (found := root.text(field)) != expected:
                raise DecodeError(field, f"expected {expected}, got {found or 'nothing'}")
        spec = _child(root, "spec")
        claim_spec = _child(spec, "spec")
        devices = _child(claim_spec, "devices")
        request = next(devices.children("requests"), Fields(f"{devices.path}.requests[0]", {}))
        return cls(
            root=root,
            metadata=_child(root, "metadata"),
            spec=spec,
            claim_spec=claim_spec,
            devices=devices,
            request=request,
            exactly=_child(request, "exactly"),
        )


def new_template() -> JsonObject:
    """Make one that has only its kind."""
    return {
        "apiVersion": RESOURCE_CLAIM_TEMPLATES.api_version,
        "kind": RESOURCE_CLAIM_TEMPLATES.kind,
    }


def complete(template: JsonObject) -> None:
    """Make the objects that the form writes into, where they are absent."""
    _object_in(template, "metadata")
    devices = _object_in(_object_in(_object_in(template, "spec"), "spec"), "devices")
    if not devices.get("requests"):
        devices["requests"] = [{"name": REQUEST_NAME}]
    request = next(Fields.at(DEVICES_PATH, devices).children("requests")).raw
    if not request.get("firstAvailable"):
        _object_in(request, "exactly")


def as_submitted(template: JsonObject) -> JsonObject:
    """Take off what the API server gave a template, so that it can be created elsewhere."""
    metadata = Fields.at("metadata", template.get("metadata", {})).raw
    kept: JsonObject = {key: value for key, value in metadata.items() if key not in SERVER_SET}
    return {**template, "metadata": kept}


def _object_in(parent: JsonObject, key: str) -> JsonObject:
    inner = parent.get(key)
    if not isinstance(inner, dict):
        inner = parent[key] = {}
    return inner


def _child(parent: Fields, key: str) -> Fields:
    return parent.child(key) or Fields(parent.path_of(key), {})
