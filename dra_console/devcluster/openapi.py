"""The little of OpenAPI that kubectl needs before it writes.

kubectl looks here for two things: whether the server validates fields itself (the parameter
`fieldValidation` on PATCH), and schemas to validate against. Schemas here are open objects: the
server checks the kinds it knows and says so with field paths, which a second, weaker check in
the client would only precede. Strategic merge is not named as a content type although the
server reads it, because kubectl would then want the merge keys from the schema instead of the
ones it was built with.
"""

from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.resources import GROUPS, Resource, resources_of

OPENAPI_V2_PROTOBUF: Final = "application/octet-stream"
"""kubectl asks for `…proto-openapi.spec.v2@v1.0+protobuf`, which Go cannot parse in an answer."""

TITLE: Final = "DRA Console devcluster"


def v3_index() -> JsonObject:
    """Answer `/openapi/v3`: which documents there are."""
    names = ("api/v1", *(f"apis/{group}/v1" for group in GROUPS))
    return {"paths": {name: {"serverRelativeURL": f"/openapi/v3/{name}"} for name in names}}


def v3_document(group: str) -> JsonObject:
    """Answer `/openapi/v3/api/v1` and `/openapi/v3/apis/<group>/v1`."""
    paths: JsonObject = {}
    schemas: JsonObject = {}
    for resource in resources_of(group):
        kind = resource.kind
        identity: JsonObject = {"group": kind.group, "version": kind.version, "kind": kind.kind}
        schemas[schema_name(resource)] = {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
            "x-kubernetes-group-version-kind": [identity],
        }
        collection = kind.path("{namespace}" if kind.namespaced else None)
        collection = collection.replace("%7B", "{").replace("%7D", "}")
        paths[collection] = {"post": _operation(resource, identity, ("application/json",))}
        if resource.is_stored:
            patches = ("application/json-patch+json", "application/merge-patch+json")
            paths[f"{collection}/{{name}}"] = {
                "put": _operation(resource, identity, ("application/json",)),
                "patch": _operation(resource, identity, patches),
            }
    return {
        "openapi": "3.0.0",
        "info": {"title": TITLE, "version": "v1"},
        "paths": paths,
        "components": {"schemas": schemas},
    }


def v2_document() -> JsonObject:
    """Answer `/openapi/v2` in JSON: a document without definitions, which validates nothing."""
    return {
        "swagger": "2.0",
        "info": {"title": TITLE, "version": "v1"},
        "paths": {},
        "definitions": {},
    }


def v2_protobuf() -> bytes:
    """Answer `/openapi/v2` for kubectl, which reads it as gnostic's `openapi.v2.Document` only.

    Field numbers: Document.swagger = 1, .info = 2, .paths = 8; Info.title = 1, .version = 2.
    """
    info = _proto_text(1, TITLE.encode()) + _proto_text(2, b"v1")
    return _proto_text(1, b"2.0") + _proto_text(2, info) + _proto_text(8, b"")


def schema_name(resource: Resource) -> str:
    """Name the schema of a kind, as in `io.k8s.api.resource.v1.ResourceClaim`."""
    group = resource.kind.group.split(".", maxsplit=1)[0] or "core"
    return f"io.k8s.api.{group}.{resource.kind.version}.{resource.kind.kind}"


def _operation(
    resource: Resource, identity: JsonObject, content_types: tuple[str, ...]
) -> JsonObject:
    parameters: list[Json] = [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in ("dryRun", "fieldManager", "fieldValidation")
    ]
    reference: JsonObject = {"$ref": f"#/components/schemas/{schema_name(resource)}"}
    content: JsonObject = {name: {"schema": reference} for name in content_types}
    return {
        "parameters": parameters,
        "requestBody": {"content": content, "required": True},
        "responses": {"200": {"description": "OK"}},
        "x-kubernetes-group-version-kind": identity,
    }


def _proto_text(number: int, value: bytes) -> bytes:
    # Wire type 2, length-delimited; every length here is below 128, so it is one byte.
    return bytes((number << 3 | 2, len(value))) + value
