"""Puts the objects of a case into a store, as if they had come about there."""

import json
from typing import cast

from dra_console.allocator.model import JsonObject
from dra_console.devcluster.claims import FINALIZER
from dra_console.devcluster.store import Store
from dra_console.kube.kinds import BY_PLURAL, NAMESPACES, PODS, RESOURCE_CLAIMS, Kind
from tests.builders.cases import case_objects
from tests.integration.devcluster.nodes import metadata_of, uid_of

KINDS = {(kind.api_version, kind.kind): kind for kind in BY_PLURAL.values()}


def store_case(store: Store, case: str) -> None:
    """Create what a case describes, in namespace `lab`.

    The store gives out uids of its own, so the case's references are rewritten to them; one
    to an object that the case does not have stays as it is. An allocated claim gets the
    finalizer that its scheduler would have added.
    """
    store.create(NAMESPACES, {"metadata": {"name": "lab"}})
    objects = [(_kind(each), each) for each in case_objects(case)]
    uids: dict[str, str] = {}
    # Owners and consumers first: their uids have to be known.
    for kind, built in sorted(objects, key=lambda pair: pair[0] != PODS):
        built = _with_uids(built, uids)  # noqa: PLW2901  the same object, readdressed
        if kind == RESOURCE_CLAIMS and "status" in built:
            metadata_of(built)["finalizers"] = [FINALIZER]
        created = store.create(kind, built)
        if isinstance(uid := metadata_of(built).get("uid"), str):
            uids[uid] = uid_of(created)
        if "status" in built:
            store.update(kind, {**created, "status": built["status"]}, subresource="status")


def _kind(built: JsonObject) -> Kind:
    return KINDS[str(built["apiVersion"]), str(built["kind"])]


def _with_uids(built: JsonObject, uids: dict[str, str]) -> JsonObject:
    text = json.dumps(built)
    for old, new in uids.items():
        text = text.replace(old, new)
    return cast("JsonObject", json.loads(text))
