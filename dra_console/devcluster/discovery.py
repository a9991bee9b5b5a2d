"""Which groups and resources exist, in the old form and in the aggregated one.

kubectl 1.20 asks for each list; 1.32 asks once for `APIGroupDiscoveryList` (KEP-3352) and
falls back. `/openapi` tells it which requests know `fieldValidation` and `dryRun`.
"""

from typing import Final

from dra_console.allocator.model import Json, JsonObject
from dra_console.devcluster.resources import GROUPS, Resource, Subresource, resources_of

VERSION: Final = "v1"

SERVER_VERSION: Final[JsonObject] = {
    "major": "1",
    "minor": "37",
    "gitVersion": "v1.37.0-dra-console-devcluster",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "1970-01-01T00:00:00Z",
    "goVersion": "none",
    "compiler": "none",
    "platform": "none",
}


def api_versions() -> JsonObject:
    """Answer `/api`."""
    return {"kind": "APIVersions", "versions": [VERSION], "serverAddressByClientCIDRs": []}


def api_group(group: str) -> JsonObject:
    """Answer `/apis/<group>`."""
    version: JsonObject = {"groupVersion": f"{group}/{VERSION}", "version": VERSION}
    return {
        "kind": "APIGroup",
        "apiVersion": "v1",
        "name": group,
        "versions": [version],
        "preferredVersion": version,
    }


def api_groups() -> JsonObject:
    """Answer `/apis`."""
    groups: list[Json] = [
        {key: value for key, value in api_group(group).items() if key not in {"kind", "apiVersion"}}
        for group in GROUPS
    ]
    return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}


def resource_list(group: str) -> JsonObject:
    """Answer `/api/v1` and `/apis/<group>/v1`."""
    entries: list[Json] = []
    for resource in resources_of(group):
        entries.append(_entry(resource))
        entries += [_subresource_entry(resource, part) for part in resource.subresources]
    return {
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": f"{group}/{VERSION}" if group else VERSION,
        "resources": entries,
    }


def aggregated(groups: tuple[str, ...]) -> JsonObject:
    """Answer `/api` (for the core group, the empty name) and `/apis` in the aggregated form."""
    items: list[Json] = [
        {
            "metadata": {"name": group, "creationTimestamp": None},
            "versions": [
                {
                    "version": VERSION,
                    "freshness": "Current",
                    "resources": [_aggregated_entry(resource) for resource in resources_of(group)],
                }
            ],
        }
        for group in groups
    ]
    return {
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    }


def _entry(resource: Resource) -> JsonObject:
    kind = resource.kind
    entry: JsonObject = {
        "name": kind.plural,
        "singularName": resource.singular,
        "namespaced": kind.namespaced,
        "kind": kind.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    return entry


def _subresource_entry(resource: Resource, part: Subresource) -> JsonObject:
    entry: JsonObject = {
        "name": f"{resource.kind.plural}/{part.name}",
        "singularName": "",
        "namespaced": resource.kind.namespaced,
        "kind": part.kind,
        "verbs": list(part.verbs),
    }
    if (part.group, part.version) != (resource.kind.group, resource.kind.version):
        entry |= {"group": part.group, "version": part.version}
    return entry


def _aggregated_entry(resource: Resource) -> JsonObject:
    kind = resource.kind
    parts: list[Json] = [
        {
            "subresource": part.name,
            "responseKind": {"group": part.group, "version": part.version, "kind": part.kind},
            "verbs": list(part.verbs),
        }
        for part in resource.subresources
    ]
    entry: JsonObject = {
        "resource": kind.plural,
        "responseKind": {"group": kind.group, "version": kind.version, "kind": kind.kind},
        "scope": "Namespaced" if kind.namespaced else "Cluster",
        "singularResource": resource.singular,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    if parts:
        entry["subresources"] = parts
    return entry
